#include "core/py/windows/debug_py.h"

#include "core/base/memory.h"
#include "core/front/read/python.h"
#include "core/front/signature.h"
#include "core/py/numpy/host_calls.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"

static PyObject *
dump_tree(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "source", NULL};
    PyObject *function, *source = NULL, *result;
    lw_tree *tree = NULL;
    lw_error err = {0};
    lw_text text;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:_dump_tree", names, &function, &source))
        return NULL;
    if (lw_read_function(function, source, &tree, NULL, &err) != LW_OK)
        return lw_py_raise(&err);
    lw_text_init(&text);
    lw_tree_print(tree, &text);
    result = lw_text_take(&text);
    lw_tree_free(tree);
    return result;
}

static void
free_captures(PyObject *capsule)
{
    lw_captures_free(PyCapsule_GetPointer(capsule, "lw_captures"));
}

static PyObject *
captures_of(PyObject *module, PyObject *function)
{
    lw_captures *captures = NULL;
    PyObject *capsule;
    lw_tree *tree = NULL;
    lw_error err = {0};

    (void)module;
    if (lw_read_function(function, NULL, &tree, &captures, &err) != LW_OK)
        return lw_py_raise(&err);
    lw_tree_free(tree);
    capsule = PyCapsule_New(captures, "lw_captures", free_captures);
    if (capsule == NULL)
        lw_captures_free(captures);
    return capsule;
}

static PyObject *
captures_changed(PyObject *module, PyObject *capsule)
{
    lw_captures *captures = PyCapsule_GetPointer(capsule, "lw_captures");

    (void)module;
    return captures ? PyBool_FromLong(lw_captures_changed(captures)) : NULL;
}

static const char *
utf8_of(PyObject *object)
{
    if (PyUnicode_Check(object))
        return PyUnicode_AsUTF8(object);
    PyErr_Format(PyExc_TypeError, "a signature must be a str here, not %.200s",
                 Py_TYPE(object)->tp_name);
    return NULL;
}

/* Parse each; check that they are scalar; sort; the canonical spellings. */
static int
parse_all(PyObject *list, lw_arena *arena, lw_signature_list *out, lw_error *err)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        const char *utf8 = utf8_of(PyList_GET_ITEM(list, i));
        lw_signature *slot = utf8 ? lw_array_push(out, arena) : NULL;
        if (utf8 == NULL)
            return -1;
        if (slot == NULL) {
            lw_fail_memory(err);
            return -1;
        }
        if (lw_signature_parse(utf8, arena, slot, err) != LW_OK ||
            lw_signature_check_scalar(slot, err) != LW_OK)
            return -1;
        slot->given = (uint32_t)i;
    }
    return lw_signatures_sort(out->data, out->n, false, err) == LW_OK ? 0 : -1;
}

static PyObject *
spellings(const lw_signature_list *signatures)
{
    PyObject *result = PyList_New(0);

    for (uint32_t i = 0; result && i < signatures->n; i++) {
        lw_text text;
        PyObject *item;
        lw_text_init(&text);
        lw_signature_print(&signatures->data[i], &text);
        item = lw_text_take(&text);
        if (item == NULL || PyList_Append(result, item) < 0)
            Py_CLEAR(result);
        Py_XDECREF(item);
    }
    return result;
}

static PyObject *
sort_signatures(PyObject *module, PyObject *list)
{
    lw_signature_list signatures = {0};
    PyObject *result = NULL;
    lw_error err = {0};
    lw_arena arena;

    (void)module;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list of signatures");
        return NULL;
    }
    lw_arena_init(&arena);
    if (parse_all(list, &arena, &signatures, &err) == 0)
        result = spellings(&signatures);
    else if (err.status != LW_OK)
        lw_py_raise(&err);
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
parse_signature(PyObject *module, PyObject *text)
{
    const char *utf8 = utf8_of(text);
    lw_signature signature;
    lw_signature_list list = {.data = &signature, .n = 1};
    PyObject *all, *result = NULL;
    lw_error err = {0};
    lw_arena arena;

    (void)module;
    if (utf8 == NULL)
        return NULL;
    lw_arena_init(&arena);
    if (lw_signature_parse(utf8, &arena, &signature, &err) != LW_OK) {
        lw_py_raise(&err);
    } else {
        all = spellings(&list);
        result = all ? Py_NewRef(PyList_GET_ITEM(all, 0)) : NULL;
        Py_XDECREF(all);
    }
    lw_arena_reset(&arena);
    return result;
}

static PyObject *
memory_live(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(lw_memory_live());
}

/* Fail the n-th allocation from now, once; whether the one asked for before is still to come.
 */
static PyObject *
memory_fail_at(PyObject *module, PyObject *number)
{
    long long n = PyLong_AsLongLong(number);

    (void)module;
    if (n == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(lw_memory_fail_at(n) >= 0);
}

static PyObject *
direct_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLongLong(lw_direct_calls());
}

static PyMethodDef functions[] = {
    {"_dump_tree", (PyCFunction)(void (*)(void))dump_tree, METH_VARARGS | METH_KEYWORDS, NULL},
    {"_captures", captures_of, METH_O, NULL},
    {"_captures_changed", captures_changed, METH_O, NULL},
    {"_parse_signature", parse_signature, METH_O, NULL},
    {"_sort_signatures", sort_signatures, METH_O, NULL},
    {"_memory_live", memory_live, METH_NOARGS, NULL},
    {"_direct_calls", direct_calls, METH_NOARGS, NULL},
    {"_memory_fail_at", memory_fail_at, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_debug_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
