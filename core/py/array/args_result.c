/* What stands at the end of a call: foreign memory as our own arrays,
 * results as arrays of the library that the operands came from. */
#include "core/py/array/args_internal.h"

#include "core/py/array/cuda_arrays.h"
#include "core/py/raise.h"

#include "core/base/memory.h"

/* ---- foreign memory as our own array ---- */

static void
keeper_dropped(PyObject *capsule)
{
    lw_operand *operand = PyCapsule_GetPointer(capsule, "lanewise.operand");
    PyObject *object = operand->object;

    lw_operand_release(operand);
    lw_free(operand);
    Py_DECREF(object);
}

/* Steals operand, which is in the heap. */
static lw_device_array *
array_over_operand(lw_operand *operand)
{
    PyObject *keeper;
    lw_device_array *array;

    Py_INCREF(operand->object);
    keeper = PyCapsule_New(operand, "lanewise.operand", keeper_dropped);
    if (keeper == NULL) {
        Py_DECREF(operand->object);
        lw_operand_release(operand);
        lw_free(operand);
        return NULL;
    }
    array = lw_device_array_over(operand->device, operand->stream, operand->data,
                                 (lw_dtype)operand->dtype, operand->descr, operand->ndim,
                                 operand->shape, operand->strides, operand->readonly, keeper);
    Py_DECREF(keeper);
    return array;
}

lw_device_array *
lw_operand_as_array(PyObject *object)
{
    lw_device_array *array;
    lw_operand *operand;

    if (lw_is_device_array(object))
        return (lw_device_array *)Py_NewRef(object);
    array = PyArray_Check(object) ? lw_mapped_as_array(object) : NULL;
    if (array != NULL || PyErr_Occurred())
        return array;
    operand = lw_alloc(sizeof *operand);
    if (operand == NULL)
        return (lw_device_array *)PyErr_NoMemory();
    if (lw_args_read(operand, object, true) < 0) {
        lw_free(operand);
        return NULL;
    }
    if (operand->kind == LW_OPERAND_DEVICE)
        return array_over_operand(operand);
    lw_operand_release(operand);
    lw_free(operand);
    PyErr_Format(PyExc_TypeError,
                 "expected a device array (__cuda_array_interface__, or __dlpack__ on a CUDA "
                 "device), got %.200s",
                 Py_TYPE(object)->tp_name);
    return NULL;
}

lw_device_array *
lw_operand_array(const lw_operand *operand)
{
    if (operand->own != NULL)
        return (lw_device_array *)Py_NewRef((PyObject *)operand->own);
    return lw_operand_as_array(operand->object);
}

lw_device_array *
lw_array_from_dlpack(PyObject *object)
{
    lw_operand *operand;
    int result;

    if (lw_is_device_array(object))
        return lw_device_array_view(
            (lw_device_array *)object, ((lw_device_array *)object)->data,
            ((lw_device_array *)object)->ndim, ((lw_device_array *)object)->shape,
            ((lw_device_array *)object)->strides);
    if (!PyCapsule_CheckExact(object)) {
        if (lw_args_type_has(Py_TYPE(object), "__dlpack__"))
            return lw_operand_as_array(object);
        PyErr_Format(PyExc_TypeError,
                     "expected an object with __dlpack__ or a capsule, got %.200s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    operand = lw_alloc_zero(1, sizeof *operand);
    if (operand == NULL)
        return (lw_device_array *)PyErr_NoMemory();
    operand->object = object;
    result = lw_dlpack_read_capsule(operand, object);
    if (result == 0)
        return array_over_operand(operand);
    lw_operand_release(operand);
    lw_free(operand);
    return NULL;
}

/* ---- results in the caller's library ---- */

static PyObject *
wrap_by_exchange(const DLPackExchangeAPI *exchange, lw_device_array *result)
{
    DLManagedTensorVersioned *managed = lw_dlpack_managed(result);
    void *object = NULL;

    if (managed == NULL || exchange->managed_tensor_to_py_object_no_sync(managed, &object) != 0)
        return NULL;
    return object;
}

/* cupy.ndarray(shape, dtype, MemoryPointer(UnownedMemory(address, n, result, device), 0)) */
static PyObject *
wrap_cupy(lw_device_array *result)
{
    PyObject *cupy = lw_args_module("cupy"), *cuda, *memory = NULL, *pointer = NULL;
    PyObject *shape = NULL, *strides = NULL, *out = NULL;

    cuda = cupy != NULL ? PyObject_GetAttrString(cupy, "cuda") : NULL;
    if (cuda == NULL)
        return NULL;
    shape = PyObject_GetAttrString((PyObject *)result, "shape");
    strides = PyObject_GetAttrString((PyObject *)result, "strides");
    if (shape != NULL && strides != NULL && result->size == 0) {
        out = PyObject_CallMethod(cupy, "ndarray", "OO", shape, (PyObject *)result->descr);
    } else if (shape != NULL && strides != NULL) {
        memory = PyObject_CallMethod(cuda, "UnownedMemory", "KLOi", result->data,
                                     (long long)result->size * result->itemsize,
                                     (PyObject *)result, result->device->ordinal);
        pointer =
            memory != NULL ? PyObject_CallMethod(cuda, "MemoryPointer", "Oi", memory, 0) : NULL;
        out = pointer != NULL ? PyObject_CallMethod(cupy, "ndarray", "OOOO", shape,
                                                    (PyObject *)result->descr, pointer, strides)
                              : NULL;
    }
    Py_XDECREF(cuda);
    Py_XDECREF(memory);
    Py_XDECREF(pointer);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return out;
}

/* module.function(result) of a module that is loaded. */
static PyObject *
wrap_by_call(const char *module, const char *function, lw_device_array *result)
{
    PyObject *found = lw_args_module(module);

    if (found == NULL)
        return NULL;
    return PyObject_CallMethod(found, function, "O", (PyObject *)result);
}

static PyObject *
wrap(const lw_operand *first, lw_device_array *result)
{
    const lw_args_row *row;

    switch (first->library) {
    case LW_LIB_TORCH:
        row = lw_args_type(Py_TYPE(first->object));
        if (row->exchange != NULL)
            return wrap_by_exchange(row->exchange, result);
        return wrap_by_call("torch", "from_dlpack", result);
    case LW_LIB_CUPY: return wrap_cupy(result);
    case LW_LIB_JAX: return wrap_by_call("jax.dlpack", "from_dlpack", result);
    case LW_LIB_NUMBA: return wrap_by_call("numba.cuda", "as_cuda_array", result);
    default: return Py_NewRef((PyObject *)result);
    }
}

PyObject *
lw_result_wrap(const lw_operand *first, lw_device_array *result)
{
    PyObject *wrapped;
    lw_error err = {0};

    if (first->library == LW_LIB_OWN || result == NULL)
        return (PyObject *)result;
    /* its own library goes on working on its own stream */
    if (first->library != LW_LIB_OTHER && first->device == result->device &&
        lw_device_array_use(result, first->stream, &err) != LW_OK) {
        Py_DECREF(result);
        return lw_py_raise(&err);
    }
    wrapped = wrap(first, result);
    Py_DECREF(result);
    return wrapped;
}
