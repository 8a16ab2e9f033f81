/* One value from any Python or NumPy number to an item of a dtype: the same lw_value_cast that
 * compiled casts are tested against does the last step. */
#include "core/py/types/type_cast.h"

#include "core/py/numpy_api.h"

#include "core/py/array/convert.h"

#include <string.h>

static PyObject *
wrong_value(lw_dtype dtype, PyObject *value, const char *why)
{
    PyErr_Format(PyExc_TypeError, "%s() expected a number, got %.200s%s",
                 lw_dtypes[dtype].public_name, Py_TYPE(value)->tp_name, why);
    return NULL;
}

/* A Python number as an item: integers by their low 64 bits. */
static int
read_python(lw_dtype dtype, PyObject *value, lw_value *out, lw_dtype *from)
{
    Py_complex c;

    if (PyLong_Check(value) && (lw_is_integer(dtype) || dtype == LW_DT_b1)) {
        int truth = dtype == LW_DT_b1 ? PyObject_IsTrue(value) : 0;
        *from = LW_DT_u64;
        out->u64 = dtype == LW_DT_b1 ? (uint64_t)truth : PyLong_AsUnsignedLongLongMask(value);
    } else if (PyLong_Check(value) || PyFloat_Check(value)) {
        *from = LW_DT_f64;
        out->f64 = PyFloat_AsDouble(value);
    } else {
        c = PyComplex_AsCComplex(value);
        *from = LW_DT_c128;
        out->c128[0] = c.real;
        out->c128[1] = c.imag;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The item of a NumPy scalar or of a 0-d array, in its own type. */
static int
read_item(PyObject *value, lw_value *out, lw_dtype *from)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(value);
    int result = -1;

    if (array == NULL)
        return -1;
    *from = lw_dtype_of_descr(PyArray_DESCR(array));
    if (*from != LW_DT_void && PyArray_NDIM(array) == 0) {
        memcpy(out->bytes, PyArray_DATA(array), lw_dtypes[*from].size_bytes);
        result = 0;
    }
    Py_DECREF(array);
    return result;
}

static PyObject *
scalar_of(lw_dtype dtype, lw_value *item)
{
    PyArray_Descr *descr = lw_descr_of(dtype);

    if (descr == NULL)
        return NULL;
    if (descr->type_num == NPY_VOID) /* bfloat16, and nobody has brought a type for it */
        return PyFloat_FromDouble(
            lw_bf16_to_double((uint16_t)(item->bytes[0] | item->bytes[1] << 8)));
    return PyArray_Scalar(item->bytes, descr, NULL);
}

/* Floats as integers: saturated, NaN 0, which NumPy leaves to the machine. */
static PyObject *
saturated(lw_dtype dtype, PyArray_Descr *descr, PyArrayObject *array, lw_dtype from)
{
    PyArrayObject *dense = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER), *made = NULL;
    size_t size = lw_dtypes[dtype].size_bytes, size_from = lw_dtypes[from].size_bytes;

    if (dense != NULL)
        made = (PyArrayObject *)PyArray_NewLikeArray(dense, NPY_CORDER,
                                                     (PyArray_Descr *)Py_NewRef(descr), 1);
    for (npy_intp i = 0; made != NULL && i < PyArray_SIZE(dense); i++) {
        lw_value item = {0}, result = {0};
        memcpy(item.bytes, PyArray_BYTES(dense) + (size_t)i * size_from, size_from);
        lw_value_cast(&item, from, &result, dtype);
        memcpy(PyArray_BYTES(made) + (size_t)i * size, result.bytes, size);
    }
    Py_XDECREF(dense);
    return (PyObject *)made;
}

/* The array in the byte order of the machine; a new reference. */
static PyArrayObject *
native(PyArrayObject *array)
{
    PyArray_Descr *descr;

    if (PyArray_ISNOTSWAPPED(array))
        return (PyArrayObject *)Py_NewRef((PyObject *)array);
    descr = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
    return descr ? (PyArrayObject *)PyArray_CastToType(array, descr, 0) : NULL;
}

static PyObject *
cast_array(lw_dtype dtype, PyArrayObject *given)
{
    PyArray_Descr *descr = lw_descr_of(dtype);
    PyArrayObject *array = descr ? native(given) : NULL;
    lw_dtype from = array ? lw_dtype_of_descr(PyArray_DESCR(array)) : LW_DT_void;
    PyObject *result = NULL;

    if (array != NULL && lw_is_integer(dtype) && from != LW_DT_void && lw_is_float(from))
        result = saturated(dtype, descr, array, from);
    else if (array != NULL)
        result = PyArray_CastToType(array, (PyArray_Descr *)Py_NewRef(descr), 0);
    Py_XDECREF((PyObject *)array);
    return result;
}

/* To a time, or from one: as NumPy's astype. */
static PyObject *
cast_time(lw_dtype dtype, PyObject *value)
{
    PyArray_Descr *descr = lw_descr_of(dtype);
    PyObject *array = descr ? PyArray_FROM_O(value) : NULL, *made;

    if (array == NULL)
        return NULL;
    made = PyArray_CastToType((PyArrayObject *)array, (PyArray_Descr *)Py_NewRef(descr), 0);
    Py_DECREF(array);
    return made ? PyArray_Return((PyArrayObject *)made) : NULL;
}

PyObject *
lw_type_cast(lw_dtype dtype, PyObject *value)
{
    lw_value item = {0}, result = {0};
    lw_dtype from = LW_DT_void;

    if (lw_is_time(dtype) || PyArray_IsScalar(value, Datetime) ||
        PyArray_IsScalar(value, Timedelta) ||
        (PyArray_Check(value) && PyArray_ISDATETIME((PyArrayObject *)value)))
        return cast_time(dtype, value);
    if (PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) > 0)
        return cast_array(dtype, (PyArrayObject *)value);
    if (PyArray_CheckAnyScalar(value) && !PyLong_CheckExact(value) &&
        !PyFloat_CheckExact(value) && !PyComplex_CheckExact(value) && !PyBool_Check(value) &&
        !PyUnicode_Check(value) && !PyBytes_Check(value)) {
        if (read_item(value, &item, &from) < 0 && !PyErr_Occurred())
            return wrong_value(dtype, value, "");
    } else if (PyUnicode_Check(value) || PyBytes_Check(value) || !PyNumber_Check(value) ||
               read_python(dtype, value, &item, &from) < 0) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
            return NULL;
        PyErr_Clear();
        return wrong_value(dtype, value, "");
    }
    if (PyErr_Occurred())
        return NULL;
    if (lw_is_complex(from) && !lw_is_complex(dtype) && dtype != LW_DT_b1)
        return wrong_value(dtype, value, ": take .real or abs() first");
    lw_value_cast(&item, from, &result, dtype);
    return scalar_of(dtype, &result);
}
