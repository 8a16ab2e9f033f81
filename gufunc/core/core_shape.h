/* Layout + shapes of a call's operands -> core sizes, loop shape, strides of each operand: the
 * rules of NumPy's generalized ufuncs, and its messages. Pure C.
 *
 *     lw_core_shape s;                          (some 10 KB, unset)
 *     lw_core_shape_init(&s, layout, "f");
 *     lw_core_shape_dims(&s, views, keepdims, &err)   how many core dimensions each one has
 *     …                                         axes= and axis= fill s.axes where they differ
 *     lw_core_shape_sizes(&s, views, &err)      size of each; -1: stands in outputs only
 *     …                                         sizes= fills these
 *     lw_core_shape_loop(&s, views, &err)       loop dimensions, broadcast
 *
 * Views of outputs that are not given are not present. */
#ifndef LW_GUFUNC_CORE_CORE_SHAPE_H
#define LW_GUFUNC_CORE_CORE_SHAPE_H

#include "gufunc/core/layout.h"

enum {
    LW_SHAPE_DIMS = 64,      /* NumPy's limit on an array's dimensions */
    LW_SHAPE_CORE_NAMES = 64 /* distinct core dimensions of a layout */
};

typedef struct lw_core_view {
    bool present;
    int ndim; /* 0: a number */
    const int64_t *shape, *strides;
} lw_core_view;

typedef struct lw_core_shape {
    const lw_core_layout *layout;
    const char *name; /* the function's name, for messages */
    bool keepdims;
    bool dropped[LW_SHAPE_CORE_NAMES]; /* optional dimensions that some operand lacks */
    int64_t sizes[LW_SHAPE_CORE_NAMES];
    int loop_ndim;
    int64_t loop[LW_SHAPE_DIMS];
    int n_axes[LW_MAX_OPERANDS]; /* how many core dimensions the array has */
    /* the axis of the array for each of them; negative ones count from the last axis, which is
     * -1 */
    int16_t axes[LW_MAX_OPERANDS][LW_MAX_CORE_DIMS];
} lw_core_shape;

/* LW_ERR_VALUE if the layout has more distinct dimensions than there is room for. */
lw_status lw_core_shape_init(lw_core_shape *s, const lw_core_layout *layout, const char *name,
                             lw_error *err);
/* LW_ERR_TYPE if the layout does not allow keepdims, whatever its value. */
lw_status lw_core_shape_check_keepdims(const lw_core_shape *s, lw_error *err);
lw_status lw_core_shape_dims(lw_core_shape *s, const lw_core_view *views, bool keepdims,
                             lw_error *err);
lw_status lw_core_shape_sizes(lw_core_shape *s, const lw_core_view *views, lw_error *err);
lw_status lw_core_shape_loop(lw_core_shape *s, const lw_core_view *views, lw_error *err);

/* The shape of an output that is to be allocated. Gives its number of dimensions. */
int lw_core_shape_result(const lw_core_shape *s, int operand, int64_t *shape);
/* Which axes are core dimensions: core[a] is the place of axis a among them, or -1 for a loop
 * dimension. */
void lw_core_shape_axes(const lw_core_shape *s, int operand, int ndim, int8_t *core);
/* An operand's strides in bytes along the loop dimensions, outermost first, and along each core
 * dimension of the layout; 0 where it is broadcast or dropped. */
void lw_core_shape_strides(const lw_core_shape *s, int operand, const lw_core_view *view,
                           int64_t *loop, int64_t *core);

#endif
