/* What captured graphs read: objects that stay until CUDA has destroyed the graph and all that
 * was instantiated from it. CUDA tells so in a thread of its own, where neither it nor Python
 * may be called. So the entry is only marked there, and released by the next call that keeps
 * something; what was kept for graphs that are gone is thus bounded by what came with the last
 * capture. */
#include "core/base/lock.h"
#include "core/device/stream.h"
#include "core/py/cuda/cuda_internal.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/host_cuda.h"

#include <stdatomic.h>

typedef struct held {
    struct held *next;
    PyObject *object;
    atomic_bool is_free;
} held;

static lw_lock lock = LW_LOCK_INIT;
static held *all;

static void
mark(void *data)
{
    atomic_store(&((held *)data)->is_free, true);
}

static void
keep(held *one)
{
    lw_lock_take(&lock);
    one->next = all;
    all = one;
    lw_lock_give(&lock);
}

/* A list of those that CUDA has marked, taken out. */
static held *
take_marked(void)
{
    held *marked = NULL;

    lw_lock_take(&lock);
    for (held **at = &all; *at != NULL;) {
        held *one = *at;
        if (!atomic_load(&one->is_free)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = marked;
        marked = one;
    }
    lw_lock_give(&lock);
    return marked;
}

static void
release_marked(void)
{
    held *next;

    for (held *one = take_marked(); one != NULL; one = next) {
        next = one->next;
        Py_DECREF(one->object);
        PyMem_RawFree(one);
    }
}

PyObject *
lw_cuda_keep_for_graph(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *stream_object, *object;
    CUstream stream = NULL;
    lw_device *device;
    held *one;

    if (!PyArg_ParseTuple(args, "OO:_keep_for_graph", &stream_object, &object))
        return NULL;
    release_marked();
    if (lw_on_host())
        Py_RETURN_NONE;
    device = lw_current_device();
    if (device == NULL || lw_stream_read(stream_object, &stream) < 0)
        return NULL;
    one = PyMem_RawMalloc(sizeof *one);
    if (one == NULL)
        return PyErr_NoMemory();
    *one = (held){.object = Py_NewRef(object)};
    keep(one);
    /* Where this fails nobody says when the graph is gone, and the object stays. */
    (void)lw_stream_keep_for_graph(device, stream, mark, one, NULL);
    Py_RETURN_NONE;
}

PyObject *
lw_cuda_n_kept_for_graphs(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    Py_ssize_t n = 0;

    release_marked();
    lw_lock_take(&lock);
    for (const held *one = all; one != NULL; one = one->next)
        n++;
    lw_lock_give(&lock);
    return PyLong_FromSsize_t(n);
}
