#include "core/py/raise_row.h"

#include "core/front/read/classes/local_class.h"
#include "core/front/read/services.h"
#include "core/ir/counted.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"

#include <string.h>

/* Follow "Outer.Bad" from an object (stolen); new reference, NULL: not to be found. */
static PyObject *
follow(PyObject *object, const char *path)
{
    while (object != NULL && *path) {
        size_t n = strcspn(path, ".");
        PyObject *name = PyUnicode_FromStringAndSize(path, (Py_ssize_t)n);
        PyObject *next = name ? PyObject_GetAttr(object, name) : NULL;
        Py_XDECREF(name);
        Py_SETREF(object, next);
        path += n + (path[n] == '.');
    }
    return object;
}

/* Anything but a lack of memory is cleared. */
static bool
out_of_memory(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError))
        return true;
    PyErr_Clear();
    return false;
}

/* "ValueError", or "module:Outer.Bad" for a class of the user's, with a number behind it if no
 * module has it (local_class.h); new reference. RuntimeError stands for one that does not exist
 * any more, and its text names it. NULL: no memory. */
static PyObject *
class_named(const char *exception)
{
    const char *colon = strchr(exception, ':');
    PyObject *name = colon ? PyUnicode_FromStringAndSize(exception, colon - exception)
                           : PyUnicode_FromString("builtins");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *class = NULL;

    if (strchr(exception, '#') != NULL)
        class = lw_local_class_find(exception);
    else if (module != NULL)
        class = follow(Py_NewRef(module), colon ? colon + 1 : exception);
    Py_XDECREF(module);
    Py_XDECREF(name);
    if (out_of_memory()) {
        Py_XDECREF(class);
        return NULL;
    }
    if (class == NULL || !PyExceptionClass_Check(class))
        Py_XSETREF(class, Py_NewRef(PyExc_RuntimeError));
    return class;
}

/* ", element 3", ", element (3, 4)", ", tid=[3, 0, 0] ctaid=[1, 0, 0]" (numba's words) */
static PyObject *
place_text(const lw_raise_place *p)
{
    const long long at[3] = {p->index[0], p->index[1], p->index[2]};

    switch (p->kind) {
    case LW_AT_ELEMENT: return PyUnicode_FromFormat(", element %lld", at[0]);
    case LW_AT_INDEX:
        if (p->ndim == 2)
            return PyUnicode_FromFormat(", element (%lld, %lld)", at[0], at[1]);
        if (p->ndim == 3)
            return PyUnicode_FromFormat(", element (%lld, %lld, %lld)", at[0], at[1], at[2]);
        return PyUnicode_FromFormat(", element %lld", at[0]);
    case LW_AT_THREAD:
        return PyUnicode_FromFormat(", tid=[%u, %u, %u] ctaid=[%u, %u, %u]", p->thread[0],
                                    p->thread[1], p->thread[2], p->block[0], p->block[1],
                                    p->block[2]);
    case LW_AT_CALL: return PyUnicode_FromString("");
    }
    Py_UNREACHABLE();
}

/* Steals the value. Classes with slots alone take no attribute: then there is none. */
static void
attribute(PyObject *exception, const char *name, PyObject *value)
{
    if (value == NULL || PyObject_SetAttrString(exception, name, value) < 0)
        PyErr_Clear();
    Py_XDECREF(value);
}

static void
place_attributes(PyObject *exception, const lw_raise_place *p)
{
    const long long at[3] = {p->index[0], p->index[1], p->index[2]};

    if (p->kind == LW_AT_ELEMENT)
        attribute(exception, "element", PyLong_FromLongLong(at[0]));
    else if (p->kind == LW_AT_INDEX && p->ndim == 2)
        attribute(exception, "index", Py_BuildValue("LL", at[0], at[1]));
    else if (p->kind == LW_AT_INDEX && p->ndim == 3)
        attribute(exception, "index", Py_BuildValue("LLL", at[0], at[1], at[2]));
    else if (p->kind == LW_AT_INDEX)
        attribute(exception, "index", PyLong_FromLongLong(at[0]));
    if (p->kind != LW_AT_THREAD)
        return;
    attribute(exception, "thread",
              Py_BuildValue("III", p->thread[0], p->thread[1], p->thread[2]));
    attribute(exception, "block", Py_BuildValue("III", p->block[0], p->block[1], p->block[2]));
}

/* The memory that was missing is that of the heap, whose size is a setting. */
static bool
is_of_heap(const lw_raise_row *row, const lw_raise_place *place)
{
    return place->heap_bytes != 0 && row->message != NULL &&
           strcmp(row->message, LW_COUNTED_NO_MEMORY) == 0;
}

/* ---- arguments ---- */

typedef struct argument_reader {
    const lw_raise_row *row;
    const uint64_t *words; /* the next ones */
    uint32_t at, n_words;
} argument_reader;

static PyObject *next_argument(argument_reader *r);

static PyObject *
next_items(argument_reader *r, const lw_raise_arg *arg)
{
    PyObject *items = PyList_New(0), *result;

    for (uint32_t i = 0; items && i < arg->n; i++) {
        PyObject *item = next_argument(r);
        if (item == NULL || PyList_Append(items, item) < 0)
            Py_CLEAR(items);
        Py_XDECREF(item);
    }
    if (items != NULL && arg->kind == LW_RAISE_TUPLE) {
        result = PyList_AsTuple(items);
        Py_DECREF(items);
        return result;
    }
    return items;
}

static PyObject *
next_argument(argument_reader *r)
{
    const lw_raise_arg *arg = &r->row->args[r->at++];
    const lw_format *format = lw_format_find(arg->format);
    const uint64_t *words = r->words;
    PyObject *text, *number;

    if (arg->kind == LW_RAISE_NONE)
        return Py_NewRef(Py_None);
    if (arg->kind == LW_RAISE_TUPLE || arg->kind == LW_RAISE_LIST)
        return next_items(r, arg);
    if (format == NULL || format->n_slots > r->n_words) {
        PyErr_SetString(PyExc_SystemError, "an argument of an exception is not known");
        return NULL;
    }
    r->words += format->n_slots;
    r->n_words -= format->n_slots;
    if (arg->kind == LW_RAISE_NUMBER && format->n > 0)
        return lw_print_value(format, words);
    text = lw_print_line(format, words);
    if (arg->kind == LW_RAISE_TEXT || text == NULL)
        return text;
    number = PyLong_FromUnicodeObject(text, 10);
    Py_DECREF(text);
    return number;
}

/* What `raise` gives to the class: a tuple, and a dict or NULL; new references. NULL: an
 * exception is set. */
static PyObject *
arguments_of(const lw_raise_row *row, const lw_raise_place *place, PyObject **keywords)
{
    argument_reader r = {row, place->words, 0, LW_RAISE_WORDS};
    PyObject *list = PyList_New(0), *args;
    bool good = list != NULL;

    *keywords = NULL;
    while (good && r.at < row->n_args) {
        const char *name = row->args[r.at].name;
        PyObject *value = next_argument(&r);
        if (value != NULL && name != NULL && *keywords == NULL)
            *keywords = PyDict_New();
        good = value != NULL &&
               (name == NULL ? PyList_Append(list, value) == 0
                             : *keywords && PyDict_SetItemString(*keywords, name, value) == 0);
        Py_XDECREF(value);
    }
    args = good ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    if (args == NULL)
        Py_CLEAR(*keywords);
    return args;
}

/* As str() of an exception with these arguments. */
static PyObject *
message_of_arguments(const lw_raise_row *row, const lw_raise_place *place)
{
    PyObject *keywords, *args = arguments_of(row, place, &keywords), *text = NULL;

    if (args != NULL && PyTuple_GET_SIZE(args) == 1)
        text = PyObject_Str(PyTuple_GET_ITEM(args, 0));
    else if (args != NULL)
        text = PyTuple_GET_SIZE(args) ? PyObject_Repr(args) : PyUnicode_FromString("");
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    return text;
}

/* ---- texts ---- */

static PyObject *
message_of(const lw_raise_row *row, const lw_raise_place *place)
{
    if (row->n_args)
        return message_of_arguments(row, place);

    const lw_format *format = row->format ? lw_format_find(row->format) : NULL;

    if (is_of_heap(row, place))
        return PyUnicode_FromFormat("%s: the heap of kernels has %zu MB "
                                    "(LANEWISE_NRT_HEAP_MB)",
                                    row->message, place->heap_bytes >> 20);
    if (format != NULL && format->n_slots <= LW_RAISE_WORDS)
        return lw_print_line(format, place->words);
    return PyUnicode_FromString(row->message ? row->message : "");
}

/* The last name of "module:Outer.Bad#3" or "ValueError", or "" of NULL; new reference. */
static PyObject *
short_name(const char *exception)
{
    if (exception == NULL)
        return PyUnicode_FromString("");

    const char *path = strchr(exception, ':'), *dot = strrchr(path ? path : exception, '.');
    const char *name = dot ? dot + 1 : path ? path + 1 : exception;

    return PyUnicode_FromStringAndSize(name, (Py_ssize_t)strcspn(name, "#"));
}

/* "f.py:3": where the exception is raised, in words of the user's: lanewise/_places.py. */
static PyObject *
code_place(const lw_raise_row *row)
{
    PyObject *text = PyUnicode_FromFormat("%s:%u", row->file, (unsigned)row->line), *named;

    if (text == NULL || !lw_is_renamed_file(row->file))
        return text;
    named = lw_service_call(LW_SERVICE_PLACES, "name_places", text, NULL, 0, NULL);
    Py_DECREF(text);
    return named;
}

/* Whether no function of the user's is named: it is lanewise's own function that raises. */
static bool
has_no_place(const lw_raise_row *row)
{
    return row->file == NULL || *row->file == '\0';
}

/* stand_in: the class for which RuntimeError stands, as class_named reads it; NULL: none. */
static PyObject *
text_of(const lw_raise_row *row, const lw_raise_place *place, const char *stand_in)
{
    PyObject *name = short_name(stand_in), *where = name ? place_text(place) : NULL;
    PyObject *message = where ? message_of(row, place) : NULL, *text = NULL, *code = NULL;

    if (message != NULL) {
        const char *space = PyUnicode_GetLength(message) ? " " : "";
        const char *colon = stand_in && *space ? ":" : "";
        code = has_no_place(row) ? NULL : code_place(row);
        if (has_no_place(row))
            text = PyUnicode_FromFormat("%U%s%s%U", name, colon, stand_in ? " " : "", message);
        else if (code != NULL)
            text = PyUnicode_FromFormat("%U%s%s%U%s(raised in `%s` at %U%U)", name, colon,
                                        stand_in ? " " : "", message, space, row->function,
                                        code, where);
    }
    Py_XDECREF(code);
    Py_XDECREF(name);
    Py_XDECREF(message);
    Py_XDECREF(where);
    return text;
}

/* "raised in `f` at file:3, element 0", which tracebacks show. Python 3.10 has no notes. */
static void
note(PyObject *exception, const lw_raise_row *row, const lw_raise_place *place)
{
    PyObject *where = place_text(place), *code = where ? code_place(row) : NULL;
    PyObject *text =
        code ? PyUnicode_FromFormat("raised in `%s` at %U%U", row->function, code, where)
             : NULL;
    PyObject *done = text ? PyObject_CallMethod(exception, "add_note", "O", text) : NULL;

    if (done == NULL)
        PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(text);
    Py_XDECREF(code);
    Py_XDECREF(where);
}

/* Whether the class, or one that it derives from, makes its exceptions by code of its own,
 * which has to get the arguments of `raise`; others get one text, which says where, too. */
static bool
has_own_code(PyObject *class)
{
    PyObject *init = PyObject_GetAttrString(class, "__init__");
    PyObject *new = init ? PyObject_GetAttrString(class, "__new__") : NULL;
    bool own =
        new != NULL && (!Py_IS_TYPE(init, &PyWrapperDescr_Type) || !PyCFunction_Check(new));

    if (new == NULL)
        PyErr_Clear();
    Py_XDECREF(init);
    Py_XDECREF(new);
    return own;
}

static PyObject *
made_of_arguments(const lw_raise_row *row, const lw_raise_place *place, PyObject *class)
{
    PyObject *keywords, *args = arguments_of(row, place, &keywords);
    PyObject *exception = args ? PyObject_Call(class, args, keywords) : NULL;

    if (exception != NULL && PyExceptionInstance_Check(exception) && !has_no_place(row))
        note(exception, row, place);
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    return exception;
}

/* What is set becomes the cause of the exception that stands for it. */
static void
chain(PyObject *exception, PyObject *type, PyObject *cause, PyObject *trace)
{
    PyErr_NormalizeException(&type, &cause, &trace);
    if (exception != NULL && cause != NULL)
        PyException_SetCause(exception, Py_NewRef(cause));
    Py_XDECREF(type);
    Py_XDECREF(cause);
    Py_XDECREF(trace);
}

/* RuntimeError where the class does not take its arguments, because of the class's own
 * exception. NULL: an exception is set. */
static PyObject *
exception_of(const lw_raise_row *row, const lw_raise_place *place, PyObject *class)
{
    bool found = class != PyExc_RuntimeError || strcmp(row->exception, "RuntimeError") == 0;
    PyObject *text = text_of(row, place, found ? NULL : row->exception);
    bool own = text != NULL && strchr(row->exception, ':') != NULL && has_own_code(class);
    PyObject *exception = own    ? made_of_arguments(row, place, class)
                          : text ? PyObject_CallOneArg(class, text)
                                 : NULL;

    if (text != NULL && (exception == NULL || !PyExceptionInstance_Check(exception))) {
        PyObject *type, *cause, *trace;
        if (exception == NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
            Py_DECREF(text);
            return NULL;
        }
        PyErr_Fetch(&type, &cause, &trace);
        Py_CLEAR(exception);
        Py_SETREF(text, text_of(row, place, row->exception));
        exception = text ? PyObject_CallOneArg(PyExc_RuntimeError, text) : NULL;
        chain(exception, type, cause, trace);
    }
    Py_XDECREF(text);
    return exception;
}

/* .file and .line, of a pickled function those of the file that it comes from. */
static void
code_attributes(PyObject *exception, const lw_raise_row *row)
{
    PyObject *place = Py_BuildValue("sI", row->file, (unsigned)row->line);

    if (place != NULL && lw_is_renamed_file(row->file))
        Py_SETREF(place, lw_service_call(LW_SERVICE_PLACES, "origin_of", place, NULL, 0, NULL));
    if (place == NULL) {
        PyErr_Clear();
        return;
    }
    attribute(exception, "file", Py_NewRef(PyTuple_GET_ITEM(place, 0)));
    attribute(exception, "line", Py_NewRef(PyTuple_GET_ITEM(place, 1)));
    Py_DECREF(place);
}

const lw_raise_row *
lw_raise_row_at(const lw_raise_row *rows, uint32_t n_rows, int32_t status)
{
    return status > 0 && (uint32_t)status <= n_rows ? &rows[status - 1] : NULL;
}

static int
raise_damaged(void)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_INTERNAL,
            "a kernel reported an exception that its function does not raise: the kernel did "
            "not run, or something overwrote the memory of its report");
    lw_py_raise(&err);
    return -1;
}

int
lw_raise_at(const lw_raise_row *row, const lw_raise_place *place)
{
    PyObject *class, *exception;

    if (row == NULL)
        return raise_damaged();
    class = class_named(row->exception);
    exception = class ? exception_of(row, place, class) : NULL;
    if (exception != NULL) {
        attribute(exception, "function", PyUnicode_FromString(row->function));
        code_attributes(exception, row);
        place_attributes(exception, place);
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    }
    Py_XDECREF(exception);
    Py_XDECREF(class);
    return -1;
}
