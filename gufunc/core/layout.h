/* Layouts: "(m,n),(n)->(m)". NumPy's grammar (Generalized Universal Function API, with NEP 20's
 * fixed sizes `3`, optional dimensions `n?`) and NEP 20's `n|1`, which NumPy left out. Pure C.
 *
 *   layout     groups "->" groups          blanks mean nothing
 *              groups                      no outputs: the function works in place
 *   groups     nothing, or group ("," group)*
 *   group      "(" [ dimension ("," dimension)* ] ")"
 *   dimension  (name | number) ["?"] ["|1"]       number: from 1; fixed size
 */
#ifndef LW_GUFUNC_CORE_LAYOUT_H
#define LW_GUFUNC_CORE_LAYOUT_H

#include "core/base/arena.h"
#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { LW_MAX_OPERANDS = 64, LW_MAX_CORE_DIMS = 32 /* core dimensions of one operand */ };

/* A core dimension: a name or a fixed size, in whichever operands it stands. */
typedef struct lw_core_dim {
    const char *name; /* "n", "3" */
    int64_t fixed;    /* its size; 0: it has a name */
    bool optional;    /* `?`: dropped from all operands when one is too short */
    bool only_in_outputs;
} lw_core_dim;

typedef struct lw_core_operand {
    uint32_t n;            /* number of core dimensions */
    const uint16_t *dims;  /* indices into dims of the layout */
    const bool *broadcast; /* `|1` stands here: where the array's size is 1, the stride is 0 */
} lw_core_operand;

typedef struct lw_core_layout {
    const char *text;       /* the layout as it was given */
    const char *numpy_text; /* without `|1`, for NumPy */
    uint32_t nin, nout, n_dims;
    const lw_core_dim *dims;
    lw_core_operand operands[LW_MAX_OPERANDS]; /* inputs, then outputs */
    bool has_broadcast;
} lw_core_layout;

/* Fails with LW_ERR_VALUE, whose message shows the layout with a caret below the fault. */
lw_status lw_core_layout_parse(const char *text, lw_arena *arena, lw_core_layout *out,
                               lw_error *err);

#endif
