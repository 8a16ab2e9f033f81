/* What the Python files of jit share among themselves. */
#ifndef LW_FORALL_JIT_PARTS_PY_H
#define LW_FORALL_JIT_PARTS_PY_H

#include "core/py/numpy_api.h"

#include "forall/jit_config_py.h"
#include "forall/jit_options_py.h"
#include "forall/kernel_py.h"

enum { LW_JIT_KEPT = 8 }; /* configured kernels that a kernel keeps */

/* kernel[grid, block, stream, sharedmem]. */
typedef struct lw_jit_launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    struct lw_jit *kernel; /* held */
    PyObject *stream;      /* what the user gave, or NULL */
    lw_jit_config config;
    int64_t n_tasks; /* forall: sized by occupancy at the call; -1: config says all */
    uint32_t tpb;    /* forall: threads a block, 0: the best */
} lw_jit_launcher;

typedef struct lw_jit {
    lw_function base;
    lw_jit_options own;
    Py_ssize_t n_positional; /* parameters that take positional arguments */
    PyObject *declared;      /* device functions: their signatures, a list of str */
    PyObject *signatures;    /* of a function that returns numbers: as given, or NULL */
    struct lw_jit *value;    /* the same function for calls on the host, made when needed */
    bool from_cuda;          /* made by cuda.jit: runs on the GPU where nothing else is said */
    bool target_given; /* target= decides; else lanewise.config.target, asked at each launch */
    lw_target_choice setting;
    uint64_t setting_version; /* of the settings when it was asked, + 1 */
    uint32_t next_kept;       /* which of them goes next */
    lw_jit_launcher *kept[LW_JIT_KEPT];
} lw_jit;

extern PyTypeObject *lw_jit_type, *lw_jit_launcher_type; /* made once a process */

/* ---- jit_object.c ---- */
PyObject *lw_jit_new(PyObject *function, PyObject *signatures, PyObject *keywords,
                     bool from_cuda);

/* One without code, for lw_jit_call_value. */
lw_jit *lw_jit_new_value(lw_jit *self);

/* ---- jit_value_py.c ---- */
/* f(...) of lw.jit: compiled for the CPU, run once; gives what it returns. */
PyObject *lw_jit_call_value(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);
/* Whether all of these signatures say that numbers are returned. -1 with an exception. */
int lw_jit_signatures_give(PyObject *signatures);
/* Compile what the signatures declare. -1 with an exception. */
int lw_jit_declare_value(lw_jit *self);
/* A kernel without a shape: TypeError. */
PyObject *lw_jit_needs_shape(const lw_jit *self);

/* ---- jit_call_py.c ---- */
/* kernel[...], kernel.forall(...); NULL with an exception. */
PyObject *lw_jit_configure(PyObject *self, PyObject *key);
PyObject *lw_jit_forall(PyObject *self, PyObject *args, PyObject *kwargs);
/* The call of a launcher. */
PyObject *lw_jit_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
/* Where a launch without arrays, or eager compiling, happens. */
lw_target_choice lw_jit_target(lw_jit *self);
/* The entry of a specialisation on the host. */
void lw_jit_host_key(const lw_special *special, lw_entry_key *key);
void lw_jit_device_key(bool noalias, lw_entry_key *key);
/* Machine code for every declared signature, where its target is at hand. -1: exception. */
int lw_jit_compile_declared(lw_jit *self);
/* specialize(*args). */
PyObject *lw_jit_specialize(PyObject *self, PyObject *args);
int lw_jit_launcher_register(PyObject *module);

/* ---- jit_arguments_py.c ---- */

/* Host arrays of a launch on a GPU. */
typedef struct lw_jit_travel { /* n 0 and keep NULL: nothing to end */
    uint32_t n;
    PyObject *keep; /* list of what took the place of arguments */
    struct {
        PyArrayObject *host;     /* borrowed from the arguments */
        lw_device_array *device; /* held */
        bool back;
    } items[LW_MOST_ARRANGED];
} lw_jit_travel;

/* Whether a host array or one of In, Out, InOut is among them. Cheap. */
bool lw_jit_has_host(PyObject *const *args, Py_ssize_t n_args);
/* Replaces host arrays in `args` by copies on the device. -1 with an exception; the travel is
 * to be ended in any case. */
int lw_jit_travel_start(lw_jit_travel *travel, lw_device *device, CUstream stream,
                        PyObject **args, Py_ssize_t n_args);
/* Copies back, and waits in any case. -1 with an exception. */
int lw_jit_travel_back(lw_jit_travel *travel, lw_device *device, CUstream stream);
void lw_jit_travel_end(lw_jit_travel *travel);
/* For the host: Out and InOut are what is in them, In a copy of it. What must live as long as
 * the launch is in *keep (a list, or NULL). -1 with an exception. */
int lw_jit_unwrap_all(PyObject **args, Py_ssize_t n_args, PyObject **keep);

/* ---- jit_inspect_py.c ---- */
extern PyMethodDef lw_jit_inspect_methods[];
extern const size_t lw_jit_n_inspect_methods;

/* ---- jit_aot_py.c ---- */
/* _compile_device(kernel, signature, cc, output, symbol): a device function with C's calling
 * convention, as (code, type of the result as text). */
PyObject *lw_jit_compile_device(PyObject *module, PyObject *args);

#endif
