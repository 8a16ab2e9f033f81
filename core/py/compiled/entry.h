/* Where calls of compiled objects enter. Two things are asked first, with one comparison: the
 * setting target="python", under which the function runs as plain Python, and whether a profile
 * is open, which measures the call. */
#ifndef LW_PY_ENTRY_H
#define LW_PY_ENTRY_H

#include "core/base/profile.h"
#include "core/py/compiled/compiled.h"
#include "core/py/host_cuda.h"

/* A call as Python makes it; borrowed. */
typedef struct lw_entry_call {
    const char *name;     /* of the function in lanewise/_python_target.py */
    vectorcallfunc enter; /* that object's call, which asks this */
    lw_compiled *head;    /* whose function it is */
    PyObject *object;     /* what was called: the head, or a launcher of it */
    PyObject *const *args;
    size_t nargsf;
    PyObject *kwnames;
} lw_entry_call;

/* Whether the call has been made in another way, after lw_calls_go_round() was true. *result:
 * what it returned, or NULL with an exception. */
bool lw_went_round(const lw_entry_call *call, PyObject **result);

/* Measures what is no vectorcall. begin: whether it is measured; then end comes behind it, with
 * the result, NULL after an exception. The frame lies on the caller's stack. method: a literal,
 * or NULL. */
bool lw_profile_call_begin(lw_profile_frame *frame, lw_compiled *head, const char *method,
                           PyObject *const *args, Py_ssize_t n_args);
void lw_profile_call_end(lw_profile_frame *frame, PyObject *result);

/* lanewise._core._profile_… for lanewise/_profile.py. */
int lw_profile_register(PyObject *module);

#endif
