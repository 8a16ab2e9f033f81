/* Arrays that loops traverse element by element: one counter for each axis. */
#ifndef LW_FRONT_LOWER_CURSOR_H
#define LW_FRONT_LOWER_CURSOR_H

#include "core/front/lower/address.h"

typedef struct lw_cursor {
    lw_lower_value array;
    lw_ref strides[LW_MAX_ARRAY_DIMS]; /* bytes, of lw_offset_type, by axis of the array */
} lw_cursor;

/* Whether shapes do not agree, and the extents that the first such axis has. */
typedef struct lw_mismatch {
    lw_ref differs;       /* b1; 0: nothing was compared */
    lw_ref given, wanted; /* i64; 0: no exception can show them */
} lw_mismatch;

lw_cursor lw_cursor_of(lw_lower_frame *f, lw_lower_value array);
/* Repeats the array along the axes of `to`, which has as many or more, as NumPy does: an axis
 * of extent 1 is repeated, other extents have to agree, the last with the last. Adds to
 * `mismatch` whether they do. */
void lw_cursor_broadcast(lw_lower_frame *f, lw_cursor *from, lw_lower_value to,
                         lw_mismatch *mismatch);
/* A ValueError where shapes differ; it shows the extents where a function can carry them. */
void lw_cursor_raise(lw_lower_frame *f, const lw_mismatch *mismatch);
/* Loops over the elements of an array, one for each axis. */
typedef struct lw_cursor_loops {
    uint32_t ndim;
    bool dense; /* along the last axis, elements of arrays whose stride is not known lie side by
                   side */
    lw_ref begins[LW_MAX_ARRAY_DIMS], ends[LW_MAX_ARRAY_DIMS]; /* i64 */
    lw_for axes[LW_MAX_ARRAY_DIMS];
} lw_cursor_loops;

/* What is done for each element of an array, at which it may store something that depends on
 * no other element of it. */
typedef struct lw_cursor_work {
    void (*body)(lw_lower_frame *f, const lw_cursor_loops *loops, const void *context);
    const void *context;
    const lw_cursor *cursors; /* of the array, and of others that are read */
    uint32_t n;
    lw_ref differs; /* the shapes do not agree: where that raises nothing, no element is
                       visited; 0: never */
} lw_cursor_work;

/* Loops over the elements of cursors[0].array. On the host, the body is lowered for elements
 * that lie side by side along the last axis, which LLVM vectorises, and once more for others if
 * they may not; and all that twice under options.parallel_arrays, where all cores share the
 * elements of large arrays. */
void lw_cursor_each(lw_lower_frame *f, const lw_cursor_work *work);
/* The address of the element at the counters of the loops. */
lw_ref lw_cursor_address(lw_lower_frame *f, const lw_cursor *cursor,
                         const lw_cursor_loops *loops);

#endif
