/* How the numbers of an element, an accumulator or a result are structured: as a number, a
 * tuple or a record, possibly nested. Pure C. */
#ifndef LW_REDUCE_FUNCTION_FORM_H
#define LW_REDUCE_FUNCTION_FORM_H

#include "core/front/typed.h"

enum { LW_REDUCE_MOST = 16 }; /* operands; numbers in an accumulator; results */

/* The nodes of a structure, outermost first: a node is followed by those of its items. */
enum { LW_REDUCE_NODES = 4 * LW_REDUCE_MOST };

typedef enum lw_reduce_kind {
    LW_REDUCE_NUMBER,
    LW_REDUCE_TUPLE,
    LW_REDUCE_RECORD
} lw_reduce_kind;

typedef struct lw_reduce_node {
    lw_reduce_kind kind;
    uint32_t n;       /* items */
    const char *name; /* its name in the record or namedtuple that it belongs to; else NULL.
                         Borrowed from a tree or from an interned record */
} lw_reduce_node;

typedef struct lw_reduce_form {
    uint32_t n_nodes;
    lw_reduce_node node[LW_REDUCE_NODES];
} lw_reduce_form;

/* Lists the numbers of a record, in order: their dtypes and offsets, as far as there is room.
 * Gives how many there are. */
uint32_t lw_reduce_numbers(const lw_arg_record *record, uint32_t room, lw_dtype *dtype,
                           int64_t *offset);
/* The node that follows the one at `at` and all its items. */
uint32_t lw_reduce_form_next(const lw_reduce_form *form, uint32_t at);
/* How many arrays hold results of this form: one for each number outside of records, and one
 * for each record. */
uint32_t lw_reduce_form_arrays(const lw_reduce_form *form);
/* Whether the structure from node `at` on is this record's. dtype: of its numbers. */
bool lw_reduce_form_is(const lw_reduce_form *form, uint32_t at, const lw_dtype *dtype,
                       const lw_arg_record *record);

#endif
