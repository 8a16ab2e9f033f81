/* Addresses as arguments, where a signature has a pointer: objects of ctypes for the ints that
 * they stand for. The GIL is held. */
#ifndef LW_FORALL_ADDRESS_PY_H
#define LW_FORALL_ADDRESS_PY_H

#include "forall/kernel_py.h"

/* Whether a declared signature has a pointer for this argument. */
bool lw_takes_address(const lw_function *self, uint32_t arg);
/* The address as an int, a new reference: of a c_void_p or an integer of ctypes, of a pointer
 * of ctypes, or of an object with such an _as_parameter_ (`x.ctypes`). NULL: it is none of
 * these, or, with an exception, something is wrong with it. */
PyObject *lw_address_of(PyObject *object);

#endif
