/* The methods of typed lists that change or read single items or all of them. Those of
 * lanewise/typed.py are written with them. As other threads and the code of Python that a
 * conversion runs may change the list, its length is read behind conversions. */
#include "core/front/read/critical.h"
#include "core/ir/cell_words.h"
#include "core/py/typed/typed_internal.h"

#include <structmember.h>

static const char what[] = "items of this list";

/* A list, taken apart. */
typedef struct view {
    uint64_t *words, *cells;
    lw_typed_form form;
} view;

static int
view_init(view *v, PyObject *object)
{
    const lw_typed_object *self = (lw_typed_object *)object;

    v->words = lw_typed_words(self);
    v->cells = v->words ? v->words + LW_TYPED_ITEMS : NULL;
    return v->words ? lw_typed_form_init(&v->form, self->likes[0]) : -1;
}

static int64_t
n_of(const view *v)
{
    return v->form.like ? (int64_t)v->words[LW_TYPED_N] : 0;
}

/* The place of an index, which counts from the end if `from_end`; -1 with an IndexError. */
static int64_t
place(int64_t i, int64_t n, bool from_end, const char *said)
{
    i += from_end && i < 0 ? n : 0;
    if (i >= 0 && i < n)
        return i;
    PyErr_SetString(PyExc_IndexError, said);
    return -1;
}

/* ---- reading ---- */

static const char no_item[] = "list index out of range";
static const char no_place[] = "list assignment index out of range";

static PyObject *
item_at(PyObject *object, Py_ssize_t i, bool from_end)
{
    view v;
    int64_t at;

    if (view_init(&v, object) < 0)
        return NULL;
    at = place(i, n_of(&v), from_end, no_item);
    return at < 0 ? NULL : lw_typed_show(&v.form, v.cells, at);
}

static PyObject *
get_item(PyObject *object, Py_ssize_t i)
{
    PyObject *item;

    Py_BEGIN_CRITICAL_SECTION(object);
    item = item_at(object, i, false);
    Py_END_CRITICAL_SECTION();
    return item;
}

static PyObject *
subscript(PyObject *object, PyObject *index)
{
    PyObject *item;
    Py_ssize_t i;

    if (PySlice_Check(index))
        return lw_typed_call(object, "_slice", index, NULL);
    i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    item = item_at(object, i, true);
    Py_END_CRITICAL_SECTION();
    return item;
}

static PyObject *
list_of(PyObject *object)
{
    PyObject *list = NULL;
    view v;

    if (view_init(&v, object) == 0)
        list = PyList_New(0);
    for (int64_t i = 0; list != NULL && i < n_of(&v); i++) {
        PyObject *item = lw_typed_show(&v.form, v.cells, i);
        if (item == NULL || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *
to_list(PyObject *object, PyObject *Py_UNUSED(unused))
{
    PyObject *list;

    Py_BEGIN_CRITICAL_SECTION(object);
    list = list_of(object);
    Py_END_CRITICAL_SECTION();
    return list;
}

static int
has(PyObject *object, PyObject *x)
{
    view v;
    int found = view_init(&v, object);

    for (int64_t i = 0; found == 0 && i < n_of(&v); i++) {
        PyObject *item = lw_typed_show(&v.form, v.cells, i);
        found = item ? PyObject_RichCompareBool(item, x, Py_EQ) : -1;
        Py_XDECREF(item);
    }
    return found;
}

static int
contains(PyObject *object, PyObject *x)
{
    int found;

    Py_BEGIN_CRITICAL_SECTION(object);
    found = has(object, x);
    Py_END_CRITICAL_SECTION();
    return found;
}

static PyObject *
next_item(lw_typed_iterator *self)
{
    view v;

    if (view_init(&v, (PyObject *)self->over) < 0 || self->at >= n_of(&v))
        return NULL;
    return lw_typed_show(&v.form, v.cells, self->at++);
}

static PyObject *
iterate(PyObject *object)
{
    return lw_typed_iterate(object, next_item, 0, 0);
}

/* ---- changing ---- */

/* The same for a list that gets an item, whose type the first one decides. */
static int
view_for(view *v, PyObject *object, PyObject *first)
{
    PyObject *done;

    if (view_init(v, object) < 0 || v->form.like != NULL)
        return v->words && !PyErr_Occurred() ? 0 : -1;
    done = lw_typed_call(object, "_decide", first, NULL);
    Py_XDECREF(done);
    return done ? view_init(v, object) : -1;
}

static int
append_one(PyObject *object, PyObject *x)
{
    lw_typed_item item;
    int64_t n;
    int result = -1;
    view v;

    if (view_for(&v, object, x) < 0 || lw_typed_read(&v.form, x, what, false, &item) < 0)
        return -1;
    n = n_of(&v);
    if (lw_typed_make_room(&v.form, v.cells, n) == 0)
        result = lw_typed_store(&v.form, v.cells, n, &item);
    if (result == 0)
        v.words[LW_TYPED_N] = (uint64_t)n + 1;
    lw_typed_item_end(&item);
    return result;
}

static PyObject *
append(PyObject *object, PyObject *x)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = append_one(object, x);
    Py_END_CRITICAL_SECTION();
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* Ends the items between `to` and `from`. */
static int
drop(view *v, int64_t to, int64_t from)
{
    lw_typed_ended ended;
    int64_t n = n_of(v);

    if (lw_typed_close_gap(&v->form, v->cells, to, from, n, &ended) < 0)
        return -1;
    v->words[LW_TYPED_N] = (uint64_t)(n - (from - to));
    lw_typed_ended_release(&ended);
    return 0;
}

/* All of the items, or none. */
static int
append_all(PyObject *object, PyObject *list)
{
    int64_t before = lw_typed_length(object);
    int result = before < 0 ? -1 : 0;
    PyObject *type, *value, *trace;
    view v;

    for (Py_ssize_t i = 0; result == 0 && i < PyList_GET_SIZE(list); i++)
        result = append_one(object, PyList_GET_ITEM(list, i));
    if (result == 0 || before < 0)
        return result;
    PyErr_Fetch(&type, &value, &trace);
    if (view_init(&v, object) < 0 || (n_of(&v) > before && drop(&v, before, n_of(&v)) < 0))
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return -1;
}

static PyObject *
extend(PyObject *object, PyObject *values)
{
    PyObject *list = PyObject_TypeCheck(values, lw_core->typed_list_type)
                         ? to_list(values, NULL)
                         : PySequence_List(values);
    int result;

    if (list == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    result = append_all(object, list);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(list);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

/* x: NULL: the item is deleted. */
static int
assign_at(PyObject *object, Py_ssize_t i, bool from_end, PyObject *x)
{
    lw_typed_item item;
    int64_t at;
    int result;
    view v;

    if (view_init(&v, object) < 0)
        return -1;
    at = place(i, n_of(&v), from_end, no_place);
    if (at < 0)
        return -1;
    if (x == NULL)
        return drop(&v, at, at + 1);
    if (lw_typed_read(&v.form, x, what, false, &item) < 0)
        return -1;
    at = place(at, n_of(&v), false, no_place);
    result = at < 0 ? -1 : lw_typed_store(&v.form, v.cells, at, &item);
    lw_typed_item_end(&item);
    return result;
}

static int
set_item(PyObject *object, Py_ssize_t i, PyObject *x)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = assign_at(object, i, false, x);
    Py_END_CRITICAL_SECTION();
    return result;
}

static int
assign_slice(PyObject *object, PyObject *slice, PyObject *x)
{
    PyObject *done = x ? lw_typed_call(object, "_set_slice", slice, x)
                       : lw_typed_call(object, "_delete_slice", slice, NULL);

    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int
assign(PyObject *object, PyObject *index, PyObject *x)
{
    Py_ssize_t i;
    int result;

    if (PySlice_Check(index))
        return assign_slice(object, index, x);
    i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    result = assign_at(object, i, true, x);
    Py_END_CRITICAL_SECTION();
    return result;
}

static int
insert_at(PyObject *object, Py_ssize_t i, PyObject *x)
{
    lw_typed_item item;
    lw_typed_ended none;
    int64_t n, at;
    int result = -1;
    view v;

    if (view_for(&v, object, x) < 0 || lw_typed_read(&v.form, x, what, false, &item) < 0)
        return -1;
    n = n_of(&v);
    at = i < 0 ? (i + n < 0 ? 0 : i + n) : i < n ? i : n;
    if (lw_typed_make_room(&v.form, v.cells, n) == 0) {
        lw_typed_open_gap(&v.form, v.cells, at, n);
        result = lw_typed_store(&v.form, v.cells, at, &item);
        if (result == 0)
            v.words[LW_TYPED_N] = (uint64_t)n + 1;
        else if (lw_typed_close_gap(&v.form, v.cells, at, at + 1, n + 1, &none) == 0)
            lw_typed_ended_release(&none); /* it fits into what is there: it does not fail */
    }
    lw_typed_item_end(&item);
    return result;
}

static PyObject *
insert(PyObject *object, PyObject *args)
{
    PyObject *index, *x;
    Py_ssize_t i;
    int result;

    if (!PyArg_ParseTuple(args, "OO:insert", &index, &x))
        return NULL;
    i = PyNumber_AsSsize_t(index, NULL); /* of an int beyond 64 bits, the nearest one */
    if (i == -1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    result = insert_at(object, i, x);
    Py_END_CRITICAL_SECTION();
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
pop_at(PyObject *object, Py_ssize_t i)
{
    PyObject *item;
    int64_t at;
    view v;

    if (view_init(&v, object) < 0)
        return NULL;
    at = place(i, n_of(&v), true, n_of(&v) ? "pop index out of range" : "pop from empty list");
    item = at < 0 ? NULL : lw_typed_show(&v.form, v.cells, at);
    if (item != NULL && drop(&v, at, at + 1) < 0)
        Py_CLEAR(item);
    return item;
}

static PyObject *
pop(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"index", NULL};
    PyObject *index = NULL, *item;
    Py_ssize_t i = -1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:pop", names, &index))
        return NULL;
    if (index != NULL)
        i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    item = pop_at(object, i);
    Py_END_CRITICAL_SECTION();
    return item;
}

static PyObject *
clear(PyObject *object, PyObject *Py_UNUSED(unused))
{
    int result;
    view v;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = view_init(&v, object);
    if (result == 0)
        result = drop(&v, 0, n_of(&v));
    Py_END_CRITICAL_SECTION();
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
reverse(PyObject *object, PyObject *Py_UNUSED(unused))
{
    int result;
    view v;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = view_init(&v, object);
    if (result == 0)
        lw_typed_reverse(&v.form, v.cells, n_of(&v));
    Py_END_CRITICAL_SECTION();
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
begin(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return lw_typed_begin((lw_typed_object *)object);
}

/* ---- the class ---- */

static PyMemberDef members[] = {
    {"_words", T_OBJECT_EX, offsetof(lw_typed_object, words), 0, NULL},
    {"_like", T_OBJECT_EX, offsetof(lw_typed_object, likes), 0, NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"_begin", begin, METH_NOARGS, PyDoc_STR("memory for the items; gives its address")},
    {"_list", to_list, METH_NOARGS, PyDoc_STR("the items, as a list")},
    {"append", append, METH_O,
     PyDoc_STR("append($self, value, /)\n--\n\nAdd an item to the end.")},
    {"extend", extend, METH_O,
     PyDoc_STR("extend($self, values, /)\n--\n\nAdd items to the end.")},
    {"insert", insert, METH_VARARGS,
     PyDoc_STR("insert($self, index, value, /)\n--\n\nAdd an item in front of the one at the "
               "index.")},
    {"pop", (PyCFunction)(void (*)(void))pop, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("pop($self, /, index=-1)\n--\n\nRemove the item at the index, and return it.")},
    {"clear", clear, METH_NOARGS, PyDoc_STR("clear($self, /)\n--\n\nRemove all items.")},
    {"reverse", reverse, METH_NOARGS,
     PyDoc_STR("reverse($self, /)\n--\n\nReverse the order of the items.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("The items of a typed list.")},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_iter, iterate},
    {Py_sq_length, lw_typed_length},
    {Py_sq_item, get_item},
    {Py_sq_ass_item, set_item},
    {Py_sq_contains, contains},
    {Py_mp_length, lw_typed_length},
    {Py_mp_subscript, subscript},
    {Py_mp_ass_subscript, assign},
    {Py_tp_traverse, lw_typed_traverse},
    {Py_tp_clear, lw_typed_clear},
    {Py_tp_dealloc, lw_typed_dealloc},
    {0},
};

static PyType_Spec spec = {
    .name = "lanewise._core.ListCells",
    .basicsize = sizeof(lw_typed_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int
lw_typed_list_register(PyObject *module)
{
    lw_core->typed_list_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return lw_core->typed_list_type ? PyModule_AddType(module, lw_core->typed_list_type) : -1;
}
