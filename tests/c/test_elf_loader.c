/* The object loader: real objects from the system's C compiler, loaded and called; then the
 * same bytes damaged in many ways, which must never crash it. */
#include "core/link/elf_loader.h"
#include "core/link/elf_relocation.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "tests/c/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const source =
    "extern double exp(double); extern int lw_test_given(int); extern int lw_test_datum;\n"
    "extern int lw_test_weak(void) __attribute__((weak));\n"
    "static int counter; int start = 40;\n"
    "static const char *const words[] = {\"zero\", \"one\", \"two\"};\n"
    "static int twice(int x) { return 2 * x; }\n"
    "static int thrice(int x) { return 3 * x; }\n"
    "int (*const table[])(int) = {twice, thrice};\n"
    "double poly(double x) { return 2.5 * x * x + exp(x); }\n"
    "int count(void) { return ++counter + start; }\n"
    "const char *word(int i) { return words[i]; }\n"
    "int given(int x) { return lw_test_given(x) + 1; }\n"
    "int datum(void) { return lw_test_datum; }\n"
    "int by_table(int i, int x) { return table[i](x); }\n"
    "int has_weak(void) { return &lw_test_weak != 0; }\n"
    "int pick(int i) { switch (i) { case 0: return 7; case 1: return 11; case 2: return 19;\n"
    "  case 3: return given(3); case 4: return 31; case 5: return -4; case 6: return 100; }\n"
    "  return 1; }\n"
    "void sum(const double *x, double *out, long n) { double s = 0;\n"
    "  for (long i = 0; i < n; i++) { out[i] = x[i] * 3.0 + 1.0; s += x[i]; } out[0] = s; }\n";

static bool
compile(const char *flags, const char *text, lw_bytes *out)
{
    char path[] = "/tmp/lw_test_elf_XXXXXX", command[512];
    int file = mkstemp(path);
    FILE *pipe, *object;
    long size;
    bool good = false;

    if (file < 0)
        return false;
    close(file);
    snprintf(command, sizeof command, "cc -x c -w %s -c -o %s - 2>&1", flags, path);
    pipe = popen(command, "w");
    if (pipe != NULL) {
        fputs(text, pipe);
        good = pclose(pipe) == 0;
    }
    object = good ? fopen(path, "rb") : NULL;
    good = false;
    if (object != NULL && fseek(object, 0, SEEK_END) == 0 && (size = ftell(object)) > 0) {
        rewind(object);
        good = lw_bytes_new(out, (size_t)size) && fread(out->data, 1, out->n, object) == out->n;
    }
    if (object != NULL)
        fclose(object);
    unlink(path);
    return good;
}

static int
given_function(int x)
{
    return x * 10;
}

static int given_datum = 1234;
/* far outside: forces a trampoline for functions of this program's own address range too */
static const lw_code_extern externs[] = {{"lw_test_given", NULL},
                                         {"lw_test_datum", &given_datum}};

static void
fill_externs(lw_code_extern out[2])
{
    int (*function)(int) = given_function;

    memcpy(out, externs, sizeof externs);
    memcpy(&out[0].address, &function, sizeof function);
}

#define GET(pointer, code, name)                                                               \
    do {                                                                                       \
        void *address_ = lw_code_symbol(code, name);                                           \
        CHECK(address_ != NULL);                                                               \
        memcpy(&(pointer), &address_, sizeof address_);                                        \
    } while (0)

static void
call_everything(lw_code *code)
{
    double (*poly)(double);
    int (*count)(void), (*given)(int), (*datum)(void), (*by_table)(int, int), (*pick)(int);
    int (*has_weak)(void);
    const char *(*word)(int);
    void (*sum)(const double *, double *, long);
    double x[5] = {1, 2, 3, 4, 5}, y[5];

    GET(poly, code, "poly");
    GET(count, code, "count");
    GET(given, code, "given");
    GET(datum, code, "datum");
    GET(by_table, code, "by_table");
    GET(pick, code, "pick");
    GET(word, code, "word");
    GET(sum, code, "sum");
    GET(has_weak, code, "has_weak");
    CHECK(poly(2.0) == 2.5 * 4.0 + exp(2.0));
    CHECK(count() == 41 && count() == 42);
    CHECK(given(4) == 41);
    CHECK(datum() == 1234);
    CHECK(by_table(0, 5) == 10 && by_table(1, 5) == 15);
    CHECK(pick(0) == 7 && pick(2) == 19 && pick(3) == 31 && pick(6) == 100 && pick(9) == 1);
    CHECK(strcmp(word(2), "two") == 0);
    CHECK(has_weak() == 0);
    sum(x, y, 5);
    CHECK(y[0] == 15 && y[4] == 16);
    CHECK(lw_code_symbol(code, "twice") == NULL); /* static */
    CHECK(lw_code_symbol(code, "exp") == NULL);   /* not its own */
}

static void
test_load(const char *flags)
{
    int64_t live = lw_memory_live();
    lw_bytes object = {0};
    lw_code_extern given[2];
    lw_code *code = NULL;
    lw_error err = {0};

    fill_externs(given);
    CHECK(compile(flags, source, &object));
    CHECK(lw_code_load(object.data, object.n, given, 2, &code, &err) == LW_OK);
    if (code == NULL) {
        fprintf(stderr, "%s: %s\n", flags, lw_error_text(&err));
    } else {
        memset(object.data, 0xcc, object.n); /* the bytes are not needed any more */
        call_everything(code);
        CHECK(lw_code_size(code) >= 3 * 4096);
    }
    lw_code_free(code);
    lw_bytes_reset(&object);
    lw_error_reset(&err);
    CHECK(lw_memory_live() == live);
}

static void
expect_failure(const void *object, size_t n, const char *words)
{
    lw_code *code = NULL;
    lw_error err = {0};

    CHECK(lw_code_load(object, n, NULL, 0, &code, &err) == LW_ERR_LINK);
    CHECK(code == NULL);
    CHECK(strstr(lw_error_text(&err), words) != NULL);
    if (strstr(lw_error_text(&err), words) == NULL)
        fprintf(stderr, "got: %s\n", lw_error_text(&err));
    lw_error_reset(&err);
}

static void
test_refusals(void)
{
    lw_bytes object = {0};

    expect_failure("", 0, "not a 64-bit ELF");
    expect_failure("\x7f"
                   "ELF",
                   4, "not a 64-bit ELF");
    CHECK(compile("-O1 -fPIC",
                  "extern int lw_nowhere(int); int f(int x) { return lw_nowhere(x); }",
                  &object));
    expect_failure(object.data, object.n, "lw_nowhere is not known");
    object.data[18] ^= 1; /* e_machine */
    expect_failure(object.data, object.n, "another machine");
    lw_bytes_reset(&object);
    CHECK(compile("-O1 -fPIC", "__thread int t; int f(void) { return t++; }", &object));
    expect_failure(object.data, object.n, "thread-local");
    lw_bytes_reset(&object);
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Loading a damaged object succeeds or fails; nothing of it is called. */
static void
test_damage(void)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff};
    lw_bytes object = {0}, copy = {0};
    lw_code_extern given[2];
    uint64_t state = 0x9e3779b97f4a7c15u;
    int64_t live;
    int n_good = 0, n_bad = 0;

    fill_externs(given);
    CHECK(compile("-O2 -fPIC", source, &object));
    CHECK(lw_bytes_copy(&copy, object.data, object.n));
    live = lw_memory_live();
    for (int round = 0; round < 2000; round++) {
        int n_changes = 1 + (int)(next_random(&state) % 4);
        size_t n = round % 5 == 4 ? next_random(&state) % object.n : object.n;
        lw_code *code = NULL;
        lw_error err = {0};

        memcpy(copy.data, object.data, object.n);
        for (int i = 0; i < n_changes; i++) {
            uint64_t r = next_random(&state);
            /* half of the changes in the section headers, where the numbers are */
            size_t tail = object.n / 3,
                   at = r & 1 ? object.n - 1 - (r >> 8) % tail : (r >> 8) % object.n;
            copy.data[at] = r & 2 ? special[(r >> 3) % 5] : (uint8_t)(r >> 40);
        }
        if (lw_code_load(copy.data, n, given, 2, &code, &err) == LW_OK)
            n_good++;
        else
            n_bad++;
        CHECK((code == NULL) == (err.status != LW_OK));
        lw_code_free(code);
        lw_error_reset(&err);
    }
    CHECK(n_good > 0 && n_bad > 0); /* both ways were taken */
    CHECK(lw_memory_live() == live);
    lw_bytes_reset(&object);
    lw_bytes_reset(&copy);
}

/* Every allocation fails once. */
static void
test_no_memory(void)
{
    lw_bytes object = {0};
    lw_code_extern given[2];
    lw_code *code = NULL;
    int64_t live;
    int n = 0;

    fill_externs(given);
    CHECK(compile("-O2 -fPIC", source, &object));
    live = lw_memory_live();
    for (; n < 200 && code == NULL; n++) {
        lw_error err = {0};

        lw_memory_fail_at(n);
        if (lw_code_load(object.data, object.n, given, 2, &code, &err) != LW_OK) {
            CHECK(err.status == LW_ERR_OUT_OF_MEMORY);
            lw_memory_fail_at(-1);
            CHECK(lw_memory_live() == live);
        }
        lw_error_reset(&err);
    }
    lw_memory_fail_at(-1);
    CHECK(code != NULL && n > 5);
    lw_code_free(code);
    lw_bytes_reset(&object);
}

static double
not_exp(double x)
{
    return -x;
}

/* Functions of ours are found by name, before the libraries', also by objects. */
static void
test_provided(void)
{
    static lw_extern_row rows[] = {{"exp", NULL}, {"lw_test_given", NULL}};
    int (*integer)(int) = given_function;
    double (*number)(double) = not_exp;
    const char *text = "extern double exp(double); extern int lw_test_given(int);\n"
                       "double f(double x) { return exp(x) + lw_test_given(2); }\n";
    double (*f)(double);
    lw_bytes object = {0};
    lw_code *code = NULL;

    memcpy(&rows[0].address, &number, sizeof number);
    memcpy(&rows[1].address, &integer, sizeof integer);
    for (int i = 0; i < 20; i++) /* the same table again is no further one */
        lw_extern_provide(rows, 2);
    CHECK(lw_extern_symbol("exp") == rows[0].address && lw_extern_symbol("log") != NULL);
    CHECK(compile("-O2 -fPIC -fno-builtin", text, &object));
    CHECK(lw_code_load(object.data, object.n, NULL, 0, &code, NULL) == LW_OK);
    if (code != NULL) {
        GET(f, code, "f");
        CHECK(f(4.0) == 16.0);
    }
    lw_code_free(code);
    lw_bytes_reset(&object);
}

int
main(void)
{
    if (lw_elf_this_machine == 0) {
        puts("SKIP: the loader knows neither this machine's objects nor this system's");
        return 0;
    }
    if (system("cc --version > /dev/null 2>&1") != 0) {
        puts("SKIP: no C compiler to make objects with");
        return 0;
    }
    test_load("-O2 -fPIC");
    test_load("-O0 -fPIC -g");
    test_load("-O3 -fPIC -ffunction-sections -fdata-sections -fno-plt");
    test_refusals();
    test_damage();
    test_no_memory();
    CHECK(lw_extern_symbol("exp") != NULL && lw_extern_symbol("lw_no_such_function") == NULL);
    CHECK(!lw_mvec_has("_ZGVdN4v_nothing"));
    if (lw_mvec_has("_ZGVdN4v_exp"))
        CHECK(lw_extern_symbol("_ZGVdN4v_exp") != NULL);
    test_provided(); /* the last: exp is ours from here on */
    return n_failures != 0;
}
