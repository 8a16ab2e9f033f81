/* lanewise.cuda without a GPU: where the setting `target` says "cpu", its functions are those
 * of lanewise/_host_cuda.py, over host memory. With any other setting all that they cost is one
 * look at a counter. */
#ifndef LW_PY_HOST_CUDA_H
#define LW_PY_HOST_CUDA_H

#include <Python.h>

#include <stdbool.h>

/* Whether the setting `target` is "cpu", "parallel" or "python". */
bool lw_on_host(void);
/* Whether it is "python": functions run as plain Python (core/py/compiled/in_python.h). */
bool lw_on_python(void);
/* Whether it is, or a profile is open: core/py/compiled/entry.h. */
bool lw_calls_go_round(void);
/* stream= of a call with host arrays: None and 0 say nothing, and without a GPU no stream does.
 */
bool lw_stream_says_nothing(PyObject *stream);
/* Call one of its functions. args: a tuple, or NULL. */
PyObject *lw_host_cuda_call(const char *name, PyObject *args, PyObject *kwargs);

/* A row of a method table whose function has its like there, under the same name. */
#define LW_ON_HOST_NOARGS(name)                                                                \
    static PyObject *name##_there(PyObject *module, PyObject *unused)                          \
    {                                                                                          \
        return lw_on_host() ? lw_host_cuda_call(#name, NULL, NULL) : name(module, unused);     \
    }
#define LW_ON_HOST_ONE(name)                                                                   \
    static PyObject *name##_there(PyObject *module, PyObject *argument)                        \
    {                                                                                          \
        if (!lw_on_host())                                                                     \
            return name(module, argument);                                                     \
        PyObject *args = PyTuple_Pack(1, argument);                                            \
        PyObject *result = args ? lw_host_cuda_call(#name, args, NULL) : NULL;                 \
        Py_XDECREF(args);                                                                      \
        return result;                                                                         \
    }
#define LW_ON_HOST_MANY(name)                                                                  \
    static PyObject *name##_there(PyObject *module, PyObject *args)                            \
    {                                                                                          \
        return lw_on_host() ? lw_host_cuda_call(#name, args, NULL) : name(module, args);       \
    }
#define LW_ON_HOST_KEYWORDS(name)                                                              \
    static PyObject *name##_there(PyObject *module, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return lw_on_host() ? lw_host_cuda_call(#name, args, kwargs)                           \
                            : name(module, args, kwargs);                                      \
    }

#endif
