/* The results of a call of a Reduction on the host: new arrays or out=, in the forms that the
 * caller gets, records among them, and the exception that a function has raised. */
#include "core/py/numpy_api.h"

#include "reduce/call_parts_py.h"

#include "core/py/array/whole_array.h"
#include "core/py/float_flags.h"
#include "core/py/raise_row.h"
#include "reduce/form_py.h"
#include "reduce/function/raised.h"

static bool
is_apart(const lw_reduce_call *call, PyArrayObject *out)
{
    for (uint32_t i = 0; i <= call->n_in; i++)
        if (call->in[i] != NULL &&
            lw_memory_spans_overlap(lw_numpy_span(out), lw_numpy_span(call->in[i])))
            return false;
    return true;
}

/* The array given as out= if the only result can be computed in it: what a result of ours would
 * be, and nothing of the operands. NULL: it is copied there, or refused, at the end. */
static PyArrayObject *
usable_out(const lw_reduce_call *call, int ndim, const int64_t *shape)
{
    const lw_reduction *r = call->specialisation->reduction;
    PyArrayObject *out = (PyArrayObject *)call->keywords.out;
    PyArray_Descr *descr = out ? lw_descr_of(r->out[0]) : NULL;

    if (out == NULL || r->n_out != 1 || r->n_raised > 0 || !PyArray_CheckExact(out) ||
        PyArray_NDIM(out) != ndim || !PyArray_ISCARRAY(out) || descr == NULL ||
        !PyArray_EquivTypes(PyArray_DESCR(out), descr))
        return NULL;
    for (int d = 0; d < ndim; d++)
        if (PyArray_DIM(out, d) != shape[d])
            return NULL;
    return is_apart(call, out) ? out : NULL;
}

/* model: has the shape and the order in memory of new arrays; NULL: C order. */
static int
new_results(lw_reduce_call *call, int ndim, const int64_t *shape, PyArrayObject *model)
{
    const lw_reduction *r = call->specialisation->reduction;
    PyArrayObject *out = usable_out(call, ndim, shape);

    if (out != NULL) {
        call->result[0] = (PyArrayObject *)Py_NewRef((PyObject *)out);
        return 0;
    }
    for (uint32_t i = 0; i < r->n_out; i++) {
        PyArray_Descr *descr = lw_descr_of(r->out[i]);
        if (descr == NULL)
            return -1;
        Py_INCREF(descr);
        call->result[i] =
            (PyArrayObject *)(model != NULL
                                  ? PyArray_NewLikeArray(model, NPY_KEEPORDER, descr, 0)
                                  : PyArray_NewFromDescr(&PyArray_Type, descr, ndim,
                                                         (const npy_intp *)shape, NULL, NULL, 0,
                                                         NULL));
        if (call->result[i] == NULL)
            return -1;
    }
    return 0;
}

/* The operand whose order in memory the results of a scan have, as NumPy's; NULL: C order. */
static PyArrayObject *
model_of_scan(const lw_reduce_call *call)
{
    PyArrayObject *first = call->in[0];

    if (call->ndim < 2 || first == NULL || PyArray_NDIM(first) != call->ndim)
        return NULL;
    for (int d = 0; d < call->ndim; d++)
        if (PyArray_DIM(first, d) != call->shape[d])
            return NULL;
    return first;
}

int
lw_reduce_new_scan_results(lw_reduce_call *call)
{
    return new_results(call, call->ndim, call->shape, model_of_scan(call));
}

int
lw_reduce_new_results(lw_reduce_call *call, int ndim, const int64_t *shape)
{
    return new_results(call, ndim, shape, NULL);
}

int
lw_reduce_refuse_shape(PyObject *out, PyObject *result)
{
    PyObject *came = PyObject_GetAttrString(out, "shape");
    PyObject *wanted = PyObject_GetAttrString(result, "shape");

    if (came != NULL && wanted != NULL)
        PyErr_Format(PyExc_ValueError, "out= has shape %R, but the result has %.200R", came,
                     wanted);
    Py_XDECREF(came);
    Py_XDECREF(wanted);
    return -1;
}

int
lw_reduce_refuse_dtype(PyArray_Descr *out, PyArray_Descr *result, uint32_t n_in,
                       PyArray_Descr *array)
{
    PyErr_Format(
        PyExc_TypeError,
        "out= has dtype %.200R, which cannot take results of %.200R; the %sarray is of "
        "%.200R",
        out, result, n_in == 1 ? "" : "first ", array);
    return -1;
}

static int
put_out(lw_reduce_call *call, PyObject *out, uint32_t which)
{
    PyArrayObject *result = call->result[which];

    if (out == (PyObject *)result) /* it was computed there */
        return 0;
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError, "out= must be an ndarray, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    if (PyArray_FailUnlessWriteable((PyArrayObject *)out, "out=") < 0)
        return -1;
    if (!PyArray_SAMESHAPE((PyArrayObject *)out, result))
        return lw_reduce_refuse_shape(out, (PyObject *)result);
    if (!PyArray_CanCastTypeTo(PyArray_DESCR(result), PyArray_DESCR((PyArrayObject *)out),
                               NPY_SAME_KIND_CASTING))
        return lw_reduce_refuse_dtype(PyArray_DESCR((PyArrayObject *)out),
                                      PyArray_DESCR(result), call->n_in,
                                      PyArray_DESCR(call->in[0]));
    if (PyArray_CopyInto((PyArrayObject *)out, result) < 0)
        return -1;
    Py_SETREF(call->result[which], (PyArrayObject *)Py_NewRef(out));
    return 0;
}

static int
put_outs(lw_reduce_call *call)
{
    uint32_t n = lw_reduce_form_arrays(&call->specialisation->reduction->out_form);
    PyObject *out = call->keywords.out;

    if (out == NULL || out == Py_None)
        return 0;
    if (!PyTuple_Check(out))
        return n == 1 ? put_out(call, out, 0)
                      : (PyErr_Format(PyExc_TypeError, "out= must be a tuple of %u arrays",
                                      (unsigned)n),
                         -1);
    if (PyTuple_GET_SIZE(out) != (Py_ssize_t)n) {
        PyErr_Format(PyExc_ValueError, "out= has %zd arrays, but there are %u results",
                     PyTuple_GET_SIZE(out), (unsigned)n);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (PyTuple_GET_ITEM(out, i) != Py_None &&
            put_out(call, PyTuple_GET_ITEM(out, i), i) < 0)
            return -1;
    return 0;
}

/* ---- records among the results ---- */

static int
keep_number(void *context, uint32_t to, uint32_t from)
{
    lw_reduce_call *call = context;
    PyArrayObject *array = call->result[from];

    call->result[from] = NULL;
    call->result[to] = array;
    return 0;
}

static int
put_number(PyArrayObject *records, int64_t offset, PyArrayObject *number)
{
    PyArray_Descr *descr = PyArray_DESCR(number);
    PyObject *view;
    int result = -1;

    Py_INCREF(descr);
    view = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(records),
                                PyArray_DIMS(records), PyArray_STRIDES(records),
                                PyArray_BYTES(records) + offset, NPY_ARRAY_WRITEABLE, NULL);
    if (view != NULL)
        result = PyArray_CopyInto((PyArrayObject *)view, number);
    Py_XDECREF(view);
    return result;
}

static int
make_record(void *context, uint32_t to, PyArray_Descr *descr, uint32_t from, uint32_t n,
            const int64_t *offset)
{
    lw_reduce_call *call = context;
    PyArrayObject *first = call->result[from], *made;
    int result = 0;

    Py_INCREF(descr);
    made = (PyArrayObject *)PyArray_Zeros(PyArray_NDIM(first), PyArray_DIMS(first), descr, 0);
    if (made == NULL)
        return -1;
    for (uint32_t k = 0; k < n && result == 0; k++)
        result = put_number(made, offset[k], call->result[from + k]);
    for (uint32_t k = 0; k < n; k++)
        Py_CLEAR(call->result[from + k]);
    call->result[to] = made;
    return result;
}

/* As the class of an operand shows the result, like NumPy's reductions. Steals result. */
static PyObject *
wrapped(PyObject *wraps, PyArrayObject *result)
{
    PyObject *is_scalar = PyArray_NDIM(result) == 0 ? Py_True : Py_False;
    PyObject *made =
        PyObject_CallMethod(wraps, "__array_wrap__", "OOO", result, Py_None, is_scalar);

    if (made == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* classes written for NumPy 1 do not take the last argument */
        made = PyObject_CallMethod(wraps, "__array_wrap__", "OO", result, Py_None);
    }
    Py_DECREF(result);
    return made;
}

/* Gives up the call's reference. */
static PyObject *
one_result(void *context, uint32_t i)
{
    lw_reduce_call *call = context;
    PyArrayObject *result = call->result[i];
    bool given = call->keywords.keeps_arrays ||
                 (call->keywords.out != NULL && call->keywords.out != Py_None);
    PyObject *view;

    call->result[i] = NULL;
    if (!given && call->stand_in == NULL && call->wraps != NULL)
        return wrapped(call->wraps, result);
    if (given || call->stand_in == NULL)
        return given ? (PyObject *)result : PyArray_Return(result);
    view = PyArray_View(result, NULL, Py_TYPE(call->stand_in));
    Py_DECREF(result);
    return view;
}

int
lw_reduce_raise(const lw_reduction *r, PyArrayObject *const *numbers)
{
    const int32_t *status = PyArray_DATA(numbers[0]);
    npy_intp n = PyArray_SIZE(numbers[0]);
    lw_raise_place place = {.kind = LW_AT_CALL};

    for (npy_intp at = 0; at < n; at++) {
        if (status[at] == 0)
            continue;
        for (uint32_t i = 1; i < r->n_raised; i++)
            place.words[i - 1] = ((const uint64_t *)PyArray_DATA(numbers[i]))[at];
        return lw_raise_at(lw_reduce_raised_row(r, status[at]), &place);
    }
    return 0;
}

PyObject *
lw_reduce_hand_out(lw_reduce_call *call)
{
    const lw_reduction *r = call->specialisation->reduction;
    static const lw_reduce_packing packing = {.number = keep_number, .record = make_record};

    if (r->n_raised && lw_reduce_raise(r, call->result + lw_reduce_n_results(r)) < 0)
        return NULL;
    if (lw_give_float_flags(call->method, call->flags) < 0 ||
        lw_reduce_pack(call, &packing, call) < 0 || put_outs(call) < 0)
        return NULL;
    return lw_reduce_arrange(&r->out_form, one_result, call);
}
