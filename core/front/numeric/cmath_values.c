/* What cmath returns where C99 leaves the sign of a part open or where later editions changed
 * the value. NumPy's functions return what the C library does there. Where cmath raises, the
 * result stays that of the formulas. */
#include "core/front/numeric/complex.h"
#include "core/front/numeric/floats.h"

#include <math.h>

/* Sets of numbers, which a part of the argument is tested against. */
typedef enum part_class { ZERO, NAN_PART, INF_PART, MINUS_INF, NOT_FINITE } part_class;

/* `part` becomes `value` where the real part of the argument is in `re` and the imaginary part
 * in `im`. */
typedef struct special_value {
    lw_complex_function function;
    part_class re, im;
    enum { RE, IM } part;
    double value;
} special_value;

static const special_value rows[] = {
    {LW_COMPLEX_ACOS, INF_PART, NAN_PART, IM, INFINITY},
    {LW_COMPLEX_ACOSH, ZERO, NAN_PART, IM, NAN},
    {LW_COMPLEX_ASIN, INF_PART, NAN_PART, IM, -INFINITY},
    {LW_COMPLEX_ATAN, INF_PART, NAN_PART, IM, -0.0},
    {LW_COMPLEX_COS, ZERO, NAN_PART, IM, 0},
    {LW_COMPLEX_COSH, NAN_PART, ZERO, IM, 0},
    {LW_COMPLEX_EXP, MINUS_INF, NOT_FINITE, IM, 0},
    {LW_COMPLEX_SIN, NAN_PART, ZERO, IM, -0.0},
    {LW_COMPLEX_SIN, NAN_PART, INF_PART, IM, -INFINITY},
    {LW_COMPLEX_SINH, ZERO, NAN_PART, RE, 0},
    {LW_COMPLEX_SINH, INF_PART, NAN_PART, RE, INFINITY},
    {LW_COMPLEX_TAN, NOT_FINITE, INF_PART, RE, 0},
    {LW_COMPLEX_TAN, NAN_PART, ZERO, IM, NAN},
    {LW_COMPLEX_TANH, ZERO, NAN_PART, RE, NAN},
    {LW_COMPLEX_TANH, INF_PART, NOT_FINITE, IM, 0},
};

static lw_ref
is_in(lw_builder *b, part_class set, lw_ref x)
{
    lw_dtype type = lw_ir_type(b, x);

    switch (set) {
    case ZERO: return lw_ir_compare(b, LW_OP_EQ, x, lw_ir_float(b, type, 0));
    case NAN_PART: return lw_float_isnan(b, x);
    case INF_PART: return lw_float_isinf(b, x);
    case MINUS_INF: return lw_ir_compare(b, LW_OP_EQ, x, lw_ir_float(b, type, -INFINITY));
    case NOT_FINITE: return lw_ir_not(b, lw_float_isfinite(b, x));
    }
    return 0;
}

lw_complex
lw_complex_as_cmath(lw_builder *b, lw_complex_function which, lw_complex x, lw_complex value)
{
    uint32_t fast = lw_float_exact(b);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const special_value *row = &rows[i];
        lw_ref *part = row->part == RE ? &value.re : &value.im;
        lw_ref is_here;

        if (row->function != which)
            continue;
        is_here = lw_ir_and(b, is_in(b, row->re, x.re), is_in(b, row->im, x.im));
        *part =
            lw_ir_select(b, is_here, lw_ir_float(b, lw_ir_type(b, *part), row->value), *part);
    }
    lw_float_relax(b, fast);
    return value;
}
