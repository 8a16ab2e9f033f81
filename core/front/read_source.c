/* Four ways to a candidate, cheapest first; each candidate is compiled and compared, so that
 * the ways themselves may guess:
 *   1. a lambda: from the word `lambda` to the end of the code's own positions (3.11+)
 *   2. the lines from the first to the last that the code covers
 *   3. the lines from the first to the end of the indented block
 *   4. the whole file */
#include "core/front/read_source.h"

#include "core/front/read_code.h"

#include <stdbool.h>
#include <string.h>

typedef struct finder {
    const lw_ast *ast;
    PyObject *code; /* all owned */
    PyObject *name; /* co_name */
    PyObject *globals;
    PyObject *class_name; /* of the class the function is a method of, "_" otherwise */
    PyObject *filename;
    PyObject *candidates; /* list of nodes of one attempt */
    PyObject *imports;    /* "import math, np\n": see guess_imports */
    long first_line;
    int flags; /* of `from __future__` */
    bool is_lambda;
    bool is_rewritten; /* pytest replaced its asserts: the bytecode cannot be compared */
    /* an attempt ended for lack of memory, or of stack: finding nothing proves nothing */
    bool no_memory, too_deep;
} finder;

void
lw_source_reset(lw_source *source)
{
    Py_CLEAR(source->module);
    Py_CLEAR(source->lines);
    Py_CLEAR(source->filename);
    source->node = NULL;
}

static uint32_t
node_first_line(const lw_ast *ast, PyObject *node)
{
    PyObject *decorators;

    if (lw_ast_list(node, ast->decorator_list, &decorators) > 0)
        return lw_ast_number(PyList_GET_ITEM(decorators, 0), ast->lineno);
    return lw_ast_number(node, ast->lineno);
}

uint32_t
lw_source_first_line(const lw_ast *ast, const lw_source *source)
{
    return (uint32_t)((int32_t)node_first_line(ast, source->node) + source->offset);
}

uint32_t
lw_source_last_line(const lw_ast *ast, const lw_source *source)
{
    return (uint32_t)((int32_t)lw_ast_number(source->node, ast->end_lineno) + source->offset);
}

/* ---- parsing ---- */

/* Warnings (an odd escape, `is 1`) were given when the module was compiled: keep them from
 * being given again between quiet_begin and quiet_end. NULL with an exception set. */
static PyObject *
quiet_begin(void)
{
    PyObject *warnings = PyImport_ImportModule("warnings");
    PyObject *guard = warnings ? PyObject_CallMethod(warnings, "catch_warnings", NULL) : NULL;
    PyObject *entered = guard ? PyObject_CallMethod(guard, "__enter__", NULL) : NULL;
    PyObject *done = NULL;

    if (entered != NULL)
        done = PyObject_CallMethod(warnings, "simplefilter", "s", "ignore");
    if (done == NULL)
        Py_CLEAR(guard);
    Py_XDECREF(done);
    Py_XDECREF(entered);
    Py_XDECREF(warnings);
    return guard;
}

static void
quiet_end(PyObject *guard)
{
    PyObject *type, *value, *trace, *left;

    PyErr_Fetch(&type, &value, &trace);
    left = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None);
    Py_XDECREF(left);
    lw_read_clear();
    PyErr_Restore(type, value, trace);
    Py_DECREF(guard);
}

static PyObject *
parse(const finder *f, const char *text)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | f->flags,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyObject *guard = quiet_begin(), *tree;

    if (guard == NULL)
        return NULL;
    tree = Py_CompileStringExFlags(text, "<source>", Py_file_input, &flags, -1);
    quiet_end(guard);
    return tree;
}

/* Does the pending exception only say "this is not Python"? Then it is cleared. */
static bool
cleared_syntax_error(finder *f)
{
    bool no_memory = PyErr_ExceptionMatches(PyExc_MemoryError); /* or too deep for the parser */
    bool too_deep = PyErr_ExceptionMatches(PyExc_RecursionError);

    if (!no_memory && !too_deep && !PyErr_ExceptionMatches(PyExc_SyntaxError) &&
        !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    f->no_memory |= no_memory;
    f->too_deep |= too_deep;
    PyErr_Clear();
    return true;
}

/* Lines first … last (from 1) with `before` in front and `after` behind, as UTF-8. */
static PyObject *
join_lines(PyObject *lines, long first, long last, const char *before, const char *after)
{
    PyObject *part = PyList_GetSlice(lines, first - 1, last);
    PyObject *empty = PyUnicode_FromString("");
    PyObject *text = part && empty ? PyUnicode_Join(empty, part) : NULL;
    PyObject *whole = text ? PyUnicode_FromFormat("%s%U%s", before, text, after) : NULL;

    Py_XDECREF(part);
    Py_XDECREF(empty);
    Py_XDECREF(text);
    return whole;
}

static PyObject *
parse_object(const finder *f, PyObject *text)
{
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;

    return utf8 ? parse(f, utf8) : NULL;
}

/* ---- candidates and their proof ---- */

static bool
is_candidate(const finder *f, PyObject *node)
{
    lw_ast_kind kind = lw_ast_kind_of(f->ast, node);
    PyObject *name;

    if (kind == LW_AST_Lambda)
        return f->is_lambda;
    if (f->is_lambda || (kind != LW_AST_FunctionDef && kind != LW_AST_AsyncFunctionDef))
        return false;
    name = lw_ast_get(node, f->ast->name);
    return name != NULL && PyUnicode_Compare(name, f->name) == 0;
}

static int
collect(finder *f, PyObject *node)
{
    PyObject *fields;
    int result = 0;

    if (PyList_CheckExact(node)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(node) && result == 0; i++)
            result = collect(f, PyList_GET_ITEM(node, i));
        return result;
    }
    if (!PyObject_TypeCheck(node, (PyTypeObject *)f->ast->base))
        return 0;
    if (is_candidate(f, node) && PyList_Append(f->candidates, node) < 0)
        return -1;
    if (Py_EnterRecursiveCall(" while searching a function's source"))
        return -1;
    fields = lw_ast_get((PyObject *)Py_TYPE(node), f->ast->_fields);
    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(fields) && result == 0; i++) {
        PyObject *child = lw_ast_get(node, PyTuple_GET_ITEM(fields, i));
        if (child != NULL)
            result = collect(f, child);
    }
    Py_LeaveRecursiveCall();
    return result;
}

/* Since 3.11 the compiler writes other bytecode for a.b(…) where the module imports `a` at its
 * top level. Only the whole file says which names that are; for a part of it, guess: modules,
 * and classes and functions of other modules. */
static bool
looks_imported(const finder *f, PyObject *value)
{
    PyObject *own, *module;
    bool result;

    if (PyModule_Check(value))
        return true;
    if (!PyType_Check(value) && !PyFunction_Check(value) && !PyCFunction_Check(value))
        return false;
    own = PyDict_GetItemString(f->globals, "__name__");
    module = PyObject_GetAttrString(value, "__module__");
    result = own && module && PyUnicode_Check(own) && PyUnicode_Check(module) &&
             PyUnicode_Compare(own, module) != 0;
    Py_XDECREF(module);
    lw_read_clear();
    return result;
}

static int
guess_imports(const finder *f, PyObject *code, PyObject *names)
{
    PyObject *used = PyObject_GetAttrString(code, "co_names");
    PyObject *consts = PyObject_GetAttrString(code, "co_consts");
    int result = used && consts ? 0 : -1;

    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(used); i++) {
        PyObject *name = PyTuple_GET_ITEM(used, i);
        PyObject *value = PyDict_GetItemWithError(f->globals, name);
        if (value != NULL && PyUnicode_IsIdentifier(name) == 1 && looks_imported(f, value))
            result = PySet_Add(names, name);
    }
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(consts); i++)
        if (PyCode_Check(PyTuple_GET_ITEM(consts, i)))
            result = guess_imports(f, PyTuple_GET_ITEM(consts, i), names);
    Py_XDECREF(used);
    Py_XDECREF(consts);
    return result;
}

static int
add_import(PyObject *names, PyObject *name)
{
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1);
    PyObject *first = dot >= 0 ? PyUnicode_Substring(name, 0, dot) : NULL;
    int result = PySet_Add(names, first ? first : name);

    Py_XDECREF(first);
    return result;
}

/* What the top level of a whole file imports, also below `if` and `try`. */
static int
find_imports(const finder *f, PyObject *node, PyObject *names)
{
    lw_ast_kind kind = lw_ast_kind_of(f->ast, node);
    PyObject *list, *fields;
    int result = 0;

    if (PyList_CheckExact(node)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(node) && result == 0; i++)
            result = find_imports(f, PyList_GET_ITEM(node, i), names);
        return result;
    }
    if (kind == LW_AST_Import || kind == LW_AST_ImportFrom) {
        Py_ssize_t n = lw_ast_list(node, f->ast->names, &list);
        for (Py_ssize_t i = 0; i < n && result == 0; i++) {
            PyObject *alias = PyList_GET_ITEM(list, i),
                     *name = lw_ast_get(alias, f->ast->asname);
            name = name ? name : lw_ast_get(alias, f->ast->name);
            result = PyUnicode_CompareWithASCIIString(name, "*") ? add_import(names, name) : 0;
        }
        return result;
    }
    if (kind != LW_AST_If && kind != LW_AST_Try && kind != LW_AST_TryStar &&
        kind != LW_AST_With && kind != LW_AST_For && kind != LW_AST_While &&
        kind != LW_AST_ExceptHandler && PyObject_HasAttr(node, f->ast->lineno))
        return 0; /* other statements and expressions hold no import of this level */
    fields = lw_ast_get((PyObject *)Py_TYPE(node), f->ast->_fields);
    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(fields) && result == 0; i++) {
        PyObject *child = lw_ast_get(node, PyTuple_GET_ITEM(fields, i));
        if (child != NULL && PyList_CheckExact(child))
            result = find_imports(f, child, names);
    }
    return result;
}

/* module: the tree of a whole file, or NULL. */
static int
set_imports(finder *f, PyObject *module)
{
    PyObject *names = PySet_New(NULL), *comma = PyUnicode_FromString(", "), *joined = NULL;
    int result = -1;

    if (names != NULL)
        result = module ? find_imports(f, module, names) : guess_imports(f, f->code, names);
    if (result == 0 && comma != NULL)
        joined = PyUnicode_Join(comma, names);
    if (joined != NULL)
        Py_XSETREF(f->imports, PyUnicode_GET_LENGTH(joined)
                                   ? PyUnicode_FromFormat("import %U\n", joined)
                                   : PyUnicode_FromString(""));
    result = joined && f->imports ? 0 : -1;
    Py_XDECREF(names);
    Py_XDECREF(comma);
    Py_XDECREF(joined);
    return result;
}

/* A place to compile a candidate in: its free variables are parameters of `_`, and the class
 * keeps the function's own name out of the scope (and mangles __private names as the real one).
 */
static PyObject *
stub_new(const finder *f, PyObject **hole)
{
    PyObject *free_names = PyObject_GetAttrString(f->code, "co_freevars");
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *names = free_names && comma ? PyUnicode_Join(comma, free_names) : NULL;
    PyObject *text = NULL, *stub = NULL, *body, *inner;
    Py_ssize_t n;
    int is_free = names ? PySequence_Contains(free_names, f->class_name) : -1;

    if (is_free >= 0)
        text = PyUnicode_FromFormat("%Udef _(%U):\n %s%U\n class %U:\n  0\n", f->imports, names,
                                    is_free == 1 ? "pass # " : "global ", f->class_name,
                                    f->class_name);
    if (text != NULL)
        stub = parse_object(f, text);
    n = stub ? lw_ast_list(stub, f->ast->body, &body) : 0;
    if (n > 0 && (n = lw_ast_list(PyList_GET_ITEM(body, n - 1), f->ast->body, &inner)) > 0)
        *hole = PyList_GET_ITEM(inner, n - 1); /* the ClassDef */
    Py_XDECREF(free_names);
    Py_XDECREF(comma);
    Py_XDECREF(names);
    Py_XDECREF(text);
    return stub;
}

static int
stub_fill(const finder *f, PyObject *hole, PyObject *candidate)
{
    PyObject *body;

    if (lw_ast_list(hole, f->ast->body, &body) != 1)
        return -1;
    if (f->is_lambda)
        return PyObject_SetAttr(PyList_GET_ITEM(body, 0), f->ast->value, candidate);
    Py_INCREF(candidate);
    return PyList_SetItem(body, 0, candidate);
}

static PyObject *
compile_tree(const finder *f, PyObject *tree)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *guard = builtins ? quiet_begin() : NULL, *code = NULL;

    if (guard != NULL) {
        code = PyObject_CallMethod(builtins, "compile", "OssiOi", tree, "<source>", "exec",
                                   f->flags, Py_True, -1);
        quiet_end(guard);
    }
    Py_XDECREF(builtins);
    return code;
}

/* The candidate's code in a compiled stub: module, `_`, class, then the function (below the
 * scope of its type parameters, if it has any). */
static PyObject *
code_in_stub(const finder *f, PyObject *stub)
{
    PyObject *code = stub;

    for (int level = 0; code != NULL && level < 3; level++)
        code = lw_code_last(code);
    if (code != NULL && PyUnicode_Compare(((PyCodeObject *)code)->co_name, f->name) != 0)
        code = lw_code_last(code);
    return code;
}

/* 1: compiling this node gives the function's code; 0: it does not; -1: exception set. */
static int
proves(finder *f, PyObject *candidate)
{
    PyObject *hole = NULL, *stub = stub_new(f, &hole), *code = NULL, *own;
    int result = -1;

    if (stub != NULL && hole != NULL && stub_fill(f, hole, candidate) == 0)
        code = compile_tree(f, stub);
    if (code != NULL) {
        own = code_in_stub(f, code);
        result = own ? lw_code_equal(own, f->code) : PyErr_Occurred() ? -1 : 0;
    }
    if (result < 0 && PyErr_Occurred() && cleared_syntax_error(f))
        result = 0;
    else if (result < 0 && !PyErr_Occurred())
        result = 0;
    Py_XDECREF(code);
    Py_XDECREF(stub);
    return result;
}

/* pytest compiles test modules with rewritten asserts. Name, place and argument names must do.
 */
static bool
looks_like(const finder *f, PyObject *candidate, int32_t offset)
{
    return f->is_rewritten && !f->is_lambda &&
           (long)node_first_line(f->ast, candidate) + offset == f->first_line;
}

/* The right one among f->candidates, those on the expected line first; borrowed. */
static PyObject *
choose(finder *f, int32_t offset, bool *failed)
{
    for (int pass = 0; pass < 2; pass++) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(f->candidates); i++) {
            PyObject *node = PyList_GET_ITEM(f->candidates, i);
            bool on_line = (long)node_first_line(f->ast, node) + offset == f->first_line;
            int result;
            if (on_line != (pass == 0))
                continue;
            result = proves(f, node);
            if (result == 1 || (result == 0 && looks_like(f, node, offset)))
                return node;
            if (result < 0) {
                *failed = true;
                return NULL;
            }
        }
    }
    return NULL;
}

/* ---- attempts ---- */

/* Parse `text` (steals it; NULL passes an exception on) and look for the function in it. */
static lw_source_result
attempt(finder *f, PyObject *lines, PyObject *text, int32_t offset, bool is_whole_file,
        lw_source *out)
{
    PyObject *module = parse_object(f, text), *node;
    bool failed = false;

    Py_XDECREF(text);
    if (module == NULL)
        return cleared_syntax_error(f) ? LW_SOURCE_CHANGED : LW_SOURCE_FAILED;
    if (PyList_SetSlice(f->candidates, 0, PyList_GET_SIZE(f->candidates), NULL) < 0 ||
        collect(f, module) < 0 || (is_whole_file && set_imports(f, module) < 0)) {
        Py_DECREF(module);
        return cleared_syntax_error(f) ? LW_SOURCE_CHANGED : LW_SOURCE_FAILED;
    }
    node = choose(f, offset, &failed);
    if (node == NULL) {
        Py_DECREF(module);
        return failed ? LW_SOURCE_FAILED : LW_SOURCE_CHANGED;
    }
    Py_INCREF(lines);
    Py_INCREF(f->filename);
    *out = (lw_source){.module = module,
                       .node = node,
                       .lines = lines,
                       .filename = f->filename,
                       .offset = offset};
    return LW_SOURCE_FOUND;
}

static const char *
line_text(PyObject *lines, long line)
{
    const char *text = NULL;

    if (line >= 1 && line <= PyList_GET_SIZE(lines))
        text = PyUnicode_AsUTF8(PyList_GET_ITEM(lines, line - 1));
    if (text == NULL)
        lw_read_clear();
    return text ? text : "";
}

static PyObject *
padded(const char *before, long n_spaces)
{
    PyObject *text = PyUnicode_FromString(before), *space = PyUnicode_FromString(" ");
    PyObject *spaces = space ? PySequence_Repeat(space, n_spaces) : NULL;

    if (text != NULL && spaces != NULL)
        Py_SETREF(text, PyUnicode_Concat(text, spaces));
    else
        Py_CLEAR(text);
    Py_XDECREF(space);
    Py_XDECREF(spaces);
    return text;
}

/* "(", then the text from (line, col) to (end_line, end_col) at its own columns, then ")". */
static PyObject *
cut_expression(PyObject *lines, const lw_code_span *span)
{
    PyObject *text = padded("(\n", span->col);

    for (long line = span->line; text != NULL && line <= span->end_line; line++) {
        const char *whole = line_text(lines, line);
        size_t from = line == span->line ? (size_t)span->col : 0, to = strlen(whole);
        PyObject *piece, *longer;
        if (line == span->end_line && (size_t)span->end_col < to)
            to = (size_t)span->end_col;
        piece = PyUnicode_DecodeUTF8(whole + (from < to ? from : to),
                                     from < to ? (Py_ssize_t)(to - from) : 0, "replace");
        longer = piece ? PyUnicode_Concat(text, piece) : NULL;
        Py_XDECREF(piece);
        Py_SETREF(text, longer);
    }
    if (text != NULL)
        Py_SETREF(text, PyUnicode_FromFormat("%U\n)", text));
    return text;
}

/* Move the end past the next `)`: positions leave out the parentheses around a body. */
static bool
take_parenthesis(PyObject *lines, lw_code_span *span)
{
    for (; span->end_line <= PyList_GET_SIZE(lines); span->end_line++, span->end_col = 0) {
        const char *text = line_text(lines, span->end_line);
        const char *p =
            text + (span->end_col < (long)strlen(text) ? span->end_col : (long)strlen(text));
        while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
            p++;
        if (*p == ')') {
            span->end_col = p - text + 1;
            return true;
        }
        if (*p != '\0' && *p != '#')
            return false;
    }
    return false;
}

/* The column of the last `lambda` on the line that starts before `limit`; -1: none. */
static long
lambda_before(const char *line, long limit)
{
    long found = -1;

    for (const char *p = strstr(line, "lambda"); p && p - line < limit;
         p = strstr(p + 6, "lambda"))
        found = p - line;
    return found;
}

static lw_source_result
attempt_lambda(finder *f, PyObject *lines, lw_source *out)
{
    lw_code_span body;
    const char *line = line_text(lines, f->first_line);
    long limit;

    if (!lw_code_positions(f->code, false, &body))
        return LW_SOURCE_CHANGED;
    limit = body.line == f->first_line ? body.col : (long)strlen(line);
    for (long col = lambda_before(line, limit); col >= 0; col = lambda_before(line, col)) {
        lw_code_span span = {f->first_line, col, body.end_line, body.end_col};
        for (int closers = 0; closers < 8; closers++) {
            lw_source_result result = attempt(f, lines, cut_expression(lines, &span),
                                              (int32_t)f->first_line - 2, false, out);
            if (result != LW_SOURCE_CHANGED)
                return result;
            if (!take_parenthesis(lines, &span))
                break;
        }
    }
    return LW_SOURCE_CHANGED;
}

static lw_source_result
attempt_lines(finder *f, PyObject *lines, long last, lw_source *out)
{
    const char *line = line_text(lines, f->first_line);
    bool indented = *line == ' ' || *line == '\t';

    return attempt(f, lines,
                   join_lines(lines, f->first_line, last, indented ? "if 1:\n" : "", "\n"),
                   (int32_t)f->first_line - (indented ? 2 : 1), false, out);
}

static size_t
indent_of(const char *line)
{
    return strspn(line, " \t");
}

static bool
is_blank(const char *line)
{
    return line[strspn(line, " \t\r\n\f")] == '\0';
}

/* The last line of the block that starts at f->first_line and reaches at least to `last`. */
static long
block_end(const finder *f, PyObject *lines, long last)
{
    size_t indent = indent_of(line_text(lines, f->first_line));

    while (last < PyList_GET_SIZE(lines)) {
        const char *line = line_text(lines, last + 1);
        size_t own = indent_of(line);
        if (!is_blank(line) && own <= indent && strchr(")]}", line[own]) == NULL)
            break;
        last++;
    }
    return last;
}

static lw_source_result
attempt_all(finder *f, PyObject *lines, lw_source *out)
{
    lw_source_result result = LW_SOURCE_CHANGED;
    lw_code_span span;
    long block;

    if (f->first_line >= 1 && f->first_line <= PyList_GET_SIZE(lines)) {
        lw_code_positions(f->code, true, &span);
        if (span.end_line < f->first_line)
            span.end_line = f->first_line;
        if (f->is_lambda)
            result = attempt_lambda(f, lines, out);
        if (result == LW_SOURCE_CHANGED)
            result = attempt_lines(f, lines, span.end_line, out);
        block = block_end(f, lines, span.end_line);
        if (result == LW_SOURCE_CHANGED && block > span.end_line)
            result = attempt_lines(f, lines, block, out);
    }
    if (result == LW_SOURCE_CHANGED)
        result = attempt(f, lines, join_lines(lines, 1, PyList_GET_SIZE(lines), "", "\n"), 0,
                         true, out);
    return result;
}

/* ---- where the lines come from ---- */

static PyObject *
no_lines(PyObject *lines)
{
    if (lines == NULL) { /* a broken loader, a file that is no text: no source */
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return NULL;
        lw_read_clear();
        return PyList_New(0);
    }
    if (PyList_Check(lines))
        return lines;
    Py_DECREF(lines);
    return PyList_New(0);
}

/* linecache knows files, zip archives, notebook cells, and from 3.13 on prompts and -c. */
static PyObject *
get_lines(const finder *f, bool refresh)
{
    PyObject *linecache = PyImport_ImportModule("linecache"), *lines;

    if (linecache == NULL)
        return NULL;
    if (refresh) {
        PyObject *done = PyObject_CallMethod(linecache, "checkcache", "O", f->filename);
        Py_XDECREF(done);
        if (done == NULL)
            lw_read_clear();
    }
    lines = no_lines(PyObject_CallMethod(linecache, "getlines", "OO", f->filename, f->globals));
    if (lines != NULL && PyList_GET_SIZE(lines) == 0 &&
        PyObject_HasAttrString(linecache, "_getlines_from_code"))
        Py_SETREF(lines, no_lines(PyObject_CallMethod(linecache, "_getlines_from_code", "O",
                                                      f->code)));
    Py_DECREF(linecache);
    return lines;
}

/* The text of `python -c text`, which linecache knows from 3.13 on only: the argument itself. A
 * code object from exec has the same file name, but is not equal to anything in there. */
static PyObject *
command_lines(const finder *f)
{
    PyObject *argv = PySys_GetObject("orig_argv"), *text = NULL, *lines; /* borrowed */
    Py_ssize_t n = argv && PyList_Check(argv) ? PyList_GET_SIZE(argv) : 0;

    if (PyUnicode_CompareWithASCIIString(f->filename, "<string>") != 0)
        return PyList_New(0);
    for (Py_ssize_t i = 0; i + 1 < n && text == NULL; i++)
        if (PyUnicode_Check(PyList_GET_ITEM(argv, i)) &&
            PyUnicode_CompareWithASCIIString(PyList_GET_ITEM(argv, i), "-c") == 0)
            text = PyList_GET_ITEM(argv, i + 1);
    lines = text ? PyObject_CallMethod(text, "splitlines", "O", Py_True) : PyList_New(0);
    return lines ? lines : no_lines(NULL);
}

static lw_source_result
find_in_cache(finder *f, lw_source *out)
{
    lw_source_result result = LW_SOURCE_NONE;

    for (int refresh = 0; refresh < 2; refresh++) {
        PyObject *lines = get_lines(f, refresh);
        if (lines != NULL && PyList_GET_SIZE(lines) == 0)
            Py_SETREF(lines, command_lines(f));
        if (lines == NULL)
            return LW_SOURCE_FAILED;
        if (PyList_GET_SIZE(lines) > 0)
            result = attempt_all(f, lines, out);
        Py_DECREF(lines);
        if (result == LW_SOURCE_FOUND || result == LW_SOURCE_FAILED)
            break;
    }
    if (result == LW_SOURCE_CHANGED && f->no_memory) {
        PyErr_NoMemory();
        return LW_SOURCE_FAILED;
    }
    if (result == LW_SOURCE_CHANGED && f->too_deep) {
        PyErr_SetString(PyExc_RecursionError, "the function is nested too deeply to be read");
        return LW_SOURCE_FAILED;
    }
    if (result == LW_SOURCE_CHANGED &&
        PyUnicode_CompareWithASCIIString(f->filename, "<string>") == 0)
        result = LW_SOURCE_NONE; /* from exec: what was looked into is another text */
    return result;
}

/* ---- source= ---- */

/* The text is the caller's word: a function of the right name will do when none can be proved.
 */
static PyObject *
choose_given(finder *f, bool *failed)
{
    PyObject *node = choose(f, 0, failed);

    if (node == NULL && !*failed && PyList_GET_SIZE(f->candidates) == 1)
        node = PyList_GET_ITEM(f->candidates, 0);
    return node;
}

static lw_source_result
find_in_text(finder *f, PyObject *text, lw_source *out)
{
    Py_ssize_t n_bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    bool indented = utf8 && (*utf8 == ' ' || *utf8 == '\t'), failed = false;
    PyObject *wrapped =
        utf8 ? PyUnicode_FromFormat(indented ? "if 1:\n%U\n" : "%U\n", text) : NULL;
    PyObject *module = parse_object(f, wrapped), *node;

    Py_XDECREF(wrapped);
    if (utf8 != NULL && strlen(utf8) != (size_t)n_bytes) {
        Py_CLEAR(module);
        PyErr_SetString(PyExc_ValueError, "source= must not hold null characters");
    }
    if (module == NULL)
        return LW_SOURCE_FAILED; /* a SyntaxError in the caller's text is the caller's to see */
    if (collect(f, module) < 0) {
        Py_DECREF(module);
        return LW_SOURCE_FAILED;
    }
    node = choose_given(f, &failed);
    out->lines = node ? PyObject_CallMethod(text, "splitlines", "O", Py_True) : NULL;
    if (out->lines == NULL) {
        Py_DECREF(module);
        return failed || PyErr_Occurred() ? LW_SOURCE_FAILED : LW_SOURCE_NO_MATCH;
    }
    Py_INCREF(f->filename);
    out->filename = f->filename;
    out->module = module;
    out->node = node;
    out->offset = indented ? -1 : 0;
    return LW_SOURCE_FOUND;
}

/* ---- the door ---- */

/* "Disk" of "Disk.area": the class whose name mangles __private names. */
static PyObject *
enclosing_class(PyObject *function)
{
    PyObject *qualname = PyObject_GetAttrString(function, "__qualname__");
    const char *text =
        qualname && PyUnicode_Check(qualname) ? PyUnicode_AsUTF8(qualname) : NULL;
    const char *end = text ? strrchr(text, '.') : NULL, *start = end;
    PyObject *name = NULL;

    while (start != NULL && start > text && start[-1] != '.')
        start--;
    if (end != NULL && end > start && *start != '<')
        name = PyUnicode_FromStringAndSize(start, end - start);
    Py_XDECREF(qualname);
    lw_read_clear();
    return name ? name : PyUnicode_FromString("_");
}

static int
finder_init(finder *f, const lw_ast *ast, PyObject *function)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);

    memset(f, 0, sizeof *f);
    f->ast = ast;
    Py_INCREF(code);
    f->code = (PyObject *)code;
    Py_INCREF(code->co_name);
    f->name = code->co_name;
    Py_INCREF(code->co_filename);
    f->filename = code->co_filename;
    f->globals = PyFunction_GET_GLOBALS(function);
    Py_INCREF(f->globals);
    f->class_name = enclosing_class(function);
    f->candidates = PyList_New(0);
    f->first_line = code->co_firstlineno;
    f->flags = code->co_flags & PyCF_MASK;
    f->is_lambda = PyUnicode_CompareWithASCIIString(f->name, "<lambda>") == 0;
    f->is_rewritten = PyDict_GetItemString(f->globals, "@pytest_ar") != NULL;
    return f->class_name && f->candidates ? set_imports(f, NULL) : -1;
}

static void
finder_reset(finder *f)
{
    Py_CLEAR(f->code);
    Py_CLEAR(f->name);
    Py_CLEAR(f->filename);
    Py_CLEAR(f->globals);
    Py_CLEAR(f->class_name);
    Py_CLEAR(f->candidates);
    Py_CLEAR(f->imports);
}

lw_source_result
lw_source_find(const lw_ast *ast, PyObject *function, PyObject *text, lw_source *out)
{
    lw_source_result result = LW_SOURCE_FAILED;
    finder f;

    memset(out, 0, sizeof *out);
    if (finder_init(&f, ast, function) == 0)
        result = text != NULL ? find_in_text(&f, text, out) : find_in_cache(&f, out);
    finder_reset(&f);
    return result;
}
