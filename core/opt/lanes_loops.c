/* A loop is rewritten if its body consists of a head, a call that fits (lw_lanes_fit), and a
 * rest, such that the heads of several iterations can run before the rest of the first one:
 *
 * - the head only computes and loads, without loops and jumps;
 * - the variables that it reads are set by it before, or not in the loop at all;
 * - the rest stores nothing that the heads of other iterations load, which may have to be
 *   found out when the loop starts (jam_apart.c);
 * - the rest does not end the loop: what is called is also computed for the iterations that
 *   follow, and might not end for these.
 *
 * Heads run twice, since their values are not kept, apart from the arguments. If fewer
 * iterations are left than there are lanes, the last one fills the lanes that are left over. */
#include "core/opt/lanes_loops.h"

#include "core/base/memory.h"
#include "core/ir/operands.h"
#include "core/opt/counted.h"
#include "core/opt/inline.h"
#include "core/opt/jam_internal.h"
#include "core/opt/outline.h"

#include <assert.h>
#include <string.h>

enum { MOST_ARGS = 24, MOST_TRIES = 4, MOST_DEPTH = 8 };

/* nest: what a comparison in front of the loop has to find apart (jam_apart.c). */
typedef struct strip {
    lw_counted_loop loop;
    uint32_t call;
    lw_lanes_choice choice;
    lw_jam_nest nest;
} strip;

typedef struct maker {
    lw_jammer j; /* builder, function, and what is known of its values */
    const lw_lanes_host *host;
    lw_ref *heads; /* by old number: the new one, in the heads that run first */
    uint32_t n_strips;
    lw_status status;
    lw_error *err;
} maker;

static const lw_inst *
inst_at(const maker *m, uint32_t i)
{
    return &m->j.old.insts.data[i];
}

/* ---- functions ---- */

/* Whether the function repeats something, by itself or in a function that it calls. */
static bool
repeats(const lw_module *module, uint32_t number, int depth)
{
    const lw_func *func = module->funcs.data[number];

    for (uint32_t i = 1; i < func->insts.n && depth > 0; i++)
        if (func->insts.data[i].op == LW_OP_CALL &&
            repeats(module, func->insts.data[i].a, depth - 1))
            return true;
    return lw_func_has_op(func, LW_OP_LOOP);
}

static bool
fits(const maker *m, uint32_t number, lw_lanes_choice *choice)
{
    const lw_func *func = m->j.module->funcs.data[number];

    return func->linkage == LW_INTERNAL && func->results.n > 0 && func->params.n <= MOST_ARGS &&
           func->results.n <= MOST_ARGS && repeats(m->j.module, number, MOST_DEPTH) &&
           lw_jam_is_pure(m->j.module, number, UINT32_MAX) &&
           lw_lanes_fit(m->j.module, number, m->host, choice);
}

/* ---- heads ---- */

/* Whether the head sets the variable in each iteration before anything else uses it. */
static bool
is_set_first(const maker *m, const strip *s, lw_ref slot)
{
    uint32_t end = 0; /* of the outermost region around the instruction */

    for (uint32_t i = s->loop.first; i < s->call; i++) {
        const lw_inst *inst = inst_at(m, i);
        if (i >= end && lw_ir_opens_region((lw_op)inst->op))
            end = m->j.regions.ends[i];
        if ((inst->op == LW_OP_GET || inst->op == LW_OP_SET) && inst->a == slot)
            return inst->op == LW_OP_SET && i >= end;
    }
    return false;
}

static bool
is_head(const maker *m, const strip *s)
{
    for (uint32_t i = s->loop.first; i < s->call; i++) {
        const lw_inst *inst = inst_at(m, i);
        if (!lw_jam_may_be_in_head(&m->j, inst, UINT32_MAX) ||
            (inst->lanes > 1 && lw_ops[inst->op].class == LW_CLASS_PURE))
            return false;
        if ((inst->op == LW_OP_GET || inst->op == LW_OP_SET) && inst->a != s->loop.slot &&
            lw_ir_is_set(&m->j.old, s->loop.first, s->loop.latch, inst->a) &&
            !is_set_first(m, s, inst->a))
            return false;
    }
    return true;
}

/* ---- the rest ---- */

/* Whether the rest writes memory by nothing but stores. */
static bool
only_stores(const maker *m, const strip *s)
{
    for (uint32_t i = s->call; i < s->loop.latch; i++) {
        const lw_inst *inst = inst_at(m, i);
        if (lw_ops[inst->op].class == LW_CLASS_WRITE && inst->op != LW_OP_SET &&
            inst->op != LW_OP_STORE && inst->op != LW_OP_PREFETCH &&
            !(inst->op == LW_OP_CALL && lw_jam_is_pure(m->j.module, inst->a, UINT32_MAX)))
            return false;
    }
    return true;
}

/* Whether loads of the head may run before stores of the rest of other iterations, if the
 * comparison that is noted in the nest finds their memory apart. */
static bool
loads_are_apart(maker *m, strip *s)
{
    bool loads = false;

    s->nest = (lw_jam_nest){.outer = s->loop, .split = s->call};
    for (uint32_t i = s->loop.first; i < s->call; i++)
        loads |= inst_at(m, i)->op == LW_OP_LOAD;
    if (!loads || (inst_at(m, s->loop.at)->flags & LW_LOOP_VECTORIZE))
        return true; /* the latter says that iterations are independent */
    if (!only_stores(m, s))
        return false;
    lw_jam_kinds(&m->j, &s->loop);
    lw_jam_places(&m->j, &s->nest);
    for (uint32_t i = s->loop.first; i < s->call; i++)
        if (m->j.place[i] != 0)
            s->nest.places[m->j.place[i] - 1].needed = true;
    return lw_jam_pairs(&m->j, &s->nest);
}

static bool
is_guarded(const strip *s)
{
    bool guarded = s->nest.n_pairs > 0;

    for (uint32_t p = 0; p < s->nest.n_places; p++)
        guarded |= s->nest.places[p].needed;
    return guarded;
}

/* Whether no jump of the rest leaves the loop. */
static bool
stays(const maker *m, const strip *s)
{
    for (uint32_t i = s->call; i < s->loop.latch; i++) {
        const lw_inst *inst = inst_at(m, i);
        uint32_t from = inst->op == LW_OP_CONTINUE ? s->loop.at /* it may be the loop's own */
                                                   : s->loop.first;
        if (inst->op == LW_OP_RETURN || lw_ir_jumps_out(&m->j.regions, &m->j.old, from, i))
            return false;
    }
    return true;
}

/* ---- which loops ---- */

static bool
is_fixed(const maker *m, const strip *s, lw_ref value)
{
    return value < s->loop.at || inst_at(m, value)->op == LW_OP_CONST ||
           inst_at(m, value)->op == LW_OP_PARAM;
}

static bool
has_varying_argument(const maker *m, const strip *s)
{
    const lw_inst *call = inst_at(m, s->call);

    for (uint32_t k = 0; k < call->c; k++)
        if (!is_fixed(m, s, m->j.old.lists.data[call->b + k]))
            return true;
    return false;
}

static bool
strip_at(maker *m, uint32_t at, strip *s)
{
    if (inst_at(m, at)->op != LW_OP_LOOP ||
        !lw_counted_loop_at(&m->j.old, &m->j.regions, at, &s->loop))
        return false;
    for (uint32_t i = s->loop.first; i < s->loop.latch; i++) {
        if (inst_at(m, i)->op == LW_OP_CALL && fits(m, inst_at(m, i)->a, &s->choice)) {
            s->call = i;
            return has_varying_argument(m, s) && is_head(m, s) && stays(m, s) &&
                   loads_are_apart(m, s);
        }
        if (lw_ir_opens_region((lw_op)inst_at(m, i)->op))
            i = m->j.regions.ends[i];
    }
    return false;
}

/* ---- writing ---- */

/* bools are bytes in memory */
static lw_dtype
stored(lw_dtype type)
{
    return type == LW_DT_b1 ? LW_DT_u8 : type;
}

static lw_ref
place_at(maker *m, lw_ref memory, lw_dtype type, lw_ref k)
{
    lw_builder *b = &m->j.b;
    lw_ref size = lw_ir_int(b, LW_DT_i64, lw_dtypes[stored(type)].size_bytes);

    return lw_ir_offset(b, memory, lw_ir_mul(b, k, size));
}

static lw_ref
memory_for(maker *m, const strip *s, lw_dtype type)
{
    return lw_ir_local(&m->j.b, s->choice.lanes * lw_dtypes[stored(type)].size_bytes, 64);
}

static void
copy(maker *m, uint32_t at, lw_ref *become)
{
    const lw_inst *inst = inst_at(m, at);

    if (inst->op == LW_OP_SLOT && become[at] != 0) /* it was copied in front of the loop */
        return;
    become[at] = lw_ir_copy(&m->j.b, &m->j.old, *inst, become);
}

/* Instructions of an iteration; i: its counter. */
static void
copy_body(maker *m, const strip *s, lw_ref *become, lw_ref i, uint32_t from, uint32_t to)
{
    become[s->loop.at + 1] = i;
    for (uint32_t k = from; k < to; k++)
        if (inst_at(m, k)->op == LW_OP_GET && inst_at(m, k)->a == s->loop.slot)
            become[k] = i;
        else
            copy(m, k, become);
}

static lw_for
for_lanes(maker *m, lw_ref begin, lw_ref end)
{
    return lw_ir_for(&m->j.b, begin, end, lw_ir_int(&m->j.b, LW_DT_i64, 1), LW_LOOP_NO_UNROLL);
}

static lw_ref
counter_of_lane(maker *m, lw_ref first, const lw_for *loop)
{
    return lw_ir_add(&m->j.b, first, lw_ir_cast(&m->j.b, lw_ir_type(&m->j.b, first), loop->i));
}

/* Runs the heads of `count` iterations, and fills the lanes that are left over. */
static void
write_heads(maker *m, const strip *s, lw_ref first, lw_ref count, const lw_ref *memory)
{
    lw_builder *b = &m->j.b;
    const lw_inst *call = inst_at(m, s->call);
    const uint32_t *args = m->j.old.lists.data + call->b;
    lw_ref zero = lw_ir_int(b, LW_DT_i64, 0), one = lw_ir_int(b, LW_DT_i64, 1), last;
    lw_for loop;

    memcpy(m->heads, m->j.to, m->j.old.insts.n * sizeof *m->heads);
    loop = for_lanes(m, zero, count);
    copy_body(m, s, m->heads, counter_of_lane(m, first, &loop), s->loop.first, s->call);
    for (uint32_t k = 0; k < call->c; k++)
        if (memory[k] != 0) {
            lw_dtype type = (lw_dtype)inst_at(m, args[k])->type;
            lw_ir_store(b, place_at(m, memory[k], type, loop.i),
                        lw_ir_cast(b, stored(type), m->heads[args[k]]), 0, 0);
        }
    lw_ir_for_end(b, &loop);
    last = lw_ir_sub(b, count, one);
    loop = for_lanes(m, count, lw_ir_int(b, LW_DT_i64, s->choice.lanes));
    for (uint32_t k = 0; k < call->c; k++)
        if (memory[k] != 0) {
            lw_dtype type = (lw_dtype)inst_at(m, args[k])->type;
            lw_ref value =
                lw_ir_load(b, stored(type), 1, place_at(m, memory[k], type, last), 0, 0);
            lw_ir_store(b, place_at(m, memory[k], type, loop.i), value, 0, 0);
        }
    lw_ir_for_end(b, &loop);
}

/* What is called, for all lanes. results: memory for each result. */
static void
write_lanes(maker *m, const strip *s, const lw_ref *memory, const lw_ref *results)
{
    lw_builder *b = &m->j.b;
    const lw_inst *call = inst_at(m, s->call);
    const lw_func *callee = m->j.module->funcs.data[call->a];
    lw_ref args[MOST_ARGS] = {0}, made[MOST_ARGS] = {0};

    for (uint32_t k = 0; k < call->c; k++) {
        lw_ref value = m->j.old.lists.data[call->b + k];
        lw_dtype type = (lw_dtype)inst_at(m, value)->type;
        args[k] =
            memory[k] == 0
                ? m->heads[value]
                : lw_ir_cast(b, type,
                             lw_ir_load(b, stored(type), s->choice.lanes, memory[k], 64, 0));
    }
    m->status = lw_lanes_inline(b, call->a, &s->choice, args, made, m->err);
    if (m->status != LW_OK)
        return;
    for (uint32_t k = 0; k < callee->results.n; k++)
        lw_ir_store(b, results[k], lw_ir_cast(b, stored(callee->results.data[k]), made[k]), 64,
                    0);
}

/* The whole iterations, with the results of the call. */
static void
write_rests(maker *m, const strip *s, lw_ref first, lw_ref count, const lw_ref *results)
{
    lw_builder *b = &m->j.b;
    const lw_func *callee = m->j.module->funcs.data[inst_at(m, s->call)->a];
    lw_ref loaded[MOST_ARGS] = {0}, i;
    lw_for loop = for_lanes(m, lw_ir_int(b, LW_DT_i64, 0), count);

    i = counter_of_lane(m, first, &loop);
    copy_body(m, s, m->j.to, i, s->loop.first, s->call);
    for (uint32_t k = 0; k < callee->results.n; k++) {
        lw_dtype type = callee->results.data[k];
        loaded[k] = lw_ir_cast(
            b, type,
            lw_ir_load(b, stored(type), 1, place_at(m, results[k], type, loop.i), 0, 0));
    }
    m->j.to[s->call] = callee->results.n == 1 ? loaded[0] : 0;
    for (uint32_t k = s->call + 1; k < s->loop.latch; k++)
        if (inst_at(m, k)->op == LW_OP_RESULT && inst_at(m, k)->a == s->call)
            m->j.to[k] = loaded[inst_at(m, k)->b];
        else
            copy_body(m, s, m->j.to, i, k, k + 1);
    lw_ir_for_end(b, &loop);
}

static void
make_memory(maker *m, const strip *s, lw_ref *memory, lw_ref *results)
{
    const lw_inst *call = inst_at(m, s->call);
    const lw_func *callee = m->j.module->funcs.data[call->a];

    for (uint32_t k = 0; k < call->c; k++) {
        lw_ref value = m->j.old.lists.data[call->b + k];
        memory[k] =
            is_fixed(m, s, value) ? 0 : memory_for(m, s, (lw_dtype)inst_at(m, value)->type);
    }
    for (uint32_t k = 0; k < callee->results.n; k++)
        results[k] = memory_for(m, s, callee->results.data[k]);
}

static void
write_strip(maker *m, const strip *s)
{
    lw_builder *b = &m->j.b;
    lw_ref memory[MOST_ARGS] = {0}, results[MOST_ARGS] = {0}, first, left, count, lanes;

    make_memory(m, s, memory, results);
    lw_ir_loop(b, LW_LOOP_NO_VECTORIZE | LW_LOOP_NO_UNROLL);
    for (uint32_t i = s->loop.at + 1; i < s->loop.first; i++)
        copy(m, i, m->j.to);
    first = m->j.to[s->loop.at + 1];
    left = lw_ir_cast(b, LW_DT_u64, lw_ir_sub(b, m->j.to[s->loop.limit], first));
    lanes = lw_ir_int(b, LW_DT_u64, s->choice.lanes);
    count = lw_ir_smaller(b, left, lanes);
    count = lw_ir_cast(b, LW_DT_i64, count);
    write_heads(m, s, first, count, memory);
    write_lanes(m, s, memory, results);
    write_rests(m, s, first, count, results);
    lw_ir_set(b, m->j.to[s->loop.slot],
              lw_ir_add(b, first, lw_ir_cast(b, lw_ir_type(b, first), count)));
    lw_ir_latch(b);
    lw_ir_end(b);
    m->n_strips++;
}

/* If the comparison fails, the loop runs as it was; it has nothing left to do otherwise. */
static void
write_loop(maker *m, const strip *s)
{
    bool guarded = is_guarded(s);

    m->j.b.loc = inst_at(m, s->loop.at)->loc;
    for (uint32_t i = s->loop.first; i < s->loop.end; i++)
        if (inst_at(m, i)->op == LW_OP_SLOT)
            copy(m, i, m->j.to);
    if (guarded)
        lw_ir_if(&m->j.b, lw_jam_check(&m->j, &s->nest));
    write_strip(m, s);
    if (guarded)
        lw_ir_end(&m->j.b);
    for (uint32_t i = s->loop.at; i <= s->loop.end; i++)
        if (guarded || (i >= s->loop.latch && inst_at(m, i)->op == LW_OP_CONST))
            copy(m, i, m->j.to); /* constants may be used behind the loop */
}

static void
write_function(maker *m)
{
    strip s;

    for (uint32_t i = 1; i < m->j.old.insts.n && m->status == LW_OK; i++)
        if (strip_at(m, i, &s)) {
            write_loop(m, &s);
            i = s.loop.end;
        } else {
            copy(m, i, m->j.to);
        }
}

static bool
has_strip(maker *m)
{
    strip s;

    for (uint32_t i = 1; i < m->j.old.insts.n; i++)
        if (strip_at(m, i, &s))
            return true;
    return false;
}

/* ---- one function ---- */

static lw_status
rewrite(lw_module *module, uint32_t func, const lw_lanes_host *host, uint32_t *n_strips,
        lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    maker m = {.j = {.b = {.module = module, .func = f, .func_number = func},
                     .module = module,
                     .func = func,
                     .old = *f},
               .host = host,
               .err = err};
    size_t n = f->insts.n;

    m.j.kinds = lw_alloc_zero(n, sizeof *m.j.kinds);
    m.j.place = lw_alloc_zero(n, sizeof *m.j.place);
    m.j.to = lw_alloc_zero(n, 3 * sizeof *m.j.to);
    if (m.j.kinds == NULL || m.j.place == NULL || m.j.to == NULL ||
        !lw_ir_regions_init(&m.j.regions, f)) {
        m.status = lw_fail_memory(err);
        goto fail;
    }
    m.heads = m.j.to + n;
    m.j.corner = m.heads + n;
    if (has_strip(&m)) {
        if (lw_func_begin_anew(&m.j.b, f->insts.n))
            write_function(&m);
        else
            module->failed = true;
        *n_strips = m.n_strips;
        f->has_inlined |= m.n_strips > 0;
    }
    if (m.status == LW_OK && module->failed)
        m.status = lw_fail_memory(err);
fail:
    lw_ir_regions_reset(&m.j.regions);
    lw_free(m.j.kinds);
    lw_free(m.j.place);
    lw_free(m.j.to);
    return m.status;
}

/* Whether a call in a counted loop is of a function that has, outside of all regions, a loop or
 * a call of one that repeats something. */
static bool
is_call_to_inline(const lw_module *module, const lw_func *func, uint32_t at)
{
    const lw_inst *inst = &func->insts.data[at];
    const lw_func *callee;
    uint32_t depth = 0;

    if (inst->op != LW_OP_CALL)
        return false;
    callee = module->funcs.data[inst->a];
    if (!lw_opt_can_inline(callee) || lw_jam_is_pure(module, inst->a, UINT32_MAX))
        return false;
    for (uint32_t i = 1; i < callee->insts.n; i++) {
        lw_op op = (lw_op)callee->insts.data[i].op;
        if (depth == 0 &&
            (op == LW_OP_LOOP ||
             (op == LW_OP_CALL && repeats(module, callee->insts.data[i].a, MOST_DEPTH))))
            return true;
        depth += lw_ir_opens_region(op);
        depth -= op == LW_OP_END;
    }
    return false;
}

static bool
has_call_to_inline(const lw_module *module, const lw_func *func)
{
    uint32_t loops = 0;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        loops += func->insts.data[i].op == LW_OP_LOOP;
        if (loops > 0 && is_call_to_inline(module, func, i))
            return true;
    }
    return false;
}

/* The next loop directly in the body of a counted one, from instruction *at on; 0: there is
 * none. */
static uint32_t
next_inner(const lw_func *func, const lw_ir_regions *regions, uint32_t at)
{
    uint32_t around[MOST_DEPTH] = {0}, ends[MOST_DEPTH], depth = 0;
    lw_counted_loop loop;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        while (depth > 0 && i >= ends[depth - 1])
            depth--;
        if (!lw_ir_opens_region(op))
            continue;
        if (op == LW_OP_LOOP && i >= at && depth > 0 &&
            lw_counted_loop_at(func, regions, around[depth - 1], &loop) && i >= loop.first &&
            i < loop.latch)
            return i;
        if (depth == MOST_DEPTH)
            return 0;
        around[depth] = i;
        ends[depth++] = regions->ends[i];
    }
    return 0;
}

/* Makes functions of inner loops that fit. A function that does not is taken off again. */
static lw_status
outline_loops(lw_module *module, uint32_t func, const lw_lanes_host *host, lw_error *err)
{
    lw_func *f = module->funcs.data[func];
    uint32_t at = 1;

    for (int tries = 0; tries < MOST_TRIES && at != 0; tries++) {
        lw_func old = *f;
        lw_ir_regions regions;
        lw_lanes_choice choice;
        uint32_t n = module->funcs.n;
        lw_status status;
        bool done;

        if (!lw_ir_regions_init(&regions, f))
            return lw_fail_memory(err);
        at = next_inner(f, &regions, at);
        lw_ir_regions_reset(&regions);
        if (at == 0)
            break;
        status = lw_opt_outline(module, func, at, &done, err);
        if (status != LW_OK)
            return status;
        if (done && !lw_lanes_fit(module, n, host, &choice)) {
            *f = old;
            module->funcs.n = n;
            done = false;
        }
        at += !done;
    }
    return LW_OK;
}

static lw_status
one_function(lw_module *module, uint32_t func, const lw_lanes_host *host, lw_error *err)
{
    lw_func *f = module->funcs.data[func], old = *f;
    uint32_t n = module->funcs.n, n_strips = 0;
    lw_status status;

    if (has_call_to_inline(module, f))
        LW_TRY(lw_opt_inline(module, func, is_call_to_inline, err));
    LW_TRY(outline_loops(module, func, host, err));
    LW_TRY(rewrite(module, func, host, &n_strips, err));
fail:
    if (n_strips == 0) {
        *f = old;
        module->funcs.n = n;
    }
    return status;
}

/* ---- a module ---- */

bool
lw_lanes_loops_may_apply(const lw_module *module)
{
    uint32_t loops = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++)
        for (uint32_t i = 1; i < module->funcs.data[f]->insts.n; i++)
            loops += module->funcs.data[f]->insts.data[i].op == LW_OP_LOOP;
    return loops > 1;
}

lw_status
lw_opt_lanes_loops(lw_module *module, const lw_lanes_host *host, lw_error *err)
{
    uint32_t n_funcs = module->funcs.n;
    lw_status status = LW_OK;

    for (uint32_t f = 0; f < n_funcs; f++)
        if (lw_func_has_op(module->funcs.data[f], LW_OP_LOOP) &&
            !lw_jam_is_pure(module, f, UINT32_MAX))
            LW_TRY(one_function(module, f, host, err));
fail:
    return status;
}
