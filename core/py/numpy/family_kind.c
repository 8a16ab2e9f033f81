/* What core/py/numpy/ufunc_type.h asks of families: the loops are those of all members, one
 * member after the other; signatures of methods mean the member of the latest call. */
#include "core/py/numpy/family_internal.h"

#include "core/front/read/critical.h"

/* The next member, borrowed, for none ever goes; NULL at the end. */
static lw_ufunc_head *
next_member(const lw_ufunc_head *self, Py_ssize_t *at)
{
    PyObject *key, *member;

    Py_BEGIN_CRITICAL_SECTION(self->family->members);
    if (!PyDict_Next(self->family->members, at, &key, &member))
        member = NULL;
    Py_END_CRITICAL_SECTION();
    return (lw_ufunc_head *)member;
}

/* The member of the latest call, borrowed, or NULL. */
static lw_ufunc_head *
latest_of(const lw_ufunc_head *self)
{
    PyObject *latest;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    latest = self->family->latest;
    Py_END_CRITICAL_SECTION();
    return (lw_ufunc_head *)latest;
}

/* ---- loops ---- */

static uint32_t
n_loops(const lw_ufunc_head *self)
{
    const lw_ufunc_head *member;
    Py_ssize_t at = 0;
    uint32_t n = 0;

    while ((member = next_member(self, &at)) != NULL)
        n += member->kind->n_loops(member);
    return n;
}

static void *
loop_at(const lw_ufunc_head *self, uint32_t which)
{
    lw_ufunc_head *member;
    Py_ssize_t at = 0;

    while ((member = next_member(self, &at)) != NULL) {
        uint32_t n = member->kind->n_loops(member);
        if (which < n)
            return member->kind->loop_at(member, which);
        which -= n;
    }
    return NULL;
}

/* Whose loop it is; the latest member's if nobody's. */
static lw_ufunc_head *
member_of(lw_ufunc_head *self, const void *loop)
{
    lw_ufunc_head *member;
    Py_ssize_t at = 0;

    while ((member = next_member(self, &at)) != NULL)
        for (uint32_t i = 0; i < member->kind->n_loops(member); i++)
            if (member->kind->loop_at(member, i) == loop)
                return member;
    return latest_of(self);
}

static void *
loop_of(lw_ufunc_head *self, PyObject *sig)
{
    lw_ufunc_head *latest = latest_of(self);

    if (latest != NULL)
        return latest->kind->loop_of(latest, sig);
    PyErr_Format(PyExc_ValueError,
                 "`%s` has excluded= or static= parameters and is not compiled for any values "
                 "yet: call it first",
                 lw_family_name(self));
    return NULL;
}

/* ---- about the object ---- */

PyObject *
lw_family_roles(const lw_ufunc_head *self)
{
    static const char *const names[] = {[LW_ROLE_OPERAND] = "operand",
                                        [LW_ROLE_OUTPUT] = "output",
                                        [LW_ROLE_EXCLUDED] = "excluded",
                                        [LW_ROLE_STATIC] = "static",
                                        [LW_ROLE_DEFAULT] = "default"};
    const lw_fn *fn = &self->tree->fns.data[1];
    PyObject *roles = PyTuple_New(self->family->n_params);

    for (uint32_t i = 0; roles != NULL && i < self->family->n_params; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        PyObject *row = Py_BuildValue(
            "(OsOO)", PyTuple_GET_ITEM(self->family->names, i), names[self->family->roles[i]],
            param->default_constant ? Py_True : Py_False,
            param->kind == LW_PARAM_KEYWORD_ONLY ? Py_True : Py_False);
        if (row == NULL)
            Py_CLEAR(roles);
        else
            PyTuple_SET_ITEM(roles, i, row);
    }
    return roles;
}

static void
parameters(const lw_ufunc_head *self, lw_text *out)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    bool star = false;

    for (uint32_t i = 0; i < fn->params.n; i++) {
        if (self->family->roles[i] == LW_ROLE_OUTPUT)
            continue;
        if (fn->params.data[i].kind == LW_PARAM_KEYWORD_ONLY && !star) {
            lw_text_add(out, "*, ");
            star = true;
        }
        lw_text_addf(out, "%s%s, ", fn->params.data[i].name,
                     fn->params.data[i].default_constant ? "=..." : "");
    }
    lw_text_add(out, star ? "out=None, " : "*, out=None, ");
}

static int
most_positional(const lw_ufunc_head *self)
{
    return (int)self->family->n_positional + self->nout;
}

static lw_ufunc_stats
stats(lw_ufunc_head *self)
{
    lw_ufunc_stats sum = {0};
    lw_ufunc_head *member;
    Py_ssize_t at = 0;

    while ((member = next_member(self, &at)) != NULL)
        lw_ufunc_stats_add(&sum, member->kind->stats(member));
    return sum;
}

static int
add(lw_ufunc_head *self, PyObject *Py_UNUSED(signatures))
{
    lw_family_refuse(self, "add");
    return -1;
}

static PyObject *
call_method(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *Py_UNUSED(args),
            Py_ssize_t Py_UNUSED(n_args), PyObject *Py_UNUSED(kwnames))
{
    return lw_family_refuse(self, lw_ufunc_method_names[id]);
}

lw_ufunc_kind
lw_family_kind(const lw_ufunc_kind *of)
{
    lw_ufunc_kind kind = *of;

    kind.parameters = parameters;
    kind.most_positional = most_positional;
    kind.n_loops = n_loops;
    kind.loop_at = loop_at;
    kind.loop_of = loop_of;
    kind.stats = stats;
    kind.add = add;
    kind.call_method = call_method;
    kind.other = NULL;
    kind.owner = member_of;
    return kind;
}
