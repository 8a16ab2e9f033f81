/* Conversions between the scalar types, and the two 16-bit floats.
 *
 * bf16 is an i16 in both dialects, f16 is `half`. Their arithmetic is computed in f32 and
 * rounded once: f32 has more than 2 * 11 + 2 bits, so the second rounding of + - * / and sqrt
 * is harmless (S. A. Figueroa, "When is double rounding innocuous?", 1995). From f64 the first
 * step rounds to odd, after which the second rounding is correct as well (S. Boldo, G.
 * Melquiond, "When double rounding is odd", 2005), so that no routine of a compiler's run-time
 * library is needed. */
#include "core/emit/emit_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- functions of own_functions.def ---- */

const char lw_own_bf16_from_f32[] =
    "define internal i16 @lw_rt_bf16_from_f32(float %x) nounwind alwaysinline {\n"
    "entry:\n"
    "  %bits = bitcast float %x to i32\n"
    "  %top = lshr i32 %bits, 16\n"
    "  %odd = and i32 %top, 1\n"
    "  %half = add i32 %odd, 32767\n"
    "  %sum = add i32 %bits, %half\n"
    "  %rounded = lshr i32 %sum, 16\n"
    "  %quiet = or i32 %top, 64\n"
    "  %nan = fcmp uno float %x, 0.0\n"
    "  %word = select i1 %nan, i32 %quiet, i32 %rounded\n"
    "  %out = trunc i32 %word to i16\n"
    "  ret i16 %out\n"
    "}\n";

const char lw_own_f32_from_bf16[] =
    "define internal float @lw_rt_f32_from_bf16(i16 %x) nounwind alwaysinline {\n"
    "entry:\n"
    "  %word = zext i16 %x to i32\n"
    "  %bits = shl i32 %word, 16\n"
    "  %out = bitcast i32 %bits to float\n"
    "  ret float %out\n"
    "}\n";

/* round to nearest; if that is not exact, step back towards zero if it rounded away from
 * it, and make the last bit odd */
const char lw_own_f32_odd_from_f64[] =
    "define internal float @lw_rt_f32_odd_from_f64(double %x) nounwind alwaysinline {\n"
    "entry:\n"
    "  %near = fptrunc double %x to float\n"
    "  %back = fpext float %near to double\n"
    "  %inexact = fcmp one double %back, %x\n"
    "  %nearbits = bitcast float %near to i32\n"
    "  %backbits = bitcast double %back to i64\n"
    "  %xbits = bitcast double %x to i64\n"
    "  %backsize = and i64 %backbits, 9223372036854775807\n"
    "  %xsize = and i64 %xbits, 9223372036854775807\n"
    "  %outwards = icmp ugt i64 %backsize, %xsize\n"
    "  %step = zext i1 %outwards to i32\n"
    "  %inner = sub i32 %nearbits, %step\n"
    "  %odd = or i32 %inner, 1\n"
    "  %bits = select i1 %inexact, i32 %odd, i32 %nearbits\n"
    "  %out = bitcast i32 %bits to float\n"
    "  ret float %out\n"
    "}\n";

/* the sum's rounding error by Knuth's two-sum; if there is one, the sum is made odd */
const char lw_own_add_odd[] =
    "define internal double @lw_rt_add_odd(double %x, double %y) nounwind alwaysinline {\n"
    "entry:\n"
    "  %sum = fadd double %x, %y\n"
    "  %part = fsub double %sum, %x\n"
    "  %rest = fsub double %sum, %part\n"
    "  %xerr = fsub double %x, %rest\n"
    "  %yerr = fsub double %y, %part\n"
    "  %err = fadd double %xerr, %yerr\n"
    "  %inexact = fcmp one double %err, 0.0\n"
    "  %bits = bitcast double %sum to i64\n"
    "  %errbits = bitcast double %err to i64\n"
    "  %signs = xor i64 %bits, %errbits\n"
    "  %outwards = icmp slt i64 %signs, 0\n"
    "  %step = zext i1 %outwards to i64\n"
    "  %inner = sub i64 %bits, %step\n"
    "  %odd = or i64 %inner, 1\n"
    "  %both = select i1 %inexact, i64 %odd, i64 %bits\n"
    "  %out = bitcast i64 %both to double\n"
    "  ret double %out\n"
    "}\n";

bool
lw_is_small(lw_dtype type)
{
    return type == LW_DT_f16 || type == LW_DT_bf16;
}

/* ---- the 16-bit floats ---- */

lw_name
lw_widen(lw_emitter *e, lw_dtype type, lw_name value)
{
    if (type == LW_DT_f16)
        return lw_def(e, "fpext half $s to float", value.text);
    if (type == LW_DT_bf16)
        return lw_def(e, "call float @$s(i16 $s)", lw_own_function(e, LW_OWN_f32_from_bf16),
                      value.text);
    return value;
}

lw_name
lw_narrow(lw_emitter *e, lw_dtype type, lw_name value)
{
    if (type == LW_DT_f16)
        return lw_def(e, "fptrunc float $s to half", value.text);
    if (type == LW_DT_bf16)
        return lw_def(e, "call i16 @$s(float $s)", lw_own_function(e, LW_OWN_bf16_from_f32),
                      value.text);
    return value;
}

static lw_name
odd_from_f64(lw_emitter *e, lw_name value)
{
    return lw_def(e, "call float @$s(double $s)", lw_own_function(e, LW_OWN_f32_odd_from_f64),
                  value.text);
}

/* The product of two is exact in f64. Only the sum is rounded, to odd, so that the rounding
 * that follows is correct. */
void
lw_small_fma(lw_emitter *e, lw_dtype type)
{
    const lw_ref operands[3] = {e->inst->a, e->inst->b, e->inst->c};
    lw_name wide[3], sum;

    for (int i = 0; i < 3; i++) {
        wide[i] = lw_widen(e, type, lw_operand(e, operands[i]));
        wide[i] = lw_def(e, "fpext float $s to double", wide[i].text);
    }
    sum = lw_def(e, "fmul double $s, $s", wide[0].text, wide[1].text);
    sum = lw_def(e, "call double @$s(double $s, double $s)", lw_own_function(e, LW_OWN_add_odd),
                 sum.text, wide[2].text);
    sum = lw_narrow(e, type, odd_from_f64(e, sum));
    lw_result(e, "bitcast $t $s to $t", type, sum.text, type);
}

/* ---- to integers: saturating, NaN gives 0 ---- */

static void
saturate_on_host(lw_emitter *e, lw_dtype from, lw_dtype to, lw_name value)
{
    char sign = lw_is_signed(to) ? 's' : 'u';
    uint32_t to_bits = lw_dtypes[to].bits, from_bits = lw_dtypes[from].bits;
    const char *stem = sign == 's' ? "fptosi" : "fptoui";

    lw_declare(e, "$t @llvm.$s.sat.i$u.f$u($t)", to, stem, to_bits, from_bits, from);
    lw_result(e, "call $t @llvm.$s.sat.i$u.f$u($t $s)", to, stem, to_bits, from_bits, from,
              value.text);
}

/* cvt.rzi saturates at 32 and 64 bits; narrower types are clamped from there. Its result for
 * NaN depends on the width, so NaN is tested for. */
static void
saturate_on_gpu(lw_emitter *e, lw_dtype from, lw_dtype to, lw_name value)
{
    uint32_t bits = lw_dtypes[to].bits, machine = bits < 32 ? 32 : bits;
    bool as_signed = lw_is_signed(to) || bits < 32;
    const char *stem = machine == 32 ? (as_signed ? "i" : "ui") : (as_signed ? "ll" : "ull");
    const char *source = from == LW_DT_f64 ? "d" : "f";
    char bound[24];
    lw_name whole, test;

    lw_declare(e, "i$u @llvm.nvvm.$s2$s.rz($t)", machine, source, stem, from);
    whole = lw_def(e, "call i$u @llvm.nvvm.$s2$s.rz($t $s)", machine, source, stem, from,
                   value.text);
    if (bits < 32) {
        int64_t low = lw_is_signed(to) ? -(INT64_C(1) << (bits - 1)) : 0;
        int64_t high = low + (INT64_C(1) << bits) - 1;
        snprintf(bound, sizeof bound, "%" PRId64, low);
        test = lw_def(e, "icmp slt i32 $s, $s", whole.text, bound);
        whole = lw_def(e, "select i1 $s, i32 $s, i32 $s", test.text, bound, whole.text);
        snprintf(bound, sizeof bound, "%" PRId64, high);
        test = lw_def(e, "icmp sgt i32 $s, $s", whole.text, bound);
        whole = lw_def(e, "select i1 $s, i32 $s, i32 $s", test.text, bound, whole.text);
        whole = lw_def(e, "trunc i32 $s to i$u", whole.text, bits);
    }
    test = lw_def(e, "fcmp uno $t $s, 0.0", from, value.text);
    lw_result(e, "select i1 $s, $t 0, $t $s", test.text, to, to, whole.text);
}

/* ---- the other ways ---- */

/* float32(x >> k) of a 64-bit x on the GPU: the remaining bits are rounded in place, and the
 * result is scaled. A mask is one instruction there and a shift two; the result is the same,
 * since scaling by a power of two is exact. Where the float32 is multiplied by a constant, the
 * scale becomes a part of it. */
static bool
top_bits(lw_emitter *e, const lw_inst *cast, lw_name *top, uint64_t *k)
{
    const lw_inst *shift, *by;
    char mask[24];

    if (!e->gpu || cast->op != LW_OP_CAST || cast->type != LW_DT_f32 || cast->lanes > 1)
        return false;
    shift = &e->func->insts.data[cast->a];
    if (shift->op != LW_OP_SHR || shift->type != LW_DT_u64)
        return false;
    by = &e->func->insts.data[shift->b];
    *k = by->op == LW_OP_CONST ? e->func->constants.data[by->a].bits : 0;
    if (*k == 0 || *k >= 32) /* from 32 on the shift only selects the upper half */
        return false;
    snprintf(mask, sizeof mask, "%" PRId64, -((int64_t)1 << *k));
    *top = lw_def(e, "and i64 $v, $s", shift->a, mask);
    *top = lw_def(e, "uitofp i64 $s to float", top->text);
    return true;
}

static bool
top_bits_to_float(lw_emitter *e)
{
    char scale[24];
    lw_name top;
    uint64_t k;

    if (!top_bits(e, e->inst, &top, &k))
        return false;
    snprintf(scale, sizeof scale, "0x%016" PRIX64, (1023 - k) << 52);
    lw_result(e, "fmul float $s, $s", top.text, scale);
    return true;
}

bool
lw_emit_scaled_bits(lw_emitter *e)
{
    const lw_inst *by = &e->func->insts.data[e->inst->b];
    char scale[24];
    uint64_t k, bits;
    uint32_t low;
    float factor;
    double scaled;
    lw_name top;

    if (e->inst->type != LW_DT_f32 || by->op != LW_OP_CONST)
        return false;
    low = (uint32_t)e->func->constants.data[by->a].bits;
    memcpy(&factor, &low, sizeof factor);
    /* the product of the constant and 2^-k must be a normal float32 */
    if (!(fabsf(factor) >= 0x1p-90F && fabsf(factor) <= 0x1p90F) ||
        !top_bits(e, &e->func->insts.data[e->inst->a], &top, &k))
        return false;
    scaled = ldexp((double)factor, -(int)k);
    memcpy(&bits, &scaled, sizeof bits);
    snprintf(scale, sizeof scale, "0x%016" PRIX64, bits);
    lw_result(e, "fmul float $s, $s", top.text, scale);
    return true;
}

/* float16 of an integer beyond its range. The infinity is written out, since LLVM (22.1 and
 * before) takes the conversion of an integer of few significant bits for exact, whatever its
 * size, and widens it again without the infinity: float(float16(x << 20)) was finite. The first
 * such integer is 65520. */
static lw_name
within_f16(lw_emitter *e, lw_dtype from, lw_name value)
{
    lw_name test = lw_def(e, "fcmp oge float $s, 0x40EFFE0000000000", value.text);

    value =
        lw_def(e, "select i1 $s, float 0x7FF0000000000000, float $s", test.text, value.text);
    if (!lw_is_signed(from))
        return value;
    test = lw_def(e, "fcmp ole float $s, 0xC0EFFE0000000000", value.text);
    return lw_def(e, "select i1 $s, float 0xFFF0000000000000, float $s", test.text, value.text);
}

static void
cast_to_float(lw_emitter *e, lw_dtype from, lw_dtype to, lw_name value)
{
    const char *how = lw_is_signed(from) ? "sitofp" : "uitofp";

    if (top_bits_to_float(e))
        return;
    /* integers beyond f32's 24 bits are infinite in f16, so going through f32 loses nothing */
    if (to == LW_DT_f64) {
        lw_result(e, "$s $t $s to double", how, from, value.text);
    } else if (to == LW_DT_f16 && lw_dtypes[from].bits >= 32) {
        value = lw_def(e, "$s $t $s to float", how, from, value.text);
        value = lw_narrow(e, to, within_f16(e, from, value));
        lw_result(e, "bitcast $t $s to $t", to, value.text, to);
    } else {
        lw_float_result(e, to, "$s $t $s to float", how, from, value.text);
    }
}

static void
cast_between_floats(lw_emitter *e, lw_dtype from, lw_dtype to, lw_name value)
{
    if (to == LW_DT_f16 && from == LW_DT_f64 && e->gpu) {
        lw_result(e, "fptrunc double $s to half", value.text);
    } else if (lw_is_small(to)) {
        value = from == LW_DT_f64 ? odd_from_f64(e, value) : lw_widen(e, from, value);
        value = lw_narrow(e, to, value);
        lw_result(e, "bitcast $t $s to $t", to, value.text, to);
    } else if (to == LW_DT_f64) {
        value = lw_widen(e, from, value);
        lw_result(e, "fpext float $s to double", value.text);
    } else if (from == LW_DT_f64) {
        lw_result(e, "fptrunc double $s to float", value.text);
    } else {
        value = lw_widen(e, from, value);
        lw_result(e, "bitcast float $s to float", value.text);
    }
}

static void
cast_to_bool(lw_emitter *e, lw_dtype from, lw_name value)
{
    if (!lw_is_float(from)) {
        lw_result(e, "icmp ne $t $s, 0", from, value.text);
        return;
    }
    value = lw_widen(e, from, value);
    lw_result(e, "fcmp une $t $s, 0.0", lw_is_small(from) ? LW_DT_f32 : from, value.text);
}

static void
cast_between_integers(lw_emitter *e, lw_dtype from, lw_dtype to, lw_name value)
{
    unsigned from_bits = from == LW_DT_b1 ? 1 : lw_dtypes[from].bits;
    const char *how = lw_is_signed(from) ? "sext" : "zext";

    if (lw_dtypes[to].bits < from_bits) {
        how = "trunc";
        if (lw_dtypes[to].bits <= 16) /* a sum of such values is a polynomial */
            value = lw_unfolded(e, e->inst->a, 1);
    } else if (lw_dtypes[to].bits == from_bits) {
        how = "bitcast";
    } else if (lw_dtypes[to].bits == 64) {
        value = lw_unwidened(e, e->inst->a);
    }
    lw_result(e, "$s $t $s to $t", how, from, value.text, to);
}

void
lw_emit_cast(lw_emitter *e)
{
    lw_dtype from = lw_operand_type(e, e->inst->a), to = (lw_dtype)e->inst->type;
    lw_name value = lw_operand(e, e->inst->a);

    if (from == to) {
        lw_result(e, "bitcast $t $s to $t", from, value.text, to);
    } else if (to == LW_DT_b1) {
        cast_to_bool(e, from, value);
    } else if (lw_is_float(to)) {
        if (lw_is_float(from))
            cast_between_floats(e, from, to, value);
        else
            cast_to_float(e, from, to, value);
    } else if (lw_is_float(from)) {
        value = lw_widen(e, from, value);
        from = lw_is_small(from) ? LW_DT_f32 : from;
        (e->gpu ? saturate_on_gpu : saturate_on_host)(e, from, to, value);
    } else {
        cast_between_integers(e, from, to, value);
    }
}
