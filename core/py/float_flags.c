/* NumPy looks up errstate, and words the warnings. */
#include "core/py/float_flags.h"

#include <fenv.h>

static _Thread_local lw_held_flags *holder;

int
lw_give_float_flags(const char *name, int flags)
{
    int of_numpy = (flags & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) |
                   (flags & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0) |
                   (flags & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) |
                   (flags & FE_INVALID ? NPY_FPE_INVALID : 0);

    if (holder != NULL && of_numpy != 0) {
        holder->name = name;
        holder->flags |= flags;
        return 0;
    }
    return of_numpy ? PyUFunc_GiveFloatingpointErrors(name, of_numpy) : 0;
}

void
lw_hold_float_flags(lw_held_flags *held)
{
    *held = (lw_held_flags){.before = holder};
    holder = held;
}

int
lw_release_float_flags(lw_held_flags *held, bool count)
{
    holder = held->before;
    return count ? lw_give_float_flags(held->name, held->flags) : 0;
}
