#include "core/opt/loops/affine.h"

#include "core/ir/operands.h"

#include <assert.h>

/* What is noted about the values of an iteration, for one SET of a variable. Each is visited
 * once, after its operands: an expression may use the same value many times. */
enum {
    /* computed from the variable within the iteration, as far as values are not stored in other
     * variables (which wait for the scan then) */
    FOLLOWS = 1,
    AFFINE = 2, /* FOLLOWS, by a map that affine.h describes */
    KNOWN = 4,  /* all but the variable itself is known before the scan */
    NEEDED = 8  /* FOLLOWS, and the SET is computed from it */
};

/* ---- which updates ---- */

static bool
follows(const lw_spreader *s, const lw_spread_loop *l, lw_ref ref)
{
    return ref >= l->first && (s->marks[ref] & FOLLOWS);
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

/* Whether the value is an affine map of the variable, or does not follow from it. */
static bool
fits(const lw_spreader *s, const lw_spread_loop *l, lw_ref ref)
{
    return !follows(s, l, ref) || (s->marks[ref] & AFFINE);
}

/* Whether a value that follows from the variable is an affine map of it, if its operands are.
 */
static bool
is_affine(const lw_spreader *s, const lw_spread_loop *l, uint32_t set, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(s, ref);
    bool x, y;

    if (inst->lanes > 1 || inst->type != lw_inst_at(s, lw_inst_at(s, set)->a)->type)
        return false;
    switch (inst->op) {
    case LW_OP_GET: return reads_before(s, ref, set);
    case LW_OP_NEG: return fits(s, l, inst->a);
    case LW_OP_ADD:
    case LW_OP_SUB: return fits(s, l, inst->a) && fits(s, l, inst->b);
    case LW_OP_MUL:
        x = follows(s, l, inst->a);
        y = follows(s, l, inst->b);
        return !(x && y) && fits(s, l, inst->a) && fits(s, l, inst->b);
    case LW_OP_DIV:
        return lw_is_float((lw_dtype)inst->type) && !follows(s, l, inst->b) &&
               fits(s, l, inst->a);
    case LW_OP_FMA:
        x = follows(s, l, inst->a);
        y = follows(s, l, inst->b);
        return !(x && y) && fits(s, l, inst->a) && fits(s, l, inst->b) && fits(s, l, inst->c);
    case LW_OP_SELECT:
        return !follows(s, l, inst->a) && fits(s, l, inst->b) && fits(s, l, inst->c);
    default: return false;
    }
}

/* The marks of a value whose operands have theirs. */
static uint8_t
marks_of(const lw_spreader *s, const lw_spread_loop *l, uint32_t set, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(s, ref);
    bool is = inst->op == LW_OP_GET && inst->a == lw_inst_at(s, set)->a, known = true;
    uint32_t at = 0;
    lw_ref operand;

    if (inst->op != LW_OP_GET && lw_ops[inst->op].class != LW_CLASS_PURE)
        return 0;
    while (inst->op != LW_OP_GET && lw_ir_next_operand(s->func, inst, &at, &operand)) {
        is |= follows(s, l, operand);
        known &= follows(s, l, operand) ? (s->marks[operand] & KNOWN) != 0 : !s->waits[operand];
    }
    if (!is)
        return 0;
    return (uint8_t)(FOLLOWS | (is_affine(s, l, set, ref) ? AFFINE : 0) | (known ? KNOWN : 0));
}

/* Fills the marks of all values of the iteration that precede the SET. */
static void
mark_values(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    assert(lw_inst_at(s, set)->op == LW_OP_SET && set >= l->first && set < l->latch);
    for (uint32_t i = l->first; i < set; i++)
        s->marks[i] = marks_of(s, l, set, i);
}

bool
lw_affine_is(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    const lw_inst *inst = lw_inst_at(s, set);

    assert(inst->op == LW_OP_SET);
    if (!lw_is_number_type((lw_dtype)lw_inst_at(s, inst->a)->type))
        return false;
    mark_values(s, l, set);
    return follows(s, l, inst->b) && fits(s, l, inst->b);
}

bool
lw_affine_adds_itself(const lw_spreader *s, const lw_spread_loop *l, uint32_t set,
                      const lw_carried_step *u)
{
    const lw_inst *inst = lw_inst_at(s, set);
    uint32_t at = 0;
    lw_ref operand;

    if (u->op != LW_OP_ADD)
        return false;
    mark_values(s, l, set);
    while (lw_ir_next_operand(s->func, lw_inst_at(s, inst->b), &at, &operand))
        if (operand != u->get && follows(s, l, operand))
            return true;
    return false;
}

bool
lw_affine_is_known(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    lw_ref made = lw_inst_at(s, set)->b;

    mark_values(s, l, set);
    return follows(s, l, made) ? (s->marks[made] & KNOWN) != 0 : !s->waits[made];
}

/* ---- code ---- */

/* The factor of a value, whose operands have theirs in `factors`; 0: it does not follow from
 * the variable. */
static lw_ref
factor_of(lw_copier *c, const lw_spread_loop *l, lw_ref ref, const lw_ref *factors)
{
    const lw_inst *inst = lw_inst_at(c->s, ref);
    lw_dtype type = (lw_dtype)inst->type;
    lw_builder *b = &c->b;
    lw_ref x, y, z;

    if (inst->op == LW_OP_GET)
        return lw_is_float(type) ? lw_ir_float(b, type, 1.0) : lw_ir_int(b, type, 1);
    x = follows(c->s, l, inst->a) ? factors[inst->a] : 0;
    y = inst->op != LW_OP_NEG && follows(c->s, l, inst->b) ? factors[inst->b] : 0;
    switch (inst->op) {
    case LW_OP_NEG: return lw_ir_neg(b, x);
    case LW_OP_DIV: return lw_ir_div(b, x, c->to[inst->b]);
    case LW_OP_ADD: return x && y ? lw_ir_add(b, x, y) : (x ? x : y);
    case LW_OP_SUB: return y ? lw_ir_sub(b, x ? x : lw_ir_zero(b, type), y) : x;
    case LW_OP_MUL:
        return x ? lw_ir_mul(b, x, c->to[inst->b]) : lw_ir_mul(b, c->to[inst->a], y);
    default: break;
    }
    z = follows(c->s, l, inst->c) ? factors[inst->c] : 0;
    if (inst->op == LW_OP_FMA) {
        x = x ? lw_ir_mul(b, x, c->to[inst->b]) : y ? lw_ir_mul(b, c->to[inst->a], y) : 0;
        return x && z ? lw_ir_add(b, x, z) : (x ? x : z);
    }
    assert(inst->op == LW_OP_SELECT);
    return lw_ir_select(b, c->to[inst->a], y ? y : lw_ir_zero(b, type),
                        z ? z : lw_ir_zero(b, type));
}

/* Marks the values that the SET is computed from, as far as these follow from the variable. */
static void
mark_needed(const lw_spreader *s, const lw_spread_loop *l, uint32_t set)
{
    mark_values(s, l, set);
    s->marks[lw_inst_at(s, set)->b] |= NEEDED;
    for (uint32_t i = set; i-- > l->first;) {
        uint32_t at = 0;
        lw_ref operand;
        if (!(s->marks[i] & NEEDED) || lw_inst_at(s, i)->op == LW_OP_GET)
            continue;
        while (lw_ir_next_operand(s->func, lw_inst_at(s, i), &at, &operand))
            if (follows(s, l, operand))
                s->marks[operand] |= NEEDED;
    }
}

void
lw_affine_copy(lw_copier *c, const lw_spread_loop *l, uint32_t set, lw_ref factor)
{
    const lw_inst *inst = lw_inst_at(c->s, set);
    lw_ref *factors = lw_arena_take(&c->s->arena, (set + 1) * sizeof *factors);

    if (factors == NULL) {
        c->b.module->failed = true;
        return;
    }
    mark_needed(c->s, l, set);
    for (uint32_t i = l->first; i < set; i++)
        if (c->s->marks[i] & NEEDED)
            factors[i] = factor_of(c, l, i, factors);
    lw_ir_set(&c->b, factor, lw_ir_mul(&c->b, lw_ir_get(&c->b, factor), factors[inst->b]));
    for (uint32_t i = l->first; i < set; i++)
        if (c->s->marks[i] & NEEDED)
            lw_copier_inst(c, i);
    lw_copier_inst(c, set);
}
