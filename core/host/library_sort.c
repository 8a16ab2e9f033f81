/* What compiled code calls to sort a row by NumPy's functions, which want elements that are
 * aligned and lie side by side: another row is sorted in a buffer.
 *
 * Of integers and bool, equal elements have equal bits, so the kind is the one that is faster:
 * stable sorts of narrow ones are radix sorts. An argsort is always stable. For elements of 4
 * and 8 bytes, NumPy's unstable one is vectorised: after it, the places of equal elements are
 * brought into their order. That takes less time than the stable one
 * (10^6 float64: 78 ms instead of 126 ms; AMD EPYC, Zen 4, NumPy 2.4.6, 28 November 2026). */
#include "core/host/library_sort.h"

#include "core/base/memory.h"
#include "core/host/flags.h"
#include "core/link/elf_loader.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { QUICK, STABLE };
enum { SMALL = 2048, FEW = 16 }; /* bytes of a buffer on the stack; equal elements in a row */

static lw_row_sorts known[LW_N_SORT_DTYPES];

/* ---- rows that NumPy's functions do not take ---- */

typedef struct row {
    void *at; /* the elements side by side */
    void *taken;
    uint64_t small[SMALL / sizeof(uint64_t)];
} row;

static size_t
bytes_of(int64_t dtype)
{
    return dtype == LW_SORT_TIMES ? sizeof(int64_t) : lw_dtypes[dtype].size_bytes;
}

/* Copies of a size that the compiler knows become single instructions. */
static void
copy_elements(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
              size_t bytes)
{
#define COPY(size)                                                                             \
    case size:                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                        \
            memcpy(to + i * to_step, from + i * from_step, size);                              \
        return;
    switch (bytes) {
        COPY(1)
        COPY(2)
        COPY(4)
        COPY(8)
        COPY(16)
    default: assert(!"elements of another size are not sorted");
    }
#undef COPY
}

static bool
lies_well(const char *data, int64_t stride, int64_t dtype)
{
    size_t bytes = bytes_of(dtype);
    size_t align =
        dtype == LW_SORT_TIMES ? bytes : lw_dtypes[lw_dtypes[dtype].parts].size_bytes;

    return stride == (int64_t)bytes && (uintptr_t)data % align == 0;
}

static bool
row_open(row *r, char *data, int64_t n, int64_t stride, int64_t dtype)
{
    size_t bytes = bytes_of(dtype);

    r->at = data;
    r->taken = NULL;
    if (lies_well(data, stride, dtype))
        return true;
    r->at = r->small;
    if ((size_t)n > SMALL / bytes)
        r->at = r->taken = lw_alloc((size_t)n * bytes);
    if (r->at != NULL)
        copy_elements(r->at, (int64_t)bytes, data, stride, n, bytes);
    return r->at != NULL;
}

/* ---- places of equal elements ---- */

/* The unstable sort mixed the places of a run of equal elements. */
static int
put_in_order(int64_t *places, int64_t n)
{
    if (n > FEW)
        return known[LW_DT_i64].sort[QUICK](places, n, NULL);
    for (int64_t i = 1; i < n; i++) {
        int64_t place = places[i], j = i;
        for (; j > 0 && places[j - 1] > place; j--)
            places[j] = places[j - 1];
        places[j] = place;
    }
    return 0;
}

/* x is in the order of `places`, NaN behind all others. IN_ORDER: whether it was before. */
#define WIDE(name, type)                                                                       \
    static bool in_order_##name(const type *x, int64_t n)                                      \
    {                                                                                          \
        int64_t i = 1;                                                                         \
                                                                                               \
        while (i < n && (x[i - 1] <= x[i] || x[i] != x[i]))                                    \
            i++;                                                                               \
        return i >= n;                                                                         \
    }                                                                                          \
                                                                                               \
    static int mend_##name(const type *x, int64_t *places, int64_t n)                          \
    {                                                                                          \
        type last = x[places[0]];                                                              \
        int64_t first = 0;                                                                     \
        int failed = 0;                                                                        \
                                                                                               \
        for (int64_t i = 1; i < n; i++) {                                                      \
            type next = x[places[i]];                                                          \
            if (next == last || last != last)                                                  \
                continue;                                                                      \
            if (i - first > 1)                                                                 \
                failed |= put_in_order(places + first, i - first);                             \
            first = i;                                                                         \
            last = next;                                                                       \
        }                                                                                      \
        return n - first > 1 ? failed | put_in_order(places + first, n - first) : failed;      \
    }

WIDE(i32, int32_t)
WIDE(u32, uint32_t)
WIDE(i64, int64_t)
WIDE(u64, uint64_t)
WIDE(f32, float)
WIDE(f64, double)
#undef WIDE

static int
argsort_row(int64_t dtype, void *x, int64_t *places, int64_t n)
{
#define WIDE(name)                                                                             \
    case LW_DT_##name:                                                                         \
        if (in_order_##name(x, n))                                                             \
            return 0;                                                                          \
        return known[dtype].argsort[QUICK](x, places, n, NULL) || mend_##name(x, places, n);
    switch (dtype) {
        WIDE(i32)
        WIDE(u32)
        WIDE(i64)
        WIDE(u64)
        WIDE(f32)
        WIDE(f64)
    default: return known[dtype].argsort[STABLE](x, places, n, NULL);
    }
#undef WIDE
}

/* ---- what compiled code calls ---- */

static int64_t
kind_for(int64_t dtype, int64_t kind)
{
    bool is_narrow = dtype == LW_DT_b1 || dtype == LW_DT_i8 || dtype == LW_DT_u8 ||
                     dtype == LW_DT_i16 || dtype == LW_DT_u16;

    return is_narrow ? STABLE : kind;
}

/* A comparison with NaN raises a flag in some of NumPy's functions, which ignores it. */
static void
flags_as_before(int before)
{
    lw_flags_clear();
    lw_flags_raise(before);
}

/* what: dtype * LW_SORT_KINDS + kind. 1: memory is out. */
static uint8_t
sort(char *data, int64_t n, int64_t stride, int64_t what)
{
    int64_t dtype = what / LW_SORT_KINDS, kind = kind_for(dtype, what % LW_SORT_KINDS);
    int64_t bytes = (int64_t)bytes_of(dtype);
    int before = lw_flags_raised(), failed;
    row r;

    if (n < 2)
        return 0;
    if (!row_open(&r, data, n, stride, dtype))
        return 1;
    failed = known[dtype].sort[kind](r.at, n, NULL);
    if (r.at != data)
        copy_elements(data, stride, r.at, bytes, n, (size_t)bytes);
    lw_free(r.taken);
    flags_as_before(before);
    return failed != 0;
}

/* The places lie side by side, and are overwritten. */
static uint8_t
argsort(char *data, int64_t n, int64_t stride, int64_t what, int64_t *places)
{
    int before = lw_flags_raised(), failed;
    row r;

    for (int64_t i = 0; i < n; i++)
        places[i] = i;
    if (n < 2)
        return 0;
    if (!row_open(&r, data, n, stride, what / LW_SORT_KINDS))
        return 1;
    failed = argsort_row(what / LW_SORT_KINDS, r.at, places, n);
    lw_free(r.taken);
    flags_as_before(before);
    return failed != 0;
}

static bool
has_all(const lw_row_sorts *sorts)
{
    for (int k = 0; k < LW_SORT_KINDS; k++)
        if (sorts->sort[k] == NULL || sorts->argsort[k] == NULL)
            return false;
    return true;
}

void
lw_library_sort_register(const lw_row_sorts sorts[LW_N_SORT_DTYPES])
{
    static lw_extern_row rows[] = {{LW_LIBRARY_SORT, NULL}, {LW_LIBRARY_ARGSORT, NULL}};
    uint32_t dtypes = 0;

    memcpy(known, sorts, sizeof known);
    for (unsigned i = 0; i < LW_N_SORT_DTYPES; i++)
        if (has_all(&known[i]))
            dtypes |= 1u << i;
    rows[0].address = (void *)(uintptr_t)sort;
    rows[1].address = (void *)(uintptr_t)argsort;
    lw_extern_provide(rows, 2);
    lw_library_sorts_set(dtypes >> LW_DT_i64 & 1 ? dtypes : 0); /* it puts places in order */
}
