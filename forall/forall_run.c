#include "forall/forall_run.h"

enum { LINE = 64 }; /* parts of a space begin at multiples of this many elements */

/* False: one of the elements has raised. */
static bool
run_elements(void *context, int64_t begin, int64_t end)
{
    lw_space_run *run = context;
    int32_t status = 0;
    int64_t failed = run->code(run->values, run->space, begin, end, &status);

    if (failed >= 0)
        lw_failure_note(&run->failure, failed, status);
    return failed < 0;
}

static lw_work
work_of(lw_space_run *run)
{
    return (lw_work){.n = run->n,
                     .body = run_elements,
                     .context = run,
                     .cost_ps = run->cost_ps,
                     .unit = run->steady ? LINE : 1, /* whole vectors: the same bits */
                     .line = LINE,
                     .steady = run->steady,
                     .in_order = run->in_order,
                     .stop = run->stop};
}

bool
lw_space_is_long(lw_space_run *run)
{
    lw_work work = work_of(run);

    return lw_work_is_long(&work);
}

void
lw_space_run_all(lw_space_run *run)
{
    lw_work work = work_of(run);

    lw_failure_init(&run->failure);
    lw_work_run(&work);
}

void
lw_space_run_watched(lw_space_run *run, lw_race_watch *watch)
{
    enum { SOME = 4096 };

    lw_failure_init(&run->failure);
    for (int64_t i = 0; i < run->n && !lw_race_seen(watch); i++) {
        lw_race_next(watch);
        if (!run_elements(run, i, i + 1) || (i % SOME == SOME - 1 && lw_stop_asked(run->stop)))
            return;
    }
}

void
lw_space_index(const lw_space *space, const lw_entry_key *key, int64_t element,
               int64_t index[LW_MAX_INDEX])
{
    int order[LW_MAX_INDEX];

    lw_space_order(key, order);
    for (int k = 0; k < key->n_index; k++) {
        int d = order[k];
        int64_t at = k + 1 < key->n_index ? element % space->n[d] : element;
        element = k + 1 < key->n_index ? element / space->n[d] : element;
        index[d] = space->start[d] + at * space->step[d];
    }
}
