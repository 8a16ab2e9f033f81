#include "ufunc/host_flags.h"

#include "core/host/flags.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { DIVIDED_BY_ZERO = FE_DIVBYZERO, OVERFLOWN = FE_OVERFLOW, NOT_VALID = FE_INVALID };

/* ---- integers ---- */

/* Whether one of n values is zero; of contiguous ones in a loop that compilers vectorise. */
#define LOOK(c_type, step)                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                          \
        c_type value;                                                                          \
        memcpy(&value, from + i * (step), sizeof value);                                       \
        found |= value == 0;                                                                   \
    }
#define HAS_ZERO(name, c_type)                                                                 \
    static bool name(const char *from, int64_t stride, int64_t n)                              \
    {                                                                                          \
        bool found = false;                                                                    \
                                                                                               \
        if (stride == (int64_t)sizeof(c_type))                                                 \
            LOOK(c_type, (int64_t)sizeof(c_type))                                              \
        else                                                                                   \
            LOOK(c_type, stride)                                                               \
        return found;                                                                          \
    }
HAS_ZERO(has_zero_byte, uint8_t)
HAS_ZERO(has_zero_half, uint16_t)
HAS_ZERO(has_zero_word, uint32_t)
HAS_ZERO(has_zero_long, uint64_t)
#undef HAS_ZERO
#undef LOOK

/* n values of `type` at `from`. */
static bool
has_zero(lw_dtype type, const char *from, int64_t stride, int64_t n)
{
    if (stride == 0 && n > 1)
        n = 1;
    switch (lw_dtypes[type].size_bytes) {
    case 1: return has_zero_byte(from, stride, n);
    case 2: return has_zero_half(from, stride, n);
    case 4: return has_zero_word(from, stride, n);
    default: return has_zero_long(from, stride, n);
    }
}

/* A signed integer. */
static int64_t
integer_at(lw_dtype type, const char *from)
{
    int8_t byte;
    int16_t half;
    int32_t word;
    int64_t whole;

    switch (type) {
    case LW_DT_i8: memcpy(&byte, from, sizeof byte); return byte;
    case LW_DT_i16: memcpy(&half, from, sizeof half); return half;
    case LW_DT_i32: memcpy(&word, from, sizeof word); return word;
    default: memcpy(&whole, from, sizeof whole); return whole;
    }
}

static bool
is_minus_one(lw_dtype type, const char *from)
{
    return lw_dtypes[type].kind == LW_KIND_INT && integer_at(type, from) == -1;
}

/* Whether an element is the least number of its type divided by -1. */
static bool
has_least_by_minus_one(const uint8_t *types, char *const *args, const int64_t *strides,
                       int64_t n)
{
    lw_dtype by = (lw_dtype)types[1];

#define LOOK(c_type, least)                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                          \
        c_type a;                                                                              \
        memcpy(&a, args[0] + i * strides[0], sizeof a);                                        \
        if (a == (least) && is_minus_one(by, args[1] + i * strides[1]))                        \
            return true;                                                                       \
    }                                                                                          \
    return false;

    switch ((lw_dtype)types[0]) {
    case LW_DT_i8: LOOK(int8_t, INT8_MIN)
    case LW_DT_i16: LOOK(int16_t, INT16_MIN)
    case LW_DT_i32: LOOK(int32_t, INT32_MIN)
    case LW_DT_i64: LOOK(int64_t, INT64_MIN)
    default: return false;
    }
#undef LOOK
}

static int
of_remainders(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    return has_zero((lw_dtype)types[1], args[1], strides[1], n) ? DIVIDED_BY_ZERO : 0;
}

/* Divided in the results' type: where the dividend's is narrower, the quotient of its least
 * number exists. */
static int
of_quotients(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    int flags = of_remainders(types, args, strides, n);

    if (types[0] == types[2] && has_least_by_minus_one(types, args, strides, n))
        flags |= OVERFLOWN;
    return flags;
}

/* NumPy's reciprocals of integers are those of float64, converted. */
static int
of_reciprocals(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    bool any = has_zero((lw_dtype)types[0], args[0], strides[0], n);

    return any ? DIVIDED_BY_ZERO | NOT_VALID : 0;
}

/* ---- floats ---- */

static double
half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f;
    double fraction = bits & 0x3ff, value;

    if (exponent == 0x1f)
        value = fraction != 0 ? NAN : INFINITY;
    else
        value = exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* A float's value: of complex numbers, that of the half at `from`. */
static double
value_at(lw_dtype type, const char *from)
{
    uint16_t half;
    float single;
    double whole;

    switch (lw_dtypes[type].parts) {
    case LW_DT_f16: memcpy(&half, from, sizeof half); return half_value(half);
    case LW_DT_f32: memcpy(&single, from, sizeof single); return (double)single;
    default: memcpy(&whole, from, sizeof whole); return whole;
    }
}

static double
largest_of(lw_dtype type)
{
    return type == LW_DT_f16 ? 65504 : type == LW_DT_f32 ? (double)FLT_MAX : DBL_MAX;
}

/* a / b of finite numbers. Raises no flag itself: comparisons are those that take NaN. */
static inline bool
overflows(double a, double b, double largest)
{
    double size = fabs(a), by = fabs(b);

    by = isless(by, 1) ? by : 1;
    return (by > 0) & (islessequal(size, DBL_MAX) != 0) & (isgreater(size, largest * by) != 0);
}

/* Where a quotient of finite numbers overflows NumPy subtracts one infinity from another. */
static int
of_float_quotients(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    double largest = largest_of((lw_dtype)types[2]);
    bool found = false;

#define LOOK(type_a, type_b)                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                          \
        type_a a;                                                                              \
        type_b b;                                                                              \
        memcpy(&a, args[0] + i * strides[0], sizeof a);                                        \
        memcpy(&b, args[1] + i * strides[1], sizeof b);                                        \
        found |= overflows((double)a, (double)b, largest);                                     \
    }                                                                                          \
    return found ? OVERFLOWN | NOT_VALID : 0;

    switch ((types[0] == LW_DT_f64) * 2 + (types[1] == LW_DT_f64)) {
    case 0: LOOK(float, float)
    case 1: LOOK(float, double)
    case 2: LOOK(double, float)
    default: LOOK(double, double)
    }
#undef LOOK
}

/* Zero to a power without a positive real part, which is no number, but for 0: 1. */
static int
of_complex_powers(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const char *base = args[0] + i * strides[0], *power = args[1] + i * strides[1];
        lw_dtype of_base = (lw_dtype)types[0], of_power = (lw_dtype)types[1];
        size_t to_imaginary = lw_dtypes[of_base].size_bytes / 2;
        double re, im;
        if (value_at(of_base, base) != 0 || value_at(of_base, base + to_imaginary) != 0)
            continue;
        to_imaginary = lw_dtypes[of_power].size_bytes / 2;
        re = value_at(of_power, power);
        im = value_at(of_power, power + to_imaginary);
        if (islessequal(re, 0) && (re != 0 || im != 0))
            return NOT_VALID;
    }
    return 0;
}

/* From the largest number to infinity. */
static int
of_next(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    lw_dtype type = (lw_dtype)types[0];
    double largest = largest_of(type);

    for (int64_t i = 0; types[0] == types[1] && i < n; i++) {
        double from = value_at(type, args[0] + i * strides[0]);
        double to = value_at(type, args[1] + i * strides[1]);
        if (fabs(from) == largest && isinf(to) && (to > 0) == (from > 0))
            return OVERFLOWN;
    }
    return 0;
}

static int
of_spacing(const uint8_t *types, char *const *args, const int64_t *strides, int64_t n)
{
    lw_dtype type = (lw_dtype)types[0];
    double largest = largest_of(type);
    int flags = 0;

    for (int64_t i = 0; i < n; i++) {
        double value = value_at(type, args[0] + i * strides[0]);
        if (value == largest)
            flags |= OVERFLOWN;
        if (type == LW_DT_f16 && !isfinite(value))
            flags |= NOT_VALID;
    }
    return flags;
}

/* ---- which ---- */

typedef enum number_kind { INTEGERS, FLOATS, HALVES_AND_FLOATS, COMPLEX_NUMBERS } number_kind;

static bool
are(number_kind kind, const lw_dtype *types, int nin)
{
    for (int i = 0; i < nin; i++) {
        lw_dtype type = types[i];
        bool right = kind == INTEGERS ? lw_is_integer(type) || type == LW_DT_b1
                     : kind == COMPLEX_NUMBERS
                         ? lw_dtypes[type].parts != type
                         : type == LW_DT_f32 || type == LW_DT_f64 ||
                               (kind == HALVES_AND_FLOATS && type == LW_DT_f16);
        if (!right)
            return false;
    }
    return true;
}

lw_flag_rule
lw_flag_rule_of(const char *ufunc, const lw_dtype *types, int nin)
{
    static const struct {
        const char *ufunc;
        number_kind kind;
        lw_flag_rule rule;
    } rows[] = {{"floor_divide", INTEGERS, of_quotients},
                {"divmod", INTEGERS, of_quotients},
                {"remainder", INTEGERS, of_remainders},
                {"fmod", INTEGERS, of_remainders},
                {"reciprocal", INTEGERS, of_reciprocals},
                {"floor_divide", FLOATS, of_float_quotients},
                {"divmod", FLOATS, of_float_quotients},
                {"power", COMPLEX_NUMBERS, of_complex_powers},
                {"nextafter", HALVES_AND_FLOATS, of_next},
                {"spacing", HALVES_AND_FLOATS, of_spacing}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].ufunc, ufunc) == 0 && are(rows[i].kind, types, nin))
            return rows[i].rule;
    return NULL;
}

void
lw_flag_rule_raise(lw_flag_rule rule, const uint8_t *types, char *const *args,
                   const int64_t *strides, int64_t n)
{
    int flags = rule(types, args, strides, n);

    if (flags)
        lw_flags_raise(flags);
}
