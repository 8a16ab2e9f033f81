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
/* Opens the loops over an array, one for each axis. differs (0: never): the shapes do not
 * agree; where that raises nothing, no element is visited. */
void lw_cursor_open(lw_lower_frame *f, lw_lower_value to, lw_ref differs, lw_for *loops);
void lw_cursor_close(lw_lower_frame *f, lw_lower_value to, lw_for *loops);
/* The address of the element at the counters of the loops over an array of ndim axes. */
lw_ref lw_cursor_address(lw_lower_frame *f, const lw_cursor *cursor, const lw_for *loops,
                         uint32_t ndim);

#endif
