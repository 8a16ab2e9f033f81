/* Prints LLVM text with one exported loop for every helper of
 * core/front/{integers,floats,numeric, complex}.h and every dtype it takes;
 * tests/oracle/test_numeric.py compiles and checks them.
 *
 * Each function is void name(in0, in1, in2, in3, out0, out1, n) over contiguous elements; a
 * comment "; case name in… -> out…" says which pointers count and their dtypes. */
#include "core/emit/emit.h"
#include "core/front/numeric/complex.h"
#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/numeric/numeric.h"

#include <stdio.h>
#include <string.h>

enum { INTS = 1, FLOATS = 2, BOOL = 4, PARTS = 8 }; /* PARTS: f32 and f64, for complex */

typedef void emit_fn(lw_builder *b, const lw_ref *in, lw_ref *out);

/* ---- one helper each ---- */

#define ONE(name, expression)                                                                  \
    static void name(lw_builder *b, const lw_ref *in, lw_ref *out)                             \
    {                                                                                          \
        out[0] = (expression);                                                                 \
    }
#define TWO(name, call)                                                                        \
    static void name(lw_builder *b, const lw_ref *in, lw_ref *out)                             \
    {                                                                                          \
        call;                                                                                  \
    }
#define CX(i) ((lw_complex){in[i], in[(i) + 1]})
#define CPLX(name, expression)                                                                 \
    static void name(lw_builder *b, const lw_ref *in, lw_ref *out)                             \
    {                                                                                          \
        lw_complex made = (expression);                                                        \
        out[0] = made.re;                                                                      \
        out[1] = made.im;                                                                      \
    }
#define I64(value)   lw_ir_int(b, LW_DT_i64, value)
#define LIKE(value)  lw_ir_float(b, lw_ir_type(b, in[0]), value)
#define ILIKE(value) lw_ir_int(b, lw_ir_type(b, in[0]), value)

ONE(floordiv, lw_num_floordiv(b, in[0], in[1]))
ONE(mod, lw_num_mod(b, in[0], in[1]))
TWO(divmod, lw_num_divmod(b, in[0], in[1], &out[0], &out[1]))
ONE(fmod_, lw_num_fmod(b, in[0], in[1]))
ONE(power, lw_num_power(b, in[0], in[1], true))
ONE(absolute, lw_num_abs(b, in[0]))
ONE(sign, lw_num_sign(b, in[0]))
ONE(reciprocal, lw_num_reciprocal(b, in[0]))
ONE(min_, lw_num_min(b, in[0], in[1]))
ONE(max_, lw_num_max(b, in[0], in[1]))
ONE(minimum, lw_num_minimum(b, in[0], in[1]))
ONE(maximum, lw_num_maximum(b, in[0], in[1]))
ONE(fmin_, lw_num_fmin(b, in[0], in[1]))
ONE(fmax_, lw_num_fmax(b, in[0], in[1]))
ONE(truth, lw_num_truth(b, in[0]))
ONE(shl, lw_int_shl(b, in[0], in[1]))
ONE(shr, lw_int_shr(b, in[0], in[1]))
ONE(gcd, lw_int_gcd(b, in[0], in[1]))
ONE(lcm, lw_int_lcm(b, in[0], in[1]))
ONE(isqrt, lw_int_isqrt(b, in[0]))
ONE(factorial, lw_int_factorial(b, in[0], NULL))
ONE(comb,
    lw_int_comb(b, lw_ir_cast(b, LW_DT_i64, in[0]), lw_ir_cast(b, LW_DT_i64, in[1]), NULL))
ONE(perm,
    lw_int_perm(b, lw_ir_cast(b, LW_DT_i64, in[0]), lw_ir_cast(b, LW_DT_i64, in[1]), NULL))
ONE(popcount, lw_int_popcount(b, in[0]))
ONE(floordiv_c7, lw_num_floordiv(b, in[0], ILIKE(7)))
ONE(mod_c8, lw_num_mod(b, in[0], ILIKE(8)))
ONE(floordiv_c8, lw_num_floordiv(b, in[0], ILIKE(8)))
ONE(floordiv_c0, lw_num_floordiv(b, in[0], ILIKE(0)))
ONE(floordiv_cm1, lw_num_floordiv(b, in[0], ILIKE(-1)))
ONE(power_c5, lw_num_power(b, in[0], ILIKE(5), true))
ONE(power_c0, lw_num_power(b, in[0], ILIKE(0), true))
ONE(power_cm3, lw_num_power(b, in[0], ILIKE(-3), true))
ONE(two_power, lw_num_power(b, ILIKE(2), in[0], true))
ONE(shl_c3, lw_int_shl(b, in[0], I64(3)))
ONE(shr_c70, lw_int_shr(b, in[0], I64(70)))
ONE(shl_cm1, lw_int_shl(b, in[0], I64(-1)))
ONE(round_m1, lw_int_round(b, in[0], I64(-1)))
ONE(round_m2, lw_int_round(b, in[0], I64(-2)))
ONE(logaddexp, lw_float_logaddexp(b, in[0], in[1]))
ONE(logaddexp2, lw_float_logaddexp2(b, in[0], in[1]))
ONE(heaviside, lw_float_heaviside(b, in[0], in[1]))
ONE(nextafter_, lw_float_nextafter(b, in[0], in[1]))
ONE(spacing, lw_float_spacing(b, in[0]))
ONE(ulp, lw_float_ulp(b, in[0]))
ONE(signbit_, lw_float_signbit(b, in[0]))
ONE(isnan_, lw_float_isnan(b, in[0]))
ONE(isinf_, lw_float_isinf(b, in[0]))
ONE(isfinite_, lw_float_isfinite(b, in[0]))
TWO(frexp_, lw_float_frexp(b, in[0], &out[0], &out[1]))
TWO(modf_, lw_float_modf(b, in[0], &out[0], &out[1]))
ONE(ldexp_, lw_float_ldexp(b, in[0], lw_ir_cast(b, LW_DT_i64, in[1])))
ONE(rint_, lw_float_round(b, in[0], I64(0)))
ONE(round_2, lw_float_round(b, in[0], I64(2)))
ONE(round_down2, lw_float_round(b, in[0], I64(-2)))
ONE(degrees, lw_float_scale(b, in[0], 57.29577951308232087680))
ONE(radians, lw_float_scale(b, in[0], 0.017453292519943295769))
ONE(square_pow, lw_float_power(b, in[0], LIKE(2), true))
ONE(cube_pow, lw_float_power(b, in[0], LIKE(3), false))
ONE(inverse_pow, lw_float_power(b, in[0], LIKE(-1), true))
ONE(sinc, lw_float_sinc(b, in[0]))
ONE(fma_, lw_float_fma(b, in[0], in[1], in[1]))
ONE(isclose, lw_float_isclose(b, in[0], in[1], LIKE(1e-9), LIKE(0)))
CPLX(c_add, lw_complex_add(b, CX(0), CX(2)))
CPLX(c_sub, lw_complex_sub(b, CX(0), CX(2)))
CPLX(c_mul, lw_complex_mul(b, CX(0), CX(2)))
CPLX(c_div, lw_complex_div(b, CX(0), CX(2)))
CPLX(c_pow, lw_complex_power(b, CX(0), CX(2)))
CPLX(c_maximum, lw_complex_extremum(b, LW_OP_GE, true, CX(0), CX(2)))
CPLX(c_minimum, lw_complex_extremum(b, LW_OP_LE, true, CX(0), CX(2)))
CPLX(c_fmax, lw_complex_extremum(b, LW_OP_GE, false, CX(0), CX(2)))
ONE(c_equal, lw_complex_compare(b, LW_OP_EQ, CX(0), CX(2)))
ONE(c_not_equal, lw_complex_compare(b, LW_OP_NE, CX(0), CX(2)))
ONE(c_less, lw_complex_compare(b, LW_OP_LT, CX(0), CX(2)))
ONE(c_greater_equal, lw_complex_compare(b, LW_OP_GE, CX(0), CX(2)))
ONE(c_abs, lw_complex_abs(b, CX(0)))
ONE(c_angle, lw_complex_angle(b, CX(0)))
ONE(c_isnan, lw_complex_isnan(b, CX(0)))
ONE(c_isinf, lw_complex_isinf(b, CX(0)))
ONE(c_isfinite, lw_complex_isfinite(b, CX(0)))
ONE(c_truth, lw_complex_truth(b, CX(0)))
CPLX(c_sign, lw_complex_sign(b, CX(0)))
CPLX(c_reciprocal, lw_complex_reciprocal(b, CX(0)))
CPLX(c_rint, lw_complex_rint(b, CX(0)))
CPLX(c_square, lw_complex_mul(b, CX(0), CX(0)))
CPLX(c_pow2, lw_complex_power(b, CX(0), ((lw_complex){LIKE(2), LIKE(0)})))
CPLX(c_pow7, lw_complex_power(b, CX(0), ((lw_complex){LIKE(7), LIKE(0)})))
CPLX(c_powm2, lw_complex_power(b, CX(0), ((lw_complex){LIKE(-2), LIKE(0)})))
CPLX(c_sqrt, lw_complex_call(b, LW_COMPLEX_SQRT, CX(0)))
CPLX(c_exp, lw_complex_call(b, LW_COMPLEX_EXP, CX(0)))
CPLX(c_exp2, lw_complex_call(b, LW_COMPLEX_EXP2, CX(0)))
CPLX(c_expm1, lw_complex_call(b, LW_COMPLEX_EXPM1, CX(0)))
CPLX(c_log, lw_complex_call(b, LW_COMPLEX_LOG, CX(0)))
CPLX(c_log2, lw_complex_call(b, LW_COMPLEX_LOG2, CX(0)))
CPLX(c_log10, lw_complex_call(b, LW_COMPLEX_LOG10, CX(0)))
CPLX(c_log1p, lw_complex_call(b, LW_COMPLEX_LOG1P, CX(0)))
CPLX(c_sin, lw_complex_call(b, LW_COMPLEX_SIN, CX(0)))
CPLX(c_cos, lw_complex_call(b, LW_COMPLEX_COS, CX(0)))
CPLX(c_tan, lw_complex_call(b, LW_COMPLEX_TAN, CX(0)))
CPLX(c_sinh, lw_complex_call(b, LW_COMPLEX_SINH, CX(0)))
CPLX(c_cosh, lw_complex_call(b, LW_COMPLEX_COSH, CX(0)))
CPLX(c_tanh, lw_complex_call(b, LW_COMPLEX_TANH, CX(0)))
CPLX(c_arcsin, lw_complex_call(b, LW_COMPLEX_ASIN, CX(0)))
CPLX(c_arccos, lw_complex_call(b, LW_COMPLEX_ACOS, CX(0)))
CPLX(c_arctan, lw_complex_call(b, LW_COMPLEX_ATAN, CX(0)))
CPLX(c_arcsinh, lw_complex_call(b, LW_COMPLEX_ASINH, CX(0)))
CPLX(c_arccosh, lw_complex_call(b, LW_COMPLEX_ACOSH, CX(0)))
CPLX(c_arctanh, lw_complex_call(b, LW_COMPLEX_ATANH, CX(0)))

typedef struct test_case {
    const char *name;
    int kinds, n_in;
    emit_fn *emit;
} test_case;

static const test_case cases[] = {
    {"floordiv", INTS | FLOATS, 2, floordiv},
    {"mod", INTS | FLOATS, 2, mod},
    {"divmod", INTS | FLOATS, 2, divmod},
    {"fmod", INTS | FLOATS, 2, fmod_},
    {"power", INTS | FLOATS, 2, power},
    {"abs", INTS | FLOATS | BOOL, 1, absolute},
    {"sign", INTS | FLOATS, 1, sign},
    {"reciprocal", INTS | FLOATS, 1, reciprocal},
    {"min", INTS | FLOATS | BOOL, 2, min_},
    {"max", INTS | FLOATS | BOOL, 2, max_},
    {"minimum", INTS | FLOATS | BOOL, 2, minimum},
    {"maximum", INTS | FLOATS | BOOL, 2, maximum},
    {"fmin", INTS | FLOATS, 2, fmin_},
    {"fmax", INTS | FLOATS, 2, fmax_},
    {"truth", INTS | FLOATS | BOOL, 1, truth},
    {"shl", INTS, 2, shl},
    {"shr", INTS, 2, shr},
    {"gcd", INTS, 2, gcd},
    {"lcm", INTS, 2, lcm},
    {"isqrt", INTS, 1, isqrt},
    {"factorial", INTS, 1, factorial},
    {"comb", INTS, 2, comb},
    {"perm", INTS, 2, perm},
    {"popcount", INTS, 1, popcount},
    {"floordiv_c7", INTS, 1, floordiv_c7},
    {"floordiv_c8", INTS, 1, floordiv_c8},
    {"floordiv_c0", INTS, 1, floordiv_c0},
    {"floordiv_cm1", INTS, 1, floordiv_cm1},
    {"mod_c8", INTS, 1, mod_c8},
    {"power_c5", INTS, 1, power_c5},
    {"power_c0", INTS, 1, power_c0},
    {"power_cm3", INTS, 1, power_cm3},
    {"two_power", INTS, 1, two_power},
    {"shl_c3", INTS, 1, shl_c3},
    {"shr_c70", INTS, 1, shr_c70},
    {"shl_cm1", INTS, 1, shl_cm1},
    {"round_m1", INTS, 1, round_m1},
    {"round_m2", INTS, 1, round_m2},
    {"logaddexp", FLOATS, 2, logaddexp},
    {"logaddexp2", FLOATS, 2, logaddexp2},
    {"heaviside", FLOATS, 2, heaviside},
    {"nextafter", FLOATS, 2, nextafter_},
    {"spacing", FLOATS, 1, spacing},
    {"ulp", FLOATS, 1, ulp},
    {"signbit", FLOATS, 1, signbit_},
    {"isnan", FLOATS, 1, isnan_},
    {"isinf", FLOATS, 1, isinf_},
    {"isfinite", FLOATS, 1, isfinite_},
    {"frexp", FLOATS, 1, frexp_},
    {"modf", FLOATS, 1, modf_},
    {"ldexp", FLOATS, 2, ldexp_},
    {"rint", FLOATS, 1, rint_},
    {"round_2", FLOATS, 1, round_2},
    {"round_down2", FLOATS, 1, round_down2},
    {"degrees", FLOATS, 1, degrees},
    {"radians", FLOATS, 1, radians},
    {"square_pow", FLOATS, 1, square_pow},
    {"cube_pow", FLOATS, 1, cube_pow},
    {"inverse_pow", FLOATS, 1, inverse_pow},
    {"sinc", FLOATS, 1, sinc},
    {"fma", FLOATS, 2, fma_},
    {"isclose", FLOATS, 2, isclose},
    {"c_add", PARTS, 4, c_add},
    {"c_sub", PARTS, 4, c_sub},
    {"c_mul", PARTS, 4, c_mul},
    {"c_div", PARTS, 4, c_div},
    {"c_pow", PARTS, 4, c_pow},
    {"c_maximum", PARTS, 4, c_maximum},
    {"c_minimum", PARTS, 4, c_minimum},
    {"c_fmax", PARTS, 4, c_fmax},
    {"c_equal", PARTS, 4, c_equal},
    {"c_not_equal", PARTS, 4, c_not_equal},
    {"c_less", PARTS, 4, c_less},
    {"c_greater_equal", PARTS, 4, c_greater_equal},
    {"c_abs", PARTS, 2, c_abs},
    {"c_angle", PARTS, 2, c_angle},
    {"c_isnan", PARTS, 2, c_isnan},
    {"c_isinf", PARTS, 2, c_isinf},
    {"c_isfinite", PARTS, 2, c_isfinite},
    {"c_truth", PARTS, 2, c_truth},
    {"c_sign", PARTS, 2, c_sign},
    {"c_reciprocal", PARTS, 2, c_reciprocal},
    {"c_rint", PARTS, 2, c_rint},
    {"c_square", PARTS, 2, c_square},
    {"c_pow2", PARTS, 2, c_pow2},
    {"c_pow7", PARTS, 2, c_pow7},
    {"c_powm2", PARTS, 2, c_powm2},
    {"c_sqrt", PARTS, 2, c_sqrt},
    {"c_exp", PARTS, 2, c_exp},
    {"c_exp2", PARTS, 2, c_exp2},
    {"c_expm1", PARTS, 2, c_expm1},
    {"c_log", PARTS, 2, c_log},
    {"c_log2", PARTS, 2, c_log2},
    {"c_log10", PARTS, 2, c_log10},
    {"c_log1p", PARTS, 2, c_log1p},
    {"c_sin", PARTS, 2, c_sin},
    {"c_cos", PARTS, 2, c_cos},
    {"c_tan", PARTS, 2, c_tan},
    {"c_sinh", PARTS, 2, c_sinh},
    {"c_cosh", PARTS, 2, c_cosh},
    {"c_tanh", PARTS, 2, c_tanh},
    {"c_arcsin", PARTS, 2, c_arcsin},
    {"c_arccos", PARTS, 2, c_arccos},
    {"c_arctan", PARTS, 2, c_arctan},
    {"c_arcsinh", PARTS, 2, c_arcsinh},
    {"c_arccosh", PARTS, 2, c_arccosh},
    {"c_arctanh", PARTS, 2, c_arctanh},
};

/* ---- the loops around them ---- */

static lw_ref
element(lw_builder *b, lw_ref pointer, lw_ref i, lw_dtype dtype)
{
    lw_ref size = lw_ir_int(b, LW_DT_i64, lw_dtypes[dtype].size_bytes);

    return lw_ir_offset(b, pointer, lw_ir_mul(b, i, size));
}

/* fn(in0 … in3, out0, out1, n); the dtypes of what was written are left in out_types. */
static void
build_loop(lw_module *module, const char *name, int n_in, const lw_dtype *in_types,
           emit_fn *emit, lw_dtype *out_types)
{
    lw_builder start, *b = &start;
    lw_ref pointers[6], in[4], out[2] = {0};

    lw_builder_start(b, module, name);
    b->func->linkage = LW_EXPORTED;
    for (int i = 0; i < 6; i++)
        pointers[i] = lw_ir_param_add(b, LW_DT_ptr, LW_PARAM_NOALIAS, NULL);
    lw_ref n = lw_ir_param_add(b, LW_DT_i64, 0, "n"), zero = lw_ir_zero(b, LW_DT_i64);
    lw_for loop = lw_ir_for(b, zero, n, lw_ir_int(b, LW_DT_i64, 1), LW_LOOP_VECTORIZE);
    for (int i = 0; i < n_in; i++) {
        lw_ref at = element(b, pointers[i], loop.i, in_types[i]);
        in[i] = lw_ir_load(b, in_types[i], 1, at, 0, 0);
    }
    emit(b, in, out);
    for (int i = 0; i < 2; i++) {
        out_types[i] = out[i] ? lw_ir_type(b, out[i]) : LW_DT_void;
        if (out[i])
            lw_ir_store(b, element(b, pointers[4 + i], loop.i, out_types[i]), out[i], 0, 0);
    }
    lw_ir_for_end(b, &loop);
    lw_ir_return(b, NULL, 0);
    if (lw_ir_finish(b, NULL) != LW_OK)
        module->failed = true;
}

static void
note(const char *name, int n_in, const lw_dtype *in, const lw_dtype *out)
{
    printf("; case %s", name);
    for (int i = 0; i < n_in; i++)
        printf(" %s", lw_dtypes[in[i]].name);
    printf(" ->");
    for (int i = 0; i < 2 && out[i] != LW_DT_void; i++)
        printf(" %s", lw_dtypes[out[i]].name);
    printf("\n");
}

static bool
takes(int kinds, lw_dtype dtype)
{
    if (lw_is_integer(dtype))
        return kinds & INTS;
    if (dtype == LW_DT_f32 || dtype == LW_DT_f64)
        return kinds & (FLOATS | PARTS);
    return lw_is_float(dtype) ? kinds & FLOATS : dtype == LW_DT_b1 && (kinds & BOOL);
}

static void
build_helpers(lw_module *module)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (lw_dtype dtype = LW_DT_b1; dtype <= LW_DT_f64; dtype++) {
            char name[64];
            bool scaled = strcmp(cases[i].name, "ldexp") == 0;
            lw_dtype in[4] = {dtype, scaled ? LW_DT_i64 : dtype, dtype, dtype}, out[2];
            if (!takes(cases[i].kinds, dtype))
                continue;
            snprintf(name, sizeof name, "%s__%s", cases[i].name, lw_dtypes[dtype].name);
            build_loop(module, name, cases[i].n_in, in, cases[i].emit, out);
            note(name, cases[i].n_in, in, out);
        }
}

/* Comparison of every pair of integer types and bool, and shifts by counts of another type. */
ONE(pair_lt, lw_int_compare(b, LW_OP_LT, in[0], in[1]))
ONE(pair_ge, lw_int_compare(b, LW_OP_GE, in[0], in[1]))
ONE(pair_eq, lw_int_compare(b, LW_OP_EQ, in[0], in[1]))
ONE(pair_shl, lw_int_shl(b, in[0], in[1]))
ONE(pair_shr, lw_int_shr(b, in[0], in[1]))

static void
build_pairs(lw_module *module)
{
    static const struct {
        const char *name;
        emit_fn *emit;
        bool takes_bool;
    } pairs[] = {{"lt", pair_lt, true},
                 {"ge", pair_ge, true},
                 {"eq", pair_eq, true},
                 {"shl", pair_shl, false},
                 {"shr", pair_shr, false}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (lw_dtype x = LW_DT_b1; x <= LW_DT_u64; x++)
            for (lw_dtype y = LW_DT_b1; y <= LW_DT_u64; y++) {
                char name[64];
                lw_dtype in[2] = {x, y}, out[2];
                if ((x == LW_DT_b1 || y == LW_DT_b1) && !pairs[i].takes_bool)
                    continue;
                snprintf(name, sizeof name, "pair_%s__%s_%s", pairs[i].name, lw_dtypes[x].name,
                         lw_dtypes[y].name);
                build_loop(module, name, 2, in, pairs[i].emit, out);
                note(name, 2, in, out);
            }
}

int
main(int argc, char **argv)
{
    lw_error err = {0};
    lw_module *module = NULL;
    lw_text text = {0};
    lw_emit_options options = {
        .target = argc > 1 && strcmp(argv[1], "cuda") == 0 ? LW_TARGET_CUDA : LW_TARGET_CPU,
        .precise = true,
        .vector_bits = 256,
        .host_features = ""};

    if (lw_module_new(&module, &err) != LW_OK)
        goto fail;
    build_helpers(module);
    build_pairs(module);
    if (module->failed || lw_ir_verify(module, &err) != LW_OK)
        goto fail;
    if (argc > 1 && strcmp(argv[1], "ir") == 0)
        lw_ir_print(module, false, &text);
    else if (lw_emit(module, &options, &text, &err) != LW_OK)
        goto fail;
    fputs(lw_text_get(&text), stdout);
    lw_text_reset(&text);
    lw_module_free(module);
    return 0;
fail:
    fprintf(stderr, "numeric_dump: %s\n", lw_error_text(&err));
    lw_module_free(module);
    return 1;
}
