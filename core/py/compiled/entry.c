/* Owns the ways around a call, and the rows of a profile: one for each object and method that
 * is called. A row holds its object until the next profile begins. */
#include "core/py/compiled/entry.h"

#include "core/base/array.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/device/launch_times.h"
#include "core/py/array/device_array.h"
#include "core/py/compiled/in_python.h"

#include <dlfcn.h>

/* ---- rows ---- */

typedef struct row {
    PyObject *object; /* owned; NULL in row 0 */
    const char *method;
} row;

static lw_lock lock = LW_LOCK_INIT; /* guards the rest of it; no Python is called under it */
static LW_ARRAY(row) rows;

/* Of this object and method; row 0 where memory runs out. */
static uint32_t
row_of(PyObject *object, const char *method)
{
    uint32_t at = LW_PROFILE_NO_CALL;
    row *made;

    lw_lock_take(&lock);
    for (uint32_t i = rows.n; i-- > 1 && at == LW_PROFILE_NO_CALL;)
        if (rows.data[i].object == object && rows.data[i].method == method)
            at = i;
    if (rows.n == 0)
        (void)lw_array_push(&rows, NULL); /* row 0 */
    made = rows.n > 0 && at == LW_PROFILE_NO_CALL ? lw_array_push(&rows, NULL) : NULL;
    if (made != NULL) {
        *made = (row){Py_NewRef(object), method};
        at = rows.n - 1;
    }
    lw_lock_give(&lock);
    return at;
}

static void
forget_rows(void)
{
    LW_ARRAY(row) old;

    lw_lock_take(&lock);
    old.data = rows.data;
    old.n = rows.n;
    old.capacity = rows.capacity;
    rows.data = NULL;
    rows.n = rows.capacity = 0;
    lw_lock_give(&lock);
    for (uint32_t i = 1; i < old.n; i++)
        Py_DECREF(old.data[i].object);
    lw_array_free(&old);
}

/* ---- bytes ---- */

/* Of an array of any library; 0 of anything else. */
static int64_t
bytes_of(PyObject *object)
{
    PyObject *given;
    int64_t n = 0;

    if (PyArray_Check(object))
        return (int64_t)PyArray_NBYTES((PyArrayObject *)object);
    if (lw_is_device_array(object)) {
        const lw_device_array *array = (const lw_device_array *)object;
        return array->size * array->itemsize;
    }
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            n += bytes_of(PyTuple_GET_ITEM(object, i));
        return n;
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || object == Py_None ||
        PyArray_CheckScalar(object))
        return 0;
    given = PyObject_GetAttrString(object, "nbytes");
    n = given != NULL && PyLong_Check(given) ? PyLong_AsLongLong(given) : 0;
    Py_XDECREF(given);
    PyErr_Clear();
    return n < 0 ? 0 : n;
}

static bool
is_among(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (args[i] == object)
            return true;
    return false;
}

/* Each array once. */
static int64_t
bytes_of_all(PyObject *const *args, Py_ssize_t n)
{
    int64_t sum = 0;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_among(args[i], args, i))
            sum += bytes_of(args[i]);
    return sum;
}

/* ---- calls ---- */

static PyObject *
name_of(lw_compiled *head)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)head, "__name__");

    PyErr_Clear();
    return name;
}

static void
range_begin(lw_compiled *head)
{
    PyObject *name = name_of(head);
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    PyErr_Clear();
    lw_profile_range_begin(text ? text : "lanewise");
    Py_XDECREF(name);
}

/* Whether calls of the function are a part of the one that is measured: it is the same, or was
 * made for objects that are passed to it (lanewise/_objects.py). */
static bool
is_part_of(PyObject *function, const lw_profile_frame *top)
{
    PyObject *whole;
    bool is_part = top != NULL && top->function == function;

    if (top == NULL || is_part)
        return is_part;
    whole = PyObject_GetAttrString(function, "_lanewise_part_of");
    is_part = whole != NULL && whole == top->function;
    PyErr_Clear();
    Py_XDECREF(whole);
    return is_part;
}

bool
lw_profile_call_begin(lw_profile_frame *frame, lw_compiled *head, const char *method,
                      PyObject *const *args, Py_ssize_t n_args)
{
    if (!lw_profiling() || is_part_of(head->py_func, lw_profile_top()))
        return false;
    frame->object = head;
    frame->function = head->py_func;
    frame->row = row_of((PyObject *)head, method);
    frame->n_bytes = bytes_of_all(args, n_args);
    frame->args = args;
    frame->n_args = n_args;
    range_begin(head);
    lw_profile_push(frame);
    return true;
}

void
lw_profile_call_end(lw_profile_frame *frame, PyObject *result)
{
    if (result != NULL && !is_among(result, frame->args, frame->n_args))
        frame->n_bytes += bytes_of(result);
    lw_profile_pop(frame, result == NULL);
    lw_profile_range_end();
}

/* Calls the object again, which then finds the frame. */
static PyObject *
call_measured(const lw_entry_call *call, lw_profile_frame *frame)
{
    PyObject *result;

    frame->object = call->object;
    result = call->enter(call->object, call->args, call->nargsf, call->kwnames);
    lw_profile_call_end(frame, result);
    return result;
}

bool
lw_went_round(const lw_entry_call *call, PyObject **result)
{
    Py_ssize_t n = PyVectorcall_NARGS(call->nargsf);
    lw_profile_frame *top = lw_profile_top(), frame;
    Py_ssize_t n_all = n + (call->kwnames ? PyTuple_GET_SIZE(call->kwnames) : 0);

    if (top != NULL && top->object == call->object && !top->entered) {
        top->entered = true;
    } else if (lw_profile_call_begin(&frame, call->head, NULL, call->args, n_all)) {
        *result = call_measured(call, &frame);
        return true;
    }
    if (!lw_runs_in_python(call->head))
        return false;
    if (top != NULL)
        top->in_python = true;
    *result = lw_run_in_python(call->name, call->object, call->args, n, call->kwnames);
    return true;
}

/* ---- for lanewise/_profile.py ---- */

static PyObject *
profile_begin(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    if (!lw_profiling())
        forget_rows();
    lw_profile_open();
    lw_env_touch();
    Py_RETURN_NONE;
}

static PyObject *
profile_end(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_profile_close();
    lw_env_touch();
    Py_RETURN_NONE;
}

/* [(object, method)], each with a new reference. */
static PyObject *
list_rows(void)
{
    PyObject *list = PyList_New(0);
    uint32_t n;

    lw_lock_take(&lock);
    n = rows.n;
    lw_lock_give(&lock);
    for (uint32_t i = 0; list != NULL && i < n; i++) {
        PyObject *item, *object;
        const char *method;
        lw_lock_take(&lock);
        object = rows.data[i].object ? rows.data[i].object : Py_None;
        method = rows.data[i].method;
        Py_INCREF(object);
        lw_lock_give(&lock);
        item = Py_BuildValue("(Nz)", object, method);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *
all_totals(Py_ssize_t n_rows)
{
    const Py_ssize_t size = LW_N_PROFILE_TARGETS * sizeof(lw_profile_totals);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n_rows * size);

    for (Py_ssize_t i = 0; bytes != NULL && i < n_rows; i++) {
        lw_profile_totals of_row[LW_N_PROFILE_TARGETS];
        lw_profile_totals_of((uint32_t)i, of_row);
        memcpy(PyBytes_AS_STRING(bytes) + i * size, of_row, (size_t)size);
    }
    return bytes;
}

static PyObject *
events_from(uint32_t first)
{
    uint32_t end = lw_profile_n_events(), n = end > first ? end - first : 0;
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(lw_profile_event)));

    if (bytes != NULL)
        lw_profile_events(first, n, (lw_profile_event *)(void *)PyBytes_AS_STRING(bytes));
    return bytes;
}

/* _profile_read(first) -> (rows, totals, events from number first on, how many were lost) */
static PyObject *
profile_read(PyObject *Py_UNUSED(module), PyObject *argument)
{
    unsigned long first = PyLong_AsUnsignedLong(argument);
    PyObject *list, *totals, *events;

    if (first == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    lw_launch_times_read();
    Py_END_ALLOW_THREADS
    list = list_rows();
    totals = list ? all_totals(PyList_GET_SIZE(list) ? PyList_GET_SIZE(list) : 1) : NULL;
    events = totals ? events_from((uint32_t)first) : NULL;
    if (events != NULL)
        return Py_BuildValue("(NNNK)", list, totals, events,
                             (unsigned long long)lw_profile_n_lost());
    Py_XDECREF(list);
    Py_XDECREF(totals);
    return NULL;
}

static PyObject *
profile_n_events(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLong(lw_profile_n_events());
}

/* _profile_ranges(path): calls push NVIDIA's ranges from now on; None: no more. Returns whether
 * the library was there. */
static PyObject *
profile_ranges(PyObject *Py_UNUSED(module), PyObject *path)
{
    void *library = NULL, *push = NULL, *pop = NULL;

    if (path != Py_None) {
        const char *name = PyUnicode_AsUTF8(path);
        if (name == NULL)
            return NULL;
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* stays for the life of the process */
    }
    if (library != NULL) {
        push = dlsym(library, "nvtxRangePushA");
        pop = dlsym(library, "nvtxRangePop");
    }
    if (push == NULL || pop == NULL)
        push = pop = NULL;
    lw_profile_ranges((lw_range_push)(uintptr_t)push, (lw_range_pop)(uintptr_t)pop);
    return PyBool_FromLong(push != NULL);
}

static PyMethodDef functions[] = {{"_profile_begin", profile_begin, METH_NOARGS, NULL},
                                  {"_profile_end", profile_end, METH_NOARGS, NULL},
                                  {"_profile_read", profile_read, METH_O, NULL},
                                  {"_profile_n_events", profile_n_events, METH_NOARGS, NULL},
                                  {"_profile_ranges", profile_ranges, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int
lw_profile_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
