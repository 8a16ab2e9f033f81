/* Specialisations: from the dtypes of a call's operands to lowered functions and machine code.
 */
#include "reduce/reduce_parts_py.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/array/device_array.h"
#include "core/py/raise.h"
#include "reduce/device_py.h"
#include "reduce/host/masked.h"

#include <stdatomic.h>
#include <string.h>

const char *
lw_reducer_name(const lw_reducer *self)
{
    return lw_compiled_name((const lw_compiled *)self);
}

lw_build_options
lw_reducer_build_options(const lw_reducer *self)
{
    return lw_compiled_build_options((const lw_compiled *)self, lw_reducer_name(self));
}

/* The captures of map and finish are joined to those of combine in this order. */
const lw_link_set *
lw_reducer_links(lw_reducer *self, const lw_reduction *reduction, int cc)
{
    const lw_captures *combine = self->captures;
    const lw_captures *map = self->map ? lw_captures_next(combine) : NULL;
    const lw_captures *finish = self->finish ? lw_captures_next(map ? map : combine) : NULL;
    const lw_captures *const captures[] = {map, combine, finish};
    const lw_scalar *functions[LW_REDUCE_FUNCTIONS];
    lw_link_source sources[LW_REDUCE_FUNCTIONS];
    uint32_t n = 0;

    lw_reduction_functions(reduction, functions);
    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        if (functions[i] != NULL)
            sources[n++] = (lw_link_source){captures[i], &functions[i]->asks};
    return lw_link_set_for((lw_compiled *)self, sources, n, cc);
}

uint32_t
lw_reducer_n_arrays(const lw_reducer *self)
{
    const lw_tree *map = self->map_tree;

    if (self->n_taken > 0)
        return self->n_taken;
    return map ? map->fns.data[1].params.n - lw_reduce_is_indexed(map) : 0;
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
    lw_reduce_source source = {.map = self->map_tree,
                               .combine = self->tree,
                               .finish = self->finish_tree,
                               .options = &self->options.front,
                               .commutative = self->commutative,
                               .types = types,
                               .stage = self->stage};
    uint32_t n = 0;

    if (self->identity != NULL)
        read_said(self->identity, &source, &n);
    return source;
}

/* Types and functions, of a later stage from what its accumulators are made of. */
static lw_status
new_reduction(const lw_reducer *self, const lw_reduce_source *source,
              const lw_reduce_operand *arrays, uint32_t n, lw_dtype dtype, lw_reduction **out,
              lw_error *err)
{
    lw_reduction *made = NULL;
    lw_status status;

    if (self->n_taken == 0)
        return lw_reduction_new(source, arrays, n, dtype, out, err);
    LW_TRY(lw_reduction_new(source, self->of, self->n_of, self->of_dtype, &made, err));
    for (uint32_t i = 0; i < n; i++)
        if (dtype != LW_DT_void || arrays[i].dtype != made->in[i]) {
            status = lw_fail(
                err, LW_ERR_TYPE, "reduce: number %u of the accumulators of `%s` is %s, not %s",
                (unsigned)i + 1, lw_reducer_name(self), lw_dtypes[made->in[i]].public_name,
                lw_dtypes[arrays[i].dtype].public_name);
            goto fail;
        }
    *out = made;
    return LW_OK;
fail:
    lw_reduction_free(made);
    return status;
}

lw_status
lw_reducer_print_types(const lw_reducer *self, const lw_reduce_specialisation *specialisation,
                       lw_text *out, lw_error *err)
{
    lw_reduce_source source = source_of(self, out);
    lw_reduction *again = NULL;
    lw_status status =
        new_reduction(self, &source, specialisation->array, specialisation->n_arrays,
                      specialisation->dtype, &again, err);

    lw_reduction_free(again);
    return status;
}

/* Of loops in the three functions; the tree of combines itself is the cure of long sums. */
static int
warn_of_code(lw_reducer *self, const lw_reduction *r)
{
    const lw_scalar *scalars[] = {r->map, r->combine, r->finish};

    for (int i = 0; i < LW_REDUCE_FUNCTIONS; i++)
        if (scalars[i] && lw_door_warn_of_code(&self->options, scalars[i]) < 0)
            return -1;
    return 0;
}

static lw_reduce_specialisation *
make(lw_reducer *self, const lw_reduce_operand *arrays, uint32_t n, lw_dtype dtype)
{
    lw_reduce_specialisation *specialisation = lw_alloc_zero(1, sizeof *specialisation);
    lw_reduce_source source = source_of(self, NULL);
    lw_error err = {0};

    if (specialisation == NULL)
        return (lw_reduce_specialisation *)PyErr_NoMemory();
    specialisation->n_arrays = n;
    specialisation->dtype = dtype;
    memcpy(specialisation->array, arrays, n * sizeof *arrays);
    if (new_reduction(self, &source, arrays, n, dtype, &specialisation->reduction, &err) !=
        LW_OK) {
        lw_free(specialisation);
        return (lw_reduce_specialisation *)lw_py_raise(&err);
    }
    if (warn_of_code(self, specialisation->reduction) < 0) {
        lw_reduction_free(specialisation->reduction);
        lw_free(specialisation);
        return NULL;
    }
    lw_grown_add(&self->specialisations, specialisation);
    self->counts.specialisations++;
    self->settled = true;
    return specialisation;
}

typedef struct operands_key {
    const lw_reduce_operand *arrays;
    uint32_t n;
    lw_dtype dtype;
} operands_key;

static bool
is_for(const void *item, const void *wanted)
{
    const lw_reduce_specialisation *specialisation = item;
    const operands_key *key = wanted;

    if (specialisation->n_arrays != key->n || specialisation->dtype != key->dtype)
        return false;
    for (uint32_t i = 0; i < key->n; i++)
        if (specialisation->array[i].dtype != key->arrays[i].dtype ||
            specialisation->array[i].record != key->arrays[i].record)
            return false;
    return true;
}

static lw_reduce_specialisation *
find_or_make(lw_reducer *self, const operands_key *key)
{
    lw_reduce_specialisation *found;

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    found = lw_grown_find(&self->specialisations, is_for, key);
    return found != NULL ? found : make(self, key->arrays, key->n, key->dtype);
}

lw_reduce_specialisation *
lw_reducer_known(lw_reducer *self, const lw_reduce_operand *arrays, uint32_t n, lw_dtype dtype)
{
    const operands_key key = {arrays, n, dtype};

    return lw_grown_find(&self->specialisations, is_for, &key);
}

lw_reduce_specialisation *
lw_reducer_specialisation(lw_reducer *self, const lw_reduce_operand *arrays, uint32_t n,
                          lw_dtype dtype)
{
    const operands_key key = {arrays, n, dtype};
    lw_reduce_specialisation *specialisation = lw_reducer_known(self, arrays, n, dtype);

    if (specialisation != NULL)
        return specialisation;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    specialisation = find_or_make(self, &key);
    Py_END_CRITICAL_SECTION();
    return specialisation;
}

static int
build_host(lw_reducer *self, const lw_reduction *reduction, lw_reduce_loops which,
           lw_reduce_code *to)
{
    lw_build_options options = lw_reducer_build_options(self);
    lw_build_report report = {0};
    lw_reduce_code made;
    lw_error err = {0};
    lw_status status;

    Py_BEGIN_ALLOW_THREADS
    status = lw_reduce_host_build(reduction, which, &options, &made, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_compiled_count((lw_compiled *)self, &report);
    if (to->code != NULL) /* another thread was faster */
        lw_reduce_host_drop(&made);
    else
        *to = made;
    return 0;
}

int
lw_reducer_host(lw_reducer *self, lw_reduce_specialisation *specialisation)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    result = 0;
    if (specialisation->host.code == NULL)
        result =
            build_host(self, specialisation->reduction, LW_REDUCE_LOOPS, &specialisation->host);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* Elements in all that a specialisation takes slowly before all is compiled: some milliseconds
 * of work, where compiling takes 200. A call counts as some. */
enum { QUICK_ELEMENTS = 1 << 22, QUICK_CALL = 1 << 10 };

/* The code for a reduction that is compiled as a whole, and what it starts with. */
typedef struct host_code {
    const lw_reduction *reduction;
    lw_reduce_code *all;
    lw_reduce_quick *quick;
} host_code;

static bool
is_quick(const lw_reducer *self, const host_code *of, int64_t n)
{
    int64_t left = QUICK_ELEMENTS - of->quick->elements - QUICK_CALL;

    if (n > left || of->quick->exists == LW_REDUCE_QUICK_NEVER)
        return false;
    if (of->quick->exists == LW_REDUCE_QUICK_UNKNOWN)
        of->quick->exists =
            lw_reduce_host_may_be_quick(of->reduction, lw_reducer_build_options(self).precise)
                ? LW_REDUCE_QUICK_EXISTS
                : LW_REDUCE_QUICK_NEVER;
    of->quick->elements += n + QUICK_CALL;
    return of->quick->exists == LW_REDUCE_QUICK_EXISTS;
}

/* In a critical section. */
static int
look_at_masks(lw_reduce_specialisation *specialisation)
{
    lw_error err = {0};

    if (specialisation->looked_at_masks)
        return 0;
    if (lw_reduction_masked(specialisation->reduction, &specialisation->masked, &err) !=
        LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    specialisation->looked_at_masks = true;
    return 0;
}

static host_code
code_for(lw_reduce_specialisation *specialisation, bool masked)
{
    if (masked && specialisation->masked != NULL)
        return (host_code){specialisation->masked, &specialisation->masked_host,
                           &specialisation->masked_quick};
    return (host_code){specialisation->reduction, &specialisation->host,
                       &specialisation->quick};
}

static int build_scans(lw_reducer *self, lw_reduce_specialisation *specialisation);

/* In a critical section. */
static lw_reduce_code *
build_soon(lw_reducer *self, lw_reduce_specialisation *specialisation, int64_t n,
           lw_reduce_loops which, bool masked)
{
    bool scans = which >= LW_REDUCE_QUICK_SCANS;
    lw_reduce_code *code;
    host_code of;

    if (masked && look_at_masks(specialisation) < 0)
        return NULL;
    of = code_for(specialisation, masked);
    if (of.all->code != NULL && (!scans || of.all->scans.code != NULL))
        return of.all;
    if (which == LW_REDUCE_QUICK_SCANS_ALONE &&
        of.quick->code[LW_REDUCE_QUICK_SCANS - LW_REDUCE_QUICK].code != NULL)
        which = LW_REDUCE_QUICK_SCANS;
    if (is_quick(self, &of, n)) {
        code = &of.quick->code[which - LW_REDUCE_QUICK];
        if (code->code == NULL && build_host(self, of.reduction, which, code) < 0)
            return NULL;
        return code;
    }
    if ((of.all->code == NULL && build_host(self, of.reduction, LW_REDUCE_LOOPS, of.all) < 0) ||
        (scans && build_scans(self, specialisation) < 0))
        return NULL;
    return of.all;
}

lw_reduce_code *
lw_reducer_soon(lw_reducer *self, lw_reduce_specialisation *specialisation, int64_t n,
                lw_reduce_loops which, bool masked)
{
    lw_reduce_code *code;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    code = build_soon(self, specialisation, n, which, masked);
    Py_END_CRITICAL_SECTION();
    return code;
}

/* In a critical section. */
static int
build_scans(lw_reducer *self, lw_reduce_specialisation *specialisation)
{
    lw_build_options options = lw_reducer_build_options(self);
    lw_build_report report = {0};
    lw_reduce_scan_loops_code made;
    lw_error err = {0};
    lw_status status;

    if (specialisation->host.scans.code != NULL)
        return 0;
    Py_BEGIN_ALLOW_THREADS
    status =
        lw_reduce_host_build_scans(specialisation->reduction, &options, &made, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    lw_compiled_count((lw_compiled *)self, &report);
    if (specialisation->host.scans.code != NULL) /* another thread was faster */
        lw_code_free(made.code);
    else
        specialisation->host.scans = made;
    return 0;
}

static void
free_specialisation(void *item)
{
    lw_reduce_specialisation *specialisation = item;

    lw_reduce_host_drop(&specialisation->host);
    for (int i = 0; i < LW_REDUCE_QUICK_KINDS; i++) {
        lw_reduce_host_drop(&specialisation->quick.code[i]);
        lw_reduce_host_drop(&specialisation->masked_quick.code[i]);
    }
    lw_reduce_host_drop(&specialisation->masked_host);
    lw_reduction_masked_free(specialisation->masked);
    lw_grown_free(&specialisation->entries, lw_reduce_entry_free);
    lw_reduction_free(specialisation->reduction);
    lw_free(specialisation);
}

void
lw_reducer_drop_specialisations(lw_reducer *self)
{
    lw_grown_free(&self->specialisations, free_specialisation);
}
