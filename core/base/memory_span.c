#include "core/base/memory_span.h"

lw_memory_span
lw_memory_span_of(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize,
                  uint64_t data)
{
    lw_memory_span span = {data, data + (uint64_t)itemsize};

    for (int d = 0; d < ndim; d++) {
        int64_t bytes = strides[d] * (shape[d] - 1);
        if (shape[d] == 0)
            return (lw_memory_span){data, data};
        *(bytes < 0 ? &span.low : &span.high) += (uint64_t)bytes;
    }
    return span;
}
