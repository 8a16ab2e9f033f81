/* The functions of core/host/library_sort.h, of which code for the CPU gets the names, and
 * which dtypes they know: bit LW_DT_f64 stands for float64. */
#ifndef LW_IR_SORT_NAMES_H
#define LW_IR_SORT_NAMES_H

#include "core/tables/dtypes.h"

#define LW_LIBRARY_SORT    "lw_library_sort"
#define LW_LIBRARY_ARGSORT "lw_library_argsort"

enum {
    LW_SORT_TIMES = LW_DT_FIRST_TIME, /* datetime64 and timedelta64 of every unit */
    LW_N_SORT_DTYPES,
    LW_SORT_KINDS = 2 /* 0: NumPy's default, 1: stable */
};

/* Set once, when NumPy has been imported; 0 before. */
uint32_t lw_library_sorts(void);
void lw_library_sorts_set(uint32_t dtypes);

#endif
