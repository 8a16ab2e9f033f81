/* Device: a CUDA device and its attributes, which in a `with` block is the thread's. */
#include "core/py/cuda/cuda_internal.h"

#include "core/front/read/critical.h"
#include "core/py/cuda/image_setup.h"
#include "core/py/cuda/memory_manager.h"
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

PyObject *
lw_cuda_synchronize(lw_device *device)
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
    return lw_cuda_synchronize(((device_object *)self)->device);
}

PyObject *
lw_cuda_reset(lw_device *device)
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
    return lw_cuda_reset(((device_object *)self)->device);
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
    {Py_tp_new, lw_cuda_refuse_new},
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
                                  Py_TPFLAGS_DEFAULT, device_slots};

int
lw_cuda_device_register(PyObject *core, PyObject *module)
{
    if (lw_cuda_add_type(core, &device_spec, &lw_core->device_type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Device", (PyObject *)lw_core->device_type);
}
