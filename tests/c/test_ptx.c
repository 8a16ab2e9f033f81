/* PTX that is rewritten: which numbers go to constant memory, which texts stay as they are, and
 * that a text is either rewritten completely or not at all. What ptxas makes of it is tested by
 * test_nvvm. */
#include "core/link/ptx_constants.h"

#include "tests/c/check.h"
#include "core/base/memory.h"
#include "core/base/text.h"

#include <string.h>

enum { N_NUMBERS = 8 };

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n"

/* n instructions with different numbers, from 0d4000000000000001 on. */
static void
add_numbers(lw_text *out, int n)
{
    for (int k = 1; k <= n; k++)
        lw_text_addf(out, "\tadd.rn.f64 \t%%fd%d, %%fd1, 0d40000000000000%02X;\n", k, k);
}

/* `before` stands between the head and the numbers, and becomes `after`; NULL: the text stays
 * as it is. */
static void
check_lines(int n_numbers, const char *head, const char *before, const char *after)
{
    lw_text in;
    lw_bytes ptx = {0};
    lw_error err = {0};
    const char *found;

    lw_text_init(&in);
    lw_text_addf(&in, "%s%s", head, before);
    add_numbers(&in, n_numbers);
    lw_text_add(&in, "}\n");
    CHECK(lw_bytes_copy(&ptx, lw_text_get(&in), in.n));
    CHECK(lw_ptx_constants(&ptx, &err) == LW_OK);
    CHECK(strlen((char *)ptx.data) == ptx.n);
    if (after == NULL) {
        CHECK(strcmp((char *)ptx.data, lw_text_get(&in)) == 0);
    } else {
        found = strstr((char *)ptx.data, ".entry k()\n{\n");
        CHECK(found != NULL);
        if (found != NULL) {
            found += strlen(".entry k()\n{\n");
            if (strncmp(found, after, strlen(after)) != 0)
                fprintf(stderr, "got:\n%.300s\nwant:\n%s\n", found, after);
            CHECK(strncmp(found, after, strlen(after)) == 0);
        }
    }
    lw_bytes_reset(&ptx);
    lw_text_reset(&in);
}

static void
test_numbers(void)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"\tmov.f64 \t%fd2, 0d4000000000000002;\n", "\tld.const.f64 %fd2, [lw_constants+8];\n"},
        {"\tmov.f64 \t%fd2, 0d3FF0000000000001;\n", "\tld.const.f64 %fd2, [lw_constants+0];\n"},
        {"\tfma.rn.f64 \t%fd2, %fd3, 0d4000000000000001, 0d4000000000000003;\n",
         "\t{ .reg .f64 lw_c1, lw_c2, lw_c3; ld.const.f64 lw_c2, [lw_constants+0]; "
         "ld.const.f64 lw_c3, [lw_constants+16]; fma.rn.f64 %fd2, %fd3, lw_c2, lw_c3; }\n"},
        {"\tsub.f64 \t%fd2, 0d4000000000000001, %fd3;\n",
         "\t{ .reg .f64 lw_c1, lw_c2, lw_c3; ld.const.f64 lw_c1, [lw_constants+0]; "
         "sub.f64 %fd2, lw_c1, %fd3; }\n"},
        /* the lower half is zero: one instruction holds it */
        {"\tmul.rn.f64 \t%fd2, %fd3, 0d3FE0000000000000;\n",
         "\tmul.rn.f64 \t%fd2, %fd3, 0d3FE0000000000000;\n"},
        {"\t@%p1 add.f64 \t%fd2, %fd3, 0d4000000000000001;\n",
         "\t@%p1 add.f64 \t%fd2, %fd3, 0d4000000000000001;\n"},
        {"\tselp.f64 \t%fd2, %fd3, 0d4000000000000001, %p1;\n",
         "\tselp.f64 \t%fd2, %fd3, 0d4000000000000001, %p1;\n"},
        {"\tsetp.lt.f64 \t%p1, %fd3, 0d4000000000000001;\n",
         "\tsetp.lt.f64 \t%p1, %fd3, 0d4000000000000001;\n"},
        {"\tmov.f32 \t%f2, 0f3F800001;\n", "\tmov.f32 \t%f2, 0f3F800001;\n"},
        {"\tmov.b64 \t%rd2, 0x4000000000000001;\n", "\tmov.b64 \t%rd2, 0x4000000000000001;\n"},
        {"\tmov.f64 \t%fd2, 0d400000000000000G;\n", "\tmov.f64 \t%fd2, 0d400000000000000G;\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_lines(N_NUMBERS, HEAD, cases[i].before, cases[i].after);
}

static void
test_texts_that_stay(void)
{
    check_lines(N_NUMBERS - 1, HEAD, "", NULL);
    check_lines(N_NUMBERS - 1, HEAD, "\tmov.f64 \t%fd9, 0d4000000000000001;\n", NULL);
    check_lines(N_NUMBERS - 1, HEAD, "\tmov.f64 \t%fd9, 0d4000000000000000;\n", NULL);
    check_lines(N_NUMBERS - 1, HEAD, "\tmov.f64 \t%fd9, 0d4000000000000099;\n",
                "\tld.const.f64 %fd9, [lw_constants+56];\n");
    check_lines(N_NUMBERS, ".version 9.0\n.target sm_90\n.entry k()\n{\n", "", NULL);
    check_lines(N_NUMBERS, ".address_size 64\n.const .align 8 .b8 own[60000];\n.entry k()\n{\n",
                "", NULL);
    check_lines(N_NUMBERS, ".address_size 64\n.func lw_constants()\n.entry k()\n{\n", "", NULL);
}

static void
test_table(void)
{
    lw_text in;
    lw_bytes ptx = {0};
    lw_error err = {0};

    lw_text_init(&in);
    lw_text_add(&in, HEAD);
    add_numbers(&in, N_NUMBERS);
    add_numbers(&in, N_NUMBERS);
    CHECK(lw_bytes_copy(&ptx, lw_text_get(&in), in.n));
    CHECK(lw_ptx_constants(&ptx, &err) == LW_OK);
    CHECK(strstr((char *)ptx.data, ".address_size 64\n.const .align 8 .b64 lw_constants[8] = "
                                   "{0x4000000000000001, 0x4000000000000002, ") != NULL);
    CHECK(strstr((char *)ptx.data, ", 0x4000000000000008};\n") != NULL);
    /* a second time, there is nothing to do */
    in.n = 0;
    lw_text_add_n(&in, (char *)ptx.data, ptx.n);
    CHECK(lw_ptx_constants(&ptx, &err) == LW_OK);
    CHECK(strcmp((char *)ptx.data, lw_text_get(&in)) == 0);
    lw_bytes_reset(&ptx);
    CHECK(lw_ptx_constants(&ptx, &err) == LW_OK && ptx.data == NULL);
    lw_text_reset(&in);
}

/* Every allocation fails in turn; the text stays as it was until none does. */
static void
test_out_of_memory(void)
{
    lw_text in;
    lw_bytes ptx = {0};
    lw_status status = LW_ERR_OUT_OF_MEMORY;
    int64_t n = 0;

    lw_text_init(&in);
    lw_text_add(&in, HEAD);
    add_numbers(&in, 255);
    CHECK(lw_bytes_copy(&ptx, lw_text_get(&in), in.n));
    for (; status != LW_OK && n < 100; n++) {
        lw_error err = {0};

        lw_memory_fail_at(n);
        status = lw_ptx_constants(&ptx, &err);
        lw_memory_fail_at(-1);
        if (status != LW_OK) {
            CHECK(status == LW_ERR_OUT_OF_MEMORY);
            CHECK(strcmp((char *)ptx.data, lw_text_get(&in)) == 0);
        }
        lw_error_reset(&err);
    }
    CHECK(status == LW_OK && n > 3);
    CHECK(strstr((char *)ptx.data, "lw_constants[255]") != NULL);
    lw_bytes_reset(&ptx);
    lw_text_reset(&in);
}

int
main(void)
{
    int64_t live = lw_memory_live();

    test_numbers();
    test_texts_that_stay();
    test_table();
    test_out_of_memory();
    return check_end(live);
}
