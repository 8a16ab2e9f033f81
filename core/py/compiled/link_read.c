#include "core/py/compiled/link_read.h"

#include "core/base/memory.h"
#include "core/front/read/services.h"
#include "core/py/raise.h"
#include "core/py/text_py.h"
#include "core/py/types/signature_read.h"

#include <string.h>

/* ---- code ---- */

static const struct kind_row {
    const char *name;
    lw_link_kind kind;
} kinds[] = {{"ptx", LW_LINK_PTX},       {"cu", LW_LINK_CUDA},   {"cubin", LW_LINK_CUBIN},
             {"fatbin", LW_LINK_FATBIN}, {"a", LW_LINK_LIBRARY}, {"o", LW_LINK_OBJECT},
             {"ltoir", LW_LINK_LTOIR}};

/* Adds to the list what `link` names. */
static int
gather(PyObject *linkables, PyObject *link, PyObject *list)
{
    PyObject *codes = PyObject_CallOneArg(linkables, link);
    int result = codes ? PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, codes) : -1;

    Py_XDECREF(codes);
    return result;
}

/* A list of what link= names and, after it, of `more`. */
static PyObject *
gather_all(PyObject *link, PyObject *more)
{
    PyObject *list = PyList_New(0),
             *linkables = lw_service_find(LW_SERVICE_LINKING, "linkables");
    int result = list && linkables ? gather(linkables, link ? link : Py_None, list) : -1;

    if (result == 0 && more != NULL)
        result = PyList_SetSlice(list, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, more);
    Py_XDECREF(linkables);
    if (result < 0)
        Py_CLEAR(list);
    return list;
}

int
lw_link_check(PyObject *link)
{
    PyObject *codes = gather_all(link, NULL);

    Py_XDECREF(codes);
    return codes ? 0 : -1;
}

static int
read_kind(PyObject *object, lw_link_kind *out)
{
    PyObject *kind = PyObject_GetAttrString(object, "kind");

    *out = LW_LINK_ANY;
    for (size_t i = 0; kind && PyUnicode_Check(kind) && i < sizeof kinds / sizeof *kinds; i++)
        if (PyUnicode_CompareWithASCIIString(kind, kinds[i].name) == 0)
            *out = kinds[i].kind;
    Py_XDECREF(kind);
    if (kind != NULL && *out == LW_LINK_ANY)
        PyErr_Format(PyExc_TypeError,
                     "link=: %.200R cannot be linked: expected a path, or code in a class of "
                     "lanewise.cuda such as CUSource or PTXSource",
                     object);
    return *out == LW_LINK_ANY ? -1 : 0;
}

/* include_dirs= of CUDA C++, a tuple of str that the object keeps. */
static int
read_folders(PyObject *object, lw_link_code *out, lw_sha256 *sha)
{
    PyObject *folders = PyObject_GetAttrString(object, "_include_dirs");
    Py_ssize_t n = folders && PyTuple_Check(folders) ? PyTuple_GET_SIZE(folders) : 0;
    int result = folders ? 0 : -1;

    if (n > 0 && (out->folders = lw_alloc_zero((size_t)n, sizeof *out->folders)) == NULL) {
        PyErr_NoMemory();
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < n; i++) {
        out->folders[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(folders, i));
        result = out->folders[i] ? 0 : -1;
        if (result == 0)
            lw_sha256_add_text(sha, out->folders[i]);
    }
    out->n_folders = (uint32_t)n;
    Py_XDECREF(folders);
    return result;
}

static int
read_nrt(PyObject *object, lw_link_code *out)
{
    PyObject *nrt = PyObject_GetAttrString(object, "_nrt");
    int result = nrt ? PyObject_IsTrue(nrt) : -1;

    out->nrt = result == 1;
    Py_XDECREF(nrt);
    return result < 0 ? -1 : 0;
}

/* The object keeps its data and name: what is read here points into them. */
static int
read_code(PyObject *object, lw_link_code *out)
{
    PyObject *data = PyObject_GetAttrString(object, "_data");
    PyObject *name = data ? PyObject_GetAttrString(object, "_name") : NULL;
    lw_sha256 sha;
    int result = -1;

    if (name != NULL && PyBytes_Check(data) && PyUnicode_Check(name) &&
        read_kind(object, &out->input.kind) == 0 && read_nrt(object, out) == 0) {
        out->input.data = PyBytes_AS_STRING(data);
        out->input.n = (size_t)PyBytes_GET_SIZE(data);
        out->input.name = PyUnicode_AsUTF8(name);
        lw_sha256_init(&sha);
        lw_sha256_add(&sha, out->input.data, out->input.n);
        result = out->input.name ? read_folders(object, out, &sha) : -1;
        out->id = lw_sha256_finish(&sha);
    } else if (name != NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "link=: %.200R is not a LinkableCode", object);
    }
    Py_XDECREF(data);
    Py_XDECREF(name);
    return result;
}

/* Whether the set has equal code, which then offers what either of them asks for. */
static bool
is_known(lw_link_set *set, const lw_link_code *code)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].input.kind == code->input.kind &&
            memcmp(&set->items[i].id, &code->id, sizeof code->id) == 0) {
            set->items[i].nrt |= code->nrt;
            return true;
        }
    return false;
}

int
lw_link_set_read(lw_link_set *set, PyObject *link, PyObject *more)
{
    PyObject *list;
    Py_ssize_t n;

    if ((link == NULL || link == Py_None) && more == NULL)
        return 0;
    list = gather_all(link, more);
    n = list ? PyList_GET_SIZE(list) : -1;
    set->objects = n > 0 ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    if (n <= 0)
        return n < 0 ? -1 : 0;
    set->items = set->objects ? lw_alloc_zero((size_t)n, sizeof *set->items) : NULL;
    if (set->objects != NULL && set->items == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; set->items != NULL && i < n; i++) {
        lw_link_code *item = &set->items[set->n];
        if (read_code(PyTuple_GET_ITEM(set->objects, i), item) < 0) {
            lw_free(item->folders);
            lw_link_set_reset(set);
            return -1;
        }
        if (is_known(set, item)) {
            lw_free(item->folders);
            *item = (lw_link_code){0};
        } else {
            set->n++;
        }
    }
    return set->items ? 0 : (lw_link_set_reset(set), -1);
}

void
lw_link_set_reset(lw_link_set *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        lw_free(set->items[i].folders);
    set->n = 0;
    lw_free(set->items);
    set->items = NULL;
    Py_CLEAR(set->objects);
}

/* ---- signatures ---- */

static PyObject *
text_of(const lw_signature *signature, bool c_abi)
{
    lw_error err = {0};
    lw_text text;

    if (signature->result.kind == LW_SIG_NONE)
        return PyErr_Format(PyExc_TypeError,
                            "Return type is missing: sig must name the type of the result too: "
                            "\"void%s\" for none",
                            signature->text);
    if (lw_signature_check_device(signature, c_abi, &err) != LW_OK)
        return lw_py_raise(&err);
    lw_text_init(&text);
    lw_signature_print(signature, &text);
    return lw_text_take(&text);
}

static PyObject *
device_signature(PyObject *module, PyObject *args)
{
    lw_signature_list list = {0};
    PyObject *sig, *result = NULL;
    lw_arena arena;
    int c_abi;

    (void)module;
    if (!PyArg_ParseTuple(args, "Op:_device_signature", &sig, &c_abi))
        return NULL;
    lw_arena_init(&arena);
    if (lw_signatures_read(sig, false, &arena, &list) == 0) {
        if (list.n == 1)
            result = text_of(&list.data[0], c_abi);
        else
            PyErr_Format(PyExc_TypeError, "sig must be one signature, not %.200R", sig);
    }
    lw_arena_reset(&arena);
    return result;
}

/* ---- CUDA C++ by itself ---- */

static PyObject *
compile_source(PyObject *Py_UNUSED(module), PyObject *args)
{
    lw_build_options options = {.opt = true};
    PyObject *object, *result = NULL;
    lw_link_code code = {0};
    lw_bytes bytes = {0};
    int cc, ptx, lineinfo, fastmath;
    lw_error err = {0};
    lw_status status;

    if (!PyArg_ParseTuple(args, "Oippp:_compile_source", &object, &cc, &ptx, &lineinfo,
                          &fastmath))
        return NULL;
    if (read_code(object, &code) < 0)
        goto done;
    options.lineinfo = lineinfo;
    options.ftz = options.fast_div = fastmath;
    Py_BEGIN_ALLOW_THREADS
    status = lw_build_source(&code, cc, &options, ptx, &bytes, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        lw_py_raise(&err);
    else if (ptx)
        result = PyUnicode_FromString((const char *)bytes.data);
    else
        result = PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.n);
done:
    lw_bytes_reset(&bytes);
    lw_free(code.folders);
    return result;
}

static PyMethodDef methods[] = {
    {"_compile_source", compile_source, METH_VARARGS, NULL},
    {"_device_signature", device_signature, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_link_register(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
