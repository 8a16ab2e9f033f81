/* Code from elsewhere that kernels are linked with, and the signatures of declare_device:
 * lanewise/_linking.py in C's terms. */
#ifndef LW_PY_LINK_READ_H
#define LW_PY_LINK_READ_H

#include <Python.h>

#include "core/link/build.h"

/* Zero it; the items' bytes belong to the objects. */
typedef struct lw_link_set {
    PyObject *objects; /* tuple of LinkableCode, each content once; or NULL: none */
    uint32_t n;
    lw_link_code *items;
} lw_link_set;

/* What a decorator's link= names (NULL, None: nothing) and the LinkableCode in `more` (a list,
 * or NULL). -1 with an exception. */
int lw_link_set_read(lw_link_set *set, PyObject *link, PyObject *more);
int lw_link_check(PyObject *link); /* of link=: -1 with an exception */
void lw_link_set_reset(lw_link_set *set);
/* _device_signature(sig, c_abi): the text of declare_device's sig. */
int lw_link_register(PyObject *module);

#endif
