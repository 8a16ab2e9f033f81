/* Functions in vectors: which ones, with how many lanes, and that what they become is valid IR
 * for processors of each width. What it computes is tests/py/test_vectorize_lanes.py's. */
#include "core/opt/lanes.h"

#include "tests/c/check.h"

#include <string.h>

static const char *const LOOP =
    "func internal f {\n    param f64 \"x\"\n    param f64 \"y\"\n    result f64\nbody\n"
    "    %1 = param f64 0\n    %2 = param f64 1\n    %3 = slot f64\n    set %3 %1\n"
    "    %5 = slot i32\n    %6 = const i32 0\n    set %5 %6\n    loop\n"
    "        %9 = get i32 %5\n        %10 = const i32 90\n        %11 = lt b1 %9 %10\n"
    "        %12 = not b1 %11\n        if %12\n            break 0\n        end\n"
    "        %16 = get f64 %3\n        %17 = MIDDLE\n        %18 = gt b1 %17 %2\n"
    "        if %18\n            EXIT\n        end\n        set %3 %17\n    latch\n"
    "        %24 = get i32 %5\n        %25 = const i32 1\n        %26 = add i32 %24 %25\n"
    "        set %5 %26\n    end\n    %29 = get f64 %3\n    return (%29)\n}\n";

static bool
is_own(lw_intrinsic which, lw_dtype type)
{
    return which == LW_IN_exp && type == LW_DT_f64;
}

static lw_module *
module_of(const char *middle, const char *leave)
{
    char text[2048];
    const char *at = strstr(LOOP, "MIDDLE"), *next = strstr(LOOP, "EXIT");
    lw_module *module = NULL;
    lw_error err = {0};

    snprintf(text, sizeof text, "%.*s%s%.*s%s%s", (int)(at - LOOP), LOOP, middle,
             (int)(next - at - 6), at + 6, leave, next + 4);
    CHECK(lw_ir_parse(text, &module, &err) == LW_OK);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    return module;
}

/* A function that runs f for the vectors at its parameters. */
static void
check_inlined(lw_module *module, const lw_lanes_choice *choice, bool together)
{
    lw_builder b;
    lw_ref args[2], result, out;
    lw_error err = {0};

    lw_builder_start(&b, module, "lanes");
    for (int i = 0; i < 2; i++)
        args[i] = lw_ir_load(&b, LW_DT_f64, choice->lanes,
                             lw_ir_param_add(&b, LW_DT_ptr, 0, "p"), 0, 0);
    out = lw_ir_param_add(&b, LW_DT_ptr, 0, "out");
    CHECK(lw_lanes_inline(&b, 0, choice, args, &result, &err) == LW_OK);
    lw_ir_store(&b, out, result, 0, 0);
    CHECK(lw_ir_finish(&b, &err) == LW_OK);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    CHECK(lw_ir_has_op(module, LW_OP_ANY) == !together);
}

static void
check_fits(const char *middle, const char *leave, bool fits)
{
    static const struct {
        int bits;
        unsigned lanes;
        lw_dtype mask;
    } rows[] = {{128, 4, LW_DT_i64}, {256, 8, LW_DT_i64}, {512, 16, LW_DT_b1}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lw_lanes_host host = {.vector_bits = rows[i].bits, .is_own = is_own};
        lw_module *module = module_of(middle, leave);
        lw_lanes_choice choice;
        CHECK(lw_lanes_fit(module, 0, &host, &choice) == fits);
        if (fits) {
            CHECK(choice.lanes == rows[i].lanes && choice.mask == rows[i].mask);
            check_inlined(module, &choice, strstr(leave, "continue") != NULL);
        }
        lw_module_free(module);
    }
}

/* Two calls with two results each, which are read after both, in another order: the quotient of
 * -x of the first call and y * y of the second one. */
static const char *const PAIRS =
    "func internal f {\n    param f64 \"x\"\n    param f64 \"y\"\n    result f64\nbody\n"
    "    %1 = param f64 0\n    %2 = param f64 1\n    %3 = call void @pair (%1)\n"
    "    %4 = call void @pair (%2)\n    %5 = result f64 %4 1\n    %6 = result f64 %3 0\n"
    "    %7 = div f64 %6 %5\n    return (%7)\n}\n"
    "func internal pair {\n    param f64 \"x\"\n    result f64\n    result f64\nbody\n"
    "    %1 = param f64 0\n    %2 = slot f64\n    set %2 %1\n    loop\n"
    "        %5 = get f64 %2\n        %6 = gt b1 %5 %1\n        if %6\n            break 0\n"
    "        end\n        %10 = add f64 %5 %5\n        set %2 %10\n    latch\n    end\n"
    "    %14 = neg f64 %1\n    %15 = mul f64 %1 %1\n    return (%14 %15)\n}\n";

static void
check_pairs(void)
{
    static const char *const lines[] = {"%49 = neg f64x8 %2\n",  "set %7 %49\n",
                                        "%53 = get f64x8 %7\n",  "%98 = mul f64x8 %4 %4\n",
                                        "set %56 %98\n",         "%102 = get f64x8 %56\n",
                                        "= div f64x8 %53 %102\n"};
    lw_lanes_host host = {.vector_bits = 256, .is_own = is_own};
    lw_module *module = NULL;
    lw_lanes_choice choice;
    lw_error err = {0};
    lw_text text;

    CHECK(lw_ir_parse(PAIRS, &module, &err) == LW_OK);
    CHECK(lw_ir_verify(module, &err) == LW_OK);
    CHECK(lw_lanes_fit(module, 0, &host, &choice));
    check_inlined(module, &choice, false);
    lw_text_init(&text);
    lw_ir_print(module, false, &text);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK(strstr(lw_text_get(&text), lines[i]) != NULL);
    lw_text_reset(&text);
    lw_module_free(module);
}

int
main(void)
{
    check_pairs();
    check_fits("mul f64 %16 %16", "break 0", true);
    check_fits("mul f64 %16 %16", "return (%17)", true);
    check_fits("div f64 %1 %16", "continue 0", true);
    check_fits("intrin f64 sqrt (%16)", "break 0", true);
    check_fits("intrin f64 exp (%16)", "break 0", true);
    check_fits("intrin f64 sin (%16)", "break 0", false); /* a call for each lane */
    return n_failures != 0;
}
