/* Which functions are not inlined. Functions are inlined into their callers, and a function
 * with several calls is copied as often: two calls in each of 29 functions in a chain make half
 * a billion copies of the last. So a function stays a call if its copies, with everything that
 * is inlined into them, would be more than MOST_COPIED instructions. The choice depends on the
 * module alone.
 *
 * What calls itself stays a call, too; the other functions of a circle are inlined into it. So
 * does a function that is marked as shared, if it has several calls and is longer than a call
 * or calls a library's function, which libNVVM puts in line: betainc, whose parts call gamma
 * and pow in many places, took 32 s and 3 MB for a GPU, and takes 2 s and 0.3 MB.
 *
 * On the host a long function with loops over arrays stays a call of other functions, since the
 * time of a call is nothing beside its loops: a Kalman filter, six products of matrices and an
 * inverse, took LLVM 8.6 s, and takes 3.3 s. The body of a kernel is inlined into the loop over
 * its items, whose strides it knows then.
 *
 * Sizes are instructions of the IR. */
#include "core/emit/emit_internal.h"

#include "core/base/memory.h"

#include <assert.h>

/* MOST_COPIED: LLVM takes some three seconds for two loops over a body of this size, and its
 * time grows with the square (one core of a CPU of 2024, LLVM 22). It is not smaller because
 * a call keeps the loop from being vectorised. SMALL: a body that is hardly longer than a
 * call. */
enum { MOST_COPIED = 16384, SMALL = 32, LONG_LOOPS = 256 };

typedef struct census {
    const lw_module *module;
    uint64_t *sizes;   /* by function, with what is inlined into it; 0: not known yet */
    uint32_t *n_calls; /* by function: how often it is called */
    lw_emit_callee *callees;
    bool *is_body; /* by function: whether an entry point calls it */
    bool gpu;
} census;

static bool
stays_call(const census *c, uint32_t number)
{
    return c->module->funcs.data[number]->linkage != LW_INTERNAL || c->callees[number].is_call;
}

static void size_up(census *c, uint32_t number);

/* The instructions that a call adds to its caller. */
static uint64_t
size_of_call(census *c, uint32_t callee)
{
    if (c->sizes[callee] == 0)
        size_up(c, callee);
    return stays_call(c, callee) ? 1 : c->sizes[callee];
}

static bool
is_shared(const census *c, uint32_t callee)
{
    return c->module->funcs.data[callee]->shared == LW_IS_SHARED;
}

static bool
calls_library(const lw_inst *inst)
{
    return inst->op == LW_OP_INTRINSIC && lw_intrinsics[inst->a].gpu_how == LW_HOW_CALL;
}

static bool
takes_memory(const lw_func *func)
{
    for (uint32_t i = 0; i < func->params.n; i++)
        if (func->params.data[i].type == LW_DT_ptr)
            return true;
    return false;
}

/* Computes sizes, callees first. Recursion is as deep as calls are nested, which the front end
 * bounds. */
static void
size_up(census *c, uint32_t number)
{
    const lw_func *func = c->module->funcs.data[number];
    uint64_t size = 1, copies = c->n_calls[number] ? c->n_calls[number] - 1 : 0;
    lw_emit_callee *callee = &c->callees[number];
    bool long_enough = false, shared = func->shared == LW_IS_SHARED;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        bool call = inst->op == LW_OP_CALL; /* a recursive one adds nothing: see below */
        size += call ? size_of_call(c, inst->a) : 1;
        long_enough |= size > SMALL || calls_library(inst);
        shared |= call && func->shared == LW_SHARED_BY_CALLEE && is_shared(c, inst->a);
        callee->has_local |=
            call ? c->callees[inst->a].has_local : lw_op_is_own_memory((lw_op)inst->op);
        callee->has_loop |= call ? c->callees[inst->a].has_loop
                                 : inst->op == LW_OP_LOOP || inst->op == LW_OP_RECUR;
    }
    assert(size > 0 && c->sizes[number] == 0); /* CALLs alone make no circle */
    c->sizes[number] = size;
    callee->is_call |=
        func->linkage == LW_INTERNAL && size > SMALL && size * copies > MOST_COPIED;
    callee->is_call |= shared && copies > 0 && long_enough;
    callee->is_call |= func->linkage == LW_INTERNAL && !c->gpu && !c->is_body[number] &&
                       callee->has_loop && size > LONG_LOOPS && takes_memory(func);
}

/* Marks the functions that are called in loops that are vectorised, in the region whose first
 * instruction is `at`. Returns the instruction behind the region. */
static uint32_t
mark_vectorised(census *c, const lw_func *func, uint32_t at, bool is_vectorised)
{
    while (at < func->insts.n) {
        const lw_inst *inst = &func->insts.data[at++];
        switch (inst->op) {
        case LW_OP_LOOP:
            at = mark_vectorised(c, func, at, (inst->flags & LW_LOOP_VECTORIZE) != 0);
            break;
        case LW_OP_IF:
        case LW_OP_BLOCK: at = mark_vectorised(c, func, at, is_vectorised); break;
        case LW_OP_END: return at;
        case LW_OP_CALL: c->callees[inst->a].is_vectorised |= is_vectorised; break;
        default: break;
        }
    }
    return at;
}

static void
count_calls(census *c)
{
    /* callers first: functions are added behind those that they call */
    for (uint32_t f = c->module->funcs.n; f-- > 0;)
        mark_vectorised(c, c->module->funcs.data[f], 1, c->callees[f].is_vectorised);
    for (uint32_t f = 0; f < c->module->funcs.n; f++) {
        const lw_func *func = c->module->funcs.data[f];
        for (uint32_t i = 1; i < func->insts.n; i++) {
            const lw_inst *inst = &func->insts.data[i];
            assert(!lw_op_is_call((lw_op)inst->op) || inst->a < c->module->funcs.n);
            if (inst->op == LW_OP_CALL) {
                c->n_calls[inst->a]++;
                c->is_body[inst->a] |= func->linkage != LW_INTERNAL;
            }
            if (inst->op == LW_OP_RECUR)
                c->callees[inst->a].is_call = true;
        }
    }
}

bool
lw_callees_find(lw_emitter *e)
{
    uint32_t n = e->module->funcs.n;
    census c = {.module = e->module,
                .sizes = lw_alloc_zero(n + 1, sizeof *c.sizes),
                .n_calls = lw_alloc_zero(n + 1, sizeof *c.n_calls),
                .callees = lw_alloc_zero(n + 1, sizeof *c.callees),
                .is_body = lw_alloc_zero(n + 1, sizeof *c.is_body),
                .gpu = e->gpu};
    bool ok = c.sizes && c.n_calls && c.callees && c.is_body;

    if (ok)
        count_calls(&c);
    for (uint32_t f = 0; ok && f < n; f++)
        if (c.sizes[f] == 0)
            size_up(&c, f);
    lw_free(c.sizes);
    lw_free(c.n_calls);
    lw_free(c.is_body);
    e->callees = c.callees;
    return ok;
}
