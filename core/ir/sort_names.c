/* What inference may rely on when it types a sort, which it must not ask core/host. */
#include "core/ir/sort_names.h"

#include <stdatomic.h>

_Static_assert(LW_N_SORT_DTYPES <= 32, "a bit for each dtype");

static atomic_uint known;

uint32_t
lw_library_sorts(void)
{
    return atomic_load(&known);
}

void
lw_library_sorts_set(uint32_t dtypes)
{
    atomic_store(&known, dtypes);
}
