/* Typed lists and dicts for Python, whose items compiled code shares: `_core.ListCells` and
 * `_core.DictCells`, from which the classes of lanewise/typed.py are derived. */
#ifndef LW_PY_TYPED_OBJECT_H
#define LW_PY_TYPED_OBJECT_H

#include <Python.h>

#include <stdbool.h>

/* Whether it is such an object, or one of a class derived from these. */
bool lw_is_typed_container(PyObject *object);
int lw_typed_object_register(PyObject *module);

#endif
