/* Stages of a reduction: accumulators of a part, accumulators merged, and results of them. */
#ifndef LW_REDUCE_STAGE_PY_H
#define LW_REDUCE_STAGE_PY_H

#include "core/py/numpy_api.h"

/* r._staged(stage, dtypes, dtype): see its docstring. */
PyObject *lw_reducer_staged(PyObject *self, PyObject *args, PyObject *kwargs);
/* r.partial, r.merge and r.finish: lanewise/_partials.py. */
PyObject *lw_reducer_partial(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_merge(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_finish(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
