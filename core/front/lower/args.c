/* Which parameters of the lowered function hold an argument, and which pointers it may write
 * through. Every pointer is traced back to the parameters through offsets, selects, variables
 * and calls; a pointer whose origin cannot be traced counts as written. */
#include "core/front/lower/lower_internal.h"

#include <assert.h>
#include <string.h>

/* Pointer parameters that are traced; a function with more counts as writing through all of
 * them. */
enum { MAX_TRACKED = 64 };

typedef struct tracker {
    const lw_module *module;
    lw_arena *arena;
    uint64_t *written; /* by function: bit i for its i-th pointer parameter */
    bool *done;        /* by function: it was followed in this pass */
    bool failed, changed;
} tracker;

/* Which of a function's pointer parameters each value may point into. */
typedef struct roots {
    const lw_func *func;
    uint64_t *of;
    uint64_t written;
    bool changed;
} roots;

static uint64_t written_of(tracker *t, uint32_t function);

static uint32_t
ordinal(const lw_func *func, uint32_t param)
{
    assert(param < func->params.n);
    uint32_t n = 0;

    for (uint32_t i = 0; i < param; i++)
        n += func->params.data[i].type == LW_DT_ptr;
    return n;
}

static bool
is_written(const lw_func *func, uint64_t written, uint32_t param)
{
    uint32_t i = ordinal(func, param);

    return func->params.data[param].type == LW_DT_ptr &&
           (i >= MAX_TRACKED || (written >> i & 1));
}

static void
join(roots *r, uint32_t at, uint64_t set)
{
    assert(at < r->func->insts.n);
    r->changed |= (r->of[at] | set) != r->of[at];
    r->of[at] |= set;
}

static uint64_t
list_roots(const roots *r, const lw_inst *inst)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < inst->c; i++)
        set |= r->of[r->func->lists.data[inst->b + i]];
    return set;
}

/* A call: what the callee writes through is written here; a pointer that it returns may have
 * any origin. */
static void
follow_call(tracker *t, roots *r, uint32_t at)
{
    const lw_inst *inst = &r->func->insts.data[at];
    uint64_t written = written_of(t, inst->a);

    for (uint32_t i = 0; i < inst->c; i++)
        if (is_written(t->module->funcs.data[inst->a], written, i))
            r->written |= r->of[r->func->lists.data[inst->b + i]];
    join(r, at, list_roots(r, inst));
}

static void
follow(tracker *t, roots *r, uint32_t at)
{
    const lw_inst *inst = &r->func->insts.data[at];

    switch (inst->op) {
    case LW_OP_PARAM:
        if (inst->type == LW_DT_ptr && ordinal(r->func, inst->a) < MAX_TRACKED)
            join(r, at, 1ull << ordinal(r->func, inst->a));
        return;
    case LW_OP_OFFSET:
    case LW_OP_GET:
    case LW_OP_RESULT: join(r, at, r->of[inst->a]); return;
    case LW_OP_SELECT: join(r, at, r->of[inst->b] | r->of[inst->c]); return;
    case LW_OP_SET: join(r, inst->a, r->of[inst->b]); return;
    case LW_OP_CALL:
    case LW_OP_RECUR: follow_call(t, r, at); return;
    case LW_OP_STORE: r->written |= r->of[inst->a] | r->of[inst->b]; return;
    case LW_OP_ATOMIC:
    case LW_OP_KERNEL_CALL:
    case LW_OP_HOST_CALL: r->written |= list_roots(r, inst); return;
    case LW_OP_CAST:
    case LW_OP_BITCAST: r->written |= r->of[inst->a]; return;
    default: return;
    }
}

/* Bit i: the i-th pointer parameter may be written through. */
static uint64_t
written_of(tracker *t, uint32_t function)
{
    assert(function < t->module->funcs.n);
    roots r = {.func = t->module->funcs.data[function]};

    if (t->done[function])
        return t->written[function]; /* under way: as the previous pass found */
    t->done[function] = true;
    r.of = lw_arena_take(t->arena, (r.func->insts.n + 1) * sizeof *r.of);
    if (r.of == NULL) {
        t->failed = true;
        return UINT64_MAX;
    }
    do {
        r.changed = false;
        for (uint32_t i = 1; i < r.func->insts.n; i++)
            follow(t, &r, i);
    } while (r.changed);
    t->changed |= r.written != t->written[function];
    return t->written[function] = r.written;
}

/* Recursive functions are followed until nothing is added. */
static void
follow_all(tracker *t, uint32_t body)
{
    do {
        t->changed = false;
        memset(t->done, 0, t->module->funcs.n * sizeof *t->done);
        (void)written_of(t, body);
    } while (t->changed && !t->failed && lw_ir_recurses(t->module));
}

/* ---- arguments ---- */

/* The parameters that hold the addresses in a value of this type, whose first part is parameter
 * `first`. */
static uint32_t
addresses_in(const lw_types *types, lw_type type, uint32_t first, uint32_t *out)
{
    const lw_type_row *row = lw_type_get(types, type);
    uint32_t n = 0;

    if (row == NULL)
        return 0;
    if (row->kind == LW_TK_ARRAY || row->kind == LW_TK_RECORD) {
        if (out)
            *out = first;
        return 1;
    }
    for (uint32_t i = 0; row->kind == LW_TK_TUPLE && i < row->n; i++) {
        n += addresses_in(types, row->elements[i], first, out ? out + n : NULL);
        first += lw_parts_of(types, row->elements[i]);
    }
    return n;
}

static bool
describe_arg(lw_lowering *l, tracker *t, uint32_t body, lw_type type, lw_arg_parts *out)
{
    uint32_t n = addresses_in(l->types, type, out->first, NULL);
    uint32_t *addresses = lw_arena_take(l->arena, (n + 1) * sizeof *addresses);
    bool *written = lw_arena_take(l->arena, (n + 1) * sizeof *written);
    uint64_t all = n ? written_of(t, body) : 0;

    if (addresses == NULL || written == NULL || t->failed)
        return false;
    addresses_in(l->types, type, out->first, addresses);
    for (uint32_t i = 0; i < n; i++)
        written[i] = is_written(l->module->funcs.data[body], all, addresses[i]);
    out->n_arrays = n;
    out->addresses = addresses;
    out->written = written;
    return true;
}

lw_status
lw_lower_describe_args(lw_lowering *l, lw_scalar *scalar)
{
    const lw_instance *inst = &l->typed->instances.data[1];
    tracker t = {.module = l->module, .arena = l->arena};
    lw_arg_parts *args = lw_arena_take(l->arena, (inst->n_params + 1) * sizeof *args);
    uint32_t first = 0;

    t.written = lw_arena_take(l->arena, (l->module->funcs.n + 1) * sizeof *t.written);
    t.done = lw_arena_take(l->arena, l->module->funcs.n + 1);
    if (args == NULL || t.written == NULL || t.done == NULL)
        return LW_ERR_OUT_OF_MEMORY;
    follow_all(&t, scalar->body);
    for (uint32_t i = 0; i < inst->n_params; i++) {
        args[i].first = first;
        if (inst->param_constants[i])
            continue;
        args[i].n = lw_parts_of(l->types, inst->param_types[i]);
        if (!describe_arg(l, &t, scalar->body, inst->param_types[i], &args[i]))
            return LW_ERR_OUT_OF_MEMORY;
        first += args[i].n;
    }
    scalar->n_args = inst->n_params;
    scalar->args = args;
    return LW_OK;
}
