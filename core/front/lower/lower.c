/* Functions: the user's and those that it calls, each instance once. Which of them can raise,
 * and the choice of how guards are reported. */
#include "core/front/lower/lower_internal.h"

#include "core/base/profile.h"
#include "core/front/diagnose.h"
#include "core/front/named.h"
#include "core/front/records.h"
#include "core/ir/same_math.h"
#include "core/opt/apart.h"
#include "core/opt/contract.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- reading the typed tree ---- */

const lw_node *
lw_node_at(const lw_lower_frame *f, uint32_t node)
{
    assert(node < f->l->tree->nodes.n);
    return &f->l->tree->nodes.data[node];
}

const lw_typed_node *
lw_typed_at(const lw_lower_frame *f, uint32_t node)
{
    assert(node < f->l->tree->nodes.n);
    return node == f->made_node && node != 0 ? &f->made : lw_typed_in(&f->inst->nodes, node);
}

uint32_t
lw_list_at(const lw_lower_frame *f, uint32_t index)
{
    assert(index < f->l->tree->lists.n);
    return f->l->tree->lists.data[index];
}

/* The largest number of instructions of a function with all its callees. LLVM takes about ten
 * microseconds for each, and more when there are many: this number takes some ten seconds on a
 * CPU of 2024. */
enum { MOST_INSTRUCTIONS = 1 << 18 };

bool
lw_lower_too_long(lw_lower_frame *f, uint32_t node)
{
    lw_lowering *l = f->l;
    char label[64];

    if (l->status != LW_OK)
        return true;
    if (f->b.func == NULL || l->n_insts + f->b.func->insts.n <= MOST_INSTRUCTIONS)
        return false;
    snprintf(label, sizeof label, "this is unrolled %u times", f->unrolled);
    l->status = lw_diagnose(
        l->tree, lw_node_at(f, node)->loc,
        (lw_fault){LW_ERR_UNSUPPORTED, "E105",
                   .label = f->unrolled > 1 ? label : "the limit is exceeded here",
                   .help = "loop over a range or an array, or split it into several kernels",
                   .where = f->fn->name},
        l->err, "`%s` becomes more than %d instructions", f->fn->name, MOST_INSTRUCTIONS);
    return true;
}

lw_lower_value
lw_lower_fail(lw_lower_frame *f, uint32_t node, const char *what)
{
    const lw_tree *tree = f->l->tree;
    uint32_t line = tree->locs.data[lw_node_at(f, node)->loc].line;

    if (f->l->status == LW_OK && (f->l->arena->failed || f->l->module->failed))
        f->l->status = lw_fail_memory(f->l->err); /* values are missing */
    if (f->l->status == LW_OK)
        f->l->status =
            lw_fail(f->l->err, LW_ERR_INTERNAL,
                    "lowering `%s`, line %u: %s reached the back end", f->fn->name, line, what);
    return (lw_lower_value){.type = lw_typed_at(f, node)->type};
}

lw_lower_value
lw_lower_refuse_number(lw_lower_frame *f, const char *number, lw_dtype dtype)
{
    lw_text label = {0};

    lw_text_addf(&label, "%s does not fit %s", number, lw_dtypes[dtype].public_name);
    if (f->l->status == LW_OK)
        f->l->status = lw_diagnose(
            f->l->tree, lw_node_at(f, f->node)->loc,
            (lw_fault){LW_ERR_TYPING, "E130", .label = lw_text_get(&label),
                       .help = lw_is_integer(dtype)
                                   ? "Python ints are 64-bit in compiled code: use a "
                                     "float, `float(...)`"
                                   : "Python raises OverflowError here too",
                       .where = f->fn->name},
            f->l->err, "integer constant out of range");
    lw_text_reset(&label);
    return (lw_lower_value){.type = (lw_type)dtype};
}

void
lw_lower_set_loc(lw_lower_frame *f, uint32_t node)
{
    uint32_t number = lw_node_at(f, node)->loc;
    const lw_loc *loc = &f->l->tree->locs.data[number];

    f->node = node;
    /* inlined code has the location of its call */
    if (number == 0 || f->inlined_result || f->l->locs == NULL)
        return;
    if (f->l->locs[number] == 0) {
        const lw_file *file = &f->l->tree->files.data[loc->file];
        uint32_t in_module = lw_ir_file_add(f->l->module, file->path ? file->path : "");
        f->l->locs[number] = lw_ir_loc_add(f->l->module, in_module, loc->line, loc->col) + 1;
    }
    f->b.loc = f->l->locs[number] - 1;
}

/* ---- results ---- */

/* The scalars in a result: the leaves of a tuple, or the result itself. */
static uint32_t
leaves_of(const lw_types *types, lw_type type, lw_type *out)
{
    uint32_t n = 0;

    if (lw_type_kind_of(types, type) == LW_TK_TUPLE ||
        lw_type_kind_of(types, type) == LW_TK_OPTIONAL) {
        const lw_type_row *row = lw_type_get(types, type);
        for (uint32_t i = 0; i < row->n; i++)
            n += leaves_of(types, row->elements[i], out ? out + n : NULL);
        return n;
    }
    if (lw_parts_of(types, type) == 0)
        return 0;
    if (out)
        out[0] = type;
    return 1;
}

static bool
is_entry(const lw_lower_frame *f)
{
    return f->instance == 1;
}

/* The user's function returns each leaf in the dtype that the signature demands. */
static uint32_t
entry_parts(lw_lower_frame *f, lw_lower_value value, lw_ref *out)
{
    assert(is_entry(f));
    const lw_types *types = f->l->types;
    uint32_t n = leaves_of(types, f->inst->gives, NULL), from = 0, to = 0;
    lw_type *leaves = lw_arena_take(f->l->arena, (n + 1) * sizeof *leaves);

    if (leaves == NULL)
        return 0;
    leaves_of(types, f->inst->gives, leaves);
    for (uint32_t i = 0; i < n; i++) {
        if (lw_type_stored(types, leaves[i]) == LW_DT_void) { /* an array or a record */
            for (uint32_t k = 0; k < lw_parts_of(types, leaves[i]) && from < value.n; k++)
                out[to++] = value.parts[from++];
            continue;
        }
        lw_dtype given = lw_type_stored(types, leaves[i]);
        lw_dtype wanted = f->l->out_types ? f->l->out_types[i] : given;
        if (from + lw_parts_of(types, leaves[i]) > value.n)
            return 0;
        lw_lower_cast(&f->b, given, value.parts + from, wanted, out + to);
        from += lw_parts_of(types, leaves[i]);
        to += lw_is_complex(wanted) ? 2 : 1;
    }
    return to;
}

/* Fills in what precedes the results of a function that can raise, and returns how many values
 * these are. */
static uint32_t
status_of(lw_lower_frame *f, lw_ref status, const lw_ref *words, uint32_t n, lw_ref *out)
{
    assert(n <= LW_RAISE_WORDS && f->l->n_raise_words <= LW_RAISE_WORDS);
    out[0] = status;
    for (uint32_t i = 0; i < f->l->n_raise_words; i++)
        out[1 + i] = i < n ? words[i] : lw_ir_zero(&f->b, LW_DT_u64);
    return 1 + f->l->n_raise_words;
}

lw_ref
lw_lower_first_status(lw_lower_frame *f, lw_ref status)
{
    assert(f->can_raise);
    lw_builder *b = &f->b;
    lw_ref deferred = f->deferred ? lw_ir_get(b, f->deferred) : 0;

    if (deferred == 0)
        return status;
    return lw_ir_select(b, lw_ir_compare(b, LW_OP_NE, deferred, lw_ir_zero(b, LW_DT_i32)),
                        deferred, status);
}

/* What the user's function gives: the result, and the objects that it has changed. */
static lw_lower_value
with_changed(lw_lower_frame *f, uint32_t node, lw_lower_value result)
{
    uint32_t n = lw_parts_of(f->l->types, f->inst->gives);
    lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);
    lw_lower_value all = {.type = f->inst->gives, .parts = parts};

    if (parts == NULL)
        return all;
    for (uint32_t i = 0; i < result.n; i++)
        parts[i] = result.parts[i];
    all.n = result.n + lw_lower_changed_parts(f, node, parts + result.n);
    return all;
}

void
lw_lower_return(lw_lower_frame *f, uint32_t node, lw_lower_value value)
{
    uint32_t n = f->b.func ? f->b.func->results.n : 0, at = 0;
    lw_ref *results =
        lw_arena_take(f->l->arena, (2 * n + value.n + 2 + LW_RAISE_WORDS) * sizeof *results);

    if (f->inlined_result)
        *f->inlined_result = value;
    if (results == NULL || f->inlined_result)
        return;
    if (f->can_raise)
        at = status_of(f, lw_lower_first_status(f, lw_ir_zero(&f->b, LW_DT_i32)), NULL, 0,
                       results);
    lw_lower_give(f, value);
    if (is_entry(f) && f->inst->n_changed)
        value = with_changed(f, node, value);
    if (is_entry(f))
        at += entry_parts(f, value, results + at);
    for (uint32_t i = 0; !is_entry(f) && i < value.n; i++)
        results[at++] = value.parts[i];
    if (!is_entry(f) && f->inst->n_changed)
        at += lw_lower_changed_parts(f, node, results + at);
    if (at != n) { /* where memory ran out before, a value may lack parts */
        if (f->l->status == LW_OK && !f->l->module->failed && !f->l->arena->failed)
            lw_lower_fail(f, f->node, "a return of something else than the function's result");
        return;
    }
    lw_ir_return(&f->b, results, at);
    lw_return *kept = lw_array_push(&f->returns, f->l->arena);
    if (kept != NULL && f->b.func != NULL)
        *kept = (lw_return){.inst = f->b.func->insts.n - 1, .node = f->node};
}

void
lw_lower_return_zeros(lw_lower_frame *f, lw_ref status, const lw_ref *words, uint32_t n_words)
{
    assert(status == 0 || f->can_raise); /* only they have a status */
    uint32_t n = f->b.func ? f->b.func->results.n : 0, at = 0, changed = 0;
    lw_ref *results = lw_arena_take(f->l->arena, (n + 1 + LW_RAISE_WORDS) * sizeof *results);

    if (results == NULL)
        return;
    if (f->can_raise)
        at = status_of(f,
                       lw_lower_first_status(f, status ? status : lw_ir_zero(&f->b, LW_DT_i32)),
                       words, n_words, results);
    if (status != 0 && f->changing != NULL)
        changed = lw_lower_changing_parts(f, NULL);
    for (; at + changed < n; at++)
        results[at] = lw_ir_zero(&f->b, f->b.func->results.data[at]);
    if (changed > 0)
        lw_lower_changing_parts(f, results + at);
    lw_ir_return(&f->b, results, n);
}

/* ---- exceptions ---- */

/* range() raises, too, if its step is known only at run time and is 0. */
static bool
has_unknown_step(const lw_lowering *l, const lw_typed_node *t)
{
    if (t->call != LW_CALL_NAMED || lw_names[t->target].impl != LW_IMPL_RANGE || t->n_args < 3)
        return false;
    uint32_t step = l->typed->lists.data[t->args + 2];
    return step != 0;
}

/* Numbers that grow so fast that they hardly ever fit: wrapping would be no answer. */
static bool
counts(const lw_typed_node *t)
{
    lw_impl impl = t->call == LW_CALL_NAMED ? lw_names[t->target].impl : LW_IMPL_NONE;

    return impl == LW_IMPL_FACTORIAL || impl == LW_IMPL_COMB || impl == LW_IMPL_PERM;
}

/* A subscript of what options.guards names, or an atomic operation on it. */
static bool
may_be_guarded(const lw_lowering *l, const lw_instance *inst, uint32_t node)
{
    const lw_node *n = &l->tree->nodes.data[node];
    const lw_typed_node *t = lw_typed_in(&inst->nodes, node);
    lw_type_kind kind;

    if (!l->guards || t->constant || t->dead || l->tree->fns.data[inst->fn].implements != NULL)
        return false;
    if (n->kind == LW_NODE_CALL)
        return l->typed->any_guarded && t->call == LW_CALL_NAMED &&
               (lw_names[t->target].rule == LW_RULE_ATOMIC ||
                lw_names[t->target].rule == LW_RULE_CACHED);
    if (n->kind != LW_NODE_SUBSCRIPT)
        return false;
    kind = lw_type_kind_of(l->types, lw_typed_in(&inst->nodes, n->a)->type);
    return kind == LW_TK_ARRAY || kind == LW_TK_TUPLE;
}

static bool
node_raises(lw_lowering *l, const lw_instance *inst, uint32_t node)
{
    const lw_typed_node *t = lw_typed_in(&inst->nodes, node);

    if (l->signs != NULL && lw_mixes_signs(l, inst, node)) {
        *l->signs = true;
        return true;
    }
    if (may_be_guarded(l, inst, node) ||
        (t->asks && !t->dead && lw_instance_raises(l, t->asks)))
        return true;
    if (t->constant || t->dead)
        return false;
    if (t->call == LW_CALL_INSTANCE) /* an operator may be one, too */
        return lw_instance_raises(l, t->target);
    if (l->tree->nodes.data[node].kind != LW_NODE_CALL)
        return false;
    if (counts(t))
        return true;
    if (!has_unknown_step(l, t))
        return false;
    return lw_step_may_be_zero(l, inst, l->typed->lists.data[t->args + 2]);
}

bool
lw_instance_raises(lw_lowering *l, uint32_t instance)
{
    assert(instance != 0 && instance < l->typed->instances.n);
    const lw_instance *inst = &l->typed->instances.data[instance];
    const lw_front_options *options = &l->typed->options;
    bool raises = false;

    if (l->raising[instance])
        return l->raising[instance] == 2;
    l->raising[instance] = 1;
    if (!options->ignore_errors)
        raises = inst->can_raise || (options->checks & LW_CHECKS_RAISING) != 0;
    raises |= options->guard_dynamic || inst->allocates || inst->recurses;
    for (uint32_t i = 0; options->parallel && i < inst->nodes.n && !raises; i++)
        raises = lw_may_be_array_sum(l, inst, inst->nodes.first + i);
    for (uint32_t i = 0; i < inst->nodes.n && !raises && !options->ignore_errors; i++)
        raises = node_raises(l, inst, inst->nodes.first + i);
    l->raising[instance] = raises ? 2 : 1;
    return raises;
}

/* ---- one function ---- */

static const char *
function_name(lw_lowering *l, const lw_fn *fn, uint32_t instance)
{
    char name[64];
    int n = snprintf(name, sizeof name, "f%u_%.40s", instance, fn->name ? fn->name : "");

    for (int i = 0; i < n && i < (int)sizeof name; i++)
        if (!isalnum((unsigned char)name[i]))
            name[i] = '_';
    return instance == 1 ? "lw_body" : lw_arena_strdup(l->arena, name);
}

/* needs: the n parts of parameter i are the last parameters of the IR function */
static void
note_guarded(lw_lower_frame *f, uint32_t i, uint32_t n)
{
    for (uint32_t k = 0; is_entry(f) && f->b.func != NULL && k < n; k++) {
        bool *slot = lw_array_push(&f->guarded, f->l->arena);
        if (slot != NULL)
            *slot = f->l->typed->guarded[i];
    }
}

/* Each parameter that is not known at compile time becomes as many IR parameters as it has
 * parts. */
static void
add_parameters(lw_lower_frame *f)
{
    for (uint32_t i = 0; i < f->inst->n_params; i++) {
        lw_type type = f->inst->param_types[i];
        uint32_t n = lw_parts_of(f->l->types, type), web = f->inst->param_webs[i];
        lw_dtype *dtypes = lw_arena_take(f->l->arena, (n + 1) * sizeof *dtypes);
        lw_ref *parts = lw_arena_take(f->l->arena, (n + 1) * sizeof *parts);
        const char *name = i < f->fn->params.n ? f->fn->params.data[i].name : NULL;

        if (dtypes == NULL || parts == NULL || f->inst->param_constants[i])
            continue;
        lw_part_types(f->l->types, type, dtypes);
        for (uint32_t j = 0; j < n; j++)
            parts[j] = lw_ir_param_add(&f->b, dtypes[j], 0, name);
        if (is_entry(f) && n == 1 && f->l->typed->counts[i])
            lw_lower_note_counter(f, parts[0], 0, 0);
        f->webs[web] = parts; /* those of web 0 are never read */
        f->given[i] = parts;
        note_guarded(f, i, n);
    }
}

/* Values of parameters that are assigned again move to slots; constant parameters are made
 * here. */
void
lw_lower_bind_parameters(lw_lower_frame *f)
{
    assert(f->inst->n_params >= f->fn->params.n);
    for (uint32_t i = 0; i < f->inst->n_params; i++) {
        uint32_t web = f->inst->param_webs[i], constant = f->inst->param_constants[i];
        lw_lower_value value = {.type = f->inst->param_types[i]};

        if (web == 0)
            continue;
        if (constant) {
            value = lw_value_constant(f, constant, value.type);
        } else {
            value.parts = f->webs[web]; /* NULL: there was no memory */
            value.n = value.parts ? lw_parts_of(f->l->types, value.type) : 0;
            f->webs[web] = NULL;
        }
        lw_lower_web_bind(f, web, value);
    }
}

/* The objects that the function changes; of a user's function, a part of what it gives. */
static void
add_changed(lw_lower_frame *f)
{
    for (uint32_t k = 0; k < f->inst->n_changed; k++) {
        lw_type type = f->inst->changed_types[k];
        uint32_t n = lw_parts_of(f->l->types, type);
        lw_dtype *dtypes = lw_arena_take(f->l->arena, (n + 1) * sizeof *dtypes);

        if (dtypes == NULL)
            return;
        lw_part_types(f->l->types, type, dtypes);
        for (uint32_t i = 0; i < n; i++)
            lw_ir_result_add(&f->b, dtypes[i]);
    }
}

static void
add_results(lw_lower_frame *f)
{
    const lw_types *types = f->l->types;
    lw_type type = is_entry(f) ? f->inst->gives : f->inst->result;
    uint32_t n = lw_parts_of(types, type);
    lw_dtype *dtypes = lw_arena_take(f->l->arena, (n + 1) * sizeof *dtypes);

    if (f->can_raise) {
        lw_ir_result_add(&f->b, LW_DT_i32);
        for (uint32_t i = 0; i < f->l->n_raise_words; i++)
            lw_ir_result_add(&f->b, LW_DT_u64);
    }
    if (dtypes == NULL)
        return;
    lw_part_types(types, type, dtypes);
    if (!is_entry(f) || f->l->out_types == NULL) {
        for (uint32_t i = 0; i < n; i++)
            lw_ir_result_add(&f->b, dtypes[i]);
        if (!is_entry(f))
            add_changed(f);
        return;
    }
    for (uint32_t i = 0; i < f->l->n_out; i++)
        for (int j = 0; j < (lw_is_complex(f->l->out_types[i]) ? 2 : 1); j++)
            lw_ir_result_add(&f->b, lw_dtypes[f->l->out_types[i]].parts);
}

static void
describe(lw_lower_frame *f)
{
    const lw_file *file = &f->l->tree->files.data[f->fn->file];
    lw_func *func = f->b.func;

    if (func == NULL)
        return;
    func->linkage = LW_INTERNAL;
    func->python_name = f->fn->name ? lw_arena_strdup(f->l->arena, f->fn->name) : NULL;
    func->shared = f->fn->shared;
    func->line = f->fn->line;
    func->file = lw_ir_file_add(f->l->module, file->path ? file->path : "");
}

static void
lower_function(lw_lower_frame *f)
{
    const lw_front_options *options = &f->l->typed->options;
    lw_changing changing;

    describe(f);
    f->b.fast = options->fast | (options->fma ? LW_MAY_FUSE : 0);
    if (f->inst->recurses && !is_entry(f))
        f->level = lw_ir_param_add(&f->b, LW_DT_i32, 0, "level");
    add_parameters(f);
    add_results(f);
    if (f->can_raise && f->l->defer) {
        f->deferred = lw_ir_slot(&f->b, LW_DT_i32);
        lw_ir_set(&f->b, f->deferred, lw_ir_zero(&f->b, LW_DT_i32));
    }
    lw_lower_walrus_slots(f);
    lw_lower_zero_webs(f);
    lw_lower_bind_parameters(f);
    if (f->l->catches && f->can_raise && f->inst->n_changed > 0 && !is_entry(f))
        lw_lower_begin_changing(f, &changing);
    lw_lower_body(f, f->fn->body);
    assert(f->regions == 0 && f->converted_arms == 0 && f->loop == NULL); /* all were left */
    if (!lw_ir_ended(&f->b) && f->inst->falls_off &&
        lw_type_given(f->l->types, f->inst->result))
        lw_lower_return(f, 0, lw_value_zero(f, f->inst->result));
    if (!lw_ir_ended(&f->b) && f->inst->n_changed && f->inst->falls_off)
        lw_lower_return(f, 0, (lw_lower_value){.type = f->inst->result});
    if (!lw_ir_ended(&f->b))
        lw_lower_return_zeros(f, 0, NULL,
                              0); /* the end of a procedure, or code that is never reached */
}

bool
lw_lower_frame_init(lw_lower_frame *f, lw_lowering *l, uint32_t instance)
{
    assert(instance != 0 && instance < l->typed->instances.n);
    const lw_instance *inst = &l->typed->instances.data[instance];

    *f = (lw_lower_frame){.l = l, .inst = inst, .instance = instance, .unrolled = 1};
    f->home = instance;
    f->fn = &l->tree->fns.data[inst->fn];
    f->can_raise = lw_instance_raises(l, instance);
    f->owners = lw_arena_take(l->arena, (inst->webs.n + 1) * sizeof *f->owners);
    f->given = lw_arena_take(l->arena, (inst->n_params + 1) * sizeof *f->given);
    f->webs = lw_arena_take(l->arena, (inst->webs.n + 1) * sizeof *f->webs);
    f->slotted = lw_arena_take(l->arena, (inst->webs.n + 1) * sizeof *f->slotted);
    f->iterators = lw_arena_take(l->arena, (inst->webs.n + 1) * sizeof *f->iterators);
    f->shown = lw_arena_take(l->arena, (inst->webs.n + 1) * sizeof *f->shown);
    return f->shown != NULL && f->owners != NULL && f->given != NULL && f->webs != NULL &&
           f->slotted != NULL && f->iterators != NULL;
}

/* Instructions from which a function of linear algebra is a long one: it prepares and arranges
 * what short ones compute with, in loops whose code takes LLVM longer than they ever run. */
enum { LONG_FUNCTION = 280 };

/* LLVM then does not interleave their vectors either. */
static void
unroll_no_loops(lw_func *func)
{
    for (uint32_t i = 1; func != NULL && func->insts.n >= LONG_FUNCTION && i < func->insts.n;
         i++)
        if (func->insts.data[i].op == LW_OP_LOOP)
            func->insts.data[i].flags |= LW_LOOP_NO_UNROLL;
}

uint32_t
lw_lower_instance(lw_lowering *l, uint32_t instance)
{
    assert(instance != 0 && instance < l->typed->instances.n);
    lw_lower_frame frame, *f = &frame;
    const char *name;

    if (l->funcs[instance])
        return l->funcs[instance] - 1;
    if (!lw_lower_frame_init(f, l, instance) ||
        (name = function_name(l, f->fn, instance)) == NULL) {
        l->module->failed = true;
        return 0;
    }
    lw_builder_start(&f->b, l->module, name);
    l->funcs[instance] = f->b.func_number + 1;
    l->open[instance] = true;
    lower_function(f);
    l->open[instance] = false;
    if (f->fn->compact)
        unroll_no_loops(f->b.func);
    l->n_insts += f->b.func ? f->b.func->insts.n : 0;
    lw_check_escapes(f);
    if (l->status == LW_OK)
        l->status = lw_ir_finish(&f->b, l->err);
    return f->b.func_number;
}

/* ---- entry point ---- */

static bool
is_float_op(const lw_func *func, const lw_inst *inst)
{
    const char *args = lw_ops[inst->op].args;

    if (lw_is_float((lw_dtype)inst->type))
        return true;
    return args[0] == 'v' && inst->a < func->insts.n &&
           lw_is_float((lw_dtype)func->insts.data[inst->a].type);
}

static bool
is_pure_integer(const lw_module *module)
{
    for (uint32_t i = 0; i < module->funcs.n; i++)
        for (uint32_t j = 1; j < module->funcs.data[i]->insts.n; j++)
            if (is_float_op(module->funcs.data[i], &module->funcs.data[i]->insts.data[j]))
                return false;
    return true;
}

static lw_status
describe_inputs(lw_lowering *l, lw_scalar *scalar)
{
    const lw_instance *inst = &l->typed->instances.data[1];
    lw_dtype *in = lw_arena_take(l->arena, (inst->n_params + 1) * sizeof *in);

    if (in == NULL)
        return LW_ERR_OUT_OF_MEMORY;
    scalar->in = in;
    for (uint32_t i = 0; i < inst->n_params; i++)
        if (inst->param_constants[i] == 0 && lw_parts_of(l->types, inst->param_types[i]) > 0)
            in[scalar->n_in++] = lw_type_stored(l->types, inst->param_types[i]);
    return LW_OK;
}

static void
describe_result(lw_lowering *l, lw_type type, lw_result *out)
{
    const lw_type_row *row = lw_type_get(l->types, type);
    lw_result *items;
    const char **names;

    out->members = lw_type_enum(l->types, type);
    out->numbers = l->out_types ? NULL : lw_type_numbers(l->types, type);
    out->text = row && row->text ? lw_arena_strdup(l->arena, row->text) : NULL;
    out->kind = out->members                      ? LW_FORM_MEMBER
                : lw_type_is_text(l->types, type) ? LW_FORM_TEXT
                : lw_parts_of(l->types, type)     ? LW_FORM_NUMBER
                                                  : LW_FORM_NONE;
    if (row == NULL || (row->kind != LW_TK_TUPLE && row->kind != LW_TK_OPTIONAL))
        return;
    items = lw_arena_take(l->arena, (row->n + 1) * sizeof *items);
    names = row->names ? lw_arena_take(l->arena, (row->n + 1) * sizeof *names) : NULL;
    *out = (lw_result){.kind = row->kind == LW_TK_TUPLE ? LW_FORM_TUPLE : LW_FORM_OPTIONAL,
                       .n = items ? row->n : 0,
                       .items = items,
                       .names = names,
                       .user_class = row->user_class};
    for (uint32_t i = 0; i < out->n; i++) {
        if (names != NULL)
            names[i] = lw_arena_strdup(l->arena, row->names[i]);
        describe_result(l, row->elements[i], &items[i]);
    }
}

static const int64_t *
shape_of(lw_lowering *l, const lw_type_row *array)
{
    size_t bytes = (array->ndim + 1u) * sizeof *array->shape;
    int64_t *shape = array->shape ? lw_arena_take(l->arena, bytes) : NULL;

    if (shape != NULL)
        memcpy(shape, array->shape, array->ndim * sizeof *shape);
    return shape;
}

/* A result that is an array or a record; false: it is a number. */
static bool
describe_memory(lw_lowering *l, lw_type type, lw_array_result *out)
{
    const lw_type_row *row = lw_type_get(l->types, type);
    const lw_record *record;

    if (row == NULL || (row->kind != LW_TK_ARRAY && row->kind != LW_TK_RECORD))
        return false;
    record = lw_record_of(l->types, type);
    *out = (lw_array_result){.is_array = true,
                             .readonly = row->readonly,
                             .owned = row->owned,
                             .is_item = row->kind == LW_TK_RECORD,
                             .ndim = row->ndim,
                             .record = record ? record->spec : NULL,
                             .shape = shape_of(l, row)};
    return true;
}

static lw_status
describe_changed(lw_lowering *l, const lw_instance *inst, lw_scalar *scalar)
{
    uint32_t *changed = lw_arena_take(l->arena, (inst->n_changed + 1) * sizeof *changed);

    if (changed == NULL)
        return LW_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < inst->n_changed; i++)
        changed[i] = inst->changed[i];
    scalar->changed = changed;
    scalar->n_changed = inst->n_changed;
    scalar->result_param = inst->result_param;
    return LW_OK;
}

static lw_status
describe_outputs(lw_lowering *l, lw_scalar *scalar)
{
    const lw_instance *inst = &l->typed->instances.data[1];
    lw_type result = inst->gives;
    uint32_t n = leaves_of(l->types, result, NULL);
    lw_type *leaves = lw_arena_take(l->arena, (n + 1) * sizeof *leaves);
    lw_dtype *out = lw_arena_take(l->arena, (n + 1) * sizeof *out);
    lw_result *form = lw_arena_take(l->arena, sizeof *form);

    lw_array_result *arrays = lw_arena_take(l->arena, (n + 1) * sizeof *arrays);
    bool any = false;

    if (leaves == NULL || out == NULL || arrays == NULL || form == NULL)
        return LW_ERR_OUT_OF_MEMORY;
    leaves_of(l->types, result, leaves);
    describe_result(l, result, form);
    scalar->result = form;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = l->out_types ? l->out_types[i] : lw_type_stored(l->types, leaves[i]);
        scalar->n_out_parts += lw_parts_of(l->types, leaves[i]);
        if (!describe_memory(l, leaves[i], &arrays[i]))
            continue;
        any = true;
        out[i] = arrays[i].record ? LW_DT_void
                                  : (lw_dtype)lw_type_get(l->types, leaves[i])->elements[0];
    }
    scalar->arrays = any ? arrays : NULL;
    scalar->out = out;
    scalar->n_out = n;
    return describe_changed(l, inst, scalar);
}

/* Whether it is E(x), whose exception names x. */
static bool
finds_member(const lw_tree *tree, const lw_node *n)
{
    const lw_node *callee = n->kind == LW_NODE_CALL ? &tree->nodes.data[n->a] : NULL;
    const lw_constant *k =
        callee && callee->kind == LW_NODE_CONSTANT ? &tree->constants.data[callee->a] : NULL;

    return k != NULL && k->kind == LW_K_OBJECT && k->n == 0 &&
           lw_tree_enum(tree, k->bytes) != NULL;
}

/* Whether any function has a `raise` with more than a constant text, called or not: numbers
 * that are never used cost nothing. */
static bool
carries_numbers(const lw_tree *tree)
{
    for (uint32_t i = 1; i < tree->nodes.n; i++) {
        const lw_node *n = &tree->nodes.data[i];
        if ((n->kind == LW_NODE_RAISE && n->c > 0) || finds_member(tree, n))
            return true;
    }
    return false;
}

static bool
has_try(const lw_tree *tree)
{
    for (uint32_t i = 1; i < tree->nodes.n; i++)
        if (tree->nodes.data[i].kind == LW_NODE_TRY)
            return true;
    return false;
}

/* Whether a message may show the extents of arrays that do not fit together. In kernels, whose
 * code they would make longer, none does. */
static bool
may_show_extents(const lw_lowering *l)
{
    bool has_axes = false;

    for (uint32_t i = 0; i < l->types->rows.n; i++)
        has_axes |=
            l->types->rows.data[i].kind == LW_TK_ARRAY && l->types->rows.data[i].ndim > 0;
    return has_axes && l->typed->options.returns_arrays && !l->typed->options.procedure;
}

static uint32_t
n_raise_words(const lw_lowering *l)
{
    if (carries_numbers(l->tree) || may_show_extents(l) ||
        (l->typed->options.checks & LW_CHECK_BOUNDS)) /* index and size */
        return LW_RAISE_WORDS;
    return l->typed->instances.data[1].recurses; /* its depth */
}

static lw_status
prepare(lw_lowering *l, lw_scalar *scalar)
{
    l->module = scalar->module;
    l->arena = &scalar->module->arena;
    l->funcs = lw_arena_take(l->arena, (l->typed->instances.n + 1) * sizeof *l->funcs);
    l->raising = lw_arena_take(l->arena, (l->typed->instances.n + 1) * sizeof *l->raising);
    l->open = lw_arena_take(l->arena, l->typed->instances.n + 1);
    l->loses = lw_arena_take(l->arena, l->typed->instances.n + 1);
    l->raised = lw_arena_take(l->arena, (l->typed->instances.n + 1) * sizeof *l->raised);
    l->locs = lw_arena_take(l->arena, (l->tree->locs.n + 1) * sizeof *l->locs);
    if (l->funcs == NULL || l->raising == NULL || l->open == NULL || l->locs == NULL ||
        l->raised == NULL || l->loses == NULL)
        return lw_fail_memory(l->err);
    l->n_raise_words = n_raise_words(l);
    if (l->out_types == NULL)
        return LW_OK;
    uint32_t n = leaves_of(l->types, l->typed->instances.data[1].gives, NULL);
    if (n != l->n_out)
        return lw_fail(l->err, LW_ERR_TYPE,
                       "the function returns %u values, the signature has %u", n, l->n_out);
    return LW_OK;
}

/* Under math="same", code that only one target has. */
static lw_status
refuse_not_same(lw_lowering *l)
{
    const char *name = l->module->not_same;
    uint32_t loc = 0;

    for (uint32_t i = 0; i < l->tree->locs.n; i++)
        if (l->locs[i] == l->module->not_same_loc + 1)
            loc = i;
    return lw_diagnose(
        l->tree, loc,
        (lw_fault){LW_ERR_UNSUPPORTED, "E144", .label = "each target has its own",
                   .help = "use a function of `math` or `numpy`, or leave math=\"same\" out"},
        l->err, "`%s` has no form that is the same on every target", name);
}

static lw_status
finish(lw_lowering *l, lw_scalar *scalar)
{
    lw_status status;

    if (l->module->not_made != LW_OK)
        return lw_fail(l->err, l->module->not_made,
                       "a function of math=\"same\" could not be made");
    if (l->module->not_same != NULL)
        return refuse_not_same(l);
    if (l->module->failed || l->arena->failed)
        return lw_fail_memory(l->err);
    LW_TRY(lw_opt_apart(l->module, scalar->body, NULL, l->err));
    LW_TRY(lw_opt_contract(l->module, l->err));
    LW_TRY(lw_ir_verify(l->module, l->err));
    LW_TRY(describe_inputs(l, scalar));
    LW_TRY(describe_outputs(l, scalar));
    LW_TRY(lw_lower_describe_args(l, scalar));
    scalar->never_returns = l->typed->instances.data[1].never_returns;
    scalar->can_raise = lw_instance_raises(l, 1);
    scalar->n_raise_words = scalar->can_raise ? l->n_raise_words : 0;
    scalar->n_raises = l->raises.n;
    scalar->raises = l->raises.data;
    scalar->pure_integer = is_pure_integer(l->module);
    LW_TRY(lw_lower_note_sums(l, scalar));
    scalar->unbound = l->typed->unbound ? lw_arena_strdup(l->arena, l->typed->unbound) : NULL;
    LW_TRY(lw_link_asks_of(l->typed, l->arena, &scalar->asks, l->err));
    return LW_OK;
fail:
    return status == LW_ERR_OUT_OF_MEMORY ? lw_fail_memory(l->err) : status;
}

static lw_status
lower_all(lw_lowering l, lw_scalar **out)
{
    lw_scalar *scalar = lw_alloc_zero(1, sizeof *scalar);
    lw_status status;

    if (scalar == NULL)
        return lw_fail_memory(l.err);
    LW_TRY(lw_module_new(&scalar->module, l.err));
    if (l.typed->options.same_math)
        lw_same_math_begin(scalar->module);
    LW_TRY(prepare(&l, scalar));
    scalar->body = lw_lower_instance(&l, 1);
    LW_TRY(l.status);
    LW_TRY(lw_lower_catches(&l));
    LW_TRY(finish(&l, scalar));
    *out = scalar;
    return LW_OK;
fail:
    lw_scalar_free(scalar);
    return status;
}

/* Whether functions may run to their end with some element in place of a missing one: they must
 * end and have no side effects, and all that they load must be in guarded arrays. */
static bool
may_defer(const lw_module *module)
{
    static const lw_op lasting[] = {LW_OP_LOOP,  LW_OP_STORE,       LW_OP_ATOMIC,
                                    LW_OP_OWNER, LW_OP_KERNEL_CALL, LW_OP_HOST_CALL,
                                    LW_OP_RECUR, LW_OP_PRINT};

    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        if (lw_ir_has_op(module, lasting[i]))
            return false;
    return true;
}

/* There are three ways to handle guards, and the first possible one is taken: nothing can
 * raise, because every index is known to be inside, and no int beside a uint64 to be negative;
 * a bad index or int is reported at the end of the function, so that loops over the function
 * have no branch; or it is reported at once. */
static lw_status
lower(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out, lw_scalar **out,
      lw_error *err)
{
    bool guards = typed->options.guards && !typed->options.ignore_errors;
    bool catches = has_try(typed->tree);
    bool defer = guards && typed->all_guarded && !carries_numbers(typed->tree) && !catches &&
                 !(typed->options.checks & LW_CHECK_BOUNDS); /* which shows index and size */
    bool signs = false;
    lw_lowering l = {.typed = typed,
                     .signs = &signs,
                     .tree = typed->tree,
                     .types = &typed->types,
                     .guards = guards,
                     .defer = defer,
                     .catches = catches,
                     .err = err,
                     .out_types = out_types,
                     .n_out = n_out};
    lw_status status = lower_all(l, out);

    if (status != LW_OK || !(guards || signs) || !(*out)->can_raise)
        return status;
    if ((*out)->n_raises == 0) {
        l.guards = false;
        l.signs = NULL;
    } else if (!defer || may_defer((*out)->module))
        return LW_OK;
    lw_scalar_free(*out);
    *out = NULL;
    l.defer = false;
    return lower_all(l, out);
}

lw_status
lw_lower(const lw_typed *typed, const lw_dtype *out_types, uint32_t n_out, lw_scalar **out,
         lw_error *err)
{
    int64_t begun = lw_compile_begin();
    lw_status status = lower(typed, out_types, n_out, out, err);

    lw_compile_end(begun);
    return status;
}

void
lw_scalar_free(lw_scalar *scalar)
{
    if (scalar == NULL)
        return;
    lw_module_free(scalar->module);
    lw_free(scalar);
}
