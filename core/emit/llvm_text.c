/* One instruction of the IR after the other as LLVM text. Both dialects come from here: they
 * part in the spelling of pointers, in fneg, undef and flags on select, and in vectors of
 * narrow elements, which the GPU loads as 32-bit words. Slots are allocas in the entry block;
 * LLVM's mem2reg makes SSA of them. */
#include "core/emit/emit_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- operands and types ---- */

const char *
lw_type(const lw_emitter *e, lw_dtype type)
{
    return type == LW_DT_ptr && e->typed ? "i8*" : lw_dtypes[type].llvm;
}

lw_dtype
lw_operand_type(const lw_emitter *e, lw_ref value)
{
    return (lw_dtype)e->func->insts.data[value].type;
}

/* LLVM writes a float constant as the double of the same value. */
static uint64_t
widened_bits(uint32_t bits)
{
    float narrow;
    double wide;
    uint64_t out;

    if ((bits & 0x7fffffff) > 0x7f800000) /* NaN: keep sign and payload, make it quiet */
        return (uint64_t)(bits >> 31) << 63 | UINT64_C(0x7ff8) << 48 |
               (uint64_t)(bits & 0x7fffff) << 29;
    memcpy(&narrow, &bits, sizeof narrow);
    wide = narrow;
    memcpy(&out, &wide, sizeof out);
    return out;
}

static lw_name
constant(const lw_emitter *e, lw_dtype type, uint64_t bits)
{
    const lw_dtype_row *row = &lw_dtypes[type];
    unsigned spare = 64u - row->bits;
    lw_name name;

    if (row->kind == LW_KIND_BOOL)
        snprintf(name.text, sizeof name.text, bits ? "true" : "false");
    else if (type == LW_DT_f64)
        snprintf(name.text, sizeof name.text, "0x%016" PRIX64, bits);
    else if (type == LW_DT_f32)
        snprintf(name.text, sizeof name.text, "0x%016" PRIX64, widened_bits((uint32_t)bits));
    else if (type == LW_DT_f16)
        snprintf(name.text, sizeof name.text, "0xH%04" PRIX64, bits & 0xffff);
    else if (type == LW_DT_ptr && bits == 0)
        snprintf(name.text, sizeof name.text, "null");
    else if (type == LW_DT_ptr)
        snprintf(name.text, sizeof name.text, "inttoptr (i64 %" PRId64 " to %s)", (int64_t)bits,
                 lw_type(e, type));
    else
        snprintf(name.text, sizeof name.text, "%" PRId64, (int64_t)(bits << spare) >> spare);
    return name;
}

lw_name
lw_operand(lw_emitter *e, lw_ref value)
{
    const lw_inst *inst = &e->func->insts.data[value];
    bool is_entry = e->func->linkage == LW_KERNEL || e->func->linkage == LW_EXPORTED;
    lw_name name;

    if (inst->op == LW_OP_CONST)
        return constant(e, (lw_dtype)inst->type, e->func->konsts.data[inst->a].bits);
    if (inst->op == LW_OP_PARAM)
        snprintf(name.text, sizeof name.text, "%%p%u%s", inst->a,
                 is_entry && inst->type == LW_DT_b1 ? "b" : "");
    else
        snprintf(name.text, sizeof name.text, "%%v%u", value);
    return name;
}

/* ---- printing ---- */

static void
say(lw_emitter *e, lw_text *out, const char *format, va_list args)
{
    const char *mark;

    for (; (mark = strchr(format, '$')) != NULL; format = mark + 2) {
        lw_text_add_n(out, format, (size_t)(mark - format));
        switch (mark[1]) {
        case 'v': lw_text_add(out, lw_operand(e, va_arg(args, lw_ref)).text); break;
        case 't': lw_text_add(out, lw_type(e, (lw_dtype)va_arg(args, int))); break;
        case 's': lw_text_add(out, va_arg(args, const char *)); break;
        case 'u': lw_text_addf(out, "%u", va_arg(args, uint32_t)); break;
        case '$': lw_text_add(out, "$"); break;
        default: break;
        }
    }
    lw_text_add(out, format);
}

void
lw_end_line(lw_emitter *e)
{
    if (e->place)
        lw_text_addf(e->out, ", !dbg !%u", e->place);
    lw_text_add(e->out, "\n");
}

void
lw_line(lw_emitter *e, const char *format, ...)
{
    va_list args;

    lw_text_add(e->out, "  ");
    va_start(args, format);
    say(e, e->out, format, args);
    va_end(args);
    lw_end_line(e);
}

void
lw_result(lw_emitter *e, const char *format, ...)
{
    va_list args;

    lw_text_addf(e->out, "  %%v%u = ", e->at);
    va_start(args, format);
    say(e, e->out, format, args);
    va_end(args);
    lw_end_line(e);
}

static lw_name
vdef(lw_emitter *e, const char *format, va_list args)
{
    lw_name name;

    snprintf(name.text, sizeof name.text, "%%t%u", e->next_temp++);
    lw_text_addf(e->out, "  %s = ", name.text);
    say(e, e->out, format, args);
    lw_end_line(e);
    return name;
}

lw_name
lw_def(lw_emitter *e, const char *format, ...)
{
    va_list args;
    lw_name name;

    va_start(args, format);
    name = vdef(e, format, args);
    va_end(args);
    return name;
}

void
lw_float_result(lw_emitter *e, lw_dtype type, const char *format, ...)
{
    va_list args;
    lw_name wide;

    va_start(args, format);
    if (lw_is_small(type)) {
        wide = vdef(e, format, args);
        wide = lw_narrow(e, type, wide);
        lw_result(e, "bitcast $t $s to $t", type, wide.text, type);
    } else {
        lw_text_addf(e->out, "  %%v%u = ", e->at);
        say(e, e->out, format, args);
        lw_end_line(e);
    }
    va_end(args);
}

void
lw_declare(lw_emitter *e, const char *format, ...)
{
    va_list args;
    lw_text line;

    lw_text_init(&line);
    lw_text_add(&line, "declare ");
    va_start(args, format);
    say(e, &line, format, args);
    va_end(args);
    lw_text_add(&line, e->gpu ? " nounwind\n" : " nounwind willreturn memory(none)\n");
    if (line.failed)
        e->declares.failed = true;
    else if (strstr(lw_text_get(&e->declares), lw_text_get(&line)) == NULL)
        lw_text_add(&e->declares, lw_text_get(&line));
    lw_text_reset(&line);
}

uint32_t
lw_metadata(lw_emitter *e, const char *format, ...)
{
    va_list args;

    lw_text_addf(&e->metadata, "!%u = ", e->next_metadata);
    va_start(args, format);
    say(e, &e->metadata, format, args);
    va_end(args);
    lw_text_add(&e->metadata, "\n");
    return e->next_metadata++;
}

lw_name
lw_fast(const lw_emitter *e)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } flags[] = {{LW_FAST_NNAN, " nnan"},         {LW_FAST_NINF, " ninf"},
                 {LW_FAST_NSZ, " nsz"},           {LW_FAST_ARCP, " arcp"},
                 {LW_FAST_CONTRACT, " contract"}, {LW_FAST_AFN, " afn"},
                 {LW_FAST_REASSOC, " reassoc"}};
    lw_name name = {""};

    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
        if (e->inst->flags & flags[i].bit)
            strcat(name.text, flags[i].text);
    return name;
}

/* ---- arithmetic ---- */

static bool
is_signed(lw_dtype type)
{
    return lw_dtypes[type].kind == LW_KIND_INT;
}

/* Small floats are widened but for what the GPU's half unit does with the same rounding. */
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

    if (lw_is_float(type))
        emit_float_binary(e, for_floats);
    else
        lw_result(e, "$s$s $t $v, $v", is_signed(type) ? for_signed : for_unsigned,
                  e->inst->flags & LW_NO_WRAP ? " nsw" : "", type, e->inst->a, e->inst->b);
}

/* A value that was 32 bits unsigned, as those 32 bits; false: it was not. */
static bool
was_u32(lw_emitter *e, lw_ref value, lw_name *out)
{
    const lw_inst *inst = &e->func->insts.data[value];
    uint64_t bits;

    if (inst->op == LW_OP_CAST && lw_operand_type(e, inst->a) == LW_DT_u32) {
        *out = lw_operand(e, inst->a);
        return true;
    }
    bits = inst->op == LW_OP_CONST ? e->func->konsts.data[inst->a].bits : UINT64_MAX;
    if (bits > UINT32_MAX)
        return false;
    snprintf(out->text, sizeof out->text, "%" PRId32, (int32_t)(uint32_t)bits);
    return true;
}

/* The whole product of two 32-bit numbers is one instruction. LLVM takes its low half for a
 * product of its own, so it must not see what is computed. */
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
    else
        emit_binary(e, "fmul", "mul", "mul");
}

/* (x ^ y) ^ z of 64 bits: two lop3. ptxas would rather join z, where that is an xor too, with
 * its own operands, and needs three for what a step of xoroshiro128+ does in two. */
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

/* Raw division and remainder. On the GPU narrow ones are done in 32 bits: of neg.s16 followed
 * by rem.s16, ptxas 13.0 keeps the 32768 that has not wrapped (seen on an H200, 2026-11-21). */
static void
emit_division(lw_emitter *e, const char *for_signed, const char *for_unsigned)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    const char *widen = is_signed(type) ? "sext" : "zext";
    lw_name x, y, wide;

    if (!e->gpu || lw_is_float(type) || lw_dtypes[type].bits > 16) {
        emit_binary(e, "fdiv", for_signed, for_unsigned);
        return;
    }
    x = lw_def(e, "$s $t $v to i32", widen, type, e->inst->a);
    y = lw_def(e, "$s $t $v to i32", widen, type, e->inst->b);
    wide =
        lw_def(e, "$s i32 $s, $s", is_signed(type) ? for_signed : for_unsigned, x.text, y.text);
    lw_result(e, "trunc i32 $s to $t", wide.text, type);
}

static void
emit_mulhi(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t bits = lw_dtypes[type].bits, wide = 2 * bits;
    const char *extend = is_signed(type) ? "sext" : "zext";
    lw_name x = lw_def(e, "$s $t $v to i$u", extend, type, e->inst->a, wide);
    lw_name y = lw_def(e, "$s $t $v to i$u", extend, type, e->inst->b, wide);
    lw_name product = lw_def(e, "mul i$u $s, $s", wide, x.text, y.text);

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

static void
emit_fma(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t bits = lw_dtypes[type].bits;

    if (widens(e, type)) {
        lw_small_fma(e, type);
        return;
    }
    lw_declare(e, "$t @llvm.fma.f$u($t, $t, $t)", type, bits, type, type, type);
    lw_result(e, "call$s $t @llvm.fma.f$u($t $v, $t $v, $t $v)", lw_fast(e).text, type, bits,
              type, e->inst->a, type, e->inst->b, type, e->inst->c);
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
        lw_result(e, "icmp $s $t $s, $s",
                  is_signed(type) ? names[which].sign : names[which].unsign, type, x.text,
                  y.text);
        return;
    }
    if (widens(e, type)) {
        x = lw_widen(e, type, x);
        y = lw_widen(e, type, y);
        type = LW_DT_f32;
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

    return inst->op == LW_OP_CONST && e->func->konsts.data[inst->a].bits == 0;
}

/* x < 0 ? -x : x on integers. LLVM 7 makes abs.s32 of it, whose result ptxas takes for positive
 * also when x is the least integer: x > -x ? x : -x says the same and becomes max.s32. */
static bool
emit_absolute(lw_emitter *e)
{
    const lw_inst *test = made_by(e, e->inst->a);
    bool below = test->op == LW_OP_LT || test->op == LW_OP_LE;
    bool above = test->op == LW_OP_GT || test->op == LW_OP_GE;
    lw_ref x = below ? e->inst->c : e->inst->b, minus = below ? e->inst->b : e->inst->c;
    lw_dtype type = (lw_dtype)e->inst->type;
    lw_name larger;

    if (lw_dtypes[type].kind != LW_KIND_INT || !(below || above) || test->a != x ||
        !is_zero(e, test->b) || made_by(e, minus)->op != LW_OP_NEG || made_by(e, minus)->a != x)
        return false;
    larger = lw_def(e, "icmp sgt $t $v, $v", type, x, minus);
    lw_result(e, "select i1 $s, $t $v, $t $v", larger.text, type, x, type, minus);
    return true;
}

/* x < y ? x : y on floats. LLVM 7 makes min.f64 of it when one is a constant, and that may give
 * the other zero: the comparison and the choice are written down as the two instructions. */
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

/* ---- memory ---- */

/* The type through which memory is read and written. */
typedef struct shape {
    char text[32];
    uint32_t align;
    uint32_t words; /* 32-bit words that a vector of narrow elements goes by; 0 = as it is */
} shape;

static shape
shape_of(const lw_emitter *e, lw_dtype type, unsigned lanes)
{
    const char *memory = type == LW_DT_ptr ? lw_type(e, type) : lw_dtypes[type].memory;
    unsigned size = lw_dtypes[type].size_bytes, total = size * lanes;
    uint32_t code = e->inst->flags & LW_MEM_ALIGN_MASK;
    shape s = {.align = code ? 1u << (code - 1) : size};

    /* libNVVM splits <16 x i8> into four accesses, turns bitcasts of <4 x i32> back into it,
     * and cannot compile arithmetic that it gathers from the lanes of <8 x half> */
    if (e->gpu && lanes > 1 && size < 4 && total >= 4)
        s.words = total / 4;
    if (s.words == 1)
        snprintf(s.text, sizeof s.text, "i32");
    else if (s.words)
        snprintf(s.text, sizeof s.text, "<%u x i32>", s.words);
    else if (lanes > 1)
        snprintf(s.text, sizeof s.text, "<%u x %s>", lanes, memory);
    else
        snprintf(s.text, sizeof s.text, "%s", memory);
    return s;
}

/* The pointer operand as LLVM wants it written, "float* %t3" or "ptr %v2". */
static lw_name
pointer_to(lw_emitter *e, const char *type, lw_ref pointer)
{
    lw_name name = lw_operand(e, pointer), out;

    if (e->typed) {
        if (strcmp(type, "i8") != 0)
            name = lw_def(e, "bitcast i8* $s to $s*", name.text, type);
        snprintf(out.text, sizeof out.text, "%s* %.30s", type, name.text);
    } else {
        snprintf(out.text, sizeof out.text, "ptr %.58s", name.text);
    }
    return out;
}

static lw_name
access_suffix(lw_emitter *e)
{
    bool invariant = e->inst->op == LW_OP_LOAD && (e->inst->flags & LW_MEM_INVARIANT);
    lw_name name = {""};

    if (invariant && e->invariant == 0)
        e->invariant = lw_metadata(e, "!{}");
    if (invariant)
        snprintf(name.text, sizeof name.text, ", !invariant.load !%u", e->invariant);
    if (e->access)
        snprintf(name.text + strlen(name.text), sizeof name.text - strlen(name.text),
                 ", !llvm.access.group !%u", e->access);
    return name;
}

/* The vector's lanes out of the words that were loaded. */
static void
unpack_words(lw_emitter *e, const shape *s, lw_name loaded, lw_dtype type, uint32_t lanes)
{
    uint32_t bits = lw_dtypes[type].bits, each = lanes / s->words;
    lw_name word = loaded, part, vector = {"undef"};

    for (uint32_t i = 0; i < lanes; i++) {
        if (i % each == 0 && s->words > 1)
            word = lw_def(e, "extractelement $s $s, i32 $u", s->text, loaded.text, i / each);
        part = i % each ? lw_def(e, "lshr i32 $s, $u", word.text, i % each * bits) : word;
        part = lw_def(e, "trunc i32 $s to i$u", part.text, bits);
        if (type == LW_DT_b1)
            part = lw_def(e, "icmp ne i8 $s, 0", part.text);
        else if (type == LW_DT_f16)
            part = lw_def(e, "bitcast i16 $s to half", part.text);
        if (i + 1 < lanes)
            vector = lw_def(e, "insertelement <$u x $t> $s, $t $s, i32 $u", lanes, type,
                            vector.text, type, part.text, i);
        else
            lw_result(e, "insertelement <$u x $t> $s, $t $s, i32 $u", lanes, type, vector.text,
                      type, part.text, i);
    }
}

static lw_name
pack_words(lw_emitter *e, const shape *s, lw_name vector, lw_dtype type, uint32_t lanes)
{
    uint32_t bits = lw_dtypes[type].bits, each = lanes / s->words;
    lw_name word = {""}, part, words = {"undef"};

    for (uint32_t i = 0; i < lanes; i++) {
        part = lw_def(e, "extractelement <$u x $t> $s, i32 $u", lanes, type, vector.text, i);
        if (type == LW_DT_f16)
            part = lw_def(e, "bitcast half $s to i16", part.text);
        part = lw_def(e, "zext $s $s to i32", type == LW_DT_f16 ? "i16" : lw_type(e, type),
                      part.text);
        if (i % each)
            part = lw_def(e, "shl i32 $s, $u", part.text, i % each * bits);
        word = i % each ? lw_def(e, "or i32 $s, $s", word.text, part.text) : part;
        if (i % each == each - 1 && s->words > 1)
            words = lw_def(e, "insertelement $s $s, i32 $s, i32 $u", s->text, words.text,
                           word.text, i / each);
    }
    return s->words > 1 ? words : word;
}

static void
emit_load(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t lanes = e->inst->lanes > 1 ? e->inst->lanes : 1;
    shape s = shape_of(e, type, lanes);
    lw_name pointer = pointer_to(e, s.text, e->inst->a), suffix = access_suffix(e), value;

    if (s.words == 0 && type != LW_DT_b1) {
        lw_result(e, "load $s, $s, align $u$s", s.text, pointer.text, s.align, suffix.text);
        return;
    }
    value = lw_def(e, "load $s, $s, align $u$s", s.text, pointer.text, s.align, suffix.text);
    if (s.words)
        unpack_words(e, &s, value, type, lanes);
    else
        lw_result(e, "icmp ne $s $s, $s", s.text, value.text,
                  lanes > 1 ? "zeroinitializer" : "0");
}

static void
emit_store(lw_emitter *e)
{
    const lw_inst *made = &e->func->insts.data[e->inst->b];
    lw_dtype type = (lw_dtype)made->type;
    uint32_t lanes = made->lanes > 1 ? made->lanes : 1;
    shape s = shape_of(e, type, lanes);
    lw_name value = lw_operand(e, e->inst->b), pointer, suffix = access_suffix(e);

    if (s.words)
        value = pack_words(e, &s, value, type, lanes);
    else if (type == LW_DT_b1 && lanes > 1)
        value = lw_def(e, "zext <$u x i1> $s to $s", lanes, value.text, s.text);
    else if (type == LW_DT_b1)
        value = lw_def(e, "zext i1 $s to i8", value.text);
    pointer = pointer_to(e, s.text, e->inst->a);
    lw_line(e, "store $s $s, $s, align $u$s", s.text, value.text, pointer.text, s.align,
            suffix.text);
}

static void
emit_pack(lw_emitter *e)
{
    lw_dtype type = (lw_dtype)e->inst->type;
    uint32_t lanes = e->inst->lanes;
    lw_name vector = {"undef"};

    if (!e->gpu)
        snprintf(vector.text, sizeof vector.text, "poison");
    for (uint32_t i = 0; i < lanes; i++) {
        lw_ref value = e->func->lists.data[e->inst->b + i];
        if (i + 1 < lanes)
            vector = lw_def(e, "insertelement <$u x $t> $s, $t $v, i32 $u", lanes, type,
                            vector.text, type, value, i);
        else
            lw_result(e, "insertelement <$u x $t> $s, $t $v, i32 $u", lanes, type, vector.text,
                      type, value, i);
    }
}

static void
emit_lane(lw_emitter *e)
{
    const lw_inst *vector = &e->func->insts.data[e->inst->a];
    lw_dtype type = (lw_dtype)vector->type;

    if (vector->lanes > 1)
        lw_result(e, "extractelement <$u x $t> $v, i32 $u", (uint32_t)vector->lanes, type,
                  e->inst->a, e->inst->b);
    else
        lw_result(e, "select i1 true, $t $v, $t $v", type, e->inst->a, type, e->inst->a);
}

static void
emit_slot(lw_emitter *e, lw_ref slot, bool is_set)
{
    lw_dtype type = lw_operand_type(e, slot);
    const char *star = e->typed ? "*" : "", *pointer = e->typed ? lw_type(e, type) : "ptr";

    if (is_set)
        lw_line(e, "store $t $v, $s$s %s$u", type, e->inst->b, pointer, star, slot);
    else
        lw_result(e, "load $t, $s$s %s$u", type, pointer, star, slot);
}

/* ---- one instruction, and all of a function ---- */

static void
emit_inst(lw_emitter *e)
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
    case LW_OP_AND: emit_binary(e, "", "and", "and"); break;
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
    case LW_OP_CAST: lw_emit_cast(e); break;
    case LW_OP_BITCAST: emit_bitcast(e); break;
    case LW_OP_INTRINSIC: lw_emit_intrinsic(e); break;
    case LW_OP_SREG:
        if (e->regions.n == 0)
            lw_emit_sreg(e);
        break;
    case LW_OP_GET: emit_slot(e, e->inst->a, false); break;
    case LW_OP_SET: emit_slot(e, e->inst->a, true); break;
    case LW_OP_OFFSET:
        lw_result(e, "getelementptr i8, $t $v, $t $v", LW_DT_ptr, e->inst->a,
                  lw_operand_type(e, e->inst->b), e->inst->b);
        break;
    case LW_OP_LOAD:
        lw_emit_watch(e);
        emit_load(e);
        break;
    case LW_OP_STORE:
        lw_emit_watch(e);
        emit_store(e);
        break;
    case LW_OP_PACK: emit_pack(e); break;
    case LW_OP_LANE: emit_lane(e); break;
    case LW_OP_CALL: lw_emit_call(e); break;
    case LW_OP_RESULT: lw_emit_call_result(e); break;
    case LW_OP_HOST_CALL: lw_emit_host_call(e); break;
    case LW_OP_ATOMIC:
        lw_emit_watch(e);
        lw_emit_atomic(e);
        break;
    case LW_OP_KERNEL_CALL: lw_emit_kernel_call(e); break;
    case LW_OP_BARRIER: lw_emit_barrier(e); break;
    case LW_OP_PRINT: lw_emit_print(e); break;
    case LW_OP_LOCAL:
    case LW_OP_SHARED:
    case LW_OP_DYNAMIC:
    case LW_OP_DATA:
    case LW_OP_CONTEXT:
    case LW_OP_CONST:
    case LW_OP_PARAM:
    case LW_OP_SLOT:
    case LW_OP_NONE:
    case LW_N_OPS: break;
    default: lw_emit_flow(e); break;
    }
}

/* What may be used outside the region it stands in: memory, and special registers in a region.
 */
static void
emit_early(lw_emitter *e)
{
    unsigned depth = 0;

    for (e->at = 1; e->at < e->func->insts.n; e->at++) {
        e->inst = &e->func->insts.data[e->at];
        switch (e->inst->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP: depth++; break;
        case LW_OP_END: depth--; break;
        case LW_OP_LOCAL:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_DATA:
        case LW_OP_CONTEXT: lw_emit_memory_decl(e); break;
        case LW_OP_SREG:
            if (depth > 0)
                lw_emit_sreg(e);
            break;
        default: break;
        }
    }
}

static void
emit_entry(lw_emitter *e)
{
    bool is_entry = e->func->linkage == LW_KERNEL || e->func->linkage == LW_EXPORTED;

    lw_text_add(e->out, "entry:\n");
    for (uint32_t i = 1; i < e->func->insts.n; i++)
        if (e->func->insts.data[i].op == LW_OP_SLOT)
            lw_line(e, "%s$u = alloca $t", i, (lw_dtype)e->func->insts.data[i].type);
    emit_early(e);
    for (uint32_t i = 0; is_entry && i < e->func->params.n; i++)
        if (e->func->params.data[i].type == LW_DT_b1)
            lw_line(e, "%p$ub = icmp ne i8 %p$u, 0", i, i);
}

lw_status
lw_emit_body(lw_emitter *e)
{
    e->regions.n = 0;
    e->next_temp = 0;
    e->ended = false;
    e->access = 0;
    emit_entry(e);
    for (e->at = 1; e->at < e->func->insts.n && e->status == LW_OK; e->at++) {
        e->inst = &e->func->insts.data[e->at];
        lw_debug_inst(e);
        emit_inst(e);
    }
    e->inst = NULL;
    if (!e->ended)
        lw_line(e, "unreachable");
    return e->status;
}
