/* A keyword argument that a function does not know. */
#ifndef LW_PY_KEYWORD_H
#define LW_PY_KEYWORD_H

#include <Python.h>

/* TypeError "f() got an unexpected keyword argument 'ident'; did you mean 'identity'?", by the
 * nearest of n known names, where one is near. Always -1. */
int lw_keyword_refuse(const char *function, PyObject *name, const char *const *known, size_t n);

/* TypeError for the name of a parameter before `/`. Always -1. */
int lw_keyword_refuse_unnamed(const char *function, PyObject *name);

#endif
