/* What the files that emit an elementwise kernel share: device_kernel.c and device_tiles.c. */
#ifndef LW_UFUNC_DEVICE_KERNEL_INTERNAL_H
#define LW_UFUNC_DEVICE_KERNEL_INTERNAL_H

#include "ufunc/device_kernel.h"

enum {
    LW_UFUNC_ELEMENTS = 32,
    LW_UFUNC_PARTS = 2
}; /* parts of a thread's access; of a complex */

typedef struct lw_ufunc_maker {
    lw_builder b;
    const lw_scalar *scalar;
    const lw_dtype *loop_types;
    const lw_kernel_key *key;
    const lw_uniforms *uniforms;
    lw_ref items;
    lw_ref pointer[LW_WALK_OPERANDS]; /* not VALUE */
    lw_ref constant[LW_WALK_OPERANDS]
                   [LW_UFUNC_PARTS]; /* VALUE, CONSTANT: in the loop's dtype */
    lw_ref size[LW_WALK_DIMS], multiplier[LW_WALK_DIMS], shift[LW_WALK_DIMS];
    lw_ref stride[LW_WALK_OPERANDS][LW_WALK_DIMS];
    lw_ref extent[2]; /* TILED */
    lw_ref report;    /* the lw_report_control */
} lw_ufunc_maker;

/* Addresses of one access: a pointer per operand. */
typedef struct lw_ufunc_site {
    lw_ref at[LW_WALK_OPERANDS];
    /* i64, number of the access's first element; only where the body can raise */
    lw_ref element;
} lw_ufunc_site;

/* What a thread has loaded and computed of one access: parts[element * 2 + part]. */
typedef struct lw_ufunc_work {
    lw_ref mask; /* the byte of one element; 0: there is none */
    lw_ref in[LW_MAX_ARGS][LW_UFUNC_ELEMENTS], out[LW_MAX_ARGS][LW_UFUNC_ELEMENTS];
    lw_ufunc_site site;
} lw_ufunc_work;

static inline lw_dtype
lw_ufunc_dtype(const lw_ufunc_maker *k, int operand)
{
    return (lw_dtype)k->key->operands[operand].dtype;
}

static inline bool
lw_ufunc_is_constant(const lw_ufunc_maker *k, int operand)
{
    return k->key->operands[operand].access <= LW_ACCESS_CONSTANT;
}

/* ---- device_kernel.c ---- */

/* Sets coordinate[d] of item number `item` (u32), innermost first. */
void lw_ufunc_decompose(lw_ufunc_maker *k, lw_ref item, lw_ref *coordinate);
/* The distance (i64, bytes) of an operand's access at these coordinates. */
lw_ref lw_ufunc_offset(lw_ufunc_maker *k, int operand, const lw_ref *coordinate);
void lw_ufunc_locate(lw_ufunc_maker *k, const lw_ref *coordinate, lw_ufunc_site *s);
/* Converts n elements of memory to the loop's dtype. */
void lw_ufunc_convert(lw_ufunc_maker *k, int operand, unsigned n, lw_ref *parts);
/* Loads an access of an operand, or of all, in the loop's dtype. */
void lw_ufunc_load(lw_ufunc_maker *k, int operand, lw_ref at, unsigned width, lw_ref *parts);
void lw_ufunc_load_site(lw_ufunc_maker *k, const lw_ufunc_site *s, unsigned width,
                        lw_ref (*in)[LW_UFUNC_ELEMENTS]);
/* Loads the mask's byte for an element; 0: there is no mask. */
lw_ref lw_ufunc_load_mask(lw_ufunc_maker *k, const lw_ufunc_site *s);
/* Runs the body for element e of an access, whose first one has the number `element`. */
void lw_ufunc_body(lw_ufunc_maker *k, lw_ref (*in)[LW_UFUNC_ELEMENTS], unsigned e,
                   lw_ref element, lw_ref (*out)[LW_UFUNC_ELEMENTS]);
void lw_ufunc_store_site(lw_ufunc_maker *k, const lw_ufunc_site *s, unsigned width,
                         lw_ref (*out)[LW_UFUNC_ELEMENTS]);
/* The body of an element whose mask and operands are loaded, and the store of its results.
 * Operands are loaded whatever the mask says: only the body must not run where it is not set,
 * and loads that do not wait for the mask are under way together. */
void lw_ufunc_selected(lw_ufunc_maker *k, lw_ufunc_work *w);

/* ---- device_tiles.c ---- */

/* TILED: emits the work of a block on its square. */
lw_status lw_ufunc_tiles(lw_ufunc_maker *k, lw_ref tid, lw_ref block, lw_error *err);

#endif
