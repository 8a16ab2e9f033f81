/* Whether combine takes one of two accumulators: the one of the larger (smaller) value, and of
 * equal values the first. Then a block's best is found by plain maxima, and where it lies
 * afterwards.
 *
 * Combine is run for every relation that two values and two indices can have. That decides it:
 * its code may only compare the same part of both operands, and select. */
#include "reduce/function/reduction.h"

#include "core/base/memory.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct value { /* one bit, or part `part` of operand `side` */
    bool is_bit, bit;
    uint32_t side, part;
} value;

typedef struct relation { /* of the operands' parts */
    int values, indices;  /* -1, 0, 1: of the first to the second */
    bool nan[2];
} relation;

typedef struct walk {
    const lw_func *func;
    uint32_t parts, best, index; /* parts that may be compared; NONE: not found yet, or none */
    relation now;
    value *values;
} walk;

static bool
compare(walk *w, lw_op op, value x, value y, value *out)
{
    int order;

    if (x.is_bit || y.is_bit || x.part != y.part)
        return false;
    if (x.part != w->index && w->best == NONE)
        w->best = x.part;
    if (x.part != w->index && x.part != w->best)
        return false;
    order = x.part == w->index ? w->now.indices : w->now.values;
    order = x.side == y.side ? 0 : x.side == 0 ? order : -order;
    out->is_bit = true;
    out->bit = lw_op_holds(op, order);
    if (x.part == w->best && (w->now.nan[x.side] || w->now.nan[y.side]))
        out->bit = op == LW_OP_NE;
    return true;
}

/* Whether all operands are values: what an instruction of another kind names may be no
 * value. */
static bool
is_known(lw_op op)
{
    return op == LW_OP_NOT || op == LW_OP_CAST || op == LW_OP_SELECT || op == LW_OP_AND ||
           op == LW_OP_OR || op == LW_OP_XOR || (op >= LW_OP_EQ && op <= LW_OP_GE);
}

static bool
step(walk *w, const lw_inst *inst, value *out)
{
    value a = {0}, b = {0};

    *out = (value){0};
    if (inst->op == LW_OP_PARAM) {
        out->side = inst->a / w->parts;
        out->part = inst->a % w->parts;
        return true;
    }
    if (inst->lanes > 1 || !is_known(inst->op))
        return false;
    a = w->values[inst->a];
    if (inst->op == LW_OP_NOT) {
        *out = (value){.is_bit = true, .bit = !a.bit};
        return a.is_bit;
    }
    if (inst->op == LW_OP_CAST) { /* bools as integers keep their order */
        *out = a;
        return !a.is_bit && w->func->insts.data[inst->a].type == LW_DT_b1 &&
               lw_is_integer(inst->type);
    }
    if (inst->op == LW_OP_SELECT) {
        *out = a.bit ? w->values[inst->b] : w->values[inst->c];
        return a.is_bit;
    }
    if (inst->op == LW_OP_AND || inst->op == LW_OP_OR || inst->op == LW_OP_XOR) {
        b = w->values[inst->b];
        *out = (value){.is_bit = true};
        out->bit = inst->op == LW_OP_AND  ? a.bit && b.bit
                   : inst->op == LW_OP_OR ? a.bit || b.bit
                                          : a.bit != b.bit;
        return a.is_bit && b.is_bit;
    }
    return compare(w, inst->op, a, w->values[inst->b], out);
}

/* 0, 1: the operand that combine takes, whole; -1: something else. */
static int
taken(walk *w, relation now)
{
    const lw_inst *last = &w->func->insts.data[w->func->insts.n - 1];

    w->now = now;
    for (uint32_t i = 1; i + 1 < w->func->insts.n; i++)
        if (!step(w, &w->func->insts.data[i], &w->values[i]))
            return -1;
    for (uint32_t i = 0; i < w->parts; i++) {
        value v = w->values[w->func->lists.data[last->b + i]];
        if (v.is_bit || v.part != i || v.side != w->values[w->func->lists.data[last->b]].side)
            return -1;
    }
    return (int)w->values[w->func->lists.data[last->b]].side;
}

/* Whether combine takes operand `wanted` (-1: that of the smaller index) of values so
 * related. */
static bool
takes(walk *w, relation now, int wanted, bool any_order)
{
    for (int order = -1; order <= (any_order ? 1 : -1); order += 2) {
        now.indices = order;
        if (taken(w, now) != (wanted >= 0 ? wanted : order > 0))
            return false;
    }
    return true;
}

static lw_reduce_extreme
which(walk *w, bool any_order)
{
    static const relation less = {.values = -1}, more = {.values = 1}, equal = {0};
    static const relation first = {.nan = {true, false}}, second = {.nan = {false, true}},
                          both = {.nan = {true, true}};
    lw_reduce_extreme made = {0};
    int larger = taken(w, (relation){.values = 1, .indices = -1});

    if (larger < 0 || !takes(w, more, larger, any_order) ||
        !takes(w, less, 1 - larger, any_order) || !takes(w, equal, -1, any_order) ||
        w->best == NONE)
        return made;
    made.kind = larger == 0 ? LW_REDUCE_LARGEST : LW_REDUCE_SMALLEST;
    made.part = w->best;
    made.nan_first = takes(w, first, 0, any_order) && takes(w, second, 1, any_order) &&
                     takes(w, both, -1, any_order);
    return made;
}

/* What map returns for part `part`; NULL: there is no map, or it is no straight line. */
static const lw_inst *
mapped(const lw_reduction *r, uint32_t part)
{
    const lw_func *func = r->map ? r->map->module->funcs.data[r->map->body] : NULL;
    const lw_inst *last = func ? &func->insts.data[func->insts.n - 1] : NULL;

    if (func == NULL || last->op != LW_OP_RETURN || last->c <= part)
        return NULL;
    return &func->insts.data[func->lists.data[last->b + part]];
}

/* The part that map makes of the element's index, and nothing else; or NONE. */
static uint32_t
index_part(const lw_reduction *r, uint32_t parts)
{
    for (uint32_t i = 0; i < parts && r->indexed; i++) {
        const lw_inst *made = mapped(r, i);
        if (made != NULL && made->op == LW_OP_PARAM &&
            made->a + 1 == r->map->module->funcs.data[r->map->body]->params.n)
            return i;
    }
    return NONE;
}

/* Whether the value that decides is an element as it is. Then it can be found again by its
 * value; what was computed may differ in the last bit from loop to loop. */
static bool
is_element(const lw_reduction *r, uint32_t part)
{
    const lw_inst *made = mapped(r, part);

    if (made != NULL && made->op == LW_OP_CAST)
        made = &r->map->module->funcs.data[r->map->body]->insts.data[made->a];
    return r->map == NULL || (made != NULL && made->op == LW_OP_PARAM);
}

lw_reduce_extreme
lw_reduce_extreme_of(const lw_reduction *r)
{
    const lw_func *func = r->combine->module->funcs.data[r->combine->body];
    const lw_inst *last = &func->insts.data[func->insts.n - 1];
    walk w = {.func = func, .parts = func->results.n, .best = NONE};
    lw_reduce_extreme made = {0}, none = {0};
    lw_dtype dtype;

    if (last->op != LW_OP_RETURN || last->c != w.parts || func->params.n != 2 * w.parts ||
        w.parts < 2 || w.parts != r->n_acc)
        return none;
    w.index = index_part(r, w.parts);
    w.values = lw_alloc_zero(func->insts.n, sizeof *w.values);
    if (w.values == NULL)
        return none; /* the slower way is as right */
    made = which(&w, r->commutative);
    lw_free(w.values);
    if (made.kind == LW_REDUCE_NO_EXTREME || (r->commutative && w.index == NONE) ||
        !is_element(r, made.part))
        return none;
    dtype = r->acc[made.part];
    if (dtype != LW_DT_f32 && dtype != LW_DT_f64 && !lw_is_integer(dtype) && dtype != LW_DT_b1)
        return none;
    return made;
}
