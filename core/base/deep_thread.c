/* Each piece of work gets a thread of its own instead of one that waits for the next piece:
 * starting it costs some 160 us (two-core x86 VM, -O2), where a compilation costs milliseconds,
 * and a fork or the end of the process finds no sleeping thread. */
#include "core/base/deep_thread.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* This is address space, of which only what is used becomes memory. Where there is not so much
 * (a limit on the address space), half of it is tried, and so on, down to what a main thread
 * has. */
enum { MOST_STACK_BYTES = 256 << 20, LEAST_STACK_BYTES = 8 << 20 };

typedef struct job {
    lw_deep_work work;
    void *context;
    lw_error *err;
    lw_status status;
} job;

static _Thread_local bool is_deep;

static void *
run(void *argument)
{
    job *j = argument;

    is_deep = true;
    fesetenv(FE_DFL_ENV); /* a thread starts with its creator's environment */
    j->status = j->work(j->context, j->err);
    return NULL;
}

static bool
start(pthread_t *thread, job *j, size_t stack_bytes)
{
    pthread_attr_t attributes;
    bool started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
              pthread_create(thread, &attributes, run, j) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* Blocks signals, which are for the program's own threads. Signals raised by a fault of the
 * thread itself are still delivered, so that a handler for them (Python's faulthandler) reports
 * where it happened. */
static bool
start_without_signals(pthread_t *thread, job *j)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    bool started = false;
    sigset_t blocked, before;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    for (size_t n = MOST_STACK_BYTES; !started && n >= LEAST_STACK_BYTES; n /= 2)
        started = start(thread, j, n);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

lw_status
lw_run_deep(lw_deep_work work, void *context, lw_error *err)
{
    job j = {work, context, err, LW_ERR_INTERNAL};
    pthread_t thread;

    if (is_deep || !start_without_signals(&thread, &j))
        return work(context, err);
    pthread_join(thread, NULL);
    /* When Python shuts down it ends threads that wait for its GIL, before they have a
     * result. */
    if (j.status == LW_ERR_INTERNAL)
        lw_fail(err, LW_ERR_INTERNAL, "the thread that compiles was ended");
    return j.status;
}
