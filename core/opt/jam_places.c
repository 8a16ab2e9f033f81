/* Elements that belong to one iteration. In
 *
 *     for i: y[i] = 0; for j: y[i] += a[i, j] * x[j]
 *
 * the sum is in memory. If all accesses of y have this address, which is affine in i and not
 * the same for two of them (compared in front of the loop), then four iterations use four
 * elements, and what is done to one of them keeps its order. The element is kept in a variable
 * from its first access, which every iteration has, to the split. A variable is stored and
 * loaded without a change of its bits. */
#include "core/opt/jam_internal.h"

#include "core/ir/operands.h"

#include <assert.h>
#include <string.h>

bool
lw_jam_is_always_executed(const lw_jammer *j, uint32_t first, uint32_t at)
{
    for (uint32_t i = first; i < at; i++)
        if (lw_ir_opens_region((lw_op)lw_jam_inst(j, i)->op)) {
            if (j->regions.ends[i] > at)
                return false;
            i = j->regions.ends[i];
        }
    return true;
}

const lw_jam_place *
lw_jam_place_of(const lw_jammer *j, const lw_jam_nest *nest, uint32_t at)
{
    assert(j->place[at] <= nest->n_places);
    return j->place[at] ? &nest->places[j->place[at] - 1] : NULL;
}

/* Whether two values of the body are computed in the same way from the same values. */
static bool
are_equal(const lw_jammer *j, lw_ref p, lw_ref q, int depth)
{
    const lw_inst *a = lw_jam_inst(j, p), *b = lw_jam_inst(j, q);
    const char *args = lw_ops[a->op].args;
    const uint32_t of_a[3] = {a->a, a->b, a->c}, of_b[3] = {b->a, b->b, b->c};

    if (p == q)
        return true;
    if (depth == 0 || a->op != b->op || a->type != b->type || a->lanes != b->lanes ||
        args[1] == 'L')
        return false;
    if (a->op == LW_OP_CONST)
        return j->old.constants.data[a->a].bits == j->old.constants.data[b->a].bits;
    if (a->op == LW_OP_GET) /* no iteration sets it */
        return a->a == b->a && j->kinds[p] <= LW_JAM_OUTER && j->kinds[q] <= LW_JAM_OUTER;
    if (lw_ops[a->op].class != LW_CLASS_PURE)
        return false;
    for (int k = 0; k < 3; k++)
        if (args[k] == 'v' ? !are_equal(j, of_a[k], of_b[k], depth - 1) : of_a[k] != of_b[k])
            return false;
    return true;
}

static const lw_inst *
accessed(const lw_jammer *j, uint32_t at)
{
    return lw_jam_inst(j, at)->op == LW_OP_LOAD ? lw_jam_inst(j, at)
                                                : lw_jam_inst(j, lw_jam_inst(j, at)->b);
}

/* Whether all accesses of the array are of the element that the first one is of. */
static bool
is_place(const lw_jammer *j, const lw_jam_nest *nest, lw_ref root, uint32_t *first)
{
    *first = 0;
    for (uint32_t i = nest->outer.first; i < nest->outer.latch; i++) {
        if (!lw_op_is_access((lw_op)lw_jam_inst(j, i)->op) ||
            lw_ir_root(&j->old, lw_jam_inst(j, i)->a) != root)
            continue;
        if (*first == 0)
            *first = i;
        if (j->kinds[lw_jam_inst(j, i)->a] != LW_JAM_OUTER || accessed(j, i)->lanes > 1 ||
            accessed(j, i)->type != accessed(j, *first)->type ||
            !are_equal(j, lw_jam_inst(j, i)->a, lw_jam_inst(j, *first)->a, 2 * LW_JAM_DEPTH))
            return false;
    }
    return lw_jam_is_always_executed(j, nest->outer.first, *first);
}

void
lw_jam_places(lw_jammer *j, lw_jam_nest *nest)
{
    uint32_t first;

    memset(j->place, 0, j->old.insts.n * sizeof *j->place);
    for (uint32_t i = nest->outer.first; i < nest->outer.latch; i++) {
        lw_ref root = lw_jam_inst(j, i)->op == LW_OP_STORE
                          ? lw_ir_root(&j->old, lw_jam_inst(j, i)->a)
                          : 0;
        if (root == 0 || j->place[i] != 0 || nest->n_places == LW_JAM_PLACES ||
            !is_place(j, nest, root, &first))
            continue;
        nest->places[nest->n_places++] =
            (lw_jam_place){.root = root,
                           .first = first,
                           .bytes = lw_dtypes[accessed(j, first)->type].size_bytes};
        for (uint32_t k = first; k < nest->outer.latch; k++)
            if (lw_op_is_access((lw_op)lw_jam_inst(j, k)->op) &&
                lw_ir_root(&j->old, lw_jam_inst(j, k)->a) == root)
                j->place[k] = (uint8_t)nest->n_places;
    }
}

/* Where the part of the iteration begins that the instruction is in: an inner loop's body, or
 * the iteration. */
static uint32_t
part_begin(const lw_jam_nest *nest, uint32_t at)
{
    for (uint32_t n = 0; n < nest->n_inner; n++)
        if (at >= nest->inner[n].first && at < nest->inner[n].latch)
            return nest->inner[n].first;
    return nest->outer.first;
}

bool
lw_jam_keep_places(lw_jammer *j, lw_jam_nest *nest)
{
    for (uint32_t i = nest->outer.first; i < nest->split; i++)
        if (j->place[i] != 0) {
            lw_jam_place *place = &nest->places[j->place[i] - 1];
            bool stores = lw_jam_inst(j, i)->op == LW_OP_STORE;
            if (stores && !lw_jam_is_always_executed(j, part_begin(nest, i), i))
                return false; /* the element would be written where the program does not */
            place->needed = true;
            place->kept |= stores;
            assert(place->first < nest->split);
        }
    return true;
}
