/* The call of a ufunc or gufunc on device arrays, by NumPy's rules: what both do alike. A door
 * says in its lw_device_door what is its own: how shapes match, and the kernel that a walk asks
 * for.
 *
 * Nothing is written before all shapes and dtypes are known to be right. On the warm path there
 * is no dictionary, no tuple, no heap call but the result's free list, no driver query. */
#ifndef LW_PY_DEVICE_CALL_H
#define LW_PY_DEVICE_CALL_H

#include "core/py/numpy_api.h"

#include "core/plan/launch_record.h"
#include "core/plan/loop.h"
#include "core/py/array/args.h"
#include "core/py/compiled/resolved.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/ufunc_type.h"
#include "core/py/raise_row.h"

typedef struct lw_device_call {
    lw_ufunc_head *self; /* NULL: a copy between arrays, which is no call of a user */
    /* keywords: borrowed, NULL when not given */
    PyObject *out, *stream_object, *where, *casting, *dtype, *order, *subok, *signature, *axes,
        *axis, *keepdims;
    lw_extra_arrays *extra; /* excluded=: arrays beside the operands, or NULL */
    lw_device *device;
    /* the first device operand, whose library gets the result; a copy may have taken its place
     * since */
    struct {
        uint8_t library;
        PyObject *object;
        lw_device *device;
        CUstream stream;
    } first;
    CUstream stream;
    lw_resolved *resolution;
    int64_t items; /* of the launch; 0: there was none */
    char order_letter;
    bool masked;      /* where=: the last operand is its mask */
    bool out_is_none; /* by keyword: with a mask it is meant that elements stay as they are */
    int n_read;       /* operands: inputs, outputs, the mask */
    int n_host;       /* of these, what must be copied to the device */
    int n_given;      /* outputs */
    int n_owned, loop_ndim;
    /* from here on not cleared: filled as far as it is used */
    lw_operand operands[LW_WALK_OPERANDS];
    PyObject *out_objects[LW_WALK_OPERANDS];   /* borrowed; NULL: to be made */
    lw_device_array *made[LW_WALK_OPERANDS];   /* owned until returned */
    PyObject *owned[4 * LW_WALK_OPERANDS];     /* copies that live for the call */
    lw_device_array *target[LW_WALK_OPERANDS]; /* owned: where a copy goes after the launch */
    PyObject *source[LW_WALK_OPERANDS];        /* borrowed: the argument behind a target */
    lw_value values[LW_WALK_OPERANDS];         /* by value, in the loop's dtype */
    int64_t loop[LW_MAX_DIMS];                 /* the shape that operands broadcast to */
} lw_device_call;

typedef struct lw_device_door {
    bool is_generalized; /* axes=, axis=, keepdims=; else where= */
    /* An element of the outputs follows from those of the inputs at the same place, which
     * kernels read and write in the operands' own dtypes. Else operands that need a cast, or
     * overlap what is written, are copied. */
    bool is_elementwise;
    const char *(*name)(const lw_ufunc_head *self); /* for messages */
    /* Matches the operands' shapes: fills loop_ndim and loop. -1 with an exception. */
    int (*match)(lw_device_call *call);
    /* Dimensions of an output that is to be made, and to core[] which of them is which core
     * dimension, -1: none. */
    int (*result)(const lw_device_call *call, int output, int64_t *shape, int8_t *core);
    /* Strides of an operand along the loop's dimensions, 0 where it is repeated. */
    void (*strides)(const lw_device_call *call, int operand, int64_t *loop);
    /* Whether the body writes to an input; whether what an output holds is never looked at. */
    bool (*writes)(const lw_device_call *call, int input);
    bool (*overwrites)(const lw_device_call *call, int output);
    /* Launches, ordered with the operands' streams. -1 with an exception. */
    int (*launch)(lw_device_call *call);

    /* A resolution of so many bytes, which begins with lw_resolved; fills what follows. */
    size_t resolution_bytes;
    void (*examine)(lw_resolved *made);
    /* What a report of the loop's kernel means. */
    lw_watch_raise raise;
    /* The kernel of contiguous operands, for inspection and compiling ahead of calls: its key,
     * compared as bytes, what resources() says of it, and its module. */
    size_t key_bytes;
    void (*usual_key)(const void *loop, void *key);
    size_t (*key_size)(const void *key);
    PyObject *(*resources)(const void *loop, const void *key, const lw_cubin_info *info,
                           int cc);
    lw_status (*module)(const lw_resolved *resolved, const void *key, lw_module **out,
                        lw_error *err);
} lw_device_door;

static inline const lw_dtype *
lw_device_call_types(const lw_device_call *call)
{
    return ((const lw_loop_head *)call->resolution->loop)->types;
}

static inline bool
lw_device_call_is_output(const lw_device_call *call, int operand)
{
    return operand >= call->self->nin && operand < call->self->nin + call->self->nout;
}

/* The call; args, kwnames as vectorcall's. NEP 13 is already done. With at least one device
 * operand, or target "cuda". extra: arrays beside the operands, or NULL. */
PyObject *lw_device_call_run(lw_device_call *call, lw_ufunc_head *self, PyObject *const *args,
                             Py_ssize_t n_args, PyObject *kwnames, lw_extra_arrays *extra);

/* The same in steps, for the benchmark of bare launches: begin, then prepare as far as the
 * operands are ready for the door's launch. -1 with an exception; end gives back what the call
 * holds. */
int lw_device_call_begin(lw_device_call *call, lw_ufunc_head *self, PyObject *const *args,
                         Py_ssize_t n_args, PyObject *kwnames, lw_extra_arrays *extra);
int lw_device_call_prepare(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args);
/* What is left behind begin: the results, or NULL with an exception. Ends the call. */
PyObject *lw_device_call_finish(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args);
void lw_device_call_end(lw_device_call *call);

/* ---- for the doors' launches ---- */

/* data, by_value and values of the walk's operands. -1 with an exception: a number does not
 * fit the loop's dtype. */
int lw_device_call_fill(lw_device_call *call, lw_walk *walk);
/* A launch, or several where a walk is too long for one. */
typedef struct lw_device_launch {
    const lw_device_door *door;
    lw_device_call *call;
    lw_resolved *resolution;
    const void *key; /* of the kernel */
    lw_walk *walk;   /* while `fill` runs: the part that is launched */
    uint32_t width;  /* items of an access, which 32 bits count; 0: 64 bits count items */
    bool may_recall; /* the same call may come again without the long way */
    lw_launch_record *record;
    /* Sets the record's grid, block and parameters. */
    void (*fill)(const lw_device_call *call, lw_launch_record *record);
} lw_device_launch;

/* Gets the kernel, puts the stream behind whoever produced the operands, launches; then
 * producers wait for the stream, and the call is remembered. -1 with an exception. */
int lw_device_call_launch(lw_device_launch *launch);
/* Launches a record in the driver's place; NULL but in tests. */
extern lw_status (*lw_device_launcher)(const lw_device_launch *launch, lw_error *err);
/* Producers wait for what a Python function has launched. -1 with an exception. */
int lw_device_call_after(lw_device_call *call);

/* ---- device_output.c, device_copies.c, device_hosted.c: steps of the call ---- */
int lw_device_call_make_outputs(lw_device_call *call);
int lw_device_call_make_copies(lw_device_call *call);
int lw_device_call_copy_back(lw_device_call *call);
/* target="cuda" with host operands only: inputs are copied to the device, results come back as
 * NumPy arrays (or into host arrays given as out). */
bool lw_device_call_is_hosted(const lw_device_call *call, PyObject *const *args,
                              Py_ssize_t n_args);
PyObject *lw_device_call_hosted(lw_device_call *call, PyObject *const *args, Py_ssize_t n_args,
                                PyObject *kwnames);

/* ---- device_kernels.c: loops and kernels, remembered (core/py/compiled/resolved.h) ---- */

/* The resolution for these codes on the call's device, made when new. NULL with an exception.
 */
lw_resolved *lw_device_resolve(lw_device_call *call, const uint8_t *codes, int n);
/* One for a loop that belongs to no ufunc (copies). NULL with an exception. */
lw_resolved *lw_device_resolution_new(const lw_device_door *door, lw_device *device,
                                      const lw_loop_head *loop,
                                      const lw_build_options *options);
/* The loaded kernel for a walk's key, compiled when new or after a reset of the device;
 * releases the GIL while it compiles. NULL with an exception. */
lw_loaded *lw_device_kernel_for(const lw_device_door *door, lw_resolved *resolution,
                                const void *key);
/* Raises what a resolution's kernel has reported; place says what an item is called. Always -1.
 */
int lw_device_raise(const void *resolution, const lw_report_record *record,
                    lw_raise_place *place);
lw_build_options lw_device_build_options(const lw_ufunc_head *self, const char *name);
/* A name for a kernel: the function's, made safe for ptxas, and a hash of what it is for. */
void lw_device_symbol(const char *name, const lw_loop_head *loop, const void *key,
                      size_t key_bytes, char out[96]);
/* For lw_ufunc_kind: module, resources, compile. */
lw_status lw_device_usual_module(lw_ufunc_head *self, void *loop, lw_module **out,
                                 lw_error *err);
PyObject *lw_device_resources(lw_ufunc_head *self, void *loop, int cc);
int lw_device_compile(lw_ufunc_head *self, void *loop, int cc);

#endif
