/* What the Python files of `_core._Draws` share among themselves. */
#ifndef LW_RANDOM_DRAWS_PY_INTERNAL_H
#define LW_RANDOM_DRAWS_PY_INTERNAL_H

#include "core/py/numpy_api.h"

#include <stdbool.h>

#include "random/philox.h"

typedef struct lw_bit_stream lw_bit_stream;

typedef struct lw_drawing { /* the first part of `_Draws` */
    PyObject_HEAD
    lw_philox philox;
    uint64_t place;      /* the next block */
    lw_bit_stream *bits; /* NULL until NumPy asks for it */
    char is_philox;
} lw_drawing;

/* ---- bit_stream_py.c ---- */

/* The getter of `capsule`. */
PyObject *lw_draws_capsule(PyObject *object, void *closure);
/* The stream has changed: words that were computed in advance are not used. bits may be NULL.
 */
void lw_bit_stream_forget(lw_bit_stream *bits);
/* _drop_words(): the same, for Python's code. METH_NOARGS. */
PyObject *lw_draws_drop_words(PyObject *object, PyObject *none);

/* ---- arguments_py.c ---- */

enum { LW_MOST_PARAMETERS = 3 };

typedef struct lw_few {
    double p[LW_MOST_PARAMETERS];
    int64_t integer[LW_MOST_PARAMETERS];
    int n_given; /* how many of the parameters were given, from the first on */
    int64_t n;   /* how many numbers */
    bool one;    /* one number instead of an array */
} lw_few;

/* What a method draws into device memory; those of integers are last. */
typedef enum lw_draw_on_device {
    LW_DRAW_NOT, /* Python's code does it */
    LW_DRAW_RANDOM,
    LW_DRAW_UNIFORM,
    LW_DRAW_STANDARD_NORMAL,
    LW_DRAW_NORMAL,
    LW_DRAW_STANDARD_EXPONENTIAL,
    LW_DRAW_EXPONENTIAL,
    LW_DRAW_STANDARD_GAMMA,
    LW_DRAW_GAMMA,
    LW_DRAW_INTEGERS,
    LW_DRAW_POISSON,
    LW_DRAW_BINOMIAL
} lw_draw_on_device;

typedef struct lw_method {
    const char *slow; /* name of the method in Python */
    lw_draw_on_device device;
    int n_parameters, most; /* most: numbers at once */
    unsigned integers;      /* bit k: parameter k is an integer */
    const char *names[LW_MOST_PARAMETERS];
    double fallback[LW_MOST_PARAMETERS];
} lw_method;

/* Reads a call. False: it is not for this fast path, or it is wrong. */
bool lw_read_few(const lw_method *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                 lw_few *out);

/* Reads parameter k. False: it is no plain number, or too large for one. */
bool lw_read_parameter(const lw_method *m, int k, PyObject *object, lw_few *out);

/* Writes integers to p as well. False: one of them has no exact float. */
bool lw_few_as_floats(const lw_method *m, lw_few *out);

/* ---- formulas_py.c: single numbers of distributions that are formulas of standard numbers,
 * which lanewise/_distributions.py has computed ahead for the last parameters ---- */

enum { LW_FORMULAS_KEPT = 16 };

typedef enum lw_formula_kind {
#define FORMULA(name, ...) LW_FORMULA_##name,
#include "random/formulas.def"
    LW_N_FORMULAS
} lw_formula_kind;

typedef struct lw_formula {
    lw_formula_kind kind;
    double p[LW_MOST_PARAMETERS];
    uint64_t place, blocks; /* numbers[i]: of a call at place + i, which moves on by blocks */
    PyArrayObject *numbers; /* NULL: nothing is kept */
} lw_formula;

typedef struct lw_formulas {
    lw_formula kept[LW_FORMULAS_KEPT];
    unsigned next; /* is replaced next */
} lw_formulas;

/* A number of this formula at the place, which moves on; NULL without an exception where none
 * is kept for the parameters and the place. */
PyObject *lw_formula_take(lw_formulas *all, uint64_t *place, lw_formula_kind kind,
                          const lw_few *asked);
/* _keep(changes, name, parameters, place, blocks, numbers), parameters being floats. -1 with an
 * exception. Keeps nothing where the name is of no formula, or changes is not `now`. */
int lw_formula_keep(lw_formulas *all, uint64_t now, PyObject *args);
void lw_formulas_forget(lw_formulas *all);

/* ---- draws_py.c ---- */

typedef enum lw_ahead_kind { /* of numbers that a kernel makes ahead */
                             LW_AHEAD_NORMAL,
                             LW_AHEAD_EXPONENTIAL,
                             LW_AHEAD_GAMMA,
                             LW_AHEAD_POISSON,
                             LW_AHEAD_BINOMIAL,
                             LW_DRAW_KINDS
} lw_ahead_kind;

typedef struct lw_ahead {
    PyArrayObject *made; /* NULL: nothing */
    uint64_t place, blocks;
    double parameters[LW_MOST_PARAMETERS];
} lw_ahead;

enum { LW_FEW_BLOCKS = 1 << 14 }; /* up to which one kernel serves all targets */

typedef enum lw_drawing_kernel {
#define KERNEL(name) LW_KERNEL_##name,
#include "random/kernels.def"
    LW_DRAW_KERNELS
} lw_drawing_kernel;

typedef struct lw_draws_object {
    lw_drawing base;
    PyObject *target;
    PyObject *window; /* of a larger array: only Python's code draws it; NULL or None: none */
    PyObject *keys;   /* what Philox's rounds add, for kernels; NULL: not made yet */
    PyObject *kernels[LW_DRAW_KERNELS]; /* or NULL */
    /* another method is drawing, and it alone advances the place */
    char is_busy;
    /* counts the changes of the stream, which make the numbers ahead invalid */
    uint64_t stream;
    lw_ahead ahead[LW_DRAW_KINDS]; /* by kind */
    lw_formulas formulas;
} lw_draws_object;

/* Gives blocks back, unless another thread has taken the following ones. In a critical section.
 */
void lw_draws_give_back(lw_draws_object *self, uint64_t place, uint64_t blocks);

/* ---- ahead_py.c ---- */

bool lw_ahead_has_integers(lw_ahead_kind k); /* int64; else float64 */
/* Takes n numbers of the blocks at the place, which is advanced before Python's code runs,
 * because other threads may draw then. -1 with an exception. In a critical section. */
int lw_ahead_take(lw_draws_object *self, lw_ahead_kind k, const double *p, int64_t n, void *to);

/* ---- on_device_py.c ---- */

/* A call of the method on device memory. *done is false where it is left to Python's code; then
 * there is no exception. In a critical section. */
PyObject *lw_draws_on_device(lw_draws_object *self, const lw_method *m, PyObject *const *args,
                             Py_ssize_t n, PyObject *kwnames, bool *done);

/* ---- state_py.c: the attributes that the numbers depend on ---- */

/* Drops all numbers that were made ahead. In a critical section. */
void lw_draws_forget(lw_draws_object *self);
extern PyGetSetDef lw_draws_getters[];

/* ---- orders_py.c: rows of METH_VARARGS ---- */

/* _sample(n, count, words, stream): the first of the numbers below n in random order. */
PyObject *lw_draws_sample(PyObject *object, PyObject *args);
/* _mix(array, axis, together, words, stream): its lines along the axis in random orders. */
PyObject *lw_draws_mix(PyObject *object, PyObject *args);

#endif
