#include "forall/kernel_ir.h"

#include "core/ir/kernel_context.h"
#include "core/ir/report.h"
#include "core/opt/apart.h"
#include "core/opt/batch.h"
#include "core/opt/stride.h"

#include <stddef.h>
#include <string.h>

typedef struct maker {
    lw_builder b;
    lw_module *module;
    const lw_scalar *scalar;
    const lw_entry_key *key;
    bool noalias; /* the key's, unless an array is live data of the caller's */
    const lw_func *body;
    uint32_t n_index; /* how many of the body's first parameters are the index */
    lw_ref *args;     /* the arguments of the call of the body */
    uint32_t split;   /* GPU: where the bodies of a batch are divided; 0: nowhere */
    lw_ref index[LW_MAX_INDEX];
    lw_ref control;
    lw_ref space, status; /* host: pointers */
    int order[LW_MAX_INDEX];
    /* by position, fastest dimension first */
    lw_ref size[LW_MAX_INDEX], multiplier[LW_MAX_INDEX], shift[LW_MAX_INDEX];
    lw_ref start[LW_MAX_INDEX], step[LW_MAX_INDEX]; /* by dimension */
} maker;

static lw_ref
i64(maker *m, int64_t value)
{
    return lw_ir_int(&m->b, LW_DT_i64, value);
}

void
lw_space_order(const lw_entry_key *key, int order[LW_MAX_INDEX])
{
    int n = 0;

    order[n++] = key->fast;
    for (int d = 0; d < key->n_index; d++) /* then the dimension before it, … */
        if (d != key->fast)
            order[n++] = d;
    if (n == 3 && key->fast == 2) { /* the last is fastest: the middle one is next */
        order[1] = 1;
        order[2] = 0;
    }
}

/* ---- parameters ---- */

enum { SHORT_BODY = 200 };
enum { IS_ARRAY = 1u << 31 };

/* What is known of each parameter of the body: LW_PARAM_*, IS_ARRAY. Where threads wait for
 * each other, one reads what another has written, and `noalias` would tell LLVM that no barrier
 * changes such memory. */
static void
param_flags(const maker *m, uint32_t *flags)
{
    bool meets = lw_ir_has_op(m->scalar->module, LW_OP_BARRIER) ||
                 lw_ir_has_op(m->scalar->module, LW_OP_KERNEL_CALL);

    for (uint32_t i = 0; i < m->scalar->n_args; i++) {
        const lw_arg_parts *parts = &m->scalar->args[i];
        for (uint32_t k = 0; k < parts->n_arrays; k++)
            flags[parts->addresses[k]] =
                IS_ARRAY | (parts->written[k] ? 0 : LW_PARAM_READONLY) |
                (m->noalias && !(meets && parts->written[k]) ? LW_PARAM_NOALIAS : 0);
    }
}

/* Of an address without a size (lw_type_row.endless): so many elements that no slice is cut. */
static const int64_t endless = (int64_t)1 << 62;

/* Whether the body's parameter has a value that no caller gives, the extent or the stride of
 * what is at an address: *out. */
static bool
is_fixed(maker *m, uint32_t param, lw_ref *out)
{
    for (uint32_t i = 0; i < m->scalar->n_args; i++) {
        const lw_arg_parts *parts = &m->scalar->args[i];
        if (!parts->pointer || param <= parts->first || param >= parts->first + parts->n)
            continue;
        *out = lw_ir_int(&m->b, m->body->params.data[param].type,
                         param == parts->first + 1 ? endless : parts->item_bytes);
        return true;
    }
    return false;
}

/* Adds the body's parameters after the index to this function. */
static lw_status
add_body_params(maker *m, lw_error *err)
{
    uint32_t n = m->body->params.n;
    uint32_t *flags = lw_arena_take(&m->module->arena, (n + 1) * sizeof *flags);

    if (flags == NULL)
        return lw_fail_memory(err);
    param_flags(m, flags);
    if (m->key->form == LW_ENTRY_FORALL && lw_kernel_batch(m->scalar) > 1)
        m->split = lw_batch_split(m->body, flags, m->noalias);
    for (uint32_t i = m->n_index; i < n; i++) {
        lw_ir_param *param;
        if (is_fixed(m, i, &m->args[i]))
            continue;
        m->args[i] = lw_ir_param_add(&m->b, m->body->params.data[i].type, flags[i] & ~IS_ARRAY,
                                     m->body->params.data[i].name);
        if (m->b.func == NULL || m->b.func->params.n == 0)
            continue;
        param = &m->b.func->params.data[m->b.func->params.n - 1];
        param->align_log2 = m->body->params.data[i].align_log2;
        if (m->key->aligned && (flags[i] & IS_ARRAY))
            param->align_log2 = 4;
    }
    return LW_OK;
}

static lw_ref
call_body(maker *m)
{
    memcpy(m->args, m->index, m->n_index * sizeof *m->args);
    return lw_ir_call(&m->b, m->scalar->body, m->args, m->body->params.n);
}

/* ---- GPU ---- */

static void
add_space_params(maker *m)
{
    lw_dtype count = m->key->wide ? LW_DT_i64 : LW_DT_u32;
    lw_dtype at = m->key->wide ? LW_DT_i64 : LW_DT_i32;

    for (int k = 0; k + 1 < m->key->n_index; k++) {
        m->size[k] = lw_ir_param_add(&m->b, count, 0, "size");
        if (m->key->wide)
            continue;
        m->multiplier[k] = lw_ir_param_add(&m->b, count, 0, "multiplier");
        m->shift[k] = lw_ir_param_add(&m->b, count, 0, "shift");
    }
    for (int d = 0; d < m->key->n_index && m->key->stepped; d++) {
        m->start[d] = lw_ir_param_add(&m->b, at, 0, "start");
        m->step[d] = lw_ir_param_add(&m->b, at, 0, "step");
    }
}

/* The index of a dimension at coordinate `at`, in the type of the body's parameter; a
 * coordinate that was unsigned is known not to be negative. */
static lw_ref
index_at(maker *m, int d, lw_ref at)
{
    lw_builder *b = &m->b;

    if (m->key->stepped)
        at = lw_ir_add(b, m->start[d],
                       lw_ir_mul(b, lw_ir_cast(b, lw_ir_type(b, m->start[d]), at), m->step[d]));
    return lw_ir_cast(b, LW_DT_i64, at);
}

static lw_ref
quotient(maker *m, lw_ref item, int place)
{
    lw_builder *b = &m->b;

    if (m->key->wide)
        return lw_ir_div(b, item, m->size[place]);
    return lw_ir_shr(b, lw_ir_add(b, lw_ir_mulhi(b, item, m->multiplier[place]), item),
                     m->shift[place]);
}

static void
index_of_item(maker *m, lw_ref item)
{
    lw_builder *b = &m->b;
    int last = m->key->n_index - 1;

    for (int k = 0; k < last; k++) {
        lw_ref q = quotient(m, item, k);
        m->index[m->order[k]] =
            index_at(m, m->order[k], lw_ir_sub(b, item, lw_ir_mul(b, q, m->size[k])));
        item = q;
    }
    m->index[m->order[last]] = index_at(m, m->order[last], item);
}

/* Values 0 … 2 are the index; the values that the exception carries follow. */
static void
report(maker *m, lw_ref call, const lw_ref *index, uint32_t n)
{
    lw_ref values[LW_REPORT_VALUES];
    uint32_t n_words = m->scalar->n_raise_words;

    if (!m->scalar->can_raise)
        return;
    for (uint32_t i = 0; i < LW_MAX_INDEX; i++)
        values[i] = i < n ? index[i] : lw_ir_int(&m->b, LW_DT_u64, 0);
    for (uint32_t i = 0; i < n_words; i++)
        values[LW_MAX_INDEX + i] = lw_ir_result(&m->b, call, 1 + i);
    lw_report_emit(&m->b, m->control, lw_ir_result(&m->b, call, 0), values,
                   n_words ? LW_MAX_INDEX + n_words : n);
}

/* Passes on the values of an exception: on the host, where the status is not 0. */
static void
note_words(maker *m, lw_ref call)
{
    uint32_t n_words = m->scalar->n_raise_words;
    lw_ref words[LW_RAISE_WORDS];

    if (n_words == 0)
        return;
    for (uint32_t i = 0; i < n_words; i++)
        words[i] = lw_ir_result(&m->b, call, 1 + i);
    lw_report_note(&m->b, words, n_words);
}

static lw_ref
thread_product(maker *m, lw_dtype type, lw_sreg x, lw_sreg y)
{
    return lw_ir_mul(&m->b, lw_ir_cast(&m->b, type, lw_ir_sreg(&m->b, x)),
                     lw_ir_cast(&m->b, type, lw_ir_sreg(&m->b, y)));
}

/* Short bodies wait for memory most of the time, so an iteration takes several items, whose
 * loads are in flight together. */
uint32_t
lw_kernel_batch(const lw_scalar *scalar)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < scalar->module->funcs.n; i++) {
        const lw_func *func = scalar->module->funcs.data[i];
        n += func->insts.n;
        for (uint32_t k = 1; k < func->insts.n; k++)
            if (func->insts.data[k].op == LW_OP_LOOP)
                return 1;
    }
    return n <= SHORT_BODY && !scalar->can_raise ? LW_BATCH : 1;
}

/* Adds the bodies of the items at `item`, a stride apart, and returns the item after them. */
static lw_ref
divided_bodies(maker *m, lw_ref item, lw_ref stride)
{
    uint32_t n = m->body->params.n;
    lw_ref *args[LW_BATCH];

    for (int i = 0; i < LW_BATCH; i++) {
        args[i] = lw_arena_take(&m->module->arena, (n + 1) * sizeof **args);
        if (args[i] == NULL) {
            m->module->failed = true;
            return item;
        }
        index_of_item(m, item);
        memcpy(args[i], m->args, n * sizeof **args);
        memcpy(args[i], m->index, m->n_index * sizeof **args);
        item = lw_ir_add(&m->b, item, stride);
    }
    lw_batch_emit(&m->b, m->body, m->split, args);
    return item;
}

static lw_ref
bodies(maker *m, lw_ref item, lw_ref stride, int n)
{
    for (int i = 0; i < n; i++) {
        index_of_item(m, item);
        report(m, call_body(m), m->index, m->n_index);
        item = lw_ir_add(&m->b, item, stride);
    }
    return item;
}

/* A loop whose iterations take `batch` items, a stride apart, while all of them are below
 * `end`. */
static void
make_iterations(maker *m, lw_ref slot, lw_ref stride, lw_ref end, int batch)
{
    lw_builder *b = &m->b;
    lw_ref item;

    lw_ir_loop(b, LW_LOOP_NO_UNROLL, 0);
    item = lw_ir_get(b, slot);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, lw_ir_cast(b, lw_ir_type(b, end), item), end));
    lw_ir_break(b, 0);
    lw_ir_end(b);
    if (batch > 1 && m->split)
        item = divided_bodies(m, item, stride);
    else
        item = bodies(m, item, stride, batch);
    lw_ir_set(b, slot, item);
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* No counter wraps: the launcher ensures that a grid has fewer than 2^31 threads, and items
 * that are not wide are fewer too; the end of whole batches is counted in 64 bits. */
static void
stride_loop(maker *m, lw_ref items)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, items);
    lw_ref slot = lw_ir_slot(b, type);
    lw_ref stride = thread_product(m, type, LW_SREG_NCTAID_X, LW_SREG_NTID_X);

    lw_ir_set(b, slot,
              lw_ir_add(b, thread_product(m, type, LW_SREG_CTAID_X, LW_SREG_NTID_X),
                        lw_ir_cast(b, type, lw_ir_sreg(b, LW_SREG_TID_X))));
    if (lw_kernel_batch(m->scalar) > 1) {
        lw_ref ahead = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, stride), i64(m, LW_BATCH - 1));
        make_iterations(m, slot, stride, lw_ir_sub(b, lw_ir_cast(b, LW_DT_i64, items), ahead),
                        LW_BATCH);
    }
    make_iterations(m, slot, stride, items, 1);
}

static lw_status
make_gpu(maker *m, const char *symbol, const lw_entry_limits *limits, lw_error *err)
{
    lw_status status = LW_OK;
    lw_ref items = 0;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL) {
        m->b.func->linkage = LW_KERNEL;
        m->b.func->max_threads = limits->max_threads;
        m->b.func->min_blocks = limits->min_blocks;
        m->b.func->max_cluster = limits->max_cluster;
        m->b.func->max_registers = limits->max_registers;
    }
    if (m->key->form == LW_ENTRY_FORALL) {
        items = lw_ir_param_add(&m->b, m->key->wide ? LW_DT_i64 : LW_DT_u32, 0, "items");
        add_space_params(m);
    }
    LW_TRY(add_body_params(m, err));
    if (m->scalar->can_raise)
        m->control = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "control");
    if (m->key->form == LW_ENTRY_FORALL)
        stride_loop(m, items);
    else
        report(m, call_body(m), NULL, 0);
    lw_ir_return(&m->b, NULL, 0);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* ---- host: a part of an index space ---- */

enum { RANGE_EXTRA = 4 }; /* space, begin, end, status */

static lw_ref
field(maker *m, lw_ref base, size_t offset)
{
    return lw_ir_offset(&m->b, base, i64(m, (int64_t)offset));
}

static lw_ref
space_field(maker *m, size_t offset, int d)
{
    return lw_ir_load(&m->b, LW_DT_i64, 1, field(m, m->space, offset + 8 * (size_t)d), 8,
                      LW_MEM_INVARIANT);
}

static void
load_space(maker *m)
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
loop_flags(const maker *m)
{
    if (!m->noalias || m->key->watched || lw_ir_has_own_memory(m->scalar->module) ||
        lw_ir_has_op(m->scalar->module, LW_OP_ATOMIC) || lw_ir_prints(m->scalar->module))
        return 0;
    return LW_LOOP_VECTORIZE;
}

/* Runs one element; if it raises, the function returns its number. */
static void
run_element(maker *m, lw_ref number)
{
    lw_builder *b = &m->b;
    lw_ref call = call_body(m), status;

    if (!m->scalar->can_raise)
        return;
    status = lw_ir_result(b, call, 0);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, lw_ir_int(b, LW_DT_i32, 0)));
    note_words(m, call);
    lw_ir_store(b, m->status, status, 0, 0);
    lw_ir_return(b, &number, 1);
    lw_ir_end(b);
}

static void
line_loop(maker *m, lw_ref begin, lw_ref end)
{
    lw_for loop = lw_ir_for(&m->b, begin, end, i64(m, 1), loop_flags(m), 0);

    m->index[0] = index_at(m, 0, loop.i);
    run_element(m, loop.i);
    lw_ir_for_end(&m->b, &loop);
}

/* Loops over rows of the fastest dimension; the first and the last row may be incomplete. */
static void
row_loops(maker *m, lw_ref begin, lw_ref end)
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
        m->index[m->order[k]] = index_at(m, m->order[k], c);
        item = q;
    }
    left = lw_ir_sub(b, end, at);
    room = lw_ir_sub(b, m->size[0], column);
    room = lw_ir_select(b, lw_ir_compare(b, LW_OP_LT, left, room), left, room);
    /* always true, which tells LLVM the sign */
    lw_ir_if(b, lw_ir_compare(b, LW_OP_GE, column, i64(m, 0)));
    loop = lw_ir_for(b, column, lw_ir_add(b, column, room), i64(m, 1), loop_flags(m), 0);
    m->index[m->order[0]] = index_at(m, m->order[0], loop.i);
    run_element(m, lw_ir_add(b, lw_ir_sub(b, loop.i, column), at));
    lw_ir_for_end(b, &loop);
    lw_ir_end(b);
    lw_ir_set(b, slot, lw_ir_add(b, at, room));
    lw_ir_latch(b);
    lw_ir_end(b);
}

/* The loop is a function of its own, so that what is known of its pointers holds throughout. */
static lw_status
make_range_loop(maker *m, lw_error *err)
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
    LW_TRY(add_body_params(m, err));
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

/* ---- host: entries ---- */

static void
load_values(maker *m, lw_ref values)
{
    for (uint32_t i = m->n_index, k = 0; i < m->body->params.n; i++) {
        lw_dtype type = m->body->params.data[i].type;
        lw_dtype stored = type == LW_DT_b1 ? LW_DT_u8 : type;
        lw_ref at;
        if (is_fixed(m, i, &m->args[i]))
            continue;
        at = field(m, values, 8 * (size_t)k++);
        m->args[i] =
            lw_ir_cast(&m->b, type, lw_ir_load(&m->b, stored, 1, at, 8, LW_MEM_INVARIANT));
    }
}

static lw_status
make_range(maker *m, const char *symbol, lw_error *err)
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

/* ---- host: a thread, or the threads of a block ---- */

static void
return_status(maker *m, lw_ref call)
{
    lw_ref status =
        m->scalar->can_raise ? lw_ir_result(&m->b, call, 0) : lw_ir_int(&m->b, LW_DT_i32, 0);

    if (m->scalar->n_raise_words) {
        lw_ir_if(&m->b, lw_ir_compare(&m->b, LW_OP_NE, status, lw_ir_int(&m->b, LW_DT_i32, 0)));
        note_words(m, call);
        lw_ir_end(&m->b);
    }
    lw_ir_return(&m->b, &status, 1);
}

static lw_status
make_single(maker *m, const char *symbol, lw_error *err)
{
    lw_ref values;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&m->b, LW_DT_i32);
    values = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "values");
    lw_ir_context(&m->b); /* so that every function has one, whatever the body uses */
    load_values(m, values);
    return_status(m, call_body(m));
    return lw_ir_finish(&m->b, err);
}

/* Stores the results, which follow the status and the exception's values. */
static void
store_results(maker *m, lw_ref call, lw_ref results)
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
make_value(maker *m, const char *symbol, lw_error *err)
{
    lw_ref values, results, call;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    lw_ir_result_add(&m->b, LW_DT_i32);
    values = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS | LW_PARAM_READONLY, "values");
    results = lw_ir_param_add(&m->b, LW_DT_ptr, LW_PARAM_NOALIAS, "results");
    load_values(m, values);
    call = call_body(m);
    store_results(m, call, results);
    return_status(m, call);
    return lw_ir_finish(&m->b, err);
}

/* ---- host: a function of C's ---- */

/* A pointer is a one-dimensional array that ends where addresses do. */
static const int64_t POINTER_EXTENT = (int64_t)1 << 48;

static void
add_c_params(maker *m)
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
tell_ended(maker *m, lw_ref call)
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
zero_if_raised(maker *m, lw_ref call, lw_ref result)
{
    lw_ref status = lw_ir_result(&m->b, call, 0), zero = lw_ir_int(&m->b, LW_DT_i32, 0);
    lw_ref raised = lw_ir_compare(&m->b, LW_OP_NE, status, zero);

    return lw_ir_select(&m->b, raised, lw_ir_zero(&m->b, lw_ir_type(&m->b, result)), result);
}

static lw_status
make_c(maker *m, const char *symbol, lw_error *err)
{
    uint32_t first = m->scalar->can_raise ? 1 + m->scalar->n_raise_words : 0;
    lw_ref call, result = 0;

    lw_builder_start(&m->b, m->module, symbol);
    if (m->b.func != NULL)
        m->b.func->linkage = LW_EXPORTED;
    add_c_params(m);
    if (m->body->results.n > first)
        lw_ir_result_add(&m->b, m->body->results.data[first]);
    call = call_body(m);
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
set_sreg(maker *m, lw_sreg which, lw_ref value)
{
    size_t offset = offsetof(lw_kernel_context, sregs) + 4 * (size_t)which;

    lw_ir_store(&m->b, field(m, lw_ir_context(&m->b), offset), value, 4, 0);
}

/* Runs threads in the order of their index. One that raises ends the block: the context names
 * it. */
static void
thread_loops(maker *m)
{
    lw_builder *b = &m->b;
    lw_ref zero = lw_ir_int(b, LW_DT_i32, 0), one = lw_ir_int(b, LW_DT_i32, 1), linear, call;
    lw_ref lane = lw_ir_slot(b, LW_DT_i32);
    lw_for loop[3];

    lw_ir_set(b, lane, zero);
    for (int d = 2; d >= 0; d--) {
        lw_ref end = lw_ir_sreg(b, (lw_sreg)(LW_SREG_NTID_X + d));
        loop[d] = lw_ir_for(b, zero, end, one, 0, 0);
        set_sreg(m, (lw_sreg)(LW_SREG_TID_X + d), loop[d].i);
    }
    linear = lw_ir_get(b, lane);
    set_sreg(m, LW_SREG_LANEID, lw_ir_and(b, linear, lw_ir_int(b, LW_DT_i32, 31)));
    lw_ir_set(b, lane, lw_ir_add(b, linear, one));
    call = call_body(m);
    if (m->scalar->can_raise) {
        lw_ref status = lw_ir_result(b, call, 0);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_NE, status, zero));
        note_words(m, call);
        lw_ir_return(b, &status, 1);
        lw_ir_end(b);
    }
    for (int d = 0; d < 3; d++)
        lw_ir_for_end(b, &loop[d]);
}

static lw_status
make_whole(maker *m, const char *symbol, lw_error *err)
{
    lw_status status = LW_OK;
    uint32_t loop, n = 0;
    lw_ref values, zero, call, fixed;

    lw_builder_start(&m->b, m->module, "lw_block_loop");
    if (m->b.func != NULL)
        m->b.func->linkage = LW_OUTLINED;
    LW_TRY(add_body_params(m, err));
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
        if (!is_fixed(m, i, &fixed))
            m->args[n++] = m->args[i];
    call = lw_ir_call(&m->b, loop, m->args, n);
    lw_ir_return(&m->b, &call, 1);
    LW_TRY(lw_ir_finish(&m->b, err));
fail:
    return status;
}

/* Where no array that is written overlaps another argument, copies between arrays need not
 * handle overlaps. */
static lw_status
tell_apart(lw_module *module, const lw_scalar *scalar, lw_error *err)
{
    uint32_t n = module->funcs.data[scalar->body]->params.n;
    bool *alone = lw_arena_take(&module->arena, n + 1);

    if (alone == NULL)
        return lw_fail_memory(err);
    for (uint32_t i = 0; i < scalar->n_args; i++)
        for (uint32_t k = 0; k < scalar->args[i].n_arrays; k++)
            alone[scalar->args[i].addresses[k]] = scalar->args[i].written[k];
    return lw_opt_apart(module, scalar->body, alone, err);
}

/* Whether host code reads a captured array in place, which may be an argument as well. */
static bool
has_live_data(const lw_module *module)
{
    for (uint32_t i = 0; i < module->datas.n; i++)
        if (module->datas.data[i].address && !module->datas.data[i].varying)
            return true;
    return false;
}

lw_status
lw_kernel_module(const lw_scalar *scalar, const lw_entry_key *key, const char *symbol,
                 const lw_entry_limits *limits, lw_module **out, lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    maker m = {.scalar = scalar, .key = key};
    bool indexed = key->form == LW_ENTRY_FORALL || key->form == LW_ENTRY_RANGE;

    LW_TRY(lw_module_copy(scalar->module, &module, err));
    m.noalias = key->noalias && !has_live_data(module);
    if (m.noalias)
        LW_TRY(tell_apart(module, scalar, err));
    if (m.noalias && !indexed && key->form != LW_ENTRY_VALUE)
        LW_TRY(lw_opt_stride(module, scalar->body, err));
    m.module = module;
    m.body = module->funcs.data[scalar->body];
    m.n_index = indexed ? key->n_index : 0;
    m.args = lw_arena_take(&module->arena, (m.body->params.n + 1) * sizeof *m.args);
    if (m.args == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    if (indexed)
        lw_space_order(key, m.order);
    switch ((lw_entry_form)key->form) {
    case LW_ENTRY_GRID:
    case LW_ENTRY_FORALL: status = make_gpu(&m, symbol, limits, err); break;
    case LW_ENTRY_RANGE: status = make_range(&m, symbol, err); break;
    case LW_ENTRY_SINGLE: status = make_single(&m, symbol, err); break;
    case LW_ENTRY_WHOLE: status = make_whole(&m, symbol, err); break;
    case LW_ENTRY_VALUE: status = make_value(&m, symbol, err); break;
    case LW_ENTRY_C: status = make_c(&m, symbol, err); break;
    }
    if (status != LW_OK)
        goto fail;
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}
