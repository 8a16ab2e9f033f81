#include "core/host/pieces.h"

#include "core/base/clock.h"

#include <stddef.h>

enum {
    LOOK_NS = 50 * 1000000, /* how long a user waits between Ctrl-C and its effect */
    LONG_NS = 16 * 1000000  /* a piece that took more is halved */
};

bool
lw_stop_asked(lw_stop *stop, uint32_t worker)
{
    static _Thread_local int64_t next; /* of all the work of a thread, for loops may be short */
    int64_t now;

    if (stop == NULL)
        return false;
    if (worker != 0 || atomic_load_explicit(&stop->stopped, memory_order_relaxed))
        return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
    now = lw_about_now_ns();
    if (now < next)
        return false;
    if (next != 0 && stop->ask(stop->context))
        atomic_store_explicit(&stop->stopped, true, memory_order_relaxed);
    next = now + LOOK_NS;
    return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
}

static int64_t
next_piece(int64_t piece, int64_t took_ns, int64_t unit)
{
    if (took_ns == 0) /* less than a step of the clock, some milliseconds */
        return piece > INT64_MAX / 64 ? piece : 32 * piece;
    if (took_ns < LONG_NS || piece <= unit)
        return piece;
    return piece / 2 / unit > 0 ? piece / 2 / unit * unit : unit;
}

void
lw_in_pieces(lw_stop *stop, uint32_t worker, int64_t begin, int64_t end, int64_t first,
             int64_t unit, lw_piece_body body, void *context)
{
    int64_t piece = first > unit ? first / unit * unit : unit, before, now;

    if (stop == NULL || end - begin <= piece) {
        if (begin < end)
            body(context, begin, end);
        return;
    }
    before = lw_about_now_ns();
    for (int64_t at = begin; at < end;) {
        int64_t n = end - at < piece ? end - at : piece;
        if (!body(context, at, at + n))
            return;
        at += n;
        if (at < end && lw_stop_asked(stop, worker))
            return;
        now = lw_about_now_ns();
        piece = next_piece(piece, now - before, unit);
        before = now;
    }
}
