/* What ufuncs of all kinds are: the type lanewise.Ufunc, the fields that every object of it
 * begins with, and its attributes and methods. The doors differ in their loops and in the call;
 * what is theirs stands in a kind. lanewise.Gufunc is a subclass with other fields behind the
 * head, so nothing here, and no method of Ufunc, may look behind it but through the kind. */
#ifndef LW_PY_UFUNC_TYPE_H
#define LW_PY_UFUNC_TYPE_H

#include <Python.h>

#include <structmember.h>

#include "core/link/build.h"
#include "core/py/compiled/door_options.h"
#include "core/py/compiled/link_read.h"

struct lw_ufunc_kind;
struct lw_family;
struct lw_member;

/* vectorcall, as Python calls; inner: the real numpy.ufunc of the host loops; py_func: the
 * user's function; dict: __name__, __doc__, …; source: str, kept for pickling and for machines
 * without the file; link: link=, or NULL; links: of link= and of the functions that the code
 * names. */
#define LW_UFUNC_HEAD                                                                          \
    PyObject_HEAD                                                                              \
    vectorcallfunc vectorcall;                                                                 \
    const struct lw_ufunc_kind *kind;                                                          \
    PyObject *inner, *py_func, *dict, *weakrefs, *source, *link;                               \
    lw_link_set links;                                                                         \
    PyObject *identity;       /* a value, None, or the str "reorderable" */                    \
    PyObject *failures;       /* dict: dtypes -> exception */                                  \
    PyObject *origin;         /* whose calls it takes (renew.h), seen by overrides; or NULL */ \
    uint32_t n_declared;      /* of the loops: they come first */                              \
    uint32_t n_adding;        /* loops that NumPy is being given; GIL held */                  \
    bool lazy;                /* compiles for any new dtypes */                                \
    struct lw_family *family; /* excluded= or static=, else NULL: core/py/numpy/family.h */    \
    struct lw_member *member; /* of a family, else NULL */                                     \
    lw_tree *tree;                                                                             \
    lw_door_options options;                                                                   \
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

/* A loop is a `void *` here: lw_loop, lw_gufunc_loop. cc: compute capability, 90; 0: the host,
 * or, of the device functions, the first device's. GIL held unless said. */
typedef struct lw_ufunc_kind {
    const char *pickled_by; /* the function of lanewise/_pickling.py */
    const char *keywords;   /* of the call, as inspect.signature shows them */
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
    const lw_dtype *(*types)(const void *loop);     /* inputs, then outputs */
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
    PyObject *(*state)(lw_ufunc_head *self); /* what pickling needs */
    int (*add)(lw_ufunc_head *self, PyObject *signatures);
    PyObject *(*call_method)(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *args,
                             Py_ssize_t n_args, PyObject *kwnames);

    /* Who takes calls and questions: itself, or one made anew where what the function captured
     * has changed. A new reference, or NULL with an exception. */
    PyObject *(*current)(lw_ufunc_head *self);

    /* Inspection. */
    lw_typed *(*infer)(lw_ufunc_head *self, const void *loop);
    lw_build_options (*build_options)(const lw_ufunc_head *self);
    /* Without the GIL. */
    lw_status (*module)(lw_ufunc_head *self, void *loop, int cc, lw_module **out,
                        lw_error *err);
    /* Bytes of the host's machine code, made when it is not there. -1 with an exception. */
    Py_ssize_t (*compile_host)(lw_ufunc_head *self, void *loop);
    PyObject *(*device_resources)(lw_ufunc_head *self, void *loop, int cc); /* a dict */
    int (*compile_device)(lw_ufunc_head *self, void *loop, int cc);         /* and load */
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
/* What core/py/compiled/renew.h gave for a call of `self`: notes that. NULL is passed on. */
PyObject *lw_ufunc_head_renewed(lw_ufunc_head *self, PyObject *renewed);
/* __name__, __doc__: "" where it is no str. Borrowed. */
const char *lw_ufunc_text(const lw_ufunc_head *self, const char *name);

#endif
