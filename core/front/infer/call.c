/* Calls: binding of arguments to parameters, closures, and instances by argument types. It
 * owns the order of a call's entries in typed->lists: one for each parameter, captures last. A
 * call has no type until all its arguments have one, and only the last walk writes entries. */
#include "core/front/infer/infer_internal.h"

#include "core/front/external.h"

#include <assert.h>
#include <string.h>

typedef LW_ARRAY(lw_arg) arg_list;

/* ---- arguments ---- */

static lw_status
add_arg(lw_infer_frame *f, arg_list *args, lw_arg arg)
{
    lw_arg *slot = lw_array_push(args, f->run->arena);

    if (slot == NULL)
        return lw_out_of_memory(f);
    *slot = arg;
    return LW_OK;
}

static uint32_t
element_entry(lw_infer_frame *f, uint32_t node, uint32_t i)
{
    uint32_t k = f->run->typed->lists.n;

    if (!f->report)
        return node;
    lw_list_add(f, node);
    lw_list_add(f, i);
    return LW_ARG_ELEMENT | k;
}

static lw_status
add_star(lw_infer_frame *f, uint32_t node, arg_list *args)
{
    uint32_t inner = lw_node_of(f, node)->a, n;
    const lw_type_row *row;
    lw_infer_value tuple;
    lw_status status;

    LW_TRY(lw_infer_expr(f, inner, &tuple));
    row = lw_tuple_row(f, tuple.type);
    if (row == NULL)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "this is %s", lw_describe_value(f, tuple)), NULL,
                           "only a tuple can be unpacked with `*`");
    n = row->n;
    for (uint32_t i = 0; i < n; i++) {
        lw_infer_value element = lw_element(f, tuple, i);
        lw_arg arg = {inner, element_entry(f, inner, i), NULL, element};
        LW_TRY(add_arg(f, args, arg));
    }
fail:
    return status;
}

/* Arguments of print may be f-strings, those of NumPy's functions array expressions. */
typedef enum args_kind { ARGS_PLAIN, ARGS_SHOWN, ARGS_ELEMENTWISE } args_kind;

/* *unknown: whether some argument has no type yet. */
static lw_status
infer_args(lw_infer_frame *f, const lw_node *call, args_kind kind, arg_list *args,
           bool *unknown)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < call->c; i++) {
        uint32_t node = f->run->tree->lists.data[call->b + i];
        const lw_node *n = lw_node_of(f, node);
        lw_arg arg = {.node = node};

        if (n->kind == LW_NODE_STAR) {
            LW_TRY(add_star(f, node, args));
            *unknown |= f->nodes[n->a].type == LW_T_BOTTOM;
            continue;
        }
        if (n->kind == LW_NODE_ARG_KEYWORD) {
            arg.keyword = lw_constant_text(f, n->a);
            arg.node = n->b;
        }
        arg.entry = arg.node;
        if (kind == ARGS_SHOWN && lw_node_of(f, arg.node)->kind == LW_NODE_JOINED)
            LW_TRY(lw_infer_joined(f, arg.node, &arg.value));
        else if (kind == ARGS_ELEMENTWISE)
            LW_TRY(lw_infer_operand_expr(f, arg.node, &arg.value));
        else
            LW_TRY(lw_infer_expr(f, arg.node, &arg.value));
        *unknown |= arg.value.type == LW_T_BOTTOM;
        LW_TRY(add_arg(f, args, arg));
    }
fail:
    return status;
}

/* ---- closures ---- */

typedef struct env_stack {
    const struct env_stack *outer;
    uint32_t fn;
} env_stack;

static lw_status function_env(lw_infer_frame *f, uint32_t loc, uint32_t fn,
                              const env_stack *outer, lw_infer_value *value, uint32_t *entry);

static bool
is_own_function(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    return row && row->kind == LW_TK_FUNCTION &&
           f->run->tree->fns.data[row->fn].parent == f->fn_index;
}

/* The values that a nested function of this one captures, as they are at this point of the
 * walk. */
static lw_status
capture(lw_infer_frame *f, uint32_t loc, const lw_fn_capture *row, const env_stack *outer,
        lw_infer_value *value, uint32_t *entry)
{
    assert(row->parent_var < f->fn->vars.n);
    uint32_t def;
    lw_status status;

    *entry = 0;
    LW_TRY(lw_use(f, row->parent_var, loc, value, &def));
    if (value->constant) {
        *entry = LW_ARG_CONSTANT | value->constant;
    } else if (is_own_function(f, value->type)) {
        uint32_t inner = lw_type_get(lw_types_of(f), value->type)->fn;
        LW_TRY(function_env(f, loc, inner, outer, value, entry));
    } else if (def) {
        *entry = LW_ARG_WEB | def;
    }
fail:
    return status;
}

/* Append an entry to typed->lists; definitions among the entries are replaced by webs at the
 * end. */
static lw_status
list_entry(lw_infer_frame *f, uint32_t entry)
{
    uint32_t *fixup;

    if ((entry & LW_ARG_TAG) == LW_ARG_WEB) {
        fixup = lw_array_push(&f->fixups, f->run->arena);
        if (fixup == NULL)
            return lw_out_of_memory(f);
        *fixup = f->run->typed->lists.n;
    }
    return lw_list_add(f, entry) ? LW_OK : lw_out_of_memory(f);
}

static lw_status
pack_entries(lw_infer_frame *f, const uint32_t *entries, uint32_t n, uint32_t *out)
{
    lw_status status = LW_OK;

    *out = 0;
    if (!f->report)
        return LW_OK;
    *out = LW_ARG_PACK | f->run->typed->lists.n;
    if (!lw_list_add(f, n))
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        LW_TRY(list_entry(f, entries[i]));
fail:
    return status;
}

/* Two nested functions that call each other would have each other's captures. */
static lw_status
complain_captured(lw_infer_frame *f, uint32_t loc, uint32_t fn)
{
    const char *name = f->run->tree->fns.data[fn].name;

    return lw_complain(f, loc, "E151",
                       lw_format_text(f, "it captures a function that captures `%s`", name),
                       "define one of them outside, and pass it what it needs",
                       "recursion of nested functions through each other");
}

/* A nested function as a value that leaves this frame for a callee: the tuple of what it
 * captures. Of itself it captures nothing: see captured_again. */
static lw_status
function_env(lw_infer_frame *f, uint32_t loc, uint32_t fn, const env_stack *outer,
             lw_infer_value *value, uint32_t *entry)
{
    const lw_fn_capture *captures = f->run->tree->fns.data[fn].captures.data;
    uint32_t n = f->run->tree->fns.data[fn].captures.n;
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);
    uint32_t *entries = lw_arena_take(f->run->arena, (n + 1) * sizeof *entries);
    env_stack here = {outer, fn};
    lw_status status = LW_OK;

    if (types == NULL || entries == NULL)
        return lw_out_of_memory(f);
    if (outer != NULL && outer->fn == fn) {
        value->type = lw_type_function(lw_types_of(f), fn, NULL, 0);
        return pack_entries(f, NULL, 0, entry);
    }
    for (const env_stack *e = outer; e; e = e->outer)
        if (e->fn == fn) {
            value->type = LW_T_BOTTOM;
            return complain_captured(f, loc, fn);
        }
    for (uint32_t i = 0; i < n; i++) {
        lw_infer_value one;
        LW_TRY(capture(f, loc, &captures[i], &here, &one, &entries[i]));
        types[i] = one.type;
        if (one.type == LW_T_STATIC)
            return lw_complain(f, loc, "E102", NULL,
                               "pass the constant as a default of the nested function",
                               "`%s` captures a compile-time constant and is passed on",
                               f->run->tree->fns.data[fn].name);
    }
    value->type = lw_type_function(lw_types_of(f), fn, types, n);
    LW_TRY(pack_entries(f, entries, n, entry));
fail:
    return status;
}

/* ---- binding ---- */

typedef struct binding {
    lw_infer_frame *f;
    uint32_t node, fn, n; /* n: the number of parameters and captures */
    const lw_fn *row;
    lw_infer_value *values;
    uint32_t *entries;
    bool *given;
} binding;

/* What distinguishes instances: the type of an argument, and its constant if that exists only
 * at compile time or decides conditions; in lanewise's own functions under numba's typing, too.
 */
static lw_infer_value
key_of(const binding *b, lw_infer_value value)
{
    lw_infer_frame *f = b->f;
    const lw_constant *constant = value.constant ? lw_constant_of(f, value.constant) : NULL;
    __int128 i;
    bool keep =
        constant && (constant->kind == LW_K_NONE || lw_constant_int_value(constant, &i) ||
                     lw_constant_is_static(f, value.constant));

    if (!keep || (!lw_weak_mode(f) && !b->row->inlined && value.type != LW_DT_b1 &&
                  value.type != LW_T_NONE && !lw_constant_is_static(f, value.constant)))
        value.constant = 0;
    if (lw_recursion_is_general(f->run, b->fn) && lw_type_is_int(f, value.type)) {
        value.constant = 0;
        if (lw_type_kind_of(lw_types_of(f), value.type) == LW_TK_LITERAL)
            value.type = LW_T_INDEX;
    }
    return value;
}

static lw_status
set_param(binding *b, uint32_t i, const lw_arg *arg)
{
    assert(i < b->row->params.n);
    lw_infer_frame *f = b->f;
    lw_status status = LW_OK;
    lw_infer_value value = arg->value;

    b->entries[i] = arg->entry;
    b->given[i] = true;
    if (is_own_function(f, value.type)) {
        uint32_t fn = lw_type_get(lw_types_of(f), value.type)->fn;
        LW_TRY(
            function_env(f, lw_node_of(f, arg->node)->loc, fn, NULL, &value, &b->entries[i]));
    }
    if (lw_type_kind_of(lw_types_of(f), value.type) == LW_TK_RANGE)
        return lw_complain(f, lw_node_of(f, arg->node)->loc, "E102", NULL, "pass its bounds",
                           "a range cannot be passed to a function");
    b->values[i] = key_of(b, value);
fail:
    return status;
}

static lw_status
set_vararg(binding *b, uint32_t i, const lw_arg *args, uint32_t n)
{
    assert(i < b->row->params.n);
    lw_infer_frame *f = b->f;
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);
    uint32_t *entries = lw_arena_take(f->run->arena, (n + 1) * sizeof *entries);

    if (types == NULL || entries == NULL)
        return lw_out_of_memory(f);
    for (uint32_t j = 0; j < n; j++) {
        types[j] = args[j].value.type;
        entries[j] = args[j].entry;
    }
    b->given[i] = true;
    b->values[i] = (lw_infer_value){lw_type_tuple(lw_types_of(f), types, n, NULL), 0};
    return pack_entries(f, entries, n, &b->entries[i]);
}

static uint32_t
count_kind(const lw_fn *row, lw_param_kind kind, uint32_t *first)
{
    uint32_t n = 0;

    *first = row->params.n;
    for (uint32_t i = 0; i < row->params.n; i++)
        if (row->params.data[i].kind == kind) {
            *first = n == 0 ? i : *first;
            n++;
        }
    return n;
}

static lw_status
bind_positional(binding *b, const lw_arg *args, uint32_t n)
{
    uint32_t first, vararg, n_positional = count_kind(b->row, LW_PARAM_POSITIONAL, &first);
    bool has_vararg = count_kind(b->row, LW_PARAM_VARARG, &vararg) != 0;
    lw_infer_frame *f = b->f;
    lw_status status = LW_OK;

    if (n > n_positional && !has_vararg)
        return lw_complain(f, lw_node_of(f, b->node)->loc, "E153",
                           lw_format_text(f, "`%s` takes %u positional argument%s, %u given",
                                          b->row->name, n_positional,
                                          n_positional == 1 ? "" : "s", n),
                           NULL, "too many arguments for `%s`", b->row->name);
    for (uint32_t i = 0; i < n && i < n_positional; i++)
        LW_TRY(set_param(b, first + i, &args[i]));
    if (has_vararg)
        LW_TRY(set_vararg(b, vararg, args + (n < n_positional ? n : n_positional),
                          n > n_positional ? n - n_positional : 0));
fail:
    return status;
}

static lw_status
bind_keyword(binding *b, const lw_arg *arg)
{
    uint32_t loc = lw_node_of(b->f, arg->node)->loc;

    for (uint32_t i = 0; i < b->row->params.n; i++) {
        const lw_fn_param *param = &b->row->params.data[i];
        if (param->kind == LW_PARAM_VARARG || strcmp(param->name, arg->keyword) != 0)
            continue;
        if (b->given[i])
            return lw_complain(b->f, loc, "E153",
                               lw_format_text(b->f, "`%s` is given twice", arg->keyword), NULL,
                               "`%s` got two values for one parameter", b->row->name);
        return set_param(b, i, arg);
    }
    return lw_complain(b->f, loc, "E153",
                       lw_format_text(b->f, "no parameter `%s`", arg->keyword), NULL,
                       "`%s` has no such parameter", b->row->name);
}

static lw_status
bind_rest(binding *b)
{
    for (uint32_t i = 0; i < b->row->params.n; i++) {
        const lw_fn_param *param = &b->row->params.data[i];

        if (b->given[i])
            continue;
        if (param->default_constant == 0)
            return lw_complain(b->f, lw_node_of(b->f, b->node)->loc, "E153",
                               lw_format_text(b->f, "`%s` is missing", param->name), NULL,
                               "`%s` needs an argument for `%s`", b->row->name, param->name);
        b->values[i] = key_of(b, lw_constant_value(b->f, param->default_constant));
    }
    return LW_OK;
}

static lw_status
bind(binding *b, const arg_list *args)
{
    uint32_t n = 0;
    lw_status status;

    assert(args->n == 0 || args->data != NULL);
    while (n < args->n && args->data[n].keyword == NULL)
        n++;
    LW_TRY(bind_positional(b, args->data, n));
    for (uint32_t i = n; i < args->n; i++) {
        if (args->data[i].keyword == NULL)
            return lw_complain(b->f, lw_node_of(b->f, b->node)->loc, "E153", NULL, NULL,
                               "`*` after a keyword argument is not supported");
        LW_TRY(bind_keyword(b, &args->data[i]));
    }
    LW_TRY(bind_rest(b));
fail:
    return status;
}

/* What a nested function captured, where it calls itself. */
static lw_status
captured_again(binding *b, uint32_t i, lw_infer_value *value, uint32_t *entry)
{
    lw_infer_frame *f = b->f;
    uint32_t def;
    lw_status status;

    *entry = 0;
    LW_TRY(lw_use(f, b->row->captures.data[i].var, lw_node_of(f, b->node)->loc, value, &def));
    *entry = value->constant ? LW_ARG_CONSTANT | value->constant : LW_ARG_WEB | def;
fail:
    return status;
}

/* Captures follow the parameters. They are read here if the function is defined in this one,
 * else taken from the function value. */
static lw_status
bind_captures(binding *b, uint32_t callee_node, lw_type function)
{
    lw_infer_frame *f = b->f;
    const lw_type_row *type = lw_type_get(lw_types_of(f), function);
    const lw_type *captured = type ? type->elements : NULL;
    uint32_t n_captured = type ? type->n : 0, n = b->row->captures.n, at = b->row->params.n;
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++) {
        lw_infer_value *value = &b->values[at + i];
        env_stack here = {NULL, b->fn};

        if (b->row->parent == f->fn_index) {
            LW_TRY(capture(f, lw_node_of(f, b->node)->loc, &b->row->captures.data[i], &here,
                           value, &b->entries[at + i]));
        } else if (b->fn == f->fn_index) {
            LW_TRY(captured_again(b, i, value, &b->entries[at + i]));
        } else if (i < n_captured) {
            *value = (lw_infer_value){captured[i], 0};
            b->entries[at + i] = element_entry(f, callee_node, i);
        } else {
            return lw_complain(f, lw_node_of(f, b->node)->loc, "E102", NULL, NULL,
                               "`%s` is called outside of the function it belongs to",
                               b->row->name);
        }
    }
fail:
    return status;
}

/* ---- instances ---- */

static bool
is_users_fault(lw_status status)
{
    return status != LW_ERR_OUT_OF_MEMORY && status != LW_ERR_INTERNAL;
}

/* The call needs the code that a callable brings. */
static lw_status
note_link(lw_infer_frame *f, uint32_t node, uint32_t linked, const lw_type *types, uint32_t n)
{
    lw_instance *instance = &f->run->typed->instances.data[f->instance];
    lw_link_call *call;

    if (linked == 0)
        return LW_OK;
    call = lw_array_push(&instance->links, f->run->arena);
    if (call == NULL)
        return lw_out_of_memory(f);
    *call = (lw_link_call){.node = node, .linked = linked, .n = n, .types = types};
    return LW_OK;
}

static lw_status
finish_call(binding *b, uint32_t memo, lw_infer_value *out)
{
    assert(memo < b->f->run->memos.n);
    lw_infer_frame *f = b->f;
    lw_typed_node *typed = &f->nodes[b->node];
    const lw_memo *row = &f->run->memos.data[memo];
    const lw_instance *instance = &f->run->typed->instances.data[row->instance];
    bool all_constant = true, recurses = row->busy || instance->recurses;
    lw_status status = LW_OK;

    f->can_raise |= instance->can_raise;
    f->allocates |= instance->allocates;
    f->prints |= instance->prints;
    f->recurses |= recurses;
    out->type = row->result.type;
    if (out->type == LW_T_BOTTOM) {
        f->is_open = true;
        return lw_complain_endless(f, lw_node_of(f, b->node)->loc, b->fn);
    }
    for (uint32_t i = 0; i < b->n; i++)
        all_constant = all_constant && (b->values[i].constant || b->entries[i] == 0);
    if (row->result.constant &&
        (out->type == LW_T_STATIC || (all_constant && !instance->can_raise &&
                                      !instance->allocates && !instance->prints && !recurses)))
        *out = row->result;
    else if (out->type == LW_T_STATIC)
        LW_TRY(lw_complain(f, lw_node_of(f, b->node)->loc, "E104", NULL, NULL,
                           "which constant `%s` returns is known only at run time",
                           b->row->name));
    if (!f->report)
        return LW_OK;
    typed->call = LW_CALL_INSTANCE;
    typed->target = row->instance;
    typed->n_args = b->n;
    typed->args = f->run->typed->lists.n;
    for (uint32_t i = 0; i < b->n; i++)
        LW_TRY(list_entry(f, b->entries[i]));
    if (!out->constant) /* else the call is not made */
        LW_TRY(note_link(f, b->node, b->row->linked,
                         f->run->typed->instances.data[row->instance].param_types,
                         b->row->params.n));
fail:
    return status;
}

static lw_status
instantiate(binding *b, lw_infer_value *out)
{
    lw_infer_frame *f = b->f;
    lw_run *run = f->run;
    uint32_t loc = lw_node_of(f, b->node)->loc, memo = 0;
    bool final = f->report;
    const lw_signature *declared = NULL;
    lw_status status;

    for (uint32_t i = 0; i < b->n; i++)
        if (b->values[i].type == LW_T_BOTTOM)
            return LW_OK;
    if (b->row->n_declared) {
        LW_TRY(lw_infer_declared(f, b->node, b->row, b->values, b->entries, &declared));
        if (declared == NULL)
            return LW_OK;
    }
    run->quiet += !final;
    status = lw_infer_instance(run, &(lw_instance_key){b->fn, b->n, b->values, declared}, loc,
                               &memo);
    run->quiet -= !final;
    if (status != LW_OK) {
        if (!final && is_users_fault(status))
            return LW_OK;
        if (run->quiet == 0 && is_users_fault(status))
            lw_complain_called(f, loc);
        return status;
    }
    return finish_call(b, memo, out);
fail:
    return status;
}

/* A problem that was found when the called function was read. */
static lw_status
complain_of_callee(lw_infer_frame *f, uint32_t node, const lw_fn *callee)
{
    lw_run *run = f->run;
    lw_status status = run->tree->diags.data[callee->problem].status;

    if (!f->report)
        return LW_OK;
    if (run->quiet)
        return status;
    status = lw_diagnose_kept(run->tree, callee->problem, callee->name, run->err);
    if (is_users_fault(status))
        lw_complain_called(f, lw_node_of(f, node)->loc);
    return status;
}

static lw_status
call_function(lw_infer_frame *f, uint32_t node, uint32_t fn, lw_type function,
              const arg_list *args, lw_infer_value *out)
{
    const lw_fn *row = &f->run->tree->fns.data[fn];
    binding b = {.f = f, .node = node, .fn = fn, .row = row};
    lw_arena *arena = f->run->arena;
    lw_status status;

    if (row->problem)
        return complain_of_callee(f, node, row);
    if (row->implements && !lw_takes_arrays(f, row, args->data, args->n, &status))
        return status;
    if (row->implements && strcmp(row->implements, "math.prod") == 0) {
        LW_TRY(lw_fold_product(f, node, args->data, args->n, out));
        if (out->constant)
            return LW_OK;
    }
    b.n = row->params.n + row->captures.n;
    b.values = lw_arena_take(arena, (b.n + 1) * sizeof *b.values);
    b.entries = lw_arena_take(arena, (b.n + 1) * sizeof *b.entries);
    b.given = lw_arena_take(arena, (b.n + 1) * sizeof *b.given);
    if (!b.values || !b.entries || !b.given)
        return lw_out_of_memory(f);
    LW_TRY(bind(&b, args));
    LW_TRY(bind_captures(&b, lw_node_of(f, node)->a, function));
    LW_TRY(instantiate(&b, out));
    if (row->implements)
        out->type = lw_array_function_result(f, row, args->data, args->n, out->type);
fail:
    return status;
}

/* ---- calls of what brings code along ---- */

/* linked: what the callable brings beside its function: an instance, a class. */
static lw_status
call_linked(lw_infer_frame *f, uint32_t node, uint32_t fn, uint32_t linked,
            const arg_list *args, lw_infer_value *out)
{
    const lw_instance *called;
    lw_status status;

    LW_TRY(call_function(f, node, fn, LW_T_BOTTOM, args, out));
    if (!f->report || f->nodes[node].call != LW_CALL_INSTANCE || out->constant)
        return LW_OK;
    called = &f->run->typed->instances.data[f->nodes[node].target];
    LW_TRY(
        note_link(f, node, linked, called->param_types, f->run->tree->fns.data[fn].params.n));
fail:
    return status;
}

/* Numbers have the declared types, arrays their own. */
static lw_status
call_external(lw_infer_frame *f, uint32_t node, uint32_t number, const arg_list *args,
              lw_infer_value *out)
{
    const lw_constant *constant = lw_constant_of(f, number);
    const lw_external *external = constant->bytes;
    uint32_t linked = constant->linked, n = external->signature.n_args;
    lw_type *types = NULL;
    lw_status status;

    LW_TRY(lw_infer_external(f, node, number, args->data, args->n, out));
    if (!f->report || linked == 0)
        return LW_OK;
    assert(args->n == n && (n == 0 || args->data != NULL)); /* else it was refused */
    types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);
    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        types[i] = external->signature.args[i].kind == LW_SIG_SCALAR
                       ? (lw_type)external->signature.args[i].dtype
                       : args->data[i].value.type;
    LW_TRY(note_link(f, node, linked, types, n));
fail:
    return status;
}

lw_status
lw_infer_call_function(lw_infer_frame *f, uint32_t node, uint32_t fn, const lw_arg *args,
                       uint32_t n, lw_infer_value *out)
{
    arg_list all = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++)
        LW_TRY(add_arg(f, &all, args[i]));
    return call_function(f, node, fn, LW_T_BOTTOM, &all, out);
fail:
    return status;
}

lw_status
lw_infer_call_member(lw_infer_frame *f, uint32_t node, const lw_class_member *member,
                     const lw_arg *args, uint32_t n, lw_infer_value *out)
{
    arg_list all = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++)
        LW_TRY(add_arg(f, &all, args[i]));
    return call_linked(f, node, member->index, member->linked, &all, out);
fail:
    return status;
}

/* ---- callees by kind ---- */

static lw_status
no_keywords(lw_infer_frame *f, const arg_list *args, const char *what)
{
    assert(args->n == 0 || args->data != NULL);
    for (uint32_t i = 0; i < args->n; i++)
        if (args->data[i].keyword)
            return lw_complain(f, lw_node_of(f, args->data[i].node)->loc, "E153",
                               lw_format_text(f, "no parameter `%s`", args->data[i].keyword),
                               NULL, "`%s` has no such parameter", what);
    return LW_OK;
}

/* Put the arguments of a named function in the order of its parameters; a parameter without an
 * argument has entry 0. */
static lw_status
order_keywords(lw_infer_frame *f, lw_name_id name, const arg_list *args, arg_list *placed)
{
    lw_status status = LW_OK;

    assert(args->n == 0 || args->data != NULL);
    for (uint32_t i = 0; i < args->n; i++) {
        lw_arg arg = args->data[i];
        int at = arg.keyword ? lw_name_keyword(name, arg.keyword) : (int)placed->n;

        if (at < 0)
            return lw_complain(
                f, lw_node_of(f, arg.node)->loc, "E153",
                lw_format_text(f, "no parameter `%s` in compiled code", arg.keyword), NULL,
                "`%s` has no such parameter", lw_name_shown(name));
        while (placed->n <= (uint32_t)at)
            LW_TRY(add_arg(f, placed, (lw_arg){0}));
        assert(placed->data != NULL); /* it has more than `at` items */
        if (placed->data[at].entry)
            return lw_complain(f, lw_node_of(f, arg.node)->loc, "E153",
                               lw_format_text(f, "`%s` is given twice", arg.keyword), NULL,
                               "`%s` got two values for one parameter", lw_name_shown(name));
        placed->data[at] = arg;
    }
fail:
    return status;
}

static const char *
hint_of(const lw_name_row *row)
{
    bool masked = row->rule == LW_RULE_SHUFFLE || row->rule == LW_RULE_MATCH ||
                  (row->impl >= LW_IMPL_VOTE_ALL && row->impl <= LW_IMPL_BALLOT);

    return masked ? "the mask of lanes comes first; 0xffffffff names all of them" : NULL;
}

/* The method that a function of Python calls, or NULL. */
static const char *
special_of(lw_name_id name)
{
    switch (name) {
    case LW_NAME_builtins_abs: return "__abs__";
    case LW_NAME_builtins_len: return "__len__";
    default: return NULL;
    }
}

static lw_status
call_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const arg_list *args,
           lw_infer_value *out)
{
    const lw_name_row *row = &lw_names[name];
    arg_list placed = {0};
    uint32_t whole;
    lw_status status;

    if (row->rule == LW_RULE_PRINT)
        return lw_infer_print(f, node, args->data, args->n, out);
    if (special_of(name) && args->n && lw_class_of(f, args->data[0].value.type)) {
        bool found;
        status = lw_infer_object_special(f, node, special_of(name), args->data, args->n, &found,
                                         out);
        if (found || status != LW_OK)
            return status;
    }
    whole = lw_array_function_of_named(f, name, args->data, args->n);
    if (whole)
        return call_function(f, node, whole, LW_T_BOTTOM, args, out);
    LW_TRY(order_keywords(f, name, args, &placed));
    if (placed.n < row->min || (row->max != 255 && placed.n > row->max))
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E153",
            row->min == row->max
                ? lw_format_text(f, "`%s` takes %u argument%s, %u given", lw_name_shown(name),
                                 row->min, row->min == 1 ? "" : "s", placed.n)
                : lw_format_text(f, "%u argument%s given", placed.n, placed.n == 1 ? "" : "s"),
            hint_of(row), "wrong number of arguments for `%s`", lw_name_shown(name));
    for (uint32_t i = 0; i < row->min; i++)
        if (placed.data[i].entry == 0)
            return lw_complain(f, lw_node_of(f, node)->loc, "E153", NULL, NULL,
                               "argument %u of `%s` is missing", i + 1, lw_name_shown(name));
    LW_TRY(lw_infer_named(f, node, name, placed.data, placed.n, out));
fail:
    return status;
}

/* int(x), float(x), bool(x), complex(x) of an object. */
static lw_status
call_conversion(lw_infer_frame *f, uint32_t node, uint32_t pytype, const lw_arg *x, bool *found,
                lw_infer_value *out)
{
    static const char *const names[] = {"__int__", "__float__", "__bool__", "__complex__"};
    bool is_bool = pytype == 2;
    lw_status status;

    *found = false;
    if (!is_bool || lw_member_of(lw_class_of(f, x->value.type), names[2]) != NULL) {
        LW_TRY(lw_infer_object_special(f, node, names[pytype], x, 1, found, out));
        if (is_bool && *found && out->type != LW_T_BOTTOM && out->type != LW_DT_b1)
            return lw_complain(f, lw_node_of(f, node)->loc, "E165",
                               lw_format_text(f, "this is %s", lw_describe_value(f, *out)),
                               NULL, "`__bool__` returns a bool");
        return LW_OK;
    }
    LW_TRY(lw_complain_object_truth(f, x->node, x->value.type, found));
fail:
    return status;
}

static lw_status
call_constant(lw_infer_frame *f, uint32_t node, uint32_t number, const arg_list *args,
              lw_infer_value *out)
{
    const lw_constant *constant = lw_constant_of(f, number);
    uint32_t loc = lw_node_of(f, lw_node_of(f, node)->a)->loc;
    lw_status status;

    switch (constant->kind) {
    case LW_K_FUNCTION:
        return call_linked(f, node, (uint32_t)constant->u, constant->linked, args, out);
    case LW_K_NAMED: return call_named(f, node, (lw_name_id)constant->u, args, out);
    case LW_K_EXTERNAL: return call_external(f, node, number, args, out);
    case LW_K_DTYPE:
        LW_TRY(no_keywords(f, args, constant->text ? constant->text : "type"));
        return lw_infer_cast(f, node, constant->dtype, args->data, args->n, out);
    case LW_K_PYTYPE:
        LW_TRY(no_keywords(f, args, "type"));
        if (args->n == 1 && lw_class_of(f, args->data[0].value.type)) {
            bool found;
            LW_TRY(
                call_conversion(f, node, (uint32_t)constant->u, &args->data[0], &found, out));
            if (found)
                return LW_OK;
        }
        return lw_infer_pytype(f, node, (uint32_t)constant->u, args->data, args->n, out);
    case LW_K_CLASS:
        if (constant->user_class->make == 0)
            return lw_complain(f, loc, "E152", NULL, "call the class by its own name",
                               "this cannot be called from compiled code");
        return call_linked(f, node, constant->user_class->make, constant->user_class->linked,
                           args, out);
    case LW_K_OBJECT:
        return lw_complain(
            f, loc, "E152",
            lw_format_text(f, "%s", constant->text ? constant->text : "this object"),
            constant->help ? constant->help
                           : "built in with this name: math.*, np.*; or write it as a "
                             "Python function",
            "this cannot be called from compiled code");
    case LW_K_EXCEPTION:
        return lw_complain(f, loc, "E101", NULL, "use it in `raise`",
                           "an exception can only be raised");
    default: return lw_complain(f, loc, "E152", NULL, NULL, "this constant is not a function");
    }
fail:
    return status;
}

/* The arguments of a method: the object, which is the value of this node, in front. */
static lw_status
put_in_front(lw_infer_frame *f, uint32_t of, lw_infer_value object, const arg_list *args,
             arg_list *all)
{
    lw_status status;

    assert(args->n == 0 || args->data != NULL);
    LW_TRY(add_arg(f, all, (lw_arg){.node = of, .entry = of, .value = object}));
    for (uint32_t i = 0; i < args->n; i++)
        LW_TRY(add_arg(f, all, args->data[i]));
fail:
    return status;
}

/* In row.sum(), the row is the first argument. */
static lw_status
call_with_object(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                 const lw_class_member *member, const arg_list *args, lw_infer_value *out)
{
    arg_list all = {0};
    lw_status status;

    LW_TRY(put_in_front(f, lw_node_of(f, lw_node_of(f, node)->a)->a, object, args, &all));
    LW_TRY(call_linked(f, node, member->index, member->linked, &all, out));
fail:
    return status;
}

/* Whether object.name(...) calls what the attribute is, not a method: of tuples and of objects
 * whose class has no such method. */
static bool
is_called_field(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    const lw_class_member *member = lw_member_of(lw_class_of(f, object.type), name);
    bool is_method =
        member && (member->kind == LW_MEMBER_METHOD || member->kind == LW_MEMBER_STATIC);

    return lw_type_get_kind(lw_types_of(f), object.type, LW_TK_TUPLE) != NULL && !is_method &&
           !lw_is_overloaded_method(f, name);
}

/* A method that lanewise has itself: no overload takes its place. */
static bool
is_own_method(lw_infer_frame *f, lw_infer_value object, const char *name)
{
    return lw_array_row(f, object.type)
               ? lw_array_function_named(f, name) != 0
               : lw_type_is_number(f, object.type) && lw_is_method_of_numbers(name);
}

static lw_status
call_method(lw_infer_frame *f, uint32_t node, lw_infer_value object, const char *name,
            const arg_list *args, lw_infer_value *out)
{
    const lw_class_member *member = lw_member_of(lw_class_of(f, object.type), name);
    uint32_t of = lw_node_of(f, lw_node_of(f, node)->a)->a;
    lw_class_member whole = {.kind = LW_MEMBER_METHOD};
    arg_list all = {0};
    lw_status status;

    if (lw_is_overloaded_method(f, name) && !is_own_method(f, object, name)) {
        bool found;
        LW_TRY(put_in_front(f, of, object, args, &all));
        LW_TRY(lw_infer_overloaded_method(f, node, name, all.data, all.n, &found, out));
        if (found)
            return LW_OK;
    }
    if (member)
        return member->kind == LW_MEMBER_STATIC
                   ? call_linked(f, node, member->index, member->linked, args, out)
                   : call_with_object(f, node, object, member, args, out);
    whole.index = lw_array_row(f, object.type) ? lw_array_function_named(f, name) : 0;
    if (whole.index != 0)
        return call_with_object(f, node, object, &whole, args, out);
    if (lw_is_grid_group(f, object) && strcmp(name, "sync") == 0)
        return call_named(f, node, LW_NAME_cuda_cg_GridGroup_sync, args, out);
    return lw_infer_method(f, node, object, args->data, args->n, out);
fail:
    return status;
}

/* *is_method: whether this is `x.name(...)` where x is neither tuple nor dtype; then *out is
 * its value. */
static lw_status
try_method(lw_infer_frame *f, uint32_t node, bool *is_method, lw_infer_value *out)
{
    const lw_node *callee = lw_node_of(f, lw_node_of(f, node)->a);
    arg_list args = {0};
    bool unknown = false;
    lw_infer_value object;
    lw_status status;

    *is_method = false;
    if (callee->kind != LW_NODE_ATTRIBUTE)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, callee->a, &object));
    if (is_called_field(f, object, lw_constant_text(f, callee->b)) ||
        (object.constant && lw_constant_of(f, object.constant)->kind == LW_K_DTYPE))
        return LW_OK;
    *is_method = true;
    LW_TRY(infer_args(f, lw_node_of(f, node), ARGS_PLAIN, &args, &unknown));
    if (object.type != LW_T_BOTTOM && !unknown)
        LW_TRY(call_method(f, node, object, lw_constant_text(f, callee->b), &args, out));
fail:
    return status;
}

static args_kind
args_kind_of(lw_infer_frame *f, lw_infer_value callee)
{
    const lw_constant *constant = callee.constant ? lw_constant_of(f, callee.constant) : NULL;

    if (constant == NULL || constant->kind != LW_K_NAMED)
        return ARGS_PLAIN;
    if (constant->u == LW_NAME_builtins_print)
        return ARGS_SHOWN;
    return lw_name_is_elementwise((lw_name_id)constant->u) ? ARGS_ELEMENTWISE : ARGS_PLAIN;
}

lw_status
lw_infer_call(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    arg_list args = {0};
    lw_infer_value callee;
    const lw_type_row *row;
    lw_status status;
    bool unknown = false, is_method, found;

    LW_TRY(try_method(f, node, &is_method, out));
    if (is_method)
        return LW_OK;
    LW_TRY(lw_infer_expr(f, n->a, &callee));
    LW_TRY(infer_args(f, n, args_kind_of(f, callee), &args, &unknown));
    if (unknown || callee.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_infer_overloaded_call(f, node, callee.constant, args.data, args.n, &found, out));
    if (found)
        return LW_OK;
    if (lw_class_of(f, callee.type)) {
        arg_list all = {0};
        LW_TRY(put_in_front(f, n->a, callee, &args, &all));
        LW_TRY(lw_infer_object_special(f, node, "__call__", all.data, all.n, &found, out));
        if (found)
            return LW_OK;
    }
    if (callee.constant)
        return call_constant(f, node, callee.constant, &args, out);
    row = lw_type_get(lw_types_of(f), callee.type);
    if (row && row->kind == LW_TK_FUNCTION)
        return call_function(f, node, row->fn, callee.type, &args, out);
    return lw_complain(f, lw_node_of(f, n->a)->loc, "E152",
                       lw_format_text(f, "this is %s", lw_describe_value(f, callee)), NULL,
                       "only functions can be called");
fail:
    return status;
}
