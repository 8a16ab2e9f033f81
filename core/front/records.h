/* Types of records and of views of their fields. */
#ifndef LW_FRONT_RECORDS_H
#define LW_FRONT_RECORDS_H

#include "core/front/typed.h"

/* The largest power of two that divides both (0 counts as divisible). */
uint32_t lw_common_align(uint32_t align, uint32_t offset);
lw_type lw_record_type(lw_types *types, const lw_arg_record *spec, bool readonly);
/* NULL: it is no record */
const lw_type_row *lw_record_row(const lw_types *types, lw_type type);
/* The type by value of the objects in a record of a class; other types as they are. */
lw_type lw_record_object(const lw_types *types, lw_type type);
/* The same for what iterates over a namedtuple in an array or takes it apart: objects in its
 * fields stay in the array. */
lw_type lw_record_items(lw_types *types, lw_type type);
/* The row of a record type, or of the items of an array of records; NULL for other types. */
const lw_record *lw_record_of(const lw_types *types, lw_type type);
const lw_record_field *lw_record_field_of(const lw_types *types, lw_type type,
                                          const char *name);
/* The name of the field of this number, which counts from the end where it is negative; NULL:
 * there is none. */
const char *lw_record_field_name(const lw_types *types, lw_type type, int64_t i);
/* The type of a field as a value: of what lies in a record, by its address. */
lw_type lw_record_field_type(lw_types *types, lw_type record, const lw_record_field *field);
/* The view of one field of every item of an array. Its extents are the array's, followed by
 * those of a sub-array field; its strides are the array's, so its layout is `any`. BOTTOM: it
 * would have too many dimensions. */
lw_type lw_record_view(lw_types *types, lw_type array, const lw_record_field *field);
/* Whether two record types are of one dtype, whatever is known about their addresses. */
bool lw_record_same(const lw_types *types, lw_type x, lw_type y);

#endif
