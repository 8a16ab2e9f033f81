/* Typing of print(): strings, None, numbers, and tuples of these; sep and end are constant. The
 * call's list has the entries of sep and end (0: not given), followed by what is printed. */
#include "core/front/infer/infer_internal.h"

#include "core/ir/format.h"

#include <string.h>

bool
lw_is_constant_text(lw_infer_frame *f, lw_infer_value value)
{
    return value.constant && lw_constant_of(f, value.constant)->kind == LW_K_STR;
}

bool
lw_can_be_shown(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);

    if (row == NULL) {
        type = lw_type_without_none(lw_types_of(f), type);
        return type == LW_T_NONE || type == LW_DT_b1 || lw_type_is_number(f, type) ||
               lw_is_text(f, type);
    }
    for (uint32_t i = 0; i < row->n; i++)
        if (!lw_can_be_shown(f, row->elements[i]))
            return false;
    return true;
}

uint32_t
lw_shown_slots(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    uint32_t n = 0;

    lw_type given = lw_type_given(lw_types_of(f), type);

    if (given != LW_T_BOTTOM)
        return 1 + lw_shown_slots(f, given);
    if (row == NULL)
        return type == LW_T_NONE || lw_type_kind_of(lw_types_of(f), type) == LW_TK_STATIC ? 0
               : lw_type_is_complex(type)                                                 ? 2
                                                                                          : 1;
    for (uint32_t i = 0; i < row->n; i++)
        n += lw_shown_slots(f, row->elements[i]);
    return n;
}

void
lw_unwrap_unshown(lw_infer_frame *f, uint32_t node, lw_infer_value *value)
{
    if (!lw_can_be_shown(f, value->type))
        lw_unwrap(f, node, value);
}

static const char *
help_of_shown(lw_infer_frame *f, lw_type type)
{
    const lw_class *class = lw_class_of(f, type);

    if (class != NULL && class->grown == LW_GROWN_DICT)
        return "a dict that the function has from elsewhere: `print(dict(d))`";
    if (class != NULL && class->grown == LW_GROWN_SET)
        return "a set that the function has from elsewhere: `print(set(s))`";
    if (class != NULL && class->grown == LW_GROWN_LIST)
        return "a list that the function has from elsewhere: `print(list(x))`";
    if (lw_array_row(f, type) != NULL)
        return "the items of an array of one axis: `print(list(x))`; a row of a matrix: "
               "`print(list(m[i]))`";
    return NULL;
}

static lw_status
check_shown(lw_infer_frame *f, const lw_arg *arg)
{
    if (arg->value.type == LW_T_BOTTOM || lw_is_constant_text(f, arg->value) ||
        lw_can_be_shown(f, arg->value.type))
        return LW_OK;
    return lw_complain(f, lw_node_of(f, arg->node)->loc, "E120",
                       lw_format_text(f, "this is %s", lw_describe_value(f, arg->value)),
                       help_of_shown(f, arg->value.type),
                       "`print` shows strings, numbers and tuples of these, and lists, dicts "
                       "and sets that the function makes");
}

static const char *
after_character(const char *utf8)
{
    if (*utf8)
        utf8++;
    while ((*utf8 & 0xC0) == 0x80)
        utf8++;
    return utf8;
}

static bool
is_align(char c)
{
    return c == '<' || c == '>' || c == '^';
}

static const char *
after_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* [[fill]align][width][.precision][s]: Python refuses all else for strings. */
static bool
is_text_spec(const char *spec)
{
    const char *second = after_character(spec);

    if (is_align(*second))
        spec = second + 1;
    else if (is_align(*spec))
        spec++;
    spec = after_digits(spec);
    if (*spec == '.' && after_digits(spec + 1) != spec + 1)
        spec = after_digits(spec + 1);
    return strcmp(spec, "s") == 0 || *spec == 0;
}

static lw_status
infer_field(lw_infer_frame *f, uint32_t node, lw_type *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_infer_value value;
    const char *spec;
    bool is_number;
    lw_status status;

    f->wants_optional = f->wants_items = n->b == 0;
    status = lw_infer_expr(f, n->a, &value);
    lw_unwrap_unshown(f, n->a, &value);
    *out = value.type;
    if (status != LW_OK || value.type == LW_T_BOTTOM)
        return status;
    spec = n->b ? lw_constant_of(f, n->b)->text : NULL;
    is_number = value.type == LW_DT_b1 || lw_type_is_number(f, value.type);
    if (is_number && (spec == NULL || n->c == LW_FIELD_PLAIN || is_text_spec(spec)))
        return LW_OK;
    if (lw_is_constant_text(f, value) && n->b == 0) {
        *out = LW_T_NONE; /* no number is shown */
        return LW_OK;
    }
    if (lw_is_text(f, lw_type_without_none(lw_types_of(f), value.type)) &&
        (spec == NULL || is_text_spec(spec))) {
        if (lw_is_text(f, value.type))
            *out = lw_type_texts(lw_types_of(f), value.type, value.type);
        return LW_OK;
    }
    if (n->b == 0 && lw_can_be_shown(f, value.type))
        return LW_OK;
    return lw_complain(
        f, n->loc, "E104", lw_format_text(f, "this is %s", lw_describe_value(f, value)),
        lw_has_member(f, value.type) ? "show its value, `{m.value}`" : NULL,
        n->b && (is_number || lw_is_text(f, value.type))
            ? "this format of a field of an f-string is not for strings"
        : n->b ? "a field of an f-string with a format shows a number or a string"
               : "a field of an f-string shows a number, a string, None or a "
                 "tuple of these");
}

lw_status
lw_infer_joined(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    const lw_node *n = lw_node_of(f, node);
    lw_type *types = lw_arena_take(f->run->arena, (n->c + 1) * sizeof *types);
    lw_status status = LW_OK;
    uint32_t n_types = 0;

    *out = (lw_infer_value){LW_T_BOTTOM, 0};
    if (types == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t part = f->run->tree->lists.data[n->b + i];
        if (lw_node_of(f, part)->kind != LW_NODE_FIELD)
            continue;
        LW_TRY(infer_field(f, part, &types[n_types]));
        if (types[n_types++] == LW_T_BOTTOM)
            return LW_OK;
    }
    out->type = lw_type_tuple(lw_types_of(f), types, n_types, NULL);
fail:
    return status;
}

/* sep= and end=: a constant text or None. */
static lw_status
check_keyword(lw_infer_frame *f, const lw_arg *arg, lw_arg placed[2])
{
    bool is_sep = strcmp(arg->keyword, "sep") == 0, is_end = strcmp(arg->keyword, "end") == 0;
    uint32_t loc = lw_node_of(f, arg->node)->loc;

    if (!is_sep && !is_end)
        return lw_complain(f, loc, "E153", lw_format_text(f, "no parameter `%s`", arg->keyword),
                           "`sep` and `end` are supported; lines go to `sys.stdout`",
                           "`print` in compiled code has no such parameter");
    if (!lw_is_constant_text(f, arg->value) && arg->value.type != LW_T_NONE)
        return lw_complain(f, loc, "E104",
                           lw_format_text(f, "this is %s", lw_describe_value(f, arg->value)),
                           NULL, "`%s` must be a constant string or None", arg->keyword);
    if (arg->value.type != LW_T_NONE)
        placed[is_end] = *arg;
    return LW_OK;
}

lw_status
lw_infer_print(lw_infer_frame *f, uint32_t node, const lw_arg *args, uint32_t n,
               lw_infer_value *out)
{
    lw_arg *placed = lw_arena_take(f->run->arena, (n + 2) * sizeof *placed);
    lw_status status = LW_OK;
    uint32_t at = 2, n_slots = 0;

    if (placed == NULL)
        return lw_out_of_memory(f);
    memset(placed, 0, (n + 2) * sizeof *placed);
    for (uint32_t i = 0; i < n; i++) {
        if (args[i].keyword) {
            LW_TRY(check_keyword(f, &args[i], placed));
            continue;
        }
        LW_TRY(check_shown(f, &args[i]));
        n_slots += lw_shown_slots(f, args[i].value.type);
        placed[at++] = args[i];
    }
    if (n_slots > LW_FORMAT_SLOTS)
        return lw_complain(f, lw_node_of(f, node)->loc, "E120",
                           lw_format_text(f, "%u are given", n_slots), "use two calls",
                           "one `print` shows at most %d numbers (complex ones count twice)",
                           LW_FORMAT_SLOTS);
    f->acts = true;
    *out = (lw_infer_value){.type = LW_T_NONE};
    if (!f->report)
        return LW_OK;
    lw_typed_in(&f->nodes, node)->call = LW_CALL_NAMED;
    lw_typed_in(&f->nodes, node)->target = LW_NAME_builtins_print;
    status = lw_call_arguments(f, node, placed, at);
fail:
    return status;
}
