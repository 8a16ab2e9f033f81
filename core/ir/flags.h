/* Which floating-point flags the code of functions raises: those of its formula alone, or also
 * ones that belong to no value that it returns. */
#ifndef LW_IR_FLAGS_H
#define LW_IR_FLAGS_H

#include "core/ir/ir.h"

typedef enum lw_flags_kind {
    LW_FLAGS_NONE,   /* it raises none */
    LW_FLAGS_SURE,   /* whatever is raised is of a value that is computed once and used */
    LW_FLAGS_DOUBTED /* vectorised code may also compute what a branch throws away, and libm and
                        comparisons raise flags of their own: the values have to tell */
} lw_flags_kind;

/* Whether the instruction alone may raise flags that its result does not stand for: libm's own;
 * comparisons of a NaN, which the CPU's vector unit calls invalid, and so conversions of a
 * float that is out of range, on their way to saturation; and operations on float16, because
 * the CPU converts several numbers at once, some of which are no elements. */
bool lw_inst_raises_stray_flags(const lw_func *func, const lw_inst *inst);
/* Whether an instruction of a module does. */
bool lw_ir_raises_stray_flags(const lw_module *module);
/* Of all functions of a module. */
lw_flags_kind lw_ir_flags(const lw_module *module);

#endif
