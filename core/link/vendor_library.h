/* Within core/link: a vendor's library opened once for each path it is found at, with the table
 * of its functions. Never closed: vendors' libraries do not like it. */
#ifndef LW_LINK_VENDOR_LIBRARY_H
#define LW_LINK_VENDOR_LIBRARY_H

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
    lw_lock lock; /* of its own: one library may load while another is used */
    struct lw_vendor_open *opened;
} lw_vendor;

/* The function table of the library at this path; lives as long as the process. */
lw_status lw_vendor_get(lw_vendor *vendor, const char *path, const void **table, lw_error *err);

/* What a library's compile or link call is told. */
enum { LW_VENDOR_MOST_OPTIONS = 12, LW_VENDOR_OPTION_LENGTH = 40 };

typedef struct lw_vendor_options {
    char text[LW_VENDOR_MOST_OPTIONS][LW_VENDOR_OPTION_LENGTH];
    const char *items[LW_VENDOR_MOST_OPTIONS]; /* into text: the list must not move */
    uint32_t n;
} lw_vendor_options;

/* "-opt=%d" and a value; a format without %d leaves it out. */
void lw_vendor_option_add(lw_vendor_options *list, const char *format, int value);

#endif
