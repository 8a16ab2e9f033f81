/* Copies past the caches: every alignment and length, with and without something to fetch. */
#include "core/base/stream_copy.h"
#include "tests/c/check.h"

#include <string.h>

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

int
main(void)
{
    for (size_t to = 0; to < AROUND; to += 3)
        for (size_t from = 0; from < AROUND; from += 7)
            for (size_t n = 0; n < MOST; n += n < 150 ? 1 : 37)
                check_copy(to, from, n, (int)(n % 3));
    CHECK(lw_stream_from() > 0);
    return n_failures != 0;
}
