/* Loops over prange, as compiled code calls them (core/opt/loops/parallel.h): the parts of one
 * loop over the thread pool. Pure C. */
#ifndef LW_HOST_PARALLEL_LOOP_H
#define LW_HOST_PARALLEL_LOOP_H

#include <stdint.h>

/* Runs the iterations begin … end - 1. frame: what all parts are given; record: what this one
 * brings. 1: an iteration has left the function, and the record says with what. */
typedef int32_t (*lw_part_code)(const void *frame, uint64_t begin, uint64_t end, void *record);

/* Makes lw_parallel_parts and lw_parallel_run known to the loader of compiled code. */
void lw_parallel_loop_register(void);

#endif
