#include "core/front/named_records.h"

#include "core/base/lock.h"
#include "core/base/memory.h"

#include <string.h>

static lw_lock lock = LW_LOCK_INIT;
static LW_ARRAY(
    const lw_arg_record *) records; /* guarded by the lock; the records are never freed */

lw_status
lw_named_record_add(const lw_arg_record *record, lw_error *err)
{
    const lw_arg_record **slot;

    lw_lock_take(&lock);
    slot = lw_array_push(&records, NULL);
    if (slot != NULL)
        *slot = record;
    lw_lock_give(&lock);
    return slot != NULL ? LW_OK : lw_fail_memory(err);
}

const lw_arg_record *
lw_named_record_find(const char *name, size_t n_bytes)
{
    const lw_arg_record *found = NULL;

    lw_lock_take(&lock);
    for (uint32_t i = 0; i < records.n && found == NULL; i++)
        if (strlen(records.data[i]->name) == n_bytes &&
            memcmp(records.data[i]->name, name, n_bytes) == 0)
            found = records.data[i];
    lw_lock_give(&lock);
    return found;
}
