/* Argument types as tests write them: "float32[:, ::1], const int64[:], index, pyfloat". */
#ifndef LW_PY_DEBUG_SPECS_H
#define LW_PY_DEBUG_SPECS_H

#include "core/front/typed.h"

enum { LW_MAX_DEBUG_SPECS = 64 };

/* "record0[:]", "record1": the dtypes that came with them. */
typedef struct lw_debug_records {
    uint32_t n;
    lw_arg_record *rows[8];
} lw_debug_records;

/* records may be NULL. */
lw_status lw_debug_specs(const char *list, const lw_debug_records *records, lw_arena *arena,
                         lw_arg_spec *out, uint32_t *n, lw_error *err);

#endif
