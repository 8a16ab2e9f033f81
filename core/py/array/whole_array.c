#include "core/py/numpy_api.h"

#include "core/py/array/whole_array.h"

#include "core/py/array/convert.h"
#include "core/py/object_shape.h"
#include "core/py/record_intern.h"
#include "core/py/type_num.h"

#include <string.h>

/* What there is to know of an array, wherever it lies. */
typedef struct facts {
    const char *function, *parameter;
    PyArray_Descr *descr; /* NULL: a dtype of ours */
    uint64_t data;
    int64_t itemsize, size;
    const int64_t *shape, *strides;
} facts;

static int
refuse(const facts *f, const char *why)
{
    PyErr_Format(PyExc_ValueError, "%s: excluded argument `%s`: %s", f->function, f->parameter,
                 why);
    return -1;
}

static int
refuse_dtype(const facts *f)
{
    bool swapped = f->descr != NULL && PyDataType_ISBYTESWAPPED(f->descr);

    PyErr_Format(PyExc_TypeError,
                 "%s: excluded argument `%s` is an array of dtype %.200R, which compiled code "
                 "does not know; expected bool, integers, floats, complex numbers, or a "
                 "structured dtype of these, in native byte order%s",
                 f->function, f->parameter, f->descr ? (PyObject *)f->descr : Py_None,
                 swapped ? "; pass x.astype(x.dtype.newbyteorder('='))" : "");
    return -1;
}

static int
refuse_kind(const facts *f, PyObject *object)
{
    const char *hint = PyNumber_Check(object) && !PyArray_Check(object) && !lw_is_sparse(object)
                           ? "a number needs no excluded=; name it in static= to compile it in"
                       : lw_is_sparse(object) ? "its method toarray() makes an array"
                       : PyUnicode_Check(object) || object == Py_None
                           ? "name it in static= to compile it in"
                           : "make it one by np.asarray";

    PyErr_Format(
        PyExc_TypeError,
        "%s: excluded argument `%s` must be an array of NumPy or of a GPU library, not "
        "%.100s; %s",
        f->function, f->parameter, Py_TYPE(object)->tp_name, hint);
    return -1;
}

/* Refuses arrays of numpy.ma, whose mask would be lost. */
static int
refuse_masked(const facts *f, PyObject *object)
{
    int masked = lw_is_masked_array(object);

    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s: excluded argument `%s` is a masked array, whose mask compiled code "
                     "would ignore; pass its .data and its .mask",
                     f->function, f->parameter);
    return masked ? -1 : 0;
}

/* The bytes reached, and whether offsets fit 31 bits. */
static int
measure(const facts *f, lw_whole_array *out)
{
    int64_t low = 0, high = f->itemsize, most = 0;
    uint64_t askew = f->data;
    uint64_t align = out->spec.record ? out->spec.record->align
                                      : lw_dtypes[lw_dtypes[out->spec.dtype].parts].size_bytes;

    out->narrow = true;
    out->span.low = out->span.high = f->data;
    if (f->size == 0)
        return 0;
    for (int d = 0; d < out->spec.ndim; d++) {
        int64_t extent;
        if (f->shape[d] > most)
            most = f->shape[d];
        if (f->shape[d] > 1)
            askew |= (uint64_t)f->strides[d];
        if (__builtin_mul_overflow(f->strides[d], f->shape[d] - 1, &extent) ||
            __builtin_add_overflow(extent < 0 ? low : high, extent, extent < 0 ? &low : &high))
            return refuse(f, "its strides reach beyond the address space");
    }
    if (askew & (align - 1))
        return refuse(f, "it is not aligned to its dtype; pass a copy");
    out->span.low = f->data + (uint64_t)low;
    out->span.high = f->data + (uint64_t)high;
    out->narrow = high - low <= INT32_MAX && most <= INT32_MAX;
    return 0;
}

static int
take(const facts *f, lw_whole_array *out)
{
    if (out->spec.ndim == 0)
        return refuse(f, "it has no dimensions, and cannot be indexed; let it broadcast");
    if (out->spec.dtype == LW_DT_void) {
        if (f->descr == NULL || !lw_is_record_descr(f->descr))
            return refuse_dtype(f);
        out->spec.record = lw_record_intern(f->descr);
        if (out->spec.record == NULL)
            return -1;
    }
    if (measure(f, out) < 0)
        return -1;
    out->words[out->n_words++] = f->data;
    for (int d = 0; d < out->spec.ndim; d++)
        out->words[out->n_words++] = (uint64_t)f->shape[d];
    for (int d = 0; d < out->spec.ndim; d++)
        out->words[out->n_words++] = (uint64_t)f->strides[d];
    return 0;
}

static int
take_host(facts *f, lw_whole_array *out, PyArrayObject *array)
{
    int ndim = PyArray_NDIM(array);

    if (refuse_masked(f, (PyObject *)array) < 0)
        return -1;
    if (ndim > LW_MAX_ARRAY_DIMS)
        return refuse(f, "it has more than 32 dimensions");
    f->descr = PyArray_DESCR(array);
    f->data = (uint64_t)(uintptr_t)PyArray_DATA(array);
    f->itemsize = PyArray_ITEMSIZE(array);
    f->size = PyArray_SIZE(array);
    f->shape = (const int64_t *)PyArray_DIMS(array);
    f->strides = (const int64_t *)PyArray_STRIDES(array);
    out->spec.dtype = lw_dtype_of_descr(f->descr);
    out->spec.ndim = (uint8_t)ndim;
    out->spec.readonly = !PyArray_ISWRITEABLE(array);
    out->spec.layout = PyArray_IS_C_CONTIGUOUS(array)   ? LW_LAYOUT_C
                       : PyArray_IS_F_CONTIGUOUS(array) ? LW_LAYOUT_F
                                                        : LW_LAYOUT_ANY;
    return take(f, out);
}

static int
take_device(facts *f, lw_whole_array *out)
{
    const lw_operand *o = &out->operand;

    if (o->ndim > LW_MAX_ARRAY_DIMS)
        return refuse(f, "it has more than 32 dimensions");
    f->descr = o->descr;
    f->data = o->data;
    f->itemsize = o->itemsize;
    f->size = o->size;
    f->shape = o->shape;
    f->strides = o->strides;
    out->device = o->device;
    out->spec.dtype = (lw_dtype)o->dtype;
    out->spec.ndim = (uint8_t)o->ndim;
    out->spec.readonly = o->readonly;
    out->spec.layout = o->c_contiguous ? LW_LAYOUT_C
                       : lw_layout_is_f(o->ndim, o->shape, o->strides, o->itemsize)
                           ? LW_LAYOUT_F
                           : LW_LAYOUT_ANY;
    return take(f, out);
}

int
lw_whole_array_read(lw_whole_array *out, PyObject *object, const char *function,
                    const char *parameter)
{
    facts f = {.function = function, .parameter = parameter};
    int failed;

    out->object = object;
    out->device = NULL;
    out->spec = (lw_arg_spec){.kind = LW_ARGK_ARRAY};
    out->n_words = 0;
    if (PyArray_CheckExact(object)) {
        out->operand.release = NULL;
        out->operand.kind = LW_OPERAND_HOST;
        return take_host(&f, out, (PyArrayObject *)object);
    }
    if (lw_operand_read(&out->operand, object) < 0)
        return -1;
    if (out->operand.kind == LW_OPERAND_DEVICE)
        failed = take_device(&f, out);
    else if (out->operand.kind == LW_OPERAND_HOST && PyArray_Check(object))
        failed = take_host(&f, out, (PyArrayObject *)object);
    else
        failed = refuse_kind(&f, object);
    if (failed)
        lw_whole_array_release(out);
    return failed;
}

void
lw_whole_array_release(lw_whole_array *array)
{
    if (array->operand.release != NULL)
        lw_operand_release(&array->operand);
    array->operand.release = NULL;
}

uint32_t
lw_whole_array_key(const lw_whole_array *array, uint8_t *out)
{
    const lw_arg_spec *spec = &array->spec;

    out[0] = (uint8_t)spec->dtype;
    out[1] = spec->ndim;
    out[2] = (uint8_t)(spec->layout | (spec->readonly ? 16 : 0) | (array->narrow ? 32 : 0));
    memcpy(out + 3, &spec->record, sizeof spec->record); /* interned, and never freed */
    return 3 + sizeof spec->record;
}

lw_memory_span
lw_numpy_span(PyArrayObject *array)
{
    return lw_memory_span_of(PyArray_NDIM(array), (const int64_t *)PyArray_DIMS(array),
                             (const int64_t *)PyArray_STRIDES(array), PyArray_ITEMSIZE(array),
                             (uint64_t)(uintptr_t)PyArray_BYTES(array));
}

bool
lw_array_span(PyObject *object, lw_memory_span *span)
{
    lw_operand operand;
    bool found;

    if (PyArray_Check(object)) {
        *span = lw_numpy_span((PyArrayObject *)object);
        return true;
    }
    if (!lw_is_device_operand(object) || lw_operand_look(&operand, object) < 0)
        return false;
    found = operand.kind == LW_OPERAND_DEVICE;
    if (found)
        *span = lw_operand_span(&operand);
    lw_operand_release(&operand);
    return found;
}
