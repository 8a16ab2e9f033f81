/* What can be called becomes a constant: objects of Python, NumPy and lanewise by their row of
 * names.def, and everything with a source in Python by its function, which is read, too. */
#include "core/front/read/read_internal.h"

#include "core/front/named.h"
#include "core/tables/names.h"

#include <string.h>

/* ---- by their names ---- */

static int
add_named(lw_reader *r, PyObject *modules, const char *path, uint32_t row)
{
    const char *dot = strrchr(path, '.');
    PyObject *module_name = PyUnicode_FromStringAndSize(path, dot - path);
    PyObject *module = module_name ? lw_dict_item(modules, module_name) : NULL;
    PyObject *object = module ? PyObject_GetAttrString(module, dot + 1) : NULL;
    PyObject *id = object ? PyLong_FromVoidPtr(object) : NULL;
    PyObject *number = id ? PyLong_FromUnsignedLong(row) : NULL;
    int result = 0;

    if (object == NULL)
        lw_read_clear(); /* this version of Python or NumPy lacks it */
    else if (number == NULL || PyDict_SetDefault(r->named, id, number) == NULL ||
             PyList_Append(r->named_kept, object) < 0)
        result = -1;
    Py_XDECREF(module_name);
    Py_XDECREF(module);
    Py_XDECREF(object);
    Py_XDECREF(id);
    Py_XDECREF(number);
    return result;
}

/* Only modules that are already loaded: no other module can have objects that a function could
 * hold. */
static int
build_named(lw_reader *r)
{
    PyObject *modules = PyImport_GetModuleDict();

    r->named = PyDict_New();
    r->named_kept = PyList_New(0);
    if (modules == NULL || r->named == NULL || r->named_kept == NULL)
        return -1;
#define NAMED(id, path, min_args, max_args, rule, impl)                                        \
    if ((strncmp(path, "lanewise.", 9) != 0 || strchr(path + 9, '.') == NULL) &&               \
        add_named(r, modules, path, LW_NAME_##id) < 0)                                         \
        return -1;
#include "core/tables/every_name.inc"
    return 0;
}

/* The row of names.def that an object of core/py/types/intrinsic.c stands for. */
static uint32_t
row_of_intrinsic(PyObject *object)
{
    PyObject *number = PyObject_GetAttrString(object, "__lanewise_row__");
    long row = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;

    if (number == NULL)
        lw_read_clear();
    Py_XDECREF(number);
    return row > 0 && row < LW_N_NAMES ? (uint32_t)row : 0;
}

uint32_t
lw_read_named(lw_reader *r, PyObject *object)
{
    PyObject *id, *row;

    if (strcmp(Py_TYPE(object)->tp_name, "lanewise._core.Intrinsic") == 0)
        return row_of_intrinsic(object);
    if (r->named == NULL && build_named(r) < 0)
        return lw_read_failed(r);
    id = PyLong_FromVoidPtr(object);
    row = id ? PyDict_GetItemWithError(r->named, id) : NULL;
    Py_XDECREF(id);
    return row ? (uint32_t)PyLong_AsUnsignedLong(row) : 0;
}

/* ---- of lanewise.reductions ---- */

/* The name (new reference) of a public function of lanewise.reductions, whichever module it is
 * written in, or NULL; their map, combine and finish are compiled. */
static PyObject *
name_in_reductions(PyObject *object)
{
    PyObject *name = NULL, *module;

    if (!PyType_Check(object) && lw_comes_from(object, "lanewise") &&
        (name = lw_attribute_text(object, "__name__")) != NULL) {
        module = PyDict_GetItemString(PyImport_GetModuleDict(), "lanewise.reductions");
        if (module == NULL || PyUnicode_GET_LENGTH(name) == 0 ||
            PyUnicode_READ_CHAR(name, 0) == '_' ||
            PyDict_GetItemWithError(PyModule_GetDict(module), name) != object)
            Py_CLEAR(name);
    }
    return name;
}

bool
lw_is_of_reductions(PyObject *object)
{
    PyObject *name = name_in_reductions(object);

    Py_XDECREF(name);
    return name != NULL;
}

/* ---- with a source in Python ---- */

/* The Python function that a callable object stands for (new reference), or NULL: with an
 * exception where looking for it failed with another one than AttributeError. */
static PyObject *
python_function_of(PyObject *object)
{
    static const char *const names[] = {"py_func", "__wrapped__"};
    PyObject *function = NULL;

    if (PyType_Check(object) || lw_comes_from((PyObject *)Py_TYPE(object), "numpy"))
        return NULL;
    for (int i = 0; i < 2 && function == NULL; i++) {
        function = PyObject_GetAttrString(object, names[i]);
        if (function == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        if (function == NULL)
            PyErr_Clear();
        else if (!PyFunction_Check(function))
            Py_CLEAR(function);
    }
    return function;
}

/* What lanewise.random's functions wrap, so that Python calls them without NumPy's warnings of
 * integers that wrap around: that is compiled. Borrowed; other functions are themselves. */
static PyObject *
without_wrapper(PyObject *function)
{
    PyObject *dict = ((PyFunctionObject *)function)->func_dict, *inner = NULL;

    if (dict != NULL)
        inner = PyDict_GetItemString(dict, "__lanewise_quiet__");
    return inner != NULL && PyFunction_Check(inner) ? inner : function;
}

PyObject *
lw_python_function(PyObject *object)
{
    PyObject *function = object, *name;

    if ((name = name_in_reductions(object)) != NULL) {
        PyErr_Format(
            PyExc_TypeError,
            "expected a function of yours, got lanewise.reductions.%U, which is called "
            "outside of compiled code; functions that call NumPy's, as in `lambda x: "
            "np.sum(x)`, can be compiled",
            name);
        Py_DECREF(name);
        return NULL;
    }
    if (PyFunction_Check(object))
        return Py_NewRef(without_wrapper(object));
    if (PyMethod_Check(object) && PyFunction_Check(PyMethod_GET_FUNCTION(object))) {
        function = PyMethod_GET_FUNCTION(object);
        Py_INCREF(function);
        return function;
    }
    function = python_function_of(object);
    if (function == NULL && !PyErr_Occurred())
        PyErr_Format(
            PyExc_TypeError,
            "expected a Python function, got %.200s: only functions with Python source "
            "can be compiled; %s",
            Py_TYPE(object)->tp_name, lw_call_hint(object));
    return function;
}

PyObject *
lw_python_method(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *function, *self, *method = NULL;

    if (strcmp(type->tp_name, "BoundUfunc") != 0 ||
        !lw_comes_from((PyObject *)type, "lanewise"))
        return Py_NewRef(object);
    function = PyObject_GetAttrString(object, "py_func");
    self = PyObject_GetAttrString(object, "__self__");
    if (function != NULL && self != NULL)
        method = PyMethod_New(function, self);
    Py_XDECREF(function);
    Py_XDECREF(self);
    return method;
}

/* The Python function that a call of `object` runs (new reference), or NULL. *self, borrowed:
 * what it is bound to, whose attributes are constants. */
static PyObject *
function_behind(PyObject *object, PyObject **self)
{
    PyObject *function;

    *self = PyMethod_Check(object) ? PyMethod_GET_SELF(object) : NULL;
    function = PyFunction_Check(object) || PyMethod_Check(object) ? lw_python_function(object)
                                                                  : python_function_of(object);
    if (function != NULL)
        return function;
    lw_read_clear();
    if ((function = Py_XNewRef(lw_call_method_of(object))) != NULL)
        *self = object;
    return function;
}

/* Assigning another __call__ to the class is a change. */
static bool
guard_call(lw_reader *r, PyObject *object, PyObject *function)
{
    PyObject *name = PyUnicode_InternFromString("__call__");
    int result = name ? lw_captures_add_attribute(r->captures, (PyObject *)Py_TYPE(object),
                                                  name, function)
                      : -1;

    Py_XDECREF(name);
    if (result < 0)
        lw_read_failed(r);
    return result == 0;
}

/* Which parameters of a Ufunc do not broadcast: bit i is parameter i. */
static void
read_roles(PyObject *ufunc, lw_constant *out)
{
    PyObject *roles = PyObject_GetAttrString(ufunc, "_roles"), *name;
    const char *role;
    int has_default, by_name;

    for (Py_ssize_t i = 0; roles && PyTuple_Check(roles) && i < PyTuple_GET_SIZE(roles); i++) {
        uint64_t bit = i < 64 ? 1ull << i : 0; /* LW_MOST_PARAMS */
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(roles, i), "Uspp", &name, &role, &has_default,
                              &by_name))
            break;
        out->excluded |= strcmp(role, "excluded") == 0 ? bit : 0;
        out->fixed |= strcmp(role, "static") == 0 ? bit : 0;
    }
    lw_read_clear();
    Py_XDECREF(roles);
}

/* The constant of a function of the tree. */
static lw_constant
function_constant(PyObject *object, uint32_t fn, uint32_t linked)
{
    lw_constant constant = {.kind = LW_K_FUNCTION, .u = fn, .linked = linked};

    constant.is_ufunc = lw_read_is_of_type(object, "lanewise.Ufunc");
    if (constant.is_ufunc)
        read_roles(object, &constant);
    return constant;
}

/* A callable with Python source, as a constant. */
static uint32_t
from_source(lw_reader *r, PyObject *object)
{
    PyObject *method = lw_python_method(object), *self;
    PyObject *function = method ? function_behind(method, &self) : NULL;
    uint32_t fn = 0, linked = 0;

    if (function == NULL) {
        Py_XDECREF(method);
        return 0;
    }
    if ((self != object || guard_call(r, object, function)) &&
        lw_read_linked(r, object, function, &linked))
        fn = lw_read_declared(r, method, function, self);
    if (fn != 0 && linked == 0 && self != NULL && self != object)
        (void)lw_read_linked_method(r, self, fn, &linked);
    Py_DECREF(function);
    Py_DECREF(method);
    if (r->status != LW_OK)
        return 0;
    return fn ? lw_read_push(r, object, function_constant(object, fn, linked)) : 0;
}

uint32_t
lw_read_callable(lw_reader *r, PyObject *object)
{
    uint32_t row = lw_read_named(r, object), fn;

    if (r->status != LW_OK)
        return 0;
    if (row != 0)
        return lw_read_push(
            r, object, (lw_constant){.kind = LW_K_NAMED, .u = row, .text = lw_names[row].path});
    fn = lw_read_external(r, object);
    if (fn != 0 || r->status != LW_OK)
        return fn;
    fn = lw_read_array_function(r, object);
    if (fn != 0 || r->status != LW_OK)
        return fn ? lw_read_push(r, object, (lw_constant){.kind = LW_K_FUNCTION, .u = fn}) : 0;
    if (lw_read_is_overloaded(r, object))
        return 0; /* its own source is of no use */
    fn = lw_read_foreign(r, object);
    if (fn != 0 || r->status != LW_OK)
        return fn;
    if (lw_is_of_reductions(object) ||
        (PyFunction_Check(object) &&
         (lw_comes_from(object, "numpy") || lw_read_is_special(object))))
        return 0; /* a function of whole arrays, which was not written to be compiled */
    if (PyMethod_Check(object) && lw_is_random(PyMethod_GET_SELF(object)))
        return 0; /* its source says nothing that helps */
    if (lw_is_for_python(object))
        return 0;
    if (lw_runs_loop(object) != NULL)
        return 0; /* its function is only one step of what a call does */
    return from_source(r, object);
}
