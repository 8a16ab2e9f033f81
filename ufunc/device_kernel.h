/* Scalar IR + kernel key -> kernel IR for the GPU. One thread takes `groups` accesses of
 * `width` elements: all loads first, then the bodies, then the stores; a block that lies wholly
 * inside tests nothing, the last one walks its elements with a test each.
 *
 * Parameters of the kernel, in order:
 *   items                    FLAT: i64 elements; STRIDED: u32 accesses; TILED: u32 squares
 *   one per operand          its address, or by value its parts in the loop's dtype
 *   TILED only               the extents of dimensions 0 and 1 (u32); below, their sizes count
 *                            squares
 *   STRIDED only             per dimension but the outermost: size, multiplier, shift (u32);
 *                            per operand and dimension its stride in bytes (i32, wide: i64),
 *                            but none for VALUE and CONSTANT, nor the innermost of CONTIGUOUS
 *                            and REPEATED
 *   where the body can raise the address of a lw_report_control (core/ir/report.h); the
 * record's first value is the element, counted in the order of the walk */
#ifndef LW_UFUNC_DEVICE_KERNEL_H
#define LW_UFUNC_DEVICE_KERNEL_H

#include "ufunc/device_plan.h"

lw_status lw_device_kernel(const lw_loop *loop, const lw_kernel_key *key, const char *symbol,
                           int max_registers, lw_module **out, lw_error *err);

/* Whether operand i has a stride parameter for dimension d (0 = innermost). */
bool lw_kernel_has_stride(const lw_kernel_key *key, int operand, int d);
/* Instructions of the scalar function with all it calls, and whether one of them loops. */
uint32_t lw_scalar_cost(const lw_scalar *scalar, bool *has_loop);

#endif
