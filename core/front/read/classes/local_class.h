/* Exception classes that a function defines, or that a pickle has brought from another
 * process's __main__: no module and name lead to them. They are known by a number, which their
 * name ends with: "module:f.<locals>.Bad#3". */
#ifndef LW_FRONT_READ_LOCAL_CLASS_H
#define LW_FRONT_READ_LOCAL_CLASS_H

#include <Python.h>

/* lw_local_class_name (read_internal.h) makes the names. new reference; NULL: it does not exist
 * any more, or an exception is set. */
PyObject *lw_local_class_find(const char *name);

#endif
