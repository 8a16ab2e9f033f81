/* A tree as text, for tests: lw_tree_print. In builds with LW_WINDOWS only. */
#include "core/front/tree.h"

#include <inttypes.h>

/* How a node's a, b and c are printed, by the letters of nodes.def. */
static const char *const node_args[LW_N_NODE_KINDS] = {
    [LW_NODE_NONE] = "---",
#define NODE(name, text, args, doc) [LW_NODE_##name] = args,
#include "core/tables/nodes.def"
};

static void
indent(uint32_t depth, lw_text *out)
{
    for (uint32_t i = 0; i < depth; i++)
        lw_text_add(out, "  ");
}

static void
print_diag(const lw_tree *tree, uint32_t index, lw_text *out)
{
    const lw_diag *diag = &tree->diags.data[index];
    const lw_loc *loc = &tree->locs.data[diag->loc];

    lw_text_addf(out, " %s %" PRIu32 ":%" PRIu32 "-%" PRIu32 " %s", diag->code, loc->line,
                 loc->col, loc->end_col, diag->message);
    if (diag->label)
        lw_text_addf(out, " | %s", diag->label);
    if (diag->help)
        lw_text_addf(out, " = help: %s", diag->help);
}

static void print_node(const lw_tree *tree, const lw_fn *fn, uint32_t index, uint32_t depth,
                       lw_text *out);

/* The part of an operand that is printed on the node's own line. */
static void
print_operand(const lw_tree *tree, const lw_fn *fn, char letter, uint32_t value, lw_text *out)
{
    switch (letter) {
    case 'v': lw_text_addf(out, " %s", fn->vars.data[value].name); break;
    case 'k':
        if (value) {
            lw_text_add(out, " ");
            lw_constant_print(tree, value, out);
        }
        break;
    case 'f': lw_text_addf(out, " %s #%" PRIu32, tree->fns.data[value].name, value); break;
    default: break;
    }
}

static void
print_children(const lw_tree *tree, const lw_fn *fn, const lw_node *node, uint32_t depth,
               lw_text *out)
{
    const char *args = node_args[node->kind];
    uint32_t operands[3] = {node->a, node->b, node->c};

    for (int i = 0; i < 3; i++) {
        if (args[i] == 'L') {
            for (uint32_t k = 0; k < node->c; k++)
                print_node(tree, fn, tree->lists.data[node->b + k], depth, out);
            return;
        }
        if (args[i] != 'n' && args[i] != 'u')
            continue;
        if (operands[i]) {
            print_node(tree, fn, operands[i], depth, out);
        } else if (i < 2 && operands[i + 1] && args[i + 1] != '-') {
            indent(depth, out); /* an absent operand in front of one that is there */
            lw_text_add(out, "-\n");
        }
    }
}

static void
print_node(const lw_tree *tree, const lw_fn *fn, uint32_t index, uint32_t depth, lw_text *out)
{
    const lw_node *node = &tree->nodes.data[index];
    const char *args = node_args[node->kind];

    indent(depth, out);
    lw_text_add(out, lw_node_text[node->kind]);
    if (node->op != LW_PY_NONE)
        lw_text_addf(out, " %s", lw_pyop_text[node->op]);
    print_operand(tree, fn, args[0], node->a, out);
    print_operand(tree, fn, args[1], node->b, out);
    print_operand(tree, fn, args[2], node->c, out);
    if (node->kind == LW_NODE_ERROR)
        print_diag(tree, node->a, out);
    lw_text_add(out, node->flags & LW_NODE_STORE ? " store\n" : "\n");
    if (node->kind != LW_NODE_ERROR)
        print_children(tree, fn, node, depth + 1, out);
}

static void
print_params(const lw_tree *tree, const lw_fn *fn, lw_text *out)
{
    bool keyword_only = false;

    for (uint32_t i = 0; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        lw_text_add(out, i ? ", " : "");
        if (i > 0 && !param->unnamed && fn->params.data[i - 1].unnamed)
            lw_text_add(out, "/, ");
        if (param->kind == LW_PARAM_KEYWORD_ONLY && !keyword_only) {
            lw_text_add(out, "*, ");
            keyword_only = true;
        }
        lw_text_addf(out, "%s%s", param->kind == LW_PARAM_VARARG ? "*" : "", param->name);
        if (param->kind == LW_PARAM_VARARG)
            keyword_only = true; /* the star already marks what follows */
        if (param->annotation) {
            lw_text_add(out, ": ");
            lw_constant_print(tree, param->annotation, out);
        }
        if (param->default_constant) {
            lw_text_add(out, "=");
            lw_constant_print(tree, param->default_constant, out);
        }
    }
}

static void
print_fn(const lw_tree *tree, uint32_t index, lw_text *out)
{
    const lw_fn *fn = &tree->fns.data[index];

    lw_text_addf(out, "fn #%" PRIu32 " %s(", index, fn->name);
    print_params(tree, fn, out);
    lw_text_add(out, ")");
    if (fn->return_annotation) {
        lw_text_add(out, " -> ");
        lw_constant_print(tree, fn->return_annotation, out);
    }
    lw_text_addf(out, " line %" PRIu32, fn->line);
    if (fn->parent)
        lw_text_addf(out, " in #%" PRIu32, fn->parent);
    for (uint32_t i = 0; i < fn->captures.n; i++)
        lw_text_addf(out, "%s%s", i ? ", " : " captures ",
                     fn->vars.data[fn->captures.data[i].var].name);
    lw_text_add(out, "\n");
    if (fn->problem) {
        lw_text_add(out, "  problem");
        print_diag(tree, fn->problem, out);
        lw_text_add(out, "\n");
    } else if (fn->body) {
        print_node(tree, fn, fn->body, 1, out);
    }
}

void
lw_tree_print(const lw_tree *tree, lw_text *out)
{
    for (uint32_t i = 1; i < tree->fns.n; i++)
        print_fn(tree, i, out);
}
