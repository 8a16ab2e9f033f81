#include "core/device/load.h"

#include "core/base/profile.h"

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
    LW_TRY(lw_image_kernel(*image, lw_build_kernel_name(module), kernel, err));
fail:
    lw_blob_unref(cubin);
    lw_compile_end(begun);
    return status;
}
