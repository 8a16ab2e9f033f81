/* What ufuncs of all kinds are: the type lanewise.Ufunc, the fields that every object of it
 * begins with, and its attributes and methods. The doors differ in their loops and in the call;
 * what is theirs stands in a kind. lanewise.Gufunc is a subclass with other fields behind the
 * head, so nothing here, and no method of Ufunc, may look behind it but through the kind. */
#ifndef LW_PY_UFUNC_TYPE_H
#define LW_PY_UFUNC_TYPE_H

#include <Python.h>

#include <structmember.h>

#include "core/link/build.h"
#include "core/py/compiled/renew.h"
#include "core/py/compiled/resolved.h"

struct lw_ufunc_kind;
struct lw_device_door;
struct lw_extra_arrays;
struct lw_recalled;
struct lw_family;
struct lw_loop_rows;
struct lw_member;

/* inner: the real numpy.ufunc of the host loops; retired: without the GIL, a list of those that
 * add() has replaced, or NULL. */
#define LW_UFUNC_HEAD                                                                          \
    LW_COMPILED_HEAD                                                                           \
    const struct lw_ufunc_kind *kind;                                                          \
    _Atomic(PyObject *) inner;                                                                 \
    PyObject *retired;                                                                         \
    PyObject *identity; /* a value, None, or the str "reorderable" */                          \
    PyObject *failures; /* dict: dtypes -> exception */                                        \
    PyObject *origin;   /* whose calls it takes (renew.h), seen by overrides; or NULL */       \
    _Atomic(struct lw_loop_rows *) rows; /* loop_rows.h */                                     \
    _Atomic uint32_t n_given;            /* loops that NumPy was given because it asked */     \
    bool is_made;                        /* the decorator is done with it */                   \
    struct lw_family *family; /* excluded= or static=, else NULL: core/py/numpy/family.h */    \
    struct lw_member *member; /* of a family, else NULL */                                     \
    lw_resolved_list plans;   /* of device calls: loops and kernels for them */                \
    struct lw_recalled *recalled; /* of those, the latest: recall.h */                         \
    int nin, nout;

typedef struct lw_ufunc_head {
    LW_UFUNC_HEAD
} lw_ufunc_head;

typedef struct lw_ufunc_stats {
    uint32_t compiled, from_memory, from_disk, made, failed;
    double seconds;
} lw_ufunc_stats;

typedef enum lw_ufunc_method {
    LW_METHOD_reduce,
    LW_METHOD_accumulate,
    LW_METHOD_reduceat,
    LW_METHOD_outer,
    LW_METHOD_at,
    LW_METHOD_resolve_dtypes,
    LW_N_METHODS
} lw_ufunc_method;

extern const char *const lw_ufunc_method_names[LW_N_METHODS];

/* A loop is a `void *` here: lw_loop, lw_gufunc_loop, which begin with lw_loop_head. cc:
 * compute capability, 90; 0: the host, or, of the device functions, the first device's. GIL
 * held unless said. */
typedef struct lw_ufunc_kind {
    const char *keywords; /* of the call, as inspect.signature shows them */
    /* Its parameters as a signature begins, "x, n=..., *, ", and how many a call may give by
     * position; NULL: nin operands, then nout outputs. */
    void (*parameters)(const lw_ufunc_head *self, lw_text *out);
    int (*most_positional)(const lw_ufunc_head *self);
    uint32_t (*n_loops)(const lw_ufunc_head *self);
    void *(*loop_at)(lw_ufunc_head *self, uint32_t at);
    /* What a method's `sig` means, made where it is new. NULL with an exception. */
    void *(*loop_of)(lw_ufunc_head *self, PyObject *sig);
    /* Choosing: core/py/numpy/ufunc_choose.h. find and make: by input dtypes; find gives NULL
     * without an exception, make NULL with one. NULL of the optional ones: all inputs, the
     * parameters.
     */
    const char *(*name)(const lw_ufunc_head *self); /* in messages */
    void *(*find)(lw_ufunc_head *self, const lw_dtype *in);
    void *(*make)(lw_ufunc_head *self, const lw_dtype *in);
    void (*loop_line)(lw_text *text, const void *loop);
    int (*n_shown)(const lw_ufunc_head *self); /* inputs that a user knows of; optional */
    /* Whether results of this loop may be operands of a reduction. Asked where dtypes differ,
     * of kinds that have reductions. */
    bool (*is_accumulator)(const lw_ufunc_head *self, const void *loop);
    const char *(*operand_name)(const lw_ufunc_head *self, int i); /* optional */
    PyObject *(*types_text)(const void *loop);                     /* "ff->f" */
    PyObject *(*signature_text)(const void *loop);    /* "float32(float32, float32)" */
    const char *(*layout)(const lw_ufunc_head *self); /* NULL: no core dimensions */
    lw_ufunc_stats (*stats)(lw_ufunc_head *self);
    int (*add)(lw_ufunc_head *self, PyObject *signatures);
    PyObject *(*call_method)(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args,
                             Py_ssize_t n_args, PyObject *kwnames);

    /* Gives the loop to a numpy.ufunc of this object, unless that has it: where NumPy asks the
     * promoter, and holds the lock of its loops, or before others see the numpy.ufunc. -1 with
     * an exception. */
    int (*give)(lw_ufunc_head *self, PyObject *inner, void *loop);

    /* Whose the loop is, where that is not `self`; optional. */
    lw_ufunc_head *(*owner)(lw_ufunc_head *self, const void *loop);
    /* Inspection. self: the loop's owner. */
    lw_typed *(*infer)(lw_ufunc_head *self, const void *loop);
    lw_build_options (*build_options)(const lw_ufunc_head *self);
    /* Without the GIL. */
    lw_status (*host_module)(lw_ufunc_head *self, void *loop, lw_module **out, lw_error *err);
    /* Bytes of the host's machine code, made when it is not there. -1 with an exception. */
    Py_ssize_t (*compile_host)(lw_ufunc_head *self, void *loop);

    /* Calls on device arrays (device_call.h); NEP 13 is already done. extra: arrays beside the
     * operands, or NULL. */
    const struct lw_device_door *device;
    PyObject *(*call_device)(lw_ufunc_head *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames, struct lw_extra_arrays *extra);
} lw_ufunc_kind;

/* The slots of lanewise.Ufunc; Gufunc inherits them. */
extern PyMemberDef lw_ufunc_type_members[];
extern PyGetSetDef lw_ufunc_type_getset[];
extern PyMethodDef *lw_ufunc_type_methods(void);

/* For the doors' tp_traverse and tp_clear. identity and inner stay until lw_ufunc_head_drop:
 * finalizers may still call. */
int lw_ufunc_head_traverse(lw_ufunc_head *self, visitproc visit, void *arg);
void lw_ufunc_head_clear(lw_ufunc_head *self);
void lw_ufunc_head_drop(lw_ufunc_head *self);
/* What overrides see: itself, or the one that it was made anew for. Borrowed. */
PyObject *lw_ufunc_head_face(const lw_ufunc_head *self);
/* lw_compiled_is_stale (core/py/compiled/renew.h). Members of families go with them. */
static inline bool
lw_ufunc_is_stale(const lw_ufunc_head *self)
{
    return self->member == NULL && lw_compiled_is_stale((const lw_compiled *)self);
}

/* lw_compiled_stale; another one notes for whom it was made. */
PyObject *lw_ufunc_stale(lw_ufunc_head *self);
/* Who takes calls and questions. A new reference, or NULL with an exception. */
PyObject *lw_ufunc_current(PyObject *self);
/* For lw_compiled_door. */
PyObject *lw_ufunc_declared(lw_compiled *self);
/* __name__, __doc__: "" where it is no str. Borrowed, while the object is made. */
const char *lw_ufunc_text(const lw_ufunc_head *self, const char *name);
/* __name__ for a message, which other threads may change meanwhile: a new reference to a str,
 * or NULL with an exception. */
PyObject *lw_ufunc_shown_name(const lw_ufunc_head *self);

#endif
