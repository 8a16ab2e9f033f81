/* Signatures are immutable pairs, compared and hashed as their parts; str and repr print them
 * as core/front/signature_parse.c reads them. */
#include "core/py/types/type_signature.h"
#include "core/front/read/python.h"

typedef struct signature_object {
    PyObject_HEAD
    PyObject *result; /* a type object */
    PyObject *args;   /* a tuple of type objects */
} signature_object;

PyObject *
lw_signature_object_new(PyTypeObject *class, PyObject *result, PyObject *args)
{
    signature_object *self = (signature_object *)class->tp_alloc(class, 0);

    if (self != NULL) {
        self->result = Py_NewRef(result);
        self->args = Py_NewRef(args);
    }
    return (PyObject *)self;
}

static PyObject *
signature_repr(PyObject *object)
{
    signature_object *self = (signature_object *)object;
    PyObject *parts = PyList_New(0), *joined, *text;

    for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(self->args); i++) {
        PyObject *part = PyObject_Repr(PyTuple_GET_ITEM(self->args, i));
        if (part == NULL || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    joined = lw_joined(", ", parts);
    text = joined ? PyUnicode_FromFormat("%S(%U)", self->result, joined) : NULL;
    Py_XDECREF(parts);
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
     (void *)PyDoc_STR("The types of a function: float64(float64, int32) returns a float64.")},
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

PyTypeObject *
lw_signature_class_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &signature_spec, NULL);
}
