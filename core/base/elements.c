#include "core/base/elements.h"

#include <assert.h>
#include <string.h>

/* Runs `statement` with SIZE, a constant, for `size`: a memcpy of SIZE bytes is a load and a
 * store. The loops below are inlined there. */
#define BY_SIZE(size, statement)                                                               \
    do {                                                                                       \
        switch (size) {                                                                        \
        case 1: WITH_SIZE(1, statement)                                                        \
        case 2: WITH_SIZE(2, statement)                                                        \
        case 4: WITH_SIZE(4, statement)                                                        \
        case 8: WITH_SIZE(8, statement)                                                        \
        default: assert(size == 16); WITH_SIZE(16, statement)                                  \
        }                                                                                      \
    } while (0)
#define WITH_SIZE(constant, statement)                                                         \
    {                                                                                          \
        enum { SIZE = constant };                                                              \
        statement;                                                                             \
    }                                                                                          \
    break;
#define INLINED static inline __attribute__((always_inline))

/* ---- elements of one dimension ---- */

INLINED void
fill(char *to, const char *from, int64_t n, size_t size)
{
    char value[16];

    memcpy(value, from, size);
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * (int64_t)size, value, size);
}

void
lw_elements_fill(char *packed, const char *value, uint32_t size, int64_t n)
{
    BY_SIZE(size, fill(packed, value, n, SIZE));
}

/* Where elements are: `step` bytes apart; with an index, element i is that of number index[i].
 */
typedef struct places {
    char *first;
    int64_t step;
    const int64_t *index;
} places;

/* The address of element i + k, written so that compilers see that the addresses of packed
 * elements for k = 0, 1, 2, 3 follow each other. */
INLINED char *
place(places p, int64_t i, int k)
{
    return p.index != NULL ? p.first + p.index[i + k] * p.step
                           : p.first + i * p.step + k * p.step;
}

/* Copies four elements at a time, which is faster than one by one even from the L1 cache:
 * compilers put what was loaded into one register before they store it. For numbered elements
 * that takes longer, so each is stored before the next one is loaded. ahead: bytes from what is
 * read to what is fetched into the cache; 0: nothing is. */
INLINED void
copy(places to, places from, int64_t n, int64_t ahead, size_t size)
{
    int64_t i = 0;

    for (; i + 4 <= n; i += 4) {
        char four[4][16];
        if (ahead != 0) {
            __builtin_prefetch(place(from, i, 0) + ahead);
            __builtin_prefetch(place(from, i, 2) + ahead);
        }
        for (int k = 0; k < 4; k++) {
            memcpy(four[k], place(from, i, k), size);
            if (from.index != NULL)
                memcpy(place(to, i, k), four[k], size);
        }
        for (int k = 0; k < 4 && from.index == NULL; k++)
            memcpy(place(to, i, k), four[k], size);
    }
    for (; i < n; i++)
        memcpy(place(to, i, 0), place(from, i, 0), size);
}

INLINED void
gather(char *packed, const char *from, int64_t stride, uint32_t size, int64_t n, int64_t ahead)
{
    places at = {.first = (char *)from, .step = stride};

    if (stride == 0)
        lw_elements_fill(packed, from, size, n);
    else if (stride == size)
        memcpy(packed, from, (size_t)n * size);
    else
        BY_SIZE(size, copy((places){packed, SIZE, NULL}, at, n, ahead, SIZE));
}

void
lw_elements_gather(char *packed, const char *from, int64_t stride, uint32_t size, int64_t n)
{
    gather(packed, from, stride, size, n, 0);
}

/* Processors prefetch no further than a page: gathering from 16 MB of records of two float64
 * is 2.5 times as fast with these prefetches as without. */
void
lw_elements_gather_far(char *packed, const char *from, int64_t stride, uint32_t size, int64_t n)
{
    enum { NEAR = 64, AHEAD = 12 * 1024 };

    gather(packed, from, stride, size, n,
           stride > NEAR || stride < -NEAR ? 0
           : stride < 0                    ? -AHEAD
                                           : AHEAD);
}

void
lw_elements_scatter(char *to, int64_t stride, const char *packed, uint32_t size, int64_t n)
{
    places at = {.first = to, .step = stride};

    BY_SIZE(size, copy(at, (places){(char *)packed, SIZE, NULL}, n, 0, SIZE));
}

void
lw_elements_gather_at(char *packed, const char *from, int64_t stride, uint32_t size,
                      const int64_t *index, int64_t n)
{
    places at = {.first = (char *)from, .step = stride, .index = index};

    BY_SIZE(size, copy((places){packed, SIZE, NULL}, at, n, 0, SIZE));
}

void
lw_elements_scatter_at(char *to, int64_t stride, const char *packed, uint32_t size,
                       const int64_t *index, int64_t n)
{
    places at = {.first = to, .step = stride, .index = index};

    BY_SIZE(size, copy(at, (places){(char *)packed, SIZE, NULL}, n, 0, SIZE));
}

/* Without a branch, as masks are hard to predict. */
INLINED int64_t
compress_one(char *packed, int64_t i, int64_t kept, const uint8_t *mask, size_t size)
{
    char element[16];

    memcpy(element, packed + i * (int64_t)size, size);
    memcpy(packed + kept * (int64_t)size, element, size);
    return kept + (mask[i] != 0);
}

INLINED void
compress(char *packed, const uint8_t *mask, int64_t n, size_t size)
{
    int64_t kept = 0, i = 0;

    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            kept = compress_one(packed, i + k, kept, mask, size);
    for (; i < n; i++)
        kept = compress_one(packed, i, kept, mask, size);
}

void
lw_elements_compress(char *packed, uint32_t size, const uint8_t *mask, int64_t n)
{
    BY_SIZE(size, compress(packed, mask, n, SIZE));
}

/* ---- rows of elements ---- */

/* n1 rows of n0 elements, whose first ones are to_row and from_row bytes apart. */
INLINED void
copy_rows(places to, int64_t to_row, places from, int64_t from_row, int64_t n0, int64_t n1,
          size_t size)
{
    for (int64_t j = 0; j < n1; j++) {
        copy(to, from, n0, 0, size);
        to.first += to_row;
        from.first += from_row;
    }
}

void
lw_elements_gather_rows(char *packed, const char *from, const int64_t *strides, uint32_t size,
                        const int64_t *n)
{
    places at = {.first = (char *)from, .step = strides[0]};

    BY_SIZE(size, copy_rows((places){packed, SIZE, NULL}, n[0] * SIZE, at, strides[1], n[0],
                            n[1], SIZE));
}

void
lw_elements_scatter_rows(char *to, const int64_t *strides, const char *packed, uint32_t size,
                         const int64_t *n)
{
    places at = {.first = to, .step = strides[0]};

    BY_SIZE(size, copy_rows(at, strides[1], (places){(char *)packed, SIZE, NULL}, n[0] * SIZE,
                            n[0], n[1], SIZE));
}

/* ---- transposed rows ---- */

/* Vectors that all processors have, by the size of their elements. */
enum { VECTOR = 16 };
typedef uint8_t vector1 __attribute__((vector_size(VECTOR)));
typedef uint16_t vector2 __attribute__((vector_size(VECTOR)));
typedef uint32_t vector4 __attribute__((vector_size(VECTOR)));
typedef uint64_t vector8 __attribute__((vector_size(VECTOR)));
#if defined(__clang__)
#define PICK(type, x, y, ...)                                                                  \
    ((vector1)__builtin_shufflevector((type)(x), (type)(y), __VA_ARGS__))
#else
#define PICK(type, x, y, ...)                                                                  \
    ((vector1)__builtin_shuffle((type)(x), (type)(y), (type){__VA_ARGS__}))
#endif

/* x[0], y[0], x[1], y[1] … of the first halves of two vectors, */
INLINED vector1
interleave_low(vector1 x, vector1 y, int64_t size)
{
    return size == 1
               ? PICK(vector1, x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
           : size == 2 ? PICK(vector2, x, y, 0, 8, 1, 9, 2, 10, 3, 11)
           : size == 4 ? PICK(vector4, x, y, 0, 4, 1, 5)
                       : PICK(vector8, x, y, 0, 2);
}

/* and of the second ones. */
INLINED vector1
interleave_high(vector1 x, vector1 y, int64_t size)
{
    return size == 1 ? PICK(vector1, x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                            15, 31)
           : size == 2 ? PICK(vector2, x, y, 4, 12, 5, 13, 6, 14, 7, 15)
           : size == 4 ? PICK(vector4, x, y, 2, 6, 3, 7)
                       : PICK(vector8, x, y, 1, 3);
}

/* Transposes a square of as many vectors as one has elements. Each step interleaves the first
 * half of the vectors with the second one, so that the elements that belong together are twice
 * as many. */
INLINED void
transpose_square(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t size)
{
    enum { MOST = VECTOR };
    vector1 x[MOST], y[MOST];
    int64_t n = VECTOR / size;

    for (int64_t i = 0; i < n; i++)
        memcpy(&x[i], from + i * from_row, VECTOR);
    for (int64_t together = 1; together < n; together *= 2) {
        for (int64_t i = 0; i < n / 2; i++) {
            y[2 * i] = interleave_low(x[i], x[i + n / 2], size);
            y[2 * i + 1] = interleave_high(x[i], x[i + n / 2], size);
        }
        for (int64_t i = 0; i < n; i++)
            x[i] = y[i];
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_row, &x[i], VECTOR);
}

/* Columns that are copied at a time: as many as a square has, or eight. */
INLINED int64_t
columns_at_once(int64_t size)
{
    return size == 1 ? VECTOR : 8;
}

/* Copies columns_at_once(size) columns, or those that are left. Contiguous elements are copied
 * in squares. The loop over a constant number of columns is unrolled. */
INLINED void
transpose_columns(char *packed, int64_t row, const char *from, const int64_t *strides,
                  int64_t columns, int64_t n1, int64_t size)
{
    int64_t most = columns_at_once(size), side = VECTOR / size, done = 0;
    places to = {packed, size, NULL}, at = {(char *)from, strides[0], NULL};

    if (size < VECTOR && columns >= most && strides[1] == size)
        for (; done + side <= n1; done += side)
            for (int64_t i = 0; i < most; i += side)
                transpose_square(packed + done * row + i * size, row,
                                 from + i * strides[0] + done * size, strides[0], size);
    to.first += done * row;
    at.first += done * strides[1];
    if (columns >= most)
        copy_rows(to, row, at, strides[1], most, n1 - done, (size_t)size);
    else
        copy_rows(to, row, at, strides[1], columns, n1 - done, (size_t)size);
}

/* A few columns at a time: their cache lines stay in the cache even if all of them belong to
 * one set. */
void
lw_elements_transpose(char *packed, const char *from, const int64_t *strides, uint32_t size,
                      const int64_t *n)
{
    int64_t row = n[0] * size, columns = columns_at_once(size);

    for (int64_t at = 0; at < n[0]; at += columns) {
        for (int64_t i = columns; i < 2 * columns && at + i < n[0]; i++) {
            __builtin_prefetch(from + i * strides[0]);
            __builtin_prefetch(from + i * strides[0] + (n[1] - 1) * strides[1]);
        }
        BY_SIZE(size, transpose_columns(packed, row, from, strides, n[0] - at, n[1], SIZE));
        packed += columns * size;
        from += columns * strides[0];
    }
}
