#include "core/py/array/array_key.h"

#include <assert.h>
#include <string.h>

static lw_array_key
key_of(lw_array_key key, const int64_t *shape, const int64_t *strides, uint64_t address)
{
    assert(key.ndim <= LW_ARRAY_KEY_DIMS);
    key.misaligned = address % LW_ARRAY_KEY_ALIGN;
    memcpy(key.shape, shape, key.ndim * sizeof *shape);
    memcpy(key.strides, strides, key.ndim * sizeof *strides);
    return key;
}

lw_array_key
lw_array_key_of(const lw_operand *operand)
{
    lw_array_key key = {
        .device = operand->device, .dtype = operand->dtype, .ndim = (uint8_t)operand->ndim};

    return key_of(key, operand->shape, operand->strides, operand->data);
}

lw_array_key
lw_array_key_of_array(const lw_device_array *array)
{
    lw_array_key key = {
        .device = array->device, .dtype = array->dtype, .ndim = (uint8_t)array->ndim};

    return key_of(key, array->shape, array->strides, array->data);
}

static bool
has_layout(const lw_array_key *key, const int64_t *shape, const int64_t *strides)
{
    for (int d = 0; d < key->ndim; d++)
        if (key->shape[d] != shape[d] || key->strides[d] != strides[d])
            return false;
    return true;
}

bool
lw_array_key_is(const lw_array_key *key, const lw_device_array *array)
{
    return key->dtype == array->dtype && key->ndim == array->ndim &&
           key->device == array->device &&
           key->misaligned == array->data % LW_ARRAY_KEY_ALIGN &&
           has_layout(key, array->shape, array->strides);
}

bool
lw_array_key_is_of(const lw_array_key *key, const lw_operand *operand)
{
    return key->dtype == operand->dtype && key->ndim == operand->ndim &&
           key->device == operand->device &&
           key->misaligned == operand->data % LW_ARRAY_KEY_ALIGN &&
           has_layout(key, operand->shape, operand->strides);
}
