#include "core/py/numpy/device_call.h"

#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/numpy/recall.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>

static const lw_device_door *
door_of(const lw_device_call *call)
{
    return call->self->kind->device;
}

/* ---- keywords ---- */

enum { ALL = 0, ELEMENTWISE = 1, GENERALIZED = 2 };

/* keeps_none: None is a value like others, as for NumPy. */
static const struct {
    const char *name;
    size_t at; /* offset of its field, a PyObject * */
    bool keeps_none;
    uint8_t of;
} keywords[] = {
    {"out", offsetof(lw_device_call, out), false, ALL},
    {"stream", offsetof(lw_device_call, stream_object), false, ALL},
    {"casting", offsetof(lw_device_call, casting), true, ALL},
    {"dtype", offsetof(lw_device_call, dtype), false, ALL},
    {"order", offsetof(lw_device_call, order), false, ALL},
    {"subok", offsetof(lw_device_call, subok), true, ALL},
    {"signature", offsetof(lw_device_call, signature), true, ALL},
    {"sig", offsetof(lw_device_call, signature), true, ALL},
    {"where", offsetof(lw_device_call, where), true, ELEMENTWISE},
    {"axes", offsetof(lw_device_call, axes), true, GENERALIZED},
    {"axis", offsetof(lw_device_call, axis), true, GENERALIZED},
    {"keepdims", offsetof(lw_device_call, keepdims), true, GENERALIZED},
};

static int
read_keyword(lw_device_call *call, PyObject *name, PyObject *value)
{
    const lw_device_door *door = door_of(call);
    uint8_t other = door->is_generalized ? ELEMENTWISE : GENERALIZED;
    PyObject **field;
    size_t k = 0, n = sizeof keywords / sizeof *keywords;

    while (k < n && (keywords[k].of == other ||
                     PyUnicode_CompareWithASCIIString(name, keywords[k].name) != 0))
        k++;
    if (k == n)
        return lw_ufunc_names_refuse(call->self, name);
    field = (PyObject **)((char *)call + keywords[k].at);
    if (*field != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() got both 'sig' and 'signature'",
                     door->name(call->self));
        return -1;
    }
    if (value != Py_None || keywords[k].keeps_none)
        *field = value;
    else if (field == &call->out)
        call->out_is_none = true;
    return 0;
}

/* Refused before shapes are looked at, in NumPy's words. */
static int
check_rules(const lw_device_call *call)
{
    NPY_CASTING rule;

    if (call->signature != NULL && call->dtype != NULL) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'signature' and 'dtype'");
        return -1;
    }
    if (call->signature == Py_None) {
        PyErr_SetString(PyExc_TypeError,
                        "the signature object to ufunc must be a string or a tuple.");
        return -1;
    }
    return call->casting == NULL || PyArray_CastingConverter(call->casting, &rule) ? 0 : -1;
}

/* ---- outputs ---- */

/* 1: an output, 0: None. -1 with an exception: an ellipsis, with what is to be said of it. */
static int
set_output(PyObject **place, PyObject *value, const char *of_ellipsis)
{
    if (value == Py_None)
        return 0;
    if (value == Py_Ellipsis) {
        PyErr_SetString(PyExc_TypeError, of_ellipsis);
        return -1;
    }
    *place = value;
    return 1;
}

static int
set_outputs(lw_device_call *call, PyObject *const *values, Py_ssize_t n,
            const char *of_ellipsis)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        int given = set_output(&call->out_objects[i], values[i], of_ellipsis);
        if (given < 0)
            return -1;
        call->n_given += given;
    }
    return 0;
}

static int
read_out(lw_device_call *call, PyObject *out)
{
    static const char in_tuple[] = "must use `...` as `out=...` and not per-operand/in a tuple";
    int nout = call->self->nout;

    if (!PyTuple_Check(out) && nout == 1)
        return set_outputs(call, &out, 1, in_tuple);
    if (!PyTuple_Check(out)) {
        PyErr_Format(PyExc_TypeError,
                     "'out' must be a tuple of %d arrays or None for a function with %d "
                     "outputs, not %.200s",
                     nout, nout, Py_TYPE(out)->tp_name);
        return -1;
    }
    if (PyTuple_GET_SIZE(out) != nout) {
        PyErr_Format(
            PyExc_ValueError,
            "The 'out' tuple must have exactly one entry per ufunc output: expected %d, "
            "got %zd",
            nout, PyTuple_GET_SIZE(out));
        return -1;
    }
    return set_outputs(call, &PyTuple_GET_ITEM(out, 0), nout, in_tuple);
}

static int
read_outputs(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    int nin = call->self->nin;

    if (call->out == Py_Ellipsis && n_args <= nin)
        return 0; /* out=...: an array, also of no dimensions, which results here always are */
    if (call->out != NULL && n_args > nin) {
        PyErr_SetString(PyExc_TypeError,
                        "cannot specify 'out' as both a positional and keyword argument");
        return -1;
    }
    if (call->out != NULL)
        return read_out(call, call->out);
    if (n_args <= nin)
        return 0;
    return set_outputs(call, args + nin, n_args - nin,
                       "out=... is only allowed as a keyword argument.");
}

static int
check_output(const lw_operand *operand, PyObject *object)
{
    if (operand->kind != LW_OPERAND_DEVICE) {
        PyErr_Format(
            PyExc_TypeError,
            "out must be a device array when an input is one, not %.200s: make it with "
            "lanewise.cuda.device_array, or pass `a.copy_to_host()` for the inputs",
            Py_TYPE(object)->tp_name);
        return -1;
    }
    if (operand->readonly) {
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
        return -1;
    }
    if (operand->dtype == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "out has a dtype that kernels cannot write: %.200R",
                     operand->descr ? (PyObject *)operand->descr : Py_None);
        return -1;
    }
    return 0;
}

/* ---- reading operands ---- */

/* "argument 2", "out=" or "where=". */
static void
put_operand_name(const lw_device_call *call, int i, char *to, size_t n)
{
    if (i < call->self->nin)
        PyOS_snprintf(to, n, "argument %d", i + 1);
    else
        PyOS_snprintf(to, n, "%s", i < call->self->nin + call->self->nout ? "out=" : "where=");
}

/* The operand that was read last is on another device than the first that is on one. */
static int
refuse_devices(const lw_device_call *call)
{
    const lw_ufunc_head *self = call->self;
    int first = 0, last = call->n_read - 1;
    char names[2][32];

    while (call->operands[first].kind != LW_OPERAND_DEVICE)
        first++;
    if (first < last)
        put_operand_name(call, first, names[0], sizeof names[0]);
    else /* the call began with the device of excluded arrays */
        PyOS_snprintf(names[0], sizeof names[0], "an excluded argument");
    put_operand_name(call, last, names[1], sizeof names[1]);
    return lw_operand_refuse_devices(door_of(call)->name(self),
                                     (lw_located){names[0], call->device},
                                     (lw_located){names[1], call->operands[last].device});
}

static int
check_device(lw_device_call *call, const lw_operand *operand)
{
    if (call->first.object == NULL) {
        call->first.library = operand->library;
        call->first.object = operand->object;
        call->first.device = operand->device;
        call->first.stream = operand->stream;
    }
    if (call->device == NULL)
        call->device = operand->device;
    if (call->device == operand->device)
        return 0;
    return refuse_devices(call);
}

static int
read_one(lw_device_call *call, PyObject *object)
{
    lw_operand *operand = &call->operands[call->n_read];

    if (lw_operand_read(operand, object) < 0)
        return -1;
    call->target[call->n_read++] = NULL;
    if (operand->kind == LW_OPERAND_DEVICE)
        return check_device(call, operand);
    call->n_host += operand->kind == LW_OPERAND_HOST || operand->kind == LW_OPERAND_OTHER;
    return 0;
}

static int
read_mask(lw_device_call *call)
{
    if (call->where == NULL || call->where == Py_True) {
        call->where = NULL;
        return 0;
    }
    call->masked = true;
    return read_one(call, call->where == Py_None ? Py_False : call->where);
}

/* Outputs that are not given take a place in operands[], which make_outputs fills. */
static int
read_operands(lw_device_call *call, PyObject *const *args)
{
    for (int i = 0; i < call->self->nin; i++)
        if (read_one(call, args[i]) < 0)
            return -1;
    for (int i = 0; i < call->self->nout; i++) {
        if (call->out_objects[i] == NULL) {
            call->operands[call->n_read].release = NULL;
            call->target[call->n_read] = NULL;
            call->operands[call->n_read++].kind = LW_OPERAND_OTHER;
        } else if (read_one(call, call->out_objects[i]) < 0 ||
                   check_output(&call->operands[call->n_read - 1], call->out_objects[i]) < 0) {
            return -1;
        }
    }
    return read_mask(call);
}

/* A host array beside device arrays is copied to their device, as numba does, but masks and
 * missing values would not be. A mask is made of bools, from lists of numbers, too. */
static int
bring_over(lw_device_call *call, int i, bool is_mask)
{
    lw_operand *operand = &call->operands[i];
    PyArray_Descr *bools;
    PyObject *array, *copy;
    char what[32];

    put_operand_name(call, i, what, sizeof what);
    if (lw_refuse_container(operand->object, false, what) < 0)
        return -1;
    bools = is_mask ? PyArray_DescrFromType(NPY_BOOL) : NULL;
    array = PyArray_FromAny(operand->object, bools, 0, 0, 0, NULL);
    lw_operand_release(operand);
    operand->kind = LW_OPERAND_OTHER;
    if (array == NULL)
        return -1;
    copy = (PyObject *)lw_device_array_from_host((PyArrayObject *)array, call->device,
                                                 call->stream);
    Py_DECREF(array);
    if (copy == NULL)
        return -1;
    call->owned[call->n_owned++] = copy;
    return lw_operand_read(operand, copy);
}

static int
bring_over_all(lw_device_call *call)
{
    for (int i = 0; i < call->n_read; i++) {
        lw_operand *operand = &call->operands[i];
        bool is_mask = i >= call->self->nin + call->self->nout;
        bool is_number = operand->kind != LW_OPERAND_HOST && operand->kind != LW_OPERAND_OTHER;
        if (lw_device_call_is_output(call, i) || operand->kind == LW_OPERAND_DEVICE ||
            (is_number && !is_mask))
            continue;
        if (bring_over(call, i, is_mask) < 0)
            return -1;
    }
    if (call->masked && call->operands[call->n_read - 1].dtype != LW_DT_b1) {
        PyErr_SetString(PyExc_TypeError, "where must be a bool array: cannot cast it to bool "
                                         "according to the rule 'safe'");
        return -1;
    }
    return 0;
}

static int
read_stream(lw_device_call *call)
{
    bool foreign = call->first.object != NULL && call->first.library != LW_LIB_OWN;

    call->stream = foreign ? call->first.stream : 0;
    if (call->stream_object == NULL)
        return 0;
    return lw_stream_read(call->stream_object, &call->stream) < 0
               ? -1
               : lw_stream_check(call->stream_object, call->device);
}

static int
find_resolution(lw_device_call *call)
{
    int nin = call->self->nin, n = nin + call->self->nout;
    uint8_t codes[LW_MOST_CODES];

    if (lw_resolved_codes(call->operands, nin, n, codes) < 0)
        return -1;
    call->resolution = lw_device_resolve(call, codes, n);
    return call->resolution ? lw_resolved_check(call->resolution, call->stream) : -1;
}

static int
read_all(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (read_outputs(call, args, n_args) < 0 || read_operands(call, args) < 0)
        return -1;
    if (call->device == NULL) /* target="cuda" and nothing on a device yet */
        call->device = lw_current_device();
    if (call->device == NULL || read_stream(call) < 0)
        return -1;
    return (call->n_host || call->masked) && bring_over_all(call) < 0 ? -1 : 0;
}

/* ---- the launch ---- */

int
lw_device_call_fill(lw_device_call *call, lw_walk *walk)
{
    const lw_dtype *types = lw_device_call_types(call);

    walk->n_operands = call->n_read;
    for (int i = 0; i < call->n_read; i++) {
        const lw_operand *operand = &call->operands[i];
        lw_walk_operand *to = &walk->operands[i];
        to->by_value = operand->kind != LW_OPERAND_DEVICE;
        to->is_output = lw_device_call_is_output(call, i);
        to->data = operand->data;
        if (to->by_value && lw_operand_item(operand, types[i], &call->values[i]) < 0)
            return -1;
    }
    return 0;
}

lw_status (*lw_device_launcher)(const lw_device_launch *launch, lw_error *err);

/* Puts the stream behind whoever produced the operands. extra: may be NULL. */
static lw_status
operands_behind(lw_operand *operands, int n, const lw_extra_arrays *extra, CUstream stream,
                lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < n; i++)
        if (operands[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(lw_operand_use(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(lw_operand_use(&extra->arrays[i].operand, stream, err));
fail:
    return status;
}

/* Aligned copies that were written go back, and foreign producers wait for the stream. */
static lw_status
operands_after(lw_operand *operands, int n, const lw_extra_arrays *extra, CUstream stream,
               lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < n; i++)
        if (operands[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(lw_operand_done(&operands[i], stream, err));
    for (int i = 0; extra != NULL && i < extra->n; i++)
        LW_TRY(lw_operand_done(&extra->arrays[i].operand, stream, err));
fail:
    return status;
}

typedef struct parts {
    lw_device_launch *launch;
    lw_status status;
    lw_error *err;
} parts;

static int
launch_part(void *context)
{
    parts *p = context;
    const lw_device_launch *launch = p->launch;

    lw_record_begin(launch->record);
    launch->fill(launch->call, launch->record);
    if (launch->record->shared_bytes && lw_device_launcher == NULL)
        p->status = lw_kernel_allow_shared(launch->record->kernel, launch->record->shared_bytes,
                                           p->err);
    if (p->status != LW_OK)
        return true;
    p->status = lw_device_launcher != NULL
                    ? lw_device_launcher(launch, p->err)
                    : lw_record_launch(launch->record, launch->call->stream, p->err);
    return p->status != LW_OK;
}

int
lw_device_call_launch(lw_device_launch *launch)
{
    lw_device_call *call = launch->call;
    lw_loaded *loaded = lw_device_kernel_for(launch->door, launch->resolution, launch->key);
    bool is_one = launch->width == 0 || lw_walk_is_short(launch->walk, launch->width);
    lw_error err = {0};
    lw_launch_record record;
    parts p = {launch, LW_OK, &err};
    CUcontext before = NULL;
    lw_status status;

    if (loaded == NULL)
        return -1;
    call->items = launch->walk->n;
    record.kernel = loaded->kernel;
    launch->record = &record;
    LW_TRY(lw_device_visit(call->device, &before, &err));
    LW_TRY(operands_behind(call->operands, call->n_read, call->extra, call->stream, &err));
    if (is_one)
        launch_part(&p);
    else
        lw_walk_cut(launch->walk, launch->width, launch_part, &p);
    LW_TRY(p.status);
    LW_TRY(operands_after(call->operands, call->n_read, call->extra, call->stream, &err));
    if (launch->may_recall && is_one && lw_device_launcher == NULL)
        lw_recall_remember(call, &record, loaded->image);
fail:
    lw_device_leave(before);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

int
lw_device_call_after(lw_device_call *call)
{
    lw_error err = {0};
    lw_status status;
    CUcontext before = NULL;

    LW_TRY(lw_device_visit(call->device, &before, &err));
    LW_TRY(operands_after(call->operands, call->n_read, call->extra, call->stream, &err));
fail:
    lw_device_leave(before);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

static int
report_errors(const lw_device_call *call)
{
    lw_watch *watch = call->resolution->watch;

    if (watch == NULL || call->self->options.errors != LW_RAISE || call->items == 0)
        return 0;
    return lw_watch_wait(watch, call->stream);
}

/* ---- results ---- */

static PyObject *
take_result(lw_device_call *call, int which)
{
    lw_device_array *made = call->made[which];
    lw_operand first;

    if (made == NULL)
        return Py_NewRef(call->out_objects[which]);
    call->made[which] = NULL;
    if (call->first.object == NULL || call->first.library == LW_LIB_OWN)
        return (PyObject *)made;
    first.library = call->first.library;
    first.object = call->first.object;
    first.device = call->first.device;
    first.stream = call->first.stream;
    return lw_result_wrap(&first, made);
}

static PyObject *
results(lw_device_call *call)
{
    PyObject *tuple;

    if (call->self->nout == 1)
        return take_result(call, 0);
    if (call->self->nout == 0) /* a gufunc that works in place */
        Py_RETURN_NONE;
    tuple = PyTuple_New(call->self->nout);
    for (int i = 0; tuple != NULL && i < call->self->nout; i++)
        lw_tuple_put(&tuple, i, take_result(call, i));
    return tuple;
}

/* NumPy's warning: elements that the mask leaves out hold whatever lay there. */
static int
warn_of_mask(const lw_device_call *call)
{
    if (!call->masked || call->n_given || call->out != NULL || call->out_is_none)
        return 0;
    return PyErr_WarnEx(
        PyExc_UserWarning,
        "'where' used without 'out', expect uninitialized memory in the output. "
        "If this is intentional, use out=None.",
        1);
}

/* ---- the call ---- */

int
lw_device_call_begin(lw_device_call *call, lw_ufunc_head *self, PyObject *const *args,
                     Py_ssize_t n_args, PyObject *kwnames, lw_extra_arrays *extra)
{
    const lw_device_door *door = self->kind->device;
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    memset(call, 0, offsetof(lw_device_call, operands)); /* the rest is filled as it is used */
    memset(call->out_objects, 0, (size_t)self->nout * sizeof *call->out_objects);
    memset(call->made, 0, (size_t)self->nout * sizeof *call->made);
    call->self = self;
    call->extra = extra;
    call->device = extra ? extra->device : NULL;
    for (Py_ssize_t i = 0; i < n_keywords; i++)
        if (read_keyword(call, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]) < 0)
            return -1;
    if (lw_call_check(door->name(self), self->nin, self->nout, n_args, call->subok, call->order,
                      &call->order_letter) < 0)
        return -1;
    return n_keywords ? check_rules(call) : 0;
}

int
lw_device_call_prepare(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    if (read_all(call, args, n_args) < 0 || find_resolution(call) < 0 ||
        door_of(call)->match(call) < 0 || warn_of_mask(call) < 0 ||
        lw_device_call_make_outputs(call) < 0)
        return -1;
    return lw_device_call_make_copies(call);
}

void
lw_device_call_end(lw_device_call *call)
{
    for (int i = 0; i < call->n_read; i++) {
        if (call->operands[i].release != NULL)
            lw_operand_release(&call->operands[i]);
        Py_CLEAR(call->target[i]);
    }
    for (int i = 0; i < call->self->nout; i++)
        Py_CLEAR(call->made[i]);
    while (call->n_owned > 0)
        Py_DECREF(call->owned[--call->n_owned]);
}

static PyObject *
run(lw_device_call *call, lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
    PyObject *kwnames, lw_extra_arrays *extra)
{
    if (lw_device_call_begin(call, self, args, n_args, kwnames, extra) < 0)
        return NULL;
    if (lw_device_call_is_hosted(call, args, n_args))
        return lw_device_call_hosted(call, args, n_args, kwnames);
    return lw_device_call_finish(call, args, n_args);
}

PyObject *
lw_device_call_finish(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *result = NULL;

    if (lw_device_call_prepare(call, args, n_args) == 0 && door_of(call)->launch(call) == 0 &&
        lw_device_call_copy_back(call) == 0 && report_errors(call) == 0)
        result = results(call);
    if (call->extra != NULL && result != NULL)
        call->extra->stream = call->stream;
    lw_device_call_end(call);
    return result;
}

/* In a critical section: resolutions, remembered calls and reports are the object's. */
PyObject *
lw_device_call_run(lw_device_call *call, lw_ufunc_head *self, PyObject *const *args,
                   Py_ssize_t n_args, PyObject *kwnames, lw_extra_arrays *extra)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    result = run(call, self, args, n_args, kwnames, extra);
    Py_END_CRITICAL_SECTION();
    return result;
}
