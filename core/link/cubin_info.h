/* What a kernel takes, read from its cubin: no GPU and no toolkit program needed. */
#ifndef LW_LINK_CUBIN_INFO_H
#define LW_LINK_CUBIN_INFO_H

#include "core/base/error.h"

#include <stddef.h>

typedef struct lw_cubin_info {
    int registers;      /* a thread */
    int shared_bytes;   /* static, a block */
    int local_bytes;    /* a thread: its stack frame, where spills go */
    int constant_bytes; /* the parameter bank included */
} lw_cubin_info;

/* LW_ERR_LINK when the bytes are no cubin with this kernel; never reads outside of them. */
lw_status lw_cubin_info_read(const void *cubin, size_t n_bytes, const char *kernel,
                             lw_cubin_info *out, lw_error *err);
/* The part of an SM's threads that blocks of this many threads can fill. */
double lw_occupancy_of(const lw_cubin_info *info, int cc, int block);

#endif
