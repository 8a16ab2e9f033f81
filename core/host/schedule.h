/* Independent pieces of work on the CPU's cores, for every door. The size of each thread's part
 * follows from the measured cost of a piece, and Ctrl-C is looked for between pieces. The
 * caller decides what a piece is, and so which numbers are added to which: results depend
 * neither on the cost nor on the number of threads. Pure C. */
#ifndef LW_HOST_SCHEDULE_H
#define LW_HOST_SCHEDULE_H

#include "core/base/lock.h"
#include "core/front/typed.h"
#include "core/host/pieces.h"

/* Of several pieces that raised, the first one: the lowest number, whichever thread ran it. */
typedef struct lw_failure {
    lw_lock lock;
    int64_t at;                     /* -1: none */
    int32_t status;                 /* what it raised, */
    uint64_t words[LW_RAISE_WORDS]; /* and what that carries */
} lw_failure;

void lw_failure_init(lw_failure *failure);
/* Piece `at` has raised in this thread, whose words are noted (core/host/raise_note.h). */
void lw_failure_note(lw_failure *failure, int64_t at, int32_t status);

/* The least work that goes over several threads: calling the pool's and waiting for them takes
 * 1 to 3 µs while they are awake. */
#define LW_PARALLEL_PS 4e6
/* The least that a thread should get if more than two take part. */
#define LW_STEP_PS 5e6

typedef struct lw_work {
    int64_t n;          /* pieces; 0: nothing to do */
    lw_piece_body body; /* false: one of them raised, so that its part ends; others go on */
    void *context;
    _Atomic uint32_t *cost_ps; /* of a step; 0: not known. Kept up to date */
    int64_t steps;             /* of a piece, which costs as many times that; 0 counts as 1 */
    int64_t unit;              /* the body gets a multiple of these, but at the end; 0 is 1 */
    int64_t line;  /* parts that are long enough begin at multiples of this: a page, or less */
    bool steady;   /* pieces cost the same, whatever their values: they have no loop */
    bool in_order; /* on one thread: it prints */
    lw_stop *stop; /* asked some times a second; or NULL */
} lw_work;

/* Whether work that takes so long on this thread alone is worth several: if the pool's threads
 * are awake; and if not, once so much work was done alone within a short time that it is likely
 * to go on. Whoever then does the work alone says so by lw_work_alone, unless it was
 * lw_work_run. */
bool lw_work_pays(double ps);
void lw_work_alone(double ps);
/* Whether it may take long enough to let other Python threads run meanwhile. */
bool lw_work_is_long(const lw_work *work);
/* Gives whether all pieces were run: none raised, nothing stopped it. */
bool lw_work_run(const lw_work *work);

#endif
