#include "core/py/types/type_object.h"

#include "core/py/numpy_api.h"

#include "core/base/hash.h"
#include "core/py/array/convert.h"
#include "core/py/record_intern.h"
#include "core/py/state.h"
#include "core/py/text_py.h"
#include "core/py/types/type_base.h"
#include "core/py/types/type_cast.h"
#include "core/py/types/type_signature.h"

#include <string.h>

typedef struct type_object {
    lw_type_base base;
    lw_sig_type type; /* what it points to is in the arena */
    lw_arena arena;
} type_object;

/* ---- making and reading ---- */

bool
lw_type_object_get(PyObject *object, lw_sig_type *out)
{
    if (Py_TYPE(object) != lw_core->type_type)
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
    if (from->n == 0 && from->kind != LW_SIG_TUPLE)
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
    PyTypeObject *class = lw_state_class(lw_core->type_type);
    type_object *self = class ? (type_object *)class->tp_alloc(class, 0) : NULL;

    if (self == NULL)
        return NULL;
    lw_arena_init(&self->arena);
    if (!copy_type(&self->arena, type, &self->type)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

/* One for each unit, when it is first asked for. */
static PyObject *
type_of_time(lw_dtype dtype)
{
    lw_sig_type type = {.kind = LW_SIG_SCALAR, .dtype = dtype};
    lw_found *place = &lw_core->found.times[dtype];
    PyObject *known = lw_found_get(place);

    return Py_XNewRef(known ? known : lw_found_set(place, type_alloc(&type)));
}

PyObject *
lw_type_object_of(lw_dtype dtype)
{
    if (lw_is_time(dtype))
        return type_of_time(dtype);
    if (lw_core->scalars[dtype] == NULL)
        PyErr_SetString(PyExc_RuntimeError, "lanewise is unloaded");
    return Py_XNewRef(lw_core->scalars[dtype]);
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
    uint64_t key[] = {type->kind,
                      type->dtype,
                      type->ndim,
                      (uint64_t)type->layout,
                      (uint64_t)(uintptr_t)type->record,
                      type->readonly};
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

/* ---- calling: a value casts, types make a signature ---- */

/* Python and NumPy types are welcome beside ours: float64(int, np.float32). New reference; NULL
 * without an exception: this is a value. Types of the user's are refused. */
static PyObject *
as_type_object(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    lw_dtype dtype;

    if (lw_type_object_get(object, NULL))
        return Py_NewRef(object);
    if (PyObject_TypeCheck(object, lw_core->type_type->tp_base))
        return PyErr_Format(PyExc_TypeError,
                            "signatures cannot name %S, a type of your own: leave the "
                            "signatures out",
                            object);
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
        if (type == NULL && PyErr_Occurred()) {
            Py_CLEAR(types);
            break;
        }
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
        signature = lw_signature_object_new(lw_core->signature_type, self, types);
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
    if (PyErr_Occurred())
        return NULL;
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

/* Whether it is a tuple of scalars of one type. */
static bool
is_uniform(const lw_sig_type *type)
{
    bool same = type->kind == LW_SIG_TUPLE && type->n != 0;

    for (uint32_t i = 0; same && i < type->n; i++)
        same = type->items[i].kind == LW_SIG_SCALAR &&
               type->items[i].dtype == type->items[0].dtype;
    return same;
}

static PyObject *
type_get_dtype(PyObject *self, void *closure)
{
    lw_dtype dtype = ((type_object *)self)->type.dtype;
    const lw_arg_record *record = ((type_object *)self)->type.record;

    (void)closure;
    if (record != NULL)
        return Py_NewRef((PyObject *)lw_record_descr(record));
    if (is_uniform(&((type_object *)self)->type))
        dtype = ((type_object *)self)->type.items[0].dtype;
    if (dtype == LW_DT_void)
        return PyErr_Format(PyExc_AttributeError, "%S has no dtype", self);
    return Py_XNewRef((PyObject *)lw_descr_of(dtype));
}

/* The float type of a complex type's parts. */
static PyObject *
type_get_underlying_float(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_sig_type *type = &((type_object *)self)->type;

    if (type->kind != LW_SIG_SCALAR || lw_dtypes[type->dtype].kind != LW_KIND_COMPLEX)
        return PyErr_Format(PyExc_AttributeError, "%S is not a complex type", self);
    return lw_type_object_of(type->dtype == LW_DT_c64 ? LW_DT_f32 : LW_DT_f64);
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
type_get_count(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;

    (void)closure;
    if (type->kind != LW_SIG_TUPLE)
        return PyErr_Format(PyExc_AttributeError, "%S is not a tuple", self);
    return PyLong_FromUnsignedLong(type->n);
}

/* Of a tuple, as numba's types of tuples have it. */
static Py_ssize_t
type_length(PyObject *self)
{
    const lw_sig_type *type = &((type_object *)self)->type;

    if (type->kind == LW_SIG_TUPLE)
        return (Py_ssize_t)type->n;
    PyErr_Format(PyExc_TypeError, "%S is not a tuple: it has no items", self);
    return -1;
}

/* True, also of types that have no length. */
static int
type_truth(PyObject *self)
{
    (void)self;
    return 1;
}

static PyObject *
type_get_types(PyObject *self, void *closure)
{
    const lw_sig_type *type = &((type_object *)self)->type;
    PyObject *types;

    (void)closure;
    if (type->kind != LW_SIG_TUPLE)
        return PyErr_Format(PyExc_AttributeError, "%S is not a tuple", self);
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

    (void)closure;
    if (type->class_name == NULL)
        Py_RETURN_NONE;
    return lw_text_names(type->names, type->n);
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
type_get_signed(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_sig_type *type = &((type_object *)self)->type;

    if (type->kind != LW_SIG_SCALAR || !lw_is_integer(type->dtype))
        return PyErr_Format(PyExc_AttributeError, "%S is not an integer type", self);
    return PyBool_FromLong(lw_is_signed(type->dtype));
}

/* "D", "10ms": what its name has in brackets. */
static PyObject *
type_get_unit(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_sig_type *type = &((type_object *)self)->type;
    const char *name = lw_dtypes[type->dtype].public_name, *start = strchr(name, '[');

    if (type->kind != LW_SIG_SCALAR || !lw_is_time(type->dtype) || start == NULL)
        return PyErr_Format(PyExc_AttributeError, "%S has no unit", self);
    return PyUnicode_FromStringAndSize(start + 1, (Py_ssize_t)strlen(start) - 2);
}

/* It has no model. */
static PyObject *
type_get_none(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    Py_RETURN_NONE;
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
type_get_mutable(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_sig_type *type = &((type_object *)self)->type;

    return PyBool_FromLong(type->kind == LW_SIG_ARRAY && !type->readonly);
}

/* What a value of an optional type is, if it is not None. */
static PyObject *
type_get_type(PyObject *self, void *Py_UNUSED(closure))
{
    const lw_sig_type *type = &((type_object *)self)->type;

    if (type->kind != LW_SIG_OPTIONAL)
        return PyErr_Format(PyExc_AttributeError, "%S is not optional", self);
    return lw_type_object_new(&type->items[0]);
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
        make ? Py_BuildValue("N(OIsi)", make, (PyObject *)lw_record_descr(type->record),
                             (unsigned)type->ndim, layout, (int)type->readonly)
             : NULL;

    Py_XDECREF(module);
    return result;
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
    {"dtype", type_get_dtype, NULL,
     PyDoc_STR(
         "the NumPy dtype of a value or an element, or of the items of a tuple of one type"),
     NULL},
    {"itemsize", type_get_size, NULL, PyDoc_STR("the bytes of a value or an element"),
     (void *)1},
    {"bitwidth", type_get_size, NULL, PyDoc_STR("the bits of a value or an element"),
     (void *)8},
    {"types", type_get_types, NULL, PyDoc_STR("the types of the items of a tuple"), NULL},
    {"count", type_get_count, NULL, PyDoc_STR("the number of items of a tuple"), NULL},
    {"fields", type_get_fields, NULL,
     PyDoc_STR("the names of the items of a namedtuple; None for other types"), NULL},
    {"name", type_get_name, NULL, PyDoc_STR("the name in signatures"), NULL},
    {"ndim", type_get_ndim, NULL, PyDoc_STR("the number of dimensions; 0 for scalars"), NULL},
    {"layout", type_get_layout, NULL,
     PyDoc_STR("the layout of an array, 'C', 'F' or 'A' (any strides); None for scalars"),
     NULL},
    {"mutable", type_get_mutable, NULL,
     PyDoc_STR("whether it is the type of arrays that functions may write to"), NULL},
    {"type", type_get_type, NULL, PyDoc_STR("the type of a value of an optional type"), NULL},
    {"underlying_float", type_get_underlying_float, NULL,
     PyDoc_STR("the type of the parts of a complex type"), NULL},
    {"signed", type_get_signed, NULL, PyDoc_STR("whether an integer type has a sign"), NULL},
    {"unit", type_get_unit, NULL,
     PyDoc_STR("the unit of a datetime64 or timedelta64, such as \"D\" or \"10ms\""), NULL},
    {"__lanewise_dtype__", type_get_number, NULL, NULL, NULL},
    {"__lanewise_struct__", type_get_none, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Over the types of a tuple's items. */
static PyObject *
type_iterate(PyObject *self)
{
    PyObject *types = type_length(self) < 0 ? NULL : type_get_types(self, NULL);
    PyObject *iterator = types ? PyObject_GetIter(types) : NULL;

    Py_XDECREF(types);
    return iterator;
}

static PyMethodDef type_methods[] = {
    {"__reduce__", type_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR(
                    "A type of compiled code, for signatures, array types and conversions.\n\n"
                    ">>> float32(1.5), float32[:, ::1], float64(float64, int32)\n"
                    "(np.float32(1.5), float32[:, ::1], float64(float64, int32))")},
    {Py_tp_dealloc, (void *)type_dealloc},
    {Py_tp_repr, (void *)type_repr},
    {Py_tp_hash, (void *)type_hash},
    {Py_tp_richcompare, (void *)type_compare},
    {Py_tp_call, (void *)type_call},
    {Py_mp_subscript, (void *)type_subscript},
    {Py_mp_length, (void *)type_length},
    {Py_tp_iter, (void *)type_iterate},
    {Py_nb_bool, (void *)type_truth},
    {Py_tp_getset, type_getset},
    {Py_tp_methods, type_methods},
    {0, NULL},
};

static PyType_Spec type_spec = {
    .name = "lanewise._core.CoreType",
    .basicsize = sizeof(type_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = type_slots,
};

/* ---- registering ---- */

static int
make_classes(PyObject *module)
{
    PyTypeObject *base = lw_type_base_class_new(module);

    if (base == NULL || PyModule_AddObjectRef(module, "Type", (PyObject *)base) < 0) {
        Py_XDECREF(base);
        return -1;
    }
    lw_core->type_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &type_spec, (PyObject *)base);
    lw_core->signature_type = lw_signature_class_new(module);
    Py_DECREF(base);
    return lw_core->type_type == NULL || lw_core->signature_type == NULL ? -1 : 0;
}

static int
make_scalar(PyObject *module, lw_dtype dtype)
{
    lw_sig_type type = {.kind = dtype ? LW_SIG_SCALAR : LW_SIG_VOID, .dtype = dtype};
    const char *name = dtype == LW_DT_b1 ? "bool_" : lw_dtypes[dtype].public_name;
    PyObject *scalar = type_alloc(&type);

    lw_core->scalars[dtype] = scalar;
    return scalar ? PyModule_AddObjectRef(module, name, scalar) : -1;
}

int
lw_types_register(PyObject *module)
{
    if (make_classes(module) < 0 ||
        PyModule_AddObjectRef(module, "CoreType", (PyObject *)lw_core->type_type) < 0 ||
        PyModule_AddObjectRef(module, "Signature", (PyObject *)lw_core->signature_type) < 0)
        return -1;
    for (int dtype = LW_DT_void; dtype < LW_DT_ptr; dtype++)
        if (make_scalar(module, (lw_dtype)dtype) < 0)
            return -1;
    if (PyModule_AddObjectRef(module, "intp", lw_core->scalars[LW_DT_i64]) < 0 ||
        PyModule_AddObjectRef(module, "uintp", lw_core->scalars[LW_DT_u64]) < 0)
        return -1;
    return 0;
}
