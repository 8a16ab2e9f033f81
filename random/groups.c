#include "random/groups.h"

/* Groups between two looks: 2^19 to 2^21 numbers, in some milliseconds, most of which the
 * operating system takes for new memory. */
enum { PART = 1 << 11 };

typedef struct part {
    int64_t first;
    lw_loop_body body;
    void *context;
} part;

static lw_status
run_part(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const part *p = context;

    return p->body(p->context, p->first + begin, p->first + end, worker);
}

void
lw_run_groups(int64_t n, int64_t grain, lw_loop_body body, void *context, lw_stop *stop)
{
    if (n <= 2 * grain) {
        body(context, 0, n, 0);
        return;
    }
    for (int64_t at = 0; at < n && !lw_stop_asked(stop); at += PART) {
        part p = {at, body, context};
        lw_parallel_for(n - at < PART ? n - at : PART, grain, run_part, &p);
    }
}
