/* The bytes that strided arrays may take: strides of any sign, no elements, neighbours. */
#include "core/base/memory_span.h"

#include <stdio.h>

static int failures;

static void
check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "FAILED: %s\n", what);
        failures++;
    }
}

int
main(void)
{
    const int64_t shape[2] = {3, 4}, rows[2] = {32, 8}, back[2] = {32, -8}, none[2] = {3, 0};
    lw_memory_span all = lw_memory_span_of(2, shape, rows, 8, 1000);
    lw_memory_span turned = lw_memory_span_of(2, shape, back, 8, 1000);
    lw_memory_span empty = lw_memory_span_of(2, none, rows, 8, 1008);
    lw_memory_span scalar = lw_memory_span_of(0, shape, rows, 8, all.high);

    check(all.low == 1000 && all.high == 1096, "positive strides");
    check(turned.low == 976 && turned.high == 1072, "a negative stride begins before the data");
    check(empty.low == empty.high, "no elements");
    check(lw_memory_spans_overlap(all, turned) && lw_memory_spans_overlap(turned, all),
          "overlap");
    check(!lw_memory_spans_overlap(all, scalar) && !lw_memory_spans_overlap(scalar, all),
          "side by side");
    check(!lw_memory_spans_overlap(all, empty) && !lw_memory_spans_overlap(empty, all),
          "nothing to meet");
    return failures != 0;
}
