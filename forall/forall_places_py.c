/* What a call's shapes say of its elements before it runs: indices that every element uses are
 * compared with the shapes of the arrays (core/front/reach), and updates of more elements than
 * there are places are W208. */
#include "forall/forall_py_internal.h"

#include "core/py/raise_row.h"
#include "forall/specialisation_py_internal.h"

#include <stdio.h>

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
