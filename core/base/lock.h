/* A mutex that never waits while Python runs under it: holders call no Python. */
#ifndef LW_BASE_LOCK_H
#define LW_BASE_LOCK_H

#include <pthread.h>

typedef pthread_mutex_t lw_lock;
#define LW_LOCK_INIT PTHREAD_MUTEX_INITIALIZER

static inline void
lw_lock_take(lw_lock *lock)
{
    pthread_mutex_lock(lock);
}

static inline void
lw_lock_give(lw_lock *lock)
{
    pthread_mutex_unlock(lock);
}

#endif
