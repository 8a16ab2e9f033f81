/* Tables for A. J. Walker's alias method (1977), made by M. D. Vose's algorithm (1991). */
#ifndef LW_RANDOM_ALIAS_H
#define LW_RANDOM_ALIAS_H

#include "core/base/error.h"

/* probability: in: n weights whose mean is 1; out: the chances that an index is kept. alias:
 * the index that replaces it otherwise. LW_ERR_OUT_OF_MEMORY. */
lw_status lw_alias_table(double *probability, int64_t *alias, int64_t n, lw_error *err);

#endif
