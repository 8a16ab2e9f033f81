#include "core/front/read/code.h"

#include "core/front/read/python.h"

#include "core/front/read/ast.h"

#include <string.h>

/* Flags that belong to the program: optimised, new locals, *args, **kwargs, generator,
 * coroutine, async generator. Flags of nesting, methods and docstrings depend on the
 * surroundings. */
enum { FLAGS_THAT_MATTER = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x80 | 0x200 };

static int constant_equal(PyObject *x, PyObject *y);

/* Whether item i is the qualified name of a nested function, which is a constant behind its
 * code up to 3.10. */
static bool
is_qualified_name(PyObject *tuple, Py_ssize_t i)
{
    return PY_VERSION_HEX < 0x030B0000 && i > 0 &&
           PyUnicode_Check(PyTuple_GET_ITEM(tuple, i)) &&
           PyCode_Check(PyTuple_GET_ITEM(tuple, i - 1));
}

/* Whether two qualified names end alike. "f.<locals>.C" is a constant of the code around a
 * class; its beginning depends on where the text is compiled. */
static bool
same_tail(PyObject *x, PyObject *y)
{
    const char *a = PyUnicode_AsUTF8(x), *b = a ? PyUnicode_AsUTF8(y) : NULL, *tails[2];
    const char *marks[2] = {a, b};

    lw_read_clear();
    for (int i = 0; i < 2; i++) {
        tails[i] = NULL;
        while (marks[i] != NULL && (marks[i] = strstr(marks[i], ".<locals>.")) != NULL)
            tails[i] = ++marks[i];
    }
    return tails[0] && tails[1] && strcmp(tails[0], tails[1]) == 0;
}

static int
tuple_equal(PyObject *x, PyObject *y)
{
    if (PyTuple_GET_SIZE(x) != PyTuple_GET_SIZE(y))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); i++) {
        int same = is_qualified_name(x, i) && is_qualified_name(y, i)
                       ? 1
                       : constant_equal(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i));
        if (same != 1)
            return same;
    }
    return 1;
}

/* Equal as constants of the compiler, which distinguishes 1, 1.0 and True, and 0.0 and -0.0. */
static int
constant_equal(PyObject *x, PyObject *y)
{
    if (x == y)
        return 1;
    if (Py_TYPE(x) != Py_TYPE(y))
        return 0;
    if (PyCode_Check(x))
        return lw_code_equal(x, y);
    if (PyTuple_CheckExact(x))
        return tuple_equal(x, y);
    if (PyFloat_CheckExact(x) || PyComplex_CheckExact(x)) {
        Py_complex a = PyComplex_AsCComplex(x), b = PyComplex_AsCComplex(y);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyUnicode_CheckExact(x) && same_tail(x, y))
        return 1;
    return PyObject_RichCompareBool(x, y, Py_EQ);
}

static int
field_equal(PyObject *x, PyObject *y, const char *name, long mask)
{
    PyObject *a = PyObject_GetAttrString(x, name);
    PyObject *b = a ? PyObject_GetAttrString(y, name) : NULL;
    int same = -1;

    if (b != NULL && mask)
        same = (PyLong_AsLong(a) & mask) == (PyLong_AsLong(b) & mask);
    else if (b != NULL)
        same = constant_equal(a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return same;
}

int
lw_code_equal(PyObject *x, PyObject *y)
{
    static const char *const fields[] = {
        "co_name",     "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_varnames",
        "co_freevars", "co_cellvars", "co_names",           "co_code",           "co_consts",
    };
    int same;

    if (x == y)
        return 1;
    if (Py_EnterRecursiveCall(" while comparing code objects"))
        return -1;
    same = field_equal(x, y, "co_flags", FLAGS_THAT_MATTER);
    for (size_t i = 0; same == 1 && i < sizeof fields / sizeof *fields; i++)
        same = field_equal(x, y, fields[i], 0);
    Py_LeaveRecursiveCall();
    return same;
}

PyObject *
lw_code_last(PyObject *code)
{
    PyObject *consts = PyObject_GetAttrString(code, "co_consts"), *found = NULL;

    for (Py_ssize_t i = 0; consts && i < PyTuple_GET_SIZE(consts); i++)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
            found = PyTuple_GET_ITEM(consts, i);
    Py_XDECREF(consts); /* code still owns it */
    return found;
}

static bool
item_number(PyObject *tuple, Py_ssize_t i, long *out)
{
    PyObject *item = PyTuple_GET_ITEM(tuple, i);

    *out = -1;
    if (item == Py_None)
        return false;
    *out = PyLong_AsLong(item);
    return *out >= 0;
}

static bool
before(long line, long col, long other_line, long other_col)
{
    return line < other_line || (line == other_line && col < other_col);
}

/* Extend the span by the (line, end line, column, end column) of one instruction. Empty ranges
 * belong to no source text. */
static void
widen(PyObject *position, lw_code_span *out, bool *known)
{
    long line, end_line, col, end_col;
    bool whole;

    if (!PyTuple_Check(position) || PyTuple_GET_SIZE(position) != 4)
        return;
    whole = item_number(position, 0, &line);
    whole &= item_number(position, 1, &end_line);
    if (end_line > out->end_line && !*known)
        out->end_line = end_line;
    whole &= item_number(position, 2, &col);
    whole &= item_number(position, 3, &end_col);
    if (!whole || (line == end_line && col == end_col))
        return;
    if (!*known || before(line, col, out->line, out->col)) {
        out->line = line;
        out->col = col;
    }
    if (!*known || before(out->end_line, out->end_col, end_line, end_col)) {
        out->end_line = end_line;
        out->end_col = end_col;
    }
    *known = true;
}

static void
widen_by_lines(PyObject *code, lw_code_span *out)
{
    PyObject *lines = PyObject_CallMethod(code, "co_lines", NULL);
    PyObject *item, *iterator = lines ? PyObject_GetIter(lines) : NULL;

    while (iterator != NULL && (item = PyIter_Next(iterator)) != NULL) {
        long line;
        if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 3 && item_number(item, 2, &line) &&
            line > out->end_line)
            out->end_line = line;
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(lines);
    lw_read_clear();
}

static void
widen_by_code(PyObject *code, bool nested, lw_code_span *out, bool *known)
{
    PyObject *positions = PyObject_CallMethod(code, "co_positions", NULL);
    PyObject *item, *iterator = positions ? PyObject_GetIter(positions) : NULL;
    PyObject *consts = nested ? PyObject_GetAttrString(code, "co_consts") : NULL;

    while (iterator != NULL && (item = PyIter_Next(iterator)) != NULL) {
        widen(item, out, known);
        Py_DECREF(item);
    }
    lw_read_clear();
    if (!*known)
        widen_by_lines(code, out);
    for (Py_ssize_t i = 0; consts != NULL && i < PyTuple_GET_SIZE(consts); i++)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
            widen_by_code(PyTuple_GET_ITEM(consts, i), true, out, known);
    Py_XDECREF(iterator);
    Py_XDECREF(positions);
    Py_XDECREF(consts);
}

bool
lw_code_positions(PyObject *code, bool nested, lw_code_span *out)
{
    bool known = false;

    *out = (lw_code_span){.line = -1, .col = -1, .end_line = 0, .end_col = -1};
    widen_by_code(code, nested, out, &known);
    return known;
}

/* ---- lazy imports ---- */

bool
lw_is_lazy_import(PyObject *value)
{
    PyObject *types = PyImport_ImportModule("types");
    PyObject *type = types ? PyObject_GetAttrString(types, "LazyImportType") : NULL;
    bool result = (PyObject *)Py_TYPE(value) == type;

    if (type == NULL)
        PyErr_Clear(); /* before 3.15 */
    Py_XDECREF(types);
    Py_XDECREF(type);
    return result;
}

/* If another thread has bound the name meanwhile, its object is returned. */
PyObject *
lw_import_now(PyObject *globals, PyObject *name, PyObject *lazy)
{
    PyObject *value = PyObject_CallMethod(lazy, "resolve", NULL), *now = NULL;

    if (value != NULL)
        now = lw_dict_item(globals, name);
    if (now == lazy && PyDict_SetItem(globals, name, value) < 0)
        Py_CLEAR(value);
    else if (now != NULL && now != lazy)
        Py_SETREF(value, Py_NewRef(now));
    Py_XDECREF(now);
    Py_DECREF(lazy);
    return value;
}
