/* The numpy.ufunc inside a Ufunc or Gufunc: made without loops and with one promoter for any
 * dtypes, which chooses by docs/typing.md; loops join by PyUFunc_AddLoopFromSpec. What its
 * callbacks find begins with lw_loop_table. GIL held. */
#ifndef LW_PY_UFUNC_INNER_H
#define LW_PY_UFUNC_INNER_H

#include "core/py/numpy_api.h"

#include "core/base/lock.h"
#include "core/py/numpy/ufunc_type.h"

/* owner: borrowed, NULL once the Ufunc is gone; owner_ref: a weak reference to it, where there
 * is no GIL that would keep it alive while it is looked at; owner_type: its name; name, doc:
 * numpy.ufunc borrows them. */
#define LW_LOOP_TABLE_HEAD                                                                     \
    _Atomic uint32_t references;                                                               \
    _Atomic(lw_ufunc_head *) owner;                                                            \
    PyObject *owner_ref;                                                                       \
    const char *owner_type;                                                                    \
    char *name, *doc;                                                                          \
    lw_build_options build; /* of the loops' machine code */                                   \
    lw_lock lock;           /* guards stats */                                                 \
    lw_ufunc_stats stats;

typedef struct lw_loop_table {
    LW_LOOP_TABLE_HEAD
} lw_loop_table;

lw_ufunc_stats lw_loop_table_stats(lw_loop_table *table);

/* layout: of core dimensions, or NULL; drop: of a capsule "lanewise.table", whose pointer the
 * table is and which holds one of its references. */
PyObject *lw_inner_bare(const lw_ufunc_head *self, lw_loop_table *table, const char *layout,
                        PyCapsule_Destructor drop);

/* Calls it. */
PyObject *lw_inner_call(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames);
/* The numpy.ufunc as it is now; borrowed, until Python's code runs. */
PyObject *lw_inner_now(const lw_ufunc_head *self);
/* Another one in its place. Steals inner; -1 with an exception. */
int lw_inner_replace(lw_ufunc_head *self, PyObject *inner);
/* How often NumPy has been given a loop when it asked; and, with an exception set: NumPy gives
 * up on a promoter that changes no dtype, which is what happens when dtype= or signature=
 * already says what the new loop takes. True: NumPy has the loop now, and the exception is
 * cleared. */
uint32_t lw_inner_n_given(const lw_ufunc_head *self);
bool lw_inner_should_ask_again(const lw_ufunc_head *self, uint32_t n_given_before);
/* With an exception from giving a loop to a numpy.ufunc: whether it has the loop already; then
 * the exception is cleared. */
bool lw_inner_had_it(void);

/* -1 with an exception. */
int lw_inner_set_owner(lw_loop_table *table, lw_ufunc_head *owner, const char *type);
/* A new reference; NULL: it is gone, with ReferenceError where that is said. */
lw_ufunc_head *lw_inner_owner(const lw_loop_table *table);
lw_ufunc_head *lw_inner_owner_or_null(const lw_loop_table *table);

/* NumPy's class of a dtype that NumPy has; borrowed, it stays. */
PyArray_DTypeMeta *lw_dtype_class(lw_dtype dtype);
bool lw_numpy_knows(const lw_dtype *types, int n);

/* Loops are listed in this order of inputs, narrow to wide. */
bool lw_types_go_before(const lw_dtype *a, const lw_dtype *b, int nin);

#endif
