/* The numpy.ufunc inside a Ufunc or Gufunc: made without loops and with one promoter for any
 * dtypes, which chooses by docs/typing.md; loops join by PyUFunc_AddLoopFromSpec. What its
 * callbacks find begins with lw_loop_table. GIL held. */
#ifndef LW_PY_UFUNC_INNER_H
#define LW_PY_UFUNC_INNER_H

#include "core/py/numpy_api.h"

#include "core/base/lock.h"
#include "core/plan/loop.h"
#include "core/py/numpy/ufunc_type.h"

/* What NumPy's callbacks find behind an inner numpy.ufunc: shared by the Ufunc and every
 * numpy.ufunc made for it; owns the loops. A kind may keep more behind this head.
 *
 * name: the user's; numpy_name: of numpy.ufunc, the same or "lanewise.add", which NumPy and
 * pandas do not take for their own. owner: borrowed, NULL once the Ufunc is gone; owner_ref: a
 * weak reference to it, where there is no GIL that would keep it alive while it is looked at;
 * numpy_name, doc: numpy.ufunc borrows them; loops: newest first, read without a lock;
 * can_raise: some loop can. */
#define LW_LOOP_TABLE_HEAD                                                                     \
    _Atomic uint32_t references;                                                               \
    const lw_ufunc_kind *kind;                                                                 \
    _Atomic(lw_ufunc_head *) owner;                                                            \
    PyObject *owner_ref;                                                                       \
    PyObject *time_methods; /* list of methods of NumPy's: ufunc_times.c; or NULL */           \
    const char *name;                                                                          \
    char *numpy_name, *doc;                                                                    \
    const char *numpy_layout; /* as NumPy reads it; NULL: no core dimensions */                \
    _Atomic(lw_loop_head *) loops;                                                             \
    _Atomic(lw_loop_head *) last;                                                              \
    _Atomic bool can_raise;                                                                    \
    lw_build_options build; /* of the loops' machine code */                                   \
    lw_lock lock;           /* guards stats */                                                 \
    lw_ufunc_stats stats;

typedef struct lw_loop_table {
    LW_LOOP_TABLE_HEAD
} lw_loop_table;

/* ---- ufunc_table.c ---- */

/* Of so many bytes, zero behind the head. name: of numpy.ufunc. NULL with an exception. */
lw_loop_table *lw_table_new(size_t bytes, lw_ufunc_head *owner, const char *name,
                            const char *doc);
void lw_table_drop(lw_loop_table *table); /* one reference; NULL is allowed */
/* Something was compiled. */
void lw_ufunc_count(lw_ufunc_stats *stats, const lw_build_report *report);
/* What was compiled for the host, and the kernels of its device calls. */
lw_ufunc_stats lw_table_stats(lw_ufunc_head *self);
/* A new loop, for the table and for the rows of its ufunc. Takes the loop. -1 with an
 * exception. */
int lw_table_add(lw_ufunc_head *self, lw_loop_head *loop);
/* The loop of a numpy.ufunc's run; NULL: there is none. */
lw_loop_head *lw_table_find(lw_loop_table *table, PyArray_Descr *const *descriptors);
/* Gives the loop to a numpy.ufunc of this object, unless that has it: where NumPy asks the
 * promoter, and holds the lock of its loops, or before others see the numpy.ufunc. -1 with an
 * exception. */
int lw_table_give(lw_ufunc_head *self, PyObject *inner, lw_loop_head *loop);
/* The same for a loop that the numpy.ufunc has, under the dtype classes that a call names. */
int lw_table_give_as(lw_ufunc_head *self, PyObject *inner, lw_loop_head *loop,
                     PyArray_DTypeMeta *const *classes);
/* All loops that there are, to one that is new. -1 with an exception. */
int lw_table_give_all(lw_ufunc_head *self, PyObject *inner);

/* ---- ufunc_times.c ---- */

bool lw_class_is_time(const PyArray_DTypeMeta *class);
/* The dtype that stands for a class: of times the one of seconds; void: none of ours. */
lw_dtype lw_dtype_of_class(const PyArray_DTypeMeta *class);
bool lw_types_have_time(const lw_dtype *types, int n);
/* A loop whose inputs are of the classes that are wanted, where loops are made for their inputs
 * and among declared ones. NULL with an exception. */
struct lw_wanted;
void *lw_times_typed(lw_ufunc_head *self, const struct lw_wanted *wanted);
void *lw_times_declared(lw_ufunc_head *self, const struct lw_wanted *wanted);
/* lw_table_give of a loop with times: spec has the kind's slots. -1 with an exception. */
int lw_times_give(lw_ufunc_head *self, PyObject *inner, const lw_loop_head *loop,
                  PyArrayMethod_Spec *spec);
void lw_times_forget(lw_loop_table *table);
/* With the compiler's answer to a call set as the exception: the same answer for the units of
 * the arguments, where some are times. NumPy asked for a loop of their classes only. */
void lw_times_explain(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args);

/* ---- ufunc_inner.c ---- */

/* A new numpy.ufunc with all loops that there are. NULL with an exception. */
PyObject *lw_inner_new(lw_ufunc_head *self);
/* The object's first one. -1 with an exception. */
int lw_inner_make(lw_ufunc_head *self);
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
/* A new reference; NULL: it is gone, with ReferenceError where that is said. */
lw_ufunc_head *lw_inner_owner(const lw_loop_table *table);
lw_ufunc_head *lw_inner_owner_or_null(const lw_loop_table *table);

/* NumPy's class of a dtype that NumPy has; borrowed, it stays. */
PyArray_DTypeMeta *lw_dtype_class(lw_dtype dtype);
bool lw_numpy_knows(const lw_dtype *types, int n);

/* Loops are listed in this order of inputs, narrow to wide. */
bool lw_types_go_before(const lw_dtype *a, const lw_dtype *b, int nin);

#endif
