/* What a print() shows: texts with values between them; also a string that compiled code
 * chooses at run time, which is such a text without values. Compiled code only knows a format's
 * number, which is computed from its content, so that a kernel from any cache finds its texts,
 * and equal formats are one. The table belongs to the process and only grows: an entry for
 * each print() in a source, for each string that compiled code may choose, and for each string
 * that Python has put into a typed list or dict. */
#ifndef LW_IR_FORMAT_H
#define LW_IR_FORMAT_H

#include "core/tables/dtypes.h"

#include <stdbool.h>

/* The spec of what is shown as repr() and str() do; a colon and the format of that string may
 * follow. No format of Python's begins like that. */
#define LW_FORMAT_REPR "!r"
#define LW_FORMAT_STR  "!s"

enum { LW_FORMAT_SLOTS = 16 }; /* 8-byte slots of values that one print() may have */

typedef struct lw_format_value {
    lw_dtype dtype;     /* complex: two slots, real part first; void: a string, which is the
                           `before` of the format whose number this is */
    bool optional;      /* a slot in front says whether there is a value: else None is shown */
    const char *spec;   /* of an f-string's field; NULL: as str() shows it */
    const char *behind; /* the text that follows */
} lw_format_value;

static inline uint32_t
lw_format_slots(const lw_format_value *value)
{
    return (lw_is_complex(value->dtype) ? 2 : 1) + value->optional;
}

typedef struct lw_format {
    uint64_t number;    /* never 0 */
    const char *before; /* the text before the first value */
    uint32_t n, n_slots;
    const lw_format_value *values;
} lw_format;

/* Adds a format, or finds it; number and n_slots are computed. Returns the number; 0: memory
 * ran out, or another format has the number. */
uint64_t lw_format_add(const char *before, const lw_format_value *values, uint32_t n);
/* The number of the format that is this string alone, whether it has been added or not. */
uint64_t lw_format_number(const char *text);
/* NULL: nobody has added it in this process. Never freed. A string that compiled code chooses
 * at run time is a format without values: its number stands for it. */
const lw_format *lw_format_find(uint64_t number);

#endif
