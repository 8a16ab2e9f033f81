#include "core/opt/relation.h"

#include <assert.h>

bool
lw_relation_is_nan(lw_relation is, lw_side side)
{
    return is == LW_BOTH_ARE_NAN ||
           is == (side == LW_FIRST ? LW_FIRST_IS_NAN : LW_SECOND_IS_NAN);
}

bool
lw_relation_holds(lw_relation is, lw_op comparison, lw_side left, lw_side right)
{
    int order = left == right ? 0 : is == LW_IS_LESS ? -1 : is == LW_IS_MORE ? 1 : 0;

    assert(comparison >= LW_OP_EQ && comparison <= LW_OP_GE);
    if (lw_relation_is_nan(is, left) || lw_relation_is_nan(is, right))
        return comparison == LW_OP_NE;
    return lw_op_holds(comparison, left == LW_SECOND ? order : -order);
}

bool
lw_logic_holds(lw_op op, bool a, bool b, bool c)
{
    switch (op) {
    case LW_OP_NOT: return !a;
    case LW_OP_AND: return a && b;
    case LW_OP_OR: return a || b;
    case LW_OP_SELECT: return a ? b : c;
    default: assert(op == LW_OP_XOR); return a != b;
    }
}

bool
lw_relation_preference(uint32_t taken, lw_preference *out)
{
    bool less = taken >> LW_IS_LESS & 1, more = taken >> LW_IS_MORE & 1;
    bool comes = taken >> LW_SECOND_IS_NAN & 1, leaves = taken >> LW_FIRST_IS_NAN & 1;
    bool both = taken >> LW_BOTH_ARE_NAN & 1;

    *out = (lw_preference){.op = more ? LW_OP_GT : LW_OP_LT,
                           .last = taken >> LW_IS_EQUAL & 1,
                           .nan_best = comes,
                           .nan_worst = leaves,
                           .nan_last = both};
    /* NaN is never taken, or comes before, or behind, all numbers */
    return less != more && !(comes && leaves) && (comes || leaves || !both);
}
