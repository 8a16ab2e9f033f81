#include "core/py/signals.h"

#include "core/host/thread_pool.h"

#include <fenv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set once, before any function is called. */
static unsigned long main_thread;

int
lw_signals_register(void)
{
    PyObject *threading = PyImport_ImportModule("threading"), *thread = NULL, *ident = NULL;

    if (threading != NULL)
        thread = PyObject_CallMethod(threading, "main_thread", NULL);
    if (thread != NULL)
        ident = PyObject_GetAttrString(thread, "ident");
    if (ident != NULL)
        main_thread = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(threading);
    Py_XDECREF(thread);
    Py_XDECREF(ident);
    return PyErr_Occurred() ? -1 : 0;
}

/* Python runs handlers in its main thread only. Other threads must not ask for the GIL here:
 * while Python ends, it ends each thread that asks, and with it the stack from which workers of
 * the thread pool still read their work. A thread that has forked is the main thread of the
 * child. */
static bool
runs_handlers(void)
{
    return PyThread_get_thread_ident() == main_thread || syscall(SYS_gettid) == getpid();
}

/* A handler may call os.fork(), and return in the child, too. What is called there before it
 * returns is not the loop that ends. */
static bool
run_handlers(void)
{
    bool was_lost = lw_pool_is_lost();

    if (PyErr_CheckSignals() < 0)
        return true;
    if (was_lost || !lw_pool_is_lost())
        return false;
    PyErr_SetString(PyExc_RuntimeError,
                    "a signal handler called os.fork() while threads were at work: only the "
                    "parent process has what they compute, so the call ends in the child");
    return true;
}

bool
lw_signal_raised(void *context)
{
    PyThreadState **state = context;
    bool raised;

    if (!runs_handlers())
        return false;
    PyEval_RestoreThread(*state);
    raised = run_handlers();
    *state = PyEval_SaveThread();
    return raised;
}

/* A loop that holds the GIL was expected to be short, or NumPy expected it. It has taken long
 * enough to be asked, so the other threads get a turn, as between two instructions of Python.
 */
static void
let_others_run(void)
{
    PyThreadState *state = PyEval_SaveThread();

    PyEval_RestoreThread(state);
}

/* The handler computes with flags of its own: what it divides by zero is not the loop's. */
bool
lw_signal_raised_anyhow(void *keeps)
{
    PyGILState_STATE gil;
    fenv_t flags;
    bool raised;

    if (!runs_handlers() && !PyGILState_Check())
        return false;
    gil = PyGILState_Ensure();
    feholdexcept(&flags);
    if (gil == PyGILState_LOCKED && keeps == NULL)
        let_others_run();
    raised = run_handlers();
    fesetenv(&flags);
    PyGILState_Release(gil);
    return raised;
}
