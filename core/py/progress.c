#include "core/py/progress.h"

#include "core/front/read/services.h"
#include "core/py/signals.h"

#include <fenv.h>
#include <string.h>

/* numpy.False_ asks for nothing, either. */
static bool
is_wanted(PyObject *value)
{
    if (value == NULL || value == Py_None || value == Py_False)
        return false;
    return strncmp(Py_TYPE(value)->tp_name, "numpy.bool", strlen("numpy.bool")) != 0 ||
           PyObject_Not(value) == 0;
}

int
lw_progress_begin(lw_progress *progress, PyObject *value, int64_t total, const char *name)
{
    PyObject *args[2] = {NULL, NULL};

    *progress = (lw_progress){.total = total};
    if (!is_wanted(value))
        return 0;
    args[0] = PyLong_FromLongLong(total);
    args[1] = PyUnicode_FromString(name);
    if (args[0] != NULL && args[1] != NULL)
        progress->reporter =
            lw_service_call(LW_SERVICE_PROGRESS, "reporter", value, args, 2, NULL);
    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    return progress->reporter ? 0 : -1;
}

static int
tell(lw_progress *progress, int64_t done)
{
    PyObject *result = PyObject_CallMethod(progress->reporter, "tell", "L", (long long)done);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* true: the function that was told has raised, or a handler of a signal. */
static bool
ask(void *context)
{
    lw_progress *progress = context;
    int64_t done = atomic_load_explicit(&progress->done, memory_order_relaxed);
    PyGILState_STATE gil = PyGILState_Ensure();
    fenv_t flags;
    bool raised;

    feholdexcept(&flags);
    /* counts of parts that overlap, or of a second pass, may add up to more */
    raised = tell(progress, done < progress->total ? done : progress->total) < 0 ||
             PyErr_CheckSignals() < 0;
    fesetenv(&flags);
    PyGILState_Release(gil);
    return raised;
}

void
lw_progress_watch(lw_progress *progress, lw_stop *stop)
{
    if (progress->reporter == NULL)
        return;
    stop->ask = ask;
    stop->context = progress;
    stop->done = &progress->done;
}

int
lw_progress_end(lw_progress *progress, bool good)
{
    PyObject *kind, *value, *trace, *result;

    if (progress->reporter == NULL)
        return 0;
    PyErr_Fetch(&kind, &value, &trace);
    result = PyObject_CallMethod(progress->reporter, "end", "O", good ? Py_True : Py_False);
    Py_CLEAR(progress->reporter);
    if (kind != NULL) {
        PyErr_Clear();
        PyErr_Restore(kind, value, trace);
    }
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

int
lw_progress_refuse(PyObject *value, const char *name)
{
    if (!is_wanted(value))
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s: progress= is for arrays of the host; a call on a GPU returns before its "
                 "work is done",
                 name);
    return -1;
}
