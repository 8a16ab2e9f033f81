/* NEP 18: NumPy's functions on device arrays, in the form in which they are mostly called. A
 * row of the table below does one call without Python's code, or leaves it: to
 * lanewise/_array_protocol.py, which has all functions in all forms, and says what is wrong. */
#include "core/py/array/array_function.h"

#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/device_array_internal.h"

#include <string.h>

/* A call; borrowed. */
typedef struct call {
    PyObject *const *args;
    Py_ssize_t n;
    PyObject *kwargs;
} call;

/* The result, or NULL with an exception; NULL without one: it is left. */
typedef PyObject *(*shortcut)(const call *c);

static lw_device_array *
array_at(const call *c, Py_ssize_t i)
{
    return i < c->n && lw_is_device_array(c->args[i]) ? (lw_device_array *)c->args[i] : NULL;
}

static bool
has_keywords(const call *c)
{
    return PyDict_GET_SIZE(c->kwargs) > 0;
}

static bool
is_real_number(lw_dtype dtype)
{
    return lw_is_integer(dtype) || dtype == LW_DT_f16 || dtype == LW_DT_f32 ||
           dtype == LW_DT_f64;
}

/* ---- functions that call the array's method ---- */

static PyObject *
call_method(const char *name, const call *c)
{
    PyObject *text = PyUnicode_InternFromString(name), *result = NULL;

    if (text != NULL)
        result = PyObject_VectorcallMethod(text, c->args, (size_t)c->n, NULL);
    Py_XDECREF(text);
    return result;
}

static PyObject *
of_transpose(const call *c)
{
    bool plain = c->n == 1 || (c->n == 2 && PyTuple_CheckExact(c->args[1]));

    return plain && !has_keywords(c) && array_at(c, 0) ? call_method("transpose", c) : NULL;
}

static PyObject *
of_reshape(const call *c)
{
    bool plain = c->n == 2 && (PyTuple_CheckExact(c->args[1]) || PyLong_CheckExact(c->args[1]));

    return plain && !has_keywords(c) && array_at(c, 0) ? call_method("reshape", c) : NULL;
}

static PyObject *
of_ravel(const call *c)
{
    return c->n == 1 && !has_keywords(c) && array_at(c, 0) ? call_method("ravel", c) : NULL;
}

static PyObject *
of_squeeze(const call *c)
{
    return c->n == 1 && !has_keywords(c) && array_at(c, 0) ? call_method("squeeze", c) : NULL;
}

static PyObject *
of_take(const call *c)
{
    bool plain = c->n == 2 || (c->n == 3 && PyLong_CheckExact(c->args[2]));
    PyObject *name, *axis = c->n == 3 ? c->args[2] : NULL;
    lw_device_array *array = array_at(c, 0);
    Py_ssize_t at = 0;
    PyObject *result;

    if (!plain || array == NULL || PyDict_GET_SIZE(c->kwargs) > 1)
        return NULL;
    while (PyDict_Next(c->kwargs, &at, &name, &axis))
        if (c->n == 3 || PyUnicode_CompareWithASCIIString(name, "axis") != 0)
            return NULL;
    result = lw_array_take_flat(array, c->args[1], axis);
    return result || PyErr_Occurred() || has_keywords(c) ? result : call_method("take", c);
}

static PyObject *
of_copy(const call *c)
{
    const lw_device_array *array = array_at(c, 0);

    return c->n == 1 && !has_keywords(c) && array != NULL && array->c_contiguous
               ? call_method("copy", c)
               : NULL;
}

/* ---- choosing ---- */

/* Whether the dtype is the one that NumPy gives to an array of it and such a Python number. */
static bool
takes_number(lw_dtype dtype, PyObject *number)
{
    if (PyFloat_CheckExact(number))
        return is_real_number(dtype) && !lw_is_integer(dtype);
    return PyLong_CheckExact(number) && is_real_number(dtype);
}

/* Arrays of one dtype, which is in *dtype, on one device, and numbers that follow them. */
static bool
are_alike(PyObject *const *values, Py_ssize_t n, const lw_device_array **first)
{
    *first = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        const lw_device_array *array = (const lw_device_array *)values[i];
        if (!lw_is_device_array(values[i]))
            continue;
        if (*first == NULL)
            *first = array;
        if (array->dtype != (*first)->dtype || array->device != (*first)->device)
            return false;
    }
    for (Py_ssize_t i = 0; *first != NULL && i < n; i++)
        if (!lw_is_device_array(values[i]) &&
            !takes_number((lw_dtype)(*first)->dtype, values[i]))
            return false;
    return *first != NULL;
}

static PyObject *
of_where(const call *c)
{
    const lw_device_array *condition = array_at(c, 0), *first;
    PyObject *choose;

    if (c->n != 3 || has_keywords(c) || condition == NULL || condition->dtype != LW_DT_b1 ||
        !are_alike(c->args + 1, 2, &first) || condition->device != first->device ||
        !(is_real_number((lw_dtype)first->dtype) || first->dtype == LW_DT_b1 ||
          lw_is_complex((lw_dtype)first->dtype)))
        return NULL;
    choose = lw_array_kernel(LW_KERNEL_choose);
    return choose ? PyObject_Vectorcall(choose, c->args, 3, NULL) : NULL;
}

/* Whether an int is a number of the array's integer dtype, and not its limit, which NumPy
 * treats as none. */
static bool
is_within(PyObject *number, const lw_device_array *array)
{
    lw_dtype dtype = (lw_dtype)array->dtype;
    uint64_t most;
    int overflow;
    int64_t value;

    if (!PyLong_CheckExact(number) || !lw_is_integer(dtype))
        return true;
    most = lw_integer_most(dtype);
    value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0 && (value < 0 || (uint64_t)value < most) &&
           value > (lw_is_signed(dtype) ? -1 - (int64_t)most : 0);
}

/* clip(a, low, high) */
static PyObject *
of_clip(const call *c)
{
    const lw_device_array *array = array_at(c, 0), *first;
    PyObject *clip;

    if (c->n != 3 || has_keywords(c) || array == NULL ||
        !is_real_number((lw_dtype)array->dtype) || !are_alike(c->args, 3, &first) ||
        !is_within(c->args[1], array) || !is_within(c->args[2], array))
        return NULL;
    clip = lw_array_kernel(LW_KERNEL_clip);
    return clip ? PyObject_Vectorcall(clip, c->args, 3, NULL) : NULL;
}

/* ---- joining ---- */

enum { MOST_JOINED = 64 };
enum { MANY = 8 };

typedef struct joined {
    Py_ssize_t n;
    lw_device_array *arrays[MOST_JOINED]; /* borrowed: all of one dtype, device and ndim */
    int ndim;
} joined;

static bool
read_joined(PyObject *tuple, joined *j)
{
    j->n = PyTuple_GET_SIZE(tuple);
    if (j->n < 1 || j->n > MOST_JOINED)
        return false;
    for (Py_ssize_t i = 0; i < j->n; i++) {
        PyObject *object = PyTuple_GET_ITEM(tuple, i);
        lw_device_array *array = (lw_device_array *)object, *first;
        if (!lw_is_device_array(object))
            return false;
        j->arrays[i] = array;
        first = j->arrays[0];
        if (!array->c_contiguous || array->dtype != first->dtype ||
            array->dtype == LW_DT_void || array->dtype == LW_DT_bf16 ||
            array->device != first->device || array->ndim != first->ndim ||
            array->ndim >= LW_INLINE_DIMS)
            return false;
    }
    j->ndim = j->arrays[0]->ndim;
    return true;
}

/* axis= as the only argument behind the arrays; 0 if it is not given. */
static bool
read_axis(const call *c, int ndim, int *axis)
{
    long value = 0;

    if (c->n > 2 || (c->n == 2 && !PyLong_CheckExact(c->args[1])))
        return false;
    if (c->n == 2)
        value = PyLong_AsLong(c->args[1]);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    *axis = (int)(value < 0 ? value + ndim : value);
    return value >= -ndim && value < ndim;
}

/* Copies array i into its part of the result, whose layout has the arrays' dimensions. */
static int
put_part(lw_device_array *out, const lw_array_layout *part, lw_device_array *from)
{
    lw_device_array *to;
    int failed;

    if (from->size == 0)
        return 0;
    to = lw_array_view_layout(out, part);
    failed = to == NULL || lw_array_copy_same_shape(to, from, lw_device_array_stream(out)) < 0;
    Py_XDECREF(to);
    return failed ? -1 : 0;
}

/* Puts all arrays one behind the other into `out`, along an axis of which each takes `step[i]`.
 * stacked: the axis is not one of theirs. */
static PyObject *
put_all(const joined *j, lw_device_array *out, int axis, bool stacked)
{
    int failed = 0;
    lw_array_layout part = {.ndim = j->ndim};

    if (out == NULL)
        return NULL;
    for (int d = 0, at = 0; d < out->ndim; d++)
        if (!stacked || d != axis)
            part.strides[at++] = out->strides[d];
    for (Py_ssize_t i = 0; i < j->n && !failed; i++) {
        memcpy(part.shape, j->arrays[i]->shape, (size_t)j->ndim * sizeof *part.shape);
        failed = put_part(out, &part, j->arrays[i]);
        part.offset += out->strides[axis] * (stacked ? 1 : j->arrays[i]->shape[axis]);
    }
    if (failed)
        Py_CLEAR(out);
    return (PyObject *)out;
}

static lw_device_array *
new_joined(const joined *j, int ndim, const int64_t *shape)
{
    return lw_device_array_new(j->arrays[0]->device, 0, (lw_dtype)j->arrays[0]->dtype, ndim,
                               shape, 'C');
}

/* Whether there are so many small arrays that a kernel copies several of them at once, which is
 * Python's code: _are_runs() there has the conditions. */
static bool
are_many(const joined *j, const int64_t *shape, int axis)
{
    int64_t size = lw_dtypes[j->arrays[0]->dtype].size_bytes, before = 1, bytes;

    for (int d = 0; d < axis; d++)
        before *= shape[d];
    bytes = size;
    for (int d = 0; d < j->ndim; d++)
        bytes *= shape[d];
    return j->n >= MANY && before == 1 && size >= 4 && bytes <= (int64_t)j->n << 23;
}

static PyObject *
concatenate(const joined *j, int axis)
{
    int64_t shape[LW_INLINE_DIMS];

    for (int d = 0; d < j->ndim; d++) {
        shape[d] = 0;
        for (Py_ssize_t i = 0; i < j->n; i++)
            if (d == axis)
                shape[d] += j->arrays[i]->shape[d];
            else if (j->arrays[i]->shape[d] != j->arrays[0]->shape[d])
                return NULL;
        if (d != axis)
            shape[d] = j->arrays[0]->shape[d];
    }
    if (are_many(j, shape, axis))
        return NULL;
    return put_all(j, new_joined(j, j->ndim, shape), axis, false);
}

static PyObject *
stack(const joined *j, int axis)
{
    int64_t shape[LW_INLINE_DIMS];

    for (Py_ssize_t i = 0; i < j->n; i++)
        if (memcmp(j->arrays[i]->shape, j->arrays[0]->shape, (size_t)j->ndim * sizeof *shape) !=
            0)
            return NULL;
    for (int d = 0; d <= j->ndim; d++)
        shape[d] = d == axis ? j->n : j->arrays[0]->shape[d - (d > axis)];
    return put_all(j, new_joined(j, j->ndim + 1, shape), axis, true);
}

/* Joins what is read of the call; NULL without an exception: it is left. */
typedef PyObject *(*joining)(const call *c, const joined *j);

/* The arrays are held by a tuple until the end: a memory manager runs Python's code, which may
 * take them from the list, as other threads may. */
static PyObject *
join(const call *c, joining run)
{
    PyObject *list = c->n > 0 ? c->args[0] : NULL, *held, *result;
    joined j;

    if (list == NULL || !(PyList_CheckExact(list) || PyTuple_CheckExact(list)) ||
        has_keywords(c))
        return NULL;
    held = PySequence_Tuple(list);
    if (held == NULL)
        return NULL;
    result = read_joined(held, &j) ? run(c, &j) : NULL;
    Py_DECREF(held);
    return result;
}

static PyObject *
join_concatenate(const call *c, const joined *j)
{
    int axis;

    return j->ndim > 0 && read_axis(c, j->ndim, &axis) ? concatenate(j, axis) : NULL;
}

static PyObject *
join_stack(const call *c, const joined *j)
{
    int axis;

    return read_axis(c, j->ndim + 1, &axis) ? stack(j, axis) : NULL;
}

static PyObject *
join_hstack(const call *c, const joined *j)
{
    return c->n == 1 && j->ndim > 0 ? concatenate(j, j->ndim > 1) : NULL;
}

static PyObject *
join_vstack(const call *c, const joined *j)
{
    if (c->n != 1 || j->ndim == 0)
        return NULL;
    return j->ndim > 1 ? concatenate(j, 0) : stack(j, 0);
}

static PyObject *
of_concatenate(const call *c)
{
    return join(c, join_concatenate);
}

static PyObject *
of_stack(const call *c)
{
    return join(c, join_stack);
}

static PyObject *
of_hstack(const call *c)
{
    return join(c, join_hstack);
}

static PyObject *
of_vstack(const call *c)
{
    return join(c, join_vstack);
}

/* ---- arrays like another ---- */

/* The array that is asked for, with the only keyword dtype=; NULL without an exception where
 * there is more to it. */
static lw_device_array *
new_like(const call *c, Py_ssize_t most, PyObject *given_dtype)
{
    const lw_device_array *like = array_at(c, 0);
    PyObject *name, *asked = given_dtype;
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;
    Py_ssize_t at = 0;
    lw_device_array *made;

    if (like == NULL || !like->c_contiguous || like->ndim > LW_INLINE_DIMS || c->n > most ||
        PyDict_GET_SIZE(c->kwargs) > 1)
        return NULL;
    while (PyDict_Next(c->kwargs, &at, &name, &asked))
        if (given_dtype != NULL || PyUnicode_CompareWithASCIIString(name, "dtype") != 0)
            return NULL;
    if (asked == NULL || asked == Py_None)
        return lw_device_array_new_descr(like->device, 0, like->descr, like->ndim, like->shape,
                                         'C');
    if (lw_dtype_read(asked, &dtype, &descr) < 0 || dtype == LW_DT_bf16) {
        PyErr_Clear();
        Py_XDECREF((PyObject *)descr);
        return NULL;
    }
    made = lw_device_array_new_descr(like->device, 0, descr, like->ndim, like->shape, 'C');
    Py_DECREF((PyObject *)descr);
    return made;
}

/* All elements from a number of Python's. Steals array; NULL is passed on. */
static PyObject *
filled(lw_device_array *array, PyObject *value)
{
    lw_operand operand;
    lw_value item;
    int failed;

    if (array == NULL)
        return NULL;
    if (takes_number((lw_dtype)array->dtype, value))
        failed = lw_operand_read(&operand, value) < 0 ||
                 lw_operand_item(&operand, (lw_dtype)array->dtype, &item) < 0 ||
                 lw_array_fill(array, (const char *)item.bytes, 0) < 0;
    else
        failed = lw_array_assign(array, value, NULL) < 0;
    if (failed)
        Py_CLEAR(array);
    return (PyObject *)array;
}

static PyObject *
filled_by(lw_device_array *array, long number)
{
    PyObject *value = array ? PyLong_FromLong(number) : NULL, *result;

    if (value == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    result = filled(array, value);
    Py_DECREF(value);
    return result;
}

static PyObject *
of_empty_like(const call *c)
{
    return (PyObject *)new_like(c, 2, c->n > 1 ? c->args[1] : NULL);
}

static PyObject *
of_zeros_like(const call *c)
{
    return filled_by(new_like(c, 2, c->n > 1 ? c->args[1] : NULL), 0);
}

static PyObject *
of_ones_like(const call *c)
{
    return filled_by(new_like(c, 2, c->n > 1 ? c->args[1] : NULL), 1);
}

static PyObject *
of_full_like(const call *c)
{
    lw_device_array *made;

    if (c->n < 2 || !(PyFloat_CheckExact(c->args[1]) || PyLong_CheckExact(c->args[1])))
        return NULL;
    made = new_like(c, 3, c->n > 2 ? c->args[2] : NULL);
    if (made != NULL && PyFloat_CheckExact(c->args[1]) && lw_is_integer((lw_dtype)made->dtype))
        Py_CLEAR(made); /* NumPy converts it, and warns: Python's code */
    return filled(made, c->args[1]);
}

/* ---- others ---- */

static PyObject *
of_copyto(const call *c)
{
    lw_device_array *to = array_at(c, 0), *from = array_at(c, 1);

    if (c->n != 2 || has_keywords(c) || to == NULL || from == NULL ||
        to->dtype != from->dtype || to->dtype == LW_DT_void || to->device != from->device)
        return NULL;
    return lw_array_assign(to, (PyObject *)from, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
of_dot(const call *c)
{
    const lw_device_array *a = array_at(c, 0), *b = array_at(c, 1);

    if (c->n != 2 || has_keywords(c) || a == NULL || b == NULL || a->device != b->device ||
        a->ndim < 1 || a->ndim > 2 || b->ndim < 1 || b->ndim > 2 ||
        a->shape[a->ndim - 1] != b->shape[0])
        return NULL;
    return PyNumber_MatrixMultiply(c->args[0], c->args[1]);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    shortcut run;
} functions[] = {
#define DEVICE_FUNCTION(name) {#name, of_##name},
#include "core/tables/device_functions.def"
};

PyObject *
lw_array_function(PyObject *function, PyObject *args, PyObject *kwargs)
{
    const call c = {&PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), kwargs};

    for (int i = 0; i < LW_N_DEVICE_FUNCTIONS; i++)
        if (lw_found_in_numpy(&lw_core->found.array_functions[i], functions[i].name) ==
            function)
            return functions[i].run(&c);
    return NULL;
}
