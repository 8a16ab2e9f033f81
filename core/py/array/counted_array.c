#include "core/py/array/counted_array.h"

#include "core/host/counted_memory.h"
#include "core/ir/counted.h"
#include "core/py/state.h"

#include <structmember.h>

/* ---- MemInfo ---- */

typedef struct mem_info {
    PyObject_HEAD
    char *memory; /* its reference is this object's */
} mem_info;

static void
mem_info_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    lw_counted_release(((mem_info *)object)->memory);
    type->tp_free(object);
    Py_DECREF(type);
}

/* A field of the header. */
static size_t
word(const mem_info *info, size_t offset)
{
    return *(const volatile size_t *)(info->memory + offset);
}

static PyObject *
word_at(PyObject *object, void *offset)
{
    return PyLong_FromSize_t(word((mem_info *)object, (uintptr_t)offset));
}

static PyObject *
address_of(PyObject *object, void *Py_UNUSED(unused))
{
    return PyLong_FromVoidPtr(((mem_info *)object)->memory);
}

/* MemInfo(address): one more reference to what a C extension has made. */
static PyObject *
mem_info_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", NULL};
    PyObject *number, *object;
    void *memory;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:MemInfo", names, &PyLong_Type, &number))
        return NULL;
    memory = PyLong_AsVoidPtr(number);
    if (memory == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "MemInfo: the address of a MemInfo is not 0");
        return NULL;
    }
    object = type->tp_alloc(type, 0);
    if (object != NULL) {
        lw_counted_retain(memory);
        ((mem_info *)object)->memory = memory;
    }
    return object;
}

static PyObject *
mem_info_acquire(PyObject *object, PyObject *Py_UNUSED(unused))
{
    lw_counted_retain(((mem_info *)object)->memory);
    Py_RETURN_NONE;
}

static PyObject *
mem_info_release(PyObject *object, PyObject *Py_UNUSED(unused))
{
    mem_info *info = (mem_info *)object;

    if (word(info, LW_COUNTED_COUNT_AT) == 1)
        return PyErr_Format(PyExc_RuntimeError, "MemInfo.release: the only reference is this "
                                                "object's, which ends with it");
    lw_counted_release(info->memory);
    Py_RETURN_NONE;
}

static int
mem_info_buffer(PyObject *object, Py_buffer *view, int flags)
{
    const mem_info *info = (mem_info *)object;

    return PyBuffer_FillInfo(view, object, (void *)(uintptr_t)word(info, LW_COUNTED_DATA_AT),
                             (Py_ssize_t)word(info, LW_COUNTED_SIZE_AT), 0, flags);
}

static PyMethodDef mem_info_methods[] = {
    {"acquire", mem_info_acquire, METH_NOARGS,
     PyDoc_STR("acquire($self, /)\n--\n\nTake one more reference, for code in another "
               "language that will release it.")},
    {"release", mem_info_release, METH_NOARGS,
     PyDoc_STR("release($self, /)\n--\n\nGive back a reference that acquire has taken. Raises "
               "RuntimeError if this object has the only reference.")},
    {0},
};

static PyGetSetDef mem_info_getset[] = {
    {"address", address_of, NULL,
     PyDoc_STR("The address of the MemInfo for C code (lanewise_nrt.h)."), NULL},
    {"refcount", word_at, NULL,
     PyDoc_STR("The number of references to the memory, including this object's."),
     (void *)(uintptr_t)LW_COUNTED_COUNT_AT},
    {"data", word_at, NULL, PyDoc_STR("The address of the first byte."),
     (void *)(uintptr_t)LW_COUNTED_DATA_AT},
    {"size", word_at, NULL, PyDoc_STR("The number of bytes."),
     (void *)(uintptr_t)LW_COUNTED_SIZE_AT},
    {0},
};

static PyType_Slot mem_info_slots[] = {
    {Py_tp_doc,
     (void *)PyDoc_STR(
         "MemInfo(address)\n--\n\n"
         "Memory that a compiled function or a C extension has allocated.\n\n"
         "It is the base of arrays that compiled functions return. MemInfo(address) takes one "
         "more reference to the MemInfo at that address. numpy.frombuffer accepts the object. "
         "numba has an object of the same name.\n\n"
         "    >>> import numpy as np, lanewise as lw\n"
         "    >>> y = lw.jit(lambda x: x + 1)(np.zeros(4))\n"
         "    >>> y.base.refcount, y.base.size\n"
         "    (1, 32)")},
    {Py_tp_new, mem_info_new},
    {Py_tp_methods, mem_info_methods},
    {Py_bf_getbuffer, mem_info_buffer},
    {Py_tp_dealloc, mem_info_dealloc},
    {Py_tp_getset, mem_info_getset},
    {0},
};

static PyType_Spec mem_info_spec = {
    .name = "lanewise._core.MemInfo",
    .basicsize = sizeof(mem_info),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mem_info_slots,
};

static PyObject *
mem_info_of(char *memory)
{
    PyTypeObject *type = lw_state_class(lw_core->mem_info_type);
    mem_info *info = type ? PyObject_New(mem_info, type) : NULL;

    if (info == NULL)
        lw_counted_release(memory);
    else
        info->memory = memory;
    return (PyObject *)info;
}

/* ---- arrays ---- */

/* base: stolen; NULL: an exception is set. */
static PyObject *
array_over(const lw_array_result *kind, PyArray_Descr *descr, const uint64_t *parts,
           PyObject *base)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    PyObject *array;

    if (base == NULL)
        return NULL;
    for (unsigned i = 0; i < kind->ndim; i++) {
        shape[i] = (npy_intp)(kind->shape ? (uint64_t)kind->shape[i] : parts[1 + i]);
        strides[i] = kind->shape ? 0 : (npy_intp)parts[1 + kind->ndim + i];
    }
    Py_INCREF(descr);
    array = PyArray_NewFromDescr(&PyArray_Type, descr, kind->ndim, shape,
                                 kind->shape ? NULL : strides, (void *)(uintptr_t)parts[0],
                                 kind->readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (array == NULL)
        Py_DECREF(base);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, base) < 0) /* steals base */
        Py_CLEAR(array);
    return array;
}

PyObject *
lw_counted_array(const lw_array_result *kind, PyArray_Descr *descr, const uint64_t *parts,
                 PyObject *base)
{
    char *memory = kind->owned ? (char *)(uintptr_t)parts[1 + 2 * kind->ndim] : NULL;
    PyObject *view, *copy;

    if (memory != NULL)
        return array_over(kind, descr, parts, mem_info_of(memory));
    view = array_over(kind, descr, parts, Py_NewRef(base ? base : Py_None));
    if (view == NULL || base != NULL)
        return view;
    copy = PyArray_NewCopy((PyArrayObject *)view, NPY_KEEPORDER);
    Py_DECREF(view);
    return copy;
}

/* ---- arrays that typed lists and dicts keep ---- */

static void
end_of_loan(void *data, size_t n_bytes, void *information)
{
    PyGILState_STATE gil;

    (void)data, (void)n_bytes;
    if (!Py_IsInitialized()) /* at exit others may let go last: the process ends anyway */
        return;
    gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)information);
    PyGILState_Release(gil);
}

void *
lw_counted_over_object(void *data, PyObject *object)
{
    void *memory = lw_counted_over(data, 0, end_of_loan, object);

    if (memory != NULL)
        Py_INCREF(object);
    return memory;
}

void *
lw_counted_of_array(PyObject *array)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)array);

    if (base == NULL || Py_TYPE(base) != lw_core->mem_info_type)
        return lw_counted_over_object(PyArray_DATA((PyArrayObject *)array), array);
    lw_counted_retain(((mem_info *)base)->memory);
    return ((mem_info *)base)->memory;
}

int
lw_counted_array_register(PyObject *module)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&mem_info_spec);

    lw_core->mem_info_type = type;
    return type ? PyModule_AddObjectRef(module, "MemInfo", (PyObject *)type) : -1;
}
