/* The fake driver: streams, events, launches, which are recorded. */
#include "tests/fault/fake_internal.h"

#include <string.h>

/* ---- streams and events ---- */

int
cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    BEGIN_MAKING("cuStreamCreateWithPriority", out);
    (void)priority;
    code = flags <= 1 ? fake_usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS)
        *out = fake_publish(fake_make(STREAM, fake_current->ordinal));
    return fake_leave(code);
}

int
cuStreamDestroy_v2(void *stream)
{
    fake_object *item;
    BEGIN_DOWN("cuStreamDestroy_v2");
    item = fake_find(STREAM, (uintptr_t)stream);
    NEED(item != NULL, INVALID_HANDLE);
    fake_take_down(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuStreamSynchronize(void *stream)
{
    BEGIN("cuStreamSynchronize");
    code = fake_usable(stream);
    if (code == SUCCESS && fake_stream_of(stream)->capturing)
        code = CAPTURE_UNSUPPORTED;
    return fake_leave(code);
}

int
cuStreamQuery(void *stream)
{
    BEGIN("cuStreamQuery");
    code = fake_usable(stream);
    if (code == SUCCESS && fake_stream_of(stream)->busy)
        code = NOT_READY;
    return fake_leave(code);
}

int
cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    BEGIN("cuStreamWaitEvent");
    code = flags == 0 ? fake_usable(stream) : INVALID_VALUE;
    if (code == SUCCESS && fake_find(EVENT, (uintptr_t)event) == NULL)
        code = INVALID_HANDLE;
    if (code == SUCCESS)
        fake_note("wait", stream, event);
    return fake_leave(code);
}

int
cuStreamIsCapturing(void *stream, int *out)
{
    BEGIN("cuStreamIsCapturing");
    code = fake_usable(stream);
    *out = code == SUCCESS && fake_stream_of(stream)->capturing;
    return fake_leave(code);
}

/* ---- graphs: one for all captures, and what it keeps ---- */

enum { MOST_KEPT = 1024 };
typedef struct kept_object {
    void (*destroy)(void *);
    void *data;
    int retained;
} kept_object;
static kept_object kept_objects[MOST_KEPT];
static int n_kept_objects;

int
cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
                          const void **nodes, size_t *n_nodes)
{
    BEGIN("cuStreamGetCaptureInfo");
    (void)nodes;
    (void)n_nodes;
    code = fake_usable(stream);
    *status = code == SUCCESS && fake_stream_of(stream)->capturing;
    *id = 1;
    *graph = *status ? kept_objects : NULL;
    return fake_leave(code);
}

int
cuUserObjectCreate(void **out, void *data, void (*destroy)(void *), unsigned n, unsigned flags)
{
    BEGIN_MAKING("cuUserObjectCreate", out);
    NEED(n == 1 && flags == 1 && n_kept_objects < MOST_KEPT, INVALID_VALUE);
    kept_objects[n_kept_objects] = (kept_object){destroy, data, 0};
    *out = &kept_objects[n_kept_objects++];
done:
    return fake_leave(code);
}

int
cuGraphRetainUserObject(void *graph, void *object, unsigned n, unsigned flags)
{
    BEGIN("cuGraphRetainUserObject");
    NEED(graph == kept_objects && n == 1 && flags == 1, INVALID_VALUE);
    ((kept_object *)object)->retained = 1;
done:
    return fake_leave(code);
}

void
fake_cuda_destroy_graphs(void)
{
    for (int k = 0; k < n_kept_objects; k++)
        if (kept_objects[k].retained)
            kept_objects[k].destroy(kept_objects[k].data);
    n_kept_objects = 0;
}

int
cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int now;
    int old = now;
    BEGIN("cuThreadExchangeStreamCaptureMode");
    NEED(*mode >= 0 && *mode <= 2, INVALID_VALUE);
    now = *mode;
    *mode = old;
done:
    return fake_leave(code);
}

int
cuEventCreate(void **out, unsigned flags)
{
    BEGIN_MAKING("cuEventCreate", out);
    code = flags <= 7 ? fake_usable(NULL) : INVALID_VALUE;
    if (code == SUCCESS) {
        *out = fake_publish(fake_make(EVENT, fake_current->ordinal));
        ((fake_object *)*out)->timing = (flags & 2) == 0;
    }
    return fake_leave(code);
}

int
cuEventDestroy_v2(void *event)
{
    fake_object *item;
    BEGIN_DOWN("cuEventDestroy_v2");
    item = fake_find(EVENT, (uintptr_t)event);
    NEED(item != NULL, INVALID_HANDLE);
    fake_take_down(item);
done:
    return fake_leave(injected ? injected : code);
}

int
cuEventRecord(void *event, void *stream)
{
    fake_object *item;
    BEGIN("cuEventRecord");
    code = fake_usable(stream);
    NEED(code == SUCCESS, code);
    item = fake_find(EVENT, (uintptr_t)event);
    NEED(item != NULL && item->ordinal == fake_stream_of(stream)->ordinal, INVALID_HANDLE);
    item->recorded = 1;
    item->busy = fake_stream_of(stream)->busy;
    fake_note("record", stream, event);
done:
    return fake_leave(code);
}

int
cuEventSynchronize(void *event)
{
    BEGIN("cuEventSynchronize");
    NEED(fake_find(EVENT, (uintptr_t)event) != NULL, INVALID_HANDLE);
done:
    return fake_leave(code);
}

int
cuEventQuery(void *event)
{
    fake_object *item;
    BEGIN("cuEventQuery");
    item = fake_find(EVENT, (uintptr_t)event);
    NEED(item != NULL, INVALID_HANDLE);
    NEED(!item->busy, NOT_READY);
done:
    return fake_leave(code);
}

int
cuEventElapsedTime(float *ms, void *from, void *to)
{
    fake_object *first, *second;
    BEGIN("cuEventElapsedTime");
    first = fake_find(EVENT, (uintptr_t)from);
    second = fake_find(EVENT, (uintptr_t)to);
    NEED(first && second && first->recorded && second->recorded && first->timing &&
             second->timing,
         INVALID_HANDLE);
    *ms = 1.5f;
done:
    return fake_leave(code);
}

/* ---- launches ---- */

typedef struct attribute_value {
    int id;
    char pad[4];
    union {
        char pad[64];
        int flag;
        unsigned dim[3];
    } value;
} attribute_value;

typedef struct launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    attribute_value *attributes;
    unsigned n_attributes;
} launch_config;

static int
shape_is_good(const launch_config *config)
{
    const unsigned *grid = config->grid, *block = config->block;

    return grid[0] > 0 && grid[0] <= 2147483647u && grid[1] > 0 && grid[1] <= 65535 &&
           grid[2] > 0 && grid[2] <= 65535 && block[0] > 0 && block[1] > 0 && block[2] > 0 &&
           block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64 &&
           block[0] * block[1] * block[2] <= 1024 && config->shared_bytes <= 232448;
}

/* The cluster that a launch asks for, or NULL. */
static const unsigned *
cluster_of(const launch_config *config)
{
    for (unsigned i = 0; i < config->n_attributes; i++)
        if (config->attributes[i].id == 4)
            return config->attributes[i].value.dim;
    return NULL;
}

static int
cluster_is_good(const launch_config *config)
{
    const unsigned *c = cluster_of(config), *grid = config->grid;

    return c == NULL || (c[0] > 0 && c[1] > 0 && c[2] > 0 && c[0] * c[1] * c[2] <= 16 &&
                         grid[0] % c[0] == 0 && grid[1] % c[1] == 0 && grid[2] % c[2] == 0);
}

/* For tests/fault/launch_alignment.py. */
static void
log_values(const fake_object *image, const fake_launch *launch)
{
    fprintf(fake.log_file, "  values %016llx %s", fake_hash(image->image, image->n_bytes),
            launch->name);
    for (int i = 0; i < launch->n_params && i < 64; i++) {
        unsigned long long value = 0;
        if (launch->sizes[i] <= sizeof value &&
            launch->offsets[i] + launch->sizes[i] <= launch->n_bytes)
            memcpy(&value, launch->values + launch->offsets[i], launch->sizes[i]);
        fprintf(fake.log_file, " %llx", value);
    }
    fprintf(fake.log_file, "\n");
}

/* Whether a parameter is an address of another device's memory, which the kernel would not
 * reach. */
static int
strays(const fake_launch *launch)
{
    for (int i = 0; i < launch->n_params && i < 64; i++) {
        unsigned long long value;
        if (launch->sizes[i] != sizeof value ||
            launch->offsets[i] + sizeof value > launch->n_bytes)
            continue;
        memcpy(&value, launch->values + launch->offsets[i], sizeof value);
        if (fake_holder((uintptr_t)value, 1) != NULL && !fake_reaches((uintptr_t)value, 1))
            return 1;
    }
    return 0;
}

static void
record(const fake_object *function, const launch_config *config, void **params, int together)
{
    fake_launch *out = &fake.last_launch;
    int i;

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", function->name);
    memcpy(out->grid, config->grid, sizeof out->grid);
    memcpy(out->block, config->block, sizeof out->block);
    out->shared_bytes = config->shared_bytes;
    out->stream = config->stream;
    out->together = together;
    fake_read_params(function->owner->image, function->name, out);
    for (i = 0; i < out->n_params && i < 64; i++) {
        size_t end = (size_t)out->offsets[i] + out->sizes[i];
        if (end > sizeof out->values || params == NULL)
            continue;
        memcpy(out->values + out->offsets[i], params[i], out->sizes[i]);
        if (end > out->n_bytes)
            out->n_bytes = (unsigned)end;
    }
    fake.n_launches++;
    if (fake.log_file != NULL)
        fprintf(fake.log_file, "  launch %s grid %u,%u,%u block %u,%u,%u shared %u params %d\n",
                out->name, out->grid[0], out->grid[1], out->grid[2], out->block[0],
                out->block[1], out->block[2], out->shared_bytes, out->n_params);
    if (fake.log_file != NULL && cluster_of(config) != NULL)
        fprintf(fake.log_file, "  cluster %u,%u,%u\n", cluster_of(config)[0],
                cluster_of(config)[1], cluster_of(config)[2]);
    if (fake.log_file != NULL)
        log_values(function->owner, out);
}

static int
launch(const launch_config *config, void *function, void **params)
{
    fake_object *item = fake_find(FUNCTION, (uintptr_t)function);
    int code = fake_usable(config->stream), together = 0;
    unsigned i;

    if (code != SUCCESS)
        return code;
    if (item == NULL)
        return INVALID_HANDLE;
    if (!shape_is_good(config) || !cluster_is_good(config))
        return INVALID_VALUE;
    for (i = 0; i < config->n_attributes; i++)
        if (config->attributes[i].id == 2)
            together = config->attributes[i].value.flag;
    if (item->ordinal != fake_current->ordinal)
        return INVALID_HANDLE;
    record(item, config, params, together);
    fake_note("launch", config->stream, NULL);
    fake.n_launches_on[fake_current->ordinal]++;
    return strays(&fake.last_launch) ? ILLEGAL_ADDRESS : SUCCESS;
}

int
cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
               void *stream, void **params, void **extra)
{
    launch_config config = {
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, NULL, 0};
    BEGIN("cuLaunchKernel");
    code = extra == NULL ? launch(&config, function, params) : INVALID_VALUE;
    return fake_leave(code);
}

int
cuLaunchKernelEx(const launch_config *config, void *function, void **params, void **extra)
{
    BEGIN("cuLaunchKernelEx");
    code = extra == NULL ? launch(config, function, params) : INVALID_VALUE;
    return fake_leave(code);
}

int
cuProfilerStart(void)
{
    BEGIN("cuProfilerStart");
    return fake_leave(code);
}

int
cuProfilerStop(void)
{
    BEGIN("cuProfilerStop");
    return fake_leave(code);
}
