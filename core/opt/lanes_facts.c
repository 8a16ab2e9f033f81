/* What lanes.c has to know of a function before it emits anything: which values are the same in
 * all lanes, which assignments need no mask, how loops are left. */
#include "core/opt/lanes_internal.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

static const lw_inst *
at(const lw_lanes_facts *f, uint32_t i)
{
    return &f->func->insts.data[i];
}

static bool
is_jump(lw_op op)
{
    return op == LW_OP_BREAK || op == LW_OP_CONTINUE || op == LW_OP_RETURN;
}

uint32_t
lw_lanes_target(const lw_lanes_facts *f, uint32_t jump)
{
    uint32_t region = f->inner[jump], depth = at(f, jump)->a;

    while (at(f, region)->op == LW_OP_IF || depth-- > 0)
        region = f->inner[region];
    assert(region != 0);
    return region;
}

bool
lw_lanes_jumps(const lw_lanes_facts *f, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        if (is_jump((lw_op)at(f, i)->op))
            return true;
    return false;
}

static void
find_inner(lw_lanes_facts *f)
{
    uint32_t region = 0;

    for (uint32_t i = 1; i < f->func->insts.n; i++) {
        if (at(f, i)->op == LW_OP_END)
            region = f->inner[region];
        f->inner[i] = region;
        if (lw_ir_opens_region((lw_op)at(f, i)->op))
            region = i;
    }
}

/* The innermost LOOP around both; 0: the function. */
static uint32_t
common_loop(const lw_lanes_facts *f, uint32_t loop, uint32_t i)
{
    while (loop != 0 &&
           (at(f, loop)->op != LW_OP_LOOP || i < loop || i > f->regions.ends[loop]))
        loop = f->inner[loop];
    return loop;
}

/* ---- slots that belong to a loop ---- */

/* A slot that is only read in one loop. */
typedef struct slot_use {
    uint32_t loop;
    uint32_t first;   /* the first instruction that reads or sets it */
    bool sets_before; /* it is set in front of the loop, in the same region */
    bool others;      /* it is set elsewhere, too */
} slot_use;

static slot_use
use_of(const lw_lanes_facts *f, uint32_t slot)
{
    slot_use use = {0};
    bool read = false;

    for (uint32_t i = slot + 1; i < f->func->insts.n; i++) {
        if (at(f, i)->op != LW_OP_GET || at(f, i)->a != slot)
            continue;
        use.loop = common_loop(f, read ? use.loop : f->inner[i], i);
        read = true;
    }
    for (uint32_t i = slot + 1; use.loop != 0 && i < f->func->insts.n; i++) {
        bool inside = i > use.loop && i < f->regions.ends[use.loop];
        bool set = at(f, i)->op == LW_OP_SET && at(f, i)->a == slot;
        if (!set && (at(f, i)->op != LW_OP_GET || at(f, i)->a != slot))
            continue;
        if (use.first == 0)
            use.first = i;
        if (set && !inside) {
            use.sets_before |= i < use.loop && f->inner[i] == f->inner[use.loop];
            use.others |= i > use.loop || f->inner[i] != f->inner[use.loop];
        }
    }
    return use;
}

/* Whether a SET is executed in each iteration of the loop, for all lanes that are still in
 * it. */
static bool
is_of_every_lane(const lw_lanes_facts *f, uint32_t loop, uint32_t set)
{
    return f->inner[set] == loop &&
           (set > f->regions.middles[loop] || !(f->flags[loop] & LW_LANES_CONTINUED));
}

/* An iteration that sets the slot before it reads it: lanes that have left the loop read
 * nothing of it any more. */
static void
mark_plain(lw_lanes_facts *f, uint32_t slot, const slot_use *use)
{
    if (use->sets_before || use->others || at(f, use->first)->op != LW_OP_SET ||
        use->first > f->regions.middles[use->loop] ||
        (f->flags[use->loop] & LW_LANES_CONTINUED) || f->inner[use->first] != use->loop)
        return;
    for (uint32_t i = use->first; i < f->regions.ends[use->loop]; i++)
        if (at(f, i)->op == LW_OP_SET && at(f, i)->a == slot && f->inner[i] == use->loop)
            f->flags[i] |= LW_LANES_PLAIN;
}

/* Whether the slot is the same in all lanes that are in the loop, if the values are that it is
 * set to: all of them set it, as often. */
static bool
may_be_uniform(const lw_lanes_facts *f, uint32_t slot, const slot_use *use)
{
    if (use->loop == 0 || use->others)
        return false;
    for (uint32_t i = use->loop; i < f->regions.ends[use->loop]; i++)
        if (at(f, i)->op == LW_OP_SET && at(f, i)->a == slot &&
            !is_of_every_lane(f, use->loop, i))
            return false;
    return true;
}

static void
find_slots(lw_lanes_facts *f)
{
    for (uint32_t i = 1; i < f->func->insts.n; i++) {
        slot_use use;
        if (at(f, i)->op != LW_OP_SLOT)
            continue;
        use = use_of(f, i);
        if (may_be_uniform(f, i, &use))
            f->flags[i] |= LW_LANES_UNIFORM;
        else if (use.loop != 0)
            mark_plain(f, i, &use);
    }
}

/* ---- uniform values ---- */

static bool
is_uniform(const lw_lanes_facts *f, uint32_t i)
{
    const lw_inst *inst = at(f, i);
    uint32_t next = 0;
    lw_ref operand;

    if (inst->op == LW_OP_CONST || inst->op == LW_OP_VARYING)
        return true;
    if (inst->op == LW_OP_GET)
        return f->flags[inst->a] & LW_LANES_UNIFORM;
    if (!lw_op_is_elementwise((lw_op)inst->op))
        return false;
    while (lw_ir_next_operand(f->func, inst, &next, &operand))
        if (!(f->flags[operand] & LW_LANES_UNIFORM))
            return false;
    return true;
}

/* Slots are uniform until a value that is not is assigned to them. */
static void
find_uniform(lw_lanes_facts *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < f->func->insts.n; i++) {
            const lw_inst *inst = at(f, i);
            if (inst->op == LW_OP_SET && (f->flags[inst->a] & LW_LANES_UNIFORM) &&
                !(f->flags[inst->b] & LW_LANES_UNIFORM)) {
                f->flags[inst->a] &= (uint8_t)~LW_LANES_UNIFORM;
                changed = true;
            }
            if (inst->op == LW_OP_SLOT)
                continue;
            f->flags[i] &= (uint8_t)~LW_LANES_UNIFORM;
            if (is_uniform(f, i))
                f->flags[i] |= LW_LANES_UNIFORM;
        }
    }
}

/* ---- abs(z) > 2 ---- */

/* A positive constant whose square is a normal number, and so are its neighbours. */
static bool
has_square(const lw_lanes_facts *f, lw_ref value, double *out)
{
    const lw_inst *inst = at(f, value);
    bool is_single = inst->type == LW_DT_f32;
    double edge = is_single ? 1e15 : 1e140;
    uint64_t bits;
    uint32_t single;
    float narrow;

    if (inst->op != LW_OP_CONST)
        return false;
    bits = f->func->constants.data[inst->a].bits;
    single = (uint32_t)bits;
    memcpy(&narrow, &single, sizeof narrow);
    memcpy(out, &bits, sizeof *out);
    if (is_single)
        *out = (double)narrow;
    return *out > 1 / edge && *out < edge;
}

static bool
is_order(lw_op op)
{
    return op == LW_OP_LT || op == LW_OP_LE || op == LW_OP_GT || op == LW_OP_GE;
}

bool
lw_lanes_squared(const lw_lanes_facts *f, uint32_t comparison, lw_ref *hypot, double *constant)
{
    const lw_inst *inst = at(f, comparison);

    if (!is_order((lw_op)inst->op))
        return false;
    *hypot = f->flags[inst->a] & LW_LANES_SQUARED ? inst->a : inst->b;
    return (f->flags[*hypot] & LW_LANES_SQUARED) &&
           has_square(f, *hypot == inst->a ? inst->b : inst->a, constant);
}

static void
find_squared(lw_lanes_facts *f)
{
    for (uint32_t i = 1; i < f->func->insts.n; i++) {
        const lw_inst *inst = at(f, i);
        bool all = inst->op == LW_OP_INTRINSIC && inst->a == LW_IN_hypot &&
                   (inst->type == LW_DT_f32 || inst->type == LW_DT_f64) &&
                   !(f->flags[i] & LW_LANES_UNIFORM);
        for (uint32_t k = i + 1; all && k < f->func->insts.n; k++) {
            const lw_inst *use = at(f, k);
            double constant;
            all = !lw_ir_inst_uses(f->func, use, i) ||
                  (is_order((lw_op)use->op) &&
                   has_square(f, use->a == i ? use->b : use->a, &constant));
        }
        if (all)
            f->flags[i] |= LW_LANES_SQUARED;
    }
}

/* ---- jumps ---- */

static void
find_continued(lw_lanes_facts *f)
{
    for (uint32_t i = 1; i < f->func->insts.n; i++)
        if (at(f, i)->op == LW_OP_CONTINUE)
            f->flags[lw_lanes_target(f, i)] |= LW_LANES_CONTINUED;
}

static void
find_branches(lw_lanes_facts *f)
{
    for (uint32_t i = 1; i < f->func->insts.n; i++) {
        uint32_t loop = f->inner[i];
        if (at(f, i)->op != LW_OP_IF || !(f->flags[at(f, i)->a] & LW_LANES_UNIFORM))
            continue;
        if (!lw_lanes_jumps(f, i, f->regions.ends[i]))
            f->flags[i] |= LW_LANES_BRANCH;
        else if (at(f, loop)->op == LW_OP_LOOP && i < f->regions.middles[loop] &&
                 at(f, i + 1)->op == LW_OP_BREAK && at(f, i + 1)->a == 0 &&
                 at(f, i + 2)->op == LW_OP_END)
            f->flags[i] |= LW_LANES_TOGETHER;
    }
}

static void
find_exits(lw_lanes_facts *f)
{
    for (uint32_t i = 1; i < f->func->insts.n; i++) {
        uint32_t target = 0;
        if (!is_jump((lw_op)at(f, i)->op))
            continue;
        if (at(f, i)->op != LW_OP_RETURN)
            target = lw_lanes_target(f, i);
        for (uint32_t r = f->inner[i]; r != target; r = f->inner[r])
            f->flags[r] |= LW_LANES_OUTWARD;
        if (at(f, i)->op == LW_OP_BREAK && !(f->flags[f->inner[i]] & LW_LANES_TOGETHER))
            f->flags[target] |= LW_LANES_BREAKS;
    }
}

bool
lw_lanes_facts_init(lw_lanes_facts *f, const lw_func *func)
{
    uint32_t n = func->insts.n + 1;

    *f = (lw_lanes_facts){.func = func};
    f->inner = lw_alloc_zero(n, sizeof *f->inner);
    f->flags = lw_alloc_zero(n, sizeof *f->flags);
    if (f->inner == NULL || f->flags == NULL || !lw_ir_regions_init(&f->regions, func)) {
        lw_lanes_facts_reset(f);
        return false;
    }
    find_inner(f);
    find_continued(f);
    find_slots(f);
    find_uniform(f);
    find_squared(f);
    find_branches(f);
    find_exits(f);
    return true;
}

void
lw_lanes_facts_reset(lw_lanes_facts *f)
{
    lw_ir_regions_reset(&f->regions);
    lw_free(f->inner);
    lw_free(f->flags);
    *f = (lw_lanes_facts){0};
}
