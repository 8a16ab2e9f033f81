/* Functions of the module that give type objects: typeof, from_dtype, and those that pickles of
 * types name. */
#ifndef LW_PY_TYPE_MAKE_H
#define LW_PY_TYPE_MAKE_H

#include <Python.h>

/* Adds them, after lw_types_register. -1: exception. */
int lw_type_make_register(PyObject *module);

#endif
