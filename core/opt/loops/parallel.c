#include "core/opt/loops/parallel_internal.h"

#include "core/ir/operands.h"
#include "core/opt/loops/plain.h"

#include <string.h>

/* ---- the form of the loop ---- */

/* LOOP, GET, LT, NOT, IF, BREAK, END, and what follows is the iteration. */
enum { GET_AT = 1, LT_AT, NOT_AT, IF_AT, BREAK_AT, END_AT, FIRST_AT };

static bool
has_form(const lw_func *func, uint32_t at, uint32_t n)
{
    static const lw_op form[] = {LW_OP_LOOP, LW_OP_GET,   LW_OP_LT, LW_OP_NOT,
                                 LW_OP_IF,   LW_OP_BREAK, LW_OP_END};

    if (at + FIRST_AT >= n)
        return false;
    for (uint32_t i = 0; i < FIRST_AT; i++)
        if (func->insts.data[at + i].op != form[i])
            return false;
    return func->insts.data[at + LT_AT].a == at + GET_AT;
}

static void
find_loop(lw_parallel_loop *p, uint32_t at)
{
    const lw_inst *insts = p->s.func->insts.data;

    p->l = (lw_spread_loop){.at = at,
                            .latch = p->s.regions.middles[at],
                            .end = p->s.regions.ends[at],
                            .first = at + FIRST_AT,
                            .counter = insts[at + GET_AT].a,
                            .limit = insts[at + LT_AT].b};
    p->number = at + GET_AT;
    for (uint32_t i = p->l.first; i < p->l.latch; i++)
        p->l.continues |= insts[i].op == LW_OP_CONTINUE;
}

/* Whether the iteration does nothing that is bound to its function's own thread, or to the
 * order of iterations. */
static bool
can_move(lw_parallel_loop *p)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_RECUR:
        case LW_OP_ROOM:
        case LW_OP_BARRIER:
        case LW_OP_KERNEL_CALL:
        case LW_OP_CONTEXT:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_SREG: return false;
        case LW_OP_RETURN: p->returns = true; break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_UPDATES)
                return false; /* it is not inlined, so its updates do not become atomic */
            p->heavy = true;
            break;
        case LW_OP_LOOP:
        case LW_OP_HOST_CALL: p->heavy = true; break;
        default: break;
        }
    }
    p->prints = lw_ir_prints(p->module);
    return true;
}

/* Whether the iteration of an array expression does nothing but compute and store: nothing that
 * the order of elements could change, and nothing that ends the loop. */
static bool
only_stores(lw_parallel_loop *p)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        switch (inst->op) {
        case LW_OP_LOAD:
        case LW_OP_STORE:
        case LW_OP_GET:
        case LW_OP_SET:
        case LW_OP_SLOT:
        case LW_OP_LOOP:
        case LW_OP_LATCH:
        case LW_OP_IF:
        case LW_OP_ELSE:
        case LW_OP_BLOCK:
        case LW_OP_END:
        case LW_OP_BREAK:
        case LW_OP_CONTINUE: break;
        case LW_OP_CALL:
            if (lw_called_facts(p->called, inst->a) & LW_CALLED_STORES)
                return false;
            break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE)
                return false;
        }
        if (lw_ir_jumps_out(&p->s.regions, p->s.func, p->l.first, i))
            return false;
    }
    return true;
}

/* ---- analysis ---- */

/* Whether the code at this place replaces memory that was there before the loop, as that of a
 * list which grows. */
static bool
changes_memory(const lw_parallel_loop *p, uint32_t loc)
{
    for (uint32_t i = p->l.first; i < p->l.latch; i++) {
        const lw_inst *inst = lw_inst_at(&p->s, i);
        if ((inst->op == LW_OP_NEW || inst->op == LW_OP_HOLD || inst->op == LW_OP_TAKE) &&
            inst->loc == loc && lw_parallel_is_used_outside(p, inst->a))
            return true;
    }
    return false;
}

static lw_parallel_fault
analyse(lw_parallel_loop *p, uint32_t *culprit)
{
    lw_parallel_fault fault = lw_parallel_take_values(p, culprit);

    if (fault != LW_PARALLEL_GOOD)
        return fault;
    if (p->returns)
        p->n_record = p->s.func->results.n;
    fault = lw_parallel_take_variables(p, culprit);
    if (fault == LW_PARALLEL_GOOD && p->elements)
        return LW_PARALLEL_GOOD; /* every element is stored once */
    if (fault == LW_PARALLEL_CARRIED && changes_memory(p, lw_inst_at(&p->s, *culprit)->loc))
        return LW_PARALLEL_KEPT;
    if (fault != LW_PARALLEL_GOOD)
        return fault;
    return lw_parallel_check_stores(p, culprit);
}

/* ---- functions ---- */

/* Copies the function with the loop replaced by the call. */
static lw_status
replace_loop(lw_parallel_loop *p, uint32_t number, uint32_t part, lw_error *err)
{
    const lw_func *from = p->s.func;
    lw_func *made = lw_arena_take(&p->module->arena, sizeof *made);
    lw_ref *to = lw_arena_take(&p->s.arena, (from->insts.n + 1) * sizeof *to);
    lw_builder b = {.module = p->module, .func = made, .func_number = number};

    if (made == NULL || to == NULL)
        return lw_fail_memory(err);
    *made = *from;
    memset(&made->insts, 0, sizeof made->insts);
    if (lw_array_push(&made->insts, &p->module->arena) == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 1; i < from->insts.n; i++) {
        if (i == p->l.at)
            lw_parallel_call(p, &b, part, to);
        if (i < p->l.at || i > p->l.end)
            to[i] = lw_ir_copy(&b, from, from->insts.data[i], to);
    }
    if (p->module->failed)
        return lw_fail_memory(err);
    p->module->funcs.data[number] = made;
    return LW_OK;
}

typedef struct fault_place {
    lw_parallel_fault fault;
    uint32_t loc;
} fault_place;

static lw_status
outline(lw_module *module, uint32_t number, uint32_t at, lw_called *called, fault_place *place,
        lw_error *err)
{
    lw_parallel_loop p = {.module = module, .called = called};
    uint32_t n = module->funcs.data[number]->insts.n, culprit = 0, part;
    const lw_spread_source source = {.module = module, .func = number};
    lw_parallel_fault found;
    lw_status status = LW_OK;

    p.s.takes_narrow = true;
    p.s.of = &source; /* no array is known: any two may be one */
    p.s.func = module->funcs.data[number];
    lw_arena_init(&p.s.arena);
    p.use = lw_arena_take(&p.s.arena, n + 1);
    p.sums = lw_arena_take(&p.s.arena, n + 1);
    p.atomics = lw_arena_take(&p.s.arena, n + 1);
    p.combines = lw_arena_take(&p.s.arena, (n + 1) * sizeof *p.combines);
    p.place = lw_arena_take(&p.s.arena, (n + 1) * sizeof *p.place);
    if (p.use == NULL || p.sums == NULL || p.atomics == NULL || p.combines == NULL ||
        p.place == NULL || !lw_ir_regions_init(&p.s.regions, p.s.func)) {
        lw_arena_reset(&p.s.arena);
        return lw_fail_memory(err);
    }
    find_loop(&p, at);
    p.elements = (p.s.func->insts.data[at].flags & LW_LOOP_ELEMENTS) != 0;
    if (can_move(&p) && (!p.elements || only_stores(&p))) {
        found = analyse(&p, &culprit);
        if (found != LW_PARALLEL_GOOD && !p.elements) /* those stay on one thread */
            *place = (fault_place){found, lw_inst_at(&p.s, culprit)->loc};
        if (found == LW_PARALLEL_GOOD)
            LW_TRY(lw_parallel_part(&p, &part, err));
        if (found == LW_PARALLEL_GOOD)
            LW_TRY(replace_loop(&p, number, part, err));
    }
fail:
    lw_ir_regions_reset(&p.s.regions);
    lw_arena_reset(&p.s.arena);
    return status;
}

static bool
is_marked(const lw_inst *inst, bool elements)
{
    return inst->op == LW_OP_LOOP && (inst->flags & LW_LOOP_PARALLEL) &&
           lw_ir_is_prange(inst) != elements;
}

/* The first marked loop from `from` on, of prange or of an array expression; 0: there is none.
 */
static uint32_t
next_marked(const lw_func *func, uint32_t from, bool elements)
{
    for (uint32_t i = from; i < func->insts.n; i++)
        if (is_marked(&func->insts.data[i], elements))
            return i;
    return 0;
}

static void
make_plain(lw_module *module, uint32_t number, const lw_plain_prange *prange)
{
    const lw_func *plain =
        lw_plain_body(module, module->funcs.data[number], prange, &module->arena);

    if (plain != NULL)
        module->funcs.data[number] = (lw_func *)plain;
}

/* Rewrites the marked loops of a function, which lose their marks. */
static lw_status
outline_marked(lw_module *module, uint32_t number, bool elements, lw_called *called,
               fault_place *place, lw_error *err)
{
    lw_status status = LW_OK;
    uint32_t at = 1;

    while (place->fault == LW_PARALLEL_GOOD) {
        lw_func *func = module->funcs.data[number];
        at = next_marked(func, at, elements);
        if (at == 0)
            break;
        func->insts.data[at].flags &= ~(uint32_t)LW_LOOP_PARALLEL;
        if (has_form(func, at, func->insts.n))
            LW_TRY(outline(module, number, at, called, place, err));
    }
fail:
    return status;
}

lw_status
lw_opt_parallel(lw_module *module, const bool *hidden, lw_parallel_fault *fault, uint32_t *loc,
                lw_error *err)
{
    uint32_t n = module->funcs.n; /* those that are added have no such loop */
    fault_place place = {LW_PARALLEL_GOOD, 0};
    lw_called called;
    const lw_plain_prange prange = {&called, hidden};
    lw_status status = LW_OK;

    if (!lw_called_init(&called, module, &module->arena))
        return lw_fail_memory(err);
    for (uint32_t f = 0; f < n; f++) {
        if (next_marked(module->funcs.data[f], 1, false) != 0)
            make_plain(module, f, &prange);
        LW_TRY(outline_marked(module, f, false, &called, &place, err));
    }
    for (uint32_t f = 0; f < n; f++)
        LW_TRY(outline_marked(module, f, true, &called, &place, err));
    *fault = place.fault;
    *loc = place.loc;
fail:
    return status;
}
