#include "forall/bind_copies_py.h"

#include <string.h>

static bool
is_copy(PyObject *object)
{
    return PyArray_Check(object) &&
           PyArray_CHKFLAGS((PyArrayObject *)object, NPY_ARRAY_WRITEBACKIFCOPY);
}

/* Whether both arrays have the same elements in the same order. */
static bool
are_same(PyArrayObject *x, PyArrayObject *y)
{
    size_t n = (size_t)PyArray_NDIM(x) * sizeof(npy_intp);

    return PyArray_DATA(x) == PyArray_DATA(y) && PyArray_NDIM(x) == PyArray_NDIM(y) &&
           memcmp(PyArray_DIMS(x), PyArray_DIMS(y), n) == 0 &&
           memcmp(PyArray_STRIDES(x), PyArray_STRIDES(y), n) == 0 &&
           PyArray_EquivTypes(PyArray_DESCR(x), PyArray_DESCR(y));
}

PyArrayObject *
lw_bound_copy_of(const lw_bound *bound, PyArrayObject *array)
{
    for (uint32_t i = 0; i < bound->n_arrays; i++) {
        PyObject *object = bound->arrays[i].object, *base;
        if (!is_copy(object))
            continue;
        base = PyArray_BASE((PyArrayObject *)object);
        if (base == (PyObject *)array ||
            (PyArray_ISWRITEABLE(array) && are_same((PyArrayObject *)base, array)))
            return (PyArrayObject *)Py_NewRef(object);
    }
    return NULL;
}

static bool
is_same_device_array(const lw_device_array *x, const lw_device_array *y)
{
    size_t n = (size_t)x->ndim * sizeof *x->shape;

    return x->data == y->data && x->ndim == y->ndim && x->readonly == y->readonly &&
           memcmp(x->shape, y->shape, n) == 0 && memcmp(x->strides, y->strides, n) == 0 &&
           x->dtype == y->dtype && PyArray_EquivTypes(x->descr, y->descr);
}

lw_operand *
lw_bound_aligned_once(lw_bound *bound)
{
    lw_operand *operand = bound->operands[bound->n_operands - 1];

    if (operand->original == NULL)
        return operand;
    bound->n_copies++;
    for (uint32_t i = 0; i + 1 < bound->n_operands; i++)
        if (bound->operands[i]->original != NULL &&
            is_same_device_array(bound->operands[i]->original, operand->original)) {
            lw_operand_release(operand);
            bound->n_operands--;
            return bound->operands[i];
        }
    return operand;
}

static bool
stands_for_another(const lw_bound_array *array)
{
    return array->operand != NULL ? array->operand->original != NULL : is_copy(array->object);
}

/* Returns the array that the user gave. */
static PyObject *
original(const lw_bound_array *array)
{
    return is_copy(array->object) ? PyArray_BASE((PyArrayObject *)array->object)
                                  : array->object;
}

/* Returns the device memory that the array the user gave may touch. */
static lw_memory_span
span_of(const lw_bound_array *array)
{
    const lw_device_array *x = array->operand ? array->operand->original : NULL;

    if (x == NULL)
        return (lw_memory_span){array->low, array->high};
    return lw_device_array_span(x);
}

/* Returns whether two of NumPy's arrays share an element, or -1 with an exception. */
static int
may_share(PyObject *x, PyObject *y)
{
    /* candidates that NumPy examines, which takes less than a millisecond */
    enum { MOST_WORK = 10000 };
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *shares =
        numpy ? PyObject_CallMethod(numpy, "may_share_memory", "OOi", x, y, MOST_WORK) : NULL;
    int result = shares ? PyObject_IsTrue(shares) : -1;

    Py_XDECREF(shares);
    Py_XDECREF(numpy);
    return result;
}

/* A copy would not see what is written to the memory that the original shares, and the other
 * way round. */
static int
check_copies(const lw_function *self, const lw_bound *bound, const lw_bound_array *written)
{
    const lw_fn *fn = &self->tree->fns.data[1];

    for (uint32_t i = 0; i < bound->n_arrays; i++) {
        const lw_bound_array *other = &bound->arrays[i];
        int shared;
        if (other->object == written->object || other->record || written->record ||
            (other->operand != NULL && other->operand == written->operand) ||
            !(stands_for_another(other) || stands_for_another(written)))
            continue;
        if (bound->where == LW_WHERE_DEVICE)
            shared = lw_memory_spans_overlap(span_of(written), span_of(other));
        else
            shared = may_share(original(written), original(other));
        if (shared > 0)
            PyErr_Format(PyExc_ValueError,
                         "%s: arguments `%s` and `%s` share memory, but are not aligned, or "
                         "not in native byte order, so that they would be copied: pass a copy",
                         lw_function_name(self),
                         fn->params.data[self->n_index + written->arg].name,
                         fn->params.data[self->n_index + other->arg].name);
        if (shared != 0)
            return -1;
    }
    return 0;
}

int
lw_bound_writes(lw_bound *bound, const lw_function *self, const uint32_t *written, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        bound->arrays[written[i]].back = bound->arrays[written[i]].record;
    for (uint32_t i = 0; bound->n_copies != 0 && i < n; i++)
        if (check_copies(self, bound, &bound->arrays[written[i]]) < 0)
            return -1;
    for (uint32_t i = 0; bound->n_copies != 0 && i < n; i++) {
        bound->arrays[written[i]].back = true;
        if (bound->arrays[written[i]].operand != NULL)
            bound->arrays[written[i]].operand->written = true;
    }
    return 0;
}

void
lw_bound_copies_back(lw_bound *bound)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    for (uint32_t i = 0; i < bound->n_arrays; i++)
        if (bound->arrays[i].back && PyArray_Check(bound->arrays[i].object) &&
            PyArray_ResolveWritebackIfCopy((PyArrayObject *)bound->arrays[i].object) < 0)
            PyErr_WriteUnraisable(bound->arrays[i].object);
    for (Py_ssize_t i = 0; bound->owned != NULL && i < PyList_GET_SIZE(bound->owned); i++)
        PyArray_DiscardWritebackIfCopy((PyArrayObject *)PyList_GET_ITEM(bound->owned, i));
    PyErr_Restore(type, value, traceback);
}
