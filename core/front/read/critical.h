/* What the GIL guards elsewhere, on a Python without it: critical sections on an object, and a
 * lock for what belongs to no object. With the GIL both are nothing.
 *
 * A critical section ends for as long as its thread is detached (Py_BEGIN_ALLOW_THREADS, a wait
 * for another lock of Python's), as the GIL does: what holds before a call that may detach, a
 * compile or Python's code, is looked at again behind it. So sections never wait for each other
 * in a circle. They do not nest in one function, and are left at their end only. */
#ifndef LW_FRONT_READ_CRITICAL_H
#define LW_FRONT_READ_CRITICAL_H

#include <Python.h>

#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION()         }
#endif

/* Zeroed: free. Held for moments; its holder calls nothing that could ask for it again. Who
 * waits for it is detached. */
typedef struct lw_py_mutex {
#ifdef Py_GIL_DISABLED
    PyMutex mutex;
#else
    char unused;
#endif
} lw_py_mutex;

static inline void
lw_py_mutex_take(lw_py_mutex *lock)
{
#ifdef Py_GIL_DISABLED
    PyMutex_Lock(&lock->mutex);
#else
    (void)lock;
#endif
}

static inline void
lw_py_mutex_give(lw_py_mutex *lock)
{
#ifdef Py_GIL_DISABLED
    PyMutex_Unlock(&lock->mutex);
#else
    (void)lock;
#endif
}

#endif
