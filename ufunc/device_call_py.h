/* One call on the device, while it runs; shared by ufunc_device_py.c, device_launch_py.c
 * and device_hosted_py.c. */
#ifndef LW_UFUNC_DEVICE_CALL_PY_H
#define LW_UFUNC_DEVICE_CALL_PY_H

#include "core/py/array/args.h"
#include "core/py/cuda/cuda_py.h"
#include "ufunc/device_kernel.h"
#include "ufunc/device_table_py.h"
#include "ufunc/ufunc_py.h"

typedef struct lw_call {
    lw_ufunc *self;
    /* keywords: borrowed, NULL when not given or None */
    PyObject *out, *stream_object, *where, *casting, *dtype, *order, *subok, *signature;
    lw_device *device;
    lw_extra_arrays *extra;  /* excluded arrays; NULL: none */
    const lw_operand *first; /* the first device operand: its library gets the result */
    CUstream stream;
    lw_resolution *resolution;
    bool masked, all_c;
    char order_letter;
    int n_read, n_host, n_given, n_owned, ndim;
    /* from here on not cleared: filled as far as it is used */
    lw_operand operands[LW_PLAN_OPERANDS]; /* inputs, outputs, mask */
    PyObject *out_objects[LW_MAX_ARGS];    /* borrowed; NULL: to be made */
    lw_device_array *made[LW_MAX_ARGS];    /* owned until returned */
    PyObject *owned[2 * LW_PLAN_OPERANDS]; /* copies that live for the call */
    lw_value values[LW_PLAN_OPERANDS];     /* by value, in the loop's dtype */
    int64_t shape[LW_MAX_DIMS];
    lw_plan plan;
} lw_call;

void lw_call_init(lw_call *call, lw_ufunc *self);
void lw_call_release(lw_call *call);
/* Launch the normalised plan on call->stream, ordered with the operands read. -1: exception. */
int lw_call_run(lw_call *call);
/* One launch, of a plan whose accesses 32 bits count, on a device that was visited. */
lw_status lw_call_launch(lw_call *call, const lw_plan *plan, const lw_kernel_key *key,
                         lw_kernel *kernel, lw_error *err);
/* Launch the planned kernel n times and nothing else: seconds a launch, for the benchmark's
 * "raw launch" row. -1.0: exception. */
double lw_call_time(lw_call *call, long n);

/* target="cuda" with host operands only: inputs are copied to the device, results come back as
 * NumPy arrays (or into host arrays given as out). */
bool lw_call_is_hosted(const lw_call *call, PyObject *const *args, Py_ssize_t n_args);
PyObject *lw_call_hosted(lw_call *call, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames);

#endif
