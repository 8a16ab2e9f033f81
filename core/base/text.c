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
