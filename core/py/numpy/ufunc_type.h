/* What ufuncs of all kinds are: the type lanewise.Ufunc, the fields that every object of it
 * begins with, and its attributes and methods. The doors differ in their loops and in the call;
 * what is theirs stands in a kind. lanewise.Gufunc is a subclass with other fields behind the
 * head, so nothing here, and no method of Ufunc, may look behind it but through the kind. */
#ifndef LW_PY_UFUNC_TYPE_H
#define LW_PY_UFUNC_TYPE_H

#include <Python.h>

#include <structmember.h>

#include "core/front/signature.h"
#include "core/link/build.h"
#include "core/link/cubin_info.h"
#include "core/py/compiled/renew.h"
#include "core/py/compiled/resolved.h"

struct lw_ufunc_kind;
struct lw_device_door;
struct lw_extra_arrays;
struct lw_recalled;
struct lw_family;
struct lw_loop_rows;
struct lw_loop_table;
struct lw_member;

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

/* inner: the real numpy.ufunc of the host loops; retired: without the GIL, a list of those that
 * add() has replaced, or NULL; bound: methods of inner, as they are asked for. */
#define LW_UFUNC_HEAD                                                                          \
    LW_COMPILED_HEAD                                                                           \
    const struct lw_ufunc_kind *kind;                                                          \
    _Atomic(PyObject *) inner;                                                                 \
    PyObject *retired;                                                                         \
    PyObject *bound[LW_N_METHODS];                                                             \
    struct lw_loop_table *table; /* ufunc_inner.h */                                           \
    PyObject *identity;          /* a value, None, or the str "reorderable" */                 \
    PyObject *failures;          /* dict: dtypes -> exception … */                           \
    uint64_t failures_version;   /* … and of which overloads (lw_overloads_version) */       \
    PyObject *origin; /* whose calls it takes (renew.h), seen by overrides; or NULL */         \
    _Atomic(struct lw_loop_rows *) rows; /* loop_rows.h */                                     \
    _Atomic uint32_t n_given;            /* loops that NumPy was given because it asked */     \
    bool is_made;                        /* the decorator is done with it */                   \
    struct lw_family *family; /* excluded= or static=, else NULL: core/py/numpy/family.h */    \
    struct lw_member *member; /* of a family, else NULL */                                     \
    lw_resolved_list plans;   /* of device calls: loops and kernels for them */                \
    struct lw_recalled *recalled; /* of those, the latest: recall.h */                         \
    bool recalls_foreign;         /* some of those are on arrays of other libraries */         \
    PyObject *numpys; /* the numpy.ufunc that it stands for, or NULL: numpy_answer.c */        \
    int nin, nout;

typedef struct lw_ufunc_head {
    LW_UFUNC_HEAD
} lw_ufunc_head;

typedef struct lw_ufunc_stats {
    uint32_t compiled, from_memory, from_disk, made, failed, cuda;
    double seconds;
} lw_ufunc_stats;

/* A loop is a `void *` here: lw_loop, lw_gufunc_loop, which begin with lw_loop_head. cc:
 * compute capability, 90; 0: the host, or, of the device functions, the first device's. GIL
 * held unless said. */
typedef struct lw_ufunc_kind {
    vectorcallfunc call;
    /* Fills a new object from what the decorator was given. -1 with an exception. */
    int (*build)(lw_ufunc_head *self, const lw_door_arguments *arguments, PyObject *layout,
                 lw_arena *arena);
    const char *keywords; /* of the call, as inspect.signature shows them */
    /* Its parameters as a signature begins, "x, n=..., *, ", and how many a call may give by
     * position; NULL: nin operands, then nout outputs. */
    void (*parameters)(const lw_ufunc_head *self, lw_text *out);
    int (*most_positional)(const lw_ufunc_head *self);
    /* The loops in their order: lw_rows_n, lw_rows_at (loop_rows.h); those of all members. */
    uint32_t (*n_loops)(const lw_ufunc_head *self);
    void *(*loop_at)(const lw_ufunc_head *self, uint32_t at);
    /* What a method's `sig` means, made where it is new. NULL with an exception. */
    void *(*loop_of)(lw_ufunc_head *self, PyObject *sig);
    /* Choosing: core/py/numpy/ufunc_choose.h. make: by input dtypes; NULL with an exception. */
    void *(*make)(lw_ufunc_head *self, const lw_dtype *in);
    void (*loop_line)(lw_text *text, const void *loop);
    /* Whether results of this loop may be operands of a reduction. Asked where dtypes differ,
     * of kinds that have reductions. */
    bool (*is_accumulator)(const lw_ufunc_head *self, const void *loop);
    const char *(*operand_name)(const lw_ufunc_head *self, int i); /* optional */
    PyObject *(*types_text)(const void *loop);                     /* "ff->f" */
    PyObject *(*signature_text)(const void *loop);    /* "float32(float32, float32)" */
    const char *(*layout)(const lw_ufunc_head *self); /* NULL: no core dimensions */
    lw_ufunc_stats (*stats)(lw_ufunc_head *self);
    /* One loop more, of a signature; add: to an object that is made, where it must be new. -1
     * with an exception. */
    int (*declare)(lw_ufunc_head *self, const lw_signature *signature);
    int (*add)(lw_ufunc_head *self, PyObject *signatures);
    PyObject *(*call_method)(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args,
                             Py_ssize_t n_args, PyObject *kwnames);

    /* The inner numpy.ufunc (ufunc_inner.h): what it is told of each loop, and what is set on
     * it when it is new; optional. */
    PyType_Slot *loop_slots;
    void (*prepare_inner)(const lw_ufunc_head *self, PyObject *inner);
    void (*free_loop)(void *loop);
    void (*free_table)(struct lw_loop_table *table); /* what lies behind its head; optional */

    /* Another object that takes some of its calls, whose loops a user takes for its own:
     * borrowed, or NULL; optional. */
    lw_ufunc_head *(*other)(const lw_ufunc_head *self);
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

void lw_ufunc_stats_add(lw_ufunc_stats *sum, lw_ufunc_stats one);

/* The kind's `other`, or NULL. */
static inline lw_ufunc_head *
lw_ufunc_other(const lw_ufunc_head *self)
{
    return self->kind->other ? self->kind->other(self) : NULL;
}

/* __doc__ is the function's where nobody has set another. */
PyObject *lw_ufunc_getattro(PyObject *self, PyObject *name);

/* The slots of lanewise.Ufunc; Gufunc inherits them. */
extern PyMemberDef lw_ufunc_type_members[];
extern PyGetSetDef lw_ufunc_type_getset[];
extern PyMethodDef *lw_ufunc_type_methods(void);

/* ---- numpy_answer.c ---- */

/* _stand_for(numpy_ufunc): that of NumPy by the same name. */
PyObject *lw_ufunc_stand_for(PyObject *self, PyObject *numpy_ufunc);
/* A method of a numpy.ufunc, called. NULL with an exception. */
PyObject *lw_ufunc_ask_numpys(PyObject *numpys, const char *method, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *kwnames);
PyObject *lw_ufunc_resolve_with_context(PyObject *self, PyObject *const *args,
                                        Py_ssize_t n_args, PyObject *kwnames);
PyObject *lw_ufunc_strided_loop(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                                PyObject *kwnames);
/* Whether the exception that is set says that there is no loop: NumPy's errors of choosing one
 * and of casting to it, or one of the compiler's. */
bool lw_says_no_loop(void);
/* After a host call that failed, with its exception set: where this stands for a numpy.ufunc
 * and has no loop for the call, what that one says. NULL with an exception, else. */
PyObject *lw_ufunc_numpys_answer(const lw_ufunc_head *self, const char *method,
                                 PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames);

/* ---- ufunc_inspect.c: inspect_*, resources, compile, export ---- */

enum { LW_N_UFUNC_INSPECTIONS = 9 };

extern PyMethodDef lw_ufunc_inspections[LW_N_UFUNC_INSPECTIONS];

/* What the kernel of a loop takes on cc. -1 with an exception. */
int lw_ufunc_info(lw_ufunc_head *self, void *loop, int cc, lw_cubin_info *out);
/* One form ("ptx", "cubin", "object") of one loop: bytes or str. NULL with an exception. */
PyObject *lw_ufunc_form(lw_ufunc_head *self, void *loop, int cc, const char *form);

/* ---- ufunc_life.c ---- */

/* A new object of this kind, not yet seen by others. Takes member, also when it fails. NULL
 * with an exception. */
PyObject *lw_ufunc_make_object(PyTypeObject *type, const lw_compiled_door *door,
                               const lw_ufunc_kind *kind, const lw_request *request,
                               struct lw_member *member);
/* For a kind's build: the signatures in their order; none: it is lazy. -1 with an exception. */
int lw_ufunc_read_signatures(lw_ufunc_head *self, const lw_door_arguments *arguments,
                             lw_arena *arena, lw_signature_list *list);
int lw_ufunc_declare_all(lw_ufunc_head *self, const lw_signature_list *list);
/* For lw_compiled_door's check; arrays: signatures may name them. */
int lw_ufunc_check(lw_door door, const lw_request *request, bool arrays);
/* Compiles for no more dtypes from now on. -1 with an exception. */
int lw_ufunc_freeze(lw_ufunc_head *self);
/* add(): compiles for more signatures. -1 with an exception. */
int lw_ufunc_add(lw_ufunc_head *self, PyObject *signatures);
/* For the doors' tp_traverse and tp_clear. identity and inner stay until lw_ufunc_drop:
 * finalizers may still call. */
int lw_ufunc_head_traverse(lw_ufunc_head *self, visitproc visit, void *arg);
void lw_ufunc_head_clear(lw_ufunc_head *self);
void lw_ufunc_drop(lw_compiled *self); /* for lw_compiled_door */
/* The inputs that a user knows of: behind them stand parts of excluded arrays. */
int lw_ufunc_shown_inputs(const lw_ufunc_head *self);
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
