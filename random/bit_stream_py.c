/* The words of a Generator for NumPy: `capsule` is what numpy.random.Generator reads of a bit
 * generator, so that numpy.random.default_rng(g) draws from the stream of g.
 * NumPy keeps g, and calls these functions while it holds `g.lock`, often without the GIL. */
#include "random/draws_py_internal.h"

#include "core/front/read/critical.h"

enum { WORDS = 2 * LW_PHILOX_BATCH }; /* of 64 bits, taken from the stream at once */

struct lw_bit_stream {
    bitgen_t functions;
    lw_drawing *owner;
    uint32_t words[2 * WORDS];
    int n_left; /* of 64 bits, at the end of `words` */
    bool has_half;
    uint32_t half; /* of the last word of 64 bits, for the next of 32 bits */
};

/* The place is the generator's own, which other threads advance: with the GIL, or in a critical
 * section. */
static void
refill(lw_bit_stream *bits)
{
    lw_drawing *owner = bits->owner;
    PyGILState_STATE state = PyGILState_Ensure();
    lw_philox philox;
    uint64_t place;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)owner);
    philox = owner->philox;
    place = owner->place;
    owner->place += LW_PHILOX_BATCH;
    Py_END_CRITICAL_SECTION();
    PyGILState_Release(state);
    lw_philox_blocks(&philox, place, LW_PHILOX_BATCH, bits->words);
    bits->n_left = WORDS;
}

static const uint32_t *
next_pair(lw_bit_stream *bits)
{
    if (bits->n_left == 0)
        refill(bits);
    return bits->words + 2 * (WORDS - bits->n_left--);
}

static uint64_t
next_uint64(void *state)
{
    return lw_philox_long(next_pair(state));
}

static uint32_t
next_uint32(void *state)
{
    lw_bit_stream *bits = state;
    uint64_t word;

    if (bits->has_half) {
        bits->has_half = false;
        return bits->half;
    }
    word = next_uint64(state);
    bits->has_half = true;
    bits->half = (uint32_t)word;
    return (uint32_t)(word >> 32);
}

/* The numbers of Generator.random. */
static double
next_double(void *state)
{
    return lw_philox_unit(next_pair(state));
}

void
lw_bit_stream_forget(lw_bit_stream *bits)
{
    if (bits == NULL)
        return;
    bits->n_left = 0;
    bits->has_half = false;
}

PyObject *
lw_draws_drop_words(PyObject *object, PyObject *none)
{
    (void)none;
    Py_BEGIN_CRITICAL_SECTION(object);
    lw_bit_stream_forget(((lw_drawing *)object)->bits);
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

/* In a critical section. NULL with an exception. */
static lw_bit_stream *
bits_of(lw_drawing *owner)
{
    if (owner->bits != NULL)
        return owner->bits;
    owner->bits = PyMem_Calloc(1, sizeof *owner->bits);
    if (owner->bits == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    owner->bits->owner = owner;
    owner->bits->functions =
        (bitgen_t){owner->bits, next_uint64, next_uint32, next_double, next_uint64};
    return owner->bits;
}

/* The capsule keeps the generator, whose memory it points to. */
static void
drop_owner(PyObject *capsule)
{
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

PyObject *
lw_draws_capsule(PyObject *object, void *closure)
{
    lw_drawing *owner = (lw_drawing *)object;
    PyObject *capsule;
    lw_bit_stream *bits;

    (void)closure;
    if (!owner->is_philox) {
        PyErr_SetString(
            PyExc_TypeError,
            "NumPy cannot draw from a Generator of xoroshiro128p, whose parallel sequences "
            "have no common order; use Generator(seed), which uses philox");
        return NULL;
    }
    Py_BEGIN_CRITICAL_SECTION(object);
    bits = bits_of(owner);
    Py_END_CRITICAL_SECTION();
    capsule = bits ? PyCapsule_New(&bits->functions, "BitGenerator", drop_owner) : NULL;
    if (capsule != NULL && PyCapsule_SetContext(capsule, Py_NewRef(object)) < 0) {
        Py_DECREF(object);
        Py_CLEAR(capsule);
    }
    return capsule;
}
