/* Formats (core/ir/format.h), which are registered in a list of the process: those of print()
 * and of exceptions, with the values as 8-byte words, and strings that are chosen at run time.
 * Such a string is one word, the number of the format that consists of it alone: the process
 * knows its characters, so that results, print and exceptions find them, and two strings are
 * equal if their numbers are. All that depends on the characters is a choice among the strings
 * that the type names. */
#include "core/front/lower/lower_internal.h"

#include "core/ir/format.h"
#include "core/ir/text_names.h"

#include <assert.h>
#include <string.h>

typedef struct line {
    lw_lower_frame *f;
    uint32_t node;
    lw_text before; /* text in front of the first value */
    LW_ARRAY(lw_format_value) values;
    lw_text behind[LW_FORMAT_SLOTS]; /* each value */
    lw_ref words[LW_FORMAT_SLOTS + 1];
    uint32_t n_words; /* the first is the format's number */
} line;

/* Where text is added now. */
static void
add_text(line *l, const char *text)
{
    lw_text_add(l->values.n ? &l->behind[l->values.n - 1] : &l->before, text);
}

/* A number of any width in a 64-bit word: integers by value, floats by their bits. */
static lw_ref
as_word(lw_builder *b, lw_ref value)
{
    lw_dtype type = lw_ir_type(b, value);

    switch (type) {
    case LW_DT_f64: return lw_ir_bitcast(b, LW_DT_u64, value);
    case LW_DT_f32: return lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, LW_DT_u32, value));
    case LW_DT_f16:
    case LW_DT_bf16: return lw_ir_cast(b, LW_DT_u64, lw_ir_bitcast(b, LW_DT_u16, value));
    case LW_DT_u64: return value;
    default: return lw_ir_cast(b, LW_DT_u64, lw_ir_cast(b, LW_DT_i64, value));
    }
}

/* an int that no 64-bit type holds has become a text already */
static void
add_wide(line *l, lw_type literal, const char *spec)
{
    __int128 number = lw_type_get(l->f->l->types, literal)->lo;
    lw_text digits = {0};

    lw_text_add_int128(&digits, number);
    if (number == LW_LITERAL_FAR || number == -LW_LITERAL_FAR || (spec != NULL && *spec))
        lw_lower_refuse_number(l->f, lw_text_get(&digits), LW_DT_i64);
    add_text(l, lw_text_get(&digits));
    lw_text_reset(&digits);
}

/* A value of the format, which has n words. */
static void
push_value(line *l, lw_format_value value, const lw_ref *words, uint32_t n)
{
    lw_lower_frame *f = l->f;
    lw_format_value *row;

    if (l->n_words + n > LW_FORMAT_SLOTS + 1) {
        lw_lower_fail(f, l->node, "a print of so many values");
        return;
    }
    row = lw_array_push(&l->values, f->l->arena);
    if (row == NULL) {
        f->l->module->failed = true;
        return;
    }
    *row = value;
    for (uint32_t i = 0; i < n; i++)
        l->words[l->n_words++] = as_word(&f->b, words[i]);
}

static void
add_number(line *l, lw_lower_value value, const char *spec)
{
    const lw_types *types = l->f->l->types;

    if (lw_literal_is_wide(types, value.type))
        add_wide(l, value.type, spec);
    else
        push_value(l,
                   (lw_format_value){.dtype = lw_type_stored(types, value.type), .spec = spec},
                   value.parts, value.n);
}

/* The conversion of a string as repr() shows it, "" of an f-string's field, NULL as it is. */
static void
add_chosen_text(line *l, lw_ref number, const char *spec)
{
    push_value(l, (lw_format_value){.dtype = LW_DT_void, .spec = spec}, &number, 1);
}

/* A number or a string that may be None. */
static void
add_optional(line *l, lw_lower_value value, bool in_tuple)
{
    lw_lower_frame *f = l->f;
    lw_lower_value given = lw_value_element(f, value, 1);
    bool is_text = lw_type_is_text(f->l->types, given.type);
    lw_format_value row = {.dtype =
                               is_text ? LW_DT_void : lw_type_stored(f->l->types, given.type),
                           .optional = true,
                           .spec = is_text && in_tuple ? LW_FORMAT_REPR : NULL};

    push_value(l, row, value.parts, value.n);
}

static void add_quoted(line *l, const char *text);

/* A string as print() shows it, or, quoted, as one in a tuple. */
static void
add_shown_text(line *l, lw_lower_value value, bool quoted)
{
    const lw_type_row *row = lw_type_get(l->f->l->types, value.type);

    if (value.n > 0)
        add_chosen_text(l, value.parts[0], quoted ? LW_FORMAT_REPR : NULL);
    else if (quoted)
        add_quoted(l, row->text);
    else
        add_text(l, row->text);
}

static void
add_value_in(line *l, lw_lower_value value, bool in_tuple)
{
    uint32_t n;
    bool is_list;

    if (value.type == LW_T_NONE) {
        add_text(l, "None");
    } else if (lw_type_given(l->f->l->types, value.type)) {
        add_optional(l, value, in_tuple);
    } else if (lw_type_is_text(l->f->l->types, value.type)) {
        add_shown_text(l, value, in_tuple);
    } else if (!lw_value_is_tuple(&value, l->f)) {
        add_number(l, value, NULL);
    } else {
        n = lw_type_get(l->f->l->types, value.type)->n;
        is_list = lw_type_get(l->f->l->types, value.type)->is_list;
        add_text(l, is_list ? "[" : "(");
        for (uint32_t i = 0; i < n; i++) {
            add_text(l, i ? ", " : "");
            add_value_in(l, lw_value_element(l->f, value, i), true);
        }
        add_text(l, is_list ? "]" : n == 1 ? ",)" : ")");
    }
}

static void
add_value(line *l, lw_lower_value value)
{
    add_value_in(l, value, false);
}

/* The text of a constant argument, or NULL. */
static const char *
constant_text(lw_lower_frame *f, uint32_t entry)
{
    uint32_t k = 0;
    const lw_constant *constant;

    if ((entry & LW_ARG_TAG) == LW_ARG_CONSTANT)
        k = entry & ~(uint32_t)LW_ARG_TAG;
    else if ((entry & LW_ARG_TAG) == 0 && entry != 0)
        k = lw_typed_at(f, entry)->constant                  ? lw_typed_at(f, entry)->constant
            : lw_node_at(f, entry)->kind == LW_NODE_CONSTANT ? lw_node_at(f, entry)->a
                                                             : 0;
    constant = k ? lw_typed_constant(f->l->typed, k) : NULL;
    return constant && constant->kind == LW_K_STR ? constant->text : NULL;
}

/* The format of {x!s:spec} and {x!r:spec}: what the conversion makes is a string. */
static const char *
spec_of_converted(lw_lower_frame *f, const lw_node *field, const char *conversion)
{
    const char *spec = lw_typed_constant(f->l->typed, field->b)->text, *both;
    lw_text text = {0};

    lw_text_addf(&text, "%s:%s", conversion, spec);
    both = text.failed ? NULL : lw_arena_strdup(f->l->arena, lw_text_get(&text));
    if (both == NULL)
        f->l->module->failed = true;
    lw_text_reset(&text);
    return both;
}

/* The format of {x:spec}, "" for {x}: in it NumPy's scalars format as Python's numbers do,
 * which differs from str(). NULL: {x!s}. Numbers are the same in {x!r}, as they are in tuples.
 */
static const char *
spec_of(lw_lower_frame *f, const lw_node *field)
{
    if (field->c != LW_FIELD_PLAIN)
        return field->b ? spec_of_converted(f, field, LW_FORMAT_STR) : NULL;
    return field->b ? lw_typed_constant(f->l->typed, field->b)->text : "";
}

/* A text as repr() shows it. */
static void
add_quoted(line *l, const char *text)
{
    char quote[2] = {strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'', 0}, one[3] = {0};

    add_text(l, quote);
    for (; *text; text++) {
        one[0] = *text == '\\' || *text == quote[0] || *text == '\n' ? '\\' : *text;
        one[1] = one[0] != '\\' ? 0 : *text == '\n' ? 'n' : *text;
        add_text(l, one);
    }
    add_text(l, quote);
}

/* The same for a string: in f-strings, too, it is shown as str() shows it. */
static const char *
spec_of_text(lw_lower_frame *f, const lw_node *field)
{
    if (field->c == LW_FIELD_REPR)
        return field->b ? spec_of_converted(f, field, LW_FORMAT_REPR) : LW_FORMAT_REPR;
    return field->b ? lw_typed_constant(f->l->typed, field->b)->text : NULL;
}

static lw_ref
known_number(lw_lower_frame *f, const char *text)
{
    return lw_ir_bits(&f->b, LW_DT_u64, lw_lower_text_number(f, text));
}

static void
add_text_field(line *l, lw_lower_value value, const lw_node *field)
{
    const lw_type_row *row = lw_type_get(l->f->l->types, value.type);

    add_chosen_text(l, value.n ? value.parts[0] : known_number(l->f, row->text),
                    spec_of_text(l->f, field));
}

static void
add_field(line *l, const lw_node *field)
{
    const char *text = constant_text(l->f, field->a);
    lw_lower_value value;

    if (text != NULL && field->b != 0) {
        add_chosen_text(l, known_number(l->f, text), spec_of_text(l->f, field));
    } else if (text != NULL && field->c == LW_FIELD_REPR) {
        add_quoted(l, text);
    } else if (text != NULL) {
        add_text(l, text);
    } else {
        value = lw_lower_expression(l->f, field->a);
        if (lw_type_is_text(l->f->l->types, value.type))
            add_text_field(l, value, field);
        else if (value.type == LW_T_NONE || lw_value_is_tuple(&value, l->f) ||
                 lw_type_given(l->f->l->types, value.type))
            add_value_in(l, value, field->c == LW_FIELD_REPR);
        else
            add_number(l, value, spec_of(l->f, field));
    }
}

/* An f-string. */
static void
add_joined(line *l, uint32_t node)
{
    const lw_node *n = lw_node_at(l->f, node);

    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t part = lw_list_at(l->f, n->b + i);
        const lw_node *field = lw_node_at(l->f, part);
        if (field->kind == LW_NODE_FIELD)
            add_field(l, field);
        else
            add_text(l, constant_text(l->f, part));
    }
}

static bool
is_joined(lw_lower_frame *f, uint32_t entry)
{
    return entry != 0 && (entry & LW_ARG_TAG) == 0 &&
           lw_node_at(f, entry)->kind == LW_NODE_JOINED;
}

static uint32_t
entry_of(line *l, uint32_t index)
{
    const lw_typed_node *t = lw_typed_at(l->f, l->node);

    return l->f->l->typed->lists.data[t->args + index];
}

static void
add_arguments(line *l)
{
    uint32_t n = lw_typed_at(l->f, l->node)->n_args;
    const char *sep = constant_text(l->f, entry_of(l, 0)),
               *end = constant_text(l->f, entry_of(l, 1));

    for (uint32_t i = 2; i < n; i++) {
        const char *text = constant_text(l->f, entry_of(l, i));
        if (i > 2)
            add_text(l, sep ? sep : " ");
        if (text)
            add_text(l, text);
        else if (is_joined(l->f, entry_of(l, i)))
            add_joined(l, entry_of(l, i));
        else
            add_value(l, lw_lower_argument(l->f, l->node, i));
    }
    add_text(l, end ? end : "\n");
}

/* 0: memory is out, and the module failed */
static uint64_t
number_of(line *l)
{
    bool failed = l->before.failed;
    uint64_t number;

    for (uint32_t i = 0; i < l->values.n; i++) {
        l->values.data[i].behind = lw_text_get(&l->behind[i]);
        failed |= l->behind[i].failed;
    }
    number = failed ? 0 : lw_format_add(lw_text_get(&l->before), l->values.data, l->values.n);
    if (number == 0)
        l->f->l->module->failed = true;
    return number;
}

static void
emit(line *l)
{
    lw_builder *b = &l->f->b;

    l->words[0] = lw_ir_bits(b, LW_DT_u64, number_of(l));
    lw_ir_emit(b, LW_OP_PRINT, LW_DT_void, 0, lw_ir_list(b, l->words, l->n_words), l->n_words);
}

static void
reset(line *l)
{
    lw_text_reset(&l->before);
    for (uint32_t i = 0; i < l->values.n; i++)
        lw_text_reset(&l->behind[i]);
}

lw_lower_value
lw_lower_print(lw_lower_frame *f, uint32_t node)
{
    line l = {.f = f, .node = node, .n_words = 1};

    add_arguments(&l);
    if (f->l->status == LW_OK)
        emit(&l);
    reset(&l);
    return (lw_lower_value){.type = LW_T_NONE};
}

/* ---- exceptions ---- */

static void
add_joined_argument(line *l, uint32_t node, bool quoted)
{
    add_text(l, quoted ? "'" : "");
    add_joined(l, node);
    add_text(l, quoted ? "'" : "");
}

void
lw_lower_raise_value(lw_lower_frame *f, lw_ref condition, lw_lower_value value,
                     const char *behind)
{
    line l = {.f = f, .node = f->node, .n_words = 1};

    if (f->l->n_raise_words != LW_RAISE_WORDS || value.n > LW_RAISE_WORDS) {
        lw_text text = {0};
        lw_text_addf(&text, "this%s", behind);
        if (!text.failed)
            lw_lower_raise_deferred(f, condition, "ValueError",
                                    lw_arena_strdup(f->l->arena, lw_text_get(&text)));
        lw_text_reset(&text);
        return;
    }
    lw_ir_if(&f->b, condition);
    add_value(&l, value);
    add_text(&l, behind);
    lw_lower_raise_words(f, "ValueError", number_of(&l), l.words + 1, l.n_words - 1);
    lw_ir_end(&f->b);
    reset(&l);
}

uint64_t
lw_lower_raise_format(lw_lower_frame *f, uint32_t node, lw_ref *words, uint32_t *n)
{
    const lw_node *raise = lw_node_at(f, node);
    const char *message = lw_typed_constant(f->l->typed, raise->a)->help;
    bool tuple = (message != NULL) + raise->c > 1;
    line l = {.f = f, .node = node, .n_words = 1};
    uint64_t number;

    add_text(&l, tuple ? "(" : "");
    if (message)
        add_quoted(&l, message);
    for (uint32_t i = 0; i < raise->c; i++) {
        uint32_t item = lw_list_at(f, raise->b + i);
        const char *text = constant_text(f, item);
        add_text(&l, i || message ? ", " : "");
        if (text && tuple)
            add_quoted(&l, text);
        else if (text)
            add_text(&l, text);
        else if (is_joined(f, item))
            add_joined_argument(&l, item, tuple);
        else
            add_value_in(&l, lw_lower_expression(f, item), tuple);
    }
    add_text(&l, tuple ? ")" : "");
    *n = l.n_words - 1 < LW_RAISE_WORDS ? l.n_words - 1 : LW_RAISE_WORDS;
    memcpy(words, l.words + 1, *n * sizeof *words);
    number = number_of(&l);
    reset(&l);
    return number;
}

/* ---- arguments of a class of the user's ---- */

typedef struct raise_args {
    lw_lower_frame *f;
    uint32_t node;
    LW_ARRAY(lw_raise_arg) rows;
    lw_ref *words; /* the caller's, of which n_words are used */
    uint32_t n_words;
} raise_args;

/* Ends the text of an argument, whose line is released. */
static void
add_row(raise_args *a, line *l, int kind, uint32_t n, const char *name)
{
    lw_raise_arg *row = lw_array_push(&a->rows, a->f->l->arena);

    if (row != NULL)
        *row = (lw_raise_arg){.kind = kind, .n = n, .format = number_of(l), .name = name};
    for (uint32_t i = 1; i < l->n_words && a->n_words < LW_RAISE_WORDS; i++)
        a->words[a->n_words++] = l->words[i];
    reset(l);
}

static line
new_line(const raise_args *a)
{
    return (line){.f = a->f, .node = a->node, .n_words = 1};
}

static void
add_object(raise_args *a, lw_lower_value value, const char *name)
{
    const lw_type_row *row = lw_type_get(a->f->l->types, value.type);
    bool is_tuple = lw_value_is_tuple(&value, a->f);
    uint32_t n = is_tuple ? row->n : 0;
    bool is_known = row && row->text;
    int kind = value.type == LW_T_NONE ? LW_RAISE_NONE
               : is_known              ? LW_RAISE_TEXT
               : !is_tuple             ? LW_RAISE_NUMBER
               : row->is_list          ? LW_RAISE_LIST
                                       : LW_RAISE_TUPLE;
    line l = new_line(a);

    if (kind == LW_RAISE_TEXT || kind == LW_RAISE_NUMBER)
        add_value(&l, value);
    add_row(a, &l, kind, n, name);
    for (uint32_t i = 0; i < n; i++)
        add_object(a, lw_value_element(a->f, value, i), NULL);
}

static void
add_item(raise_args *a, uint32_t item, const char *name)
{
    const char *text = constant_text(a->f, item);
    line l = new_line(a);

    if (text == NULL && !is_joined(a->f, item)) {
        add_object(a, lw_lower_expression(a->f, item), name);
        return;
    }
    if (text)
        add_text(&l, text);
    else
        add_joined(&l, item);
    add_row(a, &l, LW_RAISE_TEXT, 0, name);
}

void
lw_lower_raise_args(lw_lower_frame *f, uint32_t node, lw_raise_row *row, lw_ref *words,
                    uint32_t *n)
{
    const lw_node *raise = lw_node_at(f, node);
    const lw_constant *k = lw_typed_constant(f->l->typed, raise->a);
    uint32_t first_name = raise->c - k->n; /* the last k->n are keywords */
    raise_args a = {.f = f, .node = node, .words = words};
    line l = new_line(&a);

    if (k->help) {
        add_text(&l, k->help);
        add_row(&a, &l, LW_RAISE_TEXT, 0, NULL);
    }
    for (uint32_t i = 0; i < raise->c; i++)
        add_item(&a, lw_list_at(f, raise->b + i),
                 i < first_name ? NULL : k->names[i - first_name]);
    if (a.rows.n == 0 || f->l->arena->failed)
        f->l->module->failed = true;
    row->args = a.rows.data;
    row->n_args = a.rows.n;
    *n = a.n_words;
}

/* ---- strings that are chosen at run time ---- */

uint64_t
lw_lower_text_number(lw_lower_frame *f, const char *text)
{
    uint64_t number = lw_format_add(text, NULL, 0);

    if (number == 0)
        f->l->module->failed = true;
    return number;
}

static const char *
text_of(const lw_lower_frame *f, lw_type known)
{
    const lw_type_row *row = lw_type_get(f->l->types, known);

    assert(row->text != NULL);
    return row->text;
}

lw_ref
lw_lower_text_word(lw_lower_frame *f, lw_lower_value value)
{
    return value.n ? value.parts[0] : known_number(f, text_of(f, value.type));
}

static bool
is_any(const lw_lower_frame *f, lw_lower_value value)
{
    return lw_type_is_any_text(f->l->types, value.type);
}

/* What the host finds out about strings of which nothing is known here (core/ir/text_names.h);
 * i64. */
static lw_ref
ask_host(lw_lower_frame *f, const char *name, lw_lower_value x, const lw_lower_value *y)
{
    static const lw_dtype types[] = {LW_DT_u64, LW_DT_u64};
    uint32_t n = y ? 2 : 1;
    uint32_t number = lw_ir_extern_add(f->b.module, name, LW_DT_i64, types, n);
    lw_ref args[] = {lw_lower_text_word(f, x), y ? lw_lower_text_word(f, *y) : 0};

    return lw_ir_host_call(&f->b, number, args, n);
}

/* A number for each string, which `of` gives; i64. The last one needs no comparison. */
static lw_ref
choose(lw_lower_frame *f, lw_lower_value value, lw_type type,
       int64_t (*of)(const lw_lower_frame *f, lw_type type, lw_type choice))
{
    lw_builder *b = &f->b;
    uint32_t n;
    const lw_type *choices = lw_type_choices(f->l->types, &type, &n);
    lw_ref number = lw_lower_text_word(f, value);
    lw_ref chosen = lw_ir_int(b, LW_DT_i64, of(f, type, choices[n - 1]));

    for (uint32_t i = n - 1; i-- > 0;) {
        lw_ref own = known_number(f, text_of(f, choices[i]));
        lw_ref same = lw_ir_compare(b, LW_OP_EQ, number, own);

        chosen =
            lw_ir_select(b, same, lw_ir_int(b, LW_DT_i64, of(f, type, choices[i])), chosen);
    }
    return chosen;
}

static int64_t
length_of(const lw_lower_frame *f, lw_type type, lw_type choice)
{
    (void)type;
    return (int64_t)lw_text_length(text_of(f, choice));
}

lw_ref
lw_lower_text_length(lw_lower_frame *f, lw_lower_value value)
{
    if (is_any(f, value))
        return ask_host(f, LW_TEXT_LENGTH, value, NULL);
    return choose(f, value, value.type, length_of);
}

/* How many of the strings are less; UTF-8 sorts in the order of code points. */
static int64_t
rank_of(const lw_lower_frame *f, lw_type type, lw_type choice)
{
    uint32_t n;
    const lw_type *choices = lw_type_choices(f->l->types, &type, &n);
    int64_t rank = 0;

    for (uint32_t i = 0; i < n; i++)
        rank += strcmp(text_of(f, choices[i]), text_of(f, choice)) < 0;
    return rank;
}

lw_ref
lw_lower_text_truth(lw_lower_frame *f, lw_lower_value value)
{
    lw_ref empty = known_number(f, "");

    return lw_ir_compare(&f->b, LW_OP_NE, lw_lower_text_word(f, value), empty);
}

/* Of two of which one at least is a string: other values are equal to none. */
lw_ref
lw_lower_compare_texts(lw_lower_frame *f, lw_op how, lw_lower_value x, lw_lower_value y,
                       lw_type operand)
{
    lw_builder *b = &f->b;
    bool equality = how == LW_OP_EQ || how == LW_OP_NE;

    if (!lw_type_is_text(f->l->types, x.type) || !lw_type_is_text(f->l->types, y.type))
        return lw_ir_int(b, LW_DT_b1, how == LW_OP_NE);
    if (x.n == 0 && y.n == 0) {
        int order = strcmp(text_of(f, x.type), text_of(f, y.type));
        return lw_ir_int(b, LW_DT_b1, lw_op_holds(how, order < 0 ? -1 : order > 0));
    }
    if (equality)
        return lw_ir_compare(b, how, lw_lower_text_word(f, x), lw_lower_text_word(f, y));
    if (!lw_type_is_text(f->l->types, operand)) {
        lw_lower_fail(f, f->node, "the order of strings of which nothing is known");
        return lw_ir_int(b, LW_DT_b1, 0);
    }
    if (is_any(f, x) || is_any(f, y))
        return lw_ir_compare(b, how, ask_host(f, LW_TEXT_COMPARE, x, &y),
                             lw_ir_int(b, LW_DT_i64, 0));
    return lw_ir_compare(b, how, choose(f, x, operand, rank_of),
                         choose(f, y, operand, rank_of));
}

/* Whether the value is this string. */
static lw_ref
is_choice(lw_lower_frame *f, lw_lower_value value, lw_type choice)
{
    lw_lower_value known = {.type = choice};

    if (value.n == 0)
        return lw_ir_int(&f->b, LW_DT_b1, value.type == choice);
    return lw_ir_compare(&f->b, LW_OP_EQ, lw_lower_text_word(f, value),
                         lw_lower_text_word(f, known));
}

lw_ref
lw_lower_text_in(lw_lower_frame *f, lw_lower_value x, lw_lower_value y)
{
    lw_builder *b = &f->b;
    uint32_t n_x, n_y;
    const lw_type *xs = lw_type_choices(f->l->types, &x.type, &n_x);
    const lw_type *ys = lw_type_choices(f->l->types, &y.type, &n_y);
    lw_ref any = lw_ir_int(b, LW_DT_b1, 0);

    if (is_any(f, x) || is_any(f, y))
        return lw_ir_compare(b, LW_OP_NE, ask_host(f, LW_TEXT_CONTAINS, y, &x),
                             lw_ir_int(b, LW_DT_i64, 0));
    for (uint32_t k = 0; k < n_y; k++) {
        lw_ref part = lw_ir_int(b, LW_DT_b1, 0);

        for (uint32_t i = 0; i < n_x; i++)
            if (strstr(text_of(f, ys[k]), text_of(f, xs[i])) != NULL)
                part = lw_ir_or(b, part, is_choice(f, x, xs[i]));
        any = lw_ir_or(b, any, lw_ir_and(b, part, is_choice(f, y, ys[k])));
    }
    return any;
}
