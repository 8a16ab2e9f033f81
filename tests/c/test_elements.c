/* core/base/elements: every copy against the loop that defines it, for every size, strides of
 * both signs, and numbers of elements around the blocks of the fast loops. */
#include "core/base/elements.h"
#include "tests/c/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, ROOM = 16 * 8 * MOST, MIDDLE = ROOM / 2 };

static const uint32_t sizes[] = {1, 2, 4, 8, 16};
static char memory[ROOM], packed[ROOM], expected[ROOM];

static void
scramble(char *bytes, unsigned seed)
{
    srand(seed);
    for (int i = 0; i < ROOM; i++)
        bytes[i] = (char)rand();
}

static void
begin(void)
{
    scramble(memory, 1);
    scramble(packed, 2);
}

static void
test_elements(uint32_t size, int64_t stride, int64_t n)
{
    begin();
    memcpy(expected, packed, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + i * size, memory + MIDDLE + i * stride, size);
    lw_elements_gather(packed, memory + MIDDLE, stride, size, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);
    scramble(packed, 2);
    lw_elements_gather_far(packed, memory + MIDDLE, stride, size, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);

    begin();
    memcpy(expected, memory, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + MIDDLE + i * stride, packed + i * size, size);
    lw_elements_scatter(memory + MIDDLE, stride, packed, size, n);
    CHECK(memcmp(memory, expected, ROOM) == 0);
}

static void
test_numbered(uint32_t size, int64_t stride, int64_t n)
{
    int64_t index[MOST];

    for (int64_t i = 0, at = 0; i < n; i++, at += 1 + (i % 3 == 0))
        index[i] = at;
    begin();
    memcpy(expected, packed, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + i * size, memory + MIDDLE + index[i] * stride, size);
    lw_elements_gather_at(packed, memory + MIDDLE, stride, size, index, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);

    begin();
    memcpy(expected, memory, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + MIDDLE + index[i] * stride, packed + i * size, size);
    lw_elements_scatter_at(memory + MIDDLE, stride, packed, size, index, n);
    CHECK(memcmp(memory, expected, ROOM) == 0);
}

static void
test_filled_and_kept(uint32_t size, int64_t n)
{
    uint8_t mask[MOST];
    int64_t kept = 0;

    begin();
    memcpy(expected, packed, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + i * size, memory + 3, size);
    lw_elements_fill(packed, memory + 3, size, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);

    begin();
    for (int64_t i = 0; i < n; i++) {
        mask[i] = (uint8_t)(memory[i] & 2);
        if (mask[i])
            memcpy(expected + kept++ * size, packed + i * size, size);
    }
    lw_elements_compress(packed, size, mask, n);
    CHECK(memcmp(packed, expected, (size_t)kept * size) == 0);
}

/* n[1] rows of n[0] elements, whose columns or rows are the contiguous ones. */
static void
test_rows(uint32_t size, int64_t n0, int64_t n1, bool across)
{
    int64_t n[2] = {n0, n1}, column = size, row = n0 * size + 3;
    int64_t strides[2] = {across ? n1 * size + 3 : column, across ? column : row};

    begin();
    memcpy(expected, packed, ROOM);
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i++)
            memcpy(expected + (j * n0 + i) * size, memory + j * strides[1] + i * strides[0],
                   size);
    lw_elements_gather_rows(packed, memory, strides, size, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);
    scramble(packed, 2);
    lw_elements_transpose(packed, memory, strides, size, n);
    CHECK(memcmp(packed, expected, ROOM) == 0);

    begin();
    memcpy(expected, memory, ROOM);
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i++)
            memcpy(expected + j * strides[1] + i * strides[0], packed + (j * n0 + i) * size,
                   size);
    lw_elements_scatter_rows(memory, strides, packed, size, n);
    CHECK(memcmp(memory, expected, ROOM) == 0);
}

int
main(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t size = sizes[s];
        for (int64_t n = 0; n <= MOST / 2; n++) {
            for (int64_t stride = -2 * (int64_t)size; stride <= 2 * (int64_t)size; stride++)
                if (stride == 0 || stride >= size || -stride >= size) {
                    test_elements(size, stride, n);
                    test_numbered(size, stride ? stride : size, n);
                }
            test_filled_and_kept(size, n);
        }
        for (int64_t n = 1; n <= 17; n++)
            for (int64_t m = 1; m <= 5; m++)
                for (int across = 0; across < 2; across++)
                    test_rows(size, n, m, across);
    }
    return n_failures != 0;
}
