/* What the makers of a spread body share: spread_body.c, spread_scan.c. Pure C. */
#ifndef LW_OPT_LOOPS_COPIER_H
#define LW_OPT_LOOPS_COPIER_H

#include "core/ir/build.h"
#include "core/opt/loops/loops.h"

typedef struct lw_copier {
    lw_builder b;
    lw_spreader *s;
    lw_ref *to;     /* by value of the body */
    lw_ref *params; /* by number */
    lw_ref tid;     /* u64 */
    uint32_t n_threads;
} lw_copier;

static inline lw_dtype
lw_copier_type(const lw_copier *c, lw_ref value)
{
    return (lw_dtype)lw_inst_at(c->s, value)->type;
}

/* ---- spread_body.c ---- */

void lw_copier_inst(lw_copier *c, uint32_t at);
/* Behind a SET: the iteration is one that its pick may be of. */
void lw_copier_note_pick(lw_copier *c, const lw_spread_loop *l, uint32_t at);
/* What is counted, as it is at the start of iteration `number`. */
void lw_copier_counts(lw_copier *c, const lw_spread_loop *l, lw_ref number);

/* ---- spread_scan.c ---- */

/* The iteration whose number is in the counter. early: the first walk, of what does not wait
 * for a scan. kept: NULL, or by instruction what the first walk has loaded, for the second: a
 * value or, where a branch is around it, the slot that has it; 0: nothing. */
void lw_copier_iteration(lw_copier *c, const lw_spread_loop *l, bool early, lw_ref *kept);
/* As many iterations at a time as there are threads, or some times as many, one behind the
 * other: first what each brings, then, scanned, with the values that it finds. */
void lw_copier_scan(lw_copier *c, const lw_spread_loop *l);

#endif
