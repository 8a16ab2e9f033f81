/* Making loops (typing and lowering; machine code comes at the first run) and choosing one:
 * docs/typing.md, "Choice", NumPy 2's promotion with exact dtypes first. */
#include "ufunc/ufunc_parts.h"

#include "core/py/compiled/renew.h"
#include "core/py/numpy/numpy_rules.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"

#include <string.h>

/* ---- members of families ---- */

static void
member_specs(const lw_member *member, const lw_tree *tree, const lw_dtype *in, lw_arg_spec *out)
{
    for (uint32_t i = 0; i < member->n_params; i++) {
        out[i] = member->specs[i];
        if (out[i].kind == LW_ARGK_SCALAR)
            out[i].dtype = *in++;
        else if (out[i].kind == LW_ARGK_CONSTANT)
            out[i].constant = tree->fns.data[1].params.data[i].default_constant;
    }
}

static void
note_uniforms(lw_member *member, const lw_scalar *scalar, lw_uniforms *out)
{
    lw_member_note(member, scalar);
    out->first = member->n_operands;
    out->stores = member->written != 0;
    memcpy(out->is_address, member->is_address, sizeof member->is_address);
    memcpy(out->order, member->order, sizeof member->order);
}

/* ---- typing ---- */

static lw_typed *
infer_member(lw_ufunc_object *self, const lw_dtype *in)
{
    lw_arg_spec specs[LW_MOST_PARAMS];
    lw_front_options options = self->base.options.front;
    lw_typed *typed = NULL;
    lw_error err = {0};

    options.narrow = self->base.member->narrow;
    options.n_results = (uint32_t)self->base.nout;
    member_specs(self->base.member, self->base.tree, in, specs);
    if (lw_infer_specs(self->base.tree, &options, specs, self->base.member->n_params, &typed,
                       &err) != LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

lw_typed *
lw_ufunc_infer(lw_ufunc_object *self, const lw_dtype *in)
{
    lw_type types[LW_MAX_ARGS];
    lw_front_options options = self->base.options.front;
    lw_typed *typed = NULL;
    lw_error err = {0};

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    if (self->base.member != NULL)
        return infer_member(self, in);
    for (int i = 0; i < self->base.nin; i++)
        types[i] = (lw_type)in[i];
    options.n_results = (uint32_t)self->base.nout;
    if (lw_infer(self->base.tree, &options, types, (uint32_t)self->base.nin, &typed, &err) !=
        LW_OK)
        return (lw_typed *)lw_py_raise(&err);
    return typed;
}

static lw_scalar *
make_scalar(lw_ufunc_object *self, const lw_dtype *in, const lw_dtype *out)
{
    lw_scalar *scalar = NULL;
    lw_error err = {0};
    lw_typed *typed = lw_ufunc_infer(self, in);
    lw_status status;

    if (typed == NULL)
        return NULL;
    lw_typed_dump(typed, self->base.table->name);
    status = out ? lw_infer_check_results(typed, out, (uint32_t)self->base.nout, &err) : LW_OK;
    if (status == LW_OK)
        status = lw_lower(typed, out, out ? (uint32_t)self->base.nout : 0, &scalar, &err);
    if (status == LW_OK && scalar->n_out != (uint32_t)self->base.nout)
        status = lw_infer_refuse_results(typed, scalar->n_out, (uint32_t)self->base.nout, &err);
    lw_typed_free(typed);
    if (status == LW_OK && lw_door_warn_of_code(&self->base.options, scalar) == 0)
        return scalar;
    lw_scalar_free(scalar);
    return status == LW_OK ? NULL : (lw_scalar *)lw_py_raise(&err);
}

static lw_loop *
loop_of_scalar(lw_ufunc_object *self, lw_scalar *scalar, const lw_dtype *in, bool declared)
{
    lw_loop *loop = lw_alloc_zero(1, sizeof *loop);

    if (loop == NULL) {
        lw_scalar_free(scalar);
        return (lw_loop *)PyErr_NoMemory();
    }
    loop->nin = self->base.nin;
    loop->nout = self->base.nout;
    loop->scalar = scalar;
    loop->declared = declared;
    if (self->base.member != NULL)
        note_uniforms(self->base.member, scalar, &loop->uniforms);
    else
        lw_uniforms_none(&loop->uniforms, loop->nin);
    memcpy(loop->types, in, (size_t)loop->nin * sizeof *in);
    memcpy(loop->types + loop->nin, scalar->out, (size_t)loop->nout * sizeof *in);
    if (self->base.numpys != NULL)
        loop->flag_rule =
            lw_flag_rule_of(((PyUFuncObject *)self->base.numpys)->name, loop->types, loop->nin);
    loop->raises_flags = loop->flag_rule != NULL;
    return loop;
}

lw_loop *
lw_ufunc_make(lw_ufunc_object *self, const lw_dtype *in, const lw_dtype *out, bool declared)
{
    lw_scalar *scalar;
    lw_loop *loop;

    if (lw_compiled_read_again((lw_compiled *)self) < 0)
        return NULL;
    loop = declared ? NULL : lw_rows_find((lw_ufunc_head *)self, in);
    if (loop != NULL) /* reading runs Python's code, where another thread has made it */
        return loop;
    scalar = make_scalar(self, in, out);
    if (scalar == NULL)
        return NULL;
    loop = self->base.is_made ? lw_rows_find((lw_ufunc_head *)self, in) : NULL;
    if (loop != NULL) { /* made while this one was */
        lw_scalar_free(scalar);
        return loop;
    }
    loop = loop_of_scalar(self, scalar, in, declared);
    if (loop == NULL || lw_table_add((lw_ufunc_head *)self, (lw_loop_head *)loop) < 0)
        return NULL;
    return loop;
}

/* ---- for the device side ---- */

lw_loop *
lw_ufunc_loop(lw_ufunc *base, const lw_dtype *in)
{
    lw_ufunc_object *self = lw_ufunc_whole(base);
    lw_wanted wanted = {0};

    if (self->base.lazy)
        return lw_loops_find_or_make((lw_ufunc_head *)self, in);
    if (lw_rows_find((lw_ufunc_head *)self, in) == NULL) {
        memcpy(wanted.in, in, (size_t)base->nin * sizeof *in);
        lw_loops_raise_none((lw_ufunc_head *)self, &wanted);
    }
    return lw_rows_find((lw_ufunc_head *)self, in);
}
