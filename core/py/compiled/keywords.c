/* The keywords of the decorators, made from core/tables/keywords.def: reading them, refusing
 * others, and what docstrings say of them. */
#include "core/py/numpy_api.h"

#include "core/py/compiled/keywords.h"

#include "core/base/env.h"
#include "core/front/diagnose.h"
#include "core/py/compiled/keywords_internal.h"
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
    int (*read)(lw_keyword_reader *r, PyObject *value);
    size_t at;
    const char *shown, *doc;
} keywords_known[] = {
#define FLAG(field)                                  lw_keyword_flag, offsetof(lw_door_options, field)
#define OBJECT(field)                                lw_keyword_object, offsetof(lw_door_arguments, field)
#define BY(function)                                 lw_keyword_##function, 0
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
    lw_keyword_reader r = {.door = door, .options = options, .arguments = arguments};
    PyObject *name, *value;
    Py_ssize_t at = 0;

    *options = (lw_door_options){.target = lw_default_target(),
                                 .checks_everywhere = lw_checks_everywhere(),
                                 .carveout = -1,
                                 .told_sums = told_before};
    for (size_t i = 0; i < N_KEYWORDS; i++)
        if (keywords_known[i].read == lw_keyword_flag)
            *lw_keyword_flag_at(options, keywords_known[i].at) =
                keywords_known[i].shown[0] == 'T';
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
lw_keywords_set_typing(PyObject *keywords, const char *word)
{
    PyObject *key = PyUnicode_FromString("typing"), *value = PyUnicode_FromString(word);
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
