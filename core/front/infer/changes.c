/* Calls of functions that change objects they are given: which parameters of an instance are
 * changed or kept, and what that means for the variables of the caller. A call's list has,
 * behind the entries of its arguments, for each parameter that the instance changes the node
 * that the changed object is written to (LW_CHANGED_*: none). */
#include "core/front/infer/infer_internal.h"

#include <assert.h>
#include <string.h>

/* ---- in the function that changes them ---- */

/* Where the function is left: the values of the objects that it has changed. node: a RETURN, or
 * 0 for the end of the body. */
lw_status
lw_infer_changed_at(lw_infer_frame *f, uint32_t node, uint32_t loc)
{
    uint32_t start = f->run->typed->lists.n, n = 0;
    lw_status status = LW_OK;

    for (uint32_t i = 0; f->notes && i < f->n_params; i++) {
        uint32_t var = lw_param_var(f, i), def;
        lw_infer_value value, *slot;

        if (!f->changes[i])
            continue;
        if (*lw_lost(f, var) & LW_IS_REBOUND)
            return lw_complain(
                f, loc, "E165",
                lw_format_text(f, "`%s` is another object here", f->fn->vars.data[var].name),
                "use another name for the other object",
                "the object in `%s` was changed, and then the name was given to "
                "another one",
                f->fn->vars.data[var].name);
        LW_TRY(lw_use(f, var, loc, &value, &def, NULL));
        slot = lw_array_push(&f->changed_values, f->run->arena);
        if (slot == NULL)
            return lw_out_of_memory(f);
        *slot = value;
        f->changed_inside[i] |= (*lw_lost(f, var) & LW_LOST_INNER) != 0;
        if (f->report)
            LW_TRY(lw_list_entry(f, value.constant ? LW_ARG_CONSTANT | value.constant
                                                   : LW_ARG_WEB | def));
        n++;
    }
    if (node != 0) {
        lw_typed_in(&f->nodes, node)->args = start;
        lw_typed_in(&f->nodes, node)->n_args = n;
    } else {
        f->end_changes = start;
    }
fail:
    return status;
}

/* The one value of changed parameter k of n at all ends of the function. */
static lw_status
join_changed(lw_infer_frame *f, uint32_t k, uint32_t n, lw_infer_value *out)
{
    uint32_t n_ends = f->changed_values.n / n;
    lw_type *types = lw_arena_take(f->run->arena, (n_ends + 1) * sizeof *types);
    const char *problem = NULL;

    if (types == NULL)
        return lw_out_of_memory(f);
    *out = n_ends ? f->changed_values.data[k] : (lw_infer_value){LW_T_BOTTOM, 0};
    for (uint32_t i = 0; i < n_ends; i++) {
        const lw_infer_value *value = &f->changed_values.data[i * n + k];
        types[i] = value->type;
        if (!lw_constant_same(f, out->constant, value->constant))
            out->constant = 0;
    }
    if (n_ends)
        out->type = lw_join(lw_types_of(f), lw_typing_of(f), types, n_ends, &problem);
    if (problem == NULL)
        return LW_OK;
    out->type = LW_T_BOTTOM;
    return lw_complain(f, f->fn->loc, strcmp(problem, "E112") == 0 ? "E140" : problem,
                       "its fields have other types on one path than on another",
                       lw_help_for_join(problem), "an object that `%s` changes", f->fn->name);
}

/* The parameter, from 1, whose object the result is, of those that are changed; 0: the result
 * has none of them. E165 where it may have. */
static lw_status
result_of_changed(lw_infer_frame *f, lw_type result, uint32_t *param)
{
    *param = 0;
    if (!lw_holds_objects(f, result) || f->result_fresh == 2)
        return LW_OK;
    if (f->result_param == 0)
        return lw_complain(f, f->fn->loc, "E165",
                           "the result may hold an argument whose fields the function assigns",
                           "return the argument itself, or numbers, or a new object",
                           "`%s` returns an object that it also changes", f->fn->name);
    if (f->changes[f->result_param - 1])
        *param = f->result_param;
    return LW_OK;
}

/* What the user's own function gives when it is called on the host: its result, and the objects
 * that it has changed, whose fields are then assigned in Python. */
static lw_status
give_changed(lw_infer_frame *f, lw_instance *instance)
{
    uint32_t n = instance->n_changed;
    lw_type *gives = lw_arena_take(f->run->arena, (n + 1) * sizeof *gives);
    lw_status status = LW_OK;

    if (gives == NULL)
        return lw_out_of_memory(f);
    gives[0] = instance->result;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t param = instance->changed[k];
        const char *name = f->fn->vars.data[lw_param_var(f, param)].name, *field;
        gives[1 + k] = instance->changed_types[k];
        if (f->changes[param] & LW_CHANGES_PARTS)
            return lw_complain(
                f, f->fn->loc, "E165", "an object in a field of it gives way to another object",
                "assign the fields of the object that is there",
                "`%s` changes which objects the argument `%s` has", f->fn->name, name);
        field = lw_unkept_field(f, gives[1 + k]);
        if (field != NULL)
            return lw_complain(
                f, f->fn->loc, "E165",
                lw_format_text(f,
                               "its field `%s` is a type, a function or a module, or "
                               "has a value on some paths only",
                               field),
                "assign a number, a string, or a member of an enum class, on every path",
                "`%s` changes the argument `%s`", f->fn->name, name);
    }
    LW_TRY(result_of_changed(f, instance->result, &instance->result_param));
    instance->gives = lw_type_tuple(lw_types_of(f), gives, n + 1, NULL);
fail:
    return status;
}

/* fresh: of the result. */
static uint32_t
count_facts(const lw_infer_frame *f, uint8_t fresh)
{
    uint32_t n = 2u - fresh;

    for (uint32_t i = 0; i < f->n_params; i++)
        n += f->keeps[i] + f->changed_inside[i] + f->moved[i] +
             (uint32_t)__builtin_popcount(f->changes[i]);
    return n;
}

lw_status
lw_infer_changes_again(lw_infer_frame *f, bool *more)
{
    lw_instance *instance = &f->run->typed->instances.data[f->instance];
    lw_arena *arena = f->run->arena;
    uint32_t *changed = lw_arena_take(arena, (f->n_params + 1) * sizeof *changed), n = 0;
    lw_infer_value *values = lw_arena_take(arena, (f->n_params + 1) * sizeof *values);
    lw_ownership *own = &f->run->memos.data[f->memo].ownership;

    *more = false;
    if (f->notes == NULL)
        return LW_OK;
    if (changed == NULL || values == NULL)
        return lw_out_of_memory(f);
    for (uint32_t i = 0; i < f->n_params; i++) /* whether one is the result is not known yet */
        f->keeps[i] |= f->returned[i];
    if (f->n_results > 0 && f->result_fresh < own->fresh)
        own->fresh = f->result_fresh;
    *more = count_facts(f, own->fresh) != f->n_facts;
    f->n_facts = count_facts(f, own->fresh);
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (!f->changes[i])
            continue;
        values[n] = (lw_infer_value){f->params[i].type, 0};
        changed[n++] = i;
    }
    instance->n_changed = n;
    instance->changed = changed;
    own->values = values;
    return LW_OK;
}

/* The objects that a function changes which calls itself have the same types at its end: its
 * calls of itself were taken to leave them so. */
static lw_status
check_recursive(lw_infer_frame *f, uint32_t param, lw_type type)
{
    const char *name = f->fn->vars.data[lw_param_var(f, param)].name;

    if (f->caller == NULL)
        return lw_complain(
            f, f->fn->loc, "E165",
            lw_format_text(f, "`%s` is changed in it, or by what it calls", name),
            "call it from another function that Python calls",
            "`%s` calls itself and changes an argument of Python's", f->fn->name);
    if (type == f->params[param].type || type == LW_T_BOTTOM)
        return LW_OK;
    return lw_complain(f, f->fn->loc, "E165",
                       lw_format_text(f, "`%s` is %s at first, and then %s", name,
                                      lw_describe_type(f, f->params[param].type),
                                      lw_describe_type(f, type)),
                       "give the object fields of these types before the call; a list or a "
                       "dict needs an item, or is made by `lanewise.typed.Dict.empty(key_type, "
                       "value_type)` or `lanewise.typed.List.empty_list(item_type)`",
                       "`%s` calls itself and changes the type of an object", f->fn->name);
}

/* After the last walk. */
lw_status
lw_infer_keep_changes(lw_infer_frame *f, lw_instance *instance, lw_memo *memo)
{
    lw_arena *arena = f->run->arena;
    uint32_t *changed = lw_arena_take(arena, (f->n_params + 1) * sizeof *changed), n = 0;
    lw_infer_value *values = lw_arena_take(arena, (f->n_params + 1) * sizeof *values);
    lw_type *types = lw_arena_take(arena, (f->n_params + 1) * sizeof *types);
    lw_status status = LW_OK;

    if (changed == NULL || values == NULL || types == NULL)
        return lw_out_of_memory(f);
    lw_settle_results(f);
    for (uint32_t i = 0; f->notes && i < f->n_params; i++)
        if (f->changes[i])
            changed[n++] = i;
    for (uint32_t k = 0; k < n; k++) {
        LW_TRY(join_changed(f, k, n, &values[k]));
        types[k] = values[k].type;
        if (memo->recursive)
            LW_TRY(check_recursive(f, changed[k], types[k]));
    }
    instance->n_changed = n;
    instance->changed = changed;
    instance->changed_types = types;
    instance->end_changes = f->end_changes;
    memo->ownership = (lw_ownership){.keeps = f->keeps,
                                     .changes = f->changes,
                                     .inside = f->changed_inside,
                                     .moves = f->moved,
                                     .values = values,
                                     .fresh = f->result_fresh,
                                     .stores = f->stores,
                                     .param = f->result_param};
    if (f->caller == NULL && n > 0 && f->report)
        LW_TRY(give_changed(f, instance));
fail:
    return status;
}

/* ---- in its callers ---- */

static uint32_t
plain_node(uint32_t entry)
{
    return entry & LW_ARG_TAG ? 0 : entry;
}

/* The variable that an entry of a call gives, as a whole or a field of it; 0: none, or a value
 * without objects. */
static uint32_t
root_of_entry(lw_infer_frame *f, uint32_t entry)
{
    uint32_t node = plain_node(entry);
    bool is_whole;

    if ((entry & LW_ARG_TAG) == LW_ARG_WEB)
        return f->defs.data[entry & ~(uint32_t)LW_ARG_TAG].var;
    return node && lw_holds_objects(f, lw_typed_in(&f->nodes, node)->type)
               ? lw_variable_of(f, node, &is_whole)
               : 0;
}

/* Whether an argument other than this one may be the same object, or hold it. */
static bool
is_given_twice(lw_infer_frame *f, const lw_call_site *site, uint32_t param, uint32_t root)
{
    bool packed = false;

    for (uint32_t i = 0; i < site->n; i++) {
        packed |= (site->entries[i] & LW_ARG_TAG) == LW_ARG_PACK &&
                  lw_holds_objects(f, site->instance->param_types[i]);
        if (i != param && root != 0 && root_of_entry(f, site->entries[i]) == root)
            return true;
    }
    return packed; /* `*args`, or what a function captures, may hold it */
}

static lw_status
complain_twice(lw_infer_frame *f, uint32_t loc, const char *callee)
{
    return lw_complain(f, loc, "E165",
                       "one object is given for two parameters, or for one and in `*args`",
                       "make a new object for one of them",
                       "`%s` changes an object that has another name there", callee);
}

/* Whether the target of an augmented assignment is the argument: what the method gives takes
 * its place. */
static bool
is_replaced(lw_infer_frame *f, const lw_call_site *site, uint32_t param)
{
    const lw_node *n = lw_node_of(f, site->node);
    uint32_t entry = site->entries[param];

    if (n->kind != LW_NODE_AUGASSIGN || param != 0)
        return false;
    return entry == n->a || (entry & LW_ARG_TAG) == LW_ARG_WEB ||
           (entry & LW_ARG_TAG) == LW_ARG_CONSTANT;
}

/* Whether something else holds an argument that becomes part of a changed object. */
static bool
is_part_shared(lw_infer_frame *f, const lw_call_site *site, uint32_t i)
{
    uint32_t node = plain_node(site->entries[i]);

    if (!site->memo->ownership.moves[i])
        return false;
    return node == 0 || root_of_entry(f, node) != 0 || lw_note_at(f, node)->fresh < 2;
}

/* Whether something else may hold objects in the changed argument i. */
static bool
is_shared_inside(lw_infer_frame *f, const lw_call_site *site, uint32_t i)
{
    bool shared = site->memo->ownership.inside[i];

    for (uint32_t k = 0; k < site->n && !shared; k++)
        shared = is_part_shared(f, site, k);
    return shared;
}

/* The object that a call changes in its parameter i, which is the k-th that it changes. */
static lw_status
change_argument(lw_infer_frame *f, const lw_call_site *site, uint32_t i, uint32_t k,
                uint32_t *written)
{
    const lw_ownership *own = &site->memo->ownership;
    uint32_t node = plain_node(site->entries[i]), loc = lw_node_of(f, site->node)->loc, root;
    bool is_new = site->makes && i == 0, replaced = !is_new && is_replaced(f, site, i);
    lw_status status;

    *written = is_new ? LW_CHANGED_VALUE : LW_CHANGED_NONE;
    if (is_new)
        return LW_OK;
    if (replaced)
        node = lw_node_of(f, site->node)->a;
    if (node == 0)
        return lw_complain(f, loc, "E165", "the object is a constant, or captured, or packed",
                           "make a new object and pass that",
                           "`%s` changes an object that no single variable here holds",
                           site->name);
    if (is_given_twice(f, site, i, root_of_entry(f, node)))
        return complain_twice(f, loc, site->name);
    LW_TRY(lw_infer_change(f, node, lw_node_of(f, node)->loc, own->changes[i],
                           replaced ? NULL : &own->values[k], &root));
    if (root != 0 && is_shared_inside(f, site, i))
        lw_lose(f, root, LW_LOST_INNER, loc);
    *written = replaced || root == 0 ? LW_CHANGED_NONE : node;
fail:
    return status;
}

/* Those that `*args` of the callee takes. */
static void
lose_rest(lw_infer_frame *f, const lw_call_site *site)
{
    assert(site->n_rest == 0 || site->rest != NULL);
    for (uint32_t k = 0; k < site->n_rest; k++)
        if (plain_node(site->rest[k].entry))
            lw_lose_node(f, plain_node(site->rest[k].entry));
}

static void
lose_kept(lw_infer_frame *f, const lw_call_site *site)
{
    for (uint32_t i = 0; i < site->n; i++) {
        uint32_t entry = site->entries[i], root = root_of_entry(f, entry);

        if (!site->memo->ownership.keeps[i]) {
            if (plain_node(entry))
                lw_drop_value(f, plain_node(entry));
            continue;
        }
        if (plain_node(entry))
            lw_lose_node(f, plain_node(entry));
        else if (root != 0)
            lw_lose(f, root, LW_LOST_OUTER | LW_LOST_INNER, lw_node_of(f, site->node)->loc);
        if (site->n_rest != 0 && i == site->vararg)
            lose_rest(f, site);
    }
}

/* Who holds what the call gives. */
static void
note_value(lw_infer_frame *f, const lw_call_site *site)
{
    const lw_ownership *own = &site->memo->ownership;
    lw_note *note = lw_note_at(f, site->node);
    uint32_t param = own->param - 1, node, root;
    bool is_whole;

    note->fresh = own->fresh;
    if (site->makes)
        note->fresh = own->keeps[0] ? 0 : is_shared_inside(f, site, 0) ? 1 : 2;
    if (site->makes || own->param == 0)
        return;
    node = plain_node(site->entries[param]);
    if (is_replaced(f, site, param))
        node = lw_node_of(f, site->node)->a;
    root = node ? lw_variable_of(f, node, &is_whole) : 0;
    if (root != 0 && !is_whole && is_replaced(f, site, param)) {
        note->fresh = 2; /* p.v += 1: the field stays what it is */
    } else if (root != 0) {
        lw_note_alias(f, note, root, !is_whole, lw_node_of(f, site->node)->loc);
    } else if (node != 0) {
        note->fresh = lw_note_at(f, node)->fresh;
        if (is_shared_inside(f, site, param) && note->fresh == 2)
            note->fresh = 1;
    }
}

/* A copy of an object in an array is given to no function that keeps it, or writes to arrays.
 */
static lw_status
check_copied(lw_infer_frame *f, const lw_call_site *site)
{
    const lw_ownership *own = &site->memo->ownership;

    for (uint32_t i = 0; i < site->n; i++)
        if ((own->keeps[i] || own->stores) && lw_is_copied(f, plain_node(site->entries[i])))
            return lw_complain_copied(f, plain_node(site->entries[i]));
    return LW_OK;
}

/* Whether the parameter of a function of whole arrays says that it writes to another array than
 * those that it makes: an output, one of several, or `copy`, which may be false. */
static bool
is_of_output(const char *name, lw_type type)
{
    return strcmp(name, "copy") == 0 || (strcmp(name, "out") == 0 && type != LW_T_NONE);
}

/* Whether the call may write to arrays that the caller knows. Functions of whole arrays write
 * to those that they make, unless they have an output, or nothing but their effect. */
static bool
may_store(const lw_infer_frame *f, const lw_call_site *site)
{
    const lw_instance *instance = site->instance;
    const lw_fn *fn = &f->run->tree->fns.data[instance->fn];
    bool stores = site->memo->ownership.stores;

    if (!stores || fn->implements == NULL || instance->result == LW_T_NONE)
        return stores;
    for (uint32_t i = 0; i < instance->n_params && i < fn->params.n; i++)
        if (is_of_output(fn->params.data[i].name, instance->param_types[i]))
            return true;
    return false;
}

lw_status
lw_infer_settled(lw_infer_frame *f, const lw_call_site *site, uint32_t *written)
{
    const lw_instance *instance = site->instance;
    lw_status status = LW_OK;

    if (f->notes != NULL && !site->asks)
        LW_TRY(check_copied(f, site));
    if (may_store(f, site))
        lw_note_store(f);
    if (f->notes == NULL)
        return LW_OK;
    if (site->asks) {
        if (site->memo->ownership.keeps[0])
            lw_lose_node(f, site->node);
        return LW_OK;
    }
    for (uint32_t k = 0; k < instance->n_changed; k++)
        LW_TRY(change_argument(f, site, instance->changed[k], k, &written[k]));
    lose_kept(f, site);
    note_value(f, site);
fail:
    return status;
}
