/* What a type is read from: values (typeof), dtypes, and what pickles name. Records and tuples
 * have no text that another process could read, so their pickles call a function of their own.
 */
#include "core/py/types/type_make.h"

#include "core/py/numpy_api.h"

#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/raise.h"
#include "core/py/record_intern.h"
#include "core/py/typed/typed_object.h"
#include "core/py/types/type_object.h"

/* ---- from pickles ---- */

/* _record_type(dtype, ndim, layout, readonly): ndim 0 for the record itself */
static PyObject *
record_type(PyObject *module, PyObject *args)
{
    lw_sig_type type = {.kind = LW_SIG_RECORD};
    PyObject *descr;
    const char *layout;
    int readonly;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!Isi", &PyArrayDescr_Type, &descr, &type.ndim, &layout,
                          &readonly))
        return NULL;
    type.record = lw_record_intern((PyArray_Descr *)descr);
    if (type.record == NULL)
        return NULL;
    if (type.ndim > 0) {
        type.kind = LW_SIG_ARRAY;
        type.layout = *layout;
        type.readonly = readonly != 0;
    }
    return lw_type_object_new(&type);
}

static bool
read_items(PyObject *types, lw_arena *arena, lw_sig_type *out)
{
    lw_sig_type *items = lw_arena_take(arena, ((size_t)out->n + 1) * sizeof *items);

    if (items == NULL)
        return PyErr_NoMemory() != NULL;
    out->items = items;
    for (uint32_t i = 0; i < out->n; i++)
        if (!lw_type_object_get(PyTuple_GET_ITEM(types, i), &items[i]) ||
            items[i].kind == LW_SIG_POINTER || items[i].kind == LW_SIG_OPTIONAL) {
            PyErr_Format(PyExc_TypeError, "types: item %u must be a type, got %.200R",
                         (unsigned)i, PyTuple_GET_ITEM(types, i));
            return false;
        }
    return true;
}

static bool
read_item_names(PyObject *fields, lw_arena *arena, lw_sig_type *out)
{
    const char **names = lw_arena_take(arena, ((size_t)out->n + 1) * sizeof *names);

    if (names == NULL)
        return PyErr_NoMemory() != NULL;
    out->names = names;
    if (!PyTuple_Check(fields) || PyTuple_GET_SIZE(fields) != (Py_ssize_t)out->n) {
        PyErr_Format(PyExc_TypeError, "%s does not have one name for each of %u types",
                     out->class_name, (unsigned)out->n);
        return false;
    }
    for (uint32_t i = 0; i < out->n; i++)
        if ((names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i))) == NULL)
            return false;
    return true;
}

/* _tuple_type(types, fields, class_name): fields and class_name None unless of a namedtuple */
static PyObject *
tuple_type(PyObject *module, PyObject *args)
{
    lw_sig_type type = {.kind = LW_SIG_TUPLE};
    PyObject *types, *fields, *result = NULL;
    lw_arena arena;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!Oz", &PyTuple_Type, &types, &fields, &type.class_name))
        return NULL;
    lw_arena_init(&arena);
    type.n = (uint32_t)PyTuple_GET_SIZE(types);
    if (read_items(types, &arena, &type) &&
        (type.class_name == NULL || read_item_names(fields, &arena, &type)))
        result = lw_type_object_new(&type);
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
type_from_text(PyObject *module, PyObject *text)
{
    const char *utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    lw_sig_type type;
    lw_error err = {0};
    PyObject *result = NULL;
    lw_arena arena;

    (void)module;
    if (utf8 == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a type's name must be a str");
        return NULL;
    }
    lw_arena_init(&arena);
    if (lw_signature_parse_type(utf8, &arena, &type, &err) == LW_OK)
        result = lw_type_object_new(&type);
    else
        lw_py_raise(&err);
    lw_arena_reset(&arena);
    return result;
}

/* ---- from dtypes ---- */

static PyObject *
from_dtype(PyObject *module, PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;

    (void)module;
    if (lw_type_object_get(object, NULL))
        return Py_NewRef(object);
    if (!PyArray_DescrConverter(object, &descr))
        return NULL;
    dtype = lw_dtype_of_descr(descr);
    if (dtype == LW_DT_void && lw_is_record_descr(descr)) {
        lw_sig_type type = {.kind = LW_SIG_RECORD, .record = lw_record_intern(descr)};
        Py_DECREF(descr);
        return type.record ? lw_type_object_new(&type) : NULL;
    }
    if (dtype == LW_DT_void)
        PyErr_Format(
            PyExc_TypeError,
            "from_dtype: %.200R has no arithmetic here; expected bool, an integer, float16 to "
            "float64, complex64 to complex128, datetime64, timedelta64, strings (S, U), or a "
            "structured dtype of these, in native byte order",
            (PyObject *)descr);
    Py_DECREF(descr);
    return dtype == LW_DT_void ? NULL : lw_type_object_of(dtype);
}

/* ---- from values ---- */

static PyObject *type_of(PyObject *module, PyObject *value);

/* The type of a device array, a NumPy array or a scalar that was read as an operand. */
static PyObject *
type_of_operand(const lw_operand *operand, PyObject *value)
{
    lw_sig_type type = {.kind = LW_SIG_ARRAY,
                        .dtype = (lw_dtype)operand->dtype,
                        .ndim = (uint32_t)operand->ndim,
                        .layout = 'A',
                        .readonly = operand->readonly};

    if (operand->dtype == LW_DT_void && operand->descr != NULL &&
        lw_is_record_descr(operand->descr)) {
        type.record = lw_record_intern(operand->descr);
        if (type.record == NULL)
            return NULL;
    } else if (operand->dtype == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "typeof: the dtype of this %.200s has no arithmetic here",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    if ((operand->kind != LW_OPERAND_DEVICE && operand->kind != LW_OPERAND_HOST) ||
        operand->ndim == 0) {
        type.kind = LW_SIG_RECORD;
        return type.record ? lw_type_object_new(&type)
                           : lw_type_object_of((lw_dtype)operand->dtype);
    }
    if (lw_layout_is_c(operand->ndim, operand->shape, operand->strides, operand->itemsize))
        type.layout = 'C';
    else if (lw_layout_is_f(operand->ndim, operand->shape, operand->strides, operand->itemsize))
        type.layout = 'F';
    return lw_type_object_new(&type);
}

static PyObject *
type_of_tuple(PyObject *module, PyObject *value)
{
    PyObject *types = PyTuple_New(PyTuple_GET_SIZE(value)), *fields = NULL, *args = NULL;
    PyObject *result = NULL;

    for (Py_ssize_t i = 0; types != NULL && i < PyTuple_GET_SIZE(value); i++) {
        PyObject *item = type_of(module, PyTuple_GET_ITEM(value, i));
        if (item == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i, item);
    }
    if (types == NULL)
        return NULL;
    if (!PyTuple_CheckExact(value))
        fields = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "_fields");
    PyErr_Clear();
    args = fields ? Py_BuildValue("OOs", types, fields, Py_TYPE(value)->tp_name)
                  : Py_BuildValue("OOO", types, Py_None, Py_None);
    if (args != NULL)
        result = tuple_type(module, args);
    Py_XDECREF(args);
    Py_XDECREF(fields);
    Py_DECREF(types);
    return result;
}

static PyObject *
type_of_record(PyObject *module, PyObject *value)
{
    PyArray_Descr *descr = PyArray_DescrFromScalar(value);
    PyObject *result = descr ? from_dtype(module, (PyObject *)descr) : NULL;

    Py_XDECREF(descr);
    return result;
}

/* What typeof_impl says of an object; None: it knows none such. */
static PyObject *
type_by_extending(PyObject *value)
{
    PyObject *find, *result;

    if (!(Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE) || lw_overloads_version() == 0)
        Py_RETURN_NONE;
    find = lw_service_find(LW_SERVICE_EXTENDING, "_typeof_registered");
    result = find ? PyObject_CallOneArg(find, value) : NULL;
    Py_XDECREF(find);
    return result;
}

static PyObject *
type_of(PyObject *module, PyObject *value)
{
    lw_operand operand;
    PyObject *result;

    if (PyTuple_Check(value))
        return type_of_tuple(module, value);
    if (PyArray_IsScalar(value, Void))
        return type_of_record(module, value);
    if (value == Py_None)
        return lw_type_object_of(LW_DT_void);
    if (PyLong_CheckExact(value)) /* of any size: int is int64 in compiled code */
        return lw_type_object_of(LW_DT_i64);
    result = type_by_extending(value);
    if (result != Py_None)
        return result;
    Py_DECREF(result);
    if (lw_is_typed_container(value))
        return PyObject_GetAttrString(value, "_numba_type_");
    if (lw_operand_look(&operand, value) < 0)
        return NULL;
    if (operand.kind == LW_OPERAND_OTHER) {
        lw_operand_release(&operand);
        PyErr_Format(
            PyExc_TypeError,
            "typeof: expected a number, a NumPy scalar, an array, a tuple of these, or a "
            "typed list or dict, got %.200s",
            Py_TYPE(value)->tp_name);
        return NULL;
    }
    result = type_of_operand(&operand, value);
    lw_operand_release(&operand);
    return result;
}

static PyMethodDef functions[] = {
    {"typeof", type_of, METH_O,
     PyDoc_STR("typeof(value)\n\nReturn the type that compiled code gives to a value.\n\n"
               ">>> typeof(np.zeros((2, 3), 'f4'))\nfloat32[:, ::1]")},
    {"from_dtype", from_dtype, METH_O,
     PyDoc_STR("from_dtype(dtype)\n\nReturn the type of a NumPy dtype, or of an object that "
               "numpy.dtype accepts.\n\n>>> from_dtype('f4')\nfloat32")},
    {"_tuple_type", tuple_type, METH_VARARGS, NULL},
    {"_record_type", record_type, METH_VARARGS, NULL},
    {"_type_from_text", type_from_text, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_type_make_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
