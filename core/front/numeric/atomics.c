/* Atomic updates. There are three ways, chosen by kind and type: one ATOMIC on the element;
 * AND, OR, XOR on the word around a narrow element, with bits that do not change its
 * neighbours; else a loop that computes the new value and tries to store it by CAS. The last
 * two are functions of the module, one for each kind and type, whose names begin with
 * LW_UPDATE_STEM. The loop starts with a plain load, whose value CAS then checks. */
#include "core/front/numeric/atomics.h"

#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric_internal.h"

#include <stdio.h>

bool
lw_atomic_takes(lw_atomic_kind kind, lw_dtype type)
{
    bool is_integer = lw_is_integer(type), is_float = lw_is_float(type);

    switch (kind) {
    case LW_UPDATE_ADD:
    case LW_UPDATE_SUB: return is_integer || is_float || lw_is_complex(type);
    case LW_UPDATE_AND:
    case LW_UPDATE_OR:
    case LW_UPDATE_XOR: return is_integer || type == LW_DT_b1;
    case LW_UPDATE_INC:
    case LW_UPDATE_DEC: return lw_dtypes[type].kind == LW_KIND_UINT;
    case LW_UPDATE_CAS:
    case LW_UPDATE_EXCH: return is_integer || is_float || type == LW_DT_b1;
    default: return is_integer || is_float;
    }
}

static lw_dtype
bits_of(lw_dtype type)
{
    switch (lw_dtypes[type].size_bytes) {
    case 1: return LW_DT_u8;
    case 2: return LW_DT_u16;
    case 4: return LW_DT_u32;
    default: return LW_DT_u64;
    }
}

static bool
is_narrow(lw_dtype type)
{
    return lw_dtypes[type].size_bytes < 4;
}

/* The bits of a value as the unsigned integer of its width, and the value of such bits. A bool
 * is a byte, 0 or 1. */
static lw_ref
to_bits(lw_builder *b, lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);

    return type == LW_DT_b1 ? lw_ir_cast(b, LW_DT_u8, value)
                            : lw_ir_bitcast(b, bits_of(type), value);
}

static lw_ref
from_bits(lw_builder *b, lw_dtype type, lw_ref bits)
{
    return type == LW_DT_b1 ? lw_ir_cast(b, type, bits) : lw_ir_bitcast(b, type, bits);
}

/* ---- one instruction ---- */

/* The ATOMIC of the IR that updates this type; LW_N_ATOMICS: none does. */
static lw_atomic
native(lw_atomic_kind kind, lw_dtype type)
{
    bool is_float = lw_is_float(type);

    if (is_narrow(type))
        return LW_N_ATOMICS;
    switch (kind) {
    case LW_UPDATE_ADD:
    case LW_UPDATE_SUB: return LW_ATOMIC_ADD;
    case LW_UPDATE_AND: return LW_ATOMIC_AND;
    case LW_UPDATE_OR: return LW_ATOMIC_OR;
    case LW_UPDATE_XOR: return LW_ATOMIC_XOR;
    case LW_UPDATE_EXCH: return LW_ATOMIC_EXCH;
    case LW_UPDATE_CAS: return LW_ATOMIC_CAS;
    case LW_UPDATE_MAX:
    case LW_UPDATE_NANMAX: return is_float ? LW_N_ATOMICS : LW_ATOMIC_MAX;
    case LW_UPDATE_MIN:
    case LW_UPDATE_NANMIN: return is_float ? LW_N_ATOMICS : LW_ATOMIC_MIN;
    case LW_UPDATE_INC: return type == LW_DT_u32 ? LW_ATOMIC_INC : LW_N_ATOMICS;
    case LW_UPDATE_DEC: return type == LW_DT_u32 ? LW_ATOMIC_DEC : LW_N_ATOMICS;
    default: return LW_N_ATOMICS;
    }
}

/* ---- the word around a narrow element ---- */

typedef struct word {
    lw_ref pointer; /* aligned by 4 */
    lw_ref shift;   /* u32: where the element starts */
    lw_ref mask;    /* u32: ones in the bits of the element */
} word;

static word
word_around(lw_builder *b, lw_dtype type, lw_ref pointer)
{
    assert(is_narrow(type));
    lw_ref three = lw_ir_int(b, LW_DT_i64, 3), zero = lw_ir_zero(b, LW_DT_i64);
    lw_ref within = lw_ir_and(b, lw_ir_bitcast(b, LW_DT_i64, pointer), three);
    lw_ref ones = lw_ir_int(b, LW_DT_u32, lw_dtypes[type].size_bytes == 1 ? 0xff : 0xffff);
    word w;

    w.pointer = lw_ir_offset(b, pointer, lw_ir_sub(b, zero, within));
    w.shift = lw_ir_shl(b, lw_ir_cast(b, LW_DT_u32, within), lw_ir_int(b, LW_DT_u32, 3));
    w.mask = lw_ir_shl(b, ones, w.shift);
    return w;
}

static lw_ref
in_place(lw_builder *b, const word *w, lw_ref value)
{
    return lw_ir_shl(b, lw_ir_cast(b, LW_DT_u32, to_bits(b, value)), w->shift);
}

static lw_ref
out_of(lw_builder *b, const word *w, lw_dtype type, lw_ref whole)
{
    return from_bits(b, type, lw_ir_cast(b, bits_of(type), lw_ir_shr(b, whole, w->shift)));
}

static bool
is_logic(lw_atomic_kind kind)
{
    return kind == LW_UPDATE_AND || kind == LW_UPDATE_OR || kind == LW_UPDATE_XOR;
}

static void
narrow_logic(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer, lw_ref operand)
{
    word w = word_around(b, type, pointer);
    lw_ref bits = in_place(b, &w, operand);
    lw_atomic which = kind == LW_UPDATE_OR ? LW_ATOMIC_OR : LW_ATOMIC_XOR;
    lw_ref old;

    if (kind == LW_UPDATE_AND) {
        which = LW_ATOMIC_AND;
        bits = lw_ir_or(b, bits, lw_ir_not(b, w.mask));
    }
    old = out_of(b, &w, type, lw_ir_atomic(b, which, w.pointer, &bits, 1));
    lw_ir_return(b, &old, 1);
}

/* ---- the loop ---- */

/* Whether memory that holds `old` is to be changed; 0: always. */
static lw_ref
changes(lw_builder *b, lw_atomic_kind kind, lw_ref old, lw_ref x)
{
    bool up = kind == LW_UPDATE_MAX || kind == LW_UPDATE_NANMAX;
    lw_ref beyond, replaces;

    if (kind == LW_UPDATE_CAS)
        return lw_ir_compare(b, LW_OP_EQ, to_bits(b, old), to_bits(b, x));
    if (kind < LW_UPDATE_MAX)
        return 0;
    beyond = lw_ir_compare(b, up ? LW_OP_LT : LW_OP_GT, old, x);
    if (kind < LW_UPDATE_NANMAX || !lw_is_float(lw_ir_type(b, x)))
        return beyond;
    replaces =
        lw_ir_and(b, lw_ir_compare(b, LW_OP_NE, old, old), lw_ir_compare(b, LW_OP_EQ, x, x));
    return lw_ir_or(b, beyond, replaces);
}

static lw_ref
new_value(lw_builder *b, lw_atomic_kind kind, lw_ref old, lw_ref x, lw_ref y)
{
    lw_dtype type = lw_ir_type(b, old);
    lw_ref one = 0, zero = 0;

    if (kind == LW_UPDATE_INC || kind == LW_UPDATE_DEC) {
        one = lw_ir_int(b, type, 1);
        zero = lw_ir_zero(b, type);
    }
    switch (kind) {
    case LW_UPDATE_ADD: return lw_ir_add(b, old, x);
    case LW_UPDATE_SUB: return lw_ir_sub(b, old, x);
    case LW_UPDATE_INC:
        return lw_ir_select(b, lw_ir_compare(b, LW_OP_GE, old, x), zero,
                            lw_ir_add(b, old, one));
    case LW_UPDATE_DEC:
        zero = lw_ir_or(b, lw_ir_compare(b, LW_OP_EQ, old, zero),
                        lw_ir_compare(b, LW_OP_GT, old, x));
        return lw_ir_select(b, zero, x, lw_ir_sub(b, old, one));
    case LW_UPDATE_CAS: return y;
    default: return x;
    }
}

/* One iteration: `seen` is the word or element as bits, `old` the element in it. Returns what
 * to store, and leaves the function with the old value where nothing is to be stored. */
static lw_ref
attempt(lw_builder *b, lw_atomic_kind kind, const word *w, lw_ref seen, lw_ref old,
        const lw_ref *operands)
{
    lw_ref change = changes(b, kind, old, operands[0]), value;

    if (change != 0) {
        lw_ir_if(b, lw_ir_not(b, change));
        lw_ir_return(b, &old, 1);
        lw_ir_end(b);
    }
    value = new_value(b, kind, old, operands[0], operands[1]);
    if (w == NULL)
        return to_bits(b, value);
    return lw_ir_or(b, lw_ir_and(b, seen, lw_ir_not(b, w->mask)), in_place(b, w, value));
}

static void
loop_body(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer,
          const lw_ref *operands)
{
    lw_dtype bits = is_narrow(type) ? LW_DT_u32 : bits_of(type);
    word around = {0}, *w = NULL;
    lw_ref slot = lw_ir_slot(b, bits), pair[2], found, old;

    if (is_narrow(type)) {
        around = word_around(b, type, pointer);
        w = &around;
        pointer = around.pointer;
    }
    lw_ir_set(b, slot, lw_ir_load(b, bits, 1, pointer, 0, 0));
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    pair[0] = lw_ir_get(b, slot);
    old = w ? out_of(b, w, type, pair[0]) : from_bits(b, type, pair[0]);
    pair[1] = attempt(b, kind, w, pair[0], old, operands);
    found = lw_ir_atomic(b, LW_ATOMIC_CAS, pointer, pair, 2);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, found, pair[0]));
    lw_ir_return(b, &old, 1);
    lw_ir_end(b);
    lw_ir_set(b, slot, found);
    lw_ir_latch(b);
    lw_ir_end(b);
}

static uint32_t
update_function(lw_module *module, lw_atomic_kind kind, lw_dtype type)
{
    static const char *const names[LW_N_UPDATES] = {
        [LW_UPDATE_ADD] = "add", [LW_UPDATE_SUB] = "sub",       [LW_UPDATE_AND] = "and",
        [LW_UPDATE_OR] = "or",   [LW_UPDATE_XOR] = "xor",       [LW_UPDATE_INC] = "inc",
        [LW_UPDATE_DEC] = "dec", [LW_UPDATE_EXCH] = "exch",     [LW_UPDATE_MAX] = "max",
        [LW_UPDATE_MIN] = "min", [LW_UPDATE_NANMAX] = "nanmax", [LW_UPDATE_NANMIN] = "nanmin",
        [LW_UPDATE_CAS] = "cas"};
    lw_builder helper, *b = &helper;
    lw_ref pointer, operands[2];
    uint32_t number;
    char stem[32];

    snprintf(stem, sizeof stem, LW_UPDATE_STEM "%s", names[kind]);
    if (!lw_helper_begin(b, module, stem, type, &number))
        return number;
    pointer = lw_ir_param_add(b, LW_DT_ptr, 0, "p");
    operands[0] = lw_ir_param_add(b, type, 0, "x");
    operands[1] = kind == LW_UPDATE_CAS ? lw_ir_param_add(b, type, 0, "y") : 0;
    lw_ir_result_add(b, type);
    if (is_logic(kind))
        narrow_logic(b, kind, type, pointer, operands[0]);
    else
        loop_body(b, kind, type, pointer, operands);
    lw_helper_end(b);
    return number;
}

/* ---- entry point ---- */

/* One CAS on the bits: a NaN is equal to itself, and 0.0 differs from -0.0. */
static lw_ref
compare_bits(lw_builder *b, lw_dtype type, lw_ref pointer, const lw_ref *operands)
{
    lw_ref pair[2] = {to_bits(b, operands[0]), to_bits(b, operands[1])};

    return from_bits(b, type, lw_ir_atomic(b, LW_ATOMIC_CAS, pointer, pair, 2));
}

lw_ref
lw_atomic_update(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer,
                 const lw_ref *operands, uint32_t n)
{
    assert(n == (kind == LW_UPDATE_CAS ? 2 : 1));
    assert(!lw_is_complex(type) && lw_atomic_takes(kind, type));
    lw_atomic which = native(kind, type);
    lw_ref args[3] = {pointer, operands[0], n > 1 ? operands[1] : 0};

    if (which == LW_ATOMIC_CAS && lw_is_float(type))
        return compare_bits(b, type, pointer, operands);
    if (which != LW_N_ATOMICS) {
        if (kind == LW_UPDATE_SUB)
            args[1] = lw_ir_neg(b, args[1]);
        return lw_ir_atomic(b, which, pointer, args + 1, n);
    }
    return lw_ir_call(b, update_function(b->module, kind, type), args, n + 1);
}

void
lw_atomic_update_complex(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer,
                         const lw_ref operand[2], lw_ref old[2])
{
    assert(lw_is_complex(type) && lw_atomic_takes(kind, type));
    lw_dtype part = lw_dtypes[type].parts;
    lw_ref second =
        lw_ir_offset(b, pointer, lw_ir_int(b, LW_DT_i64, lw_dtypes[part].size_bytes));

    old[0] = lw_atomic_update(b, kind, part, pointer, &operand[0], 1);
    old[1] = lw_atomic_update(b, kind, part, second, &operand[1], 1);
}
