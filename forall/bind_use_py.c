/* The bound arguments of a launch on a GPU: work that must come before it, records that it
 * reads and writes as copies, because an np.void is on the host. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"

#include "core/device/copy.h"

/* The device gets a copy, which is returned to the pool in the order of the stream. */
static lw_status
bring_record(lw_bound *bound, const lw_bound_array *record, lw_device *device, CUstream stream,
             lw_error *err)
{
    const int64_t shape[] = {record->n_bytes ? record->n_bytes : 1};
    const PyVoidScalarObject *scalar = (PyVoidScalarObject *)record->object;
    lw_device_array *copy;
    int failed;

    if (bound->owned == NULL && (bound->owned = PyList_New(0)) == NULL)
        return lw_fail(err, LW_ERR_PYTHON, "a list");
    copy = lw_device_array_new(device, stream, LW_DT_u8, 1, shape, 'C');
    if (copy == NULL)
        return lw_fail(err, LW_ERR_PYTHON, "an array for a record");
    bound->values[record->value] = copy->data;
    failed = PyList_Append(bound->owned, (PyObject *)copy);
    Py_DECREF(copy);
    if (failed < 0)
        return lw_fail(err, LW_ERR_PYTHON, "a list");
    return lw_copy_to_device(&(lw_copy_queue){device, stream, false},
                             (CUdeviceptr)bound->values[record->value], scalar->obval,
                             record->n_bytes, err);
}

lw_status
lw_bound_use(lw_bound *bound, lw_device *device, CUstream stream, lw_error *err)
{
    lw_status status = LW_OK;

    Py_CLEAR(bound->owned); /* records that an earlier launch of this call has copied */
    for (uint32_t i = 0; i < bound->n_arrays; i++) {
        const lw_bound_array *array = &bound->arrays[i];
        if (array->record)
            LW_TRY(bring_record(bound, array, device, stream, err));
        else if (array->operand != NULL)
            LW_TRY(lw_operand_use(array->operand, stream, err));
        else
            LW_TRY(lw_device_array_use((lw_device_array *)array->object, stream, err));
    }
fail:
    return status;
}

/* Waits for the kernel where it may have written the record. */
static lw_status
return_record(const lw_bound *bound, const lw_bound_array *record, lw_device *device,
              CUstream stream, lw_error *err)
{
    const PyVoidScalarObject *scalar = (PyVoidScalarObject *)record->object;

    return lw_copy_to_host(&(lw_copy_queue){device, stream, true}, scalar->obval,
                           (CUdeviceptr)bound->values[record->value], record->n_bytes, err);
}

lw_status
lw_bound_done(lw_bound *bound, lw_device *device, CUstream stream, lw_error *err)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < bound->n_arrays; i++) {
        const lw_bound_array *array = &bound->arrays[i];
        if (array->record && array->back)
            LW_TRY(return_record(bound, array, device, stream, err));
        else if (array->operand != NULL && bound->n_operands)
            LW_TRY(lw_operand_done(array->operand, stream, err));
    }
fail:
    return status;
}
