/* Which classes compiled code knows: those whose objects are their fields and nothing else.
 * Which of their functions the author wrote, and not dataclasses or collections. */
#include "core/front/read/classes/class_internal.h"

#include <string.h>

bool
lw_class_text_is(PyObject *object, const char *text)
{
    return object != NULL && PyUnicode_Check(object) &&
           PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/* Whether dataclasses made the function. They execute texts of a function `__create_fn__`
 * around it, under the file name that the code of `python -c` has as well. Codes of Python 3.10
 * do not know where they stand: there it is the second line, which no method in a class within
 * a function can have. */
static bool
is_generated(const PyCodeObject *code)
{
    if (!lw_class_text_is(code->co_filename, "<string>"))
        return false;
#if PY_VERSION_HEX >= 0x030B0000
    static const char around[] = "__create_fn__.<locals>.";
    const char *name = PyUnicode_AsUTF8(code->co_qualname);

    lw_read_clear();
    return name != NULL && strncmp(name, around, sizeof around - 1) == 0;
#else
    return code->co_firstlineno == 2 && (code->co_flags & CO_NESTED) != 0;
#endif
}

bool
lw_class_is_written(PyObject *function)
{
    PyObject *module = PyFunction_Check(function) ? PyFunction_GET_MODULE(function) : NULL;
    PyCodeObject *code =
        PyFunction_Check(function) ? (PyCodeObject *)PyFunction_GET_CODE(function) : NULL;
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;

    lw_read_clear();
    if (code == NULL || is_generated(code))
        return false;
    return name == NULL || /* code that is run without a module */
           (strcmp(name, "collections") != 0 && strcmp(name, "dataclasses") != 0 &&
            strncmp(name, "namedtuple_", 11) != 0);
}

/* What the look-up in an object gives; any object that is no class will do. New reference. */
static PyObject *
look_up(PyObject *raw)
{
    return Py_TYPE(raw)->tp_descr_get(raw, Py_True, NULL);
}

/* What a method decorated with njit, or a function of cuda.jit in a class, is compiled from;
 * NULL: it is none. *binds: whether its look-up in an object gives a method. */
static PyObject *
function_of_kernel(PyObject *raw, bool *binds)
{
    PyTypeObject *type = Py_TYPE(raw);
    PyObject *function, *bound;

    if (strcmp(type->tp_name, "lanewise.Kernel") != 0 || type->tp_descr_get == NULL)
        return NULL;
    function = PyObject_GetAttrString(raw, "py_func");
    bound = look_up(raw);
    *binds = bound != NULL && PyMethod_Check(bound);
    Py_XDECREF(bound);
    Py_XDECREF(function); /* raw owns it */
    lw_read_clear();
    return function;
}

/* The Python function of a property, a static method or a class method; borrowed. */
static PyObject *
plain_function(PyObject *function)
{
    bool binds;

    if (function != NULL && !PyFunction_Check(function))
        function = function_of_kernel(function, &binds);
    return function && PyFunction_Check(function) ? function : NULL;
}

PyObject *
lw_class_function_in(PyObject *raw, lw_class_member_kind *kind)
{
    PyObject *function = NULL;
    bool binds = true;

    *kind = LW_MEMBER_METHOD;
    if (PyFunction_Check(raw))
        return raw;
    function = function_of_kernel(raw, &binds);
    if (function != NULL) {
        *kind = binds ? LW_MEMBER_METHOD : LW_MEMBER_STATIC;
        return PyFunction_Check(function) ? function : NULL;
    }
    if (PyObject_TypeCheck(raw, &PyProperty_Type)) {
        *kind = LW_MEMBER_PROPERTY;
        function = PyObject_GetAttrString(raw, "fget");
    } else if (PyObject_TypeCheck(raw, &PyStaticMethod_Type) ||
               PyObject_TypeCheck(raw, &PyClassMethod_Type)) {
        *kind = LW_MEMBER_STATIC;
        function = PyObject_GetAttrString(raw, "__func__");
    }
    lw_read_clear();
    Py_XDECREF(function); /* raw owns it */
    return plain_function(function);
}

static bool
is_ufunc(PyObject *raw)
{
    const char *type = Py_TYPE(raw)->tp_name;

    return strcmp(type, "lanewise.Ufunc") == 0 || strcmp(type, "lanewise.Gufunc") == 0;
}

bool
lw_class_is_ufunc_method(PyObject *raw)
{
    PyObject *method = is_ufunc(raw) ? look_up(raw) : NULL;
    bool is = method != NULL && method != raw;

    Py_XDECREF(method);
    lw_read_clear();
    return is;
}

PyObject *
lw_class_code_in(PyObject *raw, lw_class_member_kind *kind)
{
    PyObject *function = lw_class_function_in(raw, kind);

    if (function != NULL || !is_ufunc(raw))
        return function;
    function = PyObject_GetAttrString(raw, "py_func");
    lw_read_clear();
    Py_XDECREF(function); /* raw owns it */
    return function && PyFunction_Check(function) ? function : NULL;
}

static bool
is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool
lw_class_skips(const char *name)
{
    static const char *const names[] = {
        "__new__",      "__repr__",          "__str__",           "__hash__",
        "__format__",   "__annotate__",      "__annotate_func__", "__reduce__",
        "__slots__",    "__class_getitem__", "__getnewargs__",    "__getstate__",
        "__setstate__", "__replace__",       "__init_subclass__", "__doc__",
        "__module__",   "__qualname__",      "__dict__",          "__match_args__",
        "__weakref__",  "__reduce_ex__",     "__annotations__"};

    return is_one_of(name, names, sizeof names / sizeof *names);
}

/* Functions that make an object are no methods for users of the class. */
static bool
makes(const char *name)
{
    static const char *const names[] = {"__init__", "__post_init__"};

    return is_one_of(name, names, sizeof names / sizeof *names);
}

PyObject *
lw_class_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    Py_XINCREF(type->tp_dict);
    return type->tp_dict;
#endif
}

static bool
dict_has_code(PyTypeObject *type)
{
    PyObject *dict = lw_class_dict(type), *items = dict ? PyDict_Items(dict) : NULL;
    lw_class_member_kind kind;
    bool has = false;

    for (Py_ssize_t i = 0; items && !has && i < PyList_GET_SIZE(items); i++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
        PyObject *function =
            lw_class_code_in(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 1), &kind);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        has = text && function && !lw_class_skips(text) && !makes(text) &&
              lw_class_is_written(function);
    }
    Py_XDECREF(items);
    Py_XDECREF(dict);
    lw_read_clear();
    return has;
}

/* Whether an attribute of objects runs code when it is assigned, other than a property. */
static bool
dict_has_setter(PyTypeObject *type)
{
    PyObject *dict = lw_class_dict(type), *values = dict ? PyDict_Values(dict) : NULL;
    bool has = false;

    for (Py_ssize_t i = 0; values && !has && i < PyList_GET_SIZE(values); i++) {
        PyTypeObject *of = Py_TYPE(PyList_GET_ITEM(values, i));
        has = of->tp_descr_set != NULL && of != &PyMemberDescr_Type &&
              of != &PyGetSetDescr_Type && !PyType_IsSubtype(of, &PyProperty_Type);
    }
    Py_XDECREF(values);
    Py_XDECREF(dict);
    return has;
}

bool
lw_class_is_base(PyTypeObject *type)
{
    return type == &PyBaseObject_Type || type == &PyTuple_Type;
}

bool
lw_read_class_has_code(PyTypeObject *type)
{
    PyObject *mro = type->tp_mro;

    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (!lw_class_is_base(one) && (one->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
            dict_has_code(one))
            return true;
    }
    return false;
}

bool
lw_class_is_namedtuple(PyObject *object)
{
    PyObject *fields = lw_read_field_names(object);

    Py_XDECREF(fields);
    return fields != NULL;
}

PyObject *
lw_class_dataclass_fields(PyObject *object)
{
    PyObject *fields = PyObject_GetAttrString(object, "__dataclass_fields__");

    lw_read_clear();
    if (fields != NULL && !PyDict_CheckExact(fields))
        Py_CLEAR(fields);
    return fields;
}

PyObject *
lw_class_written_init(PyObject *object)
{
    PyObject *init = PyObject_GetAttrString(object, "__init__");

    lw_read_clear();
    Py_XDECREF(init); /* the class owns it */
    return init && PyFunction_Check(init) && lw_class_is_written(init) ? init : NULL;
}

bool
lw_class_defines(PyObject *object, const char *name)
{
    PyObject *found = PyObject_GetAttrString(object, name), *base = NULL;
    bool own;

    lw_read_clear();
    base = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, name);
    lw_read_clear();
    own =
        found != NULL && found != base && PyFunction_Check(found) && lw_class_is_written(found);
    Py_XDECREF(found);
    Py_XDECREF(base);
    return own;
}

bool
lw_read_class_makes_itself(PyObject *object)
{
    return lw_class_defines(object, "__new__") || lw_class_written_init(object) != NULL;
}

/* Objects of the header, `__dict__`, `__weakref__` and slots alone are not larger. */
enum { MOST_SLOTS = 256 };

static bool
has_plain_objects(PyTypeObject *type)
{
    Py_ssize_t most = (Py_ssize_t)(sizeof(PyObject) + (2 + MOST_SLOTS) * sizeof(void *));

    if (type->tp_new != PyBaseObject_Type.tp_new || type->tp_basicsize > most)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyTypeObject *one = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        if (one != &PyBaseObject_Type &&
            (Py_TYPE(one) != &PyType_Type || !(one->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
             dict_has_setter(one)))
            return false;
    }
    return true;
}

bool
lw_class_is_readable(PyObject *object)
{
    PyTypeObject *type = (PyTypeObject *)object;

    if (Py_TYPE(object) != &PyType_Type || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        lw_class_defines(object, "__getattr__") ||
        lw_class_defines(object, "__getattribute__") ||
        lw_class_defines(object, "__setattr__") || lw_class_defines(object, "__delattr__"))
        return false;
    if (lw_class_is_namedtuple(object))
        return true;
    return has_plain_objects(type) &&
           (lw_class_is_made(object) ||
            (type->tp_init == PyBaseObject_Type.tp_init && lw_read_class_has_code(type)));
}

bool
lw_class_is_made(PyObject *object)
{
    PyObject *fields;

    if (lw_class_is_namedtuple(object) || lw_class_written_init(object) != NULL)
        return true;
    fields = lw_class_dataclass_fields(object);
    Py_XDECREF(fields);
    return fields != NULL;
}
