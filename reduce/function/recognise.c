/* What combine and map do, read off their code (core/opt/operator.h): whether elements may
 * change places, what changes nothing, and whether combine looks for the best element. */
#include "reduce/function/reduction.h"

#include "core/tables/intrinsics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static lw_func *
body_of(const lw_scalar *function)
{
    return function->module->funcs.data[function->body];
}

/* ---- identities ---- */

static void
set_identity(lw_reduce_item *item, lw_dtype dtype, lw_operation operation)
{
    lw_dtype part = lw_dtypes[dtype].parts;
    float f = 1;
    double d = 1;

    memset(item, 0, sizeof *item);
    if (operation == LW_OPERATION_ANDS)
        memset(item, dtype == LW_DT_b1 ? 1 : 0xff, lw_dtypes[dtype].size_bytes);
    if (operation != LW_OPERATION_TIMES)
        return;
    if (part == LW_DT_f32)
        memcpy(item, &f, sizeof f);
    else if (part == LW_DT_f64)
        memcpy(item, &d, sizeof d);
    else
        item->bytes[0] = 1;
}

static void
set_float(lw_reduce_item *item, lw_dtype dtype, double value)
{
    lw_dtype part = lw_dtypes[dtype].parts;
    float narrow = (float)value;

    memset(item, 0, sizeof *item);
    for (unsigned k = 0; k < lw_dtype_n_parts(dtype); k++)
        if (part == LW_DT_f32)
            memcpy(item->bytes + k * sizeof narrow, &narrow, sizeof narrow);
        else
            memcpy(item->bytes + k * sizeof value, &value, sizeof value);
}

/* The smallest integer or bool of this dtype, or the largest. */
static void
set_end(lw_reduce_item *item, lw_dtype dtype, bool largest)
{
    uint32_t size = lw_dtypes[dtype].size_bytes;
    bool is_signed = lw_dtypes[dtype].kind == LW_KIND_INT;

    memset(item, 0, sizeof *item);
    memset(item, !largest ? 0 : dtype == LW_DT_b1 ? 1 : 0xff, size);
    if (is_signed)
        item->bytes[size - 1] ^= 0x80; /* little-endian */
}

/* What changes nothing in the number whose scalars begin with `part`, whatever it is. False:
 * not known. */
static bool
set_neutral(const lw_func *func, uint32_t part, lw_dtype dtype, lw_operation operation,
            lw_reduce_item *item)
{
    const lw_inst *made = lw_operator_result(func, part);
    bool is_float = lw_is_float(lw_dtypes[dtype].parts);
    const char *name;

    if (operation == LW_OPERATION_OTHER ||
        (operation == LW_OPERATION_TIMES && lw_is_complex(dtype)))
        return false;
    if (operation == LW_OPERATION_ADDS && is_float)
        set_float(item, dtype, -0.0);
    else if (operation != LW_OPERATION_EXTREMES)
        set_identity(item, dtype, operation);
    else if (made->op == LW_OP_INTRINSIC && is_float && !lw_is_complex(dtype)) {
        name = lw_intrinsics[made->a].name;
        set_float(item, dtype, strcmp(name, "maximum") == 0 ? -INFINITY : INFINITY);
        return (strcmp(name, "maximum") == 0 || strcmp(name, "minimum") == 0) &&
               (made->flags & LW_FAST_NINF) == 0;
    } else if (made->op == LW_OP_SELECT && (lw_is_integer(dtype) || dtype == LW_DT_b1))
        set_end(item, dtype, lw_operator_selects(func, part) == LW_SMALLEST);
    else
        return false;
    return true;
}

/* `and`, `or`, the smallest and the largest of bools end at one of the two values. */
static void
recognise_stop(lw_reduction *r, const lw_func *func)
{
    lw_extreme_kind kind = lw_operator_selects(func, 0);

    if (r->n_acc != 1 || r->acc[0] != LW_DT_b1)
        return;
    r->stop = kind == LW_NO_EXTREME ? r->identity[0].bytes[0] == 0 : kind == LW_LARGEST;
    r->stops = kind != LW_NO_EXTREME ||
               (r->has_identity && lw_operator_result(func, 0)->op != LW_OP_XOR);
}

void
lw_reduce_recognise(lw_reduction *r)
{
    lw_func *func = body_of(r->combine);
    uint32_t part = 0;

    if (!lw_operator_is_line(func))
        return;
    r->commutative = r->has_identity = r->exact = r->has_neutral = true;
    for (uint32_t i = 0; i < r->n_acc; i++) {
        lw_operation operation = lw_operator_number(func, r->acc[i], part);
        bool of_times = lw_is_time(r->acc[i]) && lw_operator_is_absorbing_sum(func, part);
        r->has_neutral &=
            of_times || set_neutral(func, part, r->acc[i], operation, &r->neutral[i]);
        part += lw_dtype_n_parts(r->acc[i]);
        r->commutative &= operation != LW_OPERATION_OTHER;
        if (of_times) /* in order, as sums that overflow may be NaT; 0 changes nothing */
            continue;
        r->exact &= operation == LW_OPERATION_EXTREMES || lw_is_integer(r->acc[i]) ||
                    r->acc[i] == LW_DT_b1;
        if (operation == LW_OPERATION_OTHER || operation == LW_OPERATION_EXTREMES)
            r->has_identity = false;
        else
            set_identity(&r->identity[i], r->acc[i], operation);
    }
    assert(part == func->results.n);
    r->exact &= r->commutative;
    recognise_stop(r, func);
}

/* ---- map ---- */

/* What map returns as scalar `part`; NULL: there is no map, or it is no straight line. */
static const lw_inst *
mapped(const lw_reduction *r, uint32_t part)
{
    const lw_func *func = r->map ? body_of(r->map) : NULL;
    const lw_inst *last = func ? &func->insts.data[func->insts.n - 1] : NULL;

    if (func == NULL || last->op != LW_OP_RETURN || last->c <= part)
        return NULL;
    return &func->insts.data[func->lists.data[last->b + part]];
}

static bool
is_small_type(lw_dtype type)
{
    return type == LW_DT_b1 || (lw_is_integer(type) && lw_dtypes[type].size_bytes <= 2);
}

/* Whether an integer is one of 16 bits, with or without a sign: modulo 2 ** 64 where its type
 * is u64. */
static bool
is_small(const lw_func *func, const lw_inst *made)
{
    const lw_inst *insts = func->insts.data;
    int64_t value;

    switch (made->op) {
    case LW_OP_PARAM: return is_small_type((lw_dtype)made->type);
    case LW_OP_CONST:
        value = (int64_t)func->constants.data[made->a].bits;
        return lw_is_integer((lw_dtype)made->type) && value >= INT16_MIN && value <= UINT16_MAX;
    case LW_OP_CAST: /* as u32, -1 becomes large */
        return made->type != LW_DT_u32 && lw_is_integer((lw_dtype)made->type) &&
               is_small(func, &insts[made->a]);
    case LW_OP_SELECT:
        return is_small(func, &insts[made->b]) && is_small(func, &insts[made->c]);
    default: return false;
    }
}

/* Whether map, or the conversion of an element where there is none, makes a small integer of
 * it. */
static bool
makes_small(const lw_reduction *r, uint32_t part)
{
    const lw_inst *made = mapped(r, part);

    if (r->map == NULL)
        return is_small_type(r->loaded[part]) && r->in[part] == r->acc[part];
    return made != NULL && is_small(body_of(r->map), made);
}

bool
lw_reduce_adds_small(const lw_reduction *r)
{
    lw_func *func = body_of(r->combine);

    if (!lw_operator_is_line(func) || func->results.n != r->n_acc)
        return false;
    for (uint32_t i = 0; i < r->n_acc; i++)
        if ((r->acc[i] != LW_DT_i64 && r->acc[i] != LW_DT_u64) ||
            lw_operator_result(func, i)->op != LW_OP_ADD ||
            lw_operator_number(func, r->acc[i], i) != LW_OPERATION_ADDS || !makes_small(r, i))
            return false;
    return true;
}

/* ---- the best element ---- */

/* The scalar that map makes of the element's index, and nothing else; or LW_NO_PART. */
static uint32_t
index_part(const lw_reduction *r)
{
    for (uint32_t i = 0; i < r->n_acc && r->indexed; i++) {
        const lw_inst *made = mapped(r, i);
        if (made != NULL && made->op == LW_OP_PARAM && made->a + 1 == body_of(r->map)->params.n)
            return i;
    }
    return LW_NO_PART;
}

/* Whether the value that decides is an element as it is. Then it can be found again by its
 * value; what was computed may differ in the last bit from loop to loop. */
static bool
is_element(const lw_reduction *r, uint32_t part)
{
    const lw_inst *made = mapped(r, part);

    if (made != NULL && made->op == LW_OP_CAST)
        made = &body_of(r->map)->insts.data[made->a];
    return r->map == NULL || (made != NULL && made->op == LW_OP_PARAM);
}

void
lw_reduce_recognise_best(lw_reduction *r)
{
    const lw_func *func = body_of(r->combine);
    uint32_t index = index_part(r);
    lw_extreme made;
    lw_dtype dtype;

    if (func->results.n < 2 || func->results.n != r->n_acc)
        return;
    made = lw_operator_extreme(func, index, r->commutative);
    if (made.kind == LW_NO_EXTREME || (r->commutative && index == LW_NO_PART) ||
        !is_element(r, made.part))
        return;
    dtype = r->acc[made.part];
    if (dtype != LW_DT_f32 && dtype != LW_DT_f64 && !lw_is_integer(dtype) && dtype != LW_DT_b1)
        return;
    r->best = made;
}

lw_extreme_kind
lw_reduce_picks(const lw_reduction *r)
{
    const lw_func *func = body_of(r->combine);

    if (r->n_acc != 1 || !lw_is_integer(r->acc[0]) || !lw_operator_is_line(func))
        return LW_NO_EXTREME;
    return lw_operator_selects(func, 0);
}

/* Whether accumulators of this type keep the order of these elements. */
static bool
keeps_order(lw_dtype element, lw_dtype acc)
{
    return element == acc ||
           ((element == LW_DT_f16 || element == LW_DT_bf16) && lw_is_float(acc));
}

int
lw_reduce_deciding_operand(const lw_reduction *r)
{
    uint32_t operand = r->best.part;
    lw_dtype value = r->acc[operand];

    if (r->best.kind == LW_NO_EXTREME)
        return -1;
    for (uint32_t i = 0; i < r->n_in; i++)
        if (lw_dtype_n_parts(r->loaded[i]) != 1 || lw_dtype_n_parts(r->in[i]) != 1)
            return -1;
    if (r->map != NULL) {
        const lw_inst *made = mapped(r, r->best.part);
        if (made != NULL && made->op == LW_OP_CAST && made->type == value)
            made = &body_of(r->map)->insts.data[made->a];
        if (made == NULL || made->op != LW_OP_PARAM)
            return -1;
        operand = made->a;
    }
    if (operand >= r->n_in || r->loaded[operand] != r->in[operand] ||
        !keeps_order(r->in[operand], value))
        return -1;
    return (int)operand;
}
