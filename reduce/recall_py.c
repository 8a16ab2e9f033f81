#include "core/py/numpy_api.h"

#include "reduce/recall_py.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/py/array/array_key.h"
#include "core/py/raise.h"

#include <string.h>

enum {
    MOST_INPUTS = 4, /* of a call */
    KEPT = 4,        /* entries of an object */
    PATIENCE = 8     /* every so many calls of other kinds one takes the oldest's place */
};

typedef struct lw_reduce_recall {
    struct lw_reduce_recall *next;
    bool busy;      /* under way; the critical section may have been left meanwhile */
    uint8_t missed; /* in the latest: calls since then that were not remembered */
    uint32_t n;     /* arrays */
    int64_t axis;
    lw_dtype dtype; /* as dtype= said; void: nothing */
    lw_array_key array[MOST_INPUTS];
    bool has_out;
    lw_array_key result;
    lw_reduce_entry *entry;
    bool is_scan;
    /* addresses in these are the last call's */
    lw_reduce_plan plan;
    lw_reduce_job job;
    lw_reduce_scan_plan scan_plan;
    lw_reduce_scan scan;
} recall;

/* A call that comes, taken apart. */
typedef struct request {
    lw_device_array *array[MOST_INPUTS];
    uint32_t n;
    int64_t axis;
    lw_dtype dtype;
    bool has_axis; /* behind the arrays */
    PyObject *out; /* exactly a DeviceArray, or NULL */
} request;

/* ---- reading a call ---- */

bool
lw_reduce_recalled_axis(PyObject *axis, int64_t *out)
{
    int overflow = 0;

    *out = LW_REDUCE_NO_AXIS;
    if (axis == NULL || axis == Py_None)
        return true;
    if (!PyLong_CheckExact(axis))
        return false;
    *out = PyLong_AsLongAndOverflow(axis, &overflow);
    return overflow == 0 && *out > -LW_MAX_DIMS - 1 && *out < LW_MAX_DIMS;
}

/* Types and strings, from which a dtype would be made, go the long way. */
bool
lw_reduce_recalled_dtype(PyObject *dtype, lw_dtype *out)
{
    *out = LW_DT_void;
    if (dtype == NULL || dtype == Py_None)
        return true;
    if (!PyArray_DescrCheck(dtype))
        return false;
    *out = lw_dtype_of_descr((PyArray_Descr *)dtype);
    return *out != LW_DT_void;
}

bool
lw_reduce_says_nothing(PyObject *name, PyObject *value)
{
    if (value == Py_Ellipsis)
        return PyUnicode_CompareWithASCIIString(name, "initial") == 0;
    if (value == Py_True)
        return PyUnicode_CompareWithASCIIString(name, "where") == 0;
    return value == Py_False && PyUnicode_CompareWithASCIIString(name, "keepdims") == 0;
}

/* axis=, out=, dtype=, and others that say what leaving them out says. */
static bool
read_keyword(request *r, int which, PyObject *name, PyObject *value)
{
    if (PyUnicode_CompareWithASCIIString(name, "axis") == 0)
        return !r->has_axis && lw_reduce_recalled_axis(value, &r->axis);
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        r->out = value == Py_None ? NULL : value;
        return r->out == NULL || lw_is_device_array(r->out);
    }
    if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0)
        return lw_reduce_recalled_dtype(value, &r->dtype);
    return which != LW_RECALL_ACCUMULATE && lw_reduce_says_nothing(name, value);
}

static bool
read_request(request *r, const lw_reducer *self, int which, PyObject *const *args,
             Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n = n_args;
    uint32_t wanted = lw_reducer_n_arrays(self);

    r->axis = LW_REDUCE_NO_AXIS;
    r->dtype = LW_DT_void;
    r->out = NULL;
    if (which == LW_RECALL_ACCUMULATE)
        n = wanted ? wanted : 1;
    r->has_axis = n_args > n;
    if (n < 1 || n > MOST_INPUTS || n_args < n || n_args > n + 1)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!lw_is_device_array(args[i]))
            return false;
        r->array[i] = (lw_device_array *)args[i];
    }
    r->n = (uint32_t)n;
    if (r->has_axis && !lw_reduce_recalled_axis(args[n], &r->axis))
        return false;
    for (Py_ssize_t i = 0; i < n_keywords; i++)
        if (!read_keyword(r, which, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]))
            return false;
    return true;
}

/* ---- comparing ---- */

/* Whether out= gave an array like the one that the kernel wrote to at once. */
static bool
is_result(const recall *call, const request *r)
{
    const lw_device_array *out = (const lw_device_array *)r->out;

    if (out->readonly || !lw_array_key_is(&call->result, out))
        return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (lw_memory_spans_overlap(lw_device_array_span(out),
                                    lw_device_array_span(r->array[i])))
            return false;
    return true;
}

static bool
is_call(const recall *call, const request *r)
{
    if (call->busy || call->n != r->n || call->axis != r->axis || call->dtype != r->dtype ||
        call->has_out != (r->out != NULL) || !lw_image_is_ready(call->entry->image))
        return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (!lw_array_key_is(&call->array[i], r->array[i]))
            return false;
    return r->out == NULL || is_result(call, r);
}

/* ---- doing it again ---- */

static lw_status
launch(recall *call, const request *r, lw_device_array *result, lw_block **memory,
       lw_error *err)
{
    CUstream stream = 0;
    CUcontext before = NULL;
    lw_status status = LW_OK;

    LW_TRY(lw_device_visit(call->entry->device, &before, err));
    for (uint32_t i = 0; i < r->n; i++)
        LW_TRY(lw_device_array_use(r->array[i], stream, err));
    LW_TRY(lw_device_array_use(result, stream, err));
    for (uint32_t i = 0; i < r->n; i++) {
        call->job.operand[i] = (char *)(uintptr_t)r->array[i]->data;
        call->scan.operand[i] = (char *)(uintptr_t)r->array[i]->data;
    }
    call->job.out[0] = call->scan.out[0] = (char *)(uintptr_t)result->data;
    if (call->is_scan)
        LW_TRY(lw_reduce_launch_scan(call->entry, &call->scan_plan, &call->scan, stream, memory,
                                     err));
    else
        LW_TRY(lw_reduce_launch_job(call->entry, &call->plan, &call->job, stream, memory, err));
fail:
    lw_device_leave(before);
    return status;
}

static PyObject *
again(recall *call, const request *r)
{
    lw_device_array *result = (lw_device_array *)Py_XNewRef(r->out);
    lw_block *memory = NULL;
    lw_error err = {0};

    if (result == NULL)
        result = lw_device_array_new(call->result.device, 0, (lw_dtype)call->result.dtype,
                                     call->result.ndim, call->result.shape, 'C');
    if (result != NULL && launch(call, r, result, &memory, &err) != LW_OK) {
        Py_CLEAR(result);
        lw_py_raise(&err);
    }
    lw_pool_put(memory);
    return (PyObject *)result;
}

/* In a critical section. */
static int
recall_request(lw_reducer *self, int which, const request *r, PyObject **result)
{
    recall *call = self->recalled[which];

    while (call != NULL && !is_call(call, r))
        call = call->next;
    if (call == NULL)
        return 0;
    call->busy = true;
    *result = again(call, r);
    call->busy = false;
    return 1;
}

int
lw_reduce_recall(lw_reducer *self, int which, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *kwnames, PyObject **result)
{
    request r;
    int done;

    if (__atomic_load_n(&self->recalled[which], __ATOMIC_RELAXED) == NULL ||
        !read_request(&r, self, which, args, n_args, kwnames))
        return 0;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    done = recall_request(self, which, &r, result);
    Py_END_CRITICAL_SECTION();
    return done;
}

/* ---- remembering ---- */

static bool
says_nothing(const lw_reduce_keywords *k)
{
    return (k->keepdims == NULL || k->keepdims == Py_False) &&
           (k->where == NULL || k->where == Py_True) &&
           (k->initial == NULL || k->initial == Py_Ellipsis) && k->stream == NULL &&
           k->size == NULL && k->res == NULL && k->exclusive == NULL && !k->keeps_arrays;
}

static bool
is_plain_array(const lw_reduce_device *d, uint32_t i)
{
    const lw_operand *operand = &d->operand[i];

    return operand->library == LW_LIB_OWN && operand->ndim <= LW_ARRAY_KEY_DIMS &&
           operand->own == NULL && d->copy[i] == NULL && d->call->array[i].record == NULL;
}

static bool
is_plain(const lw_reduce_device *d)
{
    const lw_reduce_call *call = d->call;
    const lw_reduction *r = call->specialisation->reduction;
    PyObject *out = call->keywords.out;
    bool plain = d->recalled != NULL && says_nothing(&call->keywords) &&
                 d->n_read <= MOST_INPUTS && r->n_out == 1 && r->out_form.n_nodes == 1 &&
                 r->out_form.node[0].kind == LW_REDUCE_NUMBER &&
                 d->result[0]->ndim <= LW_ARRAY_KEY_DIMS &&
                 (out == NULL || out == Py_None || (lw_is_device_array(out) && d->in_out[0]));

    for (uint32_t i = 0; i < d->n_read && plain; i++)
        plain = is_plain_array(d, i);
    return plain;
}

/* Room, unset: new, or that of the oldest, which goes every so many calls of other kinds. NULL:
 * not now. */
static recall *
place(recall **latest)
{
    recall **at = latest, **oldest = NULL, *taken;
    int n = 0;

    for (; *at != NULL; at = &(*at)->next, n++)
        if (!(*at)->busy)
            oldest = at;
    if (n < KEPT)
        return lw_alloc(sizeof(recall));
    if (oldest == NULL || ++(*latest)->missed % PATIENCE != 0)
        return NULL;
    taken = *oldest;
    *oldest = taken->next;
    return taken;
}

static recall *
remember(lw_reduce_device *d, lw_reduce_entry *entry)
{
    const lw_device_array *result = d->result[0];
    const lw_reduce_keywords *k = &d->call->keywords;
    lw_dtype dtype;
    int64_t axis;
    recall *made;

    if (!is_plain(d) || !lw_reduce_recalled_axis(k->axis, &axis) ||
        !lw_reduce_recalled_dtype(k->dtype, &dtype))
        return NULL;
    made = place(d->recalled);
    if (made == NULL)
        return NULL;
    made->busy = made->is_scan = false;
    made->missed = 0;
    made->n = d->n_read;
    made->axis = axis;
    made->dtype = dtype;
    for (uint32_t i = 0; i < d->n_read; i++)
        made->array[i] = lw_array_key_of(&d->operand[i]);
    made->has_out = d->in_out[0];
    made->result = lw_array_key_of_array(result);
    made->entry = entry;
    made->next = *d->recalled;
    __atomic_store_n(d->recalled, made, __ATOMIC_RELAXED);
    return made;
}

static void
copy_space(lw_reduce_space *to, const lw_reduce_space *from, uint32_t n_operands)
{
    to->n = from->n;
    for (int d = 0; d < from->n; d++) {
        to->size[d] = from->size[d];
        for (uint32_t i = 0; i < n_operands; i++)
            to->stride[i][d] = from->stride[i][d];
    }
}

/* Copies a simplified job: what nothing gives is the call's own, and not asked for. */
static void
copy_job(lw_reduce_job *to, const lw_reduce_job *from, uint32_t n)
{
    to->reduction = from->reduction;
    to->code = NULL;
    to->initial = to->empty = NULL;
    to->max_threads = from->max_threads;
    copy_space(&to->kept, &from->kept, n);
    copy_space(&to->reduced, &from->reduced, n);
    memcpy(to->operand, from->operand, sizeof to->operand);
    memcpy(to->out, from->out, sizeof to->out);
}

void
lw_reduce_remember_job(lw_reduce_device *d, lw_reduce_entry *entry, const lw_reduce_plan *plan)
{
    recall *made;

    if (plan->key.initial || plan->key.masked)
        return;
    made = remember(d, entry);
    if (made == NULL)
        return;
    made->plan = *plan;
    copy_job(&made->job, &d->call->job, d->n_read);
}

void
lw_reduce_remember_scan(lw_reduce_device *d, lw_reduce_entry *entry,
                        const lw_reduce_scan_plan *plan, const lw_reduce_scan *scan)
{
    recall *made = scan->seed == NULL && !scan->before ? remember(d, entry) : NULL;

    if (made == NULL)
        return;
    made->is_scan = true;
    made->scan_plan = *plan;
    made->scan = *scan;
}

void
lw_reduce_recalls_free(recall *latest)
{
    while (latest != NULL) {
        recall *next = latest->next;
        lw_free(latest);
        latest = next;
    }
}
