/* What stands at the end of a call: foreign memory as our own arrays,
 * results as arrays of the library that the operands came from. */
#include "core/py/array/args_internal.h"

#include "core/py/array/cuda_arrays.h"
#include "core/py/raise.h"

#include "core/base/memory.h"

#include <string.h>

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

/* What makes CuPy's arrays. `array_base` is None where that class is not as we know it. */
enum { CUPY_ndarray, CUPY_memory, CUPY_pointer, CUPY_array_base, N_CUPY_MAKERS };
_Static_assert((int)N_CUPY_MAKERS == LW_STATE_CUPY_MAKERS, "a place for each");

/* Borrowed; found once: a module that is in use is not replaced. NULL with an exception. */
static PyObject *
cupy_maker(int which)
{
    static const char *const names[] = {"ndarray", "UnownedMemory", "MemoryPointer"};
    lw_found *place = &lw_core->found.cupy_makers[which];
    PyObject *found = lw_found_get(place), *cupy, *from;

    if (found != NULL)
        return found;
    cupy = lw_args_module("cupy");
    from = which == CUPY_ndarray ? Py_XNewRef(cupy)
           : cupy != NULL        ? PyObject_GetAttrString(cupy, "cuda")
                                 : NULL;
    found = from != NULL ? PyObject_GetAttrString(from, names[which]) : NULL;
    Py_XDECREF(from);
    return lw_found_set(place, found);
}

/* The base class of cupy.ndarray, whose `_init` cupy.ndarray.__new__ calls, more slowly.
 * Borrowed; None: there is none. NULL with an exception. */
static PyObject *
cupy_array_base(PyObject *ndarray)
{
    lw_found *place = &lw_core->found.cupy_makers[CUPY_array_base];
    PyObject *found = lw_found_get(place);
    PyTypeObject *base;

    if (found != NULL)
        return found;
    base = PyType_Check(ndarray) ? ((PyTypeObject *)ndarray)->tp_base : NULL;
    found = base != NULL && strcmp(base->tp_name, "cupy._core.core._ndarray_base") == 0 &&
                    lw_args_type_has(base, "_init") && base->tp_new != NULL
                ? (PyObject *)base
                : Py_None;
    return lw_found_set(place, Py_NewRef(found));
}

/* cupy.ndarray(shape, dtype, pointer) */
static PyObject *
contiguous_cupy(PyObject *shape, PyObject *descr, PyObject *pointer)
{
    PyObject *ndarray = cupy_maker(CUPY_ndarray);
    PyObject *base = ndarray ? cupy_array_base(ndarray) : NULL;
    PyObject *args[] = {NULL, shape, descr, pointer}, *none, *result;

    if (base == NULL)
        return NULL;
    if (base == Py_None)
        return PyObject_Vectorcall(ndarray, args + 1, 3, NULL);
    none = PyTuple_New(0);
    args[0] = none ? ((PyTypeObject *)base)->tp_new((PyTypeObject *)ndarray, none, NULL) : NULL;
    Py_XDECREF(none);
    if (args[0] == NULL)
        return NULL;
    result = PyObject_VectorcallMethod(lw_args_name(LW_ATTR__init), args, 4, NULL);
    if (result == NULL)
        Py_CLEAR(args[0]);
    Py_XDECREF(result);
    return args[0];
}

/* MemoryPointer(UnownedMemory(address, n, result, device), 0) */
static PyObject *
cupy_pointer(lw_device_array *result)
{
    PyObject *make_memory = cupy_maker(CUPY_memory);
    PyObject *make_pointer = make_memory ? cupy_maker(CUPY_pointer) : NULL;
    PyObject *args[4] = {NULL}, *memory, *pointer, *none;

    args[0] = make_pointer ? PyLong_FromUnsignedLongLong(result->data) : NULL;
    args[1] = args[0] ? PyLong_FromLongLong(result->size * result->itemsize) : NULL;
    args[2] = (PyObject *)result;
    args[3] = args[1] ? PyLong_FromLong(result->device->ordinal) : NULL;
    memory = args[3] ? PyObject_Vectorcall(make_memory, args, 4, NULL) : NULL;
    none = memory ? PyLong_FromLong(0) : NULL;
    pointer =
        none ? PyObject_Vectorcall(make_pointer, (PyObject *[]){memory, none}, 2, NULL) : NULL;
    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    Py_XDECREF(args[3]);
    Py_XDECREF(memory);
    Py_XDECREF(none);
    return pointer;
}

static PyObject *
wrap_cupy(lw_device_array *result)
{
    PyObject *ndarray = cupy_maker(CUPY_ndarray), *descr = (PyObject *)result->descr;
    PyObject *shape = NULL, *strides = NULL, *pointer = NULL, *out = NULL;

    if (ndarray == NULL)
        return NULL;
    shape = PyObject_GetAttrString((PyObject *)result, "shape");
    if (shape == NULL)
        return NULL;
    if (result->size == 0) {
        out = PyObject_Vectorcall(ndarray, (PyObject *[]){shape, descr}, 2, NULL);
        goto done;
    }
    pointer = cupy_pointer(result);
    if (pointer == NULL)
        goto done;
    if (result->c_contiguous) {
        out = contiguous_cupy(shape, descr, pointer);
        goto done;
    }
    strides = PyObject_GetAttrString((PyObject *)result, "strides");
    if (strides != NULL)
        out = PyObject_Vectorcall(ndarray, (PyObject *[]){shape, descr, pointer, strides}, 4,
                                  NULL);
done:
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(pointer);
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
