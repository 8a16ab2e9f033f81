/* The items in the brackets of A[...], one by one. Inference and lowering share this, so that
 * both see the same axes. The nodes must have been typed already. */
#ifndef LW_FRONT_SUBSCRIPT_H
#define LW_FRONT_SUBSCRIPT_H

#include "core/front/typed.h"

typedef enum lw_index_kind {
    LW_INDEX_AT, /* an index: it selects one position, and the axis disappears from the result
                  */
    LW_INDEX_SLICE, /* a slice; node: the SLICE; or, as of AT, the expression whose value it is
                     */
    LW_INDEX_ALL,   /* an axis that stays as it is: `:`, an axis that `...` stands for, or one
                       that is not named */
    LW_INDEX_NEW,   /* None: a new axis of extent 1 */
    LW_INDEX_ARRAY, /* an array of integers, or of bool over as many axes as it has: the axes
                        stay in the view, of which a function then takes elements
                        (core/front/infer/array.c) */
} lw_index_kind;

typedef struct lw_index_item {
    lw_index_kind kind;
    lw_type type;      /* AT, ARRAY: of the index; SLICE: of a slice that is a value, else 0 */
    uint32_t node;     /* AT, ARRAY: the expression; SLICE: see there */
    uint32_t element;  /* 0, or 1 + the element of node's value, which is a tuple */
    uint32_t constant; /* AT, SLICE: nonzero when known at compile time */
    uint32_t axes;     /* of the array, that it stands for */
} lw_index_item;

enum { LW_MAX_INDEX = 2 * LW_MAX_ARRAY_DIMS };

typedef struct lw_index {
    uint32_t n;        /* one item for each axis of the array, and the new axes */
    bool is_ambiguous; /* it has more than one ellipsis */
    uint32_t n_named;  /* axes that are indexed explicitly; more than the array has are E121 */
    uint32_t n_kept;   /* axes of the view */
    uint32_t n_arrays;
    bool is_element; /* every axis is indexed: the result is an element, not a view */
    bool is_known;   /* whether the types of all items are known */
    lw_index_item items[LW_MAX_INDEX];
} lw_index;

/* Whether the item is a slice that is known to go from element to element. */
bool lw_index_steps_by_one(const lw_typed *typed, const lw_typed_nodes *nodes,
                           const lw_index_item *item);
/* `nodes` are the typed nodes of the instance that is inferred or lowered. */
void lw_index_read(const lw_typed *typed, const lw_typed_nodes *nodes, uint32_t node,
                   uint32_t ndim, lw_index *out);

#endif
