/* Reading the arguments of a call: one walk that writes the key of their types and the values
 * behind the body's parameters. The key is decoded into argument types by specialisation_py.c
 * when no specialisation has it yet; its grammar is in bind_key.h. */
#include "forall/bind_py_internal.h"

#include "core/py/ctypes_address.h"
#include "core/py/object_shape.h"
#include "forall/bind_copies_py.h"
#include "forall/bind_key.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"
#include "forall/static_py.h"
#include "core/py/array/args.h"
#include "core/py/array/host_view.h"

#include <string.h>

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

int
lw_bind_grow(void **data, const void *store, uint32_t *most, size_t size)
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

/* ---- numbers ---- */

int
lw_bind_number(lw_binder *r, uint8_t tag, lw_dtype dtype, const void *value)
{
    const uint8_t key[] = {tag, (uint8_t)dtype};
    uint32_t size = lw_dtypes[lw_dtypes[dtype].parts].size_bytes;

    if (lw_bind_key(r->bound, key, sizeof key) < 0)
        return -1;
    for (uint32_t part = 0; part < (lw_is_complex(dtype) ? 2u : 1u); part++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)value + part * size, size);
        if (lw_bind_value(r->bound, bits) < 0)
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
may_be_float(const lw_binder *r)
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
put_big(lw_binder *r, PyObject *object, bool positive)
{
    uint64_t value;
    double rounded;
    bool fits = positive && fits_u64(object, &value);
    lw_dtype annotated = lw_annotated_dtype(r->self->tree, r->self->n_index + r->arg);

    if (annotated == LW_DT_u64 && fits)
        return lw_bind_number(r, LW_KEY_SCALAR, LW_DT_u64, &value);
    if (!r->self->lazy && fits)
        return lw_bind_number(r, LW_KEY_WEAK, LW_DT_u64, &value);
    if (annotated == LW_DT_void ? !r->self->lazy && may_be_float(r)
                                : !lw_is_integer(annotated) && annotated != LW_DT_b1) {
        rounded = PyLong_AsDouble(object); /* rounds once, as float() does */
        return rounded == -1 && PyErr_Occurred()
                   ? -1
                   : lw_bind_number(r, LW_KEY_WEAK, LW_DT_f64, &rounded);
    }
    PyErr_Format(PyExc_OverflowError,
                 "%s: argument `%s`: a Python int is int64 here, and %.100R does not fit; "
                 "pass %s",
                 lw_function_name(r->self), lw_bind_name(r), object,
                 fits ? "np.uint64(...)" : "a float");
    return -1;
}

static int
put_int(lw_binder *r, PyObject *object)
{
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);

    if (overflow)
        return put_big(r, object, overflow > 0);
    if (value == -1 && PyErr_Occurred())
        return -1;
    return lw_bind_number(r, LW_KEY_WEAK, LW_DT_i64, &value);
}

/* ---- any object ---- */

/* A static value is not an argument of the body: the key names it. */
static int
put_static(lw_binder *r, PyObject *object)
{
    uint8_t key[1 + sizeof(PyObject *)] = {LW_KEY_STATIC};
    PyObject *entry = lw_static_entry(r->self, r->arg, object);

    memcpy(key + 1, &entry, sizeof entry);
    return entry ? lw_bind_key(r->bound, key, sizeof key) : -1;
}

/* Texts, functions and types given to a function that is called on the host: each value has
 * code of its own. */
static bool
is_constant(const lw_binder *r, PyObject *object)
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
is_constant_tuple(const lw_binder *r, PyObject *tuple)
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
put_member(lw_binder *r, PyObject *member)
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
        return PyLong_Check(member) ? put_int(r, member) : lw_bind_refuse(r, member);
    }
    memcpy(key + 1, &class, sizeof class);
    if (lw_bind_hold(r->bound, (PyObject *)class) < 0 ||
        lw_bind_key(r->bound, key, sizeof key) < 0)
        return -1;
    return lw_bind_value(r->bound, PyLong_Check(member) ? (uint64_t)PyLong_AsLongLong(member)
                                                        : (uint64_t)number);
}

/* An int of a class derived from int. In a tuple or an object it may be a member. */
static int
put_derived_int(lw_binder *r, PyObject *object)
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

/* The declared pointer for this argument of a function that gives a value; NULL: there is none,
 * or another signature has a number in its place, which an int is first of all. */
static const lw_arg_spec *
pointer_of(const lw_function *self, uint32_t arg)
{
    const lw_arg_spec *found = NULL;

    for (const lw_specialisation *at = lw_grown_first(&self->specialisations); at != NULL;
         at = lw_grown_next(at)) {
        const lw_arg_spec *spec = at->declared ? &at->specs[self->n_index + arg] : NULL;

        if (spec != NULL && spec->kind == LW_ARGK_SCALAR)
            return NULL;
        if (spec != NULL && spec->endless)
            found = spec;
    }
    return found;
}

/* Whether it was an address for such a pointer, of which *result says how it went: it is bound
 * as an array that never ends. */
static bool
put_pointer(lw_binder *r, PyObject *object, int *result)
{
    const lw_arg_spec *pointer;
    PyObject *address;

    if (r->depth != 0 || r->field != NULL || PyArray_Check(object) || PyBool_Check(object))
        return false;
    pointer = pointer_of(r->self, r->arg);
    if (pointer == NULL)
        return false;
    address = PyLong_CheckExact(object)           ? Py_NewRef(object)
              : PyArray_IsScalar(object, Integer) ? PyNumber_Index(object)
                                                  : lw_address_of(object);
    *result = address ? lw_bind_address(r, object, address, pointer) : -1;
    Py_XDECREF(address);
    return address != NULL || PyErr_Occurred();
}

/* Whether it was an address, of which *result says how it went. */
static bool
put_address(lw_binder *r, PyObject *object, int *result)
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
put_other(lw_binder *r, PyObject *object)
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
    case LW_OPERAND_DEVICE: return lw_bind_foreign(r, lw_bound_aligned_once(r->bound));
    case LW_OPERAND_HOST:
        return lw_bind_refuse_masked(r, object) < 0 ? -1
                                                    : lw_bind_host(r, (PyArrayObject *)object);
    case LW_OPERAND_SCALAR:
        if (operand->dtype == LW_DT_void)
            return lw_bind_refuse(r, object);
        return lw_bind_number(r, LW_KEY_SCALAR, (lw_dtype)operand->dtype, &operand->value);
    case LW_OPERAND_COMPLEX: return lw_bind_number(r, LW_KEY_WEAK, LW_DT_c128, &operand->value);
    default: break;
    }
    if (PyLong_Check(object))
        return put_derived_int(r, object);
    if (PyFloat_Check(object)) {
        double value = PyFloat_AS_DOUBLE(object);
        return lw_bind_number(r, LW_KEY_WEAK, LW_DT_f64, &value);
    }
    if (lw_is_member(object))
        return put_member(r, object);
    if (lw_is_foreign_host(object))
        return lw_bind_refuse_masked(r, object) < 0 ? -1 : lw_bind_foreign_host(r, object);
    shape = lw_object_shape_of(object);
    if (shape == NULL && PyErr_Occurred())
        return -1;
    if (shape != NULL)
        return lw_bind_object(r, object, shape);
    return is_constant(r, object) ? put_static(r, object) : lw_bind_refuse(r, object);
}

int
lw_bind_any(lw_binder *r, PyObject *object)
{
    const lw_object_shape *shape;
    lw_dtype dtype;
    lw_value value;
    int result;

    if (r->self->takes_addresses && put_pointer(r, object, &result))
        return result;
    if (lw_is_device_array(object) && !((lw_device_array *)object)->misaligned)
        return lw_bind_own(r, (lw_device_array *)object);
    if (PyArray_CheckExact(object))
        return lw_bind_host(r, (PyArrayObject *)object);
    if (PyFloat_CheckExact(object)) {
        value.f64 = PyFloat_AS_DOUBLE(object);
        return lw_bind_number(r, LW_KEY_WEAK, LW_DT_f64, &value);
    }
    if (PyLong_CheckExact(object))
        return put_int(r, object);
    if (PyBool_Check(object)) {
        value.bytes[0] = object == Py_True;
        return lw_bind_number(r, LW_KEY_SCALAR, LW_DT_b1, &value);
    }
    if (PyTuple_Check(object)) {
        result = is_constant_tuple(r, object);
        return result < 0 ? -1 : result ? put_static(r, object) : lw_bind_tuple(r, object);
    }
    if (lw_bind_is_short_list(r, object))
        return lw_bind_list(r, object);
    if (object == Py_None || object == Py_Ellipsis) {
        const uint8_t key = object == Py_None ? LW_KEY_NONE : LW_KEY_ELLIPSIS;
        return lw_bind_key(r->bound, &key, 1);
    }
    if (PyArray_IsScalar(object, Void))
        return lw_bind_record(r, object);
    if (put_address(r, object, &result))
        return result;
    if (lw_scalar_read(object, &dtype, &value))
        return lw_bind_number(r, LW_KEY_SCALAR, dtype, &value);
    shape = PySlice_Check(object) ? lw_slice_shape() : lw_object_shape_seen(object);
    if (shape != NULL)
        return lw_bind_object(r, object, shape);
    return PyErr_Occurred() ? -1 : put_other(r, object);
}

/* ---- the call ---- */

int
lw_bind(const lw_function *self, PyObject *const *args, Py_ssize_t n_args, lw_bound *bound)
{
    lw_binder r = {.self = self, .bound = bound};
    uint8_t last;

    bound->narrow = true;
    bound->n_args = (uint32_t)n_args;
    if (n_args < (Py_ssize_t)self->n_required ||
        n_args > (Py_ssize_t)(self->n_params - self->n_index)) {
        lw_bind_refuse_count(self, n_args);
        goto fail;
    }
    for (; r.arg < n_args; r.arg++)
        if ((lw_is_static(self, r.arg) ? put_static(&r, args[r.arg])
                                       : lw_bind_any(&r, args[r.arg])) < 0)
            goto fail;
    bound->narrow &= bound->where == LW_WHERE_DEVICE; /* CPUs address with 64 bits anyway */
    last = (uint8_t)(LW_KEY_END | (bound->narrow ? LW_KEY_NARROW : 0) |
                     (bound->negative ? LW_KEY_SIGNED : 0));
    if (lw_bind_key(bound, &last, 1) < 0)
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
