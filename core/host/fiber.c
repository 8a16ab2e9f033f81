/* The switch between fibers. It saves what the System V ABIs preserve across a call: rbx, rbp
 * and r12 to r15 (AMD64 supplement 1.0, section 3.2.1); x19 to x29 and d8 to d15 (AAPCS64,
 * 6.1). Most of these are only named as clobbered, so that the compiler saves those that its
 * function must. The switch ends in a jump and not in a return, so that calls and returns stay
 * paired for the processor's return predictor. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "core/host/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HAS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Each architecture adds raw_switch (leave `from`, enter `to`) and raw_start (write the
 * frame from which the first raw_switch continues; it enters `begin` with the fiber as its
 * argument). */
static void begin(lw_fiber *self);

#if defined(__GNUC__) && !defined(__clang__)
#define OPAQUE __attribute__((noinline, noipa)) /* callers must not learn what it clobbers */
#else
#define OPAQUE __attribute__((noinline))
#endif

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(LW_FIBER_UCONTEXT)

static OPAQUE void
raw_switch(lw_fiber *from, lw_fiber *to)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* over the red zone */
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "movq %%rsp, (%%rsi)\n\t"
                     "movq (%%rdi), %%rsp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax\n"
                     "1:\n\t"
                     ".byte 0xf3, 0x0f, 0x1e, 0xfa\n\t" /* endbr64 */
                     "popq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp"
                     : "+S"(from), "+D"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13",
                       "r14", "r15", "cc", "memory");
}

static void
raw_start(lw_fiber *fiber)
{
    uintptr_t top = ((uintptr_t)fiber->low + fiber->stack_bytes) & ~(uintptr_t)15;
    void **sp = (void **)top;

    *--sp = NULL; /* the return address: a backtrace ends here */
    *--sp = (void *)(uintptr_t)begin;
    fiber->sp = sp;
}

#elif defined(__aarch64__) && !defined(LW_FIBER_UCONTEXT)

static OPAQUE void
raw_switch(lw_fiber *from, lw_fiber *to)
{
    register lw_fiber *target __asm__("x0") = to;
    register lw_fiber *source __asm__("x1") = from;

    __asm__ volatile("adr x9, 1f\n\t"
                     "stp x29, x9, [sp, #-16]!\n\t"
                     "mov x10, sp\n\t"
                     "str x10, [x1]\n\t"
                     "ldr x10, [x0]\n\t"
                     "mov sp, x10\n\t"
                     "ldp x29, x16, [sp], #16\n\t"
                     "br x16\n"
                     "1:\n\t"
                     "hint #36" /* bti j */
                     : "+r"(target), "+r"(source)
                     :
                     : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22", "x23",
                       "x24", "x25", "x26", "x27", "x28", "x30", "v8", "v9", "v10", "v11",
                       "v12", "v13", "v14", "v15", "cc", "memory");
}

static void
raw_start(lw_fiber *fiber)
{
    uintptr_t top = ((uintptr_t)fiber->low + fiber->stack_bytes) & ~(uintptr_t)15;
    void **sp = (void **)top;

    *--sp = (void *)(uintptr_t)begin;
    *--sp = NULL; /* x29: a backtrace ends here */
    fiber->sp = sp;
}

#else

#include <ucontext.h>

/* A fiber's ucontext_t is at the low end of its stack, the home's in static memory of its
 * thread. */
static _Thread_local ucontext_t home_context;

static OPAQUE void
raw_switch(lw_fiber *from, lw_fiber *to)
{
    if (from->function == NULL) /* the home, which may have moved */
        from->sp = &home_context;
    swapcontext(from->sp, to->sp);
}

static void
enter(unsigned high, unsigned low)
{
    begin((lw_fiber *)(uintptr_t)((uint64_t)high << 32 | low));
}

static void
raw_start(lw_fiber *fiber)
{
    ucontext_t *context = (ucontext_t *)fiber->low;
    uint64_t address = (uint64_t)(uintptr_t)fiber;
    size_t taken = (sizeof *context + 63) & ~(size_t)63;

    fiber->sp = context;
    getcontext(context);
    context->uc_link = NULL;
    context->uc_stack.ss_sp = fiber->low + taken;
    context->uc_stack.ss_size = fiber->stack_bytes - taken;
    makecontext(context, (void (*)(void))(uintptr_t)enter, 2, (unsigned)(address >> 32),
                (unsigned)address);
}

#endif

/* ---- with the sanitizers ---- */

/* The first thing that runs on a new stack. */
static void
begin(lw_fiber *self)
{
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    self->function(self);
    assert(!"a fiber's function does not return");
    __builtin_trap();
}

#ifdef HAS_ASAN
/* Asked once, because for a main thread the system reads the list of all mappings. */
static void
find_stack(lw_fiber *home)
{
    static _Thread_local size_t n_bytes;
    static _Thread_local void *low;
    pthread_attr_t attributes;

    if (n_bytes == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &n_bytes);
        pthread_attr_destroy(&attributes);
    }
    home->low = low;
    home->stack_bytes = n_bytes;
}
#endif

void
lw_fiber_home(lw_fiber *home)
{
    memset(home, 0, sizeof *home);
#ifdef HAS_ASAN
    find_stack(home);
#endif
#ifdef HAS_TSAN
    home->sanitizer = __tsan_get_current_fiber();
#endif
}

void
lw_fiber_start(lw_fiber *fiber, char *low, size_t stack_bytes, lw_fiber_function function)
{
    lw_fiber_end(fiber);
    fiber->low = low;
    fiber->stack_bytes = stack_bytes;
    fiber->function = function;
#ifdef HAS_ASAN
    ASAN_UNPOISON_MEMORY_REGION(low, stack_bytes);
#endif
#ifdef HAS_TSAN
    fiber->sanitizer = __tsan_create_fiber(0);
#endif
    raw_start(fiber);
}

void
lw_fiber_end(lw_fiber *fiber)
{
#ifdef HAS_ASAN
    if (fiber->low != NULL)
        ASAN_UNPOISON_MEMORY_REGION(fiber->low, fiber->stack_bytes);
#endif
#ifdef HAS_TSAN
    if (fiber->sanitizer != NULL)
        __tsan_destroy_fiber(fiber->sanitizer);
#endif
    fiber->sanitizer = NULL;
}

void
lw_fiber_switch(lw_fiber *from, lw_fiber *to)
{
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(&from->sanitizer, to->low, to->stack_bytes);
#endif
#ifdef HAS_TSAN
    __tsan_switch_to_fiber(to->sanitizer, 0);
#endif
    raw_switch(from, to);
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(from->sanitizer, NULL, NULL);
#endif
}
