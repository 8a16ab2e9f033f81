/* The most common subscripts with an array among them, without Python's code: elements, or rows
 * along the first axis, by their numbers, and elements where a mask is true. A function here
 * does one form of an operation, on our own arrays of one device whose layout permits it, or
 * leaves it to lanewise/_device_arrays.py, which does all forms, and says what is wrong. The
 * kernels are those of lanewise/_device_array_kernels.py. */
#include "core/py/array/device_array_internal.h"

#include "core/front/read/services.h"

#include <string.h>

static const char *const names[] = {
#define DEVICE_KERNEL(name) #name,
#include "core/tables/device_kernels.def"
};

PyObject *
lw_array_kernel(lw_array_kernel_name which)
{
    lw_found *place = &lw_core->found.array_kernels[which];
    PyObject *found = lw_found_get(place);

    return found ? found
                 : lw_found_set(place,
                                lw_service_find(LW_SERVICE_DEVICE_ARRAY_KERNELS, names[which]));
}

/* ---- what is done here ---- */

/* An array of numbers, or bools, of NumPy. */
static bool
is_plain(const lw_device_array *array)
{
    lw_dtype dtype = (lw_dtype)array->dtype;

    return !array->misaligned &&
           (dtype == LW_DT_b1 || lw_is_integer(dtype) || lw_is_complex(dtype) ||
            dtype == LW_DT_f16 || dtype == LW_DT_f32 || dtype == LW_DT_f64);
}

/* A contiguous array of integers beside x. */
static bool
are_places(PyObject *key, const lw_device_array *x)
{
    const lw_device_array *array = (const lw_device_array *)key;

    return lw_is_device_array(key) && lw_is_integer((lw_dtype)array->dtype) &&
           array->c_contiguous && !array->misaligned && array->device == x->device &&
           array->size > 0;
}

/* A contiguous mask of all elements of x, which is contiguous too. */
static bool
is_mask(PyObject *key, const lw_device_array *x)
{
    const lw_device_array *array = (const lw_device_array *)key;

    return lw_is_device_array(key) && array->dtype == LW_DT_b1 && array->c_contiguous &&
           x->c_contiguous && array->device == x->device && array->size > 0 &&
           array->ndim == x->ndim &&
           memcmp(array->shape, x->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
}

/* All elements of a contiguous array, along one axis. A new reference. */
static lw_device_array *
flat(lw_device_array *array)
{
    int64_t stride = array->itemsize;

    if (array->ndim == 1)
        return (lw_device_array *)Py_NewRef((PyObject *)array);
    return lw_device_array_view(array, array->data, 1, &array->size, &stride);
}

/* The same as rows of n elements. */
static lw_device_array *
rows(lw_device_array *array, int64_t n)
{
    const int64_t shape[] = {array->size / n, n};
    const int64_t strides[] = {n * array->itemsize, array->itemsize};

    return lw_device_array_view(array, array->data, 2, shape, strides);
}

/* A number as a NumPy scalar of x's dtype, by the casting of NumPy's assignment; NULL without
 * an exception: it is no number. */
static PyObject *
number_of(lw_device_array *x, PyObject *value)
{
    PyArrayObject *host;
    PyObject *scalar = NULL;

    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value) && !PyBool_Check(value) &&
        !PyComplex_CheckExact(value) && !PyArray_IsScalar(value, Number))
        return NULL;
    host = lw_array_host_value(x, value);
    if (host != NULL)
        scalar = PyArray_Scalar(PyArray_DATA(host), PyArray_DESCR(host), (PyObject *)host);
    Py_XDECREF((PyObject *)host);
    return scalar;
}

/* Launches a kernel over n elements; 0, or -1 with an exception. Steals the arguments, of which
 * those that are NULL have set one. */
static int
launch(lw_array_kernel_name which, PyObject *space, PyObject *const *args, size_t n_args)
{
    PyObject *all[5] = {space}, *kernel = lw_array_kernel(which), *result = NULL;
    bool good = kernel != NULL && space != NULL;

    for (size_t i = 0; i < n_args; i++) {
        all[1 + i] = args[i];
        good = good && args[i] != NULL;
    }
    if (good)
        result = PyObject_Vectorcall(kernel, all, 1 + n_args, NULL);
    for (size_t i = 0; i <= n_args; i++)
        Py_XDECREF(all[i]);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* ---- elements by their numbers ---- */

static PyObject *
take_elements(lw_device_array *x, PyObject *key)
{
    lw_device_array *places = (lw_device_array *)key, *out;
    int64_t shape[LW_INLINE_DIMS], n;
    int failed;

    if (!is_plain(x) || x->ndim < 1 || x->size == 0 || !(x->ndim == 1 || x->c_contiguous) ||
        !are_places(key, x) || places->ndim + x->ndim - 1 > LW_INLINE_DIMS)
        return NULL;
    n = x->size / x->shape[0];
    if (places->ndim > 0)
        memcpy(shape, places->shape, (size_t)places->ndim * sizeof *shape);
    memcpy(shape + places->ndim, x->shape + 1, (size_t)(x->ndim - 1) * sizeof *shape);
    out = lw_device_array_new(x->device, 0, (lw_dtype)x->dtype, places->ndim + x->ndim - 1,
                              shape, 'C');
    if (out == NULL)
        return NULL;
    if (n == 1 && x->ndim == 1) {
        PyObject *args[] = {Py_NewRef((PyObject *)x), (PyObject *)flat(places),
                            (PyObject *)flat(out)};
        failed = launch(LW_KERNEL_take_elements, PyLong_FromLongLong(places->size), args, 3);
    } else {
        PyObject *args[] = {(PyObject *)rows(x, n), (PyObject *)flat(places),
                            (PyObject *)rows(out, n)};
        failed = launch(LW_KERNEL_take_pairs,
                        Py_BuildValue("(LL)", (long long)places->size, (long long)n), args, 3);
    }
    if (failed)
        Py_CLEAR(out);
    return (PyObject *)out;
}

PyObject *
lw_array_take_flat(lw_device_array *x, PyObject *key, PyObject *axis)
{
    lw_device_array *all;
    PyObject *result;
    long number = 0;

    if (!lw_is_device_array(key))
        return NULL;
    if (axis != NULL && axis != Py_None) {
        number = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : -1;
        PyErr_Clear();
        return number == 0 ? take_elements(x, key) : NULL;
    }
    if (x->ndim == 1)
        return take_elements(x, key);
    if (!x->c_contiguous || x->size == 0)
        return NULL;
    all = flat(x);
    result = all ? take_elements(all, key) : NULL;
    Py_XDECREF((PyObject *)all);
    return result;
}

static int
fill_elements(lw_device_array *x, lw_device_array *places, PyObject *value)
{
    PyObject *scalar = number_of(x, value);

    if (scalar == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *args[] = {Py_NewRef((PyObject *)x), (PyObject *)flat(places), scalar};
    return launch(LW_KERNEL_fill_elements, PyLong_FromLongLong(places->size), args, 3) < 0 ? -1
                                                                                           : 1;
}

/* ---- elements where a mask is true ---- */

/* How many there are, which is the last of the numbers; -1 with an exception. */
static Py_ssize_t
last_of(lw_device_array *ends)
{
    PyObject *last = lw_array_sq_item((PyObject *)ends, (Py_ssize_t)ends->size - 1);
    Py_ssize_t n = last ? PyNumber_AsSsize_t(last, PyExc_OverflowError) : -1;

    Py_XDECREF(last);
    return n;
}

/* Waits for their number. */
static PyObject *
take_chosen(lw_device_array *x, lw_device_array *mask)
{
    lw_device_array *flags = flat(mask), *ends = NULL, *out = NULL;
    Py_ssize_t n = -1;
    int64_t shape;

    if (flags != NULL)
        ends = (lw_device_array *)PyObject_CallMethod((PyObject *)flags, "cumsum", NULL);
    if (ends != NULL)
        n = last_of(ends);
    shape = n;
    if (n >= 0)
        out = lw_device_array_new(x->device, 0, (lw_dtype)x->dtype, 1, &shape, 'C');
    if (out != NULL && n > 0) {
        PyObject *args[] = {(PyObject *)flat(x), Py_NewRef((PyObject *)flags),
                            Py_NewRef((PyObject *)ends), Py_NewRef((PyObject *)out)};
        if (launch(LW_KERNEL_take_chosen, PyLong_FromLongLong(x->size), args, 4) < 0)
            Py_CLEAR(out);
    }
    Py_XDECREF((PyObject *)flags);
    Py_XDECREF((PyObject *)ends);
    return (PyObject *)out;
}

static int
fill_chosen(lw_device_array *x, lw_device_array *mask, PyObject *value)
{
    PyObject *scalar = number_of(x, value);

    if (scalar == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *args[] = {(PyObject *)flat(x), (PyObject *)flat(mask), scalar};
    return launch(LW_KERNEL_fill_chosen, PyLong_FromLongLong(x->size), args, 3) < 0 ? -1 : 1;
}

/* ---- subscripts ---- */

PyObject *
lw_array_take_quickly(lw_device_array *x, PyObject *key)
{
    if (!lw_is_device_array(key))
        return NULL;
    if (is_plain(x) && is_mask(key, x))
        return take_chosen(x, (lw_device_array *)key);
    return take_elements(x, key);
}

int
lw_array_fill_quickly(lw_device_array *x, PyObject *key, PyObject *value)
{
    if (!lw_is_device_array(key) || !is_plain(x) || x->readonly)
        return 0;
    if (is_mask(key, x))
        return fill_chosen(x, (lw_device_array *)key, value);
    if (x->ndim != 1 || x->size == 0 || !are_places(key, x))
        return 0;
    return fill_elements(x, (lw_device_array *)key, value);
}
