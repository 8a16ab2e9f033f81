/* Shared libraries opened at run time, by full path or by soname. */
#ifndef LW_BASE_DYNLOAD_H
#define LW_BASE_DYNLOAD_H

#include "core/base/error.h"

typedef struct lw_library lw_library;

/* LW_ERR_COMPILER_NOT_FOUND with the loader's own words when it cannot be opened. */
lw_status lw_library_open(const char *path, lw_library **out, lw_error *err);
/* NULL when the symbol is absent. */
void *lw_library_symbol(lw_library *library, const char *name);
const char *lw_library_path(lw_library *library); /* the path it was found at */
void lw_library_close(lw_library *library);       /* NULL is allowed */

#endif
