#include "core/py/compiled/settings_py.h"
#include "core/py/compiled/door_options.h"

#include "core/base/env_numba.h"
#include "core/device/driver.h"
#include "core/host/thread_pool.h"
#include "core/link/build.h"
#include "core/link/kernel_cache.h"
#include "core/link/nvjitlink.h"
#include "core/link/toolchain.h"
#include "core/py/raise.h"
#include "core/tables/intrinsics.h"
#include "core/tables/version.h"

#include <string.h>

static int
find(const char *field)
{
    for (int i = 0; i < LW_N_ENV; i++)
        if (strcmp(lw_env_rows[i].field, field) == 0)
            return i;
    PyErr_Format(PyExc_AttributeError, "lanewise.config has no setting '%.200s'", field);
    return -1;
}

/* How many threads of the CPU a loop can use, by the setting and by the machine. */
static PyObject *
host_threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLong((long)lw_host_threads());
}

static PyObject *
setting_rows(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *rows = PyList_New(0);

    for (int i = 0; rows != NULL && i < LW_N_ENV; i++) {
        const lw_env_row *row = &lw_env_rows[i];
        PyObject *item =
            Py_BuildValue("(sssss)", row->field, row->variable,
                          row->kind == LW_ENV_INT ? "int" : "str", row->fallback, row->doc);
        if (item == NULL || PyList_Append(rows, item) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(item);
    }
    return rows;
}

/* (variable, attribute, field, how, word) of each that is a setting of ours. */
static PyObject *
numba_rows(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *rows = PyList_New(0);

    for (const lw_numba_row *row = lw_numba_rows; rows != NULL && row->variable; row++) {
        PyObject *item = Py_BuildValue("(sssss)", row->variable, row->attribute,
                                       lw_env_rows[row->id].field, row->how_name, row->word);
        if (item == NULL || PyList_Append(rows, item) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(item);
    }
    return rows;
}

/* (attribute, value, whether any is kept, what there is instead) of the others. */
static PyObject *
numba_unlike_rows(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *rows = PyList_New(0);

    for (const lw_numba_unlike_row *row = lw_numba_unlike_rows; rows && row->variable; row++) {
        PyObject *item = Py_BuildValue("(ssOs)", row->attribute, row->value,
                                       row->kept ? Py_True : Py_False, row->instead);
        if (item == NULL || PyList_Append(rows, item) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(item);
    }
    return rows;
}

static PyObject *
check_words(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && lw_check_words[i] != NULL; i++) {
        PyObject *word = PyUnicode_FromString(lw_check_words[i]);
        if (word == NULL || PyList_Append(list, word) < 0)
            Py_CLEAR(list);
        Py_XDECREF(word);
    }
    return list;
}

/* By name of intrinsics.def: units in the last place on a GPU and on the host, each of float32
 * and float64; what is exact is left out. */
static PyObject *
error_bounds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict != NULL && i < LW_N_INTRINSICS; i++) {
        const lw_intrinsic_row *row = &lw_intrinsics[i];
        PyObject *bounds;
        if (row->ulp_gpu_f32 + row->ulp_gpu_f64 + row->ulp_host_f32 + row->ulp_host_f64 == 0)
            continue;
        bounds = Py_BuildValue("(iiii)", row->ulp_gpu_f32, row->ulp_gpu_f64, row->ulp_host_f32,
                               row->ulp_host_f64);
        if (bounds == NULL || PyDict_SetItemString(dict, row->name, bounds) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(bounds);
    }
    return dict;
}

static PyObject *
setting_get(PyObject *Py_UNUSED(module), PyObject *field)
{
    const char *name = PyUnicode_AsUTF8(field);
    int i = name ? find(name) : -1;

    if (i < 0)
        return NULL;
    if (lw_env_rows[i].kind == LW_ENV_INT)
        return PyLong_FromLongLong(lw_env_int((lw_env_id)i));
    return PyUnicode_DecodeFSDefault(lw_env_text((lw_env_id)i)); /* most are paths */
}

/* A path as the file system wants it; NULL with an exception. */
static PyObject *
encoded(const char *name, PyObject *value)
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(value);

    if (bytes != NULL && strlen(PyBytes_AS_STRING(bytes)) == (size_t)PyBytes_GET_SIZE(bytes))
        return bytes;
    if (bytes != NULL)
        PyErr_Format(PyExc_ValueError, "lanewise.config.%s must not hold a null character",
                     name);
    Py_XDECREF(bytes);
    return NULL;
}

static PyObject *
setting_set(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *value, *bytes = NULL;
    const char *name;
    bool good;
    int i;

    if (!PyArg_ParseTuple(args, "sO:_setting_set", &name, &value))
        return NULL;
    i = find(name);
    if (i < 0 || (value != Py_None && (bytes = encoded(name, value)) == NULL))
        return NULL;
    good = lw_env_set((lw_env_id)i, bytes ? PyBytes_AS_STRING(bytes) : NULL);
    Py_XDECREF(bytes);
    if (!good)
        return PyErr_Format(
            PyExc_ValueError,
            "lanewise.config.%s must be an integer from 0 to 2**63 - 1, not '%.100U'", name,
            value);
    Py_RETURN_NONE;
}

static PyObject *
path_text(const char *text)
{
    return text ? PyUnicode_DecodeFSDefault(text) : Py_NewRef(Py_None);
}

static PyObject *
cache_info(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_error err = {0};
    lw_cache_info info = {0};
    lw_status status;
    PyObject *result;

    Py_BEGIN_ALLOW_THREADS
    status = lw_cache_info_get(&info, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    result = Py_BuildValue(
        "{s:N,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "folder", path_text(info.folder),
        "problem", path_text(info.problem), "disk_entries",
        (unsigned long long)info.disk_entries, "disk_bytes",
        (unsigned long long)info.disk_bytes, "cap_bytes", (unsigned long long)info.cap_bytes,
        "memory_entries", (unsigned long long)info.memory_entries, "memory_bytes",
        (unsigned long long)info.memory_bytes, "memory_hits",
        (unsigned long long)info.memory_hits, "disk_hits", (unsigned long long)info.disk_hits,
        "compiled", (unsigned long long)info.made, "failed", (unsigned long long)info.failed);
    lw_cache_info_reset(&info);
    return result;
}

static PyObject *
cache_clear(PyObject *Py_UNUSED(module), PyObject *memory_only)
{
    lw_error err = {0};
    lw_status status = LW_OK;

    if (memory_only == Py_True) {
        lw_cache_forget_memory();
        Py_RETURN_NONE;
    }
    Py_BEGIN_ALLOW_THREADS
    status = lw_cache_clear(&err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

/* What a library says of itself, or why it does not; loads it. New reference. */
static PyObject *
library_version(lw_component component)
{
    lw_error err = {0};
    lw_text text = {0};
    lw_status status = LW_OK;
    int major = 0, minor = 0;
    PyObject *result;

    Py_BEGIN_ALLOW_THREADS
    if (component == LW_COMPONENT_NVVM)
        status = lw_nvvm_version(&text, &err);
    else if (component == LW_COMPONENT_NVJITLINK)
        status = lw_nvjitlink_version(&major, &minor, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        result = PyUnicode_FromFormat("does not load: %s", lw_error_text(&err));
    else if (component == LW_COMPONENT_NVVM)
        result = PyUnicode_FromString(lw_text_get(&text));
    else if (component == LW_COMPONENT_NVJITLINK)
        result = PyUnicode_FromFormat("%d.%d", major, minor);
    else
        result = PyUnicode_FromString("");
    lw_text_reset(&text);
    lw_error_reset(&err);
    return result;
}

/* {"libNVVM": (path or None, place or None, version), …, "tried": text} */
static PyObject *
toolchain_info(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    lw_error err = {0};
    lw_status status;
    const lw_toolchain *toolchain = NULL;
    PyObject *result;

    Py_BEGIN_ALLOW_THREADS
    status = lw_toolchain_get(&toolchain, &err);
    Py_END_ALLOW_THREADS
    if (status != LW_OK)
        return lw_py_raise(&err);
    result = Py_BuildValue("{s:N}", "tried", path_text(toolchain->tried));
    for (int i = 0; result != NULL && i < LW_N_COMPONENTS; i++) {
        const lw_found *found = &toolchain->found[i];
        PyObject *version = found->path ? library_version((lw_component)i) : Py_NewRef(Py_None);
        PyObject *pair =
            version ? Py_BuildValue("(NzN)", path_text(found->path), found->place, version)
                    : NULL;
        if (pair == NULL || PyDict_SetItemString(result, lw_component_names[i], pair) < 0)
            Py_CLEAR(result);
        Py_XDECREF(pair);
    }
    return result;
}

/* Of the loaded driver; 0 and "" before the first use. */
static PyObject *
driver_version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLong(lw_driver_version());
}

static PyObject *
driver_path(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyUnicode_DecodeFSDefault(lw_driver_path());
}

static PyMethodDef methods[] = {
    {"_driver_version", driver_version, METH_NOARGS, NULL},
    {"_driver_path", driver_path, METH_NOARGS, NULL},
    {"_settings", setting_rows, METH_NOARGS, NULL},
    {"_numba_settings", numba_rows, METH_NOARGS, NULL},
    {"_numba_unlike", numba_unlike_rows, METH_NOARGS, NULL},
    {"_checks", check_words, METH_NOARGS, NULL},
    {"_host_threads", host_threads, METH_NOARGS, NULL},
    {"_error_bounds", error_bounds, METH_NOARGS, NULL},
    {"_setting_get", setting_get, METH_O, NULL},
    {"_setting_set", setting_set, METH_VARARGS, NULL},
    {"_cache_info", cache_info, METH_NOARGS, NULL},
    {"_cache_clear", cache_clear, METH_O, NULL},
    {"_toolchain_info", toolchain_info, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int
lw_settings_register(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "__version__", LW_VERSION) < 0 ||
        PyModule_AddIntConstant(module, "_vector_bits", lw_host_vector_bits()) < 0)
        return -1;
    return PyModule_AddFunctions(module, methods);
}
