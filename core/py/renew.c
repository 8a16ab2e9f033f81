#include "core/py/renew.h"

#include "core/py/raise.h"

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

static PyObject *
find(lw_renewal *renewal, lw_is_stale is_stale)
{
    for (int i = 0; i < LW_RENEWED_KEPT; i++) {
        PyObject *kept = Py_XNewRef(renewal->kept[i]); /* looking may run Python code */
        if (kept != NULL && !is_stale(kept))
            return kept;
        Py_XDECREF(kept);
    }
    return NULL;
}

PyObject *
lw_renewed(PyObject *object, lw_renewal *renewal, lw_is_stale is_stale,
           const lw_door_options *options, const char *name)
{
    PyObject *module, *made;

    if (options->front.typing == LW_TYPING_NUMBA && !lw_door_checks_changed(options))
        return options->warn && tell_once(renewal, name) < 0 ? NULL : Py_NewRef(object);
    made = find(renewal, is_stale);
    if (made != NULL)
        return made;
    module = PyImport_ImportModule("lanewise._renew");
    made = module ? PyObject_CallMethod(module, "again", "O", object) : NULL;
    Py_XDECREF(module);
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

    if (before == NULL || !lw_captures_changed(before))
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
