/* Contents of device arrays. What is contiguous, or falls into a few contiguous runs, goes by
 * the driver's copies and memsets, with no kernel; what is strided beyond that goes through the
 * hooks that the ufuncs register. Host memory laid out otherwise than the device's is repacked
 * on the host. Copies between overlapping views go by way of a dense copy. */
#include "core/py/array/device_array_internal.h"

#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"

#include <assert.h>
#include <string.h>

/* Up to this many contiguous runs a strided copy is made of driver copies: each costs about as
 * much as a kernel launch, so more are better done by one kernel. */
#define MAX_RUNS 32

/* ---- runs: the contiguous pieces of two layouts of the same shape ---- */

typedef struct runs {
    int ndim; /* outer axes; their indices below */
    int64_t n, n_bytes;
    int64_t index[LW_MAX_DIMS];
} runs;

static runs
runs_of(int ndim, const int64_t *shape, const int64_t *a, const int64_t *b, int64_t itemsize)
{
    runs out = {.ndim = ndim, .n = 1, .n_bytes = itemsize};

    while (out.ndim > 0) {
        int i = out.ndim - 1;
        if (shape[i] != 1 && (a[i] != out.n_bytes || b[i] != out.n_bytes))
            break;
        out.n_bytes *= shape[i];
        out.ndim--;
    }
    for (int i = 0; i < out.ndim; i++)
        if (__builtin_mul_overflow(out.n, shape[i], &out.n))
            out.n = INT64_MAX;
    return out;
}

/* Step to the next run; offsets of both layouts move along. */
static void
runs_next(runs *self, const int64_t *shape, const int64_t *a, const int64_t *b, int64_t *at_a,
          int64_t *at_b)
{
    for (int i = self->ndim - 1; i >= 0; i--) {
        *at_a += a[i];
        *at_b += b[i];
        if (++self->index[i] < shape[i])
            return;
        *at_a -= a[i] * shape[i];
        *at_b -= b[i] * shape[i];
        self->index[i] = 0;
    }
}

static int
need_kernels(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED,
            "%s of a strided device array needs a kernel, and none is "
            "registered",
            what);
    return lw_array_fail(&err);
}

static int
use(lw_device_array *array, CUstream stream)
{
    lw_error err = {0};

    return lw_device_array_use(array, stream, &err) == LW_OK ? 0 : lw_array_fail(&err);
}

/* ---- device to host ---- */

static int
pull(lw_device_array *array, CUdeviceptr from, void *to, int64_t n_bytes, CUstream stream,
     bool wait)
{
    lw_error err = {0};
    lw_status status;

    if (n_bytes == 0)
        return 0;
    if (use(array, stream) < 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = lw_copy_to_host(&(lw_copy_queue){array->device, stream, wait}, to, from,
                             (size_t)n_bytes, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_array_fail(&err);
    return wait ? lw_check_errors() : 0;
}

static PyArrayObject *
host_array(PyArray_Descr *descr, int ndim, const int64_t *shape, const int64_t *strides,
           void *data)
{
    npy_intp dims[LW_MAX_DIMS], steps[LW_MAX_DIMS];

    for (int i = 0; i < ndim; i++) {
        dims[i] = (npy_intp)shape[i];
        steps[i] = strides != NULL ? (npy_intp)strides[i] : 0;
    }
    Py_INCREF(descr); /* stolen, also on failure */
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims,
                                                 strides != NULL ? steps : NULL, data,
                                                 /* flags on NULL data would mean F order */
                                                 data != NULL ? NPY_ARRAY_WRITEABLE : 0, NULL);
}

/* A host array laid out as the device array (of `n_bytes` from `low`), over *room, which the
 * caller frees after it. */
static PyArrayObject *
staging_like(lw_device_array *array, int64_t low, int64_t n_bytes, char **room)
{
    PyArrayObject *staging;

    *room = lw_alloc((size_t)n_bytes);
    if (*room == NULL)
        return (PyArrayObject *)PyErr_NoMemory();
    staging = host_array(array->descr, array->ndim, array->shape, array->strides, *room - low);
    if (staging == NULL) {
        lw_free(*room);
        *room = NULL;
    }
    return staging;
}

static bool
same_layout(lw_device_array *array, PyArrayObject *host)
{
    if (array->c_contiguous && PyArray_IS_C_CONTIGUOUS(host))
        return true;
    return array->f_contiguous && PyArray_IS_F_CONTIGUOUS(host);
}

/* Into an ndarray of the same shape and an equivalent dtype, of any layout. */
int
lw_array_copy_out(lw_device_array *array, PyArrayObject *host, CUstream stream, bool wait)
{
    int64_t low = 0, high = 0, n_bytes = lw_array_n_bytes(array);
    lw_device_array *dense;
    PyArrayObject *staging;
    char *room;
    int result;

    if (array->size == 0)
        return 0;
    if (same_layout(array, host))
        return pull(array, array->data, PyArray_DATA(host), n_bytes, stream, wait);
    (void)lw_layout_reach(array->ndim, array->shape, array->strides, array->itemsize, &low,
                          &high);
    if (high - low > 4 * n_bytes + 65536 && lw_device_array_hooks.copy_strided != NULL) {
        dense = lw_device_array_copy(array, 'C'); /* far fewer bytes to fetch */
        result = dense != NULL ? lw_array_copy_out(dense, host, stream, wait) : -1;
        Py_XDECREF(dense);
        return result;
    }
    staging = staging_like(array, low, high - low, &room);
    if (staging == NULL)
        return -1;
    result = pull(array, array->data + (CUdeviceptr)low, room, high - low, stream, true);
    if (result == 0)
        result = PyArray_CopyInto(host, staging);
    Py_DECREF(staging);
    lw_free(room);
    return result;
}

PyObject *
lw_device_array_to_host(lw_device_array *array, CUstream stream)
{
    int64_t strides[LW_MAX_DIMS];
    PyArrayObject *host;

    lw_layout_fill(array->ndim, array->shape, array->itemsize,
                   array->f_contiguous && !array->c_contiguous ? 'F' : 'C', strides);
    if (array->size == 0 || array->f_contiguous == array->c_contiguous) /* NumPy's own layout */
        host = host_array(array->descr, array->ndim, array->shape, NULL, NULL);
    else
        host = host_array(array->descr, array->ndim, array->shape, strides, NULL);
    if (host != NULL && lw_array_copy_out(array, host, stream, true) < 0)
        Py_CLEAR(host);
    return (PyObject *)host;
}

/* ---- host to device ---- */

/* Bytes that are copied on the host first. The driver has read pageable memory when it returns,
 * so that nobody waits for the device, whereas memory of the caller's may be page-locked. Only
 * on the default stream: another one may be captured, and would read the memory later. */
enum { FEW_BYTES = 16384 };

static int
push(lw_device_array *to, CUdeviceptr at, const void *from, int64_t n_bytes, CUstream stream,
     bool wait)
{
    char few[FEW_BYTES];
    lw_error err = {0};
    lw_status status;

    if (n_bytes == 0)
        return 0;
    if (use(to, stream) < 0)
        return -1;
    if (wait && stream == NULL && n_bytes <= FEW_BYTES) {
        from = memcpy(few, from, (size_t)n_bytes);
        wait = false;
    }
    Py_BEGIN_ALLOW_THREADS
    status = lw_copy_to_device(&(lw_copy_queue){to->device, stream, wait}, at, from,
                               (size_t)n_bytes, &err);
    Py_END_ALLOW_THREADS
    return status == LW_OK ? 0 : lw_array_fail(&err);
}

static int assign_device(lw_device_array *to, lw_device_array *from, CUstream stream);

/* A strided target: few runs are pushed one by one, else the data goes up densely and a kernel
 * spreads it. packed: C order. */
static int
push_strided(lw_device_array *to, const char *packed, CUstream stream)
{
    int64_t strides[LW_MAX_DIMS], at = 0, from = 0;
    lw_device_array *dense;
    runs run;
    int result = 0;

    lw_layout_fill(to->ndim, to->shape, to->itemsize, 'C', strides);
    run = runs_of(to->ndim, to->shape, to->strides, strides, to->itemsize);
    if (run.n > MAX_RUNS) {
        dense =
            lw_device_array_new_descr(to->device, stream, to->descr, to->ndim, to->shape, 'C');
        if (dense == NULL ||
            push(dense, dense->data, packed, lw_array_n_bytes(to), stream, false) < 0)
            result = -1;
        if (result == 0)
            result = assign_device(to, dense, stream);
        Py_XDECREF(dense);
        return result;
    }
    for (int64_t i = 0; i < run.n && result == 0; i++) {
        result =
            push(to, to->data + (CUdeviceptr)at, packed + from, run.n_bytes, stream, false);
        runs_next(&run, to->shape, to->strides, strides, &at, &from);
    }
    return result;
}

/* From an ndarray of the same dtype whose shape broadcasts to `to`'s. wait: the source may be
 * page-locked, and then the driver reads it later. */
static int
copy_in(lw_device_array *to, PyArrayObject *host, CUstream stream, bool wait)
{
    int64_t low, n_bytes = lw_array_n_bytes(to);
    bool same_shape = PyArray_NDIM(host) == to->ndim, dense;
    PyArrayObject *staging;
    char *room = NULL;
    int result;

    for (int i = 0; same_shape && i < to->ndim; i++)
        same_shape = PyArray_DIM(host, i) == to->shape[i];
    if (same_shape && same_layout(to, host))
        return push(to, to->data, PyArray_DATA(host), n_bytes, stream, wait);
    dense = lw_array_is_dense(to, &low);
    if (dense)
        staging = staging_like(to, low, n_bytes, &room);
    else
        staging = host_array(to->descr, to->ndim, to->shape, NULL, NULL);
    if (staging == NULL)
        return -1;
    result = PyArray_CopyInto(staging, host);
    if (result == 0 && dense)
        result = push(to, to->data + (CUdeviceptr)low, room, n_bytes, stream, false);
    else if (result == 0 && to->size > 0)
        result = push_strided(to, PyArray_DATA(staging), stream);
    Py_DECREF(staging);
    lw_free(room);
    return result;
}

lw_device_array *
lw_device_array_from_host(PyArrayObject *host, lw_device *device, CUstream stream)
{
    bool is_f = PyArray_IS_F_CONTIGUOUS(host) && !PyArray_IS_C_CONTIGUOUS(host);
    PyArray_Descr *descr = PyArray_DESCR(host);
    lw_device_array *array;
    int64_t shape[LW_MAX_DIMS];

    if (PyDataType_REFCHK(descr)) {
        PyErr_Format(PyExc_TypeError,
                     "an array of dtype %.200R holds Python objects, which device "
                     "memory cannot",
                     (PyObject *)descr);
        return NULL;
    }
    for (int i = 0; i < PyArray_NDIM(host); i++)
        shape[i] = PyArray_DIM(host, i);
    array = lw_device_array_new_descr(device, stream, descr, PyArray_NDIM(host), shape,
                                      is_f ? 'F' : 'C');
    if (array != NULL && copy_in(array, host, stream, stream == NULL) < 0)
        Py_CLEAR(array);
    return array;
}

/* ---- filling ---- */

static int
fill_by_doubling(lw_device_array *to, CUdeviceptr at, const char *item, int64_t n_bytes,
                 CUstream stream)
{
    char buffer[4096];
    const lw_copy_queue queue = {to->device, stream, false};
    int64_t itemsize = to->itemsize, done = 0;
    lw_error err = {0};

    if (itemsize <= (int64_t)sizeof buffer / 2)
        for (; done + itemsize <= (int64_t)sizeof buffer && done < n_bytes; done += itemsize)
            memcpy(buffer + done, item, (size_t)itemsize);
    if (push(to, at, done > 0 ? buffer : item, done > 0 ? done : itemsize, stream, false) < 0)
        return -1;
    done = done > 0 ? done : itemsize;
    for (int64_t more; done < n_bytes; done += more) {
        more = done < n_bytes - done ? done : n_bytes - done;
        if (lw_copy_on_device(&queue, at + (CUdeviceptr)done, at, (size_t)more, &err) != LW_OK)
            return lw_array_fail(&err);
    }
    return 0;
}

/* n_bytes from `at`, each item the same: a memset when the item repeats within 4 bytes. */
static int
fill_dense(lw_device_array *to, CUdeviceptr at, const char *item, int64_t n_bytes,
           CUstream stream)
{
    size_t period = (size_t)to->itemsize;
    lw_error err = {0};
    uint32_t value = 0;

    assert(period > 0);
    while (period % 2 == 0 && memcmp(item, item + period / 2, period / 2) == 0)
        period /= 2;
    for (size_t i = 1; period > 1 && i <= period; i++) /* three equal bytes, say */
        if (i == period)
            period = 1;
        else if (item[i] != item[0])
            break;
    if ((period != 1 && period != 2 && period != 4) || at % period != 0)
        return fill_by_doubling(to, at, item, n_bytes, stream);
    memcpy(&value, item, period);
    if (use(to, stream) < 0)
        return -1;
    if (lw_fill(&(lw_copy_queue){to->device, stream, false}, at, value, period,
                (size_t)n_bytes / period, &err) != LW_OK)
        return lw_array_fail(&err);
    return 0;
}

int
lw_array_fill(lw_device_array *to, const char *item, CUstream stream)
{
    int64_t low, at = 0, same = 0;
    runs run;

    if (to->size == 0)
        return 0;
    if (lw_array_is_dense(to, &low))
        return fill_dense(to, to->data + (CUdeviceptr)low, item, lw_array_n_bytes(to), stream);
    run = runs_of(to->ndim, to->shape, to->strides, to->strides, to->itemsize);
    if (run.n > MAX_RUNS) {
        if (lw_device_array_hooks.fill_strided == NULL)
            return need_kernels("filling");
        return use(to, stream) < 0 ? -1 : lw_device_array_hooks.fill_strided(to, item, stream);
    }
    for (int64_t i = 0; i < run.n; i++) {
        if (fill_dense(to, to->data + (CUdeviceptr)at, item, run.n_bytes, stream) < 0)
            return -1;
        runs_next(&run, to->shape, to->strides, to->strides, &at, &same);
    }
    return 0;
}

/* ---- device to device ---- */

static bool
same_dtype(lw_device_array *a, lw_device_array *b)
{
    if (a->dtype != LW_DT_void || b->dtype != LW_DT_void)
        return a->dtype == b->dtype;
    return PyArray_EquivTypes(a->descr, b->descr);
}

bool
lw_arrays_overlap(lw_device_array *a, lw_device_array *b)
{
    int64_t low_a, high_a, low_b, high_b;

    if (a->device != b->device)
        return false;
    (void)lw_layout_reach(a->ndim, a->shape, a->strides, a->itemsize, &low_a, &high_a);
    (void)lw_layout_reach(b->ndim, b->shape, b->strides, b->itemsize, &low_b, &high_b);
    return a->data + (CUdeviceptr)low_a < b->data + (CUdeviceptr)high_b &&
           b->data + (CUdeviceptr)low_b < a->data + (CUdeviceptr)high_a;
}

/* from, seen in the shape of `to`. */
static lw_device_array *
broadcast(lw_device_array *from, lw_device_array *to)
{
    lw_array_layout layout = {.ndim = to->ndim};
    int extra = from->ndim - to->ndim;
    PyObject *shapes[2];
    bool fits = true;

    for (int i = 0; i < extra; i++)
        fits = fits && from->shape[i] == 1;
    for (int i = 0; fits && i < to->ndim; i++) {
        int k = i + extra;
        int64_t extent = k < 0 ? 1 : from->shape[k];
        layout.shape[i] = to->shape[i];
        layout.strides[i] = extent == 1 ? 0 : from->strides[k];
        fits = extent == 1 || extent == to->shape[i];
    }
    if (fits)
        return lw_array_view_layout(from, &layout);
    shapes[0] = PyObject_GetAttrString((PyObject *)from, "shape");
    shapes[1] = PyObject_GetAttrString((PyObject *)to, "shape");
    if (shapes[0] != NULL && shapes[1] != NULL)
        PyErr_Format(PyExc_ValueError, "could not broadcast an array of shape %R into shape %R",
                     shapes[0], shapes[1]);
    Py_XDECREF(shapes[0]);
    Py_XDECREF(shapes[1]);
    return NULL;
}

static int
copy_by_kernel(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    if (lw_device_array_hooks.copy_strided == NULL)
        return need_kernels(same_dtype(to, from) ? "copying" : "casting");
    if (!same_dtype(to, from) && (to->dtype == LW_DT_void || from->dtype == LW_DT_void)) {
        PyErr_Format(PyExc_TypeError, "cannot cast %.200R to %.200R on the device",
                     (PyObject *)from->descr, (PyObject *)to->descr);
        return -1;
    }
    return lw_device_array_hooks.copy_strided(to, from, stream);
}

/* Same shape and dtype, in n runs. */
static int
copy_runs(lw_device_array *to, lw_device_array *from, runs run, CUstream stream)
{
    const lw_copy_queue queue = {to->device, stream, false};
    int64_t at = 0, source = 0;
    lw_error err = {0};

    for (int64_t i = 0; i < run.n; i++) {
        if (lw_copy_on_device(&queue, to->data + (CUdeviceptr)at,
                              from->data + (CUdeviceptr)source, (size_t)run.n_bytes,
                              &err) != LW_OK)
            return lw_array_fail(&err);
        runs_next(&run, to->shape, to->strides, from->strides, &at, &source);
    }
    return 0;
}

/* Same shape, same device, no harmful overlap. */
int
lw_array_copy_same_shape(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    int64_t low, low_from;
    bool same = same_dtype(to, from), equal = true;
    lw_error err = {0};
    runs run;

    if (use(from, stream) < 0 || use(to, stream) < 0)
        return -1;
    for (int i = 0; i < to->ndim; i++)
        equal = equal && (to->shape[i] == 1 || to->strides[i] == from->strides[i]);
    if (same && equal && to->data == from->data)
        return 0;
    if (same && equal && lw_array_is_dense(to, &low) && lw_array_is_dense(from, &low_from)) {
        if (lw_copy_on_device(&(lw_copy_queue){to->device, stream, false},
                              to->data + (CUdeviceptr)low, from->data + (CUdeviceptr)low,
                              (size_t)lw_array_n_bytes(to), &err) != LW_OK)
            return lw_array_fail(&err);
        return 0;
    }
    run = runs_of(to->ndim, to->shape, to->strides, from->strides, to->itemsize);
    if (same && run.n <= MAX_RUNS)
        return copy_runs(to, from, run, stream);
    return copy_by_kernel(to, from, stream);
}

/* All bytes of `from` to another device: both are dense and of one layout. The copy is work of
 * the source's stream, behind what `stream` of the target has; `stream` goes on behind it. */
static int
copy_over(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    CUstream source = lw_device_array_stream(from);
    const lw_copy_queue queue = {from->device, source, false};
    lw_error err = {0};

    if (use(from, source) < 0 || use(to, stream) < 0)
        return -1;
    if (lw_stream_after_on(from->device, source, to->device, stream, &err) != LW_OK ||
        lw_copy_between(&queue, to->device, to->data, from->data, (size_t)lw_array_n_bytes(to),
                        &err) != LW_OK ||
        lw_stream_after_on(to->device, stream, from->device, source, &err) != LW_OK)
        return lw_array_fail(&err);
    return 0;
}

/* An array of another device, as it is on this one, in its order. */
static lw_device_array *
new_over(lw_device_array *from, lw_device *device, CUstream stream)
{
    bool is_f = from->f_contiguous && !from->c_contiguous;
    lw_device_array *made = lw_device_array_new_descr(device, stream, from->descr, from->ndim,
                                                      from->shape, is_f ? 'F' : 'C');

    if (made != NULL)
        made->dtype = from->dtype; /* bfloat16 stored as raw bytes */
    return made;
}

lw_device_array *
lw_device_array_to(lw_device_array *from, lw_device *device, CUstream stream)
{
    bool dense = from->c_contiguous || from->f_contiguous;
    lw_device_array *source = dense ? (lw_device_array *)Py_NewRef((PyObject *)from)
                                    : lw_device_array_copy(from, 'C');
    lw_device_array *made = source != NULL ? new_over(source, device, stream) : NULL;

    if (made != NULL && made->size > 0 && copy_over(made, source, stream) < 0)
        Py_CLEAR(made);
    Py_XDECREF(source);
    return made;
}

static bool
is_same_layout(const lw_device_array *a, const lw_device_array *b)
{
    bool same = a->ndim == b->ndim &&
                ((a->c_contiguous && b->c_contiguous) || (a->f_contiguous && b->f_contiguous));

    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* By way of an array on the target's device, where the bytes do not lie as they must. */
static int
assign_over(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    lw_device_array *here;
    int result;

    if (same_dtype(to, from) && is_same_layout(to, from))
        return to->size > 0 ? copy_over(to, from, stream) : 0;
    here = lw_device_array_to(from, to->device, stream);
    result = here != NULL ? assign_device(to, here, stream) : -1;
    Py_XDECREF(here);
    return result;
}

static int
assign_device(lw_device_array *to, lw_device_array *from, CUstream stream)
{
    lw_device_array *source, *copy;
    int result = -1;
    bool in_place;

    if (from->device != to->device)
        return assign_over(to, from, stream);
    if (to->size == 0) {
        source = broadcast(from, to);
        Py_XDECREF(source);
        return source != NULL ? 0 : -1;
    }
    in_place = to->data == from->data && to->size == from->size && to->ndim == from->ndim &&
               to->itemsize == from->itemsize && to->c_contiguous && from->c_contiguous;
    if (lw_arrays_overlap(to, from) && !in_place) {
        copy = lw_device_array_copy(from, 'C');
        result = copy != NULL ? assign_device(to, copy, stream) : -1;
        Py_XDECREF(copy);
        return result;
    }
    source = broadcast(from, to);
    if (source == NULL)
        return -1;
    result = lw_array_copy_same_shape(to, source, stream);
    Py_DECREF(source);
    return result;
}

lw_device_array *
lw_device_array_copy(lw_device_array *array, char order)
{
    CUstream stream = lw_device_array_stream(array);
    PyArray_Descr *descr = array->descr;
    lw_device_array *copy;

    copy = lw_device_array_new_descr(array->device, stream, descr, array->ndim, array->shape,
                                     order);
    if (copy == NULL || array->size == 0)
        return copy;
    copy->dtype = lw_dtype_of_descr(descr) == LW_DT_void && PyDataType_ELSIZE(descr) == 2
                      ? array->dtype /* bfloat16 stored as raw bytes */
                      : copy->dtype;
    if (lw_array_copy_same_shape(copy, array, stream) < 0)
        Py_CLEAR(copy);
    return copy;
}

/* ---- assignment ---- */

/* bfloat16 without ml_dtypes: NumPy cannot convert, so we do, by way of float64. */
static PyArrayObject *
convert_bf16(PyObject *value, PyArray_Descr *raw)
{
    PyArrayObject *wide, *out;
    npy_intp n;

    if (PyArray_Check(value) && PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)value), raw))
        return (PyArrayObject *)Py_NewRef(value);
    wide = (PyArrayObject *)PyArray_FROM_OTF(value, NPY_DOUBLE,
                                             NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
    if (wide == NULL)
        return NULL;
    Py_INCREF(raw);
    out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, raw, PyArray_NDIM(wide),
                                                PyArray_DIMS(wide), NULL, NULL, 0, NULL);
    n = out != NULL ? PyArray_SIZE(wide) : 0;
    for (npy_intp i = 0; i < n; i++) {
        uint16_t half = lw_bf16_from_double(((const double *)PyArray_DATA(wide))[i]);
        memcpy((char *)PyArray_DATA(out) + 2 * i, &half, sizeof half);
    }
    Py_DECREF(wide);
    return out;
}

/* A scalar of NumPy's, as NumPy assigns it: since 2.5, integers must fit. */
static PyArrayObject *
pack_scalar(PyArray_Descr *descr, PyObject *value)
{
    PyArrayObject *out;

    Py_INCREF(descr); /* stolen */
    out = (PyArrayObject *)PyArray_Zeros(0, NULL, descr, 0);
    if (out != NULL && PyArray_Pack(descr, PyArray_DATA(out), value) < 0)
        Py_CLEAR(out);
    return out;
}

/* Anything as an ndarray of the array's dtype; casting is NumPy's assignment casting. */
PyArrayObject *
lw_array_host_value(lw_device_array *to, PyObject *value)
{
    if (lw_refuse_container(value, false, "the value") < 0)
        return NULL;
    if (to->dtype == LW_DT_bf16 && to->descr->type_num == NPY_VOID)
        return convert_bf16(value, to->descr);
    if (PyArray_IsScalar(value, Generic))
        return pack_scalar(to->descr, value);
    Py_INCREF(to->descr); /* stolen */
    return (PyArrayObject *)PyArray_FromAny(value, to->descr, 0, 0, NPY_ARRAY_FORCECAST, NULL);
}

static int
assign_host(lw_device_array *to, PyObject *value, CUstream stream, bool wait)
{
    PyArrayObject *host = lw_array_host_value(to, value);
    int result;

    if (host == NULL)
        return -1;
    if (PyArray_NDIM(host) == 0)
        result = lw_array_fill(to, PyArray_BYTES(host), stream);
    else
        result = copy_in(to, host, stream, wait);
    Py_DECREF(host);
    return result;
}

int
lw_array_assign(lw_device_array *to, PyObject *value, PyObject *stream_object)
{
    lw_device_array *from;
    CUstream given = NULL, stream;
    int result;

    if (to->readonly) {
        PyErr_SetString(PyExc_ValueError, "assignment destination is read-only");
        return -1;
    }
    if ((stream_object != NULL && lw_stream_read(stream_object, &given) < 0) ||
        lw_array_stream(to, stream_object, &stream) < 0)
        return -1;
    if (!lw_is_device_operand(value))
        return assign_host(to, value, stream, given == NULL);
    from = lw_operand_as_array(value);
    if (from == NULL)
        return -1;
    result = assign_device(to, from, stream);
    Py_DECREF(from);
    return result;
}

PyObject *
lw_array_item(lw_device_array *array)
{
    PyObject *host = lw_device_array_to_host(array, lw_device_array_stream(array));

    return host != NULL ? PyArray_Return((PyArrayObject *)host) : NULL;
}
