/* Operands of other libraries: CuPy by its attributes, PyTorch and others by DLPack. */
#include "core/py/array/args_internal.h"

#include "core/py/raise.h"
#include "core/py/state.h"

#include "core/base/memory.h"
#include "core/py/array/convert.h"

/* By which Cython calls a function without arguments that gives an intptr_t. */
#define STREAM_FUNCTION "intptr_t (void)"

/* ---- CuPy ---- */

/* A module that is loaded already (borrowed); NULL: it is not, or there is an exception. */
static PyObject *
loaded_module(const char *name)
{
    PyObject *text = PyUnicode_FromString(name), *module;

    module = text ? PyDict_GetItemWithError(PyImport_GetModuleDict(), text) : NULL;
    Py_XDECREF(text);
    return module;
}

PyObject *
lw_args_module(const char *name)
{
    PyObject *module = loaded_module(name);

    if (module == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s is not loaded any more", name);
    return module;
}

static int
attribute_int(PyObject *object, lw_args_attr which, unsigned long long *out)
{
    PyObject *value = lw_args_get(object, which);

    if (value == NULL)
        return -1;
    *out = PyLong_AsUnsignedLongLong(value);
    Py_DECREF(value);
    return *out == (unsigned long long)-1 && PyErr_Occurred() ? -1 : 0;
}

/* cupy.cuda.get_current_stream, found once: a module that is in use is not replaced. */
static PyObject *
cupy_get_current_stream(void)
{
    lw_found *place = &lw_core->found.cupy_current_stream;
    PyObject *function = lw_found_get(place), *cupy, *cuda;

    if (function != NULL)
        return function;
    cupy = lw_args_module("cupy");
    cuda = cupy != NULL ? PyObject_GetAttrString(cupy, "cuda") : NULL;
    if (cuda != NULL)
        function = lw_args_get(cuda, LW_ATTR_get_current_stream);
    Py_XDECREF(cuda);
    return lw_found_set(place, function);
}

/* The capsule of that function in the module's table for Cython: a new reference; None: there
 * is none. NULL with an exception. */
static PyObject *
stream_function_of(PyObject *module)
{
    PyObject *table = PyObject_GetAttrString(module, "__pyx_capi__"), *function = NULL;

    if (table == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    if (table != NULL && PyDict_Check(table)) {
        PyObject *name = PyUnicode_FromString("get_current_stream_ptr");
        function = name ? PyDict_GetItemWithError(table, name) : NULL;
        Py_XDECREF(name);
    }
    if (!PyErr_Occurred())
        function = Py_NewRef(
            function && PyCapsule_IsValid(function, STREAM_FUNCTION) ? function : Py_None);
    Py_XDECREF(table);
    return PyErr_Occurred() ? NULL : function;
}

/* Cython's C interface of CuPy: the handle of the current stream without a Python object.
 * Borrowed capsule, or None where this CuPy has no such function, or its module is not loaded
 * yet, which the next call looks for again. NULL with an exception. */
static PyObject *
cupy_stream_capsule(void)
{
    lw_found *place = &lw_core->found.cupy_stream_ptr;
    PyObject *capsule = lw_found_get(place), *module;

    if (capsule != NULL)
        return capsule;
    module = loaded_module("cupy_backends.cuda.stream");
    if (module == NULL)
        return PyErr_Occurred() ? NULL : Py_None;
    return lw_found_set(place, stream_function_of(module));
}

static int
cupy_stream_by_object(unsigned long long *handle)
{
    PyObject *function = cupy_get_current_stream();
    PyObject *stream = function != NULL ? PyObject_CallNoArgs(function) : NULL;
    int result = stream != NULL ? attribute_int(stream, LW_ATTR_ptr, handle) : -1;

    Py_XDECREF(stream);
    return result;
}

static int
cupy_stream(CUstream *out)
{
    PyObject *capsule = cupy_stream_capsule();
    unsigned long long handle = 0;
    intptr_t (*current)(void);

    if (capsule == NULL)
        return -1;
    if (capsule != Py_None) {
        current = (intptr_t(*)(void))PyCapsule_GetPointer(capsule, STREAM_FUNCTION);
        handle = (unsigned long long)current();
        if (handle == (unsigned long long)-1 && PyErr_Occurred())
            return -1;
    } else if (cupy_stream_by_object(&handle) < 0) {
        return -1;
    }
    *out = handle <= 1 ? NULL : (CUstream)(uintptr_t)handle;
    return 0;
}

static int
read_ints(PyObject *tuple, lw_args_attr which, int64_t *out, Py_ssize_t n)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != n) {
        PyErr_Format(PyExc_TypeError, "%s: expected a tuple of %zd ints, got %.200R",
                     lw_args_name_text(which), n, tuple);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (lw_args_int64(PyTuple_GET_ITEM(tuple, i), lw_args_name_text(which), &out[i]) < 0)
            return -1;
    return 0;
}

/* Its strides. Those of a contiguous array follow from its shape, which costs less than a
 * tuple.
 */
static int
read_strides(lw_operand *out, PyObject *object, int64_t *strides)
{
    PyObject *value = lw_args_type(Py_TYPE(object))->tells_contiguity
                          ? lw_args_get(object, LW_ATTR__c_contiguous)
                          : NULL;
    bool contiguous = value == Py_True;
    int result = -1;

    if (PyErr_Occurred())
        return -1;
    Py_XDECREF(value);
    if (contiguous) {
        lw_layout_fill(out->ndim, out->shape, out->itemsize, 'C', strides);
        return 0;
    }
    value = lw_args_get(object, LW_ATTR_strides);
    if (value != NULL)
        result = read_ints(value, LW_ATTR_strides, strides, out->ndim);
    Py_XDECREF(value);
    return result;
}

/* The shape, of ndim extents. The only extent is the size, which costs less than a tuple. */
static int
read_shape(PyObject *object, int ndim, int64_t *dims)
{
    unsigned long long size = 0;
    PyObject *shape;
    int result;

    if (ndim == 1) {
        result = attribute_int(object, LW_ATTR_size, &size);
        dims[0] = (int64_t)size;
        return result;
    }
    shape = lw_args_get(object, LW_ATTR_shape);
    result = shape != NULL ? read_ints(shape, LW_ATTR_shape, dims, ndim) : -1;
    Py_XDECREF(shape);
    return result;
}

/* Shape, strides and size, of an array whose dtype is known. */
static int
read_cupy_layout(lw_operand *out, PyObject *object)
{
    int64_t *dims = out->dims, n_bytes;
    unsigned long long ndim;

    if (attribute_int(object, LW_ATTR_ndim, &ndim) < 0)
        return -1;
    if (ndim > LW_MAX_DIMS) {
        PyErr_SetString(PyExc_TypeError, "not a CuPy array that can be read");
        return -1;
    }
    if (ndim > LW_INLINE_DIMS) {
        dims = out->heap = lw_alloc(2 * ndim * sizeof *dims);
        if (dims == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    out->ndim = (int)ndim;
    out->shape = dims;
    out->strides = dims + ndim;
    if (read_shape(object, out->ndim, dims) < 0)
        return -1;
    if (!lw_shape_size(out->ndim, dims, out->itemsize, &out->size, &n_bytes)) {
        PyErr_SetString(PyExc_ValueError, "shape: the array is larger than the address space");
        return -1;
    }
    return read_strides(out, object, dims + ndim);
}

int
lw_args_read_cupy(lw_operand *out, PyObject *object)
{
    PyObject *memory = lw_args_get(object, LW_ATTR_data);
    PyObject *descr = memory != NULL ? lw_args_get(object, LW_ATTR_dtype) : NULL;
    unsigned long long address, ordinal;
    lw_error err = {0};
    int result = -1;

    out->kind = LW_OPERAND_DEVICE;
    if (descr == NULL || attribute_int(memory, LW_ATTR_ptr, &address) < 0 ||
        attribute_int(memory, LW_ATTR_device_id, &ordinal) < 0)
        goto done;
    if (!PyArray_DescrCheck(descr)) {
        PyErr_SetString(PyExc_TypeError, "not a CuPy array that can be read");
        goto done;
    }
    out->itemsize = PyDataType_ELSIZE((PyArray_Descr *)descr);
    if (read_cupy_layout(out, object) < 0 || cupy_stream(&out->stream) < 0)
        goto done;
    if (lw_device_get((int)ordinal, &out->device, &err) != LW_OK) {
        (void)lw_py_raise(&err);
        goto done;
    }
    out->ordered = true;
    out->data = address;
    out->dtype = (uint8_t)lw_dtype_of_descr((PyArray_Descr *)descr);
    out->owned_descr = out->descr = (PyArray_Descr *)Py_NewRef(descr);
    result = lw_operand_check(out);
done:
    Py_XDECREF(memory);
    Py_XDECREF(descr);
    return result;
}

/* ---- DLPack ---- */

/* What PyTorch's exchange table would pass over in silence. */
static int
check_torch(PyObject *object)
{
    PyObject *flag = lw_args_get(object, LW_ATTR_requires_grad);
    int needs = flag != NULL ? PyObject_IsTrue(flag) : -1;

    Py_XDECREF(flag);
    if (needs > 0)
        PyErr_SetString(PyExc_BufferError,
                        "a tensor that requires gradient cannot be an operand: pass "
                        "tensor.detach()");
    return needs == 0 ? 0 : -1;
}

/* Lazily conjugated or negated: the memory holds other numbers than the tensor shows. */
static int
check_torch_bits(PyObject *object, lw_dtype dtype)
{
    static const lw_args_attr asks[] = {LW_ATTR_is_conj, LW_ATTR_is_neg};
    PyObject *answer;
    int is;

    if (!lw_is_complex(dtype) && !lw_is_float(dtype))
        return 0;
    for (int i = lw_is_complex(dtype) ? 0 : 1; i < 2; i++) {
        answer = lw_args_name(asks[i])
                     ? PyObject_CallMethodNoArgs(object, lw_args_name(asks[i]))
                     : NULL;
        is = answer != NULL ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is > 0)
            PyErr_Format(PyExc_BufferError,
                         "a tensor whose %.200U() is true cannot be an operand: pass %s",
                         lw_args_name(asks[i]),
                         i == 0 ? "tensor.resolve_conj()" : "tensor.resolve_neg()");
        if (is != 0)
            return -1;
    }
    return 0;
}

static void
release_managed(lw_operand *operand)
{
    DLManagedTensorVersioned *managed = operand->keep;

    if (managed->deleter != NULL)
        managed->deleter(managed);
}

static int
set_device(lw_operand *out, const DLTensor *tensor, const DLPackExchangeAPI *exchange)
{
    void *stream;

    if (lw_dlpack_find_device(out, tensor) < 0)
        return -1;
    if (exchange->current_work_stream(kDLCUDA, tensor->device.device_id, &stream) != 0)
        return -1;
    out->stream = (uintptr_t)stream <= 1 ? NULL : (CUstream)stream;
    out->ordered = true;
    return 0;
}

static bool
on_device(const DLTensor *tensor)
{
    return tensor->device.device_type == kDLCUDA ||
           tensor->device.device_type == kDLCUDAManaged;
}

int
lw_args_not_ours(lw_operand *out)
{
    out->kind = LW_OPERAND_OTHER;
    out->library = LW_LIB_NONE;
    return 0;
}

int
lw_args_read_exchange(lw_operand *out, PyObject *object, const lw_args_row *row, bool retain)
{
    const DLPackExchangeAPI *exchange = row->exchange;
    lw_array_library library = row->library;
    DLManagedTensorVersioned *managed;
    DLTensor borrowed;
    const DLTensor *tensor = &borrowed;

    if (library == LW_LIB_TORCH && check_torch(object) < 0)
        return -1;
    if (exchange->dltensor_from_py_object_no_sync != NULL && !retain) {
        if (exchange->dltensor_from_py_object_no_sync(object, &borrowed) != 0)
            return -1;
    } else {
        if (exchange->managed_tensor_from_py_object_no_sync(object, &managed) != 0)
            return -1;
        out->keep = managed;
        out->release = release_managed;
        out->readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        tensor = &managed->dl_tensor;
    }
    if (!on_device(tensor)) {
        lw_operand_release(out);
        return lw_args_not_ours(out);
    }
    if (lw_dlpack_read_tensor(out, tensor) < 0 || set_device(out, tensor, exchange) < 0)
        return -1;
    return library == LW_LIB_TORCH ? check_torch_bits(object, (lw_dtype)out->dtype) : 0;
}

int
lw_args_dlpack_device(PyObject *object, int *type)
{
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL), *number;
    int result = -1;

    if (pair == NULL)
        return -1;
    if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        number = PyNumber_Index(PyTuple_GET_ITEM(pair, 0)); /* often an IntEnum */
        if (number != NULL) {
            long wide = PyLong_AsLong(number);
            result = PyErr_Occurred() || wide != (int)wide ? -1 : 0;
            *type = (int)wide;
            Py_DECREF(number);
        }
    }
    if (result < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "__dlpack_device__: expected a tuple of two ints, got %.200R", pair);
    }
    Py_DECREF(pair);
    return result;
}

int
lw_args_read_dlpack(lw_operand *out, PyObject *object)
{
    int type;

    if (lw_args_dlpack_device(object, &type) < 0)
        return -1;
    if (type == kDLCUDA || type == kDLCUDAManaged)
        return lw_dlpack_read_object(out, object);
    if (lw_dlpack_on_host(type) || lw_args_type_has(Py_TYPE(object), "__array__"))
        return lw_args_not_ours(out);
    PyErr_Format(PyExc_BufferError,
                 "__dlpack_device__: expected device type %d (CPU), %d (CUDA), %d (CUDA host) "
                 "or %d (CUDA managed), got %d",
                 kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged, type);
    return -1;
}
