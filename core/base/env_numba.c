#include "core/base/env_numba.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const lw_numba_row lw_numba_rows[] = {
#define NUMBA(variable, attribute, field, how, word, doc)                                      \
    {variable, attribute, LW_ENV_##field, LW_NUMBA_##how, #how, word},
#include "core/tables/numba_settings.def"
    {0}};

const lw_numba_unlike_row lw_numba_unlike_rows[] = {
#define UNLIKE(variable, attribute, value, kept, instead)                                      \
    {variable, attribute, value, kept, instead},
#include "core/tables/numba_unlike.def"
    {0}};

/* A number from 0 on; -1: it is none. */
static long
number_of(const char *text)
{
    char *end = NULL;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    return end != text && *end == 0 && errno == 0 && number >= 0 ? number : -1;
}

/* "8.6" or "(8, 6)" is 86; -1: it is no compute capability. */
static long
capability_of(const char *text)
{
    char separator = 0, rest = 0;
    int major, minor,
        n = sscanf(text + (*text == '('), "%2d%c%d%c", &major, &separator, &minor, &rest);

    if (n < 3 || (n == 4 && rest != ')') || (separator != '.' && separator != ','))
        return -1;
    return major > 0 && minor >= 0 && minor < 10 ? 10 * major + minor : -1;
}

static void
add_to_list(lw_text *out, char separator, const char *item)
{
    if (out->n != 0)
        lw_text_add_n(out, &separator, 1);
    lw_text_add(out, item);
}

/* Whether the value says something, which is then in *out. */
static bool
take(const lw_numba_row *row, const char *value, lw_text *out)
{
    long number = number_of(value);

    switch (row->how) {
    case LW_NUMBA_FLAG:
        if (number > 0)
            lw_text_add(out, row->word);
        return number > 0;
    case LW_NUMBA_WORDS:
        if (number > 0)
            add_to_list(out, ',', row->word);
        return number > 0;
    case LW_NUMBA_NUMBER:
        if (number > 0)
            lw_text_add(out, value);
        return number > 0;
    case LW_NUMBA_TEXT: lw_text_add(out, value); return true;
    case LW_NUMBA_FOLDER: lw_text_addf(out, "%s/%s", value, row->word); return true;
    case LW_NUMBA_PATHS: add_to_list(out, ':', value); return true;
    case LW_NUMBA_SWITCH:
        if (number >= 0)
            lw_text_add(out, number == 0 ? "0" : "1");
        return number >= 0;
    case LW_NUMBA_LEVEL: lw_text_add(out, number == 0 ? "0" : "1"); return true;
    case LW_NUMBA_CAPABILITY:
        number = capability_of(value);
        if (number > 0)
            lw_text_addf(out, "%ld", number);
        return number > 0;
    }
    return false;
}

const char *
lw_env_from_numba(lw_env_id id, lw_text *out)
{
    const char *variable = NULL;

    for (const lw_numba_row *row = lw_numba_rows; row->variable != NULL; row++) {
        bool adds = row->how == LW_NUMBA_WORDS || row->how == LW_NUMBA_PATHS;
        const char *value = row->id == id ? getenv(row->variable) : NULL;

        if (value == NULL || *value == 0 || (variable != NULL && !adds))
            continue;
        if (take(row, value, out) && variable == NULL)
            variable = row->variable;
    }
    return out->failed ? NULL : variable;
}
