/* Separate stacks for the threads that the simulator runs on one thread of the pool, and the
 * switch between them: a dozen instructions on x86-64 and AArch64, swapcontext elsewhere.
 *
 * A fiber runs until it switches to another one; it never returns from its function. Rounding
 * modes and exception flags belong to the pool's thread, and a switch leaves them unchanged. A
 * fiber may continue in another thread than it began in, once its former thread has left it.
 * Address and thread sanitizers are told of every switch. */
#ifndef LW_HOST_FIBER_H
#define LW_HOST_FIBER_H

#include <stddef.h>

typedef struct lw_fiber lw_fiber;
typedef void (*lw_fiber_function)(lw_fiber *self);

struct lw_fiber {
    void *sp; /* where it continues; with swapcontext: its ucontext_t */
    lw_fiber_function function;
    char *low; /* of its stack */
    size_t stack_bytes;
    void *sanitizer; /* address sanitizer's fake stack, or thread sanitizer's fiber */
};

/* Makes a fiber of the calling thread's own stack, to switch from and back to. */
void lw_fiber_home(lw_fiber *home);
/* Prepares a fiber whose first activation calls function(fiber). A fiber that will not continue
 * may be started again. low: page-aligned; what the stack held is lost. The fiber must be
 * zeroed before its first start. */
void lw_fiber_start(lw_fiber *fiber, char *low, size_t stack_bytes, lw_fiber_function function);
/* Called before its stack is unmapped, or used for something else. */
void lw_fiber_end(lw_fiber *fiber);
/* Leaves `from`, which is running, and continues in `to`; returns when somebody switches to
 * `from`. */
void lw_fiber_switch(lw_fiber *from, lw_fiber *to);

#endif
