#include "core/front/link_asks.h"

#include "core/front/named_records.h"
#include "core/front/typed.h"

#include <string.h>

typedef struct caller { /* how an instance is reached first; instance 0: it is the outermost */
    uint32_t instance, node;
    bool reached;
} caller;

typedef struct collector {
    const lw_typed *typed;
    lw_arena *arena;
    caller *callers;
    LW_ARRAY(lw_link_ask) asks;
} collector;

/* ---- types, as the user's code knows them ---- */

static bool sig_type_of(const collector *c, lw_type type, lw_sig_type *out);

static bool
of_tuple(const collector *c, const lw_type_row *row, lw_sig_type *out)
{
    lw_sig_type *items = lw_arena_take(c->arena, (row->n + 1) * sizeof *items);

    for (uint32_t i = 0; items != NULL && i < row->n; i++)
        if (!sig_type_of(c, row->elements[i], &items[i]))
            return false;
    if (items == NULL)
        return false;
    *out = (lw_sig_type){.kind = LW_SIG_TUPLE, .n = row->n, .items = items};
    for (uint32_t i = 0; i < row->n; i++)
        if (items[i].kind == LW_SIG_NONE)
            *out = (lw_sig_type){.kind = LW_SIG_NONE};
    return true;
}

static const lw_arg_record *
record_of(const collector *c, lw_type type)
{
    const lw_type_row *row = lw_type_get_kind(&c->typed->types, type, LW_TK_RECORD);

    return row ? lw_named_record_find(row->record->name, strlen(row->record->name)) : NULL;
}

static void
of_array(const collector *c, const lw_type_row *row, lw_sig_type *out)
{
    static const char layouts[] = {
        [LW_LAYOUT_ANY] = 'A', [LW_LAYOUT_C] = 'C', [LW_LAYOUT_F] = 'F'};
    lw_type element = row->elements[0];

    out->record = record_of(c, element);
    out->dtype =
        element < LW_N_DTYPES || lw_type_is_time(element) ? (lw_dtype)element : LW_DT_void;
    if (row->ndim == 0 || (out->record == NULL && out->dtype == LW_DT_void))
        return;
    out->kind = LW_SIG_ARRAY;
    out->ndim = row->ndim;
    out->layout = layouts[row->layout];
}

/* false: memory is out. A named tuple is given as a tuple. */
static bool
sig_type_of(const collector *c, lw_type type, lw_sig_type *out)
{
    const lw_type_row *row = lw_type_get(&c->typed->types, type);
    lw_dtype stored = lw_type_stored(&c->typed->types, type);

    *out = (lw_sig_type){.kind = LW_SIG_NONE};
    if (row != NULL && row->kind == LW_TK_TUPLE)
        return of_tuple(c, row, out);
    if (row != NULL && row->kind == LW_TK_ARRAY)
        of_array(c, row, out);
    else if (row != NULL && row->kind == LW_TK_RECORD)
        *out = (lw_sig_type){.kind = record_of(c, type) ? LW_SIG_RECORD : LW_SIG_NONE,
                             .record = record_of(c, type)};
    else if (stored != LW_DT_void && type != LW_T_BOTTOM &&
             lw_type_enum(&c->typed->types, type) == NULL &&
             !lw_type_is_text(&c->typed->types, type))
        *out = (lw_sig_type){.kind = LW_SIG_SCALAR, .dtype = stored};
    return true;
}

bool
lw_sig_type_of(const lw_typed *typed, uint32_t type, lw_arena *arena, lw_sig_type *out)
{
    return sig_type_of(&(collector){.typed = typed, .arena = arena}, type, out);
}

/* ---- chains of calls ---- */

/* Breadth first, so that each instance has its shortest chain. */
static bool
find_callers(collector *c)
{
    const lw_typed *typed = c->typed;
    uint32_t *queue = lw_arena_take(c->arena, typed->instances.n * sizeof *queue), n = 0;

    c->callers = lw_arena_take(c->arena, typed->instances.n * sizeof *c->callers);
    if (queue == NULL || c->callers == NULL)
        return false;
    queue[n++] = 1;
    c->callers[1] = (caller){.reached = true};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < typed->instances.data[queue[i]].nodes.n; k++) {
            const lw_typed_nodes *nodes = &typed->instances.data[queue[i]].nodes;
            uint32_t node = nodes->first + k;
            const lw_typed_node *call = lw_typed_in(nodes, node);
            const uint32_t called[] = {call->call == LW_CALL_INSTANCE ? call->target : 0,
                                       call->asks};

            for (int j = 0; j < 2; j++) {
                if (called[j] == 0 || c->callers[called[j]].reached)
                    continue;
                c->callers[called[j]] = (caller){queue[i], node, true};
                queue[n++] = called[j];
            }
        }
    return true;
}

static void
print_call(const collector *c, uint32_t instance, uint32_t node, lw_text *out)
{
    const lw_tree *tree = c->typed->tree;
    const lw_loc *loc = &tree->locs.data[tree->nodes.data[node].loc];
    const caller *up = &c->callers[instance];

    if (up->instance != 0)
        print_call(c, up->instance, up->node, out);
    lw_text_addf(out, "\n  called from %s:%u in `%s`", tree->files.data[loc->file].path,
                 loc->line, tree->fns.data[c->typed->instances.data[instance].fn].name);
}

/* NULL: memory is out. node 0: it is the outermost function itself. */
static const char *
chain_of(const collector *c, uint32_t instance, uint32_t node)
{
    lw_text text = {0};
    const char *chain;

    if (node != 0)
        print_call(c, instance, node, &text);
    chain = text.failed ? NULL : lw_arena_strdup(c->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return chain;
}

/* ---- asks ---- */

static bool
same_ask(const lw_link_ask *x, const lw_link_ask *y)
{
    bool same = x->linked == y->linked && x->n == y->n;

    for (uint32_t i = 0; same && i < x->n; i++)
        same = lw_sig_type_same(&x->types[i], &y->types[i]);
    return same;
}

/* The arguments in `*args` are arguments of their own. */
static uint32_t
count_types(const collector *c, const lw_link_call *call, const lw_fn *fn)
{
    const lw_type_row *last = NULL;

    if (fn == NULL || fn->params.n == 0 || call->n != fn->params.n)
        return call->n;
    for (uint32_t i = 0; i < call->n; i++)
        if (fn->params.data[i].kind == LW_PARAM_VARARG)
            last = lw_type_get(&c->typed->types, call->types[i]);
    return call->n + (last ? last->n - 1 : 0);
}

static bool
fill_types(const collector *c, const lw_link_call *call, const lw_fn *fn, lw_sig_type *out)
{
    for (uint32_t i = 0; i < call->n; i++) {
        const lw_type_row *rest = NULL;

        if (fn != NULL && i < fn->params.n && fn->params.data[i].kind == LW_PARAM_VARARG)
            rest = lw_type_get(&c->typed->types, call->types[i]);
        for (uint32_t k = 0; k < (rest ? rest->n : 1); k++)
            if (!sig_type_of(c, rest ? rest->elements[k] : call->types[i], out++))
                return false;
    }
    return true;
}

/* fn: whose parameters the call's types are; NULL: they are not those of a Python function. */
static bool
add(collector *c, uint32_t instance, const lw_link_call *call, const lw_fn *fn)
{
    lw_link_ask ask = {.linked = call->linked, .n = count_types(c, call, fn)}, *slot;
    lw_sig_type *types = lw_arena_take(c->arena, (ask.n + 1) * sizeof *types);

    if (types == NULL || !fill_types(c, call, fn, types))
        return false;
    ask.types = types;
    for (uint32_t i = 0; i < c->asks.n; i++)
        if (same_ask(&c->asks.data[i], &ask))
            return true;
    ask.chain = chain_of(c, instance, call->node);
    slot = lw_array_push(&c->asks, c->arena);
    if (slot == NULL || ask.chain == NULL)
        return false;
    *slot = ask;
    return true;
}

static const lw_fn *
callee_of(const collector *c, uint32_t instance, uint32_t node)
{
    const lw_typed_node *call = lw_typed_in(&c->typed->instances.data[instance].nodes, node);

    if (call->call != LW_CALL_INSTANCE)
        return NULL;
    return &c->typed->tree->fns.data[c->typed->instances.data[call->target].fn];
}

static bool
collect(collector *c)
{
    const lw_typed *typed = c->typed;
    const lw_instance *outermost = &typed->instances.data[1];
    const lw_fn *fn = &typed->tree->fns.data[outermost->fn];
    const lw_link_call whole = {
        .linked = fn->linked, .n = fn->params.n, .types = outermost->param_types};

    if (!find_callers(c) || (fn->linked != 0 && !add(c, 1, &whole, fn)))
        return false;
    for (uint32_t i = 1; i < typed->instances.n; i++)
        for (uint32_t k = 0; k < typed->instances.data[i].links.n; k++) {
            const lw_link_call *call = &typed->instances.data[i].links.data[k];

            if (!add(c, i, call, callee_of(c, i, call->node)))
                return false;
        }
    return true;
}

/* Most functions ask nobody. */
static bool
asks_somebody(const lw_typed *typed)
{
    bool asks = typed->tree->fns.data[1].linked != 0;

    for (uint32_t i = 1; !asks && i < typed->instances.n; i++)
        asks = typed->instances.data[i].links.n != 0;
    return asks;
}

lw_status
lw_link_asks_of(const lw_typed *typed, lw_arena *arena, lw_link_asks *out, lw_error *err)
{
    collector c = {.typed = typed, .arena = arena};

    if (!asks_somebody(typed))
        return LW_OK;
    if (!collect(&c))
        return lw_fail_memory(err);
    *out = (lw_link_asks){c.asks.n, c.asks.data};
    return LW_OK;
}
