/* What the Python files of forall share among themselves. */
#ifndef LW_FORALL_FORALL_PARTS_PY_H
#define LW_FORALL_FORALL_PARTS_PY_H

#include "core/py/numpy_api.h"

#include "forall/forall_run.h"
#include "forall/kernel_py.h"

typedef struct lw_forall {
    lw_function base;
    uint8_t fast; /* the index parameter whose neighbours run beside each other */
} lw_forall;

/* ---- forall_space_py.c ---- */

/* n, a range, a slice, or a tuple of n_index of these. *n: elements in all. -1 with TypeError
 * or ValueError. */
int lw_space_read(const lw_function *self, PyObject *object, lw_space *out, int64_t *n);

/* ---- forall_call_py.c ---- */

enum { LW_SPACE_SLOTS = 1 + 3 * (LW_MAX_INDEX - 1) + 2 * LW_MAX_INDEX };

/* A call whose arguments are read and whose code is there: it can be run again and again. */
typedef struct lw_prepared {
    lw_forall *self;
    lw_bound bound;
    lw_space space;
    int64_t n; /* elements; 0: nothing is to be done */
    lw_special *special;
    lw_host_entry *host; /* NULL: on the device */
    lw_device_entry *entry;
    lw_device *device;
    CUstream stream;
    uint32_t grid, block, shared_bytes;
    uint64_t slots[LW_SPACE_SLOTS];
    CUdeviceptr control;
    void **params; /* param_store or the heap */
    void *param_store[LW_BOUND_VALUES + LW_SPACE_SLOTS + 1];
} lw_prepared;

typedef struct lw_forall_keywords {
    PyObject *stream; /* NULL: not given */
    uint32_t tpb, shared_bytes;
} lw_forall_keywords;

/* args: the space, then the arguments. -1 with an exception; then there is nothing to release.
 */
int lw_forall_prepare(lw_forall *self, PyObject *const *args, Py_ssize_t n_args,
                      const lw_forall_keywords *keywords, lw_prepared *out);
/* Run it; None, or NULL with an exception. */
PyObject *lw_forall_fire(lw_prepared *prepared);
void lw_forall_release(lw_prepared *prepared);
/* vectorcall */
PyObject *lw_forall_call(PyObject *self, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
/* The keywords of a call: its options, and with a row also its arguments by name. Then *args
 * (the space, then the arguments) becomes the row, of 1 + LW_MOST_ARRANGED, and *n_args its
 * length. */
int lw_forall_keywords_read(const lw_forall *self, PyObject *const **args, Py_ssize_t *n_args,
                            PyObject *kwnames, PyObject **row, lw_forall_keywords *out);
/* The entry for contiguous arrays that do not overlap: inspection. */
void lw_forall_common_key(const lw_forall *self, bool device, lw_entry_key *out);

/* ---- forall_race_py.c ---- */

/* E164 where several elements of the space meet in one of special->races. -1 with it. */
int lw_forall_refuse_races(const lw_special *special, const lw_space *space);
/* A call on the host that looks for races between its elements. -1 with KernelError where
 * elements raced. */
int lw_forall_run_watched(lw_prepared *prepared, lw_space_run *run);

/* ---- forall_bind_py.c ---- */
PyObject *lw_forall_bind(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames);
int lw_forall_bind_register(PyObject *module);

/* ---- forall_inspect_py.c ---- */
extern PyMethodDef lw_forall_inspect_methods[]; /* ends with a NULL row */

#endif
