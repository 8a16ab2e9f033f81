/* Texts as Python's str. */
#ifndef LW_PY_TEXT_PY_H
#define LW_PY_TEXT_PY_H

#include <Python.h>

#include "core/base/text.h"
#include "core/front/typed.h"

/* A new str; NULL with MemoryError where the text has failed. Resets the text. */
PyObject *lw_text_take(lw_text *text);
/* The typed tree as `inspect_types` shows it; frees it. NULL is passed on. */
PyObject *lw_typed_take_text(lw_typed *typed);

#endif
