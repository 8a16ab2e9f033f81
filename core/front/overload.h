/* Overloads: which implementation a function, method or attribute has for given types is said
 * by Python functions of the user's (lanewise/extending.py). Inference knows no Python. Where a
 * tree has no answer it stops with a question; lw_infer_specs lets Python answer it, in a tree
 * that extends the first one, and infers again (core/front/infer/overload.c). */
#ifndef LW_FRONT_OVERLOAD_H
#define LW_FRONT_OVERLOAD_H

#include "core/front/typed.h"

typedef enum lw_overload_kind {
    LW_OVERLOAD_NONE,
    LW_OVERLOAD_FUNCTION,  /* constant: what is called */
    LW_OVERLOAD_METHOD,    /* name; the object is the first argument */
    LW_OVERLOAD_ATTRIBUTE, /* name; the object is the only argument */
    LW_OVERLOAD_OPERATOR,  /* name: "__add__"; the operands are the arguments */
    LW_OVERLOAD_OWN,       /* name: a row of array_functions.def that is looked for by an
                              operator, a subscript or an attribute, not by a call */
} lw_overload_kind;

/* Which selectors are told of numbers that are known at compile time. */
typedef enum lw_overload_literals {
    LW_LITERALS_NONE,
    LW_LITERALS_PREFERRED, /* those that prefer it, and they alone are asked */
    LW_LITERALS_ALL,       /* all, because they have answered nothing otherwise */
    LW_LITERALS_VALUES,    /* every constant is told, of any kind: static= of a gufunc */
} lw_overload_literals;

typedef struct lw_overload_argument {
    lw_type type;        /* of the typed tree that the question came with */
    uint32_t constant;   /* nonzero: known at compile time */
    const char *keyword; /* or NULL */
} lw_overload_argument;

typedef struct lw_overload_question {
    lw_overload_kind kind; /* NONE: nothing is asked */
    lw_overload_literals literals;
    bool for_gpu; /* the code is for GPUs, even where a CPU runs it */
    uint32_t constant;
    const char *name;
    const char *key; /* the same for the same kind, callee and types in all trees of one base */
    uint32_t n;
    const lw_overload_argument *arguments;
} lw_overload_question;

/* Whether it is an int, True or False that is known at compile time. */
bool lw_overload_is_literal(const lw_typed *typed, const lw_overload_argument *argument);

/* Operators, by the name of the method that a class has for them, and calls of lanewise's own
 * functions, which all go by one name. That there are overloads of them is no part of a tree:
 * nearly all functions have some of these, and the overloads are for few types. They are asked
 * for from when they are registered, in trees that were read before, too. false: not taken. */
#define LW_CALL_OF_OWN "()"
bool lw_overload_operator(const char *name, bool prefers_literals);
/* The name, for as long as the process lives, of what has overloads; or NULL. */
const char *lw_overloaded_operator(const char *name, bool *prefers_literals);
/* What lanewise itself provides: named functions, types, and NumPy's functions of whole arrays.
 * Overloads of them are for objects. */
bool lw_is_own_function(const lw_tree *tree, const lw_constant *callee);

/* Adds the answer to the latest tree of the typed tree's base. On LW_ERR_PYTHON an exception is
 * set. */
typedef lw_status (*lw_overload_ask)(const lw_typed *typed,
                                     const lw_overload_question *question, lw_error *err);
/* core/py answers, because inference knows no Python. Set once, when the module is loaded. */
void lw_overloads_are_answered_by(lw_overload_ask ask);
/* LW_ERR_INTERNAL where nobody answers. */
lw_status lw_overload_answer_of(const lw_typed *typed, const lw_overload_question *question,
                                lw_error *err);

#endif
