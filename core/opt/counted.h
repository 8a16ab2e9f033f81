/* Loops that count by 1, as lw_ir_for emits them. */
#ifndef LW_OPT_COUNTED_H
#define LW_OPT_COUNTED_H

#include "core/ir/facts.h"

/* LOOP, GET slot, LT limit, NOT, IF, BREAK, END, body, LATCH, GET slot, ADD 1, SET slot, END.
 * The body does not set the counter. */
typedef struct lw_counted_loop {
    uint32_t at, first, latch, end; /* first: of the body */
    lw_ref slot, limit;
} lw_counted_loop;

/* Whether instruction `at` begins such a loop, whose counter has any type. */
bool lw_counted_loop_of_any(const lw_func *func, const lw_ir_regions *regions, uint32_t at,
                            lw_counted_loop *loop);
/* The same of a counter of 64 bits. */
bool lw_counted_loop_at(const lw_func *func, const lw_ir_regions *regions, uint32_t at,
                        lw_counted_loop *loop);

#endif
