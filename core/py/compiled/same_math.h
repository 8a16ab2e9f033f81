/* The functions of math="same", from lanewise/_same_math.py. */
#ifndef LW_PY_SAME_MATH_H
#define LW_PY_SAME_MATH_H

#include <Python.h>

/* From now on, core/ir/same_math.h gets each function when code first calls it. */
int lw_same_math_register(PyObject *module);

#endif
