/* Within core/link: a vendor's library, opened once for each path at which it is found, with
 * the table of its functions. It is never closed, because vendors' libraries do not support
 * that. Opening one makes glibc keep freed memory, of which these libraries use much. */
#ifndef LW_LINK_VENDOR_LIBRARY_H
#define LW_LINK_VENDOR_LIBRARY_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/lock.h"

#include <stddef.h>
#include <stdint.h>

typedef struct lw_vendor_row {
    const char *symbol;
    size_t offset; /* of the function pointer in the table */
    int must;
} lw_vendor_row;

typedef struct lw_vendor { /* one static object for each library */
    const char *name;
    const lw_vendor_row *rows;
    size_t n_rows, table_size;
    lw_lock lock; /* its own, so that one library may be loaded while another is used */
    struct lw_vendor_open *opened;
} lw_vendor;

/* The function table of the library at this path; lives as long as the process. */
lw_status lw_vendor_get(lw_vendor *vendor, const char *path, const void **table, lw_error *err);

/* The options of a library's compile or link call. */
enum { LW_VENDOR_MOST_OPTIONS = 12, LW_VENDOR_OPTION_LENGTH = 40 };

typedef struct lw_vendor_options {
    char text[LW_VENDOR_MOST_OPTIONS][LW_VENDOR_OPTION_LENGTH];
    const char *items[LW_VENDOR_MOST_OPTIONS]; /* into text: the list must not move */
    uint32_t n;
} lw_vendor_options;

/* A call of a vendor's library that failed, and where the library's log of it is. */
typedef struct lw_vendor_failure {
    int result;
    const char *name; /* of the result */
    void *program;    /* NULL: it was not made, and has no log */
    int (*log_size)(void *program, size_t *n);
    int (*log)(void *program, char *text);
} lw_vendor_failure;

/* Notes the result in an error that is not set yet, and reads the log, with a line break in
 * front of it; log->data stays NULL where there is none, or no memory for it. */
void lw_vendor_failed(const lw_vendor_failure *failure, lw_bytes *log, lw_error *err);

/* Adds "-opt=%d" with a value; a format without %d ignores the value. */
void lw_vendor_option_add(lw_vendor_options *list, const char *format, int value);

#endif
