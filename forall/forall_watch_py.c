/* Runs that are watched for races (core/host/element_race), which become exceptions. */
#include "forall/forall_py_internal.h"

#include "core/base/memory.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "core/py/signals.h"

#include <stdio.h>

static lw_race_array
array_of(const lw_prepared *p, const lw_bound_array *bound)
{
    const lw_function *self = &p->self->base;
    const int64_t *shape = (const int64_t *)(p->bound.values + bound->value + 1);
    PyArrayObject *array = PyArray_Check(bound->object) ? (PyArrayObject *)bound->object : NULL;
    lw_race_array out = {
        .name = self->tree->fns.data[1].params.data[self->n_index + bound->arg].name,
        .data = p->bound.values[bound->value],
        .span = {bound->low, bound->high},
        .grain = 1};

    if (array == NULL) /* it is a record */
        return out;
    out.ndim = PyArray_NDIM(array);
    out.shape = shape;
    out.strides = shape + out.ndim;
    out.itemsize = PyArray_ITEMSIZE(array);
    if (!PyDataType_HASFIELDS(PyArray_DESCR(array)))
        out.grain = (uint32_t)(PyArray_ISCOMPLEX(array) ? out.itemsize / 2 : out.itemsize);
    return out;
}

static void
say_element(const lw_prepared *p, uint64_t element, char *out, size_t size)
{
    int64_t index[LW_MAX_INDEX];
    uint32_t n = p->self->base.n_index;
    size_t at;

    lw_space_index(&p->space, &p->host->key, (int64_t)element, index);
    at = (size_t)snprintf(out, size, "element %s", n > 1 ? "(" : "");
    for (uint32_t d = 0; d < n && at < size; d++)
        at +=
            (size_t)snprintf(out + at, size - at, "%s%lld", d ? ", " : "", (long long)index[d]);
    if (n > 1 && at < size)
        snprintf(out + at, size - at, ")");
}

static lw_status
watch_run(lw_prepared *p, lw_space_run *run, const lw_race_array *arrays, bool *stopped,
          lw_error *err)
{
    PyThreadState *state = PyEval_SaveThread();
    lw_stop stop = {.ask = lw_signal_raised, .context = &state};
    lw_race_watch *watch = NULL;
    lw_status status = lw_race_begin(arrays, p->bound.n_arrays, &watch, err);
    char here[96], there[96];
    lw_race race;

    run->stop = &stop;
    if (status == LW_OK) {
        lw_space_run_watched(run, watch);
        status = lw_race_end(watch, &race, err);
    }
    PyEval_RestoreThread(state);
    run->stop = NULL;
    *stopped = stop.stopped;
    if (status != LW_OK || race.does == NULL)
        return status;
    say_element(p, race.element, here, sizeof here);
    say_element(p, race.other, there, sizeof there);
    return lw_race_fail(&race, lw_function_name(&p->self->base), here, there, err);
}

int
lw_forall_run_watched(lw_prepared *p, lw_space_run *run)
{
    lw_race_array *arrays = lw_alloc(((size_t)p->bound.n_arrays + 1) * sizeof *arrays);
    bool stopped = false;
    lw_status status;
    lw_error err = {0};

    if (arrays == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < p->bound.n_arrays; i++)
        arrays[i] = array_of(p, &p->bound.arrays[i]);
    status = watch_run(p, run, arrays, &stopped, &err);
    lw_free(arrays);
    if (status == LW_OK && !stopped)
        return 0;
    if (lw_print_show_anyway() < 0 || stopped) /* the exception of a signal handler is set */
        lw_error_reset(&err);
    else
        lw_py_raise(&err);
    return -1;
}
