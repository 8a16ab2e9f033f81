/* The result of a function: the one type that all its returns have in common (E140 if there is
 * none), and the checks of that type against the promise of a signature or of earlier argument
 * types (E142, E153, E154). */
#include "core/front/infer/infer_internal.h"

#include <string.h>

/* ---- what may be returned ---- */

/* A function or range cannot leave its frame; a constant integer must fit a type. */
static lw_status
check_returned(lw_infer_frame *f, uint32_t loc, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    const lw_type *elements = row ? row->elements : NULL;
    uint32_t n = row ? row->n : 0;
    lw_status status = LW_OK;

    switch (row ? row->kind : LW_TK_SCALAR) {
    case LW_TK_FUNCTION:
        return lw_complain(f, loc, "E102",
                           "a nested function leaves the function it belongs to",
                           "call it here and return the result",
                           "compiled functions are not values that can be returned");
    case LW_TK_RANGE:
        return lw_complain(f, loc, "E102", NULL, "loop over it here",
                           "a range is not a value that can be returned");
    case LW_TK_LITERAL:
        if (lw_literal_is_wide(lw_types_of(f), type))
            return lw_complain(f, loc, "E130",
                               lw_format_text(f, "%s is outside of int64 and uint64",
                                              lw_describe_type(f, type)),
                               "Python ints are 64-bit in compiled code: use a float",
                               "integer constant out of range");
        return LW_OK;
    case LW_TK_TUPLE:
        for (uint32_t i = 0; i < n; i++)
            LW_TRY(check_returned(f, loc, elements[i]));
        return LW_OK;
    default: return LW_OK;
    }
fail:
    return status;
}

static bool
has_memory(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (row == NULL || row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD)
        return row != NULL;
    for (uint32_t i = 0;
         (row->kind == LW_TK_TUPLE || row->kind == LW_TK_OPTIONAL) && i < row->n; i++)
        if (has_memory(f, row->elements[i]))
            return true;
    return false;
}

/* Whether it is a class, a function or a module, or a tuple with one: they exist only while
 * code is compiled. */
static bool
is_of_compile_time(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (type == LW_T_STATIC || (row && row->kind == LW_TK_FUNCTION) ||
        (row && row->kind == LW_TK_STATIC && lw_constant_of(f, row->fn)->kind == LW_K_ELLIPSIS))
        return true;
    for (uint32_t i = 0; row && row->kind == LW_TK_TUPLE && i < row->n; i++)
        if (is_of_compile_time(f, row->elements[i]))
            return true;
    return false;
}

static const char *
describe_result(lw_infer_frame *f, lw_type type)
{
    return lw_is_known_text(f, type) ? "a string" : lw_describe_type(f, type);
}

/* What the user's own function may return. */
static lw_status
check_entry_returned(lw_infer_frame *f, uint32_t node, lw_type type)
{
    uint32_t loc = lw_node_of(f, node)->loc;

    if (f->caller != NULL || type == LW_T_BOTTOM || type == LW_T_NONE)
        return LW_OK;
    if (f->run->typed->options.procedure)
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "write it into an array argument: `out[i] = ...`; a function of `njit` may "
            "return it if its signature has no `void` or `none`",
            "a kernel cannot return a value, and neither can a function whose signature has "
            "the result `void`");
    if (lw_type_has_list(lw_types_of(f), type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            f->run->typed->options.returns_arrays
                ? "lists of arguments are tuples in compiled code: return `list(x)`, a new list"
                : "return a tuple, `return x, y`",
            "a list cannot be a result");
    if (f->run->typed->options.returns_arrays && is_of_compile_time(f, type))
        return lw_complain(f, loc, "E183",
                           type == LW_T_STATIC
                               ? "this is a type, a function, a module or a member of an "
                                 "enum.Flag"
                               : lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "return a number or a string that stands for it, as the `.value` of "
                           "a member, or a member of an `enum.Enum`",
                           "a type, function or module cannot be a result");
    if (f->run->typed->options.returns_arrays)
        return LW_OK;
    if (lw_has_text(f, type))
        return lw_complain(
            f, loc, "E154", lw_format_text(f, "this is %s", describe_result(f, type)),
            "return a number that stands for it; functions of `njit` that are called on the "
            "host may return strings",
            "a result that is not a number");
    if (lw_has_member(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return its `.value`, or use an `enum.IntEnum`, whose members are numbers",
            "a member of an enum class cannot be a result here");
    if (lw_has_grown(f, type))
        return lw_complain(f, loc, "E183",
                           lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                           "return numbers; functions of `njit` return lists, dicts and sets",
                           "a %s cannot be a result", lw_class_by_value(f, type)->name);
    if (has_memory(f, type))
        return lw_complain(
            f, loc, "E183", lw_format_text(f, "this is %s", lw_describe_type(f, type)),
            "return numbers: elements, fields", "an array or record cannot be a result");
    return LW_OK;
}

/* What may be None where the result must not be: variables and calls, of which an `is None` may
 * have been asked before. */
lw_status
lw_return_given(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    lw_node_kind kind = (lw_node_kind)lw_node_of(f, node)->kind;
    lw_type type = value->type;

    lw_unwrap(f, node, value);
    if (value->type == type || kind == LW_NODE_NAME || kind == LW_NODE_CALL)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E112",
                       lw_format_text(f, "this is %s", lw_describe_type(f, type)),
                       "return a number there, such as NaN",
                       "a value on one path, nothing on another");
}

lw_status
lw_check_returned(lw_infer_frame *f, uint32_t node, lw_type type)
{
    lw_status status;

    LW_TRY(check_returned(f, lw_node_of(f, node)->loc, type));
    LW_TRY(check_entry_returned(f, node, type));
fail:
    return status;
}

/* ---- the type of the returns ---- */

static uint32_t
loc_of_return(const lw_infer_frame *f, uint32_t i)
{
    return lw_node_of(f, f->return_nodes.data[i])->loc;
}

/* The line on which the statement ends, with the statements in it. */
static uint32_t
end_line(const lw_infer_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_of(f, node);
    uint32_t last = f->run->tree->locs.data[n->loc].end_line, inner = 0;

    if (node == 0)
        return 0;
    if (n->kind == LW_NODE_BODY) {
        for (uint32_t i = 0; i < n->c; i++) {
            uint32_t line = end_line(f, f->run->tree->lists.data[n->b + i]);
            last = line > last ? line : last;
        }
    } else if (n->kind == LW_NODE_IF) {
        inner = end_line(f, n->c);
        last = inner > last ? inner : last;
        inner = end_line(f, n->b);
    }
    return inner > last ? inner : last;
}

static lw_status
complain_missing_return(lw_infer_frame *f, uint32_t value, uint32_t none)
{
    uint32_t loc = loc_of_return(f, value);
    const char *type = lw_describe_type(f, f->returns.data[value].type), *name = f->fn->name;
    uint32_t end = end_line(f, f->fn->body);
    const char *label;

    if (none != UINT32_MAX)
        label = lw_format_text(f, "returns %s here, but line %u returns nothing", type,
                               f->run->tree->locs.data[loc_of_return(f, none)].line);
    else
        label = lw_format_text(
            f, "returns %s here, but line %u reaches the end of `%s` and returns nothing", type,
            end ? end : f->run->tree->locs.data[f->fn->loc].end_line, name);
    return lw_complain(
        f, loc, "E112", label,
        lw_has_grown(f, f->returns.data[value].type)
            ? "return an empty one there: a list, dict or set of compiled code is never None"
        : lw_class_of(f, f->returns.data[value].type) != NULL
            ? "return an object there, or raise an exception: an object of compiled code is "
              "never None"
        : lw_type_is_number(f, f->returns.data[value].type)
            ? "end the function with `return 0.0` (a compiled function has one "
              "return type)"
            : "end the function with a `return` (a compiled function has one return "
              "type)",
        "a value on one path, nothing on another");
}

/* Two returns whose types cannot be joined. */
static lw_status
complain_returns(lw_infer_frame *f, const char *problem)
{
    const char *why;

    for (uint32_t i = 1; i < f->returns.n; i++) {
        lw_type x = f->returns.data[0].type, y = f->returns.data[i].type;

        lw_join2(f, x, y, &why);
        if (why)
            return lw_complain(
                f, loc_of_return(f, i), problem,
                lw_format_text(f, "returns %s here and %s at line %u", lw_describe_type(f, y),
                               lw_describe_type(f, x),
                               f->run->tree->locs.data[loc_of_return(f, 0)].line),
                lw_help_for_join(problem) ? lw_help_for_join(problem)
                                          : "return the same kind of value everywhere",
                "a compiled function has one return type");
    }
    return lw_complain(f, loc_of_return(f, 0), problem, NULL,
                       "return the same kind of value everywhere",
                       "the returns of `%s` have no common type", f->fn->name);
}

static uint32_t
find_return(const lw_infer_frame *f, bool none)
{
    for (uint32_t i = 0; i < f->returns.n; i++)
        if ((f->returns.data[i].type == LW_T_NONE) == none)
            return i;
    return UINT32_MAX;
}

static lw_status
join_returns(lw_infer_frame *f, lw_type *out)
{
    uint32_t n = f->returns.n + f->falls_off;
    lw_type *types = lw_arena_take(f->run->arena, (n + 1) * sizeof *types);
    const char *problem = NULL;

    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        types[i] = i < f->returns.n ? f->returns.data[i].type : (lw_type)LW_T_NONE;
    *out = lw_join_optional(lw_types_of(f), lw_typing_of(f), types, n, &problem);
    if (problem && strcmp(problem, "E112") == 0)
        return complain_missing_return(f, find_return(f, false), find_return(f, true));
    if (problem == NULL && f->caller != NULL && lw_mixes_records(f, types, f->returns.n, *out))
        return lw_complain(
            f, loc_of_return(f, 0), "E165",
            "one `return` gives an object in an array, another one does not",
            "make a new object of its fields",
            "it is not known whether an array would show a change of this object");
    return problem ? complain_returns(f, problem) : LW_OK;
}

/* Whether all returns give the same constant. */
static uint32_t
common_constant(lw_infer_frame *f)
{
    for (uint32_t i = 0; i < f->returns.n; i++)
        if (!f->returns.data[i].constant ||
            !lw_constant_same(f, f->returns.data[0].constant, f->returns.data[i].constant))
            return 0;
    return f->returns.n ? f->returns.data[0].constant : 0;
}

static lw_status
check_promised(lw_infer_frame *f, uint32_t i, lw_dtype to)
{
    lw_status status;

    LW_TRY(lw_check_constants(f, lw_node_of(f, f->return_nodes.data[i])->a, to, "result"));
    return lw_check_conversion(f, loc_of_return(f, i), f->returns.data[i].type, to, "result");
fail:
    return status;
}

/* Whether the result may be None on some paths: of functions that compiled code calls, and of
 * those that are called on the host and return anything. */
static bool
may_give_none(const lw_infer_frame *f, const lw_sig_type *promised)
{
    const lw_front_options *options = &f->run->typed->options;

    return promised->kind == LW_SIG_NONE && (!f->fn->of_package || f->fn->takes_none) &&
           (f->caller != NULL || (options->returns_arrays && !options->procedure));
}

bool
lw_may_give_none(lw_infer_frame *f)
{
    const lw_sig_type promised = lw_promised_result(f);

    return may_give_none(f, &promised);
}

bool
lw_never_returns(const lw_infer_frame *f)
{
    return f->returns.n == 0 && !f->falls_off && !f->is_open;
}

lw_status
lw_infer_result(lw_infer_frame *f, lw_infer_value *result)
{
    const lw_sig_type promised = lw_promised_result(f);
    uint32_t value = find_return(f, false), none = find_return(f, true);
    uint32_t n_expected = f->run->typed->options.n_results;
    lw_status status = LW_OK;

    *result = (lw_infer_value){LW_T_NONE, 0};
    if (f->caller == NULL && n_expected > 0 && f->can_raise && lw_never_returns(f)) {
        result->type = LW_DT_b1; /* which can become any dtype */
        return n_expected == 1 ? LW_OK : lw_tuple_of(f, LW_DT_b1, n_expected, &result->type);
    }
    if (value == UINT32_MAX)
        return LW_OK;
    if ((none != UINT32_MAX || f->falls_off) && !may_give_none(f, &promised))
        return complain_missing_return(f, value, none);
    if (promised.kind == LW_SIG_SCALAR) {
        for (uint32_t i = 0; i < f->returns.n; i++)
            LW_TRY(check_promised(f, i, promised.dtype));
        result->type = promised.dtype;
        return LW_OK;
    }
    result->constant = promised.kind == LW_SIG_NONE && !f->falls_off ? common_constant(f) : 0;
    LW_TRY(join_returns(f, &result->type));
    lw_recursion_widen(f, result);
    if (f->caller == NULL)
        LW_TRY(lw_refuse_object_result(f, result->type));
    LW_TRY(lw_infer_promised(f, loc_of_return(f, value), &promised, &result->type));
fail:
    return status;
}

/* ---- results against a signature ---- */

static uint32_t
last_return(const lw_typed *typed)
{
    const lw_tree *tree = typed->tree;
    const lw_node *body = &tree->nodes.data[tree->fns.data[1].body];
    uint32_t loc = tree->fns.data[1].loc;

    for (uint32_t i = 0; i < body->c; i++) {
        const lw_node *statement = &tree->nodes.data[tree->lists.data[body->b + i]];
        if (statement->kind == LW_NODE_RETURN && statement->a)
            loc = tree->nodes.data[statement->a].loc;
    }
    return loc;
}

static lw_status
check_result(lw_infer_frame *f, uint32_t loc, lw_type type, lw_dtype to)
{
    return lw_check_conversion(f, loc, type, to, "result");
}

/* The numbers of a result, one by one. */
static lw_status
check_leaves(lw_infer_frame *f, uint32_t loc, lw_type type, const lw_dtype *to, uint32_t *at)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    lw_status status = LW_OK;

    if (row == NULL)
        return check_result(f, loc, type, to[(*at)++]);
    for (uint32_t i = 0; i < row->n; i++)
        LW_TRY(check_leaves(f, loc, row->elements[i], to, at));
fail:
    return status;
}

/* The constants in the value of a `return`, number by number. */
static lw_status
check_constants(lw_infer_frame *f, uint32_t node, lw_type type, const lw_dtype *to,
                uint32_t *at)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    const lw_node *n = lw_node_of(f, node);
    bool stands = node && n->kind == LW_NODE_TUPLE && row && n->c == row->n;
    lw_status status = LW_OK;

    if (row == NULL)
        return node ? lw_check_constants(f, node, to[(*at)++], "result") : ((*at)++, LW_OK);
    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t item = stands ? f->run->tree->lists.data[n->b + i] : 0;
        LW_TRY(check_constants(f, item, row->elements[i], to, at));
    }
fail:
    return status;
}

static lw_status
check_returns(lw_infer_frame *f, const lw_instance *instance, const lw_dtype *to)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < instance->n_returns; i++) {
        uint32_t at = 0;
        LW_TRY(check_constants(f, lw_node_of(f, instance->returns[i])->a, instance->result, to,
                               &at));
    }
fail:
    return status;
}

/* A frame for messages about the function's results; its arena takes the texts. */
static lw_status
frame_of_results(const lw_typed *typed, lw_infer_run *run, lw_infer_frame *f, lw_error *err)
{
    const lw_instance *instance = &typed->instances.data[1];
    lw_typed *own = (lw_typed *)(uintptr_t)typed;
    lw_infer_value *params =
        lw_arena_take(&own->arena, (instance->n_params + 1) * sizeof *params);

    *run = (lw_infer_run){.tree = typed->tree, .typed = own, .arena = &own->arena, .err = err};
    *f = (lw_infer_frame){.run = run,
                          .fn = &typed->tree->fns.data[1],
                          .fn_index = 1,
                          .nodes = instance->nodes,
                          .report = true,
                          .n_params = instance->n_params,
                          .params = params};
    if (params == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < instance->n_params; i++)
        params[i].type = instance->param_types[i];
    return LW_OK;
}

lw_status
lw_infer_refuse_results(const lw_typed *typed, uint32_t n, uint32_t n_made, lw_error *err)
{
    const lw_instance *instance = &typed->instances.data[1];
    lw_type result = instance->result;
    lw_status status;
    lw_infer_run run;
    lw_infer_frame f;

    LW_TRY(frame_of_results(typed, &run, &f, err));
    if (n == 0)
        return lw_complain(
            &f, last_return(typed), "E154",
            result == LW_T_NONE ? "nothing is returned"
            : result == LW_T_STATIC
                ? "the result is a type, a function or a module"
                : lw_format_text(&f, "the result is %s", lw_describe_type(&f, result)),
            "return a number, or a tuple of numbers for several outputs",
            "a result that is not a number");
    return lw_complain(
        &f, last_return(typed), "E154",
        lw_format_text(&f, "%u value%s for these types, and %u for those it was made with", n,
                       n == 1 ? "" : "s", n_made),
        "a function returns as many values for all types", "wrong number of results");
fail:
    return status;
}

static lw_status
check_results(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out, bool nested,
              lw_error *err)
{
    const lw_instance *instance = &typed->instances.data[1];
    const lw_type_row *row = lw_type_get(&typed->types, instance->result);
    uint32_t n = row && row->kind == LW_TK_TUPLE ? row->n : instance->result != LW_T_NONE;
    uint32_t loc = last_return(typed), at = 0;
    lw_status status;
    lw_infer_run run;
    lw_infer_frame f;

    if (instance->never_returns && n == n_out)
        return LW_OK;
    LW_TRY(frame_of_results(typed, &run, &f, err));
    if (nested || n == n_out)
        LW_TRY(check_returns(&f, instance, out_types));
    if (nested)
        return check_leaves(&f, loc, instance->result, out_types, &at);
    if (n != n_out)
        return lw_complain(&f, loc, "E153",
                           lw_format_text(&f, "%u result%s, the signature has %u", n,
                                          n == 1 ? "" : "s", n_out),
                           NULL, "wrong number of results");
    for (uint32_t i = 0; i < n; i++)
        LW_TRY(check_result(&f, loc,
                            row && row->kind == LW_TK_TUPLE
                                ? lw_type_get(&typed->types, instance->result)->elements[i]
                                : instance->result,
                            out_types[i]));
fail:
    return status;
}

lw_status
lw_infer_check_results(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out,
                       lw_error *err)
{
    return check_results(typed, out_types, n_out, false, err);
}

lw_status
lw_infer_check_leaves(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out,
                      lw_error *err)
{
    return check_results(typed, out_types, n_out, true, err);
}
