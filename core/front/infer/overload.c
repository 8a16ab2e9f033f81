/* Overloaded functions, methods and attributes: the question that is asked for argument types,
 * its key, and what follows from the answer. A walk that meets a question without an answer
 * ends at once, whatever it had found so far; the whole inference is done again with the
 * answer. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

static lw_overload_ask answered_by; /* set once, when the module is loaded */

void
lw_overloads_are_answered_by(lw_overload_ask ask)
{
    answered_by = ask;
}

lw_status
lw_overload_answer_of(const lw_typed *typed, const lw_overload_question *question,
                      lw_error *err)
{
    if (answered_by == NULL)
        return lw_fail(err, LW_ERR_INTERNAL, "nobody answers for overloads");
    return answered_by(typed, question, err);
}

/* ---- keys ---- */

static void add_type(lw_infer_frame *f, lw_type type, lw_text *out);

static void
add_elements(lw_infer_frame *f, const lw_type_row *row, lw_text *out)
{
    lw_text_add(out, "(");
    for (uint32_t i = 0; i < row->n; i++) {
        add_type(f, row->elements[i], out);
        if (row->names != NULL)
            lw_text_addf(out, "=%s", row->names[i]);
        lw_text_add(out, ",");
    }
    lw_text_add(out, ")");
}

/* Ints that are known to lie in some range are ints. What a type points to is the tree's own
 * and has one address in all trees of a base, but records, which have one for each content. */
static void
add_type(lw_infer_frame *f, lw_type type, lw_text *out)
{
    const lw_type_row *row = lw_type_get(lw_types_of(f), type);
    lw_type_kind kind = lw_type_kind_of(lw_types_of(f), type);

    if (kind == LW_TK_LITERAL)
        lw_text_addf(out, "i%u", (unsigned)lw_type_stored(lw_types_of(f), type));
    else if (row == NULL)
        lw_text_addf(out, "t%u", (unsigned)type);
    else if (kind == LW_TK_RECORD)
        lw_text_addf(out, "{%s%s}", row->readonly ? "!" : "", row->record->name);
    else
        lw_text_addf(out, "%u:%u:%u:%u:%u:%p", (unsigned)kind, row->fn, row->ndim, row->layout,
                     row->readonly, (const void *)row->user_class);
    if (row != NULL && kind != LW_TK_LITERAL && kind != LW_TK_RECORD)
        add_elements(f, row, out);
}

/* A value that has no type but itself. Constants that inference has made have other numbers
 * each time. */
static void
add_constant(lw_infer_frame *f, uint32_t constant, lw_text *out)
{
    const lw_constant *row = lw_constant_of(f, constant);

    if (constant < f->run->tree->constants.n)
        lw_text_addf(out, "#%u", constant);
    else if (row->kind == LW_K_STR)
        lw_text_addf(out, "'%s'", row->text);
    else
        lw_text_addf(out, "#kind%u", (unsigned)row->kind);
}

static const char *
key_of(lw_infer_frame *f, const lw_overload_question *question)
{
    lw_text text = {0};
    const char *key;

    lw_text_addf(&text, "%u %u %s", (unsigned)question->kind, question->constant,
                 question->name ? question->name : "");
    for (uint32_t i = 0; i < question->n; i++) {
        const lw_overload_argument *arg = &question->arguments[i];

        lw_text_addf(&text, ";%s ", arg->keyword ? arg->keyword : "");
        add_type(f, arg->type, &text);
        if (arg->type == LW_T_STATIC && arg->constant)
            add_constant(f, arg->constant, &text);
    }
    key = text.failed ? NULL : lw_arena_strdup(f->run->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return key;
}

/* ---- questions ---- */

static const lw_overload_answer *
find_answer(const lw_tree *tree, const char *key)
{
    for (uint32_t i = 0; i < tree->answers.n; i++)
        if (strcmp(tree->answers.data[i].key, key) == 0)
            return &tree->answers.data[i];
    return NULL;
}

static bool
fill_question(lw_infer_frame *f, const lw_arg *args, uint32_t n, lw_overload_question *question)
{
    lw_overload_argument *arguments = lw_arena_take(f->run->arena, (n + 1) * sizeof *arguments);

    if (arguments == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        arguments[i] =
            (lw_overload_argument){args[i].value.type, args[i].value.constant, args[i].keyword};
    question->n = n;
    question->arguments = arguments;
    question->key = key_of(f, question);
    return question->key != NULL;
}

static const char *
shown_name(lw_infer_frame *f, const lw_overload_question *question)
{
    const lw_constant *callee;
    const char *text;

    if (question->kind != LW_OVERLOAD_FUNCTION)
        return question->name;
    callee = lw_constant_of(f, question->constant);
    text = callee->text ? callee->text : "this function";
    return strncmp(text, "builtins.", 9) == 0 ? text + 9 : text;
}

static const char *
shown_types(lw_infer_frame *f, const lw_overload_question *question)
{
    lw_text text = {0};
    const char *said;

    for (uint32_t i = 0; i < question->n; i++) {
        const lw_overload_argument *arg = &question->arguments[i];

        lw_text_addf(&text, "%s%s%s", i ? ", " : "", arg->keyword ? arg->keyword : "",
                     arg->keyword ? "=" : "");
        lw_text_add(&text, lw_describe_value(f, (lw_infer_value){arg->type, arg->constant}));
    }
    said = lw_arena_strdup(f->run->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return said ? said : "";
}

/* E166. The help has one candidate on a line. */
static lw_status
complain(lw_infer_frame *f, uint32_t node, const lw_overload_question *question,
         const lw_overload_answer *answer)
{
    if (!f->report)
        return LW_OK;
    return lw_complain(f, lw_node_of(f, node)->loc, "E166",
                       lw_format_text(f, "the arguments are (%s)", shown_types(f, question)),
                       answer->refused, "no overload of `%s` takes these arguments",
                       shown_name(f, question));
}

/* *found: whether an overload, or the error that there is none, is the meaning of the node. */
static lw_status
resolve(lw_infer_frame *f, uint32_t node, lw_overload_question question, const lw_arg *args,
        bool *found, lw_infer_value *out)
{
    const lw_overload_answer *answer;

    if (!fill_question(f, args, question.n, &question))
        return lw_out_of_memory(f);
    answer = find_answer(f->run->tree, question.key);
    *found = answer == NULL || answer->fn != 0 || answer->refused != NULL;
    if (answer == NULL) {
        f->run->question = question;
        return lw_fail(NULL, LW_ERR_INTERNAL, "a question to Python");
    }
    if (answer->fn != 0)
        return lw_infer_call_function(f, node, answer->fn, args, question.n, out);
    return answer->refused ? complain(f, node, &question, answer) : LW_OK;
}

/* ---- functions of lanewise's own ---- */

lw_status
lw_infer_own(lw_infer_frame *f, uint32_t node, const char *name, const lw_arg *args, uint32_t n,
             lw_infer_value *out)
{
    lw_overload_question question = {.kind = LW_OVERLOAD_OWN, .name = name, .key = name};
    const lw_overload_answer *answer = find_answer(f->run->tree, name);

    if (answer == NULL) {
        f->run->question = question;
        return lw_fail(NULL, LW_ERR_INTERNAL, "a question to Python");
    }
    return lw_infer_call_function(f, node, answer->fn, args, n, out);
}

/* ---- what is overloaded ---- */

static bool
has_object(lw_infer_frame *f, const lw_arg *args, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_class_of(f, args[i].value.type) != NULL)
            return true;
    return false;
}

/* What lanewise itself provides: named functions, types, and NumPy's functions of whole arrays.
 */
static bool
is_own(lw_infer_frame *f, const lw_constant *constant)
{
    return constant->kind == LW_K_NAMED || constant->kind == LW_K_DTYPE ||
           constant->kind == LW_K_PYTYPE ||
           (constant->kind == LW_K_FUNCTION && f->run->tree->fns.data[constant->u].inlined);
}

lw_status
lw_infer_overloaded_call(lw_infer_frame *f, uint32_t node, uint32_t callee, const lw_arg *args,
                         uint32_t n, bool *found, lw_infer_value *out)
{
    const lw_constant *constant = callee ? lw_constant_of(f, callee) : NULL;
    lw_overload_question question = {.kind = LW_OVERLOAD_FUNCTION, .constant = callee, .n = n};

    *found = constant != NULL && constant->overloaded &&
             (!is_own(f, constant) || has_object(f, args, n));
    return *found ? resolve(f, node, question, args, found, out) : LW_OK;
}

static bool
is_overloaded(const lw_tree *tree, const char *name, bool is_attribute)
{
    for (uint32_t i = 0; i < tree->overloaded.n; i++)
        if (tree->overloaded.data[i].is_attribute == is_attribute &&
            strcmp(tree->overloaded.data[i].name, name) == 0)
            return true;
    return false;
}

lw_status
lw_infer_overloaded_method(lw_infer_frame *f, uint32_t node, const char *name,
                           const lw_arg *args, uint32_t n, bool *found, lw_infer_value *out)
{
    lw_overload_question question = {.kind = LW_OVERLOAD_METHOD, .name = name, .n = n};

    assert(lw_is_overloaded_method(f, name)); /* the caller has asked */
    return resolve(f, node, question, args, found, out);
}

bool
lw_is_overloaded_method(lw_infer_frame *f, const char *name)
{
    return is_overloaded(f->run->tree, name, false);
}

lw_status
lw_infer_overloaded_attribute(lw_infer_frame *f, uint32_t node, const char *name,
                              lw_infer_value object, bool *found, lw_infer_value *out)
{
    lw_overload_question question = {.kind = LW_OVERLOAD_ATTRIBUTE, .name = name, .n = 1};
    uint32_t of = lw_node_of(f, node)->a;
    lw_arg self = {.node = of, .entry = of, .value = object};

    *found = is_overloaded(f->run->tree, name, true);
    return *found ? resolve(f, node, question, &self, found, out) : LW_OK;
}
