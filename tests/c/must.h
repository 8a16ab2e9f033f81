/* CHECK and GOOD of tests that end at the first failure. GOOD takes a call that fills in `err`.
 */
#ifndef LW_TESTS_MUST_H
#define LW_TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition, why)                                                                   \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, why);                           \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define CHECK(condition) MUST(condition, #condition)
#define GOOD(call)       MUST((call) == LW_OK, lw_error_text(&err))

#endif
