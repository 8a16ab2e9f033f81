#define _GNU_SOURCE /* mincore */
#include "core/base/stream_copy.h"

#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__SSE2__)
#include <cpuid.h>
#include <stdatomic.h>

enum {
    USUAL_CACHE = 32 << 20,
    MOST_CACHE = 64 << 20,   /* a larger one is shared by many cores, and slow */
    INTEL_CACHES = 4,        /* leaves of cpuid that describe the caches, */
    AMD_CACHES = 0x8000001d, /* one in each subleaf, in the same way */
    MOST_CACHES = 8
};

/* The largest cache that a leaf describes; 0: it describes none. */
static int64_t
largest_cache(unsigned leaf)
{
    unsigned kind, lines, sets, unused;
    int64_t largest = 0, bytes;

    for (unsigned i = 0; i < MOST_CACHES; i++) {
        if (!__get_cpuid_count(leaf, i, &kind, &lines, &sets, &unused) || (kind & 31) == 0)
            break;
        bytes = ((int64_t)(lines >> 22) + 1) * ((lines >> 12 & 1023) + 1) *
                ((lines & 4095) + 1) * ((int64_t)sets + 1);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

int64_t
lw_stream_from(void)
{
    static _Atomic int64_t known;
    int64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);

    if (bytes == 0) {
        bytes = largest_cache(INTEL_CACHES);
        if (bytes == 0)
            bytes = largest_cache(AMD_CACHES);
        if (bytes == 0)
            bytes = USUAL_CACHE;
        bytes = bytes < MOST_CACHE ? bytes : MOST_CACHE;
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

typedef int64_t vector __attribute__((vector_size(16)));

/* to: aligned as a vector */
static inline void
copy_line(char *to, const char *from)
{
    for (size_t i = 0; i < LW_STREAM_LINE; i += sizeof(vector)) {
        vector value;
        memcpy(&value, from + i, sizeof value);
        __asm__ volatile("movntdq %1, %0" : "=m"(*(vector *)(void *)(to + i)) : "x"(value));
    }
}

void
lw_stream_copy(char *to, const char *from, size_t n, const lw_stream_ahead *ahead, int n_ahead)
{
    size_t head = -(uintptr_t)to % sizeof(vector), at, line = 0;

    if (head > n)
        head = n;
    memcpy(to, from, head);
    for (at = head; at + LW_STREAM_LINE <= n; at += LW_STREAM_LINE, line++) {
        for (int i = 0; i < n_ahead; i++)
            for (size_t k = 0; k < ahead[i].per_line; k += LW_STREAM_LINE)
                __builtin_prefetch(ahead[i].at + line * ahead[i].per_line + k);
        copy_line(to + at, from + at);
    }
    memcpy(to + at, from + at, n - at);
}

void
lw_stream_end(void)
{
    __builtin_ia32_sfence();
}

#else

int64_t
lw_stream_from(void)
{
    return INT64_MAX;
}

void
lw_stream_copy(char *to, const char *from, size_t n, const lw_stream_ahead *ahead, int n_ahead)
{
    (void)ahead, (void)n_ahead;
    memcpy(to, from, n);
}

void
lw_stream_end(void)
{
}

#endif

bool
lw_stream_is_new(const void *address)
{
#if defined(__linux__)
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident = 1;

    if (mincore((void *)((uintptr_t)address / page * page), page, &resident) == 0)
        return (resident & 1) == 0;
#endif
    (void)address;
    return false;
}
