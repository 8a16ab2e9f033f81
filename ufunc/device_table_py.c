#include "ufunc/device_table_py.h"

#include "ufunc/device_kernel.h"
#include "core/py/raise_row.h"

#include <string.h>

/* ---- names and options ---- */

const char *
lw_ufunc_name(const lw_ufunc *self)
{
    return self->tree->fns.n > 1 ? self->tree->fns.data[1].name : "kernel";
}

void
lw_kernel_symbol(const char *name, const lw_loop *loop, const lw_kernel_key *key, char out[96])
{
    uint64_t hash = lw_hash64(key, lw_kernel_key_size(key), 0);

    hash = lw_hash64(loop->types, (size_t)(loop->nin + loop->nout) * sizeof *loop->types, hash);
    lw_build_symbol(name, hash, out);
}

lw_build_options
lw_build_options_of(const lw_ufunc *self)
{
    lw_build_options options = lw_door_build_options(&self->options, lw_ufunc_name(self));

    options.links = self->links.items;
    options.n_links = self->links.n;
    return options;
}

/* ---- resolutions ---- */

/* What a kernel's report means. */
static int
raise_record(const void *owner, const lw_report_record *record)
{
    const lw_loop *loop = ((const lw_resolved *)owner)->loop;
    lw_raise_place place = {.kind = LW_AT_ELEMENT, .index = {(int64_t)record->values[0]}};

    memcpy(place.words, record->values + 1, sizeof place.words);
    return lw_raise_at(&loop->scalar->raises[record->status - 1], &place);
}

lw_resolution *
lw_resolution_new(lw_device *device, const lw_loop *loop, const lw_build_options *options)
{
    lw_resolution *made = lw_resolved_new(sizeof *made, device, loop, options,
                                          loop->scalar->can_raise ? raise_record : NULL);

    if (made != NULL)
        made->cost = lw_scalar_cost(loop->scalar, &made->has_loop);
    return made;
}

static lw_loop *
resolve(lw_ufunc *self, const uint8_t *codes, int n, PyObject *signature, PyObject *dtype,
        PyObject *casting)
{
    lw_dtype dtypes[LW_MAX_ARGS];
    char weak[LW_MAX_ARGS];

    lw_resolved_dtypes(codes, n, dtypes, weak);
    return lw_ufunc_resolve(self, dtypes, weak, signature, dtype, casting);
}

lw_resolution *
lw_resolution_get(lw_ufunc *self, lw_device *device, const uint8_t *codes, int n,
                  PyObject *signature, PyObject *dtype, PyObject *casting)
{
    bool plain = signature == NULL && dtype == NULL && casting == NULL;
    lw_resolved *found = plain ? lw_resolved_find(&self->plans, device, codes, n) : NULL;
    lw_build_options options;
    lw_resolution *made;
    lw_loop *loop;

    if (found != NULL)
        return (lw_resolution *)found;
    loop = resolve(self, codes, n, signature, dtype, casting);
    if (loop == NULL)
        return NULL;
    found = plain ? NULL : lw_resolved_find_loop(&self->plans, device, loop);
    if (found != NULL)
        return (lw_resolution *)found;
    options = lw_build_options_of(self);
    made = lw_resolution_new(device, loop, &options);
    if (made == NULL)
        return NULL;
    made->head.links = &self->links;
    lw_resolved_add(&self->plans, &made->head, plain ? codes : NULL, n);
    return made;
}

/* ---- kernels ---- */

static lw_status
make_module(const lw_resolved *resolved, const void *key, lw_module **out, lw_error *err)
{
    char symbol[96];

    lw_kernel_symbol(resolved->options.name, resolved->loop, key, symbol);
    return lw_device_kernel(resolved->loop, key, symbol, resolved->options.max_registers, out,
                            err);
}

lw_loaded *
lw_entry_get(lw_resolution *resolution, const lw_kernel_key *key)
{
    return lw_resolved_kernel(&resolution->head, key, lw_kernel_key_size(key), sizeof *key,
                              make_module);
}
