/* Sums and products of bools and of integers below 64 bits are accumulated in 64 bits, as NumPy
 * does, unless dtype= or identity= says otherwise. */
#include "reduce/function/reduction_internal.h"

#include <assert.h>

/* Whether the elements of the only array are to be converted: combine's tree is the sum or the
 * product of its two parameters. */
static bool
widens(const builder *b)
{
    const lw_tree *tree = b->source->combine;
    const lw_fn *fn = &tree->fns.data[1];
    const lw_node *node;

    if (b->dtype != LW_DT_void || b->source->map != NULL || b->made->n_in != 1 ||
        b->made->array[0].record != NULL || fn->params.n != 2 ||
        b->source->said[0] == b->made->in[0] ||
        !(lw_is_integer(b->made->in[0]) || b->made->in[0] == LW_DT_b1))
        return false;
    for (uint32_t i = 1; i < tree->nodes.n; i++) {
        node = &tree->nodes.data[i];
        if (node->kind != LW_NODE_RETURN || node->a == 0)
            continue;
        node = &tree->nodes.data[node->a];
        return node->kind == LW_NODE_BINARY &&
               (node->op == LW_PY_ADD || node->op == LW_PY_MUL) &&
               tree->nodes.data[node->a].kind == LW_NODE_NAME &&
               tree->nodes.data[node->b].kind == LW_NODE_NAME &&
               tree->nodes.data[node->a].a != tree->nodes.data[node->b].a;
    }
    return false;
}

static lw_dtype
widened(lw_dtype dtype)
{
    return lw_dtypes[dtype].kind == LW_KIND_UINT ? LW_DT_u64 : LW_DT_i64;
}

void
lw_reduce_widen_elements(builder *b)
{
    if (widens(b))
        b->made->in[0] = widened(b->made->in[0]);
}

static bool
is_narrow(lw_type type)
{
    return type == LW_DT_b1 || (type < LW_T_INDEX && lw_is_integer((lw_dtype)type) &&
                                lw_dtypes[type].size_bytes < lw_dtypes[LW_DT_i64].size_bytes);
}

/* Whether a number may become wider: identity= gives it no dtype, and it is not part of a
 * record, which keeps its dtypes. In identity= a record counts as one. */
static bool
may_widen(const builder *b, uint32_t number)
{
    const lw_reduce_form *form = &b->acc.form;
    uint32_t numbers = 0, things = 0, end = 0;

    for (uint32_t at = 0; at < form->n_nodes; at++) {
        bool inside = at < end;
        if (form->node[at].kind == LW_REDUCE_RECORD && !inside)
            end = lw_reduce_form_next(form, at);
        if (form->node[at].kind == LW_REDUCE_NUMBER && numbers++ == number)
            return !inside && (lw_type)b->source->said[things] != b->acc.type[number];
        things += !inside && form->node[at].kind != LW_REDUCE_TUPLE;
    }
    return false;
}

/* The first scalar of number i of an accumulator. */
static uint32_t
first_part(const shape *acc, uint32_t i)
{
    uint32_t part = 0;

    for (uint32_t k = 0; k < i; k++)
        part += lw_dtype_n_parts(lw_reduce_stored(acc->type[k]));
    return part;
}

/* Sets *alone: whether combine, for accumulators whose number i has become wider, keeps all
 * types, and number i is a sum or a product that nothing else depends on. */
static lw_status
sums_alone(builder *b, const shape *wider, uint32_t i, bool *alone)
{
    const lw_tree *tree = b->source->combine;
    lw_dtype out[LW_REDUCE_MOST];
    lw_scalar *scalar = NULL;
    lw_typed *typed = NULL;
    lw_status status = LW_OK;
    shape given;

    LW_TRY(lw_reduce_infer_on(b, tree, "combine", wider, 2, &typed));
    LW_TRY(lw_reduce_result_shape(b, typed, "combine", tree, &given));
    *alone = lw_reduce_same_places(&given.form, &wider->form);
    for (uint32_t k = 0; *alone && k < given.n; k++) {
        *alone = lw_reduce_stored(given.type[k]) == lw_reduce_stored(wider->type[k]);
        out[k] = lw_reduce_stored(given.type[k]);
    }
    if (*alone) {
        LW_TRY(lw_lower(typed, out, given.n, &scalar, b->err));
        *alone = !scalar->can_raise &&
                 lw_operator_sums_alone(scalar->module->funcs.data[scalar->body],
                                        first_part(wider, i));
    }
fail:
    lw_scalar_free(scalar);
    lw_typed_free(typed);
    return status;
}

/* Widens number i where that is possible. A failure of the trial is not the user's, and the
 * number stays as it is. */
static lw_status
widen_sum(builder *b, uint32_t i)
{
    builder trial = {.source = b->source, .made = b->made};
    lw_error err = {0};
    shape wider = b->acc;
    lw_status status;
    bool alone = false;

    assert(i < b->acc.n && is_narrow(b->acc.type[i]));
    trial.err = &err;
    lw_arena_init(&trial.arena);
    wider.type[i] = widened((lw_dtype)b->acc.type[i]);
    status = sums_alone(&trial, &wider, i, &alone);
    lw_arena_reset(&trial.arena);
    lw_error_reset(&err);
    if (status == LW_ERR_OUT_OF_MEMORY)
        return lw_fail_memory(b->err);
    if (status == LW_OK && alone)
        b->acc.type[i] = wider.type[i];
    return LW_OK;
}

lw_status
lw_reduce_widen_sums(builder *b)
{
    lw_status status = LW_OK;

    if (b->dtype != LW_DT_void)
        return LW_OK;
    for (uint32_t i = 0; i < b->acc.n; i++)
        if (is_narrow(b->acc.type[i]) && may_widen(b, i))
            LW_TRY(widen_sum(b, i));
fail:
    return status;
}
