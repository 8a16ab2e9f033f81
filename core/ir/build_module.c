/* The lists of a module that instructions refer to by number: locations and files of the
 * source, data, and functions from outside. An equal row is found and not added again. */
#include "core/ir/build_internal.h"
#include "core/ir/ir_internal.h"

#include <string.h>

uint32_t
lw_ir_loc_add(lw_module *module, uint32_t file, uint32_t line, uint32_t col)
{
    lw_ir_loc *loc, *last = &module->locs.data[module->locs.n - 1];

    assert(module->locs.n > 0); /* [0] is always there */
    if (module->locs.n > 1 && last->file == file && last->line == line && last->col == col)
        return module->locs.n - 1;
    loc = lw_array_push(&module->locs, &module->arena);
    if (loc == NULL) {
        module->failed = true;
        return 0;
    }
    *loc = (lw_ir_loc){.file = file, .line = line, .col = col};
    return module->locs.n - 1;
}

uint32_t
lw_ir_file_add(lw_module *module, const char *path)
{
    const char **slot, *copy;

    assert(path != NULL && module->files.n > 0);
    for (uint32_t i = 1; i < module->files.n; i++)
        if (strcmp(module->files.data[i], path) == 0)
            return i;
    copy = lw_arena_strdup(&module->arena, path);
    slot = copy ? lw_array_push(&module->files, &module->arena) : NULL;
    if (slot == NULL) {
        module->failed = true;
        return 0;
    }
    *slot = copy;
    return module->files.n - 1;
}

uint32_t
lw_ir_find(const lw_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (strcmp(module->funcs.data[i]->name, name) == 0)
            return i;
    return UINT32_MAX;
}

uint32_t
lw_ir_data_add(lw_module *module, uint64_t address, const void *bytes, uint32_t n,
               uint32_t align_log2)
{
    lw_data *data;
    uint8_t *copy;

    assert((bytes != NULL || n == 0) && align_log2 < 32);
    for (uint32_t i = 0; i < module->datas.n; i++) {
        data = &module->datas.data[i];
        if (data->n != n || data->address != address ||
            (n > 0 && memcmp(data->bytes, bytes, n) != 0))
            continue;
        if (data->align_log2 < align_log2)
            data->align_log2 = (uint8_t)align_log2;
        return i;
    }
    copy = lw_arena_take(&module->arena, n ? n : 1);
    data = copy ? lw_array_push(&module->datas, &module->arena) : NULL;
    if (data == NULL) {
        module->failed = true;
        return 0;
    }
    if (n > 0)
        memcpy(copy, bytes, n);
    *data =
        (lw_data){.bytes = copy, .address = address, .n = n, .align_log2 = (uint8_t)align_log2};
    return module->datas.n - 1;
}

static uint32_t
add_extern(lw_module *module, const lw_extern *wanted)
{
    lw_extern *slot = wanted->n_params <= LW_EXTERN_PARAMS
                          ? lw_array_push(&module->externs, &module->arena)
                          : NULL;

    if (slot == NULL) {
        module->failed = true;
        return 0;
    }
    *slot = *wanted;
    slot->name = lw_arena_strdup(&module->arena, wanted->name);
    if (slot->name == NULL) {
        module->failed = true;
        module->externs.n--;
        return 0;
    }
    return module->externs.n - 1;
}

static lw_extern
extern_of(const char *name, lw_dtype result, const lw_dtype *params, unsigned n)
{
    lw_extern one = {.name = name, .result = result, .n_params = (uint8_t)n};

    for (unsigned i = 0; i < n && i < LW_EXTERN_PARAMS; i++)
        one.params[i] = params[i];
    return one;
}

uint32_t
lw_ir_extern_add(lw_module *module, const char *name, lw_dtype result, const lw_dtype *params,
                 unsigned n)
{
    lw_extern wanted = extern_of(name, result, params, n);

    for (uint32_t i = 0; i < module->externs.n; i++)
        if (module->externs.data[i].address == 0 &&
            strcmp(module->externs.data[i].name, name) == 0)
            return i;
    return add_extern(module, &wanted);
}

/* One address may be called as functions of several types. */
uint32_t
lw_ir_foreign_extern_add(lw_module *module, const char *name, uint64_t address, lw_dtype result,
                         const lw_dtype *params, unsigned n)
{
    lw_extern wanted = extern_of(name, result, params, n);

    wanted.address = address;
    for (uint32_t i = 0; i < module->externs.n; i++) {
        const lw_extern *one = &module->externs.data[i];
        if (one->address == address && one->result == result && one->n_params == n &&
            memcmp(one->params, wanted.params, sizeof wanted.params) == 0)
            return i;
    }
    return add_extern(module, &wanted);
}

uint32_t
lw_ir_device_extern_add(lw_module *module, const char *name, lw_dtype result,
                        const lw_dtype *params, unsigned n)
{
    uint32_t number = lw_ir_extern_add(module, name, result, params, n);

    if (number < module->externs.n)
        module->externs.data[number].device = true;
    return number;
}
