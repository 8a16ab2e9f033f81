/* Functions of lanewise.reductions, whose usual calls go to a reduction without a step in
 * Python: those of one array, of NumPy's class or ours, or of a list or tuple of numbers, with
 * at most axis=, an int, None or, for some functions, a tuple of ints, also by position, and
 * keepdims=, a bool. All other calls go to the Python function that this object stands for, and
 * whose name, text and signature it has. So do calls with NaN among the results, where such a
 * result is a case of its own: then only calls on the host are usual. */
#include "reduce/reduce_parts_py.h"

#include "core/py/array/device_array.h"
#include "core/py/float_flags.h"
#include "core/py/state.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct reduction_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *source;      /* has the attribute `one`, which is the reduction */
    lw_found reduction;    /* once there was a usual call */
    PyObject *dtype;       /* or NULL */
    PyObject *names[2][2]; /* of the keywords of its calls: with axis=, with keepdims= */
    PyObject *dict, *weakrefs;
    bool scans;        /* accumulate; without axis= only of arrays with one dimension */
    bool several;      /* axis= may be a tuple */
    bool unless_nan;   /* the function is called if there is NaN among the results, … */
    bool gives_places; /* … which are places, and -1 where there is only NaN */
    uint64_t kinds;    /* of the dtypes: bits of the letters that NumPy has for them */
} reduction_function;

/* Different ones for all letters. */
static uint64_t
bit_of(char letter)
{
    return UINT64_C(1) << (letter & 63);
}

/* The number of dimensions of an array that the reduction takes as it is; else -1. */
static int
usual_ndim(const reduction_function *self, PyObject *object)
{
    char kind;
    int ndim;

    if (PyArray_CheckExact(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        kind = PyArray_DESCR(array)->kind;
        ndim = PyArray_NDIM(array);
        for (int d = 0; d < ndim; d++)
            if (PyArray_DIM(array, d) == 0)
                return -1;
    } else if (Py_IS_TYPE(object, lw_core->device_array_type) && !self->unless_nan) {
        lw_device_array *array = (lw_device_array *)object;
        if (array->size == 0)
            return -1;
        kind = array->descr->kind;
        ndim = array->ndim;
    } else
        return -1;
    return self->kinds & bit_of(kind) ? ndim : -1;
}

/* What a usual call gives besides the array; borrowed, and NULL if it is not given, or says
 * what leaving it out says. */
typedef struct usual_call {
    PyObject *axis, *keepdims;
} usual_call;

static bool
read_keyword(const reduction_function *self, usual_call *u, PyObject *name, PyObject *value)
{
    if (u->axis == NULL && PyUnicode_CompareWithASCIIString(name, "axis") == 0) {
        u->axis = value;
        return true;
    }
    u->keepdims = value == Py_True ? value : NULL;
    return !self->scans && PyBool_Check(value) &&
           PyUnicode_CompareWithASCIIString(name, "keepdims") == 0;
}

static bool
is_usual_axis(const reduction_function *self, PyObject *axis)
{
    if (!self->several || !PyTuple_CheckExact(axis))
        return PyLong_CheckExact(axis);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(axis, i)))
            return false;
    return PyTuple_GET_SIZE(axis) > 0;
}

static bool
is_usual(const reduction_function *self, PyObject *const *args, Py_ssize_t n_args,
         PyObject *kwnames, usual_call *u)
{
    Py_ssize_t n_keywords = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    int ndim;

    if (n_args < 1 || n_args > 2)
        return false;
    u->axis = n_args == 2 ? args[1] : NULL;
    u->keepdims = NULL;
    for (Py_ssize_t i = 0; i < n_keywords; i++)
        if (!read_keyword(self, u, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]))
            return false;
    if (u->axis == Py_None && !self->scans)
        u->axis = NULL;
    ndim = usual_ndim(self, args[0]);
    if (u->axis != NULL)
        return is_usual_axis(self, u->axis) && ndim > 0;
    return self->scans ? ndim == 1 : ndim >= 0;
}

/* Borrowed. The first usual call asks for it, because making it takes some milliseconds. */
static PyObject *
reduction_of(reduction_function *self)
{
    PyObject *one = lw_found_get(&self->reduction);

    if (one != NULL)
        return one;
    one = PyObject_GetAttrString(self->source, "one");
    if (one != NULL && !lw_is_reducer(one)) {
        PyErr_Format(PyExc_TypeError, "source: `one` must be a Reduction, not %.200s",
                     Py_TYPE(one)->tp_name);
        Py_CLEAR(one);
    }
    return lw_found_set(&self->reduction, one);
}

static PyObject *
call_reduction(reduction_function *self, PyObject *array, const usual_call *u)
{
    PyObject *one = reduction_of(self), *stack[4] = {array};
    int n = 1;

    if (one == NULL)
        return NULL;
    if (u->axis != NULL)
        stack[n++] = u->axis;
    if (u->keepdims != NULL)
        stack[n++] = u->keepdims;
    if (self->dtype != NULL)
        stack[n++] = self->dtype;
    return lw_reducer_do(one, self->scans ? LW_RECALL_ACCUMULATE : LW_RECALL_CALL, stack, 1,
                         n > 1 ? self->names[u->axis != NULL][u->keepdims != NULL] : NULL);
}

static bool
is_nan(const char *number, npy_intp size)
{
    uint16_t half;
    float single;
    double value;

    switch (size) {
    case sizeof half: memcpy(&half, number, sizeof half); return (half & 0x7fff) > 0x7c00;
    case sizeof single: memcpy(&single, number, sizeof single); return isnan(single);
    default: memcpy(&value, number, sizeof value); return isnan(value);
    }
}

/* Whether there is NaN among results on the host, a number or a new array. */
static bool
has_nan(PyObject *result)
{
    PyArrayObject *array = (PyArrayObject *)result;
    npy_intp size;
    bool found = false;

    if (!PyArray_Check(result))
        return PyArray_IsScalar(result, Floating) && isnan(PyFloat_AsDouble(result));
    if (PyArray_DESCR(array)->kind != 'f')
        return false;
    size = PyArray_ITEMSIZE(array);
    for (npy_intp i = 0; i < PyArray_SIZE(array) && !found; i++)
        found = is_nan(PyArray_BYTES(array) + i * size, size);
    return found;
}

/* Whether there is a place below 0 among results on the host: there were only NaN. */
static bool
has_no_place(PyObject *result)
{
    PyArrayObject *array = (PyArrayObject *)result;
    int64_t place = 0;

    if (!PyArray_Check(result)) {
        PyArray_ScalarAsCtype(result, &place);
        return place < 0;
    }
    for (npy_intp i = 0; i < PyArray_SIZE(array) && place >= 0; i++)
        memcpy(&place, PyArray_BYTES(array) + i * (npy_intp)sizeof place, sizeof place);
    return place < 0;
}

/* Whether results on the host are a case of their own: values that are NaN, or places of floats
 * of which there are none but NaN. */
static bool
is_own_case(const reduction_function *self, PyObject *result)
{
    return self->gives_places ? has_no_place(result) : has_nan(result);
}

/* NULL without an exception: there is NaN among the results. The function then gives all
 * warnings, so those of the reduction are not given. */
static PyObject *
call_unless_nan(reduction_function *self, PyObject *array, const usual_call *u)
{
    lw_held_flags held;
    PyObject *result;
    bool counts;

    lw_hold_float_flags(&held);
    result = call_reduction(self, array, u);
    counts = result != NULL && !is_own_case(self, result);
    if (lw_release_float_flags(&held, counts) < 0 || !counts)
        Py_CLEAR(result);
    return result;
}

static bool
is_number(PyObject *object)
{
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
           PyComplex_CheckExact(object);
}

/* Whether it is a list or tuple of numbers of Python, and has some: to make an array of them
 * runs no code of other classes, so it cannot fail but for a lack of memory. */
static bool
is_of_numbers(PyObject *object)
{
    Py_ssize_t n = 0;
    bool are = PyList_CheckExact(object) || PyTuple_CheckExact(object);

    for (; are && n < PySequence_Fast_GET_SIZE(object); n++) {
        PyObject *item = PySequence_GetItem(object, n);
        are = item != NULL && is_number(item);
        Py_XDECREF(item);
        if (item == NULL)
            PyErr_Clear(); /* another thread has made the list shorter */
    }
    return are && n > 0;
}

/* A call that is not usual as it came: with an array instead of a list of numbers it may be. */
static PyObject *
call_function(reduction_function *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    Py_ssize_t n = n_args + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *stack[3], *array, *result;

    if (n_args == 0 || n > (Py_ssize_t)(sizeof stack / sizeof *stack) ||
        !is_of_numbers(args[0]))
        return PyObject_Vectorcall(self->function, args, nargsf, kwnames);
    array = PyArray_FROM_O(args[0]);
    if (array == NULL)
        return NULL;
    memcpy(stack, args, (size_t)n * sizeof *stack);
    stack[0] = array;
    result = self->vectorcall((PyObject *)self, stack, (size_t)n_args, kwnames);
    Py_DECREF(array);
    return result;
}

static PyObject *
call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    reduction_function *self = (reduction_function *)object;
    PyObject *result;
    usual_call u;

    if (is_usual(self, args, PyVectorcall_NARGS(nargsf), kwnames, &u)) {
        if (!self->unless_nan)
            return call_reduction(self, args[0], &u);
        result = call_unless_nan(self, args[0], &u);
        if (result != NULL || PyErr_Occurred())
            return result;
    }
    return call_function(self, args, nargsf, kwnames);
}

/* ---- life ---- */

static PyObject *
names_of(bool axis, bool keepdims, bool dtype)
{
    const char *name[3];
    PyObject *made;
    int n = 0;

    if (axis)
        name[n++] = "axis";
    if (keepdims)
        name[n++] = "keepdims";
    if (dtype)
        name[n++] = "dtype";
    made = PyTuple_New(n);
    for (int i = 0; i < n && made != NULL; i++) {
        PyObject *text = PyUnicode_InternFromString(name[i]);
        if (text != NULL)
            PyTuple_SET_ITEM(made, i, text);
        else
            Py_CLEAR(made);
    }
    return made;
}

static PyObject *
make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"function",   "source",  "kinds",        "dtype", "scans",
                               "unless_nan", "several", "gives_places", NULL};
    PyObject *function, *source, *dtype = NULL;
    const char *kinds;
    int scans = 0, unless_nan = 0, several = 0, gives_places = 0;
    reduction_function *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOs|O$pppp", keywords, &function, &source,
                                     &kinds, &dtype, &scans, &unless_nan, &several,
                                     &gives_places))
        return NULL;
    self = (reduction_function *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = call;
    self->function = Py_NewRef(function);
    self->source = Py_NewRef(source);
    self->dtype = dtype == Py_None ? NULL : Py_XNewRef(dtype);
    self->scans = scans;
    self->unless_nan = unless_nan;
    self->several = several;
    self->gives_places = gives_places;
    for (; *kinds != 0; kinds++)
        self->kinds |= bit_of(*kinds);
    for (int i = 0; i < 4; i++) {
        self->names[i / 2][i % 2] = names_of(i / 2, i % 2, self->dtype != NULL);
        if (self->names[i / 2][i % 2] == NULL) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static int
traverse(PyObject *object, visitproc visit, void *arg)
{
    reduction_function *self = (reduction_function *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->source);
    Py_VISIT(lw_found_get(&self->reduction));
    Py_VISIT(self->dtype);
    Py_VISIT(self->dict);
    return 0;
}

/* What calls need is not released here, so that they work to the end: a cycle through it is
 * broken by the module, or by the function. */
static int
clear(PyObject *object)
{
    Py_CLEAR(((reduction_function *)object)->dict);
    return 0;
}

static void
dealloc(PyObject *object)
{
    reduction_function *self = (reduction_function *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL)
        PyObject_ClearWeakRefs(object);
    Py_CLEAR(self->function);
    Py_CLEAR(self->source);
    Py_XDECREF(lw_found_get(&self->reduction));
    Py_CLEAR(self->dtype);
    for (int i = 0; i < 4; i++)
        Py_CLEAR(self->names[i / 2][i % 2]);
    Py_CLEAR(self->dict);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *
repr(PyObject *object)
{
    return PyObject_Repr(((reduction_function *)object)->function);
}

/* Like a function, so that inspect and pydoc take it for one. */
static PyObject *
bind(PyObject *object, PyObject *instance, PyObject *Py_UNUSED(type))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(object)
                                                   : PyMethod_New(object, instance);
}

/* For what looks at the object itself, and not at __wrapped__: inspect.getfullargspec. */
static PyObject *
signature(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *inspect = PyImport_ImportModule("inspect"), *result;

    if (inspect == NULL)
        return NULL;
    result = PyObject_CallMethod(inspect, "signature", "O",
                                 ((reduction_function *)object)->function);
    Py_DECREF(inspect);
    return result;
}

/* It is pickled by its name, as functions are. */
static PyObject *
reduce(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return PyObject_GetAttrString(object, "__qualname__");
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(reduction_function, vectorcall), READONLY,
     NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(reduction_function, weakrefs), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(reduction_function, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__signature__", signature, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("A function of lanewise.reductions.")},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_repr, repr},
    {Py_tp_descr_get, bind},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, NULL}};

static PyType_Spec spec = {.name = "lanewise._core.ReductionFunction",
                           .basicsize = sizeof(reduction_function),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int
lw_reduction_function_register(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);

    lw_core->reduction_function_type = (PyTypeObject *)type;
    return type ? PyModule_AddObjectRef(module, "ReductionFunction", type) : -1;
}
