#include "core/py/compiled/device_call.h"

#include "core/py/array/device_array.h"

int
lw_call_keywords(const lw_call_keyword *known, size_t n_known, const char *function,
                 PyObject *const *values, PyObject *kwnames, void *call)
{
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), **field;
        size_t k = 0;
        while (k < n_known && PyUnicode_CompareWithASCIIString(name, known[k].name) != 0)
            k++;
        if (k == n_known) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.100U'",
                         function, name);
            return -1;
        }
        field = (PyObject **)((char *)call + known[k].at);
        if (*field != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got both 'sig' and 'signature'", function);
            return -1;
        }
        if (values[i] != Py_None || known[k].keeps_none)
            *field = values[i];
    }
    return 0;
}

static int
set_output(PyObject **place, PyObject *value)
{
    if (value == Py_None)
        return 0;
    *place = value;
    return 1;
}

static int
out_keyword(PyObject *out, int nout, PyObject **objects)
{
    int n_given = 0;

    if (!PyTuple_Check(out)) {
        if (nout == 1)
            return set_output(objects, out);
        PyErr_Format(PyExc_TypeError,
                     "'out' must be a tuple of %d arrays or None for a function with %d "
                     "outputs, not %.200s",
                     nout, nout, Py_TYPE(out)->tp_name);
        return -1;
    }
    if (PyTuple_GET_SIZE(out) != nout) {
        PyErr_Format(
            PyExc_ValueError,
            "The 'out' tuple must have exactly one entry per ufunc output: expected %d, "
            "got %zd",
            nout, PyTuple_GET_SIZE(out));
        return -1;
    }
    for (int i = 0; i < nout; i++)
        n_given += set_output(&objects[i], PyTuple_GET_ITEM(out, i));
    return n_given;
}

int
lw_call_outputs(PyObject *out, int nin, int nout, PyObject *const *args, Py_ssize_t n_args,
                PyObject **objects)
{
    int n_given = 0;

    if (out != NULL && n_args > nin) {
        PyErr_SetString(PyExc_TypeError,
                        "cannot specify 'out' as both a positional and keyword argument");
        return -1;
    }
    if (out != NULL)
        return out_keyword(out, nout, objects);
    for (Py_ssize_t i = nin; i < n_args; i++)
        n_given += set_output(&objects[i - nin], args[i]);
    return n_given;
}

int
lw_call_check_output(const lw_operand *operand, PyObject *object)
{
    if (operand->kind != LW_OPERAND_DEVICE) {
        PyErr_Format(
            PyExc_TypeError,
            "out must be a device array when an input is one, not %.200s: make it with "
            "lanewise.cuda.device_array",
            Py_TYPE(object)->tp_name);
        return -1;
    }
    if (operand->readonly) {
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
        return -1;
    }
    return 0;
}

int
lw_call_same_device(const lw_operand *operand, lw_device **device)
{
    if (*device == NULL)
        *device = operand->device;
    if (*device == operand->device)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "operands are on devices %d and %d: all must be on one device",
                 (*device)->ordinal, operand->device->ordinal);
    return -1;
}

int
lw_call_bring_over(lw_operand *operand, lw_device *device, CUstream stream, PyObject **copy)
{
    PyObject *array = PyArray_FROM_O(operand->object);

    lw_operand_release(operand);
    operand->kind = LW_OPERAND_OTHER;
    if (array == NULL)
        return -1;
    *copy = (PyObject *)lw_device_array_from_host((PyArrayObject *)array, device, stream);
    Py_DECREF(array);
    return *copy ? lw_operand_read(operand, *copy) : -1;
}
