/* Loops that count by 1, as lw_ir_for emits them. */
#ifndef LW_OPT_COUNTED_H
#define LW_OPT_COUNTED_H

#include "core/ir/facts.h"

/* LOOP, GET slot, LT limit, NOT, IF, BREAK, END, body, LATCH, GET slot, ADD 1, SET slot, END.
 * The body does not set the counter, which has 64 bits. */
typedef struct lw_counted_loop {
    uint32_t at, first, latch, end; /* first: of the body */
    lw_ref slot, limit;
} lw_counted_loop;

/* Whether instruction `at` begins such a loop. */
bool lw_counted_loop_at(const lw_func *func, const lw_ir_regions *regions, uint32_t at,
                        lw_counted_loop *loop);

#endif
