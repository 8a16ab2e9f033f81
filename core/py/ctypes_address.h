/* Addresses as arguments: objects of ctypes for the ints that they stand for. The GIL is held.
 */
#ifndef LW_PY_CTYPES_ADDRESS_H
#define LW_PY_CTYPES_ADDRESS_H

#include <Python.h>

/* The address as an int, a new reference: of a c_void_p or an integer of ctypes, of a pointer
 * of ctypes, or of an object with such an _as_parameter_ (`x.ctypes`). NULL: it is none of
 * these, or, with an exception, something is wrong with it. */
PyObject *lw_address_of(PyObject *object);

#endif
