/* What the files of this folder share. */
#ifndef LW_PY_CUDA_CUDA_INTERNAL_H
#define LW_PY_CUDA_CUDA_INTERNAL_H

#include "core/device/stream.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/method_table.h"
#include "core/py/raise.h"

/* ---- cuda_py.c ---- */
/* Of objects that own nothing. */
void lw_cuda_dealloc(PyObject *self);

/* ---- cuda_device.c ---- */
/* NULL with an exception, else None. */
PyObject *lw_cuda_synchronize(lw_device *device);
PyObject *lw_cuda_reset(lw_device *device);
/* The type is in `core`, and in the module as Device. */
int lw_cuda_device_register(PyObject *core, PyObject *module);

/* ---- cuda_context.c ---- */
PyObject *lw_context_object(lw_device *device);
/* MemoryInfo(free, total), a named tuple: managers make such too. */
PyObject *lw_memory_info_type_new(void);
int lw_cuda_context_register(PyObject *core, PyObject *module);

/* ---- cuda_stream.c ---- */
int lw_cuda_stream_register(PyObject *module);
extern PyMethodDef lw_cuda_stream_functions[];

/* ---- cuda_event.c ---- */
typedef struct lw_event_object {
    PyObject_HEAD
    lw_event *event;
    PyObject *weakrefs;
} lw_event_object;

PyObject *lw_cuda_event_make(bool timing);
bool lw_cuda_is_event(PyObject *object); /* false with TypeError */
int lw_cuda_event_register(PyObject *module);
extern PyMethodDef lw_cuda_event_functions[];

/* ---- graph_objects.c: rows of lw_cuda_stream_functions ---- */
PyObject *lw_cuda_keep_for_graph(PyObject *module, PyObject *args);
PyObject *lw_cuda_n_kept_for_graphs(PyObject *module, PyObject *none);

#endif
