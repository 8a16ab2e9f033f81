/* Looking into a Reduction: what it is compiled for, and its code for any target. */
#ifndef LW_REDUCE_INSPECT_PY_H
#define LW_REDUCE_INSPECT_PY_H

#include "core/py/numpy_api.h"

enum { LW_REDUCE_INSPECTIONS = 10 };

/* A signature names the arrays of a call, as numbers or as arrays of them, and may say what
 * results are: "float32(float32)", "float64(float32[::1], float32[::1])". */
extern const PyMethodDef lw_reducer_inspections[LW_REDUCE_INSPECTIONS];

PyObject *lw_reducer_signatures(PyObject *self, void *closure); /* a list of str */

#endif
