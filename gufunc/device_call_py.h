/* One call on the device, while it runs; shared by the device_*_py.c files. */
#ifndef LW_GUFUNC_DEVICE_CALL_PY_H
#define LW_GUFUNC_DEVICE_CALL_PY_H

#include "core/py/array/args.h"
#include "core/py/cuda/cuda_py.h"
#include "gufunc/device_table_py.h"

typedef struct lw_gcall {
    lw_gufunc *self;
    /* keywords: borrowed, NULL when not given or None */
    PyObject *out, *stream_object, *casting, *dtype, *order, *subok, *signature, *axes, *axis,
        *keepdims;
    lw_extra_arrays *extra; /* excluded=: arrays beside the operands, or NULL */
    lw_device *device;
    /* the first device operand, whose library gets the result: its library, object, device and
     * stream, for a copy may have taken its place since */
    lw_operand first;
    CUstream stream;
    lw_gresolution *resolution;
    char order_letter;
    int n_read, n_host, n_owned;
    /* from here on not cleared: filled as far as it is used */
    lw_operand operands[LW_MAX_OPERANDS];
    PyObject *out_objects[LW_MAX_OPERANDS];   /* borrowed; NULL: to be made */
    lw_device_array *made[LW_MAX_OPERANDS];   /* owned until returned */
    PyObject *owned[4 * LW_MAX_OPERANDS];     /* copies that live for the call */
    lw_device_array *target[LW_MAX_OPERANDS]; /* owned: where a copy goes after the kernel */
    PyObject *source[LW_MAX_OPERANDS];        /* borrowed: the argument behind a target */
    lw_value values[LW_MAX_OPERANDS];         /* by value, in the loop's dtype */
    lw_core_view views[LW_MAX_OPERANDS];
    lw_core_shape shape;
    lw_core_plan plan;
} lw_gcall;

/* axes=, axis=, keepdims=: device_axes_py.c. False: not given; -1 with an exception. */
int lw_gcall_read_keepdims(const lw_gcall *call, bool *keepdims);
/* Fills shape.axes; the number of core dimensions is known. -1 with an exception. */
int lw_gcall_read_axes(lw_gcall *call);

/* Launch the normalised plan on call->stream, ordered with the operands read:
 * device_launch_py.c. -1: exception. */
int lw_gcall_run(lw_gcall *call);

/* One launch, of at most so many items, on a device that was visited. */
enum { LW_GCALL_ITEMS = 1 << 30 };
lw_status lw_gcall_launch(lw_gcall *call, const lw_core_key *key, lw_loaded *entry,
                          lw_error *err);

/* The call on device operands, or on none at all; kwnames' values behind args. */
PyObject *lw_gcall_on_device(lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args,
                             PyObject *kwnames, lw_extra_arrays *extra);

/* target="cuda" with host operands only: device_hosted_py.c */
bool lw_gcall_is_hosted(const lw_gcall *call, PyObject *const *args, Py_ssize_t n_args);
PyObject *lw_gcall_hosted(lw_gcall *call, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *kwnames);

#endif
