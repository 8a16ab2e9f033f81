/* What the extension module keeps for its interpreter: classes, and objects of other modules
 * that are looked up at the first use. It is the module's state, traversed and cleared with the
 * module. The module refuses sub-interpreters, so a process has one state at a time and every
 * function finds it through `lw_core`, without a look-up. */
#ifndef LW_PY_STATE_H
#define LW_PY_STATE_H

#include "core/py/numpy_api.h"

#include <stdatomic.h>

#include "core/tables/dtypes.h"

/* An object that is looked up at the first use. It is set once, by whichever thread comes
 * first, and stays. */
typedef _Atomic(PyObject *) lw_found;

/* A numpy.ufunc and ours for it, which is set first. */
typedef struct lw_found_pair {
    lw_found numpy, ours;
} lw_found_pair;

#define LW_STATE_CLASSES(X)                                                                    \
    X(type)                                                                                    \
    X(signature)                                                                               \
    X(intrinsic)                                                                               \
    X(intrinsic_group)                                                                         \
    X(device)                                                                                  \
    X(context)                                                                                 \
    X(gpus)                                                                                    \
    X(memory_info)                                                                             \
    X(stream)                                                                                  \
    X(event)                                                                                   \
    X(waiter)                                                                                  \
    X(device_array)                                                                            \
    X(mapped_array)                                                                            \
    X(mem_info)                                                                                \
    X(typed_iterator)                                                                          \
    X(typed_list)                                                                              \
    X(typed_dict)                                                                              \
    X(typed_texts) /* of lanewise.typed, as is the next */                                     \
    X(typed_arrays)                                                                            \
    X(bound_forall)                                                                            \
    X(reduction_function)                                                                      \
    X(jit)                                                                                     \
    X(launcher)

/* The rows of the tables of device arrays, which number the places below. */
typedef enum lw_device_operator {
#define DEVICE_OPERATOR(name) LW_OPERATOR_##name,
#include "core/tables/device_operators.def"
    LW_N_DEVICE_OPERATORS
} lw_device_operator;

typedef enum lw_device_method {
#define DEVICE_METHOD(name, reduction, rule, has_dtype, is_scan) LW_DEVICE_METHOD_##name,
#include "core/tables/device_methods.def"
    LW_N_DEVICE_METHODS
} lw_device_method;

typedef enum lw_device_function {
#define DEVICE_FUNCTION(name) LW_DEVICE_FUNCTION_##name,
#include "core/tables/device_functions.def"
    LW_N_DEVICE_FUNCTIONS
} lw_device_function;

typedef enum lw_array_kernel_name {
#define DEVICE_KERNEL(name) LW_KERNEL_##name,
#include "core/tables/device_kernels.def"
    LW_N_DEVICE_KERNELS
} lw_array_kernel_name;

/* Lengths of the other arrays below; the files that use them assert that they are right. */
enum {
    LW_STATE_TRAVELS = 4,         /* lw_travel */
    LW_STATE_NAMES = 15,          /* LW_N_ATTRS */
    LW_STATE_REDUCING_UFUNCS = 6, /* core/py/array/device_array_reduce.c */
    LW_STATE_UFUNC_METHODS = 6,   /* LW_N_METHODS */
    LW_STATE_CUPY_MAKERS = 4,     /* core/py/array/args_result.c */
    LW_STATE_UFUNCS = 256         /* more than twice as many as NumPy has */
};

/* Each of them is a lw_found, and nothing else is: core/py/state.c walks them as one array. */
typedef struct lw_state_found {
    lw_found descrs[LW_N_SCALARS], raw_bf16;   /* NumPy's dtypes: core/py/descr.h */
    lw_found times[LW_N_SCALARS];              /* type objects of datetime64 and timedelta64 */
    lw_found operators[LW_N_DEVICE_OPERATORS]; /* numpy.add and so on */
    lw_found functions[LW_N_DEVICE_METHODS],
        reductions[LW_N_DEVICE_METHODS]; /* lanewise.reductions */
    lw_found numpy_functions[LW_N_DEVICE_METHODS];
    lw_found reducing_ufuncs[LW_STATE_REDUCING_UFUNCS];
    lw_found array_functions[LW_N_DEVICE_FUNCTIONS], array_kernels[LW_N_DEVICE_KERNELS];
    lw_found accumulate, keyword_names[4]; /* texts: core/py/array/device_array_reduce.c */
    lw_found ufunc_methods[LW_STATE_UFUNC_METHODS]; /* lanewise._ufunc_methods */
    lw_found cupy_current_stream, cupy_stream_ptr;  /* the latter: None where CuPy has none */
    lw_found cupy_makers[LW_STATE_CUPY_MAKERS];
    lw_found typed_classes, typed_context; /* core/py/object_shape.c */
    lw_found dask_graph;                   /* a text: core/py/numpy/object_operands.c */
    lw_found_pair ufuncs[LW_STATE_UFUNCS]; /* ufunc/numpy_names_py.c */
} lw_state_found;

typedef struct lw_state {
#define X(name) PyTypeObject *name##_type;
    LW_STATE_CLASSES(X)
#undef X
    PyTypeObject *travel_types[LW_STATE_TRAVELS]; /* [lw_travel] */
    /* the type object of each dtype, void included; [ptr] NULL */
    PyObject *scalars[LW_N_DTYPES];
    PyObject *names[LW_STATE_NAMES]; /* of attributes that are asked for at each call */
    PyObject *time_methods;          /* core/py/numpy/ufunc_times.c; or NULL */
    PyObject *watches_guard;         /* core/py/reports.c */
    lw_state_found found;
} lw_state;

/* Never NULL: without a module it is an empty one. */
extern lw_state *lw_core;

/* The first of the registrations. -1 with an exception. */
int lw_state_register(PyObject *module);
/* For tp_traverse, tp_clear and tp_free of the module. */
int lw_state_traverse(lw_state *state, visitproc visit, void *arg);
void lw_state_clear(lw_state *state);

/* A class that objects are made of: NULL with an exception once the module is unloaded. */
static inline PyTypeObject *
lw_state_class(PyTypeObject *class)
{
    if (class == NULL)
        PyErr_SetString(PyExc_RuntimeError, "lanewise is unloaded");
    return class;
}

/* Borrowed; NULL: nobody has looked it up yet. */
static inline PyObject *
lw_found_get(const lw_found *place)
{
    return atomic_load_explicit((lw_found *)place, memory_order_acquire);
}

/* Borrowed: what the place has from now on, which is `made` unless another thread was first.
 * Steals made; NULL is passed on. */
PyObject *lw_found_set(lw_found *place, PyObject *made);
/* Borrowed: that attribute of numpy. NULL with an exception. */
PyObject *lw_found_in_numpy(lw_found *place, const char *name);

#endif
