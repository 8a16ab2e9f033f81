#include "core/device/load.h"

#include "core/base/memory.h"
#include "core/base/profile.h"

#include <string.h>

/* With the addresses of the numbers that it gets with each launch. */
static lw_status
find_kernel(lw_image *image, const lw_module *module, lw_kernel **kernel, lw_error *err)
{
    const char *name = lw_build_kernel_name(module);
    const uint64_t **varying = lw_alloc((module->datas.n + 1) * sizeof *varying);
    uint32_t n = 0, n_params = 0;
    lw_status status;

    if (varying == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < module->datas.n; i++)
        if (module->datas.data[i].varying)
            varying[n++] = (const uint64_t *)(uintptr_t)module->datas.data[i].address;
    for (uint32_t i = 0; i < module->funcs.n; i++)
        if (strcmp(module->funcs.data[i]->name, name) == 0)
            n_params = module->funcs.data[i]->params.n;
    status = lw_image_kernel_varying(image, name, n_params, varying, n, kernel, err);
    lw_free(varying);
    return status;
}

lw_status
lw_image_build(lw_device *device, const lw_module *module, const lw_build_options *options,
               lw_image **image, lw_kernel **kernel, lw_build_report *report, lw_error *err)
{
    int64_t begun = lw_compile_begin();
    lw_blob *cubin = NULL;
    lw_status status;

    LW_TRY(lw_build_cuda(module, device->cc_major * 10 + device->cc_minor, options, &cubin,
                         report, err));
    LW_TRY(lw_image_load(device, lw_blob_data(cubin), lw_blob_size(cubin), image, err));
    LW_TRY(find_kernel(*image, module, kernel, err));
fail:
    lw_blob_unref(cubin);
    lw_compile_end(begun);
    return status;
}
