/* What is known of the elements of a forall before a call runs: stores that race become errors
 * in the user's function, indices that every element uses are compared with the shapes of the
 * arrays (core/front/reach), and updates of more elements than there are places are W208.
 * Races that a watched run finds become exceptions. */
#include "forall/forall_py_internal.h"

#include "core/base/memory.h"
#include "core/front/diagnose.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "core/py/signals.h"
#include "forall/specialisation_py_internal.h"

#include <stdio.h>
#include <string.h>

static void
refuse(const lw_specialisation *specialisation, const lw_race_store *race, uint32_t dim)
{
    const lw_tree *tree = specialisation->function->tree;
    const lw_fn *fn = &tree->fns.data[1];
    uint32_t loc = lw_place_in_tree(tree, specialisation->scalar->module, race->loc);
    lw_error err = {0};
    char label[128];

    snprintf(label, sizeof label, "the same element for every `%.80s`",
             fn->params.data[dim].name);
    lw_diagnose(
        tree, loc ? loc : fn->loc,
        (lw_fault){LW_ERR_COMPILE, "E164", .label = label,
                   .help =
                       race->augmented
                           ? "`cuda.atomic.add(array, index, value)` does not lose updates; "
                             "`lw.reduce` computes sums and other reductions"
                           : "store at the element's own index, or under `if index == 0:`; "
                             "`cuda.atomic` and `lw.reduce` combine the values of all indices",
                   .where = fn->name},
        &err,
        race->augmented
            ? "calls of `%s` for different indices update the same element, and updates are "
              "lost"
            : "calls of `%s` for different indices store different values in the same element",
        fn->name);
    lw_py_raise(&err);
}

int
lw_forall_refuse_races(const lw_specialisation *specialisation, const lw_space *space)
{
    for (uint32_t i = 0; i < specialisation->n_races; i++) {
        const lw_race_store *race = &specialisation->races[i];
        for (uint32_t d = 0; d < specialisation->function->n_index; d++)
            if ((race->dims >> d & 1) && space->n[d] > 1 &&
                (!race->counted || (space->start[d] == 0 && space->step[d] == 1))) {
                refuse(specialisation, race, d);
                return -1;
            }
    }
    return 0;
}

/* ---- indices that every element uses ---- */

/* The array that is the argument; NULL: it is something else, such as a record. */
static const lw_bound_array *
argument_array(const lw_prepared *p, uint32_t arg)
{
    for (uint32_t i = 0; i < p->bound.n_arrays; i++)
        if (p->bound.arrays[i].arg == arg && !p->bound.arrays[i].record)
            return &p->bound.arrays[i];
    return NULL;
}

static uint32_t
ndim_of(const lw_prepared *p, uint32_t arg)
{
    return p->specialisation->specs[p->self->base.n_index + arg].ndim;
}

static const int64_t *
shape_of(const lw_prepared *p, const lw_bound_array *array)
{
    return (const int64_t *)(p->bound.values + array->value + 1);
}

/* The number of the first index along a dimension of the space with which start + step * number
 * + offset is outside of -size … size - 1; -1: none is. Its value is *index. */
static int64_t
first_outside(const lw_space *space, const lw_reach *reach, __int128 size, __int128 *index)
{
    __int128 start = reach->index < 0 ? 0 : space->start[reach->index];
    __int128 step = reach->index < 0 ? 0 : space->step[reach->index];
    __int128 n = reach->index < 0 ? 1 : space->n[reach->index], at = 0, last;

    start += reach->offset;
    last = start + (n - 1) * step;
    if (start < size && start >= -size && last < size && last >= -size)
        return -1;
    if (start < size && start >= -size) /* the first is inside: where does it leave? */
        at = step > 0   ? (size - start + step - 1) / step
             : step < 0 ? (start + size) / -step + 1
                        : 0;
    *index = start + at * step;
    return (int64_t)at;
}

static int
refuse_index(const lw_prepared *p, const lw_reach *reach, int64_t number, int64_t index,
             int64_t size)
{
    const lw_tree *tree = lw_specialisation_tree(p->specialisation);
    const lw_loc *loc = &tree->locs.data[reach->loc];
    lw_raise_place place = {.kind = LW_AT_INDEX, .ndim = p->self->base.n_index};
    char message[128];
    lw_raise_row row = {.exception = "IndexError",
                        .message = message,
                        .function = tree->fns.data[1].name,
                        .file = tree->files.data[loc->file].path,
                        .line = loc->line};

    for (uint32_t d = 0; d < place.ndim; d++)
        place.index[d] = p->space.start[d];
    if (reach->index >= 0)
        place.index[reach->index] += number * p->space.step[reach->index];
    snprintf(message, sizeof message, "index %lld is out of bounds for axis %u with size %lld",
             (long long)index, (unsigned)reach->axis, (long long)size);
    return lw_raise_at(&row, &place);
}

/* The smallest and the largest index along each dimension of the space; far away where the
 * numbers are too large. */
static void
find_ends(const lw_prepared *p, int64_t *low, int64_t *high)
{
    for (uint32_t d = 0; d < p->self->base.n_index; d++) {
        int64_t first = p->space.start[d], extent, last;

        if (__builtin_mul_overflow(p->space.n[d] - 1, p->space.step[d], &extent) ||
            __builtin_add_overflow(first, extent, &last))
            last = p->space.step[d] < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
        low[d] = first < last ? first : last;
        high[d] = first < last ? last : first;
    }
}

static int
refuse_outside(const lw_prepared *p)
{
    int64_t low[LW_MAX_INDEX + 1] = {0}, high[LW_MAX_INDEX + 1] = {0};

    find_ends(p, low + 1, high + 1); /* before them, those of constant indices */
    for (uint32_t i = 0; i < p->specialisation->n_reaches; i++) {
        const lw_reach *reach = &p->specialisation->reaches[i];
        const lw_bound_array *array = argument_array(p, reach->arg);
        int64_t size = array ? shape_of(p, array)[reach->axis] : 0, number;
        __int128 index = 0;

        if (array == NULL || (high[reach->index + 1] < size - reach->offset &&
                              low[reach->index + 1] >= -size - reach->offset))
            continue;
        number = first_outside(&p->space, reach, size, &index);
        if (number >= 0)
            return refuse_index(p, reach, number, (int64_t)index, size);
    }
    return 0;
}

/* ---- lost updates ---- */

static __int128
places_of(const lw_prepared *p, const lw_bound_array *array)
{
    __int128 places = 1;

    for (uint32_t d = 0; d < ndim_of(p, array->arg); d++)
        places *= shape_of(p, array)[d];
    return places;
}

/* How many elements the array has that the update changes, or the largest array that the
 * function changes; -1: it is a record, or there is none. */
static __int128
places_of_update(const lw_prepared *p, const lw_lost_update *update)
{
    const lw_bound_array *array =
        update->arg != LW_NO_ARG ? argument_array(p, update->arg) : NULL;
    __int128 most = -1;

    if (update->arg != LW_NO_ARG)
        return array ? places_of(p, array) : -1;
    for (uint32_t i = 0; i < p->specialisation->n_written; i++) {
        array = &p->bound.arrays[p->specialisation->written[i]];
        if (array->record)
            return -1;
        if (places_of(p, array) > most)
            most = places_of(p, array);
    }
    return most;
}

static bool
loses_updates(const lw_prepared *p, const lw_lost_update *update)
{
    __int128 places = update->same_place ? 1 : places_of_update(p, update), elements = 1;

    for (uint32_t d = 0; d < p->self->base.n_index; d++)
        elements *= !update->same_place || (update->dims >> d & 1) ? p->space.n[d] : 1;
    return places >= 0 && places * update->times < elements;
}

static int
warn_of(const lw_prepared *p, const lw_lost_update *update)
{
    const lw_tree *tree = lw_specialisation_tree(p->specialisation);
    const lw_loc *loc = &tree->locs.data[update->loc];
    const lw_fn *fn = &tree->fns.data[1];
    const char *array = update->arg != LW_NO_ARG
                            ? fn->params.data[p->self->base.n_index + update->arg].name
                            : "array";
    char text[1024], of[80] = "an array", what[320];

    if (update->arg != LW_NO_ARG)
        snprintf(of, sizeof of, "`%.60s`", array);
    if (update->same_place)
        snprintf(what, sizeof what,
                 "an element of %s under a condition that may hold for several of the %lld "
                 "indices of `%.60s`",
                 of, (long long)p->n, fn->name);
    else
        snprintf(what, sizeof what,
                 "elements of %s, which has fewer elements than `%.60s` has indices (%lld "
                 "indices)",
                 of, fn->name, (long long)p->n);
    snprintf(text, sizeof text,
             "W208: line %u of %.200s updates %s; where several indices update one element, "
             "updates are lost. `cuda.atomic.add(%.60s, index, value)` loses none "
             "(cuda.atomic.max and others likewise), on CPUs and GPUs; warn=False if that is "
             "intended",
             (unsigned)loc->line, tree->files.data[loc->file].path, what, array);
    return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
}

int
lw_forall_refuse_places(const lw_prepared *p)
{
    if (refuse_outside(p) < 0)
        return -1;
    for (uint32_t i = 0; i < p->specialisation->n_updates; i++) {
        if (!p->self->base.options.warn || p->self->base.told_updates ||
            !loses_updates(p, &p->specialisation->updates[i]))
            continue;
        atomic_store(&p->self->base.told_updates, true);
        if (warn_of(p, &p->specialisation->updates[i]) < 0)
            return -1;
    }
    return 0;
}

/* ---- as they run ---- */

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
