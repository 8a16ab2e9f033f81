/* Rows of method tables. */
#ifndef LW_PY_METHOD_TABLE_H
#define LW_PY_METHOD_TABLE_H

#include <Python.h>

/* Of a method that takes keywords: behind the name. */
#define LW_KEYWORDS(function)                                                                  \
    ((PyCFunction)(void (*)(void))(function)), METH_VARARGS | METH_KEYWORDS

/* Defines inspect_ir and so on by inspect(self, args, kwargs, fallback, form), where `fallback`
 * is the compute capability in calls without target=; 0: the host. */
#define LW_INSPECT_METHODS                                                                     \
    LW_INSPECT_METHOD(ir, 0)                                                                   \
    LW_INSPECT_METHOD(llvm, 0)                                                                 \
    LW_INSPECT_METHOD(asm, 0)                                                                  \
    LW_INSPECT_METHOD(nvvm, 90)                                                                \
    LW_INSPECT_METHOD(ptx, 90)                                                                 \
    LW_INSPECT_METHOD(sass, 90)                                                                \
    LW_INSPECT_METHOD(cubin, 90)                                                               \
    LW_INSPECT_METHOD(ltoir, 90)
#define LW_INSPECT_METHOD(form, fallback)                                                      \
    static PyObject *inspect_##form(PyObject *self, PyObject *args, PyObject *kwargs)          \
    {                                                                                          \
        return inspect(self, args, kwargs, fallback, #form);                                   \
    }

/* Defines the method: that of what `current` gives for object, a new reference or NULL. */
#define LW_OF_CURRENT(method, current, now)                                                    \
    static PyObject *method(PyObject *object, PyObject *args, PyObject *kwargs)                \
    {                                                                                          \
        PyObject *whom = (PyObject *)(current);                                                \
        PyObject *result = whom ? now(whom, args, kwargs) : NULL;                              \
        Py_XDECREF(whom);                                                                      \
        return result;                                                                         \
    }

/* What doors of one kernel for each signature say of its machine code: the methods are
 * prefix##inspect_ptx and so on. */
#define LW_MACHINE_CODE_ROWS(prefix)                                                           \
    {"inspect_ptx", LW_KEYWORDS(prefix##inspect_ptx),                                          \
     PyDoc_STR("inspect_ptx($self, /, sig=None, target='sm_90')\n--\n\nReturn the PTX of the " \
               "kernel.")},                                                                    \
        {"inspect_sass", LW_KEYWORDS(prefix##inspect_sass),                                    \
         PyDoc_STR("inspect_sass($self, /, sig=None, target='sm_90')\n--\n\n"                  \
                   "Return the instructions for the GPU (SASS).")},                            \
        {"inspect_cubin", LW_KEYWORDS(prefix##inspect_cubin),                                  \
         PyDoc_STR("inspect_cubin($self, /, sig=None, target='sm_90')\n--\n\n"                 \
                   "Return the machine code as bytes; for 'cpu', this is an object file.")},   \
        {"inspect_ltoir", LW_KEYWORDS(prefix##inspect_ltoir),                                  \
         PyDoc_STR("inspect_ltoir($self, /, sig=None, target='sm_90')\n--\n\nReturn the "      \
                   "LTO-IR as bytes.")},                                                       \
    {                                                                                          \
        "inspect_asm", LW_KEYWORDS(prefix##inspect_asm),                                       \
            PyDoc_STR("inspect_asm($self, /, sig=None)\n--\n\nReturn the instructions for "    \
                      "this CPU.")                                                             \
    }

#endif
