/* A mutex whose holders do not call Python, so that nobody waits for it while Python runs. */
#ifndef LW_BASE_LOCK_H
#define LW_BASE_LOCK_H

#include <pthread.h>

typedef pthread_mutex_t lw_lock;
#define LW_LOCK_INIT PTHREAD_MUTEX_INITIALIZER

static inline void
lw_lock_init(lw_lock *lock)
{
    pthread_mutex_init(lock, NULL);
}

static inline void
lw_lock_end(lw_lock *lock)
{
    pthread_mutex_destroy(lock);
}

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
