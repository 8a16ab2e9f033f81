/* A ufunc with excluded= or static= parameters: a family. It holds no loops itself; for each
 * tuple of static values and of excluded arrays' types it has a member, a ufunc of the operands
 * alone, in which the static values are constants and the parts of the excluded arrays inputs
 * of one value each, behind the operands.
 *
 * What differs between doors stands in an lw_family_door. */
#ifndef LW_PY_FAMILY_H
#define LW_PY_FAMILY_H

#include "core/front/lower/lower.h"
#include "core/py/array/whole_array.h"
#include "core/py/compiled/keywords.h"
#include "core/py/numpy/ufunc_type.h"

enum { LW_MOST_EXCLUDED = 16, LW_MOST_PARAMS = 64, LW_MOST_MEMBER_INPUTS = 64 };

/* What a member is: how its function's parameters arrive. */
typedef struct lw_member {
    uint32_t n_params;
    int n_operands, n_hidden; /* inputs of the user; parts of excluded arrays behind them */
    bool narrow;              /* of lw_front_options */
    uint32_t written;         /* bit i: the i-th excluded array may be written */
    bool is_address[LW_MOST_MEMBER_INPUTS]; /* by input */
    uint8_t order[LW_MOST_MEMBER_INPUTS];   /* inputs in the order of the parameters */
    lw_arg_spec specs[LW_MOST_PARAMS];      /* of operands: SCALAR, whose dtype the loop says */
} lw_member;

/* Arrays that a call reaches beside its operands (excluded=): their parts are operands. */
typedef struct lw_extra_arrays {
    lw_whole_array *arrays; /* all on the device */
    int n;
    bool some_given_there; /* not all are copies of host arrays */
    lw_device *device;
    CUstream stream; /* out: where the call was launched */
} lw_extra_arrays;

typedef struct lw_family_door {
    const char *name; /* "vectorize" */
    int most_inputs;  /* of a ufunc */
    bool guards;      /* an index outside of an excluded array raises */
    /* How many inputs and outputs a layout has; NULL: every parameter broadcasts. */
    void (*operands)(const lw_ufunc_head *self, int *nin, int *nout);
    /* A ufunc of the function; takes member, also when it fails. */
    PyObject *(*new_member)(lw_ufunc_head *self, PyObject *function, PyObject *signatures,
                            PyObject *options, lw_member *member);
    /* NEP 13: 1 with *result, where an operand takes the call; nin of args are inputs. */
    int (*ask)(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
               int nin, PyObject **result);
    /* Calls of members; stream: where stream= stands among args, or -1. */
    PyObject *(*call_host)(lw_ufunc_head *member, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames, Py_ssize_t stream);
} lw_family_door;

typedef enum lw_role {
    LW_ROLE_OPERAND,  /* an input: broadcasts */
    LW_ROLE_OUTPUT,   /* that the function fills */
    LW_ROLE_EXCLUDED, /* a whole array */
    LW_ROLE_STATIC,   /* compiled in, by the call's value or the default */
    LW_ROLE_DEFAULT   /* compiled in: has a default and was not named */
} lw_role;

typedef struct lw_family {
    const lw_family_door *door;
    uint32_t n_params, n_positional;
    uint8_t roles[LW_MOST_PARAMS];
    uint8_t positional[LW_MOST_PARAMS]; /* parameters that a call gives by position */
    uint64_t writes;      /* bit i: parameter i is an operand that the function writes to */
    PyObject *names;      /* tuple of str */
    PyObject *members;    /* dict: key -> ufunc */
    PyObject *latest;     /* member */
    PyObject *signatures; /* as given, or NULL */
    PyObject *face;       /* the same under another name; NULL until it is asked for */
} lw_family;

/* self->family of what excluded= and static= say; sets nin, and nout where signatures say it;
 * these are kept for the members. -1 with an exception that names the parameter. */
int lw_family_build(lw_ufunc_head *self, const lw_family_door *door,
                    const lw_door_arguments *arguments);
/* Whether an argument is an object, or an array of them where the parameter broadcasts. What a
 * static parameter is given is a constant. */
bool lw_family_brings_objects(const lw_ufunc_head *self, PyObject *const *args,
                              Py_ssize_t n_args, PyObject *kwnames);
void lw_family_free(lw_family *family); /* NULL is allowed */
/* Whether what a member captured has changed, where numbers are operands: members have
 * functions of their own. For lw_compiled_door. */
bool lw_family_changed(const lw_compiled *self);
int lw_family_traverse(const lw_family *family, visitproc visit, void *arg);
PyObject *lw_family_call(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                         PyObject *kwnames);
/* A tuple of (name, role, has a default, is keyword-only) of the parameters; role: "operand",
 * "output", "excluded", "static" or "default". */
PyObject *lw_family_roles(const lw_ufunc_head *self);
/* The member that would run such a call: a new reference. */
PyObject *lw_family_member(lw_ufunc_head *self, PyObject *const *args, Py_ssize_t n_args,
                           PyObject *kwnames);
/* TypeError: such a ufunc has no `method`. Always NULL. */
PyObject *lw_family_refuse(const lw_ufunc_head *self, const char *method);
/* The kind of a door's families: what members answer to, else what `of` does. */
lw_ufunc_kind lw_family_kind(const lw_ufunc_kind *of);

/* ---- for members ---- */

/* Which excluded arrays the function may write to, from what the scalar function says. */
void lw_member_note(lw_member *member, const lw_scalar *scalar);

#endif
