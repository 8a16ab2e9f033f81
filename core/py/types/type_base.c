#include "core/py/types/type_base.h"

#include "core/front/read/services.h"

#include <structmember.h>

static int
base_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *words[] = {"name", NULL};
    PyObject *name;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U:Type", words, &name))
        return -1;
    Py_XSETREF(((lw_type_base *)self)->name, Py_NewRef(name));
    return 0;
}

static void
base_dealloc(PyObject *self)
{
    PyTypeObject *class = Py_TYPE(self);

    Py_CLEAR(((lw_type_base *)self)->name);
    class->tp_free(self);
    Py_DECREF(class);
}

static PyObject *
base_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttrString(self, "name");
    PyObject *text = name ? PyObject_Str(name) : NULL;

    Py_XDECREF(name);
    return text;
}

static PyObject *
base_get_key(PyObject *self, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(self, "name");
}

static PyObject *
base_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *x, *y, *result = NULL;

    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(self) != Py_TYPE(other))
        Py_RETURN_NOTIMPLEMENTED;
    x = PyObject_GetAttrString(self, "key");
    y = x ? PyObject_GetAttrString(other, "key") : NULL;
    if (y != NULL)
        result = PyObject_RichCompare(x, y, op);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

static Py_hash_t
base_hash(PyObject *self)
{
    PyObject *key = PyObject_GetAttrString(self, "key");
    Py_hash_t hash = key ? PyObject_Hash(key) : -1;

    Py_XDECREF(key);
    return hash;
}

/* In compiled code a call makes a value from its fields. */
static PyObject *
base_call(PyObject *self, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return PyErr_Format(PyExc_TypeError,
                        "%S(...) makes a value in compiled code only, and signatures cannot "
                        "name this type: leave the signatures out",
                        self);
}

static PyObject *
base_subscript(PyObject *self, PyObject *Py_UNUSED(key))
{
    return PyErr_Format(PyExc_TypeError, "%S cannot be the element of an array", self);
}

/* What lanewise.extending knows of it: a struct's fields, or None. */
static PyObject *
base_get_struct(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *find = lw_service_find(LW_SERVICE_EXTENDING, "_struct_of"), *found = NULL;

    if (find != NULL)
        found = PyObject_CallOneArg(find, self);
    Py_XDECREF(find);
    return found;
}

/* (name, attributes) */
static PyObject *
base_getstate(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *name = ((lw_type_base *)self)->name;
    PyObject *dict = PyObject_GetAttrString(self, "__dict__");

    if (dict == NULL)
        PyErr_Clear(); /* an object of the class itself */
    return Py_BuildValue("(ON)", name ? name : Py_None, dict ? dict : Py_NewRef(Py_None));
}

static PyObject *
base_setstate(PyObject *self, PyObject *state)
{
    PyObject *name, *values, *dict;

    if (!PyArg_ParseTuple(state, "OO", &name, &values))
        return NULL;
    if (name != Py_None)
        Py_XSETREF(((lw_type_base *)self)->name, Py_NewRef(name));
    if (values != Py_None) {
        dict = PyObject_GetAttrString(self, "__dict__");
        if (dict == NULL || PyDict_Update(dict, values) < 0) {
            Py_XDECREF(dict);
            return NULL;
        }
        Py_DECREF(dict);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__getstate__", base_getstate, METH_NOARGS, NULL},
    {"__setstate__", base_setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"name", T_OBJECT_EX, offsetof(lw_type_base, name), 0, PyDoc_STR("the name in messages")},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"key", base_get_key, NULL,
     PyDoc_STR("types of one class are equal if their keys are equal; the key is the name, "
               "unless a class overrides it"),
     NULL},
    {"__lanewise_struct__", base_get_struct, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR("Type(name)\n\n"
                       "A type of compiled code, and the base class for types of your own. "
                       "lanewise.extending.register_model declares their members.\n\n"
                       ">>> class PointType(lw.types.Type):\n"
                       "...     def __init__(self):\n"
                       "...         super().__init__(name=\"Point\")\n"
                       ">>> PointType(), PointType() == PointType()\n"
                       "(Point, True)")},
    {Py_tp_new, (void *)PyType_GenericNew},
    {Py_tp_init, (void *)base_init},
    {Py_tp_dealloc, (void *)base_dealloc},
    {Py_tp_repr, (void *)base_repr},
    {Py_tp_hash, (void *)base_hash},
    {Py_tp_richcompare, (void *)base_compare},
    {Py_tp_call, (void *)base_call},
    {Py_mp_subscript, (void *)base_subscript},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "lanewise.types.Type",
    .basicsize = sizeof(lw_type_base),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

PyTypeObject *
lw_type_base_class_new(PyObject *module)
{
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
