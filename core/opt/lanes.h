/* Runs a function for several elements at once: its values become vectors with one lane for
 * each element. LLVM vectorises no loop around another loop that ends after a different number
 * of iterations for each element; here such a loop runs until it has ended for all lanes, and
 * masks say for which lanes it still runs.
 *
 * needs: a function that computes numbers and does nothing else (lw_lanes_fit); keeps: the
 * value of each lane, to the bit; breaks: which floating-point flags are raised, since
 * operations are also executed for lanes that do not take part. */
#ifndef LW_OPT_LANES_H
#define LW_OPT_LANES_H

#include "core/ir/build.h"
#include "core/tables/intrinsics.h"

enum { LW_MOST_LANES = 16 };

/* The processor that the code is for. */
typedef struct lw_lanes_host {
    int vector_bits;
    /* whether it computes this function by instructions, which LLVM vectorises */
    bool (*is_own)(lw_intrinsic which, lw_dtype type);
} lw_lanes_host;

typedef struct lw_lanes_choice {
    lw_lanes_host host;
    unsigned lanes;
    /* what a mask is kept as from one iteration to the next: b1, or on processors without
     * registers for masks an integer of the size of the numbers it belongs to */
    lw_dtype mask;
} lw_lanes_choice;

/* Whether function number `body` can be run in vectors, and it pays: it has a loop that LLVM
 * would leave as it is. Memory that runs out is a "no". */
bool lw_lanes_fit(const lw_module *module, uint32_t body, const lw_lanes_host *host,
                  lw_lanes_choice *out);
/* Emits what function number `body` of the builder's module does. args are vectors, or scalars
 * that are the same in all lanes; results become vectors. */
lw_status lw_lanes_inline(lw_builder *b, uint32_t body, const lw_lanes_choice *choice,
                          const lw_ref *args, lw_ref *results, lw_error *err);

#endif
