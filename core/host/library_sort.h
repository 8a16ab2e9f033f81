/* np.sort, np.argsort and what is built on them in functions called on the host: NumPy's own
 * sorts of one row of numbers, which compiled code calls without the GIL. They are the
 * functions of NumPy's dtypes (PyArray_ArrFuncs), which for these dtypes use nothing but the
 * elements; core/py/types/row_sorts.c finds them. Compiled code names the two functions below,
 * so an address is neither in code nor in the disk cache. */
#ifndef LW_HOST_LIBRARY_SORT_H
#define LW_HOST_LIBRARY_SORT_H

#include "core/ir/sort_names.h"

#include <stdint.h>

/* NumPy's types of these functions; not 0: memory is out. The last argument is not used. */
typedef int (*lw_row_sort)(void *row, intptr_t n, void *unused);
typedef int (*lw_row_argsort)(void *row, intptr_t *places, intptr_t n, void *unused);

typedef struct lw_row_sorts {
    lw_row_sort sort[LW_SORT_KINDS];
    lw_row_argsort argsort[LW_SORT_KINDS];
} lw_row_sorts;

/* Makes the functions known: once, before anything is compiled. */
void lw_library_sort_register(const lw_row_sorts sorts[LW_N_SORT_DTYPES]);

#endif
