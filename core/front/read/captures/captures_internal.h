/* What captures consist of: captures.c, changed.c for the check whether they have changed, and
 * operands.c for the numbers that change. */
#ifndef LW_FRONT_READ_CAPTURES_INTERNAL_H
#define LW_FRONT_READ_CAPTURES_INTERNAL_H

#include "core/front/read/critical.h"
#include "core/front/read/read_internal.h"
#include "core/front/varying.h"

#include <stdatomic.h>

typedef enum guard_kind {
    GUARD_DICT,
    GUARD_CELL,
    GUARD_ATTRIBUTE,
    GUARD_CODE,       /* __code__ of a function */
    GUARD_DEFAULTS,   /* defaults of its parameters */
    GUARD_KWDEFAULTS, /* defaults of its keyword-only parameters */
    GUARD_LIST,       /* items of a list; value: a tuple of them */
    GUARD_ARRAY,      /* elements of an array; value: their bytes, in C order */
    GUARD_ITEMS,      /* items of a dict, all of them; value: a copy of it */
} guard_kind;

typedef struct guard {
    guard_kind kind;
    PyObject *space;     /* dict, cell, object or function; owned */
    PyObject *name;      /* owned; NULL: the kind has no name */
    PyObject *value;     /* owned; NULL: it was absent */
    PyObject *own;       /* the function itself, whose name was not bound yet; owned, or NULL */
    uint64_t version;    /* version of a dict when it was last compared; 0: unknown */
    lw_varying *varying; /* takes other values (core/front/varying.h); or NULL */
    uint32_t constant;   /* with it: the tree's */
} guard;

struct lw_captures {
    LW_ARRAY(guard) guards;
    LW_ARRAY(guard) frozen; /* LIST or ARRAY that is too large to be compared in each call */
    lw_py_mutex lock;       /* protects `frozen` and the next three fields */
    atomic_bool any_frozen; /* the same as frozen.n != 0, and is read without the lock */
    uint32_t n_calls;       /* how often the captures were checked, where something is frozen */
    bool untold;            /* a check has found that what is frozen has changed */
    PyObject *seen;         /* set of (kind, id, name), while functions are read */
    PyObject *linked;       /* list of what brings code of its own (linked.c), or NULL */
    PyObject *dtypes;  /* list: NumPy's dtypes of records, which the tree points to; or NULL */
    PyObject *enums;   /* list of classes whose members the tree has, or NULL */
    PyObject *watched; /* set: ids of callables and names of attributes, whose overloads
                          count as captured; or NULL */
    _Atomic uint64_t overloads; /* the version of the overloads that were looked at last */
    PyObject *kept;             /* what the reader needs to extend the tree, or NULL */
    lw_tree *tree;              /* whose `reading` they are, or NULL */
    bool of_tree;               /* they belong to it */
    lw_captures *base; /* the captures that they extend, by an overload's implementation */
    _Atomic(lw_captures *) extended; /* the next of those that extend the same; owned */
    lw_captures *more;  /* of another function of the same object, or NULL; owned */
    lw_captures *older; /* those that these have replaced, or NULL; owned */
};

/* captures.c: adds a guard, to those that are compared in each call or to the frozen ones. -1
 * with an exception. */
int lw_guard_add(lw_captures *captures, bool frozen, guard_kind kind, PyObject *space,
                 PyObject *name, PyObject *value);
void lw_guard_drop(guard *g);
/* changed.c: the current value; new reference, or NULL when absent. */
PyObject *lw_guard_value(const guard *g);
bool lw_guard_has_changed(guard *g);
/* The captures to be looked at next: those that extend the first, then another function's. */
lw_captures *lw_captures_after(lw_captures *captures);
/* Whether an object is immutable and entirely described by its bytes. */
bool lw_is_numpy_number(PyObject *object);
/* operands.c: whether the number that a guard's name has now can be the operand's value, which
 * it is then. */
bool lw_guard_takes(const guard *g, PyObject *now);

#endif
