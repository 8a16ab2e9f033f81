/* What the Python files of forall share among themselves. */
#ifndef LW_FORALL_FORALL_PY_INTERNAL_H
#define LW_FORALL_FORALL_PY_INTERNAL_H

#include "core/py/numpy_api.h"

#include "forall/forall_run.h"
#include "forall/kernel_py.h"

typedef struct lw_forall {
    lw_function base;
    /* the index parameter whose neighbouring values run on neighbouring threads */
    uint8_t fast;
} lw_forall;

/* ---- forall_space_py.c ---- */

/* Reads n, a range, a slice, or a tuple of n_index of these. *n: the number of all elements. -1
 * with TypeError or ValueError. */
int lw_space_read(const lw_function *self, PyObject *object, lw_space *out, int64_t *n);

/* ---- forall_call_py.c ---- */

enum { LW_SPACE_SLOTS = 1 + 3 * (LW_MAX_INDEX - 1) + 2 * LW_MAX_INDEX };

/* A call whose arguments have been read and whose code is there, so that it can be run
 * repeatedly. */
typedef struct lw_prepared {
    lw_forall *self;
    lw_bound bound;
    lw_space space;
    int64_t n; /* elements; 0: there is nothing to do */
    lw_specialisation *specialisation;
    PyObject *progress;  /* borrowed, or NULL */
    lw_host_entry *host; /* NULL: it runs on the device */
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
    PyObject *stream, *progress; /* NULL: not given */
    uint32_t tpb, shared_bytes;
    bool with_halos; /* elements behind the shapes may be used: _call_with_halos() */
} lw_forall_keywords;

/* args: the space, then the arguments. -1 with an exception; then there is nothing to
 * release. */
int lw_forall_prepare(lw_forall *self, PyObject *const *args, Py_ssize_t n_args,
                      const lw_forall_keywords *keywords, lw_prepared *out);
/* Runs it; returns None, or NULL with an exception. */
PyObject *lw_forall_fire(lw_prepared *prepared);
void lw_forall_release(lw_prepared *prepared);
/* vectorcall */
PyObject *lw_forall_call(PyObject *self, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
/* Reads the keywords of a call: its options and, if there is a row, its arguments by name. Then
 * *args (the space, then the arguments) becomes the row, which has room for 1 +
 * LW_MOST_ARRANGED, and *n_args its length. */
int lw_forall_keywords_read(const lw_forall *self, PyObject *const **args, Py_ssize_t *n_args,
                            PyObject *kwnames, PyObject **row, lw_forall_keywords *out);
/* The key of code for contiguous arrays that do not overlap, for inspection. */
void lw_forall_common_key(const lw_forall *self, bool device, lw_entry_key *out);

/* ---- forall_race_py.c ---- */
/* -1 with E164 if several elements of the space race by one of specialisation->races. */
int lw_forall_refuse_races(const lw_specialisation *specialisation, const lw_space *space);

/* ---- forall_places_py.c ---- */
/* -1 with IndexError if an index that every element uses is outside of an argument; -1 also if
 * the warning W208, of updates that are lost, is an error. Nothing has run yet. */
int lw_forall_refuse_places(const lw_prepared *prepared);

/* ---- forall_watch_py.c ---- */
/* Runs a call on the host and watches for races between its elements. -1 with KernelError if
 * elements raced. */
int lw_forall_run_watched(lw_prepared *prepared, lw_space_run *run);

/* ---- forall_bind_py.c ---- */
/* Calls where arrays go on behind their shapes, as the blocks of map_blocks() do: no index is
 * compared with a shape before the call. */
PyObject *lw_forall_call_with_halos(PyObject *self, PyObject *const *args, Py_ssize_t n_args);
PyObject *lw_forall_bind(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames);
int lw_forall_bind_register(PyObject *module);

/* ---- forall_inspect_py.c ---- */
extern PyMethodDef lw_forall_inspect_methods[]; /* ends with a NULL row */

#endif
