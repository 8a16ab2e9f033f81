/* <stdatomic.h> (C17, 7.17) on clang's builtins, as far as the sources use it: see README.md.
 */
#ifndef LW_TIDY_STDATOMIC_H
#define LW_TIDY_STDATOMIC_H

typedef enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_consume = __ATOMIC_CONSUME,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;

typedef _Atomic(_Bool) atomic_bool;
typedef _Atomic(int) atomic_int;
typedef _Atomic(unsigned) atomic_uint;
typedef _Atomic(long) atomic_long;
typedef _Atomic(unsigned long) atomic_ulong;
typedef _Atomic(long long) atomic_llong;
typedef _Atomic(unsigned long long) atomic_ullong;
typedef _Atomic(__INT_FAST32_TYPE__) atomic_int_fast32_t;
typedef _Atomic(__INT_FAST64_TYPE__) atomic_int_fast64_t;
typedef _Atomic(__UINT_FAST32_TYPE__) atomic_uint_fast32_t;
typedef _Atomic(__UINT_FAST64_TYPE__) atomic_uint_fast64_t;
typedef _Atomic(__SIZE_TYPE__) atomic_size_t;
typedef _Atomic(__UINTPTR_TYPE__) atomic_uintptr_t;
typedef struct atomic_flag {
    atomic_bool value;
} atomic_flag;

#define ATOMIC_VAR_INIT(value) (value)
#define ATOMIC_FLAG_INIT                                                                       \
    {                                                                                          \
        0                                                                                      \
    }

#define atomic_init                __c11_atomic_init
#define atomic_thread_fence(order) __c11_atomic_thread_fence(order)
#define atomic_signal_fence(order) __c11_atomic_signal_fence(order)

#define atomic_load_explicit                    __c11_atomic_load
#define atomic_store_explicit                   __c11_atomic_store
#define atomic_exchange_explicit                __c11_atomic_exchange
#define atomic_compare_exchange_strong_explicit __c11_atomic_compare_exchange_strong
#define atomic_compare_exchange_weak_explicit   __c11_atomic_compare_exchange_weak
#define atomic_fetch_add_explicit               __c11_atomic_fetch_add
#define atomic_fetch_sub_explicit               __c11_atomic_fetch_sub
#define atomic_fetch_or_explicit                __c11_atomic_fetch_or
#define atomic_fetch_and_explicit               __c11_atomic_fetch_and

#define atomic_load(object)            __c11_atomic_load(object, __ATOMIC_SEQ_CST)
#define atomic_store(object, value)    __c11_atomic_store(object, value, __ATOMIC_SEQ_CST)
#define atomic_exchange(object, value) __c11_atomic_exchange(object, value, __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_strong(object, expected, value)                                \
    __c11_atomic_compare_exchange_strong(object, expected, value, __ATOMIC_SEQ_CST,            \
                                         __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_weak(object, expected, value)                                  \
    __c11_atomic_compare_exchange_weak(object, expected, value, __ATOMIC_SEQ_CST,              \
                                       __ATOMIC_SEQ_CST)
#define atomic_fetch_add(object, value) __c11_atomic_fetch_add(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_sub(object, value) __c11_atomic_fetch_sub(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_or(object, value)  __c11_atomic_fetch_or(object, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_and(object, value) __c11_atomic_fetch_and(object, value, __ATOMIC_SEQ_CST)

#endif
