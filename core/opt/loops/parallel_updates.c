/* Parallel loops: updates of elements that other iterations may update too, which become atomic
 * operations, and in which memory an element is. */
#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"

lw_ref
lw_parallel_uncast(const lw_parallel_loop *p, lw_ref value)
{
    const lw_inst *inst = lw_inst_at(&p->s, value), *from = lw_inst_at(&p->s, inst->a);

    return inst->op == LW_OP_CAST && lw_parallel_is_inside(p, value) &&
                   lw_is_integer((lw_dtype)inst->type) && lw_is_integer((lw_dtype)from->type) &&
                   lw_ir_count_uses(p->s.func, value) == 1
               ? inst->a
               : value;
}

/* The operand of an update that is the old element, perhaps widened: the first of `x - e`, the
 * last of `e * f + x`, either of others. 0: the operation is none that can be atomic. */
static lw_ref
old_of(const lw_parallel_loop *p, const lw_inst *made, lw_ref address)
{
    const lw_ref operands[] = {made->a, made->op == LW_OP_SUB ? 0 : made->b, 0};
    bool is_bits = made->op == LW_OP_AND || made->op == LW_OP_OR || made->op == LW_OP_XOR;

    if (made->lanes > 1 || (is_bits && !lw_is_integer((lw_dtype)made->type)))
        return 0;
    if (!is_bits && made->op != LW_OP_ADD && made->op != LW_OP_SUB && made->op != LW_OP_FMA)
        return 0;
    for (uint32_t k = 0; k < 2; k++) {
        lw_ref old = made->op == LW_OP_FMA ? made->c : operands[k];
        const lw_inst *load;
        old = lw_parallel_uncast(p, old);
        load = lw_inst_at(&p->s, old);
        if (old != 0 && load->op == LW_OP_LOAD && lw_parallel_same(p, load->a, address) &&
            lw_parallel_is_inside(p, old) && lw_ir_count_uses(p->s.func, old) == 1)
            return old;
    }
    return 0;
}

enum { MOST_ROOTS = 8 }; /* steps from an address to the memory that it is in */

static lw_part_memory memory_of(const lw_parallel_loop *p, lw_ref address, uint32_t depth);

/* The memory of the arrays that are assigned to a variable of the iteration's own. */
static lw_part_memory
memory_of_slot(const lw_parallel_loop *p, lw_ref slot, uint32_t depth)
{
    lw_part_memory found = LW_OWN_MEMORY;

    if (p->use[slot] != LW_PART_MADE)
        return LW_SHARED_MEMORY;
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        lw_part_memory one;
        if (inst->op != LW_OP_SET || inst->a != slot)
            continue;
        one = memory_of(p, inst->b, depth);
        if (one == LW_SHARED_MEMORY)
            return LW_SHARED_MEMORY;
        found = one == LW_SOME_MEMORY ? LW_SOME_MEMORY : found;
    }
    return found;
}

static lw_part_memory
memory_of(const lw_parallel_loop *p, lw_ref address, uint32_t depth)
{
    const lw_inst *inst = lw_inst_at(&p->s, address);
    const lw_inst *call = lw_called_of(p->s.func, address);

    if (depth == MOST_ROOTS)
        return LW_SOME_MEMORY;
    if (call != NULL && lw_parallel_is_inside(p, address) &&
        (lw_called_facts(p->called, call->a) & LW_CALLED_GIVES))
        return LW_OWN_MEMORY;
    switch (inst->op) {
    case LW_OP_OFFSET: return memory_of(p, inst->a, depth + 1);
    case LW_OP_GET: return memory_of_slot(p, inst->a, depth + 1);
    case LW_OP_LOCAL:
        return p->use[address] == LW_PART_GIVEN ? LW_SHARED_MEMORY : LW_OWN_MEMORY;
    case LW_OP_CONST: return LW_OWN_MEMORY; /* NULL: none */
    case LW_OP_NEW: return lw_parallel_is_inside(p, address) ? LW_OWN_MEMORY : LW_SHARED_MEMORY;
    default: return lw_parallel_is_inside(p, address) ? LW_SOME_MEMORY : LW_SHARED_MEMORY;
    }
}

lw_part_memory
lw_parallel_memory(const lw_parallel_loop *p, lw_ref address)
{
    return memory_of(p, address, 0);
}

/* Whether the two STOREs write the parts of one complex element. */
static bool
is_other_part(const lw_parallel_loop *p, const lw_inst *first, const lw_inst *second)
{
    const lw_inst *at = lw_inst_at(&p->s, second->a);

    return first->op == LW_OP_STORE && at->op == LW_OP_OFFSET && at->a == first->a &&
           lw_inst_at(&p->s, at->b)->op == LW_OP_CONST;
}

/* Whether nothing is written but memory of the iteration's own, and no region ends that began
 * before, from the load up to the store: then one operation in the store's place does the same.
 */
static bool
is_one_step(const lw_parallel_loop *p, uint32_t load, uint32_t store)
{
    uint32_t depth = 0;

    for (uint32_t i = load + 1; i < store; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_STORE:
            if (!is_other_part(p, inst, lw_inst_at(&p->s, store)) &&
                memory_of(p, inst->a, 0) != LW_OWN_MEMORY)
                return false;
            break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)
                return false;
            break;
        case LW_OP_ATOMIC:
        case LW_OP_HOST_CALL: return false;
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP: depth++; break;
        case LW_OP_ELSE:
        case LW_OP_END:
            if (depth == 0)
                return false;
            depth -= inst->op == LW_OP_END;
            break;
        default: break;
        }
    }
    return depth == 0;
}

bool
lw_parallel_take_update(lw_parallel_loop *p, uint32_t store)
{
    const lw_inst *inst = lw_inst_at(&p->s, store);
    lw_ref value = lw_parallel_uncast(p, inst->b);
    const lw_inst *made = lw_inst_at(&p->s, value);
    lw_ref old = old_of(p, made, inst->a);
    lw_part_memory where = memory_of(p, inst->a, 0);

    if (old == 0 || where == LW_OWN_MEMORY || lw_ir_count_uses(p->s.func, value) != 1 ||
        lw_inst_at(&p->s, old)->type != lw_inst_at(&p->s, inst->b)->type ||
        !is_one_step(p, old, store))
        return true;
    if (lw_dtypes[lw_inst_at(&p->s, old)->type].bits < 32)
        return where == LW_SOME_MEMORY;
    p->atomics[old] = p->atomics[value] = p->atomics[inst->b] = LW_ATOMIC_PART;
    if (lw_parallel_uncast(p, made->a) == old) /* the CAST */
        p->atomics[made->a] = LW_ATOMIC_PART;
    else if (made->op != LW_OP_FMA && lw_parallel_uncast(p, made->b) == old)
        p->atomics[made->b] = LW_ATOMIC_PART;
    p->atomics[store] = LW_ATOMIC_STORE;
    return true;
}
