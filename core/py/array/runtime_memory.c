#include "core/py/array/runtime_memory.h"

#include "core/base/env.h"
#include "core/device/heap.h"
#include "core/host/counted_memory.h"
#include "core/host/nrt_table.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/raise.h"

enum { HOST = 1, DEVICES = 2 }; /* bits: of whom a function speaks */

static PyObject *
done(lw_status status, lw_error *err)
{
    if (status != LW_OK)
        return lw_py_raise(err);
    Py_RETURN_NONE;
}

static PyObject *
runtime_count(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_status status = LW_OK;
    lw_error err = {0};
    int whom, counts;

    if (!PyArg_ParseTuple(args, "ip:_runtime_count", &whom, &counts))
        return NULL;
    if (whom & HOST)
        lw_counted_enable(counts);
    Py_BEGIN_ALLOW_THREADS
    if (whom & DEVICES)
        status = lw_heap_count(counts, &err);
    Py_END_ALLOW_THREADS
    return done(status, &err);
}

static PyObject *
runtime_counts(PyObject *Py_UNUSED(module), PyObject *args)
{
    int whom;

    if (!PyArg_ParseTuple(args, "i:_runtime_counts", &whom))
        return NULL;
    return PyBool_FromLong((!(whom & HOST) || lw_counted_is_enabled()) &&
                           (!(whom & DEVICES) || lw_heap_counts()));
}

static PyObject *
runtime_stats(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_heap_stats stats = {0};
    int64_t made = 0, freed = 0;
    lw_status status = LW_OK;
    lw_error err = {0};
    int whom;

    if (!PyArg_ParseTuple(args, "i:_runtime_stats", &whom))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (whom & DEVICES)
        status = lw_heap_read(&stats, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    if (whom & HOST)
        lw_counted_read(&made, &freed);
    return Py_BuildValue("LLLL", (long long)stats.allocated + made,
                         (long long)stats.freed + freed, (long long)stats.made + made,
                         (long long)stats.destroyed + freed);
}

static PyObject *
runtime_forget(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_status status = LW_OK;
    lw_error err = {0};
    int whom;

    if (!PyArg_ParseTuple(args, "i:_runtime_forget", &whom))
        return NULL;
    if (whom & HOST)
        lw_counted_forget();
    Py_BEGIN_ALLOW_THREADS
    if (whom & DEVICES)
        status = lw_heap_forget(&err);
    Py_END_ALLOW_THREADS
    return done(status, &err);
}

/* Prepares the heap of the calling thread's device. */
static PyObject *
runtime_prepare(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_device *device = lw_current_device();
    lw_error err = {0};
    lw_status status;

    if (device == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lw_heap_prepare(device, &err);
    Py_END_ALLOW_THREADS
    return done(status, &err);
}

static PyMethodDef methods[] = {
    {"_runtime_count", runtime_count, METH_VARARGS, NULL},
    {"_runtime_counts", runtime_counts, METH_VARARGS, NULL},
    {"_runtime_stats", runtime_stats, METH_VARARGS, NULL},
    {"_runtime_forget", runtime_forget, METH_VARARGS, NULL},
    {"_runtime_prepare", runtime_prepare, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Its name is where lanewise/runtime.py shows it: PyCapsule_Import looks there. */
static PyObject *
table_capsule(void)
{
    return PyCapsule_New((void *)(uintptr_t)lw_nrt_table(),
                         "lanewise.runtime.NRT_api_functions", NULL);
}

int
lw_runtime_memory_register(PyObject *module)
{
    PyObject *table = table_capsule();
    int result = table ? PyModule_AddObjectRef(module, "_NRT_api_functions", table) : -1;
    lw_error err = {0};

    Py_XDECREF(table);
    if (lw_env_int(LW_ENV_nrt_stats) != 0) {
        lw_counted_enable(true);
        (void)lw_heap_count(true, &err); /* of no device yet */
    }
    return result < 0 ? -1 : PyModule_AddFunctions(module, methods);
}
