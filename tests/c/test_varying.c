/* Captured numbers whose value changes while other threads read them (core/front/varying). */
#include "core/front/varying.h"

#include "tests/c/check.h"

#include <pthread.h>

enum { N_CHANGES = 200000 };

typedef struct changed {
    lw_varying *of;
    bool all_taken;
} changed;

static lw_constant
both(double x)
{
    return (lw_constant){.kind = LW_K_COMPLEX, .dtype = LW_DT_c128, .d = x, .im = x};
}

static void *
change(void *argument)
{
    changed *c = argument;

    c->all_taken = true;
    for (int i = 0; i < N_CHANGES; i++) {
        const lw_constant value = both(i % 2 ? 1.0 : 2.0);
        c->all_taken &= lw_varying_set(c->of, &value);
    }
    return NULL;
}

/* The parts of a complex number are those of one value, never of two. */
static void
test_a_value_is_read_as_a_whole(void)
{
    lw_varyings *all = lw_varyings_new();
    lw_constant k = both(1.0);
    changed c = {.of = all ? lw_varying_new(all, &k) : NULL};
    pthread_t thread;
    int n_torn = 0;

    CHECK(c.of != NULL);
    if (c.of == NULL)
        return;
    k.varying = c.of;
    CHECK(pthread_create(&thread, NULL, change, &c) == 0);
    for (int i = 0; i < N_CHANGES; i++) {
        const lw_constant now = lw_varying_now(&k);
        n_torn += now.d != now.im;
        CHECK(lw_varying_like(c.of).kind == LW_K_COMPLEX);
    }
    pthread_join(thread, NULL);
    CHECK(c.all_taken && n_torn == 0);
    CHECK(lw_varying_fix(&k)->d == 1.0 && !lw_varying_set(c.of, &(lw_constant){0}));
    lw_varyings_free(all);
}

int
main(void)
{
    test_a_value_is_read_as_a_whole();
    return n_failures != 0;
}
