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

static PyObject *
number_at(PyArrayObject *numbers, uint64_t at)
{
    const char *data = PyArray_BYTES(numbers) + 8 * at;
    int64_t integer;
    double number;

    if (PyArray_TYPE(numbers) == NPY_INT64) {
        memcpy(&integer, data, sizeof integer);
        return PyLong_FromLongLong(integer);
    }
    memcpy(&number, data, sizeof number);
    return PyFloat_FromDouble(number);
}

PyObject *
lw_formula_take(lw_formulas *all, uint64_t *place, lw_formula_kind kind, const lw_few *asked)
{
    for (int k = 0; k < LW_FORMULAS_KEPT; k++) {
        const lw_formula *one = &all->kept[k];
        uint64_t at = *place - one->place; /* wraps before the first place */
        PyObject *number;

        if (!is_for(one, kind, asked->p) || at >= (uint64_t)PyArray_SIZE(one->numbers))
            continue;
        number = number_at(one->numbers, at);
        *place += number ? one->blocks : 0;
        return number;
    }
    return NULL;
}

static bool
is_fitting(PyArrayObject *numbers)
{
    int type = PyArray_TYPE(numbers);

    return PyArray_NDIM(numbers) == 1 && PyArray_IS_C_CONTIGUOUS(numbers) &&
           (type == NPY_DOUBLE || type == NPY_INT64);
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
    PyArrayObject *before;
    PyObject *parameters;
    unsigned long long changes, place, blocks;
    const char *name;
    int kind = 0;

    if (!PyArg_ParseTuple(args, "KsO!KKO!:_keep", &changes, &name, &PyTuple_Type, &parameters,
                          &place, &blocks, &PyArray_Type, &one.numbers) ||
        read_parameters(parameters, one.p) < 0)
        return -1;
    if (!is_fitting(one.numbers)) {
        PyErr_SetString(PyExc_TypeError, "numbers must be an array of float64 or int64");
        return -1;
    }
    while (kind < LW_N_FORMULAS && strcmp(names[kind], name) != 0)
        kind++;
    if (kind == LW_N_FORMULAS || changes != now)
        return 0;
    one.kind = (lw_formula_kind)kind;
    one.place = place;
    one.blocks = blocks;
    Py_INCREF(one.numbers);
    room = room_for(all, one.kind, one.p);
    before = room->numbers;
    *room = one;
    Py_XDECREF((PyObject *)before);
    return 0;
}

void
lw_formulas_forget(lw_formulas *all)
{
    for (int k = 0; k < LW_FORMULAS_KEPT; k++) {
        PyObject *numbers = (PyObject *)all->kept[k].numbers;
        all->kept[k] = (lw_formula){0};
        Py_XDECREF(numbers);
    }
}
