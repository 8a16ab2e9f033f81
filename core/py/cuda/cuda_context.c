/* Context: the primary context of a device, with its memory. */
#include "core/py/cuda/cuda_internal.h"

#include "core/device/pool.h"
#include "core/py/cuda/memory_manager.h"
#include "core/py/state.h"

typedef struct context_object {
    PyObject_HEAD
    lw_device *device;
} context_object;

PyObject *
lw_memory_info(lw_device *device)
{
    PyObject *args, *info;
    lw_error err = {0};
    size_t n_free, n_total;

    if (lw_device_memory(device, &n_free, &n_total, &err) != LW_OK)
        return lw_py_raise(&err);
    args = Py_BuildValue("(nn)", (Py_ssize_t)n_free, (Py_ssize_t)n_total);
    info =
        args != NULL ? PyObject_CallObject((PyObject *)lw_core->memory_info_type, args) : NULL;
    Py_XDECREF(args);
    return info;
}

static PyObject *
context_memory(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_device *device = ((context_object *)self)->device;

    return lw_memory_managed() ? lw_memory_call("_get_memory_info", "(i)", device->ordinal)
                               : lw_memory_info(device);
}

static PyObject *
context_get_manager(PyObject *self, void *Py_UNUSED(closure))
{
    return lw_memory_call("_manager_of", "(O)", self);
}

static int
context_set_manager(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    PyObject *done;

    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "memory_manager cannot be deleted");
        return -1;
    }
    done = lw_memory_call("_assign_manager", "(OO)", self, value);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static PyObject *
context_reset(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_cuda_reset(((context_object *)self)->device);
}

static PyObject *
context_synchronize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return lw_cuda_synchronize(((context_object *)self)->device);
}

static PyObject *
context_trim(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_pool_trim(((context_object *)self)->device, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
context_pool(PyObject *self, PyObject *Py_UNUSED(unused))
{
    lw_pool_stats stats;

    lw_pool_statistics(((context_object *)self)->device, &stats);
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:K,s:K,s:K,s:K,s:K}", "used_bytes", (Py_ssize_t)stats.used_bytes,
        "cached_bytes", (Py_ssize_t)stats.cached_bytes, "peak_used_bytes",
        (Py_ssize_t)stats.peak_used_bytes, "n_used", (unsigned long long)stats.n_used,
        "n_cached", (unsigned long long)stats.n_cached, "n_hits",
        (unsigned long long)stats.n_hits, "n_misses", (unsigned long long)stats.n_misses,
        "n_trims", (unsigned long long)stats.n_trims);
}

static PyObject *
context_ipc(PyObject *self, PyObject *memory)
{
    return lw_memory_call("_memory_handle", "(OO)", self, memory);
}

static PyObject *
context_get_device(PyObject *self, void *Py_UNUSED(closure))
{
    return lw_device_object(((context_object *)self)->device);
}

static PyObject *
context_get_deallocations(PyObject *self, void *Py_UNUSED(closure))
{
    return lw_memory_call("_Deallocations", "(O)", self);
}

static PyObject *
context_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<CUDA context of device %d>",
                                ((context_object *)self)->device->ordinal);
}

static PyMethodDef context_methods[] = {
    {"get_memory_info", context_memory, METH_NOARGS,
     "Return the memory of the device, MemoryInfo(free, total), in bytes."},
    {"synchronize", context_synchronize, METH_NOARGS,
     "Wait until all work on the device is done."},
    {"reset", context_reset, METH_NOARGS,
     "Reset the device for the whole process: all its memory, streams and modules become "
     "invalid."},
    {"trim", context_trim, METH_NOARGS,
     "Give memory that is cached for later arrays back to the system, after all work is done."},
    {"pool_statistics", context_pool, METH_NOARGS,
     "Return a dict with what the memory pool contains."},
    {"get_ipc_handle", context_ipc, METH_O,
     "get_ipc_handle(memory): return a cuda.IpcHandle of a MemoryPointer, for other processes"},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef context_getset[] = {
    {"device", context_get_device, NULL, "the device of the context", NULL},
    {"deallocations", context_get_deallocations, NULL,
     "what numba has for memory that waits to be freed: clear() is trim()", NULL},
    {"memory_manager", context_get_manager, context_set_manager,
     "the object that allocates the device's memory", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot context_slots[] = {
    {Py_tp_dealloc, lw_cuda_dealloc}, {Py_tp_doc, "The primary context of a device."},
    {Py_tp_repr, context_repr},       {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},   {0, NULL}};
static PyType_Spec context_spec = {"lanewise.cuda.Context", sizeof(context_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   context_slots};

PyObject *
lw_memory_info_type_new(void)
{
    PyObject *collections = PyImport_ImportModule("collections"), *type = NULL, *name;

    if (collections != NULL)
        type = PyObject_CallMethod(collections, "namedtuple", "s(ss)", "MemoryInfo", "free",
                                   "total");
    name = type != NULL ? PyUnicode_FromString("lanewise.cuda") : NULL;
    if (name == NULL || PyObject_SetAttrString(type, "__module__", name) < 0)
        Py_CLEAR(type);
    Py_XDECREF(name);
    Py_XDECREF(collections);
    return type;
}

PyObject *
lw_context_object(lw_device *device)
{
    PyTypeObject *type = lw_state_class(lw_core->context_type);
    context_object *self = type ? PyObject_New(context_object, type) : NULL;

    if (self != NULL)
        self->device = device;
    return (PyObject *)self;
}

int
lw_cuda_context_register(PyObject *core, PyObject *module)
{
    if (lw_cuda_add_type(core, &context_spec, &lw_core->context_type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Context", (PyObject *)lw_core->context_type);
}
