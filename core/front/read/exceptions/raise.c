/* `raise` and `assert`, and the classes of exceptions as constants. */
#include "core/front/read/read_internal.h"

#include <assert.h>
#include <string.h>

/* ---- classes ---- */

/* Whether the module has the class under its name. It does not have a class that was defined in
 * a function, or in the __main__ of another process and was unpickled. */
static bool
is_found(PyObject *class, PyObject *module, PyObject *qualname)
{
    PyObject *object = PyUnicode_Check(module) ? PyImport_GetModule(module) : NULL;
    PyObject *path = PyUnicode_Check(qualname) ? PyUnicode_FromString(".") : NULL;
    PyObject *names = path ? PyUnicode_Split(qualname, path, -1) : NULL;
    bool is;

    for (Py_ssize_t i = 0; object != NULL && names != NULL && i < PyList_GET_SIZE(names); i++)
        Py_SETREF(object, PyObject_GetAttr(object, PyList_GET_ITEM(names, i)));
    is = names != NULL && object == class;
    Py_XDECREF(object);
    Py_XDECREF(path);
    Py_XDECREF(names);
    lw_read_clear();
    return is;
}

/* The name by which the class is found when an exception of it is raised. */
static PyObject *
name_of_class(PyObject *class, PyObject *module, PyObject *qualname)
{
    if (!is_found(class, module, qualname))
        return lw_local_class_name(class, module, qualname);
    return PyUnicode_FromFormat("%S:%S", module, qualname);
}

/* Whether it is built in. Classes in code that exec() ran without a __name__ have the module
 * builtins, too. */
static bool
is_builtin(PyObject *class, PyObject *module, PyObject *qualname)
{
    return PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, "builtins") == 0 &&
           is_found(class, module, qualname);
}

/* How the class is named in compiled code: "ValueError", "module:Outer.Bad". */
static const char *
text_of_class(lw_reader *r, PyObject *class)
{
    PyObject *module = PyObject_GetAttrString(class, "__module__");
    PyObject *name = PyObject_GetAttrString(class, "__qualname__");
    bool builtin = module && name && is_builtin(class, module, name);
    PyObject *full = builtin || !module || !name ? NULL : name_of_class(class, module, name);
    const char *text =
        full ? lw_read_str(r, full) : lw_read_text(r, ((PyTypeObject *)class)->tp_name);

    Py_XDECREF(module);
    Py_XDECREF(name);
    Py_XDECREF(full);
    lw_read_clear();
    return text;
}

/* The names of those classes that are exceptions derived from `base` (NULL: of all). */
static const char *const *
names_of_classes(lw_reader *r, PyObject *classes, PyObject *base)
{
    Py_ssize_t n = PyTuple_GET_SIZE(classes), k = 0;
    const char **names = lw_arena_take(&r->tree->arena, ((size_t)n + 1) * sizeof *names);

    for (Py_ssize_t i = 0; names != NULL && i < n; i++) {
        PyObject *class = PyTuple_GET_ITEM(classes, i);
        if (!PyExceptionClass_Check(class) ||
            (base && !PyType_IsSubtype((PyTypeObject *)class, (PyTypeObject *)base)))
            continue;
        names[k] = text_of_class(r, class);
        if (names[k++] == NULL)
            return NULL;
    }
    if (names == NULL)
        lw_read_no_memory(r);
    return names;
}

static const lw_exception *
describe_class(lw_reader *r, PyObject *class, PyObject *others)
{
    lw_exception *made = lw_arena_take(&r->tree->arena, sizeof *made);

    if (made == NULL) {
        lw_read_no_memory(r);
        return NULL;
    }
    made->bases = names_of_classes(r, ((PyTypeObject *)class)->tp_mro, NULL);
    made->derived = others ? names_of_classes(r, others, class) : NULL;
    return made->bases && (made->derived || !others) ? made : NULL;
}

uint32_t
lw_read_exception_class(lw_reader *r, PyObject *class)
{
    const char *text = text_of_class(r, class);
    const lw_exception *bases = text ? describe_class(r, class, NULL) : NULL;

    return bases ? lw_read_push(
                       r, class,
                       (lw_constant){.kind = LW_K_EXCEPTION, .text = text, .bytes = bases})
                 : 0;
}

uint32_t
lw_read_caught_class(lw_reader *r, PyObject *class)
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    PyObject *values = builtins ? PyMapping_Values(builtins) : NULL;
    PyObject *all = values ? PySequence_Tuple(values) : NULL;
    const char *text = all ? text_of_class(r, class) : NULL;
    const lw_exception *bases = text ? describe_class(r, class, all) : NULL;

    Py_XDECREF(values);
    if (all == NULL)
        return lw_read_failed(r);
    Py_DECREF(all);
    return bases ? lw_read_push(
                       r, NULL,
                       (lw_constant){.kind = LW_K_EXCEPTION, .text = text, .bytes = bases})
                 : 0;
}

/* ---- assert and raise ---- */

static uint32_t
raise_error(lw_reader *r, PyObject *node, const char *label)
{
    return lw_read_error(r, node,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E101", .label = label,
                                    .help = "`raise ValueError(\"text\", x)`"},
                         "this `raise` cannot be compiled");
}

/* The names of keywords, in the tree's arena; NULL and status OK: there is none. */
static const char **
names_of(lw_reader *r, PyObject *keywords)
{
    Py_ssize_t n = keywords ? PyList_GET_SIZE(keywords) : 0;
    const char **names = n ? lw_arena_take(&r->tree->arena, (size_t)n * sizeof *names) : NULL;

    for (Py_ssize_t i = 0; names && i < n; i++) {
        PyObject *name = lw_ast_get(PyList_GET_ITEM(keywords, i), r->ast.arg);
        names[i] = name ? lw_read_str(r, name) : NULL;
    }
    if (n && names == NULL)
        lw_read_no_memory(r);
    return names;
}

/* The values of the keywords, behind the other arguments. false: *result is the error, or 0. */
static bool
read_keyword_values(lw_reader *r, PyObject *keywords, lw_read_items *items, uint32_t *result)
{
    Py_ssize_t n = keywords ? PyList_GET_SIZE(keywords) : 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t value = lw_read_field(r, PyList_GET_ITEM(keywords, i), r->ast.value);
        *result = value != 0 && lw_read_is_error(r, value) ? value : 0;
        if (*result || !lw_read_item(r, items, value))
            return false;
    }
    return true;
}

/* raise E, raise E("text"), raise E("text", x, y), raise E(x), raise E("text", code=x). */
static uint32_t
read_raise_call(lw_reader *r, uint32_t loc, lw_constant class, PyObject *args,
                PyObject *keywords)
{
    Py_ssize_t n = args ? PyList_GET_SIZE(args) : 0;
    const char *text = NULL;
    lw_read_items items = {0};
    uint32_t result = 0, exception;

    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t value = lw_read_expr(r, PyList_GET_ITEM(args, i));
        PyObject *object = lw_read_object(r, value);
        if (value != 0 && lw_read_is_error(r, value)) {
            result = value;
            goto done;
        }
        if (i == 0 && object != NULL && PyUnicode_CheckExact(object)) {
            text = lw_read_str(r, object);
            continue;
        }
        if (!lw_read_item(r, &items, value))
            goto done;
    }
    if (!read_keyword_values(r, keywords, &items, &result))
        goto done;
    exception =
        lw_read_push(r, NULL,
                     (lw_constant){.kind = LW_K_EXCEPTION,
                                   .n = keywords ? (uint32_t)PyList_GET_SIZE(keywords) : 0,
                                   .names = names_of(r, keywords),
                                   .text = class.text,
                                   .bytes = class.bytes,
                                   .help = text});
    if (exception != 0 && r->status == LW_OK)
        result = lw_read_list_node(r, (lw_node){LW_NODE_RAISE, .loc = loc, .a = exception},
                                   items.data, items.n);
done:
    lw_array_free(&items);
    return result;
}

/* The text of a constant message: a CONSTANT STR node of str(value); 0 and status OK: `message`
 * is not constant. */
static uint32_t
constant_message(lw_reader *r, uint32_t message, uint32_t loc)
{
    PyObject *object = lw_read_object(r, message), *text;

    if (!lw_fold_is_basic(object))
        return 0;
    if (PyUnicode_CheckExact(object))
        return message;
    text = PyObject_Str(object);
    if (text == NULL)
        return lw_read_failed(r);
    message = lw_read_constant_node(r, text, loc);
    Py_DECREF(text);
    return message;
}

/* assert c, f"{x}" and assert c, ("text", x): if not c: raise AssertionError(...) */
static uint32_t
read_assert_of_values(lw_reader *r, PyObject *message, uint32_t loc, uint32_t test)
{
    PyObject *args = NULL;
    uint32_t raise = 0, body;

    if (lw_ast_kind_of(&r->ast, message) == LW_AST_Tuple &&
        lw_ast_list(message, r->ast.elts, &args) > 1)
        Py_INCREF(args);
    else
        args = Py_BuildValue("[O]", message);
    if (args == NULL)
        return lw_read_failed(r);
    raise = read_raise_call(r, loc, (lw_constant){.text = "AssertionError"}, args, NULL);
    Py_DECREF(args);
    if (raise == 0 || lw_read_is_error(r, raise))
        return raise;
    test = lw_read_node(r, (lw_node){LW_NODE_UNARY, .op = LW_PY_NOT, .loc = loc, .a = test});
    body = lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, &raise, 1);
    return test && body
               ? lw_read_node(r, (lw_node){LW_NODE_IF, .loc = loc, .a = test, .b = body})
               : 0;
}

/* `python -O`: there are no assertions. */
static bool
is_optimising(void)
{
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *level = flags ? PyObject_GetAttrString(flags, "optimize") : NULL;
    bool is = level != NULL && PyObject_IsTrue(level) == 1;

    lw_read_clear();
    Py_XDECREF(level);
    return is;
}

uint32_t
lw_read_assert(lw_reader *r, PyObject *node, uint32_t loc)
{
    if (is_optimising())
        return lw_read_node(r, (lw_node){LW_NODE_PASS, .loc = loc});

    PyObject *msg = lw_ast_get(node, r->ast.msg);
    uint32_t test = lw_read_field(r, node, r->ast.test);
    uint32_t message = test && msg ? lw_read_expr(r, msg) : 0, text;

    if (r->status != LW_OK || test == 0 || lw_read_is_error(r, message))
        return message;
    text = message ? constant_message(r, message, lw_read_loc(r, msg)) : 0;
    if (r->status != LW_OK)
        return 0;
    if (message != 0 && text == 0)
        return read_assert_of_values(r, msg, loc, test);
    return lw_read_node(r, (lw_node){LW_NODE_ASSERT, .loc = loc, .a = test, .b = text});
}

static bool
has_any(PyObject *list)
{
    return list != NULL && PyList_GET_SIZE(list) > 0;
}

static bool
is_unpacking(lw_reader *r, PyObject *args, PyObject *keywords)
{
    for (Py_ssize_t i = 0; has_any(args) && i < PyList_GET_SIZE(args); i++)
        if (lw_ast_kind_of(&r->ast, PyList_GET_ITEM(args, i)) == LW_AST_Starred)
            return true;
    for (Py_ssize_t i = 0; has_any(keywords) && i < PyList_GET_SIZE(keywords); i++)
        if (lw_ast_get(PyList_GET_ITEM(keywords, i), r->ast.arg) == NULL)
            return true;
    return false;
}

/* Whether a bare `raise` has no handler around it in its function, or stands in a `finally`. */
static bool
is_caught_nowhere(const lw_reader *r)
{
    return r->scope->caught == NULL || r->scope->caught->is_finally;
}

uint32_t
lw_read_raise(lw_reader *r, PyObject *node, uint32_t loc)
{
    PyObject *exc = lw_ast_get(node, r->ast.exc), *cause = lw_ast_get(node, r->ast.cause),
             *args = NULL, *keywords = NULL, *function = exc;
    const lw_node *class_node;
    uint32_t index, again;
    lw_constant class;

    if (exc == NULL && is_caught_nowhere(r))
        return raise_error(r, node,
                           r->scope->caught ? "in a `finally` there may be no exception"
                                            : "there is no exception to raise again");
    if (cause != NULL && !lw_read_is_caught(r, cause, &again) &&
        lw_read_object(r, lw_read_expr(r, cause)) != Py_None)
        return raise_error(r, node,
                           "only `from None`, and `from` an exception that an `except` around "
                           "it has named, are supported");
    if (exc == NULL || lw_read_is_caught(r, exc, &again))
        return lw_read_node(r,
                            (lw_node){LW_NODE_RAISE, .loc = loc, .b = exc == NULL ? 0 : again});
    if (lw_ast_kind_of(&r->ast, exc) == LW_AST_Call) {
        function = lw_ast_get(exc, r->ast.func);
        lw_ast_list(exc, r->ast.args, &args);
        lw_ast_list(exc, r->ast.keywords, &keywords);
    }
    index = lw_read_expr(r, function);
    if (index == 0)
        return 0;
    class_node = &r->tree->nodes.data[index];
    if (class_node->kind == LW_NODE_ERROR)
        return index;
    if (class_node->kind == LW_NODE_CONSTANT &&
        r->tree->constants.data[class_node->a].kind == LW_K_UNDEFINED)
        return lw_read_node(r, (lw_node){LW_NODE_EXPR, .loc = loc, .a = index});
    if (class_node->kind != LW_NODE_CONSTANT ||
        r->tree->constants.data[class_node->a].kind != LW_K_EXCEPTION)
        return raise_error(r, node, "this is not an exception class");
    class = r->tree->constants.data[class_node->a];
    if (has_any(keywords) && strchr(class.text, ':') == NULL)
        return raise_error(r, node, "Python's own exceptions take no keywords here");
    if (is_unpacking(r, args, keywords))
        return raise_error(r, node, "`*` and `**` are not supported here");
    return read_raise_call(r, loc, class, args, keywords);
}
