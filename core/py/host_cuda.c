#include "core/py/host_cuda.h"

#include "core/base/env.h"
#include "core/front/read/services.h"

#include <stdatomic.h>
#include <string.h>

bool
lw_on_host(void)
{
    static _Atomic uint64_t known; /* 2 * (the setting's version + 1) + the answer */
    uint64_t version = 2 * (lw_env_version() + 1);
    uint64_t answer = atomic_load_explicit(&known, memory_order_relaxed);

    if ((answer & ~(uint64_t)1) != version) {
        const char *target = lw_env_text(LW_ENV_target);
        answer = version | (strcmp(target, "cpu") == 0 || strcmp(target, "parallel") == 0);
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer & 1;
}

bool
lw_stream_says_nothing(PyObject *stream)
{
    if (stream == Py_None || (PyLong_CheckExact(stream) && PyObject_Not(stream) == 1))
        return true;
    return lw_on_host() &&
           (PyLong_CheckExact(stream) || PyObject_HasAttrString(stream, "__cuda_stream__"));
}

PyObject *
lw_host_cuda(const char *name)
{
    return lw_service_find(LW_SERVICE_HOST_CUDA, name);
}

PyObject *
lw_host_cuda_call(const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *function = lw_host_cuda(name), *result = NULL;

    if (function != NULL && args == NULL)
        result = PyObject_CallNoArgs(function);
    else if (function != NULL)
        result = PyObject_Call(function, args, kwargs);
    Py_XDECREF(function);
    return result;
}
