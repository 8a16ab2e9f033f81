/* What the Python files of this door share among themselves. */
#ifndef LW_UFUNC_UFUNC_PARTS_H
#define LW_UFUNC_UFUNC_PARTS_H

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
#include "ufunc/host_kernel.h"
#include "ufunc/ufunc_py.h"

/* ---- the host side: ufunc_host_py.c ---- */

/* The whole object; lw_ufunc is its public part. */
typedef struct lw_ufunc_object {
    lw_ufunc base;
    bool name_taken;   /* NumPy or pandas means something by this name */
    bool has_frozen;   /* a positional parameter is no operand: it has a default */
    PyObject *full;    /* the Ufunc that takes those as operands, or NULL */
    bool widens;       /* reductions of small integers are made in intp */
    bool folds_truth;  /* reductions are of truth values: logical_and and the like */
    bool compares;     /* Python ints of any size: less and the like */
    bool divides;      /* in float64, of integers: divide and float_power */
    bool gives_floats; /* of integers, in a dtype that holds them: hypot and the like */
    bool mixes;        /* as NumPy's own ldexp: its operands keep their dtypes */
} lw_ufunc_object;

static inline lw_ufunc_object *
lw_ufunc_whole(lw_ufunc *self)
{
    return (lw_ufunc_object *)self; /* base is its first member */
}

void lw_loop_free(void *loop);
extern PyType_Slot lw_ufunc_loop_slots[]; /* as lw_ufunc_kind's */
/* Machine code of a loop, compiled when new. NULL with an exception; takes the GIL itself, so
 * it may be called with or without it. */
lw_host_kernel *lw_ufunc_kernel(lw_loop_table *table, lw_loop *loop);

/* Compiles the loop that a kernel of it lacks (lw_host_add_strided), likewise. -1 with an
 * exception. */
int lw_ufunc_add_strided(lw_loop_table *table, const lw_loop *loop, lw_host_kernel *kernel);

/* Runs n > 0 elements, and raises what one of them raised. -1 with an exception. */
int lw_ufunc_run_kernel(lw_host_kernel *kernel, const lw_loop *loop, char *const *args,
                        int64_t n, const int64_t *strides);

/* ---- texts: ufunc_host_py.c ---- */
PyObject *lw_types_text(const lw_loop *loop); /* "ff->f" */
/* "float32(float32, float32)" */
PyObject *lw_loop_text(const lw_loop *loop);

/* ---- choosing and making loops: ufunc_loops_py.c ---- */

/* Type and lower for these inputs; out may be NULL: as inferred. NULL with an exception. */
lw_loop *lw_ufunc_make(lw_ufunc_object *self, const lw_dtype *in, const lw_dtype *out,
                       bool declared);
/* The typed tree for these inputs: inspection. NULL with an exception. */
lw_typed *lw_ufunc_infer(lw_ufunc_object *self, const lw_dtype *in);

/* ---- signatures: ufunc_signature_py.c ---- */

/* One signature's dtypes. -1 with an exception when it is not one for this door. */
int lw_signature_dtypes(const lw_signature *signature, lw_dtype *in, lw_dtype *out,
                        uint32_t *n_out);
/* The input dtypes a method's `sig` argument means; output types in it are not looked at. -1
 * with an exception. */
int lw_signature_inputs(lw_ufunc_object *self, PyObject *object, lw_dtype *in);
/* From the annotations of the tree's function; false: it has none. */
bool lw_signature_of_annotations(const lw_tree *tree, lw_arena *arena, lw_signature *out);

/* ---- calls on contiguous arrays: ufunc_direct_py.c ---- */

/* false: it is none of those that are run here; NumPy's ufunc is called. */
bool lw_ufunc_call_direct(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                          PyObject *kwnames, PyObject **result);

/* ---- long calls on host arrays of any layout, and with where=: ufunc_walk_py.c ---- */

/* false: it is none of those that are run here; NumPy's ufunc is called. */
bool lw_ufunc_call_walk(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                        PyObject *kwnames, PyObject **result);

/* ---- calls with Python ints that do not fit: ufunc_ints_py.c ---- */

/* The call, which has ended with an OverflowError, with other values for its ints. NULL with
 * that exception or another one. */
PyObject *lw_ufunc_call_beyond(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                               PyObject *kwnames, vectorcallfunc call);

/* ---- calls: ufunc_call_py.c ---- */
PyObject *lw_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames);
PyObject *lw_ufunc_call_method(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args,
                               Py_ssize_t n_args, PyObject *kwnames);

/* Whether the Python function gives `number` for the identity and `number`; *made, unless it is
 * NULL: what it gives (new reference), or NULL. A function that Python cannot run is trusted.
 * -1 with an exception that is not about the function, such as KeyboardInterrupt. */
int lw_ufunc_keeps(const lw_ufunc_head *self, PyObject *identity, long number, PyObject **made);
/* Checks by the Python function that identity= is one; 0 and 1, which NumPy's own ufuncs have,
 * are not checked. -1 with an exception. */
int lw_ufunc_check_identity(const lw_ufunc_object *self);
/* The dtype of a reduction: ufunc_reduce_py.c. Sees to it that the inner ufunc's method `id` is
 * asked with one dtype for accumulator, element and result. */
PyObject *lw_ufunc_call_reduction(lw_ufunc_object *self, lw_ufunc_method id, PyObject *bound,
                                  PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);

/* ---- building, pickling, inspection ---- */
/* A Ufunc of a Python function; member: of a family, taken also when it fails, or NULL. NULL
 * with an exception. */
PyObject *lw_ufunc_new(PyTypeObject *type, const lw_request *request, struct lw_member *member);
/* What families ask of this door, and what they are to a user. */
extern const lw_family_door lw_ufunc_family_door;
int lw_ufunc_build(lw_ufunc_head *self, const lw_door_arguments *arguments, PyObject *layout,
                   lw_arena *arena); /* as lw_ufunc_kind's, as the next one */
int lw_ufunc_declare(lw_ufunc_head *self, const lw_signature *signature);
extern const lw_ufunc_kind lw_ufunc_elementwise; /* ufunc_kind_py.c */
const lw_ufunc_kind *lw_ufunc_families(void);    /* likewise */
/* in[]: the parts of excluded arrays have their own dtypes. */
static inline void
lw_hidden_inputs(const lw_ufunc_object *self, lw_dtype *in)
{
    for (int i = lw_ufunc_shown_inputs((const lw_ufunc_head *)self); i < self->base.nin; i++)
        in[i] = LW_DT_i64;
}

#endif
