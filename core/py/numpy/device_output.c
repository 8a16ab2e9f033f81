/* Outputs of device calls that are not given: their shape and the order of their axes, which is
 * NumPy's. */
#include "core/py/numpy/device_call.h"

typedef int64_t loop_strides[LW_MAX_DIMS];

/* Strides of the operands that have some. How many. */
static int
read_strides(const lw_device_call *call, loop_strides *loops)
{
    int nin = call->self->nin, n = 0;

    for (int i = 0; i < call->n_read; i++) {
        bool is_new = lw_device_call_is_output(call, i) && call->out_objects[i - nin] == NULL;
        if (call->operands[i].kind == LW_OPERAND_DEVICE && !is_new)
            call->self->kind->device->strides(call, i, loops[n++]);
    }
    return n;
}

/* Whether an axis should move inside another one that is further inwards: -1 where no operand
 * has an opinion. Where operands disagree, C order wins. */
static int
moves_inside(const loop_strides *loops, int n, int axis, int inner)
{
    int moves = -1;

    for (int i = 0; i < n; i++) {
        int64_t mine = lw_magnitude(loops[i][axis]), other = lw_magnitude(loops[i][inner]);
        if (mine == 0 || other == 0)
            continue;
        if (other <= mine)
            return 0;
        moves = 1;
    }
    return moves;
}

/* The loop's axes, innermost first, as NumPy's order 'K' has them: an insertion sort, as in
 * npyiter_find_best_axis_order, for the relation is not transitive. */
static void
keep_order(const lw_device_call *call, int *axes)
{
    loop_strides loops[LW_WALK_OPERANDS];
    int n = read_strides(call, loops);

    for (int k = 0; k < call->loop_ndim; k++) {
        int axis = call->loop_ndim - 1 - k, to = k;
        for (int j = k - 1; j >= 0; j--) {
            int moves = moves_inside(loops, n, axis, axes[j]);
            if (moves == 0)
                break;
            if (moves == 1)
                to = j;
        }
        for (int j = k; j > to; j--)
            axes[j] = axes[j - 1];
        axes[to] = axis;
    }
}

/* Strides of a dense array, whose first one is set to its item's size. An order is that of the
 * loop's axes with the core's behind them, wherever `axes` puts these. */
static void
order_axes(const lw_device_call *call, char order, int ndim, const int64_t *shape,
           const int8_t *core, int64_t *strides)
{
    int loop[LW_MAX_DIMS] = {0}, kept[LW_MAX_DIMS] = {0}, inwards[LW_MAX_DIMS] = {0};
    int n_loop = 0;
    int64_t step = strides[0];

    for (int a = 0; a < ndim; a++)
        if (core[a] < 0)
            loop[n_loop++] = a;
    assert(n_loop == call->loop_ndim);
    if (order == 'K')
        keep_order(call, kept);
    for (int k = 0; k < n_loop; k++) /* outermost first */
        inwards[k] = loop[order == 'K' ? kept[n_loop - 1 - k] : k];
    for (int d = 0, n = n_loop; n < ndim; d++) /* of the core's some may be dropped */
        for (int a = 0; a < ndim; a++)
            if (core[a] == d)
                inwards[n++] = a;
    for (int k = 0; k < ndim; k++) {
        int axis = inwards[order == 'F' ? k : ndim - 1 - k];
        strides[axis] = step;
        step *= shape[axis] ? shape[axis] : 1;
    }
}

/* Whether all device inputs are contiguous in this order. Without any, they are in 'C' and not
 * in 'F'. */
static bool
are_contiguous(const lw_device_call *call, char order)
{
    bool any = false;

    for (int i = 0; i < call->self->nin; i++) {
        const lw_operand *operand = &call->operands[i];
        int64_t step = operand->itemsize;
        if (operand->kind != LW_OPERAND_DEVICE)
            continue;
        any = true;
        if (order == 'C' && !operand->c_contiguous)
            return false;
        for (int d = 0; order == 'F' && d < operand->ndim; d++) {
            if (operand->shape[d] != 1 && operand->strides[d] != step)
                return false;
            step *= operand->shape[d];
        }
    }
    return any || order == 'C';
}

static lw_device_array *
new_output(const lw_device_call *call, int output)
{
    lw_dtype dtype = lw_device_call_types(call)[output];
    int64_t shape[LW_MAX_DIMS], strides[LW_MAX_DIMS];
    int8_t core[LW_MAX_DIMS];
    int ndim = call->self->kind->device->result(call, output, shape, core);
    bool plain = call->axes == NULL && call->axis == NULL;
    char order = call->order_letter;

    if (order == 'A')
        order = are_contiguous(call, 'F') ? 'F' : 'C';
    if (order == 'K' && plain && !call->masked && !call->n_given && are_contiguous(call, 'C'))
        order = 'C';
    if ((order != 'K' && plain) || ndim == 0)
        return lw_device_array_new(call->device, call->stream, dtype, ndim, shape,
                                   order == 'K' ? 'C' : order);
    strides[0] = lw_dtypes[dtype].size_bytes;
    order_axes(call, order, ndim, shape, core, strides);
    return lw_device_array_new_strided(call->device, call->stream, dtype, ndim, shape, strides);
}

int
lw_device_call_make_outputs(lw_device_call *call)
{
    int nin = call->self->nin;

    for (int i = nin; i < nin + call->self->nout; i++) {
        lw_operand *operand = &call->operands[i];
        lw_device_array *made;
        if (operand->kind == LW_OPERAND_DEVICE)
            continue;
        made = new_output(call, i);
        call->made[i - nin] = made;
        if (made == NULL || lw_operand_read(operand, (PyObject *)made) < 0)
            return -1;
    }
    return 0;
}
