#include "gufunc/core_spread.h"

#include "core/base/memory.h"

#include <string.h>

enum { MOST_LOOPS = 32, MOST_SUMS = 16, MOST_TERMS = 40, MOST_REGIONS = 64 };

/* A value that a loop adds to, or multiplies by, in every round. */
typedef struct sum {
    lw_ref slot;
    lw_op op;      /* ADD or MUL */
    lw_ref before; /* while the loop is made: its value in front of it */
} sum;

/* An outermost loop: LOOP … LATCH … END. */
typedef struct spread_loop {
    uint32_t at, latch, end;
    lw_ref counter; /* its slot */
    bool stores;
    uint32_t n_sums;
    sum sums[MOST_SUMS];
} spread_loop;

typedef struct spreader {
    const lw_gufunc_loop *loop;
    const lw_func *func;
    uint32_t *ends, *middles; /* of regions, by instruction */
    uint32_t n_loops;
    spread_loop loops[MOST_LOOPS];
    uint32_t blocked; /* the LOOP that cannot be spread */
} spreader;

/* Where an access points to. */
typedef struct place {
    int operand;
    uint32_t n_terms;
    struct {
        uint32_t stride; /* number of the parameter */
        lw_ref index;
    } terms[MOST_TERMS];
} place;

static const lw_inst *
inst_at(const spreader *s, lw_ref ref)
{
    return &s->func->insts.data[ref];
}

static bool
is_const(const spreader *s, lw_ref ref, uint64_t bits)
{
    return inst_at(s, ref)->op == LW_OP_CONST &&
           s->func->konsts.data[inst_at(s, ref)->a].bits == bits;
}

/* ---- regions ---- */

static bool
find_regions(spreader *s)
{
    uint32_t open[MOST_REGIONS] = {0}, depth = 0;

    for (uint32_t i = 1; i < s->func->insts.n; i++)
        switch (inst_at(s, i)->op) {
        case LW_OP_IF:
        case LW_OP_BLOCK:
        case LW_OP_LOOP:
            if (depth == MOST_REGIONS)
                return false;
            open[depth++] = i;
            break;
        case LW_OP_ELSE:
        case LW_OP_LATCH: s->middles[open[depth - 1]] = i; break;
        case LW_OP_END: s->ends[open[--depth]] = i; break;
        default: break;
        }
    return true;
}

/* Does instruction i use this value? Lists are looked through, numbers are not values. */
static bool
uses(const spreader *s, uint32_t i, lw_ref value)
{
    const lw_inst *inst = inst_at(s, i);
    const char *args = lw_ops[inst->op].args;
    const uint32_t operands[3] = {inst->a, inst->b, inst->c};

    for (int k = 0; k < 3; k++)
        if ((args[k] == 'v' || args[k] == 's') && operands[k] == value)
            return true;
    if (args[1] == 'L')
        for (uint32_t k = 0; k < inst->c; k++)
            if (s->func->lists.data[inst->b + k] == value)
                return true;
    return false;
}

static uint32_t
count_uses(const spreader *s, lw_ref value)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < s->func->insts.n; i++)
        n += uses(s, i, value);
    return n;
}

/* ---- the counter ---- */

static bool
is_header(const spreader *s, const spread_loop *l)
{
    const lw_inst *i = inst_at(s, l->at);
    const uint32_t at = l->at;

    return l->latch > at + 7 && i[1].op == LW_OP_GET && i[2].op == LW_OP_LT &&
           i[2].a == at + 1 && i[2].b < at && i[3].op == LW_OP_NOT && i[3].a == at + 2 &&
           i[4].op == LW_OP_IF && i[4].a == at + 3 && i[5].op == LW_OP_BREAK && i[5].a == 0 &&
           i[6].op == LW_OP_END && lw_is_integer((lw_dtype)i[1].type);
}

static bool
is_latch(const spreader *s, const spread_loop *l)
{
    const lw_inst *i = inst_at(s, l->latch);

    return l->end == l->latch + 4 && i[1].op == LW_OP_GET && i[1].a == l->counter &&
           i[2].op == LW_OP_ADD && i[2].a == l->latch + 1 && is_const(s, i[2].b, 1) &&
           i[3].op == LW_OP_SET && i[3].a == l->counter && i[3].b == l->latch + 2;
}

/* Counts from 0 by 1 to a limit, and nobody else looks at the counter. */
static bool
find_counter(const spreader *s, spread_loop *l)
{
    uint32_t first = 0;

    if (!is_header(s, l))
        return false;
    l->counter = inst_at(s, l->at)[1].a;
    if (!is_latch(s, l))
        return false;
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = inst_at(s, i);
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

/* ---- addresses ---- */

static int
operand_of_address(const spreader *s, uint32_t param)
{
    for (int i = 0; i < s->loop->nin + s->loop->nout; i++)
        if (s->loop->form[i] == LW_CORE_ARRAY && s->loop->scalar->args[i].first == param)
            return i;
    return -1;
}

static bool
is_stride_of(const spreader *s, int operand, lw_ref ref)
{
    const lw_arg_parts *parts = &s->loop->scalar->args[operand];
    uint32_t ndim = (parts->n - 1) / 2, number = inst_at(s, ref)->a;

    return inst_at(s, ref)->op == LW_OP_PARAM && number >= parts->first + 1 + ndim &&
           number < parts->first + 1 + 2 * ndim;
}

static bool
add_terms(const spreader *s, place *p, lw_ref bytes)
{
    const lw_inst *inst = inst_at(s, bytes);

    switch (inst->op) {
    case LW_OP_CAST: return add_terms(s, p, inst->a);
    case LW_OP_ADD: return add_terms(s, p, inst->a) && add_terms(s, p, inst->b);
    case LW_OP_CONST: /* a part of the element */
        return s->func->konsts.data[inst->a].bits <
               lw_dtypes[s->loop->types[p->operand]].size_bytes;
    case LW_OP_MUL:
        if (p->n_terms == MOST_TERMS)
            return false;
        if (is_stride_of(s, p->operand, inst->b)) {
            p->terms[p->n_terms].stride = inst_at(s, inst->b)->a;
            p->terms[p->n_terms++].index = inst->a;
            return true;
        }
        if (is_stride_of(s, p->operand, inst->a)) {
            p->terms[p->n_terms].stride = inst_at(s, inst->a)->a;
            p->terms[p->n_terms++].index = inst->b;
            return true;
        }
        return false;
    default: return false;
    }
}

/* The operand that a pointer points into; -1: not known. */
static int
root_of(const spreader *s, lw_ref pointer)
{
    const lw_inst *inst = inst_at(s, pointer);

    while (inst->op == LW_OP_OFFSET)
        inst = inst_at(s, inst->a);
    return inst->op == LW_OP_PARAM ? operand_of_address(s, inst->a) : -1;
}

static bool
place_of(const spreader *s, lw_ref pointer, place *p)
{
    p->n_terms = 0;
    p->operand = root_of(s, pointer);
    if (p->operand < 0)
        return false;
    for (const lw_inst *inst = inst_at(s, pointer); inst->op == LW_OP_OFFSET;
         inst = inst_at(s, inst->a))
        if (!add_terms(s, p, inst->b))
            return false;
    return true;
}

static bool
is_fixed(const spreader *s, const spread_loop *l, lw_ref ref)
{
    lw_op op = (lw_op)inst_at(s, ref)->op;

    return ref < l->at || op == LW_OP_CONST || op == LW_OP_PARAM;
}

static lw_ref
without_casts(const spreader *s, lw_ref ref)
{
    while (inst_at(s, ref)->op == LW_OP_CAST &&
           lw_is_integer((lw_dtype)inst_at(s, inst_at(s, ref)->a)->type) &&
           lw_dtypes[inst_at(s, ref)->type].size_bytes == 8)
        ref = inst_at(s, ref)->a;
    return ref;
}

/* Is the index the counter, or it and something that is the same in all rounds (*plus; 0: not)?
 */
static bool
follows_counter(const spreader *s, const spread_loop *l, lw_ref index, lw_ref *plus)
{
    const lw_inst *inst;

    *plus = 0;
    index = without_casts(s, index);
    inst = inst_at(s, index);
    if (inst->op == LW_OP_ADD && lw_dtypes[inst->type].size_bytes == 8) {
        lw_ref x = without_casts(s, inst->a), y = without_casts(s, inst->b);
        if (is_fixed(s, l, inst->a)) {
            *plus = inst->a;
            index = y;
        } else if (is_fixed(s, l, inst->b)) {
            *plus = inst->b;
            index = x;
        }
        inst = inst_at(s, index);
    }
    return inst->op == LW_OP_GET && inst->a == l->counter;
}

static bool
same_value(const spreader *s, lw_ref x, lw_ref y)
{
    if (x == y)
        return true;
    if (x == 0 || y == 0)
        return is_const(s, x ? x : y, 0);
    return inst_at(s, x)->op == LW_OP_CONST &&
           is_const(s, y, s->func->konsts.data[inst_at(s, x)->a].bits);
}

/* The dimension that the counter runs along: number of its stride's parameter. Of all terms
 * with this stride there must be one only. */
static bool
runs_along(const spreader *s, const spread_loop *l, const place *p, uint32_t *stride,
           lw_ref *plus)
{
    for (uint32_t i = 0; i < p->n_terms; i++) {
        uint32_t n = 0;
        if (!follows_counter(s, l, p->terms[i].index, plus))
            continue;
        for (uint32_t k = 0; k < p->n_terms; k++)
            n += p->terms[k].stride == p->terms[i].stride;
        *stride = p->terms[i].stride;
        return n == 1;
    }
    return false;
}

/* Every access to what this store writes is of the round's own element. */
static bool
is_own_element(const spreader *s, const spread_loop *l, uint32_t store)
{
    uint32_t stride, other_stride;
    lw_ref plus, other_plus;
    place p, other;

    if (!place_of(s, inst_at(s, store)->a, &p) || !runs_along(s, l, &p, &stride, &plus))
        return false;
    for (uint32_t i = l->at + 1; i < l->latch; i++) {
        const lw_inst *inst = inst_at(s, i);
        if (inst->op != LW_OP_LOAD && inst->op != LW_OP_STORE)
            continue;
        if (root_of(s, inst->a) != p.operand)
            continue;
        if (!place_of(s, inst->a, &other) ||
            !runs_along(s, l, &other, &other_stride, &other_plus) || other_stride != stride ||
            !same_value(s, plus, other_plus))
            return false;
    }
    return true;
}

/* ---- variables ---- */

static bool
is_number_type(lw_dtype type)
{
    return type == LW_DT_f32 || type == LW_DT_f64 || type == LW_DT_i32 || type == LW_DT_u32 ||
           type == LW_DT_i64 || type == LW_DT_u64;
}

/* v = get; w = v + e; set w: neither v nor w is used otherwise. */
static bool
is_sum(const spreader *s, uint32_t get, uint32_t set, lw_op *op)
{
    const lw_inst *w = inst_at(s, inst_at(s, set)->b);

    switch (w->op) {
    case LW_OP_ADD:
    case LW_OP_MUL:
        if ((w->a == get) == (w->b == get))
            return false;
        break;
    case LW_OP_SUB:
        if (w->a != get || w->b == get)
            return false;
        break;
    case LW_OP_FMA:
        if (w->c != get || w->a == get || w->b == get)
            return false;
        break;
    default: return false;
    }
    *op = w->op == LW_OP_MUL ? LW_OP_MUL : LW_OP_ADD;
    return w->lanes <= 1 && is_number_type((lw_dtype)w->type) && count_uses(s, get) == 1 &&
           count_uses(s, inst_at(s, set)->b) == 1;
}

/* Is the variable set on every way to `end`? *early: it may be read before. */
static bool
sets_first(const spreader *s, lw_ref slot, uint32_t at, uint32_t end, bool set, bool *early)
{
    for (; at < end; at++) {
        const lw_inst *inst = inst_at(s, at);
        uint32_t middle = s->middles[at], last = s->ends[at];
        bool yes, no;
        switch (inst->op) {
        case LW_OP_SET: set |= inst->a == slot; break;
        case LW_OP_GET: *early |= inst->a == slot && !set; break;
        case LW_OP_BREAK:
        case LW_OP_CONTINUE: return true; /* what follows is not reached from here */
        case LW_OP_IF:
            yes = sets_first(s, slot, at + 1, middle ? middle : last, set, early);
            no = middle ? sets_first(s, slot, middle + 1, last, set, early) : set;
            set = yes && no;
            at = last;
            break;
        case LW_OP_LOOP:
            sets_first(s, slot, at + 1, middle ? middle : last, set, early);
            if (middle) /* by CONTINUE perhaps, with less */
                sets_first(s, slot, middle + 1, last, set, early);
            at = last;
            break;
        case LW_OP_BLOCK:
            sets_first(s, slot, at + 1, last, set, early);
            at = last;
            break;
        default: break;
        }
    }
    return set;
}

/* A variable that the loop sets: private to a round, or a sum. */
static bool
take_variable(const spreader *s, spread_loop *l, lw_ref slot)
{
    uint32_t n_get = 0, n_set = 0, get = 0, set = 0;
    bool outside = false, early = false;
    lw_op op;

    for (uint32_t k = 0; k < l->n_sums; k++)
        if (l->sums[k].slot == slot)
            return true;
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = inst_at(s, i);
        if ((inst->op != LW_OP_GET && inst->op != LW_OP_SET) || inst->a != slot)
            continue;
        if (i < l->at || i > l->latch) {
            outside = true;
        } else if (inst->op == LW_OP_GET) {
            n_get++;
            get = i;
        } else {
            n_set++;
            set = i;
        }
    }
    if (!outside) {
        sets_first(s, slot, l->at + 7, l->latch, false, &early);
        if (!early)
            return true;
    }
    if (n_get != 1 || n_set != 1 || !is_sum(s, get, set, &op) || l->n_sums == MOST_SUMS)
        return false;
    l->sums[l->n_sums++] = (sum){.slot = slot, .op = op};
    return true;
}

/* ---- calls ---- */

/* Functions that touch no memory and make no pointer. */
static bool
is_pure(const lw_module *module, const lw_func *func, int depth)
{
    if (depth > 8)
        return false;
    for (uint32_t i = 0; i < func->params.n; i++)
        if (func->params.data[i].type == LW_DT_ptr)
            return false;
    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        switch (inst->op) {
        case LW_OP_CALL:
            if (!is_pure(module, module->funcs.data[inst->a], depth + 1))
                return false;
            break;
        case LW_OP_LOAD:
        case LW_OP_STORE:
        case LW_OP_LOCAL:
        case LW_OP_SHARED:
        case LW_OP_DYNAMIC:
        case LW_OP_ATOMIC:
        case LW_OP_KERNEL_CALL:
        case LW_OP_HOST_CALL:
        case LW_OP_BARRIER:
        case LW_OP_SREG:
        case LW_OP_PRINT: return false;
        default: break;
        }
    }
    return true;
}

static bool
is_pure_call(const spreader *s, const lw_inst *inst)
{
    const lw_module *module = s->loop->scalar->module;

    return is_pure(module, module->funcs.data[inst->a], 0);
}

/* ---- loops and what lies between them ---- */

static bool
take_round(const spreader *s, spread_loop *l)
{
    uint32_t loops = 0; /* BLOCKs and LOOPs open in the round */
    bool counts[MOST_REGIONS] = {false};
    uint32_t depth = 0;

    for (uint32_t i = l->at + 7; i < l->latch; i++) {
        const lw_inst *inst = inst_at(s, i);
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
                return false;
            break;
        case LW_OP_CONTINUE:
            if (inst->a > loops)
                return false;
            break;
        case LW_OP_SET:
            if (!take_variable(s, l, inst->a))
                return false;
            break;
        case LW_OP_LOAD:
            if (root_of(s, inst->a) < 0)
                return false;
            break;
        case LW_OP_STORE:
            l->stores = true;
            if (!is_own_element(s, l, i))
                return false;
            break;
        case LW_OP_CALL:
            if (!is_pure_call(s, inst))
                return false;
            break;
        case LW_OP_GET:
        case LW_OP_SLOT:
        case LW_OP_ELSE:
        case LW_OP_LATCH: break;
        default:
            if (lw_ops[inst->op].class != LW_CLASS_PURE || inst->op == LW_OP_SREG)
                return false;
        }
    }
    return true;
}

/* An IF between the loops: it may choose values, no more. */
static bool
take_choice(const spreader *s, uint32_t at)
{
    for (uint32_t i = at + 1; i < s->ends[at]; i++) {
        lw_op op = (lw_op)inst_at(s, i)->op;
        if (op == LW_OP_GET || op == LW_OP_SET || op == LW_OP_IF || op == LW_OP_ELSE ||
            op == LW_OP_END || op == LW_OP_SLOT)
            continue;
        if (op == LW_OP_LOAD && root_of(s, inst_at(s, i)->a) >= 0)
            continue;
        if (lw_ops[op].class != LW_CLASS_PURE || op == LW_OP_SREG)
            return false;
    }
    return true;
}

static bool
take_between(const spreader *s, uint32_t at)
{
    const lw_inst *inst = inst_at(s, at);

    switch (inst->op) {
    case LW_OP_GET:
    case LW_OP_SET:
    case LW_OP_SLOT: return true;
    case LW_OP_LOAD:
    case LW_OP_STORE: return root_of(s, inst->a) >= 0;
    case LW_OP_CALL: return is_pure_call(s, inst);
    case LW_OP_RETURN: return at + 1 == s->func->insts.n;
    default: return lw_ops[inst->op].class == LW_CLASS_PURE && inst->op != LW_OP_SREG;
    }
}

static bool
take_loop(spreader *s, uint32_t at)
{
    spread_loop *l = &s->loops[s->n_loops];

    s->blocked = at;
    if (s->n_loops == MOST_LOOPS || s->middles[at] == 0)
        return false;
    *l = (spread_loop){.at = at, .latch = s->middles[at], .end = s->ends[at]};
    if (!find_counter(s, l) || !take_round(s, l))
        return false;
    s->n_loops++;
    s->blocked = 0;
    return true;
}

static bool
take_body(spreader *s)
{
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        lw_op op = (lw_op)inst_at(s, i)->op;
        bool region = op == LW_OP_IF || op == LW_OP_LOOP || op == LW_OP_BLOCK;
        if (op == LW_OP_LOOP ? !take_loop(s, i)
            : op == LW_OP_IF ? !take_choice(s, i)
                             : op == LW_OP_BLOCK || !take_between(s, i))
            return false;
        if (region)
            i = s->ends[i];
    }
    return s->n_loops > 0;
}

static bool
analyse(const lw_gufunc_loop *loop, spreader *s)
{
    uint32_t n;

    s->loop = loop;
    s->func = loop->scalar->module->funcs.data[loop->scalar->body];
    n = s->func->insts.n;
    s->ends = lw_alloc_zero(n + 1, 2 * sizeof *s->ends);
    if (s->ends == NULL)
        return false;
    s->middles = s->ends + n + 1;
    return find_regions(s) && take_body(s);
}

lw_spread
lw_core_spread(const lw_gufunc_loop *loop)
{
    spreader *s = lw_alloc_zero(1, sizeof *s);
    const lw_module *module = loop->scalar->module;
    lw_spread result = {false, 0};

    if (s == NULL)
        return result;
    result.possible = analyse(loop, s);
    if (!result.possible && s->blocked != 0)
        for (uint32_t i = s->blocked; i < s->ends[s->blocked] && !result.line; i++)
            result.line = module->locs.data[inst_at(s, i)->loc].line;
    lw_free(s->ends);
    lw_free(s);
    return result;
}

/* ---- the spread body ---- */

typedef struct copier {
    lw_builder b;
    spreader *s;
    lw_ref *to;     /* by value of the body */
    lw_ref *params; /* by number */
    lw_ref tid;     /* u64 */
    uint32_t n_threads;
} copier;

static void
barrier(copier *c)
{
    lw_ir_emit(&c->b, LW_OP_BARRIER, LW_DT_void, 0, 0, 0);
}

static void
copy_list(copier *c, const lw_inst *inst, uint32_t *start)
{
    lw_ref *values = lw_arena_take(&c->b.module->arena, (inst->c + 1) * sizeof *values);

    if (values == NULL) {
        c->b.module->failed = true;
        return;
    }
    for (uint32_t i = 0; i < inst->c; i++)
        values[i] = c->to[c->s->func->lists.data[inst->b + i]];
    *start = lw_ir_list(&c->b, values, inst->c);
}

static void
copy_inst(copier *c, uint32_t at)
{
    const lw_inst old = c->s->func->insts.data[at];
    const char *args = lw_ops[old.op].args;
    uint32_t operands[3] = {old.a, old.b, old.c};
    lw_ref made;

    if (old.op == LW_OP_PARAM) {
        c->to[at] = c->params[old.a];
        return;
    }
    if (old.op == LW_OP_CONST) {
        c->to[at] = lw_ir_bits(&c->b, (lw_dtype)old.type, c->s->func->konsts.data[old.a].bits);
        return;
    }
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' || args[k] == 's')
            operands[k] = c->to[operands[k]];
    if (args[1] == 'L')
        copy_list(c, &old, &operands[1]);
    made = lw_ir_emit(&c->b, (lw_op)old.op, (lw_dtype)old.type, operands[0], operands[1],
                      operands[2]);
    c->to[at] = made;
    if (c->b.func != NULL && made != 0) {
        c->b.func->insts.data[made].flags = old.flags;
        c->b.func->insts.data[made].lanes = old.lanes;
        c->b.func->insts.data[made].loc = old.loc;
    }
}

/* Stores between the loops: one thread's, behind all that read before, in front of all that
 * read after. */
static void
copy_store(copier *c, uint32_t at)
{
    lw_builder *b = &c->b;

    barrier(c);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_EQ, c->tid, lw_ir_int(b, LW_DT_u64, 0)));
    copy_inst(c, at);
    lw_ir_end(b);
    barrier(c);
}

static lw_ref
combined(copier *c, const sum *one, lw_ref x, lw_ref y)
{
    return one->op == LW_OP_MUL ? lw_ir_mul(&c->b, x, y) : lw_ir_add(&c->b, x, y);
}

/* Each thread starts with nothing; -0.0 is what leaves every float as it is. */
static void
start_sum(copier *c, sum *one)
{
    lw_builder *b = &c->b;
    lw_ref slot = c->to[one->slot];
    lw_dtype type = (lw_dtype)c->s->func->insts.data[one->slot].type;

    one->before = lw_ir_get(b, slot);
    lw_ir_set(b, slot,
              lw_is_float(type) ? lw_ir_float(b, type, one->op == LW_OP_MUL ? 1.0 : -0.0)
                                : lw_ir_int(b, type, one->op == LW_OP_MUL));
}

static lw_ref
cell(copier *c, lw_ref base, lw_ref number, int64_t size)
{
    return lw_ir_offset(
        &c->b, base,
        lw_ir_cast(&c->b, LW_DT_i64,
                   lw_ir_mul(&c->b, number, lw_ir_int(&c->b, LW_DT_u64, size))));
}

/* Halving through shared memory: the order depends on nothing but the number of threads. */
static void
finish_sum(copier *c, const sum *one)
{
    lw_builder *b = &c->b;
    lw_ref slot = c->to[one->slot], shared, mine;
    lw_dtype type = (lw_dtype)c->s->func->insts.data[one->slot].type;
    int64_t size = lw_dtypes[type].size_bytes;

    shared = lw_ir_shared(b, (uint32_t)(c->n_threads * size), 16);
    mine = cell(c, shared, c->tid, size);
    lw_ir_store(b, mine, lw_ir_get(b, slot), 0, 0);
    barrier(c);
    for (int64_t half = c->n_threads / 2; half > 0; half /= 2) {
        lw_ref other = lw_ir_offset(b, mine, lw_ir_int(b, LW_DT_i64, half * size));
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, c->tid, lw_ir_int(b, LW_DT_u64, half)));
        lw_ir_store(b, mine,
                    combined(c, one, lw_ir_load(b, type, 1, mine, 0, 0),
                             lw_ir_load(b, type, 1, other, 0, 0)),
                    0, 0);
        lw_ir_end(b);
        barrier(c);
    }
    lw_ir_set(b, slot, combined(c, one, one->before, lw_ir_load(b, type, 1, shared, 0, 0)));
}

static void
copy_loop(copier *c, spread_loop *l)
{
    lw_builder *b = &c->b;
    lw_dtype type = (lw_dtype)c->s->func->insts.data[l->counter].type;
    lw_ref counter = c->to[l->counter];

    if (l->stores)
        barrier(c);
    for (uint32_t i = 0; i < l->n_sums; i++)
        start_sum(c, &l->sums[i]);
    lw_ir_set(b, counter, lw_ir_cast(b, type, c->tid));
    for (uint32_t i = l->at; i <= l->latch; i++)
        copy_inst(c, i);
    lw_ir_set(b, counter,
              lw_ir_add(b, lw_ir_get(b, counter), lw_ir_int(b, type, c->n_threads)));
    copy_inst(c, l->end);
    for (uint32_t i = 0; i < l->n_sums; i++)
        finish_sum(c, &l->sums[i]);
    if (l->stores)
        barrier(c);
}

static void
copy_body(copier *c)
{
    uint32_t next = 0;

    for (uint32_t i = 1; i < c->s->func->insts.n; i++) {
        if (next < c->s->n_loops && c->s->loops[next].at == i) {
            copy_loop(c, &c->s->loops[next]);
            i = c->s->loops[next++].end;
        } else if (c->s->func->insts.data[i].op == LW_OP_STORE) {
            copy_store(c, i);
        } else {
            copy_inst(c, i);
        }
    }
}

static lw_status
start_function(copier *c, lw_module *module, lw_error *err)
{
    const lw_func *func = c->s->func;

    c->to = lw_arena_take(&module->arena, (func->insts.n + 1) * sizeof *c->to);
    c->params = lw_arena_take(&module->arena, (func->params.n + 1) * sizeof *c->params);
    if (c->to == NULL || c->params == NULL)
        return lw_fail_memory(err);
    lw_builder_start(&c->b, module, "lw_spread_body");
    for (uint32_t i = 0; i < func->params.n; i++)
        c->params[i] = lw_ir_param_add(&c->b, func->params.data[i].type,
                                       func->params.data[i].flags, func->params.data[i].name);
    for (uint32_t i = 0; i < func->results.n; i++)
        lw_ir_result_add(&c->b, func->results.data[i]);
    c->tid = lw_ir_cast(&c->b, LW_DT_u64,
                        lw_ir_cast(&c->b, LW_DT_u32, lw_ir_sreg(&c->b, LW_SREG_TID_X)));
    return LW_OK;
}

lw_status
lw_core_spread_body(const lw_gufunc_loop *loop, uint32_t n_threads, lw_module *module,
                    uint32_t *function, lw_error *err)
{
    spreader *s = lw_alloc_zero(1, sizeof *s);
    copier c = {.s = s, .n_threads = n_threads};
    lw_status status = LW_OK;

    if (s == NULL)
        return lw_fail_memory(err);
    if (!analyse(loop, s)) {
        status = lw_fail(err, LW_ERR_INTERNAL, "a body that cannot be spread");
        goto fail;
    }
    LW_TRY(start_function(&c, module, err));
    copy_body(&c);
    LW_TRY(lw_ir_finish(&c.b, err));
    *function = c.b.func_number;
fail:
    lw_free(s->ends);
    lw_free(s);
    return status;
}
