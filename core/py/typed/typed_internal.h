/* The objects of typed lists and dicts: `lanewise.typed.List` and `Dict` are derived from these
 * classes. */
#ifndef LW_PY_TYPED_INTERNAL_H
#define LW_PY_TYPED_INTERNAL_H

#include "core/py/typed/typed_items.h"
#include "core/py/typed/typed_object.h"

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

extern PyTypeObject *lw_typed_list_type, *lw_typed_dict_type;

/* Each adds its class to the module. */
int lw_typed_list_register(PyObject *module);
int lw_typed_dict_register(PyObject *module);

#endif
