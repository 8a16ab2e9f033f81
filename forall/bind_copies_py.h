/* Copies of arrays that are not aligned, or not in native byte order, made for one call.
 * forall/bind_arrays_py.c makes those of host arrays, with NumPy's WRITEBACKIFCOPY where the
 * array can be written; lw_operand_read makes those of device arrays. */
#ifndef LW_FORALL_BIND_COPIES_PY_H
#define LW_FORALL_BIND_COPIES_PY_H

#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"

/* The copy of an array that is also another argument, as itself or as a view; a new reference.
 * NULL without an exception: there is none. An array is not writeable while it has a copy. */
PyArrayObject *lw_bound_copy_of(const lw_bound *bound, PyArrayObject *array);
/* The operand that was read last, or an earlier one that is an aligned copy of the same array,
 * so that an array that is an argument twice is copied once. */
lw_operand *lw_bound_aligned_once(lw_bound *bound);
/* Notes that the body writes to these arrays. -1 with ValueError: one of them shares memory
 * with another array, and either is a copy, which would not see the writes. */
int lw_bound_writes(lw_bound *bound, const lw_function *self, const uint32_t *written,
                    uint32_t n);
/* Copies back what was written; an exception that is set stays set. */
void lw_bound_copies_back(lw_bound *bound);

#endif
