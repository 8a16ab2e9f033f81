/* Bounds are computed from the operands to the result, in float64, and each is increased by
 * more than any rounding adds. Integers that wrap have no bound but that of their type. */
#include "core/ir/bound.h"

#include "core/tables/intrinsics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Of instructions that are looked at for one question; more of them bound nothing. */
enum { MOST_STEPS = 100 };

/* More than rounding adds: half of the last bit, 2^-9 of a bfloat16. */
static const double slack = 1.0 + 1.0 / 128;

/* A result above `most` may become infinite; one that is not normal is rounded by up to
 * `least`.
 */
static const struct {
    double most, least;
} formats[LW_N_SCALARS] = {[LW_DT_f16] = {65000.0, 1e-7},
                           [LW_DT_bf16] = {3e38, 1e-40},
                           [LW_DT_f32] = {3e38, 1e-44},
                           [LW_DT_f64] = {1e308, 1e-323}};

typedef struct question {
    const lw_module *module;
    int steps; /* that are left */
} question;

static double bound_of(question *q, const lw_func *func, lw_ref value);

static double
largest(double a, double b)
{
    return a > b ? a : b;
}

/* 2^bits, or 2^(bits - 1) of a signed integer. */
static double
bound_of_type(lw_dtype type)
{
    if (type == LW_DT_b1)
        return 1.0;
    if (!lw_is_integer(type))
        return INFINITY;
    return ldexp(1.0, lw_dtypes[type].bits - (lw_is_signed(type) ? 1 : 0));
}

static double
bound_of_bits(lw_dtype type, uint64_t bits)
{
    float single;
    double number;
    uint32_t low = (uint32_t)bits;

    if (type == LW_DT_f32) {
        memcpy(&single, &low, sizeof single);
        number = (double)single;
    } else if (type == LW_DT_f64) {
        memcpy(&number, &bits, sizeof number);
    } else if (lw_is_integer(type)) {
        number = lw_is_signed(type) ? (double)(int64_t)bits : (double)bits;
    } else {
        return bound_of_type(type);
    }
    return isnan(number) ? 0.0 : fabs(number) * slack;
}

static bool
is_unsigned_constant(const lw_func *func, lw_ref value, uint64_t *bits)
{
    const lw_inst *i = &func->insts.data[value];

    if (i->op != LW_OP_CONST || !lw_is_integer((lw_dtype)i->type))
        return false;
    *bits = func->constants.data[i->a].bits;
    return !lw_is_signed((lw_dtype)i->type) || (int64_t)*bits >= 0;
}

/* Of integers only what makes them smaller is followed. */
static double
bound_of_integer(question *q, const lw_func *func, const lw_inst *i)
{
    double bound = bound_of_type((lw_dtype)i->type);
    uint64_t bits;

    switch (i->op) {
    case LW_OP_CONST: return bound_of_bits((lw_dtype)i->type, func->constants.data[i->a].bits);
    case LW_OP_SHR:
        if (is_unsigned_constant(func, i->b, &bits) && bits < 64)
            return ldexp(bound, -(int)bits);
        return bound;
    case LW_OP_AND:
        if (is_unsigned_constant(func, i->b, &bits) || is_unsigned_constant(func, i->a, &bits))
            return fmin(bound, (double)bits * slack);
        return bound;
    case LW_OP_REM:
        if (is_unsigned_constant(func, i->b, &bits))
            return fmin(bound, (double)bits * slack);
        return bound;
    case LW_OP_CAST: {
        double from = bound_of(q, func, i->a);

        if (i->type == LW_DT_b1)
            return 1.0;
        /* a negative number that becomes unsigned is large */
        if (lw_is_signed((lw_dtype)func->insts.data[i->a].type) &&
            !lw_is_signed((lw_dtype)i->type))
            return bound;
        return from < bound ? from : bound;
    }
    case LW_OP_SELECT: return largest(bound_of(q, func, i->b), bound_of(q, func, i->c));
    default: return bound;
    }
}

static double
bound_of_intrinsic(question *q, const lw_func *func, const lw_inst *i)
{
    const uint32_t *values = func->lists.data + i->b;

    switch ((lw_intrinsic)i->a) {
    case LW_IN_sin:
    case LW_IN_cos:
    case LW_IN_tanh:
    case LW_IN_erf: return slack;
    case LW_IN_fabs:
    case LW_IN_copysign: return bound_of(q, func, values[0]);
    case LW_IN_fmod: return bound_of(q, func, values[1]);
    case LW_IN_floor:
    case LW_IN_ceil:
    case LW_IN_trunc:
    case LW_IN_rint:
    case LW_IN_round: return bound_of(q, func, values[0]) + 1.0;
    case LW_IN_fmin:
    case LW_IN_fmax:
    case LW_IN_minimum:
    case LW_IN_maximum:
        return largest(bound_of(q, func, values[0]), bound_of(q, func, values[1]));
    default: return INFINITY;
    }
}

/* The result of a function that the module defines: what all its RETURNs give. */
static double
bound_of_result(question *q, const lw_func *callee, uint32_t which)
{
    double bound = 0.0;

    for (uint32_t i = 1; i < callee->insts.n; i++) {
        const lw_inst *leave = &callee->insts.data[i];

        if (leave->op != LW_OP_RETURN)
            continue;
        assert(which < leave->c);
        bound = largest(bound, bound_of(q, callee, callee->lists.data[leave->b + which]));
    }
    return bound;
}

static double
bound_of_float(question *q, const lw_func *func, const lw_inst *i)
{
    const lw_inst *call;

    switch (i->op) {
    case LW_OP_CONST: return bound_of_bits((lw_dtype)i->type, func->constants.data[i->a].bits);
    case LW_OP_CAST: /* a truth value is 1 for every number but 0 */
        return i->type == LW_DT_b1 ? 1.0 : bound_of(q, func, i->a);
    case LW_OP_NEG: return bound_of(q, func, i->a);
    case LW_OP_MUL: return bound_of(q, func, i->a) * bound_of(q, func, i->b);
    case LW_OP_ADD:
    case LW_OP_SUB: return bound_of(q, func, i->a) + bound_of(q, func, i->b);
    case LW_OP_FMA:
        return bound_of(q, func, i->a) * bound_of(q, func, i->b) + bound_of(q, func, i->c);
    case LW_OP_SELECT: return largest(bound_of(q, func, i->b), bound_of(q, func, i->c));
    case LW_OP_INTRINSIC: return bound_of_intrinsic(q, func, i);
    case LW_OP_CALL: return bound_of_result(q, q->module->funcs.data[i->a], 0);
    case LW_OP_RESULT:
        call = &func->insts.data[i->a];
        return call->op == LW_OP_CALL ? bound_of_result(q, q->module->funcs.data[call->a], i->b)
                                      : INFINITY;
    default: return INFINITY;
    }
}

/* The largest number of the type that a result of at most `exact` is rounded to. NaN comes from
 * 0 * INFINITY, which bounds nothing. */
static double
rounded(lw_dtype type, double exact)
{
    double bound = exact == 0.0 ? 0.0 : exact * slack + formats[type].least;

    return bound <= formats[type].most ? bound : INFINITY;
}

static double
bound_of(question *q, const lw_func *func, lw_ref value)
{
    const lw_inst *i = &func->insts.data[value];
    lw_dtype type = (lw_dtype)i->type;

    if (q->steps-- <= 0 || i->lanes > 1)
        return INFINITY;
    return lw_is_float(type) ? rounded(type, bound_of_float(q, func, i))
                             : bound_of_integer(q, func, i);
}

double
lw_ir_bound(const lw_module *module, const lw_func *func, lw_ref value)
{
    question q = {module, MOST_STEPS};

    return bound_of(&q, func, value);
}
