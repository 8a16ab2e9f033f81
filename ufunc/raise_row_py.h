/* What a kernel raised, as a Python exception. */
#ifndef LW_UFUNC_RAISE_ROW_PY_H
#define LW_UFUNC_RAISE_ROW_PY_H

#include <Python.h>

#include "core/front/lower.h"

/* Class, message, function, file, line and element. Always -1; the GIL is held. */
int lw_raise_from_row(const lw_raise_row *row, int64_t element);

#endif
