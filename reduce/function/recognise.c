/* What combine does, read off its code: whether elements may change places, and what its
 * identity is. */
#include "reduce/function/reduction.h"

#include "core/tables/intrinsics.h"

#include <math.h>
#include <string.h>

typedef enum op_kind { OP_OTHER, OP_ZERO, OP_ONE, OP_ONES, OP_NO_IDENTITY } op_kind;

static bool
are_operands(const lw_func *func, lw_ref x, lw_ref y, uint32_t part, uint32_t parts)
{
    const lw_inst *a = &func->insts.data[x], *b = &func->insts.data[y];
    uint32_t low, high;

    if (a->op != LW_OP_PARAM || b->op != LW_OP_PARAM)
        return false;
    low = a->a < b->a ? a->a : b->a;
    high = a->a < b->a ? b->a : a->a;
    return low == part && high == part + parts;
}

/* select(c, x, y): min and max by a comparison of the two; `and` and `or` of bools. */
static op_kind
kind_of_select(const lw_func *func, const lw_inst *inst, uint32_t part, uint32_t parts)
{
    const lw_inst *condition = &func->insts.data[inst->a];
    const lw_inst *yes = &func->insts.data[inst->b], *no = &func->insts.data[inst->c];
    lw_ref first = inst->a;

    if (condition->op >= LW_OP_LT && condition->op <= LW_OP_GE)
        return are_operands(func, inst->b, inst->c, part, parts) &&
                       are_operands(func, condition->a, condition->b, part, parts)
                   ? OP_NO_IDENTITY
                   : OP_OTHER;
    if (inst->type != LW_DT_b1 || condition->op != LW_OP_PARAM)
        return OP_OTHER;
    if (no->op == LW_OP_PARAM && no->a == condition->a)
        return are_operands(func, first, inst->b, part, parts) ? OP_ONES : OP_OTHER;
    if (yes->op == LW_OP_PARAM && yes->a == condition->a)
        return are_operands(func, first, inst->c, part, parts) ? OP_ZERO : OP_OTHER;
    return OP_OTHER;
}

static bool
is_min_or_max(uint32_t intrinsic)
{
    const char *name = lw_intrinsics[intrinsic].name;

    return strcmp(name, "minimum") == 0 || strcmp(name, "maximum") == 0 ||
           strcmp(name, "fmin") == 0 || strcmp(name, "fmax") == 0 || strcmp(name, "min") == 0 ||
           strcmp(name, "max") == 0;
}

/* What part `part` of the result is of the same part of both operands. */
static op_kind
kind_of_part(const lw_func *func, lw_ref result, uint32_t part, uint32_t parts)
{
    lw_inst *inst = &func->insts.data[result];
    const lw_ref *list;

    switch (inst->op) {
    case LW_OP_ADD:
    case LW_OP_OR:
    case LW_OP_XOR:
        return are_operands(func, inst->a, inst->b, part, parts) ? OP_ZERO : OP_OTHER;
    case LW_OP_MUL:
        return are_operands(func, inst->a, inst->b, part, parts) ? OP_ONE : OP_OTHER;
    case LW_OP_AND:
        return are_operands(func, inst->a, inst->b, part, parts) ? OP_ONES : OP_OTHER;
    case LW_OP_SELECT: return kind_of_select(func, inst, part, parts);
    case LW_OP_INTRINSIC:
        list = func->lists.data + inst->b;
        if (inst->c != 2 || !is_min_or_max(inst->a) ||
            !are_operands(func, list[0], list[1], part, parts))
            return OP_OTHER;
        if (lw_is_float((lw_dtype)inst->type))
            inst->flags |= LW_FAST_NSZ; /* which zero: NumPy does not say either */
        return OP_NO_IDENTITY;
    default: return OP_OTHER;
    }
}

/* +x or -x: a product of one part of each operand. */
typedef struct term {
    const lw_inst *product;
    bool minus;
} term;

static term
term_of(const lw_func *func, lw_ref at)
{
    const lw_inst *inst = &func->insts.data[at];
    term t = {inst, false};

    if (inst->op == LW_OP_NEG) {
        t.product = &func->insts.data[inst->a];
        t.minus = true;
    }
    return t;
}

/* Two terms: of x + y, x - y and fma. */
static bool
terms_of(const lw_func *func, lw_ref result, term *two)
{
    const lw_inst *inst = &func->insts.data[result];

    if (inst->op == LW_OP_FMA) { /* a and b of it are those of the product */
        two[0] = (term){inst, false};
        two[1] = term_of(func, inst->c);
        return two[1].product->op == LW_OP_MUL;
    }
    if (inst->op != LW_OP_ADD && inst->op != LW_OP_SUB)
        return false;
    two[0] = term_of(func, inst->a);
    two[1] = term_of(func, inst->b);
    two[1].minus ^= inst->op == LW_OP_SUB;
    return two[0].product->op == LW_OP_MUL && two[1].product->op == LW_OP_MUL;
}

/* Whether this is the product of parts x of one operand and y of the other, both numbered from
 * the complex number's real part. */
static bool
multiplies(const lw_func *func, const term *t, bool minus, uint32_t x, uint32_t y)
{
    const lw_inst *a = &func->insts.data[t->product->a], *b = &func->insts.data[t->product->b];

    return t->minus == minus && a->op == LW_OP_PARAM && b->op == LW_OP_PARAM &&
           ((a->a == x && b->a == y) || (a->a == y && b->a == x));
}

/* (re + im i) of both operands multiplied; `part` is where re is among `parts`. */
static bool
is_complex_product(const lw_func *func, const lw_ref *results, uint32_t part, uint32_t parts)
{
    uint32_t re = part, im = part + 1, other_re = parts + part, other_im = parts + part + 1;
    term real[2], imaginary[2];

    if (!terms_of(func, results[part], real) || !terms_of(func, results[part + 1], imaginary))
        return false;
    if (real[0].minus && !real[1].minus) {
        term first = real[0];
        real[0] = real[1];
        real[1] = first;
    }
    return multiplies(func, &real[0], false, re, other_re) &&
           multiplies(func, &real[1], true, im, other_im) &&
           ((multiplies(func, &imaginary[0], false, re, other_im) &&
             multiplies(func, &imaginary[1], false, im, other_re)) ||
            (multiplies(func, &imaginary[0], false, im, other_re) &&
             multiplies(func, &imaginary[1], false, re, other_im)));
}

/* What the number of the result is whose parts begin with `part`. */
static op_kind
kind_of_number(const lw_func *func, const lw_ref *results, lw_dtype dtype, uint32_t part,
               uint32_t parts)
{
    uint32_t n = (uint32_t)lw_reduce_parts(dtype);
    op_kind kind = kind_of_part(func, results[part], part, parts);

    if (n == 2 && is_complex_product(func, results, part, parts))
        return OP_ONE;
    for (uint32_t k = 1; k < n; k++)
        if (kind_of_part(func, results[part + k], part + k, parts) != kind)
            return OP_OTHER;
    return n == 2 && (kind == OP_ONE || kind == OP_ONES) ? OP_OTHER : kind;
}

static void
set_identity(lw_reduce_item *item, lw_dtype dtype, op_kind kind)
{
    lw_dtype part = lw_dtypes[dtype].parts;
    float f = 1;
    double d = 1;

    memset(item, 0, sizeof *item);
    if (kind == OP_ONES)
        memset(item, dtype == LW_DT_b1 ? 1 : 0xff, lw_dtypes[dtype].size_bytes);
    if (kind != OP_ONE)
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
    for (int k = 0; k < lw_reduce_parts(dtype); k++)
        if (part == LW_DT_f32)
            memcpy(item->bytes + (size_t)k * sizeof narrow, &narrow, sizeof narrow);
        else
            memcpy(item->bytes + (size_t)k * sizeof value, &value, sizeof value);
}

/* The smallest integer of this dtype, or the largest. */
static void
set_end(lw_reduce_item *item, lw_dtype dtype, bool largest)
{
    uint32_t size = lw_dtypes[dtype].size_bytes;
    bool is_signed = lw_dtypes[dtype].kind == LW_KIND_INT;

    memset(item, 0, sizeof *item);
    memset(item, largest ? 0xff : 0, size);
    if (is_signed)
        item->bytes[size - 1] ^= 0x80; /* little-endian */
}

/* Whether a select that takes the larger or the smaller of two integers takes the larger. */
static bool
takes_larger(const lw_func *func, const lw_inst *made)
{
    const lw_inst *test = &func->insts.data[made->a];
    bool greater = test->op == LW_OP_GT || test->op == LW_OP_GE;

    return greater == (func->insts.data[made->b].a == func->insts.data[test->a].a);
}

/* What changes nothing in another number, whatever it is. False: not known. */
static bool
set_neutral(const lw_func *func, const lw_inst *made, lw_dtype dtype, op_kind kind,
            lw_reduce_item *item)
{
    bool is_float = lw_is_float(lw_dtypes[dtype].parts);
    const char *name;

    if (kind == OP_OTHER || (kind == OP_ONE && lw_is_complex(dtype)))
        return false;
    if (kind == OP_ZERO && is_float)
        set_float(item, dtype, -0.0);
    else if (kind != OP_NO_IDENTITY)
        set_identity(item, dtype, kind);
    else if (made->op == LW_OP_INTRINSIC && is_float && !lw_is_complex(dtype)) {
        name = lw_intrinsics[made->a].name;
        set_float(item, dtype, strcmp(name, "maximum") == 0 ? -INFINITY : INFINITY);
        return (strcmp(name, "maximum") == 0 || strcmp(name, "minimum") == 0) &&
               (made->flags & LW_FAST_NINF) == 0;
    } else if (made->op == LW_OP_SELECT && lw_is_integer(dtype))
        set_end(item, dtype, !takes_larger(func, made));
    else
        return false;
    return true;
}

/* One straight line that ends in `return`, each result one known operation. */
void
lw_reduce_recognise(lw_reduction *r)
{
    const lw_func *func = r->combine->module->funcs.data[r->combine->body];
    const lw_inst *last = &func->insts.data[func->insts.n - 1];
    uint32_t parts = func->results.n, part = 0;

    if (last->op != LW_OP_RETURN || last->c != parts || func->params.n != 2 * parts)
        return;
    r->commutative = r->has_identity = r->exact = r->has_neutral = true;
    for (uint32_t i = 0; i < r->n_acc; i++) {
        op_kind kind = kind_of_number(func, func->lists.data + last->b, r->acc[i], part, parts);
        const lw_inst *made = &func->insts.data[func->lists.data[last->b + part]];
        r->has_neutral &= set_neutral(func, made, r->acc[i], kind, &r->neutral[i]);
        part += (uint32_t)lw_reduce_parts(r->acc[i]);
        if (kind == OP_OTHER)
            r->commutative = false;
        r->exact &= kind == OP_NO_IDENTITY || lw_is_integer(r->acc[i]) || r->acc[i] == LW_DT_b1;
        if (kind == OP_OTHER || kind == OP_NO_IDENTITY)
            r->has_identity = false;
        else
            set_identity(&r->identity[i], r->acc[i], kind);
    }
    r->exact &= r->commutative;
    r->stop = r->identity[0].bytes[0] == 0;
    r->stops = r->has_identity && r->n_acc == 1 && r->acc[0] == LW_DT_b1 &&
               func->insts.data[func->lists.data[last->b]].op != LW_OP_XOR;
}

/* Whether `at` is the accumulator's number `which` (0, 1) of combine. */
static bool
is_operand(const lw_func *func, lw_ref at, uint32_t which)
{
    return func->insts.data[at].op == LW_OP_PARAM && func->insts.data[at].a == which;
}

lw_reduce_extreme_kind
lw_reduce_picks(const lw_reduction *r)
{
    const lw_func *func = r->combine->module->funcs.data[r->combine->body];
    const lw_inst *last = &func->insts.data[func->insts.n - 1], *made, *test;
    bool greater, first;

    if (r->n_acc != 1 || !lw_is_integer(r->acc[0]) || last->op != LW_OP_RETURN || last->c != 1)
        return LW_REDUCE_NO_EXTREME;
    made = &func->insts.data[func->lists.data[last->b]];
    if (made->op != LW_OP_SELECT)
        return LW_REDUCE_NO_EXTREME;
    test = &func->insts.data[made->a];
    if (test->op < LW_OP_LT || test->op > LW_OP_GE ||
        !are_operands(func, test->a, test->b, 0, 1) ||
        !are_operands(func, made->b, made->c, 0, 1))
        return LW_REDUCE_NO_EXTREME;
    greater = test->op == LW_OP_GT || test->op == LW_OP_GE;
    first = is_operand(func, made->b, 0) == is_operand(func, test->a, 0);
    return greater == first ? LW_REDUCE_LARGEST : LW_REDUCE_SMALLEST;
}

/* ---- plain sums among the numbers of an accumulator ---- */

/* One number of combine's operands and what may be made of it: their sum, or their product. */
typedef struct pair {
    const lw_func *func;
    uint32_t part, parts;
    uint16_t op;
} pair;

/* ADD or MUL of both. */
static bool
is_made_of(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];

    return inst->op == p->op && are_operands(p->func, inst->a, inst->b, p->part, p->parts);
}

static bool
is_either(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];

    return inst->op == LW_OP_PARAM && (inst->a == p->part || inst->a == p->parts + p->part);
}

/* The result is what is made of both, and no other. */
static bool
returns_it(const pair *p, const lw_inst *inst)
{
    bool good = inst->c == p->parts;

    for (uint32_t i = 0; good && i < inst->c; i++)
        good = is_made_of(p, p->func->lists.data[inst->b + i]) == (i == p->part);
    return good;
}

/* Nothing but the sum reads either number, and nothing but `return` reads the sum. */
static bool
leaves_it_alone(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};
    const char *letters = lw_ops[inst->op].args;
    bool made = is_made_of(p, at), good = true;

    for (uint32_t i = 0; good && i < 3; i++) {
        const lw_ref *values = letters[i] == 'L' ? p->func->lists.data + inst->b : operands + i;
        uint32_t n = letters[i] == 'L' ? inst->c : letters[i] == 'v';
        for (uint32_t k = 0; good && k < n; k++)
            good = (made || !is_either(p, values[k])) &&
                   (inst->op == LW_OP_RETURN || !is_made_of(p, values[k]));
    }
    return good && (inst->op != LW_OP_RETURN || returns_it(p, inst));
}

bool
lw_reduce_sums_alone(const lw_scalar *combine, uint32_t part)
{
    const lw_func *func = combine->module->funcs.data[combine->body];
    static const uint16_t ops[] = {LW_OP_ADD, LW_OP_MUL};
    uint32_t parts = func->results.n;
    bool alone = false;

    if (combine->can_raise || func->params.n != 2 * parts || part >= parts)
        return false;
    for (int i = 0; i < 2 && !alone; i++) {
        const pair p = {func, part, parts, ops[i]};
        alone = true;
        for (lw_ref at = 1; alone && at < func->insts.n; at++)
            alone = leaves_it_alone(&p, at);
    }
    return alone;
}
