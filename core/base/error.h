/* The error convention of pure C: a function returns lw_status (0 = good) and writes the first
 * cause into a lw_error; later echoes do not overwrite it. Whoever holds something leaves
 * through `fail:`. Only core/py/raise.c turns a lw_error into a Python exception, by
 * errors.def. */
#ifndef LW_BASE_ERROR_H
#define LW_BASE_ERROR_H

#include <stdint.h>

typedef enum lw_status {
    LW_OK = 0,
#define ERROR(name, exception, home, bases) LW_ERR_##name,
#include "core/tables/errors.def"
    LW_N_STATUS
} lw_status;

typedef struct lw_error {
    lw_status status;
    int vendor_code; /* of failures of the driver and vendors' libraries; else 0 */
    /* owned; the whole message, ready to show; NULL when status is 0 or memory ran out */
    char *text;
    char *vendor_name; /* owned or NULL: "CUDA_ERROR_OUT_OF_MEMORY" */
    /* of compile errors: where in the user's Python; line 0 = unknown. Columns count from 0, in
     * bytes. */
    char *file, *help; /* owned or NULL */
    char *label;       /* text behind the caret; owned or NULL */
    char code[8];      /* "E110" or "" */
    uint32_t line, col, end_line, end_col;
} lw_error; /* start it as {0} */

/* Every call that may fail clears one: more bytes than these make compilers clear it by `rep
 * stos`, which takes longer than a short call's arithmetic. */
_Static_assert(sizeof(lw_error) <= 72, "an error is cleared by a few stores");

/* Sets the error unless one is set already. Returns the status, so that it can be returned at
 * once. err may be NULL: the status is returned all the same. */
lw_status lw_fail(lw_error *err, lw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
lw_status lw_fail_memory(lw_error *err);
/* Notes what a vendor's library calls the failure. */
void lw_error_set_vendor(lw_error *err, const char *name, int code);
/* Frees what it owns; it may be used again. */
void lw_error_reset(lw_error *err);
const char *lw_error_text(const lw_error *err);        /* never NULL */
const char *lw_error_vendor_name(const lw_error *err); /* "" if it is none of a vendor's */

/* A function that uses it declares `lw_status status` and has a label `fail`. */
#define LW_TRY(expression)                                                                     \
    do {                                                                                       \
        status = (expression);                                                                 \
        if (status != LW_OK)                                                                   \
            goto fail;                                                                         \
    } while (0)

#endif
