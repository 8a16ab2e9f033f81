/* Exact folding of constants with Python's own objects: `2**70 >> 8` is never computed in 64
 * bits. NumPy scalars are left to inference, because their promotion depends on the typing
 * mode. An expression that raises (1 / 0) is not folded: compiled code has its own rule for
 * it. */
#include "core/front/read/critical.h"
#include "core/front/read/read_internal.h"

#include "core/front/named.h"

#include <assert.h>

/* Bits of an integer result beyond which folding is refused: 2**4096 is a mistake in scalar
 * code, and 9**9**9 would never return. The size is bounded from above before anything is
 * computed. */
enum { MAX_BITS = 4096 };

static bool
is_number(PyObject *x)
{
    return PyLong_Check(x) || PyFloat_CheckExact(x) || PyComplex_CheckExact(x);
}

bool
lw_fold_is_basic(PyObject *x)
{
    if (x == NULL)
        return false;
    if (is_number(x) || PyUnicode_CheckExact(x) || x == Py_None || lw_fold_is_member(x))
        return true;
    if (!PyTuple_Check(x) || (!PyTuple_CheckExact(x) &&
                              lw_read_class_has_code(Py_TYPE(x)))) /* it may have operators */
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); i++)
        if (!lw_fold_is_basic(PyTuple_GET_ITEM(x, i)))
            return false;
    return true;
}

/* The result of folding; NULL when it raised. Integers of a subclass (IntEnum) are not
 * folded. */
static PyObject *
folded(PyObject *result)
{
    assert((result == NULL) == (PyErr_Occurred() != NULL)); /* as calls of the C API return */
    if (result == NULL)
        lw_read_clear();
    return result;
}

int
lw_fold_truth(PyObject *x)
{
    int truth;

    if (!lw_fold_is_basic(x))
        return -1;
    truth = PyObject_IsTrue(x);
    if (truth < 0)
        lw_read_clear();
    return truth;
}

PyObject *
lw_fold_unary(lw_pyop op, PyObject *x)
{
    int truth;

    if (op == LW_PY_NOT) {
        truth = lw_fold_truth(x);
        return truth < 0 ? NULL : PyBool_FromLong(!truth);
    }
    if (op == LW_PY_INVERT && x != NULL && lw_fold_is_member(x))
        return folded(PyNumber_Invert(x));
    if (x == NULL || !is_number(x))
        return NULL;
    switch (op) {
    case LW_PY_NEG: return folded(PyNumber_Negative(x));
    case LW_PY_POS: return folded(PyNumber_Positive(x));
    case LW_PY_INVERT: /* of a bool it means `not` here, as in NumPy */
        return PyLong_Check(x) && !PyBool_Check(x) ? folded(PyNumber_Invert(x)) : NULL;
    default: return NULL;
    }
}

static double
bits_of(PyObject *x)
{
    PyObject *bits = PyObject_CallMethod(x, "bit_length", NULL);
    double result = bits ? PyLong_AsDouble(bits) : 0;

    Py_XDECREF(bits);
    lw_read_clear();
    return result;
}

static double
size_of(PyObject *x)
{
    double size = PyLong_AsDouble(x);

    if (size == -1.0 && PyErr_Occurred()) { /* an integer beyond every double */
        lw_read_clear();
        return 1e300;
    }
    return size;
}

bool
lw_fold_too_large(lw_pyop op, PyObject *x, PyObject *y)
{
    if (x == NULL || y == NULL || !PyLong_Check(x) || !PyLong_Check(y))
        return false;
    if (op == LW_PY_POW)
        return bits_of(x) > 1 && bits_of(x) * size_of(y) > MAX_BITS;
    if (op == LW_PY_LSHIFT)
        return bits_of(x) > 0 && bits_of(x) + size_of(y) > MAX_BITS;
    if (op == LW_PY_MUL)
        return bits_of(x) + bits_of(y) > MAX_BITS;
    return false;
}

/* Numbers, or for bit operators members of one enum.Flag. */
static bool
are_operands(lw_pyop op, PyObject *x, PyObject *y)
{
    bool bits = op == LW_PY_BITAND || op == LW_PY_BITOR || op == LW_PY_BITXOR;

    if (bits && Py_TYPE(x) == Py_TYPE(y) && lw_fold_is_member(x))
        return true;
    return is_number(x) && is_number(y);
}

PyObject *
lw_fold_binary(lw_pyop op, PyObject *x, PyObject *y)
{
    bool sequences = x && y &&
                     ((PyUnicode_CheckExact(x) && PyUnicode_CheckExact(y)) ||
                      (PyTuple_CheckExact(x) && PyTuple_CheckExact(y)));

    if (sequences && op == LW_PY_ADD && lw_fold_is_basic(x) && lw_fold_is_basic(y))
        return folded(PyNumber_Add(x, y));
    if (op == LW_PY_MOD && x && PyUnicode_Check(x) && lw_fold_fits_format(x, y))
        return folded(PyNumber_Remainder(x, y));
    if (x == NULL || y == NULL || lw_fold_too_large(op, x, y) || !are_operands(op, x, y))
        return NULL;
    switch (op) {
    case LW_PY_ADD: return folded(PyNumber_Add(x, y));
    case LW_PY_SUB: return folded(PyNumber_Subtract(x, y));
    case LW_PY_MUL: return folded(PyNumber_Multiply(x, y));
    case LW_PY_DIV: return folded(PyNumber_TrueDivide(x, y));
    case LW_PY_FLOORDIV: return folded(PyNumber_FloorDivide(x, y));
    case LW_PY_MOD: return folded(PyNumber_Remainder(x, y));
    case LW_PY_POW: /* int ** negative int is E131, not a float */
        if (PyLong_Check(x) && PyLong_Check(y) && size_of(y) < 0)
            return NULL;
        return folded(PyNumber_Power(x, y, Py_None));
    case LW_PY_LSHIFT: return folded(PyNumber_Lshift(x, y));
    case LW_PY_RSHIFT: return folded(PyNumber_Rshift(x, y));
    case LW_PY_BITAND: return folded(PyNumber_And(x, y));
    case LW_PY_BITOR: return folded(PyNumber_Or(x, y));
    case LW_PY_BITXOR: return folded(PyNumber_Xor(x, y));
    default: return NULL;
    }
}

static int
rich_op(lw_pyop op)
{
    switch (op) {
    case LW_PY_EQ: return Py_EQ;
    case LW_PY_NE: return Py_NE;
    case LW_PY_LT: return Py_LT;
    case LW_PY_LE: return Py_LE;
    case LW_PY_GT: return Py_GT;
    default: return Py_GE;
    }
}

/* Objects that are equal only to themselves: classes, functions, modules, enum members. */
static bool
has_identity(PyObject *x)
{
    return x == Py_None || PyBool_Check(x) || x == Py_Ellipsis || PyType_Check(x) ||
           PyFunction_Check(x) || PyModule_Check(x) || PyCFunction_Check(x) ||
           lw_fold_is_member(x);
}

/* What holds constants for good, other than tuples and texts: a class of members, a frozenset.
 */
static bool
is_container(PyObject *x)
{
    return lw_fold_is_enum(x) || PyFrozenSet_CheckExact(x);
}

PyObject *
lw_fold_compare(lw_pyop op, PyObject *x, PyObject *y)
{
    bool is_basic = lw_fold_is_basic(x) && lw_fold_is_basic(y);
    int result;

    if (x == NULL || y == NULL)
        return NULL;
    if (op == LW_PY_IS || op == LW_PY_IS_NOT) {
        if (!has_identity(x) && !has_identity(y))
            return NULL;
        return PyBool_FromLong((x == y) == (op == LW_PY_IS));
    }
    if (op == LW_PY_IN || op == LW_PY_NOT_IN) {
        if (!lw_fold_is_basic(x) ||
            !(is_basic ? PyTuple_Check(y) || PyUnicode_Check(y) || lw_fold_is_member(y)
                       : is_container(y)))
            return NULL;
        result = PySequence_Contains(y, x);
        if (result < 0)
            lw_read_clear();
        return result < 0 ? NULL : PyBool_FromLong((result == 1) == (op == LW_PY_IN));
    }
    if (is_basic)
        return folded(PyObject_RichCompare(x, y, rich_op(op)));
    if ((op == LW_PY_EQ || op == LW_PY_NE) && has_identity(x) && has_identity(y))
        return PyBool_FromLong((x == y) == (op == LW_PY_EQ));
    return NULL;
}

PyObject *
lw_fold_subscript(PyObject *x, PyObject *index)
{
    if (x == NULL || index == NULL || !lw_fold_is_basic(index))
        return NULL;
    if (!PyTuple_Check(x) && !PyList_CheckExact(x) && !PyDict_CheckExact(x) &&
        !PyUnicode_Check(x) && !lw_fold_is_enum(x))
        return NULL;
    return folded(PyObject_GetItem(x, index));
}

bool
lw_fold_is_method(PyObject *object, const char *name)
{
    static const char *const methods[] = {"bit_length", "bit_count", "conjugate", "is_integer"};

    if (PyUnicode_Check(object))
        return lw_fold_is_text_method(name);
    if (!PyLong_CheckExact(object) && !PyFloat_CheckExact(object) &&
        !PyComplex_CheckExact(object))
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(name, methods[i]) == 0)
            return true;
    return false;
}

static bool
is_of_characters(PyObject *callee)
{
    const char *name = ((PyCFunctionObject *)callee)->m_ml->ml_name;

    return strcmp(name, "ord") == 0 || strcmp(name, "chr") == 0;
}

/* Whether it is built into a module of functions without state, or a bound method of a
 * number. */
static bool
is_builtin(PyObject *callee)
{
    PyObject *self = PyCFunction_Check(callee) ? PyCFunction_GET_SELF(callee) : NULL;
    const char *module = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;

    if (self != NULL && PyModule_Check(self) && module == NULL)
        lw_read_clear();
    if (module != NULL)
        return strcmp(module, "math") == 0 || strcmp(module, "cmath") == 0 ||
               (strcmp(module, "builtins") == 0 && is_of_characters(callee));
    return self != NULL && (is_number(self) || PyUnicode_Check(self)) &&
           lw_fold_is_method(self, ((PyCFunctionObject *)callee)->m_ml->ml_name);
}

/* Functions whose value depends on their arguments alone, and that Python computes exactly or
 * with the C library, as compiled code would. */
static bool
is_foldable(PyObject *callee, const char *path)
{
    static const char *const builtins[] = {"abs", "min", "max", "round", "divmod", "pow",
                                           "len", "sum", "any", "all",   NULL};

    if (callee == (PyObject *)&PyLong_Type || callee == (PyObject *)&PyFloat_Type ||
        callee == (PyObject *)&PyBool_Type || callee == (PyObject *)&PyComplex_Type ||
        callee == (PyObject *)&PyUnicode_Type || lw_fold_is_enum(callee) || is_builtin(callee))
        return true;
    if (path == NULL)
        return false;
    for (int i = 0; builtins[i] != NULL; i++)
        if (strncmp(path, "builtins.", 9) == 0 && strcmp(path + 9, builtins[i]) == 0)
            return true;
    return false;
}

/* ---- bounds of the size of a call's result ---- */

/* An upper bound of the bits of comb(n, k) and perm(n, k). */
static double
bits_of_choices(PyObject *n, PyObject *k, bool ordered)
{
    double total = size_of(n), chosen = size_of(k);

    if (chosen < 0 || chosen > total) /* 0, or an exception */
        return 0;
    if (!ordered && chosen > total - chosen)
        chosen = total - chosen;
    return ordered || chosen * bits_of(n) < total ? chosen * bits_of(n) : total;
}

/* An upper bound of the bits of the product of the integers in a tuple or list. */
static double
bits_of_product(PyObject *items)
{
    bool is_sequence = PyTuple_Check(items) || PyList_Check(items);
    Py_ssize_t n;
    double bits = 0;

    Py_BEGIN_CRITICAL_SECTION(items);
    n = is_sequence ? PySequence_Fast_GET_SIZE(items) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        bits += PyLong_Check(item) ? bits_of(item) : 0;
    }
    Py_END_CRITICAL_SECTION();
    return bits;
}

/* `str.format` whose fields, or arguments, are beyond bounds. */
static bool
format_is_too_large(PyObject *callee, PyObject *const *args, uint32_t n)
{
    PyObject *self = PyCFunction_Check(callee) ? PyCFunction_GET_SELF(callee) : NULL;

    if (self == NULL || !PyUnicode_Check(self) ||
        strcmp(((PyCFunctionObject *)callee)->m_ml->ml_name, "format") != 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!lw_fold_fits_format(self, args[i]))
            return true;
    return false;
}

static bool
call_is_too_large(PyObject *callee, const char *path, PyObject *const *args, uint32_t n)
{
    bool one = n == 1 && PyLong_Check(args[0]);
    bool two = n == 2 && PyLong_Check(args[0]) && PyLong_Check(args[1]);
    bool factorial = path && (strcmp(path, "math.factorial") == 0 || /* perm(n) is n! */
                              strcmp(path, "math.perm") == 0);

    if (n >= 1 && is_builtin(callee) &&
        strcmp(((PyCFunctionObject *)callee)->m_ml->ml_name, "prod") == 0)
        return bits_of_product(args[0]) > MAX_BITS;
    if (format_is_too_large(callee, args, n))
        return true;
    if (path == NULL)
        return false;
    if (one && factorial) /* n! <= n ** n */
        return size_of(args[0]) * bits_of(args[0]) > MAX_BITS;
    if (two && strcmp(path, "math.comb") == 0)
        return bits_of_choices(args[0], args[1], false) > MAX_BITS;
    if (two && strcmp(path, "math.perm") == 0)
        return bits_of_choices(args[0], args[1], true) > MAX_BITS;
    if (two && strcmp(path, "builtins.pow") == 0)
        return lw_fold_too_large(LW_PY_POW, args[0], args[1]);
    return two && strcmp(path, "builtins.round") == 0 && /* Python computes 10 ** -digits */
           size_of(args[1]) * 4 < -MAX_BITS;
}

/* Whether folded functions may examine the object: a list, too, because it is frozen as it is
 * now. */
static bool
is_argument(PyObject *x)
{
    bool basic = true;

    if (!PyList_CheckExact(x))
        return lw_fold_is_basic(x) && !(PyLong_Check(x) && bits_of(x) > MAX_BITS);
    Py_BEGIN_CRITICAL_SECTION(x);
    for (Py_ssize_t i = 0; basic && i < PyList_GET_SIZE(x); i++)
        basic = lw_fold_is_basic(PyList_GET_ITEM(x, i));
    Py_END_CRITICAL_SECTION();
    return basic;
}

/* Whether the keywords of pow() or round() name their second parameter; these are the only two
 * functions here whose parameters can both be named. Calls with the arguments in another order
 * are not folded, because their size is not checked. */
static bool
is_second(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "exp") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "ndigits") == 0;
}

/* A function of ours that gives the same for the same arguments, and no number: dtype_of. */
static bool
is_marked(PyObject *callee)
{
    return PyFunction_Check(callee) && PyObject_HasAttrString(callee, "__lanewise_folds__");
}

/* len(E), tuple(E), list(E), reversed(E), min(E), max(E) and sum(E) of an enum class; NULL:
 * none of these. What is iterated over is a tuple of its members. */
static PyObject *
of_enum_class(PyObject *callee, const char *path, PyObject *class)
{
    static const char *const builtins[] = {"builtins.len", "builtins.min", "builtins.max",
                                           "builtins.sum"};
    PyObject *reversed, *members;

    if (callee == (PyObject *)&PyList_Type)
        return folded(PySequence_List(class));
    if (callee == (PyObject *)&PyTuple_Type)
        return folded(PySequence_Tuple(class));
    if (callee == (PyObject *)&PyReversed_Type) {
        reversed = PyObject_CallOneArg(callee, class);
        members = reversed ? PySequence_Tuple(reversed) : NULL;
        Py_XDECREF(reversed);
        return folded(members);
    }
    for (size_t i = 0; path && i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(path, builtins[i]) == 0)
            return folded(PyObject_CallOneArg(callee, class));
    return NULL;
}

/* Call the function with n arguments, of which the last ones have names; NULL: not folded. */
static PyObject *
call_now(lw_reader *r, PyObject *callee, PyObject *const *args, uint32_t n, PyObject *names,
         bool *too_large)
{
    uint32_t n_names = (uint32_t)PyTuple_GET_SIZE(names);
    const char *path;
    PyObject *result;

    if (n_names == n && n == 2 && is_second(PyTuple_GET_ITEM(names, 0)))
        return NULL;
    if (n == 1 && n_names == 0 && lw_read_asks_limits(r, callee, args[0]))
        return folded(PyObject_CallOneArg(callee, args[0]));
    if (lw_read_is_made_now(r, callee) && n_names == 0) {
        for (uint32_t i = 0; i < n; i++)
            if (!is_argument(args[i]) && !lw_read_is_numpy(r, args[i], "generic"))
                return NULL;
        return folded(PyObject_Vectorcall(callee, args, n, NULL));
    }
    path = lw_names[lw_read_named(r, callee)].path;
    if (n == 1 && n_names == 0 && lw_fold_is_enum(args[0])) {
        result = of_enum_class(callee, path, args[0]);
        if (result != NULL)
            return result;
    }
    if (path != NULL && n == 2 && strcmp(path, "builtins.isinstance") == 0)
        return lw_fold_isinstance(args[0], args[1]);
    result = n_names == 0 ? lw_fold_get(r, callee, args, n) : NULL;
    if (result != NULL || r->status != LW_OK)
        return result;
    if (is_marked(callee))
        return folded(PyObject_Vectorcall(callee, args, n - n_names, names));
    for (uint32_t i = 0; i < n; i++)
        if (!is_argument(args[i]))
            return NULL;
    *too_large = is_foldable(callee, path) && call_is_too_large(callee, path, args, n);
    if (!is_foldable(callee, path) || *too_large)
        return NULL;
    if (path != NULL && strcmp(path, "builtins.pow") == 0 && n == 2)
        return n_names ? NULL : lw_fold_binary(LW_PY_POW, args[0], args[1]);
    return folded(PyObject_Vectorcall(callee, args, n - n_names, names));
}

/* The function is known and all arguments are constant: call it now. */
PyObject *
lw_fold_call(lw_reader *r, uint32_t callee, const lw_read_items *items, bool *too_large)
{
    PyObject *function = lw_read_object(r, callee), *args[8], *names, *result = NULL;
    uint32_t n_names = 0;

    if (function == NULL || items->n > 8)
        return NULL;
    for (uint32_t i = 0; i < items->n; i++) {
        const lw_node *node = &r->tree->nodes.data[items->data[i]];
        bool named = node->kind == LW_NODE_ARG_KEYWORD;

        n_names += named;
        args[i] = lw_read_object(r, named ? node->b : items->data[i]);
        if (args[i] == NULL)
            return NULL;
    }
    names = PyTuple_New(n_names);
    if (names == NULL)
        return folded(NULL);
    for (uint32_t i = 0; i < n_names; i++) {
        const lw_node *node = &r->tree->nodes.data[items->data[items->n - n_names + i]];
        PyTuple_SET_ITEM(names, i, Py_NewRef(r->objects.data[node->a]));
    }
    result = call_now(r, function, args, items->n, names, too_large);
    Py_DECREF(names);
    return result;
}

uint32_t
lw_fold_refuse(lw_reader *r, PyObject *node)
{
    return lw_read_error(r, node,
                         (lw_fault){LW_ERR_TYPING, "E130",
                                    .label = "this integer has more than 4096 bits",
                                    .help = "compute with floats: a float64 reaches 1.8e308"},
                         "constant too large for any type");
}

/* ---- formats ---- */

double
lw_fold_width(PyObject *spec)
{
    const char *text = spec ? PyUnicode_AsUTF8(spec) : NULL;
    double widest = 0, number = 0;

    lw_read_clear();
    for (; text && *text; text++) {
        bool digit = *text >= '0' && *text <= '9';
        number = digit ? number * 10 + (*text - '0') : 0;
        widest = number > widest ? number : widest;
    }
    return widest;
}
