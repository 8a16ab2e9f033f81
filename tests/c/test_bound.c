/* Bounds of numbers: what follows from the instructions, and that a number that may be infinite
 * has none. */
#include "core/ir/bound.h"

#include "tests/c/check.h"
#include "core/base/memory.h"
#include "core/ir/ir.h"

#include <math.h>
#include <string.h>

/* Bodies of f(a: f64, n: i32, u: u64, s: f32, h: f16, i: i64) whose last value is asked for,
 * and its bound without what is added for rounding; `helper` is called by some. */
static const struct {
    const char *what, *body;
    double bound;
} cases[] = {
    {"a parameter", "%7 = neg f64 %1", INFINITY},
    {"a constant", "%7 = const f64 0xc000000000000000", 2.0},
    {"NaN", "%7 = const f32 0x7fc00000", 0.0},
    {"infinity", "%7 = const f32 0x7f800000", INFINITY},
    {"an integer of 32 bits", "%7 = cast f64 %2", 0x1p31},
    {"an integer of 64 bits", "%7 = cast f32 %3", 0x1p64},
    {"too large for a float16", "%7 = cast f16 %2", INFINITY},
    {"small enough for it", "%7 = const u64 255\n%8 = and u64 %3 %7\n%9 = cast f16 %8", 255},
    {"upper bits", "%7 = const u64 40\n%8 = shr u64 %3 %7\n%9 = cast f32 %8", 0x1p24},
    {"upper bits of a signed number", "%7 = const i64 40\n%8 = shr i64 %6 %7\n%9 = cast f32 %8",
     0x1p23},
    {"lower bits", "%7 = const u64 1023\n%8 = and u64 %7 %3\n%9 = cast f32 %8", 1023},
    {"lower bits, of which one is the sign",
     "%7 = const i64 -1024\n%8 = and i64 %6 %7\n%9 = cast f64 %8", 0x1p63},
    {"a remainder", "%7 = const i32 360\n%8 = rem i32 %2 %7\n%9 = cast f32 %8", 360},
    {"a negative number that becomes unsigned", "%7 = cast u64 %2\n%8 = cast f64 %7", 0x1p64},
    {"a number that becomes wider", "%7 = cast i64 %2\n%8 = cast f64 %7", 0x1p31},
    {"a number that becomes narrower", "%7 = cast i32 %6\n%8 = cast f64 %7", 0x1p31},
    {"a sum of integers wraps", "%7 = const i32 5\n%8 = add i32 %2 %7\n%9 = cast f64 %8",
     0x1p31},
    {"a truth value", "%7 = lt b1 %1 %1\n%8 = cast f32 %7", 1},
    {"a small number as a truth value",
     "%7 = const f64 0x3ea0000000000000\n%8 = cast b1 %7\n%9 = cast f32 %8", 1},
    {"a product", "%7 = const f64 0x4008000000000000\n%8 = cast f64 %2\n%9 = mul f64 %7 %8",
     3 * 0x1p31},
    {"a product with what is unknown", "%7 = const f64 0x0\n%8 = mul f64 %7 %1", INFINITY},
    {"a sum", "%7 = cast f64 %2\n%8 = add f64 %7 %7", 0x1p32},
    {"a difference", "%7 = cast f64 %2\n%8 = sub f64 %7 %7", 0x1p32},
    {"a fused product", "%7 = cast f64 %2\n%8 = fma f64 %7 %7 %7", 0x1p62 + 0x1p31},
    {"a quotient", "%7 = cast f64 %2\n%8 = div f64 %7 %7", INFINITY},
    {"one of two",
     "%7 = lt b1 %1 %1\n%8 = cast f64 %2\n%9 = const f64 0x3ff0000000000000\n"
     "%10 = select f64 %7 %8 %9",
     0x1p31},
    {"one of two, of which one is unknown",
     "%7 = lt b1 %1 %1\n%8 = const f64 0x3ff0000000000000\n%9 = select f64 %7 %8 %1", INFINITY},
    {"a sine", "%7 = intrin f64 sin (%1)", 1},
    {"a root", "%7 = intrin f64 sqrt (%1)", INFINITY},
    {"a remainder of floats", "%7 = const f64 0x4008000000000000\n%8 = intrin f64 fmod (%1 %7)",
     3},
    {"the smaller one", "%7 = const f64 0x4008000000000000\n%8 = intrin f64 fmin (%1 %7)",
     INFINITY},
    {"rounded", "%7 = cast f32 %2\n%8 = intrin f32 floor (%7)", 0x1p31},
    {"a float32 that overflows",
     "%7 = const f32 0x7f000000\n%8 = const f32 0x40000000\n%9 = mul f32 %7 %8", INFINITY},
    {"a result", "%7 = call f64 @helper (%1)", 7},
    {"in a variable", "%7 = slot f64\n%8 = const f64 0x0\nset %7 %8\n%10 = get f64 %7",
     INFINITY},
};

static const char helper[] =
    "func internal helper {\n    param f64 \"x\"\n    result f64\nbody\n"
    "    %1 = param f64 0\n    %2 = lt b1 %1 %1\n    if %2\n"
    "    %4 = const f64 0x401c000000000000\n    return (%4)\n    end\n"
    "    %7 = const f64 0x0\n    return (%7)\n}\n";

static lw_module *
module_of(const char *body)
{
    lw_module *module = NULL;
    lw_error err = {0};
    lw_text text;

    lw_text_init(&text);
    lw_text_addf(&text,
                 "%sfunc exported f {\nparam f64 \"a\"\nparam i32 \"n\"\nparam u64 \"u\"\n"
                 "param f32 \"s\"\nparam f16 \"h\"\nparam i64 \"i\"\nbody\n%%1 = param f64 0\n"
                 "%%2 = param i32 1\n%%3 = param u64 2\n%%4 = param f32 3\n%%5 = param f16 4\n"
                 "%%6 = param i64 5\n%s\nreturn ()\n}\n",
                 helper, body);
    if (lw_ir_parse(lw_text_get(&text), &module, &err) != LW_OK ||
        lw_ir_verify(module, &err) != LW_OK)
        fprintf(stderr, "%s\n%s\n", lw_error_text(&err), body);
    lw_error_reset(&err);
    lw_text_reset(&text);
    return module;
}

static void
test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lw_module *module = module_of(cases[i].body);
        const lw_func *f;
        double bound, wanted = cases[i].bound;

        CHECK(module != NULL);
        if (module == NULL)
            continue;
        f = module->funcs.data[1];
        bound = lw_ir_bound(module, f, f->insts.n - 2);
        if (!(bound >= wanted && (bound <= wanted * 1.05 + 1.1 || isinf(wanted)))) {
            fprintf(stderr, "%s: got %g, wanted %g\n", cases[i].what, bound, wanted);
            n_failures++;
        }
        lw_module_free(module);
    }
}

/* A long chain ends with no bound, however often its values are used. */
static void
test_length(void)
{
    lw_text body;
    lw_module *module;
    const lw_func *f;

    lw_text_init(&body);
    lw_text_add(&body, "%7 = cast f64 %2");
    for (int i = 8; i < 200; i++)
        lw_text_addf(&body, "\n%%%d = sub f64 %%%d %%%d", i, i - 1, i - 1);
    module = module_of(lw_text_get(&body));
    CHECK(module != NULL);
    if (module != NULL) {
        f = module->funcs.data[1];
        CHECK(isinf(lw_ir_bound(module, f, f->insts.n - 2)));
    }
    lw_module_free(module);
    lw_text_reset(&body);
}

int
main(void)
{
    int64_t live = lw_memory_live();

    test_cases();
    test_length();
    return check_end(live);
}
