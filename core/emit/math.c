/* The rows of intrinsics.def as LLVM text: calls of libdevice, libm and LLVM's own intrinsics
 * and, for the rows marked OPEN, code that is written out.
 *
 * On the host a call of libm names the vector functions of glibc's libmvec that compute the
 * same, as far as the caller says they exist; LLVM's vectoriser uses them. */
#include "core/emit/emit_internal.h"

#include "core/ir/bound.h"
#include "core/tables/intrinsics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The current intrinsic; for small floats it is computed in f32. */
typedef struct op {
    const lw_intrinsic_row *row;
    lw_dtype type; /* of v, in the IR */
    lw_dtype wide; /* of v, in the computation */
    lw_name args[3];
} op;

static const char *
float_letter(lw_dtype wide)
{
    return wide == LW_DT_f32 ? "f" : "";
}

/* Writes "(float %t1, i32 %v2)". */
static lw_name *
arguments(lw_emitter *e, const op *o, lw_name out[3])
{
    for (unsigned i = 0; i < o->row->n_args; i++)
        snprintf(out[i].text, sizeof out[i].text, "%s%s %.50s", i ? ", " : "",
                 o->row->args[i] == 'i' ? "i32" : lw_type(e, o->wide), o->args[i].text);
    for (unsigned i = o->row->n_args; i < 3; i++)
        out[i].text[0] = 0;
    return out;
}

/* ---- vector functions of the host ---- */

/* x86-64's vector ABI: a letter for the instruction set and its width in bits. */
static const struct {
    char letter;
    int bits;
} vector_sets[] = {{'b', 128}, {'d', 256}, {'e', 512}};

static void
add_vector_symbol(lw_emitter *e, const op *o, const char *symbol, uint32_t lanes)
{
    lw_name type, list = {""};

    snprintf(type.text, sizeof type.text, "<%u x %s>", lanes, lw_type(e, o->wide));
    for (unsigned i = 0; i < o->row->n_args; i++)
        snprintf(list.text + strlen(list.text), sizeof list.text - strlen(list.text), "%s%.25s",
                 i ? ", " : "", type.text);
    lw_declare(e, "$s @$s($s)", type.text, symbol, list.text);
    type.text[0] = 0;
    snprintf(type.text, sizeof type.text, "ptr @%.50s\n", symbol);
    if (strstr(lw_text_get(&e->vectors), type.text) == NULL) {
        lw_text_addf(&e->vectors, "%s%s", e->n_vectors ? "  , " : "  ", type.text);
        e->n_vectors++;
    }
}

/* The call-site attribute that lists the variants; empty when there are none. */
static void
vector_variants(lw_emitter *e, const op *o, lw_text *out)
{
    const lw_emit_options *options = e->options;
    const char *stem = o->row->vector_stem;

    if (options->precise || options->has_vector_function == NULL || stem[0] == 0)
        return;
    for (unsigned i = 0; i < 3 && vector_sets[i].bits <= options->vector_bits; i++) {
        uint32_t lanes = (uint32_t)vector_sets[i].bits / lw_dtypes[o->wide].bits;
        lw_name symbol;
        snprintf(symbol.text, sizeof symbol.text, "_ZGV%cN%u%s_%s%s", vector_sets[i].letter,
                 lanes, o->row->n_args == 2 ? "vv" : "v", stem, float_letter(o->wide));
        if (!options->has_vector_function(symbol.text))
            continue;
        add_vector_symbol(e, o, symbol.text, lanes);
        lw_text_addf(out, "%s%s(%s)", out->n ? "," : " \"vector-function-abi-variant\"=\"",
                     symbol.text, symbol.text);
    }
    if (out->n)
        lw_text_add(out, "\"");
}

/* ---- calls ---- */

/* Calls name(args) for the instruction's result; `suffix` is what LLVM has after a call. */
static void
call(lw_emitter *e, const op *o, const char *name, const char *suffix)
{
    lw_name args[3], types = {""};
    bool to_int = o->row->result == 'i';
    lw_name fast = lw_fast(e);

    if (to_int)
        fast.text[0] = 0;
    for (unsigned i = 0; i < o->row->n_args; i++)
        snprintf(types.text + strlen(types.text), sizeof types.text - strlen(types.text),
                 "%s%s", i ? ", " : "", o->row->args[i] == 'i' ? "i32" : lw_type(e, o->wide));
    lw_declare(e, "$s @$s($s)", to_int ? "i32" : lw_type(e, o->wide), name, types.text);
    arguments(e, o, args);
    lw_float_result(e, o->type, "call$s $t @$s($s$s$s)$s", fast.text, o->wide, name,
                    args[0].text, args[1].text, args[2].text, suffix);
}

/* The argument of sin, cos and tan is reduced exactly from these sizes on, by libdevice and by
 * gpu_single.c, in code that is longer than the rest. LLVM reads the texts. */
static const struct {
    double size;
    const char *text;
} long_reductions[LW_N_SCALARS] = {
    [LW_DT_f32] = {105615.0, "105615.0"}, [LW_DT_f64] = {2147483648.0, "2147483648.0"}};

/* Tells LLVM that the argument is small, if its instructions show it, so that the code for
 * larger ones is removed. The condition is what both test, negated; it holds for NaN, too. With
 * `reassoc` LLVM may compute the argument in another way, of which nothing is known.
 */
static void
assume_small(lw_emitter *e, const op *o)
{
    uint32_t value = e->func->lists.data[e->inst->b];
    const char *letter = o->wide == LW_DT_f32 ? "f" : "d";
    lw_name size, large, small;

    if ((e->inst->flags & LW_FAST_REASSOC) ||
        lw_ir_bound(e->module, e->func, value) >= long_reductions[o->wide].size)
        return;
    lw_declare(e, "$t @llvm.nvvm.fabs.$s($t)", o->wide, letter, o->wide);
    lw_declare_line(e, "declare void @llvm.assume(i1)\n");
    size = lw_def(e, "call $t @llvm.nvvm.fabs.$s($t $s)", o->wide, letter, o->wide,
                  o->args[0].text);
    large = lw_def(e, "fcmp oge $t $s, $s", o->wide, size.text, long_reductions[o->wide].text);
    small = lw_def(e, "xor i1 $s, true", large.text);
    lw_line(e, "call void @llvm.assume(i1 $s)", small.text);
}

static bool
is_of_angle(lw_intrinsic which)
{
    return which == LW_IN_sin || which == LW_IN_cos || which == LW_IN_tan;
}

/* Whether libdevice's quick form of a function of f32 is called. */
static bool
has_quick_form(const lw_emitter *e, const op *o)
{
    return e->gpu && o->wide == LW_DT_f32 && o->row->gpu_fast_stem[0] &&
           (e->inst->flags & LW_FAST_AFN);
}

static void
call_library(lw_emitter *e, const op *o)
{
    const char *stem = has_quick_form(e, o) ? o->row->gpu_fast_stem
                       : e->gpu             ? o->row->gpu_stem
                                            : o->row->host_stem;
    lw_text variants;
    lw_name name;

    snprintf(name.text, sizeof name.text, "%s%s%s", e->gpu ? "__nv_" : "", stem,
             float_letter(o->wide));
    lw_text_init(&variants);
    if (!e->gpu)
        vector_variants(e, o, &variants);
    else if (!has_quick_form(e, o) && is_of_angle((lw_intrinsic)e->inst->a))
        assume_small(e, o);
    call(e, o, name.text, lw_text_get(&variants));
    if (variants.failed)
        e->out->failed = true;
    lw_text_reset(&variants);
}

/* The call has no fast-math flags, which would break the double-double arithmetic inside. */
static void
call_own(lw_emitter *e, const op *o, const char *name)
{
    lw_name args[3];

    arguments(e, o, args);
    lw_float_result(e, o->type, "call $t @$s($s$s$s)", o->wide, name, args[0].text,
                    args[1].text, args[2].text);
}

/* A sine, cosine or tangent of f32 on a GPU. Those of one number in one block share the
 * reduction of the argument. */
static void
call_of_angle(lw_emitter *e, const op *o, const char *name)
{
    lw_ref of = e->func->lists.data[e->inst->b];
    lw_angle *angle = &e->angle;
    lw_name pair;

    if (angle->of != of) {
        assume_small(e, o);
        pair = lw_def(e, "call { float, i32 } @$s(float $s)", lw_own_function(e, LW_OWN_angle),
                      o->args[0].text);
        angle->of = of;
        angle->rest = lw_def(e, "extractvalue { float, i32 } $s, 0", pair.text);
        angle->quarters = lw_def(e, "extractvalue { float, i32 } $s, 1", pair.text);
    }
    lw_float_result(e, o->type, "call float @$s(float $s, i32 $s)", name, angle->rest.text,
                    angle->quarters.text);
}

static void
call_llvm(lw_emitter *e, const op *o)
{
    const char *stem = e->gpu ? o->row->gpu_stem : o->row->host_stem;
    lw_name name;

    snprintf(name.text, sizeof name.text, "llvm.%s.f%u", stem, lw_dtypes[o->wide].bits);
    call(e, o, name.text, "");
}

static void
call_nvvm(lw_emitter *e, const op *o)
{
    lw_name name;

    snprintf(name.text, sizeof name.text, "llvm.nvvm.%s.%s", o->row->gpu_stem,
             o->wide == LW_DT_f32 ? "f" : "d");
    call(e, o, name.text, "");
}

/* ---- integers ---- */

/* Gives the smaller, or the larger, of each two 16-bit parts of two integers; an integer of 8
 * bits is one part. From compute capability 9.0 on, this is one instruction for 32 bits. */
static void
emit_halves(lw_emitter *e, const op *o, bool is_min)
{
    uint32_t bits = lw_dtypes[o->type].bits, part = bits < 16 ? bits : 16;
    bool is_signed = lw_is_signed(o->type);
    const char *stem = is_min ? "min" : "max", *letter = is_signed ? "s" : "u";
    lw_name x, y, test;

    if (e->gpu && bits == 32 && e->options->cc >= 90) {
        lw_result(
            e,
            "call i32 asm \"$s.$s16x2 $$0, $$1, $$2;\", \"=r,r,r\"(i32 $s, i32 $s)" LW_PURE_ASM,
            stem, letter, o->args[0].text, o->args[1].text);
        return;
    }
    x = lw_def(e, "bitcast $t $s to <$u x i$u>", o->type, o->args[0].text, bits / part, part);
    y = lw_def(e, "bitcast $t $s to <$u x i$u>", o->type, o->args[1].text, bits / part, part);
    test = lw_def(e, "icmp $s$st <$u x i$u> $s, $s", letter, is_min ? "l" : "g", bits / part,
                  part, x.text, y.text);
    x = lw_def(e, "select <$u x i1> $s, <$u x i$u> $s, <$u x i$u> $s", bits / part, test.text,
               bits / part, part, x.text, bits / part, part, y.text);
    lw_result(e, "bitcast <$u x i$u> $s to $t", bits / part, part, x.text, o->type);
}

static void
emit_integer(lw_emitter *e, const op *o, lw_intrinsic which)
{
    uint32_t bits = lw_dtypes[o->type].bits;
    const char *stem = e->gpu ? o->row->gpu_stem : o->row->host_stem;
    /* the result for zero is defined */
    bool asks_zero = which == LW_IN_clz || which == LW_IN_ctz;

    if (which == LW_IN_min_halves || which == LW_IN_max_halves) {
        emit_halves(e, o, which == LW_IN_min_halves);
        return;
    }
    if (which == LW_IN_bswap && bits == 8) {
        lw_result(e, "bitcast i8 $s to i8", o->args[0].text);
        return;
    }
    lw_declare(e, "$t @llvm.$s.i$u($t$s)", o->type, stem, bits, o->type,
               asks_zero ? ", i1" : "");
    lw_result(e, "call $t @llvm.$s.i$u($t $s$s)", o->type, stem, bits, o->type, o->args[0].text,
              asks_zero ? ", i1 false" : "");
}

/* ---- written out: sign and bits ---- */

/* A float format's fields, as masks of an integer of its width. */
typedef struct fields {
    uint32_t bits;
    uint64_t sign, exponent, fraction;
    uint32_t fraction_bits, bias;
} fields;

static fields
fields_of(lw_dtype type)
{
    uint32_t bits = lw_dtypes[type].bits;
    uint32_t fraction_bits = type == LW_DT_f64    ? 52
                             : type == LW_DT_f32  ? 23
                             : type == LW_DT_bf16 ? 7
                                                  : 10;
    fields f = {.bits = bits, .fraction_bits = fraction_bits};

    f.sign = UINT64_C(1) << (bits - 1);
    f.fraction = (UINT64_C(1) << fraction_bits) - 1;
    f.exponent = f.sign - 1 - f.fraction;
    f.bias = (1u << (bits - 2 - fraction_bits)) - 1;
    return f;
}

static lw_name
number(uint64_t value, uint32_t bits)
{
    lw_name name;
    unsigned spare = 64 - bits;

    snprintf(name.text, sizeof name.text, "%" PRId64, (int64_t)(value << spare) >> spare);
    return name;
}

static lw_name
bits_of(lw_emitter *e, lw_dtype type, lw_name value)
{
    return lw_def(e, "bitcast $t $s to i$u", type, value.text, (uint32_t)lw_dtypes[type].bits);
}

static void
result_from_bits(lw_emitter *e, lw_dtype type, lw_name bits)
{
    lw_result(e, "bitcast i$u $s to $t", (uint32_t)lw_dtypes[type].bits, bits.text, type);
}

static void
emit_fabs(lw_emitter *e, const op *o)
{
    fields f = fields_of(o->type);
    lw_name bits;

    if (!e->gpu && !lw_is_small(o->type)) {
        lw_declare(e, "$t @llvm.fabs.f$u($t)", o->type, f.bits, o->type);
        lw_result(e, "call$s $t @llvm.fabs.f$u($t $s)", lw_fast(e).text, o->type, f.bits,
                  o->type, o->args[0].text);
        return;
    }
    bits = bits_of(e, o->type, o->args[0]);
    bits = lw_def(e, "and i$u $s, $s", f.bits, bits.text, number(f.sign - 1, f.bits).text);
    result_from_bits(e, o->type, bits);
}

static void
emit_copysign(lw_emitter *e, const op *o)
{
    fields f = fields_of(o->type);
    lw_name size, sign;

    if (!lw_is_small(o->type)) {
        lw_declare(e, "$t @llvm.copysign.f$u($t, $t)", o->type, f.bits, o->type, o->type);
        lw_result(e, "call$s $t @llvm.copysign.f$u($t $s, $t $s)", lw_fast(e).text, o->type,
                  f.bits, o->type, o->args[0].text, o->type, o->args[1].text);
        return;
    }
    size = bits_of(e, o->type, o->args[0]);
    size = lw_def(e, "and i16 $s, 32767", size.text);
    sign = bits_of(e, o->type, o->args[1]);
    sign = lw_def(e, "and i16 $s, -32768", sign.text);
    size = lw_def(e, "or i16 $s, $s", size.text, sign.text);
    result_from_bits(e, o->type, size);
}

static void
emit_signbit(lw_emitter *e, const op *o)
{
    fields f = fields_of(o->type);
    lw_name bits = bits_of(e, o->type, o->args[0]);

    bits = lw_def(e, "icmp slt i$u $s, 0", f.bits, bits.text);
    lw_result(e, "zext i1 $s to i32", bits.text);
}

/* The neighbour towards y. In the order of their bits, the number after a positive float is its
 * successor; for a negative float too, but away from zero. */
static void
emit_nextafter(lw_emitter *e, const op *o)
{
    fields f = fields_of(o->type);
    lw_dtype wide = o->wide;
    lw_name x = o->args[0], y = o->args[1], wx = lw_widen(e, o->type, x),
            wy = lw_widen(e, o->type, y);
    lw_name xbits = bits_of(e, o->type, x), ybits = bits_of(e, o->type, y);
    lw_name less = lw_def(e, "fcmp olt $t $s, $s", wide, wx.text, wy.text);
    lw_name positive = lw_def(e, "fcmp ogt $t $s, 0.0", wide, wx.text);
    lw_name outwards = lw_def(e, "icmp eq i1 $s, $s", less.text, positive.text);
    lw_name up = lw_def(e, "add i$u $s, 1", f.bits, xbits.text);
    lw_name down = lw_def(e, "sub i$u $s, 1", f.bits, xbits.text);
    lw_name next = lw_def(e, "select i1 $s, i$u $s, i$u $s", outwards.text, f.bits, up.text,
                          f.bits, down.text);
    lw_name zero = lw_def(e, "fcmp oeq $t $s, 0.0", wide, wx.text);
    lw_name tiny = lw_def(e, "and i$u $s, $s", f.bits, ybits.text, number(f.sign, f.bits).text);
    lw_name same = lw_def(e, "fcmp oeq $t $s, $s", wide, wx.text, wy.text);
    lw_name xnan = lw_def(e, "fcmp uno $t $s, 0.0", wide, wx.text);
    lw_name ynan = lw_def(e, "fcmp uno $t $s, 0.0", wide, wy.text);

    tiny = lw_def(e, "or i$u $s, 1", f.bits, tiny.text);
    next = lw_def(e, "select i1 $s, i$u $s, i$u $s", zero.text, f.bits, tiny.text, f.bits,
                  next.text);
    next = lw_def(e, "select i1 $s, i$u $s, i$u $s", same.text, f.bits, ybits.text, f.bits,
                  next.text);
    next = lw_def(e, "select i1 $s, i$u $s, i$u $s", ynan.text, f.bits, ybits.text, f.bits,
                  next.text);
    next = lw_def(e, "select i1 $s, i$u $s, i$u $s", xnan.text, f.bits, xbits.text, f.bits,
                  next.text);
    result_from_bits(e, o->type, next);
}

/* Extracts mantissa and exponent from the bits; subnormal numbers are first scaled into the
 * normal range by 2^64, which every wide format can hold. */
static void
emit_frexp(lw_emitter *e, const op *o, bool wants_mantissa)
{
    fields f = fields_of(o->wide);
    lw_name x = lw_widen(e, o->type, o->args[0]), bits = bits_of(e, o->wide, x), part, special;
    lw_name field =
        lw_def(e, "and i$u $s, $s", f.bits, bits.text, number(f.exponent, f.bits).text);
    lw_name low = lw_def(e, "icmp eq i$u $s, 0", f.bits, field.text);
    lw_name scaled = lw_def(e, "fmul $t $s, 0x43F0000000000000", o->wide, x.text);

    scaled = lw_def(e, "select i1 $s, $t $s, $t $s", low.text, o->wide, scaled.text, o->wide,
                    x.text);
    bits = bits_of(e, o->wide, scaled);
    field = lw_def(e, "and i$u $s, $s", f.bits, bits.text, number(f.exponent, f.bits).text);
    /* 0, infinity and NaN: after scaling, the field is all zeros or all ones */
    special = lw_def(e, "sub i$u $s, $s", f.bits, field.text,
                     number(UINT64_C(1) << f.fraction_bits, f.bits).text);
    special = lw_def(e, "icmp uge i$u $s, $s", f.bits, special.text,
                     number(f.exponent - (UINT64_C(1) << f.fraction_bits), f.bits).text);
    if (wants_mantissa) {
        part = lw_def(e, "and i$u $s, $s", f.bits, bits.text,
                      number(f.sign | f.fraction, f.bits).text);
        part = lw_def(e, "or i$u $s, $s", f.bits, part.text,
                      number((uint64_t)(f.bias - 1) << f.fraction_bits, f.bits).text);
        part = lw_def(e, "bitcast i$u $s to $t", f.bits, part.text, o->wide);
        lw_float_result(e, o->type, "select i1 $s, $t $s, $t $s", special.text, o->wide, x.text,
                        o->wide, part.text);
        return;
    }
    part = lw_def(e, "lshr i$u $s, $u", f.bits, field.text, f.fraction_bits);
    if (f.bits == 64)
        part = lw_def(e, "trunc i64 $s to i32", part.text);
    scaled = lw_def(e, "select i1 $s, i32 $u, i32 $u", low.text, f.bias - 1 + 64, f.bias - 1);
    part = lw_def(e, "sub i32 $s, $s", part.text, scaled.text);
    lw_result(e, "select i1 $s, i32 0, i32 $s", special.text, part.text);
}

static lw_name
clamped(lw_emitter *e, lw_name n, const char *low, const char *high)
{
    lw_name beyond = lw_def(e, "icmp slt i32 $s, $s", n.text, low);

    n = lw_def(e, "select i1 $s, i32 $s, i32 $s", beyond.text, low, n.text);
    beyond = lw_def(e, "icmp sgt i32 $s, $s", n.text, high);
    return lw_def(e, "select i1 $s, i32 $s, i32 $s", beyond.text, high, n.text);
}

/* x * 2^n in f64, for n from -1022 to 1023. */
static lw_name
scaled_by(lw_emitter *e, lw_name x, lw_name n)
{
    n = lw_def(e, "add i32 $s, 1023", n.text);
    n = lw_def(e, "zext i32 $s to i64", n.text);
    n = lw_def(e, "shl i64 $s, 52", n.text);
    n = lw_def(e, "bitcast i64 $s to double", n.text);
    return lw_def(e, "fmul double $s, $s", x.text, n.text);
}

/* Where n is beyond what one factor can be, multiplies x by 2^1023 or 2^-969 and takes that off
 * n. With 2^-1022 two products could be rounded, both to a subnormal number: x * 2^-969 is
 * rounded only if it becomes 0 by the rest of n. */
static void
scale_first(lw_emitter *e, lw_name *x, lw_name *n)
{
    lw_name above = lw_def(e, "icmp sgt i32 $s, 1023", n->text);
    lw_name below = lw_def(e, "icmp slt i32 $s, -1022", n->text);
    lw_name by = lw_def(e, "select i1 $s, double 0x0360000000000000, double 1.0", below.text);
    lw_name taken = lw_def(e, "select i1 $s, i32 -969, i32 0", below.text);

    by = lw_def(e, "select i1 $s, double 0x7FE0000000000000, double $s", above.text, by.text);
    taken = lw_def(e, "select i1 $s, i32 1023, i32 $s", above.text, taken.text);
    *x = lw_def(e, "fmul double $s, $s", x->text, by.text);
    *n = lw_def(e, "sub i32 $s, $s", n->text, taken.text);
}

/* On the CPU, whose library has no vector version of ldexp. Narrower numbers are multiplied in
 * f64, where the product is exact, so that it is rounded only once. */
static void
emit_ldexp(lw_emitter *e, const op *o)
{
    lw_name x = lw_widen(e, o->type, o->args[0]), n = o->args[1];

    if (o->wide == LW_DT_f32) {
        x = lw_def(e, "fpext float $s to double", x.text);
        x = scaled_by(e, x, clamped(e, n, "-500", "500"));
        lw_float_result(e, o->type, "fptrunc double $s to float", x.text);
        return;
    }
    scale_first(e, &x, &n);
    scale_first(e, &x, &n);
    x = scaled_by(e, x, clamped(e, n, "-1022", "1023"));
    lw_result(e, "bitcast double $s to double", x.text);
}

/* ---- written out: arithmetic ---- */

static void
emit_rsqrt(lw_emitter *e, const op *o)
{
    uint32_t bits = lw_dtypes[o->wide].bits;
    lw_name root, fast = lw_fast(e);

    lw_declare(e, "$t @llvm.sqrt.f$u($t)", o->wide, bits, o->wide);
    root = lw_def(e, "call$s $t @llvm.sqrt.f$u($t $s)", fast.text, o->wide, bits, o->wide,
                  o->args[0].text);
    lw_float_result(e, o->type, "fdiv$s $t 1.0, $s", fast.text, o->wide, root.text);
}

/* a * b + c, and c - a * b. */
static lw_name
fused(lw_emitter *e, lw_dtype type, const char *a, const char *b, const char *c)
{
    uint32_t bits = lw_dtypes[type].bits;

    return lw_def(e, "call $t @llvm.fma.f$u($t $s, $t $s, $t $s)", type, bits, type, a, type, b,
                  type, c);
}

static lw_name
rest_of(lw_emitter *e, lw_dtype type, const char *a, const char *b, const char *c)
{
    lw_name minus = lw_def(e, "fsub $t -0.0, $s", type, a);

    return fused(e, type, minus.text, b, c);
}

/* An approximation that looks at the upper half of a float64. */
static lw_name
approximate(lw_emitter *e, const char *what, const char *x)
{
    return lw_def(
        e, "call double asm \"$s.approx.ftz.f64 $$0, $$1;\", \"=d,d\"(double $s)" LW_PURE_ASM,
        what, x);
}

/* Half of a normal float64, by its exponent: that is not the work of the float64 unit. */
static lw_name
half_of(lw_emitter *e, const char *x)
{
    lw_name pair = lw_def(e, "bitcast double $s to <2 x i32>", x);
    lw_name high = lw_def(e, "extractelement <2 x i32> $s, i32 1", pair.text);

    high = lw_def(e, "sub i32 $s, 1048576", high.text);
    pair = lw_def(e, "insertelement <2 x i32> $s, i32 $s, i32 1", pair.text, high.text);
    return lw_def(e, "bitcast <2 x i32> $s to double", pair.text);
}

/* Of 0, an approximation that looks at the upper half would be infinite; of the least normal
 * number it is not, and the steps that follow give 0 its own root and sign. */
static lw_name
above_zero(lw_emitter *e, const char *x)
{
    lw_name pair = lw_def(e, "bitcast double $s to <2 x i32>", x);
    lw_name high = lw_def(e, "extractelement <2 x i32> $s, i32 1", pair.text);
    lw_name above = lw_def(e, "icmp sgt i32 $s, 1048576", high.text);

    high = lw_def(e, "select i1 $s, i32 $s, i32 1048576", above.text, high.text);
    pair = lw_def(e, "insertelement <2 x i32> $s, i32 $s, i32 1", pair.text, high.text);
    return lw_def(e, "bitcast <2 x i32> $s to double", pair.text);
}

static lw_name
number_of(double value)
{
    lw_name name;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    snprintf(name.text, sizeof name.text, "0x%016" PRIX64, bits);
    return name;
}

/* Horner's scheme with fused products, from the highest coefficient on. The text of a float32
 * is that of the same float64. */
static lw_name
polynomial(lw_emitter *e, const double *coefficients, unsigned n, const char *x)
{
    lw_name sum = number_of(coefficients[0]);

    for (unsigned i = 1; i < n; i++)
        sum = fused(e, LW_DT_f32, sum.text, x, number_of(coefficients[i]).text);
    return sum;
}

/* erf of a float32: x + x p(x^2) below 1, and above 1 - 2^-(|x| + |x| q(|x|)) with the sign of
 * x. The minimax polynomials are computed by tests/special/erf_single.py; the error is at most
 * 1.7 units in the last place, of which the approximation of 2^x is 0.7.
 *
 * libdevice's erff has the same form, but selects each coefficient, which takes an instruction
 * of half the rate, and a register for one of the two. Here both polynomials are computed,
 * whose coefficients are part of the instructions: Black-Scholes has 598 instead of 632
 * instructions for four options (sm_90, CUDA 13.0). The results do not depend on the version of
 * CUDA. */
static void
emit_erf(lw_emitter *e, const op *o)
{
    static const double small[] = {0x1.45561ap-14, -0x1.a2a4aep-11, 0x1.53dee2p-8,
                                   -0x1.b7f564p-6, 0x1.ce2cdap-4,   -0x1.81273ep-2,
                                   0x1.06eba8p-3};
    static const double large[] = {0x1.4f04bp-16,  -0x1.0834d2p-11, 0x1.62bb84p-8,
                                   -0x1.1b9d14p-5, 0x1.3ab69p-3,    0x1.d508c2p-1,
                                   0x1.41b81ap-1};
    const char *x = o->args[0].text;
    lw_name size, square, is_large, sum, close, far, bits, sign;

    lw_declare(e, "float @llvm.fma.f32(float, float, float)");
    lw_declare(e, "float @llvm.nvvm.fabs.f(float)");
    lw_declare(e, "float @llvm.nvvm.ex2.approx.ftz.f(float)");
    size = lw_def(e, "call float @llvm.nvvm.fabs.f(float $s)", x);
    square = lw_def(e, "fmul float $s, $s", x, x);
    is_large = lw_def(e, "fcmp oge float $s, 1.0", size.text);
    close = polynomial(e, small, sizeof small / sizeof *small, square.text);
    far = polynomial(e, large, sizeof large / sizeof *large, size.text);
    sum = lw_def(e, "select i1 $s, float $s, float $s", is_large.text, far.text, close.text);
    close = fused(e, LW_DT_f32, sum.text, x, x);
    far = lw_def(e, "call float @llvm.nvvm.fabs.f(float $s)", close.text);
    far = lw_def(e, "fsub float -0.0, $s", far.text);
    far = lw_def(e, "call float @llvm.nvvm.ex2.approx.ftz.f(float $s)", far.text);
    far = lw_def(e, "fsub float 1.0, $s", far.text);
    bits = lw_def(e, "bitcast float $s to i32", far.text);
    sign = lw_def(e, "bitcast float $s to i32", x);
    sign = lw_def(e, "and i32 $s, -2147483648", sign.text);
    bits = lw_def(e, "or i32 $s, $s", bits.text, sign.text);
    far = lw_def(e, "bitcast i32 $s to float", bits.text);
    lw_float_result(e, o->type, "select i1 $s, float $s, float $s", is_large.text, far.text,
                    close.text);
}

/* What ptxas makes of sqrt.rn.f64 where neither scaling nor a special value is needed: 1 / sqrt
 * to 20 bits, a step of third order, and one with the exact remainder. */
static void
emit_sqrt_normal_double(lw_emitter *e, const op *o)
{
    const char *x = o->args[0].text;
    lw_name y, square, rest, more, root, half;

    lw_declare(e, "double @llvm.fma.f64(double, double, double)");
    y = approximate(e, "rsqrt", above_zero(e, x).text);
    square = lw_def(e, "fmul double $s, $s", y.text, y.text);
    rest = rest_of(e, LW_DT_f64, square.text, x, "1.0");
    more = fused(e, LW_DT_f64, rest.text, "0.375", "0.5");
    rest = lw_def(e, "fmul double $s, $s", rest.text, y.text);
    y = fused(e, LW_DT_f64, more.text, rest.text, y.text);
    root = lw_def(e, "fmul double $s, $s", x, y.text);
    half = half_of(e, y.text);
    rest = rest_of(e, LW_DT_f64, root.text, root.text, x);
    lw_float_result(e, o->type, "call double @llvm.fma.f64(double $s, double $s, double $s)",
                    rest.text, half.text, root.text);
}

/* What ptxas makes of sqrt.rn.f32 where neither scaling nor a special value is needed: a root
 * within 2^-22, and one step of Newton's method with the exact remainder, which rounds
 * correctly (P. Markstein, "IA-64 and Elementary Functions", 2000). */
static void
emit_sqrt_normal(lw_emitter *e, const op *o)
{
    const char *x = o->args[0].text;
    lw_name inverse, root, half, rest;

    if (o->wide == LW_DT_f64) {
        emit_sqrt_normal_double(e, o);
        return;
    }
    lw_declare(e, "float @llvm.nvvm.rsqrt.approx.ftz.f(float)");
    lw_declare(e, "float @llvm.fma.f32(float, float, float)");
    inverse = lw_def(e, "call float @llvm.nvvm.rsqrt.approx.ftz.f(float $s)", x);
    root = lw_def(e, "fmul float $s, $s", x, inverse.text);
    half = lw_def(e, "fmul float $s, 0.5", inverse.text);
    rest = rest_of(e, LW_DT_f32, root.text, root.text, x);
    lw_float_result(e, o->type, "call float @llvm.fma.f32(float $s, float $s, float $s)",
                    rest.text, half.text, root.text);
}

/* The least number above x, which has 32 bits of 0 at its end. */
static lw_name
just_above(lw_emitter *e, lw_name x)
{
    lw_name pair = lw_def(e, "bitcast double $s to <2 x i32>", x.text);

    pair = lw_def(e, "insertelement <2 x i32> $s, i32 1, i32 0", pair.text);
    return lw_def(e, "bitcast <2 x i32> $s to double", pair.text);
}

/* The inverse of y: float64 to the last bit, by a step of third and one of second order;
 * float32 by one of second order. As in ptxas's code, the approximation of a float64 is made a
 * bit larger: from exactly 0.5, the inverse of 2 - 2^-52 would stay 0.5, since the next number
 * is closer only by 2^-107, and a quotient by the inverse that is off by a bit may be, too. */
static lw_name
inverse_of(lw_emitter *e, lw_dtype type, const char *y)
{
    lw_name inverse, rest;

    if (type == LW_DT_f64) {
        inverse = just_above(e, approximate(e, "rcp", y));
        rest = rest_of(e, type, inverse.text, y, "1.0");
        rest = fused(e, type, rest.text, rest.text, rest.text);
        inverse = fused(e, type, rest.text, inverse.text, inverse.text);
    } else {
        inverse = lw_def(
            e,
            "call float asm \"rcp.approx.ftz.f32 $$0, $$1;\", \"=f,f\"(float $s)" LW_PURE_ASM,
            y);
    }
    rest = rest_of(e, type, inverse.text, y, "1.0");
    return fused(e, type, rest.text, inverse.text, inverse.text);
}

/* What ptxas makes of div.rn where no number needs scaling: Markstein's division, as above. */
static void
emit_div_normal(lw_emitter *e, const op *o)
{
    const char *x = o->args[0].text, *y = o->args[1].text;
    uint32_t bits = lw_dtypes[o->wide].bits;
    lw_name inverse, quotient, rest;

    if (!e->gpu) {
        lw_float_result(e, o->type, "fdiv $t $s, $s", o->wide, x, y);
        return;
    }
    lw_declare(e, "$t @llvm.fma.f$u($t, $t, $t)", o->wide, bits, o->wide, o->wide, o->wide);
    inverse = inverse_of(e, o->wide, y);
    quotient = lw_def(e, "fmul $t $s, $s", o->wide, x, inverse.text);
    rest = rest_of(e, o->wide, quotient.text, y, x);
    if (bits == 32) {
        quotient = fused(e, o->wide, rest.text, inverse.text, quotient.text);
        rest = rest_of(e, o->wide, quotient.text, y, x);
    }
    lw_float_result(e, o->type, "call $t @llvm.fma.f$u($t $s, $t $s, $t $s)", o->wide, bits,
                    o->wide, rest.text, o->wide, inverse.text, o->wide, quotient.text);
}

/* The operand, or the other one if it is NaN. */
static lw_name
number_first(lw_emitter *e, const op *o, unsigned which)
{
    const char *own = o->args[which].text, *other = o->args[1 - which].text;
    lw_name nan = lw_def(e, "fcmp uno $t $s, $s", o->wide, own, own);

    return lw_def(e, "select i1 $s, $t $s, $t $s", nan.text, o->wide, other, o->wide, own);
}

/* minimum gives NaN when one operand is NaN, so for fmin NaNs are replaced first. (LLVM has
 * minimumnum for this, but LLVM 22 loses the number on x86 when it knows that one operand is
 * never NaN.) */
static void
emit_host_extreme(lw_emitter *e, const op *o, bool is_min, bool keeps_nan)
{
    const char *stem = is_min ? "minimum" : "maximum";
    lw_name fast = lw_fast(e), x = o->args[0], y = o->args[1];
    uint32_t bits = lw_dtypes[o->wide].bits;

    lw_declare(e, "$t @llvm.$s.f$u($t, $t)", o->wide, stem, bits, o->wide, o->wide);
    if (!keeps_nan) {
        x = number_first(e, o, 0);
        y = number_first(e, o, 1);
    }
    lw_float_result(e, o->type, "call$s $t @llvm.$s.f$u($t $s, $t $s)", fast.text, o->wide,
                    stem, bits, o->wide, x.text, o->wide, y.text);
}

/* min.f32 of PTX returns the number when one operand is NaN, min.NaN.f32, from compute
 * capability 8.0 on, the NaN; both order -0 below +0. They are written as assembly because
 * LLVM, for which the order of zeros is open, would fold them otherwise. */
static void
emit_gpu_extreme(lw_emitter *e, const op *o, bool is_min, bool keeps_nan)
{
    const char *stem = is_min ? "min" : "max", *x = o->args[0].text, *y = o->args[1].text;
    uint32_t bits = lw_dtypes[o->wide].bits;
    const char *registers = bits == 64 ? "=d,d,d" : "=f,f,f";
    bool at_once = keeps_nan && bits == 32 && e->options->cc >= 80;
    lw_name best, sum, unordered;

    best =
        lw_def(e, "call $t asm \"$s$s.f$u $$0, $$1, $$2;\", \"$s\"($t $s, $t $s)" LW_PURE_ASM,
               o->wide, stem, at_once ? ".NaN" : "", bits, registers, o->wide, x, o->wide, y);
    if (keeps_nan && !at_once) {
        sum = lw_def(e, "fadd $t $s, $s", o->wide, x, y);
        unordered = lw_def(e, "fcmp uno $t $s, $s", o->wide, x, y);
        best = lw_def(e, "select i1 $s, $t $s, $t $s", unordered.text, o->wide, sum.text,
                      o->wide, best.text);
    }
    lw_float_result(e, o->type, "bitcast $t $s to $t", o->wide, best.text, o->wide);
}

static void
emit_extreme(lw_emitter *e, const op *o, bool is_min, bool keeps_nan)
{
    if (e->gpu)
        emit_gpu_extreme(e, o, is_min, keeps_nan);
    else
        emit_host_extreme(e, o, is_min, keeps_nan);
}

/* The instruction of compute capability 7.5, within 2^-11 of the value, where `afn` allows it.
 */
static void
emit_quick_tanh(lw_emitter *e, const op *o)
{
    lw_name value = lw_def(
        e, "call float asm \"tanh.approx.f32 $$0, $$1;\", \"=f,f\"(float $s)" LW_PURE_ASM,
        o->args[0].text);

    lw_float_result(e, o->type, "bitcast float $s to float", value.text);
}

static void
emit_open(lw_emitter *e, op *o, lw_intrinsic which)
{
    switch (which) { /* these work on the bits of the type itself */
    case LW_IN_fabs: emit_fabs(e, o); return;
    case LW_IN_copysign: emit_copysign(e, o); return;
    case LW_IN_signbit: emit_signbit(e, o); return;
    case LW_IN_nextafter: emit_nextafter(e, o); return;
    case LW_IN_frexp_mantissa: emit_frexp(e, o, true); return;
    case LW_IN_frexp_exponent: emit_frexp(e, o, false); return;
    case LW_IN_ldexp: emit_ldexp(e, o); return;
    default: break;
    }
    for (unsigned i = 0; i < o->row->n_args; i++)
        o->args[i] = lw_widen(e, o->type, o->args[i]);
    switch (which) {
    case LW_IN_rsqrt: emit_rsqrt(e, o); break;
    case LW_IN_sqrt_normal: emit_sqrt_normal(e, o); break;
    case LW_IN_div_normal: emit_div_normal(e, o); break;
    case LW_IN_fmin: emit_extreme(e, o, true, false); break;
    case LW_IN_fmax: emit_extreme(e, o, false, false); break;
    case LW_IN_minimum: emit_extreme(e, o, true, true); break;
    case LW_IN_maximum: emit_extreme(e, o, false, true); break;
    default: lw_emit_fail(e, "an intrinsic marked OPEN is not written out"); break;
    }
}

/* libdevice's logarithm without the tests that a positive, normal number passes. x goes
 * through an instruction that LLVM cannot look into, so that nothing follows for x itself:
 * after log_normal(x), x == 0.0 may still be true. LLVM ignores the same conditions in
 * calls of llvm.assume (libNVVM 13.0). */
const char lw_own_gpu_f32_log_normal[] =
    "define internal float @lw_rt_f32_log_normal(float %x) nounwind alwaysinline {\n"
    "entry:\n"
    "  %v = call float asm \"mov.b32 $0, $1;\", \"=f,f\"(float %x) nounwind readnone\n"
    "  %low = fcmp olt float %v, 0x3810000000000000\n"
    "  br i1 %low, label %never, label %normal\n"
    "normal:\n"
    "  %bits = bitcast float %v to i32\n"
    "  %special = icmp uge i32 %bits, 2139095040\n"
    "  br i1 %special, label %never, label %finite\n"
    "finite:\n"
    "  %zero = fcmp oeq float %v, 0.0\n"
    "  br i1 %zero, label %never, label %positive\n"
    "positive:\n"
    "  %out = call float @__nv_logf(float %v)\n"
    "  ret float %out\n"
    "never:\n"
    "  unreachable\n"
    "}\n";

/* The name of our own function, or NULL where a library's is called. */
static const char *
own_function(lw_emitter *e, const op *o, lw_intrinsic which)
{
    if (which == LW_IN_log_normal && !e->gpu)
        which = LW_IN_log;
    if (has_quick_form(e, o))
        return NULL;
    if (which == LW_IN_log_normal && o->wide == LW_DT_f32)
        lw_declare(e, "float @__nv_logf(float)");
    if (which == LW_IN_fmod)
        lw_declare(e, "$t @$sfmod$s($t, $t)", o->wide, e->gpu ? "__nv_" : "",
                   float_letter(o->wide), o->wide, o->wide);
    return lw_own_intrinsic(e, which, o->wide);
}

void
lw_emit_intrinsic(lw_emitter *e)
{
    lw_intrinsic which = (lw_intrinsic)e->inst->a;
    const uint32_t *values = e->func->lists.data + e->inst->b;
    op o = {.row = &lw_intrinsics[which], .type = lw_operand_type(e, values[0])};
    lw_how how = e->gpu ? o.row->gpu_how : o.row->host_how;
    const char *own;

    o.wide = lw_is_small(o.type) ? LW_DT_f32 : o.type;
    for (unsigned i = 0; i < o.row->n_args; i++)
        o.args[i] = lw_operand(e, values[i]);
    if (o.row->kind == LW_INTRINSIC_INT) {
        emit_integer(e, &o, which);
        return;
    }
    if (how == LW_HOW_OPEN) {
        emit_open(e, &o, which);
        return;
    }
    for (unsigned i = 0; i < o.row->n_args; i++)
        if (o.row->args[i] == 'v')
            o.args[i] = lw_widen(e, o.type, o.args[i]);
    own = own_function(e, &o, which);
    if (e->gpu && which == LW_IN_erf && o.wide == LW_DT_f32)
        emit_erf(e, &o);
    else if (e->gpu && which == LW_IN_tanh && o.wide == LW_DT_f32 &&
             (e->inst->flags & LW_FAST_AFN))
        emit_quick_tanh(e, &o);
    else if (own != NULL && e->gpu && is_of_angle(which))
        call_of_angle(e, &o, own);
    else if (own != NULL)
        call_own(e, &o, own);
    else if (how == LW_HOW_LLVM)
        call_llvm(e, &o);
    else if (how == LW_HOW_NVVM)
        call_nvvm(e, &o);
    else
        call_library(e, &o);
}
