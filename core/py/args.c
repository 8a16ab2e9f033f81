#include "core/py/args.h"

#include "core/py/convert.h"
#include "core/py/cuda_py.h"
#include "core/py/dlpack.h"
#include "core/py/raise.h"

#include "core/base/memory.h"

#include <string.h>

/* ---- what a type is: asked once ---- */

typedef enum type_class {
    TYPE_PLAIN,     /* instances may still have the interface in their own dict */
    TYPE_NOTHING,   /* str, list, …: certainly not */
    TYPE_HOST,      /* ndarray's subclasses */
    TYPE_SCALAR,    /* NumPy scalars */
    TYPE_EXCHANGE,  /* DLPack's C exchange table */
    TYPE_CUPY,      /* cupy.ndarray */
    TYPE_DLPACK,    /* __dlpack__ and __dlpack_device__ */
    TYPE_INTERFACE, /* __cuda_array_interface__ */
} type_class;

typedef struct type_row {
    PyTypeObject *type; /* owned, so that the address stays its own */
    type_class class;
    lw_array_library library;
    const lw_dl_exchange *exchange;
} type_row;

#define N_TYPES 64
static type_row types[N_TYPES]; /* direct-mapped; a clash replaces */

static bool
type_has(PyTypeObject *type, const char *name)
{
    PyObject *attribute = PyObject_GetAttrString((PyObject *)type, name);
    bool has = attribute != NULL && attribute != Py_None;

    if (attribute == NULL)
        PyErr_Clear();
    Py_XDECREF(attribute);
    return has;
}

/* Is there a class of that name from that package among its bases? */
static bool
comes_from(PyTypeObject *type, const char *package, const char *name)
{
    size_t n = strlen(package);
    bool found = false;

    if (type->tp_mro == NULL)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro) && !found; i++) {
        PyObject *base = PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *module = PyObject_GetAttrString(base, "__module__");
        const char *text =
            module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
        const char *own = strrchr(((PyTypeObject *)base)->tp_name, '.');

        own = own != NULL ? own + 1 : ((PyTypeObject *)base)->tp_name;
        found = text != NULL && strncmp(text, package, n) == 0 &&
                (text[n] == '\0' || text[n] == '.') && strcmp(own, name) == 0;
        Py_XDECREF(module);
    }
    PyErr_Clear();
    return found;
}

static lw_array_library
library_of(PyTypeObject *type)
{
    if (comes_from(type, "torch", "Tensor"))
        return LW_LIB_TORCH;
    if (comes_from(type, "cupy", "ndarray"))
        return LW_LIB_CUPY;
    if (comes_from(type, "numba", "DeviceNDArrayBase") ||
        comes_from(type, "numba", "DeviceNDArray"))
        return LW_LIB_NUMBA;
    if (comes_from(type, "jaxlib", "ArrayImpl") || comes_from(type, "jax", "Array"))
        return LW_LIB_JAX;
    return LW_LIB_OTHER;
}

static type_row
classify(PyTypeObject *type)
{
    type_row row = {.type = type, .class = TYPE_PLAIN};

    if (type == &PyList_Type || type == &PyTuple_Type || type == &PyUnicode_Type ||
        type == &PyBytes_Type || type == Py_TYPE(Py_None) || type == &PyDict_Type) {
        row.class = TYPE_NOTHING;
    } else if (PyType_IsSubtype(type, &PyGenericArrType_Type)) {
        row.class = TYPE_SCALAR;
    } else if (PyType_IsSubtype(type, &PyArray_Type)) {
        row.class = type_has(type, "__cuda_array_interface__") ? TYPE_INTERFACE : TYPE_HOST;
    } else {
        row.library = library_of(type);
        row.exchange = lw_dlpack_exchange(type);
        if (row.exchange != NULL)
            row.class = TYPE_EXCHANGE;
        else if (row.library == LW_LIB_CUPY)
            row.class = TYPE_CUPY;
        else if (type_has(type, "__dlpack__") && type_has(type, "__dlpack_device__"))
            row.class = TYPE_DLPACK;
        else if (type_has(type, "__cuda_array_interface__"))
            row.class = TYPE_INTERFACE;
    }
    if (row.class == TYPE_INTERFACE && row.library == LW_LIB_NONE)
        row.library = LW_LIB_OTHER;
    return row;
}

static const type_row *
row_of(PyTypeObject *type)
{
    type_row *row = &types[((uintptr_t)type >> 4) % N_TYPES];

    if (row->type != type) {
        type_row fresh = classify(type); /* may run Python: the slot is taken afterwards */
        PyTypeObject *old = row->type;
        Py_INCREF(type);
        *row = fresh;
        Py_XDECREF(old);
    }
    return row;
}

/* ---- names looked up at every call: interned once ---- */

#define NAMES(X)                                                                               \
    X(is_cuda)                                                                                 \
    X(requires_grad)                                                                           \
    X(is_conj)                                                                                 \
    X(is_neg)                                                                                  \
    X(data)                                                                                    \
    X(dtype)                                                                                   \
    X(ptr)                                                                                     \
    X(device_id)                                                                               \
    X(ndim)                                                                                    \
    X(size)                                                                                    \
    X(shape)                                                                                   \
    X(strides)                                                                                 \
    X(get_current_stream)

typedef enum name_id {
#define X(name) NAME_##name,
    NAMES(X)
#undef X
        N_NAMES
} name_id;

static PyObject *names[N_NAMES]; /* immortal as NumPy itself: one interpreter */

static const char *
name_text(name_id id)
{
    static const char *const texts[N_NAMES] = {
#define X(name) #name,
        NAMES(X)
#undef X
    };

    return texts[id];
}

static PyObject *
name(name_id id)
{
    if (names[id] == NULL)
        names[id] = PyUnicode_InternFromString(name_text(id));
    return names[id];
}

/* New reference, or NULL with an exception. */
static PyObject *
get(PyObject *object, name_id id)
{
    PyObject *text = name(id);

    return text != NULL ? PyObject_GetAttr(object, text) : NULL;
}

/* ---- own arrays and host objects ---- */

static int
read_own(lw_operand *out, PyObject *object)
{
    lw_device_array *array = (lw_device_array *)object;

    out->kind = LW_OPERAND_DEVICE;
    out->library = LW_LIB_OWN;
    out->dtype = array->dtype;
    out->readonly = array->readonly;
    out->c_contiguous = array->c_contiguous;
    out->ordered = true;
    out->ndim = array->ndim;
    out->size = array->size;
    out->itemsize = array->itemsize;
    out->data = array->data;
    out->stream = array->root->stream;
    out->device = array->device;
    out->shape = array->shape;
    out->strides = array->strides;
    out->descr = array->descr;
    return 0;
}

static int
read_host(lw_operand *out, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;

    out->kind = LW_OPERAND_HOST;
    out->descr = PyArray_DESCR(array);
    out->dtype = (uint8_t)lw_dtype_of_descr(out->descr);
    out->readonly = !PyArray_ISWRITEABLE(array);
    out->c_contiguous = PyArray_IS_C_CONTIGUOUS(array);
    out->ndim = PyArray_NDIM(array);
    out->size = PyArray_SIZE(array);
    out->itemsize = PyArray_ITEMSIZE(array);
    out->shape = (const int64_t *)PyArray_DIMS(array);
    out->strides = (const int64_t *)PyArray_STRIDES(array);
    return 0;
}

static int
read_int(lw_operand *out, PyObject *object)
{
    int overflow;

    out->kind = LW_OPERAND_INT;
    out->dtype = LW_DT_i64;
    out->value.i64 = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0)
        return 0;
    out->dtype = LW_DT_u64;
    out->value.u64 = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    out->big = overflow < 0 || PyErr_Occurred() != NULL;
    PyErr_Clear();
    return 0;
}

static int
read_numpy_scalar(lw_operand *out, PyObject *object)
{
    PyArray_Descr *descr = PyArray_DescrFromScalar(object);
    PyObject *number;

    if (descr == NULL)
        return -1;
    out->kind = LW_OPERAND_SCALAR;
    out->dtype = (uint8_t)lw_dtype_of_descr(descr);
    if (out->dtype == LW_DT_bf16) { /* another package's type: by its number */
        number = PyNumber_Float(object);
        if (number != NULL) {
            uint16_t half = lw_bf16_from_double(PyFloat_AS_DOUBLE(number));
            memcpy(out->value.bytes, &half, sizeof half);
        }
        Py_XDECREF(number);
    } else if (out->dtype != LW_DT_void) {
        PyArray_ScalarAsCtype(object, out->value.bytes);
    }
    Py_DECREF(descr);
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- __cuda_array_interface__ ---- */

static int
refuse(PyObject *exception, const char *field, const char *wanted, PyObject *got)
{
    PyErr_Format(exception, "__cuda_array_interface__: %s must be %s, got %R", field, wanted,
                 got);
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

static int
int64_of(PyObject *object, const char *field, int64_t *out)
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

static int
read_shape(lw_operand *out, PyObject *dict)
{
    PyObject *shape = needed(dict, "shape");
    int64_t *dims = out->dims;
    Py_ssize_t n;

    if (shape == NULL)
        return -1;
    if (!PyTuple_Check(shape))
        return refuse(PyExc_TypeError, "shape", "a tuple", shape);
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
        if (int64_of(PyTuple_GET_ITEM(shape, i), "shape", &dims[i]) < 0)
            return -1;
        if (dims[i] < 0)
            return refuse(PyExc_ValueError, "shape", "without negative extents", shape);
    }
    out->ndim = (int)n;
    out->shape = dims;
    out->strides = dims + n;
    return 0;
}

/* "<f4" and the like without asking NumPy. */
static lw_dtype
simple_type(const char *text, Py_ssize_t n)
{
    lw_kind kind;
    int size_bytes;

    if ((n != 3 && n != 4) || (text[0] != '<' && text[0] != '|' && text[0] != '='))
        return LW_DT_void;
    switch (text[1]) {
    case 'b': kind = LW_KIND_BOOL; break;
    case 'i': kind = LW_KIND_INT; break;
    case 'u': kind = LW_KIND_UINT; break;
    case 'f': kind = LW_KIND_FLOAT; break;
    case 'c': kind = LW_KIND_COMPLEX; break;
    default: return LW_DT_void;
    }
    if (text[2] < '1' || text[2] > '9' || (n == 4 && (text[3] < '0' || text[3] > '9')))
        return LW_DT_void;
    size_bytes = n == 4 ? (text[2] - '0') * 10 + text[3] - '0' : text[2] - '0';
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
    if (text[0] != '<' && text[0] != '|' && text[0] != '=')
        return refuse(PyExc_TypeError, "typestr", "a type with its byte order", typestr);
    if (fields != NULL && text[1] == 'V' && PyList_Check(fields) && PyList_GET_SIZE(fields) > 1)
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
    out->dtype = LW_DT_void;
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
    if (text == NULL || n < 3 || strlen(text) != (size_t)n)
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
        if (int64_of(PyTuple_GET_ITEM(strides, i), "strides", &to[i]) < 0)
            return -1;
    return 0;
}

static int
read_version(PyObject *dict, int64_t *version)
{
    PyObject *value = needed(dict, "version");

    if (value == NULL || int64_of(value, "version", version) < 0)
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
    if (int64_of(stream, "stream", &handle) < 0)
        return -1;
    if (handle <= 0)
        return refuse(PyExc_ValueError, "stream", "None, 1, 2 or a stream handle", stream);
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
        return refuse(PyExc_ValueError, "mask", "None (masked arrays are not supported)", mask);
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

/* An AttributeError means that it is no device array after all. The dict is copied: an
 * __index__ in it may run Python that takes entries out of the exporter's own. */
static int
read_interface(lw_operand *out, PyObject *object)
{
    PyObject *dict = PyObject_GetAttrString(object, "__cuda_array_interface__"), *own = NULL;
    int result = -1;

    if (dict == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        if (PyArray_Check(object))
            return read_host(out, object);
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

/* ---- CuPy ---- */

/* A module that is loaded already (borrowed), NULL without an exception. */
static PyObject *
loaded_module(const char *name)
{
    return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

static PyObject *
needed_module(const char *name)
{
    PyObject *module = loaded_module(name);

    if (module == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s is not loaded any more", name);
    return module;
}

static int
attribute_int(PyObject *object, name_id which, unsigned long long *out)
{
    PyObject *value = get(object, which);

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
    static PyObject *function;
    PyObject *cupy, *cuda;

    if (function != NULL)
        return function;
    cupy = needed_module("cupy");
    cuda = cupy != NULL ? PyObject_GetAttrString(cupy, "cuda") : NULL;
    if (cuda != NULL)
        function = get(cuda, NAME_get_current_stream);
    Py_XDECREF(cuda);
    return function;
}

static int
cupy_stream(CUstream *out)
{
    PyObject *function = cupy_get_current_stream();
    PyObject *stream = function != NULL ? PyObject_CallNoArgs(function) : NULL;
    unsigned long long handle = 0;
    int result = stream != NULL ? attribute_int(stream, NAME_ptr, &handle) : -1;

    *out = handle <= 1 ? NULL : (CUstream)(uintptr_t)handle;
    Py_XDECREF(stream);
    return result;
}

static int
read_tuple(PyObject *object, name_id which, int64_t *out, int n)
{
    PyObject *tuple = get(object, which);
    int result = -1;

    if (tuple != NULL && PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == n) {
        result = 0;
        for (int i = 0; i < n && result == 0; i++)
            result = int64_of(PyTuple_GET_ITEM(tuple, i), name_text(which), &out[i]);
    } else if (tuple != NULL) {
        PyErr_Format(PyExc_TypeError, "%s: expected a tuple of %d ints, got %R",
                     name_text(which), n, tuple);
    }
    Py_XDECREF(tuple);
    return result;
}

/* By attributes: a third of the price of the interface's dict. */
static int
read_cupy(lw_operand *out, PyObject *object)
{
    PyObject *memory = NULL, *descr = NULL;
    unsigned long long address, ordinal, ndim, size;
    lw_error err = {0};
    int64_t *dims = out->dims;
    int result = -1;

    out->kind = LW_OPERAND_DEVICE;
    memory = get(object, NAME_data);
    descr = memory != NULL ? get(object, NAME_dtype) : NULL;
    if (descr == NULL || attribute_int(memory, NAME_ptr, &address) < 0 ||
        attribute_int(memory, NAME_device_id, &ordinal) < 0 ||
        attribute_int(object, NAME_ndim, &ndim) < 0 ||
        attribute_int(object, NAME_size, &size) < 0)
        goto done;
    if (!PyArray_DescrCheck(descr) || ndim > LW_MAX_DIMS) {
        PyErr_SetString(PyExc_TypeError, "not a CuPy array that can be read");
        goto done;
    }
    if (ndim > LW_INLINE_DIMS) {
        dims = out->heap = lw_alloc(2 * ndim * sizeof *dims);
        if (dims == NULL) {
            PyErr_NoMemory();
            goto done;
        }
    }
    if (read_tuple(object, NAME_shape, dims, (int)ndim) < 0 ||
        read_tuple(object, NAME_strides, dims + ndim, (int)ndim) < 0 ||
        cupy_stream(&out->stream) < 0)
        goto done;
    if (lw_device_get((int)ordinal, &out->device, &err) != LW_OK) {
        (void)lw_py_raise(&err);
        goto done;
    }
    out->ordered = true;
    out->ndim = (int)ndim;
    out->size = (int64_t)size;
    out->shape = dims;
    out->strides = dims + ndim;
    out->data = address;
    out->itemsize = PyDataType_ELSIZE((PyArray_Descr *)descr);
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
    PyObject *flag = get(object, NAME_requires_grad);
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
    static const name_id asks[] = {NAME_is_conj, NAME_is_neg};
    PyObject *answer;
    int is;

    if (!lw_is_complex(dtype) && !lw_is_float(dtype))
        return 0;
    for (int i = lw_is_complex(dtype) ? 0 : 1; i < 2; i++) {
        answer = name(asks[i]) ? PyObject_CallMethodNoArgs(object, name(asks[i])) : NULL;
        is = answer != NULL ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is > 0)
            PyErr_Format(
                PyExc_BufferError, "a tensor whose %U() is true cannot be an operand: pass %s",
                name(asks[i]), i == 0 ? "tensor.resolve_conj()" : "tensor.resolve_neg()");
        if (is != 0)
            return -1;
    }
    return 0;
}

static void
release_managed(lw_operand *operand)
{
    lw_dl_versioned *managed = operand->keep;

    if (managed->deleter != NULL)
        managed->deleter(managed);
}

static int
set_device(lw_operand *out, const lw_dl_tensor *tensor, const lw_dl_exchange *exchange)
{
    lw_error err = {0};
    void *stream;

    if (lw_device_get(tensor->device_id, &out->device, &err) != LW_OK) {
        (void)lw_py_raise(&err);
        return -1;
    }
    if (exchange->current_stream(LW_DL_CUDA, tensor->device_id, &stream) != 0)
        return -1;
    out->stream = (uintptr_t)stream <= 1 ? NULL : (CUstream)stream;
    out->ordered = true;
    return 0;
}

static bool
on_device(const lw_dl_tensor *tensor)
{
    return tensor->device_type == LW_DL_CUDA || tensor->device_type == LW_DL_CUDA_MANAGED;
}

static int
no_device_array(lw_operand *out)
{
    out->kind = LW_OPERAND_OTHER;
    out->library = LW_LIB_NONE;
    return 0;
}

/* retain: the operand must outlive the call, so that a borrowed tensor does not do. */
static int
read_exchange(lw_operand *out, PyObject *object, const type_row *row, bool retain)
{
    const lw_dl_exchange *exchange = row->exchange;
    lw_array_library library = row->library;
    lw_dl_versioned *managed;
    lw_dl_tensor borrowed;
    const lw_dl_tensor *tensor = &borrowed;

    if (library == LW_LIB_TORCH && check_torch(object) < 0)
        return -1;
    if (exchange->borrow != NULL && !retain) {
        if (exchange->borrow(object, &borrowed) != 0)
            return -1;
    } else {
        if (exchange->from_object(object, &managed) != 0)
            return -1;
        out->keep = managed;
        out->release = release_managed;
        out->readonly = (managed->flags & LW_DL_READONLY) != 0;
        tensor = &managed->tensor;
    }
    if (!on_device(tensor)) {
        lw_operand_release(out);
        return no_device_array(out);
    }
    if (lw_dlpack_read_tensor(out, tensor) < 0 || set_device(out, tensor, exchange) < 0)
        return -1;
    return library == LW_LIB_TORCH ? check_torch_bits(object, (lw_dtype)out->dtype) : 0;
}

/* (type, ordinal) of __dlpack_device__; -1 with an exception. */
static int
dlpack_device(PyObject *object, int *type)
{
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL), *number;
    int result = -1;

    if (pair == NULL)
        return -1;
    if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
        number = PyNumber_Index(PyTuple_GET_ITEM(pair, 0)); /* often an IntEnum */
        if (number != NULL) {
            *type = (int)PyLong_AsLong(number);
            result = PyErr_Occurred() ? -1 : 0;
            Py_DECREF(number);
        }
    }
    if (result < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "__dlpack_device__: expected a tuple of two ints, got %R",
                     pair);
    }
    Py_DECREF(pair);
    return result;
}

static int
read_dlpack(lw_operand *out, PyObject *object)
{
    int type;

    if (dlpack_device(object, &type) < 0)
        return -1;
    if (type != LW_DL_CUDA && type != LW_DL_CUDA_MANAGED)
        return no_device_array(out);
    return lw_dlpack_read_object(out, object);
}

/* ---- the reader ---- */

static int
read_foreign(lw_operand *out, PyObject *object, bool retain)
{
    const type_row *row = row_of(Py_TYPE(object));

    out->library = (uint8_t)row->library;
    switch (row->class) {
    case TYPE_HOST: return read_host(out, object);
    case TYPE_SCALAR: return read_numpy_scalar(out, object);
    case TYPE_EXCHANGE: return read_exchange(out, object, row, retain);
    case TYPE_CUPY: return read_cupy(out, object);
    case TYPE_DLPACK: return read_dlpack(out, object);
    case TYPE_INTERFACE:
    case TYPE_PLAIN: return read_interface(out, object);
    default: return no_device_array(out);
    }
}

static int
read_operand(lw_operand *out, PyObject *object, bool retain)
{
    memset(out, 0, offsetof(lw_operand, dims));
    out->object = object;
    if (lw_is_device_array(object))
        return read_own(out, object);
    if (PyFloat_CheckExact(object)) {
        out->kind = LW_OPERAND_FLOAT;
        out->dtype = LW_DT_f64;
        out->value.f64 = PyFloat_AS_DOUBLE(object);
        return 0;
    }
    if (PyLong_CheckExact(object))
        return read_int(out, object);
    if (PyArray_CheckExact(object))
        return read_host(out, object);
    if (PyBool_Check(object)) {
        out->kind = LW_OPERAND_SCALAR;
        out->dtype = LW_DT_b1;
        out->value.bytes[0] = object == Py_True;
        return 0;
    }
    if (PyComplex_CheckExact(object)) {
        out->kind = LW_OPERAND_COMPLEX;
        out->dtype = LW_DT_c128;
        out->value.c128[0] = PyComplex_RealAsDouble(object);
        out->value.c128[1] = PyComplex_ImagAsDouble(object);
        return 0;
    }
    if (read_foreign(out, object, retain) == 0)
        return 0;
    lw_operand_release(out);
    return -1;
}

int
lw_operand_read(lw_operand *out, PyObject *object)
{
    return read_operand(out, object, false);
}

void
lw_operand_release(lw_operand *operand)
{
    PyObject *type, *value, *traceback;

    if (operand->release != NULL) { /* a foreign deleter may run Python: keep our exception */
        PyErr_Fetch(&type, &value, &traceback);
        operand->release(operand);
        PyErr_Restore(type, value, traceback);
    }
    operand->release = NULL;
    operand->keep = NULL;
    lw_free(operand->heap);
    operand->heap = NULL;
    Py_CLEAR(operand->owned_descr);
}

int
lw_operand_check(lw_operand *operand)
{
    int64_t low, high, *strides = (int64_t *)operand->strides;
    int64_t align = operand->dtype != LW_DT_void
                        ? lw_dtypes[lw_dtypes[operand->dtype].parts].size_bytes
                        : 1;
    bool askew;

    if (!lw_layout_reach(operand->ndim, operand->shape, strides, operand->itemsize, &low,
                         &high) ||
        (low < 0 && operand->data < (CUdeviceptr) - (uint64_t)low) ||
        (high > 0 && operand->data + (CUdeviceptr)high < operand->data)) {
        PyErr_SetString(PyExc_ValueError,
                        "strides: the array reaches beyond the address space");
        return -1;
    }
    askew = operand->size > 0 && operand->data % (CUdeviceptr)align != 0;
    for (int i = 0; i < operand->ndim; i++) {
        if (operand->shape[i] == 1 || operand->size == 0)
            strides[i] = operand->itemsize;
        askew = askew || strides[i] % align != 0;
    }
    if (askew) {
        PyErr_Format(
            PyExc_ValueError,
            "the array's address and strides must be multiples of %d bytes, as %s needs",
            (int)align, lw_dtypes[operand->dtype].public_name);
        return -1;
    }
    operand->c_contiguous =
        lw_layout_is_c(operand->ndim, operand->shape, strides, operand->itemsize);
    return 0;
}

bool
lw_is_known_library(PyObject *object)
{
    lw_array_library library = row_of(Py_TYPE(object))->library;

    return library == LW_LIB_TORCH || library == LW_LIB_CUPY || library == LW_LIB_NUMBA ||
           library == LW_LIB_JAX;
}

bool
lw_is_device_operand(PyObject *object)
{
    const type_row *row;
    lw_operand operand;
    int type = 0;
    bool is = false;

    if (lw_is_device_array(object))
        return true;
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyArray_CheckExact(object))
        return false;
    row = row_of(Py_TYPE(object));
    switch (row->class) {
    case TYPE_CUPY: return true;
    case TYPE_EXCHANGE:
    case TYPE_DLPACK:
        if (row->library == LW_LIB_TORCH) { /* an attribute is cheaper than a call */
            PyObject *flag = get(object, NAME_is_cuda);
            is = flag == Py_True;
            Py_XDECREF(flag);
        } else if (type_has(Py_TYPE(object), "__dlpack_device__")) {
            is = dlpack_device(object, &type) == 0 &&
                 (type == LW_DL_CUDA || type == LW_DL_CUDA_MANAGED);
        } else if (read_operand(&operand, object, false) == 0) {
            is = operand.kind == LW_OPERAND_DEVICE;
            lw_operand_release(&operand);
        }
        break;
    case TYPE_INTERFACE:
    case TYPE_PLAIN: {
        PyObject *dict = PyObject_GetAttrString(object, "__cuda_array_interface__");
        is = dict != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError);
        Py_XDECREF(dict);
        break;
    }
    default: return false;
    }
    PyErr_Clear();
    return is;
}

/* ---- streams ---- */

lw_status
lw_operand_use(lw_operand *operand, CUstream stream, lw_error *err)
{
    if (operand->library == LW_LIB_OWN)
        return lw_device_array_use((lw_device_array *)operand->object, stream, err);
    if (operand->kind != LW_OPERAND_DEVICE || !operand->ordered || operand->stream == stream)
        return LW_OK;
    return lw_stream_after(operand->device, stream, operand->stream, err);
}

lw_status
lw_operand_done(lw_operand *operand, CUstream stream, lw_error *err)
{
    if (operand->library == LW_LIB_OWN || operand->kind != LW_OPERAND_DEVICE ||
        operand->stream == stream)
        return LW_OK;
    return lw_stream_after(operand->device, operand->stream, stream, err);
}

static int
handle_read(PyObject *number, CUstream *out)
{
    PyObject *index = PyNumber_Index(number);
    unsigned long long handle;

    if (index == NULL)
        return -1;
    handle = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (handle == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "stream: %R is not a stream handle", number);
        return -1;
    }
    *out = handle <= 1 ? NULL : (CUstream)(uintptr_t)handle;
    return 0;
}

/* The protocol: a method (once a property) that gives (0, handle). */
static int
read_stream_protocol(PyObject *attribute, CUstream *out)
{
    PyObject *pair =
        PyCallable_Check(attribute) ? PyObject_CallNoArgs(attribute) : Py_NewRef(attribute);
    int result = -1;

    if (pair == NULL)
        return -1;
    if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
        PyIndex_Check(PyTuple_GET_ITEM(pair, 1)))
        result = handle_read(PyTuple_GET_ITEM(pair, 1), out);
    else
        PyErr_Format(PyExc_TypeError,
                     "stream: __cuda_stream__ must give (version, handle), got %R", pair);
    Py_DECREF(pair);
    return result;
}

int
lw_stream_read(PyObject *object, CUstream *out)
{
    static const char *const attributes[] = {"__cuda_stream__", "cuda_stream", "ptr"};
    PyObject *attribute;
    int result;

    *out = NULL;
    if (object == Py_None)
        return 0;
    if (lw_stream_of(object, out))
        return 0;
    if (PyLong_Check(object) && !PyBool_Check(object))
        return handle_read(object, out);
    for (int i = 0; i < 3; i++) {
        attribute = PyObject_GetAttrString(object, attributes[i]);
        if (attribute == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                return -1;
            PyErr_Clear();
            continue;
        }
        if (i == 0)
            result = read_stream_protocol(attribute, out);
        else
            result = PyIndex_Check(attribute) ? handle_read(attribute, out) : 1;
        Py_DECREF(attribute);
        if (result <= 0)
            return result;
    }
    PyErr_Format(PyExc_TypeError, "stream: expected a stream, a handle, 0 or None, got %.200s",
                 Py_TYPE(object)->tp_name);
    return -1;
}

/* ---- scalars ---- */

static int
out_of_bounds(const lw_operand *operand, lw_dtype dtype)
{
    PyErr_Format(PyExc_OverflowError, "Python integer %R out of bounds for %s", operand->object,
                 lw_dtypes[dtype].public_name);
    return -1;
}

static bool
fits(const lw_operand *operand, lw_dtype dtype)
{
    const lw_dtype_row *row = &lw_dtypes[dtype];
    uint64_t high = UINT64_MAX >> (64 - row->bits + (row->kind == LW_KIND_INT));

    if (operand->big)
        return false;
    if (operand->dtype == LW_DT_u64 || operand->value.i64 >= 0)
        return operand->value.u64 <= high;
    return row->kind == LW_KIND_INT && operand->value.i64 >= -(int64_t)high - 1;
}

int
lw_operand_item(const lw_operand *operand, lw_dtype dtype, lw_value *out)
{
    lw_value wide = operand->value;
    lw_dtype from = (lw_dtype)operand->dtype;

    if (operand->kind == LW_OPERAND_INT && lw_is_integer(dtype) && !fits(operand, dtype))
        return out_of_bounds(operand, dtype);
    if (operand->big) {
        wide.f64 = PyLong_AsDouble(operand->object); /* "int too large to convert to float" */
        if (wide.f64 == -1.0 && PyErr_Occurred())
            return -1;
        from = LW_DT_f64;
    }
    if (from == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "a scalar of type %.200s has no place in a kernel",
                     Py_TYPE(operand->object)->tp_name);
        return -1;
    }
    lw_value_cast(&wide, from, out, dtype);
    return 0;
}

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
    lw_operand *operand;

    if (lw_is_device_array(object))
        return (lw_device_array *)Py_NewRef(object);
    operand = lw_alloc(sizeof *operand);
    if (operand == NULL)
        return (lw_device_array *)PyErr_NoMemory();
    if (read_operand(operand, object, true) < 0) {
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
        if (type_has(Py_TYPE(object), "__dlpack__"))
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
wrap_by_exchange(const lw_dl_exchange *exchange, lw_device_array *result)
{
    lw_dl_versioned *managed = lw_dlpack_managed(result);
    void *object = NULL;

    if (managed == NULL || exchange->to_object(managed, &object) != 0)
        return NULL;
    return object;
}

/* cupy.ndarray(shape, dtype, MemoryPointer(UnownedMemory(address, n, result, device), 0)) */
static PyObject *
wrap_cupy(lw_device_array *result)
{
    PyObject *cupy = needed_module("cupy"), *cuda, *memory = NULL, *pointer = NULL;
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
    PyObject *found = needed_module(module);

    if (found == NULL)
        return NULL;
    return PyObject_CallMethod(found, function, "O", (PyObject *)result);
}

static PyObject *
wrap(const lw_operand *first, lw_device_array *result)
{
    const type_row *row;

    switch (first->library) {
    case LW_LIB_TORCH:
        row = row_of(Py_TYPE(first->object));
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
