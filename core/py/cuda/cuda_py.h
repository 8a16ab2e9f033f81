/* lanewise.cuda: devices, streams, events and memory, as functions and types of the extension
 * module. lanewise/cuda.py gives them their public names. */
#ifndef LW_PY_CUDA_PY_H
#define LW_PY_CUDA_PY_H

#include <Python.h>

#include "core/device/context.h"

/* A stream that we made, shared by its Stream object and by arrays. Whoever keeps a handle for
 * longer than a call keeps the stream. */
typedef struct lw_kept_stream lw_kept_stream;

/* That of a handle, for one more user; NULL: it is none of ours. */
lw_kept_stream *lw_stream_keep(CUstream handle);
/* The same one for another user; NULL is passed on. */
lw_kept_stream *lw_stream_keep_too(lw_kept_stream *kept);
void lw_stream_drop(lw_kept_stream *kept); /* NULL is allowed */
/* The `stream=` argument: None or 0 (the default stream), an int handle, our Stream, or any
 * object with __cuda_stream__. -1 with an exception. The legacy stream's handle 1 becomes 0. */
int lw_stream_read(PyObject *object, CUstream *out);
/* Whether work of this device can go there: -1 with ValueError for a Stream that was made on
 * another device. Whatever else it is is not known. */
int lw_stream_check(PyObject *object, const lw_device *device);
/* The Device object of a device (new reference; one per ordinal). */
PyObject *lw_device_object(lw_device *device);
/* The calling thread's device, entered. NULL with an exception. */
lw_device *lw_current_device(void);
/* The same, which must be of this compute capability (90; 0: any). */
lw_device *lw_current_device_of(int cc);

/* tp_new of types whose objects functions make: a TypeError that names the function. */
PyObject *lw_cuda_refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
/* A heap type into the module; *out is a new reference to it. */
int lw_cuda_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out);
/* Makes the module lanewise.cuda, as `cuda` of this one, with devices, contexts, streams and
 * events. -1 with an exception. */
int lw_cuda_register(PyObject *module);

#endif
