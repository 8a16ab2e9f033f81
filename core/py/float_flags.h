/* Floating-point flags become what errstate says: a warning, an exception, a call, or nothing.
 */
#ifndef LW_PY_FLOAT_FLAGS_H
#define LW_PY_FLOAT_FLAGS_H

#include "core/py/numpy_api.h"

/* flags: bits of fenv.h. name: what encountered them. -1 with an exception. */
int lw_give_float_flags(const char *name, int flags);

#endif
