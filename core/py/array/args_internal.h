/* Shared by the files that read operands (args*.c) alone. */
#ifndef LW_PY_ARGS_INTERNAL_H
#define LW_PY_ARGS_INTERNAL_H

#include "core/py/array/args.h"
#include "core/py/array/dlpack_arrays.h"

/* ---- args_type.c: what a type is, names looked up at every call ---- */

typedef enum lw_args_class {
    LW_ARGS_PLAIN,     /* instances may still have the interface in their own dict */
    LW_ARGS_NOTHING,   /* str, list, …: certainly not */
    LW_ARGS_HOST,      /* ndarray's subclasses */
    LW_ARGS_SCALAR,    /* NumPy scalars */
    LW_ARGS_EXCHANGE,  /* DLPack's C exchange table */
    LW_ARGS_CUPY,      /* cupy.ndarray */
    LW_ARGS_DLPACK,    /* __dlpack__ and __dlpack_device__ */
    LW_ARGS_INTERFACE, /* __cuda_array_interface__ */
} lw_args_class;

typedef struct lw_args_row {
    PyTypeObject *type; /* owned, so that the address stays its own */
    lw_args_class class;
    lw_array_library library;
    const DLPackExchangeAPI *exchange;
    bool tells_contiguity;           /* CuPy's: it has _c_contiguous */
    uint8_t item_dtype, item_offset; /* of a scalar class of NumPy's own; offset 0: another */
} lw_args_row;

#define LW_ARGS_ATTRS(X)                                                                       \
    X(is_cuda)                                                                                 \
    X(requires_grad)                                                                           \
    X(is_conj)                                                                                 \
    X(is_neg)                                                                                  \
    X(data)                                                                                    \
    X(dtype)                                                                                   \
    X(ptr)                                                                                     \
    X(device_id)                                                                               \
    X(ndim)                                                                                    \
    X(size)                                                                                    \
    X(shape)                                                                                   \
    X(strides)                                                                                 \
    X(_c_contiguous)                                                                           \
    X(_init)                                                                                   \
    X(get_current_stream)

typedef enum lw_args_attr {
#define X(name) LW_ATTR_##name,
    LW_ARGS_ATTRS(X)
#undef X
        LW_N_ATTRS
} lw_args_attr;

/* Borrowed, until the next type is asked for. */
const lw_args_row *lw_args_type(PyTypeObject *type);
const char *lw_args_name_text(lw_args_attr id);
PyObject *lw_args_name(lw_args_attr id); /* borrowed */
/* New reference, or NULL with an exception. */
PyObject *lw_args_get(PyObject *object, lw_args_attr id);

/* ---- args.c; all readers: -1 with an exception ---- */

/* retain: the operand must outlive the call, so that a borrowed tensor does not do. */
int lw_args_read(lw_operand *out, PyObject *object, bool retain);
int lw_args_read_host(lw_operand *out, PyObject *object);

/* ---- args_interface.c ---- */

/* field: for the message that the interface's entry must be an int. */
int lw_args_int64(PyObject *object, const char *field, int64_t *out);
/* An AttributeError means that it is no device array after all. */
int lw_args_read_interface(lw_operand *out, PyObject *object);

/* ---- args_library.c ---- */

/* A module that must be loaded: borrowed; NULL with RuntimeError. */
PyObject *lw_args_module(const char *name);
/* Says that numpy.asarray decides; 0. */
int lw_args_not_ours(lw_operand *out);
int lw_args_read_cupy(lw_operand *out, PyObject *object);
int lw_args_read_exchange(lw_operand *out, PyObject *object, const lw_args_row *row,
                          bool retain);
int lw_args_read_dlpack(lw_operand *out, PyObject *object);
/* The type of __dlpack_device__. */
int lw_args_dlpack_device(PyObject *object, int *type);

#endif
