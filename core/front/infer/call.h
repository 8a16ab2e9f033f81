/* What arguments.c, call.c and callee.c share: calls by the kind of what is called, and the
 * binding of arguments to parameters. */
#ifndef LW_FRONT_INFER_CALL_H
#define LW_FRONT_INFER_CALL_H

#include "core/front/infer/infer_internal.h"

typedef LW_ARRAY(lw_arg) lw_arg_list;

/* What arguments of a call may be. */
typedef enum lw_args_kind {
    LW_ARGS_PLAIN,       /* values */
    LW_ARGS_SHOWN,       /* f-strings, too */
    LW_ARGS_ELEMENTWISE, /* expressions of arrays, too, which the callee evaluates by element */
    LW_ARGS_OF_UFUNC,    /* both of these, of a Ufunc of ours */
    LW_ARGS_OPTIONAL     /* values that are None on some paths, too */
} lw_args_kind;

/* ---- arguments.c ---- */
/* An entry that is item i of the tuple at this node. */
uint32_t lw_element_entry(lw_infer_frame *f, uint32_t node, uint32_t i);
lw_status lw_add_arg(lw_infer_frame *f, lw_arg_list *args, lw_arg arg);
/* *unknown: whether some argument has no type yet. */
lw_status lw_infer_args(lw_infer_frame *f, const lw_node *call, lw_args_kind kind,
                        lw_arg_list *args, bool *unknown);

/* ---- call.c ---- */
/* `function` is the type of a nested function that captures, or BOTTOM. */
lw_status lw_call_function(lw_infer_frame *f, uint32_t node, uint32_t fn, lw_type function,
                           const lw_arg_list *args, lw_infer_value *out);
/* An object without fields, and its `__init__`, if there is one. */
lw_status lw_construct(lw_infer_frame *f, uint32_t node, const lw_class *class,
                       const lw_arg_list *args, lw_infer_value *out);
/* linked: what the callable brings beside its function: an instance, a class. */
lw_status lw_call_linked(lw_infer_frame *f, uint32_t node, uint32_t fn, uint32_t linked,
                         const lw_arg_list *args, lw_infer_value *out);
lw_status lw_call_external(lw_infer_frame *f, uint32_t node, uint32_t number,
                           const lw_arg_list *args, lw_infer_value *out);

/* ---- array_expression.c ---- */
/* The call of a Ufunc of ours, a constant: for each element where an operand is an array. */
lw_status lw_infer_array_called(lw_infer_frame *f, uint32_t node, uint32_t callee,
                                const lw_arg_list *args, lw_infer_value *out);

/* ---- list.c ---- */
lw_status lw_infer_list_extreme(lw_infer_frame *f, uint32_t node, lw_infer_value callee,
                                const lw_arg_list *args, bool *found, lw_infer_value *out);
/* Lists become arrays, where the callee is a function that takes arrays and no lists. */
lw_status lw_infer_list_arguments(lw_infer_frame *f, lw_infer_value callee, lw_arg_list *args,
                                  bool *unknown);

#endif
