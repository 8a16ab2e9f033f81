/* Words of the text form, shared by print.c and parse.c: what one writes the other reads. */
#ifndef LW_IR_IR_INTERNAL_H
#define LW_IR_IR_INTERNAL_H

#include "core/ir/ir.h"

typedef struct lw_ir_flag {
    const char *text;
    uint32_t bit;
} lw_ir_flag;

/* The flags that an op may carry, ended by a NULL text. Alignment and vector width are numbers
 * and stand apart. */
const lw_ir_flag *lw_ir_flags_of(lw_op op);
bool lw_ir_is_memory(lw_op op); /* LOAD, STORE: has an alignment */

extern const char *const lw_linkage_names[4];
extern const lw_ir_flag lw_param_flags[]; /* ended by a NULL text */

#endif
