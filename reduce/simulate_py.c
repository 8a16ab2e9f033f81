/* The kernels for devices without a device: run on the simulator for host arrays, and compiled
 * for a GPU that need not be there. For tests (`Reduction._simulate`). */
#include "reduce/device_py.h"

#include "core/base/memory.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/raise.h"
#include "reduce/device/device_plan.h"
#include "reduce/device_parts_py.h"

lw_status
lw_reduce_simulate(const lw_reduce_entry *entry, uint32_t tiles, uint32_t splits,
                   uint32_t threads, const uint64_t *words, lw_error *err)
{
    lw_sim_launch launch = {.grid = {tiles, splits, 1},
                            .block = {threads, 1, 1},
                            .static_bytes = entry->shared_bytes,
                            .single = entry->address,
                            .values = words,
                            .checks = true};
    lw_sim_result result;

    return lw_simulate(&launch, &result, err);
}

static lw_status
simulate(const lw_reduce_call *call, const lw_reduce_entry *entry, const lw_reduce_plan *plan,
         lw_error *err)
{
    uint64_t words[LW_REDUCE_MOST_PARAMS];
    char *memory = lw_alloc_zero(plan->partial_bytes + 1, 1);
    lw_status status;

    if (memory == NULL)
        return lw_fail_memory(err);
    lw_reduce_plan_words(&call->job, plan, (uint64_t)(uintptr_t)memory,
                         (uint64_t)(uintptr_t)memory + plan->counters_at, words);
    status = lw_reduce_simulate(entry, (uint32_t)plan->tiles, (uint32_t)plan->splits,
                                plan->threads, words, err);
    lw_free(memory);
    return status;
}

static int
simulate_call(lw_reduce_call *call, int64_t blocks)
{
    lw_reduce_entry *entry;
    lw_reduce_plan plan;
    lw_error err = {0};
    lw_status status;

    lw_reduce_fill_job(call);
    if (!lw_reduce_plan_of(&call->job, blocks, &plan)) {
        PyErr_SetString(PyExc_ValueError, "copy the operands first");
        return -1;
    }
    plan.key.simulated = 1;
    entry = lw_reduce_entry_of(call, NULL, &plan.key);
    if (entry == NULL)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    status = simulate(call, entry, &plan, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

PyObject *
lw_reduce_cubin_of(lw_reduce_call *call, const lw_reduce_key *key, int cc)
{
    lw_build_options options = lw_reducer_build_options(call->self);
    const lw_link_set *links =
        lw_reducer_links(call->self, call->specialisation->reduction, cc);
    lw_build_report report = {0};
    lw_module *module = NULL;
    lw_blob *cubin = NULL;
    PyObject *result = NULL;
    lw_error err = {0};
    lw_status status = LW_OK;

    if (links == NULL)
        return NULL;
    options = lw_link_options(options, links);

    LW_TRY(lw_reduce_new_module(call->specialisation->reduction, key, options.max_registers,
                                &module, &err));
    LW_TRY(lw_build_cuda(module, cc, &options, &cubin, &report, &err));
    result = PyBytes_FromStringAndSize((const char *)lw_blob_data(cubin),
                                       (Py_ssize_t)lw_blob_size(cubin));
fail:
    lw_module_free(module);
    lw_blob_unref(cubin);
    return status == LW_OK ? result : lw_py_raise(&err);
}

static PyObject *
code_of(lw_reduce_call *call, int64_t cc)
{
    lw_reduce_plan plan;

    lw_reduce_fill_job(call);
    lw_reduce_plan_of(&call->job, 1, &plan);
    return lw_reduce_cubin_of(call, &plan.key, (int)cc);
}

/* size= is the number of blocks; with res= it is the code for that compute capability. */
PyObject *
lw_reducer_simulate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    lw_reduce_call *call = lw_reduce_call_new(self);
    int64_t shape[LW_REDUCE_DIMS], size = 0;
    PyObject *result = NULL, *given;
    int ndim;

    if (call == NULL)
        return NULL;
    if (lw_reduce_read_keywords(&call->keywords, kwargs, LW_TAKES_REDUCE, "_simulate") < 0)
        goto done;
    given = call->keywords.res ? call->keywords.res : call->keywords.size;
    if (given != NULL)
        size = PyLong_AsLongLong(given);
    if (lw_reduce_read_operands(call, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args),
                                call->keywords.where) < 0 ||
        lw_reduce_read_axes(call, call->keywords.axis) < 0 ||
        lw_reduce_read_initial(call) < 0 || lw_reduce_check_empty(call) < 0)
        goto done;
    ndim = lw_reduce_shape(call, false, shape);
    if (lw_reduce_new_results(call, ndim, shape) < 0)
        goto done;
    if (call->keywords.res != NULL)
        result = code_of(call, size);
    else if (simulate_call(call, size) == 0)
        result = lw_reduce_hand_out(call);
done:
    return lw_reduce_call_end(call, result);
}
