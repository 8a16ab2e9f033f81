/* The function gets one device array for each operand, of the loop's dtype: the loop
 * dimensions, broadcast by strides of 0, then the layout's core dimensions. What it writes is
 * not read. */
#include "core/py/numpy_api.h"

#include "gufunc/device_large_py.h"

static bool
is_large(const lw_device_gufunc *call)
{
    int64_t product = 1;

    for (uint32_t d = 0;
         d < lw_gufunc_of(call)->layout.n_dims && product < lw_gufunc_of(call)->large_least;
         d++)
        product *= call->shape.sizes[d];
    for (int i = 0; i < call->base.n_read; i++)
        if (call->base.operands[i].kind != LW_OPERAND_DEVICE)
            return false;
    return product >= lw_gufunc_of(call)->large_least;
}

static PyObject *
view_of(const lw_device_gufunc *call, int operand)
{
    const lw_core_operand *core = &lw_gufunc_of(call)->layout.operands[operand];
    int64_t shape[LW_SHAPE_DIMS + LW_MAX_CORE_DIMS], strides[LW_SHAPE_DIMS + LW_MAX_CORE_DIMS];
    int n = call->shape.loop_ndim, ndim = n + (int)core->n;
    lw_device_array *array, *view;

    if (ndim > LW_SHAPE_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s: %d dimensions, more than an array can have",
                     call->shape.name, ndim);
        return NULL;
    }
    lw_core_shape_strides(&call->shape, operand, &call->views[operand], strides, strides + n);
    for (int d = 0; d < n; d++)
        shape[d] = call->shape.loop[d];
    for (uint32_t d = 0; d < core->n; d++)
        shape[n + (int)d] = call->shape.sizes[core->dims[d]];
    array = lw_operand_array(&call->base.operands[operand]);
    if (array == NULL)
        return NULL;
    view = lw_device_array_view(array, array->data, ndim, shape, strides);
    Py_DECREF(array);
    return (PyObject *)view;
}

int
lw_gufunc_call_large(lw_device_gufunc *call)
{
    PyObject *args[LW_MAX_OPERANDS + 1] = {NULL}, *result = NULL;
    int n = call->base.n_read, taken = -1, i;

    if (!is_large(call))
        return 0;
    for (i = 0; i < n; i++) {
        args[i] = view_of(call, i);
        if (args[i] == NULL)
            goto done;
    }
    args[n] = PyLong_FromVoidPtr(call->base.stream);
    if (args[n] != NULL)
        result = PyObject_Vectorcall(lw_gufunc_of(call)->large, args, (size_t)n + 1, NULL);
    if (result != NULL)
        taken = PyObject_IsTrue(result);
    Py_XDECREF(result);
done:
    for (i = 0; i <= n; i++)
        Py_XDECREF(args[i]);
    return taken;
}

static PyObject *
use_large(PyObject *module, PyObject *args)
{
    PyObject *type = PyObject_GetAttrString(module, "Gufunc"), *object, *function;
    long long least;
    bool read = type != NULL &&
                PyArg_ParseTuple(args, "O!OL:_use_large", type, &object, &function, &least);

    Py_XDECREF(type);
    if (!read)
        return NULL;
    ((lw_gufunc *)object)->large_least = least;
    Py_XSETREF(((lw_gufunc *)object)->large, Py_NewRef(function));
    Py_RETURN_NONE;
}

int
lw_gufunc_large_register(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"_use_large", use_large, METH_VARARGS,
         "_use_large(gufunc, function, least): device calls whose core sizes multiply to "
         "`least` or more are function(*arrays, stream), unless it returns False"},
        {NULL, NULL, 0, NULL}};

    return PyModule_AddFunctions(module, methods);
}
