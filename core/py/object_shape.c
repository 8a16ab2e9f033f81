#include "core/py/object_shape.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/front/read/python.h"

#include <stdatomic.h>

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

    if (shape->type != type)
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
dtype_of(PyObject *registered, PyObject *name)
{
    PyObject *type = registered ? PyDict_GetItemWithError(registered, name) : NULL;
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
    shape->registered = Py_XNewRef(registered_of(shape->type));
    shape->dtypes = dtypes;
    shape->by_dict = by_dict;
    for (Py_ssize_t i = 0; i < n; i++)
        dtypes[i] = dtype_of(shape->registered, PyTuple_GET_ITEM(names, i));
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
    while (at != NULL && (at->type != new->type || at->registered != new->registered ||
                          !same_names(at->names, new->names)))
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
place_of(PyObject *object)
{
    return &seen[((uintptr_t)Py_TYPE(object) >> 4) % N_SEEN];
}

const lw_object_shape *
lw_object_shape_seen(PyObject *object)
{
    lw_object_shape *shape;

    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return NULL;
    shape = atomic_load_explicit(place_of(object), memory_order_acquire);
    return shape != NULL && fits(shape, object) ? shape : NULL;
}

/* Objects that say where their elements are, are arrays, good ones or not. */
static bool
is_array_like(PyObject *object)
{
    static const char *const protocols[] = {"__cuda_array_interface__", "__dlpack__",
                                            "__array_interface__", "__array__"};

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (PyObject_HasAttrString(object, protocols[i]))
            return true;
    return false;
}

const lw_object_shape *
lw_object_shape_of(PyObject *object)
{
    const lw_object_shape *known = lw_object_shape_seen(object);
    lw_object_shape *shape;

    if (known != NULL || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        is_array_like(object))
        return known;
    shape = make_shape(object);
    if (shape != NULL)
        atomic_store_explicit(place_of(object), shape, memory_order_release);
    return shape;
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
