/* Record types by their names, for signatures: "Record(x: float32, y: float64)". */
#ifndef LW_FRONT_NAMED_RECORDS_H
#define LW_FRONT_NAMED_RECORDS_H

#include "core/front/typed.h"

/* Register the record under its name. The caller makes sure that no other record has that name
 * and that only one thread adds records at a time. The record must live until the process
 * ends. */
lw_status lw_named_record_add(const lw_arg_record *record, lw_error *err);
/* NULL: no record was added under this name. */
const lw_arg_record *lw_named_record_find(const char *name, size_t n_bytes);

#endif
