#include "core/front/read/ast.h"

#include <assert.h>
#include <string.h>

static const char *const kind_names[LW_N_AST_KINDS] = {[LW_AST_UNKNOWN] = "?",
#define KIND(name) [LW_AST_##name] = #name,
                                                       LW_AST_KINDS(KIND)
#undef KIND
};

_Static_assert(LW_N_AST_KINDS * 2 < LW_AST_SLOTS, "the hash must stay half empty");

static uint32_t
slot_of(const PyTypeObject *type)
{
    uintptr_t bits = (uintptr_t)type >> 4;

    return (uint32_t)((bits * 0x9E3779B97F4A7C15u) >> 56) & (LW_AST_SLOTS - 1);
}

static void
add_kind(lw_ast *ast, PyTypeObject *type, lw_ast_kind kind)
{
    uint32_t i = slot_of(type);

    while (ast->slots[i].type != NULL)
        i = (i + 1) & (LW_AST_SLOTS - 1);
    ast->slots[i].type = type;
    ast->slots[i].kind = kind;
}

lw_ast_kind
lw_ast_kind_of(const lw_ast *ast, PyObject *node)
{
    const PyTypeObject *type = Py_TYPE(node);

    for (uint32_t i = slot_of(type); ast->slots[i].type; i = (i + 1) & (LW_AST_SLOTS - 1))
        if (ast->slots[i].type == type)
            return ast->slots[i].kind;
    return LW_AST_UNKNOWN;
}

int
lw_ast_init(lw_ast *ast)
{
    memset(ast, 0, sizeof *ast);
#define FIELD(field)                                                                           \
    ast->field = PyUnicode_InternFromString(#field);                                           \
    if (ast->field == NULL)                                                                    \
        return -1;
    LW_AST_FIELDS(FIELD)
#undef FIELD
    ast->module = PyImport_ImportModule("_ast");
    if (ast->module == NULL)
        return -1;
    ast->base = PyObject_GetAttrString(ast->module, "AST");
    if (ast->base == NULL)
        return -1;
    for (int kind = 1; kind < LW_N_AST_KINDS; kind++) {
        PyObject *type = PyObject_GetAttrString(ast->module, kind_names[kind]);
        if (type == NULL) { /* this version of Python has no such syntax */
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                return -1;
            PyErr_Clear();
            continue;
        }
        add_kind(ast, (PyTypeObject *)type, (lw_ast_kind)kind);
        Py_DECREF(type);
    }
    return 0;
}

void
lw_ast_reset(lw_ast *ast)
{
#define FIELD(field) Py_CLEAR(ast->field);
    LW_AST_FIELDS(FIELD)
#undef FIELD
    Py_CLEAR(ast->base);
    Py_CLEAR(ast->module);
}

static _Thread_local bool lost_memory_error;
static _Thread_local PyObject *lost_interrupt;

/* Takes the exception that is set. */
static void
keep_interrupt(void)
{
    PyObject *type, *traceback;

    PyErr_Fetch(&type, &lost_interrupt, &traceback);
    PyErr_NormalizeException(&type, &lost_interrupt, &traceback);
    if (lost_interrupt != NULL && traceback != NULL)
        PyException_SetTraceback(lost_interrupt, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

void
lw_read_clear(void)
{
    if (PyErr_Occurred()) {
        lost_memory_error |= PyErr_ExceptionMatches(PyExc_MemoryError);
        if (lost_interrupt == NULL && !PyErr_ExceptionMatches(PyExc_Exception))
            keep_interrupt();
    }
    PyErr_Clear();
}

bool
lw_read_lost_interrupt(void)
{
    PyObject *lost = lost_interrupt;

    if (lost == NULL)
        return false;
    lost_interrupt = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(lost), lost);
    Py_DECREF(lost);
    return true;
}

bool
lw_read_lost_memory(void)
{
    bool lost = lost_memory_error;

    lost_memory_error = false;
    return lost;
}

PyObject *
lw_ast_get(PyObject *node, PyObject *field)
{
    assert(node != NULL);
    PyObject *value;

    if (PyErr_Occurred()) /* reading has failed, and looking a name up could clear the exception
                           */
        return NULL;
    value = PyObject_GetAttr(node, field);
    if (value == NULL) {
        lw_read_clear();
        return NULL;
    }
    Py_DECREF(value); /* the node still owns it */
    return value == Py_None ? NULL : value;
}

Py_ssize_t
lw_ast_list(PyObject *node, PyObject *field, PyObject **list)
{
    *list = lw_ast_get(node, field);
    if (*list != NULL && !PyList_CheckExact(*list))
        *list = NULL;
    return *list ? PyList_GET_SIZE(*list) : 0;
}

uint32_t
lw_ast_number(PyObject *node, PyObject *field)
{
    PyObject *value = lw_ast_get(node, field);
    long number = value != NULL && PyLong_Check(value) ? PyLong_AsLong(value) : 0;

    if (number == -1 && PyErr_Occurred())
        lw_read_clear();
    return number < 0 ? 0 : (uint32_t)number;
}

/* Appends the nodes and the lists of nodes in a node's fields, or the items of a list. -1:
 * exception. */
static int
push_children(const lw_ast *ast, PyObject *node, PyObject *left)
{
    PyObject *fields, *child;

    if (PyList_CheckExact(node)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(node); i++)
            if (PyList_Append(left, PyList_GET_ITEM(node, i)) < 0)
                return -1;
        return 0;
    }
    if (!PyObject_TypeCheck(node, (PyTypeObject *)ast->base))
        return 0;
    fields = lw_ast_get((PyObject *)Py_TYPE(node), ast->_fields);
    for (Py_ssize_t i = 0; fields && i < PyTuple_GET_SIZE(fields); i++) {
        child = lw_ast_get(node, PyTuple_GET_ITEM(fields, i));
        if (child != NULL && PyList_Append(left, child) < 0)
            return -1;
    }
    return 0;
}

int
lw_ast_any(const lw_ast *ast, PyObject *root, bool (*holds)(const lw_ast *ast, PyObject *node))
{
    PyObject *left = PyList_New(0), *node; /* a list of what is left: expressions may be deep */
    Py_ssize_t n;
    int found = left && PyList_Append(left, root) == 0 ? 0 : -1;

    while (found == 0 && (n = PyList_GET_SIZE(left)) > 0) {
        node = Py_NewRef(PyList_GET_ITEM(left, n - 1));
        if (PyList_SetSlice(left, n - 1, n, NULL) < 0)
            found = -1;
        else if (holds(ast, node))
            found = 1;
        else
            found = push_children(ast, node, left);
        Py_DECREF(node);
    }
    Py_XDECREF(left);
    return found;
}

/* Before 3.13 Python has one counter of the depth of all trees that are being made, and raises
 * a SystemError where two threads make them at the same time (cpython issue 106905). */
PyObject *
lw_ast_parse(const char *text, const char *filename, int start, int flags)
{
    PyCompilerFlags all = {.cf_flags = PyCF_ONLY_AST | flags,
                           .cf_feature_version = PY_MINOR_VERSION};
    PyObject *tree = Py_CompileStringExFlags(text, filename, start, &all, -1);

    for (int tries = 0;
         tree == NULL && tries < 100 && PyErr_ExceptionMatches(PyExc_SystemError); tries++) {
        PyErr_Clear();
        tree = Py_CompileStringExFlags(text, filename, start, &all, -1);
    }
    return tree;
}
