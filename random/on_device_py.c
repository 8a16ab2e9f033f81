/* Draws into device memory: what lanewise/_generator.py does for numbers as parameters, without
 * its Python code. A call allocates the result and launches the kernel of
 * lanewise/_random_kernels.py that the generator keeps. Whatever is unusual, and whatever is
 * wrong, is left to Python's method, which then raises.
 *
 * A kernel fills whole blocks of Philox. So a result's memory has room for the rest of its last
 * block, and the array is cut to its length after the launch. */
#include "random/draws_py_internal.h"

#include <math.h>
#include <string.h>

#include "core/base/env.h"
#include "core/py/array/args.h"
#include "core/py/array/device_array.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/host_cuda.h"
#include "core/py/type_num.h"

enum {
    MOST_NUMBERS = 3,              /* of a kernel, behind the place */
    MOST_KERNEL = 5 + MOST_NUMBERS /* its arguments */
};
static const int64_t most_drawn = INT64_C(1) << 40; /* in one call */

static const char *const kernel_names[LW_DRAW_KERNELS] = {
#define KERNEL(name) #name,
#include "random/kernels.def"
};

/* A call, read; borrowed. */
typedef struct request {
    lw_few given; /* its parameters; n: how many numbers */
    bool endpoint;
    lw_dtype dtype; /* void: not given */
    int ndim;       /* of the size */
    int64_t shape[LW_INLINE_DIMS];
    PyObject *size, *stream; /* NULL: not given */
    lw_device_array *out;    /* NULL: to be made */
} request;

typedef struct number { /* one of a kernel's */
    lw_dtype dtype;
    lw_value value;
} number;

typedef struct plan {
    lw_drawing_kernel kernel;
    int per_block;
    int n_numbers;
    number numbers[MOST_NUMBERS];
} plan;

/* ---- reading ---- */

static lw_dtype
dtype_of(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype = LW_DT_void;

    if (PyArray_DescrCheck(object))
        return lw_dtype_of_descr((PyArray_Descr *)object);
    if (object == (PyObject *)&PyFloatArrType_Type)
        return LW_DT_f32;
    if (lw_dtype_read(object, &dtype, &descr) < 0)
        PyErr_Clear();
    Py_XDECREF((PyObject *)descr);
    return dtype;
}

static bool
read_extent(PyObject *object, int64_t *out)
{
    int overflow;

    if (!PyLong_CheckExact(object))
        return false;
    *out = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && *out > 0 && *out <= most_drawn;
}

static bool
read_size(request *r)
{
    int64_t n = 1;

    if (!PyTuple_CheckExact(r->size)) {
        r->ndim = 1;
        r->given.n = 0;
        if (!read_extent(r->size, &r->shape[0]))
            return false;
        r->given.n = r->shape[0];
        return true;
    }
    if (PyTuple_GET_SIZE(r->size) > LW_INLINE_DIMS)
        return false;
    r->ndim = (int)PyTuple_GET_SIZE(r->size);
    for (int d = 0; d < r->ndim; d++)
        if (!read_extent(PyTuple_GET_ITEM(r->size, d), &r->shape[d]) ||
            __builtin_mul_overflow(n, r->shape[d], &n) || n > most_drawn)
            return false;
    r->given.n = n;
    return true;
}

/* What follows the parameters, in the order of integers() and of all others. */
static const char *const rest_of_integers[] = {"size", "dtype", "endpoint", "out"};
static const char *const rest_of_all[] = {"size", "dtype", "out"};

static bool
read_rest(request *r, const char *name, PyObject *value)
{
    if (strcmp(name, "endpoint") == 0) {
        r->endpoint = value == Py_True;
        return PyBool_Check(value);
    }
    if (value == Py_None)
        return true;
    if (strcmp(name, "size") == 0) {
        r->size = value;
    } else if (strcmp(name, "dtype") == 0) {
        r->dtype = dtype_of(value);
        return r->dtype != LW_DT_void;
    } else {
        r->out = (lw_device_array *)value;
        return lw_is_device_array(value);
    }
    return true;
}

static bool
read_named(const lw_method *m, request *r, PyObject *name, PyObject *value, unsigned *seen)
{
    const char *const *rest = m->device == LW_DRAW_INTEGERS ? rest_of_integers : rest_of_all;
    int n_rest = m->device == LW_DRAW_INTEGERS ? 4 : 3;

    if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
        r->stream = value;
        return true;
    }
    for (int k = 0; k < m->n_parameters + n_rest; k++) {
        const char *own = k < m->n_parameters ? m->names[k] : rest[k - m->n_parameters];
        if (PyUnicode_CompareWithASCIIString(name, own) != 0)
            continue;
        if (*seen >> k & 1)
            return false;
        *seen |= 1u << k;
        return k < m->n_parameters ? lw_read_parameter(m, k, value, &r->given)
                                   : read_rest(r, own, value);
    }
    return false;
}

static bool
read_call(const lw_method *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
          request *r)
{
    const char *const *rest = m->device == LW_DRAW_INTEGERS ? rest_of_integers : rest_of_all;
    int n_parameters = m->n_parameters, n_rest = m->device == LW_DRAW_INTEGERS ? 4 : 3;
    Py_ssize_t n_named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    unsigned seen, needed = 0;

    if (n > n_parameters + n_rest)
        return false;
    *r = (request){.dtype = LW_DT_void};
    seen = (1u << n) - 1;
    for (int k = 0; k < n_parameters; k++) {
        r->given.p[k] = m->fallback[k];
        needed |= isnan(m->fallback[k]) ? 1u << k : 0;
    }
    for (int k = 0; k < n; k++)
        if (k < n_parameters ? !lw_read_parameter(m, k, args[k], &r->given)
                             : !read_rest(r, rest[k - n_parameters], args[k]))
            return false;
    for (Py_ssize_t i = 0; i < n_named; i++)
        if (!read_named(m, r, PyTuple_GET_ITEM(kwnames, i), args[n + i], &seen))
            return false;
    return (seen & needed) == needed && (r->size != NULL) != (r->out != NULL);
}

/* A contiguous array of ours, which kernels may write to; its dtype is the call's. */
static bool
read_out(request *r)
{
    const lw_device_array *out = r->out;

    if (!out->c_contiguous || out->readonly || out->misaligned || out->size == 0 ||
        (r->dtype != LW_DT_void && r->dtype != out->dtype))
        return false;
    r->dtype = (lw_dtype)out->dtype;
    r->given.n = out->size;
    return true;
}

/* ---- which kernel, with which numbers ---- */

static bool
is_real(lw_dtype dtype)
{
    return dtype == LW_DT_f32 || dtype == LW_DT_f64;
}

/* A parameter in the result's dtype. False: it is finite, but not there. */
static bool
put_real(plan *p, lw_dtype dtype, double value)
{
    number *to = &p->numbers[p->n_numbers++];
    float narrow = (float)value;

    *to = (number){.dtype = dtype};
    if (dtype == LW_DT_f64)
        to->value.f64 = value;
    else
        memcpy(to->value.bytes, &narrow, sizeof narrow);
    return dtype == LW_DT_f64 || isinf(narrow) == isinf(value);
}

static void
put_word(plan *p, lw_dtype dtype, uint64_t value)
{
    number *to = &p->numbers[p->n_numbers++];

    *to = (number){.dtype = dtype};
    if (dtype == LW_DT_u32) {
        uint32_t narrow = (uint32_t)value;
        memcpy(to->value.bytes, &narrow, sizeof narrow);
    } else {
        to->value.u64 = value;
    }
}

/* loc + scale * numbers of this kernel for float32, which the one for float64 follows. */
static bool
plan_placed(plan *p, const request *r, lw_drawing_kernel narrow, double loc, double scale)
{
    bool is_narrow = r->dtype == LW_DT_f32;

    p->kernel = (lw_drawing_kernel)(narrow + !is_narrow);
    p->per_block = is_narrow ? 4 : 2;
    return put_real(p, r->dtype, loc) && put_real(p, r->dtype, scale);
}

static bool
plan_normal(plan *p, const request *r, double loc, double scale)
{
    if (r->dtype != LW_DT_f32 || loc != 0 || scale != 1)
        return !isnan(loc) && scale >= 0 &&
               plan_placed(p, r, LW_KERNEL_philox_normal_float32, loc, scale);
    p->kernel = LW_KERNEL_philox_standard_normal_float32;
    p->per_block = 4;
    return true;
}

static bool
plan_exponential(plan *p, const request *r, double scale)
{
    bool is_narrow = r->dtype == LW_DT_f32;

    p->kernel =
        is_narrow ? LW_KERNEL_philox_exponential_float32 : LW_KERNEL_philox_exponential_float64;
    p->per_block = is_narrow ? 4 : 2;
    return scale >= 0 && put_real(p, r->dtype, scale);
}

/* The largest number of an integer dtype; 0: it is none. */
static uint64_t
most_of(lw_dtype dtype)
{
    return lw_is_integer(dtype) ? lw_integer_most(dtype) : 0;
}

static bool
plan_gamma(plan *p, const double *given)
{
    p->kernel = LW_KERNEL_philox_gamma;
    return given[0] >= 0 && isfinite(given[0]) && given[1] >= 0 &&
           put_real(p, LW_DT_f64, given[0]) && put_real(p, LW_DT_f64, given[1]);
}

static bool
plan_poisson(plan *p, const request *r)
{
    double mean = r->given.p[0];

    p->kernel = LW_KERNEL_philox_poisson;
    return mean >= 0 && mean <= 1e15 &&
           mean + 12 * sqrt(mean) + 60 <= (double)most_of(r->dtype) &&
           put_real(p, LW_DT_f64, mean);
}

static bool
plan_binomial(plan *p, const request *r)
{
    int64_t n = r->given.integer[0];

    p->kernel = LW_KERNEL_philox_binomial;
    put_word(p, LW_DT_i64, (uint64_t)n);
    return n >= 0 && n < INT64_C(1) << 53 && (uint64_t)n <= most_of(r->dtype) &&
           r->given.p[1] >= 0 && r->given.p[1] <= 1 && put_real(p, LW_DT_f64, r->given.p[1]);
}

/* Up to 2^32 numbers apart, 32 bits make one. */
static bool
plan_integers(plan *p, const request *r)
{
    bool two = r->given.n_given > 1;
    int64_t low = two ? r->given.integer[0] : 0, high = r->given.integer[two];
    uint64_t most = most_of(r->dtype), span;
    int64_t least = lw_dtypes[r->dtype].kind == LW_KIND_INT ? -1 - (int64_t)most : 0;
    lw_dtype wide = r->dtype == LW_DT_u64 ? LW_DT_u64 : LW_DT_i64;

    if (r->given.n_given < 1 || __builtin_sub_overflow(high, !r->endpoint, &high) ||
        most == 0 || low < least || low > high || (high > 0 && (uint64_t)high > most))
        return false;
    span = (uint64_t)high - (uint64_t)low + 1; /* 0: all */
    if (span == 0)
        return false;
    put_word(p, wide, (uint64_t)low);
    put_word(p, LW_DT_u64, span);
    if (span > UINT64_C(1) << 32) {
        p->kernel = LW_KERNEL_philox_integers64;
        put_word(p, LW_DT_u64, (0 - span) % span);
        return true;
    }
    p->kernel = LW_KERNEL_philox_integers32;
    p->per_block = 4;
    put_word(p, LW_DT_u32, ((UINT64_C(1) << 32) - span) % span);
    return true;
}

static bool
make_plan(const lw_method *m, request *r, plan *p)
{
    bool integers = m->device >= LW_DRAW_INTEGERS;
    const double *given = r->given.p;

    *p = (plan){.per_block = 1};
    if (r->dtype == LW_DT_void)
        r->dtype = integers ? LW_DT_i64 : LW_DT_f64;
    if (integers ? most_of(r->dtype) == 0 : !is_real(r->dtype))
        return false;
    switch (m->device) {
    case LW_DRAW_UNIFORM: /* low, high */
        return isfinite(given[1] - given[0]) && given[1] >= given[0] &&
               plan_placed(p, r, LW_KERNEL_philox_random_float32, given[0],
                           given[1] - given[0]);
    case LW_DRAW_RANDOM: return plan_placed(p, r, LW_KERNEL_philox_random_float32, 0.0, 1.0);
    case LW_DRAW_STANDARD_NORMAL: return plan_normal(p, r, 0.0, 1.0);
    case LW_DRAW_NORMAL: return plan_normal(p, r, given[0], given[1]);
    case LW_DRAW_STANDARD_EXPONENTIAL: return plan_exponential(p, r, 1.0);
    case LW_DRAW_EXPONENTIAL: return plan_exponential(p, r, given[0]);
    case LW_DRAW_STANDARD_GAMMA: return plan_gamma(p, (const double[]){given[0], 1.0});
    case LW_DRAW_GAMMA: return plan_gamma(p, given);
    case LW_DRAW_INTEGERS: return plan_integers(p, r);
    case LW_DRAW_POISSON: return plan_poisson(p, r);
    case LW_DRAW_BINOMIAL: return plan_binomial(p, r);
    default: return false;
    }
}

/* ---- drawing ---- */

/* A NumPy scalar. */
static PyObject *
scalar_of(const number *from)
{
    PyObject *scalar;

#define MAKE(class)                                                                            \
    scalar = PyArrayScalar_New(class);                                                         \
    if (scalar != NULL)                                                                        \
        memcpy(&PyArrayScalar_VAL(scalar, class), from->value.bytes,                           \
               sizeof PyArrayScalar_VAL(scalar, class));                                       \
    return scalar
    switch (from->dtype) {
    case LW_DT_u32: MAKE(UInt32);
    case LW_DT_u64: MAKE(UInt64);
    case LW_DT_i64: MAKE(Int64);
    case LW_DT_f32: MAKE(Float32);
    default: MAKE(Float64);
    }
#undef MAKE
}

static PyObject *
word_of(lw_dtype dtype, uint64_t value)
{
    plan p = {0};

    put_word(&p, dtype, value);
    return scalar_of(&p.numbers[0]);
}

/* A new reference, or NULL with an exception: the kernel, or what lanewise/_random_device.py
 * has in its place for so many blocks. */
static PyObject *
kernel_of(lw_draws_object *self, lw_drawing_kernel kernel, int64_t blocks)
{
    PyObject **kept = &self->kernels[kernel];
    PyObject *found;

    if (blocks > LW_FEW_BLOCKS)
        return PyObject_CallMethod((PyObject *)self, "_kernel_of_many", "s",
                                   kernel_names[kernel]);
    if (*kept == NULL) {
        found =
            PyObject_CallMethod((PyObject *)self, "_kernel_named", "s", kernel_names[kernel]);
        if (found != NULL)
            Py_XSETREF(*kept, found);
    }
    return Py_XNewRef(*kept);
}

/* A new reference: what Philox's rounds add, for the key. */
static PyObject *
keys_of(lw_draws_object *self)
{
    uint64_t stream = self->stream;
    PyObject *made;

    if (self->keys != NULL)
        return Py_NewRef(self->keys);
    made = PyObject_CallMethod((PyObject *)self, "_keys", NULL);
    if (made != NULL && stream == self->stream)
        Py_XSETREF(self->keys, Py_NewRef(made));
    return made;
}

/* What a launch needs. The place, c3 and the keys are of one stream, whose number is `stream`.
 */
typedef struct work {
    PyObject *kernel, *keys;
    lw_device_array *flat;
    uint64_t place, blocks, stream;
    uint32_t c3;
} work;

/* kernel(blocks, keys, c3, place, numbers …, out, stream=). */
static int
launch(const plan *p, const request *r, const work *w)
{
    PyObject *args[MOST_KERNEL + 1], *named = NULL, *result = NULL;
    int n = 0;
    bool good = true;

    args[n++] = PyLong_FromUnsignedLongLong(w->blocks);
    args[n++] = Py_NewRef(w->keys);
    args[n++] = args[0] ? word_of(LW_DT_u32, w->c3) : NULL;
    args[n++] = args[2] ? word_of(LW_DT_u64, w->place) : NULL;
    for (int i = 0; i < p->n_numbers; i++, n++)
        args[n] = args[n - 1] ? scalar_of(&p->numbers[i]) : NULL;
    good = args[n - 1] != NULL;
    args[n++] = Py_NewRef((PyObject *)w->flat);
    if (r->stream != NULL) {
        named = good ? Py_BuildValue("(s)", "stream") : NULL;
        good &= named != NULL;
        args[n] = r->stream; /* borrowed */
    }
    if (good)
        result = PyObject_Vectorcall(w->kernel, args, (size_t)n, named);
    for (int i = 0; i < n; i++)
        Py_XDECREF(args[i]);
    Py_XDECREF(named);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

/* A new one-dimensional array with room for whole blocks. NULL: as Python's method raises. */
static lw_device_array *
new_flat(const request *r, int64_t room)
{
    lw_device *device = lw_current_device();
    CUstream stream = 0;

    if (device == NULL || (r->stream != NULL && (lw_stream_read(r->stream, &stream) < 0 ||
                                                 lw_stream_check(r->stream, device) < 0)))
        return NULL;
    return lw_device_array_new(device, stream, r->dtype, 1, &room, 'C');
}

/* out, as one dimension. */
static lw_device_array *
flat_of(lw_device_array *out)
{
    if (out->ndim == 1)
        return (lw_device_array *)Py_NewRef((PyObject *)out);
    return lw_device_array_view(out, out->data, 1, &out->size, &out->itemsize);
}

/* Whether so many numbers, from the place on, may come from one launch now. */
static bool
is_free(const lw_draws_object *self, const plan *p, uint64_t room)
{
    uint64_t place = self->base.place;

    /* A launch must not cross a carry into the counter's upper word. */
    return !self->is_busy && (self->window == NULL || self->window == Py_None) &&
           place <= UINT64_MAX - 2 * (uint64_t)most_drawn &&
           (p->per_block == 1 || place >> 32 == (place + room) >> 32);
}

/* Takes the blocks. False: not of these keys any more, or not in one launch. While Python's
 * code ran, other threads may have drawn, or set the stream; here none runs. */
static bool
take_blocks(lw_draws_object *self, const plan *p, work *w)
{
    if (w->keys != self->keys || !is_free(self, p, (uint64_t)w->flat->size))
        return false;
    w->place = self->base.place;
    w->c3 = self->base.philox.c3;
    w->stream = self->stream;
    self->base.place += w->blocks;
    return true;
}

/* Draws into w->flat. *done is false where it is left after all. */
static PyObject *
fill(lw_draws_object *self, const plan *p, const request *r, work *w, bool *done)
{
    w->kernel = kernel_of(self, p->kernel, (int64_t)w->blocks);
    w->keys = w->kernel ? keys_of(self) : NULL;
    *done = w->keys == NULL || take_blocks(self, p, w);
    if (w->keys == NULL || !*done)
        return NULL;
    if (launch(p, r, w) < 0) {
        if (w->stream == self->stream)
            lw_draws_give_back(self, w->place, w->blocks);
        return NULL;
    }
    if (r->out != NULL)
        return Py_NewRef((PyObject *)r->out);
    lw_device_array_cut(w->flat, r->ndim, r->shape);
    return Py_NewRef((PyObject *)w->flat);
}

/* Whether new results are made on a device. */
static bool
is_there(const lw_draws_object *self)
{
    if (self->target == NULL || self->target == Py_None)
        return strcmp(lw_env_text(LW_ENV_target), "cuda") == 0;
    return PyUnicode_Check(self->target) &&
           PyUnicode_CompareWithASCIIString(self->target, "cuda") == 0;
}

PyObject *
lw_draws_on_device(lw_draws_object *self, const lw_method *m, PyObject *const *args,
                   Py_ssize_t n, PyObject *kwnames, bool *done)
{
    PyObject *result;
    work w = {0};
    request r;
    plan p;
    int64_t room;

    *done = false;
    if (m->device == LW_DRAW_NOT || self->is_busy || !self->base.is_philox || lw_on_host() ||
        !read_call(m, args, n, kwnames, &r) ||
        !(r.out != NULL ? read_out(&r) : is_there(self) && read_size(&r)) ||
        !make_plan(m, &r, &p))
        return NULL;
    room = (r.given.n + p.per_block - 1) / p.per_block * p.per_block;
    if (!is_free(self, &p, (uint64_t)room) || (r.out != NULL && room != r.given.n))
        return NULL;
    w.blocks = (uint64_t)(room / p.per_block);
    w.flat = r.out != NULL ? flat_of(r.out) : new_flat(&r, room);
    if (w.flat == NULL) {
        PyErr_Clear();
        return NULL;
    }
    result = fill(self, &p, &r, &w, done);
    Py_XDECREF(w.kernel);
    Py_XDECREF(w.keys);
    Py_DECREF(w.flat);
    return result;
}
