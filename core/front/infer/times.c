/* datetime64 and timedelta64: operators, functions, casts and methods, by the rules of
 * core/front/times.h. Where these refuse something, NumPy does. */
#include "core/front/infer/infer_internal.h"

#include "core/front/times.h"

#include <assert.h>
#include <string.h>

bool
lw_has_time(const lw_arg *args, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (args[i].entry && lw_type_is_time(args[i].value.type))
            return true;
    return false;
}

/* ---- what is refused ---- */

static const char *
help_for(lw_dtype x, lw_dtype y)
{
    bool both = lw_is_time(x) && lw_is_time(y);

    if (both && lw_dtypes[x].kind == lw_dtypes[y].kind && lw_time_common(x, y) == LW_DT_void)
        return lw_unit_is_calendar(lw_dtypes[x].unit) != lw_unit_is_calendar(lw_dtypes[y].unit)
                   ? "years and months have no fixed number of days: `x.astype(\"m8[D]\")` "
                     "takes their average"
                   : "these units have no common one within 64 bits";
    if (both && lw_is_datetime(x) != lw_is_datetime(y))
        return NULL;
    return lw_is_datetime(lw_is_time(x) ? x : y) ? "NumPy refuses this of a datetime64, too"
                                                 : "NumPy refuses this of a timedelta64, too; "
                                                   "`x / np.timedelta64(1, \"s\")` is a "
                                                   "number";
}

/* The operands of an operator or function, whose name is for messages. */
typedef struct operation {
    lw_impl impl;
    const char *name;
    const lw_infer_value *values;
    uint32_t n;
} operation;

static lw_status
complain(lw_infer_frame *f, uint32_t node, const operation *o)
{
    const lw_infer_value *values = o->values;
    uint32_t n = o->n;
    lw_dtype x = lw_type_stored(lw_types_of(f), values[0].type);
    lw_dtype y = lw_type_stored(lw_types_of(f), values[n - 1].type);

    return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                       n > 1
                           ? lw_format_text(f, "%s and %s", lw_describe_value(f, values[n - 2]),
                                            lw_describe_value(f, values[n - 1]))
                           : lw_format_text(f, "this is %s", lw_describe_value(f, values[0])),
                       help_for(x, y), "`%s` is not defined %s", o->name,
                       n > 1 ? "between these types" : "of this type");
}

/* The dtypes of the operands; false: one of them is no scalar. */
static bool
dtypes_of(lw_infer_frame *f, const lw_infer_value *values, uint32_t n, lw_dtype *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = lw_type_stored(lw_types_of(f), values[i].type);
        if (out[i] == LW_DT_void)
            return false;
    }
    return true;
}

/* The rule of a function or operator, or a complaint, in all but the last walk without one. */
static lw_status
find_rule(lw_infer_frame *f, uint32_t node, operation o, lw_time_rule *rule)
{
    lw_dtype in[LW_TIME_OPERANDS];

    assert(o.n >= 1 && o.n <= LW_TIME_OPERANDS);
    if (dtypes_of(f, o.values, o.n, in) && lw_time_rule_of(o.impl, in, o.n, rule))
        return LW_OK;
    *rule = (lw_time_rule){.result = LW_DT_void};
    return complain(f, node, &o);
}

/* ---- operators ---- */

lw_status
lw_infer_time_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                     lw_infer_operand y, lw_type *type)
{
    lw_infer_value values[2] = {x.value, y.value};
    operation o = {lw_operator_impl(op), lw_pyop_text[op], values, 2};
    lw_time_rule rule;
    lw_status status;

    LW_TRY(lw_check_wide(f, x.node, x.value));
    LW_TRY(lw_check_wide(f, y.node, y.value));
    LW_TRY(find_rule(f, node, o, &rule));
    *type = rule.result;
fail:
    return status;
}

lw_status
lw_infer_time_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
                    lw_infer_value *out)
{
    operation o = {lw_operator_impl(op), lw_pyop_text[op], &x, 1};
    lw_time_rule rule;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    LW_TRY(find_rule(f, node, o, &rule));
    out->type = rule.result;
    lw_typed_in(&f->nodes, node)->operand = x.type;
fail:
    return status;
}

lw_type
lw_time_operand(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y)
{
    lw_infer_value values[2] = {{x, 0}, {y, 0}};
    lw_dtype in[2];
    lw_time_rule rule;

    if (op < LW_PY_EQ || op > LW_PY_GE || !dtypes_of(f, values, 2, in) ||
        !lw_time_rule_of(lw_operator_impl(op), in, 2, &rule))
        return LW_T_BOTTOM;
    return rule.operands[0];
}

/* ---- functions ---- */

static lw_type
pair_of(lw_infer_frame *f, lw_type x, lw_type y)
{
    lw_type both[2] = {x, y};

    return lw_type_tuple(lw_types_of(f), both, 2, NULL);
}

lw_status
lw_infer_time_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                    uint32_t n, lw_infer_value *out)
{
    lw_infer_value values[LW_TIME_OPERANDS] = {{LW_T_BOTTOM, 0}};
    operation o = {lw_names[name].impl, lw_name_shown(name), values, n};
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    lw_time_rule rule;
    lw_status status;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    for (uint32_t i = 0; i < n && i < LW_TIME_OPERANDS; i++) {
        if (args[i].entry && args[i].value.type == LW_T_BOTTOM)
            return LW_OK;
        values[i] = args[i].value;
        LW_TRY(lw_check_wide(f, args[i].node, args[i].value));
    }
    if (n > LW_TIME_OPERANDS || strncmp(lw_names[name].path, "math.", 5) == 0)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120", NULL,
                           n > LW_TIME_OPERANDS ? "call it for two at a time" : NULL,
                           "`%s` does not take these times", lw_name_shown(name));
    if (lw_names[name].rule == LW_RULE_NP_LOGICAL && n == 1) /* np.logical_not */
        return complain(f, node, &o);
    LW_TRY(find_rule(f, node, o, &rule));
    for (uint32_t i = n; i-- > 0;)
        if (lw_type_is_time(values[i].type))
            typed->operand = values[i].type;
    out->type = rule.is_pair ? pair_of(f, rule.result, rule.operands[0]) : rule.result;
    if (!f->report)
        return LW_OK;
    typed->call = LW_CALL_NAMED;
    typed->target = name;
    LW_TRY(lw_call_arguments(f, node, args, n));
fail:
    return status;
}

/* ---- casts ---- */

/* A dtype given as a constant: np.int64, np.dtype("m8[s]"), "m8[s]"; void: it is none. */
static lw_dtype
dtype_of_constant(lw_infer_frame *f, lw_infer_value value)
{
    static const lw_dtype pytypes[] = {LW_DT_i64, LW_DT_f64, LW_DT_b1, LW_DT_c128};
    const lw_constant *k = value.constant ? lw_constant_of(f, value.constant) : NULL;

    switch (k ? k->kind : LW_K_UNDEFINED) {
    case LW_K_DTYPE: return k->dtype;
    case LW_K_PYTYPE: return pytypes[k->u & 3];
    case LW_K_STR: return lw_scalar_from_name(k->text, strlen(k->text));
    default: return LW_DT_void;
    }
}

/* np.timedelta64(n, "s"): the unit of the second argument, in place of the generic one. */
static lw_dtype
dtype_with_unit(lw_infer_frame *f, lw_dtype to, const lw_arg *args, uint32_t n)
{
    const lw_constant *k =
        n == 2 && args[1].value.constant ? lw_constant_of(f, args[1].value.constant) : NULL;
    lw_time_unit unit = LW_N_TIME_UNITS;

    if (n == 1 && lw_dtypes[args[0].value.type < LW_N_SCALARS ? args[0].value.type : 0].kind ==
                      lw_dtypes[to].kind)
        return (lw_dtype)args[0].value.type;
    if (n == 2 && k != NULL && k->kind == LW_K_STR)
        unit = lw_time_unit_from(k->text, (unsigned)strlen(k->text));
    if (n == 2)
        return unit == LW_N_TIME_UNITS ? LW_DT_void
                                       : lw_time_dtype(lw_dtypes[to].kind, unit, 1);
    return to;
}

static lw_status
refuse_cast(lw_infer_frame *f, uint32_t loc, lw_infer_value value, lw_dtype to)
{
    return lw_complain(f, loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                       lw_is_time(to) && lw_dtypes[to].unit == LW_UNIT_generic
                           ? "name a unit: `np.timedelta64(n, \"s\")`"
                           : NULL,
                       "this cannot be converted to %s", lw_dtypes[to].public_name);
}

lw_status
lw_infer_time_cast(lw_infer_frame *f, uint32_t node, lw_dtype to, const lw_arg *args,
                   uint32_t n, lw_infer_value *out)
{
    uint32_t loc = lw_node_of(f, node)->loc;
    lw_status status = LW_OK;
    lw_dtype from;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (n == 0 || n > 2)
        return lw_complain(f, loc, "E153", NULL, "`np.timedelta64(n, \"s\")`",
                           "%s takes a value, and a unit", lw_dtypes[to].public_name);
    if (args[0].value.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_is_time(to) && lw_dtypes[to].unit == LW_UNIT_generic)
        to = dtype_with_unit(f, to, args, n);
    else if (n == 2)
        to = LW_DT_void;
    if (to == LW_DT_void)
        return lw_complain(f, loc, "E120", NULL,
                           "Y M W D h m s ms us ns ps fs as, as a string known at compile time",
                           "the second argument must be a unit");
    from = lw_type_stored(lw_types_of(f), args[0].value.type);
    LW_TRY(lw_check_wide(f, args[0].node, args[0].value));
    if (from == LW_DT_void || !lw_time_casts(from, to))
        return refuse_cast(f, loc, args[0].value, to);
    out->type = to;
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_CAST;
    lw_typed_in(&f->nodes, node)->target = to;
    LW_TRY(lw_call_arguments(f, node, args, 1));
fail:
    return status;
}

lw_status
lw_infer_time_method(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                     const lw_arg *args, uint32_t n, lw_infer_value *out)
{
    const char *name = lw_constant_text(f, lw_node_of(f, lw_node_of(f, node)->a)->b);
    bool is_view = strcmp(name, "view") == 0, is_cast = strcmp(name, "astype") == 0;
    lw_dtype to = n == 1 ? dtype_of_constant(f, args[0].value) : LW_DT_void;
    uint32_t loc = lw_node_of(f, node)->loc;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (!is_view && !is_cast)
        return lw_complain(
            f, loc, "E161", lw_format_text(f, "the object is %s", lw_describe_value(f, object)),
            "times have `astype` and `view`", "no method `%s` in compiled code", name);
    if (to == LW_DT_void || (is_view && (lw_is_complex(to) || lw_dtypes[to].bits != 64)))
        return lw_complain(f, loc, "E161", NULL,
                           is_view ? "`x.view(np.int64)`" : "`x.astype(\"m8[s]\")`",
                           "`%s` takes one dtype%s", name, is_view ? " of 64 bits" : "");
    if (is_cast && lw_is_time(to) && lw_dtypes[to].unit == LW_UNIT_generic) /* the unit stays */
        to = lw_time_dtype(lw_dtypes[to].kind, lw_dtypes[object.type].unit,
                           lw_dtypes[object.type].multiple);
    if (is_cast && !lw_time_casts((lw_dtype)object.type, to))
        return refuse_cast(f, loc, object, to);
    out->type = to;
    return lw_take_object(f, node, is_view ? LW_CALL_VIEW : LW_CALL_CAST, to);
}
