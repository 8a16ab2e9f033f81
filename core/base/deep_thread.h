/* Work on a thread of its own, with a stack far deeper than the caller's may be. LLVM, in each
 * of its guises (llvmlite, libNVVM, nvJitLink, NVRTC), recurses as deep as the code that it is
 * given is nested or long; and what runs on such a thread no Python handler of a signal can
 * interrupt, for Python runs these on its main thread alone. */
#ifndef LW_BASE_DEEP_THREAD_H
#define LW_BASE_DEEP_THREAD_H

#include "core/base/error.h"

typedef lw_status (*lw_deep_work)(void *context, lw_error *err);

/* Runs work(context, err) on such a thread, with the default floating-point environment, and
 * waits for its end. On the calling thread if that is one already, or where the system gives no
 * further thread. The caller holds neither the GIL nor a lock that the work needs. */
lw_status lw_run_deep(lw_deep_work work, void *context, lw_error *err);

#endif
