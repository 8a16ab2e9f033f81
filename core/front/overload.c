/* Which operators have overloads, and whether lanewise's own functions have: few rows, which
 * are only ever added. Inference reads them without a lock. */
#include "core/front/overload.h"

#include "core/base/lock.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_OPERATORS = 64, MAX_NAME = 16 };

static struct operator_row {
    char name[MAX_NAME];
    atomic_bool prefers_literals;
} rows[MAX_OPERATORS];
static _Atomic uint32_t n_rows; /* the rows before it are complete */

static struct operator_row *
find(const char *name)
{
    uint32_t n = atomic_load_explicit(&n_rows, memory_order_acquire);

    for (uint32_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static bool
add(const char *name, bool prefers_literals)
{
    struct operator_row *row = find(name);
    uint32_t n = atomic_load(&n_rows);

    if (row == NULL && (n == MAX_OPERATORS || strlen(name) >= MAX_NAME))
        return false;
    if (row == NULL) {
        memcpy(rows[n].name, name, strlen(name) + 1);
        atomic_init(&rows[n].prefers_literals, prefers_literals);
        atomic_store_explicit(&n_rows, n + 1, memory_order_release);
    } else if (prefers_literals) {
        atomic_store(&row->prefers_literals, true);
    }
    return true;
}

bool
lw_overload_operator(const char *name, bool prefers_literals)
{
    static lw_lock lock = LW_LOCK_INIT;
    bool added;

    lw_lock_take(&lock);
    added = add(name, prefers_literals);
    lw_lock_give(&lock);
    return added;
}

const char *
lw_overloaded_operator(const char *name, bool *prefers_literals)
{
    struct operator_row *row = find(name);

    *prefers_literals = row != NULL && atomic_load(&row->prefers_literals);
    return row != NULL ? row->name : NULL;
}

bool
lw_is_own_function(const lw_tree *tree, const lw_constant *callee)
{
    return callee->kind == LW_K_NAMED || callee->kind == LW_K_DTYPE ||
           callee->kind == LW_K_PYTYPE ||
           (callee->kind == LW_K_FUNCTION && tree->fns.data[callee->u].inlined);
}
