/* What the files of DeviceArray share:
 *
 *   device_array.c          the object: making, dropping, streams, attributes, the type
 *   device_array_copy.c     contents: to and from the host, between arrays, filling
 *   device_array_methods.c  methods that give or take contents
 *   device_array_index.c    a[…], a[…] = …, iteration
 *   device_array_shape.c    views of another shape: reshape, transpose, squeeze, view
 *   device_array_ops.c      operators, __array_ufunc__, printing
 *   device_array_elements.c a[array], a[array] = number, in the common forms
 *   device_array_service.c  what is written in Python: subscripts with arrays, sorting */
#ifndef LW_PY_DEVICE_ARRAY_INTERNAL_H
#define LW_PY_DEVICE_ARRAY_INTERNAL_H

#include "core/py/array/convert.h"
#include "core/py/raise.h"

/* A layout by itself, while a view is being computed. */
typedef struct lw_array_layout {
    int ndim;
    int64_t offset; /* bytes from the array's element 0 */
    int64_t shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
} lw_array_layout;

/* ---- device_array.c ---- */
/* Raise what err holds; returns -1. */
int lw_array_fail(lw_error *err);
/* A view with another dtype: descr is borrowed. */
lw_device_array *lw_array_view_as(lw_device_array *array, CUdeviceptr data, lw_dtype dtype,
                                  PyArray_Descr *descr, const lw_array_layout *layout);
lw_device_array *lw_array_view_layout(lw_device_array *array, const lw_array_layout *layout);
/* The stream to work on: what `stream` says (NULL, None, 0: where the array was last used). */
int lw_array_stream(lw_device_array *array, PyObject *stream, CUstream *out);
/* Room in *end exactly when all bytes between the lowest and the highest belong to the array,
 * each once; gives the lowest byte's offset from element 0. */
bool lw_array_is_dense(const lw_device_array *array, int64_t *low);
int64_t lw_array_n_bytes(const lw_device_array *array);

/* ---- device_array_copy.c ---- */
/* to[...] = value (a device array, a host array or anything numpy.asarray takes). */
int lw_array_assign(lw_device_array *to, PyObject *value, PyObject *stream);
/* One item on the host (waits); item has room for itemsize bytes. */
PyObject *lw_array_item(lw_device_array *array);
/* Contents into `host`, of the same shape and dtype. */
int lw_array_copy_out(lw_device_array *array, PyArrayObject *host, CUstream stream, bool wait);
/* Anything as an ndarray of to's dtype; casting is NumPy's assignment casting. */
PyArrayObject *lw_array_host_value(lw_device_array *to, PyObject *value);
/* to[...] = one item of to's dtype. */
int lw_array_fill(lw_device_array *to, const char *item, CUstream stream);
/* to[...] = from[...] of the same shape, with a cast where the dtypes differ. */
int lw_array_copy_same_shape(lw_device_array *to, lw_device_array *from, CUstream stream);
/* Whether the bytes between first and last element of one meet those of the other. */
bool lw_arrays_overlap(lw_device_array *a, lw_device_array *b);

/* ---- device_array_methods.c ---- */
extern PyMethodDef lw_array_copy_methods[];

/* ---- device_array_index.c ---- */
PyObject *lw_array_subscript(PyObject *self, PyObject *key);
int lw_array_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
PyObject *lw_array_sq_item(PyObject *self, Py_ssize_t i);
Py_ssize_t lw_array_length(PyObject *self);
PyObject *lw_array_iter(PyObject *self);
extern PyMethodDef lw_array_index_methods[];

/* ---- device_array_shape.c ---- */
extern PyMethodDef lw_array_shape_methods[];
PyObject *lw_array_get_transposed(PyObject *self, void *closure);

/* ---- device_array_reduce.c ---- */
extern PyMethodDef lw_array_reduce_methods[];
/* ufunc.reduce(array) or accumulate(array) where a method of the array does the same: args as
 * of
 * __array_ufunc__. NULL without an exception: there is more to it. */
PyObject *lw_array_reduce_by(PyObject *ufunc, PyObject *name, PyObject *args, PyObject *kwargs);

/* ---- device_array_elements.c ---- */

/* Borrowed; NULL with an exception. */
PyObject *lw_array_kernel(lw_array_kernel_name which);
/* x[key] for an array of integers, or a mask; NULL without an exception: it is left to Python's
 * code. */
PyObject *lw_array_take_quickly(lw_device_array *x, PyObject *key);
/* As numpy.take with an array of integers; axis may be NULL. */
PyObject *lw_array_take_flat(lw_device_array *x, PyObject *key, PyObject *axis);
/* x[key] = value for one number: 1; 0: it is left; -1 with an exception. */
int lw_array_fill_quickly(lw_device_array *x, PyObject *key, PyObject *value);

/* ---- device_array_service.c ---- */
/* Whether a subscript, or a tuple of them, gives a view: no array, list or bool. */
bool lw_array_key_is_basic(PyObject *key);
/* self[key] and self[key] = value for all others. */
PyObject *lw_array_take(PyObject *self, PyObject *key);
int lw_array_put(PyObject *self, PyObject *key, PyObject *value);
/* copy_to_host(record): writes the fields of an np.void or np.record, which it returns. */
PyObject *lw_array_to_record(PyObject *self, PyObject *record, PyObject *stream);
PyObject *lw_array_get_real(PyObject *self, void *closure);
PyObject *lw_array_get_imag(PyObject *self, void *closure);
int lw_array_set_real(PyObject *self, PyObject *value, void *closure);
int lw_array_set_imag(PyObject *self, PyObject *value, void *closure);
/* An attribute that Python computes; closure: its name. */
PyObject *lw_array_get_service(PyObject *self, void *closure);
/* a.item(*index): an element as a Python number. */
PyObject *lw_array_item_at(PyObject *self, PyObject *index);
/* value in self: whether an element equals it; -1 with an exception. Waits for the device. */
int lw_array_contains(PyObject *self, PyObject *value);
/* self == other or self != other for what no element equals: None, texts. */
PyObject *lw_array_unlike(PyObject *self, PyObject *other, bool equal);
/* The same of an operand whose dtype has no common one with self's; None of others. */
PyObject *lw_array_without_common_type(PyObject *self, PyObject *other, bool equal);
extern PyMethodDef lw_array_service_methods[];

/* ---- device_array_ops.c ---- */
extern PyMethodDef lw_array_ops_methods[];
extern PyType_Slot lw_array_ops_slots[];
PyObject *lw_array_repr(PyObject *self);
PyObject *lw_array_str(PyObject *self);

#endif
