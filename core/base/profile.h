/* What lanewise.profile() measures: calls, compilations and kernels, as a list of events with
 * totals beside it. Any number of profiles may be open, in any threads; they read the same
 * list, each from where it stood when it began. While none is open, a call asks one flag, and
 * nothing is stored. No function needs the GIL. */
#ifndef LW_BASE_PROFILE_H
#define LW_BASE_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the work of a call was done. */
enum { LW_PROFILE_CPU, LW_PROFILE_CUDA, LW_PROFILE_PYTHON, LW_N_PROFILE_TARGETS };
enum { LW_PROFILE_CALL, LW_PROFILE_COMPILE, LW_PROFILE_KERNEL }; /* of events */

typedef struct lw_profile_event { /* lanewise/_profile.py knows this layout */
    int64_t start_ns, duration_ns, n_bytes;
    uint32_t row, thread;  /* thread: the system's number; of a kernel the device's */
    uint32_t kind, target; /* of a compilation, target says nothing */
} lw_profile_event;

/* Of one row on one target; lanewise/_profile.py knows this layout. */
typedef struct lw_profile_totals {
    int64_t calls, failed, kernels;
    int64_t compile_ns, call_ns, kernel_ns; /* call_ns without compile_ns */
    int64_t n_bytes;
} lw_profile_totals;

/* A call under way; those of a thread form a list. */
typedef struct lw_profile_frame {
    struct lw_profile_frame *outer;
    const void *object; /* what was called, and whose function it runs */
    const void *function;
    bool entered; /* the object has been called again, to do the work */
    bool in_python;
    uint32_t row, n_launches, generation;
    int64_t start_ns, compiled_ns, n_bytes;
    const void *args; /* for whoever counts the bytes */
    int64_t n_args;
} lw_profile_frame;

/* Row 0 is for work outside of calls. */
enum { LW_PROFILE_NO_CALL = 0 };

extern atomic_int lw_profile_users; /* profiles that are open */

static inline bool
lw_profiling(void)
{
    return __builtin_expect(atomic_load_explicit(&lw_profile_users, memory_order_relaxed) != 0,
                            0);
}

/* A profile begins or ends. The first one forgets what was measured before. */
void lw_profile_open(void);
void lw_profile_close(void);

/* The calling thread's innermost call, or NULL. */
lw_profile_frame *lw_profile_top(void);
/* A call begins: the frame has object, function, row and n_bytes. */
void lw_profile_push(lw_profile_frame *frame);
/* It ends. */
void lw_profile_pop(lw_profile_frame *frame, bool failed);
/* Adds an event; a kernel's is added to its row's totals too. */
void lw_profile_add(const lw_profile_event *event);

/* Around everything that is compiled, with any nesting. Time counts for the outermost. */
int64_t lw_compile_begin(void);
void lw_compile_end(int64_t begun);

/* Copies what there is: up to `most` events from number `first` on. Returns how many. */
uint32_t lw_profile_events(uint32_t first, uint32_t most, lw_profile_event *out);
uint32_t lw_profile_n_events(void);
/* How many events had no room. */
uint64_t lw_profile_n_lost(void);
/* Of a row, on all targets. */
void lw_profile_totals_of(uint32_t row, lw_profile_totals out[LW_N_PROFILE_TARGETS]);

/* NVIDIA's ranges: pushes one with each call, and pops it, through these functions; NULL: no
 * more. */
typedef int (*lw_range_push)(const char *name);
typedef int (*lw_range_pop)(void);
void lw_profile_ranges(lw_range_push push, lw_range_pop pop);
/* Begins and ends a range around a call. Does nothing where there are no such functions. */
void lw_profile_range_begin(const char *name);
void lw_profile_range_end(void);

#endif
