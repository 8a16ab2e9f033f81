#include "core/py/text_py.h"

#include "core/front/read/python.h"
#include "core/link/build.h"
#include "core/py/raise.h"

#include <string.h>

PyObject *
lw_text_take(lw_text *text)
{
    PyObject *result =
        text->failed ? PyErr_NoMemory()
                     : PyUnicode_DecodeUTF8(lw_text_get(text), (Py_ssize_t)text->n, "replace");

    lw_text_reset(text);
    return result;
}

bool
lw_text_is(PyObject *str, const char *text)
{
    const char *utf8;

    if (PyUnicode_IS_ASCII(str))
        return PyUnicode_CompareWithASCIIString(str, text) == 0;
    utf8 = PyUnicode_AsUTF8(str);
    if (utf8 == NULL) /* a lone surrogate */
        PyErr_Clear();
    return utf8 != NULL && strcmp(utf8, text) == 0;
}

PyObject *
lw_typed_take_text(lw_typed *typed)
{
    lw_text text = {0};

    if (typed == NULL)
        return NULL;
    lw_typed_print(typed, &text);
    lw_typed_free(typed);
    return lw_text_take(&text);
}

void
lw_typed_dump(const lw_typed *typed, const char *name)
{
    lw_text text = {0};

    if (!lw_dump_wanted("typed", name))
        return;
    lw_typed_print(typed, &text);
    lw_dump("typed", name, lw_text_get(&text));
    lw_text_reset(&text);
}

static bool
is_binary(const char *output)
{
    return strcmp(output, "cubin") == 0 || strcmp(output, "ltoir") == 0 ||
           strcmp(output, "object") == 0;
}

bool
lw_text_is_among(PyObject *str, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (PyUnicode_CompareWithASCIIString(str, texts[i]) == 0)
            return true;
    return false;
}

PyObject *
lw_text_names(const char *const *names, uint32_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (uint32_t i = 0; tuple != NULL && i < n; i++)
        lw_tuple_put(&tuple, i, PyUnicode_InternFromString(names[i]));
    return tuple;
}

PyObject *
lw_form_take(lw_status status, const char *output, lw_bytes *bytes, lw_error *err)
{
    const char *data = (const char *)bytes->data;
    PyObject *result;

    if (status != LW_OK)
        result = lw_py_raise(err);
    else if (is_binary(output))
        result = PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes->n);
    else
        result = PyUnicode_DecodeUTF8(data, (Py_ssize_t)bytes->n, "replace");
    lw_bytes_reset(bytes);
    return result;
}
