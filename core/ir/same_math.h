/* math="same": in modules that ask for it, mathematical functions whose results differ between
 * libm, libdevice and vector libraries are calls of functions of our own, whose arithmetic is
 * IEEE's and so the same on every target. lanewise/_same_math.py has their text.
 * core/py/compiled/same_math.c makes a module of each function when one first asks for it; the
 * modules stay here for the rest of the process. */
#ifndef LW_IR_SAME_MATH_H
#define LW_IR_SAME_MATH_H

#include "core/ir/build.h"
#include "core/tables/intrinsics.h"

/* Whether targets may give different bits for it: the row has an error bound. */
bool lw_same_math_replaces(lw_intrinsic which);
/* The function for f32 or f64: function `body` of a module, which stays for the rest of the
 * process. NULL: there is none. */
void lw_same_math_set(lw_intrinsic which, lw_dtype dtype, const lw_module *module,
                      uint32_t body);
/* Whether it has been set. */
bool lw_same_math_has(lw_intrinsic which, lw_dtype dtype);

/* Makes the function, for f32 or f64, and calls lw_same_math_set, unless there is none. It is
 * called in the midst of a lowering, from any thread, and several threads may ask for one
 * function at a time. LW_ERR_PYTHON: an exception is set on this thread. */
typedef lw_status lw_same_math_maker(lw_intrinsic which, lw_dtype dtype);
/* Without a maker, there are only the functions that have been set. */
void lw_same_math_made_by(lw_same_math_maker *maker);

/* Begins to replace: lw_ir_intrinsic then emits calls in this module. */
void lw_same_math_begin(lw_module *module);
/* What lw_ir_intrinsic emits there. Where no function has been set it notes the name and the
 * location in the module (not_same), or why it could not be made (not_made), and the value is
 * 0. */
lw_ref lw_same_math_call(lw_builder *b, lw_intrinsic which, lw_dtype type, const lw_ref *args,
                         uint32_t n);
/* Notes that the code calls something of one target's own; the first note counts. */
void lw_same_math_refuse(lw_builder *b, const char *name);

#endif
