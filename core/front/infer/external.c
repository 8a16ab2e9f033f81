/* Calls of functions in other languages: arguments are checked and converted as the
 * declarations say. */
#include "core/front/infer/infer_internal.h"

#include "core/front/external.h"
#include "core/front/records.h"

#include <string.h>

typedef struct external_arguments {
    lw_infer_frame *f;
    uint32_t node;
    const lw_external *external;
} external_arguments;

static const char *
describe_sig_type(lw_infer_frame *f, const lw_sig_type *type)
{
    lw_text text = {0};
    const char *said;

    if (!f->report)
        return NULL;
    lw_sig_type_print(type, &text);
    said = lw_format_text(f, "%s", lw_text_get(&text));
    lw_text_reset(&text);
    return said;
}

static lw_status
complain(const external_arguments *c, const lw_arg *arg, const lw_sig_type *wanted,
         const char *help)
{
    const char *said = describe_sig_type(c->f, wanted);

    return lw_complain(c->f, lw_node_of(c->f, arg->node)->loc, "E120",
                       lw_format_text(c->f, "this is %s", lw_describe_value(c->f, arg->value)),
                       help, "`%s` takes %s here", c->external->name, said ? said : "");
}

/* ---- memory ---- */

static lw_status
check_written(const external_arguments *c, const lw_arg *arg, bool readonly)
{
    if (!readonly)
        return LW_OK;
    return lw_complain(c->f, lw_node_of(c->f, arg->node)->loc, "E162",
                       lw_format_text(c->f, "this is %s", lw_describe_value(c->f, arg->value)),
                       "pass a writable copy", "`%s` may write through its pointers",
                       c->external->name);
}

static bool
points_to_anything(const lw_sig_type *pointer)
{
    return pointer->dtype == LW_DT_void && pointer->record == NULL;
}

static bool
points_to_elements(lw_infer_frame *f, const lw_sig_type *pointer, lw_type element)
{
    const lw_type_row *record = lw_record_row(lw_types_of(f), element);

    if (points_to_anything(pointer))
        return true;
    return pointer->record ? lw_same_record(record, pointer->record)
                           : element == (lw_type)pointer->dtype;
}

static lw_status
check_pointer(const external_arguments *c, const lw_arg *arg, const lw_sig_type *wanted)
{
    const lw_type_row *array = lw_array_row(c->f, arg->value.type);
    const lw_type_row *record = lw_record_row(lw_types_of(c->f), arg->value.type);

    if (record != NULL && (points_to_anything(wanted) ||
                           (wanted->record && lw_same_record(record, wanted->record))))
        return check_written(c, arg, record->readonly);
    if (array == NULL || !points_to_elements(c->f, wanted, array->elements[0]))
        return complain(c, arg, wanted, "a pointer is the address of an array's first element");
    if (array->layout == LW_LAYOUT_ANY)
        return complain(c, arg, wanted, "its elements must be contiguous");
    return check_written(c, arg, array->readonly);
}

static lw_layout
layout_of(const lw_sig_type *type)
{
    return type->layout == 'C'   ? LW_LAYOUT_C
           : type->layout == 'F' ? LW_LAYOUT_F
                                 : LW_LAYOUT_ANY;
}

static lw_status
check_array(const external_arguments *c, const lw_arg *arg, const lw_sig_type *wanted)
{
    const lw_type_row *array = lw_array_row(c->f, arg->value.type);
    lw_layout layout = layout_of(wanted);

    if (array == NULL || array->ndim != wanted->ndim ||
        array->elements[0] != (lw_type)wanted->dtype ||
        (layout != LW_LAYOUT_ANY && array->layout != layout))
        return complain(c, arg, wanted, NULL);
    return check_written(c, arg, array->readonly);
}

/* ---- arguments ---- */

static lw_status
check_argument(const external_arguments *c, const lw_arg *arg, const lw_sig_type *wanted)
{
    if (wanted->kind == LW_SIG_POINTER)
        return check_pointer(c, arg, wanted);
    if (wanted->kind == LW_SIG_ARRAY)
        return check_array(c, arg, wanted);
    if (!lw_type_is_number(c->f, arg->value.type))
        return complain(c, arg, wanted, NULL);
    return lw_check_value(c->f, arg->node, arg->value.type, wanted->dtype, "parameter");
}

static lw_status
check_arguments(const external_arguments *c, const lw_arg *args, uint32_t n)
{
    const lw_signature *signature = &c->external->signature;
    const char *name = c->external->name;
    lw_status status = LW_OK;

    if (n != signature->n_args)
        return lw_complain(c->f, lw_node_of(c->f, c->node)->loc, "E153",
                           lw_format_text(c->f, "`%s` takes %u argument%s, %u given", name,
                                          signature->n_args, signature->n_args == 1 ? "" : "s",
                                          n),
                           NULL, "wrong number of arguments for `%s`", name);
    for (uint32_t i = 0; i < n; i++) {
        if (args[i].keyword)
            return lw_complain(c->f, lw_node_of(c->f, args[i].node)->loc, "E153",
                               lw_format_text(c->f, "no parameter `%s`", args[i].keyword), NULL,
                               "the parameters of `%s` have no names", name);
        LW_TRY(check_argument(c, &args[i], &signature->args[i]));
    }
fail:
    return status;
}

/* ---- two declarations of one name ---- */

/* Whether arguments of both types are the same to the function: pointers are all alike, and so
 * are arrays of as many axes. */
static bool
same_to_machine(const lw_sig_type *x, const lw_sig_type *y)
{
    if (x->kind != y->kind || x->ndim != y->ndim)
        return false;
    return x->kind == LW_SIG_POINTER || x->kind == LW_SIG_ARRAY || x->dtype == y->dtype;
}

static bool
same_declaration(const lw_external *x, const lw_external *y)
{
    bool same = x->c_abi == y->c_abi && x->signature.n_args == y->signature.n_args &&
                same_to_machine(&x->signature.result, &y->signature.result);

    for (uint32_t i = 0; same && i < x->signature.n_args; i++)
        same = same_to_machine(&x->signature.args[i], &y->signature.args[i]);
    return same;
}

static const char *
describe_declaration(lw_infer_frame *f, const lw_external *external)
{
    lw_text text = {0};
    const char *said;

    lw_signature_print(&external->signature, &text);
    said =
        lw_format_text(f, "%s%s", lw_text_get(&text), external->c_abi ? " with abi=\"c\"" : "");
    lw_text_reset(&text);
    return said ? said : "";
}

/* The linker identifies functions by their names alone. */
static lw_status
check_unique(const external_arguments *c)
{
    const lw_tree *tree = c->f->run->tree;

    for (uint32_t i = 1; i < tree->constants.n && c->f->report && !c->external->address; i++) {
        const lw_constant *constant = &tree->constants.data[i];
        const lw_external *other = constant->bytes;

        if (constant->kind != LW_K_EXTERNAL || other->address ||
            strcmp(other->name, c->external->name) != 0 || same_declaration(other, c->external))
            continue;
        return lw_complain(c->f, lw_node_of(c->f, c->node)->loc, "E153",
                           lw_format_text(c->f, "%s here, and %s elsewhere",
                                          describe_declaration(c->f, c->external),
                                          describe_declaration(c->f, other)),
                           "a symbol names one function: give each function its own symbol, "
                           "and choose between them by an overload",
                           "`%s` is declared in two different ways", other->name);
    }
    return LW_OK;
}

/* ---- the call ---- */

static lw_type
result_type(lw_infer_frame *f, const lw_sig_type *result)
{
    lw_types *types = lw_types_of(f);

    if (result->kind == LW_SIG_VOID)
        return LW_T_NONE;
    if (result->kind == LW_SIG_SCALAR)
        return (lw_type)result->dtype;
    return lw_type_array_owned(types,
                               lw_type_array(types, (lw_type)result->dtype, result->ndim,
                                             layout_of(result), false, NULL),
                               true);
}

lw_status
lw_infer_external(lw_infer_frame *f, uint32_t node, uint32_t constant, const lw_arg *args,
                  uint32_t n, lw_infer_value *out)
{
    external_arguments c = {f, node, lw_constant_of(f, constant)->bytes};
    const lw_sig_type *result = &c.external->signature.result;
    lw_status status;

    LW_TRY(check_arguments(&c, args, n));
    LW_TRY(check_unique(&c));
    out->type = result_type(f, result);
    f->acts = true;
    f->can_raise |= !c.external->c_abi && !f->run->typed->options.ignore_errors;
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_EXTERNAL;
    lw_typed_in(&f->nodes, node)->target = constant;
    LW_TRY(lw_call_arguments(f, node, args, n));
fail:
    return status;
}
