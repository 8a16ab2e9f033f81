#include "ufunc/raise_row_py.h"

int
lw_raise_from_row(const lw_raise_row *row, int64_t element)
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *class = builtins ? PyDict_GetItemString(builtins, row->exception) : NULL;
    const char *message = row->message ? row->message : "";

    if (class == NULL || !PyExceptionClass_Check(class))
        class = PyExc_RuntimeError;
    PyErr_Format(class, "%s%s(raised in `%s` at %s:%u, element %lld)", message,
                 *message ? " " : "", row->function, row->file, (unsigned)row->line,
                 (long long)element);
    return -1;
}
