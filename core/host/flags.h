/* The floating-point flags of this thread, and its mode: rounding, flush-to-zero, and flags.
 * Where there is a vector unit, only its register is read: that of the x87 unit takes longer to
 * read than a short loop, and generated code does not use it. */
#ifndef LW_HOST_FLAGS_H
#define LW_HOST_FLAGS_H

#include <fenv.h>

enum { LW_FLAGS_OF_NUMPY = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW };

#if defined(__x86_64__) /* the FE_ constants are the register's bits */

typedef unsigned lw_float_mode;

static inline lw_float_mode
lw_float_mode_here(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void
lw_float_mode_set(lw_float_mode mode)
{
    __builtin_ia32_ldmxcsr(mode);
}

/* Which of NumPy's flags are raised now. */
static inline int
lw_flags_raised(void)
{
    return (int)__builtin_ia32_stmxcsr() & LW_FLAGS_OF_NUMPY;
}

static inline void
lw_flags_clear(void)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~(unsigned)LW_FLAGS_OF_NUMPY);
}

static inline void
lw_flags_raise(int flags)
{
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | (unsigned)flags);
}

#else

typedef fenv_t lw_float_mode;

static inline lw_float_mode
lw_float_mode_here(void)
{
    lw_float_mode mode;

    fegetenv(&mode);
    return mode;
}

static inline void
lw_float_mode_set(lw_float_mode mode)
{
    fesetenv(&mode);
}

static inline int
lw_flags_raised(void)
{
    return fetestexcept(LW_FLAGS_OF_NUMPY);
}

static inline void
lw_flags_clear(void)
{
    feclearexcept(LW_FLAGS_OF_NUMPY);
}

static inline void
lw_flags_raise(int flags)
{
    feraiseexcept(flags);
}

#endif
#endif
