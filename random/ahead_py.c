/* Numbers that a distribution's kernel has computed ahead, for `_core._Draws`: standard ones,
 * or those of the last parameters. */
#include "random/draws_py_internal.h"

#include <string.h>

enum { FIRST_AHEAD = 8, MOST_AHEAD = 1024 }; /* blocks */

/* per: numbers per block. fitted: made for the parameters; else standard numbers. */
static const struct {
    const char *name;
    int per;
    bool fitted, integers;
} kinds[LW_DRAW_KINDS] = {[LW_AHEAD_NORMAL] = {"normal", 2, false, false},
                          [LW_AHEAD_EXPONENTIAL] = {"exponential", 2, false, false},
                          [LW_AHEAD_GAMMA] = {"gamma", 1, true, false},
                          [LW_AHEAD_POISSON] = {"poisson", 1, true, true},
                          [LW_AHEAD_BINOMIAL] = {"binomial", 1, true, true}};

bool
lw_ahead_has_integers(lw_ahead_kind k)
{
    return kinds[k].integers;
}

static bool
is_fitting(const lw_ahead *a, lw_ahead_kind k, const double *p)
{
    return !kinds[k].fitted || (a->parameters[0] == p[0] && a->parameters[1] == p[1]);
}

static bool
has_blocks(const lw_ahead *a, lw_ahead_kind k, const double *p, uint64_t place, uint64_t blocks)
{
    return a->made != NULL && place >= a->place && place + blocks <= a->place + a->blocks &&
           is_fitting(a, k, p);
}

/* How many blocks to compute from here: twice as many as last time if those have been used
 * up. */
static uint64_t
blocks_ahead(const lw_ahead *a, lw_ahead_kind k, const double *p, uint64_t place,
             uint64_t needed)
{
    uint64_t blocks = FIRST_AHEAD, rest = (UINT64_C(1) << 32) - place % (UINT64_C(1) << 32);

    if (a->made != NULL && a->place + a->blocks == place && is_fitting(a, k, p))
        blocks = 2 * a->blocks < MOST_AHEAD ? 2 * a->blocks : MOST_AHEAD;
    if (blocks < needed)
        blocks = needed;
    /* one launch must not cross a carry into the counter's upper word */
    return blocks < rest ? blocks : rest;
}

/* Computes `needed` blocks from a place on, or some more; made: a new reference. -1 with an
 * exception. */
static int
make_ahead(lw_draws_object *self, lw_ahead_kind k, const double *p, uint64_t place,
           uint64_t needed, lw_ahead *out)
{
    uint64_t blocks = blocks_ahead(&self->ahead[k], k, p, place, needed);
    int type = kinds[k].integers ? NPY_INT64 : NPY_DOUBLE;
    PyObject *made;

    made =
        PyObject_CallMethod((PyObject *)self, "_ahead", "sKKdd", kinds[k].name,
                            (unsigned long long)place, (unsigned long long)blocks, p[0], p[1]);
    if (made == NULL)
        return -1;
    if (!PyArray_Check(made) || PyArray_TYPE((PyArrayObject *)made) != type ||
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)made) ||
        PyArray_SIZE((PyArrayObject *)made) < (npy_intp)blocks * kinds[k].per) {
        PyErr_SetString(PyExc_TypeError, "_ahead must give an array of the numbers asked for");
        Py_DECREF(made);
        return -1;
    }
    *out = (lw_ahead){(PyArrayObject *)made, place, blocks, {p[0], p[1]}};
    return 0;
}

/* Keeps the numbers for the next calls, unless the stream has changed meanwhile. */
static void
keep(lw_draws_object *self, lw_ahead_kind k, const lw_ahead *made, uint64_t stream)
{
    PyArrayObject *old = self->ahead[k].made;

    if (stream != self->stream) {
        Py_DECREF(made->made);
        return;
    }
    self->ahead[k] = *made;
    Py_XDECREF(old);
}

static void
copy_from(const lw_ahead *a, lw_ahead_kind k, uint64_t place, int64_t n, void *to)
{
    size_t from = (size_t)(place - a->place) * (size_t)kinds[k].per;

    memcpy(to, (const char *)PyArray_DATA(a->made) + 8 * from, (size_t)n * 8);
}

int
lw_ahead_take(lw_draws_object *self, lw_ahead_kind k, const double *p, int64_t n, void *to)
{
    uint64_t blocks = ((uint64_t)n + (uint64_t)kinds[k].per - 1) / (uint64_t)kinds[k].per;
    uint64_t place = self->base.place, stream = self->stream;
    lw_ahead made;

    self->base.place += blocks;
    if (has_blocks(&self->ahead[k], k, p, place, blocks)) {
        copy_from(&self->ahead[k], k, place, n, to);
        return 0;
    }
    if (make_ahead(self, k, p, place, blocks, &made) < 0) {
        lw_draws_give_back(self, place, blocks);
        return -1;
    }
    copy_from(&made, k, place, n, to);
    keep(self, k, &made, stream);
    return 0;
}
