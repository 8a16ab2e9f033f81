#include "gufunc/core/layout.h"

#include "core/base/text.h"

#include <assert.h>
#include <string.h>

enum { MOST_DIMS = 256 }; /* in a layout */

typedef struct parser {
    const char *text, *at;
    lw_arena *arena;
    lw_error *err;
    lw_core_layout *out;
    lw_core_dim dims[MOST_DIMS];
    uint32_t n_dims, n_operands, n_places;
    bool in_outputs;
    bool used_in_inputs[MOST_DIMS];
    lw_text numpy;
} parser;

/* ---- errors ---- */

static lw_status
fail_at(parser *p, const char *at, const char *what)
{
    lw_status status;
    lw_text text;

    lw_text_init(&text);
    lw_text_addf(&text, "layout: %s", what);
    lw_text_add_excerpt(&text, 4, p->text, at, at);
    status = text.failed ? lw_fail_memory(p->err)
                         : lw_fail(p->err, LW_ERR_VALUE, "%s", lw_text_get(&text));
    lw_text_reset(&text);
    return status;
}

static void
skip_blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
}

static bool
take(parser *p, char c)
{
    skip_blanks(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

/* ---- dimensions ---- */

static bool
is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t
word_length(const char *at)
{
    size_t n = 0;

    while (is_name_start(at[n]) || is_digit(at[n]))
        n++;
    return n;
}

static lw_status
read_number(parser *p, const char *at, size_t n, int64_t *out)
{
    int64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_digit(at[i]))
            return fail_at(p, at + i,
                           "a name begins with a letter, and a size has digits only");
        if (value > (INT64_MAX - 9) / 10)
            return fail_at(p, at, "this size is too large");
        value = 10 * value + (at[i] - '0');
    }
    if (value == 0)
        return fail_at(p, at, "a fixed size is 1 or more");
    *out = value;
    return LW_OK;
}

/* The dimension of this name or size, new or known. Equal fixed sizes are one dimension. */
static lw_status
find_dim(parser *p, const char *at, size_t n, uint16_t *out)
{
    lw_core_dim dim = {0};
    lw_status status = LW_OK;

    if (is_digit(*at))
        LW_TRY(read_number(p, at, n, &dim.fixed));
    for (uint32_t i = 0; i < p->n_dims; i++)
        if (dim.fixed ? p->dims[i].fixed == dim.fixed
                      : strlen(p->dims[i].name) == n && memcmp(p->dims[i].name, at, n) == 0) {
            *out = (uint16_t)i;
            return LW_OK;
        }
    dim.name = lw_arena_strndup(p->arena, at, n);
    if (dim.name == NULL)
        return lw_fail_memory(p->err);
    *out = (uint16_t)p->n_dims;
    p->dims[p->n_dims++] = dim;
fail:
    return status;
}

static lw_status
read_optional(parser *p, const char *name, uint16_t dim, bool fresh)
{
    const char *mark = (skip_blanks(p), p->at);
    bool optional = take(p, '?');

    if (fresh)
        p->dims[dim].optional = optional;
    else if (p->dims[dim].optional != optional)
        return fail_at(p, optional ? mark : name,
                       "a dimension is optional (`?`) everywhere or nowhere");
    if (optional)
        lw_text_add(&p->numpy, "?");
    return LW_OK;
}

static lw_status
read_broadcast(parser *p, bool *out)
{
    const char *mark = (skip_blanks(p), p->at);

    *out = take(p, '|');
    if (!*out)
        return LW_OK;
    skip_blanks(p);
    if (*p->at != '1' || word_length(p->at) != 1)
        return fail_at(p, p->at, "after `|` comes 1: the dimension broadcasts");
    p->at++;
    if (p->in_outputs)
        return fail_at(p, mark, "an output cannot be broadcast: `|1` is for inputs");
    p->out->has_broadcast = true;
    return LW_OK;
}

static lw_status
read_dim(parser *p, uint16_t *dim, bool *broadcast)
{
    lw_status status;
    uint32_t before = p->n_dims;
    const char *name;
    size_t n;

    skip_blanks(p);
    name = p->at;
    n = word_length(name);
    if (n == 0)
        return fail_at(p, name,
                       "bad token in signature: expected the name or the size of a dimension");
    LW_TRY(find_dim(p, name, n, dim));
    p->at += n;
    lw_text_add(&p->numpy, p->dims[*dim].name);
    LW_TRY(read_optional(p, name, *dim, before != p->n_dims));
    LW_TRY(read_broadcast(p, broadcast));
    p->used_in_inputs[*dim] |= !p->in_outputs;
fail:
    return status;
}

/* ---- groups ---- */

static lw_status
keep_operand(parser *p, const uint16_t *dims, const bool *broadcast, uint32_t n)
{
    uint16_t *own = lw_arena_take(p->arena, (n + 1) * sizeof *own);
    bool *marks = lw_arena_take(p->arena, (n + 1) * sizeof *marks);

    if (own == NULL || marks == NULL)
        return lw_fail_memory(p->err);
    memcpy(own, dims, n * sizeof *own);
    memcpy(marks, broadcast, n * sizeof *marks);
    p->out->operands[p->n_operands++] = (lw_core_operand){n, own, marks};
    return LW_OK;
}

static lw_status
read_group(parser *p)
{
    uint16_t dims[LW_MAX_CORE_DIMS];
    bool broadcast[LW_MAX_CORE_DIMS];
    lw_status status = LW_OK;
    uint32_t n = 0;

    skip_blanks(p);
    if (p->n_operands == LW_MAX_OPERANDS)
        return fail_at(p, p->at, "NumPy takes at most 64 operands");
    if (!take(p, '('))
        return fail_at(p, p->at, "bad token in signature: expected `(`");
    lw_text_add(&p->numpy, "(");
    while (!take(p, ')')) {
        if (n > 0 && !take(p, ','))
            return fail_at(p, p->at, "bad token in signature: expected `,` or `)`");
        if (n == LW_MAX_CORE_DIMS)
            return fail_at(p, p->at, "an operand has at most 32 core dimensions");
        if (p->n_places++ == MOST_DIMS)
            return fail_at(p, p->at, "too many dimensions");
        if (n > 0)
            lw_text_add(&p->numpy, ",");
        LW_TRY(read_dim(p, &dims[n], &broadcast[n]));
        n++;
    }
    lw_text_add(&p->numpy, ")");
    status = keep_operand(p, dims, broadcast, n);
fail:
    return status;
}

static lw_status
read_groups(parser *p, uint32_t *n)
{
    lw_status status = LW_OK;

    *n = 0;
    do {
        if (*n > 0)
            lw_text_add(&p->numpy, ",");
        LW_TRY(read_group(p));
        ++*n;
    } while (take(p, ','));
fail:
    return status;
}

static lw_status
read_arrow(parser *p)
{
    skip_blanks(p);
    if (p->at[0] != '-' || p->at[1] != '>')
        return fail_at(p, p->at,
                       p->n_operands ? "bad token in signature: expected `,` or `->`"
                                     : "bad token in signature: expected `(` or `->`");
    p->at += 2;
    lw_text_add(&p->numpy, "->");
    p->in_outputs = true;
    return LW_OK;
}

static lw_status
read_all(parser *p)
{
    lw_status status = LW_OK;

    skip_blanks(p);
    if (*p->at == '(')
        LW_TRY(read_groups(p, &p->out->nin));
    skip_blanks(p);
    if (*p->at == '\0' && p->n_operands > 0) /* in place: no outputs */
        goto fail;
    LW_TRY(read_arrow(p));
    LW_TRY(read_groups(p, &p->out->nout));
    skip_blanks(p);
    if (*p->at != '\0')
        status = fail_at(p, p->at, "bad token in signature: expected `,` or the end");
fail:
    return status;
}

static lw_status
finish(parser *p)
{
    lw_core_dim *dims = lw_arena_take(p->arena, (p->n_dims + 1) * sizeof *dims);

    assert(p->n_operands == p->out->nin + p->out->nout);
    p->out->text = lw_arena_strdup(p->arena, p->text);
    /* as it was given, where NumPy can read that: its errors show it */
    p->out->numpy_text = lw_arena_strdup(
        p->arena,
        p->out->has_broadcast || strpbrk(p->text, "\n\r") ? lw_text_get(&p->numpy) : p->text);
    if (dims == NULL || p->out->text == NULL || p->out->numpy_text == NULL || p->numpy.failed)
        return lw_fail_memory(p->err);
    memcpy(dims, p->dims, p->n_dims * sizeof *dims);
    for (uint32_t i = 0; i < p->n_dims; i++)
        dims[i].only_in_outputs = dims[i].fixed == 0 && !p->used_in_inputs[i];
    p->out->dims = dims;
    p->out->n_dims = p->n_dims;
    return LW_OK;
}

lw_status
lw_core_layout_parse(const char *text, lw_arena *arena, lw_core_layout *out, lw_error *err)
{
    parser p = {.text = text, .at = text, .arena = arena, .err = err, .out = out};
    lw_status status;

    *out = (lw_core_layout){0};
    LW_TRY(read_all(&p));
    LW_TRY(finish(&p));
fail:
    lw_text_reset(&p.numpy);
    return status;
}
