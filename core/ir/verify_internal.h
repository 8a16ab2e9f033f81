/* What verify.c and verify_types.c share. */
#ifndef LW_IR_VERIFY_INTERNAL_H
#define LW_IR_VERIFY_INTERNAL_H

#include "core/ir/ir.h"

/* One open IF, BLOCK or LOOP; number 0 is the function's body. */
typedef struct lw_verify_region {
    uint32_t first; /* instruction that opened the current part: IF, ELSE, LOOP, LATCH, … */
    lw_op op;       /* IF, ELSE, BLOCK, LOOP, LATCH */
    bool broken;    /* BLOCK, LOOP: some BREAK leaves it */
    bool continued; /* LOOP: its end or some CONTINUE reaches the latch */
    bool then_ends; /* ELSE: control reaches the end of the IF part */
} lw_verify_region;

typedef struct lw_verifier {
    const lw_module *module;
    const lw_func *func;
    uint32_t at; /* the current instruction */
    const lw_inst *inst;
    bool *dead; /* by value: its region is closed */
    LW_ARRAY(lw_verify_region) regions;
    bool reachable;
    lw_error *err;
} lw_verifier;

/* The fault: "IR of f, instruction 3 (fadd): " and this text. */
lw_status __attribute__((format(printf, 2, 3)))
lw_verify_fault(lw_verifier *c, const char *rule, ...);

#define RULE(condition, ...)                                                                   \
    do {                                                                                       \
        if (!(condition))                                                                      \
            return lw_verify_fault(c, __VA_ARGS__);                                            \
    } while (0)

static inline lw_dtype
type_of(const lw_verifier *c, lw_ref value)
{
    return (lw_dtype)c->func->insts.data[value].type;
}

static inline unsigned
lanes_of(const lw_verifier *c, lw_ref value)
{
    unsigned lanes = c->func->insts.data[value].lanes;

    return lanes > 1 ? lanes : 1;
}

static inline const char *
name_of(lw_dtype type)
{
    return type < LW_N_DTYPES ? lw_dtypes[type].name : "?";
}

static inline bool
is_scalar_type(lw_dtype type)
{
    return type > LW_DT_void && type < LW_N_DTYPES && !lw_is_complex(type);
}

/* ---- verify_types.c ---- */
/* Checks the types of the current instruction and of its operands. */
lw_status lw_verify_types(lw_verifier *c);

#endif
