/* The buffer that kernels of one context print into (core/ir/print_buffer.h). Made when the
 * first image that prints is loaded; every such image holds it, and the last one frees it. */
#ifndef LW_DEVICE_PRINT_BUFFER_H
#define LW_DEVICE_PRINT_BUFFER_H

#include "core/device/module.h"

/* Where this image prints, its variable gets the buffer's address, and the buffer is read once
 * more before it is unloaded. */
lw_status lw_print_connect(lw_image *image, const void *bytes, size_t n_bytes, lw_error *err);
/* Whether any loaded image prints. Cheap. */
bool lw_print_any(void);
/* Moves what was printed on all devices to core/ir/printed.h. Where there is something, it
 * waits for all work of that device; else one small copy. Not for callers with the GIL. */
lw_status lw_print_collect(lw_error *err);

#endif
