/* Ctrl-C while work on the host goes on without the GIL. */
#ifndef LW_PY_SIGNALS_H
#define LW_PY_SIGNALS_H

#include <Python.h>

#include <stdbool.h>

/* Finds out which thread runs handlers. -1 with an exception. */
int lw_signals_register(void);
/* Lets the handlers of signals run; true: one raised, and its exception is set. context: the
 * PyThreadState * that PyEval_SaveThread gave, by address. For lw_sim_launch.stop and
 * lw_space_run.stop. */
bool lw_signal_raised(void *context);
/* The same for an lw_stop where the GIL may be held or not: in loops that NumPy calls. keeps:
 * not NULL, if no other thread may run meanwhile where it is held. */
bool lw_signal_raised_anyhow(void *keeps);

#endif
