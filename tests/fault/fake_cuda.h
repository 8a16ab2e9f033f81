/* The controls of the fake driver (fake_*.c), found in it by dlsym. The environment sets the
 * same things when it is loaded:
 *
 *   FAKE_CUDA_DEVICES=1          number of devices
 *   FAKE_CUDA_VERSION=13000      as the driver says
 *   FAKE_CUDA_CC=90              compute capability
 *   FAKE_CUDA_MEMORY=...         bytes a device
 *   FAKE_CUDA_POOLS=1            stream-ordered allocation
 *   FAKE_CUDA_PEERS=1            devices can reach each other's memory
 *   FAKE_CUDA_GETPROC=1          0: refuses to answer
 *   FAKE_CUDA_ABSENT=cuA,cuB     calls that do not exist
 *   FAKE_CUDA_FAIL=cuA:2:700     the 2nd cuA gives 700
 *   FAKE_CUDA_LOG=-|path         one line a call
 *   FAKE_CUDA_REPORT=1           live counts at exit
 *   CUDA_VISIBLE_DEVICES=1,0     read by cuInit, as the driver reads it
 *
 * Work of one device with memory, a stream, an event or a kernel of another is an error; only
 * copies between peers name two.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>

typedef struct fake_launch {
    char name[256];
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    int n_params; /* as the image's .nv.info says; -1: it does not say */
    int together; /* a cooperative launch was asked for */
    /* the parameters' values, each at its offset */
    unsigned n_bytes;
    unsigned char values[4096];
    unsigned offsets[64], sizes[64];
} fake_launch;

/* The nth call from now of this name ("" or NULL: of any) gives the code, once. Calls that take
 * something down (Destroy, Free, Unload, Release) do their work all the same. nth 0: off. */
void fake_cuda_fail(const char *name, int nth, int code);
/* Did it? And what was the call's name? */
int fake_cuda_failed(void);
const char *fake_cuda_failed_name(void);
void
fake_cuda_absent(const char *names); /* comma-separated; from the next cuGetProcAddress on */
void fake_cuda_set(const char *what, long long value); /* "devices", "version", ... as above */
/* Things made and not yet taken down: "memory", "host", "streams", "events", "modules",
 * "contexts" (retained primary ones), "pools", or "" for all. */
int fake_cuda_live(const char *kind);
long long fake_cuda_used_bytes(int ordinal);
/* How often a call was made since the last reset ("" or NULL: all together). */
int fake_cuda_calls(const char *name);
void fake_cuda_reset_calls(void);
int fake_cuda_n_launches(void);
int fake_cuda_n_launches_on(int ordinal);    /* of one device */
int fake_cuda_last_launch(fake_launch *out); /* 0 when there was none */
/* Streams that say that they capture; allocation and freeing on them is then an error. */
void fake_cuda_set_capturing(void *stream, int capturing);
/* All that was captured is gone: what the graphs retained is destroyed. */
void fake_cuda_destroy_graphs(void);
/* Work on the stream is (not) done: what queries answer. */
void fake_cuda_set_busy(void *stream, int busy);
/* The calls since the last reset, one "cuName" a line, at most about 64 KB. */
const char *fake_cuda_log(void);
/* What was put on streams since then, a line each: "record", "wait", "copy" or "launch", the
 * stream, and the event or 0, both in hexadecimal digits. */
const char *fake_cuda_order(void);

#endif
