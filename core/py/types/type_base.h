/* lanewise.types.Type: the base class of all types. Those that signatures know are of
 * core/py/types/type_object; classes of the user's derive from it, and get their meaning by
 * lanewise.extending.register_model. A type is equal to those of its class with an equal key.
 */
#ifndef LW_PY_TYPE_BASE_H
#define LW_PY_TYPE_BASE_H

#include <Python.h>

/* What objects of the class and of all that are derived from it begin with. */
typedef struct lw_type_base {
    PyObject_HEAD
    PyObject *name; /* a str; NULL: the class says it in another way */
} lw_type_base;

/* A new reference to the class, or NULL with an exception. */
PyTypeObject *lw_type_base_class_new(PyObject *module);

#endif
