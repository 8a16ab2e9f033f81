#include "core/py/descr.h"

#include "core/py/record_intern.h"
#include "core/py/state.h"
#include "core/py/type_num.h"

#include <string.h>

/* Borrowed: what the place has from now on. Steals descr; NULL is passed on. */
static PyArray_Descr *
keep(lw_found *place, PyArray_Descr *descr)
{
    return (PyArray_Descr *)lw_found_set(place, (PyObject *)descr);
}

static PyArray_Descr *
descr_of_bf16(void)
{
    PyObject *modules = PyImport_GetModuleDict(), *module, *type;
    PyArray_Descr *descr = NULL;

    module = PyDict_GetItemString(modules, "ml_dtypes"); /* borrowed; never imported by us */
    if (module != NULL) {
        type = PyObject_GetAttrString(module, "bfloat16");
        if (type != NULL && PyArray_DescrConverter(type, &descr) == NPY_SUCCEED) {
            Py_DECREF(type);
            return keep(&lw_core->found.descrs[LW_DT_bf16], descr);
        }
        Py_XDECREF(type);
        PyErr_Clear();
    }
    descr = (PyArray_Descr *)lw_found_get(&lw_core->found.raw_bf16);
    if (descr != NULL)
        return descr;
    descr = PyArray_DescrNewFromType(NPY_VOID);
    if (descr != NULL)
        PyDataType_SET_ELSIZE(descr, 2);
    return keep(&lw_core->found.raw_bf16, descr);
}

static PyArray_Descr *
descr_of_time(lw_dtype dtype)
{
    PyObject *text = PyUnicode_FromString(lw_dtypes[dtype].alias);
    PyArray_Descr *descr = NULL;

    if (text != NULL && PyArray_DescrConverter(text, &descr) != NPY_SUCCEED)
        descr = NULL;
    Py_XDECREF(text);
    return keep(&lw_core->found.descrs[dtype], descr);
}

PyArray_Descr *
lw_descr_of(lw_dtype dtype)
{
    PyArray_Descr *descr = (PyArray_Descr *)lw_found_get(&lw_core->found.descrs[dtype]);

    if (descr != NULL)
        return descr;
    if (dtype == LW_DT_bf16)
        return descr_of_bf16();
    if (lw_is_time(dtype))
        return descr_of_time(dtype);
    PyErr_Format(PyExc_TypeError, "%s has no NumPy dtype", lw_dtypes[dtype].public_name);
    return NULL;
}

int
lw_descrs_make(void)
{
    for (int dtype = 0; dtype < LW_N_DTYPES; dtype++)
        if (lw_dtypes[dtype].numpy != 0 &&
            keep(&lw_core->found.descrs[dtype],
                 PyArray_DescrFromType(lw_dtypes[dtype].numpy)) == NULL)
            return -1;
    return 0;
}

int
lw_warn_of_complex(lw_dtype from, lw_dtype to)
{
    PyObject *module, *class;
    int failed = -1;

    if (!lw_is_complex(from) || lw_is_complex(to) || to == LW_DT_b1 || to == LW_DT_void)
        return 0;
    module = PyImport_ImportModule("numpy.exceptions");
    class = module ? PyObject_GetAttrString(module, "ComplexWarning") : NULL;
    if (class != NULL)
        failed = PyErr_WarnEx(class,
                              "Casting complex values to real discards the imaginary part", 1);
    Py_XDECREF(class);
    Py_XDECREF(module);
    return failed;
}

/* NumPy numbers units as we do, but for a gap behind the week. */
static lw_dtype
time_of_descr(PyArray_Descr *descr)
{
    const PyArray_DatetimeMetaData *meta =
        &((PyArray_DatetimeDTypeMetaData *)PyDataType_C_METADATA(descr))->meta;
    int unit = meta->base - (meta->base > NPY_FR_W);

    return lw_time_dtype(descr->type_num == NPY_DATETIME ? LW_KIND_DATETIME : LW_KIND_TIMEDELTA,
                         (lw_time_unit)unit, meta->num);
}

lw_dtype
lw_dtype_of_descr(PyArray_Descr *descr)
{
    const char *name;

    if (!PyArray_ISNBO(descr->byteorder))
        return LW_DT_void;
    if (PyTypeNum_ISBOOL(descr->type_num) || PyTypeNum_ISNUMBER(descr->type_num))
        return lw_dtype_from_any_num(descr->type_num);
    if (PyTypeNum_ISDATETIME(descr->type_num))
        return time_of_descr(descr);
    if (descr->type_num < NPY_USERDEF || PyDataType_ELSIZE(descr) != 2)
        return LW_DT_void;
    name = strrchr(descr->typeobj->tp_name, '.');
    name = name != NULL ? name + 1 : descr->typeobj->tp_name;
    return strcmp(name, "bfloat16") == 0 ? LW_DT_bf16 : LW_DT_void;
}

int64_t
lw_dtype_alignment(lw_dtype dtype, PyArray_Descr *descr)
{
    const lw_arg_record *record;
    PyObject *type, *value, *traceback;

    if (dtype != LW_DT_void)
        return lw_dtypes[lw_dtypes[dtype].parts].size_bytes;
    if (descr == NULL || !lw_is_record_descr(descr))
        return 1;
    PyErr_Fetch(&type, &value, &traceback); /* of fields that compiled code does not know */
    record = lw_record_intern(descr);
    PyErr_Restore(type, value, traceback);
    return record != NULL ? (int64_t)record->align : 1;
}

/* "bfloat16" and the scalars of lanewise.types; LW_DT_void: ask NumPy. */
static lw_dtype
own_type(PyObject *object)
{
    PyObject *number;
    long row = 0;

    if (PyUnicode_Check(object))
        return PyUnicode_CompareWithASCIIString(object, "bfloat16") == 0 ? LW_DT_bf16
                                                                         : LW_DT_void;
    if (PyType_Check(object) || PyArray_DescrCheck(object))
        return LW_DT_void;
    number = PyObject_GetAttrString(object, "__lanewise_dtype__");
    if (number != NULL && PyLong_Check(number))
        row = PyLong_AsLong(number);
    Py_XDECREF(number);
    PyErr_Clear();
    return (row > LW_DT_void && row < LW_DT_ptr) ||
                   (row >= LW_DT_FIRST_TIME && row < LW_N_SCALARS)
               ? (lw_dtype)row
               : LW_DT_void;
}

int
lw_dtype_read(PyObject *object, lw_dtype *dtype, PyArray_Descr **descr)
{
    *dtype = own_type(object);
    if (*dtype != LW_DT_void) {
        *descr = lw_descr_of(*dtype);
        Py_XINCREF(*descr);
        return *descr == NULL ? -1 : 0;
    }
    *descr = NULL;
    if (PyArray_DescrConverter(object, descr) != NPY_SUCCEED)
        return -1;
    *dtype = lw_dtype_of_descr(*descr);
    if (!PyDataType_REFCHK(*descr))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "dtype: %.200R holds Python objects, which device memory cannot",
                 (PyObject *)*descr);
    Py_CLEAR(*descr);
    return -1;
}
