#include "reduce/stage_py.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/compiled/renew.h"
#include "core/py/descr.h"
#include "reduce/form_py.h"

#include <string.h>

static const char *const stages[] = {[LW_REDUCE_WHOLE] = NULL,
                                     [LW_REDUCE_PARTIAL] = "partial",
                                     [LW_REDUCE_MERGE] = "merge",
                                     [LW_REDUCE_FINISH] = "finish"};

const char *
lw_reduce_stage_name(lw_reduce_stage stage)
{
    return stages[stage];
}

/* LW_REDUCE_WHOLE with an exception. */
static lw_reduce_stage
read_stage(const char *name)
{
    for (size_t i = LW_REDUCE_PARTIAL; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(name, stages[i]) == 0)
            return (lw_reduce_stage)i;
    PyErr_Format(PyExc_ValueError, "no stage of a reduction is called %.100s", name);
    return LW_REDUCE_WHOLE;
}

/* The operands of these dtypes, and dtype=. -1 with an exception. */
static int
read_operands(lw_reduce_call *call, PyObject *dtypes, PyObject *dtype)
{
    lw_dtype number[LW_REDUCE_MOST];
    int64_t offset[LW_REDUCE_MOST];

    call->keywords.dtype = dtype;
    if (lw_reduce_check_count(call, PyTuple_GET_SIZE(dtypes)) < 0 ||
        lw_reduce_read_dtype(call) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dtypes); i++) {
        PyArray_Descr *descr = NULL;
        uint32_t n = 0;
        if (PyArray_DescrConverter(PyTuple_GET_ITEM(dtypes, i), &descr))
            n = lw_reduce_take_dtype(call, (uint32_t)i, descr, number, offset);
        Py_XDECREF(descr);
        if (n == 0)
            return -1;
        call->n_in += n;
    }
    return lw_reduce_check_times(call, PyTuple_GET_SIZE(dtypes));
}

/* How many numbers of an accumulator are the user's. */
static uint32_t
n_own(const lw_reduction *r)
{
    return r->n_acc - r->n_raised;
}

static PyObject *
accumulator_dtypes(const lw_reduction *r)
{
    PyObject *all = PyTuple_New(n_own(r));

    for (uint32_t i = 0; all != NULL && i < n_own(r); i++) {
        PyArray_Descr *descr = lw_descr_of(r->acc[i]);
        if (descr == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, Py_NewRef((PyObject *)descr));
    }
    return all;
}

/* ---- the dtypes of results ---- */

static int
add_number(void *list, uint32_t Py_UNUSED(to), uint32_t from)
{
    const lw_reduce_call *call = *(lw_reduce_call *const *)list;
    PyArray_Descr *descr = lw_descr_of(call->specialisation->reduction->out[from]);

    return descr ? PyList_Append(((PyObject **)list)[1], (PyObject *)descr) : -1;
}

static int
add_record(void *list, uint32_t Py_UNUSED(to), PyArray_Descr *descr, uint32_t Py_UNUSED(from),
           uint32_t Py_UNUSED(n), const int64_t *Py_UNUSED(offset))
{
    return PyList_Append(((PyObject **)list)[1], (PyObject *)descr);
}

static PyObject *
item(void *list, uint32_t i)
{
    return Py_XNewRef(PyList_GetItem(list, (Py_ssize_t)i));
}

/* One for each array of results, in the caller's tuples. */
static PyObject *
result_dtypes(const lw_reduce_call *call)
{
    static const lw_reduce_packing packing = {add_number, add_record};
    const void *context[] = {call, PyList_New(0)};
    PyObject *list = (PyObject *)context[1], *result = NULL;

    if (list != NULL && lw_reduce_pack(call, &packing, context) == 0)
        result = lw_reduce_arrange(&call->specialisation->reduction->out_form, item, list);
    Py_XDECREF(list);
    return result;
}

/* The same functions and keywords; what differs is the stage. */
static PyObject *
new_stage(lw_reducer *whole, lw_reduce_stage stage, const lw_reduce_call *call, uint32_t n)
{
    const lw_request request = {.function = whole->py_func, .keywords = whole->keywords};
    lw_operand_scope scope = lw_compiled_enter_operands((lw_compiled *)whole);
    lw_reducer *made = (lw_reducer *)whole->door->make(Py_TYPE(whole), &request);

    lw_compiled_leave_operands(&scope);
    if (made == NULL)
        return NULL;
    made->stage = stage;
    made->whole = Py_NewRef((PyObject *)whole);
    if (stage != LW_REDUCE_PARTIAL) {
        memcpy(made->of, call->array, n * sizeof *made->of);
        made->n_of = n;
        made->of_dtype = call->dtype;
        made->n_taken = n_own(call->specialisation->reduction);
    }
    return (PyObject *)made;
}

/* Of a call of which the operands have been read. */
static PyObject *
describe_call(lw_reduce_call *call, lw_reduce_stage stage, uint32_t n)
{
    const lw_reduction *r = call->specialisation->reduction;
    PyObject *made = new_stage(call->self, stage, call, n), *result = NULL;
    PyObject *numbers = made ? accumulator_dtypes(r) : NULL;
    PyObject *results = numbers ? result_dtypes(call) : NULL;

    if (results != NULL && lw_reduce_read_initial(call) == 0)
        result = PyTuple_Pack(7, made, numbers, r->commutative ? Py_True : Py_False,
                              r->indexed ? Py_True : Py_False, results,
                              call->has_empty ? Py_True : Py_False,
                              call->has_empty || r->has_neutral ? Py_True : Py_False);
    Py_XDECREF(results);
    Py_XDECREF(numbers);
    Py_XDECREF(made);
    return result;
}

static PyObject *
describe(lw_reducer *whole, const char *name, PyObject *dtypes, PyObject *dtype)
{
    lw_reduce_stage stage = read_stage(name);
    lw_reduce_call *call = stage ? lw_reduce_call_new((PyObject *)whole) : NULL;
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(dtypes);
    PyObject *result = NULL;

    if (call == NULL)
        return NULL;
    if (read_operands(call, dtypes, dtype) == 0)
        call->specialisation = lw_reducer_specialisation(whole, call->array, n, call->dtype);
    if (call->specialisation != NULL)
        result = describe_call(call, stage, n);
    lw_reduce_call_end(call, NULL);
    return result;
}

/* A stage has captured values of its own: where a number is an operand of the whole, it is one
 * of the stage, too, which takes its value of now, unless it had to be a constant there. */
static bool
is_of_now(PyObject *described)
{
    lw_captures *captures = ((lw_compiled *)PyTuple_GET_ITEM(described, 0))->captures;

    return captures == NULL || !lw_captures_changed(captures);
}

/* Of these dtypes: made once for each set of captured values. New reference. */
static PyObject *
find_or_make(lw_reducer *self, PyObject *key)
{
    PyObject *found, *dtypes, *dtype;
    const char *name;

    if (self->stages == NULL)
        self->stages = PyDict_New();
    found = self->stages ? PyDict_GetItemWithError(self->stages, key) : NULL;
    if ((found != NULL && is_of_now(found)) || PyErr_Occurred())
        return Py_XNewRef(found);
    if (!PyArg_ParseTuple(key, "sO!O:_staged", &name, &PyTuple_Type, &dtypes, &dtype))
        return NULL;
    found = describe(self, name, dtypes, dtype);
    if (found != NULL && PyDict_SetItem(self->stages, key, found) < 0)
        Py_CLEAR(found);
    return found;
}

PyObject *
lw_reducer_staged(PyObject *self, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(self);
    result = find_or_make((lw_reducer *)self, args);
    Py_END_CRITICAL_SECTION();
    return result;
}

#define IN_PYTHON(name)                                                                        \
    PyObject *lw_reducer_##name(PyObject *self, PyObject *args, PyObject *kwargs)              \
    {                                                                                          \
        return lw_service_call_by(LW_SERVICE_PARTIALS, #name, self, args, kwargs);             \
    }
IN_PYTHON(partial)
IN_PYTHON(merge)
IN_PYTHON(finish)
#undef IN_PYTHON
