/* What became of a decorator's keywords: core/py/compiled/keywords.h reads them. */
#ifndef LW_PY_DOOR_OPTIONS_H
#define LW_PY_DOOR_OPTIONS_H

#include <Python.h>

#include "core/front/lower/lower.h"
#include "core/front/typed.h"
#include "core/link/build.h"

typedef enum lw_target_choice {
    LW_CHOOSE_AUTO,
    LW_CHOOSE_CPU,
    LW_CHOOSE_CUDA
} lw_target_choice;

typedef struct lw_door_options {
    lw_target_choice target;
    lw_front_options front;
    bool cache, debug, debug_given, lineinfo, opt, opt_given, warn, order_given;
    bool race_given;               /* by check=, not by debug= or a setting */
    bool told_sums;                /* W203 has been given: once for each function */
    bool device, cooperative, nrt; /* of jit */
    int max_registers, max_blocksize;
    int bound_threads, bound_blocks; /* launch_bounds= of jit; 0: none */
    int bound_cluster;
    int carveout; /* shared_memory_carveout= of jit: -1 (the driver decides) to 100 */
    uint32_t checks_everywhere; /* the setting `check` when they were read */
    enum { LW_RAISE, LW_DEFER, LW_IGNORE } errors;
} lw_door_options;

/* A warning of this class of lanewise.errors, unless warn=False. -1: it is an exception. */
int lw_door_warn(const lw_door_options *options, const char *class, const char *text);
/* W203, W205 and W207 of what has been compiled. -1: one is an exception. */
int lw_door_warn_of_code(lw_door_options *options, const lw_scalar *scalar);
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
