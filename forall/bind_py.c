/* Reading the arguments of a call: one walk that writes the key of their types and the values
 * behind the body's parameters. The key is decoded into argument types by specialisation_py.c
 * when no specialisation has it yet; its grammar is in bind_key.h. */
#include "core/py/numpy_api.h"

#include "core/py/ctypes_address.h"
#include "core/py/object_shape.h"
#include "core/py/raise.h"
#include "core/py/record_intern.h"
#include "forall/bind_copies_py.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"

#include "core/device/copy.h"
#include "core/py/array/args.h"
#include "core/py/array/convert.h"
#include "core/py/array/host_view.h"
#include "core/py/type_num.h"

#include <string.h>

enum { MOST_DEPTH = 8 }; /* of tuples in tuples */

typedef struct binder {
    const lw_function *self;
    lw_bound *bound;
    uint32_t arg;
    const char *host_name; /* the argument that is, or contains, the first host array */
    int depth;
    PyObject *field; /* borrowed: the field of an object that is being read, or NULL */
} binder;

static const char *
name_of(const binder *r)
{
    const lw_fn *fn = &r->self->tree->fns.data[1];

    return fn->params.data[r->self->n_index + r->arg].name;
}

/* ---- room ---- */

void
lw_bound_init(lw_bound *bound)
{
    memset(bound, 0, offsetof(lw_bound, operands));
    bound->arrays = bound->array_store;
    bound->values = bound->value_store;
    bound->key = bound->key_store;
    bound->most_arrays = LW_BOUND_ARRAYS;
    bound->most_values = LW_BOUND_VALUES;
    bound->most_key = LW_BOUND_KEY;
}

/* Doubles the capacity, in the heap; -1 with MemoryError. */
static int
grow(void **data, const void *store, uint32_t *most, size_t size)
{
    void *more = lw_alloc_zero(*most * 2, size);

    if (more == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(more, *data, *most * size);
    if (*data != store)
        lw_free(*data);
    *data = more;
    *most *= 2;
    return 0;
}

static int
put_key(lw_bound *b, const void *bytes, uint32_t n)
{
    if (b->n_key + n > b->most_key && grow((void **)&b->key, b->key_store, &b->most_key, 1) < 0)
        return -1;
    memcpy(b->key + b->n_key, bytes, n);
    b->n_key += n;
    return 0;
}

static inline int
put_value(lw_bound *b, uint64_t value)
{
    if (b->n_values == b->most_values &&
        grow((void **)&b->values, b->value_store, &b->most_values, sizeof *b->values) < 0)
        return -1;
    b->values[b->n_values++] = value;
    return 0;
}

/* ---- numbers ---- */

static int
put_number(binder *r, uint8_t tag, lw_dtype dtype, const void *value)
{
    const uint8_t key[] = {tag, (uint8_t)dtype};
    uint32_t size = lw_dtypes[lw_dtypes[dtype].parts].size_bytes;

    if (put_key(r->bound, key, sizeof key) < 0)
        return -1;
    for (uint32_t part = 0; part < (lw_is_complex(dtype) ? 2u : 1u); part++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)value + part * size, size);
        if (put_value(r->bound, bits) < 0)
            return -1;
    }
    return 0;
}

static bool
fits_u64(PyObject *object, uint64_t *out)
{
    *out = PyLong_AsUnsignedLongLong(object);
    bool fits = *out != UINT64_MAX || !PyErr_Occurred();

    PyErr_Clear();
    return fits;
}

/* Whether one of the declared signatures has a float or complex number for this argument. */
static bool
may_be_float(const binder *r)
{
    for (const lw_specialisation *at = lw_grown_first(&r->self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        const lw_arg_spec *spec = &at->specs[r->self->n_index + r->arg];
        if (at->declared && spec->kind == LW_ARGK_SCALAR &&
            (lw_is_float(spec->dtype) || lw_is_complex(spec->dtype)))
            return true;
    }
    return false;
}

/* Binds a Python int beyond int64 in a type of a signature that can hold it. */
static int
put_big(binder *r, PyObject *object, bool positive)
{
    uint64_t value;
    double rounded;
    bool fits = positive && fits_u64(object, &value);
    lw_dtype annotated = lw_annotated_dtype(r->self->tree, r->self->n_index + r->arg);

    if (annotated == LW_DT_u64 && fits)
        return put_number(r, LW_KEY_SCALAR, LW_DT_u64, &value);
    if (!r->self->lazy && fits)
        return put_number(r, LW_KEY_WEAK, LW_DT_u64, &value);
    if (annotated == LW_DT_void ? !r->self->lazy && may_be_float(r)
                                : !lw_is_integer(annotated) && annotated != LW_DT_b1) {
        rounded = PyLong_AsDouble(object); /* rounds once, as float() does */
        return rounded == -1 && PyErr_Occurred()
                   ? -1
                   : put_number(r, LW_KEY_WEAK, LW_DT_f64, &rounded);
    }
    PyErr_Format(PyExc_OverflowError,
                 "%s: argument `%s`: a Python int is int64 here, and %.100R does not fit; "
                 "pass %s",
                 lw_function_name(r->self), name_of(r), object,
                 fits ? "np.uint64(...)" : "a float");
    return -1;
}

static int
put_int(binder *r, PyObject *object)
{
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);

    if (overflow)
        return put_big(r, object, overflow > 0);
    if (value == -1 && PyErr_Occurred())
        return -1;
    return put_number(r, LW_KEY_WEAK, LW_DT_i64, &value);
}

/* ---- arrays ---- */

typedef struct array_facts {
    lw_dtype dtype; /* void: a record */
    const lw_arg_record *record;
    int ndim;
    lw_layout layout;
    bool readonly, empty;
    uint64_t data;
    int64_t itemsize, size;
    const int64_t *shape, *strides;
} array_facts;

static int
refuse_layout(const binder *r, const char *why)
{
    PyErr_Format(PyExc_ValueError, "%s: argument `%s`: %s", lw_function_name(r->self),
                 name_of(r), why);
    return -1;
}

/* Computes the addresses that the array covers, and whether offsets fit 31 bits. -1 where the
 * layout cannot be addressed. */
static int
measure(binder *r, const array_facts *a, lw_bound_array *out)
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
            return refuse_layout(r, "its strides reach beyond the address space");
    }
    if (askew & (align - 1))
        return refuse_layout(r, "it is not aligned to its dtype; pass a copy");
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
    return put_key(b, key, sizeof key);
}

/* An array of records without axes is a record. */
static int
put_array(binder *r, PyObject *object, const array_facts *a, lw_operand *operand)
{
    lw_bound *b = r->bound;
    uint8_t key[4 + sizeof(void *)] = {LW_KEY_ARRAY, (uint8_t)a->dtype,
                                       (uint8_t)(a->layout | (a->readonly ? 16 : 0)),
                                       (uint8_t)a->ndim};
    lw_bound_array *out;

    if (a->ndim > LW_MAX_ARRAY_DIMS)
        return refuse_layout(r, "it has more than 32 dimensions");
    if (b->n_arrays == b->most_arrays &&
        grow((void **)&b->arrays, b->array_store, &b->most_arrays, sizeof *b->arrays) < 0)
        return -1;
    out = &b->arrays[b->n_arrays];
    *out = (lw_bound_array){
        .object = object, .operand = operand, .arg = r->arg, .value = b->n_values};
    if (measure(r, a, out) < 0)
        return -1;
    b->n_arrays++;
    if (a->record != NULL && a->ndim == 0)
        return put_record_key(b, a->record, a->readonly) < 0 ? -1 : put_value(b, a->data);
    memcpy(key + 4, &a->record, sizeof a->record);
    if (put_key(b, key, a->record ? sizeof key : 4) < 0 || put_value(b, a->data) < 0)
        return -1;
    for (int d = 0; d < a->ndim; d++)
        if (put_value(b, (uint64_t)a->shape[d]) < 0)
            return -1;
    for (int d = 0; d < a->ndim; d++)
        if (put_value(b, (uint64_t)a->strides[d]) < 0)
            return -1;
    return 0;
}

static int
no_such_dtype(const binder *r, PyArray_Descr *descr)
{
    PyObject *text = PyUnicode_FromFormat(
        "%s: argument `%s` is an array of dtype %.200R, which compiled code does not "
        "know; expected bool, integers, floats, complex numbers, dates, durations, strings, or "
        "a structured dtype of these, in native byte order",
        lw_function_name(r->self), name_of(r), (PyObject *)descr);
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    lw_error err = {0};

    if (utf8 != NULL) {
        lw_fail(&err, LW_ERR_TYPING, "%s", utf8); /* a TypeError, too */
        lw_py_raise(&err);
    }
    Py_XDECREF(text);
    return -1;
}

/* That of the first array. */
static const char *
earlier_name(const binder *r)
{
    const lw_bound *b = r->bound;
    const lw_fn *fn = &r->self->tree->fns.data[1];

    return b->n_arrays ? fn->params.data[r->self->n_index + b->arrays[0].arg].name : "";
}

static int
mixed(const binder *r, bool host_now)
{
    const char *other = earlier_name(r);

    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` is in %s memory and `%s` in %s memory: move one of them "
                 "(lanewise.cuda.to_device, copy_to_host)",
                 lw_function_name(r->self), name_of(r), host_now ? "host" : "device", other,
                 host_now ? "device" : "host");
    return -1;
}

static int
check_device(const binder *r, lw_device *device)
{
    lw_bound *b = r->bound;
    char before[128], now[128];

    if (b->where == LW_WHERE_HOST)
        return mixed(r, false);
    if (b->device != NULL && b->device != device) {
        PyOS_snprintf(before, sizeof before, "argument `%.100s`", earlier_name(r));
        PyOS_snprintf(now, sizeof now, "argument `%.100s`", name_of(r));
        return lw_operand_refuse_devices(lw_function_name(r->self),
                                         (lw_located){before, b->device},
                                         (lw_located){now, device});
    }
    b->where = LW_WHERE_DEVICE;
    b->device = device;
    return 0;
}

static int
find_record(const binder *r, array_facts *a, PyArray_Descr *descr)
{
    if (a->dtype != LW_DT_void)
        return 0;
    if (descr == NULL || !lw_is_record_descr(descr))
        return descr ? no_such_dtype(r, descr)
                     : refuse_layout(r, "compiled code does not support its dtype");
    a->record = lw_record_intern(descr);
    return a->record ? 0 : -1;
}

static int
put_own(binder *r, lw_device_array *array)
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

/* Keeps an object alive as long as the bound call. */
static int
own(lw_bound *bound, PyObject *object)
{
    if (bound->owned == NULL && (bound->owned = PyList_New(0)) == NULL)
        return -1;
    return PyList_Append(bound->owned, object);
}

static int put_host(binder *r, PyArrayObject *array);

/* As NumPy does: binds an aligned copy in native byte order, which is copied back
 * afterwards. */
static int
put_copy(binder *r, PyArrayObject *array)
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
        failed = put_host(r, copy) < 0;
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

static int
put_host(binder *r, PyArrayObject *array)
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
        return mixed(r, true);
    if (!PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array))
        return put_copy(r, array);
    if (find_record(r, &a, descr) < 0)
        return becomes_native(descr) ? put_copy(r, array) : -1;
    r->bound->where = LW_WHERE_HOST;
    return put_array(r, (PyObject *)array, &a, NULL);
}

static int
put_foreign(binder *r, lw_operand *operand)
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

/* ---- records, tuples ---- */

static int
put_record(binder *r, PyObject *object)
{
    PyVoidScalarObject *scalar = (PyVoidScalarObject *)object;
    PyArray_Descr *descr = (PyArray_Descr *)scalar->descr;
    const lw_arg_record *record =
        lw_is_record_descr(descr) ? lw_record_intern(descr) : (no_such_dtype(r, descr), NULL);
    lw_bound *b = r->bound;
    lw_bound_array *out;

    if (record == NULL)
        return -1;
    if ((uintptr_t)scalar->obval & (record->align - 1))
        return refuse_layout(r, "it is not aligned to its dtype; pass a copy");
    if (b->n_arrays == b->most_arrays &&
        grow((void **)&b->arrays, b->array_store, &b->most_arrays, sizeof *b->arrays) < 0)
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
    return put_value(b, out->low);
}

static int put(binder *r, PyObject *object);
static int refuse(const binder *r, PyObject *object);

static int
put_tuple(binder *r, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyTypeObject *type = Py_TYPE(tuple);
    uint8_t key[2 + sizeof type] = {LW_KEY_TUPLE, (uint8_t)n};
    uint32_t n_key = 2;

    if (n > UINT8_MAX || r->depth == MOST_DEPTH)
        return refuse_layout(r, n > UINT8_MAX ? "a tuple of more than 255 items"
                                              : "tuples nested more than 8 deep");
    if (type != &PyTuple_Type && PyObject_HasAttrString((PyObject *)type, "_fields")) {
        key[0] = LW_KEY_NAMED;
        memcpy(key + 2, &type, sizeof type);
        n_key = sizeof key;
    }
    if (put_key(r->bound, key, n_key) < 0)
        return -1;
    r->depth++;
    for (Py_ssize_t i = 0; i < n; i++)
        if (put(r, PyTuple_GET_ITEM(tuple, i)) < 0)
            return -1;
    r->depth--;
    return 0;
}

/* A value that the call uses while it runs: the object may be given another one meanwhile. */
static int
hold(lw_bound *bound, PyObject *value)
{
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value))
        return 0;
    if (bound->held == NULL && (bound->held = PyList_New(0)) == NULL)
        return -1;
    return PyList_Append(bound->held, value);
}

static int
put_items(binder *r, PyObject *items)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    const uint8_t key[] = {LW_KEY_LIST, (uint8_t)n};
    int result = hold(r->bound, items) < 0 ? -1 : put_key(r->bound, key, sizeof key);

    r->depth++;
    for (Py_ssize_t i = 0; result == 0 && i < n; i++)
        result = put(r, PyTuple_GET_ITEM(items, i));
    r->depth--;
    return result;
}

/* A list given to a function that is called on the host: its items, as they are now, for other
 * threads may change it meanwhile, and its length, too. */
static int
put_list(binder *r, PyObject *list)
{
    PyObject *items = PyList_AsTuple(list);
    int result;

    if (items == NULL)
        return -1;
    result = PyTuple_GET_SIZE(items) > LW_MAX_UNROLL ? refuse(r, list) : put_items(r, items);
    Py_DECREF(items);
    return result;
}

/* A longer one would be slow to compile, once for each length. */
static bool
is_short_list(const binder *r, PyObject *object)
{
    return PyList_Check(object) && r->self->gives_value && r->depth < MOST_DEPTH &&
           PyList_GET_SIZE(object) <= LW_MAX_UNROLL;
}

/* ---- objects of the user's classes ---- */

static int
refuse_registered(const binder *r, const lw_object_shape *shape, Py_ssize_t i, PyObject *value)
{
    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s`: the field `%U` of `%.100s` is registered as %s, and is "
                 "%.100R",
                 lw_function_name(r->self), name_of(r), PyTuple_GET_ITEM(shape->names, i),
                 shape->type->tp_name, lw_dtypes[shape->dtypes[i]].public_name, value);
    return -1;
}

/* An integer that the type holds. */
static bool
read_integer(PyObject *value, lw_dtype to, lw_value *out)
{
    uint32_t unused = 64 - lw_dtypes[to].bits;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    lw_value wide = {0};
    bool fits = false;

    if (index != NULL && lw_is_signed(to)) {
        wide.i64 = PyLong_AsLongLong(index);
        fits = !PyErr_Occurred() && wide.i64 >= INT64_MIN >> unused &&
               wide.i64 <= INT64_MAX >> unused;
        lw_value_cast(&wide, LW_DT_i64, out, to);
    } else if (index != NULL) {
        wide.u64 = PyLong_AsUnsignedLongLong(index);
        fits = !PyErr_Occurred() && wide.u64 <= UINT64_MAX >> unused;
        lw_value_cast(&wide, LW_DT_u64, out, to);
    }
    Py_XDECREF(index);
    return fits;
}

static bool
read_number(PyObject *value, lw_dtype to, lw_value *out)
{
    lw_value wide = {0};

    if (to == LW_DT_b1) {
        out->bytes[0] = PyObject_IsTrue(value) == 1;
        return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
    }
    if (lw_is_integer(to))
        return read_integer(value, to, out);
    if (lw_is_complex(to)) {
        Py_complex number = PyComplex_AsCComplex(value);
        wide.c128[0] = number.real;
        wide.c128[1] = number.imag;
        lw_value_cast(&wide, LW_DT_c128, out, to);
    } else {
        wide.f64 = PyFloat_AsDouble(value);
        lw_value_cast(&wide, LW_DT_f64, out, to);
    }
    return !PyErr_Occurred();
}

/* A field of a registered type. */
static int
put_registered(binder *r, const lw_object_shape *shape, Py_ssize_t i, PyObject *value)
{
    lw_value number = {0};
    bool fits = read_number(value, shape->dtypes[i], &number);

    PyErr_Clear();
    return fits ? put_number(r, LW_KEY_SCALAR, shape->dtypes[i], &number)
                : refuse_registered(r, shape, i, value);
}

static int
put_field(binder *r, PyObject *object, const lw_object_shape *shape, Py_ssize_t i)
{
    PyObject *value = lw_object_field(object, shape, i), *outer = r->field;
    int result = -1;

    if (value == NULL)
        return -1;
    r->field = PyTuple_GET_ITEM(shape->names, i);
    if (shape->dtypes[i] != LW_DT_void)
        result = put_registered(r, shape, i, value);
    else if (hold(r->bound, value) == 0)
        result = put(r, value);
    r->field = outer;
    Py_DECREF(value);
    return result;
}

static int
put_object(binder *r, PyObject *object, const lw_object_shape *shape)
{
    uint8_t key[1 + sizeof shape] = {LW_KEY_OBJECT};
    Py_ssize_t n = PyTuple_GET_SIZE(shape->names);

    if (r->depth == MOST_DEPTH)
        return refuse_layout(r, "objects nested more than 8 deep");
    memcpy(key + 1, &shape, sizeof shape);
    if (put_key(r->bound, key, sizeof key) < 0)
        return -1;
    r->bound->has_container |= shape->is_container;
    r->depth++;
    for (Py_ssize_t i = 0; i < n; i++)
        if (put_field(r, object, shape, i) < 0)
            return -1;
    r->depth--;
    return 0;
}

/* ---- any object ---- */

/* An object of a class that compiled code could know, but for this attribute. */
static int
refuse_attribute(const binder *r, PyObject *object, PyObject *attribute)
{
    const char *type = Py_TYPE(object)->tp_name;

    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` is %s %.100s with an attribute `%U` that no method of the "
                 "class names, so that compiled code does not know it: assign it in `__init__`",
                 lw_function_name(r->self), name_of(r),
                 strchr("aeiouAEIOU", *type) ? "an" : "a", type, attribute);
    Py_DECREF(attribute);
    return -1;
}

/* By the name of its type. */
static const char *
hint_of_type(PyObject *object)
{
    static const char filled[] = "; make it an array by np.fromiter";
    static const char drawn[] = "; call the functions of np.random in the function, or pass "
                                "states of lanewise.random";
    static const char a_date[] = "; np.datetime64(x, 'us') makes a date of it";
    static const char a_duration[] = "; np.timedelta64(x, 'us') makes a duration of it";
    static const struct {
        const char *type, *hint;
    } rows[] = {
        {"dict",
         "; make its keys and its values arrays, by np.fromiter, or let the function find "
         "it as a global or closure variable, if the keys are known there"},
        {"set", filled},
        {"frozenset", filled},
        {"generator", filled},
        {"bytes", "; make it an array by np.frombuffer"},
        {"bytearray", "; make it an array by np.frombuffer"},
        {"range", "; pass its bounds, and let the function make the range"},
        {"datetime.datetime", a_date},
        {"datetime.date", a_date},
        {"Timestamp", a_date},
        {"datetime.timedelta", a_duration},
        {"Timedelta", a_duration},
        {"numpy.random._generator.Generator", drawn},
        {"numpy.random.mtrand.RandomState", drawn},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(Py_TYPE(object)->tp_name, rows[i].type) == 0)
            return rows[i].hint;
    return "";
}

/* What there is in place of an object that is no argument; follows "a tuple of these". */
static const char *
hint_of(const binder *r, PyObject *object)
{
    static_assert(LW_MAX_UNROLL == 64, "a hint has this number");
    if (PyList_Check(object))
        return r->self->gives_value
                   ? ", or a list of up to 64 items; make it an array by np.asarray, or a "
                     "lanewise.typed.List, which functions can change"
                   : "; make it a tuple, or an array by np.asarray";
    if (PyDict_CheckExact(object) && r->self->gives_value)
        return "; make it a lanewise.typed.Dict, or let the function find it as a global or "
               "closure variable, if the keys are known there";
    if (r->self->gives_value && r->depth > 0 &&
        (PyCallable_Check(object) || PyUnicode_Check(object)))
        return "; a tuple may contain only functions and strings, or none of them: pass it "
               "as an argument of its own";
    if (PyFunction_Check(object) || PyUnicode_Check(object))
        return "; let the function find it as a global or closure variable";
    if (lw_is_sparse(object))
        return "; its method toarray() makes an array, and its attributes data, indices and "
               "indptr are arrays";
    return hint_of_type(object);
}

static int
refuse(const binder *r, PyObject *object)
{
    PyObject *attribute =
        r->field || lw_is_sparse(object) ? NULL : lw_read_unknown_field(object);
    const char *type = Py_TYPE(object)->tp_name;

    if (attribute != NULL)
        return refuse_attribute(r, object, attribute);
    if (r->field != NULL) {
        PyErr_Format(PyExc_TypeError,
                     "%s: argument `%s`: its field `%U` is %s %.100s; expected an array, a "
                     "number, a record, None, or an object or tuple of these",
                     lw_function_name(r->self), name_of(r), r->field,
                     strchr("aeiouAEIOU", *type) ? "an" : "a", type);
        return -1;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s: argument `%s` %s %s %.100s; expected an array, a number, a record, None, "
                 "or an object or tuple of these%s",
                 lw_function_name(r->self), name_of(r), r->depth ? "has an item that is" : "is",
                 strchr("aeiouAEIOU", *type) ? "an" : "a", type, hint_of(r, object));
    return -1;
}

/* Refuses arrays of numpy.ma, whose mask would be lost. */
static int
refuse_masked(const binder *r, PyObject *object)
{
    int masked = lw_is_masked_array(object);

    if (masked > 0)
        PyErr_Format(PyExc_TypeError,
                     "%s: argument `%s` is a masked array, whose mask compiled code would "
                     "ignore; pass its .data and its .mask",
                     lw_function_name(r->self), name_of(r));
    return masked ? -1 : 0;
}

/* A static value is not an argument of the body: the key names it. */
static int
put_static(binder *r, PyObject *object)
{
    uint8_t key[1 + sizeof(PyObject *)] = {LW_KEY_STATIC};
    PyObject *entry = lw_static_entry(r->self, r->arg, object);

    memcpy(key + 1, &entry, sizeof entry);
    return entry ? put_key(r->bound, key, sizeof key) : -1;
}

/* Texts, functions and types given to a function that is called on the host: each value has
 * code of its own. */
static bool
is_constant(const binder *r, PyObject *object)
{
    return r->self->gives_value && r->depth == 0 && r->field == NULL &&
           r->arg < LW_MOST_ARRANGED &&
           (PyUnicode_Check(object) || PyCallable_Check(object) || PyArray_DescrCheck(object) ||
            object == Py_Ellipsis);
}

/* What need not be asked for an array: functions of ctypes have a buffer, which NumPy refuses.
 */
static bool
is_no_data(PyObject *object)
{
    for (PyTypeObject *type = Py_TYPE(object); type != NULL; type = type->tp_base)
        if (strcmp(type->tp_name, "_ctypes.CFuncPtr") == 0 ||
            strcmp(type->tp_name, "_ctypes.PyCFuncPtr") == 0)
            return true;
    return PyUnicode_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) ||
           object == Py_Ellipsis;
}

/* A tuple of such values alone, which has code of its own, too. 1: it is one; -1 with an
 * exception. */
static int
is_constant_tuple(const binder *r, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (!PyTuple_CheckExact(tuple) || n == 0)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (!is_constant(r, item))
            return 0;
        /* an object that can be called is an object, by its fields */
        if (!is_no_data(item) && !PyType_Check(item) && lw_object_shape_of(item) != NULL)
            return 0;
        if (PyErr_Occurred())
            return -1;
    }
    return 1;
}

/* An array of the host that is not NumPy's: its view lives as long as the bound call. */
static int
put_foreign_host(binder *r, PyObject *object)
{
    char what[160];
    PyArrayObject *view;
    int failed;

    PyOS_snprintf(what, sizeof what, "%.70s: argument `%.70s`", lw_function_name(r->self),
                  name_of(r));
    view = lw_host_view(object, what);
    failed = view == NULL || own(r->bound, (PyObject *)view) < 0 || put_host(r, view) < 0;

    Py_XDECREF(view);
    return failed ? -1 : 0;
}

static lw_operand *
new_operand(lw_bound *b)
{
    lw_operand *operand;

    if (b->n_operands == LW_BOUND_ARRAYS) {
        PyErr_Format(
            PyExc_ValueError,
            "more than %d arguments are misaligned or arrays of other libraries; expected "
            "aligned arrays of NumPy or lanewise.cuda",
            LW_BOUND_ARRAYS);
        return NULL;
    }
    operand = &b->operand_store[b->n_operands];
    operand->release = NULL;
    return operand;
}

/* A member of an enum class in a tuple or an object: its number in the class, or the number
 * that it is. Arguments that are members themselves are static. */
static int
put_member(binder *r, PyObject *member)
{
    PyTypeObject *class = Py_TYPE(member);
    uint8_t key[1 + sizeof class] = {LW_KEY_MEMBER};
    PyObject *names = PyObject_GetAttrString((PyObject *)class, "_member_names_");
    PyObject *name = PyObject_GetAttrString(member, "_name_");
    Py_ssize_t number = names && name ? PySequence_Index(names, name) : -1;

    Py_XDECREF(name);
    Py_XDECREF(names);
    if (number < 0) { /* a combination of flags */
        PyErr_Clear();
        return PyLong_Check(member) ? put_int(r, member) : refuse(r, member);
    }
    memcpy(key + 1, &class, sizeof class);
    if (hold(r->bound, (PyObject *)class) < 0 || put_key(r->bound, key, sizeof key) < 0)
        return -1;
    return put_value(r->bound, PyLong_Check(member) ? (uint64_t)PyLong_AsLongLong(member)
                                                    : (uint64_t)number);
}

/* An int of a class derived from int. In a tuple or an object it may be a member. */
static int
put_derived_int(binder *r, PyObject *object)
{
    int overflow = 0;

    if (r->depth == 0 || !lw_is_member(object))
        return put_int(r, object);
    (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? put_int(r, object) : put_member(r, object);
}

/* Whether a declared signature has a pointer for this argument. */
static bool
takes_address(const lw_function *self, uint32_t arg)
{
    if (self->lazy)
        return false;
    for (const lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at))
        if (at->declared && at->specs[self->n_index + arg].pointer)
            return true;
    return false;
}

/* Whether it was an address, of which *result says how it went. */
static bool
put_address(binder *r, PyObject *object, int *result)
{
    PyObject *address;

    if (r->depth != 0 || r->field != NULL || !takes_address(r->self, r->arg))
        return false;
    address = lw_address_of(object);
    *result = address ? put_int(r, address) : -1;
    Py_XDECREF(address);
    return address != NULL || PyErr_Occurred();
}

static int
put_other(binder *r, PyObject *object)
{
    lw_operand *operand;
    const lw_object_shape *shape;

    if (is_constant(r, object) && is_no_data(object))
        return put_static(r, object);
    if (r->self->lazy && r->depth == 0 && r->arg < LW_MOST_ARRANGED && lw_is_member(object))
        return put_static(r, object);
    operand = new_operand(r->bound);
    if (operand == NULL || lw_operand_read(operand, object) < 0)
        return -1;
    /* borrowed from another library for the call */
    if (operand->kind == LW_OPERAND_DEVICE || operand->release != NULL)
        r->bound->operands[r->bound->n_operands++] = operand;
    switch ((lw_operand_kind)operand->kind) {
    case LW_OPERAND_DEVICE: return put_foreign(r, lw_bound_aligned_once(r->bound));
    case LW_OPERAND_HOST:
        return refuse_masked(r, object) < 0 ? -1 : put_host(r, (PyArrayObject *)object);
    case LW_OPERAND_SCALAR:
        if (operand->dtype == LW_DT_void)
            return refuse(r, object);
        return put_number(r, LW_KEY_SCALAR, (lw_dtype)operand->dtype, &operand->value);
    case LW_OPERAND_COMPLEX: return put_number(r, LW_KEY_WEAK, LW_DT_c128, &operand->value);
    default: break;
    }
    if (PyLong_Check(object))
        return put_derived_int(r, object);
    if (PyFloat_Check(object)) {
        double value = PyFloat_AS_DOUBLE(object);
        return put_number(r, LW_KEY_WEAK, LW_DT_f64, &value);
    }
    if (lw_is_member(object))
        return put_member(r, object);
    if (lw_is_foreign_host(object))
        return refuse_masked(r, object) < 0 ? -1 : put_foreign_host(r, object);
    shape = lw_object_shape_of(object);
    if (shape == NULL && PyErr_Occurred())
        return -1;
    if (shape != NULL)
        return put_object(r, object, shape);
    return is_constant(r, object) ? put_static(r, object) : refuse(r, object);
}

static int
put(binder *r, PyObject *object)
{
    const lw_object_shape *shape;
    lw_dtype dtype;
    lw_value value;
    int result;

    if (lw_is_device_array(object) && !((lw_device_array *)object)->misaligned)
        return put_own(r, (lw_device_array *)object);
    if (PyArray_CheckExact(object))
        return put_host(r, (PyArrayObject *)object);
    if (PyFloat_CheckExact(object)) {
        value.f64 = PyFloat_AS_DOUBLE(object);
        return put_number(r, LW_KEY_WEAK, LW_DT_f64, &value);
    }
    if (PyLong_CheckExact(object))
        return put_int(r, object);
    if (PyBool_Check(object)) {
        value.bytes[0] = object == Py_True;
        return put_number(r, LW_KEY_SCALAR, LW_DT_b1, &value);
    }
    if (PyTuple_Check(object)) {
        result = is_constant_tuple(r, object);
        return result < 0 ? -1 : result ? put_static(r, object) : put_tuple(r, object);
    }
    if (is_short_list(r, object))
        return put_list(r, object);
    if (object == Py_None || object == Py_Ellipsis) {
        const uint8_t key = object == Py_None ? LW_KEY_NONE : LW_KEY_ELLIPSIS;
        return put_key(r->bound, &key, 1);
    }
    if (PyArray_IsScalar(object, Void))
        return put_record(r, object);
    if (put_address(r, object, &result))
        return result;
    if (lw_scalar_read(object, &dtype, &value))
        return put_number(r, LW_KEY_SCALAR, dtype, &value);
    shape = PySlice_Check(object) ? lw_slice_shape() : lw_object_shape_seen(object);
    if (shape != NULL)
        return put_object(r, object, shape);
    return PyErr_Occurred() ? -1 : put_other(r, object);
}

/* ---- the call ---- */

/* The first parameter after the n given ones that has no default. */
static const char *
first_missing(const lw_function *self, uint32_t n)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    uint32_t i = self->n_index + n;

    while (i + 1 < fn->params.n && fn->params.data[i].default_constant != 0)
        i++;
    return fn->params.data[i].name;
}

static int
wrong_count(const lw_function *self, Py_ssize_t n)
{
    uint32_t most = self->n_params - self->n_index;
    const char *more = self->n_index ? " behind the index" : "";

    if (n < (Py_ssize_t)self->n_required)
        PyErr_Format(PyExc_TypeError, "%s() missing a required argument: '%s'",
                     lw_function_name(self), first_missing(self, (uint32_t)n));
    else if (self->n_required == most)
        PyErr_Format(PyExc_TypeError, "%s() takes %u argument%s%s but %zd %s given",
                     lw_function_name(self), (unsigned)most, most == 1 ? "" : "s", more, n,
                     n == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError, "%s() takes from %u to %u arguments%s but %zd %s given",
                     lw_function_name(self), (unsigned)self->n_required, (unsigned)most, more,
                     n, n == 1 ? "was" : "were");
    return -1;
}

int
lw_bind(const lw_function *self, PyObject *const *args, Py_ssize_t n_args, lw_bound *bound)
{
    binder r = {.self = self, .bound = bound};
    uint8_t last;

    bound->narrow = true;
    bound->n_args = (uint32_t)n_args;
    if (n_args < (Py_ssize_t)self->n_required ||
        n_args > (Py_ssize_t)(self->n_params - self->n_index)) {
        wrong_count(self, n_args);
        goto fail;
    }
    for (; r.arg < n_args; r.arg++)
        if ((lw_is_static(self, r.arg) ? put_static(&r, args[r.arg]) : put(&r, args[r.arg])) <
            0)
            goto fail;
    bound->narrow &= bound->where == LW_WHERE_DEVICE; /* CPUs address with 64 bits anyway */
    last = (uint8_t)(LW_KEY_END | (bound->narrow ? LW_KEY_NARROW : 0) |
                     (bound->negative ? LW_KEY_SIGNED : 0));
    if (put_key(bound, &last, 1) < 0)
        goto fail;
    return 0;
fail:
    lw_bound_release(bound);
    return -1;
}

bool
lw_bound_aligned(const lw_bound *bound)
{
    for (uint32_t i = 0; i < bound->n_arrays; i++)
        if (bound->values[bound->arrays[i].value] % 16 != 0)
            return false;
    return true;
}

void
lw_bound_release(lw_bound *bound)
{
    if (bound->n_copies != 0)
        lw_bound_copies_back(bound);
    bound->n_copies = 0;
    for (uint32_t i = 0; i < bound->n_operands; i++)
        lw_operand_release(bound->operands[i]);
    bound->n_operands = 0;
    if (bound->owned != NULL || bound->held != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        Py_CLEAR(bound->owned);
        Py_CLEAR(bound->held);
        PyErr_Restore(type, value, traceback);
    }
    if (bound->arrays != bound->array_store)
        lw_free(bound->arrays);
    if (bound->values != bound->value_store)
        lw_free(bound->values);
    if (bound->key != bound->key_store)
        lw_free(bound->key);
    bound->arrays = bound->array_store;
    bound->values = bound->value_store;
    bound->key = bound->key_store;
}
