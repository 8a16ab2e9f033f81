/* What code is linked with on a GPU: what link= of the object names, and what the callables
 * that its code calls bring along, asked once for each of their argument types. */
#ifndef LW_PY_LINK_ASK_H
#define LW_PY_LINK_ASK_H

#include "core/front/lower/lower.h"
#include "core/py/compiled/compiled.h"

enum { LW_LINK_SOURCES = 3 };

/* A function of the object's: what it asks, and the captures of the reading that it was made
 * from. */
typedef struct lw_link_source {
    const lw_captures *captures;
    const lw_link_asks *asks;
} lw_link_source;

/* For code of these functions on a GPU of compute capability cc. Borrowed from self. NULL with
 * an exception. */
const lw_link_set *lw_link_set_for(lw_compiled *self, const lw_link_source *sources, uint32_t n,
                                   int cc);
/* For code of one. */
const lw_link_set *lw_link_set_of(lw_compiled *self, const lw_captures *captures,
                                  const lw_scalar *scalar, int cc);
/* The options with what the code is linked with. */
lw_build_options lw_link_options(lw_build_options options, const lw_link_set *links);
/* Whether an output of lw_build_output is linked: for others nobody has to be asked. */
bool lw_link_is_output(const char *output);
int lw_link_sets_traverse(lw_compiled *self, visitproc visit, void *arg);
void lw_link_sets_free(lw_compiled *self);

#endif
