/* The typed tree as text for people: source lines, and below each the expressions with their
 * types.
 *
 *     scale(x: float32, n: int64) -> float32
 *       3 |     y = x * 0.5
 *         |         x * 0.5   float32
 *         |     y             float32 */
#include "core/front/diagnose.h"
#include "core/front/typed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct typed_entry {
    uint32_t line, col, end_col, node;
} typed_entry;

typedef LW_ARRAY(typed_entry) entries;

/* ---- which expressions are shown ---- */

static bool
is_known_text(const lw_types *types, lw_type type)
{
    return lw_type_is_text(types, type) && lw_type_kind_of(types, type) == LW_TK_STATIC;
}

static bool
is_shown(const lw_tree *tree, const lw_types *types, const lw_typed_node *typed, uint32_t i)
{
    const lw_node *node = &tree->nodes.data[i];

    if (typed->type == LW_T_BOTTOM)
        return false;
    switch ((lw_node_kind)node->kind) {
    case LW_NODE_UNARY:
    case LW_NODE_BINARY:
    case LW_NODE_BOOLOP:
    case LW_NODE_COMPARE:
    case LW_NODE_IFEXP:
    case LW_NODE_CALL:
    case LW_NODE_ATTRIBUTE:
    case LW_NODE_SUBSCRIPT:
    case LW_NODE_TUPLE:
    case LW_NODE_AUGASSIGN:
        return typed->type != LW_T_STATIC && !is_known_text(types, typed->type);
    case LW_NODE_NAME: return (node->flags & LW_NODE_STORE) != 0 || typed->unbound;
    default: return false;
    }
}

static int
in_order(const void *x, const void *y)
{
    const typed_entry *a = x, *b = y;

    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->col != b->col)
        return a->col < b->col ? -1 : 1;
    if (a->end_col != b->end_col)
        return a->end_col > b->end_col ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Whether the expression is on one line; of longer ones, only the parts are shown. */
static bool
collect(const lw_typed *typed, const lw_instance *instance, entries *out)
{
    const lw_tree *tree = typed->tree;

    if (tree->fns.data[instance->fn].generated) /* it has no lines */
        return true;
    for (uint32_t k = 0; k < instance->nodes.n; k++) {
        uint32_t i = instance->nodes.first + k;
        const lw_loc *loc = &tree->locs.data[tree->nodes.data[i].loc];
        typed_entry *slot;

        if (!is_shown(tree, &typed->types, lw_typed_in(&instance->nodes, i), i) ||
            loc->line != loc->end_line)
            continue;
        slot = lw_array_push(out, NULL);
        if (slot == NULL)
            return false;
        *slot = (typed_entry){loc->line, loc->col, loc->end_col, i};
    }
    if (out->n)
        qsort(out->data, out->n, sizeof *out->data, in_order);
    return true;
}

/* ---- texts ---- */

static const char *
line_text(const lw_tree *tree, uint32_t file, uint32_t line)
{
    const lw_file *row = &tree->files.data[file];

    return line >= row->first_line && line - row->first_line < row->n_lines
               ? row->lines[line - row->first_line]
               : "";
}

static void
print_header(const lw_typed *typed, const lw_instance *instance, lw_text *out)
{
    const lw_fn *fn = &typed->tree->fns.data[instance->fn];

    lw_text_addf(out, "%s(", fn->name);
    for (uint32_t i = 0; i < instance->n_params; i++) {
        uint32_t var =
            i < fn->params.n ? fn->params.data[i].var : fn->captures.data[i - fn->params.n].var;
        lw_text_addf(out, "%s%s: ", i == 0 ? "" : ", ", fn->vars.data[var].name);
        lw_type_print(&typed->types, instance->param_types[i], out);
    }
    lw_text_add(out, ") -> ");
    if (instance->never_returns)
        lw_text_add(out, "NoReturn");
    else
        lw_type_print(&typed->types, instance->result, out);
    lw_text_add(out, instance->can_raise ? "  (can raise)\n" : "\n");
}

static uint32_t
n_columns(const char *text, uint32_t n_bytes)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_bytes && text[i]; i++)
        n += (text[i] & 0xC0) != 0x80;
    return n;
}

/* Starts a line: "    |         x * 0.5   ", up to the column of the types. */
static void
print_left(const char *line, const typed_entry *e, uint32_t width, lw_text *out)
{
    uint32_t length = (uint32_t)strlen(line), end = e->end_col < length ? e->end_col : length;
    uint32_t used;

    if (e->col > end)
        end = e->col < length ? e->col : length;
    lw_text_add(out, "      | ");
    for (uint32_t i = 0; i < e->col && i < length; i++)
        lw_text_add(out, line[i] == '\t' ? "\t" : (line[i] & 0xC0) == 0x80 ? "" : " ");
    if (e->col < end)
        lw_text_add_n(out, line + e->col, end - e->col);
    used = n_columns(line, end);
    lw_text_addf(out, "%*s", (int)(used < width ? width - used : 0) + 3, "");
}

static uint32_t
types_column(const lw_tree *tree, const lw_typed *typed, const lw_instance *instance,
             const entries *all)
{
    uint32_t width = 0, file = tree->fns.data[instance->fn].file;
    (void)typed;
    assert(all->n == 0 || all->data != NULL);
    for (uint32_t i = 0; i < all->n; i++) {
        uint32_t end =
            n_columns(line_text(tree, file, all->data[i].line), all->data[i].end_col);
        width = end > width ? end : width;
    }
    return width < 72 ? width : 72;
}

static void
print_type(const lw_typed *typed, const lw_typed_node *node, lw_text *out)
{
    lw_type_print(&typed->types, node->type, out);
    if (node->constant && !node->web &&
        lw_type_kind_of(&typed->types, node->type) != LW_TK_LITERAL)
        lw_text_add(out, " (constant)");
    if (node->unbound)
        lw_text_add(out, " (or UnboundLocalError)");
}

/* ---- one typing ---- */

static void
print_instance(const lw_typed *typed, const lw_instance *instance, lw_text *out)
{
    const lw_tree *tree = typed->tree;
    uint32_t file = tree->fns.data[instance->fn].file, line = 0, width;
    entries all = {0};

    print_header(typed, instance, out);
    if (!collect(typed, instance, &all))
        out->failed = true;
    width = types_column(tree, typed, instance, &all);
    assert(all.n == 0 || all.data != NULL);
    for (uint32_t i = 0; i < all.n; i++) {
        const typed_entry *e = &all.data[i];
        const char *text = line_text(tree, file, e->line);

        if (e->line != line)
            lw_text_addf(out, "%5u | %s\n", e->line, text);
        line = e->line;
        print_left(text, e, width, out);
        print_type(typed, lw_typed_in(&instance->nodes, e->node), out);
        lw_text_add(out, "\n");
    }
    lw_array_free(&all);
}

void
lw_typed_print(const lw_typed *typed, lw_text *out)
{
    for (uint32_t i = 1; i < typed->instances.n; i++) {
        if (i > 1)
            lw_text_add(out, "\n");
        print_instance(typed, &typed->instances.data[i], out);
    }
    for (uint32_t i = 0; i < typed->warnings.n; i++)
        lw_text_addf(out, "%s: %s\n", typed->warnings.data[i].code,
                     typed->warnings.data[i].message);
}

/* ---- both typings ---- */

static bool
same_type(const lw_typed *a, const lw_typed_node *x, const lw_typed *b, const lw_typed_node *y)
{
    return lw_type_stored(&a->types, x->type) == lw_type_stored(&b->types, y->type);
}

static void
print_both(const lw_typed *weak, const lw_typed *numba, uint32_t index, lw_text *out)
{
    const lw_instance *x = &weak->instances.data[index], *y = &numba->instances.data[index];
    const lw_tree *tree = weak->tree;
    uint32_t file = tree->fns.data[x->fn].file, line = 0, width, n_differ = 0;
    entries all = {0};

    lw_text_add(out, "weak:  ");
    print_header(weak, x, out);
    lw_text_add(out, "numba: ");
    print_header(numba, y, out);
    if (!collect(weak, x, &all))
        out->failed = true;
    width = types_column(tree, weak, x, &all);
    assert(all.n == 0 || all.data != NULL);
    for (uint32_t i = 0; i < all.n; i++) {
        const typed_entry *e = &all.data[i];
        const char *text = line_text(tree, file, e->line);
        const lw_typed_node *a = lw_typed_in(&x->nodes, e->node),
                            *b = lw_typed_in(&y->nodes, e->node);

        if (e->line != line)
            lw_text_addf(out, "%5u | %s\n", e->line, text);
        line = e->line;
        print_left(text, e, width, out);
        print_type(weak, a, out);
        if (b->type != LW_T_BOTTOM && !same_type(weak, a, numba, b)) {
            lw_text_add(out, "   <- numba: ");
            print_type(numba, b, out);
            n_differ++;
        }
        lw_text_add(out, "\n");
    }
    lw_text_addf(out,
                 n_differ ? "%u expression%s with another type in numba mode\n"
                          : "the same types in both modes\n",
                 n_differ, n_differ == 1 ? "" : "s");
    lw_array_free(&all);
}

static const char *
path_of(const lw_tree *tree, uint32_t fn)
{
    const char *path = tree->files.data[tree->fns.data[fn].file].path;

    return path ? path : "";
}

/* Whether it is one of the package's functions, of whole arrays or of scipy.special, or what
 * these call: users know them by what they give, and have not written their lines. */
static bool
is_packages(const lw_tree *tree, uint32_t fn)
{
    const char *path = path_of(tree, fn);
    bool is = lw_is_of_lanewise(tree, path);

    for (uint32_t i = 1; i < tree->fns.n && !is; i++)
        is = tree->fns.data[i].implements != NULL && strcmp(path_of(tree, i), path) == 0;
    for (uint32_t i = 0; i < tree->array_functions.n && !is; i++)
        is = strcmp(path_of(tree, tree->array_functions.data[i].fn), path) == 0;
    return is && strcmp(path_of(tree, 1), path) != 0;
}

lw_status
lw_explain(const lw_tree *tree, const lw_front_options *given, const lw_arg_spec *specs,
           uint32_t n_args, lw_text *out, lw_error *err)
{
    lw_front_options options = *given;
    lw_typed *weak = NULL, *numba = NULL;
    lw_error numba_err = {0};
    lw_status status;

    options.typing = LW_TYPING_WEAK;
    LW_TRY(lw_infer_specs(tree, &options, specs, n_args, &weak, err));
    options.typing = LW_TYPING_NUMBA;
    status = lw_infer_specs(tree, &options, specs, n_args, &numba, &numba_err);
    if (status == LW_ERR_OUT_OF_MEMORY) {
        lw_error_reset(&numba_err);
        lw_fail_memory(err);
        goto fail;
    }
    if (status != LW_OK) {
        lw_typed_print(weak, out);
        lw_text_addf(out, "numba: %s\n", lw_error_text(&numba_err));
        lw_error_reset(&numba_err);
        status = LW_OK;
        goto fail;
    }
    for (uint32_t i = 1; i < weak->instances.n && i < numba->instances.n; i++) {
        if (weak->instances.data[i].fn != numba->instances.data[i].fn)
            break;
        if (is_packages(weak->tree, weak->instances.data[i].fn))
            continue;
        if (i > 1)
            lw_text_add(out, "\n");
        print_both(weak, numba, i, out);
    }
    for (uint32_t i = 0; i < weak->warnings.n; i++)
        lw_text_addf(out, "%s: %s\n", weak->warnings.data[i].code,
                     weak->warnings.data[i].message);
fail:
    lw_typed_free(weak);
    lw_typed_free(numba);
    return status;
}
