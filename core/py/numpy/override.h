/* NEP 13 for our objects that stand for a numpy.ufunc: operands that define `__array_ufunc__`
 * are asked before anything else happens. */
#ifndef LW_PY_OVERRIDE_H
#define LW_PY_OVERRIDE_H

#include <Python.h>

#include <stdbool.h>

/* Who is called; borrowed. */
typedef struct lw_overridden {
    PyObject *object; /* for messages */
    PyObject *face;   /* what the receiver sees as the ufunc */
    PyObject *called; /* … and what Dask arrays' blocks are given to */
    const char *name;
    int nin, nout;
    bool has_layout;     /* axes=, axis= and keepdims= instead of where= */
    bool has_items;      /* its operands have core dimensions */
    bool inputs_by_name; /* keywords that are no ufunc's may be inputs: they are asked too */
} lw_overridden;

/* Whether this object takes part with something of its own. Cheap. */
bool lw_has_override(PyObject *object);
/* Whether it is no array, and results are to be given to its __array_wrap__. */
bool lw_wraps_results(PyObject *object);
/* 1 with *result set (or NULL and an exception), 0: nobody overrides. args without the method's
 * self; nin of them are inputs. */
int lw_override(const lw_overridden *self, const char *method, PyObject *const *args,
                Py_ssize_t n_args, PyObject *kwnames, PyObject **result);

#endif
