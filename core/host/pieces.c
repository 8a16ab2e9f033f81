#include "core/host/pieces.h"

#include "core/base/clock.h"
#include "core/host/thread_pool.h"
#include "core/link/elf_loader.h"

#include <setjmp.h>
#include <stddef.h>

enum {
    LONG_NS = 16 * 1000000, /* a piece that took longer is halved */
    GROWTH = 8              /* factor for a piece that took less than a step of the clock */
};

/* What this thread works on, and where compiled code jumps to when that ends early. */
typedef struct place {
    lw_stop *stop;
    jmp_buf *out;
} place;

static _Thread_local place here;

/* A signal handler may call compiled functions, which are other work. */
static bool
ask(lw_stop *stop)
{
    place before = here;
    bool ended;

    here = (place){NULL, NULL};
    ended = stop->ask(stop->context);
    here = before;
    return ended;
}

static bool
asked_at(lw_stop *stop, int64_t now)
{
    /* over all work of a thread, because loops may be short */
    static _Thread_local int64_t next;

    if (lw_pool_is_worker() || atomic_load_explicit(&stop->stopped, memory_order_relaxed))
        return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
    if (now < next)
        return false;
    if (next != 0 && ask(stop))
        atomic_store_explicit(&stop->stopped, true, memory_order_relaxed);
    next = now + LW_LOOK_NS;
    return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
}

bool
lw_stop_asked(lw_stop *stop)
{
    return stop != NULL && asked_at(stop, lw_about_now_ns());
}

lw_stop *
lw_stop_here(void)
{
    return here.out != NULL ? here.stop : NULL;
}

void
lw_stop_look(void)
{
    if (here.out != NULL && lw_stop_asked(here.stop))
        longjmp(*here.out, 1);
}

void
lw_pieces_register(void)
{
    static lw_extern_row rows[] = {{"lw_stop_look", NULL}};

    rows[0].address = (void *)(uintptr_t)lw_stop_look;
    lw_extern_provide(rows, 1);
}

typedef struct span {
    int64_t begin, end, first, unit;
    lw_piece_body body;
    void *context;
} span;

static int64_t
next_piece(int64_t piece, int64_t took_ns, int64_t unit)
{
    if (took_ns == 0) /* less than a step of the clock, which is some milliseconds */
        return piece > INT64_MAX / GROWTH ? piece : GROWTH * piece;
    if (took_ns < LONG_NS || piece <= unit)
        return piece;
    return piece / 2 / unit > 0 ? piece / 2 / unit * unit : unit;
}

static void
walk(lw_stop *stop, const span *s)
{
    int64_t piece = s->first > s->unit ? s->first / s->unit * s->unit : s->unit, before, now;

    if (s->end - s->begin <= piece) {
        if (s->begin < s->end)
            s->body(s->context, s->begin, s->end);
        return;
    }
    before = lw_about_now_ns();
    for (int64_t at = s->begin; at < s->end;) {
        int64_t n = s->end - at < piece ? s->end - at : piece;
        if (!s->body(s->context, at, at + n))
            return;
        at += n;
        now = lw_about_now_ns();
        if (at < s->end && asked_at(stop, now))
            return;
        piece = next_piece(piece, now - before, s->unit);
        before = now;
    }
}

void
lw_in_pieces(lw_stop *stop, int64_t begin, int64_t end, int64_t first, int64_t unit,
             lw_piece_body body, void *context)
{
    const span s = {begin, end, first, unit, body, context};
    const place before = here;
    jmp_buf out;

    if (stop == NULL) {
        if (begin < end)
            body(context, begin, end);
        return;
    }
    here = (place){stop, &out};
    if (setjmp(out) == 0)
        walk(stop, &s);
    here = before;
}
