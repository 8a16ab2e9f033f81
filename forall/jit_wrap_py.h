/* cuda.In, cuda.Out and cuda.InOut, which say in which direction a host array is copied around
 * a launch. */
#ifndef LW_FORALL_JIT_WRAP_PY_H
#define LW_FORALL_JIT_WRAP_PY_H

#include <Python.h>

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
