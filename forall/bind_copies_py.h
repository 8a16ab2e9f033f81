/* Copies of arrays that are not aligned, or not in native byte order: made for a call, those of
 * host arrays by forall/bind_py.c, with NumPy's WRITEBACKIFCOPY where the array can be written,
 * those of device arrays by lw_operand_read. */
#ifndef LW_FORALL_BIND_COPIES_PY_H
#define LW_FORALL_BIND_COPIES_PY_H

#include "core/py/numpy_api.h"

#include "forall/kernel_py.h"

/* The copy of an array that is an argument twice, as itself or as a view; a new reference.
 * NULL without an exception: there is none. An array is not writeable while its copy is there.
 */
PyArrayObject *lw_bound_copy_of(const lw_bound *bound, PyArrayObject *array);
/* The operand that was read last, or the one before it that is an aligned copy of the same
 * array: what is an argument twice is copied once. */
lw_operand *lw_bound_aligned_once(lw_bound *bound);
/* The body writes to these arrays. -1 with ValueError: one shares memory with another, and
 * either is a copy, which would not see it. */
int lw_bound_writes(lw_bound *bound, const lw_function *self, const uint32_t *written,
                    uint32_t n);
/* What was written goes back; an exception that is set stays. */
void lw_bound_copies_back(lw_bound *bound);

#endif
