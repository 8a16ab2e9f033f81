#include "random/alias.h"

#include "core/base/memory.h"

lw_status
lw_alias_table(double *probability, int64_t *alias, int64_t n, lw_error *err)
{
    int64_t *stacks = lw_alloc((size_t)n * sizeof *stacks);
    int64_t small = 0, large = n; /* small indices from the front, large ones from the back */

    if (stacks == NULL)
        return lw_fail_memory(err);
    for (int64_t i = 0; i < n; i++) {
        alias[i] = i;
        stacks[probability[i] < 1.0 ? small++ : --large] = i;
    }
    while (small > 0 && large < n) {
        int64_t i = stacks[--small], j = stacks[large];
        alias[i] = j;
        probability[j] -= 1.0 - probability[i];
        if (probability[j] < 1.0) {
            large++;
            stacks[small++] = j;
        }
    }
    while (small > 0) /* rounding has left these */
        probability[stacks[--small]] = 1.0;
    while (large < n)
        probability[stacks[large++]] = 1.0;
    lw_free(stacks);
    return LW_OK;
}
