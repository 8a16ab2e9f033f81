/* The range of addresses that the elements of a strided array cover. */
#ifndef LW_BASE_MEMORY_SPAN_H
#define LW_BASE_MEMORY_SPAN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lw_memory_span {
    uint64_t low, high; /* low <= address < high; equal where there are no elements */
} lw_memory_span;

/* Strides are in bytes and may have any sign; data is the address of the first element. */
lw_memory_span lw_memory_span_of(int ndim, const int64_t *shape, const int64_t *strides,
                                 int64_t itemsize, uint64_t data);
/* Whether some address lies in both. */
static inline bool
lw_memory_spans_overlap(lw_memory_span x, lw_memory_span y)
{
    bool none = x.low == x.high || y.low == y.high;

    return !none && x.low < y.high && y.low < x.high;
}

#endif
