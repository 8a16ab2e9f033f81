/* What the Python files of jit share among themselves. */
#ifndef LW_FORALL_JIT_JIT_PY_INTERNAL_H
#define LW_FORALL_JIT_JIT_PY_INTERNAL_H

#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"

enum { LW_JIT_KEPT = 8 }; /* configured kernels that a kernel remembers */

/* kernel[grid, block, stream, sharedmem]. */
typedef struct lw_jit_launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    struct lw_jit *kernel; /* held */
    PyObject *stream;      /* what the user gave, or NULL */
    lw_launch_shape config;
    /* forall: the launch is sized by occupancy at the call; -1: config says everything */
    int64_t n_tasks;
    uint32_t tpb; /* forall: threads per block; 0: the best */
} lw_jit_launcher;

typedef struct lw_jit {
    lw_function base;
    Py_ssize_t n_positional; /* parameters that take positional arguments */
    PyObject *declared;      /* device functions: their signatures, a list of str */
    PyObject *signatures;    /* of a function that returns numbers: as given, or NULL */
    PyObject *extensions; /* a list, which is in the keywords, too; NULL: none was asked for */
    PyObject *specializations; /* what specialize() made, by signature; NULL: nothing */
    /* the same function for calls on the host, made when needed */
    _Atomic(struct lw_jit *) value;
    /* made by cuda.jit: runs on the GPU unless something else is said */
    bool from_cuda;
    /* target= decides; else lanewise.config.target does, read at each launch */
    bool target_given;
    /* 4 * (version of the settings when they were read + 1) + lw_target_choice; 0: not read */
    _Atomic uint64_t setting;
    uint32_t next_kept; /* index of the one that is replaced next */
    lw_jit_launcher *kept[LW_JIT_KEPT];
} lw_jit;

/* ---- jit_object.c ---- */
/* A new object without code, for lw_jit_call_value. */
lw_jit *lw_jit_new_value(lw_jit *self);
/* -1 with an exception where the function has `*args`, which kernels have not. */
int lw_jit_refuse_varargs(const lw_jit *self);

/* ---- jit_value_py.c ---- */
/* _form_of_call(jit, *args): what a host call with arguments of these types gives. */
PyObject *lw_jit_form(PyObject *module, PyObject *const *args, Py_ssize_t n_args);
/* The call f(...) of lw.jit: compiled for the CPU, run once; returns what f returns. */
PyObject *lw_jit_call_value(PyObject *self, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);
/* Whether all of these signatures return numbers. -1 with an exception. */
int lw_jit_signatures_give(PyObject *signatures);
/* Whether none of them says what the function returns: "(float64,)". */
bool lw_jit_leaves_results(PyObject *signatures);
/* Whether the exception that is set has this code, as "E163". */
bool lw_jit_error_is(const char *wanted);
/* Compiles what the signatures declare. -1 with an exception. */
int lw_jit_declare_value(lw_jit *self);
/* TypeError: the kernel was called without a launch shape. */
PyObject *lw_jit_needs_shape(const lw_jit *self);

/* The companion that is called on the host, with the declared signatures compiled; borrowed. */
lw_jit *lw_jit_companion(lw_jit *self);

/* ---- jit_result_py.c ---- */
/* Checks that the objects which the function changes can be told from all others: each is one
 * argument, and is nowhere in the others. -1 with an exception. */
int lw_jit_check_changes(const lw_specialisation *specialisation, const lw_bound *bound,
                         PyObject *const *row, Py_ssize_t n_args);
/* The argument in whose memory the address lies (borrowed); NULL: none, or it is a copy of one.
 */
PyObject *lw_jit_argument_at(const lw_bound *bound, uint64_t address);
/* The result of a call, from what its code left in `parts`. row: the arguments, whose fields
 * are assigned where the function changes them. */
PyObject *lw_jit_results_of(const lw_scalar *scalar, const uint64_t *parts,
                            const lw_bound *bound, PyObject *const *row);
/* The form of such a result: None, the name of a number's dtype, "array", or (class or None,
 * names or None, forms of the items). *i: the number of its first output, which is advanced. */
PyObject *lw_jit_form_of(const lw_scalar *scalar, const lw_result *form, uint32_t *i);

/* ---- jit_c_py.c ---- */
/* _c_function(jit, sig): a function of C's for these types, or for the only ones it is compiled
 * for: (address, types of the parameters as text, type of the result). */
PyObject *lw_jit_c_function(PyObject *module, PyObject *args);
/* _c_function_form(jit, sig, form): its code as text. */
PyObject *lw_jit_c_function_form(PyObject *module, PyObject *args);
/* Makes LW_C_ENTRY_ENDED known to the loader of compiled code. */
void lw_jit_c_register(void);

/* ---- jit_launcher_py.c ---- */
/* A new launcher of this shape; NULL with an exception. */
lw_jit_launcher *lw_jit_launcher_new(lw_jit *kernel, const lw_launch_shape *config,
                                     PyObject *stream);
/* kernel[...], kernel.forall(...); NULL with an exception. */
PyObject *lw_jit_configure(PyObject *self, PyObject *key);
PyObject *lw_jit_forall(PyObject *self, PyObject *args, PyObject *kwargs);
int lw_jit_launcher_register(PyObject *module);

/* ---- jit_call_py.c ---- */
/* The call of a launcher. */
PyObject *lw_jit_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
/* launcher._launch(...): the arguments are what its kernel's extensions made of them. */
PyObject *lw_jit_launch_prepared(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                                 PyObject *kwnames);
/* Where a launch without arrays, or eager compilation, happens. */
lw_target_choice lw_jit_target(lw_jit *self);
/* The key of a specialisation's code for the host. */
void lw_jit_host_key(const lw_specialisation *specialisation, lw_entry_key *key);
void lw_jit_device_key(bool noalias, lw_entry_key *key);
/* Compiles machine code for every declared signature whose target is available. -1:
 * exception. */
int lw_jit_compile_declared(lw_jit *self);

/* ---- jit_specialize_py.c ---- */
/* specialize(*args). */
PyObject *lw_jit_specialize(PyObject *self, PyObject *args);
/* kernel.specializations, as a copy. */
PyObject *lw_jit_specializations(PyObject *self, void *closure);

/* ---- jit_arguments_py.c ---- */

/* Host arrays of a launch on a GPU, and their copies. */
typedef struct lw_jit_travel { /* n is 0 and keep NULL: there is nothing to end */
    uint32_t n;
    PyObject *keep; /* list of what has replaced arguments */
    struct {
        PyArrayObject *host;     /* borrowed from the arguments */
        lw_device_array *device; /* held */
        bool back;
    } items[LW_MOST_ARRANGED];
} lw_jit_travel;

/* Whether one of them is a host array, or an In, Out or InOut. Cheap. */
bool lw_jit_has_host(PyObject *const *args, Py_ssize_t n_args);
/* The warnings that config.warn_occupancy and warn_copies ask for. -1: an exception. */
int lw_jit_warn_of_grid(lw_jit *self, const lw_launch_shape *config);
int lw_jit_warn_of_copies(const lw_jit *self, PyObject *const *args, Py_ssize_t n_args);
/* Replaces host arrays in `args` by copies on the device. -1 with an exception; the travel must
 * be ended in any case. */
int lw_jit_travel_start(lw_jit_travel *travel, lw_device *device, CUstream stream,
                        PyObject **args, Py_ssize_t n_args);
/* Copies back, and waits in any case. -1 with an exception. */
int lw_jit_travel_back(lw_jit_travel *travel, lw_device *device, CUstream stream);
void lw_jit_travel_end(lw_jit_travel *travel);
/* For the host: replaces Out and InOut by the array in them, and In by a copy of it. *keep (a
 * list, or NULL) holds what must live as long as the launch. -1 with an exception. */
int lw_jit_unwrap_all(PyObject **args, Py_ssize_t n_args, PyObject **keep);

/* ---- jit_inspect_py.c ---- */
extern PyMethodDef lw_jit_inspect_methods[];
extern const size_t lw_jit_n_inspect_methods;

/* ---- jit_aot_py.c ---- */
/* _compile_device(kernel, signature, cc, output, symbol): a device function with C's calling
 * convention, as (code, type of the result as text). */
PyObject *lw_jit_compile_device(PyObject *module, PyObject *args);
/* _linked(kernel, signature, cc): the LinkableCode that a function is linked with, a tuple. */
PyObject *lw_jit_linked(PyObject *module, PyObject *args);

/* ---- jit_config_py.c: the shape of a launch as numba writes it: kernel[grid, block, stream,
 * sharedmem] ---- */
/* Reads the key of kernel[key]: (grid, block[, stream[, sharedmem]]). *stream_object: what the
 * user gave for the stream (borrowed from key) or NULL. -1 with a ValueError or TypeError that
 * names the part, what was expected and what was given. */
int lw_jit_config_read(PyObject *key, lw_launch_shape *out, PyObject **stream_object);
/* Reads an int from 0 to `most`; what: its name in messages. -1 with an exception. */
int lw_jit_count_read(PyObject *value, const char *what, int64_t most, int64_t *out);

/* ---- jit_wrap_py.c: cuda.In, cuda.Out and cuda.InOut, which say in which direction a host
 * array is copied around a launch ---- */
typedef enum lw_travel { /* bits */
                         LW_TRAVEL_IN = 1,
                         LW_TRAVEL_OUT = 2,
                         LW_TRAVEL_BOTH = 3
} lw_travel;

/* The array inside of a wrapper (borrowed), with *travel set; any other object itself, with
 * LW_TRAVEL_BOTH. */
PyObject *lw_jit_unwrap(PyObject *object, lw_travel *travel);

/* Adds the three types to the module. -1 with an exception. */
int lw_jit_wrap_register(PyObject *module);

#endif
