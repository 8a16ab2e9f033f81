/* The thread that compilers run on: how deep its stack is, what it does not take over from its
 * creator, and that there is an answer where no such thread can be had. */
#include "core/base/deep_thread.h"
#include "tests/c/check.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef struct seen {
    pthread_t thread;
    bool interrupts_blocked, faults_blocked;
    int rounding, deep;
} seen;

/* n frames of a KB each. */
static int
recurse(int n)
{
    volatile char frame[1024];

    memset((char *)frame, n & 1, sizeof frame);
    return n == 0 ? 0 : recurse(n - 1) + 1 + frame[n % 1024] - (n & 1);
}

static lw_status
look(void *context, lw_error *err)
{
    seen *s = context;
    sigset_t blocked;

    (void)err;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    s->thread = pthread_self();
    s->interrupts_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGALRM);
    s->faults_blocked = sigismember(&blocked, SIGSEGV);
    s->rounding = fegetround();
    return LW_OK;
}

static lw_status
go_deep(void *context, lw_error *err)
{
    seen *s = context;

    (void)err;
    s->deep = recurse(64 << 10); /* 64 MB and more */
    return LW_OK;
}

static lw_status
fail_there(void *context, lw_error *err)
{
    (void)context;
    return lw_fail(err, LW_ERR_COMPILE, "refused %d", 7);
}

static lw_status
nest(void *context, lw_error *err)
{
    seen inner, *s = context;

    (void)look(s, err);
    CHECK(lw_run_deep(look, &inner, err) == LW_OK && pthread_equal(inner.thread, s->thread));
    return LW_OK;
}

static void
test_thread(void)
{
    sigset_t before, after;
    lw_error err = {0};
    seen s = {0};

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    fesetround(FE_UPWARD);
    CHECK(lw_run_deep(look, &s, &err) == LW_OK);
    CHECK(!pthread_equal(s.thread, pthread_self()));
    CHECK(s.interrupts_blocked && !s.faults_blocked);
    CHECK(s.rounding == FE_TONEAREST && fegetround() == FE_UPWARD);
    fesetround(FE_TONEAREST);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&before, SIGINT) == sigismember(&after, SIGINT));
    CHECK(lw_run_deep(go_deep, &s, &err) == LW_OK && s.deep == 64 << 10);
    CHECK(lw_run_deep(nest, &s, &err) == LW_OK);
    CHECK(lw_run_deep(fail_there, NULL, &err) == LW_ERR_COMPILE);
    CHECK(strcmp(lw_error_text(&err), "refused 7") == 0);
    lw_error_reset(&err);
}

/* Too little address space for the deep stack: a smaller one, or none; never a failure. */
static void
test_limits(void)
{
#if !defined(__SANITIZE_ADDRESS__) /* which takes terabytes of address space itself */
    struct rlimit before, limit;
    lw_error err = {0};
    seen s;

    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    for (rlim_t megabytes = 256; megabytes >= 4; megabytes /= 2) {
        limit = before;
        limit.rlim_cur = megabytes << 20;
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        s = (seen){.rounding = -1};
        CHECK(lw_run_deep(look, &s, &err) == LW_OK && s.rounding == FE_TONEAREST);
        CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    }
#endif
}

int
main(void)
{
    test_thread();
    test_limits();
    return n_failures != 0;
}
