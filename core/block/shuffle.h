/* Values from other lanes of a warp. Pure C. */
#ifndef LW_BLOCK_SHUFFLE_H
#define LW_BLOCK_SHUFFLE_H

#include "core/ir/build.h"
#include "core/tables/kernel_ops.h"

/* Which lane each lane reads. */
typedef struct lw_shuffle {
    lw_kernel_op op; /* LW_KOP_shfl_* */
    lw_ref mask;     /* i32: the lanes that take part */
    lw_ref lane;     /* i32: the operand of `op`: a lane, a distance, or the bits to xor */
    lw_ref clamp;    /* i32: PTX's operand c of shfl (lw_shuffle_clamp) */
} lw_shuffle;

/* The clamp operand for segments of `width` lanes: bits 8 to 12 keep a lane inside its segment,
 * bits 0 to 4 are the last lane that may be read (for shfl_up the first). */
int64_t lw_shuffle_clamp(lw_kernel_op op, int64_t width);
/* Shuffles a scalar of any type: 8 bytes as two words, a type narrower than a word in one. */
lw_ref lw_shuffle_value(lw_builder *b, const lw_shuffle *s, lw_ref value);
/* The same for a whole warp. */
lw_ref lw_warp_shuffle(lw_builder *b, lw_kernel_op op, lw_ref value, lw_ref lane);

/* The bits of a scalar as a u32, or as a u64 where it has 8 bytes, and back. */
lw_ref lw_value_bits(lw_builder *b, lw_ref value);

#endif
