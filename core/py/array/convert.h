/* Scalars as items in memory: one value in one of our dtypes to another, and Python numbers to
 * items by NumPy 2's rules. */
#ifndef LW_PY_CONVERT_H
#define LW_PY_CONVERT_H

#include "core/py/array/args.h"

/* Value-preserving where the cast is safe; else wraps (integers), rounds to nearest even
 * (floats), saturates with NaN -> 0 (float to integer), drops the imaginary part. Pure. */
void lw_value_cast(const lw_value *from, lw_dtype from_dtype, lw_value *to, lw_dtype to_dtype);
/* The number in the widest dtype of its kind, which has all its values; a bool as int64. */
lw_value lw_value_widened(const lw_value *from, lw_dtype dtype);
/* A number as Python's int, float, complex or bool; NULL with an exception. */
PyObject *lw_number_of(lw_dtype dtype, const void *bytes);
/* Round to nearest even. */
uint16_t lw_bf16_from_double(double value);
double lw_bf16_to_double(uint16_t bits);

/* A sequence of ints (or one int) as a shape. Gives ndim, -1 with an exception: TypeError for
 * what is no int, ValueError for negative sizes (unless allow_minus_one) and too many. */
int lw_shape_read(PyObject *object, int64_t shape[LW_MAX_DIMS], bool allow_minus_one);
/* The same for strides in bytes, which may be negative. */
int lw_strides_read(PyObject *object, int64_t strides[LW_MAX_DIMS]);
/* Total elements and bytes; false when either leaves int64 (a size of 0 anywhere: 0). */
bool lw_shape_size(int ndim, const int64_t *shape, int64_t itemsize, int64_t *size,
                   int64_t *n_bytes);
/* Byte offsets of the lowest and one past the highest byte reached, from element 0; false on
 * overflow. Zero-size arrays reach nothing. */
bool lw_layout_reach(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize,
                     int64_t *low, int64_t *high);
void lw_layout_fill(int ndim, const int64_t *shape, int64_t itemsize, char order,
                    int64_t *strides);
/* Whether it is C-contiguous. Extents of 1 and empty arrays do not look at strides. */
bool lw_layout_is_c(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize);
bool lw_layout_is_f(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize);
/* The largest power of two, up to `most`, that divides the address of every element: of `data`
 * and of the strides of extents beyond 1. */
int64_t lw_layout_alignment(int ndim, const int64_t *shape, const int64_t *strides,
                            uint64_t data, int64_t most);

#endif
