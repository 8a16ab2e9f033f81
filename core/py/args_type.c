/* What a type is, as operands go: asked once. */
#include "core/py/args_internal.h"

#include <string.h>

#define N_TYPES 64
static lw_args_row types[N_TYPES]; /* direct-mapped; a clash replaces */

bool
lw_args_type_has(PyTypeObject *type, const char *name)
{
    PyObject *attribute = PyObject_GetAttrString((PyObject *)type, name);
    bool has = attribute != NULL && attribute != Py_None;

    if (attribute == NULL)
        PyErr_Clear();
    Py_XDECREF(attribute);
    return has;
}

/* Is there a class of that name from that package among its bases? */
static bool
comes_from(PyTypeObject *type, const char *package, const char *name)
{
    size_t n = strlen(package);
    bool found = false;

    if (type->tp_mro == NULL)
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro) && !found; i++) {
        PyObject *base = PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *module = PyObject_GetAttrString(base, "__module__");
        const char *text =
            module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
        const char *own = strrchr(((PyTypeObject *)base)->tp_name, '.');

        own = own != NULL ? own + 1 : ((PyTypeObject *)base)->tp_name;
        found = text != NULL && strncmp(text, package, n) == 0 &&
                (text[n] == '\0' || text[n] == '.') && strcmp(own, name) == 0;
        Py_XDECREF(module);
    }
    PyErr_Clear();
    return found;
}

static lw_array_library
library_of(PyTypeObject *type)
{
    if (comes_from(type, "torch", "Tensor"))
        return LW_LIB_TORCH;
    if (comes_from(type, "cupy", "ndarray"))
        return LW_LIB_CUPY;
    if (comes_from(type, "numba", "DeviceNDArrayBase") ||
        comes_from(type, "numba", "DeviceNDArray"))
        return LW_LIB_NUMBA;
    if (comes_from(type, "jaxlib", "ArrayImpl") || comes_from(type, "jax", "Array"))
        return LW_LIB_JAX;
    return LW_LIB_OTHER;
}

static lw_args_row
classify(PyTypeObject *type)
{
    lw_args_row row = {.type = type, .class = LW_ARGS_PLAIN};

    if (type == &PyList_Type || type == &PyTuple_Type || type == &PyUnicode_Type ||
        type == &PyBytes_Type || type == Py_TYPE(Py_None) || type == &PyDict_Type) {
        row.class = LW_ARGS_NOTHING;
    } else if (PyType_IsSubtype(type, &PyGenericArrType_Type)) {
        row.class = LW_ARGS_SCALAR;
    } else if (PyType_IsSubtype(type, &PyArray_Type)) {
        row.class = lw_args_type_has(type, "__cuda_array_interface__") ? LW_ARGS_INTERFACE
                                                                       : LW_ARGS_HOST;
    } else {
        row.library = library_of(type);
        row.exchange = lw_dlpack_exchange(type);
        if (row.exchange != NULL)
            row.class = LW_ARGS_EXCHANGE;
        else if (row.library == LW_LIB_CUPY)
            row.class = LW_ARGS_CUPY;
        else if (lw_args_type_has(type, "__dlpack__") &&
                 lw_args_type_has(type, "__dlpack_device__"))
            row.class = LW_ARGS_DLPACK;
        else if (lw_args_type_has(type, "__cuda_array_interface__"))
            row.class = LW_ARGS_INTERFACE;
    }
    if (row.class == LW_ARGS_INTERFACE && row.library == LW_LIB_NONE)
        row.library = LW_LIB_OTHER;
    return row;
}

const lw_args_row *
lw_args_type(PyTypeObject *type)
{
    lw_args_row *row = &types[((uintptr_t)type >> 4) % N_TYPES];

    if (row->type != type) {
        lw_args_row fresh = classify(type); /* may run Python: the slot is taken afterwards */
        PyTypeObject *old = row->type;
        Py_INCREF(type);
        *row = fresh;
        Py_XDECREF(old);
    }
    return row;
}

/* ---- names looked up at every call: interned once ---- */

static PyObject *names[LW_N_ATTRS]; /* immortal as NumPy itself: one interpreter */

const char *
lw_args_name_text(lw_args_attr id)
{
    static const char *const texts[LW_N_ATTRS] = {
#define X(name) #name,
        LW_ARGS_ATTRS(X)
#undef X
    };

    return texts[id];
}

PyObject *
lw_args_name(lw_args_attr id)
{
    if (names[id] == NULL)
        names[id] = PyUnicode_InternFromString(lw_args_name_text(id));
    return names[id];
}

PyObject *
lw_args_get(PyObject *object, lw_args_attr id)
{
    PyObject *text = lw_args_name(id);

    return text != NULL ? PyObject_GetAttr(object, text) : NULL;
}
