/* One launch as data: kernel, shape, and the values of its parameters in one block of memory. A
 * door writes a record for each launch; a call that comes again takes the record of the one
 * before, puts its addresses and numbers in, and launches. A parameter takes 8 bytes, of which
 * kernels read as many as it has: hosts and GPUs are little-endian. */
#ifndef LW_PLAN_LAUNCH_RECORD_H
#define LW_PLAN_LAUNCH_RECORD_H

#include "core/device/launch.h"
#include "core/plan/walk.h"
#include "core/tables/dtypes.h"

#include <assert.h>

enum {
    /* as many as a walk of LW_WALK_OPERANDS operands with LW_WALK_DIMS dimensions, and as many
     * core dimensions, can have */
    LW_RECORD_PARAMS = 128 + LW_WALK_OPERANDS * (2 + 2 * LW_WALK_DIMS) + 3 * LW_WALK_DIMS
};

typedef struct lw_launch_record {
    lw_kernel *kernel;
    uint32_t grid, block, n;           /* blocks; threads of a block; parameters */
    uint32_t shared_bytes;             /* dynamic shared memory of a block */
    uint16_t at[LW_WALK_OPERANDS];     /* where an operand's address or number stands */
    uint64_t values[LW_RECORD_PARAMS]; /* last: copies take n */
} lw_launch_record;

static inline void
lw_record_begin(lw_launch_record *record)
{
    record->n = 0;
    record->shared_bytes = 0;
}

static inline void
lw_record_add(lw_launch_record *record, uint64_t value)
{
    assert(record->n < LW_RECORD_PARAMS);
    record->values[record->n++] = value;
}

static inline void
lw_record_add_address(lw_launch_record *record, int operand, uint64_t address)
{
    record->at[operand] = (uint16_t)record->n;
    lw_record_add(record, address);
}

/* A number of `dtype` as in memory; a complex one takes two parameters. */
void lw_record_add_item(lw_launch_record *record, int operand, lw_dtype dtype,
                        const void *item);
/* The same where the operand stands already. */
void lw_record_set_item(lw_launch_record *record, int operand, lw_dtype dtype,
                        const void *item);
/* size, multiplier and shift of a division by this size (core/base/divider.h). */
void lw_record_add_divider(lw_launch_record *record, uint32_t size);
size_t lw_record_size(const lw_launch_record *record);
/* On a device that was visited. */
lw_status lw_record_launch(lw_launch_record *record, CUstream stream, lw_error *err);

#endif
