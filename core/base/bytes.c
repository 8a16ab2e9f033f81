#include "core/base/bytes.h"

#include "core/base/memory.h"

#include <string.h>

bool
lw_bytes_new(lw_bytes *bytes, size_t n)
{
    bytes->n = 0;
    bytes->data = n < SIZE_MAX ? lw_alloc(n + 1) : NULL;
    if (bytes->data == NULL)
        return false;
    bytes->data[n] = 0;
    bytes->n = n;
    return true;
}

bool
lw_bytes_copy(lw_bytes *bytes, const void *data, size_t n)
{
    if (!lw_bytes_new(bytes, n))
        return false;
    if (n > 0)
        memcpy(bytes->data, data, n);
    return true;
}

void
lw_bytes_reset(lw_bytes *bytes)
{
    lw_free(bytes->data);
    bytes->data = NULL;
    bytes->n = 0;
}
