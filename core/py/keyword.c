#include "core/py/keyword.h"

#include "core/front/diagnose.h"

int
lw_keyword_refuse(const char *function, PyObject *name, const char *const *known, size_t n)
{
    const char *word = PyUnicode_AsUTF8(name), *near = NULL;

    PyErr_Clear();
    if (word != NULL)
        near = lw_nearest(word, known, (uint32_t)n);
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.100U'%s%s%s",
                 function, name, near ? "; did you mean '" : "", near ? near : "",
                 near ? "'?" : "");
    return -1;
}

int
lw_keyword_refuse_unnamed(const char *function, PyObject *name)
{
    PyErr_Format(PyExc_TypeError,
                 "%s() got some positional-only arguments passed as keyword arguments: '%U'",
                 function, name);
    return -1;
}
