/* From a live Python function to a tree: finds the source text of its code object, reads
 * Python's AST, freezes what the function uses of globals, closures and modules, and reads
 * every function that can be reached from it. All calls need an attached thread state (the
 * GIL).
 *
 * Accepted as a function: a Python function or lambda, a bound or static method of one, and any
 * object whose `py_func` or `__wrapped__` is a Python function (lanewise objects, numba
 * dispatchers, functools.lru_cache). */
#ifndef LW_FRONT_READ_PYTHON_H
#define LW_FRONT_READ_PYTHON_H

#include <Python.h>

#include "core/front/overload.h"
#include "core/front/typed.h"
#include "core/front/tree.h"

/* What a tree froze: each (namespace, name) with the object that was found there, each closure
 * cell. */
typedef struct lw_captures lw_captures;

/* Bytes of a list's pointers or an array's elements up to which they are compared in each call:
 * comparing this much takes some 20 ns. */
enum { LW_COMPARED_BYTES = 1024 };

/* Read `function` and all functions it can reach. source: the function's text (str) where
 * Python keeps none, or NULL. captures may be NULL. On LW_ERR_PYTHON the exception is set;
 * other failures are user diagnostics (E170 no source, E171 file changed). A callee that cannot
 * be read is no failure: its lw_fn.problem has the reason, which is raised only when the call
 * is compiled. */
lw_status lw_read_function(PyObject *function, PyObject *source, lw_tree **out,
                           lw_captures **captures, lw_error *err);

/* The attribute of a class in which lanewise.extending.register keeps the types of fields: a
 * dict of type objects by name. */
#define LW_REGISTERED_FIELDS "__lanewise_fields__"

/* As lw_read_function, but what the function itself cannot be compiled for, such as the lack of
 * its text or a parameter `**` (E170, E171, E101), is raised when it is compiled. The tree has
 * the parameters that the function's code names. */
lw_status lw_read_function_later(PyObject *function, PyObject *source, lw_tree **out,
                                 lw_captures **captures, lw_error *err);

/* The attribute of a function in which the keyword `locals=` keeps the types of variables: a
 * dict of type objects by name (lanewise/_local_types.py). */
#define LW_LOCAL_TYPES "__lanewise_locals__"

/* The same for a function whose arguments are objects: the tree has these classes (a tuple) in
 * lw_tree.given, in this order; NULL where one of them cannot be compiled. */
lw_status lw_read_function_given(PyObject *function, PyObject *source, PyObject *classes,
                                 lw_tree **out, lw_captures **captures, lw_error *err);
/* The names of the fields of an object in the order of its class (a new tuple). NULL without an
 * exception: it is none of a class that compiled code knows, or a namedtuple. *by_dict: other
 * objects of the class may have others in `__dict__`. */
PyObject *lw_read_object_fields(PyObject *object, bool *by_dict);
/* For messages: an attribute of the object that no method of its class names (new reference),
 * or NULL. */
PyObject *lw_read_unknown_field(PyObject *object);
/* Whether a class that is derived from tuple has methods or properties of its author's. */
bool lw_read_class_has_code(PyTypeObject *type);

/* An item of a dict that other threads may change meanwhile: a new reference; NULL when it is
 * absent, or with an exception. */
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

/* Sets item i of a new tuple; a NULL with an exception takes the tuple back, which is NULL
 * then. Steals item. */
static inline void
lw_tuple_put(PyObject **tuple, Py_ssize_t i, PyObject *item)
{
    if (item == NULL)
        Py_CLEAR(*tuple);
    else
        PyTuple_SET_ITEM(*tuple, i, item);
}

/* A new str of these texts with the separator between them. parts: an iterable; NULL with an
 * exception is passed on. */
static inline PyObject *
lw_joined(const char *separator, PyObject *parts)
{
    PyObject *between = parts ? PyUnicode_FromString(separator) : NULL;
    PyObject *text = between ? PyUnicode_Join(between, parts) : NULL;

    Py_XDECREF(between);
    return text;
}

/* The same tree with the answer to a question about an overload: its implementation, or NULL
 * with the reason why there is none (a str, or NULL), becomes the latest of the tree's base. */
lw_status lw_read_answer(const lw_tree *tree, const lw_overload_question *question,
                         PyObject *implementation, PyObject *refused, lw_error *err);
/* The same with a function of array_functions.def that is no callee. */
lw_status lw_read_own(const lw_tree *tree, const char *name, lw_error *err);
/* The object that a constant of the tree was made from (new reference); NULL: it is not known,
 * or with an exception. */
PyObject *lw_read_object_of(const lw_tree *tree, uint32_t constant);
/* The class whose objects have this type, in the same way. */
PyObject *lw_read_class_of(const lw_tree *tree, const lw_class *user_class);
/* How often something has been registered with lanewise.extending: 0 in programs that do not.
 */
uint64_t lw_overloads_version(void);
/* Adds _overloads_changed and _operator_overloaded to the module. */
int lw_overloads_register(PyObject *module);

/* The Python function behind an accepted object (new reference), or NULL with an exception:
 * TypeError, or what the object's own attributes raise, other than AttributeError. */
PyObject *lw_python_function(PyObject *object);
/* The object itself, or of a Ufunc that is a method of an object (lanewise/_methods.py)
 * Python's method. A new reference; NULL with an exception. */
PyObject *lw_python_method(PyObject *object);
/* What to do with a callable object that is no Python function: for messages. */
const char *lw_call_hint(PyObject *object);

/* The text of the function (new str): a whole `def` without its decorators and common
 * indentation, or the lambda expression alone, as `source=` accepts it. NULL with OSError
 * set. */
PyObject *lw_read_source_text(PyObject *function);

/* Whether a captured name has been bound to something else since, or the contents of a list or
 * array have changed. It takes a few ns for each name: identities are compared first; equal
 * numbers and strings with another identity count as the same. Contents beyond
 * LW_COMPARED_BYTES are compared in some calls only. */
bool lw_captures_changed(lw_captures *captures);
/* The same, but all contents are compared. */
bool lw_captures_outdated(lw_captures *captures);
/* The first name that is bound to something else, as a new str. NULL: there is none that has a
 * name, or with an exception. */
PyObject *lw_captures_changed_name(lw_captures *captures);
/* The numbers that functions read by this thread from now on capture as operands: a dict
 * (id of the dict, cell or object; name, or None) -> the dict, cell or object; borrowed, NULL:
 * none. Returns what was set before. */
PyObject *lw_captures_operands(PyObject *names);
/* Adds to such a dict the numbers that are bound to other ones now (pinned: those that were to
 * be operands and had to be constants), unless `without`, another one or NULL, has them.
 * *first, NULL before: the name of the first that is new, as a new str. -1 with an exception.
 */
int lw_captures_find_operands(lw_captures *captures, bool pinned, PyObject *without,
                              PyObject *names, PyObject **first);
/* The first of the large lists and arrays of a function that has changed, as a message names it
 * (new str); for each function it is looked for only once. NULL: none has changed, or with an
 * exception. */
PyObject *lw_captures_tell_frozen(lw_captures *captures);
/* Whether the array has these bytes, in C order. core/py sets it, because this folder does not
 * know NumPy's arrays; until it is set, no array is compared. */
typedef bool (*lw_same_array)(PyObject *array, const char *bytes, size_t n_bytes);
void lw_captures_compare_arrays(lw_same_array same);
/* The callables that bring code of their own and that the functions use: a list, borrowed, of
 * tuples (object, name of the attribute, its value, dict of what it has answered), or NULL. The
 * tree numbers them from 1. */
PyObject *lw_captures_linked(const lw_captures *captures);
/* What another function of the same object captured, to be asked with it; taken. */
void lw_captures_join(lw_captures *captures, lw_captures *more);
/* Those of the next function, in the order of joining; NULL at the end. */
const lw_captures *lw_captures_next(const lw_captures *captures);
void lw_captures_free(lw_captures *captures); /* NULL is allowed */
/* `captures` takes the place of older ones, which other threads may be looking at: they go with
 * it, or at once where the GIL keeps threads apart. */
void lw_captures_replace(lw_captures *captures, lw_captures *older);
/* For tp_traverse of the owner. */
int lw_captures_traverse(const lw_captures *captures, visitproc visit, void *arg);

/* ---- record.c: NumPy's structured dtypes as lw_arg_record ---- */

/* From a numpy.dtype with fields; everything is copied into the arena. `align` is the alignment
 * of every item in an array that NumPy allocated: that of its widest part if every field has an
 * offset that is a multiple of its own alignment, else 1. A caller that takes an array of
 * records checks that its address and strides are multiples of it. 0, or -1 with TypeError that
 * names a field whose dtype compiled code does not know. */
int lw_read_record(PyObject *dtype, lw_arena *arena, lw_arg_record **out);
/* The attribute of a dtype's type that names the class whose objects the records are. */
#define LW_CLASS_OF_RECORDS "__lanewise_class__"

#endif
