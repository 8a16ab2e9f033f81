/* Whether a text contains the function: the texts that source.c finds are parsed here, searched
 * for functions of the right name, and verified by compiling them again. */
#ifndef LW_FRONT_READ_PROOF_H
#define LW_FRONT_READ_PROOF_H

#include <Python.h>

#include <stdbool.h>

#include "core/front/read/ast.h"

/* What is known of the function whose source is wanted. */
typedef struct lw_finder {
    const lw_ast *ast;
    PyObject *code; /* all owned */
    PyObject *name; /* co_name */
    PyObject *globals;
    PyObject *class_name; /* the class of a method, or "_" */
    PyObject *filename;
    PyObject *candidates; /* list of candidate nodes of one attempt */
    PyObject *imports;    /* "import math, np\n": see guess_imports */
    long first_line;
    int flags; /* of `from __future__` */
    bool is_lambda;
    bool is_own;       /* lanewise's own, whose file is the one that was imported */
    bool is_rewritten; /* pytest rewrote its asserts, so that the bytecode cannot be compared */
    /* an attempt failed for lack of memory or stack: not finding the function then proves
     * nothing */
    bool no_memory, too_deep;
} lw_finder;

/* The tree of a text; NULL with an exception, also where the text is NULL. */
PyObject *lw_finder_parse(const lw_finder *f, PyObject *text);
/* Whether the pending exception only says that the text is not Python, or is too large to
 * parse; then it is cleared. */
bool lw_finder_cleared(lw_finder *f);
/* First line of a node in its tree, decorators included. */
uint32_t lw_finder_first_line(const lw_ast *ast, PyObject *node);
/* Add the functions below this node that have the right name to f->candidates. -1:
 * exception. */
int lw_finder_collect(lw_finder *f, PyObject *node);
/* Set f->imports. module: the tree of a whole file, or NULL. -1: exception. */
int lw_finder_imports(lw_finder *f, PyObject *module);
/* The verified one among f->candidates, which are tried from the expected line on; borrowed.
 * line of the file = line of the tree + offset. */
PyObject *lw_finder_choose(lw_finder *f, int32_t offset, bool *failed);

#endif
