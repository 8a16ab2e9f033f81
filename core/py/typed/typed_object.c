#include "core/py/typed/typed_object.h"

#include "core/front/read/critical.h"
#include "core/host/counted_memory.h"
#include "core/ir/cell_words.h"
#include "core/py/array/counted_array.h"
#include "core/py/state.h"
#include "core/py/typed/typed_internal.h"

/* ---- containers ---- */

bool
lw_is_typed_container(PyObject *object)
{
    return PyObject_TypeCheck(object, lw_core->typed_list_type) ||
           PyObject_TypeCheck(object, lw_core->typed_dict_type);
}

PyObject *
lw_typed_container_words(PyObject *container)
{
    lw_typed_object *self = (lw_typed_object *)container;

    return lw_typed_words(self) ? self->words : NULL;
}

PyObject *
lw_typed_container_like(PyObject *container, int i)
{
    return ((lw_typed_object *)container)->likes[i];
}

uint64_t *
lw_typed_words(const lw_typed_object *self)
{
    PyArrayObject *words = (PyArrayObject *)self->words;

    if (words != NULL && PyArray_Check(words) && PyArray_SIZE(words) >= LW_TYPED_WORDS)
        return PyArray_DATA(words);
    PyErr_SetString(PyExc_RuntimeError,
                    "this typed list or dict has no memory: its class has not made it");
    return NULL;
}

Py_ssize_t
lw_typed_length(PyObject *object)
{
    const uint64_t *words = lw_typed_words((lw_typed_object *)object);

    return words ? (Py_ssize_t)words[LW_TYPED_N] : -1;
}

PyObject *
lw_typed_begin(lw_typed_object *self)
{
    static const lw_array_result kind = {.is_array = true, .ndim = 1, .owned = true};
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT64);
    uint64_t parts[] = {0, LW_TYPED_WORDS, sizeof(uint64_t), 0};
    void *memory;
    PyObject *words;

    if (self->words != NULL) { /* whoever is changing the object has pointers into its words */
        PyErr_SetString(PyExc_RuntimeError, "__init__ of a typed list or dict can be called "
                                            "once: use clear(), and extend() or update()");
        Py_XDECREF(descr);
        return NULL;
    }
    memory = lw_cells_new(LW_TYPED_WORDS);
    parts[3] = (uint64_t)(uintptr_t)memory;
    if (memory == NULL) {
        Py_XDECREF(descr);
        return PyErr_NoMemory();
    }
    parts[0] = (uint64_t)(uintptr_t)lw_counted_data(memory);
    words = lw_counted_array(&kind, descr, parts, NULL);
    Py_DECREF(descr);
    if (words == NULL)
        return NULL;
    Py_XSETREF(self->words, words);
    return PyLong_FromVoidPtr((void *)(uintptr_t)parts[0]);
}

PyObject *
lw_typed_call(PyObject *object, const char *name, PyObject *x, PyObject *y)
{
    PyObject *key = PyUnicode_InternFromString(name), *result = NULL;

    if (key != NULL)
        result = PyObject_CallMethodObjArgs(object, key, x, y, NULL);
    Py_XDECREF(key);
    return result;
}

int
lw_typed_traverse(PyObject *object, visitproc visit, void *arg)
{
    lw_typed_object *self = (lw_typed_object *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->words);
    Py_VISIT(self->likes[0]);
    Py_VISIT(self->likes[1]);
    return 0;
}

int
lw_typed_clear(PyObject *object)
{
    lw_typed_object *self = (lw_typed_object *)object;

    Py_CLEAR(self->words);
    Py_CLEAR(self->likes[0]);
    Py_CLEAR(self->likes[1]);
    return 0;
}

void
lw_typed_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    (void)lw_typed_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- iterators ---- */

PyObject *
lw_typed_iterate(PyObject *over, PyObject *(*next)(lw_typed_iterator *self), int64_t n,
                 long what)
{
    PyTypeObject *type = lw_state_class(lw_core->typed_iterator_type);
    lw_typed_iterator *made = type ? PyObject_GC_New(lw_typed_iterator, type) : NULL;

    if (made == NULL)
        return NULL;
    made->over = (lw_typed_object *)Py_NewRef(over);
    made->next = next;
    made->at = 0;
    made->n = n;
    made->what = what;
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static PyObject *
iterator_next(PyObject *object)
{
    lw_typed_iterator *self = (lw_typed_iterator *)object;
    lw_typed_object *over;
    PyObject *item;

    Py_BEGIN_CRITICAL_SECTION(object);
    over = (lw_typed_object *)Py_XNewRef(self->over);
    Py_END_CRITICAL_SECTION();
    if (over == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(over);
    item = self->next(self);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(over);
    if (item == NULL && !PyErr_Occurred()) {
        Py_BEGIN_CRITICAL_SECTION(object);
        Py_CLEAR(self->over);
        Py_END_CRITICAL_SECTION();
    }
    return item;
}

static int
iterator_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((lw_typed_iterator *)object)->over);
    return 0;
}

static int
iterator_clear(PyObject *object)
{
    Py_CLEAR(((lw_typed_iterator *)object)->over);
    return 0;
}

static void
iterator_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    (void)iterator_clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyType_Slot iterator_slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("An iterator over a typed list or dict.")},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, iterator_next},
    {Py_tp_traverse, iterator_traverse},
    {Py_tp_clear, iterator_clear},
    {Py_tp_dealloc, iterator_dealloc},
    {0},
};

static PyType_Spec iterator_spec = {
    .name = "lanewise._core.TypedIterator",
    .basicsize = sizeof(lw_typed_iterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = iterator_slots,
};

int
lw_typed_object_register(PyObject *module)
{
    lw_core->typed_iterator_type = (PyTypeObject *)PyType_FromSpec(&iterator_spec);
    if (lw_core->typed_iterator_type == NULL || lw_typed_form_register(module) < 0 ||
        lw_typed_list_register(module) < 0)
        return -1;
    return lw_typed_dict_register(module);
}
