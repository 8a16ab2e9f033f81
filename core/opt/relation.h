/* How two values can relate, and what follows from it: code that only compares the two and
 * selects is understood by running it once for each relation, whatever it looks like. The
 * relations of numbers with an order and NaN are few, so that this is exact. Pure C. */
#ifndef LW_OPT_RELATION_H
#define LW_OPT_RELATION_H

#include "core/block/scan.h"

/* What the second value is to the first. */
typedef enum lw_relation {
    LW_IS_LESS,
    LW_IS_EQUAL,
    LW_IS_MORE,
    LW_SECOND_IS_NAN,
    LW_FIRST_IS_NAN,
    LW_BOTH_ARE_NAN,
    LW_N_RELATIONS
} lw_relation;

/* A set of relations has bit `1 << relation` for each: those of values that cannot be NaN. */
enum {
    LW_ORDERED_RELATIONS = 1 << LW_IS_LESS | 1 << LW_IS_EQUAL | 1 << LW_IS_MORE,
    LW_ALL_RELATIONS = (1 << LW_N_RELATIONS) - 1
};

typedef enum lw_side { LW_FIRST, LW_SECOND } lw_side;

bool lw_relation_is_nan(lw_relation is, lw_side side);
/* Whether the comparison (LW_OP_EQ … LW_OP_GE) of the two, or of one with itself, holds. */
bool lw_relation_holds(lw_relation is, lw_op comparison, lw_side left, lw_side right);
/* What NOT, AND, OR, XOR or SELECT gives for bits; c is SELECT's alone. */
bool lw_logic_holds(lw_op op, bool a, bool b, bool c);
/* `taken` is the set of relations under which the second value replaces the first. False: that
 * does not select the first or the last of the best of a total order. */
bool lw_relation_preference(uint32_t taken, lw_preference *out);

#endif
