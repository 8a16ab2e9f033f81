/* What calls of ufuncs and gufuncs on device arrays begin with: keywords, outputs, operands. */
#ifndef LW_PY_DEVICE_CALL_H
#define LW_PY_DEVICE_CALL_H

#include "core/py/numpy_api.h"

#include "core/py/array/args.h"

typedef struct lw_call_keyword {
    const char *name;
    size_t at;       /* offset of its field, a PyObject *, in the door's call */
    bool keeps_none; /* None is a value like others */
} lw_call_keyword;

/* Fills the fields of `call`, borrowed. function: for messages. -1 with an exception. */
int lw_call_keywords(const lw_call_keyword *known, size_t n_known, const char *function,
                     PyObject *const *values, PyObject *kwnames, void *call);
/* The outputs behind nin of args and in out= (NULL: not given) to objects[], borrowed, where
 * they are not None. How many; -1 with an exception. */
int lw_call_outputs(PyObject *out, int nin, int nout, PyObject *const *args, Py_ssize_t n_args,
                    PyObject **objects);
/* -1 with an exception where this is no device array or may not be written. object: as
 * given. */
int lw_call_check_output(const lw_operand *operand, PyObject *object);
/* operand's device, or *device where another came first. -1 with ValueError: they differ. */
int lw_call_same_device(const lw_operand *operand, lw_device **device);
/* A host array beside device arrays is copied to their device, as numba does, and read again;
 * *copy: the new array. -1 with an exception. */
int lw_call_bring_over(lw_operand *operand, lw_device *device, CUstream stream,
                       PyObject **copy);

#endif
