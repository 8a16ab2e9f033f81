/* Recursive calls. Functions that make them, or call others that do, have the number of open
 * calls of such functions as their first parameter. In front of each recursive call the code
 * asks whether the stack has room (ROOM); what that means is the emitter's business. */
#include "core/front/lower/lower_internal.h"

#include "core/ir/format.h"

#include <assert.h>

/* "`fact` was called … levels deep" */
static uint64_t
message_of(lw_lower_frame *f, const lw_fn *fn)
{
    lw_format_value level = {.dtype = LW_DT_i64,
                             .behind = " levels deep, and the stack has no room for more"};
    lw_text before = {0};
    uint64_t number = 0;

    lw_text_addf(&before, "`%s` was called ", fn->name);
    if (!before.failed)
        number = lw_format_add(lw_text_get(&before), &level, 1);
    lw_text_reset(&before);
    if (number == 0)
        f->l->module->failed = true;
    return number;
}

static void
check_room(lw_lower_frame *f, lw_ref level, const lw_fn *fn)
{
    lw_builder *b = &f->b;
    lw_ref room = lw_ir_emit(b, LW_OP_ROOM, LW_DT_b1, level, 0, 0), words[1];

    assert(f->l->n_raise_words >= 1);
    lw_ir_if(b, lw_ir_not(b, room));
    words[0] = lw_ir_cast(b, LW_DT_u64, level);
    lw_lower_raise_words(f, "RecursionError", message_of(f, fn), words, 1);
    lw_ir_end(b);
}

lw_ref
lw_lower_level(lw_lower_frame *f, uint32_t instance)
{
    const lw_instance *callee = &f->l->typed->instances.data[instance];
    lw_ref one = lw_ir_int(&f->b, LW_DT_i32, 1);

    assert(callee->recurses && f->inst->recurses);
    if (f->level == 0)
        return one;
    if (f->l->open[instance])
        check_room(f, f->level, &f->l->tree->fns.data[callee->fn]);
    return lw_ir_add(&f->b, f->level, one);
}
