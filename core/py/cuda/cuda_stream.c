/* Stream. Live streams that we made stand in a list, so that an array which was used
 * on one can keep it: the driver must not see a destroyed handle. An array keeps the driver's
 * stream, not the object: what is dying cannot be lent. */
#include "core/base/memory.h"
#include "core/device/stream.h"
#include "core/front/read/critical.h"
#include "core/front/read/services.h"
#include "core/py/cuda/cuda_internal.h"
#include "core/py/host_cuda.h"
#include "core/py/method_table.h"
#include "core/py/reports.h"
#include "core/py/state.h"

#include <stddef.h>
#include <structmember.h>

struct lw_kept_stream {
    lw_stream *stream;
    uint32_t n_users;     /* its Stream object and arrays; the last one destroys it */
    lw_kept_stream *next; /* in `owned_streams`, where it is one of ours */
};

typedef struct stream_object {
    PyObject_HEAD
    lw_stream *stream;
    lw_kept_stream *kept; /* has it */
    PyObject *weakrefs;
} stream_object;

typedef struct waiter_object {
    PyObject_HEAD
    PyObject *stream;
} waiter_object;

static lw_py_mutex streams_lock; /* of the list and of the numbers of users */
static lw_kept_stream *owned_streams;

lw_kept_stream *
lw_stream_keep(CUstream handle)
{
    lw_kept_stream *at;

    lw_py_mutex_take(&streams_lock);
    for (at = owned_streams; at != NULL && at->stream->handle != handle;)
        at = at->next;
    if (at != NULL)
        at->n_users++;
    lw_py_mutex_give(&streams_lock);
    return at;
}

lw_kept_stream *
lw_stream_keep_too(lw_kept_stream *kept)
{
    if (kept == NULL)
        return NULL;
    lw_py_mutex_take(&streams_lock);
    kept->n_users++;
    lw_py_mutex_give(&streams_lock);
    return kept;
}

static void
unlist(const lw_kept_stream *kept)
{
    lw_kept_stream **link = &owned_streams;

    while (*link != NULL && *link != kept)
        link = &(*link)->next;
    if (*link != NULL)
        *link = kept->next;
}

void
lw_stream_drop(lw_kept_stream *kept)
{
    bool last;

    if (kept == NULL)
        return;
    lw_py_mutex_take(&streams_lock);
    last = --kept->n_users == 0;
    if (last)
        unlist(kept);
    lw_py_mutex_give(&streams_lock);
    if (!last)
        return;
    lw_stream_free(kept->stream);
    lw_free(kept);
}

/* Steals stream. NULL with an exception. */
static lw_kept_stream *
kept_new(lw_stream *stream)
{
    lw_kept_stream *kept = lw_alloc_zero(1, sizeof *kept);

    if (kept == NULL) {
        lw_stream_free(stream);
        return (lw_kept_stream *)PyErr_NoMemory();
    }
    kept->stream = stream;
    kept->n_users = 1;
    if (stream->owned) {
        lw_py_mutex_take(&streams_lock);
        kept->next = owned_streams;
        owned_streams = kept;
        lw_py_mutex_give(&streams_lock);
    }
    return kept;
}

/* Whether it is our Stream; then *out is its handle. */
static bool
stream_of(PyObject *object, CUstream *out)
{
    if (Py_TYPE(object) != lw_core->stream_type)
        return false;
    *out = ((stream_object *)object)->stream->handle;
    return true;
}

int
lw_stream_check(PyObject *object, const lw_device *device)
{
    const lw_stream *stream =
        Py_TYPE(object) == lw_core->stream_type ? ((stream_object *)object)->stream : NULL;

    if (stream == NULL || !stream->owned || stream->device == device)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "stream= was made on device %d, and the arrays are on device %d: make it in "
                 "`with cuda.gpus[%d]:`",
                 stream->device->ordinal, device->ordinal, device->ordinal);
    return -1;
}

/* Steals stream. */
static PyObject *
stream_new(lw_stream *stream)
{
    PyTypeObject *type = lw_state_class(lw_core->stream_type);
    lw_kept_stream *kept = kept_new(stream);
    stream_object *self = type && kept ? PyObject_New(stream_object, type) : NULL;

    if (self == NULL) {
        lw_stream_drop(kept);
        return NULL;
    }
    self->stream = stream;
    self->kept = kept;
    self->weakrefs = NULL;
    return (PyObject *)self;
}

static void
stream_dealloc(PyObject *object)
{
    stream_object *self = (stream_object *)object;
    PyTypeObject *type = Py_TYPE(self);

    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    lw_stream_drop(self->kept);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the stream= argument ---- */

static int
handle_read(PyObject *number, CUstream *out)
{
    PyObject *index = PyNumber_Index(number);
    unsigned long long handle;

    if (index == NULL)
        return -1;
    handle = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (handle == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "stream: %.200R is not a stream handle", number);
        return -1;
    }
    *out = handle <= 1 ? NULL : (CUstream)(uintptr_t)handle;
    return 0;
}

/* The protocol: a method (once a property) that gives (0, handle). */
static int
read_stream_protocol(PyObject *attribute, CUstream *out)
{
    PyObject *pair =
        PyCallable_Check(attribute) ? PyObject_CallNoArgs(attribute) : Py_NewRef(attribute);
    int result = -1;

    if (pair == NULL)
        return -1;
    if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
        PyIndex_Check(PyTuple_GET_ITEM(pair, 1)))
        result = handle_read(PyTuple_GET_ITEM(pair, 1), out);
    else
        PyErr_Format(PyExc_TypeError,
                     "stream: __cuda_stream__ must give (version, handle), got %.200R", pair);
    Py_DECREF(pair);
    return result;
}

int
lw_stream_read(PyObject *object, CUstream *out)
{
    static const char *const attributes[] = {"__cuda_stream__", "cuda_stream", "ptr"};
    PyObject *attribute;
    int result;

    *out = NULL;
    if (object == Py_None)
        return 0;
    if (stream_of(object, out))
        return 0;
    if (PyLong_Check(object) && !PyBool_Check(object))
        return handle_read(object, out);
    for (int i = 0; i < 3; i++) {
        attribute = PyObject_GetAttrString(object, attributes[i]);
        if (attribute == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                return -1;
            PyErr_Clear();
            continue;
        }
        if (i == 0)
            result = read_stream_protocol(attribute, out);
        else
            result = PyIndex_Check(attribute) ? handle_read(attribute, out) : 1;
        Py_DECREF(attribute);
        if (result <= 0)
            return result;
    }
    PyErr_Format(PyExc_TypeError, "stream: expected a stream, a handle, 0 or None, got %.200s",
                 Py_TYPE(object)->tp_name);
    return -1;
}

/* ---- making streams ---- */

static PyObject *
wrap_handle(CUstream handle)
{
    lw_device *device = lw_current_device();
    lw_stream *stream;
    lw_error err = {0};

    if (device == NULL)
        return NULL;
    if (lw_stream_wrap(device, handle, &stream, &err) != LW_OK)
        return lw_py_raise(&err);
    return stream_new(stream);
}

/* ---- Stream ---- */

static PyObject *
wait_for(lw_stream *stream)
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_stream_synchronize(stream->device, stream->handle, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    if (lw_check_errors() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
stream_synchronize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return wait_for(((stream_object *)self)->stream);
}

static PyObject *
stream_query(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_stream *stream = ((stream_object *)self)->stream;
    lw_error err = {0};
    bool done;

    if (lw_stream_query(stream->device, stream->handle, &done, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyBool_FromLong(done);
}

static PyObject *
stream_record(PyObject *self, PyObject *args)
{
    PyObject *event = Py_None;
    lw_error err = {0};

    if (!PyArg_ParseTuple(args, "|O:record", &event))
        return NULL;
    if (event == Py_None)
        event = lw_cuda_event_make(false);
    else if (lw_cuda_is_event(event))
        Py_INCREF(event);
    else
        return NULL;
    if (event != NULL &&
        lw_event_record(((lw_event_object *)event)->event,
                        ((stream_object *)self)->stream->handle, &err) != LW_OK) {
        Py_DECREF(event);
        return lw_py_raise(&err);
    }
    return event;
}

/* Waits for an event, or for all that another stream was given so far. */
static PyObject *
stream_wait(PyObject *self, PyObject *other)
{
    lw_stream *stream = ((stream_object *)self)->stream;
    lw_error err = {0};
    lw_status status;
    CUstream earlier;

    if (Py_TYPE(other) == lw_core->event_type)
        status = lw_event_wait(((lw_event_object *)other)->event, stream->device,
                               stream->handle, &err);
    else if (Py_TYPE(other) == lw_core->stream_type)
        status = lw_stream_after_on(stream->device, stream->handle,
                                    ((stream_object *)other)->stream->device,
                                    ((stream_object *)other)->stream->handle, &err);
    else if (lw_stream_read(other, &earlier) == 0)
        status = lw_stream_after(stream->device, stream->handle, earlier, &err);
    else
        return NULL;
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
stream_auto(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyTypeObject *type = lw_state_class(lw_core->waiter_type);
    waiter_object *waiter = type ? PyObject_New(waiter_object, type) : NULL;

    if (waiter != NULL)
        waiter->stream = Py_NewRef(self);
    return (PyObject *)waiter;
}

static PyObject *
stream_protocol(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_BuildValue("(iN)", 0,
                         PyLong_FromVoidPtr(((stream_object *)self)->stream->handle));
}

static PyObject *
stream_int(PyObject *self)
{
    return PyLong_FromVoidPtr(((stream_object *)self)->stream->handle);
}

static PyObject *
stream_get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    return stream_int(self);
}

static PyObject *
stream_get_device(PyObject *self, void *Py_UNUSED(closure))
{
    return lw_device_object(((stream_object *)self)->stream->device);
}

static PyObject *
stream_repr(PyObject *self)
{
    lw_stream *stream = ((stream_object *)self)->stream;

    if (stream->handle == NULL)
        return PyUnicode_FromFormat("<Default CUDA stream on device %d>",
                                    stream->device->ordinal);
    if (stream->handle == LW_STREAM_PER_THREAD)
        return PyUnicode_FromFormat("<Per-thread default CUDA stream on device %d>",
                                    stream->device->ordinal);
    return PyUnicode_FromFormat("<%s %p on device %d>",
                                stream->owned ? "CUDA stream" : "External CUDA stream",
                                (void *)stream->handle, stream->device->ordinal);
}

static PyObject *
stream_compare(PyObject *a, PyObject *b, int how)
{
    lw_stream *x, *y;
    CUstream handle;

    if (PyLong_CheckExact(b) && (how == Py_EQ || how == Py_NE)) { /* DeviceArray.stream */
        if (handle_read(b, &handle) < 0) {
            PyErr_Clear();
            return PyBool_FromLong(how == Py_NE);
        }
        x = ((stream_object *)a)->stream;
        return PyBool_FromLong((x->handle == handle) == (how == Py_EQ));
    }
    if (Py_TYPE(a) != lw_core->stream_type || Py_TYPE(b) != lw_core->stream_type ||
        (how != Py_EQ && how != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    x = ((stream_object *)a)->stream;
    y = ((stream_object *)b)->stream;
    return PyBool_FromLong((x->handle == y->handle && x->device == y->device) ==
                           (how == Py_EQ));
}

static Py_hash_t
stream_hash(PyObject *self)
{
    PyObject *handle = PyLong_FromVoidPtr(((stream_object *)self)->stream->handle);
    Py_hash_t hash = handle ? PyObject_Hash(handle) : -1; /* that of an equal int */

    Py_XDECREF(handle);
    return hash;
}

/* Calls the package's function with the stream as its first argument. */
static PyObject *
call_python(PyObject *self, PyObject *args, PyObject *kwargs, const char *name)
{
    PyObject *function = lw_service_find(LW_SERVICE_CALLBACKS, name);
    PyObject *bound = NULL, *result = NULL;

    if (function != NULL)
        bound = PyMethod_New(function, self);
    if (bound != NULL)
        result = PyObject_Call(bound, args, kwargs);
    Py_XDECREF(bound);
    Py_XDECREF(function);
    return result;
}

static PyObject *
stream_add_callback(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_python(self, args, kwargs, "add_callback");
}

static PyObject *
stream_async_done(PyObject *self, PyObject *args)
{
    return call_python(self, args, NULL, "async_done");
}

static PyMethodDef stream_methods[] = {
    {"add_callback", (PyCFunction)(void (*)(void))stream_add_callback,
     METH_VARARGS | METH_KEYWORDS,
     "add_callback(callback, arg=None): call callback(stream, status, arg) when the work given "
     "to the stream so far is done"},
    {"async_done", stream_async_done, METH_VARARGS,
     "async_done(): return an asyncio future, which is done when the work given to the stream "
     "so far is done"},
    {"synchronize", stream_synchronize, METH_NOARGS,
     "Wait until all work of the stream is done."},
    {"query", stream_query, METH_NOARGS, "Return whether all work of the stream is done."},
    {"record", stream_record, METH_VARARGS,
     "record(event=None): record an event at this point of the stream, and return it; with "
     "None, a new event"},
    {"wait", stream_wait, METH_O,
     "wait(other): let later work of this stream wait for an event, or for the work given to "
     "another stream so far; the host does not wait"},
    {"auto_synchronize", stream_auto, METH_NOARGS,
     "Return a context manager that waits for the stream at the end of its block."},
    {"__cuda_stream__", stream_protocol, METH_NOARGS, "(0, handle)"},
    {NULL, NULL, 0, NULL}};

static PyObject *
stream_get_external(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_stream *stream = ((stream_object *)self)->stream;

    return PyBool_FromLong(!stream->owned && stream->handle > LW_STREAM_PER_THREAD);
}

static PyGetSetDef stream_getset[] = {
    {"handle", stream_get_handle, NULL, "the driver's handle, an int", NULL},
    {"device", stream_get_device, NULL, "the device of the stream", NULL},
    {"external", stream_get_external, NULL,
     "whether the stream belongs to another library (cuda.external_stream)", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef stream_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(stream_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, lw_cuda_refuse_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_doc, "A queue of work for a device, which runs in order. Made by cuda.stream().\n\n"
                ">>> s = cuda.stream()\n"
                ">>> d = cuda.to_device(np.ones(3), stream=s)\n"
                ">>> s.synchronize()\n"
                ">>> s.query()\n"
                "True"},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_getset},
    {Py_tp_members, stream_members},
    {Py_tp_repr, stream_repr},
    {Py_tp_richcompare, stream_compare},
    {Py_tp_hash, stream_hash},
    {Py_nb_int, stream_int},
    {0, NULL}};
static PyType_Spec stream_spec = {"lanewise.cuda.Stream", sizeof(stream_object), 0,
                                  Py_TPFLAGS_DEFAULT, stream_slots};

/* ---- auto_synchronize ---- */

static void
waiter_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_DECREF(((waiter_object *)self)->stream);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *
waiter_enter(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(((waiter_object *)self)->stream);
}

static PyObject *
waiter_exit(PyObject *self, PyObject *Py_UNUSED(args))
{
    return wait_for(((stream_object *)((waiter_object *)self)->stream)->stream);
}

static PyMethodDef waiter_methods[] = {{"__enter__", waiter_enter, METH_NOARGS, NULL},
                                       {"__exit__", waiter_exit, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot waiter_slots[] = {
    {Py_tp_dealloc, waiter_dealloc}, {Py_tp_methods, waiter_methods}, {0, NULL}};
static PyType_Spec waiter_spec = {"lanewise.cuda.AutoSynchronize", sizeof(waiter_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  waiter_slots};

/* ---- functions ---- */

static PyObject *
make_stream(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"blocking", "priority", NULL};
    int blocking = 1, priority = 0;
    lw_device *device;
    lw_stream *stream;
    lw_error err = {0};

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$pi:stream", names, &blocking, &priority))
        return NULL;
    device = lw_current_device();
    if (device == NULL)
        return NULL;
    if (lw_stream_new(device, blocking, priority, &stream, &err) != LW_OK)
        return lw_py_raise(&err);
    return stream_new(stream);
}

static PyObject *
default_stream(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return wrap_handle(NULL);
}

static PyObject *
per_thread_default_stream(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return wrap_handle(LW_STREAM_PER_THREAD);
}

static PyObject *
external_stream(PyObject *Py_UNUSED(module), PyObject *handle)
{
    CUstream stream;

    if (!PyIndex_Check(handle) || PyBool_Check(handle)) {
        PyErr_Format(PyExc_TypeError, "ptr: expected a stream handle as an int, got %.200s",
                     Py_TYPE(handle)->tp_name);
        return NULL;
    }
    return lw_stream_read(handle, &stream) < 0 ? NULL : wrap_handle(stream);
}

/* Also true where a capture forbids the question. */
static PyObject *
is_capturing(PyObject *Py_UNUSED(module), PyObject *object)
{
    lw_device *device;
    CUstream stream = NULL;
    bool capturing = false;

    if (lw_on_host())
        Py_RETURN_FALSE;
    device = lw_current_device();
    if (device == NULL || lw_stream_read(object, &stream) < 0)
        return NULL;
    if (stream != NULL && lw_stream_capturing(device, stream, &capturing, NULL) != LW_OK)
        capturing = true;
    return PyBool_FromLong(capturing);
}

/* What has its like without a GPU. */
LW_ON_HOST_KEYWORDS(make_stream)
LW_ON_HOST_NOARGS(default_stream)
LW_ON_HOST_NOARGS(per_thread_default_stream)
LW_ON_HOST_ONE(external_stream)

PyMethodDef lw_cuda_stream_functions[] = {
    {"stream", LW_KEYWORDS(make_stream_there),
     "stream(*, blocking=True, priority=0): return a new stream. With blocking=True, its work "
     "and that of the default stream wait for each other. Lower numbers are higher "
     "priorities."},
    {"default_stream", default_stream_there, METH_NOARGS, "Return the legacy default stream."},
    {"per_thread_default_stream", per_thread_default_stream_there, METH_NOARGS,
     "Return the calling thread's own default stream."},
    {"external_stream", external_stream_there, METH_O,
     "external_stream(ptr): return a Stream for a stream of another library"},
    {"_is_capturing", is_capturing, METH_O,
     "_is_capturing(stream): whether its work goes into a graph"},
    {"_keep_for_graph", lw_cuda_keep_for_graph, METH_VARARGS,
     "_keep_for_graph(stream, object): as long as the graph that the stream captures exists"},
    {"_n_kept_for_graphs", lw_cuda_n_kept_for_graphs, METH_NOARGS,
     "_n_kept_for_graphs(): how many objects graphs keep"},
    {NULL, NULL, 0, NULL}};

int
lw_cuda_stream_register(PyObject *module)
{
    if (lw_cuda_add_type(module, &stream_spec, &lw_core->stream_type) < 0)
        return -1;
    return lw_cuda_add_type(module, &waiter_spec, &lw_core->waiter_type);
}
