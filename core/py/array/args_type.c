/* What a type is, as operands go: asked once. */
#include "core/py/array/args_internal.h"

#include "core/py/type_num.h"

#ifdef Py_GIL_DISABLED
#include "core/base/memory.h"

#include <stdatomic.h>
#endif
#include <stddef.h>
#include <string.h>

#define N_TYPES 64

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

/* Whether a class of that name from that package is among its bases. */
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

/* Where a scalar of one of NumPy's own classes has its value. */
static void
find_item(lw_args_row *row)
{
#define ITEM(class, number)                                                                    \
    {                                                                                          \
        &Py##class##ArrType_Type, number, offsetof(Py##class##ScalarObject, obval)             \
    }
    const struct { /* not static: NumPy's addresses are known after its import */
        const PyTypeObject *type;
        int number;
        size_t offset;
    } items[] = {
        ITEM(Bool, NPY_BOOL),         ITEM(Byte, NPY_BYTE),           ITEM(UByte, NPY_UBYTE),
        ITEM(Short, NPY_SHORT),       ITEM(UShort, NPY_USHORT),       ITEM(Int, NPY_INT),
        ITEM(UInt, NPY_UINT),         ITEM(Long, NPY_LONG),           ITEM(ULong, NPY_ULONG),
        ITEM(LongLong, NPY_LONGLONG), ITEM(ULongLong, NPY_ULONGLONG), ITEM(Half, NPY_HALF),
        ITEM(Float, NPY_FLOAT),       ITEM(Double, NPY_DOUBLE),       ITEM(CFloat, NPY_CFLOAT),
        ITEM(CDouble, NPY_CDOUBLE)};
#undef ITEM

    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (row->type == items[i].type) {
            row->item_dtype = (uint8_t)lw_dtype_from_num(items[i].number);
            row->item_offset = (uint8_t)items[i].offset;
        }
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
        find_item(&row);
    } else if (PyType_IsSubtype(type, &PyArray_Type)) {
        row.class = lw_args_type_has(type, "__cuda_array_interface__") ? LW_ARGS_INTERFACE
                                                                       : LW_ARGS_HOST;
    } else {
        row.library = library_of(type);
        row.exchange = lw_dlpack_exchange(type);
        if (row.exchange != NULL) {
            row.class = LW_ARGS_EXCHANGE;
        } else if (row.library == LW_LIB_CUPY) {
            row.class = LW_ARGS_CUPY;
            row.tells_contiguity = lw_args_type_has(type, "_c_contiguous");
        } else if (lw_args_type_has(type, "__dlpack__") &&
                   lw_args_type_has(type, "__dlpack_device__")) {
            row.class = LW_ARGS_DLPACK;
        } else if (lw_args_type_has(type, "__cuda_array_interface__")) {
            row.class = LW_ARGS_INTERFACE;
        }
    }
    if (row.class == LW_ARGS_INTERFACE && row.library == LW_LIB_NONE)
        row.library = LW_LIB_OTHER;
    return row;
}

static uintptr_t
slot_of(const PyTypeObject *type)
{
    return ((uintptr_t)type >> 4) % N_TYPES;
}

#ifdef Py_GIL_DISABLED
/* Read while other threads add: a row never changes, and stays. Of more types than are kept
 * each thread has the last one's. */
typedef struct kept_row {
    struct kept_row *next;
    lw_args_row row;
} kept_row;

enum { MOST_KEPT = 4096 };
static _Atomic(kept_row *) types[N_TYPES]; /* newest first */
static _Atomic int n_kept;

static const lw_args_row *
keep(PyTypeObject *type)
{
    static _Thread_local lw_args_row own;
    _Atomic(kept_row *) *slot = &types[slot_of(type)];
    kept_row *kept = NULL;

    own = classify(type);
    if (atomic_fetch_add(&n_kept, 1) < MOST_KEPT)
        kept = lw_alloc(sizeof *kept);
    else
        atomic_fetch_sub(&n_kept, 1);
    if (kept == NULL)
        return &own;
    kept->row = own;
    Py_INCREF(type);
    kept->next = atomic_load(slot);
    while (!atomic_compare_exchange_weak(slot, &kept->next, kept))
        ;
    return &kept->row;
}

const lw_args_row *
lw_args_type(PyTypeObject *type)
{
    const kept_row *at = atomic_load_explicit(&types[slot_of(type)], memory_order_acquire);

    while (at != NULL && at->row.type != type)
        at = at->next;
    return at != NULL ? &at->row : keep(type);
}
#else
static lw_args_row types[N_TYPES]; /* direct-mapped; a clash replaces */

const lw_args_row *
lw_args_type(PyTypeObject *type)
{
    lw_args_row *row = &types[slot_of(type)];

    if (row->type != type) {
        lw_args_row fresh = classify(type); /* may run Python: the slot is taken afterwards */
        PyTypeObject *old = row->type;
        Py_INCREF(type);
        *row = fresh;
        Py_XDECREF(old);
    }
    return row;
}
#endif

/* ---- names looked up at every call: interned at import ---- */

_Static_assert((int)LW_N_ATTRS == LW_STATE_NAMES, "a place for each");

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

int
lw_args_names_make(void)
{
    for (int id = 0; id < LW_N_ATTRS; id++)
        if (lw_core->names[id] == NULL) {
            lw_core->names[id] =
                PyUnicode_InternFromString(lw_args_name_text((lw_args_attr)id));
            if (lw_core->names[id] == NULL)
                return -1;
        }
    return 0;
}

PyObject *
lw_args_name(lw_args_attr id)
{
    return lw_core->names[id];
}

PyObject *
lw_args_get(PyObject *object, lw_args_attr id)
{
    PyObject *text = lw_args_name(id);

    return text != NULL ? PyObject_GetAttr(object, text) : NULL;
}
