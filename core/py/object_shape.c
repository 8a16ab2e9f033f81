#include "core/py/object_shape.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/state.h"

#include <stdatomic.h>
#include <string.h>

static lw_lock lock = LW_LOCK_INIT;       /* of who adds a shape */
static _Atomic(lw_object_shape *) shapes; /* newest first; never freed */

enum { N_SEEN = 64 };
static _Atomic(lw_object_shape *) seen[N_SEEN]; /* direct-mapped by class */

/* ---- what an object has ---- */

/* What register() noted of a class (borrowed), or NULL. */
static PyObject *
registered_of(PyTypeObject *type)
{
    static const char name[] = LW_REGISTERED_FIELDS;
    PyObject *key = PyUnicode_InternFromString(name), *found = NULL;

    if (key != NULL)
        found = _PyType_Lookup(type, key);
    else
        PyErr_Clear();
    Py_XDECREF(key);
    return found && PyDict_CheckExact(found) ? found : NULL;
}

static PyObject *
dict_of(PyObject *object) /* new reference, or NULL without an exception */
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);

    PyErr_Clear();
    if (dict != NULL && !PyDict_CheckExact(dict))
        Py_CLEAR(dict);
    return dict;
}

/* Whether `__dict__` holds exactly these fields. */
static bool
dict_has(PyObject *object, PyObject *names)
{
    PyObject *dict = dict_of(object);
    bool has = dict != NULL && PyDict_GET_SIZE(dict) == PyTuple_GET_SIZE(names);

    for (Py_ssize_t i = 0; has && i < PyTuple_GET_SIZE(names); i++)
        has = PyDict_Contains(dict, PyTuple_GET_ITEM(names, i)) == 1;
    Py_XDECREF(dict);
    PyErr_Clear();
    return has;
}

/* Whether the class is as it was when the shape was made. */
static bool
is_same_class(lw_object_shape *shape, PyTypeObject *type)
{
    unsigned version = type->tp_version_tag;

    if (shape->type != type || shape->given != (PyObject *)type)
        return false;
    if (version != 0 && atomic_load(&shape->version) == version)
        return true;
    if (shape->registered != registered_of(type))
        return false;
    atomic_store(&shape->version, version);
    return true;
}

static bool
fits(lw_object_shape *shape, PyObject *object)
{
    return is_same_class(shape, Py_TYPE(object)) &&
           (!shape->by_dict || dict_has(object, shape->names));
}

/* ---- a new shape ---- */

static lw_dtype
dtype_of(PyObject *type)
{
    PyObject *number = type ? PyObject_GetAttrString(type, "__lanewise_dtype__") : NULL;
    long dtype = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;

    PyErr_Clear();
    Py_XDECREF(number);
    return dtype > 0 && dtype < LW_N_DTYPES ? (lw_dtype)dtype : LW_DT_void;
}

static void
shape_free(lw_object_shape *shape)
{
    Py_XDECREF((PyObject *)shape->type);
    Py_XDECREF(shape->names);
    Py_XDECREF(shape->fields);
    Py_XDECREF(shape->given);
    Py_XDECREF(shape->registered);
    lw_free((void *)(uintptr_t)shape->dtypes);
    lw_free(shape);
}

static lw_object_shape *
shape_new(PyObject *object, PyObject *names, bool by_dict)
{
    lw_object_shape *shape = lw_alloc_zero(1, sizeof *shape);
    Py_ssize_t n = PyTuple_GET_SIZE(names);
    lw_dtype *dtypes = lw_alloc_zero((size_t)n + 1, sizeof *dtypes);

    if (shape == NULL || dtypes == NULL) {
        lw_free(shape);
        lw_free(dtypes);
        return NULL;
    }
    shape->type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(object));
    shape->names = Py_NewRef(names);
    shape->fields = Py_NewRef(names);
    shape->given = Py_NewRef((PyObject *)shape->type);
    shape->registered = Py_XNewRef(registered_of(shape->type));
    shape->dtypes = dtypes;
    shape->by_dict = by_dict;
    for (Py_ssize_t i = 0; i < n; i++)
        dtypes[i] =
            dtype_of(shape->registered ? PyDict_GetItemWithError(shape->registered,
                                                                 PyTuple_GET_ITEM(names, i))
                                       : NULL);
    return shape;
}

static bool
same_names(PyObject *x, PyObject *y)
{
    bool same = PyTuple_GET_SIZE(x) == PyTuple_GET_SIZE(y);

    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(x); i++)
        same = PyUnicode_Compare(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i)) == 0;
    return same;
}

/* The shape of that kind which is there, or the new one, which it takes. */
static lw_object_shape *
keep(lw_object_shape *new)
{
    lw_object_shape *at;

    lw_lock_take(&lock);
    at = atomic_load(&shapes);
    while (at != NULL &&
           (at->type != new->type || at->given != new->given ||
            at->registered != new->registered || !same_names(at->names, new->names)))
        at = at->next;
    if (at == NULL) {
        new->next = atomic_load(&shapes);
        atomic_store_explicit(&shapes, new, memory_order_release);
    }
    lw_lock_give(&lock);
    if (at != NULL)
        shape_free(new);
    return at ? at : new;
}

static lw_object_shape *
make_shape(PyObject *object)
{
    bool by_dict = false;
    PyObject *names = lw_read_object_fields(object, &by_dict);
    lw_object_shape *shape = names ? shape_new(object, names, by_dict) : NULL;

    Py_XDECREF(names);
    return shape ? keep(shape) : NULL;
}

static _Atomic(lw_object_shape *) *
place_of(const void *key)
{
    return &seen[((uintptr_t)key >> 4) % N_SEEN];
}

/* ---- typed lists and dicts ---- */

enum { N_CONTAINERS = 2 };
static _Atomic(lw_object_shape *) containers[N_CONTAINERS];

static lw_object_shape *
container_shape(const PyTypeObject *type)
{
    lw_object_shape *shape = NULL;

    for (int i = 0; i < N_CONTAINERS && shape == NULL; i++) {
        shape = atomic_load_explicit(&containers[i], memory_order_acquire);
        shape = shape && shape->type == type ? shape : NULL;
    }
    return shape;
}

/* An object of such a class, the class that compiled code has in its place, the attributes, and
 * the fields that these are in compiled code. */
static PyObject *
set_container(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *form, *names, *fields;
    lw_object_shape *shape;
    int i = 0;

    if (!PyArg_ParseTuple(args, "OOO!O!", &object, &form, &PyTuple_Type, &names, &PyTuple_Type,
                          &fields))
        return NULL;
    shape = shape_new(object, names, false);
    if (shape == NULL)
        return PyErr_NoMemory();
    shape->is_container = true;
    Py_SETREF(shape->fields, Py_NewRef(fields));
    Py_SETREF(shape->given, Py_NewRef(form));
    shape = keep(shape);
    while (i < N_CONTAINERS - 1 && atomic_load(&containers[i]) != NULL)
        i++;
    atomic_store_explicit(&containers[i], shape, memory_order_release);
    Py_RETURN_NONE;
}

/* ---- classes whose objects have a type by typeof_impl ---- */

/* The module keeps a dict from the classes that were asked for to functions or None, and what
 * these are given: lw_core->found.typed_classes and .typed_context. */
static PyObject *
set_typed_classes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *classes, *context;

    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &classes, &context))
        return NULL;
    lw_found_set(&lw_core->found.typed_context, Py_NewRef(context));
    lw_found_set(&lw_core->found.typed_classes, Py_NewRef(classes));
    Py_RETURN_NONE;
}

static PyObject *
ask_extending(const char *name, PyObject *x, PyObject *y)
{
    PyObject *function = lw_service_find(LW_SERVICE_EXTENDING, name);
    PyObject *result = function ? PyObject_CallFunctionObjArgs(function, x, y, NULL) : NULL;

    Py_XDECREF(function);
    return result;
}

/* The function for objects of a class, or None (new reference); NULL without an exception:
 * nothing is registered. */
static PyObject *
typeof_of(PyTypeObject *type)
{
    PyObject *classes = lw_found_get(&lw_core->found.typed_classes), *found;

    if (classes == NULL)
        return NULL;
    found = lw_dict_item(classes, (PyObject *)type);
    return found || PyErr_Occurred() ? found
                                     : ask_extending("_typed_class", (PyObject *)type, NULL);
}

/* structure: the _Struct of a type. */
static lw_object_shape *
struct_shape_new(PyObject *object, PyObject *structure)
{
    PyObject *names = PyObject_GetAttrString(structure, "attributes");
    PyObject *fields = names ? PyObject_GetAttrString(structure, "names") : NULL;
    PyObject *types = fields ? PyObject_GetAttrString(structure, "types") : NULL;
    PyObject *given = types ? PyObject_GetAttrString(structure, "type") : NULL;
    lw_object_shape *shape = given ? shape_new(object, names, false) : NULL;

    if (shape != NULL) {
        Py_SETREF(shape->fields, Py_NewRef(fields));
        Py_SETREF(shape->given, Py_NewRef(given));
        Py_XSETREF(shape->registered, Py_NewRef(structure));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++)
            ((lw_dtype *)(uintptr_t)shape->dtypes)[i] = dtype_of(PyTuple_GET_ITEM(types, i));
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(names);
    Py_XDECREF(fields);
    Py_XDECREF(types);
    Py_XDECREF(given);
    return shape;
}

/* type: what the function has said. */
static lw_object_shape *
shape_of_type(PyObject *object, PyObject *type)
{
    lw_object_shape *shape = atomic_load_explicit(place_of(type), memory_order_acquire);
    uint64_t version = lw_overloads_version();
    PyObject *structure;

    if (shape != NULL && shape->given == type && shape->type == Py_TYPE(object) &&
        atomic_load(&shape->overloads) == version)
        return shape;
    structure = ask_extending("_struct_of_object", object, type);
    if (structure == NULL)
        return NULL;
    shape = struct_shape_new(object, structure);
    Py_DECREF(structure);
    if (shape == NULL)
        return NULL;
    shape = keep(shape);
    atomic_store(&shape->overloads, version);
    atomic_store_explicit(place_of(shape->given), shape, memory_order_release);
    return shape;
}

/* *is_typed: whether typeof_impl knows the class. NULL: it does not, or with an exception. */
static lw_object_shape *
typed_shape(PyObject *object, bool *is_typed)
{
    PyObject *function = typeof_of(Py_TYPE(object)), *type;
    lw_object_shape *shape = NULL;

    *is_typed = function == NULL ? PyErr_Occurred() != NULL : function != Py_None;
    if (*is_typed && function != NULL) {
        type = PyObject_CallFunctionObjArgs(function, object,
                                            lw_found_get(&lw_core->found.typed_context), NULL);
        shape = type ? shape_of_type(object, type) : NULL;
        Py_XDECREF(type);
    }
    Py_XDECREF(function);
    return shape;
}

/* ---- shapes of objects ---- */

const lw_object_shape *
lw_object_shape_seen(PyObject *object)
{
    lw_object_shape *shape;
    bool is_typed;

    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return NULL;
    shape = container_shape(Py_TYPE(object));
    if (shape != NULL)
        return shape;
    shape = typed_shape(object, &is_typed);
    if (is_typed)
        return shape;
    shape = atomic_load_explicit(place_of(Py_TYPE(object)), memory_order_acquire);
    return shape != NULL && fits(shape, object) ? shape : NULL;
}

/* The version tags of classes whose objects are arrays, as a tensor's is: a call asks for each
 * of its operands. No two classes ever have the same tag, and a class that changes gets
 * another. */
static _Atomic(unsigned) array_versions[N_SEEN];

static _Atomic(unsigned) *
array_version_of(const PyTypeObject *type)
{
    return &array_versions[((uintptr_t)type >> 4) % N_SEEN];
}

static bool
is_sparse_class(PyObject *type)
{
    static const char *const modules[] = {"scipy.sparse", "cupyx.scipy.sparse", "sparse."};
    PyObject *module = PyObject_GetAttrString(type, "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool is = false;

    for (size_t i = 0; name != NULL && i < sizeof modules / sizeof *modules; i++)
        is = is || strncmp(name, modules[i], strlen(modules[i])) == 0;
    PyErr_Clear();
    Py_XDECREF(module);
    return is;
}

bool
lw_is_sparse(PyObject *object)
{
    PyObject *bases = Py_TYPE(object)->tp_mro;
    bool is = false;

    for (Py_ssize_t i = 0; bases != NULL && i < PyTuple_GET_SIZE(bases) && !is; i++)
        is = is_sparse_class(PyTuple_GET_ITEM(bases, i));
    return is;
}

/* Objects that say where their elements are, are arrays, good ones or not. Those of SciPy's
 * sparse matrices are arrays too: up to 1.15 their classes are such as users write. */
static bool
is_array_like(PyObject *object)
{
    static const char *const protocols[] = {"__cuda_array_interface__", "__dlpack__",
                                            "__array_interface__", "__array__"};
    PyTypeObject *type = Py_TYPE(object);
    unsigned version = type->tp_version_tag;

    if (version != 0 &&
        atomic_load_explicit(array_version_of(type), memory_order_relaxed) == version)
        return true;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        if (!PyObject_HasAttrString(object, protocols[i]))
            continue;
        if (PyObject_HasAttrString((PyObject *)type, protocols[i]) &&
            type->tp_version_tag == version)
            atomic_store_explicit(array_version_of(type), version, memory_order_relaxed);
        return true;
    }
    return lw_is_sparse(object);
}

const lw_object_shape *
lw_object_shape_of(PyObject *object)
{
    const lw_object_shape *known = lw_object_shape_seen(object);
    lw_object_shape *shape;

    if (known != NULL || PyErr_Occurred() ||
        !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_array_like(object))
        return known;
    shape = make_shape(object);
    if (shape != NULL)
        atomic_store_explicit(place_of(Py_TYPE(object)), shape, memory_order_release);
    return shape;
}

/* ---- slices ---- */

static _Atomic(lw_object_shape *) shape_of_slices;

/* names: of the attributes, taken. */
static lw_object_shape *
new_slice_shape(PyObject *names)
{
    PyObject *class = lw_service_find(LW_SERVICE_SLICES, "slice");
    PyObject *example = class && names ? PySlice_New(NULL, NULL, NULL) : NULL;
    lw_object_shape *shape = example ? shape_new(example, names, false) : NULL;

    if (shape != NULL)
        Py_SETREF(shape->given, Py_NewRef(class));
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_XDECREF(names);
    Py_XDECREF(example);
    Py_XDECREF(class);
    return shape ? keep(shape) : NULL;
}

bool
lw_object_is_typed_list(const lw_object_shape *container)
{
    return strcmp(container->type->tp_name, "List") == 0;
}

const lw_object_shape *
lw_slice_shape(void)
{
    lw_object_shape *shape = atomic_load_explicit(&shape_of_slices, memory_order_acquire);

    if (shape == NULL) {
        shape = new_slice_shape(Py_BuildValue("(sss)", "start", "stop", "step"));
        atomic_store_explicit(&shape_of_slices, shape, memory_order_release);
    }
    return shape;
}

/* ---- fields of objects ---- */

PyObject *
lw_object_field(PyObject *object, const lw_object_shape *shape, Py_ssize_t i)
{
    PyObject *value = PyObject_GetAttr(object, PyTuple_GET_ITEM(shape->names, i)), *find, *made;

    if (value == NULL || !PyTuple_CheckExact(value) || shape->is_container ||
        shape->given == (PyObject *)shape->type)
        return value;
    find = lw_service_find(LW_SERVICE_EXTENDING, "_member_value");
    made = find ? PyObject_CallFunction(find, "OnO", shape->registered, i, value) : NULL;
    Py_XDECREF(find);
    Py_DECREF(value);
    return made;
}

/* ---- objects of fields ---- */

PyObject *
lw_object_make(PyTypeObject *type, PyObject *names, PyObject *const *values)
{
    PyObject *none = PyTuple_New(0);
    PyObject *object = none ? PyBaseObject_Type.tp_new(type, none, NULL) : NULL;

    Py_XDECREF(none);
    for (Py_ssize_t i = 0; object != NULL && i < PyTuple_GET_SIZE(names); i++)
        /* also where the class is frozen */
        if (PyObject_GenericSetAttr(object, PyTuple_GET_ITEM(names, i), values[i]) < 0)
            Py_CLEAR(object);
    return object;
}

PyObject *
lw_object_make_tuple(PyTypeObject *type, PyObject *items)
{
    PyObject *args = PyTuple_Pack(1, items); /* _make asks the class for its length */
    PyObject *object = args ? PyTuple_Type.tp_new(type, args, NULL) : NULL;

    Py_XDECREF(args);
    return object;
}

/* An object whose attributes are set; where they cannot be set, what the class makes of them.
 */
static PyObject *
make_of_class(PyTypeObject *class, PyObject *names, PyObject *const *values)
{
    PyObject *object =
        PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__new__", "O", class);

    for (Py_ssize_t i = 0; object != NULL && i < PyTuple_GET_SIZE(names); i++)
        if (PyObject_GenericSetAttr(object, PyTuple_GET_ITEM(names, i), values[i]) < 0)
            Py_CLEAR(object);
    if (object != NULL || (!PyErr_ExceptionMatches(PyExc_AttributeError) &&
                           !PyErr_ExceptionMatches(PyExc_TypeError)))
        return object;
    PyErr_Clear();
    return PyObject_Vectorcall((PyObject *)class, values, (size_t)PyTuple_GET_SIZE(names),
                               NULL);
}

PyObject *
lw_object_make_struct(PyObject *structure, PyObject *const *values)
{
    PyObject *names = PyObject_GetAttrString(structure, "attributes");
    PyObject *class = names ? PyObject_GetAttrString(structure, "cls") : NULL;
    PyObject *object = NULL, *items;

    if (class != NULL && (!PyType_Check(class) || PyTuple_GET_SIZE(names) == 0)) {
        items = PyTuple_New(PyTuple_GET_SIZE(names));
        for (Py_ssize_t i = 0; items != NULL && i < PyTuple_GET_SIZE(names); i++)
            PyTuple_SET_ITEM(items, i, Py_NewRef(values[i]));
        Py_SETREF(class, items ? ask_extending("_class_of_result", structure, items) : NULL);
        Py_XDECREF(items);
    }
    if (class != NULL)
        object = make_of_class((PyTypeObject *)class, names, values);
    Py_XDECREF(names);
    Py_XDECREF(class);
    return object;
}

static PyMethodDef methods[] = {
    {"_container", set_container, METH_VARARGS,
     PyDoc_STR("a class of typed lists or dicts, and what compiled code has in its place")},
    {"_typed_classes", set_typed_classes, METH_VARARGS,
     PyDoc_STR("the classes that typeof_impl knows, and its context")},
    {NULL, NULL, 0, NULL},
};

int
lw_object_shape_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
