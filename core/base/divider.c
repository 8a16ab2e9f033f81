#include "core/base/divider.h"

lw_divider
lw_divider_of(uint32_t d)
{
    lw_divider divider = {0, 0};

    while (divider.shift < 32 && ((uint64_t)1 << divider.shift) < d)
        divider.shift++;
    if (d != 0)
        divider.multiplier = (uint32_t)(((((uint64_t)1 << divider.shift) - d) << 32) / d + 1);
    return divider;
}
