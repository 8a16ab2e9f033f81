#include "core/opt/loops/spread.h"

#include "core/base/memory.h"
#include "core/opt/loops/carried.h"
#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/kept.h"
#include "core/opt/loops/plain.h"
#include "core/opt/loops/previous.h"
#include "core/opt/loops/rows.h"

#include <assert.h>
#include <string.h>

enum { MOST_REGIONS = 64, MOST_CALLEES = 256 };

/* Multiples of the counter by less than this do not overflow 64 bits. */
#define FURTHEST_STEP ((int64_t)1 << 31)

static bool
is_const(const lw_spreader *s, lw_ref ref, uint64_t bits)
{
    return lw_inst_at(s, ref)->op == LW_OP_CONST &&
           s->func->constants.data[lw_inst_at(s, ref)->a].bits == bits;
}

/* ---- the counter ---- */

static bool
is_header(const lw_spreader *s, const lw_spread_loop *l)
{
    const lw_inst *i = lw_inst_at(s, l->at);
    const uint32_t at = l->at;

    return l->latch > at + 7 && i[1].op == LW_OP_GET && i[2].op == LW_OP_LT &&
           i[2].a == at + 1 && i[2].b < at && i[3].op == LW_OP_NOT && i[3].a == at + 2 &&
           i[4].op == LW_OP_IF && i[4].a == at + 3 && i[5].op == LW_OP_BREAK && i[5].a == 0 &&
           i[6].op == LW_OP_END && lw_is_integer((lw_dtype)i[1].type);
}

static bool
is_latch(const lw_spreader *s, const lw_spread_loop *l)
{
    const lw_inst *i = lw_inst_at(s, l->latch);

    return l->end == l->latch + 4 && i[1].op == LW_OP_GET && i[1].a == l->counter &&
           i[2].op == LW_OP_ADD && i[2].a == l->latch + 1 && is_const(s, i[2].b, 1) &&
           i[3].op == LW_OP_SET && i[3].a == l->counter && i[3].b == l->latch + 2;
}

/* Whether the loop counts from 0 by 1 to a limit, and nothing else sets the counter. */
static bool
find_counter(const lw_spreader *s, lw_spread_loop *l)
{
    uint32_t first = 0;

    if (!is_header(s, l))
        return false;
    l->counter = lw_inst_at(s, l->at)[1].a;
    l->limit = lw_inst_at(s, l->at)[2].b;
    if (!is_latch(s, l))
        return false;
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != l->counter)
            continue;
        if (i > l->at && i < l->end) {
            if (inst->op == LW_OP_SET && i < l->latch)
                return false;
            continue;
        }
        if (first || inst->op != LW_OP_SET || i > l->at || !is_const(s, inst->b, 0))
            return false;
        first = i;
    }
    return first != 0;
}

bool
lw_spread_loop_at(const lw_spreader *s, uint32_t at, lw_spread_loop *l)
{
    *l = (lw_spread_loop){
        .at = at, .latch = s->regions.middles[at], .end = s->regions.ends[at], .first = at + 7};
    return l->latch != 0 && find_counter(s, l);
}

/* ---- addresses ---- */

static int
operand_of_address(const lw_spreader *s, uint32_t param)
{
    for (uint32_t i = 0; i < s->of->n_arrays; i++)
        if (s->of->arrays[i].first == param)
            return (int)i;
    return -1;
}

static bool
is_stride_of(const lw_spreader *s, int operand, lw_ref ref)
{
    const lw_spread_array *array = &s->of->arrays[operand];
    uint32_t number = lw_inst_at(s, ref)->a, first = array->first + 1 + array->ndim;

    return lw_inst_at(s, ref)->op == LW_OP_PARAM && number >= first &&
           number < first + array->ndim;
}

/* The value, where SELECTs of strides ask whether the array is broadcast, which it never is. */
static lw_ref
settled(const lw_spreader *s, lw_ref ref)
{
    while (lw_inst_at(s, ref)->op == LW_OP_SELECT && lw_is_never(s, lw_inst_at(s, ref)->a))
        ref = lw_inst_at(s, ref)->c;
    return ref;
}

static bool
add_terms(const lw_spreader *s, lw_access_pattern *p, lw_ref bytes)
{
    const lw_inst *inst = lw_inst_at(s, bytes);

    switch (inst->op) {
    case LW_OP_CAST: return add_terms(s, p, inst->a);
    case LW_OP_ADD: return add_terms(s, p, inst->a) && add_terms(s, p, inst->b);
    case LW_OP_CONST: /* the offset of a part of the element */
        return s->func->constants.data[inst->a].bits < s->of->arrays[p->operand].size_bytes;
    case LW_OP_MUL:
        if (p->n_terms == LW_MOST_TERMS)
            return false;
        for (int k = 0; k < 2; k++) {
            lw_ref stride = settled(s, k ? inst->a : inst->b);
            if (!is_stride_of(s, p->operand, stride))
                continue;
            p->terms[p->n_terms].stride = lw_inst_at(s, stride)->a;
            p->terms[p->n_terms++].index = k ? inst->b : inst->a;
            return true;
        }
        return false;
    default: return false;
    }
}

/* The operand that a pointer points into; -1: it is not known. */
int
lw_root_of(const lw_spreader *s, lw_ref pointer)
{
    const lw_inst *inst = lw_inst_at(s, pointer);

    while (inst->op == LW_OP_OFFSET)
        inst = lw_inst_at(s, inst->a);
    return inst->op == LW_OP_PARAM ? operand_of_address(s, inst->a) : -1;
}

/* Whether iterations may load from here in any order: from operands, and from excluded arrays
 * that nobody writes to. */
static bool
can_load(const lw_spreader *s, lw_ref pointer)
{
    const lw_inst *inst = lw_inst_at(s, pointer);

    if (lw_root_of(s, pointer) >= 0)
        return true;
    while (inst->op == LW_OP_OFFSET)
        inst = lw_inst_at(s, inst->a);
    for (uint32_t i = 0; inst->op == LW_OP_PARAM && i < s->of->n_addresses; i++)
        if (s->of->addresses[i] == inst->a)
            return !s->of->writes_there;
    return false;
}

bool
lw_access_pattern_of(const lw_spreader *s, lw_ref pointer, lw_access_pattern *p)
{
    p->n_terms = 0;
    p->operand = lw_root_of(s, pointer);
    if (p->operand < 0)
        return false;
    for (const lw_inst *inst = lw_inst_at(s, pointer); inst->op == LW_OP_OFFSET;
         inst = lw_inst_at(s, inst->a))
        if (!add_terms(s, p, inst->b))
            return false;
    return true;
}

static lw_ref
without_casts(const lw_spreader *s, lw_ref ref)
{
    while (lw_inst_at(s, ref)->op == LW_OP_CAST &&
           lw_is_integer((lw_dtype)lw_inst_at(s, lw_inst_at(s, ref)->a)->type) &&
           lw_dtypes[lw_inst_at(s, ref)->type].size_bytes == 8)
        ref = lw_inst_at(s, ref)->a;
    return ref;
}

/* The factor, if this is the counter (1) or the counter times a constant; else 0. */
static int64_t
steps_of(const lw_spreader *s, const lw_spread_loop *l, const lw_inst *inst)
{
    const lw_inst *x, *y;
    int64_t step;

    if (inst->op == LW_OP_GET && inst->a == l->counter)
        return 1;
    if (inst->op != LW_OP_MUL || lw_dtypes[inst->type].size_bytes != 8)
        return 0;
    x = lw_inst_at(s, without_casts(s, inst->a));
    y = lw_inst_at(s, without_casts(s, inst->b));
    if (x->op == LW_OP_CONST) {
        const lw_inst *other = x;
        x = y;
        y = other;
    }
    if (x->op != LW_OP_GET || x->a != l->counter || y->op != LW_OP_CONST ||
        lw_dtypes[y->type].size_bytes != 8)
        return 0;
    step = (int64_t)s->func->constants.data[y->a].bits;
    return step > -FURTHEST_STEP && step < FURTHEST_STEP ? step : 0;
}

bool
lw_shift_add(const lw_spreader *s, const lw_spread_loop *l, lw_ref value, bool minus,
             lw_shift *shift)
{
    const lw_inst *inst;
    int64_t step;

    value = without_casts(s, value);
    inst = lw_inst_at(s, value);
    step = steps_of(s, l, inst);
    if (step) {
        shift->step += minus ? -step : step;
        return shift->step > -FURTHEST_STEP && shift->step < FURTHEST_STEP;
    }
    if (lw_is_fixed(s, l, value)) {
        if (is_const(s, value, 0))
            return true;
        if (shift->n == LW_MOST_SHIFTS)
            return false;
        shift->terms[shift->n].value = value;
        shift->terms[shift->n++].minus = minus;
        return true;
    }
    if ((inst->op != LW_OP_ADD && inst->op != LW_OP_SUB) ||
        lw_dtypes[inst->type].size_bytes != 8)
        return false;
    return lw_shift_add(s, l, inst->a, minus, shift) &&
           lw_shift_add(s, l, inst->b, minus != (inst->op == LW_OP_SUB), shift);
}

/* Whether this tests the sign of an index: index < 0, or x < y for an index x - y. */
static bool
asks_for_sign(const lw_spreader *s, const lw_inst *cmp, lw_ref index)
{
    const lw_inst *made = lw_inst_at(s, without_casts(s, index));

    if (cmp->op != LW_OP_LT)
        return false;
    if (made->op == LW_OP_SUB && cmp->a == made->a && cmp->b == made->b)
        return true;
    return cmp->a == index && is_const(s, cmp->b, 0);
}

lw_ref
lw_index_of(const lw_spreader *s, lw_ref index, bool *wraps)
{
    const lw_inst *inst;

    index = without_casts(s, index);
    inst = lw_inst_at(s, index);
    *wraps = inst->op == LW_OP_SELECT && asks_for_sign(s, lw_inst_at(s, inst->a), inst->c);
    return *wraps ? inst->c : index;
}

/* Whether the index is a multiple of the counter plus a sum that is the same in all iterations.
 * *wraps: a negative index counts from the end. */
static bool
follows_counter(const lw_spreader *s, const lw_spread_loop *l, lw_ref index, lw_shift *shift,
                bool *wraps)
{
    shift->n = 0;
    shift->step = 0;
    return lw_shift_add(s, l, lw_index_of(s, index, wraps), false, shift) && shift->step != 0;
}

static bool
same_value(const lw_spreader *s, lw_ref x, lw_ref y)
{
    return x == y || (lw_inst_at(s, x)->op == LW_OP_CONST &&
                      is_const(s, y, s->func->constants.data[lw_inst_at(s, x)->a].bits));
}

static bool
same_shift(const lw_spreader *s, const lw_shift *x, const lw_shift *y)
{
    if (x->n != y->n || x->step != y->step)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->terms[i].minus != y->terms[i].minus ||
            !same_value(s, x->terms[i].value, y->terms[i].value))
            return false;
    return true;
}

bool
lw_loop_guard(const lw_spreader *s, lw_spread_loop *l, const lw_shift *shift)
{
    if (shift->n == 0 && shift->step > 0)
        return true;
    for (uint32_t i = 0; i < l->n_guards; i++)
        if (same_shift(s, &l->guards[i], shift))
            return true;
    if (l->n_guards == LW_MOST_GUARDS)
        return false;
    assert(shift->n <= LW_MOST_SHIFTS);
    l->guards[l->n_guards++] = *shift;
    return true;
}

/* Adds what else the address has along that dimension, the same in all iterations: the start of
 * a slice. */
static bool
add_start(const lw_spreader *s, const lw_spread_loop *l, lw_ref index, lw_shift *shift)
{
    index = without_casts(s, index);
    if (!lw_is_fixed(s, l, index) || shift->n == LW_MOST_SHIFTS)
        return false;
    if (is_const(s, index, 0))
        return true;
    shift->terms[shift->n].value = index;
    shift->terms[shift->n++].minus = false;
    return true;
}

bool
lw_runs_along(const lw_spreader *s, lw_spread_loop *l, const lw_access_pattern *p,
              uint32_t *stride, lw_shift *shift)
{
    for (uint32_t i = 0; i < p->n_terms; i++) {
        bool wraps;
        if (!follows_counter(s, l, p->terms[i].index, shift, &wraps))
            continue;
        *stride = p->terms[i].stride;
        if (wraps && !lw_loop_guard(s, l, shift))
            return false;
        for (uint32_t k = 0; k < p->n_terms; k++)
            if (k != i && p->terms[k].stride == *stride &&
                !add_start(s, l, p->terms[k].index, shift))
                return false;
        return true;
    }
    return false;
}

/* Whether every access to the array that this store writes is to the iteration's own element.
 */
static bool
is_own_element(const lw_spreader *s, lw_spread_loop *l, uint32_t store)
{
    uint32_t stride, other_stride;
    lw_shift shift, other_shift;
    lw_access_pattern p, other;

    if (!lw_access_pattern_of(s, lw_inst_at(s, store)->a, &p) ||
        !lw_runs_along(s, l, &p, &stride, &shift))
        return false;
    for (uint32_t i = l->at + 1; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op != LW_OP_LOAD && inst->op != LW_OP_STORE)
            continue;
        if (lw_root_of(s, inst->a) != p.operand)
            continue;
        if (!lw_access_pattern_of(s, inst->a, &other) ||
            !lw_runs_along(s, l, &other, &other_stride, &other_shift) ||
            other_stride != stride || !same_shift(s, &shift, &other_shift))
            return false;
    }
    return true;
}

/* ---- calls ---- */

/* Whether a function touches no memory and makes no pointer. One with more calls than are worth
 * following counts as impure. */
static bool
is_pure(const lw_module *module, const lw_func *func, uint32_t *n_looked_at)
{
    if (++*n_looked_at > MOST_CALLEES)
        return false;
    for (uint32_t i = 0; i < func->params.n; i++)
        if (func->params.data[i].type == LW_DT_ptr)
            return false;
    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        switch (inst->op) {
        case LW_OP_CALL:
            if (!is_pure(module, module->funcs.data[inst->a], n_looked_at))
                return false;
            break;
        case LW_OP_LOAD:
        case LW_OP_STORE:
        case LW_OP_LOCAL:
        case LW_OP_OWNER:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_ATOMIC:
        case LW_OP_KERNEL_CALL:
        case LW_OP_HOST_CALL:
        case LW_OP_RECUR: /* it may not end */
        case LW_OP_BARRIER:
        case LW_OP_SREG:
        case LW_OP_PRINT: return false;
        default: break;
        }
    }
    return true;
}

bool
lw_is_pure_call(const lw_spreader *s, const lw_inst *inst)
{
    const lw_module *module = s->of->module;

    uint32_t n_looked_at = 0;

    return is_pure(module, module->funcs.data[inst->a], &n_looked_at);
}

/* ---- why not ---- */

static const char
    leaves[] = "the loop may be left early, or an operation may raise an exception",
    carries[] = "a variable depends on its value in the iteration before, but not by a "
                "sum, product, minimum, maximum, `&`, `|` or `^`",
    reaches[] = "memory is read that iterations may also write",
    meets[] = "iterations may write elements that other iterations read or write",
    calls[] = "an operation does more than compute a value",
    steers[] = "what an iteration adds to a variable depends on earlier iterations",
    counter[] = "the loop is not a `for` loop over a range of a known number of iterations",
    outside[] = "there is a branch, a call or a return around it or before it";

static bool
refuse(lw_spreader *s, uint32_t culprit, const char *why)
{
    s->culprit = culprit;
    s->why = why;
    return false;
}

/* ---- loops and what lies between them ---- */

/* A CONTINUE whose depth is that of the iteration ends the iteration. */
static void
find_continues(const lw_spreader *s, lw_spread_loop *l)
{
    uint32_t loops = 0, depth = 0;
    bool counts[MOST_REGIONS] = {false};

    for (uint32_t i = l->first; i < l->latch; i++)
        switch (lw_inst_at(s, i)->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP:
            assert(depth < MOST_REGIONS);
            counts[depth] = lw_inst_at(s, i)->op != LW_OP_IF;
            loops += counts[depth++];
            break;
        case LW_OP_END:
            assert(depth > 0);
            loops -= counts[--depth];
            break;
        case LW_OP_CONTINUE: l->continues |= lw_inst_at(s, i)->a == loops; break;
        default: break;
        }
}

static bool
take_iteration(lw_spreader *s, lw_spread_loop *l)
{
    uint32_t loops = 0; /* BLOCKs and LOOPs open in the iteration */
    bool counts[MOST_REGIONS] = {false};
    uint32_t depth = 0;

    find_continues(s, l);
    lw_picks_find(s, l);
    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        switch (inst->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP:
            counts[depth++] = inst->op != LW_OP_IF;
            loops += inst->op != LW_OP_IF;
            break;
        case LW_OP_END: loops -= counts[--depth]; break;
        case LW_OP_BREAK:
            if (inst->a >= loops)
                return refuse(s, i, leaves);
            break;
        case LW_OP_CONTINUE:
            if (inst->a > loops)
                return refuse(s, i, leaves);
            break;
        case LW_OP_SET:
            if (!lw_carried_take(s, l, inst->a))
                return refuse(s, i, carries);
            break;
        case LW_OP_LOAD:
            if (!can_load(s, inst->a))
                return refuse(s, i, reaches);
            break;
        case LW_OP_STORE:
            l->stores = true;
            if (!is_own_element(s, l, i))
                return refuse(s, i, meets);
            break;
        case LW_OP_CALL:
            if (!lw_is_pure_call(s, inst))
                return refuse(s, i, calls);
            break;
        case LW_OP_GET:
        case LW_OP_SLOT:
        case LW_OP_ELSE:
        case LW_OP_LATCH: break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE || inst->op == LW_OP_SREG)
                return refuse(s, i, inst->op == LW_OP_RETURN ? leaves : calls);
        }
    }
    if (lw_picks_start_together(l) && (l->stores || l->scans))
        return refuse(s, l->at, carries);
    return lw_carried_settle(s, l) || refuse(s, l->at, steers);
}

/* Whether all of an IF between the loops can be run by all threads alike: it may choose values,
 * or end the function for all threads. */
static bool
take_choice(const lw_spreader *s, uint32_t at)
{
    for (uint32_t i = at + 1; i < s->regions.ends[at]; i++) {
        lw_op op = (lw_op)lw_inst_at(s, i)->op;
        if (op == LW_OP_GET || op == LW_OP_SET || op == LW_OP_IF || op == LW_OP_ELSE ||
            op == LW_OP_END || op == LW_OP_SLOT || op == LW_OP_RETURN || op == LW_OP_BREAK)
            continue;
        if (op == LW_OP_LOAD && can_load(s, lw_inst_at(s, i)->a))
            continue;
        if (lw_ops[op].class != LW_CLASS_PURE || op == LW_OP_SREG)
            return false;
    }
    return true;
}

static bool
take_between(const lw_spreader *s, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);

    switch (inst->op) {
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_SLOT:
    case LW_OP_ELSE:
    case LW_OP_BLOCK:
    case LW_OP_END: return true;
    case LW_OP_LOAD: return can_load(s, inst->a);
    case LW_OP_STORE: return lw_root_of(s, inst->a) >= 0;
    case LW_OP_CALL: return lw_is_pure_call(s, inst);
    case LW_OP_BREAK:
    /* all threads take it together, as they take the branch around it */
    case LW_OP_RETURN: return true;
    default: return lw_ops[inst->op].class == LW_CLASS_PURE && inst->op != LW_OP_SREG;
    }
}

static bool
take_loop(lw_spreader *s, uint32_t at)
{
    lw_spread_loop *l = &s->loops[s->n_loops];

    s->blocked = at;
    if (s->n_loops == LW_MOST_LOOPS || !lw_spread_loop_at(s, at, l))
        return refuse(s, at, counter);
    if (!take_iteration(s, l) && !lw_search_take(s, l))
        return false;
    s->n_loops++;
    s->blocked = 0;
    return true;
}

/* Refuses what is between or around loops; the first loop after it is reported. */
static bool
refuse_outside(lw_spreader *s, uint32_t at)
{
    s->blocked = 0;
    for (uint32_t i = at; i < s->func->insts.n && !s->blocked; i++)
        if (lw_inst_at(s, i)->op == LW_OP_LOOP)
            s->blocked = i;
    return refuse(s, at, outside);
}

/* Between the loops all threads have the same values and so take the same branches: what is
 * inside a branch is treated as if it were outside. */
static bool
take_body(lw_spreader *s)
{
    for (uint32_t i = 1; i < s->func->insts.n; i++)
        switch (lw_inst_at(s, i)->op) {
        case LW_OP_LOOP:
            if (!take_loop(s, i))
                return false;
            i = s->regions.ends[i];
            break;
        case LW_OP_IF:
            if (take_choice(s, i))
                i = s->regions.ends[i];
            break;
        default:
            if (!take_between(s, i))
                return refuse_outside(s, i);
        }
    return s->n_loops > 0;
}

/* Prepares the analyses of s->func. */
static bool
start_func(lw_spreader *s)
{
    s->marks = lw_arena_take(&s->arena, s->func->insts.n + 1);
    return s->marks != NULL && lw_ir_regions_init(&s->regions, s->func);
}

bool
lw_spreader_find(lw_spreader *s, const lw_spread_source *of)
{
    const lw_func *body = of->module->funcs.data[of->func], *plain;

    s->of = of;
    s->func = lw_plain_body(of->module, body, NULL, &s->arena);
    if (s->func == NULL)
        s->func = body;
    if (!start_func(s))
        return false;
    plain = lw_previous_body(s);
    if (plain != NULL && plain != s->func) {
        lw_ir_regions_reset(&s->regions);
        s->func = plain;
        if (!start_func(s))
            return false;
    }
    s->waits = lw_alloc_zero(s->func->insts.n + 1, 1);
    if (s->waits == NULL)
        return false;
    return s->regions.deepest <= MOST_REGIONS && take_body(s);
}

void
lw_spreader_free(lw_spreader *s)
{
    lw_ir_regions_reset(&s->regions);
    lw_free(s->waits);
    lw_arena_reset(&s->arena);
    lw_free(s);
}

static uint32_t
line_at(const lw_spreader *s, uint32_t at)
{
    return s->of->module->locs.data[lw_inst_at(s, at)->loc].line;
}

static void
tell_place(const lw_spreader *s, lw_spread *spread)
{
    const lw_module *module = s->of->module;
    uint32_t i = s->blocked;

    assert(lw_inst_at(s, i)->op == LW_OP_LOOP || lw_inst_at(s, i)->op == LW_OP_IF);
    while (i < s->regions.ends[s->blocked] && !line_at(s, i))
        i++;
    spread->line = line_at(s, i);
    spread->file = module->files.data[module->locs.data[lw_inst_at(s, i)->loc].file];
    spread->why = s->why;
    spread->culprit = line_at(s, s->culprit);
}

static bool
scans(const lw_spreader *s)
{
    for (uint32_t i = 0; i < s->n_loops; i++)
        if (s->loops[i].scans)
            return true;
    return false;
}

/* Whether some loop scans, and 64 registers hold what all of them have: iterations are short
 * and scan one variable, which is narrow or no recurrence. */
static bool
scans_little(const lw_spreader *s)
{
    for (uint32_t i = 0; i < s->n_loops; i++) {
        const lw_spread_loop *l = &s->loops[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < l->n_carried; k++) {
            const lw_carried *one = &l->carried[k];
            lw_dtype type = (lw_dtype)lw_inst_at(s, one->slot)->type;
            if (one->how != LW_CARRY_SCAN)
                continue;
            if (n++ > 0 || (one->affine && lw_dtypes[type].size_bytes > LW_NARROW))
                return false;
        }
        if (l->latch - l->first > LW_SHORT_ITERATION)
            return false;
    }
    return scans(s);
}

/* Whether all loops only combine values. */
static bool
only_combines(const lw_spreader *s)
{
    bool only = s->n_loops > 0;

    for (uint32_t i = 0; i < s->n_loops; i++)
        only &= !s->loops[i].stores && !s->loops[i].searches;
    return only;
}

/* Whether some loop carries a variable from one iteration to the next, or ends early. */
static bool
combines(const lw_spreader *s)
{
    for (uint32_t i = 0; i < s->n_loops; i++)
        if (s->loops[i].n_carried || s->loops[i].n_picks || s->loops[i].searches)
            return true;
    return false;
}

lw_spread
lw_spread_of(const lw_spread_source *of)
{
    lw_spreader *s = lw_alloc_zero(1, sizeof *s);
    lw_spread result = {0};

    if (s == NULL)
        return result;
    result.possible = lw_spreader_find(s, of);
    result.joins = scans(s) || only_combines(s);
    result.scans_little = scans_little(s);
    for (uint32_t i = 0; i < s->n_loops; i++)
        result.searches |= s->loops[i].searches;
    if (result.possible) {
        lw_kept kept = lw_kept_find(s);
        result.in_order = !combines(s);
        result.kept_dim = kept.dim;
        result.kept_bytes = kept.bytes;
        result.kept_weight = kept.weight;
        result.reads_rows = lw_rows_read(s);
        result.own_rows = lw_rows_divided(s);
    } else if (s->blocked != 0) {
        tell_place(s, &result);
    }
    lw_spreader_free(s);
    return result;
}

void
lw_spread_tell(const lw_spread *spread, bool with_file, lw_text *text)
{
    if (spread->line == 0)
        return;
    lw_text_addf(text, "the loop in line %u", spread->line);
    if (with_file && spread->file != NULL)
        lw_text_addf(text, " of %s", spread->file);
    if (spread->why == NULL)
        return;
    lw_text_add(text, ": ");
    if (spread->culprit != 0 && spread->culprit != spread->line)
        lw_text_addf(text, "in line %u ", spread->culprit);
    lw_text_add(text, spread->why);
}
