/* Emitting control flow: regions (IF, BLOCK, LOOP), the ways out of them, and counted loops in
 * the forms that LLVM recognises. The builder counts the regions that are open. */
#include "core/ir/build_internal.h"

void
lw_ir_if(lw_builder *b, lw_ref condition)
{
    assert(has_type(b, condition, LW_DT_b1));
    lw_ir_emit(b, LW_OP_IF, LW_DT_void, condition, 0, 0);
    b->depth++;
}

void
lw_ir_else(lw_builder *b)
{
    assert(b->depth > 0);
    lw_ir_emit(b, LW_OP_ELSE, LW_DT_void, 0, 0, 0);
}

void
lw_ir_block(lw_builder *b)
{
    lw_ir_emit(b, LW_OP_BLOCK, LW_DT_void, 0, 0, 0);
    b->depth++;
}

void
lw_ir_loop(lw_builder *b, uint32_t flags)
{
    lw_ref loop = lw_ir_emit(b, LW_OP_LOOP, LW_DT_void, 0, 0, 0);

    if (loop != 0)
        b->func->insts.data[loop].flags |= flags;
    b->depth++;
}

void
lw_ir_latch(lw_builder *b)
{
    assert(b->depth > 0);
    lw_ir_emit(b, LW_OP_LATCH, LW_DT_void, 0, 0, 0);
}

void
lw_ir_end(lw_builder *b)
{
    assert(b->depth > 0);
    lw_ir_emit(b, LW_OP_END, LW_DT_void, 0, 0, 0);
    b->depth--;
}

void
lw_ir_break(lw_builder *b, unsigned depth)
{
    assert(depth < b->depth);
    lw_ir_emit(b, LW_OP_BREAK, LW_DT_void, depth, 0, 0);
}

void
lw_ir_continue(lw_builder *b, unsigned depth)
{
    assert(depth < b->depth);
    lw_ir_emit(b, LW_OP_CONTINUE, LW_DT_void, depth, 0, 0);
}

void
lw_ir_return(lw_builder *b, const lw_ref *values, uint32_t n)
{
    uint32_t list = lw_ir_list(b, values, n);

    assert(b->module->failed || n == b->func->results.n);
    lw_ir_emit(b, LW_OP_RETURN, LW_DT_void, 0, list, n);
}

bool
lw_ir_ended(const lw_builder *b)
{
    const lw_inst *last = b->func ? inst_of(b, b->func->insts.n - 1) : &nothing;

    return last->op == LW_OP_BREAK || last->op == LW_OP_CONTINUE || last->op == LW_OP_RETURN;
}

static void
break_unless(lw_builder *b, lw_ref condition)
{
    lw_ir_if(b, lw_ir_not(b, condition));
    lw_ir_break(b, 0);
    lw_ir_end(b);
}

/* begin < end is tested before every iteration. In this form LLVM knows the trip count, as long
 * as the step is 1; see lw_ir_for_end for other steps. */
lw_for
lw_ir_for(lw_builder *b, lw_ref begin, lw_ref end, lw_ref step, uint32_t flags)
{
    lw_for loop = {.slot = lw_ir_slot(b, lw_ir_type(b, begin)), .end = end, .step = step};

    assert(same_types(b, begin, end) && same_types(b, begin, step));
    lw_ir_set(b, loop.slot, begin);
    lw_ir_loop(b, flags);
    loop.i = lw_ir_get(b, loop.slot);
    break_unless(b, lw_ir_compare(b, LW_OP_LT, loop.i, end));
    return loop;
}

/* With a step other than 1, i + step may wrap past the end of the type, so the remaining
 * distance, taken as unsigned, is tested first. */
void
lw_ir_for_end(lw_builder *b, const lw_for *loop)
{
    lw_dtype type = lw_ir_type(b, loop->i), wide = type;
    lw_ref i, left;
    uint64_t step = 0;

    lw_ir_latch(b);
    i = lw_ir_get(b, loop->slot);
    if (!lw_ir_is_const(b, loop->step, &step) || step != 1) {
        if (lw_is_signed(type))
            wide = (lw_dtype)(type + 1); /* the unsigned type follows its signed one */
        left = lw_ir_cast(b, wide, lw_ir_sub(b, loop->end, i));
        break_unless(b, lw_ir_compare(b, LW_OP_GT, left, lw_ir_cast(b, wide, loop->step)));
    }
    lw_ir_set(b, loop->slot, lw_ir_add(b, i, loop->step));
    lw_ir_end(b);
}

lw_ref
lw_ir_while(lw_builder *b, lw_ref slot, lw_ref end)
{
    lw_ref i;

    assert(is_op(b, slot, LW_OP_SLOT) && same_types(b, slot, end));
    lw_ir_loop(b, LW_LOOP_NO_UNROLL | LW_LOOP_NO_VECTORIZE);
    i = lw_ir_get(b, slot);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, i, end));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    return i;
}

void
lw_ir_while_end(lw_builder *b, lw_ref slot, lw_ref step)
{
    lw_ir_set(b, slot, lw_ir_add(b, lw_ir_get(b, slot), step));
    lw_ir_end(b);
}
