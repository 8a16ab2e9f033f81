/* Calls: their arguments, and what becomes something else than a CALL node: namedtuples, what
 * functools.partial has bound, and calls that are folded. */
#include "core/front/read/read_internal.h"

#include "core/front/diagnose.h"

/* ---- arguments ---- */

static uint32_t
read_keyword(lw_reader *r, PyObject *keyword)
{
    PyObject *name = lw_ast_get(keyword, r->ast.arg);
    uint32_t constant, value;

    if (name == NULL)
        return lw_read_error(r, keyword,
                             (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                        .label = "keywords have to be written",
                                        .help = "name each argument"},
                             "`**` in a call cannot be compiled");
    constant = lw_read_constant(r, name);
    value = constant ? lw_read_list_value(r, lw_ast_get(keyword, r->ast.value)) : 0;
    if (value == 0)
        return 0;
    return lw_read_node(r, (lw_node){LW_NODE_ARG_KEYWORD, .loc = lw_read_loc(r, keyword),
                                     .a = constant, .b = value});
}

static bool
read_arguments(lw_reader *r, PyObject *node, lw_read_items *items)
{
    PyObject *args, *keywords;
    Py_ssize_t n = lw_ast_list(node, r->ast.args, &args);
    Py_ssize_t n_keywords = lw_ast_list(node, r->ast.keywords, &keywords);

    for (Py_ssize_t i = 0; i < n; i++)
        if (!lw_read_item(r, items, lw_read_list_value(r, PyList_GET_ITEM(args, i))))
            return false;
    for (Py_ssize_t i = 0; i < n_keywords; i++)
        if (!lw_read_item(r, items, read_keyword(r, PyList_GET_ITEM(keywords, i))))
            return false;
    return true;
}

/* ---- namedtuples ---- */

/* Which field of a namedtuple the keyword names; -1: none. */
static Py_ssize_t
field_of(lw_reader *r, const lw_node *arg, PyObject *fields, Py_ssize_t position)
{
    PyObject *name;

    if (arg->kind != LW_NODE_ARG_KEYWORD)
        return position;
    name = r->objects.data[arg->a];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(fields, i), name) == 0)
            return i;
    return -1;
}

static bool
fill_defaults(lw_reader *r, PyObject *defaults, PyObject *fields, uint32_t *values,
              uint32_t loc)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *value = NULL;
        if (values[i] != 0)
            continue;
        if (defaults != NULL && PyDict_Check(defaults))
            value = lw_dict_item(defaults, PyTuple_GET_ITEM(fields, i));
        if (value == NULL)
            return false;
        values[i] = lw_read_constant_node(r, value, loc);
        Py_DECREF(value);
        if (values[i] == 0)
            return false;
    }
    return true;
}

static bool
fill_fields(lw_reader *r, PyObject *type, PyObject *fields, const lw_read_items *items,
            uint32_t *values, uint32_t loc)
{
    PyObject *defaults = PyObject_GetAttrString(type, "_field_defaults");
    bool ok = true;

    lw_read_clear();
    for (uint32_t i = 0; i < items->n && ok; i++) {
        const lw_node *arg = &r->tree->nodes.data[items->data[i]];
        Py_ssize_t field = field_of(r, arg, fields, i);
        ok = arg->kind != LW_NODE_STAR && field >= 0 && field < PyTuple_GET_SIZE(fields) &&
             values[field] == 0;
        if (ok)
            values[field] = arg->kind == LW_NODE_ARG_KEYWORD ? arg->b : items->data[i];
    }
    ok = ok && fill_defaults(r, defaults, fields, values, loc);
    Py_XDECREF(defaults);
    return ok;
}

/* The field names of a namedtuple class, as a constant TUPLE of as many Nones: TUPLE nodes
 * refer to it in a. */
static uint32_t
names_constant(lw_reader *r, PyObject *type, PyObject *fields)
{
    PyObject *nones = PyTuple_New(PyTuple_GET_SIZE(fields)), *example = NULL, *args;
    uint32_t constant = 0;

    for (Py_ssize_t i = 0; nones && i < PyTuple_GET_SIZE(fields); i++) {
        Py_INCREF(Py_None);
        PyTuple_SET_ITEM(nones, i, Py_None);
    }
    args = nones ? PyTuple_Pack(1, nones) : NULL; /* _make asks the class for its length */
    if (args != NULL)
        example = PyTuple_Type.tp_new((PyTypeObject *)type, args, NULL);
    if (example != NULL)
        constant = lw_read_constant(r, example);
    else
        lw_read_failed(r);
    Py_XDECREF(nones);
    Py_XDECREF(args);
    Py_XDECREF(example);
    return constant;
}

static uint32_t
read_namedtuple(lw_reader *r, PyObject *node, PyObject *type, PyObject *fields,
                const lw_read_items *items, uint32_t loc)
{
    Py_ssize_t n = PyTuple_GET_SIZE(fields);
    if (lw_read_class_makes_itself(type))
        return lw_read_error(r, node,
                             (lw_fault){LW_ERR_UNSUPPORTED, "E165",
                                        .help = "write a static method that makes the object"},
                             "the namedtuple `%.100s` has a `__new__` or `__init__` of its own",
                             ((PyTypeObject *)type)->tp_name);
    uint32_t *values = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *values);
    uint32_t names;

    if (values == NULL)
        return lw_read_no_memory(r);
    if (!fill_fields(r, type, fields, items, values, loc)) {
        if (r->status != LW_OK)
            return 0;
        return lw_read_error(r, node, (lw_fault){.status = LW_ERR_TYPING, .code = "E153"},
                             "the arguments do not fit the %zd fields of `%.100s`", n,
                             ((PyTypeObject *)type)->tp_name);
    }
    names = names_constant(r, type, fields);
    return names ? lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc, .a = names},
                                     values, (uint32_t)n)
                 : 0;
}

/* The fields of a namedtuple class, new reference, or NULL. */
static PyObject *
namedtuple_fields(PyObject *callee)
{
    PyObject *fields = NULL;

    if (callee != NULL && PyType_Check(callee) &&
        PyType_IsSubtype((PyTypeObject *)callee, &PyTuple_Type))
        fields = PyObject_GetAttrString(callee, "_fields");
    lw_read_clear();
    if (fields != NULL && !PyTuple_Check(fields))
        Py_CLEAR(fields);
    return fields;
}

/* ---- functools.partial ---- */

/* functools.<name>: new reference; NULL: there is none. */
static PyObject *
of_functools(const char *name)
{
    PyObject *module = PyImport_ImportModule("functools");
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;

    lw_read_clear();
    Py_XDECREF(module);
    return found;
}

static bool
is_partial(PyObject *object)
{
    PyObject *type = of_functools("partial");
    bool is = object != NULL && (PyObject *)Py_TYPE(object) == type;

    Py_XDECREF(type);
    return is;
}

/* Its arguments in front of those of the call, which also take the places that it leaves
 * open. */
static bool
add_positional(lw_reader *r, PyObject *bound, const lw_read_items *items, lw_read_items *all,
               uint32_t loc)
{
    PyObject *open = of_functools("Placeholder"); /* of Python 3.14 */
    uint32_t at = 0, node = 1;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bound) && node != 0; i++) {
        PyObject *value = PyTuple_GET_ITEM(bound, i);

        if (value == open)
            node = at < items->n ? items->data[at++] : 0;
        else
            node = lw_read_constant_node(r, value, loc);
        node = node && lw_read_item(r, all, node) ? node : 0;
    }
    Py_XDECREF(open);
    if (node == 0)
        return false;
    for (; at < items->n; at++) {
        if (r->tree->nodes.data[items->data[at]].kind == LW_NODE_ARG_KEYWORD)
            break;
        if (!lw_read_item(r, all, items->data[at]))
            return false;
    }
    return true;
}

static bool
is_given(lw_reader *r, const lw_read_items *items, PyObject *name)
{
    for (uint32_t i = 0; i < items->n; i++) {
        const lw_node *arg = &r->tree->nodes.data[items->data[i]];
        if (arg->kind == LW_NODE_ARG_KEYWORD &&
            PyUnicode_Compare(r->objects.data[arg->a], name) == 0)
            return true;
    }
    return false;
}

/* Its keywords, unless the call gives them, and those of the call. */
static bool
add_keywords(lw_reader *r, PyObject *bound, const lw_read_items *items, lw_read_items *all,
             uint32_t loc)
{
    PyObject *copy = PyDict_Copy(bound), *name, *value; /* other threads may change it */
    Py_ssize_t position = 0;
    bool good = copy != NULL;

    while (good && PyDict_Next(copy, &position, &name, &value)) {
        uint32_t constant, node;
        if (is_given(r, items, name))
            continue;
        constant = lw_read_constant(r, name);
        node = constant ? lw_read_constant_node(r, value, loc) : 0;
        good = node != 0 && lw_captures_add_name(r->captures, bound, name, value) == 0 &&
               lw_read_item(r, all,
                            lw_read_node(r, (lw_node){LW_NODE_ARG_KEYWORD, .loc = loc,
                                                      .a = constant, .b = node}));
    }
    Py_XDECREF(copy);
    if (!good)
        return false;
    for (uint32_t i = 0; i < items->n; i++)
        if (r->tree->nodes.data[items->data[i]].kind == LW_NODE_ARG_KEYWORD &&
            !lw_read_item(r, all, items->data[i]))
            return false;
    return true;
}

/* linked: the code that the partial object has beside its function's. */
static uint32_t
callee_of_partial(lw_reader *r, PyObject *function, uint32_t linked, uint32_t loc)
{
    uint32_t constant = lw_read_constant(r, function);
    lw_constant own;

    if (constant != 0 && linked != 0) {
        own = r->tree->constants.data[constant];
        if (own.linked == 0)
            own.linked = linked;
        constant = lw_read_push(r, function, own);
    }
    return constant ? lw_read_node(r, (lw_node){LW_NODE_CONSTANT, .loc = loc, .a = constant})
                    : 0;
}

/* A call of functools.partial(f, …) is a call of f. False: reading stops, or with status OK an
 * argument is missing. */
static bool
unfold_partial(lw_reader *r, uint32_t *callee, lw_read_items *items)
{
    PyObject *object = lw_read_object(r, *callee), *function, *args, *keywords;
    uint32_t loc = r->tree->nodes.data[*callee].loc, linked;
    lw_read_items all = {0};
    bool good;

    if (!is_partial(object))
        return true;
    function = PyObject_GetAttrString(object, "func");
    args = PyObject_GetAttrString(object, "args");
    keywords = PyObject_GetAttrString(object, "keywords");
    good = function && args && keywords && PyTuple_Check(args) && PyDict_Check(keywords) &&
           lw_read_linked(r, object, NULL, &linked) &&
           (*callee = callee_of_partial(r, function, linked, loc)) != 0 &&
           add_positional(r, args, items, &all, loc) &&
           add_keywords(r, keywords, items, &all, loc);
    if (!good && PyErr_Occurred())
        lw_read_failed(r);
    Py_XDECREF(function);
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    lw_array_free(items);
    *items = all;
    return good;
}

/* ---- calls ---- */

/* A call of a class makes an object, or finds a member. false: stop. */
static bool
read_called_class(lw_reader *r, uint32_t callee)
{
    PyObject *class = lw_read_object(r, callee);
    uint32_t constant;

    if (class != NULL && lw_fold_is_enum(class))
        return lw_read_enum_class(r, class) != NULL;
    if (class == NULL || Py_TYPE(class) != &PyType_Type ||
        r->tree->constants.data[r->tree->nodes.data[callee].a].kind != LW_K_OBJECT)
        return true;
    constant = lw_read_class_of_objects(r, class);
    if (constant != 0)
        r->tree->nodes.data[callee].a = constant;
    return constant != 0;
}

/* tuple(x), as (*x,); 0: another call, or stop. */
static uint32_t
read_tuple(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc)
{
    uint32_t star = 0;

    if (lw_read_object(r, callee) != (PyObject *)&PyTuple_Type || items->n > 1)
        return 0;
    if (items->n == 1) {
        lw_node_kind kind = r->tree->nodes.data[items->data[0]].kind;
        if (kind == LW_NODE_STAR || kind == LW_NODE_ARG_KEYWORD)
            return 0;
        star = lw_read_node(r, (lw_node){LW_NODE_STAR, .loc = loc, .a = items->data[0]});
        if (star == 0)
            return 0;
    }
    return lw_read_list_node(r, (lw_node){LW_NODE_TUPLE, .loc = loc}, &star, items->n);
}

/* A call that is not folded, whose callee and arguments are known. */
static uint32_t
read_plain(lw_reader *r, PyObject *node, uint32_t callee, lw_read_items *items, uint32_t loc)
{
    PyObject *fields;
    uint32_t result;

    if (!lw_read_ufunc_method(r, &callee, items) || !lw_read_array_ufunc(r, &callee, items) ||
        !lw_read_maybe_array_function(r, &callee, items))
        return 0;
    result = read_tuple(r, callee, items, loc);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_slice_call(r, node, callee, items, loc);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_dict_get(r, callee, items, loc);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_dict_view(r, callee, items, loc);
    fields = namedtuple_fields(lw_read_object(r, callee));
    if (result == 0 && r->status == LW_OK && fields != NULL)
        result = read_namedtuple(r, node, lw_read_object(r, callee), fields, items, loc);
    Py_XDECREF(fields);
    if (result == 0 && r->status == LW_OK)
        result = lw_read_list_node(r, (lw_node){LW_NODE_CALL, .loc = loc, .a = callee},
                                   items->data, items->n);
    return result;
}

uint32_t
lw_read_call(lw_reader *r, PyObject *node, uint32_t loc)
{
    bool too_large = false;
    uint32_t callee = lw_read_field(r, node, r->ast.func), result = 0;
    lw_read_items items = {0};

    if (callee == 0)
        return 0;
    if (lw_read_object(r, callee) == (PyObject *)&PySuper_Type)
        return lw_read_super(r, node, loc);
    if (!read_called_class(r, callee))
        return 0;
    result = lw_read_generator(r, node, callee, loc);
    if (result != 0 || r->status != LW_OK)
        return result;
    if (!read_arguments(r, node, &items))
        goto done;
    if (!unfold_partial(r, &callee, &items)) {
        if (r->status == LW_OK)
            result =
                lw_read_error(r, node, (lw_fault){.status = LW_ERR_TYPING, .code = "E153"},
                              "functools.partial leaves a place open that no argument fills");
        goto done;
    }
    result = lw_read_new(r, callee, &items, loc);
    if (result != 0 || r->status != LW_OK)
        goto done;
    lw_read_dict_arguments(r, callee, &items, loc);
    if (r->status != LW_OK || !lw_read_extreme(r, &callee, &items, loc))
        goto done;
    result = lw_read_folded(r, lw_fold_call(r, callee, &items, &too_large), loc);
    if (too_large)
        result = lw_fold_refuse(r, node);
    if (result == 0)
        result = read_plain(r, node, callee, &items, loc);
done:
    lw_array_free(&items);
    return result;
}
