/* Messages about the user's code: places, carets in display cells, length, did-you-mean. */
#include "core/front/diagnose.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void
check_text(const char *what, const char *found, const char *wanted)
{
    if (strcmp(found, wanted) != 0) {
        fprintf(stderr, "FAILED: %s\n--- found\n%s\n--- wanted\n%s\n", what, found, wanted);
        failures++;
    }
}

static void
check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

/* A tree with one file of the given lines (from line 9 on), and one place in its second line.
 */
static lw_tree *
tree_with(const char *const *lines, uint32_t n, uint32_t col, uint32_t end_col)
{
    lw_tree *tree = NULL;
    lw_file *file;
    lw_loc *loc;

    if (lw_tree_new(&tree, NULL) != LW_OK)
        return NULL;
    file = lw_array_push(&tree->files, &tree->arena);
    *file = (lw_file){.path = "blur.py", .first_line = 9, .n_lines = n, .lines = lines};
    loc = lw_array_push(&tree->locs, &tree->arena);
    *loc = (lw_loc){.file = 1, .line = 10, .end_line = 10, .col = col, .end_col = end_col};
    return tree;
}

static void
shows(const char *line, uint32_t col, uint32_t end_col, const char *wanted)
{
    const char *lines[] = {"def blur(A, i):", line};
    lw_tree *tree = tree_with(lines, 2, col, end_col);
    lw_error err = {0};

    lw_diagnose(tree, 1,
                (lw_fault){LW_ERR_TYPING, "E120", .label = "a label", .help = "do this",
                           .where = "blur(i: index)"},
                &err, "array index must be an %s", "integer");
    check_text(line, lw_error_text(&err), wanted);
    check(err.line == 10 && err.col == col && err.end_col == end_col, "position");
    check(strcmp(err.code, "E120") == 0 && strcmp(err.file, "blur.py") == 0, "code and file");
    check(strcmp(err.help, "do this") == 0 && err.status == LW_ERR_TYPING, "help and status");
    lw_error_reset(&err);
    lw_tree_free(tree);
}

#define HEAD "E120: array index must be an integer\n  --> blur.py:10:"

static void
test_places(void)
{
    shows("    y = A[i / 2, 0]", 10, 15,
          HEAD
          "11 in `blur(i: index)`\n10 |     y = A[i / 2, 0]\n   |           ^^^^^ a label\n"
          "   = help: do this");
    shows(
        "\ty = A[i / 2]", 7, 12,
        HEAD
        "15 in `blur(i: index)`\n10 |         y = A[i / 2]\n   |               ^^^^^ a label\n"
        "   = help: do this");
    shows("    é = \"漢字\" + A[x]", 9, 17, /* é: 2 bytes, 1 cell; 漢字: 6 bytes, 4 cells */
          HEAD
          "9 in `blur(i: index)`\n10 |     é = \"漢字\" + A[x]\n   |         ^^^^^^ a label\n"
          "   = help: do this");
    shows("    y = 1", 40, 50,
          HEAD "10 in `blur(i: index)`\n10 |     y = 1\n   |          ^ a label\n"
               "   = help: do this");
    shows("    y\001 = 1", 4, 5,
          HEAD
          "5 in `blur(i: index)`\n10 |     y? = 1\n   |     ^ a label\n   = help: do this");
}

static void
test_long_line(void)
{
    char line[400], *caret;
    const char *lines[] = {"def f():", line};
    lw_error err = {0};
    lw_tree *tree;

    memset(line, 'x', sizeof line);
    line[300] = '+';
    line[399] = '\0';
    tree = tree_with(lines, 2, 300, 301);
    lw_diagnose(tree, 1, (lw_fault){.status = LW_ERR_TYPING, .code = "E120"}, &err, "m");
    caret = strchr(err.text, '^');
    check(caret != NULL && strlen(strrchr(err.text, '\n')) < 120, "a long line is cut");
    check(strchr(err.text, '+') != NULL, "around the caret");
    lw_error_reset(&err);
    lw_tree_free(tree);
}

static uint32_t
count_lines(const char *text)
{
    uint32_t n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void
test_called_from(void)
{
    const char *lines[] = {"def f():", "    return g(1)"};
    lw_tree *tree = tree_with(lines, 2, 11, 15);
    lw_error err = {0};

    lw_diagnose(
        tree, 1,
        (lw_fault){LW_ERR_TYPING, "E120", .label = "label", .help = "help", .where = "f()"},
        &err, "message");
    for (int i = 0; i < 20; i++)
        lw_diagnose_called_from(tree, 1, "kernel", &err);
    check(count_lines(err.text) == 8, "three callers at most");
    check(strstr(err.text, "\n   = called from blur.py:10 in `kernel`") != NULL,
          "caller's line");
    lw_error_reset(&err);
    lw_tree_free(tree);
}

static void
test_without_a_line(void)
{
    lw_tree *tree = tree_with(NULL, 0, 0, 0);
    lw_error err = {0};

    lw_diagnose(tree, 1, (lw_fault){LW_ERR_OS, "E170", .help = "pass source="}, &err,
                "no source");
    check_text("no line", lw_error_text(&err),
               "E170: no source\n  --> blur.py:10\n   = help: pass source=");
    lw_diagnose(tree, 1, (lw_fault){.status = LW_ERR_OS, .code = "E171"}, &err, "an echo");
    check(strcmp(err.code, "E170") == 0, "the first cause stays");
    lw_error_reset(&err);
    lw_diagnose(tree, 0, (lw_fault){LW_ERR_TYPING, "E150", .label = "a label"}, &err,
                "nowhere");
    check_text("no place", lw_error_text(&err), "E150: nowhere\n  a label");
    lw_error_reset(&err);
    check(lw_diagnose(tree, 1, (lw_fault){.status = LW_ERR_OS, .code = "E170"}, NULL, "m") ==
              LW_ERR_OS,
          "without an error object");
    lw_tree_free(tree);
}

static void
test_kept(void)
{
    const char *lines[] = {"def f():", "    try:"};
    lw_tree *tree = tree_with(lines, 2, 4, 7);
    lw_diag *diag = lw_array_push(&tree->diags, &tree->arena);
    lw_error err = {0};

    *diag = (lw_diag){.status = LW_ERR_UNSUPPORTED,
                      .code = "E101",
                      .loc = 1,
                      .message = "`try` cannot be compiled",
                      .label = "100% sure"};
    check(lw_diagnose_kept(tree, 1, "f()", &err) == LW_ERR_UNSUPPORTED, "kept status");
    check_text("kept", lw_error_text(&err),
               "E101: `try` cannot be compiled\n  --> blur.py:10:5 in `f()`\n"
               "10 |     try:\n   |     ^^^ 100% sure");
    lw_error_reset(&err);
    lw_tree_free(tree);
}

static void
test_nearest(void)
{
    static const char *const names[] = {"sqrt", "sign",      "float32", "x",  "y",
                                        "",     "threshold", "sin",     "exp"};
    const char *near;

#define NEAR(word) ((near = lw_nearest(word, names, 9)) ? near : "(none)")
    check_text("one letter more", NEAR("sqrtt"), "sqrt");
    check_text("typed too long", NEAR("sinn"), "sin");
    check_text("swapped", NEAR("flaot32"), "float32");
    check_text("case", NEAR("X"), "x");
    check_text("short names are no typos", NEAR("z"), "(none)");
    check_text("itself is no help", NEAR("exp"), "(none)");
    check_text("far", NEAR("wavelength"), "(none)");
    check_text("two off in a long word", NEAR("treshhold"), "threshold");
    check_text("empty", NEAR(""), "(none)");
}

int
main(void)
{
    test_places();
    test_long_line();
    test_called_from();
    test_without_a_line();
    test_kept();
    test_nearest();
    check(lw_memory_live() == 0, "everything was given back");
    return failures != 0;
}
