/* NumPy looks up errstate, and words the warnings. */
#include "core/py/float_flags.h"

#include <fenv.h>

int
lw_give_float_flags(const char *name, int flags)
{
    int of_numpy = (flags & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) |
                   (flags & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0) |
                   (flags & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) |
                   (flags & FE_INVALID ? NPY_FPE_INVALID : 0);

    return of_numpy ? PyUFunc_GiveFloatingpointErrors(name, of_numpy) : 0;
}
