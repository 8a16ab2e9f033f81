/* The keywords of the calls of a Reduction: which kind of call takes which, and their words in
 * errors. */
#include "core/py/numpy_api.h"

#include "reduce/call_parts_py.h"

#include "core/py/array/args.h"
#include "core/py/array/host_view.h"
#include "core/py/cuda/cuda_py.h"
#include "core/py/keyword.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>

static const struct keyword {
    const char *name;
    size_t place;
    int takes;
} keywords_known[] = {
    {"axis", offsetof(lw_reduce_keywords, axis),
     LW_TAKES_REDUCE | LW_TAKES_SCAN | LW_TAKES_SLICES},
    {"dtype", offsetof(lw_reduce_keywords, dtype),
     LW_TAKES_REDUCE | LW_TAKES_SCAN | LW_TAKES_SLICES},
    {"out", offsetof(lw_reduce_keywords, out),
     LW_TAKES_REDUCE | LW_TAKES_SCAN | LW_TAKES_SLICES},
    {"stream", offsetof(lw_reduce_keywords, stream),
     LW_TAKES_REDUCE | LW_TAKES_SCAN | LW_TAKES_SLICES | LW_TAKES_KEYS},
    {"keepdims", offsetof(lw_reduce_keywords, keepdims), LW_TAKES_REDUCE},
    {"initial", offsetof(lw_reduce_keywords, initial), LW_TAKES_REDUCE | LW_TAKES_SCAN},
    {"init", offsetof(lw_reduce_keywords, initial), LW_TAKES_REDUCE},
    {"where", offsetof(lw_reduce_keywords, where), LW_TAKES_REDUCE},
    {"size", offsetof(lw_reduce_keywords, size), LW_TAKES_REDUCE},
    {"res", offsetof(lw_reduce_keywords, res), LW_TAKES_REDUCE},
    {"progress", offsetof(lw_reduce_keywords, progress), LW_TAKES_REDUCE},
    {"exclusive", offsetof(lw_reduce_keywords, exclusive), LW_TAKES_SCAN},
    {"indices", offsetof(lw_reduce_keywords, indices), LW_TAKES_SLICES},
};

static const struct keyword *
find_keyword(PyObject *name, int takes)
{
    for (size_t i = 0; i < sizeof keywords_known / sizeof *keywords_known; i++)
        if ((keywords_known[i].takes & takes) &&
            PyUnicode_CompareWithASCIIString(name, keywords_known[i].name) == 0)
            return &keywords_known[i];
    return NULL;
}

static int
refuse_keyword(PyObject *name, int takes, const char *function)
{
    const char *names[sizeof keywords_known / sizeof *keywords_known];
    size_t n = 0;

    for (size_t i = 0; i < sizeof keywords_known / sizeof *keywords_known; i++)
        if (keywords_known[i].takes & takes)
            names[n++] = keywords_known[i].name;
    return lw_keyword_refuse(function, name, names, n);
}

/* NumPy's ways to give nothing: initial=np._NoValue, and out=..., which asks for an array. */
static void
drop_nothing(lw_reduce_keywords *out)
{
    if (out->initial != NULL && strcmp(Py_TYPE(out->initial)->tp_name, "_NoValueType") == 0)
        out->initial = NULL;
    out->keeps_arrays = out->out == Py_Ellipsis;
    if (out->keeps_arrays)
        out->out = NULL;
}

static int
refuse_masked_where(PyObject *where)
{
    bool plain = where == NULL || PyBool_Check(where) || PyArray_CheckExact(where);
    int masked = plain ? 0 : lw_is_masked_array(where);

    if (masked > 0)
        PyErr_SetString(PyExc_TypeError,
                        "where= is a masked array, whose mask compiled code would ignore; pass "
                        "where.filled(False)");
    return masked ? -1 : plain ? 0 : lw_refuse_container(where, true, "where=");
}

int
lw_reduce_read_keywords(lw_reduce_keywords *out, PyObject *kwargs, int takes,
                        const char *function)
{
    PyObject *name, *value, **place;
    Py_ssize_t at = 0;
    CUstream stream;

    memset(out, 0, sizeof *out);
    while (kwargs != NULL && PyDict_Next(kwargs, &at, &name, &value)) {
        const struct keyword *known = find_keyword(name, takes);
        if (known == NULL)
            return refuse_keyword(name, takes, function);
        place = (PyObject **)((char *)out + known->place);
        if (*place != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got both initial= and init=: give one",
                         function);
            return -1;
        }
        *place = value;
    }
    drop_nothing(out);
    if (refuse_masked_where(out->where) < 0)
        return -1;
    return out->stream == NULL ? 0 : lw_stream_read(out->stream, &stream);
}

int
lw_reduce_read_flag(PyObject *value, const char *name)
{
    if (value == NULL || value == Py_False)
        return 0;
    if (PyBool_Check(value) || PyArray_IsScalar(value, Bool) || PyLong_Check(value) ||
        PyArray_IsScalar(value, Integer))
        return PyObject_IsTrue(value);
    PyErr_Format(PyExc_TypeError, "%s= must be True or False, not %.100s %.200R", name,
                 Py_TYPE(value)->tp_name, value);
    return -1;
}
