/* Functions in other languages that GPU code calls: cuda.declare_device. What the reader knows
 * of one, how its calls are typed and lowered.
 *
 * With numba's convention the C function is `int name(T *result, arguments …)`: it writes its
 * result through the pointer and returns 0, or something else where it failed, which raises
 * RuntimeError. With C's own it is `T name(arguments …)`. Arguments are converted as C would:
 *   numbers   by value, bool as a byte; complex ones as two arguments (numba's convention)
 *   pointers  an array of that dtype (void*: any array or record): the address of its first
 *             element
 *   arrays    (numba's convention) null, null, the number of elements, bytes of one, address,
 *             extents, strides in bytes: numba's own struct, its members one by one */
#ifndef LW_FRONT_EXTERNAL_H
#define LW_FRONT_EXTERNAL_H

#include "core/front/signature.h"

typedef struct lw_external {
    const char *name; /* a C symbol */
    bool c_abi;
    lw_signature signature; /* lw_signature_check_device has passed it */
} lw_external;

/* Arguments of the C function: those of numbers, pointers and arrays, and the result's pointer.
 */
uint32_t lw_external_n_params(const lw_external *external);

#endif
