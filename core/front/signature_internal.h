/* Shared by signature_parse.c and signature.c: errors that point at a range of the text. */
#ifndef LW_FRONT_SIGNATURE_INTERNAL_H
#define LW_FRONT_SIGNATURE_INTERNAL_H

#include "core/front/signature.h"

typedef struct lw_signature_parser {
    const char *text, *p;
    lw_arena *arena;
    lw_error *err;
    int depth;
} lw_signature_parser;

/* Set LW_ERR_SIGNATURE with the code, the text and carets below start … end. help may be NULL.
 * An error that is already set stays. */
lw_status lw_signature_fail(const lw_signature_parser *s, const char *start, const char *end,
                            const char *code, const char *help, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
