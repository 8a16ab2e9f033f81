/* Runs work on a thread of its own, whose stack is far deeper than the caller's may be. LLVM in
 * each of its forms (llvmlite, libNVVM, nvJitLink, NVRTC) recurses as deep as the code is
 * nested or long. Python runs signal handlers on its main thread only, so none can interrupt
 * work on such a thread. */
#ifndef LW_BASE_DEEP_THREAD_H
#define LW_BASE_DEEP_THREAD_H

#include "core/base/error.h"

typedef lw_status (*lw_deep_work)(void *context, lw_error *err);

/* Runs work(context, err) on such a thread, with the default floating-point environment, and
 * waits for its end. It runs on the calling thread if that is one already, or where the
 * system provides no further thread. The caller holds neither the GIL nor a lock that the
 * work needs. */
lw_status lw_run_deep(lw_deep_work work, void *context, lw_error *err);

#endif
