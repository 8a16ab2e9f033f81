/* NumPy's functions that sort a row, for core/host/library_sort.h. */
#ifndef LW_PY_TYPES_ROW_SORTS_H
#define LW_PY_TYPES_ROW_SORTS_H

/* Finds them; -1 with an exception. */
int lw_numpy_sorts_register(void);

#endif
