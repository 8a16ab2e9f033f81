/* static= of forall and jit, and members of enum classes: values that are compiled in. They are
 * part of the key of a specialisation, which is read from the user's function with these values
 * as defaults. The GIL is held. */
#ifndef LW_FORALL_STATIC_PY_H
#define LW_FORALL_STATIC_PY_H

#include "forall/kernel_py.h"

/* names: as lw_door_arguments has them, or NULL. -1 with an exception. */
int lw_function_name_statics(lw_function *self, PyObject *names);

static inline bool
lw_is_static(const lw_function *self, uint32_t arg)
{
    return arg < LW_MOST_ARRANGED && (self->statics >> arg & 1);
}

/* Whether it is a member of an enum class, which is static wherever it is an argument itself.
 */
bool lw_is_member(PyObject *object);

/* What stands for the value of argument number `arg` in a key: the same object for equal
 * constants of one type (borrowed: the function keeps it). NULL with an exception. */
PyObject *lw_static_entry(const lw_function *self, uint32_t arg, PyObject *value);
/* Reads the function for specialisation, whose arguments have these entries (NULL: not static
 * or left out) and objects of these classes (a list, or NULL): specialisation->tree. -1 with an
 * exception. */
int lw_specialisation_read_own(lw_specialisation *specialisation, PyObject *const *entries,
                               uint32_t n_args, PyObject *classes);
bool lw_specialisation_is_static(const lw_specialisation *specialisation, uint32_t param);
/* Adds "n=3". */
void lw_static_print(const lw_specialisation *specialisation, uint32_t param, lw_text *out);
/* Adds "3". Returns whether the parameter is static; if not, nothing is added. */
bool lw_static_print_value(const lw_specialisation *specialisation, uint32_t param,
                           lw_text *out);

#endif
