/* The Reduction object: what the files of this door share. What changes while calls run is
 * atomic, or changes in a critical section on the object, which ends for the time of compiling
 * and running. */
#ifndef LW_REDUCE_REDUCE_PARTS_PY_H
#define LW_REDUCE_REDUCE_PARTS_PY_H

#include "core/py/numpy_api.h"

#include "core/base/grown.h"
#include "core/front/read/python.h"
#include "core/py/compiled/renew.h"
#include "reduce/function/reduction.h"
#include "reduce/host/host_run.h"

enum { /* calls that are remembered: reduce/recall_py.h */
       LW_RECALL_CALL,
       LW_RECALL_ACCUMULATE,
       LW_N_RECALLS
};

/* Loops that are compiled soon, for the first elements of a specialisation. */
typedef struct lw_reduce_quick {
    lw_reduce_code code[LW_REDUCE_QUICK_KINDS];
    enum {
        LW_REDUCE_QUICK_UNKNOWN, /* whether there are such loops: not asked yet */
        LW_REDUCE_QUICK_EXISTS,
        LW_REDUCE_QUICK_NEVER
    } exists;
    int64_t elements; /* that they have been given */
} lw_reduce_quick;

/* What is compiled for operands of given dtypes. */
typedef struct lw_reduce_specialisation {
    lw_grown_item item;
    uint32_t n_arrays;
    lw_reduce_operand array[LW_REDUCE_MOST];
    lw_dtype dtype; /* dtype=; void: not given */
    lw_reduction *reduction;
    lw_reduce_code host;          /* code NULL until it is used */
    lw_reduce_quick quick;        /* before that, for few elements */
    bool looked_at_masks;         /* masked stands, if there can be one */
    lw_reduction *masked;         /* with where= as an operand, on the host; or NULL */
    lw_reduce_code masked_host;   /* of it, … */
    lw_reduce_quick masked_quick; /* … and before that */
    lw_grown entries;             /* GPU kernels, lw_reduce_entry: reduce/device_py.c */
} lw_reduce_specialisation;

/* tree: of the function that combines; captures: of all three. */
typedef struct lw_reducer {
    LW_COMPILED_HEAD
    PyObject *map, *finish; /* functions, or NULL */
    lw_tree *map_tree, *finish_tree;
    PyObject *identity;                   /* as given, or NULL */
    lw_reduce_stage stage;                /* reduce/stage_py.h */
    lw_reduce_operand of[LW_REDUCE_MOST]; /* of a later stage: what its accumulators are of */
    uint32_t n_of, n_taken;               /* … how many arrays, and of how many numbers */
    lw_dtype of_dtype;                    /* dtype= of those; void: not given */
    PyObject *stages;                     /* dict: those that were made; or NULL */
    PyObject *whole;                      /* of a stage: what it is a stage of; or NULL */
    bool cpu_only, cuda_only;             /* target= of the decorator */
    int commutative;                      /* -1: as combine shows itself */
    lw_grown specialisations;             /* lw_reduce_specialisation */
    struct lw_reduce_recall *recalled[LW_N_RECALLS]; /* the latest first */
} lw_reducer;

const char *lw_reducer_name(const lw_reducer *self);
/* For core/link, with link= alone of what code is linked with; borrowed from the object. */
lw_build_options lw_reducer_build_options(const lw_reducer *self);
/* What code for a GPU is linked with; borrowed from the object. NULL with an exception. */
const lw_link_set *lw_reducer_links(lw_reducer *self, const lw_reduction *reduction, int cc);
/* How many arrays a call takes; 0: any number (there is no map). */
uint32_t lw_reducer_n_arrays(const lw_reducer *self);
/* Typed and lowered when new. NULL with an exception. */
lw_reduce_specialisation *lw_reducer_specialisation(lw_reducer *self,
                                                    const lw_reduce_operand *arrays, uint32_t n,
                                                    lw_dtype dtype);
/* The same if there is one already; NULL: there is none. */
lw_reduce_specialisation *lw_reducer_known(lw_reducer *self, const lw_reduce_operand *arrays,
                                           uint32_t n, lw_dtype dtype);
/* Its functions with the type of each expression. */
lw_status lw_reducer_print_types(const lw_reducer *self,
                                 const lw_reduce_specialisation *specialisation, lw_text *out,
                                 lw_error *err);
/* Machine code for this CPU; that of scans and slices. -1 with an exception. */
int lw_reducer_host(lw_reducer *self, lw_reduce_specialisation *specialisation);
/* The loops for a call with n elements: all loops, or, as long as a specialisation has had few
 * elements, those of `which`, a quick kind, which are compiled sooner. masked: for where=, and
 * then those of specialisation->masked where that is possible. NULL with an exception. */
lw_reduce_code *lw_reducer_soon(lw_reducer *self, lw_reduce_specialisation *specialisation,
                                int64_t n, lw_reduce_loops which, bool masked);
void lw_reducer_drop_specialisations(lw_reducer *self);

bool lw_is_reducer(PyObject *object);
/* What Python's calls do: r(*args, …), or with LW_RECALL_ACCUMULATE r.accumulate(*args, …). */
PyObject *lw_reducer_do(PyObject *self, int which, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *kwnames);
/* r(a, *more, …), r.accumulate, r.reduceat */
PyObject *lw_reducer_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_accumulate(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_reduceat(PyObject *self, PyObject *args, PyObject *kwargs);
/* The type of lanewise.reductions' functions. -1 with an exception. */
int lw_reduction_function_register(PyObject *module);

#endif
