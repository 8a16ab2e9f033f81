/* Long work on the host in pieces, so that it can be ended early: Ctrl-C. Pure C. */
#ifndef LW_HOST_PIECES_H
#define LW_HOST_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lw_stop {
    /* Asked in the thread that began the work, some 20 times a second at most: true ends it. */
    bool (*ask)(void *context);
    void *context;
    atomic_bool stopped; /* out: it ended early */
} lw_stop;

/* Between two pieces of work. Worker 0 is who began it; the others see what it was told. stop
 * may be NULL: never. */
bool lw_stop_asked(lw_stop *stop, uint32_t worker);

/* Works on [begin, end); false: nothing more is to be done. */
typedef bool (*lw_piece_body)(void *context, int64_t begin, int64_t end);

/* [begin, end) in pieces: `first` items, then as many as take some milliseconds. All but the
 * last have a multiple of `unit` items. Without `stop` it is one piece. */
void lw_in_pieces(lw_stop *stop, uint32_t worker, int64_t begin, int64_t end, int64_t first,
                  int64_t unit, lw_piece_body body, void *context);

#endif
