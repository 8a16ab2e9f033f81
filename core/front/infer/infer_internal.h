/* Shared by the files of inference.
 *
 * One function instance (a function with given argument types) is one frame. Its body is walked
 * in the order of execution, again and again, until nothing changes; then once more with
 * `report` set. Only that last walk raises errors and writes lists, and its typed nodes are
 * final. All facts start optimistic (a definition that was not met yet has no type and no
 * effect, a loop has no back edge) and only grow, so that code behind conditions that turn out
 * to be constant is never typed (as in Wegman, Zadeck, "Constant propagation with conditional
 * branches", 1991).
 *
 * A definition is one assignment to one variable. The walk carries, for each variable, the set
 * of definitions that may have made its value; definitions that reach a common use become one
 * web. */
#ifndef LW_FRONT_INFER_INTERNAL_H
#define LW_FRONT_INFER_INTERNAL_H

#include "core/front/varying.h"
#include "core/front/diagnose.h"
#include "core/front/named.h"
#include "core/front/overload.h"
#include "core/front/signature.h"
#include "core/front/subscript.h"
#include "core/front/typed.h"

#include <assert.h>

/* Bounds that turn runaway input into a diagnostic. */
enum {
    LW_MAX_DEPTH = 800, /* nesting of expressions and statements, over all frames */
    LW_MAX_FRAMES = 48, /* nesting of calls */
    LW_MAX_RESULTS = 8, /* types of a recursive function's result, until it no longer changes */
    LW_MAX_INSTANCES = 2000,
    LW_MAX_QUESTIONS = 1000,       /* about overloads */
    LW_MAX_ITEMS = 4096,           /* elements of a tuple */
    LW_MAX_CONSTANT_ITEMS = 65536, /* items of one in a loop or under a run-time index */
    LW_GROWING_ITERATIONS = 12,    /* after so many walks definitions may only widen … */
    LW_MAX_ITERATIONS = 40,        /* … and after so many the front end has a bug */
};

typedef struct lw_infer_value {
    lw_type type;
    uint32_t constant; /* nonzero: known at compile time */
} lw_infer_value;

/* Who holds the value of an expression (ownership.c). */
typedef struct lw_note {
    uint8_t fresh;
    bool is_field;   /* it is an object in a field of that of … */
    uint32_t alias;  /* … this variable, as its method returned it; 0: none */
    uint64_t before; /* what was lost of that variable before */
    bool copied;     /* it may be a copy of an object in an array: on some paths it is one of an
                        array, on others an object by value */
    uint32_t param;  /* from 1: of the parameter whose object it is, which nothing else here
                        holds; 0: none */
    uint32_t constant; /* the constant object that the node made in the last walk */
} lw_note;

/* What the walk carries for each variable of its object. */
enum {
    LW_LOST_OUTER = 1, /* something else may hold the object, … */
    LW_LOST_INNER = 2, /* … or one of those in its fields */
    LW_HOLDS_PARAM =
        4, /* it may be the object that was passed for the variable's parameter, … */
    LW_IS_REBOUND = 8,     /* … and it may be another one */
    LW_HOLDS_CAPTURE = 16, /* it is the enclosing function's */
    LW_HOLDS_ENTRY = 32,   /* it came from Python */
    LW_IS_COPIED = 64,     /* it may be a copy (lw_note.copied) … */
    LW_IS_STALE = 128,     /* … and arrays have been written to since */
};

/* What a function does to an object that it is given: it assigns fields of the object, or of
 * objects in its fields; an assigned field held an object, or holds one afterwards. */
enum { LW_CHANGES_FIELDS = 1, LW_CHANGES_INNER = 2, LW_CHANGES_PARTS = 4 };

/* What a function does with the objects that it is given. */
typedef struct lw_ownership {
    const bool *keeps;            /* by parameter: something else may hold it afterwards */
    const uint8_t *changes;       /* by parameter: LW_CHANGES_ */
    const bool *inside;           /* by parameter: something else may hold objects in it */
    const bool *moves;            /* by parameter: it becomes part of one that is changed */
    const lw_infer_value *values; /* of those that are changed */
    uint8_t fresh;                /* of the result */
    uint32_t param;               /* from 1: the parameter that it always returns; 0: none */
    bool stores;                  /* it writes to arrays */
} lw_ownership;

typedef LW_ARRAY(uint32_t) lw_numbers;

typedef struct lw_def {
    uint32_t var, node;    /* node 0: the parameter */
    uint32_t parent, ring; /* union-find; the members of a class form a ring */
    lw_infer_value value;
    bool known;    /* the walk has met it */
    bool used;     /* some use needs the value at run time (kept at the root) */
    bool escapes;  /* some use lies outside the definition's region (kept at the root) */
    bool is_zero;  /* the value of a variable on paths that bind it to none: typing="numba" */
    bool is_asked; /* some use asks whether there is a value (kept at the root) */
    uint32_t bit;
    uint32_t region, iteration, web;
} lw_def;

typedef struct lw_flow {
    uint64_t *reach; /* for each variable the bits of its definitions; bit 0: unbound. Then for
                        each variable what was lost of its object (lw_lost), and further bits
                        of variables with many definitions (flow.c) */
    bool live;
} lw_flow;

typedef struct lw_more_bits {
    uint32_t at, n;     /* the further words of a variable in lw_flow.reach */
    uint32_t n_missing; /* definitions that had no bit in this walk */
} lw_more_bits;

typedef struct lw_region {
    uint32_t parent;
    uint32_t node;  /* IF, WHILE, FOR, …: the statement that decides whether it runs */
    bool otherwise; /* the arm taken when the condition is false */
} lw_region;

typedef struct lw_infer_loop {
    struct lw_infer_loop *outer;
    lw_flow on_break, on_continue;
} lw_infer_loop;

/* A `try` with handlers or a `finally`, whose body is walked: what the variables may be when an
 * exception leaves the body. */
typedef struct lw_infer_try {
    struct lw_infer_try *outer;
    lw_flow raised;
} lw_infer_try;

/* A `try` with a `finally`: what the variables are where a `return` leaves the statement. */
typedef struct lw_infer_finally {
    struct lw_infer_finally *outer;
    lw_flow returned;
} lw_infer_finally;

/* What distinguishes an instance from the others of its function. */
typedef struct lw_instance_key {
    uint32_t fn, n;
    const lw_infer_value *params; /* n */
    const lw_signature *declared; /* the signature that they were converted to, or NULL */
} lw_instance_key;

/* An instance, or the reason why it cannot be made. The depth of a frame is the number of
 * frames up to it. */
typedef struct lw_memo {
    lw_instance_key key; /* fn 0: dropped, it is found no longer */
    uint32_t instance;
    lw_status status;
    bool busy;
    lw_ownership ownership; /* busy: what is known so far */
    bool recursive;         /* it was called while busy */
    uint32_t depth;         /* of its frame, while busy */
    uint32_t rests_on; /* the least depth of a busy frame whose result's type was used and may
                          still change; UINT32_MAX: there is none */
    lw_infer_value result;  /* busy: what is known of it so far */
    bool reads_untyped;     /* as that of its frame; then … */
    lw_infer_value partial; /* … what those of its paths return that have a type */
} lw_memo;

/* Functions whose int arguments have no constants in the keys of instances: they are called
 * recursively, with another constant on each level. */
enum { LW_MAX_GENERAL = 32 };
typedef struct lw_general {
    uint32_t n, fns[LW_MAX_GENERAL];
} lw_general;

typedef struct lw_infer_run {
    const lw_tree *tree;
    lw_typed *typed;
    lw_arena *arena; /* the arena of `typed` */
    lw_error *err;
    struct lw_infer_frame *frame; /* the innermost one */
    LW_ARRAY(lw_memo) memos;
    LW_ARRAY(uint32_t) statics; /* constants that are types of fields, each once */
    uint32_t depth, n_frames, quiet;
    bool lends;          /* no operator calls a method of the user's (LW_NODE_LENT) */
    bool assigns_inside; /* an expression may assign: `:=`, a method that changes its object */
    lw_overload_question question; /* the walk ended with it */
    lw_general *general;           /* borrowed */
    bool is_again;                 /* the walk ended because `general` has grown */
    uint32_t passed_over_at; /* the node for which overloads were asked last, in vain … */
    const char *passed_over; /* … and which ones, and why */
    bool lint;               /* W201 wanted: the user's arguments are all narrow */
    uint32_t lint_loc;
    LW_ARRAY(uint32_t) lint_lines;
    const char *lint_label;
} lw_infer_run;

typedef struct lw_infer_frame {
    lw_infer_run *run;
    struct lw_infer_frame *caller;
    const lw_fn *fn;
    uint32_t fn_index, instance, n_params;
    uint32_t memo, depth, rests_on; /* as of its memo */
    uint32_t n_facts;               /* of its ownership, as its calls of itself know them */
    uint32_t n_result_types;        /* how often the type of its result has changed */
    const lw_infer_value *params;
    const lw_signature *declared; /* they are converted to it; or NULL */
    lw_typed_nodes nodes;
    LW_ARRAY(lw_def) defs;
    LW_ARRAY(lw_region) regions;
    LW_ARRAY(lw_infer_value) returns;
    LW_ARRAY(uint32_t) return_nodes;
    LW_ARRAY(uint64_t *)
    back_edges;                /* of loops, what their bodies leave; node.args = index + 1 */
    LW_ARRAY(uint32_t) fixups; /* entries of typed->lists that hold a definition */
    lw_numbers *defs_of;       /* by variable: its definitions; that of bit i is item i - 1 */
    bool *zeroed;        /* by variable: it is zero until it is bound: typing="numba" … */
    uint32_t *zero_defs; /* … and the definition that says so; 0: not made yet */
    lw_more_bits *more;  /* by variable */
    uint32_t n_more;     /* words in all */
    bool crowded;        /* a definition had no bit in this walk */
    bool numpys;         /* the operands are elements: see lw_infer_array_binary */
    lw_type *pinned;     /* by variable: `a: float32` */
    lw_flow now;
    lw_flow pool[32];
    uint32_t n_pool;
    lw_infer_loop *loop;
    lw_infer_try *tries;
    lw_infer_finally *finallies;
    bool *assigned;   /* by variable: it is assigned in the `finally` that is walked; or NULL */
    uint32_t source;  /* the expression whose value is being assigned; 0: none */
    lw_note incoming; /* and who holds it */
    lw_note *notes;   /* as `nodes` (lw_note_at); NULL: there are no classes */
    uint32_t *held;   /* by variable: operands that are evaluated and not used yet */
    uint32_t *lost_at; /* by variable: where the last of it was lost */
    uint8_t *changes;  /* by parameter, as in lw_ownership, … */
    bool *keeps, *changed_inside, *moved, *returned; /* … and whether some RETURN gives it */
    LW_ARRAY(lw_infer_value) changed_values;         /* at each end of the function */
    uint32_t end_changes, n_results, result_param;
    uint8_t result_fresh;
    bool borrowed, moves; /* how the next expression is evaluated */
    bool wants_optional;  /* what evaluates the next expression deals with None, too, … */
    bool wants_items;     /* … and where that is a tuple, with items that are None */
    bool stores;          /* the function writes to arrays */
    uint32_t lent;        /* the iterable of a loop that may be lent to it; 0: none */
    bool copied;          /* what lw_use has read last may be a copy of an object in an array */
    uint32_t asked; /* the NAME of the last use that asks whether there is a value; 0: none */
    uint32_t returned_of; /* the variable whose object the last method has returned, if nobody
                             has said yet what becomes of that value; else 0 */
    uint32_t region, iteration;
    bool changed, report, can_raise, allocates, resizes, acts, falls_off;
    bool recurses; /* it makes a recursive call, or calls what makes one */
    bool is_open;  /* a recursive call of this walk has no type yet */
    /* it reads an item of a list or dict into which nothing has been put so far */
    bool reads_untyped;
    /* set once the walks have settled without its type: where paths meet, such an item gets
     * the type of the other ones */
    bool joins_untyped;
    uint32_t stop; /* the node of a call that never returns, which has just been inferred; 0 */
} lw_infer_frame;

/* The status of an expression of which a call surely is evaluated and never returns (f->stop):
 * the rest of the statement is not typed. It is no error: lw_caught_stop ends it at the
 * statement, or at the operand that is evaluated on some paths only. */
enum { LW_STOPS = LW_N_STATUS };
bool lw_caught_stop(lw_infer_frame *f, uint32_t node, lw_status *status);

typedef struct lw_arg {
    uint32_t node, entry; /* entry: as in lw_typed_node.args */
    const char *keyword;
    lw_infer_value value;
} lw_arg;

/* An operand: its expression, for messages, and its value. */
typedef struct lw_infer_operand {
    uint32_t node;
    lw_infer_value value;
} lw_infer_operand;

static inline lw_infer_operand
lw_infer_operand_of(const lw_arg *arg)
{
    return (lw_infer_operand){arg->node, arg->value};
}

/* ---- list.c ---- */
/* Whether it is a list, a dict or a set that grows, or a view of a dict. */
bool lw_has_grown(lw_infer_frame *f, lw_type type);
/* Whether keys(), values() or items() of a dict gave it. */
bool lw_is_dict_view(lw_infer_frame *f, lw_type type);
/* What a variable holds, or a function returns, also in tuples: views of dicts are E165. */
lw_status lw_check_kept(lw_infer_frame *f, uint32_t loc, lw_type type);
/* x[start:stop:step], of a list. */
lw_status lw_infer_list_slice(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                              bool *found, lw_infer_value *out);
/* x[i] = v, x[start:stop:step] = v and x[i] += v, of a list. */
lw_status lw_infer_list_store(lw_infer_frame *f, uint32_t target, lw_infer_value object,
                              lw_infer_value value);
lw_status lw_infer_augmented_item(lw_infer_frame *f, uint32_t node, lw_infer_value object);
/* Where an array is wanted: a list becomes the array of its items (`decays`). */
lw_status lw_infer_list_array(lw_infer_frame *f, uint32_t node, lw_infer_value *value);
/* The method that `object[index]` calls, of which `node` is the SUBSCRIPT. */
const char *lw_getter_of(lw_infer_frame *f, uint32_t node, lw_type object);
/* The method that a loop over the value of the node calls. */
const char *lw_iterator_method(lw_infer_frame *f, uint32_t node, lw_type object);
/* Behind the body of a loop over a list of this type: whether it may be lent to the loop. */
void lw_note_quiet(lw_infer_frame *f, uint32_t loop, lw_type iterable, bool resizes);
/* The item of a list of tuples, of which these are the arrays. */
lw_type lw_item_of_rows(lw_infer_frame *f, lw_type rows);

/* ---- complain.c ---- */
/* An error inside a function that this frame calls: add where it is called, except for
 * lanewise's own functions. */
void lw_complain_called(lw_infer_frame *f, uint32_t loc);
/* Report a fault of the user's code; does nothing and returns LW_OK in all but the last walk.
 * label and help may be NULL. */
lw_status lw_complain(lw_infer_frame *f, uint32_t loc, const char *code, const char *label,
                      const char *help, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
lw_status lw_complain_kept(lw_infer_frame *f, uint32_t diag);
/* E120: "`cuda.popc` needs <wanted>". help may be NULL. */
lw_status lw_complain_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg,
                               const char *wanted, const char *help);
/* A formatted text in the arena; NULL in all but the last walk. */
const char *lw_format_text(lw_infer_frame *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *lw_describe_type(lw_infer_frame *f, lw_type type);
/* For a list of types: the begin of a long one, as tuples may be. */
void lw_add_shortened_type(lw_infer_frame *f, lw_type type, lw_text *out);
/* The same; for a text constant, the text. */
const char *lw_describe_value(lw_infer_frame *f, lw_infer_value value);
/* The source of a node that is on one line; "" when it spans lines. */
const char *lw_describe_source(lw_infer_frame *f, uint32_t node);
lw_status lw_out_of_memory(lw_infer_frame *f);
/* E142 when a value of this type may not be stored silently as `to`, E130 when a literal does
 * not fit. what: "variable" or "result". */
lw_status lw_check_conversion(lw_infer_frame *f, uint32_t loc, lw_type type, lw_dtype to,
                              const char *what);
/* E130 when an expression is a literal that does not fit, or has one in an arm of `a if c else
 * b`, whose own type no longer shows it. */
lw_status lw_check_constants(lw_infer_frame *f, uint32_t node, lw_dtype to, const char *what);
/* Both checks, for the expression whose value has this type. */
lw_status lw_check_value(lw_infer_frame *f, uint32_t node, lw_type type, lw_dtype to,
                         const char *what);

/* ---- results.c ---- */
/* The type of what a frame returned, after a walk. */
lw_status lw_infer_result(lw_infer_frame *f, lw_infer_value *result);
/* Whether no path returned: each raises, or does not end. */
bool lw_never_returns(const lw_infer_frame *f);
/* Whether the value of a `return`, which the node gives, may leave the function. */
lw_status lw_check_returned(lw_infer_frame *f, uint32_t node, lw_type type);
/* It may be None, where the result must not be. */
lw_status lw_return_given(lw_infer_frame *f, uint32_t node, lw_infer_value *value);

/* ---- infer.c ---- */
/* loc: of the call. */
lw_status lw_infer_instance(lw_infer_run *run, const lw_instance_key *key, uint32_t loc,
                            uint32_t *memo);
/* Append to typed->lists; false when memory is out. */
bool lw_list_add(lw_infer_frame *f, uint32_t entry);
/* The package's own functions have one typing, the one they are written for and tested with,
 * whatever the typing of the function that calls them is. */
static inline lw_typing
lw_typing_of(const lw_infer_frame *f)
{
    return f->fn->of_package || f->numpys ? LW_TYPING_WEAK : f->run->typed->options.typing;
}
static inline bool
lw_weak_mode(const lw_infer_frame *f)
{
    return lw_typing_of(f) == LW_TYPING_WEAK;
}
static inline const lw_node *
lw_node_of(const lw_infer_frame *f, uint32_t node)
{
    assert(node < f->run->tree->nodes.n);
    return &f->run->tree->nodes.data[node];
}
static inline lw_note *
lw_note_at(const lw_infer_frame *f, uint32_t node)
{
    assert(node == 0 || lw_is_typed_in(&f->nodes, node));
    return &f->notes[node == 0 ? 0 : node - f->nodes.first + 1];
}
static inline lw_types *
lw_types_of(lw_infer_frame *f)
{
    return &f->run->typed->types;
}

/* ---- recursion.c ---- */
/* The type of a recursive call before any return is known. */
lw_type lw_recursion_first(lw_infer_frame *f);
/* A walk has ended: whether the frame's function is called recursively, and the type of its
 * result has changed. What rests on the former type is dropped. */
lw_status lw_recursion_again(lw_infer_frame *f, bool *again);
/* The result of a function that is called recursively has no constant. */
void lw_recursion_widen(lw_infer_frame *f, lw_infer_value *result);
/* Whether the frame has recursive calls without a type, which frames around it may still give
 * them: there is no last walk, and the result is what is known of it. */
bool lw_recursion_is_open(const lw_infer_frame *f);
/* The caller has called what `memo` says. */
void lw_recursion_note(lw_infer_run *run, lw_memo *memo);
/* The frame of this memo has ended. */
void lw_recursion_leave(lw_infer_run *run, const lw_infer_frame *f, lw_status status);
/* Whether there are too many instances because recursive functions get constants: their ints
 * lose them then, and run->is_again is set. */
bool lw_recursion_is_wide(lw_infer_run *run);
/* E151 where calls are nested too deeply, by recursion or without. The int arguments of a
 * recursive function may lose their constants instead; then run->is_again is set. */
lw_status lw_recursion_too_deep(lw_infer_run *run, uint32_t loc);
bool lw_recursion_is_general(const lw_infer_run *run, uint32_t fn);
/* E151: the type of the called function's result does not follow from anything. */
lw_status lw_complain_endless(lw_infer_frame *f, uint32_t loc, uint32_t fn);
/* What an instance does, its callees do: also where these call it. */
void lw_recursion_spread(lw_typed *typed);

/* ---- webs.c ---- */
/* The variable of parameter i; captures follow the parameters. */
uint32_t lw_param_var(const lw_infer_frame *f, uint32_t i);
/* The NAME node, which reads the variable, leaves it with this value. */
lw_status lw_define_back(lw_infer_frame *f, uint32_t var, uint32_t node, lw_infer_value value);
lw_status lw_webs_init(lw_infer_frame *f);
lw_status lw_webs_begin_iteration(lw_infer_frame *f);
lw_status lw_define(lw_infer_frame *f, uint32_t var, uint32_t node, lw_infer_value value);
lw_status lw_pin(lw_infer_frame *f, uint32_t var, uint32_t loc, lw_type type);
/* The value of a variable here. *def: a definition of its web (0: none). *unbound: it may have
 * no value, which the code that reads it has to find out; NULL: it cannot, and this is E110. */
lw_status lw_use(lw_infer_frame *f, uint32_t var, uint32_t loc, lw_infer_value *out,
                 uint32_t *def, bool *unbound);
/* The same for a NAME, which is read there. */
lw_status lw_use_name(lw_infer_frame *f, uint32_t node, lw_infer_value *out, uint32_t *def);
/* E110: the NAME would be asked whether it has a value, but the expression is constant. */
lw_status lw_complain_folded(lw_infer_frame *f, uint32_t name);
/* Whether reading the variable here may raise an UnboundLocalError. */
bool lw_may_be_unbound(const lw_infer_frame *f, uint32_t var);
/* The variable has no value from here on. */
void lw_unbind(lw_infer_frame *f, uint32_t var);
lw_status lw_webs_finish(lw_infer_frame *f);
/* ---- flow.c ---- */
uint32_t lw_flow_words(const lw_infer_frame *f); /* of reach */
uint64_t *lw_flow_new(lw_infer_frame *f);        /* zero; NULL: memory is out */
/* Whether a definition reaches this point; and: it alone does, of those of its variable. */
/* The definitions of a variable that reach this point, the newest first: the one behind `def`,
 * or the first for 0; 0: there is no other. */
uint32_t lw_next_reached(const lw_infer_frame *f, uint32_t var, uint32_t def);
void lw_reach_only(lw_infer_frame *f, uint32_t var, uint32_t bit);
/* Whether there is a bit for one more definition. If not, the next walk will have it. */
bool lw_has_room(lw_infer_frame *f, uint32_t var);
/* Before a walk: room for what the last one had none for. False: memory is out. */
bool lw_flows_grow(lw_infer_frame *f);
bool lw_flow_take(lw_infer_frame *f, lw_flow *flow);      /* a copy of `now` */
bool lw_flow_take_none(lw_infer_frame *f, lw_flow *flow); /* which nothing has reached */
/* The state at one of the ends of a `try` becomes the state behind its `finally`, at whose end
 * the variables are as `after` says, and which has assigned f->assigned. */
void lw_flow_pass(const lw_infer_frame *f, lw_flow *flow, const lw_flow *after);
/* The `try` around it, if there is one, may be left here with an exception; a variable has been
 * assigned, and an exception may follow in the same statement. */
void lw_note_raise(lw_infer_frame *f);
void lw_note_assigned(lw_infer_frame *f, uint32_t var);
void lw_flow_put(lw_infer_frame *f, lw_flow *flow);
void lw_flow_merge(lw_infer_frame *f, lw_flow *into, const lw_flow *from);
/* `now` becomes a copy of it */
void lw_flow_set(lw_infer_frame *f, const lw_flow *from);
/* *flow, which was taken before, becomes a copy of `now` */
void lw_flow_keep(const lw_infer_frame *f, lw_flow *flow);
/* Before an operand of `and`, `or` or a chain that follows another, whose truth was this:
 * evaluation may have stopped at that one, if its truth is not known to go on, and the state
 * there is one of those behind the whole expression. *stopped joins them; false: memory is out.
 */
bool lw_may_stop_here(lw_infer_frame *f, int truth, bool goes_on, lw_flow *stopped);
/* Behind the last operand: what holds after any of them holds from here on. */
void lw_join_stopped(lw_infer_frame *f, const lw_flow *stopped);
uint32_t lw_region_open(lw_infer_frame *f, uint32_t node,
                        bool otherwise); /* returns the outer one */
lw_type lw_join2(lw_infer_frame *f, lw_type x, lw_type y, const char **problem);
/* Advice about a problem of lw_join, or NULL. */
const char *lw_help_for_join(const char *problem);

/* ---- fold.c ---- */
const lw_constant *lw_constant_of(lw_infer_frame *f, uint32_t constant);
const char *lw_constant_text(lw_infer_frame *f, uint32_t constant); /* "" when it has none */
lw_infer_value lw_constant_value(lw_infer_frame *f, uint32_t constant);
bool lw_constant_same(lw_infer_frame *f, uint32_t x, uint32_t y);
/* The type that a value has as a field of an object: that of a text says which one it is. */
lw_type lw_field_type(lw_infer_frame *f, lw_infer_value value);
/* The number of a constant equal to *constant; `old` is used again when it is equal. 0: memory
 * is out. */
uint32_t lw_constant_add(lw_infer_frame *f, uint32_t old, const lw_constant *constant);
uint32_t lw_constant_int(lw_infer_frame *f, uint32_t old, __int128 value);
/* The same for a node, where `old` is the constant that it has. */
uint32_t lw_node_constant(lw_infer_frame *f, uint32_t node, const lw_constant *constant);
uint32_t lw_node_bool(lw_infer_frame *f, uint32_t node, bool value);
uint32_t lw_node_int(lw_infer_frame *f, uint32_t node, __int128 value);
bool lw_constant_any_int(const lw_constant *constant,
                         __int128 *out);                          /* also of SCALAR integers */
bool lw_constant_float(const lw_constant *constant, double *out); /* also of SCALAR floats */
/* 0 when it cannot be folded. */
uint32_t lw_fold_binary_constant(lw_infer_frame *f, uint32_t old, lw_pyop op, uint32_t x,
                                 uint32_t y);
/* Whether the operands are ints whose result has more than 125 bits: it is not folded, but must
 * not wrap either. */
bool lw_fold_is_wide(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y);
uint32_t lw_fold_unary_constant(lw_infer_frame *f, uint32_t old, lw_pyop op, uint32_t x);
uint32_t lw_fold_bits_constant(lw_infer_frame *f, uint32_t old, bool count, uint32_t x);
int lw_fold_compare_constant(lw_infer_frame *f, lw_pyop op, uint32_t x,
                             uint32_t y); /* -1 unknown */
int lw_fold_truth_constant(lw_infer_frame *f, uint32_t x);
uint32_t lw_fold_cast_constant(lw_infer_frame *f, uint32_t old, uint32_t x, lw_dtype to,
                               bool weak);
/* Whether it has a part that exists only at compile time (function, str, module, type). */
bool lw_constant_is_static(lw_infer_frame *f, uint32_t constant);
/* The enum class of a value that is a member, also of members that are numbers; or NULL. */
const lw_enum *lw_enum_of(lw_infer_frame *f, lw_type type);
/* The method or property `name` of such a member, or NULL. */
const lw_class_member *lw_method_of_member(lw_infer_frame *f, lw_type type, const char *name);
/* Whether it is a member of an enum class, or a tuple that has one. */
bool lw_constant_has_member(lw_infer_frame *f, uint32_t constant);

/* ---- times.c ---- */
/* type: of the result. The node's operand becomes a time, which says that each operand is
 * converted to a type of its own. */
lw_status lw_infer_time_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                               lw_infer_operand y, lw_type *type);
lw_status lw_infer_time_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
                              lw_infer_value *out);
/* The unit in which a comparison is made; BOTTOM: there is none. */
lw_type lw_time_operand(lw_infer_frame *f, lw_pyop op, lw_type x, lw_type y);
/* Whether one of the arguments is a time. */
bool lw_has_time(const lw_arg *args, uint32_t n);
/* A function of names.def that has one. */
lw_status lw_infer_time_named(lw_infer_frame *f, uint32_t node, lw_name_id name,
                              const lw_arg *args, uint32_t n, lw_infer_value *out);
/* np.timedelta64(n, "s") and other casts to a dtype or from a time. */
lw_status lw_infer_time_cast(lw_infer_frame *f, uint32_t node, lw_dtype to, const lw_arg *args,
                             uint32_t n, lw_infer_value *out);
/* The object before the dot becomes the only argument of the call (method.c). */
lw_status lw_take_object(lw_infer_frame *f, uint32_t node, lw_call_kind call, uint32_t target);
/* x.astype("m8[s]"), x.view(np.int64) */
lw_status lw_infer_time_method(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                               const lw_arg *args, uint32_t n, lw_infer_value *out);

/* ---- operator.c ---- */
/* The value of an operator; the type of its operands goes to nodes[node].operand. */
lw_status lw_infer_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                          lw_infer_operand y, lw_infer_value *out);
lw_status lw_infer_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
                         lw_infer_value *out);
/* Whether an operator on these is an array expression. */
bool lw_infer_is_whole(lw_infer_frame *f, lw_infer_value x, lw_infer_value y);
/* An operator that has no meaning for whole arrays. */
/* E101: `x += y` of a list that is a tuple in compiled code. */
lw_status lw_complain_list_changes(lw_infer_frame *f, uint32_t node);
lw_status lw_complain_array_operand(lw_infer_frame *f, uint32_t node, lw_pyop op,
                                    lw_infer_operand x, lw_infer_operand y);
bool lw_type_is_literal(lw_infer_frame *f, lw_type type); /* a constant integer */
bool lw_type_is_strong_int(lw_type type);                 /* not bool */
bool lw_type_is_int(lw_infer_frame *f, lw_type type);     /* weak or strong, not bool */
bool lw_type_is_int_or_bool(lw_infer_frame *f, lw_type type);
bool lw_type_is_real(lw_infer_frame *f, lw_type type); /* a float */
bool lw_type_is_complex(lw_type type);
bool lw_type_is_number(lw_infer_frame *f, lw_type type);
bool lw_type_is_scalar(lw_infer_frame *f, lw_type type); /* a number or a time */
/* Of elements of arrays: one of our dtypes, no record. */
static inline bool
lw_type_is_dtype(lw_type type)
{
    return type < LW_N_DTYPES || lw_type_is_time(type);
}
lw_type lw_weak_int(lw_infer_frame *f);
lw_type lw_weak_float(lw_infer_frame *f);
lw_type lw_weak_complex(lw_infer_frame *f);
lw_type lw_float_of(lw_type complex); /* complex -> the type of its parts; others unchanged */
lw_type lw_complex_of(lw_infer_frame *f, lw_type real);
/* The common type of two operands. */
lw_type lw_promote_operands(lw_infer_frame *f, lw_type x, lw_type y);
/* The operand x as it is computed beside one of type `other`. It is another one only with
 * numba's typing, where NumPy's functions and divmod, unlike operators, compute a uint64 beside
 * a signed integer in float64, and beside a bool in uint64. */
lw_infer_operand lw_beside_uint64(lw_infer_frame *f, lw_infer_operand x, lw_type other);
lw_status lw_promote_values(lw_infer_frame *f, lw_infer_operand x, lw_infer_operand y,
                            const char *what, lw_type *out);
/* Whether a literal does not fit the integer beside it, as in `x / 256` of uint8: NumPy divides
 * in float64. */
bool lw_is_beyond(lw_infer_frame *f, lw_type literal, lw_type other);
/* E130 when a literal does not fit the type it is converted to. */
lw_status lw_check_literal(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_type to,
                           uint32_t other_node);
/* E130 when a literal is in neither int64 nor uint64, where an integer of any type is
 * accepted. */
lw_status lw_check_wide(lw_infer_frame *f, uint32_t node, lw_infer_value x);
/* E130: the result has more bits than constants are folded with. */
lw_status lw_complain_wide(lw_infer_frame *f, uint32_t node);
/* E141 when a constant has no Python integer to become: NaN and infinity. */
lw_status lw_check_finite(lw_infer_frame *f, uint32_t node, lw_infer_value x);
void lw_note_arithmetic(lw_infer_frame *f, uint32_t node, lw_type type);

/* ---- expr.c ---- */
lw_status lw_infer_expr(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* The same where an array expression may stand: operands of operators and of NumPy's functions,
 * and what is stored into an array. Everywhere else its value is a new array. */
lw_status lw_infer_operand_expr(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* A condition, of which only the truth is needed. *when_true and *when_false are taken from the
 * pool (NULL: not wanted); `now` holds the state after either answer. */
lw_status lw_infer_condition(lw_infer_frame *f, uint32_t node, int *truth, lw_flow *when_true,
                             lw_flow *when_false);
int lw_truth_of(lw_infer_frame *f, lw_infer_value x); /* -1: at run time */
/* Whether dropping the folded expression loses nothing. */
bool lw_is_pure(const lw_infer_frame *f, uint32_t node);
lw_status lw_enter(lw_infer_frame *f,
                   uint32_t node); /* depth + 1, or an error; leave with depth - 1 */
lw_status lw_join_values(lw_infer_frame *f, uint32_t x_node, lw_type x, uint32_t y_node,
                         lw_type y, lw_type *out);

/* ---- comparison.c ---- */
/* One comparison; the type of its operands goes to nodes[node].operand. *truth: 0, 1 or -1. */
lw_status lw_infer_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_operand x,
                           lw_infer_operand y, int *truth);
/* The operand of `x == y` between two numbers. */
lw_type lw_equality_operand(lw_infer_frame *f, lw_type x, lw_type y);
lw_status lw_infer_comparison(lw_infer_frame *f, uint32_t node, lw_infer_value *out);

/* ---- tuple.c ---- */
/* The type of a tuple of n items of one type. */
lw_status lw_tuple_of(lw_infer_frame *f, lw_type item, uint32_t n, lw_type *out);
lw_status lw_infer_tuple(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
lw_status lw_infer_subscript(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* value: of a bound of a slice, at a node of its own or of the slice that has it. */
lw_status lw_infer_check_bound(lw_infer_frame *f, uint32_t node, lw_infer_value value,
                               bool is_step);
lw_status lw_infer_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
lw_infer_value lw_element(lw_infer_frame *f, lw_infer_value tuple, uint32_t i);
const lw_type_row *lw_tuple_row(lw_infer_frame *f, lw_type type); /* NULL: no tuple */
/* The type of the items of a loop and their number: *count < 0 when it is known only at run
 * time. */
lw_status lw_infer_items(lw_infer_frame *f, uint32_t node, lw_infer_value iterable,
                         lw_infer_value *item, int64_t *count);

/* ---- record.c ---- */
/* object.name or object["name"]; of an array, the view of that field of every item. */
lw_status lw_infer_field(lw_infer_frame *f, uint32_t node, lw_type type, const char *name,
                         lw_type *out);
lw_status lw_infer_field_name(lw_infer_frame *f, uint32_t node, lw_type type,
                              const char **name);
lw_status lw_infer_field_target(lw_infer_frame *f, uint32_t target, lw_type type,
                                const char *name, lw_type *out);
/* The dtype of elements of this type, as a value. */
lw_infer_value lw_infer_dtype_of(lw_infer_frame *f, uint32_t node, lw_type element);
/* A.dtype.itemsize, A.dtype.names of an array of records; false: there is no such attribute. */
bool lw_infer_record_dtype(lw_infer_frame *f, uint32_t node, const lw_arg_record *record,
                           const char *name, lw_infer_value *out);
/* Whether the value can be stored in an element, a field or a view of this type. */
lw_status lw_infer_check_store(lw_infer_frame *f, lw_type to, uint32_t source,
                               lw_infer_value value);
/* An array of records is copied into one of the same dtype: fields are not converted. */
lw_status lw_infer_store_records(lw_infer_frame *f, uint32_t source, lw_type to, lw_type from);
/* Whether a text that is known when the function is compiled can be an item of an array of
 * texts ('U') or bytes ('S'). Then the type of its node names it, so that lowering finds it. */
bool lw_infer_known_text(lw_infer_frame *f, uint32_t source, char kind, lw_infer_value value);
/* E120 when a record of type `value` cannot be copied to one of type `to`. */
lw_status lw_infer_store_record(lw_infer_frame *f, uint32_t source, lw_type to,
                                lw_infer_value value);

/* ---- local.c ---- */
/* The shape and dtype of an array that a function makes: the arguments must be compile-time
 * constants. BOTTOM arguments (not typed yet) give no extents and no error. */
lw_status lw_infer_shape_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg,
                                  int64_t *shape, uint32_t *ndim);
lw_status lw_infer_dtype_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg,
                                  lw_type *out);
/* shaped(x, shape): the same elements as an array of another shape. */
lw_status lw_infer_axis(lw_infer_frame *f, uint32_t node, const lw_arg *args,
                        lw_infer_value *out);
lw_status lw_infer_is_dense(lw_infer_frame *f, uint32_t node, const lw_arg *args,
                            lw_infer_value *out);
lw_status lw_infer_is_known(lw_infer_frame *f, uint32_t node, const lw_arg *args,
                            lw_infer_value *out);
lw_status lw_infer_view(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
                        lw_infer_value *out);
/* empty(shape, dtype): the shape may be known at run time only. */
lw_status lw_infer_empty(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
                         lw_infer_value *out);
/* local(shape, dtype) */
lw_status lw_infer_local(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                         lw_infer_value *out);

/* ---- array.c ---- */
const lw_type_row *lw_array_row(lw_infer_frame *f, lw_type type); /* NULL: no array */
/* "`A` is float32[:] (argument 3)"; without a name, as much as is known. */
const char *lw_describe_array(lw_infer_frame *f, uint32_t node, lw_type type);
/* The element that an index selects, for functions whose arguments are `A, index`. `array` is
 * the array's node, for messages; the index has been inferred. E121 when the index selects a
 * view. */
lw_status lw_infer_element(lw_infer_frame *f, uint32_t array, lw_type type, uint32_t index,
                           lw_type *element);
/* node: a SUBSCRIPT of an array. */
lw_status lw_infer_array_subscript(lw_infer_frame *f, uint32_t node, lw_type array,
                                   const lw_index **arrays, lw_type *out);
lw_status lw_infer_array_attribute(lw_infer_frame *f, uint32_t node, lw_type array,
                                   const char *name, bool *found, lw_infer_value *out);
lw_status lw_infer_array_len(lw_infer_frame *f, uint32_t node, uint32_t array, lw_type type,
                             lw_infer_value *out);
lw_status lw_infer_array_items(lw_infer_frame *f, uint32_t node, lw_type array, lw_type *item,
                               int64_t *count);

/* ---- array.c: subscripts with arrays. view: what the rest of the index selects.
 * stored: what is assigned, or NULL. ---- */
typedef struct lw_stored {
    lw_arg value;
    lw_pyop op;    /* of an augmented assignment, or NONE */
    lw_type taken; /* by an augmented assignment: the array of the elements */
} lw_stored;
/* node: the SUBSCRIPT, or the AUGASSIGN which takes the elements first. */
lw_status lw_infer_index_arrays(lw_infer_frame *f, uint32_t node, lw_type view,
                                const lw_index *index, const lw_stored *stored,
                                lw_infer_value *out);

/* ---- array_store.c ---- */
/* target: a SUBSCRIPT that is assigned to; node: an AUGASSIGN of one. */
lw_status lw_infer_store(lw_infer_frame *f, uint32_t target, lw_infer_value value);
lw_status lw_infer_augmented_store(lw_infer_frame *f, uint32_t node);
/* The same of a whole array x, the value of the target. */
lw_status lw_infer_augmented_array(lw_infer_frame *f, uint32_t node, lw_infer_value x,
                                   lw_infer_value y);

/* ---- array_function.c ---- */
/* The function that loops over an array for `sum(row)` and its like, or for the method `name`;
 * 0: there is none. */
uint32_t lw_array_function_of_named(lw_infer_frame *f, lw_name_id name, const lw_arg *args,
                                    uint32_t n);
uint32_t lw_array_function_named(lw_infer_frame *f, const char *name);
/* Whether it is an attribute of arrays that array_functions.def has. */
bool lw_is_own_attribute(lw_infer_frame *f, lw_infer_value object, const char *name);
/* The type of the result of such a function, which returns this one. */
lw_type lw_array_function_result(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args,
                                 uint32_t n, lw_type type);
/* math.prod of constants, whose value no run-time int has to hold; out->constant 0: it is not.
 */
lw_status lw_fold_product(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n,
                          lw_infer_value *out);
/* Whether the arguments suit a function of whole arrays; else *status is the status of the
 * call. */
bool lw_takes_arrays(lw_infer_frame *f, const lw_fn *fn, const lw_arg *args, uint32_t n,
                     lw_status *status);
/* Whether the arguments of a call from outside suit a function of lanewise.special. */
lw_status lw_check_entry(lw_infer_frame *f, const lw_infer_value *args, uint32_t n);
/* E160. what: "`+`", "`math.sin`"; help may be NULL. */
lw_status lw_complain_whole_array(lw_infer_frame *f, uint32_t node, const char *what,
                                  lw_type type, const char *help);

/* ---- array_expression.c ---- */
/* Whether it is an array of numbers, or an array expression. */
bool lw_is_elementwise(lw_infer_frame *f, lw_type type);
/* An operator, comparison or function with such an operand: typed as for one element of each.
 * *out: an array expression. */
lw_status lw_infer_array_binary(lw_infer_frame *f, uint32_t node, lw_pyop op,
                                lw_infer_operand x, lw_infer_operand y, lw_infer_value *out);
lw_status lw_infer_array_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_infer_value x,
                               lw_infer_value *out);
lw_status lw_infer_array_compare(lw_infer_frame *f, uint32_t node, lw_pyop op,
                                 lw_infer_operand x, lw_infer_operand y, int *truth);
/* The value of the comparison `node`, which has one link, of these operands. */
lw_status lw_infer_array_comparison(lw_infer_frame *f, uint32_t node, lw_infer_value x,
                                    lw_infer_value y, lw_infer_value *out);
bool lw_name_is_elementwise(lw_name_id name);
lw_status lw_infer_array_named(lw_infer_frame *f, uint32_t node, lw_name_id name,
                               const lw_arg *args, uint32_t n, lw_infer_value *out);
/* The expression's value becomes a new array; *out has its type. */
lw_status lw_infer_made_array(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* An expression of arrays without axes becomes the number that it is; any other value stays. */
lw_status lw_infer_number(lw_infer_frame *f, uint32_t node, lw_infer_value *value);
/* s += y, the statement `node`, where s, of the type of x, is no array: *good unless y is one,
 * which is E160: s would become an array. */
lw_status lw_infer_added(lw_infer_frame *f, uint32_t node, lw_infer_value x, lw_infer_value *y,
                         bool *good);
/* Whether the target is `A[mask]`, where the mask is an array or array expression of bool; then
 * *array: the type of A. */
lw_status lw_infer_mask(lw_infer_frame *f, uint32_t target, lw_type *array, bool *is_masked);
/* A[mask] = value of a number; node: what is stored, for messages. */
lw_status lw_infer_masked_store(lw_infer_frame *f, uint32_t target, uint32_t node,
                                lw_type array, lw_infer_value value);
/* What may be stored into the array `to`, of whose operands `source` is the expression or
 * AUGASSIGN; marks its nodes as elementwise. */
lw_status lw_infer_array_store(lw_infer_frame *f, uint32_t source, lw_type to, lw_type value);

/* ---- stmt.c ---- */
lw_status lw_infer_statement(lw_infer_frame *f, uint32_t node);
lw_status lw_infer_body(lw_infer_frame *f, uint32_t body);
/* ---- assign.c ---- */
lw_status lw_assign(lw_infer_frame *f, uint32_t target, lw_infer_value value);
lw_status lw_infer_assign(lw_infer_frame *f, uint32_t node);
lw_status lw_infer_augassign(lw_infer_frame *f, uint32_t node);
/* What an AUGASSIGN of numbers, tuples or objects computes. before: the target's value.
 * *by_method: a method of an object computes it. */
lw_status lw_infer_augmented_value(lw_infer_frame *f, uint32_t node, lw_arg before,
                                   lw_infer_value y, bool *by_method, lw_infer_value *out);
lw_status lw_infer_annassign(lw_infer_frame *f, uint32_t node);
/* ---- object.c: objects of the user's classes ---- */
/* The class of a value; NULL: it is of none. */
const lw_class *lw_class_of(lw_infer_frame *f, lw_type type);
/* The same, but NULL for an object in an array. */
const lw_class *lw_class_by_value(lw_infer_frame *f, lw_type type);
/* The type when what is in arrays is by value, at any depth of tuples. */
lw_type lw_by_value(lw_infer_frame *f, lw_type type);
/* A tuple of these elements whose names, class and kind are those of another one. */
lw_type lw_tuple_like(lw_infer_frame *f, const lw_type_row *like, const lw_type *elements);
const lw_class_member *lw_member_of(const lw_class *class,
                                    const char *name); /* NULL: it has none */
/* Whether `class` (or NULL) is the class of this identity or derived from it. */
bool lw_class_is(const lw_class *class, const void *id);
/* The type of this field; BOTTOM: there is none. */
lw_type lw_field_of_object(lw_infer_frame *f, lw_type object, const char *name);
/* E110: the field may have no value. */
lw_status lw_complain_absent(lw_infer_frame *f, uint32_t loc, lw_type object, const char *name);
/* object.name, where the object has no such field: a property or a constant. *found: whether
 * the object is of a class. */
lw_status lw_infer_object_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                                    const char *name, bool *found, lw_infer_value *out);
/* The member `name` of the class behind that of the SUPER node; NULL: the error has been
 * reported, or *is_default: it is the `__init__` that every object has. */
lw_status lw_infer_super_member(lw_infer_frame *f, uint32_t super, lw_infer_value object,
                                const char *name, const lw_class_member **out,
                                bool *is_default);
/* super().name: a property or a constant. */
lw_status lw_infer_super_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* The operators: *found says whether a method of an operand's class does it. */
lw_status lw_infer_object_binary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x,
                                 lw_arg y, bool *found, lw_infer_value *out);
lw_status lw_infer_object_unary(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x,
                                bool *found, lw_infer_value *out);
lw_status lw_infer_object_compare(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x,
                                  lw_arg y, bool *found, lw_infer_value *out);
/* x in y, x not in y */
lw_status lw_infer_object_contains(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_arg x,
                                   lw_arg y, bool *found, lw_infer_value *out);
/* x[y], abs(x), len(x), …: the method `name` of x's class. */
lw_status lw_infer_object_special(lw_infer_frame *f, uint32_t node, const char *name,
                                  const lw_arg *args, uint32_t n, bool *found,
                                  lw_infer_value *out);
/* E165 where objects are compared in a way that their classes do not define, or in a chain. */
lw_status lw_check_objects_compared(lw_infer_frame *f, uint32_t node, lw_pyop op, lw_type x,
                                    lw_type y, bool *refused);
/* The truth of the node's value, which is *truth if its class does not say otherwise. */
lw_status lw_infer_object_truth(lw_infer_frame *f, uint32_t node, lw_infer_value value,
                                int *truth);
/* The tuple or array that `__iter__` of the node's value gives; *found: it has one. */
lw_status lw_infer_object_items(lw_infer_frame *f, uint32_t node, lw_infer_value value,
                                bool *found, lw_infer_value *out);
/* The method is called with the value of the node, whatever else that is used for (`asks`). */
lw_status lw_infer_asked(lw_infer_frame *f, uint32_t node, const lw_class_member *method,
                         lw_infer_value value, lw_infer_value *out);
/* A field of the object that Python cannot be given: a text, a type or the like, or one that
 * has a value on some paths only; NULL: there is none. */
const char *lw_unkept_field(lw_infer_frame *f, lw_type type);
/* E165: the user's own function returns an object. */
lw_status lw_refuse_object_result(lw_infer_frame *f, lw_type type);
/* ---- ownership.c ---- */
bool lw_ownership_init(lw_infer_frame *f);
void lw_ownership_begin(lw_infer_frame *f); /* a walk */
/* Whether it is an object, not a namedtuple, or has one in it. */
bool lw_holds_objects(lw_infer_frame *f, lw_type type);
uint64_t *lw_lost(lw_infer_frame *f, uint32_t var);
void lw_lose(lw_infer_frame *f, uint32_t var, uint64_t bits, uint32_t loc);
/* The same of the variable that a node has read. */
void lw_lose_node(lw_infer_frame *f, uint32_t node);
/* The variable that holds the object of the node, as a whole or in its fields; 0: none does. */
uint32_t lw_variable_of(lw_infer_frame *f, uint32_t node, bool *is_whole);
/* Note who holds the value of a NAME or ATTRIBUTE. */
lw_status lw_note_value(lw_infer_frame *f, uint32_t node, lw_type type, bool borrowed);
/* Whether a function's result may be None on some paths. */
bool lw_may_give_none(lw_infer_frame *f);
/* The value of a node that may be None (OPTIONAL) is needed: None is a TypeError. */
void lw_unwrap(lw_infer_frame *f, uint32_t node, lw_infer_value *value);
/* lw_infer_operand_expr for those that do not keep an object. */
lw_status lw_infer_borrowed(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* lw_infer_expr of an expression that is returned, so that its variables end. */
lw_status lw_infer_moved(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
lw_status lw_infer_returned(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
void lw_settle_results(lw_infer_frame *f); /* after the last walk */
/* An object is not changed between these two, because an operand has been evaluated. Returns
 * what lw_unhold takes. */
uint32_t lw_hold(lw_infer_frame *f, uint32_t node);
void lw_unhold(lw_infer_frame *f, uint32_t root);
/* The variable was given a value of which this is known. */
void lw_take(lw_infer_frame *f, uint32_t var, lw_type type, const lw_note *note);
/* E162 for a read-only array. array: its node, for messages. */
lw_status lw_check_writable(lw_infer_frame *f, uint32_t loc, uint32_t array, lw_type type);
/* Something is written to an array: copies of what is in arrays no longer show it. */
void lw_note_store(lw_infer_frame *f);
/* Between the two, a part of an expression is inferred that is evaluated behind `node`. If it
 * may write to arrays, an array expression at `node` is computed before, as NumPy does. */
bool lw_stores_begin(lw_infer_frame *f);
lw_status lw_stores_end(lw_infer_frame *f, bool before, uint32_t node, lw_infer_value *value);
lw_status lw_infer_before_stores(lw_infer_frame *f, uint32_t node, lw_infer_value *value);
/* E165: the value of the node may be such a copy, and is kept or passed on. */
lw_status lw_complain_copied(lw_infer_frame *f, uint32_t node);
bool lw_is_copied(const lw_infer_frame *f, uint32_t node);
/* Whether values of these types become `joined`, an object by value, and one is in an array. */
bool lw_mixes_records(lw_infer_frame *f, const lw_type *types, uint32_t n, lw_type joined);
/* ---- mutation.c: fields of objects ---- */
/* An object of the class without fields. */
lw_infer_value lw_new_object(lw_infer_frame *f, const lw_class *class, uint32_t old);
/* target: the ATTRIBUTE that is assigned to; the object is the value of what it belongs to. */
lw_status lw_infer_object_store(lw_infer_frame *f, uint32_t target, lw_infer_value object,
                                lw_infer_value value);
lw_status lw_infer_augmented_field(lw_infer_frame *f, uint32_t node, lw_infer_value object);
/* The AUGASSIGN of a property, whose object has been inferred. */
lw_status lw_infer_augmented_property(lw_infer_frame *f, uint32_t node);
/* target: a field of an object in an array. E165 where its class does not allow the assignment.
 */
lw_status lw_check_record_target(lw_infer_frame *f, uint32_t target, lw_infer_value object,
                                 bool *refused);
/* *found: the target is a property of an object in an array, whose setter is called. value
 * NULL: by an augmented assignment, which is refused. */
lw_status lw_infer_record_property(lw_infer_frame *f, uint32_t target,
                                   const lw_infer_value *value, bool *found);
/* The object that the node leads to is changed, to this value (NULL: that does not matter);
 * *root: its variable, or 0. E165 where something else may hold it. how: LW_CHANGES_. */
lw_status lw_infer_change(lw_infer_frame *f, uint32_t node, uint32_t loc, uint8_t how,
                          const lw_infer_value *value, uint32_t *root);
/* ---- changes.c: functions that change objects ---- */
typedef struct lw_call_site {
    uint32_t node, n; /* n entries, by parameter */
    const uint32_t *entries;
    uint32_t vararg, n_rest; /* the parameter `*args`, and … */
    const lw_arg *rest;      /* … n_rest arguments that it takes */
    const lw_memo *memo;
    const lw_instance *instance;
    const char *name;
    bool makes; /* parameter 0 is a new object, which the call gives */
    bool asks;  /* parameter 0 is the value of the node, which has another use, too */
} lw_call_site;
lw_status lw_infer_changed_at(lw_infer_frame *f, uint32_t node, uint32_t loc);
lw_status lw_infer_keep_changes(lw_infer_frame *f, lw_instance *instance, lw_memo *memo);
/* Between the walks of a function that calls itself: *more: whether the last one has found that
 * it does more with the objects it is given than its calls of itself were taken to do. */
lw_status lw_infer_changes_again(lw_infer_frame *f, bool *more);
/* What a call changes and keeps; written: room for instance->n_changed entries. */
lw_status lw_infer_settled(lw_infer_frame *f, const lw_call_site *site, uint32_t *written);
/* A method has returned the object of its variable. */
void lw_note_alias(lw_infer_frame *f, lw_note *note, uint32_t var, bool is_field, uint32_t loc);
/* At the end of a statement. */
void lw_settle_alias(lw_infer_frame *f);
/* The value of a statement is not used. */
void lw_drop_value(lw_infer_frame *f, uint32_t node);
/* ---- match.c ---- */
lw_status lw_infer_match(lw_infer_frame *f, uint32_t node);

/* ---- external.c ---- */
/* A call of the LW_K_EXTERNAL `constant`. */
lw_status lw_infer_external(lw_infer_frame *f, uint32_t node, uint32_t constant,
                            const lw_arg *args, uint32_t n, lw_infer_value *out);
/* ---- declared.c ---- */
/* Whether the row, or NULL, is of the records that a signature names. */
bool lw_same_record(const lw_type_row *row, const lw_arg_record *record);
/* The signature of `fn` that accepts a call's arguments, which become what it has. *out NULL:
 * none does, which has been reported. */
lw_status lw_infer_declared(lw_infer_frame *f, uint32_t node, const lw_fn *fn,
                            lw_infer_value *values, const uint32_t *entries,
                            const lw_signature **out);
/* What the signature or the annotation of f's function promises of its result; kind NONE:
 * nothing. */
lw_sig_type lw_promised_result(lw_infer_frame *f);
/* The type of a variable with this annotation: a number, or a tuple of such types; BOTTOM: it
 * fixes none. */
lw_type lw_annotated_type(lw_infer_frame *f, const lw_sig_type *annotation);
/* The type that a constant names as an annotation: kind NONE where it names none. */
lw_sig_type lw_type_of_annotation(lw_infer_frame *f, uint32_t number);
/* Whether a variable with this annotation can have a value of the type (E142). */
lw_status lw_check_annotated(lw_infer_frame *f, uint32_t loc, const lw_sig_type *annotation,
                             lw_type type);
/* The values of a type with a model: whether the items are what its members are (E142). */
lw_status lw_check_members(lw_infer_frame *f, uint32_t node, const lw_class *class,
                           const lw_type *items);
/* A result as it was promised. loc: of a return, for messages. */
lw_status lw_infer_promised(lw_infer_frame *f, uint32_t loc, const lw_sig_type *promised,
                            lw_type *result);
/* ---- call.c ---- */
lw_status lw_infer_call(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* Append an entry to typed->lists, in which a definition becomes a web at the end. */
lw_status lw_list_entry(lw_infer_frame *f, uint32_t entry);
/* The node calls `fn` with these arguments, whatever kind of node it is. */
lw_status lw_infer_call_function(lw_infer_frame *f, uint32_t node, uint32_t fn,
                                 const lw_arg *args, uint32_t n, lw_infer_value *out);
lw_status lw_infer_call_member(lw_infer_frame *f, uint32_t node, const lw_class_member *member,
                               const lw_arg *args, uint32_t n, lw_infer_value *out);
/* ---- overload.c: *found says whether an overload is the meaning of the node ---- */
/* The node calls a function of array_functions.def, which the tree may not have yet. */
lw_status lw_infer_own(lw_infer_frame *f, uint32_t node, const char *name, const lw_arg *args,
                       uint32_t n, lw_infer_value *out);
/* callee: the constant that is called, or 0. */
lw_status lw_infer_overloaded_call(lw_infer_frame *f, uint32_t node, uint32_t callee,
                                   const lw_arg *args, uint32_t n, bool *found,
                                   lw_infer_value *out);
/* The operator whose method would be `name`, where an operand is an object or a tuple. *found:
 * false also where no overload is for these operands. */
lw_status lw_infer_overloaded_operator(lw_infer_frame *f, uint32_t node, const char *name,
                                       const lw_arg *args, uint32_t n, bool *found,
                                       lw_infer_value *out);
/* What helps a node that means nothing without an overload: `help`, and why the overloads that
 * were asked for it are not for it. */
const char *lw_help_of_overloads(lw_infer_frame *f, uint32_t node, const char *help);
lw_status lw_infer_overloaded_method(lw_infer_frame *f, uint32_t node, const char *name,
                                     const lw_arg *args, uint32_t n, bool *found,
                                     lw_infer_value *out);
/* Whether such a method of some type is overloaded. */
bool lw_is_overloaded_method(lw_infer_frame *f, const char *name);
/* E166 where an overload answers for a method or an attribute that is built in. */
lw_status lw_refuse_built_in_method(lw_infer_frame *f, uint32_t node, const char *name,
                                    const lw_arg *args, uint32_t n);
lw_status lw_refuse_built_in_attribute(lw_infer_frame *f, uint32_t node, const char *name,
                                       lw_infer_value object);
lw_status lw_infer_overloaded_attribute(lw_infer_frame *f, uint32_t node, const char *name,
                                        lw_infer_value object, bool *found,
                                        lw_infer_value *out);
/* ---- named_numeric.c ---- */
lw_status lw_infer_named(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                         uint32_t n, lw_infer_value *out);
/* ---- method.c ---- */
/* object.name(args), where the object is a number. E161: it has no such method. */
lw_status lw_infer_method(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                          const lw_arg *args, uint32_t n, lw_infer_value *out);
bool lw_is_method_of_numbers(const char *name);
/* Help for `%` and the formatting methods of texts; NULL: the object is no text. */
const char *lw_help_for_text(lw_infer_frame *f, lw_infer_value object);
/* "did you mean `shape`?", of an attribute or method that there is not; NULL: none is near. */
const char *lw_near_attribute(lw_infer_frame *f, lw_type type, const char *name);
/* Help where a number stands in the place of an array: how a function gets arrays. NULL: the
 * value is no number, or the function gets arrays. */
const char *lw_help_for_number(lw_infer_frame *f, lw_infer_value value);
/* What to write where it would be known only at run time which of several objects a value is.
 */
const char *lw_help_for_choice(void);
/* Help for methods that would change a list or tuple; or NULL. */
const char *lw_help_for_list(lw_infer_frame *f, lw_infer_value object, const char *name);
/* ---- print.c ---- */
bool lw_is_constant_text(lw_infer_frame *f, lw_infer_value value);
bool lw_can_be_shown(lw_infer_frame *f, lw_type type); /* None, numbers, and tuples of these */
/* A value that may be None is shown so if it is a number or a string. */
void lw_unwrap_unshown(lw_infer_frame *f, uint32_t node, lw_infer_value *value);
uint32_t lw_shown_slots(lw_infer_frame *f, lw_type type); /* 8-byte words of its numbers */
/* An f-string that is printed: the tuple of its run-time fields. */
lw_status lw_infer_joined(lw_infer_frame *f, uint32_t node, lw_infer_value *out);
/* print(...), whose keywords are still in the order in which they were given. */
lw_status lw_infer_print(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n,
                         lw_infer_value *out);
/* Append the arguments of a call to typed->lists. */
lw_status lw_call_arguments(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n);
/* Python's int, float, bool, complex (0 … 3) called with n arguments. */
lw_status lw_infer_pytype(lw_infer_frame *f, uint32_t node, uint32_t pytype, const lw_arg *args,
                          uint32_t n, lw_infer_value *out);
lw_status lw_infer_cast(lw_infer_frame *f, uint32_t node, lw_dtype to, const lw_arg *args,
                        uint32_t n, lw_infer_value *out);
/* ---- named_builtin.c ---- */
/* The functions of array_names.def: of an output and inputs. */
lw_status lw_infer_overlap(lw_infer_frame *f, uint32_t node, lw_impl impl, const lw_arg *args,
                           uint32_t n, lw_infer_value *out);
lw_status lw_infer_builtin(lw_infer_frame *f, uint32_t node, lw_name_id name,
                           const lw_arg *args, uint32_t n, lw_infer_value *out);
/* ---- named_kernel.c ---- */
/* The function that a method of cuda.cg.this_grid() or this_cluster() is. */
bool lw_group_method(lw_infer_frame *f, lw_infer_value value, const char *method,
                     lw_name_id *out);
lw_status lw_infer_kernel(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                          uint32_t n, lw_infer_value *out);

/* ---- members.c ---- */
/* Whether it is a string; a TEXT, which is one of several, or is chosen by an expression with
 * effects; a string that the type says. */
bool lw_is_text(lw_infer_frame *f, lw_type type);
bool lw_is_runtime_text(lw_infer_frame *f, lw_type type);
bool lw_is_known_text(lw_infer_frame *f, lw_type type);
/* Whether it is a string, or a tuple that has one. */
bool lw_has_text(lw_infer_frame *f, lw_type type);
/* 1: all of them have characters; 0: none has; -1. */
int lw_truth_of_texts(lw_infer_frame *f, lw_type type);
lw_type lw_length_of_texts(lw_infer_frame *f, lw_type type);
/* Whether x, any string, is part of y; -1: of some. */
int lw_part_of_text(lw_infer_frame *f, lw_type x, lw_type y);

/* `m.value` and others, of a member that is not constant or is a number. */
lw_status lw_infer_member_attribute(lw_infer_frame *f, uint32_t node, lw_infer_value object,
                                    const char *name, lw_infer_value *out);
/* E(x): the member of this value, if the class finds members by numbers. */
lw_status lw_infer_member_call(lw_infer_frame *f, uint32_t node, const lw_enum *members,
                               const lw_arg *args, uint32_t n, lw_infer_value *out);
/* The same type, with any member of their classes where fields are known members. */
lw_type lw_without_known_members(lw_infer_frame *f, lw_type type);
bool lw_type_is_member(lw_infer_frame *f, lw_type type); /* MEMBER */
bool lw_has_member(lw_infer_frame *f, lw_type type); /* it is one, or a tuple that has one */
/* Whether both are members of one class, known or not. */
bool lw_are_members_of_one(lw_infer_frame *f, lw_type x, lw_type y);
/* 1: x is a member of the class that y is; -1: this is not known. */
int lw_fold_in_enum(lw_infer_frame *f, lw_infer_value x, lw_infer_value y);
/* x & y, x | y, x ^ y and ~x of members of a Flag class. 0: they are none, or not known. */
uint32_t lw_fold_flags(lw_infer_frame *f, lw_pyop op, uint32_t x, uint32_t y);
uint32_t lw_fold_inverted_flag(lw_infer_frame *f, uint32_t x);
/* The type of combinations of members of an enum.IntFlag, where this is the type of some; else
 * BOTTOM. */
lw_type lw_type_flags(lw_infer_frame *f, lw_type type);
int lw_fold_in_flag(lw_infer_frame *f, uint32_t x, uint32_t y); /* x in y; -1: likewise */

#endif
