/* What the decorators do with what they are given. */
#ifndef LW_PY_DECORATE_H
#define LW_PY_DECORATE_H

#include "core/py/compiled/compiled.h"

/* Something to compile, and not signatures: functions, methods, and what wraps one. */
bool lw_is_function(PyObject *object);
/* The object of a request, or where the function comes later what makes it then; bad keywords
 * and signatures are told now. NULL with an exception. */
PyObject *lw_decorate(const lw_compiled_door *door, PyObject *module,
                      const lw_request *request);
/* The same of a decorator whose one positional argument is a function or signatures; it may
 * also come as the keyword `name`. */
PyObject *lw_decorate_either(const lw_compiled_door *door, PyObject *module, const char *name,
                             PyObject *args, PyObject *kwargs);
/* The __dict__ of what is made of a function: a copy of the function's, with __name__ and the
 * like in it, as functools.wraps does. NULL with an exception. */
PyObject *lw_wrapper_dict(PyObject *function);

#endif
