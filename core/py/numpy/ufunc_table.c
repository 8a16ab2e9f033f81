/* The loops that stand behind an inner numpy.ufunc, and telling NumPy of them. While a Ufunc is
 * made its loops are NumPy's at once; later ones when NumPy asks, for its list of loops may be
 * read meanwhile. */
#include "core/py/numpy/ufunc_inner.h"

#include "core/py/numpy/host_loops.h"
#include "core/py/descr.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/type_num.h"

#include <assert.h>

/* ---- the table ---- */

static int
set_owner(lw_loop_table *table, lw_ufunc_head *owner)
{
    atomic_init(&table->owner, owner);
#ifdef Py_GIL_DISABLED
    table->owner_ref = PyWeakref_NewRef((PyObject *)owner, NULL);
    return table->owner_ref ? 0 : -1;
#else
    return 0;
#endif
}

lw_loop_table *
lw_table_new(size_t bytes, lw_ufunc_head *owner, const char *name, const char *doc)
{
    lw_loop_table *table = lw_alloc_zero(1, bytes);

    assert(bytes >= sizeof *table);
    if (table == NULL)
        return (lw_loop_table *)PyErr_NoMemory();
    table->references = 1;
    table->kind = owner->kind;
    table->lock = (lw_lock)LW_LOCK_INIT;
    table->name = table->numpy_name = lw_strdup(name);
    table->doc = lw_strdup(doc);
    if (table->name == NULL || table->doc == NULL)
        PyErr_NoMemory();
    if (PyErr_Occurred() || set_owner(table, owner) < 0) {
        lw_table_drop(table);
        return NULL;
    }
    /* without links: those are GPU code of the owner, which this may outlive */
    table->build = lw_door_build_options(&owner->options, table->name);
    table->build.watch =
        lw_door_watches_elements(&owner->options) ? LW_WATCH_ELEMENTS : LW_WATCH_NOTHING;
    return table;
}

void
lw_table_drop(lw_loop_table *table)
{
    lw_loop_head *loop, *next;

    if (table == NULL || --table->references > 0)
        return;
    for (loop = table->loops; loop != NULL; loop = next) {
        next = loop->next;
        table->kind->free_loop(loop);
    }
    lw_times_forget(table);
    if (table->kind->free_table != NULL)
        table->kind->free_table(table);
    Py_XDECREF(table->owner_ref);
    lw_free(table->numpy_name);
    lw_free(table->doc);
    lw_free(table);
}

void
lw_ufunc_count(lw_ufunc_stats *stats, const lw_build_report *report)
{
    stats->compiled++;
    stats->from_memory += report->origin == LW_CACHE_MEMORY;
    stats->from_disk += report->origin == LW_CACHE_DISK;
    stats->made += report->origin == LW_CACHE_MADE;
    stats->cuda += report->cuda;
    stats->seconds += report->seconds;
}

lw_ufunc_stats
lw_table_stats(lw_ufunc_head *self)
{
    lw_loop_table *table = self->table;
    lw_ufunc_stats result;

    lw_lock_take(&table->lock);
    result = table->stats;
    lw_lock_give(&table->lock);
    for (const lw_resolved *plan = lw_grown_first(&self->plans.all); plan != NULL;
         plan = lw_grown_next(plan))
        for (const lw_loaded *kernel = lw_grown_first(&plan->kernels); kernel != NULL;
             kernel = lw_grown_next(kernel))
            lw_ufunc_count(&result, &kernel->report);
    return result;
}

/* ---- finding a loop ---- */

static bool
is_for(const lw_loop_head *loop, PyArray_Descr *const *descriptors)
{
    const lw_dtype *types = loop->types;

    for (int i = 0; i < loop->nin + loop->nout; i++)
        if (types[i] != (lw_is_time(types[i]) ? lw_dtype_of_descr(descriptors[i])
                                              : lw_dtype_from_num(descriptors[i]->type_num)))
            return false;
    return true;
}

lw_loop_head *
lw_table_find(lw_loop_table *table, PyArray_Descr *const *descriptors)
{
    lw_loop_head *loop = atomic_load_explicit(&table->last, memory_order_acquire);

    if (loop != NULL && is_for(loop, descriptors))
        return loop;
    loop = atomic_load_explicit(&table->loops, memory_order_acquire);
    while (loop != NULL && !is_for(loop, descriptors))
        loop = loop->next;
    if (loop != NULL)
        atomic_store_explicit(&table->last, loop, memory_order_release);
    return loop;
}

/* ---- registering with NumPy ---- */

/* classes: those of NumPy's dtypes for the loop's types, where they are not the usual ones; or
 * NULL. */
static int
tell_numpy(const lw_ufunc_head *self, PyObject *inner, lw_loop_head *loop,
           PyArray_DTypeMeta *const *classes)
{
    PyArrayMethod_Spec spec = {.name = self->table->name, .slots = self->kind->loop_slots};

    if (self->identity != Py_None)
        spec.flags |= NPY_METH_IS_REORDERABLE;
    if (classes == NULL)
        atomic_store_explicit(&loop->given, inner, memory_order_relaxed);
    if (lw_types_have_time(loop->types, loop->nin + loop->nout))
        return lw_times_give((lw_ufunc_head *)self, inner, loop, &spec);
    return lw_host_loop_give(inner, &spec, loop->types, classes, loop->nin, loop->nout,
                             loop->scalar->pure_integer && !loop->raises_flags);
}

/* With an exception: NumPy has the loop already. Then the exception is cleared. */
static bool
had_it(void)
{
    bool had = PyErr_ExceptionMatches(PyExc_TypeError);

    if (had)
        PyErr_Clear();
    return had;
}

int
lw_table_give(lw_ufunc_head *self, PyObject *inner, lw_loop_head *loop)
{
    if (atomic_load_explicit(&loop->given, memory_order_relaxed) == inner)
        return 0;
    if (tell_numpy(self, inner, loop, NULL) < 0 && !had_it()) {
        atomic_store_explicit(&loop->given, NULL, memory_order_relaxed);
        return -1;
    }
    atomic_fetch_add(&self->n_given, 1);
    return 0;
}

int
lw_table_give_as(lw_ufunc_head *self, PyObject *inner, lw_loop_head *loop,
                 PyArray_DTypeMeta *const *classes)
{
    if (tell_numpy(self, inner, loop, classes) < 0)
        return had_it() ? 0 : -1;
    atomic_fetch_add(&self->n_given, 1);
    return 0;
}

int
lw_table_give_all(lw_ufunc_head *self, PyObject *inner)
{
    const lw_loop_rows *rows = lw_rows_of(self);

    for (uint32_t i = 0; rows != NULL && i < rows->n; i++)
        if (tell_numpy(self, inner, rows->loops[i], NULL) < 0)
            return -1;
    return 0;
}

int
lw_table_add(lw_ufunc_head *self, lw_loop_head *loop)
{
    lw_loop_table *table = self->table;
    lw_loop_rows *rows = lw_rows_with(self, loop, loop->declared);

    if (rows == NULL)
        PyErr_NoMemory();
    if (rows == NULL ||
        (!self->is_made && tell_numpy(self, lw_inner_now(self), loop, NULL) < 0)) {
        lw_free(rows);
        self->kind->free_loop(loop);
        return -1;
    }
    loop->next = table->loops;
    atomic_store_explicit(&table->loops, loop, memory_order_release);
    if (loop->scalar->can_raise) {
        table->can_raise = true;
        lw_host_items_reset(); /* the call that is under way began before this was known */
    }
    lw_rows_publish(self, rows);
    return 0;
}
