#include "core/host/nrt_table.h"

#include "core/base/memory.h"
#include "core/host/counted_memory.h"
#include "lanewise/include/lanewise_nrt.h"

#include <string.h>

static NRT_MemInfo *
allocate(size_t n_bytes)
{
    return lw_counted_new(n_bytes);
}

/* ---- memory of an allocator of theirs ---- */

static void
give_back(void *data, size_t n_bytes, void *information)
{
    NRT_ExternalAllocator *allocator = information;

    (void)n_bytes;
    allocator->free(data, allocator->opaque_data);
    lw_free(allocator);
}

/* The allocator is copied: theirs need not live as long as its memory. */
static NRT_MemInfo *
allocate_external(size_t n_bytes, NRT_ExternalAllocator *allocator)
{
    NRT_ExternalAllocator *copy;
    void *data, *memory;

    if (allocator == NULL)
        return allocate(n_bytes);
    copy = lw_alloc(sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *allocator;
    data = copy->malloc(n_bytes, copy->opaque_data);
    memory = data ? lw_counted_over(data, n_bytes, give_back, copy) : NULL;
    if (memory == NULL) {
        if (data != NULL)
            copy->free(data, copy->opaque_data);
        lw_free(copy);
    }
    return memory;
}

/* ---- memory that they have ---- */

static void
end_managed(void *data, size_t n_bytes, void *information)
{
    NRT_managed_dtor *destructor;

    (void)n_bytes;
    memcpy(&destructor, &information, sizeof destructor); /* a function's address */
    destructor(data);
}

static NRT_MemInfo *
manage_memory(void *data, NRT_managed_dtor destructor)
{
    void *information;

    if (destructor == NULL)
        return lw_counted_over(data, 0, NULL, NULL);
    memcpy(&information, &destructor, sizeof information);
    return lw_counted_over(data, 0, end_managed, information);
}

/* ---- references ---- */

static void
acquire(NRT_MemInfo *memory)
{
    lw_counted_retain(memory);
}

static void
release(NRT_MemInfo *memory)
{
    lw_counted_release(memory);
}

static void *
get_data(NRT_MemInfo *memory)
{
    return lw_counted_data(memory);
}

static const NRT_api_functions table = {
    .allocate = allocate,
    .allocate_external = allocate_external,
    .manage_memory = manage_memory,
    .acquire = acquire,
    .release = release,
    .get_data = get_data,
};

const void *
lw_nrt_table(void)
{
    return &table;
}
