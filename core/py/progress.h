/* progress= of long work on the host: how much is done, told some times a second while the
 * work goes on. Threads add up what they have done, and whoever looks for Ctrl-C tells it, so
 * that neither the pieces of the work nor its results depend on it. */
#ifndef LW_PY_PROGRESS_H
#define LW_PY_PROGRESS_H

#include <Python.h>

#include "core/host/pieces.h"

typedef struct lw_progress {
    PyObject *reporter; /* owned: of lanewise/_progress.py; NULL: nothing is told */
    int64_t total;
    _Atomic int64_t done;
} lw_progress;

/* value: what progress= says, or NULL; name: of the function. -1 with an exception. */
int lw_progress_begin(lw_progress *progress, PyObject *value, int64_t total, const char *name);
/* The work is to tell it, unless there is none. */
void lw_progress_watch(lw_progress *progress, lw_stop *stop);
/* good: the work was done. -1 with an exception; an earlier one stays. Does nothing if there
 * is none. */
int lw_progress_end(lw_progress *progress, bool good);
/* Work on a GPU, of which nothing can be told: a TypeError unless value says nothing. */
int lw_progress_refuse(PyObject *value, const char *name);

#endif
