/* The IR: what print writes parse reads back, the verifier takes good modules and names what is
 * wrong with bad ones, and nothing leaks or breaks when memory runs out or the text is damaged.
 */
#include "core/ir/facts.h"
#include "core/ir/operands.h"
#include "core/ir/recursion.h"
#include "core/ir/same_math.h"

#include "tests/c/random_ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition, ...)                                                                  \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
            fprintf(stderr, __VA_ARGS__);                                                      \
            fputc('\n', stderr);                                                               \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static char *
print(const lw_module *module, bool with_locs)
{
    lw_text out;
    char *copy;

    lw_text_init(&out);
    lw_ir_print(module, with_locs, &out);
    copy = lw_strdup(lw_text_get(&out));
    lw_text_reset(&out);
    return copy;
}

static lw_module *
parse(const char *text)
{
    lw_module *module = NULL;
    lw_error err = {0};

    CHECK(lw_ir_parse(text, &module, &err) == LW_OK, "%s", lw_error_text(&err));
    lw_error_reset(&err);
    return module;
}

static void
check_valid(const lw_module *module, uint64_t seed)
{
    lw_error err = {0};

    if (lw_ir_verify(module, &err) != LW_OK) {
        char *text = print(module, false);
        CHECK(false, "seed %d: %s\n%s", (int)seed, lw_error_text(&err), text);
        lw_free(text);
    }
    lw_error_reset(&err);
}

/* print(parse(print(m))) is print(m), with places and without; a copy prints the same. */
static void
test_round_trip(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed), *copy = NULL;
        check_valid(module, seed);
        for (int with_locs = 0; with_locs < 2; with_locs++) {
            char *text = print(module, with_locs), *again;
            lw_module *back = parse(text);
            if (back == NULL) {
                lw_free(text);
                continue;
            }
            check_valid(back, seed);
            again = print(back, with_locs);
            CHECK(strcmp(text, again) == 0, "seed %d:\n%s\n---\n%s", (int)seed, text, again);
            lw_free(again);
            lw_module_free(back);
            if (lw_module_copy(module, &copy, NULL) == LW_OK) {
                again = print(copy, with_locs);
                CHECK(strcmp(text, again) == 0, "seed %d: the copy differs", (int)seed);
                lw_free(again);
                lw_module_free(copy);
            }
            lw_free(text);
        }
        lw_module_free(module);
    }
}

/* Every instruction again, into a function without any. */
static void
copy_function(lw_module *module, uint32_t number)
{
    lw_func *func = module->funcs.data[number], old = *func;
    lw_builder b = {.module = module, .func = func, .func_number = number};
    lw_ref *become = lw_alloc_zero(old.insts.n + 1, sizeof *become);

    memset(&func->insts, 0, sizeof func->insts);
    memset(&func->lists, 0, sizeof func->lists);
    lw_ir_emit(&b, LW_OP_NONE, LW_DT_void, 0, 0, 0); /* [0] is unused */
    for (uint32_t i = 1; i < old.insts.n; i++)
        become[i] = lw_ir_copy(&b, &old, old.insts.data[i], become);
    lw_free(become);
}

/* Functions whose instructions are copied print as they did, with flags, lanes and places. */
static void
test_copies(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed);
        char *text = print(module, true), *again;
        for (uint32_t i = 0; i < module->funcs.n; i++)
            copy_function(module, i);
        check_valid(module, seed);
        again = print(module, true);
        CHECK(strcmp(text, again) == 0, "seed %d:\n%s\n---\n%s", (int)seed, text, again);
        lw_free(again);
        lw_free(text);
        lw_module_free(module);
    }
}

/* Values and slots count, in lists too, numbers that look like them do not; each instruction
 * once. */
static void
test_uses(void)
{
    lw_module *module = NULL;
    lw_builder b;
    lw_ref a, slot, x, sum, both[2], given[5];
    const uint32_t want[5] = {1, 2, 1, 1, 0};

    if (lw_module_new(&module, NULL) != LW_OK)
        return;
    lw_builder_start(&b, module, "f");
    a = lw_ir_param_add(&b, LW_DT_i64, 0, "a");
    lw_ir_result_add(&b, LW_DT_i64);
    lw_ir_result_add(&b, LW_DT_i64);
    slot = lw_ir_slot(&b, LW_DT_i64);
    lw_ir_set(&b, slot, a);
    lw_ir_sreg(&b, (lw_sreg)slot);
    x = lw_ir_get(&b, slot);
    sum = lw_ir_add(&b, x, x);
    both[0] = both[1] = sum;
    lw_ir_return(&b, both, 2);
    memcpy(given, (lw_ref[]){a, slot, x, sum, b.func->insts.n - 1}, sizeof given);
    check_valid(module, 0);
    for (int i = 0; i < 5; i++)
        CHECK(lw_ir_count_uses(b.func, given[i]) == want[i], "%%%u is used %u times", given[i],
              lw_ir_count_uses(b.func, given[i]));
    CHECK(lw_ir_inst_uses(b.func, &b.func->insts.data[x], slot), "GET of its slot");
    CHECK(!lw_ir_inst_uses(b.func, &b.func->insts.data[sum], slot), "not of what x is of");
    lw_module_free(module);
}

/* The END of a region, found by counting from where it opens; *middle: its ELSE or LATCH. */
static uint32_t
end_by_counting(const lw_func *func, uint32_t at, uint32_t *middle)
{
    uint32_t depth = 1;

    *middle = 0;
    for (uint32_t i = at + 1; i < func->insts.n; i++) {
        lw_op op = (lw_op)func->insts.data[i].op;
        if ((op == LW_OP_ELSE || op == LW_OP_LATCH) && depth == 1)
            *middle = i;
        depth += op == LW_OP_IF || op == LW_OP_BLOCK || op == LW_OP_LOOP;
        depth -= op == LW_OP_END;
        if (depth == 0)
            return i;
    }
    return 0;
}

static void
test_regions(void)
{
    uint32_t n_found = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        lw_module *module = random_module(seed);
        for (uint32_t f = 0; f < module->funcs.n; f++) {
            const lw_func *func = module->funcs.data[f];
            lw_ir_regions regions;
            if (!lw_ir_regions_init(&regions, func))
                return;
            for (uint32_t i = 1; i < func->insts.n; i++) {
                uint32_t middle = 0, end = 0;
                if (lw_ir_opens_region((lw_op)func->insts.data[i].op))
                    end = end_by_counting(func, i, &middle);
                CHECK(regions.ends[i] == end && regions.middles[i] == middle, "seed %d, %%%u",
                      (int)seed, i);
                n_found += end != 0;
            }
            lw_ir_regions_reset(&regions);
        }
        lw_module_free(module);
    }
    CHECK(n_found > 100, "only %u regions", n_found);
}

/* %1 = param, %2 = slot, then by number: 3 block, 4 loop, 5 if, 6 set, 7 break, 8 end (of if),
 * 9 latch, 10 end, 11 end. */
static lw_module *
with_jumps(void)
{
    return parse("func internal f {\n param b1 \"c\"\nbody\n %1 = param b1 0\n %2 = slot b1\n"
                 " block\n loop\n if %1\n set %2 %1\n break 1\n end\n latch\n end\n end\n"
                 " return ()\n}\n");
}

static void
test_is_set(void)
{
    lw_module *module = with_jumps();
    const lw_func *func = module ? module->funcs.data[0] : NULL;

    if (func == NULL)
        return;
    CHECK(lw_ir_is_set(func, 6, 7, 2) && lw_ir_is_set(func, 1, func->insts.n, 2), "set");
    CHECK(!lw_ir_is_set(func, 1, 6, 2) && !lw_ir_is_set(func, 7, func->insts.n, 2), "outside");
    CHECK(!lw_ir_is_set(func, 1, func->insts.n, 1), "another one");
    lw_module_free(module);
}

static void
test_jumps_out(void)
{
    lw_module *module = with_jumps();
    const lw_func *func = module ? module->funcs.data[0] : NULL;
    const uint32_t targets[] = {0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 1, 0};
    const struct {
        uint32_t from, at;
        bool out;
    } rows[] = {{1, 7, false}, {3, 7, false}, {4, 7, true}, {5, 7, true}, {5, 6, false}};
    lw_ir_regions regions;

    if (func == NULL || !lw_ir_regions_init(&regions, func))
        return;
    for (uint32_t i = 1; i < sizeof targets / sizeof *targets; i++)
        CHECK(regions.targets[i] == targets[i], "%u targets around %%%u", regions.targets[i],
              i);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(lw_ir_jumps_out(&regions, func, rows[i].from, rows[i].at) == rows[i].out,
              "from %u at %u", rows[i].from, rows[i].at);
    lw_ir_regions_reset(&regions);
    lw_module_free(module);
}

/* What the user has declared for GPUs is told apart from C functions of ours. */
static void
test_device_externs(void)
{
    static const char text[] = "extern i32 \"ours\" ptr\ndevice f32 \"theirs\" f32 i64\n";
    lw_module *module = parse(text), *copy = NULL;
    char *again;

    CHECK(module != NULL && module->externs.n == 2 && !module->externs.data[0].device &&
              module->externs.data[1].device,
          "%s", text);
    CHECK(lw_module_copy(module, &copy, NULL) == LW_OK, "no copy");
    again = print(copy, 0);
    CHECK(strcmp(again, text) == 0, "%s", again);
    lw_free(again);
    lw_module_free(copy);
    lw_module_free(module);
}

/* Damaged texts are refused or read, never a crash; what is read can be verified and printed.
 */
static void
test_damaged_texts(void)
{
    random_ir r = {.state = 99};

    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed), *back = NULL;
        char *text = print(module, true);
        size_t n = strlen(text);
        lw_error err = {0};

        for (unsigned i = 0; i < 1 + seed % 4; i++) {
            unsigned at = random_below(&r, (unsigned)n);
            text[at] = "0%x(){} \n\"19abf"[random_below(&r, 15)];
        }
        if (seed % 3 == 0)
            text[random_below(&r, (unsigned)n)] = 0;
        if (lw_ir_parse(text, &back, &err) == LW_OK) {
            char *again = print(back, true);
            lw_ir_verify(back, &err);
            lw_free(again);
            lw_module_free(back);
        } else {
            CHECK(err.text != NULL && strstr(err.text, "line") != NULL, "no line is named");
        }
        lw_error_reset(&err);
        lw_free(text);
        lw_module_free(module);
    }
}

/* ---- what the verifier refuses ---- */

static const struct {
    const char *body, *message;
} bad_bodies[] = {
    {"%1 = param f32 0\n return (%1)", "the results say i32"},
    {"%1 = param f32 1\n return ()", "no parameter number 1"},
    {"%1 = add i32 %2 %2\n return ()", "operand %2 is not made before"},
    {"%1 = add i32 %0 %0\n return ()", "operand %0 is not made before"},
    {"%1 = const i32 1\n %2 = const i64 1\n %3 = add i32 %1 %2\n return (%1)", "i32 and i64"},
    {"%1 = const i32 1\n %2 = add i64 %1 %1\n return (%1)", "not that of its operand"},
    {"%1 = const b1 1\n %2 = add b1 %1 %1\n return ()", "does not take b1"},
    {"%1 = const f32 0\n %2 = shl f32 %1 %1\n return ()", "does not take f32"},
    {"%1 = const i32 1\n if %1\n end\n return (%1)", "does not take i32"},
    {"%1 = const b1 1\n if %1\n %3 = const i32 1\n %4 = add i32 %3 %3\n end\n"
     " %6 = add i32 %4 %4\n return (%6)",
     "in a region that is closed"},
    {"%1 = const b1 1\n if %1\n %3 = const i32 1\n return (%3)\n end\n", "without a return"},
    {"%1 = const i32 1\n return (%1)\n %3 = const i32 1", "can never run"},
    {"break 0\n", "no block or loop encloses it"},
    {"block\n continue 0\n end\n", "no loop's body"},
    {"loop\n break 0\n end\n", "no latch"},
    {"loop\n latch\n continue 0\n end\n", "no loop's body"},
    {"loop\n latch\n", "left open"},
    {"else\n", "in no if"},
    {"end\n", "nothing is open"},
    {"%1 = const i32 1\n set %1 %1\n return (%1)", "no slot"},
    {"%1 = slot f32\n %2 = get i32 %1\n return (%2)", "slot has another type"},
    {"%1 = slot f32\n %2 = neg f32 %1\n return (%2)", "is no value"},
    {"%1 = const i32 1\n %2 = load i32 %1\n return (%2)", "does not take i32"},
    {"%1 = const ptr 0\n %2 = load i32x3 %1\n return ()", "3 lanes"},
    {"%1 = const ptr 0\n %2 = load i32x4 %1\n %3 = add i32 %2 %2\n return (%3)",
     "%2 has 4 lanes and the result 1"},
    {"%1 = const ptr 0\n %2 = load i32x4 %1\n return (%2)", "is a vector"},
    {"%1 = const ptr 0\n %2 = load i32x4 %1\n %3 = lane i32 %2 4\n return (%3)", "no lane 4"},
    {"%1 = const f32 0\n %2 = intrin f32 pow (%1)\n return ()", "pow takes 2 arguments"},
    {"%1 = const i32 0\n %2 = intrin i32 sin (%1)\n return (%2)", "sin does not take i32"},
    {"%1 = const f32 0\n %2 = intrin i32 sin (%1)\n return (%2)", "sin of f32 gives f32"},
    {"%1 = call i32 @helper ()\n return (%1)", "0 values for 1 parameters"},
    {"%1 = const i64 0\n %2 = call i32 @helper (%1)\n return (%2)", "helper takes i32"},
    {"%1 = const f32 0\n %2 = bitcast i64 %1\n return ()", "not of one width"},
    {"%1 = const i32 0\n %2 = host_call i32 3 (%1)\n return (%2)", "no extern number 3"},
    {"%1 = const f32 0\n %2 = call i32 @f (%1)\n return (%2)", "it calls itself"},
    {"%1 = const i64 0\n %2 = recur i32 @helper (%1)\n return (%2)", "helper takes i32"},
    {"%1 = const i64 0\n %2 = room b1 %1\n return ()", "a depth is i32"},
    {"%1 = local ptr 0 3\n return ()", "0 bytes"},
    {"%1 = local i32 8 3\n return ()", "is not ptr"},
    {"%1 = shared ptr 8 13\n return ()", "2^12 at most"},
    {"%1 = data ptr 0\n return ()", "no datum number 0"},
    {"%1 = dynamic ptr\n %2 = const f32 0\n %3 = atomic f32 min (%1 %2)\n return ()",
     "min does not take f32"},
    {"%1 = dynamic ptr\n %2 = const i32 0\n %3 = atomic i32 inc (%1 %2)\n return ()",
     "inc does not take i32"},
    {"%1 = dynamic ptr\n %2 = const i32 0\n %3 = atomic i32 cas (%1 %2)\n return ()",
     "cas takes 3"},
    {"%1 = const i32 0\n %2 = atomic i32 add (%1 %1)\n return ()", "no ptr"},
    {"%1 = dynamic ptr\n %2 = const i64 0\n %3 = atomic i32 add (%1 %2)\n return ()",
     "operand 1 is i64, not i32"},
    {"%1 = const i32 0\n %2 = kcall i32 ballot (%1 %1)\n return ()",
     "argument 1 of ballot is i32, not b1"},
    {"%1 = kcall void activemask ()\n return ()", "activemask gives i32"},
    {"%1 = const i32 0\n %2 = kcall i32 activemask (%1)\n return ()", "activemask takes 0"},
};

static void
test_verifier(void)
{
    for (unsigned i = 0; i < sizeof bad_bodies / sizeof *bad_bodies; i++) {
        char text[1024];
        lw_module *module;
        lw_error err = {0};

        snprintf(text, sizeof text,
                 "func internal helper {\n param i32 \"x\"\n result i32\nbody\n"
                 " %%1 = param i32 0\n return (%%1)\n}\n"
                 "func internal f {\n param f32 \"x\"\n result i32\nbody\n %s\n}\n",
                 bad_bodies[i].body);
        module = parse(text);
        if (module == NULL)
            continue;
        CHECK(lw_ir_verify(module, &err) == LW_ERR_INTERNAL, "taken:\n%s", bad_bodies[i].body);
        CHECK(strstr(lw_error_text(&err), bad_bodies[i].message) != NULL,
              "%s\n  says: %s\n  not:  %s", bad_bodies[i].body, lw_error_text(&err),
              bad_bodies[i].message);
        lw_error_reset(&err);
        lw_module_free(module);
    }
}

static void
test_bad_texts(void)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"func internal f {\n", "expected }"},
        {"func somehow f {\n}\n", "a linkage"},
        {"gunk\n", "func, file, extern, device or data"},
        {"func internal f {\n result void\n}\n", "the type of a number"},
        {"func internal f {\nbody\n frob\n}\n",
         "line 3: expected an instruction, got \"frob\""},
        {"func internal f {\nbody\n %2 = const i32 0\n}\n", "numbered by position"},
        {"func internal f {\nbody\n %1 = const i33 0\n}\n", "a type, got \"i33\""},
        {"func internal f {\nbody\n %1 = const i32 0x\n}\n", "a constant"},
        {"func internal f {\nbody\n %1 = call i32 @g ()\n}\n", "name of a function"},
        {"func internal f {\nbody\n %1 = intrin f32 foo ()\n}\n", "name of an intrinsic"},
        {"func internal f {\nbody\n return ( 1 )\n}\n", "a value, %number"},
        {"func internal f {\nbody\n return () nnan nwhat\n}\n", "an attribute"},
        {"func internal f {\nbody\n %1 = const ptr 0\n %2 = load f32 %1 align 3\n}\n",
         "a power of two"},
        {"file 2 \"x\"\n", "files numbered from 1"},
        {"data 2 align 3 0102\n", "a power of two"},
        {"data 2 align 4 01\n", "as many bytes as it says"},
        {"data 2 align 4 01 0g\n", "hexadecimal"},
        {"data 1 align 4 01\ndata 1 align 4 01\n", "each datum once"},
        {"func internal f {\nbody\n %1 = sreg i32 tid.w\n}\n", "a special register"},
        {"extern i32 \"x\n", "a closing quote"},
    };

    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        lw_module *module = NULL;
        lw_error err = {0};
        CHECK(lw_ir_parse(bad[i].text, &module, &err) == LW_ERR_VALUE, "taken: %s",
              bad[i].text);
        CHECK(strstr(lw_error_text(&err), bad[i].message) != NULL, "%s says: %s", bad[i].text,
              lw_error_text(&err));
        lw_error_reset(&err);
    }
}

/* ---- the builder ---- */

static void
test_context(void)
{
    static const uint8_t bytes[] = {1, 2, 3};
    lw_module *module = NULL;
    lw_builder b;
    lw_ref one, mask;

    CHECK(lw_module_new(&module, NULL) == LW_OK, "memory");
    lw_builder_start(&b, module, "f");
    one = lw_ir_data(&b, bytes, 3, 1);
    CHECK(lw_ir_data(&b, bytes, 2, 4) != one, "%u", one);
    lw_ir_data(&b, bytes, 3, 8);
    lw_ir_live_data(&b, UINT64_C(0x7fff00001000), true);
    lw_ir_live_data(&b, UINT64_C(0x7fff00001000), true);
    CHECK(module->datas.n == 3 && module->datas.data[0].align_log2 == 3, "%u datas",
          module->datas.n);
    lw_ir_local(&b, 8, 8);
    CHECK(!lw_ir_uses_context(module) && lw_ir_shared_bytes(module) == 0, "no context");
    lw_ir_shared(&b, 6, 2);
    lw_ir_shared(&b, 5, 16);
    CHECK(lw_ir_uses_context(module) && !lw_ir_is_collective(module), "shared memory");
    CHECK(lw_ir_shared_bytes(module) == 24, "%u bytes", lw_ir_shared_bytes(module));
    lw_ir_kernel_call(&b, LW_KOP_fence_order, LW_DT_void, NULL, 0);
    CHECK(!lw_ir_is_collective(module), "order waits for nobody");
    lw_ir_kernel_call(&b, LW_KOP_fence_device, LW_DT_void, NULL, 0);
    CHECK(lw_ir_is_collective(module), "behind a fence a thread may wait for another's word");
    mask = lw_ir_int(&b, LW_DT_i32, -1);
    lw_ir_kernel_call(&b, LW_KOP_syncwarp, LW_DT_void, &mask, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK, "finish");
    check_valid(module, 0);
    lw_module_free(module);
}

/* A module that asks for math="same": calls of the function that was set for a type, appended
 * once; what has none is noted with the first name. */
static void
test_same_math(void)
{
    lw_module *library = NULL, *module = NULL;
    lw_builder b;
    lw_ref x, y;

    CHECK(lw_module_new(&library, NULL) == LW_OK && lw_module_new(&module, NULL) == LW_OK,
          "memory");
    lw_builder_start(&b, library, "own_exp");
    x = lw_ir_param_add(&b, LW_DT_f32, 0, "x");
    lw_ir_result_add(&b, LW_DT_f32);
    lw_ir_return(&b, &x, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK, "finish");
    lw_same_math_set(LW_IN_exp, LW_DT_f32, library, 0);
    lw_same_math_begin(module);
    lw_builder_start(&b, module, "f");
    x = lw_ir_param_add(&b, LW_DT_f16, 0, "x");
    lw_ir_result_add(&b, LW_DT_f16);
    y = lw_ir_intrinsic(&b, LW_IN_exp, LW_DT_f16, &x, 1);
    y = lw_ir_intrinsic(&b, LW_IN_exp, LW_DT_f16, &y, 1);
    y = lw_ir_intrinsic(&b, LW_IN_sqrt, LW_DT_f16, &y, 1); /* exact everywhere */
    lw_ir_return(&b, &y, 1);
    CHECK(lw_ir_finish(&b, NULL) == LW_OK, "finish");
    check_valid(module, 0);
    CHECK(module->funcs.n == 2 && module->not_same == NULL, "%u functions", module->funcs.n);
    CHECK(!lw_same_math_replaces(LW_IN_sqrt) && lw_same_math_replaces(LW_IN_exp), "bounds");
    lw_builder_start(&b, module, "g");
    x = lw_ir_param_add(&b, LW_DT_f64, 0, "x");
    CHECK(lw_ir_intrinsic(&b, LW_IN_exp, LW_DT_f64, &x, 1) == 0, "there is none for f64");
    lw_same_math_refuse(&b, "j0");
    CHECK(module->not_same != NULL && strcmp(module->not_same, "exp") == 0, "the first name");
    lw_same_math_set(LW_IN_exp, LW_DT_f32, NULL, 0);
    lw_module_free(module);
    lw_module_free(library);
}

static void
test_scattered(void)
{
    static const char text[] = "data 2 align 4 scattered 0102\n";
    lw_module *module = NULL, *copy = NULL;
    lw_text printed = {0};

    CHECK(lw_ir_parse(text, &module, NULL) == LW_OK && module->datas.n == 1 &&
              module->datas.data[0].scattered,
          "parsed");
    CHECK(lw_module_copy(module, &copy, NULL) == LW_OK, "memory");
    lw_ir_print(copy, false, &printed);
    CHECK(strncmp(lw_text_get(&printed), text, sizeof text - 1) == 0, "%s",
          lw_text_get(&printed));
    lw_text_reset(&printed);
    lw_module_free(module);
    lw_module_free(copy);
}

static void
test_local_bytes(void)
{
    lw_module *module = parse("func internal g {\nbody\n %1 = local ptr 100 4\n return ()\n}\n"
                              "func internal f {\nbody\n %1 = local ptr 8 0\n"
                              " %2 = call void @g ()\n %3 = call void @g ()\n return ()\n}\n"
                              "func internal h {\nbody\n %1 = local ptr 16 0\n return ()\n}\n");
    uint32_t bytes = 0;

    CHECK(module && lw_ir_local_bytes(module, &bytes, NULL) == LW_OK && bytes == 8 + 2 * 115,
          "f calls g twice");
    lw_module_free(module);
    module = parse("func internal f {\nbody\n %1 = local ptr 2147483647 0\n"
                   " %2 = local ptr 2147483647 0\n %3 = local ptr 9 0\n return ()\n}\n");
    CHECK(module && lw_ir_local_bytes(module, &bytes, NULL) == LW_OK && bytes == UINT32_MAX,
          "too many");
    lw_module_free(module);
}

/* Of n functions, each but the first calls the one before it twice. */
static lw_module *
parse_doubling(int n)
{
    static char text[16 * 1024];
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "func internal f%d {\nbody\n", i);
        if (i > 0)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   " %%1 = call void @f%d ()\n %%2 = call void @f%d ()\n",
                                   i - 1, i - 1);
        at += (size_t)snprintf(text + at, sizeof text - at, " return ()\n}\n");
    }
    return parse(text);
}

static void
test_brief(void)
{
    lw_module *module = parse_doubling(5);

    CHECK(module && lw_ir_is_brief(module), "31 calls");
    lw_module_free(module);
    module = parse_doubling(16);
    CHECK(module && !lw_ir_is_brief(module), "65,535 calls, of few instructions");
    lw_module_free(module);
    module = parse(
        "func internal f {\nbody\n %1 = const i32 1\n %2 = add i32 %1 %1\n return ()\n}\n");
    CHECK(module && lw_ir_is_brief(module), "straight-line code");
    lw_module_free(module);
    module = parse("func internal f {\nbody\n block\n loop\n break 1\n latch\n end\n end\n "
                   "return ()\n}\n");
    CHECK(module && !lw_ir_is_brief(module), "a loop");
    lw_module_free(module);
}

static void
test_recursion(void)
{
    lw_module *module =
        parse("func internal f {\n param i32 \"level\"\n result i32\nbody\n"
              " %1 = param i32 0\n %2 = local ptr 8 0\n %3 = room b1 %1\n if %3\n"
              " %5 = recur i32 @f (%1)\n return (%5)\n end\n return (%1)\n}\n"
              "func exported e {\n result i32\nbody\n %1 = const i32 1\n"
              " %2 = call i32 @f (%1)\n return (%2)\n}\n");
    uint32_t local = 0, margin = 0, thread = 0;

    CHECK(module != NULL, "a recursive call is no CALL");
    if (module == NULL)
        return;
    check_valid(module, 0);
    CHECK(lw_ir_recurses(module) && lw_ir_repeats(module), "it recurses");
    CHECK(!lw_ir_is_brief(module), "for as long as it likes");
    CHECK(lw_ir_local_bytes(module, &local, NULL) == LW_OK && local == 8, "of one level");
    CHECK(lw_ir_margin_bytes(module, &margin, NULL) == LW_OK && margin > 8 + (16 << 10),
          "%u bytes", margin);
    CHECK(lw_ir_thread_bytes(module, 64, &thread, NULL) == LW_OK &&
              thread == margin + (64 << 10),
          "%u bytes", thread);
    lw_module_free(module);
    module = parse("func internal f {\nbody\n %1 = local ptr 8 0\n return ()\n}\n");
    CHECK(module && !lw_ir_recurses(module) &&
              lw_ir_thread_bytes(module, 64, &thread, NULL) == LW_OK && thread == 8,
          "without recursion");
    lw_module_free(module);
}

static void
test_variables(void)
{
    static const char text[] =
        "file 1 \"a.py\"\nfunc internal f {\n    python \"f\" at 1:3:0\n    param f32 \"x\"\n"
        "    var \"x\" \"f32\" 1 at 1:3:0\n"
        "    var \"t\" \"{'pair';8;_0:0:f32;_1:4:f32;}\" 0 at 1:4:0\nbody\n"
        "    %1 = param f32 0\n    bind 0 (%1)\n    bind 1 (%1 %1)\n    return ()\n}\n";
    lw_module *module = parse(text), *copy = NULL;
    lw_text printed = {0};

    CHECK(module != NULL, "variables");
    if (module == NULL)
        return;
    check_valid(module, 0);
    CHECK(lw_module_copy(module, &copy, NULL) == LW_OK, "copy");
    lw_module_free(module);
    lw_ir_print(copy, true, &printed);
    CHECK(strcmp(lw_text_get(&printed), text) == 0, "%s", lw_text_get(&printed));
    lw_text_reset(&printed);
    copy->funcs.data[0]->vars.n = 1;
    CHECK(lw_ir_verify(copy, NULL) == LW_ERR_INTERNAL, "no variable of this number");
    lw_module_free(copy);
}

static void
test_constants(void)
{
    static const struct {
        lw_dtype type;
        double value;
        uint64_t bits;
    } floats[] = {
        {LW_DT_f64, 1.0, UINT64_C(0x3ff0000000000000)},
        {LW_DT_f32, 0.1, 0x3dcccccd},
        {LW_DT_f16, 1.0, 0x3c00},
        {LW_DT_f16, 65504, 0x7bff},
        {LW_DT_f16, 65519, 0x7bff},
        {LW_DT_f16, 65520, 0x7c00},
        {LW_DT_f16, -1e9, 0xfc00},
        {LW_DT_f16, 0x1p-24, 1},
        {LW_DT_f16, 0x1p-25, 0},
        {LW_DT_f16, 0x1.8p-25, 1},
        {LW_DT_f16, -0.0, 0x8000},
        {LW_DT_f16, 1 + 0x1p-11, 0x3c00},
        {LW_DT_f16, 1 + 0x1.8p-11, 0x3c01},
        {LW_DT_f16, 0x1.ff8p-15, 0x3ff},
        {LW_DT_f16, 0x1.ffcp-15, 0x400},
        {LW_DT_bf16, 1.0, 0x3f80},
        {LW_DT_bf16, 0.1, 0x3dcd},
        {LW_DT_bf16, 3.4e38, 0x7f80},
        {LW_DT_bf16, 0x1p-133, 1},
    };
    lw_module *module = NULL;
    lw_builder b;
    uint64_t bits = 0;

    lw_module_new(&module, NULL);
    lw_builder_start(&b, module, "f");
    for (unsigned i = 0; i < sizeof floats / sizeof *floats; i++) {
        lw_ir_is_const(&b, lw_ir_float(&b, floats[i].type, floats[i].value), &bits);
        CHECK(bits == floats[i].bits, "%s %g: %llx", lw_dtypes[floats[i].type].name,
              floats[i].value, (unsigned long long)bits);
    }
    lw_ir_is_const(&b, lw_ir_int(&b, LW_DT_i8, 200), &bits);
    CHECK((int64_t)bits == -56, "i8 200 wraps to -56");
    lw_ir_is_const(&b, lw_ir_int(&b, LW_DT_u8, -1), &bits);
    CHECK(bits == 255, "u8 -1 wraps to 255");
    lw_ir_is_const(&b, lw_ir_int(&b, LW_DT_b1, 2), &bits);
    CHECK(bits == 1, "b1 2 is true");
    CHECK(!lw_ir_is_const(&b, 0, NULL), "0 is no constant");
    lw_module_free(module);
}

/* i32 f(i32 x): the sum of 0, 3, 6 … below x */
static lw_status
build_sum(lw_module *module, lw_error *err)
{
    lw_builder b;
    lw_ref x, sum;
    lw_for loop;

    lw_builder_start(&b, module, "f");
    x = lw_ir_param_add(&b, LW_DT_i32, 0, "x");
    lw_ir_result_add(&b, LW_DT_i32);
    sum = lw_ir_slot(&b, LW_DT_i32);
    lw_ir_set(&b, sum, lw_ir_zero(&b, LW_DT_i32));
    loop = lw_ir_for(&b, lw_ir_int(&b, LW_DT_i32, 0), x, lw_ir_int(&b, LW_DT_i32, 3), 0);
    lw_ir_set(&b, sum, lw_ir_add(&b, lw_ir_get(&b, sum), loop.i));
    lw_ir_for_end(&b, &loop);
    x = lw_ir_get(&b, sum);
    lw_ir_return(&b, &x, 1);
    return lw_ir_finish(&b, err);
}

static lw_status
build_print_parse(lw_error *err)
{
    lw_status status;
    lw_module *module = NULL, *copy = NULL, *back = NULL;
    lw_text text;

    lw_text_init(&text);
    LW_TRY(lw_module_new(&module, err));
    LW_TRY(build_sum(module, err));
    LW_TRY(lw_ir_verify(module, err));
    LW_TRY(lw_module_copy(module, &copy, err));
    lw_ir_print(copy, true, &text);
    if (text.failed)
        status = lw_fail_memory(err);
    else
        status = lw_ir_parse(lw_text_get(&text), &back, err);
fail:
    lw_text_reset(&text);
    lw_module_free(module);
    lw_module_free(copy);
    lw_module_free(back);
    return status;
}

/* Every allocation fails in turn: the failure sticks, emitters take value 0, nothing leaks. */
static void
test_out_of_memory(void)
{
    int64_t live = lw_memory_live();
    lw_status status = LW_ERR_OUT_OF_MEMORY;

    for (int64_t n = 0; status != LW_OK && n < 1000; n++) {
        lw_error err = {0};
        lw_memory_fail_at(n);
        status = build_print_parse(&err);
        lw_memory_fail_at(-1);
        CHECK(status == LW_OK || status == LW_ERR_OUT_OF_MEMORY, "allocation %d: %s", (int)n,
              lw_error_text(&err));
        lw_error_reset(&err);
        CHECK(lw_memory_live() == live, "allocation %d leaks", (int)n);
    }
    CHECK(status == LW_OK, "building never succeeds");
}

int
main(void)
{
    int64_t live = lw_memory_live();

    test_context();
    test_same_math();
    test_scattered();
    test_local_bytes();
    test_brief();
    test_recursion();
    test_variables();
    test_round_trip();
    test_copies();
    test_uses();
    test_regions();
    test_is_set();
    test_jumps_out();
    test_device_externs();
    test_damaged_texts();
    test_verifier();
    test_bad_texts();
    test_constants();
    CHECK(lw_memory_live() == live, "%d blocks leaked", (int)(lw_memory_live() - live));
    test_out_of_memory();
    if (failures)
        fprintf(stderr, "%d failures\n", failures);
    return failures != 0;
}
