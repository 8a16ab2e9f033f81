/* W203: warns of sums of unknown length in narrow types, in terms of the user's source. */
#include "core/front/lower/lower_internal.h"

#include <string.h>

#include "core/opt/narrow_sum.h"

/* Who wrote a function, judged by its file. A sum in lanewise/_array_functions.py is reported
 * at the user's call of it; sums in other functions of lanewise, which draw random numbers, are
 * not reported. */
typedef enum owner { USERS, LOOPS_FOR_CALLS, LANEWISES } owner;

static owner
owner_of(const lw_lowering *l, const lw_func *func)
{
    const char *file = l->module->files.data[func->file];
    owner found = USERS;

    if (file == NULL) /* a helper that lowering made */
        return LANEWISES;
    for (uint32_t i = 1; i < l->tree->fns.n; i++) {
        const lw_fn *fn = &l->tree->fns.data[i];

        if (!fn->of_package || fn->file == 0 || /* not read: nothing in the module is from it */
            strcmp(l->tree->files.data[fn->file].path, file) != 0)
            continue;
        if (fn->implements)
            return LOOPS_FOR_CALLS;
        found = LANEWISES;
    }
    return found;
}

static bool
calls(const lw_func *caller, uint32_t func)
{
    for (uint32_t i = 1; i < caller->insts.n; i++)
        if (lw_op_is_call((lw_op)caller->insts.data[i].op) && caller->insts.data[i].a == func)
            return true;
    return false;
}

/* The instruction in a function of the user's that calls func, directly or through others;
 * NULL: none. */
static const lw_inst *
call_of(const lw_lowering *l, uint32_t func, int depth)
{
    for (uint32_t f = 0; depth > 0 && f < l->module->funcs.n; f++) {
        const lw_func *caller = l->module->funcs.data[f];

        for (uint32_t i = 1; i < caller->insts.n; i++)
            if (lw_op_is_call((lw_op)caller->insts.data[i].op) &&
                caller->insts.data[i].a == func && f != func && owner_of(l, caller) == USERS)
                return &caller->insts.data[i];
    }
    for (uint32_t f = 0; depth > 1 && f < l->module->funcs.n; f++) {
        const lw_inst *found = f != func && calls(l->module->funcs.data[f], func)
                                   ? call_of(l, f, depth - 1)
                                   : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* ---- totals that are narrow on purpose ---- */

static bool
is_in_line(const lw_lowering *l, const lw_node *node, const lw_ir_loc *loc)
{
    const lw_loc *at = &l->tree->locs.data[node->loc];

    return at->line == loc->line &&
           strcmp(l->tree->files.data[at->file].path, l->module->files.data[loc->file]) == 0;
}

/* The node whose type says whether the statement is of the instance's function: a value that it
 * assigns; 0: it assigns none to variables. */
static uint32_t
typed_part(const lw_node *statement, uint32_t number)
{
    switch (statement->kind) {
    case LW_NODE_ASSIGN: return statement->a;
    case LW_NODE_ANNASSIGN: return statement->c;
    case LW_NODE_AUGASSIGN: return number;
    default: return 0;
    }
}

/* Whether it assigns to this variable. */
static bool
assigns(const lw_tree *tree, const lw_node *statement, uint32_t var)
{
    uint32_t n = statement->kind == LW_NODE_ASSIGN ? statement->c : 1;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t target = statement->kind == LW_NODE_ASSIGN ? tree->lists.data[statement->b + i]
                                                            : statement->a;
        const lw_node *name = &tree->nodes.data[target];
        if (name->kind == LW_NODE_NAME && name->a == var)
            return true;
    }
    return false;
}

/* `s: float32 = 0.0` or `s = np.float32(0.0)`. */
static bool
says_type(const lw_lowering *l, const lw_instance *inst, const lw_node *statement,
          lw_dtype dtype)
{
    const lw_typed_node *value = lw_typed_in(&inst->nodes, statement->a);

    if (statement->kind != LW_NODE_ASSIGN)
        return statement->kind == LW_NODE_ANNASSIGN;
    if (!value->constant)
        return value->call == LW_CALL_CAST && value->target == (uint32_t)dtype;
    const lw_constant *k = lw_typed_constant(l->typed, value->constant);
    return k->kind == LW_K_SCALAR && k->dtype == dtype;
}

/* Whether the program gives the type of this variable by name, and so knows it. */
static bool
is_declared(const lw_lowering *l, const lw_instance *inst, uint32_t var, lw_dtype dtype)
{
    for (uint32_t k = 0; k < inst->nodes.n; k++) {
        uint32_t i = inst->nodes.first + k;
        const lw_node *n = &l->tree->nodes.data[i];
        uint32_t part = typed_part(n, i);
        if (part && lw_typed_in(&inst->nodes, part)->type != LW_T_BOTTOM &&
            assigns(l->tree, n, var) && says_type(l, inst, n, dtype))
            return true;
    }
    return false;
}

/* Whether what the line adds to is such a variable. */
static bool
is_intended(const lw_lowering *l, const lw_narrow_sum *sum, const lw_ir_loc *loc)
{
    for (uint32_t k = 1; !sum->in_memory && k < l->typed->instances.n; k++) {
        const lw_instance *inst = &l->typed->instances.data[k];
        const lw_fn *fn = &l->tree->fns.data[inst->fn];

        for (uint32_t j = 0; j < inst->nodes.n; j++) {
            uint32_t i = inst->nodes.first + j;
            const lw_node *n = &l->tree->nodes.data[i];
            uint32_t part = typed_part(n, i);
            if (part == 0 || lw_typed_in(&inst->nodes, part)->type == LW_T_BOTTOM ||
                !is_in_line(l, n, loc))
                continue;
            for (uint32_t var = 1; var < fn->vars.n; var++)
                if (assigns(l->tree, n, var) && is_declared(l, inst, var, sum->dtype))
                    return true;
        }
    }
    return false;
}

/* Whether the value of a statement has this type in some instance. */
static bool
gives(const lw_lowering *l, uint32_t statement, lw_dtype dtype)
{
    for (uint32_t i = 1; i < l->typed->instances.n; i++) {
        const lw_typed_nodes *nodes = &l->typed->instances.data[i].nodes;
        lw_type type = lw_is_typed_in(nodes, statement) ? lw_typed_in(nodes, statement)->type
                                                        : LW_T_BOTTOM;

        if (type != LW_T_BOTTOM && lw_type_stored(l->types, type) == dtype)
            return true;
    }
    return false;
}

/* The statement of the file that adds in this line, the first one of this type if there are
 * several; 0: the sum is hidden in a call. */
static uint32_t
statement_in(const lw_lowering *l, const lw_ir_loc *loc, lw_dtype dtype)
{
    uint32_t found = 0;

    for (uint32_t i = 1; i < l->tree->nodes.n; i++) {
        const lw_node *n = &l->tree->nodes.data[i];

        if (!is_in_line(l, n, loc) || n->kind != LW_NODE_AUGASSIGN ||
            (n->op != LW_PY_ADD && n->op != LW_PY_SUB))
            continue;
        if (gives(l, i, dtype))
            return i;
        found = found ? found : i;
    }
    return found;
}

/* Whether a statement of this line adds. Functions such as np.dot add integers in the type that
 * NumPy does. */
static bool
is_written(const lw_lowering *l, const lw_ir_loc *loc)
{
    for (uint32_t i = 1; i < l->tree->nodes.n; i++) {
        const lw_node *n = &l->tree->nodes.data[i];
        const lw_node *value = n->kind == LW_NODE_ASSIGN ? &l->tree->nodes.data[n->a] : n;
        bool adds =
            value->kind == LW_NODE_BINARY && (value->op == LW_PY_ADD || value->op == LW_PY_SUB);

        if (n->kind == LW_NODE_ASSIGN && (adds || value->kind == LW_NODE_TUPLE) &&
            is_in_line(l, n, loc))
            return true;
    }
    return statement_in(l, loc, LW_DT_void) != 0;
}

static bool
is_intended_at(const lw_lowering *l, const lw_narrow_sum *sum, const lw_inst *inst)
{
    const lw_ir_loc *loc = inst->loc ? &l->module->locs.data[inst->loc] : NULL;

    return loc != NULL &&
           (is_intended(l, sum, loc) || (lw_is_integer(sum->dtype) && !is_written(l, loc)));
}

/* ---- the search ---- */

/* The first narrow sum of any function, and the instruction that has its location. */
static lw_status
find(const lw_lowering *l, lw_narrow_sum *sum, const lw_inst **inst)
{
    enum { NESTED_CALLS = 8, MOST_INTENDED = 64 }; /* looking at one takes time */
    lw_status status = LW_OK;
    int n_intended = 0;

    *inst = NULL;
    for (uint32_t f = 0; f < l->module->funcs.n && *inst == NULL; f++) {
        const lw_func *func = l->module->funcs.data[f];
        owner who = owner_of(l, func);

        if (who == LANEWISES)
            continue;
        *sum = (lw_narrow_sum){0};
        do {
            LW_TRY(lw_find_narrow_sum(func, sum->at, sum, l->err));
        } while (sum->at &&
                 (who == USERS ? n_intended++ < MOST_INTENDED &&
                                     is_intended_at(l, sum, &func->insts.data[sum->at])
                               : lw_is_integer(sum->dtype))); /* as in NumPy */
        if (n_intended > MOST_INTENDED)
            break;
        if (sum->at)
            *inst = who == USERS ? &func->insts.data[sum->at] : call_of(l, f, NESTED_CALLS);
    }
fail:
    return status;
}

/* ---- the warning ---- */

static bool
is_complex_line(const lw_lowering *l, const lw_ir_loc *loc)
{
    for (uint32_t k = 1; k < l->typed->instances.n; k++) {
        const lw_typed_nodes *nodes = &l->typed->instances.data[k].nodes;

        for (uint32_t i = nodes->first; i < nodes->first + nodes->n; i++)
            if (lw_typed_in(nodes, i)->type == LW_DT_c64 &&
                is_in_line(l, &l->tree->nodes.data[i], loc))
                return true;
    }
    return false;
}

static const char *
name_of_total(const lw_lowering *l, uint32_t statement)
{
    const lw_node *target = &l->tree->nodes.data[l->tree->nodes.data[statement].a];

    for (uint32_t i = 1; statement && target->kind == LW_NODE_NAME && i < l->typed->instances.n;
         i++) {
        const lw_instance *inst = &l->typed->instances.data[i];
        const lw_fn *fn = &l->tree->fns.data[inst->fn];

        if (lw_is_typed_in(&inst->nodes, statement) &&
            lw_typed_in(&inst->nodes, statement)->type != LW_T_BOTTOM && target->a < fn->vars.n)
            return fn->vars.data[target->a].name;
    }
    return NULL;
}

static void
write_warning(const lw_lowering *l, const lw_narrow_sum *sum, const lw_ir_loc *loc,
              lw_text *out)
{
    uint32_t statement = statement_in(l, loc, sum->dtype);
    const char *name = name_of_total(l, statement);
    bool hidden = statement == 0 || (name && *name == '.'); /* in a call, or in a generator */
    bool is_complex = is_complex_line(l, loc);
    bool is_integer = lw_is_integer(sum->dtype);
    const char *wide = is_complex ? "complex128" : is_integer ? "int64" : "float64";
    const char *zero = is_integer ? "0" : "0.0";

    lw_text_addf(out, "W203: line %u of %s adds up in %s, in a loop that may be long: %s. ",
                 (unsigned)loc->line, l->module->files.data[loc->file],
                 is_complex ? "complex64" : lw_dtypes[sum->dtype].public_name,
                 is_integer ? "totals that do not fit wrap around"
                            : "every addition rounds, and the errors add up too");
    if (name != NULL && !hidden && !sum->in_memory)
        lw_text_addf(out, "Declare the total `%s: %s = %s`, or add `lw.%s(...)`", name, wide,
                     zero, wide);
    else if (!hidden || sum->in_memory)
        lw_text_addf(out, "Add up in a variable, `total: %s = %s`, and store that", wide, zero);
    else
        lw_text_addf(out, "Convert what is added, `lw.%s(...)`, or pass %s", wide, wide);
    lw_text_add(out, "; warn=False if that is intended");
}

lw_status
lw_lower_note_sums(const lw_lowering *l, lw_scalar *scalar)
{
    lw_narrow_sum sum;
    const lw_inst *inst;
    lw_text text = {0};
    lw_status status = find(l, &sum, &inst);

    if (status != LW_OK || inst == NULL || inst->loc == 0)
        return status;
    write_warning(l, &sum, &l->module->locs.data[inst->loc], &text);
    scalar->warning = lw_arena_strdup(l->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return scalar->warning ? LW_OK : lw_fail_memory(l->err);
}
