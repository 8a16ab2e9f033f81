/* A call on device arrays, taken apart: what reductions, scans and slices have in common. */
#ifndef LW_REDUCE_DEVICE_PARTS_PY_H
#define LW_REDUCE_DEVICE_PARTS_PY_H

#include "core/device/launch.h"
#include "core/host/simulator.h"
#include "core/py/array/args.h"
#include "reduce/call_parts_py.h"
#include "reduce/device/device_kernel.h"

/* A kernel, loaded on a device or compiled for the simulator. */
typedef struct lw_reduce_entry {
    lw_grown_item item;
    lw_reduce_key key;
    lw_device *device; /* NULL: simulated */
    lw_image *image;
    lw_kernel *kernel;
    uint32_t full_grid; /* blocks that run at a time */
    /* owned: those of launches on the default stream, NULL before the first */
    lw_block *counters;
    lw_code *code;
    lw_sim_single address;
    uint32_t shared_bytes;
} lw_reduce_entry;

typedef struct lw_reduce_device {
    lw_reduce_call *call;
    uint32_t n_read;
    lw_operand operand[LW_REDUCE_MOST + 1];    /* then the mask */
    lw_device_array *copy[LW_REDUCE_MOST + 1]; /* owned: dense, where one was needed */
    lw_device_array *mask;                     /* owned: one that came from the host */
    lw_device_array *number[LW_REDUCE_MOST];   /* owned: by argument, a number from the host */
    lw_device_array *result[LW_REDUCE_MOST];   /* owned */
    bool in_out[LW_REDUCE_MOST];               /* the result is what out= gave */
    lw_device *device;
    CUstream stream;
    lw_block *memory;
    struct lw_reduce_recall **recalled; /* where the call may be remembered, or NULL */
} lw_reduce_device;

/* Does the call with what is prepared, and everything is released behind it. */
typedef PyObject *(*lw_reduce_device_action)(lw_reduce_device *d, void *context);
PyObject *lw_reduce_device_call(lw_reduce_call *call, lw_reduce_device_action action,
                                void *context);

/* UnsupportedError; -1. */
int lw_reduce_refuse(const char *what);
/* The arrays, broadcast together; dtype=, stream=; then the specialisation. For all: 0, or -1
 * with an exception. */
int lw_reduce_device_read(lw_reduce_device *d, PyObject *const *arrays, Py_ssize_t n);
int lw_reduce_check_out_count(const lw_reduce_device *d);
/* New results in C order, or what out= gave where that can be written at once. */
int lw_reduce_device_results(lw_reduce_device *d, int ndim, const int64_t *shape);
/* The kernel, compiled and loaded where it is new; device NULL: for the simulator. NULL with an
 * exception. */
lw_reduce_entry *lw_reduce_entry_of(lw_reduce_call *call, lw_device *device,
                                    const lw_reduce_key *key);
lw_status lw_reduce_new_module(const lw_reduction *r, const lw_reduce_key *key,
                               int max_registers, lw_module **out, lw_error *err);
/* simulate_py.c: the simulator's, on a grid of tiles times splits. */
lw_status lw_reduce_simulate(const lw_reduce_entry *entry, uint32_t tiles, uint32_t splits,
                             uint32_t threads, const uint64_t *words, lw_error *err);
/* The GPU's code for compute capability `cc`, as bytes. */
PyObject *lw_reduce_cubin_of(lw_reduce_call *call, const lw_reduce_key *key, int cc);
/* An operand as broadcast, dense: kept axes first, then call->reduced ones. */
lw_device_array *lw_reduce_dense_copy(lw_reduce_device *d, uint32_t i);
/* Calls launching(d, context) on the device: the operands' earlier users come first, later ones
 * of other libraries wait. -1 with an exception. */
typedef lw_status (*lw_reduce_launching)(lw_reduce_device *d, void *context, lw_error *err);
int lw_reduce_launch(lw_reduce_device *d, lw_reduce_launching launching, void *context);
/* Launches the entry's kernel with these n parameters. */
lw_status lw_reduce_launch_words(const lw_reduce_entry *entry, const lw_launch_shape *shape,
                                 uint64_t *words, uint32_t n, lw_error *err);
/* call->job, which is filled, of at most one kept and one reduced dimension once simplified. */
int lw_reduce_run_job(lw_reduce_device *d);
/* The results as the caller gets them. */
PyObject *lw_reduce_device_hand_out(lw_reduce_device *d);

#endif
