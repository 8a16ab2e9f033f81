/* What numba's environment variables say of our settings: core/tables/numba_settings.def. */
#ifndef LW_BASE_ENV_NUMBA_H
#define LW_BASE_ENV_NUMBA_H

#include "core/base/env.h"
#include "core/base/text.h"

typedef enum lw_numba_how {
    LW_NUMBA_FLAG,
    LW_NUMBA_WORDS,
    LW_NUMBA_NUMBER,
    LW_NUMBA_TEXT,
    LW_NUMBA_FOLDER,
    LW_NUMBA_PATHS,
    LW_NUMBA_LEVEL,
    LW_NUMBA_CAPABILITY,
    LW_NUMBA_SWITCH
} lw_numba_how;

typedef struct lw_numba_row {
    const char *variable, *attribute;
    lw_env_id id;
    lw_numba_how how;
    const char *how_name, *word;
} lw_numba_row;

typedef struct lw_numba_unlike_row {
    const char *variable, *attribute, *value;
    bool kept;
    const char *instead;
} lw_numba_unlike_row;

/* Each ends with a row without a variable. */
extern const lw_numba_row lw_numba_rows[];
extern const lw_numba_unlike_row lw_numba_unlike_rows[];

/* The variable whose value decides, or the first of those that do; NULL: none is set. *out: the
 * text of the setting. A value that makes no sense counts as not set. */
const char *lw_env_from_numba(lw_env_id id, lw_text *out);

#endif
