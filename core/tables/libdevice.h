/* The rows of libdevice.def; names.def has one name for each, in the same order. */
#ifndef LW_TABLES_LIBDEVICE_H
#define LW_TABLES_LIBDEVICE_H

#include "core/tables/intrinsics.h"
#include "core/tables/names.h"

typedef enum lw_libdevice_how {
    LW_LIBDEVICE_SAME, /* what: lw_intrinsic */
    LW_LIBDEVICE_IR,   /* what: lw_libdevice_form */
    LW_LIBDEVICE_CALL
} lw_libdevice_how;

/* Functions that are a few instructions. */
typedef enum lw_libdevice_form {
    LW_FORM_ADD,
    LW_FORM_SUB,
    LW_FORM_MUL,
    LW_FORM_DIV,
    LW_FORM_FMA,
    LW_FORM_SQRT,
    LW_FORM_RECIPROCAL,
    LW_FORM_FDIM,
    LW_FORM_SATURATE,
    LW_FORM_CAST,
    LW_FORM_CAST_UNSIGNED,
    LW_FORM_BITCAST,
    LW_FORM_LOW_WORD,
    LW_FORM_HIGH_WORD,
    LW_FORM_JOIN_WORDS,
    LW_FORM_ABS,
    LW_FORM_MIN,
    LW_FORM_MAX,
    LW_FORM_UMIN,
    LW_FORM_UMAX,
    LW_FORM_MULHI,
    LW_FORM_UMULHI,
    LW_FORM_POPC,
    LW_FORM_CLZ,
    LW_FORM_FFS,
    LW_FORM_BREV,
    LW_FORM_ISNAN,
    LW_FORM_ISINF,
    LW_FORM_ISFINITE,
    LW_FORM_SIGNBIT,
    LW_FORM_SINCOS,
    LW_FORM_SINCOS_PI,
    LW_FORM_SINCOS_FAST,
    LW_FORM_FREXP,
    LW_FORM_MODF,
    LW_FORM_REMQUO
} lw_libdevice_form;

typedef struct lw_libdevice_row {
    const char *name, *result, *args; /* a letter each, as lw_libdevice_dtype reads them */
    lw_libdevice_how how;
    uint32_t what;
} lw_libdevice_row;

const lw_libdevice_row *lw_libdevice_of(lw_name_id name);
lw_dtype lw_libdevice_dtype(char letter);

#endif
