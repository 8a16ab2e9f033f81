/* Exceptions: the rows that say what is raised and where, the statuses that name them, and the
 * way of a status out of the functions that are called. Where one of lanewise's own functions
 * in Python raises, behind `x @ y` or `np.reshape(x, n)`, the row names the user's call: the
 * callee returns a status of its own, for which each call in a function of the user's puts one
 * of its place. */
#include "core/front/lower/lower_internal.h"

#include "core/front/diagnose.h"
#include "core/ir/facts.h"
#include "core/ir/format.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

static bool
same_args(const lw_raise_row *x, const lw_raise_row *y)
{
    bool same = x->n_args == y->n_args;

    for (uint32_t i = 0; same && i < x->n_args; i++) {
        const lw_raise_arg *a = &x->args[i], *b = &y->args[i];
        same = a->kind == b->kind && a->n == b->n && a->format == b->format &&
               strcmp(a->name ? a->name : "", b->name ? b->name : "") == 0;
    }
    return same;
}

static bool
same_row(const lw_raise_row *x, const lw_raise_row *y)
{
    return x->line == y->line && x->format == y->format && same_args(x, y) &&
           strcmp(x->exception, y->exception) == 0 && strcmp(x->message, y->message) == 0 &&
           strcmp(x->function, y->function) == 0 && strcmp(x->file, y->file) == 0;
}

/* The status of this exception: the index of its row + 1. */
static int32_t
raise_status(lw_lowering *l, const lw_raise_row *row)
{
    lw_raise_row *kept;

    for (uint32_t i = 0; i < l->raises.n; i++)
        if (same_row(&l->raises.data[i], row))
            return (int32_t)i + 1;
    kept = lw_array_push(&l->raises, l->arena);
    if (kept == NULL) {
        l->module->failed = true;
        return 1;
    }
    kept->exception = lw_arena_strdup(l->arena, row->exception);
    kept->message = lw_arena_strdup(l->arena, row->message);
    kept->function = lw_arena_strdup(l->arena, row->function);
    kept->file = lw_arena_strdup(l->arena, row->file);
    kept->line = row->line;
    kept->format = row->format;
    kept->args = row->args; /* in this arena */
    kept->n_args = row->n_args;
    if (l->arena->failed)
        l->raises.n--;
    return (int32_t)l->raises.n;
}

/* ---- places ---- */

static const lw_loc *
loc_here(const lw_lower_frame *f)
{
    return &f->l->tree->locs.data[lw_node_at(f, f->node)->loc];
}

static const char *
path_of(const lw_lower_frame *f, const lw_loc *loc)
{
    const char *path = f->l->tree->files.data[loc->file].path;

    return path ? path : "";
}

void
lw_lower_note_call(lw_lower_frame *inlined, const lw_lower_frame *caller)
{
    inlined->home = caller->home;
    inlined->call_loc = caller->call_loc;
    inlined->call_fn = caller->call_fn;
    if (caller->call_fn == NULL &&
        !lw_is_of_lanewise(caller->l->tree, path_of(caller, loc_here(caller)))) {
        inlined->call_loc = loc_here(caller);
        inlined->call_fn = caller->fn;
    }
}

/* The callers of the function that is being lowered have to know of this status: they name the
 * places where they call it. */
static void
note_status(lw_lower_frame *f, int32_t status)
{
    lw_statuses *raised = &f->l->raised[f->home];
    int32_t *slot;

    for (uint32_t i = 0; i < raised->n; i++)
        if (raised->data[i] == status)
            return;
    slot = lw_array_push(raised, f->l->arena);
    if (slot != NULL)
        *slot = status;
}

/* The status of this exception, raised here: the place of the row is filled in. What one of
 * lanewise's own functions raises is shown at the user's call of it, and has no place where no
 * function of the user's is compiled, as in np.linalg.inv(device_array). */
static int32_t
status_of_row(lw_lower_frame *f, lw_raise_row row)
{
    const lw_loc *loc = loc_here(f);
    bool own = lw_is_of_lanewise(f->l->tree, path_of(f, loc));
    bool at_call = own && f->call_fn != NULL;
    int32_t status;

    if (!f->can_raise) {
        lw_lower_fail(f, f->node, "an exception in a function that raises none");
        return 0;
    }
    row.function = at_call ? f->call_fn->name : f->fn->name;
    if (own && !at_call) {
        row.file = "";
        row.line = 0;
    } else {
        row.file = path_of(f, at_call ? f->call_loc : loc);
        row.line = at_call ? f->call_loc->line : loc->line;
    }
    status = raise_status(f->l, &row);
    if (own && !at_call)
        note_status(f, status);
    return status;
}

static int32_t
status_here(lw_lower_frame *f, const char *exception, const char *message)
{
    return status_of_row(f, (lw_raise_row){.exception = exception, .message = message});
}

/* The status of a call of an instance. What it says of functions of lanewise's own is replaced:
 * by the place of the call in the user's function, which these do for their own callers. */
static lw_ref
status_of_call(lw_lower_frame *f, lw_ref status, uint32_t instance)
{
    const lw_statuses raised = f->l->raised[instance];
    bool own = f->call_fn == NULL && lw_is_of_lanewise(f->l->tree, path_of(f, loc_here(f)));
    lw_builder *b = &f->b;
    lw_ref found = status;

    for (uint32_t i = 0; i < raised.n; i++) {
        lw_raise_row row = f->l->raises.data[raised.data[i] - 1];
        lw_ref is_it;

        if (own) {
            note_status(f, raised.data[i]);
            continue;
        }
        is_it = lw_ir_compare(b, LW_OP_EQ, status, lw_ir_int(b, LW_DT_i32, raised.data[i]));
        found = lw_ir_select(b, is_it, lw_ir_int(b, LW_DT_i32, status_of_row(f, row)), found);
    }
    return found;
}

/* ---- raising ---- */

/* How many BLOCKs and LOOPs are open inside of the BLOCK. */
static uint32_t
depth_in(const lw_lower_frame *f, lw_ref block)
{
    uint32_t closed = 0, depth = 0;

    for (uint32_t i = f->b.func->insts.n; --i > block;) {
        lw_op op = (lw_op)f->b.func->insts.data[i].op;

        if (op == LW_OP_END)
            closed++;
        else if (lw_ir_opens_region(op) && closed > 0)
            closed--;
        else if (lw_ir_opens_region(op))
            depth += op != LW_OP_IF;
    }
    return depth;
}

static void
refuse_wall(lw_lower_frame *f)
{
    if (f->l->status == LW_OK)
        f->l->status = lw_diagnose(
            f->l->tree, lw_node_at(f, f->node)->loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E168", .label = "other iterations would go on",
                       .help = "put the loop into a function of its own, and the `try` around "
                               "the call; or put the `try` into the loop",
                       .where = f->fn->name},
            f->l->err,
            "an exception leaves a loop over prange for the `except` or `finally` "
            "around it");
}

/* Leave with this exception: for the handler around this code, or the function. */
static void
leave(lw_lower_frame *f, lw_ref status, const lw_ref *words, uint32_t n)
{
    lw_handler *h = f->handler;
    lw_builder *b = &f->b;

    while (h != NULL && h->is_wall)
        h = h->outer;
    if (h == NULL) {
        lw_lower_return_zeros(f, status, words, n);
        return;
    }
    if (h != f->handler)
        refuse_wall(f);
    if (b->func == NULL)
        return;
    h->used = true;
    lw_ir_set(b, h->status, status);
    for (uint32_t i = 0; i < f->l->n_raise_words; i++)
        lw_ir_set(b, h->words[i], i < n ? words[i] : lw_ir_zero(b, LW_DT_u64));
    lw_ir_break(b, depth_in(f, h->block));
}

void
lw_lower_raise(lw_lower_frame *f, lw_ref condition, const char *exception, const char *message)
{
    assert(exception != NULL && message != NULL);
    int32_t status = status_here(f, exception, message);

    if (status == 0)
        return;
    if (condition)
        lw_ir_if(&f->b, condition);
    leave(f, lw_ir_int(&f->b, LW_DT_i32, status), NULL, 0);
    if (condition)
        lw_ir_end(&f->b);
}

void
lw_lower_raise_deferred(lw_lower_frame *f, lw_ref condition, const char *exception,
                        const char *message)
{
    lw_builder *b = &f->b;
    lw_ref status;

    if (f->deferred == 0) {
        lw_lower_raise(f, condition, exception, message);
        return;
    }
    status = lw_ir_int(b, LW_DT_i32, status_here(f, exception, message));
    status = lw_ir_select(b, condition, status, lw_ir_zero(b, LW_DT_i32));
    lw_ir_set(b, f->deferred, lw_lower_first_status(f, status));
}

void
lw_lower_raise_words(lw_lower_frame *f, const char *exception, uint64_t format,
                     const lw_ref *words, uint32_t n)
{
    lw_lower_raise_row(f, &(lw_raise_row){.exception = exception, .format = format}, words, n);
}

void
lw_lower_raise_row(lw_lower_frame *f, const lw_raise_row *row, const lw_ref *words, uint32_t n)
{
    assert(n <= LW_RAISE_WORDS);
    lw_raise_row raised = *row;
    int32_t status;

    raised.message = raised.message ? raised.message : "";
    status = status_of_row(f, raised);
    if (status != 0)
        leave(f, lw_ir_int(&f->b, LW_DT_i32, status), words, n);
}

/* Whether an object that the callee changes is seen afterwards, though the call does not say
 * where: `p += 1`, by a method that changes p and gives what p becomes. */
static bool
is_replaced(const lw_lower_frame *f, const lw_instance *callee)
{
    return lw_node_at(f, f->node)->kind == LW_NODE_AUGASSIGN &&
           !f->l->tree->fns.data[callee->fn].of_package;
}

static bool
is_seen(const lw_lower_frame *f, const lw_instance *callee, uint32_t written)
{
    bool seen = is_replaced(f, callee);

    for (uint32_t k = 0; k < callee->n_changed; k++) {
        uint32_t node = f->l->typed->lists.data[written + k];
        seen |= node != LW_CHANGED_NONE && node != LW_CHANGED_VALUE;
    }
    return seen;
}

static void
refuse_lost(lw_lower_frame *f, const lw_instance *callee)
{
    if (f->l->status == LW_OK)
        f->l->status = lw_diagnose(
            f->l->tree, lw_node_at(f, f->node)->loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                       .label = "what it has changed until then is not known here",
                       .help =
                           "change it with methods, `x.append(v)`, and by assigning to fields "
                           "that it has already; `x += v` and `x = v` make another object of "
                           "an argument",
                       .where = f->fn->name},
            f->l->err, "`%s` changes an object and may raise, and a `try` is around its call",
            f->l->tree->fns.data[callee->fn].name);
}

/* What the callee has changed before it raised. */
static void
take_changed(lw_lower_frame *f, lw_ref call, uint32_t instance, const lw_lower_value *values,
             uint32_t written)
{
    const lw_instance *callee = &f->l->typed->instances.data[instance];
    uint32_t n = lw_changed_parts_of(f->l->types, callee);
    uint32_t first = 1 + f->l->n_raise_words + lw_parts_of(f->l->types, callee->result);
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);
    bool loses = f->l->loses[instance] || is_replaced(f, callee);
    lw_lower_value made;

    if (parts == NULL || callee->n_changed == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        parts[i] = lw_ir_result(&f->b, call, first + i);
    if (!loses) {
        lw_lower_changed(f, instance, values, written, parts, &made);
        return;
    }
    for (uint32_t k = 0; k < callee->n_changed; k++) {
        lw_type type = callee->changed_types[k];
        lw_lower_value value = {type, lw_parts_of(f->l->types, type), parts, NULL};
        bool lent = lw_is_lent(f->l, instance, k);

        lw_lower_take(
            f, lw_lower_unless_lent(f, value, lent ? values[callee->changed[k]].parts : NULL));
        parts += value.n;
    }
    if (!is_seen(f, callee, written))
        return;
    f->l->loses[f->home] = true;
    if (f->handler != NULL)
        refuse_lost(f, callee);
}

void
lw_lower_propagate(lw_lower_frame *f, lw_ref call, uint32_t instance,
                   const lw_lower_value *values, uint32_t written)
{
    assert(f->can_raise);
    lw_builder *b = &f->b;
    lw_ref status = lw_ir_result(b, call, 0), words[LW_RAISE_WORDS] = {0};

    if (f->deferred) {
        status = status_of_call(f, status, instance);
        lw_ir_set(b, f->deferred, lw_lower_first_status(f, status));
        return;
    }
    for (uint32_t i = 0; i < f->l->n_raise_words; i++)
        words[i] = lw_ir_result(b, call, 1 + i);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, lw_ir_zero(b, LW_DT_i32)));
    if (f->l->catches)
        take_changed(f, call, instance, values, written);
    leave(f, status_of_call(f, status, instance), words, f->l->n_raise_words);
    lw_ir_end(b);
}

/* ---- try ---- */

/* The body is a BLOCK, at whose end the handlers are. What follows the statement is behind
 * another BLOCK around both:
 *
 *     BLOCK           which the body and each handler leave at their end
 *       BLOCK         which an exception leaves, with its status in a slot
 *         body, else
 *       END
 *       IF the status is one that the first handler catches
 *       ...
 *       with the status of what no handler catches, on to the next `try` or the caller
 *     END
 *
 * A `finally` is lowered for each way that leads out: its statements are in front of the
 * RETURN, BREAK or CONTINUE, behind the body, and in a handler that catches everything and
 * raises it again. */

static void
open_handler(lw_lower_frame *f, lw_handler *h)
{
    *h = (lw_handler){.outer = f->handler, .caught = f->caught};
    h->status = lw_ir_slot(&f->b, LW_DT_i32);
    lw_ir_set(&f->b, h->status,
              lw_ir_zero(&f->b, LW_DT_i32)); /* no iteration reads another's */
    for (uint32_t i = 0; i < f->l->n_raise_words; i++) {
        h->words[i] = lw_ir_slot(&f->b, LW_DT_u64);
        lw_ir_set(&f->b, h->words[i], lw_ir_zero(&f->b, LW_DT_u64));
    }
    lw_lower_region_open(f, false);
    h->block = f->b.func ? f->b.func->insts.n - 1 : 0;
    f->handler = h;
}

static void
raise_again(lw_lower_frame *f, const lw_handler *h)
{
    lw_ref words[LW_RAISE_WORDS] = {0};

    for (uint32_t i = 0; i < f->l->n_raise_words; i++)
        words[i] = lw_ir_get(&f->b, h->words[i]);
    leave(f, lw_ir_get(&f->b, h->status), words, f->l->n_raise_words);
}

void
lw_lower_raise_again(lw_lower_frame *f, uint32_t node)
{
    const lw_handler *h = f->caught;

    for (uint32_t i = 0; h != NULL && i < lw_node_at(f, node)->b; i++)
        h = h->caught;
    if (h == NULL)
        lw_lower_fail(f, node, "a `raise` outside of a handler");
    else
        raise_again(f, h);
}

/* What a handler catches. NULL: memory is out. */
static lw_catch *
catch_of(lw_lowering *l, uint32_t classes, uint32_t node)
{
    lw_catch *made;

    for (uint32_t i = 0; i < l->caught.n; i++)
        if (l->caught.data[i].classes == classes)
            return &l->caught.data[i];
    made = lw_array_push(&l->caught, l->arena);
    if (made == NULL)
        l->module->failed = true;
    else
        *made = (lw_catch){.classes = classes, .node = node};
    return made;
}

/* b1: whether a handler catches the exception that h has. */
static lw_ref
is_caught(lw_lower_frame *f, const lw_handler *h, uint32_t node)
{
    lw_catch *made = catch_of(f->l, lw_node_at(f, node)->c, node);
    lw_ref status = lw_ir_get(&f->b, h->status);
    char name[32];

    if (made == NULL)
        return 0;
    if (!made->is_asked) {
        snprintf(name, sizeof name, "caught_%u", (unsigned)(made - f->l->caught.data));
        made->is_asked = true;
        lw_builder_start(&made->b, f->l->module, name);
        lw_ir_param_add(&made->b, LW_DT_i32, 0, "status");
        lw_ir_result_add(&made->b, LW_DT_b1);
        if (made->b.func != NULL)
            made->b.func->linkage = LW_INTERNAL;
    }
    return lw_ir_call(&f->b, made->b.func_number, &status, 1);
}

/* Nothing in the body raises anything. */
static void
note_handlers(lw_lower_frame *f, const lw_node *n)
{
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t number = lw_list_at(f, n->b + i), classes = lw_node_at(f, number)->c;

        if (classes != 0 && !lw_typed_at(f, number)->dead)
            catch_of(f->l, classes, number);
    }
}

/* The name of a handler's exception, or 0. */
static void
unbind(lw_lower_frame *f, uint32_t name)
{
    if (name != 0)
        lw_lower_unbind(f, lw_node_at(f, name)->a);
}

static void
lower_handlers(lw_lower_frame *f, const lw_node *n, lw_handler *h, uint32_t done)
{
    for (uint32_t i = 0; i < n->c; i++) {
        uint32_t number = lw_list_at(f, n->b + i);
        const lw_node *handler = lw_node_at(f, number);

        if (lw_typed_at(f, number)->dead)
            continue;
        lw_lower_set_loc(f, number);
        if (handler->c != 0)
            lw_ir_if(&f->b, is_caught(f, h, number));
        f->caught = h;
        unbind(f, handler->a);
        lw_lower_body(f, handler->b);
        f->caught = h->caught;
        if (!lw_ir_ended(&f->b)) {
            unbind(f, handler->a);
            lw_block_leave(f, done);
        }
        if (handler->c == 0)
            return;
        lw_ir_end(&f->b);
    }
    raise_again(f, h);
}

/* The body, handlers and `else`. */
static void
lower_handled(lw_lower_frame *f, const lw_node *n)
{
    const lw_node *parts = lw_node_at(f, n->a);
    lw_handler h;
    uint32_t done;

    if (n->c == 0) {
        lw_lower_body(f, parts->a);
        return;
    }
    done = lw_lower_region_open(f, false);
    open_handler(f, &h);
    lw_lower_body(f, parts->a);
    f->handler = h.outer;
    if (parts->b && !lw_ir_ended(&f->b))
        lw_lower_body(f, parts->b);
    if (!lw_ir_ended(&f->b))
        lw_block_leave(f, done);
    lw_lower_region_close(f);
    if (h.used)
        lower_handlers(f, n, &h, done);
    else
        note_handlers(f, n);
    lw_lower_region_close(f);
}

static void
lower_with_finally(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);
    uint32_t body = lw_node_at(f, n->a)->c, done = lw_lower_region_open(f, false);
    bool ends = lw_typed_at(f, node)->truth == 1;
    lw_lower_finally finally = {f->finallies, node, f->handler, f->caught, f->loop};
    lw_handler h;

    open_handler(f, &h);
    f->finallies = &finally;
    lower_handled(f, n);
    f->finallies = finally.outer;
    f->handler = finally.handler;
    if (!lw_ir_ended(&f->b))
        lw_block_leave(f, done);
    lw_lower_region_close(f);
    if (h.used) {
        lw_lower_body(f, body);
        if (!lw_ir_ended(&f->b))
            raise_again(f, &h);
    }
    lw_lower_region_close(f);
    if (ends)
        lw_lower_body(f, body);
}

void
lw_lower_try(lw_lower_frame *f, uint32_t node)
{
    const lw_node *n = lw_node_at(f, node);

    if (lw_node_at(f, n->a)->c)
        lower_with_finally(f, node);
    else
        lower_handled(f, n);
}

bool
lw_lower_finallies(lw_lower_frame *f, bool is_jump)
{
    const lw_lower_frame outer = *f;
    bool goes_on = true;

    while (goes_on && f->finallies && (!is_jump || f->finallies->loop == outer.loop)) {
        const lw_lower_finally *one = f->finallies;

        f->finallies = one->outer;
        f->handler = one->handler;
        f->caught = one->caught;
        f->loop = one->loop;
        lw_lower_body(f, lw_node_at(f, lw_node_at(f, one->node)->a)->c);
        goes_on = !lw_ir_ended(&f->b);
    }
    f->finallies = outer.finallies;
    f->handler = outer.handler;
    f->caught = outer.caught;
    f->loop = outer.loop;
    return goes_on;
}

/* ---- what handlers catch ---- */

static bool
is_among(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Whether an exception of this name is one of the class that a handler catches. */
static bool
is_of_class(const lw_lowering *l, const char *name, const lw_constant *class)
{
    const lw_exception *caught = class->bytes, *raised;

    if (is_among(caught->derived, name) || strcmp(class->text, name) == 0)
        return true;
    for (uint32_t i = 1; i < l->tree->constants.n; i++) {
        const lw_constant *k = &l->tree->constants.data[i];
        raised = k->kind == LW_K_EXCEPTION ? k->bytes : NULL;
        if (raised != NULL && strcmp(k->text, name) == 0)
            return is_among(raised->bases, class->text);
    }
    return false;
}

static bool
catches(const lw_lowering *l, const lw_constant *classes, const char *name)
{
    for (uint32_t i = 0; i < classes->n; i++)
        if (is_of_class(l, name, &l->tree->constants.data[classes->items[i]]))
            return true;
    return false;
}

/* Errors of numbers and indices that Python raises, and that compiled code raises if it is
 * asked to: an `except` for them alone that nothing reaches would be a mistake. */
static lw_status
refuse_missing(const lw_lowering *l, const lw_catch *one)
{
    static const char *const checked[][2] = {
#define CHECK(name, word, raises, where) {raises, word},
#include "core/tables/checks.def"
    };
    const lw_constant *classes = &l->tree->constants.data[one->classes];
    lw_text help = {0};
    lw_status status = LW_OK;

    for (size_t i = 0; i < sizeof checked / sizeof *checked && status == LW_OK; i++) {
        const lw_constant *class =
            classes->n == 1 ? &l->tree->constants.data[classes->items[0]] : NULL;
        if (class == NULL || strcmp(class->text, checked[i][0]) != 0)
            continue;
        lw_text_addf(&help, "check={\"%s\"} lets the operations raise it; or test with `if`",
                     checked[i][1]);
        status = lw_diagnose(
            l->tree, l->tree->nodes.data[one->node].loc,
            (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                       .label = "nothing in the `try` raises this, nor what it calls",
                       .help = lw_text_get(&help)},
            l->err, "this `except %s` would never run", class->text);
    }
    lw_text_reset(&help);
    return status;
}

static lw_status
finish_catch(lw_lowering *l, lw_catch *one)
{
    const lw_constant *classes = &l->tree->constants.data[one->classes];
    lw_builder *b = &one->b;
    lw_ref status = 1, any = 0; /* a parameter is the first instruction */
    bool is_any = false;
    lw_status refused;

    for (uint32_t i = 0; i < l->raises.n; i++) {
        lw_ref is;
        if (!catches(l, classes, l->raises.data[i].exception))
            continue;
        is_any = true;
        if (!one->is_asked)
            continue;
        is = lw_ir_compare(b, LW_OP_EQ, status, lw_ir_int(b, LW_DT_i32, (int32_t)i + 1));
        any = any ? lw_ir_or(b, any, is) : is;
    }
    refused = is_any ? LW_OK : refuse_missing(l, one);
    if (refused != LW_OK)
        return refused;
    if (!one->is_asked)
        return LW_OK;
    any = any ? any : lw_ir_int(b, LW_DT_b1, 0);
    lw_ir_return(b, &any, 1);
    return lw_ir_finish(b, l->err);
}

lw_status
lw_lower_catches(lw_lowering *l)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < l->caught.n && status == LW_OK; i++)
        status = finish_catch(l, &l->caught.data[i]);
    return status;
}

/* ---- recursive calls ---- */

/* Functions that make them, or call others that do, have the number of open calls of such
 * functions as their first parameter. In front of each recursive call the code asks whether the
 * stack has room (ROOM); what that means is the emitter's business. */

/* "`fact` was called … levels deep" */
static uint64_t
message_of(lw_lower_frame *f, const lw_fn *fn)
{
    lw_format_value level = {.dtype = LW_DT_i64,
                             .behind = " levels deep, and the stack has no room for more"};
    lw_text before = {0};
    uint64_t number = 0;

    lw_text_addf(&before, "`%s` was called ", fn->name);
    if (!before.failed)
        number = lw_format_add(lw_text_get(&before), &level, 1);
    lw_text_reset(&before);
    if (number == 0)
        f->l->module->failed = true;
    return number;
}

static void
check_room(lw_lower_frame *f, lw_ref level, const lw_fn *fn)
{
    lw_builder *b = &f->b;
    lw_ref room = lw_ir_emit(b, LW_OP_ROOM, LW_DT_b1, level, 0, 0), words[1];

    assert(f->l->n_raise_words >= 1);
    lw_ir_if(b, lw_ir_not(b, room));
    words[0] = lw_ir_cast(b, LW_DT_u64, level);
    lw_lower_raise_words(f, "RecursionError", message_of(f, fn), words, 1);
    lw_ir_end(b);
}

lw_ref
lw_lower_level(lw_lower_frame *f, uint32_t instance)
{
    const lw_instance *callee = &f->l->typed->instances.data[instance];
    lw_ref one = lw_ir_int(&f->b, LW_DT_i32, 1);

    assert(callee->recurses && f->inst->recurses);
    if (f->level == 0)
        return one;
    if (f->l->open[instance])
        check_room(f, f->level, &f->l->tree->fns.data[callee->fn]);
    return lw_ir_add(&f->b, f->level, one);
}
