/* Extents, strides and addresses of elements, for the files that lower arrays. */
#ifndef LW_FRONT_LOWER_ADDRESS_H
#define LW_FRONT_LOWER_ADDRESS_H

#include "core/front/lower/lower_internal.h"
#include "core/front/subscript.h"

static inline bool
lw_is_array(const lw_lower_frame *f, lw_lower_value value)
{
    return lw_type_kind_of(f->l->types, value.type) == LW_TK_ARRAY;
}

static inline const lw_type_row *
lw_array_row_of(const lw_lower_frame *f, lw_type array)
{
    return lw_type_get(f->l->types, array);
}

/* Bytes that an element's address is known to be a multiple of; 0: its type's own alignment. */
static inline uint32_t
lw_array_align_of(const lw_lower_frame *f, lw_type array)
{
    return lw_array_row_of(f, array)->align;
}

static inline lw_ref
lw_part_at(const lw_lower_value *value, uint32_t i)
{
    return i < value->n ? value->parts[i] : 0;
}

static inline lw_ref
lw_const64(lw_lower_frame *f, int64_t value)
{
    return lw_ir_int(&f->b, LW_DT_i64, value);
}

/* The type in which offsets are computed: i32 or i64. */
lw_dtype lw_offset_type(const lw_lower_frame *f);
lw_ref lw_offset_cast(lw_builder *b, lw_dtype type, lw_ref x);
/* If both operands are constants, nothing is computed at run time. */
lw_ref lw_offset_product(lw_builder *b, lw_ref x, lw_ref y);
lw_ref lw_offset_sum(lw_builder *b, lw_ref x, lw_ref y); /* x may be 0: nothing to add to yet */
lw_ref lw_address_moved(lw_builder *b, lw_ref address, lw_ref bytes);

int64_t lw_array_item_bytes(const lw_lower_frame *f, lw_type array);
/* Bytes from one element of an axis to the next; for dense layouts computed from the
 * extents. */
lw_ref lw_array_stride_in(lw_lower_frame *f, lw_lower_value array, uint32_t axis,
                          lw_dtype type);

/* Whether indices into the array, or the tuple, are checked regardless of the `check` option
 * (lw_front_options.guards); and whether this index needs no check, because it is known to lie
 * in -extent … extent - 1. */
bool lw_guards(const lw_lower_frame *f, lw_lower_value array);
bool lw_surely_inside(const lw_lower_frame *f, lw_ref index, lw_ref extent); /* range.c */

bool lw_may_be_negative(const lw_lower_frame *f, lw_lower_value index);
/* The position that an index selects, counted from 0, as `type`; wrapped around and checked as
 * the options demand. */
lw_ref lw_index_position(lw_lower_frame *f, lw_lower_value array, uint32_t axis,
                         lw_lower_value index, lw_dtype type);

/* The values of the items in the brackets. */
typedef struct lw_index_items {
    lw_index index;
    lw_lower_value values[LW_MAX_INDEX]; /* of AT */
} lw_index_items;
/* Evaluate all index expressions from left to right; a tuple is evaluated once. NULL: memory is
 * out. */
lw_index_items *lw_index_items_of(lw_lower_frame *f, lw_lower_value array, uint32_t node);
/* The address of the one element that the items select. */
lw_ref lw_index_address(lw_lower_frame *f, lw_lower_value array, const lw_index_items *it);
/* The element that the items select, loaded. The exception of a guard follows the load, which
 * then reads some element: a load that depends on no branch can be vectorised. */
lw_lower_value lw_lower_element(lw_lower_frame *f, lw_lower_value array,
                                const lw_index_items *it, lw_type type, uint32_t align);

#endif
