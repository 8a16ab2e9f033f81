/* What a compiled function captured may be bound to something else later, and the setting
 * `check` may change. Its calls then go to an object made anew of the same Python function and
 * the same keywords; the old one keeps its code, for calls that are under way and for the day
 * when the old value comes back. */
#ifndef LW_PY_RENEW_H
#define LW_PY_RENEW_H

#include <Python.h>

#include <stdbool.h>

#include "core/front/read/python.h"
#include "core/py/compiled/door_options.h"

enum { LW_RENEWED_KEPT = 4 }; /* values between which a program changes to and fro */

typedef struct lw_renewal {
    PyObject *kept[LW_RENEWED_KEPT]; /* made anew, or NULL */
    uint32_t next;                   /* which of them goes next */
    bool told;                       /* the warning was given */
} lw_renewal;

/* Whether an object can take a call: 1 where neither the names that it captured nor the setting
 * have changed since it was read; where only frozen contents have, the warning has been given
 * (lw_tell_frozen) and the result is 1 too. 0: another object is needed; -1: an exception. */
typedef int (*lw_serves)(PyObject *object);

/* Who takes a call of `object`, which is stale: a new reference to an object that is not, or,
 * with typing="numba", to itself, with a RuntimeWarning once unless warn=False (but where the
 * setting `check` has changed, too). NULL with an exception. name: of the function, for that
 * warning. */
PyObject *lw_renewed(PyObject *object, lw_renewal *renewal, lw_serves serves,
                     const lw_door_options *options, const char *name);
/* 1: contents too large to be compared at each call have changed, and a RuntimeWarning (W204)
 * has told of it, unless warn=False; they stay as they were compiled. 0: none has; -1: with an
 * exception. captures: of a stale object, or NULL. */
int lw_tell_frozen(lw_captures *captures, const lw_door_options *options, const char *name);
/* Lets captures compare NumPy's arrays; once, when the module is loaded. */
void lw_renew_register(void);
/* Before anything is compiled the function is read again instead: 1 with the new tree and
 * captures in place of the old, 0 where nothing has changed (*captures NULL: nothing can), -1
 * with an exception. */
int lw_read_again(PyObject *function, PyObject *source, lw_tree **tree, lw_captures **captures);
int lw_renewal_traverse(lw_renewal *renewal, visitproc visit, void *arg);
void lw_renewal_clear(lw_renewal *renewal);

#endif
