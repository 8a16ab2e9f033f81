/* How deep recursion may go on a GPU: as many levels as the stack of a thread has room for. */
#ifndef LW_DEVICE_RECURSION_H
#define LW_DEVICE_RECURSION_H

#include "core/device/module.h"

/* If code of this image recurses, raises the context's stack limit to the setting stack_kb, and
 * stores the number of levels in the image's variable. */
lw_status lw_recursion_connect(lw_image *image, const void *bytes, size_t n_bytes,
                               lw_error *err);

#endif
