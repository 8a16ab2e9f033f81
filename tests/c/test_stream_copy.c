/* Copies past the caches: every alignment and length, with and without something to fetch; and
 * which memory is new. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "core/base/stream_copy.h"
#include "tests/c/check.h"

#include <string.h>
#include <sys/mman.h>

enum { MOST = 400, AROUND = 80 };

static void
check_copy(size_t to_at, size_t from_at, size_t n, int n_ahead)
{
    _Alignas(64) static char to[MOST + 2 * AROUND], from[MOST + 2 * AROUND];
    lw_stream_ahead ahead[2] = {{from, 16}, {from, 512}}; /* may go beyond the end */

    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (char)(i * 7 + 1);
        to[i] = -1;
    }
    lw_stream_copy(to + to_at, from + from_at, n, ahead, n_ahead);
    lw_stream_end();
    CHECK(memcmp(to + to_at, from + from_at, n) == 0);
    for (size_t i = 0; i < sizeof to; i++)
        CHECK(to[i] == -1 || (i >= to_at && i < to_at + n));
}

/* What is not mapped is not new, and what was written is not either. A system that does not say
 * which pages there are says no. */
static void
check_new(void)
{
    enum { SIZE = 8 << 20 };
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool tells;

    CHECK(memory != MAP_FAILED);
    tells = lw_stream_is_new(memory + SIZE / 2 + 1);
    memset(memory, 1, SIZE / 4);
    CHECK(!lw_stream_is_new(memory) && !lw_stream_is_new(memory + SIZE / 8 + 5));
    CHECK(lw_stream_is_new(memory + SIZE - 1) == tells);
    munmap(memory, SIZE);
    CHECK(!lw_stream_is_new(memory + SIZE / 2));
}

int
main(void)
{
    check_new();
    for (size_t to = 0; to < AROUND; to += 3)
        for (size_t from = 0; from < AROUND; from += 7)
            for (size_t n = 0; n < MOST; n += n < 150 ? 1 : 37)
                check_copy(to, from, n, (int)(n % 3));
    CHECK(lw_stream_from() > 0);
    return n_failures != 0;
}
