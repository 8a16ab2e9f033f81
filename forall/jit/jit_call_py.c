/* The call of a launcher, kernel[grid, block](...): where it runs, and how. */
#include "forall/jit/jit_py_internal.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/front/read/services.h"
#include "core/host/simulator.h"
#include "core/py/compiled/entry.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/print_py.h"
#include "core/device/driver.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "core/py/signals.h"

#include <stdatomic.h>
#include <string.h>

enum { HOST_BLOCK = 256, DEFAULT_SHARED_BYTES = 48 * 1024 };

static const char *
name_of(const lw_jit *self)
{
    return lw_function_name(&self->base);
}

/* ---- where ---- */

static lw_target_choice
setting(const lw_jit *self)
{
    const char *word = lw_env_text(LW_ENV_target);

    if (strcmp(word, "cpu") == 0 || strcmp(word, "parallel") == 0 ||
        strcmp(word, "python") == 0)
        return LW_CHOOSE_CPU;
    return self->from_cuda || strcmp(word, "cuda") == 0 ? LW_CHOOSE_CUDA : LW_CHOOSE_AUTO;
}

lw_target_choice
lw_jit_target(lw_jit *self)
{
    uint64_t version, answer;

    if (self->target_given)
        return self->base.options.target;
    version = 4 * (lw_env_version() + 1);
    answer = atomic_load_explicit(&self->setting, memory_order_relaxed);
    if ((answer & ~(uint64_t)3) != version) {
        answer = version | (uint64_t)setting(self);
        atomic_store_explicit(&self->setting, answer, memory_order_relaxed);
    }
    return (lw_target_choice)(answer & 3);
}

static lw_target_choice
target_of_call(lw_jit *self, PyObject *const *args, Py_ssize_t n_args)
{
    lw_target_choice target = lw_jit_target(self);

    if (target != LW_CHOOSE_AUTO)
        return target;
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (lw_is_device_operand(args[i]))
            return LW_CHOOSE_CUDA;
    return LW_CHOOSE_CPU;
}

void
lw_jit_host_key(const lw_specialisation *specialisation, lw_entry_key *key)
{
    *key = (lw_entry_key){.form = lw_ir_is_collective(specialisation->scalar->module)
                                      ? LW_ENTRY_SINGLE
                                      : LW_ENTRY_WHOLE};
}

void
lw_jit_device_key(bool noalias, lw_entry_key *key)
{
    *key = (lw_entry_key){.form = LW_ENTRY_GRID, .noalias = noalias};
}

static int
compile_one(lw_specialisation *specialisation, lw_target_choice target)
{
    lw_entry_key key;
    lw_device *device;

    if (specialisation->scalar == NULL)
        return 0;
    if (target != LW_CHOOSE_CUDA) {
        lw_jit_host_key(specialisation, &key);
        return lw_specialisation_host(specialisation, &key) ? 0 : -1;
    }
    if (!lw_driver_available()) /* the launch raises */
        return 0;
    device = lw_current_device();
    lw_jit_device_key(true, &key);
    return device && lw_specialisation_device(specialisation, device, &key) ? 0 : -1;
}

int
lw_jit_compile_declared(lw_jit *self)
{
    lw_target_choice target = lw_jit_target(self);
    int failed = 0;

    for (lw_specialisation *at = lw_grown_first(&self->base.specialisations);
         !failed && at != NULL; at = lw_grown_next(at))
        failed = compile_one(at, target);
    return failed;
}

/* ---- the shape of a launch ---- */

/* Raises what the driver says of such a launch, before it is asked. */
static int
beyond_bounds(const lw_jit *self, const char *whole, const char *parts, uint32_t n,
              uint32_t most)
{
    lw_error err = {0};

    lw_fail(
        &err, LW_ERR_LAUNCH,
        "%s: a %s of %u %s, but launch_bounds= allows at most %u (CUDA_ERROR_INVALID_VALUE)",
        name_of(self), whole, n, parts, most);
    lw_error_set_vendor(&err, "CUDA_ERROR_INVALID_VALUE", LW_CUDA_INVALID_VALUE);
    lw_py_raise(&err);
    return -1;
}

static int
check_block(const lw_jit *self, const lw_launch_shape *config)
{
    uint32_t threads = config->block[0] * config->block[1] * config->block[2];
    uint32_t most = self->base.limits.max_threads;

    uint32_t blocks = config->cluster[0] * config->cluster[1] * config->cluster[2];
    uint32_t most_blocks = self->base.limits.max_cluster;

    if (most != 0 && threads > most)
        return beyond_bounds(self, "block", "threads", threads, most);
    if (most_blocks != 0 && blocks > most_blocks)
        return beyond_bounds(self, "cluster", "blocks", blocks, most_blocks);
    return 0;
}

/* Computes how many blocks of this size hold the tasks of a forall. */
static int
cover(const lw_jit_launcher *self, uint32_t block, lw_launch_shape *config)
{
    int64_t blocks = (self->n_tasks + block - 1) / block;

    if (blocks > INT32_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "%s.forall: %lld tasks need %lld blocks of %u threads; a grid has at most "
                     "%d",
                     name_of(self->kernel), (long long)self->n_tasks, (long long)blocks, block,
                     INT32_MAX);
        return -1;
    }
    config->grid[0] = (uint32_t)blocks;
    config->block[0] = block;
    config->grid[1] = config->grid[2] = config->block[1] = config->block[2] = 1;
    return 0;
}

/* ---- on the CPU ---- */

static int
raise_result(const lw_specialisation *specialisation, const lw_sim_result *result)
{
    lw_raise_place place = {.kind = LW_AT_THREAD};

    memcpy(place.block, result->block, sizeof place.block);
    memcpy(place.thread, result->thread, sizeof place.thread);
    memcpy(place.words, result->words, sizeof place.words);
    return lw_raise_at(&lw_specialisation_on_host(specialisation)->raises[result->status - 1],
                       &place);
}

/* Runs without the GIL. LW_ERR_PYTHON: the exception of a signal handler is set. */
static lw_status
simulate_free(lw_sim_launch *launch, lw_sim_result *result, lw_error *err)
{
    PyThreadState *state = PyEval_SaveThread();
    lw_status status;

    launch->stop = lw_signal_raised;
    launch->stop_context = &state;
    status = lw_simulate(launch, result, err);
    PyEval_RestoreThread(state);
    return status;
}

static int
simulate(lw_jit *kernel, const lw_specialisation *specialisation, const lw_host_entry *entry,
         const lw_launch_shape *config, const uint64_t *values)
{
    lw_sim_launch launch = {.static_bytes = entry->shared_bytes,
                            .local_bytes = entry->local_bytes,
                            .dynamic_bytes = config->shared_bytes,
                            .values = values,
                            .checks = kernel->base.options.front.checks != 0,
                            .in_order = entry->prints};
    lw_sim_result result = {0};
    lw_error err = {0};
    lw_status status;

    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    memcpy(launch.cluster, config->cluster, sizeof launch.cluster);
    if (entry->key.form == LW_ENTRY_SINGLE)
        launch.single = (lw_sim_single)(uintptr_t)entry->address;
    else
        launch.whole = (lw_sim_whole)(uintptr_t)entry->address;
    status = simulate_free(&launch, &result, &err);
    if (lw_print_show_anyway() < 0) {
        lw_error_reset(&err);
        return -1;
    }
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    return result.status == 0 ? 0 : raise_result(specialisation, &result);
}

static int
run_bound_on_host(const lw_jit_launcher *self, lw_bound *bound)
{
    lw_jit *kernel = self->kernel;
    lw_launch_shape config = self->config;
    lw_specialisation *specialisation;
    lw_host_entry *entry;
    lw_entry_key key;
    uint32_t most = kernel->base.limits.max_threads;

    if (bound->where == LW_WHERE_DEVICE) {
        PyErr_Format(
            PyExc_TypeError,
            "%s: this launch runs on the CPU, and an argument is an array on a GPU; "
            "expected NumPy arrays: pass `a.copy_to_host()`, or leave target=\"cpu\" out",
            name_of(kernel));
        return -1;
    }
    if (self->n_tasks >= 0 && cover(self,
                                    self->tpb                   ? self->tpb
                                    : most && most < HOST_BLOCK ? most
                                                                : HOST_BLOCK,
                                    &config) < 0)
        return -1;
    specialisation =
        check_block(kernel, &config) < 0 ? NULL : lw_specialisation_get(&kernel->base, bound);
    if (specialisation == NULL)
        return -1;
    lw_jit_host_key(specialisation->target, &key);
    entry = lw_specialisation_host(specialisation->target, &key);
    return entry ? simulate(kernel, specialisation->target, entry, &config, bound->values) : -1;
}

static int
run_on_host(const lw_jit_launcher *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *row[LW_MOST_ARRANGED];
    PyObject *keep = NULL;
    lw_bound bound;
    int result = -1;

    memcpy(row, args, (size_t)n_args * sizeof *row);
    lw_bound_init(&bound);
    if (lw_jit_unwrap_all(row, n_args, &keep) == 0 &&
        lw_bind(&self->kernel->base, row, n_args, &bound) == 0) {
        result = run_bound_on_host(self, &bound);
        lw_bound_release(&bound);
    }
    Py_XDECREF(keep);
    return result;
}

/* ---- on a GPU ---- */

/* The launch shape for this kernel on this device, checked. */
static int
shape_for(const lw_jit_launcher *self, lw_device_entry *entry, lw_launch_shape *config,
          lw_error *err)
{
    lw_launch_config best = entry->config;
    const lw_kernel_info *info = &entry->kernel->info;
    uint32_t threads;

    *config = self->config;
    if (lw_kernel_prefer_shared(entry->kernel, self->kernel->base.options.carveout, err) !=
        LW_OK)
        return -1;
    if (config->shared_bytes + (uint32_t)info->shared_bytes > DEFAULT_SHARED_BYTES &&
        config->shared_bytes &&
        lw_kernel_allow_shared(entry->kernel, config->shared_bytes, err) != LW_OK)
        return -1;
    if (self->n_tasks >= 0) {
        if (self->tpb == 0 && config->shared_bytes &&
            lw_launch_config_best(entry->kernel, config->shared_bytes,
                                  self->kernel->base.limits.max_threads, &best, err) != LW_OK)
            return -1;
        if (cover(self, self->tpb ? self->tpb : best.block, config) < 0)
            return -1;
    }
    if (check_block(self->kernel, config) < 0)
        return -1;
    threads = config->block[0] * config->block[1] * config->block[2];
    if ((int)threads <= info->max_threads)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "%s: a block of %u threads, but this kernel, with %d registers a thread, can "
                 "have at most %d; launch_bounds=%u makes it fit",
                 name_of(self->kernel), threads, info->registers, info->max_threads, threads);
    return -1;
}

static lw_status
launch(const lw_jit *kernel, lw_device_entry *entry, const lw_launch_shape *config,
       uint64_t *values, uint32_t n_values, lw_error *err)
{
    void *store[LW_BOUND_VALUES + 1], **params = store;
    lw_status status;

    if (n_values > LW_BOUND_VALUES)
        params = lw_alloc((n_values + 1) * sizeof *params);
    if (params == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < n_values; i++)
        params[i] = &values[i];
    params[n_values] = &entry->control;
    status = (kernel->base.options.cooperative || entry->together
                  ? lw_launch_together
                  : lw_launch)(entry->kernel, config, params, err);
    if (params != store)
        lw_free(params);
    return status;
}

static int
launch_entry(const lw_jit_launcher *self, lw_bound *bound, lw_device *device,
             lw_device_entry *entry)
{
    lw_launch_shape config;
    lw_error err = {0};
    CUcontext before;
    lw_status status = lw_device_visit(device, &before, &err);
    int failed = 0;

    if (status == LW_OK)
        failed = shape_for(self, entry, &config, &err);
    if (status == LW_OK && !failed)
        status = lw_bound_use(bound, device, config.stream, &err);
    if (status == LW_OK && !failed)
        status = launch(self->kernel, entry, &config, bound->values, bound->n_values, &err);
    if (status == LW_OK && !failed)
        status = lw_bound_done(bound, device, config.stream, &err);
    lw_device_leave(before);
    if (status != LW_OK || err.status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK && !failed ? 0 : -1;
}

static int
run_bound_on_device(const lw_jit_launcher *self, lw_bound *bound, lw_device *device)
{
    lw_jit *kernel = self->kernel;
    lw_specialisation *specialisation = lw_specialisation_get(&kernel->base, bound);
    lw_device_entry *entry;
    lw_entry_key key;

    if (specialisation == NULL ||
        (self->stream != NULL && lw_stream_check(self->stream, device) < 0))
        return -1;
    lw_jit_device_key(lw_specialisation_noalias(specialisation->target, bound), &key);
    entry = lw_specialisation_device(specialisation->target, device, &key);
    if (entry == NULL || launch_entry(self, bound, device, entry) < 0)
        return -1;
    return lw_entry_report(entry, self->config.stream);
}

static int
bind_and_run(const lw_jit_launcher *self, PyObject *const *args, Py_ssize_t n_args,
             lw_device *device)
{
    lw_bound bound;
    int result;

    lw_bound_init(&bound);
    if (lw_bind(&self->kernel->base, args, n_args, &bound) < 0)
        return -1;
    if (bound.device != NULL)
        device = bound.device;
    else if (device == NULL)
        device = lw_current_device();
    result = device ? run_bound_on_device(self, &bound, device) : -1;
    lw_bound_release(&bound);
    return result;
}

/* Copies host arrays to the device and back. */
static int
run_with_host(const lw_jit_launcher *self, PyObject *const *args, Py_ssize_t n_args)
{
    lw_device *device = lw_device_of_arrays(args, n_args);
    PyObject *row[LW_MOST_ARRANGED];
    lw_jit_travel travel;
    int failed;

    if (device == NULL)
        return -1;
    memcpy(row, args, (size_t)n_args * sizeof *row);
    travel.n = 0;
    travel.keep = NULL;
    failed = lw_jit_warn_of_copies(self->kernel, args, n_args) < 0 ||
             lw_jit_travel_start(&travel, device, self->config.stream, row, n_args) < 0 ||
             bind_and_run(self, row, n_args, device) < 0 ||
             lw_jit_travel_back(&travel, device, self->config.stream) < 0;
    lw_jit_travel_end(&travel);
    return failed ? -1 : 0;
}

/* ---- the call ---- */

static PyObject *
call_now(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    lw_jit_launcher *self = (lw_jit_launcher *)object;
    lw_jit *kernel = self->kernel;
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    PyObject *row[LW_MOST_ARRANGED];
    int failed;

    if (kwnames != NULL || n_args > kernel->n_positional) {
        n_args = lw_function_arrange(&kernel->base, args, n_args, kwnames, NULL, row);
        args = row;
    }
    if (n_args < 0)
        return NULL;
    if (self->n_tasks == 0)
        Py_RETURN_NONE;
    if (target_of_call(kernel, args, n_args) == LW_CHOOSE_CPU)
        failed = run_on_host(self, args, n_args);
    else if (lw_jit_has_host(args, n_args))
        failed = run_with_host(self, args, n_args);
    else
        failed = bind_and_run(self, args, n_args, NULL);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* Makes the call with a kernel that was compiled again, in the same shape. */
static PyObject *
call_renewed(const lw_jit_launcher *self, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    lw_jit *kernel = (lw_jit *)lw_function_current(&self->kernel->base);
    lw_jit_launcher *made =
        kernel ? lw_jit_launcher_new(kernel, &self->config, self->stream) : NULL;
    PyObject *result = NULL;

    if (made != NULL) {
        made->n_tasks = self->n_tasks;
        made->tpb = self->tpb;
        result = call_now((PyObject *)made, args, nargsf, kwnames);
    }
    Py_XDECREF((PyObject *)made);
    Py_XDECREF((PyObject *)kernel);
    return result;
}

PyObject *
lw_jit_launch_prepared(PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                       PyObject *kwnames)
{
    const lw_jit_launcher *self = (lw_jit_launcher *)object;

    return lw_function_is_stale(&self->kernel->base)
               ? call_renewed(self, args, (size_t)n_args, kwnames)
               : call_now(object, args, (size_t)n_args, kwnames);
}

PyObject *
lw_jit_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const lw_jit_launcher *self = (lw_jit_launcher *)object;
    const lw_jit *kernel = self->kernel;
    PyObject *result;

    if (kernel->extensions != NULL && PyList_GET_SIZE(kernel->extensions) > 0)
        return lw_service_call(LW_SERVICE_OVERLOADS, "launch_extended", object, args,
                               PyVectorcall_NARGS(nargsf), kwnames);
    if (lw_calls_go_round() &&
        lw_went_round(&(lw_entry_call){"launch", lw_jit_call, (lw_compiled *)self->kernel,
                                       object, args, nargsf, kwnames},
                      &result))
        return result;
    return (lw_function_is_stale(&self->kernel->base)
                ? call_renewed(self, args, nargsf, kwnames)
                : call_now(object, args, nargsf, kwnames));
}
