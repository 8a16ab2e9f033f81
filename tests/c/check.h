/* What tests in C check with: a failure is told and counted, by any thread; main returns
 * n_failures != 0. */
#ifndef LW_TESTS_CHECK_H
#define LW_TESTS_CHECK_H

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

#endif
