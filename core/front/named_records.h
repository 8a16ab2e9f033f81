/* Record types by their names, for signatures: "Record(x: float32, y: float64)". */
#ifndef LW_FRONT_NAMED_RECORDS_H
#define LW_FRONT_NAMED_RECORDS_H

#include "core/front/typed.h"

/* From now on the record's name, which no other has, means it. The record stays where it is for
 * good. That no other has it is the caller's to see to, one at a time. */
lw_status lw_named_record_add(const lw_arg_record *record, lw_error *err);
/* NULL: no record of this name was added. */
const lw_arg_record *lw_named_record_find(const char *name, size_t n_bytes);

#endif
