/* Binding of arrays and records: their part of the key, their values, and the addresses that
 * they cover. Arrays that are not aligned, or not in native byte order, are copied. */
#include "forall/bind_py_internal.h"

#include "core/py/record_intern.h"
#include "forall/bind_copies_py.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/array/host_view.h"

#include <string.h>

typedef struct array_facts {
    lw_dtype dtype; /* void: a record */
    const lw_arg_record *record;
    int ndim;
    lw_layout layout;
    bool readonly;
    uint64_t data;
    int64_t itemsize, size;
    const int64_t *shape, *strides;
} array_facts;

/* Computes the addresses that the array covers, and whether offsets fit 31 bits. -1 where the
 * layout cannot be addressed. */
static int
measure(lw_binder *r, const array_facts *a, lw_bound_array *out)
{
    int64_t low = 0, high = a->itemsize, most = 0;
    uint64_t askew = a->data;
    uint64_t align =
        a->record ? a->record->align : lw_dtypes[lw_dtypes[a->dtype].parts].size_bytes;

    if (a->size == 0) {
        out->low = out->high = a->data;
        return 0;
    }
    for (int d = 0; d < a->ndim; d++) {
        int64_t extent;
        if (a->shape[d] > most)
            most = a->shape[d];
        if (a->shape[d] > 1)
            askew |= (uint64_t)a->strides[d];
        if (__builtin_mul_overflow(a->strides[d], a->shape[d] - 1, &extent) ||
            __builtin_add_overflow(extent < 0 ? low : high, extent, extent < 0 ? &low : &high))
            return lw_bind_refuse_layout(r, "its strides reach beyond the address space");
    }
    if (askew & (align - 1))
        return lw_bind_refuse_layout(r, "it is not aligned to its dtype; pass a copy");
    out->low = a->data + (uint64_t)low;
    out->high = a->data + (uint64_t)high;
    if (high - low > INT32_MAX || most > INT32_MAX)
        r->bound->narrow = false;
    return 0;
}

static int
put_record_key(lw_bound *b, const lw_arg_record *record, bool readonly)
{
    uint8_t key[2 + sizeof record] = {LW_KEY_RECORD, (uint8_t)(readonly ? 16 : 0)};

    memcpy(key + 2, &record, sizeof record);
    return lw_bind_key(b, key, sizeof key);
}

/* An array of records without axes is a record. */
static int
put_array(lw_binder *r, PyObject *object, const array_facts *a, lw_operand *operand)
{
    lw_bound *b = r->bound;
    uint8_t key[4 + sizeof(void *)] = {LW_KEY_ARRAY, (uint8_t)a->dtype,
                                       (uint8_t)(a->layout | (a->readonly ? 16 : 0)),
                                       (uint8_t)a->ndim};
    lw_bound_array *out;

    if (a->ndim > LW_MAX_ARRAY_DIMS)
        return lw_bind_refuse_layout(r, "it has more than 32 dimensions");
    if (b->n_arrays == b->most_arrays && lw_bind_grow((void **)&b->arrays, b->array_store,
                                                      &b->most_arrays, sizeof *b->arrays) < 0)
        return -1;
    out = &b->arrays[b->n_arrays];
    *out = (lw_bound_array){
        .object = object, .operand = operand, .arg = r->arg, .value = b->n_values};
    if (measure(r, a, out) < 0)
        return -1;
    b->n_arrays++;
    if (a->record != NULL && a->ndim == 0)
        return put_record_key(b, a->record, a->readonly) < 0 ? -1 : lw_bind_value(b, a->data);
    memcpy(key + 4, &a->record, sizeof a->record);
    if (lw_bind_key(b, key, a->record ? sizeof key : 4) < 0 || lw_bind_value(b, a->data) < 0)
        return -1;
    for (int d = 0; d < a->ndim; d++)
        if (lw_bind_value(b, (uint64_t)a->shape[d]) < 0)
            return -1;
    for (int d = 0; d < a->ndim; d++)
        if (lw_bind_value(b, (uint64_t)a->strides[d]) < 0)
            return -1;
    return 0;
}

static int
check_device(const lw_binder *r, lw_device *device)
{
    lw_bound *b = r->bound;
    char before[128], now[128];

    if (b->where == LW_WHERE_HOST)
        return lw_bind_refuse_mixed(r, false);
    if (b->device != NULL && b->device != device) {
        PyOS_snprintf(before, sizeof before, "argument `%.100s`", lw_bind_first_name(r));
        PyOS_snprintf(now, sizeof now, "argument `%.100s`", lw_bind_name(r));
        return lw_operand_refuse_devices(lw_function_name(r->self),
                                         (lw_located){before, b->device},
                                         (lw_located){now, device});
    }
    b->where = LW_WHERE_DEVICE;
    b->device = device;
    return 0;
}

static int
find_record(const lw_binder *r, array_facts *a, PyArray_Descr *descr)
{
    if (a->dtype != LW_DT_void)
        return 0;
    if (descr == NULL || !lw_is_record_descr(descr))
        return descr ? lw_bind_refuse_dtype(r, descr)
                     : lw_bind_refuse_layout(r, "compiled code does not support its dtype");
    a->record = lw_record_intern(descr);
    return a->record ? 0 : -1;
}

int
lw_bind_own(lw_binder *r, lw_device_array *array)
{
    array_facts a = {.dtype = (lw_dtype)array->dtype,
                     .ndim = array->ndim,
                     .layout = array->c_contiguous   ? LW_LAYOUT_C
                               : array->f_contiguous ? LW_LAYOUT_F
                                                     : LW_LAYOUT_ANY,
                     .readonly = array->readonly,
                     .data = array->data,
                     .itemsize = array->itemsize,
                     .size = array->size,
                     .shape = array->shape,
                     .strides = array->strides};

    if (check_device(r, array->device) < 0 || find_record(r, &a, array->descr) < 0)
        return -1;
    return put_array(r, (PyObject *)array, &a, NULL);
}

int
lw_bind_address(lw_binder *r, PyObject *object, PyObject *address, const lw_arg_spec *pointer)
{
    int64_t itemsize =
        pointer->record ? pointer->record->itemsize : lw_dtypes[pointer->dtype].size_bytes;
    int64_t n = ((int64_t)1 << 62) / itemsize; /* so that its end has an address, too */
    array_facts a = {.dtype = pointer->dtype,
                     .record = pointer->record,
                     .ndim = 1,
                     .layout = LW_LAYOUT_C,
                     .data = PyLong_AsUnsignedLongLong(address),
                     .itemsize = itemsize,
                     .size = n,
                     .shape = &n,
                     .strides = &itemsize};

    if (PyErr_Occurred() || a.data > INT64_MAX) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s: argument `%s`: %S is not an address",
                     lw_function_name(r->self), lw_bind_name(r), address);
        return -1;
    }
    if (r->bound->where == LW_WHERE_DEVICE)
        return lw_bind_refuse_mixed(r, true);
    r->bound->where = LW_WHERE_HOST;
    return put_array(r, object, &a, NULL);
}

/* Keeps an object alive as long as the bound call. */
static int
own(lw_bound *bound, PyObject *object)
{
    if (bound->owned == NULL && (bound->owned = PyList_New(0)) == NULL)
        return -1;
    return PyList_Append(bound->owned, object);
}

/* As NumPy does: binds an aligned copy in native byte order, which is copied back
 * afterwards. */
static int
put_copy(lw_binder *r, PyArrayObject *array)
{
    bool writeable = PyArray_ISWRITEABLE(array);
    int flags = NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSURECOPY |
                (writeable ? NPY_ARRAY_WRITEBACKIFCOPY : 0);
    PyArrayObject *copy = lw_bound_copy_of(r->bound, array);
    int failed;

    if (copy == NULL) {
        PyArray_Descr *native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
        copy = native ? (PyArrayObject *)PyArray_FromArray(array, native, flags) : NULL;
        if (copy != NULL && !writeable)
            PyArray_CLEARFLAGS(copy, NPY_ARRAY_WRITEABLE);
    }
    failed = copy == NULL || own(r->bound, (PyObject *)copy) < 0;
    if (!failed) {
        r->bound->n_copies++;
        failed = lw_bind_host(r, copy) < 0;
    }
    Py_XDECREF(copy);
    return failed ? -1 : 0;
}

/* Whether records are refused, which the exception says, for fields in another byte order
 * alone: then it is cleared. */
static bool
becomes_native(PyArray_Descr *descr)
{
    PyObject *type, *value, *trace;
    PyArray_Descr *native;
    bool good;

    if (PyErr_Occurred() != PyExc_TypeError || !PyDataType_HASFIELDS(descr))
        return false;
    PyErr_Fetch(&type, &value, &trace);
    native = PyArray_DescrNewByteorder(descr, NPY_NATIVE);
    good = native != NULL && !PyArray_EquivTypes(native, descr) &&
           lw_record_intern(native) != NULL;
    Py_XDECREF(native);
    PyErr_Clear();
    if (!good) {
        PyErr_Restore(type, value, trace);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

int
lw_bind_host(lw_binder *r, PyArrayObject *array)
{
    PyArray_Descr *descr = PyArray_DESCR(array);
    array_facts a = {.dtype = lw_dtype_of_descr(descr),
                     .ndim = PyArray_NDIM(array),
                     .layout = PyArray_IS_C_CONTIGUOUS(array)   ? LW_LAYOUT_C
                               : PyArray_IS_F_CONTIGUOUS(array) ? LW_LAYOUT_F
                                                                : LW_LAYOUT_ANY,
                     .readonly = !PyArray_ISWRITEABLE(array),
                     .data = (uint64_t)(uintptr_t)PyArray_DATA(array),
                     .itemsize = PyArray_ITEMSIZE(array),
                     .size = PyArray_SIZE(array),
                     .shape = (const int64_t *)PyArray_DIMS(array),
                     .strides = (const int64_t *)PyArray_STRIDES(array)};

    if (r->bound->where == LW_WHERE_DEVICE)
        return lw_bind_refuse_mixed(r, true);
    if (!PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array))
        return put_copy(r, array);
    if (find_record(r, &a, descr) < 0)
        return becomes_native(descr) ? put_copy(r, array) : -1;
    r->bound->where = LW_WHERE_HOST;
    return put_array(r, (PyObject *)array, &a, NULL);
}

int
lw_bind_foreign(lw_binder *r, lw_operand *operand)
{
    array_facts a = {.dtype = (lw_dtype)operand->dtype,
                     .ndim = operand->ndim,
                     .layout = operand->c_contiguous ? LW_LAYOUT_C : LW_LAYOUT_ANY,
                     .readonly = operand->readonly,
                     .data = operand->data,
                     .itemsize = operand->itemsize,
                     .size = operand->size,
                     .shape = operand->shape,
                     .strides = operand->strides};

    if (a.layout == LW_LAYOUT_ANY &&
        lw_layout_is_f(a.ndim, a.shape, a.strides, operand->itemsize))
        a.layout = LW_LAYOUT_F;
    if (check_device(r, operand->device) < 0 || find_record(r, &a, operand->descr) < 0)
        return -1;
    return put_array(r, operand->object, &a, operand);
}

int
lw_bind_foreign_host(lw_binder *r, PyObject *object)
{
    char what[160];
    PyArrayObject *view;
    int failed;

    PyOS_snprintf(what, sizeof what, "%.70s: argument `%.70s`", lw_function_name(r->self),
                  lw_bind_name(r));
    view = lw_host_view(object, what);
    failed = view == NULL || own(r->bound, (PyObject *)view) < 0 || lw_bind_host(r, view) < 0;

    Py_XDECREF(view);
    return failed ? -1 : 0;
}

int
lw_bind_record(lw_binder *r, PyObject *object)
{
    PyVoidScalarObject *scalar = (PyVoidScalarObject *)object;
    PyArray_Descr *descr = (PyArray_Descr *)scalar->descr;
    const lw_arg_record *record = lw_is_record_descr(descr)
                                      ? lw_record_intern(descr)
                                      : (lw_bind_refuse_dtype(r, descr), NULL);
    lw_bound *b = r->bound;
    lw_bound_array *out;

    if (record == NULL)
        return -1;
    if ((uintptr_t)scalar->obval & (record->align - 1))
        return lw_bind_refuse_layout(r, "it is not aligned to its dtype; pass a copy");
    if (b->n_arrays == b->most_arrays && lw_bind_grow((void **)&b->arrays, b->array_store,
                                                      &b->most_arrays, sizeof *b->arrays) < 0)
        return -1;
    out = &b->arrays[b->n_arrays++];
    *out = (lw_bound_array){.object = object,
                            .arg = r->arg,
                            .value = b->n_values,
                            .low = (uint64_t)(uintptr_t)scalar->obval,
                            .high = (uint64_t)(uintptr_t)scalar->obval + record->itemsize,
                            .record = true,
                            .n_bytes = record->itemsize};
    if (put_record_key(b, record, (scalar->flags & NPY_ARRAY_WRITEABLE) == 0) < 0)
        return -1;
    return lw_bind_value(b, out->low);
}
