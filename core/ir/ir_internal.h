/* Words of the text form, shared by print.c and parse.c. */
#ifndef LW_IR_IR_INTERNAL_H
#define LW_IR_IR_INTERNAL_H

#include "core/ir/ir.h"

typedef struct lw_ir_flag {
    const char *text;
    uint32_t bit;
} lw_ir_flag;

/* The flags that an op may carry, ended by a NULL text. Alignment is a number and is
 * not among them. */
const lw_ir_flag *lw_ir_flags_of(lw_op op);
/* The word for an operand of this op that is a plain number: a special register, an atomic, a
 * kernel op; NULL: it is written as a number. */
const char *lw_ir_number_name(lw_op op, uint32_t value);
enum { LW_IR_DATA_WORD = 32 }; /* bytes in a word of the text of a datum */

/* Adds a datum with a copy of these bytes and this address, or finds an equal one, whose
 * alignment is then raised if necessary. Returns its number. */
uint32_t lw_ir_data_add(lw_module *module, uint64_t address, const void *bytes, uint32_t n,
                        uint32_t align_log2);

extern const char *const lw_linkage_names[4];
extern const lw_ir_flag lw_param_flags[]; /* ended by a NULL text */

#endif
