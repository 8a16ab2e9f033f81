/* Races between the elements of one launch, seen while they run. Compiled code that was built
 * with LW_WATCH_ELEMENTS calls lw_race_access in front of each load, store and atomic of the
 * user's source; what runs it does so in one thread, element after element:
 *
 *     LW_TRY(lw_race_begin(arrays, n, &watch, err));
 *     for (i = 0; i < n && !lw_race_seen(watch); i++) {
 *         lw_race_next(watch);
 *         … run element i
 *     }
 *     status = lw_race_end(watch, &race, err);
 *
 * A race is an access to memory of the arrays that another element has written, or a write to
 * what another one has read; atomics do not race with each other. A store of the bytes that lie
 * there already leaves no order to depend on, and counts as a read. */
#ifndef LW_HOST_ELEMENT_RACE_H
#define LW_HOST_ELEMENT_RACE_H

#include "core/base/error.h"
#include "core/base/reach.h"

#include <stdbool.h>
#include <stdint.h>

/* All is borrowed for as long as the watch lives. */
typedef struct lw_race_array {
    const char *name;
    uint64_t data;                  /* address of the first element */
    const int64_t *shape, *strides; /* strides in bytes */
    int64_t itemsize;
    lw_reach reach;
    int ndim;
    uint32_t grain; /* accesses start and end at its multiples: a power of two */
} lw_race_array;

typedef struct lw_race {
    uint64_t element, other;   /* the one that came to it last, and the one before */
    uint32_t line, other_line; /* of the user's source; 0: not known */
    const char *does, *did;    /* "writes", "read" */
    uint32_t n_bytes;          /* of the access */
    char place[160];           /* "o[3]" */
} lw_race;

typedef struct lw_race_watch lw_race_watch;

/* Watches what this thread runs, until lw_race_end; a watch that was there waits meanwhile. */
lw_status lw_race_begin(const lw_race_array *arrays, uint32_t n, lw_race_watch **out,
                        lw_error *err);
/* From here on the accesses are those of the next element; the first has number 0. */
void lw_race_next(lw_race_watch *watch);
/* The one that watches this thread now, or NULL. */
lw_race_watch *lw_race_current(void);
bool lw_race_seen(const lw_race_watch *watch);
/* out->does is NULL where there was no race. Frees the watch in any case. */
lw_status lw_race_end(lw_race_watch *watch, lw_race *out, lw_error *err);
/* LW_ERR_KERNEL. here, there: the two elements, as their user knows them ("element (1, 2)"). */
lw_status lw_race_fail(const lw_race *race, const char *function, const char *here,
                       const char *there, lw_error *err);

/* For compiled code; kind: lw_sim_access_kind. Nothing where nobody watches. */
void lw_race_access(const void *address, int32_t n_bytes, int32_t kind, int32_t line);

#endif
