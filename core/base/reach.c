#include "core/base/reach.h"

lw_reach
lw_reach_of(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize,
            uint64_t data)
{
    lw_reach reach = {data, data + (uint64_t)itemsize};

    for (int d = 0; d < ndim; d++) {
        int64_t bytes = strides[d] * (shape[d] - 1);
        if (shape[d] == 0)
            return (lw_reach){data, data};
        *(bytes < 0 ? &reach.low : &reach.high) += (uint64_t)bytes;
    }
    return reach;
}

bool
lw_reaches_meet(lw_reach x, lw_reach y)
{
    bool none = x.low == x.high || y.low == y.high;

    return !none && x.low < y.high && y.low < x.high;
}
