/* The operands of instructions, as the op rows describe them. */
#ifndef LW_IR_OPERANDS_H
#define LW_IR_OPERANDS_H

#include "core/ir/build.h"

/* Iterates over the values and slots that an instruction of the function uses, one a call: *at
 * is 0 before the first. False: there is none left. Elements of lists are included, plain
 * numbers are not. */
bool lw_ir_next_operand(const lw_func *func, const lw_inst *inst, uint32_t *at,
                        lw_ref *operand);
/* Whether this value or slot is among them. */
bool lw_ir_inst_uses(const lw_func *func, const lw_inst *inst, lw_ref ref);
/* How many instructions use the value or slot. */
uint32_t lw_ir_count_uses(const lw_func *func, lw_ref ref);

/* Turns an instruction of `from` into one of `to_func`, in place: `become` maps its values and
 * slots from their old numbers, and if it has a list it gets a new one. Plain numbers are kept,
 * also those of constants and parameters. The two functions may be the same. False: memory ran
 * out. */
bool lw_ir_renumber(const lw_func *from, lw_inst *inst, const lw_ref *become, lw_func *to_func,
                    lw_arena *arena);
/* Emits such an instruction, with its own flags, lanes and location. */
lw_ref lw_ir_copy(lw_builder *b, const lw_func *from, lw_inst inst, const lw_ref *become);

#endif
