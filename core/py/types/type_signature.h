/* lanewise.types.Signature: what a compiled loop takes and gives, float64(float64, int32).
 * Immutable, compared by value, hashable, picklable. */
#ifndef LW_PY_TYPE_SIGNATURE_H
#define LW_PY_TYPE_SIGNATURE_H

#include <Python.h>

/* The class (new reference); the module's state keeps it. */
PyTypeObject *lw_signature_class_new(PyObject *module);
/* An object of the class: result is a type object, args a tuple of them. */
PyObject *lw_signature_object_new(PyTypeObject *class, PyObject *result, PyObject *args);

#endif
