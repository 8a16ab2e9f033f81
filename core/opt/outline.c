/* What the loop uses is found in one walk over its instructions. A variable belongs to the loop
 * alone if nothing outside of it uses it, and the loop sets it before it reads it. */
#include "core/opt/outline.h"

#include "core/base/memory.h"
#include "core/ir/facts.h"
#include "core/ir/operands.h"
#include "core/opt/inline.h"

#include <assert.h>
#include <stdio.h>

enum { MOST_SHARED = 24, MOST_LOOP = 400 };

typedef struct outliner {
    lw_builder b; /* of the function at hand: the new one, and then the old one */
    lw_func old;
    lw_ir_regions regions;
    uint32_t at, end;          /* the loop: LOOP … END */
    lw_ref inner[MOST_SHARED]; /* values from outside, and then variables */
    uint32_t n_values, n_variables;
    bool is_set[MOST_SHARED]; /* of variables */
    lw_ref *to;
} outliner;

static const lw_inst *
inst_at(const outliner *o, uint32_t i)
{
    return &o->old.insts.data[i];
}

static bool
is_inside(const outliner *o, uint32_t i)
{
    return i >= o->at && i <= o->end;
}

/* ---- what may be in the loop ---- */

static bool
only_computes(lw_op op)
{
    switch (op) {
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_SLOT:
    case LW_OP_CALL:
    case LW_OP_IF:
    case LW_OP_ELSE:
    case LW_OP_BLOCK:
    case LW_OP_LOOP:
    case LW_OP_LATCH:
    case LW_OP_END:
    case LW_OP_BREAK:
    case LW_OP_CONTINUE: return true;
    case LW_OP_SREG:
    case LW_OP_ENTRY:
    case LW_OP_OFFSET: return false;
    default: return lw_ops[op].class == LW_CLASS_PURE;
    }
}

/* Whether the loop only computes, and nothing leaves it but to its END. */
static bool
is_closed(const outliner *o)
{
    for (uint32_t i = o->at; i <= o->end; i++) {
        const lw_inst *inst = inst_at(o, i);
        if (!only_computes((lw_op)inst->op) || inst->lanes > 1 || inst->type == LW_DT_ptr)
            return false;
        if (lw_ir_jumps_out(&o->regions, &o->old, o->at, i))
            return false;
    }
    return true;
}

/* ---- what it shares with the code around it ---- */

static bool
is_used_outside(const outliner *o, lw_ref slot)
{
    for (uint32_t i = 1; i < o->old.insts.n; i++) {
        const lw_inst *inst = inst_at(o, i);
        if (!is_inside(o, i) && (inst->op == LW_OP_GET || inst->op == LW_OP_SET) &&
            inst->a == slot)
            return true;
    }
    return false;
}

/* The end of the innermost region around an instruction of the loop, or its ELSE or LATCH. */
static uint32_t
end_around(const outliner *o, uint32_t at)
{
    uint32_t end = o->end;

    for (uint32_t i = o->at; i < at; i++) {
        uint32_t to = o->regions.ends[i], middle = o->regions.middles[i];
        if (to <= at)
            continue;
        end = middle > at ? middle : to;
    }
    return end;
}

/* Whether the first use of a variable is a SET that all others follow in its region. */
static bool
is_own(const outliner *o, lw_ref slot)
{
    uint32_t end = 0;

    if (is_used_outside(o, slot))
        return false;
    for (uint32_t i = o->at; i <= o->end; i++) {
        const lw_inst *inst = inst_at(o, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        if (end == 0 && inst->op == LW_OP_GET)
            return false;
        if (end == 0)
            end = end_around(o, i);
        if (i > end)
            return false;
    }
    return true;
}

static uint32_t
n_shared(const outliner *o)
{
    return o->n_values + o->n_variables;
}

/* The place of a value or variable among those that are shared; n_shared: it is not there. */
static uint32_t
place_of(const outliner *o, lw_ref ref)
{
    uint32_t k = 0;

    while (k < n_shared(o) && o->inner[k] != ref)
        k++;
    return k;
}

static bool
add(outliner *o, lw_ref ref, uint32_t *n)
{
    lw_dtype type = (lw_dtype)inst_at(o, ref)->type;

    if (place_of(o, ref) < n_shared(o))
        return true;
    if (n_shared(o) == MOST_SHARED || inst_at(o, ref)->lanes > 1 || type == LW_DT_ptr ||
        type == LW_DT_void)
        return false;
    o->inner[n_shared(o)] = ref;
    ++*n;
    return true;
}

static bool
find_values(outliner *o)
{
    lw_ref ref;

    for (uint32_t i = o->at; i <= o->end; i++) {
        uint32_t at = 0;
        while (lw_ir_next_operand(&o->old, inst_at(o, i), &at, &ref)) {
            lw_op op = (lw_op)inst_at(o, ref)->op;
            if (!is_inside(o, ref) && op != LW_OP_SLOT && op != LW_OP_CONST &&
                !add(o, ref, &o->n_values))
                return false;
        }
    }
    return true;
}

static bool
find_variables(outliner *o)
{
    for (uint32_t i = o->at; i <= o->end; i++) {
        const lw_inst *inst = inst_at(o, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || is_own(o, inst->a))
            continue;
        if (!add(o, inst->a, &o->n_variables))
            return false;
        o->is_set[place_of(o, inst->a) - o->n_values] |= inst->op == LW_OP_SET;
    }
    return true;
}

/* ---- the new function ---- */

static lw_ref
constant(outliner *o, uint32_t i)
{
    const lw_inst *inst = inst_at(o, i);

    return lw_ir_bits(&o->b, (lw_dtype)inst->type, o->old.constants.data[inst->a].bits);
}

/* Constants and variables may be declared anywhere in front of where they are used. */
static void
declare_operands(outliner *o, uint32_t i)
{
    uint32_t at = 0;
    lw_ref ref;

    while (lw_ir_next_operand(&o->old, inst_at(o, i), &at, &ref)) {
        if (o->to[ref] == 0 && inst_at(o, ref)->op == LW_OP_CONST)
            o->to[ref] = constant(o, ref);
        else if (o->to[ref] == 0 && inst_at(o, ref)->op == LW_OP_SLOT)
            o->to[ref] = lw_ir_slot(&o->b, (lw_dtype)inst_at(o, ref)->type);
    }
}

static void
write_loop(outliner *o)
{
    lw_builder *b = &o->b;
    lw_ref results[MOST_SHARED];
    uint32_t n = 0;

    b->func->linkage = LW_INTERNAL;
    for (uint32_t k = 0; k < n_shared(o); k++)
        o->to[o->inner[k]] =
            lw_ir_param_add(b, (lw_dtype)inst_at(o, o->inner[k])->type, 0, "x");
    for (uint32_t k = o->n_values; k < n_shared(o); k++) {
        lw_ref value = o->to[o->inner[k]];
        o->to[o->inner[k]] = lw_ir_slot(b, (lw_dtype)inst_at(o, o->inner[k])->type);
        lw_ir_set(b, o->to[o->inner[k]], value);
        if (o->is_set[k - o->n_values])
            lw_ir_result_add(b, (lw_dtype)inst_at(o, o->inner[k])->type);
    }
    for (uint32_t i = o->at; i <= o->end; i++) {
        declare_operands(o, i);
        if (inst_at(o, i)->op == LW_OP_CONST || inst_at(o, i)->op == LW_OP_SLOT)
            continue;
        o->to[i] = lw_ir_copy(b, &o->old, *inst_at(o, i), o->to);
    }
    for (uint32_t k = o->n_values; k < n_shared(o); k++)
        if (o->is_set[k - o->n_values])
            results[n++] = lw_ir_get(b, o->to[o->inner[k]]);
    lw_ir_return(b, results, n);
}

/* ---- the call ---- */

static void
write_call(outliner *o, uint32_t made)
{
    lw_builder *b = &o->b;
    lw_ref args[MOST_SHARED], call;
    uint32_t n = 0;

    for (uint32_t i = o->at; i <= o->end;
         i++) /* what is declared in it may be used behind it */
        if (inst_at(o, i)->op == LW_OP_SLOT && place_of(o, i) < n_shared(o))
            o->to[i] = lw_ir_slot(b, (lw_dtype)inst_at(o, i)->type);
        else if (inst_at(o, i)->op == LW_OP_CONST)
            o->to[i] = constant(o, i);
    for (uint32_t k = 0; k < n_shared(o); k++)
        args[k] = k < o->n_values ? o->to[o->inner[k]] : lw_ir_get(b, o->to[o->inner[k]]);
    call = lw_ir_call(b, made, args, n_shared(o));
    for (uint32_t k = o->n_values; k < n_shared(o); k++)
        if (o->is_set[k - o->n_values])
            lw_ir_set(b, o->to[o->inner[k]], lw_ir_result(b, call, n++));
}

static lw_status
write_both(outliner *o, lw_module *module, uint32_t func, lw_error *err)
{
    lw_builder caller = o->b;
    uint32_t made;
    char name[32];
    lw_status status;

    snprintf(name, sizeof name, "lw_loop_of_%u_%u", func, module->funcs.n);
    lw_builder_start(&o->b, module, name);
    if (o->b.func == NULL)
        return lw_fail_memory(err);
    made = o->b.func_number;
    write_loop(o);
    LW_TRY(lw_ir_finish(&o->b, err));
    for (uint32_t i = 0; i < o->old.insts.n; i++)
        o->to[i] = 0;
    o->b = caller;
    if (!lw_func_begin_anew(&o->b, o->old.insts.n))
        return lw_fail_memory(err);
    for (uint32_t i = 1; i < o->old.insts.n; i++) {
        if (i == o->at) {
            write_call(o, made);
            i = o->end;
        } else {
            o->to[i] = lw_ir_copy(&o->b, &o->old, *inst_at(o, i), o->to);
        }
    }
    status = module->failed ? lw_fail_memory(err) : LW_OK;
fail:
    return status;
}

lw_status
lw_opt_outline(lw_module *module, uint32_t func, uint32_t at, bool *done, lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    outliner o = {.b = {.module = module, .func = f, .func_number = func}, .old = *f, .at = at};
    lw_status status = LW_OK;

    *done = false;
    o.to = lw_alloc_zero(f->insts.n, sizeof *o.to);
    if (o.to == NULL || !lw_ir_regions_init(&o.regions, f)) {
        lw_free(o.to);
        return lw_fail_memory(err);
    }
    o.end = o.regions.ends[at];
    if (o.end - at <= MOST_LOOP && is_closed(&o) && find_values(&o) && find_variables(&o)) {
        *done = true;
        status = write_both(&o, module, func, err);
    }
    lw_ir_regions_reset(&o.regions);
    lw_free(o.to);
    return status;
}
