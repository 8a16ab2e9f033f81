/* The keywords of the decorators: core/tables/keywords.def. */
#ifndef LW_PY_KEYWORDS_H
#define LW_PY_KEYWORDS_H

#include <Python.h>

#include "core/py/compiled/door_options.h"

enum {
#define DOOR(NAME, name, type) LW_DOOR_AT_##NAME,
#include "core/tables/doors.def"
    LW_N_DOORS
};

typedef enum lw_door { /* bits: a keyword says whose it is */
#define DOOR(NAME, name, type) LW_DOOR_##NAME = 1 << LW_DOOR_AT_##NAME,
#include "core/tables/doors.def"
} lw_door;

typedef struct lw_door_arguments { /* what is not plain code generation; borrowed */
    PyObject *signatures;
    PyObject *identity; /* Py_None: not given */
    PyObject *source, *link;
    PyObject *excluded,
        *constants; /* parameters: a str or an int, or a list or tuple of these; NULL: none */
    PyObject *sizes, *writable;       /* of guvectorize, not checked; NULL: not given */
    PyObject *map, *combine, *finish; /* of reduce, not checked; NULL: not given */
    uint32_t ndim;                    /* of forall */
    int commutative;                  /* of reduce; -1: not given */
    bool keep_order;
} lw_door_arguments;

/* 0, 1, None and "reorderable", which NumPy's own ufuncs have. */
bool lw_is_usual_identity(PyObject *value);

const char *lw_door_name(lw_door door);
const char *lw_door_type(lw_door door); /* of the objects that it makes */
/* Read the keywords (a dict, or NULL) of a decorator: unknown ones are a TypeError that names
 * the door. -1 with an exception. */
int lw_door_read(lw_door door, PyObject *signatures, PyObject *keywords,
                 lw_door_options *options, lw_door_arguments *arguments);
/* Sets typing= in the dict if it is not given. -1 with an exception. */
int lw_keywords_set_typing(PyObject *keywords, const char *word);
/* Whether the objects that this thread decorates from now on are made anew of one that has
 * given its W203; returns what was set before. */
bool lw_door_told(bool told);
/* take, for each of the names or positions in a value of excluded= or static= as
 * lw_door_arguments has it (NULL: none), until one fails. -1 with an exception. */
int lw_door_each_name(PyObject *names, int (*take)(void *context, PyObject *name),
                      void *context);
/* Adds a decorator, which is called with `module`, to `into`: that module, or lanewise.cuda.
 * The docstring of the row is made when it is NULL: the signature, which begins with `first`,
 * what the decorator makes, and the keywords. -1 with an exception. */
int lw_door_add(PyObject *module, PyObject *into, PyMethodDef *row, lw_door door,
                const char *first, const char *what);

#endif
