#include "ufunc/device_table_py.h"

#include "core/base/env.h"
#include "core/device/load.h"
#include "core/py/link_callbacks.h"
#include "core/py/raise.h"
#include "ufunc/device_kernel.h"
#include "core/py/raise_row.h"

#include <stdatomic.h>
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

static lw_plan_table *
table_of(lw_ufunc *self)
{
    lw_plan_table *table;

    lw_lock_take(&self->lock);
    if (self->plans == NULL)
        self->plans = lw_alloc_zero(1, sizeof *self->plans);
    table = self->plans;
    lw_lock_give(&self->lock);
    if (table == NULL)
        PyErr_NoMemory();
    return table;
}

static bool
matches(const lw_resolution *resolution, lw_device *device, const uint8_t *codes, int n)
{
    return resolution->device == device && resolution->n == n &&
           memcmp(resolution->codes, codes, (size_t)n) == 0;
}

static lw_resolution *
find(lw_plan_table *table, lw_device *device, const uint8_t *codes, int n)
{
    lw_resolution *at = atomic_load_explicit(&table->last, memory_order_acquire);

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

/* What a kernel's report means. */
static int
raise_record(const void *owner, const lw_report_record *record)
{
    const lw_resolution *resolution = owner;
    lw_raise_place place = {.kind = LW_AT_ELEMENT, .index = {(int64_t)record->values[0]}};

    memcpy(place.words, record->values + 1, sizeof place.words);
    return lw_raise_at(&resolution->loop->scalar->raises[record->status - 1], &place);
}

static void
resolution_free(lw_resolution *resolution)
{
    lw_entry *entry, *next;

    for (entry = atomic_load(&resolution->entries); entry != NULL; entry = next) {
        next = entry->next;
        lw_image_drop(entry->image);
        lw_free(entry);
    }
    lw_watch_free(resolution->watch);
    lw_free(resolution);
}

lw_resolution *
lw_resolution_new(lw_device *device, const lw_loop *loop, const char *name,
                  const lw_build_options *options)
{
    lw_resolution *resolution = lw_alloc_zero(1, sizeof *resolution);

    if (resolution == NULL)
        return (lw_resolution *)PyErr_NoMemory();
    resolution->device = device;
    resolution->loop = loop;
    resolution->name = name;
    resolution->options = *options;
    resolution->cost = lw_scalar_cost(loop->scalar, &resolution->has_loop);
    if (loop->scalar->can_raise &&
        lw_watch_new(device, raise_record, resolution, &resolution->watch) < 0) {
        resolution_free(resolution);
        return NULL;
    }
    return resolution;
}

static lw_loop *
resolve(lw_ufunc *self, const uint8_t *codes, int n, PyObject *signature, PyObject *dtype,
        PyObject *casting)
{
    static const char kinds[] = {0, 'i', 'f', 'c'};
    lw_dtype dtypes[LW_MAX_ARGS];
    char weak[LW_MAX_ARGS];

    for (int i = 0; i < n; i++) {
        dtypes[i] = (lw_dtype)(codes[i] & 31);
        weak[i] = kinds[codes[i] >> 5];
    }
    return lw_ufunc_resolve(self, dtypes, weak, signature, dtype, casting);
}

static lw_resolution *
find_by_loop(lw_plan_table *table, const lw_device *device, const lw_loop *loop)
{
    lw_resolution *at = atomic_load_explicit(&table->resolutions, memory_order_acquire);

    while (at != NULL && (at->device != device || at->loop != loop))
        at = at->next;
    return at;
}

lw_resolution *
lw_resolution_get(lw_ufunc *self, lw_device *device, const uint8_t *codes, int n,
                  PyObject *signature, PyObject *dtype, PyObject *casting)
{
    lw_plan_table *table = self->plans ? self->plans : table_of(self);
    bool plain = signature == NULL && dtype == NULL && casting == NULL;
    lw_build_options options;
    lw_resolution *resolution;
    lw_loop *loop;

    if (table == NULL)
        return NULL;
    resolution = plain ? find(table, device, codes, n) : NULL;
    if (resolution != NULL)
        return resolution;
    loop = resolve(self, codes, n, signature, dtype, casting);
    if (loop == NULL)
        return NULL;
    resolution = plain ? NULL : find_by_loop(table, device, loop);
    if (resolution != NULL)
        return resolution;
    options = lw_build_options_of(self);
    resolution = lw_resolution_new(device, loop, lw_ufunc_name(self), &options);
    if (resolution == NULL)
        return NULL;
    resolution->links = &self->links;
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
lw_plan_table_free(struct lw_plan_table *plans)
{
    lw_resolution *at, *next;

    if (plans == NULL)
        return;
    for (at = atomic_load(&plans->resolutions); at != NULL; at = next) {
        next = at->next;
        resolution_free(at);
    }
    lw_free(plans);
}

void
lw_plan_table_forget(struct lw_plan_table *plans)
{
    lw_resolution *at = plans ? atomic_load(&plans->resolutions) : NULL;

    for (; at != NULL; at = at->next)
        at->n = 0; /* found by their loops only */
}

/* ---- entries ---- */

static lw_status
load(lw_resolution *resolution, const lw_kernel_key *key, lw_entry *entry, lw_error *err)
{
    lw_status status = LW_OK;
    lw_module *module = NULL;
    char symbol[96];

    lw_kernel_symbol(resolution->name, resolution->loop, key, symbol);
    LW_TRY(lw_device_kernel(resolution->loop, key, symbol, resolution->options.max_registers,
                            &module, err));
    LW_TRY(lw_image_build(resolution->device, module, &resolution->options, &entry->image,
                          &entry->kernel, NULL, err));
fail:
    lw_module_free(module);
    return status;
}

/* Entries of before a reset stay in the list, and are passed over. */
static bool
is_usable(const lw_entry *entry, const lw_kernel_key *key, size_t size)
{
    return memcmp(&entry->key, key, size) == 0 && lw_image_is_alive(entry->image);
}

lw_entry *
lw_entry_get(lw_resolution *resolution, const lw_kernel_key *key)
{
    size_t size = lw_kernel_key_size(key);
    lw_entry *entry = atomic_load_explicit(&resolution->last, memory_order_acquire);
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
        return (lw_entry *)PyErr_NoMemory();
    memcpy(&entry->key, key, sizeof *key);
    Py_BEGIN_ALLOW_THREADS
    status = load(resolution, key, entry, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        lw_image_drop(entry->image);
        lw_free(entry);
        return (lw_entry *)lw_py_raise(&err);
    }
    if (resolution->links != NULL && lw_link_loaded(resolution->links, entry->image) < 0) {
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
lw_resolution_check(lw_resolution *resolution, CUstream stream)
{
    return resolution->watch ? lw_watch_check(resolution->watch, stream) : 0;
}
