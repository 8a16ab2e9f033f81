/* What an integer of the IR surely lies between: by its type, by how it was made, and, of what
 * counts, by where it stops. Looks a few instructions back; what is assigned more than once, or
 * read from memory, is anything that its type can be. */
#include "core/front/lower/address.h"

#include "core/front/numeric/integers.h"

typedef struct span {
    int64_t lo, hi; /* all of int64: not known, or beyond it */
} span;

static const span ANYTHING = {INT64_MIN, INT64_MAX};

static span of_value(const lw_lower_frame *f, lw_ref value, int depth);

static span
of_type(lw_dtype type)
{
    unsigned bits = lw_dtypes[type].bits;

    if (type == LW_DT_b1)
        return (span){0, 1};
    if (!lw_is_integer(type) || bits >= 64)
        return ANYTHING;
    if (lw_is_signed(type))
        return (span){-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1};
    return (span){0, ((int64_t)1 << bits) - 1};
}

/* A result that may have wrapped is anything. */
static span
fitted(span s, lw_dtype type)
{
    span most = of_type(type);

    if (type == LW_DT_u64 && s.lo < 0)
        return ANYTHING;
    return s.lo < most.lo || s.hi > most.hi ? most : s;
}

static span
joined(span x, span y)
{
    return (span){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static bool
is_anything(span s)
{
    return s.lo == INT64_MIN || s.hi == INT64_MAX;
}

/* ---- arithmetic ---- */

static span
of_sum(span x, span y, bool minus)
{
    span s;

    if (is_anything(x) || is_anything(y))
        return ANYTHING;
    if (minus)
        y = (span){-y.hi, -y.lo};
    if (__builtin_add_overflow(x.lo, y.lo, &s.lo) || __builtin_add_overflow(x.hi, y.hi, &s.hi))
        return ANYTHING;
    return s;
}

static span
of_product(span x, span y)
{
    const int64_t u[2] = {x.lo, x.hi}, v[2] = {y.lo, y.hi};
    span s = {INT64_MAX, INT64_MIN};

    for (int i = 0; i < 4; i++) {
        int64_t product;
        if (is_anything(x) || is_anything(y) ||
            __builtin_mul_overflow(u[i & 1], v[i >> 1], &product))
            return ANYTHING;
        s = joined(s, (span){product, product});
    }
    return s;
}

static span
of_and(span x, span y)
{
    if (x.lo < 0 && y.lo < 0)
        return ANYTHING;
    return (span){0, x.lo < 0 ? y.hi : y.lo < 0 || x.hi < y.hi ? x.hi : y.hi};
}

/* x >> n, x / d, x % d with a constant above 0; u: x is unsigned, and of 64 bits. */
static span
of_division(lw_op op, span x, int64_t by, bool u)
{
    uint64_t most = u && is_anything(x) ? UINT64_MAX : (uint64_t)x.hi;

    if (op == LW_OP_REM)
        return x.lo >= 0 || u ? (span){0, !u && x.hi < by ? x.hi : by - 1}
                              : (span){1 - by, by - 1};
    if (u && is_anything(x)) {
        most = op == LW_OP_SHR ? most >> by : most / (uint64_t)by;
        return most > INT64_MAX ? ANYTHING : (span){0, (int64_t)most};
    }
    return op == LW_OP_SHR ? (span){x.lo >> by, x.hi >> by} : (span){x.lo / by, x.hi / by};
}

static span
of_divided(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    bool u = inst->type == LW_DT_u64;
    uint64_t by;

    if (!lw_ir_is_const(&f->b, inst->b, &by) || (int64_t)by < (inst->op != LW_OP_SHR) ||
        (inst->op == LW_OP_SHR && by > 63))
        return of_type((lw_dtype)inst->type);
    return of_division((lw_op)inst->op, of_value(f, inst->a, depth), (int64_t)by, u);
}

/* ---- selects ---- */

static bool
is_same(const lw_lower_frame *f, lw_ref x, lw_ref y)
{
    uint64_t u, v;

    return x == y || (lw_ir_is_const(&f->b, x, &u) && lw_ir_is_const(&f->b, y, &v) && u == v);
}

/* The smaller or the larger of two: -1, 1; 0: neither. */
static int
extremum_of(const lw_lower_frame *f, const lw_inst *inst)
{
    const lw_inst *test = &f->b.func->insts.data[inst->a];
    bool less = test->op == LW_OP_LT || test->op == LW_OP_LE;

    if (!less && test->op != LW_OP_GT && test->op != LW_OP_GE)
        return 0;
    if (is_same(f, inst->b, test->a) && is_same(f, inst->c, test->b))
        return less ? -1 : 1;
    return is_same(f, inst->b, test->b) && is_same(f, inst->c, test->a) ? (less ? 1 : -1) : 0;
}

/* What lw_int_divmod makes of x % d: r + d where r = rem(x, d) is not 0 and has the other sign.
 * d where it is a constant above 0; else 0. */
static int64_t
modulus_of(const lw_lower_frame *f, const lw_inst *inst)
{
    const lw_inst *insts = f->b.func->insts.data;
    const lw_inst *rest = &insts[inst->c], *moved = &insts[inst->b], *test = &insts[inst->a];
    uint64_t by, no_rest, no_sign;

    if (rest->op != LW_OP_REM || moved->op != LW_OP_ADD || test->op != LW_OP_AND ||
        moved->a != inst->c || !is_same(f, moved->b, rest->b) ||
        !lw_ir_is_const(&f->b, rest->b, &by))
        return 0;
    const lw_inst *some = &insts[test->a], *below = &insts[test->b];
    const lw_inst *signs = &insts[below->a];
    if (some->op != LW_OP_NE || some->a != inst->c || below->op != LW_OP_LT ||
        signs->op != LW_OP_XOR || signs->a != inst->c || !is_same(f, signs->b, rest->b) ||
        !lw_ir_is_const(&f->b, some->b, &no_rest) || no_rest != 0 ||
        !lw_ir_is_const(&f->b, below->b, &no_sign) || no_sign != 0)
        return 0;
    return (int64_t)by > 0 ? (int64_t)by : 0;
}

static span
of_select(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    span x = of_value(f, inst->b, depth), y = of_value(f, inst->c, depth);
    bool is_signed = inst->type != LW_DT_u64;
    int which = is_signed ? extremum_of(f, inst) : 0;
    int64_t modulus = modulus_of(f, inst);

    if (modulus > 0)
        return (span){0, modulus - 1};
    if (which < 0)
        return (span){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    if (which > 0)
        return (span){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    return joined(x, y);
}

/* ---- the whole ---- */

static span
of_counter(const lw_lower_frame *f, const lw_counter *counter, int depth)
{
    span stop = counter->stop ? of_value(f, counter->stop, depth) : ANYTHING;

    return (span){(int64_t)counter->least,
                  stop.hi == INT64_MAX ? INT64_MAX - 1 : stop.hi - (stop.hi > INT64_MIN)};
}

static span
of_cast(const lw_lower_frame *f, const lw_inst *inst, int depth)
{
    lw_dtype from = lw_ir_type(&f->b, inst->a), to = (lw_dtype)inst->type;

    if (!lw_is_integer(to) || !(lw_is_integer(from) || from == LW_DT_b1))
        return of_type(to);
    span s = of_value(f, inst->a, depth);
    return fitted(s, to);
}

static span
of_value(const lw_lower_frame *f, lw_ref value, int depth)
{
    const lw_inst *inst = &f->b.func->insts.data[value];
    lw_dtype type = (lw_dtype)inst->type;
    const lw_counter *counter = lw_counter_of(f, value);
    uint64_t known;

    if (lw_ir_is_const(&f->b, value, &known))
        return type == LW_DT_u64 && known > INT64_MAX ? ANYTHING
                                                      : (span){(int64_t)known, (int64_t)known};
    if (depth-- == 0)
        return of_type(type);
    if (counter != NULL)
        return of_counter(f, counter, depth);
    switch (inst->op) {
    case LW_OP_CAST: return of_cast(f, inst, depth);
    case LW_OP_NEG:
        return fitted(of_sum((span){0, 0}, of_value(f, inst->a, depth), true), type);
    case LW_OP_ADD:
    case LW_OP_SUB:
        return fitted(of_sum(of_value(f, inst->a, depth), of_value(f, inst->b, depth),
                             inst->op == LW_OP_SUB),
                      type);
    case LW_OP_MUL:
        return fitted(of_product(of_value(f, inst->a, depth), of_value(f, inst->b, depth)),
                      type);
    case LW_OP_AND:
        return lw_is_integer(type)
                   ? of_and(of_value(f, inst->a, depth), of_value(f, inst->b, depth))
                   : of_type(type);
    case LW_OP_SHR:
    case LW_OP_DIV:
    case LW_OP_REM: return lw_is_integer(type) ? of_divided(f, inst, depth) : of_type(type);
    case LW_OP_SELECT: return of_select(f, inst, depth);
    default: return of_type(type);
    }
}

bool
lw_surely_inside(const lw_lower_frame *f, lw_ref index, lw_ref extent)
{
    const lw_counter *counter = index ? lw_counter_of(f, index) : NULL;
    uint64_t n;
    span s;

    if (f->b.func == NULL || index == 0)
        return false;
    if (!lw_ir_is_const(&f->b, extent, &n))
        return counter != NULL && counter->stop == extent;
    s = of_value(f, index, 8);
    return s.lo >= -(int64_t)n && s.hi < (int64_t)n;
}
