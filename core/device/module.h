/* Loaded machine code (called image, because the IR has modules too). There is one lw_image per
 * (image, context), however many users it has: loading the same bytes again returns the first
 * one, and the last lw_image_drop unloads it. Kernels live as long as their image. Loading is
 * eager, so that the first launch costs no more than later ones. */
#ifndef LW_DEVICE_MODULE_H
#define LW_DEVICE_MODULE_H

#include "core/device/context.h"

typedef struct lw_image lw_image; /* counted */

typedef struct lw_kernel_info {
    int registers, max_threads; /* of a thread; of a block */
    /* static shared memory of a block, local memory of a thread */
    int shared_bytes, local_bytes, const_bytes;
    int binary_version; /* 90 for sm_90 */
} lw_kernel_info;

typedef struct lw_kernel {
    CUfunction function; /* of the context in which it was loaded */
    CUkernel handle;     /* valid in every context, or NULL on the cuModule path */
    lw_device *device;   /* borrowed */
    lw_image *module;    /* borrowed: it contains the kernel */
    lw_kernel_info info;
    _Atomic int carveout; /* lw_kernel_prefer_shared: what was asked for last; -1: nothing */
    char *name;
    struct lw_occupancy *occupancy; /* internal: answers of the occupancy calculation */
    struct lw_kernel *next;
    uint32_t n_params;        /* without these: */
    uint32_t n_varying;       /* parameters that launches add … */
    const uint64_t **varying; /* … with what is there at the time */
} lw_kernel;

/* Loads a cubin, which the driver copies. LW_ERR_DRIVER, with the device's compute capability
 * in the text, when it is not for this device. */
lw_status lw_image_load(lw_device *device, const void *image, size_t n_bytes, lw_image **out,
                        lw_error *err);
void lw_image_drop(lw_image *module); /* NULL is allowed */
/* False after a reset of its device (or a fork): nothing in it may be used any more. */
bool lw_image_is_alive(const lw_image *module);
/* Whether kernels that were found before may be launched: false too while it is held back, and
 * once it is retired. Whoever finds that it is not ready loads the bytes again. */
bool lw_image_is_ready(const lw_image *module);
/* Counted: while its code is set up, only who loads it may go on. */
void lw_image_hold_back(lw_image *module);
void lw_image_release(lw_image *module);
/* It is no longer found: the same bytes are loaded anew. Its users keep it. */
void lw_image_retire(lw_image *module);
/* One more user, without its bytes. False: its last user is gone, and it is being unloaded. */
bool lw_image_hold(lw_image *module);

/* Finds a kernel; the same object for the same name. It is loaded into the device, and its
 * attributes are read. LW_ERR_LINK when the image has no such kernel. */
lw_status lw_image_kernel(lw_image *module, const char *name, lw_kernel **out, lw_error *err);
/* The same of a kernel that takes numbers with each launch (core/front/varying.h), after its
 * n_params parameters: one that reads the same addresses. They outlive what is launched. */
lw_status lw_image_kernel_varying(lw_image *module, const char *name, uint32_t n_params,
                                  const uint64_t *const *varying, uint32_t n_varying,
                                  lw_kernel **out, lw_error *err);
/* Address and size of a __device__ or __constant__ variable. */
lw_status lw_image_global(lw_image *module, const char *name, CUdeviceptr *address,
                          size_t *n_bytes, lw_error *err);
/* Allows more dynamic shared memory per block than the default 48 KB. */
lw_status lw_kernel_allow_shared(lw_kernel *kernel, uint32_t dynamic_bytes, lw_error *err);

/* Asks for this percentage of an SM's memory as shared memory; -1: as the driver likes. A hint,
 * which is given when it is another than last time. */
lw_status lw_kernel_prefer_shared(lw_kernel *kernel, int percent, lw_error *err);

lw_device *lw_image_device(const lw_image *module);
/* The driver's module handle, for set-up callbacks. */
lw_status lw_image_handle(lw_image *module, CUmodule *out, lw_error *err);
/* Called once, just before the module is unloaded, in the context it was loaded in; or with
 * alive false, when that is gone and the module with it. */
typedef void (*lw_image_callback)(void *context, bool alive);
lw_status lw_image_at_unload(lw_image *module, lw_image_callback function, void *context,
                             lw_error *err);

/* The context with which the function was registered last; NULL: it was not. */
void *lw_image_unload_context(lw_image *module, lw_image_callback function);

#endif
