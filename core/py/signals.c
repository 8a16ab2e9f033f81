#include "core/py/signals.h"

#include <fenv.h>

bool
lw_signal_raised(void *context)
{
    PyThreadState **state = context;
    bool raised;

    PyEval_RestoreThread(*state);
    raised = PyErr_CheckSignals() < 0;
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
    PyGILState_STATE gil = PyGILState_Ensure();
    fenv_t flags;
    bool raised;

    feholdexcept(&flags);
    if (gil == PyGILState_LOCKED && keeps == NULL)
        let_others_run();
    raised = PyErr_CheckSignals() < 0;
    fesetenv(&flags);
    PyGILState_Release(gil);
    return raised;
}
