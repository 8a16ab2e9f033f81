/* What tests in C check with: a failure is told and counted, by any thread; main returns
 * n_failures != 0, or check_end. */
#ifndef LW_TESTS_CHECK_H
#define LW_TESTS_CHECK_H

#include "core/base/memory.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int n_failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__, #condition);      \
            n_failures++;                                                                      \
        }                                                                                      \
    } while (0)

/* The exit status of a test before which so many blocks of memory were live. */
static inline int
check_end(int64_t live)
{
    if (lw_memory_live() != live) {
        fprintf(stderr, "%d blocks leaked\n", (int)(lw_memory_live() - live));
        n_failures++;
    }
    return n_failures != 0;
}

#endif
