#include "core/py/cuda/memory_manager.h"

#include "core/py/cuda/cuda_internal.h"
#include "core/py/host_cuda.h"

#include "core/device/copy.h"
#include "core/device/ipc.h"
#include "core/device/pool.h"
#include "core/device/stream.h"
#include "core/front/read/services.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

static const char HOST_CAPSULE[] = "lanewise.host_memory", IPC_CAPSULE[] = "lanewise.ipc",
                  POOL_CAPSULE[] = "lanewise.pool_memory";
static atomic_bool managed;

bool
lw_memory_managed(void)
{
    return atomic_load_explicit(&managed, memory_order_relaxed);
}

PyObject *
lw_memory_call(const char *name, const char *format, ...)
{
    PyObject *function = lw_service_find(LW_SERVICE_MEMORY, name), *args, *result;
    va_list list;

    va_start(list, format);
    args = function != NULL ? Py_VaBuildValue(format, list) : NULL;
    va_end(list);
    result = args != NULL ? PyObject_Call(function, args, NULL) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(function);
    return result;
}

/* ---- device memory from a manager ---- */

/* Managers know no streams: their memory is ready for what comes later on the default stream,
 * and free after what was given to that. */
static lw_status
follow(lw_device *device, CUstream later, CUstream earlier, lw_error *err)
{
    return later != earlier ? lw_stream_after(device, later, earlier, err) : LW_OK;
}

static lw_status
source_take(void *Py_UNUSED(context), lw_device *device, size_t size_bytes, CUstream stream,
            CUdeviceptr *out, void **keeper, lw_error *err)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *pair =
        lw_memory_call("_allocate", "(in)", device->ordinal, (Py_ssize_t)size_bytes);
    lw_status status = LW_OK;

    if (pair == NULL)
        status = lw_fail(err, LW_ERR_PYTHON, "a memory manager raised an exception");
    else {
        *out = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(pair, 0));
        status = follow(device, stream, NULL, err);
    }
    if (pair != NULL && status == LW_OK)
        *keeper = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    Py_XDECREF(pair);
    PyGILState_Release(state);
    return status;
}

/* The memory's finalizer runs with the last reference to the manager's object. */
static void
source_put(void *Py_UNUSED(context), lw_device *device, CUdeviceptr Py_UNUSED(address),
           size_t Py_UNUSED(size_bytes), CUstream stream, void *keeper)
{
    bool ours = PyGILState_Check(); /* at the process's end too, when Ensure would not do */
    PyGILState_STATE state = PyGILState_LOCKED;
    PyObject *type, *value, *trace;

    (void)follow(device, NULL, stream, NULL);
    if (!ours && !Py_IsInitialized())
        return;
    if (!ours)
        state = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &trace); /* of whoever drops it */
    Py_DECREF((PyObject *)keeper);
    PyErr_Restore(type, value, trace);
    if (!ours)
        PyGILState_Release(state);
}

static PyObject *
set_source(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    static const lw_pool_source source = {source_take, source_put, NULL};
    lw_error err = {0};
    int yes = PyObject_IsTrue(wanted);

    if (yes < 0)
        return NULL;
    if (lw_pool_set_source(yes ? &source : NULL, &err) != LW_OK)
        return lw_py_raise(&err);
    managed = yes;
    Py_RETURN_NONE;
}

/* ---- device memory of the pool, for contexts that have no manager beside others that do ----
 */

static void
pool_dropped(PyObject *capsule)
{
    lw_pool_put(PyCapsule_GetPointer(capsule, POOL_CAPSULE));
}

/* (capsule that gives it back, address) */
static PyObject *
pool_allocate(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_block *block;
    lw_device *device;
    PyObject *capsule;
    Py_ssize_t size;
    int ordinal;
    lw_error err = {0};

    if (!PyArg_ParseTuple(args, "in:_pool_allocate", &ordinal, &size))
        return NULL;
    if (size <= 0)
        return PyErr_Format(PyExc_ValueError, "size: expected at least 1 byte, got %zd", size);
    if (lw_device_get(ordinal, &device, &err) != LW_OK ||
        lw_pool_take_own(device, (size_t)size, NULL, &block, &err) != LW_OK)
        return lw_py_raise(&err);
    capsule = PyCapsule_New(block, POOL_CAPSULE, pool_dropped);
    if (capsule == NULL) {
        lw_pool_put(block);
        return NULL;
    }
    return Py_BuildValue("(NK)", capsule, (unsigned long long)block->address);
}

static PyObject *
driver_memory_info(PyObject *Py_UNUSED(module), PyObject *ordinal)
{
    long number = PyLong_AsLong(ordinal);
    lw_device *device;
    lw_error err = {0};

    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (lw_device_get((int)number, &device, &err) != LW_OK)
        return lw_py_raise(&err);
    return lw_memory_info(device);
}

/* ---- host memory, for managers that leave it to the driver ---- */

static void
host_dropped(PyObject *capsule)
{
    lw_host_block_free(PyCapsule_GetPointer(capsule, HOST_CAPSULE));
}

/* (capsule that frees it, host address, device address or None) */
static PyObject *
host_block(lw_host_kind kind, void *memory, Py_ssize_t size)
{
    lw_device *device = lw_current_device();
    lw_host_block *block;
    PyObject *capsule;
    lw_error err = {0};

    if (device == NULL)
        return NULL;
    if (size <= 0) {
        PyErr_Format(PyExc_ValueError, "size: expected at least 1 byte, got %zd", size);
        return NULL;
    }
    if (lw_host_block_new(device, kind, memory, (size_t)size, &block, &err) != LW_OK)
        return lw_py_raise(&err);
    capsule = PyCapsule_New(block, HOST_CAPSULE, host_dropped);
    if (capsule == NULL) {
        lw_host_block_free(block);
        return NULL;
    }
    return Py_BuildValue("(NKK)", capsule, (unsigned long long)(uintptr_t)block->host,
                         (unsigned long long)block->address);
}

static PyObject *
host_allocate(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const struct {
        const char *name;
        lw_host_kind kind;
    } kinds[] = {{"pinned", LW_HOST_PINNED},
                 {"mapped", LW_HOST_MAPPED},
                 {"write-combined", LW_HOST_WRITE_COMBINED},
                 {"managed", LW_HOST_MANAGED},
                 {"managed-at-host", LW_HOST_MANAGED_AT_HOST}};
    const char *name;
    Py_ssize_t size;

    if (!PyArg_ParseTuple(args, "sn:_host_allocate", &name, &size))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return host_block(kinds[i].kind, NULL, size);
    return PyErr_Format(PyExc_ValueError, "kind: no host memory is called '%.50s'", name);
}

static PyObject *
host_register(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long pointer;
    Py_ssize_t size;

    if (!PyArg_ParseTuple(args, "Kn:_host_register", &pointer, &size))
        return NULL;
    return host_block(LW_HOST_REGISTERED, (void *)(uintptr_t)pointer, size);
}

/* The device's view of page-locked host memory. */
static PyObject *
device_address(PyObject *Py_UNUSED(module), PyObject *object)
{
    unsigned long long pointer = PyLong_AsUnsignedLongLong(object);
    lw_device *device = PyErr_Occurred() ? NULL : lw_current_device();
    CUdeviceptr address = 0;
    lw_error err = {0};

    if (device == NULL)
        return NULL;
    if (LW_CUDA(MemHostGetDevicePointer, (&address, (void *)(uintptr_t)pointer, 0),
                device->ordinal, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyLong_FromUnsignedLongLong(address);
}

/* The ordinal of the device that an address belongs to. */
static PyObject *
device_of(PyObject *Py_UNUSED(module), PyObject *object)
{
    unsigned long long pointer = PyLong_AsUnsignedLongLong(object);
    lw_device *device;
    lw_error err = {0};

    if (PyErr_Occurred())
        return NULL;
    if (lw_device_of_address(pointer, &device, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyLong_FromLong(device->ordinal);
}

/* ---- memory shared between processes ---- */

static PyObject *
ipc_export(PyObject *Py_UNUSED(module), PyObject *object)
{
    unsigned long long pointer = PyLong_AsUnsignedLongLong(object);
    CUipcMemHandle handle;
    lw_device *device;
    size_t offset = 0;
    lw_error err = {0};

    if (PyErr_Occurred())
        return NULL;
    if (lw_device_of_address(pointer, &device, &err) != LW_OK ||
        lw_ipc_export(device, pointer, &handle, &offset, &err) != LW_OK)
        return lw_py_raise(&err);
    return Py_BuildValue("(y#n)", (const char *)handle.bytes, (Py_ssize_t)sizeof handle.bytes,
                         (Py_ssize_t)offset);
}

static void
ipc_dropped(PyObject *capsule)
{
    lw_ipc_close(PyCapsule_GetPointer(capsule, IPC_CAPSULE));
}

/* (capsule that closes it, address) */
static PyObject *
ipc_open(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer bytes;
    CUipcMemHandle handle;
    lw_ipc_memory *memory;
    lw_device *device;
    PyObject *capsule;
    int ordinal;
    lw_error err = {0};

    if (!PyArg_ParseTuple(args, "y*i:_ipc_open", &bytes, &ordinal))
        return NULL;
    if (bytes.len != sizeof handle.bytes)
        PyErr_Format(PyExc_ValueError, "handle: expected %zu bytes, got %zd",
                     sizeof handle.bytes, bytes.len);
    else
        memcpy(handle.bytes, bytes.buf, sizeof handle.bytes);
    PyBuffer_Release(&bytes);
    if (PyErr_Occurred())
        return NULL;
    if (lw_device_get(ordinal, &device, &err) != LW_OK ||
        lw_ipc_open(device, &handle, &memory, &err) != LW_OK)
        return lw_py_raise(&err);
    capsule = PyCapsule_New(memory, IPC_CAPSULE, ipc_dropped);
    if (capsule == NULL) {
        lw_ipc_close(memory);
        return NULL;
    }
    return Py_BuildValue("(NK)", capsule, (unsigned long long)memory->address);
}

static PyObject *
on_host(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(lw_on_host());
}

PyMethodDef lw_memory_functions[] = {{"_on_host", on_host, METH_NOARGS, NULL},
                                     {"_set_memory_source", set_source, METH_O, NULL},
                                     {"_pool_allocate", pool_allocate, METH_VARARGS, NULL},
                                     {"_driver_memory_info", driver_memory_info, METH_O, NULL},
                                     {"_host_allocate", host_allocate, METH_VARARGS, NULL},
                                     {"_host_register", host_register, METH_VARARGS, NULL},
                                     {"_device_address", device_address, METH_O, NULL},
                                     {"_device_of", device_of, METH_O, NULL},
                                     {"_ipc_export", ipc_export, METH_O, NULL},
                                     {"_ipc_open", ipc_open, METH_VARARGS, NULL},
                                     {NULL, NULL, 0, NULL}};
