#include "core/front/named_records.h"

#include "core/base/memory.h"

#include <string.h>

static LW_ARRAY(const lw_arg_record *) records; /* under the GIL; never freed */

lw_status
lw_named_record_add(const lw_arg_record *record, lw_error *err)
{
    const lw_arg_record **slot = lw_array_push(&records, NULL);

    if (slot == NULL)
        return lw_fail_memory(err);
    *slot = record;
    return LW_OK;
}

const lw_arg_record *
lw_named_record_find(const char *name, size_t n_bytes)
{
    for (uint32_t i = 0; i < records.n; i++)
        if (strlen(records.data[i]->name) == n_bytes &&
            memcmp(records.data[i]->name, name, n_bytes) == 0)
            return records.data[i];
    return NULL;
}
