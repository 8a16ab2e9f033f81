#include "core/base/error.h"

#include "core/base/memory.h"
#include "core/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lw_status
lw_fail(lw_error *err, lw_status status, const char *format, ...)
{
    va_list args;
    int n;

    if (err == NULL || err->status != LW_OK)
        return status;
    err->status = status;
    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    err->text = n < 0 ? NULL : lw_alloc((size_t)n + 1);
    if (err->text != NULL) {
        va_start(args, format);
        vsnprintf(err->text, (size_t)n + 1, format, args);
        va_end(args);
        lw_shorten_message(err->text);
    }
    return status;
}

lw_status
lw_fail_memory(lw_error *err)
{
    if (err != NULL && err->status == LW_OK)
        err->status = LW_ERR_OUT_OF_MEMORY;
    return LW_ERR_OUT_OF_MEMORY;
}

void
lw_error_set_vendor(lw_error *err, const char *name, int code)
{
    lw_free(err->vendor_name);
    err->vendor_name = lw_strdup(name); /* without memory the code alone tells them apart */
    err->vendor_code = code;
}

void
lw_error_reset(lw_error *err)
{
    lw_free(err->text);
    lw_free(err->vendor_name);
    lw_free(err->file);
    lw_free(err->help);
    lw_free(err->label);
    memset(err, 0, sizeof *err);
}

const char *
lw_error_text(const lw_error *err)
{
    if (err->text != NULL)
        return err->text;
    return err->status == LW_OK ? "no error" : "out of memory";
}

const char *
lw_error_vendor_name(const lw_error *err)
{
    return err->vendor_name ? err->vendor_name : "";
}
