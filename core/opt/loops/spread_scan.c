/* Writes loops whose iterations read what earlier iterations have added (LW_CARRY_SCAN): a
 * first walk computes what each iteration adds, lw_block_scan combines it, a second walk
 * runs the iteration with the value that results. Loads of the first walk are kept for the
 * second. */
#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/affine.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/copier.h"
#include "core/block/scan.h"
#include "core/tables/intrinsics.h"

#include <assert.h>
#include <float.h>
#include <math.h>

enum {
    TIMES = 4,  /* iterations that a thread takes at once if they are short; LW_SCAN_MOST_TIMES
                 * where one variable is scanned and all values are narrow */
    LINE = 128, /* bytes of a cache line */
};

typedef lw_copier copier;

/* The variable of scan number i. */
static const lw_carried *
scanned(const lw_spread_loop *l, uint32_t i)
{
    const lw_carried *at = l->carried;

    assert(i < l->n_carried);
    for (uint32_t n = 0; at->how != LW_CARRY_SCAN || n++ < i;)
        at++;
    return at;
}

static uint32_t
n_scans(const lw_spread_loop *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n_carried; i++)
        n += l->carried[i].how == LW_CARRY_SCAN;
    return n;
}

/* Copies the update that this SET makes, applied to the variable's present value. */
static void
copy_update(copier *c, const lw_spread_loop *l, uint32_t set)
{
    lw_builder *b = &c->b;
    const lw_inst old = *lw_inst_at(c->s, set);
    lw_ref slot = c->to[old.a];
    lw_carried_step u;

    if (lw_carried_find(l, old.a)->affine) {
        lw_affine_copy(c, l, set, lw_carried_find(l, old.a)->factor);
        return;
    }
    if (!lw_carried_update(c->s, l, set, &u)) {
        b->module->failed = true;
        return;
    }
    if (u.op == LW_OP_LT || u.op == LW_OP_GT) {
        const lw_carried *one = lw_carried_find(l, old.a);
        lw_ir_set(b, slot, lw_block_combine(b, &one->combine, lw_ir_get(b, slot), c->to[u.e]));
        return;
    }
    c->to[u.get] = lw_ir_get(b, slot);
    lw_copier_inst(c, old.b);
    lw_copier_inst(c, set);
}

static bool
is_scanned_set(const copier *c, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(c->s, at);
    const lw_carried *one = inst->op == LW_OP_SET ? lw_carried_find(l, inst->a) : NULL;

    return one != NULL && one->how == LW_CARRY_SCAN;
}

/* Copies an instruction in the first walk, if it does not wait or is an update. Returns the
 * last instruction dealt with. */
static uint32_t
copy_early(copier *c, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(c->s, at);

    if (is_scanned_set(c, l, at)) {
        copy_update(c, l, at);
    } else if (inst->op == LW_OP_IF && c->s->waits[at]) {
        for (uint32_t i = at; i < c->s->regions.ends[at]; i++)
            if (is_scanned_set(c, l, i))
                copy_update(c, l, i);
        return c->s->regions.ends[at];
    } else if (inst->op != LW_OP_STORE && (!c->s->waits[at] || inst->op == LW_OP_SLOT)) {
        lw_copier_inst(c, at);
    }
    return at;
}

static void
keep(copier *c, lw_ref *kept, lw_ref value, bool branches)
{
    if (!branches) {
        *kept = value;
        return;
    }
    *kept = lw_ir_slot(&c->b, lw_ir_type(&c->b, value));
    lw_ir_set(&c->b, *kept, value);
}

static lw_ref
kept_value(copier *c, lw_ref kept)
{
    bool is_slot = c->b.func != NULL && c->b.func->insts.data[kept].op == LW_OP_SLOT;

    return is_slot ? lw_ir_get(&c->b, kept) : kept;
}

void
lw_copier_iteration(copier *c, const lw_spread_loop *l, bool early, lw_ref *kept)
{
    uint32_t loops = 0, depth = 0;
    bool counts[64] = {false};

    for (uint32_t i = l->at + 1; i < l->at + 4; i++)
        lw_copier_inst(c, i);
    lw_copier_counts(c, l, c->to[l->at + 1]);
    if (l->continues)
        lw_ir_block(&c->b);
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst inst = *lw_inst_at(c->s, i);
        bool keeps =
            kept != NULL && inst.op == LW_OP_LOAD && inst.lanes <= 1 && !c->s->waits[i];
        if (early && inst.op == LW_OP_IF && c->s->waits[i]) {
            i = copy_early(c, l, i);
            continue;
        }
        if (inst.op == LW_OP_IF || inst.op == LW_OP_BLOCK || inst.op == LW_OP_LOOP) {
            counts[depth] = inst.op != LW_OP_IF;
            loops += counts[depth++];
        }
        if (inst.op == LW_OP_END)
            loops -= counts[--depth];
        if (inst.op == LW_OP_CONTINUE && inst.a == loops)
            lw_ir_break(&c->b, inst.a);
        else if (keeps && !early && kept[i - l->first])
            c->to[i] = kept_value(c, kept[i - l->first]);
        else if (early)
            copy_early(c, l, i);
        else
            lw_copier_inst(c, i);
        if (!early)
            lw_copier_note_pick(c, l, i);
        if (keeps && early)
            keep(c, &kept[i - l->first], c->to[i], depth > 0);
    }
    if (l->continues)
        lw_ir_end(&c->b);
}

static const lw_associative product = {.op = LW_OP_MUL};

/* What an iteration that does nothing adds. */
static lw_scan_term
nothing(copier *c, const lw_carried *one)
{
    lw_dtype type = lw_copier_type(c, one->slot);

    return (lw_scan_term){.value = lw_block_identity(&c->b, &one->combine, type),
                          .factor = one->affine ? lw_block_identity(&c->b, &product, type) : 0};
}

static lw_scan_term
brought(copier *c, const lw_carried *one, lw_ref valid)
{
    lw_builder *b = &c->b;
    lw_scan_term term = {.value = lw_ir_get(b, c->to[one->slot])}, none;

    if (one->affine)
        term.factor = lw_ir_get(b, one->factor);
    if (!valid)
        return term;
    none = nothing(c, one);
    term.value = lw_ir_select(b, valid, term.value, none.value);
    if (one->affine)
        term.factor = lw_ir_select(b, valid, term.factor, none.factor);
    return term;
}

static void
start_terms(copier *c, const lw_spread_loop *l)
{
    for (uint32_t i = 0; i < n_scans(l); i++) {
        const lw_carried *one = scanned(l, i);
        lw_scan_term none = nothing(c, one);
        lw_ir_set(&c->b, c->to[one->slot], none.value);
        if (one->affine)
            lw_ir_set(&c->b, one->factor, none.factor);
    }
}

/* The first walk of the counter's iteration, which computes what it adds. valid: 0, or whether
 * there is such an iteration. */
static void
walk_early(copier *c, const lw_spread_loop *l, lw_ref valid, lw_ref *kept, lw_scan *scans)
{
    lw_builder *b = &c->b;
    uint32_t n = 0;

    start_terms(c, l);
    if (valid && !kept)
        lw_ir_if(b, valid);
    lw_copier_iteration(c, l, true, kept);
    if (valid && !kept)
        lw_ir_end(b);
    for (uint32_t i = 0; i < l->n_carried; i++)
        if (l->carried[i].how == LW_CARRY_SCAN)
            scans[n++] = (lw_scan){.one = &l->carried[i].combine,
                                   .type = lw_copier_type(c, l->carried[i].slot),
                                   .term = brought(c, &l->carried[i], kept ? valid : 0)};
}

/* The second walk, with the values that the variables have before it. */
static void
walk_again(copier *c, const lw_spread_loop *l, lw_ref valid, lw_ref *kept, const lw_scan *scans)
{
    lw_builder *b = &c->b;

    for (uint32_t i = 0; i < n_scans(l); i++)
        lw_ir_set(b, c->to[scanned(l, i)->slot], scans[i].before);
    if (valid)
        lw_ir_if(b, valid);
    lw_copier_iteration(c, l, false, kept);
    if (valid)
        lw_ir_end(b);
}

static lw_ref
is_within(lw_builder *b, lw_ref value, lw_op op, lw_ref bound)
{
    lw_dtype type = lw_ir_type(b, value);

    return lw_ir_compare(b, op, lw_ir_intrinsic(b, LW_IN_fabs, type, &value, 1), bound);
}

/* The magnitudes that a recurrence of floats may have in a step that is shared. */
typedef struct bounds {
    lw_ref least, most;
} bounds;

/* A product of factors that underflows is wrong by up to the smallest subnormal number. If none
 * can have underflowed, since not even the product of all has, the variable may be any normal
 * number; else only one which is neither so large nor so small that the error reaches its
 * digits (of float16: none). Signs of zeros and subnormal numbers follow from the order of the
 * operations. */
static bounds
bounds_of(copier *c, const lw_scan *scan)
{
    static const struct {
        double normal, largest, least, most;
    } of[3] = {{0x1p-14, 65504, HUGE_VAL, 65504},
               {FLT_MIN, FLT_MAX, 0x1p-48, 0x1p48},
               {DBL_MIN, DBL_MAX, 0x1p-480, 0x1p480}};
    lw_builder *b = &c->b;
    lw_dtype type = scan->type;
    int k = type == LW_DT_f64 ? 2 : type == LW_DT_f32;
    lw_ref normal = lw_ir_float(b, type, of[k].normal);
    lw_ref is_normal = is_within(b, scan->total.factor, LW_OP_GE, normal);

    return (bounds){.least =
                        lw_ir_select(b, is_normal, normal, lw_ir_float(b, type, of[k].least)),
                    .most = lw_ir_select(b, is_normal, lw_ir_float(b, type, of[k].largest),
                                         lw_ir_float(b, type, of[k].most))};
}

/* Whether a variable keeps its digits in this thread's iterations. No factor may exceed 1,
 * which would enlarge rounding errors of values that cancel each other (`s = 3*s - 2` from 1
 * on); what is not finite, or zero, fails the comparisons. The step's first value alone is
 * exact. */
static lw_ref
keeps_digits(copier *c, const lw_scan *scans, uint32_t n, uint32_t times, lw_ref so_far)
{
    lw_builder *b = &c->b;
    lw_ref one = lw_ir_float(b, scans->type, 1.0), all, is;
    lw_ref first = lw_ir_compare(b, LW_OP_EQ, c->block.tid, lw_ir_int(b, LW_DT_u64, 0));
    lw_ref last = lw_scan_apply(b, scans->one, scans->total, so_far);
    bounds s = bounds_of(c, scans);

    all = lw_ir_and(b, is_within(b, last, LW_OP_LE, s.most),
                    is_within(b, last, LW_OP_GE, s.least));
    all = lw_ir_and(b, all, is_within(b, scans->total.value, LW_OP_LE, s.most));
    for (uint32_t k = 0; k < times; k++) {
        lw_ref value = scans[k * n].before;
        is = is_within(b, value, LW_OP_GE, s.least);
        if (k == 0)
            is = lw_ir_or(b, is, first);
        all = lw_ir_and(b, all, is);
        all = lw_ir_and(b, all, is_within(b, value, LW_OP_LE, s.most));
        all = lw_ir_and(b, all, is_within(b, scans[k * n].term.factor, LW_OP_LE, one));
    }
    return all;
}

/* Whether the step can be shared, because this is so of all its recurrences in all threads; 0:
 * there are none of floats. */
static lw_ref
is_sound(copier *c, const lw_scan *scans, uint32_t n, uint32_t times, const lw_ref *so_far)
{
    lw_builder *b = &c->b;
    lw_ref all = 0;

    for (uint32_t i = 0; i < n; i++) {
        lw_ref is;
        if (!scans[i].term.factor || !lw_is_float(scans[i].type))
            continue;
        is = keeps_digits(c, scans + i, n, times, so_far[i]);
        all = all ? lw_ir_and(b, all, is) : is;
    }
    return all ? lw_block_all(b, &c->block, all) : 0;
}

/* One thread runs the iterations from `start` to before `end`, as they are. */
static void
walk_alone(copier *c, const lw_spread_loop *l, lw_ref start, lw_ref end, const lw_ref *so_far)
{
    lw_builder *b = &c->b;
    lw_ref limit = c->to[l->limit];

    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, c->block.tid, lw_ir_int(b, LW_DT_u64, 0)));
    for (uint32_t i = 0; i < n_scans(l); i++)
        lw_ir_set(b, c->to[scanned(l, i)->slot], so_far[i]);
    lw_ir_set(b, c->to[l->counter], start);
    lw_copier_counts(c, l, start);
    c->to[l->limit] = end;
    for (uint32_t i = l->at; i <= l->end; i++)
        lw_copier_inst(c, i);
    c->to[l->limit] = limit;
    lw_ir_end(b);
    for (uint32_t i = 0; i < n_scans(l); i++)
        lw_ir_set(b, scanned(l, i)->before,
                  lw_block_share(b, &c->block, lw_ir_get(b, c->to[scanned(l, i)->slot])));
}

/* Whether the value depends on nothing in the iteration but the counter. */
static bool
is_of_counter(const copier *c, const lw_spread_loop *l, lw_ref value)
{
    const lw_inst *inst = lw_inst_at(c->s, value);
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    if (value < l->at)
        return true;
    if (inst->op == LW_OP_LOAD || inst->op == LW_OP_CALL || c->s->waits[value])
        return false;
    for (uint32_t i = l->first; i < l->latch && inst->op == LW_OP_GET; i++)
        if (lw_inst_at(c->s, i)->op == LW_OP_SET && lw_inst_at(c->s, i)->a == inst->a)
            return false;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' && !is_of_counter(c, l, operands[k]))
            return false;
    return true;
}

/* Whether each iteration loads from here, outside all conditions, and the next one's element
 * follows. */
static bool
is_foreseen(const copier *c, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(c->s, at);
    lw_spread_loop loop = *l; /* guards are not needed: the iterations load from there */
    lw_access_pattern p;
    lw_shift shift;
    uint32_t stride;

    return inst->op == LW_OP_LOAD && !c->s->waits[at] && is_of_counter(c, l, inst->a) &&
           lw_access_pattern_of(c->s, inst->a, &p) &&
           lw_runs_along(c->s, &loop, &p, &stride, &shift) && shift.step == 1;
}

/* Has the elements that the next step loads brought into the second-level cache: those of each
 * line by one thread. There is a whole step from `start` on. */
static void
prefetch_ahead(copier *c, const lw_spread_loop *l, lw_ref start, uint32_t times)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_ir_type(b, start);
    lw_ref step = lw_ir_int(b, type, (int64_t)times * c->block.n_threads);
    uint32_t depth = 0;

    for (uint32_t i = l->first; i < l->latch; i++) {
        lw_op op = (lw_op)lw_inst_at(c->s, i)->op;
        lw_ref place, left;
        int64_t each;
        depth += op == LW_OP_IF;
        depth -= op == LW_OP_END;
        if (depth > 0 || !is_foreseen(c, l, i))
            continue;
        each = LINE / lw_dtypes[lw_inst_at(c->s, i)->type].size_bytes;
        place = lw_ir_mul(b, lw_ir_cast(b, type, c->block.tid), lw_ir_int(b, type, each));
        left = lw_ir_sub(b, lw_ir_sub(b, c->to[l->limit], start), step);
        lw_ir_if(b, lw_ir_and(b, lw_ir_compare(b, LW_OP_LT, place, step),
                              lw_ir_compare(b, LW_OP_LT, place, left)));
        lw_ir_set(b, c->to[l->counter], lw_ir_add(b, lw_ir_add(b, start, step), place));
        lw_copier_value(c, l, lw_inst_at(c->s, i)->a);
        lw_ir_prefetch(b, c->to[lw_inst_at(c->s, i)->a]);
        lw_ir_end(b);
    }
}

/* Runs `times` iterations a thread, from `start` on. asks: whether each of them exists is
 * tested, else all are known to. Several iterations are written into one piece of code, so that
 * their loads are in flight together. */
static void
copy_step(copier *c, const lw_spread_loop *l, lw_ref start, uint32_t times, bool asks,
          lw_ref turn)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_ir_type(b, start);
    lw_ref counter = c->to[l->counter], mine[LW_SCAN_MOST_TIMES],
           valid[LW_SCAN_MOST_TIMES] = {0}, last, sound, end;
    lw_ref kept[LW_SCAN_MOST_TIMES][LW_SHORT_ITERATION] = {{0}};
    lw_ref so_far[LW_MOST_CARRIED] = {0};
    lw_scan scans[LW_MOST_CARRIED];
    uint32_t n = n_scans(l);

    assert(times >= 1 && times <= LW_SCAN_MOST_TIMES && n > 0 && n * times <= LW_MOST_CARRIED);
    if (!asks)
        prefetch_ahead(c, l, start, times);
    last = lw_ir_sub(b, c->to[l->limit], lw_ir_int(b, type, 1));
    for (uint32_t k = 0; k < times; k++) {
        mine[k] =
            lw_ir_add(b, start, lw_ir_cast(b, type, lw_scan_index(b, c->block.tid, times, k)));
        if (asks)
            valid[k] = lw_ir_compare(b, LW_OP_LT, mine[k], c->to[l->limit]);
        lw_ir_set(b, counter, asks ? lw_ir_select(b, valid[k], mine[k], last) : mine[k]);
        walk_early(c, l, valid[k], times == 1 ? NULL : kept[k], scans + k * n);
    }
    for (uint32_t i = 0; i < n; i++)
        scans[i].start = so_far[i] = lw_ir_get(b, scanned(l, i)->before);
    lw_block_scan(b, &c->block, scans, n, times, lw_ir_get(b, turn));
    lw_ir_set(b, turn, lw_ir_not(b, lw_ir_get(b, turn)));
    for (uint32_t i = 0; i < n; i++)
        lw_ir_set(b, scanned(l, i)->before,
                  lw_scan_apply(b, scans[i].one, scans[i].total, so_far[i]));
    sound = is_sound(c, scans, n, times, so_far);
    if (sound)
        lw_ir_if(b, sound);
    for (uint32_t k = 0; k < times; k++) {
        lw_ir_set(b, counter, mine[k]);
        walk_again(c, l, valid[k], times == 1 ? NULL : kept[k], scans + k * n);
    }
    if (!sound)
        return;
    lw_ir_else(b);
    end = lw_ir_add(b, start, lw_ir_int(b, type, (int64_t)times * c->block.n_threads));
    walk_alone(c, l, start, asks ? c->to[l->limit] : end, so_far);
    lw_ir_end(b);
}

/* How many iterations a thread takes at once: several if the code is short. */
static uint32_t
times_of(const copier *c, const lw_spread_loop *l)
{
    bool narrow = true;

    if (l->latch - l->first > LW_SHORT_ITERATION)
        return 1;
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(c->s, i);
        if (inst->op == LW_OP_LOOP || inst->op == LW_OP_BLOCK || inst->op == LW_OP_CONTINUE)
            return 1;
        if (inst->op == LW_OP_LOAD)
            narrow = narrow && lw_dtypes[inst->type].size_bytes <= LW_NARROW;
    }
    for (uint32_t i = 0; i < n_scans(l); i++)
        narrow =
            narrow && lw_dtypes[lw_copier_type(c, scanned(l, i)->slot)].size_bytes <= LW_NARROW;
    if (narrow && n_scans(l) == 1)
        return LW_SCAN_MOST_TIMES;
    return n_scans(l) * TIMES <= LW_MOST_CARRIED ? TIMES : 1;
}

void
lw_copier_scan(copier *c, const lw_spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_dtype type = lw_copier_type(c, l->counter);
    lw_ref base = lw_ir_slot(b, type), turn = lw_ir_slot(b, LW_DT_b1), start, left, step;
    uint32_t times = times_of(c, l);

    lw_ir_set(b, base, lw_ir_zero(b, type));
    lw_ir_set(b, turn, lw_ir_int(b, LW_DT_b1, 0));
    lw_ir_loop(b, 0);
    start = lw_ir_get(b, base);
    lw_ir_if(b, lw_ir_not(b, lw_ir_compare(b, LW_OP_LT, start, c->to[l->limit])));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    step = lw_ir_int(b, type, (int64_t)times * c->block.n_threads);
    if (times > 1) {
        left = lw_ir_sub(b, c->to[l->limit], start);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, left, step));
        copy_step(c, l, start, times, false, turn);
        lw_ir_else(b);
    }
    copy_step(c, l, start, times, true, turn);
    if (times > 1)
        lw_ir_end(b);
    lw_ir_set(b, base, lw_ir_add(b, start, step));
    lw_ir_latch(b);
    lw_ir_end(b);
}
