#include "core/base/env.h"

#include "core/base/env_numba.h"
#include "core/base/lock.h"
#include "core/base/memory.h"

#include <stdatomic.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const lw_env_row lw_env_rows[LW_N_ENV] = {
#define ENV(field, variable, kind, fallback, doc)                                              \
    [LW_ENV_##field] = {#field, variable, fallback, doc, LW_ENV_##kind},
#include "core/tables/env.def"
};

struct kept {
    struct kept *next;
    char text[];
};

static lw_lock lock = LW_LOCK_INIT;
static struct {
    const char *value; /* one of the texts of `kept` */
    /* every text that it has ever had, once each, because a reader may still hold one */
    struct kept *kept;
    int64_t number;
    bool known;
} settings[LW_N_ENV];
static atomic_uint_fast64_t version;

static bool
parse_int(const char *value, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(value, &end, 10);
    /* no setting has negative values */
    return end != value && *end == 0 && errno == 0 && *out >= 0;
}

/* A copy of the text that lives as long as the process, and so is not counted. needs: the
 * lock. */
static const char *
keep(lw_env_id id, const char *text)
{
    size_t n = strlen(text) + 1;
    struct kept *item = settings[id].kept;

    while (item != NULL && strcmp(item->text, text) != 0)
        item = item->next;
    if (item == NULL && (item = malloc(sizeof *item + n)) != NULL) {
        memcpy(item->text, text, n);
        item->next = settings[id].kept;
        settings[id].kept = item;
    }
    return item ? item->text : NULL;
}

/* needs: the lock */
static bool
store(lw_env_id id, const char *value)
{
    int64_t number = 0;
    const char *copy;

    if (lw_env_rows[id].kind == LW_ENV_INT && !parse_int(value, &number))
        return false;
    copy = keep(id, value);
    if (copy == NULL)
        return false;
    settings[id].value = copy;
    settings[id].number = number;
    settings[id].known = true;
    return true;
}

/* Another thread of the parent may have held the lock, for some nanoseconds. */
static void
after_fork(void)
{
    static const lw_lock fresh = LW_LOCK_INIT;

    memcpy(&lock, &fresh, sizeof lock);
}

/* needs: the lock */
static void
know(lw_env_id id)
{
    static bool watched;
    const char *value = getenv(lw_env_rows[id].variable);
    lw_text of_numba = {0};

    if (!watched)
        watched = pthread_atfork(NULL, NULL, after_fork) == 0;
    if (settings[id].known)
        return;
    if (value == NULL && lw_env_from_numba(id, &of_numba) != NULL)
        value = lw_text_get(&of_numba);
    if (value == NULL || !store(id, value))
        (void)store(id, lw_env_rows[id].fallback);
    lw_text_reset(&of_numba);
    settings[id].known = true;
}

const char *
lw_env_text(lw_env_id id)
{
    const char *value;

    lw_lock_take(&lock);
    know(id);
    value = settings[id].value;
    lw_lock_give(&lock);
    return value ? value : lw_env_rows[id].fallback;
}

int64_t
lw_env_int(lw_env_id id)
{
    int64_t number;

    lw_lock_take(&lock);
    know(id);
    number = settings[id].number;
    lw_lock_give(&lock);
    return number;
}

bool
lw_env_set(lw_env_id id, const char *value)
{
    bool good;

    lw_lock_take(&lock);
    good = store(id, value ? value : lw_env_rows[id].fallback);
    lw_lock_give(&lock);
    if (good)
        atomic_fetch_add(&version, 1);
    return good;
}

uint64_t
lw_env_version(void)
{
    return atomic_load(&version);
}

void
lw_env_touch(void)
{
    atomic_fetch_add(&version, 1);
}
