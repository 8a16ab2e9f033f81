/* Which callables a typed function asks for code to link, and for what argument types: each
 * pair once, from the calls that inference has kept. */
#ifndef LW_FRONT_LINK_ASKS_H
#define LW_FRONT_LINK_ASKS_H

#include "core/front/signature.h"

struct lw_typed;

typedef struct lw_link_ask {
    uint32_t linked; /* the number of the provider, lw_captures_linked of the reading */
    uint32_t n;
    const lw_sig_type *types; /* NONE: it has none outside of compiled code */
    const char *chain;        /* of calls, one on a line, for messages */
} lw_link_ask;

typedef struct lw_link_asks {
    uint32_t n;
    const lw_link_ask *data;
} lw_link_asks;

/* The type as the user's code knows it; NONE: it has none outside of compiled code. What *out
 * points to is in the arena, or lives as long as the process. false: memory is out. */
bool lw_sig_type_of(const struct lw_typed *typed, uint32_t type, lw_arena *arena,
                    lw_sig_type *out);

/* Everything that *out points to is in the arena, or lives as long as the process. */
lw_status lw_link_asks_of(const struct lw_typed *typed, lw_arena *arena, lw_link_asks *out,
                          lw_error *err);

#endif
