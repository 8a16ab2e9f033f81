/* A candidate is compiled inside a stub that provides the names which the function sees, and
 * the result is compared with the function's code object: bytecode, names, constants, nested
 * code. */
#include "core/front/read/proof.h"

#include "core/front/read/ast.h"
#include "core/front/read/code.h"
#include "core/front/read/python.h"

uint32_t
lw_finder_first_line(const lw_ast *ast, PyObject *node)
{
    PyObject *decorators;

    if (lw_ast_list(node, ast->decorator_list, &decorators) > 0)
        return lw_ast_number(PyList_GET_ITEM(decorators, 0), ast->lineno);
    return lw_ast_number(node, ast->lineno);
}

/* ---- parsing ---- */

/* Warnings (an invalid escape, `is 1`) were already given when the module was compiled; between
 * quiet_begin and quiet_end they are not given again. NULL with an exception set. */
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

/* -1 with an exception, in place of the one that was set: a signal's handler may raise in the
 * Python code that this calls. */
static int
quiet_end(PyObject *guard)
{
    PyObject *type, *value, *trace, *left;

    PyErr_Fetch(&type, &value, &trace);
    left = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None);
    Py_DECREF(guard);
    if (left != NULL) {
        Py_DECREF(left);
        PyErr_Restore(type, value, trace);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

static PyObject *
parse(const lw_finder *f, const char *text)
{
    PyObject *guard = quiet_begin(), *tree;

    if (guard == NULL)
        return NULL;
    tree = lw_ast_parse(text, "<source>", Py_file_input, f->flags);
    if (quiet_end(guard) < 0)
        Py_CLEAR(tree);
    return tree;
}

bool
lw_finder_cleared(lw_finder *f)
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

PyObject *
lw_finder_parse(const lw_finder *f, PyObject *text)
{
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;

    return utf8 ? parse(f, utf8) : NULL;
}

/* ---- candidates and their proof ---- */

static bool
is_candidate(const lw_finder *f, PyObject *node)
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

int
lw_finder_collect(lw_finder *f, PyObject *node)
{
    PyObject *fields;
    int result = 0;

    if (PyList_CheckExact(node)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(node) && result == 0; i++)
            result = lw_finder_collect(f, PyList_GET_ITEM(node, i));
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
            result = lw_finder_collect(f, child);
    }
    Py_LeaveRecursiveCall();
    return result;
}

/* Since 3.11 the compiler writes different bytecode for a.b(…) when the module imports `a` at
 * its top level. Only the whole file says which names these are. For a part of the file they
 * are guessed: modules, and classes and functions of other modules. */
static bool
looks_imported(const lw_finder *f, PyObject *value)
{
    PyObject *own, *module;
    bool result;

    if (PyModule_Check(value) || lw_is_lazy_import(value))
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
guess_imports(const lw_finder *f, PyObject *code, PyObject *names)
{
    PyObject *used = PyObject_GetAttrString(code, "co_names");
    PyObject *consts = PyObject_GetAttrString(code, "co_consts");
    int result = used && consts ? 0 : -1;

    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(used); i++) {
        PyObject *name = PyTuple_GET_ITEM(used, i);
        PyObject *value = lw_dict_item(f->globals, name);
        if (value != NULL && PyUnicode_IsIdentifier(name) == 1 && looks_imported(f, value))
            result = PySet_Add(names, name);
        Py_XDECREF(value);
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

/* The names that the top level of a whole file imports, also below `if` and `try`. */
static int
find_imports(const lw_finder *f, PyObject *node, PyObject *names)
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
        return 0; /* other statements and expressions contain no import at this level */
    fields = lw_ast_get((PyObject *)Py_TYPE(node), f->ast->_fields);
    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(fields) && result == 0; i++) {
        PyObject *child = lw_ast_get(node, PyTuple_GET_ITEM(fields, i));
        if (child != NULL && PyList_CheckExact(child))
            result = find_imports(f, child, names);
    }
    return result;
}

int
lw_finder_imports(lw_finder *f, PyObject *module)
{
    PyObject *names = PySet_New(NULL), *joined = NULL;
    int result = -1;

    if (names != NULL)
        result = module ? find_imports(f, module, names) : guess_imports(f, f->code, names);
    if (result == 0)
        joined = lw_joined(", ", names);
    if (joined != NULL)
        Py_XSETREF(f->imports, PyUnicode_GET_LENGTH(joined)
                                   ? PyUnicode_FromFormat("import %U\n", joined)
                                   : PyUnicode_FromString(""));
    result = joined && f->imports ? 0 : -1;
    Py_XDECREF(names);
    Py_XDECREF(joined);
    return result;
}

/* A stub in which a candidate is compiled: its free variables are parameters of `_`, and the
 * class keeps the function's own name out of the scope (and mangles __private names as the real
 * class does). */
static PyObject *
stub_new(const lw_finder *f, PyObject **hole)
{
    PyObject *free_names = PyObject_GetAttrString(f->code, "co_freevars");
    PyObject *names = lw_joined(", ", free_names);
    PyObject *text = NULL, *stub = NULL, *body, *inner;
    Py_ssize_t n;
    int is_free = names ? PySequence_Contains(free_names, f->class_name) : -1;

    if (is_free >= 0)
        text = PyUnicode_FromFormat("%Udef _(%U):\n %s%U\n class %U:\n  0\n", f->imports, names,
                                    is_free == 1 ? "pass # " : "global ", f->class_name,
                                    f->class_name);
    if (text != NULL)
        stub = lw_finder_parse(f, text);
    n = stub ? lw_ast_list(stub, f->ast->body, &body) : 0;
    if (n > 0 && (n = lw_ast_list(PyList_GET_ITEM(body, n - 1), f->ast->body, &inner)) > 0)
        *hole = PyList_GET_ITEM(inner, n - 1); /* the ClassDef */
    Py_XDECREF(free_names);
    Py_XDECREF(names);
    Py_XDECREF(text);
    return stub;
}

static int
stub_fill(const lw_finder *f, PyObject *hole, PyObject *candidate)
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
compile_tree(const lw_finder *f, PyObject *tree)
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
code_in_stub(const lw_finder *f, PyObject *stub)
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
proves(lw_finder *f, PyObject *candidate)
{
    PyObject *hole = NULL, *stub = stub_new(f, &hole), *code = NULL, *own;
    int result = -1;

    if (stub != NULL && hole != NULL && stub_fill(f, hole, candidate) == 0)
        code = compile_tree(f, stub);
    if (code != NULL) {
        own = code_in_stub(f, code);
        result = own ? lw_code_equal(own, f->code) : PyErr_Occurred() ? -1 : 0;
    }
    if (result < 0 && PyErr_Occurred() && lw_finder_cleared(f))
        result = 0;
    else if (result < 0 && !PyErr_Occurred())
        result = 0;
    Py_XDECREF(code);
    Py_XDECREF(stub);
    return result;
}

/* Name and place have to be enough where pytest has compiled a test module with rewritten
 * asserts. They are enough for lanewise's own functions, of which a list reads a hundred: their
 * proofs would take half of the time to read them. */
static bool
looks_like(const lw_finder *f, PyObject *candidate, int32_t offset)
{
    return (f->is_rewritten || f->is_own) && !f->is_lambda &&
           (long)lw_finder_first_line(f->ast, candidate) + offset == f->first_line;
}

PyObject *
lw_finder_choose(lw_finder *f, int32_t offset, bool *failed)
{
    for (int pass = 0; pass < 2; pass++) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(f->candidates); i++) {
            PyObject *node = PyList_GET_ITEM(f->candidates, i);
            bool on_line = (long)lw_finder_first_line(f->ast, node) + offset == f->first_line;
            int result;
            if (on_line != (pass == 0))
                continue;
            result = f->is_own && looks_like(f, node, offset) ? 1 : proves(f, node);
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
