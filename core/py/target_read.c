#include "core/py/target_read.h"

#include "core/link/compile_cuda.h"

#include <string.h>

/* The number behind "sm_" or "cc_", or 0: it is no such word. Digits alone: "sm_90abc" is no
 * target. */
static int
number_in(const char *text)
{
    int cc = 0;

    if (strncmp(text, "sm_", 3) != 0 && strncmp(text, "cc_", 3) != 0)
        return 0;
    for (text += 3; *text >= '0' && *text <= '9' && cc < 1000; text++)
        cc = 10 * cc + (*text - '0');
    return *text == 0 ? cc : 0;
}

static int
complain(PyObject *target, bool host)
{
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError,
                 "target must be %sa GPU from \"sm_75\" to \"sm_121\", not %.200R",
                 host ? "\"cpu\" or " : "", target);
    return -1;
}

int
lw_target_read(PyObject *target, int fallback, bool host)
{
    const char *text;
    Py_ssize_t n;
    long cc;

    if (target == NULL || target == Py_None)
        return fallback;
    if (PyLong_Check(target) && !PyBool_Check(target)) {
        cc = PyLong_AsLong(target);
        return cc > 0 && cc < 1000 && lw_cuda_cc_known((int)cc) ? (int)cc
                                                                : complain(target, host);
    }
    text = PyUnicode_Check(target) ? PyUnicode_AsUTF8AndSize(target, &n) : NULL;
    if (text == NULL || strlen(text) != (size_t)n)
        return complain(target, host);
    if (host && (strcmp(text, "cpu") == 0 || strcmp(text, "host") == 0))
        return 0;
    if (strcmp(text, "cuda") == 0)
        return fallback ? fallback : 90;
    cc = number_in(text);
    return lw_cuda_cc_known((int)cc) ? (int)cc : complain(target, host);
}

int
lw_target_arguments(PyObject *args, PyObject *kwargs, const char *format, int fallback,
                    PyObject **sig)
{
    static char *names[] = {"sig", "target", NULL};
    PyObject *target = Py_None;

    *sig = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, sig, &target))
        return -1;
    return lw_target_read(target, fallback, true);
}
