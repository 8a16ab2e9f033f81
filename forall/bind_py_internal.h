/* What the files of binding share: one walk over the arguments of a call, which lw_bind starts.
 * Functions that return an int return -1 with an exception. */
#ifndef LW_FORALL_BIND_PY_INTERNAL_H
#define LW_FORALL_BIND_PY_INTERNAL_H

#include "core/py/numpy_api.h"

#include "core/py/object_shape.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"

#include <string.h>

typedef struct lw_binder {
    const lw_function *self;
    lw_bound *bound;
    uint32_t arg;
    int depth;
    PyObject *field; /* borrowed: the field of an object that is being read, or NULL */
} lw_binder;

/* ---- bind_py.c ---- */
/* Doubles the capacity, in the heap; -1 with MemoryError. */
int lw_bind_grow(void **data, const void *store, uint32_t *most, size_t size);
/* The parts of a number of this dtype, with LW_KEY_SCALAR or LW_KEY_WEAK. */
int lw_bind_number(lw_binder *r, uint8_t tag, lw_dtype dtype, const void *value);
/* An argument, or an item of one. */
int lw_bind_any(lw_binder *r, PyObject *object);

/* ---- bind_arrays_py.c ---- */
/* A DeviceArray; a NumPy array; an array of another library, as lw_operand_read has read it. */
int lw_bind_own(lw_binder *r, lw_device_array *array);
int lw_bind_host(lw_binder *r, PyArrayObject *array);
int lw_bind_foreign(lw_binder *r, lw_operand *operand);
/* An int, the address that `object` stands for, as an array that never ends of what `pointer`
 * points to. */
int lw_bind_address(lw_binder *r, PyObject *object, PyObject *address,
                    const lw_arg_spec *pointer);
/* An array of the host that is not NumPy's: its view lives as long as the bound call. */
int lw_bind_foreign_host(lw_binder *r, PyObject *object);
/* An np.void. */
int lw_bind_record(lw_binder *r, PyObject *object);

/* ---- bind_objects_py.c ---- */
/* A value that the call uses while it runs: the object may be given another one meanwhile. */
int lw_bind_hold(lw_bound *bound, PyObject *value);
/* Their items, or the fields of an object of this shape. */
int lw_bind_tuple(lw_binder *r, PyObject *tuple);
/* A list given to a function that is called on the host: its items, as they are now, for other
 * threads may change it meanwhile, and its length, too. */
int lw_bind_list(lw_binder *r, PyObject *list);
/* Whether lw_bind_list takes it. A longer one would be slow to compile, once for each length.
 */
bool lw_bind_is_short_list(const lw_binder *r, PyObject *object);
int lw_bind_object(lw_binder *r, PyObject *object, const lw_object_shape *shape);

/* ---- bind_refuse_py.c ---- */
/* The parameter that is being bound, and that of the first array. */
const char *lw_bind_name(const lw_binder *r);
const char *lw_bind_first_name(const lw_binder *r);
/* "why" is all that is said after the argument's name. */
int lw_bind_refuse_layout(const lw_binder *r, const char *why);
/* TypeError for a typed list or dict without a type: each function would choose one. */
int lw_bind_refuse_untyped(const lw_binder *r, const lw_object_shape *container);
/* An object that is no argument. */
int lw_bind_refuse(const lw_binder *r, PyObject *object);
/* Refuses arrays of numpy.ma, whose mask would be lost. */
int lw_bind_refuse_masked(const lw_binder *r, PyObject *object);
/* An array of a dtype that compiled code does not know. */
int lw_bind_refuse_dtype(const lw_binder *r, PyArray_Descr *descr);
/* Host and device arrays in one call. host_now: the one that is being bound is on the host. */
int lw_bind_refuse_mixed(const lw_binder *r, bool host_now);
/* n arguments, which are too few or too many. */
int lw_bind_refuse_count(const lw_function *self, Py_ssize_t n);
/* The value of field i, which is not of the registered type. */
int lw_bind_refuse_registered(const lw_binder *r, const lw_object_shape *shape, Py_ssize_t i,
                              PyObject *value);

/* ---- bytes of the key, and values ---- */

static inline int
lw_bind_key(lw_bound *b, const void *bytes, uint32_t n)
{
    if (b->n_key + n > b->most_key &&
        lw_bind_grow((void **)&b->key, b->key_store, &b->most_key, 1) < 0)
        return -1;
    memcpy(b->key + b->n_key, bytes, n);
    b->n_key += n;
    return 0;
}

static inline int
lw_bind_value(lw_bound *b, uint64_t value)
{
    if (b->n_values == b->most_values && lw_bind_grow((void **)&b->values, b->value_store,
                                                      &b->most_values, sizeof *b->values) < 0)
        return -1;
    b->values[b->n_values++] = value;
    return 0;
}

#endif
