/* The call of a family: arguments to their parameters, excluded arrays read, then the member
 * for them runs with the arrays' parts behind its operands. */
#include "core/py/numpy_api.h"

#include "core/py/numpy/family_internal.h"

#include "core/host/element_race.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/keyword.h"
#include "core/py/numpy/call_kinds.h"
#include "core/py/numpy/object_operands.h"
#include "core/py/numpy/override.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ---- */

/* Signatures and layouts say how many operands there are. */
static bool
frozen(const lw_family_args *c, uint32_t i)
{
    return c->family->roles[i] == LW_ROLE_DEFAULT &&
           (c->family->signatures != NULL || c->family->door->operands != NULL);
}

static int
refuse_default(const lw_family_args *c, uint32_t i)
{
    PyErr_Format(
        PyExc_TypeError,
        "%s(): parameter `%s` has a default, which is compiled in: the %s not count it",
        lw_family_name(c->self), lw_family_param(c, i),
        c->family->door->operands ? "layout does" : "signatures do");
    return -1;
}

static int
place_positional(lw_family_args *c, PyObject *const *args, Py_ssize_t n_args)
{
    for (Py_ssize_t i = 0; i < n_args; i++) {
        uint32_t at = c->family->positional[i < LW_MOST_PARAMS ? i : 0];
        if (i >= (Py_ssize_t)c->family->n_positional) {
            if (c->n_outs == LW_MOST_MEMBER_INPUTS) {
                PyErr_Format(PyExc_TypeError, "`%s` got %zd arguments", lw_family_name(c->self),
                             n_args);
                return -1;
            }
            c->outs[c->n_outs++] = args[i];
        } else if (frozen(c, at)) {
            return refuse_default(c, at);
        } else {
            c->values[at] = args[i];
        }
    }
    return 0;
}

static int
place_keyword(lw_family_args *c, PyObject *name, PyObject *value)
{
    int i = lw_ufunc_names_keyword(name) ? -1 : lw_family_index(c->family, name);

    if (i < 0 || c->family->roles[i] == LW_ROLE_OUTPUT) {
        if (c->n_rest == (Py_ssize_t)(sizeof c->rest / sizeof *c->rest)) {
            PyErr_Format(PyExc_TypeError, "%s() got too many keyword arguments",
                         lw_family_name(c->self));
            return -1;
        }
        c->names[c->n_rest] = name;
        c->rest[c->n_rest++] = value;
        return 0;
    }
    if (c->self->tree->fns.data[1].params.data[i].unnamed)
        return lw_keyword_refuse_unnamed(lw_family_name(c->self), name);
    if (frozen(c, (uint32_t)i))
        return refuse_default(c, (uint32_t)i);
    if (c->values[i] != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%.200U'",
                     lw_family_name(c->self), name);
        return -1;
    }
    c->values[i] = value;
    return 0;
}

static int
arrange(lw_family_args *c, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    const lw_fn *fn = &c->self->tree->fns.data[1];

    if (place_positional(c, args, n_args) < 0)
        return -1;
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        if (place_keyword(c, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]) < 0)
            return -1;
    for (uint32_t i = 0; i < c->family->n_params; i++)
        if (c->values[i] == NULL && fn->params.data[i].default_constant == 0 &&
            c->family->roles[i] != LW_ROLE_OUTPUT)
            return lw_ufunc_names_missing(c->self, (int)i, c->names, c->n_rest);
    return 0;
}

/* A list or tuple becomes an array, as np.vectorize's users write them. The function may not
 * write to it: nobody would see that. */
static int
make_array(lw_family_args *c, uint32_t i)
{
    PyObject *made;

    c->made[c->n_arrays] = NULL;
    if (!PyList_CheckExact(c->values[i]) && !PyTuple_CheckExact(c->values[i]))
        return 0;
    made = PyArray_FROM_OF(c->values[i], NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY);
    if (made == NULL)
        return -1;
    PyArray_CLEARFLAGS((PyArrayObject *)made, NPY_ARRAY_WRITEABLE);
    c->made[c->n_arrays] = c->values[i] = made;
    return 0;
}

/* What an excluded parameter was given: the i-th array of the call. */
static int
read_array(lw_family_args *c, int i, uint32_t parameter, PyObject *object)
{
    lw_whole_array *array = &c->arrays[i];

    if (lw_whole_array_read(array, object, lw_family_name(c->self),
                            lw_family_param(c, parameter)) < 0)
        return -1;
    array->spec.guarded = c->family->door->guards;
    return 0;
}

static int
read_arrays(lw_family_args *c)
{
    for (uint32_t i = 0; i < c->family->n_params; i++) {
        if (c->family->roles[i] != LW_ROLE_EXCLUDED || c->values[i] == NULL)
            continue;
        if (make_array(c, i) < 0)
            return -1;
        if (read_array(c, c->n_arrays, i, c->values[i]) < 0) {
            Py_CLEAR(c->made[c->n_arrays]);
            return -1;
        }
        c->copies[c->n_arrays] = NULL;
        c->params[c->n_arrays++] = (int)i;
    }
    return 0;
}

static void
release(lw_family_args *c)
{
    for (int i = 0; i < c->n_arrays; i++) {
        lw_whole_array_release(&c->arrays[i]);
        Py_XDECREF(c->copies[i]);
        Py_XDECREF(c->made[i]);
    }
}

/* ---- overlap ---- */

/* param: of an input that is written, or -1: an output. */
static int
check_out(const lw_family_args *c, PyObject *out, int param)
{
    lw_memory_span span;

    if (!lw_array_span(out, &span))
        return PyErr_Occurred() ? -1 : 0;
    for (int i = 0; i < c->n_arrays; i++)
        if (lw_memory_spans_overlap(span, c->arrays[i].span)) {
            PyErr_Format(PyExc_ValueError,
                         "%s(): %s%s%s shares memory with excluded argument `%s`, which the "
                         "function reads as a whole: give another %s, or a copy",
                         lw_family_name(c->self), param < 0 ? "an output" : "argument `",
                         param < 0 ? "" : lw_family_param(c, (uint32_t)param),
                         param < 0 ? "" : "`, which it writes to,",
                         lw_family_param(c, (uint32_t)c->params[i]),
                         param < 0 ? "output" : "array");
            return -1;
        }
    return 0;
}

static int
check_outs(const lw_family_args *c)
{
    for (uint32_t i = 0; i < c->family->n_params; i++)
        if ((c->family->writes >> i & 1) && c->values[i] != NULL &&
            check_out(c, c->values[i], (int)i) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < c->n_outs; i++)
        if (check_out(c, c->outs[i], -1) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < c->n_rest; i++) {
        PyObject *out = c->rest[i];
        if (PyUnicode_CompareWithASCIIString(c->names[i], "out") != 0)
            continue;
        if (!PyTuple_Check(out))
            return check_out(c, out, -1);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(out); k++)
            if (check_out(c, PyTuple_GET_ITEM(out, k), -1) < 0)
                return -1;
    }
    return 0;
}

/* ---- running a member ---- */

/* axes= of a member names the parts of the arrays, too: they have none. */
static PyObject *
axes_of(const lw_family_args *c, PyObject *axes)
{
    Py_ssize_t n_in = lw_family_operands(c), n_words = 0;
    PyObject *head, *result = NULL;

    for (int i = 0; i < c->n_arrays; i++)
        n_words += c->arrays[i].n_words;
    if (!PyList_Check(axes) || PyList_GET_SIZE(axes) < n_in || n_words == 0)
        return Py_NewRef(axes);
    head = PyList_GetSlice(axes, 0, n_in);
    for (Py_ssize_t i = 0; head != NULL && i < n_words; i++) {
        PyObject *none = PyTuple_New(0);
        if (none == NULL || PyList_Append(head, none) < 0)
            Py_CLEAR(head);
        Py_XDECREF(none);
    }
    if (head != NULL) {
        PyObject *tail = PyList_GetSlice(axes, n_in, PyList_GET_SIZE(axes));
        result = tail ? PySequence_Concat(head, tail) : NULL;
        Py_XDECREF(tail);
    }
    Py_XDECREF(head);
    return result;
}

typedef struct row { /* a member's vectorcall */
    PyObject *args[LW_MOST_MEMBER_INPUTS + LW_MOST_MEMBER_INPUTS + 16];
    Py_ssize_t n_args, n_words, stream;
    PyObject *words[LW_MOST_MEMBER_INPUTS]; /* owned */
    PyObject *names;                        /* owned; NULL: no keywords */
    PyObject *axes;                         /* owned; NULL: not given */
} row;

static int
add_words(const lw_family_args *c, row *r)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT64);

    for (int i = 0; i < c->n_arrays; i++)
        for (uint32_t k = 0; k < c->arrays[i].n_words; k++) {
            int64_t word = (int64_t)c->arrays[i].words[k];
            PyObject *scalar = PyArray_Scalar(&word, descr, NULL);
            if (scalar == NULL) {
                Py_DECREF(descr);
                return -1;
            }
            r->words[r->n_words++] = r->args[r->n_args++] = scalar;
        }
    Py_DECREF(descr);
    return 0;
}

/* NumPy wants as many core dimensions of every input, and parts of arrays have none. */
static int
check_keepdims(const lw_family_args *c, PyObject *name, PyObject *value)
{
    int truth;

    if (c->n_arrays == 0 || PyUnicode_CompareWithASCIIString(name, "keepdims") != 0)
        return 0;
    truth = PyObject_IsTrue(value);
    if (truth > 0)
        PyErr_Format(
            PyExc_TypeError,
            "%s(): keepdims= cannot be given together with excluded arrays: insert the "
            "dimension with numpy.expand_dims",
            lw_family_name(c->self));
    return truth == 0 ? 0 : -1;
}

static int
make_row(const lw_family_args *c, row *r)
{
    r->n_args = r->n_words = 0;
    r->stream = -1;
    r->names = r->axes = NULL;
    for (uint32_t i = 0; i < c->family->n_params; i++)
        if (lw_family_broadcasts(c, i))
            r->args[r->n_args++] = c->values[i];
    if (add_words(c, r) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < c->n_outs; i++)
        r->args[r->n_args++] = c->outs[i];
    if (c->n_rest == 0)
        return 0;
    r->names = PyTuple_New(c->n_rest);
    for (Py_ssize_t i = 0; r->names != NULL && i < c->n_rest; i++) {
        r->args[r->n_args + i] = c->rest[i];
        if (PyUnicode_CompareWithASCIIString(c->names[i], "stream") == 0)
            r->stream = r->n_args + i;
        if (check_keepdims(c, c->names[i], c->rest[i]) < 0)
            return -1;
        if (PyUnicode_CompareWithASCIIString(c->names[i], "axes") == 0) {
            Py_XSETREF(r->axes, axes_of(c, c->rest[i]));
            if (r->axes == NULL)
                return -1;
            r->args[r->n_args + i] = r->axes;
        }
        PyTuple_SET_ITEM(r->names, i, Py_NewRef(c->names[i]));
    }
    return r->names ? 0 : -1;
}

static void
drop_row(row *r)
{
    while (r->n_words > 0)
        Py_DECREF(r->words[--r->n_words]);
    Py_XDECREF(r->names);
    Py_XDECREF(r->axes);
}

/* ---- races on excluded arrays ---- */

static lw_race_array
race_array(const lw_family_args *c, int i)
{
    const lw_whole_array *array = &c->arrays[i];
    const int64_t *shape = (const int64_t *)array->words + 1;
    const lw_dtype_row *dtype = &lw_dtypes[array->spec.dtype];
    bool record = array->spec.record != NULL;

    return (lw_race_array){.name = lw_family_param(c, (uint32_t)c->params[i]),
                           .data = array->words[0],
                           .ndim = array->spec.ndim,
                           .shape = shape,
                           .strides = shape + array->spec.ndim,
                           .itemsize =
                               record ? array->spec.record->itemsize : dtype->size_bytes,
                           .span = array->span,
                           .grain = record ? 1 : lw_dtypes[dtype->parts].size_bytes};
}

static int
tell_race(const lw_family_args *c, const lw_race *race)
{
    char here[48], there[48];
    lw_error err = {0};

    snprintf(here, sizeof here, "element %llu", (unsigned long long)race->element);
    snprintf(there, sizeof there, "element %llu", (unsigned long long)race->other);
    lw_race_fail(race, lw_family_name(c->self), here, there, &err);
    lw_py_raise(&err);
    return -1;
}

static PyObject *
call_watched(const lw_family_args *c, lw_ufunc_head *member, const row *r)
{
    lw_race_array arrays[LW_MOST_EXCLUDED];
    lw_race_watch *watch = NULL;
    PyObject *result;
    lw_error err = {0};
    lw_race race;

    for (int i = 0; i < c->n_arrays; i++)
        arrays[i] = race_array(c, i);
    if (lw_race_begin(arrays, (uint32_t)c->n_arrays, &watch, &err) != LW_OK)
        return lw_py_raise(&err);
    result =
        c->family->door->call_host(member, r->args, (size_t)r->n_args, r->names, r->stream);
    if (lw_race_end(watch, &race, &err) != LW_OK) {
        Py_CLEAR(result);
        if (PyErr_Occurred())
            lw_error_reset(&err);
        else
            lw_py_raise(&err);
    } else if (result != NULL && race.does != NULL && tell_race(c, &race) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *
call_member(const lw_family_args *c, lw_ufunc_head *member, const row *r)
{
    if (c->n_arrays > 0 && lw_door_watches_elements(&c->self->options))
        return call_watched(c, member, r);
    return c->family->door->call_host(member, r->args, (size_t)r->n_args, r->names, r->stream);
}

static PyObject *
run_host(lw_family_args *c)
{
    lw_ufunc_head *member = lw_family_find(c);
    PyObject *result = NULL;
    row r;

    if (member == NULL)
        return NULL;
    if (make_row(c, &r) == 0)
        result = call_member(c, member, &r);
    drop_row(&r);
    Py_DECREF(member);
    return result;
}

/* ---- on the device ---- */

/* The device of the first array there is on one, or the current one. NULL with an exception. */
static lw_device *
device_of(const lw_family_args *c)
{
    for (int i = 0; i < c->n_arrays; i++)
        if (c->arrays[i].device != NULL)
            return c->arrays[i].device;
    for (uint32_t i = 0; i < c->family->n_params; i++) {
        lw_device *device;
        lw_operand operand;
        if (!lw_family_broadcasts(c, i) || !lw_is_device_operand(c->values[i]))
            continue;
        if (lw_operand_look(&operand, c->values[i]) < 0)
            return NULL;
        device = operand.kind == LW_OPERAND_DEVICE ? operand.device : NULL;
        lw_operand_release(&operand);
        if (device != NULL)
            return device;
    }
    return lw_current_device();
}

/* Host arrays beside device operands are copied there; what the function writes comes back. */
static int
bring_over(lw_family_args *c, lw_device *device, CUstream stream)
{
    char name[128];

    for (int i = 0; i < c->n_arrays; i++) {
        lw_whole_array *array = &c->arrays[i];
        if (array->device == device)
            continue;
        if (array->device != NULL) {
            PyOS_snprintf(name, sizeof name, "excluded argument `%.100s`",
                          lw_family_param(c, (uint32_t)c->params[i]));
            return lw_operand_refuse_devices(lw_family_name(c->self),
                                             (lw_located){"another argument", device},
                                             (lw_located){name, array->device});
        }
        c->copies[i] = (PyObject *)lw_device_array_from_host((PyArrayObject *)array->object,
                                                             device, stream);
        if (c->copies[i] == NULL)
            return -1;
        lw_whole_array_release(array);
        if (read_array(c, i, (uint32_t)c->params[i], c->copies[i]) < 0)
            return -1;
        array->spec.readonly = !PyArray_ISWRITEABLE((PyArrayObject *)c->values[c->params[i]]);
    }
    return 0;
}

static int
bring_back(const lw_family_args *c, const lw_ufunc_head *member, CUstream stream)
{
    for (int i = 0; i < c->n_arrays; i++) {
        PyObject *host;
        int failed;
        if (c->copies[i] == NULL || c->arrays[i].spec.readonly ||
            !(member->member->written >> i & 1))
            continue;
        host = lw_device_array_to_host((lw_device_array *)c->copies[i], stream);
        failed = host == NULL || PyArray_CopyInto((PyArrayObject *)c->values[c->params[i]],
                                                  (PyArrayObject *)host) < 0;
        Py_XDECREF(host);
        if (failed)
            return -1;
    }
    return 0;
}

/* Masks stay on the host. The call of the member would count its own operands only. */
static int
refuse_masks(const lw_family_args *c)
{
    char what[128];

    for (uint32_t i = 0; i < c->family->n_params; i++) {
        if (!lw_family_broadcasts(c, i) || !PyArray_Check(c->values[i]))
            continue;
        PyOS_snprintf(what, sizeof what, "%.60s: argument `%.50s`", lw_family_name(c->self),
                      lw_family_param(c, i));
        if (lw_refuse_container(c->values[i], false, what) < 0)
            return -1;
    }
    return 0;
}

static PyObject *
run_device(lw_family_args *c)
{
    lw_extra_arrays extra = {.arrays = c->arrays, .n = c->n_arrays};
    lw_ufunc_head *member;
    PyObject *result = NULL;
    CUstream stream = 0;
    row r;

    if (refuse_masks(c) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < c->n_rest; i++)
        if (PyUnicode_CompareWithASCIIString(c->names[i], "stream") == 0 &&
            lw_stream_read(c->rest[i], &stream) < 0)
            return NULL;
    for (int i = 0; i < c->n_arrays; i++)
        extra.some_given_there |= c->arrays[i].device != NULL;
    extra.device = device_of(c);
    if (extra.device == NULL || bring_over(c, extra.device, stream) < 0)
        return NULL;
    member = lw_family_find(c);
    if (member == NULL)
        return NULL;
    for (int i = 0; i < c->n_arrays; i++)
        c->arrays[i].operand.written = member->member->written >> i & 1;
    if (make_row(c, &r) == 0)
        result = member->kind->call_device(member, r.args, (size_t)r.n_args, r.names, &extra);
    if (result != NULL && bring_back(c, member, extra.stream) < 0)
        Py_CLEAR(result);
    drop_row(&r);
    Py_DECREF(member);
    return result;
}

/* ---- tables of other libraries ---- */

/* What an excluded argument of pandas, xarray or Dask stands for: they would align, broadcast
 * or cut it as an operand. A view, which the function cannot write to. New reference. */
static PyObject *
plain_table(PyObject *object)
{
    PyObject *array, *view;

    if (PyArray_Check(object) || !lw_has_override(object) || lw_is_device_operand(object) ||
        !PyObject_HasAttrString(object, "__array__"))
        return Py_NewRef(object);
    array = lw_refuse_container(object, false, "an excluded argument") < 0
                ? NULL
                : PyArray_FROM_O(object);
    view = array ? PyArray_View((PyArrayObject *)array, NULL, &PyArray_Type) : NULL;
    Py_XDECREF(array);
    if (view != NULL)
        PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
    return view;
}

/* The parameter that the i-th argument of a call is for; -1: none. */
static int
parameter_of(const lw_family *family, Py_ssize_t i, Py_ssize_t n_args, PyObject *kwnames)
{
    if (i >= n_args)
        return lw_family_index(family, PyTuple_GET_ITEM(kwnames, i - n_args));
    return i < (Py_ssize_t)family->n_positional ? family->positional[i] : -1;
}

static bool
names_table(const lw_family *family, Py_ssize_t i, Py_ssize_t n_args, PyObject *kwnames)
{
    int at = parameter_of(family, i, n_args, kwnames);

    return at >= 0 && family->roles[at] == LW_ROLE_EXCLUDED;
}

bool
lw_family_brings_objects(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames)
{
    const lw_compiled *compiled = (const lw_compiled *)self;
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);

    for (Py_ssize_t i = 0; i < n; i++) {
        int at = parameter_of(self->family, i, n_args, kwnames);
        uint8_t role = at < 0 ? LW_ROLE_OUTPUT : self->family->roles[at];

        if (i >= n_args && lw_ufunc_names_keyword(PyTuple_GET_ITEM(kwnames, i - n_args)))
            continue;
        if (role == LW_ROLE_STATIC)
            continue; /* a constant, whatever it is */
        if (role == LW_ROLE_EXCLUDED ? lw_is_single_object(compiled, args[i])
                                     : lw_brings_objects(compiled, &args[i], 1))
            return true;
    }
    return false;
}

/* The arguments with such tables replaced; new references. How many were, or -1. */
static int
plain_tables(const lw_family *family, PyObject **plain, PyObject *const *args,
             Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    int replaced = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        plain[i] =
            names_table(family, i, n_args, kwnames) ? plain_table(args[i]) : Py_NewRef(args[i]);
        if (plain[i] == NULL) {
            while (i > 0)
                Py_DECREF(plain[--i]);
            return -1;
        }
        replaced += plain[i] != args[i];
    }
    return replaced;
}

/* Whether there are such tables; then *result is the call's, with plain ones. */
static bool
called_with_plain_tables(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames, PyObject **result)
{
    enum { MOST = 2 * LW_MOST_PARAMS };
    PyObject *plain[MOST];
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    int replaced = n <= MOST ? plain_tables(self->family, plain, args, n_args, kwnames) : 0;

    *result = NULL;
    if (n > MOST || replaced < 0)
        return replaced < 0;
    if (replaced > 0)
        *result = lw_family_call(self, plain, n_args, kwnames);
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(plain[i]);
    return replaced > 0;
}

PyObject *
lw_family_call(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    lw_family_args c;
    bool device = self->options.target == LW_CHOOSE_CUDA;
    PyObject *result = NULL;
    const lw_family_door *door = self->family->door;
    int kinds = lw_call_kinds_of(args, n_args, kwnames);

    memset(&c, 0,
           offsetof(lw_family_args, params)); /* the large arrays are filled as they are used */
    c.self = self;
    c.family = self->family;
    if ((kinds & LW_CALL_KIND_OTHER) &&
        (called_with_plain_tables(self, args, n_args, kwnames, &result) ||
         door->ask(self, args, n_args, kwnames, (int)self->family->n_positional, &result)))
        return result;
    device |= (kinds & LW_CALL_KIND_DEVICE) != 0;
    if ((kinds & LW_CALL_KIND_DEVICE) && self->options.target == LW_CHOOSE_CPU)
        return lw_refuse_device(self);
    if (arrange(&c, args, n_args, kwnames) == 0 && read_arrays(&c) == 0 && check_outs(&c) == 0)
        result = device ? run_device(&c) : run_host(&c);
    release(&c);
    return result;
}

PyObject *
lw_family_member(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *kwnames)
{
    lw_family_args c;
    lw_ufunc_head *member = NULL;

    memset(&c, 0, offsetof(lw_family_args, params));
    c.self = self;
    c.family = self->family;
    if (arrange(&c, args, n_args, kwnames) == 0 && read_arrays(&c) == 0)
        member = lw_family_find(&c);
    release(&c);
    return (PyObject *)member;
}
