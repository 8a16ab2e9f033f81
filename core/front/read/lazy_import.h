/* `lazy import name` of Python 3.15: until the name is read for the first time, the module's
 * globals hold an object that stands for what is to be imported. */
#ifndef LW_FRONT_READ_LAZY_IMPORT_H
#define LW_FRONT_READ_LAZY_IMPORT_H

#include <Python.h>

#include <stdbool.h>

bool lw_is_lazy_import(PyObject *value);
/* Import it and bind the name to what was imported, as reading the name does: a new reference,
 * or NULL with the import's exception. Steals `lazy`. */
PyObject *lw_import_now(PyObject *globals, PyObject *name, PyObject *lazy);

#endif
