#include "core/py/numpy_api.h"

#include "reduce/device_py.h"

#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/device/load.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/link_callbacks.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/raise.h"
#include "reduce/device/device_plan.h"
#include "reduce/device/scan_kernel.h"
#include "reduce/device_parts_py.h"
#include "reduce/form_py.h"
#include "reduce/recall_py.h"

#include <assert.h>
#include <string.h>

typedef lw_reduce_device device_call;

enum { LEAST_COUNTERS = 1024 };

/* ---- kernels ---- */

void
lw_reduce_entry_free(void *item)
{
    lw_reduce_entry *entry = item;

    lw_pool_put(entry->counters);
    lw_image_drop(entry->image);
    lw_code_free(entry->code);
    lw_free(entry);
}

static lw_status
load(lw_reduce_entry *entry, const lw_module *module, const lw_build_options *options,
     lw_build_report *report, lw_error *err)
{
    uint32_t threads = 1u << (entry->key.lanes_log2 + entry->key.results_log2);
    lw_launch_config config;
    lw_status status;

    LW_TRY(lw_image_build(entry->device, module, options, &entry->image, &entry->kernel, report,
                          err));
    LW_TRY(lw_launch_config_of(entry->kernel, threads, 0, &config, err));
    entry->full_grid = config.full_grid;
fail:
    return status;
}

lw_status
lw_reduce_new_module(const lw_reduction *r, const lw_reduce_key *key, int max_registers,
                     lw_module **out, lw_error *err)
{
    return (key->scan ? lw_reduce_scan_module
                      : lw_reduce_device_module)(r, key, "lw_reduce", max_registers, out, err);
}

static lw_status
build(lw_reduce_entry *entry, const lw_reduction *r, const lw_build_options *options,
      lw_build_report *report, lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;
    void *address;

    LW_TRY(lw_reduce_new_module(r, &entry->key, options->max_registers, &module, err));
    if (entry->device != NULL) {
        LW_TRY(load(entry, module, options, report, err));
        goto fail;
    }
    entry->shared_bytes = lw_ir_shared_bytes(module);
    LW_TRY(lw_build_host(module, options, &entry->code, report, err));
    address = lw_code_symbol(entry->code, "lw_reduce");
    if (address == NULL)
        status = lw_fail(err, LW_ERR_INTERNAL, "compiled code has no lw_reduce");
    memcpy(&entry->address, &address, sizeof address);
fail:
    lw_module_free(module);
    return status;
}

typedef struct entry_key {
    const lw_device *device;
    const lw_reduce_key *key;
} entry_key;

static bool
is_usable(const void *item, const void *wanted)
{
    const lw_reduce_entry *entry = item;
    const entry_key *key = wanted;

    return entry->device == key->device &&
           memcmp(&entry->key, key->key, sizeof *key->key) == 0 &&
           (key->device == NULL || lw_image_is_ready(entry->image));
}

lw_reduce_entry *
lw_reduce_entry_of(lw_reduce_call *call, lw_device *device, const lw_reduce_key *key)
{
    lw_reducer *self = call->self;
    lw_build_options options = lw_reducer_build_options(self);
    lw_build_report report = {0};
    const entry_key wanted = {device, key};
    lw_reduce_entry *entry = lw_grown_find(&call->specialisation->entries, is_usable, &wanted);
    const lw_link_set *links = &self->links;
    lw_error err = {0};
    lw_status status;

    if (entry != NULL)
        return entry;
    if (device != NULL)
        links = lw_reducer_links(self, call->specialisation->reduction,
                                 device->cc_major * 10 + device->cc_minor);
    if (links == NULL)
        return NULL;
    options = lw_link_options(options, links);
    entry = lw_alloc_zero(1, sizeof *entry);
    if (entry == NULL)
        return (lw_reduce_entry *)PyErr_NoMemory();
    entry->key = *key;
    entry->device = device;
    Py_BEGIN_ALLOW_THREADS
    status = build(entry, call->specialisation->reduction, &options, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    if (status != LW_OK || (device != NULL && lw_link_loaded(links, entry->image) < 0)) {
        lw_reduce_entry_free(entry);
        return NULL;
    }
    lw_compiled_count((lw_compiled *)self, &report);
    lw_grown_add(&call->specialisation->entries, entry);
    return entry;
}

/* ---- device arrays ---- */

int
lw_reduce_refuse(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED,
            "%s is not supported yet for device arrays: use copy_to_host()", what);
    lw_py_raise(&err);
    return -1;
}

/* Tells whether a kernel can load each number of the records where it lies. */
static bool
is_aligned(const lw_operand *records, uint32_t n, const lw_dtype *dtype, const int64_t *offset)
{
    for (uint32_t k = 0; k < n; k++) {
        int64_t align = lw_dtype_alignment(dtype[k], NULL);
        if (lw_layout_alignment(records->ndim, records->shape, records->strides,
                                records->data + (uint64_t)offset[k], align) < align)
            return false;
    }
    return true;
}

/* Returns an array of its own with one number of each record. */
static lw_device_array *
copy_number(lw_device_array *records, lw_dtype dtype, int64_t offset)
{
    lw_device_array *copy, *view = lw_device_array_over(
                               records->device, lw_device_array_stream(records),
                               records->data + (CUdeviceptr)offset, dtype, NULL, records->ndim,
                               records->shape, records->strides, true, (PyObject *)records);

    copy = view ? lw_device_array_copy(view, 'C') : NULL;
    Py_XDECREF(view);
    return copy;
}

/* Numbers of packed records, which no kernel loads where they lie. The first takes the place of
 * the records, and is the last to do so. */
static int
copy_numbers(device_call *d, uint32_t at, uint32_t n, const lw_dtype *dtype,
             const int64_t *offset)
{
    lw_operand *first = &d->operand[at];
    lw_device_array *records = lw_operand_array(first), *copy = records;

    d->n_read += n - 1; /* those that are not reached hold nothing */
    for (uint32_t k = n; copy != NULL && k-- > 0;) {
        lw_operand *to = &d->operand[at + k];
        copy = copy_number(records, dtype[k], offset[k]);
        to->library = first->library;
        to->object = first->object;
        if (copy != NULL)
            lw_operand_replace(to, NULL, copy);
    }
    Py_XDECREF(records);
    return copy != NULL ? 0 : -1;
}

/* Numbers of records are operands of their own that share what the first one holds. */
static void
share_numbers(device_call *d, uint32_t at, uint32_t n, const lw_dtype *dtype,
              const int64_t *offset)
{
    const lw_operand *first = &d->operand[at];

    for (uint32_t k = n; k-- > 0;) { /* the first one last: the others are made of it */
        lw_operand *to = &d->operand[at + k];
        if (k > 0) {
            *to = *first;
            to->release = NULL;
            to->keep = NULL;
            to->heap = NULL;
            to->owned_descr = NULL;
        }
        to->data += (CUdeviceptr)offset[k];
        to->dtype = (uint8_t)dtype[k];
        to->itemsize = lw_dtypes[dtype[k]].size_bytes;
        to->c_contiguous = false;
    }
    d->n_read += n - 1;
}

static int
take_numbers(device_call *d, uint32_t i, uint32_t at)
{
    const lw_operand *first = &d->operand[at];
    PyArray_Descr *descr = first->descr ? first->descr : lw_descr_of((lw_dtype)first->dtype);
    lw_dtype dtype[LW_REDUCE_MOST];
    int64_t offset[LW_REDUCE_MOST];
    uint32_t n = lw_reduce_take_dtype(d->call, i, descr, dtype, offset);

    d->call->n_in += n;
    if (n == 0 || d->call->array[i].record == NULL)
        return n > 0 ? 0 : -1;
    if (!is_aligned(first, n, dtype, offset))
        return copy_numbers(d, at, n, dtype, offset);
    share_numbers(d, at, n, dtype, offset);
    return 0;
}

static int
refuse_device(const device_call *d, const char *name, const lw_device *device)
{
    return lw_operand_refuse_devices(lw_reducer_name(d->call->self),
                                     (lw_located){"argument 1", d->device},
                                     (lw_located){name, device});
}

static bool
is_number(PyObject *object)
{
    return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
           PyArray_IsScalar(object, Generic) ||
           (PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) == 0);
}

/* The stream of the call: stream=, or that of an array of another library. */
static int
find_stream(device_call *d, const lw_operand *first)
{
    PyObject *given = d->call->keywords.stream;

    d->stream = first->library == LW_LIB_OWN ? 0 : first->stream;
    return given == NULL || (lw_stream_read(given, &d->stream) == 0 &&
                             lw_stream_check(given, d->device) == 0)
               ? 0
               : -1;
}

/* The device and the stream of the first array, which numbers are copied to. */
static int
locate(device_call *d, PyObject *const *arrays, Py_ssize_t n)
{
    Py_ssize_t i = 0;
    lw_operand first;
    int status = 0;

    while (i < n && !lw_is_device_operand(arrays[i]))
        i++;
    if (i == n || lw_operand_look(&first, arrays[i]) < 0)
        return i == n ? 0 : -1;
    if (first.kind == LW_OPERAND_DEVICE) {
        d->device = first.device;
        status = find_stream(d, &first);
    }
    lw_operand_release(&first);
    return status;
}

/* Numbers beside device arrays become arrays without dimensions on their device. Such a call is
 * not remembered. */
static int
bring_numbers(device_call *d, PyObject *const *arrays, Py_ssize_t n)
{
    PyArrayObject *host;

    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_number(arrays[i]))
            continue;
        if (d->device == NULL && locate(d, arrays, n) < 0)
            return -1;
        if (d->device == NULL)
            return 0; /* there is no array: read_one complains */
        host = lw_reduce_host_array(d->call, arrays, n, (uint32_t)i);
        if (host != NULL)
            d->number[i] = lw_device_array_from_host(host, d->device, d->stream);
        Py_XDECREF(host);
        if (d->number[i] == NULL)
            return -1;
        d->recalled = NULL;
    }
    return 0;
}

/* The operand that says on which stream the call runs: a number has none of its own. */
static const lw_operand *
first_array(const device_call *d)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < LW_REDUCE_MOST && d->number[i] != NULL; i++)
        at = i + 1; /* numbers are one operand each */
    return at < d->n_read ? &d->operand[at] : &d->operand[0];
}

static int
read_one(device_call *d, uint32_t i, PyObject *object)
{
    uint32_t at = d->n_read;
    lw_operand *operand = &d->operand[at];
    char name[32];

    if (lw_operand_read(operand, object) < 0)
        return -1;
    d->n_read++;
    if (operand->kind != LW_OPERAND_DEVICE) {
        PyErr_Format(PyExc_TypeError,
                     "argument %u is not on a device, but another one is: copy it there",
                     (unsigned)i + 1);
        return -1;
    }
    if (d->device == NULL)
        d->device = operand->device;
    if (d->device != operand->device) {
        PyOS_snprintf(name, sizeof name, "argument %u", (unsigned)i + 1);
        return refuse_device(d, name, operand->device);
    }
    return take_numbers(d, i, at) < 0
               ? -1
               : lw_reduce_broadcast(d->call, operand->ndim, operand->shape);
}

/* A mask on the host is copied. Borrowed from the call, or NULL with an exception. */
static PyObject *
mask_on_device(device_call *d)
{
    PyObject *where = d->call->keywords.where;
    PyArrayObject *host;

    if (lw_is_device_operand(where))
        return where;
    host = (PyArrayObject *)PyArray_FromAny(where, PyArray_DescrFromType(NPY_BOOL), 0, 0,
                                            NPY_ARRAY_CARRAY_RO, NULL);
    if (host != NULL)
        d->mask = lw_device_array_from_host(host, d->device, d->stream);
    Py_XDECREF(host);
    return (PyObject *)d->mask;
}

static int
read_mask(device_call *d)
{
    lw_operand *operand = &d->operand[d->n_read];
    PyObject *where = d->call->keywords.where;

    if (where == NULL || where == Py_True)
        return 0;
    where = mask_on_device(d);
    if (where == NULL || lw_operand_read(operand, where) < 0)
        return -1;
    d->n_read++;
    if (operand->dtype != LW_DT_b1) {
        PyErr_Format(PyExc_TypeError, "where= must be a bool array, not one of %s",
                     operand->dtype == LW_DT_void ? "records"
                                                  : lw_dtypes[operand->dtype].public_name);
        return -1;
    }
    if (operand->device != d->device)
        return refuse_device(d, "where=", operand->device);
    d->call->masked = true;
    return lw_reduce_check_mask(d->call, operand->ndim, operand->shape);
}

static int
look_at_out(device_call *d, lw_dtype loaded)
{
    PyObject *object = lw_reduce_only_out(d->call);
    lw_operand out;
    int status = 0;

    if (object == NULL || !lw_is_device_operand(object))
        return 0;
    if (lw_operand_look(&out, object) < 0)
        return -1;
    if (out.kind == LW_OPERAND_DEVICE && out.device != d->device)
        status = refuse_device(d, "out=", out.device);
    else
        lw_reduce_widen_by_out(d->call, loaded, (lw_dtype)out.dtype);
    lw_operand_release(&out);
    return status;
}

int
lw_reduce_device_read(device_call *d, PyObject *const *arrays, Py_ssize_t n)
{
    lw_reduce_call *call = d->call;

    if (lw_reduce_check_count(call, n) < 0 || lw_reduce_read_dtype(call) < 0)
        return -1;
    if (n > 1 && bring_numbers(d, arrays, n) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_one(d, (uint32_t)i, d->number[i] ? (PyObject *)d->number[i] : arrays[i]) < 0)
            return -1;
    if (find_stream(d, first_array(d)) < 0 || lw_reduce_check_times(call, n) < 0 ||
        lw_reduce_warn_of_complex(call, n) < 0 || read_mask(d) < 0 ||
        look_at_out(d, call->array[0].dtype) < 0)
        return -1;
    call->specialisation =
        lw_reducer_specialisation(call->self, call->array, (uint32_t)n, call->dtype);
    return call->specialisation ? 0 : -1;
}

/* ---- the job on device addresses ---- */

static void
fill_operand(device_call *d, uint32_t i, bool dense)
{
    lw_reduce_call *call = d->call;
    const lw_operand *operand = &d->operand[i];
    lw_reduce_job *job = &call->job;
    int n_kept = 0, n_reduced = 0, at = 0;
    int64_t strides[LW_REDUCE_DIMS];

    for (int a = 0; a < call->ndim; a++) {
        int own = a - (call->ndim - operand->ndim);
        bool walks = own >= 0 && operand->shape[own] != 1;
        strides[a] = walks ? operand->strides[own] : 0;
    }
    job->operand[i] = (char *)(uintptr_t)(dense ? d->copy[i]->data : operand->data);
    for (int pass = 0; pass < 2; pass++) /* a copy has the kept axes first */
        for (int a = 0; a < call->ndim; a++) {
            if (call->reduced[a] != pass)
                continue;
            if (pass == 0)
                job->kept.stride[i][n_kept++] = dense ? d->copy[i]->strides[at] : strides[a];
            else
                job->reduced.stride[i][n_reduced++] =
                    dense ? d->copy[i]->strides[at] : strides[a];
            at++;
        }
}

static void
fill_job(device_call *d, bool dense)
{
    lw_reduce_call *call = d->call;
    lw_reduce_job *job = &call->job;

    job->reduction = call->specialisation->reduction;
    job->kept.n = job->reduced.n = 0;
    for (int a = 0; a < call->ndim; a++) {
        lw_reduce_space *space = call->reduced[a] ? &job->reduced : &job->kept;
        space->size[space->n++] = call->shape[a];
    }
    memset(job->operand, 0, sizeof job->operand);
    for (uint32_t i = 0; i < d->n_read; i++)
        fill_operand(d, i, dense);
    for (uint32_t i = 0; i < job->reduction->n_out; i++)
        job->out[i] = (char *)(uintptr_t)d->result[i]->data;
    job->initial = call->has_initial ? call->initial : NULL;
    job->empty = call->has_empty ? call->empty : NULL;
    job->max_threads = (uint32_t)call->self->options.max_blocksize;
}

lw_device_array *
lw_reduce_dense_copy(device_call *d, uint32_t i)
{
    const lw_reduce_call *call = d->call;
    lw_operand *operand = &d->operand[i];
    lw_device_array *array = lw_operand_array(operand), *view = NULL, *made = NULL;
    int64_t shape[LW_REDUCE_DIMS], strides[LW_REDUCE_DIMS];
    lw_error err = {0};
    int n = 0;

    for (int pass = 0; pass < 2 && array != NULL; pass++)
        for (int a = 0; a < call->ndim; a++) {
            int own = a - (call->ndim - operand->ndim);
            bool walks = own >= 0 && operand->shape[own] != 1;
            if (call->reduced[a] != pass)
                continue;
            shape[n] = call->shape[a];
            strides[n++] = walks ? operand->strides[own] : 0;
        }
    if (array != NULL)
        view = lw_device_array_view(array, operand->data, n, shape, strides);
    if (view != NULL && view->dtype != operand->dtype) /* a number of records */
        Py_SETREF(view, lw_device_array_over(d->device, d->stream, operand->data,
                                             (lw_dtype)operand->dtype, NULL, n, shape, strides,
                                             true, (PyObject *)array));
    if (view != NULL)
        made =
            lw_device_array_new(d->device, d->stream, (lw_dtype)operand->dtype, n, shape, 'C');
    if (made != NULL && lw_device_array_use(array, d->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        Py_CLEAR(made);
    }
    if (made != NULL && lw_device_array_hooks.copy_strided(made, view, d->stream) < 0)
        Py_CLEAR(made);
    Py_XDECREF(view);
    Py_XDECREF(array);
    return made;
}

static int
copy_all(device_call *d)
{
    for (uint32_t i = 0; i < d->n_read; i++) {
        d->copy[i] = lw_reduce_dense_copy(d, i);
        if (d->copy[i] == NULL)
            return -1;
    }
    fill_job(d, true);
    return 0;
}

static int
new_results(device_call *d)
{
    int keepdims = lw_reduce_read_flag(d->call->keywords.keepdims, "keepdims");
    int64_t shape[LW_REDUCE_DIMS];
    int ndim;

    if (keepdims < 0)
        return -1;
    ndim = lw_reduce_shape(d->call, keepdims, shape);
    return lw_reduce_device_results(d, ndim, shape);
}

/* ---- launching ---- */

int
lw_reduce_launch(device_call *d, lw_reduce_launching launching, void *context)
{
    lw_status status = LW_OK;
    CUcontext before = NULL;
    lw_error err = {0};

    LW_TRY(lw_device_visit(d->device, &before, &err));
    for (uint32_t i = 0; i < d->n_read; i++)
        LW_TRY(lw_operand_use(&d->operand[i], d->stream, &err));
    LW_TRY(launching(d, context, &err));
    for (uint32_t i = 0; i < d->n_read; i++)
        LW_TRY(lw_operand_done(&d->operand[i], d->stream, &err));
fail:
    lw_device_leave(before);
    if (status == LW_OK)
        return 0;
    lw_py_raise(&err);
    return -1;
}

lw_status
lw_reduce_launch_words(const lw_reduce_entry *entry, const lw_launch_shape *shape,
                       uint64_t *words, uint32_t n, lw_error *err)
{
    void *params[LW_REDUCE_MOST_PARAMS];

    assert(n <= LW_REDUCE_MOST_PARAMS);
    for (uint32_t i = 0; i < n; i++)
        params[i] = &words[i];
    return lw_launch(entry->kernel, shape, params, err);
}

/* The counters of a launch, which are 0 and will be again behind it. Launches on the default
 * stream come one after another and share theirs; others have them behind their own memory. */
static lw_status
counters_of(lw_reduce_entry *entry, const lw_reduce_plan *plan, CUstream stream,
            const lw_block *memory, CUdeviceptr *out, lw_error *err)
{
    size_t n = (size_t)plan->tiles;
    lw_status status = LW_OK;
    lw_block *made = NULL;

    if (stream != 0) {
        *out = memory->address + plan->counters_at;
        return lw_fill(&(lw_copy_queue){entry->device, stream, false}, *out, 0, 4, n, err);
    }
    if (entry->counters == NULL || entry->counters->size_bytes < 4 * n) {
        lw_pool_put(entry->counters);
        entry->counters = NULL;
        n = n < LEAST_COUNTERS ? LEAST_COUNTERS : n;
        LW_TRY(lw_pool_take(entry->device, 4 * n, stream, &made, err));
        LW_TRY(lw_fill(&(lw_copy_queue){entry->device, stream, false}, made->address, 0, 4, n,
                       err));
        entry->counters = made;
        made = NULL;
    }
    *out = entry->counters->address;
fail:
    lw_pool_put(made);
    return status;
}

lw_status
lw_reduce_launch_job(lw_reduce_entry *entry, const lw_reduce_plan *plan,
                     const lw_reduce_job *job, CUstream stream, lw_block **memory,
                     lw_error *err)
{
    uint64_t words[LW_REDUCE_MOST_PARAMS];
    lw_status status = LW_OK;
    CUdeviceptr counters = 0;
    uint32_t n;

    if (plan->partial_bytes) {
        LW_TRY(lw_pool_take(entry->device, plan->partial_bytes, stream, memory, err));
        LW_TRY(counters_of(entry, plan, stream, *memory, &counters, err));
    }
    n = lw_reduce_plan_words(job, plan, *memory ? (*memory)->address : 0, counters, words);
    LW_TRY(lw_reduce_launch_words(
        entry,
        &(lw_launch_shape){.grid = {(uint32_t)plan->tiles, (uint32_t)plan->splits, 1},
                           .block = {plan->threads, 1, 1},
                           .stream = stream},
        words, n, err));
fail:
    return status;
}

typedef struct planned_job {
    lw_reduce_entry *entry;
    lw_reduce_plan plan;
} planned_job;

static lw_status
launch_job(device_call *d, void *context, lw_error *err)
{
    planned_job *p = context;

    return lw_reduce_launch_job(p->entry, &p->plan, &d->call->job, d->stream, &d->memory, err);
}

int
lw_reduce_run_job(device_call *d)
{
    planned_job p;

    if (!lw_reduce_plan_of(&d->call->job, 1, &p.plan))
        return lw_reduce_refuse("an array of these strides");
    p.entry = lw_reduce_entry_of(d->call, d->device, &p.plan.key);
    if (p.entry == NULL)
        return -1;
    lw_reduce_plan_of(&d->call->job, p.entry->full_grid, &p.plan);
    if (p.plan.tiles > INT32_MAX)
        return lw_reduce_refuse("so many results");
    if (lw_reduce_launch(d, launch_job, &p) < 0)
        return -1;
    lw_reduce_remember_job(d, p.entry, &p.plan);
    return 0;
}

static int
run(device_call *d)
{
    lw_reduce_plan plan;

    fill_job(d, false);
    if (!lw_reduce_plan_of(&d->call->job, 1, &plan) && copy_all(d) < 0)
        return -1;
    return lw_reduce_run_job(d);
}

/* ---- nothing to reduce ---- */

/* The result of nothing is made on the host, and all results are filled with it. */
static int
fill_empty(device_call *d)
{
    lw_reduce_call *call = d->call;
    const lw_reduction *r = call->specialisation->reduction;
    lw_reduce_item item[LW_REDUCE_MOST];
    lw_error err = {0};

    if (lw_reducer_host(call->self, call->specialisation) < 0)
        return -1;
    call->job.reduction = r;
    call->job.code = &call->specialisation->host;
    call->job.kept.n = 0;
    call->job.reduced.n = 1;
    call->job.reduced.size[0] = 0;
    call->job.empty = call->empty;
    for (uint32_t i = 0; i < r->n_out; i++)
        call->job.out[i] = (char *)item[i].bytes;
    if (lw_reduce_run(&call->job, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    for (uint32_t i = 0; i < r->n_out; i++)
        if (lw_device_array_hooks.fill_strided(d->result[i], item[i].bytes, d->stream) < 0)
            return -1;
    return 0;
}

/* ---- the call ---- */

static PyObject *
reduce(device_call *d, void *context)
{
    PyObject *args = context;
    int64_t shape[LW_REDUCE_DIMS], results = 1;
    int ndim;

    d->recalled = &d->call->self->recalled[LW_RECALL_CALL];
    if (lw_reduce_device_read(d, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args)) < 0 ||
        lw_reduce_check_out_count(d) < 0 ||
        lw_reduce_read_axes(d->call, d->call->keywords.axis) < 0 ||
        lw_reduce_read_initial(d->call) < 0 || lw_reduce_check_empty(d->call) < 0 ||
        new_results(d) < 0)
        return NULL;
    ndim = lw_reduce_shape(d->call, false, shape);
    for (int i = 0; i < ndim; i++)
        results *= shape[i];
    if (results > 0 && (lw_reduce_n_reduced(d->call) > 0 ? run(d) : fill_empty(d)) < 0)
        return NULL;
    return lw_reduce_device_hand_out(d);
}

PyObject *
lw_reduce_device_call(lw_reduce_call *call, lw_reduce_device_action action, void *context)
{
    device_call *d = lw_alloc_zero(1, sizeof *d);
    PyObject *result;

    if (d == NULL)
        return PyErr_NoMemory();
    d->call = call;
    result = action(d, context);
    lw_pool_put(d->memory);
    for (uint32_t i = 0; i < d->n_read; i++)
        lw_operand_release(&d->operand[i]);
    for (uint32_t i = 0; i < LW_REDUCE_MOST; i++)
        Py_CLEAR(d->result[i]);
    for (uint32_t i = 0; i <= LW_REDUCE_MOST; i++)
        Py_CLEAR(d->copy[i]);
    for (uint32_t i = 0; i < LW_REDUCE_MOST; i++)
        Py_CLEAR(d->number[i]);
    Py_CLEAR(d->mask);
    lw_free(d);
    return result;
}

PyObject *
lw_reduce_on_device(lw_reduce_call *call, PyObject *args)
{
    return lw_reduce_device_call(call, reduce, args);
}
