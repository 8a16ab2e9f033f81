/* Calls that are replaced by what the function does. LLVM inlines calls by itself; a pass that
 * has to see a loop and what it calls in one function cannot wait for that.
 *
 * needs: callees that return at their end alone, and declare nothing but slots and data; keeps:
 * all functions, also those that are inlined; breaks: value numbers. */
#ifndef LW_OPT_INLINE_H
#define LW_OPT_INLINE_H

#include "core/ir/build.h"

/* Whether the CALL at an instruction of the function is inlined. */
typedef bool (*lw_inline_wanted)(const lw_module *module, const lw_func *func, uint32_t at);

/* Whether a function is short enough and has the form to stand in another one; loops are the
 * caller's business. */
bool lw_opt_can_inline(const lw_func *func);
/* Inlines these calls, but not those in what is inlined. A copy of the function's struct from
 * before takes that back. */
lw_status lw_opt_inline(lw_module *module, uint32_t func, lw_inline_wanted wanted,
                        lw_error *err);
/* Lets the builder write its function from the beginning. False: memory ran out. */
bool lw_func_begin_anew(lw_builder *b, uint32_t room);

#endif
