/* Whether captures have changed, which each call asks.
 *
 * Lists and arrays can also change in place. Up to LW_COMPARED_BYTES their contents are
 * compared in each call, as names are. Larger ones are treated as frozen: they are compared in
 * calls 1, 2, 4, 8 … and then every LOOK_EVERY calls. That costs nothing measurable and is
 * frequent enough to warn the user (W204). A dict of which all items are captured is compared
 * in each call, because it has few. */
#include "core/front/read/captures/captures_internal.h"

#include <string.h>

enum { LOOK_EVERY = 1024 };

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
            lw_guard_add(captures, n_bytes > LW_COMPARED_BYTES, GUARD_LIST, list, NULL, items);
    Py_XDECREF(items);
    return result;
}

int
lw_captures_add_dict(lw_captures *captures, PyObject *dict, PyObject *items)
{
    return captures ? lw_guard_add(captures, false, GUARD_ITEMS, dict, NULL, items) : 0;
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
        result = lw_guard_add(captures, PyBytes_GET_SIZE(bytes) > LW_COMPARED_BYTES,
                              GUARD_ARRAY, array, NULL, bytes);
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
    if (function == NULL)
        lw_read_clear();
    Py_XDECREF(function);
#ifndef Py_GIL_DISABLED
    if (own) /* the next call compares identities */
        g->value = Py_NewRef(now);
#endif
    return own;
}

/* Whether nothing has changed, as far as this is seen without looking up a value: most guards
 * of most calls need no more. */
static inline bool
is_same_at_a_glance(const guard *g)
{
    uint64_t version = version_of(g);

    if (is_of_function(g))
        return g->varying == NULL && has_same_part(g);
    return version != 0 && version == g->version;
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
    if (is_same_at_a_glance(g))
        return false;
    now = lw_guard_value(g);
    same = g->varying ? lw_guard_takes(g, now) : same_value(now, g->value) || is_own(g, now);
    Py_XDECREF(now);
    if (same && version != 0)
        g->version = version;
    return !same;
}

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
    for (uint32_t i = 0; i < captures->guards.n; i++) {
        guard *g = &captures->guards.data[i];
        if (!is_same_at_a_glance(g) && lw_guard_has_changed(g))
            return true;
    }
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
        lw_guard_drop(&frozen.data[i]);
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
        lw_guard_drop(g);
        *g = captures->guards.data[--captures->guards.n];
    }
}
