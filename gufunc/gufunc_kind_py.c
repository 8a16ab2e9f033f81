/* What core/py/numpy/ufunc_type.h asks of this kind of ufuncs. */
#include "gufunc/gufunc_parts_py.h"

#include "gufunc/device_call_py.h"

static lw_gufunc *
public_of(const lw_ufunc_head *self)
{
    return (lw_gufunc *)self; /* the head is how it begins */
}

static lw_gufunc_object *
whole(const lw_ufunc_head *self)
{
    return (lw_gufunc_object *)self;
}

/* ---- loops ---- */

static void *
loop_of(lw_ufunc_head *self, PyObject *sig)
{
    return lw_gufunc_loop_of(whole(self), sig);
}

static void *
make(lw_ufunc_head *self, const lw_dtype *in)
{
    return lw_gufunc_make(whole(self), in, NULL, NULL, false);
}

static const char *
operand_name(const lw_ufunc_head *self, int i)
{
    uint8_t param = whole(self)->params[i];

    return param == LW_NO_PARAM ? "?" : self->tree->fns.data[1].params.data[param].name;
}

static void
loop_line(lw_text *text, const void *loop)
{
    PyObject *one = lw_gufunc_loop_text(loop);
    const char *utf8 = one ? PyUnicode_AsUTF8(one) : NULL;

    lw_text_add(text, utf8 ? utf8 : "");
    Py_XDECREF(one);
}

static PyObject *
types_text(const void *loop)
{
    return lw_gufunc_types_text(loop);
}

static PyObject *
signature_text(const void *loop)
{
    return lw_gufunc_loop_text(loop);
}

static const char *
layout(const lw_ufunc_head *self)
{
    return public_of(self)->layout.text;
}

/* ---- about the object ---- */

static lw_ufunc_stats
stats(lw_ufunc_head *self)
{
    return lw_table_stats(self);
}

/* ---- inspection ---- */

static lw_typed *
infer(lw_ufunc_head *self, const void *loop)
{
    return lw_gufunc_infer(whole(self), loop);
}

static lw_build_options
build_options(const lw_ufunc_head *self)
{
    return lw_device_build_options(self, lw_gufunc_name(public_of(self)));
}

static lw_status
host_module(lw_ufunc_head *Py_UNUSED(self), void *loop, lw_module **out, lw_error *err)
{
    return lw_gufunc_host_module(loop, LW_CODE_DENSE, NULL, out, err);
}

/* Machine code for dense cores. */
static Py_ssize_t
compile_host(lw_ufunc_head *head, void *object)
{
    int64_t dims[1 + 256] = {1}, steps[LW_MOST_STEPS] = {0};
    lw_gufunc_loop *loop = object;

    for (uint32_t d = 0; d < loop->layout->n_dims;
         d++) /* all 1: these strides count as dense */
        dims[1 + d] = 1;
    if (lw_gufunc_code_for(head->table, loop, dims, steps) == NULL)
        return -1;
    return (Py_ssize_t)lw_gufunc_host_code_size(loop->host);
}

const lw_ufunc_kind lw_ufunc_of_cores = {
    .call = lw_gufunc_call,
    .build = lw_gufunc_build,
    .keywords = "axes=None, axis=None, keepdims=False, casting='same_kind', order='K', "
                "dtype=None, subok=True, signature=None, stream=None",
    .n_loops = lw_rows_n,
    .loop_at = lw_rows_at,
    .loop_of = loop_of,
    .make = make,
    .loop_line = loop_line,
    .operand_name = operand_name,
    .types_text = types_text,
    .signature_text = signature_text,
    .layout = layout,
    .stats = stats,
    .declare = lw_gufunc_declare,
    .add = lw_ufunc_add,
    .loop_slots = lw_gufunc_loop_slots,
    .prepare_inner = lw_gufunc_prepare_inner,
    .free_loop = lw_gufunc_loop_free,
    .free_table = lw_gufunc_table_free,
    .call_method = lw_gufunc_call_method,
    .infer = infer,
    .build_options = build_options,
    .host_module = host_module,
    .compile_host = compile_host,
    .device = &lw_gufunc_device_door,
    .call_device = lw_gufunc_call_device,
};
