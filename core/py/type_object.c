#include "core/py/type_object.h"

#include "core/py/numpy_api.h"

#include "core/base/hash.h"
#include "core/py/args.h"
#include "core/py/convert.h"
#include "core/py/raise.h"
#include "core/py/state.h"
#include "core/py/record_intern.h"

#include <string.h>

typedef struct type_object {
    PyObject_HEAD
    lw_sig_type type; /* what it points to is in the arena */
    lw_arena arena;
} type_object;

typedef struct signature_object {
    PyObject_HEAD
    PyObject *result; /* a type object */
    PyObject *args;   /* a tuple of type objects */
} signature_object;

static lw_state *loaded; /* one interpreter a process: module.c says so */

int
lw_state_traverse(lw_state *state, visitproc visit, void *arg)
{
    Py_VISIT(state->type_class);
    Py_VISIT(state->signature_class);
    for (int i = 0; i < LW_N_DTYPES; i++)
        Py_VISIT(state->scalars[i]);
    return 0;
}

void
lw_state_clear(lw_state *state)
{
    Py_CLEAR(state->type_class);
    Py_CLEAR(state->signature_class);
    for (int i = 0; i < LW_N_DTYPES; i++)
        Py_CLEAR(state->scalars[i]);
    if (loaded == state)
        loaded = NULL;
}

/* ---- making and reading ---- */

bool
lw_type_object_get(PyObject *object, lw_sig_type *out)
{
    if (loaded == NULL || Py_TYPE(object) != (PyTypeObject *)loaded->type_class)
        return false;
    if (out != NULL)
        *out = ((type_object *)object)->type;
    return true;
}

static bool
copy_names(lw_arena *arena, const lw_sig_type *from, lw_sig_type *to)
{
    const char **names;

    if (from->class_name == NULL)
        return true;
    to->class_name = lw_arena_strdup(arena, from->class_name);
    to->names = names = lw_arena_take(arena, (from->n + 1) * sizeof *names);
    if (to->class_name == NULL || names == NULL)
        return false;
    for (uint32_t i = 0; i < from->n; i++)
        if ((names[i] = lw_arena_strdup(arena, from->names[i])) == NULL)
            return false;
    return true;
}

static bool
copy_type(lw_arena *arena, const lw_sig_type *from, lw_sig_type *to)
{
    lw_sig_type *items;

    *to = *from;
    to->col = 0;
    if (from->kind != LW_SIG_TUPLE)
        return true;
    to->items = items = lw_arena_take(arena, (from->n + 1) * sizeof *items);
    for (uint32_t i = 0; items != NULL && i < from->n; i++)
        if (!copy_type(arena, &from->items[i], &items[i]))
            return false;
    return items != NULL && copy_names(arena, from, to);
}

static PyObject *
type_alloc(const lw_sig_type *type)
{
    PyTypeObject *class = (PyTypeObject *)loaded->type_class;
    type_object *self = (type_object *)class->tp_alloc(class, 0);

    if (self == NULL)
        return NULL;
    lw_arena_init(&self->arena);
    if (!copy_type(&self->arena, type, &self->type)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

PyObject *
lw_type_object_of(lw_dtype dtype)
{
    return Py_NewRef(loaded->scalars[dtype]);
}

PyObject *
lw_type_object_new(const lw_sig_type *type)
{
    if (type->kind == LW_SIG_VOID)
        return lw_type_object_of(LW_DT_void);
    if (type->kind == LW_SIG_SCALAR)
        return lw_type_object_of(type->dtype);
    return type_alloc(type);
}

static PyObject *
text_of(const lw_sig_type *type)
{
    PyObject *result = NULL;
    lw_text text;

    lw_text_init(&text);
    lw_sig_type_print(type, &text);
    if (text.failed)
        PyErr_NoMemory();
    else
        result = PyUnicode_FromString(lw_text_get(&text));
    lw_text_reset(&text);
    return result;
}

static PyObject *
type_repr(PyObject *self)
{
    return text_of(&((type_object *)self)->type);
}

static void
type_dealloc(PyObject *self)
{
    PyTypeObject *class = Py_TYPE(self);

    lw_arena_reset(&((type_object *)self)->arena);
    class->tp_free(self);
    Py_DECREF(class);
}

/* ---- comparing ---- */

static PyObject *
type_compare(PyObject *self, PyObject *other, int op)
{
    lw_sig_type x, y;

    if ((op != Py_EQ && op != Py_NE) || !lw_type_object_get(self, &x) ||
        !lw_type_object_get(other, &y))
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(lw_sig_type_same(&x, &y) == (op == Py_EQ));
}

static uint64_t
hash_of(const lw_sig_type *type)
{
    uint64_t key[5] = {type->kind, type->dtype, type->ndim, (uint64_t)type->layout,
                       (uint64_t)(uintptr_t)type->record};
    uint64_t hash = lw_hash64(key, sizeof key, type->n);

    for (uint32_t i = 0; i < type->n; i++)
        hash = hash * 1000003u ^ hash_of(&type->items[i]);
    return hash;
}

/* numpy.dtype compares equal to what converts to it, so a scalar hashes as its dtype. */
static Py_hash_t
type_hash(PyObject *self)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyArray_Descr *descr;
    Py_hash_t hash;

    if (type->kind == LW_SIG_SCALAR && lw_dtypes[type->dtype].numpy) {
        descr = lw_descr_of(type->dtype);
        return descr ? PyObject_Hash((PyObject *)descr) : -1;
    }
    hash = (Py_hash_t)(hash_of(type) >> 1);
    return hash == -1 ? -2 : hash;
}

/* ---- casting ---- */

static PyObject *
wrong_value(lw_dtype dtype, PyObject *value, const char *why)
{
    PyErr_Format(PyExc_TypeError, "%s() expected a number, got %.200s%s",
                 lw_dtypes[dtype].public_name, Py_TYPE(value)->tp_name, why);
    return NULL;
}

/* A Python number as an item: integers by their low 64 bits. */
static int
read_python(lw_dtype dtype, PyObject *value, lw_value *out, lw_dtype *from)
{
    Py_complex c;

    if (PyLong_Check(value) && (lw_is_integer(dtype) || dtype == LW_DT_b1)) {
        int truth = dtype == LW_DT_b1 ? PyObject_IsTrue(value) : 0;
        *from = LW_DT_u64;
        out->u64 = dtype == LW_DT_b1 ? (uint64_t)truth : PyLong_AsUnsignedLongLongMask(value);
    } else if (PyLong_Check(value) || PyFloat_Check(value)) {
        *from = LW_DT_f64;
        out->f64 = PyFloat_AsDouble(value);
    } else {
        c = PyComplex_AsCComplex(value);
        *from = LW_DT_c128;
        out->c128[0] = c.real;
        out->c128[1] = c.imag;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The item of a NumPy scalar or of a 0-d array, in its own type. */
static int
read_item(PyObject *value, lw_value *out, lw_dtype *from)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(value);
    int result = -1;

    if (array == NULL)
        return -1;
    *from = lw_dtype_of_descr(PyArray_DESCR(array));
    if (*from != LW_DT_void && PyArray_NDIM(array) == 0) {
        memcpy(out->bytes, PyArray_DATA(array), lw_dtypes[*from].size_bytes);
        result = 0;
    }
    Py_DECREF(array);
    return result;
}

static PyObject *
scalar_of(lw_dtype dtype, lw_value *item)
{
    PyArray_Descr *descr = lw_descr_of(dtype);

    if (descr == NULL)
        return NULL;
    if (descr->type_num == NPY_VOID) /* bfloat16, and nobody has brought a type for it */
        return PyFloat_FromDouble(
            lw_bf16_to_double((uint16_t)(item->bytes[0] | item->bytes[1] << 8)));
    return PyArray_Scalar(item->bytes, descr, NULL);
}

static PyObject *
cast_array(lw_dtype dtype, PyArrayObject *array)
{
    PyArray_Descr *descr = lw_descr_of(dtype);

    if (descr == NULL)
        return NULL;
    return PyArray_CastToType(array, (PyArray_Descr *)Py_NewRef(descr), 0);
}

PyObject *
lw_type_cast(lw_dtype dtype, PyObject *value)
{
    lw_value item = {0}, result = {0};
    lw_dtype from = LW_DT_void;

    if (PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) > 0)
        return cast_array(dtype, (PyArrayObject *)value);
    if (PyArray_CheckAnyScalar(value) && !PyLong_CheckExact(value) &&
        !PyFloat_CheckExact(value) && !PyComplex_CheckExact(value) && !PyBool_Check(value) &&
        !PyUnicode_Check(value) && !PyBytes_Check(value)) {
        if (read_item(value, &item, &from) < 0 && !PyErr_Occurred())
            return wrong_value(dtype, value, "");
    } else if (PyUnicode_Check(value) || PyBytes_Check(value) || !PyNumber_Check(value) ||
               read_python(dtype, value, &item, &from) < 0) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
            return NULL;
        PyErr_Clear();
        return wrong_value(dtype, value, "");
    }
    if (PyErr_Occurred())
        return NULL;
    if (lw_is_complex(from) && !lw_is_complex(dtype) && dtype != LW_DT_b1)
        return wrong_value(dtype, value, ": take .real or abs() first");
    lw_value_cast(&item, from, &result, dtype);
    return scalar_of(dtype, &result);
}

/* ---- calling: a value casts, types make a signature ---- */

static PyObject *
signature_new(PyObject *result, PyObject *args)
{
    PyTypeObject *class = (PyTypeObject *)loaded->signature_class;
    signature_object *self = (signature_object *)class->tp_alloc(class, 0);

    if (self != NULL) {
        self->result = Py_NewRef(result);
        self->args = Py_NewRef(args);
    }
    return (PyObject *)self;
}

/* Python and NumPy types are welcome beside ours: float64(int, np.float32). New reference; NULL
 * without an exception: this is a value. */
static PyObject *
as_type_object(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;

    if (lw_type_object_get(object, NULL))
        return Py_NewRef(object);
    if (!PyType_Check(object) && !PyArray_DescrCheck(object))
        return NULL;
    if (!PyArray_DescrConverter(object, &descr)) {
        PyErr_Clear();
        return NULL;
    }
    dtype = lw_dtype_of_descr(descr);
    Py_DECREF(descr);
    return dtype == LW_DT_void ? NULL : lw_type_object_of(dtype);
}

static PyObject *
call_with_types(PyObject *self, PyObject *args)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *types = PyTuple_New(n), *signature = NULL;

    for (Py_ssize_t i = 0; types != NULL && i < n; i++) {
        PyObject *type = as_type_object(PyTuple_GET_ITEM(args, i));
        if (type == NULL) {
            PyErr_Format(PyExc_TypeError,
                         "%S(): argument %zd of a signature must be a type, got %.200s", self,
                         i + 1, Py_TYPE(PyTuple_GET_ITEM(args, i))->tp_name);
            Py_CLEAR(types);
            break;
        }
        PyTuple_SET_ITEM(types, i, type);
    }
    if (types != NULL)
        signature = signature_new(self, types);
    Py_XDECREF(types);
    return signature;
}

static PyObject *
type_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyObject *first, *probe;

    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_Format(PyExc_TypeError, "%S() takes no keyword arguments", self);
        return NULL;
    }
    if (PyTuple_GET_SIZE(args) != 1)
        return call_with_types(self, args);
    first = PyTuple_GET_ITEM(args, 0);
    probe = as_type_object(first);
    Py_XDECREF(probe);
    if (probe != NULL || type->kind != LW_SIG_SCALAR)
        return call_with_types(self, args);
    return lw_type_cast(type->dtype, first);
}

/* ---- indexing: array types ---- */

/* `:` gives 0, `::1` gives 1, anything else -1. */
static int
contiguous_axis(PyObject *item)
{
    PySliceObject *slice = (PySliceObject *)item;

    if (!PySlice_Check(item) || slice->start != Py_None || slice->stop != Py_None)
        return -1;
    if (slice->step == Py_None)
        return 0;
    return PyLong_Check(slice->step) && PyLong_AsLong(slice->step) == 1 ? 1 : -1;
}

static PyObject *
wrong_index(PyObject *self)
{
    PyErr_Clear();
    PyErr_Format(
        PyExc_TypeError,
        "%S[...]: expected `:` for each axis, with `::1` for the first (Fortran order) or "
        "the last (C order) one",
        self);
    return NULL;
}

static PyObject *
type_subscript(PyObject *self, PyObject *key)
{
    lw_sig_type type = ((type_object *)self)->type;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int n_contiguous = 0, first = 0, last = 0;

    if (type.kind != LW_SIG_SCALAR && type.kind != LW_SIG_RECORD) {
        PyErr_Format(PyExc_TypeError, "%S cannot be the element of an array", self);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        last = contiguous_axis(PyTuple_Check(key) ? PyTuple_GET_ITEM(key, i) : key);
        if (last < 0)
            return wrong_index(self);
        n_contiguous += last;
        first = i == 0 ? last : first;
    }
    if (n < 1 || n > 32 || n_contiguous > 1 || (n_contiguous == 1 && !first && !last))
        return wrong_index(self);
    type.kind = LW_SIG_ARRAY;
    type.ndim = (uint32_t)n;
    type.layout = last ? 'C' : first ? 'F' : 'A';
    return type_alloc(&type);
}

/* ---- attributes ---- */

static PyObject *
type_get_dtype(PyObject *self, void *closure)
{
    lw_dtype dtype = ((type_object *)self)->type.dtype;
    const lw_arg_record *record = ((type_object *)self)->type.record;

    (void)closure;
    if (record != NULL)
        return Py_NewRef((PyObject *)lw_record_descr(record));
    if (dtype == LW_DT_void)
        return PyErr_Format(PyExc_AttributeError, "%S has no dtype", self);
    return Py_XNewRef((PyObject *)lw_descr_of(dtype));
}

/* closure: bytes or bits, 1 or 8 of them */
static PyObject *
type_get_size(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;

    if (type->record != NULL)
        return PyLong_FromSsize_t(lw_record_descr(type->record)->elsize *
                                  (Py_ssize_t)(intptr_t)closure);
    if (type->dtype == LW_DT_void || type->kind == LW_SIG_POINTER)
        return PyErr_Format(PyExc_AttributeError, "%S has no size", self);
    return PyLong_FromSsize_t(lw_dtypes[type->dtype].size_bytes *
                              (Py_ssize_t)(intptr_t)closure);
}

static PyObject *
type_get_types(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyObject *types;

    (void)closure;
    if (type->kind != LW_SIG_TUPLE)
        return PyErr_Format(PyExc_AttributeError, "%S is no tuple", self);
    types = PyTuple_New((Py_ssize_t)type->n);
    for (uint32_t i = 0; types != NULL && i < type->n; i++) {
        PyObject *item = lw_type_object_new(&type->items[i]);
        if (item == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i, item);
    }
    return types;
}

/* The names of a namedtuple's items; None of other tuples. */
static PyObject *
type_get_fields(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyObject *names;

    (void)closure;
    if (type->class_name == NULL)
        Py_RETURN_NONE;
    names = PyTuple_New((Py_ssize_t)type->n);
    for (uint32_t i = 0; names != NULL && i < type->n; i++) {
        PyObject *name = PyUnicode_FromString(type->names[i]);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyObject *
type_get_number(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;

    (void)closure;
    if (type->kind != LW_SIG_SCALAR) {
        PyErr_SetString(PyExc_AttributeError, "only scalar types cast");
        return NULL;
    }
    return PyLong_FromLong(type->dtype);
}

static PyObject *
type_get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(((type_object *)self)->type.ndim);
}

static PyObject *
type_get_layout(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;

    (void)closure;
    if (type->kind != LW_SIG_ARRAY)
        Py_RETURN_NONE;
    return PyUnicode_FromFormat("%c", type->layout);
}

static PyObject *
type_get_name(PyObject *self, void *closure)
{
    (void)closure;
    return type_repr(self);
}

/* The names of records mean nothing to another process: from_dtype(dtype), and what makes an
 * array type of it. */
static PyObject *
reduce_record(PyObject *self)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyObject *module = PyImport_ImportModule("lanewise._core");
    PyObject *make = module ? PyObject_GetAttrString(module, "_record_type") : NULL;
    char layout[2] = {type->layout ? type->layout : 'A', '\0'};
    PyObject *result =
        make ? Py_BuildValue("N(OIs)", make, (PyObject *)lw_record_descr(type->record),
                             (unsigned)type->ndim, layout)
             : NULL;

    Py_XDECREF(module);
    return result;
}

/* _record_type(dtype, ndim, layout): ndim 0 for the record itself */
static PyObject *
record_type(PyObject *module, PyObject *args)
{
    lw_sig_type type = {.kind = LW_SIG_RECORD};
    PyObject *descr;
    const char *layout;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!Is", &PyArrayDescr_Type, &descr, &type.ndim, &layout))
        return NULL;
    type.record = lw_record_intern((PyArray_Descr *)descr);
    if (type.record == NULL)
        return NULL;
    if (type.ndim > 0) {
        type.kind = LW_SIG_ARRAY;
        type.layout = *layout;
    }
    return lw_type_object_new(&type);
}

static PyObject *
reduce_tuple(PyObject *self)
{
    PyObject *module = PyImport_ImportModule("lanewise._core");
    PyObject *make = module ? PyObject_GetAttrString(module, "_tuple_type") : NULL;
    PyObject *types = type_get_types(self, NULL), *fields = type_get_fields(self, NULL);
    PyObject *result = NULL;

    if (make != NULL && types != NULL && fields != NULL)
        result = Py_BuildValue("O(OOz)", make, types, fields,
                               ((type_object *)self)->type.class_name);
    Py_XDECREF(fields);
    Py_XDECREF(types);
    Py_XDECREF(make);
    Py_XDECREF(module);
    return result;
}

static bool
read_items(PyObject *types, lw_arena *arena, lw_sig_type *out)
{
    lw_sig_type *items = lw_arena_take(arena, ((size_t)out->n + 1) * sizeof *items);

    if (items == NULL)
        return PyErr_NoMemory() != NULL;
    out->items = items;
    for (uint32_t i = 0; i < out->n; i++)
        if (!lw_type_object_get(PyTuple_GET_ITEM(types, i), &items[i]) ||
            items[i].kind == LW_SIG_POINTER) {
            PyErr_Format(PyExc_TypeError, "types: item %u must be a type, got %R", (unsigned)i,
                         PyTuple_GET_ITEM(types, i));
            return false;
        }
    return true;
}

static bool
read_item_names(PyObject *fields, lw_arena *arena, lw_sig_type *out)
{
    const char **names = lw_arena_take(arena, ((size_t)out->n + 1) * sizeof *names);

    if (names == NULL)
        return PyErr_NoMemory() != NULL;
    out->names = names;
    if (!PyTuple_Check(fields) || PyTuple_GET_SIZE(fields) != (Py_ssize_t)out->n) {
        PyErr_Format(PyExc_TypeError, "%s has not one name for each of %u types",
                     out->class_name, (unsigned)out->n);
        return false;
    }
    for (uint32_t i = 0; i < out->n; i++)
        if ((names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i))) == NULL)
            return false;
    return true;
}

/* _tuple_type(types, fields, class_name): fields and class_name None unless of a namedtuple */
static PyObject *
tuple_type(PyObject *module, PyObject *args)
{
    lw_sig_type type = {.kind = LW_SIG_TUPLE};
    PyObject *types, *fields, *result = NULL;
    lw_arena arena;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!Oz", &PyTuple_Type, &types, &fields, &type.class_name))
        return NULL;
    lw_arena_init(&arena);
    type.n = (uint32_t)PyTuple_GET_SIZE(types);
    if (read_items(types, &arena, &type) &&
        (type.class_name == NULL || read_item_names(fields, &arena, &type)))
        result = type_alloc(&type);
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
type_reduce(PyObject *self, PyObject *unused)
{
    PyObject *module;

    if (((type_object *)self)->type.record != NULL)
        return reduce_record(self);
    if (((type_object *)self)->type.kind == LW_SIG_TUPLE)
        return reduce_tuple(self);
    module = PyImport_ImportModule("lanewise._core");
    PyObject *make = module ? PyObject_GetAttrString(module, "_type_from_text") : NULL;
    PyObject *result = make ? Py_BuildValue("N(N)", make, type_repr(self)) : NULL;

    (void)unused;
    Py_XDECREF(module);
    return result;
}

static PyGetSetDef type_getset[] = {
    {"dtype", type_get_dtype, NULL, PyDoc_STR("NumPy's dtype of a value or element"), NULL},
    {"itemsize", type_get_size, NULL, PyDoc_STR("bytes of a value or element"), (void *)1},
    {"bitwidth", type_get_size, NULL, PyDoc_STR("bits of a value or element"), (void *)8},
    {"types", type_get_types, NULL, PyDoc_STR("of a tuple's items"), NULL},
    {"fields", type_get_fields, NULL,
     PyDoc_STR("the names of a namedtuple's items; None for other types"), NULL},
    {"name", type_get_name, NULL, PyDoc_STR("as signatures spell it"), NULL},
    {"ndim", type_get_ndim, NULL, PyDoc_STR("number of axes; 0 for scalars"), NULL},
    {"layout", type_get_layout, NULL,
     PyDoc_STR("'C', 'F' or 'A' (any strides); None for scalars"), NULL},
    {"__lanewise_dtype__", type_get_number, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef type_methods[] = {
    {"__reduce__", type_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("A type of lanewise.\n\n"
                       ">>> float32(1.5), float32[:, ::1], float64(float64, int32)\n"
                       "(np.float32(1.5), float32[:, ::1], float64(float64, int32))")},
    {Py_tp_dealloc, (void *)type_dealloc},
    {Py_tp_repr, (void *)type_repr},
    {Py_tp_hash, (void *)type_hash},
    {Py_tp_richcompare, (void *)type_compare},
    {Py_tp_call, (void *)type_call},
    {Py_mp_subscript, (void *)type_subscript},
    {Py_tp_getset, type_getset},
    {Py_tp_methods, type_methods},
    {0, NULL},
};

static PyType_Spec type_spec = {
    .name = "lanewise.types.Type",
    .basicsize = sizeof(type_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = type_slots,
};

/* ---- signatures ---- */

static PyObject *
signature_repr(PyObject *object)
{
    signature_object *self = (signature_object *)object;
    PyObject *parts = PyList_New(0), *comma = PyUnicode_FromString(", "), *joined = NULL;
    PyObject *text = NULL;

    for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(self->args); i++) {
        PyObject *part = type_repr(PyTuple_GET_ITEM(self->args, i));
        if (part == NULL || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    if (parts != NULL && comma != NULL)
        joined = PyUnicode_Join(comma, parts);
    if (joined != NULL)
        text = PyUnicode_FromFormat("%S(%U)", self->result, joined);
    Py_XDECREF(parts);
    Py_XDECREF(comma);
    Py_XDECREF(joined);
    return text;
}

static void
signature_dealloc(PyObject *object)
{
    signature_object *self = (signature_object *)object;
    PyTypeObject *class = Py_TYPE(object);

    Py_XDECREF(self->result);
    Py_XDECREF(self->args);
    class->tp_free(object);
    Py_DECREF(class);
}

static PyObject *
signature_compare(PyObject *x, PyObject *y, int op)
{
    signature_object *a = (signature_object *)x, *b = (signature_object *)y;
    int same;

    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(x) != Py_TYPE(y))
        Py_RETURN_NOTIMPLEMENTED;
    same = PyObject_RichCompareBool(a->result, b->result, Py_EQ);
    if (same == 1)
        same = PyObject_RichCompareBool(a->args, b->args, Py_EQ);
    return same < 0 ? NULL : PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t
signature_hash(PyObject *object)
{
    signature_object *self = (signature_object *)object;
    Py_hash_t x = PyObject_Hash(self->result), y = PyObject_Hash(self->args);
    Py_hash_t hash = (Py_hash_t)((Py_uhash_t)x * 1000003u ^ (Py_uhash_t)y);

    if (x == -1 || y == -1)
        return -1;
    return hash == -1 ? -2 : hash;
}

static PyObject *
signature_get_result(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((signature_object *)self)->result);
}

static PyObject *
signature_get_args(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((signature_object *)self)->args);
}

static PyObject *
signature_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("OO", ((signature_object *)self)->result,
                         ((signature_object *)self)->args);
}

static PyGetSetDef signature_getset[] = {
    {"return_type", signature_get_result, NULL, PyDoc_STR("the type of the result"), NULL},
    {"args", signature_get_args, NULL, PyDoc_STR("the types of the arguments"), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef signature_methods[] = {
    {"__reduce__", signature_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot signature_slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("What a compiled loop takes and gives: float64(float64, int32)")},
    {Py_tp_dealloc, (void *)signature_dealloc},
    {Py_tp_repr, (void *)signature_repr},
    {Py_tp_hash, (void *)signature_hash},
    {Py_tp_richcompare, (void *)signature_compare},
    {Py_tp_getset, signature_getset},
    {Py_tp_methods, signature_methods},
    {0, NULL},
};

static PyType_Spec signature_spec = {
    .name = "lanewise.types.Signature",
    .basicsize = sizeof(signature_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = signature_slots,
};

/* ---- functions of the module ---- */

static PyObject *
type_from_text(PyObject *module, PyObject *text)
{
    const char *utf8 = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    lw_sig_type type;
    lw_error err = {0};
    PyObject *result = NULL;
    lw_arena arena;

    (void)module;
    if (utf8 == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a type's name must be a str");
        return NULL;
    }
    lw_arena_init(&arena);
    if (lw_signature_parse_type(utf8, &arena, &type, &err) == LW_OK)
        result = lw_type_object_new(&type);
    else
        lw_py_raise(&err);
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
from_dtype(PyObject *module, PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;

    (void)module;
    if (lw_type_object_get(object, NULL))
        return Py_NewRef(object);
    if (!PyArray_DescrConverter(object, &descr))
        return NULL;
    dtype = lw_dtype_of_descr(descr);
    if (dtype == LW_DT_void && PyDataType_HASFIELDS(descr)) {
        lw_sig_type type = {.kind = LW_SIG_RECORD, .record = lw_record_intern(descr)};
        Py_DECREF(descr);
        return type.record ? lw_type_object_new(&type) : NULL;
    }
    if (dtype == LW_DT_void)
        PyErr_Format(
            PyExc_TypeError,
            "from_dtype: %R has no arithmetic here; expected bool, an integer, float16 to "
            "float64, complex64 to complex128, or a structured dtype of these, in native byte "
            "order",
            (PyObject *)descr);
    Py_DECREF(descr);
    return dtype == LW_DT_void ? NULL : lw_type_object_of(dtype);
}

static PyObject *type_of(PyObject *module, PyObject *value);

/* The type of a device array, a NumPy array or a scalar that was read as an operand. */
static PyObject *
type_of_operand(const lw_operand *operand, PyObject *value)
{
    lw_sig_type type = {.kind = LW_SIG_ARRAY,
                        .dtype = (lw_dtype)operand->dtype,
                        .ndim = (uint32_t)operand->ndim,
                        .layout = 'A'};

    if (operand->dtype == LW_DT_void && operand->descr != NULL &&
        PyDataType_HASFIELDS(operand->descr)) {
        type.record = lw_record_intern(operand->descr);
        if (type.record == NULL)
            return NULL;
    } else if (operand->dtype == LW_DT_void) {
        PyErr_Format(PyExc_TypeError, "typeof: the dtype of this %.200s has no arithmetic here",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    if ((operand->kind != LW_OPERAND_DEVICE && operand->kind != LW_OPERAND_HOST) ||
        operand->ndim == 0) {
        type.kind = LW_SIG_RECORD;
        return type.record ? type_alloc(&type) : lw_type_object_of((lw_dtype)operand->dtype);
    }
    if (lw_layout_is_c(operand->ndim, operand->shape, operand->strides, operand->itemsize))
        type.layout = 'C';
    else if (lw_layout_is_f(operand->ndim, operand->shape, operand->strides, operand->itemsize))
        type.layout = 'F';
    return lw_type_object_new(&type);
}

static PyObject *
type_of_tuple(PyObject *module, PyObject *value)
{
    PyObject *types = PyTuple_New(PyTuple_GET_SIZE(value)), *fields = NULL, *args = NULL;
    PyObject *result = NULL;

    for (Py_ssize_t i = 0; types != NULL && i < PyTuple_GET_SIZE(value); i++) {
        PyObject *item = type_of(module, PyTuple_GET_ITEM(value, i));
        if (item == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i, item);
    }
    if (types == NULL)
        return NULL;
    if (!PyTuple_CheckExact(value))
        fields = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "_fields");
    PyErr_Clear();
    args = fields ? Py_BuildValue("OOs", types, fields, Py_TYPE(value)->tp_name)
                  : Py_BuildValue("OOO", types, Py_None, Py_None);
    if (args != NULL)
        result = tuple_type(module, args);
    Py_XDECREF(args);
    Py_XDECREF(fields);
    Py_DECREF(types);
    return result;
}

static PyObject *
type_of_record(PyObject *module, PyObject *value)
{
    PyArray_Descr *descr = PyArray_DescrFromScalar(value);
    PyObject *result = descr ? from_dtype(module, (PyObject *)descr) : NULL;

    Py_XDECREF(descr);
    return result;
}

static PyObject *
type_of(PyObject *module, PyObject *value)
{
    lw_operand operand;
    PyObject *result;

    if (PyTuple_Check(value))
        return type_of_tuple(module, value);
    if (PyArray_IsScalar(value, Void))
        return type_of_record(module, value);
    if (value == Py_None)
        return lw_type_object_of(LW_DT_void);
    if (PyLong_CheckExact(value)) /* of any size: int is int64 in compiled code */
        return lw_type_object_of(LW_DT_i64);
    if (lw_operand_read(&operand, value) < 0)
        return NULL;
    if (operand.kind == LW_OPERAND_OTHER) {
        lw_operand_release(&operand);
        PyErr_Format(PyExc_TypeError,
                     "typeof: expected a number, a NumPy scalar, an array or a tuple of these, "
                     "got %.200s",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    result = type_of_operand(&operand, value);
    lw_operand_release(&operand);
    return result;
}

static PyMethodDef functions[] = {
    {"typeof", type_of, METH_O,
     PyDoc_STR("typeof(value)\n\nThe type that compiled code gives a value.\n\n"
               ">>> typeof(np.zeros((2, 3), 'f4'))\nfloat32[:, ::1]")},
    {"from_dtype", from_dtype, METH_O,
     PyDoc_STR(
         "from_dtype(dtype)\n\nThe type of a NumPy dtype, or of anything that names one.")},
    {"_tuple_type", tuple_type, METH_VARARGS, NULL},
    {"_record_type", record_type, METH_VARARGS, NULL},
    {"_type_from_text", type_from_text, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int
make_classes(lw_state *state, PyObject *module)
{
    state->type_class = PyType_FromModuleAndSpec(module, &type_spec, NULL);
    state->signature_class = PyType_FromModuleAndSpec(module, &signature_spec, NULL);
    if (state->type_class == NULL || state->signature_class == NULL)
        return -1;
    loaded = state;
    return 0;
}

static int
make_scalar(lw_state *state, PyObject *module, lw_dtype dtype)
{
    lw_sig_type type = {.kind = dtype ? LW_SIG_SCALAR : LW_SIG_VOID, .dtype = dtype};
    const char *name = dtype == LW_DT_b1 ? "bool_" : lw_dtypes[dtype].public_name;

    state->scalars[dtype] = type_alloc(&type);
    return state->scalars[dtype] ? PyModule_AddObjectRef(module, name, state->scalars[dtype])
                                 : -1;
}

int
lw_types_register(PyObject *module)
{
    lw_state *state = PyModule_GetState(module);

    if (make_classes(state, module) < 0 ||
        PyModule_AddObjectRef(module, "Type", state->type_class) < 0 ||
        PyModule_AddObjectRef(module, "Signature", state->signature_class) < 0)
        return -1;
    for (int dtype = LW_DT_void; dtype < LW_DT_ptr; dtype++)
        if (make_scalar(state, module, (lw_dtype)dtype) < 0)
            return -1;
    if (PyModule_AddObjectRef(module, "intp", state->scalars[LW_DT_i64]) < 0 ||
        PyModule_AddObjectRef(module, "uintp", state->scalars[LW_DT_u64]) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
