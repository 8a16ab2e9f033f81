/* Slices as values: `slice` is read as the class of lanewise/_slices.py, whose objects are
 * tuples of their bounds as those of the user's classes are. A call of it is a TUPLE node, so
 * that a slice of constants is a constant. A slice in brackets is no value, but a SLICE node.
 */
#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include <assert.h>
#include <string.h>

enum { N_BOUNDS = 3 };

PyObject *
lw_read_slice_class(void)
{
    return lw_service_find(LW_SERVICE_SLICES, "slice");
}

uint32_t
lw_read_slice_type(lw_reader *r)
{
    PyObject *class = lw_read_slice_class();
    uint32_t constant = class ? lw_read_class_of_objects(r, class) : lw_read_failed(r);

    assert(constant == 0 || r->tree->constants.data[constant].kind == LW_K_CLASS);
    Py_XDECREF(class);
    return constant;
}

/* The slice of these bounds, which are constants. */
static uint32_t
slice_constant(lw_reader *r, PyObject *object, const uint32_t *bounds)
{
    static const char *const names[N_BOUNDS] = {"start", "stop", "step"};
    lw_constant constant = {.kind = LW_K_TUPLE, .n = N_BOUNDS, .names = names};
    uint32_t *items = lw_arena_take(&r->tree->arena, N_BOUNDS * sizeof *items);
    uint32_t class = lw_read_slice_type(r);

    if (class == 0)
        return 0;
    if (items == NULL)
        return lw_read_no_memory(r);
    memcpy(items, bounds, N_BOUNDS * sizeof *items);
    constant.items = items;
    constant.user_class = r->tree->constants.data[class].user_class;
    constant.text = constant.user_class->name;
    return lw_read_push(r, object, constant);
}

static bool
is_bound(PyObject *object)
{
    return object == Py_None || PyLong_Check(object) || PyIndex_Check(object);
}

uint32_t
lw_read_slice_constant(lw_reader *r, PyObject *object)
{
    assert(PySlice_Check(object));
    const PySliceObject *slice = (PySliceObject *)object;
    PyObject *const bounds[N_BOUNDS] = {slice->start, slice->stop, slice->step};
    uint32_t items[N_BOUNDS];

    for (int i = 0; i < N_BOUNDS; i++) {
        if (!is_bound(bounds[i]))
            return 0;
        items[i] = lw_read_constant(r, bounds[i]);
        if (items[i] == 0)
            return 0;
    }
    return slice_constant(r, object, items);
}

static bool
is_slice_class(const lw_reader *r, uint32_t node)
{
    const lw_node *n = &r->tree->nodes.data[node];
    const lw_constant *k = n->kind == LW_NODE_CONSTANT ? &r->tree->constants.data[n->a] : NULL;

    return k && k->kind == LW_K_CLASS && k->user_class->is_slice;
}

static bool
are_bounds(const lw_reader *r, const lw_read_items *items)
{
    for (uint32_t i = 0; i < items->n; i++) {
        lw_node_kind kind = r->tree->nodes.data[items->data[i]].kind;
        if (kind == LW_NODE_STAR || kind == LW_NODE_ARG_KEYWORD)
            return false;
    }
    return items->n >= 1 && items->n <= N_BOUNDS;
}

uint32_t
lw_read_slice_call(lw_reader *r, PyObject *node, uint32_t callee, const lw_read_items *items,
                   uint32_t loc)
{
    uint32_t none, names, nodes[N_BOUNDS];

    if (!is_slice_class(r, callee))
        return 0;
    if (!are_bounds(r, items))
        return lw_read_error(r, node,
                             (lw_fault){.status = LW_ERR_TYPING,
                                        .code = "E153",
                                        .help = "write `slice(start, stop, step)`"},
                             "the arguments of `slice` are one to three bounds");
    none = lw_read_constant(r, Py_None);
    names = none ? slice_constant(r, NULL, (uint32_t[]){none, none, none}) : 0;
    for (uint32_t i = 0; names != 0 && i < N_BOUNDS; i++) {
        uint32_t at = items->n == 1 ? i - 1 : i; /* slice(stop) */
        nodes[i] = at < items->n
                       ? items->data[at]
                       : lw_read_node(r, (lw_node){LW_NODE_CONSTANT, .loc = loc, .a = none});
        if (nodes[i] == 0)
            return 0;
    }
    return names ? lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc, .a = names}, nodes,
                                     N_BOUNDS)
                 : 0;
}
