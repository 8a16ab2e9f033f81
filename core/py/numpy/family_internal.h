/* What family.c (parameters, signatures, members) and family_call.c (calls) share. */
#ifndef LW_PY_FAMILY_INTERNAL_H
#define LW_PY_FAMILY_INTERNAL_H

#include "core/py/numpy/family.h"

/* One call, arranged. */
typedef struct lw_family_args {
    lw_ufunc_head *self;
    lw_family *family;
    PyObject *values[LW_MOST_PARAMS]; /* by parameter; borrowed; NULL: not given */
    PyObject *outs[LW_MOST_MEMBER_INPUTS];
    Py_ssize_t n_outs;
    PyObject *names[16], *rest[16]; /* keywords of the ufunc call itself */
    Py_ssize_t n_rest;
    int n_arrays;
    int params[LW_MOST_EXCLUDED];       /* of the arrays: their parameters */
    PyObject *copies[LW_MOST_EXCLUDED]; /* owned: what stands on the device for host arrays */
    PyObject *made[LW_MOST_EXCLUDED];   /* owned: arrays of lists and tuples */
    lw_whole_array arrays[LW_MOST_EXCLUDED];
} lw_family_args;

/* The number of the parameter of that name; -1: none. */
int lw_family_index(const lw_family *family, PyObject *name);
/* The member for these arguments, made when it is new: a new reference, or NULL with an
 * exception. */
lw_ufunc_head *lw_family_find(const lw_family_args *c);

/* Whether it is an operand of this call. Where all broadcast, a parameter with a default is
 * one where it is given a value. */
static inline bool
lw_family_broadcasts(const lw_family_args *c, uint32_t i)
{
    return c->family->roles[i] == LW_ROLE_OPERAND ||
           (c->family->roles[i] == LW_ROLE_DEFAULT && c->values[i] != NULL);
}

static inline int
lw_family_operands(const lw_family_args *c)
{
    int n = 0;

    for (uint32_t i = 0; i < c->family->n_params; i++)
        n += lw_family_broadcasts(c, i);
    return n;
}

static inline const char *
lw_family_name(const lw_ufunc_head *self)
{
    return self->tree->fns.data[1].name;
}

static inline const char *
lw_family_param(const lw_family_args *c, uint32_t i)
{
    return c->self->tree->fns.data[1].params.data[i].name;
}

#endif
