/* What the extension module keeps for its interpreter. Set up by lw_types_register, the first
 * of the registrations; other parts add their fields. */
#ifndef LW_PY_STATE_H
#define LW_PY_STATE_H

#include <Python.h>

#include "core/tables/dtypes.h"

typedef struct lw_state {
    PyObject *type_class;      /* lanewise.types.Type */
    PyObject *signature_class; /* lanewise.types.Signature */
    PyObject
        *scalars[LW_N_DTYPES]; /* the type object of each dtype, void included; [ptr] NULL */
} lw_state;

/* For tp_traverse, tp_clear and tp_free of the module. */
int lw_state_traverse(lw_state *state, visitproc visit, void *arg);
void lw_state_clear(lw_state *state);

#endif
