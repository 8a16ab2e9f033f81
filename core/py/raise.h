/* The one bridge from lw_error to a Python exception, by the rows of errors.def. */
#ifndef LW_PY_RAISE_H
#define LW_PY_RAISE_H

#include <Python.h>

#include "core/base/error.h"

#include <stdbool.h>

/* Raise what err holds and reset it; always NULL. LW_ERR_PYTHON: the exception is set already.
 * Compile errors carry .code .filename .lineno .col .end_col .help, driver errors .name .code.
 */
PyObject *lw_py_raise(lw_error *err);
/* Whether errors show other words than the name of this file: it is a notebook's cell, or the
 * text of a function that was pickled. lanewise/_places.py knows them. */
bool lw_is_renamed_file(const char *file);
/* Whether the exception set now is the compiler's answer to the user's code, which a second
 * try would get again. Only such a one may be remembered, or led around by other dtypes: not a
 * lack of memory, and not what a signal's handler raised. */
bool lw_py_refused(void);

#endif
