/* Arrays that loops traverse element by element: one counter for each axis. */
#ifndef LW_FRONT_LOWER_CURSOR_H
#define LW_FRONT_LOWER_CURSOR_H

#include "core/front/lower/address.h"

typedef struct lw_cursor {
    lw_lower_value array;
    lw_ref strides[LW_MAX_ARRAY_DIMS]; /* bytes, of lw_offset_type, by axis of the array */
} lw_cursor;

lw_cursor lw_cursor_of(lw_lower_frame *f, lw_lower_value array);
/* Repeats the array along the axes of `to`, which has as many or more, as NumPy does: an axis
 * of extent 1 is repeated, other extents have to agree, the last with the last. b1: they do
 * not. */
lw_ref lw_cursor_broadcast(lw_lower_frame *f, lw_cursor *from, lw_lower_value to);
/* A ValueError where shapes differ. */
void lw_cursor_raise(lw_lower_frame *f, lw_ref differs);
/* Opens the loops over an array, one for each axis. differs (0: never): the shapes do not
 * agree; where that raises nothing, no element is visited. */
void lw_cursor_open(lw_lower_frame *f, lw_lower_value to, lw_ref differs, lw_for *loops);
void lw_cursor_close(lw_lower_frame *f, lw_lower_value to, lw_for *loops);
/* The address of the element at the counters of the loops over an array of ndim axes. */
lw_ref lw_cursor_address(lw_lower_frame *f, const lw_cursor *cursor, const lw_for *loops,
                         uint32_t ndim);

#endif
