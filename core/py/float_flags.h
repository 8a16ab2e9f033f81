/* Floating-point flags become what errstate says: a warning, an exception, a call, or nothing.
 */
#ifndef LW_PY_FLOAT_FLAGS_H
#define LW_PY_FLOAT_FLAGS_H

#include "core/py/numpy_api.h"

#include <stdbool.h>

/* flags: bits of fenv.h. name: what encountered them. -1 with an exception. */
int lw_give_float_flags(const char *name, int flags);

/* Flags of the calls of this thread that are kept for later, because only their results tell
 * whether they count. */
typedef struct lw_held_flags {
    struct lw_held_flags *before;
    const char *name; /* static */
    int flags;
} lw_held_flags;

/* From here to the matching lw_release_float_flags, no flags are given. */
void lw_hold_float_flags(lw_held_flags *held);
/* Gives those that were held if they count. -1 with an exception. */
int lw_release_float_flags(lw_held_flags *held, bool count);

#endif
