#define _GNU_SOURCE /* pthread_getattr_np */
#include "core/host/recursion.h"

#include "core/host/simulator_internal.h"
#include "core/link/elf_loader.h"

#include <pthread.h>

/* The first word is the lowest address that a frame may have, the second counts calls. */
typedef struct lw_stack {
    uint64_t end, n_calls;
} lw_stack;

/* MOST: of a stack that is used, where it has no limit or a very large one. LEAST: what is
 * assumed to be left of a stack of which nothing is known. */
enum { MOST = 256 << 20, LEAST = 32 << 10 };

/* Asked once, because for a main thread the system reads the list of all mappings. 0: it does
 * not know. */
static uintptr_t
low_of_thread(void)
{
    static _Thread_local uintptr_t known;
    pthread_attr_t attributes;
    void *low = NULL;
    size_t n_bytes = 0, guard = 0;

    if (known != 0)
        return known;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    if (pthread_attr_getstack(&attributes, &low, &n_bytes) == 0 &&
        pthread_attr_getguardsize(&attributes, &guard) == 0)
        known = (uintptr_t)low + guard;
    pthread_attr_destroy(&attributes);
    return known;
}

/* Levels follow from the launch, not from what its stacks were made for. */
static uintptr_t
low_of_fiber(const sim_thread *thread)
{
    size_t wanted = sim_stack_bytes(thread->block->launch), have = thread->fiber.stack_bytes;

    return (uintptr_t)thread->fiber.low + (have > wanted ? have - wanted : 0);
}

/* Called by compiled code, in the frame of an entry point. context: of a simulated thread, or
 * NULL. */
static void
begin(lw_stack *stack, const lw_kernel_context *context, uint64_t margin)
{
    const sim_thread *thread = (const sim_thread *)(const void *)context;
    uintptr_t here = (uintptr_t)stack, low;

    if (thread != NULL && thread->block != NULL)
        low = low_of_fiber(thread);
    else
        low = low_of_thread();
    if (low == 0)
        low = here - LEAST;
    if (here - low > MOST)
        low = here - MOST;
    *stack = (lw_stack){.end = low + margin};
}

void
lw_recursion_register(void)
{
    static lw_extern_row rows[] = {{"lw_recursion_begin", NULL}};

    rows[0].address = (void *)(uintptr_t)begin;
    lw_extern_provide(rows, 1);
}
