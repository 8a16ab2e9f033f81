#include "core/py/numpy/numpy_rules.h"

#include "core/front/read/python.h"
#include "core/py/descr.h"
#include "core/py/type_num.h"

#include <string.h>

/* ---- which dtypes ---- */

static PyObject *
dtype_argument(lw_dtype dtype, char weak)
{
    if (weak)
        return Py_NewRef((PyObject *)(weak == 'i'   ? &PyLong_Type
                                      : weak == 'f' ? &PyFloat_Type
                                                    : &PyComplex_Type));
    if (dtype == LW_DT_void)
        return Py_NewRef(Py_None);
    return Py_XNewRef((PyObject *)lw_descr_of(dtype));
}

static PyObject *
dtype_arguments(int nin, int nout, const lw_dtype *dtypes, const char *weak)
{
    int n = nin + nout;
    PyObject *tuple = PyTuple_New(n);

    for (int i = 0; tuple != NULL && i < n; i++)
        lw_tuple_put(&tuple, i, dtype_argument(dtypes[i], i < nin ? weak[i] : 0));
    return tuple;
}

/* dtype=x is signature=(None, …, x, …): resolve_dtypes knows only the latter. */
static PyObject *
signature_argument(int nin, int nout, PyObject *signature, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    PyObject *tuple;

    if (signature != NULL && signature != Py_None)
        return Py_NewRef(signature);
    if (dtype == NULL || dtype == Py_None)
        return Py_NewRef(Py_None);
    if (PyArray_DescrConverter(dtype, &descr) != NPY_SUCCEED)
        return NULL;
    tuple = PyTuple_New(nin + nout);
    for (int i = 0; tuple != NULL && i < nin + nout; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(i < nin ? Py_None : (PyObject *)descr));
    Py_DECREF(descr);
    return tuple;
}

PyObject *
lw_numpy_resolve(PyObject *ufunc, int nin, int nout, const lw_dtype *dtypes, const char *weak,
                 const lw_call_rules *rules)
{
    PyObject *method = PyObject_GetAttrString(ufunc, "resolve_dtypes");
    PyObject *given = dtype_arguments(nin, nout, dtypes, weak);
    PyObject *chosen = signature_argument(nin, nout, rules->signature, rules->dtype);
    PyObject *args = NULL, *kwargs = NULL, *result = NULL, *casting = rules->casting;

    if (method == NULL || given == NULL || chosen == NULL)
        goto done;
    args = PyTuple_Pack(1, given);
    kwargs = PyDict_New();
    if (args == NULL || kwargs == NULL ||
        (chosen != Py_None && PyDict_SetItemString(kwargs, "signature", chosen) < 0))
        goto done;
    if (casting != NULL && casting != Py_None &&
        PyDict_SetItemString(kwargs, "casting", casting) < 0)
        goto done;
    result = PyObject_Call(method, args, kwargs);
done:
    Py_XDECREF(method);
    Py_XDECREF(given);
    Py_XDECREF(chosen);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

bool
lw_beyond_numpy(int nin, int nout, const lw_dtype *dtypes, const char *weak)
{
    for (int i = 0; i < nin + nout; i++)
        if ((i >= nin || !weak[i]) && dtypes[i] != LW_DT_void && lw_type_num(dtypes[i]) < 0)
            return true;
    return false;
}

bool
lw_cast_allowed(lw_dtype from, lw_dtype to, NPY_CASTING rule)
{
    switch (rule) {
    case NPY_UNSAFE_CASTING: return true;
    case NPY_SAME_KIND_CASTING: return lw_can_cast_same_kind(from, to);
    case NPY_SAFE_CASTING: return lw_can_cast_safe(from, to);
    default: return from == to;
    }
}

/* ---- the arguments of a call ---- */

static int
read_order(PyObject *order, char *letter)
{
    const char *text;

    *letter = 'K';
    if (order == NULL)
        return 0;
    text = PyUnicode_Check(order) ? PyUnicode_AsUTF8(order) : NULL;
    if (text == NULL || text[0] == 0 || text[1] != 0 || strchr("CFAKcfak", text[0]) == NULL) {
        if (!PyErr_Occurred())
            PyErr_Format(PyUnicode_Check(order) ? PyExc_ValueError : PyExc_TypeError,
                         "order must be one of 'C', 'F', 'A', or 'K' (got %.200R)", order);
        return -1;
    }
    *letter = (char)(text[0] & ~0x20);
    return 0;
}

int
lw_call_check(const char *name, int nin, int nout, Py_ssize_t n_args, PyObject *subok,
              PyObject *order, char *letter)
{
    int nargs = nin + nout;

    if (n_args < nin || n_args > nargs) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes from %d to %d positional arguments but %zd %s given", name,
                     nin, nargs, n_args, n_args == 1 ? "was" : "were");
        return -1;
    }
    if (subok != NULL && !PyBool_Check(subok)) {
        PyErr_Format(PyExc_TypeError, "'subok' must be a boolean, not %.200s",
                     Py_TYPE(subok)->tp_name);
        return -1;
    }
    return read_order(order, letter);
}

/* ---- Python numbers ---- */

char
lw_weak_kind(PyObject *object)
{
    if (PyLong_CheckExact(object))
        return 'i';
    if (PyFloat_CheckExact(object))
        return 'f';
    return PyComplex_CheckExact(object) ? 'c' : 0;
}

PyObject *
lw_number_in(PyObject *number, lw_dtype dtype)
{
    PyArray_Descr *descr = lw_descr_of(dtype);

    if (descr == NULL)
        return NULL;
    return PyArray_FromAny(number, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 0, 0, 0,
                           NULL);
}

/* ---- no loop: E181 ---- */

bool
lw_weak_fits(char weak, lw_dtype slot)
{
    if (weak == 'i')
        return slot != LW_DT_b1;
    return lw_is_complex(slot) || (weak == 'f' && lw_is_float(slot));
}

void
lw_no_loop_operand(lw_text *text, lw_dtype dtype, char weak)
{
    lw_text_add(text, weak == 'i'   ? "Python int"
                      : weak == 'f' ? "Python float"
                      : weak        ? "Python complex"
                                    : lw_dtypes[dtype].public_name);
}

void
lw_no_loop_argument(lw_text *text, int i, const char *name, lw_dtype dtype, char weak,
                    lw_dtype slot)
{
    lw_text_addf(text, "   argument %d", i + 1);
    if (name != NULL)
        lw_text_addf(text, ", `%s`", name);
    lw_text_add(text, ": ");
    lw_no_loop_operand(text, dtype, weak);
    lw_text_addf(text, " to %s is not safe", lw_dtypes[slot].public_name);
}
