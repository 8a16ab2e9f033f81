/* Calls: binding of arguments to parameters, closures, and instances by argument types. It
 * owns the order of a call's entries in typed->lists: one for each parameter, captures last. A
 * call has no type until all its arguments have one, and only the last walk writes entries. */
#include "core/front/infer/call.h"

#include "core/front/external.h"

#include <assert.h>
#include <string.h>

/* ---- closures ---- */

typedef struct env_stack {
    const struct env_stack *outer;
    uint32_t fn;
    bool is_value; /* it is passed on, and not called */
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
    bool passed_on = outer && outer->is_value;
    assert(row->parent_var < f->fn->vars.n);
    uint32_t def;
    lw_status status;

    *entry = 0;
    LW_TRY(lw_use(f, row->parent_var, loc, value, &def, NULL));
    if (f->copied)
        return lw_complain(f, loc, "E165", "on some paths it is an object in an array",
                           "pass its fields", "`%s` is captured by a function",
                           f->fn->vars.data[row->parent_var].name);
    if (passed_on && lw_holds_objects(f, value->type)) /* what it captures is read now */
        lw_lose(f, row->parent_var, LW_LOST_OUTER | LW_LOST_INNER, loc);
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
lw_status
lw_list_entry(lw_infer_frame *f, uint32_t entry)
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
        LW_TRY(lw_list_entry(f, entries[i]));
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
    env_stack here = {outer, fn, true};
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
    const char *name;     /* what is called, for messages */
    bool makes;           /* parameter 0 is a new object, which is the value of the call */
    bool asks;            /* the node's own value is asked, as `asks` of the typed node says */
    const lw_fn *row;
    lw_infer_value *values;
    uint32_t *entries;
    bool *given;
    uint32_t vararg, n_rest; /* `*args`: the parameter, … */
    const lw_arg *rest;      /* … and the n_rest arguments that it takes */
} binding;

/* A tuple of ints, such as the shape of an array that the callee makes. */
static bool
is_short_tuple(lw_infer_frame *f, const lw_constant *constant)
{
    __int128 i;

    if (constant->kind != LW_K_TUPLE || constant->user_class || constant->n == 0 ||
        constant->n > LW_MAX_ARRAY_DIMS)
        return false;
    for (uint32_t k = 0; k < constant->n; k++)
        if (!lw_constant_int_value(lw_constant_of(f, constant->items[k]), &i))
            return false;
    return true;
}

/* What distinguishes instances: the type of an argument, and its constant if that exists only
 * at compile time, is a member of an enum class, decides conditions or may be a shape; in
 * lanewise's own functions under numba's typing, too. */
static lw_infer_value
key_of(const binding *b, lw_infer_value value)
{
    lw_infer_frame *f = b->f;
    const lw_constant *constant = value.constant ? lw_constant_of(f, value.constant) : NULL;
    __int128 i;
    bool stays = constant && (lw_constant_is_static(f, value.constant) ||
                              lw_constant_has_member(f, value.constant));
    bool keep =
        constant && (constant->kind == LW_K_NONE || stays ||
                     lw_constant_int_value(constant, &i) || is_short_tuple(f, constant));

    if (constant && constant->kind == LW_K_TUPLE && constant->user_class && constant->n == 0)
        return value; /* an object without fields yet, or ever */
    if (!keep || (!lw_weak_mode(f) && !b->row->of_package && !b->row->inlined &&
                  value.type != LW_DT_b1 && value.type != LW_T_NONE && !stays))
        value.constant = 0;
    if (lw_recursion_is_general(f->run, b->fn) && lw_tuple_row(f, value.type) != NULL &&
        value.constant && !stays)
        value.constant = 0;
    if (lw_recursion_is_general(f->run, b->fn) && lw_type_is_int(f, value.type)) {
        value.constant = 0;
        if (lw_type_kind_of(lw_types_of(f), value.type) == LW_TK_LITERAL)
            value.type = lw_type_unbounded(lw_types_of(f), value.type);
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
    b->vararg = i;
    b->rest = args;
    b->n_rest = n;
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

/* "pass `key` by its name", of the first parameter that is given so alone; or NULL. */
static const char *
help_by_name(const binding *b)
{
    for (uint32_t i = 0; i < b->row->params.n; i++) {
        const lw_fn_param *param = &b->row->params.data[i];
        if (param->kind == LW_PARAM_KEYWORD_ONLY)
            return lw_format_text(b->f, "pass `%s` by its name: `%s=...`", param->name,
                                  param->name);
    }
    return NULL;
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
                                          b->name, n_positional - b->makes,
                                          n_positional - b->makes == 1 ? "" : "s",
                                          n - b->makes),
                           help_by_name(b), "too many arguments for `%s`", b->name);
    for (uint32_t i = 0; i < n && i < n_positional; i++)
        LW_TRY(set_param(b, first + i, &args[i]));
    if (has_vararg)
        LW_TRY(set_vararg(b, vararg, args + (n < n_positional ? n : n_positional),
                          n > n_positional ? n - n_positional : 0));
fail:
    return status;
}

/* "did you mean `axis`?", or NULL. */
static const char *
parameter_near(const binding *b, const char *word)
{
    uint32_t n = b->row->params.n;
    const char **names = lw_arena_take(b->f->run->arena, (n + 1) * sizeof *names);
    const char *near;

    if (names == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        names[i] = b->row->params.data[i].name ? b->row->params.data[i].name : "";
    near = lw_nearest(word, names, n);
    return near ? lw_format_text(b->f, "did you mean `%s`?", near) : NULL;
}

static lw_status
bind_keyword(binding *b, const lw_arg *arg)
{
    uint32_t loc = lw_node_of(b->f, arg->node)->loc;

    for (uint32_t i = 0; i < b->row->params.n; i++) {
        const lw_fn_param *param = &b->row->params.data[i];
        if (param->kind == LW_PARAM_VARARG || strcmp(param->name, arg->keyword) != 0)
            continue;
        if (param->unnamed)
            return lw_complain(b->f, loc, "E153",
                               lw_format_text(b->f, "`%s` is positional-only", arg->keyword),
                               "pass it without its name: `/` follows it in the definition",
                               "`%s` has no keyword `%s`", b->name, arg->keyword);
        if (b->given[i])
            return lw_complain(b->f, loc, "E153",
                               lw_format_text(b->f, "`%s` is given twice", arg->keyword), NULL,
                               "`%s` got two values for one parameter", b->name);
        return set_param(b, i, arg);
    }
    return lw_complain(b->f, loc, "E153",
                       lw_format_text(b->f, "no parameter `%s`", arg->keyword),
                       parameter_near(b, arg->keyword), "`%s` has no such parameter", b->name);
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
                               "`%s` needs an argument for `%s`", b->name, param->name);
        b->values[i] = key_of(b, lw_constant_value(b->f, param->default_constant));
    }
    return LW_OK;
}

static lw_status
bind(binding *b, const lw_arg_list *args)
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
    LW_TRY(lw_use(f, b->row->captures.data[i].var, lw_node_of(f, b->node)->loc, value, &def,
                  NULL));
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
        env_stack here = {NULL, b->fn, false};

        if (b->row->parent == f->fn_index) {
            LW_TRY(capture(f, lw_node_of(f, b->node)->loc, &b->row->captures.data[i], &here,
                           value, &b->entries[at + i]));
        } else if (b->fn == f->fn_index) {
            LW_TRY(captured_again(b, i, value, &b->entries[at + i]));
        } else if (i < n_captured) {
            *value = (lw_infer_value){captured[i], 0};
            b->entries[at + i] = lw_element_entry(f, callee_node, i);
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

/* Whether an argument is no more than a variable or a constant. */
static bool
is_read(const lw_infer_frame *f, uint32_t entry)
{
    uint32_t tag = entry & LW_ARG_TAG;

    return tag ? tag == LW_ARG_WEB || tag == LW_ARG_CONSTANT
               : entry == 0 || lw_is_pure(f, entry);
}

/* The value of a call, of which arguments and effects are dropped where it is a constant. */
static lw_status
value_of_call(binding *b, const lw_memo *row, const lw_instance *instance, lw_infer_value *out)
{
    lw_infer_frame *f = b->f;
    lw_infer_value result = row->result;
    bool pure = !instance->can_raise && !instance->allocates && !instance->acts && !row->busy &&
                !instance->recurses;
    bool changes = instance->n_changed > 0;
    /* so that its name can be read; a string stays one that is known */
    bool stays = (lw_type_is_member(f, result.type) || lw_is_text(f, result.type)) && pure;

    out->type = result.type;
    if (b->makes) {
        if (out->type != LW_T_NONE)
            return lw_complain(f, lw_node_of(f, b->node)->loc, "E165", NULL, NULL,
                               "`__init__` of `%s` returns a value", b->name);
        result = changes && instance->changed[0] == 0 ? row->ownership.values[0] : b->values[0];
        out->type = result.type;
        changes = instance->n_changed > 1;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        pure = pure && (b->values[i].constant || b->entries[i] == 0);
        stays = stays && is_read(f, b->entries[i]);
    }
    if (result.constant && (out->type == LW_T_STATIC || stays || pure) && !changes)
        *out = result;
    else if (out->type == LW_T_STATIC)
        return lw_complain(f, lw_node_of(f, b->node)->loc, "E104", NULL, NULL,
                           "which constant `%s` returns is known only at run time", b->name);
    return LW_OK;
}

/* What holds of the function holds of the one that calls it. */
static void
take_effects(lw_infer_frame *f, const lw_memo *row, const lw_instance *instance)
{
    f->can_raise |= instance->can_raise;
    f->allocates |= instance->allocates;
    f->resizes |= instance->resizes;
    f->acts |= instance->acts;
    f->recurses |= row->busy || instance->recurses;
}

/* written: the entries of the objects that the function changes. */
static lw_status
note_call(const binding *b, const lw_memo *row, const lw_instance *instance,
          const uint32_t *written)
{
    lw_infer_frame *f = b->f;
    lw_typed_node *typed = lw_typed_in(&f->nodes, b->node);
    lw_status status = LW_OK;

    typed->call = LW_CALL_INSTANCE;
    typed->target = row->instance;
    typed->n_args = b->n;
    typed->args = f->run->typed->lists.n;
    for (uint32_t i = 0; i < b->n; i++)
        LW_TRY(lw_list_entry(f, b->entries[i]));
    for (uint32_t i = 0; i < instance->n_changed; i++)
        LW_TRY(lw_list_entry(f, written[i]));
fail:
    return status;
}

static lw_status
finish_call(binding *b, uint32_t memo, lw_infer_value *out)
{
    assert(memo < b->f->run->memos.n);
    lw_infer_frame *f = b->f;
    const lw_memo *row = &f->run->memos.data[memo];
    const lw_instance *instance = &f->run->typed->instances.data[row->instance];
    uint32_t *written =
        lw_arena_take(f->run->arena, (instance->n_changed + 1) * sizeof *written);
    lw_call_site site = {.node = b->node,
                         .n = b->n,
                         .entries = b->entries,
                         .vararg = b->vararg,
                         .n_rest = b->n_rest,
                         .rest = b->rest,
                         .memo = row,
                         .instance = instance,
                         .name = b->name,
                         .makes = b->makes,
                         .asks = b->asks};
    lw_status status = LW_OK;

    if (written == NULL)
        return lw_out_of_memory(f);
    take_effects(f, row, instance);
    if (row->result.type == LW_T_BOTTOM) {
        f->is_open = true;
        f->reads_untyped |= b->row->of_package && !row->busy;
        *out = (lw_infer_value){LW_T_BOTTOM, 0};
        return lw_complain_endless(f, lw_node_of(f, b->node)->loc, b->fn);
    }
    LW_TRY(lw_infer_settled(f, &site, written));
    LW_TRY(value_of_call(b, row, instance, out));
    if (b->asks) {
        lw_typed_in(&f->nodes, b->node)->asks = row->instance;
        return LW_OK;
    }
    if (instance->never_returns && !row->busy)
        f->stop = b->node;
    if (!f->report)
        return LW_OK;
    LW_TRY(note_call(b, row, instance, written));
    if (!out->constant) /* else the call is not made */
        LW_TRY(note_link(f, b->node, b->row->linked, instance->param_types + b->makes,
                         b->row->params.n - b->makes));
fail:
    return status;
}

static lw_status
instantiate(binding *b, lw_infer_value *out)
{
    lw_infer_frame *f = b->f;
    lw_infer_run *run = f->run;
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
        if (!final && is_users_fault(status)) {
            f->reads_untyped |= run->memos.data[memo].reads_untyped;
            if (f->joins_untyped && run->memos.data[memo].reads_untyped)
                out->type = run->memos.data[memo].partial.type;
            return LW_OK;
        }
        f->reads_untyped |= is_users_fault(status) && run->memos.data[memo].reads_untyped;
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
    lw_infer_run *run = f->run;
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
call_as(lw_infer_frame *f, binding b, lw_type function, const lw_arg_list *args,
        lw_infer_value *out)
{
    const lw_fn *row = &f->run->tree->fns.data[b.fn];
    uint32_t node = b.node;
    lw_arena *arena = f->run->arena;
    lw_status status;

    b.f = f;
    b.row = row;
    b.name = b.name ? b.name : row->name;
    if (row->problem)
        return complain_of_callee(f, node, row);
    if (row->takes && !lw_takes_arrays(f, row, args->data, args->n, &status))
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

lw_status
lw_call_function(lw_infer_frame *f, uint32_t node, uint32_t fn, lw_type function,
                 const lw_arg_list *args, lw_infer_value *out)
{
    return call_as(f, (binding){.node = node, .fn = fn}, function, args, out);
}

/* linked: what the callable brings beside its function; first: 1 where parameter 0 is a new
 * object. A call whose result is a constant is not made. */
static lw_status
note_linked(lw_infer_frame *f, uint32_t node, uint32_t linked, uint32_t first,
            const lw_infer_value *out)
{
    const lw_instance *called;

    if (!f->report || lw_typed_in(&f->nodes, node)->call != LW_CALL_INSTANCE || out->constant)
        return LW_OK;
    called = &f->run->typed->instances.data[lw_typed_in(&f->nodes, node)->target];
    return note_link(f, node, linked, called->param_types + first,
                     f->run->tree->fns.data[called->fn].params.n - first);
}

/* C(...): `__init__` assigns the fields of a new object. */
lw_status
lw_construct(lw_infer_frame *f, uint32_t node, const lw_class *class, const lw_arg_list *args,
             lw_infer_value *out)
{
    const lw_class_member *init = lw_member_of(class, "__init__");
    lw_infer_value object = lw_new_object(f, class, lw_note_at(f, node)->constant);
    lw_arg_list all = {0};
    lw_status status;

    if (class->is_namedtuple)
        return lw_complain(f, lw_node_of(f, lw_node_of(f, node)->a)->loc, "E152", NULL,
                           "call the class by its own name",
                           "this cannot be called from compiled code");
    lw_note_at(f, node)->constant = object.constant;
    lw_note_at(f, node)->fresh = 2;
    if (init == NULL && args->n != 0)
        return lw_complain(f, lw_node_of(f, node)->loc, "E153",
                           lw_format_text(f, "%u given", args->n), NULL,
                           "`%s` takes no arguments", class->name);
    *out = object;
    if (init == NULL)
        return LW_OK;
    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    LW_TRY(lw_add_arg(f, &all,
                      (lw_arg){.entry = LW_ARG_CONSTANT | object.constant, .value = object}));
    for (uint32_t i = 0; i < args->n; i++)
        LW_TRY(lw_add_arg(f, &all, args->data[i]));
    LW_TRY(call_as(
        f, (binding){.node = node, .fn = init->index, .name = class->name, .makes = true},
        LW_T_BOTTOM, &all, out));
    LW_TRY(note_linked(f, node, class->linked, 1, out));
fail:
    return status;
}

lw_status
lw_infer_asked(lw_infer_frame *f, uint32_t node, const lw_class_member *method,
               lw_infer_value value, lw_infer_value *out)
{
    lw_arg self = {.node = node, .value = value};
    lw_arg_list all = {0};
    const lw_instance *instance;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    lw_typed_in(&f->nodes, node)->asks = 0;
    LW_TRY(lw_add_arg(f, &all, self));
    LW_TRY(call_as(f, (binding){.node = node, .fn = method->index, .asks = true}, LW_T_BOTTOM,
                   &all, out));
    if (lw_typed_in(&f->nodes, node)->asks == 0)
        return LW_OK;
    instance = &f->run->typed->instances.data[lw_typed_in(&f->nodes, node)->asks];
    if (instance->n_changed)
        return lw_complain(f, lw_node_of(f, node)->loc, "E165", NULL,
                           "call it by its name in a statement of its own",
                           "`%s` changes the object", method->name);
    if (!f->report)
        return LW_OK;
    LW_TRY(note_link(f, node, f->run->tree->fns.data[method->index].linked,
                     instance->param_types, 1));
    LW_TRY(note_link(f, node, method->linked, instance->param_types, 1));
fail:
    return status;
}

/* ---- calls of what brings code along ---- */

lw_status
lw_call_linked(lw_infer_frame *f, uint32_t node, uint32_t fn, uint32_t linked,
               const lw_arg_list *args, lw_infer_value *out)
{
    lw_status status;

    LW_TRY(lw_call_function(f, node, fn, LW_T_BOTTOM, args, out));
    LW_TRY(note_linked(f, node, linked, 0, out));
fail:
    return status;
}

/* Numbers have the declared types, arrays their own. */
lw_status
lw_call_external(lw_infer_frame *f, uint32_t node, uint32_t number, const lw_arg_list *args,
                 lw_infer_value *out)
{
    const lw_constant *constant = lw_constant_of(f, number);
    const lw_external *external = constant->bytes;
    uint32_t linked = constant->linked, n = external->signature.n_args;
    lw_type *types = NULL;
    lw_status status;

    lw_note_store(f);
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
    lw_arg_list all = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++)
        LW_TRY(lw_add_arg(f, &all, args[i]));
    return lw_call_function(f, node, fn, LW_T_BOTTOM, &all, out);
fail:
    return status;
}
