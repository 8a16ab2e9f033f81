/* Shared by the files of lowering. */
#ifndef LW_FRONT_LOWER_INTERNAL_H
#define LW_FRONT_LOWER_INTERNAL_H

#include "core/front/numeric/complex.h"
#include "core/front/lower/lower.h"
#include "core/front/varying.h"
#include "core/front/named.h"

/* A value of any type is the list of its scalar parts: two for a complex number, those of the
 * elements for a tuple, none for a value that exists only at compile time. */
typedef struct lw_lower_value {
    lw_type type;
    uint32_t n;
    const lw_ref *parts;
    const struct lw_iterator *iterator; /* of a range, or NULL */
} lw_lower_value;

typedef LW_ARRAY(int32_t) lw_statuses;

typedef struct lw_lowering {
    const lw_typed *typed;
    const lw_tree *tree;
    const lw_types *types;
    lw_module *module;
    lw_arena *arena; /* of the module: it lives as long as the result */
    lw_error *err;
    lw_status status; /* the first failure */
    uint32_t *funcs;  /* by instance: function number + 1; 0 = not yet lowered */
    uint32_t *locs;   /* by tree loc: loc of the module + 1; 0 = not yet there */
    uint8_t *raising; /* by instance: 0 not known yet, 1 no, 2 yes */
    uint32_t n_insts; /* instructions of the functions that are finished */
    bool guards;      /* indices that options.guards names are checked … */
    bool defer;       /* … and the function goes on to its end after a bad one */
    bool *signs;      /* negative ints beside uint64 raise; it becomes true where there are any;
                         NULL: they are known not to be negative */
    bool *open;       /* by instance: it is being lowered */
    uint32_t n_raise_words; /* values after the status of a function that can raise */
    const lw_dtype *out_types;
    uint32_t n_out;
    LW_ARRAY(lw_raise_row) raises;
    bool catches;                     /* some function has a `try` */
    LW_ARRAY(struct lw_catch) caught; /* what handlers catch */
    bool *loses;         /* by instance: what it has changed when it raises is not known */
    lw_statuses *raised; /* by instance of a function of lanewise's own: what it raises */
} lw_lowering;

/* Where break and continue go. Regions are numbered by nesting depth: the n-th open BLOCK or
 * LOOP from outside. */
typedef struct lw_lower_loop {
    struct lw_lower_loop *outer;
    uint32_t break_region, continue_region;
    bool continue_is_block; /* unrolled: it leaves the iteration's block */
    bool parallel;          /* over prange, under options.parallel */
} lw_lower_loop;

/* A `try` whose body is being lowered, which is a BLOCK: an exception leaves it. The status and
 * words of the exception are kept in slots. */
typedef struct lw_handler {
    struct lw_handler *outer;
    struct lw_handler *caught; /* what handlers around this `try` have caught */
    lw_ref block, status, words[LW_RAISE_WORDS];
    bool is_wall; /* there is no `try`, but a loop over prange, which no exception leaves */
    bool used;    /* something is raised in the body */
} lw_handler;

/* A `finally` that runs before the control leaves, with what is around its `try`. */
typedef struct lw_lower_finally {
    struct lw_lower_finally *outer;
    uint32_t node; /* the TRY */
    lw_handler *handler, *caught;
    lw_lower_loop *loop;
} lw_lower_finally;

/* The function that says whether a handler catches an exception: its body is made when all rows
 * are known. */
typedef struct lw_catch {
    uint32_t classes, node; /* the constant; the HANDLER */
    bool is_asked;          /* else nothing is raised there, and there is no function */
    lw_builder b;
} lw_catch;

/* The objects that a function changes, as they are at the moment: where exceptions are caught,
 * what it has changed before it raises one is seen by its callers. */
typedef struct lw_changing {
    const lw_instance *inst;
    const lw_ref **given;           /* by parameter, as of the frame */
    const lw_ref **slots, **owners; /* by changed object */
} lw_changing;

/* An assignment that is not written yet, because its arm runs whatever the condition says. */
typedef struct lw_pending {
    uint32_t web;
    lw_lower_value value;
} lw_pending;

/* A value that is never negative: the item of a range that only rises, or an element's
 * index. */
typedef struct lw_counter {
    lw_ref value;
    uint64_t least;
    lw_ref stop; /* i64, larger than the value; 0: not known */
} lw_counter;

/* A RETURN that the user wrote, with its node. */
typedef struct lw_return {
    lw_ref inst;
    uint32_t node;
} lw_return;

/* Nodes that are evaluated once, with the values that stand for them: parts of an array
 * expression where one element is evaluated, operands of a chain of comparisons where a method
 * is called with them. */
typedef struct lw_leaves {
    const struct lw_leaves *around; /* that hold besides; or NULL */
    uint32_t n, nodes[LW_MOST_LEAVES];
    lw_lower_value values[LW_MOST_LEAVES];
} lw_leaves;

/* The function that is being lowered. */
typedef struct lw_lower_frame {
    lw_lowering *l;
    const lw_instance *inst;
    uint32_t instance;
    const lw_fn *fn;
    uint32_t home;        /* the instance into which this one is inlined, or itself */
    const lw_fn *call_fn; /* of an inlined function: the user's function that calls it, NULL: */
    const lw_loc *call_loc; /* … lanewise's own do; and where */
    lw_builder b;
    lw_ref level;         /* how many calls of recursive functions are open; 0: none is */
    lw_ref **owners;      /* by web: the owners of what it holds; NULL = none yet */
    const lw_ref **given; /* by parameter: its parts, as the caller passes them; NULL: none */
    /* a variable is the only one to use the value that is assigned to it: the owners of the
     * call that gives it may become the variable's, or give way to them */
    bool moves;
    lw_ref moved;        /* the last instruction when that happened: owners before it stay */
    uint32_t made_node;  /* the array expression of which an element is evaluated, which
                            otherwise is an array of its own; 0: none */
    lw_typed_node made;  /* as it is for one element */
    const lw_ref **webs; /* by web: its value's parts (single) or its slots; NULL = none yet */
    bool *slotted;       /* by web: kept in slots although it has one definition */
    const struct lw_iterator **iterators; /* by web: of variables that hold ranges */
    lw_lower_loop *loop;
    lw_handler *handler; /* where exceptions go; NULL: to the caller */
    lw_handler *caught;  /* of the innermost `except` that is being lowered, or NULL */
    lw_lower_finally *finallies;
    const lw_changing *changing; /* NULL: nobody asks for it */
    uint32_t regions;            /* open BLOCKs and LOOPs */
    uint32_t unrolled; /* how many copies of this code the unrolled loops around it make */
    uint32_t node;     /* the statement or expression that is being lowered */
    bool can_raise;
    /* whether texts may outlive the call: 0: not known yet, 1: no, 2: yes */
    uint8_t texts_go_on;
    lw_lower_value *inlined_result; /* of an inlined function: what it returns; else NULL */
    const lw_lower_value *stored;   /* of a store to a subscript with arrays: LW_STORED_* */
    uint32_t shared_node; /* of a call: the value whose elements are arguments, which is
                             evaluated once */
    lw_lower_value shared;
    const lw_leaves *leaves; /* of the expression that is evaluated, or NULL */
    uint32_t converted_arms; /* how many if-converted arms are open: their assignments wait in
                                `pending` */
    uint32_t arm_start;      /* where those of the innermost arm begin */
    LW_ARRAY(lw_pending) pending;
    LW_ARRAY(lw_counter) counters;
    lw_ref deferred; /* slot: the status that the function will return at its end; 0: none */
    lw_ref *outside; /* by axis: the conditions of guards, which raise after the load */
    LW_ARRAY(bool) guarded; /* the user's function: by parameter of the IR */
    LW_ARRAY(lw_return) returns;
    uint32_t *shown; /* by web: the variable of the IR that shows it, from 1; 0: none yet */
} lw_lower_frame;

/* ---- lower.c ---- */
/* Whether the user's errors are raised here. Under errors="ignore" only the guards of memory
 * are kept. */
static inline bool
lw_raises_errors(const lw_lower_frame *f)
{
    return f->can_raise && !f->l->typed->options.ignore_errors;
}

/* Whether values may be missing: an error was found, or memory is out. */
static inline bool
lw_lower_has_failed(const lw_lower_frame *f)
{
    return f->l->status != LW_OK || f->l->arena->failed || f->l->module->failed;
}

const lw_node *lw_node_at(const lw_lower_frame *f, uint32_t node);
const lw_typed_node *lw_typed_at(const lw_lower_frame *f, uint32_t node);
uint32_t lw_list_at(const lw_lower_frame *f, uint32_t index); /* of tree->lists */
/* Reports an internal error, once: something reached lowering that inference should have
 * refused. */
lw_lower_value lw_lower_fail(lw_lower_frame *f, uint32_t node, const char *what);
/* E130 at f->node: `number`, a constant or a range of them, is outside the range of dtype. */
lw_lower_value lw_lower_refuse_number(lw_lower_frame *f, const char *number, lw_dtype dtype);
/* E105 when the function and its callees have more instructions than the compilers can handle;
 * nothing more is lowered then. */
bool lw_lower_too_long(lw_lower_frame *f, uint32_t node);
void lw_lower_set_loc(lw_lower_frame *f,
                      uint32_t node); /* later instructions belong to this node */
/* node: the RETURN; 0: the end of the body. */
void lw_lower_return(lw_lower_frame *f, uint32_t node, lw_lower_value value);
/* The status to return: that of an earlier error whose report was deferred, or `status`. */
lw_ref lw_lower_first_status(lw_lower_frame *f, lw_ref status);
/* Return with this status, 0 if nothing was raised, and with zeros. */
void lw_lower_return_zeros(lw_lower_frame *f, lw_ref status, const lw_ref *words,
                           uint32_t n_words);
/* ---- raise.c ---- */
/* Of a function that is inlined: what it raises is shown where the caller's node stands. */
void lw_lower_note_call(lw_lower_frame *inlined, const lw_lower_frame *caller);
/* Leave the function with an exception if the condition holds; 0: always. */
void lw_lower_raise(lw_lower_frame *f, lw_ref condition, const char *exception,
                    const char *message);
/* The same for a guard. With lowering.defer there is no branch: the status is kept, and the
 * function goes on. */
void lw_lower_raise_deferred(lw_lower_frame *f, lw_ref condition, const char *exception,
                             const char *message);
/* check={"overflow"}: whether numbers of this type are checked; and its OverflowError, raised
 * where the condition holds (0: never). */
bool lw_lower_checks_overflow(const lw_lower_frame *f, lw_dtype type);
void lw_lower_check_overflow(lw_lower_frame *f, lw_ref overflows);
/* check={"nan"}: whether it is on; whether a number, or one in a tuple, is NaN (0: none can
 * be); and its FloatingPointError, raised if `made` has a NaN and `before` (0: false) does not
 * hold. */
bool lw_lower_checks_nan(const lw_lower_frame *f);
lw_ref lw_lower_has_nan(lw_lower_frame *f, lw_lower_value value);
void lw_lower_check_nan(lw_lower_frame *f, lw_ref before, lw_lower_value made);
/* check={"divide"}: ZeroDivisionError where the divisor is 0. */
void lw_lower_check_divisor(lw_lower_frame *f, lw_lower_value divisor, const char *message);
/* As lw_lower_raise without a condition, with a message that shows these words, or with a row
 * that has exception, format and arguments. */
void lw_lower_raise_row(lw_lower_frame *f, const lw_raise_row *row, const lw_ref *words,
                        uint32_t n);
void lw_lower_raise_words(lw_lower_frame *f, const char *exception, uint64_t format,
                          const lw_ref *words, uint32_t n);
/* A callee that left with an exception: leave with the same one. written: as in
 * lw_lower_call_values. */
void lw_lower_propagate(lw_lower_frame *f, lw_ref call, uint32_t instance,
                        const lw_lower_value *values, uint32_t written);
void lw_lower_try(lw_lower_frame *f, uint32_t node);
/* `raise` without an exception, in a handler. */
void lw_lower_raise_again(lw_lower_frame *f, uint32_t node);
/* Before a `return`, or a jump: the `finally`s that it leaves. false: one of them does not come
 * to its end. */
bool lw_lower_finallies(lw_lower_frame *f, bool is_jump);
/* The bodies of the functions that say what handlers catch, when all exceptions are known. */
lw_status lw_lower_catches(lw_lowering *l);
uint32_t lw_lower_instance(lw_lowering *l, uint32_t instance); /* its function number */
bool lw_instance_raises(lw_lowering *l, uint32_t instance);

/* ---- variables.c ---- */
/* The web has got this value: a debugger shows it. */
void lw_lower_show(lw_lower_frame *f, uint32_t web, lw_lower_value value);

/* ---- range.c ---- */
/* Whether the node has operands that are converted to uint64 although they may be negative
 * Python ints. */
bool lw_mixes_signs(const lw_lowering *l, const lw_instance *inst, uint32_t node);
/* Whether the operand of this type is such an int: it is converted when its sign has been
 * checked. */
bool lw_lower_has_sign(const lw_lower_frame *f, uint32_t node, lw_type operand);
/* The same for argument `index` of a call, which is given. */
bool lw_argument_has_sign(const lw_lower_frame *f, uint32_t call, uint32_t index);
/* OverflowError where the operand is such an int. op: LW_PY_NONE for functions that are no
 * operators; to: the type to which operands are converted. */
void lw_lower_check_sign(lw_lower_frame *f, lw_pyop op, lw_lower_value operand, lw_type to);

/* ---- raise.c, recursive calls ---- */
/* What a call of the instance passes in front of its arguments, if it recurses: one level more.
 * RecursionError where the call is recursive and the stack has no room for it. */
lw_ref lw_lower_level(lw_lower_frame *f, uint32_t instance);

/* ---- sums.c ---- */
/* Fills scalar->warning where a loop of the finished module adds up in narrow floats. */
lw_status lw_lower_note_sums(const lw_lowering *l, lw_scalar *scalar);

/* ---- inlined.c ---- */
/* Whether calls of the instance are inlined. */
bool lw_may_inline(const lw_lower_frame *f, uint32_t instance);
/* Inline it: values by parameter (those known at compile time are not used). */
lw_lower_value lw_lower_inlined(lw_lower_frame *f, uint32_t instance,
                                const lw_lower_value *values);
bool lw_lower_frame_init(lw_lower_frame *f, lw_lowering *l,
                         uint32_t instance); /* false: memory out */
/* Whether `:=` may give the name of a new array to another one while the first is in use. */
bool lw_lower_walrus_replaces(const lw_lower_frame *f, uint32_t web);
void lw_lower_walrus_slots(lw_lower_frame *f);    /* new arrays that `:=` names: none yet */
void lw_lower_bind_parameters(lw_lower_frame *f); /* by web: the parts */
void lw_lower_zero_webs(lw_lower_frame *f);       /* variables that are zero until assigned */
void lw_lower_unbind(lw_lower_frame *f, uint32_t var); /* it has no value from here on */
/* name: a NAME that reads the web. An UnboundLocalError is raised if it has no value. */
void lw_lower_ask_bound(lw_lower_frame *f, uint32_t name, uint32_t web);

/* ---- value.c ---- */
uint32_t lw_parts_of(const lw_types *types, lw_type type);
/* The dtype of each part; out has room for lw_parts_of entries. */
void lw_part_types(const lw_types *types, lw_type type, lw_dtype *out);
lw_lower_value lw_value_of(lw_lower_frame *f, lw_type type, const lw_ref *parts,
                           uint32_t n); /* copies parts */
lw_lower_value lw_value_scalar(lw_lower_frame *f, lw_type type, lw_ref part);
lw_lower_value lw_value_complex(lw_lower_frame *f, lw_type type, lw_complex parts);
lw_lower_value lw_value_zero(lw_lower_frame *f, lw_type type);
lw_lower_value lw_value_constant(lw_lower_frame *f, uint32_t constant, lw_type type);
/* The bits of the parts of a number or of a tuple of numbers; returns their count. out has room
 * for lw_parts_of entries. */
uint32_t lw_constant_part_bits(lw_lower_frame *f, uint32_t constant, lw_type type,
                               uint64_t *out);
lw_lower_value lw_value_convert(lw_lower_frame *f, lw_lower_value value, lw_type to);
lw_lower_value lw_value_element(lw_lower_frame *f, lw_lower_value tuple, uint32_t index);
lw_lower_value lw_value_select(lw_lower_frame *f, lw_ref condition, lw_lower_value yes,
                               lw_lower_value no);
lw_ref lw_value_truth(lw_lower_frame *f, lw_lower_value value);
bool lw_value_is_complex(const lw_lower_value *value, const lw_lower_frame *f);
bool lw_value_is_tuple(const lw_lower_value *value, const lw_lower_frame *f);
lw_complex lw_value_as_complex(lw_lower_frame *f, lw_lower_value value, lw_dtype part);
bool lw_type_is_integer(const lw_types *types, lw_type type); /* bool and weak ones, too */
/* Variables that outlive a region. */
const lw_ref *lw_value_slots(lw_lower_frame *f, lw_type type);
void lw_value_set(lw_lower_frame *f, const lw_ref *slots, lw_lower_value value);
lw_lower_value lw_value_get(lw_lower_frame *f, const lw_ref *slots, lw_type type);

/* ---- print.c: strings that are chosen at run time ---- */
/* The word that stands for this string; 0: memory is out, and the module failed. */
uint64_t lw_lower_text_number(lw_lower_frame *f, const char *text);
lw_ref lw_lower_text_word(lw_lower_frame *f, lw_lower_value value); /* u64: that of a string */
lw_ref lw_lower_text_length(lw_lower_frame *f, lw_lower_value value); /* i64 */
lw_ref lw_lower_text_truth(lw_lower_frame *f, lw_lower_value value);
/* Whether x, which is a string, too, is part of y. */
lw_ref lw_lower_text_in(lw_lower_frame *f, lw_lower_value x, lw_lower_value y);
/* operand: the TEXT that both may be, in which they have an order. */
lw_ref lw_lower_compare_texts(lw_lower_frame *f, lw_op how, lw_lower_value x, lw_lower_value y,
                              lw_type operand);

/* ---- operator.c: operands have been converted; the result has the operands' kind ---- */
lw_lower_value lw_lower_binary(lw_lower_frame *f, lw_pyop op, lw_lower_value x,
                               lw_lower_value y, lw_type result);
lw_lower_value lw_lower_unary(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_type result);
/* An item of an array of bytes or texts (S, U); whether two are equal, or one and a text that
 * is known when the function is compiled. */
bool lw_lower_is_text(const lw_lower_frame *f, lw_type type);
/* The value with its strings copied to memory of this call, for an assignment to a name or a
 * tuple. In a function that returns such a string, or handles objects with one, the value is
 * unchanged, since they may outlive the copies. */
lw_lower_value lw_lower_copy_texts(lw_lower_frame *f, lw_lower_value value);
lw_ref lw_lower_same_text(lw_lower_frame *f, lw_lower_value x, lw_lower_value y);
/* x and y as they are; `operand` is the type in which floats and complex numbers are
 * compared. */
lw_ref lw_lower_compare(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
                        lw_type operand);
bool lw_is_shift(lw_pyop op);

/* A call of a function of names.def. */
lw_lower_value lw_lower_time_named(lw_lower_frame *f, uint32_t node);

/* ---- expression.c ---- */
lw_lower_value lw_lower_expression(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_as(lw_lower_frame *f, uint32_t node, lw_type type); /* and converted */
/* A node whose `stops` is set, up to and including that call. */
void lw_lower_until_stop(lw_lower_frame *f, uint32_t node);
/* `node` has the types; `left` is a value, the right operand still a node. */
lw_lower_value lw_lower_binary_nodes(lw_lower_frame *f, uint32_t node, lw_pyop op,
                                     lw_lower_value left, uint32_t right);
/* Entries of a call's argument list (LW_ARG_*). `given`: whether the argument is given. */
bool lw_argument_given(const lw_lower_frame *f, uint32_t call, uint32_t index);
lw_lower_value lw_lower_argument(lw_lower_frame *f, uint32_t call, uint32_t index);
lw_lower_value lw_lower_argument_as(lw_lower_frame *f, uint32_t call, uint32_t index,
                                    lw_type type);
lw_lower_value lw_lower_entry(lw_lower_frame *f, uint32_t entry);

/* What a node that calls an instance passes, by parameter, evaluated in Python's order; NULL:
 * memory is out. Then its call. */
lw_lower_value *lw_lower_call_arguments(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_call_with(lw_lower_frame *f, uint32_t node, lw_lower_value *values);
/* Call an instance with these values, by parameter; what it changes is written to the entries
 * of typed->lists from `written` on. */
lw_lower_value lw_lower_call_values(lw_lower_frame *f, uint32_t node, uint32_t instance,
                                    const lw_lower_value *values, uint32_t written);
lw_type lw_lower_type_of(const lw_lower_frame *f, uint32_t node);
/* What the method that the node asks (`asks`) gives for its value; without one, the value. */
lw_lower_value lw_lower_asked(lw_lower_frame *f, uint32_t node, lw_lower_value value);
bool lw_lower_calls_method(const lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_method(lw_lower_frame *f, uint32_t node);

/* The field of an object, or the item of a namedtuple. */
lw_lower_value lw_lower_field_of(lw_lower_frame *f, lw_lower_value object, const char *name,
                                 lw_type type);

/* ---- object.c: fields of objects that are assigned ---- */
/* Whether the ATTRIBUTE is a field of an object, or a property that is set. */
bool lw_is_object_target(const lw_lower_frame *f, uint32_t target);
void lw_lower_object_store(lw_lower_frame *f, uint32_t target, lw_lower_value value);
void lw_lower_augmented_field(lw_lower_frame *f, uint32_t node);
/* What the nodes lead to, which are entries of a call's list from `start`, holds the objects
 * that the call has changed, whose parts are `parts`. values: the call's arguments. *made: the
 * object that is the call's value. */
void lw_lower_changed(lw_lower_frame *f, uint32_t instance, const lw_lower_value *values,
                      uint32_t start, const lw_ref *parts, lw_lower_value *made);
/* The parts of all changed objects, at a RETURN or (node 0) at the end of the body, to `out`;
 * returns how many these are. */
uint32_t lw_lower_changed_parts(lw_lower_frame *f, uint32_t node, lw_ref *out);
uint32_t lw_changed_parts_of(const lw_types *types, const lw_instance *instance);
/* At the begin of a function; when the object in a variable has changed, or the variable holds
 * another one (value NULL); and what a function that raises gives to its caller. */
void lw_lower_begin_changing(lw_lower_frame *f, lw_changing *made);
void lw_lower_note_changing(lw_lower_frame *f, uint32_t var, const lw_lower_value *value);
uint32_t lw_lower_changing_parts(lw_lower_frame *f, lw_ref *out);

/* ---- condition.c ---- */
lw_ref lw_lower_condition(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_boolop(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_compare_chain(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_ifexp(lw_lower_frame *f, uint32_t node);

/* ---- statement.c ---- */
void lw_lower_body(lw_lower_frame *f, uint32_t body);
void lw_lower_statement(lw_lower_frame *f, uint32_t node);
void lw_lower_assign(lw_lower_frame *f, uint32_t target, lw_lower_value value);
/* What the target becomes by `target op= value`, into *out; read: evaluates it. false: it is an
 * array, whose elements have been changed. */
typedef lw_lower_value lw_lower_read(lw_lower_frame *f, uint32_t target);
bool lw_lower_augmented(lw_lower_frame *f, uint32_t node, lw_lower_read *read,
                        lw_lower_value *out);
/* What it becomes where an `if` has been evaluated on both sides. */
void lw_lower_web_choose(lw_lower_frame *f, uint32_t web, lw_lower_value value);
/* Writes a change of the object `before`; lent: as of lw_lower_assigned. */
void lw_lower_web_change(lw_lower_frame *f, uint32_t web, lw_lower_value value,
                         lw_lower_value before, bool lent);
/* The same with what the caller passes for a parameter. */
void lw_lower_web_bind(lw_lower_frame *f, uint32_t web, lw_lower_value value);
lw_lower_value lw_lower_web_read(lw_lower_frame *f, uint32_t web);
uint32_t lw_lower_region_open(lw_lower_frame *f, bool loop); /* BLOCK or LOOP; its number */
void lw_lower_region_close(lw_lower_frame *f);
void lw_block_leave(lw_lower_frame *f, uint32_t region);
/* *name = elements from … from + count - 1, as a tuple of the variable's type. */
void lw_lower_assign_rest(lw_lower_frame *f, uint32_t name, lw_lower_value tuple, uint32_t from,
                          uint32_t count);

/* ---- match.c ---- */
void lw_lower_match(lw_lower_frame *f, uint32_t node);

/* ---- counted.c ---- */
/* An owner for each reference of a value of this type. */
lw_ref *lw_lower_owners(lw_lower_frame *f, lw_type type);
/* These owners hold what the value refers to, and no longer what they held. */
void lw_lower_hold(lw_lower_frame *f, const lw_ref *owners, lw_lower_value value);
/* The owners of a variable to which the value is assigned; owners: those that it has, NULL:
 * none yet. before: the parts of the object that the variable has held, of which this one is a
 * change, or NULL. What held its references holds them until something else is assigned to the
 * variable, so those that stay are not counted. lent: other references are those that the
 * function which has changed the object gives; they are taken. */
lw_ref *lw_lower_assigned(lw_lower_frame *f, lw_ref *owners, lw_lower_value value,
                          const lw_ref *before, bool lent);
/* Hold the value until it is let go; NULL: it needs no guard. */
const lw_ref *lw_lower_guard(lw_lower_frame *f, lw_lower_value value);
void lw_lower_unguard(lw_lower_frame *f, const lw_ref *owners, lw_type type);
/* The references of a call's result become this function's. Returns the owners, NULL: none. */
const lw_ref *lw_lower_take(lw_lower_frame *f, lw_lower_value value);
/* The references of what is returned become the caller's. */
void lw_lower_give(lw_lower_frame *f, lw_lower_value value);
/* The value with NULL in place of those references that are the same in `lent`, the parts of a
 * value of the same type; NULL: none are. */
lw_lower_value lw_lower_unless_lent(lw_lower_frame *f, lw_lower_value value,
                                    const lw_ref *lent);
/* Whether the references of the k-th object that the function changes are lent to it. */
bool lw_is_lent(const lw_lowering *l, uint32_t instance, uint32_t k);
/* E160: `y += (y := x)` of arrays. */
void lw_lower_refuse_walrus(lw_lower_frame *f, uint32_t node);
/* A new array; extents: i64, not negative. MemoryError if there is no memory for it. */
lw_lower_value lw_lower_new_array(lw_lower_frame *f, lw_type type, const lw_ref *extents);
lw_lower_value lw_lower_empty(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_axis(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_view(lw_lower_frame *f, uint32_t node, bool is_dense);

/* The array in the slot that begins at word k, i64, with a reference to its memory. type: its
 * type, which is owned. */
lw_lower_value lw_lower_slot(lw_lower_frame *f, lw_lower_value words, lw_ref k, lw_type type);
/* How many slots of arrays of this type the words have, u64. */
lw_ref lw_lower_slot_count(lw_lower_frame *f, lw_lower_value words, lw_type type);
/* slot_kind, slot, lent_slot, set_slot and keep_slot of core/tables/array_names.def */
lw_lower_value lw_lower_slots(lw_lower_frame *f, uint32_t node, lw_impl impl);

/* ---- escape.c ---- */
/* E102 when the function, which is complete now, returns memory of its own. */
void lw_check_escapes(lw_lower_frame *f);

/* ---- record.c ---- */
/* The record at this address, which lies in the memory of `in`, a record or an array. */
lw_lower_value lw_lower_in_memory(lw_lower_frame *f, lw_type type, lw_ref address,
                                  lw_lower_value in);
/* The item at this address in the memory of `in`. */
lw_lower_value lw_lower_item_in(lw_lower_frame *f, lw_type type, lw_ref address, uint32_t align,
                                lw_lower_value in);
/* An item in memory; `align` is the known alignment of its address (0: that of its type). The
 * value of a record, and of an array in a record, is its address. */
lw_lower_value lw_lower_load(lw_lower_frame *f, lw_type type, lw_ref address, uint32_t align);
void lw_lower_store(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value,
                    uint32_t align);
/* The object in a record, by value. */
lw_lower_value lw_lower_record_object(lw_lower_frame *f, lw_lower_value record, lw_type to);
/* The same for any value that may be one. */
lw_lower_value lw_lower_by_value(lw_lower_frame *f, lw_lower_value value);
/* A namedtuple in an array as the tuple of its items; objects in them stay where they are. */
lw_lower_value lw_lower_items(lw_lower_frame *f, lw_lower_value value);
/* Exchanges two records of this type, which lie apart or are the same. */
void lw_lower_record_swap(lw_lower_frame *f, lw_type type, lw_ref x, lw_ref y);
/* object.name and object["name"]; for arrays of records the view. */
lw_lower_value lw_lower_field(lw_lower_frame *f, lw_lower_value object, const char *name,
                              lw_type type);
/* The field that a[b] or a.b selects, with `a` of this type; NULL: it selects none. */
const char *lw_lower_field_name(const lw_lower_frame *f, uint32_t node, lw_type type);
/* The address of a field of one record; *align: its known alignment. */
lw_ref lw_lower_field_address(lw_lower_frame *f, lw_lower_value record, const char *name,
                              uint32_t *align);

/* ---- address.c ---- */
lw_ref lw_array_extent(lw_lower_frame *f, lw_lower_value array, uint32_t axis); /* i64 */
lw_ref lw_array_stride(lw_lower_frame *f, lw_lower_value array, uint32_t axis); /* bytes, i64 */
/* Remember that the value counts from `start`, which is never negative (0: from 0), and stays
 * below `stop` (0: not known). */
void lw_lower_note_counter(lw_lower_frame *f, lw_ref value, lw_ref start, lw_ref stop);
const lw_counter *lw_counter_of(const lw_lower_frame *f,
                                lw_ref value); /* NULL: it counts nothing */
bool lw_never_negative(const lw_lower_frame *f, lw_ref value);
/* The address of array[index], one element: wrapped around and checked as the options demand.
 * Its alignment is lw_type_get(array.type)->align (0: that of its type). */
lw_ref lw_lower_element_address(lw_lower_frame *f, lw_lower_value array, uint32_t index);

/* ---- array.c ---- */
lw_lower_value lw_lower_array_subscript(lw_lower_frame *f, uint32_t node, lw_lower_value array);
/* The view that the slices and integers of a subscript with arrays select. */
lw_lower_value lw_lower_indexed_view(lw_lower_frame *f, uint32_t subscript);
lw_lower_value lw_lower_array_attribute(lw_lower_frame *f, uint32_t node, lw_lower_value array,
                                        const char *name);
lw_lower_value lw_lower_array_item(lw_lower_frame *f, lw_lower_value array, lw_ref k,
                                   lw_type type);
lw_lower_value lw_array_convert(lw_lower_frame *f, lw_lower_value array, lw_type to);
/* Targets a[b] and a.b: elements, views, fields. */
void lw_lower_memory_store(lw_lower_frame *f, uint32_t target, lw_lower_value value);
void lw_lower_augmented_store(lw_lower_frame *f,
                              uint32_t node); /* AUGASSIGN of such a target */

/* The array that a subscript or field in front of `=` selects. */
lw_lower_value lw_lower_target_array(lw_lower_frame *f, uint32_t target);

/* ---- array_expression.c ---- */
/* target = node, where node is an array expression. */
void lw_lower_array_store(lw_lower_frame *f, uint32_t target, uint32_t node);
/* The new array that is the value of an array expression. */
lw_lower_value lw_lower_made_array(lw_lower_frame *f, uint32_t node);
/* `s += a`, where s is a number and a an expression of arrays without axes. */
lw_lower_value lw_lower_augmented_number(lw_lower_frame *f, uint32_t node,
                                         lw_lower_value before);
/* An AUGASSIGN of the array `to`. */
void lw_lower_augmented_array(lw_lower_frame *f, uint32_t node, lw_lower_value to);
/* A[mask] = value, and its AUGASSIGN. */
void lw_lower_masked_store(lw_lower_frame *f, uint32_t target, lw_lower_value value);
void lw_lower_augmented_mask(lw_lower_frame *f, uint32_t node);
/* The value that stands for a part of an array expression; NULL: the node is none. */
const lw_lower_value *lw_lower_leaf(const lw_lower_frame *f, uint32_t node);

/* ---- table.c ---- */
/* A run-time index reads a tuple of more items than this from memory. Up to here a selection
 * among registers is no longer than the address and the load. */
enum { LW_SELECTED_ITEMS = 16 };
typedef struct lw_table {
    lw_type type; /* of an item */
    uint32_t n, n_parts;
    lw_dtype *dtypes; /* by part */
    lw_ref *columns;  /* by part: where its n values begin */
} lw_table;
/* The items of a constant tuple, read as `type`; false: they are not numbers or tuples of
 * them. */
bool lw_table_of_constant(lw_lower_frame *f, uint32_t constant, lw_type type, lw_table *table);
lw_lower_value lw_lower_member_value(lw_lower_frame *f, uint32_t node, lw_lower_value member);
lw_lower_value lw_table_item(lw_lower_frame *f, const lw_table *table,
                             lw_ref index); /* from 0, below n */
/* tuple[index], with an index that is known only at run time. */
lw_lower_value lw_lower_choose(lw_lower_frame *f, uint32_t node, uint32_t tuple, uint32_t index,
                               lw_type type);

/* ---- copy.c ---- */
/* Assign every element of `to`: from a scalar or record, or from an array that broadcasts to
 * it. */
void lw_lower_fill(lw_lower_frame *f, lw_lower_value to, lw_lower_value value);

/* ---- named_call.c: a call of a row of names.def while it is lowered ---- */
typedef struct lw_named_call {
    lw_lower_frame *f;
    lw_builder *b;
    uint32_t node;
    lw_impl impl;
    lw_type operand, type;
    uint32_t n_args;
    lw_dtype dtype;  /* type in which operands are stored; void: they have none */
    lw_ref *had_nan; /* collects whether an argument is NaN; NULL: it is not asked */
} lw_named_call;

/* Argument i, converted to the type of the operands: as it is, as one scalar, or as a complex
 * number. */
lw_lower_value lw_named_argument(const lw_named_call *c, uint32_t i);
lw_ref lw_named_scalar(const lw_named_call *c, uint32_t i);
lw_complex lw_named_complex(const lw_named_call *c, uint32_t i);
bool lw_named_given(const lw_named_call *c, uint32_t i);
bool lw_named_is_none(const lw_named_call *c, uint32_t i);
lw_ref lw_first_part(lw_lower_value value); /* 0: there is none */

/* The computed value, converted to the type of the call. */
lw_lower_value lw_named_result(const lw_named_call *c, lw_ref made);
lw_lower_value lw_named_complex_result(const lw_named_call *c, lw_complex made);
/* A tuple of two, each converted to the element's type. */
lw_lower_value lw_named_pair(const lw_named_call *c, lw_ref x, lw_ref y);
lw_lower_value lw_named_fail(const lw_named_call *c);

/* ---- named_items.c ---- */
lw_lower_value lw_named_min_max(const lw_named_call *c);
lw_lower_value lw_named_sum(const lw_named_call *c);
lw_lower_value lw_named_any_all(const lw_named_call *c);
lw_lower_value lw_named_gcd_lcm(const lw_named_call *c);
/* enumerate, zip and reversed of tuples are tuples again. */
lw_lower_value lw_named_written_out(const lw_named_call *c);
lw_lower_value lw_named_len(const lw_named_call *c);

/* ---- named_overlap.c ---- */
lw_lower_value lw_lower_overlap(lw_lower_frame *f, uint32_t node,
                                lw_impl impl); /* array_names.def */

/* ---- args.c ---- */
lw_status lw_lower_describe_args(lw_lowering *l, lw_scalar *scalar);

/* ---- iterator.c: what a for loop runs over ---- */
/* A range, or an iterable made of ranges, has a count that is computed before the loop; a short
 * tuple has a constant one (fixed), and the loop is unrolled; a long constant tuple is a
 * table. */
typedef struct lw_iterator {
    enum {
        LW_OVER_RANGE,
        LW_OVER_TUPLE,
        LW_OVER_TABLE,
        LW_OVER_ARRAY,
        LW_OVER_ENUMERATE,
        LW_OVER_ZIP,
        LW_OVER_REVERSED,
        LW_OVER_INDICES,
        LW_OVER_SLOTS,      /* of a list of arrays; `tuple`: its words */
        LW_OVER_CONTAINERS, /* of a list of typed lists or dicts; `tuple`: an object that has
                               their words */
        LW_OVER_TEXTS,      /* of a list of strings; `tuple`: the array of its words */
    } kind;
    lw_type type; /* type of the iterable: RANGE, TUPLE or ARRAY */
    lw_type item; /* ARRAY, SLOTS, CONTAINERS and TEXTS: of one item */
    bool fixed;
    uint32_t n_fixed;
    lw_ref count;             /* u64, an upper bound; 0: n_fixed, or lw_iterator_count */
    lw_ref start, stop, step; /* i64: of a range; start: where enumerate starts */
    bool parallel;            /* over prange, whose iterations go to all cores */
    bool rises; /* a range with a step that is known to be positive, but not how large it is */
    lw_lower_value tuple;  /* or array */
    const lw_ref *extents; /* INDICES: i64, by axis; `tuple` is the array whose elements come
                              with them, if they do */
    uint32_t n_extents;
    lw_table table;
    struct lw_iterator *inner;
    uint32_t n_inner;
    /* of a typed list or dict: the address of its size, which must not change in the loop, and
     * the size when the loop began; or 0 */
    lw_ref size_at, size;
    bool of_list;
} lw_iterator;
/* The number of iterations of range(start, stop, step), i64 each: u64. */
lw_ref lw_range_count(lw_builder *b, lw_ref start, lw_ref stop, lw_ref step);
/* item: the type of one item. */
lw_iterator lw_iterator_of(lw_lower_frame *f, uint32_t node, lw_type item);
/* Of an array, or of what holds the items of a list of tuples (a tuple of arrays) or of arrays.
 */
lw_iterator lw_iterator_of_rows(lw_lower_frame *f, lw_lower_value rows, lw_type item);
/* ---- parallel.c: loops over prange ---- */
/* Whether the iterable is a call of prange, and its iterations go to all cores. */
bool lw_is_parallel(lw_lower_frame *f, uint32_t iterable);
/* Whether `break` or `return` would leave such a loop; then it is E168. */
bool lw_leaves_parallel(lw_lower_frame *f, const char *what);
/* Whether a call of the instance would change the size of a typed list or dict in such a loop;
 * then it is E168. */
bool lw_resizes_in_parallel(lw_lower_frame *f, uint32_t instance);
/* Lowers the FOR as a loop over parts, if its iterations add to whole arrays. */
bool lw_for_array_sums(lw_lower_frame *f, uint32_t node, const lw_iterator *it);
/* Whether the node may be such an addition, for which memory may be missing. */
bool lw_may_be_array_sum(const lw_lowering *l, const lw_instance *inst, uint32_t node);

/* The number of iterations; for a range that rises it is computed only when it is needed,
 * because it takes divisions. */
lw_ref lw_iterator_count(lw_lower_frame *f, const lw_iterator *it);
/* Whether range() may meet a step of 0 at run time. step: an entry of its argument list. */
bool lw_step_may_be_zero(const lw_lowering *l, const lw_instance *inst, uint32_t step);
lw_lower_value lw_iterator_value(lw_lower_frame *f, uint32_t node);
/* Raises RuntimeError if the size of a typed list or dict has changed since the loop began. */
void lw_iterator_check(lw_lower_frame *f, const lw_iterator *it);
/* Whether it is over such a container, or several together with others. */
bool lw_iterator_is_checked(const lw_iterator *it);
/* Item k (u64); i is the same number when the loop is unrolled. */
lw_lower_value lw_iterator_item(lw_lower_frame *f, const lw_iterator *it, lw_ref k, uint32_t i);

/* ---- if_conversion.c ---- */
/* The cost of evaluating the expression, about one per instruction; LW_COST_NEVER: it must not
 * run unless it is reached. */
enum { LW_COST_NEVER = 1 << 20, LW_COST_IF_CONVERSION = 96 };
uint32_t lw_cost_expression(lw_lower_frame *f, uint32_t node);
/* Lower both arms of this IF as selects; true when that was done. */
bool lw_lower_if_converted(lw_lower_frame *f, uint32_t node);
/* Lower the statements of a body from index on, up to its RETURN, as one value. */
bool lw_lower_tail_converted(lw_lower_frame *f, uint32_t body, uint32_t index);

/* ---- named.c ---- */
lw_lower_value lw_lower_named(lw_lower_frame *f, uint32_t node);
uint32_t lw_cost_named(const lw_lower_frame *f, uint32_t node);

/* ---- named_call.c ---- */
bool lw_argument_is_none(const lw_lower_frame *f, uint32_t call,
                         uint32_t index); /* given, and None */

/* ---- kernel.c ---- */
lw_lower_value lw_lower_kernel(lw_lower_frame *f, uint32_t node);
uint32_t lw_cost_kernel(lw_rule rule);

/* ---- print.c ---- */
lw_lower_value lw_lower_print(lw_lower_frame *f, uint32_t node);
/* The arguments of an exception as str() shows them: returns the number of the format, 0 when
 * memory is out. words has room for LW_RAISE_WORDS, of which *n are used. */
uint64_t lw_lower_raise_format(lw_lower_frame *f, uint32_t node, lw_ref *words, uint32_t *n);
/* The same arguments one by one, into row->args: of a class of the user's. */
void lw_lower_raise_args(lw_lower_frame *f, uint32_t node, lw_raise_row *row, lw_ref *words,
                         uint32_t *n);
/* Leave the function with an exception if the condition holds, whose message is the value and
 * the text behind it; the text alone if values cannot be carried. */
void lw_lower_raise_value(lw_lower_frame *f, lw_ref condition, lw_lower_value value,
                          const char *behind);

/* ---- libdevice.c ---- */
lw_lower_value lw_lower_libdevice(lw_lower_frame *f, uint32_t node);

/* ---- external.c ---- */
lw_lower_value lw_lower_external(lw_lower_frame *f, uint32_t node);

#endif
