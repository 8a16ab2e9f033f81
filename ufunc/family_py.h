/* A Ufunc with excluded= or static= parameters: a family. It holds no loops itself; for each
 * tuple of static values and of excluded arrays' types it has a member, a Ufunc of the operands
 * that broadcast, in which the static values are constants and the parts of the excluded arrays
 * inputs of one value each (lw_uniforms in ufunc.h). */
#ifndef LW_UFUNC_FAMILY_PY_H
#define LW_UFUNC_FAMILY_PY_H

#include "ufunc/ufunc_parts.h"

enum { LW_MOST_EXCLUDED = 16, LW_MOST_PARAMS = 64 };

/* What a member is: how its function's parameters arrive. */
typedef struct lw_member {
    uint32_t n_params;
    int n_operands, n_hidden; /* inputs that broadcast; parts of excluded arrays behind them */
    bool narrow;              /* of lw_front_options */
    uint32_t written;         /* bit i: the i-th excluded array may be written */
    lw_uniforms uniforms;
    lw_arg_spec specs[LW_MOST_PARAMS]; /* of operands: SCALAR, whose dtype the loop says */
} lw_member;

struct lw_family; /* what the parameters are, and the members so far */

/* Is it one? Reads excluded= and static=, sets nin; signatures are kept for the members. -1
 * with an exception that names the parameter. */
int lw_family_build(lw_ufunc_object *self, const lw_door_arguments *arguments);
void lw_family_free(struct lw_family *family); /* NULL is allowed */
int lw_family_traverse(const struct lw_family *family, visitproc visit, void *arg);
/* As lw_ufunc_call. */
PyObject *lw_family_call(lw_ufunc_object *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames);
extern const lw_ufunc_kind lw_ufunc_families; /* family_kind_py.c */
/* What receivers of __array_ufunc__ see, borrowed: itself, or where its name means something to
 * NumPy or pandas a ufunc of another name. NULL with an exception. */
PyObject *lw_family_face(lw_ufunc_object *self);
/* TypeError: such a Ufunc has no `method`. Always NULL. */
PyObject *lw_family_refuse(const lw_ufunc_object *self, const char *method);

/* ---- for members ---- */

/* Argument types for these inputs; out: n_params of them. */
void lw_member_specs(const lw_member *member, const lw_tree *tree, const lw_dtype *in,
                     lw_arg_spec *out);
/* What the scalar function says of its arguments. */
void lw_member_note(lw_member *member, const lw_scalar *scalar, lw_uniforms *out);
/* The inputs that a user knows of. */
static inline int
lw_shown_inputs(const lw_ufunc_object *self)
{
    return self->member ? self->member->n_operands : self->base.nin;
}
/* in[]: the parts of excluded arrays have their own dtypes. */
static inline void
lw_hidden_inputs(const lw_ufunc_object *self, lw_dtype *in)
{
    for (int i = lw_shown_inputs(self); i < self->base.nin; i++)
        in[i] = LW_DT_i64;
}

#endif
