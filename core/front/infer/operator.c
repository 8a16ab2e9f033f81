/* The types of operators other than comparisons, by the rules of docs/typing.md, "Operators":
 * what operands are converted to, what the result is, and which constants do not fit. Constant
 * operands are folded by fold.c first. Also W201, which notes arithmetic in float64 where every
 * argument is narrow. */
#include "core/front/infer/infer_internal.h"

#include <math.h>
#include <string.h>

/* ---- kinds of types ---- */

lw_type
lw_weak_int(lw_infer_frame *f)
{
    return lw_weak_mode(f) ? (lw_type)LW_T_INDEX : (lw_type)LW_DT_i64;
}

lw_type
lw_weak_float(lw_infer_frame *f)
{
    return lw_weak_mode(f) ? (lw_type)LW_T_PYFLOAT : (lw_type)LW_DT_f64;
}

lw_type
lw_weak_complex(lw_infer_frame *f)
{
    return lw_weak_mode(f) ? (lw_type)LW_T_PYCOMPLEX : (lw_type)LW_DT_c128;
}

bool
lw_type_is_literal(lw_infer_frame *f, lw_type type)
{
    return lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL;
}

static bool
is_weak_int(lw_infer_frame *f, lw_type type)
{
    return type == LW_T_INDEX || lw_type_is_literal(f, type);
}

bool
lw_type_is_strong_int(lw_type type)
{
    return type < LW_N_DTYPES && lw_is_integer((lw_dtype)type);
}

bool
lw_type_is_int(lw_infer_frame *f, lw_type type)
{
    return lw_type_is_strong_int(type) || is_weak_int(f, type);
}

bool
lw_type_is_int_or_bool(lw_infer_frame *f, lw_type type)
{
    return type == LW_DT_b1 || lw_type_is_int(f, type);
}

bool
lw_type_is_real(lw_infer_frame *f, lw_type type)
{
    (void)f;
    return type == LW_T_PYFLOAT || (type < LW_N_DTYPES && lw_is_float((lw_dtype)type));
}

bool
lw_type_is_complex(lw_type type)
{
    return type == LW_T_PYCOMPLEX || (type < LW_N_DTYPES && lw_is_complex((lw_dtype)type));
}

bool
lw_type_is_number(lw_infer_frame *f, lw_type type)
{
    return lw_type_is_scalar(f, type) && !lw_type_is_time(type);
}

bool
lw_type_is_scalar(lw_infer_frame *f, lw_type type)
{
    return lw_type_stored(lw_types_of(f), type) != LW_DT_void && !lw_type_is_member(f, type) &&
           !lw_is_text(f, type);
}

lw_type
lw_float_of(lw_type type)
{
    if (type == LW_T_PYCOMPLEX)
        return LW_T_PYFLOAT;
    return type < LW_N_DTYPES && lw_is_complex((lw_dtype)type) ? lw_dtypes[type].parts : type;
}

lw_type
lw_complex_of(lw_infer_frame *f, lw_type type)
{
    if (lw_type_is_complex(type))
        return type;
    if (type == LW_T_PYFLOAT || !lw_type_is_real(f, type))
        return lw_weak_complex(f);
    return lw_dtypes[type].bits > 32 ? LW_DT_c128 : LW_DT_c64;
}

/* ---- common types ---- */

/* Every float type holds every integer that float64 holds, if only as infinity. */
static bool
fits(lw_infer_frame *f, lw_infer_value x, lw_dtype dtype)
{
    const lw_constant *constant = x.constant ? lw_constant_of(f, x.constant) : NULL;

    if (lw_type_is_strong_int(dtype))
        return lw_literal_fits(lw_types_of(f), x.type, dtype);
    return dtype == LW_DT_b1 || constant == NULL || constant->kind != LW_K_BIGINT ||
           isfinite(constant->d);
}

enum { MOST_DIGITS = 60 }; /* the text of an integer in a message */

/* Whether uint64 holds a literal, which int64 does not. */
static bool
fits_uint64(lw_infer_frame *f, lw_type literal)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), literal);

    return row->lo >= 0 && row->hi > INT64_MAX && row->hi <= (__int128)UINT64_MAX;
}

/* How to convert an int to a dtype that does not hold it; without the bits above the dtype's, a
 * negative one is an unsigned number. No dtype has the value of an int of more than 64 bits. */
static const char *
help_to_convert(lw_infer_frame *f, lw_type literal, const char *value, const char *type)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), literal);

    if (lw_literal_is_wide(lw_types_of(f), literal) && !fits_uint64(f, literal))
        return "Python ints are 64-bit in compiled code: use a float, `float(...)`";
    return lw_format_text(f, "`np.%s(np.%s(%s))` keeps its low bits", type,
                          row->hi > INT64_MAX ? "uint64" : "int64",
                          row->lo == row->hi ? value : "x");
}

lw_status
lw_check_literal(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_type to,
                 uint32_t other_node)
{
    lw_dtype dtype = lw_type_stored(lw_types_of(f), to);
    const char *other, *type, *value;

    if (!lw_type_is_literal(f, x.type) || lw_type_is_literal(f, to) || !f->report ||
        fits(f, x, dtype))
        return LW_OK;
    other = other_node ? lw_describe_source(f, other_node) : "";
    type = lw_dtypes[dtype].public_name;
    value = x.constant && lw_constant_of(f, x.constant)->kind == LW_K_BIGINT
                ? lw_constant_text(f, x.constant)
                : lw_describe_type(f, x.type);
    if (strlen(value) > MOST_DIGITS)
        value = lw_format_text(f, "an int of %u digits",
                               (unsigned)strspn(value + (*value == '-'), "0123456789"));
    if (strncmp(value, "int ", 4) == 0)
        value += 4;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E130",
        *other && to != LW_T_INDEX
            ? lw_format_text(
                  f,
                  "%s does not fit %s, the type of `%s` (NumPy 2 raises OverflowError "
                  "here too)",
                  value, type, other)
            : lw_format_text(f, "%s does not fit %s", value, type),
        !lw_type_is_strong_int(dtype) ? NULL
        : !*other && to != LW_T_INDEX ? help_to_convert(f, x.type, value, type)
        : *other && dtype < LW_DT_i32
            ? lw_format_text(f, "write `np.int32(%s)` to compute in int32", other)
        : fits_uint64(f, x.type)
            ? lw_format_text(f,
                             "`np.uint64(%s)` computes in uint64, which holds it and wraps, as "
                             "hashes do; as a float it is rounded",
                             *other ? other : "x")
            : "Python ints are 64-bit in compiled code: use a float, `float(...)`",
        "integer constant out of range");
}

lw_status
lw_check_wide(lw_infer_frame *f, uint32_t node, lw_infer_value x)
{
    return lw_literal_is_wide(lw_types_of(f), x.type)
               ? lw_check_literal(f, node, x, LW_T_INDEX, 0)
               : LW_OK;
}

lw_status
lw_check_finite(lw_infer_frame *f, uint32_t node, lw_infer_value x)
{
    double d;

    if (!x.constant || !lw_constant_float(lw_constant_of(f, x.constant), &d) || isfinite(d))
        return LW_OK;
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E141",
        isnan(d) ? "Python raises ValueError here" : "Python raises OverflowError here",
        "for a float that is known only at run time, NaN gives 0 and infinity the "
        "nearest 64-bit integer",
        "%s has no integer", isnan(d) ? "NaN" : "an infinity");
}

lw_status
lw_complain_wide(lw_infer_frame *f, uint32_t node)
{
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E130", "this integer has more than 125 bits",
        "compute with floats: a float64 reaches 1.8e308", "constant too large for any type");
}

bool
lw_is_beyond(lw_infer_frame *f, lw_type literal, lw_type other)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), literal);

    return lw_type_is_literal(f, literal) && row->lo == row->hi &&
           lw_type_is_strong_int(other) &&
           !lw_literal_fits(lw_types_of(f), literal, (lw_dtype)other);
}

/* A range of literals that does not fit counts as a run-time int. */
static lw_type
as_index(lw_infer_frame *f, lw_type type, lw_type other)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);

    if (lw_type_is_literal(f, type) && row->lo != row->hi && lw_type_is_strong_int(other) &&
        !lw_literal_fits(lw_types_of(f), type, (lw_dtype)other))
        return LW_T_INDEX;
    return type;
}

static lw_status
complain_operands(lw_infer_frame *f, uint32_t node, const char *what, lw_type x, lw_type y)
{
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E120",
        lw_format_text(f, "%s and %s", lw_describe_type(f, x), lw_describe_type(f, y)), NULL,
        "`%s` is not defined between these types", what);
}

lw_type
lw_promote_operands(lw_infer_frame *f, lw_type x, lw_type y)
{
    const lw_front_options *options = &f->run->typed->options;

    x = as_index(f, x, y);
    y = as_index(f, y, x);
    if (options->promote_narrow && lw_type_is_strong_int(x) && lw_type_is_real(f, y))
        return y;
    if (options->promote_narrow && lw_type_is_strong_int(y) && lw_type_is_real(f, x))
        return x;
    return lw_promote(lw_types_of(f), lw_typing_of(f), x, y);
}

lw_infer_operand
lw_beside_uint64(lw_infer_frame *f, lw_infer_operand x, lw_type other)
{
    lw_dtype own = lw_type_stored(lw_types_of(f), x.value.type);
    lw_dtype its = lw_type_stored(lw_types_of(f), other);
    bool is_signed = lw_dtypes[own].kind == LW_KIND_INT || lw_dtypes[its].kind == LW_KIND_INT;

    if (!lw_weak_mode(f) && (own == LW_DT_u64 || its == LW_DT_u64) &&
        (is_signed || own == LW_DT_b1))
        x.value = (lw_infer_value){is_signed ? LW_DT_f64 : LW_DT_u64, 0};
    return x;
}

lw_status
lw_promote_values(lw_infer_frame *f, lw_infer_operand x, lw_infer_operand y, const char *what,
                  lw_type *out)
{
    lw_status status;

    *out = lw_promote_operands(f, x.value.type, y.value.type);
    if (*out == LW_T_BOTTOM)
        return complain_operands(f, x.node, what, x.value.type, y.value.type);
    LW_TRY(lw_check_literal(f, x.node, x.value, *out, y.node));
    LW_TRY(lw_check_literal(f, y.node, y.value, *out, x.node));
fail:
    return status;
}

/* W201: float64 arithmetic where every argument is narrow. */
void
lw_note_arithmetic(lw_infer_frame *f, uint32_t node, lw_type type)
{
    lw_infer_run *run = f->run;
    uint32_t line, *slot;
    lw_dtype stored = lw_type_stored(lw_types_of(f), type);

    if (!run->lint || !f->report || run->quiet || (stored != LW_DT_f64 && stored != LW_DT_c128))
        return;
    line = run->tree->locs.data[lw_node_of(f, node)->loc].line;
    if (run->lint_lines.n == 0) {
        run->lint_loc = lw_node_of(f, node)->loc;
        run->lint_label =
            lw_format_text(f, "this computes in %s", lw_dtypes[stored].public_name);
    }
    for (uint32_t i = 0; i < run->lint_lines.n; i++)
        if (run->lint_lines.data[i] == line)
            return;
    slot = lw_array_push(&run->lint_lines, run->arena);
    if (slot)
        *slot = line;
}

/* ---- binary ---- */

typedef struct binary {
    lw_infer_frame *f;
    uint32_t node, x_node, y_node;
    lw_pyop op;
    lw_infer_value x, y;
    lw_type type, operand;
} binary;

static lw_status
complain_kind(binary *b, lw_type type, const char *wanted)
{
    lw_infer_frame *f = b->f;
    lw_infer_value value = type == b->x.type ? b->x : b->y;
    uint32_t node = type == b->x.type ? b->x_node : b->y_node;

    return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_value(f, value)),
                       b->op == LW_PY_MUL && lw_tuple_row(f, type)
                           ? "a tuple is repeated by an int that is known when the function is "
                             "compiled; or fill a small array of this call, "
                             "`lw.local(shape, dtype)`"
                       : lw_is_text(f, b->y.type) && b->y.constant == 0
                           ? lw_help_for_text(f, b->y)
                           : lw_help_for_text(f, b->x),
                       "`%s` needs %s", lw_pyop_text[b->op], wanted);
}

static lw_status
common(binary *b)
{
    lw_status status = lw_promote_values(b->f, (lw_infer_operand){b->x_node, b->x},
                                         (lw_infer_operand){b->y_node, b->y},
                                         lw_pyop_text[b->op], &b->operand);
    b->type = b->operand;
    return status;
}

static lw_status
type_division(binary *b)
{
    lw_infer_frame *f = b->f;
    lw_status status;
    bool weak = true;

    if (lw_is_beyond(f, b->x.type, b->y.type) || lw_is_beyond(f, b->y.type, b->x.type)) {
        b->type = b->operand = (lw_type)LW_DT_f64;
        return LW_OK;
    }
    LW_TRY(common(b));
    if (!lw_type_is_int(f, b->operand) && b->operand != LW_DT_b1)
        return LW_OK;
    weak = is_weak_int(f, b->x.type) && is_weak_int(f, b->y.type);
    weak |= b->operand == LW_T_INDEX && !lw_type_is_strong_int(b->x.type) &&
            !lw_type_is_strong_int(b->y.type);
    b->type = b->operand = weak ? lw_weak_float(f) : (lw_type)LW_DT_f64;
fail:
    return status;
}

static lw_status
type_floor(binary *b)
{
    lw_status status;

    LW_TRY(common(b));
    if (lw_type_is_complex(b->operand))
        return complain_kind(b, lw_type_is_complex(b->x.type) ? b->x.type : b->y.type,
                             "real numbers");
fail:
    return status;
}

static bool
is_negative_literal(lw_infer_frame *f, lw_infer_value x)
{
    const lw_constant *constant = x.constant ? lw_constant_of(f, x.constant) : NULL;
    __int128 value;

    return constant && constant->kind != LW_K_BOOL && lw_constant_int_value(constant, &value) &&
           value < 0;
}

static lw_status
complain_negative_power(binary *b)
{
    lw_infer_frame *f = b->f;
    const char *base = lw_describe_source(f, b->x_node);
    __int128 exponent = 0;
    bool reciprocal;

    lw_constant_int_value(lw_constant_of(f, b->y.constant), &exponent);
    reciprocal = exponent == -1 && base && *base;
    return lw_complain(
        f, lw_node_of(f, b->node)->loc, "E131", "integer to a negative power is not an integer",
        reciprocal ? lw_format_text(f, "write `1.0 / %s`, or `float(%s) ** -1`", base, base)
                   : "make the base a float: `float(...)`",
        "integer to a negative power");
}

/* Types that are no dtype, such as those of literals, are signed. */
static bool
is_unsigned(lw_type type)
{
    return type < LW_N_DTYPES && lw_dtypes[type].kind == LW_KIND_UINT;
}

static lw_status
type_power(binary *b)
{
    lw_infer_frame *f = b->f;
    bool int_base = lw_type_is_int(f, b->x.type) || b->x.type == LW_DT_b1;
    bool int_exponent = lw_type_is_int(f, b->y.type) || b->y.type == LW_DT_b1;

    if (!int_exponent || !lw_type_is_number(f, b->x.type))
        return common(b);
    if (int_base && is_negative_literal(f, b->y))
        return complain_negative_power(b);
    if (int_base && !b->y.constant)
        return common(b);
    if (int_base && !is_weak_int(f, b->y.type) && b->y.type != LW_DT_b1)
        return common(b); /* a strong constant */
    /* under a float or complex base, an integer exponent or a literal exponent leaves the type
     * to the base; numba does so for floats alone */
    b->type = lw_weak_mode(f) || !lw_type_is_complex(b->x.type)
                  ? b->x.type
                  : lw_promote(lw_types_of(f), lw_typing_of(f), b->x.type, b->y.type);
    if (b->x.type == LW_DT_b1 || lw_type_is_literal(f, b->x.type))
        b->type = lw_weak_int(f);
    else if (int_base && !lw_weak_mode(f))
        b->type = is_unsigned(b->x.type) ? LW_DT_u64 : LW_DT_i64;
    b->operand = b->type;
    return int_base ? lw_check_wide(f, b->y_node, b->y) : LW_OK;
}

static lw_status
check_bits(binary *b)
{
    if (!lw_type_is_int_or_bool(b->f, b->x.type))
        return complain_kind(b, b->x.type, "integers");
    if (!lw_type_is_int_or_bool(b->f, b->y.type))
        return complain_kind(b, b->y.type, "integers");
    return LW_OK;
}

static lw_status
type_shift(binary *b)
{
    lw_infer_frame *f = b->f;
    lw_type x = b->x.type, y = b->y.type;
    lw_status status;

    LW_TRY(check_bits(b));
    if (!lw_type_is_int_or_bool(f, x) || !lw_type_is_int_or_bool(f, y))
        return LW_OK;
    if (!lw_weak_mode(f))
        b->type = is_unsigned(x) ? LW_DT_u64 : LW_DT_i64;
    else if (lw_type_is_strong_int(x) && lw_type_is_strong_int(y) &&
             lw_is_integer(lw_promote_dtypes((lw_dtype)x, (lw_dtype)y)))
        b->type = lw_promote_dtypes((lw_dtype)x, (lw_dtype)y); /* not of int64 with uint64 */
    else if (lw_type_is_strong_int(x) || x == LW_T_INDEX)
        b->type = x;
    else
        b->type =
            lw_type_is_literal(f, x) && lw_type_is_strong_int(y) ? y : (lw_type)LW_T_INDEX;
    b->operand = b->type;
    LW_TRY(lw_check_literal(f, b->x_node, b->x, b->type, b->y_node));
    LW_TRY(lw_check_wide(f, b->y_node, b->y));
fail:
    return status;
}

static lw_status
type_bits(binary *b)
{
    lw_infer_frame *f = b->f;
    lw_status status;

    LW_TRY(check_bits(b));
    if (!lw_type_is_int_or_bool(f, b->x.type) || !lw_type_is_int_or_bool(f, b->y.type))
        return LW_OK;
    if (b->x.type == LW_DT_b1 && b->y.type == LW_DT_b1) {
        b->type = b->operand = LW_DT_b1;
        return LW_OK;
    }
    LW_TRY(common(b));
    if (b->operand == LW_DT_f64) /* int64 with uint64 */
        return complain_operands(f, b->node, lw_pyop_text[b->op], b->x.type, b->y.type);
    if (lw_type_flags(f, b->x.type) != LW_T_BOTTOM &&
        lw_type_flags(f, b->x.type) == lw_type_flags(f, b->y.type))
        b->type = lw_type_flags(f, b->x.type);
fail:
    return status;
}

/* The types of a tuple's items, so often; what exists only as a constant keeps it. */
static void
copy_items(lw_infer_frame *f, lw_infer_value tuple, uint32_t n, lw_type *out)
{
    const lw_constant *constant = tuple.constant ? lw_constant_of(f, tuple.constant) : NULL;
    const uint32_t *items = constant && constant->kind == LW_K_TUPLE ? constant->items : NULL;

    for (uint32_t i = 0; i < n; i++) { /* a new type may move the rows */
        const lw_type_row *row = lw_tuple_row(f, tuple.type);
        uint32_t at = i % row->n;

        out[i] = row->elements[at];
        if (out[i] == LW_T_STATIC && items != NULL)
            out[i] = lw_field_type(f, lw_constant_value(f, items[at]));
    }
}

lw_status
lw_complain_list_changes(lw_infer_frame *f, uint32_t node)
{
    return lw_complain(f, lw_node_of(f, node)->loc, "E101",
                       "the list would change, and so would its other names",
                       "use a tuple, `x = (a, b)`: `x += (c,)` makes a new one",
                       "a list that changes cannot be compiled");
}

static lw_status
type_concatenation(binary *b)
{
    lw_types *types = lw_types_of(b->f);
    const lw_type_row *x = lw_type_get(types, b->x.type), *y = lw_type_get(types, b->y.type);
    lw_type *elements = lw_arena_take(types->arena, (x->n + y->n + 1) * sizeof *elements);
    uint32_t n, n_x;
    bool is_list;

    if (elements == NULL)
        return lw_out_of_memory(b->f);
    if (x->n + y->n > LW_MAX_ITEMS)
        return lw_complain(b->f, lw_node_of(b->f, b->node)->loc, "E101", NULL, NULL,
                           "tuple of more than %d items", LW_MAX_ITEMS);
    is_list = x->is_list;
    if (is_list != y->is_list)
        return complain_operands(b->f, b->node, lw_pyop_text[b->op], b->x.type, b->y.type);
    if (is_list && lw_node_of(b->f, b->node)->kind == LW_NODE_AUGASSIGN)
        return lw_complain_list_changes(b->f, b->node);
    n_x = x->n;
    n = n_x + y->n;
    copy_items(b->f, b->x, n_x, elements);
    copy_items(b->f, b->y, n - n_x, elements + n_x);
    b->type = lw_type_tuple(types, elements, n, NULL);
    b->type = b->operand = lw_type_tuple_listed(types, b->type, is_list);
    return LW_OK;
}

/* A tuple of objects would hold each of them several times, which slices do not mind. */
static bool
may_repeat(lw_infer_frame *f, const lw_type_row *tuple)
{
    for (uint32_t i = 0; i < tuple->n; i++)
        if (lw_holds_objects(f, tuple->elements[i]) &&
            !lw_type_is_slice(lw_types_of(f), tuple->elements[i]))
            return false;
    return tuple->user_class == NULL;
}

/* `(0,) * n`, or the other way round, of an int that is known when the function is compiled.
 * *times: 0 where it is less. */
static bool
is_repetition(binary *b, lw_infer_value *tuple, int64_t *times)
{
    lw_infer_frame *f = b->f;
    bool in_front = lw_tuple_row(f, b->x.type) != NULL;
    lw_infer_value count = in_front ? b->y : b->x;
    const lw_type_row *row;
    __int128 n;

    *tuple = in_front ? b->x : b->y;
    row = lw_tuple_row(f, tuple->type);
    if (b->op != LW_PY_MUL || row == NULL || !may_repeat(f, row) || !count.constant ||
        count.type == LW_DT_b1 || !lw_constant_int_value(lw_constant_of(f, count.constant), &n))
        return false;
    *times = n < 0 ? 0 : n > LW_MAX_ITEMS + 1 ? LW_MAX_ITEMS + 1 : (int64_t)n;
    return true;
}

static lw_status
type_repetition(binary *b, lw_infer_value tuple, int64_t times)
{
    lw_infer_frame *f = b->f;
    lw_types *types = lw_types_of(f);
    const lw_type_row *row = lw_tuple_row(f, tuple.type);
    uint32_t n = row->n, total = n * (uint32_t)times;
    bool is_list = row->is_list;
    lw_type *elements;

    if (total > LW_MAX_ITEMS)
        return lw_complain(f, lw_node_of(f, b->node)->loc, "E101", NULL, NULL,
                           "tuple of more than %d items", LW_MAX_ITEMS);
    if (is_list && lw_node_of(f, b->node)->kind == LW_NODE_AUGASSIGN)
        return complain_operands(f, b->node, lw_pyop_text[b->op], b->x.type, b->y.type);
    elements = lw_arena_take(types->arena, (total + 1) * sizeof *elements);
    if (elements == NULL)
        return lw_out_of_memory(f);
    copy_items(f, tuple, total, elements);
    b->type = lw_type_tuple(types, elements, total, NULL);
    b->type = b->operand = lw_type_tuple_listed(types, b->type, is_list);
    return LW_OK;
}

static lw_status
type_times(binary *b)
{
    b->operand = lw_type_is_time(b->x.type) ? b->x.type : b->y.type;
    return lw_infer_time_binary(b->f, b->node, b->op, (lw_infer_operand){b->x_node, b->x},
                                (lw_infer_operand){b->y_node, b->y}, &b->type);
}

static lw_status
type_binary(binary *b)
{
    lw_infer_value tuple;
    int64_t times;

    if (b->op == LW_PY_ADD && lw_tuple_row(b->f, b->x.type) && lw_tuple_row(b->f, b->y.type))
        return type_concatenation(b);
    if (is_repetition(b, &tuple, &times))
        return type_repetition(b, tuple, times);
    if (lw_type_is_time(b->x.type) || lw_type_is_time(b->y.type))
        return type_times(b);
    if (!lw_type_is_number(b->f, b->x.type))
        return complain_kind(b, b->x.type, "numbers");
    if (!lw_type_is_number(b->f, b->y.type))
        return complain_kind(b, b->y.type, "numbers");
    switch (b->op) {
    case LW_PY_DIV: return type_division(b);
    case LW_PY_FLOORDIV:
    case LW_PY_MOD: return type_floor(b);
    case LW_PY_POW: return type_power(b);
    case LW_PY_LSHIFT:
    case LW_PY_RSHIFT: return type_shift(b);
    case LW_PY_BITAND:
    case LW_PY_BITOR:
    case LW_PY_BITXOR: return type_bits(b);
    case LW_PY_MATMUL: return complain_kind(b, b->x.type, "arrays");
    default: return common(b);
    }
}

static const char *
subscript_of(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *array = lw_array_row(f, type);

    return !array ? "" : array->ndim ? "[i]" : "[()]";
}

/* Advice for an operator on whole arrays: "`out[i] = A[i] + 1.0`". */
static const char *
describe_elements(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                  lw_infer_operand y)
{
    const char *left = lw_describe_source(f, x.node), *right = lw_describe_source(f, y.node);
    const char *left_index = subscript_of(f, x.value.type);
    const char *right_index = subscript_of(f, y.value.type);

    if (!f->report || left == NULL || right == NULL || !*left || !*right)
        return NULL;
    if (lw_node_of(f, node)->kind == LW_NODE_AUGASSIGN && *left_index)
        return lw_format_text(f, "`%s%s %s= %s%s`", left, left_index, lw_pyop_text[op], right,
                              right_index);
    if (op == LW_PY_IN || op == LW_PY_NOT_IN)
        return "compare with the elements in a loop";
    return lw_format_text(f, "`out[i] = %s%s %s %s%s`", left, left_index, lw_pyop_text[op],
                          right, right_index);
}

lw_status
lw_complain_array_operand(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                          lw_infer_operand y)
{
    return lw_complain_whole_array(f, node, lw_format_text(f, "`%s`", lw_pyop_text[op]),
                                   lw_array_row(f, x.value.type) ? x.value.type : y.value.type,
                                   describe_elements(f, node, op, x, y));
}

bool
lw_infer_is_whole(lw_infer_frame *f, lw_infer_value x, lw_infer_value y)
{
    return (lw_is_elementwise(f, x.type) || lw_is_elementwise(f, y.type)) &&
           (lw_is_elementwise(f, x.type) || lw_type_is_scalar(f, x.type)) &&
           (lw_is_elementwise(f, y.type) || lw_type_is_scalar(f, y.type));
}

/* x @ y */
static lw_status
infer_product(lw_infer_frame *f, uint32_t node, lw_infer_operand x, lw_infer_operand y,
              lw_infer_value *out)
{
    lw_infer_operand *operands[2] = {&x, &y};
    lw_arg args[2];
    lw_status status;

    if (lw_node_of(f, node)->kind != LW_NODE_BINARY)
        return lw_complain(f, lw_node_of(f, node)->loc, "E160", NULL,
                           "write `x[...] = x @ y`, or `x = x @ y`", "`@=` on whole arrays");
    for (int i = 0; i < 2; i++) {
        if (lw_type_kind_of(lw_types_of(f), operands[i]->value.type) == LW_TK_ELEMENTWISE)
            LW_TRY(lw_infer_made_array(f, operands[i]->node, &operands[i]->value));
        args[i] = (lw_arg){
            .node = operands[i]->node, .entry = operands[i]->node, .value = operands[i]->value};
    }
    status = lw_infer_own(f, node, "@", args, 2, out);
fail:
    return status;
}

lw_status
lw_infer_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x_operand,
                lw_infer_operand y_operand, lw_infer_value *out)
{
    lw_infer_value x = x_operand.value, y = y_operand.value;
    binary b = {f, node, x_operand.node, y_operand.node, op, x, y, LW_T_BOTTOM, LW_T_BOTTOM};
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    lw_status status;
    uint32_t constant = 0;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (x.type == LW_T_BOTTOM || y.type == LW_T_BOTTOM)
        return LW_OK;
    if (lw_infer_is_whole(f, x, y) && op == LW_PY_MATMUL)
        return infer_product(f, node, x_operand, y_operand, out);
    if (lw_infer_is_whole(f, x, y))
        return lw_infer_array_binary(f, node, op, x_operand, y_operand, out);
    if (lw_array_row(f, x.type) || lw_array_row(f, y.type))
        return lw_complain_array_operand(f, node, op, x_operand, y_operand);
    if (x.constant && y.constant)
        constant = lw_fold_binary_constant(f, typed->constant, op, x.constant, y.constant);
    if (constant == 0)
        constant = lw_fold_flags(f, op, x.constant, y.constant);
    if (constant) {
        *out = lw_constant_value(f, constant);
        typed->operand = out->type;
        return LW_OK;
    }
    if (x.constant && y.constant && lw_fold_is_wide(f, op, x.constant, y.constant))
        LW_TRY(lw_complain_wide(f, node));
    LW_TRY(type_binary(&b));
    out->type = b.type;
    typed->operand = b.operand;
    lw_note_arithmetic(f, node, b.type);
fail:
    return status;
}

/* ---- unary ---- */

lw_status
lw_infer_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
               lw_infer_value *out)
{
    lw_typed_node *typed = lw_typed_in(&f->nodes, node);
    uint32_t constant =
        x.constant ? lw_fold_unary_constant(f, typed->constant, op, x.constant) : 0;
    bool fits =
        op == LW_PY_INVERT ? lw_type_is_int_or_bool(f, x.type) : lw_type_is_number(f, x.type);
    lw_type type = x.type;

    if (lw_type_is_time(type))
        return lw_infer_time_unary(f, node, op, x, out);

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (x.type == LW_T_BOTTOM)
        return LW_OK;
    if (constant == 0 && op == LW_PY_INVERT)
        constant = lw_fold_inverted_flag(f, x.constant);
    if (constant) {
        *out = lw_constant_value(f, constant);
        return LW_OK;
    }
    if (lw_is_elementwise(f, x.type))
        return lw_infer_array_unary(f, node, op, x, out);
    if (lw_array_row(f, x.type))
        return lw_complain_whole_array(f, node, lw_format_text(f, "`%s`", lw_pyop_text[op]),
                                       x.type, NULL);
    if (!fits)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "the operand is %s", lw_describe_type(f, x.type)),
                           NULL, "unary `%s` needs %s", lw_pyop_text[op],
                           op == LW_PY_INVERT ? "an integer" : "a number");
    if (op == LW_PY_INVERT && lw_type_flags(f, type) != LW_T_BOTTOM) {
        typed->operand = type;
        out->type = lw_type_flags(f, type);
        return LW_OK;
    }
    if (lw_type_is_literal(f, type) || (type == LW_DT_b1 && op != LW_PY_INVERT))
        type = lw_weak_int(f);
    else if (op == LW_PY_INVERT && !lw_weak_mode(f) && lw_type_is_strong_int(type) &&
             !is_unsigned(type))
        type = LW_DT_i64; /* of numba, where other integers keep their widths */
    out->type = typed->operand = type;
    return LW_OK;
}
