/* A call of a Reduction on host arrays, taken apart: what reduce, accumulate and reduceat have
 * in common. */
#ifndef LW_REDUCE_CALL_PARTS_PY_H
#define LW_REDUCE_CALL_PARTS_PY_H

#include "reduce/reduce_parts_py.h"

/* The keywords, borrowed; NULL: not given. */
typedef struct lw_reduce_keywords {
    PyObject *axis, *dtype, *out, *keepdims, *initial, *where, *stream, *size, *res, *exclusive;
    PyObject *indices, *progress;
    bool keeps_arrays; /* out=...: also those of no dimension */
} lw_reduce_keywords;

typedef struct lw_reduce_call {
    lw_reducer *self;
    lw_reduce_keywords keywords;
    PyArrayObject *in[LW_REDUCE_MOST + 1]; /* owned; [n_in]: the mask, or NULL */
    PyObject *stand_in; /* an operand that stands for a device array on the CPU; borrowed */
    PyObject *wraps; /* an operand of a subclass, whose __array_wrap__ gets results; borrowed */
    uint32_t n_in;   /* numbers of records are operands of their own */
    lw_reduce_operand array[LW_REDUCE_MOST]; /* as they came */
    bool masked;                             /* where= is an array */
    bool soon;                               /* the caller asks for the code itself, … */
    lw_reduce_code *code;                    /* … which is this; NULL: the specialisation's */
    int ndim;                                /* of the operands broadcast together */
    int64_t shape[LW_REDUCE_DIMS];
    bool reduced[LW_REDUCE_DIMS]; /* by axis */
    lw_reduce_specialisation *specialisation;
    lw_dtype dtype;
    bool has_initial, has_empty;
    lw_reduce_item initial[LW_REDUCE_MOST], empty[LW_REDUCE_MOST];
    PyArrayObject *result[LW_REDUCE_MOST]; /* owned */
    int flags;                             /* that running it has raised, bits of fenv.h: … */
    const char *method; /* … in what warnings call this; not NULL where there are flags */
    lw_reduce_job job;  /* at the end, as its spaces are in it */
} lw_reduce_call;

enum { /* which keywords a call takes */
       LW_TAKES_REDUCE = 1,
       LW_TAKES_SCAN = 2,
       LW_TAKES_SLICES = 4,
       LW_TAKES_KEYS = 8
};

/* A call without operands, whose job has spaces without dimensions; NULL with an exception. */
lw_reduce_call *lw_reduce_call_new(PyObject *self);
/* For all: 0 or -1 with an exception. */
int lw_reduce_read_keywords(lw_reduce_keywords *out, PyObject *kwargs, int takes,
                            const char *function);
/* Reads keepdims= or exclusive=: 0 or 1, or -1 with a TypeError that names it. NULL: 0. */
int lw_reduce_read_flag(PyObject *value, const char *name);
/* The arrays, broadcast together, with dtype=; then the specialisation and its machine code.
 * where: the mask or NULL. */
int lw_reduce_read_operands(lw_reduce_call *call, PyObject *const *arrays, Py_ssize_t n,
                            PyObject *where);
/* What that is made of, for arrays that are elsewhere. Operand i as an array of the host, new
 * reference: a Python number has the precision of the others. */
PyArrayObject *lw_reduce_host_array(const lw_reduce_call *call, PyObject *const *arrays,
                                    Py_ssize_t n, uint32_t i);
int lw_reduce_check_count(const lw_reduce_call *call, Py_ssize_t n);
int lw_reduce_read_dtype(lw_reduce_call *call);
/* -1 with a TypeError where dtype= would make numbers of dates or durations. */
int lw_reduce_check_times(const lw_reduce_call *call, Py_ssize_t n);
/* As NumPy, where dtype= drops imaginary parts. */
int lw_reduce_warn_of_complex(const lw_reduce_call *call, Py_ssize_t n);
/* Without dtype=, out= widens what is computed in, as NumPy has it. */
void lw_reduce_widen_by_out(lw_reduce_call *call, lw_dtype loaded, lw_dtype out);
/* out=, where it is one array; borrowed, or NULL. */
PyObject *lw_reduce_only_out(const lw_reduce_call *call);
/* The common shape grows by that of one more operand. */
int lw_reduce_broadcast(lw_reduce_call *call, int ndim, const int64_t *shape);
/* ValueError where a mask of this shape does not broadcast to that shape. */
int lw_reduce_check_mask(const lw_reduce_call *call, int ndim, const int64_t *shape);
/* NULL and None: every axis. */
int lw_reduce_read_axes(lw_reduce_call *call, PyObject *axis);
/* The axis of accumulate and reduceat: 0 unless axis= says otherwise. */
int lw_reduce_read_scan_axis(lw_reduce_call *call, const char *method, int *out);
/* initial=, and what nothing gives. */
int lw_reduce_read_initial(lw_reduce_call *call);
/* ValueError where nothing is to be reduced, and nothing gives nothing. */
int lw_reduce_check_empty(const lw_reduce_call *call);
int64_t lw_reduce_n_reduced(const lw_reduce_call *call);
/* The shape of the results; gives ndim. */
int lw_reduce_shape(const lw_reduce_call *call, bool keepdims, int64_t *shape);
/* Spaces and addresses of the job, the results apart. */
void lw_reduce_fill_job(lw_reduce_call *call);
/* For jobs on the host: the mask becomes an operand, where it can. */
void lw_reduce_mask_job(lw_reduce_call *call);
/* New results of this shape, contiguous in C order; of a scan in the order of the first
 * operand. */
int lw_reduce_new_scan_results(lw_reduce_call *call);
int lw_reduce_new_results(lw_reduce_call *call, int ndim, const int64_t *shape);
/* Refuse out=; always -1. ValueError: it has another shape than the result; both are arrays. */
int lw_reduce_refuse_shape(PyObject *out, PyObject *result);
/* TypeError: its dtype cannot take the result's. array: the dtype of the first of n_in arrays.
 */
int lw_reduce_refuse_dtype(PyArray_Descr *out, PyArray_Descr *result, uint32_t n_in,
                           PyArray_Descr *array);
/* The results as the caller gets them: in out= where it was given, scalars where they have no
 * dimension, a tuple of several. */
PyObject *lw_reduce_hand_out(lw_reduce_call *call);
/* What the functions raised: the exception, and -1, or 0. numbers: those that carry it, r's
 * last results, as contiguous arrays. */
int lw_reduce_raise(const lw_reduction *r, PyArrayObject *const *numbers);
/* Frees it, and gives the result. call: or NULL. */
PyObject *lw_reduce_call_end(lw_reduce_call *call, PyObject *result);

#endif
