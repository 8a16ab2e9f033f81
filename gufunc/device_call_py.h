/* One call on the device, while it runs; shared by the device_*_py.c files and
 * gufunc_device_py.c. */
#ifndef LW_GUFUNC_DEVICE_CALL_PY_H
#define LW_GUFUNC_DEVICE_CALL_PY_H

#include "core/py/numpy/device_call.h"
#include "gufunc/core/core_plan.h"
#include "gufunc/core/core_spread.h"
#include "gufunc/gufunc_py.h"

typedef struct lw_device_gufunc {
    lw_device_call base;
    lw_core_key key;
    lw_core_view views[LW_MAX_OPERANDS];
    lw_core_shape shape;
    lw_core_plan plan;
} lw_device_gufunc;

static inline lw_gufunc *
lw_gufunc_of(const lw_device_gufunc *call)
{
    return (lw_gufunc *)call->base.self; /* the head is how it begins */
}

typedef struct lw_gufunc_resolution {
    lw_resolved head; /* its loop is an lw_gufunc_loop */
    lw_spread spread;
    bool warned; /* of few items with large cores */
} lw_gufunc_resolution;

extern const lw_device_door lw_gufunc_device_door;

PyObject *lw_gufunc_call_device(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames, lw_extra_arrays *extra);

/* axes=, axis=, keepdims=: device_axes_py.c. False: not given; -1 with an exception. */
int lw_gufunc_read_keepdims(const lw_device_gufunc *call, bool *keepdims);
/* Fills shape.axes; the number of core dimensions is known. -1 with an exception. */
int lw_gufunc_read_axes(lw_device_gufunc *call);

#endif
