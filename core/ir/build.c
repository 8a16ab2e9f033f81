/* Emitting instructions, except for control flow (build_flow.c). Every value has the type that
 * the row of its operation and its operands give; asserts say what each function needs. After a
 * failed allocation all values are 0, and the module is marked as failed. */
#include "core/ir/build_internal.h"

#include "core/ir/ir_internal.h"
#include "core/ir/same_math.h"
#include "core/tables/intrinsics.h"
#include "core/tables/kernel_ops.h"

#include <math.h>
#include <string.h>

/* ---- functions, parameters, locations in the source ---- */

void
lw_builder_start(lw_builder *b, lw_module *module, const char *name)
{
    lw_func *func = lw_arena_take(&module->arena, sizeof *func);
    lw_func **slot = func ? lw_array_push(&module->funcs, &module->arena) : NULL;

    assert(module != NULL && name != NULL);
    memset(b, 0, sizeof *b);
    b->module = module;
    if (slot != NULL) {
        *slot = func;
        b->func_number = module->funcs.n - 1;
        func->name = lw_arena_strdup(&module->arena, name);
        if (func->name != NULL && lw_array_push(&func->insts, &module->arena) != NULL)
            b->func = func;
        else
            module->funcs.n--;
    }
    if (b->func == NULL)
        module->failed = true;
}

lw_ref
lw_ir_param_add(lw_builder *b, lw_dtype type, uint32_t flags, const char *name)
{
    lw_arena *arena = &b->module->arena;
    lw_ir_param *param = b->func ? lw_array_push(&b->func->params, arena) : NULL;

    assert(is_scalar(b, type)); /* the front end splits complex numbers */
    if (param == NULL) {
        b->module->failed = true;
        return 0;
    }
    param->type = type;
    param->flags = flags;
    param->name = name ? lw_arena_strdup(arena, name) : NULL;
    return lw_ir_emit(b, LW_OP_PARAM, type, b->func->params.n - 1, 0, 0);
}

void
lw_ir_result_add(lw_builder *b, lw_dtype type)
{
    lw_dtype *result = b->func ? lw_array_push(&b->func->results, &b->module->arena) : NULL;

    assert(is_scalar(b, type));
    if (result == NULL)
        b->module->failed = true;
    else
        *result = type;
}

lw_status
lw_ir_finish(lw_builder *b, lw_error *err)
{
    if (b->func != NULL && b->depth == 0 && b->func->results.n == 0 && !lw_ir_ended(b))
        lw_ir_return(b, NULL, 0);
    if (b->module->failed || b->module->arena.failed || b->func == NULL)
        return lw_fail_memory(err);
    if (b->depth != 0)
        return lw_fail(err, LW_ERR_INTERNAL, "function %s ends with %u open regions",
                       b->func->name, b->depth);
    return LW_OK;
}

/* ---- the general emit ---- */

/* The fast-math flags of what is emitted next: only float arithmetic carries them. */
static uint32_t
float_flags(const lw_builder *b, lw_op op, lw_dtype type, lw_dtype operand)
{
    uint32_t flags = b->fast;

    switch (op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL: return lw_is_float(type) ? flags : 0;
    case LW_OP_DIV:
    case LW_OP_NEG:
    case LW_OP_FMA:
    case LW_OP_SELECT:
    case LW_OP_INTRINSIC: return lw_is_float(type) ? flags & LW_FAST_ALL : 0;
    case LW_OP_EQ:
    case LW_OP_NE:
    case LW_OP_LT:
    case LW_OP_LE:
    case LW_OP_GT:
    case LW_OP_GE: return lw_is_float(operand) ? flags & LW_FAST_ALL : 0;
    default: return 0;
    }
}

/* Operations on vectors give vectors; a GET gives what its slot holds. */
static uint8_t
lanes_of_result(const lw_builder *b, lw_op op, uint32_t a, uint32_t list)
{
    if (op == LW_OP_INTRINSIC)
        a = list < b->func->lists.n ? b->func->lists.data[list] : 0;
    else if (op != LW_OP_GET && !lw_op_is_elementwise(op))
        return 0;
    return inst_of(b, a)->lanes;
}

lw_ref
lw_ir_emit(lw_builder *b, lw_op op, lw_dtype type, uint32_t a, uint32_t a2, uint32_t a3)
{
    lw_inst *inst = b->func ? lw_array_push(&b->func->insts, &b->module->arena) : NULL;
    const lw_inst *first;

    assert(op < LW_N_OPS && type <= LW_DT_ptr);
    if (inst == NULL) {
        b->module->failed = true;
        return 0;
    }
    first = lw_ops[op].args[0] == 'v' ? inst_of(b, a) : &nothing;
    if (lw_ops[op].result == LW_RESULT_SAME)
        type = (lw_dtype)first->type;
    else if (lw_ops[op].result == LW_RESULT_BOOL)
        type = LW_DT_b1;
    else if (lw_ops[op].result == LW_RESULT_NONE)
        type = LW_DT_void;
    *inst = (lw_inst){.op = (uint16_t)op,
                      .type = (uint8_t)type,
                      .lanes = lanes_of_result(b, op, a, a2),
                      .flags = float_flags(b, op, type, (lw_dtype)first->type),
                      .a = a,
                      .b = a2,
                      .c = a3,
                      .loc = b->loc};
    return b->func->insts.n - 1;
}

uint32_t
lw_ir_list(lw_builder *b, const lw_ref *values, uint32_t n)
{
    uint32_t start;

    assert(values != NULL || n == 0);
    if (b->func != NULL && n == 0)
        return b->func->lists.n;
    if (b->func == NULL || !lw_array_reserve(&b->func->lists, n, &b->module->arena)) {
        b->module->failed = true;
        return 0;
    }
    start = b->func->lists.n;
    memcpy(b->func->lists.data + start, values, n * sizeof *values);
    b->func->lists.n += n;
    return start;
}

lw_dtype
lw_ir_type(const lw_builder *b, lw_ref value)
{
    return (lw_dtype)inst_of(b, value)->type;
}

/* ---- constants ---- */

lw_ref
lw_ir_bits(lw_builder *b, lw_dtype type, uint64_t bits)
{
    lw_constant_bits *constant =
        b->func ? lw_array_push(&b->func->constants, &b->module->arena) : NULL;

    assert(!lw_is_complex(type));
    if (constant == NULL) {
        b->module->failed = true;
        return 0;
    }
    constant->bits = bits;
    return lw_ir_emit(b, LW_OP_CONST, type, b->func->constants.n - 1, 0, 0);
}

uint64_t
lw_ir_int_bits(lw_dtype type, int64_t value)
{
    const lw_dtype_row *row = &lw_dtypes[type];
    unsigned spare = row->bits ? 64u - row->bits : 0;
    uint64_t up = (uint64_t)value << spare;

    assert(row->bits <= 64); /* a complex number has no constant */
    if (row->kind == LW_KIND_BOOL)
        return value != 0;
    return row->kind == LW_KIND_INT ? (uint64_t)((int64_t)up >> spare) : up >> spare;
}

lw_ref
lw_ir_int(lw_builder *b, lw_dtype type, int64_t value)
{
    if (lw_is_float(type))
        return lw_ir_float(b, type, (double)value);
    return lw_ir_bits(b, type, lw_ir_int_bits(type, value));
}

/* Converts a double's bits to a format of 1 + exponent_bits + fraction_bits bits, rounded to
 * nearest, ties to even. */
static uint64_t
round_bits(double value, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint64_t sign = (uint64_t)(signbit(value) != 0) << (exponent_bits + fraction_bits);
    uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits, scaled;

    assert(1 + exponent_bits + fraction_bits <= 16); /* one rounding of a double is right */
    if (isnan(value))
        return sign | infinity | UINT64_C(1) << (fraction_bits - 1);
    if (isinf(value))
        return sign | infinity;
    if (value == 0)
        return sign;
    exponent = ilogb(value) < 1 - bias ? 1 - bias : ilogb(value);
    /* now value = scaled * 2^(exponent - fraction_bits); rint rounds ties to even */
    scaled = (uint64_t)rint(ldexp(fabs(value), fraction_bits - exponent));
    scaled += (uint64_t)(exponent + bias - 1) << fraction_bits;
    return sign | (scaled < infinity ? scaled : infinity);
}

uint64_t
lw_ir_float_bits(lw_dtype type, double value)
{
    uint64_t bits = 0;
    uint32_t single;
    float narrow;

    if (type == LW_DT_f64) {
        memcpy(&bits, &value, sizeof bits);
    } else if (type == LW_DT_f32) {
        narrow = (float)value;
        memcpy(&single, &narrow, sizeof single);
        bits = single;
    } else if (type == LW_DT_f16) {
        bits = round_bits(value, 5, 10);
    } else {
        bits = round_bits(value, 8, 7);
    }
    return bits;
}

lw_ref
lw_ir_float(lw_builder *b, lw_dtype type, double value)
{
    assert(b->module->failed || lw_is_float(type));
    return lw_ir_bits(b, type, lw_ir_float_bits(type, value));
}

lw_ref
lw_ir_zero(lw_builder *b, lw_dtype type)
{
    return lw_ir_bits(b, type, 0);
}

bool
lw_ir_is_const(const lw_builder *b, lw_ref value, uint64_t *bits)
{
    const lw_inst *inst = inst_of(b, value);

    if (inst->op != LW_OP_CONST)
        return false;
    assert(inst->a < b->func->constants.n);
    if (bits != NULL)
        *bits = b->func->constants.data[inst->a].bits;
    return true;
}

/* ---- arithmetic ---- */

#define BINARY(name, op)                                                                       \
    lw_ref lw_ir_##name(lw_builder *b, lw_ref x, lw_ref y)                                     \
    {                                                                                          \
        assert(same_types(b, x, y));                                                           \
        return lw_ir_emit(b, op, LW_DT_void, x, y, 0);                                         \
    }
BINARY(add, LW_OP_ADD)
BINARY(sub, LW_OP_SUB)
BINARY(mul, LW_OP_MUL)
BINARY(div, LW_OP_DIV)
BINARY(rem, LW_OP_REM)
BINARY(mulhi, LW_OP_MULHI)
BINARY(and, LW_OP_AND)
BINARY(or, LW_OP_OR)
BINARY(xor, LW_OP_XOR)
BINARY(shl, LW_OP_SHL)
BINARY(shr, LW_OP_SHR)
#undef BINARY

lw_ref
lw_ir_offset(lw_builder *b, lw_ref pointer, lw_ref bytes)
{
    assert(has_type(b, pointer, LW_DT_ptr));
    assert(has_type(b, bytes, LW_DT_i64) || has_type(b, bytes, LW_DT_i32));
    return lw_ir_emit(b, LW_OP_OFFSET, LW_DT_void, pointer, bytes, 0);
}

static lw_ref
no_wrap(lw_builder *b, lw_ref value)
{
    assert(b->module->failed || lw_is_signed(lw_ir_type(b, value)));
    if (value != 0 && b->func != NULL)
        b->func->insts.data[value].flags |= LW_NO_WRAP;
    return value;
}

lw_ref
lw_ir_add_no_wrap(lw_builder *b, lw_ref x, lw_ref y)
{
    return no_wrap(b, lw_ir_add(b, x, y));
}

lw_ref
lw_ir_mul_no_wrap(lw_builder *b, lw_ref x, lw_ref y)
{
    return no_wrap(b, lw_ir_mul(b, x, y));
}

lw_ref
lw_ir_quotient(lw_builder *b, lw_ref item, lw_ref multiplier, lw_ref shift)
{
    return lw_ir_shr(b, lw_ir_add(b, lw_ir_mulhi(b, item, multiplier), item), shift);
}

void
lw_ir_decompose(lw_builder *b, lw_ref item, int n, const lw_ref *size, const lw_ref *multiplier,
                const lw_ref *shift, lw_ref *coordinate)
{
    for (int d = 0; d < n - 1; d++) {
        lw_ref quotient = lw_ir_quotient(b, item, multiplier[d], shift[d]);
        coordinate[d] = lw_ir_sub(b, item, lw_ir_mul(b, quotient, size[d]));
        item = quotient;
    }
    coordinate[n - 1] = item;
}

lw_ref
lw_ir_neg(lw_builder *b, lw_ref x)
{
    return lw_ir_emit(b, LW_OP_NEG, LW_DT_void, x, 0, 0);
}

lw_ref
lw_ir_not(lw_builder *b, lw_ref x)
{
    assert(has_type(b, x, LW_DT_b1) || lw_is_integer(lw_ir_type(b, x)));
    return lw_ir_emit(b, LW_OP_NOT, LW_DT_void, x, 0, 0);
}

lw_ref
lw_ir_fma(lw_builder *b, lw_ref x, lw_ref y, lw_ref z)
{
    assert(same_types(b, x, y) && same_types(b, x, z));
    assert(b->module->failed || lw_is_float(lw_ir_type(b, x)));
    return lw_ir_emit(b, LW_OP_FMA, LW_DT_void, x, y, z);
}

lw_ref
lw_ir_compare(lw_builder *b, lw_op op, lw_ref x, lw_ref y)
{
    assert(op >= LW_OP_EQ && op <= LW_OP_GE && same_types(b, x, y));
    return lw_ir_emit(b, op, LW_DT_b1, x, y, 0);
}

lw_ref
lw_ir_select(lw_builder *b, lw_ref condition, lw_ref yes, lw_ref no)
{
    assert(has_type(b, condition, LW_DT_b1) && same_types(b, yes, no));
    return lw_ir_emit(b, LW_OP_SELECT, lw_ir_type(b, yes), condition, yes, no);
}

lw_ref
lw_ir_smaller(lw_builder *b, lw_ref x, lw_ref y)
{
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, x, y), x, y);
}

lw_ref
lw_ir_larger(lw_builder *b, lw_ref x, lw_ref y)
{
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_GT, x, y), x, y);
}

lw_ref
lw_ir_cast(lw_builder *b, lw_dtype type, lw_ref x)
{
    assert(is_scalar(b, type));
    return lw_ir_type(b, x) == type ? x : lw_ir_emit(b, LW_OP_CAST, type, x, 0, 0);
}

lw_ref
lw_ir_bitcast(lw_builder *b, lw_dtype type, lw_ref x)
{
    assert(b->module->failed ||
           lw_dtypes[lw_ir_type(b, x)].size_bytes == lw_dtypes[type].size_bytes);
    return lw_ir_type(b, x) == type ? x : lw_ir_emit(b, LW_OP_BITCAST, type, x, 0, 0);
}

lw_ref
lw_ir_intrinsic(lw_builder *b, uint32_t intrinsic, lw_dtype type, const lw_ref *args,
                uint32_t n)
{
    uint32_t list;

    assert(intrinsic < LW_N_INTRINSICS && n == lw_intrinsics[intrinsic].n_args);
    if (b->module->same_math != NULL && intrinsic == LW_IN_log_normal)
        intrinsic = LW_IN_log; /* its result has the bits of log */
    if (b->module->same_math != NULL && lw_same_math_replaces((lw_intrinsic)intrinsic))
        return lw_same_math_call(b, (lw_intrinsic)intrinsic, type, args, n);
    list = lw_ir_list(b, args, n);
    return lw_ir_emit(b, LW_OP_INTRINSIC, lw_intrinsic_result((lw_intrinsic)intrinsic, type),
                      intrinsic, list, n);
}

lw_ref
lw_ir_sreg(lw_builder *b, lw_sreg which)
{
    assert(which < LW_N_SREGS);
    return lw_ir_emit(b, LW_OP_SREG, LW_DT_i32, which, 0, 0);
}

/* ---- variables and memory ---- */

lw_ref
lw_ir_slot(lw_builder *b, lw_dtype type)
{
    assert(is_scalar(b, type));
    return lw_ir_emit(b, LW_OP_SLOT, type, 0, 0, 0);
}

lw_ref
lw_ir_get(lw_builder *b, lw_ref slot)
{
    assert(is_op(b, slot, LW_OP_SLOT));
    return lw_ir_emit(b, LW_OP_GET, lw_ir_type(b, slot), slot, 0, 0);
}

void
lw_ir_set(lw_builder *b, lw_ref slot, lw_ref value)
{
    assert(is_op(b, slot, LW_OP_SLOT) && same_types(b, slot, value));
    lw_ir_emit(b, LW_OP_SET, LW_DT_void, slot, value, 0);
}

static void
set_lanes(lw_builder *b, lw_ref value, unsigned lanes, uint32_t flags)
{
    assert(lanes == 0 || (is_power_of_two(lanes) && lanes <= 16));
    if (value == 0)
        return;
    b->func->insts.data[value].lanes = (uint8_t)(lanes > 1 ? lanes : 0);
    b->func->insts.data[value].flags |= flags;
}

static uint32_t
align_flag(unsigned align_bytes)
{
    uint32_t code = 0;

    assert(align_bytes == 0 || is_power_of_two(align_bytes));
    while (align_bytes >> code)
        code++;
    return code > LW_MEM_ALIGN_MASK ? LW_MEM_ALIGN_MASK : code;
}

lw_ref
lw_ir_load(lw_builder *b, lw_dtype type, unsigned lanes, lw_ref pointer, unsigned align_bytes,
           uint32_t flags)
{
    lw_ref value = lw_ir_emit(b, LW_OP_LOAD, type, pointer, 0, 0);

    assert(has_type(b, pointer, LW_DT_ptr));
    set_lanes(b, value, lanes, flags | align_flag(align_bytes));
    return value;
}

void
lw_ir_store(lw_builder *b, lw_ref pointer, lw_ref value, unsigned align_bytes, uint32_t flags)
{
    lw_ref store = lw_ir_emit(b, LW_OP_STORE, LW_DT_void, pointer, value, 0);

    assert(has_type(b, pointer, LW_DT_ptr));
    assert(b->module->failed || lw_ir_type(b, value) != LW_DT_void);
    set_lanes(b, store, 0, flags | align_flag(align_bytes));
}

void
lw_ir_prefetch(lw_builder *b, lw_ref pointer)
{
    assert(has_type(b, pointer, LW_DT_ptr));
    lw_ir_emit(b, LW_OP_PREFETCH, LW_DT_void, pointer, 0, 0);
}

lw_ref
lw_ir_part_address(lw_builder *b, lw_dtype dtype, lw_ref address, unsigned part)
{
    assert(part < lw_dtype_n_parts(dtype));
    if (part == 0)
        return address;
    return lw_ir_offset(b, address,
                        lw_ir_int(b, LW_DT_i64, lw_dtypes[lw_dtypes[dtype].parts].size_bytes));
}

void
lw_ir_load_parts(lw_builder *b, lw_dtype dtype, lw_ref address, uint32_t flags, lw_ref *parts)
{
    for (unsigned k = 0; k < lw_dtype_n_parts(dtype); k++)
        parts[k] = lw_ir_load(b, lw_dtypes[dtype].parts, 1,
                              lw_ir_part_address(b, dtype, address, k), 0, flags);
}

void
lw_ir_store_parts(lw_builder *b, lw_dtype dtype, lw_ref address, const lw_ref *parts)
{
    for (unsigned k = 0; k < lw_dtype_n_parts(dtype); k++)
        lw_ir_store(b, lw_ir_part_address(b, dtype, address, k), parts[k], 0, 0);
}

void
lw_ir_barrier(lw_builder *b)
{
    lw_ir_emit(b, LW_OP_BARRIER, LW_DT_void, 0, 0, 0);
}

lw_ref
lw_ir_pack(lw_builder *b, lw_dtype type, const lw_ref *values, unsigned lanes)
{
    uint32_t list = lw_ir_list(b, values, lanes);
    lw_ref value = lw_ir_emit(b, LW_OP_PACK, type, 0, list, lanes);

    assert(has_type(b, values[0], type));
    set_lanes(b, value, lanes, 0);
    return value;
}

unsigned
lw_ir_lanes(const lw_builder *b, lw_ref value)
{
    unsigned lanes = inst_of(b, value)->lanes;

    return lanes > 1 ? lanes : 1;
}

lw_ref
lw_ir_vector_slot(lw_builder *b, lw_dtype type, unsigned lanes)
{
    lw_ref slot = lw_ir_slot(b, type);

    set_lanes(b, slot, lanes, 0);
    return slot;
}

lw_ref
lw_ir_splat(lw_builder *b, lw_ref scalar, unsigned lanes)
{
    lw_ref value = lw_ir_emit(b, LW_OP_SPLAT, lw_ir_type(b, scalar), scalar, 0, 0);

    assert(lw_ir_lanes(b, scalar) == 1);
    set_lanes(b, value, lanes, 0);
    return value;
}

lw_ref
lw_ir_any(lw_builder *b, lw_ref mask)
{
    assert(has_type(b, mask, LW_DT_b1));
    return lw_ir_emit(b, LW_OP_ANY, LW_DT_b1, mask, 0, 0);
}

lw_ref
lw_ir_first(lw_builder *b, lw_ref mask)
{
    assert(has_type(b, mask, LW_DT_b1));
    return lw_ir_emit(b, LW_OP_FIRST, LW_DT_i64, mask, 0, 0);
}

lw_ref
lw_ir_lane(lw_builder *b, lw_ref vector, unsigned lane)
{
    assert(b->module->failed || lane < inst_of(b, vector)->lanes);
    return lw_ir_emit(b, LW_OP_LANE, lw_ir_type(b, vector), vector, lane, 0);
}

/* ---- memory of functions, blocks and modules ---- */

static uint32_t
log2_of(uint32_t align_bytes)
{
    uint32_t code = 0;

    assert(is_power_of_two(align_bytes));
    while (code < 31 && align_bytes >> code > 1)
        code++;
    return code;
}

/* Atomics of 8 and 16 bits work on the aligned word around them, so memory comes in whole
 * words. */
static uint32_t
whole_words(uint32_t bytes)
{
    return (bytes + 3) & ~3u;
}

static uint32_t
at_least_a_word(uint32_t align_bytes)
{
    return align_bytes < 4 ? 4 : align_bytes;
}

lw_ref
lw_ir_local(lw_builder *b, uint32_t bytes, uint32_t align_bytes)
{
    return lw_ir_emit(b, LW_OP_LOCAL, LW_DT_ptr, whole_words(bytes),
                      log2_of(at_least_a_word(align_bytes)), 0);
}

lw_ref
lw_ir_owner(lw_builder *b)
{
    return lw_ir_emit(b, LW_OP_OWNER, LW_DT_ptr, 0, 0, 0);
}

lw_ref
lw_ir_new(lw_builder *b, lw_ref owner, lw_ref n_bytes)
{
    assert(has_type(b, n_bytes, LW_DT_i64));
    return lw_ir_emit(b, LW_OP_NEW, LW_DT_ptr, owner, n_bytes, 0);
}

void
lw_ir_hold(lw_builder *b, lw_ref owner, lw_ref reference)
{
    assert(has_type(b, reference, LW_DT_ptr));
    lw_ir_emit(b, LW_OP_HOLD, LW_DT_void, owner, reference, 0);
}

void
lw_ir_take(lw_builder *b, lw_ref owner, lw_ref reference)
{
    assert(has_type(b, reference, LW_DT_ptr));
    lw_ir_emit(b, LW_OP_TAKE, LW_DT_void, owner, reference, 0);
}

void
lw_ir_retain(lw_builder *b, lw_ref reference)
{
    assert(has_type(b, reference, LW_DT_ptr));
    lw_ir_emit(b, LW_OP_RETAIN, LW_DT_void, reference, 0, 0);
}

void
lw_ir_give(lw_builder *b, lw_ref owner, lw_ref reference)
{
    assert(has_type(b, reference, LW_DT_ptr));
    lw_ir_emit(b, LW_OP_GIVE, LW_DT_void, owner, reference, 0);
}

lw_ref
lw_ir_shared(lw_builder *b, uint32_t bytes, uint32_t align_bytes)
{
    return lw_ir_emit(b, LW_OP_SHARED, LW_DT_ptr, whole_words(bytes),
                      log2_of(at_least_a_word(align_bytes)), 0);
}

lw_ref
lw_ir_dynamic(lw_builder *b)
{
    return lw_ir_emit(b, LW_OP_DYNAMIC, LW_DT_ptr, 0, 0, 0);
}

lw_ref
lw_ir_context(lw_builder *b)
{
    return lw_ir_emit(b, LW_OP_CONTEXT, LW_DT_ptr, 0, 0, 0);
}

lw_ref
lw_ir_live_data(lw_builder *b, uint64_t address, bool on_gpu)
{
    assert(address != 0);
    uint32_t number = lw_ir_data_add(b->module, address, NULL, 0, 0);

    if (number < b->module->datas.n)
        b->module->datas.data[number].on_gpu = on_gpu;
    return lw_ir_emit(b, LW_OP_DATA, LW_DT_ptr, number, 0, 0);
}

lw_ref
lw_ir_varying(lw_builder *b, lw_dtype type, const uint64_t *bits)
{
    uint32_t number = lw_ir_data_add(b->module, (uint64_t)(uintptr_t)bits, NULL, 0, 0);

    assert(bits != NULL && type != LW_DT_void);
    if (number < b->module->datas.n)
        b->module->datas.data[number].varying = true;
    return lw_ir_emit(b, LW_OP_VARYING, type, number, 0, 0);
}

lw_ref
lw_ir_data(lw_builder *b, const void *bytes, uint32_t n, uint32_t align_bytes)
{
    uint32_t number = lw_ir_data_add(b->module, 0, bytes, n, log2_of(align_bytes));

    return lw_ir_emit(b, LW_OP_DATA, LW_DT_ptr, number, 0, 0);
}

/* ---- between threads ---- */

lw_ref
lw_ir_atomic(lw_builder *b, lw_atomic which, lw_ref pointer, const lw_ref *operands, uint32_t n)
{
    lw_ref values[3] = {pointer};
    uint32_t list;

    assert(which < LW_N_ATOMICS && n >= 1 && n <= 2 && has_type(b, pointer, LW_DT_ptr));
    for (uint32_t i = 0; i < n; i++)
        values[i + 1] = operands[i];
    list = lw_ir_list(b, values, n + 1);
    return lw_ir_emit(b, LW_OP_ATOMIC, lw_ir_type(b, values[n ? 1 : 0]), which, list, n + 1);
}

lw_ref
lw_ir_kernel_call(lw_builder *b, uint32_t row, lw_dtype type, const lw_ref *args, uint32_t n)
{
    uint32_t list = lw_ir_list(b, args, n);

    assert(row < LW_N_KERNEL_OPS && n == strlen(lw_kernel_ops[row].args));
    return lw_ir_emit(b, LW_OP_KERNEL_CALL, type, row, list, n);
}

/* ---- calls ---- */

static lw_ref
call(lw_builder *b, lw_op op, uint32_t func_number, const lw_ref *args, uint32_t n)
{
    uint32_t list = lw_ir_list(b, args, n);
    lw_dtype type = LW_DT_void;

    assert(b->module->failed || func_number < b->module->funcs.n);
    if (func_number < b->module->funcs.n && b->module->funcs.data[func_number]->results.n == 1)
        type = b->module->funcs.data[func_number]->results.data[0];
    return lw_ir_emit(b, op, type, func_number, list, n);
}

lw_ref
lw_ir_call(lw_builder *b, uint32_t func_number, const lw_ref *args, uint32_t n)
{
    return call(b, LW_OP_CALL, func_number, args, n);
}

lw_ref
lw_ir_recur(lw_builder *b, uint32_t func_number, const lw_ref *args, uint32_t n)
{
    return call(b, LW_OP_RECUR, func_number, args, n);
}

lw_ref
lw_ir_result(lw_builder *b, lw_ref call, uint32_t which)
{
    const lw_inst *inst = inst_of(b, call);
    const lw_func *callee;

    if (!lw_op_is_call((lw_op)inst->op) || inst->a >= b->module->funcs.n)
        return 0;
    callee = b->module->funcs.data[inst->a];
    assert(which < callee->results.n);
    if (callee->results.n == 1)
        return call;
    return which < callee->results.n
               ? lw_ir_emit(b, LW_OP_RESULT, callee->results.data[which], call, which, 0)
               : 0;
}

lw_ref
lw_ir_entry(lw_builder *b, uint32_t func_number)
{
    return lw_ir_emit(b, LW_OP_ENTRY, LW_DT_ptr, func_number, 0, 0);
}

lw_ref
lw_ir_host_call(lw_builder *b, uint32_t extern_number, const lw_ref *args, uint32_t n)
{
    uint32_t list = lw_ir_list(b, args, n);
    lw_dtype type = extern_number < b->module->externs.n
                        ? b->module->externs.data[extern_number].result
                        : LW_DT_void;

    assert(b->module->failed || (extern_number < b->module->externs.n &&
                                 n == b->module->externs.data[extern_number].n_params));
    return lw_ir_emit(b, LW_OP_HOST_CALL, type, extern_number, list, n);
}
