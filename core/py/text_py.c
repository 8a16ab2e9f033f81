#include "core/py/text_py.h"

PyObject *
lw_text_take(lw_text *text)
{
    PyObject *result =
        text->failed ? PyErr_NoMemory()
                     : PyUnicode_DecodeUTF8(lw_text_get(text), (Py_ssize_t)text->n, "replace");

    lw_text_reset(text);
    return result;
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
