/* What a kernel raised, as a Python exception. */
#ifndef LW_PY_RAISE_ROW_H
#define LW_PY_RAISE_ROW_H

#include <Python.h>

#include "core/front/lower/lower.h"
#include "core/ir/report.h"

/* Where: an element of a ufunc, an index of a forall space, a thread of a kernel, or nowhere
 * in particular: the call of a function. */
typedef struct lw_raise_place {
    enum { LW_AT_ELEMENT, LW_AT_INDEX, LW_AT_THREAD, LW_AT_CALL } kind;
    uint32_t ndim; /* INDEX: 1 … 3 */
    int64_t index[3];
    uint32_t thread[3], block[3];   /* x, y, z */
    uint64_t words[LW_RAISE_WORDS]; /* what the exception carries, where row->format is not 0 */
    size_t heap_bytes;              /* of the GPU on which it was raised; 0: on the host */
} lw_raise_place;

/* Class, message, function, file, line and place, the last four also as the attributes
 * `function`, `file`, `line`, and `element`, `index`, or `thread` and `block`.
 * row: NULL raises LanewiseError, which says that the kernel's result is damaged.
 * Always -1; the GIL is held. */
int lw_raise_at(const lw_raise_row *row, const lw_raise_place *place);
/* The row of a status that was read from memory which a GPU writes. NULL: it stands for none,
 * since the memory was overwritten or never written. */
const lw_raise_row *lw_raise_row_at(const lw_raise_row *rows, uint32_t n_rows, int32_t status);

#endif
