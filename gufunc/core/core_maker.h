/* What the files that emit a gufunc's kernel share: core_kernel.c, core_tile.c and
 * core_rows.c. Pure C. */
#ifndef LW_GUFUNC_CORE_CORE_MAKER_H
#define LW_GUFUNC_CORE_CORE_MAKER_H

#include "gufunc/core/core_kernel.h"

enum { LW_MAKER_PARTS = 2 };

typedef struct lw_core_maker {
    lw_builder b;
    const lw_gufunc_loop *loop;
    const lw_core_key *key;
    int n; /* number of operands */
    lw_ref items, tile, report;
    lw_ref pointer[LW_MAX_OPERANDS]; /* operands other than VALUE */
    lw_ref value[LW_MAX_OPERANDS][LW_MAKER_PARTS];
    lw_ref size[LW_CORE_LOOP_DIMS], multiplier[LW_CORE_LOOP_DIMS], shift[LW_CORE_LOOP_DIMS];
    lw_ref stride[LW_MAX_OPERANDS][LW_CORE_LOOP_DIMS];
    lw_ref *core_size;                    /* for each core dimension; 0: it is a constant */
    lw_ref *core_stride[LW_MAX_OPERANDS]; /* STRIDED: for each core dimension */
    lw_ref shared[LW_MAX_OPERANDS]; /* STAGED, TILED, ROWS: the address of the block's items */
    lw_ref pitch[LW_MAX_OPERANDS];  /* TILED: bytes from one item to the next (u32); ROWS: from
                                       one row to the next (i64) */
    lw_ref *args;                   /* arguments of the body */
    lw_ref tid;                     /* u32 */
    lw_ref band,
        bands;     /* key->band: the first row of the block's band; rows of all bands (u32) */
    uint32_t body; /* number of the function that is called */
} lw_core_maker;

static inline lw_ref
lw_maker_u32(lw_core_maker *k, int64_t value)
{
    return lw_ir_int(&k->b, LW_DT_u32, value);
}

static inline lw_ref
lw_maker_i64(lw_core_maker *k, int64_t value)
{
    return lw_ir_int(&k->b, LW_DT_i64, value);
}

/* The address so many bytes (u32 or i64) behind another. */
static inline lw_ref
lw_maker_at_byte(lw_core_maker *k, lw_ref base, lw_ref bytes)
{
    return lw_ir_offset(&k->b, base, lw_ir_cast(&k->b, LW_DT_i64, bytes));
}

/* Sets coordinate[d] of item number `item` (u32), innermost dimension first. */
void lw_maker_decompose(lw_core_maker *k, lw_ref item, lw_ref *coordinate);
/* The address of the operand's core of that item in its array. */
lw_ref lw_maker_address(lw_core_maker *k, int operand, const lw_ref *coordinate);
lw_ref lw_maker_extent(lw_core_maker *k, uint32_t dim);
/* Emits the thread's work on an item. */
void lw_maker_item(lw_core_maker *k, lw_ref item);
/* key->band: the number of bands of an item (u32). */
lw_ref lw_maker_bands(lw_core_maker *k);
/* Fetches the operands that are ROWS of the item of the block. */
void lw_maker_rows(lw_core_maker *k, lw_ref item);
/* Emits the block's work on its tile. */
void lw_maker_tile(lw_core_maker *k);

#endif
