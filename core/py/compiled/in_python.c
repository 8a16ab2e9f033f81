/* Owns the way from a call to lanewise/_python_target.py. */
#include "core/py/compiled/in_python.h"

#include "core/front/read/services.h"
#include "core/py/host_cuda.h"

#include <string.h>

bool
lw_is_of_package(PyObject *function)
{
    PyObject *module = PyObject_GetAttrString(function, "__module__");
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool own = text != NULL && strncmp(text, "lanewise.", 9) == 0;

    PyErr_Clear();
    Py_XDECREF(module);
    return own;
}

/* ---- loops of Python's ---- */

/* The loop is borrowed from the caller of _call_with_loop. Objects that are made again from the
 * same function, for other captured or static values, have its code. */
static _Thread_local struct python_loop {
    PyObject *code, *loop;
} running;

static PyObject *
code_of(PyObject *function)
{
    return PyFunction_Check(function) ? PyFunction_GET_CODE(function) : function;
}

PyObject *
lw_python_loop_of(const lw_compiled *self)
{
    return running.loop != NULL && code_of(self->py_func) == running.code ? running.loop : NULL;
}

PyObject *
lw_python_loop_call(PyObject *loop, PyObject *const *args, Py_ssize_t n_args)
{
    struct python_loop outer = running;
    PyObject *result;

    running = (struct python_loop){NULL, NULL};
    result = PyObject_Vectorcall(loop, args, (size_t)n_args, NULL);
    running = outer;
    return result;
}

PyObject *
lw_call_with_loop(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct python_loop outer = running;
    PyObject *loop, *object, *arguments, *keywords, *result;

    if (!PyArg_ParseTuple(args, "OOO!O!:_call_with_loop", &loop, &object, &PyTuple_Type,
                          &arguments, &PyDict_Type, &keywords))
        return NULL;
    running = (struct python_loop){code_of(((lw_compiled *)object)->py_func), loop};
    result = PyObject_Call(object, arguments, keywords);
    running = outer;
    return result;
}

bool
lw_runs_in_python(const lw_compiled *self)
{
    return lw_on_python() && !lw_is_of_package(self->py_func) &&
           lw_python_loop_of(self) == NULL;
}

PyObject *
lw_run_in_python(const char *name, PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                 PyObject *kwnames)
{
    return lw_service_call(LW_SERVICE_PYTHON_TARGET, name, object, args, n_args, kwnames);
}

bool
lw_only_compiling_failed(void)
{
    static const char *const names[] = {"TypingError", "UnsupportedError"};
    PyObject *type, *value, *trace, *classes[2] = {NULL, NULL};
    bool result = false;

    PyErr_Fetch(&type, &value, &trace);
    for (int i = 0; i < 2 && !result; i++) {
        classes[i] = lw_service_find(LW_SERVICE_ERRORS, names[i]);
        result =
            classes[i] != NULL && type != NULL && PyErr_GivenExceptionMatches(type, classes[i]);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    Py_XDECREF(classes[0]);
    Py_XDECREF(classes[1]);
    return result;
}
