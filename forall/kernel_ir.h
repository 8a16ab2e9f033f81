/* Scalar IR of a kernel's body -> a module with one entry that calls it. The entry's key has
 * everything in which calls differ and that changes the code. Pure C. */
#ifndef LW_FORALL_KERNEL_IR_H
#define LW_FORALL_KERNEL_IR_H

#include "core/front/lower/lower.h"

typedef enum lw_entry_form {
    LW_ENTRY_GRID,   /* GPU: each thread runs the body once */
    LW_ENTRY_FORALL, /* GPU: a grid-stride loop over an index space, whatever the grid */
    LW_ENTRY_RANGE,  /* host: lw_range_code, a part of an index space */
    LW_ENTRY_SINGLE, /* host: lw_sim_single of core/host/simulator.h */
    LW_ENTRY_WHOLE,  /* host: lw_sim_whole */
    LW_ENTRY_VALUE,  /* host: lw_value_code, a call that returns numbers */
    LW_ENTRY_C       /* host: a function of C's: numbers and pointers, one result or none */
} lw_entry_form;

enum { LW_MAX_INDEX = 3 }; /* dimensions of an index space */

/* Compared as bytes, so it must be made with = {0} or a designated initialiser. */
typedef struct lw_entry_key {
    uint8_t form;    /* lw_entry_form */
    uint8_t n_index; /* FORALL, RANGE: the first parameters of the body, one i64 each */
    uint8_t fast;    /* which of them varies fastest */
    uint8_t wide;    /* FORALL: items beyond 2^31 - 1, or a start or step beyond i32 */
    uint8_t stepped; /* FORALL, RANGE: some start is not 0 or some step not 1 */
    uint8_t noalias; /* no array that the body writes overlaps another argument */
    /* GPU: every array starts at a multiple of 16 bytes, so that adjacent accesses merge */
    uint8_t aligned;
    /* RANGE: accesses are reported to lw_race_access; elements run one after the other */
    uint8_t watched;
} lw_entry_key;

/* The index of dimension d takes the values start[d] + step[d] * (0 … n[d] - 1). */
typedef struct lw_space {
    int64_t n[LW_MAX_INDEX], start[LW_MAX_INDEX], step[LW_MAX_INDEX];
} lw_space;

/* Runs the elements begin … end - 1 of the space, counted with the fastest dimension innermost.
 * values: the body's parameters after the index, 8 bytes each (the low ones count). Returns -1,
 * or the number of the element that raised, at which it has stopped, with its status in
 * *status. */
typedef int64_t (*lw_range_code)(const uint64_t *values, const lw_space *space, int64_t begin,
                                 int64_t end, int32_t *status);

/* Calls the body once. results: 8 bytes for each part of what it returns (the low ones count).
 * Returns 0, or the status of what it raised. */
typedef int32_t (*lw_value_code)(const uint64_t *values, uint64_t *results);

/* What a function of C's calls at its end where it has raised (status), or may have printed
 * (0). self: its own address. */
#define LW_C_ENTRY_ENDED "lw_c_entry_ended"

typedef struct lw_entry_limits { /* of a GPU entry; 0: none */
    uint32_t max_threads, min_blocks, max_cluster, max_registers;
} lw_entry_limits;

/* The parameters of a GPU entry, in order:
 *   FORALL: the number of items (u32; wide: i64);
 *           of every dimension but the slowest, fastest first: its size, multiplier and shift
 *           (u32; wide: the size alone, i64);
 *           stepped: start and step of each dimension, in the order of the body's parameters
 *           (i32; wide: i64);
 *   then the body's parameters after the index;
 *   then, where the body can raise, the address of a lw_report_control (core/ir/report.h).
 * GRID has no index. The first three values of a FORALL's record are its index, followed by the
 * values that the exception carries. */
lw_status lw_kernel_module(const lw_scalar *scalar, const lw_entry_key *key, const char *symbol,
                           const lw_entry_limits *limits, lw_module **out, lw_error *err);

/* How many elements a thread of a FORALL takes in one iteration if there are enough. */
uint32_t lw_kernel_batch(const lw_scalar *scalar);
/* The dimensions of a space from fastest to slowest. */
void lw_space_order(const lw_entry_key *key, int order[LW_MAX_INDEX]);

#endif
