/* Instructions that compute a value from values: arithmetic, comparisons, selects. Small floats
 * are widened and rounded by convert.c. Where one of the readers or ptxas compiles the plain
 * form wrongly, another form is written, with the reason beside it. */
#include "core/emit/emit_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* Whether a type is computed in a wider one: small floats are, except for what the GPU's half
 * unit computes with the same rounding. */
static bool
widens(const lw_emitter *e, lw_dtype type)
{
    if (type == LW_DT_f16 && e->gpu)
        return e->inst->op == LW_OP_DIV;
    return lw_is_small(type);
}

static void
emit_float_binary(lw_emitter *e, const char *name)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name x = lw_operand(e, e->inst->a), y = lw_operand(e, e->inst->b);

    assert(name[0] != 0); /* the instruction exists for floats */
    if (!widens(e, type)) {
        lw_result(e, "$s$s $t $s, $s", name, lw_fast(e).text, type, x.text, y.text);
        return;
    }
    x = lw_widen(e, type, x);
    y = lw_widen(e, type, y);
    lw_float_result(e, type, "$s$s float $s, $s", name, lw_fast(e).text, x.text, y.text);
}

static void
emit_binary(lw_emitter *e, const char *for_floats, const char *for_signed,
            const char *for_unsigned)
{
    lw_dtype type = (lw_dtype)e->inst->type;

    assert(lw_operand_type(e, e->inst->a) == type && lw_operand_type(e, e->inst->b) == type);
    if (lw_is_float(type))
        emit_float_binary(e, for_floats);
    else
        lw_result(e, "$s$s $t $v, $v", lw_is_signed(type) ? for_signed : for_unsigned,
                  e->inst->flags & LW_NO_WRAP ? " nsw" : "", type, e->inst->a, e->inst->b);
}

/* If the value was extended from 32 bits without a sign, gives those 32 bits; false: it was
 * not. */
static bool
was_u32(lw_emitter *e, lw_ref value, lw_name *out)
{
    const lw_inst *inst = &e->func->insts.data[value];
    uint64_t bits;

    if (inst->op == LW_OP_CAST && lw_operand_type(e, inst->a) == LW_DT_u32) {
        *out = lw_operand(e, inst->a);
        return true;
    }
    bits = inst->op == LW_OP_CONST ? e->func->constants.data[inst->a].bits : UINT64_MAX;
    if (bits > UINT32_MAX)
        return false;
    snprintf(out->text, sizeof out->text, "%" PRId32, (int32_t)(uint32_t)bits);
    return true;
}

/* The full product of two 32-bit numbers is one instruction. LLVM would compute its low half as
 * a separate product, so the computation is hidden from it. */
static void
emit_mul(lw_emitter *e)
{
    lw_name x, y;

    if (e->gpu && e->inst->type == LW_DT_u64 && e->inst->lanes <= 1 &&
        was_u32(e, e->inst->a, &x) && was_u32(e, e->inst->b, &y))
        lw_result(e,
                  "call i64 asm \"mul.wide.u32 $$0, $$1, $$2;\", \"=l,r,r\"(i32 $s, i32 "
                  "$s)" LW_PURE_ASM,
                  x.text, y.text);
    else if (!lw_emit_scaled_bits(e))
        emit_binary(e, "fmul", "mul", "mul");
}

/* (x ^ y) ^ z of 64 bits takes two lop3. If z is an xor too, ptxas would rather combine it
 * with its own operands, and a step of xoroshiro128+ would take three instructions instead
 * of two. */
static void
emit_xor(lw_emitter *e)
{
    const lw_inst *left = &e->func->insts.data[e->inst->a];
    const lw_inst *right = &e->func->insts.data[e->inst->b];

    if (e->gpu && lw_dtypes[e->inst->type].bits == 64 && e->inst->lanes <= 1 &&
        left->op == LW_OP_XOR && right->op == LW_OP_XOR)
        lw_result(
            e,
            "call i64 asm \"{ .reg .b32 lw_a<6>, lw_r<2>; mov.b64 {lw_a0, lw_a1}, $$1; "
            "mov.b64 {lw_a2, lw_a3}, $$2; mov.b64 {lw_a4, lw_a5}, $$3; "
            "lop3.b32 lw_r0, lw_a0, lw_a2, lw_a4, 0x96; "
            "lop3.b32 lw_r1, lw_a1, lw_a3, lw_a5, 0x96; mov.b64 $$0, {lw_r0, lw_r1}; }\", "
            "\"=l,l,l,l\"(i64 $v, i64 $v, i64 $v)" LW_PURE_ASM,
            left->a, left->b, e->inst->b);
    else
        emit_binary(e, "", "xor", "xor");
}

/* Whether a constant is one less than a power of two and has 16 bits at most. */
static bool
is_short_mask(const lw_emitter *e, lw_ref value, uint64_t more)
{
    const lw_inst *inst = &e->func->insts.data[value];
    uint64_t bits = inst->op == LW_OP_CONST ? e->func->constants.data[inst->a].bits - more : 0;

    return bits > 0 && bits <= UINT16_MAX && (bits & (bits + 1)) == 0;
}

static void
emit_and(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    bool left = lw_is_integer(type) && is_short_mask(e, e->inst->a, 0);
    lw_name x;

    if (!left && !(lw_is_integer(type) && is_short_mask(e, e->inst->b, 0))) {
        emit_binary(e, "", "and", "and");
        return;
    }
    x = lw_unfolded(e, left ? e->inst->b : e->inst->a, 2);
    lw_result(e, "and $t $s, $v", type, x.text, left ? e->inst->a : e->inst->b);
}

/* Whether x / y on integers is computed as a division of floats: vector units divide floats,
 * but no integers. A quotient that is not an integer is at least 1 / y away from one, and a
 * float with more bits than x and y have is rounded by less than that, so both quotients are
 * truncated to the same integer. This is done only in loops that are vectorised, and in
 * functions that they call: where the next step waits for a remainder, as in a loop that
 * computes a greatest common divisor, a division of integers takes less time. */
static bool
divides_as_floats(const lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    size_t at = e->regions.n;

    if (e->gpu || !lw_is_integer(type) || lw_dtypes[type].bits > 32 ||
        e->func->insts.data[e->inst->b].op == LW_OP_CONST)
        return false;
    while (at > 0 && e->regions.data[at - 1].op != LW_OP_LOOP)
        at--;
    return at > 0 ? (e->regions.data[at - 1].flags & LW_LOOP_VECTORIZE) != 0
                  : e->callees[e->number].is_vectorised;
}

/* The quotient, truncated to an integer of 32 bits. It is in the range of the type: lowering
 * (core/front/lower) replaces the divisors 0, and -1 of the least integer. Not all vector units
 * convert f64 to u32, and what LLVM puts in its place may raise a floating-point flag for
 * quotients from 2^31 on, so these are moved into the range of i32. */
static lw_name
truncated(lw_emitter *e, bool is_wide, lw_name quotient)
{
    bool halved = is_wide && !lw_is_signed((lw_dtype)e->inst->type);

    if (halved) {
        lw_declare(e, "double @llvm.trunc.f64(double)");
        quotient = lw_def(e, "call double @llvm.trunc.f64(double $s)", quotient.text);
        quotient = lw_def(e, "fsub double $s, 2147483648.0", quotient.text);
    }
    quotient = lw_def(e, "fptosi $s $s to i32", is_wide ? "double" : "float", quotient.text);
    return halved ? lw_def(e, "xor i32 $s, -2147483648", quotient.text) : quotient;
}

static void
emit_division_as_floats(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    bool is_wide = lw_dtypes[type].bits > 16;
    const char *of = is_wide ? "double" : "float";
    const char *to = lw_is_signed(type) ? "sitofp" : "uitofp";
    lw_name x = lw_def(e, "$s $t $v to $s", to, type, e->inst->a, of);
    lw_name y = lw_def(e, "$s $t $v to $s", to, type, e->inst->b, of), quotient;

    quotient = truncated(e, is_wide, lw_def(e, "fdiv $s $s, $s", of, x.text, y.text));
    if (!is_wide)
        quotient = lw_def(e, "trunc i32 $s to $t", quotient.text, type);
    if (e->inst->op == LW_OP_DIV) {
        lw_result(e, "add $t $s, 0", type, quotient.text);
        return;
    }
    quotient = lw_def(e, "mul $t $s, $v", type, quotient.text, e->inst->b);
    lw_result(e, "sub $t $v, $s", type, e->inst->a, quotient.text);
}

/* Division and remainder without checks. On the GPU narrow ones are computed in 32 bits: for
 * neg.s16 followed by rem.s16, ptxas 13.0 keeps a 32768 that should have wrapped (seen on an
 * H200, 2026-11-21). */
static void
emit_division(lw_emitter *e, const char *for_signed, const char *for_unsigned)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    const char *widen = lw_is_signed(type) ? "sext" : "zext";
    lw_name x, y, wide;

    if (e->inst->op == LW_OP_REM && lw_dtypes[type].bits > 16 &&
        is_short_mask(e, e->inst->b, 1)) {
        x = lw_unfolded(e, e->inst->a, 2);
        lw_result(e, "$s $t $s, $v", lw_is_signed(type) ? for_signed : for_unsigned, type,
                  x.text, e->inst->b);
        return;
    }
    if (divides_as_floats(e)) {
        emit_division_as_floats(e);
        return;
    }
    if (!e->gpu || lw_is_float(type) || lw_dtypes[type].bits > 16) {
        emit_binary(e, "fdiv", for_signed, for_unsigned);
        return;
    }
    x = lw_def(e, "$s $t $v to i32", widen, type, e->inst->a);
    y = lw_def(e, "$s $t $v to i32", widen, type, e->inst->b);
    wide = lw_def(e, "$s i32 $s, $s", lw_is_signed(type) ? for_signed : for_unsigned, x.text,
                  y.text);
    lw_result(e, "trunc i32 $s to $t", wide.text, type);
}

static void
emit_mulhi(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t bits = lw_dtypes[type].bits, wide = 2 * bits;
    const char *extend = lw_is_signed(type) ? "sext" : "zext";
    lw_name x = lw_unwidened(e, e->inst->a), y = lw_unwidened(e, e->inst->b), product;

    x = lw_def(e, "$s $t $s to i$u", extend, type, x.text, wide);
    y = lw_def(e, "$s $t $s to i$u", extend, type, y.text, wide);
    product = lw_def(e, "mul i$u $s, $s", wide, x.text, y.text);
    product = lw_def(e, "lshr i$u $s, $u", wide, product.text, bits);
    lw_result(e, "trunc i$u $s to $t", wide, product.text, type);
}

static void
emit_neg(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name bits;

    if (!lw_is_float(type)) {
        lw_result(e, "sub $t 0, $v", type, e->inst->a);
    } else if (lw_is_small(type)) {
        bits = lw_def(e, "bitcast $t $v to i16", type, e->inst->a);
        bits = lw_def(e, "xor i16 $s, -32768", bits.text);
        lw_result(e, "bitcast i16 $s to $t", bits.text, type);
    } else if (e->gpu) {
        lw_result(e, "fsub$s $t -0.0, $v", lw_fast(e).text, type, e->inst->a);
    } else {
        lw_result(e, "fneg$s $t $v", lw_fast(e).text, type, e->inst->a);
    }
}

/* Sums whose order is free are vectorised: LLVM's vectoriser recognises such a sum only as
 * fmuladd. */
static const char *
fma_name(const lw_emitter *e)
{
    return !e->gpu && (e->inst->flags & LW_FAST_REASSOC) ? "fmuladd" : "fma";
}

static void
emit_fma(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t bits = lw_dtypes[type].bits;
    const char *name = fma_name(e);

    if (widens(e, type)) {
        lw_small_fma(e, type);
        return;
    }
    lw_declare(e, "$t @llvm.$s.f$u($t, $t, $t)", type, name, bits, type, type, type);
    lw_result(e, "call$s $t @llvm.$s.f$u($t $v, $t $v, $t $v)", lw_fast(e).text, type, name,
              bits, type, e->inst->a, type, e->inst->b, type, e->inst->c);
}

/* Whether both operands are one value: the same instruction, or a variable that is read twice.
 */
static bool
is_with_itself(const lw_emitter *e)
{
    const lw_inst *insts = e->func->insts.data;
    lw_ref a = e->inst->a, b = e->inst->b;

    return a == b || (b == a + 1 && insts[a].op == LW_OP_GET && insts[b].op == LW_OP_GET &&
                      insts[a].a == insts[b].a);
}

/* Of x with itself: whether x is a number. libNVVM takes constants that are computed, such as
 * 0/0, for equal to themselves, but does not compare them with 0 before the program runs. */
static void
emit_is_number(lw_emitter *e, lw_dtype type, const char *x)
{
    lw_result(e, "fcmp$s $s $t $s, 0.0", lw_fast(e).text,
              e->inst->op == LW_OP_NE ? "uno" : "ord", type, x);
}

static void
emit_compare(lw_emitter *e)
{
    static const struct {
        const char *floats, *sign, *unsign;
    } names[] = {{"oeq", "eq", "eq"},   {"une", "ne", "ne"},   {"olt", "slt", "ult"},
                 {"ole", "sle", "ule"}, {"ogt", "sgt", "ugt"}, {"oge", "sge", "uge"}};
    unsigned which = e->inst->op - LW_OP_EQ;
    lw_dtype type = lw_operand_type(e, e->inst->a);
    lw_name x = lw_operand(e, e->inst->a), y = lw_operand(e, e->inst->b);

    if (!lw_is_float(type)) {
        const char *test = lw_is_signed(type) ? names[which].sign : names[which].unsign;

        if (!lw_emit_wrap_test(e, test))
            lw_result(e, "icmp $s $t $s, $s", test, type, x.text, y.text);
        return;
    }
    if (widens(e, type)) {
        x = lw_widen(e, type, x);
        y = lw_widen(e, type, y);
        type = LW_DT_f32;
    }
    if (e->gpu && e->inst->op != LW_OP_LT && e->inst->op != LW_OP_GT && is_with_itself(e)) {
        emit_is_number(e, type, x.text);
        return;
    }
    lw_result(e, "fcmp$s $s $t $s, $s", lw_fast(e).text, names[which].floats, type, x.text,
              y.text);
}

static const lw_inst *
made_by(const lw_emitter *e, lw_ref value)
{
    return &e->func->insts.data[value];
}

static bool
is_zero(const lw_emitter *e, lw_ref value)
{
    const lw_inst *inst = made_by(e, value);

    return inst->op == LW_OP_CONST && e->func->constants.data[inst->a].bits == 0;
}

/* x < 0 ? -x : x on integers. LLVM 7 turns it into abs.s32, whose result ptxas assumes to be
 * positive even if x is the least integer. x > -x ? x : -x has the same value and becomes
 * max.s32. */
static bool
emit_absolute(lw_emitter *e)
{
    const lw_inst *test = made_by(e, e->inst->a);
    bool below = test->op == LW_OP_LT || test->op == LW_OP_LE;
    bool above = test->op == LW_OP_GT || test->op == LW_OP_GE;
    lw_ref x = below ? e->inst->c : e->inst->b, minus = below ? e->inst->b : e->inst->c;
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name larger;

    if (!lw_is_signed(type) || !(below || above) || test->a != x || !is_zero(e, test->b) ||
        made_by(e, minus)->op != LW_OP_NEG || made_by(e, minus)->a != x)
        return false;
    larger = lw_def(e, "icmp sgt $t $v, $v", type, x, minus);
    lw_result(e, "select i1 $s, $t $v, $t $v", larger.text, type, x, type, minus);
    return true;
}

/* x < y ? x : y on floats. LLVM 7 turns it into min.f64 when one of them is a constant, and
 * that may return the other zero, so the comparison and the selection are written as inline
 * assembly. */
static bool
emit_extremum(lw_emitter *e)
{
    static const char *const tests[] = {"lt", "le", "gt", "ge"};
    const lw_inst *test = made_by(e, e->inst->a);
    lw_ref yes = e->inst->b, no = e->inst->c;
    lw_dtype type = (lw_dtype)e->inst->type;
    const char *float_type = type == LW_DT_f64 ? "f64" : type == LW_DT_f32 ? "f32" : "f16";
    const char *any_type = type == LW_DT_f16 ? "b16" : float_type;
    const char *letter = type == LW_DT_f64 ? "d" : type == LW_DT_f32 ? "f" : "h";
    char text[160], constraints[16];
    lw_name operands[4];

    if ((type != LW_DT_f64 && type != LW_DT_f32 && type != LW_DT_f16) || test->op < LW_OP_LT ||
        test->op > LW_OP_GE || (e->inst->flags & LW_FAST_NSZ) ||
        !((yes == test->a && no == test->b) || (yes == test->b && no == test->a)))
        return false;
    snprintf(text, sizeof text,
             "{ .reg .pred lw_p; setp.%s.%s lw_p, $1, $2; selp.%s $0, $3, $4, lw_p; }",
             tests[test->op - LW_OP_LT], float_type, any_type);
    snprintf(constraints, sizeof constraints, "=%s,%s,%s,%s,%s", letter, letter, letter, letter,
             letter);
    for (int i = 0; i < 4; i++) {
        lw_ref value = i == 0 ? test->a : i == 1 ? test->b : i == 2 ? yes : no;
        operands[i] = type == LW_DT_f16 ? lw_def(e, "bitcast half $v to i16", value)
                                        : lw_operand(e, value);
    }
    if (type == LW_DT_f16) {
        lw_name chosen =
            lw_def(e, "call i16 asm \"$s\", \"$s\"(i16 $s, i16 $s, i16 $s, i16 $s)" LW_PURE_ASM,
                   text, constraints, operands[0].text, operands[1].text, operands[2].text,
                   operands[3].text);
        lw_result(e, "bitcast i16 $s to half", chosen.text);
    } else {
        lw_result(e, "call $t asm \"$s\", \"$s\"($t $s, $t $s, $t $s, $t $s)" LW_PURE_ASM, type,
                  text, constraints, type, operands[0].text, type, operands[1].text, type,
                  operands[2].text, type, operands[3].text);
    }
    return true;
}

static void
emit_select(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    bool has_flags = !e->gpu && lw_is_float(type) && type != LW_DT_bf16;

    if (e->gpu && e->inst->lanes <= 1 && (emit_absolute(e) || emit_extremum(e)))
        return;
    lw_result(e, "select$s i1 $v, $t $v, $t $v", has_flags ? lw_fast(e).text : "", e->inst->a,
              type, e->inst->b, type, e->inst->c);
}

static void
emit_bitcast(lw_emitter *e)
{
    lw_dtype from = lw_operand_type(e, e->inst->a), to = (lw_dtype)e->inst->type;
    const char *how = "bitcast";

    if (to == LW_DT_ptr && from != LW_DT_ptr && from != LW_DT_f64)
        how = "inttoptr";
    else if (from == LW_DT_ptr && to != LW_DT_ptr && to != LW_DT_f64)
        how = "ptrtoint";
    else if (to == LW_DT_ptr || from == LW_DT_ptr) {
        lw_emit_fail(e, "no bits go between pointers and floats");
        return;
    }
    lw_result(e, "$s $t $v to $t", how, from, e->inst->a, to);
}

void
lw_emit_arithmetic(lw_emitter *e)
{
    switch ((lw_op)e->inst->op) {
    case LW_OP_ADD: emit_binary(e, "fadd", "add", "add"); break;
    case LW_OP_SUB: emit_binary(e, "fsub", "sub", "sub"); break;
    case LW_OP_MUL: emit_mul(e); break;
    case LW_OP_DIV: emit_division(e, "sdiv", "udiv"); break;
    case LW_OP_REM: emit_division(e, "srem", "urem"); break;
    case LW_OP_MULHI: emit_mulhi(e); break;
    case LW_OP_NEG: emit_neg(e); break;
    case LW_OP_FMA: emit_fma(e); break;
    case LW_OP_AND: emit_and(e); break;
    case LW_OP_OR: emit_binary(e, "", "or", "or"); break;
    case LW_OP_XOR: emit_xor(e); break;
    case LW_OP_NOT:
        lw_result(e, "xor $t $v, $s", (lw_dtype)e->inst->type, e->inst->a,
                  e->inst->type == LW_DT_b1 ? "true" : "-1");
        break;
    case LW_OP_SHL: emit_binary(e, "", "shl", "shl"); break;
    case LW_OP_SHR: emit_binary(e, "", "ashr", "lshr"); break;
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: emit_compare(e); break;
    case LW_OP_SELECT: emit_select(e); break;
    case LW_OP_BITCAST: emit_bitcast(e); break;
    default: lw_emit_fail(e, "no arithmetic"); break;
    }
}
