/* Writes what a loop over prange becomes (parallel.h): the function for a part, and the call in
 * its place.
 *
 * The frame holds what the parts are given, 8 bytes each. A record, one for each part, holds
 * what comes back: what the part returns from the function, where an iteration raises; totals;
 * the values of variables, each behind a word that says whether the part has set it. */
#include "core/ir/operands.h"
#include "core/opt/loops/parallel_internal.h"

#include <assert.h>
#include <stdio.h>

enum { WORD = 8 };

static lw_dtype
type_of(const lw_parallel_loop *p, lw_ref ref)
{
    return (lw_dtype)lw_inst_at(&p->s, ref)->type;
}

/* ---- words ---- */

static lw_ref
word_at(lw_builder *b, lw_ref base, uint32_t number)
{
    return lw_ir_offset(b, base, lw_ir_int(b, LW_DT_i64, (int64_t)WORD * number));
}

static void
store_word(lw_builder *b, lw_ref base, uint32_t number, lw_ref value)
{
    if (lw_ir_type(b, value) == LW_DT_b1)
        value = lw_ir_cast(b, LW_DT_u8, value);
    lw_ir_store(b, word_at(b, base, number), value, WORD, 0);
}

static lw_ref
load_word(lw_builder *b, lw_dtype type, lw_ref base, uint32_t number)
{
    lw_dtype stored = type == LW_DT_b1 ? LW_DT_u8 : type;

    return lw_ir_cast(b, type, lw_ir_load(b, stored, 1, word_at(b, base, number), WORD, 0));
}

/* ---- a part ---- */

typedef struct writer {
    lw_parallel_loop *p;
    lw_builder b;
    lw_ref *to;  /* by value of the function, its copy */
    lw_ref *set; /* by slot that is a LAST: the slot that says whether it is set */
    lw_ref record;
} writer;

static void
make_used(writer *w, lw_ref ref, lw_ref frame)
{
    lw_parallel_loop *p = w->p;
    const lw_inst inst = *lw_inst_at(&p->s, ref);
    lw_builder *b = &w->b;
    lw_ref given = 0;

    if (p->use[ref] == LW_PART_GIVEN)
        given = load_word(b, (lw_dtype)inst.type, frame, p->place[ref]);
    if (inst.op == LW_OP_CONST)
        w->to[ref] = lw_ir_bits(b, (lw_dtype)inst.type, p->s.func->constants.data[inst.a].bits);
    else if (inst.op == LW_OP_SLOT)
        w->to[ref] = lw_ir_slot(b, (lw_dtype)inst.type);
    else
        w->to[ref] = given ? given : lw_ir_copy(b, p->s.func, inst, w->to);
    if (inst.op != LW_OP_SLOT)
        return;
    if (p->use[ref] == LW_PART_TOTAL)
        given = lw_block_identity(b, &p->combines[ref], (lw_dtype)inst.type);
    if (given)
        lw_ir_set(b, w->to[ref], given);
    if (p->use[ref] != LW_PART_LAST)
        return;
    w->set[ref] = lw_ir_slot(b, LW_DT_b1);
    lw_ir_set(b, w->set[ref], lw_ir_int(b, LW_DT_b1, 0));
}

/* What an iteration returns from the function, and that it does. */
static void
copy_return(writer *w, const lw_inst *inst)
{
    lw_ref one = lw_ir_int(&w->b, LW_DT_i32, 1);

    assert(w->p->returns && inst->c == w->p->s.func->results.n);
    for (uint32_t i = 0; i < inst->c; i++)
        store_word(&w->b, w->record, i, w->to[w->p->s.func->lists.data[inst->b + i]]);
    lw_ir_return(&w->b, &one, 1);
}

/* The additions to a float may be made in any order within the part: LLVM then adds in vectors.
 * A product that is added is rounded first, because LLVM has no such sums of FMAs. */
static void
copy_sum(writer *w, uint32_t at, lw_inst inst)
{
    if (inst.op == LW_OP_FMA) {
        lw_ref product = lw_ir_mul(&w->b, w->to[inst.a], w->to[inst.b]);
        w->to[at] = lw_ir_add(&w->b, w->to[inst.c], product);
        w->b.func->insts.data[w->to[at]].flags |= LW_FAST_REASSOC;
        return;
    }
    inst.flags |= LW_FAST_REASSOC;
    w->to[at] = lw_ir_copy(&w->b, w->p->s.func, inst, w->to);
}

/* The update of an element by one atomic operation. */
static void
copy_update(writer *w, const lw_inst *store)
{
    const lw_inst *made = lw_inst_at(&w->p->s, lw_parallel_uncast(w->p, store->b));
    lw_dtype type = (lw_dtype)lw_inst_at(&w->p->s, store->b)->type;
    lw_builder *b = &w->b;
    bool is_first = w->p->atomics[made->a] == LW_ATOMIC_PART;
    lw_ref e = made->op == LW_OP_FMA ? lw_ir_mul(b, w->to[made->a], w->to[made->b])
                                     : w->to[is_first ? made->b : made->a];
    lw_atomic which = made->op == LW_OP_AND   ? LW_ATOMIC_AND
                      : made->op == LW_OP_OR  ? LW_ATOMIC_OR
                      : made->op == LW_OP_XOR ? LW_ATOMIC_XOR
                                              : LW_ATOMIC_ADD;

    if (made->op == LW_OP_SUB)
        e = lw_ir_neg(b, e);
    if (lw_is_integer(type)) /* the low bits of the result follow from those of the operands */
        e = lw_ir_cast(b, type, e);
    lw_ir_atomic(b, which, w->to[store->a], &e, 1);
}

static void
copy_inst(writer *w, uint32_t at)
{
    lw_parallel_loop *p = w->p;
    lw_inst inst = *lw_inst_at(&p->s, at);

    if (p->use[at] == LW_PART_MADE || inst.op == LW_OP_SLOT || inst.op == LW_OP_BIND ||
        inst.op == LW_OP_PARAM || inst.op == LW_OP_CONST || inst.op == LW_OP_VARYING)
        return;
    if (inst.op == LW_OP_LOOP) {
        inst.flags &= ~(uint32_t)(LW_LOOP_PARALLEL | LW_LOOP_ELEMENTS);
    }
    if (inst.op == LW_OP_RETURN) {
        copy_return(w, &inst);
        return;
    }
    if (p->atomics[at] == LW_ATOMIC_PART)
        return;
    if (p->atomics[at] == LW_ATOMIC_STORE) {
        copy_update(w, &inst);
        return;
    }
    if (p->sums[at]) {
        copy_sum(w, at, inst);
        return;
    }
    w->to[at] = lw_ir_copy(&w->b, p->s.func, inst, w->to);
    if (inst.op == LW_OP_SET && p->use[inst.a] == LW_PART_LAST)
        lw_ir_set(&w->b, w->set[inst.a], lw_ir_int(&w->b, LW_DT_b1, 1));
}

static void
copy_iterations(writer *w, lw_ref begin, lw_ref end)
{
    lw_parallel_loop *p = w->p;
    lw_dtype type = type_of(p, p->l.counter);
    lw_builder *b = &w->b;
    lw_for loop = lw_ir_for(b, lw_ir_cast(b, type, begin), lw_ir_cast(b, type, end),
                            lw_ir_int(b, type, 1), p->vectorizes ? LW_LOOP_VECTORIZE : 0);

    w->to[p->l.counter] = loop.slot;
    w->to[p->l.at + 1] = loop.i;
    for (uint32_t i = p->l.first; i < p->l.latch; i++)
        copy_inst(w, i);
    lw_ir_for_end(b, &loop);
}

static void
store_results(writer *w)
{
    lw_parallel_loop *p = w->p;

    for (uint32_t i = 1; i < p->s.func->insts.n; i++) {
        if (p->use[i] == LW_PART_TOTAL)
            store_word(&w->b, w->record, p->place[i], lw_ir_get(&w->b, w->to[i]));
        if (p->use[i] != LW_PART_LAST)
            continue;
        store_word(&w->b, w->record, p->place[i], lw_ir_get(&w->b, w->set[i]));
        lw_ir_if(&w->b, lw_ir_get(&w->b, w->set[i]));
        store_word(&w->b, w->record, p->place[i] + 1, lw_ir_get(&w->b, w->to[i]));
        lw_ir_end(&w->b);
    }
}

/* i32 part(ptr frame, u64 begin, u64 end, ptr record): 1 where an iteration returned. */
lw_status
lw_parallel_part(lw_parallel_loop *p, uint32_t *part, lw_error *err)
{
    uint32_t n = p->s.func->insts.n;
    writer w = {.p = p};
    lw_ref frame, begin, end, zero;
    char name[32];

    w.to = lw_arena_take(&p->s.arena, (n + 1) * sizeof *w.to);
    w.set = lw_arena_take(&p->s.arena, (n + 1) * sizeof *w.set);
    if (w.to == NULL || w.set == NULL)
        return lw_fail_memory(err);
    snprintf(name, sizeof name, "lw_part_%u", p->module->funcs.n);
    lw_builder_start(&w.b, p->module, name);
    if (w.b.func != NULL) {
        w.b.func->linkage = LW_EXPORTED;
        w.b.func->has_inlined = true; /* its loops are the user's, which Ctrl-C can end */
    }
    lw_ir_result_add(&w.b, LW_DT_i32);
    frame = lw_ir_param_add(&w.b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "frame");
    begin = lw_ir_param_add(&w.b, LW_DT_u64, 0, "begin");
    end = lw_ir_param_add(&w.b, LW_DT_u64, 0, "end");
    w.record = lw_ir_param_add(&w.b, LW_DT_ptr, LW_PARAM_NOALIAS, "record");
    for (uint32_t i = 1; i < n; i++)
        if (p->use[i] != LW_PART_OWN)
            make_used(&w, i, frame);
    copy_iterations(&w, begin, end);
    store_results(&w);
    zero = lw_ir_int(&w.b, LW_DT_i32, 0);
    lw_ir_return(&w.b, &zero, 1);
    *part = w.b.func_number;
    return lw_ir_finish(&w.b, err);
}

/* ---- the call ---- */

/* Iterations of a part, at least: of long ones one, of short ones so many that a part takes
 * longer than the hand-over of it, some 50 ns. */
enum { LIGHT_GRAIN = 512 };

static lw_ref
call_parts(lw_parallel_loop *p, lw_builder *b, lw_ref n)
{
    static const lw_dtype params[] = {LW_DT_u64, LW_DT_i64};
    lw_ref args[2] = {n, lw_ir_int(b, LW_DT_i64, p->heavy ? 1 : LIGHT_GRAIN)};
    uint32_t number = lw_ir_extern_add(p->module, "lw_parallel_parts", LW_DT_i64, params, 2);

    return lw_ir_host_call(b, number, args, 2);
}

static lw_ref
call_run(lw_parallel_loop *p, lw_builder *b, uint32_t part, const lw_ref given[4])
{
    static const lw_dtype params[] = {LW_DT_ptr, LW_DT_ptr, LW_DT_u64, LW_DT_i64,
                                      LW_DT_ptr, LW_DT_i64, LW_DT_i32};
    lw_ref args[7] = {
        lw_ir_entry(b, part),
        given[0],
        given[1],
        given[2],
        given[3],
        lw_ir_int(b, LW_DT_i64, (int64_t)WORD * p->n_record),
        lw_ir_int(b, LW_DT_i32,
                  (p->prints ? 1 : 0) | (p->heavy ? 2 : 0) | (p->elements ? 4 : 0))};
    uint32_t number = lw_ir_extern_add(p->module, "lw_parallel_run", LW_DT_i64, params, 7);

    return lw_ir_host_call(b, number, args, 7);
}

static lw_ref
record_of(lw_parallel_loop *p, lw_builder *b, lw_ref records, lw_ref number)
{
    lw_ref size = lw_ir_int(b, LW_DT_i64, (int64_t)WORD * p->n_record);

    return lw_ir_offset(b, records, lw_ir_mul(b, number, size));
}

/* Returns what the first part has returned of which an iteration did. */
static void
pass_return(lw_parallel_loop *p, lw_builder *b, lw_ref records, lw_ref returned)
{
    uint32_t n = p->s.func->results.n;
    lw_ref *values = lw_arena_take(&p->s.arena, (n + 1) * sizeof *values), record;

    if (values == NULL) {
        p->module->failed = true;
        return;
    }
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, returned, lw_ir_int(b, LW_DT_i64, 0)));
    record = record_of(p, b, records, returned);
    for (uint32_t i = 0; i < n; i++)
        values[i] = load_word(b, p->s.func->results.data[i], record, i);
    lw_ir_return(b, values, n);
    lw_ir_end(b);
}

static void
combine(lw_parallel_loop *p, lw_builder *b, lw_ref record, const lw_ref *to)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++) {
        if (p->use[i] == LW_PART_TOTAL)
            lw_ir_set(b, to[i],
                      lw_block_combine(b, &p->combines[i], lw_ir_get(b, to[i]),
                                       load_word(b, type_of(p, i), record, p->place[i])));
        if (p->use[i] != LW_PART_LAST)
            continue;
        lw_ir_if(b, load_word(b, LW_DT_b1, record, p->place[i]));
        lw_ir_set(b, to[i], load_word(b, type_of(p, i), record, p->place[i] + 1));
        lw_ir_end(b);
    }
}

/* What the parts are given, of which slots and memory may be declared in the loop itself. */
static void
fill_frame(lw_parallel_loop *p, lw_builder *b, lw_ref frame, lw_ref *to)
{
    for (uint32_t i = 1; i < p->s.func->insts.n; i++) {
        if (p->use[i] != LW_PART_GIVEN)
            continue;
        store_word(b, frame, p->place[i],
                   lw_inst_at(&p->s, i)->op == LW_OP_SLOT ? lw_ir_get(b, to[i]) : to[i]);
    }
}

/* Slots and memory that the loop declares, and parameters and constants that are first named
 * there, are usable in front of it. */
static void
copy_early(lw_parallel_loop *p, lw_builder *b, lw_ref *to)
{
    for (uint32_t i = p->l.at; i < p->l.end; i++) {
        const lw_inst inst = *lw_inst_at(&p->s, i);
        if (lw_ops[inst.op].class == LW_CLASS_DECL || inst.op == LW_OP_CONST ||
            inst.op == LW_OP_VARYING || inst.op == LW_OP_PARAM)
            to[i] = lw_ir_copy(b, p->s.func, inst, to);
    }
}

void
lw_parallel_call(lw_parallel_loop *p, lw_builder *b, uint32_t part, lw_ref *to)
{
    lw_ref frame, records, n, parts, returned;
    lw_for loop;

    b->loc = lw_inst_at(&p->s, p->l.at)->loc;
    copy_early(p, b, to);
    frame = lw_ir_local(b, WORD * (p->n_frame + 1), WORD);
    records = lw_ir_local(b, WORD * (p->n_record * LW_PARALLEL_PARTS + 1), WORD);
    fill_frame(p, b, frame, to);
    n = lw_ir_cast(b, LW_DT_u64, to[p->l.limit]);
    parts = call_parts(p, b, n);
    returned = call_run(p, b, part, (const lw_ref[4]){frame, n, parts, records});
    if (p->returns)
        pass_return(p, b, records, returned);
    if (p->n_record > (p->returns ? p->s.func->results.n : 0)) {
        loop = lw_ir_for(b, lw_ir_int(b, LW_DT_i64, 0), parts, lw_ir_int(b, LW_DT_i64, 1), 0);
        combine(p, b, record_of(p, b, records, loop.i), to);
        lw_ir_for_end(b, &loop);
    }
    b->loc = 0;
}
