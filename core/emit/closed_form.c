/* Hides integers from LLVM where it would compute their closed forms, their widened forms or
 * comparisons of their sums incorrectly. Such an integer is passed through an instruction that
 * LLVM cannot look into and that ptxas removes.
 *
 * Closed forms: `s += i` makes s a polynomial of the loop's counter, which LLVM writes as a
 * product, i * (i - 1) / 2, where it needs s elsewhere, for example as the number of iterations
 * of an inner loop. For s & 3 it needs two bits only, so it counts i in two bits as well, and
 * loses the third bit, which the division needs: `for j in range(s % 4)` never ended
 * (libNVVM 13.0, seen on an H200, 2026-11-22; the error is in how LLVM's SCEVExpander
 * computes).
 *
 * Widened forms: where x of 32 bits is widened to 64 somewhere and x + 4 too, libNVVM for
 * compute_75 to 90 may compute the second as widened x plus 4, which differs where x + 4 wraps.
 * Nothing in its input says that the sum does not wrap: it does so with `xor i32 %x,
 * -2147483648` as well, for which LLVM has no flag (13.0 and 13.5, 2026-11-25). It happens in
 * functions with several loops, to sums with a constant, also one that is constant only after
 * inlining or unrolling; without a sign, or from 8 or 16 bits, it was not seen.
 *
 * Comparisons of sums: a loop that should end when x + k < x, that is, when the sum has
 * wrapped, ends after its first iteration in code for compute_75 to 90, whatever the values are
 * (13.0 and 13.5, 2026-11-29). The same happens with many comparisons of two sums that share an
 * addend, also inside products, negations and shifts, signed or unsigned, of 8 to 64 bits. The
 * result of a call may be such a sum, so it is treated as one, and so may a parameter of a
 * function that is inlined, and what was stored before. */
#include "core/emit/emit_internal.h"

enum {
    MOST_STEPS = 20000, /* of one search; beyond it everything is assumed to be a polynomial */
    MOST_SLOTS = 16,
    MOST_ADDENDS = 16,
    MOST_DEPTH = 4, /* calls between the comparison and the numbers that are compared */
    ANY = 2         /* the degree where it is not known */
};

typedef struct walker {
    const lw_func *func;
    uint32_t steps, n_slots, slots[MOST_SLOTS]; /* slots that are being examined */
    uint32_t again;                             /* bits: which of these were reached again */
} walker;

static uint32_t degree(walker *w, lw_ref value);

static uint32_t
larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The degree of the slot's value; one more where the value depends on the slot itself: s + i +
 * 1. */
static uint32_t
degree_of_slot(walker *w, lw_ref slot)
{
    const lw_inst *insts = w->func->insts.data;
    uint32_t most = 0, which = w->n_slots, stored;

    for (uint32_t i = 0; i < w->n_slots; i++)
        if (w->slots[i] == slot) {
            w->again |= UINT32_C(1) << i;
            return 0;
        }
    if (w->n_slots == MOST_SLOTS)
        return ANY;
    w->slots[w->n_slots++] = slot;
    for (uint32_t i = 1; i < w->func->insts.n && most < ANY; i++, w->steps++) {
        if (insts[i].op != LW_OP_SET || insts[i].a != slot)
            continue;
        w->again &= ~(UINT32_C(1) << which);
        stored = degree(w, insts[i].b);
        most = larger(most, stored + (w->again >> which & 1));
    }
    w->n_slots--;
    return most;
}

/* The degree in the counters of the enclosing loops; ANY or more: quadratic, or unknown. */
static uint32_t
degree(walker *w, lw_ref value)
{
    const lw_inst *inst = &w->func->insts.data[value];

    if (w->steps++ > MOST_STEPS)
        return ANY;
    switch ((lw_op)inst->op) {
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_OR:
    case LW_OP_AND: return larger(degree(w, inst->a), degree(w, inst->b));
    case LW_OP_MUL: return degree(w, inst->a) + degree(w, inst->b);
    case LW_OP_SELECT: return larger(degree(w, inst->b), degree(w, inst->c));
    case LW_OP_NEG:
    case LW_OP_NOT:
    case LW_OP_SHL:
    case LW_OP_CAST:
    case LW_OP_BITCAST: return degree(w, inst->a);
    case LW_OP_GET: return degree_of_slot(w, inst->a);
    case LW_OP_PARAM: return w->func->linkage == LW_KERNEL ? 0 : ANY;
    case LW_OP_LOAD: /* LLVM may keep in a register what a loop stores there */
    case LW_OP_LANE:
    case LW_OP_CALL:
    case LW_OP_RECUR:
    case LW_OP_RESULT: return ANY;
    default: return 0;
    }
}

/* Passes x, of 32 or 64 bits, through an inline assembly instruction. LLVM merges instructions
 * with equal texts and equal operands; `before` and `after` are put around the text to keep two
 * such instructions apart. */
static lw_name
passed_on(lw_emitter *e, uint32_t bits, const char *before, const char *after, const char *x)
{
    return lw_def(e, "call i$u asm \"$smov.b$u $$0, $$1;$s\", \"$s\"(i$u $s)" LW_PURE_ASM, bits,
                  before, bits, after, bits == 64 ? "=l,l" : "=r,r", bits, x);
}

static lw_name
hidden(lw_emitter *e, lw_ref value, lw_dtype type)
{
    return passed_on(e, lw_dtypes[type].bits, "", "", lw_operand(e, value).text);
}

lw_name
lw_unfolded(lw_emitter *e, lw_ref value, uint32_t least)
{
    lw_dtype type = lw_operand_type(e, value);
    walker w = {.func = e->func};

    if (!e->gpu || e->inst->lanes > 1 || !lw_is_integer(type) || lw_dtypes[type].bits < 32 ||
        degree(&w, value) < least)
        return lw_operand(e, value);
    return hidden(e, value, type);
}

static lw_ref
without_casts(const lw_func *func, lw_ref value)
{
    const lw_inst *insts = func->insts.data;

    while ((insts[value].op == LW_OP_CAST || insts[value].op == LW_OP_BITCAST) &&
           lw_is_integer((lw_dtype)insts[insts[value].a].type))
        value = insts[value].a;
    return value;
}

/* The values from which an integer is computed by sums, products, shifts, operations on bits
 * and casts, without constants: in LLVM's view, the addends of a sum. At most MOST_ADDENDS of
 * them. */
typedef struct addends {
    const lw_func *func;
    lw_ref values[MOST_ADDENDS];
    uint32_t n;
    bool is_sum;    /* not only the number itself or its casts */
    bool has_call;  /* one of them is the result of a call, which may be any sum */
    bool has_param; /* one of them is a parameter for which a caller may pass any sum */
    bool has_load;  /* one of them is loaded from memory that the function may have written */
} addends;

static void
collect(addends *all, lw_ref value)
{
    const lw_inst *inst;

    value = without_casts(all->func, value);
    inst = &all->func->insts.data[value];
    if (all->n == MOST_ADDENDS)
        return;
    switch ((lw_op)inst->op) {
    case LW_OP_CONST: return;
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_MUL:
    case LW_OP_AND:
    case LW_OP_OR:
    case LW_OP_XOR:
    case LW_OP_SHL:
        all->is_sum = true;
        collect(all, inst->a);
        collect(all, inst->b);
        return;
    case LW_OP_NEG:
    case LW_OP_NOT:
        all->is_sum = true;
        collect(all, inst->a);
        return;
    case LW_OP_CALL:
    case LW_OP_RECUR:
    case LW_OP_RESULT: all->has_call = true; break;
    case LW_OP_PARAM: all->has_param |= all->func->linkage != LW_KERNEL; break;
    case LW_OP_LOAD: all->has_load |= !(inst->flags & LW_MEM_INVARIANT); break;
    default: break;
    }
    all->values[all->n++] = value;
}

static addends
addends_of(const lw_func *func, lw_ref value)
{
    addends all = {.func = func};

    collect(&all, value);
    return all;
}

bool
lw_may_be_sum(const lw_func *func, lw_ref value)
{
    addends all = addends_of(func, value);

    return all.is_sum || all.has_call || all.has_param;
}

static bool
is_same(const lw_inst *insts, lw_ref a, lw_ref b)
{
    return a == b ||
           (insts[a].op == LW_OP_GET && insts[b].op == LW_OP_GET && insts[a].a == insts[b].a);
}

/* A search through callers for sums that have an addend in common. */
typedef struct search {
    const lw_emitter *e;
    uint32_t steps;
} search;

static bool shares_addend(search *s, uint32_t number, lw_ref a, lw_ref b, uint32_t depth);

/* Whether some call passes sums that have an addend in common for parameters that these are
 * computed from. */
static bool
callers_share(search *s, uint32_t number, const addends *left, const addends *right,
              uint32_t depth)
{
    const lw_emitter *e = s->e;
    const lw_inst *insts = left->func->insts.data;

    for (uint32_t c = e->callees[number].first_call; c; c = e->calls.data[c - 1].next) {
        const lw_emit_call_site *call = &e->calls.data[c - 1];
        const lw_func *caller = e->module->funcs.data[call->caller];
        const uint32_t *given = caller->lists.data + caller->insts.data[call->at].b;

        for (uint32_t i = 0; i < left->n * right->n; i++) {
            const lw_inst *x = &insts[left->values[i % left->n]];
            const lw_inst *y = &insts[right->values[i / left->n]];

            if (x->op == LW_OP_PARAM && y->op == LW_OP_PARAM &&
                shares_addend(s, call->caller, given[x->a], given[y->a], depth + 1))
                return true;
        }
    }
    return false;
}

/* Whether two numbers of a function are, or may be, sums that have an addend in common. */
static bool
shares_addend(search *s, uint32_t number, lw_ref a, lw_ref b, uint32_t depth)
{
    const lw_func *func = s->e->module->funcs.data[number];
    addends left = addends_of(func, a), right = addends_of(func, b);
    bool some_sum = left.is_sum || right.is_sum || depth > 0;

    if (left.n == 0 || right.n == 0)
        return false;
    if (left.has_call || right.has_call || left.n == MOST_ADDENDS || right.n == MOST_ADDENDS ||
        depth == MOST_DEPTH || s->steps++ > MOST_STEPS)
        return true;
    if ((left.has_load || right.has_load) &&
        (some_sum ? s->e->stores_integers : s->e->stores_sums))
        return true;
    for (uint32_t i = 0; i < left.n && some_sum; i++)
        for (uint32_t k = 0; k < right.n; k++)
            if (is_same(func->insts.data, left.values[i], right.values[k]))
                return true;
    return left.has_param && right.has_param && callers_share(s, number, &left, &right, depth);
}

bool
lw_emit_wrap_test(lw_emitter *e, const char *test)
{
    lw_dtype type = lw_operand_type(e, e->inst->a);
    const char *widen = lw_is_signed(type) ? "sext" : "zext";
    uint32_t bits = lw_dtypes[type].bits == 64 ? 64 : 32;
    search s = {.e = e};
    lw_name x, y;

    if (!e->gpu || !lw_is_integer(type) ||
        !shares_addend(&s, e->number, e->inst->a, e->inst->b, 0))
        return false;
    x = lw_operand(e, e->inst->a);
    y = lw_operand(e, e->inst->b);
    if (lw_dtypes[type].bits < 32) {
        x = lw_def(e, "$s $t $s to i32", widen, type, x.text);
        y = lw_def(e, "$s $t $s to i32", widen, type, y.text);
    }
    y = passed_on(e, bits, "{ ", " }", y.text); /* hidden() may have hidden the same number */
    lw_result(e, "icmp $s i$u $s, $s", test, bits, x.text, y.text);
    return true;
}

static bool
is_small(const lw_emitter *e, lw_ref value, int64_t most)
{
    const lw_inst *inst = &e->func->insts.data[value];
    int32_t number;

    if (inst->op != LW_OP_CONST)
        return false;
    number = (int32_t)e->func->constants.data[inst->a].bits;
    return number >= -most && number <= most;
}

/* Whether it counts: from a small number in small steps, so that it does not wrap before some
 * million iterations. Hidden, it would no longer be a constant in unrolled loops. */
static bool
is_counter(const lw_emitter *e, lw_ref slot)
{
    const lw_inst *insts = e->func->insts.data, *sum;

    for (uint32_t i = 1; i < e->func->insts.n; i++) {
        if (insts[i].op != LW_OP_SET || insts[i].a != slot || is_small(e, insts[i].b, 1 << 20))
            continue;
        sum = &insts[insts[i].b];
        if (sum->op != LW_OP_ADD || insts[sum->a].op != LW_OP_GET || insts[sum->a].a != slot ||
            !is_small(e, sum->b, 1 << 10))
            return false;
    }
    return true;
}

/* Whether LLVM can find no sum in it, or only one that does not wrap. */
static bool
is_no_sum(const lw_emitter *e, lw_ref value)
{
    const lw_inst *inst = &e->func->insts.data[value];
    lw_dtype from;

    switch ((lw_op)inst->op) {
    case LW_OP_CONST:
    case LW_OP_SREG:
    case LW_OP_ATOMIC: return true;
    case LW_OP_PARAM: return e->func->linkage == LW_KERNEL;
    case LW_OP_GET: return is_counter(e, inst->a);
    case LW_OP_LOAD: return inst->flags & LW_MEM_INVARIANT;
    case LW_OP_CAST:
        from = lw_operand_type(e, inst->a);
        return lw_is_float(from) || lw_dtypes[from].bits < 32;
    default: return inst->flags & LW_NO_WRAP;
    }
}

lw_name
lw_unwidened(lw_emitter *e, lw_ref value)
{
    lw_dtype type = lw_operand_type(e, value);

    if (!e->typed || type != LW_DT_i32 || e->inst->lanes > 1 || is_no_sum(e, value))
        return lw_operand(e, value);
    return hidden(e, value, type);
}
