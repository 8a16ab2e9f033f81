/* Loops over prange in functions that are called on the host: rewritten for the thread pool
 * (core/opt/loops/parallel.h), and errors in the user's function where iterations depend on
 * each other. */
#include "forall/specialisation_py_internal.h"

#include "core/front/diagnose.h"
#include "core/front/named.h"
#include "core/opt/loops/parallel.h"
#include "core/py/raise.h"

#include <string.h>

uint32_t
lw_place_in_tree(const lw_tree *tree, const lw_module *module, uint32_t loc)
{
    const lw_ir_loc *place = &module->locs.data[loc];

    for (uint32_t i = 1; loc != 0 && i < tree->locs.n; i++) {
        const lw_loc *at = &tree->locs.data[i];
        const char *path = tree->files.data[at->file].path;
        if (at->line == place->line && at->col == place->col && path != NULL &&
            strcmp(path, module->files.data[place->file]) == 0)
            return i;
    }
    return 0;
}

static const struct {
    const char *sentence, *label, *help;
} faults[] = {
    [LW_PARALLEL_CARRIED] = {"iterations of prange depend on each other",
                             "this variable is carried from one iteration to the next",
                             "sums, products, `m = max(m, x)`, `m = min(m, x)` (in this order, "
                             "for NaN), `and`, `or` and bits can be carried, by one operation "
                             "each, where nothing else reads them; for the index of an "
                             "extremum, store each iteration's value in an array and take its "
                             "`argmax()` or `argmin()` after the loop; `range` runs the "
                             "iterations in order"},
    [LW_PARALLEL_MEMORY] =
        {"iterations of prange store different values in the same element",
         "the same element in every iteration",
         "add up in a variable (`total += x[i]`) and store it after the loop, or store at the "
         "iteration's own index"},
    [LW_PARALLEL_NARROW] =
        {"iterations of prange may update the same element, of 8 or 16 bits",
         "other iterations may have the same index",
         "make the array one of 32 or 64 bits, whose elements are updated by atomic "
         "operations; `range` runs the iterations in order"},
    [LW_PARALLEL_DISTANCE] =
        {"iterations of prange depend on each other", "another iteration writes this element",
         "write the results to a different array from the one that is read; `range` runs the "
         "iterations in order"},
    [LW_PARALLEL_UPDATE] =
        {"iterations of prange may update the same element",
         "other iterations may have the same index",
         "`+=`, `-=`, `&=`, `|=` and `^=` update such elements one at a time; `range` runs the "
         "iterations in order; where all indices differ, write the results to a different "
         "array from the one that is read"},
    [LW_PARALLEL_KEPT] =
        {"an array, or a list, dict or set, that an iteration of prange makes or changes is "
         "used outside of the iteration",
         "it belongs to one iteration",
         "make an array before the loop, and store into it at the iteration's own index; the "
         "iterations cannot change one list, dict or set: fill that after the loop, from the "
         "array, or use `range`"},
};

/* The first loop over prange: the function that has it, or NULL. */
static const lw_fn *
has_prange(const lw_typed *typed)
{
    const lw_tree *tree = typed->tree;

    for (uint32_t i = 1; i < typed->instances.n; i++) {
        const lw_instance *instance = &typed->instances.data[i];

        for (uint32_t k = 0; k < instance->nodes.n; k++) {
            uint32_t node = instance->nodes.first + k;
            const lw_typed_node *t = lw_typed_in(&instance->nodes, node);
            if (tree->nodes.data[node].kind == LW_NODE_CALL && t->call == LW_CALL_NAMED &&
                t->target == LW_NAME_lanewise_prange)
                return &tree->fns.data[instance->fn];
        }
    }
    return NULL;
}

int
lw_specialisation_check_races(const lw_specialisation *specialisation, const lw_typed *typed)
{
    const lw_function *self = specialisation->function;
    const lw_fn *fn = self->gives_value && self->options.race_given ? has_prange(typed) : NULL;

    if (fn == NULL)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "check: 'race' finds no races between iterations of prange, which `%s` has; "
                 "it is for functions of lanewise.forall, for those with excluded=, and for "
                 "shared memory of kernels: make the body of the loop a function of "
                 "lanewise.forall, or leave 'race' out",
                 fn->name);
    return -1;
}

int
lw_specialisation_parallel(lw_specialisation *specialisation)
{
    lw_module *module = specialisation->scalar->module;
    const lw_tree *tree = lw_specialisation_tree(specialisation);
    const lw_fn *fn = &tree->fns.data[1];
    lw_parallel_fault fault;
    uint32_t loc = 0;
    lw_error err = {0};
    lw_arena scratch;
    bool *hidden;
    lw_status status;

    lw_arena_init(&scratch);
    hidden = lw_arena_take(&scratch, module->files.n + 1);
    for (uint32_t i = 0; hidden != NULL && i < module->files.n; i++)
        hidden[i] = lw_is_of_lanewise(tree, module->files.data[i]);
    status = lw_opt_parallel(module, hidden, &fault, &loc, &err);
    lw_arena_reset(&scratch);

    if (status == LW_OK && fault == LW_PARALLEL_GOOD)
        return 0;
    if (status == LW_OK) {
        loc = lw_place_in_tree(tree, module, loc);
        lw_diagnose(tree, loc ? loc : fn->loc,
                    (lw_fault){LW_ERR_COMPILE, "E168", .label = faults[fault].label,
                               .help = faults[fault].help, .where = fn->name},
                    &err, "%s", faults[fault].sentence);
    }
    lw_py_raise(&err);
    return -1;
}
