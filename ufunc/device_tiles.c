/* TILED kernels, in which some input is contiguous along dimension 1 and the others along
 * dimension 0. Patches: each warp covers 8 x 4 elements at a time, which costs every operand 4
 * to 8 whole sectors. STAGED, where addresses and strides permit vectors: a block loads a
 * square of such an input by vectors along dimension 1, transposes it in shared memory, and
 * goes on by vectors along dimension 0. The pitch there is an odd number of words, so that both
 * a row and a column of the square meet each bank at most twice. */
#include "ufunc/device_kernel_internal.h"

#include <string.h>

/* TILED: a warp covers 8 x 4 elements, so that both a row-wise and a column-wise operand cost
 * it 4 to 8 sectors; a thread takes four such patches below each other. */
enum { PATCH_X = 8, PATCH_Y = 4, PATCHES = 4 };

static void
patch_coordinates(lw_ufunc_maker *k, lw_ref tid, lw_ref *x, lw_ref *y)
{
    lw_builder *b = &k->b;
    lw_ref lane = lw_ir_and(b, tid, lw_ir_int(b, LW_DT_u32, 31));
    lw_ref warp = lw_ir_shr(b, tid, lw_ir_int(b, LW_DT_u32, 5));
    lw_ref column = lw_ir_and(b, warp, lw_ir_int(b, LW_DT_u32, 3));
    lw_ref row = lw_ir_shr(b, warp, lw_ir_int(b, LW_DT_u32, 2));

    *x = lw_ir_add(b, lw_ir_mul(b, column, lw_ir_int(b, LW_DT_u32, PATCH_X)),
                   lw_ir_and(b, lane, lw_ir_int(b, LW_DT_u32, PATCH_X - 1)));
    *y = lw_ir_add(b, lw_ir_mul(b, row, lw_ir_int(b, LW_DT_u32, PATCH_Y)),
                   lw_ir_shr(b, lane, lw_ir_int(b, LW_DT_u32, 3)));
}

/* The element's number in the order of the walk: innermost dimension first. */
static lw_ref
patch_element(lw_ufunc_maker *k, const lw_ref *coordinate)
{
    lw_builder *b = &k->b;
    int d = k->key->ndim - 1;
    lw_ref element = lw_ir_cast(b, LW_DT_i64, coordinate[d]);

    while (d-- > 0) {
        lw_ref extent = lw_ir_cast(b, LW_DT_i64, d < 2 ? k->extent[d] : k->size[d]);
        element = lw_ir_add(b, lw_ir_mul(b, element, extent),
                            lw_ir_cast(b, LW_DT_i64, coordinate[d]));
    }
    return element;
}

/* All four patches of a thread: with the square wholly inside, loads first; else one by one. */
static lw_status
walk_patches(lw_ufunc_maker *k, lw_ref *coordinate, bool inside, lw_error *err)
{
    lw_builder *b = &k->b;
    lw_ref first = coordinate[1];
    lw_ufunc_work *w = lw_arena_take(&b->module->arena, PATCHES * sizeof *w);

    if (w == NULL)
        return lw_fail_memory(err);
    for (int stage = 0; stage < (inside ? 2 : 1); stage++)
        for (int p = 0; p < PATCHES; p++) {
            if (stage == 0) {
                coordinate[1] = lw_ir_add(b, first, lw_ir_int(b, LW_DT_u32, p * 2 * PATCH_Y));
                if (!inside)
                    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, coordinate[1], k->extent[1]));
                lw_ufunc_locate(k, coordinate, &w[p].site);
                if (k->scalar->can_raise)
                    w[p].site.element = patch_element(k, coordinate);
                w[p].mask = lw_ufunc_load_mask(k, &w[p].site);
                lw_ufunc_load_site(k, &w[p].site, 1, w[p].in);
            }
            if (stage == 1 || !inside)
                lw_ufunc_selected(k, &w[p]);
            if (!inside)
                lw_ir_end(b);
        }
    return LW_OK;
}

/* ---- squares that are staged ---- */

/* How threads go over a square: by accesses of `width` elements along one dimension, `step`
 * rows in a pass. */
typedef struct passes {
    unsigned width, n, step;
    lw_ref along, across; /* the thread's place in the first pass */
} passes;

typedef struct square {
    passes transposed, straight; /* along dimensions 1 and 0 */
    lw_ref shared[LW_MAX_ARGS];  /* of operands that are contiguous along dimension 1 */
} square;

static bool
is_staged(const lw_ufunc_maker *k, int input)
{
    return k->key->operands[input].access == LW_ACCESS_GENERAL;
}

static unsigned
size_of(const lw_ufunc_maker *k, int operand)
{
    return lw_dtypes[lw_ufunc_dtype(k, operand)].size_bytes;
}

static lw_ref
u32(lw_ufunc_maker *k, int64_t value)
{
    return lw_ir_int(&k->b, LW_DT_u32, value);
}

/* The address in shared memory of the element at dimension 1 `y` and dimension 0 `x`. */
static lw_ref
at_square(lw_ufunc_maker *k, const square *q, int operand, lw_ref y, lw_ref x)
{
    lw_builder *b = &k->b;
    unsigned size = size_of(k, operand);
    lw_ref row = lw_ir_mul(b, y, u32(k, lw_plan_staged_pitch(size)));

    return lw_ir_offset(
        b, q->shared[operand],
        lw_ir_cast(b, LW_DT_i64, lw_ir_mul(b, lw_ir_add(b, row, x), u32(k, size))));
}

/* The thread's vectors of an operand that is contiguous along dimension 1. */
static void
fetch_transposed(lw_ufunc_maker *k, const square *q, int operand, const lw_ref *corner,
                 lw_ref *vectors)
{
    lw_builder *b = &k->b;
    lw_dtype memory = lw_dtype_memory_part(lw_ufunc_dtype(k, operand));
    unsigned n = lw_dtype_n_parts(lw_ufunc_dtype(k, operand));
    lw_ref coordinate[LW_WALK_DIMS], across;

    memcpy(coordinate, corner, (size_t)k->key->ndim * sizeof *coordinate);
    coordinate[1] = lw_ir_add(b, corner[1], q->transposed.along);
    for (unsigned p = 0; p < q->transposed.n; p++) {
        across = lw_ir_add(b, q->transposed.across, u32(k, (int64_t)p * q->transposed.step));
        coordinate[0] = lw_ir_add(b, corner[0], across);
        vectors[p] = lw_ir_load(
            b, memory, q->transposed.width * n,
            lw_ir_offset(b, k->pointer[operand], lw_ufunc_offset(k, operand, coordinate)),
            q->transposed.width * size_of(k, operand), k->key->noalias ? LW_MEM_INVARIANT : 0);
    }
}

/* Puts them into shared memory, where they are a column. */
static void
put_transposed(lw_ufunc_maker *k, const square *q, int operand, const lw_ref *vectors)
{
    lw_builder *b = &k->b;
    lw_dtype memory = lw_dtype_memory_part(lw_ufunc_dtype(k, operand));
    unsigned n = lw_dtype_n_parts(lw_ufunc_dtype(k, operand)), lanes = q->transposed.width * n;

    for (unsigned p = 0; p < q->transposed.n; p++)
        for (unsigned e = 0; e < q->transposed.width; e++) {
            lw_ref x = lw_ir_add(b, q->transposed.across,
                                 u32(k, (int64_t)p * q->transposed.step)),
                   parts[2], value;
            for (unsigned i = 0; i < n; i++)
                parts[i] = lanes > 1 ? lw_ir_lane(b, vectors[p], e * n + i) : vectors[p];
            value = n > 1 ? lw_ir_pack(b, memory, parts, n) : parts[0];
            lw_ir_store(
                b, at_square(k, q, operand, lw_ir_add(b, q->transposed.along, u32(k, e)), x),
                value, size_of(k, operand), 0);
        }
}

/* A vector along dimension 0 from there, in the loop's dtype. */
static void
read_turned(lw_ufunc_maker *k, const square *q, int operand, unsigned pass, lw_ref *parts)
{
    lw_builder *b = &k->b;
    lw_dtype memory = lw_dtype_memory_part(lw_ufunc_dtype(k, operand));
    unsigned n = lw_dtype_n_parts(lw_ufunc_dtype(k, operand)), size = size_of(k, operand);
    unsigned at_once = size < 4 ? 4 / size : 1;
    lw_ref y = lw_ir_add(b, q->straight.across, u32(k, (int64_t)pass * q->straight.step));

    if (at_once > q->straight.width)
        at_once = q->straight.width;
    for (unsigned e = 0; e < q->straight.width; e += at_once) {
        lw_ref at = at_square(k, q, operand, y, lw_ir_add(b, q->straight.along, u32(k, e)));
        lw_ref got = lw_ir_load(b, memory, at_once * n, at, at_once * size, 0);
        for (unsigned i = 0; i < at_once * n; i++)
            parts[2 * e + i / n * 2 + i % n] = at_once * n > 1 ? lw_ir_lane(b, got, i) : got;
    }
    lw_ufunc_convert(k, operand, q->straight.width, parts);
}

/* One access of all operands that are not staged. */
static void
load_straight(lw_ufunc_maker *k, const square *q, lw_ufunc_work *w)
{
    for (int i = 0; i < k->key->n_in; i++)
        if (lw_ufunc_is_constant(k, i))
            for (unsigned e = 0; e < q->straight.width; e++)
                memcpy(w->in[i] + 2 * e, k->constant[i], 2 * sizeof(lw_ref));
        else if (!is_staged(k, i))
            lw_ufunc_load(k, i, w->site.at[i], q->straight.width, w->in[i]);
}

/* A square that lies wholly inside: all loads from the arrays come first. */
static lw_status
whole_square(lw_ufunc_maker *k, const square *q, const lw_ref *corner, lw_error *err)
{
    lw_builder *b = &k->b;
    lw_ufunc_work *w = lw_arena_take(&b->module->arena, q->straight.n * sizeof *w);
    lw_ref *vectors = lw_arena_take(&b->module->arena,
                                    (size_t)k->key->n_in * q->transposed.n * sizeof *vectors);
    lw_ref coordinate[LW_WALK_DIMS];

    if (w == NULL || vectors == NULL)
        return lw_fail_memory(err);
    memcpy(coordinate, corner, (size_t)k->key->ndim * sizeof *coordinate);
    coordinate[0] = lw_ir_add(b, corner[0], q->straight.along);
    for (int i = 0; i < k->key->n_in; i++)
        if (is_staged(k, i))
            fetch_transposed(k, q, i, corner, vectors + (size_t)i * q->transposed.n);
    for (unsigned p = 0; p < q->straight.n; p++) {
        coordinate[1] =
            lw_ir_add(b, corner[1],
                      lw_ir_add(b, q->straight.across, u32(k, (int64_t)p * q->straight.step)));
        lw_ufunc_locate(k, coordinate, &w[p].site);
        if (k->scalar->can_raise)
            w[p].site.element = patch_element(k, coordinate);
        w[p].mask = lw_ufunc_load_mask(k, &w[p].site);
        load_straight(k, q, &w[p]);
    }
    for (int i = 0; i < k->key->n_in; i++)
        if (is_staged(k, i))
            put_transposed(k, q, i, vectors + (size_t)i * q->transposed.n);
    lw_ir_barrier(b);
    for (unsigned p = 0; p < q->straight.n; p++) {
        for (int i = 0; i < k->key->n_in; i++)
            if (is_staged(k, i))
                read_turned(k, q, i, p, w[p].in[i]);
        if (k->key->masked) {
            lw_ufunc_selected(k, &w[p]);
            continue;
        }
        for (unsigned e = 0; e < q->straight.width; e++)
            lw_ufunc_body(k, w[p].in, e, w[p].site.element, w[p].out);
        lw_ufunc_store_site(k, &w[p].site, q->straight.width, w[p].out);
    }
    return LW_OK;
}

/* Coordinates behind the end become those of the last element, which is loaded again. */
static lw_ref
inside(lw_ufunc_maker *k, lw_ref *at, lw_ref extent)
{
    lw_builder *b = &k->b;
    lw_ref good = lw_ir_compare(b, LW_OP_LT, *at, extent);

    *at = lw_ir_select(b, good, *at, lw_ir_sub(b, extent, u32(k, 1)));
    return good;
}

/* The square at an edge, by patches: several of a thread are loaded before the first body. */
static lw_status
edge_square(lw_ufunc_maker *k, lw_ref tid, const lw_ref *corner, lw_error *err)
{
    enum { AT_ONCE = 8 };
    lw_builder *b = &k->b;
    lw_ufunc_work *w = lw_arena_take(&b->module->arena, AT_ONCE * sizeof *w);
    lw_ref lane = lw_ir_and(b, tid, u32(k, 31)), warp = lw_ir_shr(b, tid, u32(k, 5));
    lw_ref slot = lw_ir_slot(b, LW_DT_u32), row, good[AT_ONCE], coordinate[LW_WALK_DIMS];
    lw_ref x = lw_ir_add(b, lw_ir_mul(b, warp, u32(k, PATCH_X)),
                         lw_ir_and(b, lane, u32(k, PATCH_X - 1)));

    if (w == NULL)
        return lw_fail_memory(err);
    memcpy(coordinate, corner, (size_t)k->key->ndim * sizeof *coordinate);
    lw_ir_set(b, slot, lw_ir_shr(b, lane, u32(k, 3)));
    row = lw_ir_while(b, slot, u32(k, LW_PLAN_STAGED));
    for (unsigned i = 0; i < AT_ONCE; i++) {
        coordinate[0] = lw_ir_add(b, corner[0], x);
        coordinate[1] =
            lw_ir_add(b, corner[1], lw_ir_add(b, row, u32(k, (int64_t)i * PATCH_Y)));
        good[i] = inside(k, &coordinate[0], k->extent[0]);
        good[i] = lw_ir_and(b, good[i], inside(k, &coordinate[1], k->extent[1]));
        lw_ufunc_locate(k, coordinate, &w[i].site);
        if (k->scalar->can_raise)
            w[i].site.element = patch_element(k, coordinate);
        w[i].mask = lw_ufunc_load_mask(k, &w[i].site);
        lw_ufunc_load_site(k, &w[i].site, 1, w[i].in);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        lw_ir_if(b, good[i]);
        lw_ufunc_selected(k, &w[i]);
        lw_ir_end(b);
    }
    lw_ir_latch(b);
    lw_ir_while_end(b, slot, u32(k, AT_ONCE * PATCH_Y));
    return LW_OK;
}

static passes
passes_by(lw_ufunc_maker *k, lw_ref tid, unsigned width)
{
    lw_builder *b = &k->b;
    unsigned row = LW_PLAN_STAGED / width, step = LW_PLAN_BLOCK / row; /* threads; rows */
    passes p = {.width = width, .n = LW_PLAN_STAGED / step, .step = step};

    p.along = lw_ir_mul(b, lw_ir_and(b, tid, u32(k, row - 1)), u32(k, width));
    p.across = lw_ir_div(b, tid, u32(k, row));
    return p;
}

/* With a mask, neighbours are stored one by one, by neighbouring threads. */
static void
describe_square(lw_ufunc_maker *k, lw_ref tid, square *q)
{
    q->transposed = passes_by(k, tid, k->key->staged);
    q->straight = k->key->masked ? passes_by(k, tid, 1) : q->transposed;
    for (int i = 0; i < k->key->n_in; i++)
        if (is_staged(k, i))
            q->shared[i] = lw_ir_shared(
                &k->b, LW_PLAN_STAGED * lw_plan_staged_pitch(size_of(k, i)) * size_of(k, i),
                16);
}

static lw_status
staged_blocks(lw_ufunc_maker *k, lw_ref tid, lw_ref *corner, lw_ref whole, lw_error *err)
{
    lw_status status = LW_OK;
    square q = {0};

    describe_square(k, tid, &q);
    lw_ir_if(&k->b, whole);
    LW_TRY(whole_square(k, &q, corner, err));
    lw_ir_else(&k->b);
    LW_TRY(edge_square(k, tid, corner, err));
    lw_ir_end(&k->b);
fail:
    return status;
}

lw_status
lw_ufunc_tiles(lw_ufunc_maker *k, lw_ref tid, lw_ref block, lw_error *err)
{
    lw_status status = LW_OK;
    lw_builder *b = &k->b;
    lw_ref side = u32(k, lw_plan_side(k->key)), x, y, corner[2], fits[2];
    lw_ref coordinate[LW_WALK_DIMS], whole[LW_WALK_DIMS];

    lw_ufunc_decompose(k, block, coordinate);
    for (int d = 0; d < 2; d++) {
        corner[d] = lw_ir_mul(b, coordinate[d], side);
        fits[d] = lw_ir_compare(b, LW_OP_LE, lw_ir_add(b, corner[d], side), k->extent[d]);
    }
    if (k->key->staged) {
        memcpy(coordinate, corner, sizeof corner);
        return staged_blocks(k, tid, coordinate, lw_ir_and(b, fits[0], fits[1]), err);
    }
    patch_coordinates(k, tid, &x, &y);
    coordinate[0] = lw_ir_add(b, corner[0], x);
    coordinate[1] = lw_ir_add(b, corner[1], y);
    memcpy(whole, coordinate, sizeof whole);
    lw_ir_if(b, lw_ir_and(b, fits[0], fits[1]));
    LW_TRY(walk_patches(k, whole, true, err));
    lw_ir_else(b);
    lw_ir_if(b, lw_ir_compare(b, LW_OP_LT, coordinate[0], k->extent[0]));
    LW_TRY(walk_patches(k, coordinate, false, err));
    lw_ir_end(b);
    lw_ir_end(b);
fail:
    return status;
}
