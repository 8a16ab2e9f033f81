/* What the objects of all decorators are: the fields that each of them begins with, how it
 * reads its function, what it is made again from, how it is pickled and freed. What the
 * decorators differ in stands in a lw_compiled_door. What changes while calls run is atomic, or
 * changes in a critical section on the object. */
#ifndef LW_PY_COMPILED_H
#define LW_PY_COMPILED_H

#include <Python.h>

#include <stdatomic.h>

#include "core/base/grown.h"
#include "core/front/read/python.h"
#include "core/py/compiled/keywords.h"
#include "core/py/compiled/link_read.h"

struct lw_compiled;

/* What a decorator was given; borrowed. */
typedef struct lw_request {
    PyObject *function;   /* NULL: it comes later */
    PyObject *signatures; /* or NULL */
    PyObject *layout;     /* of guvectorize: a str */
    PyObject *keywords;   /* dict */
} lw_request;

/* What a function in a class with a parameter `self` is as an attribute of an object. */
typedef enum lw_binding {
    LW_BINDS_NOT,    /* itself, as NumPy's ufuncs and kernels that are launched */
    LW_BINDS_CALL,   /* a method of Python's */
    LW_BINDS_OPERAND /* a BoundUfunc: the object is the first operand */
} lw_binding;

typedef struct lw_compiled_door {
    lw_door id;
    const char *path; /* of the decorator in lanewise._core: "cuda.jit" */
    lw_binding binding;
    /* What can be told before the function comes. -1 with an exception. */
    int (*check)(const lw_request *request);
    /* The object, of this type. NULL with an exception. */
    PyObject *(*make)(PyTypeObject *type, const lw_request *request);
    /* What a request for the same object names: a new reference; None: any types. */
    PyObject *(*declared)(struct lw_compiled *self);

    /* The rest may be NULL. */
    const char *(*layout)(const struct lw_compiled *self);
    /* Reads what the object has beside py_func, and joins its captures to these. -1 with an
     * exception. */
    int (*read_more)(struct lw_compiled *self, lw_captures *captures);
    /* Whose captures say whether calls go to an object made anew: itself, without this. */
    struct lw_compiled *(*asked)(struct lw_compiled *self);
    /* Whether more than `captures` has changed. */
    bool (*changed)(const struct lw_compiled *self);
    /* Frees what finalizers that tp_clear runs may still use. */
    void (*drop)(struct lw_compiled *self);
} lw_compiled_door;

enum { LW_RENEWED_KEPT = 4 }; /* values between which a program changes to and fro */

typedef struct lw_renewal {          /* core/py/compiled/renew.h */
    PyObject *kept[LW_RENEWED_KEPT]; /* made anew, or NULL */
    uint32_t next;                   /* which of them goes next */
    uint32_t n_made;                 /* how many have been */
    bool told;                       /* the warning was given */
    PyObject *operands, *constants;  /* names of numbers that change from value to value: what
                                        the code takes as operands, and what it cannot take so;
                                        as lw_captures_operands has them, or NULL */
} lw_renewal;

typedef struct lw_compiled_counts {
    uint32_t specialisations, compiled, from_memory, from_disk, cuda; /* cuda: for GPUs */
    double seconds;                                                   /* spent compiling */
} lw_compiled_counts;

/* vectorcall, as Python calls; py_func: the user's function, of a reduction the one that
 * combines; dict: __name__, __doc__, … as functools.wraps; keywords: dict, as given; source:
 * source=, a str, or NULL; link: link=, or NULL; links: what it names; asked: the same with
 * what called objects bring along (core/py/compiled/link_ask.h). */
#define LW_COMPILED_HEAD                                                                       \
    PyObject_HEAD                                                                              \
    vectorcallfunc vectorcall;                                                                 \
    const lw_compiled_door *door;                                                              \
    PyObject *py_func, *dict, *weakrefs, *keywords, *source, *link;                            \
    lw_link_set links;                                                                         \
    lw_grown asked;                                                                            \
    lw_tree *tree;                                                                             \
    lw_captures *captures;                                                                     \
    lw_renewal renewal;                                                                        \
    lw_door_options options;                                                                   \
    lw_compiled_counts counts;                                                                 \
    bool lazy;           /* compiles for any new types */                                      \
    atomic_bool objects; /* the function was found to give objects */                          \
    atomic_bool settled; /* something has been compiled: the function is not read again */

typedef struct lw_compiled {
    LW_COMPILED_HEAD
} lw_compiled;

/* A new object of this type, zero behind the door and the vectorcall. NULL with an exception;
 * lw_compiled_dealloc copes with an object that is not finished. */
void *lw_compiled_alloc(PyTypeObject *type, const lw_compiled_door *door, vectorcallfunc call);
/* The keywords, the function and its names, into a new object. *arguments: what is the door's,
 * borrowed from the request. -1 with an exception. */
int lw_compiled_init(lw_compiled *self, const lw_request *request,
                     lw_door_arguments *arguments);
/* The objects that this thread decorates from now on are made anew of this one, borrowed (NULL:
 * of none); returns what was set before. */
const lw_compiled *lw_compiled_anew(const lw_compiled *object);
/* Reads the function and link=: tree, captures, links. -1 with an exception. */
int lw_compiled_read(lw_compiled *self);
/* Its own name in the source. Borrowed. */
const char *lw_compiled_name(const lw_compiled *self);
/* What core/link hears of its keywords and its links; name is borrowed. */
lw_build_options lw_compiled_build_options(const lw_compiled *self, const char *name);
/* Something was compiled. */
void lw_compiled_count(lw_compiled *self, const lw_build_report *report);

/* For tp_traverse and tp_clear of the doors' types, and their tp_dealloc. */
int lw_compiled_traverse(lw_compiled *self, visitproc visit, void *arg);
void lw_compiled_clear(lw_compiled *self);
void lw_compiled_dealloc(PyObject *object);

/* The type from which the types of all decorated objects are derived: py_func, __wrapped__,
 * __dict__, stats, copying and pickling. Registers it; the first of the doors' registrations.
 */
int lw_compiled_register(PyObject *module);
/* The type of a spec derived from it, or from `base` where that is not NULL, as an attribute of
 * the module by the name of the door's. NULL with an exception; borrowed from the module. */
PyTypeObject *lw_compiled_type(PyObject *module, lw_door door, PyType_Spec *spec,
                               const char *base);

/* Whether its function is a method: defined in a class, with a first parameter `self`. */
bool lw_compiled_is_method(const lw_compiled *self);

#endif
