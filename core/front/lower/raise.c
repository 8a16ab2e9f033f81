/* Exceptions: the rows that say what is raised and where, the statuses that name them, and the
 * way of a status out of the functions that are called. Where one of lanewise's own functions
 * in Python raises, behind `x @ y` or `np.reshape(x, n)`, the row names the user's call: the
 * callee returns a status of its own, for which each call in a function of the user's puts one
 * of its place. */
#include "core/front/lower/lower_internal.h"

#include "core/front/diagnose.h"
#include "core/ir/format.h"

#include <assert.h>
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

void
lw_lower_raise(lw_lower_frame *f, lw_ref condition, const char *exception, const char *message)
{
    assert(exception != NULL && message != NULL);
    int32_t status = status_here(f, exception, message);

    if (status == 0)
        return;
    if (condition)
        lw_ir_if(&f->b, condition);
    lw_lower_return_zeros(f, lw_ir_int(&f->b, LW_DT_i32, status), NULL, 0);
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
        lw_lower_return_zeros(f, lw_ir_int(&f->b, LW_DT_i32, status), words, n);
}

void
lw_lower_propagate(lw_lower_frame *f, lw_ref call, uint32_t instance)
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
    lw_lower_return_zeros(f, status_of_call(f, status, instance), words, f->l->n_raise_words);
    lw_ir_end(b);
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
