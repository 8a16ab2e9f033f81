#include "core/py/numpy/object_operands.h"

#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/array/device_array.h"
#include "core/py/numpy/ufunc_names.h"
#include "core/py/numpy_api.h"
#include "core/py/object_shape.h"
#include "core/py/text_py.h"

#include <string.h>

/* Whether elements of the dtype are objects: its type has a metaclass of ours. */
static bool
has_class(PyArray_Descr *descr)
{
    PyObject *type = descr ? (PyObject *)descr->typeobj : NULL, *class;

    if (descr == NULL || descr->type_num != NPY_VOID || Py_TYPE(type) == &PyType_Type)
        return false;
    class = PyObject_GetAttrString(type, LW_CLASS_OF_RECORDS);
    PyErr_Clear();
    Py_XDECREF(class);
    return class != NULL;
}

static bool
is_element(PyObject *object)
{
    PyArray_Descr *descr = PyArray_DescrFromScalar(object);
    bool is = descr != NULL && has_class(descr);

    PyErr_Clear();
    Py_XDECREF(descr);
    return is;
}

static bool
is_field(PyObject *fields, const char *name)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++)
        if (PyUnicode_Check(PyTuple_GET_ITEM(fields, i)) &&
            lw_text_is(PyTuple_GET_ITEM(fields, i), name))
            return true;
    return false;
}

/* Whether the function, or one that it calls, reads an attribute of one of these names. */
static bool
reads_fields(const lw_tree *tree, PyObject *fields)
{
    for (uint32_t i = 1; tree != NULL && i < tree->nodes.n; i++) {
        const lw_node *node = &tree->nodes.data[i];
        const char *name =
            node->kind == LW_NODE_ATTRIBUTE ? tree->constants.data[node->b].text : NULL;

        if (name != NULL && is_field(fields, name))
            return true;
    }
    return false;
}

/* A namedtuple with methods, or one whose fields the function reads by name; other ones are
 * sequences, as to NumPy. */
static bool
is_namedtuple(const lw_compiled *self, PyObject *object)
{
    PyObject *fields;
    bool is;

    if (!PyTuple_Check(object) || PyTuple_CheckExact(object))
        return false;
    fields = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "_fields");
    PyErr_Clear();
    is = fields != NULL && PyTuple_Check(fields) &&
         (lw_read_class_has_code(Py_TYPE(object)) || reads_fields(self->tree, fields));
    Py_XDECREF(fields);
    return is;
}

/* "__dask_graph__", which all collections of Dask have, made once, as reductions ask at each
 * call (borrowed); NULL with an exception. */
static PyObject *
graph_name(void)
{
    lw_found *place = &lw_core->found.dask_graph;
    PyObject *name = lw_found_get(place);

    return name ? name : lw_found_set(place, PyUnicode_InternFromString("__dask_graph__"));
}

/* Dask's collections, of which those that are no arrays are refused as operands. */
static bool
has_graph(PyTypeObject *type)
{
    PyObject *name = graph_name();
    bool has = name != NULL && _PyType_Lookup(type, name) != NULL;

    PyErr_Clear();
    return has;
}

static bool
is_object(const lw_compiled *self, PyObject *object)
{
    const lw_object_shape *shape;

    if (PyArray_Check(object))
        return has_class(PyArray_DESCR((PyArrayObject *)object));
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object))
        return false;
    if (lw_is_device_array(object))
        return has_class(((lw_device_array *)object)->descr);
    if (PyArray_IsScalar(object, Void))
        return is_element(object);
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) || has_graph(Py_TYPE(object)))
        return false;
    if (is_namedtuple(self, object))
        return true;
    shape = lw_object_shape_of(object);
    if (shape != NULL) /* a typed list is an array of its items */
        return !shape->is_container && !PyObject_HasAttrString(object, "__array_ufunc__");
    PyErr_Clear(); /* it is raised again where the operand is taken */
    return false;
}

PyObject *
lw_fields_of_object(PyObject *Py_UNUSED(module), PyObject *object)
{
    const lw_object_shape *shape = lw_object_shape_of(object);

    if (shape == NULL && PyErr_Occurred())
        return NULL;
    return Py_NewRef(shape ? shape->names : Py_None);
}

PyObject *
lw_has_code(PyObject *Py_UNUSED(module), PyObject *cls)
{
    return PyBool_FromLong(PyType_Check(cls) && lw_read_class_has_code((PyTypeObject *)cls));
}

bool
lw_brings_objects(const lw_compiled *self, PyObject *const *args, Py_ssize_t n_args)
{
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (is_object(self, args[i]))
            return true;
    return false;
}

bool
lw_names_objects(const lw_compiled *self, PyObject *const *values, PyObject *kwnames)
{
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++)
        if (!lw_ufunc_names_keyword(PyTuple_GET_ITEM(kwnames, i)) && is_object(self, values[i]))
            return true;
    return false;
}

bool
lw_is_single_object(const lw_compiled *self, PyObject *object)
{
    return !PyArray_Check(object) && !lw_is_device_array(object) && is_object(self, object);
}

PyObject *
lw_takes_as_object(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *compiled, *object;

    if (!PyArg_ParseTuple(args, "OO:_takes_as_object", &compiled, &object))
        return NULL;
    return PyBool_FromLong(lw_is_single_object((const lw_compiled *)compiled, object));
}

PyObject *
lw_call_of_objects(const char *name, PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *kwnames)
{
    return lw_service_call(LW_SERVICE_OBJECTS, name, object, args, n_args, kwnames);
}

PyObject *
lw_call_of_objects_by(const char *name, PyObject *object, PyObject *args, PyObject *kwargs)
{
    return lw_service_call_by(LW_SERVICE_OBJECTS, name, object, args, kwargs);
}

bool
lw_gives_objects(lw_compiled *self)
{
    PyObject *type, *value, *trace, *code;
    bool is = false;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    code = value ? PyObject_GetAttrString(value, "code") : NULL;
    PyErr_Clear();
    if (code != NULL && PyUnicode_Check(code))
        is = PyUnicode_CompareWithASCIIString(code, "E167") == 0;
    Py_XDECREF(code);
    if (!is) {
        PyErr_Restore(type, value, trace);
        return false;
    }
    atomic_store(&self->objects, true);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

/* ---- collections of other libraries ---- */

/* By the name of the class's module, without an import. */
static lw_collection
collection_of_type(PyTypeObject *type)
{
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    lw_collection found = LW_NO_COLLECTION;

    if (name != NULL && strncmp(name, "dask.array", strlen("dask.array")) == 0)
        found = LW_DASK_ARRAY;
    else if (name != NULL && strncmp(name, "xarray.", strlen("xarray.")) == 0 &&
             strcmp(type->tp_name, "DataArray") == 0)
        found = LW_LABELLED_ARRAY;
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

lw_collection
lw_collection_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyArray_Check(object) ||
        lw_is_device_array(object))
        return LW_NO_COLLECTION;
    return has_graph(type) ? collection_of_type(type) : LW_NO_COLLECTION;
}

lw_collection
lw_brings_collection(PyObject *const *args, Py_ssize_t n)
{
    lw_collection found = LW_NO_COLLECTION;

    for (Py_ssize_t i = 0; i < n; i++) {
        lw_collection one = lw_collection_of(args[i]);

        if (one > found)
            found = one;
    }
    return found;
}

static lw_service
service_of(lw_collection collection)
{
    return collection == LW_LABELLED_ARRAY ? LW_SERVICE_LABELLED : LW_SERVICE_DASK;
}

PyObject *
lw_call_of_collection(lw_collection collection, const char *name, PyObject *object,
                      PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    return lw_service_call(service_of(collection), name, object, args, n_args, kwnames);
}

PyObject *
lw_call_of_collection_by(lw_collection collection, const char *name, PyObject *object,
                         PyObject *args, PyObject *kwargs)
{
    return lw_service_call_by(service_of(collection), name, object, args, kwargs);
}
