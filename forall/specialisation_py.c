/* Specialisations: from the key of a call's types, or a signature, to typed and lowered IR. */
#include "core/py/numpy_api.h"

#include "forall/bind_copies_py.h"
#include "forall/kernel_py.h"
#include "forall/specialisation_py_internal.h"

#include "core/base/memory.h"
#include "core/front/read/critical.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"

#include <string.h>

/* ---- constants of the tree that arguments may be ---- */

static uint32_t
constant_of_kind(lw_tree *tree, lw_constant_kind kind)
{
    lw_constant *slot;

    for (uint32_t i = 1; i < tree->constants.n; i++)
        if (tree->constants.data[i].kind == kind)
            return i;
    slot = lw_array_push(&tree->constants, &tree->arena);
    if (slot == NULL)
        return 0;
    *slot = (lw_constant){.kind = kind};
    return tree->constants.n - 1;
}

uint32_t
lw_none_constant(lw_tree *tree)
{
    return constant_of_kind(tree, LW_K_NONE);
}

uint32_t
lw_ellipsis_constant(lw_tree *tree)
{
    return constant_of_kind(tree, LW_K_ELLIPSIS);
}

bool
lw_add_argument_constants(lw_tree *tree)
{
    return lw_none_constant(tree) != 0 && lw_ellipsis_constant(tree) != 0;
}

/* ---- new ones ---- */

/* The index has Python's kind of integer: it takes the type of the operands that it meets. */
static void
index_specs(const lw_function *self, lw_arg_spec *specs)
{
    for (uint32_t i = 0; i < self->n_index; i++)
        specs[i] = (lw_arg_spec){.kind = LW_ARGK_WEAK, .dtype = LW_DT_i64};
}

void
lw_specialisation_set_counts(const lw_specialisation *specialisation, lw_arg_spec *specs)
{
    for (uint32_t i = 0; i < specialisation->function->n_index; i++)
        specs[i].counts = !specialisation->negative;
}

void
lw_specialisation_set_defaults(const lw_specialisation *specialisation, uint32_t from,
                               lw_arg_spec *specs)
{
    const lw_fn *fn = &lw_specialisation_tree(specialisation)->fns.data[1];

    for (uint32_t i = from; i < specialisation->n_specs; i++)
        specs[i] = (lw_arg_spec){.kind = LW_ARGK_CONSTANT,
                                 .constant = fn->params.data[i].default_constant};
}

lw_specialisation *
lw_specialisation_new(lw_function *self, lw_arg_spec **specs)
{
    lw_specialisation *specialisation = lw_alloc_zero(1, sizeof *specialisation);

    if (specialisation == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    lw_arena_init(&specialisation->arena);
    specialisation->function = self;
    specialisation->target = specialisation;
    specialisation->n_specs = self->n_params;
    *specs = lw_arena_take(&specialisation->arena, (self->n_params + 1) * sizeof **specs);
    if (*specs == NULL) {
        lw_specialisation_free(specialisation);
        PyErr_NoMemory();
        return NULL;
    }
    specialisation->specs = *specs;
    index_specs(self, *specs);
    return specialisation;
}

/* ---- typing and lowering ---- */

lw_typed *
lw_specialisation_infer(const lw_specialisation *specialisation)
{
    lw_function *self = specialisation->function;
    lw_front_options options = self->options.front;
    lw_typed *typed = NULL;
    lw_error err = {0};

    options.narrow = specialisation->narrow;
    options.result = specialisation->result;
    options.n_results = specialisation->n_out;
    if (lw_infer_specs(lw_specialisation_tree(specialisation), &options, specialisation->specs,
                       specialisation->n_specs, &typed, &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

static bool
note_written(lw_specialisation *specialisation)
{
    const lw_scalar *scalar = specialisation->scalar;
    uint32_t array = 0, n = 0;
    uint32_t *written;

    for (uint32_t i = specialisation->function->n_index; i < scalar->n_args; i++)
        n += scalar->args[i].n_arrays;
    written = lw_arena_take(&specialisation->arena, (n + 1) * sizeof *written);
    if (written == NULL)
        return false;
    specialisation->written = written;
    for (uint32_t i = specialisation->function->n_index; i < scalar->n_args; i++)
        for (uint32_t k = 0; k < scalar->args[i].n_arrays && !scalar->args[i].pointer;
             k++, array++)
            if (scalar->args[i].written[k])
                written[specialisation->n_written++] = array;
    return true;
}

/* Notes in the lowered function which arguments are addresses alone. */
static void
note_pointers(const lw_specialisation *specialisation, const lw_scalar *scalar)
{
    lw_arg_parts *args = scalar ? (lw_arg_parts *)scalar->args : NULL;

    for (uint32_t i = 0; args != NULL && i < scalar->n_args; i++)
        if (i < specialisation->n_specs && specialisation->specs[i].pointer) {
            args[i].pointer = true;
            args[i].item_bytes = specialisation->specs[i].record
                                     ? specialisation->specs[i].record->itemsize
                                     : lw_dtypes[specialisation->specs[i].dtype].size_bytes;
        }
}

static bool
note_hash(lw_specialisation *specialisation)
{
    lw_text text = {0};
    bool failed;

    lw_specialisation_print(specialisation, &text);
    failed = text.failed;
    specialisation->hash =
        lw_hash64(lw_text_get(&text), text.n,
                  specialisation->narrow + 2u * (uint32_t)specialisation->negative);
    lw_text_reset(&text);
    return !failed;
}

/* A GPU confines a block to its own shared memory. On the host the memory after it is not the
 * block's, and its size is known only at the launch: there an index is compared with it. */
static lw_status
lower_guarded(lw_specialisation *specialisation, lw_typed *typed, lw_error *err)
{
    if (!lw_ir_has_op(specialisation->scalar->module, LW_OP_DYNAMIC))
        return LW_OK;
    typed->options.guard_dynamic = true;
    return lw_lower(typed, specialisation->out, specialisation->n_out, &specialisation->on_host,
                    err);
}

/* The update of an argument's element in this line of the tree; NULL: there is none, or there
 * are several. */
static const lw_reach_update *
update_at(const lw_tree *tree, const lw_reaches *reaches, uint32_t loc)
{
    const lw_reach_update *found = NULL;

    for (uint32_t i = 0; i < reaches->n_updates; i++) {
        if (tree->locs.data[reaches->updates[i].loc].line != tree->locs.data[loc].line)
            continue;
        if (found != NULL)
            return NULL;
        found = &reaches->updates[i];
    }
    return found;
}

static lw_status
note_updates(lw_specialisation *specialisation, const lw_races *races,
             const lw_reaches *reaches, lw_error *err)
{
    const lw_tree *tree = lw_specialisation_tree(specialisation);
    lw_lost_update *all =
        lw_arena_take(&specialisation->arena, (races->n_updates + 1) * sizeof *all);

    if (all == NULL)
        return lw_fail_memory(err);
    specialisation->updates = all;
    for (uint32_t i = 0; i < races->n_updates; i++) {
        const lw_race_store *store = &races->updates[i];
        uint32_t loc = lw_place_in_tree(tree, specialisation->scalar->module, store->loc);
        const lw_reach_update *update = loc != 0 ? update_at(tree, reaches, loc) : NULL;
        if (loc != 0)
            all[specialisation->n_updates++] =
                (lw_lost_update){update ? update->arg : LW_NO_ARG, update ? update->loc : loc,
                                 store->dims, store->times, store->same_place};
    }
    return LW_OK;
}

/* What is known, without running it, of the places that elements read and store. */
static lw_status
note_places(lw_specialisation *specialisation, const lw_typed *typed, lw_error *err)
{
    const lw_scalar *scalar = specialisation->scalar;
    uint32_t n_index = specialisation->function->n_index;
    lw_status status = LW_OK;
    lw_reaches reaches = {0};
    lw_races races = {0};

    if (n_index == 0)
        return LW_OK;
    LW_TRY(lw_opt_find_races(scalar->module, scalar->body, n_index, &specialisation->arena,
                             &races, err));
    specialisation->races = races.stores;
    specialisation->n_races = races.n;
    LW_TRY(lw_find_reaches(typed, n_index, &specialisation->arena, &reaches, err));
    specialisation->reaches = reaches.data;
    specialisation->n_reaches = reaches.n;
    LW_TRY(note_updates(specialisation, &races, &reaches, err));
fail:
    return status;
}

int
lw_specialisation_lower(lw_specialisation *specialisation)
{
    lw_typed *typed = lw_specialisation_infer(specialisation);
    lw_error err = {0};
    lw_status status;

    if (typed == NULL)
        return -1;
    lw_typed_dump(typed, lw_function_name(specialisation->function));
    if (lw_specialisation_check_races(specialisation, typed) < 0) {
        lw_typed_free(typed);
        return -1;
    }
    status = specialisation->n_out ? lw_infer_check_results(typed, specialisation->out,
                                                            specialisation->n_out, &err)
                                   : LW_OK;
    if (status == LW_OK)
        status = lw_lower(typed, specialisation->out, specialisation->n_out,
                          &specialisation->scalar, &err);
    if (status == LW_OK)
        status = lower_guarded(specialisation, typed, &err);
    if (status == LW_OK)
        status = note_places(specialisation, typed, &err);
    lw_typed_free(typed);
    if (status != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (specialisation->function->options.front.parallel &&
        lw_specialisation_parallel(specialisation) < 0)
        return -1;
    note_pointers(specialisation, specialisation->scalar);
    note_pointers(specialisation, specialisation->on_host);
    if (!note_written(specialisation) || !note_hash(specialisation)) {
        PyErr_NoMemory();
        return -1;
    }
    return lw_door_warn_of_code(&specialisation->function->options, specialisation->scalar);
}

void
lw_specialisation_publish(lw_function *self, lw_specialisation *specialisation)
{
    lw_grown_add(&self->specialisations, specialisation);
    self->counts.specialisations++;
    self->settled = true;
    if (specialisation->key != NULL)
        lw_grown_note(&self->specialisations, specialisation);
}

/* ---- twins ---- */

static lw_specialisation *
find_twin(const lw_specialisation *origin, bool narrow, bool negative)
{
    lw_specialisation *at = lw_grown_first(&origin->function->specialisations);

    while (at != NULL && ((at != origin && at->origin != origin) || at->narrow != narrow ||
                          at->negative != negative))
        at = lw_grown_next(at);
    return at;
}

/* In a critical section. */
static lw_specialisation *
make_twin(lw_specialisation *specialisation, bool narrow, bool negative)
{
    lw_function *self = specialisation->function;
    lw_specialisation *origin =
        specialisation->origin ? specialisation->origin : specialisation;
    lw_specialisation *twin = find_twin(origin, narrow, negative);
    lw_arg_spec *specs = NULL;

    if (twin != NULL)
        return twin;
    twin = lw_specialisation_new(self, &specs);
    if (twin == NULL)
        return NULL;
    memcpy(specs, specialisation->specs, specialisation->n_specs * sizeof *specs);
    twin->origin = origin;
    twin->tree = origin->tree;
    twin->statics = origin->statics;
    twin->out = origin->out; /* in its arena, which lives as long */
    twin->n_out = origin->n_out;
    twin->result = origin->result;
    twin->has_pointer = origin->has_pointer;
    twin->narrow = narrow;
    twin->negative = negative;
    lw_specialisation_set_counts(twin, specs);
    if (lw_specialisation_lower(twin) < 0) {
        lw_specialisation_free(twin);
        return NULL;
    }
    lw_specialisation_publish(self, twin);
    return twin;
}

lw_specialisation *
lw_specialisation_twin(lw_specialisation *specialisation, bool narrow, bool negative)
{
    lw_specialisation *origin =
                          specialisation->origin ? specialisation->origin : specialisation,
                      *twin;

    if (specialisation->narrow == narrow && specialisation->negative == negative)
        return specialisation;
    twin = find_twin(origin, narrow, negative);
    if (twin != NULL)
        return twin;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)specialisation->function);
    twin = make_twin(specialisation, narrow, negative);
    Py_END_CRITICAL_SECTION();
    return twin;
}

/* ---- look-up ---- */

static bool
is_for(const void *item, const void *key)
{
    const lw_specialisation *specialisation = item;
    const lw_bound *bound = key;

    return specialisation->n_key == bound->n_key &&
           memcmp(specialisation->key, bound->key, specialisation->n_key) == 0;
}

/* In a critical section. */
static lw_specialisation *
make(lw_function *self, const lw_bound *bound)
{
    lw_specialisation *specialisation, *other;

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    specialisation = lw_grown_find(&self->specialisations, is_for, bound);
    if (specialisation != NULL)
        return specialisation;
    if (!lw_add_argument_constants(self->tree))
        return (lw_specialisation *)PyErr_NoMemory();
    specialisation = lw_specialisation_of_key(self, bound);
    if (specialisation == NULL)
        return NULL;
    if ((self->lazy ? lw_specialisation_lower(specialisation)
                    : lw_specialisation_choose(specialisation)) < 0 ||
        (self->lazy && lw_specialisation_note_bounds(specialisation) < 0)) {
        lw_specialisation_free(specialisation);
        return NULL;
    }
    other = lw_grown_find(&self->specialisations, is_for, bound);
    if (other != NULL) { /* made while this one was: static values are read by Python's code */
        lw_specialisation_free(specialisation);
        return other;
    }
    lw_specialisation_publish(self, specialisation);
    return specialisation;
}

lw_specialisation *
lw_specialisation_get(lw_function *self, lw_bound *bound)
{
    lw_specialisation *specialisation = lw_grown_find(&self->specialisations, is_for, bound);

    if (specialisation == NULL) {
        Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
        specialisation = make(self, bound);
        Py_END_CRITICAL_SECTION();
        if (specialisation == NULL)
            return NULL;
    }
    if (specialisation->n_casts && lw_specialisation_cast_values(specialisation, bound) < 0)
        return NULL;
    if (lw_bound_writes(bound, self, specialisation->target->written,
                        specialisation->target->n_written) < 0)
        return NULL;
    return specialisation->target;
}

bool
lw_specialisation_noalias(const lw_specialisation *specialisation, const lw_bound *bound)
{
    if (specialisation->has_pointer)
        return false; /* nothing is known of what is there */
    for (uint32_t i = 0; i < specialisation->n_written; i++) {
        const lw_bound_array *w = &bound->arrays[specialisation->written[i]];
        for (uint32_t k = 0; k < bound->n_arrays; k++)
            if (&bound->arrays[k] != w && w->low < bound->arrays[k].high &&
                bound->arrays[k].low < w->high)
                return false;
    }
    return true;
}

/* ---- the end ---- */

void
lw_specialisation_free(lw_specialisation *specialisation)
{
    if (specialisation == NULL)
        return;
    lw_specialisation_drop_entries(specialisation);
    Py_CLEAR(specialisation->held);
    if (specialisation->origin == NULL) {
        lw_tree_free(specialisation->tree);
        lw_captures_free(specialisation->captures);
    }
    lw_scalar_free(specialisation->scalar);
    lw_scalar_free(specialisation->on_host);
    lw_arena_reset(&specialisation->arena);
    lw_free(specialisation);
}
