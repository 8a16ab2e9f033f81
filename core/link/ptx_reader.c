#include "core/link/ptx_reader.h"

#include <string.h>

bool
lw_ptx_is_same(lw_ptx_span a, lw_ptx_span b)
{
    return a.n == b.n && memcmp(a.at, b.at, (size_t)a.n) == 0;
}

bool
lw_ptx_is(lw_ptx_span a, const char *text)
{
    return strlen(text) == (size_t)a.n && memcmp(a.at, text, (size_t)a.n) == 0;
}

bool
lw_ptx_begins(lw_ptx_span a, const char *text)
{
    size_t n = strlen(text);

    return n <= (size_t)a.n && memcmp(a.at, text, n) == 0;
}

bool
lw_ptx_is_number(lw_ptx_span a)
{
    return a.n > 0 && *a.at >= '0' && *a.at <= '9';
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static lw_ptx_span
trimmed(const char *start, const char *end)
{
    while (start < end && is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    return (lw_ptx_span){start, (int)(end - start)};
}

/* Past spaces, braces that open or close a block, and a guard. */
static const char *
to_opcode(const char *at, bool *is_guarded)
{
    while (is_blank(*at) || *at == '{' || *at == '}')
        at++;
    *is_guarded = *at == '@';
    if (*is_guarded) {
        while (*at != 0 && !is_blank(*at))
            at++;
        while (is_blank(*at))
            at++;
    }
    return at;
}

bool
lw_ptx_next(const char *at, lw_ptx_instruction *out)
{
    const char *end, *comma;
    bool is_guarded;

    for (;; at = end + 1) {
        at = to_opcode(at, &is_guarded);
        if (*at == 0)
            return false;
        end = at + strcspn(at, ";\n");
        if (*end == 0)
            return false;
        if (*end == ';')
            break;
    }
    *out = (lw_ptx_instruction){.start = at, .end = end + 1, .is_guarded = is_guarded};
    out->opcode = (lw_ptx_span){at, (int)strcspn(at, " \t;")};
    at += out->opcode.n;
    while (at < end && out->n_operands < LW_PTX_MAX_OPERANDS) {
        comma = memchr(at, ',', (size_t)(end - at));
        out->operands[out->n_operands++] = trimmed(at, comma ? comma : end);
        at = comma ? comma + 1 : end;
    }
    return true;
}
