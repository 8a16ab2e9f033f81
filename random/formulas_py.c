/* Single numbers of distributions that are formulas of standard numbers, for `_core._Draws`.
 * The kernels that compute them take many at once, so lanewise/_distributions.py computes the
 * number of each of the next places and has it kept here; a call with the same parameters then
 * only looks it up. Numbers are kept for the last 16 sets of parameters. */
#include "random/draws_py_internal.h"

#include <string.h>

static const char *const names[] = {
#define FORMULA(name, ...) [LW_FORMULA_##name] = #name,
#include "random/formulas.def"
};

static bool
is_for(const lw_formula *one, lw_formula_kind kind, const double *p)
{
    return one->numbers != NULL && one->kind == kind && memcmp(one->p, p, sizeof one->p) == 0;
}

static int64_t
integer_at(PyArrayObject *array, uint64_t at)
{
    return ((const int64_t *)PyArray_DATA(array))[at];
}

static PyObject *
number_at(PyArrayObject *numbers, uint64_t at)
{
    if (PyArray_TYPE(numbers) == NPY_INT64)
        return PyLong_FromLongLong(integer_at(numbers, at));
    return PyFloat_FromDouble(((const double *)PyArray_DATA(numbers))[at]);
}

PyObject *
lw_formula_take(lw_formulas *all, uint64_t *place, lw_formula_kind kind, const lw_few *asked)
{
    for (int k = 0; k < LW_FORMULAS_KEPT; k++) {
        const lw_formula *one = &all->kept[k];
        uint64_t at = *place - one->place; /* wraps before the first place */
        PyObject *number;

        if (!is_for(one, kind, asked->p) || at >= (uint64_t)PyArray_SIZE(one->numbers) ||
            integer_at(one->blocks, at) <= 0)
            continue;
        number = number_at(one->numbers, at);
        *place += number ? (uint64_t)integer_at(one->blocks, at) : 0;
        return number;
    }
    return NULL;
}

static bool
is_fitting(PyArrayObject *array, bool floats)
{
    int type = PyArray_TYPE(array);

    return PyArray_NDIM(array) == 1 && PyArray_ISCARRAY_RO(array) &&
           ((floats && type == NPY_DOUBLE) || type == NPY_INT64);
}

/* Those of these parameters, or the oldest ones. */
static lw_formula *
room_for(lw_formulas *all, lw_formula_kind kind, const double *p)
{
    for (int k = 0; k < LW_FORMULAS_KEPT; k++)
        if (is_for(&all->kept[k], kind, p))
            return &all->kept[k];
    return &all->kept[all->next++ % LW_FORMULAS_KEPT];
}

static void
release(lw_formula *one)
{
    Py_XDECREF((PyObject *)one->numbers);
    Py_XDECREF((PyObject *)one->blocks);
}

static int
read_parameters(PyObject *parameters, double *p)
{
    if (PyTuple_GET_SIZE(parameters) > LW_MOST_PARAMETERS) {
        PyErr_SetString(PyExc_ValueError, "a formula has three parameters at most");
        return -1;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(parameters); k++)
        p[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(parameters, k));
    return PyErr_Occurred() ? -1 : 0;
}

int
lw_formula_keep(lw_formulas *all, uint64_t now, PyObject *args)
{
    lw_formula one = {0}, *room;
    lw_formula before;
    PyObject *parameters;
    unsigned long long changes, place;
    const char *name;
    int kind = 0;

    if (!PyArg_ParseTuple(args, "KsO!KO!O!:_keep", &changes, &name, &PyTuple_Type, &parameters,
                          &place, &PyArray_Type, &one.numbers, &PyArray_Type, &one.blocks) ||
        read_parameters(parameters, one.p) < 0)
        return -1;
    if (!is_fitting(one.numbers, true) || !is_fitting(one.blocks, false) ||
        PyArray_SIZE(one.numbers) != PyArray_SIZE(one.blocks)) {
        PyErr_SetString(PyExc_TypeError,
                        "numbers and blocks must be arrays of float64 or int64, and of int64");
        return -1;
    }
    while (kind < LW_N_FORMULAS && strcmp(names[kind], name) != 0)
        kind++;
    if (kind == LW_N_FORMULAS || changes != now)
        return 0;
    one.kind = (lw_formula_kind)kind;
    one.place = place;
    Py_INCREF(one.numbers);
    Py_INCREF(one.blocks);
    room = room_for(all, one.kind, one.p);
    before = *room;
    *room = one;
    release(&before);
    return 0;
}

void
lw_formulas_forget(lw_formulas *all)
{
    for (int k = 0; k < LW_FORMULAS_KEPT; k++) {
        lw_formula before = all->kept[k];
        all->kept[k] = (lw_formula){0};
        release(&before);
    }
}
