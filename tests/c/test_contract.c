/* Contraction: which products are taken in, and that everything else stays as it was. */
#include "core/opt/contract.h"

#include "tests/c/check_pass.h"
#include "tests/c/random_ir.h"

#include <stdio.h>
#include <string.h>

/* Bodies of f(a, b, c: f64), before and after, as IR text. */
static const struct {
    const char *what, *before, *after;
} cases[] = {
    {"a*b + c", "%4 = mul f64 %1 %2 fuse\n%5 = add f64 %4 %3 fuse\nreturn (%5)",
     "%4 = fma f64 %1 %2 %3\nreturn (%4)"},
    {"c + a*b", "%4 = mul f64 %1 %2 fuse\n%5 = add f64 %3 %4 fuse\nreturn (%5)",
     "%4 = fma f64 %1 %2 %3\nreturn (%4)"},
    {"a*b - c", "%4 = mul f64 %1 %2 fuse\n%5 = sub f64 %4 %3 fuse\nreturn (%5)",
     "%4 = neg f64 %3\n%5 = fma f64 %1 %2 %4\nreturn (%5)"},
    {"c - a*b", "%4 = mul f64 %1 %2 fuse\n%5 = sub f64 %3 %4 fuse\nreturn (%5)",
     "%4 = neg f64 %1\n%5 = fma f64 %4 %2 %3\nreturn (%5)"},
    {"a*b + c*a: the left product",
     "%4 = mul f64 %1 %2 fuse\n%5 = mul f64 %3 %1 fuse\n%6 = add f64 %4 %5 fuse\nreturn (%6)",
     "%4 = mul f64 %3 %1 fuse\n%5 = fma f64 %1 %2 %4\nreturn (%5)"},
    {"a product used twice", "%4 = mul f64 %1 %2 fuse\n%5 = add f64 %4 %4 fuse\nreturn (%5)",
     NULL},
    {"a product used in a list too",
     "%4 = mul f64 %1 %2 fuse\n%5 = add f64 %4 %3 fuse\n%6 = intrin f64 pow (%4 %5)\n"
     "return (%6)",
     NULL},
    {"a product of another expression",
     "%4 = mul f64 %1 %2\n%5 = add f64 %4 %3 fuse\nreturn (%5)", NULL},
    {"a sum of another expression", "%4 = mul f64 %1 %2 fuse\n%5 = add f64 %4 %3\nreturn (%5)",
     NULL},
    {"a product outside the region of the sum",
     "%4 = mul f64 %1 %2 fuse\n%5 = lt b1 %1 %2\nif %5\n%7 = add f64 %4 %3 fuse\nreturn (%7)\n"
     "end\nreturn (%1)",
     NULL},
    {"the other branch",
     "%4 = slot f64\n%5 = lt b1 %1 %2\nif %5\nset %4 %1\nelse\n%9 = mul f64 %1 %2 fuse\n"
     "%10 = add f64 %9 %3 fuse\nset %4 %10\nend\n%13 = get f64 %4\nreturn (%13)",
     "%4 = slot f64\n%5 = lt b1 %1 %2\nif %5\nset %4 %1\nelse\n%9 = fma f64 %1 %2 %3\n"
     "set %4 %9\nend\n%12 = get f64 %4\nreturn (%12)"},
    {"fast-math flags: those of both",
     "%4 = mul f64 %1 %2 nnan nsz fuse\n%5 = add f64 %4 %3 nnan fuse\nreturn (%5)",
     "%4 = fma f64 %1 %2 %3 nnan\nreturn (%4)"},
    {"f16 is left alone",
     "%4 = cast f16 %1\n%5 = mul f16 %4 %4 fuse\n%6 = add f16 %5 %4 fuse\n%7 = cast f64 %6\n"
     "return (%7)",
     NULL},
    {"integers are left alone",
     "%4 = cast i64 %1\n%5 = mul i64 %4 %4 fuse\n%6 = add i64 %5 %4 fuse\n%7 = cast f64 %6\n"
     "return (%7)",
     NULL},
};

static lw_module *
module_of(const char *body)
{
    char text[2048];
    lw_module *module = NULL;
    lw_error err = {0};

    snprintf(
        text, sizeof text,
        "func internal f {\nparam f64 \"a\"\nparam f64 \"b\"\nparam f64 \"c\"\nresult f64\n"
        "body\n%%1 = param f64 0\n%%2 = param f64 1\n%%3 = param f64 2\n%s\n}\n",
        body);
    if (lw_ir_parse(text, &module, &err) != LW_OK || lw_ir_verify(module, &err) != LW_OK) {
        fprintf(stderr, "%s\n%s\n", body, lw_error_text(&err));
        n_failures++;
    }
    lw_error_reset(&err);
    return module;
}

/* A pass that has written the function again leaves elements of lists that no instruction uses,
 * with numbers of before. */
static void
leave_lists(lw_module *module)
{
    lw_func *func = module->funcs.data[0];
    static const lw_ref left[] = {100000, 4, 4};

    for (unsigned i = 0; i < 3; i++) {
        lw_ref *element = lw_array_push(&func->lists, &module->arena);
        if (element != NULL)
            *element = left[i];
    }
}

static void
test_cases(bool lists)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        lw_module *got = module_of(cases[i].before);
        lw_module *want = module_of(cases[i].after ? cases[i].after : cases[i].before);
        lw_text left, right;

        lw_text_init(&left);
        lw_text_init(&right);
        if (lists)
            leave_lists(got);
        CHECK(lw_opt_contract(got, NULL) == LW_OK && lw_ir_verify(got, NULL) == LW_OK);
        lw_ir_print(got, true, &left);
        lw_ir_print(want, true, &right);
        if (strcmp(lw_text_get(&left), lw_text_get(&right)) != 0) {
            fprintf(stderr, "%s\n got:\n%s want:\n%s", cases[i].what, lw_text_get(&left),
                    lw_text_get(&right));
            n_failures++;
        }
        lw_text_reset(&left);
        lw_text_reset(&right);
        lw_module_free(got);
        lw_module_free(want);
    }
}

/* Whatever the module, it stays valid. */
static void
test_random_modules(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        lw_module *module = random_module(seed);
        lw_error err = {0};

        if (lw_opt_contract(module, &err) != LW_OK || lw_ir_verify(module, &err) != LW_OK) {
            fprintf(stderr, "seed %d: %s\n", (int)seed, lw_error_text(&err));
            n_failures++;
        }
        lw_error_reset(&err);
        lw_module_free(module);
    }
}

static lw_module *
make(int number)
{
    return module_of(cases[number].before);
}

static lw_status
contract(lw_module *module)
{
    lw_status status = lw_opt_contract(module, NULL);

    lw_memory_fail_at(-1);
    CHECK(lw_ir_verify(module, NULL) == LW_OK);
    return status;
}

int
main(void)
{
    int64_t live = lw_memory_live();

    test_cases(false);
    test_cases(true);
    test_random_modules();
    check_pass_out_of_memory(make, 2, contract);
    return check_end(live);
}
