/* Typing of the named functions that compute: math, cmath, operator and NumPy's ufuncs.
 * Python's own functions (len, range, isinstance, …) are in named_builtin.c. */
#include "core/front/infer/infer_internal.h"

#include <string.h>

/* ---- the arguments ---- */

typedef struct numeric_call {
    lw_infer_frame *f;
    uint32_t node;
    lw_name_id name;
    const lw_name_row *row;
    const lw_arg *args;
    uint32_t n;
    lw_type operand, type;
    uint32_t constant;
} numeric_call;

static lw_status
complain_argument(numeric_call *c, uint32_t i, const char *wanted)
{
    return lw_complain_argument(c->f, c->name, &c->args[i], wanted, NULL);
}

/* The kinds of numbers that a rule accepts. */
enum { TAKES_COMPLEX = 1, TAKES_FLOAT = 2, TAKES_BOOL = 4 };

static lw_status
check_arguments(numeric_call *c, uint32_t from, uint32_t n, int takes)
{
    lw_status status = LW_OK;

    for (uint32_t i = from; i < n; i++) {
        lw_type type = c->args[i].value.type;

        if (c->args[i].entry == 0)
            continue;
        if (!lw_type_is_number(c->f, type))
            return complain_argument(c, i, takes & TAKES_FLOAT ? "numbers" : "integers");
        if (!(takes & TAKES_COMPLEX) && lw_type_is_complex(type))
            return complain_argument(c, i,
                                     strncmp(c->row->path, "math.", 5) == 0
                                         ? "real numbers; cmath has the complex functions"
                                         : "real numbers");
        if (!(takes & TAKES_FLOAT) && !lw_type_is_int_or_bool(c->f, type))
            return complain_argument(c, i, "integers");
        if (!(takes & TAKES_FLOAT))
            LW_TRY(lw_check_wide(c->f, c->args[i].node, c->args[i].value));
        if (!(takes & TAKES_BOOL) && type == LW_DT_b1)
            return complain_argument(c, i, "a number, not bool");
    }
fail:
    return status;
}

/* An operand as NumPy's function computes it beside the other one. */
static lw_infer_operand
beside(const numeric_call *c, lw_infer_operand x, lw_type other)
{
    bool is_of_numpy = strncmp(c->row->path, "numpy.", 6) == 0;

    return is_of_numpy ? lw_beside_uint64(c->f, x, other) : x;
}

/* The common type of arguments from … n-1, promoted as operands of an operator. */
static lw_status
promote_arguments(numeric_call *c, uint32_t from, uint32_t n, lw_type *out)
{
    lw_infer_value so_far = {LW_T_BOTTOM, 0};
    uint32_t first = 0;
    lw_status status = LW_OK;

    for (uint32_t i = from; i < n; i++) {
        const lw_arg *arg = &c->args[i];

        if (arg->entry == 0 || arg->value.type == LW_T_NONE)
            continue;
        if (so_far.type == LW_T_BOTTOM) {
            so_far.type = arg->value.type;
            first = arg->node;
            continue;
        }
        if (so_far.type == LW_DT_b1 && arg->value.type == LW_DT_b1)
            continue;
        LW_TRY(lw_promote_values(
            c->f, beside(c, (lw_infer_operand){first, so_far}, arg->value.type),
            beside(c, lw_infer_operand_of(arg), so_far.type), c->row->path, &so_far.type));
    }
    *out = so_far.type;
fail:
    return status;
}

/* Python's functions of floats: integers count as Python numbers. */
static lw_status
float_operand(numeric_call *c, uint32_t n)
{
    lw_status status;

    LW_TRY(check_arguments(c, 0, n, TAKES_FLOAT | TAKES_BOOL));
    LW_TRY(promote_arguments(c, 0, n, &c->operand));
    if (!lw_type_is_real(c->f, c->operand))
        c->operand = lw_weak_float(c->f);
fail:
    return status;
}

static lw_status
complex_operand(numeric_call *c, uint32_t n)
{
    lw_status status;

    LW_TRY(check_arguments(c, 0, n, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
    LW_TRY(promote_arguments(c, 0, n, &c->operand));
    c->operand = lw_complex_of(c->f, c->operand);
fail:
    return status;
}

/* NumPy functions return NumPy scalars: a call on Python numbers alone has a strong type. */
static lw_type
strong(lw_infer_frame *f, lw_type type)
{
    return lw_type_stored(lw_types_of(f), type);
}

static lw_status
numpy_operand(numeric_call *c, uint32_t from, uint32_t n, int takes)
{
    lw_status status;

    LW_TRY(check_arguments(c, from, n, takes));
    LW_TRY(promote_arguments(c, from, n, &c->operand));
    if (from < n) /* with one argument, NumPy returns an object for such an int */
        LW_TRY(lw_check_wide(c->f, c->args[from].node, (lw_infer_value){c->operand, 0}));
    c->operand = strong(c->f, c->operand);
fail:
    return status;
}

/* The same of a function that computes a float of integers: a literal beyond the type of the
 * integer beside it becomes such a float at once. */
static lw_status
numpy_operand_of_float(numeric_call *c, uint32_t n, int takes)
{
    for (uint32_t i = 0; n == 2 && i < n; i++)
        if (lw_is_beyond(c->f, c->args[i].value.type, c->args[1 - i].value.type)) {
            c->operand = c->args[1 - i].value.type;
            return LW_OK;
        }
    return numpy_operand(c, 0, n, takes);
}

/* 8- and 16-bit integers are exact in float32. */
static lw_type
numpy_float(lw_type type)
{
    if (lw_is_float((lw_dtype)type) || lw_is_complex((lw_dtype)type))
        return type;
    return lw_dtypes[type].bits <= 16 ? LW_DT_f32 : LW_DT_f64;
}

/* Whether both arguments have at most 16 bits. Their result is float32 then, even if integers
 * that hold both have 32 bits: int8 with uint16. */
static bool
are_small(const numeric_call *c)
{
    bool small = true;

    for (uint32_t i = 0; small && i < 2; i++)
        small =
            c->args[i].value.type < LW_N_DTYPES && lw_dtypes[c->args[i].value.type].bits <= 16;
    return small;
}

static lw_status
numpy_float_operand(numeric_call *c, uint32_t n, int takes)
{
    lw_status status;

    LW_TRY(numpy_operand_of_float(c, n, takes | TAKES_FLOAT | TAKES_BOOL));
    if (n == 2 && c->operand == LW_DT_i32 && are_small(c))
        c->operand = LW_DT_f32;
    else if (c->operand)
        c->operand = numpy_float(c->operand);
fail:
    return status;
}

static lw_type
pair(numeric_call *c, lw_type x, lw_type y)
{
    lw_type both[2] = {x, y};
    return lw_type_tuple(lw_types_of(c->f), both, 2, NULL);
}

/* ---- Python's rules ---- */

static lw_status
type_float_index(numeric_call *c)
{
    lw_status status;

    LW_TRY(check_arguments(c, 0, c->n, TAKES_FLOAT | TAKES_BOOL));
    LW_TRY(lw_check_finite(c->f, c->args[0].node, c->args[0].value));
    c->operand = c->args[0].value.type;
    if (!lw_type_is_real(c->f, c->operand) && c->operand >= LW_N_DTYPES)
        c->operand = lw_weak_int(c->f);
    c->type = lw_weak_int(c->f);
    if (!lw_weak_mode(c->f) && lw_type_is_strong_int(c->operand) &&
        lw_dtypes[c->operand].kind == LW_KIND_UINT)
        c->operand = c->type = LW_DT_u64;
fail:
    return status;
}

static lw_status
type_ldexp(numeric_call *c, bool numpy)
{
    lw_status status;

    LW_TRY(numpy ? numpy_float_operand(c, 1, 0) : float_operand(c, 1));
    if (!lw_type_is_int_or_bool(c->f, c->args[1].value.type))
        return complain_argument(c, 1, "an integer exponent");
    LW_TRY(lw_check_wide(c->f, c->args[1].node, c->args[1].value));
    c->type = c->operand;
fail:
    return status;
}

static lw_status
type_int(numeric_call *c)
{
    lw_status status;

    LW_TRY(check_arguments(c, 0, c->n, TAKES_BOOL));
    LW_TRY(promote_arguments(c, 0, c->n, &c->operand));
    if (c->operand == LW_DT_f64)
        return complain_argument(c, 0,
                                 "integers of one signedness: int64 and uint64 have no "
                                 "common type");
    if (c->operand == LW_DT_b1 || c->operand >= LW_N_DTYPES || c->operand == LW_T_BOTTOM)
        c->operand = lw_weak_int(c->f);
    c->type = c->operand;
fail:
    return status;
}

static lw_status
type_index(numeric_call *c)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < c->n; i++)
        if (i == 0 || c->args[i].value.type != LW_T_NONE)
            LW_TRY(check_arguments(c, i, i + 1, TAKES_BOOL));
    c->operand = c->type = lw_weak_int(c->f);
fail:
    return status;
}

/* The tolerances of isclose do not take part in promotion. */
static lw_status
type_close(numeric_call *c, bool is_complex)
{
    lw_status status;

    LW_TRY(is_complex ? complex_operand(c, 2) : float_operand(c, 2));
    LW_TRY(check_arguments(c, 2, c->n, TAKES_FLOAT | TAKES_BOOL));
    c->type = LW_DT_b1;
fail:
    return status;
}

static lw_status
type_operator(numeric_call *c)
{
    lw_pyop op = lw_impl_operator(c->row->impl);
    const lw_arg *x = &c->args[0], *y = &c->args[1];
    lw_infer_value value = {LW_T_BOTTOM, 0};
    int truth = -1;
    lw_status status;

    if (c->n == 3)
        return lw_complain(c->f, lw_node_of(c->f, c->node)->loc, "E101", NULL,
                           "`pow(a, b) % m` wraps; write a loop of squarings",
                           "`pow` with a modulus cannot be compiled");
    if (op == LW_PY_NOT) {
        truth = lw_truth_of(c->f, x->value);
        c->type = LW_DT_b1;
        c->constant = x->value.constant && truth >= 0 ? lw_node_bool(c->f, c->node, !truth) : 0;
        return LW_OK;
    }
    if (op >= LW_PY_EQ && op <= LW_PY_GE) {
        LW_TRY(check_arguments(c, 0, 2, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
        LW_TRY(lw_infer_compare(c->f, c->node, op, lw_infer_operand_of(x),
                                lw_infer_operand_of(y), &truth));
        value.type = LW_DT_b1;
        if (truth >= 0 && x->value.constant && y->value.constant)
            value.constant = lw_node_bool(c->f, c->node, truth);
    } else if (c->n == 1) {
        LW_TRY(lw_infer_unary(c->f, c->node, op, x->value, &value));
    } else {
        bool computes = op <= LW_PY_MOD; /* others work on bits, which floats do not have */
        lw_infer_operand left = lw_infer_operand_of(x), right = lw_infer_operand_of(y);

        LW_TRY(lw_infer_binary(c->f, c->node, op,
                               computes ? beside(c, left, y->value.type) : left,
                               computes ? beside(c, right, x->value.type) : right, &value));
    }
    c->operand = lw_typed_in(&c->f->nodes, c->node)->operand;
    c->type = value.type;
    c->constant = value.constant;
fail:
    return status;
}

/* ---- NumPy's rules ---- */

static lw_status
type_numpy_power(numeric_call *c)
{
    const lw_constant *exponent =
        c->args[1].value.constant ? lw_constant_of(c->f, c->args[1].value.constant) : NULL;
    __int128 value;
    lw_status status;

    LW_TRY(numpy_operand(c, 0, c->n, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
    if (c->operand == LW_DT_b1)
        c->operand = LW_DT_i8;
    if (lw_type_is_int(c->f, c->operand) && exponent &&
        lw_constant_int_value(exponent, &value) && value < 0)
        return lw_complain(c->f, lw_node_of(c->f, c->node)->loc, "E131",
                           "NumPy raises ValueError here too", "`np.float_power(...)`",
                           "integer to a negative power");
    c->type = c->operand;
fail:
    return status;
}

static lw_status
type_numpy_compare(numeric_call *c)
{
    const lw_arg *x = &c->args[0], *y = &c->args[1];
    int truth;
    lw_status status;

    LW_TRY(check_arguments(c, 0, 2, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
    c->type = LW_DT_b1;
    if (lw_type_is_complex(x->value.type) || lw_type_is_complex(y->value.type))
        return promote_arguments(c, 0, 2, &c->operand); /* the real parts decide first */
    LW_TRY(lw_infer_compare(c->f, c->node, lw_impl_operator(c->row->impl),
                            lw_infer_operand_of(x), lw_infer_operand_of(y), &truth));
    c->operand = lw_typed_in(&c->f->nodes, c->node)->operand;
    if (truth >= 0 && x->value.constant && y->value.constant)
        c->constant = lw_node_bool(c->f, c->node, truth);
fail:
    return status;
}

/* Whether decimals is given, and is not the constant 0. */
static bool
has_decimals(numeric_call *c)
{
    __int128 n;

    return c->n > 1 && c->args[1].entry && c->args[1].value.type != LW_T_NONE &&
           !(c->args[1].value.constant &&
             lw_constant_int_value(lw_constant_of(c->f, c->args[1].value.constant), &n) &&
             n == 0);
}

static lw_status
type_numpy_unary(numeric_call *c)
{
    const int all = TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL;
    lw_status status;

    switch (c->row->rule) {
    case LW_RULE_NP_ROUND: LW_TRY(numpy_operand(c, 0, 1, TAKES_FLOAT | TAKES_BOOL)); break;
    case LW_RULE_NP_DECIMALS:
        LW_TRY(numpy_operand(c, 0, 1, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
        if (c->operand == LW_DT_b1 && has_decimals(c))
            return complain_argument(c, 0, "a number where decimals is given");
        if (c->operand == LW_DT_b1) /* as np.rint has it */
            c->operand = numpy_float(c->operand);
        break;
    default: LW_TRY(numpy_operand(c, 0, 1, all));
    }
    if ((c->row->rule == LW_RULE_NP_SMALL || c->row->rule == LW_RULE_NP_SAME) &&
        c->operand == LW_DT_b1)
        c->operand = LW_DT_i8;
    c->type = c->operand;
    switch (c->row->rule) {
    case LW_RULE_NP_ABS:
    case LW_RULE_NP_PART: c->type = lw_float_of(c->operand); break;
    case LW_RULE_NP_FLOAT_BOOL: c->type = LW_DT_b1; break;
    case LW_RULE_NP_DECIMALS:
        if (c->n > 1 && c->args[1].entry &&
            !lw_type_is_int_or_bool(c->f, c->args[1].value.type))
            return complain_argument(c, 1, "an integer number of decimals");
        if (c->n > 1)
            LW_TRY(lw_check_wide(c->f, c->args[1].node, c->args[1].value));
        break;
    default: break;
    }
fail:
    return status;
}

static lw_status
type_numpy_angle(numeric_call *c)
{
    lw_status status;

    LW_TRY(numpy_float_operand(c, 1, TAKES_COMPLEX));
    c->type = lw_float_of(c->operand);
    if (c->operand)
        c->operand = lw_complex_of(c->f, c->operand);
fail:
    return status;
}

static lw_status
type_numpy_where(numeric_call *c)
{
    lw_status status;

    if (!lw_type_is_number(c->f, c->args[0].value.type) && !c->args[0].value.constant)
        return complain_argument(c, 0, "a condition");
    LW_TRY(numpy_operand(c, 1, 3, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
    c->type = c->operand;
fail:
    return status;
}

/* Whether bound i is a constant that no element passes: -2 is below every uint8. As in NumPy,
 * it bounds nothing then. */
static bool
bounds_nothing(const numeric_call *c, uint32_t i)
{
    lw_types *types = lw_types_of(c->f);
    lw_dtype dtype = lw_type_stored(types, c->args[0].value.type);
    const lw_arg *bound = &c->args[i];

    if (i == 0 || lw_type_kind_of(types, c->args[0].value.type) != LW_TK_SCALAR ||
        !lw_is_integer(dtype) || bound->entry == 0 ||
        lw_type_kind_of(types, bound->value.type) != LW_TK_LITERAL ||
        lw_literal_fits(types, bound->value.type, dtype))
        return false;
    return (lw_type_get(types, bound->value.type)->lo < 0) == (i == 1);
}

static lw_status
type_numpy_clip(numeric_call *c)
{
    lw_status status = LW_OK;
    const lw_arg *given = c->args;
    lw_arg args[3];

    for (uint32_t i = 0; i < c->n; i++)
        if (i == 0 || c->args[i].value.type != LW_T_NONE)
            LW_TRY(check_arguments(c, i, i + 1, TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL));
    assert(c->n <= 3);
    memcpy(args, given, c->n * sizeof *args);
    for (uint32_t i = 1; i < c->n; i++)
        if (bounds_nothing(c, i))
            args[i].value.type = LW_T_NONE;
    c->args = args;
    status = promote_arguments(c, 0, c->n, &c->operand);
    c->args = given;
    LW_TRY(status);
    c->operand = c->type = strong(c->f, c->operand);
fail:
    return status;
}

/* divmod and its like, floor division and remainder: bools count as int8. */
static lw_status
type_numpy_real(numeric_call *c)
{
    lw_status status;

    LW_TRY(numpy_operand(c, 0, c->n, TAKES_FLOAT | TAKES_BOOL));
    if (c->operand == LW_DT_b1)
        c->operand = LW_DT_i8;
    c->type = c->row->rule == LW_RULE_NP_DIVMOD && c->operand ? pair(c, c->operand, c->operand)
                                                              : c->operand;
fail:
    return status;
}

static lw_status
type_numpy_int(numeric_call *c)
{
    bool bits = c->row->rule == LW_RULE_NP_BITS || c->row->rule == LW_RULE_NP_BITCOUNT;
    lw_status status;

    LW_TRY(numpy_operand(c, 0, c->n, TAKES_BOOL));
    if (c->operand == LW_DT_f64)
        return complain_argument(c, 0,
                                 "integers of one signedness: int64 and uint64 have no "
                                 "common type");
    if (c->operand == LW_DT_b1 && (c->row->impl == LW_IMPL_GCD || c->row->impl == LW_IMPL_LCM))
        return complain_argument(c, 0, "integers");
    if (c->operand == LW_DT_b1 && !bits)
        c->operand = LW_DT_i8;
    c->type = c->row->rule == LW_RULE_NP_BITCOUNT ? (lw_type)LW_DT_u8 : c->operand;
fail:
    return status;
}

/* ---- the table of rules ---- */

static lw_status
type_python(numeric_call *c)
{
    lw_status status = LW_OK;

    switch (c->row->rule) {
    case LW_RULE_FLOAT:
        LW_TRY(float_operand(c, c->n));
        c->type = c->operand;
        break;
    case LW_RULE_FLOAT_BOOL:
        LW_TRY(float_operand(c, c->n));
        c->type = LW_DT_b1;
        break;
    case LW_RULE_FLOAT_INDEX: return type_float_index(c);
    case LW_RULE_CLOSE: return type_close(c, false);
    case LW_RULE_COMPLEX_CLOSE: return type_close(c, true);
    case LW_RULE_LDEXP: return type_ldexp(c, false);
    case LW_RULE_FREXP:
        LW_TRY(float_operand(c, 1));
        c->type = pair(c, c->operand, lw_weak_int(c->f));
        break;
    case LW_RULE_MODF:
        LW_TRY(float_operand(c, 1));
        c->type = pair(c, c->operand, c->operand);
        break;
    case LW_RULE_INT: return type_int(c);
    case LW_RULE_INDEX: return type_index(c);
    case LW_RULE_COMPLEX:
    case LW_RULE_COMPLEX_BOOL:
    case LW_RULE_COMPLEX_FLOAT:
    case LW_RULE_POLAR:
        LW_TRY(complex_operand(c, c->n));
        c->type = c->row->rule == LW_RULE_COMPLEX        ? c->operand
                  : c->row->rule == LW_RULE_COMPLEX_BOOL ? (lw_type)LW_DT_b1
                  : c->row->rule == LW_RULE_COMPLEX_FLOAT
                      ? lw_float_of(c->operand)
                      : pair(c, lw_float_of(c->operand), lw_float_of(c->operand));
        break;
    case LW_RULE_RECT:
        LW_TRY(float_operand(c, 2));
        c->type = lw_complex_of(c->f, c->operand);
        break;
    default: return type_operator(c);
    }
fail:
    return status;
}

static lw_status
type_numpy(numeric_call *c)
{
    const int all = TAKES_COMPLEX | TAKES_FLOAT | TAKES_BOOL;
    lw_status status = LW_OK;

    switch (c->row->rule) {
    case LW_RULE_NP_PROMOTE: LW_TRY(numpy_operand(c, 0, c->n, all)); break;
    case LW_RULE_NP_NUMBER: /* a bool beside a number counts as a number */
        LW_TRY(numpy_operand(c, 0, c->n, all));
        if (c->operand == LW_DT_b1)
            return complain_argument(c, 0, "a number, not bool");
        break;
    case LW_RULE_NP_DIVIDE:
        LW_TRY(numpy_operand_of_float(c, c->n, all));
        if (c->operand && (lw_type_is_int(c->f, c->operand) || c->operand == LW_DT_b1))
            c->operand = LW_DT_f64;
        break;
    case LW_RULE_NP_REAL:
    case LW_RULE_NP_DIVMOD: return type_numpy_real(c);
    case LW_RULE_NP_POWER: return type_numpy_power(c);
    case LW_RULE_NP_FLOAT_POWER:
        LW_TRY(numpy_operand_of_float(c, c->n, all));
        c->operand = lw_type_is_complex(c->operand) ? LW_DT_c128 : LW_DT_f64;
        break;
    case LW_RULE_NP_INT:
    case LW_RULE_NP_BITS:
    case LW_RULE_NP_BITCOUNT: return type_numpy_int(c);
    case LW_RULE_NP_COMPARE: return type_numpy_compare(c);
    case LW_RULE_NP_LOGICAL:
        LW_TRY(check_arguments(c, 0, c->n, all));
        c->type = LW_DT_b1;
        return LW_OK;
    case LW_RULE_NP_FLOAT: LW_TRY(numpy_float_operand(c, c->n, 0)); break;
    case LW_RULE_NP_FLOAT_C: LW_TRY(numpy_float_operand(c, c->n, TAKES_COMPLEX)); break;
    case LW_RULE_NP_LDEXP: return type_ldexp(c, true);
    case LW_RULE_NP_FREXP:
        LW_TRY(numpy_float_operand(c, 1, 0));
        c->type = pair(c, c->operand, LW_DT_i32);
        return LW_OK;
    case LW_RULE_NP_MODF:
        LW_TRY(numpy_float_operand(c, 1, 0));
        c->type = pair(c, c->operand, c->operand);
        return LW_OK;
    case LW_RULE_NP_REAL_BOOL:
        LW_TRY(numpy_float_operand(c, 1, 0));
        c->type = LW_DT_b1;
        return LW_OK;
    case LW_RULE_NP_ANGLE: return type_numpy_angle(c);
    case LW_RULE_NP_WHERE: return type_numpy_where(c);
    case LW_RULE_NP_CLIP: return type_numpy_clip(c);
    case LW_RULE_NP_TIME_BOOL:
        return complain_argument(c, 0, "a datetime64 or timedelta64, as in NumPy");
    default: return type_numpy_unary(c);
    }
    c->type = c->operand;
fail:
    return status;
}

static bool
takes_arrays(lw_rule rule)
{
    switch (rule) {
    case LW_RULE_LEN:
    case LW_RULE_ENUMERATE:
    case LW_RULE_ZIP:
    case LW_RULE_INDICES:
    case LW_RULE_REVERSED:
    case LW_RULE_ISINSTANCE:
    case LW_RULE_OVERLAP: return true;
    default: return lw_is_kernel_rule(rule);
    }
}

static bool
is_builtin_rule(lw_rule rule)
{
    switch (rule) {
    case LW_RULE_ABS:
    case LW_RULE_JOIN:
    case LW_RULE_ROUND:
    case LW_RULE_DIVMOD:
    case LW_RULE_PYTYPE:
    case LW_RULE_LEN:
    case LW_RULE_SUM:
    case LW_RULE_ANY:
    case LW_RULE_ALL:
    case LW_RULE_RANGE:
    case LW_RULE_ENUMERATE:
    case LW_RULE_ZIP:
    case LW_RULE_INDICES:
    case LW_RULE_REVERSED:
    case LW_RULE_ISINSTANCE:
    case LW_RULE_TYPE:
    case LW_RULE_PRINT:
    case LW_RULE_TRUTH:
    case LW_RULE_OVERLAP: return true;
    default: return false;
    }
}

/* All other functions refuse times by what they ask of numbers. */
static bool
takes_times(lw_rule rule)
{
    return (rule >= LW_RULE_NP_PROMOTE || rule == LW_RULE_ABS || rule == LW_RULE_JOIN ||
            rule == LW_RULE_DIVMOD || rule == LW_RULE_OPERATOR);
}

lw_status
lw_call_arguments(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n)
{
    lw_typed_in(&f->nodes, node)->args = f->run->typed->lists.n;
    lw_typed_in(&f->nodes, node)->n_args = n;
    for (uint32_t i = 0; i < n; i++)
        if (!lw_list_add(f, args[i].entry))
            return lw_out_of_memory(f);
    return LW_OK;
}

/* Whether what a kernel calls does more than to return a value: it waits, or exchanges values
 * with other threads. What writes to memory says so itself. */
static bool
acts(lw_rule rule)
{
    return rule == LW_RULE_KERNEL || rule == LW_RULE_GRID_SYNC || rule == LW_RULE_SHUFFLE ||
           rule == LW_RULE_MATCH || rule == LW_RULE_ATOMIC || rule == LW_RULE_CACHED;
}

lw_status
lw_infer_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
               uint32_t n, lw_infer_value *out)
{
    numeric_call c = {
        .f = f, .node = node, .name = name, .row = &lw_names[name], .args = args, .n = n};
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    lw_status status;

    for (uint32_t i = 0; i < n && !takes_arrays(c.row->rule); i++)
        if (args[i].entry && lw_name_is_elementwise(name) &&
            (args[i].entry & LW_ARG_TAG) == 0 && lw_is_elementwise(f, args[i].value.type))
            return lw_infer_array_named(f, node, name, args, n, out);
        else if (args[i].entry && lw_array_row(f, args[i].value.type))
            return lw_complain_whole_array(f, node,
                                           lw_format_text(f, "`%s`", lw_name_shown(name)),
                                           args[i].value.type, NULL);
    if (lw_has_time(args, n) && takes_times(c.row->rule))
        return lw_infer_time_named(f, node, name, args, n, out);
    if (is_builtin_rule(c.row->rule)) {
        LW_TRY(lw_infer_builtin(f, node, name, args, n, out));
    } else if (lw_is_kernel_rule(c.row->rule)) {
        f->acts |= acts(c.row->rule);
        LW_TRY(lw_infer_kernel(f, node, name, args, n, out));
    } else {
        LW_TRY(c.row->rule < LW_RULE_NP_PROMOTE ? type_python(&c) : type_numpy(&c));
        typed->operand = c.operand;
        *out = (lw_infer_value){c.type, c.constant};
        if (!c.constant && c.type != LW_T_BOTTOM)
            lw_note_arithmetic(f, node, c.operand);
    }
    if (!f->report || typed->call == LW_CALL_CAST)
        return LW_OK;
    typed->call = LW_CALL_NAMED;
    typed->target = name;
    LW_TRY(lw_call_arguments(f, node, args, n));
fail:
    return status;
}
