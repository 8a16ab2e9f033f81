/* What the files that write a spread body share: spread_body.c and spread_scan.c. Pure C. */
#ifndef LW_OPT_LOOPS_COPIER_H
#define LW_OPT_LOOPS_COPIER_H

#include "core/ir/build.h"
#include "core/opt/loops/kept.h"

typedef struct lw_copier {
    lw_builder b;
    lw_spreader *s;
    lw_ref *to;            /* by value of the body: its copy */
    lw_ref *params;        /* by number of the parameter */
    lw_thread_block block; /* tid: u64 */
    lw_kept kept;
    uint32_t band;      /* threads that have iterations, from `first` on; 0: all, from 0 on */
    lw_ref first, step; /* band: u32 */
    uint32_t share;     /* iterations of a thread in kept loops; 0: nothing is kept */
    bool whole;         /* each thread has all of them */
    lw_ref (*slots)[LW_MOST_SHARE]; /* by array: the element of each of its iterations */
    bool *filled;                   /* by array: its slots have the elements */
} lw_copier;

static inline lw_dtype
lw_copier_type(const lw_copier *c, lw_ref value)
{
    return (lw_dtype)lw_inst_at(c->s, value)->type;
}

/* ---- spread_body.c ---- */

void lw_copier_inst(lw_copier *c, uint32_t at);
/* Copies a value of the loop with all that it is computed from in the iteration: variables, the
 * counter among them, have the values that they have here. */
void lw_copier_value(lw_copier *c, const lw_spread_loop *l, lw_ref value);
/* Called after a SET has been copied: notes the iteration where the SET leads a pick. */
void lw_copier_note_pick(lw_copier *c, const lw_spread_loop *l, uint32_t at);
/* Sets the counted variables to their values at the start of iteration `number`. */
void lw_copier_counts(lw_copier *c, const lw_spread_loop *l, lw_ref number);

/* Copies an instruction of an iteration that one thread runs by itself. *eager: 0 before the
 * first. */
void lw_copier_shared_inst(lw_copier *c, const lw_spread_loop *l, uint32_t at, uint32_t *eager);

/* ---- spread_kept.c ---- */

/* Finds what can be kept by these threads. */
lw_status lw_copier_start_kept(lw_copier *c, lw_spread_threads threads, lw_error *err);
/* Whether the loop is one of those. */
bool lw_copier_keeps(const lw_copier *c, const lw_spread_loop *l);
/* Whether threads must wait for each other before and after the loop. */
bool lw_copier_waits(const lw_copier *c, const lw_spread_loop *l);
/* Gives each thread every n_threads-th iteration, each with code of its own, so that its
 * elements stay in registers. */
void lw_copier_kept(lw_copier *c, const lw_spread_loop *l);

/* ---- spread_scan.c ---- */

/* Copies the iteration whose number is in the counter. early: the first walk, which does
 * only what need not wait for a scan. kept: NULL, or for each instruction what the first
 * walk has loaded, for use by the second: a value or, under a branch, the slot that has it;
 * 0: nothing. */
void lw_copier_iteration(lw_copier *c, const lw_spread_loop *l, bool early, lw_ref *kept);
/* Takes as many consecutive iterations at a time as there are threads, or a multiple of
 * that: first computes what each adds, then scans this, then runs them with the values that
 * result. */
void lw_copier_scan(lw_copier *c, const lw_spread_loop *l);

#endif
