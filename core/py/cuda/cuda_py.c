#include "core/py/cuda/cuda_py.h"

#include "core/py/cuda/cuda_internal.h"
#include "core/py/cuda/image_setup.h"
#include "core/py/cuda/memory_manager.h"
#include "core/py/host_cuda.h"
#include "core/py/state.h"

#include <string.h>

typedef struct gpus_object {
    PyObject_HEAD
} gpus_object;

PyObject *
lw_cuda_refuse_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    static const char *const makers[][2] = {{"Stream", "cuda.stream() makes a stream"},
                                            {"Event", "cuda.event() makes an event"},
                                            {"Device", "cuda.gpus[0] is a device"}};
    const char *name = strrchr(type->tp_name, '.');

    for (size_t i = 0; name != NULL && i < sizeof makers / sizeof *makers; i++)
        if (strcmp(name + 1, makers[i][0]) == 0)
            return PyErr_Format(PyExc_TypeError,
                                "cannot create 'lanewise.cuda.%s' instances: %s", makers[i][0],
                                makers[i][1]);
    return PyErr_Format(PyExc_TypeError, "cannot create '%.200s' instances", type->tp_name);
}

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

void
lw_cuda_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_Free(self);
    Py_DECREF(type);
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
static PyType_Slot gpus_slots[] = {{Py_tp_dealloc, lw_cuda_dealloc},
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
    return lw_context_object(device);
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

    return device != NULL ? lw_cuda_synchronize(device) : NULL;
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
    memory_info = lw_memory_info_type_new();
    lw_core->memory_info_type = (PyTypeObject *)memory_info;
    if (memory_info == NULL || PyModule_AddObjectRef(module, "MemoryInfo", memory_info) < 0 ||
        PyModule_AddFunctions(module, functions) < 0 ||
        PyModule_AddFunctions(module, lw_cuda_stream_functions) < 0 ||
        PyModule_AddFunctions(module, lw_cuda_event_functions) < 0 ||
        PyModule_AddFunctions(module, lw_memory_functions) < 0 ||
        PyModule_AddFunctions(module, lw_image_setup_functions) < 0)
        goto done;
    if (lw_cuda_device_register(core, module) < 0 ||
        lw_cuda_context_register(core, module) < 0 ||
        lw_cuda_add_type(core, &gpus_spec, &lw_core->gpus_type) < 0 || add_gpus(module) < 0 ||
        lw_cuda_stream_register(module) < 0 || lw_cuda_event_register(module) < 0)
        goto done;
    result = PyModule_AddObjectRef(core, "cuda", module);
done:
    Py_DECREF(module);
    return result;
}
