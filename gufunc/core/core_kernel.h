/* A gufunc's loop + what distinguishes a kernel -> kernel IR for the GPU. Pure C.
 *
 * Every item of the loop is one call of the body, made by one thread. STAGED operands come to
 * shared memory first: the items of a block are one contiguous run of memory, read by accesses
 * of up to 16 bytes, each beside its neighbour's in the warp; outputs go back the same way.
 * There all core sizes are constants, so that the body's loops unroll and cores live in
 * registers. TILED operands of larger cores come there too: a block takes `tile` items, as many
 * as its shared memory holds, its warps fetch core after core, and a thread works on each.
 *
 * Parameters of the kernel, in order:
 *   items                   u32
 *   where one is TILED      items of a block (u32)
 *   one per operand         its address, or by value its parts
 *   per loop dimension but the outermost: size, multiplier, shift (u32)
 *   per operand with loop strides and loop dimension its stride in bytes (i32, wide: i64)
 *   per core dimension of the layout that is no constant its size (i64)
 *   per STRIDED operand and core dimension its stride in bytes (i64)
 *   where the body can raise the address of a lw_report_control (core/ir/report.h); the
 * record's first value is the item, counted in the order of the walk */
#ifndef LW_GUFUNC_CORE_CORE_KERNEL_H
#define LW_GUFUNC_CORE_CORE_KERNEL_H

#include "gufunc/core/gufunc_loop.h"

enum {
    LW_CORE_KEY_DIMS = 32, /* core dimensions of a layout that may be constants */
    LW_CORE_LOOP_DIMS = 32,
    LW_CORE_SMALL = 16,    /* core sizes up to here are constants of the kernel */
    LW_CORE_THREADS = 256, /* of a block at most */
    LW_CORE_SHARED = 49152 /* static shared memory of a block, on every GPU */
};

/* How a kernel reaches an operand. Loop strides: STRIDED, DENSE and TILED have them. */
typedef enum lw_core_access {
    LW_REACH_VALUE,    /* in the parameter block */
    LW_REACH_CONSTANT, /* one core for every item, C-contiguous */
    LW_REACH_STRIDED,  /* any strides */
    LW_REACH_DENSE,    /* the core is C-contiguous, loop strides are any */
    LW_REACH_RUN,      /* one loop dimension, items one behind the other; constant sizes */
    LW_REACH_STAGED,   /* the same, through shared memory */
    LW_REACH_TILED     /* DENSE, through shared memory */
} lw_core_access;

/* Compared as bytes, up to lw_core_key_size: cleared before it is filled. */
typedef struct lw_core_key {
    uint8_t n_operands;
    uint8_t constant; /* all core sizes are in sizes[] */
    uint8_t ndim;     /* loop dimensions, at least 1 */
    uint8_t wide;     /* byte offsets of items do not fit 31 bits */
    uint8_t spread;   /* a block an item, its loops spread (core_spread.h) */
    uint8_t tiled;    /* one is TILED */
    uint16_t block;   /* threads and, where one is STAGED, items of a block; else 0 */
    uint8_t sizes[LW_CORE_KEY_DIMS];
    struct {
        uint8_t reach;
        uint8_t chunk; /* STAGED: bytes of one access to memory */
        uint8_t
            keep; /* STAGED, TILED: an output's elements that the body does not write stay */
        uint8_t unused;
    } operands[LW_MAX_OPERANDS];
} lw_core_key;

size_t lw_core_key_size(const lw_core_key *key);
/* Where sizes are constant: elements of an operand's core, and bytes from one item to the next
 * in shared memory, spread over its banks. */
uint32_t lw_core_count(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
int64_t lw_core_pitch_of(int64_t bytes, int64_t itemsize); /* of a core of so many bytes */
uint32_t lw_core_pitch(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
/* Bytes of shared memory that a STAGED operand takes of a block of key->block items. They are
 * fetched in whole iterations, a chunk a thread, and so may end behind the last item. */
uint32_t lw_core_shared_bytes(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
bool lw_core_has_loop_strides(const lw_core_key *key, int operand);

lw_status lw_core_kernel(const lw_gufunc_loop *loop, const lw_core_key *key, const char *symbol,
                         int max_registers, lw_module **out, lw_error *err);

#endif
