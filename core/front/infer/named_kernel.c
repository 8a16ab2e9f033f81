/* Typing of the functions for kernels only (kernel_names.def): indices, barriers, operations
 * between the lanes of a warp, bits, atomics. */
#include "core/front/infer/infer_internal.h"
#include "core/front/numeric/atomics.h"
#include "core/ir/sort_names.h"
#include "core/tables/libdevice.h"

#include <string.h>

static const lw_kernel_call calls[] = {
    {LW_IMPL_SYNCTHREADS, "", 'v', LW_N_KERNEL_OPS},
    {LW_IMPL_BARRIER_COUNT, "b", 'i', LW_KOP_barrier_count},
    {LW_IMPL_BARRIER_AND, "b", 'i', LW_KOP_barrier_and},
    {LW_IMPL_BARRIER_OR, "b", 'i', LW_KOP_barrier_or},
    {LW_IMPL_SYNCWARP, "m", 'v', LW_KOP_syncwarp},
    {LW_IMPL_FENCE_DEVICE, "", 'v', LW_KOP_fence_device},
    {LW_IMPL_FENCE_BLOCK, "", 'v', LW_KOP_fence_block},
    {LW_IMPL_FENCE_SYSTEM, "", 'v', LW_KOP_fence_system},
    {LW_IMPL_NANOSLEEP, "u", 'v', LW_KOP_nanosleep},
    {LW_IMPL_VOTE_ALL, "mb", 'b', LW_KOP_vote_all},
    {LW_IMPL_VOTE_ANY, "mb", 'b', LW_KOP_vote_any},
    {LW_IMPL_VOTE_EQ, "mb", 'b', LW_KOP_vote_eq},
    {LW_IMPL_BALLOT, "mb", 'i', LW_KOP_ballot},
    {LW_IMPL_ACTIVEMASK, "", 'u', LW_KOP_activemask},
    {LW_IMPL_LANEMASK_LT, "", 'u', LW_KOP_lanemask_lt},
    {LW_IMPL_CLUSTER_SYNC, "", 'v', LW_KOP_cluster_sync},
    {LW_IMPL_CLUSTER_RANK, "", 'w', LW_KOP_cluster_rank},
    {LW_IMPL_CLUSTER_SIZE, "", 'w', LW_KOP_cluster_size},
};

const lw_kernel_call *
lw_kernel_call_of(lw_impl impl)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].impl == impl)
            return &calls[i];
    return NULL;
}

static lw_status
check_mask(lw_infer_frame *f, lw_name_id name, const lw_arg *arg)
{
    __int128 value;

    if (arg->entry == 0)
        return LW_OK;
    if (!lw_type_is_int(f, arg->value.type))
        return lw_complain_argument(f, name, arg, "a mask of lanes first",
                                    "0xffffffff names all lanes of the warp");
    if (arg->value.constant &&
        lw_constant_int_value(lw_constant_of(f, arg->value.constant), &value) &&
        (value < INT32_MIN || value > UINT32_MAX))
        return lw_complain_argument(f, name, arg, "a mask of 32 bits",
                                    "0xffffffff names all lanes of the warp");
    return LW_OK;
}

static lw_status
check_whole(lw_infer_frame *f, lw_name_id name, const lw_arg *arg)
{
    if (arg->entry == 0 || lw_type_is_int_or_bool(f, arg->value.type))
        return lw_check_wide(f, arg->node, arg->value);
    return lw_complain_argument(f, name, arg, "an integer here", NULL);
}

/* ---- one function for each rule ---- */

/* Indices count as Python ints: no operand makes them wrap, and float32 stays float32. */
static lw_status
type_sreg(lw_infer_frame *f, uint32_t node, lw_name_id name, lw_infer_value *out)
{
    out->type = lw_weak_int(f);
    if (lw_names[name].impl == LW_IMPL_WARPSIZE)
        *out = lw_constant_value(f, lw_node_int(f, node, 32));
    return LW_OK;
}

static lw_status
type_grid(lw_infer_frame *f, lw_name_id name, const lw_arg *ndim, lw_infer_value *out)
{
    lw_type types[3] = {lw_weak_int(f), lw_weak_int(f), lw_weak_int(f)};
    __int128 n = 0;

    if (!ndim->value.constant ||
        !lw_constant_int_value(lw_constant_of(f, ndim->value.constant), &n) || n < 1 || n > 3)
        return lw_complain_argument(f, name, ndim, "1, 2 or 3, as a constant",
                                    "the number of dimensions of the launch (numba raises "
                                    "RequireLiteralValue)");
    out->type = n == 1 ? types[0] : lw_type_tuple(lw_types_of(f), types, (uint32_t)n, NULL);
    return LW_OK;
}

/* ---- groups: values that exist only at compile time, and their methods ---- */

static const char grid_group[] = "cuda.cg.GridGroup";
static const char cluster_group[] = "cuda.cg.ClusterGroup";

static const struct {
    const char *group, *method;
    lw_name_id name;
} group_methods[] = {
    {grid_group, "sync", LW_NAME_cuda_cg_GridGroup_sync},
    {cluster_group, "sync", LW_NAME_cuda_cg_ClusterGroup_sync},
    {cluster_group, "block_rank", LW_NAME_cuda_cg_ClusterGroup_block_rank},
    {cluster_group, "num_blocks", LW_NAME_cuda_cg_ClusterGroup_num_blocks},
    {cluster_group, "map_shared_rank", LW_NAME_cuda_cg_ClusterGroup_map_shared_rank},
};

bool
lw_group_method(lw_infer_frame *f, lw_infer_value value, const char *method, lw_name_id *out)
{
    const lw_constant *constant = value.constant ? lw_constant_of(f, value.constant) : NULL;

    if (constant == NULL || constant->kind != LW_K_OBJECT)
        return false;
    for (size_t i = 0; i < sizeof group_methods / sizeof *group_methods; i++)
        if (strcmp(constant->text, group_methods[i].group) == 0 &&
            strcmp(method, group_methods[i].method) == 0) {
            *out = group_methods[i].name;
            return true;
        }
    return false;
}

static lw_status
type_group(lw_infer_frame *f, uint32_t node, lw_name_id name, lw_infer_value *out)
{
    bool cluster = lw_names[name].impl == LW_IMPL_CLUSTER_GROUP;
    lw_constant constant = {
        .kind = LW_K_OBJECT,
        .text = cluster ? cluster_group : grid_group,
        .help = cluster ? "the group of a cluster has the methods `sync()`, `block_rank()`, "
                          "`num_blocks()` and `map_shared_rank(array, rank)`"
                        : "the group of the grid has one method, `sync()`"};

    *out = lw_constant_value(f, lw_node_constant(f, node, &constant));
    return LW_OK;
}

/* The same array in the memory of another block. */
static lw_status
type_cluster_map(lw_infer_frame *f, lw_name_id name, const lw_arg *args, lw_infer_value *out)
{
    const lw_type_row *array = lw_array_row(f, args[0].value.type);

    if (array == NULL || array->readonly || array->owned)
        return lw_complain_argument(f, name, &args[0], "a shared array",
                                    "make it by `cuda.shared.array(shape, dtype)`");
    out->type = args[0].value.type;
    return check_whole(f, name, &args[1]);
}

static lw_type
result_type(lw_infer_frame *f, char letter)
{
    switch (letter) {
    case 'i': return LW_DT_i32;
    case 'u': return LW_DT_u32;
    case 'b': return LW_DT_b1;
    case 'w': return lw_weak_int(f);
    default: return LW_T_NONE;
    }
}

static lw_status
type_kernel_call(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
                 lw_infer_value *out)
{
    const lw_kernel_call *row = lw_kernel_call_of(lw_names[name].impl);
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++) {
        if (row->args[i] == 'm')
            LW_TRY(check_mask(f, name, &args[i]));
        else if (row->args[i] == 'u')
            LW_TRY(check_whole(f, name, &args[i]));
        else if (!lw_type_is_number(f, args[i].value.type))
            return lw_complain_argument(f, name, &args[i], "a condition", NULL);
    }
    out->type = result_type(f, row->result);
fail:
    return status;
}

/* Any number, part by part. */
static lw_status
type_shuffle(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
             lw_infer_value *out)
{
    __int128 width;
    lw_status status;

    LW_TRY(check_mask(f, name, &args[0]));
    if (!lw_type_is_number(f, args[1].value.type))
        return lw_complain_argument(f, name, &args[1], "a number to pass on", NULL);
    LW_TRY(check_whole(f, name, &args[2]));
    if (n > 3 && args[3].entry) {
        const lw_constant *constant =
            args[3].value.constant ? lw_constant_of(f, args[3].value.constant) : NULL;
        if (constant == NULL || !lw_constant_int_value(constant, &width) || width < 1 ||
            width > 32 || (width & (width - 1)) != 0)
            return lw_complain_argument(f, name, &args[3],
                                        "a constant width: 1, 2, 4, 8, 16, 32", NULL);
    }
    out->type = args[1].value.type;
    if (lw_type_kind_of(lw_types_of(f), out->type) == LW_TK_LITERAL)
        out->type = lw_weak_int(f);
    lw_typed_in(&f->nodes, node)->operand = out->type;
fail:
    return status;
}

static lw_status
type_match(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
           lw_infer_value *out)
{
    lw_type pair[2] = {LW_DT_i32, LW_DT_b1}, type = args[1].value.type;
    lw_status status;

    LW_TRY(check_mask(f, name, &args[0]));
    if (!lw_type_is_number(f, type) || lw_type_is_complex(type))
        return lw_complain_argument(f, name, &args[1], "a real number to compare", NULL);
    if (lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL)
        type = lw_weak_int(f);
    lw_typed_in(&f->nodes, node)->operand = type;
    out->type = lw_names[name].impl == LW_IMPL_MATCH_ALL
                    ? lw_type_tuple(lw_types_of(f), pair, 2, NULL)
                    : (lw_type)LW_DT_i32;
fail:
    return status;
}

static lw_status
type_bits(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
          lw_infer_value *out)
{
    lw_type type = args[0].value.type;

    if (!lw_type_is_int(f, type))
        return lw_complain_argument(f, name, &args[0], "an integer",
                                    "cast it, as in `np.uint32(x)`");
    if (lw_type_kind_of(lw_types_of(f), type) == LW_TK_LITERAL)
        type = lw_weak_int(f);
    lw_typed_in(&f->nodes, node)->operand = type;
    out->type = lw_names[name].impl == LW_IMPL_FFS ? (lw_type)LW_DT_u32 : type;
    return LW_OK;
}

static lw_status
type_selp(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
          lw_infer_value *out)
{
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < 3; i++)
        if (!lw_type_is_number(f, args[i].value.type))
            return lw_complain_argument(f, name, &args[i], i ? "numbers" : "a condition first",
                                        NULL);
    LW_TRY(lw_join_values(f, args[1].node, args[1].value.type, args[2].node, args[2].value.type,
                          &out->type));
    lw_typed_in(&f->nodes, node)->operand = out->type;
fail:
    return status;
}

/* ---- memory ---- */

/* The compiler can lay out 48 KiB for a kernel; more has to be requested at the launch. */
enum { MAX_SHARED_BYTES = 48 * 1024 };

static lw_status
check_alignment(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n)
{
    const lw_constant *constant;
    __int128 value;

    if (n < 3 || args[2].entry == 0 || args[2].value.type == LW_T_NONE)
        return LW_OK;
    constant = args[2].value.constant ? lw_constant_of(f, args[2].value.constant) : NULL;
    if (constant == NULL || !lw_constant_int_value(constant, &value))
        return lw_complain_argument(
            f, name, &args[2], "an alignment that is a constant power of two up to 4096",
            "write a number, such as 16 (numba: "
            "RequireLiteralValue: alignment must be a constant integer)");
    if (value < 1 || value > 4096 || (value & (value - 1)) != 0)
        return lw_complain(
            f, lw_node_of(f, args[2].node)->loc, "E125",
            lw_format_text(f, "this is %s", lw_describe_value(f, args[2].value)),
            "use the next larger power of two, which includes all smaller alignments",
            "Alignment must be a power of two from 1 to 4096");
    return LW_OK;
}

static lw_status
type_local(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
           lw_infer_value *out)
{
    lw_status status;

    LW_TRY(check_alignment(f, name, args, n));
    LW_TRY(lw_infer_local(f, node, name, args, out));
fail:
    return status;
}

static lw_status
type_shared(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
            lw_infer_value *out)
{
    int64_t shape[LW_MAX_ARRAY_DIMS];
    __int128 bytes;
    uint32_t ndim;
    lw_type element;
    lw_status status;

    LW_TRY(check_alignment(f, name, args, n));
    LW_TRY(lw_infer_shape_argument(f, name, &args[0], shape, &ndim));
    LW_TRY(lw_infer_dtype_argument(f, name, &args[1], &element));
    if (args[0].value.type == LW_T_BOTTOM || element == LW_T_BOTTOM)
        return LW_OK;
    if (ndim == 1 && shape[0] == 0) {
        out->type = lw_type_array(lw_types_of(f), element, 1, LW_LAYOUT_C, false, NULL);
        return LW_OK;
    }
    bytes = lw_type_bytes(lw_types_of(f), element);
    for (uint32_t i = 0; i < ndim && bytes <= MAX_SHARED_BYTES; i++)
        bytes *= shape[i];
    if (bytes == 0)
        return lw_complain_argument(
            f, name, &args[0], "a shape without zeros",
            "the shape 0 is the shared memory that the launch asks for");
    if (bytes > MAX_SHARED_BYTES)
        return lw_complain(f, lw_node_of(f, node)->loc, "E103",
                           lw_format_text(f, "more than %d KiB", MAX_SHARED_BYTES / 1024),
                           "use the shape 0, and ask for the bytes at the launch: "
                           "`kernel[blocks, threads, stream, bytes](...)`",
                           "this is too large for a shared array");
    out->type = lw_type_array(lw_types_of(f), element, ndim, LW_LAYOUT_C, false, shape);
fail:
    return status;
}

static lw_status
type_const_array(lw_infer_frame *f, lw_name_id name, const lw_arg *args, lw_infer_value *out)
{
    if (lw_type_kind_of(lw_types_of(f), args[0].value.type) != LW_TK_ARRAY ||
        !args[0].value.constant)
        return lw_complain_argument(f, name, &args[0], "an array from outside the function",
                                    "a global, or a variable of the enclosing function");
    *out = args[0].value;
    return LW_OK;
}

/* ---- libdevice ---- */

static lw_status
check_libdevice_argument(lw_infer_frame *f, lw_name_id name, const lw_arg *arg, lw_dtype to)
{
    lw_type type = arg->value.type;
    bool is_float = lw_is_float(to);

    if (!lw_type_is_number(f, type) || lw_type_is_complex(type) ||
        (!is_float && !lw_type_is_int_or_bool(f, type)))
        return lw_complain_argument(f, name, arg, is_float ? "a real number" : "an integer",
                                    NULL);
    return is_float ? LW_OK : lw_check_literal(f, arg->node, arg->value, to, 0);
}

static lw_status
type_libdevice(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t n,
               lw_infer_value *out)
{
    const lw_libdevice_row *row = lw_libdevice_of(name);
    lw_type types[2] = {0};
    lw_status status = LW_OK;

    for (uint32_t i = 0; i < n; i++)
        LW_TRY(check_libdevice_argument(f, name, &args[i], lw_libdevice_dtype(row->args[i])));
    for (uint32_t i = 0; row->result[i] && i < 2; i++)
        types[i] = lw_libdevice_dtype(row->result[i]);
    out->type = row->result[1] ? lw_type_tuple(lw_types_of(f), types, 2, NULL) : types[0];
fail:
    return status;
}

/* ---- entry points ---- */

/* Whether the function has a meaning here: atomics need arrays, the others need threads of a
 * grid. */
static bool
has_meaning(const lw_infer_frame *f, lw_rule rule)
{
    const lw_front_options *options = &f->run->typed->options;

    switch (rule) {
    case LW_RULE_BITS:
    case LW_RULE_SELP:
    case LW_RULE_LOCAL:
    case LW_RULE_NEW_ARRAY:
    case LW_RULE_AXIS:
    case LW_RULE_RANDOM_STATE:
    case LW_RULE_ON_HOST:
    case LW_RULE_LIBRARY_SORT:
    case LW_RULE_CELLS:
    case LW_RULE_HOST_THREADS:
    case LW_RULE_CONST_ARRAY:
    case LW_RULE_LIBDEVICE: return true;
    case LW_RULE_ATOMIC: return options->procedure || options->threads;
    default: return options->threads;
    }
}

/* Functions that are called on the host alone make arrays that they return. */
static lw_status
type_random_state(lw_infer_frame *f, uint32_t node, lw_infer_value *out)
{
    if (!f->run->typed->options.returns_arrays)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E163", "there is no state of this thread here",
            "lanewise.random has functions that draw from states, "
            "`xoroshiro128p_uniform_float64(states, i)`, or from none, "
            "`philox_uniform_float64(seed, i)`",
            "`np.random` and `random` work in functions of `njit` that are called on the host");
    out->type = lw_type_array(lw_types_of(f), LW_DT_u64, 1, LW_LAYOUT_C, false, NULL);
    return LW_OK;
}

/* Elements of records and of bfloat16 are not NumPy's to sort, and threads of a block have
 * stacks that are too small for it. */
static bool
is_sorted_by_library(lw_infer_frame *f, lw_type array)
{
    const lw_type_row *row = lw_array_row(f, array);
    lw_type element = row ? row->elements[0] : LW_T_BOTTOM;
    lw_dtype dtype = lw_type_is_time(element) ? LW_SORT_TIMES : (lw_dtype)element;

    return row != NULL && element < LW_T_INDEX && !f->run->typed->options.threads &&
           (lw_library_sorts() >> dtype & 1);
}

/* The arguments have the types that lanewise/_array_functions.py gives them. */
static lw_status
type_library_sort(lw_infer_frame *f, uint32_t node, lw_impl impl, const lw_arg *args,
                  lw_infer_value *out)
{
    lw_status status = LW_OK;

    if (lw_array_row(f, args[0].value.type) == NULL)
        return LW_OK;
    if (impl == LW_IMPL_SORTS) {
        bool sorts = is_sorted_by_library(f, args[0].value.type);
        if (sorts && !f->run->typed->options.returns_arrays) /* it may also run on a GPU */
            *out = (lw_infer_value){LW_DT_b1, 0};
        else
            *out = lw_constant_value(f, lw_node_bool(f, node, sorts));
        return LW_OK;
    }
    if (args[1].value.type == LW_T_BOTTOM)
        return LW_OK;
    LW_TRY(lw_check_writable(f, lw_node_of(f, node)->loc, args[0].node, args[0].value.type));
    lw_note_store(f);
    f->can_raise |= !f->run->typed->options.ignore_errors;
    out->type = LW_T_NONE;
fail:
    return status;
}

/* The type of what says that arrays in slots are such ones, of which extents and strides are
 * known at run time only. It has no reference, so that nothing is counted for it. */
static lw_type
slot_kind(lw_types *types, const lw_type_row *array)
{
    lw_layout layout = array->layout == LW_LAYOUT_C ? LW_LAYOUT_C : LW_LAYOUT_ANY;

    return lw_type_array(types, array->elements[0], array->ndim, layout, array->readonly, NULL);
}

/* slot_kind(x): of a number x, the kind of an array of such numbers. */
static void
type_slot_kind(lw_infer_frame *f, const lw_arg *x, lw_infer_value *out)
{
    lw_types *types = lw_types_of(f);
    const lw_type_row *array = lw_array_row(f, x->value.type);

    if (array != NULL)
        out->type = slot_kind(types, array);
    else if (x->value.type != LW_T_BOTTOM)
        out->type = lw_type_array(types, lw_type_stored(types, x->value.type), 1, LW_LAYOUT_C,
                                  false, NULL);
}

/* Of set_slot: what is put into the slot, and what the slots have. */
static const char *
both_types(lw_infer_frame *f, const lw_arg *args)
{
    return lw_format_text(f, "this is %s, and the first one is %s",
                          lw_describe_type(f, args[2].value.type),
                          lw_describe_type(f, args[3].value.type));
}

/* Whether arrays of the type x can be in slots of the type `like`. */
static lw_status
check_slot(lw_infer_frame *f, uint32_t node, const lw_arg *args)
{
    const lw_type_row *x = lw_array_row(f, args[2].value.type);
    const lw_type_row *like = lw_array_row(f, args[3].value.type);

    if (x == NULL || like == NULL)
        return LW_OK;
    if (x->elements[0] != like->elements[0] || x->ndim != like->ndim)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E120", both_types(f, args),
            "convert it, `x.astype(...)` or `x.reshape(...)`, or use a list for each type",
            "the arrays of a list must have one dtype and one number of axes");
    if (like->layout == LW_LAYOUT_C && x->layout != LW_LAYOUT_C)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E120", both_types(f, args),
            "make it contiguous, `np.ascontiguousarray(x)`, or put it into the list first",
            "the first array of this list is contiguous, and this one is not");
    if (x->readonly && !like->readonly)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E120",
            lw_format_text(f, "this is %s", lw_describe_type(f, args[2].value.type)),
            "put a copy into the list, `x.copy()`",
            "the arrays of this list can be written to, and this one cannot");
    return LW_OK;
}

/* Arrays in the slots of lists. The arguments have the types that
 * lanewise/_growing_lists_arrays.py gives them. */
static lw_status
type_slots(lw_infer_frame *f, uint32_t node, lw_impl impl, const lw_arg *args,
           lw_infer_value *out)
{
    const lw_type_row *like;
    lw_status status = LW_OK;

    if (impl == LW_IMPL_SLOT_KIND) {
        type_slot_kind(f, &args[0], out);
        return LW_OK;
    }
    like = lw_array_row(f, args[2].value.type);
    if (like == NULL)
        return LW_OK;
    if (impl == LW_IMPL_SET_SLOT || impl == LW_IMPL_KEEP_SLOT) {
        LW_TRY(check_slot(f, node, args));
        f->resizes = true;
        f->can_raise |= impl == LW_IMPL_KEEP_SLOT && !f->run->typed->options.ignore_errors;
        lw_note_store(f);
        out->type = LW_T_NONE;
    } else {
        out->type = lw_type_array_owned(lw_types_of(f), slot_kind(lw_types_of(f), like),
                                        impl == LW_IMPL_SLOT);
    }
fail:
    return status;
}

/* is_alike(x, y): a constant. */
static lw_status
type_is_alike(lw_infer_frame *f, uint32_t node, const lw_arg *args, lw_infer_value *out)
{
    lw_types *types = lw_types_of(f);
    const lw_type_row *x = lw_array_row(f, args[0].value.type);
    const lw_type_row *y = lw_array_row(f, args[1].value.type);
    bool are;

    if (x == NULL || y == NULL)
        return LW_OK;
    are = slot_kind(types, x) == slot_kind(types, y);
    *out = lw_constant_value(f, lw_node_bool(f, node, are));
    return LW_OK;
}

/* Strings in lists and dicts. The arguments have the types that
 * lanewise/_growing_lists_texts.py gives them. */
static lw_status
type_text(lw_infer_frame *f, lw_impl impl, const lw_arg *args, lw_infer_value *out)
{
    if (args[0].value.type == LW_T_BOTTOM)
        return LW_OK;
    if (impl == LW_IMPL_SORT_TEXTS) {
        lw_note_store(f);
        f->can_raise |= !f->run->typed->options.ignore_errors;
        out->type = LW_T_NONE;
    } else {
        out->type =
            impl == LW_IMPL_TEXT ? lw_type_any_text(lw_types_of(f)) : (lw_type)LW_DT_i64;
    }
    return LW_OK;
}

/* Typed lists and dicts. The arguments have the types that lanewise/_typed_containers.py gives
 * them.
 */
static lw_status
type_cells(lw_infer_frame *f, uint32_t node, lw_impl impl, const lw_arg *args,
           lw_infer_value *out)
{
    lw_types *types = lw_types_of(f);
    bool is_known = args[0].value.type != LW_T_BOTTOM;

    if (!f->run->typed->options.returns_arrays)
        return lw_complain(
            f, lw_node_of(f, node)->loc, "E163",
            "kernels of GPUs and functions of `forall`, `vectorize` and the like "
            "take arrays",
            "pass an array, `np.array(x)`; of strings, an array of numbers for them",
            "typed lists and dicts, and lists and dicts of arrays or strings, work in "
            "functions of `njit` that are called on the host");
    if (impl >= LW_IMPL_SLOT_KIND && impl <= LW_IMPL_KEEP_SLOT)
        return type_slots(f, node, impl, args, out);
    if (impl == LW_IMPL_IS_ALIKE)
        return type_is_alike(f, node, args, out);
    if (impl >= LW_IMPL_TEXT && impl <= LW_IMPL_SORT_TEXTS)
        return type_text(f, impl, args, out);
    if (impl == LW_IMPL_SET_WORD) {
        f->resizes = true;
        lw_note_store(f);
        out->type = LW_T_NONE;
        return LW_OK;
    }
    if (impl != LW_IMPL_CELLS)
        is_known = is_known && lw_array_row(f, args[2].value.type) != NULL;
    if (!is_known)
        return LW_OK;
    switch (impl) {
    case LW_IMPL_SET_CELL:
        f->resizes = true;
        lw_note_store(f);
        out->type = LW_T_NONE;
        return LW_OK;
    case LW_IMPL_CELLS:
        f->can_raise |= !f->run->typed->options.ignore_errors;
        f->allocates = true;
        out->type = lw_type_array(types, LW_DT_i64, 1, LW_LAYOUT_C, false, NULL);
        break;
    default:
        out->type = lw_type_array(types, lw_array_row(f, args[2].value.type)->elements[0], 1,
                                  LW_LAYOUT_C, false, NULL);
        break;
    }
    out->type = lw_type_array_owned(types, out->type, impl != LW_IMPL_CELL);
    return LW_OK;
}

/* The threads of the host's pool: its loops over prange are in functions called on the host. */
static lw_status
type_host_threads(lw_infer_frame *f, uint32_t node, lw_name_id name, lw_infer_value *out)
{
    if (!f->run->typed->options.returns_arrays)
        return lw_complain(f, lw_node_of(f, node)->loc, "E163",
                           "the pool of threads is the host's",
                           "pass the number as an argument; in kernels, `cuda.grid(1)` and "
                           "`cuda.gridsize(1)` number the threads",
                           "`%s` works in functions of `njit` that are called on the host",
                           lw_name_shown(name));
    out->type = (lw_type)LW_DT_i64;
    return LW_OK;
}

static lw_status
complain_no_kernel(lw_infer_frame *f, uint32_t node, lw_name_id name)
{
    return lw_complain(
        f, lw_node_of(f, node)->loc, "E163", "there are no threads here",
        "write a kernel: `@cuda.jit`, launched with `kernel[blocks, threads](...)`",
        "`%s` works in kernels only", lw_name_shown(name));
}

bool
lw_is_kernel_rule(lw_rule rule)
{
    return rule >= LW_RULE_SREG && rule <= LW_RULE_SELP;
}

/* ---- cuda.atomic.*, cuda.ldca and the like: an array, the index of one of its elements, and
 * the values ---- */

static lw_status
element_of(lw_infer_frame *f, lw_name_id name, const lw_arg *args, bool writes,
           lw_type *element)
{
    const lw_arg *array = &args[0];
    const lw_type_row *row = lw_array_row(f, array->value.type);

    *element = LW_T_BOTTOM;
    if (row == NULL)
        return lw_complain_argument(f, name, array, "an array first", NULL);
    if (writes && row->readonly)
        return lw_complain(
            f, lw_node_of(f, array->node)->loc, "E162",
            lw_format_text(f, "this is %s", lw_describe_type(f, array->value.type)),
            "update an array that can be written", "`%s` updates a read-only array",
            lw_name_shown(name));
    if (lw_names[name].impl != LW_IMPL_ATOMIC_SWAP)
        return lw_infer_element(f, array->node, array->value.type, args[1].node, element);
    if (row->ndim != 1)
        return lw_complain_argument(f, name, array, "a one-dimensional array",
                                    "`cuda.atomic.cas` takes an index");
    *element = row->elements[0];
    return LW_OK;
}

static const char *
types_of_atomic(lw_atomic_kind kind)
{
    switch (kind) {
    case LW_UPDATE_INC:
    case LW_UPDATE_DEC: return "an array of unsigned integers";
    case LW_UPDATE_AND:
    case LW_UPDATE_OR:
    case LW_UPDATE_XOR: return "an array of integers or bool";
    case LW_UPDATE_ADD:
    case LW_UPDATE_SUB: return "an array of numbers, not bool";
    case LW_UPDATE_CAS:
    case LW_UPDATE_EXCH: return "an array of real numbers or bool";
    default: return "an array of real numbers";
    }
}

static bool
atomic_takes(lw_atomic_kind kind, lw_type element)
{
    if (element >= LW_N_DTYPES)
        return false;
    if (lw_is_complex((lw_dtype)element))
        return kind == LW_UPDATE_ADD || kind == LW_UPDATE_SUB;
    return lw_atomic_takes(kind, (lw_dtype)element);
}

/* Whether the arguments from `first` on can be stored in the array. */
static lw_status
check_stored(lw_infer_frame *f, lw_name_id name, const lw_arg *args, uint32_t first, uint32_t n,
             lw_dtype element)
{
    lw_status status = LW_OK;

    for (uint32_t i = first; i < n; i++) {
        if (!lw_type_is_number(f, args[i].value.type))
            return lw_complain_argument(f, name, &args[i], "a number here", NULL);
        LW_TRY(lw_check_literal(f, args[i].node, args[i].value, element, 0));
        LW_TRY(lw_check_value(f, args[i].node, args[i].value.type, element, "array"));
    }
fail:
    return status;
}

static lw_status
type_atomic(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
            lw_infer_value *out)
{
    bool swap = lw_names[name].impl == LW_IMPL_ATOMIC_SWAP;
    lw_atomic_kind kind =
        swap ? LW_UPDATE_CAS : (lw_atomic_kind)(lw_names[name].impl - LW_IMPL_ATOMIC_ADD);
    lw_type element;
    lw_status status;

    LW_TRY(element_of(f, name, args, true, &element));
    if (element == LW_T_BOTTOM)
        return LW_OK;
    if (!atomic_takes(kind, element))
        return lw_complain_argument(f, name, &args[0], types_of_atomic(kind), NULL);
    LW_TRY(check_stored(f, name, args, swap ? 1 : 2, n, (lw_dtype)element));
    lw_typed_in(&f->nodes, node)->operand = out->type = element;
fail:
    return status;
}

static lw_status
type_cached(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args, uint32_t n,
            lw_infer_value *out)
{
    bool writes = lw_is_cached_store(lw_names[name].impl);
    lw_type element;
    lw_status status;

    LW_TRY(element_of(f, name, args, writes, &element));
    if (element == LW_T_BOTTOM)
        return LW_OK;
    if (element >= LW_N_DTYPES || lw_is_complex((lw_dtype)element))
        return lw_complain_argument(f, name, &args[0], "an array of real numbers or bool",
                                    NULL);
    LW_TRY(check_stored(f, name, args, 2, n, (lw_dtype)element));
    lw_typed_in(&f->nodes, node)->operand = element;
    out->type = writes ? LW_T_NONE : element;
fail:
    return status;
}

/* ---- the rules ---- */

lw_status
lw_infer_kernel(lw_infer_frame *f, uint32_t node, lw_name_id name, const lw_arg *args,
                uint32_t n, lw_infer_value *out)
{
    lw_rule rule = lw_names[name].rule;

    if (!has_meaning(f, rule))
        return complain_no_kernel(f, node, name);
    switch (rule) {
    case LW_RULE_SREG: return type_sreg(f, node, name, out);
    case LW_RULE_GRID: return type_grid(f, name, &args[0], out);
    case LW_RULE_KERNEL: return type_kernel_call(f, name, args, n, out);
    case LW_RULE_GRID_GROUP: return type_group(f, node, name, out);
    case LW_RULE_CLUSTER_MAP: return type_cluster_map(f, name, args, out);
    case LW_RULE_GRID_SYNC: out->type = LW_T_NONE; return LW_OK;
    case LW_RULE_SHUFFLE: return type_shuffle(f, node, name, args, n, out);
    case LW_RULE_MATCH: return type_match(f, node, name, args, out);
    case LW_RULE_LOCAL: return type_local(f, node, name, args, n, out);
    case LW_RULE_NEW_ARRAY:
        return lw_names[name].impl == LW_IMPL_EMPTY ? lw_infer_empty(f, name, args, n, out)
                                                    : lw_infer_view(f, name, args, n, out);
    case LW_RULE_AXIS:
        return lw_names[name].impl == LW_IMPL_AXIS ? lw_infer_axis(f, node, args, out)
               : lw_names[name].impl == LW_IMPL_IS_KNOWN
                   ? lw_infer_is_known(f, node, args, out)
                   : lw_infer_is_dense(f, node, args, out);
    case LW_RULE_RANDOM_STATE: return type_random_state(f, node, out);
    case LW_RULE_ON_HOST:
        *out =
            lw_constant_value(f, lw_node_bool(f, node, f->run->typed->options.returns_arrays));
        return LW_OK;
    case LW_RULE_LIBRARY_SORT:
        return type_library_sort(f, node, lw_names[name].impl, args, out);
    case LW_RULE_CELLS: return type_cells(f, node, lw_names[name].impl, args, out);
    case LW_RULE_HOST_THREADS: return type_host_threads(f, node, name, out);
    case LW_RULE_SHARED: return type_shared(f, node, name, args, n, out);
    case LW_RULE_CONST_ARRAY: return type_const_array(f, name, args, out);
    case LW_RULE_ATOMIC: return type_atomic(f, node, name, args, n, out);
    case LW_RULE_CACHED: return type_cached(f, node, name, args, n, out);
    case LW_RULE_LIBDEVICE: return type_libdevice(f, name, args, n, out);
    case LW_RULE_BITS: return type_bits(f, node, name, args, out);
    case LW_RULE_SELP: return type_selp(f, node, name, args, out);
    default:
        assert(!"a rule of kernels without a case here");
        return lw_fail(f->run->err, LW_ERR_INTERNAL, "%s has a rule that types nothing",
                       lw_names[name].path);
    }
}
