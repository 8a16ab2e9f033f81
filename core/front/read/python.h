/* From a live Python function to a tree: finds the source that belongs to its code object,
 * reads Python's AST, freezes what it reads from globals, closures and modules, and links every
 * function that can be reached. All calls here need an attached thread state (the GIL).
 *
 * Accepted as a function: a Python function or lambda, a bound or static method of one, and any
 * object whose `py_func` or `__wrapped__` is a Python function (lanewise objects, numba
 * dispatchers, functools.lru_cache). */
#ifndef LW_FRONT_READ_PYTHON_H
#define LW_FRONT_READ_PYTHON_H

#include <Python.h>

#include "core/front/tree.h"

/* What the tree froze: each (namespace, name) and the object found there, each closure cell. */
typedef struct lw_captures lw_captures;

/* Of a list's pointers or an array's elements: comparing that much takes some 20 ns. */
enum { LW_COMPARED_BYTES = 1024 };

/* Read `function` and all it can reach. source: the function's text (str) where Python keeps
 * none, or NULL. captures may be NULL. On LW_ERR_PYTHON the exception is set; other failures
 * are user diagnostics (E170 no source, E171 file changed). Callees that cannot be read are no
 * failure: their lw_fn.problem says why, and is raised only when the call is compiled. */
lw_status lw_read_function(PyObject *function, PyObject *source, lw_tree **out,
                           lw_captures **captures, lw_error *err);

/* Out of a dict that others may change meanwhile: a new reference; NULL where it is absent, or
 * with an exception. */
static inline PyObject *
lw_dict_item(PyObject *dict, PyObject *key)
{
    PyObject *value = NULL;

#if PY_VERSION_HEX >= 0x030D0000
    (void)PyDict_GetItemRef(dict, key, &value);
#else
    value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
    return value;
}

/* The Python function behind an accepted object (new reference), or NULL with TypeError set. */
PyObject *lw_python_function(PyObject *object);

/* The text of the function (new str): a whole `def` without its decorators and without common
 * indentation, or the lambda expression alone; what `source=` takes back. NULL with OSError
 * set. */
PyObject *lw_read_source_text(PyObject *function);

/* Whether a captured name has been rebound to something else since, or the contents of a list
 * or array have changed. A few ns a name: compares identity first; equal numbers and strings
 * under another identity count as the same. Contents beyond LW_COMPARED_BYTES are looked at in
 * some calls only. */
bool lw_captures_changed(lw_captures *captures);
/* The same, and all contents. */
bool lw_captures_outdated(lw_captures *captures);
/* The first of the large lists and arrays that has changed, as a message names it (new str); no
 * other will be looked for. NULL: none has, or with an exception. */
PyObject *lw_captures_tell_frozen(lw_captures *captures);
/* Whether the array has these bytes, in C order. core/py knows NumPy's arrays, this folder
 * does not; without it no array is compared. */
typedef bool (*lw_same_array)(PyObject *array, const char *bytes, size_t n_bytes);
void lw_captures_compare_arrays(lw_same_array same);
/* Objects of declare_device and the like that the functions name: a list, borrowed, or NULL. */
PyObject *lw_captures_linked(const lw_captures *captures);
void lw_captures_free(lw_captures *captures); /* NULL is allowed */
/* For tp_traverse of the owner. */
int lw_captures_traverse(const lw_captures *captures, visitproc visit, void *arg);

#endif
