/* Stores that race (core/opt/race) become errors in the user's function, where a call has
 * several indices. */
#include "forall/forall_py_internal.h"

#include "core/front/diagnose.h"
#include "core/py/raise.h"
#include "forall/specialisation_py_internal.h"

#include <stdio.h>

static void
refuse(const lw_specialisation *specialisation, const lw_race_store *race, uint32_t dim)
{
    const lw_tree *tree = specialisation->function->tree;
    const lw_fn *fn = &tree->fns.data[1];
    uint32_t loc = lw_place_in_tree(tree, specialisation->scalar->module, race->loc);
    lw_error err = {0};
    char label[128];

    snprintf(label, sizeof label, "the same element for every `%.80s`",
             fn->params.data[dim].name);
    lw_diagnose(
        tree, loc ? loc : fn->loc,
        (lw_fault){LW_ERR_COMPILE, "E164", .label = label,
                   .help =
                       race->augmented
                           ? "`cuda.atomic.add(array, index, value)` does not lose updates; "
                             "`lw.reduce` computes sums and other reductions"
                           : "store at the element's own index, or under `if index == 0:`; "
                             "`cuda.atomic` and `lw.reduce` combine the values of all indices",
                   .where = fn->name},
        &err,
        race->augmented
            ? "calls of `%s` for different indices update the same element, and updates are "
              "lost"
            : "calls of `%s` for different indices store different values in the same element",
        fn->name);
    lw_py_raise(&err);
}

int
lw_forall_refuse_races(const lw_specialisation *specialisation, const lw_space *space)
{
    for (uint32_t i = 0; i < specialisation->n_races; i++) {
        const lw_race_store *race = &specialisation->races[i];
        for (uint32_t d = 0; d < specialisation->function->n_index; d++)
            if ((race->dims >> d & 1) && space->n[d] > 1 &&
                (!race->counted || (space->start[d] == 0 && space->step[d] == 1))) {
                refuse(specialisation, race, d);
                return -1;
            }
    }
    return 0;
}
