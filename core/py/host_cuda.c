#include "core/py/host_cuda.h"

#include "core/base/env.h"
#include "core/base/profile.h"
#include "core/front/read/services.h"

#include <stdatomic.h>
#include <string.h>

enum { ON_HOST = 1, ON_PYTHON = 2, ON_PROFILE = 4, ALL = 7 };

/* What the setting says, in bits; and whether a profile is open, which changes the settings'
 * version. */
static unsigned
setting(void)
{
    static _Atomic uint64_t known; /* 8 * (the settings' version + 1) + the bits */
    uint64_t version = 8 * (lw_env_version() + 1);
    uint64_t answer = atomic_load_explicit(&known, memory_order_relaxed);

    if ((answer & ~(uint64_t)ALL) != version) {
        const char *target = lw_env_text(LW_ENV_target);
        bool python = strcmp(target, "python") == 0;
        bool host = python || strcmp(target, "cpu") == 0 || strcmp(target, "parallel") == 0;
        answer = version | (host ? ON_HOST : 0) | (python ? ON_PYTHON : 0) |
                 (lw_profiling() ? ON_PROFILE : 0);
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (unsigned)(answer & ALL);
}

bool
lw_on_host(void)
{
    return setting() & ON_HOST;
}

bool
lw_on_python(void)
{
    return setting() & ON_PYTHON;
}

bool
lw_calls_go_round(void)
{
    return setting() & (ON_PYTHON | ON_PROFILE);
}

bool
lw_stream_says_nothing(PyObject *stream)
{
    if (stream == Py_None || (PyLong_CheckExact(stream) && PyObject_Not(stream) == 1))
        return true;
    return lw_on_host() &&
           (PyLong_CheckExact(stream) || PyObject_HasAttrString(stream, "__cuda_stream__"));
}

/* An attribute of lanewise._host_cuda; a new reference. */
static PyObject *
find_function(const char *name)
{
    return lw_service_find(LW_SERVICE_HOST_CUDA, name);
}

PyObject *
lw_host_cuda_call(const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *function = find_function(name), *result = NULL;

    if (function != NULL && args == NULL)
        result = PyObject_CallNoArgs(function);
    else if (function != NULL)
        result = PyObject_Call(function, args, kwargs);
    Py_XDECREF(function);
    return result;
}
