/* Detects races on shared memory while a block runs. A cell for each byte holds its last write
 * and its last reads; two accesses by different threads, one of them a write, must have a
 * barrier between them, or a syncwarp if they are lanes of one warp. Each opening of a barrier
 * has a number, the block's time, so that "between" is one comparison.
 *
 * Keeping the last access and its time is the idea of C. Flanagan, S. Freund, "FastTrack:
 * efficient and precise dynamic race detection", 2009; since there are only barriers, times
 * need no vectors. Threads that order themselves by flags and fences are reported as racing. */
#include "core/host/simulator_internal.h"

#include "core/base/memory.h"
#include "core/host/element_race.h"

#include <stdio.h>
#include <string.h>

enum { NOBODY = 0xffff };

typedef struct sim_cell {
    uint32_t write_time, write_line;
    uint32_t read_time, read_line;
    uint16_t writer, reader;
    uint16_t other; /* a second reader at the same time; NOBODY: none */
    bool atomic;    /* the write was atomic */
} sim_cell;

typedef struct sim_access {
    const sim_thread *thread;
    uint32_t index, line;
    uint32_t offset, n_bytes;
    lw_sim_access_kind kind;
} sim_access;

void
sim_shadow_begin(sim_shadow *shadow, uint32_t n_bytes)
{
    if (shadow->n_bytes != n_bytes || shadow->time > UINT32_MAX / 2) {
        sim_shadow_free(shadow);
        shadow->n_bytes = n_bytes;
    }
    sim_shadow_barrier(shadow);
}

void
sim_shadow_free(sim_shadow *shadow)
{
    lw_free(shadow->cells);
    memset(shadow, 0, sizeof *shadow);
}

/* Whether what thread `then` did at `time` precedes what the running thread does. */
static bool
is_before(const sim_shadow *shadow, uint32_t then, uint32_t time, uint32_t now)
{
    if (then == now || time < shadow->barrier_time)
        return true;
    return then / SIM_WARP == now / SIM_WARP && time < shadow->warp_time[now / SIM_WARP];
}

static void
report(sim_shadow *shadow, const sim_access *access, uint32_t then, uint32_t line,
       const char *did)
{
    static const char *const does[] = {"reads", "writes", "changes (atomically)"};
    const uint32_t *s = access->thread->context.sregs;
    uint32_t x = s[LW_SREG_NTID_X], y = s[LW_SREG_NTID_Y];
    char here[32], there[32];

    lw_race_line(here, access->line);
    lw_race_line(there, line);
    lw_fail(&shadow->error, LW_ERR_KERNEL,
            "block (%u, %u, %u): race on shared memory: thread (%u, %u, %u) %s %u byte%s at "
            "offset %u%s, which thread (%u, %u, %u) %s%s: there is no barrier between",
            s[LW_SREG_CTAID_X], s[LW_SREG_CTAID_Y], s[LW_SREG_CTAID_Z], s[LW_SREG_TID_X],
            s[LW_SREG_TID_Y], s[LW_SREG_TID_Z], does[access->kind], access->n_bytes,
            access->n_bytes == 1 ? "" : "s", access->offset, here, then % x, then / x % y,
            then / x / y, did, there);
}

static void
look_at_write(sim_shadow *shadow, const sim_cell *cell, const sim_access *access)
{
    if (cell->write_time == 0 || (cell->atomic && access->kind == LW_SIM_ATOMIC))
        return;
    if (!is_before(shadow, cell->writer, cell->write_time, access->index))
        report(shadow, access, cell->writer, cell->write_line,
               cell->atomic ? "changed (atomically)" : "wrote");
}

static void
look_at_reads(sim_shadow *shadow, const sim_cell *cell, const sim_access *access)
{
    if (cell->read_time == 0)
        return;
    if (!is_before(shadow, cell->reader, cell->read_time, access->index))
        report(shadow, access, cell->reader, cell->read_line, "read");
    else if (cell->other != NOBODY &&
             !is_before(shadow, cell->other, cell->read_time, access->index))
        report(shadow, access, cell->other, cell->read_line, "read");
}

/* Of several readers the two are kept that a write may race with: the first one since the last
 * barrier, and the last of the others, preferably of another warp. */
static void
note_read(sim_shadow *shadow, sim_cell *cell, const sim_access *access)
{
    if (cell->read_time == 0 || cell->read_time < shadow->barrier_time ||
        cell->reader == access->index) {
        if (cell->read_time < shadow->barrier_time)
            cell->other = NOBODY;
        cell->reader = (uint16_t)access->index;
    } else if (cell->other == NOBODY || cell->other / SIM_WARP == cell->reader / SIM_WARP) {
        cell->other = (uint16_t)access->index;
    }
    cell->read_time = shadow->time;
    cell->read_line = access->line;
}

static void
touch(sim_shadow *shadow, sim_cell *cell, const sim_access *access)
{
    look_at_write(shadow, cell, access);
    if (access->kind == LW_SIM_READ) {
        note_read(shadow, cell, access);
        return;
    }
    look_at_reads(shadow, cell, access);
    if (access->kind == LW_SIM_ATOMIC && !cell->atomic &&
        cell->write_time >= shadow->barrier_time)
        return; /* later atomics race with the plain write */
    cell->write_time = shadow->time;
    cell->write_line = access->line;
    cell->writer = (uint16_t)access->index;
    cell->atomic = access->kind == LW_SIM_ATOMIC;
}

static bool
make_cells(sim_shadow *shadow)
{
    if (shadow->cells == NULL)
        shadow->cells = lw_alloc_zero(shadow->n_bytes, sizeof *shadow->cells);
    if (shadow->cells == NULL)
        lw_fail_memory(&shadow->error);
    return shadow->cells != NULL;
}

void
lw_sim_access(lw_kernel_context *context, const void *address, int32_t n_bytes, int32_t kind)
{
    const sim_thread *thread = (const sim_thread *)context;
    sim_shadow *shadow = thread->shadow;
    uintptr_t offset = (uintptr_t)address - (uintptr_t)context->shared;
    sim_access access = {thread,           sim_linear_index(context), context->line,
                         (uint32_t)offset, (uint32_t)n_bytes,         (lw_sim_access_kind)kind};
    uint32_t i;

    if (shadow == NULL || shadow->error.status != LW_OK || offset >= shadow->n_bytes ||
        access.n_bytes > shadow->n_bytes - offset || !make_cells(shadow))
        return;
    for (i = 0; i < access.n_bytes; i++)
        touch(shadow, &shadow->cells[offset + i], &access);
}
