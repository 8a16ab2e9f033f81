/* All faults were found by fuzzing on an H200 and an H100 (2026-11-21, 2026-11-26), and each
 * was seen in the machine code. They are mended in the PTX, since LLVM makes these instructions
 * out of many things, and for all versions of ptxas, since code may be assembled by another
 * than the one that is installed here.
 *
 *   neg.s16             ptxas 13.0 takes its result for sign-extended without wrapping it:
 * -(-32768) goes on as 32768. A product is wrapped. abs.s32, abs.s64    ptxas takes the result
 * for positive, which that of the least integer is not. neg.s32 in a chain  max(max(a, -b), c)
 * becomes one instruction of three operands that has lost the of max or min       minus: sm_90
 * and sm_100, ptxas 12.6 to 13.3. shl.b64 beside      (x >> 64 - k) - (x << k) becomes a
 * rotation, as only their sum is, and so does shr.u64, shr.s64    the sum with an arithmetic
 * shift: all architectures, ptxas before 13.3. */
#include "core/link/ptx_mend.h"

#include "core/base/array.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 4 };

typedef struct span {
    const char *at;
    int n;
} span;

/* One instruction, "@%p1 shl.b64 %rd1, %rd2, 3;": the guard is not part of it. */
typedef struct instruction {
    const char *start; /* the opcode's first character */
    const char *end;   /* behind the semicolon */
    span opcode, operands[MAX_OPERANDS];
    int n_operands;
} instruction;

/* shr.u64 or shr.s64 by a constant. */
typedef struct right_shift {
    span result, source;
    long distance;
    bool is_logical;
} right_shift;

/* The text that is looked at, and what its instructions have to know of each other. */
typedef struct mending {
    const char *ptx;
    lw_text out;
    LW_ARRAY(span) compared; /* operands of max.s32 and min.s32, and what is moved */
    LW_ARRAY(right_shift) shifts;
} mending;

static bool
is_same(span a, span b)
{
    return a.n == b.n && memcmp(a.at, b.at, (size_t)a.n) == 0;
}

static bool
is_text(span a, const char *text)
{
    return strlen(text) == (size_t)a.n && memcmp(a.at, text, (size_t)a.n) == 0;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- reading ---- */

static span
trimmed(const char *start, const char *end)
{
    while (start < end && is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    return (span){start, (int)(end - start)};
}

/* Past spaces, braces that open a block, and a guard. */
static const char *
to_opcode(const char *at)
{
    while (is_blank(*at) || *at == '{' || *at == '}')
        at++;
    if (*at == '@') {
        while (*at != 0 && !is_blank(*at))
            at++;
        while (is_blank(*at))
            at++;
    }
    return at;
}

/* Reads the next text that ends with a semicolon on its own line; false at the end. What is no
 * instruction (labels, directives) reads as one that no rule knows. */
static bool
next_instruction(const char *at, instruction *out)
{
    const char *end, *comma;

    for (;; at = end + 1) {
        at = to_opcode(at);
        if (*at == 0)
            return false;
        end = at + strcspn(at, ";\n");
        if (*end == 0)
            return false;
        if (*end == ';')
            break;
    }
    *out = (instruction){.start = at, .end = end + 1};
    out->opcode = (span){at, (int)strcspn(at, " \t;")};
    at += out->opcode.n;
    while (at < end && out->n_operands < MAX_OPERANDS) {
        comma = memchr(at, ',', (size_t)(end - at));
        out->operands[out->n_operands++] = trimmed(at, comma ? comma : end);
        at = comma ? comma + 1 : end;
    }
    return true;
}

static bool
note_operands(mending *m, const instruction *i)
{
    for (int o = 1; o < i->n_operands; o++) {
        span *slot = lw_array_push(&m->compared, NULL);

        if (slot == NULL)
            return false;
        *slot = i->operands[o];
    }
    return true;
}

static bool
note_shift(mending *m, const instruction *i)
{
    right_shift *slot;

    if (i->n_operands != 3 || !is_digit(*i->operands[2].at))
        return true;
    if ((slot = lw_array_push(&m->shifts, NULL)) == NULL)
        return false;
    *slot = (right_shift){i->operands[0], i->operands[1], strtol(i->operands[2].at, NULL, 10),
                          is_text(i->opcode, "shr.u64")};
    return true;
}

/* Notes what rules ask of other instructions. */
static bool
take_notes(mending *m)
{
    instruction i;
    bool done = true;

    for (const char *at = m->ptx; done && next_instruction(at, &i); at = i.end) {
        if (is_text(i.opcode, "max.s32") || is_text(i.opcode, "min.s32") ||
            (i.opcode.n > 4 && memcmp(i.opcode.at, "mov.", 4) == 0))
            done = note_operands(m, &i);
        else if (is_text(i.opcode, "shr.u64") || is_text(i.opcode, "shr.s64"))
            done = note_shift(m, &i);
    }
    return done;
}

/* ---- rules: each writes its replacement, or returns false if the instruction stays ---- */

static bool
mend_narrow_negation(mending *m, const instruction *i)
{
    lw_text_addf(&m->out, "mul.lo.s16 %.*s, %.*s, -1;", i->operands[0].n, i->operands[0].at,
                 i->operands[1].n, i->operands[1].at);
    return true;
}

/* Computes (x ^ s) - s with s = x >> 31, of which all bits wrap. */
static bool
mend_magnitude(mending *m, const instruction *i)
{
    span r = i->operands[0], x = i->operands[1];
    int bits = is_text(i->opcode, "abs.s64") ? 64 : 32;

    lw_text_addf(&m->out, "{ .reg .b%d sign; shr.s%d sign, %.*s, %d; ", bits, bits, x.n, x.at,
                 bits - 1);
    lw_text_addf(&m->out, "xor.b%d %.*s, %.*s, sign; sub.s%d %.*s, %.*s, sign; }", bits, r.n,
                 r.at, x.n, x.at, bits, r.n, r.at, r.n, r.at);
    return true;
}

static bool
mend_compared_negation(mending *m, const instruction *i)
{
    span r = i->operands[0], x = i->operands[1];

    for (uint32_t k = 0; k < m->compared.n; k++)
        if (is_same(m->compared.data[k], r)) {
            lw_text_addf(&m->out, "{ not.b32 %.*s, %.*s; add.s32 %.*s, %.*s, 1; }", r.n, r.at,
                         x.n, x.at, r.n, r.at, r.n, r.at);
            return true;
        }
    return false;
}

/* Whether each use of the register keeps a rotation what it is. */
static bool
is_only_joined(const mending *m, span value, bool logical)
{
    instruction i;

    for (const char *at = m->ptx; next_instruction(at, &i); at = i.end) {
        bool joins =
            is_text(i.opcode, "or.b64") || is_text(i.opcode, "xor.b64") ||
            is_text(i.opcode, "and.b64") ||
            (logical && (is_text(i.opcode, "add.s64") || is_text(i.opcode, "add.u64")));

        for (int o = 1; o < i.n_operands && !joins; o++)
            if (is_same(i.operands[o], value))
                return false;
    }
    return true;
}

static bool
mend_shift_left(mending *m, const instruction *i)
{
    span r = i->operands[0], x = i->operands[1];
    long distance;

    if (i->n_operands != 3 || !is_digit(*i->operands[2].at))
        return false;
    distance = strtol(i->operands[2].at, NULL, 10);
    for (uint32_t k = 0; k < m->shifts.n; k++) {
        const right_shift *right = &m->shifts.data[k];

        if (distance > 0 && right->distance == 64 - distance && is_same(right->source, x) &&
            !(is_only_joined(m, right->result, right->is_logical) &&
              is_only_joined(m, r, right->is_logical))) {
            lw_text_addf(&m->out, "mul.lo.s64 %.*s, %.*s, %lld;", r.n, r.at, x.n, x.at,
                         (long long)(1ULL << distance));
            return true;
        }
    }
    return false;
}

static bool
mend_own_sign(mending *m, const instruction *i)
{
    span r = i->operands[0], x = i->operands[1];

    if (i->n_operands != 3 || !is_same(x, i->operands[2]))
        return false;
    lw_text_addf(&m->out, "mov.%.3s %.*s, %.*s;", i->opcode.at + strlen("copysign."), r.n, r.at,
                 x.n, x.at);
    return true;
}

static const struct rule {
    const char *opcode;
    bool (*mend)(mending *m, const instruction *i);
} rules[] = {
    {"neg.s16", mend_narrow_negation}, {"abs.s32", mend_magnitude},
    {"abs.s64", mend_magnitude},       {"neg.s32", mend_compared_negation},
    {"shl.b64", mend_shift_left},      {"copysign.f32", mend_own_sign},
    {"copysign.f64", mend_own_sign},
};

static bool
mend_instruction(mending *m, const instruction *i)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (i->n_operands >= 2 && is_text(i->opcode, rules[k].opcode))
            return rules[k].mend(m, i);
    return false;
}

lw_status
lw_ptx_mend(lw_bytes *ptx, lw_error *err)
{
    lw_status status = LW_OK;
    mending m = {.ptx = ptx->n ? (const char *)ptx->data : ""};
    const char *copied = m.ptx;
    instruction i;
    lw_bytes mended;
    bool done = take_notes(&m);

    lw_text_init(&m.out);
    for (const char *at = m.ptx; done && next_instruction(at, &i); at = i.end) {
        lw_text_add_n(&m.out, copied, (size_t)(i.start - copied));
        copied = mend_instruction(&m, &i) ? i.end : i.start;
    }
    lw_text_add(&m.out, copied);
    if (!done || m.out.failed || !lw_bytes_copy(&mended, lw_text_get(&m.out), m.out.n)) {
        status = lw_fail_memory(err);
    } else {
        lw_bytes_reset(ptx);
        *ptx = mended;
    }
    lw_text_reset(&m.out);
    lw_array_free(&m.compared);
    lw_array_free(&m.shifts);
    return status;
}
