/* An argument that is a whole array beside operands that broadcast: excluded= of vectorize.
 *
 *     lw_whole_array array;
 *     if (lw_whole_array_read(&array, object, function, parameter) < 0) -> exception set
 *     …
 *     lw_whole_array_release(&array); */
#ifndef LW_PY_WHOLE_ARRAY_H
#define LW_PY_WHOLE_ARRAY_H

#include "core/front/typed.h"
#include "core/py/array/args.h"

enum { LW_WHOLE_WORDS = 1 + 2 * LW_MAX_ARRAY_DIMS };

typedef struct lw_whole_array {
    PyObject *object;  /* borrowed */
    lw_device *device; /* NULL: host memory */
    lw_arg_spec spec;
    bool narrow; /* every byte offset inside it fits 31 bits */
    lw_memory_span span;
    uint32_t n_words; /* address, extents, strides in bytes: what a value of its type is … */
    uint64_t words[LW_WHOLE_WORDS]; /* … to compiled code (core/front/types.h) */
    lw_operand operand;
} lw_whole_array;

/* The dtype must be one that compiled code knows, aligned and in native byte order. -1 with a
 * TypeError or ValueError that names function and parameter. */
int lw_whole_array_read(lw_whole_array *out, PyObject *object, const char *function,
                        const char *parameter);
void lw_whole_array_release(lw_whole_array *array);
/* Bytes that tell its type from others, for keys of specialisations; at most 16. */
uint32_t lw_whole_array_key(const lw_whole_array *array, uint8_t *out);

/* The addresses that an array of NumPy's covers. */
lw_memory_span lw_numpy_span(PyArrayObject *array);
/* The same for an array on host or device; false: it is no array, or an exception
 * is set. */
bool lw_array_span(PyObject *object, lw_memory_span *span);

#endif
