/* The syntax tree of a live function, verified: the text that is found by file name and line is
 * compiled again and must give the very code object that the function has. So an edited file, a
 * second lambda on the line or a wrapped decorator never yields the text of another function.
 * inspect.getsource is not used, because it guesses (docs/supported.md). */
#ifndef LW_FRONT_READ_SOURCE_H
#define LW_FRONT_READ_SOURCE_H

#include <Python.h>

#include "core/front/read/ast.h"

typedef enum lw_source_result {
    LW_SOURCE_FAILED = -1, /* exception set */
    LW_SOURCE_FOUND,
    LW_SOURCE_NONE,     /* E170: there is no text */
    LW_SOURCE_CHANGED,  /* E171: there is text, but not this function's */
    LW_SOURCE_NO_MATCH, /* source= holds no such function */
} lw_source_result;

typedef struct lw_source {
    PyObject *module;   /* owned: keeps node alive */
    PyObject *node;     /* borrowed from module: FunctionDef, AsyncFunctionDef or Lambda */
    PyObject *lines;    /* owned: list of str; lines[0] is line 1 of the file */
    PyObject *filename; /* owned */
    int32_t offset;     /* line in the file = line in the tree + offset */
} lw_source;

/* text: the function's source if the caller has it, or NULL. `out` may be reset in any case. */
lw_source_result lw_source_find(const lw_ast *ast, PyObject *function, PyObject *text,
                                lw_source *out);
void lw_source_reset(lw_source *source);
/* First line (decorators included) and last line of the node, in the file. */
uint32_t lw_source_first_line(const lw_ast *ast, const lw_source *source);
uint32_t lw_source_last_line(const lw_ast *ast, const lw_source *source);

#endif
