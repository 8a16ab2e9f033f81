/* Independent pieces of work over the CPU's cores: how large the parts of the threads are
 * follows from what one piece was measured to cost. Pure C. */
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

typedef struct lw_work {
    int64_t n;          /* pieces, > 0 */
    lw_piece_body body; /* false: one of them raised, so that its part ends; others go on */
    void *context;
    _Atomic uint32_t *cost_ps; /* of a piece; 0: not known. Kept up to date */
    int64_t unit;              /* parts begin at multiples of this */
    bool in_order;             /* on one thread: it prints */
    lw_stop *stop;             /* asked some times a second; or NULL */
} lw_work;

/* Whether it may take long enough to let other Python threads run meanwhile. */
bool lw_work_is_long(const lw_work *work);
/* Gives whether all pieces were run: none raised, nothing stopped it. */
bool lw_work_run(lw_work *work);

#endif
