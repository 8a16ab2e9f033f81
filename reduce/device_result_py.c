/* Results of calls on device arrays: new arrays, or out= where it can be written at once;
 * records put together; what the caller gets. */
#include "core/py/numpy_api.h"

#include "core/py/array/args.h"
#include "core/py/raise.h"
#include "reduce/device_parts_py.h"
#include "reduce/form_py.h"

#include <string.h>

typedef lw_reduce_device device_call;

/* ---- where results go ---- */

static PyObject *
out_at(const device_call *d, uint32_t i)
{
    const lw_reduction *r = d->call->specialisation->reduction;
    PyObject *out = i < lw_reduce_n_results(r) ? d->call->keywords.out : NULL;

    if (out != NULL && PyTuple_Check(out))
        out = PyTuple_GET_ITEM(out, i);
    return out == Py_None ? NULL : out;
}

static bool
stands_alone(const device_call *d, uint32_t i, const lw_device_array *out)
{
    lw_memory_span span = lw_device_array_span(out);

    for (uint32_t k = 0; k < d->n_read; k++)
        if (lw_memory_spans_overlap(span, lw_operand_span(&d->operand[k])))
            return false;
    for (uint32_t k = 0; k < i; k++)
        if (lw_memory_spans_overlap(span, lw_device_array_span(d->result[k])))
            return false;
    return true;
}

/* Whether the kernel can write its results there. put_out tells whatever is wrong with
 * out=. */
static bool
can_be_result(const device_call *d, uint32_t i, const lw_device_array *out, int ndim,
              const int64_t *shape)
{
    const lw_reduction *r = d->call->specialisation->reduction;

    return out != NULL && lw_reduce_form_arrays(&r->out_form) == lw_reduce_n_results(r) &&
           out->dtype == (uint8_t)r->out[i] && !out->readonly && out->device == d->device &&
           out->c_contiguous && !out->misaligned && out->ndim == ndim &&
           memcmp(out->shape, shape, (size_t)ndim * sizeof *shape) == 0 &&
           stands_alone(d, i, out);
}

/* What out= gave as one of our arrays, a view of other libraries'. A new reference, or NULL:
 * there is none, or with an exception. */
static lw_device_array *
out_array(PyObject *object)
{
    if (object == NULL || !lw_is_device_operand(object))
        return NULL;
    if (lw_is_device_array(object))
        return (lw_device_array *)Py_NewRef(object);
    return lw_operand_as_array(object);
}

static lw_device_array *
new_result(device_call *d, uint32_t i, int ndim, const int64_t *shape)
{
    lw_device_array *out = out_array(out_at(d, i));
    lw_error err = {0};

    if (out == NULL && PyErr_Occurred())
        return NULL;
    if (!can_be_result(d, i, out, ndim, shape)) {
        Py_XDECREF(out);
        return lw_device_array_new(
            d->device, d->stream, d->call->specialisation->reduction->out[i], ndim, shape, 'C');
    }
    if (lw_device_array_use(out, d->stream, &err) != LW_OK) {
        Py_DECREF(out);
        return (lw_device_array *)lw_py_raise(&err);
    }
    d->in_out[i] = true;
    return out;
}

int
lw_reduce_device_results(device_call *d, int ndim, const int64_t *shape)
{
    for (uint32_t i = 0; i < d->call->specialisation->reduction->n_out; i++) {
        d->result[i] = new_result(d, i, ndim, shape);
        if (d->result[i] == NULL)
            return -1;
    }
    return 0;
}

/* ---- out= ---- */

int
lw_reduce_check_out_count(const device_call *d)
{
    PyObject *out = d->call->keywords.out;
    uint32_t n = lw_reduce_form_arrays(&d->call->specialisation->reduction->out_form);

    if (out == NULL || out == Py_None || (n == 1 && !PyTuple_Check(out)) ||
        (PyTuple_Check(out) && PyTuple_GET_SIZE(out) == (Py_ssize_t)n))
        return 0;
    PyErr_Format(PyExc_TypeError, "out= must be a tuple of %u arrays", (unsigned)n);
    return -1;
}

static int
refuse_dtype(const device_call *d, const lw_device_array *out, const lw_device_array *result)
{
    const lw_operand *first = &d->operand[0];
    PyArray_Descr *descr = first->descr ? first->descr : lw_descr_of((lw_dtype)first->dtype);

    return descr ? lw_reduce_refuse_dtype(out->descr, result->descr, d->call->n_in, descr) : -1;
}

static int
check_out(const device_call *d, lw_device_array *out, lw_device_array *result)
{
    bool same = out->ndim == result->ndim;

    for (int a = 0; same && a < out->ndim; a++)
        same = out->shape[a] == result->shape[a];
    if (!same)
        return lw_reduce_refuse_shape((PyObject *)out, (PyObject *)result);
    if (out->readonly) {
        PyErr_SetString(PyExc_ValueError, "out= is read-only");
        return -1;
    }
    if (out->device != result->device)
        return lw_operand_refuse_devices(lw_reducer_name(d->call->self),
                                         (lw_located){"the array", result->device},
                                         (lw_located){"out=", out->device});
    if (result->dtype == LW_DT_void || out->dtype == LW_DT_void
            ? !PyArray_EquivTypes(out->descr, result->descr)
            : !lw_can_cast_same_kind((lw_dtype)result->dtype, (lw_dtype)out->dtype))
        return refuse_dtype(d, out, result);
    return 0;
}

/* The result is made apart, so that out= may be part of an operand. */
static int
put_out(device_call *d, uint32_t i, PyObject *object)
{
    lw_device_array *out;
    lw_error err = {0};
    int status = -1;

    if (!lw_is_device_operand(object)) {
        PyErr_Format(PyExc_TypeError,
                     "out= must be a device array when an operand is one, not "
                     "%.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    out = out_array(object);
    if (out != NULL && check_out(d, out, d->result[i]) == 0) {
        if (lw_device_array_use(out, d->stream, &err) != LW_OK)
            lw_py_raise(&err);
        else if (out->size == 0 ||
                 lw_device_array_hooks.copy_strided(out, d->result[i], d->stream) == 0)
            status = 0;
    }
    Py_XDECREF(out);
    return status;
}

/* ---- what the caller gets ---- */

/* What out= gave, written: later work of another library on it waits. */
static PyObject *
written_out(const device_call *d, PyObject *object)
{
    lw_operand operand;
    lw_error err = {0};
    lw_status status;

    if (lw_is_device_array(object))
        return Py_NewRef(object);
    if (lw_operand_look(&operand, object) < 0)
        return NULL;
    status = lw_operand_done(&operand, d->stream, &err);
    lw_operand_release(&operand);
    return status == LW_OK ? Py_NewRef(object) : lw_py_raise(&err);
}

static PyObject *
take_result(void *context, uint32_t i)
{
    device_call *d = context;
    lw_device_array *made = d->result[i];
    PyObject *out = out_at(d, i);

    if (out != NULL)
        return d->in_out[i] || put_out(d, i, out) == 0 ? written_out(d, out) : NULL;
    d->result[i] = NULL;
    return d->operand[0].library == LW_LIB_OWN || made->dtype == LW_DT_void
               ? (PyObject *)made
               : lw_result_wrap(&d->operand[0], made);
}

static int
keep_number(void *context, uint32_t to, uint32_t from)
{
    device_call *d = context;
    lw_device_array *array = d->result[from];

    d->result[from] = NULL;
    d->result[to] = array;
    return 0;
}

static int
put_number(device_call *d, lw_device_array *records, int64_t offset, lw_device_array *number)
{
    lw_device_array *view;
    int result = -1;

    if (records->size == 0)
        return 0;
    view = lw_device_array_over(d->device, d->stream, records->data + (CUdeviceptr)offset,
                                (lw_dtype)number->dtype, NULL, records->ndim, records->shape,
                                records->strides, false, (PyObject *)records);
    if (view != NULL)
        result = lw_device_array_hooks.copy_strided(view, number, d->stream);
    Py_XDECREF(view);
    return result;
}

static int
make_record(void *context, uint32_t to, PyArray_Descr *descr, uint32_t from, uint32_t n,
            const int64_t *offset)
{
    device_call *d = context;
    lw_device_array *first = d->result[from];
    lw_device_array *made =
        lw_device_array_new_descr(d->device, d->stream, descr, first->ndim, first->shape, 'C');
    int result = 0;

    if (made == NULL)
        return -1;
    for (uint32_t k = 0; k < n && result == 0; k++)
        result = put_number(d, made, offset[k], d->result[from + k]);
    for (uint32_t k = 0; k < n; k++)
        Py_CLEAR(d->result[from + k]);
    d->result[to] = made;
    return result;
}

/* Waits for the kernel: a copy of what it raised has to be on the host. */
static int
look_at_raised(device_call *d)
{
    const lw_reduction *r = d->call->specialisation->reduction;
    uint32_t first = lw_reduce_n_results(r);
    PyArrayObject *numbers[LW_REDUCE_MOST] = {NULL};
    int result = 0;

    for (uint32_t i = 0; i < r->n_raised && result == 0; i++) {
        numbers[i] = (PyArrayObject *)PyObject_CallMethod((PyObject *)d->result[first + i],
                                                          "copy_to_host", NULL);
        result = numbers[i] ? 0 : -1;
        Py_CLEAR(d->result[first + i]);
    }
    if (result == 0)
        result = lw_reduce_raise(r, numbers);
    for (uint32_t i = 0; i < r->n_raised; i++)
        Py_XDECREF(numbers[i]);
    return result;
}

PyObject *
lw_reduce_device_hand_out(device_call *d)
{
    static const lw_reduce_packing packing = {.number = keep_number, .record = make_record};

    if (d->call->specialisation->reduction->n_raised && look_at_raised(d) < 0)
        return NULL;
    if (lw_reduce_pack(d->call, &packing, d) < 0)
        return NULL;
    return lw_reduce_arrange(&d->call->specialisation->reduction->out_form, take_result, d);
}
