#include "core/front/lower/cursor.h"

#include "core/ir/format.h"

#include <assert.h>

lw_cursor
lw_cursor_of(lw_lower_frame *f, lw_lower_value array)
{
    lw_cursor cursor = {.array = array};

    for (uint32_t i = 0; i < lw_array_row_of(f, array.type)->ndim; i++)
        cursor.strides[i] = lw_array_stride_in(f, array, i, lw_offset_type(f));
    return cursor;
}

/* Whether an exception of this function can show two numbers. */
static bool
carries_extents(const lw_lower_frame *f)
{
    return lw_raises_errors(f) && f->l->n_raise_words == LW_RAISE_WORDS && f->deferred == 0;
}

/* The extents of the first axis that differs. */
static void
keep_first(lw_lower_frame *f, lw_mismatch *m, lw_ref given, lw_ref wanted)
{
    lw_builder *b = &f->b;

    m->given = m->given ? lw_ir_select(b, m->differs, m->given, given) : given;
    m->wanted = m->wanted ? lw_ir_select(b, m->differs, m->wanted, wanted) : wanted;
}

void
lw_cursor_broadcast(lw_lower_frame *f, lw_cursor *from, lw_lower_value to,
                    lw_mismatch *mismatch)
{
    lw_builder *b = &f->b;
    uint32_t n = lw_array_row_of(f, from->array.type)->ndim;
    uint32_t missing = lw_array_row_of(f, to.type)->ndim - n;
    lw_ref zero = lw_ir_zero(b, lw_offset_type(f));

    if (mismatch->differs == 0)
        mismatch->differs = lw_ir_int(b, LW_DT_b1, 0);
    assert(n <= lw_array_row_of(f, to.type)->ndim); /* inference compared them */
    for (uint32_t i = 0; i < n; i++) {
        lw_ref wanted = lw_array_extent(f, to, missing + i);
        lw_ref given = lw_array_extent(f, from->array, i);
        lw_ref one = lw_ir_compare(b, LW_OP_EQ, given, lw_const64(f, 1));
        lw_ref other = lw_ir_compare(b, LW_OP_NE, given, wanted);

        if (carries_extents(f))
            keep_first(f, mismatch, given, wanted);
        mismatch->differs =
            lw_ir_or(b, mismatch->differs, lw_ir_and(b, other, lw_ir_not(b, one)));
        /* where extents are equal the stride stays as it is, which vectorisers need to know */
        from->strides[i] = lw_ir_select(b, lw_ir_and(b, other, one), zero, from->strides[i]);
    }
}

void
lw_cursor_raise(lw_lower_frame *f, const lw_mismatch *mismatch)
{
    static const char before[] = "could not broadcast: the shapes differ, an axis has ";
    const lw_format_value values[] = {{.dtype = LW_DT_i64, .behind = " elements, and "},
                                      {.dtype = LW_DT_i64, .behind = " in the other array"}};
    lw_builder *b = &f->b;
    uint64_t number;

    if (!lw_raises_errors(f))
        return;
    if (mismatch->given == 0) {
        lw_lower_raise(f, mismatch->differs, "ValueError",
                       "could not broadcast: the shapes differ");
        return;
    }
    number = lw_format_add(before, values, 2);
    if (number == 0) {
        f->l->module->failed = true;
        return;
    }
    lw_ir_if(b, mismatch->differs);
    lw_lower_raise_words(f, "ValueError", number,
                         (lw_ref[]){lw_ir_cast(b, LW_DT_u64, mismatch->given),
                                    lw_ir_cast(b, LW_DT_u64, mismatch->wanted)},
                         2);
    lw_ir_end(b);
}

/* Elements of a part: what it costs to begin one is little beside them, and as parts cost about
 * the same, so does an iteration of the loop over them, which core/host/parallel_loop measures.
 * Rows that are longer are divided, into multiples of PART_COLUMNS. Whatever number LLVM
 * computes together divides that, so that the elements of a row that are left over do not
 * depend on the number of threads: it may call other functions of libm for them. Below
 * MANY_ELEMENTS an expression is not worth a call of the pool's owner. */
enum { PART_ELEMENTS = 2048, PART_COLUMNS = 512, MANY_ELEMENTS = 4096 };

static lw_ref
divided_up(lw_builder *b, lw_ref x, lw_ref by)
{
    lw_ref one = lw_ir_int(b, LW_DT_i64, 1);

    return lw_ir_div(b, lw_ir_add(b, x, lw_ir_sub(b, by, one)), by);
}

static lw_ref
width_of(lw_builder *b, lw_ref stride)
{
    return lw_ir_larger(b, stride, lw_ir_sub(b, lw_ir_zero(b, LW_DT_i64), stride));
}

/* b1: along each axis, elements are farther apart than those of the axes inside of it reach. */
static lw_ref
is_nested(lw_lower_frame *f, lw_lower_value array, bool last_inside)
{
    lw_builder *b = &f->b;
    uint32_t ndim = lw_array_row_of(f, array.type)->ndim;
    lw_ref reach = lw_const64(f, lw_array_item_bytes(f, array.type));
    lw_ref all = lw_ir_int(b, LW_DT_b1, 1), one = lw_const64(f, 1);

    for (uint32_t i = 0; i < ndim; i++) {
        uint32_t axis = last_inside ? ndim - 1 - i : i;
        lw_ref extent = lw_array_extent(f, array, axis);
        lw_ref width = width_of(b, lw_array_stride(f, array, axis));
        lw_ref good = lw_ir_or(b, lw_ir_compare(b, LW_OP_GE, width, reach),
                               lw_ir_compare(b, LW_OP_LE, extent, one));
        all = lw_ir_and(b, all, good);
        reach = lw_ir_add(b, reach, lw_ir_mul(b, width, lw_ir_sub(b, extent, one)));
    }
    return all;
}

/* b1: no two elements share memory, for certain; 0: it is known. */
static lw_ref
elements_are_apart(lw_lower_frame *f, lw_lower_value array)
{
    const lw_type_row *row = lw_array_row_of(f, array.type);

    if (row->layout != LW_LAYOUT_ANY || row->shape != NULL)
        return 0;
    return lw_ir_or(&f->b, is_nested(f, array, true), is_nested(f, array, false));
}

/* A part has some rows, or some columns of one row. */
typedef struct division {
    lw_ref n_parts, rows;
    lw_ref n_columns, columns; /* n_columns: parts of a row; 0: rows are not divided */
} division;

static division
divide(lw_lower_frame *f, const lw_cursor_loops *loops, lw_ref size)
{
    lw_builder *b = &f->b;
    lw_ref one = lw_const64(f, 1), part = lw_const64(f, PART_ELEMENTS), across = one;
    lw_ref unit = lw_const64(f, PART_COLUMNS), deep = one, whole;
    division d = {0};

    if (loops->ndim > 1)
        across = lw_ir_larger(b, lw_ir_div(b, size, lw_ir_larger(b, loops->ends[0], one)), one);
    d.rows = divided_up(b, part, across);
    d.n_parts = divided_up(b, loops->ends[0], d.rows);
    if (loops->ndim == 1)
        return d;
    for (uint32_t i = 2; i < loops->ndim; i++)
        deep = lw_ir_mul(b, deep, loops->ends[i]);
    whole = lw_ir_compare(b, LW_OP_LT, across, lw_const64(f, 2 * PART_ELEMENTS));
    d.columns = divided_up(b, divided_up(b, part, lw_ir_larger(b, deep, one)), unit);
    d.columns = lw_ir_select(b, whole, lw_ir_larger(b, loops->ends[1], one),
                             lw_ir_mul(b, d.columns, unit));
    d.n_columns = lw_ir_larger(b, divided_up(b, loops->ends[1], d.columns), one);
    d.n_parts = lw_ir_mul(b, d.n_parts, d.n_columns);
    return d;
}

/* Whether cores may share elements: not in an iteration of prange, which has one core. */
static bool
has_parts(const lw_lower_frame *f, const lw_cursor_loops *loops)
{
    const lw_lower_loop *loop = f->loop;

    while (loop != NULL && !loop->parallel)
        loop = loop->outer;
    return f->l->typed->options.parallel_arrays && loops->ndim > 0 && loop == NULL;
}

/* ---- elements that lie side by side ---- */

static lw_ref
item_bytes(lw_lower_frame *f, const lw_cursor *cursor)
{
    return lw_ir_int(&f->b, lw_offset_type(f), lw_array_item_bytes(f, cursor->array.type));
}

/* The stride along the last axis, if it is not known; else 0. */
static lw_ref
unknown_stride(const lw_lower_frame *f, const lw_cursor *cursor)
{
    uint32_t n = lw_array_row_of(f, cursor->array.type)->ndim;

    return n == 0 || lw_ir_is_const(&f->b, cursor->strides[n - 1], NULL)
               ? 0
               : cursor->strides[n - 1];
}

/* b1: the strides along the last axis that are not known are those of dense arrays; 0: all are
 * known. */
static lw_ref
are_dense(lw_lower_frame *f, const lw_cursor_work *work)
{
    lw_builder *b = &f->b;
    lw_ref all = 0;

    for (uint32_t k = 0; k < work->n; k++) {
        lw_ref stride = unknown_stride(f, &work->cursors[k]), one;
        if (stride == 0)
            continue;
        one = lw_ir_compare(b, LW_OP_EQ, stride, item_bytes(f, &work->cursors[k]));
        all = all ? lw_ir_and(b, all, one) : one;
    }
    return all;
}

/* Whether the elements of the array along its last axis are known to be different ones. */
static bool
has_known_stride(const lw_lower_frame *f, const lw_cursor *cursor)
{
    uint32_t n = lw_array_row_of(f, cursor->array.type)->ndim;
    uint64_t stride;

    return lw_ir_is_const(&f->b, cursor->strides[n - 1], &stride) && stride != 0;
}

/* ---- loops ---- */

static void
mark(lw_builder *b, const lw_for *loop, uint32_t flags)
{
    if (b->func != NULL) /* the LOOP is right before what it reads first */
        b->func->insts.data[loop->i - 1].flags |= flags;
}

/* Whether memory is declared in the loop, which all iterations use. */
static bool
declares_memory(const lw_builder *b, const lw_for *loop)
{
    for (uint32_t i = loop->i; b->func != NULL && i < b->func->insts.n; i++)
        if (lw_op_is_own_memory((lw_op)b->func->insts.data[i].op))
            return true;
    return false;
}

/* Where elements of the array lie side by side, iterations of the innermost loop are
 * independent: others that are read are apart from them, or the very same. */
static void
walk_axes(lw_lower_frame *f, lw_cursor_loops *loops, const lw_cursor_work *work, bool dense)
{
    lw_builder *b = &f->b;
    uint32_t n = loops->ndim;

    loops->dense = dense;
    for (uint32_t i = 0; i < n; i++)
        loops->axes[i] = lw_ir_for(b, loops->begins[i], loops->ends[i], lw_const64(f, 1), 0);
    work->body(f, loops, work->context);
    if (n > 0 && f->l->typed->options.on_host &&
        (dense || has_known_stride(f, &work->cursors[0])) &&
        !declares_memory(b, &loops->axes[n - 1]))
        mark(b, &loops->axes[n - 1], LW_LOOP_VECTORIZE);
    for (uint32_t i = n; i-- > 0;)
        lw_ir_for_end(b, &loops->axes[i]);
}

/* dense: what are_dense has found. */
static void
walk(lw_lower_frame *f, lw_cursor_loops *loops, const lw_cursor_work *work, lw_ref dense)
{
    if (dense == 0) {
        walk_axes(f, loops, work, false);
        return;
    }
    lw_ir_if(&f->b, dense);
    walk_axes(f, loops, work, true);
    lw_ir_else(&f->b);
    walk_axes(f, loops, work, false);
    lw_ir_end(&f->b);
}

/* Limits the loop over an axis to the part of this number along it. */
static void
limit_axis(lw_builder *b, lw_cursor_loops *loops, uint32_t axis, lw_ref number, lw_ref width)
{
    loops->begins[axis] = lw_ir_mul(b, number, width);
    loops->ends[axis] =
        lw_ir_smaller(b, lw_ir_add(b, loops->begins[axis], width), loops->ends[axis]);
}

static void
walk_in_parts(lw_lower_frame *f, lw_cursor_loops loops, const lw_cursor_work *work,
              lw_ref dense, lw_ref size)
{
    lw_builder *b = &f->b;
    division d = divide(f, &loops, size);
    lw_for parts = lw_ir_for(b, lw_const64(f, 0), d.n_parts, lw_const64(f, 1), 0);
    lw_ref row = parts.i;

    mark(b, &parts, LW_LOOP_PARALLEL | LW_LOOP_ELEMENTS);
    if (d.n_columns) {
        row = lw_ir_div(b, parts.i, d.n_columns);
        limit_axis(b, &loops, 1, lw_ir_sub(b, parts.i, lw_ir_mul(b, row, d.n_columns)),
                   d.columns);
    }
    limit_axis(b, &loops, 0, row, d.rows);
    walk(f, &loops, work, dense);
    lw_ir_for_end(b, &parts);
}

void
lw_cursor_each(lw_lower_frame *f, const lw_cursor_work *work)
{
    lw_lower_value to = work->cursors[0].array;
    lw_builder *b = &f->b;
    lw_cursor_loops loops = {.ndim = lw_array_row_of(f, to.type)->ndim};
    lw_ref dense = f->l->typed->options.on_host ? are_dense(f, work) : 0;
    lw_ref size = lw_const64(f, 1), is_long, apart;

    for (uint32_t i = 0; i < loops.ndim; i++) {
        lw_ref extent = lw_array_extent(f, to, i);
        if (work->differs && !lw_raises_errors(f)) /* errors are ignored: nothing is stored */
            extent = lw_ir_select(b, work->differs, lw_const64(f, 0), extent);
        loops.begins[i] = lw_const64(f, 0);
        loops.ends[i] = extent;
    }
    if (!has_parts(f, &loops)) {
        walk(f, &loops, work, dense);
        return;
    }
    for (uint32_t i = 0; i < loops.ndim; i++)
        size = lw_ir_mul(b, size, loops.ends[i]);
    is_long = lw_ir_compare(b, LW_OP_GE, size, lw_const64(f, MANY_ELEMENTS));
    apart = elements_are_apart(f, to);
    lw_ir_if(b, apart ? lw_ir_and(b, is_long, apart) : is_long);
    walk_in_parts(f, loops, work, dense, size);
    lw_ir_else(b);
    walk(f, &loops, work, dense);
    lw_ir_end(b);
}

lw_ref
lw_cursor_address(lw_lower_frame *f, const lw_cursor *cursor, const lw_cursor_loops *loops)
{
    uint32_t n = lw_array_row_of(f, cursor->array.type)->ndim, first = loops->ndim - n;
    lw_ref at = 0;

    assert(n <= loops->ndim);
    for (uint32_t i = 0; i < n; i++) {
        bool dense = loops->dense && i == n - 1 && unknown_stride(f, cursor) != 0;
        lw_ref stride = dense ? item_bytes(f, cursor) : cursor->strides[i];
        lw_ref k = lw_offset_cast(&f->b, lw_offset_type(f), loops->axes[first + i].i);
        at = lw_offset_sum(&f->b, at, lw_offset_product(&f->b, k, stride));
    }
    return lw_address_moved(&f->b, lw_part_at(&cursor->array, 0), at);
}
