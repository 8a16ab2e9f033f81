#include "core/opt/operator.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/relation.h"
#include "core/tables/intrinsics.h"

#include <assert.h>
#include <string.h>

static const lw_inst *
last_of(const lw_func *func)
{
    return &func->insts.data[func->insts.n - 1];
}

bool
lw_operator_is_line(const lw_func *func)
{
    const lw_inst *last = last_of(func);

    return last->op == LW_OP_RETURN && last->c == func->results.n &&
           func->params.n == 2 * func->results.n;
}

static lw_ref
result_ref(const lw_func *func, uint32_t part)
{
    assert(lw_operator_is_line(func) && part < func->results.n);
    return func->lists.data[last_of(func)->b + part];
}

const lw_inst *
lw_operator_result(const lw_func *func, uint32_t part)
{
    return &func->insts.data[result_ref(func, part)];
}

/* ---- operations, by the form of the code ---- */

/* Whether the two are the scalar `part` of both operands, in whichever order. */
static bool
are_operands(const lw_func *func, lw_ref x, lw_ref y, uint32_t part)
{
    const lw_inst *a = &func->insts.data[x], *b = &func->insts.data[y];
    uint32_t other = func->results.n + part;

    return a->op == LW_OP_PARAM && b->op == LW_OP_PARAM &&
           ((a->a == part && b->a == other) || (a->a == other && b->a == part));
}

static bool
is_ordering(const lw_inst *inst)
{
    return inst->op >= LW_OP_LT && inst->op <= LW_OP_GE;
}

/* Bools are compared as integers: the bool that `at` converts; else `at`. */
static lw_ref
compared(const lw_func *func, lw_ref at)
{
    const lw_inst *inst = &func->insts.data[at];
    bool converts = inst->op == LW_OP_CAST && lw_is_integer((lw_dtype)inst->type) &&
                    func->insts.data[inst->a].type == LW_DT_b1;

    return converts ? inst->a : at;
}

/* select(x < y, x, y) and its like */
static bool
is_selected(const lw_func *func, const lw_inst *inst, uint32_t part)
{
    const lw_inst *test = &func->insts.data[inst->a];

    return is_ordering(test) && are_operands(func, inst->b, inst->c, part) &&
           are_operands(func, compared(func, test->a), compared(func, test->b), part);
}

/* select(c, x, y): min and max by a comparison of the two; `and` and `or` of bools. */
static lw_operation
operation_of_select(const lw_func *func, const lw_inst *inst, uint32_t part)
{
    const lw_inst *condition = &func->insts.data[inst->a];
    const lw_inst *yes = &func->insts.data[inst->b], *no = &func->insts.data[inst->c];

    if (is_ordering(condition))
        return is_selected(func, inst, part) ? LW_OPERATION_EXTREMES : LW_OPERATION_OTHER;
    if (inst->type != LW_DT_b1 || condition->op != LW_OP_PARAM)
        return LW_OPERATION_OTHER;
    if (no->op == LW_OP_PARAM && no->a == condition->a)
        return are_operands(func, inst->a, inst->b, part) ? LW_OPERATION_ANDS
                                                          : LW_OPERATION_OTHER;
    if (yes->op == LW_OP_PARAM && yes->a == condition->a)
        return are_operands(func, inst->a, inst->c, part) ? LW_OPERATION_ADDS
                                                          : LW_OPERATION_OTHER;
    return LW_OPERATION_OTHER;
}

/* The operand that `test`, x == constant, compares with the constant of instruction `at`; 0:
 * it compares none. */
static lw_ref
compared_with(const lw_func *func, lw_ref test, lw_ref at)
{
    const lw_inst *equal = &func->insts.data[test], *constant = &func->insts.data[at], *other;

    if (equal->op != LW_OP_EQ || constant->op != LW_OP_CONST)
        return 0;
    other = &func->insts.data[equal->b];
    if (other->op != LW_OP_CONST || other->type != constant->type)
        return 0;
    return func->constants.data[other->a].bits == func->constants.data[constant->a].bits
               ? equal->a
               : 0;
}

bool
lw_operator_is_absorbing_sum(const lw_func *func, uint32_t part)
{
    const lw_inst *inst = lw_operator_result(func, part), *test, *sum;
    lw_ref x, y;

    if (inst->op != LW_OP_SELECT)
        return false;
    test = &func->insts.data[inst->a];
    sum = &func->insts.data[inst->c];
    if (test->op != LW_OP_OR || sum->op != LW_OP_ADD)
        return false;
    x = compared_with(func, test->a, inst->b);
    y = compared_with(func, test->b, inst->b);
    return x && y && are_operands(func, x, y, part) && are_operands(func, sum->a, sum->b, part);
}

static bool
is_min_or_max(uint32_t intrinsic)
{
    static const char *const names[] = {"minimum", "maximum", "fmin", "fmax", "min", "max"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(lw_intrinsics[intrinsic].name, names[i]) == 0)
            return true;
    return false;
}

static lw_operation
operation_of_intrinsic(const lw_func *func, lw_inst *inst, uint32_t part)
{
    const lw_ref *list = func->lists.data + inst->b;

    if (inst->c != 2 || !is_min_or_max(inst->a) || !are_operands(func, list[0], list[1], part))
        return LW_OPERATION_OTHER;
    if (lw_is_float((lw_dtype)inst->type))
        inst->flags |= LW_FAST_NSZ; /* which zero: NumPy does not say either */
    return LW_OPERATION_EXTREMES;
}

static lw_operation
operation_of_part(const lw_func *func, uint32_t part)
{
    lw_inst *inst = &func->insts.data[result_ref(func, part)];
    lw_operation made = LW_OPERATION_OTHER;

    switch (inst->op) {
    case LW_OP_ADD:
    case LW_OP_OR:
    case LW_OP_XOR: made = LW_OPERATION_ADDS; break;
    case LW_OP_MUL: made = LW_OPERATION_TIMES; break;
    case LW_OP_AND: made = LW_OPERATION_ANDS; break;
    case LW_OP_SELECT: return operation_of_select(func, inst, part);
    case LW_OP_INTRINSIC: return operation_of_intrinsic(func, inst, part);
    default: return LW_OPERATION_OTHER;
    }
    return are_operands(func, inst->a, inst->b, part) ? made : LW_OPERATION_OTHER;
}

lw_extreme_kind
lw_operator_selects(const lw_func *func, uint32_t part)
{
    const lw_inst *made = lw_operator_result(func, part), *test;
    bool greater, first;

    if (made->op != LW_OP_SELECT || !is_selected(func, made, part))
        return LW_NO_EXTREME;
    test = &func->insts.data[made->a];
    greater = test->op == LW_OP_GT || test->op == LW_OP_GE;
    first = func->insts.data[made->b].a == func->insts.data[compared(func, test->a)].a;
    return greater == first ? LW_LARGEST : LW_SMALLEST;
}

/* ---- products of complex numbers ---- */

/* +x or -x: a product of one scalar of each operand. */
typedef struct term {
    const lw_inst *product;
    bool minus;
} term;

static term
term_of(const lw_func *func, lw_ref at)
{
    const lw_inst *inst = &func->insts.data[at];

    if (inst->op == LW_OP_NEG)
        return (term){&func->insts.data[inst->a], true};
    return (term){inst, false};
}

/* The two terms of x + y, x - y and fma. */
static bool
terms_of(const lw_func *func, uint32_t part, term *two)
{
    const lw_inst *inst = lw_operator_result(func, part);

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

/* Whether this is the product of parameters x and y. */
static bool
multiplies(const lw_func *func, const term *t, bool minus, uint32_t x, uint32_t y)
{
    const lw_inst *a = &func->insts.data[t->product->a], *b = &func->insts.data[t->product->b];

    return t->minus == minus && a->op == LW_OP_PARAM && b->op == LW_OP_PARAM &&
           ((a->a == x && b->a == y) || (a->a == y && b->a == x));
}

/* (re + im i) of both operands multiplied; re is the scalar `re`. */
static bool
is_complex_product(const lw_func *func, uint32_t re)
{
    uint32_t im = re + 1, other_re = func->results.n + re, other_im = other_re + 1;
    term real[2], imaginary[2];

    if (!terms_of(func, re, real) || !terms_of(func, im, imaginary))
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

lw_operation
lw_operator_number(lw_func *func, lw_dtype dtype, uint32_t part)
{
    uint32_t n = lw_dtype_n_parts(dtype);
    lw_operation made = operation_of_part(func, part);

    assert(part + n <= func->results.n);
    if (n == 1)
        return made;
    if (is_complex_product(func, part))
        return LW_OPERATION_TIMES;
    /* scalar by scalar only sums are operations of complex numbers, too */
    if (operation_of_part(func, part + 1) != made || made == LW_OPERATION_TIMES ||
        made == LW_OPERATION_ANDS)
        return LW_OPERATION_OTHER;
    return made;
}

/* ---- plain sums among the numbers ---- */

/* One scalar of the operands and what may be made of it: their sum, or their product. */
typedef struct pair {
    const lw_func *func;
    uint32_t part;
    lw_op op;
} pair;

/* ADD or MUL of both. */
static bool
is_made_of(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];

    return inst->op == p->op && are_operands(p->func, inst->a, inst->b, p->part);
}

static bool
is_either(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];

    return inst->op == LW_OP_PARAM &&
           (inst->a == p->part || inst->a == p->func->results.n + p->part);
}

/* The result is what is made of both, and no other. */
static bool
returns_it(const pair *p, const lw_inst *inst)
{
    bool good = inst->c == p->func->results.n;

    for (uint32_t i = 0; good && i < inst->c; i++)
        good = is_made_of(p, p->func->lists.data[inst->b + i]) == (i == p->part);
    return good;
}

/* Nothing but the sum reads either number, and nothing but `return` reads the sum. */
static bool
leaves_it_alone(const pair *p, lw_ref at)
{
    const lw_inst *inst = &p->func->insts.data[at];
    bool made = is_made_of(p, at);
    uint32_t next = 0;
    lw_ref operand;

    while (lw_ir_next_operand(p->func, inst, &next, &operand))
        if ((!made && is_either(p, operand)) ||
            (inst->op != LW_OP_RETURN && is_made_of(p, operand)))
            return false;
    return inst->op != LW_OP_RETURN || returns_it(p, inst);
}

bool
lw_operator_sums_alone(const lw_func *func, uint32_t part)
{
    static const lw_op ops[] = {LW_OP_ADD, LW_OP_MUL};
    bool alone = false;

    if (func->params.n != 2 * func->results.n || part >= func->results.n)
        return false;
    for (int i = 0; i < 2 && !alone; i++) {
        const pair p = {func, part, ops[i]};
        alone = true;
        for (lw_ref at = 1; alone && at < func->insts.n; at++)
            alone = leaves_it_alone(&p, at);
    }
    return alone;
}

/* ---- choices, by running the operator for every relation of its operands ---- */

typedef struct value { /* one bit, or scalar `part` of an operand */
    bool is_bit, bit;
    lw_side side;
    uint32_t part;
} value;

typedef struct trial {
    const lw_func *func;
    uint32_t best, index; /* scalars that may be compared; LW_NO_PART: not found yet, or none */
    lw_relation values, indices; /* how they relate now */
    value *made;                 /* by instruction */
} trial;

static bool
compare(trial *t, lw_op op, value x, value y, value *out)
{
    if (x.is_bit || y.is_bit || x.part != y.part)
        return false;
    if (x.part != t->index && t->best == LW_NO_PART)
        t->best = x.part;
    if (x.part != t->index && x.part != t->best)
        return false;
    out->is_bit = true;
    out->bit =
        lw_relation_holds(x.part == t->index ? t->indices : t->values, op, x.side, y.side);
    return true;
}

/* Operations of which all operands are values: what others name may be none. */
static bool
is_understood(lw_op op)
{
    return op == LW_OP_NOT || op == LW_OP_CAST || op == LW_OP_SELECT || op == LW_OP_AND ||
           op == LW_OP_OR || op == LW_OP_XOR || (op >= LW_OP_EQ && op <= LW_OP_GE);
}

/* False: it does more than compare the same scalar of both operands, and select. */
static bool
step(trial *t, const lw_inst *inst, value *out)
{
    uint32_t parts = t->func->results.n;
    value a, b;

    *out = (value){0};
    if (inst->op == LW_OP_PARAM) {
        out->side = inst->a < parts ? LW_FIRST : LW_SECOND;
        out->part = inst->a % parts;
        return true;
    }
    if (inst->lanes > 1 || !is_understood((lw_op)inst->op))
        return false;
    a = t->made[inst->a];
    switch (inst->op) {
    case LW_OP_CAST: /* bools as integers keep their order */
        *out = a;
        return !a.is_bit && t->func->insts.data[inst->a].type == LW_DT_b1 &&
               lw_is_integer(inst->type);
    case LW_OP_SELECT: *out = t->made[a.bit ? inst->b : inst->c]; return a.is_bit;
    case LW_OP_NOT:
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
        b = inst->op == LW_OP_NOT ? a : t->made[inst->b];
        out->is_bit = true;
        out->bit = lw_logic_holds((lw_op)inst->op, a.bit, b.bit, false);
        return a.is_bit && b.is_bit;
    default: return compare(t, (lw_op)inst->op, a, t->made[inst->b], out);
    }
}

/* Whether the operator gives an operand, whole, under these relations; *side: which one. */
static bool
gives(trial *t, lw_relation values, lw_relation indices, lw_side *side)
{
    const lw_func *func = t->func;

    t->values = values;
    t->indices = indices;
    for (uint32_t i = 1; i + 1 < func->insts.n; i++)
        if (!step(t, &func->insts.data[i], &t->made[i]))
            return false;
    *side = t->made[result_ref(func, 0)].side;
    for (uint32_t i = 0; i < func->results.n; i++) {
        value v = t->made[result_ref(func, i)];
        if (v.is_bit || v.part != i || v.side != *side)
            return false;
    }
    return true;
}

/* The relations of the deciding values under which the operator gives its second operand, and
 * those under which it gives one at all. */
static uint32_t
taken_set(trial *t, lw_relation indices, uint32_t *known)
{
    uint32_t taken = 0;

    *known = 0;
    for (lw_relation is = 0; is < LW_N_RELATIONS; is++) {
        lw_side side = LW_FIRST;
        if (!gives(t, is, indices, &side))
            continue;
        *known |= 1u << is;
        taken |= (uint32_t)(side == LW_SECOND) << is;
    }
    return taken;
}

/* The better value is taken, NaN better than all, and of equal ones (as two NaNs are) the
 * second if its index is smaller. */
static uint32_t
wanted_set(lw_extreme_kind kind, lw_relation indices)
{
    uint32_t better = 1u << (kind == LW_LARGEST ? LW_IS_MORE : LW_IS_LESS);
    uint32_t equals = 1u << LW_IS_EQUAL | 1u << LW_BOTH_ARE_NAN;

    return better | 1u << LW_SECOND_IS_NAN | (indices == LW_IS_LESS ? equals : 0);
}

static lw_extreme
find_extreme(trial *t, bool any_order)
{
    static const lw_relation orders[] = {LW_IS_MORE, LW_IS_LESS};
    lw_extreme made = {.nan_first = true};

    for (int i = 0; i < (any_order ? 2 : 1); i++) {
        uint32_t known, taken = taken_set(t, orders[i], &known), wanted;
        if (i == 0)
            made.kind = taken >> LW_IS_MORE & 1 ? LW_LARGEST : LW_SMALLEST;
        wanted = wanted_set(made.kind, orders[i]);
        if ((~known | (taken ^ wanted)) & LW_ORDERED_RELATIONS)
            return (lw_extreme){0};
        made.nan_first &= known == LW_ALL_RELATIONS && taken == wanted;
    }
    made.part = t->best;
    return t->best == LW_NO_PART ? (lw_extreme){0} : made;
}

lw_extreme
lw_operator_extreme(const lw_func *func, uint32_t index, bool any_order)
{
    trial t = {.func = func, .best = LW_NO_PART, .index = index};
    lw_extreme made = {0};

    if (!lw_operator_is_line(func))
        return made;
    t.made = lw_alloc_zero(func->insts.n, sizeof *t.made);
    if (t.made == NULL)
        return made; /* the slower way is as right */
    made = find_extreme(&t, any_order);
    assert(made.kind == LW_NO_EXTREME || made.part < func->results.n);
    lw_free(t.made);
    return made;
}
