#include "core/base/text.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <string.h>

void
lw_text_init(lw_text *text)
{
    memset(text, 0, sizeof *text);
}

void
lw_text_reset(lw_text *text)
{
    lw_free(text->data);
    lw_text_init(text);
}

static bool
reserve(lw_text *text, size_t more)
{
    size_t wanted = text->n + more + 1, grown = text->capacity ? text->capacity : 256;
    char *block;

    if (text->failed)
        return false;
    if (wanted <= text->capacity)
        return true;
    while (grown < wanted)
        grown *= 2;
    block = lw_realloc(text->data, grown);
    if (block == NULL) {
        text->failed = true;
        return false;
    }
    text->data = block;
    text->capacity = grown;
    return true;
}

void
lw_text_add_n(lw_text *text, const char *more, size_t n_bytes)
{
    if (!reserve(text, n_bytes))
        return;
    memcpy(text->data + text->n, more, n_bytes);
    text->n += n_bytes;
    text->data[text->n] = 0;
}

void
lw_text_add(lw_text *text, const char *more)
{
    lw_text_add_n(text, more, strlen(more));
}

void
lw_text_addv(lw_text *text, const char *format, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0 || !reserve(text, (size_t)n))
        return;
    vsnprintf(text->data + text->n, (size_t)n + 1, format, args);
    text->n += (size_t)n;
}

void
lw_text_addf(lw_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lw_text_addv(text, format, args);
    va_end(args);
}

const char *
lw_text_get(const lw_text *text)
{
    return text->data ? text->data : "";
}

/* ---- what messages show of texts that the user gave ---- */

/* Cells before `end`, as well as bytes can tell: continuation bytes take no cell. */
static int
cells(const char *start, const char *end)
{
    int n = 0;

    for (; start < end; start++)
        n += ((unsigned char)*start & 0xC0) != 0x80;
    return n;
}

enum { MAX_CELLS = 100 }; /* the most cells of a text that are shown */

void
lw_text_add_excerpt(lw_text *out, int indent, const char *whole, const char *start,
                    const char *end)
{
    const char *from = whole, *to = start;
    int n_carets;

    if (cells(whole, start) > MAX_CELLS / 2) {
        from = start - MAX_CELLS / 2;
        while (((unsigned char)*from & 0xC0) == 0x80)
            from++;
    }
    while (*to != '\0' && cells(from, to) < MAX_CELLS)
        to++;
    while (((unsigned char)*to & 0xC0) == 0x80)
        to++;
    lw_text_addf(out, "\n%*s%s%.*s%s\n%*s^", indent, "", from > whole ? "…" : "",
                 (int)(to - from), from, *to != '\0' ? "…" : "",
                 indent + cells(from, start) + (from > whole), "");
    n_carets = cells(start, end < to ? end : to);
    for (int i = n_carets; i > 1; i--)
        lw_text_add(out, "^");
}

/* The largest index of the text, at most n, at which a character begins. */
static size_t
character_at(const char *text, size_t n)
{
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    return n;
}

void
lw_shorten_message(char *text)
{
    enum { MOST = 4000, HEAD = 2600, TAIL = 1000 };
    size_t n = strlen(text), head, tail;
    char between[64];
    int n_between;

    if (n <= MOST)
        return;
    head = character_at(text, HEAD);
    tail = character_at(text, n - TAIL);
    n_between = snprintf(between, sizeof between, " … [%zu bytes] … ", tail - head);
    memcpy(text + head, between, (size_t)n_between);
    memmove(text + head + n_between, text + tail, n - tail + 1);
}

size_t
lw_text_length(const char *utf8)
{
    size_t n = 0;

    for (; *utf8; utf8++)
        n += (*utf8 & 0xC0) != 0x80;
    return n;
}
