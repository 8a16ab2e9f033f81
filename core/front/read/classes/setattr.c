/* object.__setattr__(self, "x", v), by which a frozen dataclass gives fields their values, and
 * setattr(p, "x", v), as statements: assignments to an attribute. object.__new__(C): an object
 * without fields. */
#include "core/front/read/classes/class_internal.h"

static bool
is_builtin(PyObject *callee, PyObject *type, const char *name)
{
    PyObject *found = callee ? PyObject_GetAttrString(type, name) : NULL;

    lw_read_clear();
    Py_XDECREF(found);
    return found != NULL && found == callee;
}

/* LW_NODE_STORE with what else the call means; 0: it is none of these. */
static uint8_t
flags_of(lw_reader *r, uint32_t callee)
{
    PyObject *object = lw_read_object(r, callee);
    PyObject *setattr =
        object && r->builtins ? PyDict_GetItemString(r->builtins, "setattr") : NULL;

    if (is_builtin(object, (PyObject *)&PyBaseObject_Type, "__setattr__"))
        return LW_NODE_STORE | LW_NODE_FORCED;
    return setattr != NULL && setattr == object ? LW_NODE_STORE : 0;
}

uint32_t
lw_read_setattr(lw_reader *r, uint32_t call, uint32_t loc)
{
    const lw_node n = r->tree->nodes.data[call];
    const uint32_t *args = r->tree->lists.data + n.b;
    uint8_t flags = n.kind == LW_NODE_CALL && n.c == 3 ? flags_of(r, n.a) : 0;
    PyObject *name = flags ? lw_read_object(r, args[1]) : NULL;
    uint32_t object, value, target;

    if (name == NULL || !PyUnicode_Check(name) || lw_read_object(r, args[0]) != NULL)
        return 0;
    for (int i = 0; i < 3; i++)
        if (r->tree->nodes.data[args[i]].kind == LW_NODE_STAR ||
            r->tree->nodes.data[args[i]].kind == LW_NODE_ARG_KEYWORD)
            return 0;
    object = args[0];
    value = args[2];
    target = lw_read_node(r, (lw_node){LW_NODE_ATTRIBUTE, .flags = flags, .loc = loc,
                                       .a = object, .b = r->tree->nodes.data[args[1]].a});
    return target ? lw_read_list_node(r, (lw_node){LW_NODE_ASSIGN, .loc = loc, .a = value},
                                      &target, 1)
                  : 0;
}

uint32_t
lw_read_new(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc)
{
    static const char *const none[] = {NULL};
    PyObject *class = items->n == 1 ? lw_read_object(r, items->data[0]) : NULL;
    lw_constant constant = {.kind = LW_K_TUPLE, .names = none};
    uint32_t of;

    if (class == NULL || !PyType_Check(class) ||
        !is_builtin(lw_read_object(r, callee), (PyObject *)&PyBaseObject_Type, "__new__"))
        return 0;
    of = lw_read_class_of_objects(r, class);
    if (of == 0 || r->tree->constants.data[of].kind != LW_K_CLASS ||
        r->tree->constants.data[of].user_class->is_namedtuple)
        return 0;
    constant.user_class = r->tree->constants.data[of].user_class;
    constant.text = constant.user_class->name;
    of = lw_read_push(r, NULL, constant);
    return of ? lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc, .a = of}, NULL, 0)
              : 0;
}
