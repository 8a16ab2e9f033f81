/* The functions of math="same", from lanewise/_same_math.py. */
#ifndef LW_PY_SAME_MATH_H
#define LW_PY_SAME_MATH_H

#include <Python.h>

/* Compiles them for core/ir/same_math.h when it is first called. -1: an exception is set. */
int lw_same_math_prepare(void);

#endif
