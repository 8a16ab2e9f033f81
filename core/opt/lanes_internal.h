/* What lanes.c and lanes_facts.c share. */
#ifndef LW_OPT_LANES_INTERNAL_H
#define LW_OPT_LANES_INTERNAL_H

#include "core/ir/facts.h"
#include "core/opt/lanes.h"

/* Of an instruction. */
enum {
    LW_LANES_UNIFORM = 1,   /* a value or slot: the same in all lanes that execute it */
    LW_LANES_PLAIN = 2,     /* a SET that needs no mask */
    LW_LANES_CONTINUED = 4, /* a LOOP: a CONTINUE goes to its latch */
    LW_LANES_OUTWARD = 8,   /* a LOOP or BLOCK: a jump in it leaves more than this region */
    LW_LANES_BREAKS = 16,   /* a LOOP: a BREAK leaves it for some lanes only */
    LW_LANES_TOGETHER = 32, /* an IF: all lanes leave the loop around it together */
    LW_LANES_BRANCH = 64,   /* an IF that stays one: its condition is uniform */
    LW_LANES_SQUARED = 128  /* a hypot that is only compared with constants */
};

typedef struct lw_lanes_facts {
    const lw_func *func;
    lw_ir_regions regions;
    uint32_t *inner; /* by instruction: what opened the innermost region around it; 0: none */
    uint8_t *flags;  /* by instruction */
} lw_lanes_facts;

bool lw_lanes_facts_init(lw_lanes_facts *facts, const lw_func *func);
void lw_lanes_facts_reset(lw_lanes_facts *facts); /* all zero is allowed */
/* Of a comparison with a SQUARED hypot: the hypot, and the constant on the other side. */
bool lw_lanes_squared(const lw_lanes_facts *facts, uint32_t comparison, lw_ref *hypot,
                      double *constant);
/* The BLOCK or LOOP that a BREAK or CONTINUE goes to. */
uint32_t lw_lanes_target(const lw_lanes_facts *facts, uint32_t jump);
/* Whether one of the instructions begin … end - 1 is a jump. */
bool lw_lanes_jumps(const lw_lanes_facts *facts, uint32_t begin, uint32_t end);

#endif
