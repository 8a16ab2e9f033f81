/* target="cuda" on host arrays: the same call on device copies. Outputs that are given are
 * copied to the device too where what the call does not write stays. */
#include "core/front/read/python.h"
#include "core/py/numpy/device_call.h"

#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/ufunc_choose.h"

enum { MOST_ARGUMENTS = LW_LOOP_OPERANDS + 16 };

static bool
has_device(PyObject *object)
{
    if (object == NULL || !PyTuple_Check(object))
        return object != NULL && lw_is_device_operand(object);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (lw_is_device_operand(PyTuple_GET_ITEM(object, i)))
            return true;
    return false;
}

bool
lw_device_call_is_hosted(const lw_device_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (call->self->options.target != LW_CHOOSE_CUDA || has_device(call->out) ||
        (call->extra != NULL && call->extra->some_given_there))
        return false;
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (has_device(args[i]))
            return false;
    return true;
}

static bool
is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyBool_Check(object) ||
           PyArray_IsScalar(object, Generic);
}

/* Of a call on numbers only, the one that becomes an array: the first that is not weak, for an
 * array's dtype is strong. -1: there are arrays. */
static int
number_to_copy(const lw_device_call *call, PyObject *const *args)
{
    int n = lw_ufunc_shown_inputs(call->self);
    int first_strong = -1;

    for (int i = 0; i < n; i++) {
        if (!is_number(args[i]))
            return -1;
        if (first_strong < 0 && (PyBool_Check(args[i]) || PyArray_IsScalar(args[i], Generic)))
            first_strong = i;
    }
    return first_strong < 0 ? 0 : first_strong;
}

/* The number that becomes an array. If all operands are Python numbers, and no signature takes
 * what they are by themselves, it has the dtype of the signature that takes them. A new
 * reference. */
static PyObject *
array_of_number(const lw_device_call *call, PyObject *const *args, int number)
{
    char weak[LW_UFUNC_OPERANDS];
    const lw_loop_head *loop;

    for (int i = 0; i < call->self->nin; i++)
        weak[i] = lw_weak_kind(args[i]);
    loop = lw_loops_of_numbers(call->self, weak);
    return loop ? lw_number_in(args[number], loop->types[number])
                : PyArray_FROM_O(args[number]);
}

/* Steals host; NULL is passed on. */
static PyObject *
copy_of_host(const lw_device_call *call, PyObject *host)
{
    PyObject *copy = NULL;

    if (host != NULL)
        copy = (PyObject *)lw_device_array_from_host((PyArrayObject *)host, call->device,
                                                     call->stream);
    Py_XDECREF(host);
    return copy;
}

static PyObject *
copy_of(const lw_device_call *call, PyObject *object)
{
    return copy_of_host(call, PyArray_FROM_O(object));
}

/* Whether the call writes every element of its outputs. */
static bool
is_overwritten(const lw_device_call *call)
{
    return call->self->kind->device->is_elementwise &&
           (call->where == NULL || call->where == Py_True);
}

/* Whether the output has a dtype that kernels do not have ('>f8'): where it is written wholly,
 * NumPy casts the result into it. */
static bool
is_delivered(const lw_device_call *call, PyObject *object)
{
    return is_overwritten(call) && PyArray_Check(object) &&
           lw_dtype_of_descr(PyArray_DESCR((PyArrayObject *)object)) == LW_DT_void;
}

/* An output of the call: None stays; anything but a writable host array is refused. */
static PyObject *
copy_of_output(const lw_device_call *call, PyObject *object)
{
    PyArrayObject *host = (PyArrayObject *)object;

    if (object == Py_None)
        return Py_NewRef(object);
    if (!PyArray_Check(object)) {
        PyErr_Format(PyExc_TypeError, "return arrays must be of ArrayType, not %.200s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    if (PyArray_FailUnlessWriteable(host, "output array") < 0)
        return NULL;
    if (is_delivered(call, object)) /* the result is made anew */
        return Py_NewRef(Py_None);
    if (is_overwritten(call))
        return (PyObject *)lw_device_array_new_descr(call->device, call->stream,
                                                     PyArray_DESCR(host), PyArray_NDIM(host),
                                                     (const int64_t *)PyArray_DIMS(host), 'C');
    return copy_of(call, object);
}

static PyObject *
copy_of_out(const lw_device_call *call, PyObject *out)
{
    PyObject *tuple;

    if (out == Py_Ellipsis)
        return Py_NewRef(out);
    if (!PyTuple_Check(out))
        return copy_of_output(call, out);
    tuple = PyTuple_New(PyTuple_GET_SIZE(out));
    for (Py_ssize_t i = 0; tuple != NULL && i < PyTuple_GET_SIZE(out); i++)
        lw_tuple_put(&tuple, i, copy_of_output(call, PyTuple_GET_ITEM(out, i)));
    return tuple;
}

/* Arguments of the call that was made: positional ones, then the keywords'. */
typedef struct arguments {
    PyObject *const *values;
    Py_ssize_t n;
    PyObject *kwnames;
    PyObject *out; /* out=, or NULL */
    int number;    /* the input that becomes an array though it is a number, or -1 */
} arguments;

/* One argument on the device; numbers stay numbers. */
static PyObject *
moved(const lw_device_call *call, const arguments *given, Py_ssize_t i)
{
    PyObject *value = given->values[i];

    if (i < call->self->nin && i == given->number)
        return copy_of_host(call, array_of_number(call, given->values, given->number));
    if (i < call->self->nin)
        return is_number(value) ? Py_NewRef(value) : copy_of(call, value);
    if (i < given->n)
        return copy_of_output(call, value);
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(given->kwnames, i - given->n),
                                         "out") == 0)
        return copy_of_out(call, value);
    return Py_NewRef(value);
}

/* The output given for this place, borrowed, or NULL. */
static PyObject *
given_output(const lw_device_call *call, const arguments *given, int which)
{
    PyObject *object = NULL;

    if (given->n > call->self->nin + which)
        object = given->values[call->self->nin + which];
    else if (given->out != NULL && PyTuple_Check(given->out))
        object = PyTuple_GET_ITEM(given->out, which);
    else if (given->out != Py_Ellipsis)
        object = given->out;
    return object == Py_None ? NULL : object;
}

/* Into an array of a dtype that kernels do not have, by NumPy's casting rule. -1 with an
 * exception. */
static int
deliver(const lw_device_call *call, PyArrayObject *to, PyArrayObject *from)
{
    static const char *const rules[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;

    if (call->casting != NULL && PyArray_CastingConverter(call->casting, &rule) != NPY_SUCCEED)
        return -1;
    if (PyArray_NDIM(to) != PyArray_NDIM(from) ||
        !PyArray_CompareLists(PyArray_DIMS(to), PyArray_DIMS(from), PyArray_NDIM(to))) {
        PyErr_SetString(PyExc_ValueError, "non-broadcastable output operand: out must have the "
                                          "shape that the inputs broadcast to");
        return -1;
    }
    if (!PyArray_CanCastArrayTo(from, PyArray_DESCR(to), rule)) {
        PyErr_Format(PyExc_TypeError,
                     "cannot cast the result from %.200R to %.200R by casting='%s'",
                     PyArray_DESCR(from), PyArray_DESCR(to), rules[rule]);
        return -1;
    }
    return PyArray_CopyInto(to, from);
}

static PyObject *
bring_back(const lw_device_call *call, PyObject *device, const arguments *given, int which)
{
    PyObject *out = given_output(call, given, which);
    PyArrayObject *host =
        (PyArrayObject *)lw_device_array_to_host((lw_device_array *)device, call->stream);
    int failed;

    if (host == NULL)
        return NULL;
    if (out == NULL)
        return given->out == Py_Ellipsis ? (PyObject *)host : PyArray_Return(host);
    failed = is_delivered(call, out) ? deliver(call, (PyArrayObject *)out, host)
                                     : PyArray_CopyInto((PyArrayObject *)out, host);
    Py_DECREF(host);
    return failed < 0 ? NULL : Py_NewRef(out);
}

static PyObject *
bring_all_back(const lw_device_call *call, PyObject *device, const arguments *given)
{
    int nout = call->self->nout;
    PyObject *tuple;

    if (nout == 1)
        return bring_back(call, device, given, 0);
    if (nout == 0)
        Py_RETURN_NONE;
    tuple = PyTuple_New(nout);
    for (int i = 0; tuple != NULL && i < nout; i++)
        lw_tuple_put(&tuple, i, bring_back(call, PyTuple_GET_ITEM(device, i), given, i));
    return tuple;
}

/* Inputs that the call writes to, back to where they came from. -1 with an exception. */
static int
bring_inputs_back(const lw_device_call *call, PyObject *const *device, PyObject *const *host)
{
    const lw_device_door *door = call->self->kind->device;

    for (int i = 0; i < lw_ufunc_shown_inputs(call->self) && door->writes != NULL; i++) {
        PyObject *back;
        int failed;
        if (call->resolution == NULL || !door->writes(call, i) || !PyArray_Check(host[i]))
            continue;
        if (PyArray_FailUnlessWriteable((PyArrayObject *)host[i], "input array") < 0)
            return -1;
        back = (PyObject *)lw_device_array_to_host((lw_device_array *)device[i], call->stream);
        failed = back ? PyArray_CopyInto((PyArrayObject *)host[i], (PyArrayObject *)back) : -1;
        Py_XDECREF(back);
        if (failed < 0)
            return -1;
    }
    return 0;
}

PyObject *
lw_device_call_hosted(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), done = 0;
    const lw_device_door *door = call->self->kind->device;
    arguments given = {args, n_args, kwnames, call->out, -1};
    lw_extra_arrays *extra = call->extra;
    PyObject *values[MOST_ARGUMENTS], *device = NULL, *result = NULL;

    if (n > MOST_ARGUMENTS) {
        PyErr_Format(PyExc_TypeError, "%s() got %zd arguments", door->name(call->self), n);
        return NULL;
    }
    if (call->stream_object && lw_stream_read(call->stream_object, &call->stream) < 0)
        return NULL;
    if (call->device == NULL)
        call->device = lw_current_device();
    if (call->device == NULL)
        return NULL;
    if (door->is_elementwise)
        given.number = number_to_copy(call, args);
    while (done < n && (values[done] = moved(call, &given, done)) != NULL)
        done++;
    if (done == n &&
        lw_device_call_begin(call, call->self, values, n_args, kwnames, extra) == 0)
        device = lw_device_call_finish(call, values, n_args);
    if (device != NULL && bring_inputs_back(call, values, args) == 0)
        result = bring_all_back(call, device, &given);
    Py_XDECREF(device);
    while (done > 0)
        Py_DECREF(values[--done]);
    return result;
}
