/* Writes functions anew with the loops that jam_facts.c has found:
 *
 *     if no load of the head meets a store of the rest:            where that is not known
 *         while (i < end && end - i > 3) {
 *             head(i); head(i + 1); head(i + 2); head(i + 3);      inner loops: all at once
 *             rest(i); rest(i + 1); rest(i + 2); rest(i + 3); i += 4;
 *         }
 *     while (i < end) { head(i); rest(i); i += 1; }                as it was
 *
 * Variables of an iteration are those of the function in the last of the four, so they have the
 * same values behind the loop. */
#include "core/opt/jam.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/inline.h"
#include "core/opt/jam_internal.h"

#include <assert.h>
#include <string.h>

/* ---- one loop ---- */

static lw_ref *
copy_of(const lw_jammer *j, uint32_t k)
{
    assert(k < LW_JAM);
    return j->copies + (size_t)k * j->old.insts.n;
}

static void
copy(lw_jammer *j, uint32_t at)
{
    const lw_inst *inst = &j->old.insts.data[at];

    if (inst->op == LW_OP_SLOT && j->to[at] != 0) /* it was copied in front of a loop already */
        return;
    j->to[at] = lw_ir_copy(&j->b, &j->old, *inst, j->to);
}

/* Emits an access of the head to a place that a variable keeps. */
static void
copy_access(lw_jammer *j, const lw_jam_place *place, uint32_t k, uint32_t at)
{
    const lw_inst *inst = &j->old.insts.data[at];
    lw_ref *become = copy_of(j, k);

    if (inst->op == LW_OP_STORE)
        lw_ir_set(&j->b, place->variables[k], become[inst->b]);
    else if (at != place->first)
        become[at] = lw_ir_get(&j->b, place->variables[k]);
    else {
        become[at] = lw_ir_copy(&j->b, &j->old, *inst, become);
        lw_ir_set(&j->b, place->variables[k], become[at]);
    }
}

/* Emits instructions of the body for iteration k of the four. */
static void
copy_for(lw_jammer *j, const lw_jam_nest *nest, uint32_t k, uint32_t from, uint32_t to)
{
    lw_ref *become = copy_of(j, k);

    for (uint32_t i = from; i < to; i++) {
        const lw_inst *inst = &j->old.insts.data[i];
        const lw_jam_place *place = lw_jam_place_of(j, nest, i);
        if (inst->op == LW_OP_SLOT)
            continue;
        if (place != NULL && place->kept && i < nest->split)
            copy_access(j, place, k, i);
        else
            become[i] = inst->op == LW_OP_GET && inst->a == nest->outer.slot
                            ? become[nest->outer.at + 1]
                            : lw_ir_copy(&j->b, &j->old, *inst, become);
    }
}

static void
copy_for_all(lw_jammer *j, const lw_jam_nest *nest, uint32_t from, uint32_t to)
{
    for (uint32_t k = 0; k < LW_JAM; k++)
        copy_for(j, nest, k, from, to);
}

/* An inner loop counts once for all four. It is not unrolled any further: its chains overlap
 * already, and it would take twice as long to compile. */
static void
write_inner(lw_jammer *j, const lw_jam_nest *nest, const lw_counted_loop *loop)
{
    lw_inst head = j->old.insts.data[loop->at];

    head.flags |= LW_LOOP_NO_UNROLL;
    copy_of(j, 0)[loop->at] = lw_ir_copy(&j->b, &j->old, head, copy_of(j, 0));
    copy_for(j, nest, 0, loop->at + 1, loop->first);
    for (uint32_t k = 1; k < LW_JAM; k++)
        for (uint32_t i = loop->at; i < loop->first; i++)
            copy_of(j, k)[i] = copy_of(j, 0)[i];
    copy_for_all(j, nest, loop->first, loop->latch);
    copy_for(j, nest, 0, loop->latch, loop->end + 1);
}

static void
store_places(lw_jammer *j, const lw_jam_nest *nest)
{
    for (uint32_t k = 0; k < LW_JAM; k++)
        for (uint32_t p = 0; p < nest->n_places; p++) {
            const lw_jam_place *place = &nest->places[p];
            if (place->kept)
                lw_ir_store(&j->b, copy_of(j, k)[j->old.insts.data[place->first].a],
                            lw_ir_get(&j->b, place->variables[k]), 0, 0);
        }
}

static void
write_iterations(lw_jammer *j, const lw_jam_nest *nest)
{
    uint32_t at = nest->outer.first;

    for (uint32_t n = 0; n < nest->n_inner; n++) {
        copy_for_all(j, nest, at, nest->inner[n].at);
        write_inner(j, nest, &nest->inner[n]);
        at = nest->inner[n].end + 1;
    }
    assert(at == nest->split);
    store_places(j, nest);
    copy_for_all(j, nest, at, nest->outer.latch);
}

/* The type of what is loaded or stored. */
static lw_dtype
type_at(const lw_jammer *j, uint32_t access)
{
    const lw_inst *inst = &j->old.insts.data[access];

    return (lw_dtype)(inst->op == LW_OP_LOAD ? inst : &j->old.insts.data[inst->b])->type;
}

/* Gives each of the four iterations its variables. */
static void
make_variables(lw_jammer *j, lw_jam_nest *nest)
{
    uint32_t n = j->old.insts.n;

    for (uint32_t p = 0; p < nest->n_places; p++)
        for (uint32_t k = 0; nest->places[p].kept && k < LW_JAM; k++)
            nest->places[p].variables[k] = lw_ir_slot(&j->b, type_at(j, nest->places[p].first));

    for (uint32_t k = 0; k < LW_JAM; k++) {
        memcpy(copy_of(j, k), j->to, n * sizeof *j->to);
        for (uint32_t i = 1; i < n && k + 1 < LW_JAM; i++)
            if (j->is_private[i])
                copy_of(j, k)[i] = lw_ir_copy(&j->b, &j->old, j->old.insts.data[i], j->to);
    }
}

static void
write_jammed(lw_jammer *j, const lw_jam_nest *nest)
{
    const lw_counted_loop *outer = &nest->outer;
    lw_builder *b = &j->b;
    lw_ref slot = j->to[outer->slot], limit = j->to[outer->limit], i, left, enough;
    lw_dtype type = lw_ir_type(b, limit);

    lw_ir_loop(b, LW_LOOP_NO_UNROLL);
    i = lw_ir_get(b, slot);
    left = lw_ir_cast(b, LW_DT_u64, lw_ir_sub(b, limit, i));
    enough = lw_ir_and(b, lw_ir_compare(b, LW_OP_LT, i, limit),
                       lw_ir_compare(b, LW_OP_GE, left, lw_ir_int(b, LW_DT_u64, LW_JAM)));
    lw_ir_if(b, lw_ir_not(b, enough));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    for (uint32_t k = 0; k < LW_JAM; k++)
        copy_of(j, k)[outer->at + 1] = k == 0 ? i : lw_ir_add(b, i, lw_ir_int(b, type, k));
    write_iterations(j, nest);
    lw_ir_latch(b);
    lw_ir_set(b, slot, lw_ir_add(b, lw_ir_get(b, slot), lw_ir_int(b, type, LW_JAM)));
    lw_ir_end(b);
}

/* Whether the jammed loop needs a comparison in front of it. */
static bool
is_guarded(const lw_jammer *j, const lw_jam_nest *nest)
{
    bool guarded = j->inlined || nest->n_pairs > 0;

    for (uint32_t p = 0; p < nest->n_places; p++)
        guarded |= nest->places[p].needed;
    return guarded;
}

static void
write_nest(lw_jammer *j, lw_jam_nest *nest)
{
    lw_builder *b = &j->b;
    bool guarded = is_guarded(j, nest);

    b->loc = j->old.insts.data[nest->outer.at].loc;
    for (uint32_t i = nest->outer.first; i < nest->outer.end; i++)
        if (j->old.insts.data[i].op == LW_OP_SLOT)
            copy(j, i);
    make_variables(j, nest);
    if (guarded)
        lw_ir_if(b, lw_jam_check(j, nest));
    write_jammed(j, nest);
    if (guarded)
        lw_ir_end(b);
    j->n_jammed++;
}

/* ---- one function ---- */

static bool
has_nest(lw_jammer *j)
{
    lw_jam_nest nest;

    for (uint32_t i = 1; i < j->old.insts.n; i++)
        if (j->old.insts.data[i].op == LW_OP_LOOP && lw_jam_nest_of(j, i, &nest))
            return true;
    return false;
}

static void
write_function(lw_jammer *j)
{
    lw_jam_nest nest;

    for (uint32_t i = 1; i < j->old.insts.n; i++) {
        if (j->old.insts.data[i].op == LW_OP_LOOP && lw_jam_nest_of(j, i, &nest))
            write_nest(j, &nest);
        copy(j, i);
    }
}

static void
jammer_reset(lw_jammer *j)
{
    lw_ir_regions_reset(&j->regions);
    lw_free(j->kinds);
    lw_free(j->place);
    lw_free(j->is_private);
    lw_free(j->to);
}

static lw_status
jam_function(lw_module *module, uint32_t func, bool inlined, uint32_t *jammed, lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    lw_jammer j = {.b = {.module = module, .func = f, .func_number = func},
                   .module = module,
                   .func = func,
                   .inlined = inlined,
                   .old = *f};
    size_t n = f->insts.n;
    lw_status status = LW_OK;

    j.kinds = lw_alloc_zero(n, sizeof *j.kinds);
    j.place = lw_alloc_zero(n, sizeof *j.place);
    j.is_private = lw_alloc_zero(n, sizeof *j.is_private);
    j.to = lw_alloc_zero(n, (2 + LW_JAM) * sizeof *j.to);
    if (j.kinds == NULL || j.place == NULL || j.is_private == NULL || j.to == NULL ||
        !lw_ir_regions_init(&j.regions, f)) {
        status = lw_fail_memory(err);
        goto fail;
    }
    j.copies = j.to + n;
    j.corner = j.copies + LW_JAM * n;
    if (!has_nest(&j))
        goto fail;
    if (!lw_func_begin_anew(&j.b, f->insts.n)) {
        status = lw_fail_memory(err);
        goto fail;
    }
    write_function(&j);
    *jammed += j.n_jammed;
    if (module->failed)
        status = lw_fail_memory(err);
fail:
    jammer_reset(&j);
    return status;
}

/* ---- calls in loops ---- */

/* Whether a function has loops and none of them stands in another one. */
static bool
has_flat_loops(const lw_func *func)
{
    uint32_t depth = 0, loop_depth = 0; /* open regions; at the open loop, or 0 */
    bool loops = false;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        depth += lw_ir_opens_region(op);
        if (op == LW_OP_LOOP) {
            if (loop_depth != 0)
                return false;
            loop_depth = depth;
            loops = true;
        } else if (op == LW_OP_END && depth-- == loop_depth)
            loop_depth = 0;
    }
    return loops;
}

/* Whether a function has flat loops, returns at its end alone, and can stand in another one. */
static bool
can_be_inlined(const lw_func *func)
{
    return lw_opt_can_inline(func) && has_flat_loops(func);
}

static bool
is_call_to_inline(const lw_module *module, const lw_func *func, uint32_t at)
{
    const lw_inst *inst = &func->insts.data[at];

    return inst->op == LW_OP_CALL && can_be_inlined(module->funcs.data[inst->a]);
}

/* Whether such a call is in a loop or behind one. */
static bool
has_calls_in_loops(const lw_module *module, const lw_func *func)
{
    bool loops = false;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        loops |= func->insts.data[i].op == LW_OP_LOOP;
        if (loops && is_call_to_inline(module, func, i))
            return true;
    }
    return false;
}

/* Inlines all such calls, and takes that back if no loop is jammed then. */
static lw_status
jam_with_inlined(lw_module *module, uint32_t func, uint32_t *jammed, lw_error *err)
{
    lw_func *f = module->funcs.data[func], old = *f;
    uint32_t before = *jammed;
    lw_status status;

    LW_TRY(lw_opt_inline(module, func, is_call_to_inline, err));
    LW_TRY(jam_function(module, func, true, jammed, err));
fail:
    if (*jammed == before)
        *f = old;
    return status;
}

/* ---- a module ---- */

bool
lw_jam_may_apply(const lw_module *module)
{
    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *func = module->funcs.data[f];
        uint32_t loops = 0;
        for (uint32_t i = 1; i < func->insts.n; i++)
            loops += func->insts.data[i].op == LW_OP_LOOP;
        if (loops > 1 || (loops > 0 && has_calls_in_loops(module, func)))
            return true;
    }
    return false;
}

lw_status
lw_opt_jam(lw_module *module, uint32_t *jammed, lw_error *err)
{
    lw_status status = LW_OK;
    uint32_t n = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++)
        LW_TRY(jam_function(module, f, false, &n, err));
    for (uint32_t f = 0; f < module->funcs.n; f++)
        if (has_calls_in_loops(module, module->funcs.data[f]))
            LW_TRY(jam_with_inlined(module, f, &n, err));
fail:
    if (jammed != NULL)
        *jammed = n;
    return status;
}
