/* NumPy objects, read without NumPy's C interface: if NumPy is not loaded, no object can be of
 * one of its types, and reading works where NumPy is not installed. */
#include "core/front/read/read_internal.h"

#include "core/front/read/record.h"

enum { MAX_TABLE_BYTES = 64 * 1024 }; /* the constant memory of a GPU */

/* The loaded numpy module, borrowed, or NULL. */
static PyObject *
numpy_module(lw_reader *r)
{
    PyObject *modules;

    if (!r->numpy_looked) {
        modules = PyImport_GetModuleDict();
        r->numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
        Py_XINCREF(r->numpy);
        r->numpy_looked = true;
    }
    return r->numpy;
}

bool
lw_read_is_numpy(lw_reader *r, PyObject *object, const char *name)
{
    PyObject *numpy = numpy_module(r);
    PyObject *type = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    int result = type ? PyObject_IsInstance(object, type) : 0;

    Py_XDECREF(type);
    if (PyErr_Occurred())
        lw_read_clear();
    return result == 1;
}

bool
lw_read_is_limits(lw_reader *r, PyObject *object)
{
    return lw_read_is_numpy(r, object, "iinfo") || lw_read_is_numpy(r, object, "finfo");
}

bool
lw_read_asks_limits(lw_reader *r, PyObject *callee, PyObject *arg)
{
    const char *name = PyType_Check(callee) ? ((PyTypeObject *)callee)->tp_name : "";
    PyObject *own = NULL;

    if ((strcmp(name, "iinfo") == 0 || strcmp(name, "finfo") == 0) &&
        (PyType_Check(arg) || lw_read_is_numpy(r, arg, "dtype")))
        own = PyObject_GetAttrString(numpy_module(r), name);
    lw_read_clear();
    Py_XDECREF(own);
    return own == callee;
}

/* Of a dtype whose text is "<M8[10ms]". */
static lw_dtype
time_of(PyObject *dtype)
{
    PyObject *str = PyObject_GetAttrString(dtype, "str");
    const char *text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : NULL;
    lw_dtype result =
        text && *text ? lw_time_from_name(text + 1, (unsigned)strlen(text + 1)) : LW_DT_void;

    Py_XDECREF(str);
    return result;
}

/* The lw_dtype of a numpy.dtype in native byte order; void: none of ours. */
lw_dtype
lw_read_numpy_dtype(PyObject *dtype)
{
    PyObject *character = PyObject_GetAttrString(dtype, "char");
    PyObject *native = character ? PyObject_GetAttrString(dtype, "isnative") : NULL;
    PyObject *name = native ? PyObject_GetAttrString(dtype, "name") : NULL;
    const char *text = name && PyUnicode_Check(character) ? PyUnicode_AsUTF8(character) : NULL;
    lw_dtype result = LW_DT_void;

    if (text != NULL && native == Py_True)
        result = *text == 'M' || *text == 'm' ? time_of(dtype) : lw_dtype_from_char(text[0]);
    if (name != NULL && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0)
        result = LW_DT_bf16; /* ml_dtypes */
    Py_XDECREF(character);
    Py_XDECREF(native);
    Py_XDECREF(name);
    lw_read_clear();
    return result;
}

/* A NumPy scalar class, or another object that numpy.dtype() accepts as a class. */
/* numpy.floating and its like stand for several dtypes: NumPy up to 2.1 makes one of them. */
static bool
is_abstract(PyObject *object)
{
    static const char *const names[] = {
        "numpy.generic",         "numpy.number",  "numpy.integer",  "numpy.signedinteger",
        "numpy.unsignedinteger", "numpy.inexact", "numpy.floating", "numpy.complexfloating"};
    const char *name = PyType_Check(object) ? ((PyTypeObject *)object)->tp_name : "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

lw_dtype
lw_read_numpy_class(lw_reader *r, PyObject *object)
{
    PyObject *numpy = numpy_module(r);
    PyObject *generic = numpy ? PyObject_GetAttrString(numpy, "generic") : NULL;
    PyObject *dtype = NULL;
    lw_dtype result = LW_DT_void;

    if (generic != NULL && !is_abstract(object) && PyType_Check(object) &&
        PyType_Check(generic) &&
        PyType_IsSubtype((PyTypeObject *)object, (PyTypeObject *)generic))
        dtype = PyObject_CallMethod(numpy, "dtype", "O", object);
    if (dtype != NULL)
        result = lw_read_numpy_dtype(dtype);
    Py_XDECREF(generic);
    Py_XDECREF(dtype);
    lw_read_clear();
    return result;
}

/* numpy.datetime64, numpy.timedelta64, numpy.dtype: their calls with constants are constants.
 */
bool
lw_read_is_made_now(lw_reader *r, PyObject *object)
{
    static const char *const names[] = {"datetime64", "timedelta64", "dtype"};
    bool is = false;

    for (int i = 0; i < 3 && !is && PyType_Check(object) && numpy_module(r); i++) {
        PyObject *class = PyObject_GetAttrString(numpy_module(r), names[i]);
        is = class == object;
        Py_XDECREF(class);
    }
    lw_read_clear();
    return is;
}

/* The number of steps of a time: x.view("i8"). */
static PyObject *
steps_of(PyObject *object)
{
    PyObject *number = PyObject_CallMethod(object, "view", "s", "i8");
    PyObject *item = number ? PyObject_CallMethod(number, "item", NULL) : NULL;

    Py_XDECREF(number);
    return item;
}

static void
set_scalar(lw_constant *constant, PyObject *item)
{
    switch (lw_dtypes[constant->dtype].kind) {
    case LW_KIND_BOOL: constant->i = PyObject_IsTrue(item) == 1; break;
    case LW_KIND_DATETIME:
    case LW_KIND_TIMEDELTA:
    case LW_KIND_INT: constant->i = PyLong_AsLongLong(item); break;
    case LW_KIND_UINT: constant->u = PyLong_AsUnsignedLongLong(item); break;
    case LW_KIND_FLOAT: constant->d = PyFloat_AsDouble(item); break;
    default:
        constant->d = PyComplex_RealAsDouble(item);
        constant->im = PyComplex_ImagAsDouble(item);
        break;
    }
}

uint32_t
lw_read_numpy_scalar(lw_reader *r, PyObject *object)
{
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    lw_constant constant = {.kind = LW_K_SCALAR,
                            .dtype = dtype ? lw_read_numpy_dtype(dtype) : LW_DT_void};
    PyObject *item = NULL;
    uint32_t result = 0;

    if (constant.dtype == LW_DT_bf16)
        item = PyNumber_Float(object);
    else if (lw_is_time(constant.dtype))
        item = steps_of(object);
    else if (constant.dtype != LW_DT_void)
        item = PyObject_CallMethod(object, "item", NULL);
    if (item != NULL)
        set_scalar(&constant, item);
    if (item != NULL && !PyErr_Occurred())
        result = lw_read_push(r, object, constant);
    lw_read_clear();
    Py_XDECREF(item);
    Py_XDECREF(dtype);
    return result;
}

/* An array that stands in for a device array on the host (lanewise/_host_cuda.py); its contents
 * may change as those of a device array do. */
static bool
is_live(PyObject *object)
{
    return PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__lanewise_live__");
}

/* Compiled code addresses live memory as an aligned array in C order. */
static bool
can_be_read(PyObject *object, const Py_buffer *view, lw_dtype dtype,
            const lw_arg_record *record)
{
    uintptr_t align = record ? record->align : lw_dtypes[lw_dtypes[dtype].parts].size_bytes;

    return !is_live(object) ||
           (PyBuffer_IsContiguous(view, 'C') && (uintptr_t)view->buf % align == 0);
}

static uint32_t
push_array(lw_reader *r, PyObject *object, const Py_buffer *view, lw_dtype dtype,
           const lw_arg_record *record)
{
    uint32_t *shape = lw_arena_take(&r->tree->arena, ((size_t)view->ndim + 1) * sizeof *shape);
    char *bytes = lw_arena_take(&r->tree->arena, (size_t)view->len + 1);

    if (shape == NULL || bytes == NULL)
        return lw_read_no_memory(r);
    for (int i = 0; i < view->ndim; i++)
        shape[i] = (uint32_t)view->shape[i];
    if (PyBuffer_ToContiguous(bytes, (Py_buffer *)view, view->len, 'C') < 0)
        return lw_read_failed(r);
    return lw_read_push(r, object,
                        (lw_constant){.kind = LW_K_ARRAY,
                                      .dtype = dtype,
                                      .n = (uint32_t)view->ndim,
                                      .u = is_live(object) ? (uint64_t)(uintptr_t)view->buf : 0,
                                      .items = shape,
                                      .bytes = bytes,
                                      .record = record});
}

/* The object whose buffer holds the array's bytes: ml_dtypes' bfloat16 provides one as integers
 * only. New reference. */
static PyObject *
lender(PyObject *object, lw_dtype dtype)
{
    if (lw_is_time(dtype)) /* which have no buffer */
        return PyObject_CallMethod(object, "view", "s", "i8");
    return dtype == LW_DT_bf16 ? PyObject_CallMethod(object, "view", "s", "uint16")
                               : Py_NewRef(object);
}

/* NULL: the dtype has no fields, or some that compiled code does not know. */
static lw_arg_record *
record_of(lw_reader *r, PyObject *dtype)
{
    PyObject *names = PyObject_GetAttrString(dtype, "names");
    lw_arg_record *record = NULL;

    if (names == NULL || !PyTuple_Check(names) ||
        lw_read_record(dtype, &r->tree->arena, &record) < 0 || !lw_read_classes_of(r, record))
        record = NULL;
    lw_read_clear();
    Py_XDECREF(names);
    return record;
}

bool
lw_read_is_masked(PyObject *object)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *module = modules ? PyDict_GetItemString(modules, "numpy.ma") : NULL;
    PyObject *class = module ? PyObject_GetAttrString(module, "MaskedArray") : NULL;
    int result = class ? PyObject_IsInstance(object, class) : 0;

    Py_XDECREF(class);
    if (PyErr_Occurred())
        lw_read_clear();
    return result == 1;
}

/* 0 and status OK: not an array that can be frozen. A masked array cannot, because compiled
 * code would not see its mask. */
uint32_t
lw_read_numpy_array(lw_reader *r, PyObject *object)
{
    PyObject *dtype_object, *source = NULL;
    lw_arg_record *record = NULL;
    Py_buffer view;
    uint32_t constant = 0;
    lw_dtype dtype;

    if (lw_read_is_masked(object))
        return 0;
    dtype_object = PyObject_GetAttrString(object, "dtype");
    dtype = dtype_object ? lw_read_numpy_dtype(dtype_object) : LW_DT_void;
    if (dtype == LW_DT_void && dtype_object != NULL && !PyErr_Occurred())
        record = record_of(r, dtype_object);
    Py_XDECREF(dtype_object);
    if (dtype != LW_DT_void || record != NULL)
        source = lender(object, dtype);
    if (source == NULL || PyObject_GetBuffer(source, &view, PyBUF_FULL_RO) < 0) {
        Py_XDECREF(source);
        lw_read_clear();
        return 0;
    }
    if (view.len <= MAX_TABLE_BYTES && can_be_read(object, &view, dtype, record))
        constant = push_array(r, object, &view, dtype, record);
    PyBuffer_Release(&view);
    Py_DECREF(source);
    if (constant != 0 && !is_live(object) && lw_captures_add_array(r->captures, object) < 0)
        return lw_read_failed(r);
    return constant;
}
