#include "forall/kernel_ir.h"

#include "forall/kernel_ir_internal.h"

#include "core/ir/report.h"
#include "core/opt/apart.h"
#include "core/opt/batch.h"
#include "core/opt/stride.h"

#include <string.h>

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
param_flags(const lw_kernel_maker *m, uint32_t *flags)
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

bool
lw_kernel_is_fixed(lw_kernel_maker *m, uint32_t param, lw_ref *out)
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

lw_status
lw_kernel_body_params(lw_kernel_maker *m, lw_error *err)
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
        if (lw_kernel_is_fixed(m, i, &m->args[i]))
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

lw_ref
lw_kernel_call_body(lw_kernel_maker *m)
{
    memcpy(m->args, m->index, m->n_index * sizeof *m->args);
    return lw_ir_call(&m->b, m->scalar->body, m->args, m->body->params.n);
}

/* ---- GPU ---- */

static void
add_space_params(lw_kernel_maker *m)
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

lw_ref
lw_kernel_index_at(lw_kernel_maker *m, int d, lw_ref at)
{
    lw_builder *b = &m->b;

    if (m->key->stepped)
        at = lw_ir_add(b, m->start[d],
                       lw_ir_mul(b, lw_ir_cast(b, lw_ir_type(b, m->start[d]), at), m->step[d]));
    return lw_ir_cast(b, LW_DT_i64, at);
}

static lw_ref
quotient(lw_kernel_maker *m, lw_ref item, int place)
{
    lw_builder *b = &m->b;

    if (m->key->wide)
        return lw_ir_div(b, item, m->size[place]);
    return lw_ir_quotient(b, item, m->multiplier[place], m->shift[place]);
}

static void
index_of_item(lw_kernel_maker *m, lw_ref item)
{
    lw_builder *b = &m->b;
    int last = m->key->n_index - 1;

    for (int k = 0; k < last; k++) {
        lw_ref q = quotient(m, item, k);
        m->index[m->order[k]] =
            lw_kernel_index_at(m, m->order[k], lw_ir_sub(b, item, lw_ir_mul(b, q, m->size[k])));
        item = q;
    }
    m->index[m->order[last]] = lw_kernel_index_at(m, m->order[last], item);
}

/* Values 0 … 2 are the index; the values that the exception carries follow. */
static void
report(lw_kernel_maker *m, lw_ref call, const lw_ref *index, uint32_t n)
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

void
lw_kernel_note_words(lw_kernel_maker *m, lw_ref call)
{
    uint32_t n_words = m->scalar->n_raise_words;
    lw_ref words[LW_RAISE_WORDS];

    if (n_words == 0)
        return;
    for (uint32_t i = 0; i < n_words; i++)
        words[i] = lw_ir_result(&m->b, call, 1 + i);
    lw_report_note(&m->b, words, n_words);
}

/* The number of threads in so many blocks. */
static lw_ref
threads_of(lw_kernel_maker *m, lw_dtype type, lw_sreg blocks)
{
    return lw_ir_mul(&m->b, lw_ir_cast(&m->b, type, lw_ir_sreg(&m->b, blocks)),
                     lw_ir_cast(&m->b, type, lw_ir_sreg(&m->b, LW_SREG_NTID_X)));
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
divided_bodies(lw_kernel_maker *m, lw_ref item, lw_ref stride)
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
bodies(lw_kernel_maker *m, lw_ref item, lw_ref stride, int n)
{
    for (int i = 0; i < n; i++) {
        index_of_item(m, item);
        report(m, lw_kernel_call_body(m), m->index, m->n_index);
        item = lw_ir_add(&m->b, item, stride);
    }
    return item;
}

/* A loop whose iterations take `batch` items, a stride apart, while all of them are below
 * `end`. */
static void
make_iterations(lw_kernel_maker *m, lw_ref slot, lw_ref stride, lw_ref end, int batch)
{
    lw_builder *b = &m->b;
    lw_ref item;

    lw_ir_loop(b, LW_LOOP_NO_UNROLL);
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
stride_loop(lw_kernel_maker *m, lw_ref items)
{
    lw_builder *b = &m->b;
    lw_dtype type = lw_ir_type(b, items);
    lw_ref slot = lw_ir_slot(b, type);
    lw_ref stride = threads_of(m, type, LW_SREG_NCTAID_X);

    lw_ir_set(b, slot,
              lw_ir_add(b, threads_of(m, type, LW_SREG_CTAID_X),
                        lw_ir_cast(b, type, lw_ir_sreg(b, LW_SREG_TID_X))));
    if (lw_kernel_batch(m->scalar) > 1) {
        lw_ref ahead = lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, stride), i64(m, LW_BATCH - 1));
        make_iterations(m, slot, stride, lw_ir_sub(b, lw_ir_cast(b, LW_DT_i64, items), ahead),
                        LW_BATCH);
    }
    make_iterations(m, slot, stride, items, 1);
}

static lw_status
make_gpu(lw_kernel_maker *m, const char *symbol, const lw_entry_limits *limits, lw_error *err)
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
    LW_TRY(lw_kernel_body_params(m, err));
    if (m->scalar->can_raise)
        m->control = lw_ir_param_add(&m->b, LW_DT_ptr, 0, "control");
    if (m->key->form == LW_ENTRY_FORALL)
        stride_loop(m, items);
    else
        report(m, lw_kernel_call_body(m), NULL, 0);
    lw_ir_return(&m->b, NULL, 0);
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
    lw_kernel_maker m = {.scalar = scalar, .key = key};
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
    default: status = lw_kernel_host_entry(&m, symbol, err); break;
    }
    if (status != LW_OK)
        goto fail;
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}
