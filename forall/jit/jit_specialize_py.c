/* specialize(): a kernel for one signature, made once for each. */
#include "core/front/read/python.h"
#include "forall/jit/jit_py_internal.h"

#include "core/front/read/critical.h"
#include "core/py/types/type_object.h"

/* "void(float64[::1])" for these arguments: a new str. */
static PyObject *
text_for(lw_jit *self, PyObject **row, Py_ssize_t n)
{
    PyObject *text = NULL;
    lw_specialisation *specialisation;
    lw_bound bound;

    lw_bound_init(&bound);
    if (lw_bind(&self->base, row, n, &bound) < 0)
        return NULL;
    specialisation = lw_specialisation_get(&self->base, &bound);
    if (specialisation != NULL)
        text = lw_specialisation_signature(specialisation->target);
    lw_bound_release(&bound);
    return text;
}

/* The same where all arguments are types: a new str. None: some argument is no type. */
static PyObject *
text_of_types(PyObject *const *row, Py_ssize_t n)
{
    PyObject *names = PyList_New(0), *inner = NULL, *text = NULL;
    lw_sig_type type;

    for (Py_ssize_t i = 0; names != NULL && i < n; i++) {
        PyObject *name;
        if (!lw_type_object_get(row[i], &type)) {
            Py_DECREF(names);
            return Py_NewRef(Py_None);
        }
        name = PyObject_Str(row[i]);
        if (name == NULL || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    inner = lw_joined(", ", names);
    text = inner ? PyUnicode_FromFormat("void(%U)", inner) : NULL;
    Py_XDECREF(inner);
    Py_XDECREF(names);
    return text;
}

/* The signature for these arguments, or for these types: a new str. */
static PyObject *
specialized_text(lw_jit *self, PyObject *args)
{
    PyObject *row[LW_MOST_ARRANGED], *keep = NULL, *text;
    Py_ssize_t n = lw_function_arrange(&self->base, &PyTuple_GET_ITEM(args, 0),
                                       PyTuple_GET_SIZE(args), NULL, NULL, row);

    if (n < 0)
        return NULL;
    text = n ? text_of_types(row, n) : Py_NewRef(Py_None);
    if (text == NULL || text != Py_None)
        return text;
    Py_CLEAR(text);
    if (lw_jit_unwrap_all(row, n, &keep) == 0)
        text = text_for(self, row, n);
    Py_XDECREF(keep);
    return text;
}

/* The kernel for this signature that was made before, or a new one: a new reference. */
static PyObject *
specialized(lw_jit *self, PyObject *text)
{
    PyObject *made, *kept;

    if (self->specializations == NULL) {
        self->specializations = PyDict_New();
        if (self->specializations == NULL)
            return NULL;
    }
    made = PyDict_GetItemWithError(self->specializations, text);
    if (made != NULL || PyErr_Occurred())
        return Py_XNewRef(made);
    made = self->base.door->make(Py_TYPE(self), &(lw_request){.function = self->base.py_func,
                                                              .signatures = text,
                                                              .keywords = self->base.keywords});
    if (made == NULL)
        return NULL;
    kept = PyDict_SetDefault(self->specializations, text, made); /* another thread's, if any */
    Py_XINCREF(kept);
    Py_DECREF(made);
    return kept;
}

PyObject *
lw_jit_specialize(PyObject *object, PyObject *args)
{
    lw_jit *self = (lw_jit *)object;
    PyObject *text, *result;

    if (!self->base.lazy) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s.specialize(): Dispatcher already specialized by the signatures that "
                     "it was made with",
                     lw_function_name(&self->base));
        return NULL;
    }
    text = specialized_text(self, args);
    Py_BEGIN_CRITICAL_SECTION(object);
    result = text ? specialized(self, text) : NULL;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(text);
    return result;
}

PyObject *
lw_jit_specializations(PyObject *object, void *Py_UNUSED(closure))
{
    const lw_jit *self = (lw_jit *)object;
    PyObject *copy;

    Py_BEGIN_CRITICAL_SECTION(object);
    copy = self->specializations ? PyDict_Copy(self->specializations) : PyDict_New();
    Py_END_CRITICAL_SECTION();
    return copy;
}
