#include "random/xoroshiro.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/host/thread_pool.h"

#include <stdatomic.h>

/* ---- the generator ---- */

static uint64_t
rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static void
step(lw_xoroshiro *s)
{
    uint64_t both = s->s0 ^ s->s1;

    s->s0 = rotate(s->s0, 55) ^ both ^ (both << 14);
    s->s1 = rotate(both, 36);
}

/* SplitMix64's output function. */
static uint64_t
mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- polynomials over GF(2) modulo the step's characteristic polynomial ---- */

/* A polynomial over GF(2) of degree below 128: bit i of (high, low) is the coefficient of
 * x^i. */
typedef struct poly {
    uint64_t low, high;
} poly;

/* x^128 modulo the characteristic polynomial of T, which was found by the algorithm of
 * Berlekamp and Massey; it has degree 128 and is primitive. */
static const poly x128 = {UINT64_C(0x5fd66762f0e1c001), UINT64_C(0x00653ced7f29f88a)};
/* x^(2^64), which is the jump, as Blackman and Vigna publish it for these constants. */
static const poly jump = {UINT64_C(0xbeac0467eba5facb), UINT64_C(0xd86b048b86aa9922)};

static poly
times_x(poly a)
{
    uint64_t carry = a.high >> 63;
    poly r = {a.low << 1, (a.high << 1) | (a.low >> 63)};

    r.low ^= x128.low & (0 - carry);
    r.high ^= x128.high & (0 - carry);
    return r;
}

static poly
times(poly a, poly b)
{
    poly r = {0, 0};

    for (int i = 127; i >= 0; i--) {
        uint64_t bit = (i < 64 ? b.low >> i : b.high >> (i - 64)) & 1;
        r = times_x(r);
        r.low ^= a.low & (0 - bit);
        r.high ^= a.high & (0 - bit);
    }
    return r;
}

/* Applies a polynomial in T to a state: a(T) s. */
static lw_xoroshiro
apply(poly a, lw_xoroshiro s)
{
    lw_xoroshiro r = {0, 0};

    for (int i = 0; i < 128; i++) {
        uint64_t bit = (i < 64 ? a.low >> i : a.high >> (i - 64)) & 1;
        r.s0 ^= s.s0 & (0 - bit);
        r.s1 ^= s.s1 & (0 - bit);
        step(&s);
    }
    return r;
}

lw_xoroshiro
lw_xoroshiro_seed(uint64_t seed, uint64_t start)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = mix(seed + golden);
    poly power = jump, all = {1, 0};

    if (z == 0)
        z = mix(seed + 2 * golden);
    for (; start != 0; start >>= 1) {
        if (start & 1)
            all = times(all, power);
        power = times(power, power);
    }
    return apply(all, (lw_xoroshiro){z, z});
}

/* ---- tables ---- */

static lw_lock tables_lock = LW_LOCK_INIT;
static _Atomic(lw_xoroshiro *) tables[LW_XOROSHIRO_LEVELS];

static void
fill_table(unsigned level, lw_xoroshiro *table)
{
    lw_xoroshiro columns[128];
    poly power = jump;

    for (unsigned i = 0; i < level; i++)
        power = times(power, power);
    for (int i = 0; i < 128; i++) {
        uint64_t bit = UINT64_C(1) << (i & 63);
        columns[i] = apply(power, i < 64 ? (lw_xoroshiro){bit, 0} : (lw_xoroshiro){0, bit});
    }
    for (int byte = 0; byte < 16; byte++) {
        lw_xoroshiro *row = table + 256 * byte;
        row[0] = (lw_xoroshiro){0, 0};
        for (int v = 1; v < 256; v++) {
            const lw_xoroshiro *rest = &row[v & (v - 1)];
            const lw_xoroshiro *column = &columns[8 * byte + __builtin_ctz((unsigned)v)];
            row[v] = (lw_xoroshiro){rest->s0 ^ column->s0, rest->s1 ^ column->s1};
        }
    }
}

lw_status
lw_xoroshiro_table(unsigned level, const lw_xoroshiro **out, lw_error *err)
{
    lw_xoroshiro *table = atomic_load(&tables[level]);

    if (table == NULL) {
        lw_lock_take(&tables_lock);
        table = atomic_load(&tables[level]);
        if (table == NULL && (table = lw_alloc(LW_XOROSHIRO_TABLE_BYTES)) != NULL) {
            fill_table(level, table);
            atomic_store(&tables[level], table);
        }
        lw_lock_give(&tables_lock);
    }
    *out = table;
    return table ? LW_OK : lw_fail_memory(err);
}

/* ---- sets of states ---- */

typedef struct doubling {
    lw_xoroshiro *states;
    int64_t half; /* states[half + i] = J^half states[i] */
    const lw_xoroshiro *table;
} doubling;

static lw_status
double_range(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    const doubling *d = context;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        uint64_t words[2] = {d->states[i].s0, d->states[i].s1};
        lw_xoroshiro sum = {0, 0};
        for (int byte = 0; byte < 16; byte++) {
            uint64_t value = (words[byte >> 3] >> (8 * (byte & 7))) & 255;
            const lw_xoroshiro *entry = &d->table[256 * byte + (int)value];
            sum.s0 ^= entry->s0;
            sum.s1 ^= entry->s1;
        }
        d->states[d->half + i] = sum;
    }
    return LW_OK;
}

lw_status
lw_xoroshiro_states(lw_xoroshiro *states, int64_t n, uint64_t seed, uint64_t start,
                    lw_error *err)
{
    lw_status status = LW_OK;
    unsigned level = 0;

    if (n > 0)
        states[0] = lw_xoroshiro_seed(seed, start);
    for (int64_t half = 1; half < n; half *= 2, level++) {
        doubling d = {states, half, NULL};
        int64_t more = n - half < half ? n - half : half;
        LW_TRY(lw_xoroshiro_table(level, &d.table, err));
        LW_TRY(lw_parallel_for(more, 4096, double_range, &d));
    }
fail:
    return status;
}
