/* What a compiled function captured may be bound to something else later, and the setting
 * `check` may change. Until something is compiled the function is read again. From then on
 * calls go to an object made anew of the same Python function and the same keywords; the old
 * one keeps its code, for calls that are under way and for the day when the old value comes
 * back. */
#ifndef LW_PY_RENEW_H
#define LW_PY_RENEW_H

#include "core/py/compiled/compiled.h"

/* Whether calls need another object. A few ns where nothing has changed. */
static inline bool
lw_compiled_is_stale(const lw_compiled *self)
{
    return lw_door_checks_changed(&self->options) ||
           (self->settled && self->captures != NULL && lw_captures_changed(self->captures));
}

/* Before anything is compiled: reads the function again where what it captured has changed. 1
 * where it did, -1 with an exception. The caller is in a critical section on the object. */
int lw_compiled_read_again(lw_compiled *self);
/* Whether a stale object goes on as it is: 1 where only contents have changed that are too
 * large to be compared at each call, and a RuntimeWarning (W204) has told of it, unless
 * warn=False; they stay as they were compiled. -1 with an exception. */
int lw_compiled_frozen(lw_compiled *self);
/* Who takes a call of a stale object: a new reference to itself, if it goes on as it is, or to
 * one that is not stale. NULL with an exception. */
PyObject *lw_compiled_stale(lw_compiled *self);
/* The same of one that does not go on. With typing="numba" it does, with a RuntimeWarning once
 * unless warn=False (but where the setting `check` has changed, too). */
PyObject *lw_compiled_renewed(lw_compiled *self);
/* While a part of the function is made, the captured numbers that have become operands are so
 * in the part, too. Enter and leave in one function. */
typedef struct lw_operand_scope {
    PyObject *names, *outer;
} lw_operand_scope;

lw_operand_scope lw_compiled_enter_operands(lw_compiled *self);
void lw_compiled_leave_operands(lw_operand_scope *scope);
/* Who takes a call. */
PyObject *lw_compiled_current(lw_compiled *self);
/* Lets captures compare NumPy's arrays; once, when the module is loaded. */
void lw_renew_register(void);

#endif
