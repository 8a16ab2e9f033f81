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

#endif
