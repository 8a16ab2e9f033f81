#include "core/py/array/convert.h"

#include "core/front/times.h"

#include <math.h>
#include <string.h>

/* ---- halves: round to nearest even, by scaling into the target's grid ---- */

static uint32_t
float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float
bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One rounding only: the double is rounded to the grid of the half directly. mantissa: stored
 * bits (10 or 7); low: exponent of the smallest normal number; high: of the largest. */
static double
round_to_grid(double value, int mantissa, int low, int high)
{
    int exponent;
    double limit;

    if (!isfinite(value) || value == 0.0)
        return value;
    (void)frexp(value, &exponent); /* |value| in [2^(exponent-1), 2^exponent) */
    if (exponent - 1 < low)
        exponent = low + 1;
    value = ldexp(nearbyint(ldexp(value, mantissa + 1 - exponent)), exponent - 1 - mantissa);
    limit = ldexp(2.0, high);
    return fabs(value) >= limit ? copysign(INFINITY, value) : value;
}

static uint16_t
f16_from_double(double value)
{
    double grid = round_to_grid(value, 10, -14, 15);
    uint32_t bits = float_bits((float)grid);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    if (isinf(grid))
        return (uint16_t)(sign | 0x7c00);
    if (fabs(grid) < ldexp(1.0, -14))
        return (uint16_t)(sign | (uint16_t)ldexp(fabs(grid), 24));
    return (uint16_t)(sign | ((bits & 0x7fffffff) - (112u << 23)) >> 13);
}

static double
f16_to_double(uint16_t bits)
{
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;

    if (exponent == 31)
        return mantissa ? copysign(NAN, sign) : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, -24);
    return sign * ldexp(1024 + mantissa, exponent - 25);
}

uint16_t
lw_bf16_from_double(double value)
{
    uint32_t bits;

    if (isnan(value))
        return signbit(value) ? 0xffc0 : 0x7fc0;
    bits = float_bits((float)round_to_grid(value, 7, -126, 127));
    return (uint16_t)(bits >> 16);
}

double
lw_bf16_to_double(uint16_t bits)
{
    return bits_float((uint32_t)bits << 16);
}

/* ---- one value between dtypes, through the widest type of its kind ---- */

typedef struct wide {
    lw_kind kind; /* INT, UINT (bool too), FLOAT, COMPLEX */
    int64_t i;
    uint64_t u;
    double re, im;
} wide;

static double
real_read(const uint8_t *at, lw_dtype dtype)
{
    uint16_t half;
    float single;
    double full;

    switch (lw_dtypes[dtype].bits) {
    case 16:
        memcpy(&half, at, 2);
        return dtype == LW_DT_bf16 ? lw_bf16_to_double(half) : f16_to_double(half);
    case 32: memcpy(&single, at, 4); return single;
    default: memcpy(&full, at, 8); return full;
    }
}

static void
real_write(double value, uint8_t *at, lw_dtype dtype)
{
    uint16_t half;
    float single = (float)value;

    switch (lw_dtypes[dtype].bits) {
    case 16:
        half = dtype == LW_DT_bf16 ? lw_bf16_from_double(value) : f16_from_double(value);
        memcpy(at, &half, 2);
        return;
    case 32: memcpy(at, &single, 4); return;
    default: memcpy(at, &value, 8); return;
    }
}

static wide
wide_read(const lw_value *from, lw_dtype dtype)
{
    const lw_dtype_row *row = &lw_dtypes[dtype];
    wide out = {.kind = row->kind == LW_KIND_BOOL ? LW_KIND_UINT : row->kind};
    uint64_t bits = 0;

    if (out.kind == LW_KIND_FLOAT || out.kind == LW_KIND_COMPLEX) {
        out.re = real_read(from->bytes, row->parts);
        if (out.kind == LW_KIND_COMPLEX)
            out.im = real_read(from->bytes + lw_dtypes[row->parts].size_bytes, row->parts);
        return out;
    }
    memcpy(&bits, from->bytes, row->size_bytes); /* little-endian, as all our targets */
    out.u = bits;
    out.i = (int64_t)(bits << (64 - row->bits)) >> (64 - row->bits);
    return out;
}

static double
wide_real(const wide *value)
{
    if (value->kind == LW_KIND_INT)
        return (double)value->i;
    return value->kind == LW_KIND_UINT ? (double)value->u : value->re;
}

/* The real part, rounded once: an int64 goes to float32 directly, not by way of a double. */
static void
wide_write_real(const wide *value, uint8_t *at, lw_dtype dtype)
{
    float single;

    if (lw_dtypes[dtype].bits != 32 || value->kind == LW_KIND_FLOAT ||
        value->kind == LW_KIND_COMPLEX) {
        real_write(wide_real(value), at, dtype);
        return;
    }
    single = value->kind == LW_KIND_INT ? (float)value->i : (float)value->u;
    memcpy(at, &single, sizeof single);
}

/* Saturating; NaN gives 0. */
static uint64_t
real_to_bits(double value, const lw_dtype_row *row)
{
    double high = ldexp(1.0, row->kind == LW_KIND_INT ? row->bits - 1 : row->bits);

    if (isnan(value))
        return 0;
    if (row->kind == LW_KIND_INT) {
        if (value >= high)
            return ((uint64_t)1 << (row->bits - 1)) - 1;
        return value < -high ? (uint64_t)1 << (row->bits - 1) : (uint64_t)(int64_t)value;
    }
    if (value >= high)
        return UINT64_MAX;
    return value <= 0 ? 0 : (uint64_t)value;
}

/* A time, from another unit or a number; NaN is NaT, as is what no 64-bit number holds. */
static int64_t
time_of(const wide *value, lw_dtype from, lw_dtype to)
{
    if (lw_is_time(from) && lw_dtypes[from].kind == lw_dtypes[to].kind)
        return lw_time_value(from, to, value->i);
    if (value->kind == LW_KIND_FLOAT)
        return value->re >= -0x1p63 && value->re < 0x1p63 ? (int64_t)value->re : INT64_MIN;
    return value->i;
}

void
lw_value_cast(const lw_value *from, lw_dtype from_dtype, lw_value *to, lw_dtype to_dtype)
{
    const lw_dtype_row *row = &lw_dtypes[to_dtype];
    wide value = wide_read(from, from_dtype);
    uint64_t bits;
    bool is_real;

    if (lw_is_time(to_dtype)) {
        memset(to, 0, sizeof *to);
        to->i64 = time_of(&value, from_dtype, to_dtype);
        return;
    }
    if (lw_is_time(from_dtype))
        value.kind = LW_KIND_INT;
    is_real = value.kind == LW_KIND_FLOAT || value.kind == LW_KIND_COMPLEX;

    memset(to, 0, sizeof *to);
    switch (row->kind) {
    case LW_KIND_FLOAT: wide_write_real(&value, to->bytes, to_dtype); return;
    case LW_KIND_COMPLEX:
        wide_write_real(&value, to->bytes, row->parts);
        real_write(value.im, to->bytes + lw_dtypes[row->parts].size_bytes, row->parts);
        return;
    case LW_KIND_BOOL:
        to->bytes[0] = is_real ? value.re != 0.0 || value.im != 0.0 : value.u != 0;
        return;
    default:
        bits = value.kind == LW_KIND_INT ? (uint64_t)value.i : value.u;
        if (is_real)
            bits = real_to_bits(value.re, row);
        memcpy(to->bytes, &bits, row->size_bytes);
    }
}

lw_value
lw_value_widened(const lw_value *from, lw_dtype dtype)
{
    lw_kind kind = lw_dtypes[dtype].kind;
    lw_dtype widest = kind == LW_KIND_FLOAT     ? LW_DT_f64
                      : kind == LW_KIND_COMPLEX ? LW_DT_c128
                      : kind == LW_KIND_UINT    ? LW_DT_u64
                                                : LW_DT_i64;
    lw_value to = *from;

    if (dtype != widest)
        lw_value_cast(from, dtype, &to, widest);
    return to;
}

PyObject *
lw_number_of(lw_dtype dtype, const void *bytes)
{
    const lw_dtype_row *row = &lw_dtypes[dtype];
    lw_value from = {0}, to;

    memcpy(from.bytes, bytes, row->size_bytes);
    switch (row->kind) {
    case LW_KIND_COMPLEX:
        to = lw_value_widened(&from, dtype);
        return PyComplex_FromDoubles(to.c128[0], to.c128[1]);
    case LW_KIND_BOOL: return PyBool_FromLong(from.bytes[0]);
    case LW_KIND_UINT: return PyLong_FromUnsignedLongLong(lw_value_widened(&from, dtype).u64);
    case LW_KIND_INT: return PyLong_FromLongLong(lw_value_widened(&from, dtype).i64);
    default: return PyFloat_FromDouble(lw_value_widened(&from, dtype).f64);
    }
}

/* ---- shapes and layouts ---- */

/* What a sequence of ints must hold. */
typedef struct int_rule {
    const char *name;
    int64_t lowest;
} int_rule;

static int
int_read(PyObject *item, int64_t *out, const int_rule *rule)
{
    Py_ssize_t n;

    if (!PyIndex_Check(item)) {
        PyErr_Format(PyExc_TypeError, "%s: expected ints, got %.200s", rule->name,
                     Py_TYPE(item)->tp_name);
        return -1;
    }
    n = PyNumber_AsSsize_t(item, PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_Format(PyExc_ValueError, "%s: a number is beyond 64 bits", rule->name);
        return -1;
    }
    if (n < rule->lowest) {
        PyErr_Format(PyExc_ValueError, "%s: expected no negative numbers, got %zd", rule->name,
                     n);
        return -1;
    }
    *out = n;
    return 0;
}

static int
ints_read(PyObject *object, int64_t *out, const int_rule *rule)
{
    PyObject *items;
    Py_ssize_t n;
    int result = -1;

    if (PyIndex_Check(object) &&
        !(PyArray_Check(object) && PyArray_NDIM((PyArrayObject *)object) > 0))
        return int_read(object, &out[0], rule) < 0 ? -1 : 1;
    if (PyUnicode_Check(object) || PyBytes_Check(object) || !PySequence_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected an int or a tuple of ints, got %.200s",
                     rule->name, Py_TYPE(object)->tp_name);
        return -1;
    }
    items = PySequence_Tuple(object);
    if (items == NULL)
        return -1;
    n = PyTuple_GET_SIZE(items);
    if (n > LW_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s: at most %d dimensions, got %zd", rule->name,
                     LW_MAX_DIMS, n);
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (int_read(PyTuple_GET_ITEM(items, i), &out[i], rule) < 0)
            goto done;
    result = (int)n;
done:
    Py_DECREF(items);
    return result;
}

int
lw_shape_read(PyObject *object, int64_t shape[LW_MAX_DIMS], bool allow_minus_one)
{
    int_rule rule = {"shape", allow_minus_one ? -1 : 0};

    return ints_read(object, shape, &rule);
}

int
lw_strides_read(PyObject *object, int64_t strides[LW_MAX_DIMS])
{
    int_rule rule = {"strides", INT64_MIN};

    return ints_read(object, strides, &rule);
}

bool
lw_shape_size(int ndim, const int64_t *shape, int64_t itemsize, int64_t *size, int64_t *n_bytes)
{
    int64_t n = 1;
    bool empty = false, fits = true;

    for (int i = 0; i < ndim; i++) {
        empty |= shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(n, shape[i], &n);
    }
    if (empty)
        n = 0;
    else if (!fits)
        return false;
    *size = n;
    return !__builtin_mul_overflow(n, itemsize, n_bytes);
}

bool
lw_layout_reach(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize,
                int64_t *low, int64_t *high)
{
    int64_t down = 0, up = itemsize, step;

    *low = *high = 0;
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return true;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step))
            return false;
        if (step < 0 ? __builtin_add_overflow(down, step, &down)
                     : __builtin_add_overflow(up, step, &up))
            return false;
    }
    *low = down;
    *high = up;
    return true;
}

void
lw_layout_fill(int ndim, const int64_t *shape, int64_t itemsize, char order, int64_t *strides)
{
    uint64_t step =
        (uint64_t)itemsize; /* unsigned: an empty array's may wrap, and is not read */

    for (int k = 0; k < ndim; k++) {
        int i = order == 'F' ? k : ndim - 1 - k;
        strides[i] = (int64_t)step;
        if (shape[i] > 1)
            step *= (uint64_t)shape[i];
    }
}

static bool
is_ordered(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize, bool is_f)
{
    int64_t step = itemsize;
    bool follows = true;

    for (int k = 0; k < ndim; k++) {
        int i = is_f ? k : ndim - 1 - k;
        if (shape[i] == 0)
            return true;
        if (shape[i] == 1)
            continue;
        follows = follows && strides[i] == step;
        step = (int64_t)((uint64_t)step * (uint64_t)shape[i]);
    }
    return follows;
}

bool
lw_layout_is_c(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize)
{
    return is_ordered(ndim, shape, strides, itemsize, false);
}

bool
lw_layout_is_f(int ndim, const int64_t *shape, const int64_t *strides, int64_t itemsize)
{
    return is_ordered(ndim, shape, strides, itemsize, true);
}

int64_t
lw_layout_alignment(int ndim, const int64_t *shape, const int64_t *strides, uint64_t data,
                    int64_t most)
{
    uint64_t bits = data | (uint64_t)most;

    for (int i = 0; i < ndim; i++)
        if (shape[i] > 1)
            bits |= (uint64_t)strides[i];
    return (int64_t)(bits & -bits);
}
