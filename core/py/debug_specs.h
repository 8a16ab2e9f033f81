/* Argument types as tests write them: "float32[:, ::1], const int64[:], index, pyfloat". */
#ifndef LW_PY_DEBUG_SPECS_H
#define LW_PY_DEBUG_SPECS_H

#include "core/front/typed.h"

enum { LW_MAX_DEBUG_SPECS = 64 };

lw_status lw_debug_specs(const char *list, lw_arena *arena, lw_arg_spec *out, uint32_t *n,
                         lw_error *err);

#endif
