/* `_core._Draws`: what a Generator of Philox computes without its Python code: one number, or a
 * few, with plain Python numbers as parameters. Every other call goes to the method of the same
 * name with an underscore, which is written in Python. Uniform numbers and integers are
 * computed here; all others are taken from numbers that the distribution's kernel has computed
 * ahead. A number depends on its position in the stream alone, so it does not matter when it is
 * computed. */
#include "random/draws_py_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "core/base/env.h"
#include "core/front/read/critical.h"
#include "core/py/signals.h"
#include "random/integers.h"
#include "random/random_py.h"
#include "random/units.h"

/* Up to MOST_COMPUTED numbers are computed without releasing the GIL. Up to MOST_TAKEN are
 * taken from numbers that were made ahead; for more, a kernel is worth its call. */
enum { MOST_COMPUTED = 8192, MOST_TAKEN = 512 };

/* Whether the result is on the host. */
static bool
is_here(const lw_draws_object *self)
{
    if (!self->base.is_philox)
        return false;
    if (self->target == NULL || self->target == Py_None)
        return strcmp(lw_env_text(LW_ENV_target), "cuda") != 0;
    return PyUnicode_Check(self->target) &&
           PyUnicode_CompareWithASCIIString(self->target, "cpu") == 0;
}

static bool
is_quick(const lw_draws_object *self, const lw_method *m, PyObject *const *args, Py_ssize_t n,
         PyObject *kwnames, lw_few *out)
{
    return !self->is_busy && is_here(self) && lw_read_few(m, args, n, kwnames, out) &&
           self->base.place < UINT64_MAX - INT32_MAX;
}

static PyObject *
slow(lw_draws_object *self, const lw_method *m, PyObject *const *args, Py_ssize_t n,
     PyObject *kwnames)
{
    bool done;
    PyObject *result = lw_draws_on_device(self, m, args, n, kwnames, &done), *bound;

    if (done)
        return result;
    bound = PyObject_GetAttrString((PyObject *)self, m->slow);
    result = bound ? PyObject_Vectorcall(bound, args, (size_t)n, kwnames) : NULL;

    Py_XDECREF(bound);
    return result;
}

/* Memory for the numbers: of an array, or for one number `own`. NULL with an exception. */
static void *
room_for(const lw_few *asked, int type, void *own, PyObject **array)
{
    npy_intp n = asked->n;

    *array = asked->one ? NULL : PyArray_SimpleNew(1, &n, type);
    if (asked->one)
        return own;
    return *array ? PyArray_DATA((PyArrayObject *)*array) : NULL;
}

static PyObject *
numpy_integer(int64_t value)
{
    PyObject *array = PyArray_SimpleNew(0, NULL, NPY_INT64);

    if (array == NULL)
        return NULL;
    *(int64_t *)PyArray_DATA((PyArrayObject *)array) = value;
    return PyArray_Return((PyArrayObject *)array);
}

void
lw_draws_give_back(lw_draws_object *self, uint64_t place, uint64_t blocks)
{
    if (!self->is_busy && self->base.place == place + blocks)
        self->base.place = place;
}

/* A call that Ctrl-C has ended: the generator is where it was before. */
static PyObject *
not_drawn(lw_draws_object *self, uint64_t place, uint64_t blocks, PyObject *array)
{
    lw_draws_give_back(self, place, blocks);
    Py_XDECREF(array);
    return NULL;
}

/* ---- computed here ---- */

static PyObject *
uniforms(lw_draws_object *self, const lw_few *asked, double low, double width)
{
    double one = 0, *to;
    PyObject *array;
    lw_philox philox;
    uint64_t place;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};

    to = room_for(asked, NPY_DOUBLE, &one, &array);
    if (to == NULL)
        return NULL;
    philox = self->base.philox; /* behind the allocation, which may leave the section */
    place = self->base.place;
    self->base.place += ((uint64_t)asked->n + 1) / 2;
    if (asked->n <= MOST_COMPUTED) {
        lw_philox_uniforms(&philox, place, low, width, asked->n, to, NULL);
    } else {
        Py_BEGIN_ALLOW_THREADS
        lw_philox_uniforms(&philox, place, low, width, asked->n, to, &stop);
        Py_END_ALLOW_THREADS
    }
    if (stop.stopped)
        return not_drawn(self, place, ((uint64_t)asked->n + 1) / 2, array);
    return asked->one ? PyFloat_FromDouble(one) : array;
}

static PyObject *
uniforms32(lw_draws_object *self, const lw_few *asked)
{
    PyObject *array;
    float *to = room_for(asked, NPY_FLOAT, NULL, &array);
    lw_philox philox;
    uint64_t place;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};

    if (to == NULL)
        return NULL;
    philox = self->base.philox;
    place = self->base.place;
    self->base.place += ((uint64_t)asked->n + 3) / 4;
    if (asked->n <= MOST_COMPUTED) {
        lw_philox_uniforms32(&philox, place, asked->n, to, NULL);
    } else {
        Py_BEGIN_ALLOW_THREADS
        lw_philox_uniforms32(&philox, place, asked->n, to, &stop);
        Py_END_ALLOW_THREADS
    }
    if (stop.stopped)
        return not_drawn(self, place, ((uint64_t)asked->n + 3) / 4, array);
    return array;
}

static PyObject *
bounded(lw_draws_object *self, const lw_few *asked, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low;
    int64_t one = 0, *to;
    PyObject *array;

    to = room_for(asked, NPY_INT64, &one, &array);
    if (to == NULL)
        return NULL;
    if (span > UINT64_C(1) << 32) {
        for (int64_t k = 0; k < asked->n; k++, self->base.place++)
            to[k] = (int64_t)((uint64_t)low +
                              lw_philox_integer64(&self->base.philox, self->base.place, span));
    } else {
        uint64_t place = self->base.place;
        lw_philox philox = self->base.philox;
        lw_stop stop = {.ask = lw_signal_raised_anyhow};
        self->base.place += ((uint64_t)asked->n + 3) / 4;
        if (asked->n <= MOST_COMPUTED) {
            lw_philox_integers32(&philox, place, (uint64_t)low, span, asked->n, to, NULL);
        } else {
            Py_BEGIN_ALLOW_THREADS
            lw_philox_integers32(&philox, place, (uint64_t)low, span, asked->n, to, &stop);
            Py_END_ALLOW_THREADS
        }
        if (stop.stopped)
            return not_drawn(self, place, ((uint64_t)asked->n + 3) / 4, array);
    }
    return asked->one ? numpy_integer(one) : array;
}

static const lw_method uniform_method = {.most = INT32_MAX,
                                         .slow = "_uniform",
                                         .device = LW_DRAW_UNIFORM,
                                         .n_parameters = 2,
                                         .names = {"low", "high"},
                                         .fallback = {0, 1}};
static const lw_method random_method = {
    .most = INT32_MAX, .slow = "_random", .device = LW_DRAW_RANDOM};
static const lw_method integers_method = {.most = INT32_MAX,
                                          .slow = "_integers",
                                          .device = LW_DRAW_INTEGERS,
                                          .n_parameters = 2,
                                          .integers = 3,
                                          .names = {"low", "high"}};

static bool
is_float32(PyObject *dtype)
{
    if (PyArray_DescrCheck(dtype))
        return ((PyArray_Descr *)dtype)->type_num == NPY_FLOAT &&
               PyArray_ISNBO(((PyArray_Descr *)dtype)->byteorder);
    return dtype == (PyObject *)&PyFloatArrType_Type ||
           (PyUnicode_Check(dtype) && PyUnicode_CompareWithASCIIString(dtype, "float32") == 0);
}

/* (size, dtype) or (size, dtype=) */
static bool
asks_for_float32(PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    Py_ssize_t n_named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    if (n < 1 || n + n_named != 2 || args[0] == Py_None)
        return false;
    return (n_named == 0 ||
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dtype") == 0) &&
           is_float32(args[1]);
}

static PyObject *
draw_random(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (asks_for_float32(args, n, kwnames) &&
        is_quick(self, &random_method, args, 1, NULL, &asked))
        return uniforms32(self, &asked);
    if (!is_quick(self, &random_method, args, n, kwnames, &asked))
        return slow(self, &random_method, args, n, kwnames);
    return uniforms(self, &asked, 0.0, 1.0);
}

static PyObject *
draw_uniform(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &uniform_method, args, n, kwnames, &asked) ||
        !isfinite(asked.p[1] - asked.p[0]) || asked.p[1] < asked.p[0])
        return slow(self, &uniform_method, args, n, kwnames);
    return uniforms(self, &asked, asked.p[0], asked.p[1] - asked.p[0]);
}

static PyObject *
draw_integers(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    int64_t low, high;
    lw_few asked;

    if (n == 0 || (n > 1 && args[1] == Py_None) ||
        !is_quick(self, &integers_method, args, n, kwnames, &asked))
        return slow(self, &integers_method, args, n, kwnames);
    low = asked.n_given > 1 ? asked.integer[0] : 0;
    high = asked.n_given > 1 ? asked.integer[1] : asked.integer[0];
    if (low >= high || (asked.n > MOST_COMPUTED && (uint64_t)high - (uint64_t)low > UINT32_MAX))
        return slow(self, &integers_method, args, n, kwnames);
    return bounded(self, &asked, low, high);
}

/* ---- made ahead ---- */

/* Whether the numbers may come from one launch. */
static bool
is_near(const lw_draws_object *self, const lw_few *asked)
{
    return (self->base.place + MOST_TAKEN) >> 32 == self->base.place >> 32 || asked->n == 1;
}

static PyObject *
placed(lw_draws_object *self, lw_ahead_kind k, const lw_few *asked, double loc, double scale)
{
    PyObject *array;
    double one = 0, *to;

    to = room_for(asked, NPY_DOUBLE, &one, &array);
    if (to == NULL || lw_ahead_take(self, k, asked->p, asked->n, to) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    lw_move_numbers(to, asked->n, loc, scale); /* rounds as the kernels do */
    return asked->one ? PyFloat_FromDouble(one) : array;
}

/* Numbers that were made for the parameters need no scaling. */
static PyObject *
fitted(lw_draws_object *self, lw_ahead_kind k, const lw_few *asked)
{
    bool integers = lw_ahead_has_integers(k);
    PyObject *array;
    int64_t integer = 0;
    double one = 0;
    void *to;

    to = room_for(asked, integers ? NPY_INT64 : NPY_DOUBLE,
                  integers ? (void *)&integer : (void *)&one, &array);
    if (to == NULL || lw_ahead_take(self, k, asked->p, asked->n, to) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    if (!asked->one)
        return array;
    return integers ? PyLong_FromLongLong(integer) : PyFloat_FromDouble(one);
}

static const lw_method normal_method = {.most = MOST_TAKEN,
                                        .slow = "_normal",
                                        .device = LW_DRAW_NORMAL,
                                        .n_parameters = 2,
                                        .names = {"loc", "scale"},
                                        .fallback = {0, 1}};
static const lw_method standard_normal_method = {
    .most = MOST_TAKEN, .slow = "_standard_normal", .device = LW_DRAW_STANDARD_NORMAL};
static const lw_method exponential_method = {.most = MOST_TAKEN,
                                             .slow = "_exponential",
                                             .device = LW_DRAW_EXPONENTIAL,
                                             .n_parameters = 1,
                                             .names = {"scale"},
                                             .fallback = {1}};
static const lw_method standard_exponential_method = {.most = MOST_TAKEN,
                                                      .slow = "_standard_exponential",
                                                      .device = LW_DRAW_STANDARD_EXPONENTIAL};
static const lw_method gamma_method = {.most = MOST_TAKEN,
                                       .slow = "_gamma",
                                       .device = LW_DRAW_GAMMA,
                                       .n_parameters = 2,
                                       .names = {"shape", "scale"},
                                       .fallback = {NAN, 1}};
static const lw_method standard_gamma_method = {.most = MOST_TAKEN,
                                                .slow = "_standard_gamma",
                                                .device = LW_DRAW_STANDARD_GAMMA,
                                                .n_parameters = 1,
                                                .names = {"shape"},
                                                .fallback = {NAN, 1}};
static const lw_method poisson_method = {.most = MOST_TAKEN,
                                         .slow = "_poisson",
                                         .device = LW_DRAW_POISSON,
                                         .n_parameters = 1,
                                         .names = {"lam"},
                                         .fallback = {1}};

static PyObject *
draw_normal(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &normal_method, args, n, kwnames, &asked) || isnan(asked.p[0]) ||
        !(asked.p[1] >= 0) || !is_near(self, &asked))
        return slow(self, &normal_method, args, n, kwnames);
    return placed(self, LW_AHEAD_NORMAL, &asked, asked.p[0], asked.p[1]);
}

static PyObject *
draw_standard_normal(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &standard_normal_method, args, n, kwnames, &asked) ||
        !is_near(self, &asked))
        return slow(self, &standard_normal_method, args, n, kwnames);
    return placed(self, LW_AHEAD_NORMAL, &asked, 0.0, 1.0);
}

static PyObject *
draw_exponential(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &exponential_method, args, n, kwnames, &asked) || !(asked.p[0] >= 0) ||
        !is_near(self, &asked))
        return slow(self, &exponential_method, args, n, kwnames);
    return placed(self, LW_AHEAD_EXPONENTIAL, &asked, 0.0, asked.p[0]);
}

static PyObject *
draw_standard_exponential(PyObject *object, PyObject *const *args, Py_ssize_t n,
                          PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &standard_exponential_method, args, n, kwnames, &asked) ||
        !is_near(self, &asked))
        return slow(self, &standard_exponential_method, args, n, kwnames);
    return placed(self, LW_AHEAD_EXPONENTIAL, &asked, 0.0, 1.0);
}

static PyObject *
gammas(lw_draws_object *self, const lw_method *m, PyObject *const *args, Py_ssize_t n,
       PyObject *kwnames)
{
    lw_few asked;

    if (!is_quick(self, m, args, n, kwnames, &asked))
        return slow(self, m, args, n, kwnames);
    if (m->n_parameters == 1)
        asked.p[1] = 1.0;
    if (!(asked.p[0] >= 0 && isfinite(asked.p[0]) && asked.p[1] >= 0) || !is_near(self, &asked))
        return slow(self, m, args, n, kwnames);
    return fitted(self, LW_AHEAD_GAMMA, &asked);
}

static PyObject *
draw_gamma(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return gammas((lw_draws_object *)self, &gamma_method, args, n, kwnames);
}

static PyObject *
draw_standard_gamma(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    return gammas((lw_draws_object *)self, &standard_gamma_method, args, n, kwnames);
}

static PyObject *
draw_poisson(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &poisson_method, args, n, kwnames, &asked) ||
        !(asked.p[0] >= 0 && asked.p[0] <= 1e15) || !is_near(self, &asked))
        return slow(self, &poisson_method, args, n, kwnames);
    return fitted(self, LW_AHEAD_POISSON, &asked);
}

static const lw_method binomial_method = {.most = MOST_TAKEN,
                                          .slow = "_binomial",
                                          .device = LW_DRAW_BINOMIAL,
                                          .n_parameters = 2,
                                          .integers = 1,
                                          .names = {"n", "p"},
                                          .fallback = {NAN, NAN}};

static PyObject *
draw_binomial(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    lw_few asked;

    if (!is_quick(self, &binomial_method, args, n, kwnames, &asked) || asked.integer[0] < 0 ||
        asked.integer[0] > INT64_C(1) << 53 || !(asked.p[1] >= 0 && asked.p[1] <= 1) ||
        !is_near(self, &asked))
        return slow(self, &binomial_method, args, n, kwnames);
    asked.p[0] = (double)asked.integer[0];
    return fitted(self, LW_AHEAD_BINOMIAL, &asked);
}

/* ---- formulas ---- */

static PyObject *
draw_formula(PyObject *object, lw_formula_kind which, const lw_method *m, PyObject *const *args,
             Py_ssize_t n, PyObject *kwnames)
{
    lw_draws_object *self = (lw_draws_object *)object;
    PyObject *number = NULL;
    lw_few asked;

    if (is_quick(self, m, args, n, kwnames, &asked) && asked.one && lw_few_as_floats(m, &asked))
        number = lw_formula_take(&self->formulas, &self->base.place, which, &asked);
    return number != NULL || PyErr_Occurred() ? number : slow(self, m, args, n, kwnames);
}

#define BARE(...) __VA_ARGS__
#define FORMULA(name, fields, ...)                                                             \
    static PyObject *draw_##name(PyObject *self, PyObject *const *args, Py_ssize_t n,          \
                                 PyObject *kwnames)                                            \
    {                                                                                          \
        static const lw_method method = {.slow = "_" #name, BARE fields};                      \
        return draw_formula(self, LW_FORMULA_##name, &method, args, n, kwnames);               \
    }
#include "random/formulas.def"

/* The methods, each in a critical section: another thread that draws, or takes the generator
 * for itself (is_busy), comes before or behind. */
#define IN_SECTION(name)                                                                       \
    static PyObject *name##_alone(PyObject *self, PyObject *const *args, Py_ssize_t n,         \
                                  PyObject *kwnames)                                           \
    {                                                                                          \
        PyObject *result;                                                                      \
                                                                                               \
        Py_BEGIN_CRITICAL_SECTION(self);                                                       \
        result = name(self, args, n, kwnames);                                                 \
        Py_END_CRITICAL_SECTION();                                                             \
        return result;                                                                         \
    }
IN_SECTION(draw_random)
IN_SECTION(draw_uniform)
IN_SECTION(draw_integers)
IN_SECTION(draw_standard_normal)
IN_SECTION(draw_normal)
IN_SECTION(draw_standard_exponential)
IN_SECTION(draw_exponential)
IN_SECTION(draw_gamma)
IN_SECTION(draw_standard_gamma)
IN_SECTION(draw_poisson)
IN_SECTION(draw_binomial)
#define FORMULA(name, ...) IN_SECTION(draw_##name)
#include "random/formulas.def"
#undef IN_SECTION

/* ---- blocks for Python's code ---- */

static PyObject *
draw_take_blocks(PyObject *object, PyObject *count)
{
    lw_draws_object *self = (lw_draws_object *)object;
    uint64_t place, blocks = PyLong_AsUnsignedLongLong(count);
    bool busy;

    if (PyErr_Occurred())
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    place = self->base.place;
    busy = self->is_busy;
    self->base.place += busy ? 0 : blocks;
    Py_END_CRITICAL_SECTION();
    return busy ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(place);
}

static PyObject *
draw_give_back(PyObject *object, PyObject *args)
{
    unsigned long long place, blocks;

    if (!PyArg_ParseTuple(args, "KK:_give_back", &place, &blocks))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    lw_draws_give_back((lw_draws_object *)object, place, blocks);
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

static PyObject *
draw_fill(PyObject *object, PyObject *args)
{
    PyArrayObject *out;
    unsigned long long place;
    double low, width;
    lw_philox philox;
    lw_stop stop = {.ask = lw_signal_raised_anyhow};

    if (!PyArg_ParseTuple(args, "KddO!:_fill_uniform", &place, &low, &width, &PyArray_Type,
                          &out))
        return NULL;
    if (PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)) {
        PyErr_SetString(PyExc_TypeError, "out must be a contiguous array of float64");
        return NULL;
    }
    Py_BEGIN_CRITICAL_SECTION(object);
    philox = ((lw_draws_object *)object)->base.philox;
    Py_END_CRITICAL_SECTION();
    Py_BEGIN_ALLOW_THREADS
    lw_philox_uniforms(&philox, place, low, width, PyArray_SIZE(out), PyArray_DATA(out), &stop);
    Py_END_ALLOW_THREADS
    if (stop.stopped)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
draw_keep(PyObject *object, PyObject *args)
{
    lw_draws_object *self = (lw_draws_object *)object;
    int failed;

    Py_BEGIN_CRITICAL_SECTION(object);
    failed = lw_formula_keep(&self->formulas, self->stream, args);
    Py_END_CRITICAL_SECTION();
    return failed ? NULL : Py_NewRef(Py_None);
}

/* ---- the object ---- */

static int
traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((lw_draws_object *)object)->target);
    Py_VISIT(((lw_draws_object *)object)->window);
    Py_VISIT(((lw_draws_object *)object)->keys);
    for (int k = 0; k < LW_DRAW_KERNELS; k++)
        Py_VISIT(((lw_draws_object *)object)->kernels[k]);
    return 0;
}

static int
clear(PyObject *object)
{
    Py_CLEAR(((lw_draws_object *)object)->target);
    Py_CLEAR(((lw_draws_object *)object)->window);
    Py_CLEAR(((lw_draws_object *)object)->keys);
    for (int k = 0; k < LW_DRAW_KERNELS; k++)
        Py_CLEAR(((lw_draws_object *)object)->kernels[k]);
    return 0;
}

static void
dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    lw_draws_forget((lw_draws_object *)object);
    PyMem_Free(((lw_draws_object *)object)->base.bits);
    clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMemberDef members[] = {
    {"_is_philox", T_BOOL, offsetof(lw_draws_object, base.is_philox), 0,
     PyDoc_STR("numbers by place")},
    {"_changes", T_ULONGLONG, offsetof(lw_draws_object, stream), READONLY,
     PyDoc_STR("how often the key or the stream has been set")},
    {"target", T_OBJECT, offsetof(lw_draws_object, target), 0,
     PyDoc_STR("where results are created: None, \"cpu\" or \"cuda\"")},
    {"_window", T_OBJECT, offsetof(lw_draws_object, window), 0,
     PyDoc_STR("while a block of a larger array is drawn: where each run of its items begins, "
               "the items of a run, and those of the whole array")},
    {NULL, 0, 0, 0, NULL}};

#define DRAW_WITH(name, function, parameters, more, text)                                      \
    {                                                                                          \
        name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS,          \
            PyDoc_STR(name "($self, " parameters ", *, stream=0, " more                        \
                           "chunks=None)\n--\n\n" text)                                        \
    }
#define DRAW(name, function, parameters, text) DRAW_WITH(name, function, parameters, "", text)
#define FILL                                   "size=None, dtype=None, out=None"
#define HOST                                   "size=None"

static PyMethodDef methods[] = {
    DRAW("random", draw_random_alone, FILL,
         "Draw uniform numbers in [0, 1): float32 with 24 random bits, float64 with 53."),
    DRAW("uniform", draw_uniform_alone, "low=0.0, high=1.0, " FILL,
         "Draw uniform numbers: low + (high - low) * u with u in [0, 1)."),
    DRAW("standard_normal", draw_standard_normal_alone, FILL,
         "Draw normal numbers of mean 0 and variance 1, with the method of Box and Muller."),
    DRAW("normal", draw_normal_alone, "loc=0.0, scale=1.0, " FILL,
         "Draw normal numbers of mean loc and standard deviation scale >= 0."),
    DRAW_WITH("standard_exponential", draw_standard_exponential_alone, FILL, "method='zig', ",
              "Draw exponential numbers of mean 1, by inversion. method= is 'zig' or 'inv', as "
              "in NumPy; both give the same numbers."),
    DRAW("exponential", draw_exponential_alone, "scale=1.0, " FILL,
         "Draw exponential numbers of mean scale >= 0, by inversion."),
    DRAW("gamma", draw_gamma_alone, "shape, scale=1.0, " FILL,
         "Draw from the gamma distribution (Marsaglia and Tsang, 2000); shape >= 0, scale >= "
         "0."),
    DRAW("standard_gamma", draw_standard_gamma_alone, "shape, " FILL,
         "Draw from the gamma distribution of scale 1; shape >= 0."),
    DRAW("poisson", draw_poisson_alone, "lam=1.0, " FILL,
         "Draw from the Poisson distribution of mean lam: by multiplication for lam < 10, by "
         "Hormann's PTRS (1993) otherwise."),
    DRAW("binomial", draw_binomial_alone, "n, p, " FILL,
         "Draw the number of successes in n >= 0 trials of probability p: by inversion for "
         "n * p < 10, by Hormann's BTRS (1993) otherwise."),
#define FORMULA(name, fields, signature, text)                                                 \
    DRAW(#name, draw_##name##_alone, signature, text),
#include "random/formulas.def"
    {"integers", (PyCFunction)(void (*)(void))draw_integers_alone,
     METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "integers($self, low, high=None, size=None, dtype=None, endpoint=False, "
         "out=None, *, stream=0, chunks=None)\n--\n\n"
         "Draw integers from low up to, but not including, high, each equally likely. With "
         "endpoint=True, high is included. With high=None, the integers are from 0 up to "
         "low.")},
    {"_sample", lw_draws_sample, METH_VARARGS,
     PyDoc_STR("_sample(n, count, words, stream): the first of the numbers below n in random "
               "order")},
    {"_take_blocks", draw_take_blocks, METH_O,
     PyDoc_STR(
         "_take_blocks(count): the place, which moves on; None while the generator is busy")},
    {"_drop_words", lw_draws_drop_words, METH_NOARGS,
     PyDoc_STR("_drop_words(): NumPy draws next from the generator's place on")},
    {"_fill_uniform", draw_fill, METH_VARARGS,
     PyDoc_STR(
         "_fill_uniform(place, low, width, out): with the numbers from the place on, which "
         "does not move")},
    {"_keep", draw_keep, METH_VARARGS,
     PyDoc_STR(
         "_keep(changes, name, parameters, place, blocks, numbers): of a formula, for calls at "
         "the place and behind it, which take so many blocks, unless _changes has become "
         "another")},
    {"_give_back", draw_give_back, METH_VARARGS,
     PyDoc_STR("_give_back(place, count): blocks that were not used after all")},
    {"_mix", lw_draws_mix, METH_VARARGS,
     PyDoc_STR("_mix(array, axis, together, words, stream): its lines along the axis in random "
               "orders, in place")},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, (void *)PyDoc_STR("Draws of few numbers.")},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_traverse, traverse},
                              {Py_tp_clear, clear},
                              {Py_tp_members, members},
                              {Py_tp_getset, lw_draws_getters},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {.name = "lanewise._core._Draws",
                           .basicsize = sizeof(lw_draws_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};

int
lw_draws_register(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, "_Draws", type) < 0;

    Py_XDECREF(type);
    return failed ? -1 : 0;
}
