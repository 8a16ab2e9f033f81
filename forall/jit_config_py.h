/* The shape of a launch as numba writes it: kernel[grid, block, stream, sharedmem]. */
#ifndef LW_FORALL_JIT_CONFIG_PY_H
#define LW_FORALL_JIT_CONFIG_PY_H

#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "core/device/launch.h"

/* Reads the key of kernel[key]: (grid, block[, stream[, sharedmem]]). *stream_object: what the
 * user gave for the stream (borrowed from key) or NULL. -1 with a ValueError or TypeError that
 * names the part, what was expected and what was given. */
int lw_jit_config_read(PyObject *key, lw_launch_shape *out, PyObject **stream_object);
/* Reads an int from 0 to `most`; what: its name in messages. -1 with an exception. */
int lw_jit_count_read(PyObject *value, const char *what, int64_t most, int64_t *out);

#endif
