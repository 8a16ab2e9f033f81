/* What core/py/numpy/ufunc_type.h asks of this kind of ufuncs. */
#include "core/front/read/critical.h"
#include "core/py/raise.h"
#include "ufunc/ufunc_device_py.h"
#include "ufunc/ufunc_parts.h"

static lw_ufunc *
public_of(const lw_ufunc_head *self)
{
    return (lw_ufunc *)self; /* the head is how it begins */
}

static lw_ufunc_object *
whole(const lw_ufunc_head *self)
{
    return (lw_ufunc_object *)self;
}

/* ---- loops ---- */

static void *
loop_of(lw_ufunc_head *self, PyObject *sig)
{
    lw_dtype in[LW_MAX_ARGS];

    if (lw_signature_inputs(whole(self), sig, in) < 0)
        return NULL;
    return lw_ufunc_loop(public_of(self), in);
}

static void *
make(lw_ufunc_head *self, const lw_dtype *in)
{
    return lw_ufunc_make(whole(self), in, NULL, false);
}

static void
loop_line(lw_text *text, const void *object)
{
    const lw_loop *loop = object;

    lw_text_add(text, "(");
    for (int i = 0; i < loop->uniforms.first; i++)
        lw_text_addf(text, "%s%s", i ? ", " : "", lw_dtypes[loop->types[i]].public_name);
    lw_text_addf(text, ") -> %s", lw_dtypes[loop->types[loop->nin]].public_name);
    for (int i = loop->nin + 1; i < loop->nin + loop->nout; i++)
        lw_text_addf(text, ", %s", lw_dtypes[loop->types[i]].public_name);
}

/* The function's parameter that operand i is; NULL: it is one of *args. */
static const char *
operand_name(const lw_ufunc_head *head, int i)
{
    const lw_ufunc_object *self = whole(head);
    const lw_fn *fn = &self->base.tree->fns.data[1];

    for (uint32_t k = 0; k < fn->params.n && fn->params.data[k].kind != LW_PARAM_VARARG; k++)
        if ((self->base.member == NULL || self->base.member->specs[k].kind == LW_ARGK_SCALAR) &&
            i-- == 0)
            return fn->params.data[k].name;
    return NULL;
}

static bool
is_accumulator(const lw_ufunc_head *self, const void *object)
{
    const lw_loop *loop = object;

    return lw_can_cast_same_kind(loop->types[0], loop->types[loop->nin]) ||
           whole(self)->folds_truth;
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

static lw_ufunc_stats
stats(lw_ufunc_head *self)
{
    return lw_table_stats(self);
}

/* The one that takes parameters with defaults as operands too. It stays once it is made. */
static lw_ufunc_head *
other(const lw_ufunc_head *self)
{
    PyObject *full;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    full = whole(self)->full;
    Py_END_CRITICAL_SECTION();
    return (lw_ufunc_head *)full;
}

/* ---- inspection ---- */

static lw_typed *
infer(lw_ufunc_head *self, const void *loop)
{
    return lw_ufunc_infer(whole(self), ((const lw_loop *)loop)->types);
}

static lw_build_options
build_options(const lw_ufunc_head *self)
{
    return lw_device_build_options(self, self->table->name);
}

static lw_status
host_module(lw_ufunc_head *self, void *loop, lw_module **out, lw_error *err)
{
    return lw_host_module(loop, self->options.front.precise, out, err);
}

static Py_ssize_t
compile_host(lw_ufunc_head *self, void *loop)
{
    lw_host_kernel *kernel = lw_ufunc_kernel(self->table, loop);

    return kernel ? (Py_ssize_t)lw_host_kernel_code_size(kernel) : -1;
}

const lw_ufunc_kind lw_ufunc_elementwise = {
    .call = lw_ufunc_call,
    .build = lw_ufunc_build,
    .keywords = "where=True, casting='same_kind', order='K', dtype=None, subok=True, "
                "signature=None, stream=None",
    .n_loops = lw_rows_n,
    .loop_at = lw_rows_at,
    .loop_of = loop_of,
    .make = make,
    .loop_line = loop_line,
    .operand_name = operand_name,
    .is_accumulator = is_accumulator,
    .types_text = types_text,
    .signature_text = signature_text,
    .layout = layout,
    .stats = stats,
    .declare = lw_ufunc_declare,
    .add = lw_ufunc_add,
    .loop_slots = lw_ufunc_loop_slots,
    .free_loop = lw_loop_free,
    .call_method = lw_ufunc_call_method,
    .other = other,
    .infer = infer,
    .build_options = build_options,
    .host_module = host_module,
    .compile_host = compile_host,
    .device = &lw_ufunc_device_door,
    .call_device = lw_ufunc_call_device,
};

/* Filled once, when the module is made. */
const lw_ufunc_kind *
lw_ufunc_families(void)
{
    static lw_ufunc_kind kind;

    if (kind.call == NULL)
        kind = lw_family_kind(&lw_ufunc_elementwise);
    return &kind;
}
