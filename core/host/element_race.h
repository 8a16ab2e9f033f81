/* Detects races between the elements of one launch while they run. Compiled code that was
 * built with LW_WATCH_ELEMENTS calls lw_race_access before each load, store and atomic of
 * the user's source; the launch runs in one thread, element after element:
 *
 *     LW_TRY(lw_race_begin(arrays, n, &watch, err));
 *     for (i = 0; i < n && !lw_race_seen(watch); i++) {
 *         lw_race_next(watch);
 *         … run element i
 *     }
 *     status = lw_race_end(watch, &race, err);
 *
 * A race is an access to memory of the arrays that another element has written, or a write
 * to memory that another element has read; atomics do not race with each other. A store of
 * the bytes that are there already does not make results depend on the order, and counts as
 * a read. */
#ifndef LW_HOST_ELEMENT_RACE_H
#define LW_HOST_ELEMENT_RACE_H

#include "core/base/error.h"
#include "core/base/memory_span.h"

#include <stdbool.h>
#include <stdint.h>

/* Everything is borrowed for as long as the watch lives. */
typedef struct lw_race_array {
    const char *name;
    uint64_t data;                  /* address of the first element */
    const int64_t *shape, *strides; /* strides in bytes */
    int64_t itemsize;
    lw_memory_span span;
    int ndim;
    uint32_t grain; /* a power of two; accesses start and end at its multiples */
} lw_race_array;

typedef struct lw_race {
    /* the element that accessed the memory last, and the one before */
    uint64_t element, other;
    uint32_t line, other_line; /* of the user's source; 0: not known */
    const char *does, *did;    /* "writes", "read" */
    uint32_t n_bytes;          /* of the access */
    char place[160];           /* "o[3]" */
} lw_race;

typedef struct lw_race_watch lw_race_watch;

/* Watches what this thread runs, until lw_race_end; an outer watch is suspended meanwhile. */
lw_status lw_race_begin(const lw_race_array *arrays, uint32_t n, lw_race_watch **out,
                        lw_error *err);
/* The accesses that follow are those of the next element; the first has number 0. */
void lw_race_next(lw_race_watch *watch);
/* The watch of this thread, or NULL. */
lw_race_watch *lw_race_current(void);
bool lw_race_seen(const lw_race_watch *watch);
/* out->does is NULL where there was no race. Frees the watch in any case. */
lw_status lw_race_end(lw_race_watch *watch, lw_race *out, lw_error *err);
/* Writes " in line 7" for messages, or nothing where the line is not known (0). */
void lw_race_line(char text[32], uint32_t line);
/* LW_ERR_KERNEL. here, there: the two elements, as their user knows them ("element (1, 2)"). */
lw_status lw_race_fail(const lw_race *race, const char *function, const char *here,
                       const char *there, lw_error *err);

/* Called by compiled code; kind: lw_sim_access_kind. Does nothing where there is no watch. */
void lw_race_access(const void *address, int32_t n_bytes, int32_t kind, int32_t line);

#endif
