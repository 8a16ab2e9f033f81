/* The kernel of a gufunc's loop for GPUs. Pure C.
 *
 * Each item of the loop is one call of the body, by one thread or, with key->spread, by a
 * block. STAGED operands come by way of shared memory: the items of a block are one contiguous
 * run, which neighbouring threads load by neighbouring accesses of up to 16 bytes; outputs are
 * stored in the same way. There all core sizes are constants, so that the body's loops unroll
 * and cores live in registers. TILED operands of larger cores come by way of shared memory as
 * well: a block takes `tile` items, as many as its shared memory holds, its warps fetch core
 * after core, and a thread works on each. ROWS operands of a spread kernel are fetched whole by
 * the block, or the warp, that works on the item, with a gap between rows, because its threads
 * read down a column of them at one time; of large ones each block fetches a band of rows, and
 * does what the item's loop does with these.
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

#include "core/plan/walk.h"
#include "gufunc/core/gufunc_loop.h"

enum {
    LW_CORE_KEY_DIMS = 32, /* most core dimensions of a layout that can be constants */
    LW_CORE_LOOP_DIMS = LW_WALK_DIMS,
    LW_CORE_SMALL = 16,     /* largest core size that is a constant of the kernel */
    LW_CORE_THREADS = 256,  /* threads of a block at most */
    LW_CORE_SHARED = 49152, /* static shared memory of a block, on every GPU */
    /* KiB of it for operands that are ROWS; the rest is for what the loops share */
    LW_CORE_ROWS_KB = 44
};

/* A kernel's access pattern for an operand. STRIDED, DENSE, TILED and ROWS have loop
 * strides. */
typedef enum lw_core_access {
    LW_ACCESS_VALUE,    /* in the parameter block */
    LW_ACCESS_CONSTANT, /* one core for every item, C-contiguous */
    LW_ACCESS_STRIDED,  /* any strides */
    LW_ACCESS_DENSE,    /* the core is C-contiguous, loop strides are any */
    LW_ACCESS_RUN,      /* one loop dimension, items one behind the other; constant sizes */
    LW_ACCESS_STAGED,   /* like RUN, by way of shared memory */
    LW_ACCESS_TILED,    /* like DENSE, by way of shared memory */
    LW_ACCESS_ROWS /* with key->spread: like DENSE, by way of shared memory, row after row */
} lw_core_access;

/* Compared as bytes, up to lw_core_key_size: cleared before it is filled. */
typedef struct lw_core_key {
    uint8_t n_operands;
    uint8_t constant; /* all core sizes are constants, in sizes[] */
    uint8_t ndim;     /* loop dimensions, at least 1 */
    uint8_t wide;     /* byte offsets of items do not fit 31 bits */
    uint8_t spread;   /* a block works on each item, whose loops it shares (core_spread.h) */
    uint8_t kept;     /* SPREAD: the iterations of a thread whose elements stay in registers */
    uint8_t warps;    /* SPREAD: items of a block of several, which have a warp each; or 0 */
    uint8_t whole;    /* kept: no thread has fewer */
    uint8_t tiled;    /* some operand is TILED */
    uint8_t band;     /* ROWS: a block has so many rows of an item; 0: all of them */
    uint16_t block; /* threads of a block, which are as many items if some operand is STAGED; 0:
                       LW_CORE_THREADS */
    uint8_t sizes[LW_CORE_KEY_DIMS];
    uint8_t rows_kb; /* KiB of a block's shared memory for the operands that are ROWS; so many
                        that static memory does not hold them are dynamic memory */
    struct {
        uint8_t access;
        uint8_t chunk; /* STAGED: bytes of one access to memory */
        uint8_t keep;  /* STAGED, TILED: elements of an output that the body does not write must
                          keep their values */
        uint8_t unused;
    } operands[LW_MAX_OPERANDS];
} lw_core_key;

size_t lw_core_key_size(const lw_core_key *key);
/* For constant sizes: the elements of an operand's core, and the bytes from one item to the
 * next in shared memory, chosen to avoid bank conflicts. */
uint32_t lw_core_count(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
int64_t lw_core_pitch_of(int64_t bytes, int64_t itemsize); /* for a core of so many bytes */
uint32_t lw_core_pitch(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
/* Bytes of shared memory of a STAGED operand, for a block of key->block items. They are fetched
 * in whole passes, one chunk for each thread, and so may end behind the last item. */
uint32_t lw_core_shared_bytes(const lw_gufunc_loop *loop, const lw_core_key *key, int operand);
/* Bytes of dynamic shared memory that a block of the kernel needs. */
uint32_t lw_core_dynamic_bytes(const lw_core_key *key);
bool lw_core_has_loop_strides(const lw_core_key *key, int operand);

lw_status lw_core_kernel(const lw_gufunc_loop *loop, const lw_core_key *key, const char *symbol,
                         int max_registers, lw_module **out, lw_error *err);

#endif
