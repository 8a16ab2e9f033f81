/* `try`: the classes that each handler catches are constants, and the exception that it names
 * is no value, but may be raised again. */
#include "core/front/read/read_internal.h"

#include <assert.h>

/* ---- exceptions that handlers have named ---- */

static bool
has_name(const lw_read_caught *caught, PyObject *name)
{
    return caught->name != NULL && PyUnicode_Compare(caught->name, name) == 0;
}

bool
lw_read_names_caught(const lw_reader *r, PyObject *name)
{
    const lw_read_caught *caught = r->scope->caught;

    while (caught != NULL && !has_name(caught, name))
        caught = caught->outer;
    return caught != NULL;
}

bool
lw_read_is_caught(const lw_reader *r, PyObject *node, uint32_t *out)
{
    PyObject *name =
        lw_ast_kind_of(&r->ast, node) == LW_AST_Name ? lw_ast_get(node, r->ast.id) : NULL;

    *out = 0;
    for (const lw_read_caught *c = r->scope->caught; name && c != NULL; c = c->outer) {
        if (has_name(c, name))
            return true;
        *out += !c->is_finally;
    }
    return false;
}

/* ---- handlers ---- */

static uint32_t
class_error(lw_reader *r, PyObject *node)
{
    return lw_read_error(r, node,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                    .label = "this is not an exception class",
                                    .help = "`except ValueError:`, `except (ValueError, "
                                            "KeyError):`"},
                         "this `except` cannot be compiled");
}

/* Adds a class or, if a tuple is allowed, the classes in it. As in Python, it contains no
 * tuples. false: stop, or *error: an ERROR node. */
static bool
add_classes(lw_reader *r, PyObject *node, PyObject *object, bool may_be_tuple,
            lw_read_items *items, uint32_t *error)
{
    if (may_be_tuple && object != NULL && PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
            if (!add_classes(r, node, PyTuple_GET_ITEM(object, i), false, items, error))
                return false;
        return true;
    }
    if (object != NULL && PyExceptionClass_Check(object))
        return lw_read_item(r, items, lw_read_caught_class(r, object));
    *error = class_error(r, node);
    return false;
}

/* The same for the expression after `except`. */
static bool
read_classes(lw_reader *r, PyObject *node, bool may_be_tuple, lw_read_items *items,
             uint32_t *error)
{
    PyObject *elements;
    uint32_t value;

    if (may_be_tuple && lw_ast_kind_of(&r->ast, node) == LW_AST_Tuple) {
        Py_ssize_t n = lw_ast_list(node, r->ast.elts, &elements);
        for (Py_ssize_t i = 0; i < n; i++)
            if (!read_classes(r, PyList_GET_ITEM(elements, i), false, items, error))
                return false;
        return true;
    }
    value = lw_read_expr(r, node);
    if (value == 0)
        return false;
    if (lw_read_is_error(r, value)) {
        *error = value;
        return false;
    }
    if (r->tree->nodes.data[value].kind == LW_NODE_CONSTANT &&
        r->tree->constants.data[r->tree->nodes.data[value].a].kind == LW_K_UNDEFINED) {
        *error =
            lw_read_node(r, (lw_node){LW_NODE_EXPR, .loc = lw_read_loc(r, node), .a = value});
        return false;
    }
    return add_classes(r, node, lw_read_object(r, value), may_be_tuple, items, error);
}

/* The constant of all classes, a TUPLE; 0 and status OK: *error is a node, or the handler
 * catches everything. */
static uint32_t
classes_of(lw_reader *r, PyObject *handler, uint32_t *error)
{
    PyObject *type = lw_ast_get(handler, r->ast.type);
    lw_read_items items = {0};
    uint32_t *kept, result = 0;

    if (type != NULL && read_classes(r, type, true, &items, error)) {
        kept = lw_arena_take(&r->tree->arena, (items.n + 1) * sizeof *kept);
        for (uint32_t i = 0; kept != NULL && i < items.n; i++)
            kept[i] = items.data[i];
        result =
            kept ? lw_read_push(r, NULL,
                                (lw_constant){.kind = LW_K_TUPLE, .n = items.n, .items = kept})
                 : lw_read_no_memory(r);
    }
    lw_array_free(&items);
    return result;
}

static uint32_t
read_handler(lw_reader *r, PyObject *node)
{
    PyObject *name = lw_ast_get(node, r->ast.name);
    lw_read_caught caught = {.outer = r->scope->caught, .name = name};
    uint32_t loc = lw_read_loc(r, node), error = 0, classes, target = 0, body;

    classes = classes_of(r, node, &error);
    if (error != 0 || r->status != LW_OK)
        return error;
    if (name != NULL) {
        target = lw_read_name_store(r, node, name);
        if (target == 0 || lw_read_is_error(r, target))
            return target;
    }
    r->scope->caught = &caught;
    body = lw_read_block(r, node, r->ast.body);
    r->scope->caught = caught.outer;
    return body ? lw_read_node(r, (lw_node){LW_NODE_HANDLER, .loc = loc, .a = target, .b = body,
                                            .c = classes})
                : 0;
}

/* ---- the statement ---- */

/* Statements that may be missing; 0 and status OK: they are. */
static uint32_t
read_optional(lw_reader *r, PyObject *node, PyObject *field)
{
    PyObject *statements;

    return lw_ast_list(node, field, &statements) ? lw_read_block(r, node, field) : 0;
}

static uint32_t
read_finally(lw_reader *r, PyObject *node)
{
    lw_read_caught caught = {.outer = r->scope->caught, .is_finally = true};
    uint32_t body;

    r->scope->caught = &caught;
    body = read_optional(r, node, r->ast.finalbody);
    r->scope->caught = caught.outer;
    return body;
}

uint32_t
lw_read_try(lw_reader *r, PyObject *node, uint32_t loc)
{
    uint32_t body = lw_read_block(r, node, r->ast.body), other, finally, parts, result = 0;
    lw_read_items handlers = {0};
    PyObject *list;
    Py_ssize_t n = lw_ast_list(node, r->ast.handlers, &list);

    for (Py_ssize_t i = 0; body != 0 && i < n; i++) {
        uint32_t handler = read_handler(r, PyList_GET_ITEM(list, i));
        if (handler == 0 || r->tree->nodes.data[handler].kind != LW_NODE_HANDLER) {
            result = handler; /* what is wrong stands for the statement */
            goto done;
        }
        if (!lw_read_item(r, &handlers, handler))
            goto done;
    }
    other = body ? read_optional(r, node, r->ast.orelse) : 0;
    finally = r->status == LW_OK ? read_finally(r, node) : 0;
    if (body == 0 || r->status != LW_OK)
        goto done;
    parts = lw_read_node(
        r, (lw_node){LW_NODE_TRY_BODY, .loc = loc, .a = body, .b = other, .c = finally});
    if (parts != 0)
        result = lw_read_list_node(r, (lw_node){LW_NODE_TRY, .loc = loc, .a = parts},
                                   handlers.data, handlers.n);
done:
    lw_array_free(&handlers);
    return result;
}
