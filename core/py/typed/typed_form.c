/* Forms: likes taken apart, and whether two likes say the same. */
#include "core/py/typed/typed_internal.h"

#include "core/py/descr.h"
#include "core/py/state.h"

static int
not_a_like(PyObject *like)
{
    PyErr_Format(PyExc_TypeError,
                 "the items of a typed list or dict must be numbers, strings, arrays, typed "
                 "lists or dicts, or tuples of these, not of the type of %.200R",
                 like);
    return -1;
}

static lw_typed_leaf
slots_leaf(lw_typed_kind kind, PyObject *like, int ndim)
{
    return (lw_typed_leaf){.kind = kind,
                           .like = like,
                           .begin = LW_CELLS_BEGIN * LW_TYPED_WORD,
                           .stride = lw_slot_words(ndim) * LW_TYPED_WORD,
                           .ndim = ndim};
}

static int
add_numbers(lw_typed_leaf *leaf, PyObject *like)
{
    lw_dtype dtype = lw_dtype_of_descr(PyArray_DESCR((PyArrayObject *)like));

    if (dtype == LW_DT_void)
        return not_a_like(like);
    *leaf = (lw_typed_leaf){.kind = LW_TYPED_NUMBERS,
                            .dtype = dtype,
                            .stride = lw_dtypes[dtype].size_bytes,
                            .like = like};
    return 0;
}

/* like: an ArrayKind, whose class has the array in a slot or a dict of its own. */
static int
add_arrays(lw_typed_leaf *leaf, PyObject *like)
{
    PyObject *array = PyObject_GetAttrString(like, "like");

    if (array == NULL || !PyArray_Check(array)) {
        Py_XDECREF(array);
        return PyErr_Occurred() ? -1 : not_a_like(like);
    }
    *leaf = slots_leaf(LW_TYPED_ARRAYS, array, PyArray_NDIM((PyArrayObject *)array));
    Py_DECREF(array); /* like holds it */
    return 0;
}

static int
add_leaves(lw_typed_form *form, PyObject *like)
{
    lw_typed_leaf *leaf = &form->leaves[form->n];

    if (PyTuple_Check(like)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(like); i++)
            if (add_leaves(form, PyTuple_GET_ITEM(like, i)) < 0)
                return -1;
        return 0;
    }
    if (form->n == LW_TYPED_MOST_CELLS)
        return not_a_like(like);
    form->n++;
    if (PyArray_Check(like))
        return add_numbers(leaf, like);
    if (Py_TYPE(like) == lw_core->typed_texts_type) {
        *leaf = (lw_typed_leaf){.kind = LW_TYPED_TEXTS, .stride = LW_TYPED_WORD, .like = like};
        return 0;
    }
    if (Py_TYPE(like) == lw_core->typed_arrays_type)
        return add_arrays(leaf, like);
    if (!lw_is_typed_container(like))
        return not_a_like(like);
    *leaf = slots_leaf(LW_TYPED_CONTAINERS, like, 1);
    return 0;
}

int
lw_typed_form_init(lw_typed_form *form, PyObject *like)
{
    form->n = 0;
    form->like = like == Py_None ? NULL : like;
    return form->like ? add_leaves(form, like) : 0;
}

/* Whether two likes surely say the same. */
bool
lw_typed_are_alike(PyObject *x, PyObject *y)
{
    if (x == y)
        return true;
    if (x == NULL || y == NULL || Py_TYPE(x) != Py_TYPE(y))
        return false;
    if (PyTuple_Check(x)) {
        bool alike = PyTuple_GET_SIZE(x) == PyTuple_GET_SIZE(y);
        for (Py_ssize_t i = 0; alike && i < PyTuple_GET_SIZE(x); i++)
            alike = lw_typed_are_alike(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i));
        return alike;
    }
    if (PyArray_Check(x))
        return PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)x),
                                  PyArray_DESCR((PyArrayObject *)y));
    if (lw_is_typed_container(x))
        return lw_typed_are_alike(lw_typed_container_like(x, 0),
                                  lw_typed_container_like(y, 0)) &&
               lw_typed_are_alike(lw_typed_container_like(x, 1), lw_typed_container_like(y, 1));
    return Py_TYPE(x) == lw_core->typed_texts_type;
}

/* ---- the classes of likes ---- */

static PyObject *
set_kinds(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *texts, *arrays;

    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &texts, &PyType_Type, &arrays))
        return NULL;
    Py_XSETREF(lw_core->typed_texts_type, (PyTypeObject *)Py_NewRef(texts));
    Py_XSETREF(lw_core->typed_arrays_type, (PyTypeObject *)Py_NewRef(arrays));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_typed_kinds", set_kinds, METH_VARARGS,
     PyDoc_STR("the classes that say that items are strings, or arrays")},
    {NULL, NULL, 0, NULL},
};

int
lw_typed_form_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
