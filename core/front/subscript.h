/* What stands in the brackets of A[...], item by item: shared by inference and lowering, so
 * that both see the same axes. The nodes must have their types already. */
#ifndef LW_FRONT_SUBSCRIPT_H
#define LW_FRONT_SUBSCRIPT_H

#include "core/front/typed.h"

typedef enum lw_index_kind {
    LW_INDEX_AT,    /* a value, one place of the axis: the axis goes */
    LW_INDEX_SLICE, /* node: the SLICE */
    LW_INDEX_ALL,   /* an axis that stays: `:`, what `...` stands for, axes not named */
    LW_INDEX_NEW,   /* None: a new axis of extent 1 */
} lw_index_kind;

typedef struct lw_index_item {
    lw_index_kind kind;
    lw_type type;     /* AT: of the index */
    uint32_t node;    /* AT: the expression; SLICE: the slice */
    uint32_t element; /* AT: 0, or 1 + the element of node's value, which is a tuple */
    uint32_t konst;   /* AT: nonzero when known */
} lw_index_item;

enum { LW_MAX_INDEX = 2 * LW_MAX_ARRAY_DIMS };

typedef struct lw_index {
    uint32_t n;       /* one item for each axis of the array, and the new ones */
    uint32_t n_named; /* axes that are written down; more than the array has is E121 */
    uint32_t n_kept;  /* axes of the result */
    bool is_element;  /* one element, not a view */
    bool is_known;    /* all types are there */
    lw_index_item items[LW_MAX_INDEX];
} lw_index;

/* `nodes` are those of the instance that is inferred or lowered. */
void lw_index_read(const lw_typed *typed, const lw_typed_node *nodes, uint32_t node,
                   uint32_t ndim, lw_index *out);

#endif
