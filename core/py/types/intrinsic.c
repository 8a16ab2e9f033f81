#include "core/py/types/intrinsic.h"

#include "core/front/read/python.h"
#include "core/front/read/services.h"
#include "core/py/host_cuda.h"
#include "core/py/state.h"
#include "core/tables/names.h"

#include <stddef.h>
#include <string.h>

typedef struct intrinsic_row {
    unsigned number;
    const char *path, *signature, *doc;
} intrinsic_row;

#define ARGUMENTS_1 "(x)"
#define ARGUMENTS_2 "(x, y)"
#define ARGUMENTS_3 "(x, y, z)"

static const intrinsic_row rows[] = {
#define KERNEL_NAME(id, path, min, max, rule, impl, signature, doc)                            \
    {LW_NAME_##id, path, signature, doc},
#include "core/tables/kernel_names.def"
#define ARRAY_NAME(id, path, min, max, rule, impl, signature, doc)                             \
    {LW_NAME_##id, path, signature, doc},
#include "core/tables/array_names.def"
#define LIBDEVICE(name, result, args, n, how, what)                                            \
    {LW_NAME_libdevice_##name, "lanewise.cuda.libdevice." #name, ARGUMENTS_##n,                \
     "__nv_" #name " of NVIDIA's libdevice."},
#include "core/tables/libdevice.def"
};

typedef struct intrinsic_object {
    PyObject_HEAD
    const intrinsic_row *row;
} intrinsic_object;

typedef struct group_object {
    PyObject_HEAD
    PyObject *members; /* dict */
    PyObject *path;    /* "cuda.shared" */
} group_object;

/* ---- names: "lanewise.cuda.shared.array" is shared.array in the module lanewise.cuda ---- */

static const char *
shown(const intrinsic_row *row)
{
    return row->path + strlen("lanewise.");
}

static const char *
qualified(const char *name)
{
    return strncmp(name, "cuda.", 5) == 0 ? name + 5 : name;
}

static PyObject *
home_of(const char *name)
{
    return PyUnicode_FromString(strncmp(name, "cuda.", 5) == 0 ? "lanewise.cuda" : "lanewise");
}

/* ---- Intrinsic ---- */

static const intrinsic_row *
row_of(PyObject *object)
{
    return ((intrinsic_object *)object)->row;
}

static PyObject *
intrinsic_repr(PyObject *self)
{
    const intrinsic_row *row = row_of(self);

    return PyUnicode_FromFormat("<%s%s: works in kernels>", shown(row), row->signature);
}

/* What it is in functions that run as plain Python. */
static PyObject *
call_in_python(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *make = lw_service_find(LW_SERVICE_PYTHON_TARGET, "intrinsic");
    PyObject *function = make ? PyObject_CallOneArg(make, self) : NULL;
    PyObject *result = function ? PyObject_Call(function, args, kwargs) : NULL;

    Py_XDECREF(make);
    Py_XDECREF(function);
    return result;
}

/* The value that a thread which runs as plain Python has, or the name itself elsewhere. Steals
 * the member. */
static PyObject *
value_in_python(PyObject *member)
{
    PyObject *read = lw_service_find(LW_SERVICE_PYTHON_TARGET, "value");
    PyObject *result = read ? PyObject_CallOneArg(read, member) : NULL;

    Py_XDECREF(read);
    Py_DECREF(member);
    return result;
}

static PyObject *
intrinsic_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const intrinsic_row *row = row_of(self);

    if (*row->signature && lw_on_python())
        return call_in_python(self, args, kwargs);
    if (*row->signature)
        PyErr_Format(PyExc_RuntimeError,
                     "%s() runs in compiled code only: call it in a function under @cuda.jit, "
                     "@forall or @vectorize",
                     shown(row));
    else
        PyErr_Format(PyExc_TypeError, "%s is a value of a kernel's thread, not a function",
                     shown(row));
    return NULL;
}

static PyObject *
intrinsic_get_name(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(strrchr(row_of(self)->path, '.') + 1);
}

static PyObject *
intrinsic_get_qualname(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(qualified(shown(row_of(self))));
}

static PyObject *
intrinsic_get_module(PyObject *self, void *Py_UNUSED(closure))
{
    return home_of(shown(row_of(self)));
}

static PyObject *
intrinsic_get_doc(PyObject *self, void *Py_UNUSED(closure))
{
    const intrinsic_row *row = row_of(self);

    return PyUnicode_FromFormat("%s%s\n\n%s", shown(row), row->signature, row->doc);
}

static PyObject *
intrinsic_get_row(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(row_of(self)->number);
}

/* A str: pickle and copy find the object again under this name of its module. */
static PyObject *
intrinsic_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return intrinsic_get_qualname(self, NULL);
}

static PyGetSetDef intrinsic_getset[] = {
    {"__name__", intrinsic_get_name, NULL, NULL, NULL},
    {"__qualname__", intrinsic_get_qualname, NULL, NULL, NULL},
    {"__module__", intrinsic_get_module, NULL, NULL, NULL},
    {"__doc__", intrinsic_get_doc, NULL, NULL, NULL},
    {"__lanewise_row__", intrinsic_get_row, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef intrinsic_methods[] = {
    {"__reduce__", intrinsic_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static void
intrinsic_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot intrinsic_slots[] = {
    {Py_tp_dealloc, (void *)intrinsic_dealloc}, {Py_tp_repr, (void *)intrinsic_repr},
    {Py_tp_call, (void *)intrinsic_call},       {Py_tp_getset, intrinsic_getset},
    {Py_tp_methods, intrinsic_methods},         {0, NULL},
};

static PyType_Spec intrinsic_spec = {
    .name = "lanewise._core.Intrinsic",
    .basicsize = sizeof(intrinsic_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = intrinsic_slots,
};

/* ---- IntrinsicGroup ---- */

/* laneid, threadIdx and threadIdx.x, but no function and no group of functions. */
static bool
is_value(PyObject *member)
{
    PyObject *x;

    if (Py_IS_TYPE(member, lw_core->intrinsic_type))
        return *row_of(member)->signature == 0;
    x = Py_IS_TYPE(member, lw_core->intrinsic_group_type)
            ? PyDict_GetItemString(((group_object *)member)->members, "x")
            : NULL;
    return x != NULL && Py_IS_TYPE(x, lw_core->intrinsic_type) && *row_of(x)->signature == 0;
}

static PyObject *
group_getattro(PyObject *self, PyObject *name)
{
    PyObject *member = lw_dict_item(((group_object *)self)->members, name);

    if (member != NULL && lw_on_python() && is_value(member))
        return value_in_python(member);
    if (member != NULL)
        return member;
    member = PyErr_Occurred() ? NULL : PyObject_GenericGetAttr(self, name);
    if (member == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_AttributeError, "%.200U has no attribute '%.200U'",
                     ((group_object *)self)->path, name);
    return member;
}

static int
group_setattro(PyObject *self, PyObject *name, PyObject *Py_UNUSED(value))
{
    PyErr_Format(PyExc_AttributeError, "%U.%U cannot be assigned", ((group_object *)self)->path,
                 name);
    return -1;
}

static PyObject *
group_dir(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return PyDict_Keys(((group_object *)self)->members);
}

/* ---- threadIdx under another name, in a thread that runs as plain Python: its numbers ---- */

/* The named tuple of a thread; elsewhere NULL without an exception. */
static PyObject *
numbers_of(PyObject *self)
{
    PyObject *result =
        lw_on_python() && is_value(self) ? value_in_python(Py_NewRef(self)) : NULL;

    if (result == self)
        Py_CLEAR(result);
    return result;
}

static PyObject *
group_repr(PyObject *self)
{
    PyObject *numbers = numbers_of(self), *result = NULL;

    if (numbers != NULL)
        result = PyObject_Repr(numbers);
    else if (!PyErr_Occurred())
        result = PyUnicode_FromFormat("<%U: works in kernels>", ((group_object *)self)->path);
    Py_XDECREF(numbers);
    return result;
}

static PyObject *
group_str(PyObject *self)
{
    PyObject *numbers = numbers_of(self), *result = NULL;

    if (numbers != NULL || !PyErr_Occurred())
        result = numbers ? PyObject_Str(numbers) : PyObject_Repr(self);
    Py_XDECREF(numbers);
    return result;
}

/* The same, where there must be one. */
static PyObject *
need_numbers(PyObject *self)
{
    PyObject *result = numbers_of(self);

    if (result == NULL && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%U has no items outside of kernels",
                     ((group_object *)self)->path);
    return result;
}

static PyObject *
group_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *numbers = numbers_of(self), *result;

    if (numbers == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    result = PyObject_RichCompare(numbers, other, op);
    Py_DECREF(numbers);
    return result;
}

static Py_hash_t
group_hash(PyObject *self)
{
    PyObject *numbers = numbers_of(self);
    Py_hash_t result = -1;

    if (numbers != NULL)
        result = PyObject_Hash(numbers);
    else if (!PyErr_Occurred())
        result = PyBaseObject_Type.tp_hash(self);
    Py_XDECREF(numbers);
    return result;
}

static PyObject *
group_iter(PyObject *self)
{
    PyObject *numbers = need_numbers(self),
             *result = numbers ? PyObject_GetIter(numbers) : NULL;

    Py_XDECREF(numbers);
    return result;
}

static PyObject *
group_item(PyObject *self, PyObject *index)
{
    PyObject *numbers = need_numbers(self);
    PyObject *result = numbers ? PyObject_GetItem(numbers, index) : NULL;

    Py_XDECREF(numbers);
    return result;
}

static Py_ssize_t
group_length(PyObject *self)
{
    PyObject *numbers = need_numbers(self);
    Py_ssize_t result = numbers ? PyObject_Size(numbers) : -1;

    Py_XDECREF(numbers);
    return result;
}

static PyObject *
group_add(PyObject *a, PyObject *b)
{
    PyTypeObject *type = lw_core->intrinsic_group_type;
    PyObject *x = Py_IS_TYPE(a, type) ? numbers_of(a) : Py_NewRef(a);
    PyObject *y = x == NULL ? NULL : Py_IS_TYPE(b, type) ? numbers_of(b) : Py_NewRef(b);
    PyObject *result = NULL;

    if (y != NULL)
        result = PyNumber_Add(x, y);
    else if (!PyErr_Occurred())
        result = Py_NewRef(Py_NotImplemented);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

/* As an index, NumPy would take it for a list of rows, not for a place. */
static PyObject *
group_array(PyObject *self, PyObject *Py_UNUSED(args))
{
    PyErr_Format(
        PyExc_TypeError,
        "%U under another name cannot be an index or an array in plain Python: write %U, "
        "or tuple() around the name",
        ((group_object *)self)->path, ((group_object *)self)->path);
    return NULL;
}

static PyObject *
group_class(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *numbers = numbers_of(self), *result = NULL;

    if (numbers != NULL || !PyErr_Occurred())
        result = Py_NewRef((PyObject *)Py_TYPE(numbers ? numbers : self));
    Py_XDECREF(numbers);
    return result;
}

static PyObject *
group_get_qualname(PyObject *self, void *Py_UNUSED(closure))
{
    const char *path = PyUnicode_AsUTF8(((group_object *)self)->path);

    return path ? PyUnicode_FromString(qualified(path)) : NULL;
}

static PyObject *
group_get_module(PyObject *self, void *Py_UNUSED(closure))
{
    const char *path = PyUnicode_AsUTF8(((group_object *)self)->path);

    return path ? home_of(path) : NULL;
}

static PyObject *
group_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return group_get_qualname(self, NULL);
}

static int
group_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((group_object *)self)->members);
    return 0;
}

static int
group_clear(PyObject *self)
{
    Py_CLEAR(((group_object *)self)->members);
    return 0;
}

static void
group_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    (void)group_clear(self);
    Py_XDECREF(((group_object *)self)->path);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyGetSetDef group_getset[] = {
    {"__class__", group_class, NULL, NULL, NULL},
    {"__qualname__", group_get_qualname, NULL, NULL, NULL},
    {"__module__", group_get_module, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef group_methods[] = {
    {"__dir__", group_dir, METH_NOARGS, NULL},
    {"__array__", group_array, METH_VARARGS, NULL},
    {"__reduce__", group_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot group_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("Names that compiled code may use.")},
    {Py_tp_dealloc, (void *)group_dealloc},
    {Py_tp_traverse, (void *)group_traverse},
    {Py_tp_clear, (void *)group_clear},
    {Py_tp_repr, (void *)group_repr},
    {Py_tp_str, (void *)group_str},
    {Py_tp_getattro, (void *)group_getattro},
    {Py_tp_setattro, (void *)group_setattro},
    {Py_tp_getset, group_getset},
    {Py_tp_methods, group_methods},
    {Py_tp_richcompare, (void *)group_compare},
    {Py_tp_hash, (void *)group_hash},
    {Py_tp_iter, (void *)group_iter},
    {Py_mp_subscript, (void *)group_item},
    {Py_mp_length, (void *)group_length},
    {Py_nb_add, (void *)group_add},
    {0, NULL},
};

static PyType_Spec group_spec = {
    .name = "lanewise._core.IntrinsicGroup",
    .basicsize = sizeof(group_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = group_slots,
};

/* ---- building the groups ---- */

static PyObject *
group_new(const char *path, size_t n)
{
    group_object *self = PyObject_GC_New(group_object, lw_core->intrinsic_group_type);

    if (self == NULL)
        return NULL;
    self->path = NULL;
    self->members = PyDict_New();
    if (self->members != NULL)
        self->path = PyUnicode_FromStringAndSize(path, (Py_ssize_t)n);
    PyObject_GC_Track(self);
    if (self->path == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* The group of that name in `outer`, made when it is not there; borrowed. */
static PyObject *
subgroup(PyObject *outer, const char *path, const char *name, size_t n)
{
    PyObject *members = ((group_object *)outer)->members, *group;
    PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)n);

    if (key == NULL)
        return NULL;
    group = PyDict_GetItemWithError(members, key);
    if (group == NULL && !PyErr_Occurred()) {
        group = group_new(path, (size_t)(name - path) + n);
        if (group != NULL) {
            int failed = PyDict_SetItem(members, key, group);
            Py_DECREF(group);
            group = failed < 0 ? NULL : group;
        }
    }
    Py_DECREF(key);
    return group;
}

static int
add_row(PyObject *root, const intrinsic_row *row)
{
    const char *path = shown(row), *name = path, *dot;
    PyObject *group = root;
    intrinsic_object *object;
    int result;

    while (group != NULL && (dot = strchr(name, '.')) != NULL) {
        group = subgroup(group, path, name, (size_t)(dot - name));
        name = dot + 1;
    }
    object = group ? PyObject_New(intrinsic_object, lw_core->intrinsic_type) : NULL;
    if (object == NULL)
        return -1;
    object->row = row;
    result = PyDict_SetItemString(((group_object *)group)->members, name, (PyObject *)object);
    Py_DECREF(object);
    return result;
}

static int
add_type(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject **out)
{
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out ? PyModule_AddObjectRef(module, name, (PyObject *)*out) : -1;
}

int
lw_intrinsics_register(PyObject *module)
{
    PyObject *root;
    int result = 0;

    if (add_type(module, &intrinsic_spec, "Intrinsic", &lw_core->intrinsic_type) < 0 ||
        add_type(module, &group_spec, "IntrinsicGroup", &lw_core->intrinsic_group_type) < 0)
        return -1;
    root = group_new("", 0);
    if (root == NULL)
        return -1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && result == 0; i++)
        result = add_row(root, &rows[i]);
    if (result == 0)
        result = PyModule_AddObjectRef(module, "intrinsics", root);
    Py_DECREF(root);
    return result;
}
