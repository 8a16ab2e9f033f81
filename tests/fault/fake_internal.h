/* What the files of the fake driver share: a CUDA driver for tests on machines without one, the
 * calls that lanewise makes, over host memory filled with 0xA5. Kernels are not run but
 * recorded. Everything happens at once, in the order of the calls, under one mutex. Handles are
 * checked: a dead or foreign one is an error, never a crash. Written from the public
 * description of the CUDA driver API.
 */
#ifndef LW_FAKE_INTERNAL_H
#define LW_FAKE_INTERNAL_H

#include "tests/fault/fake_cuda.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#pragma GCC visibility push(hidden) /* what is below is no call of the driver's */

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    CONTEXT_IS_DESTROYED = 709,
    NOT_SUPPORTED = 801,
    PEER_ACCESS_UNSUPPORTED = 217,
    PEER_ACCESS_ALREADY_ENABLED = 704,
    ILLEGAL_ADDRESS = 700,
    CAPTURE_UNSUPPORTED = 900,
};

#define MAX_DEVICES 16
#define N_BUCKETS   4096

typedef enum fake_kind {
    MEMORY,
    HOST,
    STREAM,
    EVENT,
    MODULE,
    CONTEXT,
    POOL,
    FUNCTION, /* not counted: it lives in its module */
    N_KINDS
} fake_kind;

/* Everything with a handle: the handle is the object's address, or its memory's. */
typedef struct fake_object {
    struct fake_object *next;
    fake_kind kind;
    int ordinal;
    uintptr_t handle;
    size_t n_bytes;
    int registered, pooled, n_opened, timing, recorded, capturing, busy, is_library;
    int everywhere;            /* managed memory, which every device reaches */
    unsigned peers;            /* of a context or a pool: the devices that have access */
    struct fake_object *owner; /* of a function: its module */
    char *name;
    unsigned char *image;
} fake_object;

/* read and written between fake_enter and fake_leave */
typedef struct fake_state {
    fake_object *buckets[N_BUCKETS]; /* by handle */
    fake_object *primary[MAX_DEVICES];
    long long used_bytes[MAX_DEVICES];
    long long n_devices, version, cc, has_pools, has_peers, memory_bytes; /* set by the tests */
    int initialized, n_launches, n_launches_on[MAX_DEVICES];
    fake_launch last_launch;
    FILE *log_file;
} fake_state;

extern fake_state fake;
extern _Thread_local void *fake_chosen; /* the thread's context, which may be dead */
extern _Thread_local fake_object
    *fake_current; /* the same, or NULL; found anew by every call */

/* The code that this call must give, 0 for none; takes the mutex. */
int fake_enter(const char *name);
int fake_leave(int code); /* gives code */
/* A line of fake_cuda_order; event: or NULL. */
void fake_note(const char *what, const void *stream, const void *event);

/* Every call runs between BEGIN and fake_leave, under the mutex. A call that takes down goes on
 * after an injected failure, and gives that code at the end. */
#define BEGIN(name)                                                                            \
    int code = fake_enter(name);                                                               \
    if (code != SUCCESS)                                                                       \
    return fake_leave(code)
/* The same for calls that make something: where they fail, what they write is no handle. */
#define BEGIN_MAKING(name, out)                                                                \
    int code = fake_enter(name);                                                               \
    if (code != SUCCESS) {                                                                     \
        memset((out), 0x5a, sizeof *(out));                                                    \
        return fake_leave(code);                                                               \
    }
#define BEGIN_DOWN(name) int injected = fake_enter(name), code = SUCCESS
#define FAIL(error)                                                                            \
    do {                                                                                       \
        code = (error);                                                                        \
        goto done;                                                                             \
    } while (0)
#define NEED(condition, error)                                                                 \
    do {                                                                                       \
        if (!(condition))                                                                      \
            FAIL(error);                                                                       \
    } while (0)

fake_object *fake_find(fake_kind wanted, uintptr_t handle); /* NULL: none of that kind */
fake_object *fake_make(fake_kind wanted, int ordinal);      /* its handle is its address */
fake_object *fake_publish(fake_object *item);               /* found from now on; gives item */
void fake_take_down(fake_object *item);

int fake_new_memory(fake_kind wanted, int ordinal, size_t n_bytes, uintptr_t *out);
void fake_free_memory(fake_object *item);

/* The memory that holds this range, or NULL. */
fake_object *fake_holder(uintptr_t address, size_t n_bytes);

/* Whether memory of ours holds this range and the current context reaches it: page-locked and
 * managed memory, or its own device's. */
int fake_reaches(uintptr_t address, size_t n_bytes);

fake_object *fake_stream_of(void *handle); /* 0, 1 and 2 are the default streams */

/* What a call that works on a stream in the current context begins with. */
int fake_usable(void *stream);

/* Tells images apart in the log. */
unsigned long long fake_hash(const unsigned char *image, size_t n_bytes);

/* The parameters of a kernel in an image, into out's n_params, offsets and sizes. */
void fake_read_params(const unsigned char *image, const char *kernel, fake_launch *out);

#pragma GCC visibility pop
#endif
