/* Our own loader for relocatable ELF objects of x86-64 and AArch64 Linux, with which a cached
 * kernel runs without LLVM.
 *
 * Everything read from the object is bounds-checked: damaged input is LW_ERR_LINK, never a
 * crash of the loader. Memory is written first and made executable afterwards, never both at
 * the same time. The GIL is not needed. On other platforms loading is LW_ERR_LINK. */
#ifndef LW_LINK_ELF_LOADER_H
#define LW_LINK_ELF_LOADER_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct lw_code lw_code;

typedef struct lw_code_extern {
    const char *name;
    void *address;
} lw_code_extern;

/* Symbols that the object lacks come from `externs`, then from the process, libm and libmvec.
 * The object's bytes are not needed afterwards. */
lw_status lw_code_load(const void *object, size_t n, const lw_code_extern *externs,
                       size_t n_externs, lw_code **out, lw_error *err);
/* A global function or datum of the object; NULL when it defines none of this name. */
void *lw_code_symbol(const lw_code *code, const char *name);
size_t lw_code_size(const lw_code *code); /* bytes of mapped memory */
void lw_code_free(lw_code *code);         /* NULL is allowed; unmaps the code */

/* The function that the loader would find outside of the object; NULL: there is none. */
void *lw_extern_symbol(const char *name);
/* Registers functions of ours, which are found by name before any library's. The rows must stay
 * in memory; registering the same table twice is allowed. At most 12 tables. */
typedef lw_code_extern lw_extern_row;
void lw_extern_provide(const lw_extern_row *rows, size_t n);
/* Whether this machine's libmvec has, say, "_ZGVdN4v_exp". */
bool lw_mvec_has(const char *symbol);

#endif
