#include "core/device/driver.h"

#include "core/base/dynload.h"
#include "core/base/env.h"
#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/device/device_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* CUDA 12.0 is the first driver with cuLibrary*, cuGetProcAddress_v2 and cubins of every
 * toolkit that we use. */
#define OLDEST_VERSION 12000

enum { STATE_NONE, STATE_LOADING, STATE_READY, STATE_FORKED };

typedef struct call_row {
    const char *field, *symbol;
    int version;
    size_t offset;
} call_row;

static const call_row calls[LW_N_CALLS] = {
#define CUDA(name, symbol, version, arguments)                                                 \
    [LW_CALL_##name] = {#name, symbol, version, offsetof(lw_driver_table, name)},
#include "core/tables/cuda_driver.def"
};

lw_driver_table lw_cuda;

static atomic_int state;
static lw_lock lock = LW_LOCK_INIT;
static lw_library *library;
static int version;
static char path[512];

const char *
lw_driver_call_name(lw_driver_call call)
{
    static _Thread_local char name[64];
    const char *symbol = calls[call].symbol;
    const char *suffix = strstr(symbol, "_v");

    snprintf(name, sizeof name, "%.*s", (int)(suffix ? suffix - symbol : 60), symbol);
    return name;
}

bool
lw_driver_forked(void)
{
    return atomic_load_explicit(&state, memory_order_relaxed) == STATE_FORKED;
}

/* In the child only the forking thread exists: a lock that another thread held would stay
 * locked. */
static void
after_fork(void)
{
    static const lw_lock fresh = LW_LOCK_INIT;

    if (atomic_load(&state) != STATE_NONE)
        atomic_store(&state, STATE_FORKED);
    lock = fresh;
}

static lw_status
fail_forked(lw_error *err)
{
    return lw_fail(
        err, LW_ERR_DRIVER,
        "CUDA initialized before forking; use spawn: a forked process cannot use its "
        "parent's CUDA. Start workers with multiprocessing's \"spawn\" or "
        "\"forkserver\" method, or use CUDA first in the child");
}

static bool
open_one(const char *name, lw_text *tried)
{
    lw_error why = {0};

    if (lw_library_open(name, &library, &why) == LW_OK)
        return true;
    lw_text_addf(tried, "%s%s (%s)", tried->n ? "; " : "", name, lw_error_text(&why));
    lw_error_reset(&why);
    return false;
}

static lw_status
open_library(lw_error *err)
{
    static const char *const wsl = "/usr/lib/wsl/lib/libcuda.so.1";
    const char *chosen = lw_env_text(LW_ENV_driver);
    lw_status status = LW_OK;
    lw_text tried;
    bool found;

    lw_text_init(&tried);
    if (chosen[0] != 0)
        found = open_one(chosen, &tried);
    else
        found = (access(wsl, R_OK) == 0 && open_one(wsl, &tried)) ||
                open_one("libcuda.so.1", &tried);
    if (!found)
        status = lw_fail(err, LW_ERR_DRIVER,
                         "no CUDA driver was found on this machine; looked for %s: %s; "
                         "LANEWISE_TARGET=cpu runs the program on the CPU",
                         chosen[0] ? "the library named by LANEWISE_CUDA_DRIVER"
                                   : "libcuda.so.1 in the loader's search path",
                         lw_text_get(&tried));
    else
        snprintf(path, sizeof path, "%s", lw_library_path(library));
    lw_text_reset(&tried);
    return status;
}

typedef CUresult (*get_address_function)(const char *symbol, void **out, int version,
                                         uint64_t flags, int *found);

/* Asks cuGetProcAddress first. If it does not answer, dlsym is asked; if it says that there is
 * no such call, that is believed. */
static void *
resolve(get_address_function get_address, const call_row *row)
{
    const char *suffix = strstr(row->symbol, "_v");
    char name[64];
    void *address = NULL;
    int found = 0;

    snprintf(name, sizeof name, "%.*s", (int)(suffix ? suffix - row->symbol : 60), row->symbol);
    if (get_address != NULL &&
        get_address(name, &address, row->version, 1 /* legacy default stream */, &found) == 0)
        return found == 0 ? address : NULL;
    return lw_library_symbol(library, row->symbol);
}

static void
fill_table(void)
{
    void *symbol = lw_library_symbol(library, "cuGetProcAddress_v2");
    get_address_function get_address = NULL;
    int i;

    memcpy(&get_address, &symbol, sizeof symbol); /* C has no cast from void * to a function */
    for (i = 0; i < LW_N_CALLS; i++) {
        void *address = resolve(get_address, &calls[i]);
        memcpy((char *)&lw_cuda + calls[i].offset, &address, sizeof address);
    }
}

static void
unload(void)
{
    memset(&lw_cuda, 0, sizeof lw_cuda);
    lw_library_close(library);
    library = NULL;
    version = 0;
    path[0] = 0;
}

/* needs: the lock */
static lw_status
load(lw_error *err)
{
    lw_status status;

    if (lw_env_int(LW_ENV_no_cuda) != 0)
        return lw_fail(err, LW_ERR_DRIVER,
                       "CUDA is switched off by LANEWISE_NO_CUDA=%s; LANEWISE_TARGET=cpu runs "
                       "the program on the CPU",
                       lw_env_text(LW_ENV_no_cuda));
    LW_TRY(open_library(err));
    fill_table();
    status = LW_CUDA(DriverGetVersion, (&version), -1, err);
    if (status == LW_OK && version < OLDEST_VERSION)
        status =
            lw_fail(err, LW_ERR_DRIVER,
                    "the CUDA driver %s is too old: it supports CUDA %d.%d, lanewise needs "
                    "%d.%d or newer (NVIDIA driver 525 or newer)",
                    path, version / 1000, version % 1000 / 10, OLDEST_VERSION / 1000,
                    OLDEST_VERSION % 1000 / 10);
    if (status == LW_OK) {
        status = LW_CUDA(Init, (0), -1, err);
        if (status != LW_OK)
            lw_driver_note(err, " (driver %s)%s", path,
                           err != NULL && err->vendor_code == LW_CUDA_NO_DEVICE
                               ? "; LANEWISE_TARGET=cpu runs the program on the CPU"
                               : "");
    }
    if (status == LW_OK)
        return LW_OK;
fail:
    unload();
    return status;
}

static lw_status
need_slowly(lw_error *err)
{
    static bool watched;
    lw_status status = LW_OK;

    if (lw_driver_forked())
        return fail_forked(err);
    lw_lock_take(&lock);
    if (!watched)
        watched = pthread_atfork(NULL, NULL, after_fork) == 0;
    if (atomic_load(&state) != STATE_READY) {
        atomic_store(&state, STATE_LOADING);
        status = load(err);
        atomic_store(&state, status == LW_OK ? STATE_READY : STATE_NONE);
    }
    lw_lock_give(&lock);
    return status;
}

lw_status
lw_driver_need(lw_error *err)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == STATE_READY)
        return LW_OK;
    return need_slowly(err);
}

bool
lw_driver_available(void)
{
    int n = 0;

    return lw_device_count(&n, NULL) == LW_OK && n > 0;
}

int
lw_driver_version(void)
{
    return version;
}

const char *
lw_driver_path(void)
{
    return path;
}

void
lw_driver_close(void)
{
    if (atomic_load(&state) != STATE_READY)
        return;
    lw_devices_close_();
    lw_lock_take(&lock);
    atomic_store(&state, STATE_NONE);
    unload();
    lw_lock_give(&lock);
}

static void
describe(lw_error *err, CUresult code, lw_driver_call call, const char *where)
{
    const char *name = NULL, *text = NULL;

    if (lw_cuda.GetErrorName == NULL || lw_cuda.GetErrorName(code, &name) != 0 || name == NULL)
        name = "unknown CUDA error";
    if (lw_cuda.GetErrorString == NULL || lw_cuda.GetErrorString(code, &text) != 0)
        text = NULL;
    lw_fail(err, LW_ERR_DRIVER, "%s failed%s: %s (%d)%s%s", lw_driver_call_name(call), where,
            name, code, text ? ": " : "", text ? text : "");
    lw_error_set_vendor(err, name, code);
}

lw_status
lw_driver_check(CUresult code, lw_driver_call call, int ordinal, lw_error *err)
{
    char where[32] = "";

    if (code == LW_CUDA_SUCCESS)
        return LW_OK;
    if (err == NULL || err->status != LW_OK)
        return LW_ERR_DRIVER;
    if (ordinal >= 0)
        snprintf(where, sizeof where, " on device %d", ordinal);
    describe(err, code, call, where);
    return LW_ERR_DRIVER;
}

lw_status
lw_driver_missing(lw_driver_call call, int ordinal, lw_error *err)
{
    if (library == NULL)
        return lw_fail(err, LW_ERR_DRIVER, "%s was called without a CUDA driver",
                       lw_driver_call_name(call));
    if (err != NULL && err->status == LW_OK) {
        lw_fail(err, LW_ERR_DRIVER,
                "the CUDA driver %s (CUDA %d.%d) has no %s, which device %d needs", path,
                version / 1000, version % 1000 / 10, lw_driver_call_name(call),
                ordinal < 0 ? 0 : ordinal);
        lw_error_set_vendor(err, "CUDA_ERROR_NOT_SUPPORTED", LW_CUDA_NOT_SUPPORTED);
    }
    return LW_ERR_DRIVER;
}

void
lw_driver_note(lw_error *err, const char *format, ...)
{
    lw_text text;
    va_list args;

    if (err == NULL || err->text == NULL)
        return;
    lw_text_init(&text);
    lw_text_add(&text, err->text);
    va_start(args, format);
    lw_text_addv(&text, format, args);
    va_end(args);
    if (!text.failed) {
        char *old = err->text;
        err->text = text.data; /* both come from lw_alloc */
        text.data = old;
    }
    lw_text_reset(&text);
}

void
lw_driver_pass(lw_error *err, lw_error *from)
{
    if (err != NULL && err->status == LW_OK) {
        *err = *from;
        memset(from, 0, sizeof *from);
    }
    lw_error_reset(from);
}
