/* The source of a function. There are four ways to a candidate, tried from cheapest to most
 * expensive; each candidate is compiled and compared, so that the search itself may guess:
 *   1. a lambda: from the word `lambda` to the end of the code's own positions (3.11+)
 *   2. the lines from the first to the last that the code covers
 *   3. the lines from the first to the end of the indented block
 *   4. the whole file */
#include "core/front/read/source.h"

#include "core/front/read/code.h"
#include "core/front/read/kept_text.h"
#include "core/front/read/proof.h"
#include "core/front/read/read_internal.h"
#include "core/front/read/services.h"

#include <string.h>

void
lw_source_reset(lw_source *source)
{
    Py_CLEAR(source->module);
    Py_CLEAR(source->lines);
    Py_CLEAR(source->filename);
    source->node = NULL;
}

uint32_t
lw_source_first_line(const lw_ast *ast, const lw_source *source)
{
    return (uint32_t)((int32_t)lw_finder_first_line(ast, source->node) + source->offset);
}

uint32_t
lw_source_last_line(const lw_ast *ast, const lw_source *source)
{
    return (uint32_t)((int32_t)lw_ast_number(source->node, ast->end_lineno) + source->offset);
}

/* ---- attempts ---- */

/* Lines first … last (from 1) with `before` in front and the end of a line behind. */
static PyObject *
join_lines(PyObject *lines, long first, long last, const char *before)
{
    PyObject *part = PyList_GetSlice(lines, first - 1, last);
    PyObject *text = lw_joined("", part);
    PyObject *whole = text ? PyUnicode_FromFormat("%s%U\n", before, text) : NULL;

    Py_XDECREF(part);
    Py_XDECREF(text);
    return whole;
}

/* Parse `text` (its reference is stolen; NULL passes an exception on) and look for the function
 * in it. */
static lw_source_result
attempt(lw_finder *f, PyObject *lines, PyObject *text, int32_t offset, bool is_whole_file,
        lw_source *out)
{
    PyObject *module = lw_finder_parse(f, text), *node;
    bool failed = false;

    Py_XDECREF(text);
    if (module == NULL)
        return lw_finder_cleared(f) ? LW_SOURCE_CHANGED : LW_SOURCE_FAILED;
    if (PyList_SetSlice(f->candidates, 0, PyList_GET_SIZE(f->candidates), NULL) < 0 ||
        lw_finder_collect(f, module) < 0 ||
        (is_whole_file && lw_finder_imports(f, module) < 0)) {
        Py_DECREF(module);
        return lw_finder_cleared(f) ? LW_SOURCE_CHANGED : LW_SOURCE_FAILED;
    }
    node = lw_finder_choose(f, offset, &failed);
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

/* Move the end past the next `)`, because positions leave out the parentheses around a body. */
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
attempt_lambda(lw_finder *f, PyObject *lines, lw_source *out)
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
attempt_lines(lw_finder *f, PyObject *lines, long last, lw_source *out)
{
    const char *line = line_text(lines, f->first_line);
    bool indented = *line == ' ' || *line == '\t';

    return attempt(f, lines, join_lines(lines, f->first_line, last, indented ? "if 1:\n" : ""),
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
block_end(const lw_finder *f, PyObject *lines, long last)
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

/* Blocks of a file that are compiled one by one, as sphinx-gallery does: the compiler saw the
 * imports of none of the others. */
static lw_source_result
attempt_apart(lw_finder *f, PyObject *lines, long last, lw_source *out)
{
    PyObject *seen = f->imports;
    lw_source_result result;

    f->imports = PyUnicode_FromString("");
    result = f->imports ? attempt_lines(f, lines, last, out) : LW_SOURCE_FAILED;
    Py_XDECREF(f->imports);
    f->imports = seen;
    return result;
}

static lw_source_result
attempt_all(lw_finder *f, PyObject *lines, lw_source *out)
{
    lw_source_result result = LW_SOURCE_CHANGED;
    lw_code_span span;
    long block = 0;

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
        result =
            attempt(f, lines, join_lines(lines, 1, PyList_GET_SIZE(lines), ""), 0, true, out);
    if (result == LW_SOURCE_CHANGED && block > 0)
        result = attempt_apart(f, lines, block, out);
    return result;
}

/* ---- where lines come from ---- */

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
get_lines(const lw_finder *f, bool refresh)
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

/* Whether the function may begin in this line of the prompt's. */
static bool
may_begin(const lw_finder *f, PyObject *line)
{
    const char *text = PyUnicode_AsUTF8(line);

    if (text == NULL) {
        lw_read_clear();
        return false;
    }
    return f->is_lambda ? strstr(text, "lambda") != NULL
                        : strstr(text, "def ") != NULL || strchr(text, '@') != NULL;
}

/* Each statement at a prompt begins with line 1: what was typed is tried from wherever the
 * function may begin, the newest first. */
static lw_source_result
find_at_prompt(lw_finder *f, lw_source_result result, lw_source *out)
{
    enum { MOST_TRIES = 64 };
    PyObject *typed = lw_typed_lines(f->filename), *lines;
    Py_ssize_t n = typed ? PyList_GET_SIZE(typed) : 0;

    if (typed == NULL)
        return LW_SOURCE_FAILED;
    for (int tries = 0; n > 0 && tries < MOST_TRIES && result != LW_SOURCE_FOUND; n--) {
        Py_ssize_t start = n - f->first_line;
        if (start < 0 || !may_begin(f, PyList_GET_ITEM(typed, n - 1)))
            continue;
        lines = PyList_GetSlice(typed, start, PyList_GET_SIZE(typed));
        result = lines ? attempt_all(f, lines, out) : LW_SOURCE_FAILED;
        Py_XDECREF(lines);
        if (result == LW_SOURCE_FAILED)
            break;
        tries++;
    }
    Py_DECREF(typed);
    return result;
}

static lw_source_result
try_texts(lw_finder *f, PyObject *texts, lw_source_result result, lw_source *out)
{
    Py_ssize_t n = texts && PyList_Check(texts) ? PyList_GET_SIZE(texts) : 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *lines =
            PyObject_CallMethod(PyList_GET_ITEM(texts, i), "splitlines", "O", Py_True);
        lw_source_result found = lines ? attempt_all(f, lines, out) : LW_SOURCE_FAILED;
        Py_XDECREF(lines);
        if (found == LW_SOURCE_FOUND || found == LW_SOURCE_FAILED)
            return found;
    }
    return result;
}

/* Finds the text of a function that exec made, whatever file it names, or whose file has
 * changed since. The caller of exec has the text in a variable, if it still runs. Otherwise the
 * text is made from the bytecode, where that is simple. */
static lw_source_result
find_made(lw_finder *f, lw_source_result result, lw_source *out)
{
    bool is_made = PyUnicode_CompareWithASCIIString(f->filename, "<stdin>") != 0;
    PyObject *texts = is_made ? lw_frame_texts(f->name, f->is_lambda) : PyList_New(0);

    if (texts == NULL)
        return LW_SOURCE_FAILED;
    result = try_texts(f, texts, result, out);
    Py_DECREF(texts);
    if (!is_made || result == LW_SOURCE_FOUND || result == LW_SOURCE_FAILED ||
        lw_service_name(LW_SERVICE_RECONSTRUCTED) == NULL)
        return result;
    texts = lw_service_call(LW_SERVICE_RECONSTRUCTED, "texts_of", f->code, NULL, 0, NULL);
    if (texts == NULL)
        lw_read_clear();
    else
        result = try_texts(f, texts, result, out);
    Py_XDECREF(texts);
    return result;
}

static lw_source_result
find_in_cache(lw_finder *f, lw_source *out)
{
    lw_source_result result = LW_SOURCE_NONE;

    for (int refresh = 0; refresh < 2; refresh++) {
        PyObject *lines = get_lines(f, refresh);
        if (lines != NULL && PyList_GET_SIZE(lines) == 0)
            Py_SETREF(lines, lw_kept_lines(f->filename));
        if (lines == NULL)
            return LW_SOURCE_FAILED;
        if (PyList_GET_SIZE(lines) > 0)
            result = attempt_all(f, lines, out);
        Py_DECREF(lines);
        if (result == LW_SOURCE_FOUND || result == LW_SOURCE_FAILED)
            break;
    }
    if (result != LW_SOURCE_FOUND && result != LW_SOURCE_FAILED)
        result = find_at_prompt(f, result, out);
    if (result != LW_SOURCE_FOUND && result != LW_SOURCE_FAILED)
        result = find_made(f, result, out);
    if (result == LW_SOURCE_CHANGED && f->no_memory) {
        PyErr_NoMemory();
        return LW_SOURCE_FAILED;
    }
    if (result == LW_SOURCE_CHANGED && f->too_deep) {
        PyErr_SetString(PyExc_RecursionError, "the function is nested too deeply to be read");
        return LW_SOURCE_FAILED;
    }
    if (result == LW_SOURCE_CHANGED && lw_kept_name(f->filename))
        result = LW_SOURCE_NONE; /* from exec: the text that was searched is another one */
    return result;
}

/* ---- source= ---- */

/* The caller vouches for the text: a function of the right name is accepted when none can be
 * verified. */
static PyObject *
choose_given(lw_finder *f, bool *failed)
{
    PyObject *node = lw_finder_choose(f, 0, failed);

    if (node == NULL && !*failed && PyList_GET_SIZE(f->candidates) == 1)
        node = PyList_GET_ITEM(f->candidates, 0);
    return node;
}

static lw_source_result
find_in_text(lw_finder *f, PyObject *text, lw_source *out)
{
    Py_ssize_t n_bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    bool indented = utf8 && (*utf8 == ' ' || *utf8 == '\t'), failed = false;
    PyObject *wrapped =
        utf8 ? PyUnicode_FromFormat(indented ? "if 1:\n%U\n" : "%U\n", text) : NULL;
    PyObject *module = lw_finder_parse(f, wrapped), *node;

    Py_XDECREF(wrapped);
    if (utf8 != NULL && strlen(utf8) != (size_t)n_bytes) {
        Py_CLEAR(module);
        PyErr_SetString(PyExc_ValueError, "source= must not hold null characters");
    }
    if (module == NULL)
        return LW_SOURCE_FAILED; /* a SyntaxError in the caller's text is shown to the caller */
    if (lw_finder_collect(f, module) < 0) {
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

/* ---- entry point ---- */

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
finder_init(lw_finder *f, const lw_ast *ast, PyObject *function)
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
    f->is_own = lw_comes_from(function, "lanewise");
    f->is_rewritten = PyDict_GetItemString(f->globals, "@pytest_ar") != NULL;
    return f->class_name && f->candidates ? lw_finder_imports(f, NULL) : -1;
}

static void
finder_reset(lw_finder *f)
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
    lw_finder f;

    memset(out, 0, sizeof *out);
    if (finder_init(&f, ast, function) == 0)
        result = text != NULL ? find_in_text(&f, text, out) : find_in_cache(&f, out);
    finder_reset(&f);
    return result;
}
