/* Loops and kernels of device calls, remembered by operand dtypes and by walks; what inspection
 * asks of them. */
#include "core/py/numpy/device_call.h"

#include <string.h>

#include "core/device/heap.h"
#include "core/py/compiled/link_ask.h"
#include "core/py/compiled/resources.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/numpy/ufunc_choose.h"

enum { MOST_KEY_BYTES = 1024 };

/* ---- names and options ---- */

void
lw_device_symbol(const char *name, const lw_loop_head *loop, const void *key, size_t key_bytes,
                 char out[96])
{
    uint64_t hash = lw_hash64(key, key_bytes, 0);

    hash = lw_hash64(loop->types, (size_t)(loop->nin + loop->nout) * sizeof *loop->types, hash);
    lw_build_symbol(name, hash, out);
}

lw_build_options
lw_device_build_options(const lw_ufunc_head *self, const char *name)
{
    return lw_compiled_build_options((const lw_compiled *)self, name);
}

/* ---- resolutions ---- */

lw_resolved *
lw_device_resolution_new(const lw_device_door *door, lw_device *device,
                         const lw_loop_head *loop, const lw_build_options *options)
{
    lw_resolved *made = lw_resolved_new(door->resolution_bytes, device, loop, options,
                                        loop->scalar->can_raise ? door->raise : NULL);

    if (made != NULL)
        door->examine(made);
    return made;
}

static void *
loop_for(const lw_device_call *call, const uint8_t *codes, int n)
{
    const lw_call_rules rules = {call->signature, call->dtype, call->casting};
    lw_dtype dtypes[LW_LOOP_OPERANDS];
    char weak[LW_LOOP_OPERANDS];

    lw_resolved_dtypes(codes, n, dtypes, weak);
    return lw_loops_of_call(call->self, dtypes, weak, &rules);
}

lw_resolved *
lw_device_resolve(lw_device_call *call, const uint8_t *codes, int n)
{
    lw_ufunc_head *self = call->self;
    const lw_device_door *door = self->kind->device;
    bool plain = call->signature == NULL && call->dtype == NULL && call->casting == NULL;
    lw_resolved *found = plain ? lw_resolved_find(&self->plans, call->device, codes, n) : NULL;
    const lw_link_set *links;
    lw_build_options options;
    lw_loop_head *loop;

    if (found != NULL)
        return found;
    loop = loop_for(call, codes, n);
    if (loop == NULL)
        return NULL;
    found = plain ? NULL : lw_resolved_find_loop(&self->plans, call->device, loop);
    if (found != NULL)
        return found;
    links = lw_link_set_of((lw_compiled *)self, self->captures, loop->scalar,
                           call->device->cc_major * 10 + call->device->cc_minor);
    if (links == NULL)
        return NULL;
    options = lw_link_options(lw_device_build_options(self, door->name(self)), links);
    found = lw_device_resolution_new(door, call->device, loop, &options);
    if (found == NULL)
        return NULL;
    found->links = links;
    lw_resolved_add(&self->plans, found, plain ? codes : NULL, n);
    return found;
}

int
lw_device_raise(const void *resolution, const lw_report_record *record, lw_raise_place *place)
{
    const lw_loop_head *loop = ((const lw_resolved *)resolution)->loop;

    place->index[0] = (int64_t)record->values[0];
    place->heap_bytes = lw_heap_bytes(((const lw_resolved *)resolution)->device);
    memcpy(place->words, record->values + 1, sizeof place->words);
    return lw_raise_at(
        lw_raise_row_at(loop->scalar->raises, loop->scalar->n_raises, record->status), place);
}

/* ---- kernels ---- */

lw_loaded *
lw_device_kernel_for(const lw_device_door *door, lw_resolved *resolution, const void *key)
{
    return lw_resolved_kernel(resolution, key, door->key_size(key), door->key_bytes,
                              door->module);
}

/* ---- inspection: the kernel of contiguous operands ---- */

typedef union usual_key {
    uint64_t align;
    unsigned char bytes[MOST_KEY_BYTES];
} usual_key;

static void
make_usual_key(const lw_device_door *door, const void *loop, usual_key *key)
{
    assert(door->key_bytes <= sizeof *key);
    door->usual_key(loop, key);
}

lw_status
lw_device_usual_module(lw_ufunc_head *self, void *loop, lw_module **out, lw_error *err)
{
    const lw_device_door *door = self->kind->device;
    lw_resolved resolution = {.loop = loop,
                              .options = lw_device_build_options(self, door->name(self))};
    usual_key key;

    make_usual_key(door, loop, &key);
    return door->module(&resolution, &key, out, err);
}

PyObject *
lw_device_resources(lw_ufunc_head *self, void *loop, int cc)
{
    const lw_device_door *door = self->kind->device;
    lw_cubin_info info = {0};
    usual_key key;
    char symbol[96];

    if (cc == 0 && (cc = lw_current_cc()) < 0)
        return NULL;
    make_usual_key(door, loop, &key);
    lw_device_symbol(door->name(self), loop, &key, door->key_size(&key), symbol);
    if (lw_ufunc_info(self, loop, cc, &info) < 0)
        return NULL;
    return lw_resources_dict(symbol, &info, cc, door->resources(loop, &key, &info, cc));
}

int
lw_device_compile(lw_ufunc_head *self, void *object, int cc)
{
    const lw_device_door *door = self->kind->device;
    const lw_loop_head *loop = object;
    lw_device_call call = {.self = self, .device = lw_current_device_of(cc)};
    uint8_t codes[LW_MOST_CODES] = {0};
    lw_resolved *resolution;
    usual_key key;

    if (call.device == NULL)
        return -1;
    for (int i = 0; i < loop->nin; i++)
        codes[i] = (uint8_t)loop->types[i];
    resolution = lw_device_resolve(&call, codes, loop->nin + loop->nout);
    if (resolution == NULL)
        return -1;
    make_usual_key(door, loop, &key);
    return lw_device_kernel_for(door, resolution, &key) ? 0 : -1;
}
