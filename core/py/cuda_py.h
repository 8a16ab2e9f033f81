/* lanewise.cuda: devices, streams, events and memory, as functions and types of the extension
 * module. lanewise/cuda.py gives them their public names. */
#ifndef LW_PY_CUDA_PY_H
#define LW_PY_CUDA_PY_H

#include "core/py/args.h"

/* The Stream object behind an owned handle (borrowed), or NULL: whoever keeps the handle for
 * longer than a call keeps the object. */
PyObject *lw_stream_owner(CUstream handle);
/* Whether it is our Stream; then *out is its handle. */
bool lw_stream_of(PyObject *object, CUstream *out);
/* Our own array over the memory of an array of cuda.mapped_array or cuda.managed_array, which
 * keeps it alive and knows the stream of its last use (new reference). NULL: the object is
 * none, or an exception is set. */
lw_device_array *lw_mapped_as_array(PyObject *object);
/* The Device object of a device (new reference; one per ordinal). */
PyObject *lw_device_object(lw_device *device);
/* The calling thread's device, entered. NULL with an exception. */
lw_device *lw_current_device(void);
/* The same, which must be of this compute capability (90; 0: any). */
lw_device *lw_current_device_of(int cc);

/* Stream, Event and the functions of the default face. -1 with an exception. */
int lw_cuda_register(PyObject *module);

#endif
