/* Operands of device calls that are copied: those that need a cast, and those that share memory
 * with what is written. Results are as if all of these had been copied first. */
#include "core/py/numpy/device_call.h"

#include "core/py/raise.h"

#include <string.h>

static bool
is_written(const lw_device_call *call, int i)
{
    if (lw_device_call_is_output(call, i))
        return true;
    return i < call->self->nin && call->self->kind->device->writes(call, i);
}

static int
copy_into(const lw_device_call *call, lw_device_array *to, lw_device_array *from)
{
    lw_error err = {0};

    if (lw_device_array_use(from, call->stream, &err) != LW_OK ||
        lw_device_array_use(to, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    return lw_device_array_hooks.copy_strided(to, from, call->stream);
}

/* The operand's values in this dtype and memory of its own, in place of the operand. What is
 * written goes back after the launch. */
static int
replace_by_copy(lw_device_call *call, int i, lw_dtype dtype)
{
    lw_operand *operand = &call->operands[i];
    lw_device_array *array = lw_operand_as_array(operand->object), *copy = NULL;
    bool is_read =
        !lw_device_call_is_output(call, i) || !call->self->kind->device->overwrites(call, i);
    lw_error err = {0};

    if (array == NULL)
        return -1;
    copy = lw_device_array_new(call->device, call->stream, dtype, operand->ndim, operand->shape,
                               'C');
    if (copy == NULL || (operand->size && is_read && copy_into(call, copy, array) < 0))
        goto fail;
    if (operand->library != LW_LIB_OWN &&
        lw_operand_done(operand, call->stream, &err) != LW_OK) {
        lw_py_raise(&err);
        goto fail;
    }
    call->owned[call->n_owned++] = (PyObject *)copy;
    if (is_written(call, i)) {
        call->target[i] = array;
        call->source[i] = operand->object;
    } else {
        Py_DECREF(array);
    }
    lw_operand_release(operand);
    operand->release = NULL;
    return lw_operand_read(operand, (PyObject *)copy);
fail:
    Py_DECREF(array);
    Py_XDECREF(copy);
    return -1;
}

/* Whether both are the same elements at the same places: an element is read before it is
 * written, by one thread. */
static bool
are_one(const lw_operand *x, const lw_operand *y)
{
    if (x->data != y->data || x->itemsize != y->itemsize || x->ndim != y->ndim)
        return false;
    for (int d = 0; d < x->ndim; d++)
        if (x->shape[d] != y->shape[d] || (x->shape[d] != 1 && x->strides[d] != y->strides[d]))
            return false;
    return true;
}

/* Whether operand i must be copied, as another one is written where it lies. What is written is
 * compared with all others; of two that are written the later one moves. An output that was
 * made for this call shares its memory with nobody. */
static bool
must_move(const lw_device_call *call, int i)
{
    const lw_operand *operand = &call->operands[i];
    int nin = call->self->nin;

    for (int k = 0; k < nin + call->self->nout; k++) {
        const lw_operand *other = &call->operands[k];
        bool is_new = k >= nin && call->made[k - nin] != NULL;
        if (k == i || is_new || other->kind != LW_OPERAND_DEVICE || !is_written(call, k) ||
            (is_written(call, i) && k > i) ||
            !lw_memory_spans_overlap(lw_operand_span(operand), lw_operand_span(other)))
            continue;
        if (!call->self->kind->device->is_elementwise || !are_one(operand, other))
            return true;
    }
    return false;
}

int
lw_device_call_make_copies(lw_device_call *call)
{
    const lw_device_door *door = call->self->kind->device;
    const lw_dtype *types = lw_device_call_types(call);
    int nin = call->self->nin;

    for (int i = 0; i < call->n_read; i++) {
        lw_operand *operand = &call->operands[i];
        bool written = is_written(call, i);
        bool is_new = lw_device_call_is_output(call, i) && call->made[i - nin] != NULL;
        lw_dtype dtype = door->is_elementwise ? (lw_dtype)operand->dtype : types[i];
        if (operand->kind != LW_OPERAND_DEVICE || is_new)
            continue;
        if (i < nin && written && operand->readonly) {
            PyErr_Format(PyExc_ValueError, "argument %d is read-only, and %s() writes into it",
                         i + 1, door->name(call->self));
            return -1;
        }
        if (operand->dtype == dtype && !must_move(call, i))
            operand->written = written;
        else if (replace_by_copy(call, i, dtype) < 0)
            return -1;
    }
    return 0;
}

/* A foreign producer waits for what was copied back. */
static int
order_source(const lw_device_call *call, int i)
{
    lw_operand source;
    lw_error err = {0};
    lw_status status = LW_OK;

    if (lw_operand_look(&source, call->source[i]) < 0)
        return -1;
    if (source.kind == LW_OPERAND_DEVICE && source.library != LW_LIB_OWN)
        status = lw_operand_done(&source, call->stream, &err);
    lw_operand_release(&source);
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

int
lw_device_call_copy_back(lw_device_call *call)
{
    for (int i = 0; i < call->n_read; i++)
        if (call->target[i] != NULL && call->target[i]->size &&
            (copy_into(call, call->target[i], (lw_device_array *)call->operands[i].object) <
                 0 ||
             order_source(call, i) < 0))
            return -1;
    return 0;
}
