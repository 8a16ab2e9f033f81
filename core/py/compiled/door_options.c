/* What became of a decorator's keywords: the setting `check`, options of code generation,
 * warnings. */
#include "core/py/numpy_api.h"

#include "core/py/compiled/door_options.h"

#include "core/base/env.h"
#include "core/front/read/services.h"

#include <stdatomic.h>
#include <string.h>

/* ---- the setting `check` ---- */

const char *const lw_check_words[] = {
#define CHECK(name, word, raises, where) word,
#include "core/tables/checks.def"
    NULL};

/* Words with commas between them; config.py has refused others. */
static uint32_t
bits_of(const char *text)
{
    uint32_t bits = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        for (uint32_t i = 0; lw_check_words[i] != NULL; i++)
            if (strlen(lw_check_words[i]) == n && strncmp(text, lw_check_words[i], n) == 0)
                bits |= 1u << i;
        text += n + (text[n] == ',');
    }
    return bits;
}

/* Read again where any setting has changed: the version above the bits. */
uint32_t
lw_checks_everywhere(void)
{
    static _Atomic uint64_t known; /* version + 1, and the bits in the low byte */
    uint64_t version = lw_env_version() + 1, seen = atomic_load(&known);

    if (seen >> 8 != version) {
        seen = version << 8 | bits_of(lw_env_text(LW_ENV_check));
        atomic_store(&known, seen);
    }
    return (uint32_t)(seen & 0xff);
}

bool
lw_door_checks_changed(const lw_door_options *options)
{
    return options->checks_everywhere != lw_checks_everywhere();
}

bool
lw_door_watches_elements(const lw_door_options *options)
{
    return (options->front.checks & LW_CHECK_RACE) != 0 && options->errors != LW_IGNORE;
}

lw_build_options
lw_door_build_options(const lw_door_options *options, const char *name)
{
    return (lw_build_options){.use_disk = options->cache,
                              .precise = options->front.precise,
                              .opt = options->opt,
                              .lineinfo = options->lineinfo,
                              .variables = options->front.variables,
                              .watch =
                                  options->front.checks ? LW_WATCH_SHARED : LW_WATCH_NOTHING,
                              .ftz = options->front.fast == LW_FAST_ALL,
                              .fast_div = (options->front.fast & LW_FAST_ARCP) != 0,
                              .max_registers = options->max_registers,
                              .nrt = options->nrt,
                              .name = name};
}

/* ---- warnings ---- */

int
lw_door_warn(const lw_door_options *options, const char *class, const char *text)
{
    PyObject *category;
    int result = -1;

    if (!options->warn || (lw_env_int(LW_ENV_performance_warnings) == 0 &&
                           strcmp(class, "PerformanceWarning") == 0))
        return 0;
    category = lw_service_find(LW_SERVICE_ERRORS, class);
    if (category != NULL)
        result = PyErr_WarnEx(category, text, 1);
    Py_XDECREF(category);
    return result;
}

int
lw_door_warn_of_code(lw_door_options *options, const lw_scalar *scalar)
{
    if (scalar->unbound != NULL && options->warn &&
        PyErr_WarnEx(PyExc_RuntimeWarning, scalar->unbound, 1) < 0)
        return -1;
    if (scalar->warning == NULL || options->told_sums)
        return 0;
    options->told_sums = true;
    return lw_door_warn(options, "PrecisionWarning", scalar->warning);
}
