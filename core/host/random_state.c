#include "core/host/random_state.h"

#include "core/base/clock.h"
#include "core/link/elf_loader.h"

#include <stddef.h>
#include <string.h>
#include <sys/random.h>

enum { LW_RANDOM_PART = 2 }; /* as SEEDED: a part that has drawn nothing */

static _Thread_local lw_random_state own;

/* SplitMix64 (Steele, Lea and Flood, 2014): the next output of the sequence at *x. */
static uint64_t
split_mix(uint64_t *x)
{
    uint64_t z = *x += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void
seed(uint64_t from)
{
    memset(own.words, 0, sizeof own.words);
    own.words[LW_RANDOM_FIRST] = split_mix(&from); /* at most one of two outputs is 0 */
    own.words[LW_RANDOM_SECOND] = split_mix(&from);
    own.words[LW_RANDOM_SEEDED] = 1;
}

static uint64_t
entropy(void)
{
    uint64_t word;

    if (getrandom(&word, sizeof word, GRND_NONBLOCK) == (ssize_t)sizeof word)
        return word;
    return (uint64_t)lw_now_ns() ^ (uintptr_t)&own;
}

static void
make_ready(void)
{
    if (own.words[LW_RANDOM_SEEDED] == LW_RANDOM_PART)
        seed(own.origin);
    else if (own.words[LW_RANDOM_SEEDED] == 0)
        seed(entropy());
}

static uint64_t *
state_of_thread(void)
{
    if (own.words[LW_RANDOM_SEEDED] != 1)
        make_ready();
    return own.words;
}

uint64_t
lw_random_fork(void)
{
    uint64_t *words = state_of_thread();
    uint64_t x = words[LW_RANDOM_FIRST] ^
                 (words[LW_RANDOM_SECOND] << 32 | words[LW_RANDOM_SECOND] >> 32);

    x += split_mix(&words[LW_RANDOM_FORKS]);
    return split_mix(&x);
}

void
lw_random_enter(uint64_t fork, int64_t part, lw_random_state *saved)
{
    uint64_t x = fork + (uint64_t)part;

    *saved = own;
    own.words[LW_RANDOM_SEEDED] = LW_RANDOM_PART;
    own.origin = split_mix(&x);
}

void
lw_random_leave(const lw_random_state *saved)
{
    own = *saved;
}

void
lw_random_state_register(void)
{
    static lw_extern_row rows[] = {{"lw_random_state", NULL}};

    rows[0].address = (void *)(uintptr_t)state_of_thread;
    lw_extern_provide(rows, 1);
}
