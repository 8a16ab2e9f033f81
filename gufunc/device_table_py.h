/* A Gufunc's resolutions (core/py/compiled/resolved.h) and the kernels that are loaded for
 * them. */
#ifndef LW_GUFUNC_DEVICE_TABLE_PY_H
#define LW_GUFUNC_DEVICE_TABLE_PY_H

#include "gufunc/gufunc_py.h"

#include "core/device/launch.h"
#include "core/py/compiled/resolved.h"
#include "gufunc/core/core_plan.h"
#include "gufunc/core/core_spread.h"

typedef struct lw_gresolution {
    lw_resolved head; /* its loop is an lw_gufunc_loop */
    lw_spread spread;
    bool warned; /* of few items with large cores */
} lw_gresolution;

/* The resolution for these codes on this device, made when new. signature, dtype, casting as in
 * the call, NULL when not given. Lives as long as the Gufunc. NULL with an exception. */
lw_gresolution *lw_gresolution_get(lw_gufunc *self, lw_device *device, const uint8_t *codes,
                                   int n, PyObject *signature, PyObject *dtype,
                                   PyObject *casting);
/* The loaded kernel for a walk, compiled when new or after a reset of the device; releases the
 * GIL while it compiles. NULL with an exception. */
lw_loaded *lw_gentry_get(lw_gresolution *resolution, const lw_core_key *key);

/* A name for a kernel: the function's, made safe for ptxas, and a hash of what it is for. */
void lw_gsymbol(const char *name, const lw_gufunc_loop *loop, const lw_core_key *key,
                char out[96]);
lw_build_options lw_gbuild_options(const lw_gufunc *self);

#endif
