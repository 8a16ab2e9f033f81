/* The keywords that only jit has, beside those of every generator. */
#ifndef LW_FORALL_JIT_OPTIONS_PY_H
#define LW_FORALL_JIT_OPTIONS_PY_H

#include "core/py/compiled/door_options.h"

typedef struct lw_jit_options {
    bool device;                          /* a function for kernels to call */
    bool cooperative;                     /* all blocks must be resident at once */
    bool bounds;                          /* boundscheck=True */
    uint32_t bound_threads, bound_blocks; /* launch_bounds; 0: none */
} lw_jit_options;

/* The keywords that every generator has (a new dict), with our own taken out into *options.
 * NULL with an exception. */
PyObject *lw_jit_options_read(PyObject *keywords, lw_jit_options *options);

#endif
