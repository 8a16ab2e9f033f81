/* From a finished IR module to a kernel on the device: compiled or taken from the cache, then
 * loaded. */
#ifndef LW_DEVICE_LOAD_H
#define LW_DEVICE_LOAD_H

#include "core/device/module.h"
#include "core/link/build.h"

/* Builds and loads the module's one KERNEL. The caller drops *image, also when this fails after
 * setting it; report may be NULL. The caller does not hold the GIL. */
lw_status lw_image_build(lw_device *device, const lw_module *module,
                         const lw_build_options *options, lw_image **image, lw_kernel **kernel,
                         lw_build_report *report, lw_error *err);

#endif
