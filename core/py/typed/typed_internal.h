/* The objects of typed lists and dicts: `lanewise.typed.List` and `Dict` are derived from these
 * classes. */
#ifndef LW_PY_TYPED_INTERNAL_H
#define LW_PY_TYPED_INTERNAL_H

#include "core/ir/cell_words.h"
#include "core/py/typed/typed_items.h"
#include "core/py/typed/typed_object.h"

/* ---- places in cells ---- */

enum { LW_TYPED_WORD = sizeof(uint64_t) };

static inline uint64_t *
lw_typed_cell_of(uint64_t *cells, int k)
{
    return cells + k * LW_CELL_WORDS;
}

/* The place of item `at` in memory of items. */
static inline void *
lw_typed_place_in(const lw_typed_leaf *leaf, void *bytes, int64_t at)
{
    return (char *)bytes + leaf->begin + at * leaf->stride;
}

static inline void *
lw_typed_place_of(const lw_typed_leaf *leaf, const uint64_t *cell, int64_t at)
{
    return lw_typed_place_in(leaf, (void *)(uintptr_t)cell[LW_CELL_ADDRESS], at);
}

/* Whether items are slots, which refer to the memory of an array or a container. */
static inline bool
lw_typed_has_slots(const lw_typed_leaf *leaf)
{
    return leaf->kind == LW_TYPED_ARRAYS || leaf->kind == LW_TYPED_CONTAINERS;
}

/* ---- containers ---- */

typedef struct lw_typed_object {
    PyObject_HEAD
    PyObject *words;    /* an array; set once */
    PyObject *likes[2]; /* of items, or of keys and of values; None: nobody knows yet */
} lw_typed_object;

/* Borrowed, or NULL with an exception. */
PyObject *lw_typed_container_words(PyObject *container);
PyObject *lw_typed_container_like(PyObject *container, int i); /* borrowed, or NULL */

/* The words themselves; NULL with an exception. */
uint64_t *lw_typed_words(const lw_typed_object *self);
/* How many items, or entries, it has; -1 with an exception. */
Py_ssize_t lw_typed_length(PyObject *object);
/* Gives an object its words: a new list, whose address is given as a Python int, or NULL with
 * an exception. */
PyObject *lw_typed_begin(lw_typed_object *self);

/* The method of this name with an argument or two; y: or NULL. */
PyObject *lw_typed_call(PyObject *object, const char *name, PyObject *x, PyObject *y);

int lw_typed_traverse(PyObject *object, visitproc visit, void *arg);
int lw_typed_clear(PyObject *object);
void lw_typed_dealloc(PyObject *object);

/* An iterator. next: the item `at`, a place that it moves on; NULL at the end, or with an
 * exception. n: of items when it began; what: as its maker says. */
typedef struct lw_typed_iterator {
    PyObject_HEAD
    lw_typed_object *over; /* NULL: at the end */
    PyObject *(*next)(struct lw_typed_iterator *self);
    int64_t at, n;
    long what;
} lw_typed_iterator;

PyObject *lw_typed_iterate(PyObject *over, PyObject *(*next)(lw_typed_iterator *self),
                           int64_t n, long what);

/* Each adds its class to the module. */
int lw_typed_list_register(PyObject *module);
int lw_typed_dict_register(PyObject *module);

#endif
