#include "core/py/numpy_api.h"

#include "core/py/compiled/resolved.h"

#include "core/base/memory.h"
#include "core/py/compiled/link_callbacks.h"
#include "core/py/raise.h"

#include <stdatomic.h>
#include <string.h>

/* ---- codes ---- */

static uint8_t
code_of(const lw_operand *operand)
{
    switch (operand->kind) {
    case LW_OPERAND_INT:
        return (uint8_t)((operand->big ? LW_DT_u64 : operand->dtype) | LW_WEAK_INT);
    case LW_OPERAND_FLOAT: return (uint8_t)(operand->dtype | LW_WEAK_FLOAT);
    case LW_OPERAND_COMPLEX: return (uint8_t)(operand->dtype | LW_WEAK_COMPLEX);
    default: return operand->dtype;
    }
}

int
lw_resolved_codes(const lw_operand *operands, int nin, int n, uint8_t *codes)
{
    for (int i = 0; i < n; i++) {
        const lw_operand *operand = &operands[i];
        bool absent = i >= nin && operand->kind != LW_OPERAND_DEVICE;
        codes[i] = absent ? LW_DT_void : code_of(operand);
        if (!absent && operand->dtype == LW_DT_void) {
            PyErr_Format(PyExc_TypeError,
                         "argument %d has a dtype that kernels cannot read: %.200R", i + 1,
                         operand->descr ? (PyObject *)operand->descr : Py_None);
            return -1;
        }
    }
    return 0;
}

void
lw_resolved_dtypes(const uint8_t *codes, int n, lw_dtype *dtypes, char *weak)
{
    static const char kinds[] = {0, 'i', 'f', 'c'};

    for (int i = 0; i < n; i++) {
        dtypes[i] = (lw_dtype)(codes[i] & 31);
        weak[i] = kinds[codes[i] >> 5];
    }
}

/* ---- resolutions ---- */

static bool
matches(const lw_resolved *resolved, const lw_device *device, const uint8_t *codes, int n)
{
    return resolved->device == device && resolved->n == n &&
           memcmp(resolved->codes, codes, (size_t)n) == 0;
}

lw_resolved *
lw_resolved_find(lw_resolved_list *list, const lw_device *device, const uint8_t *codes, int n)
{
    lw_resolved *at = atomic_load_explicit(&list->last, memory_order_acquire);

    if (at != NULL && matches(at, device, codes, n))
        return at;
    at = atomic_load_explicit(&list->first, memory_order_acquire);
    for (; at != NULL; at = at->next)
        if (matches(at, device, codes, n)) {
            atomic_store_explicit(&list->last, at, memory_order_release);
            return at;
        }
    return NULL;
}

lw_resolved *
lw_resolved_find_loop(lw_resolved_list *list, const lw_device *device, const void *loop)
{
    lw_resolved *at = atomic_load_explicit(&list->first, memory_order_acquire);

    while (at != NULL && (at->device != device || at->loop != loop))
        at = at->next;
    return at;
}

static void
loaded_free(lw_loaded *loaded)
{
    lw_image_drop(loaded->image);
    lw_free(loaded);
}

static void
free_one(lw_resolved *resolved)
{
    lw_loaded *at, *next;

    for (at = atomic_load(&resolved->kernels); at != NULL; at = next) {
        next = at->next;
        loaded_free(at);
    }
    lw_watch_free(resolved->watch);
    lw_free(resolved);
}

void *
lw_resolved_new(size_t size_bytes, lw_device *device, const void *loop,
                const lw_build_options *options, lw_watch_raise raise)
{
    lw_resolved *resolved = lw_alloc_zero(1, size_bytes);

    if (resolved == NULL)
        return PyErr_NoMemory();
    resolved->device = device;
    resolved->loop = loop;
    resolved->options = *options;
    if (raise != NULL && lw_watch_new(device, raise, resolved, &resolved->watch) < 0) {
        free_one(resolved);
        return NULL;
    }
    return resolved;
}

void
lw_resolved_add(lw_resolved_list *list, lw_resolved *resolved, const uint8_t *codes, int n)
{
    if (codes != NULL) {
        resolved->n = (uint8_t)n;
        memcpy(resolved->codes, codes, (size_t)n);
    }
    resolved->next = atomic_load(&list->first);
    while (!atomic_compare_exchange_weak(&list->first, &resolved->next, resolved))
        ;
}

void
lw_resolved_free(lw_resolved_list *list)
{
    lw_resolved *at, *next;

    for (at = atomic_load(&list->first); at != NULL; at = next) {
        next = at->next;
        free_one(at);
    }
    atomic_store(&list->first, NULL);
    atomic_store(&list->last, NULL);
}

void
lw_resolved_forget(lw_resolved_list *list)
{
    for (lw_resolved *at = atomic_load(&list->first); at != NULL; at = at->next)
        at->n = 0; /* found by their loops only */
}

/* ---- kernels ---- */

static lw_status
load(const lw_resolved *resolved, const void *key, lw_resolved_module make, lw_loaded *loaded,
     lw_error *err)
{
    lw_module *module = NULL;
    lw_status status;

    LW_TRY(make(resolved, key, &module, err));
    LW_TRY(lw_image_build(resolved->device, module, &resolved->options, &loaded->image,
                          &loaded->kernel, NULL, err));
fail:
    lw_module_free(module);
    return status;
}

/* Kernels from before a reset stay in the list, and are passed over. */
static bool
is_usable(const lw_loaded *loaded, const void *key, size_t size)
{
    return memcmp(loaded->key, key, size) == 0 && lw_image_is_alive(loaded->image);
}

static lw_loaded *
find_loaded(lw_resolved *resolved, const void *key, size_t size)
{
    lw_loaded *at = atomic_load_explicit(&resolved->last, memory_order_acquire);

    if (at != NULL && is_usable(at, key, size))
        return at;
    at = atomic_load_explicit(&resolved->kernels, memory_order_acquire);
    while (at != NULL && !is_usable(at, key, size))
        at = at->next;
    if (at != NULL)
        atomic_store_explicit(&resolved->last, at, memory_order_release);
    return at;
}

lw_loaded *
lw_resolved_kernel(lw_resolved *resolved, const void *key, size_t size_bytes,
                   size_t whole_bytes, lw_resolved_module module)
{
    lw_loaded *loaded = find_loaded(resolved, key, size_bytes);
    lw_error err = {0};
    lw_status status;

    if (loaded != NULL)
        return loaded;
    if (resolved->watch != NULL && lw_watch_address(resolved->watch) == 0)
        return NULL;
    loaded = lw_alloc_zero(1, sizeof *loaded + whole_bytes);
    if (loaded == NULL)
        return (lw_loaded *)PyErr_NoMemory();
    memcpy(loaded->key, key, whole_bytes);
    Py_BEGIN_ALLOW_THREADS
    status = load(resolved, key, module, loaded, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    if (status != LW_OK ||
        (resolved->links != NULL && lw_link_loaded(resolved->links, loaded->image) < 0)) {
        loaded_free(loaded);
        return NULL;
    }
    loaded->next = atomic_load(&resolved->kernels);
    while (!atomic_compare_exchange_weak(&resolved->kernels, &loaded->next, loaded))
        ;
    atomic_store_explicit(&resolved->last, loaded, memory_order_release);
    return loaded;
}

int
lw_resolved_check(const lw_resolved *resolved, CUstream stream)
{
    return resolved->watch ? lw_watch_check(resolved->watch, stream) : 0;
}
