/* The typed tree: what inference finds out about a tree for given argument types, and what
 * lowering needs to write IR without deciding anything again. */
#ifndef LW_FRONT_TYPED_H
#define LW_FRONT_TYPED_H

#include "core/front/tree.h"
#include "core/front/types.h"

typedef enum lw_error_model { LW_ERRORS_NUMPY, LW_ERRORS_PYTHON } lw_error_model;

typedef struct lw_front_options {
    lw_typing typing;
    uint32_t fast;         /* LW_FAST_* of core/ir/ir.h */
    bool fma;              /* a*b+c may fuse */
    bool precise;
    bool casting_unsafe;   /* result float -> int allowed */
    bool promote_narrow;   /* i32 with f32 gives f32 */
    uint32_t checks;       /* LW_CHECK_* */
    bool ignore_errors;    /* errors="ignore": assert and raise are dropped */
} lw_front_options;

enum { LW_CHECK_DIVIDE = 1, LW_CHECK_OVERFLOW = 2, LW_CHECK_NAN = 4, LW_CHECK_BOUNDS = 8 };

/* What a CALL node calls. */
typedef enum lw_call_kind {
    LW_CALL_NONE,
    LW_CALL_INSTANCE, /* target: index into typed->instances; args in parameter order in `args` */
    LW_CALL_NAMED,    /* target: names.def row; arguments converted to `operand` unless the row says otherwise */
    LW_CALL_CAST,     /* target: lw_dtype; one argument (or none: zero) */
} lw_call_kind;

typedef struct lw_typed_node {
    lw_type type;    /* of the value; statements: BOTTOM */
    lw_type operand; /* what operands are converted to first: BINARY, UNARY, LINK, BOOLOP, IFEXP (the join), CALL_NAMED */
    uint32_t konst;  /* nonzero: folded to this constant (index into tree->konsts or typed->konsts, see lw_typed_konst); lowering does not visit below */
    uint32_t target;
    uint32_t args;   /* CALL_INSTANCE: start in typed->lists of `n_args` entries: argument node per parameter (0: the default konst in `defaults`) */
    uint32_t n_args;
    uint32_t web;    /* NAME: its web in the instance */
    uint8_t call;    /* lw_call_kind */
    bool dead;       /* statements: pruned or unreachable; lowering skips them */
    int8_t truth;    /* conditions: 1 always true, 0 always false, -1 decided at run time */
} lw_typed_node;

/* A variable after renaming: the definitions that reach common uses. */
typedef struct lw_web {
    uint32_t var;
    lw_type type;
    bool single;   /* one definition, which dominates all uses in its region or deeper: no slot needed */
    bool is_param; /* that definition is the parameter */
} lw_web;

typedef struct lw_instance {
    uint32_t fn;
    uint32_t n_params;         /* including captures, which follow the parameters */
    const lw_type *param_types;
    const uint32_t *param_konsts; /* nonzero: this argument is known at compile time (str, None, function, …) */
    const uint32_t *param_webs;   /* web that receives parameter i; 0: never used */
    lw_type result;            /* join of the returns; LW_T_NONE for procedures */
    bool can_raise;            /* has a live assert or raise, or calls one that has */
    bool falls_off;            /* the end of the body can be reached */
    lw_typed_node *nodes;      /* indexed by tree node */
    LW_ARRAY(lw_web) webs;     /* [0] unused */
} lw_instance;

typedef struct lw_typed {
    lw_arena arena;
    const lw_tree *tree; /* borrowed: outlives this */
    lw_types types;
    lw_front_options options;
    LW_ARRAY(lw_instance) instances; /* [1] is the user's function */
    LW_ARRAY(uint32_t) lists;
    LW_ARRAY(lw_konst) konsts; /* made by folding; index i here is konst number tree->konsts.n + i */
} lw_typed;

const lw_konst *lw_typed_konst(const lw_typed *typed, uint32_t konst);

/* arg_types: one for each parameter of the user's function (scalars). arg_konsts may be NULL, or
 * for each argument a konst of the tree or 0 (static arguments). Errors are user diagnostics. */
lw_status lw_infer(const lw_tree *tree, const lw_front_options *options, const lw_type *arg_types,
                   uint32_t n_args, lw_typed **out, lw_error *err);
void lw_typed_free(lw_typed *typed);
/* Each expression with its type, beside the source: inspect_types, explain, LANEWISE_DUMP=typed. */
void lw_typed_print(const lw_typed *typed, lw_text *out);

#endif
