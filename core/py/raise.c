#include "core/py/raise.h"

#include "core/front/read/ast.h"
#include "core/front/read/services.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *class_name, *home;
} rows[LW_N_STATUS] = {
    [LW_OK] = {"", ""},
#define ERROR(name, exception, home_, bases) [LW_ERR_##name] = {exception, home_},
#include "core/tables/errors.def"

};

/* New reference, or NULL with an exception set. */
static PyObject *
class_of(lw_status status)
{
    bool ours = strcmp(rows[status].home, "lanewise") == 0;
    PyObject *module = ours ? lw_service_module(LW_SERVICE_ERRORS)
                            : PyImport_ImportModule("builtins"),
             *class = NULL;

    if (module != NULL)
        class = PyObject_GetAttrString(module, rows[status].class_name);
    Py_XDECREF(module);
    return class;
}

bool
lw_py_refused(void)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL, *class = NULL;
    bool refused;

    PyErr_Fetch(&type, &value, &traceback);
    class = type ? class_of(LW_ERR_COMPILE) : NULL;
    refused = class != NULL && PyErr_GivenExceptionMatches(type, class);
    Py_XDECREF(class);
    PyErr_Restore(type, value, traceback); /* in place of one of class_of's own */
    return refused;
}

/* Steals value; a failure leaves its exception set. */
static void
set(PyObject *exception, const char *name, PyObject *value)
{
    if (value != NULL && PyObject_SetAttrString(exception, name, value) < 0)
        PyErr_Clear(); /* a builtin class without a dict: the text says it all */
    Py_XDECREF(value);
}

static PyObject *
text_or_none(const char *text)
{
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace")
                : Py_NewRef(Py_None);
}

static void
describe(PyObject *exception, const lw_error *err)
{
    if (err->code[0] != 0) {
        set(exception, "code", PyUnicode_FromString(err->code));
        if (!PyErr_GivenExceptionMatches(exception, PyExc_OSError)) /* its str() would change */
            set(exception, "filename", text_or_none(err->file));
        set(exception, "lineno", PyLong_FromUnsignedLong(err->line));
        set(exception, "col", PyLong_FromUnsignedLong(err->col));
        set(exception, "end_col", PyLong_FromUnsignedLong(err->end_col));
        set(exception, "help", text_or_none(err->help));
    }
    if (err->vendor_name != NULL || err->vendor_code != 0) {
        set(exception, "name", PyUnicode_FromString(lw_error_vendor_name(err)));
        set(exception, "code", PyLong_FromLong(err->vendor_code));
    }
}

bool
lw_is_renamed_file(const char *file)
{
    return strncmp(file, "<ipython-input-", 15) == 0 || strstr(file, "ipykernel_") != NULL ||
           strncmp(file, "<lanewise ", 10) == 0;
}

/* The text, with the numbers of a notebook's cells for their files' names, and the files from
 * which pickled functions come. */
static PyObject *
message_of(const lw_error *err)
{
    PyObject *text = text_or_none(lw_error_text(err)), *named;

    if (text == NULL || err->file == NULL || !lw_is_renamed_file(err->file))
        return text;
    named = lw_service_call(LW_SERVICE_PLACES, "name_places", text, NULL, 0, NULL);
    if (named == NULL) {
        PyErr_Clear();
        return text;
    }
    Py_DECREF(text);
    return named;
}

PyObject *
lw_py_raise(lw_error *err)
{
    PyObject *class = NULL, *text = NULL, *exception = NULL;

    if (lw_read_lost_interrupt()) /* it may be the cause of the error */
        goto done;
    if (err->status == LW_ERR_PYTHON) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "an error was reported without an exception");
        goto done;
    }
    if (err->text == NULL) { /* memory was out when it was written, whatever the cause was */
        PyErr_NoMemory();
        goto done;
    }
    class = class_of(err->status);
    text = class ? message_of(err) : NULL;
    exception = text ? PyObject_CallOneArg(class, text) : NULL;
    if (exception != NULL) {
        describe(exception, err);
        PyErr_SetObject(class, exception);
    }
done:
    Py_XDECREF(class);
    Py_XDECREF(text);
    Py_XDECREF(exception);
    lw_error_reset(err);
    return NULL;
}
