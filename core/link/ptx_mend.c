/* All faults were found by fuzzing on an H200 and an H100 (2026-11-21 to 2026-11-29), and each
 * was seen in the machine code. They are mended in the PTX, since LLVM makes these instructions
 * out of many things, and for all versions of ptxas, since code may be assembled by another
 * than the one that is installed here.
 *
 * - neg.s16: ptxas 13.0 takes its result for sign-extended without wrapping it, so -(-32768)
 *   goes on as 32768. A product is wrapped.
 * - abs.s32, abs.s64: ptxas takes the result for positive, which that of the least integer is
 *   not.
 * - neg.s32 in a chain of max or min: max(max(a, -b), c) becomes one instruction of three
 *   operands that has lost the minus (sm_90 and sm_100, ptxas 12.6 to 13.3).
 * - shl.b64 beside shr.u64 or shr.s64: (x >> 64 - k) - (x << k) becomes a rotation, as only
 *   their sum is, and so does the sum with an arithmetic shift (all architectures, ptxas before
 *   13.3).
 * - copysign.f32, copysign.f64 of one register: copysign(x, x) loses its sign (ptxas before
 *   13.4). It becomes a move.
 * - max and min of 16 bits: if ptxas finds that an operand is constant, it replaces a
 * comparison of the result with zero by a predicate that the instruction sets, which has
 * another meaning (VIMNMX.U16x2; sm_90, ptxas 13.0, not 13.5). The instruction is computed in
 * 32 bits, unless its result is only stored, packed or passed to another max or min of 16 bits.
 */
#include "core/link/ptx_mend.h"

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/link/ptx_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* shr.u64 or shr.s64 by a constant. */
typedef struct right_shift {
    lw_ptx_span result, source;
    long distance;
    bool is_logical;
} right_shift;

/* The text that is looked at, and what its instructions have to know of each other. */
typedef struct mending {
    const char *ptx;
    lw_text out;
    LW_ARRAY(lw_ptx_span) compared; /* operands of max.s32 and min.s32, and what is moved */
    LW_ARRAY(right_shift) shifts;
    /* [n]: whether an instruction computes with the register %rs<n> */
    LW_ARRAY(bool) looked_at;
} mending;

static bool
note_operands(mending *m, const lw_ptx_instruction *i)
{
    for (int o = 1; o < i->n_operands; o++) {
        lw_ptx_span *slot = lw_array_push(&m->compared, NULL);

        if (slot == NULL)
            return false;
        *slot = i->operands[o];
    }
    return true;
}

static bool
note_shift(mending *m, const lw_ptx_instruction *i)
{
    right_shift *slot;

    if (i->n_operands != 3 || !lw_ptx_is_number(i->operands[2]))
        return true;
    if ((slot = lw_array_push(&m->shifts, NULL)) == NULL)
        return false;
    *slot = (right_shift){i->operands[0], i->operands[1], strtol(i->operands[2].at, NULL, 10),
                          lw_ptx_is(i->opcode, "shr.u64")};
    return true;
}

static bool
is_short_extremum(const lw_ptx_instruction *i)
{
    return lw_ptx_is(i->opcode, "max.s16") || lw_ptx_is(i->opcode, "max.u16") ||
           lw_ptx_is(i->opcode, "min.s16") || lw_ptx_is(i->opcode, "min.u16");
}

/* The number of a 16-bit register, as in %rs12; -1: it is something else. */
static long
short_register(lw_ptx_span operand)
{
    return lw_ptx_begins(operand, "%rs") ? strtol(operand.at + strlen("%rs"), NULL, 10) : -1;
}

/* Notes which 16-bit registers an instruction computes with. Stores and packing (mov.b32) only
 * copy a value, and a max or min of 16 bits is rewritten itself where that is needed. */
static bool
note_looks(mending *m, const lw_ptx_instruction *i)
{
    if (is_short_extremum(i) || lw_ptx_begins(i->opcode, "st.") ||
        lw_ptx_is(i->opcode, "mov.b32"))
        return true;
    for (int o = 1; o < i->n_operands; o++) {
        long number = short_register(i->operands[o]);

        while (number >= 0 && (long)m->looked_at.n <= number) {
            bool *slot = lw_array_push(&m->looked_at, NULL);

            if (slot == NULL)
                return false;
            *slot = false;
        }
        if (number >= 0)
            m->looked_at.data[number] = true;
    }
    return true;
}

/* Notes what rules ask of other instructions. */
static bool
take_notes(mending *m)
{
    lw_ptx_instruction i;
    bool done = true;

    for (const char *at = m->ptx; done && lw_ptx_next(at, &i); at = i.end) {
        if (lw_ptx_is(i.opcode, "max.s32") || lw_ptx_is(i.opcode, "min.s32") ||
            (i.opcode.n > 4 && memcmp(i.opcode.at, "mov.", 4) == 0))
            done = note_operands(m, &i);
        else if (lw_ptx_is(i.opcode, "shr.u64") || lw_ptx_is(i.opcode, "shr.s64"))
            done = note_shift(m, &i);
        done = done && note_looks(m, &i);
    }
    return done;
}

/* ---- rules: each writes its replacement, or returns false if the instruction stays ---- */

static bool
mend_narrow_negation(mending *m, const lw_ptx_instruction *i)
{
    lw_text_addf(&m->out, "mul.lo.s16 %.*s, %.*s, -1;", i->operands[0].n, i->operands[0].at,
                 i->operands[1].n, i->operands[1].at);
    return true;
}

/* Computes (x ^ s) - s with s = x >> 31, of which all bits wrap. */
static bool
mend_magnitude(mending *m, const lw_ptx_instruction *i)
{
    lw_ptx_span r = i->operands[0], x = i->operands[1];
    int bits = lw_ptx_is(i->opcode, "abs.s64") ? 64 : 32;

    lw_text_addf(&m->out, "{ .reg .b%d sign; shr.s%d sign, %.*s, %d; ", bits, bits, x.n, x.at,
                 bits - 1);
    lw_text_addf(&m->out, "xor.b%d %.*s, %.*s, sign; sub.s%d %.*s, %.*s, sign; }", bits, r.n,
                 r.at, x.n, x.at, bits, r.n, r.at, r.n, r.at);
    return true;
}

static bool
mend_compared_negation(mending *m, const lw_ptx_instruction *i)
{
    lw_ptx_span r = i->operands[0], x = i->operands[1];

    for (uint32_t k = 0; k < m->compared.n; k++)
        if (lw_ptx_is_same(m->compared.data[k], r)) {
            lw_text_addf(&m->out, "{ not.b32 %.*s, %.*s; add.s32 %.*s, %.*s, 1; }", r.n, r.at,
                         x.n, x.at, r.n, r.at, r.n, r.at);
            return true;
        }
    return false;
}

/* Whether each use of the register keeps a rotation what it is. */
static bool
is_only_joined(const mending *m, lw_ptx_span value, bool logical)
{
    lw_ptx_instruction i;

    for (const char *at = m->ptx; lw_ptx_next(at, &i); at = i.end) {
        bool joins =
            lw_ptx_is(i.opcode, "or.b64") || lw_ptx_is(i.opcode, "xor.b64") ||
            lw_ptx_is(i.opcode, "and.b64") ||
            (logical && (lw_ptx_is(i.opcode, "add.s64") || lw_ptx_is(i.opcode, "add.u64")));

        for (int o = 1; o < i.n_operands && !joins; o++)
            if (lw_ptx_is_same(i.operands[o], value))
                return false;
    }
    return true;
}

static bool
mend_shift_left(mending *m, const lw_ptx_instruction *i)
{
    lw_ptx_span r = i->operands[0], x = i->operands[1];
    long distance;

    if (i->n_operands != 3 || !lw_ptx_is_number(i->operands[2]))
        return false;
    distance = strtol(i->operands[2].at, NULL, 10);
    for (uint32_t k = 0; k < m->shifts.n; k++) {
        const right_shift *right = &m->shifts.data[k];

        if (distance > 0 && right->distance == 64 - distance &&
            lw_ptx_is_same(right->source, x) &&
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
mend_own_sign(mending *m, const lw_ptx_instruction *i)
{
    lw_ptx_span r = i->operands[0], x = i->operands[1];

    if (i->n_operands != 3 || !lw_ptx_is_same(x, i->operands[2]))
        return false;
    lw_text_addf(&m->out, "mov.%.3s %.*s, %.*s;", i->opcode.at + strlen("copysign."), r.n, r.at,
                 x.n, x.at);
    return true;
}

/* Sets the register `name` of 32 bits to a register or a number of 16. sign: 's' or 'u'. */
static void
add_widened(mending *m, const char *name, char sign, lw_ptx_span x)
{
    long number;

    if (lw_ptx_begins(x, "%")) {
        lw_text_addf(&m->out, "cvt.%c32.%c16 %s, %.*s; ", sign, sign, name, x.n, x.at);
        return;
    }
    number = strtol(x.at, NULL, 0);
    lw_text_addf(&m->out, "mov.b32 %s, %ld; ", name,
                 sign == 's' ? (long)(int16_t)number : (long)(uint16_t)number);
}

static bool
mend_short_extremum(mending *m, const lw_ptx_instruction *i)
{
    lw_ptx_span r = i->operands[0];
    char sign = i->opcode.at[strlen("max.")];
    long number = short_register(r);

    if (i->n_operands != 3 || i->is_guarded || number < 0 || number >= (long)m->looked_at.n ||
        !m->looked_at.data[number])
        return false;
    lw_text_add(&m->out, "{ .reg .b32 x, y; ");
    add_widened(m, "x", sign, i->operands[1]);
    add_widened(m, "y", sign, i->operands[2]);
    lw_text_addf(&m->out, "%.3s.%c32 x, x, y; cvt.u16.u32 %.*s, x; }", i->opcode.at, sign, r.n,
                 r.at);
    return true;
}

static const struct rule {
    const char *opcode;
    bool (*mend)(mending *m, const lw_ptx_instruction *i);
} rules[] = {
    {"neg.s16", mend_narrow_negation}, {"abs.s32", mend_magnitude},
    {"abs.s64", mend_magnitude},       {"neg.s32", mend_compared_negation},
    {"shl.b64", mend_shift_left},      {"copysign.f32", mend_own_sign},
    {"copysign.f64", mend_own_sign},   {"max.s16", mend_short_extremum},
    {"max.u16", mend_short_extremum},  {"min.s16", mend_short_extremum},
    {"min.u16", mend_short_extremum},
};

static bool
mend_instruction(mending *m, const lw_ptx_instruction *i)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (i->n_operands >= 2 && lw_ptx_is(i->opcode, rules[k].opcode))
            return rules[k].mend(m, i);
    return false;
}

lw_status
lw_ptx_mend(lw_bytes *ptx, lw_error *err)
{
    lw_status status = LW_OK;
    mending m = {.ptx = ptx->n ? (const char *)ptx->data : ""};
    const char *copied = m.ptx;
    lw_ptx_instruction i;
    lw_bytes mended;
    bool done = take_notes(&m);

    lw_text_init(&m.out);
    for (const char *at = m.ptx; done && lw_ptx_next(at, &i); at = i.end) {
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
    lw_array_free(&m.looked_at);
    return status;
}
