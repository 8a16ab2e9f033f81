/* A question of inference becomes a call of lanewise/extending.py, with the types as objects of
 * lanewise.types; what it chooses is read into the tree. Inference may run without the GIL,
 * which is taken here; no lock is held. */
#include "core/py/compiled/overload_ask.h"

#include "core/front/varying.h"

#include "core/front/link_asks.h"
#include "core/front/overload.h"
#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/text_py.h"
#include "core/py/types/type_object.h"

/* ---- types as Python's objects ---- */

static PyObject *object_of_type(const lw_typed *typed, lw_type type);

/* New tuple of what `object_of` makes of each number, that of a type or of a constant. */
static PyObject *
tuple_of(const lw_typed *typed, uint32_t n, const uint32_t *numbers,
         PyObject *(*object_of)(const lw_typed *, uint32_t))
{
    PyObject *items = PyTuple_New(n);

    for (uint32_t i = 0; items != NULL && i < n; i++) {
        PyObject *item = object_of(typed, numbers[i]);

        if (item == NULL)
            Py_CLEAR(items);
        else
            PyTuple_SET_ITEM(items, i, item);
    }
    return items;
}

static PyObject *
types_of_items(const lw_typed *typed, const lw_type_row *row)
{
    return tuple_of(typed, row->n, row->elements, object_of_type);
}

/* Calls a function of lanewise/extending.py; steals arguments. */
static PyObject *
call(const char *name, PyObject *arguments)
{
    PyObject *function = arguments ? lw_service_find(LW_SERVICE_EXTENDING, name) : NULL;
    PyObject *result = function ? PyObject_CallObject(function, arguments) : NULL;

    Py_XDECREF(function);
    Py_XDECREF(arguments);
    return result;
}

/* lanewise.types.Object: what has a class of the user's. */
static PyObject *
type_of_object(const lw_typed *typed, const lw_type_row *row)
{
    PyObject *class = lw_read_class_of(typed->tree, row->user_class);
    PyObject *items = class ? types_of_items(typed, row) : NULL;
    PyObject *names = items ? lw_text_names(row->names, row->names ? row->n : 0) : NULL;

    if (names == NULL) {
        Py_XDECREF(items);
        Py_XDECREF(class);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return call("_object_type", Py_BuildValue("(NNN)", class, names, items));
}

/* A type that signatures know; None: it has none. */
static PyObject *
type_of_signatures(const lw_typed *typed, lw_type type)
{
    lw_arena arena;
    lw_sig_type found;
    PyObject *result;

    lw_arena_init(&arena);
    if (!lw_sig_type_of(typed, type, &arena, &found))
        result = PyErr_NoMemory();
    else if (found.kind == LW_SIG_NONE)
        result = Py_NewRef(Py_None);
    else
        result = lw_type_object_new(&found);
    lw_arena_reset(&arena);
    return result;
}

static bool
holds_objects(const lw_typed *typed, const lw_type_row *tuple)
{
    bool found = tuple->user_class != NULL;

    for (uint32_t i = 0; !found && i < tuple->n; i++) {
        const lw_type_row *item =
            lw_type_get_kind(&typed->types, tuple->elements[i], LW_TK_TUPLE);
        found = item != NULL && holds_objects(typed, item);
    }
    return found;
}

/* None: it has no type outside of compiled code. */
static PyObject *
object_of_type(const lw_typed *typed, lw_type type)
{
    const lw_type_row *tuple = lw_type_get_kind(&typed->types, type, LW_TK_TUPLE);

    if (type == LW_T_NONE)
        return lw_type_object_of(LW_DT_void);
    if (tuple != NULL && tuple->user_class != NULL)
        return type_of_object(typed, tuple);
    if (tuple != NULL && holds_objects(typed, tuple))
        return types_of_items(typed, tuple);
    return type_of_signatures(typed, type);
}

/* What has no type but itself: the text, function, type or member; None: it is not known. */
static PyObject *
literal_of(const lw_typed *typed, uint32_t constant)
{
    const lw_constant *row = lw_varying_fix(lw_typed_constant(typed, constant));
    PyObject *value = NULL;

    if (row->kind == LW_K_STR)
        value = PyUnicode_FromString(row->text);
    else if (row->kind == LW_K_INT)
        value = PyLong_FromLongLong(row->i);
    else if (row->kind == LW_K_BOOL)
        value = PyBool_FromLong(row->i != 0);
    else if (row->kind == LW_K_DTYPE)
        value = lw_type_object_of(row->dtype);
    else if (constant < typed->tree->constants.n)
        value = lw_read_object_of(typed->tree, constant);
    if (value == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    return call("_literal", Py_BuildValue("(N)", value));
}

/* The number of a NumPy scalar, as one of Python. */
static PyObject *
number_of(const lw_constant *row)
{
    switch (lw_dtypes[row->dtype].kind) {
    case LW_KIND_BOOL: return PyBool_FromLong(row->i != 0);
    case LW_KIND_INT: return PyLong_FromLongLong(row->i);
    case LW_KIND_UINT: return PyLong_FromUnsignedLongLong(row->u);
    case LW_KIND_FLOAT: return PyFloat_FromDouble(row->d);
    case LW_KIND_COMPLEX: return PyComplex_FromDoubles(row->d, row->im);
    default: return Py_NewRef(Py_None); /* times: literal_value() has no value of them */
    }
}

/* A constant of any kind: a new reference. NULL without an exception: it has no value that
 * Python would have passed. */
static PyObject *
literal_value(const lw_typed *typed, uint32_t constant)
{
    const lw_constant *row = lw_varying_fix(lw_typed_constant(typed, constant));
    PyObject *value =
        constant < typed->tree->constants.n ? lw_read_object_of(typed->tree, constant) : NULL;
    PyObject *type;

    if (value != NULL || PyErr_Occurred())
        return value;
    switch (row->kind) {
    case LW_K_NONE: return Py_NewRef(Py_None);
    case LW_K_BOOL: return PyBool_FromLong(row->i != 0);
    case LW_K_INT: return row->bytes ? NULL : PyLong_FromLongLong(row->i);
    case LW_K_UINT: return PyLong_FromUnsignedLongLong(row->u);
    case LW_K_FLOAT: return PyFloat_FromDouble(row->d);
    case LW_K_COMPLEX: return PyComplex_FromDoubles(row->d, row->im);
    case LW_K_STR: return PyUnicode_FromString(row->text);
    case LW_K_DTYPE: return lw_type_object_of(row->dtype);
    case LW_K_TUPLE:
        return row->user_class ? NULL : tuple_of(typed, row->n, row->items, literal_value);
    case LW_K_SCALAR:
        if (lw_dtypes[row->dtype].kind > LW_KIND_COMPLEX)
            return NULL;
        type = lw_type_object_of(row->dtype);
        return call("_scalar", Py_BuildValue("(NN)", type, number_of(row)));
    default: return NULL;
    }
}

/* Types as calls of gufuncs are told of them: beside those of signatures arrays without axes
 * and numbers of Python, by their dtypes, and tuples of such. */
static PyObject *
type_for_gufunc(const lw_typed *typed, lw_type type)
{
    const lw_type_row *row = lw_type_get(&typed->types, type);
    lw_type_kind kind = lw_type_kind_of(&typed->types, type);

    if (kind == LW_TK_ARRAY && row->ndim == 0 && row->elements[0] < LW_N_SCALARS)
        return call("_array_without_axes",
                    Py_BuildValue("(N)", lw_type_object_of((lw_dtype)row->elements[0])));
    if (kind == LW_TK_WEAK || kind == LW_TK_LITERAL)
        return call(
            "_weak_number",
            Py_BuildValue("(N)", lw_type_object_of(lw_type_stored(&typed->types, type))));
    if (kind != LW_TK_TUPLE || row->user_class != NULL)
        return kind == LW_TK_STATIC ? Py_NewRef(Py_None) : object_of_type(typed, type);
    return tuple_of(typed, row->n, row->elements, type_for_gufunc);
}

/* values: constants are told as what they are. */
static PyObject *
object_for_gufunc(const lw_typed *typed, const lw_overload_argument *argument, bool values)
{
    PyObject *value;

    if (values && argument->constant != 0 &&
        lw_type_kind_of(&typed->types, argument->type) != LW_TK_ARRAY) {
        value = literal_value(typed, argument->constant);
        if (value != NULL)
            return call("_literal", Py_BuildValue("(N)", value));
        if (PyErr_Occurred())
            return NULL;
    }
    return type_for_gufunc(typed, argument->type);
}

static PyObject *
object_of_argument(const lw_typed *typed, const lw_overload_argument *argument,
                   lw_overload_literals literals)
{
    if (argument->constant != 0 &&
        (lw_type_kind_of(&typed->types, argument->type) == LW_TK_STATIC ||
         lw_type_enum(&typed->types, argument->type) ||
         (literals != LW_LITERALS_NONE && lw_overload_is_literal(typed, argument))))
        return literal_of(typed, argument->constant);
    return object_of_type(typed, argument->type);
}

/* ---- asking ---- */

/* Adds to the tuple's list of types or to the dict of keywords. */
static int
add_argument(const lw_typed *typed, const lw_overload_question *question, uint32_t i,
             PyObject *types, PyObject *keywords)
{
    const lw_overload_argument *argument = &question->arguments[i];
    bool is_gufunc = question->kind == LW_OVERLOAD_FUNCTION &&
                     lw_typed_constant(typed, question->constant)->is_gufunc;
    PyObject *type =
        is_gufunc ? object_for_gufunc(typed, argument, question->literals == LW_LITERALS_VALUES)
                  : object_of_argument(typed, argument, question->literals);
    int result = -1;

    if (type != NULL)
        result = argument->keyword ? PyDict_SetItemString(keywords, argument->keyword, type)
                                   : PyList_Append(types, type);
    Py_XDECREF(type);
    return result;
}

/* The function that is called, or None; of methods, attributes and operators, their name. */
static PyObject *
subject_of(const lw_typed *typed, const lw_overload_question *question)
{
    PyObject *callee;

    if (question->kind != LW_OVERLOAD_FUNCTION)
        return PyUnicode_FromString(question->name);
    callee = lw_read_object_of(typed->tree, question->constant);
    if (callee != NULL || PyErr_Occurred())
        return callee;
    if (!lw_typed_constant(typed, question->constant)->overloaded)
        return Py_NewRef(Py_None); /* nobody can have named it */
    PyErr_SetString(PyExc_SystemError, "lanewise: an overloaded function is gone");
    return NULL;
}

/* A tuple (implementation or None, str or None), or NULL. */
static PyObject *
choose(const lw_typed *typed, const lw_overload_question *question)
{
    static const char *const choosers[] = {[LW_OVERLOAD_FUNCTION] = "_of_function",
                                           [LW_OVERLOAD_METHOD] = "_of_method",
                                           [LW_OVERLOAD_ATTRIBUTE] = "_of_attribute",
                                           [LW_OVERLOAD_OPERATOR] = "_of_operator"};
    PyObject *subject = subject_of(typed, question);
    PyObject *types = PyList_New(0), *keywords = PyDict_New(), *result = NULL;
    bool failed = subject == NULL || types == NULL || keywords == NULL;

    for (uint32_t i = 0; !failed && i < question->n; i++)
        failed = add_argument(typed, question, i, types, keywords) < 0;
    if (!failed)
        result =
            call(choosers[question->kind],
                 Py_BuildValue("(OOOiO)", subject, types, keywords, (int)question->literals,
                               question->for_gpu ? Py_True : Py_False));
    Py_XDECREF(subject);
    Py_XDECREF(types);
    Py_XDECREF(keywords);
    return result;
}

static PyObject *
unless_none(PyObject *object)
{
    return object == Py_None ? NULL : object;
}

static lw_status
answer(const lw_typed *typed, const lw_overload_question *question, lw_error *err)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    bool is_own = question->kind == LW_OVERLOAD_OWN;
    PyObject *chosen = is_own ? NULL : choose(typed, question);
    lw_status status = LW_ERR_PYTHON;

    if (is_own)
        status = lw_read_own(typed->tree, question->name, err);
    else if (chosen != NULL)
        status = lw_read_answer(typed->tree, question, unless_none(PyTuple_GET_ITEM(chosen, 0)),
                                unless_none(PyTuple_GET_ITEM(chosen, 1)), err);
    else
        err->status = status;
    Py_XDECREF(chosen);
    PyGILState_Release(gil);
    return status;
}

int
lw_overload_ask_register(PyObject *module)
{
    lw_overloads_are_answered_by(answer);
    return lw_overloads_register(module);
}
