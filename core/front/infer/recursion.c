/* Recursion: functions that call themselves, or each other. An instance that is being made may
 * be called. The type of such a call is what is known of the result so far: nothing at first,
 * then the join of the returns of each walk. The caller's walks are repeated until that type no
 * longer changes. Instances that were made meanwhile, and used it, are dropped and made anew
 * whenever it changes. A type that follows from no return is E151.
 *
 * Constants among the arguments make instances of their own, so that recursion which counts
 * constants down ends while it is compiled. Where it does not end, the function's ints lose
 * their constants (lw_general), and everything is inferred again. */
#include "core/front/infer/infer_internal.h"

#include <assert.h>

/* ---- the type of the result ---- */

/* Without literals: their range would grow from level to level. */
static lw_type
widened(lw_infer_frame *f, lw_type type)
{
    const lw_type_row *row = lw_tuple_row(f, type);
    lw_type *elements, wide;

    if (lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL)
        return lw_type_unbounded(lw_types_of(f), type);
    if (row == NULL)
        return type;
    elements = lw_arena_take(f->run->arena, (row->n + 1) * sizeof *elements);
    if (elements == NULL)
        return type;
    for (uint32_t i = 0; i < row->n; i++) {
        elements[i] = widened(f, lw_tuple_row(f, type)->elements[i]);
        row = lw_tuple_row(f, type); /* types that were added may have moved it */
    }
    wide = lw_type_tuple(lw_types_of(f), elements, row->n, row->names);
    row = lw_tuple_row(f, type);
    wide = lw_type_tuple_listed(lw_types_of(f), wide, row->is_list);
    return lw_type_tuple_of_class(lw_types_of(f), wide, lw_tuple_row(f, type)->user_class);
}

void
lw_recursion_widen(lw_infer_frame *f, lw_infer_value *result)
{
    const lw_memo *memo = &f->run->memos.data[f->memo];

    if (!memo->recursive)
        return;
    result->constant = 0;
    if (f->n_result_types > 0 && result->type != memo->result.type)
        result->type = widened(f, result->type);
}

/* The frame is the innermost one. Memos that are busy nevertheless are those of its callers:
 * where a failure is made again to be reported, it keeps its number, and the caller may be
 * newer. */
static void
drop_resting(lw_infer_run *run, const lw_infer_frame *f)
{
    for (uint32_t i = f->memo + 1; i < run->memos.n; i++) {
        lw_memo *memo = &run->memos.data[i];

        if (!memo->busy && memo->rests_on <= f->depth)
            memo->key.fn = 0;
    }
}

static lw_type
first_return(const lw_infer_frame *f)
{
    for (uint32_t i = 0; i < f->returns.n; i++)
        if (f->returns.data[i].type != LW_T_BOTTOM)
            return f->returns.data[i].type;
    return LW_T_BOTTOM;
}

lw_status
lw_recursion_again(lw_infer_frame *f, bool *again)
{
    lw_infer_run *run = f->run;
    lw_infer_value result;
    lw_status status = LW_OK;

    *again = false;
    if (!run->memos.data[f->memo].recursive)
        return LW_OK;
    LW_TRY(lw_infer_changes_again(f, again));
    if (*again)
        drop_resting(run, f);
    LW_TRY(lw_infer_result(f, &result));
    if (result.type == run->memos.data[f->memo].result.type)
        return LW_OK;
    if (result.type == LW_T_BOTTOM) /* no common type, which the last walk reports */
        result.type = f->n_result_types == 0 ? first_return(f) : (lw_type)LW_T_BOTTOM;
    if (result.type == LW_T_BOTTOM)
        return LW_OK;
    if (++f->n_result_types > LW_MAX_RESULTS) {
        f->report = true;
        return lw_complain(f, f->fn->loc, "E151",
                           lw_format_text(f, "returns %s, which depends on what it returns",
                                          lw_describe_type(f, result.type)),
                           "return the same type on every level",
                           "the result of `%s` has a different type on each level of recursion",
                           f->fn->name);
    }
    run->memos.data[f->memo].result.type = result.type;
    drop_resting(run, f);
    *again = true;
fail:
    return status;
}

lw_type
lw_recursion_first(lw_infer_frame *f)
{
    const lw_sig_type promised = lw_promised_result(f);

    return promised.kind == LW_SIG_SCALAR ? (lw_type)promised.dtype : (lw_type)LW_T_BOTTOM;
}

bool
lw_recursion_is_open(const lw_infer_frame *f)
{
    return f->is_open && f->rests_on < f->depth;
}

lw_status
lw_complain_endless(lw_infer_frame *f, uint32_t loc, uint32_t fn)
{
    const char *name = f->run->tree->fns.data[fn].name;

    return lw_complain(
        f, loc, "E151", "its type is that of this call",
        "return a value without a recursive call on some path, as in `if n <= 0: return 0.0`, "
        "or annotate the result, `-> lw.float64`",
        "cannot type infer runaway recursion: every path to a return of `%s` calls it again",
        name);
}

/* ---- what rests on what ---- */

void
lw_recursion_note(lw_infer_run *run, lw_memo *memo)
{
    lw_infer_frame *f = run->frame;
    uint32_t rests_on = memo->busy ? memo->depth : memo->rests_on;

    memo->recursive |= memo->busy;
    if (rests_on < f->rests_on)
        f->rests_on = rests_on;
}

void
lw_recursion_leave(lw_infer_run *run, const lw_infer_frame *f, lw_status status)
{
    uint32_t rests_on = f->rests_on < f->depth ? f->rests_on : UINT32_MAX;

    if (status != LW_OK) /* where the failure is made again, it is called again */
        drop_resting(run, f);
    run->memos.data[f->memo].rests_on = rests_on;
    for (uint32_t i = f->memo + 1; i < run->memos.n; i++)
        if (run->memos.data[i].rests_on != UINT32_MAX &&
            run->memos.data[i].rests_on >= f->depth)
            run->memos.data[i].rests_on = rests_on;
}

/* Whether the caller did not do yet what this callee does. */
static bool
add_flags(lw_instance *caller, const lw_instance *callee)
{
    bool more = (callee->can_raise && !caller->can_raise) ||
                (callee->allocates && !caller->allocates) ||
                (callee->resizes && !caller->resizes) || (callee->acts && !caller->acts);

    caller->can_raise |= callee->can_raise;
    caller->allocates |= callee->allocates;
    caller->resizes |= callee->resizes;
    caller->acts |= callee->acts;
    return more;
}

void
lw_recursion_spread(lw_typed *typed)
{
    bool changed;

    do {
        changed = false;
        for (uint32_t i = 1; i < typed->instances.n; i++) {
            lw_instance *caller = &typed->instances.data[i];

            for (uint32_t j = 0; caller->recurses && j < caller->nodes.n; j++) {
                const lw_typed_node *node =
                    lw_typed_in(&caller->nodes, caller->nodes.first + j);

                if (node->call == LW_CALL_INSTANCE)
                    changed |= add_flags(caller, &typed->instances.data[node->target]);
                if (node->asks != 0)
                    changed |= add_flags(caller, &typed->instances.data[node->asks]);
            }
        }
    } while (changed);
}

/* ---- no end ---- */

bool
lw_recursion_is_general(const lw_infer_run *run, uint32_t fn)
{
    for (uint32_t i = 0; i < run->general->n; i++)
        if (run->general->fns[i] == fn)
            return true;
    return false;
}

static bool
has_constant_int(lw_infer_frame *f, const lw_infer_value *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (lw_type_is_int(f, values[i].type) &&
            (values[i].constant != 0 ||
             lw_type_kind_of(lw_types_of(f), values[i].type) == LW_TK_LITERAL))
            return true;
    return false;
}

bool
lw_recursion_is_wide(lw_infer_run *run)
{
    for (uint32_t i = 1; run->frame && i < run->memos.n; i++) {
        const lw_memo *memo = &run->memos.data[i];

        if (!memo->recursive || memo->key.fn == 0 ||
            lw_recursion_is_general(run, memo->key.fn) || run->general->n >= LW_MAX_GENERAL ||
            !has_constant_int(run->frame, memo->key.params, memo->key.n))
            continue;
        run->general->fns[run->general->n++] = memo->key.fn;
        run->is_again = true;
    }
    return run->is_again;
}

/* How often the function is among those that are being inferred, and its innermost frame. */
static uint32_t
count_frames(lw_infer_frame *innermost, uint32_t fn, lw_infer_frame **last)
{
    uint32_t n = 0;

    *last = NULL;
    for (lw_infer_frame *f = innermost; f != NULL; f = f->caller) {
        if (f->fn_index != fn)
            continue;
        *last = *last ? *last : f;
        n++;
    }
    return n;
}

static const char *
describe_types(lw_infer_frame *f)
{
    lw_text text = {0};
    const char *said;

    for (uint32_t i = 0; i < f->fn->params.n && i < f->n_params; i++) {
        lw_text_add(&text, i ? ", " : "");
        lw_add_shortened_type(f, f->params[i].type, &text);
    }
    said = lw_arena_strdup(f->run->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return said ? said : "";
}

/* The innermost frame of the same function around this one; NULL: there is none. */
static lw_infer_frame *
frame_before(const lw_infer_frame *f)
{
    lw_infer_frame *before = f->caller;

    while (before != NULL && before->fn_index != f->fn_index)
        before = before->caller;
    return before;
}

static lw_status
complain_changing(lw_infer_run *run, lw_infer_frame *f, uint32_t loc)
{
    lw_infer_frame *before = frame_before(f);
    lw_text label = {0};
    lw_status status;

    lw_text_addf(&label, "called with (%s), it calls itself with (%s), and so on",
                 before ? describe_types(before) : "", describe_types(f));
    status = lw_diagnose(run->tree, loc,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E151", .label = lw_text_get(&label),
                                    .help = "pass arguments of the same types on each level",
                                    .where = run->frame->fn->name},
                         run->quiet ? NULL : run->err,
                         "`%s` calls itself with different argument types on each level",
                         f->fn->name);
    lw_text_reset(&label);
    return status;
}

enum { OFTEN = 4 }; /* frames of a function that count as recursion */

lw_status
lw_recursion_too_deep(lw_infer_run *run, uint32_t loc)
{
    lw_infer_frame *most = NULL, *last;
    uint32_t n_most = 0;

    assert(run->frame != NULL); /* it makes the call */
    for (lw_infer_frame *f = run->frame; f != NULL; f = f->caller) {
        uint32_t n = count_frames(run->frame, f->fn_index, &last);
        if (n >= OFTEN && has_constant_int(f, f->params, f->n_params) &&
            !lw_recursion_is_general(run, f->fn_index) && run->general->n < LW_MAX_GENERAL) {
            run->general->fns[run->general->n++] = f->fn_index;
            run->is_again = true;
        }
        if (n > n_most) {
            n_most = n;
            most = last;
        }
    }
    if (run->is_again)
        return lw_fail(NULL, LW_ERR_INTERNAL, "an inference that is done again");
    if (n_most >= OFTEN)
        return complain_changing(run, most, loc);
    return lw_diagnose(
        run->tree, loc,
        (lw_fault){LW_ERR_UNSUPPORTED, "E151", .help = "write some of them into their callers",
                   .where = run->frame->fn->name},
        run->quiet ? NULL : run->err, "calls nested more than %d levels deep", LW_MAX_FRAMES);
}
