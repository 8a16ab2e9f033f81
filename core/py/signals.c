#include "core/py/signals.h"

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

bool
lw_signal_raised_anyhow(void *unused)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    bool raised = PyErr_CheckSignals() < 0;

    (void)unused;
    PyGILState_Release(gil);
    return raised;
}
