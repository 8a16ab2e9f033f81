#include "core/py/numpy_api.h"

#include "core/py/compiled/renew.h"

#include "core/front/read/critical.h"
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

/* ---- what has changed ---- */

/* Whatever is compiled. */
static bool
changed(lw_compiled *self)
{
    return lw_door_checks_changed(&self->options) ||
           (self->captures != NULL && lw_captures_changed(self->captures)) ||
           (self->door->changed != NULL && self->door->changed(self));
}

/* Takes what. */
static int
tell_frozen(const lw_compiled *self, PyObject *what)
{
    int result = 0;

    if (self->options.warn)
        result = PyErr_WarnFormat(
            PyExc_RuntimeWarning, 1,
            "W204: `%.200s`: the contents of %U that it captured have changed; values of more "
            "than %d bytes are frozen when the function is compiled\n  = help: pass it as an "
            "argument, or bind the name to a changed copy",
            lw_compiled_name(self), what, LW_COMPARED_BYTES);
    Py_DECREF(what);
    return result;
}

int
lw_compiled_frozen(lw_compiled *self)
{
    PyObject *what;
    bool told = false;

    if (!self->settled) /* it is read again */
        return 0;
    while ((what = lw_captures_tell_frozen(self->captures)) != NULL) {
        told = true;
        if (tell_frozen(self, what) < 0)
            return -1;
    }
    if (PyErr_Occurred())
        return -1;
    return told && !changed(self);
}

int
lw_compiled_read_again(lw_compiled *self)
{
    lw_captures *before = self->captures, *captures = NULL;
    lw_tree *tree = NULL;
    lw_error err = {0};

    if (self->settled || before == NULL || !lw_captures_outdated(before))
        return 0;
    if (lw_read_function(self->py_func, self->source, &tree, &captures, &err) != LW_OK) {
        lw_py_raise(&err);
        return -1;
    }
    if ((self->door->read_more != NULL && self->door->read_more(self, captures) < 0) ||
        self->settled || self->captures != before) { /* another thread was faster */
        lw_tree_free(tree);
        lw_captures_free(captures);
        return PyErr_Occurred() ? -1 : 0;
    }
#ifdef Py_GIL_DISABLED /* other threads may still read it */
    bool in_use = true;
#else
    bool in_use = self->tree->reading != NULL; /* its overloads may be asked for now */
#endif
    if (in_use)
        tree->older = self->tree;
    else
        lw_tree_free(self->tree);
    self->tree = tree;
    self->captures = captures;
    lw_captures_replace(captures, before);
    return 1;
}

/* ---- objects made anew ---- */

static int
tell_once(lw_compiled *self)
{
    bool told;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    told = self->renewal.told;
    self->renewal.told = true;
    Py_END_CRITICAL_SECTION();
    if (told)
        return 0;
    return PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                            "`%.200s`: a global or closure variable that it reads has changed; "
                            "with typing=\"numba\", the value at compile time is used",
                            lw_compiled_name(self));
}

/* Whether an object can take a call. -1 with an exception. */
static int
serves(PyObject *object)
{
    lw_compiled *self = (lw_compiled *)object;

    if (self->door->asked != NULL)
        self = self->door->asked(self);
    return changed(self) ? lw_compiled_frozen(self) : 1;
}

/* New reference, or NULL. */
static PyObject *
kept_at(lw_compiled *self, int i)
{
    PyObject *kept;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    kept = Py_XNewRef(self->renewal.kept[i]);
    Py_END_CRITICAL_SECTION();
    return kept;
}

static void
keep(lw_compiled *self, PyObject *made)
{
    lw_renewal *renewal = &self->renewal;
    PyObject *before;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    before = renewal->kept[renewal->next];
    renewal->kept[renewal->next] = Py_NewRef(made);
    renewal->next = (renewal->next + 1) % LW_RENEWED_KEPT;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(before);
}

/* 1 with *found, 0 where none serves, -1 with an exception. */
static int
find(lw_compiled *self, PyObject **found)
{
    int result = 0;

    for (int i = 0; result == 0 && i < LW_RENEWED_KEPT; i++) {
        *found = kept_at(self, i); /* looking may run Python code */
        result = *found ? serves(*found) : 0;
        if (result != 1)
            Py_CLEAR(*found);
    }
    return result;
}

/* Gives the object the name that users see, where that is not its function's. Those whose name
 * cannot be set (ufuncs) have their function's. */
static void
take_name(PyObject *made, PyObject *from)
{
    PyObject *name = PyObject_GetAttrString(from, "__name__");

    if (name == NULL || PyObject_SetAttrString(made, "__name__", name) < 0)
        PyErr_Clear();
    Py_XDECREF(name);
}

/* Another object as this one was, its function read now. */
static PyObject *
again(lw_compiled *self)
{
    const lw_compiled_door *door = self->door;
    const char *layout = door->layout ? door->layout(self) : NULL;
    PyObject *signatures = door->declared(self), *text = NULL, *made = NULL;

    if (layout != NULL)
        text = PyUnicode_FromString(layout);
    if (signatures != NULL && (layout == NULL || text != NULL))
        made = door->make(Py_TYPE(self), &(lw_request){.function = self->py_func,
                                                       .signatures = signatures,
                                                       .layout = text,
                                                       .keywords = self->keywords});
    if (made != NULL)
        take_name(made, (PyObject *)self);
    Py_XDECREF(text);
    Py_XDECREF(signatures);
    return made;
}

/* ---- numbers that change at each step ---- */

/* Values for which code is compiled before a number becomes an operand: one that is another in
 * each step would have the program compile for ever. */
enum { MANY = 3 };

static lw_compiled *
asked_of(lw_compiled *self)
{
    return self->door->asked ? self->door->asked(self) : self;
}

/* Takes name, NULL: nothing to tell. -1 with an exception. */
static int
tell(const lw_compiled *self, PyObject *name, const char *format)
{
    PyObject *text;
    int result = -1;

    if (name == NULL)
        return 0;
    text = PyUnicode_FromFormat(format, lw_compiled_name(self), name, name);
    if (text != NULL)
        result = lw_door_warn(&self->options, "PerformanceWarning", PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    Py_DECREF(name);
    return result;
}

/* Which of the numbers that were to be operands had to be constants. */
static int
find_constants(lw_compiled *self, PyObject *constants)
{
    PyObject *name = NULL, *kept;
    int result = 0;

    for (int i = 0; result == 0 && i < LW_RENEWED_KEPT; i++) {
        kept = kept_at(self, i);
        if (kept != NULL)
            result = lw_captures_find_operands(asked_of((lw_compiled *)kept)->captures, true,
                                               NULL, constants, &name);
        Py_XDECREF(kept);
    }
    if (result < 0) {
        Py_XDECREF(name);
        return -1;
    }
    return tell(
        self, name,
        "W206: `%.200s` needs the value of `%U` when it is compiled (for a shape, an exponent, "
        "a condition or the like); the value changes again and again, and the function is "
        "compiled for each value\n  = help: make `%U` an argument, or write the code so that "
        "it needs no constant");
}

static int
find_operands(lw_compiled *self, PyObject *operands, PyObject *constants)
{
    PyObject *name = NULL;

    static_assert(MANY == 3, "the text has this number");
    if (lw_captures_find_operands(asked_of(self)->captures, false, constants, operands, &name) <
        0) {
        Py_XDECREF(name);
        return -1;
    }
    return tell(
        self, name,
        "W206: `%.200s` was compiled for three values of `%U`, which has changed "
        "again: from now on it is read at each call, and the code is the same for all "
        "values\n  = help: make `%U` an argument; to have code compiled for each value, "
        "define the function in a function that has the value as an argument");
}

/* Something that is no number: its values stay constants. */
static int
tell_others(lw_compiled *self)
{
    PyObject *name = lw_captures_changed_name(asked_of(self)->captures);

    static_assert(MANY == 3 && LW_RENEWED_KEPT == 4, "the text has numbers that follow");
    if (name == NULL && PyErr_Occurred())
        return -1;
    return tell(self, name,
                "W206: `%.200s` is compiled for each value of `%U`, which it captured, and now "
                "for the fourth\n  = help: make `%U` an argument; code of the last five "
                "values is kept");
}

/* A dict that stays empty or is filled by this thread alone: new reference, or NULL. */
static PyObject *
copy_or_new(PyObject *names)
{
    return names ? PyDict_Copy(names) : PyDict_New();
}

static int
find_many(lw_compiled *self, uint32_t n, PyObject *operands, PyObject *constants)
{
    Py_ssize_t before = PyDict_GET_SIZE(constants), at = 0;
    PyObject *key, *value;

    if (find_constants(self, constants) < 0 || find_operands(self, operands, constants) < 0)
        return -1;
    if (PyDict_GET_SIZE(constants) == before)
        return n == MANY && PyDict_GET_SIZE(operands) == 0 ? tell_others(self) : 0;
    while (PyDict_Next(constants, &at, &key, &value))
        if (PyDict_Contains(operands, key) == 1 && PyDict_DelItem(operands, key) < 0)
            return -1;
    return 0;
}

/* From the fourth value on. -1 with an exception. */
static int
count_values(lw_compiled *self)
{
    PyObject *operands = NULL, *constants = NULL, *old_operands, *old_constants;
    uint32_t n;
    int result = -1;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    n = ++self->renewal.n_made;
    operands = n < MANY ? NULL : copy_or_new(self->renewal.operands);
    constants = n < MANY ? NULL : copy_or_new(self->renewal.constants);
    Py_END_CRITICAL_SECTION();
    if (n < MANY || lw_door_checks_changed(&self->options)) {
        result = 0;
    } else if (operands != NULL && constants != NULL) {
        result = find_many(self, n, operands, constants);
        Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
        old_operands = self->renewal.operands;
        old_constants = self->renewal.constants;
        self->renewal.operands = operands;
        self->renewal.constants = constants;
        Py_END_CRITICAL_SECTION();
        operands = old_operands;
        constants = old_constants;
    }
    Py_XDECREF(operands);
    Py_XDECREF(constants);
    return result;
}

lw_operand_scope
lw_compiled_enter_operands(lw_compiled *self)
{
    lw_operand_scope scope;

    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    scope.names = Py_XNewRef(self->renewal.operands);
    Py_END_CRITICAL_SECTION();
    scope.outer = lw_captures_operands(scope.names);
    return scope;
}

void
lw_compiled_leave_operands(lw_operand_scope *scope)
{
    lw_captures_operands(scope->outer);
    Py_CLEAR(scope->names);
}

/* again(), with the numbers that are operands. */
static PyObject *
again_with_operands(lw_compiled *self)
{
    lw_operand_scope scope = lw_compiled_enter_operands(self);
    PyObject *made = again(self);

    if (made != NULL) /* it reads other functions when they are first needed */
        Py_XSETREF(((lw_compiled *)made)->renewal.operands, Py_XNewRef(scope.names));
    lw_compiled_leave_operands(&scope);
    return made;
}

PyObject *
lw_compiled_renewed(lw_compiled *self)
{
    const lw_compiled *outer;
    PyObject *made = NULL;
    bool told;
    int found;

    if (self->options.front.typing == LW_TYPING_NUMBA &&
        !lw_door_checks_changed(&self->options))
        return self->options.warn && tell_once(self) < 0 ? NULL : Py_NewRef((PyObject *)self);
    found = find(self, &made);
    if (found != 0)
        return made;
    if (count_values(self) < 0)
        return NULL;
    told = lw_door_told(self->options.told_sums);
    outer = lw_compiled_anew(self);
    made = again_with_operands(self);
    lw_compiled_anew(outer);
    lw_door_told(told);
    if (made != NULL)
        keep(self, made);
    return made;
}

PyObject *
lw_compiled_stale(lw_compiled *self)
{
    int goes_on = lw_compiled_frozen(self);

    if (goes_on != 0)
        return goes_on < 0 ? NULL : Py_NewRef((PyObject *)self);
    return lw_compiled_renewed(self);
}

PyObject *
lw_compiled_current(lw_compiled *self)
{
    return lw_compiled_is_stale(self) ? lw_compiled_stale(self) : Py_NewRef((PyObject *)self);
}
