#include "core/py/target_read.h"

#include <stdlib.h>
#include <string.h>

/* The number behind "sm_" or "cc_"; -1: none. */
static long
number_in(const char *text)
{
    char *end;
    long cc;

    if (strncmp(text, "sm_", 3) != 0 && strncmp(text, "cc_", 3) != 0)
        return -1;
    cc = strtol(text + 3, &end, 10);
    return *end == 0 && end != text + 3 ? cc : -1;
}

int
lw_target_read(PyObject *target, int fallback, bool host)
{
    const char *text;
    long cc = -1;

    if (target == NULL || target == Py_None)
        return fallback;
    if (PyLong_Check(target) && !PyBool_Check(target)) {
        cc = PyLong_AsLong(target);
        PyErr_Clear();
    } else if (PyUnicode_Check(target) && (text = PyUnicode_AsUTF8(target)) != NULL) {
        if (host && (strcmp(text, "cpu") == 0 || strcmp(text, "host") == 0))
            return 0;
        if (strcmp(text, "cuda") == 0)
            return fallback ? fallback : 90;
        cc = number_in(text);
    }
    if (cc >= 50 && cc < 1000)
        return (int)cc;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError,
                 "target must be %s\"sm_90\" or another compute capability, not %.200R",
                 host ? "\"cpu\", " : "", target);
    return -1;
}
