#include "core/py/compiled/decorate.h"

#include "core/base/env.h"
#include "core/front/read/services.h"
#include "core/py/compiled/in_python.h"
#include "core/py/host_cuda.h"

#include <string.h>

bool
lw_is_function(PyObject *object)
{
    if (PyFunction_Check(object) || PyMethod_Check(object) || PyCFunction_Check(object))
        return true;
    if (PyType_Check(object) || PyUnicode_Check(object))
        return false;
    return PyObject_HasAttrString(object, "py_func") ||
           PyObject_HasAttrString(object, "__wrapped__");
}

/* ---- the decorators ---- */

/* What cannot be compiled for its signatures, but run as plain Python: an object without them,
 * which keeps them for lanewise/_python_target.py. */
static PyObject *
make_for_python(const lw_compiled_door *door, PyTypeObject *type, const lw_request *request)
{
    lw_request bare = *request;
    PyObject *result;

    PyErr_Clear();
    bare.signatures = NULL;
    result = door->make(type, &bare);
    if (result != NULL && PyDict_SetItemString(((lw_compiled *)result)->dict,
                                               "_declared_signatures", request->signatures) < 0)
        Py_CLEAR(result);
    return result;
}

/* The keywords, with the setting `typing` if it is not the default: objects that are made anew
 * of them keep it when the setting has changed. Functions of the package have one typing. New
 * reference. */
static PyObject *
keywords_with_settings(const lw_request *request)
{
    const char *typing = lw_env_text(LW_ENV_typing);
    PyObject *keywords;

    if (*typing == '\0' || strcmp(typing, "weak") == 0 || lw_is_of_package(request->function))
        return request->keywords ? Py_NewRef(request->keywords) : PyDict_New();
    keywords = request->keywords ? PyDict_Copy(request->keywords) : PyDict_New();
    if (keywords != NULL && lw_keywords_set_typing(keywords, typing) < 0)
        Py_CLEAR(keywords);
    return keywords;
}

static PyObject *
make_of_type(const lw_compiled_door *door, PyObject *module, const lw_request *request)
{
    PyObject *type = PyObject_GetAttrString(module, lw_door_type(door->id)), *result = NULL;

    if (type != NULL)
        result = door->make((PyTypeObject *)type, request);
    if (type != NULL && result == NULL && request->signatures != NULL && lw_on_python() &&
        lw_only_compiling_failed())
        result = make_for_python(door, (PyTypeObject *)type, request);
    Py_XDECREF(type);
    return result;
}

/* The function, or one with the types of `locals=`. New reference. */
static PyObject *
function_with_locals(const lw_request *request)
{
    PyObject *types =
        request->keywords ? PyDict_GetItemString(request->keywords, "locals") : NULL;

    if (types == NULL || !PyDict_Check(types))
        return Py_NewRef(request->function);
    return lw_service_call(LW_SERVICE_LOCAL_TYPES, "with_types", request->function,
                           &request->keywords, 1, NULL);
}

static PyObject *
make(const lw_compiled_door *door, PyObject *module, const lw_request *request)
{
    lw_request full = *request;
    PyObject *keywords = keywords_with_settings(request), *result = NULL;

    full.function = keywords ? function_with_locals(request) : NULL;
    full.keywords = keywords;
    if (full.function != NULL)
        result = make_of_type(door, module, &full);
    Py_XDECREF(full.function);
    Py_XDECREF(keywords);
    return result;
}

/* state: (door, module, signatures, layout, keywords) */
static PyObject *
decorate(PyObject *state, PyObject *function)
{
    const lw_compiled_door *door = PyCapsule_GetPointer(PyTuple_GET_ITEM(state, 0), NULL);
    lw_request request = {.function = function,
                          .signatures = PyTuple_GET_ITEM(state, 2),
                          .layout = PyTuple_GET_ITEM(state, 3),
                          .keywords = PyTuple_GET_ITEM(state, 4)};

    return make(door, PyTuple_GET_ITEM(state, 1), &request);
}

static PyMethodDef decorate_def = {"decorate", decorate, METH_O,
                                   PyDoc_STR("compiles a function")};

PyObject *
lw_decorate(const lw_compiled_door *door, PyObject *module, const lw_request *request)
{
    PyObject *capsule, *state, *result = NULL;

    if (request->function != NULL)
        return make(door, module, request);
    if (door->check(request) < 0)
        return NULL;
    capsule = PyCapsule_New((void *)door, NULL, NULL);
    if (capsule == NULL)
        return NULL;
    state =
        PyTuple_Pack(5, capsule, module, request->signatures ? request->signatures : Py_None,
                     request->layout ? request->layout : Py_None, request->keywords);
    if (state != NULL)
        result = PyCFunction_New(&decorate_def, state);
    Py_XDECREF(state);
    Py_DECREF(capsule);
    return result;
}

PyObject *
lw_decorate_either(const lw_compiled_door *door, PyObject *module, const char *name,
                   PyObject *args, PyObject *kwargs)
{
    PyObject *keywords = kwargs ? PyDict_Copy(kwargs) : PyDict_New(), *given, *first;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *result = NULL;

    if (keywords == NULL)
        return NULL;
    given = Py_XNewRef(PyDict_GetItemString(keywords, name));
    first = n ? PyTuple_GET_ITEM(args, 0) : given;
    if (n + (given != NULL) > 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes one positional argument (a function or signatures), not %zd",
                     lw_door_name(door->id), n + (given != NULL));
    } else if (given == NULL || PyDict_DelItemString(keywords, name) == 0) {
        bool function = first != NULL && lw_is_function(first);
        result = lw_decorate(door, module,
                             &(lw_request){.function = function ? first : NULL,
                                           .signatures = function ? NULL : first,
                                           .keywords = keywords});
    }
    Py_XDECREF(given);
    Py_DECREF(keywords);
    return result;
}

/* ---- names ---- */

static int
copy_names(PyObject *function, PyObject *dict)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__"};
    int result = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && result == 0; i++) {
        PyObject *value = PyObject_GetAttrString(function, names[i]);
        if (value == NULL)
            return -1;
        result = PyDict_SetItemString(dict, names[i], value);
        Py_DECREF(value);
    }
    return result;
}

PyObject *
lw_wrapper_dict(PyObject *function)
{
    PyObject *own = PyObject_GetAttrString(function, "__dict__"), *dict;

    PyErr_Clear(); /* built-in functions have none */
    dict = own && PyDict_Check(own) ? PyDict_Copy(own) : PyDict_New();
    Py_XDECREF(own);
    if (dict != NULL && copy_names(function, dict) < 0)
        Py_CLEAR(dict);
    return dict;
}
