/* What family_py.c (parameters, signatures, members) and family_call_py.c (calls) share. */
#ifndef LW_UFUNC_FAMILY_PARTS_PY_H
#define LW_UFUNC_FAMILY_PARTS_PY_H

#include "core/py/whole_array.h"
#include "ufunc/device_table_py.h"
#include "ufunc/family_py.h"

typedef enum lw_role {
    LW_ROLE_OPERAND,  /* broadcasts */
    LW_ROLE_EXCLUDED, /* a whole array */
    LW_ROLE_STATIC,   /* compiled in, by the call's value or the default */
    LW_ROLE_DEFAULT   /* compiled in: has a default and was not named */
} lw_role;

struct lw_family {
    uint32_t n_params, n_positional;
    uint8_t roles[LW_MOST_PARAMS];
    PyObject *names;      /* tuple of str */
    PyObject *members;    /* dict: key -> Ufunc */
    PyObject *latest;     /* member */
    PyObject *signatures; /* as given, or NULL */
    PyObject *face;       /* the same under another name; NULL until it is asked for */
};

/* One call, arranged. */
typedef struct lw_family_args {
    lw_ufunc_object *self;
    struct lw_family *family;
    PyObject *values[LW_MOST_PARAMS]; /* by parameter; borrowed; NULL: not given */
    PyObject *outs[LW_MAX_ARGS];
    Py_ssize_t n_outs;
    PyObject *names[16], *rest[16]; /* keywords of the ufunc call itself */
    Py_ssize_t n_rest;
    int n_arrays;
    int params[LW_MOST_EXCLUDED];       /* of the arrays: their parameters */
    PyObject *copies[LW_MOST_EXCLUDED]; /* owned: what stands on the device for host arrays */
    lw_whole_array arrays[LW_MOST_EXCLUDED];
} lw_family_args;

/* Keywords that every call has: no parameter can be given by such a name. */
bool lw_family_reserved(PyObject *name);
/* Of a parameter's name; -1: none. */
int lw_family_index(const struct lw_family *family, PyObject *name);
/* The member for these arguments, made when it is new; borrowed. NULL with an exception. */
lw_ufunc_object *lw_family_find(const lw_family_args *c);

/* Is it an operand of this call? A parameter with a default is one where it is given a value.
 */
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
lw_family_param(const lw_family_args *c, uint32_t i)
{
    return c->self->base.tree->fns.data[1].params.data[i].name;
}

#endif
