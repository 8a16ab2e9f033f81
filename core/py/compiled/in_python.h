/* The setting target="python": calls run the user's function as plain Python, which
 * lanewise/_python_target.py does. It is asked for at each call, before anything else. */
#ifndef LW_PY_IN_PYTHON_H
#define LW_PY_IN_PYTHON_H

#include "core/py/compiled/compiled.h"

/* Whether the Python function is one of the package's modules. */
bool lw_is_of_package(PyObject *function);
/* Whether calls of this object run as plain Python. The package's own functions stay compiled,
 * and so does a call that lw_call_with_loop makes. */
bool lw_runs_in_python(const lw_compiled *self);
/* _call_with_loop(loop, object, args, kwargs): calls the object as if it were compiled, so that
 * the call's arguments are checked and its results are made as ever. Where machine code of the
 * object's function would run, the Python function `loop` is called instead. */
PyObject *lw_call_with_loop(PyObject *module, PyObject *args);
/* The loop of the call that runs in this thread, borrowed; NULL: there is none, or it is a call
 * of another function. GIL held. */
PyObject *lw_python_loop_of(const lw_compiled *self);
/* Calls it. Functions that it calls have loops of their own. NULL with an exception. */
PyObject *lw_python_loop_call(PyObject *loop, PyObject *const *args, Py_ssize_t n_args);
/* The module's function of that name, called with the object and the arguments. */
PyObject *lw_run_in_python(const char *name, PyObject *object, PyObject *const *args,
                           Py_ssize_t n_args, PyObject *kwnames);
/* Whether the exception says that a function cannot be compiled: under this setting it can
 * still be run. */
bool lw_only_compiling_failed(void);

#endif
