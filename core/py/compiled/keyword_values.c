/* Reads the values of keywords. Values of the wrong kind name the keyword, what was expected
 * and what came. What cannot be done is refused, never ignored. */
#include "core/py/compiled/keywords_internal.h"

#include "core/base/env.h"
#include "core/py/compiled/link_read.h"
#include "core/py/raise.h"

#include <string.h>

static int
wrong_type(const lw_keyword_reader *r, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s= must be %s, not %.100s %.200R", r->keyword, expected,
                 Py_TYPE(value)->tp_name, value);
    return -1;
}

static int
wrong_value(const lw_keyword_reader *r, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_ValueError, "%s= must be %s, not %.200R", r->keyword, expected, value);
    return -1;
}

/* ---- kinds of values ---- */

static int
read_bool(const lw_keyword_reader *r, PyObject *value, bool *out)
{
    if (!PyBool_Check(value))
        return wrong_type(r, "True or False", value);
    *out = value == Py_True;
    return 0;
}

/* Which of the words (NULL ends them) the str is. */
static int
read_word(const lw_keyword_reader *r, PyObject *value, const char *const *words,
          const char *expected)
{
    if (!PyUnicode_Check(value))
        return wrong_type(r, expected, value);
    for (int i = 0; words[i] != NULL; i++)
        if (PyUnicode_CompareWithASCIIString(value, words[i]) == 0)
            return i;
    return wrong_value(r, expected, value);
}

/* None is 0. */
static int
read_count(const lw_keyword_reader *r, PyObject *value, long most, const char *expected,
           int *out)
{
    long number;

    *out = 0;
    if (value == Py_None)
        return 0;
    if (!PyLong_Check(value) || PyBool_Check(value))
        return wrong_type(r, expected, value);
    number = PyLong_AsLong(value);
    if (number == -1 && PyErr_Occurred())
        PyErr_Clear();
    if (number < 1 || number > most)
        return wrong_value(r, expected, value);
    *out = (int)number;
    return 0;
}

/* A set of words as bits. */
static int
read_words(const lw_keyword_reader *r, PyObject *value, const char *const *words,
           const uint32_t *bits, const char *expected, uint32_t *out)
{
    PyObject *items, *item;
    int which = 0;

    *out = 0;
    items = PyUnicode_Check(value) ? NULL : PyObject_GetIter(value);
    if (items == NULL) {
        PyErr_Clear();
        return wrong_type(r, expected, value);
    }
    while (which >= 0 && (item = PyIter_Next(items)) != NULL) {
        which = read_word(r, item, words, expected);
        if (which >= 0)
            *out |= bits[which];
        Py_DECREF(item);
    }
    Py_DECREF(items);
    return which < 0 || PyErr_Occurred() ? -1 : 0;
}

bool *
lw_keyword_flag_at(lw_door_options *options, size_t at)
{
    return (bool *)((char *)options + at);
}

int
lw_keyword_flag(lw_keyword_reader *r, PyObject *value)
{
    return read_bool(r, value, lw_keyword_flag_at(r->options, r->at));
}

int
lw_keyword_object(lw_keyword_reader *r, PyObject *value)
{
    if (value != Py_None)
        *(PyObject **)((char *)r->arguments + r->at) = value;
    return 0;
}

static int
unsupported(const char *what)
{
    lw_error err = {0};

    lw_fail(&err, LW_ERR_UNSUPPORTED, "%s", what);
    lw_py_raise(&err);
    return -1;
}

/* What a door does not have: fine while empty. */
static int
read_empty(const lw_keyword_reader *r, PyObject *value, const char *message)
{
    Py_ssize_t n = value == Py_None ? 0 : PyObject_Size(value);

    if (n < 0) {
        PyErr_Clear();
        return wrong_type(r, "a sequence", value);
    }
    return n == 0 ? 0 : unsupported(message);
}

/* ---- keywords of all doors, or most ---- */

/* core/py/compiled/decorate.c uses them. */
int
lw_keyword_locals(lw_keyword_reader *r, PyObject *value)
{
    return value == Py_None || PyDict_Check(value)
               ? 0
               : wrong_type(r, "a dict of types by the names of variables", value);
}

lw_target_choice
lw_default_target(void)
{
    const char *target = lw_env_text(LW_ENV_target);

    if (strcmp(target, "cuda") == 0)
        return LW_CHOOSE_CUDA;
    return strcmp(target, "auto") == 0 ? LW_CHOOSE_AUTO : LW_CHOOSE_CPU;
}

int
lw_keyword_target(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"auto", "cpu", "cuda", "parallel", NULL};
    static const lw_target_choice choices[] = {LW_CHOOSE_AUTO, LW_CHOOSE_CPU, LW_CHOOSE_CUDA,
                                               LW_CHOOSE_CPU};
    int which = read_word(r, value, words, "\"auto\", \"cpu\", \"cuda\" or \"parallel\"");

    if (which < 0)
        return -1;
    r->options->target = choices[which];
    if (choices[which] == LW_CHOOSE_CUDA && lw_default_target() == LW_CHOOSE_CPU)
        r->options->target = LW_CHOOSE_CPU; /* programs for GPUs, on a machine without */
    return 0;
}

bool
lw_is_usual_identity(PyObject *value)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;

    PyErr_Clear();
    return value == Py_None || PyUnicode_Check(value) || number == 0 || number == 1;
}

int
lw_keyword_identity(lw_keyword_reader *r, PyObject *value)
{
    r->arguments->identity = value;
    if (r->door == LW_DOOR_REDUCE) /* which takes more, and checks it */
        return 0;
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "reorderable") != 0)
        return wrong_value(r, "a number, None, or \"reorderable\"", value);
    if (value != Py_None && !PyUnicode_Check(value) && !PyLong_Check(value) &&
        !PyFloat_Check(value) && !PyComplex_Check(value) && !PyArray_IsScalar(value, Number) &&
        !PyArray_IsScalar(value, Bool))
        return wrong_type(r, "a number, None, or \"reorderable\"", value);
    if (r->door == LW_DOOR_GUVECTORIZE && !lw_is_usual_identity(value))
        return wrong_value(r, "0, 1, None, or \"reorderable\"", value);
    return 0;
}

int
lw_keyword_typing(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"weak", "numba", NULL};
    int which = read_word(r, value, words, "\"weak\" or \"numba\"");

    if (which < 0)
        return -1;
    r->options->front.typing = which == 0 ? LW_TYPING_WEAK : LW_TYPING_NUMBA;
    return 0;
}

int
lw_keyword_fastmath(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"nnan", "ninf",    "nsz",  "arcp", "contract",
                                        "afn",  "reassoc", "fast", NULL};
    static const uint32_t bits[] = {LW_FAST_NNAN,    LW_FAST_NINF,     LW_FAST_NSZ,
                                    LW_FAST_ARCP,    LW_FAST_CONTRACT, LW_FAST_AFN,
                                    LW_FAST_REASSOC, LW_FAST_ALL};

    if (PyBool_Check(value)) {
        r->options->front.fast = value == Py_True ? LW_FAST_ALL : 0;
        return 0;
    }
    return read_words(r, value, words, bits,
                      "True, False, or a set of nnan ninf nsz arcp contract afn reassoc fast",
                      &r->options->front.fast);
}

int
lw_keyword_math(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"target", "same", NULL};
    int which = read_word(r, value, words, "\"target\" or \"same\"");

    if (which < 0)
        return -1;
    r->options->front.same_math = which == 1;
    return 0;
}

int
lw_keyword_errors(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"raise", "defer", "ignore", NULL};
    int which = read_word(r, value, words, "\"raise\", \"defer\" or \"ignore\"");

    if (which < 0)
        return -1;
    r->options->errors = which == 0 ? LW_RAISE : which == 1 ? LW_DEFER : LW_IGNORE;
    r->options->front.ignore_errors = which == 2;
    return 0;
}

int
lw_keyword_check(lw_keyword_reader *r, PyObject *value)
{
    static const uint32_t bits[] = {
#define CHECK(name, word, raises, where) LW_CHECK_##name,
#include "core/tables/checks.def"
    };
    static const char expected[] = "a set of divide overflow nan bounds race";
    PyObject *words = Py_NewRef(value), *comma;
    uint32_t checks;
    int result;

    if (PyUnicode_Check(value)) { /* as in config.check: "bounds,race" */
        comma = PyUnicode_FromString(",");
        Py_SETREF(words, PyUnicode_GET_LENGTH(value) == 0 ? PyTuple_New(0)
                         : comma                          ? PyUnicode_Split(value, comma, -1)
                                                          : NULL);
        Py_XDECREF(comma);
        if (words == NULL)
            return -1;
    }
    result = read_words(r, words, lw_check_words, bits, expected, &checks);
    Py_DECREF(words);
    if (result == 0) {
        r->options->front.checks |= checks;
        r->options->race_given = (checks & LW_CHECK_RACE) != 0;
    }
    return result;
}

int
lw_keyword_order(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"canonical", "given", NULL};
    int which = read_word(r, value, words, "\"canonical\" or \"given\"");

    if (which < 0)
        return -1;
    r->arguments->keep_order = r->options->order_given = which == 1;
    return 0;
}

int
lw_keyword_source(lw_keyword_reader *r, PyObject *value)
{
    if (value != Py_None && !PyUnicode_Check(value))
        return wrong_type(r, "the function's text (str) or None", value);
    r->arguments->source = value == Py_None ? NULL : value;
    return 0;
}

static const char *
instead_of_objects(lw_door door)
{
    switch (door) {
    case LW_DOOR_VECTORIZE:
        return "there is no object mode: leave the keyword out, and the function is compiled; "
               "`numpy.vectorize(f)` calls the Python function for each element";
    case LW_DOOR_GUVECTORIZE:
        return "there is no object mode: leave the keyword out, and the function is compiled; "
               "`numpy.vectorize(f, signature=\"(n)->()\")` calls a Python function that "
               "returns its results for each item";
    default:
        return "there is no object mode, which runs the function as Python does: write it "
               "without the decorator, and move its loop to a compiled function that it "
               "calls, `@lanewise.jit` above `def loop(x): …`; or set "
               "`lanewise.config.target = \"python\"`, which compiles nothing";
    }
}

int
lw_keyword_nopython(lw_keyword_reader *r, PyObject *value)
{
    bool nopython;

    if (read_bool(r, value, &nopython) < 0)
        return -1;
    return nopython ? 0 : unsupported(instead_of_objects(r->door));
}

int
lw_keyword_debug(lw_keyword_reader *r, PyObject *value)
{
    r->options->debug_given = value != Py_None;
    return value == Py_None ? 0 : read_bool(r, value, &r->options->debug);
}

int
lw_keyword_opt(lw_keyword_reader *r, PyObject *value)
{
    r->options->opt_given = value != Py_None;
    return value == Py_None ? 0 : read_bool(r, value, &r->options->opt);
}

int
lw_keyword_max_blocksize(lw_keyword_reader *r, PyObject *value)
{
    const char *expected = "None or a multiple of 32 up to 1024 (threads a block)";
    int n;

    if (read_count(r, value, 1024, expected, &n) < 0)
        return -1;
    if (n % 32 != 0)
        return wrong_value(r, expected, value);
    r->options->max_blocksize = n;
    return 0;
}

int
lw_keyword_max_registers(lw_keyword_reader *r, PyObject *value)
{
    return read_count(r, value, 255, "None or an int from 1 to 255",
                      &r->options->max_registers);
}

int
lw_keyword_link(lw_keyword_reader *r, PyObject *value)
{
    r->arguments->link = value;
    return lw_link_check(value);
}

static bool
is_name(PyObject *item)
{
    return PyUnicode_Check(item) || (PyLong_Check(item) && !PyBool_Check(item));
}

/* Parameters by name or position: one, or a sequence or set of them. Whether there are such is
 * the door's to say. */
static int
read_names(const lw_keyword_reader *r, PyObject *value, PyObject **out)
{
    const char *expected =
        "a parameter's name (str) or position (int), or a list, tuple or set of these";
    PyObject *items;
    int failed = 0;

    *out = value == Py_None ? NULL : value;
    if (value == Py_None || is_name(value))
        return 0;
    items = PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value) ||
                    PyDictKeys_Check(value) || PyRange_Check(value)
                ? PySequence_Tuple(value)
                : NULL;
    if (items == NULL) {
        PyErr_Clear();
        return wrong_type(r, expected, value);
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(items); i++)
        if (!is_name(PyTuple_GET_ITEM(items, i)))
            failed = wrong_type(r, expected, value);
    if (PyTuple_GET_SIZE(items) == 0)
        *out = NULL;
    Py_DECREF(items);
    return failed;
}

int
lw_door_each_name(PyObject *names, int (*take)(void *context, PyObject *name), void *context)
{
    PyObject *items;
    int failed = 0;

    if (names == NULL)
        return 0;
    if (is_name(names))
        return take(context, names);
    items = PySequence_Tuple(names);
    for (Py_ssize_t i = 0; items && !failed && i < PyTuple_GET_SIZE(items); i++)
        failed = take(context, PyTuple_GET_ITEM(items, i));
    Py_XDECREF(items);
    return items == NULL ? -1 : failed;
}

int
lw_keyword_excluded(lw_keyword_reader *r, PyObject *value)
{
    return read_names(r, value, &r->arguments->excluded);
}

int
lw_keyword_static(lw_keyword_reader *r, PyObject *value)
{
    if (r->door == LW_DOOR_REDUCE)
        return read_empty(r, value,
                          "reduce does not accept static=: make the value a global or closure "
                          "variable of the function, which are constants there");
    return read_names(r, value, &r->arguments->constants);
}

/* ---- keywords of one door ---- */

int
lw_keyword_ndim(lw_keyword_reader *r, PyObject *value)
{
    const char *expected = "1, 2 or 3";
    int n;

    if (!PyLong_Check(value))
        return wrong_type(r, expected, value);
    if (read_count(r, value, 3, expected, &n) < 0)
        return -1;
    r->arguments->ndim = (uint32_t)n;
    return 0;
}

int
lw_keyword_commutative(lw_keyword_reader *r, PyObject *value)
{
    if (value != Py_None && !PyBool_Check(value))
        return wrong_type(r, "True, False or None", value);
    r->arguments->commutative = value == Py_None ? -1 : value == Py_True;
    return 0;
}

/* Each of numba's keywords has a meaning here or is refused; none is ignored. What inline,
 * forceinline and lto ask for is the case: a kernel and all it calls are compiled as one
 * function body; "never" is numba's default. */

int
lw_keyword_inline(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"never", "always", NULL};

    if (PyBool_Check(value))
        return 0;
    return read_word(r, value, words, "\"never\", \"always\" or a bool") < 0 ? -1 : 0;
}

int
lw_keyword_accepted(lw_keyword_reader *r, PyObject *value)
{
    bool unused;

    if (PyDict_Check(value)) {
        PyErr_SetString(PyExc_TypeError,
                        "parallel= must be True, False or None, not a dict: there are no "
                        "options for parts of numba's parallel target; loops over prange run "
                        "on all cores, and array expressions, too, with parallel=True");
        return -1;
    }
    return value == Py_None ? 0 : read_bool(r, value, &unused);
}

int
lw_keyword_cooperative(lw_keyword_reader *r, PyObject *value)
{
    return value == Py_None ? 0 : read_bool(r, value, &r->options->cooperative);
}

int
lw_keyword_boundscheck(lw_keyword_reader *r, PyObject *value)
{
    bool bounds = false;

    if (value != Py_None && read_bool(r, value, &bounds) < 0)
        return -1;
    if (bounds)
        r->options->front.checks |= LW_CHECK_BOUNDS;
    return 0;
}

int
lw_keyword_error_model(lw_keyword_reader *r, PyObject *value)
{
    static const char *const words[] = {"numpy", "python", NULL};
    int which = read_word(r, value, words, "\"numpy\" or \"python\"");

    if (which == 1)
        r->options->front.checks |= LW_CHECK_DIVIDE;
    return which < 0 ? -1 : 0;
}

/* forceobj and looplift ask for parts that the interpreter runs. */
int
lw_keyword_object_mode(lw_keyword_reader *r, PyObject *value)
{
    bool asked = false;

    if (value != Py_None && read_bool(r, value, &asked) < 0)
        return -1;
    return asked ? unsupported(instead_of_objects(r->door)) : 0;
}

/* CUDA's names for the share of an SM's memory that is shared memory. */
static const struct {
    const char *word;
    int percent;
} carveouts[] = {{"default", -1}, {"maxl1", 0}, {"maxshared", 100}};

int
lw_keyword_carveout(lw_keyword_reader *r, PyObject *value)
{
    static const char expected[] =
        "None, \"default\", \"MaxL1\", \"MaxShared\" or a percentage (it must be between -1 "
        "and 100; -1 is the default)";
    long percent;

    if (value == Py_None)
        return 0;
    if (PyUnicode_Check(value)) {
        PyObject *lower = PyObject_CallMethod(value, "lower", NULL);
        if (lower == NULL)
            return -1;
        for (size_t i = 0; i < sizeof carveouts / sizeof *carveouts; i++)
            if (PyUnicode_CompareWithASCIIString(lower, carveouts[i].word) == 0) {
                r->options->carveout = carveouts[i].percent;
                Py_DECREF(lower);
                return 0;
            }
        Py_DECREF(lower);
        PyErr_Format(PyExc_ValueError,
                     "Invalid carveout value: shared_memory_carveout= must be %s, not %R",
                     expected, value);
        return -1;
    }
    if (!PyLong_Check(value) || PyBool_Check(value))
        return wrong_type(r, expected, value);
    percent = PyLong_AsLong(value);
    if (percent == -1 && PyErr_Occurred())
        PyErr_Clear();
    else if (percent >= -1 && percent <= 100) {
        r->options->carveout = (int)percent;
        return 0;
    }
    return wrong_value(r, expected, value);
}

/* Objects that change arguments before a launch: the kernel keeps them. */
int
lw_keyword_extensions(lw_keyword_reader *r, PyObject *value)
{
    PyObject *items = value == Py_None ? PyTuple_New(0) : PySequence_Tuple(value);
    int result = items ? 0 : -1;

    if (items == NULL)
        PyErr_Clear();
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(items); i++)
        if (!PyObject_HasAttrString(PyTuple_GET_ITEM(items, i), "prepare_args"))
            result = -1;
    Py_XDECREF(items);
    return result < 0 ? wrong_type(r, "a list of objects with a method prepare_args", value)
                      : 0;
}

int
lw_keyword_launch_bounds(lw_keyword_reader *r, PyObject *value)
{
    static const char expected[] =
        "None, threads a block (1 to 1024), or a tuple of these, blocks an SM (1 to 32) and "
        "blocks a cluster (1 to 16)";
    static const long most[3] = {1024, 32, 16};
    int *to[3] = {&r->options->bound_threads, &r->options->bound_blocks,
                  &r->options->bound_cluster};
    Py_ssize_t n = PyTuple_Check(value) ? PyTuple_GET_SIZE(value) : 0;

    if (!PyTuple_Check(value))
        return read_count(r, value, most[0], expected, to[0]);
    if (n > 3) {
        PyErr_Format(PyExc_ValueError, "Got %zd launch bounds: launch_bounds= must be %s", n,
                     expected);
        return -1;
    }
    if (n < 1)
        return wrong_value(r, expected, value);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GET_ITEM(value, i) == Py_None)
            return wrong_type(r, expected, value);
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_count(r, PyTuple_GET_ITEM(value, i), most[i], expected, to[i]) < 0)
            return -1;
    return 0;
}
