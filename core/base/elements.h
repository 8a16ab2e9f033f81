/* Elements of arrays in host memory, whose size is known only when the copy is made: 1, 2, 4, 8
 * or 16 bytes. Distances between elements (`stride`) are in bytes, of any sign; `packed`
 * elements follow each other without a gap. Addresses need not be aligned, and what is read
 * shares no memory with what is written. */
#ifndef LW_BASE_ELEMENTS_H
#define LW_BASE_ELEMENTS_H

#include <stdint.h>

/* Stores one value n times. */
void lw_elements_fill(char *packed, const char *value, uint32_t size, int64_t n);
void lw_elements_gather(char *packed, const char *from, int64_t stride, uint32_t size,
                        int64_t n);
/* The same for one operand of many elements, most of which are not in the cache: what follows
 * is fetched ahead. Several operands at a time would drive each other out of the L1 cache. */
void lw_elements_gather_far(char *packed, const char *from, int64_t stride, uint32_t size,
                            int64_t n);
void lw_elements_scatter(char *to, int64_t stride, const char *packed, uint32_t size,
                         int64_t n);
/* The same for the elements of these numbers: index[i] * stride is the distance of element i.
 */
void lw_elements_gather_at(char *packed, const char *from, int64_t stride, uint32_t size,
                           const int64_t *index, int64_t n);
void lw_elements_scatter_at(char *to, int64_t stride, const char *packed, uint32_t size,
                            const int64_t *index, int64_t n);
/* Moves the elements whose mask is not 0 to the front. What is behind them is unspecified. */
void lw_elements_compress(char *packed, uint32_t size, const uint8_t *mask, int64_t n);

/* n[1] rows of n[0] elements; strides: of an element, and of a row. The rows follow each other
 * where they are packed. */
void lw_elements_gather_rows(char *packed, const char *from, const int64_t *strides,
                             uint32_t size, const int64_t *n);
void lw_elements_scatter_rows(char *to, const int64_t *strides, const char *packed,
                              uint32_t size, const int64_t *n);
/* Gives the same as lw_elements_gather_rows, and is faster where the elements of a column are
 * closer to each other than those of a row. */
void lw_elements_transpose(char *packed, const char *from, const int64_t *strides,
                           uint32_t size, const int64_t *n);

#endif
