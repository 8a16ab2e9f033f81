/* NumPy objects, read without NumPy's C interface: if NumPy is not loaded, no object can be of
 * one of its types, and reading works where NumPy is not installed. */
#include "core/front/read/read_internal.h"

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

/* The dtype of times whose text is, for example, "<M8[10ms]". */
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

/* The fields of a structured dtype; NULL: it has none, or some that compiled code does not
 * know. */
static lw_arg_record *
record_of(lw_reader *r, PyObject *dtype)
{
    PyObject *names = PyObject_GetAttrString(dtype, "names");
    lw_arg_record *record = NULL;

    if (names == NULL || !PyTuple_Check(names) ||
        lw_read_record(dtype, &r->tree->arena, &record) < 0 || !lw_read_classes_of(r, record) ||
        lw_captures_hold_dtype(r->captures, dtype) < 0)
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
    if (view.len <= MAX_TABLE_BYTES)
        constant = push_array(r, object, &view, dtype, record);
    PyBuffer_Release(&view);
    Py_DECREF(source);
    if (constant != 0 && lw_captures_add_array(r->captures, object) < 0)
        return lw_read_failed(r);
    return constant;
}

/* ---- device arrays ----
 *
 * A device array that a function captures is used where it lies. On a machine without a GPU, so
 * are their stand-ins (lanewise/_host_cuda.py). Other libraries' arrays become device arrays
 * first, by lanewise.cuda.as_cuda_array, which waits for their streams and raises an exception
 * if they are malformed. */

static bool
type_has(PyObject *object, const char *name)
{
    return PyObject_HasAttrString((PyObject *)Py_TYPE(object), name);
}

static bool
is_stand_in(PyObject *object)
{
    return type_has(object, "__lanewise_live__");
}

static bool
is_ours(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "lanewise.cuda.DeviceArray") == 0;
}

/* Whether the class or the object itself has the attribute: `__getattr__` is not asked. */
static bool
has_interface(PyObject *object)
{
    static const char name[] = "__cuda_array_interface__";
    bool named = type_has(object, name);
    PyObject *own = named ? NULL : PyObject_GetAttrString(object, "__dict__");

    if (own != NULL)
        named = PyDict_Check(own) && PyDict_GetItemString(own, name) != NULL;
    Py_XDECREF(own);
    PyErr_Clear();
    return named && PyObject_HasAttrString(object, name); /* PyTorch's are on a CPU, too */
}

/* Arrays of NumPy that GPUs can read as well (mapped, managed) are tables, as all of NumPy's.
 */
bool
lw_read_is_live(PyObject *object)
{
    return is_stand_in(object) || is_ours(object) ||
           (!PyObject_CheckBuffer(object) && has_interface(object));
}

/* The device array over the memory of another library's. New reference; NULL with an exception.
 */
static PyObject *
device_array_of(PyObject *object)
{
    PyObject *core, *cuda, *array;

    if (is_stand_in(object) || is_ours(object))
        return Py_NewRef(object);
    core = PyImport_ImportModule("lanewise._core");
    cuda = core ? PyObject_GetAttrString(core, "cuda") : NULL;
    array = cuda ? PyObject_CallMethod(cuda, "as_cuda_array", "O", object) : NULL;
    Py_XDECREF(core);
    Py_XDECREF(cuda);
    return array;
}

/* n numbers of a tuple. False: with an exception, or memory is out. */
static bool
read_numbers(lw_reader *r, PyObject *tuple, Py_ssize_t n, const int64_t **out)
{
    int64_t *numbers = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *numbers);

    for (Py_ssize_t i = 0; numbers != NULL && i < n; i++)
        numbers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    *out = numbers;
    return numbers != NULL && !PyErr_Occurred();
}

static bool
read_places(lw_reader *r, PyObject *array, lw_live_array *live, uint32_t *n)
{
    PyObject *shape = PyObject_GetAttrString(array, "shape");
    PyObject *strides = shape ? PyObject_GetAttrString(array, "strides") : NULL;
    bool done = strides != NULL && PyTuple_Check(shape) && PyTuple_Check(strides) &&
                PyTuple_GET_SIZE(shape) == PyTuple_GET_SIZE(strides);

    if (done) {
        *n = (uint32_t)PyTuple_GET_SIZE(shape);
        done = read_numbers(r, shape, *n, &live->shape) &&
               read_numbers(r, strides, *n, &live->strides);
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return done;
}

/* (address, whether it is read-only), of either interface of arrays. */
static bool
read_address(PyObject *array, lw_live_array *live)
{
    const char *name = live->on_gpu ? "__cuda_array_interface__" : "__array_interface__";
    PyObject *face = PyObject_GetAttrString(array, name);
    PyObject *data = face ? PyMapping_GetItemString(face, "data") : NULL;
    unsigned long long address = 0;
    int readonly = 0;
    bool done = data != NULL && PyTuple_Check(data) &&
                PyArg_ParseTuple(data, "Kp", &address, &readonly);

    live->address = address;
    live->readonly = readonly;
    Py_XDECREF(face);
    Py_XDECREF(data);
    return done;
}

/* 0: the dtype is one that compiled code does not know, or the array is empty: there is nothing
 * to read. */
static uint32_t
push_live(lw_reader *r, PyObject *object, PyObject *array)
{
    lw_live_array *live = lw_arena_take(&r->tree->arena, sizeof *live);
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    lw_constant constant = {.kind = LW_K_ARRAY, .live = live};
    bool known = false;

    if (live == NULL) {
        Py_XDECREF(dtype);
        return lw_read_no_memory(r);
    }
    *live = (lw_live_array){.on_gpu = !is_stand_in(array)};
    if (dtype != NULL) {
        constant.dtype = lw_read_numpy_dtype(dtype);
        if (constant.dtype == LW_DT_void && !PyErr_Occurred())
            constant.record = record_of(r, dtype);
        known = constant.dtype != LW_DT_void || constant.record != NULL;
        Py_DECREF(dtype);
    }
    if (!known || !read_places(r, array, live, &constant.n) || !read_address(array, live) ||
        live->address == 0)
        return 0;
    return lw_read_push(r, object, constant);
}

uint32_t
lw_read_live_array(lw_reader *r, PyObject *object)
{
    PyObject *array = device_array_of(object);
    uint32_t constant;

    if (array == NULL)
        return lw_read_failed(r);
    constant = push_live(r, object, array);
    Py_DECREF(array);
    if (constant == 0)
        lw_read_clear();
    return constant;
}
