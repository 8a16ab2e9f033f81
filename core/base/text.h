/* A growable text whose failure sticks: print without checking, and check `failed` once. */
#ifndef LW_BASE_TEXT_H
#define LW_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lw_text {
    char *data; /* NUL-terminated once something was added; NULL before */
    size_t n, capacity;
    bool failed;
} lw_text;

void lw_text_init(lw_text *text);
void lw_text_reset(lw_text *text); /* frees */
void lw_text_add(lw_text *text, const char *more);
void lw_text_add_n(lw_text *text, const char *more, size_t n_bytes);
void lw_text_addf(lw_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lw_text_addv(lw_text *text, const char *format, va_list args);
/* The characters; "" when it is empty. Valid until the next change. */
const char *lw_text_get(const lw_text *text);

/* How many characters the UTF-8 has. */
size_t lw_text_length(const char *utf8);

/* Adds a line with the text and one with carets below start … end, each after a line break and
 * `indent` spaces; of a long text only the part around them. */
void lw_text_add_excerpt(lw_text *text, int indent, const char *whole, const char *start,
                         const char *end);
/* Shortens, in place, a message that does not fit on a screen, by removing its middle: its
 * beginning says what is wrong, its end what to do. */
void lw_shorten_message(char *text);

#endif
