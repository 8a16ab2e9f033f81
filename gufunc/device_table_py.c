#include "gufunc/device_table_py.h"

#include "core/device/load.h"
#include "core/py/link_callbacks.h"

#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "gufunc/core_trace.h"

#include <stdatomic.h>
#include <string.h>

typedef struct lw_gufunc_plans {
    _Atomic(lw_gresolution *) resolutions, last;
} lw_gufunc_plans;

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

static lw_gufunc_plans *
table_of(lw_gufunc *self)
{
    if (self->plans == NULL)
        self->plans = lw_alloc_zero(1, sizeof *self->plans);
    if (self->plans == NULL)
        PyErr_NoMemory();
    return self->plans;
}

static bool
matches(const lw_gresolution *resolution, lw_device *device, const uint8_t *codes, int n)
{
    return resolution->device == device && resolution->n == n &&
           memcmp(resolution->codes, codes, (size_t)n) == 0;
}

static lw_gresolution *
find(lw_gufunc_plans *table, lw_device *device, const uint8_t *codes, int n)
{
    lw_gresolution *at = atomic_load_explicit(&table->last, memory_order_acquire);

    if (at != NULL && matches(at, device, codes, n))
        return at;
    at = atomic_load_explicit(&table->resolutions, memory_order_acquire);
    for (; at != NULL; at = at->next)
        if (matches(at, device, codes, n)) {
            atomic_store_explicit(&table->last, at, memory_order_release);
            return at;
        }
    return NULL;
}

static lw_gresolution *
find_loop(lw_gufunc_plans *table, lw_device *device, const lw_gufunc_loop *loop)
{
    lw_gresolution *at = atomic_load(&table->resolutions);

    while (at != NULL && (at->device != device || at->loop != loop))
        at = at->next;
    return at;
}

/* What a kernel's report means. */
static int
raise_record(const void *owner, const lw_report_record *record)
{
    const lw_gresolution *resolution = owner;
    lw_raise_place place = {
        .kind = LW_AT_INDEX, .ndim = 1, .index = {(int64_t)record->values[0]}};

    memcpy(place.words, record->values + 1, sizeof place.words);
    return lw_raise_at(&resolution->loop->scalar->raises[record->status - 1], &place);
}

static void
resolution_free(lw_gresolution *resolution)
{
    lw_gentry *entry, *next;

    for (entry = atomic_load(&resolution->entries); entry != NULL; entry = next) {
        next = entry->next;
        lw_image_drop(entry->image);
        lw_free(entry);
    }
    lw_watch_free(resolution->watch);
    lw_free(resolution);
}

static lw_gresolution *
resolution_new(lw_gufunc *self, lw_device *device, lw_gufunc_loop *loop)
{
    lw_gresolution *resolution = lw_alloc_zero(1, sizeof *resolution);

    if (resolution == NULL)
        return (lw_gresolution *)PyErr_NoMemory();
    resolution->device = device;
    resolution->loop = loop;
    resolution->options = lw_gbuild_options(self);
    resolution->links = &self->links;
    resolution->spread = lw_core_spread(loop);
    if (loop->scalar->can_raise &&
        lw_watch_new(device, raise_record, resolution, &resolution->watch) < 0) {
        resolution_free(resolution);
        return NULL;
    }
    return resolution;
}

static lw_gufunc_loop *
resolve(lw_gufunc *self, const uint8_t *codes, int n, PyObject *signature, PyObject *dtype,
        PyObject *casting)
{
    static const char kinds[] = {0, 'i', 'f', 'c'};
    lw_dtype dtypes[LW_MAX_OPERANDS];
    char weak[LW_MAX_OPERANDS];

    for (int i = 0; i < n; i++) {
        dtypes[i] = (lw_dtype)(codes[i] & 31);
        weak[i] = kinds[codes[i] >> 5];
    }
    return lw_gufunc_resolve(self, dtypes, weak, signature, dtype, casting);
}

lw_gresolution *
lw_gresolution_get(lw_gufunc *self, lw_device *device, const uint8_t *codes, int n,
                   PyObject *signature, PyObject *dtype, PyObject *casting)
{
    bool plain = signature == NULL && dtype == NULL && casting == NULL;
    lw_gufunc_plans *table = table_of(self);
    lw_gresolution *resolution = table && plain ? find(table, device, codes, n) : NULL;
    lw_gufunc_loop *loop;

    if (table == NULL || resolution != NULL)
        return resolution;
    loop = resolve(self, codes, n, signature, dtype, casting);
    if (loop == NULL)
        return NULL;
    resolution = plain ? NULL : find_loop(table, device, loop);
    if (resolution != NULL)
        return resolution;
    resolution = resolution_new(self, device, loop);
    if (resolution == NULL)
        return NULL;
    if (plain) { /* else the dtypes alone do not lead here: no codes match */
        resolution->n = (uint8_t)n;
        memcpy(resolution->codes, codes, (size_t)n);
    }
    resolution->next = atomic_load(&table->resolutions);
    while (!atomic_compare_exchange_weak(&table->resolutions, &resolution->next, resolution))
        ;
    return resolution;
}

void
lw_gplans_free(struct lw_gufunc_plans *plans)
{
    lw_gresolution *at, *next;

    if (plans == NULL)
        return;
    for (at = atomic_load(&plans->resolutions); at != NULL; at = next) {
        next = at->next;
        resolution_free(at);
    }
    lw_free(plans);
}

void
lw_gplans_forget(struct lw_gufunc_plans *plans)
{
    lw_gresolution *at = plans ? atomic_load(&plans->resolutions) : NULL;

    for (; at != NULL; at = at->next)
        at->n = 0; /* found by their loops only */
}

/* ---- entries ---- */

static lw_status
load(lw_gresolution *resolution, const lw_core_key *key, lw_gentry *entry, lw_error *err)
{
    lw_status status = LW_OK;
    lw_module *module = NULL;
    lw_core_key actual = *key;
    char symbol[96];

    lw_core_drop_keep(resolution->loop, &actual);
    lw_gsymbol(resolution->options.name, resolution->loop, &actual, symbol);
    LW_TRY(lw_core_kernel(resolution->loop, &actual, symbol, resolution->options.max_registers,
                          &module, err));
    LW_TRY(lw_image_build(resolution->device, module, &resolution->options, &entry->image,
                          &entry->kernel, NULL, err));
fail:
    lw_module_free(module);
    return status;
}

/* Entries of before a reset stay in the list, and are passed over. */
static bool
is_usable(const lw_gentry *entry, const lw_core_key *key, size_t size)
{
    return memcmp(&entry->key, key, size) == 0 && lw_image_is_alive(entry->image);
}

lw_gentry *
lw_gentry_get(lw_gresolution *resolution, const lw_core_key *key)
{
    size_t size = lw_core_key_size(key);
    lw_gentry *entry = atomic_load_explicit(&resolution->last, memory_order_acquire);
    lw_error err = {0};
    lw_status status;

    if (entry != NULL && is_usable(entry, key, size))
        return entry;
    entry = atomic_load_explicit(&resolution->entries, memory_order_acquire);
    for (; entry != NULL; entry = entry->next)
        if (is_usable(entry, key, size)) {
            atomic_store_explicit(&resolution->last, entry, memory_order_release);
            return entry;
        }
    if (resolution->watch != NULL && lw_watch_address(resolution->watch) == 0)
        return NULL;
    entry = lw_alloc_zero(1, sizeof *entry);
    if (entry == NULL)
        return (lw_gentry *)PyErr_NoMemory();
    memcpy(&entry->key, key, sizeof *key);
    Py_BEGIN_ALLOW_THREADS
    status = load(resolution, key, entry, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_image_drop(entry->image);
        lw_free(entry);
        return (lw_gentry *)lw_py_raise(&err);
    }
    if (lw_link_loaded(resolution->links, entry->image) < 0) {
        lw_image_drop(entry->image);
        lw_free(entry);
        return NULL;
    }
    entry->next = atomic_load(&resolution->entries);
    while (!atomic_compare_exchange_weak(&resolution->entries, &entry->next, entry))
        ;
    atomic_store_explicit(&resolution->last, entry, memory_order_release);
    return entry;
}

int
lw_gresolution_check(lw_gresolution *resolution, CUstream stream)
{
    return resolution->watch ? lw_watch_check(resolution->watch, stream) : 0;
}
