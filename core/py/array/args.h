/* Reading operands: what any Python object means as an argument of a kernel. Own arrays cost a
 * pointer comparison; PyTorch goes through DLPack's C exchange table, CuPy through its
 * attributes, everything else through __dlpack__ or __cuda_array_interface__. All that a
 * foreign object claims is checked (shape, strides, type, version, reach); that its address is
 * device memory cannot be checked cheaply and is believed. Nothing is copied and the host never
 * waits.
 *
 *     lw_operand operand;
 *     if (lw_operand_read(&operand, object) < 0) -> exception set, nothing to release
 *     …
 *     lw_operand_release(&operand);
 *
 * The GIL is held throughout. An operand must not move in memory after it was read. */
#ifndef LW_PY_ARGS_H
#define LW_PY_ARGS_H

#include "core/base/memory_span.h"
#include "core/py/array/device_array.h"

typedef enum lw_operand_kind {
    LW_OPERAND_DEVICE,  /* an array in device memory */
    LW_OPERAND_HOST,    /* an ndarray (exactly, or a subclass) */
    LW_OPERAND_INT,     /* exactly int: weak */
    LW_OPERAND_FLOAT,   /* exactly float: weak */
    LW_OPERAND_COMPLEX, /* exactly complex: weak */
    LW_OPERAND_SCALAR,  /* bool or a NumPy scalar: strong; `value` holds it */
    LW_OPERAND_OTHER    /* anything else: numpy.asarray decides */
} lw_operand_kind;

typedef enum lw_array_library {
    LW_LIB_NONE, /* not a device operand */
    LW_LIB_OWN,
    LW_LIB_TORCH,
    LW_LIB_CUPY,
    LW_LIB_NUMBA,
    LW_LIB_JAX,
    LW_LIB_OTHER /* some exporter of __cuda_array_interface__ or __dlpack__ */
} lw_array_library;

typedef union lw_value { /* one item, as in memory */
    uint8_t bytes[16];
    int64_t i64;
    uint64_t u64;
    double f64;
    double c128[2];
} lw_value;

typedef struct lw_operand {
    uint8_t kind;    /* lw_operand_kind */
    uint8_t library; /* lw_array_library */
    /* lw_dtype; for weak scalars i64, u64, f64, c128; LW_DT_void: none of ours */
    uint8_t dtype;
    bool readonly, c_contiguous;
    /* as of lw_device_array; false once an aligned copy stands for the array */
    bool misaligned;
    bool written; /* set by who calls: what an aligned copy holds goes back behind the launch */
    bool ordered; /* work on `stream` is not yet known to be over: order behind it */
    bool big;     /* LW_OPERAND_INT beyond int64 and uint64: no value */
    int ndim;     /* arrays only, as all that follows */
    int64_t size;
    int64_t itemsize;
    CUdeviceptr data; /* device */
    CUstream stream;  /* the producer's */
    lw_device *device;
    /* ndim elements; may point into the own array's object or into dims */
    const int64_t *shape;
    const int64_t *strides; /* bytes */
    PyObject *object;       /* borrowed: the argument */
    PyArray_Descr *descr;   /* borrowed from object for HOST and own arrays; NULL for others */
    lw_value value;         /* scalars */
    /* our own array that stands for the object: a mapped array's memory, an aligned copy; NULL:
     * none; owned */
    lw_device_array *own;
    /* internal */
    lw_device_array *original; /* what `own` is an aligned copy of, or NULL; owned */
    void (*release)(struct lw_operand *self); /* NULL: nothing to give back */
    void *keep;
    int64_t *heap;
    PyArray_Descr *owned_descr;
    int64_t dims[2 * LW_INLINE_DIMS];
} lw_operand;

/* At import: names that are looked up at calls. -1 with an exception. */
int lw_args_names_make(void);
/* -1 with TypeError, ValueError or BufferError set. A misaligned array is copied to aligned
 * memory, which then is the operand: kernels load and store whole items. Who writes to it sets
 * `written` before the launch, and lw_operand_done copies it back. */
int lw_operand_read(lw_operand *out, PyObject *object);
/* The same for who reads no elements: a misaligned array is not copied. */
int lw_operand_look(lw_operand *out, PyObject *object);
/* `copy` stands for the operand's array from now on, which it gives back. original: where what
 * is written goes back to, or NULL. Steals both arrays. */
void lw_operand_replace(lw_operand *operand, lw_device_array *original, lw_device_array *copy);
/* An argument of a call, for a message: "argument 2", "argument `x`", "out=". */
typedef struct lw_located {
    const char *what;
    const lw_device *device;
} lw_located;

/* ValueError: the arrays of one call are on several devices. Gives -1. */
int lw_operand_refuse_devices(const char *function, lw_located first, lw_located other);
/* For readers: ValueError and -1 where the claimed layout reaches beyond the address space.
 * Sets c_contiguous and misaligned; strides of extents of 1 are made harmless. */
int lw_operand_check(lw_operand *operand);
/* Give back what a foreign exporter lent; may be called once after each good read. */
void lw_operand_release(lw_operand *operand);
/* The addresses that a device array covers. */
lw_memory_span lw_operand_span(const lw_operand *operand);
/* Whether this could be a device array: a cheap test without reading. Never raises. */
bool lw_is_device_operand(PyObject *object);
/* Whether it is an array of numpy.ma, whose mask compiled code would not see. -1: an exception
 * is set. */
int lw_is_masked_array(PyObject *object);
/* Whether it is an array of PyTorch or CuPy, which are read without calling Python's code. */
bool lw_is_read_directly(PyObject *object);
/* An array type that we read ourselves, whatever override it brings for NumPy's ufuncs. */
bool lw_is_known_library(PyObject *object);

/* Order work on `stream` behind the producer's. Own arrays: lw_device_array_use. */
lw_status lw_operand_use(lw_operand *operand, CUstream stream, lw_error *err);
/* After work that used an operand was given to a stream: an aligned copy that was written goes
 * back, and where the operand is another library's and the stream another than its own, the
 * producer's stream waits for it. */
lw_status lw_operand_done(lw_operand *operand, CUstream stream, lw_error *err);

/* Whether it is a number of one of NumPy's own scalar classes, and which. Never raises. */
bool lw_scalar_read(PyObject *object, lw_dtype *dtype, lw_value *out);

/* The value of a scalar operand as an item of `dtype`, by NumPy 2's rules: a weak int that does
 * not fit an integer type is an OverflowError. -1 with an exception. */
int lw_operand_item(const lw_operand *operand, lw_dtype dtype, lw_value *out);

/* Turn a result into an array of the library of `first` (the first device operand), sharing the
 * memory. Steals result, also when it fails. */
PyObject *lw_result_wrap(const lw_operand *first, lw_device_array *result);

/* A view of any device operand as our own array (new reference); keeps the exporter alive. */
lw_device_array *lw_operand_as_array(PyObject *object);
/* The array that a device operand's data, shape and strides are of (new reference): as above,
 * or the one that stands for the object. */
lw_device_array *lw_operand_array(const lw_operand *operand);

/* The same of a DLPack exporter or capsule alone. */
lw_device_array *lw_array_from_dlpack(PyObject *object);

/* Whether a class has that attribute, and not as None. Never raises. */
bool lw_args_type_has(PyTypeObject *type, const char *name);

#endif
