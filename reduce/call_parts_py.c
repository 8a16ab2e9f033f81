/* The operands of a call of a Reduction: arrays, dtype=, where=, axes and initial=, and the job
 * that they make. */
#include "core/py/numpy_api.h"

#include "reduce/call_parts_py.h"

#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/array/host_view.h"
#include "reduce/form_py.h"

#include <string.h>

/* ---- operands ---- */

/* lanewise.reductions.max is made of `_maximum`, which NumPy's texts call maximum. */
static const char *
shown_name(const lw_reducer *self)
{
    const char *name = lw_reducer_name(self), *shown = name + strspn(name, "_");

    return *shown ? shown : name;
}

static PyArrayObject *
as_array(PyObject *object, PyArray_Descr *descr)
{
    return (PyArrayObject *)PyArray_CheckFromAny(
        object, descr, 0, 0, NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED, NULL);
}

static int
cannot_broadcast(const lw_reduce_call *call, int ndim, const int64_t *shape, const char *what)
{
    PyObject *have = PyArray_IntTupleFromIntp(call->ndim, (const npy_intp *)call->shape);
    PyObject *came = PyArray_IntTupleFromIntp(ndim, (const npy_intp *)shape);

    if (have != NULL && came != NULL)
        PyErr_Format(PyExc_ValueError, "%s of shape %R cannot be broadcast to %.200R", what,
                     came, have);
    Py_XDECREF(have);
    Py_XDECREF(came);
    return -1;
}

int
lw_reduce_broadcast(lw_reduce_call *call, int ndim, const int64_t *shape)
{
    int shift;

    if (ndim > call->ndim) {
        shift = ndim - call->ndim;
        memmove(call->shape + shift, call->shape, (size_t)call->ndim * sizeof *call->shape);
        for (int d = 0; d < shift; d++)
            call->shape[d] = 1;
        call->ndim = ndim;
    }
    for (int d = 0; d < ndim; d++) {
        int64_t size = shape[d], *have = &call->shape[call->ndim - ndim + d];
        if (*have == 1)
            *have = size;
        else if (size != 1 && size != *have)
            return cannot_broadcast(call, ndim, shape, "an operand");
    }
    return 0;
}

int
lw_reduce_check_mask(const lw_reduce_call *call, int ndim, const int64_t *shape)
{
    for (int d = 0; d < ndim; d++) {
        int64_t size = shape[d];
        if (ndim > call->ndim || (size != 1 && size != call->shape[call->ndim - ndim + d]))
            return cannot_broadcast(call, ndim, shape, "where=");
    }
    return 0;
}

int
lw_reduce_read_dtype(lw_reduce_call *call)
{
    PyArray_Descr *descr = NULL;

    call->dtype = LW_DT_void;
    if (call->keywords.dtype == NULL || call->keywords.dtype == Py_None)
        return 0;
    if (!PyArray_DescrConverter(call->keywords.dtype, &descr))
        return -1;
    call->dtype = lw_dtype_of_descr(descr);
    if (call->dtype == LW_DT_void)
        PyErr_Format(PyExc_TypeError,
                     "dtype= must be a type that kernels compute in, not %.200R", descr);
    Py_DECREF(descr);
    return call->dtype == LW_DT_void ? -1 : 0;
}

int
lw_reduce_check_times(const lw_reduce_call *call, Py_ssize_t n)
{
    if (call->dtype == LW_DT_void || call->dtype == LW_DT_b1 || lw_is_time(call->dtype))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        lw_dtype given = call->array[i].dtype;
        if (!lw_is_time(given))
            continue;
        PyErr_Format(
            PyExc_TypeError,
            "dtype=%s of `%s`: argument %zd has elements of %s, which are not numbers; "
            "pass a.astype(\"i8\"), or leave dtype= out",
            lw_dtypes[call->dtype].public_name, lw_reducer_name(call->self), i + 1,
            lw_dtypes[given].public_name);
        return -1;
    }
    return 0;
}

int
lw_reduce_warn_of_complex(const lw_reduce_call *call, Py_ssize_t n)
{
    Py_ssize_t i = 0;

    while (i < n && !lw_is_complex(call->array[i].dtype))
        i++;
    return i < n ? lw_warn_of_complex(call->array[i].dtype, call->dtype) : 0;
}

int
lw_reduce_check_count(const lw_reduce_call *call, Py_ssize_t n)
{
    uint32_t wanted = lw_reducer_n_arrays(call->self);

    if (n > 0 && n <= LW_REDUCE_MOST && (wanted == 0 || n == (Py_ssize_t)wanted))
        return 0;
    if (wanted == 0)
        PyErr_Format(PyExc_TypeError, "`%s` reduces 1 to %d arrays, not %zd",
                     lw_reducer_name(call->self), LW_REDUCE_MOST, n);
    else if (wanted > LW_REDUCE_MOST)
        PyErr_Format(PyExc_TypeError,
                     "`%s` cannot be called: its map takes %u arrays; expected at most %d",
                     lw_reducer_name(call->self), (unsigned)wanted, LW_REDUCE_MOST);
    else
        PyErr_Format(PyExc_TypeError,
                     "`%s` reduces %u array%s (its map takes %s), but %zd were given",
                     lw_reducer_name(call->self), (unsigned)wanted, wanted == 1 ? "" : "s",
                     wanted == 1 ? "one" : "so many", n);
    return -1;
}

/* lanewise/_host_cuda.py's HostArray: results are such arrays too, also of no dimension. */
static bool
stands_for_device(PyObject *object)
{
    return PyArray_Check(object) && !PyArray_CheckExact(object) &&
           PyObject_HasAttrString((PyObject *)Py_TYPE(object), "copy_to_host");
}

/* One number of every record. Steals nothing. */
static PyArrayObject *
number_of(PyArrayObject *array, lw_dtype dtype, int64_t offset)
{
    PyArray_Descr *descr = lw_descr_of(dtype);
    PyObject *view = NULL, *aligned = NULL;

    Py_XINCREF(descr);
    if (descr != NULL)
        view = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array),
                                    PyArray_DIMS(array), PyArray_STRIDES(array),
                                    PyArray_BYTES(array) + offset, 0, NULL);
    if (view != NULL &&
        PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef((PyObject *)array)) == 0)
        aligned = (PyObject *)as_array(view, NULL);
    Py_XDECREF(view);
    return (PyArrayObject *)aligned;
}

static int
take_numbers(lw_reduce_call *call, uint32_t i, PyArrayObject *array)
{
    lw_dtype dtype[LW_REDUCE_MOST];
    int64_t offset[LW_REDUCE_MOST];
    uint32_t n = lw_reduce_take_dtype(call, i, PyArray_DESCR(array), dtype, offset);

    for (uint32_t k = 0; k < n; k++) {
        call->in[call->n_in] = call->array[i].record ? number_of(array, dtype[k], offset[k])
                                                     : (PyArrayObject *)Py_NewRef(array);
        if (call->in[call->n_in++] == NULL)
            return -1;
    }
    return n > 0 ? lw_reduce_broadcast(call, PyArray_NDIM(array),
                                       (const int64_t *)PyArray_DIMS(array))
                 : -1;
}

static int
refuse_container(const lw_reduce_call *call, uint32_t i, PyObject *object)
{
    int masked;
    char what[128];

    if (PyArray_CheckExact(object))
        return 0;
    masked = lw_is_masked_array(object);
    PyOS_snprintf(what, sizeof what, "%.90s: argument %u", shown_name(call->self),
                  (unsigned)i + 1);
    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s: argument %u is a masked array, whose mask compiled code would "
                     "ignore; pass its .data, and where=~x.mask",
                     shown_name(call->self), (unsigned)i + 1);
    return masked ? -1 : lw_refuse_container(object, true, what);
}

static bool
is_python_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object);
}

/* Clears what says that an operand is no array, which is told of where it is read; but not an
 * interrupt, or that memory ran out. */
static void
clear_unless_it_ends_the_call(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) &&
        !PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear();
}

/* The dtype of a device array; new reference. NULL: it has none of numbers, or there is an
 * exception. */
static PyObject *
device_dtype(PyObject *object)
{
    PyObject *descr = NULL;
    lw_operand operand;

    if (lw_operand_look(&operand, object) == 0) {
        if (operand.dtype != LW_DT_void)
            descr = Py_XNewRef((PyObject *)lw_descr_of((lw_dtype)operand.dtype));
        lw_operand_release(&operand);
    }
    clear_unless_it_ends_the_call();
    return descr;
}

/* A dtype of numbers that counts beside Python's; new reference. NULL: there is none, or an
 * exception. */
static PyObject *
strong_dtype(PyObject *object)
{
    PyArrayObject *array;
    PyObject *descr = NULL;

    if (lw_is_device_operand(object))
        return device_dtype(object);
    array = is_python_number(object) ? NULL : as_array(object, NULL);
    if (array != NULL && (PyArray_ISNUMBER(array) || PyArray_ISBOOL(array)))
        descr = Py_NewRef((PyObject *)PyArray_DESCR(array));
    Py_XDECREF(array);
    if (array == NULL)
        clear_unless_it_ends_the_call();
    return descr;
}

/* As in NumPy's functions, a Python number has the precision of the arrays beside it, and of
 * dtype=. The dtype is a new reference; NULL without an exception: its own. */
static PyArray_Descr *
weak_dtype(const lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n, PyObject *number)
{
    PyObject *module = NULL, *all = PyList_New(0), *items = NULL, *result = NULL, *one;
    PyObject *said = call->dtype == LW_DT_void /* borrowed */
                         ? NULL
                         : (PyObject *)lw_descr_of(call->dtype);

    if (all == NULL || (said != NULL && PyList_Append(all, said) < 0))
        goto done;
    for (Py_ssize_t i = 0; i < n; i++) {
        one = strong_dtype(arrays[i]);
        if (one == NULL && PyErr_Occurred())
            goto done;
        if (one != NULL && PyList_Append(all, one) < 0) {
            Py_DECREF(one);
            goto done;
        }
        Py_XDECREF(one);
    }
    if (PyList_GET_SIZE(all) == 0 || PyList_Append(all, number) < 0)
        goto done;
    module = PyImport_ImportModule("numpy");
    items = module ? PyList_AsTuple(all) : NULL;
    one = items ? PyObject_GetAttrString(module, "result_type") : NULL;
    result = one ? PyObject_CallObject(one, items) : NULL;
    Py_XDECREF(one);
done:
    Py_XDECREF(all);
    Py_XDECREF(module);
    Py_XDECREF(items);
    return (PyArray_Descr *)result;
}

PyArrayObject *
lw_reduce_host_array(const lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n,
                     uint32_t i)
{
    PyArray_Descr *descr = NULL;

    if (refuse_container(call, i, arrays[i]) < 0)
        return NULL;
    if (n > 1 && is_python_number(arrays[i])) {
        descr = weak_dtype(call, arrays, n, arrays[i]);
        if (PyErr_Occurred())
            return NULL;
    }
    return as_array(arrays[i], descr); /* steals descr */
}

/* Of arrays of numbers; those of records (numpy.recarray) have no reductions in NumPy. */
static bool
is_subclass(PyObject *object)
{
    return PyArray_Check(object) && !PyArray_CheckExact(object) &&
           !PyDataType_HASFIELDS(PyArray_DESCR((PyArrayObject *)object));
}

static int
read_array(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n, uint32_t i)
{
    PyArrayObject *array = lw_reduce_host_array(call, arrays, n, i);
    PyObject *object = arrays[i];
    int result;

    if (array == NULL)
        return -1;
    if (stands_for_device(object)) {
        if (call->stand_in == NULL)
            call->stand_in = object;
    } else if (is_subclass(object) &&
               (call->wraps == NULL ||
                PyArray_GetPriority(object, 0) > PyArray_GetPriority(call->wraps, 0)))
        call->wraps = object;
    result = take_numbers(call, i, array);
    Py_DECREF(array);
    return result;
}

static int
read_mask(lw_reduce_call *call, PyObject *where)
{
    PyArrayObject *mask;

    if (where == NULL || where == Py_True)
        return 0;
    mask = as_array(where, PyArray_DescrFromType(NPY_BOOL));
    if (mask == NULL)
        return -1;
    call->in[call->n_in] = mask;
    call->masked = true;
    return lw_reduce_check_mask(call, PyArray_NDIM(mask), (const int64_t *)PyArray_DIMS(mask));
}

void
lw_reduce_widen_by_out(lw_reduce_call *call, lw_dtype loaded, lw_dtype out)
{
    if (call->dtype == LW_DT_void && call->n_in == 1 && loaded != LW_DT_void &&
        out != LW_DT_void && call->self->map == NULL && call->self->finish == NULL)
        call->dtype = lw_promote_dtypes(loaded, out);
}

PyObject *
lw_reduce_only_out(const lw_reduce_call *call)
{
    PyObject *out = call->keywords.out;

    if (out != NULL && PyTuple_Check(out))
        out = PyTuple_GET_SIZE(out) == 1 ? PyTuple_GET_ITEM(out, 0) : NULL;
    return out == Py_None ? NULL : out;
}

int
lw_reduce_read_operands(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n,
                        PyObject *where)
{
    PyObject *out = lw_reduce_only_out(call);

    if (lw_reduce_check_count(call, n) < 0 || lw_reduce_read_dtype(call) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_array(call, arrays, n, (uint32_t)i) < 0)
            return -1;
    if (lw_reduce_check_times(call, n) < 0 || lw_reduce_warn_of_complex(call, n) < 0 ||
        read_mask(call, where) < 0)
        return -1;
    if (out != NULL && PyArray_Check(out))
        lw_reduce_widen_by_out(call, call->array[0].dtype,
                               lw_dtype_of_descr(PyArray_DESCR((PyArrayObject *)out)));
    call->specialisation =
        lw_reducer_specialisation(call->self, call->array, (uint32_t)n, call->dtype);
    if (call->specialisation == NULL)
        return -1;
    return call->soon ? 0 : lw_reducer_host(call->self, call->specialisation);
}

/* ---- axes ---- */

static int
axis_error(int64_t axis, int ndim)
{
    PyObject *module = PyImport_ImportModule("numpy.exceptions"), *error = NULL, *class = NULL;

    if (module != NULL)
        class = PyObject_GetAttrString(module, "AxisError");
    if (class != NULL)
        error = PyObject_CallFunction(class, "Li", (long long)axis, ndim);
    if (error != NULL)
        PyErr_SetObject(class, error);
    Py_XDECREF(error);
    Py_XDECREF(class);
    Py_XDECREF(module);
    return -1;
}

static int
read_one_axis(lw_reduce_call *call, PyObject *axis, int *out)
{
    Py_ssize_t value;

    if (PyBool_Check(axis)) {
        PyErr_SetString(PyExc_TypeError, "an integer is required for the axis, not a bool");
        return -1;
    }
    value = PyNumber_AsSsize_t(axis, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred())
        return -1;
    if (value < -call->ndim || value >= call->ndim)
        return axis_error(value, call->ndim);
    *out = (int)(value < 0 ? value + call->ndim : value);
    return 0;
}

int
lw_reduce_read_scan_axis(lw_reduce_call *call, const char *method, int *out)
{
    PyObject *axis = call->keywords.axis;
    bool is_tuple = axis != NULL && PyTuple_Check(axis);
    Py_ssize_t n = axis == Py_None ? call->ndim : is_tuple ? PyTuple_GET_SIZE(axis) : 1;

    *out = 0;
    if (call->ndim == 0) {
        PyErr_Format(PyExc_TypeError, "cannot %s on a scalar", method);
        return -1;
    }
    if (axis == NULL || (n == 1 && axis == Py_None))
        return 0;
    if (n == 1)
        return read_one_axis(call, is_tuple ? PyTuple_GET_ITEM(axis, 0) : axis, out);
    PyErr_Format(PyExc_ValueError, "%s does not allow multiple axes", method);
    return -1;
}

/* NumPy lets axis 0 and -1 of an array of no dimension pass. */
static bool
is_no_axis(const lw_reduce_call *call, PyObject *axis)
{
    int overflow;
    long value;

    if (call->ndim != 0 || axis == NULL || PyBool_Check(axis) || !PyIndex_Check(axis))
        return false;
    value = PyLong_AsLongAndOverflow(axis, &overflow);
    if (value == -1 && PyErr_Occurred())
        PyErr_Clear(); /* told by who reads it as an axis */
    else
        return overflow == 0 && (value == 0 || value == -1);
    return false;
}

int
lw_reduce_read_axes(lw_reduce_call *call, PyObject *axis)
{
    bool is_tuple = axis != NULL && PyTuple_Check(axis);
    Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(axis) : 1;
    bool all = axis == NULL || axis == Py_None || is_no_axis(call, axis);

    for (int d = 0; d < call->ndim; d++)
        call->reduced[d] = all;
    for (Py_ssize_t i = 0; i < n && !all; i++) {
        int one;
        if (read_one_axis(call, is_tuple ? PyTuple_GET_ITEM(axis, i) : axis, &one) < 0)
            return -1;
        if (call->reduced[one]) {
            PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
            return -1;
        }
        call->reduced[one] = true;
    }
    return 0;
}

/* ---- what there is besides elements ---- */

int
lw_reduce_read_initial(lw_reduce_call *call)
{
    const lw_reduction *r = call->specialisation->reduction;
    PyObject *initial = call->keywords.initial;

    call->has_initial = initial != NULL && initial != Py_None && initial != Py_Ellipsis;
    if (call->has_initial) {
        if (lw_reduce_read_accumulator(r, initial, "initial", call->initial, NULL) < 0)
            return -1;
        memcpy(call->empty, call->initial, sizeof call->empty);
        call->has_empty = true;
    } else if (initial == Py_None) { /* NumPy's way to say: the first element, or an error */
        call->has_empty = false;
    } else if (call->self->identity != NULL) {
        bool known = true;
        if (lw_reduce_read_accumulator(r, call->self->identity, "identity", call->empty,
                                       &known) < 0)
            return -1;
        call->has_empty = known;
    } else {
        memcpy(call->empty, r->identity, sizeof call->empty);
        call->has_empty = r->has_identity;
    }
    if (!call->has_empty && call->masked &&
        (call->self->stage == LW_REDUCE_PARTIAL || call->self->stage == LW_REDUCE_MERGE)) {
        /* lanewise/_partials.py marks accumulators without elements and ignores their values,
         * so that any value will do here. */
        memcpy(call->empty, r->neutral, sizeof call->empty);
        call->has_empty = true;
    }
    return 0;
}

int64_t
lw_reduce_n_reduced(const lw_reduce_call *call)
{
    int64_t n = 1;

    for (int d = 0; d < call->ndim; d++)
        n *= call->reduced[d] ? call->shape[d] : 1;
    return n;
}

int
lw_reduce_check_empty(const lw_reduce_call *call)
{
    if (call->has_empty || (lw_reduce_n_reduced(call) > 0 && !call->masked))
        return 0;
    if (call->self->identity != NULL && call->keywords.initial != Py_None) {
        PyErr_Format(
            PyExc_ValueError,
            "reduction operation %s of %s has no identity, for %.200R is no such number: "
            "give initial=",
            lw_reducer_name(call->self),
            lw_dtypes[call->specialisation->reduction->acc[0]].public_name,
            call->self->identity);
        return -1;
    }
    PyErr_Format(PyExc_ValueError,
                 call->masked
                     ? "reduction operation '%s' does not have an identity, so to use a "
                       "where mask one has to specify 'initial' (or identity=)"
                     : "zero-size array to reduction operation %s which has no identity",
                 shown_name(call->self));
    return -1;
}

int
lw_reduce_shape(const lw_reduce_call *call, bool keepdims, int64_t *shape)
{
    int n = 0;

    for (int d = 0; d < call->ndim; d++)
        if (!call->reduced[d])
            shape[n++] = call->shape[d];
        else if (keepdims)
            shape[n++] = 1;
    return n;
}

/* ---- the job ---- */

static void
add_dimension(lw_reduce_call *call, lw_reduce_space *space, int d)
{
    uint32_t n = call->n_in + (call->in[call->n_in] != NULL);

    space->size[space->n] = call->shape[d];
    for (uint32_t i = 0; i < n; i++) {
        int own = d - (call->ndim - PyArray_NDIM(call->in[i]));
        bool walks = own >= 0 && PyArray_DIM(call->in[i], own) != 1;
        space->stride[i][space->n] = walks ? PyArray_STRIDE(call->in[i], own) : 0;
    }
    space->n++;
}

void
lw_reduce_fill_job(lw_reduce_call *call)
{
    lw_reduce_job *job = &call->job;

    job->reduction = call->specialisation->reduction;
    job->code = call->code ? call->code : &call->specialisation->host;
    job->kept.n = job->reduced.n = 0;
    for (int d = 0; d < call->ndim; d++)
        add_dimension(call, call->reduced[d] ? &job->reduced : &job->kept, d);
    memset(job->operand, 0, sizeof job->operand);
    for (uint32_t i = 0; i <= call->n_in; i++)
        job->operand[i] = call->in[i] ? PyArray_BYTES(call->in[i]) : NULL;
    for (uint32_t i = 0; i < job->reduction->n_out; i++)
        job->out[i] = call->result[i] ? PyArray_BYTES(call->result[i]) : NULL;
    job->initial = call->has_initial ? call->initial : NULL;
    job->empty = call->has_empty ? call->empty : NULL;
    job->max_threads = (uint32_t)call->self->options.max_blocksize;
}

void
lw_reduce_mask_job(lw_reduce_call *call)
{
    const lw_reduction *masked = call->specialisation->masked;

    if (!call->masked || masked == NULL)
        return;
    call->job.reduction = masked;
    assert(call->code != NULL);
    call->job.neutral = masked->neutral;
}
