/* Stores by which the elements of a forall race, as errors in the user's function. */
#include "forall/forall_parts_py.h"

#include "core/front/diagnose.h"
#include "core/py/raise.h"

#include <stdio.h>
#include <string.h>

/* Where the module's place stands in the tree; 0: nowhere. */
static uint32_t
place_of(const lw_tree *tree, const lw_module *module, uint32_t loc)
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

static void
refuse(const lw_special *special, const lw_race_store *race, uint32_t dim)
{
    const lw_tree *tree = special->function->tree;
    const lw_fn *fn = &tree->fns.data[1];
    uint32_t loc = place_of(tree, special->scalar->module, race->loc);
    lw_error err = {0};
    char label[128];

    snprintf(label, sizeof label, "the same place for every `%.80s`",
             fn->params.data[dim].name);
    lw_diagnose(tree, loc ? loc : fn->loc, fn->name, LW_ERR_COMPILE, "E164", label,
                race->augmented
                    ? "`cuda.atomic.add(array, index, value)` adds without losing any; "
                      "`lw.reduce` reduces"
                    : "store at the element's own index, or under `if index == 0:`; "
                      "`cuda.atomic` and `lw.reduce` combine what elements have",
                &err,
                race->augmented ? "elements of `%s` change the same place, and lose each "
                                  "other's changes"
                                : "elements of `%s` store different values at the same place",
                fn->name);
    lw_py_raise(&err);
}

int
lw_forall_refuse_races(const lw_special *special, const lw_space *space)
{
    for (uint32_t i = 0; i < special->n_races; i++)
        for (uint32_t d = 0; d < special->function->n_index; d++)
            if ((special->races[i].dims >> d & 1) && space->n[d] > 1) {
                refuse(special, &special->races[i], d);
                return -1;
            }
    return 0;
}
