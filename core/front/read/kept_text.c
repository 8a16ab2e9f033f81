/* Texts that Python keeps, though not in linecache:
 *   `python -c text`          in sys.orig_argv, the arguments of the interpreter
 *   `python < file`           in the file that is standard input, which can be read once more
 *   timeit                    in the timer that called the generated function
 *   a prompt                  before Python 3.13, in the history of readline
 *   exec, eval                in a variable of a function that is running
 * The file name of the code says which of them is meant. Other code may have the same file name
 * (exec has "<string>", too), so whoever asks verifies what is found. */
#include "core/front/read/kept_text.h"

#include "core/front/read/ast.h"

#include <frameobject.h> /* PyFrame_GetBack, which Python.h declares from 3.11 on */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs are shorter; what is longer is data that was redirected to standard input. */
enum { MOST_INPUT_BYTES = 16 << 20 };

/* ---- python -c ---- */

/* Options whose value is the next argument, if it is not in the same one. */
static bool
has_value(char option)
{
    return option == 'W' || option == 'X' || option == 'Q';
}

static const char *
argument(PyObject *argv, Py_ssize_t i)
{
    PyObject *item = i < PyList_GET_SIZE(argv) ? PyList_GET_ITEM(argv, i) : NULL;
    const char *text = item && PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;

    if (text == NULL)
        PyErr_Clear(); /* bytes that are no text */
    return text ? text : "";
}

/* What follows -c among the interpreter's own options, as in `-c text`, `-ctext`, `-Ec text`;
 * NULL: there is none. */
static const char *
command_of(PyObject *argv)
{
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(argv); i++) {
        const char *option = argument(argv, i);
        if (strcmp(option, "--check-hash-based-pycs") == 0) {
            i++;
            continue;
        }
        if (option[0] != '-' || option[1] == '\0')
            return NULL; /* the program's name or `-`: what follows belongs to the program */
        if (option[1] == '-')
            continue;
        for (option++; *option != '\0'; option++) {
            if (*option == 'c')
                return option[1] != '\0' ? option + 1 : argument(argv, i + 1);
            if (*option == 'm')
                return NULL;
            if (!has_value(*option))
                continue;
            i += option[1] == '\0';
            break;
        }
    }
    return NULL;
}

static PyObject *
command_text(PyObject *Py_UNUSED(filename))
{
    PyObject *argv = PySys_GetObject("orig_argv"); /* borrowed */
    const char *text = argv && PyList_Check(argv) ? command_of(argv) : NULL;

    return text ? PyUnicode_FromString(text) : NULL;
}

/* ---- python < file ---- */

/* pread leaves the position where it is, so that the program's own reads are not disturbed. A
 * pipe or a terminal cannot be read again. */
static PyObject *
input_text(PyObject *Py_UNUSED(filename))
{
    struct stat status;
    PyObject *bytes, *text = NULL;
    Py_ssize_t n = 0;

    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > MOST_INPUT_BYTES)
        return NULL;
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)status.st_size);
    while (bytes != NULL && n < PyBytes_GET_SIZE(bytes)) {
        ssize_t got = pread(STDIN_FILENO, PyBytes_AS_STRING(bytes) + n,
                            (size_t)(PyBytes_GET_SIZE(bytes) - n), (off_t)n);
        if (got <= 0)
            break;
        n += got;
    }
    if (bytes != NULL)
        text = PyUnicode_Decode(PyBytes_AS_STRING(bytes), n, "utf-8-sig", "replace");
    Py_XDECREF(bytes);
    return text;
}

/* ---- timeit ---- */

/* The local variable `self` of the frame: a new reference, or NULL. */
static PyObject *
self_of_frame(PyFrameObject *frame)
{
    PyObject *locals = PyObject_GetAttrString((PyObject *)frame, "f_locals");
    PyObject *self = locals ? PyMapping_GetItemString(locals, "self") : NULL;

    Py_XDECREF(locals);
    return self;
}

static PyObject *
caller_text(PyFrameObject *caller)
{
    PyObject *self = caller ? self_of_frame(caller) : NULL;
    PyObject *text = self ? PyObject_GetAttrString(self, "src") : NULL;

    Py_XDECREF(self);
    if (text != NULL && !PyUnicode_Check(text))
        Py_CLEAR(text);
    return text;
}

/* The caller of the code with this file name is the timer, which has the text in `src`. */
static PyObject *
timer_text(PyObject *filename)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *text = NULL;

    Py_XINCREF(frame);
    while (frame != NULL && text == NULL) {
        PyFrameObject *caller = PyFrame_GetBack(frame);
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (PyUnicode_Compare(code->co_filename, filename) == 0)
            text = caller_text(caller);
        if (text == NULL)
            lw_read_clear();
        Py_DECREF(code);
        Py_SETREF(frame, caller);
    }
    Py_XDECREF(frame);
    return text;
}

/* ---- entry points ---- */

static const struct {
    const char *filename;
    PyObject *(*text)(PyObject *filename); /* new str; NULL: none, or with an exception */
} kept[] = {
    {"<string>", command_text},
    {"<stdin>", input_text},
    {"<timeit-src>", timer_text},
};

enum { N_KEPT = sizeof kept / sizeof *kept };

static int
find_kept(PyObject *filename)
{
    int i = 0;

    while (i < N_KEPT && PyUnicode_CompareWithASCIIString(filename, kept[i].filename) != 0)
        i++;
    return i;
}

bool
lw_kept_name(PyObject *filename)
{
    return find_kept(filename) < N_KEPT;
}

PyObject *
lw_kept_lines(PyObject *filename)
{
    int i = find_kept(filename);
    PyObject *text = i < N_KEPT ? kept[i].text(filename) : NULL, *lines;

    if (text == NULL)
        return PyErr_Occurred() ? NULL : PyList_New(0);
    lines = PyObject_CallMethod(text, "splitlines", "O", Py_True);
    Py_DECREF(text);
    return lines;
}

/* ---- the prompt ---- */

/* The history without readline's own lines of earlier sessions would be enough, but it does not
 * tell them apart. A line that repeats the one before it is not in it. */
static PyObject *
history(PyObject *readline)
{
    enum { MOST_LINES = 1000 };
    PyObject *count = PyObject_CallMethod(readline, "get_current_history_length", NULL);
    long n = count ? PyLong_AsLong(count) : 0;
    PyObject *lines = PyList_New(0);

    for (long i = n > MOST_LINES ? n - MOST_LINES + 1 : 1; lines != NULL && i <= n; i++) {
        PyObject *item = PyObject_CallMethod(readline, "get_history_item", "l", i);
        PyObject *line =
            item && PyUnicode_Check(item) ? PyUnicode_FromFormat("%U\n", item) : NULL;
        if (line == NULL || PyList_Append(lines, line) < 0)
            PyErr_Clear(); /* a line that is no text */
        Py_XDECREF(item);
        Py_XDECREF(line);
    }
    PyErr_Clear();
    Py_XDECREF(count);
    return lines;
}

PyObject *
lw_typed_lines(PyObject *filename)
{
    bool is_prompt =
        PyUnicode_CompareWithASCIIString(filename, "<stdin>") == 0 && isatty(STDIN_FILENO);
    PyObject *modules = is_prompt ? PySys_GetObject("modules") : NULL; /* borrowed */
    PyObject *readline =
        modules && PyDict_Check(modules) ? PyDict_GetItemString(modules, "readline") : NULL;

    return readline ? history(readline) : PyList_New(0);
}

/* ---- exec and eval ---- */

/* Each text that is tried is parsed. */
enum { MOST_FRAMES = 64, MOST_TEXTS = 64, MOST_CHARACTERS = 1 << 20 };

static bool
may_define(PyObject *text, PyObject *name, bool is_lambda)
{
    PyObject *word = is_lambda ? PyUnicode_FromString("lambda") : Py_NewRef(name);
    bool may = word != NULL && PyUnicode_GET_LENGTH(text) <= MOST_CHARACTERS &&
               PyUnicode_Find(text, word, 0, PyUnicode_GET_LENGTH(text), 1) >= 0;

    Py_XDECREF(word);
    return may;
}

static bool
add_texts(PyObject *values, PyObject *name, bool is_lambda, PyObject *texts)
{
    Py_ssize_t n = PyList_GET_SIZE(values);

    for (Py_ssize_t i = 0; i < n && PyList_GET_SIZE(texts) < MOST_TEXTS; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        if (PyUnicode_Check(value) && may_define(value, name, is_lambda) &&
            PyList_Append(texts, value) < 0)
            return false;
    }
    return true;
}

PyObject *
lw_frame_texts(PyObject *name, bool is_lambda)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *texts = PyList_New(0);

    Py_XINCREF(frame);
    for (int depth = 0; frame != NULL && texts != NULL && depth < MOST_FRAMES; depth++) {
        PyObject *locals = PyObject_GetAttrString((PyObject *)frame, "f_locals");
        PyObject *values = locals ? PyMapping_Values(locals) : NULL;
        if (values == NULL)
            lw_read_clear(); /* a namespace of a class that has no values() */
        else if (!add_texts(values, name, is_lambda, texts))
            Py_CLEAR(texts);
        Py_XDECREF(values);
        Py_XDECREF(locals);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    return texts;
}

/* ---- why there is none ---- */

static bool
is_missing_file(PyObject *filename)
{
    PyObject *path = PyUnicode_EncodeFSDefault(filename);
    bool missing = path != NULL && access(PyBytes_AS_STRING(path), R_OK) != 0;

    PyErr_Clear();
    Py_XDECREF(path);
    return missing;
}

lw_no_text
lw_why_no_text(PyObject *filename)
{
    static const lw_no_text
        prompt = {"a prompt without readline keeps none",
                  "define it in a file or a notebook cell, or pass the "
                  "text with `source=`"},
        pipe = {"a program that came through a pipe cannot be read again",
                "write it to a file first, `cat > program.py <<'EOF'`, or "
                "pass the function's text with `source=`"},
        string =
            {"exec and eval keep none, and no variable of the calling functions holds the text",
             "pass the text with `source=`, or define the function in "
             "a file"},
        missing = {"its file is not there",
                   "put the .py file next to the .pyc, or pass the text "
                   "with `source=`"},
        other = {"Python keeps none for it",
                 "pass the text with `source=`, or define the function in "
                 "a file or a notebook cell"};

    if (PyUnicode_CompareWithASCIIString(filename, "<stdin>") == 0)
        return isatty(STDIN_FILENO) ? prompt : pipe;
    if (PyUnicode_CompareWithASCIIString(filename, "<string>") == 0)
        return string;
    if (PyUnicode_GetLength(filename) > 0 && PyUnicode_READ_CHAR(filename, 0) != '<' &&
        is_missing_file(filename))
        return missing;
    return other;
}
