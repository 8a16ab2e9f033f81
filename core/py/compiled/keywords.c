/* The keywords of the decorators, made from core/tables/keywords.def: reading them, refusing
 * others, and what docstrings say of them. Values of the wrong kind name the keyword, what was
 * expected and what came. What cannot be done is refused, never ignored. */
#include "core/py/numpy_api.h"

#include "core/py/compiled/keywords.h"

#include "core/base/env.h"
#include "core/front/diagnose.h"
#include "core/py/compiled/link_read.h"
#include "core/py/keyword.h"
#include "core/py/raise.h"

#include <stddef.h>
#include <string.h>

static int
number_of(lw_door door)
{
    int at = 0;

    while ((int)door != 1 << at)
        at++;
    return at;
}

const char *
lw_door_name(lw_door door)
{
    static const char *const names[] = {
#define DOOR(NAME, name, type) #name,
#include "core/tables/doors.def"
    };

    return names[number_of(door)];
}

const char *
lw_door_type(lw_door door)
{
    static const char *const types[] = {
#define DOOR(NAME, name, type) #type,
#include "core/tables/doors.def"
    };

    return types[number_of(door)];
}

typedef struct reader {
    lw_door door;
    lw_door_options *options;
    lw_door_arguments *arguments;
    const char *keyword;
    size_t at; /* offset of the field that the row of the keyword names */
} reader;

static int
wrong_type(const reader *r, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s= must be %s, not %.100s %.200R", r->keyword, expected,
                 Py_TYPE(value)->tp_name, value);
    return -1;
}

static int
wrong_value(const reader *r, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_ValueError, "%s= must be %s, not %.200R", r->keyword, expected, value);
    return -1;
}

/* ---- kinds of values ---- */

static int
read_bool(const reader *r, PyObject *value, bool *out)
{
    if (!PyBool_Check(value))
        return wrong_type(r, "True or False", value);
    *out = value == Py_True;
    return 0;
}

/* Which of the words (NULL ends them) the str is. */
static int
read_word(const reader *r, PyObject *value, const char *const *words, const char *expected)
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
read_count(const reader *r, PyObject *value, long most, const char *expected, int *out)
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
read_words(const reader *r, PyObject *value, const char *const *words, const uint32_t *bits,
           const char *expected, uint32_t *out)
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

static bool *
flag_at(lw_door_options *options, size_t at)
{
    return (bool *)((char *)options + at);
}

static int
read_flag(reader *r, PyObject *value)
{
    return read_bool(r, value, flag_at(r->options, r->at));
}

/* None leaves the field as it is. */
static int
read_object(reader *r, PyObject *value)
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
read_empty(const reader *r, PyObject *value, const char *message)
{
    Py_ssize_t n = value == Py_None ? 0 : PyObject_Size(value);

    if (n < 0) {
        PyErr_Clear();
        return wrong_type(r, "a sequence", value);
    }
    return n == 0 ? 0 : unsupported(message);
}

/* ---- keywords of all doors, or most ---- */

static lw_target_choice
default_target(void)
{
    const char *target = lw_env_text(LW_ENV_target);

    if (strcmp(target, "cuda") == 0)
        return LW_CHOOSE_CUDA;
    return strcmp(target, "auto") == 0 ? LW_CHOOSE_AUTO : LW_CHOOSE_CPU;
}

static int
read_target(reader *r, PyObject *value)
{
    static const char *const words[] = {"auto", "cpu", "cuda", "parallel", NULL};
    static const lw_target_choice choices[] = {LW_CHOOSE_AUTO, LW_CHOOSE_CPU, LW_CHOOSE_CUDA,
                                               LW_CHOOSE_CPU};
    int which = read_word(r, value, words, "\"auto\", \"cpu\", \"cuda\" or \"parallel\"");

    if (which < 0)
        return -1;
    r->options->target = choices[which];
    if (choices[which] == LW_CHOOSE_CUDA && default_target() == LW_CHOOSE_CPU)
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

static int
read_identity(reader *r, PyObject *value)
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

static int
read_typing(reader *r, PyObject *value)
{
    static const char *const words[] = {"weak", "numba", NULL};
    int which = read_word(r, value, words, "\"weak\" or \"numba\"");

    if (which < 0)
        return -1;
    r->options->front.typing = which == 0 ? LW_TYPING_WEAK : LW_TYPING_NUMBA;
    return 0;
}

static int
read_fastmath(reader *r, PyObject *value)
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

static int
read_math(reader *r, PyObject *value)
{
    static const char *const words[] = {"target", "same", NULL};
    int which = read_word(r, value, words, "\"target\" or \"same\"");

    if (which < 0)
        return -1;
    r->options->front.same_math = which == 1;
    return 0;
}

/* Keywords that contradict each other. */
static int
check_together(const lw_door_options *options)
{
    if (!options->front.same_math || options->front.fast == 0)
        return 0;
    PyErr_SetString(PyExc_ValueError,
                    "math=\"same\" and fastmath= exclude each other, because results with "
                    "fastmath depend on the target; leave one of them out");
    return -1;
}

static int
read_errors(reader *r, PyObject *value)
{
    static const char *const words[] = {"raise", "defer", "ignore", NULL};
    int which = read_word(r, value, words, "\"raise\", \"defer\" or \"ignore\"");

    if (which < 0)
        return -1;
    r->options->errors = which == 0 ? LW_RAISE : which == 1 ? LW_DEFER : LW_IGNORE;
    r->options->front.ignore_errors = which == 2;
    return 0;
}

static int
read_check(reader *r, PyObject *value)
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

static int
read_order(reader *r, PyObject *value)
{
    static const char *const words[] = {"canonical", "given", NULL};
    int which = read_word(r, value, words, "\"canonical\" or \"given\"");

    if (which < 0)
        return -1;
    r->arguments->keep_order = r->options->order_given = which == 1;
    return 0;
}

static int
read_source(reader *r, PyObject *value)
{
    if (value != Py_None && !PyUnicode_Check(value))
        return wrong_type(r, "the function's text (str) or None", value);
    r->arguments->source = value == Py_None ? NULL : value;
    return 0;
}

static int
read_nopython(reader *r, PyObject *value)
{
    bool nopython;

    if (read_bool(r, value, &nopython) < 0)
        return -1;
    return nopython ? 0 : wrong_value(r, "True or left out: there is no object mode", value);
}

static int
read_debug(reader *r, PyObject *value)
{
    r->options->debug_given = value != Py_None;
    return value == Py_None ? 0 : read_bool(r, value, &r->options->debug);
}

/* After the keywords. The setting `debug` changes no results: it adds no checks. */
static void
apply_debug(lw_door door, lw_door_options *options)
{
    bool shown = options->debug_given ? options->debug : lw_env_int(LW_ENV_debug) != 0;
    /* a reduction recognises its functions by their code, so it shows no variables */
    bool variables = shown && door != LW_DOOR_REDUCE;

    if (options->debug) /* Python's errors instead of NumPy's values */
        options->front.checks |=
            LW_CHECK_DIVIDE | LW_CHECK_BOUNDS | LW_CHECK_OVERFLOW | LW_CHECK_RACE;
    if (!options->opt_given)
        options->opt = !variables && lw_env_int(LW_ENV_opt) != 0;
    options->front.variables = variables && !options->opt;
}

static int
read_opt(reader *r, PyObject *value)
{
    r->options->opt_given = value != Py_None;
    return value == Py_None ? 0 : read_bool(r, value, &r->options->opt);
}

static int
read_max_blocksize(reader *r, PyObject *value)
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

static int
read_max_registers(reader *r, PyObject *value)
{
    return read_count(r, value, 255, "None or an int from 1 to 255",
                      &r->options->max_registers);
}

static int
read_link(reader *r, PyObject *value)
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
read_names(const reader *r, PyObject *value, PyObject **out)
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

static int
read_excluded(reader *r, PyObject *value)
{
    return read_names(r, value, &r->arguments->excluded);
}

static int
read_static(reader *r, PyObject *value)
{
    if (r->door == LW_DOOR_REDUCE)
        return read_empty(r, value,
                          "reduce does not accept static=: make the value a global or closure "
                          "variable of the function, which are constants there");
    return read_names(r, value, &r->arguments->constants);
}

/* ---- keywords of one door ---- */

static int
read_ndim(reader *r, PyObject *value)
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

static int
read_commutative(reader *r, PyObject *value)
{
    if (value != Py_None && !PyBool_Check(value))
        return wrong_type(r, "True, False or None", value);
    r->arguments->commutative = value == Py_None ? -1 : value == Py_True;
    return 0;
}

/* Each of numba's keywords has a meaning here or is refused; none is ignored. What inline,
 * forceinline and lto ask for is the case: a kernel and all it calls are compiled as one
 * function body; "never" is numba's default. */

static int
read_inline(reader *r, PyObject *value)
{
    static const char *const words[] = {"never", "always", NULL};

    if (PyBool_Check(value))
        return 0;
    return read_word(r, value, words, "\"never\", \"always\" or a bool") < 0 ? -1 : 0;
}

static int
read_accepted(reader *r, PyObject *value)
{
    bool unused;

    if (PyDict_Check(value)) {
        PyErr_SetString(PyExc_TypeError,
                        "parallel= must be True, False or None, not a dict: there are no "
                        "options for parts of numba's parallel target; loops over prange run "
                        "on all cores, and nothing else does");
        return -1;
    }
    return value == Py_None ? 0 : read_bool(r, value, &unused);
}

static int
read_cooperative(reader *r, PyObject *value)
{
    return value == Py_None ? 0 : read_bool(r, value, &r->options->cooperative);
}

static int
read_boundscheck(reader *r, PyObject *value)
{
    bool bounds = false;

    if (value != Py_None && read_bool(r, value, &bounds) < 0)
        return -1;
    if (bounds)
        r->options->front.checks |= LW_CHECK_BOUNDS;
    return 0;
}

static int
read_error_model(reader *r, PyObject *value)
{
    static const char *const words[] = {"numpy", "python", NULL};
    int which = read_word(r, value, words, "\"numpy\" or \"python\"");

    if (which == 1)
        r->options->front.checks |= LW_CHECK_DIVIDE;
    return which < 0 ? -1 : 0;
}

static const char *
instead_of_objects(lw_door door)
{
    switch (door) {
    case LW_DOOR_VECTORIZE:
        return "there is no object mode: leave forceobj= out, and the function is compiled; "
               "`numpy.vectorize(f)` calls the Python function for each element";
    case LW_DOOR_GUVECTORIZE:
        return "there is no object mode: leave forceobj= out, and the function is compiled; "
               "`numpy.vectorize(f, signature=\"(n)->()\")` calls a Python function that "
               "returns its results for each item";
    default:
        return "there is no object mode, which runs the function as Python does: write it "
               "without the decorator, and move its loop to a compiled function that it "
               "calls, `@lanewise.jit` above `def loop(x): …`; or set "
               "`lanewise.config.target = \"python\"`, which compiles nothing";
    }
}

/* forceobj and looplift ask for parts that the interpreter runs. */
static int
read_object_mode(reader *r, PyObject *value)
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

static int
read_carveout(reader *r, PyObject *value)
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
static int
read_extensions(reader *r, PyObject *value)
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

static int
read_launch_bounds(reader *r, PyObject *value)
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

/* ---- the table ---- */

enum {
#define DOOR(NAME, name, type) NAME = LW_DOOR_##NAME,
#include "core/tables/doors.def"
    UFUNCS = VECTORIZE | GUVECTORIZE,
    EVERY = (1 << LW_N_DOORS) - 1
};

static const struct keyword {
    const char *name;
    uint32_t doors;
    int (*read)(reader *r, PyObject *value);
    size_t at;
    const char *shown, *doc;
} keywords_known[] = {
#define FLAG(field)                                  read_flag, offsetof(lw_door_options, field)
#define OBJECT(field)                                read_object, offsetof(lw_door_arguments, field)
#define BY(function)                                 read_##function, 0
#define KEYWORD(name, doors, read, shown, type, doc) {#name, doors, read, shown, doc},
#include "core/tables/keywords.def"
#undef BY
#undef OBJECT
#undef FLAG
};

enum { N_KEYWORDS = sizeof keywords_known / sizeof *keywords_known };

static const struct {
    const char *name, *hint;
} foreign[] = {
#define FOREIGN_KEYWORD(name, hint) {#name, hint},
#include "core/tables/foreign_keywords.def"
};

static const char *
hint_for(PyObject *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (PyUnicode_CompareWithASCIIString(name, foreign[i].name) == 0)
            return foreign[i].hint;
    return NULL;
}

static void
refuse_keyword(lw_door door, PyObject *name)
{
    const char *names[N_KEYWORDS], *hint = hint_for(name), *word, *near;
    lw_error err = {0};
    size_t n = 0;

    word = PyUnicode_AsUTF8(name);
    PyErr_Clear();
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (keywords_known[i].doors & door)
            names[n++] = keywords_known[i].name;
    near = hint || !word ? NULL : lw_nearest(word, names, (uint32_t)n);
    lw_fail(&err, LW_ERR_KEYWORD,
            "Unrecognized options: %s() got an unexpected keyword argument '%.100s'%s%s%s%s%s",
            lw_door_name(door), word ? word : "?", hint ? ": " : "", hint ? hint : "",
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    lw_py_raise(&err);
}

static const struct keyword *
find_keyword(lw_door door, PyObject *name)
{
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if ((keywords_known[i].doors & door) &&
            PyUnicode_CompareWithASCIIString(name, keywords_known[i].name) == 0)
            return &keywords_known[i];
    refuse_keyword(door, name);
    return NULL;
}

/* What lw_door_read begins with, for the object that this thread makes anew. */
static _Thread_local bool told_before;

bool
lw_door_told(bool told)
{
    bool before = told_before;

    told_before = told;
    return before;
}

int
lw_door_read(lw_door door, PyObject *signatures, PyObject *keywords, lw_door_options *options,
             lw_door_arguments *arguments)
{
    reader r = {.door = door, .options = options, .arguments = arguments};
    PyObject *name, *value;
    Py_ssize_t at = 0;

    *options = (lw_door_options){.target = default_target(),
                                 .checks_everywhere = lw_checks_everywhere(),
                                 .carveout = -1,
                                 .told_sums = told_before};
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (keywords_known[i].read == read_flag)
            *flag_at(options, keywords_known[i].at) = keywords_known[i].shown[0] == 'T';
    options->front.checks = options->checks_everywhere;
    /* Functions of elements have no arrays to index but constants and excluded ones. */
    options->front.guards = (door & (UFUNCS | LW_DOOR_REDUCE)) != 0;
    *arguments = (lw_door_arguments){
        .signatures = signatures, .identity = Py_None, .ndim = 1, .commutative = -1};
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value)) {
        const struct keyword *known = find_keyword(door, name);
        if (known == NULL)
            return -1;
        r.keyword = known->name;
        r.at = known->at;
        if (known->read(&r, value) < 0)
            return -1;
    }
    apply_debug(door, options);
    return check_together(options);
}

int
lw_keywords_default(PyObject *keywords, const char *name, const char *word)
{
    PyObject *key = PyUnicode_FromString(name), *value = PyUnicode_FromString(word);
    int result = -1;

    if (key != NULL && value != NULL)
        result = PyDict_SetDefault(keywords, key, value) != NULL ? 0 : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return result;
}

/* ---- docstrings ---- */

enum { LINE = 90 };

/* "vectorize(signatures=None, *, target='auto', …)", in lines. */
static void
add_signature(lw_text *text, lw_door door, const char *first)
{
    int indent = (int)strlen(lw_door_name(door)) + 1;
    size_t line;

    lw_text_addf(text, "%s(%s", lw_door_name(door), first);
    line = text->n;
    for (size_t i = 0; i < N_KEYWORDS; i++) {
        const struct keyword *k = &keywords_known[i];
        size_t n = strlen(k->name) + strlen(k->shown) + strlen(", =,");
        if (!(k->doors & door))
            continue;
        if (line + n > LINE) {
            lw_text_addf(text, ",\n%*s", indent, "");
            line = (size_t)indent;
        } else {
            lw_text_add(text, ", ");
        }
        lw_text_addf(text, "%s=%s", k->name, k->shown);
        line += n;
    }
    lw_text_add(text, ")\n--\n\n");
}

/* It stays as long as the row that it is made for. NULL with an exception. */
static const char *
docstring(lw_door door, const char *first, const char *what)
{
    lw_text text = {0};

    add_signature(&text, door, first);
    lw_text_addf(
        &text,
        door == LW_DOOR_REDUCE
            ? "%s\n\nThe decorator raises KeywordError for an unknown keyword. A "
              "function that cannot be compiled\nraises CompileError in the first call "
              "with new types of arguments.\n\nKeywords:\n"
            : "%s\n\nThe decorator raises KeywordError for an unknown keyword, and "
              "SignatureError for a wrong signature.\nA function that cannot be "
              "compiled raises CompileError: at once if there are signatures, "
              "otherwise in\nthe first call with new types of arguments."
              "\n\nKeywords:\n",
        what);
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (keywords_known[i].doors & door)
            lw_text_addf(&text, "  %s: %s\n", keywords_known[i].name, keywords_known[i].doc);
    if (text.failed) {
        lw_text_reset(&text);
        PyErr_NoMemory();
        return NULL;
    }
    return lw_text_get(&text);
}

int
lw_door_add(PyObject *module, PyObject *into, PyMethodDef *row, lw_door door, const char *first,
            const char *what)
{
    PyObject *name, *function = NULL;
    int failed = -1;

    if (row->ml_doc == NULL)
        row->ml_doc = docstring(door, first, what);
    name = row->ml_doc ? PyModule_GetNameObject(into) : NULL;
    if (name != NULL)
        function = PyCFunction_NewEx(row, module, name);
    if (function != NULL)
        failed = PyModule_AddObjectRef(into, row->ml_name, function);
    Py_XDECREF(function);
    Py_XDECREF(name);
    return failed;
}
