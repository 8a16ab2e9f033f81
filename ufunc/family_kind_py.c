/* What core/py/ufunc_type.h asks of families: the loops are those of all members, one member
 * after the other; signatures of methods mean the member of the latest call. */
#include "ufunc/family_parts_py.h"

static lw_ufunc_object *
whole(const lw_ufunc_head *self)
{
    return (lw_ufunc_object *)self; /* the head is how it begins */
}

/* The next member, borrowed; NULL at the end. */
static lw_ufunc_head *
next_member(const lw_ufunc_head *self, Py_ssize_t *at)
{
    PyObject *key, *member;

    return PyDict_Next(whole(self)->family->members, at, &key, &member)
               ? (lw_ufunc_head *)member
               : NULL;
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
loop_at(lw_ufunc_head *self, uint32_t which)
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
    return (lw_ufunc_head *)whole(self)->family->latest;
}

static void *
loop_of(lw_ufunc_head *self, PyObject *sig)
{
    lw_ufunc_head *latest = (lw_ufunc_head *)whole(self)->family->latest;

    if (latest != NULL)
        return latest->kind->loop_of(latest, sig);
    PyErr_Format(PyExc_ValueError,
                 "`%s` has excluded= or static= parameters and is not compiled for any values "
                 "yet: call it first",
                 lw_ufunc_name((lw_ufunc *)self));
    return NULL;
}

static PyObject *
types_text(const void *loop)
{
    return lw_types_text(loop);
}

static PyObject *
signature_text(const void *loop)
{
    return lw_loop_text(loop);
}

static const char *
layout(const lw_ufunc_head *Py_UNUSED(self))
{
    return NULL;
}

/* ---- about the object ---- */

static void
parameters(const lw_ufunc_head *self, lw_text *out)
{
    const lw_fn *fn = &self->tree->fns.data[1];
    bool star = false;

    for (uint32_t i = 0; i < fn->params.n; i++) {
        if (fn->params.data[i].kind == LW_PARAM_KEYWORD_ONLY && !star) {
            lw_text_add(out, "*, ");
            star = true;
        }
        lw_text_addf(out, "%s%s, ", fn->params.data[i].name,
                     fn->params.data[i].default_konst ? "=..." : "");
    }
    lw_text_add(out, star ? "out=None, " : "*, out=None, ");
}

static int
most_positional(const lw_ufunc_head *self)
{
    return (int)whole(self)->family->n_positional + self->nout;
}

static lw_ufunc_stats
stats(lw_ufunc_head *self)
{
    lw_ufunc_stats sum = {0};
    lw_ufunc_head *member;
    Py_ssize_t at = 0;

    while ((member = next_member(self, &at)) != NULL) {
        lw_ufunc_stats one = member->kind->stats(member);
        sum.compiled += one.compiled;
        sum.from_memory += one.from_memory;
        sum.from_disk += one.from_disk;
        sum.made += one.made;
        sum.failed += one.failed;
        sum.seconds += one.seconds;
    }
    return sum;
}

static PyObject *
state(lw_ufunc_head *head)
{
    lw_ufunc_object *self = whole(head);
    PyObject *signatures = self->family->signatures, *source = head->source;

    return Py_BuildValue("{s:O,s:O,s:O}", "signatures", signatures ? signatures : Py_None,
                         "options", self->options, "source", source ? source : Py_None);
}

static int
add(lw_ufunc_head *self, PyObject *Py_UNUSED(signatures))
{
    lw_family_refuse(whole(self), "add");
    return -1;
}

static PyObject *
call_method(lw_ufunc_head *self, lw_ufunc_method id, PyObject *const *Py_UNUSED(args),
            Py_ssize_t Py_UNUSED(n_args), PyObject *Py_UNUSED(kwnames))
{
    return lw_family_refuse(whole(self), lw_ufunc_method_names[id]);
}

/* ---- inspection ---- */

static lw_typed *
infer(lw_ufunc_head *self, const void *loop)
{
    lw_ufunc_head *member = member_of(self, loop);

    return member->kind->infer(member, loop);
}

static lw_build_options
build_options(const lw_ufunc_head *self)
{
    return lw_ufunc_elementwise.build_options(self);
}

static lw_status
module_for(lw_ufunc_head *self, void *loop, int cc, lw_module **out, lw_error *err)
{
    return lw_ufunc_elementwise.module(self, loop, cc, out, err);
}

static Py_ssize_t
compile_host(lw_ufunc_head *self, void *loop)
{
    lw_ufunc_head *member = member_of(self, loop);

    return member->kind->compile_host(member, loop);
}

static PyObject *
device_resources(lw_ufunc_head *self, void *loop, int cc)
{
    lw_ufunc_head *member = member_of(self, loop);

    return member->kind->device_resources(member, loop, cc);
}

static int
compile_device(lw_ufunc_head *self, void *loop, int cc)
{
    lw_ufunc_head *member = member_of(self, loop);

    return member->kind->compile_device(member, loop, cc);
}

const lw_ufunc_kind lw_ufunc_families = {
    .pickled_by = "reduce_ufunc",
    .keywords = "where=True, casting='same_kind', order='K', dtype=None, subok=True, "
                "signature=None, stream=None",
    .parameters = parameters,
    .most_positional = most_positional,
    .n_loops = n_loops,
    .loop_at = loop_at,
    .loop_of = loop_of,
    .types_text = types_text,
    .signature_text = signature_text,
    .layout = layout,
    .stats = stats,
    .state = state,
    .add = add,
    .call_method = call_method,
    .infer = infer,
    .build_options = build_options,
    .module = module_for,
    .compile_host = compile_host,
    .device_resources = device_resources,
    .compile_device = compile_device,
};
