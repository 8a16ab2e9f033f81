#include "core/py/array/dlpack_arrays.h"

#include "core/py/array/convert.h"
#include "core/py/raise.h"

#include "core/base/memory.h"
#include "core/base/memory_span.h"

#include <string.h>

/* The newest minor version whose rules we keep: strides are never NULL (1.2). */
#define LW_DL_MINOR 2u

static const char NAME_OLD[] = "dltensor", NAME_OLD_USED[] = "used_dltensor";
static const char NAME_NEW[] = "dltensor_versioned",
                  NAME_NEW_USED[] = "used_dltensor_versioned";

/* ---- reading a tensor ---- */

static lw_dtype
dtype_of(const DLTensor *tensor)
{
    static const lw_kind kinds[] = {[kDLInt] = LW_KIND_INT,
                                    [kDLUInt] = LW_KIND_UINT,
                                    [kDLFloat] = LW_KIND_FLOAT,
                                    [kDLComplex] = LW_KIND_COMPLEX,
                                    [kDLBool] = LW_KIND_BOOL};

    if (tensor->dtype.lanes != 1)
        return LW_DT_void;
    if (tensor->dtype.code == kDLBfloat)
        return tensor->dtype.bits == 16 ? LW_DT_bf16 : LW_DT_void;
    if (tensor->dtype.code >= sizeof kinds / sizeof kinds[0] ||
        kinds[tensor->dtype.code] == LW_KIND_VOID)
        return LW_DT_void;
    for (int d = LW_DT_b1; d <= LW_DT_c128; d++)
        if (lw_dtypes[d].kind == kinds[tensor->dtype.code] &&
            lw_dtypes[d].bits == tensor->dtype.bits && d != LW_DT_bf16)
            return (lw_dtype)d;
    return LW_DT_void;
}

static int
bad(const char *what)
{
    PyErr_Format(PyExc_BufferError, "DLPack tensor: %s", what);
    return -1;
}

static int
check_head(const DLTensor *tensor)
{
    if (tensor->ndim < 0 || tensor->ndim > LW_MAX_DIMS) {
        PyErr_Format(PyExc_BufferError, "DLPack tensor: ndim must be 0 to %d, got %d",
                     LW_MAX_DIMS, (int)tensor->ndim);
        return -1;
    }
    if (tensor->ndim > 0 && tensor->shape == NULL)
        return bad("shape is NULL");
    if (dtype_of(tensor) == LW_DT_void) {
        PyErr_Format(PyExc_BufferError,
                     "DLPack tensor: type code %d with %d bits and %d lanes is not supported",
                     tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
        return -1;
    }
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] < 0)
            return bad("negative extent");
    return 0;
}

/* Strides in bytes; those of extents of 1 and of empty tensors mean nothing and may be odd. */
static int
read_strides(const DLTensor *tensor, int64_t itemsize, int64_t *out)
{
    if (tensor->strides == NULL) {
        lw_layout_fill(tensor->ndim, tensor->shape, itemsize, 'C', out);
        return 0;
    }
    for (int i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(tensor->strides[i], itemsize, &out[i])) {
            if (tensor->shape[i] > 1)
                return bad("a stride is beyond 2**63 - 1 bytes");
            out[i] = itemsize;
        }
    return 0;
}

int
lw_dlpack_read_tensor(lw_operand *out, const DLTensor *tensor)
{
    int64_t n_bytes, *dims = out->dims;
    lw_dtype dtype;

    if (check_head(tensor) < 0)
        return -1;
    dtype = dtype_of(tensor);
    if (tensor->ndim > LW_INLINE_DIMS) {
        dims = out->heap = lw_alloc(2 * (size_t)tensor->ndim * sizeof *dims);
        if (dims == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    out->kind = LW_OPERAND_DEVICE;
    out->dtype = (uint8_t)dtype;
    out->itemsize = lw_dtypes[dtype].size_bytes;
    out->ndim = tensor->ndim;
    out->shape = dims;
    out->strides = dims + tensor->ndim;
    if (tensor->ndim > 0)
        memcpy(dims, tensor->shape, (size_t)tensor->ndim * sizeof *dims);
    if (!lw_shape_size(out->ndim, dims, out->itemsize, &out->size, &n_bytes))
        return bad("its bytes exceed 2**63 - 1");
    if (read_strides(tensor, out->itemsize, dims + tensor->ndim) < 0)
        return -1;
    out->data = (CUdeviceptr)(uintptr_t)tensor->data + tensor->byte_offset;
    if (tensor->data != NULL && out->data < tensor->byte_offset)
        return bad("byte_offset leaves the address space");
    if (tensor->data == NULL && out->size > 0)
        return bad("data is NULL");
    return lw_operand_check(out);
}

/* ---- capsules ---- */

static void
release_versioned(lw_operand *operand)
{
    DLManagedTensorVersioned *managed = operand->keep;

    if (managed != NULL && managed->deleter != NULL)
        managed->deleter(managed);
}

static void
release_old(lw_operand *operand)
{
    DLManagedTensor *managed = operand->keep;

    if (managed != NULL && managed->deleter != NULL)
        managed->deleter(managed);
}

int
lw_dlpack_find_device(lw_operand *out, const DLTensor *tensor)
{
    lw_error err = {0};
    int n = 0;

    if (tensor->device.device_id >= 0 &&
        lw_device_get(tensor->device.device_id, &out->device, &err) == LW_OK)
        return 0;
    if (tensor->device.device_id < 0 ||
        (lw_device_count(&n, NULL) == LW_OK && n > 0 && tensor->device.device_id >= n)) {
        lw_error_reset(&err);
        PyErr_Format(PyExc_BufferError,
                     "DLPack tensor: there is no CUDA device %d; the devices of this machine "
                     "are numbered from 0",
                     (int)tensor->device.device_id);
        return -1;
    }
    (void)lw_py_raise(&err);
    return -1;
}

/* Whose memory a capsule's tensor is in: a check for each of the two consumers. */
typedef int (*device_check)(lw_operand *out, const DLTensor *tensor);

static int
check_device(lw_operand *out, const DLTensor *tensor)
{
    if (tensor->device.device_type == kDLCUDA || tensor->device.device_type == kDLCUDAManaged)
        return lw_dlpack_find_device(out, tensor);
    PyErr_Format(PyExc_BufferError,
                 "DLPack tensor: expected device type %d (CUDA) or %d (CUDA managed), got %d",
                 kDLCUDA, kDLCUDAManaged, (int)tensor->device.device_type);
    return -1;
}

/* The host has no ordinals: device_id means nothing. */
static int
check_host(lw_operand *Py_UNUSED(out), const DLTensor *tensor)
{
    if (lw_dlpack_on_host(tensor->device.device_type))
        return 0;
    PyErr_Format(PyExc_BufferError,
                 "DLPack tensor: expected device type %d (CPU) or %d (CUDA host), got %d",
                 kDLCPU, kDLCUDAHost, (int)tensor->device.device_type);
    return -1;
}

static int
read_versioned(lw_operand *out, PyObject *capsule, device_check check)
{
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, NAME_NEW);

    if (managed == NULL)
        return -1;
    if (managed->version.major != 1) {
        PyErr_Format(PyExc_BufferError, "DLPack version %u.%u is not supported, only 1.x",
                     (unsigned)managed->version.major, (unsigned)managed->version.minor);
        return -1;
    }
    if (check(out, &managed->dl_tensor) < 0 ||
        lw_dlpack_read_tensor(out, &managed->dl_tensor) < 0 ||
        PyCapsule_SetName(capsule, NAME_NEW_USED) < 0)
        return -1;
    out->readonly = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    out->keep = managed;
    out->release = release_versioned;
    return 0;
}

static int
read_capsule(lw_operand *out, PyObject *capsule, device_check check)
{
    DLManagedTensor *managed;

    if (!PyCapsule_CheckExact(capsule)) {
        PyErr_Format(PyExc_TypeError, "expected a DLPack capsule, got %.200s",
                     Py_TYPE(capsule)->tp_name);
        return -1;
    }
    if (PyCapsule_IsValid(capsule, NAME_NEW))
        return read_versioned(out, capsule, check);
    if (!PyCapsule_IsValid(capsule, NAME_OLD)) {
        const char *name = PyCapsule_GetName(capsule);
        PyErr_Format(PyExc_BufferError,
                     "expected a capsule named \"dltensor\" or \"dltensor_versioned\" that was "
                     "not consumed before, got \"%.100s\"",
                     name != NULL ? name : "");
        return -1;
    }
    managed = PyCapsule_GetPointer(capsule, NAME_OLD);
    if (managed == NULL || check(out, &managed->dl_tensor) < 0 ||
        lw_dlpack_read_tensor(out, &managed->dl_tensor) < 0 ||
        PyCapsule_SetName(capsule, NAME_OLD_USED) < 0)
        return -1;
    out->keep = managed;
    out->release = release_old;
    return 0;
}

int
lw_dlpack_read_capsule(lw_operand *out, PyObject *capsule)
{
    return read_capsule(out, capsule, check_device);
}

/* object.__dlpack__(stream=1, max_version=(1, 2)): the producer orders the legacy stream behind
 * its work; the host has no streams. Exporters from before DLPack 1.0 do not know max_version.
 */
static PyObject *
ask_for_capsule(PyObject *object, bool on_host)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *args = NULL,
             *kwargs = NULL;
    PyObject *capsule = NULL;

    if (method != NULL)
        args = PyTuple_New(0);
    if (args != NULL)
        kwargs = Py_BuildValue("{s:(ii)}", "max_version", 1, (int)LW_DL_MINOR);
    if (kwargs != NULL && !on_host) {
        PyObject *legacy = PyLong_FromLong(1);
        if (legacy == NULL || PyDict_SetItemString(kwargs, "stream", legacy) < 0)
            Py_CLEAR(kwargs);
        Py_XDECREF(legacy);
    }
    if (kwargs != NULL)
        capsule = PyObject_Call(method, args, kwargs);
    if (capsule == NULL && kwargs != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(kwargs, "max_version") == 0)
            capsule = PyObject_Call(method, args, kwargs);
    }
    Py_XDECREF(method);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return capsule;
}

int
lw_dlpack_read_object(lw_operand *out, PyObject *object)
{
    PyObject *capsule = ask_for_capsule(object, false);
    int result;

    if (capsule == NULL)
        return -1;
    result = lw_dlpack_read_capsule(out, capsule);
    Py_DECREF(capsule); /* an unconsumed capsule frees its tensor itself */
    out->stream = NULL;
    out->ordered = true;
    return result;
}

/* ---- tensors in the host's memory ---- */

/* Addresses of a process lie below this; x86-64 gives higher ones only to who asks for them. */
#if defined(__x86_64__)
enum { HOST_ADDRESS_BITS = 47 };
#else
enum { HOST_ADDRESS_BITS = 56 };
#endif

static int
check_span(const lw_operand *operand)
{
    lw_memory_span span = lw_memory_span_of(operand->ndim, operand->shape, operand->strides,
                                            operand->itemsize, operand->data);

    return span.high >> HOST_ADDRESS_BITS ? bad("it reaches beyond the address space") : 0;
}

static void
lent_dropped(PyObject *capsule)
{
    lw_operand *operand = PyCapsule_GetPointer(capsule, "lanewise.operand");

    lw_operand_release(operand);
    lw_free(operand);
}

/* Steals operand, which is in the heap. A capsule from before DLPack 1.0 cannot say whether it
 * may be written: its array is read-only, as NumPy's. */
static PyObject *
host_array_over(lw_operand *operand)
{
    bool writable = operand->release == release_versioned && !operand->readonly;
    PyArray_Descr *descr = lw_descr_of((lw_dtype)operand->dtype);
    PyObject *lent = PyCapsule_New(operand, "lanewise.operand", lent_dropped), *array;

    if (lent == NULL) {
        lw_operand_release(operand);
        lw_free(operand);
        return NULL;
    }
    Py_INCREF(descr);
    array = PyArray_NewFromDescr(&PyArray_Type, descr, operand->ndim, operand->shape,
                                 operand->strides, (void *)(uintptr_t)operand->data,
                                 NPY_ARRAY_WRITEABLE, NULL);
    if (array != NULL && !writable) /* NumPy ignores the flag above for empty arrays at NULL */
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    if (array == NULL)
        Py_DECREF(lent);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, lent) < 0) /* steals lent */
        Py_CLEAR(array);
    return array;
}

PyObject *
lw_dlpack_host_array(PyObject *object)
{
    lw_operand *operand = lw_alloc_zero(1, sizeof *operand);
    PyObject *capsule;
    int result;

    if (operand == NULL)
        return PyErr_NoMemory();
    capsule = ask_for_capsule(object, true);
    result = capsule != NULL ? read_capsule(operand, capsule, check_host) : -1;
    Py_XDECREF(capsule);
    if (result == 0 && check_span(operand) == 0)
        return host_array_over(operand);
    lw_operand_release(operand);
    lw_free(operand);
    return NULL;
}

/* ---- C exchange tables of other libraries ---- */

const DLPackExchangeAPI *
lw_dlpack_exchange(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
    const DLPackExchangeAPI *table = NULL;

    if (capsule == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (PyCapsule_CheckExact(capsule) && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule); /* the table is static, by the protocol */
    while (table != NULL && table->header.version.major > 1)
        table = (const DLPackExchangeAPI *)table->header.prev_api;
    if (table != NULL && (table->header.version.major != 1 ||
                          table->managed_tensor_from_py_object_no_sync == NULL ||
                          table->managed_tensor_to_py_object_no_sync == NULL ||
                          table->current_work_stream == NULL))
        table = NULL;
    return table;
}

/* ---- export ---- */

typedef struct exported {
    DLManagedTensorVersioned managed;
    DLManagedTensor old;
    PyObject *array;
    int64_t dims[]; /* shape, then strides in elements */
} exported;

static void
drop_exported(exported *self)
{
    PyGILState_STATE gil;

    if (!Py_IsInitialized()) /* at exit others may let go last: the process ends anyway */
        return;
    gil = PyGILState_Ensure();
    Py_DECREF(self->array);
    PyGILState_Release(gil);
    lw_free(self);
}

static void
delete_versioned(DLManagedTensorVersioned *self)
{
    drop_exported(self->manager_ctx);
}

static void
delete_old(DLManagedTensor *self)
{
    drop_exported(self->manager_ctx);
}

static int
fill_type(lw_device_array *array, DLTensor *tensor)
{
    static const uint8_t codes[] = {[LW_KIND_BOOL] = kDLBool,
                                    [LW_KIND_INT] = kDLInt,
                                    [LW_KIND_UINT] = kDLUInt,
                                    [LW_KIND_FLOAT] = kDLFloat,
                                    [LW_KIND_COMPLEX] = kDLComplex};
    const lw_dtype_row *row = &lw_dtypes[array->dtype];

    if (array->dtype == LW_DT_void || lw_is_time((lw_dtype)array->dtype)) {
        PyErr_Format(PyExc_BufferError, "DLPack has no type for dtype %.200R",
                     (PyObject *)array->descr);
        return -1;
    }
    tensor->dtype.code = array->dtype == LW_DT_bf16 ? kDLBfloat : codes[row->kind];
    tensor->dtype.bits = (uint8_t)row->bits;
    tensor->dtype.lanes = 1;
    return 0;
}

static int
fill_tensor(lw_device_array *array, DLTensor *tensor, int64_t *dims)
{
    int64_t itemsize = array->itemsize;

    if (fill_type(array, tensor) < 0)
        return -1;
    if (array->misaligned)
        return bad("an array that is not aligned to its dtype cannot be expressed: copy() it");
    for (int i = 0; i < array->ndim; i++) {
        bool means = array->shape[i] > 1 && array->size > 0;
        if (means && array->strides[i] % itemsize != 0)
            return bad("strides that are not multiples of the item size cannot be expressed");
        dims[i] = array->shape[i];
        dims[array->ndim + i] = array->strides[i] / itemsize;
    }
    tensor->data = array->size > 0 ? (void *)(uintptr_t)array->data : NULL;
    tensor->device.device_type = kDLCUDA;
    tensor->device.device_id = array->device->ordinal;
    tensor->ndim = array->ndim;
    tensor->shape = dims;
    tensor->strides = dims + array->ndim;
    tensor->byte_offset = 0;
    return 0;
}

static exported *
export_array(lw_device_array *array)
{
    exported *self =
        lw_alloc_zero(1, sizeof *self + 2 * (size_t)array->ndim * sizeof self->dims[0]);

    if (self == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (fill_tensor(array, &self->managed.dl_tensor, self->dims) < 0) {
        lw_free(self);
        return NULL;
    }
    self->managed.version = (DLPackVersion){1, LW_DL_MINOR};
    self->managed.manager_ctx = self;
    self->managed.deleter = delete_versioned;
    self->managed.flags = array->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    self->old.dl_tensor = self->managed.dl_tensor;
    self->old.manager_ctx = self;
    self->old.deleter = delete_old;
    self->array = Py_NewRef((PyObject *)array);
    return self;
}

DLManagedTensorVersioned *
lw_dlpack_managed(lw_device_array *array)
{
    exported *self = export_array(array);

    return self != NULL ? &self->managed : NULL;
}

static void
capsule_dropped(PyObject *capsule)
{
    DLManagedTensorVersioned *managed;
    DLManagedTensor *old;

    if (PyCapsule_IsValid(capsule, NAME_NEW)) {
        managed = PyCapsule_GetPointer(capsule, NAME_NEW);
        managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, NAME_OLD)) {
        old = PyCapsule_GetPointer(capsule, NAME_OLD);
        old->deleter(old);
    }
}

/* stream=: None and 1 the legacy stream, 2 the per-thread one, a handle, -1 no ordering. */
static int
order_for(lw_device_array *array, PyObject *stream)
{
    long long handle = 1;
    lw_error err = {0};

    if (stream != Py_None) {
        if (!PyLong_Check(stream) || PyBool_Check(stream)) {
            PyErr_Format(PyExc_TypeError, "stream: expected an int or None, got %.200s",
                         Py_TYPE(stream)->tp_name);
            return -1;
        }
        handle = PyLong_AsLongLong(stream);
        if (handle == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            handle = -2;
        }
    }
    if (handle == -1)
        return 0;
    if (handle <= 0) {
        PyErr_Format(PyExc_ValueError,
                     "stream: expected None, -1, 1, 2 or a stream handle, got %.200R", stream);
        return -1;
    }
    if (lw_device_array_use(array, handle == 1 ? NULL : (CUstream)(intptr_t)handle, &err) ==
        LW_OK)
        return 0;
    (void)lw_py_raise(&err);
    return -1;
}

static int
version_major(PyObject *max_version, long *out)
{
    *out = 0;
    if (max_version == Py_None)
        return 0;
    if (!PyTuple_Check(max_version) || PyTuple_GET_SIZE(max_version) != 2 ||
        !PyLong_Check(PyTuple_GET_ITEM(max_version, 0)) ||
        !PyLong_Check(PyTuple_GET_ITEM(max_version, 1))) {
        PyErr_Format(PyExc_TypeError, "max_version: expected a tuple of two ints, got %.200R",
                     max_version);
        return -1;
    }
    *out = PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0));
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int
check_wish(lw_device_array *array, PyObject *dl_device)
{
    int type, id;

    if (dl_device == Py_None)
        return 0;
    if (!PyTuple_Check(dl_device) || !PyArg_ParseTuple(dl_device, "ii", &type, &id)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "dl_device: expected a tuple of two ints, got %.200R",
                     dl_device);
        return -1;
    }
    if (type == kDLCUDA && id == array->device->ordinal)
        return 0;
    PyErr_Format(PyExc_BufferError,
                 "dl_device: the array is on (%d, %d) and is exported there only, got (%d, %d)",
                 kDLCUDA, array->device->ordinal, type, id);
    return -1;
}

PyObject *
lw_dlpack_export(lw_device_array *array, PyObject *stream, PyObject *max_version,
                 PyObject *dl_device, PyObject *copy)
{
    lw_device_array *source = (lw_device_array *)Py_NewRef((PyObject *)array);
    PyObject *capsule = NULL;
    exported *self = NULL;
    long major;

    if (version_major(max_version, &major) < 0 || check_wish(array, dl_device) < 0)
        goto done;
    if (copy != Py_None && PyObject_IsTrue(copy) == 1) {
        Py_DECREF(source);
        source = lw_device_array_copy(array, 'C');
        if (source == NULL)
            return NULL;
    } else if (major < 1 && array->readonly) {
        PyErr_SetString(PyExc_BufferError,
                        "a read-only array needs DLPack 1.0: pass max_version=(1, 0)");
        goto done;
    }
    if (order_for(source, stream) < 0)
        goto done;
    self = export_array(source);
    if (self == NULL)
        goto done;
    if (source != array)
        self->managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    if (major >= 1)
        capsule = PyCapsule_New(&self->managed, NAME_NEW, capsule_dropped);
    else
        capsule = PyCapsule_New(&self->old, NAME_OLD, capsule_dropped);
    if (capsule == NULL)
        drop_exported(self);
done:
    Py_DECREF(source);
    return capsule;
}

/* ---- our own exchange table ---- */

static int
exchange_from_object(void *object, DLManagedTensorVersioned **out)
{
    lw_device_array *array = object;
    lw_error err = {0};

    if (!lw_is_device_array(object))
        return bad("not a DeviceArray");
    /* the consumer works on exchange_current_stream: the legacy stream */
    if (lw_device_array_use(array, NULL, &err) != LW_OK) {
        (void)lw_py_raise(&err);
        return -1;
    }
    *out = lw_dlpack_managed(array);
    return *out != NULL ? 0 : -1;
}

static void
keeper_dropped(PyObject *capsule)
{
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, NAME_NEW_USED);

    if (managed != NULL && managed->deleter != NULL)
        managed->deleter(managed);
}

static int
exchange_to_object(DLManagedTensorVersioned *managed, void **out)
{
    PyObject *keeper = PyCapsule_New(managed, NAME_NEW_USED, keeper_dropped);
    lw_operand operand = {0};
    lw_device_array *array = NULL;

    if (keeper == NULL) {
        if (managed->deleter != NULL)
            managed->deleter(managed);
        return -1;
    }
    if (check_device(&operand, &managed->dl_tensor) == 0 &&
        lw_dlpack_read_tensor(&operand, &managed->dl_tensor) == 0)
        array =
            lw_device_array_over(operand.device, NULL, operand.data, (lw_dtype)operand.dtype,
                                 NULL, operand.ndim, operand.shape, operand.strides,
                                 (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, keeper);
    lw_free(operand.heap);
    Py_DECREF(keeper);
    *out = array;
    return array != NULL ? 0 : -1;
}

static int
exchange_allocate(DLTensor *like, DLManagedTensorVersioned **out, void *context,
                  void (*set_error)(void *context, const char *kind, const char *message))
{
    PyGILState_STATE gil = PyGILState_Ensure();
    lw_dtype dtype = dtype_of(like);
    lw_device_array *array = NULL;
    lw_device *device;

    *out = NULL;
    if (dtype != LW_DT_void && like->device.device_type == kDLCUDA && like->ndim >= 0 &&
        like->ndim <= LW_MAX_DIMS &&
        lw_device_get(like->device.device_id, &device, NULL) == LW_OK)
        array = lw_device_array_new(device, NULL, dtype, like->ndim, like->shape, 'C');
    if (array != NULL) {
        *out = lw_dlpack_managed(array);
        Py_DECREF(array);
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    if (*out == NULL)
        set_error(context, "BufferError", "lanewise cannot allocate such a tensor");
    return *out != NULL ? 0 : -1;
}

static int
exchange_current_stream(DLDeviceType device_type, int32_t device_id, void **out)
{
    (void)device_type;
    (void)device_id;
    *out = NULL;
    return 0;
}

PyObject *
lw_dlpack_own_exchange(void)
{
    static DLPackExchangeAPI table = {
        .header.version = {1, LW_DL_MINOR},
        .managed_tensor_allocator = exchange_allocate,
        .managed_tensor_from_py_object_no_sync = exchange_from_object,
        .managed_tensor_to_py_object_no_sync = exchange_to_object,
        .current_work_stream = exchange_current_stream,
    };

    return PyCapsule_New(&table, "dlpack_exchange_api", NULL);
}
