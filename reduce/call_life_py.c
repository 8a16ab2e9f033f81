/* The memory of a call of a Reduction. */
#include "core/py/numpy_api.h"

#include "core/base/memory.h"
#include "reduce/call_parts_py.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static_assert(offsetof(lw_reduce_call, job) + sizeof(lw_reduce_job) == sizeof(lw_reduce_call),
              "the job is at the end");
static_assert(offsetof(lw_reduce_job, kept) + 2 * sizeof(lw_reduce_space) ==
                  sizeof(lw_reduce_job),
              "its spaces are at the end");

/* Most of its 20 KB are strides of unused dimensions, which are left uninitialised. */
lw_reduce_call *
lw_reduce_call_new(PyObject *self)
{
    lw_reduce_call *call = lw_alloc(sizeof *call);

    if (call == NULL)
        return (lw_reduce_call *)PyErr_NoMemory();
    memset(call, 0, offsetof(lw_reduce_call, job.kept));
    call->job.kept.n = call->job.reduced.n = 0;
    call->self = (lw_reducer *)self;
    return call;
}

PyObject *
lw_reduce_call_end(lw_reduce_call *call, PyObject *result)
{
    if (call == NULL)
        return result;
    for (uint32_t i = 0; i <= LW_REDUCE_MOST; i++)
        Py_CLEAR(call->in[i]);
    for (uint32_t i = 0; i < LW_REDUCE_MOST; i++)
        Py_CLEAR(call->result[i]);
    lw_free(call);
    return result;
}
