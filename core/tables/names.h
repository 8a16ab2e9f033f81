/* The numbers of the rows of names.def: lw_constant.u of LW_K_NAMED. */
#ifndef LW_TABLES_NAMES_H
#define LW_TABLES_NAMES_H

typedef enum lw_name_id {
    LW_NAME_none = 0,
#define NAMED(id, path, min_args, max_args, rule, impl) LW_NAME_##id,
#include "core/tables/every_name.inc"
    LW_N_NAMES
} lw_name_id;

#endif
