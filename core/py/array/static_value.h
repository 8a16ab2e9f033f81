/* Parameters whose values are compiled in: static= of all generators but reduce. */
#ifndef LW_PY_STATIC_VALUE_H
#define LW_PY_STATIC_VALUE_H

#include <Python.h>

/* What tells this value from others in a dict of specialisations: 1, 1.0, True and np.int8(1)
 * differ, as do 0.0 and -0.0; one NaN is every NaN. New reference; NULL with a TypeError that
 * names function and parameter where the value is not hashable; of arrays it gives the hint. */
PyObject *lw_static_key(PyObject *value, const char *function, const char *parameter,
                        const char *hint_for_arrays);
/* The function again, whose parameters named by `values` (a dict) have these defaults. The
 * reader of functions (core/front/read/params.c) takes them; Python itself would look only at
 * those of keyword-only parameters. New reference. */
PyObject *lw_function_with_values(PyObject *function, PyObject *values);

#endif
