/* Parallel loops: what becomes of the values and variables that iterations use. */
#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"

/* ---- values ---- */

bool
lw_parallel_is_used_outside(const lw_parallel_loop *p, lw_ref ref)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if ((i < p->l.at || i > p->l.end) &&
            lw_ir_inst_uses(p->s.func, lw_inst_at(&p->s, i), ref))
            return true;
    return false;
}

/* Whether the instruction can run after the loop. */
static bool
is_behind(const lw_parallel_loop *p, uint32_t at)
{
    if (at > p->l.end)
        return true;
    for (uint32_t i = 1; i < p->l.at; i++) /* a loop around both */
        if (lw_inst_at(&p->s, i)->op == LW_OP_LOOP && i < at && p->s.regions.ends[i] > p->l.end)
            return true;
    return false;
}

static bool
is_used_behind(const lw_parallel_loop *p, lw_ref ref)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if (!lw_parallel_is_inside(p, i) && is_behind(p, i) &&
            lw_ir_inst_uses(p->s.func, lw_inst_at(&p->s, i), ref))
            return true;
    return false;
}

static void
give(lw_parallel_loop *p, lw_ref ref)
{
    p->use[ref] = LW_PART_GIVEN;
    p->place[ref] = p->n_frame++;
}

/* Whether the value is one of two constants: each part then chooses it, and LLVM knows both.
 * The stride of an array that may be repeated is such a value, without which loops over it
 * would not be vectorised. */
static bool
is_choice(const lw_parallel_loop *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(&p->s, ref);

    return inst->op == LW_OP_SELECT && !lw_parallel_is_inside(p, ref) &&
           lw_inst_at(&p->s, inst->b)->op == LW_OP_CONST &&
           lw_inst_at(&p->s, inst->c)->op == LW_OP_CONST;
}

static void
take_choice(lw_parallel_loop *p, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(&p->s, ref);

    p->use[ref] = p->use[inst->b] = p->use[inst->c] = LW_PART_MADE;
    if (p->use[inst->a] == LW_PART_OWN && lw_inst_at(&p->s, inst->a)->op == LW_OP_CONST)
        p->use[inst->a] = LW_PART_MADE;
    else if (p->use[inst->a] == LW_PART_OWN)
        give(p, inst->a);
}

/* A value, or memory, that the iteration uses. */
static lw_parallel_fault
take_value(lw_parallel_loop *p, lw_ref ref)
{
    lw_op op = (lw_op)lw_inst_at(&p->s, ref)->op;

    if (p->use[ref] != LW_PART_OWN || op == LW_OP_SLOT || ref == p->number)
        return LW_PARALLEL_GOOD;
    if (op == LW_OP_OWNER && is_used_behind(p, ref))
        return LW_PARALLEL_KEPT;
    if (op == LW_OP_CONST || op == LW_OP_VARYING || op == LW_OP_DATA || op == LW_OP_OWNER ||
        op == LW_OP_ON_GPU || (op == LW_OP_LOCAL && !lw_parallel_is_used_outside(p, ref)))
        p->use[ref] = LW_PART_MADE;
    else if (is_choice(p, ref))
        take_choice(p, ref);
    else if (op == LW_OP_LOCAL || op == LW_OP_PARAM || !lw_parallel_is_inside(p, ref))
        give(p, ref);
    return LW_PARALLEL_GOOD;
}

lw_parallel_fault
lw_parallel_take_values(lw_parallel_loop *p, uint32_t *culprit)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        uint32_t k = 0;
        lw_ref operand;
        lw_parallel_fault fault;
        while (lw_ir_next_operand(p->s.func, lw_inst_at(&p->s, i), &k, &operand)) {
            fault = take_value(p, operand);
            if (fault != LW_PARALLEL_GOOD) {
                *culprit = i;
                return fault;
            }
        }
    }
    return LW_PARALLEL_GOOD;
}

/* ---- variables ---- */

typedef struct variable {
    uint32_t n_get, n_set; /* in the iteration */
    uint32_t first_set;
    bool is_read_outside, is_read_behind;
} variable;

static variable
look_at(const lw_parallel_loop *p, lw_ref slot)
{
    variable v = {0};

    for (uint32_t i = 1; i < p->s.func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        bool inside = lw_parallel_is_inside(p, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        v.is_read_outside |= !inside && inst->op == LW_OP_GET;
        v.is_read_behind |= !inside && inst->op == LW_OP_GET && is_behind(p, i);
        v.n_get += inside && inst->op == LW_OP_GET;
        if (inside && inst->op == LW_OP_SET && v.n_set++ == 0)
            v.first_set = i;
    }
    return v;
}

/* Whether the variable keeps its value from the GET up to the SET. */
static bool
stays_between(const lw_parallel_loop *p, uint32_t get, uint32_t set)
{
    for (uint32_t i = get + 1; i < set; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if ((inst->op == LW_OP_SET && inst->a == lw_inst_at(&p->s, set)->a) ||
            (inst->op == LW_OP_LOOP && p->s.regions.ends[i] > set))
            return false;
    }
    return true;
}

/* s = s + a + b, whose additions start with the variable: every one of them has one use. *op:
 * ADD or MUL. */
static bool
is_chain(const lw_parallel_loop *p, uint32_t set, lw_op *op)
{
    lw_ref slot = lw_inst_at(&p->s, set)->a, value = lw_inst_at(&p->s, set)->b;

    *op = lw_inst_at(&p->s, value)->op == LW_OP_MUL ? LW_OP_MUL : LW_OP_ADD;
    while (lw_parallel_is_inside(p, value) && lw_ir_count_uses(p->s.func, value) == 1) {
        const lw_inst *inst = lw_inst_at(&p->s, value);
        if (inst->op == LW_OP_GET)
            return inst->a == slot && stays_between(p, value, set);
        if (inst->op == LW_OP_FMA && *op == LW_OP_ADD)
            value = inst->c;
        else if (inst->op == *op || (inst->op == LW_OP_SUB && *op == LW_OP_ADD))
            value = inst->a;
        else
            return false;
    }
    return false;
}

/* How this SET updates the variable; false: in another way than by an associative operation. */
static bool
update_of(const lw_parallel_loop *p, uint32_t set, lw_associative *how)
{
    lw_carried_step u;

    *how = (lw_associative){0};
    if (lw_carried_update(&p->s, &p->l, set, &u) && lw_carried_is_unseen(&p->s, set, &u)) {
        how->op = u.op;
        how->intrinsic = u.intrinsic;
        return true;
    }
    return lw_inst_at(&p->s, lw_inst_at(&p->s, set)->a)->type != LW_DT_b1 &&
           is_chain(p, set, &how->op);
}

/* Whether every SET is an update by the same operation, and nothing else reads the variable. */
static bool
is_total(const lw_parallel_loop *p, lw_ref slot, const variable *v)
{
    lw_associative *one = &p->combines[slot], how;
    bool is_float = lw_is_float((lw_dtype)lw_inst_at(&p->s, slot)->type);
    uint32_t n = 0;

    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        if (!update_of(p, i, &how) ||
            (n++ && (how.op != one->op || how.intrinsic != one->intrinsic)))
            return false;
        *one = how;
        p->sums[inst->b] = (how.op == LW_OP_ADD || how.op == LW_OP_MUL) && is_float;
    }
    return n == v->n_get;
}

/* Whether the variable may hold memory that is released with its part. */
static bool
may_be_own_memory(const lw_parallel_loop *p, lw_ref slot)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++)
        if (p->use[i] == LW_PART_MADE && lw_op_is_own_memory((lw_op)lw_inst_at(&p->s, i)->op))
            return lw_inst_at(&p->s, slot)->type == LW_DT_ptr;
    return false;
}

static bool
is_of_slot(const lw_parallel_loop *p, lw_ref value, lw_ref slot)
{
    const lw_inst *root = lw_inst_at(&p->s, lw_ir_root(p->s.func, value));

    return root->op == LW_OP_GET && root->a == slot;
}

/* Whether each part may begin with the value from before the loop. Not in another loop, whose
 * next iteration would read what this one has set; and not an array that iterations may store
 * in: its memory is that of all iterations where none sets the variable. */
static bool
may_begin_with_given(const lw_parallel_loop *p, lw_ref slot)
{
    for (uint32_t i = 1; i < p->l.at; i++)
        if (lw_inst_at(&p->s, i)->op == LW_OP_LOOP && p->s.regions.ends[i] > p->l.end)
            return false;
    if (lw_inst_at(&p->s, slot)->type != LW_DT_ptr)
        return true;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        uint32_t at = 0;
        lw_ref operand;
        if (inst->op == LW_OP_SET ? inst->a != slot && is_of_slot(p, inst->b, slot)
                                  : inst->op == LW_OP_STORE && is_of_slot(p, inst->a, slot))
            return false;
        if (inst->op != LW_OP_ATOMIC && inst->op != LW_OP_HOST_CALL &&
            (inst->op != LW_OP_CALL ||
             !(lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)))
            continue;
        while (lw_ir_next_operand(p->s.func, inst, &at, &operand))
            if (is_of_slot(p, operand, slot))
                return false;
    }
    return true;
}

static lw_parallel_fault
take_variable(lw_parallel_loop *p, lw_ref slot, uint32_t *culprit)
{
    variable v = look_at(p, slot);

    *culprit = v.first_set;
    if (v.n_set == 0) {
        give(p, slot);
        return LW_PARALLEL_GOOD;
    }
    if (!lw_carried_is_seen_early(&p->s, &p->l, slot)) {
        p->use[slot] = v.is_read_outside ? LW_PART_LAST : LW_PART_MADE;
    } else if (is_total(p, slot, &v)) {
        p->use[slot] = LW_PART_TOTAL;
    } else if (!v.is_read_behind && may_begin_with_given(p, slot) &&
               lw_carried_is_set_by_case(&p->s, &p->l, slot)) {
        give(p, slot); /* each part begins with the value before the loop */
        return LW_PARALLEL_GOOD;
    } else {
        return LW_PARALLEL_CARRIED;
    }
    if (p->use[slot] == LW_PART_LAST && may_be_own_memory(p, slot))
        return LW_PARALLEL_KEPT;
    if (p->use[slot] != LW_PART_MADE) {
        p->place[slot] = p->n_record;
        p->n_record += p->use[slot] == LW_PART_LAST ? 2 : 1;
    }
    return LW_PARALLEL_GOOD;
}

lw_parallel_fault
lw_parallel_take_variables(lw_parallel_loop *p, uint32_t *culprit)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        bool uses = inst->op == LW_OP_GET || inst->op == LW_OP_SET;
        lw_parallel_fault fault = LW_PARALLEL_GOOD;
        if (uses && p->use[inst->a] == LW_PART_OWN && inst->a != p->l.counter)
            fault = take_variable(p, inst->a, culprit);
        if (fault != LW_PARALLEL_GOOD)
            return fault;
    }
    return LW_PARALLEL_GOOD;
}
