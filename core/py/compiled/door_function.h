/* What the decorators of all doors do with the function they are given. */
#ifndef LW_PY_DOOR_FUNCTION_H
#define LW_PY_DOOR_FUNCTION_H

#include <Python.h>

#include <stdbool.h>

/* Something to compile, and not signatures: functions, methods, and what wraps one. */
bool lw_is_function(PyObject *object);
/* The arguments of a decorator: one positional (a function or signatures, which may also come
 * as the keyword `name`) and keywords. *first: new reference, or NULL where it was left out;
 * *keywords: a new dict without it. -1 with an exception. */
int lw_decorator_arguments(const char *door, const char *name, PyObject *args, PyObject *kwargs,
                           PyObject **first, PyObject **keywords);
/* The __dict__ of what is made of a function: a copy of the function's, with __name__ and the
 * like in it, as functools.wraps does. NULL with an exception. */
PyObject *lw_wrapper_dict(PyObject *function);
/* What __reduce__ gives, by the function `how` of lanewise/_pickling.py, which carries the
 * function's text to another process. */
PyObject *lw_reduce_by_source(PyObject *object, const char *how);

#endif
