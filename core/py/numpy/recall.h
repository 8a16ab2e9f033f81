/* Device calls of ufuncs and gufuncs that are remembered. A call on arrays of the same
 * dtypes, shapes, strides and alignment as one before, goes straight to the launch, whose
 * record gets the new addresses and numbers: everything between was decided, and checked, when
 * the call was first made. Entries hold nothing of Python, and change in a critical section on
 * the ufunc.
 *
 * Remembered are calls with one result and no keyword but out=, whose inputs are arrays of
 * ours, of CuPy or of PyTorch, Python floats and ints of 64 bits, and whose output is apart
 * from them or one of them. Any other takes the long way each time. */
#ifndef LW_PY_RECALL_H
#define LW_PY_RECALL_H

#include "core/py/array/array_key.h"
#include "core/py/numpy/device_call.h"

enum { LW_RECALL_INPUTS = 4 /* of a call */ };

typedef struct lw_recalled {
    struct lw_recalled *next;
    bool busy;      /* under way; the critical section may have been left meanwhile */
    bool gone;      /* the loops have changed since: it is not used any more */
    uint8_t missed; /* in the latest: calls since then that were not remembered */
    bool has_out;
    bool is_out[LW_RECALL_INPUTS];         /* the input is the output */
    uint8_t library[LW_RECALL_INPUTS + 1]; /* lw_array_library, of inputs and output */
    int n;                                 /* inputs */
    lw_array_key input[LW_RECALL_INPUTS], result;
    uint8_t number[LW_RECALL_INPUTS + 1]; /* the loop's dtypes, which numbers are passed in */
    int64_t offset[LW_RECALL_INPUTS + 1]; /* from an array's address to where the walk begins */
    lw_device *device;
    const lw_image *image;   /* of the kernel; the ufunc holds it */
    lw_launch_record record; /* last: as long as it is used */
} lw_recalled;

/* Whether there is any; asked without a critical section. */
static inline bool
lw_recall_any(const lw_ufunc_head *self)
{
    return __atomic_load_n(&self->recalled, __ATOMIC_RELAXED) != NULL;
}

/* 1: done as an entry says, *result is new or NULL with an exception; 0: the call is not
 * remembered, nothing has happened. */
int lw_recall_call(const lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                   PyObject *kwnames, PyObject **result);
/* The call, which was launched by this record, if it is one to remember. */
void lw_recall_remember(const lw_device_call *call, const lw_launch_record *record,
                        const lw_image *image);
/* No entry is found any more. */
void lw_recall_forget(lw_recalled *latest);
void lw_recall_free(lw_recalled *latest); /* NULL is allowed */

#endif
