/* Facts that follow from a function's instructions alone, computed here for every pass that
 * needs them. */
#ifndef LW_IR_FACTS_H
#define LW_IR_FACTS_H

#include "core/ir/ir.h"

/* Whether the instruction opens a region, which an END closes: IF, BLOCK and LOOP. */
bool lw_ir_opens_region(lw_op op);

/* Whether this is a LOOP over prange: not one of an array expression. */
bool lw_ir_is_prange(const lw_inst *inst);

/* Whether an instruction of [from, to) sets the variable. */
bool lw_ir_is_set(const lw_func *func, uint32_t from, uint32_t to, lw_ref slot);

/* The regions of a function, by the instruction that opens them. */
typedef struct lw_ir_regions {
    uint32_t *ends;    /* the region's END; 0: the instruction opens none */
    uint32_t *middles; /* the ELSE of an IF, the LATCH of a LOOP; 0: there is none */
    uint32_t *targets; /* of every instruction: the number of LOOPs and BLOCKs around it */
    uint32_t deepest;  /* the largest number of regions that are open at the same time */
} lw_ir_regions;

/* False: memory ran out, and there is nothing to free. */
bool lw_ir_regions_init(lw_ir_regions *regions, const lw_func *func);
/* Whether instruction `at` is a BREAK or CONTINUE of a LOOP or BLOCK that begins before `from`.
 * The regions around `from` are also around `at`. */
bool lw_ir_jumps_out(const lw_ir_regions *regions, const lw_func *func, uint32_t from,
                     uint32_t at);
void lw_ir_regions_reset(lw_ir_regions *regions); /* all zero is allowed */

#endif
