/* What the two files that make entries share: kernel_ir.c those for GPUs, kernel_ir_host.c
 * those for the host. */
#ifndef LW_FORALL_KERNEL_IR_INTERNAL_H
#define LW_FORALL_KERNEL_IR_INTERNAL_H

#include "forall/kernel_ir.h"

typedef struct lw_kernel_maker {
    lw_builder b;
    lw_module *module;
    const lw_scalar *scalar;
    const lw_entry_key *key;
    bool noalias; /* the key's, unless an array is live data of the caller's */
    const lw_func *body;
    uint32_t n_index; /* how many of the body's first parameters are the index */
    lw_ref *args;     /* the arguments of the call of the body */
    uint32_t split;   /* GPU: where the bodies of a batch are divided; 0: nowhere */
    lw_ref index[LW_MAX_INDEX];
    lw_ref control;
    lw_ref space, status; /* host: pointers */
    int order[LW_MAX_INDEX];
    /* by position, fastest dimension first */
    lw_ref size[LW_MAX_INDEX], multiplier[LW_MAX_INDEX], shift[LW_MAX_INDEX];
    lw_ref start[LW_MAX_INDEX], step[LW_MAX_INDEX]; /* by dimension */
} lw_kernel_maker;

static inline lw_ref
i64(lw_kernel_maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

/* ---- kernel_ir.c ---- */
/* Whether the body's parameter has a value that no caller gives, the extent or the stride of
 * what is at an address: *out. */
bool lw_kernel_is_fixed(lw_kernel_maker *m, uint32_t param, lw_ref *out);
/* Adds the body's parameters after the index to this function. */
lw_status lw_kernel_body_params(lw_kernel_maker *m, lw_error *err);
lw_ref lw_kernel_call_body(lw_kernel_maker *m);
/* The index of a dimension at coordinate `at`, in the type of the body's parameter; a
 * coordinate that was unsigned is known not to be negative. */
lw_ref lw_kernel_index_at(lw_kernel_maker *m, int d, lw_ref at);
/* Passes on the values of an exception: on the host, where the status is not 0. */
void lw_kernel_note_words(lw_kernel_maker *m, lw_ref call);

/* ---- kernel_ir_host.c ---- */
/* Makes the entry of a form that the host runs. */
lw_status lw_kernel_host_entry(lw_kernel_maker *m, const char *symbol, lw_error *err);

#endif
