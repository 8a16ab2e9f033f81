/* Operands by __cuda_array_interface__, versions 0 to 3. */
#include "core/py/array/args_internal.h"

#include "core/py/array/convert.h"
#include "core/py/raise.h"

#include "core/base/env.h"
#include "core/base/memory.h"

#include <string.h>

/* ---- __cuda_array_interface__ ---- */

static int
refuse(PyObject *exception, const char *field, const char *wanted, PyObject *got)
{
    PyErr_Format(exception, "__cuda_array_interface__: %s must be %s, got %.200R", field,
                 wanted, got);
    return -1;
}

/* Borrowed; NULL without an exception when it is absent. */
static PyObject *
entry(PyObject *dict, const char *name)
{
    PyObject *key = PyUnicode_FromString(name), *value;

    if (key == NULL)
        return NULL;
    value = PyDict_GetItemWithError(dict, key);
    Py_DECREF(key);
    return value;
}

static PyObject *
needed(PyObject *dict, const char *name)
{
    PyObject *value = entry(dict, name);

    if (value == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "__cuda_array_interface__: no entry '%s'", name);
    return value;
}

int
lw_args_int64(PyObject *object, const char *field, int64_t *out)
{
    long long value;

    if (!PyIndex_Check(object) || PyBool_Check(object))
        return refuse(PyExc_TypeError, field, "made of ints", object);
    object = PyNumber_Index(object);
    if (object == NULL)
        return -1;
    value = PyLong_AsLongLong(object);
    Py_DECREF(object);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: a number in %s is beyond 64 bits", field);
        return -1;
    }
    *out = value;
    return 0;
}

/* A shape of one dimension may be an int, as NumPy has it. */
static int
read_length(lw_operand *out, PyObject *shape)
{
    if (!PyIndex_Check(shape) || PyBool_Check(shape))
        return refuse(PyExc_TypeError, "shape", "a tuple or an int", shape);
    if (lw_args_int64(shape, "shape", out->dims) < 0)
        return -1;
    if (out->dims[0] < 0)
        return refuse(PyExc_ValueError, "shape", "without negative extents", shape);
    out->ndim = 1;
    out->shape = out->dims;
    out->strides = out->dims + 1;
    return 0;
}

static int
read_shape(lw_operand *out, PyObject *dict)
{
    PyObject *shape = needed(dict, "shape");
    int64_t *dims = out->dims;
    Py_ssize_t n;

    if (shape == NULL)
        return -1;
    if (!PyTuple_Check(shape))
        return read_length(out, shape);
    n = PyTuple_GET_SIZE(shape);
    if (n > LW_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "__cuda_array_interface__: at most %d dimensions, got %zd", LW_MAX_DIMS,
                     n);
        return -1;
    }
    if (n > LW_INLINE_DIMS) {
        dims = out->heap = lw_alloc(2 * (size_t)n * sizeof *dims);
        if (dims == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (lw_args_int64(PyTuple_GET_ITEM(shape, i), "shape", &dims[i]) < 0)
            return -1;
        if (dims[i] < 0)
            return refuse(PyExc_ValueError, "shape", "without negative extents", shape);
    }
    out->ndim = (int)n;
    out->shape = dims;
    out->strides = dims + n;
    return 0;
}

static bool
is_byte_order(char c)
{
    return c == '<' || c == '>' || c == '|' || c == '=';
}

/* "<f4" and the like without asking NumPy; "f4" is in the machine's order. */
static lw_dtype
simple_type(const char *text, Py_ssize_t n)
{
    lw_kind kind;
    int size_bytes;

    if (text[0] == '>')
        return LW_DT_void;
    if (is_byte_order(text[0])) {
        text++;
        n--;
    }
    if (n != 2 && n != 3)
        return LW_DT_void;
    switch (text[0]) {
    case 'b': kind = LW_KIND_BOOL; break;
    case 'i': kind = LW_KIND_INT; break;
    case 'u': kind = LW_KIND_UINT; break;
    case 'f': kind = LW_KIND_FLOAT; break;
    case 'c': kind = LW_KIND_COMPLEX; break;
    default: return LW_DT_void;
    }
    if (text[1] < '1' || text[1] > '9' || (n == 3 && (text[2] < '0' || text[2] > '9')))
        return LW_DT_void;
    size_bytes = n == 3 ? (text[1] - '0') * 10 + text[2] - '0' : text[1] - '0';
    for (int d = LW_DT_b1; d <= LW_DT_c128; d++)
        if (lw_dtypes[d].kind == kind && lw_dtypes[d].size_bytes == size_bytes &&
            d != LW_DT_bf16)
            return (lw_dtype)d;
    return LW_DT_void;
}

/* Records, dates and strings: kept with NumPy's dtype, for copying only. */
static int
read_other_type(lw_operand *out, PyObject *dict, PyObject *typestr)
{
    PyObject *fields = entry(dict, "descr");
    PyArray_Descr *descr = NULL;
    const char *text = PyUnicode_AsUTF8(typestr);

    if (text == NULL || PyErr_Occurred())
        return -1;
    if (text[0] == '>')
        return refuse(PyExc_TypeError, "typestr", "in the machine's byte order", typestr);
    if (fields != NULL && text[is_byte_order(text[0])] == 'V' && PyList_Check(fields) &&
        PyList_GET_SIZE(fields) > 1)
        typestr = fields;
    if (PyArray_DescrConverter(typestr, &descr) != NPY_SUCCEED) {
        PyErr_Clear();
        return refuse(PyExc_TypeError, "typestr", "a type that NumPy knows", typestr);
    }
    if (PyDataType_REFCHK(descr) || PyDataType_ELSIZE(descr) == 0) {
        Py_DECREF(descr);
        return refuse(PyExc_TypeError, "typestr", "a type of fixed size without Python objects",
                      typestr);
    }
    out->owned_descr = descr;
    out->descr = descr;
    out->dtype = (uint8_t)lw_dtype_of_descr(descr); /* times; void of all others */
    out->itemsize = PyDataType_ELSIZE(descr);
    return 0;
}

static int
read_type(lw_operand *out, PyObject *dict)
{
    PyObject *typestr = needed(dict, "typestr");
    const char *text;
    Py_ssize_t n;

    if (typestr == NULL)
        return -1;
    if (!PyUnicode_Check(typestr))
        return refuse(PyExc_TypeError, "typestr", "a str", typestr);
    text = PyUnicode_AsUTF8AndSize(typestr, &n);
    if (text == NULL)
        PyErr_Clear(); /* lone surrogates */
    if (text == NULL || n < 2 || strlen(text) != (size_t)n)
        return refuse(PyExc_TypeError, "typestr", "like '<f4'", typestr);
    out->dtype = (uint8_t)simple_type(text, n);
    if (out->dtype == LW_DT_void)
        return read_other_type(out, dict, typestr);
    out->itemsize = lw_dtypes[out->dtype].size_bytes;
    return 0;
}

static int
read_data(lw_operand *out, PyObject *dict)
{
    PyObject *data = needed(dict, "data"), *number;
    unsigned long long address;
    int readonly;

    if (data == NULL)
        return -1;
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 ||
        !PyIndex_Check(PyTuple_GET_ITEM(data, 0)) || PyBool_Check(PyTuple_GET_ITEM(data, 0)))
        return refuse(PyExc_TypeError, "data", "a tuple (address, read-only flag)", data);
    number = PyNumber_Index(PyTuple_GET_ITEM(data, 0));
    if (number == NULL)
        return -1;
    address = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (address == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return refuse(PyExc_ValueError, "data", "an address", data);
    }
    readonly = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    if (readonly < 0)
        return -1;
    out->readonly = readonly != 0;
    out->data = address;
    return 0;
}

static int
read_interface_strides(lw_operand *out, PyObject *dict)
{
    PyObject *strides = entry(dict, "strides");
    int64_t *to = (int64_t *)out->strides;

    if (strides == NULL && PyErr_Occurred())
        return -1;
    if (strides == NULL || strides == Py_None) {
        lw_layout_fill(out->ndim, out->shape, out->itemsize, 'C', to);
        return 0;
    }
    if (!PyTuple_Check(strides))
        return refuse(PyExc_TypeError, "strides", "None or a tuple", strides);
    if (PyTuple_GET_SIZE(strides) != out->ndim)
        return refuse(PyExc_ValueError, "strides", "as long as shape", strides);
    for (int i = 0; i < out->ndim; i++)
        if (lw_args_int64(PyTuple_GET_ITEM(strides, i), "strides", &to[i]) < 0)
            return -1;
    return 0;
}

static int
read_version(PyObject *dict, int64_t *version)
{
    PyObject *value = needed(dict, "version");

    if (value == NULL || lw_args_int64(value, "version", version) < 0)
        return -1;
    if (*version < 1 || *version > 3)
        return refuse(PyExc_ValueError, "version", "1, 2 or 3", value);
    return 0;
}

static int
read_interface_stream(lw_operand *out, PyObject *dict)
{
    PyObject *stream = entry(dict, "stream");
    int64_t handle;

    if (stream == NULL && PyErr_Occurred())
        return -1;
    if (stream == NULL || stream == Py_None)
        return 0;
    if (lw_args_int64(stream, "stream", &handle) < 0)
        return -1;
    if (handle <= 0)
        return refuse(PyExc_ValueError, "stream", "None, 1, 2 or a stream handle", stream);
    if (!lw_env_int(LW_ENV_interface_sync))
        return 0;
    out->stream = handle == 1 ? NULL : (CUstream)(intptr_t)handle;
    out->ordered = true;
    return 0;
}

/* The interface names no device: with several of them the driver is asked. */
static int
find_device(lw_operand *out)
{
    lw_error err = {0};
    lw_status status;
    int n;

    status = lw_device_count(&n, &err);
    if (status == LW_OK && n > 1 && out->size > 0)
        status = lw_device_of_address(out->data, &out->device, &err);
    else if (status == LW_OK)
        status = lw_device_current(&out->device, &err);
    if (status == LW_OK)
        return 0;
    (void)lw_py_raise(&err);
    return -1;
}

static int
read_interface_dict(lw_operand *out, PyObject *dict)
{
    PyObject *mask;
    int64_t version, n_bytes;

    out->kind = LW_OPERAND_DEVICE;
    mask = entry(dict, "mask");
    if (mask != NULL && mask != Py_None)
        return refuse(PyExc_NotImplementedError, "mask",
                      "None (Masked arrays are not supported)", mask);
    if (read_version(dict, &version) < 0 || read_shape(out, dict) < 0 ||
        read_type(out, dict) < 0 || read_data(out, dict) < 0 ||
        read_interface_strides(out, dict) < 0)
        return -1;
    if (version >= 3 && read_interface_stream(out, dict) < 0)
        return -1;
    if (!lw_shape_size(out->ndim, out->shape, out->itemsize, &out->size, &n_bytes)) {
        PyErr_SetString(PyExc_ValueError,
                        "__cuda_array_interface__: the array's bytes exceed 2**63 - 1");
        return -1;
    }
    if (out->data == 0 && out->size > 0) {
        PyErr_SetString(PyExc_ValueError, "__cuda_array_interface__: data is NULL");
        return -1;
    }
    return lw_operand_check(out) < 0 ? -1 : find_device(out);
}

int
lw_args_read_interface(lw_operand *out, PyObject *object)
{
    PyObject *dict = PyObject_GetAttrString(object, "__cuda_array_interface__"), *own = NULL;
    int result = -1;

    if (dict == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        if (PyArray_Check(object))
            return lw_args_read_host(out, object);
        out->kind = LW_OPERAND_OTHER;
        out->library = LW_LIB_NONE;
        return 0;
    }
    if (PyDict_Check(dict))
        own = PyDict_Copy(dict);
    else
        PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ must be a dict, got %.200s",
                     Py_TYPE(dict)->tp_name);
    if (own != NULL)
        result = read_interface_dict(out, own);
    Py_XDECREF(own);
    Py_DECREF(dict);
    return result;
}
