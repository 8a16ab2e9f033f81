/* Machine code of a specialisation: it is made when an entry's key is new, and kept in lists
 * that only grow. Also what kernels report when they raise. */
#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"

#include "core/base/env.h"
#include "core/base/memory.h"
#include "core/device/heap.h"
#include "core/device/load.h"
#include "core/front/read/critical.h"
#include "core/ir/cell_words.h"
#include "core/ir/recursion.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/link_callbacks.h"
#include "core/py/print_py.h"
#include "core/py/raise.h"
#include "core/py/raise_row.h"
#include "core/py/text_py.h"

#include <stdio.h>
#include <string.h>

static bool
is_host_form(const lw_entry_key *key)
{
    return key->form >= LW_ENTRY_RANGE;
}

const lw_scalar *
lw_specialisation_on_host(const lw_specialisation *specialisation)
{
    return specialisation->on_host ? specialisation->on_host : specialisation->scalar;
}

/* Whether an iteration mostly waits for memory: a straight line that computes few floats. */
static bool
is_light(const lw_scalar *scalar)
{
    enum { FEW = 2 };
    const lw_func *func = scalar->module->funcs.data[scalar->body];
    uint32_t computed = 0;

    for (uint32_t i = 1; i < func->insts.n; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_IF || inst->op == LW_OP_LOOP || inst->op == LW_OP_CALL ||
            inst->op == LW_OP_INTRINSIC)
            return false;
        computed += lw_op_is_elementwise(inst->op) && lw_is_float(inst->type);
    }
    return computed <= FEW;
}

lw_status
lw_specialisation_module(const lw_specialisation *specialisation, const lw_entry_key *key,
                         lw_module **out, lw_error *err)
{
    char symbol[96] = "lw_entry";
    lw_status status;

    if (!is_host_form(key))
        lw_build_symbol(lw_function_name(specialisation->function),
                        lw_hash64(key, sizeof *key, specialisation->hash), symbol);
    status = lw_kernel_module(is_host_form(key) ? lw_specialisation_on_host(specialisation)
                                                : specialisation->scalar,
                              key, symbol, &specialisation->function->limits, out, err);
    if (status == LW_OK)
        (*out)->is_light = is_light(specialisation->scalar);
    return status;
}

static lw_build_options
build_options(const lw_specialisation *specialisation, const lw_entry_key *key)
{
    lw_build_options options = lw_function_build_options(specialisation->function);

    if (key->watched)
        options.watch = LW_WATCH_ELEMENTS;
    return options;
}

/* What its code is linked with on a GPU. NULL with an exception. */
static const lw_link_set *
links_of(const lw_specialisation *specialisation, int cc)
{
    lw_compiled *self = (lw_compiled *)specialisation->function;
    const lw_captures *own = lw_specialisation_captures(specialisation);

    return lw_link_set_of(self, own, specialisation->scalar, cc);
}

PyObject *
lw_specialisation_form(const lw_specialisation *specialisation, const lw_entry_key *key, int cc,
                       const char *form)
{
    lw_build_options options = build_options(specialisation, key);
    const lw_link_set *links = NULL;
    lw_module *module = NULL;
    lw_bytes bytes = {0};
    lw_error err = {0};
    lw_status status;

    if (cc != 0 && lw_link_is_output(form)) {
        links = links_of(specialisation, cc);
        if (links == NULL)
            return NULL;
        options = lw_link_options(options, links);
    }
    Py_BEGIN_ALLOW_THREADS
    status = lw_specialisation_module(specialisation, key, &module, &err);
    if (status == LW_OK)
        status = lw_build_output(module, cc, form, &options, &bytes, &err);
    Py_END_ALLOW_THREADS
    lw_module_free(module);
    return lw_form_take(status, form, &bytes, &err);
}

int
lw_specialisation_info(const lw_specialisation *specialisation, const lw_entry_key *key, int cc,
                       lw_cubin_info *out)
{
    lw_build_options options = lw_function_build_options(specialisation->function);
    const lw_link_set *links = links_of(specialisation, cc);
    lw_module *module = NULL;
    lw_error err = {0};
    lw_status status;

    if (links == NULL)
        return -1;
    options = lw_link_options(options, links);
    Py_BEGIN_ALLOW_THREADS
    status = lw_specialisation_module(specialisation, key, &module, &err);
    if (status == LW_OK)
        status = lw_build_info(module, cc, &options, out, &err);
    lw_module_free(module);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    return status == LW_OK ? 0 : -1;
}

/* ---- GPU ---- */

static void
device_entry_free(void *item)
{
    lw_device_entry *entry = item;

    lw_watch_free(entry->watch);
    lw_image_drop(entry->image);
    lw_free(entry);
}

enum { USUAL_BLOCK = 256 };

/* The driver recommends the largest of equally good block sizes; smaller blocks wait less for
 * each other when they start and end. */
static lw_status
choose_block(const lw_function *self, lw_device_entry *entry, lw_error *err)
{
    lw_status status = LW_OK;
    lw_launch_config usual;

    LW_TRY(
        lw_launch_config_best(entry->kernel, 0, self->limits.max_threads, &entry->config, err));
    if (entry->config.block <= USUAL_BLOCK)
        return LW_OK;
    LW_TRY(lw_launch_config_of(entry->kernel, USUAL_BLOCK, 0, &usual, err));
    if (usual.blocks_per_sm * USUAL_BLOCK >= entry->config.blocks_per_sm * entry->config.block)
        entry->config = usual;
fail:
    return status;
}

static lw_status
load(const lw_link_set *links, lw_device_entry *entry, lw_build_report *report, lw_error *err)
{
    const lw_function *self = entry->specialisation->function;
    lw_build_options options = lw_link_options(lw_function_build_options(self), links);
    lw_status status = LW_OK;
    lw_module *module = NULL;

    LW_TRY(lw_specialisation_module(entry->specialisation, &entry->key, &module, err));
    entry->together = lw_ir_syncs_grid(module);
    LW_TRY(lw_image_build(entry->device, module, &options, &entry->image, &entry->kernel,
                          report, err));
    LW_TRY(choose_block(self, entry, err));
fail:
    lw_module_free(module);
    return status;
}

typedef struct device_key {
    const lw_device *device;
    const lw_entry_key *key;
} device_key;

/* Entries from before a reset stay in the list, and are skipped. */
static bool
is_usable(const void *item, const void *wanted)
{
    const lw_device_entry *entry = item;
    const device_key *key = wanted;

    return memcmp(&entry->key, key->key, sizeof *key->key) == 0 &&
           entry->device == key->device && lw_image_is_ready(entry->image);
}

static int
raise_record(const void *owner, const lw_report_record *record)
{
    const lw_device_entry *entry = owner;
    bool indexed = entry->key.form == LW_ENTRY_FORALL;
    lw_raise_place place = {.kind = indexed ? LW_AT_INDEX : LW_AT_THREAD,
                            .ndim = entry->key.n_index,
                            .heap_bytes = lw_heap_bytes(entry->device)};

    memcpy(place.index, record->values, sizeof place.index);
    memcpy(place.block, record->block, sizeof place.block);
    memcpy(place.thread, record->thread, sizeof place.thread);
    memcpy(place.words, record->values + LW_MAX_INDEX, sizeof place.words);
    return lw_raise_at(lw_raise_row_at(entry->specialisation->scalar->raises,
                                       entry->specialisation->scalar->n_raises, record->status),
                       &place);
}

/* A body that can raise gets a record to report in. */
static int
watch(lw_device_entry *entry)
{
    if (!entry->specialisation->scalar->can_raise)
        return 0;
    if (lw_watch_new(entry->device, raise_record, entry, &entry->watch) < 0)
        return -1;
    entry->control = lw_watch_address(entry->watch);
    return entry->control ? 0 : -1;
}

static lw_device_entry *
new_device_entry(lw_specialisation *specialisation, lw_device *device, const lw_entry_key *key)
{
    const lw_link_set *links =
        links_of(specialisation, device->cc_major * 10 + device->cc_minor);
    lw_device_entry *entry = links ? lw_alloc_zero(1, sizeof *entry) : NULL;
    lw_build_report report = {0};
    lw_error err = {0};
    lw_status status;

    if (links == NULL)
        return NULL;
    if (entry == NULL)
        return (lw_device_entry *)PyErr_NoMemory();
    entry->key = *key;
    entry->device = device;
    entry->specialisation = specialisation;
    entry->batch = lw_kernel_batch(specialisation->scalar);
    Py_BEGIN_ALLOW_THREADS
    status = load(links, entry, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    if (status != LW_OK || watch(entry) < 0) {
        device_entry_free(entry);
        return NULL;
    }
    if (lw_link_loaded(links, entry->image) < 0) {
        device_entry_free(entry);
        return NULL;
    }
    lw_compiled_count((lw_compiled *)specialisation->function, &report);
    lw_grown_add(&specialisation->device, entry);
    return entry;
}

lw_device_entry *
lw_specialisation_device(lw_specialisation *specialisation, lw_device *device,
                         const lw_entry_key *key)
{
    const device_key wanted = {device, key};
    lw_device_entry *entry = lw_grown_find(&specialisation->device, is_usable, &wanted);

    if (entry == NULL) {
        entry = new_device_entry(specialisation, device, key);
        if (entry != NULL)
            lw_grown_note(&specialisation->device, entry);
    }
    return entry;
}

/* ---- host ---- */

static lw_status
build_host(const lw_specialisation *specialisation, const lw_entry_key *key,
           lw_host_entry *entry, lw_build_report *report, lw_error *err)
{
    lw_build_options options = build_options(specialisation, key);
    lw_status status = LW_OK;
    lw_module *module = NULL;

    LW_TRY(lw_specialisation_module(specialisation, key, &module, err));
    entry->shared_bytes = lw_ir_shared_bytes(module);
    LW_TRY(lw_ir_thread_bytes(module, lw_env_int(LW_ENV_stack_kb), &entry->local_bytes, err));
    entry->prints = lw_ir_prints(module);
    entry->borrows = lw_ir_calls(module, LW_SLOT_KEEP);
    entry->steady = !lw_ir_repeats(specialisation->scalar->module);
    entry->brief = lw_ir_is_brief(specialisation->scalar->module);
    LW_TRY(lw_build_host(module, &options, &entry->code, report, err));
    entry->address = lw_code_symbol(entry->code, "lw_entry");
    if (entry->address == NULL)
        status = lw_fail(err, LW_ERR_INTERNAL, "compiled code has no lw_entry");
fail:
    lw_module_free(module);
    return status;
}

static void
host_entry_free(void *item)
{
    lw_host_entry *entry = item;

    lw_code_free(entry->code);
    lw_free(entry);
}

static bool
is_of_key(const void *item, const void *key)
{
    return memcmp(&((const lw_host_entry *)item)->key, key, sizeof(lw_entry_key)) == 0;
}

lw_host_entry *
lw_specialisation_host(lw_specialisation *specialisation, const lw_entry_key *key)
{
    lw_host_entry *entry = lw_grown_find(&specialisation->host, is_of_key, key);
    lw_build_report report = {0};
    lw_error err = {0};
    lw_status status;

    if (entry != NULL)
        return entry;
    entry = lw_alloc_zero(1, sizeof *entry);
    if (entry == NULL)
        return (lw_host_entry *)PyErr_NoMemory();
    entry->key = *key;
    Py_BEGIN_ALLOW_THREADS
    status = build_host(specialisation, key, entry, &report, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK) {
        host_entry_free(entry);
        return (lw_host_entry *)lw_py_raise(&err);
    }
    lw_compiled_count((lw_compiled *)specialisation->function, &report);
    lw_grown_add(&specialisation->host, entry);
    return entry;
}

void
lw_specialisation_drop_entries(lw_specialisation *specialisation)
{
    lw_grown_free(&specialisation->device, device_entry_free);
    lw_grown_free(&specialisation->host, host_entry_free);
}

/* ---- what kernels report ---- */

/* If the call has waited, what its kernel has printed can be shown. */
static int
shown(const lw_function *self)
{
    return self->options.errors == LW_RAISE ? lw_print_show() : 0;
}

int
lw_entry_report(const lw_device_entry *entry, CUstream stream)
{
    const lw_function *self = entry->specialisation->function;
    lw_status status = LW_OK;
    bool capturing = false;
    lw_error err = {0};

    if (entry->watch == NULL)
        return 0;
    if ((uintptr_t)stream > 1)
        LW_TRY(lw_stream_capturing(entry->device, stream, &capturing, &err));
    if (capturing)
        return 0;
    if (self->options.errors == LW_RAISE) {
        Py_BEGIN_ALLOW_THREADS
        status = lw_stream_synchronize(entry->device, stream, &err);
        Py_END_ALLOW_THREADS
    }
    if (status == LW_OK)
        return shown(self) < 0 ? -1 : lw_watch_check(entry->watch, stream);
fail:
    lw_py_raise(&err);
    return -1;
}
