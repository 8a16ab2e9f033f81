/* The numpy.ufunc inside a Ufunc or Gufunc: made without loops and with one promoter for any
 * dtypes, which chooses by docs/typing.md; loops join by PyUFunc_AddLoopFromSpec. What its
 * callbacks find begins with lw_loop_table. GIL held. */
#ifndef LW_PY_UFUNC_INNER_H
#define LW_PY_UFUNC_INNER_H

#include "core/py/numpy_api.h"

#include "core/base/lock.h"
#include "core/py/numpy/ufunc_type.h"

/* owner: borrowed, NULL once the Ufunc is gone, under the GIL; owner_type: its name; name, doc:
 * numpy.ufunc borrows them. */
#define LW_LOOP_TABLE_HEAD                                                                     \
    _Atomic uint32_t references;                                                               \
    lw_ufunc_head *owner;                                                                      \
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
/* With an exception set. NumPy gives up on a promoter that changes no dtype, which is what
 * happens when dtype= or signature= already says what the new loop takes. True: the loop is
 * there now, and the exception cleared. */
bool lw_inner_should_ask_again(const lw_ufunc_head *self, uint32_t n_loops_before);

/* False with ReferenceError: the owner is gone. */
bool lw_inner_has_owner(const lw_loop_table *table);

/* NumPy's class of a dtype that NumPy has; borrowed, it stays. */
PyArray_DTypeMeta *lw_dtype_class(lw_dtype dtype);
bool lw_numpy_knows(const lw_dtype *types, int n);

/* Loops are listed in this order of inputs, narrow to wide. */
bool lw_types_go_before(const lw_dtype *a, const lw_dtype *b, int nin);

#endif
