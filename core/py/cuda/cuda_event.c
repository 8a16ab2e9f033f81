/* Event. */
#include "core/device/stream.h"
#include "core/py/cuda/cuda_internal.h"
#include "core/py/host_cuda.h"
#include "core/py/method_table.h"
#include "core/py/reports.h"
#include "core/py/state.h"

#include <stddef.h>
#include <structmember.h>

bool
lw_cuda_is_event(PyObject *object)
{
    if (Py_TYPE(object) == lw_core->event_type)
        return true;
    PyErr_Format(PyExc_TypeError, "event: expected an Event, got %.200s",
                 Py_TYPE(object)->tp_name);
    return false;
}

PyObject *
lw_cuda_event_make(bool timing)
{
    lw_device *device = lw_current_device();
    PyTypeObject *type;
    lw_event_object *self;
    lw_error err = {0};
    lw_event *event;

    if (device == NULL)
        return NULL;
    if (lw_event_new(device, timing, &event, &err) != LW_OK)
        return lw_py_raise(&err);
    type = lw_state_class(lw_core->event_type);
    self = type ? PyObject_New(lw_event_object, type) : NULL;
    if (self == NULL) {
        lw_event_free(event);
        return NULL;
    }
    self->event = event;
    self->weakrefs = NULL;
    return (PyObject *)self;
}

static void
event_dealloc(PyObject *object)
{
    lw_event_object *self = (lw_event_object *)object;
    PyTypeObject *type = Py_TYPE(self);

    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    lw_event_free(self->event);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int
stream_argument(PyObject *args, PyObject *kwargs, const char *format, CUstream *out)
{
    static char *names[] = {"stream", NULL};
    PyObject *stream = Py_None;

    *out = NULL;
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &stream)
               ? lw_stream_read(stream, out)
               : -1;
}

static PyObject *
event_record(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_error err = {0};
    CUstream stream;

    if (stream_argument(args, kwargs, "|O:record", &stream) < 0)
        return NULL;
    if (lw_event_record(((lw_event_object *)self)->event, stream, &err) != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
event_wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_event *event = ((lw_event_object *)self)->event;
    lw_error err = {0};
    CUstream stream;

    if (stream_argument(args, kwargs, "|O:wait", &stream) < 0)
        return NULL;
    if (lw_event_wait(event, event->device, stream, &err) != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
event_synchronize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_event_synchronize(((lw_event_object *)self)->event, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    if (lw_check_errors() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
event_query(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_error err = {0};
    bool done;

    if (lw_event_query(((lw_event_object *)self)->event, &done, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyBool_FromLong(done);
}

static PyObject *
elapsed(PyObject *from, PyObject *to)
{
    lw_error err = {0};
    float ms;

    if (!lw_cuda_is_event(from) || !lw_cuda_is_event(to))
        return NULL;
    if (lw_event_elapsed(((lw_event_object *)from)->event, ((lw_event_object *)to)->event, &ms,
                         &err) != LW_OK)
        return lw_py_raise(&err);
    return PyFloat_FromDouble(ms);
}

static PyObject *
event_get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(((lw_event_object *)self)->event->handle);
}

static PyMethodDef event_methods[] = {
    {"record", LW_KEYWORDS(event_record),
     "record(stream=0): record the event at this point of the stream"},
    {"wait", LW_KEYWORDS(event_wait),
     "wait(stream=0): let later work of the stream wait for the event"},
    {"synchronize", event_synchronize, METH_NOARGS,
     "Wait until all work before the event is done."},
    {"query", event_query, METH_NOARGS, "Return whether all work before the event is done."},
    {"elapsed_time", elapsed, METH_O,
     "elapsed_time(end): return the milliseconds from this event to the event `end`"},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef event_getset[] = {
    {"handle", event_get_handle, NULL, "the driver's handle, an int", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef event_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lw_event_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot event_slots[] = {
    {Py_tp_new, lw_cuda_refuse_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_doc, "A point in the work of a stream. Made by cuda.event().\n\n"
                ">>> begin, end = cuda.event(), cuda.event()\n"
                ">>> begin.record()\n"
                ">>> d = cuda.to_device(np.ones(3)) * 2\n"
                ">>> end.record()\n"
                ">>> end.synchronize()\n"
                ">>> begin.elapsed_time(end) >= 0\n"
                "True"},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_getset},
    {Py_tp_members, event_members},
    {0, NULL}};
static PyType_Spec event_spec = {"lanewise.cuda.Event", sizeof(lw_event_object), 0,
                                 Py_TPFLAGS_DEFAULT, event_slots};

static PyObject *
make_event(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"timing", NULL};
    int timing = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:event", names, &timing))
        return NULL;
    return lw_cuda_event_make(timing);
}

static PyObject *
event_elapsed_time(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *from, *to;

    if (!PyArg_ParseTuple(args, "OO:event_elapsed_time", &from, &to))
        return NULL;
    return elapsed(from, to);
}

LW_ON_HOST_KEYWORDS(make_event)
LW_ON_HOST_MANY(event_elapsed_time)

PyMethodDef lw_cuda_event_functions[] = {
    {"event", LW_KEYWORDS(make_event_there), "event(timing=True): return a new event"},
    {"event_elapsed_time", event_elapsed_time_there, METH_VARARGS,
     "event_elapsed_time(evtstart, evtend): return the milliseconds between two recorded "
     "events"},
    {NULL, NULL, 0, NULL}};

int
lw_cuda_event_register(PyObject *module)
{
    return lw_cuda_add_type(module, &event_spec, &lw_core->event_type);
}
