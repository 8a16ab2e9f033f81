/* What a kernel raised, as a Python exception. */
#ifndef LW_PY_RAISE_ROW_H
#define LW_PY_RAISE_ROW_H

#include <Python.h>

#include "core/front/lower.h"

/* Class, message, function, file, line and element. Always -1; the GIL is held. */
int lw_raise_from_row(const lw_raise_row *row, int64_t element);

#endif
