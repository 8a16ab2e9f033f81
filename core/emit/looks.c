/* Ctrl-C in compiled code of the host. Loops count their iterations, and the code calls
 * lw_stop_look (core/host/pieces.h) in these places:
 *
 * - behind a loop that had MANY iterations or more, if the loop stands in another one, or in a
 *   function that another function of the user's calls;
 * - in a loop around other loops, every SOME iterations;
 * - in an innermost loop with a chain, every MANY iterations. A chain is a float that each
 *   iteration computes from what the one before has left; LLVM does not vectorise such a loop.
 *   With a division in the chain, or a call of libm in the loop, an iteration takes much longer
 *   than the check. A chain of integers counts where there is a division in it;
 * - in an innermost loop over vectors (core/opt/lanes), every MANY iterations: the elements of
 *   all lanes go through it together, so an iteration takes as long as those of several loops.
 *
 * Other innermost loops only count and are vectorised as before: the count is an induction
 * variable, whose last value LLVM computes without the loop. A nest of loops whose iterations
 * are known to be few has no checks. If they are very few, LLVM unrolls the nest and may
 * vectorise the loop around it, which is therefore treated as an innermost loop.
 *
 * Entry points, and outlined functions, which the doors make for them, have no checks, unless
 * loops of the user's function were inlined in them (core/opt/jam): their
 * loops are over elements, and lw_in_pieces gives them as many as take some milliseconds.
 *
 * Measured on one core of a Xeon with AVX-512, November 2026: products of matrices, distances,
 * stencils, and rows of five and more elements take the same time as without checks. Where the
 * inner loop has one to three iterations, and that is not known at compile time, an iteration
 * of the outer loop takes 0.1 to 0.5 ns longer. */
#include "core/base/memory.h"
#include "core/emit/emit_internal.h"
#include "core/ir/facts.h"
#include "core/ir/operands.h"

#include <string.h>

/* A look takes some 10 ns, as long as 20 to 40 iterations of a vectorised loop. There are at
 * most SOME * MANY iterations between two looks, a quarter of a million, which should take less
 * than 50 ms. */
enum { MANY = 4096, SOME = 64 };
/* SHORT: iterations of a nest that needs no look. UNROLLED: of a nest that is unrolled.
 * LARGE: instructions of a loop beside which a check costs nothing. */
enum { SHORT = 1 << 18, UNROLLED = 64, LARGE = 1024 };
#define UNKNOWN INT64_MAX

/* ---- how many iterations a loop has, where that is a constant ---- */

static bool value_of(const lw_emitter *e, const lw_func *func, lw_ref ref, int depth,
                     int64_t *value);

/* The value that all calls pass for this parameter. */
static bool
value_of_param(const lw_emitter *e, const lw_func *func, uint32_t param, int depth,
               int64_t *value)
{
    const lw_module *module = e->module;
    bool found = false;
    int64_t one = 0;

    for (uint32_t f = 0; f < module->funcs.n; f++) {
        const lw_func *caller = module->funcs.data[f];
        for (uint32_t i = 1; i < caller->insts.n; i++) {
            const lw_inst *call = &caller->insts.data[i];
            if (!lw_op_is_call((lw_op)call->op) || module->funcs.data[call->a] != func)
                continue;
            if (!value_of(e, caller, caller->lists.data[call->b + param], depth, &one) ||
                (found && one != *value))
                return false;
            *value = one;
            found = true;
        }
    }
    return found;
}

/* The value of a constant integer from 0 to SHORT. */
static bool
value_of(const lw_emitter *e, const lw_func *func, lw_ref ref, int depth, int64_t *value)
{
    const lw_inst *inst = &func->insts.data[ref];
    int64_t a = 0, b = 0, c = 0;

    if (depth == 0 || inst->lanes > 1 || lw_is_float((lw_dtype)inst->type))
        return false;
    switch (inst->op) {
    case LW_OP_CONST: *value = (int64_t)func->constants.data[inst->a].bits; break;
    case LW_OP_PARAM: return value_of_param(e, func, inst->a, depth - 1, value);
    case LW_OP_CAST:
    case LW_OP_BITCAST: return value_of(e, func, inst->a, depth - 1, value);
    case LW_OP_SELECT:
        return value_of(e, func, inst->a, depth - 1, &a) &&
               value_of(e, func, inst->b, depth - 1, &b) &&
               value_of(e, func, inst->c, depth - 1, &c) && (*value = a ? b : c, true);
    case LW_OP_ADD:
    case LW_OP_SUB:
    case LW_OP_LT:
        if (!value_of(e, func, inst->a, depth - 1, &a) ||
            !value_of(e, func, inst->b, depth - 1, &b))
            return false;
        *value = inst->op == LW_OP_ADD ? a + b : inst->op == LW_OP_SUB ? a - b : a < b;
        break;
    default: return false;
    }
    return *value >= 0 && *value <= SHORT;
}

/* The iterations of a loop that begins as lw_ir_for emits it (get i; i < n), or UNKNOWN. */
static int64_t
iterations_of(const lw_emitter *e, const lw_func *func, uint32_t loop)
{
    const lw_inst *get = &func->insts.data[loop + 1], *less;
    int64_t n = 0;

    for (uint32_t i = loop + 2; i < func->insts.n && i < loop + 6; i++) {
        less = &func->insts.data[i];
        if (get->op == LW_OP_GET && less->op == LW_OP_LT && less->a == loop + 1)
            return value_of(e, func, less->b, 8, &n) ? n : UNKNOWN;
    }
    return UNKNOWN;
}

/* ---- chains ---- */

/* How a value is derived from a slot: by selections, which LLVM can vectorise; by arithmetic,
 * whose order counts; by a division or a call, which take longer than a check. */
enum { APART, SELECTED, COMPUTED, SLOWLY };

static bool
is_call(const lw_inst *inst)
{
    return inst->op == LW_OP_INTRINSIC && lw_intrinsics[inst->a].host_how == LW_HOW_CALL;
}

/* Integers that are divided by a constant are multiplied or shifted. */
static bool
is_division(const lw_func *func, const lw_inst *inst)
{
    return (inst->op == LW_OP_DIV || inst->op == LW_OP_REM) &&
           (lw_is_float((lw_dtype)inst->type) || func->insts.data[inst->b].op != LW_OP_CONST);
}

static uint8_t
derived(const lw_func *func, const lw_inst *inst, const uint8_t *how)
{
    uint8_t most = APART, least = SELECTED;
    uint32_t at = 0;
    lw_ref operand;

    while (lw_ir_next_operand(func, inst, &at, &operand))
        most = how[operand] > most ? how[operand] : most;
    if (is_division(func, inst) || is_call(inst))
        least = SLOWLY;
    else if (inst->op == LW_OP_ADD || inst->op == LW_OP_SUB || inst->op == LW_OP_MUL ||
             inst->op == LW_OP_FMA)
        least = inst->flags & LW_FAST_REASSOC ? SELECTED : COMPUTED;
    return most == APART || most > least ? most : least;
}

/* How an iteration computes the slot from what the one before has left in it. how: zero for all
 * instructions of the loop before and after. */
static uint8_t
chain_of(const lw_func *func, uint32_t begin, uint32_t end, lw_ref slot, uint8_t *how)
{
    bool seen = false;
    uint8_t most = APART;

    for (uint32_t i = begin; i < end; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_SET) {
            if (inst->a == slot && !seen)
                break;
            if (inst->a == slot && how[inst->b] > most)
                most = how[inst->b];
        } else if (inst->op == LW_OP_GET) {
            how[i] = inst->a == slot ? SELECTED : APART;
            seen |= inst->a == slot;
        } else {
            how[i] = derived(func, inst, how);
        }
    }
    memset(how + begin, APART, end - begin);
    return most;
}

/* Whether a loop works on vectors: core/opt/lanes_loops made it for the elements of some lanes,
 * so that an iteration takes as long as those of several loops. */
static bool
has_lanes(const lw_func *func, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        if (func->insts.data[i].lanes > 1)
            return true;
    return false;
}

static bool
has_chain(const lw_func *func, uint32_t begin, uint32_t end, uint8_t *how)
{
    uint8_t least = SLOWLY;

    if (end - begin > LARGE)
        return true;
    for (uint32_t i = begin; i < end; i++)
        if (is_call(&func->insts.data[i]))
            least = COMPUTED;
    for (uint32_t i = begin; i < end; i++) {
        const lw_inst *set = &func->insts.data[i];
        if (set->op == LW_OP_SET &&
            chain_of(func, begin, end, set->a, how) >=
                (lw_is_float((lw_dtype)func->insts.data[set->a].type) ? least : SLOWLY))
            return true;
    }
    return false;
}

/* ---- which loops look ---- */

typedef struct nest {
    lw_emitter *e;
    bool is_inner; /* another function of the user's calls this one */
    lw_ir_regions regions;
    uint8_t *how; /* of has_chain */
} nest;

/* The iterations of the loop and of all loops in it, or UNKNOWN; then e->loops says what it
 * does. */
static int64_t
judge(nest *n, uint32_t loop, bool is_inner)
{
    lw_emitter *e = n->e;
    const lw_func *func = e->func;
    uint32_t end = n->regions.ends[loop];
    int64_t own = iterations_of(e, func, loop), inner = 1, one;
    bool is_around = false;

    for (uint32_t i = loop + 1; i < end; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_LOOP) {
            one = judge(n, i, true);
            i = n->regions.ends[i];
        } else if (inst->op == LW_OP_RECUR ||
                   (inst->op == LW_OP_CALL && e->callees[inst->a].has_loop)) {
            one = UNKNOWN;
        } else {
            continue;
        }
        is_around |= one > UNROLLED;
        inner = one == UNKNOWN || inner == UNKNOWN ? UNKNOWN : inner + one;
    }
    if (own != UNKNOWN && inner <= SHORT && own * inner <= SHORT)
        return own * inner;
    e->loops[loop] = is_inner ? LW_LOOP_COUNTS : LW_LOOP_FREE;
    if (is_around)
        e->loops[loop] |= LW_LOOP_AROUND;
    else if (has_lanes(func, loop + 1, end) || has_chain(func, loop + 1, end, n->how))
        e->loops[loop] |= LW_LOOP_CHAIN;
    return UNKNOWN;
}

static bool
is_users(const lw_func *func)
{
    return func->linkage == LW_INTERNAL || func->has_inlined;
}

static bool
is_called_inside(const lw_emitter *e)
{
    for (uint32_t f = 0; f < e->module->funcs.n; f++) {
        const lw_func *caller = e->module->funcs.data[f];
        for (uint32_t i = 1; is_users(caller) && i < caller->insts.n; i++)
            if (lw_op_is_call((lw_op)caller->insts.data[i].op) &&
                e->module->funcs.data[caller->insts.data[i].a] == e->func)
                return true;
    }
    return false;
}

static void
find_loops(lw_emitter *e)
{
    uint32_t size = e->func->insts.n;
    nest n = {.e = e, .is_inner = is_called_inside(e)};

    e->loops = lw_alloc_zero(size, sizeof *e->loops);
    n.how = lw_alloc_zero(size, sizeof *n.how);
    if (e->loops == NULL || n.how == NULL || !lw_ir_regions_init(&n.regions, e->func)) {
        e->status = lw_fail_memory(e->err);
    } else {
        for (uint32_t i = 1; i < size; i++)
            if (e->func->insts.data[i].op == LW_OP_LOOP) {
                judge(&n, i, n.is_inner);
                i = n.regions.ends[i];
            }
        lw_ir_regions_reset(&n.regions);
    }
    lw_free(n.how);
}

void
lw_looks_begin(lw_emitter *e)
{
    if (e->gpu || e->context || e->options->frozen || !is_users(e->func))
        return;
    find_loops(e);
    for (uint32_t i = 1; e->status == LW_OK && i < e->func->insts.n; i++) {
        if (e->loops[i] == LW_LOOP_FREE)
            continue;
        lw_line(e, "%count_$u = alloca i64", i);
        lw_declare_line(e, LW_LOOK_DECLARATION);
    }
}

void
lw_looks_end(lw_emitter *e)
{
    lw_free(e->loops);
    e->loops = NULL;
}

/* ---- the code ---- */

static unsigned
looks_of(const lw_emitter *e, uint32_t loop)
{
    return e->loops && !e->ended ? e->loops[loop] : LW_LOOP_FREE;
}

/* The branch to a look, the look, and the block where the code goes on. */
static void
look_if(lw_emitter *e, lw_name is, const char *where, uint32_t loop)
{
    lw_line(e, "br i1 $s, label %look_$s_$u, label %on_$s_$u", is.text, where, loop, where,
            loop);
    lw_text_addf(e->out, "look_%s_%u:\n", where, loop);
    lw_line(e, "call void @lw_stop_look()");
    lw_line(e, "br label %on_$s_$u", where, loop);
    lw_text_addf(e->out, "on_%s_%u:\n", where, loop);
}

void
lw_look_open(lw_emitter *e)
{
    if (looks_of(e, e->at) != LW_LOOP_FREE)
        lw_line(e, "store i64 0, ptr %count_$u", e->at);
}

void
lw_look_at_latch(lw_emitter *e, uint32_t loop)
{
    unsigned looks = looks_of(e, loop);
    lw_name count, is;

    if (looks == LW_LOOP_FREE)
        return;
    count = lw_def(e, "load i64, ptr %count_$u", loop);
    count = lw_def(e, "add nuw nsw i64 $s, 1", count.text);
    lw_line(e, "store i64 $s, ptr %count_$u", count.text, loop);
    if (looks == LW_LOOP_COUNTS)
        return;
    is = lw_def(e, "and i64 $s, $u", count.text,
                (uint32_t)(looks & LW_LOOP_CHAIN ? MANY : SOME) - 1);
    is = lw_def(e, "icmp eq i64 $s, 0", is.text);
    look_if(e, is, "latch", loop);
}

void
lw_look_behind(lw_emitter *e, uint32_t loop)
{
    lw_name count;

    if (!(looks_of(e, loop) & LW_LOOP_COUNTS))
        return;
    count = lw_def(e, "load i64, ptr %count_$u", loop);
    look_if(e, lw_def(e, "icmp uge i64 $s, $u", count.text, (uint32_t)MANY), "end", loop);
}
