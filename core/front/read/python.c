#include "core/front/read/read_internal.h"

#include "core/base/profile.h"
#include "core/front/diagnose.h"
#include "core/front/read/kept_text.h"
#include "core/front/read/services.h"
#include "core/front/read/source.h"
#include "core/ir/ir.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* ---- failures ---- */

uint32_t
lw_read_failed(lw_reader *r)
{
    if (r->status == LW_OK)
        r->status = LW_ERR_PYTHON;
    if (r->status == LW_ERR_PYTHON && !PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError,
                        "lanewise: reading a function failed without a cause");
    return 0;
}

uint32_t
lw_read_no_memory(lw_reader *r)
{
    if (r->status == LW_OK)
        r->status = lw_fail_memory(r->err);
    return 0;
}

const char *
lw_read_text(lw_reader *r, const char *text)
{
    const char *copy = lw_arena_strdup(&r->tree->arena, text);

    if (copy == NULL)
        lw_read_no_memory(r);
    return copy;
}

const char *
lw_read_str(lw_reader *r, PyObject *str)
{
    const char *text = PyUnicode_AsUTF8(str);

    if (text == NULL) {
        lw_read_failed(r);
        return NULL;
    }
    return lw_read_text(r, text);
}

/* ---- nodes ---- */

uint32_t
lw_read_loc(lw_reader *r, PyObject *node)
{
    lw_loc *loc = lw_array_push(&r->tree->locs, &r->tree->arena);
    uint32_t line = lw_ast_number(node, r->ast.lineno);
    uint32_t end_line = lw_ast_number(node, r->ast.end_lineno);

    if (loc == NULL)
        return lw_read_no_memory(r);
    loc->file = r->file;
    loc->line = (uint32_t)((int32_t)line + r->line_offset);
    loc->end_line = end_line ? (uint32_t)((int32_t)end_line + r->line_offset) : loc->line;
    loc->col = lw_ast_number(node, r->ast.col_offset);
    loc->end_col = lw_ast_number(node, r->ast.end_col_offset);
    return r->tree->locs.n - 1;
}

uint32_t
lw_read_node(lw_reader *r, lw_node node)
{
    assert(node.kind > LW_NODE_NONE && node.kind < LW_N_NODE_KINDS && node.op < LW_N_PYOPS);
    assert(node.loc < r->tree->locs.n);
    lw_node *added = lw_array_push(&r->tree->nodes, &r->tree->arena);

    if (added == NULL)
        return lw_read_no_memory(r);
    *added = node;
    lw_mark_lent(r->tree, &node);
    return r->tree->nodes.n - 1;
}

uint32_t
lw_read_list_node(lw_reader *r, lw_node node, const uint32_t *items, uint32_t n)
{
    assert(n == 0 || items != NULL);
    node.b = r->tree->lists.n;
    node.c = n;
    if (r->status != LW_OK)
        return 0;
    if (!lw_array_reserve(&r->tree->lists, n, &r->tree->arena))
        return lw_read_no_memory(r);
    if (n > 0)
        memcpy(r->tree->lists.data + node.b, items, n * sizeof *items);
    r->tree->lists.n += n;
    return lw_read_node(r, node);
}

bool
lw_read_item(lw_reader *r, lw_read_items *items, uint32_t node)
{
    uint32_t *slot;

    if (node == 0)
        return false;
    slot = lw_array_push(items, NULL);
    if (slot == NULL) {
        lw_read_no_memory(r);
        return false;
    }
    *slot = node;
    return true;
}

bool
lw_read_each(lw_reader *r, PyObject *node, PyObject *field,
             uint32_t (*read)(lw_reader *r, PyObject *element), lw_read_items *items,
             uint32_t *error)
{
    PyObject *elements;
    Py_ssize_t n = lw_ast_list(node, field, &elements);

    *error = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t item = read(r, PyList_GET_ITEM(elements, i));

        if (lw_read_is_error(r, item))
            *error = item;
        if (*error != 0 || !lw_read_item(r, items, item))
            return false;
    }
    return true;
}

static uint32_t
add_diag(lw_reader *r, uint32_t loc, lw_fault fault, const char *message)
{
    assert(loc < r->tree->locs.n);
    assert(fault.code != NULL &&
           strlen(fault.code) < sizeof r->tree->diags.data->code); /* E120 */
    lw_diag *diag = lw_array_push(&r->tree->diags, &r->tree->arena);

    if (diag == NULL)
        return lw_read_no_memory(r);
    diag->status = fault.status;
    diag->loc = loc;
    snprintf(diag->code, sizeof diag->code, "%s", fault.code);
    diag->message = lw_read_text(r, message);
    diag->label = fault.label ? lw_read_text(r, fault.label) : NULL;
    diag->help = fault.help ? lw_read_text(r, fault.help) : NULL;
    return r->status == LW_OK ? r->tree->diags.n - 1 : 0;
}

uint32_t
lw_read_diag(lw_reader *r, uint32_t loc, lw_fault fault, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return add_diag(r, loc, fault, message);
}

uint32_t
lw_read_error(lw_reader *r, PyObject *node, lw_fault fault, const char *format, ...)
{
    uint32_t loc = lw_read_loc(r, node), diag;
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    diag = loc ? add_diag(r, loc, fault, message) : 0;
    return diag ? lw_read_node(r, (lw_node){LW_NODE_ERROR, .loc = loc, .a = diag}) : 0;
}

bool
lw_read_is_error(const lw_reader *r, uint32_t node)
{
    assert(node < r->tree->nodes.n);
    return r->tree->nodes.data[node].kind == LW_NODE_ERROR;
}

/* ---- the work list ---- */

static uint32_t
new_fn(lw_reader *r, const char *name, uint32_t parent)
{
    lw_fn *fn = lw_array_push(&r->tree->fns, &r->tree->arena);

    if (fn == NULL || name == NULL)
        return lw_read_no_memory(r);
    fn->name = name;
    fn->parent = parent;
    return r->tree->fns.n - 1;
}

/* Whether the name of the function's module has this start. */
static bool
is_of(PyObject *function, const char *start)
{
    PyObject *module = PyFunction_GET_MODULE(function); /* borrowed */
    const char *name = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : NULL;

    lw_read_clear();
    return name != NULL && start != NULL && strncmp(name, start, strlen(start)) == 0;
}

/* The functions that those of scipy.special are made of, polynomials and what begins with an
 * underscore, are shared. What users call by name is inlined, so that loops over it can be
 * vectorised, unless it calls one of them. */
static lw_shared
sharing_of(PyObject *function, const char *name)
{
    if (is_of(function, "lanewise._special_fits"))
        return LW_IS_SHARED;
    if (!is_of(function, lw_service_name(LW_SERVICE_SPECIAL)) || name == NULL)
        return LW_NOT_SHARED;
    return name[0] == '_' ? LW_IS_SHARED : LW_SHARED_BY_CALLEE;
}

/* Notes how the function is to be compiled, which depends on its module if it is one of the
 * package. */
static void
note_module(lw_fn *fn, PyObject *function)
{
    fn->of_package = is_of(function, "lanewise.");
    fn->takes_none = is_of(function, lw_service_name(LW_SERVICE_GROWING_LISTS)) ||
                     is_of(function, lw_service_name(LW_SERVICE_GROWING_DICTS)) ||
                     is_of(function, lw_service_name(LW_SERVICE_TYPED)) ||
                     is_of(function, lw_service_name(LW_SERVICE_DICTS));
    fn->inlined = is_of(function, lw_service_name(LW_SERVICE_ARRAY_FUNCTIONS));
    fn->compact = is_of(function, lw_service_name(LW_SERVICE_LINEAR_ALGEBRA));
    fn->shared = (uint8_t)sharing_of(function, fn->name);
    if (fn->shared == LW_SHARED_BY_CALLEE) /* lanewise.special.name */
        fn->takes = lw_read_special_takes(fn->name);
}

static uint32_t
enqueue(lw_reader *r, PyObject *function, PyObject *self)
{
    assert(PyFunction_Check(function));
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    uint32_t fn = new_fn(r, lw_read_str(r, code->co_name), 0), linked;
    lw_read_work *work;

    if (fn == 0 || r->status != LW_OK || !lw_read_linked(r, function, NULL, &linked))
        return 0;
    r->tree->fns.data[fn].linked = linked;
    r->tree->fns.data[fn].line = (uint32_t)code->co_firstlineno;
    note_module(&r->tree->fns.data[fn], function);
    if (r->queue.n >= LW_READ_MAX_FUNCTIONS) {
        r->tree->fns.data[fn].problem = lw_read_diag(
            r, 0,
            (lw_fault){LW_ERR_UNSUPPORTED, "E152",
                       .help = "keep library code out of compiled functions"},
            "more than %d functions can be reached from here", LW_READ_MAX_FUNCTIONS);
        return r->status == LW_OK ? fn : 0;
    }
    work = lw_array_push(&r->queue, NULL);
    if (work == NULL)
        return lw_read_no_memory(r);
    *work = (lw_read_work){.function = Py_NewRef(function), .self = Py_XNewRef(self), .fn = fn};
    return fn;
}

uint32_t
lw_read_new_fn(lw_reader *r, const char *name)
{
    return new_fn(r, name, 0);
}

uint32_t
lw_read_function_constant(lw_reader *r, PyObject *function, PyObject *self, PyObject *made)
{
    PyObject *key =
        Py_BuildValue("(nnn)", (Py_ssize_t)function, (Py_ssize_t)self, (Py_ssize_t)made);
    PyObject *known = key ? PyDict_GetItemWithError(r->function_of, key) : NULL, *number;
    uint32_t fn = known ? (uint32_t)PyLong_AsUnsignedLong(known) : 0;

    if (known == NULL && key != NULL) {
        fn = enqueue(r, function, self);
        number = fn ? PyLong_FromUnsignedLong(fn) : NULL;
        if (number == NULL || PyDict_SetItem(r->function_of, key, number) < 0)
            fn = 0;
        Py_XDECREF(number);
    }
    Py_XDECREF(key);
    return fn || r->status != LW_OK ? fn : lw_read_failed(r);
}

/* ---- bodies ---- */

static uint32_t
read_lambda_body(lw_reader *r, PyObject *body)
{
    uint32_t value = lw_read_expr(r, body), loc, statement;

    if (value == 0)
        return 0;
    loc = r->tree->nodes.data[value].loc;
    statement = lw_read_node(r, (lw_node){LW_NODE_RETURN, .loc = loc, .a = value});
    return statement ? lw_read_list_node(r, (lw_node){LW_NODE_BODY, .loc = loc}, &statement, 1)
                     : 0;
}

static bool read_node(lw_reader *r, PyObject *node);

static bool
read_code(lw_reader *r, PyObject *node)
{
    PyObject *function =
        is_of(r->function, "lanewise.") ? Py_NewRef(node) : lw_read_rewritten(r, node);
    bool ok = function ? read_node(r, function) : lw_read_failed(r);

    Py_XDECREF(function);
    return ok;
}

/* Names are bound first, then the code is read, both in r->scope. */
static bool
read_node(lw_reader *r, PyObject *node)
{
    assert(r->scope != NULL && r->scope->fn < r->tree->fns.n);
    uint32_t fn = r->scope->fn, body_node;
    PyObject *body = lw_ast_get(node, r->ast.body);
    bool is_lambda = lw_ast_kind_of(&r->ast, node) == LW_AST_Lambda;

    if (body == NULL || lw_scope_scan(r, r->scope, body) < 0)
        return false;
    body_node = is_lambda ? read_lambda_body(r, body) : lw_read_body(r, body, true);
    if (body_node == 0)
        return false;
    r->tree->fns.data[fn].body = body_node;
    r->tree->fns.data[fn].is_lambda = is_lambda;
    return true;
}

static bool
set_loc(lw_reader *r, uint32_t fn, PyObject *node)
{
    assert(fn != 0 && fn < r->tree->fns.n);
    uint32_t loc = lw_read_loc(r, node);

    if (loc == 0)
        return false;
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].line = r->tree->locs.data[loc].line;
    r->tree->fns.data[fn].file = r->file;
    return true;
}

/* async functions have no body that runs to its end without a pause. */
static bool
refuse_async(lw_reader *r, uint32_t fn, PyObject *node)
{
    if (lw_ast_kind_of(&r->ast, node) == LW_AST_AsyncFunctionDef)
        r->tree->fns.data[fn].problem =
            lw_read_diag(r, r->tree->fns.data[fn].loc,
                         (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                                    .label = "compiled functions run to their end in one go",
                                    .help = "write a plain `def`"},
                         "`async def` cannot be compiled");
    return r->status == LW_OK;
}

uint32_t
lw_read_nested(lw_reader *r, PyObject *node)
{
    assert(r->scope != NULL); /* inside of a function */
    bool is_lambda = lw_ast_kind_of(&r->ast, node) == LW_AST_Lambda;
    PyObject *args = lw_ast_get(node, r->ast.args), *returns;
    const char *name = is_lambda ? "<lambda>" : lw_read_str(r, lw_ast_get(node, r->ast.name));
    uint32_t fn = new_fn(r, name, r->scope->fn);
    lw_scope scope, *outer = r->scope;
    bool ok;

    if (fn == 0 || lw_scope_init(r, &scope, outer, fn) < 0)
        return 0;
    r->scope = &scope;
    ok = set_loc(r, fn, node) && lw_read_params(r, args);
    r->scope = outer;
    ok = ok && lw_read_nested_defaults(r, fn, args);
    returns = ok ? lw_ast_get(node, r->ast.returns) : NULL;
    if (returns != NULL) {
        uint32_t constant = lw_read_annotation_expr(r, returns);
        r->tree->fns.data[fn].return_annotation = constant;
    }
    r->scope = &scope;
    ok = ok && r->status == LW_OK && read_code(r, node);
    r->scope = outer;
    lw_scope_reset(r, &scope);
    return ok ? fn : 0;
}

/* The lines that messages will show. */
static bool
keep_lines(lw_reader *r, const lw_source *source)
{
    lw_file *file = lw_array_push(&r->tree->files, &r->tree->arena);
    uint32_t first = lw_source_first_line(&r->ast, source);
    uint32_t last = lw_source_last_line(&r->ast, source), n;
    const char **lines;

    if (file == NULL)
        return lw_read_no_memory(r);
    r->file = r->tree->files.n - 1;
    if (last > (uint32_t)PyList_GET_SIZE(source->lines))
        last = (uint32_t)PyList_GET_SIZE(source->lines);
    n = first >= 1 && last >= first ? last - first + 1 : 0;
    lines = lw_arena_take(&r->tree->arena, (n + 1) * sizeof *lines);
    if (lines == NULL)
        return lw_read_no_memory(r);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(source->lines, first - 1 + i));
        size_t length = text ? strcspn(text, "\r\n") : 0;
        lw_read_clear();
        lines[i] = lw_arena_strndup(&r->tree->arena, text ? text : "", length);
        if (lines[i] == NULL)
            return lw_read_no_memory(r);
    }
    r->tree->files.data[r->file] = (lw_file){.path = lw_read_str(r, source->filename),
                                             .first_line = first,
                                             .n_lines = n,
                                             .lines = lines};
    return r->status == LW_OK;
}

static bool
read_parsed(lw_reader *r, uint32_t fn, const lw_source *source)
{
    lw_scope scope;
    bool ok;

    r->line_offset = source->offset;
    if (!keep_lines(r, source) || lw_scope_init(r, &scope, NULL, fn) < 0)
        return false;
    r->scope = &scope;
    ok = set_loc(r, fn, source->node) && refuse_async(r, fn, source->node) &&
         lw_read_params(r, lw_ast_get(source->node, r->ast.args)) &&
         lw_read_live_defaults(r, fn) && lw_read_live_annotations(r, fn) &&
         read_code(r, source->node) && lw_read_local_types(r, fn);
    lw_scope_reset(r, &scope);
    r->scope = NULL;
    return ok;
}

/* ---- functions without a text ---- */

uint32_t
lw_read_bare_loc(lw_reader *r, const char *path)
{
    lw_file *file = lw_array_push(&r->tree->files, &r->tree->arena);
    lw_loc *loc = lw_array_push(&r->tree->locs, &r->tree->arena);

    if (file == NULL || loc == NULL)
        return lw_read_no_memory(r);
    file->path = path;
    *loc = (lw_loc){.file = r->tree->files.n - 1, .line = 1, .end_line = 1};
    return r->tree->locs.n - 1;
}

/* A location without a line that could be shown. */
static uint32_t
bare_loc(lw_reader *r, PyCodeObject *code)
{
    const char *path = lw_read_str(r, code->co_filename);
    uint32_t loc = path ? lw_read_bare_loc(r, path) : 0;

    if (loc != 0)
        r->tree->locs.data[loc].line = r->tree->locs.data[loc].end_line =
            (uint32_t)code->co_firstlineno;
    return loc;
}

/* What calls of the function need to know about it. */
static bool
read_head(lw_reader *r, uint32_t fn, PyCodeObject *code)
{
    lw_scope scope;
    bool ok;

    if (lw_scope_init(r, &scope, NULL, fn) < 0)
        return false;
    r->scope = &scope;
    ok = lw_read_params_of_code(r, code) && lw_read_live_defaults(r, fn) &&
         lw_read_live_annotations(r, fn);
    lw_scope_reset(r, &scope);
    r->scope = NULL;
    return ok;
}

static bool
no_source(lw_reader *r, uint32_t fn, lw_source_result result)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(r->function);
    uint32_t loc = bare_loc(r, code), diag = 0;
    const char *name = r->tree->fns.data[fn].name;
    const lw_no_text none = lw_why_no_text(code->co_filename);

    if (loc == 0)
        return false;
    if (result == LW_SOURCE_CHANGED)
        diag = lw_read_diag(
            r, loc,
            (lw_fault){
                LW_ERR_OS, "E171",
                .help = "reload the module: compiling the new text would run code you have not "
                        "imported; or pass the right text with `source=`"},
            "the source of `%.100s` changed since it was imported: line %d is no "
            "longer its code",
            name, code->co_firstlineno);
    else if (result == LW_SOURCE_NO_MATCH)
        diag = lw_read_diag(r, loc,
                            (lw_fault){LW_ERR_OS, "E170",
                                       .help = "pass the text of the whole `def` or `lambda`"},
                            "`source=` holds no function named `%.100s`", name);
    else
        diag = lw_read_diag(r, loc, (lw_fault){LW_ERR_OS, "E170", .help = none.help},
                            "no source text for `%.100s`: compiling needs it, and %s", name,
                            none.why);
    r->tree->fns.data[fn].problem = diag;
    r->tree->fns.data[fn].loc = loc;
    return diag != 0 && (!r->may_lack_text || fn != 1 || read_head(r, fn, code));
}

static bool
too_deep(lw_reader *r, uint32_t fn)
{
    uint32_t loc = r->tree->fns.data[fn].loc;

    lw_read_clear();
    r->status = LW_OK;
    if (loc == 0) /* Python's own parser gave up */
        loc = bare_loc(r, (PyCodeObject *)PyFunction_GET_CODE(r->function));
    r->tree->fns.data[fn].loc = loc;
    r->tree->fns.data[fn].problem = lw_read_diag(
        r, loc,
        (lw_fault){LW_ERR_UNSUPPORTED, "E101",
                   .help = "break the expression up into several statements"},
        "`%.100s` is nested too deeply to be compiled", r->tree->fns.data[fn].name);
    return r->tree->fns.data[fn].problem != 0;
}

/* A function that stands for something that the package does not have names what to write
 * instead. */
static bool
is_refused(lw_reader *r, uint32_t fn)
{
    PyObject *why = ((PyFunctionObject *)r->function)->func_dict
                        ? lw_attribute_text(r->function, "__lanewise_refused__")
                        : NULL;

    if (why == NULL)
        return false;
    r->tree->fns.data[fn].problem = lw_read_diag(
        r, bare_loc(r, (PyCodeObject *)PyFunction_GET_CODE(r->function)),
        (lw_fault){LW_ERR_UNSUPPORTED, "E152", .help = PyUnicode_AsUTF8(why)},
        "`%.100s` cannot be called from compiled code", r->tree->fns.data[fn].name);
    Py_DECREF(why);
    return true;
}

static bool
read_one(lw_reader *r, const lw_read_work *work, PyObject *text)
{
    lw_source source;
    lw_source_result result;
    bool ok = false;

    r->function = work->function;
    r->self = work->self;
    r->self_name = NULL;
    r->globals = PyFunction_GET_GLOBALS(work->function);
    r->builtins = ((PyFunctionObject *)work->function)->func_builtins;
    r->is_settled = is_of(work->function, "lanewise._");
    if (!r->is_settled && lw_captures_add_function(r->captures, work->function) < 0) {
        lw_read_failed(r);
        return false;
    }
    if (is_refused(r, work->fn))
        return r->status == LW_OK;
    result = lw_source_find(&r->ast, work->function, text, &source);
    if (result == LW_SOURCE_FOUND)
        ok = read_parsed(r, work->fn, &source);
    else if (result == LW_SOURCE_FAILED)
        lw_read_failed(r);
    else
        ok = no_source(r, work->fn, result);
    lw_source_reset(&source);
    if (!ok && r->status == LW_ERR_PYTHON && PyErr_ExceptionMatches(PyExc_RecursionError))
        ok = too_deep(r, work->fn);
    return ok;
}

/* ---- entry point ---- */

void
lw_reader_reset(lw_reader *r)
{
    for (uint32_t i = 0; i < r->objects.n; i++)
        Py_XDECREF(r->objects.data[i]);
    for (uint32_t i = 0; i < r->queue.n; i++) {
        Py_XDECREF(r->queue.data[i].function);
        Py_XDECREF(r->queue.data[i].self);
    }
    lw_array_free(&r->objects);
    lw_array_free(&r->queue);
    Py_CLEAR(r->constant_of);
    Py_CLEAR(r->function_of);
    Py_CLEAR(r->named);
    Py_CLEAR(r->named_kept);
    Py_CLEAR(r->numpy);
    Py_CLEAR(r->overloaded);
    Py_CLEAR(r->earlier);
    lw_ast_reset(&r->ast);
}

bool
lw_reader_init(lw_reader *r, lw_error *err)
{
    memset(r, 0, sizeof *r);
    r->err = err;
    if (lw_ast_init(&r->ast) < 0)
        return lw_read_failed(r);
    r->constant_of = PyDict_New();
    r->function_of = PyDict_New();
    if (!r->constant_of || !r->function_of)
        lw_read_failed(r);
    return r->status == LW_OK;
}

static void
read_given(lw_reader *r, PyObject *classes)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes) && r->status == LW_OK; i++) {
        PyObject *class = PyTuple_GET_ITEM(classes, i);
        uint32_t constant = lw_read_class_of_objects(r, class);
        const lw_class **slot = lw_array_push(&r->tree->given, &r->tree->arena);
        if (constant == 0 || (lw_fold_is_enum(class) && lw_read_enum_class(r, class) == NULL))
            return;
        if (slot == NULL)
            lw_read_no_memory(r);
        else
            *slot = r->tree->constants.data[constant].user_class;
    }
}

static bool
start(lw_reader *r, lw_error *err)
{
    if (!lw_reader_init(r, err))
        return false;
    r->status = lw_tree_new(&r->tree, err);
    if (r->status == LW_OK) {
        r->captures = lw_captures_new();
        if (r->captures == NULL)
            lw_read_failed(r);
    }
    return r->status == LW_OK && lw_read_overloads(r);
}

/* The queue grows while it is processed. */
static void
read_from(lw_reader *r, uint32_t first, PyObject *text)
{
    for (uint32_t i = first; i < r->queue.n && r->status == LW_OK; i++) {
        lw_read_work work = r->queue.data[i];
        if (!read_one(r, &work, i == 0 ? text : NULL) && r->status == LW_OK)
            lw_read_no_memory(r);
    }
}

void
lw_read_queue(lw_reader *r, PyObject *text)
{
    read_from(r, 0, text);
}

/* Whether the problem can be told of later: there is no text, or there is something in it, such
 * as a parameter `**`, that is never compiled. */
static bool
can_wait(const lw_reader *r, uint32_t fn)
{
    const char *code = r->tree->diags.data[r->tree->fns.data[fn].problem].code;

    return strcmp(code, "E170") == 0 || strcmp(code, "E171") == 0 || strcmp(code, "E101") == 0;
}

static void
read_all(lw_reader *r, PyObject *function, PyObject *self, PyObject *text, PyObject *classes)
{
    uint32_t root = lw_read_function_constant(r, function, self, NULL);

    uint32_t n;

    lw_read_queue(r, text);
    n = (uint32_t)r->queue.n;
    if (root && classes != NULL && r->status == LW_OK) {
        read_given(r, classes);
        read_from(r, n, NULL);
    }
    if (r->status == LW_OK && r->tree->fns.data[root].problem &&
        !(r->may_lack_text && can_wait(r, root)))
        r->status = lw_diagnose_kept(r->tree, r->tree->fns.data[root].problem, NULL, r->err);
}

lw_status
lw_read_function(PyObject *object, PyObject *source, lw_tree **out, lw_captures **captures,
                 lw_error *err)
{
    return lw_read_function_given(object, source, NULL, out, captures, err);
}

bool
lw_read_interrupted(lw_reader *r)
{
    if (!lw_read_lost_interrupt())
        return false;
    lw_error_reset(r->err);
    r->status = LW_ERR_PYTHON;
    return true;
}

static lw_status
read_given_function(PyObject *object, PyObject *source, PyObject *classes, bool may_lack_text,
                    lw_tree **out, lw_captures **captures, lw_error *err)
{
    PyObject *function = lw_python_function(object);
    PyObject *self = PyMethod_Check(object) ? PyMethod_GET_SELF(object) : NULL;
    bool trees_own;
    lw_reader r;

    if (function == NULL)
        return err->status = LW_ERR_PYTHON;
    if (source == Py_None)
        source = NULL;
    lw_read_lost_memory(); /* left from an earlier call */
    if (start(&r, err)) {
        r.may_lack_text = may_lack_text;
        read_all(&r, function, self, source, classes);
    }
    Py_DECREF(function);
    if (!lw_read_interrupted(&r) && r.status == LW_OK)
        lw_read_keep(&r, captures == NULL);
    lw_reader_reset(&r);
    if (r.status == LW_OK) /* it looks at attributes, which would clear an exception */
        lw_captures_finish(r.captures);
    lw_read_interrupted(&r);
    /* also if code that was read after it has cleared the MemoryError */
    if (lw_read_lost_memory() && (r.status != LW_ERR_PYTHON || !PyErr_Occurred())) {
        lw_error_reset(err);
        r.status = lw_fail_memory(err);
    }
    trees_own = captures == NULL && r.tree != NULL && r.tree->reading != NULL;
    if (r.status == LW_OK) {
        *out = r.tree;
        if (captures != NULL)
            *captures = r.captures;
        else if (!trees_own)
            lw_captures_free(r.captures);
        return LW_OK;
    }
    lw_tree_free(r.tree);
    if (!trees_own)
        lw_captures_free(r.captures);
    if (r.status == LW_ERR_PYTHON && err->status == LW_OK)
        err->status = LW_ERR_PYTHON;
    return r.status;
}

lw_status
lw_read_function_given(PyObject *object, PyObject *source, PyObject *classes, lw_tree **out,
                       lw_captures **captures, lw_error *err)
{
    int64_t begun = lw_compile_begin();
    lw_status status = read_given_function(object, source, classes, false, out, captures, err);

    lw_compile_end(begun);
    return status;
}

lw_status
lw_read_function_later(PyObject *object, PyObject *source, lw_tree **out,
                       lw_captures **captures, lw_error *err)
{
    int64_t begun = lw_compile_begin();
    lw_status status = read_given_function(object, source, NULL, true, out, captures, err);

    lw_compile_end(begun);
    return status;
}
