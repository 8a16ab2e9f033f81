/* The keywords of a generator: what every door's decorator takes, and what became of it. */
#ifndef LW_PY_DOOR_OPTIONS_H
#define LW_PY_DOOR_OPTIONS_H

#include <Python.h>

#include "core/front/typed.h"
#include "core/link/build.h"

typedef enum lw_door { /* bits: a keyword says whose it is */
                       LW_DOOR_VECTORIZE = 1,
                       LW_DOOR_FORALL = 2,
                       LW_DOOR_JIT = 4,
                       LW_DOOR_GUVECTORIZE = 8,
                       LW_DOOR_REDUCE = 16
} lw_door;

typedef enum lw_target_choice {
    LW_CHOOSE_AUTO,
    LW_CHOOSE_CPU,
    LW_CHOOSE_CUDA
} lw_target_choice;

typedef struct lw_door_options {
    lw_target_choice target;
    lw_front_options front;
    bool cache, debug, lineinfo, opt, warn, order_given;
    bool told_sums; /* W203 has been given: once for each function */
    int max_registers, max_blocksize;
    uint32_t checks_everywhere; /* the setting `check` when they were read */
    enum { LW_RAISE, LW_DEFER, LW_IGNORE } errors;
} lw_door_options;

typedef struct lw_door_arguments { /* what is not plain code generation; borrowed */
    PyObject *signatures, *identity, *source, *link;
    PyObject *excluded,
        *constants; /* parameters: a str or an int, or a list or tuple of these; NULL: none */
    bool keep_order;
} lw_door_arguments;

/* Read the keywords (a dict, or NULL) of a generator: unknown ones are a TypeError that names
 * the door. -1 with an exception. */
int lw_door_read(lw_door door, PyObject *signatures, PyObject *keywords,
                 lw_door_options *options, lw_door_arguments *arguments);
/* A warning of this class of lanewise.errors, unless warn=False. -1: it is an exception. */
int lw_door_warn(const lw_door_options *options, const char *class, const char *text);
/* W203, lw_scalar.warning of what has been compiled. -1: it is an exception. */
int lw_door_warn_of_sums(lw_door_options *options, const char *warning);
/* Whether the objects that this thread decorates from now on are made anew of one that has
 * given its W203; returns what was set before. */
bool lw_door_told(bool told);
/* The setting `check`, as LW_CHECK_* bits. A few ns. */
uint32_t lw_checks_everywhere(void);
/* Whether it has changed since the options were read: then the object is made anew. */
bool lw_door_checks_changed(const lw_door_options *options);
extern const char *const lw_check_words[]; /* of core/tables/checks.def, then NULL */
/* Whether calls on the host are to tell of races between their elements. */
bool lw_door_watches_elements(const lw_door_options *options);
/* What core/link hears of them; name is borrowed. */
lw_build_options lw_door_build_options(const lw_door_options *options, const char *name);

#endif
