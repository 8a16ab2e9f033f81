/* Inference: frames, walks until nothing changes, instances and the table of them, W201's
 * report, and the entry points lw_infer and lw_infer_specs. The method is described in
 * infer_internal.h. */
#include "core/front/infer/infer_internal.h"

#include "core/base/profile.h"

#include <assert.h>
#include <string.h>

bool
lw_list_add(lw_infer_frame *f, uint32_t entry)
{
    uint32_t *slot = lw_array_push(&f->run->typed->lists, f->run->arena);

    if (slot)
        *slot = entry;
    return slot != NULL;
}

/* ---- one instance ---- */

static lw_status
walk(lw_infer_frame *f, bool report)
{
    lw_status status;

    f->iteration++;
    f->report = report;
    f->changed = false;
    f->returns.n = f->return_nodes.n = 0;
    f->can_raise = false;
    f->allocates = false;
    f->resizes = false;
    f->acts = false;
    f->recurses = false;
    f->is_open = false;
    f->reads_untyped = false;
    f->loop = NULL;
    f->tries = NULL;
    f->finallies = NULL;
    f->assigned = NULL;
    LW_TRY(lw_webs_begin_iteration(f));
    LW_TRY(lw_infer_body(f, f->fn->body));
    assert(f->region == 0 && f->loop == NULL); /* every region was left */
    f->falls_off = f->now.live;
    if (f->falls_off)
        LW_TRY(lw_infer_changed_at(f, 0, f->fn->loc));
    if (f->run->arena->failed || f->run->typed->types.failed)
        return lw_out_of_memory(f);
fail:
    return status;
}

/* A function that reads an untyped item may have no result type of its own. Its caller may put
 * the first item by what the other paths of this function return, as a comprehension does that
 * reads what the list has so far. */
static lw_status
keep_partial(lw_infer_frame *f)
{
    return f->reads_untyped ? lw_infer_result(f, &f->run->memos.data[f->memo].partial) : LW_OK;
}

static lw_status
walk_until_settled(lw_infer_frame *f)
{
    bool again = false;
    lw_status status;

    do {
        if (f->iteration >= LW_MAX_ITERATIONS)
            return lw_fail(f->run->quiet ? NULL : f->run->err, LW_ERR_INTERNAL,
                           "the types of `%s` did not converge in %d passes", f->fn->name,
                           LW_MAX_ITERATIONS);
        LW_TRY(walk(f, false));
        if (!f->changed)
            LW_TRY(lw_recursion_again(f, &again));
        if (!f->changed && !again && f->reads_untyped && !f->joins_untyped &&
            !f->fn->of_package)
            f->joins_untyped = again = true;
    } while (f->changed || again);
    LW_TRY(keep_partial(f));
    if (!lw_recursion_is_open(f))
        LW_TRY(walk(f, true));
fail:
    return status;
}

static lw_status
new_instance(lw_infer_run *run, lw_infer_frame *f, uint32_t fn, const lw_infer_value *params,
             uint32_t n)
{
    assert(fn != 0 && fn < run->tree->fns.n);
    lw_instance *instance;
    lw_type *types = lw_arena_take(run->arena, (n + 1) * sizeof *types);
    uint32_t *constants = lw_arena_take(run->arena, (n + 1) * sizeof *constants);
    const lw_fn *read = &run->tree->fns.data[fn];
    lw_typed_node *nodes = lw_arena_take(run->arena, (read->n_nodes + 1) * sizeof *nodes);

    if (run->typed->instances.n >= LW_MAX_INSTANCES && lw_recursion_is_wide(run))
        return lw_fail(NULL, LW_ERR_INTERNAL, "an inference that is done again");
    if (run->typed->instances.n >= LW_MAX_INSTANCES)
        return lw_fail(run->quiet ? NULL : run->err, LW_ERR_UNSUPPORTED,
                       "more than %d variants of functions for one signature",
                       LW_MAX_INSTANCES);
    instance = lw_array_push(&run->typed->instances, run->arena);
    if (!types || !constants || !nodes || !instance)
        return lw_fail_memory(run->err);
    assert(n == read->params.n + read->captures.n); /* each has a value */
    for (uint32_t i = 0; i < n; i++) {
        types[i] = params[i].type;
        constants[i] = params[i].constant;
    }
    for (uint32_t i = 0; i <= read->n_nodes; i++)
        nodes[i].truth = -1;
    *instance = (lw_instance){.fn = fn,
                              .n_params = n,
                              .param_types = types,
                              .param_constants = constants,
                              .nodes = {nodes, read->first_node, read->n_nodes}};
    f->run = run;
    f->fn = read;
    f->fn_index = fn;
    f->instance = run->typed->instances.n - 1;
    f->n_params = n;
    f->params = params;
    f->nodes = instance->nodes;
    return LW_OK;
}

/* The next frame uses the list again. */
static lw_status
keep_returns(lw_infer_frame *f, lw_instance *instance)
{
    assert(f->report); /* only the last walk's returns count */
    uint32_t n = (uint32_t)f->return_nodes.n;
    uint32_t *kept = lw_arena_take(f->run->arena, (n + 1) * sizeof *kept);

    if (kept == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < n; i++)
        kept[i] = f->return_nodes.data[i];
    instance->returns = kept;
    instance->n_returns = n;
    return LW_OK;
}

static lw_status
infer_frame(lw_infer_frame *f, uint32_t memo, lw_infer_value *result)
{
    lw_instance *instance;
    lw_status status;

    LW_TRY(lw_webs_init(f));
    LW_TRY(walk_until_settled(f));
    LW_TRY(lw_infer_result(f, result));
    if (f->report)
        LW_TRY(lw_webs_finish(f));
    instance = &f->run->typed->instances.data[f->instance];
    instance->result = instance->gives = result->type;
    instance->can_raise = f->can_raise;
    instance->allocates = f->allocates;
    instance->resizes = f->resizes;
    instance->acts = f->acts;
    instance->recurses = f->recurses;
    instance->falls_off = f->falls_off;
    instance->never_returns = lw_never_returns(f);
    if (f->report)
        LW_TRY(keep_returns(f, instance));
    LW_TRY(lw_infer_keep_changes(f, instance, &f->run->memos.data[memo]));
    if (f->run->arena->failed || f->run->typed->types.failed)
        return lw_out_of_memory(f);
fail:
    return status;
}

static bool
same_key(lw_infer_frame *f, const lw_instance_key *x, const lw_instance_key *y)
{
    bool same = x->fn == y->fn && x->n == y->n && x->declared == y->declared;

    for (uint32_t i = 0; same && i < x->n; i++)
        same = x->params[i].type == y->params[i].type &&
               (x->params[i].constant == y->params[i].constant ||
                lw_constant_same(f, x->params[i].constant, y->params[i].constant));
    return same;
}

static uint32_t
find_memo(lw_infer_run *run, lw_infer_frame *caller, const lw_instance_key *key)
{
    /* [0] is the user's function, whose results the caller may have asked for in other types:
     * where it calls itself, it calls another instance */
    for (uint32_t i = 1; i < run->memos.n; i++)
        if (same_key(caller, &run->memos.data[i].key, key))
            return i;
    return UINT32_MAX;
}

static lw_status
add_memo(lw_infer_run *run, const lw_instance_key *key, uint32_t *out)
{
    lw_infer_value *copy = lw_arena_take(run->arena, (key->n + 1) * sizeof *copy);
    lw_memo *memo = lw_array_push(&run->memos, run->arena);

    if (copy == NULL || memo == NULL)
        return lw_fail_memory(run->err);
    memcpy(copy, key->params, key->n * sizeof *copy);
    *memo = (lw_memo){.key = *key, .rests_on = UINT32_MAX};
    memo->key.params = copy;
    *out = run->memos.n - 1;
    return LW_OK;
}

static lw_status
run_frame(lw_infer_run *run, uint32_t memo)
{
    assert(memo < run->memos.n && run->memos.data != NULL);
    const lw_instance_key key = run->memos.data[memo].key;
    lw_infer_frame *frame = lw_arena_take(run->arena, sizeof *frame), *caller = run->frame;
    uint32_t depth = run->depth;
    lw_infer_value result = {LW_T_NONE, 0};
    lw_status status;

    assert(!run->memos.data[memo].busy); /* a recursive call needs no frame */
    if (frame == NULL)
        return lw_fail_memory(run->err);
    frame->caller = caller;
    frame->declared = key.declared;
    frame->memo = memo;
    frame->rests_on = UINT32_MAX;
    LW_TRY(new_instance(run, frame, key.fn, key.params, key.n));
    run->frame = frame;
    frame->depth = ++run->n_frames;
    run->memos.data[memo].busy = true;
    run->memos.data[memo].recursive = false;
    run->memos.data[memo].depth = frame->depth;
    run->memos.data[memo].instance = frame->instance;
    run->memos.data[memo].result = (lw_infer_value){lw_recursion_first(frame), 0};
    status = infer_frame(frame, memo, &result);
    assert(run->frame == frame); /* frames are left in order */
    run->n_frames--;
    run->frame = caller;
    run->depth = depth;
    run->memos.data[memo].busy = false;
    run->memos.data[memo].result = result;
    run->memos.data[memo].reads_untyped = frame->reads_untyped;
    lw_recursion_leave(run, frame, status);
fail:
    run->memos.data[memo].status = status;
    return status;
}

/* LW_OK with memo->busy means that the function is calling itself. A failure is remembered, and
 * made again when it is to be reported. */
lw_status
lw_infer_instance(lw_infer_run *run, const lw_instance_key *key, uint32_t loc, uint32_t *memo)
{
    assert(key->fn != 0 && key->fn < run->tree->fns.n);
    lw_status status;

    *memo = run->frame ? find_memo(run, run->frame, key) : UINT32_MAX;
    if (*memo != UINT32_MAX) {
        const lw_memo *found = &run->memos.data[*memo];
        if (found->busy || found->status == LW_OK || run->quiet) {
            status = found->busy ? LW_OK : found->status;
            goto fail;
        }
    } else {
        LW_TRY(add_memo(run, key, memo));
    }
    if (run->frame != NULL && run->n_frames >= LW_MAX_FRAMES) {
        status = lw_recursion_too_deep(run, loc);
        run->memos.data[*memo].status = status;
        return status;
    }
    LW_TRY(run_frame(run, *memo));
fail:
    if (run->frame != NULL && *memo != UINT32_MAX)
        lw_recursion_note(run, &run->memos.data[*memo]);
    return status;
}

/* ---- the end: instances that are not called are dropped ---- */

/* number: 1 for the first instance, and for those that it calls, also through others. */
static void
mark_called(const lw_typed *typed, uint32_t *number, uint32_t *stack)
{
    uint32_t n = 0;

    assert(typed->instances.n > 1);
    number[1] = 1;
    stack[n++] = 1;
    while (n) {
        const lw_instance *row = &typed->instances.data[stack[--n]];

        for (uint32_t i = 0; i < row->nodes.n; i++) {
            const lw_typed_node *node = lw_typed_in(&row->nodes, row->nodes.first + i);
            uint32_t called[] = {node->call == LW_CALL_INSTANCE ? node->target : 0, node->asks};
            for (int k = 0; k < 2; k++) {
                if (called[k] == 0 || number[called[k]])
                    continue;
                assert(called[k] < typed->instances.n && n < typed->instances.n);
                number[called[k]] = 1;
                stack[n++] = called[k];
            }
        }
    }
}

/* Walks before the last one may have made instances that are never called in the end. */
static lw_status
drop_unused(lw_infer_run *run)
{
    lw_typed *typed = run->typed;
    uint32_t n = typed->instances.n, kept = 1;
    uint32_t *number = lw_arena_take(run->arena, n * sizeof *number);
    uint32_t *stack = lw_arena_take(run->arena, n * sizeof *stack);

    if (number == NULL || stack == NULL)
        return lw_fail_memory(run->err);
    mark_called(typed, number, stack);
    for (uint32_t i = 1; i < n; i++) {
        if (!number[i])
            continue;
        number[i] = kept;
        typed->instances.data[kept++] = typed->instances.data[i];
    }
    typed->instances.n = kept;
    for (uint32_t i = 1; i < kept; i++)
        for (uint32_t j = 0; j < typed->instances.data[i].nodes.n; j++) {
            const lw_typed_nodes *nodes = &typed->instances.data[i].nodes;
            lw_typed_node *node = lw_typed_in(nodes, nodes->first + j);
            if (node->call == LW_CALL_INSTANCE)
                node->target = number[node->target];
            node->asks = number[node->asks];
        }
    return LW_OK;
}

/* ---- W201 ---- */

static bool
is_narrow(lw_infer_frame *f, const lw_infer_value *args, uint32_t n)
{
    bool has_float = false;

    for (uint32_t i = 0; i < n; i++) {
        const lw_type_row *array = lw_array_row(f, args[i].type);
        lw_type type = array ? array->elements[0] : args[i].type;

        if (args[i].constant)
            continue;
        if (type >= LW_N_DTYPES || type == LW_DT_f64 || type == LW_DT_c128)
            return false;
        has_float |= lw_is_float((lw_dtype)type) || type == LW_DT_c64;
    }
    return has_float;
}

static lw_status
warn_wide(lw_infer_run *run)
{
    lw_text text = {0};
    lw_diag *diag;

    if (run->lint_lines.n == 0)
        return LW_OK;
    diag = lw_array_push(&run->typed->warnings, run->arena);
    if (diag == NULL)
        return lw_fail_memory(run->err);
    lw_text_addf(&text,
                 "float64 arithmetic where all arguments are float32 or narrower (line%s",
                 run->lint_lines.n > 1 ? "s" : "");
    for (uint32_t i = 0; i < run->lint_lines.n; i++)
        lw_text_addf(&text, "%s%u", i ? ", " : " ", run->lint_lines.data[i]);
    lw_text_add(&text, ")");
    diag->status = LW_OK;
    memcpy(diag->code, "W201", 5);
    diag->loc = run->lint_loc;
    diag->message = lw_arena_strdup(run->arena, lw_text_get(&text));
    diag->label = run->lint_label;
    diag->help = "cast with `np.float32(...)`, or use float64 arguments";
    lw_text_reset(&text);
    return diag->message ? LW_OK : lw_fail_memory(run->err);
}

/* ---- entry point ---- */

static lw_typed *
new_typed(const lw_tree *tree, const lw_front_options *options)
{
    lw_typed *typed = lw_alloc_zero(1, sizeof *typed);

    if (typed == NULL)
        return NULL;
    lw_arena_init(&typed->arena);
    typed->tree = tree;
    typed->options = *options;
    lw_types_init(&typed->types, &typed->arena);
    typed->types.tree = tree;
    if (typed->types.failed || !lw_array_reserve(&typed->instances, 1, &typed->arena) ||
        !lw_array_reserve(&typed->lists, 1, &typed->arena)) {
        lw_typed_free(typed);
        return NULL;
    }
    typed->instances.n = typed->lists.n = 1;
    return typed;
}

/* Whether an expression may assign: `:=`, a method that changes its object. */
static bool
assigns_inside(const lw_tree *tree)
{
    for (uint32_t i = 1; i < tree->nodes.n; i++)
        if (tree->nodes.data[i].kind == LW_NODE_WALRUS ||
            (tree->nodes.data[i].kind == LW_NODE_ATTRIBUTE &&
             tree->nodes.data[i].flags & LW_NODE_STORE))
            return true;
    return false;
}

static lw_status
check_tree(const lw_tree *tree, lw_error *err)
{
    if (tree->fns.n < 2)
        return lw_fail(err, LW_ERR_INTERNAL, "a tree without a function");
    if (tree->fns.data[1].captures.n)
        return lw_fail(err, LW_ERR_INTERNAL, "the user's function has unresolved captures");
    return LW_OK;
}

static lw_status
no_scalar(uint32_t i, lw_error *err)
{
    return lw_fail(err, LW_ERR_INTERNAL, "argument %u has no scalar type", i + 1);
}

/* Scalars as specifications of arguments. */
static lw_status
spec_of_type(lw_type type, uint32_t i, lw_arg_spec *out, lw_error *err)
{
    static const lw_dtype weak[] = {LW_DT_i64, LW_DT_f64, LW_DT_c128};
    bool is_weak = type >= LW_T_INDEX && type <= LW_T_PYCOMPLEX;

    if (type == LW_T_BOTTOM || (type >= LW_DT_ptr && !is_weak && !lw_type_is_time(type)))
        return no_scalar(i, err);
    *out = (lw_arg_spec){.kind = is_weak ? LW_ARGK_WEAK : LW_ARGK_SCALAR,
                         .dtype = is_weak ? weak[type - LW_T_INDEX] : (lw_dtype)type};
    return LW_OK;
}

static bool
is_number(const lw_arg_spec *spec)
{
    return spec->kind == LW_ARGK_SCALAR || spec->kind == LW_ARGK_WEAK ||
           spec->kind == LW_ARGK_CONSTANT || spec->kind == LW_ARGK_MEMBER;
}

/* Parameters without an argument take their defaults; *args takes the remaining arguments. */
static lw_status
bind_arguments(lw_infer_frame *scratch, const lw_arg_spec *specs, const lw_infer_value *args,
               uint32_t n, lw_infer_value *out, lw_error *err)
{
    const lw_fn *fn = scratch->fn;
    lw_typed *typed = scratch->run->typed;
    lw_type *types = lw_arena_take(scratch->run->arena, (n + 1) * sizeof *types);
    bool *counts = lw_arena_take(scratch->run->arena, fn->params.n + 1);
    bool *guarded = lw_arena_take(scratch->run->arena, fn->params.n + 1);
    uint32_t at = 0;

    if (types == NULL || counts == NULL || guarded == NULL)
        return lw_fail_memory(err);
    typed->counts = counts;
    typed->guarded = guarded;
    typed->all_guarded = true;
    for (uint32_t i = 0; i < n; i++)
        types[i] = args[i].type;

    for (uint32_t i = 0; i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];

        if (param->kind == LW_PARAM_VARARG && !(at < n && specs[at].packed)) {
            out[i].type = lw_type_tuple(lw_types_of(scratch), types + at, n - at, NULL);
            at = n;
        } else if (at < n) {
            counts[i] = specs[at].counts;
            guarded[i] = specs[at].guarded;
            typed->any_guarded |= guarded[i];
            typed->all_guarded &= guarded[i] || is_number(&specs[at]);
            out[i] = args[at++];
        } else if (param->default_constant) {
            out[i] = lw_constant_value(scratch, param->default_constant);
        } else {
            return lw_diagnose(scratch->run->tree, fn->loc,
                               (lw_fault){LW_ERR_TYPING, "E153", .where = fn->name}, err,
                               "`%s` needs an argument for `%s`", fn->name, param->name);
        }
    }
    if (at < n)
        return lw_diagnose(scratch->run->tree, fn->loc,
                           (lw_fault){LW_ERR_TYPING, "E153", .where = fn->name}, err,
                           "`%s` takes %u argument%s, the signature has %u", fn->name, at,
                           at == 1 ? "" : "s", n);
    return LW_OK;
}

static lw_status
values_of_specs(lw_infer_frame *scratch, const lw_arg_spec *specs, uint32_t n,
                lw_infer_value *out, lw_error *err)
{
    lw_types *types = lw_types_of(scratch);

    for (uint32_t i = 0; i < n; i++) {
        if (specs[i].kind == LW_ARGK_CONSTANT)
            out[i] = lw_constant_value(scratch, specs[i].constant);
        else
            out[i].type = lw_type_of_spec(types, &specs[i]);
        if (types->failed)
            return lw_fail_memory(err);
        if (out[i].type == LW_T_BOTTOM)
            return no_scalar(i, err);
    }
    return LW_OK;
}

lw_status
lw_infer(const lw_tree *tree, const lw_front_options *options, const lw_type *arg_types,
         uint32_t n_args, lw_typed **out, lw_error *err)
{
    lw_arg_spec *specs = lw_alloc_zero(n_args + 1, sizeof *specs);
    lw_status status = LW_OK;

    *out = NULL;
    if (specs == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < n_args; i++)
        LW_TRY(spec_of_type(arg_types[i], i, &specs[i], err));
    LW_TRY(lw_infer_specs(tree, options, specs, n_args, out, err));
fail:
    lw_free(specs);
    return status;
}

/* Why an inference is done again. */
typedef struct restart {
    lw_overload_question question; /* what has no answer in the tree */
    lw_general general;
    bool is_general; /* `general` has grown */
} restart;

/* One inference. *again: whether it has to be done again: then the status does not count, and
 * *out is what it knows of the types in the question. */
/* The constants of the tree without operands; NULL: memory ran out. */
static const lw_constant *
plain_constants(lw_typed *typed)
{
    uint32_t n = typed->tree->constants.n;
    lw_constant *all = lw_arena_take(&typed->arena, (n + 1) * sizeof *all);

    for (uint32_t i = 0; all != NULL && i < n; i++)
        all[i] = lw_varying_now(&typed->tree->constants.data[i]);
    return all;
}

/* Whether a class of the user's has methods that operators, subscripts and the like call. */
static bool
has_operators(const lw_tree *tree)
{
    for (uint32_t i = 1; i < tree->fns.n; i++) {
        const lw_fn *fn = &tree->fns.data[i];
        if (!fn->of_package && !fn->generated && strncmp(fn->name, "__", 2) == 0 &&
            strcmp(fn->name, "__init__") != 0 && strcmp(fn->name, "__post_init__") != 0)
            return true;
    }
    return false;
}

/* Infers the first function of the tree for these arguments, and those that it calls. */
static lw_status
infer_entry(lw_infer_run *run, const lw_arg_spec *specs, uint32_t n_args)
{
    const lw_fn *fn = &run->tree->fns.data[1];
    uint32_t n_params = fn->params.n, memo;
    lw_infer_frame *scratch = lw_arena_take(run->arena, sizeof *scratch);
    lw_infer_value *params = lw_arena_take(run->arena, (n_params + 1) * sizeof *params);
    lw_infer_value *args = lw_arena_take(run->arena, (n_args + 1) * sizeof *args);
    lw_status status;

    if (scratch == NULL || params == NULL || args == NULL)
        return LW_ERR_OUT_OF_MEMORY;
    scratch->run = run;
    scratch->fn = fn;
    if (fn->problem)
        return lw_diagnose_kept(run->tree, fn->problem, fn->name, run->err);
    LW_TRY(values_of_specs(scratch, specs, n_args, args, run->err));
    run->lint = is_narrow(scratch, args, n_args);
    LW_TRY(lw_check_entry(scratch, args, n_args));
    LW_TRY(bind_arguments(scratch, specs, args, n_args, params, run->err));
    LW_TRY(
        lw_infer_instance(run, &(lw_instance_key){1, n_params, params, NULL}, fn->loc, &memo));
    LW_TRY(drop_unused(run));
    lw_recursion_spread(run->typed);
    LW_TRY(warn_wide(run));
fail:
    return status;
}

static lw_status
infer_once(const lw_tree *tree, const lw_front_options *options, const lw_arg_spec *specs,
           uint32_t n_args, bool plain, restart *again, lw_typed **out, lw_error *err)
{
    static const lw_front_options defaults = {0};
    lw_typed *typed = NULL;
    lw_infer_run *run = NULL;
    lw_status status;

    LW_TRY(check_tree(tree, err));
    typed = new_typed(tree, options ? options : &defaults);
    if (typed == NULL)
        return lw_fail_memory(err);
    if (plain && (typed->plain = plain_constants(typed)) == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    run = lw_arena_take(&typed->arena, sizeof *run);
    status = LW_ERR_OUT_OF_MEMORY;
    if (run == NULL)
        goto fail;
    *run = (lw_infer_run){.tree = tree,
                          .typed = typed,
                          .arena = &typed->arena,
                          .err = err,
                          .general = &again->general,
                          .lends = !has_operators(tree),
                          .assigns_inside = assigns_inside(tree)};
    LW_TRY(infer_entry(run, specs, n_args));
    *out = typed;
    return LW_OK;
fail:
    if (run != NULL && (run->question.kind != LW_OVERLOAD_NONE || run->is_again)) {
        again->question = run->question;
        again->is_general = run->is_again;
        *out = typed;
        return status;
    }
    if (status == LW_ERR_OUT_OF_MEMORY)
        lw_fail_memory(err);
    lw_typed_free(typed);
    return status;
}

static lw_status
infer_all(const lw_tree *tree, const lw_front_options *options, const lw_arg_spec *specs,
          uint32_t n_args, bool plain, lw_typed **out, lw_error *err)
{
    restart again = {0};

    for (uint32_t n_questions = 0; n_questions <= LW_MAX_QUESTIONS; n_questions++) {
        lw_typed *typed = NULL;
        lw_status status;

        again.question = (lw_overload_question){0};
        again.is_general = false;
        status = infer_once(lw_tree_latest(tree), options, specs, n_args, plain, &again, &typed,
                            err);
        *out = typed;
        if (again.question.kind == LW_OVERLOAD_NONE && !again.is_general)
            return status;
        *out = NULL;
        status = again.is_general ? LW_OK : lw_overload_answer_of(typed, &again.question, err);
        lw_typed_free(typed);
        if (status != LW_OK)
            return status;
    }
    return lw_fail(err, LW_ERR_UNSUPPORTED,
                   "overloads were asked for more than %d times for one signature",
                   LW_MAX_QUESTIONS);
}

/* Whether the user's function has the same results in both. */
static bool
same_results(const lw_typed *x, const lw_typed *y)
{
    lw_text a, b;
    bool same;

    lw_text_init(&a);
    lw_text_init(&b);
    lw_type_print(&x->types, x->instances.data[1].result, &a);
    lw_type_print(&y->types, y->instances.data[1].result, &b);
    same = !a.failed && !b.failed && strcmp(lw_text_get(&a), lw_text_get(&b)) == 0;
    lw_text_reset(&a);
    lw_text_reset(&b);
    return same;
}

/* Of a function with constants that are operands (core/front/varying.h). What is right for
 * constants decides: where the types differ, or something has to be known at compile time, they
 * are constants. */
static lw_status
infer_varying(const lw_tree *tree, const lw_front_options *options, const lw_arg_spec *specs,
              uint32_t n_args, lw_typed **out, lw_error *err)
{
    lw_varyings *all = tree->base ? tree->base->varyings : tree->varyings;
    lw_typed *typed = NULL;
    lw_error ignored = {0};
    uint64_t version = lw_varyings_version(all);
    lw_status status = infer_all(tree, options, specs, n_args, true, out, err);

    if (status != LW_OK)
        return status;
    (void)infer_all(tree, options, specs, n_args, false, &typed, &ignored);
    if (typed != NULL && same_results(*out, typed)) {
        lw_typed_free(*out);
        *out = typed;
        return LW_OK;
    }
    lw_error_reset(&ignored);
    lw_typed_free(typed);
    lw_varyings_pin(all);
    if (version == lw_varyings_version(all))
        return LW_OK;
    lw_typed_free(*out); /* of another value than the one that stays */
    *out = NULL;
    return infer_all(tree, options, specs, n_args, true, out, err);
}

lw_status
lw_infer_specs(const lw_tree *tree, const lw_front_options *options, const lw_arg_spec *specs,
               uint32_t n_args, lw_typed **out, lw_error *err)
{
    int64_t begun = lw_compile_begin();
    lw_varyings *all = tree->base ? tree->base->varyings : tree->varyings;
    lw_status status = lw_varyings_any(all)
                           ? infer_varying(tree, options, specs, n_args, out, err)
                           : infer_all(tree, options, specs, n_args, false, out, err);

    lw_compile_end(begun);
    return status;
}

void
lw_typed_free(lw_typed *typed)
{
    if (typed == NULL)
        return;
    lw_arena_reset(&typed->arena);
    lw_free(typed);
}
