/* The functions for kernels only (kernel_names.def): indices, barriers, operations between the
 * lanes of a warp, bits, atomics: the element's address, then one update of
 * core/front/numeric/atomics.h. */
#include "core/front/lower/lower_internal.h"

#include "core/block/shuffle.h"
#include "core/front/lower/address.h"
#include "core/front/numeric/atomics.h"
#include "core/front/numeric/floats.h"
#include "core/front/numeric/integers.h"
#include "core/front/named.h"
#include "core/ir/text_names.h"
#include "core/ir/cell_words.h"
#include "core/ir/counted.h"
#include "core/ir/random_words.h"
#include "core/ir/sort_names.h"
#include "core/ir/thread_names.h"
#include "core/tables/intrinsics.h"

#include <assert.h>

#include <string.h>

typedef struct kernel_call {
    lw_lower_frame *f;
    lw_builder *b;
    uint32_t node;
    lw_impl impl;
    lw_type operand, type;
} kernel_call;

static lw_lower_value
nothing(const kernel_call *c)
{
    return (lw_lower_value){.type = c->type};
}

static lw_lower_value
result(const kernel_call *c, lw_ref made)
{
    return lw_value_convert(c->f, lw_value_scalar(c->f, (lw_type)lw_ir_type(c->b, made), made),
                            c->type);
}

static bool
given(const kernel_call *c, uint32_t i)
{
    return lw_argument_given(c->f, c->node, i);
}

static lw_ref
argument_as(const kernel_call *c, uint32_t i, lw_type type)
{
    lw_lower_value value = lw_lower_argument_as(c->f, c->node, i, type);

    return value.n ? value.parts[0] : 0;
}

/* Integers by their low 32 bits: a mask may be written as -1 or as 0xffffffff. */
static lw_ref
argument_i32(const kernel_call *c, uint32_t i)
{
    lw_lower_value value = lw_lower_argument(c->f, c->node, i);

    return lw_ir_cast(c->b, LW_DT_i32, value.n ? value.parts[0] : 0);
}

static lw_ref
argument_mask(const kernel_call *c, uint32_t i)
{
    return given(c, i) ? argument_i32(c, i) : lw_ir_int(c->b, LW_DT_i32, -1);
}

static lw_ref
argument_truth(const kernel_call *c, uint32_t i)
{
    return lw_value_truth(c->f, lw_lower_argument(c->f, c->node, i));
}

/* ---- indices ---- */

/* Special registers have 32 unsigned bits. */
static lw_ref
sreg(const kernel_call *c, lw_sreg which)
{
    lw_ref value = lw_ir_bitcast(c->b, LW_DT_u32, lw_ir_sreg(c->b, which));

    return lw_ir_cast(c->b, LW_DT_i64, value);
}

static lw_ref
grid_index(const kernel_call *c, uint32_t dim)
{
    lw_ref block = sreg(c, (lw_sreg)(LW_SREG_CTAID_X + dim));
    lw_ref size = sreg(c, (lw_sreg)(LW_SREG_NTID_X + dim));

    return lw_ir_add(c->b, lw_ir_mul(c->b, block, size),
                     sreg(c, (lw_sreg)(LW_SREG_TID_X + dim)));
}

static lw_ref
grid_size(const kernel_call *c, uint32_t dim)
{
    return lw_ir_mul(c->b, sreg(c, (lw_sreg)(LW_SREG_NTID_X + dim)),
                     sreg(c, (lw_sreg)(LW_SREG_NCTAID_X + dim)));
}

static lw_lower_value
lower_grid(const kernel_call *c)
{
    uint32_t n = lw_parts_of(c->f->l->types, c->type);
    lw_ref parts[3] = {0};

    for (uint32_t i = 0; i < n && i < 3; i++)
        parts[i] = c->impl == LW_IMPL_GRID ? grid_index(c, i) : grid_size(c, i);
    return lw_value_of(c->f, c->type, parts, n);
}

/* ---- one operation of kernel_ops.def ---- */

static lw_lower_value
lower_kernel_call(const kernel_call *c)
{
    const lw_kernel_call *row = lw_kernel_call_of(c->impl);
    lw_ref args[4], made;
    uint32_t n = 0;

    for (; row->args[n]; n++)
        args[n] = row->args[n] == 'm'   ? argument_mask(c, n)
                  : row->args[n] == 'u' ? argument_i32(c, n)
                                        : argument_truth(c, n);
    if (row->op == LW_N_KERNEL_OPS) {
        lw_ir_barrier(c->b);
        return nothing(c);
    }
    made =
        lw_ir_kernel_call(c->b, row->op, row->result == 'v' ? LW_DT_void : LW_DT_i32, args, n);
    switch (row->result) {
    case 'v': return nothing(c);
    case 'b':
        return result(c, lw_ir_compare(c->b, LW_OP_NE, made, lw_ir_zero(c->b, LW_DT_i32)));
    case 'u': return result(c, lw_ir_bitcast(c->b, LW_DT_u32, made));
    default: return result(c, made);
    }
}

/* The counter is behind the size of the workspace that a cooperative launch passes. */
static lw_lower_value
lower_grid_sync(const kernel_call *c)
{
    lw_ref workspace = lw_ir_kernel_call(c->b, LW_KOP_grid_workspace, LW_DT_i64, NULL, 0);
    lw_ref counter = lw_ir_add(c->b, workspace, lw_ir_int(c->b, LW_DT_i64, 4));

    counter = lw_ir_bitcast(c->b, LW_DT_ptr, counter);
    lw_ir_kernel_call(c->b, LW_KOP_grid_sync, LW_DT_void, &counter, 1);
    return nothing(c);
}

/* The address in another block's memory; extents are the same. */
static lw_lower_value
lower_cluster_map(const kernel_call *c)
{
    lw_lower_value array = lw_lower_argument(c->f, c->node, 0);
    lw_ref args[2] = {array.n ? array.parts[0] : 0, argument_i32(c, 1)},
           parts[2 + 2 * LW_MAX_ARRAY_DIMS];
    lw_ref made = lw_ir_kernel_call(c->b, LW_KOP_cluster_map, LW_DT_i64, args, 2);

    memcpy(parts, array.parts, array.n * sizeof *parts);
    parts[0] = lw_ir_bitcast(c->b, LW_DT_ptr, made);
    return lw_value_of(c->f, array.type, parts, array.n);
}

/* ---- lanes of a warp ---- */

static int64_t
constant_width(const kernel_call *c)
{
    uint64_t bits = 32;

    if (given(c, 3))
        lw_ir_is_const(c->b, argument_as(c, 3, LW_T_INDEX), &bits);
    return (int64_t)bits;
}

static lw_lower_value
lower_shuffle(const kernel_call *c)
{
    lw_lower_value value;
    lw_ref parts[2] = {0};
    lw_shuffle s = {.op = (lw_kernel_op)(LW_KOP_shfl_idx + (c->impl - LW_IMPL_SHFL_IDX))};

    s.mask = argument_mask(c, 0);
    value = lw_lower_argument_as(c->f, c->node, 1, c->operand);
    s.lane = argument_i32(c, 2);
    s.clamp = lw_ir_int(c->b, LW_DT_i32, lw_shuffle_clamp(s.op, constant_width(c)));
    for (uint32_t i = 0; i < value.n && i < 2; i++)
        parts[i] = lw_shuffle_value(c->b, &s, value.parts[i]);
    return lw_value_convert(c->f, lw_value_of(c->f, c->operand, parts, value.n), c->type);
}

static lw_lower_value
lower_match(const kernel_call *c)
{
    lw_ref args[2] = {argument_mask(c, 0), lw_value_bits(c->b, argument_as(c, 1, c->operand))};
    bool wide = lw_ir_type(c->b, args[1]) == LW_DT_u64, all = c->impl == LW_IMPL_MATCH_ALL;
    lw_kernel_op op = all ? (wide ? LW_KOP_match_all64 : LW_KOP_match_all32)
                          : (wide ? LW_KOP_match_any64 : LW_KOP_match_any32);
    lw_ref parts[2];

    args[1] = lw_ir_bitcast(c->b, wide ? LW_DT_i64 : LW_DT_i32, args[1]);
    parts[0] = lw_ir_kernel_call(c->b, op, LW_DT_i32, args, 2);
    if (!all)
        return result(c, parts[0]);
    parts[1] = lw_ir_compare(c->b, LW_OP_NE, parts[0], lw_ir_zero(c->b, LW_DT_i32));
    return lw_value_of(c->f, c->type, parts, 2);
}

/* ---- memory ---- */

static const lw_type_row *
array_row(const kernel_call *c)
{
    return lw_type_get(c->f->l->types, c->type);
}

static bool
asks_for_alignment(const kernel_call *c)
{
    return given(c, 2) && !lw_argument_is_none(c->f, c->node, 2);
}

/* 16 bytes, so that neighbours can be loaded together, or the alignment that was asked for. */
static uint32_t
alignment_of(const kernel_call *c)
{
    uint32_t natural = lw_type_align(c->f->l->types, c->type);
    uint64_t wanted = 16;

    if (asks_for_alignment(c))
        lw_ir_is_const(c->b, argument_as(c, 2, LW_T_INDEX), &wanted);
    return wanted > natural ? (uint32_t)wanted : natural;
}

static uint32_t
array_bytes(const kernel_call *c)
{
    int64_t bytes = lw_type_bytes(c->f->l->types, c->type);

    return bytes > 0 ? (uint32_t)bytes : 1;
}

/* The shared memory whose size the launch sets, as a one-dimensional array. */
static lw_lower_value
dynamic_array(const kernel_call *c)
{
    int64_t itemsize = lw_type_bytes(c->f->l->types, array_row(c)->elements[0]);
    lw_ref size = lw_ir_int(c->b, LW_DT_i64, itemsize > 0 ? itemsize : 1);
    lw_ref parts[3] = {lw_ir_dynamic(c->b),
                       lw_ir_div(c->b, sreg(c, LW_SREG_DYNAMIC_BYTES), size), size};

    return lw_value_of(c->f, c->type, parts, 3);
}

static lw_lower_value
lower_own_array(const kernel_call *c)
{
    lw_ref memory;

    if (array_row(c)->shape == NULL)
        return dynamic_array(c);
    memory = c->impl == LW_IMPL_SHARED ? lw_ir_shared(c->b, array_bytes(c), alignment_of(c))
                                       : lw_ir_local(c->b, array_bytes(c), alignment_of(c));
    if (memory && c->impl != LW_IMPL_SHARED && asks_for_alignment(c))
        c->b->func->insts.data[memory].flags |= LW_DECL_ALIGNED;
    return lw_value_of(c->f, c->type, &memory, 1);
}

/* ---- bits and numbers ---- */

static lw_ref
count(const kernel_call *c, lw_intrinsic which, lw_ref x)
{
    return lw_ir_intrinsic(c->b, which, lw_ir_type(c->b, x), &x, 1);
}

static lw_lower_value
lower_bits(const kernel_call *c)
{
    lw_ref x = argument_as(c, 0, c->operand);

    switch (c->impl) {
    case LW_IMPL_POPC: return result(c, count(c, LW_IN_popcount, x));
    case LW_IMPL_CLZ: return result(c, count(c, LW_IN_clz, x));
    case LW_IMPL_BREV: return result(c, count(c, LW_IN_bitreverse, x));
    default: return result(c, lw_int_find_first_set(c->b, LW_DT_u32, x));
    }
}

static lw_lower_value
lower_selp(const kernel_call *c)
{
    lw_ref condition = argument_truth(c, 0);
    lw_lower_value yes = lw_lower_argument_as(c->f, c->node, 1, c->operand);
    lw_lower_value no = lw_lower_argument_as(c->f, c->node, 2, c->operand);

    return lw_value_convert(c->f, lw_value_select(c->f, condition, yes, no), c->type);
}

static lw_lower_value
lower_random_state(const kernel_call *c)
{
    uint32_t number = lw_ir_extern_add(c->b->module, "lw_random_state", LW_DT_ptr, NULL, 0);
    lw_ref parts[] = {lw_ir_host_call(c->b, number, NULL, 0),
                      lw_ir_int(c->b, LW_DT_i64, LW_RANDOM_WORDS),
                      lw_ir_int(c->b, LW_DT_i64, 8)};

    return lw_value_of(c->f, c->type, parts, 3);
}

/* Calls a function of the host that sorts, and says whether memory ran out. */
static lw_lower_value
call_sort(const kernel_call *c, const char *name, const lw_dtype *types, const lw_ref *args,
          uint32_t n)
{
    uint32_t number = lw_ir_extern_add(c->b->module, name, LW_DT_b1, types, n);
    lw_ref failed;

    lw_lower_set_loc(c->f, c->node);
    failed = lw_ir_host_call(c->b, number, args, n);
    if (lw_raises_errors(c->f))
        lw_lower_raise(c->f, failed, "MemoryError", "there is no memory for sorting");
    return nothing(c);
}

/* sorts(x), where inference has made it no constant: not on a GPU. */
static lw_lower_value
lower_whether_library_sorts(const kernel_call *c)
{
    return lw_value_scalar(c->f, LW_DT_b1,
                           lw_ir_not(c->b, lw_ir_emit(c->b, LW_OP_ON_GPU, LW_DT_b1, 0, 0, 0)));
}

/* sort(x, is_stable), argsort(places, x). */
static lw_lower_value
lower_library_sort(const kernel_call *c)
{
    static const lw_dtype types[] = {LW_DT_ptr, LW_DT_i64, LW_DT_i64, LW_DT_i64, LW_DT_ptr};
    bool sorts = c->impl == LW_IMPL_SORT;
    lw_lower_value x = lw_lower_argument(c->f, c->node, sorts ? 0 : 1), kind, places;
    lw_type element = lw_array_row_of(c->f, x.type)->elements[0];
    lw_dtype dtype = lw_type_is_time(element) ? LW_SORT_TIMES : (lw_dtype)element;
    lw_ref args[5] = {lw_part_at(&x, 0), lw_array_extent(c->f, x, 0),
                      lw_array_stride(c->f, x, 0)};

    args[3] = lw_ir_int(c->b, LW_DT_i64, dtype * LW_SORT_KINDS);
    if (sorts) {
        kind = lw_lower_argument_as(c->f, c->node, 1, (lw_type)LW_DT_i64);
        args[3] = lw_ir_add(c->b, args[3], lw_part_at(&kind, 0));
    } else {
        places = lw_lower_argument(c->f, c->node, 0);
        args[4] = lw_part_at(&places, 0);
    }
    return call_sort(c, sorts ? LW_LIBRARY_SORT : LW_LIBRARY_ARGSORT, types, args,
                     sorts ? 4 : 5);
}

/* ---- typed lists and dicts ---- */

static lw_lower_value
lower_new_cells(const kernel_call *c)
{
    static const lw_dtype types[] = {LW_DT_i64};
    uint32_t number = lw_ir_extern_add(c->b->module, LW_CELLS_NEW, LW_DT_ptr, types, 1);
    lw_lower_value n = lw_lower_argument_as(c->f, c->node, 0, (lw_type)LW_DT_i64), words;
    lw_ref arg = lw_part_at(&n, 0), memory, parts[4];

    memory = lw_ir_host_call(c->b, number, &arg, 1);
    lw_lower_set_loc(c->f, c->node);
    lw_lower_raise(c->f, lw_ir_compare(c->b, LW_OP_EQ, memory, lw_ir_zero(c->b, LW_DT_ptr)),
                   "MemoryError", LW_COUNTED_NO_MEMORY);
    parts[0] = lw_ir_offset(c->b, memory, lw_ir_int(c->b, LW_DT_i64, LW_COUNTED_HEADER));
    parts[1] = arg;
    parts[2] = lw_ir_int(c->b, LW_DT_i64, 8);
    parts[3] = memory;
    words = lw_value_of(c->f, c->type, parts, 4);
    lw_lower_take(c->f, words);
    return words;
}

/* The address of a word of the cell that the arguments name. */
static lw_ref
word_of_cell(const kernel_call *c, int word)
{
    lw_lower_value words = lw_lower_argument(c->f, c->node, 0);
    lw_lower_value k = lw_lower_argument_as(c->f, c->node, 1, (lw_type)LW_DT_i64);
    lw_ref at = lw_ir_add(c->b, lw_part_at(&k, 0), lw_ir_int(c->b, LW_DT_i64, word));

    return lw_ir_offset(c->b, lw_part_at(&words, 0),
                        lw_ir_mul(c->b, at, lw_ir_int(c->b, LW_DT_i64, 8)));
}

static lw_ref
load_word(const kernel_call *c, lw_dtype type, int word)
{
    return lw_ir_load(c->b, type, 1, word_of_cell(c, word), 8, 0);
}

static lw_lower_value
lower_cell(const kernel_call *c)
{
    lw_ref parts[4] = {load_word(c, LW_DT_ptr, LW_CELL_ADDRESS),
                       load_word(c, LW_DT_i64, LW_CELL_EXTENT),
                       lw_ir_int(c->b, LW_DT_i64, lw_array_item_bytes(c->f, c->type))};

    if (c->impl == LW_IMPL_CELL)
        return lw_value_of(c->f, c->type, parts, 3);
    parts[3] = load_word(c, LW_DT_ptr, LW_CELL_MEMORY);
    lw_ir_hold(c->b, lw_ir_owner(c->b), parts[3]);
    return lw_value_of(c->f, c->type, parts, 4);
}

static lw_lower_value
lower_set_cell(const kernel_call *c)
{
    static const lw_dtype types[] = {LW_DT_ptr, LW_DT_ptr, LW_DT_i64, LW_DT_ptr};
    uint32_t number = lw_ir_extern_add(c->b->module, LW_CELL_SET, LW_DT_void, types, 4);
    lw_lower_value array = lw_lower_argument(c->f, c->node, 2);
    lw_ref args[4] = {word_of_cell(c, 0), lw_part_at(&array, 0), lw_part_at(&array, 1),
                      lw_part_at(&array, 3)};

    assert(lw_array_row_of(c->f, array.type)->owned);
    (void)lw_ir_host_call(c->b, number, args, 4);
    return nothing(c);
}

static lw_lower_value
lower_set_word(const kernel_call *c)
{
    lw_lower_value n = lw_lower_argument_as(c->f, c->node, 2, (lw_type)LW_DT_i64);

    lw_ir_store(c->b, word_of_cell(c, 0), lw_part_at(&n, 0), 8, 0);
    return nothing(c);
}

/* text(word), text_word(x): a string is a word. */
static lw_lower_value
lower_text(const kernel_call *c)
{
    bool is_word = c->impl == LW_IMPL_TEXT_WORD;
    lw_lower_value x = is_word ? lw_lower_argument(c->f, c->node, 0)
                               : lw_lower_argument_as(c->f, c->node, 0, (lw_type)LW_DT_i64);
    lw_ref word = is_word ? lw_lower_text_word(c->f, x) : lw_part_at(&x, 0);

    word = lw_ir_cast(c->b, is_word ? LW_DT_i64 : LW_DT_u64, word);
    return lw_value_of(c->f, c->type, &word, 1);
}

static lw_lower_value
lower_sort_texts(const kernel_call *c)
{
    static const lw_dtype types[] = {LW_DT_ptr, LW_DT_i64, LW_DT_ptr};
    lw_lower_value places = lw_lower_argument(c->f, c->node, 0);
    lw_lower_value words = lw_lower_argument(c->f, c->node, 1);
    lw_ref args[] = {lw_part_at(&places, 0), lw_array_extent(c->f, places, 0),
                     lw_part_at(&words, 0)};

    return call_sort(c, LW_TEXTS_SORT, types, args, 3);
}

static lw_lower_value
lower_cells(const kernel_call *c)
{
    if (c->impl == LW_IMPL_SET_WORD)
        return lower_set_word(c);
    if (c->impl == LW_IMPL_CELLS)
        return lower_new_cells(c);
    if (c->impl >= LW_IMPL_SLOT_KIND && c->impl <= LW_IMPL_KEEP_SLOT)
        return lw_lower_slots(c->f, c->node, c->impl);
    if (c->impl == LW_IMPL_SORT_TEXTS)
        return lower_sort_texts(c);
    if (c->impl == LW_IMPL_TEXT || c->impl == LW_IMPL_TEXT_WORD)
        return lower_text(c);
    return c->impl == LW_IMPL_SET_CELL ? lower_set_cell(c) : lower_cell(c);
}

static lw_lower_value
lower_host_threads(const kernel_call *c)
{
    const char *name = c->impl == LW_IMPL_THREAD_ID ? LW_THREAD_ID : LW_NUM_THREADS;
    uint32_t number = lw_ir_extern_add(c->b->module, name, LW_DT_i64, NULL, 0);

    return result(c, lw_ir_host_call(c->b, number, NULL, 0));
}

/* ---- loads and stores with cache hints ---- */

static lw_ref
element_address(lw_lower_frame *f, uint32_t node, bool first)
{
    lw_lower_value array = lw_lower_argument(f, node, 0);
    uint32_t index = f->l->typed->lists.data[lw_typed_at(f, node)->args + 1];

    if (first)
        return array.n ? array.parts[0] : 0;
    return lw_lower_element_address(f, array, index);
}

static lw_lower_value
lower_cached(const kernel_call *c)
{
    static const uint32_t flags[] = {
        [LW_IMPL_LOAD_CA - LW_IMPL_LOAD_CA] = LW_MEM_CA,
        [LW_IMPL_LOAD_CG - LW_IMPL_LOAD_CA] = LW_MEM_CG,
        [LW_IMPL_LOAD_CS - LW_IMPL_LOAD_CA] = LW_MEM_CS,
        [LW_IMPL_LOAD_LU - LW_IMPL_LOAD_CA] = LW_MEM_LU,
        [LW_IMPL_LOAD_CV - LW_IMPL_LOAD_CA] = LW_MEM_CV,
        [LW_IMPL_STORE_CG - LW_IMPL_LOAD_CA] = LW_MEM_CG,
        [LW_IMPL_STORE_CS - LW_IMPL_LOAD_CA] = LW_MEM_CS,
        [LW_IMPL_STORE_WB - LW_IMPL_LOAD_CA] = LW_MEM_WB,
        [LW_IMPL_STORE_WT - LW_IMPL_LOAD_CA] = LW_MEM_WT,
    };
    uint32_t flag = flags[c->impl - LW_IMPL_LOAD_CA];
    lw_ref address = element_address(c->f, c->node, false);
    lw_lower_value value;

    if (!lw_is_cached_store(c->impl))
        return lw_value_scalar(c->f, c->type,
                               lw_ir_load(c->b, (lw_dtype)c->operand, 1, address, 0, flag));
    value = lw_lower_argument_as(c->f, c->node, 2, c->operand);
    if (value.n)
        lw_ir_store(c->b, address, value.parts[0], 0, flag);
    return nothing(c);
}

/* ---- atomics ---- */

static lw_lower_value
update_complex(lw_lower_frame *f, uint32_t node, lw_atomic_kind kind, lw_ref address)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_lower_value value = lw_lower_argument_as(f, node, 2, t->operand);
    lw_ref old[2] = {0};

    if (value.n == 2)
        lw_atomic_update_complex(&f->b, kind, (lw_dtype)t->operand, address, value.parts, old);
    return lw_value_of(f, t->type, old, 2);
}

static lw_lower_value
lower_atomic(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    lw_impl impl = lw_names[t->target].impl;
    bool swap = impl == LW_IMPL_ATOMIC_SWAP; /* compare_and_swap(array, old, new) */
    uint32_t first = swap ? 1 : 2, n = t->n_args - first;
    lw_atomic_kind kind = swap ? LW_UPDATE_CAS : (lw_atomic_kind)(impl - LW_IMPL_ATOMIC_ADD);
    lw_ref address = element_address(f, node, swap), operands[2] = {0};

    if (lw_is_complex((lw_dtype)t->operand))
        return update_complex(f, node, kind, address);
    for (uint32_t i = 0; i < n && i < 2; i++) {
        lw_lower_value value = lw_lower_argument(f, node, first + i);
        if (impl == LW_IMPL_ATOMIC_MIN || impl == LW_IMPL_ATOMIC_MAX)
            lw_lower_check_sign(f, LW_PY_NONE, value, t->operand);
        value = lw_value_convert(f, value, t->operand);
        operands[i] = value.n ? value.parts[0] : 0;
    }
    return lw_value_scalar(
        f, t->type, lw_atomic_update(&f->b, kind, (lw_dtype)t->operand, address, operands, n));
}

/* ---- entry points ---- */

lw_lower_value
lw_lower_kernel(lw_lower_frame *f, uint32_t node)
{
    const lw_typed_node *t = lw_typed_at(f, node);
    const lw_name_row *row = &lw_names[t->target];
    kernel_call c = {.f = f,
                     .b = &f->b,
                     .node = node,
                     .impl = row->impl,
                     .operand = t->operand,
                     .type = t->type};

    switch (row->rule) {
    case LW_RULE_SREG:
        return lw_value_scalar(f, c.type,
                               sreg(&c, (lw_sreg)(LW_SREG_TID_X + (c.impl - LW_IMPL_TID_X))));
    case LW_RULE_GRID: return lower_grid(&c);
    case LW_RULE_KERNEL: return lower_kernel_call(&c);
    case LW_RULE_GRID_GROUP: return nothing(&c);
    case LW_RULE_GRID_SYNC: return lower_grid_sync(&c);
    case LW_RULE_CLUSTER_MAP: return lower_cluster_map(&c);
    case LW_RULE_SHUFFLE: return lower_shuffle(&c);
    case LW_RULE_MATCH: return lower_match(&c);
    case LW_RULE_LOCAL:
    case LW_RULE_SHARED: return lower_own_array(&c);
    case LW_RULE_NEW_ARRAY:
        return row->impl == LW_IMPL_EMPTY ? lw_lower_empty(f, node)
                                          : lw_lower_view(f, node, row->impl == LW_IMPL_SHAPED);
    case LW_RULE_AXIS: return lw_lower_axis(f, node);
    case LW_RULE_RANDOM_STATE: return lower_random_state(&c);
    case LW_RULE_LIBRARY_SORT:
        return row->impl == LW_IMPL_SORTS ? lower_whether_library_sorts(&c)
                                          : lower_library_sort(&c);
    case LW_RULE_CELLS: return lower_cells(&c);
    case LW_RULE_HOST_THREADS: return lower_host_threads(&c);
    case LW_RULE_CONST_ARRAY: return lw_lower_argument(f, node, 0);
    case LW_RULE_ATOMIC: return lower_atomic(f, node);
    case LW_RULE_CACHED: return lower_cached(&c);
    case LW_RULE_LIBDEVICE: return lw_lower_libdevice(f, node);
    case LW_RULE_BITS: return lower_bits(&c);
    case LW_RULE_SELP: return lower_selp(&c);
    case LW_RULE_ON_HOST: /* inference has made it a constant */
    default:
        assert(!"a rule of kernels without a case here");
        return lw_lower_fail(f, node, row->path);
    }
}

/* Other threads observe when these run, so that an `if` with one of them is not converted. */
uint32_t
lw_cost_kernel(lw_rule rule)
{
    switch (rule) {
    case LW_RULE_CONST_ARRAY: return 0;
    case LW_RULE_SREG:
    case LW_RULE_SELP: return 1;
    case LW_RULE_GRID:
    case LW_RULE_BITS: return 4;
    case LW_RULE_LIBDEVICE: return 24;
    default: return LW_COST_NEVER;
    }
}
