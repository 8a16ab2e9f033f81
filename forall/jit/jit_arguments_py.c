/* The arguments of a launch: host arrays are copied to the device on which the kernel runs. */
#include "forall/jit/jit_py_internal.h"

#include "core/base/env.h"
#include "core/py/array/cuda_arrays.h"
#include "core/py/array/host_view.h"
#include "core/py/object_shape.h"
#include "core/py/raise.h"

#include <stdio.h>
#include <string.h>

/* ---- host arrays of a launch on a GPU ---- */

static bool holds_host(PyObject *object);

static bool
field_holds_host(PyObject *object, const lw_object_shape *shape)
{
    bool holds = false;

    for (Py_ssize_t i = 0; !holds && i < PyTuple_GET_SIZE(shape->names); i++) {
        PyObject *value = PyObject_GetAttr(object, PyTuple_GET_ITEM(shape->names, i));
        holds = value != NULL && holds_host(value);
        PyErr_Clear();
        Py_XDECREF(value);
    }
    return holds;
}

static bool
holds_host(PyObject *object)
{
    const lw_object_shape *shape;
    lw_travel travel;

    if (lw_is_device_array(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object))
        return false;
    if (PyArray_Check(object))
        return true;
    if (PyTuple_Check(object))
        return lw_jit_has_host(&PyTuple_GET_ITEM(object, 0), PyTuple_GET_SIZE(object));
    if (lw_jit_unwrap(object, &travel) != object || lw_is_foreign_host(object))
        return true;
    shape = lw_object_shape_of(object);
    PyErr_Clear(); /* it is raised when the argument is bound */
    return shape != NULL && field_holds_host(object, shape);
}

bool
lw_jit_has_host(PyObject *const *args, Py_ssize_t n_args)
{
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (holds_host(args[i]))
            return true;
    return false;
}

static lw_device_array *
to_device(PyArrayObject *host, lw_travel way, lw_device *device, CUstream stream)
{
    bool is_f = PyArray_IS_F_CONTIGUOUS(host) && !PyArray_IS_C_CONTIGUOUS(host);
    int64_t shape[LW_MAX_DIMS];

    if ((way & LW_TRAVEL_IN) || PyDataType_REFCHK(PyArray_DESCR(host)))
        return lw_device_array_from_host(host, device, stream);
    for (int i = 0; i < PyArray_NDIM(host); i++)
        shape[i] = PyArray_DIM(host, i);
    return lw_device_array_new_descr(device, stream, PyArray_DESCR(host), PyArray_NDIM(host),
                                     shape, is_f ? 'F' : 'C');
}

/* The copy of a host array (borrowed from the travel), made once however often it is an
 * argument. */
static PyObject *
travel_add(lw_jit_travel *travel, PyArrayObject *host, lw_travel way, lw_device *device,
           CUstream stream)
{
    bool back = (way & LW_TRAVEL_OUT) && PyArray_ISWRITEABLE(host);

    if ((way & LW_TRAVEL_OUT) && !(way & LW_TRAVEL_IN) && !back) {
        PyErr_SetString(PyExc_ValueError, "cuda.Out(array): the array is read-only");
        return NULL;
    }
    for (uint32_t i = 0; i < travel->n; i++) {
        if (travel->items[i].host == host) {
            travel->items[i].back |= back;
            return (PyObject *)travel->items[i].device;
        }
    }
    if (travel->n == LW_MOST_ARRANGED) {
        PyErr_Format(PyExc_TypeError, "a launch takes at most %d host arrays",
                     LW_MOST_ARRANGED);
        return NULL;
    }
    travel->items[travel->n].device = to_device(host, way, device, stream);
    if (travel->items[travel->n].device == NULL)
        return NULL;
    travel->items[travel->n].host = host;
    travel->items[travel->n].back = back;
    return (PyObject *)travel->items[travel->n++].device;
}

static PyObject *travel_tuple(lw_jit_travel *travel, PyObject *tuple, lw_device *device,
                              CUstream stream);
static PyObject *travel_object(lw_jit_travel *travel, PyObject *object, lw_device *device,
                               CUstream stream);

/* What replaces an argument: a new reference. */
static PyObject *
travel_one(lw_jit_travel *travel, PyObject *object, lw_device *device, CUstream stream)
{
    lw_travel way;
    PyObject *inner = lw_jit_unwrap(object, &way);

    if (lw_is_foreign_host(inner)) {
        inner = (PyObject *)lw_host_view(inner, "an argument");
        if (inner == NULL || PyList_Append(travel->keep, inner) < 0) {
            Py_XDECREF(inner);
            return NULL;
        }
        Py_DECREF(inner); /* the list holds it */
    }
    if (PyArray_Check(inner)) {
        PyObject *there = (PyObject *)lw_mapped_as_array(inner); /* the device reaches it */
        if (there != NULL || PyErr_Occurred())
            return there;
        return Py_XNewRef(travel_add(travel, (PyArrayObject *)inner, way, device, stream));
    }
    if (PyTuple_Check(inner) &&
        lw_jit_has_host(&PyTuple_GET_ITEM(inner, 0), PyTuple_GET_SIZE(inner)))
        return travel_tuple(travel, inner, device, stream);
    if (!PyTuple_Check(inner) && lw_object_shape_of(inner) != NULL && holds_host(inner))
        return travel_object(travel, inner, device, stream);
    if (PyErr_Occurred())
        return NULL;
    return Py_NewRef(inner);
}

/* The same tuple, or namedtuple, with copies for host arrays. */
static PyObject *
travel_tuple(lw_jit_travel *travel, PyObject *tuple, lw_device *device, CUstream stream)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject *items = PyTuple_New(n), *made;

    for (Py_ssize_t i = 0; items != NULL && i < n; i++) {
        PyObject *item = travel_one(travel, PyTuple_GET_ITEM(tuple, i), device, stream);
        if (item == NULL)
            Py_CLEAR(items);
        else
            PyTuple_SET_ITEM(items, i, item);
    }
    if (items == NULL || PyTuple_CheckExact(tuple))
        return items;
    made = lw_object_make_tuple(Py_TYPE(tuple), items);
    Py_DECREF(items);
    return made;
}

/* An object of the same class, with copies for host arrays. */
static PyObject *
travel_object(lw_jit_travel *travel, PyObject *object, lw_device *device, CUstream stream)
{
    const lw_object_shape *shape = lw_object_shape_of(object);
    Py_ssize_t n = PyTuple_GET_SIZE(shape->names);
    PyObject *values = shape->is_container ? NULL : PyTuple_New(n), *made = NULL;

    if (shape->is_container)
        PyErr_Format(PyExc_TypeError,
                     "a typed %s cannot be an argument of a kernel that runs on a GPU: pass an "
                     "array, `np.array(x)`",
                     lw_object_is_typed_list(shape) ? "list" : "dict");
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        PyObject *value = PyObject_GetAttr(object, PyTuple_GET_ITEM(shape->names, i));
        PyObject *taken = value ? travel_one(travel, value, device, stream) : NULL;
        Py_XDECREF(value);
        if (taken == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, i, taken);
    }
    if (values != NULL && shape->given != (PyObject *)shape->type)
        made = lw_object_make_struct(shape->registered, &PyTuple_GET_ITEM(values, 0));
    else if (values != NULL)
        made = lw_object_make(shape->type, shape->names, &PyTuple_GET_ITEM(values, 0));
    Py_XDECREF(values);
    return made;
}

/* ---- warnings that are asked for ---- */

/* As few blocks as numba warns of: GPUs have about as many multiprocessors. */
enum { FEW_BLOCKS = 128 };

int
lw_jit_warn_of_grid(lw_jit *self, const lw_launch_shape *config)
{
    uint64_t n = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2];
    char text[160];

    if (!lw_env_int(LW_ENV_warn_occupancy) || n >= FEW_BLOCKS ||
        lw_jit_target(self) != LW_CHOOSE_CUDA)
        return 0;
    snprintf(text, sizeof text,
             "Grid size %llu: fewer than %d blocks leave most of a GPU idle: low occupancy",
             (unsigned long long)n, FEW_BLOCKS);
    return lw_door_warn(&self->base.options, "PerformanceWarning", text);
}

/* An array of cuda.mapped_array or managed_array, which launches on a GPU do not copy. */
static bool
is_mapped(PyObject *object)
{
    lw_device_array *there = PyArray_Check(object) ? lw_mapped_as_array(object) : NULL;
    bool is = there != NULL;

    Py_XDECREF(there);
    PyErr_Clear(); /* it is raised when the argument is bound */
    return is;
}

int
lw_jit_warn_of_copies(const lw_jit *self, PyObject *const *args, Py_ssize_t n_args)
{
    lw_travel way;

    for (Py_ssize_t i = 0; lw_env_int(LW_ENV_warn_copies) && i < n_args; i++)
        if (lw_jit_unwrap(args[i], &way) == args[i] && !is_mapped(args[i]) &&
            holds_host(args[i]))
            return lw_door_warn(&self->base.options, "PerformanceWarning",
                                "Host array used in CUDA kernel will incur copy overhead: each "
                                "launch copies it to the device and back; "
                                "cuda.to_device(array) copies it once");
    return 0;
}

int
lw_jit_travel_start(lw_jit_travel *travel, lw_device *device, CUstream stream, PyObject **args,
                    Py_ssize_t n_args)
{
    travel->keep = PyList_New(0);
    for (Py_ssize_t i = 0; travel->keep != NULL && i < n_args; i++) {
        PyObject *taken;
        if (!holds_host(args[i]))
            continue;
        taken = travel_one(travel, args[i], device, stream);
        if (taken == NULL || PyList_Append(travel->keep, taken) < 0) {
            Py_XDECREF(taken);
            return -1;
        }
        args[i] = taken; /* the list holds it */
        Py_DECREF(taken);
    }
    return travel->keep ? 0 : -1;
}

/* Waits even where nothing is copied back, because the driver may still read page-locked
 * memory. */
static int
wait_for(lw_device *device, CUstream stream)
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_stream_synchronize(device, stream, &err);
    Py_END_ALLOW_THREADS
    if (status == LW_OK)
        return lw_check_errors();
    lw_py_raise(&err);
    return -1;
}

int
lw_jit_travel_back(lw_jit_travel *travel, lw_device *device, CUstream stream)
{
    bool waited = false;

    for (uint32_t i = 0; i < travel->n; i++) {
        PyObject *result;
        if (!travel->items[i].back)
            continue;
        result = PyObject_CallMethod((PyObject *)travel->items[i].device, "copy_to_host", "O",
                                     travel->items[i].host);
        if (result == NULL)
            return -1;
        Py_DECREF(result);
        waited = true;
    }
    return waited ? 0 : wait_for(device, stream);
}

void
lw_jit_travel_end(lw_jit_travel *travel)
{
    for (uint32_t i = 0; i < travel->n; i++)
        Py_DECREF(travel->items[i].device);
    Py_CLEAR(travel->keep);
    travel->n = 0;
}

/* The list takes the array over (it may be NULL) and lends it. */
static PyObject *
held(PyObject *array, PyObject **keep)
{
    if (array != NULL && *keep == NULL)
        *keep = PyList_New(0);
    if (array == NULL || *keep == NULL || PyList_Append(*keep, array) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    Py_DECREF(array);
    return array;
}

/* A kernel may write to an array wrapped in In; the user's array must not change. */
static PyObject *
copy_for_host(PyObject *array, PyObject **keep)
{
    return held(PyArray_NewCopy((PyArrayObject *)array, NPY_KEEPORDER), keep);
}

static PyObject *
view_for_host(PyObject *object, PyObject **keep)
{
    return held((PyObject *)lw_host_view(object, "an argument"), keep);
}

int
lw_jit_unwrap_all(PyObject **args, Py_ssize_t n_args, PyObject **keep)
{
    lw_travel way;

    for (Py_ssize_t i = 0; i < n_args; i++) {
        args[i] = lw_jit_unwrap(args[i], &way);
        if (way != LW_TRAVEL_IN)
            continue;
        if (lw_is_foreign_host(args[i]) && (args[i] = view_for_host(args[i], keep)) == NULL)
            return -1;
        if (PyArray_Check(args[i]) && PyArray_ISWRITEABLE((PyArrayObject *)args[i]) &&
            (args[i] = copy_for_host(args[i], keep)) == NULL)
            return -1;
    }
    return 0;
}
