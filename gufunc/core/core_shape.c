#include "gufunc/core/core_shape.h"

#include "core/base/text.h"

#include <assert.h>
#include <string.h>

lw_status
lw_core_shape_init(lw_core_shape *s, const lw_core_layout *layout, const char *name,
                   lw_error *err)
{
    s->layout = layout;
    s->name = name;
    s->keepdims = false;
    memset(s->dropped, 0, sizeof s->dropped);
    if (layout->n_dims > LW_SHAPE_CORE_NAMES)
        return lw_fail(err, LW_ERR_VALUE,
                       "%s: the signature has %u distinct core dimensions; on a device at most "
                       "%d",
                       name, layout->n_dims, LW_SHAPE_CORE_NAMES);
    return LW_OK;
}

static int
n_operands(const lw_core_shape *s)
{
    return (int)(s->layout->nin + s->layout->nout);
}

static bool
is_output(const lw_core_shape *s, int operand)
{
    return operand >= (int)s->layout->nin;
}

/* The words of messages like "Input operand 1", as NumPy counts operands. */
static const char *
side(const lw_core_shape *s, int operand)
{
    return is_output(s, operand) ? "Output" : "Input";
}

static int
number(const lw_core_shape *s, int operand)
{
    return operand - (is_output(s, operand) ? (int)s->layout->nin : 0);
}

/* ---- how many core dimensions ---- */

static int
count_axes(const lw_core_shape *s, int operand)
{
    const lw_core_operand *core = &s->layout->operands[operand];
    int n = 0;

    if (s->keepdims && is_output(s, operand))
        return s->n_axes[0];
    for (uint32_t d = 0; d < core->n; d++)
        n += !s->dropped[core->dims[d]];
    return n;
}

lw_status
lw_core_shape_check_keepdims(const lw_core_shape *s, lw_error *err)
{
    const lw_core_layout *layout = s->layout;

    for (uint32_t i = 0; i < layout->nin + layout->nout; i++) {
        uint32_t n = layout->operands[i].n;
        bool output = is_output(s, (int)i);
        if (n == (output || !layout->nin ? 0 : layout->operands[0].n))
            continue;
        return lw_fail(err, LW_ERR_TYPE,
                       "%s does not support keepdims: its signature %s requires %s %d to have "
                       "%u core dimensions, but keepdims can only be used when all inputs have "
                       "the same number of core dimensions and all outputs have no core "
                       "dimensions.",
                       s->name, layout->text, output ? "output" : "input", number(s, (int)i),
                       n);
    }
    return LW_OK;
}

/* Drops optional dimensions, the first one first, until the operand has enough dimensions. */
static void
drop_optional(lw_core_shape *s, int operand, int ndim)
{
    const lw_core_operand *core = &s->layout->operands[operand];

    for (uint32_t d = 0; d < core->n && count_axes(s, operand) > ndim; d++)
        if (s->layout->dims[core->dims[d]].optional)
            s->dropped[core->dims[d]] = true;
}

lw_status
lw_core_shape_dims(lw_core_shape *s, const lw_core_view *views, bool keepdims, lw_error *err)
{
    int n = n_operands(s);

    if (keepdims && lw_core_shape_check_keepdims(s, err) != LW_OK)
        return LW_ERR_TYPE;
    for (int i = 0; i < n; i++)
        if (views[i].present)
            drop_optional(s, i, views[i].ndim);
    s->keepdims = keepdims;
    for (int i = 0; i < n; i++) {
        s->n_axes[i] = count_axes(s, i);
        for (int d = 0; d < s->n_axes[i]; d++)
            s->axes[i][d] = (int16_t)(d - s->n_axes[i]);
    }
    for (int i = 0; i < n; i++)
        if (views[i].present && views[i].ndim < s->n_axes[i])
            return lw_fail(err, LW_ERR_VALUE,
                           "%s: %s operand %d does not have enough dimensions (has %d, gufunc "
                           "core with signature %s requires %d)",
                           s->name, side(s, i), number(s, i), views[i].ndim, s->layout->text,
                           s->n_axes[i]);
    return LW_OK;
}

/* ---- sizes ---- */

static int64_t
size_at(const lw_core_shape *s, int operand, const lw_core_view *view, int axis)
{
    int at = s->axes[operand][axis];

    return view->shape[at < 0 ? at + view->ndim : at];
}

/* Takes the size of a core dimension from an operand. False: it contradicts another operand.
 * soft: the size is 1, and only operands that may broadcast have it. */
static bool
takes_size(lw_core_shape *s, uint32_t dim, int64_t size, bool broadcast, bool *soft)
{
    if (s->sizes[dim] < 0 || (*soft && !broadcast) || (*soft && size != 1)) {
        s->sizes[dim] = size;
        *soft = broadcast && size == 1;
        return true;
    }
    return s->sizes[dim] == size || (broadcast && size == 1);
}

static lw_status
operand_sizes(lw_core_shape *s, int operand, const lw_core_view *view, bool *soft,
              lw_error *err)
{
    const lw_core_operand *core = &s->layout->operands[operand];
    int axis = 0;

    for (uint32_t d = 0; d < core->n; d++) {
        uint32_t dim = core->dims[d];
        int64_t size;
        if (s->dropped[dim])
            continue;
        size = size_at(s, operand, view, axis++);
        if (!takes_size(s, dim, size, core->broadcast[d], &soft[dim]))
            return lw_fail(err, LW_ERR_VALUE,
                           "%s: %s operand %d has a mismatch in its core dimension %u, with "
                           "gufunc signature %s (size %lld is different from %lld)",
                           s->name, side(s, operand), number(s, operand), d, s->layout->text,
                           (long long)size, (long long)s->sizes[dim]);
    }
    return LW_OK;
}

lw_status
lw_core_shape_sizes(lw_core_shape *s, const lw_core_view *views, lw_error *err)
{
    bool soft[LW_SHAPE_CORE_NAMES] = {false};
    lw_status status = LW_OK;

    for (uint32_t d = 0; d < s->layout->n_dims; d++) {
        int64_t fixed = s->layout->dims[d].fixed;
        s->sizes[d] = s->dropped[d] ? 1 : fixed ? fixed : -1;
    }
    for (int i = 0; i < n_operands(s) && status == LW_OK; i++)
        if (views[i].present && !(s->keepdims && is_output(s, i)))
            status = operand_sizes(s, i, &views[i], soft, err);
    return status;
}

static lw_status
check_sizes(const lw_core_shape *s, lw_error *err)
{
    for (int i = 0; i < n_operands(s); i++) {
        const lw_core_operand *core = &s->layout->operands[i];
        for (uint32_t d = 0; d < core->n; d++)
            if (s->sizes[core->dims[d]] < 0)
                return lw_fail(err, LW_ERR_VALUE,
                               "%s: %s operand %d has core dimension %u unspecified, with "
                               "gufunc signature %s",
                               s->name, side(s, i), number(s, i), d, s->layout->text);
    }
    return LW_OK;
}

/* ---- the loop ---- */

void
lw_core_shape_axes(const lw_core_shape *s, int operand, int ndim, int8_t *core)
{
    for (int a = 0; a < ndim; a++)
        core[a] = -1;
    for (int d = 0; d < s->n_axes[operand]; d++) {
        int at = s->axes[operand][d];
        core[at < 0 ? at + ndim : at] = (int8_t)d;
    }
}

static void
add_shape(lw_text *text, const int64_t *shape, int n)
{
    lw_text_add(text, "(");
    for (int d = 0; d < n; d++)
        lw_text_addf(text, d ? ",%lld" : "%lld", (long long)shape[d]);
    lw_text_add(text, n == 1 ? ",)" : ")");
}

static int
loop_part(const lw_core_shape *s, int operand, const lw_core_view *view, int64_t *shape)
{
    int8_t core[LW_SHAPE_DIMS];
    int n = 0;

    lw_core_shape_axes(s, operand, view->ndim, core);
    for (int a = 0; a < view->ndim; a++)
        if (core[a] < 0)
            shape[n++] = view->shape[a];
    return n;
}

static lw_status
refuse_loop(const lw_core_shape *s, const lw_core_view *views, lw_error *err)
{
    int64_t shape[LW_SHAPE_DIMS];
    lw_text text;

    lw_text_init(&text);
    for (int i = 0; i < n_operands(s); i++) {
        if (!views[i].present)
            continue;
        lw_text_add(&text, " ");
        add_shape(&text, views[i].shape, views[i].ndim);
        lw_text_add(&text, "->");
        add_shape(&text, shape, loop_part(s, i, &views[i], shape));
    }
    lw_fail(err, LW_ERR_VALUE,
            "%s: operands could not be broadcast together with remapped shapes "
            "[original->remapped]:%s",
            s->name, lw_text_get(&text));
    lw_text_reset(&text);
    return LW_ERR_VALUE;
}

static bool
join_loop(lw_core_shape *s, const int64_t *shape, int n)
{
    int64_t *loop = s->loop;

    if (n > s->loop_ndim) {
        int more = n - s->loop_ndim;
        memmove(loop + more, loop, (size_t)s->loop_ndim * sizeof *loop);
        for (int d = 0; d < more; d++)
            loop[d] = 1;
        s->loop_ndim = n;
    }
    loop += s->loop_ndim - n;
    for (int d = 0; d < n; d++) {
        if (shape[d] == loop[d] || shape[d] == 1)
            continue;
        if (loop[d] != 1)
            return false;
        loop[d] = shape[d];
    }
    return true;
}

/* Whether an output of this shape holds what the loop makes: as in NumPy's gufuncs, it may lack
 * leading dimensions of size 1. */
static bool
holds_loop(const lw_core_shape *s, const int64_t *shape, int n)
{
    int lacks = s->loop_ndim - n;

    for (int d = 0; d < lacks; d++)
        if (s->loop[d] != 1)
            return false;
    return memcmp(shape, s->loop + lacks, (size_t)n * sizeof *shape) == 0;
}

static lw_status
check_output(const lw_core_shape *s, int operand, const lw_core_view *view, lw_error *err)
{
    int64_t shape[LW_SHAPE_DIMS];
    int n = loop_part(s, operand, view, shape);

    if (holds_loop(s, shape, n)) {
        int8_t core[LW_SHAPE_DIMS];
        lw_core_shape_axes(s, operand, view->ndim, core);
        for (int a = 0; s->keepdims && a < view->ndim; a++)
            if (core[a] >= 0 && view->shape[a] != 1)
                return lw_fail(err, LW_ERR_VALUE,
                               "%s: Output operand %d must have size 1 along axis %d, which "
                               "keepdims keeps, not %lld",
                               s->name, number(s, operand), a, (long long)view->shape[a]);
        return LW_OK;
    }
    {
        lw_text has, wants;
        lw_text_init(&has);
        lw_text_init(&wants);
        add_shape(&has, shape, n);
        add_shape(&wants, s->loop, s->loop_ndim);
        lw_fail(err, LW_ERR_VALUE,
                "%s: non-broadcastable output operand %d with loop shape %s doesn't match the "
                "broadcast shape %s",
                s->name, number(s, operand), lw_text_get(&has), lw_text_get(&wants));
        lw_text_reset(&has);
        lw_text_reset(&wants);
    }
    return LW_ERR_VALUE;
}

lw_status
lw_core_shape_loop(lw_core_shape *s, const lw_core_view *views, lw_error *err)
{
    int64_t shape[LW_SHAPE_DIMS];
    lw_status status = check_sizes(s, err);
    int n = n_operands(s);

    s->loop_ndim = 0;
    for (int i = 0; i < n && status == LW_OK; i++)
        if (views[i].present && !join_loop(s, shape, loop_part(s, i, &views[i], shape)))
            status = refuse_loop(s, views, err);
    for (int i = (int)s->layout->nin; i < n && status == LW_OK; i++) {
        if (views[i].present)
            status = check_output(s, i, &views[i], err);
        else if (s->loop_ndim + s->n_axes[i] > LW_SHAPE_DIMS)
            status = lw_fail(err, LW_ERR_VALUE,
                             "%s: output operand %d would have %d dimensions; at most %d are "
                             "supported",
                             s->name, number(s, i), s->loop_ndim + s->n_axes[i], LW_SHAPE_DIMS);
    }
    return status;
}

/* ---- operands ---- */

int
lw_core_shape_result(const lw_core_shape *s, int operand, int64_t *shape)
{
    const lw_core_operand *core = &s->layout->operands[operand];
    int ndim = s->loop_ndim + s->n_axes[operand], loop = 0;
    int8_t place[LW_SHAPE_DIMS];
    int64_t sizes[LW_MAX_CORE_DIMS];
    int n = 0;

    for (uint32_t d = 0; d < core->n; d++)
        if (!s->dropped[core->dims[d]])
            sizes[n++] = s->sizes[core->dims[d]];
    assert(ndim <= LW_SHAPE_DIMS);
    lw_core_shape_axes(s, operand, ndim, place);
    for (int a = 0; a < ndim; a++)
        if (place[a] < 0)
            shape[a] = s->loop[loop++];
        else
            shape[a] = place[a] < n ? sizes[place[a]] : 1; /* keepdims */
    return ndim;
}

void
lw_core_shape_strides(const lw_core_shape *s, int operand, const lw_core_view *view,
                      int64_t *loop, int64_t *core)
{
    const lw_core_operand *operand_core = &s->layout->operands[operand];
    int at_loop = s->loop_ndim - (view->ndim - s->n_axes[operand]), axis = 0;
    int8_t place[LW_SHAPE_DIMS];

    for (int d = 0; d < at_loop; d++)
        loop[d] = 0;
    lw_core_shape_axes(s, operand, view->ndim, place);
    for (int a = 0; a < view->ndim; a++)
        if (place[a] < 0)
            loop[at_loop++] = view->shape[a] == 1 ? 0 : view->strides[a];
    for (uint32_t d = 0; d < operand_core->n; d++) {
        int at;
        core[d] = 0;
        if (s->dropped[operand_core->dims[d]])
            continue;
        at = s->axes[operand][axis++];
        if (at < 0)
            at += view->ndim;
        core[d] = view->shape[at] == 1 ? 0 : view->strides[at];
    }
}
