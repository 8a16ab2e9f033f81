/* dtypes: NumPy's for ours and back. */
#ifndef LW_PY_DESCR_H
#define LW_PY_DESCR_H

#include "core/py/numpy_api.h"

#include "core/tables/dtypes.h"

/* Those of NumPy's own, at import. -1 with an exception. */
int lw_descrs_make(void);
/* NumPy's dtype for one of ours (borrowed): bfloat16 is ml_dtypes' when that is loaded, else
 * two raw bytes. NULL with an exception set for LW_DT_void. */
PyArray_Descr *lw_descr_of(lw_dtype dtype);
/* Ours for NumPy's; LW_DT_void when it has no arithmetic here (also when byte-swapped). */
lw_dtype lw_dtype_of_descr(PyArray_Descr *descr);
/* Kernels load an item whose address is a multiple of this power of two: the size of a number,
 * or of one part of a complex number; a record's, as compiled code knows it; 1 for what no
 * kernel loads. descr: NumPy's dtype, may be NULL where dtype is not LW_DT_void. */
int64_t lw_dtype_alignment(lw_dtype dtype, PyArray_Descr *descr);
/* NumPy's ComplexWarning where this cast drops imaginary parts. -1 with an exception. */
int lw_warn_of_complex(lw_dtype from, lw_dtype to);
/* dtype= argument: anything numpy.dtype takes, or "bfloat16". Gives new references in *descr.
 */
int lw_dtype_read(PyObject *object, lw_dtype *dtype, PyArray_Descr **descr);

#endif
