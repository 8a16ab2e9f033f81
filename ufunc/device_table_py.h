/* A Ufunc's resolutions (core/py/compiled/resolved.h) and the kernels that are loaded for them.
 */
#ifndef LW_UFUNC_DEVICE_TABLE_PY_H
#define LW_UFUNC_DEVICE_TABLE_PY_H

#include "ufunc/ufunc_py.h"

#include "core/device/copy.h"
#include "core/device/launch.h"
#include "core/py/compiled/resolved.h"
#include "ufunc/device_plan.h"

typedef struct lw_resolution {
    lw_resolved head; /* its loop is an lw_loop */
    uint32_t cost;
    bool has_loop;
} lw_resolution;

/* The resolution for these codes on this device, made when new. signature, dtype, casting as in
 * the call, NULL when not given. Lives as long as the Ufunc. NULL with an exception. */
lw_resolution *lw_resolution_get(lw_ufunc *self, lw_device *device, const uint8_t *codes, int n,
                                 PyObject *signature, PyObject *dtype, PyObject *casting);
/* The loaded kernel for a walk, compiled when new or after a reset of the device; releases the
 * GIL while it compiles. NULL with an exception. */
lw_loaded *lw_entry_get(lw_resolution *resolution, const lw_kernel_key *key);
/* A resolution for a loop that belongs to no Ufunc (copies). NULL with an exception. */
lw_resolution *lw_resolution_new(lw_device *device, const lw_loop *loop,
                                 const lw_build_options *options);

/* A name for a kernel: the function's, made safe for ptxas, and a hash of what it is for. */
void lw_kernel_symbol(const char *name, const lw_loop *loop, const lw_kernel_key *key,
                      char out[96]);
/* The Python function's name. */
const char *lw_ufunc_name(const lw_ufunc *self);
lw_build_options lw_build_options_of(const lw_ufunc *self);

#endif
