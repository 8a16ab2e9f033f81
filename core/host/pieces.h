/* Long work on the host in pieces, so that it can be ended early: Ctrl-C. Pure C.
 *
 * `stop` is asked between two pieces, and within a piece by compiled code, whose nested loops
 * call lw_stop_look now and then (core/emit/looks.c). If the work is to end there, the call
 * leaves the compiled code by longjmp to lw_in_pieces, and what has not been stored is lost.
 * So the functions between lw_in_pieces and compiled code must hold neither memory nor a lock.
 */
#ifndef LW_HOST_PIECES_H
#define LW_HOST_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lw_stop {
    /* Asked in the thread that began the work, some 20 times a second at most: true ends it. */
    bool (*ask)(void *context);
    void *context;
    atomic_bool stopped;   /* out: it ended early */
    _Atomic int64_t *done; /* counts the steps of pieces that have been run; or NULL */
} lw_stop;

/* How long a thread works, or waits for other threads, before it asks again. */
enum { LW_LOOK_NS = 50 * 1000000 };

/* Between two pieces of work: whether it is to end. Threads of the pool do not ask; they see
 * what the thread that began the work was told. stop may be NULL: never. */
bool lw_stop_asked(lw_stop *stop);

/* Works on [begin, end); false: nothing more is to be done. */
typedef bool (*lw_piece_body)(void *context, int64_t begin, int64_t end);

/* [begin, end) in pieces: `first` items, then as many as take some milliseconds. All but the
 * last have a multiple of `unit` items. Without `stop` it is one piece. */
void lw_in_pieces(lw_stop *stop, int64_t begin, int64_t end, int64_t first, int64_t unit,
                  lw_piece_body body, void *context);

/* What ends the piece that this thread works on; NULL: nothing does, or it works on none. For
 * compiled code that gives a part of its work to other threads, which then end with it. */
lw_stop *lw_stop_here(void);
/* Leaves the piece that this thread works on if the work is to end. Compiled code calls it. */
void lw_stop_look(void);

/* Makes lw_stop_look known to the loader of compiled code. */
void lw_pieces_register(void);

#endif
