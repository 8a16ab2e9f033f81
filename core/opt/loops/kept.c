#include "core/opt/loops/kept.h"

#include "core/opt/loops/access_pattern.h"
#include "core/opt/loops/carried.h"

#include <assert.h>

/* An iteration is unrolled up to this weight, where a function of the math library weighs as
 * much as so many instructions. */
enum { MOST_WEIGHT = 160, WEIGHT_OF_FUNCTION = 12 };

/* ---- dimensions ---- */

static lw_ref
without_casts(const lw_spreader *s, lw_ref ref)
{
    while (lw_inst_at(s, ref)->op == LW_OP_CAST && lw_is_integer(lw_inst_at(s, ref)->type) &&
           lw_is_integer(lw_inst_at(s, lw_inst_at(s, ref)->a)->type))
        ref = lw_inst_at(s, ref)->a;
    return ref;
}

static bool
is_zero(const lw_spreader *s, lw_ref ref)
{
    const lw_inst *inst = lw_inst_at(s, without_casts(s, ref));

    return inst->op == LW_OP_CONST && s->func->constants.data[inst->a].bits == 0;
}

/* The extent that the loop counts to: n, or 0 < n ? n - 0 : 0, as `range` computes it. */
static int
dim_of(const lw_spreader *s, const lw_spread_loop *l)
{
    lw_ref limit = without_casts(s, l->limit);
    const lw_inst *inst = lw_inst_at(s, limit), *is_less, *length;

    if (inst->op == LW_OP_SELECT) {
        is_less = lw_inst_at(s, inst->a);
        length = lw_inst_at(s, without_casts(s, inst->b));
        if (is_less->op != LW_OP_LT || !is_zero(s, is_less->a) || !is_zero(s, inst->c))
            return -1;
        limit = without_casts(s, inst->b);
        if (length->op == LW_OP_SUB && is_zero(s, length->b))
            limit = without_casts(s, length->a);
        if (limit != without_casts(s, is_less->b))
            return -1;
    }
    inst = lw_inst_at(s, limit);
    return inst->op == LW_OP_PARAM ? lw_dim_of_param(s, inst->a) : -1;
}

/* ---- accesses ---- */

static lw_dtype
type_of(const lw_spreader *s, const lw_inst *access)
{
    return (lw_dtype)(access->op == LW_OP_LOAD ? access->type : lw_inst_at(s, access->b)->type);
}

int
lw_kept_access(const lw_spreader *s, const lw_spread_loop *l, uint32_t at)
{
    const lw_inst *inst = lw_inst_at(s, at);
    const lw_spread_array *array;
    lw_access_pattern p;
    lw_shift shift = {0};
    bool wraps;

    if (!lw_op_is_access((lw_op)inst->op) || inst->lanes > 1 ||
        !lw_access_pattern_of(s, inst->a, &p) || p.n_terms != 1)
        return -1;
    array = &s->of->arrays[p.operand];
    if (array->ndim != 1 || array->dims == NULL || array->dims[0] != dim_of(s, l) ||
        lw_dtypes[type_of(s, inst)].size_bytes != array->size_bytes)
        return -1;
    if (!lw_shift_add(s, l, lw_index_of(s, p.terms[0].index, &wraps), false, &shift) ||
        shift.n != 0 || shift.step != 1)
        return -1;
    return p.operand;
}

/* ---- loops ---- */

/* Whether the loop is worth unrolling; adds what an iteration weighs. */
static bool
is_short(const lw_spreader *s, const lw_spread_loop *l, uint32_t *weight)
{
    uint32_t sum = 0;

    for (uint32_t i = l->first; i < l->latch; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op == LW_OP_LOOP || inst->op == LW_OP_CALL)
            return false;
        if (inst->op != LW_OP_CONST && inst->op != LW_OP_PARAM)
            sum += inst->op == LW_OP_INTRINSIC ? WEIGHT_OF_FUNCTION : 1;
    }
    if (sum > MOST_WEIGHT)
        return false;
    *weight += sum;
    return true;
}

static bool
can_unroll(const lw_spreader *s, const lw_spread_loop *l, int dim, uint32_t *weight)
{
    return !l->searches && !l->scans && !l->continues && l->n_guards == 0 &&
           dim_of(s, l) == dim && is_short(s, l, weight);
}

/* Whether the loop at a LOOP may leave more than itself. */
static bool
searches_at(const lw_spreader *s, uint32_t at)
{
    for (uint32_t i = 0; i < s->n_loops; i++)
        if (s->loops[i].at == at)
            return s->loops[i].searches;
    return true;
}

/* A BLOCK is a function that is inlined: its loops are run unless a BREAK in front of them may
 * leave it. */
bool
lw_kept_is_certain(const lw_spreader *s, const lw_spread_loop *l)
{
    bool in_block = false;

    for (uint32_t i = 1; i < l->at; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op == LW_OP_LOOP && in_block && searches_at(s, i))
            return false;
        if (inst->op == LW_OP_LOOP)
            i = s->regions.ends[i];
        else if (s->regions.ends[i] > l->at && inst->op != LW_OP_BLOCK)
            return false;
        else if (inst->op == LW_OP_BREAK && in_block)
            return false;
        in_block |= inst->op == LW_OP_BLOCK && s->regions.ends[i] > l->at;
    }
    return true;
}

static const lw_spread_loop *
loop_around(const lw_spreader *s, const lw_kept *kept, uint32_t at)
{
    for (uint32_t i = 0; i < s->n_loops; i++)
        if ((kept->loops >> i & 1) && at > s->loops[i].at && at < s->loops[i].latch)
            return &s->loops[i];
    return NULL;
}

/* All threads run the first iteration of some loops that pick: it belongs to none of them. */
static int
own_access(const lw_spreader *s, const lw_kept *kept, uint32_t at, const lw_spread_loop **l)
{
    *l = loop_around(s, kept, at);
    return *l != NULL && !lw_picks_start_together(*l) ? lw_kept_access(s, *l, at) : -1;
}

/* Finds out which arrays are accessed by whom, now that kept->loops are known. */
static void
look_at_arrays(const lw_spreader *s, lw_kept *kept, uint32_t *seen_in)
{
    for (uint32_t i = 0; i < s->of->n_arrays; i++)
        kept->arrays[i] = (lw_kept_array){.own = true};
    for (uint32_t i = 1; i < s->func->insts.n; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        const lw_spread_loop *l;
        int root = lw_op_is_access((lw_op)inst->op) ? lw_root_of(s, inst->a) : -1;
        lw_kept_array *array = root < 0 ? NULL : &kept->arrays[root];
        if (array == NULL)
            continue;
        array->stored |= inst->op == LW_OP_STORE;
        if (own_access(s, kept, i, &l) < 0) {
            array->own = false;
            continue;
        }
        if (seen_in[root] != 0 && type_of(s, inst) != array->type)
            array->own = false;
        array->type = type_of(s, inst);
        seen_in[root] |= 1u << (l - s->loops);
    }
}

/* Keeps what more than one loop accesses. */
static bool
keep_arrays(const lw_spreader *s, lw_kept *kept, const uint32_t *seen_in)
{
    bool any = false;

    for (uint32_t i = 0; i < s->of->n_arrays; i++) {
        lw_kept_array *array = &kept->arrays[i];
        bool twice = (seen_in[i] & (seen_in[i] - 1)) != 0;
        array->kept = twice && (array->own || !array->stored);
        any |= array->kept;
    }
    return any;
}

/* Whether an element is in registers between loop number `at` and the one before: loops on both
 * sides access it. */
static bool
is_live_before(uint32_t seen_in, uint32_t at)
{
    uint32_t earlier = ((uint32_t)1 << at) - 1;

    return (seen_in & earlier) != 0 && (seen_in & ~earlier) != 0;
}

/* The most bytes that an iteration has in registers between two loops. */
static uint32_t
most_bytes(const lw_spreader *s, const lw_kept *kept, const uint32_t *seen_in)
{
    uint32_t most = 0;

    for (uint32_t at = 1; at < s->n_loops; at++) {
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < s->of->n_arrays; i++)
            if (kept->arrays[i].kept && is_live_before(seen_in[i], at))
                bytes += lw_dtypes[kept->arrays[i].type].size_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool
keeps_along(lw_spreader *s, lw_kept *kept, int dim)
{
    uint32_t *seen_in = lw_arena_take(&s->arena, (s->of->n_arrays + 1) * sizeof *seen_in);

    kept->loops = kept->bytes = kept->weight = 0;
    if (seen_in == NULL)
        return false;
    for (uint32_t i = 0; i < s->n_loops; i++)
        if (can_unroll(s, &s->loops[i], dim, &kept->weight))
            kept->loops |= 1u << i;
    if ((kept->loops & (kept->loops - 1)) == 0)
        return false;
    look_at_arrays(s, kept, seen_in);
    if (!keep_arrays(s, kept, seen_in))
        return false;
    kept->bytes = most_bytes(s, kept, seen_in);
    return true;
}

lw_kept
lw_kept_find(lw_spreader *s)
{
    lw_kept kept = {.arrays =
                        lw_arena_take(&s->arena, (s->of->n_arrays + 1) * sizeof *kept.arrays)};

    static_assert(LW_MOST_LOOPS <= 32, "a bit for each loop");
    if (kept.arrays == NULL || s->of->writes_there) /* which may be the arrays */
        return (lw_kept){0};
    for (uint32_t i = 0; i < s->n_loops; i++) {
        int dim = dim_of(s, &s->loops[i]);
        if (dim >= 0 && keeps_along(s, &kept, dim)) {
            kept.dim = (uint32_t)dim + 1;
            return kept;
        }
    }
    return (lw_kept){0};
}

/* ---- stores ---- */

/* Whether each iteration of the loop stores to its element of the array. */
static bool
overwrites(const lw_spreader *s, const lw_spread_loop *l, int array)
{
    for (uint32_t i = l->first; i < l->latch; i++) {
        if (s->regions.ends[i])
            i = s->regions.ends[i];
        else if (lw_inst_at(s, i)->op == LW_OP_STORE && lw_kept_access(s, l, i) == array)
            return true;
    }
    return false;
}

/* Whether the function may end, or leave a BLOCK, between two of its loops. */
static bool
may_leave(const lw_spreader *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const lw_inst *inst = lw_inst_at(s, i);
        if (inst->op == LW_OP_IF && lw_is_never(s, inst->a) && s->regions.middles[i] == 0)
            i = s->regions.ends[i];
        else if (inst->op == LW_OP_RETURN || inst->op == LW_OP_BREAK)
            return true;
    }
    return false;
}

bool
lw_kept_is_dead(const lw_spreader *s, const lw_kept *kept, const lw_spread_loop *l,
                uint32_t store)
{
    int array = lw_kept_access(s, l, store);
    uint32_t from = l->end;

    if (array < 0 || !kept->arrays[array].kept || !lw_kept_is_certain(s, l))
        return false;
    if (lw_is_in_branch(s, l, store))
        return false;
    for (const lw_spread_loop *next = l + 1; next < s->loops + s->n_loops; next++) {
        if (may_leave(s, from, next->at) || next->searches)
            return false;
        if ((kept->loops >> (next - s->loops) & 1) && lw_kept_is_certain(s, next) &&
            overwrites(s, next, array))
            return true;
        from = next->end;
    }
    return false;
}
