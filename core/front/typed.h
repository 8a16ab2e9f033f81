/* The typed tree: what inference finds out about a tree for given argument types, and all that
 * lowering needs to write IR without deciding anything again. */
#ifndef LW_FRONT_TYPED_H
#define LW_FRONT_TYPED_H

#include <assert.h>

#include "core/front/tree.h"
#include "core/front/types.h"

typedef struct lw_front_options {
    lw_typing typing;
    uint32_t fast; /* LW_FAST_* of core/ir/ir.h */
    bool fma;      /* a*b+c may fuse */
    bool precise;
    bool same_math;      /* functions of math with the same bits on every target */
    bool casting_unsafe; /* result float -> int allowed */
    bool guess; /* what is stored is not checked: asks what a function stores into outputs
                   whose dtypes are not known yet */
    bool promote_narrow; /* i32 with f32 gives f32 */
    uint32_t checks;     /* LW_CHECK_* */
    bool ignore_errors;  /* errors="ignore": assert and raise are dropped */
    bool guards;         /* an index outside a table, a tuple or a guarded argument raises */
    bool threads;   /* runs as a thread of a grid: indices, barriers, lanes have a meaning */
    bool objects;   /* the user's function may return objects of classes */
    bool procedure; /* a kernel: its function returns nothing (a value is E183) */
    bool returns_arrays; /* the user's function may return arrays of numbers */
    bool guard_dynamic;  /* on the host: an index beyond shared memory sized at launch raises */
    bool variables;      /* debuggers are shown the variables */
    bool parallel;       /* loops over prange are marked: their iterations go to all cores */
    bool parallel_arrays; /* and so do those of array expressions, copies and fills */
    bool on_host;         /* no GPU runs the code */
    bool narrow;          /* every byte offset inside every array argument fits 31 bits */
    const struct lw_sig_type *result; /* declared: an array, or a tuple with one; or NULL */
    uint32_t n_results; /* that the caller expects of the user's function, 0: not known. One
                           that never returns has so many bools, which can become any dtype */
    const char *readonly_help; /* what to do about a read-only argument, for messages; NULL: the
                                  usual advice */
} lw_front_options;

/* The type of one argument before types are interned: what the caller knows of a value. */
typedef enum lw_arg_kind {
    LW_ARGK_SCALAR,   /* dtype: strong */
    LW_ARGK_WEAK,     /* dtype i64, f64 or c128: a Python int, float, complex */
    LW_ARGK_ARRAY,    /* of dtype, or of record when that is not NULL */
    LW_ARGK_RECORD,   /* a record in memory, passed by address */
    LW_ARGK_TUPLE,    /* n items; names: of a namedtuple or an object */
    LW_ARGK_MEMBER,   /* of the enum class `members`; dtype i64: its number there */
    LW_ARGK_CONSTANT, /* known at compile time: a constant of the tree (None, str, function,
                         dtype) */
} lw_arg_kind;

typedef struct lw_arg_field {
    const char *name;
    uint32_t offset;
    uint32_t ndim; /* sub-array: its constant shape; 0: none */
    const int64_t *shape;
    lw_dtype dtype; /* void: a nested record */
    const struct lw_arg_record *record;
} lw_arg_field;

typedef struct lw_arg_record {
    const char *name;
    char text; /* 'S' or 'U': an item of an array of bytes or of texts, which has no fields;
                  else 0 */
    uint32_t n, itemsize, align;
    const lw_arg_field *fields;
    /* of the class whose objects these are (lw_class.id); NULL: of none */
    const void *class_id;
    /* NumPy's dtype, whose reference belongs to whoever has made the record */
    const void *descr;
} lw_arg_record;

typedef struct lw_arg_spec {
    lw_arg_kind kind;
    lw_dtype dtype;
    uint8_t ndim, layout; /* ARRAY; layout: lw_layout */
    bool pointer;         /* ARRAY of one dimension: the caller has an address, and no size */
    bool endless;         /* pointers, and those of functions of C: lw_type_row.endless */
    bool readonly;        /* TUPLE: the fields of a record, by value */
    bool is_ellipsis;     /* CONSTANT: it is `...` */
    bool is_list, packed; /* TUPLE: Python has a list there; it is all that `*args` takes */
    bool guarded;         /* ARRAY: under options.guards an index outside it raises */
    bool counts; /* WEAK int that is never negative, such as an element's index: it needs no
                    wrap-around */
    uint32_t n, constant;
    const lw_arg_record *record;
    const struct lw_arg_spec *items;
    const char *const *names;
    const char *class_name;     /* of a namedtuple or an object */
    const lw_class *user_class; /* TUPLE: its class, of the tree; or NULL */
    const lw_enum *members;     /* of the tree */
} lw_arg_spec;

enum { LW_MAX_UNROLL = 64 }; /* iterations up to which a for loop over a tuple is unrolled */

/* Arrays of one elementwise operation: an output and its inputs. */
enum { LW_MOST_OPERANDS = 34 };

/* Parts of an array expression that are evaluated once, before its loop. */
enum { LW_MOST_LEAVES = 32 };

enum { LW_RAISE_WORDS = 2 }; /* 64-bit words of numbers that an exception can carry */

enum {
#define CHECK(name, word, raises, where) LW_CHECK_AT_##name,
#include "core/tables/checks.def"
#define CHECK(name, word, raises, where) LW_CHECK_##name = 1 << LW_CHECK_AT_##name,
#include "core/tables/checks.def"
    LW_CHECKS_RAISING = LW_CHECK_DIVIDE | LW_CHECK_OVERFLOW | LW_CHECK_NAN | LW_CHECK_BOUNDS
};

/* What a CALL node calls. */
typedef enum lw_call_kind {
    LW_CALL_NONE,
    LW_CALL_INSTANCE, /* target: index into typed->instances; args in parameter order in `args`
                       */
    LW_CALL_NAMED,    /* target: names.def row; arguments converted to `operand` unless the row
                         says otherwise */
    LW_CALL_CAST,     /* target: lw_dtype; one argument (or none: zero) */
    LW_CALL_VIEW,     /* x.view(dtype): target: lw_dtype of x's size; args[0] is x */
    LW_CALL_EXTERNAL, /* target: constant of the tree, an LW_K_EXTERNAL */
    LW_CALL_MEMBER,   /* E(x): target: constant of the tuple of all values; operand: of types in
                         which x is compared with them. target 0: x is the member itself */
    LW_CALL_METHOD, /* target: names.def row of the same meaning (x.conjugate()); args[0] is the
                       object */
} lw_call_kind;

/* Entries of a call's `args`. A plain number is the node of the argument's value; 0 is the
 * parameter's default (or, for named functions, an argument that is not given). A value reached
 * through `*t` or packed into `*args` is tagged; k is then an index into typed->lists. */
enum {
    LW_ARG_TAG = 7u << 29,
    LW_ARG_ELEMENT =
        1u << 29, /* lists[k] = node of a tuple or function value, lists[k + 1] = element of it
                     (function: capture); evaluate the node once, at its first element */
    LW_ARG_PACK = 2u << 29, /* lists[k] = count, then that many entries: a tuple made of them */
    LW_ARG_WEB = 3u << 29,  /* captures: k is a web of the calling instance, read at the call */
    LW_ARG_CONSTANT = 4u << 29, /* k is a constant (lw_typed_constant) */
    LW_ARG_VIEW = 5u << 29, /* k is a SUBSCRIPT: the view that its slices and integers select */
    LW_ARG_STORED = 6u << 29, /* k is one of those below */
};

/* What a SUBSCRIPT with arrays, which is the call, stores. An augmented assignment takes the
 * elements before its value is evaluated, by a call at the AUGASSIGN, and gives the view and
 * the arrays of that call again. */
enum {
    LW_STORED_VALUE = 0, /* what is assigned */
    LW_STORED_TAKEN = 1, /* the elements */
    LW_STORED_VIEW = 2,
    LW_STORED_ARRAYS = 3, /* + i: array i of the index, unless it is constant */
};

/* Behind the entries of a call's arguments, for each parameter that the instance changes: the
 * node of the variable or field that holds the changed object afterwards, or one of these. */
enum {
    LW_CHANGED_NONE = 0,         /* nothing does, because nobody looks at it any more */
    LW_CHANGED_VALUE = 5u << 29, /* it is the value of the call, C(...) */
};

/* What `operand` means where it is not simply the common type:
 *   BOTTOM at LINK, PATTERN_VALUE, or as an element of a tuple operand: compare the two stored
 *     integers (or bools) by value, whatever their signs and widths
 *   tuple at LINK, PATTERN_VALUE: compare element by element with these; IN, NOT_IN: the left
 *     value with each element of the right one with these
 *   BOTTOM at BOOLOP: only the truth is wanted, type is bool (it is a condition)
 *   LSHIFT, RSHIFT: the left operand's; the right operand keeps its own stored type
 *   tuple at BINARY: concatenation (ADD)
 *   POW: base; the exponent too unless it is an integer under a float base, or constant
 *   FOR: the type of one item
 *   NAME that is the target of AUGASSIGN: the type of the value that is read; `target` is the
 *     web that is read (0: `constant` is its value), `web` the one that is written
 *   ATTRIBUTE that is the target of AUGASSIGN: the type of the field that is read (`constant`,
 *     if nonzero, is its value)
 *   AUGASSIGN: as BINARY; type is what the operation gives, before its conversion
 *
 * Assignment to a field of an object: the ATTRIBUTE has the type of the new object in `target`,
 * as has each ATTRIBUTE on the way to the variable; its NAME has the web that holds it. */
typedef enum lw_quiet { LW_QUIET_UNKNOWN, LW_QUIET, LW_NOT_QUIET } lw_quiet;

typedef struct lw_typed_node {
    lw_type type;    /* of the value; statements: BOTTOM */
    lw_type operand; /* what operands are converted to first: BINARY, UNARY, LINK, BOOLOP, IFEXP
                        (the join), CALL_NAMED */
    uint32_t constant; /* nonzero: folded to this constant (lw_typed_constant); lowering does
not look below this node */
    uint32_t target;
    uint32_t args; /* calls: start in typed->lists of `n_args` entries (LW_ARG_*); INSTANCE: one
                      per parameter of the instance, captures last */
    uint32_t n_args;
    uint32_t web;   /* NAME: its web in the instance; 0: the value is never needed (function,
                       module, constant) */
    uint32_t asks;  /* expressions: an instance that is called with the value where its truth or
                       its items are wanted; 0: none */
    uint32_t stops; /* statements, and expressions that are evaluated on some paths only: the
                       call in them that never returns; what is evaluated after it has no type.
                       0: there is none */
    uint8_t call;   /* lw_call_kind */
    bool unbound;   /* NAMEs that are read: the variable may have no value, which is an
                       UnboundLocalError; its web says so (lw_web.bound) */
    bool unwraps;   /* expressions: the value may be None, which is a TypeError; type is that of
                       others */
    bool decays;    /* expressions: a list, of which the array is wanted: `asks` makes it of the
                       value, and type is that of the array */
    bool dead;      /* statements, BOOLOP operands, IFEXP arms, CASEs: pruned or unreachable;
                       lowering skips them */
    /* expressions and AUGASSIGN: part of an array expression. type, operand and constant
     * describe one element; what it has that is not elementwise is evaluated once, before the
     * loop (core/front/lower/array_expression.c) */
    bool elementwise;
    lw_type element; /* array expressions whose value is a new array, which is `type`: the type
                        of one element; else BOTTOM */
    uint8_t quiet; /* FOR over a typed list: whether nothing in its body changes what such lists
                      hold (lw_quiet) */
    int8_t truth; /* conditions (also BOOLOP operands, patterns, CASEs): 1 always true, 0 always
                     false, -1 decided at run time */
} lw_typed_node;

/* What inference found at the nodes of a function: of node 0, which is none, and of those from
 * `first` on. */
typedef struct lw_typed_nodes {
    lw_typed_node *data;
    uint32_t first, n;
} lw_typed_nodes;
static inline bool
lw_is_typed_in(const lw_typed_nodes *nodes, uint32_t node)
{
    return node >= nodes->first && node - nodes->first < nodes->n;
}
static inline lw_typed_node *
lw_typed_in(const lw_typed_nodes *nodes, uint32_t node)
{
    assert(node == 0 || lw_is_typed_in(nodes, node));
    return &nodes->data[node == 0 ? 0 : node - nodes->first + 1];
}

/* A variable after renaming: the definitions that reach common uses. */
typedef struct lw_web {
    uint32_t var;
    lw_type type;
    bool single; /* it has one definition, which dominates all uses in its region or deeper: no
                    slot is needed */
    bool is_param;  /* that definition is the parameter */
    bool is_zero;   /* what it holds until it is assigned is zero */
    uint32_t bound; /* the web, of the type b1, that says whether it has been assigned; 0:
                       nobody asks */
} lw_web;

/* A call of an object that brings code to link. */
typedef struct lw_link_call {
    uint32_t node, linked;
    uint32_t n;
    const lw_type *types; /* of the arguments, by parameter */
} lw_link_call;

typedef struct lw_instance {
    uint32_t fn;
    uint32_t n_params; /* including captures, which follow the parameters */
    const lw_type *param_types;
    const uint32_t *param_constants; /* nonzero: this argument is known at compile time (str,
                                     None, function, …) */
    const uint32_t *param_webs;      /* web that receives parameter i; 0: never used */
    lw_type result;                  /* join of the returns; LW_T_NONE for procedures */
    const uint32_t *returns;         /* the live RETURN nodes */
    uint32_t n_returns;
    bool can_raise; /* has a live assert or raise, or what else raises, or calls one that has */
    bool acts;      /* it prints, writes to arrays, waits for other threads or calls C, or
                       calls what does: a call is made though its result is known */
    bool allocates; /* makes arrays, or calls one that does: MemoryError is raised under
                       errors="ignore", too */
    bool resizes;   /* changes the size of a typed list or dict, or calls what does */
    bool recurses;  /* makes a recursive call, or calls one that does: RecursionError is
                       raised under errors="ignore", too */
    bool falls_off; /* the end of the body can be reached */
    bool never_returns; /* each of its paths raises, or does not end */
    uint32_t n_changed; /* objects whose fields it assigns: parameters, … */
    const uint32_t *changed;
    const lw_type
        *changed_types;    /* … and their types afterwards: results behind the result. The
                              entries of their values are the args of each RETURN, … */
    uint32_t end_changes;  /* … and in typed->lists, from here, for the end of the body */
    lw_type gives;         /* of the user's function: the result, or where it changes objects a
                              tuple of the result and of these */
    uint32_t result_param; /* … from 1: the changed object that is the result; 0: none is */
    lw_typed_nodes nodes;
    LW_ARRAY(lw_web) webs; /* [0] unused */
    LW_ARRAY(lw_link_call) links;
} lw_instance;

typedef struct lw_typed {
    lw_arena arena;
    const lw_tree *tree;      /* borrowed: outlives this */
    const lw_constant *plain; /* the tree's constants, where operands are constants, too, of the
                                 value that they had when inference began; NULL: elsewhere */
    lw_types types;
    lw_front_options options;
    LW_ARRAY(lw_instance) instances; /* [1] is the user's function */
    const bool *counts, *guarded;    /* by parameter of the user's function, as its spec says */
    bool any_guarded, all_guarded; /* whether some or all of the array arguments are guarded */
    LW_ARRAY(uint32_t) lists;
    /* made by folding; index i here is constant number tree->constants.n + i */
    LW_ARRAY(lw_constant) constants;
    LW_ARRAY(lw_diag) warnings; /* W201; locs of the tree */
    const char *unbound;        /* W205, shown to the user; NULL: none */
} lw_typed;

const lw_constant *lw_typed_constant(const lw_typed *typed, uint32_t constant);
/* The value of a BOOL, INT, UINT or BIGINT; false: it is of another kind, or has more than 125
 * bits. */
bool lw_constant_int_value(const lw_constant *constant, __int128 *out);

/* arg_types: one for each parameter of the user's function (scalars). Errors are user
 * diagnostics. */
lw_status lw_infer(const lw_tree *tree, const lw_front_options *options,
                   const lw_type *arg_types, uint32_t n_args, lw_typed **out, lw_error *err);
/* The same for arguments of any kind: kernels. */
lw_status lw_infer_specs(const lw_tree *tree, const lw_front_options *options,
                         const lw_arg_spec *specs, uint32_t n_args, lw_typed **out,
                         lw_error *err);
/* Whether the results may be stored as these dtypes. same_kind casts are silent; float -> int
 * and complex -> float are E142 unless options.casting_unsafe is set, and numba typing allows
 * the first; a wrong number of results is E153. */
lw_status lw_infer_check_results(const lw_typed *typed, const lw_dtype *out_types,
                                 uint32_t n_out, lw_error *err);
/* The same where items of the results may be tuples themselves: out_types has one entry for
 * each number. */
lw_status lw_infer_check_leaves(const lw_typed *typed, const lw_dtype *out_types,
                                uint32_t n_out, lw_error *err);
/* E154: the results were lowered to n numbers, but the ufunc was made with n_made outputs. */
lw_status lw_infer_refuse_results(const lw_typed *typed, uint32_t n, uint32_t n_made,
                                  lw_error *err);
void lw_typed_free(lw_typed *typed); /* NULL is allowed */
/* Each expression with its type, beside the source: inspect_types, explain,
 * LANEWISE_DUMP=typed. */
void lw_typed_print(const lw_typed *typed, lw_text *out);
/* Both typings line by line, with the places where they differ; options->typing is ignored. */
lw_status lw_explain(const lw_tree *tree, const lw_front_options *options,
                     const lw_arg_spec *specs, uint32_t n_args, lw_text *out, lw_error *err);

#endif
