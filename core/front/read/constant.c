/* Python objects become constants. Everything is copied; the object itself is kept beside the
 * constant only while functions are read, for folding and for its attributes. NumPy's C
 * interface is not used: if NumPy is not loaded, no object can be of one of its types. */
#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include "core/front/signature.h"
#include "core/front/varying.h"

#include <assert.h>
#include <string.h>

uint32_t
lw_read_push(lw_reader *r, PyObject *object, lw_constant constant)
{
    lw_constant *slot = lw_array_push(&r->tree->constants, &r->tree->arena);
    PyObject **kept;

    if (slot == NULL)
        return lw_read_no_memory(r);
    *slot = constant;
    while (r->objects.n < r->tree->constants.n) {
        kept = lw_array_push(&r->objects, NULL);
        if (kept == NULL)
            return lw_read_no_memory(r);
    }
    Py_XINCREF(object);
    r->objects.data[r->tree->constants.n - 1] = object;
    return r->tree->constants.n - 1;
}

uint32_t
lw_read_constant_text(lw_reader *r, lw_constant_kind kind, const char *text, const char *help)
{
    return lw_read_push(r, NULL, (lw_constant){.kind = kind, .text = text, .help = help});
}

PyObject *
lw_read_object(const lw_reader *r, uint32_t node)
{
    const lw_node *n = &r->tree->nodes.data[node];

    if (node == 0 || n->kind != LW_NODE_CONSTANT || n->a >= r->objects.n ||
        r->tree->constants.data[n->a].live != NULL || /* nothing in it is known now */
        r->tree->constants.data[n->a].varying != NULL)
        return NULL;
    return r->objects.data[n->a];
}

uint32_t
lw_read_constant_node(lw_reader *r, PyObject *object, uint32_t loc)
{
    uint32_t constant = lw_read_constant(r, object);

    return constant ? lw_read_node(r, (lw_node){LW_NODE_CONSTANT, .loc = loc, .a = constant})
                    : 0;
}

/* ---- numbers and texts ---- */

static uint32_t
from_int(lw_reader *r, PyObject *object)
{
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(object, &overflow);
    lw_constant constant = {.kind = LW_K_INT, .i = i};
    PyObject *plain, *digits;

    if (!overflow)
        return lw_read_push(r, object, constant);
    if (overflow > 0) {
        constant.u = PyLong_AsUnsignedLongLong(object);
        if (!PyErr_Occurred()) {
            constant.kind = LW_K_UINT;
            return lw_read_push(r, object, constant);
        }
        lw_read_clear();
    }
    constant.kind = LW_K_BIGINT;
    constant.d = PyLong_AsDouble(object);
    if (PyErr_Occurred()) {
        lw_read_clear();
        constant.d = overflow > 0 ? Py_HUGE_VAL : -Py_HUGE_VAL;
    }
    plain = PyNumber_Long(object);
    digits = plain ? PyObject_Repr(plain) : NULL;
    constant.text = digits ? lw_read_str(r, digits) : NULL;
    Py_XDECREF(plain);
    Py_XDECREF(digits);
    if (constant.text == NULL) { /* more digits than Python is willing to print */
        lw_read_clear();
        if (r->status != LW_OK && r->status != LW_ERR_PYTHON)
            return 0;
        r->status = LW_OK;
        constant.text = "an integer of more than 4300 digits";
    }
    return lw_read_push(r, object, constant);
}

static uint32_t
from_text(lw_reader *r, PyObject *object)
{
    Py_ssize_t n = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &n);

    if (text != NULL && strlen(text) != (size_t)n)
        return lw_read_push(
            r, object, (lw_constant){.kind = LW_K_OBJECT, .text = "a str with a NUL in it"});
    if (text == NULL) { /* a lone surrogate: the text can be neither compared nor printed */
        lw_read_clear();
        return lw_read_push(
            r, object, (lw_constant){.kind = LW_K_OBJECT, .text = "a str that is not UTF-8"});
    }
    text = lw_read_text(r, text);
    return text ? lw_read_push(r, object, (lw_constant){.kind = LW_K_STR, .text = text}) : 0;
}

static uint32_t
from_bytes(lw_reader *r, PyObject *object)
{
    size_t n = (size_t)PyBytes_GET_SIZE(object);
    char *bytes = lw_arena_take(&r->tree->arena, n + 1);
    PyObject *shown = PyObject_Repr(object);
    const char *text = shown ? PyUnicode_AsUTF8(shown) : NULL;

    text = text ? lw_read_text(r, text) : NULL;
    Py_XDECREF(shown);
    if (bytes == NULL || text == NULL || n > UINT32_MAX)
        return lw_read_failed(r);
    memcpy(bytes, PyBytes_AS_STRING(object), n);
    return lw_read_push(
        r, object,
        (lw_constant){.kind = LW_K_BYTES, .text = text, .bytes = bytes, .n = (uint32_t)n});
}

/* Exactly the numbers, texts and singletons of Python; 0 and status OK: none of these. */
static uint32_t
from_basic(lw_reader *r, PyObject *object)
{
    lw_constant constant = {0};

    if (object == Py_None || object == Py_Ellipsis) {
        constant.kind = object == Py_None ? LW_K_NONE : LW_K_ELLIPSIS;
        return lw_read_push(r, object, constant);
    }
    if (PyBool_Check(object)) {
        constant.kind = LW_K_BOOL;
        constant.i = object == Py_True;
        return lw_read_push(r, object, constant);
    }
    if (PyLong_Check(object)) {
        uint32_t number = from_int(r, object);
        if (number != 0 && !PyLong_CheckExact(object) && lw_fold_is_member(object))
            r->tree->constants.data[number].bytes = object; /* which member it is, for `is` */
        return number;
    }
    if (PyFloat_CheckExact(object) || (PyFloat_Check(object) && lw_fold_is_member(object))) {
        constant.kind = LW_K_FLOAT;
        constant.d = PyFloat_AS_DOUBLE(object);
        return lw_read_push(r, object, constant);
    }
    if (PyComplex_CheckExact(object)) {
        constant.kind = LW_K_COMPLEX;
        constant.d = PyComplex_RealAsDouble(object);
        constant.im = PyComplex_ImagAsDouble(object);
        return lw_read_push(r, object, constant);
    }
    if (PyBytes_CheckExact(object))
        return from_bytes(r, object);
    return PyUnicode_Check(object) ? from_text(r, object) : 0;
}

/* ---- sequences ---- */

/* The field names of a namedtuple class or instance (new reference), or NULL. */
PyObject *
lw_read_field_names(PyObject *type)
{
    PyObject *fields;

    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        return NULL;
    fields = PyObject_GetAttrString(type, "_fields");
    if (fields != NULL && PyTuple_Check(fields))
        return fields;
    Py_XDECREF(fields);
    lw_read_clear();
    return NULL;
}

static const char *const *
copy_names(lw_reader *r, PyObject *fields, Py_ssize_t n)
{
    const char **names = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *names);

    for (Py_ssize_t i = 0; names && i < n; i++) {
        names[i] = lw_read_str(r, PyTuple_GET_ITEM(fields, i));
        if (names[i] == NULL)
            return NULL;
    }
    if (names == NULL)
        lw_read_no_memory(r);
    return names;
}

static uint32_t
from_sequence(lw_reader *r, PyObject *object, PyObject *now)
{
    Py_ssize_t n = PyTuple_GET_SIZE(now);
    PyObject *fields = lw_read_field_names((PyObject *)Py_TYPE(object));
    uint32_t *items = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *items);
    lw_constant constant = {
        .kind = LW_K_TUPLE, .n = (uint32_t)n, .items = items, .is_list = PyList_Check(object)};

    if (items == NULL) {
        Py_XDECREF(fields);
        return lw_read_no_memory(r);
    }
    for (Py_ssize_t i = 0; i < n && r->status == LW_OK; i++)
        items[i] = lw_read_constant(r, PyTuple_GET_ITEM(now, i));
    if (r->status == LW_OK && fields != NULL && PyTuple_GET_SIZE(fields) == n) {
        constant.names = copy_names(r, fields, n);
        constant.text = lw_read_text(r, Py_TYPE(object)->tp_name);
        uint32_t class = lw_read_constant(r, (PyObject *)Py_TYPE(object));
        constant.user_class = class ? r->tree->constants.data[class].user_class : NULL;
    }
    Py_XDECREF(fields);
    if (PyList_CheckExact(object) && lw_captures_add_list(r->captures, object) < 0)
        return lw_read_failed(r);
    return r->status == LW_OK ? lw_read_push(r, object, constant) : 0;
}

static uint32_t
from_tuple_or_list(lw_reader *r, PyObject *object)
{
    PyObject *now; /* other threads may change a list; a namedtuple may have an __iter__ */
    uint32_t constant = 0;

    if (Py_EnterRecursiveCall(" while freezing a constant")) /* a list that holds itself */
        return lw_read_failed(r);
    now = PyList_Check(object) ? PyList_AsTuple(object)
                               : PyTuple_GetSlice(object, 0, PyTuple_GET_SIZE(object));
    constant = now ? from_sequence(r, object, now) : lw_read_failed(r);
    Py_XDECREF(now);
    Py_LeaveRecursiveCall();
    return constant;
}

/* ---- types ---- */

uint32_t
lw_read_push_dtype(lw_reader *r, PyObject *object, lw_dtype dtype)
{
    return lw_read_push(r, object,
                        (lw_constant){.kind = LW_K_DTYPE,
                                      .dtype = dtype,
                                      .text = lw_dtypes[dtype].public_name});
}

/* Type objects of ours have an attribute for it; numba's are known by their name. */
static lw_dtype
of_type_object(PyObject *object)
{
    PyObject *number = PyObject_GetAttrString(object, "__lanewise_dtype__");
    PyObject *name = NULL;
    const char *text;
    lw_dtype dtype = LW_DT_void;

    lw_read_clear();
    if (number != NULL && PyLong_Check(number)) {
        long row = PyLong_AsLong(number);
        dtype = (row > 0 && row < LW_DT_ptr) || (row >= LW_DT_FIRST_TIME && row < LW_N_SCALARS)
                    ? (lw_dtype)row
                    : LW_DT_void;
    } else if (lw_comes_from((PyObject *)Py_TYPE(object), "numba")) {
        name = PyObject_Str(object);
        text = name ? PyUnicode_AsUTF8(name) : NULL;
        dtype = text ? lw_scalar_from_name(text, strlen(text)) : LW_DT_void;
    }
    Py_XDECREF(number);
    Py_XDECREF(name);
    lw_read_clear();
    return dtype;
}

/* 0 and status OK: no type that compiled code knows. */
static uint32_t
from_type(lw_reader *r, PyObject *object)
{
    static PyTypeObject *const pytypes[] = {&PyLong_Type, &PyFloat_Type, &PyBool_Type,
                                            &PyComplex_Type};
    lw_dtype dtype;
    uint32_t fn = 0;

    for (uint64_t i = 0; i < 4; i++)
        if (object == (PyObject *)pytypes[i])
            return lw_read_push(r, object, (lw_constant){.kind = LW_K_PYTYPE, .u = i});
    if (PyExceptionClass_Check(object))
        return lw_read_exception_class(r, object);
    dtype = lw_read_numpy_class(r, object);
    if (dtype != LW_DT_void)
        return lw_read_push_dtype(r, object, dtype);
    if (lw_comes_from(object, "numpy") && lw_read_named(r, object) != 0) /* np.ndindex */
        return 0;
    if (lw_comes_from(object, "numpy")) /* np.iinfo */
        fn = lw_read_array_function(r, object);
    if (fn != 0 || r->status != LW_OK)
        return fn ? lw_read_push(r, object, (lw_constant){.kind = LW_K_FUNCTION, .u = fn}) : 0;
    return lw_read_class(r, object);
}

/* ---- anything else ---- */

/* A text such as "an array of int64 with 800000 bytes"; a new reference. */
static PyObject *
describe_array(PyObject *array)
{
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *size = dtype ? PyObject_GetAttrString(array, "nbytes") : NULL;
    PyObject *text =
        size ? PyUnicode_FromFormat("an array of %S with %S bytes", dtype, size) : NULL;

    Py_XDECREF(dtype);
    Py_XDECREF(size);
    return text;
}

/* "scipy.special.j0" for an object that has a name, "an instance of Config" for others; new
 * reference. */
static PyObject *
describe(lw_reader *r, PyObject *object)
{
    PyObject *module = lw_attribute_text(object, "__module__");
    PyObject *name = lw_attribute_text(object, "__qualname__"), *result;

    if (name == NULL)
        name = lw_attribute_text(object, "__name__");
    if (lw_read_is_numpy(r, object, "ndarray"))
        result = describe_array(object);
    else if (lw_fold_is_member(object))
        result = PyObject_Str(object); /* "Mode.FAST" */
    else if (name != NULL && module != NULL)
        result = PyUnicode_FromFormat("%U.%U", module, name);
    else if (name != NULL)
        result = PyUnicode_FromFormat("%U", name);
    else
        result = PyUnicode_FromFormat("an instance of %s", Py_TYPE(object)->tp_name);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return result;
}

/* What inference may ask of a member that a parameter stands for. */
static bool
describe_member(lw_reader *r, PyObject *member, lw_constant *out)
{
    static const char *const names[] = {"value", "name"};
    uint32_t *items = lw_arena_take(&r->tree->arena, 2 * sizeof *items);

    if (items == NULL)
        return lw_read_no_memory(r);
    for (int i = 0; i < 2; i++) {
        PyObject *part = PyObject_GetAttrString(member, names[i]);
        bool known = part != NULL && lw_fold_is_basic(part);
        items[i] = known ? lw_read_constant(r, part) : 0;
        Py_XDECREF(part);
        lw_read_clear();
        if (r->status != LW_OK)
            return false;
    }
    if (items[1] == 0)
        return true; /* an object that compiled code cannot use */
    *out = (lw_constant){.kind = LW_K_OBJECT,
                         .help = out->help,
                         .n = 2,
                         .items = items,
                         .i = lw_fold_truth(member)};
    return true;
}

static uint32_t
from_other(lw_reader *r, PyObject *object)
{
    PyObject *text;
    lw_constant constant = {.kind = LW_K_OBJECT,
                            .help = lw_hint_for(r, object),
                            .n = object == Py_NotImplemented,
                            .bytes = PyType_Check(object) ? object : NULL};

    if (lw_fold_is_member(object) && !describe_member(r, object, &constant))
        return 0;
    text = describe(r, object);
    if (text == NULL)
        return lw_read_failed(r);
    constant.text = lw_read_str(r, text);
    Py_DECREF(text);
    return constant.text ? lw_read_push(r, object, constant) : 0;
}

static uint32_t
from_module(lw_reader *r, PyObject *object)
{
    const char *name = PyModule_GetName(object);

    if (name == NULL)
        lw_read_clear();
    name = lw_read_text(r, name ? name : "module");
    return name ? lw_read_push(r, object, (lw_constant){.kind = LW_K_MODULE, .text = name}) : 0;
}

/* 0 and status OK: it is no dtype with fields that compiled code knows. */
static uint32_t
from_record_dtype(lw_reader *r, PyObject *object)
{
    lw_arg_record *record = NULL;

    if (lw_read_record(object, &r->tree->arena, &record) < 0) {
        lw_read_clear();
        return 0;
    }
    if (!lw_read_classes_of(r, record))
        return 0;
    if (lw_captures_hold_dtype(r->captures, object) < 0)
        return lw_read_failed(r);
    return lw_read_push(
        r, object, (lw_constant){.kind = LW_K_RECORD, .bytes = record, .text = record->name});
}

/* lanewise's type of a record, as lanewise.from_dtype makes it, stands for its dtype. */
static uint32_t
from_record_type(lw_reader *r, PyObject *object)
{
    PyObject *name = PyUnicode_InternFromString("__lanewise_dtype__");
    bool is_type = name != NULL && _PyType_Lookup(Py_TYPE(object), name) != NULL;
    PyObject *layout = is_type ? PyObject_GetAttrString(object, "layout") : NULL;
    PyObject *dtype = layout == Py_None ? PyObject_GetAttrString(object, "dtype") : NULL;
    uint32_t constant =
        dtype != NULL && lw_read_is_numpy(r, dtype, "dtype") ? from_record_dtype(r, dtype) : 0;

    Py_XDECREF(dtype);
    Py_XDECREF(layout);
    Py_XDECREF(name);
    lw_read_clear();
    return constant;
}

/* Whether the object or its class has the attribute, also a property that raises an exception.
 */
static bool
has_attribute(PyObject *object, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name), *value;
    bool has = text != NULL && _PyType_Lookup(Py_TYPE(object), text) != NULL;

    value = text && !has ? PyObject_GetAttr(object, text) : NULL;
    has |= value != NULL;
    Py_XDECREF(value);
    Py_XDECREF(text);
    lw_read_clear();
    return has;
}

/* Whether it is an instance with `__call__` that brings no code to link. Of such a one methods
 * and attributes can be used, too; others are functions alone. */
static bool
is_callable_object(PyObject *object)
{
    bool links = has_attribute(object, "__lanewise_link__") ||
                 has_attribute(object, "__numba_cuda_link__");

    return !links && !PyFunction_Check(object) && !lw_read_is_foreign(object) &&
           lw_call_method_of(object) != NULL;
}

/* The class that compiled code has in place of one of the package, as of typed lists
 * (lanewise/typed.py): a new reference; NULL: none. */
static PyObject *
compiled_form(PyObject *object)
{
    bool may_have =
        PyType_Check(object) && (((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    PyObject *dict = may_have ? ((PyTypeObject *)object)->tp_dict : NULL;

    return dict ? Py_XNewRef(PyDict_GetItemString(dict, "__lanewise_compiled__")) : NULL;
}

/* The type of an array, a tuple, or a typed list or dict, as in `List.empty_list(T)`: what
 * lanewise/_typed_containers.py has in its place, which that module keeps. */
static uint32_t
from_compound_type(lw_reader *r, PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    bool may_be = strcmp(name, "lanewise._core.CoreType") == 0 ||
                  (lw_comes_from((PyObject *)Py_TYPE(object), "lanewise") &&
                   (strcmp(name, "ListType") == 0 || strcmp(name, "DictType") == 0 ||
                    strcmp(name, "_TupleOfContainers") == 0));
    PyObject *kind = NULL;
    uint32_t constant = 0;

    if (!may_be)
        return 0;
    kind = lw_service_call(LW_SERVICE_TYPED, "form_of_type", object, NULL, 0, NULL);
    if (kind == NULL)
        return lw_read_failed(r);
    if (kind != Py_None)
        constant = lw_read_constant(r, kind);
    if (constant != 0)
        r->tree->constants.data[constant].stands_for_type = true;
    Py_DECREF(kind);
    return constant;
}

/* All objects other than plain Python numbers, texts and sequences; 0 and status OK:
 * unknown. */
static uint32_t
from_object(lw_reader *r, PyObject *object)
{
    PyObject *form = compiled_form(object);
    uint32_t constant = form ? lw_read_constant(r, form) : 0;
    lw_dtype dtype;

    Py_XDECREF(form);
    if (form != NULL)
        return constant;
    if (PyModule_Check(object))
        return from_module(r, object);
    if (PySlice_Check(object))
        return lw_read_slice_constant(r, object);
    if (object == (PyObject *)&PySlice_Type)
        return lw_read_slice_type(r);
    if (lw_hint_for_debugger(object) != NULL)
        return from_other(r, object);
    if (PyType_Check(object))
        constant = from_type(r, object);
    else if (lw_read_is_live(object))
        constant = lw_read_live_array(r, object);
    else if (lw_read_is_numpy(r, object, "generic"))
        constant = lw_read_numpy_scalar(r, object);
    else if (lw_read_is_numpy(r, object, "ndarray"))
        constant = lw_read_numpy_array(r, object);
    else if (lw_read_is_numpy(r, object, "dtype") &&
             (dtype = lw_read_numpy_dtype(object)) != LW_DT_void)
        constant = lw_read_push_dtype(r, object, dtype);
    else if (lw_read_is_numpy(r, object, "dtype"))
        constant = from_record_dtype(r, object);
    else if ((dtype = of_type_object(object)) != LW_DT_void)
        constant = lw_read_push_dtype(r, object, dtype);
    if (constant == 0 && r->status == LW_OK)
        constant = from_record_type(r, object);
    if (constant == 0 && r->status == LW_OK)
        constant = from_compound_type(r, object);
    if (constant == 0 && r->status == LW_OK)
        constant = lw_read_struct(r, object);
    if (constant == 0 && r->status == LW_OK)
        constant = lw_read_struct_object(r, object);
    if (constant == 0 && r->status == LW_OK && is_callable_object(object))
        constant = lw_read_user_object(r, object);
    if (constant == 0 && r->status == LW_OK && PyCallable_Check(object))
        constant = lw_read_callable(r, object);
    if (constant == 0 && r->status == LW_OK)
        constant = lw_read_user_object(r, object);
    return constant;
}

static uint32_t
constant_new(lw_reader *r, PyObject *object)
{
    uint32_t constant = from_basic(r, object);

    if (constant == 0 && r->status == LW_OK) {
        if (PyTuple_Check(object) || PyList_CheckExact(object))
            constant = from_tuple_or_list(r, object);
        else
            constant = from_object(r, object);
    }
    if (constant == 0 && r->status == LW_OK)
        constant = from_other(r, object);
    return constant;
}

static bool
is_member(const lw_constant *k)
{
    return (k->kind == LW_K_OBJECT && k->n == 2) || (k->kind == LW_K_INT && k->bytes != NULL);
}

/* Each object has one constant, so that equal constant numbers mean the same enum member or
 * function. */
uint32_t
lw_read_constant(lw_reader *r, PyObject *object)
{
    assert(object != NULL);
    PyObject *id = PyLong_FromVoidPtr(object);
    PyObject *known = id ? PyDict_GetItemWithError(r->constant_of, id) : NULL, *number;
    uint32_t constant = 0;

    if (known != NULL) {
        constant = (uint32_t)PyLong_AsUnsignedLong(known);
        assert(constant < r->tree->constants.n && constant != 0); /* constant_new made it */
        Py_DECREF(id);
        return constant;
    }
    if (id != NULL)
        constant = constant_new(r, object);
    if (constant != 0 && PyCallable_Check(object) &&
        !lw_read_overloaded(r, object, id, &r->tree->constants.data[constant]))
        constant = 0;
    if (constant != 0) {
        number = PyLong_FromUnsignedLong(constant);
        if (number == NULL || PyDict_SetItem(r->constant_of, id, number) < 0)
            constant = 0;
        Py_XDECREF(number);
    }
    Py_XDECREF(id);
    if (constant != 0 && is_member(&r->tree->constants.data[constant]) &&
        !lw_read_enum(r, object, constant))
        return 0;
    return constant || r->status != LW_OK ? constant : lw_read_failed(r);
}

/* ---- numbers that change between calls ---- */

static lw_varying *
make_varying(lw_reader *r, uint32_t constant)
{
    lw_tree *base = r->tree->base ? r->tree->base : r->tree;
    lw_constant *k = &r->tree->constants.data[constant];

    if (base->varyings == NULL)
        base->varyings = lw_varyings_new();
    if (base->varyings != NULL)
        k->varying = lw_varying_new(base->varyings, k);
    if (k->varying == NULL)
        lw_read_no_memory(r);
    return k->varying;
}

uint32_t
lw_read_captured(lw_reader *r, PyObject *space, PyObject *name, PyObject *value)
{
    lw_varying *varying;
    uint32_t constant;

    if (r->captures == NULL || !lw_captures_is_operand(space, name, value))
        return lw_read_constant(r, value);
    constant = lw_captures_operand(r->captures, space, name);
    if (constant != 0)
        return constant;
    constant = constant_new(r, value); /* its own, whatever else has this value */
    if (constant == 0 || !lw_varying_can_be(&r->tree->constants.data[constant]))
        return constant;
    varying = make_varying(r, constant);
    if (varying != NULL)
        lw_captures_set_operand(r->captures, space, name, varying, constant);
    return varying ? constant : 0;
}
