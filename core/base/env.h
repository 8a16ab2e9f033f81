/* The settings: rows of env.def, read from the environment once and changed by
 * lanewise.config. */
#ifndef LW_BASE_ENV_H
#define LW_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lw_env_id {
#define ENV(field, variable, kind, fallback, doc) LW_ENV_##field,
#include "core/tables/env.def"
    LW_N_ENV
} lw_env_id;

typedef enum lw_env_kind { LW_ENV_TEXT, LW_ENV_INT } lw_env_kind;

typedef struct lw_env_row {
    const char *field, *variable, *fallback, *doc;
    lw_env_kind kind;
} lw_env_row;

extern const lw_env_row lw_env_rows[LW_N_ENV];

/* Values stay valid for the life of the process. */
const char *lw_env_text(lw_env_id id);
int64_t lw_env_int(lw_env_id id);
/* False when memory runs out, or when an INT setting gets something else. NULL restores the
 * default. */
bool lw_env_set(lw_env_id id, const char *value);
/* Counts changes, so that a cached decision can be checked and made again. */
uint64_t lw_env_version(void);
/* Counts one, for what is cached along with settings and is none. */
void lw_env_touch(void);

#endif
