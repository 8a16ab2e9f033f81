/* What the Python files of this door share among themselves. */
#ifndef LW_GUFUNC_GUFUNC_PARTS_PY_H
#define LW_GUFUNC_GUFUNC_PARTS_PY_H

#include "core/py/numpy_api.h"

#include "core/front/read/python.h"
#include "core/front/signature.h"
#include "core/py/numpy/family.h"
#include "core/py/numpy/loop_rows.h"
#include "core/py/numpy/override.h"
#include "core/py/numpy/ufunc_choose.h"
#include "core/py/numpy/ufunc_inner.h"
#include "core/py/type_num.h"
#include "core/py/types/signature_read.h"
#include "gufunc/core/host_code.h"
#include "gufunc/gufunc_py.h"

/* Behind the inner numpy.ufunc (core/py/numpy/ufunc_inner.h). */
typedef struct lw_gufunc_table {
    LW_LOOP_TABLE_HEAD
    PyObject *library;     /* the numpy.ufunc whose loops ours use for large cores, or NULL */
    lw_core_layout layout; /* of the loops; lies in arena */
    lw_arena arena;
} lw_gufunc_table;

/* The whole object; lw_gufunc is its public part. */
typedef struct lw_gufunc_object {
    lw_gufunc base;
    bool fills;                      /* the outputs are parameters */
    uint8_t params[LW_MAX_OPERANDS]; /* of operands, or LW_NO_PARAM: returned, or a part of an
                                        excluded array */
    bool indexed[LW_MAX_OPERANDS];   /* `()` operands that the function indexes */
    bool writable[LW_MAX_OPERANDS];  /* writable_args= */
    bool has_fixed_out;              /* gufunc_given_py.c: its outputs have these dtypes */
    lw_dtype fixed_out[LW_MAX_OPERANDS];
    PyObject *by_outputs; /* dict: dtypes of a call -> who takes it, or None; or NULL */
} lw_gufunc_object;

enum { LW_NO_PARAM = 255 };

/* ---- the host side: gufunc_host_py.c ---- */
static inline lw_gufunc_table *
lw_gufunc_table_of(const lw_gufunc_object *self)
{
    return (lw_gufunc_table *)self->base.table;
}

/* The object's table, with the layout of this text. -1 with an exception. */
int lw_gufunc_make_table(lw_gufunc_object *self, const char *layout);
/* As lw_ufunc_kind's. */
extern PyType_Slot lw_gufunc_loop_slots[];
void lw_gufunc_prepare_inner(const lw_ufunc_head *self, PyObject *inner);
void lw_gufunc_loop_free(void *loop);
void lw_gufunc_table_free(lw_loop_table *table);
/* Machine code for these arguments of NumPy's. NULL with an exception; with or without the GIL.
 */
lw_gufunc_code *lw_gufunc_code_for(lw_loop_table *table, lw_gufunc_loop *loop,
                                   const int64_t *dims, const int64_t *steps);
/* Runs dims[0] > 0 items, and raises what one of them raised. -1 with an exception. */
int lw_gufunc_run(lw_loop_table *table, lw_gufunc_loop *loop, char *const *args,
                  const int64_t *dims, const int64_t *steps);
/* _use_library(gufunc, ufunc, "fd", least): where all core sizes of an item multiply to `least`
 * or more, loops of these dtypes run those of a numpy.ufunc with the same layout. */
PyObject *lw_gufunc_use_library(PyObject *module, PyObject *args);

/* ---- making loops: gufunc_loops_py.c ---- */

/* Type and lower. out may be NULL or hold void: as inferred; arrays: which `()` operands are
 * arrays, or NULL: those the function indexes. NULL with an exception. */
lw_gufunc_loop *lw_gufunc_make(lw_gufunc_object *self, const lw_dtype *in, const lw_dtype *out,
                               const bool *arrays, bool declared);
/* The typed tree of a loop: inspection. NULL with an exception. */
lw_typed *lw_gufunc_infer(lw_gufunc_object *self, const lw_gufunc_loop *loop);
int lw_gufunc_forms(lw_gufunc_object *self); /* fills, params, indexed; -1: exception */
/* params of the operands by what they are in a family. */
void lw_gufunc_place(lw_gufunc_object *self);

/* ---- signatures: gufunc_signature_py.c ---- */
typedef struct lw_gufunc_types {                        /* what a signature says */
    lw_dtype in[LW_MAX_OPERANDS], out[LW_MAX_OPERANDS]; /* out void: to be inferred */
    bool arrays[LW_MAX_OPERANDS];
    bool has_arrays; /* it says which operands are arrays */
} lw_gufunc_types;

/* -1 with an exception: it does not fit the layout. */
int lw_gufunc_read_signature(const lw_gufunc_object *self, const lw_signature *signature,
                             lw_gufunc_types *out);
/* The loop that a method's `sig` means, made where it is new. Outputs that it names must be the
 * loop's. NULL with an exception. */
lw_gufunc_loop *lw_gufunc_loop_of(lw_gufunc_object *self, PyObject *sig);
PyObject *lw_gufunc_types_text(const lw_gufunc_loop *loop); /* "ff->f" */
/* "void(float32[:], float32[:])", or "float32(float32[:])" */
PyObject *lw_gufunc_loop_text(const lw_gufunc_loop *loop);

/* ---- calls: gufunc_call_py.c, gufunc_broadcast_py.c ---- */
PyObject *lw_gufunc_call(PyObject *self, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
/* Stretch the inputs that `|1` lets be 1: new references into `to` for all nin of them. -1 with
 * an exception. */
int lw_gufunc_stretch(const lw_gufunc *self, PyObject *const *args, Py_ssize_t n_args,
                      PyObject *kwnames, PyObject **to);
PyObject *lw_gufunc_call_method(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args,
                                Py_ssize_t n_args, PyObject *kwnames);

/* ---- calls on contiguous arrays: gufunc_direct_py.c ---- */

/* false: it is none of those that are run here; NumPy's ufunc is called. */
bool lw_gufunc_call_direct(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                           PyObject *kwnames, PyObject **result);

/* ---- long calls on arrays of any layout: gufunc_walk_py.c ---- */

/* false: it is none of those that are run here; NumPy's ufunc is called. */
bool lw_gufunc_call_walk(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames, PyObject **result);

/* The error that is set, a ValueError about the shapes of operands, gets the parameter's name.
 */
void lw_gufunc_show_names(const lw_gufunc_object *self);
/* NumPy's call on host operands, those of `|1` stretched. */
PyObject *lw_gufunc_call_numpy(lw_gufunc_object *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames);

/* ---- outputs that a call gives: gufunc_given_py.c ---- */
/* Who takes the call because the outputs it gives have other dtypes than this object fills: a
 * new reference; NULL: this object, or with an exception. */
PyObject *lw_gufunc_for_outputs(lw_gufunc_object *self, PyObject *const *args,
                                Py_ssize_t n_args, PyObject *kwnames);

/* ---- outputs that NumPy cannot make: gufunc_outputs_py.c ---- */
bool lw_gufunc_makes_outputs(const lw_gufunc_object *self, PyObject *kwnames);
PyObject *lw_gufunc_call_made(lw_gufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                              PyObject *kwnames);
/* _make_gufunc_outputs(on): on every version of NumPy. */
PyObject *lw_gufunc_make_outputs_always(PyObject *module, PyObject *on);

/* ---- excluded= and static=: gufunc_family_py.c ---- */
extern const lw_family_door lw_gufunc_family_door;
const lw_ufunc_kind *lw_gufunc_families(void);
/* A Gufunc of the function; member: of a family, taken also when it fails, or NULL. */
PyObject *lw_gufunc_new(PyTypeObject *type, const lw_request *request, lw_member *member);
/* For families: what gufunc_call_py.c has. */
int lw_gufunc_ask(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                  PyObject *kwnames, int nin, PyObject **result);
PyObject *lw_gufunc_call_host(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames, Py_ssize_t stream);

/* ---- sizes=: gufunc_sizes_py.c ---- */
int lw_gufunc_check_sizes(const lw_gufunc *self, PyObject *sizes); /* at decoration */

/* ---- inspection: gufunc_kind_py.c ---- */
int lw_gufunc_build(lw_ufunc_head *self, const lw_door_arguments *arguments, PyObject *layout,
                    lw_arena *arena); /* as lw_ufunc_kind's, as the next one */
int lw_gufunc_declare(lw_ufunc_head *self, const lw_signature *signature);
extern const lw_ufunc_kind lw_ufunc_of_cores;

#endif
