/* Specialisations: from the dtypes of a call's operands to lowered functions and machine code.
 */
#include "reduce/reduce_parts_py.h"

#include "core/base/memory.h"
#include "core/py/array/device_array.h"
#include "core/py/raise.h"
#include "reduce/device_py.h"
#include "reduce/host/masked.h"

#include <string.h>

const char *
lw_reducer_name(const lw_reducer *self)
{
    const lw_tree *tree = self->tree[LW_ROLE_COMBINE];

    return tree != NULL && tree->fns.n > 1 ? tree->fns.data[1].name : "reduction";
}

uint32_t
lw_reducer_n_arrays(const lw_reducer *self)
{
    const lw_tree *map = self->tree[LW_ROLE_MAP];

    return map ? map->fns.data[1].params.n - lw_reduce_is_indexed(map) : 0;
}

/* Before the first specialisation: read functions again where a global or closure variable has
 * changed. */
static int
refresh(lw_reducer *self)
{
    for (int i = 0; i < LW_N_ROLES && self->specials == NULL; i++)
        if (lw_read_again(self->function[i], i == LW_ROLE_COMBINE ? self->source : NULL,
                          &self->tree[i], &self->captures[i]) < 0)
            return -1;
    return 0;
}

/* The dtypes of NumPy's numbers in identity=, one after the other; Python's and records say
 * nothing. */
static void
read_said(PyObject *identity, lw_reduce_source *source, uint32_t *at)
{
    PyArray_Descr *descr;

    for (Py_ssize_t i = 0; PyTuple_Check(identity) && i < PyTuple_GET_SIZE(identity); i++)
        read_said(PyTuple_GET_ITEM(identity, i), source, at);
    if (PyTuple_Check(identity) || *at >= LW_REDUCE_MOST)
        return;
    if (PyArray_IsScalar(identity, Generic)) {
        descr = PyArray_DescrFromScalar(identity);
        if (descr != NULL)
            source->said[*at] = lw_dtype_of_descr(descr);
        Py_XDECREF(descr);
    }
    (*at)++;
}

static lw_reduce_source
source_of(const lw_reducer *self, lw_text *types)
{
    lw_reduce_source source = {.map = self->tree[LW_ROLE_MAP],
                               .combine = self->tree[LW_ROLE_COMBINE],
                               .finish = self->tree[LW_ROLE_FINISH],
                               .options = &self->options.front,
                               .commutative = self->commutative,
                               .types = types};
    uint32_t n = 0;

    if (self->identity != NULL)
        read_said(self->identity, &source, &n);
    return source;
}

lw_status
lw_reducer_print_types(const lw_reducer *self, const lw_reduce_special *special, lw_text *out,
                       lw_error *err)
{
    lw_reduce_source source = source_of(self, out);
    lw_reduction *again = NULL;
    lw_status status = lw_reduction_new(&source, special->array, special->n_arrays,
                                        special->dtype, &again, err);

    lw_reduction_free(again);
    return status;
}

/* Of loops in the three functions; the tree of combines itself is the cure of long sums. */
static int
warn_of_sums(lw_reducer *self, const lw_reduction *r)
{
    const lw_scalar *scalars[] = {r->map, r->combine, r->finish};

    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        if (scalars[i] && lw_door_warn_of_sums(&self->options, scalars[i]->warning) < 0)
            return -1;
    return 0;
}

static lw_reduce_special *
make(lw_reducer *self, const lw_reduce_operand *arrays, uint32_t n, lw_dtype dtype)
{
    lw_reduce_special *special = lw_alloc_zero(1, sizeof *special);
    lw_reduce_source source = source_of(self, NULL);
    lw_error err = {0};

    if (special == NULL)
        return (lw_reduce_special *)PyErr_NoMemory();
    special->n_arrays = n;
    special->dtype = dtype;
    memcpy(special->array, arrays, n * sizeof *arrays);
    if (lw_reduction_new(&source, arrays, n, dtype, &special->reduction, &err) != LW_OK) {
        lw_free(special);
        return (lw_reduce_special *)lw_py_raise(&err);
    }
    if (warn_of_sums(self, special->reduction) < 0) {
        lw_reduction_free(special->reduction);
        lw_free(special);
        return NULL;
    }
    special->next = self->specials;
    self->specials = special;
    self->n_specials++;
    return special;
}

static bool
are_the_same(const lw_reduce_operand *x, const lw_reduce_operand *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (x[i].dtype != y[i].dtype || x[i].record != y[i].record)
            return false;
    return true;
}

lw_reduce_special *
lw_reducer_special(lw_reducer *self, const lw_reduce_operand *arrays, uint32_t n,
                   lw_dtype dtype)
{
    for (lw_reduce_special *at = self->specials; at != NULL; at = at->next)
        if (at->n_arrays == n && at->dtype == dtype && are_the_same(at->array, arrays, n))
            return at;
    if (refresh(self) < 0)
        return NULL;
    return make(self, arrays, n, dtype);
}

void
lw_reducer_count(lw_reducer *self, const lw_build_report *report)
{
    self->compiled++;
    self->from_memory += report->origin == LW_CACHE_MEMORY;
    self->from_disk += report->origin == LW_CACHE_DISK;
    self->seconds += report->seconds;
}

static int
build_host(lw_reducer *self, const lw_reduction *reduction, lw_reduce_code *to)
{
    lw_build_options options = lw_door_build_options(&self->options, lw_reducer_name(self));
    lw_build_report report = {0};
    lw_reduce_code made;
    lw_error err = {0};
    lw_status status;

    if (to->code != NULL)
        return 0;
    Py_BEGIN_ALLOW_THREADS
    status = lw_reduce_host_build(reduction, &options, &made, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_reducer_count(self, &report);
    if (to->code != NULL) /* another thread was faster */
        lw_reduce_host_drop(&made);
    else
        *to = made;
    return 0;
}

int
lw_reducer_host(lw_reducer *self, lw_reduce_special *special)
{
    return build_host(self, special->reduction, &special->host);
}

int
lw_reducer_host_masked(lw_reducer *self, lw_reduce_special *special)
{
    lw_error err = {0};

    if (!special->looked_at_masks) {
        if (lw_reduction_masked(special->reduction, &special->masked, &err) != LW_OK) {
            lw_py_raise(&err);
            return -1;
        }
        special->looked_at_masks = true;
    }
    return special->masked ? build_host(self, special->masked, &special->masked_host)
                           : lw_reducer_host(self, special);
}

int
lw_reducer_host_scans(lw_reducer *self, lw_reduce_special *special)
{
    lw_build_options options = lw_door_build_options(&self->options, lw_reducer_name(self));
    lw_build_report report = {0};
    lw_reduce_scan_loops_code made;
    lw_error err = {0};
    lw_status status;

    if (special->host.scans.code != NULL)
        return 0;
    Py_BEGIN_ALLOW_THREADS
    status = lw_reduce_host_build_scans(special->reduction, &options, &made, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_reducer_count(self, &report);
    if (special->host.scans.code != NULL) /* another thread was faster */
        lw_code_unref(made.code);
    else
        special->host.scans = made;
    return 0;
}

void
lw_reducer_drop_specials(lw_reducer *self)
{
    lw_reduce_special *at = self->specials, *next;

    self->specials = NULL;
    for (; at != NULL; at = next) {
        next = at->next;
        lw_reduce_host_drop(&at->host);
        lw_reduce_host_drop(&at->masked_host);
        lw_reduction_masked_free(at->masked);
        lw_reduce_entries_free(at->entries);
        lw_reduction_free(at->reduction);
        lw_free(at);
    }
}
