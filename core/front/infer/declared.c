/* Calls of functions that were made with signatures: which signature accepts the arguments, and
 * how arguments and results are converted to it.
 *
 * A function with one signature converts its arguments as an assignment to an array would: a
 * float may be rounded and an integer may wrap; a conversion that loses more is E142, a
 * constant that does not fit is E130. Of several signatures the nearest one is chosen, by the
 * costs of promote.c. Arrays are never converted. If arrays do not match, or no signature does,
 * the call is E181. */
#include "core/front/infer/infer_internal.h"

#include "core/front/records.h"

#include <string.h>

enum { COST_ROUNDS = 5, COST_WRAPS = 6, COST_CUTS = 7, COST_NONE = -1 };

/* ---- how near an argument is to a signature ---- */

static int
number_cost(lw_infer_frame *f, lw_type given, lw_dtype declared)
{
    lw_type_kind kind = lw_type_kind_of(lw_types_of(f), given);
    lw_dtype from = lw_type_stored(lw_types_of(f), given);
    int cost;

    if (kind == LW_TK_LITERAL && lw_is_integer(declared) &&
        !lw_literal_fits(lw_types_of(f), given, declared))
        return COST_NONE;
    cost = lw_cast_cost(from, kind == LW_TK_LITERAL || kind == LW_TK_WEAK, declared);
    if (cost >= 0)
        return cost;
    if (lw_is_time(from) || lw_is_time(declared))
        return COST_NONE;
    if (lw_is_integer(from) && lw_is_integer(declared))
        return COST_WRAPS;
    return lw_weak_mode(f) || lw_is_complex(from) ? COST_NONE : COST_CUTS;
}

bool
lw_same_record(const lw_type_row *row, const lw_arg_record *record)
{
    return row != NULL && row->record->itemsize == record->itemsize &&
           strcmp(row->record->name, record->name) == 0;
}

static int
array_cost(lw_infer_frame *f, lw_type given, const lw_sig_type *declared)
{
    const lw_type_row *array = lw_array_row(f, given);
    lw_layout layout = declared->layout == 'C'   ? LW_LAYOUT_C
                       : declared->layout == 'F' ? LW_LAYOUT_F
                                                 : LW_LAYOUT_ANY;

    if (array == NULL || array->ndim != declared->ndim ||
        (layout != LW_LAYOUT_ANY && layout != (lw_layout)array->layout))
        return COST_NONE;
    if (declared->record != NULL
            ? !lw_same_record(lw_record_row(lw_types_of(f), array->elements[0]),
                              declared->record)
            : array->elements[0] != (lw_type)declared->dtype)
        return COST_NONE;
    return layout != (lw_layout)array->layout;
}

static int cost_of(lw_infer_frame *f, lw_type given, const lw_sig_type *declared);

static int
tuple_cost(lw_infer_frame *f, lw_type given, const lw_sig_type *declared)
{
    const lw_type_row *row = lw_tuple_row(f, given);
    int cost = 0;

    if (row == NULL || row->n != declared->n || (declared->names && row->names == NULL))
        return COST_NONE;
    for (uint32_t i = 0; i < row->n; i++) {
        int one = cost_of(f, row->elements[i], &declared->items[i]);
        if (one < 0 || (declared->names && strcmp(declared->names[i], row->names[i]) != 0))
            return COST_NONE;
        cost += one;
    }
    return cost;
}

static int
cost_of(lw_infer_frame *f, lw_type given, const lw_sig_type *declared)
{
    switch (declared->kind) {
    case LW_SIG_SCALAR:
        return lw_type_is_scalar(f, given) ? number_cost(f, given, declared->dtype) : COST_NONE;
    case LW_SIG_ARRAY: return array_cost(f, given, declared);
    case LW_SIG_RECORD:
        return lw_same_record(lw_record_row(lw_types_of(f), given), declared->record)
                   ? 0
                   : COST_NONE;
    case LW_SIG_TUPLE: return tuple_cost(f, given, declared);
    case LW_SIG_VOID: return given == LW_T_NONE ? 0 : COST_NONE;
    case LW_SIG_POINTER: /* core/front/infer/external.c says more of those that do not fit */
        return lw_array_row(f, given) || lw_record_row(lw_types_of(f), given) ? 0 : COST_NONE;
    default: return COST_NONE;
    }
}

/* The type of a value once it has been converted. */
static lw_type
type_as(lw_infer_frame *f, lw_type given, const lw_sig_type *declared)
{
    const lw_type_row *row = lw_tuple_row(f, given);
    const char *const *names = row ? row->names : NULL;
    uint32_t n = row ? row->n : 0;
    lw_type *items;

    if (declared->kind == LW_SIG_SCALAR)
        return (lw_type)declared->dtype;
    if (declared->kind != LW_SIG_TUPLE || row == NULL)
        return given;
    items = lw_arena_take(f->run->arena, (n + 1) * sizeof *items);
    for (uint32_t i = 0; items && i < n; i++) {
        row = lw_tuple_row(f, given); /* interning may have moved the rows */
        items[i] = type_as(f, row->elements[i], &declared->items[i]);
    }
    return items ? lw_type_tuple(lw_types_of(f), items, n, names) : LW_T_BOTTOM;
}

/* ---- choice of the signature ---- */

/* The type that a signature has for parameter i; for `*args` a tuple of all remaining ones. */
static bool
declared_of(const lw_fn *fn, const lw_signature *signature, uint32_t i, lw_sig_type *out)
{
    if (i >= fn->params.n || i >= signature->n_args)
        return false;
    *out = signature->args[i];
    if (fn->params.data[i].kind == LW_PARAM_VARARG)
        *out = (lw_sig_type){
            .kind = LW_SIG_TUPLE, .n = signature->n_args - i, .items = &signature->args[i]};
    return true;
}

static int
cost_of_call(lw_infer_frame *f, const lw_fn *fn, const lw_infer_value *values,
             const lw_signature *signature)
{
    lw_sig_type declared;
    int cost = 0;

    for (uint32_t i = 0; declared_of(fn, signature, i, &declared); i++) {
        int one = cost_of(f, values[i].type, &declared);
        if (one < 0 || (fn->declared_safe && one >= COST_ROUNDS))
            return COST_NONE;
        cost += one;
    }
    return cost;
}

/* The nearest declared signature; of equally near ones the first. */
static const lw_signature *
nearest(lw_infer_frame *f, const lw_fn *fn, const lw_infer_value *values)
{
    const lw_signature *best = NULL;
    int least = 0;

    for (uint32_t i = 0; i < fn->n_declared; i++) {
        int cost = cost_of_call(f, fn, values, &fn->declared[i]);
        if (cost >= 0 && (best == NULL || cost < least))
            best = &fn->declared[i], least = cost;
    }
    return best;
}

static lw_status
complain_no_match(lw_infer_frame *f, uint32_t node, const lw_fn *fn,
                  const lw_infer_value *values)
{
    lw_text given = {0}, made = {0};
    lw_status status;

    for (uint32_t i = 0; i < fn->params.n; i++) {
        lw_text_add(&given, i ? ", " : "");
        lw_type_print(lw_types_of(f), values[i].type, &given);
    }
    for (uint32_t i = 0; i < fn->n_declared; i++) {
        lw_text_add(&made, i ? ", " : "");
        lw_signature_print(&fn->declared[i], &made);
    }
    status = lw_complain(f, lw_node_of(f, node)->loc, "E181",
                         lw_format_text(f, "(%s) given; it was made with %s",
                                        lw_text_get(&given), lw_text_get(&made)),
                         fn->declared_safe ? "cast the argument, or add its type to the "
                                             "signatures: ufuncs only cast safely"
                                           : "cast the argument, or add its type to the "
                                             "signatures",
                         "`%s` has no signature for these arguments", fn->name);
    lw_text_reset(&given);
    lw_text_reset(&made);
    return status;
}

/* A lone signature reports which numbers would be lost. */
static lw_status
check_lone(lw_infer_frame *f, uint32_t node, const lw_fn *fn, const lw_infer_value *values,
           const uint32_t *entries, bool *said)
{
    lw_sig_type declared;
    lw_status status = LW_OK;

    *said = false;
    for (uint32_t i = 0; declared_of(fn, &fn->declared[0], i, &declared); i++) {
        bool is_node = entries[i] != 0 && (entries[i] & LW_ARG_TAG) == 0;
        if (declared.kind != LW_SIG_SCALAR || !lw_type_is_number(f, values[i].type) ||
            number_cost(f, values[i].type, declared.dtype) >= 0)
            continue;
        *said = true;
        LW_TRY(lw_check_conversion(f, lw_node_of(f, is_node ? entries[i] : node)->loc,
                                   values[i].type, declared.dtype, "parameter"));
    }
fail:
    return status;
}

static void
convert(lw_infer_frame *f, const lw_fn *fn, const lw_signature *signature,
        lw_infer_value *values)
{
    lw_sig_type declared;

    for (uint32_t i = 0; declared_of(fn, signature, i, &declared); i++) {
        lw_type type = type_as(f, values[i].type, &declared);
        if (type == values[i].type)
            continue;
        if (values[i].constant != 0 && declared.kind == LW_SIG_SCALAR)
            values[i].constant =
                lw_fold_cast_constant(f, 0, values[i].constant, declared.dtype, false);
        else
            values[i].constant = 0;
        values[i].type = type;
    }
}

lw_status
lw_infer_declared(lw_infer_frame *f, uint32_t node, const lw_fn *fn, lw_infer_value *values,
                  const uint32_t *entries, const lw_signature **out)
{
    bool said = false;
    lw_status status = LW_OK;

    *out = nearest(f, fn, values);
    if (*out != NULL) {
        convert(f, fn, *out, values);
        return LW_OK;
    }
    if (fn->n_declared == 1 && !fn->declared_safe)
        LW_TRY(check_lone(f, node, fn, values, entries, &said));
    if (!said)
        return complain_no_match(f, node, fn, values);
fail:
    return status;
}

/* ---- results ---- */

lw_sig_type
lw_type_of_annotation(lw_infer_frame *f, uint32_t number)
{
    const lw_constant *constant = number ? lw_constant_of(f, number) : NULL;
    lw_sig_type type = {.kind = LW_SIG_NONE}, *items;

    if (constant != NULL && constant->kind == LW_K_DTYPE)
        return (lw_sig_type){.kind = LW_SIG_SCALAR, .dtype = constant->dtype};
    if (constant == NULL || constant->kind != LW_K_TUPLE)
        return type;
    items = lw_arena_take(f->run->arena, (constant->n + 1) * sizeof *items);
    for (uint32_t i = 0; items && i < constant->n; i++) {
        items[i] = lw_type_of_annotation(f, constant->items[i]);
        if (items[i].kind == LW_SIG_NONE)
            return type;
    }
    if (items == NULL)
        return type;
    return (lw_sig_type){.kind = LW_SIG_TUPLE, .n = constant->n, .items = items};
}

lw_sig_type
lw_promised_result(lw_infer_frame *f)
{
    if (f->declared != NULL && f->declared->result.kind != LW_SIG_NONE &&
        f->declared->result.kind != LW_SIG_VOID)
        return f->declared->result;
    if (f->caller == NULL && f->run->typed->options.result != NULL)
        return *f->run->typed->options.result;
    return lw_type_of_annotation(f, f->fn->return_annotation);
}

/* name: of the function whose result it is; NULL: it is an annotated variable. */
static lw_status
check_items(lw_infer_frame *f, uint32_t loc, lw_type given, const lw_sig_type *promised,
            const char *name)
{
    uint32_t n = promised->n;
    lw_status status = LW_OK;

    if (promised->kind == LW_SIG_SCALAR)
        return lw_check_conversion(f, loc, given, promised->dtype,
                                   name ? "result" : "variable");
    if (promised->kind == LW_SIG_TUPLE && lw_tuple_row(f, given) &&
        lw_tuple_row(f, given)->n == n) {
        for (uint32_t i = 0; i < n; i++)
            LW_TRY(check_items(f, loc, lw_tuple_row(f, given)->elements[i], &promised->items[i],
                               name));
        return LW_OK;
    }
    if (cost_of(f, given, promised) < 0)
        return lw_complain(f, loc, "E142",
                           lw_format_text(f, "this is %s", lw_describe_type(f, given)), NULL,
                           "%s%s%s another %s", name ? "`" : "", name ? name : "a variable",
                           name ? "` promises" : " is annotated as", name ? "result" : "tuple");
fail:
    return status;
}

lw_status
lw_infer_promised(lw_infer_frame *f, uint32_t loc, const lw_sig_type *promised, lw_type *result)
{
    lw_status status;

    if (promised->kind == LW_SIG_NONE || *result == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(check_items(f, loc, *result, promised, f->fn->name));
    *result = type_as(f, *result, promised);
fail:
    return status;
}

lw_status
lw_check_annotated(lw_infer_frame *f, uint32_t loc, const lw_sig_type *annotation, lw_type type)
{
    return type == LW_T_BOTTOM ? LW_OK : check_items(f, loc, type, annotation, NULL);
}

/* ---- members of types with a model ---- */

static const char *
describe_member(lw_infer_frame *f, const lw_struct *of, uint32_t i)
{
    lw_text text = {0};
    const char *said;

    if (!f->report)
        return "";
    if (of->structs[i] != NULL)
        return of->structs[i]->name;
    lw_sig_type_print(&of->types[i], &text);
    said = lw_arena_strdup(f->run->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return said ? said : "";
}

lw_status
lw_check_members(lw_infer_frame *f, uint32_t node, const lw_class *class, const lw_type *items)
{
    const lw_struct *of = class->structure;

    for (uint32_t i = 0; i < of->n; i++) {
        bool fits = of->structs[i] ? lw_class_of(f, items[i]) == of->structs[i]
                                   : cost_of(f, items[i], &of->types[i]) >= 0;
        if (!fits)
            return lw_complain(f, lw_node_of(f, node)->loc, "E142",
                               lw_format_text(f, "this is %s", lw_describe_type(f, items[i])),
                               NULL, "the member `%s` of `%s` is %s", of->names[i], class->name,
                               describe_member(f, of, i));
    }
    return LW_OK;
}
