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

/* An operand of a call that comes, taken apart; borrowed. */
typedef struct part {
    PyObject *object;
    lw_operand *foreign; /* NULL: no array of another library's */
    uint8_t kind;        /* lw_operand_kind */
    lw_value value;      /* of a number */
} part;

typedef struct request {
    int n;        /* inputs */
    bool has_out; /* else the last part is to be made */
    CUstream stream;
    int first; /* the first array, which says of which library the result is */
    part parts[LW_RECALL_INPUTS + 1];
    int n_foreign;
    lw_operand foreign[LW_RECALL_INPUTS + 1];
} request;

/* An array of CuPy or PyTorch. It is read here only where such a call may be remembered. */
static bool
read_foreign(request *r, part *p, bool try_foreign)
{
    lw_operand *operand = &r->foreign[r->n_foreign];

    if (!try_foreign || !lw_is_read_directly(p->object))
        return false;
    if (lw_operand_look(operand, p->object) < 0) {
        PyErr_Clear(); /* the long way says it */
        return false;
    }
    r->n_foreign++;
    p->foreign = operand;
    return operand->kind == LW_OPERAND_DEVICE && !operand->misaligned;
}

static bool
read_array(request *r, part *p, bool try_foreign)
{
    p->kind = LW_OPERAND_DEVICE;
    return lw_is_device_array(p->object) || read_foreign(r, p, try_foreign);
}

static bool
read_input(request *r, part *p, PyObject *object, bool try_foreign)
{
    int overflow = 0;

    p->object = object;
    p->foreign = NULL;
    if (PyFloat_CheckExact(object)) {
        p->kind = LW_OPERAND_FLOAT;
        p->value.f64 = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (!PyLong_CheckExact(object))
        return read_array(r, p, try_foreign);
    p->kind = LW_OPERAND_INT;
    p->value.i64 = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

static bool
read_out(request *r, PyObject *out, bool try_foreign)
{
    part *p = &r->parts[r->n];

    if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    p->object = out;
    r->has_out = out != Py_None;
    return !r->has_out || read_array(r, p, try_foreign);
}

/* The stream of the first array, if that is another library's; else the default one. */
static void
find_first(request *r)
{
    r->first = 0;
    while (r->first < r->n && r->parts[r->first].kind != LW_OPERAND_DEVICE)
        r->first++;
    r->stream = r->n_foreign > 0 && (r->first < r->n || r->has_out) &&
                        r->parts[r->first].foreign != NULL
                    ? r->parts[r->first].foreign->stream
                    : 0;
}

/* False: no call that is remembered. */
static bool
read_call(request *r, int nin, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
          bool try_foreign)
{
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    r->n_foreign = 0;
    r->has_out = false;
    if (nin > LW_RECALL_INPUTS || n_args + n_keywords < nin || n_args + n_keywords > nin + 1 ||
        n_args < nin)
        return false;
    if (n_keywords > 0 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") != 0)
        return false;
    if (n_keywords == 0 && n_args > nin && PyTuple_Check(args[nin]))
        return false; /* in place of an array it is an error */
    r->n = nin;
    r->parts[nin].foreign = NULL;
    for (int i = 0; i < nin; i++)
        if (!read_input(r, &r->parts[i], args[i], try_foreign))
            return false;
    if (n_args + n_keywords > nin && !read_out(r, args[nin], try_foreign))
        return false;
    find_first(r);
    return true;
}

static void
release(request *r)
{
    for (int i = 0; i < r->n_foreign; i++)
        lw_operand_release(&r->foreign[i]);
}

/* ---- comparing ---- */

/* Kernels from before a reset of the device are not there any more. */
static bool
is_valid(const lw_recalled *entry)
{
    return !entry->gone && lw_image_is_ready(entry->image);
}

static lw_memory_span
span_of(const part *p)
{
    return p->foreign ? lw_operand_span(p->foreign)
                      : lw_device_array_span((const lw_device_array *)p->object);
}

static CUdeviceptr
data_of(const part *p)
{
    return p->foreign ? p->foreign->data : ((const lw_device_array *)p->object)->data;
}

/* Whether the input still has the same relation to the output: the same memory, or apart. */
static bool
is_as_apart(const lw_recalled *entry, int i, const part *input, const part *out)
{
    if (entry->is_out[i])
        return data_of(input) == data_of(out);
    return !lw_memory_spans_overlap(span_of(input), span_of(out));
}

/* The dtype of a Python number, by its lw_operand_read kind. */
static uint8_t
dtype_of(uint8_t kind)
{
    return kind == LW_OPERAND_INT ? LW_DT_i64 : LW_DT_f64;
}

static bool
is_array_of(const lw_array_key *key, uint8_t library, const part *p)
{
    if (p->foreign == NULL)
        return library == LW_LIB_OWN &&
               lw_array_key_is(key, (const lw_device_array *)p->object);
    return library == p->foreign->library && lw_array_key_is_of(key, p->foreign);
}

static bool
is_input(const lw_recalled *entry, int i, const request *r)
{
    const part *p = &r->parts[i];

    if (p->kind != LW_OPERAND_DEVICE)
        return entry->input[i].device == NULL && entry->input[i].dtype == dtype_of(p->kind);
    return is_array_of(&entry->input[i], entry->library[i], p) &&
           (!r->has_out || is_as_apart(entry, i, p, &r->parts[r->n]));
}

static bool
is_output(const lw_recalled *entry, const part *out)
{
    bool readonly = out->foreign ? out->foreign->readonly
                                 : ((const lw_device_array *)out->object)->readonly;

    return !readonly && is_array_of(&entry->result, entry->library[entry->n], out);
}

static bool
is_call(const lw_recalled *entry, const request *r)
{
    if (entry->busy || !is_valid(entry) || entry->has_out != r->has_out ||
        (r->has_out && !is_output(entry, &r->parts[r->n])))
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

static void
put_address(lw_recalled *entry, int operand, CUdeviceptr address)
{
    entry->record.values[entry->record.at[operand]] =
        (uint64_t)address + (uint64_t)entry->offset[operand];
}

static int
put_number(lw_recalled *entry, const request *r, int i)
{
    const part *p = &r->parts[i];
    lw_operand operand = {
        .kind = p->kind, .dtype = dtype_of(p->kind), .object = p->object, .value = p->value};
    lw_value item;

    if (lw_operand_item(&operand, (lw_dtype)entry->number[i], &item) < 0)
        return -1;
    lw_record_set_item(&entry->record, i, (lw_dtype)entry->number[i], &item);
    return 0;
}

/* Addresses and numbers of this call. made: the new result, or NULL. */
static int
fill(lw_recalled *entry, const request *r, const lw_device_array *made)
{
    for (int i = 0; i < r->n; i++)
        if (r->parts[i].kind == LW_OPERAND_DEVICE)
            put_address(entry, i, data_of(&r->parts[i]));
        else if (put_number(entry, r, i) < 0)
            return -1;
    put_address(entry, r->n, made ? made->data : data_of(&r->parts[r->n]));
    return 0;
}

static lw_status
use(const part *p, CUstream stream, lw_error *err)
{
    if (p->foreign != NULL)
        return lw_operand_use(p->foreign, stream, err);
    return lw_device_array_use((lw_device_array *)p->object, stream, err);
}

/* The stream behind all who used the arrays before. */
static lw_status
order(const request *r, lw_device_array *made, lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < r->n; i++)
        if (r->parts[i].kind == LW_OPERAND_DEVICE)
            LW_TRY(use(&r->parts[i], r->stream, err));
    if (made != NULL)
        LW_TRY(lw_device_array_use(made, r->stream, err));
    else
        LW_TRY(use(&r->parts[r->n], r->stream, err));
fail:
    return status;
}

/* The other libraries' streams behind this one. */
static lw_status
order_after(request *r, lw_error *err)
{
    lw_status status = LW_OK;

    for (int i = 0; i < r->n_foreign; i++)
        LW_TRY(lw_operand_done(&r->foreign[i], r->stream, err));
fail:
    return status;
}

static lw_status
launch(lw_recalled *entry, request *r, lw_device_array *made, lw_error *err)
{
    CUcontext before = NULL;
    lw_status status;

    LW_TRY(lw_device_visit(entry->device, &before, err));
    LW_TRY(order(r, made, err));
    LW_TRY(lw_record_launch(&entry->record, r->stream, err));
    LW_TRY(order_after(r, err));
fail:
    lw_device_leave(before);
    return status;
}

static PyObject *
again(lw_recalled *entry, request *r)
{
    const lw_operand *first = r->parts[r->first].foreign;
    lw_device_array *made = NULL;
    lw_error err = {0};

    if (!r->has_out &&
        (made = lw_device_array_new(entry->device, r->stream, (lw_dtype)entry->result.dtype,
                                    entry->result.ndim, entry->result.shape, 'C')) == NULL)
        return NULL;
    if (fill(entry, r, made) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    if (launch(entry, r, made, &err) != LW_OK) {
        Py_XDECREF(made);
        return lw_py_raise(&err);
    }
    if (made == NULL)
        return Py_NewRef(r->parts[r->n].object);
    return first != NULL ? lw_result_wrap(first, made) : (PyObject *)made;
}

/* In a critical section. */
static int
find_and_launch(const lw_ufunc_head *self, request *r, PyObject **result)
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
    int done = 0;

    if (!read_call(&r, self->nin, args, n_args, kwnames,
                   __atomic_load_n(&self->recalls_foreign, __ATOMIC_RELAXED))) {
        release(&r);
        return 0;
    }
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    done = find_and_launch(self, &r, result);
    Py_END_CRITICAL_SECTION();
    release(&r);
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
    return operand->kind == LW_OPERAND_DEVICE &&
           (operand->library == LW_LIB_OWN || lw_is_read_directly(operand->object)) &&
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
    entry->library[i] = input->library;
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
    entry->library[n] = out->library;
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
    bool same = x->n == y->n && x->has_out == y->has_out && are_equal(&x->result, &y->result) &&
                x->library[x->n] == y->library[y->n];

    for (int i = 0; i < x->n && same; i++)
        same = x->is_out[i] == y->is_out[i] && x->library[i] == y->library[i] &&
               are_equal(&x->input[i], &y->input[i]);
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
    for (int i = 0; i <= made->n; i++)
        if (made->library[i] != LW_LIB_NONE && made->library[i] != LW_LIB_OWN)
            __atomic_store_n(&call->self->recalls_foreign, true, __ATOMIC_RELAXED);
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
