/* Operands, types and lines of LLVM text. The files of this folder write both dialects, which
 * differ in the spelling of pointers, in fneg, undef and flags on select, and in vectors of
 * narrow elements. */
#include "core/emit/emit_internal.h"

#include <assert.h>
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

    assert(type != LW_DT_void && !lw_is_complex(type));
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

    assert(value > 0 && value < e->func->insts.n);
    assert(inst->type != LW_DT_void || lw_op_is_call((lw_op)inst->op)); /* of several results */
    if (inst->op == LW_OP_CONST)
        return constant(e, (lw_dtype)inst->type, e->func->constants.data[inst->a].bits);
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
        default: assert(!"a mark that is none");
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

    assert(e->inst != NULL && e->at > 0); /* a result is that of an instruction */
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

    assert(lw_is_float(type));
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
lw_declare_once(lw_emitter *e, lw_text *line)
{
    if (line->failed)
        e->declares.failed = true;
    else if (strstr(lw_text_get(&e->declares), lw_text_get(line)) == NULL)
        lw_text_add(&e->declares, lw_text_get(line));
    lw_text_reset(line);
}

void
lw_declare_line(lw_emitter *e, const char *line)
{
    if (strstr(lw_text_get(&e->declares), line) == NULL)
        lw_text_add(&e->declares, line);
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
    lw_declare_once(e, &line);
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
        if (e->inst->flags & flags[i].bit) {
            assert(strlen(name.text) + strlen(flags[i].text) < sizeof name.text);
            strcat(name.text, flags[i].text);
        }
    return name;
}
