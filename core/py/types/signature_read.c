/* Signatures as Python objects -> text -> core/front/signature_parse.c. Everything that names a
 * type becomes the name of one; nothing is evaluated. */
#include "core/py/numpy_api.h"

#include "core/py/types/signature_read.h"

#include "core/front/read/python.h"
#include "core/py/descr.h"
#include "core/py/raise.h"
#include "core/py/type_num.h"
#include "core/py/types/type_object.h"

#include <string.h>

/* ---- the text of a type, of a signature ---- */

static PyObject *
text_of_dtype(lw_dtype dtype)
{
    return PyUnicode_FromString(lw_dtypes[dtype].public_name);
}

static PyObject *
text_of_python_type(PyObject *object)
{
    if (object == (PyObject *)&PyBool_Type)
        return text_of_dtype(LW_DT_b1);
    if (object == (PyObject *)&PyLong_Type)
        return text_of_dtype(LW_DT_i64);
    if (object == (PyObject *)&PyFloat_Type)
        return text_of_dtype(LW_DT_f64);
    if (object == (PyObject *)&PyComplex_Type)
        return text_of_dtype(LW_DT_c128);
    return NULL;
}

static PyObject *
text_of_descr(PyArray_Descr *descr)
{
    lw_dtype dtype = lw_dtype_of_descr(descr);

    if (dtype == LW_DT_void || !PyArray_ISNBO(descr->byteorder)) {
        PyErr_Format(
            PyExc_TypeError,
            "signature: dtype %.200R has no arithmetic here; expected one of bool, the "
            "integers, float16, float32, float64, complex64, complex128",
            (PyObject *)descr);
        return NULL;
    }
    return text_of_dtype(dtype);
}

/* Type and signature objects of ours and of numba's, whose str() is what we read; -1 with an
 * exception set. */
static int
is_type_object(PyObject *object)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    int result = name && (strcmp(name, "lanewise") == 0 || strncmp(name, "lanewise.", 9) == 0 ||
                          strncmp(name, "numba.", 6) == 0);

    Py_XDECREF(module);
    if (name == NULL && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError))
            return -1;
        PyErr_Clear();
    }
    return result;
}

static PyObject *
no_type(PyObject *object)
{
    if (PyCallable_Check(object) && !PyType_Check(object))
        return PyErr_Format(PyExc_TypeError,
                            "expected a Python function, or signatures, got %.100s: %s",
                            Py_TYPE(object)->tp_name, lw_call_hint(object));
    return PyErr_Format(PyExc_TypeError,
                        "signatures must be a string, a type signature, a tuple of types, or a "
                        "list of these, not %.100s",
                        Py_TYPE(object)->tp_name);
}

static PyObject *
text_of_object(PyObject *object)
{
    int is_type = is_type_object(object);

    if (is_type < 0)
        return NULL;
    return is_type ? PyObject_Str(object) : no_type(object);
}

/* One type as text: a str as it is, a dtype, a scalar class, or what str() says of a type
 * object of ours or numba's. */
static PyObject *
text_of_type(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    PyObject *text;

    if (PyUnicode_Check(object))
        return Py_NewRef(object);
    text = text_of_python_type(object);
    if (text != NULL || PyErr_Occurred())
        return text;
    if (!PyArray_DescrCheck(object) &&
        !(PyType_Check(object) &&
          PyType_IsSubtype((PyTypeObject *)object, &PyGenericArrType_Type)))
        return text_of_object(object);
    if (!PyArray_DescrConverter(object, &descr))
        return NULL;
    text = text_of_descr(descr);
    Py_DECREF(descr);
    return text;
}

static bool
is_whole_signature(PyObject *object)
{
    PyObject *text;
    bool whole;

    if (PyTuple_Check(object) || PyList_Check(object))
        return true;
    if (lw_type_object_get(object, NULL)) /* of a record: its name has parentheses */
        return false;
    text = text_of_type(object);
    if (text == NULL) { /* reading it meets the same again, and tells */
        PyErr_Clear();
        return false;
    }
    whole = PyUnicode_FindChar(text, '(', 0, PyUnicode_GET_LENGTH(text), 1) >= 0 ||
            PyUnicode_FindChar(text, '>', 0, PyUnicode_GET_LENGTH(text), 1) >= 0;
    Py_DECREF(text);
    return whole;
}

/* A tuple of types: "(float32, int32)". */
static PyObject *
text_of_tuple(PyObject *tuple)
{
    PyObject *parts = PyList_New(0), *joined, *result;

    for (Py_ssize_t i = 0; parts != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *part = text_of_type(PyTuple_GET_ITEM(tuple, i));
        if (part == NULL || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    joined = lw_joined(", ", parts);
    result = joined ? PyUnicode_FromFormat("(%U)", joined) : NULL;
    Py_XDECREF(joined);
    Py_XDECREF(parts);
    return result;
}

static PyObject *
text_of_signature(PyObject *object)
{
    return PyTuple_Check(object) ? text_of_tuple(object) : text_of_type(object);
}

/* ---- reading ---- */

enum { MOST_SPLIT = 32 }; /* signatures that one with optional arguments means */

/* NULL with an exception set: a text that C cannot hold is no signature. */
static const char *
utf8_of(PyObject *text)
{
    Py_ssize_t n;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &n);
    lw_error err = {0};

    if (utf8 != NULL && strlen(utf8) == (size_t)n)
        return utf8;
    if (utf8 == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeError))
        return NULL;
    PyErr_Clear();
    lw_fail(&err, LW_ERR_SIGNATURE, "E180: the signature holds %s",
            utf8 ? "a null character" : "a lone surrogate");
    lw_py_raise(&err);
    return NULL;
}

/* Makes of signature `first`, the last one, those that it means. */
static lw_status
split_optional(lw_arena *arena, lw_signature_list *list, uint32_t first, lw_error *err)
{
    lw_signature none;
    lw_status status;
    bool found;

    for (uint32_t at = first; at < list->n; at++) {
        do {
            LW_TRY(lw_signature_split(&list->data[at], arena, &none, &found, err));
            if (found && list->n - first >= MOST_SPLIT)
                return lw_fail(err, LW_ERR_SIGNATURE,
                               "E183: a signature has at most 5 optional arguments");
            if (found) {
                lw_signature *slot = lw_array_push(list, arena);
                if (slot == NULL)
                    return lw_fail_memory(err);
                *slot = none;
            }
        } while (found);
    }
    return LW_OK;
fail:
    return status;
}

static int
read_one(PyObject *object, bool scalars_only, lw_arena *arena, lw_signature_list *out)
{
    PyObject *text = text_of_signature(object);
    const char *utf8 = text ? utf8_of(text) : NULL;
    lw_signature *slot = utf8 ? lw_array_push(out, arena) : NULL;
    lw_error err = {0};
    int result = -1;

    if (utf8 != NULL && slot == NULL) {
        PyErr_NoMemory();
    } else if (slot != NULL) {
        lw_status status = lw_signature_parse(utf8, arena, slot, &err);
        if (status == LW_OK && scalars_only)
            status = lw_signature_check_scalar(slot, &err);
        slot->given = out->n - 1;
        if (status == LW_OK)
            status = split_optional(arena, out, out->n - 1, &err);
        if (status != LW_OK)
            lw_py_raise(&err);
        else
            result = 0;
    }
    Py_XDECREF(text);
    return result;
}

static bool
is_list_of_signatures(PyObject *object)
{
    if (PyList_Check(object))
        return true;
    if (!PyTuple_Check(object))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
        if (!is_whole_signature(PyTuple_GET_ITEM(object, i)))
            return false;
    return PyTuple_GET_SIZE(object) > 0;
}

int
lw_signatures_read(PyObject *object, bool scalars_only, lw_arena *arena, lw_signature_list *out)
{
    PyObject *now;
    int result = 0;

    if (object == NULL || object == Py_None)
        return 0;
    if (PyUnicode_Check(object) || !is_list_of_signatures(object)) {
        if (PyAnySet_Check(object) || PyDict_Check(object) || PyLong_Check(object) ||
            PyFloat_Check(object)) {
            no_type(object);
            return -1;
        }
        return read_one(object, scalars_only, arena, out);
    }
    now = PySequence_Tuple(object); /* other threads may change a list */
    for (Py_ssize_t i = 0; now && result == 0 && i < PyTuple_GET_SIZE(now); i++)
        result = read_one(PyTuple_GET_ITEM(now, i), scalars_only, arena, out);
    Py_XDECREF(now);
    return now ? result : -1;
}
