/* Shared between special_py.c, entry_py.c and jit_inspect_py.c alone. */
#ifndef LW_FORALL_SPECIAL_PARTS_PY_H
#define LW_FORALL_SPECIAL_PARTS_PY_H

#include "forall/kernel_py.h"

/* Typed anew, for lowering and for inspection. NULL with an exception. */
lw_typed *lw_special_infer(const lw_special *special);
/* "float32, float32[::1]" */
void lw_special_print(const lw_special *special, lw_text *out);
void lw_special_drop_entries(lw_special *special);

#endif
