#include "core/device/module.h"

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/device/device_internal.h"
#include "core/device/module_internal.h"
#include "core/device/print_buffer.h"
#include "core/device/recursion.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

typedef struct at_unload {
    lw_image_callback function;
    void *context;
    struct at_unload *next;
} at_unload;

struct lw_image {
    lw_digest digest; /* of the image */
    size_t n_bytes;
    lw_context *context; /* held */
    CUlibrary library;   /* NULL on the cuModule path */
    CUmodule module;
    lw_lock lock; /* kernels and callbacks */
    lw_kernel *kernels;
    at_unload *callbacks;  /* newest first */
    int64_t n_users;       /* under the registry's lock */
    atomic_uint held_back; /* how often; and RETIRED */
    lw_image *next;
};

enum { RETIRED = 1u << 31 };

/* All loaded modules. The lock is held while one is loaded, so that an image is loaded once
 * however many threads ask for it; no Python runs under the lock. */
static lw_lock registry_lock = LW_LOCK_INIT;
static lw_image *registry;

static lw_digest
digest_of(const void *image, size_t n_bytes)
{
    lw_sha256 sha;

    lw_sha256_init(&sha);
    lw_sha256_add(&sha, image, n_bytes);
    return lw_sha256_finish(&sha);
}

static bool
is_retired(const lw_image *module)
{
    return atomic_load(&module->held_back) & RETIRED;
}

static lw_image *
find(const lw_digest *digest, size_t n_bytes, const lw_context *context)
{
    lw_image *module = registry;

    while (module != NULL &&
           (module->context != context || module->n_bytes != n_bytes || is_retired(module) ||
            memcmp(&module->digest, digest, sizeof *digest) != 0))
        module = module->next;
    return module;
}

static lw_status
load_image(lw_image *module, const void *image, lw_error *err)
{
    const lw_device *device = module->context->device;
    lw_status status;

    if (lw_cuda.LibraryLoadData != NULL)
        status =
            LW_CUDA(LibraryLoadData, (&module->library, image, NULL, NULL, 0, NULL, NULL, 0),
                    device->ordinal, err);
    else
        status = LW_CUDA(ModuleLoadData, (&module->module, image), device->ordinal, err);
    if (status != LW_OK) {
        module->library = NULL; /* whatever the driver wrote */
        module->module = NULL;
        lw_driver_note(err, " (an image of %zu bytes for compute capability %d.%d)",
                       module->n_bytes, device->cc_major, device->cc_minor);
    }
    return status;
}

static void
unload_image(lw_image *module)
{
    int ordinal = module->context->device->ordinal;

    if (module->library != NULL)
        (void)LW_CUDA(LibraryUnload, (module->library), ordinal, NULL);
    else if (module->module != NULL)
        (void)LW_CUDA(ModuleUnload, (module->module), ordinal, NULL);
}

/* needs: the registry's lock; the device is visited. Holds the context on success. */
static lw_status
module_new(lw_context *context, const lw_digest *digest, const void *image, size_t n_bytes,
           lw_image **out, lw_error *err)
{
    static const lw_lock fresh = LW_LOCK_INIT;
    lw_image *module = lw_alloc_zero(1, sizeof *module);
    lw_status status;

    if (module == NULL)
        return lw_fail_memory(err);
    module->digest = *digest;
    module->n_bytes = n_bytes;
    module->context = context;
    module->lock = fresh;
    module->n_users = 1;
    status = load_image(module, image, err);
    if (status != LW_OK) {
        lw_free(module);
        return status;
    }
    module->next = registry;
    registry = module;
    *out = module;
    return LW_OK;
}

static void module_free(lw_image *module);

/* Connects an image that prints to the print buffer, one that uses the heap to its state, and
 * one that recurses to the stack; it is not loaded if that fails. needs: the registry's lock.
 */
static lw_status
connect(lw_image *module, const void *image, lw_error *err)
{
    lw_status status;

    assert(module != NULL);
    status = lw_print_connect(module, image, module->n_bytes, err);
    if (status == LW_OK && lw_heap_is_used_(image, module->n_bytes))
        status = lw_heap_connect_(module, module->context, err);
    if (status == LW_OK)
        status = lw_recursion_connect(module, image, module->n_bytes, err);
    if (status == LW_OK)
        return LW_OK;
    assert(registry == module); /* it was added at the front just before */
    registry = module->next;
    module_free(module);
    return status;
}

lw_status
lw_image_load(lw_device *device, const void *image, size_t n_bytes, lw_image **out,
              lw_error *err)
{
    lw_digest digest = digest_of(image, n_bytes);
    lw_context *context = NULL;
    CUcontext before = NULL;
    lw_image *module;
    lw_status status;

    LW_TRY(lw_context_hold(device, &context, err));
    LW_TRY(lw_device_visit(device, &before, err));
    if (lw_heap_is_used_(image, n_bytes))
        LW_TRY(lw_heap_prepare_(context, err));
    lw_lock_take(&registry_lock);
    module = find(&digest, n_bytes, context);
    if (module != NULL) {
        module->n_users++;
        lw_context_drop(context); /* the module holds it already */
    } else {
        status = module_new(context, &digest, image, n_bytes, &module, err);
        if (status == LW_OK) {
            context = NULL; /* the module holds it now */
            status = connect(module, image, err);
        }
    }
    lw_lock_give(&registry_lock);
    if (status == LW_OK) {
        *out = module;
        lw_device_leave(before);
        return LW_OK;
    }
fail:
    lw_device_leave(before);
    lw_context_drop(context);
    return status;
}

bool
lw_image_is_alive(const lw_image *module)
{
    return lw_context_is_alive(module->context);
}

bool
lw_image_is_ready(const lw_image *module)
{
    return atomic_load_explicit(&module->held_back, memory_order_acquire) == 0 &&
           lw_image_is_alive(module);
}

void
lw_image_hold_back(lw_image *module)
{
    atomic_fetch_add(&module->held_back, 1);
}

void
lw_image_release(lw_image *module)
{
    atomic_fetch_sub(&module->held_back, 1);
}

void
lw_image_retire(lw_image *module)
{
    atomic_fetch_or(&module->held_back, RETIRED);
}

bool
lw_image_hold(lw_image *module)
{
    bool held;

    lw_lock_take(&registry_lock);
    held = module->n_users > 0;
    module->n_users += held;
    lw_lock_give(&registry_lock);
    return held;
}

static void
kernel_free(lw_kernel *kernel)
{
    while (kernel->occupancy != NULL) {
        lw_occupancy *old = kernel->occupancy;
        kernel->occupancy = old->next;
        lw_free(old);
    }
    lw_free(kernel->varying);
    lw_free(kernel->name);
    lw_free(kernel);
}

static void
module_free(lw_image *module)
{
    CUcontext before = NULL;
    bool usable = lw_context_visit(module->context, &before);

    assert(module->n_users == 0 || registry != module); /* nobody finds it any more */
    while (module->callbacks != NULL) {
        at_unload *call = module->callbacks;
        module->callbacks = call->next;
        call->function(call->context, usable);
        lw_free(call);
    }
    if (usable)
        unload_image(module);
    lw_device_leave(before);
    while (module->kernels != NULL) {
        lw_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        kernel_free(kernel);
    }
    lw_context_drop(module->context);
    lw_free(module);
}

void
lw_image_drop(lw_image *module)
{
    lw_image **link;
    bool last;

    if (module == NULL || lw_driver_forked())
        return;
    lw_lock_take(&registry_lock);
    assert(module->n_users > 0);
    last = --module->n_users == 0;
    if (last) {
        for (link = &registry; *link != module; link = &(*link)->next)
            continue;
        *link = module->next;
    }
    lw_lock_give(&registry_lock);
    if (last)
        module_free(module);
}

/* ---- kernels ---------------------------------------------------------------------------- */

static lw_status
find_function(lw_kernel *kernel, lw_error *err)
{
    lw_image *module = kernel->module;
    int ordinal = kernel->device->ordinal;
    lw_status status;

    assert(module->library == NULL || module->module == NULL);
    if (module->library == NULL)
        return LW_CUDA(ModuleGetFunction, (&kernel->function, module->module, kernel->name),
                       ordinal, err);
    status = LW_CUDA(LibraryGetKernel, (&kernel->handle, module->library, kernel->name),
                     ordinal, err);
    if (status != LW_OK)
        return status;
    return LW_CUDA(KernelGetFunction, (&kernel->function, kernel->handle), ordinal, err);
}

static lw_status
look_up(lw_kernel *kernel, lw_error *err)
{
    enum { NOT_FOUND = 500 };
    lw_error why = {0};
    lw_status status = find_function(kernel, &why);

    if (status == LW_OK)
        return LW_OK;
    if (why.vendor_code == NOT_FOUND) {
        status = lw_fail(err, LW_ERR_LINK, "the loaded image has no kernel named \"%s\"",
                         kernel->name);
    } else {
        lw_driver_note(&why, " (kernel \"%s\", compute capability %d.%d)", kernel->name,
                       kernel->device->cc_major, kernel->device->cc_minor);
        lw_driver_pass(err, &why);
    }
    lw_error_reset(&why);
    return status;
}

static lw_status
read_info(lw_kernel *kernel, lw_error *err)
{
    static const struct {
        int attribute; /* CUfunction_attribute */
        size_t offset;
    } rows[] = {
        {0, offsetof(lw_kernel_info, max_threads)},
        {1, offsetof(lw_kernel_info, shared_bytes)},
        {2, offsetof(lw_kernel_info, const_bytes)},
        {3, offsetof(lw_kernel_info, local_bytes)},
        {4, offsetof(lw_kernel_info, registers)},
        {6, offsetof(lw_kernel_info, binary_version)},
    };
    lw_status status = LW_OK;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows && status == LW_OK; i++)
        status = LW_CUDA(FuncGetAttribute,
                         ((int *)((char *)&kernel->info + rows[i].offset), rows[i].attribute,
                          kernel->function),
                         kernel->device->ordinal, err);
    if (kernel->info.shared_bytes >= kernel->device->shared_reserved)
        kernel->info.shared_bytes -= kernel->device->shared_reserved;
    return status;
}

/* What lw_image_kernel_varying was given. */
typedef struct varying_list {
    const uint64_t *const *at;
    uint32_t n, n_params;
} varying_list;

static bool
reads(const lw_kernel *kernel, const varying_list *varying)
{
    return kernel->n_varying == varying->n &&
           (varying->n == 0 ||
            memcmp(kernel->varying, varying->at, varying->n * sizeof *varying->at) == 0);
}

/* needs: the module's lock; the device is visited. */
static lw_status
kernel_new(lw_image *module, const char *name, const varying_list *varying, lw_kernel **out,
           lw_error *err)
{
    lw_status status = LW_OK;
    lw_kernel *kernel = lw_alloc_zero(1, sizeof *kernel);

    if (kernel == NULL || (kernel->name = lw_strdup(name)) == NULL ||
        (varying->n > 0 &&
         (kernel->varying = lw_alloc(varying->n * sizeof *varying->at)) == NULL)) {
        if (kernel != NULL)
            lw_free(kernel->name);
        lw_free(kernel);
        return lw_fail_memory(err);
    }
    if (varying->n > 0)
        memcpy(kernel->varying, varying->at, varying->n * sizeof *varying->at);
    kernel->n_varying = varying->n;
    kernel->n_params = varying->n_params;
    kernel->module = module;
    kernel->carveout = -1;
    kernel->device = module->context->device;
    if (lw_cuda.LaunchKernel == NULL) /* lw_launch does not check it */
        status = lw_driver_missing(LW_CALL_LaunchKernel, kernel->device->ordinal, err);
    if (status == LW_OK)
        status = look_up(kernel, err);
    if (status == LW_OK && lw_cuda.FuncLoad != NULL) /* the driver is lazy by default */
        status = LW_CUDA(FuncLoad, (kernel->function), kernel->device->ordinal, err);
    if (status == LW_OK)
        status = read_info(kernel, err);
    if (status != LW_OK) {
        kernel_free(kernel);
        return status;
    }
    kernel->next = module->kernels;
    module->kernels = kernel;
    *out = kernel;
    return LW_OK;
}

static lw_status
find_kernel(lw_image *module, const char *name, const varying_list *varying, lw_kernel **out,
            lw_error *err)
{
    CUcontext before = NULL;
    lw_kernel *kernel;
    lw_status status;

    LW_TRY(lw_device_visit(module->context->device, &before, err));
    lw_lock_take(&module->lock);
    for (kernel = module->kernels; kernel != NULL; kernel = kernel->next)
        if (strcmp(kernel->name, name) == 0 && reads(kernel, varying))
            break;
    if (kernel == NULL)
        status = kernel_new(module, name, varying, &kernel, err);
    lw_lock_give(&module->lock);
    if (status == LW_OK)
        *out = kernel;
fail:
    lw_device_leave(before);
    return status;
}

lw_status
lw_image_kernel(lw_image *module, const char *name, lw_kernel **out, lw_error *err)
{
    return find_kernel(module, name, &(varying_list){NULL, 0, 0}, out, err);
}

lw_status
lw_image_kernel_varying(lw_image *module, const char *name, uint32_t n_params,
                        const uint64_t *const *varying, uint32_t n_varying, lw_kernel **out,
                        lw_error *err)
{
    return find_kernel(module, name, &(varying_list){varying, n_varying, n_params}, out, err);
}

lw_status
lw_image_global(lw_image *module, const char *name, CUdeviceptr *address, size_t *n_bytes,
                lw_error *err)
{
    int ordinal = module->context->device->ordinal;
    CUcontext before;
    lw_status status = lw_device_visit(module->context->device, &before, err);

    if (status == LW_OK && module->library != NULL)
        status =
            LW_CUDA(LibraryGetGlobal, (address, n_bytes, module->library, name), ordinal, err);
    else if (status == LW_OK)
        status =
            LW_CUDA(ModuleGetGlobal, (address, n_bytes, module->module, name), ordinal, err);
    if (status != LW_OK)
        lw_driver_note(err, " (variable \"%s\")", name);
    lw_device_leave(before);
    return status;
}

lw_status
lw_kernel_allow_shared(lw_kernel *kernel, uint32_t dynamic_bytes, lw_error *err)
{
    CUcontext before;
    lw_status status = lw_device_visit(kernel->device, &before, err);

    if (status == LW_OK)
        status = LW_CUDA(
            FuncSetAttribute,
            (kernel->function, 8 /* MAX_DYNAMIC_SHARED_SIZE_BYTES */, (int)dynamic_bytes),
            kernel->device->ordinal, err);
    if (status != LW_OK)
        lw_driver_note(
            err, " (kernel \"%s\": %u bytes of dynamic shared memory; a block may have %d)",
            kernel->name, dynamic_bytes, kernel->device->shared_per_block_optin);
    lw_device_leave(before);
    return status;
}

lw_status
lw_kernel_prefer_shared(lw_kernel *kernel, int percent, lw_error *err)
{
    CUcontext before;
    lw_status status;

    if (atomic_load_explicit(&kernel->carveout, memory_order_relaxed) == percent)
        return LW_OK;
    status = lw_device_visit(kernel->device, &before, err);
    if (status == LW_OK)
        status = LW_CUDA(FuncSetAttribute,
                         (kernel->function, 9 /* PREFERRED_SHARED_MEMORY_CARVEOUT */, percent),
                         kernel->device->ordinal, err);
    if (status == LW_OK)
        atomic_store_explicit(&kernel->carveout, percent, memory_order_relaxed);
    else
        lw_driver_note(err, " (kernel \"%s\": shared_memory_carveout=%d)", kernel->name,
                       percent);
    lw_device_leave(before);
    return status;
}

lw_device *
lw_image_device(const lw_image *module)
{
    return module->context->device;
}

lw_status
lw_image_handle(lw_image *module, CUmodule *out, lw_error *err)
{
    CUcontext before;
    lw_status status = LW_OK;

    if (module->library == NULL) {
        *out = module->module;
        return LW_OK;
    }
    status = lw_device_visit(module->context->device, &before, err);
    if (status == LW_OK)
        status = LW_CUDA(LibraryGetModule, (out, module->library),
                         module->context->device->ordinal, err);
    lw_device_leave(before);
    return status;
}

lw_status
lw_image_at_unload(lw_image *module, lw_image_callback function, void *context, lw_error *err)
{
    at_unload *call = lw_alloc(sizeof *call);

    if (call == NULL)
        return lw_fail_memory(err);
    call->function = function;
    call->context = context;
    lw_lock_take(&module->lock);
    call->next = module->callbacks;
    module->callbacks = call;
    lw_lock_give(&module->lock);
    return LW_OK;
}

void *
lw_image_unload_context(lw_image *module, lw_image_callback function)
{
    void *found = NULL;

    lw_lock_take(&module->lock);
    for (at_unload *call = module->callbacks; call != NULL && found == NULL; call = call->next)
        if (call->function == function)
            found = call->context;
    lw_lock_give(&module->lock);
    return found;
}
