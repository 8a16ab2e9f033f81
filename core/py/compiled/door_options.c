/* The keywords of a generator. One row a keyword; unknown ones are a TypeError, values of the
 * wrong kind name the keyword, what was expected and what came. What cannot be done yet is
 * refused, never ignored. */
#include "core/py/numpy_api.h"

#include "core/py/compiled/door_options.h"

#include "core/base/env.h"
#include "core/front/read/services.h"
#include "core/py/compiled/link_read.h"
#include "core/py/keyword.h"
#include "core/py/raise.h"

#include <stdatomic.h>
#include <string.h>

static const char *
name_of(lw_door door)
{
    switch (door) {
    case LW_DOOR_VECTORIZE: return "vectorize";
    case LW_DOOR_FORALL: return "forall";
    case LW_DOOR_GUVECTORIZE: return "guvectorize";
    case LW_DOOR_REDUCE: return "reduce";
    default: return "jit";
    }
}

typedef struct reader {
    lw_door door;
    lw_door_options *options;
    lw_door_arguments *arguments;
    const char *keyword;
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

/* ---- keywords ---- */

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

static int
read_identity(reader *r, PyObject *value)
{
    if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "reorderable") != 0)
        return wrong_value(r, "a number, None, or \"reorderable\"", value);
    if (value != Py_None && !PyUnicode_Check(value) && !PyLong_Check(value) &&
        !PyFloat_Check(value) && !PyComplex_Check(value) && !PyArray_IsScalar(value, Number) &&
        !PyArray_IsScalar(value, Bool))
        return wrong_type(r, "a number, None, or \"reorderable\"", value);
    r->arguments->identity = value;
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

const char *const lw_check_words[] = {
#define CHECK(name, word, raises, where) word,
#include "core/tables/checks.def"
    NULL};

static int
read_check(reader *r, PyObject *value)
{
    static const uint32_t bits[] = {
#define CHECK(name, word, raises, where) LW_CHECK_##name,
#include "core/tables/checks.def"
    };
    uint32_t checks;

    if (read_words(r, value, lw_check_words, bits, "a set of divide overflow nan bounds race",
                   &checks) < 0)
        return -1;
    r->options->front.checks |= checks;
    return 0;
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
    return nopython ? 0 : wrong_value(r, "True: there is no object mode", value);
}

static int
read_debug(reader *r, PyObject *value)
{
    if (read_bool(r, value, &r->options->debug) < 0)
        return -1;
    if (r->options->debug) /* Python's errors instead of NumPy's values */
        r->options->front.checks |=
            LW_CHECK_DIVIDE | LW_CHECK_BOUNDS | LW_CHECK_OVERFLOW | LW_CHECK_RACE;
    return 0;
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
                ? PySequence_Fast(value, "")
                : NULL;
    if (items == NULL) {
        PyErr_Clear();
        return wrong_type(r, expected, value);
    }
    for (Py_ssize_t i = 0; !failed && i < PySequence_Fast_GET_SIZE(items); i++)
        if (!is_name(PySequence_Fast_GET_ITEM(items, i)))
            failed = wrong_type(r, expected, value);
    if (PySequence_Fast_GET_SIZE(items) == 0)
        *out = NULL;
    Py_DECREF(items);
    return failed;
}

static int
read_excluded(reader *r, PyObject *value)
{
    return read_names(r, value, &r->arguments->excluded);
}

static int
read_static(reader *r, PyObject *value)
{
    return read_names(r, value, &r->arguments->constants);
}

/* Keywords of doors that do not have them yet: fine while empty. */
static int
read_not_yet(reader *r, PyObject *value)
{
    lw_error err = {0};
    Py_ssize_t n = value == Py_None ? 0 : PyObject_Size(value);

    if (n < 0) {
        PyErr_Clear();
        return wrong_type(r, "a sequence", value);
    }
    if (n == 0)
        return 0;
    if (strcmp(r->keyword, "static") == 0)
        lw_fail(&err, LW_ERR_UNSUPPORTED,
                "static= is no keyword of %s: make the value a global or closure variable of "
                "the function, which are constants there",
                name_of(r->door));
    else
        lw_fail(&err, LW_ERR_UNSUPPORTED, "%s= is not supported yet by %s: leave it empty",
                r->keyword, name_of(r->door));
    lw_py_raise(&err);
    return -1;
}

#define FLAG(name, field)                                                                      \
    static int read_##name(reader *r, PyObject *value)                                         \
    {                                                                                          \
        return read_bool(r, value, &r->options->field);                                        \
    }
FLAG(cache, cache)
FLAG(lineinfo, lineinfo)
FLAG(opt, opt)
FLAG(fma, front.fma)
FLAG(precise, front.precise)
FLAG(warn, warn)
#undef FLAG

enum {
    UFUNCS = LW_DOOR_VECTORIZE | LW_DOOR_GUVECTORIZE,
    EVERY = UFUNCS | LW_DOOR_FORALL | LW_DOOR_JIT | LW_DOOR_REDUCE
};
/* Doors that link what they compile with link=. */
enum { LINKS = UFUNCS | LW_DOOR_FORALL | LW_DOOR_JIT };

static const struct keyword {
    const char *name;
    int (*read)(reader *r, PyObject *value);
    uint32_t doors;
} keywords_known[] = {
    {"target", read_target, EVERY},
    {"identity", read_identity, UFUNCS},
    {"typing", read_typing, EVERY},
    {"fastmath", read_fastmath, EVERY},
    {"cache", read_cache, EVERY},
    {"link", read_link, LINKS},
    {"link", read_not_yet, EVERY & ~(uint32_t)LINKS},
    {"debug", read_debug, EVERY},
    {"lineinfo", read_lineinfo, EVERY},
    {"opt", read_opt, EVERY},
    {"fma", read_fma, EVERY},
    {"precise", read_precise, EVERY},
    {"max_registers", read_max_registers, EVERY},
    {"max_blocksize", read_max_blocksize, EVERY},
    {"excluded", read_excluded, UFUNCS},
    {"static", read_static, EVERY & ~(uint32_t)LW_DOOR_REDUCE},
    {"static", read_not_yet, LW_DOOR_REDUCE},
    {"errors", read_errors, EVERY},
    {"check", read_check, EVERY},
    {"order", read_order, UFUNCS},
    {"source", read_source, EVERY},
    {"warn", read_warn, EVERY},
    {"nopython", read_nopython, EVERY},
};

#define N_KEYWORDS (sizeof keywords_known / sizeof *keywords_known)

/* Keywords of numba and NumPy, and what there is in their place. */
static const struct {
    const char *name, *hint;
} foreign[] = {
    {"parallel", "lanewise.forall and ufuncs run on all cores as they are; a loop over prange "
                 "is the body of a lanewise.forall function"},
    {"nogil", "the GIL is released in every call as it is"},
    {"error_model", "division by zero gives NumPy's values; check={'divide'} raises"},
    {"boundscheck", "use check={'bounds'}"},
    {"forceobj", "there is no object mode"},
    {"looplift", "there is no object mode"},
    {"locals", "annotate the variable in the function: `a: float32 = …`"},
    {"inline", "what a function calls is always compiled into it"},
    {"forceinline", "what a function calls is always compiled into it"},
    {"device", "functions that others call need no decorator, or lanewise.jit(device=True)"},
    {"ftz", "fastmath=True has it"},
    {"prec_div", "fastmath={'arcp'} allows the faster division"},
    {"prec_sqrt", "fastmath=True has it"},
    {"signature", "signatures are the first argument"},
    {"argtypes", "signatures are the first argument: 'float64(float64)'"},
    {"restype", "signatures are the first argument: 'float64(float64)'"},
    {"otypes", "signatures are the first argument: 'float64(float64)'"},
    {"pipeline_class", NULL},
    {"no_cfunc_wrapper", NULL},
    {"no_cpython_wrapper", NULL},
    {"no_rewrites", NULL},
};

static const char *
hint_for(PyObject *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (PyUnicode_CompareWithASCIIString(name, foreign[i].name) == 0)
            return foreign[i].hint ? foreign[i].hint : "leave it out";
    return NULL;
}

/* What the doors take out before they ask for the rest: names to be near to. */
static const struct {
    const char *name;
    uint32_t doors;
} taken_before[] = {
    {"ndim", LW_DOOR_FORALL},        {"layout", LW_DOOR_GUVECTORIZE},
    {"sizes", LW_DOOR_GUVECTORIZE},  {"writable_args", LW_DOOR_GUVECTORIZE},
    {"combine", LW_DOOR_REDUCE},     {"map", LW_DOOR_REDUCE},
    {"finish", LW_DOOR_REDUCE},      {"identity", LW_DOOR_REDUCE},
    {"commutative", LW_DOOR_REDUCE}, {"device", LW_DOOR_JIT},
    {"inline", LW_DOOR_JIT},         {"forceinline", LW_DOOR_JIT},
    {"cooperative", LW_DOOR_JIT},    {"launch_bounds", LW_DOOR_JIT},
    {"boundscheck", LW_DOOR_JIT},
};

static void
refuse_keyword(lw_door door, PyObject *name)
{
    enum { N_TAKEN = sizeof taken_before / sizeof *taken_before };
    const char *names[N_KEYWORDS + N_TAKEN], *hint = hint_for(name);
    size_t n = 0;

    if (hint != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.100U': %s",
                     name_of(door), name, hint);
        return;
    }
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (keywords_known[i].doors & door)
            names[n++] = keywords_known[i].name;
    for (size_t i = 0; i < N_TAKEN; i++)
        if (taken_before[i].doors & door)
            names[n++] = taken_before[i].name;
    lw_keyword_refuse(name_of(door), name, names, n);
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
                                 .front.fma = true,
                                 .cache = true,
                                 .lineinfo = true,
                                 .opt = true,
                                 .warn = true,
                                 .told_sums = told_before};
    options->front.checks = options->checks_everywhere;
    options->front.guards = (door & UFUNCS) != 0; /* which have no arrays to index but these */
    *arguments = (lw_door_arguments){.signatures = signatures, .identity = Py_None};
    while (keywords != NULL && PyDict_Next(keywords, &at, &name, &value)) {
        const struct keyword *known = find_keyword(door, name);
        if (known == NULL)
            return -1;
        r.keyword = known->name;
        if (known->read(&r, value) < 0)
            return -1;
    }
    return 0;
}

/* ---- the setting `check` ---- */

/* Words with commas between them; config.py has refused others. */
static uint32_t
bits_of(const char *text)
{
    uint32_t bits = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        for (uint32_t i = 0; lw_check_words[i] != NULL; i++)
            if (strlen(lw_check_words[i]) == n && strncmp(text, lw_check_words[i], n) == 0)
                bits |= 1u << i;
        text += n + (text[n] == ',');
    }
    return bits;
}

/* Read again where any setting has changed: the version above the bits. */
uint32_t
lw_checks_everywhere(void)
{
    static _Atomic uint64_t known; /* version + 1, and the bits in the low byte */
    uint64_t version = lw_env_version() + 1, seen = atomic_load(&known);

    if (seen >> 8 != version) {
        seen = version << 8 | bits_of(lw_env_text(LW_ENV_check));
        atomic_store(&known, seen);
    }
    return (uint32_t)(seen & 0xff);
}

bool
lw_door_checks_changed(const lw_door_options *options)
{
    return options->checks_everywhere != lw_checks_everywhere();
}

bool
lw_door_watches_elements(const lw_door_options *options)
{
    return (options->front.checks & LW_CHECK_RACE) != 0 && options->errors != LW_IGNORE;
}

lw_build_options
lw_door_build_options(const lw_door_options *options, const char *name)
{
    return (lw_build_options){.use_disk = options->cache,
                              .precise = options->front.precise,
                              .opt = options->opt,
                              .lineinfo = options->lineinfo,
                              .watch =
                                  options->front.checks ? LW_WATCH_SHARED : LW_WATCH_NOTHING,
                              .ftz = options->front.fast == LW_FAST_ALL,
                              .fast_div = (options->front.fast & LW_FAST_ARCP) != 0,
                              .max_registers = options->max_registers,
                              .name = name};
}

/* ---- warnings ---- */

int
lw_door_warn(const lw_door_options *options, const char *class, const char *text)
{
    PyObject *category;
    int result = -1;

    if (!options->warn)
        return 0;
    category = lw_service_find(LW_SERVICE_ERRORS, class);
    if (category != NULL)
        result = PyErr_WarnEx(category, text, 1);
    Py_XDECREF(category);
    return result;
}

int
lw_door_warn_of_sums(lw_door_options *options, const char *warning)
{
    if (warning == NULL || options->told_sums)
        return 0;
    options->told_sums = true;
    return lw_door_warn(options, "PrecisionWarning", warning);
}
