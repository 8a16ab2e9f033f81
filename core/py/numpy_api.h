/* NumPy's C interface, imported once for the whole extension module. Every .c file that uses it
 * includes this header and nothing else of NumPy's; lanewise/module.c alone defines
 * LW_NUMPY_OWNER in front of it and calls lw_numpy_import() first in its exec slot. */
#ifndef LW_PY_NUMPY_API_H
#define LW_PY_NUMPY_API_H

#include <Python.h>

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#ifndef NPY_TARGET_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL lw_numpy_array_api
#define PY_UFUNC_UNIQUE_SYMBOL lw_numpy_ufunc_api
#ifndef LW_NUMPY_OWNER
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
/* headers that are not ours to mend */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/random/bitgen.h>
#include <numpy/ufuncobject.h>
#pragma GCC diagnostic pop

#ifdef LW_NUMPY_OWNER
/* -1 with ImportError set. */
static int
lw_numpy_import(void)
{
    import_array1(-1);
    import_umath1(-1);
    return 0;
}
#endif

#endif
