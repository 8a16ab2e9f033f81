#include "core/front/varying.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/front/constant_bits.h"

#include <assert.h>
#include <string.h>

typedef struct cell {
    lw_dtype dtype;
    _Atomic uint64_t bits[2]; /* compiled code reads them while they are set */
    struct cell *next;
} cell;

struct lw_varying {
    lw_constant now, after; /* after: what it is about to become */
    lw_pyop op;             /* NONE: it was captured */
    lw_constant x, y;       /* what it is computed from; y: kind NONE if there is none */
    atomic_bool pinned;
    cell *cells;
    lw_varyings *all;
    lw_varying *next; /* made after this one, and not computed before it */
};

struct lw_varyings {
    lw_lock lock; /* protects all that follows, and everything in the list */
    lw_varying *first, *last;
    uint64_t version;
};

static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "code reads cells as plain memory");

/* ---- values ---- */

/* The ends of the ranges within which integers fit the same dtypes. */
static const int64_t ends[] = {INT64_MIN,
                               INT32_MIN,
                               INT16_MIN,
                               INT8_MIN,
                               0,
                               INT8_MAX + 1,
                               UINT8_MAX + 1,
                               INT16_MAX + 1,
                               UINT16_MAX + 1,
                               (int64_t)INT32_MAX + 1,
                               (int64_t)UINT32_MAX + 1};

void
lw_varying_range(const lw_constant *constant, int64_t *lo, int64_t *hi)
{
    enum { N = sizeof ends / sizeof *ends };
    const lw_constant now = lw_varying_now(constant);
    uint32_t i = N - 1;

    assert(now.kind == LW_K_INT);
    while (now.i < ends[i])
        i--;
    *lo = ends[i];
    *hi = i + 1 < N ? ends[i + 1] - 1 : INT64_MAX;
}

bool
lw_varying_can_be(const lw_constant *k)
{
    switch (k->kind) {
    case LW_K_BOOL:
    case LW_K_FLOAT:
    case LW_K_COMPLEX:
    case LW_K_INT: return k->members == NULL && k->bytes == NULL;
    case LW_K_SCALAR: return !lw_is_time(k->dtype);
    default: return false;
    }
}

static bool
same_value(const lw_constant *x, const lw_constant *y)
{
    return x->kind == y->kind && x->dtype == y->dtype && x->u == y->u &&
           memcmp(&x->im, &y->im, sizeof x->im) == 0;
}

/* Whether code for one computes with the other. */
static bool
is_typed_alike(const lw_constant *x, const lw_constant *y)
{
    int64_t lo, hi;

    if (x->kind != y->kind || x->dtype != y->dtype)
        return false;
    if (x->kind != LW_K_INT)
        return true;
    lw_varying_range(x, &lo, &hi);
    return y->i >= lo && y->i <= hi;
}

static bool
integers(lw_pyop op, int64_t x, int64_t y, int64_t *out)
{
    switch (op) {
    case LW_PY_ADD: return !__builtin_add_overflow(x, y, out);
    case LW_PY_SUB: return !__builtin_sub_overflow(x, y, out);
    case LW_PY_MUL: return !__builtin_mul_overflow(x, y, out);
    default: return false;
    }
}

/* Of a Python number; false: it is none, or is not exact as a double. */
static bool
as_double(const lw_constant *k, double *out)
{
    if (k->kind == LW_K_FLOAT)
        *out = k->d;
    return k->kind == LW_K_FLOAT ||
           (k->kind == LW_K_INT && lw_constant_exact_double(k->i, out));
}

/* As core/front/infer/fold.c folds constants. y: kind NONE: -x. */
static bool
compute(lw_pyop op, const lw_constant *x, const lw_constant *y, lw_constant *out)
{
    double d, e;

    memset(out, 0, sizeof *out);
    if (y->kind == LW_K_NONE) {
        out->kind = x->kind;
        if (op != LW_PY_NEG || (x->kind != LW_K_INT && x->kind != LW_K_FLOAT))
            return false;
        if (x->kind == LW_K_INT)
            return integers(LW_PY_SUB, 0, x->i, &out->i);
        out->d = -x->d;
        return true;
    }
    out->kind = LW_K_INT;
    if (x->kind == LW_K_INT && y->kind == LW_K_INT)
        return integers(op, x->i, y->i, &out->i);
    out->kind = LW_K_FLOAT;
    return as_double(x, &d) && as_double(y, &e) && lw_constant_float_op(op, d, e, &out->d);
}

/* ---- making ---- */

lw_varyings *
lw_varyings_new(void)
{
    lw_varyings *all = lw_alloc_zero(1, sizeof *all);

    if (all != NULL)
        lw_lock_init(&all->lock);
    return all;
}

void
lw_varyings_free(lw_varyings *all)
{
    if (all == NULL)
        return;
    while (all->first != NULL) {
        lw_varying *varying = all->first;
        all->first = varying->next;
        while (varying->cells != NULL) {
            cell *old = varying->cells;
            varying->cells = old->next;
            lw_free(old);
        }
        lw_free(varying);
    }
    lw_lock_end(&all->lock);
    lw_free(all);
}

/* Under the lock. */
static lw_varying *
append(lw_varyings *all, const lw_constant *value)
{
    lw_varying *made = lw_alloc_zero(1, sizeof *made);

    if (made == NULL)
        return NULL;
    made->now = *value;
    made->now.varying = NULL;
    made->all = all;
    if (all->last != NULL)
        all->last->next = made;
    else
        all->first = made;
    all->last = made;
    return made;
}

lw_varying *
lw_varying_new(lw_varyings *all, const lw_constant *value)
{
    lw_varying *made;

    assert(lw_varying_can_be(value));
    lw_lock_take(&all->lock);
    made = append(all, value);
    lw_lock_give(&all->lock);
    return made;
}

static bool
is_same_operand(const lw_constant *x, const lw_constant *y)
{
    return x->varying == y->varying && (x->varying != NULL || same_value(x, y));
}

/* Under the lock. */
static const lw_constant *
value_of(const lw_constant *k)
{
    return k->varying ? &k->varying->now : k;
}

/* Under the lock: the one that is computed in the same way, or a new one; NULL: none can be. */
static lw_varying *
computed(lw_varyings *all, lw_pyop op, const lw_constant *x, const lw_constant *y)
{
    lw_constant value;
    lw_varying *found = all->first;

    while (found != NULL && (found->op != op || !is_same_operand(&found->x, x) ||
                             !is_same_operand(&found->y, y)))
        found = found->next;
    if (found != NULL)
        return found;
    if (!compute(op, value_of(x), value_of(y), &value))
        return NULL;
    found = append(all, &value);
    if (found != NULL) {
        found->op = op;
        found->x = *x;
        found->y = *y;
    }
    return found;
}

bool
lw_varying_fold(lw_pyop op, const lw_constant *x, const lw_constant *y, lw_constant *out)
{
    const lw_constant none = {.kind = LW_K_NONE};
    lw_varyings *all = x->varying ? x->varying->all : y->varying->all;
    lw_varying *result;

    if (x->kind == LW_K_BOOL || (y != NULL && y->kind == LW_K_BOOL))
        return false;
    if (y != NULL && x->varying && y->varying && x->varying->all != y->varying->all)
        return false;
    lw_lock_take(&all->lock);
    result = computed(all, op, x, y ? y : &none);
    if (result != NULL) {
        *out = result->now;
        out->varying = result;
    }
    lw_lock_give(&all->lock);
    return result != NULL;
}

/* Under the lock. */
static void
fill(const lw_varying *varying, cell *c)
{
    lw_dtype part = lw_dtypes[c->dtype].parts;

    atomic_store_explicit(&c->bits[0], lw_constant_real_bits(&varying->now, part),
                          memory_order_relaxed);
    if (lw_is_complex(c->dtype))
        atomic_store_explicit(&c->bits[1], lw_constant_imaginary_bits(&varying->now, part),
                              memory_order_relaxed);
}

const uint64_t *
lw_varying_cell(lw_varying *varying, lw_dtype dtype)
{
    cell *found;

    lw_lock_take(&varying->all->lock);
    for (found = varying->cells; found != NULL && found->dtype != dtype;)
        found = found->next;
    if (found == NULL && (found = lw_alloc_zero(1, sizeof *found)) != NULL) {
        found->dtype = dtype;
        found->next = varying->cells;
        varying->cells = found;
        fill(varying, found);
    }
    lw_lock_give(&varying->all->lock);
    return found ? (const uint64_t *)found->bits : NULL;
}

/* ---- pinning ---- */

lw_constant
lw_varying_like(const lw_varying *varying)
{
    return (lw_constant){.kind = varying->now.kind, .dtype = varying->now.dtype};
}

bool
lw_varying_is_pinned(const lw_varying *varying)
{
    return atomic_load_explicit(&varying->pinned, memory_order_acquire);
}

/* Under the lock: with all that it is computed from. */
static void
pin(lw_varying *varying)
{
    atomic_store_explicit(&varying->pinned, true, memory_order_release);
    if (varying->x.varying != NULL)
        pin(varying->x.varying);
    if (varying->y.varying != NULL)
        pin(varying->y.varying);
}

const lw_constant *
lw_varying_fix(const lw_constant *constant)
{
    lw_varying *varying = constant->varying;

    if (varying == NULL)
        return constant;
    if (!lw_varying_is_pinned(varying)) {
        lw_lock_take(&varying->all->lock);
        pin(varying);
        lw_lock_give(&varying->all->lock);
    }
    return &varying->now; /* it stays */
}

lw_constant
lw_varying_now(const lw_constant *constant)
{
    lw_constant now;

    if (constant->varying == NULL)
        return *constant;
    lw_lock_take(&constant->varying->all->lock);
    now = constant->varying->now;
    lw_lock_give(&constant->varying->all->lock);
    return now;
}

bool
lw_varying_varies(const lw_constant *constant)
{
    return constant->varying != NULL && !lw_varying_is_pinned(constant->varying);
}

bool
lw_varyings_any(lw_varyings *all)
{
    bool any = false;

    if (all == NULL)
        return false;
    lw_lock_take(&all->lock);
    for (const lw_varying *v = all->first; v != NULL; v = v->next)
        any |= v->op == LW_PY_NONE && !lw_varying_is_pinned(v);
    lw_lock_give(&all->lock);
    return any;
}

void
lw_varyings_pin(lw_varyings *all)
{
    lw_lock_take(&all->lock);
    for (lw_varying *v = all->first; v != NULL; v = v->next)
        pin(v);
    lw_lock_give(&all->lock);
}

uint64_t
lw_varyings_version(lw_varyings *all)
{
    uint64_t version;

    lw_lock_take(&all->lock);
    version = all->version;
    lw_lock_give(&all->lock);
    return version;
}

/* ---- other values ---- */

/* Under the lock: what everything becomes if `varying` becomes `value`. */
static bool
prepare(lw_varying *varying, const lw_constant *value)
{
    for (lw_varying *v = varying->all->first; v != NULL; v = v->next) {
        const lw_constant *x = v->x.varying ? &v->x.varying->after : &v->x;
        const lw_constant *y = v->y.varying ? &v->y.varying->after : &v->y;
        if (v->op == LW_PY_NONE)
            v->after = v == varying ? *value : v->now;
        else if (!compute(v->op, x, y, &v->after))
            return false;
        if (!is_typed_alike(&v->now, &v->after))
            return false;
    }
    return true;
}

bool
lw_varying_set(lw_varying *varying, const lw_constant *value)
{
    lw_varyings *all = varying->all;
    bool good;

    lw_lock_take(&all->lock);
    good = same_value(&varying->now, value);
    if (!good && !lw_varying_is_pinned(varying) && prepare(varying, value)) {
        for (lw_varying *v = all->first; v != NULL; v = v->next) {
            if (same_value(&v->now, &v->after))
                continue;
            v->now.u = v->after.u; /* the rest is the same, and is read without the lock */
            v->now.im = v->after.im;
            for (cell *c = v->cells; c != NULL; c = c->next)
                fill(v, c);
        }
        all->version++;
        good = true;
    }
    lw_lock_give(&all->lock);
    return good;
}
