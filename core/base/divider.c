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

uint64_t
lw_greatest_divisor(uint64_t x, uint64_t y)
{
    while (y != 0) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}
