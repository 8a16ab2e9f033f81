/* Captures: what a compiled function took from its surroundings as constants. A guard owns its
 * namespace and the value that was seen there, so that an identity never returns with another
 * object.
 *
 * Lists and arrays can also change in place. Up to LW_COMPARED_BYTES their contents are
 * compared in each call, as names are. Larger ones are treated as frozen: they are compared in
 * calls 1, 2, 4, 8 … and then every LOOK_EVERY calls. That costs nothing measurable and is
 * frequent enough to warn the user (W204). A dict of which all items are captured is compared
 * in each call, because it has few. */
#include "core/front/read/captures/captures_internal.h"

#include <assert.h>
#include <string.h>

enum { LOOK_EVERY = 1024 };

lw_captures *
lw_captures_new(void)
{
    lw_captures *captures = lw_alloc_zero(1, sizeof *captures);

    if (captures == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    captures->seen = PySet_New(NULL);
    captures->watched = PySet_New(NULL);
    captures->overloads = lw_overloads_version();
    if (captures->seen == NULL || captures->watched == NULL) {
        lw_captures_free(captures);
        return NULL;
    }
    return captures;
}

static void
drop(guard *g)
{
    Py_CLEAR(g->space);
    Py_CLEAR(g->name);
    Py_CLEAR(g->value);
    Py_CLEAR(g->own);
}

void
lw_captures_free(lw_captures *captures)
{
    if (captures == NULL)
        return;
    if (captures->tree != NULL)
        captures->tree->reading = NULL;
    lw_captures_free(atomic_load(&captures->extended));
    for (uint32_t i = 0; i < captures->guards.n; i++)
        drop(&captures->guards.data[i]);
    for (uint32_t i = 0; i < captures->frozen.n; i++)
        drop(&captures->frozen.data[i]);
    lw_captures_free(captures->more);
    Py_XDECREF(captures->seen);
    Py_XDECREF(captures->linked);
    Py_XDECREF(captures->dtypes);
    Py_XDECREF(captures->enums);
    Py_XDECREF(captures->watched);
    Py_XDECREF(captures->kept);
    lw_array_free(&captures->guards);
    lw_array_free(&captures->frozen);
    lw_captures_free(captures->older);
    lw_free(captures);
}

/* The first one has the code that all of them need. */
void
lw_captures_join(lw_captures *captures, lw_captures *more)
{
    lw_captures *last = captures;

    while (last->more != NULL)
        last = last->more;
    last->more = more;
}

void
lw_captures_replace(lw_captures *captures, lw_captures *older)
{
#ifdef Py_GIL_DISABLED
    bool in_use = true;
#else
    bool in_use = older != NULL && older->tree != NULL; /* its overloads may be asked for now */
#endif
    if (captures != NULL && in_use)
        captures->older = older;
    else
        lw_captures_free(older);
}

int
lw_captures_traverse(const lw_captures *captures, visitproc visit, void *arg)
{
    if (captures == NULL)
        return 0;
    for (uint32_t i = 0; i < captures->guards.n; i++) {
        Py_VISIT(captures->guards.data[i].space);
        Py_VISIT(captures->guards.data[i].value);
        Py_VISIT(captures->guards.data[i].own);
    }
    for (uint32_t i = 0; i < captures->frozen.n; i++) {
        Py_VISIT(captures->frozen.data[i].space);
        Py_VISIT(captures->frozen.data[i].value);
    }
    Py_VISIT(captures->linked);
    Py_VISIT(captures->dtypes);
    Py_VISIT(captures->enums);
    Py_VISIT(captures->watched);
    Py_VISIT(captures->kept);
    if (lw_captures_traverse(atomic_load(&captures->extended), visit, arg))
        return 1;
    if (lw_captures_traverse(captures->older, visit, arg))
        return 1;
    return lw_captures_traverse(captures->more, visit, arg);
}

static int
add_guard(lw_captures *captures, bool frozen, guard_kind kind, PyObject *space, PyObject *name,
          PyObject *value)
{
    assert(space != NULL); /* names of dict items are keys of any type */
    PyObject *key = Py_BuildValue("(inO)", (int)kind, (Py_ssize_t)space, name ? name : Py_None);
    int known = key ? PySet_Contains(captures->seen, key) : -1;
    guard *slot;

    if (known != 0 || PySet_Add(captures->seen, key) < 0) {
        Py_XDECREF(key);
        return known == 1 ? 0 : -1;
    }
    Py_DECREF(key);
    slot = frozen ? lw_array_push(&captures->frozen, NULL)
                  : lw_array_push(&captures->guards, NULL);
    if (slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_INCREF(space);
    Py_XINCREF(name);
    Py_XINCREF(value);
    *slot = (guard){.kind = kind, .space = space, .name = name, .value = value};
    atomic_init(&captures->any_frozen, captures->frozen.n != 0);
    return 0;
}

static int
add(lw_captures *captures, guard_kind kind, PyObject *space, PyObject *name, PyObject *value)
{
    return add_guard(captures, false, kind, space, name, value);
}

int
lw_captures_add_name(lw_captures *captures, PyObject *dict, PyObject *name, PyObject *value)
{
    assert(PyDict_Check(dict));
    return captures ? add(captures, GUARD_DICT, dict, name, value) : 0;
}

const lw_captures *
lw_captures_next(const lw_captures *captures)
{
    return captures ? captures->more : NULL;
}

/* *list: NULL if it has no items yet. */
static int
append_to(PyObject **list, PyObject *item)
{
    if (*list == NULL)
        *list = PyList_New(0);
    return *list ? PyList_Append(*list, item) : -1;
}

Py_ssize_t
lw_captures_add_linked(lw_captures *captures, PyObject *provider)
{
    if (captures == NULL)
        return 0;
    if (captures->base != NULL) /* the numbers go on */
        captures = captures->base;
    if (append_to(&captures->linked, provider) < 0)
        return -1;
    return PyList_GET_SIZE(captures->linked);
}

int
lw_captures_add_enum(lw_captures *captures, PyObject *class)
{
    return captures ? append_to(&captures->enums, class) : 0;
}

PyObject *
lw_captures_linked(const lw_captures *captures)
{
    return captures ? captures->linked : NULL;
}

int
lw_captures_hold_dtype(lw_captures *captures, PyObject *dtype)
{
    return captures ? append_to(&captures->dtypes, dtype) : 0;
}

/* ---- overloads ---- */

int
lw_captures_watch(lw_captures *captures, PyObject *key)
{
    return captures ? PySet_Add(captures->watched, key) : 0;
}

lw_captures *
lw_captures_extending(lw_captures *captures)
{
    lw_captures *made = lw_captures_new();

    if (made != NULL)
        made->base = captures->base ? captures->base : captures;
    return made;
}

static void
forget(void *reading)
{
    lw_captures *captures = reading;

    captures->tree = NULL;
    if (captures->of_tree)
        lw_captures_free(captures);
}

void
lw_captures_keep(lw_captures *captures, lw_tree *tree, PyObject *kept, bool of_tree)
{
    captures->kept = kept;
    captures->tree = tree;
    captures->of_tree = of_tree;
    tree->reading = captures;
    tree->forget = forget;
}

PyObject *
lw_captures_kept(const lw_captures *captures)
{
    return captures->kept;
}

void
lw_captures_drop_kept(lw_captures *captures)
{
#ifdef Py_GIL_DISABLED /* other threads may be copying it */
    (void)captures;
#else
    Py_CLEAR(captures->kept);
#endif
}

void
lw_captures_extend(lw_captures *extension)
{
    lw_captures *base = extension->base;

    lw_py_mutex_take(&base->lock);
    atomic_store(&extension->extended, atomic_load(&base->extended));
    atomic_store(&base->extended, extension);
    lw_py_mutex_give(&base->lock);
}

/* The next one to be looked at: those that extend the first, then another function's. */
lw_captures *
lw_captures_after(lw_captures *captures)
{
    lw_captures *extended = atomic_load(&captures->extended);

    if (extended != NULL)
        return extended;
    return captures->base ? captures->base->more : captures->more;
}

/* Whether an overload of what is watched has been registered since. */
static bool
overloads_changed(lw_captures *captures)
{
    uint64_t before = atomic_load_explicit(&captures->overloads, memory_order_relaxed);
    uint64_t now = lw_overloads_version();

    if (now == before)
        return false;
    if (lw_overloads_touch(captures->watched, before))
        return true;
    atomic_store_explicit(&captures->overloads, now, memory_order_relaxed);
    return false;
}

int
lw_captures_add_cell(lw_captures *captures, PyObject *cell, PyObject *name)
{
    PyObject *value = captures ? PyCell_Get(cell) : NULL;
    uint32_t n = captures ? captures->guards.n : 0;
    int result = captures ? add(captures, GUARD_CELL, cell, NULL, value) : 0;

    if (captures != NULL && captures->guards.n > n) /* it is for messages */
        captures->guards.data[n].name = Py_NewRef(name);

    Py_XDECREF(value);
    return result;
}

void
lw_captures_is_own(lw_captures *captures, PyObject *space, PyObject *name, PyObject *function)
{
    for (uint32_t i = 0; captures != NULL && i < captures->guards.n; i++) {
        guard *g = &captures->guards.data[i];

        if (g->space == space && g->value == NULL && g->kind <= GUARD_CELL &&
            (g->kind == GUARD_CELL || PyUnicode_Compare(g->name, name) == 0))
            Py_XSETREF(g->own, Py_NewRef(function));
    }
    lw_read_clear();
}

int
lw_captures_add_attribute(lw_captures *captures, PyObject *object, PyObject *name,
                          PyObject *value)
{
    return captures ? add(captures, GUARD_ATTRIBUTE, object, name, value) : 0;
}

int
lw_captures_add_function(lw_captures *captures, PyObject *function)
{
    if (captures == NULL)
        return 0;
    if (add(captures, GUARD_CODE, function, NULL, PyFunction_GET_CODE(function)) < 0)
        return -1;
    if (add(captures, GUARD_DEFAULTS, function, NULL, PyFunction_GET_DEFAULTS(function)) < 0)
        return -1;
    return add(captures, GUARD_KWDEFAULTS, function, NULL,
               PyFunction_GET_KW_DEFAULTS(function));
}

/* ---- contents ---- */

static lw_same_array same_array; /* set once, when the module is loaded */

void
lw_captures_compare_arrays(lw_same_array same)
{
    same_array = same;
}

int
lw_captures_add_list(lw_captures *captures, PyObject *list)
{
    PyObject *items = captures ? PyList_AsTuple(list) : NULL;
    size_t n_bytes = items ? (size_t)PyTuple_GET_SIZE(items) * sizeof(PyObject *) : 0;
    int result = items || captures == NULL ? 0 : -1;

    if (items != NULL)
        result =
            add_guard(captures, n_bytes > LW_COMPARED_BYTES, GUARD_LIST, list, NULL, items);
    Py_XDECREF(items);
    return result;
}

int
lw_captures_add_dict(lw_captures *captures, PyObject *dict, PyObject *items)
{
    return captures ? add_guard(captures, false, GUARD_ITEMS, dict, NULL, items) : 0;
}

int
lw_captures_add_array(lw_captures *captures, PyObject *array)
{
    PyObject *bytes = NULL;
    int result = 0;

    if (captures == NULL || same_array == NULL)
        return 0;
    bytes = PyObject_CallMethod(array, "tobytes", NULL);
    if (bytes == NULL || !PyBytes_CheckExact(bytes))
        result = bytes ? 0 : -1;
    else
        result = add_guard(captures, PyBytes_GET_SIZE(bytes) > LW_COMPARED_BYTES, GUARD_ARRAY,
                           array, NULL, bytes);
    Py_XDECREF(bytes);
    return result;
}

/* Whether an object is immutable and entirely described by its bytes; records are not, because
 * they can be written to. */
bool
lw_is_numpy_number(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;

    return strncmp(name, "numpy.", 6) == 0 && strcmp(name, "numpy.ndarray") != 0 &&
           strcmp(name, "numpy.void") != 0 && PyObject_CheckBuffer(object);
}

static bool
same_bytes(PyObject *x, PyObject *y)
{
    Py_buffer a, b;
    bool same = false;

    if (PyObject_GetBuffer(x, &a, PyBUF_SIMPLE) < 0) {
        lw_read_clear();
        return false;
    }
    if (PyObject_GetBuffer(y, &b, PyBUF_SIMPLE) == 0) {
        same = a.len == b.len && memcmp(a.buf, b.buf, (size_t)a.len) == 0;
        PyBuffer_Release(&b);
    } else {
        lw_read_clear();
    }
    PyBuffer_Release(&a);
    return same;
}

static bool same_value(PyObject *x, PyObject *y);

static bool
same_items(PyObject *x, PyObject *y)
{
    bool same = PyTuple_GET_SIZE(x) == PyTuple_GET_SIZE(y);

    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(x); i++)
        same = same_value(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i));
    return same;
}

/* Whether it is the same object, or equal to it under another identity, as after K = 3 is
 * executed again. Only for values whose identity does not matter. */
static bool
same_value(PyObject *x, PyObject *y)
{
    int equal;

    if (x == y || x == NULL || y == NULL || Py_TYPE(x) != Py_TYPE(y))
        return x == y;
    if (PyFloat_CheckExact(x) || PyComplex_CheckExact(x)) {
        Py_complex a = PyComplex_AsCComplex(x), b = PyComplex_AsCComplex(y);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyTuple_CheckExact(x))
        return same_items(x, y);
    if (lw_is_numpy_number(x))
        return same_bytes(x, y);
    if (!PyLong_CheckExact(x) && !PyUnicode_CheckExact(x))
        return false;
    equal = PyObject_RichCompareBool(x, y, Py_EQ);
    if (equal < 0)
        lw_read_clear();
    return equal == 1;
}

/* What a function has at the moment, borrowed, or NULL. In a critical section on it. */
static PyObject *
slot_of_function(PyObject *function, guard_kind kind)
{
    return kind == GUARD_CODE       ? PyFunction_GET_CODE(function)
           : kind == GUARD_DEFAULTS ? PyFunction_GET_DEFAULTS(function)
                                    : PyFunction_GET_KW_DEFAULTS(function);
}

static bool
is_of_function(const guard *g)
{
    return g->kind == GUARD_CODE || g->kind == GUARD_DEFAULTS || g->kind == GUARD_KWDEFAULTS;
}

/* Whether a function has the very object that it had: most calls need to know no more. */
static bool
has_same_part(const guard *g)
{
    bool same;

    Py_BEGIN_CRITICAL_SECTION(g->space);
    same = slot_of_function(g->space, g->kind) == g->value;
    Py_END_CRITICAL_SECTION();
    return same;
}

/* A new reference, or NULL. */
static PyObject *
part_of_function(PyObject *function, guard_kind kind)
{
    PyObject *part;

    Py_BEGIN_CRITICAL_SECTION(function);
    part = Py_XNewRef(slot_of_function(function, kind));
    Py_END_CRITICAL_SECTION();
    return part;
}

/* The current value; new reference, or NULL when absent. */
PyObject *
lw_guard_value(const guard *g)
{
    PyObject *value = NULL;

    if (g->kind == GUARD_CELL)
        return PyCell_Get(g->space);
    if (is_of_function(g))
        return part_of_function(g->space, g->kind);
    if (g->kind == GUARD_ATTRIBUTE) {
        value = PyObject_GetAttr(g->space, g->name);
    } else {
        value = lw_dict_item(g->space, g->name);
    }
    if (value == NULL)
        lw_read_clear();
    return value;
}

/* The version of a dict, which exists until 3.11: no two states of any dicts have the same one.
 * 0: not known. */
static uint64_t
version_of(const guard *g)
{
#if PY_VERSION_HEX < 0x030C0000
    return g->kind == GUARD_DICT ? ((PyDictObject *)g->space)->ma_version_tag : 0;
#else
    (void)g;
    return 0;
#endif
}

/* Hold the items while they are compared, because comparing them may change the list. */
static bool
same_list_now(PyObject *list, PyObject *items)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    bool same = PyList_GET_SIZE(list) == n;

    if (same && n != 0 &&
        memcmp(((PyListObject *)list)->ob_item, ((PyTupleObject *)items)->ob_item,
               (size_t)n * sizeof(PyObject *)) == 0)
        return true;
    for (Py_ssize_t i = 0; same && i < n && i < PyList_GET_SIZE(list); i++) {
        PyObject *now = PyList_GET_ITEM(list, i), *before = PyTuple_GET_ITEM(items, i);
        if (now == before)
            continue;
        Py_INCREF(now);
        same = same_value(now, before);
        Py_DECREF(now);
    }
    return same && PyList_GET_SIZE(list) == n;
}

static bool
same_list(PyObject *list, PyObject *items)
{
    bool same;

    Py_BEGIN_CRITICAL_SECTION(list);
    same = same_list_now(list, items);
    Py_END_CRITICAL_SECTION();
    return same;
}

/* The same keys in the same order, with the same values. */
static bool
same_dict_now(PyObject *dict, PyObject *before)
{
    PyObject *key, *value, *old_key, *old_value;
    Py_ssize_t at = 0, old_at = 0, n = PyDict_GET_SIZE(before);
    bool same = PyDict_GET_SIZE(dict) == n;

    while (same && PyDict_Next(before, &old_at, &old_key, &old_value)) {
        same = PyDict_Next(dict, &at, &key, &value);
        if (same && key == old_key && value == old_value)
            continue;
        if (!same)
            break;
        Py_INCREF(key); /* what is compared may run code that changes the dict */
        Py_INCREF(value);
        same = (key == old_key || same_value(key, old_key)) &&
               (value == old_value || same_value(value, old_value));
        Py_DECREF(key);
        Py_DECREF(value);
        same = same && PyDict_GET_SIZE(dict) == n;
    }
    return same;
}

static bool
same_dict(PyObject *dict, PyObject *before)
{
    bool same;

    Py_BEGIN_CRITICAL_SECTION(dict);
    same = same_dict_now(dict, before);
    Py_END_CRITICAL_SECTION();
    return same;
}

/* Whether the name is still not bound, or is bound to the function by now, or to what a
 * decorator has made of it. */
static bool
is_own(guard *g, PyObject *now)
{
    PyObject *function;
    bool own;

    if (g->own == NULL || now == NULL || g->value != NULL)
        return false;
    function = lw_python_function(now);
    own = function == g->own;
    lw_read_clear();
    Py_XDECREF(function);
#ifndef Py_GIL_DISABLED
    if (own) /* the next call compares identities */
        g->value = Py_NewRef(now);
#endif
    return own;
}

bool
lw_guard_has_changed(guard *g)
{
    uint64_t version = version_of(g);
    PyObject *now;
    bool same;

    if (g->kind == GUARD_LIST)
        return !same_list(g->space, g->value);
    if (g->kind == GUARD_ITEMS)
        return !same_dict(g->space, g->value);
    if (g->kind == GUARD_ARRAY)
        return !same_array(g->space, PyBytes_AS_STRING(g->value),
                           (size_t)PyBytes_GET_SIZE(g->value));
    if (version != 0 && version == g->version)
        return false;
    if (is_of_function(g) && !g->varying && has_same_part(g))
        return false;
    now = lw_guard_value(g);
    same = g->varying ? lw_guard_takes(g, now) : same_value(now, g->value) || is_own(g, now);
    Py_XDECREF(now);
    if (same && version != 0)
        g->version = version;
    return !same;
}

static guard *
changed_among_frozen(lw_captures *captures)
{
    for (uint32_t i = 0; i < captures->frozen.n; i++)
        if (lw_guard_has_changed(&captures->frozen.data[i]))
            return &captures->frozen.data[i];
    return NULL;
}

static bool
changed_names(lw_captures *captures)
{
    for (uint32_t i = 0; i < captures->guards.n; i++)
        if (lw_guard_has_changed(&captures->guards.data[i]))
            return true;
    return false;
}

static bool
looks_at_frozen(lw_captures *captures)
{
    uint32_t n = ++captures->n_calls;

    return (n & (n - 1)) == 0 || n % LOOK_EVERY == 0;
}

/* always: not only in the calls whose turn it is. */
static bool
frozen_changed(lw_captures *captures, bool always)
{
    bool changed;

    if (!atomic_load_explicit(&captures->any_frozen, memory_order_relaxed))
        return false;
    lw_py_mutex_take(&captures->lock);
    changed = (always || looks_at_frozen(captures)) && changed_among_frozen(captures) != NULL;
    captures->untold |= changed && !always;
    lw_py_mutex_give(&captures->lock);
    return changed;
}

bool
lw_captures_changed(lw_captures *captures)
{
    bool changed = false;

    for (; captures != NULL;
         captures = lw_captures_after(captures)) { /* all: each counts its calls */
        changed |= frozen_changed(captures, false);
        changed |= changed_names(captures) || overloads_changed(captures);
    }
    return changed;
}

PyObject *
lw_captures_changed_name(lw_captures *captures)
{
    for (; captures != NULL; captures = lw_captures_after(captures))
        for (uint32_t i = 0; i < captures->guards.n; i++) {
            const guard *g = &captures->guards.data[i];
            if (g->name != NULL && PyUnicode_Check(g->name) &&
                lw_guard_has_changed(&captures->guards.data[i]))
                return Py_NewRef(g->name);
        }
    return NULL;
}

bool
lw_captures_outdated(lw_captures *captures)
{
    for (; captures != NULL; captures = lw_captures_after(captures))
        if (changed_names(captures) || overloads_changed(captures) ||
            frozen_changed(captures, true))
            return true;
    return false;
}

/* The name under which an object was captured; borrowed, or NULL. */
static PyObject *
name_of(const lw_captures *captures, const PyObject *object)
{
    for (uint32_t i = 0; i < captures->guards.n; i++)
        if (captures->guards.data[i].value == object && captures->guards.data[i].name != NULL)
            return captures->guards.data[i].name;
    return NULL;
}

typedef LW_ARRAY(guard) guard_list;

/* The text for what has changed, and all that is frozen, which is compared no more. */
static PyObject *
take_frozen(lw_captures *captures, guard_list *out)
{
    guard *g = captures->untold ? changed_among_frozen(captures) : NULL;
    PyObject *name = g ? name_of(captures, g->space) : NULL, *text;

    captures->untold = false;
    if (g == NULL)
        return NULL;
    text = name != NULL ? PyUnicode_FromFormat("`%S`", name)
                        : PyUnicode_FromString(g->kind == GUARD_LIST ? "a list" : "an array");
    out->data = captures->frozen.data;
    out->n = captures->frozen.n;
    captures->frozen.data = NULL;
    captures->frozen.n = captures->frozen.capacity = 0;
    atomic_store_explicit(&captures->any_frozen, false, memory_order_relaxed);
    return text;
}

/* Of one function. */
static PyObject *
tell_frozen(lw_captures *captures)
{
    guard_list frozen = {0};
    PyObject *text;

    if (!atomic_load_explicit(&captures->any_frozen, memory_order_relaxed))
        return NULL;
    lw_py_mutex_take(&captures->lock);
    text = take_frozen(captures, &frozen);
    lw_py_mutex_give(&captures->lock);
    /* They are out of the captures before they are dropped: a finalizer may call the function.
     */
    for (uint32_t i = 0; i < frozen.n; i++)
        drop(&frozen.data[i]);
    lw_free(frozen.data);
    return text;
}

PyObject *
lw_captures_tell_frozen(lw_captures *captures)
{
    PyObject *text = NULL;

    for (; text == NULL && captures != NULL && !PyErr_Occurred();
         captures = lw_captures_after(captures))
        text = tell_frozen(captures);
    return text;
}

/* An attribute that gives another object at each access cannot be guarded. */
void
lw_captures_finish(lw_captures *captures)
{
    if (captures == NULL)
        return;
    Py_CLEAR(captures->seen);
    for (uint32_t i = 0; i < captures->guards.n;) {
        guard *g = &captures->guards.data[i];
        if (g->kind != GUARD_ATTRIBUTE || !lw_guard_has_changed(g)) {
            i++;
            continue;
        }
        drop(g);
        *g = captures->guards.data[--captures->guards.n];
    }
}
