/* cuda.In, cuda.Out and cuda.InOut as types. */
#include "forall/jit/jit_py_internal.h"

#include "core/py/state.h"

#include <stddef.h>
#include <structmember.h>

typedef struct wrapper {
    PyObject_HEAD
    PyObject *value;
} wrapper;

_Static_assert((int)LW_TRAVEL_BOTH < LW_STATE_TRAVELS, "a class for each way");

PyObject *
lw_jit_unwrap(PyObject *object, lw_travel *travel)
{
    PyTypeObject *type = Py_TYPE(object);

    for (int i = LW_TRAVEL_IN; i <= LW_TRAVEL_BOTH; i++) {
        if (type == lw_core->travel_types[i]) {
            *travel = (lw_travel)i;
            return ((wrapper *)object)->value;
        }
    }
    *travel = LW_TRAVEL_BOTH;
    return object;
}

static PyObject *
wrapper_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", NULL};
    PyObject *value;
    wrapper *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &value))
        return NULL;
    self = (wrapper *)type->tp_alloc(type, 0);
    if (self != NULL)
        self->value = Py_NewRef(value);
    return (PyObject *)self;
}

static int
wrapper_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((wrapper *)self)->value);
    return 0;
}

static int
wrapper_clear(PyObject *self)
{
    Py_CLEAR(((wrapper *)self)->value);
    return 0;
}

static void
wrapper_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    wrapper_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
wrapper_repr(PyObject *self)
{
    return PyUnicode_FromFormat("%s(%R)", Py_TYPE(self)->tp_name, ((wrapper *)self)->value);
}

static PyMemberDef members[] = {{"value", T_OBJECT_EX, offsetof(wrapper, value), READONLY,
                                 PyDoc_STR("what it was made of")},
                                {NULL, 0, 0, 0, NULL}};

PyDoc_STRVAR(
    in_doc,
    "In(array)\n--\n\n"
    "A host array that a kernel only reads. It is copied to the device, but not back.\n\n"
    ">>> cuda.In(np.arange(2)).value\n"
    "array([0, 1])");
PyDoc_STRVAR(out_doc, "Out(array)\n--\n\n"
                      "A host array of which a kernel writes all elements. It is copied back, "
                      "but not to the device.\n\n"
                      ">>> cuda.Out(np.arange(2)).value\n"
                      "array([0, 1])");
PyDoc_STRVAR(in_out_doc, "InOut(array)\n--\n\n"
                         "A host array that a kernel reads and writes. It is copied to the "
                         "device and back, as an array without this wrapper is.\n\n"
                         ">>> cuda.InOut(np.arange(2)).value\n"
                         "array([0, 1])");

static int
add_type(PyObject *module, lw_travel travel, const char *name, const char *short_name,
         const char *doc)
{
    PyType_Slot slots[] = {
        {Py_tp_doc, (void *)doc},         {Py_tp_new, wrapper_new},
        {Py_tp_dealloc, wrapper_dealloc}, {Py_tp_traverse, wrapper_traverse},
        {Py_tp_clear, wrapper_clear},     {Py_tp_repr, wrapper_repr},
        {Py_tp_members, members},         {0, NULL},
    };
    PyType_Spec spec = {.name = name,
                        .basicsize = sizeof(wrapper),
                        .flags =
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                        .slots = slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);

    lw_core->travel_types[travel] = (PyTypeObject *)type;
    return type == NULL ? -1 : PyModule_AddObjectRef(module, short_name, type);
}

int
lw_jit_wrap_register(PyObject *module)
{
    PyObject *cuda = PyObject_GetAttrString(module, "cuda");
    int failed = cuda == NULL ||
                 add_type(cuda, LW_TRAVEL_IN, "lanewise.cuda.In", "In", in_doc) < 0 ||
                 add_type(cuda, LW_TRAVEL_OUT, "lanewise.cuda.Out", "Out", out_doc) < 0 ||
                 add_type(cuda, LW_TRAVEL_BOTH, "lanewise.cuda.InOut", "InOut", in_out_doc) < 0;

    Py_XDECREF(cuda);
    return failed ? -1 : 0;
}
