#include "core/py/numpy_api.h"

#include "core/py/compiled/renew.h"

#include "core/front/read/services.h"
#include "core/py/raise.h"

#include <string.h>

/* ---- contents of arrays ---- */

static bool
same_element(const char *x, const char *y, size_t size)
{
    uint64_t a, b;

    if (size != sizeof a)
        return memcmp(x, y, size) == 0;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    return a == b;
}

/* bytes: where the next element is compared with; moves on. */
static bool
same_axis(PyArrayObject *array, int axis, const char *at, const char **bytes)
{
    npy_intp n = PyArray_DIM(array, axis), step = PyArray_STRIDE(array, axis);
    size_t size = (size_t)PyArray_ITEMSIZE(array);
    bool same = true;

    for (npy_intp i = 0; same && i < n; i++, at += step) {
        if (axis + 1 < PyArray_NDIM(array)) {
            same = same_axis(array, axis + 1, at, bytes);
            continue;
        }
        same = same_element(at, *bytes, size);
        *bytes += size;
    }
    return same;
}

static bool
same_array(PyObject *object, const char *bytes, size_t n_bytes)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if ((size_t)PyArray_NBYTES(array) != n_bytes)
        return false;
    if (PyArray_IS_C_CONTIGUOUS(array))
        return memcmp(PyArray_DATA(array), bytes, n_bytes) == 0;
    return same_axis(array, 0, PyArray_BYTES(array), &bytes);
}

void
lw_renew_register(void)
{
    lw_captures_compare_arrays(same_array);
}

int
lw_tell_frozen(lw_captures *captures, const lw_door_options *options, const char *name)
{
    PyObject *what = captures ? lw_captures_tell_frozen(captures) : NULL;
    int result = 1;

    if (what == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (options->warn &&
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "W204: `%.200s`: %U that it captured has changed inside; what takes "
                         "more than %d bytes is frozen when it is compiled\n  = help: pass it "
                         "as an argument, or bind the name to a changed copy",
                         name, what, LW_COMPARED_BYTES) < 0)
        result = -1;
    Py_DECREF(what);
    return result;
}

/* ---- objects made anew ---- */

static int
tell_once(lw_renewal *renewal, const char *name)
{
    if (renewal->told)
        return 0;
    renewal->told = true;
    return PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                            "`%.200s`: a global or closure variable that it reads has changed; "
                            "with typing=\"numba\" the value of its compilation stays",
                            name);
}

/* 1 with *found, 0 where none serves, -1 with an exception. */
static int
find(lw_renewal *renewal, lw_serves serves, PyObject **found)
{
    int result = 0;

    for (int i = 0; result == 0 && i < LW_RENEWED_KEPT; i++) {
        *found = Py_XNewRef(renewal->kept[i]); /* looking may run Python code */
        result = *found ? serves(*found) : 0;
        if (result != 1)
            Py_CLEAR(*found);
    }
    return result;
}

PyObject *
lw_renewed(PyObject *object, lw_renewal *renewal, lw_serves serves,
           const lw_door_options *options, const char *name)
{
    PyObject *module, *made = NULL;
    bool told;
    int found;

    if (options->front.typing == LW_TYPING_NUMBA && !lw_door_checks_changed(options))
        return options->warn && tell_once(renewal, name) < 0 ? NULL : Py_NewRef(object);
    found = find(renewal, serves, &made);
    if (found != 0)
        return made;
    told = lw_door_told(options->told_sums);
    module = lw_service_module(LW_SERVICE_RENEWAL);
    made = module ? PyObject_CallMethod(module, "again", "O", object) : NULL;
    Py_XDECREF(module);
    lw_door_told(told);
    if (made != NULL) {
        Py_XSETREF(renewal->kept[renewal->next], Py_NewRef(made));
        renewal->next = (renewal->next + 1) % LW_RENEWED_KEPT;
    }
    return made;
}

int
lw_read_again(PyObject *function, PyObject *source, lw_tree **tree, lw_captures **captures)
{
    lw_tree *read = NULL;
    lw_captures *after = NULL, *before = *captures;
    lw_error err = {0};

    if (before == NULL || !lw_captures_outdated(before))
        return 0;
    if (lw_read_function(function, source, &read, &after, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if (*captures != before) { /* Python's code ran: another thread has done it meanwhile */
        lw_tree_free(read);
        lw_captures_free(after);
        return 0;
    }
    lw_tree_free(*tree);
    *tree = read;
    *captures = after;
    lw_captures_free(before);
    return 1;
}

int
lw_renewal_traverse(lw_renewal *renewal, visitproc visit, void *arg)
{
    for (int i = 0; i < LW_RENEWED_KEPT; i++)
        Py_VISIT(renewal->kept[i]);
    return 0;
}

void
lw_renewal_clear(lw_renewal *renewal)
{
    for (int i = 0; i < LW_RENEWED_KEPT; i++)
        Py_CLEAR(renewal->kept[i]);
}
