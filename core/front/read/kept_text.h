/* Program texts that linecache does not know but that can still be had. */
#ifndef LW_FRONT_READ_KEPT_TEXT_H
#define LW_FRONT_READ_KEPT_TEXT_H

#include <Python.h>

#include <stdbool.h>

/* The lines of the text that code with this file name ("<string>", "<stdin>", "<timeit-src>")
 * may come from: a new list of str, empty where there is none; NULL with an exception. Whether
 * the text holds the function is for the caller to verify. */
PyObject *lw_kept_lines(PyObject *filename);
/* Whether the name is one of those: text that does not hold the function was another one. */
bool lw_kept_name(PyObject *filename);

/* What was typed at the prompt, of whose statements each begins with line 1, where code has the
 * prompt's file name and readline keeps it: a new list of str with their newlines, oldest
 * first; empty, or NULL, as above. */
PyObject *lw_typed_lines(PyObject *filename);

/* Texts of variables of the running frames that may define the function `name`, the innermost
 * first: of a function that exec made, its text is often still there. A new list of str, or
 * NULL with an exception. */
PyObject *lw_frame_texts(PyObject *name, bool is_lambda);

/* Why there is no text for code with this file name, and what to do, for messages. */
typedef struct lw_no_text {
    const char *why, *help;
} lw_no_text;

lw_no_text lw_why_no_text(PyObject *filename);

#endif
