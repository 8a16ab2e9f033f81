#include "random/random_py.h"

#include "core/py/numpy_api.h"
#include "core/py/raise.h"
#include "random/alias.h"
#include "random/draws_py_internal.h"
#include "random/xoroshiro.h"

/* Reads any int from -2^63 to 2^64 - 1 as its 64 bits. */
static int
read_word(PyObject *object, const char *name, int is_signed, uint64_t *out)
{
    PyObject *number;
    int overflow;
    long long small;

    if (PyBool_Check(object) || !PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", name,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    number = PyNumber_Index(object);
    if (number == NULL)
        return -1;
    small = PyLong_AsLongLongAndOverflow(number, &overflow);
    *out = overflow > 0 ? PyLong_AsUnsignedLongLong(number) : (uint64_t)small;
    if (overflow < 0 || (!overflow && small < 0 && !is_signed) || PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s must be from %s to 2**64 - 1, not %.200R", name,
                     is_signed ? "-2**63" : "0", number);
        Py_DECREF(number);
        return -1;
    }
    Py_DECREF(number);
    return 0;
}

static PyObject *
seed_state(PyObject *module, PyObject *args)
{
    PyObject *seed_object, *start_object;
    uint64_t seed, start;
    lw_xoroshiro state;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_xoroshiro_seed", &seed_object, &start_object) ||
        read_word(seed_object, "seed", 1, &seed) < 0 ||
        read_word(start_object, "subsequence_start", 0, &start) < 0)
        return NULL;
    state = lw_xoroshiro_seed(seed, start);
    return Py_BuildValue("(KK)", (unsigned long long)state.s0, (unsigned long long)state.s1);
}

static PyObject *
fill_states(PyObject *module, PyObject *args)
{
    PyObject *buffer, *seed_object, *start_object;
    Py_buffer view;
    uint64_t seed, start;
    lw_status status;
    lw_error err = {0};

    (void)module;
    if (!PyArg_ParseTuple(args, "OOO:_xoroshiro_states", &buffer, &seed_object,
                          &start_object) ||
        read_word(seed_object, "seed", 1, &seed) < 0 ||
        read_word(start_object, "subsequence_start", 0, &start) < 0 ||
        PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = lw_xoroshiro_states(view.buf, view.len / (Py_ssize_t)sizeof(lw_xoroshiro), seed,
                                 start, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *
jump_table(PyObject *module, PyObject *object)
{
    const lw_xoroshiro *table = NULL;
    lw_error err = {0};
    long level = PyLong_AsLong(object);

    (void)module;
    if (level < 0 || level >= LW_XOROSHIRO_LEVELS) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "level must be from 0 to %d, not %ld",
                         LW_XOROSHIRO_LEVELS - 1, level);
        return NULL;
    }
    if (lw_xoroshiro_table((unsigned)level, &table, &err) != LW_OK)
        return lw_py_raise(&err);
    return PyBytes_FromStringAndSize((const char *)table, LW_XOROSHIRO_TABLE_BYTES);
}

static PyObject *
alias_table(PyObject *module, PyObject *args)
{
    Py_buffer probability, alias;
    lw_status status = LW_OK;
    lw_error err = {0};

    (void)module;
    if (!PyArg_ParseTuple(args, "w*w*:_alias_table", &probability, &alias))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (probability.len == alias.len)
        status = lw_alias_table(probability.buf, alias.buf, (int64_t)(alias.len / 8), &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&probability);
    PyBuffer_Release(&alias);
    if (status != LW_OK)
        return lw_py_raise(&err);
    Py_RETURN_NONE;
}

/* Calls fill(words) with an array of uint64 over the memory of a new bytes object. */
static int
fill_words(PyObject *bytes, npy_intp n_words, PyObject *fill)
{
    PyObject *result,
        *words = PyArray_SimpleNewFromData(1, &n_words, NPY_UINT64, PyBytes_AS_STRING(bytes));

    if (words == NULL)
        return -1;
    result = PyObject_CallOneArg(fill, words);
    Py_XDECREF(result);
    if (result != NULL && Py_REFCNT(words) > 1) { /* it would see a bytes object change */
        PyErr_SetString(PyExc_SystemError, "fill kept the array of words");
        result = NULL;
    }
    Py_DECREF(words);
    return result != NULL ? 0 : -1;
}

/* The memory is filled where the caller gets it, without a copy. */
static PyObject *
bytes_of_words(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *fill, *bytes;
    Py_ssize_t length;

    if (!PyArg_ParseTuple(args, "nO:_bytes_of_words", &length, &fill))
        return NULL;
    if (length < 0 || length > PY_SSIZE_T_MAX - 7)
        return PyErr_NoMemory();
    bytes = PyBytes_FromStringAndSize(NULL, (length + 7) / 8 * 8);
    if (bytes != NULL && length > 0 && fill_words(bytes, (length + 7) / 8, fill) < 0)
        Py_CLEAR(bytes);
    if (bytes != NULL && PyBytes_GET_SIZE(bytes) != length)
        (void)_PyBytes_Resize(&bytes, length); /* NULL where it fails */
    return bytes;
}

static PyMethodDef functions[] = {
    {"_alias_table", alias_table, METH_VARARGS,
     PyDoc_STR(
         "_alias_table(probability, alias): float64 weights of mean 1, and int64 of the same "
         "length, in place")},
    {"_bytes_of_words", bytes_of_words, METH_VARARGS,
     PyDoc_STR(
         "_bytes_of_words(length, fill) -> bytes: fill(words) writes them as uint64 words; "
         "it must not keep that array")},
    {"_xoroshiro_seed", seed_state, METH_VARARGS,
     PyDoc_STR("_xoroshiro_seed(seed, subsequence_start) -> (s0, s1)")},
    {"_xoroshiro_states", fill_states, METH_VARARGS,
     PyDoc_STR("_xoroshiro_states(buffer, seed, subsequence_start): 16 bytes a state")},
    {"_xoroshiro_table", jump_table, METH_O,
     PyDoc_STR("_xoroshiro_table(level) -> bytes: J**(2**level), 16 x 256 products")},
    {NULL, NULL, 0, NULL},
};

int
lw_random_register(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0 ||
        PyModule_AddIntConstant(module, "_few_blocks", LW_FEW_BLOCKS) < 0)
        return -1;
    return lw_draws_register(module);
}
