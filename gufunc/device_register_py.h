/* What lanewise/module.c needs of the device side of gufuncs. */
#ifndef LW_GUFUNC_DEVICE_REGISTER_PY_H
#define LW_GUFUNC_DEVICE_REGISTER_PY_H

#include <Python.h>

/* Fills lw_gufunc_device; adds what tests use to the module. -1 with an exception. */
int lw_gufunc_device_register(PyObject *module);

#endif
