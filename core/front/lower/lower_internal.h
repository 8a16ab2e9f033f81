/* Shared by the files of lowering: lower.c (functions), value.c (values of several
 * parts), operator.c, expression.c, statement.c, flat.c (selects
 * instead of branches), named.c (named functions). */
#ifndef LW_FRONT_LOWER_INTERNAL_H
#define LW_FRONT_LOWER_INTERNAL_H

#include "core/front/numeric/complex.h"
#include "core/front/lower/lower.h"
#include "core/front/named.h"

/* A value of any type is its scalar parts in order: complex numbers two, tuples those of their
 * elements, what is only known at compile time none. */
typedef struct lw_lower_value {
    lw_type type;
    uint32_t n;
    const lw_ref *parts;
    const struct lw_iterator *iterator; /* of a range, or NULL */
} lw_lower_value;

typedef struct lw_lowering {
    const lw_typed *typed;
    const lw_tree *tree;
    const lw_types *types;
    lw_module *module;
    lw_arena *arena; /* the module's: lives as long as the result */
    lw_error *err;
    lw_status status; /* the first failure */
    uint32_t *funcs;  /* by instance: function number + 1; 0 = not yet lowered */
    uint32_t *locs;   /* by tree loc: loc of the module + 1; 0 = not yet there */
    uint8_t *raising; /* by instance: 0 not known yet, 1 no, 2 yes */
    uint32_t n_insts; /* of the functions that are finished */
    bool guards;      /* indices that options.guards names are checked … */
    bool late;        /* … and functions go on to their end behind one that is outside */
    uint32_t n_raise_words; /* results behind the status of what can raise */
    const lw_dtype *out_types;
    uint32_t n_out;
    LW_ARRAY(lw_raise_row) raises;
} lw_lowering;

/* Where break and continue go: the n-th open BLOCK or LOOP from outside. */
typedef struct lw_lower_loop {
    struct lw_lower_loop *outer;
    uint32_t break_region, continue_region;
    bool continue_is_block; /* of a loop written out: continue leaves the iteration's block */
} lw_lower_loop;

/* An assignment that is not written yet: in an arm that runs whatever the condition says. */
typedef struct lw_pending {
    uint32_t web;
    lw_lower_value value;
} lw_pending;

/* A value that is never negative: of a range that only rises, an element's index. */
typedef struct lw_counter {
    lw_ref value;
    uint64_t least;
    lw_ref stop; /* i64, above the value; 0: none is known */
} lw_counter;

/* A RETURN that the user wrote, with its node. */
typedef struct lw_return {
    lw_ref inst;
    uint32_t node;
} lw_return;

/* The function that is being lowered. */
typedef struct lw_lower_frame {
    lw_lowering *l;
    const lw_instance *inst;
    uint32_t instance;
    const lw_fn *fn;
    lw_builder b;
    const lw_ref **webs; /* by web: its value's parts (single) or its slots; NULL = none yet */
    bool *slotted;       /* by web: kept in slots although it has one definition */
    const struct lw_iterator **iterators; /* by web: of ranges in variables */
    lw_lower_loop *loop;
    uint32_t regions;     /* open BLOCKs and LOOPs */
    uint32_t written_out; /* how often this place stands in the code: of loops written out */
    uint32_t node;        /* statement or expression that is lowered now */
    bool can_raise;
    lw_lower_value
        *opened;          /* of a function that stands in its caller's body: what it returns */
    uint32_t shared_node; /* of the call: a value whose elements are arguments, taken once */
    lw_lower_value shared;
    uint32_t flat;       /* how many arms deep: then assignments wait in `pending` */
    uint32_t flat_start; /* where this arm's begin */
    LW_ARRAY(lw_pending) pending;
    LW_ARRAY(lw_counter) counters;
    lw_ref late;     /* slot: the status that the function will leave with; 0: none */
    lw_ref *outside; /* by axis: where guards leave what they found, to raise behind the load */
    LW_ARRAY(bool) guarded; /* the user's function: by parameter of the IR */
    LW_ARRAY(lw_return) returns;
} lw_lower_frame;

/* ---- lower.c ---- */
/* Whether the user's errors are raised here: not under errors="ignore", which leaves the guards
 * of memory alone. */
static inline bool
lw_raises_errors(const lw_lower_frame *f)
{
    return f->can_raise && !f->l->typed->options.ignore_errors;
}

const lw_node *lw_node_at(const lw_lower_frame *f, uint32_t node);
const lw_typed_node *lw_typed_at(const lw_lower_frame *f, uint32_t node);
uint32_t lw_list_at(const lw_lower_frame *f, uint32_t index); /* of tree->lists */
/* An internal error, once: something reached lowering that inference should have refused. */
lw_lower_value lw_lower_fail(lw_lower_frame *f, uint32_t node, const char *what);
/* E130 at f->node: `number`, a constant or a range of them, is outside of what dtype holds. */
lw_lower_value lw_lower_refuse_number(lw_lower_frame *f, const char *number, lw_dtype dtype);
/* E105 once the function and its callees have more instructions than the compilers bear: then
 * nothing more is lowered. */
bool lw_lower_too_long(lw_lower_frame *f, uint32_t node);
void lw_lower_place(lw_lower_frame *f,
                    uint32_t node); /* later instructions come from this node */
void lw_lower_return(lw_lower_frame *f, lw_lower_value value);
/* Leave the function with an exception when the condition holds; 0: always. */
void lw_lower_raise(lw_lower_frame *f, lw_ref condition, const char *exception,
                    const char *message);
/* The same of a guard; where lowering.late says so, without a branch: the function goes on. */
void lw_lower_raise_late(lw_lower_frame *f, lw_ref condition, const char *exception,
                         const char *message);
/* check={"overflow"}: whether it is asked of numbers of this type, and its OverflowError; where
 * the condition is 0 there is none. */
bool lw_lower_checks_overflow(const lw_lower_frame *f, lw_dtype type);
void lw_lower_check_overflow(lw_lower_frame *f, lw_ref overflows);
/* check={"nan"}: whether it is asked; whether a number, or one of a tuple, is NaN (0: none can
 * be); and its FloatingPointError where `made` is and `before` (0: false) is not. */
bool lw_lower_checks_nan(const lw_lower_frame *f);
lw_ref lw_lower_has_nan(lw_lower_frame *f, lw_lower_value value);
void lw_lower_check_nan(lw_lower_frame *f, lw_ref before, lw_lower_value made);
/* check={"divide"}: ZeroDivisionError where the divisor is 0. */
void lw_lower_check_divisor(lw_lower_frame *f, lw_lower_value divisor, const char *message);
/* lw_lower_raise, always, with a message that shows these words. */
void lw_lower_raise_words(lw_lower_frame *f, const char *exception, uint64_t format,
                          const lw_ref *words, uint32_t n);
/* A callee that left with an exception: leave with the same one. */
void lw_lower_pass_on(lw_lower_frame *f, lw_ref call);
uint32_t lw_lower_instance(lw_lowering *l, uint32_t instance); /* its function number */
bool lw_instance_raises(lw_lowering *l, uint32_t instance);

/* ---- sums.c ---- */
/* Fills scalar->warning where a loop of the finished module adds up in narrow floats. */
lw_status lw_lower_note_sums(const lw_lowering *l, lw_scalar *scalar);

/* ---- opened.c ---- */
/* Whether the instance's body may stand in the place of a call. */
bool lw_may_open(const lw_lower_frame *f, uint32_t instance);
/* It does: values by parameter (those known at compile time are not looked at). */
lw_lower_value lw_lower_opened(lw_lower_frame *f, uint32_t instance,
                               const lw_lower_value *values);
bool lw_lower_frame_init(lw_lower_frame *f, lw_lowering *l,
                         uint32_t instance);      /* false: memory out */
void lw_lower_take_parameters(lw_lower_frame *f); /* f->webs: the parts of each by its web */

/* ---- value.c ---- */
uint32_t lw_parts_of(const lw_types *types, lw_type type);
/* The dtype of each part; out has lw_parts_of entries. */
void lw_part_types(const lw_types *types, lw_type type, lw_dtype *out);
lw_lower_value lw_value_of(lw_lower_frame *f, lw_type type, const lw_ref *parts,
                           uint32_t n); /* copies parts */
lw_lower_value lw_value_scalar(lw_lower_frame *f, lw_type type, lw_ref part);
lw_lower_value lw_value_complex(lw_lower_frame *f, lw_type type, lw_complex parts);
lw_lower_value lw_value_zero(lw_lower_frame *f, lw_type type);
lw_lower_value lw_value_konst(lw_lower_frame *f, uint32_t konst, lw_type type);
/* The bits of its parts, of numbers and tuples of them; how many. out has lw_parts_of entries.
 */
uint32_t lw_konst_part_bits(lw_lower_frame *f, uint32_t konst, lw_type type, uint64_t *out);
lw_lower_value lw_value_convert(lw_lower_frame *f, lw_lower_value value, lw_type to);
lw_lower_value lw_value_element(lw_lower_frame *f, lw_lower_value tuple, uint32_t index);
lw_lower_value lw_value_select(lw_lower_frame *f, lw_ref condition, lw_lower_value yes,
                               lw_lower_value no);
lw_ref lw_value_truth(lw_lower_frame *f, lw_lower_value value);
bool lw_value_is_complex(const lw_lower_value *value, const lw_lower_frame *f);
bool lw_value_is_tuple(const lw_lower_value *value, const lw_lower_frame *f);
lw_complex lw_value_as_complex(lw_lower_frame *f, lw_lower_value value, lw_dtype part);
bool lw_type_is_integer(const lw_types *types, lw_type type); /* or bool, also the weak ones */
/* Variables that outlive a region. */
const lw_ref *lw_value_slots(lw_lower_frame *f, lw_type type);
void lw_value_set(lw_lower_frame *f, const lw_ref *slots, lw_lower_value value);
lw_lower_value lw_value_get(lw_lower_frame *f, const lw_ref *slots, lw_type type);

/* ---- operator.c: operands are converted already, result of the operand's kind ---- */
lw_lower_value lw_lower_binary(lw_lower_frame *f, lw_pyop op, lw_lower_value x,
                               lw_lower_value y, lw_type result);
lw_lower_value lw_lower_unary(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_type result);
/* x and y as they are; `operand` is what floats and complex numbers are compared as. */
lw_ref lw_lower_compare(lw_lower_frame *f, lw_pyop op, lw_lower_value x, lw_lower_value y,
                        lw_type operand);
bool lw_is_shift(lw_pyop op);

/* ---- expression.c ---- */
lw_lower_value lw_lower_expression(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_as(lw_lower_frame *f, uint32_t node, lw_type type); /* and converted */
/* `node` says the types; left as it is, the right operand still a node. */
lw_lower_value lw_lower_binary_nodes(lw_lower_frame *f, uint32_t node, lw_pyop op,
                                     lw_lower_value left, uint32_t right);
/* Entries of a call's argument list (LW_ARG_*). `given`: an entry is there. */
bool lw_argument_given(const lw_lower_frame *f, uint32_t call, uint32_t index);
lw_lower_value lw_lower_argument(lw_lower_frame *f, uint32_t call, uint32_t index);
lw_lower_value lw_lower_argument_as(lw_lower_frame *f, uint32_t call, uint32_t index,
                                    lw_type type);
lw_lower_value lw_lower_entry(lw_lower_frame *f, uint32_t entry);

/* ---- condition.c ---- */
lw_ref lw_lower_condition(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_boolop(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_compare_chain(lw_lower_frame *f, uint32_t node);
lw_lower_value lw_lower_ifexp(lw_lower_frame *f, uint32_t node);

/* ---- statement.c ---- */
void lw_lower_body(lw_lower_frame *f, uint32_t body);
void lw_lower_statement(lw_lower_frame *f, uint32_t node);
void lw_lower_assign(lw_lower_frame *f, uint32_t target, lw_lower_value value);
void lw_lower_web_write(lw_lower_frame *f, uint32_t web, lw_lower_value value);
lw_lower_value lw_lower_web_read(lw_lower_frame *f, uint32_t web);
uint32_t lw_lower_region_open(lw_lower_frame *f, bool loop); /* BLOCK or LOOP; its number */
void lw_lower_region_close(lw_lower_frame *f);
void lw_block_leave(lw_lower_frame *f, uint32_t region);

/* ---- escape.c ---- */
/* E102 when the function, now complete, returns memory of its own. */
void lw_check_escapes(lw_lower_frame *f);

/* ---- record.c ---- */
/* An item in memory, `align` bytes of its address known to be 0 (0: the type's own). Of records
 * and arrays inside them the value is the address. */
lw_lower_value lw_lower_load(lw_lower_frame *f, lw_type type, lw_ref address, uint32_t align);
void lw_lower_store(lw_lower_frame *f, lw_type type, lw_ref address, lw_lower_value value,
                    uint32_t align);
void lw_lower_record_copy(lw_lower_frame *f, lw_type type, lw_ref to, lw_lower_value value);
/* object.name and object["name"]; of arrays of records the view. */
lw_lower_value lw_lower_field(lw_lower_frame *f, lw_lower_value object, const char *name,
                              lw_type type);
/* The field that a[b] or a.b names, with `a` of this type; NULL: it is none. */
const char *lw_lower_field_name(const lw_lower_frame *f, uint32_t node, lw_type type);
/* The address of a field of one record; *align: what is sure of it. */
lw_ref lw_lower_field_address(lw_lower_frame *f, lw_lower_value record, const char *name,
                              uint32_t *align);

/* ---- address.c ---- */
lw_ref lw_array_extent(lw_lower_frame *f, lw_lower_value array, uint32_t axis); /* i64 */
lw_ref lw_array_stride(lw_lower_frame *f, lw_lower_value array, uint32_t axis); /* bytes, i64 */
/* Remember that the value counts from `start`, which is never negative (0: from 0), and stays
 * below `stop` (0: nobody knows). */
void lw_lower_counts(lw_lower_frame *f, lw_ref value, lw_ref start, lw_ref stop);
const lw_counter *lw_counter_of(const lw_lower_frame *f,
                                lw_ref value); /* NULL: it counts nothing */
bool lw_never_negative(const lw_lower_frame *f, lw_ref value);
/* Of array[index], one element: wrapped around and checked as the options say. Aligned as
 * lw_type_get(array.type)->align says (0: as its type is). */
lw_ref lw_lower_element_address(lw_lower_frame *f, lw_lower_value array, uint32_t index);

/* ---- array.c ---- */
lw_lower_value lw_lower_array_subscript(lw_lower_frame *f, uint32_t node, lw_lower_value array);
lw_lower_value lw_lower_array_attribute(lw_lower_frame *f, uint32_t node, lw_lower_value array,
                                        const char *name);
lw_lower_value lw_lower_array_item(lw_lower_frame *f, lw_lower_value array, lw_ref k,
                                   lw_type type);
lw_lower_value lw_array_convert(lw_lower_frame *f, lw_lower_value array, lw_type to);
/* Targets a[b] and a.b: elements, views, fields. */
void lw_lower_memory_store(lw_lower_frame *f, uint32_t target, lw_lower_value value);
void lw_lower_augmented_store(lw_lower_frame *f,
                              uint32_t node); /* AUGASSIGN of such a target */

/* ---- table.c ---- */
/* A tuple of more items than this is read from memory by a run-time index: up to here a choice
 * among registers is no longer than the address and the load. */
enum { LW_SELECTED_ITEMS = 16 };
typedef struct lw_table {
    lw_type type; /* of an item */
    uint32_t n, n_parts;
    lw_dtype *dtypes; /* by part */
    lw_ref *columns;  /* by part: where its n values begin */
} lw_table;
/* The items of a constant tuple, read as `type`; false: they are no numbers or tuples of them.
 */
bool lw_table_of_konst(lw_lower_frame *f, uint32_t konst, lw_type type, lw_table *table);
/* Of any tuple, stored into memory of the call. */
bool lw_table_of_value(lw_lower_frame *f, lw_lower_value tuple, lw_type type, lw_table *table);
lw_lower_value lw_table_item(lw_lower_frame *f, const lw_table *table,
                             lw_ref index); /* from 0, below n */
/* tuple[index], with an index known at run time only. */
lw_lower_value lw_lower_choose(lw_lower_frame *f, uint32_t node, uint32_t tuple, uint32_t index,
                               lw_type type);

/* ---- copy.c ---- */
/* Every element of `to`: a scalar or a record, or those of an array of the same shape. */
void lw_lower_fill(lw_lower_frame *f, lw_lower_value to, lw_lower_value value);

/* ---- walk.c ---- */
lw_lower_value lw_lower_walk(lw_lower_frame *f, uint32_t node,
                             lw_impl impl); /* array_names.def */

/* ---- args.c ---- */
lw_status lw_lower_describe_args(lw_lowering *l, lw_scalar *scalar);

/* ---- iterator.c: what a for loop runs over ---- */
/* Ranges, and what is made of them, have a count that is computed before the loop; short tuples
 * have one known now (fixed), and the loop is written out; long constant ones are tables. */
typedef struct lw_iterator {
    enum {
        LW_OVER_RANGE,
        LW_OVER_TUPLE,
        LW_OVER_TABLE,
        LW_OVER_ARRAY,
        LW_OVER_ENUMERATE,
        LW_OVER_ZIP,
        LW_OVER_REVERSED
    } kind;
    lw_type type; /* of the iterable: RANGE, TUPLE or ARRAY */
    lw_type item; /* ARRAY: of one item */
    bool fixed;
    uint32_t n_fixed;
    lw_ref count; /* u64 iterations at most; 0: n_fixed alone decides, or lw_iterator_count */
    lw_ref start, stop, step; /* i64: of a range; start: what enumerate counts from */
    bool rises; /* a range by a step that is known to be above 0 only as the program runs */
    lw_lower_value tuple; /* or array */
    lw_table table;
    struct lw_iterator *inner;
    uint32_t n_inner;
} lw_iterator;
/* Iterations of range(start, stop, step), i64 each: u64. */
lw_ref lw_range_count(lw_builder *b, lw_ref start, lw_ref stop, lw_ref step);
/* item: the type of one item. */
lw_iterator lw_iterator_of(lw_lower_frame *f, uint32_t node, lw_type item);
/* The count; of a range that rises it is not made before it is asked for: it takes divisions.
 */
lw_ref lw_iterator_count(lw_lower_frame *f, const lw_iterator *it);
/* Whether range() may meet a step of 0 at run time. step: an entry of its argument list. */
bool lw_step_may_be_zero(const lw_lowering *l, const lw_instance *inst, uint32_t step);
lw_lower_value lw_iterator_value(lw_lower_frame *f, uint32_t node);
/* Item k (u64); i is the same number when the loop is written out. */
lw_lower_value lw_iterator_item(lw_lower_frame *f, const lw_iterator *it, lw_ref k, uint32_t i);

/* ---- flat.c ---- */
/* What evaluating the expression costs, about one per instruction; LW_COST_NEVER: it must not
 * run unless it is reached. */
enum { LW_COST_NEVER = 1 << 20, LW_COST_FLAT = 96 };
uint32_t lw_cost_expression(lw_lower_frame *f, uint32_t node);
uint32_t lw_cost_arguments(lw_lower_frame *f, uint32_t call);
/* Both arms of this IF, as selects: true when that was done. */
bool lw_lower_if_flat(lw_lower_frame *f, uint32_t node);
/* The statements of a body from index on, up to its RETURN, as one value. */
bool lw_lower_tail_flat(lw_lower_frame *f, uint32_t body, uint32_t index);

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
/* The arguments of an exception as str() shows them: the format's number, 0 when memory is out;
 * words: room for LW_RAISE_WORDS, *n of them are used. */
uint64_t lw_lower_raise_format(lw_lower_frame *f, uint32_t node, lw_ref *words, uint32_t *n);

/* ---- libdevice.c ---- */
lw_lower_value lw_lower_libdevice(lw_lower_frame *f, uint32_t node);

/* ---- external.c ---- */
lw_lower_value lw_lower_external(lw_lower_frame *f, uint32_t node);

/* ---- atomic.c ---- */
lw_lower_value lw_lower_atomic(lw_lower_frame *f, uint32_t node);

#endif
