/* Captures: what a compiled function took from its surroundings as constants. A guard owns its
 * namespace and the value that was seen there, so that an identity never returns with another
 * object. */
#include "core/front/read/captures/captures_internal.h"

#include <assert.h>
#include <string.h>

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

void
lw_guard_drop(guard *g)
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
        lw_guard_drop(&captures->guards.data[i]);
    for (uint32_t i = 0; i < captures->frozen.n; i++)
        lw_guard_drop(&captures->frozen.data[i]);
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

/* The name of the module to which the space belongs; a new reference, or NULL. */
static PyObject *
module_of(guard_kind kind, PyObject *space)
{
    PyObject *name = NULL;

    if (kind == GUARD_DICT)
        name = Py_XNewRef(PyDict_GetItemString(space, "__name__"));
    else if (PyModule_Check(space))
        name = PyModule_GetNameObject(space);
    else if (PyType_Check(space) || PyFunction_Check(space))
        name = PyObject_GetAttrString(space, "__module__");
    PyErr_Clear();
    return name;
}

/* Whether it is a private module of the package, a class or a function of one: their names are
 * bound once. Methods of lists, dicts and functions of arrays have captured hundreds of them,
 * and comparing these took five microseconds of a call. */
static bool
is_of_package(guard_kind kind, PyObject *space)
{
    static const char prefix[] = "lanewise._";
    PyObject *name = module_of(kind, space);
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool is = text != NULL && strncmp(text, prefix, sizeof prefix - 1) == 0;

    PyErr_Clear();
    Py_XDECREF(name);
    return is;
}

int
lw_guard_add(lw_captures *captures, bool frozen, guard_kind kind, PyObject *space,
             PyObject *name, PyObject *value)
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
    if (is_of_package(kind, space))
        return 0;
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
    return lw_guard_add(captures, false, kind, space, name, value);
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
