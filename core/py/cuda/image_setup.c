/* Owns a record for each image and code, from the first set-up until the image is unloaded. It
 * holds the callback that it will call, and not the code, whose other callback often knows the
 * kernel, which holds the image. The list, the states and the threads that wait are under one
 * lock, under which no Python runs. Records that are ready come first in the list, the latest
 * at its head. */
#include "core/py/cuda/image_setup.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/front/read/services.h"
#include "core/py/cuda/cuda_internal.h"

#include <stdatomic.h>
#include <time.h>

typedef enum state { DOWN, RUNNING, READY, FAILED } state;

/* What records and module objects know of an image. Counted, under the lock. */
typedef struct linked {
    lw_image *image; /* borrowed; NULL: it is unloaded */
    int64_t n_users;
} linked;

typedef struct record {
    linked *of;
    PyObject *identity;          /* of the code */
    PyObject *teardown, *module; /* module: the object that callbacks get; or NULL, both */
    PyObject *failure; /* what the callback raised, while threads wait that will; or NULL */
    state state;
    uint64_t attempt;
    unsigned long thread; /* that sets it up */
    int64_t n_waiting;
    struct record *next;
} record;

/* A thread that waits for another one's set-up, on its own stack. */
typedef struct waiter {
    unsigned long thread;
    const record *on;
    struct waiter *next;
} waiter;

static lw_lock lock = LW_LOCK_INIT;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static record *records;
static waiter *waiters;
static atomic_bool at_exit; /* the interpreter calls us */

static const char CAPSULE[] = "lanewise.image";

/* ---- records: all under the lock ---- */

static void
linked_drop(linked *of)
{
    if (--of->n_users == 0)
        lw_free(of);
}

static void
unlink_record(record *r)
{
    record **link = &records;

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
}

static void
link_first(record *r)
{
    r->next = records;
    records = r;
}

static void
link_last(record *r)
{
    record **link = &records;

    while (*link != NULL)
        link = &(*link)->next;
    r->next = NULL;
    *link = r;
}

static record *
find(const linked *of, const PyObject *identity)
{
    record *r = records;

    while (r != NULL && (r->of != of || r->identity != identity))
        r = r->next;
    return r;
}

/* ---- calling ---- */

/* What a LinkableCode has. */
typedef struct callbacks {
    PyObject *identity, *setup, *teardown; /* the last two: or NULL */
} callbacks;

static int
callbacks_read(PyObject *code, callbacks *out)
{
    out->identity = PyObject_GetAttrString(code, "_identity");
    out->setup = out->identity ? PyObject_GetAttrString(code, "_setup_callback") : NULL;
    out->teardown = out->setup ? PyObject_GetAttrString(code, "_teardown_callback") : NULL;
    if (out->setup == Py_None)
        Py_CLEAR(out->setup);
    if (out->teardown == Py_None)
        Py_CLEAR(out->teardown);
    return PyErr_Occurred() ? -1 : 0;
}

static void
capsule_free(PyObject *capsule)
{
    linked *of = PyCapsule_GetPointer(capsule, CAPSULE);

    lw_lock_take(&lock);
    linked_drop(of);
    lw_lock_give(&lock);
}

/* A lanewise.cuda.Module of the image. */
static PyObject *
new_module(linked *of, lw_image *image)
{
    PyObject *class = lw_service_find(LW_SERVICE_LINKING, "Module"), *capsule, *module = NULL;
    CUmodule handle = NULL;
    lw_error err = {0};

    if (class == NULL)
        return NULL;
    if (lw_image_handle(image, &handle, &err) != LW_OK) {
        Py_DECREF(class);
        return lw_py_raise(&err);
    }
    capsule = PyCapsule_New(of, CAPSULE, NULL);
    if (capsule != NULL) {
        lw_lock_take(&lock);
        of->n_users++;
        lw_lock_give(&lock);
        PyCapsule_SetDestructor(capsule, capsule_free);
        module =
            PyObject_CallFunction(class, "OKi", capsule, (unsigned long long)(uintptr_t)handle,
                                  lw_image_device(image)->ordinal);
    }
    Py_XDECREF(capsule);
    Py_DECREF(class);
    return module;
}

static int
call(PyObject *callback, PyObject *module)
{
    PyObject *result = PyObject_CallOneArg(callback, module);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* ---- setting up ---- */

static int
call_at_exit(void)
{
    PyObject *atexit, *function, *result = NULL;

    if (atomic_exchange(&at_exit, true))
        return 0;
    atexit = PyImport_ImportModule("atexit");
    function = atexit ? PyCFunction_New(&lw_image_setup_functions[0], NULL) : NULL;
    if (function != NULL)
        result = PyObject_CallMethod(atexit, "register", "O", function);
    if (result == NULL)
        atomic_store(&at_exit, false);
    Py_XDECREF(function);
    Py_XDECREF(atexit);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static void unloading(void *context, bool alive);

/* needs: the lock. NULL with an error. */
static linked *
linked_of(lw_image *image, lw_error *err)
{
    linked *of = lw_image_unload_context(image, unloading);

    if (of != NULL)
        return of;
    of = lw_alloc_zero(1, sizeof *of);
    if (of == NULL) {
        lw_fail_memory(err);
        return NULL;
    }
    of->image = image;
    of->n_users = 1;
    if (lw_image_at_unload(image, unloading, of, err) == LW_OK)
        return of;
    lw_free(of);
    return NULL;
}

/* needs: the lock. The one that is there, or a new one; NULL with an error. */
static record *
record_of(lw_image *image, PyObject *identity, lw_error *err)
{
    linked *of = linked_of(image, err);
    record *r = of != NULL ? find(of, identity) : NULL;

    if (of == NULL || r != NULL)
        return r;
    r = lw_alloc_zero(1, sizeof *r);
    if (r == NULL) {
        lw_fail_memory(err);
        return NULL;
    }
    r->of = of;
    of->n_users++;
    r->identity = Py_NewRef(identity);
    link_last(r);
    return r;
}

/* Whether the thread waits, perhaps through others, for itself. needs: the lock */
static bool
waits_for_itself(const record *r, unsigned long thread)
{
    while (r != NULL && r->state == RUNNING) {
        const waiter *w = waiters;
        if (r->thread == thread)
            return true;
        while (w != NULL && w->thread != r->thread)
            w = w->next;
        r = w != NULL ? w->on : NULL;
    }
    return false;
}

/* Some time, or until something changes. needs: the lock; not the GIL */
static void
wait_a_while(void)
{
    enum { NANOSECONDS = 50000000 }; /* half of what Ctrl-C may take */
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NANOSECONDS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&changed, &lock, &until);
}

/* Waits once for the thread that sets it up; *over: that attempt has ended. */
static int
wait_once(const record *r, uint64_t attempt, PyObject *code, bool *over)
{
    waiter self = {PyThread_get_thread_ident(), r, NULL};
    bool circle;

    Py_BEGIN_ALLOW_THREADS
    lw_lock_take(&lock);
    circle = waits_for_itself(r, self.thread);
    if (!circle && r->state == RUNNING && r->attempt == attempt) {
        waiter **link = &waiters;
        self.next = waiters;
        waiters = &self;
        wait_a_while();
        while (*link != &self)
            link = &(*link)->next;
        *link = self.next;
    }
    *over = r->state != RUNNING || r->attempt != attempt;
    lw_lock_give(&lock);
    Py_END_ALLOW_THREADS
    if (circle) {
        PyErr_Format(PyExc_RuntimeError,
                     "the setup_callback of %.200R runs in another thread, which waits for a "
                     "setup_callback of this one: neither can end",
                     code);
        return -1;
    }
    return *over ? 0 : PyErr_CheckSignals();
}

/* What came of a wait. 0: it is ready; 1: it is to be set up again; -1: it failed, with what
 * the callback raised. The last to leave takes the exception along, whose frames may hold much.
 */
static int
leave(record *r, bool interrupted)
{
    PyObject *failure;
    state now;
    bool last;

    lw_lock_take(&lock);
    now = r->state;
    last = --r->n_waiting == 0;
    failure = last ? r->failure : Py_XNewRef(r->failure);
    if (last)
        r->failure = NULL;
    lw_lock_give(&lock);
    if (!interrupted && (now == RUNNING || now == FAILED) && failure != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
    Py_XDECREF(failure);
    return PyErr_Occurred() ? -1 : now != READY;
}

/* The exception that is set, which stays set. */
static PyObject *
exception_now(void)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL && value != NULL)
        PyException_SetTraceback(value, trace);
    Py_XINCREF(value);
    PyErr_Restore(type, value, trace);
    return value;
}

static void
finish(record *r, lw_image *image, bool failed)
{
    PyObject *failure = failed ? exception_now() : NULL, *before = NULL;

    if (failed)
        lw_image_retire(image);
    lw_lock_take(&lock);
    r->state = failed ? FAILED : READY;
    if (r->n_waiting > 0) {
        before = r->failure;
        r->failure = failure;
        failure = NULL;
    }
    unlink_record(r);
    if (failed)
        link_last(r);
    else
        link_first(r);
    lw_image_release(image);
    pthread_cond_broadcast(&changed);
    lw_lock_give(&lock);
    Py_XDECREF(before);
    Py_XDECREF(failure);
}

/* In the thread that has made it RUNNING, with the image's device current. */
static int
run(record *r, lw_image *image, const callbacks *c)
{
    CUcontext before = NULL;
    lw_error err = {0};
    int result = -1;

    if (lw_device_visit(lw_image_device(image), &before, &err) != LW_OK)
        lw_py_raise(&err);
    else if (call_at_exit() == 0 && (r->module || (r->module = new_module(r->of, image))))
        result = c->setup != NULL ? call(c->setup, r->module) : 0;
    Py_XSETREF(r->teardown, Py_XNewRef(c->teardown));
    lw_device_leave(before);
    finish(r, image, result < 0);
    return result;
}

typedef enum part { PASS, SET_UP, WAIT } part;

/* The caller's part in it. needs: the lock */
static part
take_part(record *r, lw_image *image)
{
    unsigned long thread = PyThread_get_thread_ident();

    if (r->state == READY || (r->state == RUNNING && r->thread == thread))
        return PASS;
    if (r->state == RUNNING) {
        r->n_waiting++;
        return WAIT;
    }
    r->state = RUNNING;
    r->thread = thread;
    r->attempt++;
    lw_image_hold_back(image);
    return SET_UP;
}

/* As leave. */
static int
wait_for(record *r, uint64_t attempt, PyObject *code)
{
    bool over = false;
    int result = 0;

    while (!over && result == 0)
        result = wait_once(r, attempt, code, &over);
    return leave(r, result < 0);
}

/* The record, and the caller's part in its attempt. NULL with an exception. */
static record *
begin(lw_image *image, PyObject *identity, part *out, uint64_t *attempt)
{
    lw_error err = {0};
    record *r;

    lw_lock_take(&lock);
    r = record_of(image, identity, &err);
    if (r != NULL) {
        *out = take_part(r, image);
        *attempt = r->attempt;
    }
    lw_lock_give(&lock);
    return r != NULL ? r : (record *)lw_py_raise(&err);
}

static int
set_up(PyObject *code, lw_image *image, const callbacks *c)
{
    uint64_t attempt = 0;
    part mine = PASS;
    int result;

    do {
        record *r = begin(image, c->identity, &mine, &attempt);
        if (r == NULL)
            return -1;
        result = 0;
        if (mine == SET_UP)
            result = run(r, image, c);
        else if (mine == WAIT)
            result = wait_for(r, attempt, code);
    } while (result > 0);
    return result;
}

int
lw_image_set_up(PyObject *code, lw_image *image)
{
    callbacks c = {0};
    int result = callbacks_read(code, &c);

    if (result == 0 && (c.setup != NULL || c.teardown != NULL))
        result = set_up(code, image, &c);
    Py_XDECREF(c.identity);
    Py_XDECREF(c.setup);
    Py_XDECREF(c.teardown);
    return result;
}

/* ---- tearing down ---- */

/* Nobody can be told of an exception: it is written out as those of finalisers are. */
static void
call_teardown(PyObject *teardown, PyObject *module)
{
    if (teardown != NULL && call(teardown, module) < 0)
        PyErr_WriteUnraisable(teardown);
}

/* The image's latest that is ready, as torn down. */
static record *
take_latest(const linked *of)
{
    record *r;

    lw_lock_take(&lock);
    for (r = records; r != NULL && (r->of != of || r->state != READY); r = r->next)
        continue;
    if (r != NULL)
        r->state = DOWN;
    lw_lock_give(&lock);
    return r;
}

/* Any record of the image, out of the list. */
static record *
take_any(const linked *of)
{
    record *r;

    lw_lock_take(&lock);
    for (r = records; r != NULL && r->of != of; r = r->next)
        continue;
    if (r != NULL)
        unlink_record(r);
    lw_lock_give(&lock);
    return r;
}

static void
record_free(record *r)
{
    Py_XDECREF(r->failure);
    Py_XDECREF(r->module);
    Py_XDECREF(r->teardown);
    Py_DECREF(r->identity);
    lw_lock_take(&lock);
    linked_drop(r->of);
    lw_lock_give(&lock);
    lw_free(r);
}

static void
free_records(linked *of, bool alive)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    record *r;

    PyErr_Fetch(&type, &value, &trace); /* of whoever drops the image */
    while (alive && (r = take_latest(of)) != NULL)
        call_teardown(r->teardown, r->module);
    lw_lock_take(&lock);
    of->image = NULL;
    lw_lock_give(&lock);
    while ((r = take_any(of)) != NULL)
        record_free(r);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(gil);
}

/* Before the image goes, in whatever thread drops it last. */
static void
unloading(void *context, bool alive)
{
    linked *of = context;

    if (!Py_IsInitialized())
        return;
    free_records(of, alive);
    lw_lock_take(&lock);
    linked_drop(of);
    lw_lock_give(&lock);
}

/* The latest of the device that is ready, as torn down, with references to callback and module,
 * its image held. What another thread unloads is torn down there. */
static lw_image *
take_of_device(const lw_device *device, PyObject **teardown, PyObject **module)
{
    lw_image *image = NULL;

    lw_lock_take(&lock);
    for (record *r = records; r != NULL && image == NULL; r = r->next) {
        if (r->state != READY || r->of->image == NULL ||
            (device != NULL && lw_image_device(r->of->image) != device) ||
            !lw_image_is_alive(r->of->image) || !lw_image_hold(r->of->image))
            continue;
        image = r->of->image;
        r->state = DOWN;
        *teardown = Py_XNewRef(r->teardown);
        *module = Py_NewRef(r->module);
    }
    lw_lock_give(&lock);
    return image;
}

void
lw_image_tear_down(const lw_device *device)
{
    PyObject *teardown = NULL, *module = NULL;
    lw_image *image;

    if (lw_driver_forked())
        return;
    while ((image = take_of_device(device, &teardown, &module)) != NULL) {
        CUcontext before = NULL;
        lw_error err = {0};
        lw_image_retire(image);
        if (lw_device_visit(lw_image_device(image), &before, &err) != LW_OK)
            lw_error_reset(&err); /* the callback itself fails then, and says so */
        call_teardown(teardown, module);
        lw_device_leave(before);
        lw_image_drop(image);
        Py_XDECREF(teardown);
        Py_DECREF(module);
    }
}

/* ---- what module objects ask ---- */

/* The image of a capsule, held. NULL with an exception. */
static lw_image *
image_of(PyObject *capsule)
{
    linked *of = PyCapsule_GetPointer(capsule, CAPSULE);
    lw_image *image;

    if (of == NULL)
        return NULL;
    lw_lock_take(&lock);
    image = of->image;
    if (image != NULL && (!lw_image_is_alive(image) || !lw_image_hold(image)))
        image = NULL;
    lw_lock_give(&lock);
    if (image == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the module is unloaded");
    return image;
}

static PyObject *
image_global(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *result = NULL;
    CUdeviceptr address = 0;
    size_t n_bytes = 0;
    const char *name;
    lw_image *image;
    lw_error err = {0};

    if (!PyArg_ParseTuple(args, "Os:get_global", &capsule, &name) ||
        (image = image_of(capsule)) == NULL)
        return NULL;
    if (lw_image_global(image, name, &address, &n_bytes, &err) == LW_OK)
        result = Py_BuildValue("Kn", (unsigned long long)address, (Py_ssize_t)n_bytes);
    else
        lw_py_raise(&err);
    lw_image_drop(image);
    return result;
}

static PyObject *
image_function(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *result = NULL;
    lw_kernel *kernel = NULL;
    const char *name;
    lw_image *image;
    lw_error err = {0};

    if (!PyArg_ParseTuple(args, "Os:get_function", &capsule, &name) ||
        (image = image_of(capsule)) == NULL)
        return NULL;
    if (lw_image_kernel(image, name, &kernel, &err) == LW_OK)
        result = Py_BuildValue("K(iiiii)", (unsigned long long)(uintptr_t)kernel->function,
                               kernel->info.registers, kernel->info.shared_bytes,
                               kernel->info.local_bytes, kernel->info.const_bytes,
                               kernel->info.max_threads);
    else
        lw_py_raise(&err);
    lw_image_drop(image);
    return result;
}

static PyObject *
tear_down_all(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_image_tear_down(NULL);
    Py_RETURN_NONE;
}

PyMethodDef lw_image_setup_functions[] = {
    {"_tear_down_all", tear_down_all, METH_NOARGS, "called at the end of the process"},
    {"_image_global", image_global, METH_VARARGS, NULL},
    {"_image_function", image_function, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
