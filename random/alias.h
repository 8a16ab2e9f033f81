/* Walker's alias method (1977), the table by Vose's algorithm (1991). */
#ifndef LW_RANDOM_ALIAS_H
#define LW_RANDOM_ALIAS_H

#include "core/base/error.h"

/* probability: n weights whose mean is 1, which become the chances that an index stays itself;
 * alias: what it else becomes. LW_ERR_OUT_OF_MEMORY. */
lw_status lw_alias_table(double *probability, int64_t *alias, int64_t n, lw_error *err);

#endif
