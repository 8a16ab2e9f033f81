/* What a signature means to this door: dtypes of inputs and outputs; annotations. */
#include "ufunc/ufunc_parts.h"

int
lw_signature_dtypes(const lw_signature *signature, lw_dtype *in, lw_dtype *out, uint32_t *n_out)
{
    const lw_sig_type *result = &signature->result;

    *n_out = lw_signature_n_out(signature);
    if (signature->n_args + *n_out > LW_MAX_ARGS) {
        PyErr_Format(PyExc_ValueError,
                     "signature `%.100s` has %u operands; NumPy takes at most %d",
                     signature->text, (unsigned)(signature->n_args + *n_out), LW_MAX_ARGS);
        return -1;
    }
    for (uint32_t i = 0; i < signature->n_args; i++)
        in[i] = signature->args[i].dtype;
    for (uint32_t i = 0; i < *n_out; i++)
        out[i] = result->kind == LW_SIG_TUPLE ? result->items[i].dtype : result->dtype;
    return 0;
}

static int
check_count(const lw_ufunc_object *self, PyObject *object, const lw_signature *signature)
{
    if (signature->n_args == (uint32_t)lw_ufunc_shown_inputs((lw_ufunc_head *)self))
        return 0;
    PyErr_Format(PyExc_ValueError, "sig: `%s` takes %d inputs, and %.200R names %u",
                 self->base.table->name, lw_ufunc_shown_inputs((lw_ufunc_head *)self), object,
                 (unsigned)signature->n_args);
    return -1;
}

int
lw_signature_inputs(lw_ufunc_object *self, PyObject *object, lw_dtype *in)
{
    lw_signature_list list = {0};
    lw_dtype out[LW_MAX_ARGS];
    lw_arena arena;
    uint32_t n_out;
    int result = -1;

    lw_arena_init(&arena);
    if (lw_signatures_read(object, true, &arena, &list) < 0)
        goto done;
    if (list.n != 1) {
        PyErr_Format(PyExc_ValueError, "sig must be one signature, not %.200R", object);
        goto done;
    }
    if (check_count(self, object, &list.data[0]) == 0)
        result = lw_signature_dtypes(&list.data[0], in, out, &n_out);
    if (result == 0)
        lw_hidden_inputs(self, in);
done:
    lw_arena_reset(&arena);
    return result;
}

/* ---- annotations ---- */

/* One of our types or NumPy's; Python's own (`x: float`) are hints for readers. */
static lw_dtype
dtype_of_annotation(const lw_tree *tree, uint32_t constant)
{
    const lw_constant *k = &tree->constants.data[constant];

    return constant != 0 && k->kind == LW_K_DTYPE ? k->dtype : LW_DT_void;
}

static bool
annotated_args(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    const lw_fn *fn = &tree->fns.data[1];
    lw_sig_type *args = lw_arena_take(arena, (fn->params.n + 1) * sizeof *args);

    out->args = args;
    for (uint32_t i = 0; args != NULL && i < fn->params.n; i++) {
        const lw_fn_param *param = &fn->params.data[i];
        lw_dtype dtype = dtype_of_annotation(tree, param->annotation);
        if (param->default_constant != 0)
            continue; /* a constant of the function, no operand */
        if (dtype == LW_DT_void)
            return false;
        args[out->n_args].kind = LW_SIG_SCALAR;
        args[out->n_args++].dtype = dtype;
    }
    return args != NULL && out->n_args > 0;
}

static void
annotated_result(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    uint32_t constant = tree->fns.data[1].return_annotation;
    const lw_constant *k = &tree->constants.data[constant];
    lw_sig_type *items;

    out->result.dtype = dtype_of_annotation(tree, constant);
    out->result.kind = out->result.dtype == LW_DT_void ? LW_SIG_NONE : LW_SIG_SCALAR;
    if (constant == 0 || k->kind != LW_K_TUPLE)
        return;
    items = lw_arena_take(arena, k->n * sizeof *items);
    for (uint32_t i = 0; items != NULL && i < k->n; i++) {
        items[i].kind = LW_SIG_SCALAR;
        items[i].dtype = dtype_of_annotation(tree, k->items[i]);
        if (items[i].dtype == LW_DT_void)
            return;
    }
    out->result.kind = LW_SIG_TUPLE;
    out->result.items = items;
    out->result.n = k->n;
}

bool
lw_signature_of_annotations(const lw_tree *tree, lw_arena *arena, lw_signature *out)
{
    *out = (lw_signature){.text = "its annotations"};
    if (!annotated_args(tree, arena, out))
        return false;
    annotated_result(tree, arena, out);
    return true;
}
