/* Copies to arrays that are much larger than the caches. A plain store first reads the line of
 * memory that it writes to, and leaves it in the cache; a streaming store does neither. */
#ifndef LW_BASE_STREAM_COPY_H
#define LW_BASE_STREAM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a line. A copy is fast where it begins and ends at one. */
enum { LW_STREAM_LINE = 64 };

/* What will be read soon: for each line that is copied, the next `per_line` bytes from `at` on
 * are fetched. Memory is read and written at the same time then. */
typedef struct lw_stream_ahead {
    const char *at; /* may go beyond the end of an array */
    size_t per_line;
} lw_stream_ahead;

/* From how many bytes of operands on streaming stores are faster: the size of the last cache,
 * 64 MB at most. INT64_MAX where the processor has no such stores. */
int64_t lw_stream_from(void);
/* Whether the page of this address is memory of the process that has not been written yet. The
 * system clears such a page when it is first written, and then it is in the cache: plain stores
 * are faster. False where the system does not say. */
bool lw_stream_is_new(const void *address);
void lw_stream_copy(char *to, const char *from, size_t n, const lw_stream_ahead *ahead,
                    int n_ahead);
/* Behind the last of several copies: from here on, other threads see what was copied. */
void lw_stream_end(void);

#endif
