/* The attributes of `_core._Draws` that its numbers depend on: the key, which stream of it, the
 * place, and whether another method draws. Setting the key or the stream drops all numbers that
 * were made ahead. */
#include "random/draws_py_internal.h"

#include "core/front/read/critical.h"

void
lw_draws_forget(lw_draws_object *self)
{
    self->stream++;
    Py_CLEAR(self->keys);
    lw_formulas_forget(&self->formulas);
    lw_bit_stream_forget(self->base.bits);
    for (int k = 0; k < LW_DRAW_KINDS; k++) {
        PyObject *made = (PyObject *)self->ahead[k].made;
        self->ahead[k] = (lw_ahead){0};
        Py_XDECREF(made);
    }
}

static PyObject *
get_key(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_philox *philox = &((lw_draws_object *)object)->base.philox;

    return Py_BuildValue("(II)", (unsigned)philox->key[0], (unsigned)philox->key[1]);
}

static int
read_word32(PyObject *object, uint32_t most, const char *name, uint32_t *out)
{
    unsigned long value = PyLong_Check(object) ? PyLong_AsUnsignedLong(object) : 0;

    if (!PyErr_Occurred() && PyLong_Check(object) && value <= most) {
        *out = (uint32_t)value;
        return 0;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s must be ints from 0 to %lu, not %.100R", name,
                 (unsigned long)most, object);
    return -1;
}

static int
set_key(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    lw_draws_object *self = (lw_draws_object *)object;
    uint32_t key[2];

    if (value == NULL || !PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) {
        PyErr_SetString(PyExc_ValueError, "key must be a tuple of two ints");
        return -1;
    }
    for (int k = 0; k < 2; k++)
        if (read_word32(PyTuple_GET_ITEM(value, k), UINT32_MAX, "key", &key[k]) < 0)
            return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    self->base.philox.key[0] = key[0];
    self->base.philox.key[1] = key[1];
    lw_draws_forget(self);
    Py_END_CRITICAL_SECTION();
    return 0;
}

static PyObject *
get_jumps(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((lw_draws_object *)object)->base.philox.c3 / 2);
}

static int
set_jumps(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    lw_draws_object *self = (lw_draws_object *)object;
    uint32_t jumps;

    if (value == NULL || read_word32(value, (1u << 30) - 1, "jumps", &jumps) < 0)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    self->base.philox.c3 = 2 * jumps;
    lw_draws_forget(self);
    Py_END_CRITICAL_SECTION();
    return 0;
}

static PyObject *
get_place(PyObject *object, void *Py_UNUSED(closure))
{
    uint64_t place;

    Py_BEGIN_CRITICAL_SECTION(object);
    place = ((lw_draws_object *)object)->base.place;
    Py_END_CRITICAL_SECTION();
    return PyLong_FromUnsignedLongLong(place);
}

static int
set_place(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    uint64_t place = value ? PyLong_AsUnsignedLongLong(value) : 0;

    if (value == NULL)
        PyErr_SetString(PyExc_TypeError, "_place cannot be deleted");
    if (PyErr_Occurred())
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    ((lw_draws_object *)object)->base.place = place;
    Py_END_CRITICAL_SECTION();
    return 0;
}

static PyObject *
get_busy(PyObject *object, void *Py_UNUSED(closure))
{
    bool busy;

    Py_BEGIN_CRITICAL_SECTION(object);
    busy = ((lw_draws_object *)object)->is_busy;
    Py_END_CRITICAL_SECTION();
    return PyBool_FromLong(busy);
}

static int
set_busy(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    int busy = value ? PyObject_IsTrue(value) : -1;

    if (value == NULL)
        PyErr_SetString(PyExc_TypeError, "_is_busy cannot be deleted");
    if (busy < 0)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    ((lw_draws_object *)object)->is_busy = busy > 0;
    Py_END_CRITICAL_SECTION();
    return 0;
}

PyGetSetDef lw_draws_getters[] = {
    {"_key", get_key, set_key, PyDoc_STR("Philox's key"), NULL},
    {"_place", get_place, set_place, PyDoc_STR("the next block"), NULL},
    {"_is_busy", get_busy, set_busy, PyDoc_STR("calls go to Python's code"), NULL},
    {"_jumps", get_jumps, set_jumps, PyDoc_STR("which stream of the key"), NULL},
    {"capsule", lw_draws_capsule, NULL,
     PyDoc_STR("NumPy's interface of a bit generator: numpy.random.default_rng(g) and rng=g of "
               "SciPy draw from this stream through it, 64 blocks at a time. A TypeError with "
               "xoroshiro128p, whose lanes have no order of single words."),
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};
