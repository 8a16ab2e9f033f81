/* Overloads of functions, methods and attributes: inference's questions are answered by
 * lanewise/extending.py. */
#ifndef LW_PY_OVERLOAD_ASK_H
#define LW_PY_OVERLOAD_ASK_H

#include <Python.h>

int lw_overload_ask_register(PyObject *module);

#endif
