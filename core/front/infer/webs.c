/* Definitions, the sets of definitions that reach each use, and the webs that common uses make
 * of them (union-find). Also definite assignment: bit 0 of a set means "not assigned". A use
 * that such a set reaches with definitions beside it is a use of their web, which is asked at
 * run time whether it has a value (lw_web.bound). */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

/* ---- regions ---- */

uint32_t
lw_region_open(lw_infer_frame *f, uint32_t node, bool otherwise)
{
    uint32_t outer = f->region;
    lw_region *region = lw_array_push(&f->regions, f->run->arena);

    if (region == NULL)
        return outer; /* the arena remembers the failure, and the run ends as out of memory */
    region->parent = outer;
    region->node = node;
    region->otherwise = otherwise;
    f->region = f->regions.n - 1;
    return outer;
}

/* Whether x is region y or lies around it. A region has a larger number than those around it.
 */
static bool
is_around(const lw_infer_frame *f, uint32_t x, uint32_t y)
{
    while (y > x)
        y = f->regions.data[y].parent;
    return x == y;
}

/* ---- definitions ---- */

static uint32_t
root_of(lw_infer_frame *f, uint32_t def)
{
    assert(def != 0 && def < f->defs.n);
    lw_def *defs = f->defs.data;

    while (defs[def].parent != def) {
        defs[def].parent = defs[defs[def].parent].parent;
        def = defs[def].parent;
    }
    return def;
}

static void
unite(lw_infer_frame *f, uint32_t x, uint32_t y)
{
    lw_def *defs = f->defs.data;
    uint32_t ring;

    x = root_of(f, x);
    y = root_of(f, y);
    assert(defs[x].var == defs[y].var); /* a web is of one variable */
    if (x == y)
        return;
    defs[y].parent = x;
    ring = defs[x].ring;
    defs[x].ring = defs[y].ring;
    defs[y].ring = ring;
    defs[x].used |= defs[y].used;
    defs[x].is_asked |= defs[y].is_asked;
    f->changed = true;
}

/* The definition of this variable at this node, which is made when it is first met; `place`
 * remembers it. 0: memory is out. */
static uint32_t
definition(lw_infer_frame *f, uint32_t var, uint32_t node, uint32_t *place)
{
    assert(var != 0 && var < f->fn->vars.n);
    uint32_t index = *place, *number;
    lw_def *def;

    assert(index == 0 || f->defs.data[index].var == var); /* a node defines one variable */
    if (index && f->defs.data[index].node == node)
        return index;
    if (!lw_has_room(f, var)) {
        assert(f->defs_of[var].n != 0);
        index =
            f->defs_of[var].data[f->defs_of[var].n - 1]; /* the newest, until there is room */
    } else {
        def = lw_array_push(&f->defs, f->run->arena);
        number = lw_array_push(&f->defs_of[var], f->run->arena);
        if (def == NULL || number == NULL)
            return 0;
        index = f->defs.n - 1;
        def->var = var;
        def->node = node;
        def->parent = def->ring = index;
        def->bit = f->defs_of[var].n;
        *number = index;
    }
    *place = index;
    return index;
}

/* The types that `locals=` gives to variables. */
static void
pin_locals(lw_infer_frame *f)
{
    for (uint32_t i = 1; i < f->fn->vars.n; i++) {
        const lw_sig_type annotation = lw_type_of_annotation(f, f->fn->vars.data[i].annotation);
        f->pinned[i] = lw_annotated_type(f, &annotation);
    }
}

lw_status
lw_webs_init(lw_infer_frame *f)
{
    lw_arena *arena = f->run->arena;
    uint32_t n = f->fn->vars.n + 1;

    f->defs_of = lw_arena_take(arena, n * sizeof *f->defs_of);
    f->pinned = lw_arena_take(arena, n * sizeof *f->pinned);
    f->more = lw_arena_take(arena, n * sizeof *f->more);
    f->zeroed = lw_arena_take(arena, n * sizeof *f->zeroed);
    f->zero_defs = lw_arena_take(arena, n * sizeof *f->zero_defs);
    f->now.reach = lw_flow_new(f);
    if (!f->defs_of || !f->pinned || !f->more || !f->now.reach || !f->zeroed || !f->zero_defs ||
        !lw_array_reserve(&f->defs, 1, arena) || !lw_array_reserve(&f->back_edges, 1, arena) ||
        !lw_ownership_init(f))
        return lw_out_of_memory(f);
    f->defs.n = f->back_edges.n = 1; /* entry 0 of each table means none */
    pin_locals(f);
    return LW_OK;
}

uint32_t
lw_param_var(const lw_infer_frame *f, uint32_t i)
{
    assert(i < f->n_params && f->n_params == f->fn->params.n + f->fn->captures.n);
    return i < f->fn->params.n ? f->fn->params.data[i].var
                               : f->fn->captures.data[i - f->fn->params.n].var;
}

/* The value of a parameter: its argument; a number is converted if one of our types annotates
 * it. Python's own types (`x: float`) are hints for readers. */
static lw_status
param_value(lw_infer_frame *f, uint32_t i, uint32_t old, lw_infer_value *value)
{
    uint32_t number = i < f->fn->params.n ? f->fn->params.data[i].annotation : 0;
    const lw_constant *annotation = number ? lw_constant_of(f, number) : NULL;
    lw_status status = LW_OK;

    *value = f->params[i];
    if (annotation == NULL || annotation->kind != LW_K_DTYPE || value->type == LW_T_BOTTOM ||
        value->type == annotation->dtype || !lw_type_is_scalar(f, value->type))
        return LW_OK;
    LW_TRY(lw_check_conversion(f, f->fn->loc, value->type, annotation->dtype, "parameter"));
    if (value->constant != 0)
        value->constant =
            lw_fold_cast_constant(f, old, value->constant, annotation->dtype, false);
    value->type = annotation->dtype;
fail:
    return status;
}

/* ---- variables that are zero until they are bound: typing="numba" ---- */

/* The definition at the beginning of the function. false: memory is out. */
static bool
begin_with_zero(lw_infer_frame *f, uint32_t var)
{
    uint32_t def = f->zero_defs[var], zero;

    if (def == 0 && !lw_has_room(f, var))
        return true; /* of a variable with thousands of definitions: E110 */
    if (def == 0) {
        def = definition(f, var, 0, &f->zero_defs[var]);
        zero = def ? lw_constant_int(f, 0, 0) : 0;
        if (zero == 0)
            return false;
        f->defs.data[def].value = lw_constant_value(f, zero);
        f->defs.data[def].is_zero = true;
    }
    f->defs.data[def].known = true;
    f->defs.data[def].region = 0;
    lw_reach_only(f, var, f->defs.data[def].bit);
    return true;
}

/* Whether numbers alone are assigned to the variable, as far as is known. */
static bool
may_be_zero(lw_infer_frame *f, uint32_t var)
{
    for (uint32_t i = 0; i < f->defs_of[var].n; i++) {
        const lw_def *def = &f->defs.data[f->defs_of[var].data[i]];
        if (def->known && def->value.type != LW_T_BOTTOM &&
            !lw_type_is_number(f, def->value.type))
            return false;
    }
    return true;
}

/* Whether the zero reaches this use. */
static bool
reaches_zero(const lw_infer_frame *f, uint32_t var)
{
    for (uint32_t def = 0; (def = lw_next_reached(f, var, def)) != 0;)
        if (f->defs.data[def].is_zero)
            return true;
    return false;
}

/* Whether an assignment reaches this use. */
static bool
reaches_assignment(const lw_infer_frame *f, uint32_t var)
{
    for (uint32_t def = 0; (def = lw_next_reached(f, var, def)) != 0;)
        if (!f->defs.data[def].is_zero)
            return true;
    return false;
}

/* W205, once for a function that is compiled. */
static lw_status
warn_of_zero(lw_infer_frame *f, uint32_t var, uint32_t loc)
{
    const lw_tree *tree = f->run->tree;
    const lw_loc *at = &tree->locs.data[loc];
    const char *path = tree->files.data[at->file].path;
    lw_text text = {0};

    if (!f->report || f->run->typed->unbound != NULL)
        return LW_OK;
    lw_text_addf(
        &text,
        "W205: variable `%s` may have no value at line %u of %s, and is zero there with "
        "typing=\"numba\": assign it on every path",
        f->fn->vars.data[var].name, at->line, path ? path : "?");
    f->run->typed->unbound = lw_arena_strdup(f->run->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return f->run->typed->unbound ? LW_OK : lw_out_of_memory(f);
}

/* Parameter i is definition i + 1. */
lw_status
lw_webs_begin_iteration(lw_infer_frame *f)
{
    lw_status status;

    if (!lw_array_reserve(&f->regions, 1, f->run->arena) || !lw_flows_grow(f))
        return lw_out_of_memory(f);
    f->regions.n = 1;
    f->region = 0;
    for (uint32_t i = 0; i < f->fn->vars.n; i++) {
        lw_reach_only(f, i, 0);
        *lw_lost(f, i) = 0;
    }
    lw_ownership_begin(f);
    f->now.live = true;
    for (uint32_t i = 0; i < f->n_params; i++) {
        uint32_t var = lw_param_var(f, i);
        uint32_t none = 0, def = f->iteration == 1 ? definition(f, var, 0, &none) : i + 1;

        assert(def == 0 || def == i + 1); /* parameters are defined first */
        if (def == 0)
            return lw_out_of_memory(f);
        LW_TRY(param_value(f, i, f->defs.data[def].value.constant, &f->defs.data[def].value));
        f->defs.data[def].known = true;
        f->defs.data[def].region = 0;
        lw_reach_only(f, var, f->defs.data[def].bit);
    }
    for (uint32_t var = 1; var < f->fn->vars.n; var++)
        if (f->zeroed[var] && !begin_with_zero(f, var))
            return lw_out_of_memory(f);
    return LW_OK;
fail:
    return status;
}

/* A definition that is met again keeps what it had: an int that keeps growing becomes a
 * run-time int, so that the walks come to an end. */
static lw_infer_value
widen(lw_infer_frame *f, const lw_def *def, lw_infer_value value)
{
    const char *problem;
    lw_type joined;

    if (!def->known ||
        (f->iteration <= LW_GROWING_ITERATIONS && def->iteration != f->iteration))
        return value;
    joined = lw_join2(f, def->value.type, value.type, &problem);
    if (problem)
        return value;
    if (joined != def->value.type && lw_type_kind_of(lw_types_of(f), joined) == LW_TK_LITERAL)
        joined = lw_type_unbounded(lw_types_of(f), joined);
    value.constant = value.constant == def->value.constant ? value.constant : 0;
    value.type = joined;
    return value;
}

static bool
same_value(lw_infer_frame *f, lw_infer_value x, lw_infer_value y)
{
    return x.type == y.type &&
           (x.constant == y.constant || lw_constant_same(f, x.constant, y.constant));
}

/* Checks that a value of this type can be assigned to a variable whose type `locals=` gives.
 * Numbers are converted, and nothing else can be. */
static lw_status
check_pinned(lw_infer_frame *f, uint32_t var, uint32_t node, lw_type type)
{
    lw_type pinned = f->pinned[var];
    uint32_t loc = node ? lw_node_of(f, node)->loc : f->fn->loc;

    if (type == LW_T_BOTTOM || pinned >= (lw_type)LW_N_DTYPES || lw_type_is_scalar(f, type))
        return LW_OK;
    return lw_check_conversion(f, loc, type, (lw_dtype)pinned, "variable");
}

static lw_status
define(lw_infer_frame *f, uint32_t var, uint32_t node, uint32_t *place, lw_infer_value value)
{
    assert(var != 0 && var < f->fn->vars.n);
    assert(f->iteration != 0); /* within a walk */
    uint32_t index;
    lw_status status;
    lw_def *def;

    if (f->pinned[var]) {
        LW_TRY(check_pinned(f, var, node, value.type));
        value.type = f->pinned[var];
        value.constant = 0;
    }
    index = definition(f, var, node, place);
    if (index == 0)
        return lw_out_of_memory(f);
    def = &f->defs.data[index];
    value = widen(f, def, value);
    if (!def->known || !same_value(f, def->value, value))
        f->changed = true;
    if (!def->known || value.constant == 0 || def->value.constant == 0)
        def->value = value;
    else
        def->value =
            (lw_infer_value){value.type, same_value(f, def->value, value) ? def->value.constant
                                                                          : value.constant};
    def->known = true;
    def->iteration = f->iteration;
    def->region = f->region;
    lw_reach_only(f, var, def->bit);
    lw_note_assigned(f, var);
    return LW_OK;
fail:
    return status;
}

lw_status
lw_define(lw_infer_frame *f, uint32_t var, uint32_t node, lw_infer_value value)
{
    *lw_lost(f, var) = LW_IS_REBOUND;
    if (value.type != LW_T_BOTTOM)
        *lw_lost(f, var) |= LW_LOST_OUTER | LW_LOST_INNER;
    return define(f, var, node, &lw_typed_in(&f->nodes, node)->web, value);
}

lw_status
lw_define_back(lw_infer_frame *f, uint32_t var, uint32_t node, lw_infer_value value)
{
    return define(f, var, node, &lw_typed_in(&f->nodes, node)->target, value);
}

lw_status
lw_pin(lw_infer_frame *f, uint32_t var, uint32_t loc, lw_type type)
{
    assert(var != 0 && var < f->fn->vars.n);
    assert(type != LW_T_BOTTOM); /* 0 means not annotated */
    if (f->pinned[var] && f->pinned[var] != type)
        return lw_complain(f, loc, "E140",
                           lw_format_text(f, "`%s` is annotated %s here and %s elsewhere",
                                          f->fn->vars.data[var].name, lw_describe_type(f, type),
                                          lw_describe_type(f, f->pinned[var])),
                           "use two names", "two types for one variable");
    if (!f->pinned[var])
        f->changed = true;
    f->pinned[var] = type;
    return LW_OK;
}

/* ---- uses ---- */

static uint32_t
line_of(lw_infer_frame *f, uint32_t def)
{
    uint32_t node = f->defs.data[def].node;
    uint32_t loc = node ? lw_node_of(f, node)->loc : f->fn->loc;
    return f->run->tree->locs.data[loc].line;
}

/* The outermost condition around a definition that is not around the use. */
static uint32_t
deciding_region(lw_infer_frame *f, uint32_t def)
{
    uint32_t region = f->defs.data[def].region, found = 0;

    if (region >= f->regions.n)
        return 0;
    for (; region && !is_around(f, region, f->region); region = f->regions.data[region].parent)
        found = region;
    return found;
}

/* The advice, and why reading the variable does not raise an UnboundLocalError here. */
static const char *
help_for_unbound(lw_infer_frame *f, const char *advice, const char *why)
{
    return why ? lw_format_text(f, "%s; %s", advice, why) : advice;
}

static lw_status
complain_one_definition(lw_infer_frame *f, const char *name, uint32_t loc, uint32_t def,
                        const char *why)
{
    uint32_t region = deciding_region(f, def), line = line_of(f, def);
    const lw_region *row = &f->regions.data[region];
    const lw_node *node = lw_node_of(f, row->node);
    const char *condition, *label, *advice;
    bool is_try = false;

    if (region == 0)
        label =
            lw_format_text(f, "`%s` is used before its only assignment, line %u", name, line);
    else if (node->kind == LW_NODE_FOR || node->kind == LW_NODE_WHILE)
        label =
            lw_format_text(f,
                           "`%s` is unbound when the loop of line %u runs zero times: its only "
                           "assignment is line %u",
                           name, f->run->tree->locs.data[node->loc].line, line);
    else {
        bool has_condition = node->kind == LW_NODE_IF || node->kind == LW_NODE_IFEXP;
        is_try = node->kind == LW_NODE_TRY;
        condition = has_condition ? lw_describe_source(f, node->a) : "";
        label = *condition
                    ? lw_format_text(
                          f, "`%s` is unbound when `%s` is %s: its only assignment is line %u",
                          name, condition, row->otherwise ? "true" : "false", line)
                    : lw_format_text(
                          f, "`%s` is bound on one path only: its only assignment is line %u",
                          name, line);
    }
    advice = region && (node->kind == LW_NODE_FOR || node->kind == LW_NODE_WHILE)
                 ? lw_format_text(f, "assign `%s` before the loop", name)
             : is_try ? lw_format_text(f, "assign `%s` before the `try`", name)
             : region ? lw_format_text(f, "assign `%s` before the `if`, or add an `else`", name)
                      : lw_format_text(f, "assign `%s` first", name);
    return lw_complain(f, loc, "E110", label, help_for_unbound(f, advice, why),
                       "variable `%s` may have no value here", name);
}

/* why: as of help_for_unbound, or NULL. */
static lw_status
complain_unbound(lw_infer_frame *f, uint32_t var, uint32_t loc, const char *why)
{
    const char *name = f->fn->vars.data[var].name;
    uint32_t n = 0, last = 0;

    if (!f->report)
        return LW_OK;
    for (uint32_t i = 0; i < f->defs_of[var].n; i++)
        if (f->defs.data[f->defs_of[var].data[i]].known &&
            !f->defs.data[f->defs_of[var].data[i]].is_zero) {
            last = f->defs_of[var].data[i];
            n++;
        }
    if (n == 1)
        return complain_one_definition(f, name, loc, last, why);
    return lw_complain(
        f, loc, "E110",
        n ? lw_format_text(f, "`%s` is assigned on some of the paths to here, not on all", name)
          : lw_format_text(f, "`%s` is never assigned before this line", name),
        help_for_unbound(f, lw_format_text(f, "assign `%s` before the branches", name), why),
        "variable `%s` may have no value here", name);
}

const char *
lw_help_for_join(const char *problem)
{
    if (strcmp(problem, "E143") == 0)
        return "cast one of them, as in `np.int64(...)`";
    return strcmp(problem, "E130") == 0
               ? "Python ints are 64-bit in compiled code: use floats, `float(...)`"
               : NULL;
}

lw_type
lw_join2(lw_infer_frame *f, lw_type x, lw_type y, const char **problem)
{
    lw_type set[2] = {x, y};

    *problem = NULL;
    if (x == y)
        return x;
    return lw_join(lw_types_of(f), lw_typing_of(f), set, 2, problem);
}

/* The variable is of a comprehension's loop (lanewise/_generator_expressions.py), and its
 * values are whole arrays. */
static lw_status
complain_elements(lw_infer_frame *f, uint32_t loc, lw_type type)
{
    return lw_complain(f, loc, "E140",
                       lw_format_text(f, "an element is %s", lw_describe_type(f, type)),
                       "fill the rows of `np.empty((n, m))` in a loop, or write a row as a "
                       "list, `[[row[j] for j in range(m)] for ...]`",
                       "a comprehension makes an array of numbers or of rows that it lists, "
                       "not of arrays");
}

/* Two definitions of one web whose types cannot be joined: reported at the later one. */
static lw_status
complain_conflict(lw_infer_frame *f, uint32_t root, uint32_t loc)
{
    const char *problem, *name = f->fn->vars.data[f->defs.data[root].var].name;
    uint32_t use_line = f->run->tree->locs.data[loc].line;

    for (uint32_t x = f->defs.data[root].ring;; x = f->defs.data[x].ring) {
        for (uint32_t y = f->defs.data[x].ring; y != x; y = f->defs.data[y].ring) {
            const lw_def *a = &f->defs.data[x], *b = &f->defs.data[y];
            const lw_type tx = a->value.type, ty = b->value.type;

            if (!a->known || !b->known || line_of(f, x) < line_of(f, y))
                continue;
            lw_join2(f, tx, ty, &problem);
            if (problem == NULL)
                continue;
            if (a->node)
                loc = lw_node_of(f, a->node)->loc;
            if (lw_help_for_join(problem))
                return lw_complain(f, loc, problem,
                                   lw_format_text(f, "`%s` is %s here and %s at line %u", name,
                                                  lw_describe_type(f, tx),
                                                  lw_describe_type(f, ty), line_of(f, y)),
                                   lw_help_for_join(problem),
                                   "no 64-bit integer type holds both values");
            if (name[0] == '.' && (lw_array_row(f, tx) || lw_array_row(f, ty)))
                return complain_elements(f, loc, lw_array_row(f, tx) ? tx : ty);
            if (name[0] == '.')
                return lw_complain(f, loc, "E140",
                                   lw_format_text(f, "a value is %s, and another one %s",
                                                  lw_describe_type(f, ty),
                                                  lw_describe_type(f, tx)),
                                   "write a loop, with a variable for each part of an item",
                                   "what this expression collects would have two types");
            return lw_complain(
                f, loc, "E140",
                lw_format_text(f, "`%s` is %s here and %s at line %u; both reach line %u", name,
                               lw_describe_value(f, a->value), lw_describe_value(f, b->value),
                               line_of(f, y), use_line),
                "use two names", "variable `%s` would have two types", name);
        }
        if (x == root)
            break;
    }
    return lw_complain(f, loc, "E140", NULL, "use two names",
                       "the values of `%s` have no common type", name);
}

static bool
are_literals(lw_infer_frame *f, const lw_type *set, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_type_kind_of(lw_types_of(f), set[i]) != LW_TK_LITERAL)
            return false;
    return true;
}

/* The type of all definitions of a web. */
static lw_status
web_type(lw_infer_frame *f, uint32_t root, uint32_t loc, lw_type *out)
{
    lw_type few[16 + 1], *set = few;
    uint32_t n = 0, room = 16;
    const char *problem = NULL;
    lw_type zero = LW_T_BOTTOM;

    *out = LW_T_BOTTOM;
    for (uint32_t def = f->defs.data[root].ring;; def = f->defs.data[def].ring) {
        const lw_def *row = &f->defs.data[def];

        if (row->is_zero)
            zero = row->value.type;
        else if (row->known && row->value.type != LW_T_BOTTOM &&
                 (n == 0 || set[n - 1] != row->value.type)) {
            if (n == room) {
                lw_type *more = lw_arena_take(f->run->arena, (2 * room + 1) * sizeof *more);
                if (more == NULL)
                    return lw_out_of_memory(f);
                memcpy(more, set, n * sizeof *set);
                set = more;
                room *= 2;
            }
            assert(n < room);
            set[n++] = row->value.type;
        }
        if (def == root)
            break;
    }
    if (zero != LW_T_BOTTOM && n > 0 && are_literals(f, set, n))
        set[n++] = zero; /* which is of any type of numbers */
    if (n == 1)
        *out = set[0];
    else if (n)
        *out = lw_join_optional(lw_types_of(f), lw_typing_of(f), set, n, &problem);
    if (n > 1 && problem)
        return complain_conflict(f, root, loc);
    return LW_OK;
}

/* The constant that all definitions in the set have, or 0. Definitions that were not met yet do
 * not count. */
static uint32_t
common_constant(lw_infer_frame *f, uint32_t var, lw_type *type)
{
    uint32_t constant = 0;
    bool first = true;

    for (uint32_t def = 0; (def = lw_next_reached(f, var, def)) != 0;) {
        const lw_def *row = &f->defs.data[def];

        if (!row->known)
            continue;
        if (row->value.constant == 0)
            return 0;
        if (first) {
            constant = row->value.constant;
            *type = row->value.type;
        } else if (*type != row->value.type ||
                   !lw_constant_same(f, constant, row->value.constant)) {
            return 0;
        }
        first = false;
    }
    return constant;
}

static void
note_use(lw_infer_frame *f, uint32_t root)
{
    f->defs.data[root].used = true;
    if (!f->report)
        return;
    for (uint32_t def = f->defs.data[root].ring;; def = f->defs.data[def].ring) {
        if (!is_around(f, f->defs.data[def].region, f->region))
            f->defs.data[root].escapes = true;
        if (def == root)
            break;
    }
}

/* Whether a value of this type needs storage at run time. A nested function does not in the
 * frame that defines it: what it captures is read when it is called. */
static bool
is_stored(lw_infer_frame *f, lw_type type)
{
    switch (lw_type_kind_of(lw_types_of(f), type)) {
    case LW_TK_BOTTOM:
    case LW_TK_NONE:
    case LW_TK_STATIC: return false;
    case LW_TK_FUNCTION:
        return f->run->tree->fns.data[lw_type_get(lw_types_of(f), type)->fn].parent !=
               f->fn_index;
    default: return true;
    }
}

static lw_status
complain_constants(lw_infer_frame *f, uint32_t var, uint32_t loc)
{
    const char *name = f->fn->vars.data[var].name;

    return lw_complain(f, loc, "E104",
                       lw_format_text(f, "different constants reach this use of `%s`", name),
                       "use the constant inside each branch instead; numbers, strings and "
                       "members of an `enum.Enum` may differ",
                       "which constant `%s` is would be known only at run time", name);
}

/* Whether the value was read from an array on some path, and its web holds objects by value. */
static bool
is_copied(lw_infer_frame *f, uint32_t var, lw_type type)
{
    if (!lw_class_by_value(f, type))
        return false;
    for (uint32_t def = 0; (def = lw_next_reached(f, var, def)) != 0;)
        if (lw_type_get_kind(lw_types_of(f), f->defs.data[def].value.type, LW_TK_RECORD))
            return true;
    return *lw_lost(f, var) & LW_IS_COPIED;
}

static lw_status
complain_stale(lw_infer_frame *f, uint32_t var, uint32_t loc)
{
    return lw_complain(f, loc, "E165",
                       lw_format_text(f,
                                      "on some paths `%s` is an object in an array, and arrays "
                                      "were written to since",
                                      f->fn->vars.data[var].name),
                       "make a new object of its fields where it is read: `C(a[i].x, ...)`",
                       "it is not known whether a write to an array has changed this object");
}

/* Whether the variable may have no value at this use, of which there is an error or a question
 * at run time. With numba's typing it is zero then, from the next walk on, if it is a number.
 */
static lw_status
use_unbound(lw_infer_frame *f, uint32_t var, uint32_t loc, bool *unbound)
{
    /* with a zero at the beginning, bit 0 is what loops keep of the walks before that */
    *unbound = f->now.reach[var] & 1 && f->zero_defs[var] == 0;
    if (*unbound && lw_typing_of(f) == LW_TYPING_NUMBA && !f->zeroed[var] &&
        may_be_zero(f, var) && !f->report) {
        f->zeroed[var] = f->changed = true;
        *unbound = false;
    }
    if (!f->zeroed[var] || !reaches_zero(f, var))
        return LW_OK;
    if (may_be_zero(f, var) && reaches_assignment(f, var))
        return warn_of_zero(f, var, loc);
    *unbound = true;
    return LW_OK;
}

/* Why code does not ask at run time whether a variable has a value; "": it surely has none;
 * NULL: the code asks. */
static const char *
why_not_asked(lw_infer_frame *f, uint32_t var, bool can_ask)
{
    if (!reaches_assignment(f, var))
        return "";
    if (f->run->typed->options.ignore_errors)
        return "exceptions are not compiled here; elsewhere, reading it raises an "
               "UnboundLocalError";
    return can_ask
               ? NULL
               : "a nested function or a comprehension takes its value, which has to be there";
}

/* Unites the definitions that reach this place; one of them, or 0: there are none. */
static uint32_t
unite_reached(lw_infer_frame *f, uint32_t var)
{
    uint32_t first = 0;

    for (uint32_t def = 0; (def = lw_next_reached(f, var, def)) != 0;) {
        if (first)
            unite(f, first, def);
        first = first ? first : def;
    }
    return first;
}

/* What the use of a web of this type has, which is no constant. */
static lw_status
use_web(lw_infer_frame *f, uint32_t var, uint32_t loc, uint32_t first, bool is_unbound,
        lw_infer_value *out, uint32_t *def_out)
{
    lw_status status = LW_OK;

    if (is_stored(f, out->type) || (is_unbound && lw_is_known_text(f, out->type))) {
        note_use(f, root_of(f, first));
        f->defs.data[root_of(f, first)].is_asked |= is_unbound;
        *def_out = first;
    } else if (out->type == LW_T_BOTTOM) {
        if ((is_unbound || reaches_zero(f, var)) && !f->is_open)
            return complain_unbound(f, var, loc,
                                    "only values that are made of its own reach this line");
    } else if (is_unbound) {
        return complain_unbound(
            f, var, loc,
            "nothing of a function, a type or None is there at run time that could be asked");
    } else if (lw_is_known_text(f, out->type)) {
        out->constant = lw_type_get(lw_types_of(f), out->type)->fn;
    } else if (out->type == LW_T_STATIC) {
        LW_TRY(complain_constants(f, var, loc));
        out->type = LW_T_BOTTOM;
    }
fail:
    return status;
}

lw_status
lw_use(lw_infer_frame *f, uint32_t var, uint32_t loc, lw_infer_value *out, uint32_t *def_out,
       bool *unbound)
{
    assert(var != 0 && var < f->fn->vars.n);
    lw_status status = LW_OK;
    lw_type type = LW_T_BOTTOM;
    const char *why;
    uint32_t first;
    bool is_unbound;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    *def_out = 0;
    f->copied = false;
    LW_TRY(use_unbound(f, var, loc, &is_unbound));
    why = is_unbound ? why_not_asked(f, var, unbound != NULL) : NULL;
    if (why != NULL)
        LW_TRY(complain_unbound(f, var, loc, *why ? why : NULL));
    if (unbound != NULL)
        *unbound = is_unbound;
    out->constant = is_unbound ? 0 : common_constant(f, var, &type);
    if (out->constant) {
        out->type = type;
        return LW_OK;
    }
    first = unite_reached(f, var);
    if (first == 0)
        return LW_OK;
    LW_TRY(web_type(f, root_of(f, first), loc, &out->type));
    f->copied = is_copied(f, var, out->type);
    if (f->copied && *lw_lost(f, var) & LW_IS_STALE)
        return complain_stale(f, var, loc);
    status = use_web(f, var, loc, first, is_unbound, out, def_out);
fail:
    return status;
}

lw_status
lw_use_name(lw_infer_frame *f, uint32_t node, lw_infer_value *out, uint32_t *def)
{
    const lw_node *n = lw_node_of(f, node);
    bool unbound = false;
    lw_status status = lw_use(f, n->a, n->loc, out, def, &unbound);

    lw_typed_in(&f->nodes, node)->unbound = unbound;
    f->can_raise |= unbound;
    f->asked = unbound ? node : f->asked;
    return status;
}

lw_status
lw_complain_folded(lw_infer_frame *f, uint32_t name)
{
    const lw_node *n = lw_node_of(f, name);

    return complain_unbound(
        f, n->a, n->loc,
        "the expression around it is a constant, and nothing is read at run time");
}

bool
lw_may_be_unbound(const lw_infer_frame *f, uint32_t var)
{
    return (f->now.reach[var] & 1) != 0 || reaches_zero(f, var);
}

void
lw_unbind(lw_infer_frame *f, uint32_t var)
{
    uint32_t zero = f->zero_defs[var];

    lw_reach_only(f, var, zero ? f->defs.data[zero].bit : 0);
    lw_note_assigned(f, var);
}

/* ---- the end: definitions become webs ---- */

/* A Python int that lives in a variable is an int64. */
static lw_status
check_range(lw_infer_frame *f, uint32_t root, lw_type type)
{
    uint32_t node = f->defs.data[root].node;

    if (!lw_literal_is_wide(lw_types_of(f), type))
        return LW_OK;
    return lw_complain(f, node ? lw_node_of(f, node)->loc : f->fn->loc, "E130",
                       lw_format_text(f, "`%s` would hold %s, outside of int64 and uint64",
                                      f->fn->vars.data[f->defs.data[root].var].name,
                                      lw_describe_type(f, type)),
                       "Python ints are 64-bit in compiled code",
                       "integer too large for a variable");
}

/* The web that says whether this one has a value. */
static lw_status
add_bound(lw_infer_frame *f, uint32_t number)
{
    lw_instance *instance = &f->run->typed->instances.data[f->instance];
    lw_web *bound = lw_array_push(&instance->webs, f->run->arena);

    if (bound == NULL)
        return lw_out_of_memory(f);
    *bound = (lw_web){.type = LW_DT_b1, .is_zero = true};
    instance->webs.data[number].bound = instance->webs.n - 1;
    return LW_OK;
}

static lw_status
make_web(lw_infer_frame *f, uint32_t root)
{
    assert(f->report && root_of(f, root) == root); /* types are final */
    lw_instance *instance = &f->run->typed->instances.data[f->instance];
    lw_def *defs = f->defs.data;
    lw_web *web;
    lw_status status = LW_OK;
    lw_type type;
    bool one = defs[root].ring == root;

    LW_TRY(web_type(f, root, f->fn->loc, &type));
    LW_TRY(check_range(f, root, type));
    web = lw_array_push(&instance->webs, f->run->arena);
    if (web == NULL)
        return lw_out_of_memory(f);
    web->var = defs[root].var;
    web->type = type;
    web->single = one && !defs[root].escapes;
    web->is_param = one && root <= f->n_params;
    for (uint32_t def = defs[root].ring;; def = defs[def].ring) {
        web->is_zero |= defs[def].is_zero;
        if (def == root)
            break;
    }
    web->is_zero |= defs[root].is_asked;
    web->single &= !web->is_zero;
    defs[root].web = instance->webs.n - 1;
    if (defs[root].is_asked)
        LW_TRY(add_bound(f, defs[root].web));
fail:
    return status;
}

static uint32_t
web_of(lw_infer_frame *f, uint32_t def)
{
    return def ? f->defs.data[root_of(f, def)].web : 0;
}

/* Replace definitions by webs in the nodes and lists of this instance. */
static void
renumber(lw_infer_frame *f)
{
    const lw_tree *tree = f->run->tree;
    uint32_t *lists = f->run->typed->lists.data;

    for (uint32_t i = f->nodes.first; i < f->nodes.first + f->nodes.n; i++) {
        lw_typed_node *node = lw_typed_in(&f->nodes, i);

        if (tree->nodes.data[i].kind != LW_NODE_NAME)
            continue;
        node->web = web_of(f, node->web);
        node->target = web_of(f, node->target);
        if (node->web && (tree->nodes.data[i].flags & LW_NODE_STORE))
            node->type = f->run->typed->instances.data[f->instance].webs.data[node->web].type;
    }
    for (uint32_t i = 0; i < f->fixups.n; i++) {
        uint32_t *entry = &lists[f->fixups.data[i]];
        assert((*entry & LW_ARG_TAG) == LW_ARG_WEB); /* list_entry noted it */
        *entry = LW_ARG_WEB | web_of(f, *entry & ~LW_ARG_TAG);
    }
}

lw_status
lw_webs_finish(lw_infer_frame *f)
{
    lw_instance *instance = &f->run->typed->instances.data[f->instance];
    uint32_t *webs = lw_arena_take(f->run->arena, (f->n_params + 1) * sizeof *webs);
    lw_status status = LW_OK;

    if (webs == NULL || !lw_array_reserve(&instance->webs, 1, f->run->arena))
        return lw_out_of_memory(f);
    assert(instance->webs.n == 0); /* an instance is finished once */
    instance->webs.n = 1;
    for (uint32_t def = 1; def < f->defs.n; def++)
        if (root_of(f, def) == def && f->defs.data[def].used)
            LW_TRY(make_web(f, def));
    renumber(f);
    for (uint32_t i = 0; i < f->n_params; i++)
        webs[i] = web_of(f, i + 1);
    f->run->typed->instances.data[f->instance].param_webs = webs;
fail:
    return status;
}
