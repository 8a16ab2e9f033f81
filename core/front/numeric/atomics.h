/* Atomic updates of one element in memory, for every type, made from the IR's ATOMIC. GPUs and
 * the host run the same code. All are relaxed, have the device's scope, and return the previous
 * value.
 *
 * - ADD of float32 in global memory on a GPU treats subnormal numbers as 0 (PTX ISA, atom);
 *   everywhere else they are kept.
 * - Integers of 8 and 16 bits, bool, float16 and bfloat16 are changed inside the aligned 32-bit
 *   word that holds them; concurrent writes to their neighbours are kept.
 * - MAX, MIN on floats: a NaN operand changes nothing, and a NaN in memory stays. NANMAX,
 *   NANMIN: a NaN operand changes nothing, and a NaN in memory is replaced. 0.0 and -0.0 are
 *   equal: memory keeps the one it has. On integers the two pairs are the same.
 * - INC: old >= operand ? 0 : old + 1.
 * - DEC: old == 0 || old > operand ? operand : old less 1.
 * - CAS: operands expected, new. Floats are compared by their bits: a NaN equals itself, so
 * that loops around it end, and 0.0 differs from -0.0. */
#ifndef LW_FRONT_NUMERIC_ATOMICS_H
#define LW_FRONT_NUMERIC_ATOMICS_H

#include "core/ir/build.h"

typedef enum lw_atomic_kind {
    LW_UPDATE_ADD, /* integers wrap */
    LW_UPDATE_SUB,
    LW_UPDATE_AND,
    LW_UPDATE_OR,
    LW_UPDATE_XOR,
    LW_UPDATE_INC,
    LW_UPDATE_DEC,
    LW_UPDATE_EXCH,
    LW_UPDATE_MAX,
    LW_UPDATE_MIN,
    LW_UPDATE_NANMAX,
    LW_UPDATE_NANMIN,
    LW_UPDATE_CAS,
    LW_N_UPDATES
} lw_atomic_kind;

/* ADD, SUB, MAX, MIN, NANMAX, NANMIN: integers and floats; AND, OR, XOR: integers and bool;
 * INC, DEC: unsigned integers; EXCH, CAS: all of these. Complex numbers: ADD and SUB. */
bool lw_atomic_takes(lw_atomic_kind kind, lw_dtype type);

/* Update the element at `pointer`, aligned to its size, with operands of `type`: one, or two
 * for CAS. Returns the old value. `type` is not complex. */
lw_ref lw_atomic_update(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer,
                        const lw_ref *operands, uint32_t n);

/* ADD or SUB of a complex number (c64, c128): two updates, of its real and of its imaginary
 * part, which are not one transaction: a concurrent reader may see one without the other. */
void lw_atomic_update_complex(lw_builder *b, lw_atomic_kind kind, lw_dtype type, lw_ref pointer,
                              const lw_ref operand[2], lw_ref old[2]);

#endif
