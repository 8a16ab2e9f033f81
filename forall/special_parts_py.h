/* What special_py.c has for entry_py.c and the jit files alone. */
#ifndef LW_FORALL_SPECIAL_PARTS_PY_H
#define LW_FORALL_SPECIAL_PARTS_PY_H

#include "forall/kernel_py.h"

/* Typed anew, for lowering and for inspection. NULL with an exception. */
lw_typed *lw_special_infer(const lw_special *special);
/* Typed for a signature and other options than its own, and not kept: functions for kernels to
 * call. NULL with an exception. */
lw_typed *lw_function_infer(lw_function *self, const lw_signature *signature,
                            const lw_front_options *options);
/* "float32, float32[::1]" */
void lw_special_print(const lw_special *special, lw_text *out);
void lw_special_drop_entries(lw_special *special);

#endif
