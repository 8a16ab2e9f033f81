/* Calls of ufuncs and gufuncs that are remembered. A call on our own arrays, of the same
 * dtypes, shapes, strides and alignment as one before, goes straight to the launch: everything
 * between was decided, and checked, when it was first made. A door's entry begins with
 * lw_recalled and keeps what its launch needs; it holds nothing of Python. All with the GIL.
 *
 * Remembered are calls with one result and no keyword but out=, whose inputs are arrays, Python
 * floats and ints of 64 bits, and whose output is apart from them or one of them. Any other
 * takes the long way each time. */
#ifndef LW_PY_RECALL_H
#define LW_PY_RECALL_H

#include "core/device/module.h"
#include "core/py/array/args.h"

enum {
    LW_RECALL_KEPT = 4, /* entries of an object */
    LW_RECALL_PATIENCE =
        8,                /* every so many calls of other kinds one takes the oldest's place */
    LW_RECALL_INPUTS = 4, /* of a call */
    LW_RECALL_DIMS = 4,   /* of an array */
    LW_RECALL_ALIGN = 16  /* bytes: kernels make no wider accesses */
};

typedef struct lw_array_key {
    lw_device *device; /* NULL: a Python number; dtype f64 or i64 */
    int64_t shape[LW_RECALL_DIMS], strides[LW_RECALL_DIMS];
    uint8_t dtype, ndim, misaligned;
} lw_array_key;

/* The key of an own array of at most LW_RECALL_DIMS dimensions. */
lw_array_key lw_array_key_of(const lw_operand *operand);
bool lw_array_key_is(const lw_array_key *key, const lw_device_array *array);

/* A call that comes, taken apart; borrowed. */
typedef struct lw_recall_request {
    int n; /* inputs */
    PyObject *input[LW_RECALL_INPUTS];
    uint8_t kind[LW_RECALL_INPUTS];   /* lw_operand_kind */
    lw_value value[LW_RECALL_INPUTS]; /* of a number */
    lw_device_array *out;             /* NULL: to be made */
} lw_recall_request;

typedef struct lw_recalled {
    struct lw_recalled *next;
    bool busy;      /* under way, and the GIL may have been given up meanwhile */
    bool gone;      /* what it says holds no longer */
    uint8_t missed; /* in the latest: calls since then that were not remembered */
    int n;          /* inputs */
    bool has_out;
    bool is_out[LW_RECALL_INPUTS]; /* the input is the output */
    lw_array_key input[LW_RECALL_INPUTS], result;
    lw_device *device;
    const lw_image *image; /* of the kernel; the door's object holds it */
} lw_recalled;

/* What a door does with an entry of its own. */
typedef struct lw_recall_door {
    /* Addresses and numbers of this call. -1 with an exception. */
    int (*fill)(lw_recalled *entry, const lw_recall_request *r, const lw_device_array *result);
    /* On the default stream of a device that was visited, behind the arrays' earlier users. */
    lw_status (*launch)(lw_recalled *entry, lw_error *err);
} lw_recall_door;

/* 1: done as an entry says, *result is new or NULL with an exception; 0: the call is not
 * remembered, nothing has happened. nin: how many inputs the door's object takes. */
int lw_recall_call(lw_recalled *latest, const lw_recall_door *door, int nin,
                   PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
                   PyObject **result);

/* Whether there is room for one more, or it has been long enough. */
bool lw_recall_wants(lw_recalled *latest);
/* Input i, a number, as an item of this dtype. -1 with an exception. */
int lw_recall_item(const lw_recall_request *r, int i, lw_dtype dtype, lw_value *out);

/* Whether a call of these operands, inputs and one output, can be remembered. made: the
 * output, where it was not given. Fills the entry. */
bool lw_recall_fill(lw_recalled *entry, const lw_operand *operands, int n,
                    const lw_device_array *made);
/* An entry of so many bytes that begins so, unset behind that, in front of the others; the
 * oldest makes place. NULL: there is no room, or there is one for these calls. */
lw_recalled *lw_recall_place(lw_recalled **latest, size_t size_bytes, const lw_recalled *head);
/* No entry is found any more. */
void lw_recall_forget(lw_recalled *latest);
void lw_recall_free(lw_recalled *latest); /* NULL is allowed */

#endif
