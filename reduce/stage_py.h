/* Stages of a reduction: accumulators of a part, accumulators merged, and results of them. */
#ifndef LW_REDUCE_STAGE_PY_H
#define LW_REDUCE_STAGE_PY_H

#include "reduce/reduce_parts_py.h"

/* Of the method that gives this stage; NULL of LW_REDUCE_WHOLE. */
const char *lw_reduce_stage_name(lw_reduce_stage stage);
/* r._staged(stage, dtypes, dtype): see its docstring. */
PyObject *lw_reducer_staged(PyObject *self, PyObject *args, PyObject *kwargs);
/* r.partial, r.merge and r.finish: lanewise/_partials.py. */
PyObject *lw_reducer_partial(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_merge(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *lw_reducer_finish(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
