/* The methods of typed dicts that change or read single entries or all of them: the table is
 * that of lanewise/_growing_dicts.py. As other threads and the code of Python that a conversion
 * runs may change the dict, keys are looked up behind conversions. */
#include "core/front/read/critical.h"
#include "core/host/counted_memory.h"
#include "core/ir/cell_words.h"
#include "core/py/typed/typed_internal.h"

#include <string.h>
#include <structmember.h>

static const char what_keys[] = "keys of this dict", what_values[] = "values of this dict";

/* Cells of hashes, and of places. */
static const lw_typed_form ints = {
    .n = 1,
    .leaves = {{.kind = LW_TYPED_NUMBERS, .dtype = LW_DT_i64, .stride = sizeof(int64_t)}}};

enum { FIRST_PLACES = 8 };

/* A dict, taken apart. */
typedef struct table {
    uint64_t *words, *key_cells, *value_cells;
    lw_typed_form keys, values;
} table;

static int
table_init(table *t, PyObject *object)
{
    const lw_typed_object *self = (lw_typed_object *)object;

    t->words = lw_typed_words(self);
    if (t->words == NULL || lw_typed_form_init(&t->keys, self->likes[0]) < 0)
        return -1;
    t->key_cells = t->words + LW_TYPED_KEYS;
    t->value_cells = t->key_cells + LW_CELL_WORDS * t->keys.n;
    return lw_typed_form_init(&t->values, self->likes[1]);
}

static int64_t
n_of(const table *t)
{
    return (int64_t)t->words[LW_TYPED_N];
}

static int64_t
used_of(const table *t)
{
    return (int64_t)t->words[LW_TYPED_USED];
}

static int64_t *
numbers_in(const table *t, int cell)
{
    return (int64_t *)(uintptr_t)t->words[cell + LW_CELL_ADDRESS];
}

static int64_t *
hashes_of(const table *t)
{
    return numbers_in(t, LW_TYPED_HASHES);
}

/* ---- the table ---- */

static uint64_t
n_places(const table *t)
{
    return t->words[LW_TYPED_PLACES + LW_CELL_EXTENT];
}

/* The number of the key's entry, or -1. */
static int64_t
find(const table *t, const lw_typed_item *key, int64_t hash)
{
    const int64_t *places = numbers_in(t, LW_TYPED_PLACES);
    uint64_t mask = n_places(t) - 1, at = (uint64_t)hash & mask;

    for (; places[at] != 0; at = (at + 1) & mask) {
        int64_t entry = places[at] - 1;
        if (entry >= 0 && hashes_of(t)[entry] == hash &&
            lw_typed_equal(&t->keys, t->key_cells, entry, key))
            return entry;
    }
    return -1;
}

static void
settle(int64_t *places, uint64_t size, int64_t hash, int64_t number)
{
    uint64_t at = (uint64_t)hash & (size - 1);

    while (places[at] != 0)
        at = (at + 1) & (size - 1);
    places[at] = number;
}

/* Places that no entry has taken; NULL with an exception. */
static void *
new_places(int64_t size)
{
    void *memory =
        size < INT64_MAX / 16 ? lw_counted_new((size_t)size * sizeof(int64_t)) : NULL;

    if (memory == NULL)
        return PyErr_NoMemory();
    memset(lw_counted_data(memory), 0, (size_t)size * sizeof(int64_t));
    return memory;
}

/* Without the deleted entries, and with twice the places that the others need at least. */
static int
rebuild(table *t)
{
    void *keys[LW_TYPED_MOST_CELLS], *values[LW_TYPED_MOST_CELLS], *hashes[1], *places;
    int64_t n = n_of(t), used = used_of(t), size = FIRST_PLACES, room;

    while (size < 4 * n)
        size *= 2;
    room = 2 * size / 3;
    places = new_places(size);
    if (places == NULL)
        return -1;
    if (lw_typed_compacted(&ints, t->words + LW_TYPED_HASHES, hashes_of(t), used, room,
                           hashes) < 0)
        goto no_hashes;
    if (lw_typed_compacted(&t->keys, t->key_cells, hashes_of(t), used, room, keys) < 0)
        goto no_keys;
    if (lw_typed_compacted(&t->values, t->value_cells, hashes_of(t), used, room, values) < 0)
        goto no_values;
    lw_typed_adopt(&ints, t->words + LW_TYPED_HASHES, hashes, room);
    lw_typed_adopt(&t->keys, t->key_cells, keys, room);
    lw_typed_adopt(&t->values, t->value_cells, values, room);
    for (int64_t i = 0; i < n; i++)
        settle(lw_counted_data(places), (uint64_t)size, hashes_of(t)[i], i + 1);
    lw_typed_adopt(&ints, t->words + LW_TYPED_PLACES, &places, size);
    t->words[LW_TYPED_USED] = t->words[LW_TYPED_FILLED] = (uint64_t)n;
    return 0;
no_values:
    for (int k = 0; k < t->keys.n; k++)
        lw_counted_release(keys[k]);
no_keys:
    lw_counted_release(hashes[0]);
no_hashes:
    lw_counted_release(places);
    return -1;
}

static int
add(table *t, const lw_typed_item *key, int64_t hash, const lw_typed_item *value)
{
    int64_t used;

    if (3 * t->words[LW_TYPED_FILLED] >= 2 * n_places(t) && rebuild(t) < 0)
        return -1;
    used = used_of(t);
    if (lw_typed_make_room(&ints, t->words + LW_TYPED_HASHES, used) < 0 ||
        lw_typed_make_room(&t->keys, t->key_cells, used) < 0 ||
        lw_typed_make_room(&t->values, t->value_cells, used) < 0 ||
        lw_typed_store(&t->keys, t->key_cells, used, key) < 0 ||
        lw_typed_store(&t->values, t->value_cells, used, value) < 0)
        return -1;
    hashes_of(t)[used] = hash;
    t->words[LW_TYPED_USED]++;
    t->words[LW_TYPED_FILLED]++;
    t->words[LW_TYPED_N]++;
    settle(numbers_in(t, LW_TYPED_PLACES), n_places(t), hash, used + 1);
    return 0;
}

/* Keys have no references. */
static int
delete_entry(table *t, int64_t entry)
{
    int64_t *places = numbers_in(t, LW_TYPED_PLACES), *hashes = hashes_of(t);
    uint64_t mask = n_places(t) - 1, at = (uint64_t)hashes[entry] & mask;
    lw_typed_ended ended;

    if (lw_typed_take(&t->values, t->value_cells, entry, entry + 1, &ended) < 0)
        return -1;
    while (places[at] != entry + 1)
        at = (at + 1) & mask;
    places[at] = LW_TYPED_DELETED;
    hashes[entry] = LW_TYPED_DELETED;
    t->words[LW_TYPED_N]--;
    lw_typed_ended_release(&ended);
    return 0;
}

/* ---- single entries ---- */

/* *entry: that of the key, or -1. -1 with an exception. */
static int
look_up(table *t, PyObject *object, PyObject *key, int64_t *entry)
{
    lw_typed_item item;
    int known;

    *entry = -1;
    if (table_init(t, object) < 0)
        return -1;
    if (t->keys.like == NULL)
        return 0;
    known = lw_typed_read(&t->keys, key, what_keys, true, &item);
    if (known <= 0)
        return known;
    *entry = find(t, &item, lw_typed_hash(&t->keys, &item));
    lw_typed_item_end(&item);
    return 0;
}

static PyObject *
no_key(PyObject *key)
{
    PyObject *error = PyObject_CallOneArg(PyExc_KeyError, key);

    if (error != NULL)
        PyErr_SetObject(PyExc_KeyError, error);
    Py_XDECREF(error);
    return NULL;
}

/* other: what stands for the value if there is none (borrowed); NULL: a KeyError. */
static PyObject *
value_or(PyObject *object, PyObject *key, PyObject *other)
{
    int64_t entry;
    table t;

    if (look_up(&t, object, key, &entry) < 0)
        return NULL;
    if (entry >= 0)
        return lw_typed_show(&t.values, t.value_cells, entry);
    return other ? Py_NewRef(other) : no_key(key);
}

static PyObject *
subscript(PyObject *object, PyObject *key)
{
    PyObject *value;

    Py_BEGIN_CRITICAL_SECTION(object);
    value = value_or(object, key, NULL);
    Py_END_CRITICAL_SECTION();
    return value;
}

static PyObject *
get(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "default", NULL};
    PyObject *key, *other = Py_None, *value;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:get", names, &key, &other))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    value = value_or(object, key, other);
    Py_END_CRITICAL_SECTION();
    return value;
}

static PyObject *
pop_or(PyObject *object, PyObject *key, PyObject *other)
{
    int64_t entry;
    PyObject *value;
    table t;

    if (look_up(&t, object, key, &entry) < 0)
        return NULL;
    if (entry < 0)
        return other ? Py_NewRef(other) : no_key(key);
    value = lw_typed_show(&t.values, t.value_cells, entry);
    if (value != NULL && delete_entry(&t, entry) < 0)
        Py_CLEAR(value);
    return value;
}

static PyObject *
pop(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "default", NULL};
    PyObject *key, *other = NULL, *value;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:pop", names, &key, &other))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    value = pop_or(object, key, other);
    Py_END_CRITICAL_SECTION();
    return value;
}

static int
contains(PyObject *object, PyObject *key)
{
    int64_t entry;
    int result;
    table t;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = look_up(&t, object, key, &entry);
    Py_END_CRITICAL_SECTION();
    return result < 0 ? -1 : entry >= 0;
}

/* For a dict that gets an entry; the first one decides what types keys and values have. */
static int
table_for(table *t, PyObject *object, PyObject *key, PyObject *value)
{
    PyObject *done;

    if (table_init(t, object) < 0)
        return -1;
    if (t->keys.like != NULL)
        return 0;
    done = lw_typed_call(object, "_decide", key, value);
    Py_XDECREF(done);
    return done ? table_init(t, object) : -1;
}

static int
store(PyObject *object, PyObject *key, PyObject *value)
{
    lw_typed_item key_item, value_item;
    int64_t hash, entry;
    int result = -1;
    table t;

    if (table_for(&t, object, key, value) < 0 ||
        lw_typed_read(&t.keys, key, what_keys, false, &key_item) < 0)
        return -1;
    if (lw_typed_read(&t.values, value, what_values, false, &value_item) >= 0) {
        hash = lw_typed_hash(&t.keys, &key_item);
        entry = find(&t, &key_item, hash);
        result = entry < 0 ? add(&t, &key_item, hash, &value_item)
                           : lw_typed_store(&t.values, t.value_cells, entry, &value_item);
        lw_typed_item_end(&value_item);
    }
    lw_typed_item_end(&key_item);
    return result;
}

static int
delete_key(PyObject *object, PyObject *key)
{
    int64_t entry;
    table t;

    if (look_up(&t, object, key, &entry) < 0)
        return -1;
    if (entry >= 0)
        return delete_entry(&t, entry);
    (void)no_key(key);
    return -1;
}

static int
assign(PyObject *object, PyObject *key, PyObject *value)
{
    int result;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = value ? store(object, key, value) : delete_key(object, key);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* ---- all entries ---- */

enum { KEYS, VALUES, PAIRS };

static PyObject *
entry_of(const table *t, int64_t entry, long what)
{
    PyObject *key = what == VALUES ? NULL : lw_typed_show(&t->keys, t->key_cells, entry);
    PyObject *value, *pair = NULL;

    if (what == KEYS || (what == PAIRS && key == NULL))
        return key;
    value = lw_typed_show(&t->values, t->value_cells, entry);
    if (what == VALUES)
        return value;
    if (value != NULL)
        pair = PyTuple_Pack(2, key, value);
    Py_DECREF(key);
    Py_XDECREF(value);
    return pair;
}

/* The first entry from this one on that is not deleted; beyond the last one: there is none. */
static int64_t
live_from(const table *t, int64_t entry)
{
    while (entry < used_of(t) && hashes_of(t)[entry] == LW_TYPED_DELETED)
        entry++;
    return entry;
}

static PyObject *
next_entry(lw_typed_iterator *self)
{
    table t;

    if (table_init(&t, (PyObject *)self->over) < 0)
        return NULL;
    if (n_of(&t) != self->n) {
        PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
        return NULL;
    }
    self->at = live_from(&t, self->at);
    return self->at < used_of(&t) ? entry_of(&t, self->at++, self->what) : NULL;
}

static PyObject *
iterate_over(PyObject *object, long what)
{
    Py_ssize_t n = lw_typed_length(object);

    return n < 0 ? NULL : lw_typed_iterate(object, next_entry, n, what);
}

static PyObject *
iterate(PyObject *object)
{
    return iterate_over(object, KEYS);
}

static PyObject *
iterate_values(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return iterate_over(object, VALUES);
}

static PyObject *
iterate_pairs(PyObject *object, PyObject *Py_UNUSED(unused))
{
    return iterate_over(object, PAIRS);
}

static PyObject *
dict_of(PyObject *object)
{
    PyObject *dict = NULL;
    table t;

    if (table_init(&t, object) == 0)
        dict = PyDict_New();
    for (int64_t i = 0; dict != NULL && (i = live_from(&t, i)) < used_of(&t); i++) {
        PyObject *key = entry_of(&t, i, KEYS), *value = key ? entry_of(&t, i, VALUES) : NULL;
        if (value == NULL || PyDict_SetItem(dict, key, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *
to_dict(PyObject *object, PyObject *Py_UNUSED(unused))
{
    PyObject *dict;

    Py_BEGIN_CRITICAL_SECTION(object);
    dict = dict_of(object);
    Py_END_CRITICAL_SECTION();
    return dict;
}

static PyObject *
pop_last(PyObject *object)
{
    int64_t entry;
    PyObject *pair;
    table t;

    if (table_init(&t, object) < 0)
        return NULL;
    if (n_of(&t) == 0) {
        PyErr_SetString(PyExc_KeyError, "popitem(): dictionary is empty");
        return NULL;
    }
    entry = used_of(&t) - 1;
    while (hashes_of(&t)[entry] == LW_TYPED_DELETED)
        entry--;
    pair = entry_of(&t, entry, PAIRS);
    if (pair != NULL) {
        t.words[LW_TYPED_USED] = (uint64_t)entry;
        if (delete_entry(&t, entry) < 0)
            Py_CLEAR(pair);
    }
    return pair;
}

static PyObject *
popitem(PyObject *object, PyObject *Py_UNUSED(unused))
{
    PyObject *pair;

    Py_BEGIN_CRITICAL_SECTION(object);
    pair = pop_last(object);
    Py_END_CRITICAL_SECTION();
    return pair;
}

static int
clear_all(PyObject *object)
{
    lw_typed_ended ended;
    void *places;
    table t;

    if (table_init(&t, object) < 0)
        return -1;
    places = new_places(FIRST_PLACES);
    if (places == NULL)
        return -1;
    if (lw_typed_take(&t.values, t.value_cells, 0, used_of(&t), &ended) < 0) {
        lw_counted_release(places);
        return -1;
    }
    lw_typed_adopt(&ints, t.words + LW_TYPED_PLACES, &places, FIRST_PLACES);
    t.words[LW_TYPED_N] = t.words[LW_TYPED_USED] = t.words[LW_TYPED_FILLED] = 0;
    lw_typed_ended_release(&ended);
    return 0;
}

static PyObject *
clear(PyObject *object, PyObject *Py_UNUSED(unused))
{
    int result;

    Py_BEGIN_CRITICAL_SECTION(object);
    result = clear_all(object);
    Py_END_CRITICAL_SECTION();
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
begin(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_typed_object *self = (lw_typed_object *)object;
    void *places = new_places(FIRST_PLACES);
    PyObject *address = places ? lw_typed_begin(self) : NULL;

    if (address != NULL)
        lw_typed_adopt(&ints, lw_typed_words(self) + LW_TYPED_PLACES, &places, FIRST_PLACES);
    else
        lw_counted_release(places);
    return address;
}

/* ---- the class ---- */

static PyMemberDef members[] = {
    {"_words", T_OBJECT_EX, offsetof(lw_typed_object, words), 0, NULL},
    {"_key_like", T_OBJECT_EX, offsetof(lw_typed_object, likes), 0, NULL},
    {"_value_like", T_OBJECT_EX, offsetof(lw_typed_object, likes) + sizeof(PyObject *), 0,
     NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"_begin", begin, METH_NOARGS, PyDoc_STR("memory for the entries; gives its address")},
    {"_dict", to_dict, METH_NOARGS, PyDoc_STR("the entries, as a dict")},
    {"_iterate_values", iterate_values, METH_NOARGS, PyDoc_STR("an iterator over the values")},
    {"_iterate_pairs", iterate_pairs, METH_NOARGS, PyDoc_STR("an iterator over the items")},
    {"get", (PyCFunction)(void (*)(void))get, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("get($self, /, key, default=None)\n--\n\nReturn the value of the key, or the "
               "default if it is not there.")},
    {"pop", (PyCFunction)(void (*)(void))pop, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("pop($self, /, key, default=<no value>)\n--\n\nRemove the key, and return its "
               "value; if it is not there, return the default.")},
    {"popitem", popitem, METH_NOARGS,
     PyDoc_STR("popitem($self, /)\n--\n\nRemove the item that was added last, and return it.")},
    {"clear", clear, METH_NOARGS, PyDoc_STR("clear($self, /)\n--\n\nRemove all items.")},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)PyDoc_STR("The entries of a typed dict.")},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_iter, iterate},
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
    .name = "lanewise._core.DictCells",
    .basicsize = sizeof(lw_typed_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int
lw_typed_dict_register(PyObject *module)
{
    lw_core->typed_dict_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return lw_core->typed_dict_type ? PyModule_AddType(module, lw_core->typed_dict_type) : -1;
}
