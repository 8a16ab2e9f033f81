/* Loops of datetime64 and timedelta64 behind an inner numpy.ufunc. NumPy dispatches by classes
 * of dtypes, which have no unit: one method stands for all loops of one tuple of classes, and
 * when NumPy asks it for the dtypes of a call, the loop for its units is chosen, and made where
 * it is new. A call with a tuple of classes that has no method yet asks the promoter, which
 * looks for a loop of some unit (seconds, where the ufunc is typed by its inputs and takes
 * them), as only the classes of the result count then. */
#include "core/py/numpy/ufunc_inner.h"

#include "core/py/descr.h"
#include "core/py/numpy/host_loops.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/raise.h"
#include "core/py/state.h"
#include "core/py/type_num.h"

bool
lw_class_is_time(const PyArray_DTypeMeta *class)
{
    return class != NULL && PyTypeNum_ISDATETIME(class->type_num);
}

lw_dtype
lw_dtype_of_class(const PyArray_DTypeMeta *class)
{
    if (lw_class_is_time(class))
        return lw_time_dtype(class->type_num == NPY_DATETIME ? LW_KIND_DATETIME
                                                             : LW_KIND_TIMEDELTA,
                             LW_UNIT_s, 1);
    return lw_dtype_from_any_num(class->type_num);
}

bool
lw_types_have_time(const lw_dtype *types, int n)
{
    for (int i = 0; i < n; i++)
        if (lw_is_time(types[i]))
            return true;
    return false;
}

/* ---- the promoter's choice among declared loops ---- */

static bool
class_fits(const lw_wanted *wanted, int i, lw_dtype slot)
{
    if (wanted->weak[i])
        return !lw_is_time(slot) && lw_weak_fits(wanted->weak[i], slot);
    if (lw_is_time(wanted->in[i]))
        return lw_dtypes[wanted->in[i]].kind == lw_dtypes[slot].kind;
    return wanted->in[i] != LW_DT_void && lw_can_cast_safe(wanted->in[i], slot);
}

void *
lw_times_declared(lw_ufunc_head *self, const lw_wanted *wanted)
{
    for (uint32_t at = 0; at < self->kind->n_loops(self); at++) {
        const lw_loop_head *loop = self->kind->loop_at(self, at);
        bool fits = true;
        for (int i = 0; i < self->nin && fits; i++)
            fits = class_fits(wanted, i, loop->types[i]);
        if (fits)
            return (void *)loop;
    }
    lw_loops_raise_none(self, wanted);
    return NULL;
}

/* A function may refuse some units; what is wrong with it for seconds is said best. */
void *
lw_times_typed(lw_ufunc_head *self, const lw_wanted *wanted)
{
    static const lw_time_unit others[] = {LW_UNIT_ns, LW_UNIT_D, LW_UNIT_Y, LW_UNIT_ms,
                                          LW_UNIT_generic};
    void *loop = lw_loops_choose(self, wanted);
    PyObject *type, *value, *traceback;
    lw_wanted other = *wanted;

    if (loop != NULL || !lw_py_refused())
        return loop;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t k = 0; k < sizeof others / sizeof *others && loop == NULL; k++) {
        for (int i = 0; i < self->nin; i++)
            if (lw_is_time(wanted->in[i]))
                other.in[i] = lw_time_dtype(lw_dtypes[wanted->in[i]].kind, others[k], 1);
        loop = lw_loops_choose(self, &other);
        if (loop == NULL && !lw_py_refused())
            break;
        PyErr_Clear();
    }
    if (loop == NULL && !PyErr_Occurred()) {
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return loop;
}

/* ---- what is wrong with a call, by its own units ---- */

static char
weak_of(PyObject *object)
{
    return PyLong_CheckExact(object)      ? 'i'
           : PyFloat_CheckExact(object)   ? 'f'
           : PyComplex_CheckExact(object) ? 'c'
                                          : 0;
}

/* false: no inputs of which some are times, or not all of dtypes that compiled code has. */
static bool
read_units(const lw_ufunc_head *self, PyObject *const *args, lw_wanted *wanted)
{
    bool any = false, known = true;

    for (int i = 0; i < self->nin && known; i++) {
        PyArrayObject *array = NULL;
        wanted->weak[i] = weak_of(args[i]);
        if (wanted->weak[i])
            continue;
        array = (PyArrayObject *)PyArray_FROM_O(args[i]);
        wanted->in[i] = array ? lw_dtype_of_descr(PyArray_DESCR(array)) : LW_DT_void;
        known = wanted->in[i] != LW_DT_void;
        any |= lw_is_time(wanted->in[i]);
        Py_XDECREF(array);
    }
    PyErr_Clear();
    return any && known;
}

void
lw_times_explain(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *type, *value, *traceback;
    lw_wanted wanted = {0};

    if (n_args < self->nin || !lw_py_refused())
        return;
    PyErr_Fetch(&type, &value, &traceback);
    if (read_units(self, args, &wanted) && lw_loops_choose(self, &wanted) == NULL &&
        lw_py_refused()) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return;
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

/* ---- what NumPy asks a method ---- */

/* Methods by identity, which live as long as their table. New reference to the owner. */
static lw_ufunc_head *
owner_of(struct PyArrayMethodObject_tag *method)
{
    PyObject *methods = lw_core->time_methods, *found = NULL;

    if (methods != NULL)
        found = PyDict_GetItemWithError(methods, (PyObject *)method);
    if (found == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "a loop of times without its ufunc");
        return NULL;
    }
    return lw_inner_owner(PyCapsule_GetPointer(found, "lanewise.times"));
}

static lw_dtype
native_dtype(PyArray_Descr *given)
{
    PyArray_Descr *native;
    lw_dtype dtype;

    if (PyArray_ISNBO(given->byteorder))
        return lw_dtype_of_descr(given);
    native = PyArray_DescrNewByteorder(given, NPY_NATIVE);
    dtype = native ? lw_dtype_of_descr(native) : LW_DT_void;
    Py_XDECREF(native);
    return dtype;
}

static int
describe_call(const lw_ufunc_head *self, PyArray_Descr *const given[], lw_wanted *wanted)
{
    memset(wanted, 0, sizeof *wanted);
    for (int i = 0; i < self->nin; i++) {
        wanted->in[i] = native_dtype(given[i]);
        if (wanted->in[i] == LW_DT_void && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "`%s` cannot take %.200R: %s", self->table->name,
                         (PyObject *)given[i],
                         PyTypeNum_ISDATETIME(given[i]->type_num)
                             ? "there are too many different multiples of units"
                             : "compiled code does not support this dtype");
        if (wanted->in[i] == LW_DT_void)
            return -1;
    }
    return 0;
}

/* The dtypes of the loop; they must be of the method's classes. */
static int
take_descrs(const lw_ufunc_head *self, const lw_loop_head *loop,
            PyArray_DTypeMeta *const classes[], PyArray_Descr *out[])
{
    int n = self->nin + self->nout, made = 0;

    for (; made < n; made++) {
        out[made] = lw_descr_of(loop->types[made]);
        if (out[made] == NULL)
            break;
        Py_INCREF(out[made]);
        if (NPY_DTYPE(out[made]) != classes[made]) {
            PyErr_Format(PyExc_TypeError,
                         "`%s` has results of other kinds for these units than for seconds: "
                         "give it signatures",
                         self->table->name);
            made++;
            break;
        }
    }
    if (!PyErr_Occurred())
        return 0;
    while (made-- > 0)
        Py_CLEAR(out[made]);
    return -1;
}

static NPY_CASTING
resolve(struct PyArrayMethodObject_tag *method, PyArray_DTypeMeta *const classes[],
        PyArray_Descr *const given[], PyArray_Descr *out[], npy_intp *Py_UNUSED(view_offset))
{
    lw_ufunc_head *self = owner_of(method);
    const lw_loop_head *loop = NULL;
    lw_wanted wanted;
    int failed = -1;

    if (self != NULL && describe_call(self, given, &wanted) == 0)
        loop = lw_loops_choose(self, &wanted);
    if (loop != NULL)
        failed = take_descrs(self, loop, classes, out);
    else if (self != NULL && !PyErr_Occurred())
        lw_loops_raise_none(self, &wanted);
    Py_XDECREF((PyObject *)self);
    return failed < 0 ? (NPY_CASTING)-1 : NPY_NO_CASTING;
}

/* ---- registering ---- */

/* What NumPy has added last: its loops are a list before 2.5, a dict by classes from then on.
 */
static PyObject *
newest_entry(PyObject *loops)
{
    PyObject *key, *value, *last = NULL;
    Py_ssize_t at = 0;

    if (loops == NULL)
        return NULL;
    if (PyList_Check(loops) && PyList_GET_SIZE(loops) > 0)
        return PyList_GET_ITEM(loops, PyList_GET_SIZE(loops) - 1);
    while (PyDict_Check(loops) && PyDict_Next(loops, &at, &key, &value))
        last = value;
    return last;
}

/* The method that NumPy has just added to its loops. Borrowed. */
static PyObject *
newest_method(PyObject *inner)
{
    PyObject *entry = newest_entry(((PyUFuncObject *)inner)->_loops);

    if (entry != NULL && PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 2)
        return PyTuple_GET_ITEM(entry, 1);
    PyErr_SetString(
        PyExc_RuntimeError,
        "this version of NumPy keeps the loops of ufuncs in a way that lanewise does "
        "not know: times need another version of one of the two");
    return NULL;
}

static int
remember_method(lw_loop_table *table, PyObject *method)
{
    PyObject *capsule = PyCapsule_New(table, "lanewise.times", NULL);
    int failed = -1;

    if (lw_core->time_methods == NULL)
        lw_core->time_methods = PyDict_New();
    if (table->time_methods == NULL)
        table->time_methods = PyList_New(0);
    if (capsule != NULL && lw_core->time_methods != NULL && table->time_methods != NULL)
        failed = PyDict_SetItem(lw_core->time_methods, method, capsule);
    if (failed == 0)
        failed = PyList_Append(table->time_methods, method);
    Py_XDECREF(capsule);
    return failed;
}

int
lw_times_give(lw_ufunc_head *self, PyObject *inner, const lw_loop_head *loop,
              PyArrayMethod_Spec *spec)
{
    enum { MOST_SLOTS = 8 };
    PyType_Slot slots[MOST_SLOTS];
    PyObject *method;
    int n = 0;

    for (const PyType_Slot *slot = spec->slots; slot->slot != 0 && n < MOST_SLOTS - 2; slot++)
        slots[n++] = *slot;
    slots[n++] = (PyType_Slot){NPY_METH_resolve_descriptors, (void *)resolve};
    slots[n] = (PyType_Slot){0, NULL};
    spec->slots = slots;
    if (lw_host_loop_give(inner, spec, loop->types, NULL, loop->nin, loop->nout,
                          loop->scalar->pure_integer) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear(); /* it has a method for these classes */
        return 0;
    }
    method = newest_method(inner);
    return method ? remember_method(self->table, method) : -1;
}

void
lw_times_forget(lw_loop_table *table)
{
    Py_ssize_t n = table->time_methods ? PyList_GET_SIZE(table->time_methods) : 0;

    for (Py_ssize_t i = 0; i < n && lw_core->time_methods != NULL; i++)
        if (PyDict_DelItem(lw_core->time_methods, PyList_GET_ITEM(table->time_methods, i)) < 0)
            PyErr_Clear();
    Py_CLEAR(table->time_methods);
}
