/* Philox's blocks, and the uniform numbers of them, by each way of computing several at once:
 * the same words as one block at a time, also where the counter carries into its second word.
 */
#include <stdbool.h>

/* The source itself, whose ways are static; the library has it as well. */
#define lw_philox_blocks    own_philox_blocks
#define lw_philox_units     own_philox_units
#define lw_philox_below32   own_philox_below32
#define lw_philox_below64   own_philox_below64
#define lw_philox_integer64 own_philox_integer64
#include "random/philox.c"
#include "tests/c/check.h"

enum { BLOCKS = 64, COUNT = (int)(sizeof ways / sizeof *ways) };

static bool
can_run(int which)
{
#ifdef HAS_LANES
    return which == 0 || (which == 1 && __builtin_cpu_supports("avx2")) ||
           (which == 2 && __builtin_cpu_supports("avx512f"));
#else
    return which == 0;
#endif
}

static void
check_way(const struct way *way, const lw_philox *stream, uint64_t first)
{
    uint32_t expected[4 * BLOCKS], words[4 * BLOCKS];
    double exact[2 * BLOCKS], units[2 * BLOCKS];

    for (int k = 0; k < BLOCKS; k++) {
        one_block(stream, first + (uint64_t)k, 0, stream->c3, expected + 4 * k);
        exact[2 * k] = lw_philox_unit(expected + 4 * k);
        exact[2 * k + 1] = lw_philox_unit(expected + 4 * k + 2);
    }
    for (int k = 0; k < BLOCKS; k += way->n) {
        way->words(stream, first + (uint64_t)k, words + 4 * k);
        way->units(stream, first + (uint64_t)k, units + 2 * k);
    }
    CHECK(memcmp(words, expected, sizeof words) == 0);
    CHECK(memcmp(units, exact, sizeof units) == 0);
}

static void
check_counts(const lw_philox *stream, uint64_t first)
{
    uint32_t all[4 * BLOCKS], some[4 * BLOCKS + 1];
    double units[2 * BLOCKS], few[2 * BLOCKS + 1];

    lw_philox_blocks(stream, first, BLOCKS, all);
    lw_philox_units(stream, first, 2 * BLOCKS, units);
    for (int n = 0; n <= BLOCKS; n++) {
        some[4 * n] = 12345; /* stays as it is */
        lw_philox_blocks(stream, first, n, some);
        CHECK(memcmp(some, all, (size_t)n * 16) == 0 && some[4 * n] == 12345);
    }
    for (int n = 0; n <= 2 * BLOCKS; n++) {
        few[n] = 12345;
        lw_philox_units(stream, first, n, few);
        CHECK(memcmp(few, units, (size_t)n * 8) == 0 && few[n] == 12345);
    }
}

int
main(void)
{
    static const uint64_t firsts[] = {0, 1, 1000003, 0xffffffe5u, UINT64_C(0x123456789abcdef0)};
    const lw_philox stream = {{0x9abcdef1u, 0x12345678u}, 6};

    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        for (int which = 0; which < COUNT; which++)
            if (can_run(which))
                check_way(&ways[which], &stream, firsts[i]);
        check_counts(&stream, firsts[i]);
    }
    return n_failures != 0;
}
