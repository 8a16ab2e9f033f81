#include "core/py/compiled/recall.h"

#include "core/base/memory.h"
#include "core/device/module.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- one array ---- */

lw_array_key
lw_array_key_of(const lw_operand *operand)
{
    lw_array_key key = {.device = operand->device,
                        .dtype = operand->dtype,
                        .ndim = (uint8_t)operand->ndim,
                        .misaligned = operand->data % LW_RECALL_ALIGN};

    memcpy(key.shape, operand->shape, (size_t)operand->ndim * sizeof *key.shape);
    memcpy(key.strides, operand->strides, (size_t)operand->ndim * sizeof *key.strides);
    return key;
}

bool
lw_array_key_is(const lw_array_key *key, const lw_device_array *array)
{
    if (key->dtype != array->dtype || key->ndim != array->ndim ||
        key->device != array->device || key->misaligned != array->data % LW_RECALL_ALIGN)
        return false;
    for (int d = 0; d < array->ndim; d++)
        if (key->shape[d] != array->shape[d] || key->strides[d] != array->strides[d])
            return false;
    return true;
}

/* ---- reading a call ---- */

static bool
read_input(lw_recall_request *r, int i, PyObject *object)
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
read_out(lw_recall_request *r, PyObject *out)
{
    if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    r->out = out == Py_None ? NULL : (lw_device_array *)out;
    return out == Py_None || lw_is_device_array(out);
}

/* False: no call that is remembered. */
static bool
read_call(lw_recall_request *r, int nin, PyObject *const *args, Py_ssize_t n_args,
          PyObject *kwnames)
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

static lw_reach
reach_of(const lw_device_array *x)
{
    return lw_reach_of(x->ndim, x->shape, x->strides, x->itemsize, x->data);
}

/* Kernels from before a reset of the device are not there any more. */
static bool
is_valid(const lw_recalled *entry)
{
    return !entry->gone && lw_image_is_alive(entry->image);
}

/* Whether the input lies to the output as it did: the same memory, or apart. */
static bool
is_as_apart(const lw_recalled *entry, int i, const lw_device_array *input,
            const lw_device_array *out)
{
    if (entry->is_out[i])
        return input->data == out->data;
    return !lw_reaches_meet(reach_of(input), reach_of(out));
}

/* The dtype of a Python number, by its lw_operand_read kind. */
static uint8_t
dtype_of(uint8_t kind)
{
    return kind == LW_OPERAND_INT ? LW_DT_i64 : LW_DT_f64;
}

static bool
is_input(const lw_recalled *entry, int i, const lw_recall_request *r)
{
    const lw_device_array *array = (const lw_device_array *)r->input[i];

    if (r->kind[i] != LW_OPERAND_DEVICE)
        return entry->input[i].device == NULL && entry->input[i].dtype == dtype_of(r->kind[i]);
    return lw_array_key_is(&entry->input[i], array) &&
           (r->out == NULL || is_as_apart(entry, i, array, r->out));
}

static bool
is_call(const lw_recalled *entry, const lw_recall_request *r)
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
find(lw_recalled *latest, const lw_recall_request *r)
{
    while (latest != NULL && !is_call(latest, r))
        latest = latest->next;
    return latest;
}

/* ---- doing it again ---- */

/* What out= gave, or a new array. NULL with an exception. */
static lw_device_array *
result_of(const lw_recalled *entry, const lw_recall_request *r)
{
    if (r->out != NULL)
        return (lw_device_array *)Py_NewRef((PyObject *)r->out);
    return lw_device_array_new(entry->device, 0, (lw_dtype)entry->result.dtype,
                               entry->result.ndim, entry->result.shape, 'C');
}

/* The default stream behind all who used the arrays before. */
static lw_status
order(const lw_recall_request *r, lw_device_array *result, lw_error *err)
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
launch(lw_recalled *entry, const lw_recall_door *door, const lw_recall_request *r,
       lw_device_array *result, lw_error *err)
{
    CUcontext before = NULL;
    lw_status status;

    LW_TRY(lw_device_visit(entry->device, &before, err));
    LW_TRY(order(r, result, err));
    LW_TRY(door->launch(entry, err));
fail:
    lw_device_leave(before);
    return status;
}

static PyObject *
again(lw_recalled *entry, const lw_recall_door *door, const lw_recall_request *r)
{
    lw_device_array *result = result_of(entry, r);
    lw_error err = {0};

    if (result == NULL)
        return NULL;
    if (door->fill(entry, r, result) < 0) {
        Py_CLEAR(result);
    } else if (launch(entry, door, r, result, &err) != LW_OK) {
        Py_CLEAR(result);
        lw_py_raise(&err);
    }
    return (PyObject *)result;
}

int
lw_recall_call(lw_recalled *latest, const lw_recall_door *door, int nin, PyObject *const *args,
               Py_ssize_t n_args, PyObject *kwnames, PyObject **result)
{
    lw_recall_request r;
    lw_recalled *entry;

    if (!read_call(&r, nin, args, n_args, kwnames))
        return 0;
    entry = find(latest, &r);
    if (entry == NULL)
        return 0;
    entry->busy = true;
    *result = again(entry, door, &r);
    entry->busy = false;
    return 1;
}

int
lw_recall_item(const lw_recall_request *r, int i, lw_dtype dtype, lw_value *out)
{
    lw_operand operand = {.kind = r->kind[i],
                          .dtype = dtype_of(r->kind[i]),
                          .object = r->input[i],
                          .value = r->value[i]};

    return lw_operand_item(&operand, dtype, out);
}

/* ---- remembering ---- */

bool
lw_recall_wants(lw_recalled *latest)
{
    int n = 0;

    for (const lw_recalled *at = latest; at != NULL && is_valid(at); at = at->next)
        n++;
    return n < LW_RECALL_KEPT || ++latest->missed % LW_RECALL_PATIENCE == 0;
}

static bool
is_array(const lw_operand *operand)
{
    return operand->kind == LW_OPERAND_DEVICE && operand->library == LW_LIB_OWN &&
           operand->ndim <= LW_RECALL_DIMS && operand->dtype != LW_DT_void &&
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
    if (!entry->has_out || !lw_reaches_meet(lw_operand_reach(input), lw_operand_reach(out)))
        return true;
    entry->is_out[i] = input->data == out->data && are_one(&entry->input[i], &entry->result);
    return entry->is_out[i];
}

bool
lw_recall_fill(lw_recalled *entry, const lw_operand *operands, int n,
               const lw_device_array *made)
{
    const lw_operand *out = &operands[n];

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

lw_recalled *
lw_recall_place(lw_recalled **latest, size_t size_bytes, const lw_recalled *head)
{
    lw_recalled **at = latest, **oldest = NULL, *taken = NULL;
    int n = 0;

    for (; *at != NULL; at = &(*at)->next, n++) {
        if (is_valid(*at) && is_for_same(*at, head))
            return NULL;
        if (!(*at)->busy)
            oldest = at;
    }
    if (n < LW_RECALL_KEPT) {
        taken = lw_alloc(size_bytes);
    } else if (oldest != NULL) {
        taken = *oldest;
        *oldest = taken->next;
    }
    if (taken == NULL)
        return NULL;
    *taken = *head;
    taken->next = *latest;
    *latest = taken;
    return taken;
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
