/* Signatures: every form, exact places of errors, the canonical order. */
#include "core/front/signature.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void
check(int ok, const char *what, const char *detail)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s: %s\n", what, detail);
        failures++;
    }
}

static void
reads_as(const char *text, const char *wanted)
{
    lw_signature signature;
    lw_error err = {0};
    lw_arena arena;
    lw_text out;

    lw_arena_init(&arena);
    lw_text_init(&out);
    if (lw_signature_parse(text, &arena, &signature, &err) == LW_OK)
        lw_signature_print(&signature, &out);
    else
        lw_text_add(&out, lw_error_text(&err));
    check(strcmp(lw_text_get(&out), wanted) == 0, text, lw_text_get(&out));
    lw_text_reset(&out);
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

static void
fails_at(const char *text, uint32_t col, uint32_t end_col, const char *message)
{
    lw_signature signature;
    lw_error err = {0};
    lw_status status;
    lw_arena arena;

    lw_arena_init(&arena);
    status = lw_signature_parse(text, &arena, &signature, &err);
    check(status == LW_ERR_SIGNATURE, text, "was accepted");
    check(strcmp(err.code, "E180") == 0, text, err.code);
    check(strstr(lw_error_text(&err), message) != NULL, text, lw_error_text(&err));
    check(err.col == col && err.end_col == end_col, text, lw_error_text(&err));
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

static void
not_scalar(const char *text, const char *message)
{
    lw_signature signature;
    lw_error err = {0};
    lw_arena arena;

    lw_arena_init(&arena);
    check(lw_signature_parse(text, &arena, &signature, &err) == LW_OK, text, "did not parse");
    check(lw_signature_check_scalar(&signature, &err) == LW_ERR_SIGNATURE, text,
          "was accepted");
    check(strcmp(err.code, "E183") == 0, text, err.code);
    check(strstr(lw_error_text(&err), message) != NULL, text, lw_error_text(&err));
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

/* texts and wanted end with NULL; wanted[0] may be an error's beginning. */
static void
sorts_as(const char *const *texts, const char *const *wanted, bool keep_order)
{
    lw_signature list[16];
    lw_error err = {0};
    lw_arena arena;
    uint32_t n = 0;

    lw_arena_init(&arena);
    for (; texts[n] != NULL; n++)
        check(lw_signature_parse(texts[n], &arena, &list[n], &err) == LW_OK, texts[n], "parse");
    if (lw_signatures_sort(list, n, keep_order, &err) != LW_OK) {
        check(strstr(lw_error_text(&err), wanted[0]) != NULL, wanted[0], lw_error_text(&err));
        check(strcmp(err.code, "E182") == 0, wanted[0], err.code);
        n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        lw_text out;
        lw_text_init(&out);
        lw_signature_print(&list[i], &out);
        check(strcmp(lw_text_get(&out), wanted[i]) == 0, wanted[i], lw_text_get(&out));
        lw_text_reset(&out);
    }
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
test_forms(void)
{
    reads_as("float32(float32, int32)", "float32(float32, int32)");
    reads_as(" f4 ( f4 ,i4, ) ", "float32(float32, int32)");
    reads_as("(f4, i8)", "(float32, int64)");
    reads_as("f4, i8", "(float32, int64)");
    reads_as(" f8[:] ,f8[:, ::1], ", "(float64[:], float64[:, ::1])");
    fails_at("f4,,f4", 3, 4, "expected a type");
    fails_at("f4, f4)", 6, 7, "nothing can follow the signature");
    reads_as("(f4) -> f8", "float64(float32)");
    reads_as("ff->f", "float32(float32, float32)");
    reads_as("dl->dd", "Tuple(float64, float64)(float64, int64)");
    reads_as("Tuple(f8, i4)(f8)", "Tuple(float64, int32)(float64)");
    reads_as("UniTuple(f8, 3)(f8)", "Tuple(float64, float64, float64)(float64)");
    reads_as("void(f4[:], f8[:, ::1], i4[::1, :], u1[::1])",
             "void(float32[:], float64[:, ::1], int32[::1, :], uint8[::1])");
    reads_as("f4(Array(f4, 1, 'C', readonly=True), Array(f8, 2, \"F\", True, aligned=True))",
             "float32(Array(float32, 1, 'C', readonly=True), "
             "Array(float64, 2, 'F', readonly=True))");
    reads_as("f4(Array(f4, 2, 'A'), Array(f4, 1, 'F', readonly=False))",
             "float32(float32[:, :], float32[::1])");
    reads_as("f4(Optional(f4[:]), f4)", "float32(optional(float32[:]), float32)");
    reads_as("none()", "void()");
    reads_as("boolean(b1, bool_, bool)", "bool(bool, bool, bool)");
    reads_as(
        "intp(uintp, intc, size_t, ssize_t, byte, uchar, short, half, single, double)",
        "int64(uint64, int32, uint64, int64, int8, uint8, int16, float16, float32, float64)");
    reads_as("c16(c8, complex128, bfloat16, bf)",
             "complex128(complex64, complex128, bfloat16, bfloat16)");
}

static void
test_errors(void)
{
    fails_at("float32(flaot32)", 8, 15, "unknown type `flaot32`; did you mean `float32`?");
    fails_at("float32(zzz)", 8, 11, "unknown type `zzz`");
    fails_at("float32(f4", 10, 11, "expected `,` or `)` before the end");
    fails_at("float32(f4 f4)", 11, 12, "expected `,` or `)`, not `f`");
    fails_at("float32", 7, 8, "expected `(`");
    fails_at("", 0, 1, "empty signature");
    fails_at("f4(f4)x", 6, 7, "nothing can follow");
    fails_at("f4(f4[::1, ::1])", 6, 15, "only the first or the last axis");
    fails_at("f4(f4[0])", 6, 7, "expected `:`");
    fails_at("fx->f", 1, 2, "unknown type character `x`");
    fails_at("ff->", 2, 4, "no result");
    fails_at("f4(,)", 3, 4, "expected a type");
    fails_at("optional(f4)(f4)", 0, 8, "optional");
    fails_at("f4(Tuple(f4, optional(f4)))", 13, 24, "only whole arguments");
    fails_at("f4(optional(none))", 3, 16, "only whole arguments");
    fails_at("UniTuple(f4, 0)(f4)", 13, 14, "count from 1 to 64");
    fails_at("f4(Array(f4, 1, 'X'))", 16, 17, "'A', 'C' or 'F'");
    fails_at("f4(Array(f4, 0, 'C'))", 13, 14, "dimensions from 1 to 32");
    fails_at("f4(Array(f4, 1, 'C', readonly))", 21, 22, "True or False");
    fails_at("f4(Array(f4[:], 1, 'C'))", 14, 15, "the type of an element");
    fails_at(
        "Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple(Tuple("
        "Tuple(Tuple(Tuple(f4)))))))))))))))))(f4)",
        96, 101, "nested too deeply");
}

static void
test_scalar(void)
{
    not_scalar("f4(f4[:])", "`float32[:]`");
    not_scalar("f4(f4, void)", "not `void`");
    not_scalar("void(f4)", "not `void`");
    not_scalar("f4[:](f4)", "result cannot be an array");
    not_scalar("f4()", "at least one argument");
    not_scalar("Tuple(f4, f4[:])(f4)", "an output must be a scalar");
    not_scalar("f4(Tuple(f4, f4))", "not `Tuple(float32, float32)`");
}

static void
test_order(void)
{
    sorts_as(LIST("f8(f8)", "f4(f4)"), LIST("float32(float32)", "float64(float64)"), false);
    sorts_as(LIST("f8(f8)", "f4(f4)"), LIST("float64(float64)", "float32(float32)"), true);
    sorts_as(LIST("c16(c16,c16)", "f8(f8,f4)", "f8(f4,f8)", "i8(i8,i8)", "b1(b1,b1)"),
             LIST("bool(bool, bool)", "int64(int64, int64)", "float64(float32, float64)",
                  "float64(float64, float32)", "complex128(complex128, complex128)"),
             false);
    sorts_as(LIST("f8(f4)", "f4(f4)"), LIST("two signatures for the same arguments"), false);
    sorts_as(LIST("f8(f4)", "(f4)->f8"), LIST("E182: the same signature twice: "), false);
    sorts_as(LIST("f8(f4)", "f8(f4, f4)"), LIST("different numbers of arguments"), false);
    sorts_as(LIST("f->f", "d->dd"), LIST("different numbers of results"), false);
}

static void
test_out_of_memory(void)
{
    for (int n = 0; n < 4; n++) {
        lw_signature signature;
        lw_error err = {0};
        lw_arena arena;
        lw_status status;
        lw_arena_init(&arena);
        lw_memory_fail_at(n);
        status = lw_signature_parse("float32(flaot32)", &arena, &signature, &err);
        lw_memory_fail_at(-1);
        check(status != LW_OK, "out of memory", "was accepted");
        lw_error_reset(&err);
        lw_arena_reset(&arena);
    }
}

int
main(void)
{
    test_forms();
    test_errors();
    test_scalar();
    test_order();
    test_out_of_memory();
    check(lw_memory_live() == 0, "memory", "something was not given back");
    return failures != 0;
}
