/* Code objects: whether two of them are the same program, and which lines of the file one
 * covers. Names that are imported when they are read. */
#ifndef LW_FRONT_READ_CODE_H
#define LW_FRONT_READ_CODE_H

#include <Python.h>

#include <stdbool.h>

/* Compares bytecode, names, arguments and constants, nested code included; positions, flags of
 * nesting and qualified names do not count. -1 with an exception set. */
int lw_code_equal(PyObject *x, PyObject *y);
/* The last code object among the constants of `code`, borrowed from it: in the code of a `def`,
 * decorators and defaults come first, so that this is the function's own. NULL: there is none,
 * or an exception is set. */
PyObject *lw_code_last(PyObject *code);

typedef struct lw_code_span {
    long line, col, end_line, end_col; /* col, end_col: UTF-8 bytes, -1 when not known */
} lw_code_span;

/* The range of the file that the instructions cover, with nested code when `nested`. False when
 * nothing is known (the interpreter keeps no positions: 3.10, -X no_debug_ranges); then only
 * end_line may be set. */
bool lw_code_positions(PyObject *code, bool nested, lw_code_span *out);

/* `lazy import name` of Python 3.15: until the name is read for the first time, the module's
 * globals hold an object that stands for what is to be imported. */
bool lw_is_lazy_import(PyObject *value);
/* Import it and bind the name to what was imported, as reading the name does: a new reference,
 * or NULL with the import's exception. Steals `lazy`. */
PyObject *lw_import_now(PyObject *globals, PyObject *name, PyObject *lazy);

#endif
