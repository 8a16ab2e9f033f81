#include "gufunc/device_table_py.h"

#include "core/py/raise_row.h"
#include "gufunc/core/core_trace.h"

#include <string.h>

/* ---- names and options ---- */

void
lw_gsymbol(const char *name, const lw_gufunc_loop *loop, const lw_core_key *key, char out[96])
{
    uint64_t hash = lw_hash64(key, lw_core_key_size(key), 0);

    hash = lw_hash64(loop->types, (size_t)(loop->nin + loop->nout) * sizeof *loop->types, hash);
    lw_build_symbol(name, hash, out);
}

lw_build_options
lw_gbuild_options(const lw_gufunc *self)
{
    lw_build_options options = lw_door_build_options(&self->options, lw_gufunc_name(self));

    options.links = self->links.items;
    options.n_links = self->links.n;
    return options;
}

/* ---- resolutions ---- */

/* What a kernel's report means. */
static int
raise_record(const void *owner, const lw_report_record *record)
{
    const lw_gufunc_loop *loop = ((const lw_resolved *)owner)->loop;
    lw_raise_place place = {
        .kind = LW_AT_INDEX, .ndim = 1, .index = {(int64_t)record->values[0]}};

    memcpy(place.words, record->values + 1, sizeof place.words);
    return lw_raise_at(&loop->scalar->raises[record->status - 1], &place);
}

static lw_gresolution *
resolution_new(lw_gufunc *self, lw_device *device, const lw_gufunc_loop *loop)
{
    lw_build_options options = lw_gbuild_options(self);
    lw_gresolution *made = lw_resolved_new(sizeof *made, device, loop, &options,
                                           loop->scalar->can_raise ? raise_record : NULL);

    if (made == NULL)
        return NULL;
    made->head.links = &self->links;
    made->spread = lw_core_spread(loop);
    return made;
}

static lw_gufunc_loop *
resolve(lw_gufunc *self, const uint8_t *codes, int n, PyObject *signature, PyObject *dtype,
        PyObject *casting)
{
    lw_dtype dtypes[LW_MAX_OPERANDS];
    char weak[LW_MAX_OPERANDS];

    lw_resolved_dtypes(codes, n, dtypes, weak);
    return lw_gufunc_resolve(self, dtypes, weak, signature, dtype, casting);
}

lw_gresolution *
lw_gresolution_get(lw_gufunc *self, lw_device *device, const uint8_t *codes, int n,
                   PyObject *signature, PyObject *dtype, PyObject *casting)
{
    bool plain = signature == NULL && dtype == NULL && casting == NULL;
    lw_resolved *found = plain ? lw_resolved_find(&self->plans, device, codes, n) : NULL;
    lw_gresolution *made;
    lw_gufunc_loop *loop;

    if (found != NULL)
        return (lw_gresolution *)found;
    loop = resolve(self, codes, n, signature, dtype, casting);
    if (loop == NULL)
        return NULL;
    found = plain ? NULL : lw_resolved_find_loop(&self->plans, device, loop);
    if (found != NULL)
        return (lw_gresolution *)found;
    made = resolution_new(self, device, loop);
    if (made != NULL)
        lw_resolved_add(&self->plans, &made->head, plain ? codes : NULL, n);
    return made;
}

/* ---- kernels ---- */

static lw_status
make_module(const lw_resolved *resolved, const void *key, lw_module **out, lw_error *err)
{
    lw_core_key actual = *(const lw_core_key *)key;
    char symbol[96];

    lw_core_drop_keep(resolved->loop, &actual);
    lw_gsymbol(resolved->options.name, resolved->loop, &actual, symbol);
    return lw_core_kernel(resolved->loop, &actual, symbol, resolved->options.max_registers, out,
                          err);
}

lw_loaded *
lw_gentry_get(lw_gresolution *resolution, const lw_core_key *key)
{
    return lw_resolved_kernel(&resolution->head, key, lw_core_key_size(key), sizeof *key,
                              make_module);
}
