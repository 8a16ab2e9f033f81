/* Reads the buffer without losing what is written meanwhile: the halves change roles first,
 * then the device is waited for. After that nobody writes to the half that was active, so it is
 * read and cleared. */
#include "core/device/print_buffer.h"

#include "core/base/lock.h"
#include "core/base/memory.h"
#include "core/device/copy.h"
#include "core/device/device_internal.h"
#include "core/device/module_internal.h"
#include "core/device/pool.h"
#include "core/device/stream.h"
#include "core/ir/print_buffer.h"
#include "core/ir/printed.h"
#include "core/link/cubin_info.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

typedef struct header {
    uint64_t active, used[2], dropped[2], unused[3];
} header;

_Static_assert(sizeof(header) == LW_PRINT_HEADER, "as core/emit/print.c writes it");

typedef struct buffer {
    lw_context *context; /* held */
    lw_device *device;
    lw_stream *stream; /* our own, so that reading waits for no other work */
    lw_block *block;
    uint32_t n_users; /* images */
    struct buffer *next;
} buffer;

static lw_lock lock = LW_LOCK_INIT; /* of the list and of all reading */
static buffer *buffers;
static atomic_uint n_buffers;

static void
buffer_free(buffer *b)
{
    if (b == NULL)
        return;
    lw_pool_put(b->block);
    lw_stream_free(b->stream);
    lw_context_drop(b->context);
    lw_free(b);
}

/* Copies of the buffer that the caller waits for. */
static lw_copy_queue
queue_of(const buffer *b)
{
    return (lw_copy_queue){b->device, b->stream->handle, true};
}

static lw_status
buffer_new(lw_device *device, buffer **out, lw_error *err)
{
    lw_status status = LW_OK;
    lw_copy_queue queue;
    buffer *b = lw_alloc_zero(1, sizeof *b);

    if (b == NULL)
        return lw_fail_memory(err);
    b->device = device;
    LW_TRY(lw_context_hold(device, &b->context, err));
    LW_TRY(lw_stream_new(device, false, 0, &b->stream, err));
    LW_TRY(lw_pool_take_own(device, LW_PRINT_BYTES, b->stream->handle, &b->block, err));
    queue = queue_of(b);
    LW_TRY(lw_fill(&queue, b->block->address, 0, 4, LW_PRINT_BYTES / 4, err));
    *out = b;
    return LW_OK;
fail:
    buffer_free(b);
    return status;
}

/* ---- reading ---- */

static void
add_lines(const uint64_t *words, uint64_t n)
{
    for (uint64_t at = 0; at + 1 < n && words[at] != 0; at += words[at] + 1) {
        const lw_format *format = lw_format_find(words[at + 1]);
        if (at + words[at] >= n)
            return;
        if (format != NULL && format->n_slots + 1 == words[at])
            lw_printed_add(format, words + at + 2);
        else
            lw_printed_drop(1);
    }
}

static lw_status
read_half(buffer *b, const header *head, uint64_t half, lw_error *err)
{
    lw_status status = LW_OK;
    lw_copy_queue queue = queue_of(b);
    CUdeviceptr at = b->block->address + LW_PRINT_HEADER + half * 8 * LW_PRINT_WORDS;
    uint64_t n = head->used[half] < LW_PRINT_WORDS ? head->used[half] : LW_PRINT_WORDS;
    uint64_t *words = lw_alloc(n * 8 + 8);

    if (words == NULL)
        return lw_fail_memory(err);
    LW_TRY(lw_copy_to_host(&queue, words, at, n * 8, err));
    queue.wait = false; /* the last one waits for all three */
    LW_TRY(lw_fill(&queue, at, 0, 4, 2 * n, err));
    LW_TRY(lw_fill(&queue, b->block->address + LW_PRINT_USED_AT + 8 * half, 0, 4, 2, err));
    queue.wait = true;
    LW_TRY(lw_fill(&queue, b->block->address + LW_PRINT_DROPPED_AT + 8 * half, 0, 4, 2, err));
    add_lines(words, n);
    lw_printed_drop(head->dropped[half]);
fail:
    lw_free(words);
    return status;
}

static lw_status
read_header(buffer *b, header *out, lw_error *err)
{
    lw_copy_queue queue = queue_of(b);

    return lw_copy_to_host(&queue, out, b->block->address, sizeof *out, err);
}

static lw_status
collect(buffer *b, lw_error *err)
{
    lw_copy_queue queue = queue_of(b);
    lw_status status = LW_OK;
    header head = {0};
    uint64_t half;

    if (!lw_context_is_alive(b->context))
        return LW_OK;
    LW_TRY(read_header(b, &head, err));
    half = head.active & 1;
    if (head.used[half] == 0)
        return LW_OK;
    LW_TRY(lw_fill(&queue, b->block->address, (uint32_t)half ^ 1, 4, 1, err));
    LW_TRY(lw_device_synchronize(b->device, err));
    LW_TRY(read_header(b, &head, err));
    LW_TRY(read_half(b, &head, half, err));
fail:
    return status;
}

lw_status
lw_print_collect(lw_error *err)
{
    lw_status status = LW_OK;

    if (!lw_print_any())
        return LW_OK;
    lw_lock_take(&lock);
    for (buffer *b = buffers; b != NULL && status == LW_OK; b = b->next)
        status = collect(b, err);
    lw_lock_give(&lock);
    return status;
}

bool
lw_print_any(void)
{
    return atomic_load_explicit(&n_buffers, memory_order_acquire) > 0 && !lw_driver_forked();
}

/* ---- images ---- */

/* Called when an image is unloaded, whose kernels may have printed since the buffer was last
 * read. */
static void
release(void *context, bool alive)
{
    buffer *b = context, **link;
    lw_error err = {0};

    lw_lock_take(&lock);
    if (alive && lw_device_synchronize(b->device, &err) == LW_OK)
        (void)collect(b, &err);
    if (--b->n_users > 0)
        b = NULL;
    for (link = &buffers; b != NULL && *link != b; link = &(*link)->next)
        continue;
    if (b != NULL) {
        *link = b->next;
        atomic_fetch_sub(&n_buffers, 1);
    }
    lw_lock_give(&lock);
    buffer_free(b);
    lw_error_reset(&err);
}

/* needs: lock */
static lw_status
buffer_of(lw_device *device, lw_context *context, buffer **out, lw_error *err)
{
    lw_status status = LW_OK;
    buffer *b = buffers;

    while (b != NULL && b->context != context)
        b = b->next;
    if (b == NULL) {
        LW_TRY(buffer_new(device, &b, err));
        assert(b != NULL);
        b->next = buffers;
        buffers = b;
        atomic_fetch_add(&n_buffers, 1);
    }
    b->n_users++;
    *out = b;
fail:
    return status;
}

static lw_status
set_variable(lw_image *image, const buffer *b, lw_error *err)
{
    CUdeviceptr variable = 0;
    size_t size = 0;
    uint64_t address = b->block->address;
    lw_copy_queue queue = queue_of(b);
    lw_status status = lw_image_global(image, LW_PRINT_VARIABLE, &variable, &size, err);

    if (status != LW_OK)
        return status;
    return lw_copy_to_device(&queue, variable, &address, sizeof address, err);
}

lw_status
lw_print_connect(lw_image *image, const void *bytes, size_t n_bytes, lw_error *err)
{
    lw_device *device = lw_image_device(image);
    lw_context *context = NULL;
    buffer *b = NULL;
    lw_status status = LW_OK;

    if (!lw_cubin_names(bytes, n_bytes, LW_PRINT_VARIABLE))
        return LW_OK;
    LW_TRY(lw_context_hold(device, &context, err));
    lw_lock_take(&lock);
    status = buffer_of(device, context, &b, err);
    lw_lock_give(&lock);
    LW_TRY(status);
    LW_TRY(lw_image_at_unload(image, release, b, err));
    status = set_variable(image, b, err);
    b = NULL; /* it is released with the image */
fail:
    if (b != NULL)
        release(b, true);
    lw_context_drop(context);
    return status;
}
