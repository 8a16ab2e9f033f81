/* Functions in other languages that GPU code calls (cuda.declare_device), and functions of
 * ctypes and cffi, which CPU code calls by their addresses: what the reader
 * records of one, how its calls are typed, and how they are lowered.
 *
 * With numba's convention the C function is `int name(T *result, arguments …)`: it writes its
 * result through the pointer and returns 0; any other status raises RuntimeError. With C's own
 * convention it is `T name(arguments …)`. Arguments are converted as C converts them:
 *   numbers   by value, bool as a byte; complex ones as two arguments (numba's convention)
 *   pointers  an array of that dtype (void*: any array or record): the address of its first
 *             element
 *   arrays    (numba's convention) MemInfo, null, the number of elements, bytes of one,
 *             address, extents, strides in bytes: the members of numba's own struct
 *
 * MemInfo is that of an array that compiled code has made, which stays the caller's, or null. A
 * result may be an array, too, whose struct the function writes: its MemInfo is a reference
 * that the caller receives, or null for memory of others, which outlives the call. */
#ifndef LW_FRONT_EXTERNAL_H
#define LW_FRONT_EXTERNAL_H

#include "core/front/signature.h"

typedef struct lw_external {
    const char *name; /* a C symbol */
    bool c_abi;
    uint64_t address; /* of a function of this process, which CPUs alone call; 0: a symbol */
    lw_signature signature; /* checked by lw_signature_check_device */
} lw_external;

#endif
