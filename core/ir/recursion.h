/* What compiled code and those who run it agree on about recursion. */
#ifndef LW_IR_RECURSION_H
#define LW_IR_RECURSION_H

#include "core/ir/ir.h"

/* On a GPU: a variable of modules with a ROOM, i32, the most levels of recursion; and its value
 * until somebody sets it. */
#define LW_RECURSION_VARIABLE "lw_recursion_levels"
enum { LW_RECURSION_LEVELS = 8 };

/* Bytes of LOCAL memory (lw_ir_local_bytes), and of what recursion may use of a simulated
 * thread's stack, which is n_kb if the module recurses. */
lw_status lw_ir_thread_bytes(const lw_module *module, int64_t n_kb, uint32_t *out,
                             lw_error *err);
/* On the host: bytes of stack that code of the module may need below the frame in which a ROOM
 * finds room. */
lw_status lw_ir_margin_bytes(const lw_module *module, uint32_t *out, lw_error *err);

#endif
