/* What calls that are remembered compare of their arrays: everything but the address. */
#ifndef LW_PY_ARRAY_KEY_H
#define LW_PY_ARRAY_KEY_H

#include "core/py/array/args.h"

enum {
    LW_ARRAY_KEY_DIMS = 4,  /* of an array at most */
    LW_ARRAY_KEY_ALIGN = 16 /* bytes: kernels make no wider accesses */
};

typedef struct lw_array_key {
    lw_device *device; /* NULL: a Python number; dtype f64 or i64 */
    int64_t shape[LW_ARRAY_KEY_DIMS], strides[LW_ARRAY_KEY_DIMS];
    uint8_t dtype, ndim, misaligned; /* misaligned: address modulo LW_ARRAY_KEY_ALIGN */
} lw_array_key;

/* The key of an array of at most LW_ARRAY_KEY_DIMS dimensions. */
lw_array_key lw_array_key_of(const lw_operand *operand);
lw_array_key lw_array_key_of_array(const lw_device_array *array); /* likewise */
bool lw_array_key_is(const lw_array_key *key, const lw_device_array *array);
bool lw_array_key_is_of(const lw_array_key *key, const lw_operand *operand); /* likewise */

#endif
