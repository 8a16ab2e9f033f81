#include "core/opt/loops/affine.h"

#include "core/ir/operands.h"

#include <assert.h>

enum { MOST_DEPTH = 24 };

/* ---- which updates ---- */

/* Whether the value is computed from the variable within the iteration, as far as values are
 * not stored in other variables (which wait for the scan then). */
static bool
follows(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot, lw_ref ref, int depth)
{
    const lw_inst *inst = lw_inst_at(s, ref);
    uint32_t at = 0;
    lw_ref operand;

    if (ref < l->first)
        return false;
    if (inst->op == LW_OP_GET)
        return inst->a == slot;
    if (lw_ops[inst->op].class != LW_CLASS_PURE)
        return false;
    if (depth == 0)
        return true;
    while (lw_ir_next_operand(s->func, inst, &at, &operand))
        if (follows(s, l, slot, operand, depth - 1))
            return true;
    return false;
}

static bool
follows_any(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot, lw_ref ref)
{
    return follows(s, l, slot, ref, MOST_DEPTH);
}

/* Whether the GET reads the value from before the SET, in the same iteration. */
static bool
reads_before(const lw_spreader *s, uint32_t get, uint32_t set)
{
    for (uint32_t i = get + 1; i < set; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op == LW_OP_SET && inst->a == lw_inst_at(s, set)->a)
            return false;
        if (inst->op == LW_OP_LOOP && s->regions.ends[i] > set)
            return false;
    }
    return true;
}

static bool
is_affine(const lw_spreader *s, const lw_spread_loop *l, uint32_t set, lw_ref ref, int depth)
{
    const lw_inst *inst = lw_inst_at(s, ref);
    lw_ref slot = lw_inst_at(s, set)->a;
    bool x, y;

    if (!follows_any(s, l, slot, ref))
        return true;
    if (depth == 0 || inst->lanes > 1 || inst->type != lw_inst_at(s, slot)->type)
        return false;
    x = inst->op != LW_OP_GET && follows_any(s, l, slot, inst->a);
    switch (inst->op) {
    case LW_OP_GET: return reads_before(s, ref, set);
    case LW_OP_NEG: return is_affine(s, l, set, inst->a, depth - 1);
    case LW_OP_ADD:
    case LW_OP_SUB:
        return is_affine(s, l, set, inst->a, depth - 1) &&
               is_affine(s, l, set, inst->b, depth - 1);
    case LW_OP_MUL:
        y = follows_any(s, l, slot, inst->b);
        return !(x && y) && is_affine(s, l, set, x ? inst->a : inst->b, depth - 1);
    case LW_OP_DIV:
        return lw_is_float((lw_dtype)inst->type) && !follows_any(s, l, slot, inst->b) &&
               is_affine(s, l, set, inst->a, depth - 1);
    case LW_OP_FMA:
        y = follows_any(s, l, slot, inst->b);
        return !(x && y) && is_affine(s, l, set, x ? inst->a : inst->b, depth - 1) &&
               is_affine(s, l, set, inst->c, depth - 1);
    case LW_OP_SELECT:
        return !x && is_affine(s, l, set, inst->b, depth - 1) &&
               is_affine(s, l, set, inst->c, depth - 1);
    default: return false;
    }
}

static bool
is_number_type(lw_dtype type)
{
    return lw_is_float(type) || (lw_is_integer(type) && lw_dtypes[type].size_bytes >= 4);
}

bool
lw_affine_is(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    const lw_inst *inst = lw_inst_at(s, set);

    assert(inst->op == LW_OP_SET);
    return is_number_type((lw_dtype)lw_inst_at(s, inst->a)->type) &&
           follows_any(s, l, inst->a, inst->b) && is_affine(s, l, set, inst->b, MOST_DEPTH);
}

bool
lw_affine_adds_itself(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                      const lw_update *u)
{
    const lw_inst *inst = lw_inst_at(s, set);
    uint32_t at = 0;
    lw_ref operand;

    if (u->op != LW_OP_ADD)
        return false;
    while (lw_ir_next_operand(s->func, lw_inst_at(s, inst->b), &at, &operand))
        if (operand != u->get && follows_any(s, l, inst->a, operand))
            return true;
    return false;
}

static bool
is_known(const lw_spreader *s, const lw_spread_loop *l, lw_ref slot, lw_ref ref)
{
    uint32_t at = 0;
    lw_ref operand;

    if (!follows_any(s, l, slot, ref))
        return !s->waits[ref];
    if (lw_inst_at(s, ref)->op == LW_OP_GET)
        return true;
    while (lw_ir_next_operand(s->func, lw_inst_at(s, ref), &at, &operand))
        if (!is_known(s, l, slot, operand))
            return false;
    return true;
}

bool
lw_affine_is_known(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    return is_known(s, l, lw_inst_at(s, set)->a, lw_inst_at(s, set)->b);
}

/* ---- code ---- */

/* The factor of a value; 0: the value does not follow from the variable. */
static lw_ref
factor_of(lw_copier *c, const lw_spread_loop *l, lw_ref slot, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(c->s, ref);
    lw_dtype type = lw_copier_type(c, slot);
    lw_builder *b = &c->b;
    lw_ref x, y;

    if (!follows_any(c->s, l, slot, ref))
        return 0;
    if (inst->op == LW_OP_GET)
        return lw_is_float(type) ? lw_ir_float(b, type, 1.0) : lw_ir_int(b, type, 1);
    x = factor_of(c, l, slot, inst->a);
    switch (inst->op) {
    case LW_OP_NEG: return lw_ir_neg(b, x);
    case LW_OP_DIV: return lw_ir_div(b, x, c->to[inst->b]);
    case LW_OP_ADD:
        y = factor_of(c, l, slot, inst->b);
        return x && y ? lw_ir_add(b, x, y) : (x ? x : y);
    case LW_OP_SUB:
        y = factor_of(c, l, slot, inst->b);
        return y ? lw_ir_sub(b, x ? x : lw_ir_zero(b, type), y) : x;
    case LW_OP_MUL:
        return x ? lw_ir_mul(b, x, c->to[inst->b])
                 : lw_ir_mul(b, c->to[inst->a], factor_of(c, l, slot, inst->b));
    case LW_OP_FMA:
        y = factor_of(c, l, slot, inst->b);
        x = x ? lw_ir_mul(b, x, c->to[inst->b]) : y ? lw_ir_mul(b, c->to[inst->a], y) : 0;
        y = factor_of(c, l, slot, inst->c);
        return x && y ? lw_ir_add(b, x, y) : (x ? x : y);
    default:
        assert(inst->op == LW_OP_SELECT);
        x = factor_of(c, l, slot, inst->b);
        y = factor_of(c, l, slot, inst->c);
        return lw_ir_select(b, c->to[inst->a], x ? x : lw_ir_zero(b, type),
                            y ? y : lw_ir_zero(b, type));
    }
}

static void
copy_path(lw_copier *c, const lw_spread_loop *l, lw_ref slot, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(c->s, ref);
    uint32_t at = 0;
    lw_ref operand;

    if (!follows_any(c->s, l, slot, ref))
        return;
    while (inst->op != LW_OP_GET && lw_ir_next_operand(c->s->func, inst, &at, &operand))
        copy_path(c, l, slot, operand);
    lw_copier_inst(c, ref);
}

void
lw_affine_copy(lw_copier *c, const lw_spread_loop *l, uint32_t set, lw_ref factor)
{
    const lw_inst *inst = lw_inst_at(c->s, set);
    lw_ref by = factor_of(c, l, inst->a, inst->b);

    assert(by != 0);
    lw_ir_set(&c->b, factor, lw_ir_mul(&c->b, lw_ir_get(&c->b, factor), by));
    copy_path(c, l, inst->a, inst->b);
    lw_copier_inst(c, set);
}
