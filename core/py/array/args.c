#include "core/py/array/args.h"

#include "core/py/array/args_internal.h"
#include "core/py/array/convert.h"
#include "core/py/array/cuda_arrays.h"
#include "core/py/array/device_array_internal.h"
#include "core/py/cuda/cuda_py.h"

#include "core/base/memory.h"

#include <string.h>

/* ---- own arrays and host objects ---- */

static int
read_own(lw_operand *out, PyObject *object)
{
    lw_device_array *array = (lw_device_array *)object;

    out->kind = LW_OPERAND_DEVICE;
    out->library = LW_LIB_OWN;
    out->dtype = array->dtype;
    out->readonly = array->readonly;
    out->misaligned = array->misaligned;
    out->c_contiguous = array->c_contiguous;
    out->ordered = true;
    out->ndim = array->ndim;
    out->size = array->size;
    out->itemsize = array->itemsize;
    out->data = array->data;
    out->stream = array->root->stream;
    out->device = array->device;
    out->shape = array->shape;
    out->strides = array->strides;
    out->descr = array->descr;
    return 0;
}

int
lw_args_read_host(lw_operand *out, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;

    out->kind = LW_OPERAND_HOST;
    out->descr = PyArray_DESCR(array);
    out->dtype = (uint8_t)lw_dtype_of_descr(out->descr);
    out->readonly = !PyArray_ISWRITEABLE(array);
    out->c_contiguous = PyArray_IS_C_CONTIGUOUS(array);
    out->ndim = PyArray_NDIM(array);
    out->size = PyArray_SIZE(array);
    out->itemsize = PyArray_ITEMSIZE(array);
    out->shape = (const int64_t *)PyArray_DIMS(array);
    out->strides = (const int64_t *)PyArray_STRIDES(array);
    return 0;
}

static int
read_int(lw_operand *out, PyObject *object)
{
    int overflow;

    out->kind = LW_OPERAND_INT;
    out->dtype = LW_DT_i64;
    out->value.i64 = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0)
        return 0;
    out->dtype = LW_DT_u64;
    out->value.u64 = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    out->big = overflow < 0 || PyErr_Occurred() != NULL;
    PyErr_Clear();
    return 0;
}

bool
lw_scalar_read(PyObject *object, lw_dtype *dtype, lw_value *out)
{
    const lw_args_row *row = lw_args_type(Py_TYPE(object));

    if (row->item_offset == 0)
        return false;
    *dtype = (lw_dtype)row->item_dtype;
    memcpy(out->bytes, (const char *)object + row->item_offset, lw_dtypes[*dtype].size_bytes);
    return true;
}

static int
read_numpy_scalar(lw_operand *out, PyObject *object, const lw_args_row *row)
{
    PyArray_Descr *descr;
    PyObject *number;

    out->kind = LW_OPERAND_SCALAR;
    if (row->item_offset != 0) {
        out->dtype = row->item_dtype;
        memcpy(out->value.bytes, (const char *)object + row->item_offset,
               lw_dtypes[row->item_dtype].size_bytes);
        return 0;
    }
    descr = PyArray_DescrFromScalar(object);
    if (descr == NULL)
        return -1;
    out->dtype = (uint8_t)lw_dtype_of_descr(descr);
    if (out->dtype == LW_DT_bf16) { /* another package's type: by its number */
        number = PyNumber_Float(object);
        if (number != NULL) {
            uint16_t half = lw_bf16_from_double(PyFloat_AS_DOUBLE(number));
            memcpy(out->value.bytes, &half, sizeof half);
        }
        Py_XDECREF(number);
    } else if (out->dtype != LW_DT_void) {
        PyArray_ScalarAsCtype(object, out->value.bytes);
    }
    Py_DECREF(descr);
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- the reader ---- */

static void
drop_own(lw_operand *operand)
{
    Py_CLEAR(operand->own);
    Py_CLEAR(operand->original);
}

/* A mapped or managed array: our own array over its memory knows its stream. */
static int
read_mapped(lw_operand *out, lw_device_array *own)
{
    out->own = own;
    out->release = drop_own;
    return read_own(out, (PyObject *)own);
}

static int
read_foreign(lw_operand *out, PyObject *object, bool retain)
{
    const lw_args_row *row = lw_args_type(Py_TYPE(object));
    lw_device_array *mapped = PyArray_Check(object) ? lw_mapped_as_array(object) : NULL;

    if (mapped != NULL)
        return read_mapped(out, mapped);
    if (PyErr_Occurred())
        return -1;
    out->library = (uint8_t)row->library;
    switch (row->class) {
    case LW_ARGS_HOST: return lw_args_read_host(out, object);
    case LW_ARGS_SCALAR: return read_numpy_scalar(out, object, row);
    case LW_ARGS_EXCHANGE: return lw_args_read_exchange(out, object, row, retain);
    case LW_ARGS_CUPY: return lw_args_read_cupy(out, object);
    case LW_ARGS_DLPACK: return lw_args_read_dlpack(out, object);
    case LW_ARGS_INTERFACE:
    case LW_ARGS_PLAIN: return lw_args_read_interface(out, object);
    default: return lw_args_not_ours(out);
    }
}

int
lw_args_read(lw_operand *out, PyObject *object, bool retain)
{
    memset(out, 0, offsetof(lw_operand, dims));
    out->object = object;
    if (lw_is_device_array(object))
        return read_own(out, object);
    if (PyFloat_CheckExact(object)) {
        out->kind = LW_OPERAND_FLOAT;
        out->dtype = LW_DT_f64;
        out->value.f64 = PyFloat_AS_DOUBLE(object);
        return 0;
    }
    if (PyLong_CheckExact(object))
        return read_int(out, object);
    if (PyArray_CheckExact(object))
        return lw_args_read_host(out, object);
    if (PyBool_Check(object)) {
        out->kind = LW_OPERAND_SCALAR;
        out->dtype = LW_DT_b1;
        out->value.bytes[0] = object == Py_True;
        return 0;
    }
    if (PyComplex_CheckExact(object)) {
        out->kind = LW_OPERAND_COMPLEX;
        out->dtype = LW_DT_c128;
        out->value.c128[0] = PyComplex_RealAsDouble(object);
        out->value.c128[1] = PyComplex_ImagAsDouble(object);
        return 0;
    }
    if (read_foreign(out, object, retain) == 0)
        return 0;
    lw_operand_release(out);
    return -1;
}

int
lw_operand_look(lw_operand *out, PyObject *object)
{
    return lw_args_read(out, object, false);
}

/* ---- misaligned arrays ---- */

void
lw_operand_replace(lw_operand *operand, lw_device_array *original, lw_device_array *copy)
{
    const lw_operand before = {
        .library = operand->library, .readonly = operand->readonly, .object = operand->object};

    lw_operand_release(operand);
    memset(operand, 0, offsetof(lw_operand, dims));
    (void)read_own(operand, (PyObject *)copy);
    operand->object = before.object;
    operand->library = before.library;
    operand->readonly = before.readonly;
    operand->own = copy;
    operand->original = original;
    operand->release = drop_own;
}

/* The copy is made on the stream that used the array last. */
static int
stand_aligned(lw_operand *operand)
{
    lw_device_array *original = lw_operand_as_array(operand->object);
    lw_device_array *copy = original ? lw_device_array_copy(original, 'C') : NULL;

    if (copy != NULL) {
        lw_operand_replace(operand, original, copy);
        return 0;
    }
    Py_XDECREF(original);
    lw_operand_release(operand);
    return -1;
}

int
lw_operand_read(lw_operand *out, PyObject *object)
{
    if (lw_args_read(out, object, false) < 0)
        return -1;
    return out->misaligned ? stand_aligned(out) : 0;
}

lw_memory_span
lw_operand_span(const lw_operand *operand)
{
    return lw_memory_span_of(operand->ndim, operand->shape, operand->strides, operand->itemsize,
                             operand->data);
}

void
lw_operand_release(lw_operand *operand)
{
    PyObject *type, *value, *traceback;

    if (operand->release != NULL) { /* a foreign deleter may run Python: keep our exception */
        PyErr_Fetch(&type, &value, &traceback);
        operand->release(operand);
        PyErr_Restore(type, value, traceback);
    }
    operand->release = NULL;
    operand->keep = NULL;
    lw_free(operand->heap);
    operand->heap = NULL;
    Py_CLEAR(operand->owned_descr);
}

int
lw_operand_check(lw_operand *operand)
{
    int64_t low, high, *strides = (int64_t *)operand->strides;
    int64_t align = lw_dtype_alignment((lw_dtype)operand->dtype, operand->descr);

    if (!lw_layout_reach(operand->ndim, operand->shape, strides, operand->itemsize, &low,
                         &high) ||
        (low < 0 && operand->data < (CUdeviceptr) - (uint64_t)low) ||
        (high > 0 && operand->data + (CUdeviceptr)high < operand->data)) {
        PyErr_SetString(PyExc_ValueError,
                        "strides: the array reaches beyond the address space");
        return -1;
    }
    for (int i = 0; i < operand->ndim; i++)
        if (operand->shape[i] == 1 || operand->size == 0)
            strides[i] = operand->itemsize;
    operand->misaligned =
        operand->size > 0 && lw_layout_alignment(operand->ndim, operand->shape, strides,
                                                 operand->data, align) < align;
    operand->c_contiguous =
        lw_layout_is_c(operand->ndim, operand->shape, strides, operand->itemsize);
    return 0;
}

bool
lw_is_read_directly(PyObject *object)
{
    const lw_args_row *row = lw_args_type(Py_TYPE(object));

    return row->class == LW_ARGS_CUPY ||
           (row->class == LW_ARGS_EXCHANGE && row->library == LW_LIB_TORCH);
}

bool
lw_is_known_library(PyObject *object)
{
    lw_array_library library = lw_args_type(Py_TYPE(object))->library;

    return library == LW_LIB_TORCH || library == LW_LIB_CUPY || library == LW_LIB_NUMBA ||
           library == LW_LIB_JAX;
}

int
lw_is_masked_array(PyObject *object)
{
    PyObject *name = PyUnicode_FromString("numpy.ma");
    PyObject *module = name ? PyImport_GetModule(name) : NULL; /* where it is loaded */
    PyObject *class = module ? PyObject_GetAttrString(module, "MaskedArray") : NULL;
    int masked = class ? PyObject_IsInstance(object, class) : 0;

    Py_XDECREF(class);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return PyErr_Occurred() ? -1 : masked;
}

bool
lw_is_device_operand(PyObject *object)
{
    const lw_args_row *row;
    lw_operand operand;
    int type = 0;
    bool is = false;

    if (lw_is_device_array(object))
        return true;
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyArray_CheckExact(object))
        return false;
    row = lw_args_type(Py_TYPE(object));
    switch (row->class) {
    case LW_ARGS_CUPY: return true;
    case LW_ARGS_EXCHANGE:
    case LW_ARGS_DLPACK:
        if (row->library == LW_LIB_TORCH) { /* an attribute is cheaper than a call */
            PyObject *flag = lw_args_get(object, LW_ATTR_is_cuda);
            is = flag == Py_True;
            Py_XDECREF(flag);
        } else if (lw_args_type_has(Py_TYPE(object), "__dlpack_device__")) {
            is = lw_args_dlpack_device(object, &type) == 0 &&
                 (type == kDLCUDA || type == kDLCUDAManaged);
        } else if (lw_args_read(&operand, object, false) == 0) {
            is = operand.kind == LW_OPERAND_DEVICE;
            lw_operand_release(&operand);
        }
        break;
    case LW_ARGS_INTERFACE:
    case LW_ARGS_PLAIN: {
        PyObject *dict = PyObject_GetAttrString(object, "__cuda_array_interface__");
        is = dict != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError);
        Py_XDECREF(dict);
        break;
    }
    default: return false;
    }
    PyErr_Clear();
    return is;
}

/* ---- streams ---- */

lw_status
lw_operand_use(lw_operand *operand, CUstream stream, lw_error *err)
{
    if (operand->own != NULL)
        return lw_device_array_use(operand->own, stream, err);
    if (operand->library == LW_LIB_OWN)
        return lw_device_array_use((lw_device_array *)operand->object, stream, err);
    if (operand->kind != LW_OPERAND_DEVICE || !operand->ordered || operand->stream == stream)
        return LW_OK;
    return lw_stream_after(operand->device, stream, operand->stream, err);
}

/* What a kernel has written to the aligned copy. */
static lw_status
write_back(const lw_operand *operand, CUstream stream, lw_error *err)
{
    lw_status status = LW_OK;

    LW_TRY(lw_device_array_use(operand->original, stream, err));
    LW_TRY(lw_device_array_use(operand->own, stream, err));
    if (lw_array_copy_same_shape(operand->original, operand->own, stream) < 0)
        return lw_fail(err, LW_ERR_PYTHON, "a copy to a misaligned array");
    return LW_OK;
fail:
    return status;
}

lw_status
lw_operand_done(lw_operand *operand, CUstream stream, lw_error *err)
{
    if (operand->own != NULL)
        return operand->original && operand->written ? write_back(operand, stream, err) : LW_OK;
    if (operand->library == LW_LIB_OWN || operand->kind != LW_OPERAND_DEVICE ||
        operand->stream == stream)
        return LW_OK;
    return lw_stream_after(operand->device, operand->stream, stream, err);
}

/* ---- scalars ---- */

static int
out_of_bounds(const lw_operand *operand, lw_dtype dtype)
{
    PyErr_Format(PyExc_OverflowError, "Python integer %.200R out of bounds for %s",
                 operand->object, lw_dtypes[dtype].public_name);
    return -1;
}

static bool
fits(const lw_operand *operand, lw_dtype dtype)
{
    bool is_signed = lw_is_signed(dtype) || lw_is_time(dtype);
    uint64_t high = lw_integer_most(dtype);

    if (operand->big)
        return false;
    if (operand->dtype == LW_DT_u64 || operand->value.i64 >= 0)
        return operand->value.u64 <= high;
    return is_signed && operand->value.i64 >= -(int64_t)high - 1;
}

int
lw_operand_item(const lw_operand *operand, lw_dtype dtype, lw_value *out)
{
    lw_value wide = operand->value;
    lw_dtype from = (lw_dtype)operand->dtype;

    if (operand->kind == LW_OPERAND_INT && (lw_is_integer(dtype) || lw_is_time(dtype)) &&
        !fits(operand, dtype))
        return out_of_bounds(operand, dtype);
    if (operand->big) {
        wide.f64 = PyLong_AsDouble(operand->object); /* "int too large to convert to float" */
        if (wide.f64 == -1.0 && PyErr_Occurred())
            return -1;
        from = LW_DT_f64;
    }
    if (from == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "a scalar of type %.200s cannot be used in a kernel",
                     Py_TYPE(operand->object)->tp_name);
        return -1;
    }
    lw_value_cast(&wide, from, out, dtype);
    return 0;
}

int
lw_operand_refuse_devices(const char *function, lw_located first, lw_located other)
{
    PyErr_Format(PyExc_ValueError,
                 "%s: %s is on device %d and %s on device %d, but all arrays of a call must be "
                 "on one device: in `with cuda.gpus[%d]:`, `cuda.to_device(x)` copies x there",
                 function, first.what, first.device->ordinal, other.what, other.device->ordinal,
                 first.device->ordinal);
    return -1;
}
