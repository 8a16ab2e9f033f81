/* Floating-point flags that NumPy raises and a loop's arithmetic does not: of integer
 * divisions, which have none, and where NumPy computes in another way. Pure C. */
#ifndef LW_UFUNC_HOST_FLAGS_H
#define LW_UFUNC_HOST_FLAGS_H

#include "core/tables/dtypes.h"

#include <stdint.h>

/* The flags (of fenv.h) that n inputs stand for. types: of inputs and outputs. */
typedef int (*lw_flag_rule)(const uint8_t *types, char *const *args, const int64_t *strides,
                            int64_t n);

/* That of NumPy's ufunc of this name for these types; NULL: there is none. */
lw_flag_rule lw_flag_rule_of(const char *ufunc, const lw_dtype *types, int nin);
/* Raise what the rule says. */
void lw_flag_rule_raise(lw_flag_rule rule, const uint8_t *types, char *const *args,
                        const int64_t *strides, int64_t n);

#endif
