/* Scalar IR of a kernel's body -> a module with one entry that calls it. What calls differ in
 * is the entry's key; all of it decides code, nothing else does. Pure C. */
#ifndef LW_FORALL_KERNEL_IR_H
#define LW_FORALL_KERNEL_IR_H

#include "core/front/lower/lower.h"

typedef enum lw_entry_form {
    LW_ENTRY_GRID,   /* GPU: the body once a thread */
    LW_ENTRY_FORALL, /* GPU: a grid-stride loop over an index space, whatever the grid */
    LW_ENTRY_RANGE,  /* host: lw_range_code, a part of an index space */
    LW_ENTRY_SINGLE, /* host: lw_sim_single of core/host/simulator.h */
    LW_ENTRY_WHOLE,  /* host: lw_sim_whole */
    LW_ENTRY_VALUE   /* host: lw_value_code, a call that returns numbers */
} lw_entry_form;

enum { LW_MAX_INDEX = 3 }; /* dimensions of an index space */

/* Compared as bytes: make it with = {0} or a designated initialiser. */
typedef struct lw_entry_key {
    uint8_t form;    /* lw_entry_form */
    uint8_t n_index; /* FORALL, RANGE: the first parameters of the body, one i64 each */
    uint8_t fast;    /* which of them varies fastest */
    uint8_t wide;    /* FORALL: items beyond 2^31 - 1, or a start or step beyond i32 */
    uint8_t stepped; /* FORALL, RANGE: some start is not 0 or some step not 1 */
    uint8_t noalias; /* no array that the body writes overlaps another argument */
    uint8_t aligned; /* GPU: every array starts at a multiple of 16 bytes: adjacent accesses
                        merge */
    uint8_t watched; /* RANGE: accesses are told to lw_race_access, element after element */
} lw_entry_key;

/* The index of dimension d runs over start[d] + step[d] * (0 … n[d] - 1). */
typedef struct lw_space {
    int64_t n[LW_MAX_INDEX], start[LW_MAX_INDEX], step[LW_MAX_INDEX];
} lw_space;

/* Runs the elements begin … end - 1 of the space, counted with the fastest dimension innermost.
 * values: the body's parameters behind the index, 8 bytes each (the low ones count). -1, or the
 * number of the element that raised, with *status its status; it has stopped there. */
typedef int64_t (*lw_range_code)(const uint64_t *values, const lw_space *space, int64_t begin,
                                 int64_t end, int32_t *status);

/* Calls the body once. results: 8 bytes for each part of what it returns (the low ones count).
 * 0, or the status of what it raised. */
typedef int32_t (*lw_value_code)(const uint64_t *values, uint64_t *results);

typedef struct lw_entry_limits { /* of a GPU entry; 0: none */
    uint32_t max_threads, min_blocks, max_registers;
} lw_entry_limits;

/* The parameters of a GPU entry, in order:
 *   FORALL: the number of items (u32; wide: i64);
 *           of every dimension but the slowest, fastest first: its size, multiplier and shift
 *           (u32; wide: the size alone, i64);
 *           stepped: start and step of each dimension, in the order of the body's parameters
 *           (i32; wide: i64);
 *   then the body's parameters behind the index;
 *   then, where the body can raise, the address of a lw_report_control (core/ir/report.h).
 * GRID has no index. The first three values of a FORALL's record are its
 * index; what the exception carries follows them. */
lw_status lw_kernel_module(const lw_scalar *scalar, const lw_entry_key *key, const char *symbol,
                           const lw_entry_limits *limits, lw_module **out, lw_error *err);

/* Elements that a thread of a FORALL takes in one iteration where there are enough. */
uint32_t lw_kernel_batch(const lw_scalar *scalar);
/* The dimensions of a space from fastest to slowest. */
void lw_space_order(const lw_entry_key *key, int order[LW_MAX_INDEX]);

#endif
