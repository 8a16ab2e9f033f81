/* Elements that threads keep in registers from one shared loop to the next. Pure C.
 *
 * Loops over the same dimension that count from 0 to its extent give the same iterations to the
 * same thread. What a thread has loaded or stored in one of them, in the element of its own
 * iteration, it still has in registers in the next one, if the loop is unrolled: softmax of a
 * row reads it once and writes it once. A store is dropped where a later loop is sure to store
 * to the same element. Memory that only its own thread accesses needs no barriers. */
#ifndef LW_OPT_LOOPS_KEPT_H
#define LW_OPT_LOOPS_KEPT_H

#include "core/opt/loops/loops.h"

enum { LW_MOST_SHARE = 32 }; /* iterations of a thread */

/* One of the function's arrays. */
typedef struct lw_kept_array {
    /* each access in the function is to the element of the iteration of a kept loop */
    bool own;
    bool stored; /* the function writes to it */
    bool kept;   /* its elements stay in registers; those that are stored are own, too */
    lw_dtype type;
} lw_kept_array;

typedef struct lw_kept {
    uint32_t dim;    /* 1 + the number of the dimension; 0: nothing is kept */
    uint32_t loops;  /* bit i: s->loops[i] is a kept loop */
    uint32_t bytes;  /* of an iteration, at most, that are kept at the same time */
    uint32_t weight; /* instructions of the kept loops' iterations, roughly */
    lw_kept_array *arrays;
} lw_kept;

/* Finds the dimension whose loops keep something; the result is in the spreader's arena. If
 * memory runs out, nothing is kept. */
lw_kept lw_kept_find(lw_spreader *s);
/* The array of which this LOAD or STORE of a kept loop accesses the iteration's own element;
 * −1: it is another access. */
int lw_kept_access(const lw_spreader *s, const lw_spread_loop *l, uint32_t at);
/* Whether a later kept loop is sure to store to the element that this STORE of a kept loop
 * writes, and nothing reads it from memory before. */
bool lw_kept_is_dead(const lw_spreader *s, const lw_kept *kept, const lw_spread_loop *l,
                     uint32_t store);
/* Whether each run of the function runs the loop. */
bool lw_kept_is_certain(const lw_spreader *s, const lw_spread_loop *l);

#endif
