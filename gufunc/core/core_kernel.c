#include "gufunc/core/core_kernel.h"

#include "core/base/memory.h"
#include "core/ir/report.h"
#include "gufunc/core/core_maker.h"
#include "gufunc/core/core_spread.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { MOST_PARTS = LW_MAKER_PARTS, MOST_LANES = 16 };

/* Where loops keep elements, and a block has so many threads, or each has so many iterations:
 * with more registers an SM would have a single block, whose warps load and wait all at the
 * same time. Measured on an H200: layer norm of rows of 16384 float32 at 0.78 and 0.93 of a
 * copy. */
enum { MANY_THREADS = 512, MUCH_KEPT = 17, REGISTERS = 64 };

typedef lw_core_maker kernel;

size_t
lw_core_key_size(const lw_core_key *key)
{
    return offsetof(lw_core_key, operands) + key->n_operands * sizeof key->operands[0];
}

bool
lw_core_has_loop_strides(const lw_core_key *key, int operand)
{
    return key->operands[operand].access == LW_ACCESS_STRIDED ||
           key->operands[operand].access == LW_ACCESS_DENSE ||
           key->operands[operand].access == LW_ACCESS_TILED ||
           key->operands[operand].access == LW_ACCESS_ROWS;
}

uint32_t
lw_core_dynamic_bytes(const lw_core_key *key)
{
    return key->rows_kb > LW_CORE_ROWS_KB ? key->rows_kb * 1024u : 0;
}

uint32_t
lw_core_count(const lw_gufunc_loop *loop, const lw_core_key *key, int operand)
{
    const lw_core_operand *core = &loop->layout->operands[operand];
    uint32_t count = 1;

    for (uint32_t d = 0; d < core->n; d++)
        count *= key->sizes[core->dims[d]];
    return count;
}

/* Neighbouring threads access the same element of neighbouring items. With an odd number of
 * words (of accesses, for wider elements) between items, they access different banks. */
int64_t
lw_core_pitch_of(int64_t bytes, int64_t itemsize)
{
    int64_t word = itemsize < 4 ? 4 : itemsize;

    return bytes % (2 * word) == 0 ? bytes + word : bytes;
}

uint32_t
lw_core_pitch(const lw_gufunc_loop *loop, const lw_core_key *key, int operand)
{
    uint32_t itemsize = lw_dtypes[loop->types[operand]].size_bytes;

    return (uint32_t)lw_core_pitch_of(lw_core_count(loop, key, operand) * itemsize, itemsize);
}

uint32_t
lw_core_shared_bytes(const lw_gufunc_loop *loop, const lw_core_key *key, int operand)
{
    uint32_t pitch = lw_core_pitch(loop, key, operand), block = key->block;
    uint32_t bytes =
        lw_core_count(loop, key, operand) * lw_dtypes[loop->types[operand]].size_bytes;
    uint32_t pass = block * key->operands[operand].chunk; /* bytes that a block moves at once */
    uint32_t fetched = (block * bytes + pass - 1) / pass * pass;
    bool fetches = operand < loop->nin || key->operands[operand].keep;

    return pitch * (fetches ? (fetched + bytes - 1) / bytes : block);
}

/* ---- small helpers ---- */

static unsigned
itemsize_of(const kernel *k, int operand)
{
    return lw_dtypes[k->loop->types[operand]].size_bytes;
}

static lw_core_access
access_of(const kernel *k, int operand)
{
    return (lw_core_access)k->key->operands[operand].access;
}

static bool
is_output(const kernel *k, int operand)
{
    return operand >= k->loop->nin;
}

static lw_ref
plus(kernel *k, lw_ref pointer, int64_t bytes)
{
    return bytes ? lw_ir_offset(&k->b, pointer, lw_maker_i64(k, bytes)) : pointer;
}

/* ---- parameters ---- */

static void
add_operand_params(kernel *k)
{
    for (int i = 0; i < k->n; i++) {
        bool written = is_output(k, i) || k->loop->writable[i];
        uint32_t flags = LW_PARAM_NOALIAS | (written ? 0 : LW_PARAM_READONLY);
        if (!written && k->loop->writes_excluded) /* which may be the array that is written */
            flags = 0;
        if (written && k->key->spread) /* other threads write to it too, so LLVM must reload */
            flags = 0;
        if (access_of(k, i) == LW_ACCESS_VALUE) {
            for (unsigned p = 0; p < lw_dtype_n_parts(k->loop->types[i]); p++)
                k->value[i][p] = lw_ir_param_add(
                    &k->b, k->loop->address[i] ? LW_DT_ptr : lw_dtypes[k->loop->types[i]].parts,
                    0, "value");
            continue;
        }
        k->pointer[i] =
            lw_ir_param_add(&k->b, LW_DT_ptr, flags, is_output(k, i) ? "out" : "in");
        if (access_of(k, i) == LW_ACCESS_STAGED && k->b.func != NULL && k->b.func->params.n)
            k->b.func->params.data[k->b.func->params.n - 1].align_log2 =
                k->key->operands[i].chunk == 16 ? 4 : 0;
    }
}

static void
add_loop_params(kernel *k)
{
    for (int d = 0; d + 1 < k->key->ndim; d++) {
        k->size[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "size");
        k->multiplier[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "multiplier");
        k->shift[d] = lw_ir_param_add(&k->b, LW_DT_u32, 0, "shift");
    }
    for (int i = 0; i < k->n; i++)
        for (int d = 0; d < k->key->ndim && lw_core_has_loop_strides(k->key, i); d++)
            k->stride[i][d] =
                lw_ir_param_add(&k->b, k->key->wide ? LW_DT_i64 : LW_DT_i32, 0, "stride");
}

static lw_status
add_core_params(kernel *k, lw_error *err)
{
    const lw_core_layout *layout = k->loop->layout;
    lw_arena *arena = &k->b.module->arena;

    k->core_size = lw_arena_take(arena, (layout->n_dims + 1) * sizeof *k->core_size);
    if (k->core_size == NULL)
        return lw_fail_memory(err);
    for (uint32_t d = 0; d < layout->n_dims; d++)
        k->core_size[d] =
            k->key->constant ? 0 : lw_ir_param_add(&k->b, LW_DT_i64, 0, "core_size");
    for (int i = 0; i < k->n; i++) {
        uint32_t n = layout->operands[i].n;
        if (access_of(k, i) != LW_ACCESS_STRIDED)
            continue;
        k->core_stride[i] = lw_arena_take(arena, (n + 1) * sizeof(lw_ref));
        if (k->core_stride[i] == NULL)
            return lw_fail_memory(err);
        for (uint32_t d = 0; d < n; d++)
            k->core_stride[i][d] = lw_ir_param_add(&k->b, LW_DT_i64, 0, "core_stride");
    }
    return LW_OK;
}

/* ---- the address of an item ---- */

void
lw_maker_decompose(kernel *k, lw_ref item, lw_ref *coordinate)
{
    lw_ir_decompose(&k->b, item, k->key->ndim, k->size, k->multiplier, k->shift, coordinate);
}

lw_ref
lw_maker_address(kernel *k, int operand, const lw_ref *coordinate)
{
    lw_builder *b = &k->b;
    lw_dtype width = k->key->wide ? LW_DT_i64 : LW_DT_i32;
    lw_ref sum = 0;

    for (int d = 0; d < k->key->ndim; d++) {
        lw_ref term = lw_ir_mul(b, lw_ir_cast(b, width, coordinate[d]), k->stride[operand][d]);
        sum = sum ? lw_ir_add(b, sum, term) : term;
    }
    return lw_ir_offset(b, k->pointer[operand], lw_ir_cast(b, LW_DT_i64, sum));
}

/* The address of the core that the thread works on. */
static lw_ref
locate(kernel *k, int operand, lw_ref item, const lw_ref *coordinate)
{
    lw_builder *b = &k->b;
    int64_t bytes;

    switch (access_of(k, operand)) {
    case LW_ACCESS_VALUE: return 0;
    case LW_ACCESS_CONSTANT: return k->pointer[operand];
    case LW_ACCESS_RUN:
        bytes = (int64_t)lw_core_count(k->loop, k->key, operand) * itemsize_of(k, operand);
        return lw_ir_offset(
            b, k->pointer[operand],
            lw_ir_mul(b, lw_ir_cast(b, LW_DT_i64, item), lw_maker_i64(k, bytes)));
    case LW_ACCESS_STAGED:
        bytes = lw_core_pitch(k->loop, k->key, operand);
        return lw_ir_offset(
            b, k->shared[operand],
            lw_ir_cast(b, LW_DT_i64, lw_ir_mul(b, k->tid, lw_maker_u32(k, bytes))));
    case LW_ACCESS_TILED:
        return lw_ir_offset(b, k->shared[operand],
                            lw_ir_cast(b, LW_DT_i64, lw_ir_mul(b, k->tid, k->pitch[operand])));
    case LW_ACCESS_ROWS: return k->shared[operand];
    default: return lw_maker_address(k, operand, coordinate);
    }
}

/* ---- the call of the body ---- */

lw_ref
lw_maker_extent(kernel *k, uint32_t dim)
{
    return k->core_size[dim] ? k->core_size[dim] : lw_maker_i64(k, k->key->sizes[dim]);
}

/* Sets the body's parameters from `at` on to the extents and strides of a core. */
static void
core_parts(kernel *k, int operand, uint32_t at)
{
    const lw_core_operand *core = &k->loop->layout->operands[operand];
    lw_ref step = lw_maker_i64(k, itemsize_of(k, operand));

    if (core->n == 0) { /* a `()` operand that is an array of one element */
        k->args[at] = lw_maker_i64(k, 1);
        k->args[at + 1] = step;
        return;
    }
    for (uint32_t d = core->n; d-- > 0;) {
        k->args[at + d] = lw_maker_extent(k, core->dims[d]);
        if (access_of(k, operand) == LW_ACCESS_STRIDED) {
            k->args[at + core->n + d] = k->core_stride[operand][d];
            continue;
        }
        k->args[at + core->n + d] = step;
        step = access_of(k, operand) == LW_ACCESS_ROWS
                   ? k->pitch[operand]
                   : lw_ir_mul(&k->b, step, k->args[at + d]);
    }
}

static void
load_parts(kernel *k, int operand, lw_ref at, lw_ref *parts)
{
    lw_dtype dtype = k->loop->types[operand], memory = lw_dtype_memory_part(dtype);

    if (k->loop->address[operand]) {
        parts[0] = lw_ir_load(&k->b, LW_DT_ptr, 1, at, 0, 0);
        return;
    }
    for (unsigned p = 0; p < lw_dtype_n_parts(dtype); p++)
        parts[p] =
            lw_ir_load(&k->b, memory, 1, plus(k, at, p * lw_dtypes[memory].size_bytes), 0, 0);
    if (dtype == LW_DT_b1)
        parts[0] = lw_ir_cast(&k->b, LW_DT_b1, parts[0]);
}

static void
store_parts(kernel *k, int operand, lw_ref at, const lw_ref *parts)
{
    lw_dtype dtype = k->loop->types[operand], memory = lw_dtype_memory_part(dtype);

    for (unsigned p = 0; p < lw_dtype_n_parts(dtype); p++)
        lw_ir_store(&k->b, plus(k, at, p * lw_dtypes[memory].size_bytes),
                    lw_ir_cast(&k->b, memory, parts[p]), 0, 0);
}

/* The address of a thread's own copy of a number, for a body that takes it by its address. */
static lw_ref
value_in_memory(kernel *k, int operand)
{
    lw_dtype part = lw_dtype_memory_part(k->loop->types[operand]);
    lw_ref at = lw_ir_local(&k->b, itemsize_of(k, operand), lw_dtypes[part].size_bytes);

    store_parts(k, operand, at, k->value[operand]);
    return at;
}

static void
operand_args(kernel *k, int operand, lw_ref at)
{
    const lw_arg_parts *parts = &k->loop->scalar->args[operand];

    if (k->loop->form[operand] == LW_CORE_VALUE) {
        if (access_of(k, operand) == LW_ACCESS_VALUE)
            memcpy(k->args + parts->first, k->value[operand], parts->n * sizeof *k->args);
        else
            load_parts(k, operand, at, k->args + parts->first);
        return;
    }
    k->args[parts->first] =
        access_of(k, operand) == LW_ACCESS_VALUE ? value_in_memory(k, operand) : at;
    core_parts(k, operand, parts->first + 1);
}

static void
report(kernel *k, lw_ref call, lw_ref item)
{
    lw_ref values[1 + LW_RAISE_WORDS];
    uint32_t n = k->loop->scalar->n_raise_words;

    values[0] = lw_ir_cast(&k->b, LW_DT_i64, item);
    for (uint32_t i = 0; i < n; i++)
        values[1 + i] = lw_ir_result(&k->b, call, 1 + i);
    lw_report_emit(&k->b, k->report, lw_ir_result(&k->b, call, 0), values, 1 + n);
}

void
lw_maker_item(kernel *k, lw_ref item)
{
    const lw_scalar *scalar = k->loop->scalar;
    lw_builder *b = &k->b;
    lw_ref coordinate[LW_CORE_LOOP_DIMS], at[LW_MAX_OPERANDS], call;
    uint32_t result = scalar->can_raise ? 1 + scalar->n_raise_words : 0;

    lw_maker_decompose(k, item, coordinate);
    for (int i = 0; i < k->n; i++) {
        at[i] = locate(k, i, item, coordinate);
        if (k->loop->form[i] != LW_CORE_RESULT)
            operand_args(k, i, at[i]);
    }
    if (k->key->band) {
        uint32_t n = k->b.module->funcs.data[scalar->body]->params.n;
        k->args[n] = k->band;
        k->args[n + 1] = k->bands;
    }
    call = lw_ir_call(b, k->body, k->args, k->b.module->funcs.data[k->body]->params.n);
    if (scalar->can_raise)
        report(k, call, item);
    for (int i = k->loop->nin; i < k->n; i++) {
        lw_ref parts[MOST_PARTS] = {0};
        if (k->loop->form[i] != LW_CORE_RESULT)
            continue;
        for (unsigned p = 0; p < lw_dtype_n_parts(k->loop->types[i]); p++)
            parts[p] = lw_ir_result(b, call, result++);
        store_parts(k, i, at[i], parts);
    }
}

/* ---- staging ---- */

/* One operand of a block's items, which are one run of memory, moved in chunks of `lanes`
 * parts. */
typedef struct run {
    int operand;
    lw_dtype part;         /* dtype of the parts in memory */
    unsigned lanes;        /* parts of a chunk */
    uint32_t n_parts;      /* parts of an item */
    uint32_t chunks;       /* chunks of a whole block */
    uint32_t pad;          /* bytes between items in shared memory */
    lw_ref global, shared; /* where the block's items begin */
} run;

static void
run_of(kernel *k, int operand, lw_ref first, run *r)
{
    lw_dtype dtype = k->loop->types[operand];
    uint32_t bytes = lw_core_count(k->loop, k->key, operand) * itemsize_of(k, operand);

    r->operand = operand;
    r->part = lw_dtype_memory_part(dtype);
    r->lanes = k->key->operands[operand].chunk / lw_dtypes[r->part].size_bytes;
    r->n_parts = bytes / lw_dtypes[r->part].size_bytes;
    r->chunks = k->key->block * r->n_parts / r->lanes;
    r->pad = lw_core_pitch(k->loop, k->key, operand) - bytes;
    assert(k->key->constant && r->lanes > 0 && r->lanes <= MOST_LANES);
    r->shared = k->shared[operand];
    r->global = lw_ir_offset(
        &k->b, k->pointer[operand],
        lw_ir_mul(&k->b, lw_ir_cast(&k->b, LW_DT_i64, first), lw_maker_i64(k, bytes)));
}

static lw_ref
at_part(kernel *k, lw_ref base, lw_ref part, int64_t size)
{
    return lw_ir_offset(
        &k->b, base,
        lw_ir_cast(&k->b, LW_DT_i64, lw_ir_mul(&k->b, part, lw_maker_u32(k, size))));
}

/* The address of part number `part` of the run in shared memory. */
static lw_ref
in_shared(kernel *k, const run *r, lw_ref part)
{
    lw_builder *b = &k->b;
    lw_ref bytes = lw_ir_mul(b, part, lw_maker_u32(k, lw_dtypes[r->part].size_bytes));

    if (r->pad)
        bytes = lw_ir_add(b, bytes,
                          lw_ir_mul(b, lw_ir_div(b, part, lw_maker_u32(k, r->n_parts)),
                                    lw_maker_u32(k, r->pad)));
    return lw_ir_offset(b, r->shared, lw_ir_cast(b, LW_DT_i64, bytes));
}

static void
chunk_to_shared(kernel *k, const run *r, lw_ref chunk, lw_ref vector)
{
    lw_builder *b = &k->b;
    lw_ref first = lw_ir_mul(b, chunk, lw_maker_u32(k, r->lanes));

    if (!r->pad || r->lanes == 1) {
        lw_ir_store(b, in_shared(k, r, first), vector,
                    r->pad ? 0 : k->key->operands[r->operand].chunk, 0);
        return;
    }
    for (unsigned i = 0; i < r->lanes; i++)
        lw_ir_store(b, in_shared(k, r, lw_ir_add(b, first, lw_maker_u32(k, i))),
                    lw_ir_lane(b, vector, i), 0, 0);
}

static lw_ref
chunk_of_shared(kernel *k, const run *r, lw_ref chunk)
{
    lw_builder *b = &k->b;
    lw_ref first = lw_ir_mul(b, chunk, lw_maker_u32(k, r->lanes)), lanes[MOST_LANES];

    if (!r->pad || r->lanes == 1)
        return lw_ir_load(b, r->part, r->lanes, in_shared(k, r, first),
                          r->pad ? 0 : k->key->operands[r->operand].chunk, 0);
    for (unsigned i = 0; i < r->lanes; i++)
        lanes[i] = lw_ir_load(b, r->part, 1,
                              in_shared(k, r, lw_ir_add(b, first, lw_maker_u32(k, i))), 0, 0);
    return lw_ir_pack(b, r->part, lanes, r->lanes);
}

static lw_ref
chunk_address(kernel *k, const run *r, lw_ref chunk)
{
    return at_part(k, r->global, chunk, k->key->operands[r->operand].chunk);
}

/* The number of the chunk that this thread moves in a pass: one chunk for each thread of the
 * block. */
static lw_ref
chunk_number(kernel *k, uint32_t pass)
{
    return pass ? lw_ir_add(&k->b, k->tid, lw_maker_u32(k, (int64_t)pass * k->key->block))
                : k->tid;
}

static uint32_t
n_passes(const kernel *k, const run *r)
{
    return (r->chunks + k->key->block - 1) / k->key->block;
}

static bool
is_partial(const kernel *k, const run *r, uint32_t pass)
{
    return (pass + 1) * k->key->block > r->chunks;
}

/* Fetches the items of a whole block without a branch: first all loads, then all stores. In the
 * last pass, threads without a chunk of their own load the last chunk again and store it behind
 * the items. */
static lw_status
fetch_whole(kernel *k, const run *runs, int n, lw_error *err)
{
    lw_builder *b = &k->b;
    uint32_t total = 0, at = 0;
    lw_ref *loaded;

    for (int i = 0; i < n; i++)
        total += n_passes(k, &runs[i]);
    loaded = lw_arena_take(&b->module->arena, (total + 1) * sizeof *loaded);
    if (loaded == NULL)
        return lw_fail_memory(err);
    for (int i = 0; i < n; i++)
        for (uint32_t pass = 0; pass < n_passes(k, &runs[i]); pass++) {
            const run *r = &runs[i];
            bool kept = is_output(k, r->operand) || k->loop->writable[r->operand];
            lw_ref chunk = chunk_number(k, pass), last = lw_maker_u32(k, r->chunks - 1);
            if (is_partial(k, r, pass))
                chunk = lw_ir_smaller(b, chunk, last);
            loaded[at++] =
                lw_ir_load(b, r->part, r->lanes, chunk_address(k, r, chunk),
                           k->key->operands[r->operand].chunk, kept ? 0 : LW_MEM_INVARIANT);
        }
    at = 0;
    for (int i = 0; i < n; i++)
        for (uint32_t pass = 0; pass < n_passes(k, &runs[i]); pass++)
            chunk_to_shared(k, &runs[i], chunk_number(k, pass), loaded[at++]);
    return LW_OK;
}

static void
store_whole(kernel *k, const run *r)
{
    lw_builder *b = &k->b;

    for (uint32_t pass = 0; pass < n_passes(k, r); pass++) {
        lw_ref chunk = chunk_number(k, pass);
        bool partial = is_partial(k, r, pass);
        if (partial)
            lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, chunk, lw_maker_u32(k, r->chunks)));
        lw_ir_store(b, chunk_address(k, r, chunk), chunk_of_shared(k, r, chunk),
                    k->key->operands[r->operand].chunk, 0);
        if (partial)
            lw_ir_end(b);
    }
}

/* Moves the items of the last block, part by part. */
static void
move_rest(kernel *k, const run *r, lw_ref rest, bool fetch)
{
    lw_builder *b = &k->b;
    int64_t size = lw_dtypes[r->part].size_bytes;
    lw_ref end = lw_ir_mul(b, rest, lw_maker_u32(k, r->n_parts)),
           slot = lw_ir_slot(b, LW_DT_u32), at;

    lw_ir_set(b, slot, k->tid);
    at = lw_ir_while(b, slot, end);
    if (fetch)
        lw_ir_store(b, in_shared(k, r, at),
                    lw_ir_load(b, r->part, 1, at_part(k, r->global, at, size), 0, 0), 0, 0);
    else
        lw_ir_store(b, at_part(k, r->global, at, size),
                    lw_ir_load(b, r->part, 1, in_shared(k, r, at), 0, 0), 0, 0);
    lw_ir_latch(b);
    lw_ir_while_end(b, slot, lw_maker_u32(k, k->key->block));
}

static int
runs_of(kernel *k, lw_ref first, bool fetch, run *runs)
{
    int n = 0;

    for (int i = 0; i < k->n; i++) {
        bool in = !is_output(k, i) || k->key->operands[i].keep;
        bool out = is_output(k, i) || k->loop->writable[i];
        if (access_of(k, i) == LW_ACCESS_STAGED && (fetch ? in : out))
            run_of(k, i, first, &runs[n++]);
    }
    return n;
}

static void
add_shared(kernel *k)
{
    for (int i = 0; i < k->n; i++)
        if (access_of(k, i) == LW_ACCESS_STAGED)
            k->shared[i] = lw_ir_shared(&k->b, lw_core_shared_bytes(k->loop, k->key, i), 16);
}

static lw_status
staged_block(kernel *k, lw_error *err)
{
    lw_status status = LW_OK;
    lw_builder *b = &k->b;
    run *runs = lw_arena_take(&b->module->arena, LW_MAX_OPERANDS * sizeof *runs);
    lw_ref block = lw_maker_u32(k, k->key->block), first, rest, full;
    int n;

    if (runs == NULL)
        return lw_fail_memory(err);
    add_shared(k);
    first = lw_ir_mul(b, lw_ir_cast(b, LW_DT_u32, lw_ir_sreg(b, LW_SREG_CTAID_X)), block);
    rest = lw_ir_sub(b, k->items, first);
    full = lw_ir_compare(b, LW_OP_GE, rest, block);
    n = runs_of(k, first, true, runs);
    lw_ir_if(b, full);
    LW_TRY(fetch_whole(k, runs, n, err));
    lw_ir_else(b);
    for (int i = 0; i < n; i++)
        move_rest(k, &runs[i], rest, true);
    lw_ir_end(b);
    lw_ir_barrier(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, k->tid, rest));
    lw_maker_item(k, lw_ir_add(b, first, k->tid));
    lw_ir_end(b);
    lw_ir_barrier(b);
    n = runs_of(k, first, false, runs);
    lw_ir_if(b, full);
    for (int i = 0; i < n; i++)
        store_whole(k, &runs[i]);
    lw_ir_else(b);
    for (int i = 0; i < n; i++)
        move_rest(k, &runs[i], rest, false);
    lw_ir_end(b);
fail:
    return status;
}

/* ---- the kernel ---- */

static void
plain_item(kernel *k)
{
    lw_builder *b = &k->b;
    lw_ref block = lw_ir_cast(b, LW_DT_u32, lw_ir_sreg(b, LW_SREG_CTAID_X));
    lw_ref item = lw_ir_add(
        b, lw_ir_mul(b, block, lw_ir_cast(b, LW_DT_u32, lw_ir_sreg(b, LW_SREG_NTID_X))),
        k->tid);

    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, item, k->items));
    lw_maker_item(k, item);
    lw_ir_end(b);
}

/* The item of a block that has a band of its rows. */
static lw_ref
find_band(kernel *k, lw_ref block)
{
    lw_builder *b = &k->b;
    lw_ref n = lw_maker_bands(k), item = lw_ir_div(b, block, n);
    lw_ref rows = lw_maker_u32(k, k->key->band);

    k->band = lw_ir_mul(b, lw_ir_sub(b, block, lw_ir_mul(b, item, n)), rows);
    k->bands = lw_ir_mul(b, n, rows);
    return item;
}

/* Each block, or each warp of it, works on one item, or on a band of its rows. */
static void
spread_item(kernel *k)
{
    lw_builder *b = &k->b;
    lw_ref item = lw_ir_cast(b, LW_DT_u32, lw_ir_sreg(b, LW_SREG_CTAID_X));

    if (k->key->band)
        item = find_band(k, item);
    if (!k->key->warps) {
        if (k->key->rows_kb)
            lw_maker_rows(k, item);
        lw_maker_item(k, item);
        return;
    }
    item = lw_ir_add(b, lw_ir_mul(b, item, lw_maker_u32(k, k->key->warps)),
                     lw_ir_shr(b, k->tid, lw_maker_u32(k, 5)));
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, item, k->items));
    if (k->key->rows_kb)
        lw_maker_rows(k, item);
    lw_maker_item(k, item);
    lw_ir_end(b);
}

static lw_spread_threads
threads_of(const lw_core_key *key)
{
    return (lw_spread_threads){.n = key->warps ? 32 : key->block,
                               .n_groups = key->warps,
                               .kept = key->kept,
                               .whole = key->whole,
                               .band = key->band};
}

static lw_status
build(kernel *k, const char *symbol, int max_registers, lw_error *err)
{
    lw_status status = LW_OK;
    const lw_scalar *scalar = k->loop->scalar;
    lw_module *module = k->b.module;
    uint32_t n_params = module->funcs.data[scalar->body]->params.n;

    k->body = scalar->body;
    if (k->key->spread)
        LW_TRY(lw_core_spread_body(k->loop, threads_of(k->key), module, &k->body, err));
    lw_builder_start(&k->b, module, symbol);
    if (k->b.func != NULL) {
        k->b.func->linkage = LW_KERNEL;
        k->b.func->max_threads = k->key->block ? k->key->block : LW_CORE_THREADS;
        k->b.func->max_registers = (uint32_t)max_registers;
        if (max_registers == 0 && k->key->kept &&
            (k->key->block >= MANY_THREADS || k->key->kept >= MUCH_KEPT))
            k->b.func->max_registers = REGISTERS;
    }
    k->args = lw_arena_take(&module->arena, (n_params + 2) * sizeof *k->args);
    if (k->args == NULL) {
        status = lw_fail_memory(err);
        goto fail;
    }
    k->items = lw_ir_param_add(&k->b, LW_DT_u32, 0, "items");
    if (k->key->tiled)
        k->tile = lw_ir_param_add(&k->b, LW_DT_u32, 0, "tile");
    add_operand_params(k);
    add_loop_params(k);
    LW_TRY(add_core_params(k, err));
    if (scalar->can_raise)
        k->report = lw_ir_param_add(&k->b, LW_DT_ptr, 0, "report");
    k->tid = lw_ir_cast(&k->b, LW_DT_u32, lw_ir_sreg(&k->b, LW_SREG_TID_X));
    if (k->key->spread)
        spread_item(k);
    else if (k->key->tiled)
        lw_maker_tile(k);
    else if (k->key->block)
        LW_TRY(staged_block(k, err));
    else
        plain_item(k);
    lw_ir_return(&k->b, NULL, 0);
    LW_TRY(lw_ir_finish(&k->b, err));
fail:
    return status;
}

lw_status
lw_core_kernel(const lw_gufunc_loop *loop, const lw_core_key *key, const char *symbol,
               int max_registers, lw_module **out, lw_error *err)
{
    lw_status status;
    lw_module *module = NULL;
    kernel *k = lw_alloc_zero(1, sizeof *k);

    if (k == NULL)
        return lw_fail_memory(err);
    k->loop = loop;
    k->key = key;
    k->n = loop->nin + loop->nout;
    assert(k->n == key->n_operands && key->ndim >= 1 && key->ndim <= LW_CORE_LOOP_DIMS);
    assert(!(key->spread && key->tiled) && (key->block || !(key->spread || key->tiled)));
    LW_TRY(lw_module_copy(loop->scalar->module, &module, err));
    k->b.module = module;
    LW_TRY(build(k, symbol, max_registers, err));
    *out = module;
    lw_free(k);
    return LW_OK;
fail:
    lw_module_free(module);
    lw_free(k);
    return status;
}
