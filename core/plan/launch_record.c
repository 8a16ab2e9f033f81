#include "core/plan/launch_record.h"

#include "core/base/divider.h"

#include <stddef.h>
#include <string.h>

void
lw_record_set_item(lw_launch_record *record, int operand, lw_dtype dtype, const void *item)
{
    size_t bytes = lw_dtypes[dtype].size_bytes;
    uint64_t *to = &record->values[record->at[operand]];

    if (!lw_is_complex(dtype)) {
        memcpy(to, item, bytes);
        return;
    }
    memcpy(to, item, bytes / 2);
    memcpy(to + 1, (const char *)item + bytes / 2, bytes / 2);
}

void
lw_record_add_item(lw_launch_record *record, int operand, lw_dtype dtype, const void *item)
{
    lw_record_add_address(record, operand, 0);
    if (lw_is_complex(dtype))
        lw_record_add(record, 0);
    lw_record_set_item(record, operand, dtype, item);
}

void
lw_record_add_divider(lw_launch_record *record, uint32_t size)
{
    lw_divider divider = lw_divider_of(size);

    lw_record_add(record, size);
    lw_record_add(record, divider.multiplier);
    lw_record_add(record, divider.shift);
}

size_t
lw_record_size(const lw_launch_record *record)
{
    return offsetof(lw_launch_record, values) + record->n * sizeof *record->values;
}

lw_status
lw_record_launch(lw_launch_record *record, CUstream stream, lw_error *err)
{
    const lw_launch_shape shape = {.grid = {record->grid, 1, 1},
                                   .block = {record->block, 1, 1},
                                   .shared_bytes = record->shared_bytes,
                                   .stream = stream};
    void *params[LW_RECORD_PARAMS];

    for (uint32_t i = 0; i < record->n; i++)
        params[i] = &record->values[i];
    return lw_launch(record->kernel, &shape, params, err);
}
