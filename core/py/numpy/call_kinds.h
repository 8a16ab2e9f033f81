/* What a ufunc's call first asks of its arguments: whether there is a device array, or someone
 * who takes the call over. Exact ndarrays and Python numbers are known by their type alone. */
#ifndef LW_PY_CALL_KINDS_H
#define LW_PY_CALL_KINDS_H

#include "core/py/numpy_api.h"

#include "core/py/numpy/ufunc_type.h"

enum {
    LW_CALL_KIND_PLAIN = 0,
    LW_CALL_KIND_DEVICE = 1,
    LW_CALL_KIND_OTHER = 2,
    LW_CALL_KIND_WRAPS = 4,   /* no array, and has an __array_wrap__ of its own */
    LW_CALL_KIND_SUBCLASS = 8 /* of ndarray, which keeps NumPy's rules */
};                            /* bits of what was seen */

typedef struct lw_seen {
    int kinds;
    Py_ssize_t stream; /* where stream= stands among args, or -1 */
} lw_seen;

/* What positional arguments and out=, and where= if there is one, bring. */
lw_seen lw_look(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames, bool has_where);
/* What all arguments bring, whatever keyword they come by. */
int lw_call_kinds_of(PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);

/* TypeError: it is for the host alone. Always NULL. */
PyObject *lw_refuse_device(const lw_ufunc_head *self);

typedef PyObject *(*lw_host_call)(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames);
/* The call without stream=, which stands at `stream` among args: it means nothing to host
 * memory, and may say so only. */
PyObject *lw_call_without_stream(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                                 PyObject *kwnames, Py_ssize_t stream, lw_host_call call);

#endif
