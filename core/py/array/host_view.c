#include "core/py/array/host_view.h"

#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/args_internal.h"

static bool
shares(PyObject *object)
{
    return lw_args_type_has(Py_TYPE(object), "__array_interface__") ||
           PyObject_CheckBuffer(object);
}

/* Exceptions of the object's own are told when it is read. */
static bool
is_on_cpu(PyObject *object)
{
    int type = kDLCPU;

    if (!lw_args_type_has(Py_TYPE(object), "__dlpack__") ||
        !lw_args_type_has(Py_TYPE(object), "__dlpack_device__"))
        return false;
    if (lw_args_dlpack_device(object, &type) < 0)
        PyErr_Clear();
    return lw_dlpack_on_host(type);
}

bool
lw_is_foreign_host(PyObject *object)
{
    if (PyLong_Check(object) || PyFloat_Check(object) || PyTuple_Check(object) ||
        PyUnicode_Check(object) || PyBytes_Check(object) || PyArray_Check(object) ||
        PyArray_IsScalar(object, Generic) || PyType_Check(object) ||
        lw_is_device_operand(object))
        return false;
    return shares(object) || is_on_cpu(object) ||
           lw_args_type_has(Py_TYPE(object), "__array__");
}

static PyObject *
by_dlpack(PyObject *object)
{
    int type; /* is_on_cpu passed its exceptions over */

    return lw_args_dlpack_device(object, &type) < 0 ? NULL : lw_dlpack_host_array(object);
}

static bool
is_plain(PyObject *object)
{
    int masked;

    if (!PyArray_Check(object) || PyArray_CheckExact(object))
        return PyArray_CheckExact(object);
    masked = lw_is_masked_array(object);
    if (masked < 0 && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear(); /* numpy.ma is not there: neither are masks */
        return true;
    }
    return masked == 0;
}

/* labels: as lanewise/_containers.py has it. */
static int
refuse(PyObject *object, PyObject *labels, const char *what)
{
    bool plain = is_plain(object);
    PyObject *module, *lost;

    if (PyErr_Occurred())
        return -1;
    if (plain || PyArray_IsPythonNumber(object) || PyArray_IsScalar(object, Generic) ||
        PyList_CheckExact(object) || PyTuple_CheckExact(object) || lw_is_device_operand(object))
        return 0;
    module = lw_service_module(LW_SERVICE_CONTAINERS);
    lost = module ? PyObject_CallMethod(module, "what_is_lost", "OO", object, labels) : NULL;
    if (lost != NULL && lost != Py_None)
        PyErr_Format(PyExc_TypeError, "%s is %U", what, lost);
    Py_XDECREF(lost);
    Py_XDECREF(module);
    return PyErr_Occurred() ? -1 : 0;
}

int
lw_refuse_container(PyObject *object, bool labels, const char *what)
{
    return refuse(object, labels ? Py_True : Py_False, what);
}

bool
lw_has_arrow_memory(PyObject *object)
{
    return !PyArray_Check(object) && !PyList_CheckExact(object) &&
           !PyTuple_CheckExact(object) && !PyUnicode_Check(object) &&
           !PyArray_IsScalar(object, Generic) &&
           (lw_args_type_has(Py_TYPE(object), "__arrow_c_array__") ||
            lw_args_type_has(Py_TYPE(object), "__arrow_c_stream__") ||
            lw_args_type_has(Py_TYPE(object), "as_py")); /* a scalar of pyarrow */
}

PyArrayObject *
lw_host_view(PyObject *object, const char *what)
{
    bool may_share = shares(object) || is_on_cpu(object);
    PyObject *array = refuse(object, Py_None, what) < 0 ? NULL
                      : !shares(object) && may_share
                          ? by_dlpack(object)
                          : PyArray_FromAny(object, NULL, 0, 0, 0, NULL);

    if (array == NULL || may_share)
        return (PyArrayObject *)array;
    Py_SETREF(array, PyArray_View((PyArrayObject *)array, NULL, &PyArray_Type));
    if (array != NULL)
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return (PyArrayObject *)array;
}
