/* The resources that a kernel needs, read from its cubin: no GPU and no toolkit program is
 * needed. */
#ifndef LW_LINK_CUBIN_INFO_H
#define LW_LINK_CUBIN_INFO_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lw_cubin_info {
    int registers;      /* of a thread */
    int shared_bytes;   /* static, of a block */
    int local_bytes;    /* of a thread: its stack frame, which includes spills */
    int constant_bytes; /* including the parameters */
    int level_bytes;    /* of a thread: what each level of recursion takes; 0: it has none */
} lw_cubin_info;

/* LW_ERR_LINK when the bytes are no cubin with this kernel; never reads outside of them. */
lw_status lw_cubin_info_read(const void *cubin, size_t n_bytes, const char *kernel,
                             lw_cubin_info *out, lw_error *err);
/* The stack frames of all functions in a cubin, in bytes. */
typedef struct lw_cubin_frames {
    uint32_t largest;
    uint64_t sum;
} lw_cubin_frames;

/* LW_ERR_LINK when the bytes are no cubin. */
lw_status lw_cubin_frames_read(const void *cubin, size_t n_bytes, lw_cubin_frames *out,
                               lw_error *err);
/* Whether the bytes have this symbol, or anything else of this name. */
bool lw_cubin_names(const void *cubin, size_t n_bytes, const char *name);
/* The fraction of an SM's threads that blocks of this many threads can occupy. */
double lw_occupancy_of(const lw_cubin_info *info, int cc, int block);

#endif
