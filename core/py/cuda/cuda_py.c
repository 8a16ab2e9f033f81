#include "core/py/cuda/cuda_py.h"

#include "core/device/pool.h"
#include "core/front/read/critical.h"
#include "core/py/cuda/cuda_internal.h"
#include "core/py/cuda/image_setup.h"
#include "core/py/cuda/memory_manager.h"
#include "core/py/host_cuda.h"
#include "core/py/reports.h"
#include "core/py/state.h"

#include <stddef.h>
#include <string.h>

typedef struct device_object {
    PyObject_HEAD
    lw_device *device; /* borrowed: devices live as long as the driver */
    /* what each open `with` goes back to: a list of (thread, ordinal), or NULL */
    PyObject *before;
} device_object;

typedef struct context_object {
    PyObject_HEAD
    lw_device *device;
} context_object;

typedef struct gpus_object {
    PyObject_HEAD
} gpus_object;

int
lw_cuda_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    const char *name = strrchr(spec->name, '.') + 1;

    if (type == NULL)
        return -1;
    *out = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, name, type);
}

lw_device *
lw_current_device(void)
{
    lw_device *device;
    lw_error err = {0};

    if (lw_device_current(&device, &err) == LW_OK && lw_device_enter(device, &err) == LW_OK)
        return device;
    (void)lw_py_raise(&err);
    return NULL;
}

lw_device *
lw_current_device_of(int cc)
{
    lw_device *device = lw_current_device();
    int own_cc = device != NULL ? device->cc_major * 10 + device->cc_minor : cc;

    if (cc == 0 || cc == own_cc)
        return device;
    PyErr_Format(PyExc_ValueError,
                 "compile: target is sm_%d, but the current device is sm_%d: export() makes "
                 "code for other GPUs",
                 cc, own_cc);
    return NULL;
}

static PyObject *
synchronize_device(lw_device *device)
{
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_device_synchronize(device, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    if (lw_check_errors() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- Device ---- */

PyObject *
lw_device_object(lw_device *device)
{
    PyTypeObject *type = lw_state_class(lw_core->device_type);
    device_object *self = type ? PyObject_New(device_object, type) : NULL;

    if (self != NULL) {
        self->device = device;
        self->before = NULL;
    }
    return (PyObject *)self;
}

static void
device_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((device_object *)self)->before);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *
device_repr(PyObject *self)
{
    lw_device *device = ((device_object *)self)->device;

    return PyUnicode_FromFormat("<CUDA device %d '%s'>", device->ordinal, device->name);
}

static PyObject *
device_int(PyObject *self)
{
    return PyLong_FromLong(((device_object *)self)->device->ordinal);
}

static Py_hash_t
device_hash(PyObject *self)
{
    return ((device_object *)self)->device->ordinal;
}

/* Equal to another Device and to an int of the same ordinal. */
static PyObject *
device_compare(PyObject *a, PyObject *b, int how)
{
    long ordinal;

    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (Py_TYPE(b) == lw_core->device_type) {
        ordinal = ((device_object *)b)->device->ordinal;
    } else if (PyLong_CheckExact(b)) {
        ordinal = PyLong_AsLong(b);
        if (ordinal == -1 && PyErr_Occurred())
            PyErr_Clear();
    } else {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong((((device_object *)a)->device->ordinal == ordinal) ==
                           (how == Py_EQ));
}

static PyObject *
device_get_name(PyObject *self, void *Py_UNUSED(closure))
{
    const char *name = ((device_object *)self)->device->name;
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

static PyObject *
device_get_id(PyObject *self, void *Py_UNUSED(closure))
{
    return device_int(self);
}

static PyObject *
device_get_capability(PyObject *self, void *Py_UNUSED(closure))
{
    lw_device *device = ((device_object *)self)->device;
    return Py_BuildValue("ii", device->cc_major, device->cc_minor);
}

static PyObject *
device_get_uuid(PyObject *self, void *Py_UNUSED(closure))
{
    const uint8_t *u = ((device_object *)self)->device->uuid;
    char text[48];

    PyOS_snprintf(text, sizeof text,
                  "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                  u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
                  u[12], u[13], u[14], u[15]);
    return PyUnicode_FromString(text);
}

static PyObject *
device_get_total(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((device_object *)self)->device->total_bytes);
}

/* closure: the offset of an int in lw_device */
static PyObject *
device_get_int(PyObject *self, void *closure)
{
    const char *device = (const char *)((device_object *)self)->device;
    return PyLong_FromLong(*(const int *)(device + (uintptr_t)closure));
}

static PyObject *
device_synchronize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return synchronize_device(((device_object *)self)->device);
}

static PyObject *
reset(lw_device *device)
{
    lw_error err = {0};
    PyObject *done;

    lw_image_tear_down(device);
    done = lw_memory_managed() ? lw_memory_call("_reset", "(i)", device->ordinal)
                               : Py_NewRef(Py_None);
    if (done == NULL)
        return NULL;
    if (lw_device_reset(device, &err) == LW_OK)
        return done;
    Py_DECREF(done);
    return lw_py_raise(&err);
}

static PyObject *
device_reset(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return reset(((device_object *)self)->device);
}

/* In a critical section. */
static PyObject *
enter(PyObject *self)
{
    device_object *object = (device_object *)self;
    lw_device *now, *next;
    lw_error err = {0};
    PyObject *entry;

    if (lw_device_current(&now, &err) != LW_OK)
        return lw_py_raise(&err);
    if (object->before == NULL && (object->before = PyList_New(0)) == NULL)
        return NULL;
    if (lw_device_select(object->device->ordinal, &next, &err) != LW_OK)
        return lw_py_raise(&err);
    entry = Py_BuildValue("(ki)", PyThread_get_thread_ident(), now->ordinal);
    if (entry == NULL || PyList_Append(object->before, entry) < 0) {
        Py_XDECREF(entry);
        (void)lw_device_select(now->ordinal, &next, NULL);
        return NULL;
    }
    Py_DECREF(entry);
    return Py_NewRef(self);
}

static PyObject *
device_enter(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(self);
    result = enter(self);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* In a critical section. */
static PyObject *
leave(PyObject *self)
{
    PyObject *before = ((device_object *)self)->before;
    Py_ssize_t at = before != NULL ? PyList_GET_SIZE(before) - 1 : -1;
    unsigned long thread = 0;
    lw_device *device;
    lw_error err = {0};
    int ordinal = 0;

    for (; at >= 0; at--)
        if (!PyArg_ParseTuple(PyList_GET_ITEM(before, at), "ki", &thread, &ordinal))
            return NULL;
        else if (thread == PyThread_get_thread_ident())
            break;
    if (at < 0) {
        PyErr_SetString(PyExc_RuntimeError, "the device was not entered");
        return NULL;
    }
    if (PyList_SetSlice(before, at, at + 1, NULL) < 0)
        return NULL;
    if (lw_device_select(ordinal, &device, &err) != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_FALSE;
}

static PyObject *
device_exit(PyObject *self, PyObject *Py_UNUSED(args))
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(self);
    result = leave(self);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyObject *
device_get_float16(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((device_object *)self)->device->cc_major >= 6);
}

#define INT(name, field, doc)                                                                  \
    {                                                                                          \
        name, device_get_int, NULL, doc, (void *)offsetof(lw_device, field)                    \
    }

static PyGetSetDef device_getset[] = {
    {"id", device_get_id, NULL, "the number of the device, from 0", NULL},
    {"name", device_get_name, NULL, "the product's name", NULL},
    {"uuid", device_get_uuid, NULL, "the UUID, as nvidia-smi prints it", NULL},
    {"compute_capability", device_get_capability, NULL,
     "the compute capability, a tuple (major, minor)", NULL},
    {"total_memory", device_get_total, NULL, "the bytes of global memory", NULL},
    {"supports_float16", device_get_float16, NULL,
     "whether the device has instructions for float16", NULL},
    INT("MULTIPROCESSOR_COUNT", n_sms, "the number of streaming multiprocessors"),
    INT("WARP_SIZE", warp_size, "the number of threads of a warp"),
    INT("MAX_THREADS_PER_BLOCK", max_threads_per_block, "the most threads of a block"),
    INT("MAX_THREADS_PER_MULTI_PROCESSOR", max_threads_per_sm,
        "the most threads on a multiprocessor"),
    INT("MAX_BLOCKS_PER_MULTIPROCESSOR", max_blocks_per_sm,
        "the most blocks on a multiprocessor"),
    INT("MAX_BLOCK_DIM_X", max_block[0], "the most threads of a block in x"),
    INT("MAX_BLOCK_DIM_Y", max_block[1], "the most threads of a block in y"),
    INT("MAX_BLOCK_DIM_Z", max_block[2], "the most threads of a block in z"),
    INT("MAX_GRID_DIM_X", max_grid[0], "the most blocks of a grid in x"),
    INT("MAX_GRID_DIM_Y", max_grid[1], "the most blocks of a grid in y"),
    INT("MAX_GRID_DIM_Z", max_grid[2], "the most blocks of a grid in z"),
    INT("MAX_REGISTERS_PER_BLOCK", registers_per_block,
        "32-bit registers that a block can use"),
    INT("MAX_REGISTERS_PER_MULTIPROCESSOR", registers_per_sm,
        "32-bit registers of a multiprocessor"),
    INT("MAX_SHARED_MEMORY_PER_BLOCK", shared_per_block,
        "bytes of shared memory that a block can use"),
    INT("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", shared_per_block_optin,
        "the same, for kernels that ask for more"),
    INT("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", shared_per_sm,
        "bytes of shared memory of a multiprocessor"),
    INT("TOTAL_CONSTANT_MEMORY", constant_bytes, "bytes of constant memory"),
    INT("L2_CACHE_SIZE", l2_bytes, "bytes of the L2 cache"),
    INT("CLOCK_RATE", clock_khz, "clock of the multiprocessors, in kHz"),
    INT("MEMORY_CLOCK_RATE", memory_clock_khz, "clock of the memory, in kHz"),
    INT("GLOBAL_MEMORY_BUS_WIDTH", memory_bus_bits, "bits of the memory bus"),
    INT("INTEGRATED", integrated, "1 if the GPU shares memory with the host"),
    INT("MANAGED_MEMORY", managed, "1 if the device has managed memory"),
    INT("CONCURRENT_MANAGED_ACCESS", concurrent_managed,
        "1 if host and device can access managed memory at the same time"),
    INT("MEMORY_POOLS_SUPPORTED", has_pools, "1 if the driver has memory pools"),
    INT("PCI_DOMAIN_ID", pci_domain, "the PCI domain"),
    INT("PCI_BUS_ID", pci_bus, "the number of the PCI bus"),
    INT("PCI_DEVICE_ID", pci_device, "the number of the device on the PCI bus"),
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef device_methods[] = {
    {"synchronize", device_synchronize, METH_NOARGS,
     "Wait until all work on the device is done."},
    {"reset", device_reset, METH_NOARGS,
     "Reset the device: all its memory, streams and modules become invalid."},
    {"__enter__", device_enter, METH_NOARGS, NULL},
    {"__exit__", device_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot device_slots[] = {
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_doc, "A CUDA device. In a ``with`` block, it is the current device of the thread."},
    {Py_tp_repr, device_repr},
    {Py_tp_hash, device_hash},
    {Py_tp_richcompare, device_compare},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_nb_int, device_int},
    {Py_nb_index, device_int},
    {0, NULL}};
static PyType_Spec device_spec = {"lanewise.cuda.Device", sizeof(device_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  device_slots};

/* ---- Context ---- */

static void
simple_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_Free(self);
    Py_DECREF(type);
}

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
    return reset(((context_object *)self)->device);
}

static PyObject *
context_synchronize(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return synchronize_device(((context_object *)self)->device);
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
    {"memory_manager", context_get_manager, context_set_manager,
     "the object that allocates the device's memory", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot context_slots[] = {
    {Py_tp_dealloc, simple_dealloc}, {Py_tp_doc, "The primary context of a device."},
    {Py_tp_repr, context_repr},      {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},  {0, NULL}};
static PyType_Spec context_spec = {"lanewise.cuda.Context", sizeof(context_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   context_slots};

/* MemoryInfo(free, total), a named tuple: managers make such too. */
static PyObject *
memory_type_new(void)
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

/* ---- gpus: the devices, counted when asked ---- */

static Py_ssize_t
gpus_length(PyObject *Py_UNUSED(self))
{
    lw_error err = {0};
    int n;

    if (lw_on_host())
        return 1;
    if (lw_device_count(&n, &err) == LW_OK)
        return n;
    lw_py_raise(&err);
    return -1;
}

static PyObject *
gpus_item(PyObject *self, Py_ssize_t i)
{
    Py_ssize_t n = gpus_length(self);
    lw_device *device;
    lw_error err = {0};

    if (n < 0)
        return NULL;
    if (i < 0 || i >= n) {
        PyErr_Format(PyExc_IndexError, "there is no CUDA device %zd: %zd found", i, n);
        return NULL;
    }
    if (lw_on_host())
        return lw_host_cuda_call("get_current_device", NULL, NULL);
    if (lw_device_get((int)i, &device, &err) != LW_OK)
        return lw_py_raise(&err);
    return lw_device_object(device);
}

static PyObject *
gpus_current(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    lw_device *device;
    lw_error err = {0};

    if (lw_on_host())
        return lw_host_cuda_call("get_current_device", NULL, NULL);
    if (lw_device_current(&device, &err) != LW_OK)
        return lw_py_raise(&err);
    return lw_device_object(device);
}

static PyObject *
gpus_repr(PyObject *self)
{
    PyObject *list = PySequence_List(self), *text;

    if (list == NULL) {
        PyErr_Clear();
        return PyUnicode_FromString("<no CUDA devices>");
    }
    text = PyObject_Repr(list);
    Py_DECREF(list);
    return text;
}

static PyObject *
gpus_list(PyObject *self, void *Py_UNUSED(closure))
{
    return PySequence_List(self);
}

static PyGetSetDef gpus_getset[] = {
    {"lst", gpus_list, NULL, "the devices in a list", NULL},
    {"current", gpus_current, NULL, "the calling thread's device", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot gpus_slots[] = {{Py_tp_dealloc, simple_dealloc},
                                   {Py_tp_doc, "The CUDA devices of this machine, a sequence."},
                                   {Py_tp_repr, gpus_repr},
                                   {Py_tp_getset, gpus_getset},
                                   {Py_sq_length, gpus_length},
                                   {Py_sq_item, gpus_item},
                                   {0, NULL}};
static PyType_Spec gpus_spec = {"lanewise.cuda.DeviceList", sizeof(gpus_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                gpus_slots};

/* ---- devices: functions ---- */

static PyObject *
is_available(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(lw_driver_available());
}

static int
ordinal_read(PyObject *object, int *out)
{
    Py_ssize_t ordinal;

    if (!PyIndex_Check(object) || PyBool_Check(object)) {
        PyErr_Format(PyExc_TypeError, "device_id: expected an int, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    ordinal = PyNumber_AsSsize_t(object, NULL); /* clipped: far ones do not exist anyway */
    if (ordinal == -1 && PyErr_Occurred())
        return -1;
    *out = ordinal > INT_MAX ? INT_MAX : ordinal < -1 ? -1 : (int)ordinal;
    return 0;
}

static PyObject *
select_device(PyObject *Py_UNUSED(module), PyObject *id)
{
    lw_device *device;
    lw_error err = {0};
    int ordinal;

    if (ordinal_read(id, &ordinal) < 0)
        return NULL;
    if (lw_device_select(ordinal, &device, &err) != LW_OK)
        return lw_py_raise(&err);
    return lw_device_object(device);
}

static PyObject *
get_current_device(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return gpus_current(NULL, NULL);
}

static PyObject *
current_context(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"devnum", NULL};
    PyObject *id = Py_None;
    PyTypeObject *type;
    context_object *self;
    lw_device *device;
    lw_error err = {0};
    int ordinal;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:current_context", names, &id))
        return NULL;
    if (id == Py_None) {
        device = lw_current_device();
        if (device == NULL)
            return NULL;
    } else {
        if (ordinal_read(id, &ordinal) < 0)
            return NULL;
        if (lw_device_get(ordinal, &device, &err) != LW_OK)
            return lw_py_raise(&err);
    }
    type = lw_state_class(lw_core->context_type);
    self = type ? PyObject_New(context_object, type) : NULL;
    if (self != NULL)
        self->device = device;
    return (PyObject *)self;
}

static PyObject *
close_all(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_device *device;
    lw_error err = {0};
    int n;

    if (lw_driver_version() == 0) /* never used: nothing to close */
        Py_RETURN_NONE;
    if (lw_device_count(&n, &err) != LW_OK)
        return lw_py_raise(&err);
    lw_image_tear_down(NULL);
    for (int i = 0; i < n; i++)
        if (lw_device_get(i, &device, &err) != LW_OK || lw_device_close(device, &err) != LW_OK)
            return lw_py_raise(&err);
    if (lw_memory_managed())
        return lw_memory_call("_close", "()");
    Py_RETURN_NONE;
}

static PyObject *
synchronize(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_device *device = lw_current_device();

    return device != NULL ? synchronize_device(device) : NULL;
}

/* ---- profilers ---- */

static PyObject *
profile(bool start)
{
    lw_device *device = lw_current_device(); /* the profiler is its context's */
    lw_error err = {0};
    lw_status status;

    if (device == NULL)
        return NULL;
    if (start)
        status = LW_CUDA(ProfilerStart, (), device->ordinal, &err);
    else
        status = LW_CUDA(ProfilerStop, (), device->ordinal, &err);
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
profile_start(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return profile(true);
}

static PyObject *
profile_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return profile(false);
}

/* ---- what the module has ---- */

/* What has its like without a GPU. */
LW_ON_HOST_NOARGS(is_available)
LW_ON_HOST_NOARGS(get_current_device)
LW_ON_HOST_NOARGS(synchronize)
LW_ON_HOST_NOARGS(profile_start)
LW_ON_HOST_NOARGS(profile_stop)
LW_ON_HOST_ONE(select_device)
LW_ON_HOST_KEYWORDS(current_context)

static PyMethodDef functions[] = {
    {"is_available", is_available_there, METH_NOARGS,
     "Return whether there is a usable driver and a device. It never raises an exception."},
    {"select_device", select_device_there, METH_O,
     "select_device(device_id): make this device the current one of the calling thread"},
    {"get_current_device", get_current_device_there, METH_NOARGS,
     "Return the current device of the calling thread."},
    {"current_context", LW_KEYWORDS(current_context_there),
     "current_context(devnum=None): return the context of a device"},
    {"close", close_all, METH_NOARGS,
     "Close all devices. The next use of a device opens it again."},
    {"synchronize", synchronize_there, METH_NOARGS,
     "Wait until all work on the current device is done."},
    {"profile_start", profile_start_there, METH_NOARGS,
     "Tell a profiler such as Nsight Systems to start recording."},
    {"profile_stop", profile_stop_there, METH_NOARGS, "Tell a profiler to stop recording."},
    {NULL, NULL, 0, NULL}};

static int
add_gpus(PyObject *module)
{
    PyObject *gpus = (PyObject *)PyObject_New(gpus_object, lw_core->gpus_type);
    int result = gpus != NULL ? PyModule_AddObjectRef(module, "gpus", gpus) : -1;

    Py_XDECREF(gpus);
    return result;
}

int
lw_cuda_register(PyObject *core)
{
    /* named as users find the functions, which pickling goes by */
    PyObject *module = PyModule_New("lanewise.cuda"), *memory_info;
    int result = -1;

    if (module == NULL)
        return -1;
    memory_info = memory_type_new();
    lw_core->memory_info_type = (PyTypeObject *)memory_info;
    if (memory_info == NULL || PyModule_AddObjectRef(module, "MemoryInfo", memory_info) < 0 ||
        PyModule_AddFunctions(module, functions) < 0 ||
        PyModule_AddFunctions(module, lw_cuda_stream_functions) < 0 ||
        PyModule_AddFunctions(module, lw_cuda_event_functions) < 0 ||
        PyModule_AddFunctions(module, lw_memory_functions) < 0 ||
        PyModule_AddFunctions(module, lw_image_setup_functions) < 0)
        goto done;
    if (lw_cuda_add_type(core, &device_spec, &lw_core->device_type) < 0 ||
        lw_cuda_add_type(core, &context_spec, &lw_core->context_type) < 0 ||
        lw_cuda_add_type(core, &gpus_spec, &lw_core->gpus_type) < 0)
        goto done;
    if (PyModule_AddObjectRef(module, "Device", (PyObject *)lw_core->device_type) < 0 ||
        PyModule_AddObjectRef(module, "Context", (PyObject *)lw_core->context_type) < 0 ||
        add_gpus(module) < 0 || lw_cuda_stream_register(module) < 0 ||
        lw_cuda_event_register(module) < 0)
        goto done;
    result = PyModule_AddObjectRef(core, "cuda", module);
done:
    Py_DECREF(module);
    return result;
}
