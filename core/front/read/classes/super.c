/* super() in methods: a SUPER node of the object and of the class that the method belongs to.
 * What an attribute of it is, inference finds out, because it depends on the object's class. */
#include "core/front/read/classes/class_internal.h"

static uint32_t
refuse(lw_reader *r, PyObject *node)
{
    return lw_read_error(
        r, node,
        (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                   .help = "call a method of it in a method of the class: `super().f(x)`"},
        "`super` of something else than the object of a method");
}

/* The object and class of super() without arguments; 0: it is in no method, or stop. */
static uint32_t
implied(lw_reader *r, PyObject *node, uint32_t *class)
{
    const lw_fn *fn = &r->tree->fns.data[r->scope->fn];
    const char *self = r->self_name                        ? r->self_name
                       : r->scope->parent || !fn->params.n ? NULL
                                                           : fn->params.data[0].name;
    PyObject *cell = PyUnicode_InternFromString("__class__");
    PyObject *name = self ? PyUnicode_FromString(self) : NULL;
    uint32_t object = 0;

    if (cell == NULL || (self != NULL && name == NULL))
        lw_read_failed(r);
    else if (name != NULL && (*class = lw_read_name(r, node, cell)) != 0)
        object = lw_read_name(r, node, name);
    Py_XDECREF(cell);
    Py_XDECREF(name);
    return object;
}

static uint32_t
given(lw_reader *r, PyObject *args, uint32_t *class)
{
    *class = lw_read_expr(r, PyList_GET_ITEM(args, 0));
    return *class ? lw_read_expr(r, PyList_GET_ITEM(args, 1)) : 0;
}

/* super() of a frozen object is Python's own object, whose attributes are constants. */
static uint32_t
frozen(lw_reader *r, PyObject *class, PyObject *object, uint32_t loc)
{
    PyObject *both =
        PyObject_CallFunctionObjArgs((PyObject *)&PySuper_Type, class, object, NULL);
    uint32_t node = both ? lw_read_constant_node(r, both, loc) : lw_read_failed(r);

    Py_XDECREF(both);
    return node;
}

uint32_t
lw_read_super(lw_reader *r, PyObject *call, uint32_t loc)
{
    PyObject *args;
    Py_ssize_t n = lw_ast_list(call, r->ast.args, &args);
    uint32_t class = 0, object = 0;

    if (n == 0)
        object = implied(r, call, &class);
    else if (n == 2)
        object = given(r, args, &class);
    if (r->status != LW_OK)
        return 0;
    if (object == 0 || lw_read_object(r, class) == NULL ||
        !PyType_Check(lw_read_object(r, class)))
        return refuse(r, call);
    if (lw_read_object(r, object) != NULL)
        return frozen(r, lw_read_object(r, class), lw_read_object(r, object), loc);
    if (r->tree->nodes.data[object].kind != LW_NODE_NAME)
        return refuse(r, call);
    return lw_read_node(r, (lw_node){LW_NODE_SUPER, .loc = loc, .a = object,
                                     .b = r->tree->nodes.data[class].a});
}
