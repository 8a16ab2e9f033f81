/* The dtype of reduce, accumulate and reduceat. NumPy asks for a loop of (dtype, the array's,
 * dtype), and accumulate and reduceat then refuse one whose three dtypes are not the same. Its
 * own functions promote; a Ufunc that compiles for any dtypes would make just that mixed loop.
 * So the array comes in the dtype that is computed in. */
#include "ufunc/ufunc_parts.h"

#include "core/py/compiled/keywords.h"

enum { FEW = 8 }; /* more arguments than any of the three methods has */

typedef struct request {
    PyObject *args[FEW + 1]; /* borrowed */
    Py_ssize_t n_args;
    PyObject *names;             /* of the keywords, borrowed; NULL: none */
    Py_ssize_t dtype_at, out_at; /* in args; -1: not given */
} request;

static Py_ssize_t
place_of(const request *r, const char *name, Py_ssize_t position)
{
    if (position < r->n_args)
        return position;
    for (Py_ssize_t i = 0; r->names != NULL && i < PyTuple_GET_SIZE(r->names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(r->names, i), name) == 0)
            return r->n_args + i;
    return -1;
}

/* False: too many arguments, or no array; NumPy's own message says it. */
static bool
read_request(request *r, lw_ufunc_method id, PyObject *const *args, Py_ssize_t n_args,
             PyObject *kwnames)
{
    Py_ssize_t n = n_args + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);

    if (n_args < 1 || n > FEW)
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        r->args[i] = args[i];
    r->n_args = n_args;
    r->names = kwnames;
    r->dtype_at = place_of(r, "dtype", id == LW_METHOD_reduceat ? 3 : 2);
    r->out_at = place_of(r, "out", id == LW_METHOD_reduceat ? 4 : 3);
    return true;
}

/* Borrowed; NULL: no array to write to is given. */
static PyArrayObject *
out_of(const request *r)
{
    PyObject *out = r->out_at < 0 ? NULL : r->args[r->out_at];

    if (out != NULL && PyTuple_Check(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    return out != NULL && PyArray_Check(out) ? (PyArrayObject *)out : NULL;
}

/* Sums and products of bool and of integers below intp. */
static PyArray_Descr *
widened(const PyArray_Descr *descr)
{
    if (PyTypeNum_ISBOOL(descr->type_num))
        return PyArray_DescrFromType(NPY_INTP);
    if (!PyTypeNum_ISINTEGER(descr->type_num) ||
        PyDataType_ELSIZE(descr) >= (npy_intp)sizeof(npy_intp))
        return NULL;
    return PyArray_DescrFromType(PyTypeNum_ISUNSIGNED(descr->type_num) ? NPY_UINTP : NPY_INTP);
}

/* What is computed in, where it is not simply the array's dtype. New reference, or NULL. */
static PyArray_Descr *
computed_in(const lw_ufunc_object *self, const request *r, PyArrayObject *array)
{
    PyArray_Descr *descr = NULL;
    PyArrayObject *out = out_of(r);

    if (r->dtype_at >= 0 && r->args[r->dtype_at] != Py_None)
        PyArray_DescrConverter(r->args[r->dtype_at], &descr);
    else if (out != NULL)
        descr = PyArray_PromoteTypes(PyArray_DESCR(array), PyArray_DESCR(out));
    else if (self->widens)
        descr = widened(PyArray_DESCR(array));
    PyErr_Clear(); /* the call says it again, in NumPy's words */
    if (descr != NULL && lw_dtype_from_num(descr->type_num) == LW_DT_void)
        Py_CLEAR(descr);
    return descr;
}

static PyObject *
call_with_dtype(request *r, PyObject *bound, PyArray_Descr *descr)
{
    PyObject *names = Py_XNewRef(r->names), *extra, *result;

    if (r->dtype_at < 0) {
        r->args[r->n_args + (names ? PyTuple_GET_SIZE(names) : 0)] = (PyObject *)descr;
        extra = Py_BuildValue("(s)", "dtype");
        if (extra != NULL && names != NULL)
            Py_SETREF(extra, PySequence_Concat(names, extra));
        Py_XSETREF(names, extra);
        if (names == NULL)
            return NULL;
    } else {
        r->args[r->dtype_at] = (PyObject *)descr;
    }
    result = PyObject_Vectorcall(bound, r->args, (size_t)r->n_args, names);
    Py_XDECREF(names);
    return result;
}

/* reduce lets NumPy cast block by block: no copy of the array. Not where it computes in bools:
 * a comparison of any dtypes has such results, so that its loop of the array's own dtype would
 * be found. */
static bool
is_cast_by_blocks(lw_ufunc_method id, const PyArray_Descr *descr)
{
    return id == LW_METHOD_reduce && !PyTypeNum_ISBOOL(descr->type_num);
}

static PyObject *
array_for(lw_ufunc_method id, PyArrayObject *array, PyArray_Descr *descr)
{
    if (is_cast_by_blocks(id, descr) || PyArray_DESCR(array)->type_num == descr->type_num)
        return Py_NewRef(array);
    return PyArray_CastToType(array, (PyArray_Descr *)Py_NewRef(descr), 0);
}

PyObject *
lw_ufunc_call_reduction(lw_ufunc_object *self, lw_ufunc_method id, PyObject *bound,
                        PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    request r = {0};
    PyArrayObject *array;
    PyArray_Descr *descr;
    PyObject *cast = NULL, *result;

    if (!self->base.lazy || self->base.nin != 2 ||
        !read_request(&r, id, args, n_args, kwnames) ||
        (!self->widens && r.dtype_at < 0 && r.out_at < 0))
        return PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    array = (PyArrayObject *)PyArray_FromAny(args[0], NULL, 0, 0, 0, NULL);
    if (array == NULL)
        return NULL;
    descr = computed_in(self, &r, array);
    if (descr == NULL || (is_cast_by_blocks(id, descr) && r.dtype_at >= 0)) {
        result = PyObject_Vectorcall(bound, args, (size_t)n_args, kwnames);
    } else {
        cast = array_for(id, array, descr);
        r.args[0] = cast;
        result = cast ? call_with_dtype(&r, bound, descr) : NULL;
    }
    Py_XDECREF(cast);
    Py_XDECREF(descr);
    Py_DECREF(array);
    return result;
}

/* ---- identity= ---- */

int
lw_ufunc_keeps(const lw_ufunc_head *self, PyObject *identity, long number, PyObject **made)
{
    PyObject *other = PyLong_FromLong(number), *result = NULL;
    int keeps = -1;

    if (other != NULL)
        result = PyObject_CallFunctionObjArgs(self->py_func, identity, other, NULL);
    if (result != NULL)
        keeps = PyObject_RichCompareBool(result, other, Py_EQ);
    if (keeps < 0 && PyErr_ExceptionMatches(PyExc_Exception) &&
        !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        keeps = 1;
    }
    if (made != NULL)
        *made = Py_XNewRef(result);
    Py_XDECREF(result);
    Py_XDECREF(other);
    return keeps;
}

int
lw_ufunc_check_identity(const lw_ufunc_object *self)
{
    PyObject *identity = self->base.identity, *result = NULL;
    int keeps;

    if (lw_is_usual_identity(identity) || self->base.nin != 2)
        return 0;
    keeps = lw_ufunc_keeps((const lw_ufunc_head *)self, identity, 1, &result);
    if (keeps == 0)
        PyErr_Format(
            PyExc_ValueError,
            "identity=%.100R is not an identity of `%.100s`, which returns %.100R for it and 1",
            identity, lw_ufunc_text((const lw_ufunc_head *)self, "__name__"), result);
    Py_XDECREF(result);
    return keeps > 0 ? 0 : -1;
}
