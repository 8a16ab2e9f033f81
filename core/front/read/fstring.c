/* f-strings. Constant parts are joined when they are read; an f-string without run-time parts
 * becomes a text constant. The formats of run-time parts must be constant and are kept. */
#include "core/front/read/read_internal.h"

/* Characters of one field at most: `f"{1:>1000000000}"` would be a constant of a gigabyte. */
enum { MAX_WIDTH = 4096 };

static uint32_t
refuse(lw_reader *r, PyObject *node, const char *label)
{
    return lw_read_error(r, node,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E104", .label = label,
                                    .help = "a plain field: f\"{x}\", f\"{x:>6}\" or "
                                            "f\"{x:.3f}\""},
                         "this part of an f-string cannot be compiled");
}

/* The format of a field; NULL: there is none, or it is empty, as in f"{x:}". */
static PyObject *
format_of(lw_reader *r, PyObject *field)
{
    PyObject *format = lw_ast_get(field, r->ast.format_spec), *values;

    return format && lw_ast_list(format, r->ast.values, &values) > 0 ? format : NULL;
}

/* The text of {…:spec}, borrowed from the tree; NULL without exception: it is made at run
 * time. */
static PyObject *
constant_spec(lw_reader *r, PyObject *spec)
{
    PyObject *values;
    Py_ssize_t n = lw_ast_list(spec, r->ast.values, &values);
    PyObject *only = n == 1 ? PyList_GET_ITEM(values, 0) : NULL;

    if (only == NULL || lw_ast_kind_of(&r->ast, only) != LW_AST_Constant)
        return NULL;
    only = lw_ast_get(only, r->ast.value);
    return only && PyUnicode_CheckExact(only) ? only : NULL;
}

enum { STR = 's', REPR = 'r' };

/* The text of a constant field; NULL: it is not constant, or Python could not format it
 * either. */
static PyObject *
folded_field(lw_reader *r, uint32_t value, PyObject *spec, uint32_t conversion)
{
    PyObject *object = lw_read_object(r, value), *converted, *text;

    if (object == NULL || !lw_fold_is_basic(object))
        return NULL;
    converted = conversion == REPR  ? PyObject_Repr(object)
                : conversion == STR ? PyObject_Str(object)
                                    : Py_NewRef(object);
    text = converted ? PyObject_Format(converted, spec) : NULL;
    Py_XDECREF(converted);
    if (text == NULL)
        lw_read_clear();
    return text;
}

static uint32_t
read_field(lw_reader *r, PyObject *node)
{
    PyObject *format = format_of(r, node), *spec = NULL, *text;
    uint32_t conversion = lw_ast_number(node, r->ast.conversion);
    uint32_t loc = lw_read_loc(r, node), value, constant = 0;

    if (conversion != 0 && conversion != STR && conversion != REPR)
        return refuse(r, node, "`!a` is not supported");
    if (format != NULL && (spec = constant_spec(r, format)) == NULL)
        return refuse(r, node, "the format would be made at run time");
    if (lw_fold_width(spec) > MAX_WIDTH)
        return lw_read_error(
            r, node,
            (lw_fault){LW_ERR_UNSUPPORTED, "E104",
                       .label = "its width or precision is more than 4096 characters"},
            "this part of an f-string is too long");
    value = lw_read_expr(r, lw_ast_get(node, r->ast.value));
    if (value == 0 || lw_read_is_error(r, value))
        return value;
    text = folded_field(r, value, spec, conversion);
    if (text != NULL) {
        value = lw_read_constant_node(r, text, loc);
        Py_DECREF(text);
        return value;
    }
    constant = spec ? lw_read_constant(r, spec) : 0;
    if (r->status != LW_OK)
        return 0;
    return lw_read_node(r, (lw_node){LW_NODE_FIELD, .loc = loc, .a = value, .b = constant,
                                     .c = conversion == STR    ? LW_FIELD_STR
                                          : conversion == REPR ? LW_FIELD_REPR
                                                               : LW_FIELD_PLAIN});
}

static uint32_t
read_part(lw_reader *r, PyObject *node)
{
    return lw_ast_kind_of(&r->ast, node) == LW_AST_FormattedValue ? read_field(r, node)
                                                                  : lw_read_expr(r, node);
}

/* The constant that all parts make together; 0: one of them is made at run time. */
static uint32_t
join_constants(lw_reader *r, const lw_read_items *items, uint32_t loc)
{
    PyObject *text = PyUnicode_FromString("");
    uint32_t node;

    for (uint32_t i = 0; text && i < items->n; i++) {
        PyObject *part = lw_read_object(r, items->data[i]);
        if (part == NULL || !PyUnicode_CheckExact(part)) {
            Py_DECREF(text);
            return 0;
        }
        PyUnicode_Append(&text, part);
    }
    if (text == NULL)
        return lw_read_failed(r);
    node = lw_read_constant_node(r, text, loc);
    Py_DECREF(text);
    return node;
}

uint32_t
lw_read_fstring(lw_reader *r, PyObject *node, uint32_t loc)
{
    lw_read_items items = {0};
    uint32_t result;

    if (lw_read_each(r, node, r->ast.values, read_part, &items, &result)) {
        result = join_constants(r, &items, loc);
        if (result == 0 && r->status == LW_OK)
            result = lw_read_list_node(r, (lw_node){LW_NODE_JOINED, .loc = loc}, items.data,
                                       items.n);
    }
    lw_array_free(&items);
    return result;
}
