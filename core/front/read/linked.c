/* Code that callables bring along: whoever is called in compiled code may name it by an
 * attribute, lanewise's or numba's. The reader notes attribute and value once for each
 * callable; which calls need the code is known after inference. Replacing the attribute, or an
 * item of a list that it is, counts as a change of what was captured. */
#include "core/front/read/read_internal.h"

static const char *const names[] = {"__lanewise_link__", "__numba_cuda_link__"};

/* A new reference; NULL: it has none, or with an exception. */
static PyObject *
attribute_of(PyObject *object, const char *name)
{
    PyObject *value;

    if (PyFunction_Check(object) && ((PyFunctionObject *)object)->func_dict == NULL)
        return NULL;
    value = PyObject_GetAttrString(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

/* Whether it names no code, as the link= of most compiled functions. */
static bool
is_empty(PyObject *value)
{
    return value == Py_None || (PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 0);
}

/* The value of the first attribute that names code (new reference), or NULL. */
static PyObject *
find(PyObject *object, const char **name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *value = attribute_of(object, names[i]);

        *name = names[i];
        if (value != NULL && !is_empty(value))
            return value;
        Py_XDECREF(value);
        if (PyErr_Occurred())
            return NULL;
    }
    return NULL;
}

/* A method is another object at each access: the function in its class is compared. What a
 * property makes anew each time cannot be. */
static int
guard(lw_reader *r, PyObject *object, PyObject *name, PyObject *value)
{
    PyObject *class = (PyObject *)Py_TYPE(object), *again = PyObject_GetAttr(object, name);
    int result = 0;

    if (again == value) {
        result = lw_captures_add_attribute(r->captures, object, name, value);
    } else if (again != NULL && PyMethod_Check(value)) {
        Py_SETREF(again, PyObject_GetAttr(class, name));
        if (again == PyMethod_GET_FUNCTION(value))
            result = lw_captures_add_attribute(r->captures, class, name, again);
    }
    if (again == NULL)
        lw_read_clear();
    Py_XDECREF(again);
    if (result == 0 && PyList_CheckExact(value))
        result = lw_captures_add_list(r->captures, value);
    return result;
}

/* The number of the provider that holds these two; 0: there is none. */
static Py_ssize_t
known(const lw_reader *r, PyObject *object, PyObject *value)
{
    PyObject *list = lw_captures_linked(r->captures);

    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *provider = PyList_GET_ITEM(list, i);
        if (PyTuple_GET_ITEM(provider, 0) == object && PyTuple_GET_ITEM(provider, 2) == value)
            return i + 1;
    }
    return 0;
}

static Py_ssize_t
note(lw_reader *r, PyObject *object, const char *attribute, PyObject *value)
{
    PyObject *name = PyUnicode_InternFromString(attribute), *provider = NULL;
    Py_ssize_t number = known(r, object, value);

    if (number != 0) {
        Py_XDECREF(name);
        return number;
    }
    number = -1;
    if (name != NULL && guard(r, object, name, value) == 0)
        provider = Py_BuildValue("(OOO{})", object, name, value);
    if (provider != NULL)
        number = lw_captures_add_linked(r->captures, provider);
    Py_XDECREF(name);
    Py_XDECREF(provider);
    return number;
}

bool
lw_read_linked(lw_reader *r, PyObject *object, PyObject *inner, uint32_t *out)
{
    const char *name, *ignored;
    PyObject *value = inner == object ? NULL : find(object, &name), *within = NULL;
    Py_ssize_t number = 0;

    *out = 0;
    if (value != NULL && inner != NULL)
        within = find(inner, &ignored);
    if (value != NULL && value != within && !PyErr_Occurred())
        number = note(r, object, name, value);
    Py_XDECREF(value);
    Py_XDECREF(within);
    if (PyErr_Occurred())
        lw_read_failed(r);
    else
        *out = (uint32_t)number;
    return r->status == LW_OK;
}

/* Whether objects have it as a method, which is asked for them. */
static bool
is_method(PyObject *class, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name), *raw;

    raw = text ? _PyType_Lookup((PyTypeObject *)class, text) : NULL;
    Py_XDECREF(text); /* the type's own dict keeps it */
    return raw != NULL && PyFunction_Check(raw);
}

bool
lw_read_linked_class(lw_reader *r, PyObject *class, bool makes, uint32_t *out)
{
    const char *name;
    PyObject *value = find(class, &name);
    Py_ssize_t number = 0;

    *out = 0;
    if (value != NULL && (makes ? !is_method(class, name) : !PyCallable_Check(value)))
        number = note(r, class, name, value);
    Py_XDECREF(value);
    if (PyErr_Occurred())
        lw_read_failed(r);
    else
        *out = (uint32_t)number;
    return r->status == LW_OK;
}

bool
lw_read_linked_method(lw_reader *r, PyObject *of, uint32_t fn, uint32_t *out)
{
    *out = 0;
    return r->tree->fns.data[fn].linked != 0 || PyModule_Check(of) ||
           lw_read_linked_class(r, of, false, out);
}

uint32_t
lw_read_linked_attribute(lw_reader *r, PyObject *of, PyObject *value)
{
    uint32_t constant = lw_read_constant(r, value), linked;
    lw_constant function;

    if (constant == 0 || !PyFunction_Check(value))
        return constant;
    function = r->tree->constants.data[constant];
    if (function.kind != LW_K_FUNCTION || function.linked != 0)
        return constant;
    if (!lw_read_linked_method(r, of, (uint32_t)function.u, &linked))
        return 0;
    function.linked = linked;
    return linked ? lw_read_push(r, value, function) : constant;
}
