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

    if (row->kind == LW_K_INT || row->kind == LW_K_BOOL)
        lw_text_addf(out, "=%lld", (long long)lw_varying_fix(row)->i);
    else if (row->kind == LW_K_UINT || row->kind == LW_K_FLOAT || row->kind == LW_K_COMPLEX ||
             row->kind == LW_K_SCALAR)
        lw_text_addf(out, "=%u:%u:%llx %a", (unsigned)row->kind, (unsigned)row->dtype,
                     (unsigned long long)lw_varying_fix(row)->u, lw_varying_fix(row)->im);
    else if (row->kind == LW_K_TUPLE && constant >= f->run->tree->constants.n)
        for (uint32_t i = 0; i < row->n; i++)
            add_constant(f, row->items[i], out);
    else if (constant < f->run->tree->constants.n)
        lw_text_addf(out, "#%u", constant);
    else if (row->kind == LW_K_STR)
        lw_text_addf(out, "'%s'", row->text);
    else
        lw_text_addf(out, "#kind%u", (unsigned)row->kind);
}

bool
lw_overload_is_literal(const lw_typed *typed, const lw_overload_argument *argument)
{
    const lw_constant *constant =
        argument->constant ? lw_typed_constant(typed, argument->constant) : NULL;

    return constant && (constant->kind == LW_K_INT || constant->kind == LW_K_BOOL);
}

static const char *
key_of(lw_infer_frame *f, const lw_overload_question *question)
{
    lw_text text = {0};
    const char *key;

    lw_text_addf(&text, "%u %u %s %u%d", (unsigned)question->kind, question->constant,
                 question->name ? question->name : "", (unsigned)question->literals,
                 question->for_gpu);
    for (uint32_t i = 0; i < question->n; i++) {
        const lw_overload_argument *arg = &question->arguments[i];

        lw_text_addf(&text, ";%s ", arg->keyword ? arg->keyword : "");
        add_type(f, arg->type, &text);
        if (arg->constant &&
            (arg->type == LW_T_STATIC || lw_is_known_text(f, arg->type) ||
             lw_type_is_member(f, arg->type) || question->literals == LW_LITERALS_VALUES ||
             (question->literals != LW_LITERALS_NONE &&
              lw_overload_is_literal(f->run->typed, arg))))
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
    text = callee->text                    ? callee->text
           : callee->kind == LW_K_FUNCTION ? f->run->tree->fns.data[callee->u].name
                                           : "this function";
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

typedef struct asked {
    lw_infer_frame *f;
    uint32_t node;
    lw_overload_question question;
    bool prefers;   /* some selectors are asked with literals first */
    bool values;    /* asked once, with all constants */
    bool has_other; /* where no overload is for the types, it means something else */
    const lw_overload_answer *refusal; /* of the first time that all were asked */
} asked;

/* *answer: NULL where the walk has to end with the question. */
static lw_status
ask(asked *a, lw_overload_literals literals, const lw_arg *args,
    const lw_overload_answer **answer)
{
    lw_infer_frame *f = a->f;

    *answer = NULL;
    a->question.literals = literals;
    if (!fill_question(f, args, a->question.n, &a->question))
        return lw_out_of_memory(f);
    *answer = find_answer(f->run->tree, a->question.key);
    if (*answer != NULL)
        return LW_OK;
    f->run->question = a->question;
    return lw_fail(NULL, LW_ERR_INTERNAL, "a question to Python");
}

static bool
has_literals(const asked *a)
{
    for (uint32_t i = 0; i < a->question.n; i++)
        if (lw_overload_is_literal(a->f->run->typed, &a->question.arguments[i]))
            return true;
    return false;
}

/* *fn: the implementation; 0: there is none. First only those are asked that prefer literals,
 * last all with literals. */
static lw_status
find_implementation(asked *a, const lw_arg *args, uint32_t *fn)
{
    const lw_overload_answer *answer;
    lw_status status;

    *fn = 0;
    if (a->values) {
        LW_TRY(ask(a, LW_LITERALS_VALUES, args, &answer));
        assert(answer != NULL);
        *fn = answer->fn;
        a->refusal = answer->refused ? answer : NULL;
        return LW_OK;
    }
    if (a->prefers) {
        LW_TRY(ask(a, LW_LITERALS_PREFERRED, args, &answer));
        assert(answer != NULL); /* or the walk has ended */
        *fn = answer->fn;
    }
    if (*fn == 0) {
        LW_TRY(ask(a, LW_LITERALS_NONE, args, &answer));
        assert(answer != NULL);
        *fn = answer->fn;
        a->refusal = answer->refused ? answer : NULL;
    }
    if (*fn == 0 && a->refusal != NULL && has_literals(a)) {
        LW_TRY(ask(a, LW_LITERALS_ALL, args, &answer));
        assert(answer != NULL);
        *fn = answer->fn;
    }
fail:
    return status;
}

/* *found: whether an overload, or the error that there is none, is the meaning of the node. */
static lw_status
resolve(asked a, const lw_arg *args, bool *found, lw_infer_value *out)
{
    lw_status status;
    uint32_t fn;

    a.question.for_gpu = a.f->run->typed->options.threads;
    *found = true;
    LW_TRY(find_implementation(&a, args, &fn));
    if (fn != 0)
        return lw_infer_call_function(a.f, a.node, fn, args, a.question.n, out);
    if (a.refusal != NULL && !a.has_other)
        return complain(a.f, a.node, &a.question, a.refusal);
    a.f->run->passed_over_at = a.node;
    a.f->run->passed_over = a.refusal ? a.refusal->refused : NULL;
    *found = false;
fail:
    return status;
}

/* E166: an overload that answers for what is built in would have no effect, and nobody would
 * notice. Asked when all types are known, and not for calls in lanewise's own functions. */
static lw_status
refuse_built_in(asked a, const lw_arg *args)
{
    lw_infer_frame *f = a.f;
    lw_status status;
    uint32_t fn;

    if (!f->report || f->fn->of_package)
        return LW_OK;
    a.question.for_gpu = f->run->typed->options.threads;
    LW_TRY(find_implementation(&a, args, &fn));
    if (fn != 0)
        return lw_complain(
            f, lw_node_of(f, a.node)->loc, "E166",
            lw_format_text(f, "the arguments are (%s)", shown_types(f, &a.question)),
            "let the overload return None for these types, or overload a function, method or "
            "attribute with a name of your own",
            "`%s` is built in for these types, so an overload of it has no effect",
            shown_name(f, &a.question));
fail:
    return status;
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

lw_status
lw_infer_overloaded_call(lw_infer_frame *f, uint32_t node, uint32_t callee, const lw_arg *args,
                         uint32_t n, bool *found, lw_infer_value *out)
{
    const lw_constant *constant = callee ? lw_constant_of(f, callee) : NULL;
    asked a = {.f = f,
               .node = node,
               .question = {.kind = LW_OVERLOAD_FUNCTION, .constant = callee, .n = n}};

    *found = false;
    if (constant == NULL || callee >= f->run->tree->constants.n) /* inference has made it */
        return LW_OK;
    a.has_other = lw_is_own_function(f->run->tree, constant);
    a.prefers = constant->prefers_literals;
    a.values = constant->takes_values;
    if (a.has_other)
        *found = has_object(f, args, n) && lw_overloaded_operator(LW_CALL_OF_OWN, &a.prefers);
    else
        *found = constant->overloaded;
    if (a.has_other && !*found && constant->overloaded)
        return refuse_built_in(a, args);
    return *found ? resolve(a, args, found, out) : LW_OK;
}

/* A method or an attribute. */
static const lw_overloaded_name *
overloaded(lw_infer_frame *f, const char *name, lw_overload_kind kind)
{
    const lw_tree *tree = f->run->tree;

    for (uint32_t i = 0; i < tree->overloaded.n; i++)
        if (tree->overloaded.data[i].kind == kind &&
            strcmp(tree->overloaded.data[i].name, name) == 0)
            return &tree->overloaded.data[i];
    return NULL;
}

/* Whether operators of the operand may be overloaded: those of numbers and arrays are not. */
static bool
has_own_operators(lw_infer_frame *f, lw_type type)
{
    return lw_type_get_kind(lw_types_of(f), type, LW_TK_TUPLE) == NULL;
}

lw_status
lw_infer_overloaded_operator(lw_infer_frame *f, uint32_t node, const char *name,
                             const lw_arg *args, uint32_t n, bool *found, lw_infer_value *out)
{
    asked a = {.f = f,
               .node = node,
               .has_other = true,
               .question = {.kind = LW_OVERLOAD_OPERATOR, .n = n}};
    bool own = true, known = true;

    for (uint32_t i = 0; i < n; i++) {
        own = own && has_own_operators(f, args[i].value.type);
        known = known && args[i].value.type != LW_T_BOTTOM;
    }
    if (name != NULL && known && !own)
        a.question.name = lw_overloaded_operator(name, &a.prefers);
    *found = a.question.name != NULL;
    return *found ? resolve(a, args, found, out) : LW_OK;
}

const char *
lw_help_of_overloads(lw_infer_frame *f, uint32_t node, const char *help)
{
    const lw_infer_run *run = f->run;

    if (run->passed_over_at != node || run->passed_over == NULL)
        return help;
    return lw_format_text(f, "%s; %s", help, run->passed_over);
}

/* The question about a method or an attribute; false: no type has an overload of this name. */
static bool
ask_of(lw_infer_frame *f, uint32_t node, lw_overload_kind kind, const char *name, uint32_t n,
       asked *out)
{
    const lw_overloaded_name *row = overloaded(f, name, kind);

    *out = (asked){.f = f,
                   .node = node,
                   .prefers = row != NULL && row->prefers_literals,
                   .question = {.kind = kind, .name = name, .n = n}};
    return row != NULL;
}

/* The object of an attribute, as the argument of an overload. */
static lw_arg
self_of(lw_infer_frame *f, uint32_t node, lw_infer_value object)
{
    uint32_t of = lw_node_of(f, node)->a;

    return (lw_arg){.node = of, .entry = of, .value = object};
}

bool
lw_is_overloaded_method(lw_infer_frame *f, const char *name)
{
    return overloaded(f, name, LW_OVERLOAD_METHOD) != NULL;
}

lw_status
lw_infer_overloaded_method(lw_infer_frame *f, uint32_t node, const char *name,
                           const lw_arg *args, uint32_t n, bool *found, lw_infer_value *out)
{
    asked a;

    *found = ask_of(f, node, LW_OVERLOAD_METHOD, name, n, &a);
    return *found ? resolve(a, args, found, out) : LW_OK;
}

lw_status
lw_refuse_built_in_method(lw_infer_frame *f, uint32_t node, const char *name,
                          const lw_arg *args, uint32_t n)
{
    asked a;

    return ask_of(f, node, LW_OVERLOAD_METHOD, name, n, &a) ? refuse_built_in(a, args) : LW_OK;
}

lw_status
lw_infer_overloaded_attribute(lw_infer_frame *f, uint32_t node, const char *name,
                              lw_infer_value object, bool *found, lw_infer_value *out)
{
    const lw_arg self = self_of(f, node, object);
    asked a;

    *found = ask_of(f, node, LW_OVERLOAD_ATTRIBUTE, name, 1, &a);
    return *found ? resolve(a, &self, found, out) : LW_OK;
}

lw_status
lw_refuse_built_in_attribute(lw_infer_frame *f, uint32_t node, const char *name,
                             lw_infer_value object)
{
    const lw_arg self = self_of(f, node, object);
    asked a;

    return ask_of(f, node, LW_OVERLOAD_ATTRIBUTE, name, 1, &a) && object.type != LW_T_BOTTOM
               ? refuse_built_in(a, &self)
               : LW_OK;
}
