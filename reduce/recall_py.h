/* The latest calls on our own device arrays. One of the same dtypes, shapes, strides, alignment
 * and axis goes straight to the launch: everything between was decided, and checked, when it
 * was first made. What may be remembered has one result, and no keywords but axis= and out=; a
 * call with others, or on other libraries' arrays, takes the long way each time.
 *
 * An entry holds nothing of Python. It is made by the long way, after its launch. */
#ifndef LW_REDUCE_RECALL_PY_H
#define LW_REDUCE_RECALL_PY_H

#include "reduce/device/device_plan.h"
#include "reduce/device/scan_plan.h"
#include "reduce/device_parts_py.h"

/* r(*args, …), or with LW_RECALL_ACCUMULATE r.accumulate(*args, …). 1: done, *result is new or
 * NULL with an exception; 0: it is not remembered, nothing has happened. */
int lw_reduce_recall(lw_reducer *self, int which, PyObject *const *args, Py_ssize_t n_args,
                     PyObject *kwnames, PyObject **result);
/* axis= (LW_REDUCE_NO_AXIS: all) and dtype= (void: not given), in their usual spellings. False:
 * another one, which the long way reads. */
enum { LW_REDUCE_NO_AXIS = INT32_MIN };
bool lw_reduce_recalled_axis(PyObject *axis, int64_t *out);
bool lw_reduce_recalled_dtype(PyObject *dtype, lw_dtype *out);
/* Whether a keyword of a reduction says what leaving it out says. */
bool lw_reduce_says_nothing(PyObject *name, PyObject *value);
/* The call, which was launched so, if it is one to remember. */
void lw_reduce_remember_job(lw_reduce_device *d, lw_reduce_entry *entry,
                            const lw_reduce_plan *plan);
void lw_reduce_remember_scan(lw_reduce_device *d, lw_reduce_entry *entry,
                             const lw_reduce_scan_plan *plan, const lw_reduce_scan *scan);
void lw_reduce_recalls_free(struct lw_reduce_recall *latest); /* NULL is allowed */

/* Of device_py.c and scan_py.c: the launch, on a device that was visited, behind the operands'
 * earlier users. memory: gets what the kernel needs, if it needs any. */
lw_status lw_reduce_launch_job(lw_reduce_entry *entry, const lw_reduce_plan *plan,
                               const lw_reduce_job *job, CUstream stream, lw_block **memory,
                               lw_error *err);
lw_status lw_reduce_launch_scan(const lw_reduce_entry *entry, const lw_reduce_scan_plan *plan,
                                const lw_reduce_scan *scan, CUstream stream, lw_block **memory,
                                lw_error *err);

#endif
