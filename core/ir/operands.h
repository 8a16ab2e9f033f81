/* What instructions are made of: their operands, as the op rows tell them. */
#ifndef LW_IR_OPERANDS_H
#define LW_IR_OPERANDS_H

#include "core/ir/build.h"

/* The values and slots that an instruction of the function is made of, one a call: *at is 0
 * before the first. False: there is none left. Lists are looked through, numbers are neither.
 */
bool lw_ir_next_operand(const lw_func *func, const lw_inst *inst, uint32_t *at,
                        lw_ref *operand);
/* Whether this value or slot is among them. */
bool lw_ir_inst_uses(const lw_func *func, const lw_inst *inst, lw_ref ref);
/* How many instructions use it. */
uint32_t lw_ir_count_uses(const lw_func *func, lw_ref ref);

/* An instruction of `from` becomes one of `to_func`, in place: its values and slots what they
 * have become, by their old number, and its list, if it has one, a new one. Numbers stay, those
 * of constants and parameters too. The two functions may be one. False: memory is out. */
bool lw_ir_renumber(const lw_func *from, lw_inst *inst, const lw_ref *become, lw_func *to_func,
                    lw_arena *arena);
/* Emits such an instruction, with its own flags, lanes and place in the source. */
lw_ref lw_ir_copy(lw_builder *b, const lw_func *from, lw_inst inst, const lw_ref *become);

#endif
