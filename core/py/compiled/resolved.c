#include "core/py/numpy_api.h"

#include "core/py/compiled/resolved.h"

#include "core/base/memory.h"
#include "core/py/compiled/link_callbacks.h"
#include "core/py/raise.h"

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
    static const char kinds[] = {'i', 'f', 'c', 0};

    for (int i = 0; i < n; i++) {
        bool is_weak = codes[i] & LW_WEAK;
        dtypes[i] = (lw_dtype)(codes[i] & (is_weak ? 31 : ~LW_WEAK));
        weak[i] = is_weak ? kinds[codes[i] >> 5 & 3] : 0;
    }
}

/* ---- resolutions ---- */

typedef struct codes_key {
    const lw_device *device;
    const uint8_t *codes;
    int n;
} codes_key;

static bool
has_codes(const void *item, const void *key)
{
    const lw_resolved *resolved = item;
    const codes_key *wanted = key;

    return resolved->device == wanted->device && resolved->n == wanted->n &&
           memcmp(resolved->codes, wanted->codes, (size_t)wanted->n) == 0;
}

lw_resolved *
lw_resolved_find(lw_resolved_list *list, const lw_device *device, const uint8_t *codes, int n)
{
    const codes_key key = {device, codes, n};

    return lw_grown_find(&list->all, has_codes, &key);
}

lw_resolved *
lw_resolved_find_loop(lw_resolved_list *list, const lw_device *device, const void *loop)
{
    lw_resolved *at = lw_grown_first(&list->all);

    while (at != NULL && (at->device != device || at->loop != loop))
        at = lw_grown_next(at);
    return at;
}

static void
loaded_free(void *item)
{
    lw_loaded *loaded = item;

    lw_image_drop(loaded->image);
    lw_free(loaded);
}

static void
free_one(void *item)
{
    lw_resolved *resolved = item;

    lw_grown_free(&resolved->kernels, loaded_free);
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
    lw_grown_add(&list->all, resolved);
}

void
lw_resolved_free(lw_resolved_list *list)
{
    lw_grown_free(&list->all, free_one);
}

void
lw_resolved_forget(lw_resolved_list *list)
{
    for (lw_resolved *at = lw_grown_first(&list->all); at != NULL; at = lw_grown_next(at))
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
                          &loaded->kernel, &loaded->report, err));
fail:
    lw_module_free(module);
    return status;
}

typedef struct walk_key {
    const void *data;
    size_t n_bytes;
} walk_key;

/* Kernels from before a reset stay in the list, and are passed over. */
static bool
is_usable(const void *item, const void *key)
{
    const lw_loaded *loaded = item;
    const walk_key *wanted = key;

    return memcmp(loaded->key, wanted->data, wanted->n_bytes) == 0 &&
           lw_image_is_ready(loaded->image);
}

lw_loaded *
lw_resolved_kernel(lw_resolved *resolved, const void *key, size_t size_bytes,
                   size_t whole_bytes, lw_resolved_module module)
{
    const walk_key wanted = {key, size_bytes};
    lw_loaded *loaded = lw_grown_find(&resolved->kernels, is_usable, &wanted);
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
    lw_grown_add(&resolved->kernels, loaded);
    lw_grown_note(&resolved->kernels, loaded);
    return loaded;
}

int
lw_resolved_check(const lw_resolved *resolved, CUstream stream)
{
    return resolved->watch ? lw_watch_check(resolved->watch, stream) : 0;
}
