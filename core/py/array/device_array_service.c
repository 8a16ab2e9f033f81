/* What lanewise/_device_arrays.py does for device arrays: subscripts with arrays among them,
 * sorting, and the rest that goes with it. */
#include "core/py/array/device_array_internal.h"

#include "core/front/read/services.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/method_table.h"

#include <string.h>

/* Calls the function with these arguments; steals args, which may be NULL with an exception. */
static PyObject *
call(const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *function = args ? lw_service_find(LW_SERVICE_DEVICE_ARRAYS, name) : NULL;
    PyObject *result = function ? PyObject_Call(function, args, kwargs) : NULL;

    Py_XDECREF(args);
    Py_XDECREF(function);
    return result;
}

/* ---- subscripts ---- */

/* Whether strides express the subscript: all but arrays, lists, bools, and what is none. */
static bool
is_basic(PyObject *key)
{
    if (key == Py_Ellipsis || key == Py_None || PySlice_Check(key))
        return true;
    return PyIndex_Check(key) && !PyBool_Check(key) && !PyArray_IsScalar(key, Bool) &&
           !lw_is_device_array(key) && !PyArray_Check(key);
}

bool
lw_array_key_is_basic(PyObject *key)
{
    if (!PyTuple_Check(key))
        return is_basic(key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (!is_basic(PyTuple_GET_ITEM(key, i)))
            return false;
    return true;
}

PyObject *
lw_array_take(PyObject *self, PyObject *key)
{
    PyObject *result = lw_array_take_quickly((lw_device_array *)self, key);

    if (result != NULL || PyErr_Occurred())
        return result;
    return call("getitem", Py_BuildValue("(OO)", self, key), NULL);
}

PyObject *
lw_array_to_record(PyObject *self, PyObject *record, PyObject *stream)
{
    return call("to_record", Py_BuildValue("(OOO)", self, record, stream ? stream : Py_None),
                NULL);
}

/* The object, or a copy where it is a device array whose memory the store may change while it
 * is read; of a tuple, one of its items so. New reference. */
static PyObject *
apart_from(PyObject *self, PyObject *object)
{
    PyObject *result;

    if (lw_is_device_array(object) &&
        lw_arrays_overlap((lw_device_array *)self, (lw_device_array *)object))
        return (PyObject *)lw_device_array_copy((lw_device_array *)object, 'C');
    if (!PyTuple_CheckExact(object))
        return Py_NewRef(object);
    result = PyTuple_New(PyTuple_GET_SIZE(object));
    for (Py_ssize_t i = 0; result != NULL && i < PyTuple_GET_SIZE(object); i++) {
        PyObject *item = apart_from(self, PyTuple_GET_ITEM(object, i));
        if (item != NULL)
            PyTuple_SET_ITEM(result, i, item);
        else
            Py_CLEAR(result);
    }
    return result;
}

int
lw_array_put(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *places = apart_from(self, key), *values = apart_from(self, value), *result;
    int done = -1;

    if (places != NULL && values != NULL)
        done = lw_array_fill_quickly((lw_device_array *)self, places, values);
    if (done == 0) {
        result = call("setitem", Py_BuildValue("(OOO)", self, places, values), NULL);
        done = result ? 1 : -1;
        Py_XDECREF(result);
    }
    Py_XDECREF(places);
    Py_XDECREF(values);
    return done < 0 ? -1 : 0;
}

/* ---- methods ---- */

static PyObject *
forward(const char *name, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *first = PyTuple_Pack(1, self);
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;

    Py_XDECREF(first);
    return call(name, all, kwargs);
}

#define METHODS(X)                                                                             \
    X(sort, "sort_in_place", "sort(axis=-1, kind=None, order=None, *, stable=None): in place") \
    X(argsort, "argsort", "argsort(axis=-1, kind=None, order=None, *, stable=None)")           \
    X(nonzero, "nonzero", "nonzero(): return the indices of the elements that are not zero")   \
    X(split, "split", "split(section, stream=0): return views of `section` elements each")

#define DEFINE(name, function, doc)                                                            \
    static PyObject *method_##name(PyObject *self, PyObject *args, PyObject *kwargs)           \
    {                                                                                          \
        return forward(function, self, args, kwargs);                                          \
    }
METHODS(DEFINE)
#undef DEFINE

/* Methods that are NumPy's functions of the same name, with the array in front. */
#define FUNCTIONS(X)                                                                           \
    X(argpartition, "argpartition(kth, axis=-1)")                                              \
    X(choose, "choose(choices, out=None, mode='raise')")                                       \
    X(clip, "clip(min=None, max=None, out=None): limit the elements")                          \
    X(compress, "compress(condition, axis=None, out=None): some rows along an axis")           \
    X(conj, "conj(): the complex conjugates")                                                  \
    X(conjugate, "conjugate(): the complex conjugates")                                        \
    X(diagonal, "diagonal(offset=0, axis1=0, axis2=1): a view")                                \
    X(dot, "dot(b, out=None)")                                                                 \
    X(partition, "partition(kth, axis=-1): in place")                                          \
    X(put, "put(indices, values, mode='raise'): in place")                                     \
    X(repeat, "repeat(repeats, axis=None)")                                                    \
    X(round, "round(decimals=0, out=None)")                                                    \
    X(searchsorted, "searchsorted(v, side='left', sorter=None)")                               \
    X(swapaxes, "swapaxes(axis1, axis2): a view")                                              \
    X(tobytes, "tobytes(order='C'): the bytes of the elements, on the host")                   \
    X(trace, "trace(offset=0, axis1=0, axis2=1, dtype=None, out=None)")

static PyObject *
call_function(const char *name, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *first = Py_BuildValue("(Os)", self, name);
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    PyObject *method = all ? lw_service_find(LW_SERVICE_ARRAY_PROTOCOL, "method") : NULL;
    PyObject *result = method ? PyObject_Call(method, all, kwargs) : NULL;

    Py_XDECREF(first);
    Py_XDECREF(all);
    Py_XDECREF(method);
    return result;
}

/* __format__(spec) and __round__(ndigits=None): of the number, for an array without dimensions.
 */
static PyObject *
method_format(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_function("__format__", self, args, kwargs);
}

static PyObject *
method_round_number(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_function("__round__", self, args, kwargs);
}

PyObject *
lw_array_item_at(PyObject *self, PyObject *index)
{
    return call_function("item", self, index, NULL);
}

int
lw_array_contains(PyObject *self, PyObject *value)
{
    PyObject *found =
        lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "contains", self, &value, 1, NULL);
    int is_true = found != NULL ? PyObject_IsTrue(found) : -1;

    Py_XDECREF(found);
    return is_true;
}

PyObject *
lw_array_unlike(PyObject *self, PyObject *other, bool equal)
{
    PyObject *args[] = {other, equal ? Py_False : Py_True};

    return lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "unlike", self, args, 2, NULL);
}

PyObject *
lw_array_without_common_type(PyObject *self, PyObject *other, bool equal)
{
    PyObject *args[] = {other, equal ? Py_False : Py_True};

    return lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "without_common_type", self, args, 2,
                           NULL);
}

#define DEFINE(name, doc)                                                                      \
    static PyObject *method_##name(PyObject *self, PyObject *args, PyObject *kwargs)           \
    {                                                                                          \
        return call_function(#name, self, args, kwargs);                                       \
    }
FUNCTIONS(DEFINE)
#undef DEFINE

static PyObject *
method_take(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *result = NULL;

    if (kwargs == NULL && (n == 1 || n == 2))
        result = lw_array_take_flat((lw_device_array *)self, PyTuple_GET_ITEM(args, 0),
                                    n == 2 ? PyTuple_GET_ITEM(args, 1) : NULL);
    return result || PyErr_Occurred() ? result : forward("take", self, args, kwargs);
}

/* (numba) The same memory, used on this stream from now on. */
static PyObject *
method_bind(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", NULL};
    lw_device_array *array = (lw_device_array *)self, *view;
    lw_array_layout layout = {.ndim = array->ndim};
    PyObject *object = NULL;
    CUstream stream = NULL;
    lw_error err = {0};

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:bind", names, &object) ||
        (object != NULL && lw_stream_read(object, &stream) < 0))
        return NULL;
    if (lw_device_array_use(array, stream, &err) != LW_OK)
        return lw_py_raise(&err);
    if (array->ndim > 0) {
        memcpy(layout.shape, array->shape, (size_t)array->ndim * sizeof *array->shape);
        memcpy(layout.strides, array->strides, (size_t)array->ndim * sizeof *array->strides);
    }
    view = lw_array_view_layout(array, &layout);
    return (PyObject *)view;
}

/* What Dask names a graph's part by: equal contents, equal names. */
static PyObject *
method_dask_tokenize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_service_call(LW_SERVICE_ARRAY_PROTOCOL, "dask_token", self, NULL, 0, NULL);
}

PyObject *
lw_array_get_service(PyObject *self, void *closure)
{
    return call("attribute", Py_BuildValue("(Os)", self, (const char *)closure), NULL);
}

#define ROW(name, function, doc) {#name, LW_KEYWORDS(method_##name), doc},
#define FUNCTION_ROW(name, doc)  {#name, LW_KEYWORDS(method_##name), doc},

static PyObject *
repr_html(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_service_call(LW_SERVICE_HTML, "device_array", self, NULL, 0, NULL);
}

PyMethodDef lw_array_service_methods[] = {
    {"_repr_html_", repr_html, METH_NOARGS,
     "what notebooks show: shape, dtype, size, device and contents"},
    METHODS(ROW) FUNCTIONS(FUNCTION_ROW){
        "take", LW_KEYWORDS(method_take),
        "take(indices, axis=None, out=None, mode='raise'): return the elements at "
        "these indices, as numpy.ndarray.take does"},
    {"bind", LW_KEYWORDS(method_bind),
     "bind(stream=0): return a view whose next operations run on this stream"},
    {"__format__", LW_KEYWORDS(method_format),
     "__format__(spec): the number of an array without dimensions, formatted"},
    {"__round__", LW_KEYWORDS(method_round_number),
     "__round__(ndigits=None): the number of an array without dimensions, rounded"},
    {"__dask_tokenize__", method_dask_tokenize, METH_NOARGS,
     "Dask's token: of the contents, which are copied to the host for it"},
    {NULL, NULL, 0, NULL}};

/* ---- parts of complex numbers ---- */

static lw_device_array *
part(lw_device_array *array, bool imag)
{
    lw_dtype dtype = array->dtype == LW_DT_c64 ? LW_DT_f32 : LW_DT_f64;
    lw_array_layout layout = {.ndim = array->ndim};
    PyArray_Descr *descr = lw_descr_of(dtype);

    if (array->ndim > 0) {
        memcpy(layout.shape, array->shape, (size_t)array->ndim * sizeof *array->shape);
        memcpy(layout.strides, array->strides, (size_t)array->ndim * sizeof *array->strides);
    }
    return lw_array_view_as(array, array->data + (imag ? (CUdeviceptr)array->itemsize / 2 : 0),
                            dtype, descr, &layout);
}

PyObject *
lw_array_get_real(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;

    return lw_is_complex((lw_dtype)array->dtype) ? (PyObject *)part(array, false)
                                                 : Py_NewRef(self);
}

/* Of real numbers it is a new array of zeros. */
PyObject *
lw_array_get_imag(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device_array *array = (lw_device_array *)self;

    if (lw_is_complex((lw_dtype)array->dtype))
        return (PyObject *)part(array, true);
    return call("zeros_like", PyTuple_Pack(1, self), NULL);
}

int
lw_array_set_real(PyObject *self, PyObject *value, void *closure)
{
    PyObject *to = value ? lw_array_get_real(self, closure) : NULL;
    int result = to ? lw_array_assign((lw_device_array *)to, value, NULL) : -1;

    if (value == NULL)
        PyErr_SetString(PyExc_AttributeError, "Cannot delete array real part");
    Py_XDECREF(to);
    return result;
}

int
lw_array_set_imag(PyObject *self, PyObject *value, void *closure)
{
    PyObject *to = NULL;
    int result;

    if (value == NULL)
        PyErr_SetString(PyExc_AttributeError, "Cannot delete array imaginary part");
    else if (!lw_is_complex((lw_dtype)((lw_device_array *)self)->dtype))
        PyErr_SetString(PyExc_TypeError, "array does not have imaginary part to set");
    else
        to = lw_array_get_imag(self, closure);
    result = to ? lw_array_assign((lw_device_array *)to, value, NULL) : -1;
    Py_XDECREF(to);
    return result;
}
