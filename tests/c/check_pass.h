/* What the tests of passes over a module share. */
#ifndef LW_TESTS_CHECK_PASS_H
#define LW_TESTS_CHECK_PASS_H

#include "core/ir/ir.h"
#include "tests/c/check.h"

/* Runs the pass over a module of this kind while its first allocation fails, its second one,
 * and so on, until none does: it says that memory ran out, and nothing leaks. */
static inline void
check_pass_out_of_memory(lw_module *(*make)(int kind), int kind,
                         lw_status (*pass)(lw_module *module))
{
    enum { MOST = 1000 };
    int64_t live = lw_memory_live(), n = 0;
    lw_status status = LW_ERR_OUT_OF_MEMORY;

    for (; status == LW_ERR_OUT_OF_MEMORY && n < MOST; n++) {
        lw_module *module = make(kind);

        lw_memory_fail_at(n);
        status = pass(module);
        lw_memory_fail_at(-1);
        lw_module_free(module);
        CHECK(lw_memory_live() == live);
    }
    CHECK(status == LW_OK && n > 1);
}

#endif
