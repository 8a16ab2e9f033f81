#include "ufunc/device_kernel_internal.h"

#include "core/ir/report.h"

#include <assert.h>
#include <string.h>

typedef lw_ufunc_maker kernel;
typedef lw_ufunc_site site;
typedef lw_ufunc_work workspace;

bool
lw_kernel_has_stride(const lw_kernel_key *key, int operand, int d)
{
    lw_access access = (lw_access)key->operands[operand].access;

    if (access == LW_ACCESS_VALUE || access == LW_ACCESS_CONSTANT)
        return false;
    return d > 0 || access == LW_ACCESS_GENERAL;
}

/* ---- parameters ---- */

/* A part of an excluded array. No output shares its memory: the call sees to that. */
static void
add_uniform_param(kernel *k, int i)
{
    bool address = k->uniforms->is_address[i];
    uint32_t flags = address && !k->uniforms->stores ? LW_PARAM_NOALIAS | LW_PARAM_READONLY : 0;

    k->constant[i][0] =
        lw_ir_param_add(&k->b, address ? LW_DT_ptr : LW_DT_i64, flags, "excluded");
}

static void
add_operand_params(kernel *k)
{
    const lw_kernel_key *key = k->key;
    int n_inputs = key->n_in;

    for (int i = 0; i < key->n_operands; i++) {
        uint32_t flags = key->noalias ? LW_PARAM_NOALIAS : 0;
        bool input = i < n_inputs || i >= n_inputs + key->n_out;
        if (i >= k->uniforms->first && i < n_inputs) {
            add_uniform_param(k, i);
            continue;
        }
        if (key->operands[i].access == LW_ACCESS_VALUE) {
            for (unsigned p = 0; p < lw_dtype_n_parts(lw_ufunc_dtype(k, i)); p++)
                k->constant[i][p] =
                    lw_ir_param_add(&k->b, lw_dtypes[lw_ufunc_dtype(k, i)].parts, 0, "value");
            continue;
        }
        k->pointer[i] = lw_ir_param_add(
            &k->b, LW_DT_ptr, flags | (input ? LW_PARAM_READONLY : 0), input ? "in" : "out");
    }
}

static void
add_params(kernel *k)
{
    const lw_kernel_key *key = k->key;

    k->items = lw_ir_param_add(&k->b, key->ndim ? LW_DT_u32 : LW_DT_i64, 0, "items");
    add_operand_params(k);
    for (int d = 0; d < 2 && key->tiled; d++)
        k->extent[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "extent");
    for (int d = 0; d + 1 < key->ndim; d++) {
        k->size[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "size");
        k->multiplier[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "multiplier");
        k->shift[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "shift");
    }
    for (int i = 0; i < key->n_operands; i++)
        for (int d = 0; d < key->ndim; d++)
            if (lw_kernel_has_stride(key, i, d))
                k->stride[i][d] =
                    lw_ir_param_add(&k->b, key->wide ? LW_DT_i64 : LW_DT_i32, 0, "stride");
    if (k->scalar->can_raise)
        k->report = lw_ir_param_add(&k->b, LW_DT_ptr, 0, "report");
}

/* ---- where an access lies ---- */

void
lw_ufunc_decompose(kernel *k, lw_ref item, lw_ref *coordinate)
{
    assert(k->key->ndim > 0); /* FLAT kernels have no coordinates */
    lw_ir_decompose(&k->b, item, k->key->ndim, k->size, k->multiplier, k->shift, coordinate);
}

lw_ref
lw_ufunc_offset(kernel *k, int operand, const lw_ref *coordinate)
{
    lw_builder *b = &k->b;
    lw_dtype width = k->key->wide ? LW_DT_i64 : LW_DT_i32;
    int64_t step = (int64_t)k->key->width * lw_dtypes[lw_ufunc_dtype(k, operand)].size_bytes;
    lw_ref sum = 0;

    for (int d = 0; d < k->key->ndim; d++) {
        lw_ref term, at = lw_ir_cast(b, width, coordinate[d]);
        if (lw_kernel_has_stride(k->key, operand, d))
            term = lw_ir_mul(b, at, k->stride[operand][d]);
        else if (k->key->operands[operand].access == LW_ACCESS_CONTIGUOUS)
            term = lw_ir_mul(b, at, lw_ir_int(b, width, step));
        else
            continue;
        sum = sum ? lw_ir_add(b, sum, term) : term;
    }
    return sum ? lw_ir_cast(b, LW_DT_i64, sum) : lw_ir_int(b, LW_DT_i64, 0);
}

void
lw_ufunc_locate(kernel *k, const lw_ref *coordinate, site *s)
{
    for (int i = 0; i < k->key->n_operands; i++)
        if (!lw_ufunc_is_constant(k, i))
            s->at[i] = lw_ir_offset(&k->b, k->pointer[i], lw_ufunc_offset(k, i, coordinate));
}

/* The access number `item` (FLAT: i64; STRIDED: u32) of `width` elements. */
static void
locate(kernel *k, lw_ref item, unsigned width, site *s)
{
    lw_builder *b = &k->b;
    lw_ref coordinate[LW_WALK_DIMS];

    if (k->key->ndim) {
        lw_ufunc_decompose(k, item, coordinate);
        lw_ufunc_locate(k, coordinate, s);
    }
    for (int i = 0; i < k->key->n_operands && !k->key->ndim; i++) {
        int64_t step = (int64_t)width * lw_dtypes[lw_ufunc_dtype(k, i)].size_bytes;
        if (!lw_ufunc_is_constant(k, i))
            s->at[i] = lw_ir_offset(b, k->pointer[i],
                                    lw_ir_mul(b, item, lw_ir_int(b, LW_DT_i64, step)));
    }
    if (k->scalar->can_raise)
        s->element =
            lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, item), lw_ir_int(b, LW_DT_i64, width));
}

/* ---- loads, body, stores ---- */

void
lw_ufunc_convert(kernel *k, int operand, unsigned n, lw_ref *parts)
{
    lw_dtype dtype = lw_ufunc_dtype(k, operand);

    for (unsigned e = 0; e < n; e++) {
        if (dtype == LW_DT_b1)
            parts[2 * e] = lw_ir_cast(&k->b, LW_DT_b1, parts[2 * e]);
        lw_lower_cast(&k->b, dtype, parts + 2 * e, k->loop_types[operand], parts + 2 * e);
    }
}

void
lw_ufunc_load(kernel *k, int operand, lw_ref at, unsigned width, lw_ref *parts)
{
    lw_builder *b = &k->b;
    lw_dtype dtype = lw_ufunc_dtype(k, operand), memory = lw_dtype_memory_part(dtype);
    unsigned n = lw_dtype_n_parts(dtype), lanes = width * n;
    bool repeated = k->key->operands[operand].access != LW_ACCESS_CONTIGUOUS;
    uint32_t flags = k->key->noalias ? LW_MEM_INVARIANT : 0;
    unsigned align = lw_dtypes[memory].size_bytes * (repeated ? 1 : width * n);
    lw_ref vector;

    if (repeated && width > 1)
        lanes = n; /* one element serves the whole access */
    if (repeated || align > 16)
        align = lw_dtypes[memory].size_bytes;
    if (width == 1 && n == 2) { /* complex: its parts may be aligned to one part only */
        for (unsigned p = 0; p < 2; p++)
            parts[p] = lw_ir_load(
                b, memory, 1,
                p ? lw_ir_offset(b, at, lw_ir_int(b, LW_DT_i64, lw_dtypes[memory].size_bytes))
                  : at,
                0, flags);
    } else {
        vector = lw_ir_load(b, memory, lanes, at, align, flags);
        for (unsigned i = 0; i < lanes; i++)
            parts[i / n * 2 + i % n] = lanes > 1 ? lw_ir_lane(b, vector, i) : vector;
    }
    assert(n == 1 || n == 2);
    lw_ufunc_convert(k, operand, lanes < n ? 1 : lanes / n, parts);
    if (repeated)
        for (unsigned e = 1; e < width; e++)
            memcpy(parts + 2 * e, parts, 2 * sizeof *parts);
}

static void
load_constants(kernel *k)
{
    for (int i = 0; i < k->key->n_in && i < k->uniforms->first; i++) {
        if (k->key->operands[i].access == LW_ACCESS_VALUE)
            lw_lower_cast(&k->b, lw_ufunc_dtype(k, i), k->constant[i], k->loop_types[i],
                          k->constant[i]);
        else if (k->key->operands[i].access == LW_ACCESS_CONSTANT)
            lw_ufunc_load(k, i, k->pointer[i], 1, k->constant[i]);
    }
}

void
lw_ufunc_load_site(kernel *k, const site *s, unsigned width, lw_ref (*in)[LW_UFUNC_ELEMENTS])
{
    for (int i = 0; i < k->key->n_in; i++) {
        if (!lw_ufunc_is_constant(k, i)) {
            lw_ufunc_load(k, i, s->at[i], width, in[i]);
            continue;
        }
        for (unsigned e = 0; e < width; e++)
            memcpy(in[i] + 2 * e, k->constant[i], 2 * sizeof(lw_ref));
    }
}

/* A nonzero status leaves its mark, with the element and what the exception carries. */
static void
report(kernel *k, lw_ref call, lw_ref element)
{
    lw_ref values[1 + LW_RAISE_WORDS] = {element};
    uint32_t n = k->scalar->n_raise_words;

    for (uint32_t i = 0; i < n; i++)
        values[1 + i] = lw_ir_result(&k->b, call, 1 + i);
    lw_report_emit(&k->b, k->report, lw_ir_result(&k->b, call, 0), values, 1 + n);
}

void
lw_ufunc_body(kernel *k, lw_ref (*in)[LW_UFUNC_ELEMENTS], unsigned e, lw_ref element,
              lw_ref (*out)[LW_UFUNC_ELEMENTS])
{
    lw_builder *b = &k->b;
    lw_ref args[2 * LW_MAX_ARGS], call;
    uint32_t n = 0, at = 0;

    for (int j = 0; j < k->key->n_in; j++) {
        int i = k->uniforms->order[j];
        for (unsigned p = 0; p < lw_dtype_n_parts(k->loop_types[i]); p++)
            args[n++] = in[i][2 * e + p];
    }
    call = lw_ir_call(b, k->scalar->body, args, n);
    if (k->scalar->can_raise) {
        report(k, call, lw_ir_add(b, element, lw_ir_int(b, LW_DT_i64, e)));
        at = 1 + k->scalar->n_raise_words;
    }
    for (int o = 0; o < k->key->n_out; o++)
        for (unsigned p = 0; p < lw_dtype_n_parts(k->loop_types[k->key->n_in + o]); p++)
            out[o][2 * e + p] = lw_ir_result(b, call, at++);
}

static void
store_operand(kernel *k, int operand, lw_ref at, unsigned width, const lw_ref *parts)
{
    lw_builder *b = &k->b;
    lw_dtype dtype = lw_ufunc_dtype(k, operand), memory = lw_dtype_memory_part(dtype);
    unsigned n = lw_dtype_n_parts(dtype), align = lw_dtypes[memory].size_bytes * width * n;
    lw_ref lanes[LW_UFUNC_ELEMENTS], one[LW_UFUNC_PARTS] = {0};

    for (unsigned e = 0; e < width; e++) {
        lw_lower_cast(b, k->loop_types[operand], parts + 2 * e, dtype, one);
        for (unsigned p = 0; p < n; p++)
            lanes[e * n + p] = dtype == LW_DT_b1 ? lw_ir_cast(b, LW_DT_u8, one[p]) : one[p];
    }
    if (width == 1) {
        for (unsigned p = 0; p < n; p++)
            lw_ir_store(
                b,
                p ? lw_ir_offset(b, at, lw_ir_int(b, LW_DT_i64, lw_dtypes[memory].size_bytes))
                  : at,
                lanes[p], 0, 0);
        return;
    }
    lw_ir_store(b, at, lw_ir_pack(b, memory, lanes, width * n), align > 16 ? 16 : align, 0);
}

void
lw_ufunc_store_site(kernel *k, const site *s, unsigned width, lw_ref (*out)[LW_UFUNC_ELEMENTS])
{
    for (int o = 0; o < k->key->n_out; o++)
        store_operand(k, k->key->n_in + o, s->at[k->key->n_in + o], width, out[o]);
}

/* ---- the two ways through a block ---- */

lw_ref
lw_ufunc_load_mask(kernel *k, const site *s)
{
    int mask = k->key->n_operands - 1;

    if (!k->key->masked)
        return 0;
    return lw_ir_load(&k->b, LW_DT_u8, 1,
                      lw_ufunc_is_constant(k, mask) ? k->pointer[mask] : s->at[mask], 0, 0);
}

static void
if_selected(kernel *k, lw_ref byte)
{
    if (k->key->masked)
        lw_ir_if(&k->b, lw_ir_compare(&k->b, LW_OP_NE, byte, lw_ir_int(&k->b, LW_DT_u8, 0)));
}

/* One element, or with a mask perhaps none. */
static void
walk_one(kernel *k, workspace *w, lw_ref item)
{
    lw_builder *b = &k->b;

    locate(k, item, 1, &w->site);
    if_selected(k, lw_ufunc_load_mask(k, &w->site));
    lw_ufunc_load_site(k, &w->site, 1, w->in);
    lw_ufunc_body(k, w->in, 0, w->site.element, w->out);
    lw_ufunc_store_site(k, &w->site, 1, w->out);
    if (k->key->masked)
        lw_ir_end(b);
}

void
lw_ufunc_selected(kernel *k, workspace *w)
{
    if_selected(k, w->mask);
    lw_ufunc_body(k, w->in, 0, w->site.element, w->out);
    lw_ufunc_store_site(k, &w->site, 1, w->out);
    if (k->key->masked)
        lw_ir_end(&k->b);
}

/* A block that lies wholly inside: no tests, loads of all groups before the first body. */
static lw_status
walk_full(kernel *k, lw_ref first, lw_dtype index, lw_error *err)
{
    unsigned groups = k->key->groups, width = k->key->width;
    workspace *w = lw_arena_take(&k->b.module->arena, groups * sizeof *w);

    if (w == NULL)
        return lw_fail_memory(err);
    for (unsigned g = 0; g < groups; g++) {
        lw_ref item =
            g ? lw_ir_add(&k->b, first, lw_ir_int(&k->b, index, (int64_t)g * LW_PLAN_BLOCK))
              : first;
        locate(k, item, width, &w[g].site);
        w[g].mask = lw_ufunc_load_mask(k, &w[g].site);
        lw_ufunc_load_site(k, &w[g].site, width, w[g].in);
    }
    for (unsigned g = 0; g < groups && k->key->masked; g++)
        lw_ufunc_selected(k, &w[g]);
    for (unsigned g = 0; g < groups && !k->key->masked; g++)
        for (unsigned e = 0; e < width; e++)
            lw_ufunc_body(k, w[g].in, e, w[g].site.element, w[g].out);
    for (unsigned g = 0; g < groups && !k->key->masked; g++)
        lw_ufunc_store_site(k, &w[g].site, width, w[g].out);
    return LW_OK;
}

/* The last block: its elements one by one, with a test each. Counted in 32 bits from the
 * block's beginning, and written without lw_ir_for's care for overflow: both halve the compile
 * time. */
static lw_status
walk_rest(kernel *k, lw_ref begin, lw_ref tid, lw_error *err)
{
    lw_builder *b = &k->b;
    workspace *w = lw_arena_take(&b->module->arena, sizeof *w);
    lw_ref rest = lw_ir_cast(b, LW_DT_u32, lw_ir_sub(b, k->items, begin));
    lw_ref slot = lw_ir_slot(b, LW_DT_u32), at;

    if (w == NULL)
        return lw_fail_memory(err);
    lw_ir_set(b, slot, lw_ir_cast(b, LW_DT_u32, tid));
    at = lw_ir_while(b, slot, rest);
    walk_one(k, w, lw_ir_add(b, begin, lw_ir_cast(b, LW_DT_i64, at)));
    lw_ir_latch(b);
    lw_ir_while_end(b, slot, lw_ir_int(b, LW_DT_u32, LW_PLAN_BLOCK));
    return LW_OK;
}

static lw_status
walk_single(kernel *k, lw_ref item, lw_error *err)
{
    lw_builder *b = &k->b;
    workspace *w = lw_arena_take(&b->module->arena, sizeof *w);

    if (w == NULL)
        return lw_fail_memory(err);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, item, k->items));
    walk_one(k, w, item);
    lw_ir_end(b);
    return LW_OK;
}

/* FLAT: a thread's accesses may straddle the end, so the checked walk goes by single elements.
 */
static lw_status
flat_blocks(kernel *k, lw_ref tid, lw_ref block, lw_error *err)
{
    lw_status status = LW_OK;
    lw_builder *b = &k->b;
    int64_t per_group = (int64_t)LW_PLAN_BLOCK * k->key->width,
            per_block = per_group * k->key->groups;
    lw_ref begin = lw_ir_mul(b, block, lw_ir_int(b, LW_DT_i64, per_block));
    lw_ref end = lw_ir_add(b, begin, lw_ir_int(b, LW_DT_i64, per_block));
    lw_ref first = lw_ir_add(
        b,
        lw_ir_mul(b, block, lw_ir_int(b, LW_DT_i64, (int64_t)LW_PLAN_BLOCK * k->key->groups)),
        tid);

    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, end, k->items));
    LW_TRY(walk_full(k, first, LW_DT_i64, err));
    lw_ir_else(b);
    LW_TRY(walk_rest(k, begin, tid, err));
    lw_ir_end(b);
fail:
    return status;
}

/* STRIDED: items are whole accesses, so both walks go by them. */
static lw_status
strided_blocks(kernel *k, lw_ref tid, lw_ref block, lw_error *err)
{
    lw_status status = LW_OK;
    lw_builder *b = &k->b;
    int64_t per_block = (int64_t)LW_PLAN_BLOCK * k->key->groups;
    lw_ref begin = lw_ir_mul(b, block, lw_ir_int(b, LW_DT_u32, per_block));
    lw_ref end = lw_ir_add(b, begin, lw_ir_int(b, LW_DT_u32, per_block));
    lw_ref first = lw_ir_add(b, begin, tid);

    lw_ir_if(b, lw_ir_compare(b, LW_OP_LE, end, k->items));
    LW_TRY(walk_full(k, first, LW_DT_u32, err));
    lw_ir_else(b);
    for (unsigned g = 0; g < k->key->groups; g++) {
        lw_ref item = lw_ir_add(b, first, lw_ir_int(b, LW_DT_u32, (int64_t)g * LW_PLAN_BLOCK));
        site s = {{0}, 0};
        workspace *w = lw_arena_take(&b->module->arena, sizeof *w);
        if (w == NULL)
            return lw_fail_memory(err);
        lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, item, k->items));
        locate(k, item, k->key->width, &s);
        if_selected(k, lw_ufunc_load_mask(k, &s));
        lw_ufunc_load_site(k, &s, k->key->width, w->in);
        for (unsigned e = 0; e < k->key->width; e++)
            lw_ufunc_body(k, w->in, e, s.element, w->out);
        lw_ufunc_store_site(k, &s, k->key->width, w->out);
        if (k->key->masked)
            lw_ir_end(b);
        lw_ir_end(b);
    }
    lw_ir_end(b);
fail:
    return status;
}

static lw_status
emit_kernel(kernel *k, lw_error *err)
{
    lw_builder *b = &k->b;
    lw_dtype index = k->key->ndim ? LW_DT_u32 : LW_DT_i64;
    lw_ref tid = lw_ir_cast(b, index, lw_ir_sreg(b, LW_SREG_TID_X));
    lw_ref block = lw_ir_cast(b, index, lw_ir_sreg(b, LW_SREG_CTAID_X));

    load_constants(k);
    if (k->key->tiled)
        return lw_ufunc_tiles(k, tid, block, err);
    if (k->key->width * k->key->groups == 1) {
        lw_ref first = lw_ir_mul(b, block, lw_ir_int(b, index, LW_PLAN_BLOCK));
        return walk_single(k, lw_ir_add(b, first, tid), err);
    }
    return k->key->ndim ? strided_blocks(k, tid, block, err) : flat_blocks(k, tid, block, err);
}

lw_status
lw_device_kernel(const lw_loop *loop, const lw_kernel_key *key, const char *symbol,
                 int max_registers, lw_module **out, lw_error *err)
{
    const lw_scalar *scalar = loop->scalar;
    lw_status status = LW_OK;
    lw_module *module = NULL;
    kernel *k = NULL;

    LW_TRY(lw_module_copy(scalar->module, &module, err));
    k = lw_arena_take(&module->arena, sizeof *k);
    if (k == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    k->scalar = scalar;
    k->loop_types = loop->types;
    k->uniforms = &loop->uniforms;
    k->key = key;
    lw_builder_start(&k->b, module, symbol);
    if (k->b.func != NULL) {
        k->b.func->linkage = LW_KERNEL;
        k->b.func->max_threads = LW_PLAN_BLOCK;
        k->b.func->max_registers = (uint32_t)max_registers;
    }
    add_params(k);
    LW_TRY(emit_kernel(k, err));
    lw_ir_return(&k->b, NULL, 0);
    LW_TRY(lw_ir_finish(&k->b, err));
    *out = module;
    return LW_OK;
fail:
    lw_module_free(module);
    return status;
}

/* ---- cost ---- */

/* Counted no further than just beyond MOST_COST, so that helpers which call others several
 * times each do not have all their copies counted. */
enum { MOST_COST = 1 << 16 };

static void
add_cost(const lw_module *module, uint32_t number, bool *has_loop, uint32_t *cost)
{
    const lw_func *func = module->funcs.data[number];

    for (uint32_t i = 1; i < func->insts.n && *cost <= MOST_COST; i++) {
        const lw_inst *inst = &func->insts.data[i];
        if (inst->op == LW_OP_LOOP || inst->op == LW_OP_RECUR)
            *has_loop = true;
        else if (inst->op == LW_OP_CALL)
            add_cost(module, inst->a, has_loop, cost);
        else if (inst->op == LW_OP_INTRINSIC)
            *cost += 20; /* a libdevice function is some 10 to 60 instructions */
        else if (inst->op != LW_OP_CONST && inst->op != LW_OP_PARAM &&
                 inst->op != LW_OP_VARYING)
            *cost += 1;
    }
}

uint32_t
lw_scalar_cost(const lw_scalar *scalar, bool *has_loop)
{
    uint32_t cost = 0;

    *has_loop = false;
    add_cost(scalar->module, scalar->body, has_loop, &cost);
    return cost;
}
