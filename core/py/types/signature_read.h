/* Signatures as Python objects -> text -> core/front/signature_parse.c. */
#ifndef LW_PY_SIGNATURE_READ_H
#define LW_PY_SIGNATURE_READ_H

#include <Python.h>

#include <stdbool.h>

#include "core/front/signature.h"

/* Whatever the user gave (a string, types, a tuple of types, a signature object, or a list of
 * these) as parsed signatures, in the user's order; NULL and None are no signatures.
 * scalars_only: arrays and tuples of arguments are refused, as vectorize does. -1 with an
 * exception. */
int lw_signatures_read(PyObject *object, bool scalars_only, lw_arena *arena,
                       lw_signature_list *out);

#endif
