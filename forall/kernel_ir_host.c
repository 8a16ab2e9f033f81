/* The entries of code for the host: a part of an index space, a thread, all threads of a block,
 * a function that returns a value, and one of C's. */
#include "forall/kernel_ir_internal.h"

#include "core/ir/kernel_context.h"

#include <stddef.h>
#include <string.h>

/* ---- a part of an index space ---- */

enum { RANGE_EXTRA = 4 }; /* space, begin, end, status */

static lw_ref
field(lw_kernel_maker *m, lw_ref base, size_t offset)
{
    return lw_ir_offset(&m->b, base, i64(m, (int64_t)offset));
}

static lw_ref
space_field(lw_kernel_maker *m, size_t offset, int d)
{
    return lw_ir_load(&m->b, LW_DT_i64, 1, field(m, m->space, offset + 8 * (size_t)d), 8,
                      LW_MEM_INVARIANT);
}

static void
load_space(lw_kernel_maker *m)
{
    for (int k = 0; k + 1 < m->key->n_index; k++)
        m->size[k] = space_field(m, offsetof(lw_space, n), m->order[k]);
    for (int d = 0; d < m->key->n_index && m->key->stepped; d++) {
        m->start[d] = space_field(m, offsetof(lw_space, start), d);
        m->step[d] = space_field(m, offsetof(lw_space, step), d);
    }
}

/* By definition the elements of a forall are independent. Overlapping arrays are nevertheless
 * processed in order, so that such a call gives on one core what a Python loop gives. Local
 * memory and random states are reused by each element, so they are no independent memory. */
static uint32_t
loop_flags(const lw_kernel_maker *m)
{
    if (!m->noalias || m->key->watched || lw_ir_has_own_memory(m->scalar->module) ||
        lw_ir_has_op(m->scalar->module, LW_OP_ATOMIC) || lw_ir_prints(m->scalar->module))
        return 0;
    return LW_LOOP_VECTORIZE;
}

/* Runs one element; if it raises, the function returns its number. */
static void
run_element(lw_kernel_maker *m, lw_ref number)
{
    lw_builder *b = &m->b;
    lw_ref call = lw_kernel_call_body(m), status;

    if (!m->scalar->can_raise)
        return;
    status = lw_ir_result(b, call, 0);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, lw_ir_int(b, LW_DT_i32, 0)));
    lw_kernel_note_words(m, call);
    lw_ir_store(b, m->status, status, 0, 0);
    lw_ir_return(b, &number, 1);
    lw_ir_end(b);
}

static void
line_loop(lw_kernel_maker *m, lw_ref begin, lw_ref end)
{
    lw_for loop = lw_ir_for(&m->b, begin, end, i64(m, 1), loop_flags(m));

    m->index[0] = lw_kernel_index_at(m, 0, loop.i);
    run_element(m, loop.i);
    lw_ir_for_end(&m->b, &loop);
}

/* Loops over rows of the fastest dimension; the first and the last row may be incomplete. */
static void
row_loops(lw_kernel_maker *m, lw_ref begin, lw_ref end)
{
    lw_builder *b = &m->b;
    int n = m->key->n_index;
    lw_ref slot = lw_ir_slot(b, LW_DT_i64), at, row, column, left, room, item;
    lw_for loop;

    lw_ir_set(b, slot, begin);
    at = lw_ir_while(b, slot, end);
    row = item = lw_ir_div(b, at, m->size[0]);
    column = lw_ir_sub(b, at, lw_ir_mul(b, row, m->size[0]));
    for (int k = 1; k < n; k++) {
        lw_ref q = k + 1 < n ? lw_ir_div(b, item, m->size[k]) : 0;
        lw_ref c = q ? lw_ir_sub(b, item, lw_ir_mul(b, q, m->size[k])) : item;
        m->index[m->order[k]] = lw_kernel_index_at(m, m->order[k], c);
        item = q;
    }
    left = lw_ir_sub(b, end, at);
    room = lw_ir_sub(b, m->size[0], column);
    room = lw_ir_smaller(b, left, room);
    /* always true, which tells LLVM the sign */
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, column, i64(m, 0)));
    loop = lw_ir_for(b, column, lw_ir_add(b, column, room), i64(m, 1), loop_flags(m));
    m->index[m->order[0]] = lw_kernel_index_at(m, m->order[0], loop.i);
    run_element(m, lw_ir_add(b, lw_ir_sub(b, loop.i, column), at));
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    lw_ir_set(b, slot, lw_ir_add(b, at, room));
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* The loop is a function of its own, so that what is known of its pointers holds throughout. */
static lw_status
make_range_loop(lw_kernel_maker *m, lw_error *err)
{
    lw_status status = LW_OK;
    const uint32_t fixed = LW_PARAM_NOALIAS | LW_PARAM_READONLY;
    lw_ref begin, end, none;

    lw_builder_start(&m->b, m->module, "lw_range_loop");
    if (m->b.func != NULL)
        m->b.func->linkage = LW_OUTLINED;
    m->space = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "space");
    begin = lw_ir_param_add(&m->b, LW_DT_i64, 0, "begin");
    end = lw_ir_param_add(&m->b, LW_DT_i64, 0, "end");
    m->status = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "status");
    LW_TRY(lw_kernel_body_params(m, err));
    lw_ir_result_add(&m->b, LW_DT_i64);
    load_space(m);
    none = i64(m, -1);
    /* never true: see above */
    lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_LT, begin, i64(m, 0)));
    lw_ir_return(&m->b, &none, 1);
    lw_ir_end(&m->b);
    if (m->key->n_index == 1)
        line_loop(m, begin, end);
    else
        row_loops(m, begin, end);
    none = i64(m, -1);
    lw_ir_return(&m->b, &none, 1);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* ---- entries ---- */

static void
load_values(lw_kernel_maker *m, lw_ref values)
{
    for (uint32_t i = m->n_index, k = 0; i < m->body->params.n; i++) {
        lw_dtype type = m->body->params.data[i].type;
        lw_dtype stored = type == LW_DT_b1 ? LW_DT_u8 : type;
        lw_ref at;
        if (lw_kernel_is_fixed(m, i, &m->args[i]))
            continue;
        at = field(m, values, 8 * (size_t)k++);
        m->args[i] =
            lw_ir_cast(&m->b, type, lw_ir_load(&m->b, stored, 1, at, 8, LW_MEM_INVARIANT));
    }
}

static lw_status
make_range(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    lw_status status = LW_OK;
    const uint32_t fixed = LW_PARAM_NOALIAS | LW_PARAM_READONLY;
    uint32_t n = m->body->params.n, loop, k = 0;
    lw_ref values, call, *args;

    LW_TRY(make_range_loop(m, err));
    loop = m->b.func_number;
    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    args = lw_arena_take(&m->module->arena, (n + RANGE_EXTRA) * sizeof *args);
    if (args == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    values = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "values");
    args[k++] = lw_ir_param_add(&m->b, LW_DT_ptr, fixed, "space");
    args[k++] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "begin");
    args[k++] = lw_ir_param_add(&m->b, LW_DT_i64, 0, "end");
    args[k++] = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "status");
    lw_ir_result_add(&m->b, LW_DT_i64);
    load_values(m, values);
    memcpy(args + k, m->args + m->n_index, (n - m->n_index) * sizeof *args);
    call = lw_ir_call(&m->b, loop, args, k + n - m->n_index);
    lw_ir_return(&m->b, &call, 1);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* ---- a thread, or the threads of a block ---- */

static void
return_status(lw_kernel_maker *m, lw_ref call)
{
    lw_ref status =
        m->scalar->can_raise ? lw_ir_result(&m->b, call, 0) : lw_ir_int(&m->b, LW_DT_i32, 0);

    if (m->scalar->n_raise_words) {
        lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, status, lw_ir_int(&m->b, LW_DT_i32, 0)));
        lw_kernel_note_words(m, call);
        lw_ir_end(&m->b);
    }
    lw_ir_return(&m->b, &status, 1);
}

static lw_status
make_single(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    lw_ref values;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&m->b, LW_DT_i32);
    values = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "values");
    lw_ir_context(&m->b); /* so that every function has one, whatever the body uses */
    load_values(m, values);
    return_status(m, lw_kernel_call_body(m));
    return lw_ir_finish(&m->b, err);
}

/* Stores the results, which follow the status and the exception's values. */
static void
store_results(lw_kernel_maker *m, lw_ref call, lw_ref results)
{
    uint32_t first = m->scalar->can_raise ? 1 + m->scalar->n_raise_words : 0;

    for (uint32_t i = first; i < m->body->results.n; i++) {
        lw_ref part = lw_ir_result(&m->b, call, i);
        if (lw_ir_type(&m->b, part) == LW_DT_b1)
            part = lw_ir_cast(&m->b, LW_DT_u8, part);
        lw_ir_store(&m->b, field(m, results, 8 * (size_t)(i - first)), part, 8, 0);
    }
}

static lw_status
make_value(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    lw_ref values, results, call;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&m->b, LW_DT_i32);
    values = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "values");
    results = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "results");
    load_values(m, values);
    call = lw_kernel_call_body(m);
    store_results(m, call, results);
    return_status(m, call);
    return lw_ir_finish(&m->b, err);
}

/* ---- a function of C's ---- */

/* A pointer is a one-dimensional array that ends where addresses do. */
static const int64_t POINTER_EXTENT = (int64_t)1 << 48;

static void
add_c_params(lw_kernel_maker *m)
{
    for (uint32_t i = 0; i < m->scalar->n_args; i++) {
        const lw_arg_parts *parts = &m->scalar->args[i];
        for (uint32_t k = 0; k < parts->n; k++) {
            uint32_t at = parts->first + k;
            const lw_ir_param *param = &m->body->params.data[at];
            if (parts->n_arrays && k > 0)
                m->args[at] = i64(m, k == 1 ? POINTER_EXTENT : 0);
            else
                m->args[at] = lw_ir_param_add(&m->b, param->type, 0, param->name);
        }
    }
}

static void
tell_ended(lw_kernel_maker *m, lw_ref call)
{
    static const lw_dtype types[] = {LW_DT_ptr, LW_DT_i32, LW_DT_u64, LW_DT_u64};
    uint32_t number = lw_ir_extern_add(m->module, LW_C_ENTRY_ENDED, LW_DT_void, types, 4);
    uint32_t n_words = m->scalar->n_raise_words;
    lw_ref args[4] = {lw_ir_entry(&m->b, m->b.func_number), lw_ir_int(&m->b, LW_DT_i32, 0),
                      lw_ir_zero(&m->b, LW_DT_u64), lw_ir_zero(&m->b, LW_DT_u64)};

    if (m->scalar->can_raise)
        args[1] = lw_ir_result(&m->b, call, 0);
    for (uint32_t i = 0; i < n_words; i++)
        args[2 + i] = lw_ir_result(&m->b, call, 1 + i);
    if (!lw_ir_prints(m->module))
        lw_ir_if(&m->b,
                 lw_ir_compare(&m->b, LW_OP_NE, args[1], lw_ir_int(&m->b, LW_DT_i32, 0)));
    lw_ir_host_call(&m->b, number, args, 4);
    if (!lw_ir_prints(m->module))
        lw_ir_end(&m->b);
}

/* A body that reports an exception at its end returns some number beside its status. */
static lw_ref
zero_if_raised(lw_kernel_maker *m, lw_ref call, lw_ref result)
{
    lw_ref status = lw_ir_result(&m->b, call, 0), zero = lw_ir_int(&m->b, LW_DT_i32, 0);
    lw_ref raised = lw_ir_compare(&m->b, LW_OP_NE, status, zero);

    return lw_ir_select(&m->b, raised, lw_ir_zero(&m->b, lw_ir_type(&m->b, result)), result);
}

static lw_status
make_c(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    uint32_t first = m->scalar->can_raise ? 1 + m->scalar->n_raise_words : 0;
    lw_ref call, result = 0;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    add_c_params(m);
    if (m->body->results.n > first)
        lw_ir_result_add(&m->b, m->body->results.data[first]);
    call = lw_kernel_call_body(m);
    if (m->body->results.n > first)
        result = lw_ir_result(&m->b, call, first);
    if (result != 0 && m->scalar->can_raise)
        result = zero_if_raised(m, call, result);
    if (m->scalar->can_raise || lw_ir_prints(m->module))
        tell_ended(m, call);
    lw_ir_return(&m->b, &result, m->body->results.n > first);
    return lw_ir_finish(&m->b, err);
}

static void
set_sreg(lw_kernel_maker *m, lw_sreg which, lw_ref value)
{
    size_t offset = offsetof(lw_kernel_context, sregs) + 4 * (size_t)which;

    lw_ir_store(&m->b, field(m, lw_ir_context(&m->b), offset), value, 4, 0);
}

/* Runs threads in the order of their index. One that raises ends the block: the context names
 * it. */
static void
thread_loops(lw_kernel_maker *m)
{
    lw_builder *b = &m->b;
    lw_ref zero = lw_ir_int(b, LW_DT_i32, 0), one = lw_ir_int(b, LW_DT_i32, 1), linear, call;
    lw_ref lane = lw_ir_slot(b, LW_DT_i32);
    lw_for loop[3];

    lw_ir_set(b, lane, zero);
    for (int d = 2; d >= 0; d--) {
        lw_ref end = lw_ir_sreg(b, (lw_sreg)(LW_SREG_NTID_X + d));
        loop[d] = lw_ir_for(b, zero, end, one, 0);
        set_sreg(m, (lw_sreg)(LW_SREG_TID_X + d), loop[d].i);
    }
    linear = lw_ir_get(b, lane);
    set_sreg(m, LW_SREG_LANEID, lw_ir_and(b, linear, lw_ir_int(b, LW_DT_i32, 31)));
    lw_ir_set(b, lane, lw_ir_add(b, linear, one));
    call = lw_kernel_call_body(m);
    if (m->scalar->can_raise) {
        lw_ref status = lw_ir_result(b, call, 0);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, zero));
        lw_kernel_note_words(m, call);
        lw_ir_return(b, &status, 1);
        lw_ir_end(b);
    }
    for (int d = 0; d < 3; d++)
        lw_ir_for_end(b, &loop[d]);
}

static lw_status
make_whole(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    lw_status status = LW_OK;
    uint32_t loop, n = 0;
    lw_ref values, zero, call, fixed;

    lw_builder_start(&m->b, m->module, "lw_block_loop");
    if (m->b.func != NULL)
        m->b.func->linkage = LW_OUTLINED;
    LW_TRY(lw_kernel_body_params(m, err));
    lw_ir_result_add(&m->b, LW_DT_i32);
    thread_loops(m);
    zero = lw_ir_int(&m->b, LW_DT_i32, 0);
    lw_ir_return(&m->b, &zero, 1);
    LW_TRY(lw_ir_finish(&m->b, err));
    loop = m->b.func_number;
    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&m->b, LW_DT_i32);
    values = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "values");
    load_values(m, values);
    for (uint32_t i = 0; i < m->body->params.n; i++) /* the loop has no parameters for others */
        if (!lw_kernel_is_fixed(m, i, &fixed))
            m->args[n++] = m->args[i];
    call = lw_ir_call(&m->b, loop, m->args, n);
    lw_ir_return(&m->b, &call, 1);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

lw_status
lw_kernel_host_entry(lw_kernel_maker *m, const char *symbol, lw_error *err)
{
    switch ((lw_entry_form)m->key->form) {
    case LW_ENTRY_RANGE: return make_range(m, symbol, err);
    case LW_ENTRY_SINGLE: return make_single(m, symbol, err);
    case LW_ENTRY_WHOLE: return make_whole(m, symbol, err);
    case LW_ENTRY_VALUE: return make_value(m, symbol, err);
    default: return make_c(m, symbol, err);
    }
}
