#include "core/py/numpy/recall.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/device/module.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>

enum {
    KEPT = 4,    /* entries of an object */
    PATIENCE = 8 /* every so many calls of other kinds one takes the oldest's place */
};

/* ---- reading a call ---- */

/* A call that comes, taken apart; borrowed. */
typedef struct request {
    int n; /* inputs */
    PyObject *input[LW_RECALL_INPUTS];
    uint8_t kind[LW_RECALL_INPUTS];   /* lw_operand_kind */
    lw_value value[LW_RECALL_INPUTS]; /* of a number */
    lw_device_array *out;             /* NULL: to be made */
} request;

static bool
read_input(request *r, int i, PyObject *object)
{
    int overflow = 0;

    r->input[i] = object;
    r->kind[i] = LW_OPERAND_DEVICE;
    if (lw_is_device_array(object))
        return true;
    if (PyFloat_CheckExact(object)) {
        r->kind[i] = LW_OPERAND_FLOAT;
        r->value[i].f64 = PyFloat_AS_DOUBLE(object);
        return true;
    }
    r->kind[i] = LW_OPERAND_INT;
    if (!PyLong_CheckExact(object))
        return false;
    r->value[i].i64 = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

static bool
read_out(request *r, PyObject *out)
{
    if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    r->out = out == Py_None ? NULL : (lw_device_array *)out;
    return out == Py_None || lw_is_device_array(out);
}

/* False: no call that is remembered. */
static bool
read_call(request *r, int nin, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    if (nin > LW_RECALL_INPUTS || n_args + n_keywords < nin || n_args + n_keywords > nin + 1 ||
        n_args < nin)
        return false;
    for (int i = 0; i < nin; i++)
        if (!read_input(r, i, args[i]))
            return false;
    r->n = nin;
    r->out = NULL;
    if (n_keywords > 0 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") != 0)
        return false;
    if (n_keywords == 0 && n_args > nin && PyTuple_Check(args[nin]))
        return false; /* in place of an array it is an error */
    return n_args + n_keywords == nin || read_out(r, args[nin]);
}

/* ---- comparing ---- */

/* Kernels from before a reset of the device are not there any more. */
static bool
is_valid(const lw_recalled *entry)
{
    return !entry->gone && lw_image_is_ready(entry->image);
}

/* Whether the input still has the same relation to the output: the same memory, or apart. */
static bool
is_as_apart(const lw_recalled *entry, int i, const lw_device_array *input,
            const lw_device_array *out)
{
    if (entry->is_out[i])
        return input->data == out->data;
    return !lw_memory_spans_overlap(lw_device_array_span(input), lw_device_array_span(out));
}

/* The dtype of a Python number, by its lw_operand_read kind. */
static uint8_t
dtype_of(uint8_t kind)
{
    return kind == LW_OPERAND_INT ? LW_DT_i64 : LW_DT_f64;
}

static bool
is_input(const lw_recalled *entry, int i, const request *r)
{
    const lw_device_array *array = (const lw_device_array *)r->input[i];

    if (r->kind[i] != LW_OPERAND_DEVICE)
        return entry->input[i].device == NULL && entry->input[i].dtype == dtype_of(r->kind[i]);
    return lw_array_key_is(&entry->input[i], array) &&
           (r->out == NULL || is_as_apart(entry, i, array, r->out));
}

static bool
is_call(const lw_recalled *entry, const request *r)
{
    if (entry->busy || !is_valid(entry) || entry->has_out != (r->out != NULL) ||
        (r->out != NULL && (r->out->readonly || !lw_array_key_is(&entry->result, r->out))))
        return false;
    for (int i = 0; i < r->n; i++)
        if (!is_input(entry, i, r))
            return false;
    return true;
}

static lw_recalled *
find(lw_recalled *latest, const request *r)
{
    while (latest != NULL && !is_call(latest, r))
        latest = latest->next;
    return latest;
}

/* ---- doing it again ---- */

/* What out= gave, or a new array. NULL with an exception. */
static lw_device_array *
result_of(const lw_recalled *entry, const request *r)
{
    if (r->out != NULL)
        return (lw_device_array *)Py_NewRef((PyObject *)r->out);
    return lw_device_array_new(entry->device, 0, (lw_dtype)entry->result.dtype,
                               entry->result.ndim, entry->result.shape, 'C');
}

static void
put_address(lw_recalled *entry, int operand, const lw_device_array *array)
{
    entry->record.values[entry->record.at[operand]] =
        (uint64_t)array->data + (uint64_t)entry->offset[operand];
}

static int
put_number(lw_recalled *entry, const request *r, int i)
{
    lw_operand operand = {.kind = r->kind[i],
                          .dtype = dtype_of(r->kind[i]),
                          .object = r->input[i],
                          .value = r->value[i]};
    lw_value item;

    if (lw_operand_item(&operand, (lw_dtype)entry->number[i], &item) < 0)
        return -1;
    lw_record_set_item(&entry->record, i, (lw_dtype)entry->number[i], &item);
    return 0;
}

/* Addresses and numbers of this call. */
static int
fill(lw_recalled *entry, const request *r, const lw_device_array *result)
{
    for (int i = 0; i < r->n; i++)
        if (r->kind[i] == LW_OPERAND_DEVICE)
            put_address(entry, i, (const lw_device_array *)r->input[i]);
        else if (put_number(entry, r, i) < 0)
            return -1;
    put_address(entry, r->n, result);
    return 0;
}

/* The default stream behind all who used the arrays before. */
static lw_status
order(const request *r, lw_device_array *result, lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < r->n; i++)
        if (r->kind[i] == LW_OPERAND_DEVICE)
            LW_TRY(lw_device_array_use((lw_device_array *)r->input[i], 0, err));
    LW_TRY(lw_device_array_use(result, 0, err));
fail:
    return status;
}

static lw_status
launch(lw_recalled *entry, const request *r, lw_device_array *result, lw_error *err)
{
    CUcontext before = NULL;
    lw_status status;

    LW_TRY(lw_device_visit(entry->device, &before, err));
    LW_TRY(order(r, result, err));
    LW_TRY(lw_record_launch(&entry->record, 0, err));
fail:
    lw_device_leave(before);
    return status;
}

static PyObject *
again(lw_recalled *entry, const request *r)
{
    lw_device_array *result = result_of(entry, r);
    lw_error err = {0};

    if (result == NULL)
        return NULL;
    if (fill(entry, r, result) < 0) {
        Py_CLEAR(result);
    } else if (launch(entry, r, result, &err) != LW_OK) {
        Py_CLEAR(result);
        lw_py_raise(&err);
    }
    return (PyObject *)result;
}

/* In a critical section. */
static int
find_and_launch(const lw_ufunc_head *self, const request *r, PyObject **result)
{
    lw_recalled *entry = find(self->recalled, r);

    if (entry == NULL)
        return 0;
    entry->busy = true;
    *result = again(entry, r);
    entry->busy = false;
    return 1;
}

int
lw_recall_call(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
               PyObject *kwnames, PyObject **result)
{
    request r;
    int done;

    if (!read_call(&r, self->nin, args, n_args, kwnames))
        return 0;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    done = find_and_launch(self, &r, result);
    Py_END_CRITICAL_SECTION();
    return done;
}

/* ---- remembering ---- */

/* Whether there is room for one more, or it has been long enough. */
static bool
wants_more(lw_recalled *latest)
{
    int n = 0;

    for (const lw_recalled *at = latest; at != NULL && is_valid(at); at = at->next)
        n++;
    return n < KEPT || ++latest->missed % PATIENCE == 0;
}

static bool
is_array(const lw_operand *operand)
{
    return operand->kind == LW_OPERAND_DEVICE && operand->library == LW_LIB_OWN &&
           operand->ndim <= LW_ARRAY_KEY_DIMS && operand->dtype != LW_DT_void &&
           operand->own == NULL;
}

/* The very same elements, in the same order. */
static bool
are_one(const lw_array_key *x, const lw_array_key *y)
{
    size_t bytes = x->ndim * sizeof *x->shape;

    return x->dtype == y->dtype && x->ndim == y->ndim &&
           memcmp(x->shape, y->shape, bytes) == 0 && memcmp(x->strides, y->strides, bytes) == 0;
}

static bool
fill_input(lw_recalled *entry, int i, const lw_operand *input, const lw_operand *out)
{
    if (input->kind == LW_OPERAND_FLOAT ||
        (input->kind == LW_OPERAND_INT && input->dtype == LW_DT_i64 && !input->big)) {
        entry->input[i].dtype = input->dtype;
        return true;
    }
    if (!is_array(input))
        return false;
    entry->input[i] = lw_array_key_of(input);
    if (!entry->has_out ||
        !lw_memory_spans_overlap(lw_operand_span(input), lw_operand_span(out)))
        return true;
    entry->is_out[i] = input->data == out->data && are_one(&entry->input[i], &entry->result);
    return entry->is_out[i];
}

/* Whether a call of these operands can be remembered. Fills the entry. */
static bool
fill_entry(lw_recalled *entry, const lw_device_call *call)
{
    const lw_operand *operands = call->operands;
    int n = call->self->nin;
    const lw_operand *out = &operands[n];
    const lw_device_array *made = call->made[0];

    if (n > LW_RECALL_INPUTS || !is_array(out) || (made != NULL && !made->c_contiguous))
        return false;
    entry->n = n;
    entry->has_out = made == NULL;
    entry->device = out->device;
    entry->result = lw_array_key_of(out);
    for (int i = 0; i < n; i++)
        if (!fill_input(entry, i, &operands[i], out))
            return false;
    return true;
}

static bool
are_equal(const lw_array_key *x, const lw_array_key *y)
{
    return x->device == y->device && x->misaligned == y->misaligned && are_one(x, y);
}

static bool
is_for_same(const lw_recalled *x, const lw_recalled *y)
{
    bool same = x->n == y->n && x->has_out == y->has_out && are_equal(&x->result, &y->result);

    for (int i = 0; i < x->n && same; i++)
        same = x->is_out[i] == y->is_out[i] && are_equal(&x->input[i], &y->input[i]);
    return same;
}

/* Whether there is no entry for these calls yet, and room for one: the oldest goes. */
static bool
make_room(lw_recalled **latest, const lw_recalled *entry)
{
    lw_recalled **oldest = NULL, *gone;
    int n = 0;

    for (lw_recalled **at = latest; *at != NULL; at = &(*at)->next, n++) {
        if (is_valid(*at) && is_for_same(*at, entry))
            return false;
        if (!(*at)->busy)
            oldest = at;
    }
    if (n < KEPT)
        return true;
    if (oldest == NULL)
        return false;
    gone = *oldest;
    *oldest = gone->next;
    lw_free(gone);
    return true;
}

static bool
is_plain(const lw_device_call *call)
{
    return call->self->nout == 1 && call->self->family == NULL && call->extra == NULL &&
           call->stream_object == NULL && call->where == NULL && call->casting == NULL &&
           call->dtype == NULL && call->order == NULL && call->subok == NULL &&
           call->signature == NULL && call->axes == NULL && call->axis == NULL &&
           call->keepdims == NULL && call->n_owned == 0 && call->n_host == 0 &&
           call->resolution->watch == NULL;
}

void
lw_recall_remember(const lw_device_call *call, const lw_launch_record *record,
                   const lw_image *image)
{
    size_t bytes = offsetof(lw_recalled, record) + lw_record_size(record);
    lw_recalled **latest = &call->self->recalled, *made;
    const lw_dtype *types = lw_device_call_types(call);

    if (!is_plain(call) || !wants_more(*latest) || (made = lw_alloc(bytes)) == NULL)
        return;
    memset(made, 0, offsetof(lw_recalled, record));
    if (!fill_entry(made, call) || !make_room(latest, made)) {
        lw_free(made);
        return;
    }
    for (int i = 0; i <= made->n; i++) {
        made->number[i] = (uint8_t)types[i];
        made->offset[i] = (int64_t)(record->values[record->at[i]] - call->operands[i].data);
    }
    memcpy(&made->record, record, lw_record_size(record));
    made->image = image;
    made->next = *latest;
    __atomic_store_n(latest, made, __ATOMIC_RELAXED);
}

void
lw_recall_forget(lw_recalled *latest)
{
    for (; latest != NULL; latest = latest->next)
        latest->gone = true;
}

void
lw_recall_free(lw_recalled *latest)
{
    while (latest != NULL) {
        lw_recalled *next = latest->next;
        lw_free(latest);
        latest = next;
    }
}
