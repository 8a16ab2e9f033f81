#include "core/py/print_py.h"

#include "core/base/memory.h"
#include "core/device/print_buffer.h"
#include "core/front/read/python.h"
#include "core/ir/printed.h"
#include "core/py/numpy_api.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- values ---- */

/* A NumPy scalar of these bytes. */
static PyObject *
numpy_scalar(int type_number, const void *bytes)
{
    PyArray_Descr *descriptor = PyArray_DescrFromType(type_number);
    char aligned[16];
    PyObject *scalar;

    if (descriptor == NULL)
        return NULL;
    memcpy(aligned, bytes, sizeof aligned);
    scalar = PyArray_Scalar(aligned, descriptor, NULL);
    Py_DECREF(descriptor);
    return scalar;
}

PyObject *
lw_print_text(uint64_t number)
{
    const lw_format *format = lw_format_find(number);

    return PyUnicode_FromString(format ? format->before : "");
}

static PyObject *
value_object(lw_dtype dtype, const uint64_t *slots)
{
    uint64_t bytes[2] = {slots[0], dtype == LW_DT_c128 ? slots[1] : 0};
    uint32_t parts[4] = {(uint32_t)slots[0]};
    double wide;

    switch (dtype) {
    case LW_DT_void: return lw_print_text(slots[0]);
    case LW_DT_b1: return PyBool_FromLong(slots[0] != 0);
    case LW_DT_f64: memcpy(&wide, slots, sizeof wide); return PyFloat_FromDouble(wide);
    case LW_DT_f32: return numpy_scalar(NPY_FLOAT, bytes);
    case LW_DT_f16: return numpy_scalar(NPY_HALF, bytes);
    case LW_DT_bf16: /* the upper half of a float */
        parts[0] <<= 16;
        return numpy_scalar(NPY_FLOAT, parts);
    case LW_DT_c64: parts[1] = (uint32_t)slots[1]; return numpy_scalar(NPY_CFLOAT, parts);
    case LW_DT_c128: return numpy_scalar(NPY_CDOUBLE, bytes);
    default:
        return lw_dtypes[dtype].kind == LW_KIND_INT ? PyLong_FromLongLong((long long)slots[0])
                                                    : PyLong_FromUnsignedLongLong(slots[0]);
    }
}

static PyObject *
object_of(const lw_format_value *value, const uint64_t *slots)
{
    if (value->optional && slots[0] == 0)
        return Py_NewRef(Py_None);
    return value_object(value->dtype, slots + value->optional);
}

PyObject *
lw_print_value(const lw_format *format, const uint64_t *slots)
{
    return object_of(&format->values[0], slots);
}

/* Steals the value, which may be NULL. */
static PyObject *
formatted(PyObject *value, const char *spec)
{
    PyObject *format = value ? PyUnicode_FromString(spec) : NULL;
    PyObject *text = format ? PyObject_Format(value, format) : NULL;

    Py_XDECREF(format);
    Py_XDECREF(value);
    return text;
}

/* Whether the spec begins with a conversion; *spec is then the format of the string. */
static bool
takes_conversion(const char **spec, const char *conversion)
{
    size_t n = strlen(conversion);

    if (strncmp(*spec, conversion, n) != 0 || ((*spec)[n] != ':' && (*spec)[n] != '\0'))
        return false;
    *spec += n + ((*spec)[n] == ':');
    return true;
}

static PyObject *
value_text(const lw_format_value *of, const uint64_t *slots)
{
    PyObject *value = object_of(of, slots), *text;
    const char *spec = of->spec ? of->spec : LW_FORMAT_STR;

    if (value == NULL)
        return NULL;
    text = takes_conversion(&spec, LW_FORMAT_REPR)  ? PyObject_Repr(value)
           : takes_conversion(&spec, LW_FORMAT_STR) ? PyObject_Str(value)
                                                    : Py_NewRef(value);
    Py_DECREF(value);
    return formatted(text, spec);
}

/* ---- lines ---- */

/* Steals the text. */
static int
append(PyObject *parts, PyObject *text)
{
    int result = text ? PyList_Append(parts, text) : -1;

    Py_XDECREF(text);
    return result;
}

static int
append_line(PyObject *parts, const lw_format *format, const uint64_t *slots)
{
    if (append(parts, PyUnicode_FromString(format->before)) < 0)
        return -1;
    for (uint32_t i = 0; i < format->n; i++) {
        const lw_format_value *value = &format->values[i];
        if (append(parts, value_text(value, slots)) < 0 ||
            append(parts, PyUnicode_FromString(value->behind)) < 0)
            return -1;
        slots += lw_format_slots(value);
    }
    return 0;
}

static int
append_lost(PyObject *parts, uint64_t n)
{
    return append(parts, PyUnicode_FromFormat("... %llu line%s dropped: the buffer was full\n",
                                              (unsigned long long)n, n == 1 ? "" : "s"));
}

/* Steals the list, NULL too; a new reference. */
static PyObject *
joined(PyObject *parts)
{
    PyObject *text = lw_joined("", parts);

    Py_XDECREF(parts);
    return text;
}

PyObject *
lw_print_line(const lw_format *format, const uint64_t *slots)
{
    PyObject *parts = PyList_New(0);

    if (parts != NULL && append_line(parts, format, slots) < 0)
        Py_CLEAR(parts);
    return joined(parts);
}

/* All lines as one text; a new reference. */
static PyObject *
text_of(const lw_printed *printed)
{
    PyObject *parts = PyList_New(0);

    for (uint64_t at = 0; parts && at < printed->n;) {
        const lw_format *format = lw_format_find(printed->words[at]);
        if (append_line(parts, format, printed->words + at + 1) < 0)
            Py_CLEAR(parts);
        at += format->n_slots + 1;
    }
    if (parts && printed->n_dropped && append_lost(parts, printed->n_dropped) < 0)
        Py_CLEAR(parts);
    return joined(parts);
}

static int
write_out(const lw_printed *printed)
{
    PyObject *sys = PyImport_ImportModule("sys"), *text, *result = NULL;
    PyObject *out = sys ? PyObject_GetAttrString(sys, "stdout") : NULL;

    Py_XDECREF(sys);
    if (out == NULL || out == Py_None) {
        PyErr_Clear();
        Py_XDECREF(out);
        return 0;
    }
    text = text_of(printed);
    if (text != NULL)
        result = PyObject_CallMethod(out, "write", "O", text);
    Py_XDECREF(text);
    Py_XDECREF(result);
    Py_DECREF(out);
    return result ? 0 : -1;
}

static int
collect(void)
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_print_collect(&err);
    Py_END_ALLOW_THREADS
    if (status == LW_OK)
        return 0;
    lw_py_raise(&err);
    return -1;
}

int
lw_print_show(void)
{
    lw_printed printed;
    int result;

    if (lw_print_any() && collect() < 0)
        return -1;
    if (!lw_printed_pending())
        return 0;
    printed = lw_printed_take();
    result = write_out(&printed);
    lw_free(printed.words);
    return result;
}

int
lw_print_show_anyway(void)
{
    PyObject *type, *value, *traceback;
    int result;

    PyErr_Fetch(&type, &value, &traceback);
    result = lw_print_show();
    if (type != NULL) {
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    return result;
}

/* ---- strings of typed lists and dicts ---- */

/* NULL: the exception says why compiled code cannot have the string. */
static const char *
characters_of(PyObject *text)
{
    Py_ssize_t n;
    const char *characters = PyUnicode_AsUTF8AndSize(text, &n);

    if (characters == NULL || strlen(characters) == (size_t)n)
        return characters;
    PyErr_Format(PyExc_ValueError, "a string in compiled code has no null character: %.200R",
                 text);
    return NULL;
}

uint64_t
lw_print_word(PyObject *text)
{
    const char *characters = characters_of(text);
    uint64_t word = characters ? lw_format_add(characters, NULL, 0) : 0;

    if (characters != NULL && word == 0)
        PyErr_NoMemory();
    return word;
}

uint64_t
lw_print_known_word(PyObject *text)
{
    const char *characters = characters_of(text);
    uint64_t word = characters ? lw_format_number(characters) : 0;

    if (characters == NULL &&
        PyErr_ExceptionMatches(PyExc_ValueError)) /* of which UnicodeEncodeError is one */
        PyErr_Clear();
    return word && lw_format_find(word) ? word : 0;
}
