/* The buffer that kernels of one context print into (core/ir/print_buffer.h). It is made
 * when the first image that prints is loaded; every such image holds it, and the last one
 * frees it. */
#ifndef LW_DEVICE_PRINT_BUFFER_H
#define LW_DEVICE_PRINT_BUFFER_H

#include "core/device/module.h"

/* If this image prints, stores the buffer's address in its variable, and registers that the
 * buffer is read once more before the image is unloaded. */
lw_status lw_print_connect(lw_image *image, const void *bytes, size_t n_bytes, lw_error *err);
/* Whether any loaded image prints. Cheap. */
bool lw_print_any(void);
/* Moves what was printed on all devices to core/ir/printed.h. If anything was, this waits for
 * all work of that device; else it costs one small copy. The caller does not hold the GIL. */
lw_status lw_print_collect(lw_error *err);

#endif
