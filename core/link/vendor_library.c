#include "core/link/vendor_library.h"

#include "core/base/dynload.h"
#include "core/base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lw_vendor_open {
    struct lw_vendor_open *next;
    lw_library *library;
    char *path;
    void *table;
} vendor_open;

static void
open_free(vendor_open *open)
{
    if (open == NULL)
        return;
    lw_library_close(open->library);
    lw_free(open->path);
    lw_free(open->table);
    lw_free(open);
}

static lw_status
fill(const lw_vendor *vendor, vendor_open *open, lw_error *err)
{
    for (size_t i = 0; i < vendor->n_rows; i++) {
        const lw_vendor_row *row = &vendor->rows[i];
        void *function = lw_library_symbol(open->library, row->symbol);

        if (function == NULL && row->must)
            return lw_fail(err, LW_ERR_COMPILER_NOT_FOUND,
                           "%s at %s lacks the function %s; it is too old or another library",
                           vendor->name, open->path, row->symbol);
        memcpy((char *)open->table + row->offset, &function, sizeof function);
    }
    return LW_OK;
}

/* Makes the allocator keep freed memory, so that each compilation can use that of the one
 * before. glibc gives the free end of a heap back to the system if it is larger than a limit,
 * which is 128 KB at first; when a block of up to 32 MB that has a mapping of its own is freed,
 * the limit becomes twice the size of the block (mallopt(3), M_MMAP_THRESHOLD). Without this
 * call, each compilation takes 1500 to 2300 pages from the system anew, which is 3.6 of the
 * 15 ms for a*b+k of float32 (CUDA 13.0 on an EPYC, 2026-12-01). No page of the block is
 * touched. */
static void
keep_freed_memory(void)
{
    void *volatile block = malloc((size_t)16 << 20); /* volatile: compilers keep the calls */

    free(block);
}

static lw_status
open_new(const lw_vendor *vendor, const char *path, vendor_open **out, lw_error *err)
{
    lw_status status = LW_OK;
    vendor_open *new = lw_alloc_zero(1, sizeof *new);
    lw_error cause = {0};

    if (new == NULL)
        return lw_fail_memory(err);
    new->path = lw_strdup(path);
    new->table = lw_alloc_zero(1, vendor->table_size);
    if (new->path == NULL || new->table == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    status = lw_library_open(path, &new->library, &cause);
    if (status != LW_OK) {
        lw_fail(err, status, "%s was found at %s, but cannot be loaded: %s", vendor->name, path,
                lw_error_text(&cause));
        goto fail;
    }
    LW_TRY(fill(vendor, new, err));
    keep_freed_memory();
    *out = new;
    return LW_OK;
fail:
    lw_error_reset(&cause);
    open_free(new);
    return status;
}

lw_status
lw_vendor_get(lw_vendor *vendor, const char *path, const void **table, lw_error *err)
{
    lw_status status = LW_OK;
    vendor_open *open;

    lw_lock_take(&vendor->lock);
    for (open = vendor->opened; open != NULL; open = open->next)
        if (strcmp(open->path, path) == 0)
            break;
    if (open == NULL) {
        status = open_new(vendor, path, &open, err);
        if (status == LW_OK) {
            assert(open != NULL);
            open->next = vendor->opened;
            vendor->opened = open;
        }
    }
    lw_lock_give(&vendor->lock);
    if (status == LW_OK)
        *table = open->table;
    return status;
}

void
lw_vendor_option_add(lw_vendor_options *list, const char *format, int value)
{
    char *text = list->text[list->n];

    assert(list->n < LW_VENDOR_MOST_OPTIONS);
    snprintf(text, LW_VENDOR_OPTION_LENGTH, format, value);
    list->items[list->n++] = text;
}

void
lw_vendor_failed(const lw_vendor_failure *failure, lw_bytes *log, lw_error *err)
{
    size_t n = 0;

    if (failure->program != NULL && failure->log_size(failure->program, &n) == 0 && n > 1 &&
        lw_bytes_new(log, n + 1)) {
        log->data[0] = '\n';
        log->data[1] = 0;
        if (failure->log(failure->program, (char *)log->data + 1) != 0 || log->data[1] == 0)
            lw_bytes_reset(log);
    }
    if (err != NULL && err->status == LW_OK)
        lw_error_set_vendor(err, failure->name, failure->result);
}
