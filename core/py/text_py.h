/* Texts as Python's str. */
#ifndef LW_PY_TEXT_PY_H
#define LW_PY_TEXT_PY_H

#include <Python.h>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/front/typed.h"

/* A new str; NULL with MemoryError where the text has failed. Resets the text. */
PyObject *lw_text_take(lw_text *text);
/* Whether a str is equal to this text in UTF-8. */
bool lw_text_is(PyObject *str, const char *text);
/* Whether a str is one of n texts, in ASCII. */
bool lw_text_is_among(PyObject *str, const char *const *texts, size_t n);
/* A new tuple of these names, interned. */
PyObject *lw_text_names(const char *const *names, uint32_t n);
/* What lw_build_output made, as Python has it: bytes of a cubin, ltoir or object, else str.
 * Where it did not, NULL with err's exception. Resets bytes. */
PyObject *lw_form_take(lw_status status, const char *output, lw_bytes *bytes, lw_error *err);
/* The typed tree as `inspect_types` shows it; frees it. NULL is passed on. */
PyObject *lw_typed_take_text(lw_typed *typed);
/* Prints the typed tree of the function `name` if LANEWISE_DUMP asks for it. */
void lw_typed_dump(const lw_typed *typed, const char *name);

#endif
