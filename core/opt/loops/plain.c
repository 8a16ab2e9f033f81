#include "core/opt/loops/plain.h"

#include "core/ir/facts.h"
#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

enum {
    MOST_DEPTH = 8,
    MOST_DEPTH_STORING = 32, /* of functions that store, in iterations of prange */
    MOST_REGIONS = 64,
    MOST_STRAIGHT = 64,
    MOST_INSTS = 20000,
    MOST_OWNERS = 32 /* of one function: each is released wherever the part ends */
};

typedef struct plainer {
    const lw_module *module;
    lw_arena *arena;
    lw_func *out;
    const lw_plain_prange *prange; /* or NULL */
    uint32_t n_body;               /* instructions of the body before anything is inlined */
    /* of all instructions of the function that is being copied; 0: each its own */
    uint32_t loc;
    bool failed;
} plainer;

/* A function that is being copied into the rewritten body. */
typedef struct copy {
    const lw_func *func;
    lw_ref *to;         /* by value */
    lw_ref **results;   /* by CALL that is inlined */
    bool *dropped;      /* by instruction */
    const lw_ref *args; /* NULL: the body itself */
    lw_ref *made;       /* its results, or the slots that receive them */
    bool in_block;      /* a RETURN becomes a BREAK out of the BLOCK around the function */
    int depth;
    /* open regions; the LOOPs, and the BLOCKs and LOOPs, among them */
    uint32_t n_open, loops, blocks;
    bool in_iteration; /* of a loop over prange, which is this region of the body */
    uint32_t iteration;
    uint8_t open[MOST_REGIONS];
} copy;

static void *
take(plainer *p, size_t n, size_t size)
{
    void *made = lw_arena_take(p->arena, (n + 1) * size);

    p->failed |= made == NULL;
    return made;
}

static lw_ref
emit(plainer *p, lw_inst inst)
{
    lw_inst *made =
        p->out->insts.n < MOST_INSTS ? lw_array_push(&p->out->insts, p->arena) : NULL;

    if (made == NULL) {
        p->failed = true;
        return 0;
    }
    *made = inst;
    return p->out->insts.n - 1;
}

static lw_ref
emit_like(plainer *p, const lw_inst *like, lw_op op, lw_dtype type, uint32_t a, uint32_t b)
{
    return emit(p, (lw_inst){.op = (uint16_t)op,
                             .type = (uint8_t)type,
                             .a = a,
                             .b = b,
                             .loc = p->loc != 0 ? p->loc : like->loc});
}

/* ---- v = e if c else v ---- */

/* Whether this value is that of the variable, which has not changed by `set`. */
static bool
is_itself(const lw_func *func, lw_ref value, uint32_t set)
{
    const lw_inst *insts = func->insts.data;

    if (insts[value].op != LW_OP_GET || insts[value].a != insts[set].a)
        return false;
    for (uint32_t i = value + 1; i < set; i++)
        if (insts[i].op == LW_OP_LOOP ||
            (insts[i].op == LW_OP_SET && insts[i].a == insts[set].a))
            return false;
    return true;
}

/* The SELECT whose value this SET stores, if one of its arms is the variable itself. *yes: it
 * is the one for a false condition. */
static const lw_inst *
chosen_by(const lw_func *func, uint32_t set, bool *yes)
{
    const lw_inst *insts = func->insts.data, *w = &insts[insts[set].b];

    if (w->op != LW_OP_SELECT || w->lanes > 1 || lw_ir_count_uses(func, insts[set].b) != 1 ||
        w->a == w->b || w->a == w->c)
        return NULL;
    *yes = is_itself(func, w->c, set);
    return *yes != is_itself(func, w->b, set) ? w : NULL;
}

/* Whether all instructions that use this value are dropped. */
static bool
all_users_dropped(const copy *c, lw_ref value)
{
    const lw_inst *insts = c->func->insts.data;

    for (uint32_t i = value + 1; i < c->func->insts.n; i++)
        if (lw_ir_inst_uses(c->func, &insts[i], value) &&
            (!c->dropped[i] || insts[i].a == value))
            return false;
    return true;
}

/* Drops the values that are not needed once such SETs, from the first loop on, are written as
 * IFs. */
static void
drop_choices(copy *c)
{
    const lw_inst *insts = c->func->insts.data;
    uint32_t n = c->func->insts.n, first = 1;
    bool yes;

    while (first < n && insts[first].op != LW_OP_LOOP)
        first++;
    for (uint32_t i = first; i < n; i++)
        if (insts[i].op == LW_OP_SET && chosen_by(c->func, i, &yes))
            c->dropped[insts[i].b] = true;
    for (uint32_t i = first; i < n; i++) {
        const lw_inst *w = insts[i].op == LW_OP_SET && c->dropped[insts[i].b]
                               ? chosen_by(c->func, i, &yes)
                               : NULL;
        lw_ref itself = w == NULL ? 0 : yes ? w->c : w->b;
        if (itself)
            c->dropped[itself] = all_users_dropped(c, itself);
    }
}

static void
copy_choice(plainer *p, copy *c, uint32_t set)
{
    const lw_inst *old = &c->func->insts.data[set];
    bool yes = true;
    const lw_inst *w = chosen_by(c->func, set, &yes);
    lw_ref condition = c->to[w->a];

    if (!yes)
        condition = emit_like(p, old, LW_OP_NOT, LW_DT_b1, condition, 0);
    emit_like(p, old, LW_OP_IF, LW_DT_void, condition, 0);
    emit_like(p, old, LW_OP_SET, LW_DT_void, c->to[old->a], c->to[yes ? w->b : w->c]);
    emit_like(p, old, LW_OP_END, LW_DT_void, 0, 0);
}

/* ---- calls ---- */

static bool
is_straight(const lw_func *func)
{
    for (uint32_t i = 1; i + 1 < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        if (lw_op_is_own_memory(op) || lw_op_is_call(op) || lw_ops[op].class == LW_CLASS_FLOW)
            return false;
    }
    return func->insts.n > 1 && func->insts.n <= MOST_STRAIGHT;
}

static bool
has_loops(const lw_func *func)
{
    bool loops = false;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        if (lw_op_is_own_memory((lw_op)func->insts.data[i].op))
            return false;
        if (lw_ir_is_prange(&func->insts.data[i]))
            return false; /* its RETURNs leave the loop */
        loops |= func->insts.data[i].op == LW_OP_LOOP;
    }
    return loops;
}

/* Whether the function does what only a function of its own can do, or has too many arrays. */
static bool
is_bound(const lw_func *func)
{
    uint32_t n_owners = 0;

    for (uint32_t i = 1; i < func->insts.n; i++)
        switch (func->insts.data[i].op) {
        case LW_OP_RECUR:
        case LW_OP_ROOM:
        case LW_OP_KERNEL_CALL:
        case LW_OP_CONTEXT:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_BARRIER:
        case LW_OP_SREG: return true;
        case LW_OP_OWNER: n_owners++; break;
        default: break;
        }
    return n_owners > MOST_OWNERS;
}

static bool copy_function(plainer *p, copy *c);

static lw_ref
emit_zero(plainer *p, const lw_inst *like, lw_dtype type)
{
    lw_constant_bits *zero = lw_array_push(&p->out->constants, p->arena);

    p->failed |= zero == NULL;
    if (p->failed)
        return 0;
    *zero = (lw_constant_bits){0};
    return emit_like(p, like, LW_OP_CONST, type, p->out->constants.n - 1, 0);
}

/* Emits a slot whose first value is 0. */
static lw_ref
emit_zero_slot(plainer *p, const lw_inst *like, lw_dtype type)
{
    lw_ref slot = emit_like(p, like, LW_OP_SLOT, type, 0, 0);

    emit_like(p, like, LW_OP_SET, LW_DT_void, slot, emit_zero(p, like, type));
    return slot;
}

/* In an iteration of prange, variables of an inlined function are new in each call: they are
 * set before they can be read, on whatever paths the function sets them. */
static void
begin_slots(plainer *p, copy *c)
{
    for (uint32_t i = 1; i < c->func->insts.n && !p->failed; i++)
        if (c->func->insts.data[i].op == LW_OP_SLOT)
            c->to[i] = emit_zero_slot(p, &c->func->insts.data[i],
                                      (lw_dtype)c->func->insts.data[i].type);
}

/* The memory of an inlined function ends with its call, as that of a called one does, and not
 * with the part of the iterations: what it has given to the call has references of its own. */
static void
release_owners(plainer *p, const copy *c, const lw_inst *like)
{
    for (uint32_t i = 1; i < c->func->insts.n && !p->failed; i++)
        if (c->func->insts.data[i].op == LW_OP_OWNER)
            emit_like(p, like, LW_OP_HOLD, LW_DT_void, c->to[i], emit_zero(p, like, LW_DT_ptr));
}

/* Whether the function was not written by the user, but by lanewise. */
static bool
is_hidden(const plainer *p, const lw_func *func)
{
    for (uint32_t i = 1; p->prange->hidden != NULL && i < func->insts.n; i++)
        if (func->insts.data[i].loc != 0)
            return p->prange->hidden[p->module->locs.data[func->insts.data[i].loc].file];
    return true;
}

/* Inlines a call. A function with several returns becomes a BLOCK. */
static void
copy_call(plainer *p, copy *caller, uint32_t at, const lw_func *func)
{
    const lw_inst *call = &caller->func->insts.data[at];
    copy c = {.func = func,
              .depth = caller->depth + 1,
              .in_block = !is_straight(func),
              .in_iteration = caller->in_iteration};
    lw_ref *args = take(p, call->c, sizeof *args);
    uint32_t n = func->results.n, loc = p->loc;

    assert(call->op == LW_OP_CALL && call->c == func->params.n);
    c.made = take(p, n, sizeof *c.made);
    if (p->failed)
        return;
    for (uint32_t i = 0; i < call->c; i++)
        args[i] = caller->to[caller->func->lists.data[call->b + i]];
    c.args = args;
    for (uint32_t i = 0; i < n && c.in_block; i++)
        c.made[i] = c.in_iteration
                        ? emit_zero_slot(p, call, func->results.data[i])
                        : emit_like(p, call, LW_OP_SLOT, func->results.data[i], 0, 0);
    if (c.in_block)
        emit_like(p, call, LW_OP_BLOCK, LW_DT_void, 0, 0);
    if (loc == 0 && p->prange != NULL && is_hidden(p, func))
        p->loc = call->loc;
    p->failed |= !copy_function(p, &c);
    p->loc = loc;
    if (c.in_block)
        emit_like(p, call, LW_OP_END, LW_DT_void, 0, 0);
    for (uint32_t i = 0; i < n && c.in_block; i++)
        c.made[i] = emit_like(p, call, LW_OP_GET, func->results.data[i], c.made[i], 0);
    if (c.in_iteration)
        release_owners(p, &c, call);
    caller->results[at] = c.made;
    if (n == 1)
        caller->to[at] = c.made[0];
}

static bool
is_to_inline(const plainer *p, const copy *c, uint32_t number)
{
    const lw_func *func = p->module->funcs.data[number];

    if (func->linkage != LW_INTERNAL)
        return false;
    if (c->in_iteration && c->depth < MOST_DEPTH_STORING &&
        (lw_called_facts(p->prange->called, number) & LW_CALLED_STORES) && !is_bound(func) &&
        p->out->insts.n + p->n_body + func->insts.n < MOST_INSTS)
        return true;
    return c->depth < MOST_DEPTH && (is_straight(func) || (c->loops == 0 && has_loops(func)));
}

static void
copy_return(plainer *p, copy *c, uint32_t at)
{
    const lw_inst *inst = &c->func->insts.data[at];

    assert(inst->c == c->func->results.n);
    for (uint32_t i = 0; i < inst->c; i++) {
        lw_ref value = c->to[c->func->lists.data[inst->b + i]];
        if (c->in_block)
            emit_like(p, inst, LW_OP_SET, LW_DT_void, c->made[i], value);
        else
            c->made[i] = value;
    }
    if (c->in_block && at + 1 < c->func->insts.n)
        emit_like(p, inst, LW_OP_BREAK, LW_DT_void, c->blocks, 0);
}

/* ---- instructions ---- */

static void
follow_regions(plainer *p, copy *c, const lw_inst *inst)
{
    lw_op op = (lw_op)inst->op;

    if (op == LW_OP_IF || op == LW_OP_BLOCK || op == LW_OP_LOOP) {
        if (c->n_open == MOST_REGIONS) {
            p->failed = true;
            return;
        }
        c->open[c->n_open++] = (uint8_t)op;
        c->loops += op == LW_OP_LOOP;
        c->blocks += op != LW_OP_IF;
        if (p->prange != NULL && !c->in_iteration && lw_ir_is_prange(inst)) {
            c->in_iteration = true;
            c->iteration = c->n_open;
        }
    } else if (op == LW_OP_END) {
        assert(c->n_open > 0);
        op = (lw_op)c->open[--c->n_open];
        c->loops -= op == LW_OP_LOOP;
        c->blocks -= op != LW_OP_IF;
        c->in_iteration &= c->args != NULL || c->n_open >= c->iteration;
    }
}

/* Writes `c if v else v` of bools as `v and c`, and `v if v else c` as `v or c`. */
static void
write_as_logic(lw_inst *inst, const lw_inst *old)
{
    if (old->op != LW_OP_SELECT || old->type != LW_DT_b1 || old->lanes > 1 ||
        (old->a != old->b && old->a != old->c))
        return;
    inst->op = old->a == old->b ? LW_OP_OR : LW_OP_AND;
    if (old->a == old->b)
        inst->b = inst->c;
    inst->c = 0;
}

static void
copy_plain(plainer *p, copy *c, uint32_t at)
{
    const lw_inst *old = &c->func->insts.data[at];
    lw_inst inst = *old;

    if (p->loc != 0)
        inst.loc = p->loc;
    p->failed |= !lw_ir_renumber(c->func, &inst, c->to, p->out, p->arena);
    write_as_logic(&inst, old);
    if (old->op == LW_OP_CONST) {
        lw_constant_bits *constant = lw_array_push(&p->out->constants, p->arena);
        p->failed |= constant == NULL;
        if (constant == NULL)
            return;
        *constant = c->func->constants.data[old->a];
        inst.a = p->out->constants.n - 1;
    }
    if (lw_ir_is_prange(old) && c->args != NULL)
        inst.flags &= ~(uint32_t)LW_LOOP_PARALLEL; /* it runs in an iteration */
    c->to[at] = emit(p, inst);
    follow_regions(p, c, old);
}

static void
copy_inst(plainer *p, copy *c, uint32_t at)
{
    const lw_inst *old = &c->func->insts.data[at];
    bool yes;

    if (c->dropped[at] || (old->op == LW_OP_SLOT && c->to[at] != 0))
        return;
    if (old->op == LW_OP_CALL && is_to_inline(p, c, old->a))
        copy_call(p, c, at, p->module->funcs.data[old->a]);
    else if (old->op == LW_OP_PARAM && c->args != NULL)
        c->to[at] = c->args[old->a];
    else if (old->op == LW_OP_RETURN && c->args != NULL)
        copy_return(p, c, at);
    else if (old->op == LW_OP_RESULT && c->results[old->a] != NULL)
        c->to[at] = c->results[old->a][old->b];
    else if (old->op == LW_OP_SET && c->dropped[old->b] && chosen_by(c->func, at, &yes))
        copy_choice(p, c, at);
    else
        copy_plain(p, c, at);
}

static bool
copy_function(plainer *p, copy *c)
{
    uint32_t n = c->func->insts.n;

    c->to = take(p, n, sizeof *c->to);
    c->results = take(p, n, sizeof *c->results);
    c->dropped = take(p, n, sizeof *c->dropped);
    if (p->failed)
        return false;
    drop_choices(c);
    if (c->in_iteration)
        begin_slots(p, c);
    for (uint32_t i = 1; i < n && !p->failed; i++)
        copy_inst(p, c, i);
    return !p->failed;
}

const lw_func *
lw_plain_body(const lw_module *module, const lw_func *func, const lw_plain_prange *prange,
              lw_arena *arena)
{
    plainer p = {.module = module,
                 .arena = arena,
                 .out = lw_arena_take(arena, sizeof *p.out),
                 .prange = prange,
                 .n_body = func->insts.n};
    copy c = {.func = func};

    if (p.out == NULL)
        return NULL;
    *p.out = *func;
    memset(&p.out->insts, 0, sizeof p.out->insts);
    memset(&p.out->lists, 0, sizeof p.out->lists);
    memset(&p.out->constants, 0, sizeof p.out->constants);
    emit(&p, (lw_inst){0}); /* [0] is unused */
    return copy_function(&p, &c) ? p.out : NULL;
}
