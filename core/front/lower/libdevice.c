/* cuda.libdevice.*: functions that an intrinsic of ours computes are lowered to it, short
 * functions are expanded, so that both work on the CPU, too; all others are calls of
 * __nv_<name>. */
#include "core/front/lower/lower_internal.h"

#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/ir/same_math.h"
#include "core/tables/libdevice.h"

#include <stdio.h>

typedef struct libdevice_call {
    lw_builder *b;
    const lw_libdevice_row *row;
    lw_dtype type; /* of the first argument */
    lw_ref args[4];
    uint32_t n;
    lw_ref made[2];
} libdevice_call;

static lw_dtype
result_dtype(const libdevice_call *c, uint32_t i)
{
    return lw_libdevice_dtype(c->row->result[i]);
}

/* name: without "__nv_". */
static lw_ref
call_library(const libdevice_call *c, const char *name)
{
    lw_dtype types[4];
    char symbol[64];
    uint32_t number;

    if (c->b->module->same_math != NULL)
        lw_same_math_refuse(c->b, c->row->name);
    for (uint32_t i = 0; i < c->n; i++)
        types[i] = lw_ir_type(c->b, c->args[i]);
    snprintf(symbol, sizeof symbol, "__nv_%s", name);
    number = lw_ir_extern_add(c->b->module, symbol, result_dtype(c, 0), types, c->n);
    return lw_ir_host_call(c->b, number, c->args, c->n);
}

static lw_ref
same(const libdevice_call *c, lw_intrinsic which)
{
    return lw_ir_intrinsic(c->b, which, c->type, c->args, c->n);
}

/* ---- integers ---- */

static lw_ref
extremum(const libdevice_call *c, lw_op op, bool is_unsigned)
{
    lw_ref x = c->args[0], y = c->args[1], u = x, v = y;

    if (is_unsigned) {
        u = lw_ir_bitcast(c->b, lw_unsigned_of(c->type), x);
        v = lw_ir_bitcast(c->b, lw_unsigned_of(c->type), y);
    }
    return lw_ir_select(c->b, lw_ir_compare(c->b, op, u, v), x, y);
}

static lw_ref
high_product(const libdevice_call *c, bool is_unsigned)
{
    lw_dtype type = is_unsigned ? lw_unsigned_of(c->type) : c->type;
    lw_ref high = lw_ir_mulhi(c->b, lw_ir_bitcast(c->b, type, c->args[0]),
                              lw_ir_bitcast(c->b, type, c->args[1]));

    return lw_ir_bitcast(c->b, c->type, high);
}

static lw_ref
lower_integer(const libdevice_call *c)
{
    switch (c->row->what) {
    case LW_FORM_ABS: return lw_int_abs(c->b, c->args[0]);
    case LW_FORM_MIN: return extremum(c, LW_OP_LT, false);
    case LW_FORM_MAX: return extremum(c, LW_OP_GT, false);
    case LW_FORM_UMIN: return extremum(c, LW_OP_LT, true);
    case LW_FORM_UMAX: return extremum(c, LW_OP_GT, true);
    case LW_FORM_MULHI: return high_product(c, false);
    case LW_FORM_UMULHI: return high_product(c, true);
    case LW_FORM_POPC: return same(c, LW_IN_popcount);
    case LW_FORM_CLZ: return same(c, LW_IN_clz);
    case LW_FORM_BREV: return same(c, LW_IN_bitreverse);
    default: return lw_int_find_first_set(c->b, LW_DT_i32, c->args[0]);
    }
}

/* ---- bits and conversions ---- */

static lw_ref
words_of(const libdevice_call *c, int shift)
{
    lw_ref bits = lw_ir_bitcast(c->b, LW_DT_u64, c->args[0]);

    if (shift)
        bits = lw_ir_shr(c->b, bits, lw_ir_int(c->b, LW_DT_u64, shift));
    return lw_ir_cast(c->b, LW_DT_i32, bits);
}

static lw_ref
join_words(const libdevice_call *c)
{
    lw_ref high = lw_ir_cast(c->b, LW_DT_u64, c->args[0]);
    lw_ref low = lw_ir_cast(c->b, LW_DT_u64, lw_ir_bitcast(c->b, LW_DT_u32, c->args[1]));

    high = lw_ir_shl(c->b, high, lw_ir_int(c->b, LW_DT_u64, 32));
    return lw_ir_bitcast(c->b, LW_DT_f64, lw_ir_or(c->b, high, low));
}

static lw_ref
lower_bits(const libdevice_call *c)
{
    lw_ref x = c->args[0];

    switch (c->row->what) {
    case LW_FORM_CAST: return lw_ir_cast(c->b, result_dtype(c, 0), x);
    case LW_FORM_CAST_UNSIGNED:
        x = lw_ir_bitcast(c->b, lw_unsigned_of(c->type), x);
        return lw_ir_cast(c->b, result_dtype(c, 0), x);
    case LW_FORM_BITCAST: return lw_ir_bitcast(c->b, result_dtype(c, 0), x);
    case LW_FORM_LOW_WORD: return words_of(c, 0);
    case LW_FORM_HIGH_WORD: return words_of(c, 32);
    case LW_FORM_JOIN_WORDS: return join_words(c);
    case LW_FORM_ISNAN: return lw_float_isnan(c->b, x);
    case LW_FORM_ISINF: return lw_float_isinf(c->b, x);
    case LW_FORM_ISFINITE: return lw_float_isfinite(c->b, x);
    default: return lw_float_signbit(c->b, x);
    }
}

/* ---- floats ---- */

/* x - y; +0 when x <= y, NaN when one is NaN. */
static lw_ref
positive_difference(const libdevice_call *c)
{
    lw_ref below = lw_ir_compare(c->b, LW_OP_LE, c->args[0], c->args[1]);

    return lw_ir_select(c->b, below, lw_ir_zero(c->b, c->type),
                        lw_ir_sub(c->b, c->args[0], c->args[1]));
}

/* Clamped to 0 … 1; NaN gives 0. */
static lw_ref
saturate(const libdevice_call *c)
{
    lw_ref x = c->args[0], zero = lw_ir_zero(c->b, c->type);
    lw_ref one = lw_ir_float(c->b, c->type, 1);

    x = lw_ir_select(c->b, lw_ir_compare(c->b, LW_OP_LT, x, one), x, one);
    return lw_ir_select(c->b, lw_ir_compare(c->b, LW_OP_GT, c->args[0], zero), x, zero);
}

static lw_ref
lower_float(const libdevice_call *c)
{
    lw_ref x = c->args[0], y = c->args[1];

    switch (c->row->what) {
    case LW_FORM_ADD: return lw_ir_add(c->b, x, y);
    case LW_FORM_SUB: return lw_ir_sub(c->b, x, y);
    case LW_FORM_MUL: return lw_ir_mul(c->b, x, y);
    case LW_FORM_DIV: return lw_ir_div(c->b, x, y);
    case LW_FORM_FMA: return lw_ir_fma(c->b, x, y, c->args[2]);
    case LW_FORM_SQRT: return same(c, LW_IN_sqrt);
    case LW_FORM_RECIPROCAL: return lw_ir_div(c->b, lw_ir_float(c->b, c->type, 1), x);
    case LW_FORM_FDIM: return positive_difference(c);
    default: return saturate(c);
    }
}

/* ---- two results ---- */

/* The IEEE remainder, and the quotient that belongs to it modulo 8, with the quotient's sign.
 * It is found from the remainder of x by 8 y, which is exact. */
static void
remainder_quotient(libdevice_call *c)
{
    lw_builder *b = c->b;
    lw_ref x = c->args[0], y = c->args[1];
    lw_ref small =
        lw_float_call2(b, LW_IN_fmod, x, lw_ir_mul(b, y, lw_ir_float(b, c->type, 8)));
    lw_ref quotient, negative;

    c->made[0] = lw_float_call2(b, LW_IN_remainder, x, y);
    quotient = lw_ir_div(b, lw_ir_sub(b, small, c->made[0]), y);
    quotient = lw_ir_cast(b, LW_DT_i32, lw_float_call(b, LW_IN_rint, quotient));
    negative = lw_ir_xor(b, lw_float_signbit(b, x), lw_float_signbit(b, y));
    quotient = lw_ir_and(b, lw_int_abs(b, quotient), lw_ir_int(b, LW_DT_i32, 7));
    c->made[1] = lw_ir_select(b, negative, lw_ir_neg(b, quotient), quotient);
}

static bool
lower_pair(libdevice_call *c)
{
    bool wide = c->type == LW_DT_f64;

    switch (c->row->what) {
    case LW_FORM_SINCOS:
        c->made[0] = same(c, LW_IN_sin);
        c->made[1] = same(c, LW_IN_cos);
        return true;
    case LW_FORM_SINCOS_PI:
        c->made[0] = call_library(c, wide ? "sinpi" : "sinpif");
        c->made[1] = call_library(c, wide ? "cospi" : "cospif");
        return true;
    case LW_FORM_SINCOS_FAST:
        c->made[0] = call_library(c, "fast_sinf");
        c->made[1] = call_library(c, "fast_cosf");
        return true;
    case LW_FORM_FREXP: lw_float_frexp(c->b, c->args[0], &c->made[0], &c->made[1]); return true;
    case LW_FORM_MODF: lw_float_modf(c->b, c->args[0], &c->made[0], &c->made[1]); return true;
    case LW_FORM_REMQUO: remainder_quotient(c); return true;
    default: return false;
    }
}

/* ---- entry point ---- */

static void
lower_form(libdevice_call *c)
{
    if (lower_pair(c))
        return;
    if (c->row->what >= LW_FORM_CAST && c->row->what <= LW_FORM_JOIN_WORDS)
        c->made[0] = lower_bits(c);
    else if (c->row->what >= LW_FORM_ISNAN && c->row->what <= LW_FORM_SIGNBIT)
        c->made[0] = lower_bits(c);
    else if (lw_is_float(c->type))
        c->made[0] = lower_float(c);
    else
        c->made[0] = lower_integer(c);
}

static void
take_arguments(lw_lower_frame *f, uint32_t node, libdevice_call *c)
{
    for (; c->row->args[c->n] && c->n < 4; c->n++) {
        lw_type type = lw_libdevice_dtype(c->row->args[c->n]);
        lw_lower_value value = lw_lower_argument_as(f, node, c->n, type);
        c->args[c->n] = value.n ? value.parts[0] : 0;
    }
    c->type = lw_libdevice_dtype(c->row->args[0]);
}

lw_lower_value
lw_lower_libdevice(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    libdevice_call c = {.b = &f->b, .row = lw_libdevice_of((lw_name_id)t->target)};
    uint32_t fast, n = c.row->result[1] ? 2 : 1;

    take_arguments(f, node, &c);
    fast = lw_float_exact(&f->b); /* the user chose the accuracy */
    if (c.row->how == LW_LIBDEVICE_SAME)
        c.made[0] = same(&c, (lw_intrinsic)c.row->what);
    else if (c.row->how == LW_LIBDEVICE_IR)
        lower_form(&c);
    else
        c.made[0] = call_library(&c, c.row->name);
    lw_float_relax(&f->b, fast);
    for (uint32_t i = 0; i < n; i++)
        c.made[i] = lw_ir_cast(&f->b, result_dtype(&c, i), c.made[i]);
    return lw_value_of(f, t->type, c.made, n);
}
