/* Items of typed lists and dicts between Python and their cells (core/ir/cell_words.h). Their
 * `like` says of what type they are (lanewise/_typed_containers.py): an array without elements,
 * `Texts`, an `ArrayKind`, a typed list or dict, or a tuple of these. A form is a like taken
 * apart: a leaf for each cell. */
#ifndef LW_PY_TYPED_ITEMS_H
#define LW_PY_TYPED_ITEMS_H

#include "core/py/numpy_api.h"

#include "core/py/array/args.h"

enum { LW_TYPED_MOST_CELLS = 16 };

/* ---- forms: typed_form.c ---- */

typedef enum lw_typed_kind {
    LW_TYPED_NUMBERS,
    LW_TYPED_TEXTS,
    LW_TYPED_ARRAYS,
    LW_TYPED_CONTAINERS
} lw_typed_kind;

typedef struct lw_typed_leaf {
    lw_typed_kind kind;
    lw_dtype dtype;    /* of numbers */
    Py_ssize_t begin;  /* bytes in front of the first item */
    Py_ssize_t stride; /* bytes from one item to the next */
    PyObject *like;    /* borrowed */
    int ndim;          /* of arrays in slots */
} lw_typed_leaf;

typedef struct lw_typed_form {
    PyObject *like; /* borrowed; NULL: nobody knows it yet */
    int n;
    lw_typed_leaf leaves[LW_TYPED_MOST_CELLS];
} lw_typed_form;

/* like: NULL or None: nobody knows it. -1 with an exception. */
int lw_typed_form_init(lw_typed_form *form, PyObject *like);
/* Whether two likes are surely of one type; NULL: nobody knows a like. */
bool lw_typed_are_alike(PyObject *x, PyObject *y);
/* Adds _typed_kinds, which names the classes of likes, to the module. */
int lw_typed_form_register(PyObject *module);

/* ---- items: typed_items.c ---- */

/* An item, converted. */
typedef struct lw_typed_item {
    PyObject *kept; /* owned, or NULL: what it was converted from */
    struct {
        lw_value value;
        PyObject *array; /* borrowed: of an array, or the words of a container */
    } cells[LW_TYPED_MOST_CELLS];
} lw_typed_item;

/* 1; 0: only if `is_looked_up`: no container has such an item; -1 with an exception. what: how
 * an error names the items. Ended by lw_typed_item_end if it gives 1. */
int lw_typed_read(const lw_typed_form *form, PyObject *object, const char *what,
                  bool is_looked_up, lw_typed_item *item);
void lw_typed_item_end(lw_typed_item *item);

/* cells: the first cell of the items. A new reference, or NULL with an exception. */
PyObject *lw_typed_show(const lw_typed_form *form, const uint64_t *cells, int64_t at);
/* Stores an item where there is room. -1 with an exception: then nothing has changed. */
int lw_typed_store(const lw_typed_form *form, uint64_t *cells, int64_t at,
                   const lw_typed_item *item);

/* ---- memory: typed_room.c ---- */

/* Makes room for the item n. -1 with an exception. */
int lw_typed_make_room(const lw_typed_form *form, uint64_t *cells, int64_t n);

/* What items that have ended referred to. It is released when their list or dict is whole
 * again, as the end of an array may run Python's code. */
typedef struct lw_typed_ended {
    int64_t n;
    void **memories, *few[LW_TYPED_MOST_CELLS];
} lw_typed_ended;

/* Takes the references of the items between `from` and `to`. -1 with an exception: then nothing
 * has changed. */
int lw_typed_take(const lw_typed_form *form, uint64_t *cells, int64_t from, int64_t to,
                  lw_typed_ended *ended);
/* The same, and moves the items from `from` up to n so that the first of them is at `to`. */
int lw_typed_close_gap(const lw_typed_form *form, uint64_t *cells, int64_t to, int64_t from,
                       int64_t n, lw_typed_ended *ended);
void lw_typed_ended_release(lw_typed_ended *ended);

/* Moves the items from `at` up to n by one place, for which there is room. */
void lw_typed_open_gap(const lw_typed_form *form, uint64_t *cells, int64_t at, int64_t n);
/* Reverses the order of the first n items. */
void lw_typed_reverse(const lw_typed_form *form, uint64_t *cells, int64_t n);
/* Memory for so many items, with those of the first n whose hash is not LW_TYPED_DELETED, for
 * each cell. -1 with an exception: then there is none. */
int lw_typed_compacted(const lw_typed_form *form, const uint64_t *cells, const int64_t *hashes,
                       int64_t n, int64_t room, void **made);
/* Puts such memory into the cells, which take its references. */
void lw_typed_adopt(const lw_typed_form *form, uint64_t *cells, void *const *made,
                    int64_t room);

/* ---- keys: typed_keys.c ---- */

/* As lanewise/_growing_dicts.py computes it. */
int64_t lw_typed_hash(const lw_typed_form *form, const lw_typed_item *item);
bool lw_typed_equal(const lw_typed_form *form, const uint64_t *cells, int64_t at,
                    const lw_typed_item *item);

#endif
