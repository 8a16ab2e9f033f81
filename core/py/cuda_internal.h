/* What the files behind lanewise.cuda share:
 *
 *   cuda_py.c      devices, contexts, and their functions
 *   cuda_arrays.c  the functions that make device arrays
 *   cuda_stream.c  Stream and Event
 *   cuda_host.c    page-locked, mapped and managed host arrays */
#ifndef LW_PY_CUDA_INTERNAL_H
#define LW_PY_CUDA_INTERNAL_H

#include "core/py/convert.h"
#include "core/py/cuda_py.h"
#include "core/py/raise.h"

/* A heap type into the module; *out keeps a reference for the life of the process. */
int lw_cuda_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out);

#define LW_CUDA_KEYWORDS(function)                                                             \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

/* ---- cuda_arrays.c ---- */
extern PyMethodDef lw_cuda_array_functions[];
/* ---- cuda_stream.c ---- */
int lw_cuda_stream_register(PyObject *module);
extern PyMethodDef lw_cuda_stream_functions[];
/* ---- cuda_host.c ---- */
int lw_cuda_host_register(PyObject *module);
extern PyMethodDef lw_cuda_host_functions[];

#endif
