/* Layouts of generalized ufuncs: NumPy's grammar and `|1`, exact places of errors. */
#include "gufunc/core/layout.h"

#include "core/base/text.h"

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
show(const lw_core_layout *layout, lw_text *out)
{
    for (uint32_t k = 0; k < layout->nin + layout->nout; k++) {
        const lw_core_operand *operand = &layout->operands[k];
        lw_text_add(out, k == layout->nin ? "->(" : k ? ",(" : "(");
        for (uint32_t d = 0; d < operand->n; d++) {
            const lw_core_dim *dim = &layout->dims[operand->dims[d]];
            lw_text_addf(out, "%s%s%s%s%s%s", d ? "," : "", dim->name, dim->fixed ? "#" : "",
                         dim->optional ? "?" : "", operand->broadcast[d] ? "|1" : "",
                         dim->only_in_outputs ? "*" : "");
        }
        lw_text_add(out, ")");
    }
    lw_text_addf(out, " %u", (unsigned)layout->n_dims);
}

static void
reads_as(const char *text, const char *wanted, const char *numpy)
{
    lw_core_layout layout;
    lw_error err = {0};
    lw_arena arena;
    lw_text out = {0};

    lw_arena_init(&arena);
    if (lw_core_layout_parse(text, &arena, &layout, &err) == LW_OK) {
        show(&layout, &out);
        check(strcmp(layout.numpy_text, numpy) == 0, text, layout.numpy_text);
    } else {
        lw_text_add(&out, lw_error_text(&err));
    }
    check(strcmp(lw_text_get(&out), wanted) == 0, text, lw_text_get(&out));
    lw_text_reset(&out);
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

/* The caret stands below column `col`. */
static void
fails_at(const char *text, size_t col, const char *message)
{
    lw_core_layout layout;
    lw_error err = {0};
    lw_arena arena;
    const char *caret;

    lw_arena_init(&arena);
    check(lw_core_layout_parse(text, &arena, &layout, &err) == LW_ERR_VALUE, text,
          "was accepted");
    caret = strrchr(lw_error_text(&err), '\n');
    check(strstr(lw_error_text(&err), message) != NULL, text, lw_error_text(&err));
    check(caret != NULL && strlen(caret) == 1 + 4 + col + 1, text, lw_error_text(&err));
    lw_error_reset(&err);
    lw_arena_reset(&arena);
}

int
main(void)
{
    reads_as("(m,n),(n)->(m)", "(m,n),(n)->(m) 2", "(m,n),(n)->(m)");
    /* NumPy's errors show it as it was given */
    reads_as(" ( m , n ) , ( n ) -> ( ) ", "(m,n),(n)->() 2", " ( m , n ) , ( n ) -> ( ) ");
    reads_as("(n)", "(n) 1", "(n)"); /* in place: no outputs */
    reads_as("(),()->()", "(),()->() 0", "(),()->()");
    reads_as("->()", "->() 0", "->()");
    reads_as("->(n),(n)", "->(n*),(n*) 1", "->(n),(n)");
    reads_as("(3),(3)->(3)", "(3#),(3#)->(3#) 1", "(3),(3)->(3)");
    reads_as("(3),(4)->(2)", "(3#),(4#)->(2#) 3", "(3),(4)->(2)");
    reads_as("(m?,n),(n,p?)->(m?,p?)", "(m?,n),(n,p?)->(m?,p?) 3", "(m?,n),(n,p?)->(m?,p?)");
    reads_as("(3?,n)->(n)", "(3#?,n)->(n) 2", "(3?,n)->(n)");
    reads_as("(n|1),(n|1)->(n)", "(n|1),(n|1)->(n) 1", "(n),(n)->(n)");
    reads_as("(n),( n | 1 )->(n,k)", "(n),(n|1)->(n,k*) 2", "(n),(n)->(n,k)");
    reads_as("(n?|1)->()", "(n?|1)->() 1", "(n?)->()");
    reads_as("(n,n)->(n)", "(n,n)->(n) 1", "(n,n)->(n)");
    reads_as("(_a1,B2)->()", "(_a1,B2)->() 2", "(_a1,B2)->()");
    fails_at("", 0, "expected `(` or `->`");
    fails_at("(n) x", 4, "expected `,` or `->`");
    fails_at("(n)->", 5, "expected `(`");
    fails_at("(n,)->()", 3, "expected the name or the size");
    fails_at("(,n)->()", 1, "expected the name or the size");
    fails_at("(n m)->()", 3, "expected `,` or `)`");
    fails_at("(n->()", 2, "expected `,` or `)`");
    fails_at("n->()", 0, "expected `(` or `->`");
    fails_at("(0)->()", 1, "1 or more");
    fails_at("(-1)->()", 1, "expected the name");
    fails_at("(3n)->()", 2, "a name begins with a letter");
    fails_at("(99999999999999999999)->()", 1, "too large");
    fails_at("(n)->() (m)", 8, "expected `,` or the end");
    fails_at("(n)->()->()", 7, "expected `,` or the end");
    fails_at("(n),->()", 4, "expected `(`");
    fails_at("(n?),(n)->()", 6, "everywhere or nowhere");
    fails_at("(n),(n?)->()", 6, "everywhere or nowhere");
    fails_at("(n|2)->()", 3, "after `|` comes 1");
    fails_at("(n|12)->()", 3, "after `|` comes 1");
    fails_at("(n|)->()", 3, "after `|` comes 1");
    fails_at("(n)->(n|1)", 7, "an output cannot be broadcast");
    fails_at("(\xc3\xa9)->()", 1, "expected the name");
    return failures != 0;
}
