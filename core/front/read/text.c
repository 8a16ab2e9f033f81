/* The text of a function, as `source=` accepts it and as pickles store it: cut out of the
 * lines that source.c verified, without decorators and common indentation. */
#include "core/front/read/python.h"
#include "core/front/read/source.h"

#include <string.h>

/* Lines first … last (from 1), from byte `col` of the first to `end_col` of the last; new str.
 */
static PyObject *
cut_text(PyObject *lines, uint32_t first, uint32_t last, uint32_t col, uint32_t end_col)
{
    PyObject *result = NULL;
    lw_text text;

    lw_text_init(&text);
    for (uint32_t i = first; i <= last && i <= (uint32_t)PyList_GET_SIZE(lines); i++) {
        const char *line = PyUnicode_AsUTF8(PyList_GET_ITEM(lines, i - 1));
        size_t from = i == first ? col : 0, to = line ? strlen(line) : 0;
        lw_read_clear();
        if (i == last && end_col < to)
            to = end_col;
        if (from < to)
            lw_text_add_n(&text, line + from, to - from);
    }
    if (text.failed)
        PyErr_NoMemory();
    else
        result = PyUnicode_DecodeUTF8(lw_text_get(&text), (Py_ssize_t)text.n, "strict");
    lw_text_reset(&text);
    return result;
}

/* Remove `indent` bytes from each line. NULL without an exception when a line has less
 * indentation (a docstring at the margin): then the indentation must stay. */
static PyObject *
dedented(PyObject *text, size_t indent)
{
    const char *p = PyUnicode_AsUTF8(text);
    PyObject *result = NULL;
    lw_text out;

    lw_text_init(&out);
    while (p != NULL && *p) {
        size_t length = strcspn(p, "\n"), blank = strspn(p, " \t\r\f");
        if (blank < length && blank < indent)
            break;
        if (blank < length)
            lw_text_add_n(&out, p + indent, length - indent);
        lw_text_add(&out, "\n");
        p += length + (p[length] == '\n');
    }
    if (p != NULL && *p == '\0' && !out.failed)
        result = PyUnicode_DecodeUTF8(lw_text_get(&out), (Py_ssize_t)out.n, "strict");
    lw_text_reset(&out);
    return result;
}

static PyObject *
lambda_text(const lw_ast *ast, const lw_source *source)
{
    PyObject *text;
    uint32_t first =
        (uint32_t)((int32_t)lw_ast_number(source->node, ast->lineno) + source->offset);

    text = cut_text(source->lines, first, lw_source_last_line(ast, source),
                    lw_ast_number(source->node, ast->col_offset),
                    lw_ast_number(source->node, ast->end_col_offset));
    if (text != NULL && PyUnicode_FindChar(text, '\n', 0, PyUnicode_GET_LENGTH(text), 1) >= 0)
        Py_SETREF(text, PyUnicode_FromFormat("(%U)", text));
    return text;
}

static PyObject *
def_text(const lw_ast *ast, const lw_source *source)
{
    uint32_t first =
        (uint32_t)((int32_t)lw_ast_number(source->node, ast->lineno) + source->offset);
    uint32_t indent = lw_ast_number(source->node, ast->col_offset);
    PyObject *text, *flush;

    text = cut_text(source->lines, first, lw_source_last_line(ast, source), 0, UINT32_MAX);
    if (text == NULL || indent == 0)
        return text;
    flush = dedented(text, indent);
    if (flush == NULL && !PyErr_Occurred())
        flush = PyUnicode_FromFormat("if 1:\n%U", text);
    Py_DECREF(text);
    return flush;
}

PyObject *
lw_read_source_text(PyObject *object)
{
    PyObject *function = lw_python_function(object), *text = NULL;
    lw_source source = {0};
    lw_source_result result = LW_SOURCE_FAILED;
    lw_ast ast;

    if (function == NULL)
        return NULL;
    if (lw_ast_init(&ast) == 0)
        result = lw_source_find(&ast, function, NULL, &source);
    if (result == LW_SOURCE_FOUND)
        text = lw_ast_kind_of(&ast, source.node) == LW_AST_Lambda ? lambda_text(&ast, &source)
                                                                  : def_text(&ast, &source);
    else if (result != LW_SOURCE_FAILED)
        PyErr_Format(PyExc_OSError, "%s: the source of `%.200U` %s",
                     result == LW_SOURCE_CHANGED ? "E171" : "E170",
                     ((PyFunctionObject *)function)->func_qualname,
                     result == LW_SOURCE_CHANGED ? "changed on disk since it was imported"
                                                 : "cannot be found");
    lw_source_reset(&source);
    lw_ast_reset(&ast);
    Py_DECREF(function);
    return text;
}
