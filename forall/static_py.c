#include "core/py/numpy_api.h"

#include "forall/static_py.h"

#include "core/py/array/static_value.h"
#include "core/py/compiled/renew.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "forall/specialisation_py_internal.h"

/* ---- which parameters ---- */

static const lw_fn *
function_of(const lw_function *self)
{
    return &self->tree->fns.data[1];
}

/* Number of the argument behind the index; -1: there is none such. */
static int
argument_of(const lw_function *self, PyObject *name)
{
    const lw_fn *fn = function_of(self);
    long at = -1;

    if (PyUnicode_Check(name)) {
        for (uint32_t i = 0; i < fn->params.n && at < 0; i++)
            if (lw_text_is(name, fn->params.data[i].name))
                at = (long)i;
    } else {
        at = PyLong_AsLong(name);
        PyErr_Clear();
    }
    if (at < 0 || at >= (long)fn->params.n || fn->params.data[at].kind == LW_PARAM_VARARG)
        return -1;
    return (int)at;
}

static int
name_one(void *context, PyObject *name)
{
    lw_function *self = context;
    int at = argument_of(self, name);
    uint64_t bit;

    if (at >= (int)self->n_index + LW_MOST_ARRANGED) {
        PyErr_Format(PyExc_ValueError,
                     "static= names %.200R, but only the first %d parameters "
                     "of a kernel may be static",
                     name, LW_MOST_ARRANGED);
        return -1;
    }
    if (at < 0) {
        PyErr_Format(PyExc_ValueError, "static= names %.200R, which is not a parameter of `%s`",
                     name, lw_function_name(self));
        return -1;
    }
    if (at < (int)self->n_index) {
        PyErr_Format(PyExc_ValueError,
                     "static= names %.200R, which is the index of `%s`: it differs from "
                     "element to element",
                     name, lw_function_name(self));
        return -1;
    }
    bit = (uint64_t)1 << ((uint32_t)at - self->n_index);
    if (self->statics & bit) {
        PyErr_Format(PyExc_ValueError, "static= names %.200R, which it names already", name);
        return -1;
    }
    self->statics |= bit;
    return 0;
}

int
lw_function_name_statics(lw_function *self, PyObject *names)
{
    self->static_values = PyDict_New();
    if (self->static_values == NULL)
        return -1;
    return names ? lw_door_each_name(names, name_one, self) : 0;
}

bool
lw_is_member(PyObject *object)
{
    PyObject *module, *class;
    bool result;

    if (Py_TYPE((PyObject *)Py_TYPE(object)) == &PyType_Type)
        return false;
    module = PyImport_ImportModule("enum");
    class = module ? PyObject_GetAttrString(module, "Enum") : NULL;
    result = class && PyObject_IsInstance(object, class) == 1;
    Py_XDECREF(class);
    Py_XDECREF(module);
    PyErr_Clear();
    return result;
}

/* ---- values ---- */

PyObject *
lw_static_entry(const lw_function *self, uint32_t arg, PyObject *value)
{
    const char *parameter = function_of(self)->params.data[self->n_index + arg].name;
    PyObject *key = lw_static_key(value, lw_function_name(self), parameter,
                                  "; arrays are arguments that are not static");
    PyObject *entry = key ? PyTuple_Pack(1, value) : NULL, *kept = NULL;

    if (entry != NULL)
        kept = PyDict_SetDefault(self->static_values, key, entry);
    Py_XDECREF(key);
    Py_XDECREF(entry);
    return kept;
}

static PyObject *
value_of(PyObject *entry)
{
    return PyTuple_GET_ITEM(entry, 0);
}

/* The values by the names of their parameters; a new dict. */
static PyObject *
values_by_name(const lw_function *self, PyObject *const *entries, uint32_t n_args)
{
    const lw_fn *fn = function_of(self);
    PyObject *values = PyDict_New();

    for (uint32_t i = 0; values != NULL && i < n_args; i++)
        if (entries[i] != NULL &&
            PyDict_SetItemString(values, fn->params.data[self->n_index + i].name,
                                 value_of(entries[i])) < 0)
            Py_CLEAR(values);
    return values;
}

/* Refuses a value that cannot be a constant: the reader keeps it as an object without a
 * type. */
static int
check_value(const lw_function *self, const lw_tree *tree, uint32_t arg, PyObject *entry)
{
    const lw_fn_param *param = &tree->fns.data[1].params.data[self->n_index + arg];

    if (param->default_constant != 0 &&
        (tree->constants.data[param->default_constant].kind != LW_K_OBJECT ||
         lw_is_member(value_of(entry))))
        return 0;
    PyErr_Format(
        PyExc_TypeError,
        "%s: static argument `%s` must be a constant (a number, bool, str, None, a "
        "type, a function, a member of an enum class, or a tuple of these), not %.100s",
        lw_function_name(self), param->name, Py_TYPE(value_of(entry))->tp_name);
    return -1;
}

int
lw_specialisation_read_own(lw_specialisation *specialisation, PyObject *const *entries,
                           uint32_t n_args, PyObject *classes)
{
    lw_function *self = specialisation->function;
    PyObject *values = values_by_name(self, entries, n_args);
    PyObject *function = NULL, *given = classes ? PyList_AsTuple(classes) : NULL;
    lw_operand_scope scope;
    lw_error err = {0};
    int failed;

    if (values != NULL)
        function = PyDict_GET_SIZE(values) ? lw_function_with_values(self->py_func, values)
                                           : Py_NewRef(self->py_func);
    failed = function == NULL || (classes && !given) ? -1 : 0;
    scope = lw_compiled_enter_operands((lw_compiled *)self);
    if (!failed && lw_read_function_given(function, self->source, given, &specialisation->tree,
                                          &specialisation->captures, &err) != LW_OK) {
        lw_py_raise(&err);
        failed = -1;
    }
    lw_compiled_leave_operands(&scope);
    if (!failed && !lw_add_argument_constants(specialisation->tree)) {
        PyErr_NoMemory();
        failed = -1;
    }
    atomic_store_explicit(&self->reads_own, true, memory_order_release);
    for (uint32_t i = 0; i < n_args && !failed; i++)
        if (entries[i] != NULL)
            failed = check_value(self, specialisation->tree, i, entries[i]);
    Py_XDECREF(given);
    Py_XDECREF(function);
    Py_XDECREF(values);
    return failed;
}

bool
lw_specialisation_is_static(const lw_specialisation *specialisation, uint32_t param)
{
    uint32_t arg = param - specialisation->function->n_index;

    return specialisation->tree != NULL && arg < LW_MOST_ARRANGED &&
           (specialisation->statics >> arg & 1);
}

bool
lw_static_print_value(const lw_specialisation *specialisation, uint32_t param, lw_text *out)
{
    const lw_tree *tree = specialisation->tree;

    if (!lw_specialisation_is_static(specialisation, param))
        return false;
    lw_constant_print(tree, tree->fns.data[1].params.data[param].default_constant, out);
    return true;
}

void
lw_static_print(const lw_specialisation *specialisation, uint32_t param, lw_text *out)
{
    lw_text_addf(out, "%s=", specialisation->tree->fns.data[1].params.data[param].name);
    lw_static_print_value(specialisation, param, out);
}
