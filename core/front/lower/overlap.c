/* The order of elements in which an operation from arrays to an array gives NumPy's result,
 * which is as if every input had been read before anything is written.
 *
 * Let the operation at position j write T(j) and read F(j), both affine in j. Positions may be
 * processed in any order in which no F(i) shares bytes with a T(j) of an earlier j. Axes are
 * nested by the output's strides, the widest outside. On each axis, forwards or backwards is
 * safe if for all pairs of its positions i, j in the wrong order the bytes of slab i of the
 * source and of slab j of the output are disjoint. These byte ranges are intervals whose ends
 * are linear in i and j, so that the corners of the triangle of such pairs decide: this is
 * dependence testing by direction vectors (Allen and Kennedy, "Automatic Translation of FORTRAN
 * Programs to Vector Form", 1987, section 5), done at run time, when strides are known. It
 * covers every shift within an array, and everything that is repeated or broadcast along an
 * axis.
 *
 * An array that is reversed or transposed onto itself has no such order, but each position has
 * a partner: T(i) = F(j) and T(j) = F(i). Both elements of a pair are read before either is
 * written. Anything else (a rotation by 90 degrees, a stencil from both directions) has no
 * order here: its results are first written to a small buffer; if there are too many for it,
 * the caller takes memory, or raises. */
#include "core/front/lower/overlap.h"

#include <assert.h>

/* ---- arithmetic ---- */

static lw_ref
number(lw_builder *b, int64_t value)
{
    return lw_ir_int(b, LW_DT_i64, value);
}

static lw_ref
yes(lw_builder *b)
{
    return lw_ir_int(b, LW_DT_b1, 1);
}

static lw_ref
is(lw_builder *b, lw_op op, lw_ref x, lw_ref y)
{
    return lw_ir_compare(b, op, x, y);
}

static lw_ref
last_position(lw_builder *b, const lw_elementwise *w, uint32_t axis)
{
    return lw_ir_sub(b, w->extents[axis], number(b, 1));
}

/* A range of bytes from low up to, but not including, high. */
typedef struct bounds {
    lw_ref low, high;
} bounds;

static bounds
widened(lw_builder *b, bounds r, lw_ref bytes)
{
    lw_ref zero = number(b, 0);

    return (bounds){lw_ir_add(b, r.low, lw_ir_smaller(b, bytes, zero)),
                    lw_ir_add(b, r.high, lw_ir_larger(b, bytes, zero))};
}

/* The bytes that an array covers from its address on, over the axes from `first` on. */
static bounds
bounds_of(lw_builder *b, const lw_elementwise *w, uint32_t array, uint32_t first)
{
    assert(array < w->n && first <= w->ndim);
    const lw_strided *a = &w->arrays[array];
    bounds r = {number(b, 0), number(b, a->item_bytes)};

    for (uint32_t i = first; i < w->ndim; i++)
        r = widened(b, r, lw_ir_mul(b, last_position(b, w, i), a->strides[i]));
    return r;
}

static lw_ref
distance(lw_builder *b, const lw_elementwise *w, uint32_t array)
{
    return lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, w->arrays[0].address,
                      w->arrays[array].address, 0);
}

/* ---- whether arrays overlap ---- */

static lw_ref
is_small(lw_builder *b, const lw_elementwise *w)
{
    lw_ref n = number(b, 1), most_items = number(b, LW_BUFFER_BYTES / w->arrays[0].item_bytes);

    for (uint32_t i = 0; i < w->ndim; i++)
        n = lw_ir_mul(b, n, w->extents[i]);
    return is(b, LW_OP_LE, n, most_items);
}

/* The stride is the wanted one, or the axis has one position only. */
static lw_ref
has_stride(lw_builder *b, const lw_elementwise *w, uint32_t axis, lw_ref stride, lw_ref wanted)
{
    return lw_ir_or(b, is(b, LW_OP_EQ, stride, wanted),
                    is(b, LW_OP_LE, w->extents[axis], number(b, 1)));
}

/* Whether the source's elements are the very elements that are written. */
static lw_ref
is_same(lw_builder *b, const lw_elementwise *w, uint32_t array)
{
    lw_ref same = is(b, LW_OP_EQ, distance(b, w, array), number(b, 0));

    for (uint32_t i = 0; i < w->ndim; i++)
        same = lw_ir_and(
            b, same, has_stride(b, w, i, w->arrays[array].strides[i], w->arrays[0].strides[i]));
    return same;
}

/* Whether bytes `to` from one address on and bytes `from` from another one on overlap. */
static lw_ref
meet(lw_builder *b, lw_ref to_address, bounds to, lw_ref from_address, bounds from)
{
    lw_ref d = lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, to_address, from_address, 0);
    lw_ref may = lw_ir_emit(b, LW_OP_MEET, LW_DT_b1, to_address, from_address, 0);

    may = lw_ir_and(b, may, is(b, LW_OP_LT, lw_ir_add(b, d, from.low), to.high));
    return lw_ir_and(b, may, is(b, LW_OP_LT, to.low, lw_ir_add(b, d, from.high)));
}

lw_ref
lw_arrays_meet(lw_builder *b, const lw_elementwise *x, const lw_elementwise *y)
{
    return meet(b, x->arrays[0].address, bounds_of(b, x, 0, 0), y->arrays[0].address,
                bounds_of(b, y, 0, 0));
}

static lw_ref
overlaps(lw_builder *b, const lw_elementwise *w, uint32_t array)
{
    lw_ref any = meet(b, w->arrays[0].address, bounds_of(b, w, 0, 0), w->arrays[array].address,
                      bounds_of(b, w, array, 0));

    return lw_ir_and(b, any, lw_ir_not(b, is_same(b, w, array)));
}

lw_ref
lw_elementwise_overlaps(lw_builder *b, const lw_elementwise *w)
{
    lw_ref any = 0;

    for (uint32_t k = 1; k < w->n; k++) {
        lw_ref one = overlaps(b, w, k);
        any = any ? lw_ir_or(b, any, one) : one;
    }
    return any ? any : lw_ir_int(b, LW_DT_b1, 0);
}

/* ---- axes sorted by the output's strides, the widest first ---- */

static lw_ref
width(lw_builder *b, lw_ref stride)
{
    return lw_ir_larger(b, stride, lw_ir_sub(b, number(b, 0), stride));
}

static void
exchange(lw_builder *b, lw_ref swap, lw_ref *x, lw_ref *y)
{
    lw_ref first = lw_ir_select(b, swap, *y, *x);

    *y = lw_ir_select(b, swap, *x, *y);
    *x = first;
}

static void
sort_axes(lw_builder *b, lw_elementwise *w)
{
    for (uint32_t end = w->ndim; end > 1; end--)
        for (uint32_t i = 0; i + 1 < end; i++) {
            lw_ref swap = is(b, LW_OP_LT, width(b, w->arrays[0].strides[i]),
                             width(b, w->arrays[0].strides[i + 1]));
            exchange(b, swap, &w->extents[i], &w->extents[i + 1]);
            for (uint32_t k = 0; k < w->n; k++)
                exchange(b, swap, &w->arrays[k].strides[i], &w->arrays[k].strides[i + 1]);
        }
}

/* ---- forwards or backwards ---- */

/* One axis of the output and of one source, at equal positions of the axes outside it. */
typedef struct slabs {
    lw_ref last; /* last position of the axis */
    lw_ref to_stride, from_stride;
    bounds start; /* from the output's slab 0 to the source's slab 0 */
    bounds to, from;
} slabs;

static slabs
slabs_of(lw_builder *b, const lw_elementwise *w, uint32_t array, uint32_t axis)
{
    assert(array != 0 && array < w->n && axis < w->ndim);
    lw_ref d = distance(b, w, array);
    slabs s = {.last = last_position(b, w, axis),
               .to_stride = w->arrays[0].strides[axis],
               .from_stride = w->arrays[array].strides[axis],
               .start = {d, d},
               .to = bounds_of(b, w, 0, axis + 1),
               .from = bounds_of(b, w, array, axis + 1)};

    for (uint32_t i = 0; i < axis; i++)
        s.start = widened(
            b, s.start,
            lw_ir_mul(b, last_position(b, w, i),
                      lw_ir_sub(b, w->arrays[array].strides[i], w->arrays[0].strides[i])));
    return s;
}

/* The distance from the output's slab `written` to the source's slab `read`. */
static lw_ref
offset(lw_builder *b, const slabs *s, lw_ref written, lw_ref read)
{
    return lw_ir_sub(b, lw_ir_mul(b, read, s->from_stride),
                     lw_ir_mul(b, written, s->to_stride));
}

/* Whether no slab is read that an earlier position, in this direction, has written. */
static lw_ref
is_safe(lw_builder *b, const slabs *s, bool forwards)
{
    lw_ref zero = number(b, 0), one = number(b, 1), before = lw_ir_sub(b, s->last, one);
    lw_ref corners[3] = {
        forwards ? offset(b, s, zero, one) : offset(b, s, one, zero),
        forwards ? offset(b, s, zero, s->last) : offset(b, s, s->last, zero),
        forwards ? offset(b, s, before, s->last) : offset(b, s, s->last, before),
    };
    lw_ref low = lw_ir_smaller(b, lw_ir_smaller(b, corners[0], corners[1]), corners[2]);
    lw_ref high = lw_ir_larger(b, lw_ir_larger(b, corners[0], corners[1]), corners[2]);
    lw_ref above, below;

    low = lw_ir_add(b, low, lw_ir_add(b, s->start.low, s->from.low));
    high = lw_ir_add(b, high, lw_ir_add(b, s->start.high, s->from.high));
    above = is(b, LW_OP_GE, low, s->to.high);
    below = is(b, LW_OP_LE, high, s->to.low);
    return lw_ir_or(b, lw_ir_or(b, above, below), is(b, LW_OP_LE, s->last, zero));
}

static void
reverse_axis(lw_builder *b, lw_elementwise *w, uint32_t axis, lw_ref turned)
{
    lw_ref zero = number(b, 0), last = last_position(b, w, axis);

    for (uint32_t k = 0; k < w->n; k++) {
        lw_ref stride = w->arrays[k].strides[axis];
        lw_ref bytes = lw_ir_select(b, turned, lw_ir_mul(b, last, stride), zero);
        w->arrays[k].address = lw_ir_offset(b, w->arrays[k].address, bytes);
        w->arrays[k].strides[axis] =
            lw_ir_select(b, turned, lw_ir_sub(b, zero, stride), stride);
    }
}

/* b1: some axis has no safe direction. */
static lw_ref
choose_directions(lw_builder *b, lw_elementwise *w)
{
    lw_ref backwards[LW_MAX_ARRAY_DIMS] = {0}, fails = lw_ir_int(b, LW_DT_b1, 0);

    for (uint32_t axis = 0; axis < w->ndim; axis++) {
        lw_ref up = yes(b), down = yes(b);
        for (uint32_t k = 1; k < w->n; k++) {
            slabs s = slabs_of(b, w, k, axis);
            up = lw_ir_and(b, up, is_safe(b, &s, true));
            down = lw_ir_and(b, down, is_safe(b, &s, false));
        }
        backwards[axis] = lw_ir_not(b, up);
        fails = lw_ir_or(b, fails, lw_ir_not(b, lw_ir_or(b, up, down)));
    }
    for (uint32_t axis = 0; axis < w->ndim; axis++)
        reverse_axis(b, w, axis, backwards[axis]);
    return fails;
}

/* ---- pairs ---- */

/* Which position is the partner of another: the axes are reversed, or the order of all axes
 * is. */
typedef struct pairing {
    bool transposed;
    lw_ref reversed[LW_MAX_ARRAY_DIMS]; /* b1, by axis of the output */
} pairing;

/* Stride from partner to partner along an axis. */
static lw_ref
partner_stride(lw_builder *b, const lw_elementwise *w, const pairing *p, const lw_strided *a,
               uint32_t axis)
{
    uint32_t from = p->transposed ? w->ndim - 1 - axis : axis;
    lw_ref back = lw_ir_sub(b, number(b, 0), a->strides[from]);

    return lw_ir_select(b, p->reversed[from], back, a->strides[from]);
}

/* Bytes from the address to the partner of the first position. */
static lw_ref
partner_offset(lw_builder *b, const lw_elementwise *w, const pairing *p, const lw_strided *a)
{
    lw_ref bytes = number(b, 0);

    for (uint32_t i = 0; i < w->ndim; i++) {
        lw_ref whole = lw_ir_mul(b, last_position(b, w, i), a->strides[i]);
        bytes = lw_ir_add(b, bytes, lw_ir_select(b, p->reversed[i], whole, number(b, 0)));
    }
    return bytes;
}

/* Whether at each position the source is the output's partner. */
static lw_ref
is_partner(lw_builder *b, const lw_elementwise *w, const pairing *p, uint32_t array)
{
    const lw_strided *to = &w->arrays[0], *from = &w->arrays[array];
    lw_ref fits = is(b, LW_OP_EQ, distance(b, w, array), partner_offset(b, w, p, to));

    for (uint32_t i = 0; i < w->ndim; i++)
        fits = lw_ir_and(b, fits,
                         has_stride(b, w, i, from->strides[i], partner_stride(b, w, p, to, i)));
    return to->item_bytes == from->item_bytes ? fits : lw_ir_int(b, LW_DT_b1, 0);
}

/* Whether every source is the output's partner, or the output itself, or lies elsewhere. */
static lw_ref
forms_pairs(lw_builder *b, const lw_elementwise *w, const pairing *p)
{
    lw_ref all = yes(b);

    for (uint32_t i = 0; p->transposed && i < w->ndim / 2; i++)
        all = lw_ir_and(b, all, is(b, LW_OP_EQ, w->extents[i], w->extents[w->ndim - 1 - i]));
    for (uint32_t k = 1; k < w->n; k++)
        all = lw_ir_and(b, all,
                        lw_ir_or(b, lw_ir_not(b, overlaps(b, w, k)), is_partner(b, w, p, k)));
    return all;
}

/* Axes along which some source runs opposite to the output. */
static void
find_reversed(lw_builder *b, const lw_elementwise *w, pairing *p)
{
    for (uint32_t i = 0; i < w->ndim; i++) {
        lw_ref back = lw_ir_sub(b, number(b, 0), w->arrays[0].strides[i]);
        p->reversed[i] = lw_ir_int(b, LW_DT_b1, 0);
        for (uint32_t k = 1; k < w->n; k++)
            p->reversed[i] =
                lw_ir_or(b, p->reversed[i],
                         lw_ir_and(b, overlaps(b, w, k),
                                   is(b, LW_OP_EQ, w->arrays[k].strides[i], back)));
    }
}

static void
make_partners(lw_builder *b, lw_elementwise *w, const pairing *p)
{
    for (uint32_t k = 0; k < w->n; k++) {
        lw_strided *a = &w->arrays[k], from = *a;
        a->address = lw_ir_offset(b, from.address, partner_offset(b, w, p, &from));
        for (uint32_t i = 0; i < w->ndim; i++)
            a->strides[i] = partner_stride(b, w, p, &from, i);
    }
}

static void
select_operation(lw_builder *b, lw_ref first, const lw_elementwise *x, lw_elementwise *y)
{
    for (uint32_t i = 0; i < y->ndim; i++)
        y->extents[i] = lw_ir_select(b, first, x->extents[i], y->extents[i]);
    for (uint32_t k = 0; k < y->n; k++) {
        y->arrays[k].address =
            lw_ir_select(b, first, x->arrays[k].address, y->arrays[k].address);
        for (uint32_t i = 0; i < y->ndim; i++)
            y->arrays[k].strides[i] =
                lw_ir_select(b, first, x->arrays[k].strides[i], y->arrays[k].strides[i]);
    }
}

static lw_ref
find_pairs(lw_builder *b, const lw_elementwise *w, lw_elementwise *partners)
{
    pairing turned = {0}, crossed = {.transposed = true};
    lw_elementwise other = *w;
    lw_ref in_pairs, transposed;

    *partners = *w;
    find_reversed(b, w, &turned);
    in_pairs = forms_pairs(b, w, &turned);
    make_partners(b, partners, &turned);
    if (w->ndim < 2)
        return in_pairs;
    for (uint32_t i = 0; i < w->ndim; i++)
        crossed.reversed[i] = lw_ir_int(b, LW_DT_b1, 0);
    transposed = forms_pairs(b, w, &crossed);
    make_partners(b, &other, &crossed);
    select_operation(b, transposed, &other, partners);
    return lw_ir_or(b, in_pairs, transposed);
}

/* ---- a slab of an array that is broadcast over the array ---- */

static lw_ref
quotient(lw_builder *b, lw_ref x, lw_ref y)
{
    lw_ref none = is(b, LW_OP_EQ, y, number(b, 0));

    return lw_ir_div(b, x, lw_ir_select(b, none, number(b, 1), y));
}

/* For a copy whose source repeats a slab of the output, `m[:] = m[2:3]`: the slab is
 * overwritten with itself, so that any order is safe. Needs: sorted axes. */
static lw_ref
is_broadcast(lw_builder *b, const lw_elementwise *w)
{
    assert(!w->copies || w->n == 2); /* a copy has one source */
    lw_ref rest = distance(b, w, 1), zero = number(b, 0), broadcast;

    broadcast = lw_ir_int(b, LW_DT_b1, w->copies);
    for (uint32_t i = 0; i < w->ndim; i++) {
        lw_ref stride = w->arrays[0].strides[i], last = last_position(b, w, i);
        lw_ref repeats = is(b, LW_OP_EQ, w->arrays[1].strides[i], zero);
        lw_ref position =
            lw_ir_larger(b, lw_ir_smaller(b, quotient(b, rest, stride), last), zero);

        rest =
            lw_ir_select(b, repeats, lw_ir_sub(b, rest, lw_ir_mul(b, position, stride)), rest);
        broadcast = lw_ir_and(
            b, broadcast,
            lw_ir_or(b, repeats, has_stride(b, w, i, w->arrays[1].strides[i], stride)));
    }
    return lw_ir_and(b, broadcast, is(b, LW_OP_EQ, rest, zero));
}

/* ---- entry points ---- */

void
lw_elementwise_order(lw_builder *b, const lw_elementwise *operation, lw_order *out)
{
    assert(operation->n > 1 && operation->n <= LW_MOST_OPERANDS &&
           operation->ndim <= LW_MAX_ARRAY_DIMS);
    lw_ref pairs = find_pairs(b, operation, &out->partners), fails, broadcast;

    out->operation = *operation;
    sort_axes(b, &out->operation);
    broadcast = is_broadcast(b, &out->operation);
    fails = lw_ir_and(b, choose_directions(b, &out->operation), lw_ir_not(b, broadcast));
    out->in_pairs = lw_ir_and(b, fails, pairs);
    select_operation(b, out->in_pairs, operation, &out->operation);
    fails = lw_ir_and(b, fails, lw_ir_not(b, pairs));
    out->in_buffer = lw_ir_and(b, fails, is_small(b, operation));
    out->fails = lw_ir_and(b, fails, lw_ir_not(b, out->in_buffer));
}

lw_ref
lw_elementwise_address(lw_builder *b, const lw_elementwise *operation, uint32_t array,
                       const lw_ref *positions)
{
    assert(array < operation->n);
    const lw_strided *a = &operation->arrays[array];
    lw_ref bytes = 0;

    for (uint32_t i = 0; i < operation->ndim; i++)
        bytes = lw_offset_sum(b, bytes, lw_offset_product(b, positions[i], a->strides[i]));
    return lw_address_moved(b, a->address, bytes);
}

void
lw_elementwise_open(lw_builder *b, const lw_elementwise *operation, lw_positions *p)
{
    for (uint32_t i = 0; i < operation->ndim; i++) {
        p->loops[i] = lw_ir_for(b, lw_ir_zero(b, LW_DT_i64), operation->extents[i],
                                lw_ir_int(b, LW_DT_i64, 1), LW_LOOP_NO_UNROLL);
        p->at[i] = p->loops[i].i;
    }
}

void
lw_elementwise_close(lw_builder *b, const lw_elementwise *operation, lw_positions *p)
{
    for (uint32_t i = operation->ndim; i-- > 0;)
        lw_ir_for_end(b, &p->loops[i]);
}

lw_ref
lw_in_front(lw_builder *b, lw_ref first, lw_ref second)
{
    lw_ref bytes = lw_ir_emit(b, LW_OP_DISTANCE, LW_DT_i64, first, second, 0);

    return is(b, LW_OP_GE, bytes, number(b, 0));
}
