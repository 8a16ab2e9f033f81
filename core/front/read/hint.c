/* What may help where an object cannot be compiled or called in compiled code. */
#include "core/front/read/read_internal.h"

#include <string.h>

/* The bytes of a text, which owns them. NULL, without an exception: there is no text, or it has
 * no UTF-8. */
static const char *
utf8_of(PyObject *text)
{
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;

    if (text != NULL && utf8 == NULL)
        lw_read_clear();
    return utf8;
}

static bool
is_in_one_package(PyObject *module, PyObject *other)
{
    const char *a = utf8_of(module), *b = utf8_of(other);
    size_t n = a ? strcspn(a, ".") : 0;

    return a && b && strcspn(b, ".") == n && strncmp(a, b, n) == 0;
}

PyObject *
lw_module_of(PyObject *object)
{
    PyObject *module = lw_attribute_text(object, "__module__"), *own;

    if (module == NULL || !PyFunction_Check(object))
        return module;
    own = PyDict_GetItemString(PyFunction_GET_GLOBALS(object), "__name__"); /* borrowed */
    if (own != NULL && !PyUnicode_Check(own))
        own = NULL;
    if (own == NULL || !is_in_one_package(module, own))
        Py_XSETREF(module, Py_XNewRef(own));
    return module;
}

bool
lw_comes_from(PyObject *object, const char *package)
{
    PyObject *module = lw_module_of(object);
    const char *text = utf8_of(module);
    size_t n = strlen(package);
    bool result = text && strncmp(text, package, n) == 0 && (text[n] == '\0' || text[n] == '.');

    Py_XDECREF(module);
    return result;
}

PyObject *
lw_attribute_text(PyObject *object, const char *name)
{
    PyObject *text = PyObject_GetAttrString(object, name);

    if (text == NULL)
        lw_read_clear();
    else if (!PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

PyObject *
lw_call_method_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *name, *method;

    if (PyType_Check(object) || lw_comes_from((PyObject *)type, "lanewise") ||
        (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0)
        return NULL;
    name = PyUnicode_InternFromString("__call__");
    if (name == NULL)
        lw_read_clear();
    method = name ? _PyType_Lookup(type, name) : NULL;
    Py_XDECREF(name); /* the type's own dict keeps the method */
    return method != NULL && PyFunction_Check(method) ? method : NULL;
}

bool
lw_is_random(PyObject *object)
{
    return object != NULL && strcmp(Py_TYPE(object)->tp_name, "Random") == 0 &&
           lw_comes_from((PyObject *)Py_TYPE(object), "random");
}

/* Functions of two numbers that are given as operators: how a function of one's own says it. */
static const struct {
    const char *name, *hint;
} operators[] = {
    {"max", "write `lambda a, b: max(a, b)`"},
    {"min", "write `lambda a, b: min(a, b)`"},
    {"add", "write `lambda a, b: a + b`"},
    {"mul", "write `lambda a, b: a * b`"},
    {"multiply", "write `lambda a, b: a * b`"},
    {"maximum", "write `lambda a, b: np.maximum(a, b)`"},
    {"minimum", "write `lambda a, b: np.minimum(a, b)`"},
    {"hypot", "write `lambda a, b: np.hypot(a, b)`"},
    {"and_", "write `lambda a, b: a & b`"},
    {"or_", "write `lambda a, b: a | b`"},
    {"xor", "write `lambda a, b: a ^ b`"},
    {"bitwise_and", "write `lambda a, b: a & b`"},
    {"bitwise_or", "write `lambda a, b: a | b`"},
    {"bitwise_xor", "write `lambda a, b: a ^ b`"},
    {"logical_and", "write `lambda a, b: a and b`"},
    {"logical_or", "write `lambda a, b: a or b`"},
};

static const char *
hint_for_operator(PyObject *object)
{
    PyObject *text = PyFunction_Check(object) ? NULL : lw_attribute_text(object, "__name__");
    const char *name = utf8_of(text), *hint = NULL;

    for (size_t i = 0; name != NULL && i < sizeof operators / sizeof *operators; i++)
        if (strcmp(name, operators[i].name) == 0)
            hint = operators[i].hint;
    Py_XDECREF(text);
    return hint;
}

const char *
lw_call_hint(PyObject *object)
{
    const char *hint = hint_for_operator(object);

    if (hint != NULL)
        return hint;
    return lw_call_method_of(object)
               ? "pass its method, as in `f.__call__`"
               : "call it in a function of yours, as in `lambda x: math.erf(x)`";
}

static bool
is_one_of(const char *name, const char *const *names)
{
    for (; name != NULL && *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* frozenset(x), bytearray(n): they need memory from a heap. */
static const char *
hint_for_container(PyObject *object)
{
    static const char *const makers[] = {"list", "dict", "set", "frozenset", "bytearray", NULL};
    PyObject *text =
        lw_comes_from(object, "builtins") ? lw_attribute_text(object, "__name__") : NULL;
    const char *name = utf8_of(text), *hint = NULL;

    if (name != NULL && is_one_of(name, makers))
        hint = "it needs memory allocation; compiled code has tuples, and "
               "`lw.local(shape, dtype)` for a small array of this call";
    else if (name != NULL && (strcmp(name, "str") == 0 || strcmp(name, "repr") == 0))
        hint = "strings are constants in compiled code; in `print`, `raise` and `assert` an "
               "f-string shows numbers: f\"{x:.3f}\"";
    else if (name != NULL && strcmp(name, "sorted") == 0)
        hint = "it makes a list; `np.sort(x)` of an array makes an array, as in `for v in "
               "np.sort(x)`, and `np.sort(x)[::-1]` has the largest first";
    Py_XDECREF(text);
    return hint;
}

static bool
is_called(PyObject *object, const char *wanted)
{
    PyObject *text = lw_attribute_text(object, "__name__");
    const char *name = utf8_of(text);
    bool result = name != NULL && strcmp(name, wanted) == 0;

    Py_XDECREF(text);
    return result;
}

/* random.random, np.random.normal: methods of a generator that lives on the host. */
static const char *
hint_for_random(PyObject *object)
{
    PyObject *self = PyObject_GetAttrString(object, "__self__");
    const char *type = self ? Py_TYPE(self)->tp_name : "", *hint = NULL;

    if (self == NULL)
        lw_read_clear();
    if (self != NULL && is_called(object, "multivariate_normal"))
        hint =
            "`mean + np.linalg.cholesky(cov) @ z` of independent normal numbers z, as in `z = "
            "np.random.normal(0.0, 1.0, n)` in functions of `njit`";
    else if (lw_is_random(self))
        hint =
            "functions of the module `random` draw in functions of `njit` that are called on "
            "the host, objects of `random.Random` do not; for `sample` and `choices` write "
            "`np.random.choice(x, k, replace=False)` and `np.random.choice(x, k)`";
    else if (strncmp(type, "numpy.random.", 13) == 0)
        hint = "functions of lanewise.random draw inside compiled functions, as in "
               "`philox_uniform_float64(seed, i)`";
    Py_XDECREF(self);
    return hint;
}

/* breakpoint(), pdb.set_trace(): a debugger stops Python code, not machine code. */
const char *
lw_hint_for_debugger(PyObject *object)
{
    static const char *const packages[] = {
        "pdb", "bdb", "ipdb", "pudb", "IPython", "_pytest" /* which replaces pdb's */, NULL};
    PyObject *text = lw_attribute_text(object, "__name__");
    const char *name = utf8_of(text);
    bool stops =
        name != NULL && strcmp(name, "breakpoint") == 0 && lw_comes_from(object, "builtins");

    for (int i = 0; packages[i] && name != NULL && strcmp(name, "set_trace") == 0; i++)
        stops = stops || lw_comes_from(object, packages[i]);
    Py_XDECREF(text);
    return stops ? "LANEWISE_TARGET=python, or `with lw.config(target=\"python\"):` around the "
                   "call, runs the function as plain Python, where debuggers stop"
                 : NULL;
}

const char *
lw_runs_loop(PyObject *object)
{
    const char *type = Py_TYPE(object)->tp_name;

    if (strcmp(type, "lanewise.Forall") == 0)
        return "a call in Python runs its function for each index; in compiled code, write a "
               "loop over `range` or `prange` that calls the function, as in "
               "`name.py_func(i, x, out)`";
    if (strcmp(type, "lanewise.Reduction") == 0)
        return "a call in Python reduces whole arrays; in compiled code, write a loop, or use "
               "NumPy's functions, such as `np.sum(x)`; `name.py_func(a, b)` combines two "
               "values";
    return NULL;
}

/* A method of a text whose arguments are known only at run time. */
static bool
is_text_method(PyObject *object)
{
    PyObject *self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;

    return self != NULL && PyUnicode_Check(self);
}

bool
lw_is_for_python(PyObject *object)
{
    static const char *const modules[] = {"lanewise",           "lanewise._c_functions",
                                          "lanewise._compile",  "lanewise._explain",
                                          "lanewise._linking",  "lanewise._memory",
                                          "lanewise._verify",   "lanewise._struct_types",
                                          "lanewise.cache",     "lanewise.cuda",
                                          "lanewise.extending", "lanewise.runtime",
                                          "lanewise.types",     NULL};
    PyObject *module, *name;
    bool is;

    if (!PyFunction_Check(object) || PyObject_HasAttrString(object, "__lanewise_unroll__") ||
        PyObject_HasAttrString(object, "__lanewise_folds__"))
        return false;
    module = lw_attribute_text(object, "__module__");
    name = ((PyFunctionObject *)object)->func_name;
    is = module != NULL && PyUnicode_GET_LENGTH(name) > 0 &&
         PyUnicode_READ_CHAR(name, 0) != '_' && PyUnicode_READ_CHAR(name, 0) != '<' &&
         is_one_of(utf8_of(module), modules) && lw_comes_from(object, "lanewise");
    Py_XDECREF(module);
    return is;
}

/* Names that users often try, and what compiled code has in their place. */
static const char *
hint_for_library(PyObject *object)
{
    static const struct {
        const char *module, *name, *hint;
    } rows[] = {
        {"collections", "deque",
         "use a list: `q.append(v)`, `q.pop()` and `q.pop(0)`, or a variable that counts the "
         "items which have been taken from its beginning"},
        {"collections", "Counter", "count in a dict: `d[v] = d.get(v, 0) + 1`"},
        {"collections", "defaultdict",
         "use a dict: `d[k] = d.get(k, 0) + v`, or `d.setdefault(k, []).append(v)`"},
        {"collections", "OrderedDict", "use a dict, which keeps the order of its keys"},
        {"itertools", "product", "write one loop in the other"},
        {"itertools", "combinations",
         "write one loop in the other: `for i in range(n): for j in range(i + 1, n):`"},
        {"itertools", "accumulate", "write `np.cumsum(x)`, or a loop that appends to a list"},
        {"itertools", "chain", "write one loop after the other, or add lists, `x + y`"},
        {"operator", "itemgetter", "write `lambda x: x[i]`"},
        {"operator", "attrgetter", "write `lambda x: x.name`"},
        {"time", "time", "measure the time in Python, before and after the call"},
        {"time", "perf_counter", "measure the time in Python, before and after the call"},
        {"numpy.random", "default_rng",
         "`np.random.seed(n)` and `np.random.normal(...)` draw in functions of `njit`, those "
         "of lanewise.random in all compiled functions"},
    };
    PyObject *text = lw_attribute_text(object, "__name__");
    const char *name = utf8_of(text), *hint = NULL;

    for (size_t i = 0; name != NULL && hint == NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0 && lw_comes_from(object, rows[i].module))
            hint = rows[i].hint;
    Py_XDECREF(text);
    return hint;
}

/* By what the object is, where its name says nothing. */
static const char *
hint_for_kind(lw_reader *r, PyObject *object)
{
    if (lw_is_of_reductions(object))
        return "functions of lanewise.reductions are called outside of compiled code; NumPy's, "
               "as in `np.sum(x)`, work here";
    if (is_text_method(object))
        return "methods of strings take constants here; in `print`, `raise` and `assert` an "
               "f-string shows numbers: f\"{x:.3f}\"";
    if (lw_read_is_masked(object))
        return "compiled code would ignore the mask of a masked array: capture its `.data` or "
               "`.filled(value)`, and the mask as a separate array";
    if (PyType_Check(object) && strcmp(((PyTypeObject *)object)->tp_name, "numpy.nditer") == 0)
        return "loop over `x.flat`, over `np.ndenumerate(x)`, or over `np.ndindex(x.shape)`";
    if (lw_read_is_numpy(r, object, "ndarray"))
        return "arrays up to 64 KiB of numbers or records in native byte order can be "
               "constants; pass others as an argument: to `forall` and `jit` as they are, to "
               "`vectorize` and `guvectorize` with `excluded=(\"name\",)`";
    if (PyAnySet_Check(object))
        return "use a tuple or a sorted array";
    if (PyDict_Check(object))
        return "a dict from outside of the function can be indexed and looped over if it has 1 "
               "to 64 items, which are numbers, strings, members of enum classes, and tuples "
               "of these; a constant key must be one of its keys";
    if (PyCFunction_Check(object) && PyCFunction_GET_SELF(object) != NULL &&
        PyDict_Check(PyCFunction_GET_SELF(object)))
        return "a dict from outside of the function is a constant: `D[k]`, `D.get(k, 0)`, `k "
               "in D`, `len(D)` and loops over `D`, `D.keys()`, `D.values()` and `D.items()` "
               "can be compiled, if it has at most 64 items, which are numbers, strings, "
               "members of enum classes, and tuples of these";
    if (PyType_Check(object) && lw_fold_is_enum(object))
        return "members of an enum class are found by names and values that are constants, "
               "`C[\"A\"]` and `C(1)`: pass the member as an argument";
    if (PyCallable_Check(object) && lw_comes_from(object, "lanewise"))
        return "call it from Python, outside of compiled functions";
    if (PyCallable_Check(object))
        return "write it as a Python function, or an overload of it (lanewise.extending); "
               "the page \"Supported Python\" of the documentation lists the "
               "functions of math and NumPy that are known";
    return NULL;
}

const char *
lw_hint_for(lw_reader *r, PyObject *object)
{
    const char *hint = hint_for_container(object);

    if (hint == NULL)
        hint = hint_for_library(object);
    if (hint == NULL)
        hint = hint_for_random(object);
    if (hint == NULL)
        hint = lw_hint_for_debugger(object);
    if (hint == NULL)
        hint = lw_runs_loop(object);
    if (hint == NULL)
        hint = lw_read_special_hint(r, object);
    return hint != NULL ? hint : hint_for_kind(r, object);
}
